//! The state of `ietf-netconf-monitoring` (RFC 6022): capabilities, datastores with their locks, schemas, sessions,
//! statistics; and `get-schema`.

use crate::core::{Core, Facts};
use crate::session::Counts;
use crate::types::{Datastore, Reply, Transport};
use cats_yang_tree::error::{Error, ErrorInfo, ErrorTag};
pub(crate) use cats_yang_tree::time::date_and_time;
use serde_json::{Value, json};

impl Core {
    pub(crate) fn netconf_state(&self) -> Value {
        let sessions: Vec<Value> = self
            .sessions
            .all()
            .map(|(id, session)| {
                let mut entry = json!({
                    "session-id": id.0,
                    "transport": match session.peer.transport {
                        Transport::Ssh => "ietf-netconf-monitoring:netconf-ssh",
                        Transport::Tls => "ietf-netconf-monitoring:netconf-tls",
                        Transport::Local => "cats-system:netconf-local",
                    },
                    "username": session.peer.user,
                    "login-time": date_and_time(session.since_us),
                });
                if let Value::Object(entry) = &mut entry {
                    entry.extend(counters(session.counts));
                    if let Some(host) = &session.peer.source_host {
                        entry.insert("source-host".to_owned(), json!(host));
                    }
                }
                entry
            })
            .collect();
        let mut statistics = counters(self.sessions.counts);
        statistics.insert("netconf-start-time".to_owned(), json!(date_and_time(self.started_us)));
        statistics.insert("in-bad-hellos".to_owned(), json!(self.sessions.bad_hellos));
        statistics.insert("in-sessions".to_owned(), json!(self.sessions.opened));
        statistics.insert("dropped-sessions".to_owned(), json!(self.sessions.dropped));
        json!({
            "capabilities": { "capability": self.facts.capabilities },
            "datastores": { "datastore": [self.datastore(Datastore::Running), self.datastore(Datastore::Candidate)] },
            "schemas": { "schema": self.facts.modules.iter().map(|module| json!({
                "identifier": module.name,
                "version": module.revision.as_deref().unwrap_or_default(),
                "format": "yang",
                "namespace": module.namespace,
                "location": ["NETCONF"],
            })).collect::<Vec<_>>() },
            "sessions": { "session": sessions },
            "statistics": statistics,
        })
    }

    fn datastore(&self, datastore: Datastore) -> Value {
        let mut entry = json!({ "name": datastore.name() });
        if let (Some(held), Value::Object(entry)) = (self.sessions.lock_of(datastore), &mut entry) {
            let lock = json!({ "locked-by-session": held.by.0, "locked-time": date_and_time(held.since_us) });
            entry.insert("locks".to_owned(), json!({ "global-lock": lock }));
        }
        entry
    }
}

/// The counters of RFC 6022 section 2.1.5.
fn counters(counts: Counts) -> serde_json::Map<String, Value> {
    let counters = [
        ("in-rpcs", counts.requests),
        ("in-bad-rpcs", counts.refused),
        ("out-rpc-errors", counts.errors),
        ("out-notifications", counts.told),
    ];
    counters.into_iter().map(|(name, count)| (name.to_owned(), json!(count))).collect()
}

/// The answer to `get-schema` (RFC 6022 section 3.1).
pub(crate) fn get_schema(
    facts: &Facts,
    identifier: &str,
    version: Option<&str>,
    format: Option<&str>,
) -> Result<Reply, Vec<Error>> {
    let refused = |element: &str, message: String| {
        let error = Error::protocol(ErrorTag::InvalidValue, message);
        Err(vec![error.with(ErrorInfo::BadElement(element.to_owned()))])
    };
    if format.is_some_and(|format| format.rsplit(':').next() != Some("yang")) {
        return refused("format", "schemas are given in the format 'yang' only".to_owned());
    }
    let named: Vec<_> = facts.modules.iter().filter(|module| module.name == identifier).collect();
    // The empty version is that of a module without a revision. Where there is none, it comes from a client that always
    // sends the element, as yangcli does.
    let version =
        version.filter(|version| !version.is_empty() || named.iter().any(|one| one.revision.is_none()));
    let fits: Vec<_> = named
        .iter()
        .filter(|module| {
            version.is_none_or(|version| module.revision.as_deref().unwrap_or_default() == version)
        })
        .collect();
    match (fits.as_slice(), named.is_empty()) {
        ([module], _) => Ok(Reply::Schema(module.yang.clone())),
        ([], true) => {
            refused("identifier", format!("there is no module '{identifier}': see netconf-state/schemas"))
        }
        ([], false) => {
            let version = version.unwrap_or_default();
            refused(
                "version",
                format!("module '{identifier}' has no revision '{version}': see netconf-state/schemas"),
            )
        }
        // RFC 6022 section 3.1: the app-tag says that a version is needed.
        (_, _) => Err(vec![
            Error::protocol(
                ErrorTag::OperationFailed,
                format!("'{identifier}' has several revisions: name one"),
            )
            .app_tag("data-not-unique"),
        ]),
    }
}
