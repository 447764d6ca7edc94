//! What `get` shows besides running: the state of this daemon (`ietf-netconf-monitoring`, `ietf-yang-library`, the
//! alarms of `cats-system`), and of the components, which are asked for it.

use crate::core::{Core, Facts};
use crate::output::{Alarm, Output};
use crate::reads::{READ_TIMEOUT, Read};
use crate::session::Counts;
use crate::types::{Datastore, Now, Reading, Reply, SessionId, Ticket, Transport};
use cats_yang_tree::error::{Error, ErrorInfo, ErrorTag};
use cats_yang_tree::schema::{Module, NodeId, NodeKind, Schema, Type};
use cats_yang_tree::{InstancePath, Ops, Tree, roxmltree, xml};
use serde_json::{Value, json};

type Element<'a, 'input> = roxmltree::Node<'a, 'input>;

/// The modules whose state is this daemon's own.
const OWN: [&str; 4] = ["ietf-netconf-acm", "ietf-netconf-monitoring", "ietf-yang-library", "cats-system"];

impl Core {
    /// Answers `get`, or asks a component first.
    pub(crate) fn get(
        &mut self,
        session: SessionId,
        filter: Option<String>,
        now: Now,
    ) -> Result<Option<Reply>, Vec<Error>> {
        let paths = component_paths(&self.facts.schema, filter.as_deref()).map_err(|error| vec![error])?;
        match (self.components.any(), paths) {
            (Some(component), Some(paths)) => {
                let ticket = self.ticket();
                let deadline = now.instant + READ_TIMEOUT;
                self.reads.begin(ticket, Read { session, component, filter, deadline });
                self.outputs.push_back(Output::ReadState { ticket, component, paths });
                Ok(None)
            }
            (None, _) | (_, None) => self.operational(session, None, filter).map(Some),
        }
    }

    /// A component's state, as answer to an [`Output::ReadState`].
    pub fn handle_state(&mut self, ticket: Ticket, state: Result<Vec<Value>, Error>) {
        let Some(read) = self.reads.take(ticket) else { return };
        let answer = state
            .map_err(|error| vec![error])
            .and_then(|pages| self.operational(read.session, Some(&pages), read.filter));
        self.reply(read.session, answer);
    }

    fn operational(
        &mut self,
        session: SessionId,
        pages: Option<&[Value]>,
        filter: Option<String>,
    ) -> Result<Reply, Vec<Error>> {
        let access = self.access(session);
        let schema = &self.facts.schema;
        let mut tree = merge(schema, &self.running, &self.own_state(filter.as_deref()))?;
        for page in pages.unwrap_or_default() {
            tree = merge(schema, &tree, page)?;
        }
        Ok(Reply::Data(Reading { tree, filter, access }))
    }

    /// The parts of this daemon's state that the filter may select.
    fn own_state(&self, filter: Option<&str>) -> Value {
        let mut state = serde_json::Map::new();
        let implemented = |module: &str| {
            let id = self.facts.schema.module_by_name(module);
            id.is_some_and(|id| self.facts.schema.module(id).implemented)
        };
        let wanted = |module: &str, name: &str| {
            implemented(module) && filter.is_none_or(|filter| filter.contains(name))
        };
        if wanted("ietf-netconf-monitoring", "netconf-state") {
            state.insert("ietf-netconf-monitoring:netconf-state".to_owned(), self.netconf_state());
        }
        if wanted("ietf-yang-library", "yang-library") {
            state.insert("ietf-yang-library:yang-library".to_owned(), yang_library(&self.facts));
        }
        if self.nacm.is_served() {
            let counters = self.nacm.counters;
            let nacm = json!({
                "denied-operations": counters.denied_operations,
                "denied-data-writes": counters.denied_data_writes,
                // There are no subscriptions yet whose notifications could be dropped.
                "denied-notifications": 0,
            });
            state.insert("ietf-netconf-acm:nacm".to_owned(), nacm);
        }
        let alarms = self.alarm_list();
        if implemented("cats-system") && !alarms.is_empty() {
            let system = json!({ "cats-system:system": { "alarms": { "alarm": alarms } } });
            state.insert("ietf-routing:routing".to_owned(), json!({ "ietf-cats:cats": system }));
        }
        Value::Object(state)
    }

