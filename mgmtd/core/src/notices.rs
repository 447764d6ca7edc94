//! Events: what happens here, as notifications that are kept and told.

use crate::core::Core;
use crate::monitoring::date_and_time;
use crate::output::{Author, CommitRecord, ConfirmEvent, Event};
use crate::types::{End, SessionId};
use cats_yang_tree::ChangeSet;
use cats_yang_tree::InstancePath;
use cats_yang_tree::diff::ChangeKind;
use cats_yang_tree::notice::Notice;
use cats_yang_tree::schema::{NodeId, Schema};
use serde_json::{Value, json};
use std::sync::{Arc, OnceLock};

/// An event as it is kept: its place in the order of all, its time, and what it says as text that a later version of the
/// schema can read, or refuse.
#[derive(Debug)]
pub struct Logged {
    /// Counts up by one from event to event.
    pub seq: u64,
    /// When it happened: microseconds since 1970-01-01T00:00:00Z by the wall clock.
    pub unix_us: u64,
    text: Arc<str>,
    /// What the text says, once somebody asked.
    notice: OnceLock<Option<Arc<Notice>>>,
}

impl Logged {
    /// An event that happens.
    pub(crate) fn new(schema: &Schema, seq: u64, unix_us: u64, notice: Notice) -> Self {
        let node = schema.node(notice.notification());
        let above = notice.above();
        let mut text = json!({
            "name": format!("{}:{}", schema.module(node.module).name, node.name),
            "content": notice.to_json(schema),
        });
        if let (Value::Object(text), false) = (&mut text, above.steps.is_empty()) {
            text.insert("above".to_owned(), json!(above.render(schema).0));
        }
        Self {
            seq,
            unix_us,
            text: Arc::from(text.to_string()),
            notice: OnceLock::from(Some(Arc::new(notice))),
        }
    }

    /// One that was kept.
    pub fn kept(seq: u64, unix_us: u64, text: Arc<str>) -> Self {
        Self { seq, unix_us, text, notice: OnceLock::new() }
    }

    /// The same, holding nothing but its text.
    pub(crate) fn put_by(&self) -> Self {
        Self::kept(self.seq, self.unix_us, Arc::clone(&self.text))
    }

    /// What is kept of it.
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// Its time as it is told.
    pub(crate) fn time(&self) -> String {
        date_and_time(self.unix_us)
    }

    /// About how many bytes it takes.
    pub(crate) fn weight(&self) -> usize {
        self.text.len() + size_of::<Self>() + 64
    }

    /// It as data; none when this schema does not know it.
    pub(crate) fn notice(&self, schema: &Schema) -> Option<Arc<Notice>> {
        self.notice.get_or_init(|| read(schema, &self.text).map(Arc::new)).clone()
    }
}

fn read(schema: &Schema, text: &str) -> Option<Notice> {
    let json: Value = serde_json::from_str(text).ok()?;
    let above = match json.get("above").and_then(Value::as_str) {
        Some(above) => InstancePath::parse(schema, above).ok()?,
        None => InstancePath::default(),
    };
    let node = named(schema, &above, json.get("name")?.as_str()?)?;
    Notice::from_json(schema, node, &above, json.get("content")?).ok()
}

fn named(schema: &Schema, above: &InstancePath, name: &str) -> Option<NodeId> {
    let (module, name) = name.split_once(':')?;
    schema.child(above.node(), schema.module_by_name(module)?, name)
}

/// A change of the configuration tells of so many edits; how many there are beside them is told too.
const MOST_EDITS: usize = 500;

/// The module of the events of a server (RFC 6470).
const BASE_EVENTS: &str = "ietf-netconf-notifications";

/// Who stands in the place of a user where this daemon did something itself.
const OURSELVES: &str = "cats-mgmtd";