    /// Cheap enough to be there whatever the filter selects.
    fn alarm_list(&self) -> Vec<Value> {
        let entry = |(alarm, since_us): (&Alarm, u64)| {
            json!({
                "component": alarm.component(),
                "alarm-text": alarm.text(),
                "time-created": date_and_time(since_us),
            })
        };
        self.components.alarms().map(entry).collect()
    }

    fn netconf_state(&self) -> Value {
        let sessions: Vec<Value> = self
            .sessions
            .all()
            .map(|(id, session)| {
                let mut entry = json!({
                    "session-id": id.0,
                    "transport": match session.peer.transport {
                        Transport::Ssh => "ietf-netconf-monitoring:netconf-ssh",
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
        statistics.insert("in-sessions".to_owned(), json!(self.sessions.opened));
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

/// The counters of RFC 6022 section 2.1.5; `out-notifications` is absent, as nothing sends notifications.
fn counters(counts: Counts) -> serde_json::Map<String, Value> {
    let counters =
        [("in-rpcs", counts.requests), ("in-bad-rpcs", counts.refused), ("out-rpc-errors", counts.errors)];
    counters.into_iter().map(|(name, count)| (name.to_owned(), json!(count))).collect()
}

fn merge(schema: &Schema, tree: &Tree, state: &Value) -> Result<Tree, Vec<Error>> {
    cats_yang_tree::edit(tree, schema, Ops::from_state_json(schema, state)?)
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

fn yang_library(facts: &Facts) -> Value {
    let common = |module: &Module| {
        let mut entry = serde_json::Map::new();
        entry.insert("name".to_owned(), json!(module.name));
        entry.insert("namespace".to_owned(), json!(module.namespace));
        if let Some(revision) = &module.revision {
            entry.insert("revision".to_owned(), json!(revision));
        }
        entry
    };
    let mut implemented = Vec::new();
    let mut imported = Vec::new();
    for module in &facts.schema.modules {
        let mut entry = common(module);
        if module.implemented {
            if !module.features.is_empty() {
                entry.insert("feature".to_owned(), json!(module.features));
            }
            if !module.deviations.is_empty() {
                entry.insert("deviation".to_owned(), json!(module.deviations));
            }
            implemented.push(Value::Object(entry));
        } else {
            entry.entry("revision").or_insert(json!(""));
            imported.push(Value::Object(entry));
        }
    }
    let datastore = |name: &str| json!({ "name": format!("ietf-datastores:{name}"), "schema": "complete" });
    json!({
        "module-set": [{ "name": "complete", "module": implemented, "import-only-module": imported }],
        "schema": [{ "name": "complete", "module-set": ["complete"] }],
        "datastore": [datastore("running"), datastore("candidate"), datastore("operational")],
        "content-id": facts.content_id,
    })
}

/// The paths that a component is to be asked for: none when the filter selects nothing that a component may have,
/// an empty list for all.
fn component_paths(schema: &Schema, filter: Option<&str>) -> Result<Option<Vec<String>>, Error> {
    let Some(filter) = filter else {
        let any = schema.data_children_of(None).iter().any(|node| holds_state(schema, *node));
        return Ok(any.then(Vec::new));
    };
    let document = xml::parse(filter)?;
    let elements = document.root_element().children().filter(roxmltree::Node::is_element);
    let mut paths: Vec<String> = elements.flat_map(|element| deepest(schema, None, element)).collect();
    paths.sort();
    paths.dedup();
    Ok((!paths.is_empty()).then_some(paths))
}

/// The deepest places that hold all that `element` may select: containers, lists, or the list entries that are named
/// by all their keys; and only those with state of a component at or below.
fn deepest(schema: &Schema, parent: Option<NodeId>, element: Element<'_, '_>) -> Vec<String> {
    let below = |node: NodeId| -> Vec<String> {
        let children: Vec<_> = element.children().filter(roxmltree::Node::is_element).collect();
        match schema.node(node).kind {
            NodeKind::Container { .. } if !children.is_empty() => {
                children.into_iter().flat_map(|child| deepest(schema, Some(node), child)).collect()
            }
            NodeKind::List { .. } => {
                vec![entry(schema, node, element).unwrap_or_else(|| schema.path_of(node))]
            }
            _ => vec![schema.path_of(node)],
        }
    };
    let fits = |node: &NodeId| names(schema, element, *node) && holds_state(schema, *node);
    schema.data_children_of(parent).iter().copied().filter(fits).flat_map(below).collect()
}

/// The entry whose keys all stand in `element` as content matches. Values that depend on prefixes are left to the
/// filter itself.
fn entry(schema: &Schema, list: NodeId, element: Element<'_, '_>) -> Option<String> {
    let keys = schema.list_keys(list);
    let mut path = schema.path_of(list);
    for key in keys {
        let leaf = element.children().find(|child| child.is_element() && names(schema, *child, *key))?;
        let text = leaf.text().map(str::trim).filter(|text| !text.is_empty())?;
        let quote = if text.contains('\'') { '"' } else { '\'' };
        if text.contains(quote) || !is_plain(&schema.leaf_type(*key)?.base) {
            return None;
        }
        path.push_str(&format!("[{}={quote}{text}{quote}]", schema.node(*key).name));
    }
    let path = InstancePath::parse(schema, &path).ok().filter(|_| !keys.is_empty())?;
    Some(path.render(schema).0)
}

/// Does `element` of a filter name `node`? Without a namespace it names it in any (RFC 6241 section 6.2.1).
fn names(schema: &Schema, element: Element<'_, '_>, node: NodeId) -> bool {
    let namespace = element.tag_name().namespace().unwrap_or_default();
    schema.node(node).name == element.tag_name().name()
        && (namespace.is_empty() || schema.module_of(node).namespace == namespace)
}

fn is_plain(ty: &Type) -> bool {
    match ty {
        Type::Boolean
        | Type::Decimal64 { .. }
        | Type::Enumeration(_)
        | Type::Integer { .. }
        | Type::String { .. } => true,
        Type::Leafref { real, .. } => is_plain(&real.base),
        Type::Union(members) => members.iter().all(|member| is_plain(&member.base)),
        Type::Binary { .. }
        | Type::Bits(_)
        | Type::Empty
        | Type::Identityref { .. }
        | Type::InstanceIdentifier { .. } => false,
    }
}

/// Is `node` state of a component, or is there any below it?
fn holds_state(schema: &Schema, node: NodeId) -> bool {
    if OWN.contains(&schema.module_of(node).name.as_str()) {
        return false;
    }
    !schema.node(node).config || schema.data_children(node).iter().any(|child| holds_state(schema, *child))
}

/// A `yang:date-and-time` of microseconds since 1970-01-01T00:00:00Z.
fn date_and_time(unix_us: u64) -> String {
    let (seconds, micros) = (unix_us / 1_000_000, unix_us % 1_000_000);
    let (days, of_day) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z")
}

/// Year, month and day of a day since 1970-01-01, by eras of 400 years that begin in March.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_dates() {
        assert_eq!(date_and_time(0), "1970-01-01T00:00:00.000000Z");
        assert_eq!(date_and_time(951_782_400_000_001), "2000-02-29T00:00:00.000001Z");
        assert_eq!(date_and_time(1_795_995_045_123_456), "2026-11-29T23:30:45.123456Z");
        assert_eq!(date_and_time(4_107_542_399_000_000), "2100-02-28T23:59:59.000000Z");
        assert_eq!(date_and_time(4_107_542_400_000_000), "2100-03-01T00:00:00.000000Z");
    }
}