impl Core {
    /// What is told of an event; none for what no module of ours tells.
    pub(crate) fn notice_of(&self, event: &Event) -> Option<Notice> {
        let (name, content) = match event {
            Event::SessionOpened { session, user } => {
                ("netconf-session-start", by_user(user, *session, self.host_of(*session)))
            }
            Event::SessionEnded { session, user, source_host, why } => {
                ("netconf-session-end", ended(user, *session, source_host.as_deref(), *why))
            }
            Event::Committed { commit, changes } => return self.config_change(commit, changes),
            Event::ConfirmedCommit { what, by } => ("netconf-confirmed-commit", self.confirmed(*what, by)),
            Event::CommitFailed { .. }
            | Event::RollbackRefused { .. }
            | Event::Denied { .. }
            | Event::Executes { .. }
            | Event::CandidateKept { .. }
            | Event::CandidateAttached { .. }
            | Event::CandidateDropped { .. }
            | Event::AlarmRaised(_)
            | Event::AlarmCleared(_) => return None,
        };
        // A schema that lacks the module has nobody to tell.
        Notice::named(&self.facts.schema, (BASE_EVENTS, name), &content).ok()
    }

    fn host_of(&self, session: SessionId) -> Option<&str> {
        self.sessions.get(session)?.peer.source_host.as_deref()
    }

    fn config_change(&self, commit: &CommitRecord, changes: &ChangeSet) -> Option<Notice> {
        let schema = &self.facts.schema;
        let changed_by = match &commit.by {
            Author::Session { session, user, .. } => by_user(user, *session, self.host_of(*session)),
            Author::Server => json!({ "server": [null] }),
        };
        let mut content = json!({ "changed-by": changed_by, "datastore": "running" });
        let edits: Vec<Value> = changes
            .changes
            .iter()
            .take(MOST_EDITS)
            .map(|change| {
                let operation = match change.kind {
                    ChangeKind::Create { .. } => "create",
                    ChangeKind::Delete { .. } => "delete",
                    ChangeKind::Replace { .. } => "replace",
                    // It is what it was, elsewhere.
                    ChangeKind::Move => "merge",
                };
                json!({ "target": change.path.render(schema).0, "operation": operation })
            })
            .collect();
        let left_out = changes.changes.len().saturating_sub(MOST_EDITS);
        if let Value::Object(content) = &mut content {
            content.insert("edit".to_owned(), Value::Array(edits));
            let told = schema.module_by_name("cats-system").filter(|id| schema.module(*id).implemented);
            if left_out > 0 && told.is_some() {
                let left_out = u32::try_from(left_out).unwrap_or(u32::MAX);
                content.insert("cats-system:edits-left-out".to_owned(), json!(left_out));
            }
        }
        Notice::named(schema, (BASE_EVENTS, "netconf-config-change"), &content).ok()
    }

    fn confirmed(&self, what: ConfirmEvent, by: &Author) -> Value {
        let (word, timeout) = match what {
            ConfirmEvent::Start { timeout_s } => ("start", Some(timeout_s)),
            ConfirmEvent::Extend { timeout_s } => ("extend", Some(timeout_s)),
            ConfirmEvent::Complete => ("complete", None),
            ConfirmEvent::Cancel => ("cancel", None),
            ConfirmEvent::Timeout => ("timeout", None),
        };
        let mut content = match (what, by) {
            (ConfirmEvent::Timeout, _) => json!({}),
            (_, Author::Session { session, user, .. }) => by_user(user, *session, self.host_of(*session)),
            (_, Author::Server) => json!({ "username": OURSELVES, "session-id": 0 }),
        };
        if let Value::Object(content) = &mut content {
            content.insert("confirm-event".to_owned(), json!(word));
            content.extend(timeout.map(|seconds| ("timeout".to_owned(), json!(seconds))));
        }
        content
    }
}

/// `common-session-parms`.
fn by_user(user: &str, session: SessionId, host: Option<&str>) -> Value {
    let mut content = json!({ "username": user, "session-id": session.0 });
    if let Value::Object(content) = &mut content {
        content.extend(host.map(|host| ("source-host".to_owned(), json!(host))));
    }
    content
}

fn ended(user: &str, session: SessionId, host: Option<&str>, why: End) -> Value {
    let (reason, killer) = match why {
        End::Closed => ("closed", None),
        End::Dropped => ("dropped", None),
        End::BadHello => ("bad-hello", None),
        End::TimedOut => ("timeout", None),
        End::Behind => ("other", None),
        End::Killed { by } => ("killed", Some(by)),
    };
    let mut content = by_user(user, session, host);
    if let Value::Object(content) = &mut content {
        content.insert("termination-reason".to_owned(), json!(reason));
        content.extend(killer.map(|by| ("killed-by".to_owned(), json!(by.0))));
    }
    content
}
