//! What `get` and `<operational>` show besides running: the state of this daemon (`ietf-netconf-monitoring`,
//! `ietf-yang-library`, `ietf-alarms`, the history and the detached candidates of `cats-system`), and of the components,
//! which are asked for it.

use crate::compare::Awaited;
use crate::core::Core;
use crate::output::Output;
use crate::reading::{Filter, Reading, Selection, chain};
use crate::reads::{READ_TIMEOUT, Read};
use crate::types::{NmdaDatastore, Now, Reply, SessionId, Ticket};
use cats_yang_tree::error::Error;
use cats_yang_tree::schema::{NodeId, Schema};
use cats_yang_tree::{Ops, Tree};
use serde_json::{Value, json};

/// The modules whose state is this daemon's own.
const OWN: [&str; 10] = [
    "cats-system",
    "ietf-alarms",
    "ietf-netconf-acm",
    "ietf-netconf-monitoring",
    "ietf-notification-capabilities",
    "ietf-subscribed-notifications",
    "ietf-system-capabilities",
    "ietf-yang-library",
    "ietf-yang-push",
    "nc-notifications",
];

impl Core {
    /// Answers `get`, or asks a component first.
    pub(crate) fn get(
        &mut self,
        session: SessionId,
        selection: Selection,
        now: Now,
    ) -> Result<Option<Reply>, Vec<Error>> {
        self.read_operational(session, selection, None, now)
    }

    /// Reads `<operational>`, to be answered as it is or to be compared.
    pub(crate) fn read_operational(
        &mut self,
        session: SessionId,
        selection: Selection,
        compared: Option<Awaited>,
        now: Now,
    ) -> Result<Option<Reply>, Vec<Error>> {
        let paths = component_paths(&self.facts.schema, selection.filter.as_ref());
        match (self.components.any(), paths) {
            (Some(component), Some(paths)) => {
                let ticket = self.ticket();
                let deadline = now.instant + READ_TIMEOUT;
                self.reads.begin(ticket, Read { session, component, selection, compared, deadline });
                self.outputs.push_back(Output::ReadState { ticket, component, paths });
                Ok(None)
            }
            (None, _) | (_, None) => {
                let reading = self.operational(session, None, selection)?;
                Ok(Some(answer(reading, compared)))
            }
        }
    }

    /// Answers `get-data`.
    pub(crate) fn get_data(
        &mut self,
        session: SessionId,
        datastore: NmdaDatastore,
        selection: Selection,
        now: Now,
    ) -> Result<Option<Reply>, Vec<Error>> {
        let access = self.access(session);
        if datastore == NmdaDatastore::Operational {
            return self.get(session, selection, now);
        }
        Ok(Some(Reply::Data(Reading::new(self.configuration(session, datastore), selection, access))))
    }

    /// A component's state, as answer to an [`Output::ReadState`]. Whoever answers the session merges it with the rest.
    pub fn handle_state(&mut self, ticket: Ticket, state: Result<Tree, Vec<Error>>, now: Now) {
        if self.located(ticket, &state) || self.pulled(ticket, &state, now) {
            return;
        }
        let Some(read) = self.reads.take(ticket) else { return };
        let answer = state
            .and_then(|state| self.operational(read.session, Some(state), read.selection))
            .map(|reading| answer(reading, read.compared));
        self.reply(read.session, answer);
    }

    /// As while no component is connected: what it would tell is absent, and the alarm says why.
    pub(crate) fn answer_without(&mut self, read: Read) {
        let Read { session, selection, compared, .. } = read;
        let answer = self.operational(session, None, selection).map(|reading| answer(reading, compared));
        self.reply(session, answer);
    }

    pub(crate) fn operational(
        &mut self,
        session: SessionId,
        state: Option<Tree>,
        selection: Selection,
    ) -> Result<Reading, Vec<Error>> {
        let access = self.access(session);
        let schema = &self.facts.schema;
        let filter = selection.filter.as_ref();
        let library = self.library.as_ref().map_err(Clone::clone)?;
        let wanted = |node| filter.is_none_or(|filter| filter.touches(schema, node));
        let tree = self.running.with_tops_of(library, wanted);
        let tree = merge(schema, &tree, &self.own_state(session, filter))?;
        let alarms = self.alarms.tree().root().iter().any(|(node, _)| wanted(node));
        let tree = if alarms { tree.merged(schema, self.alarms.tree()) } else { tree };
        let intended = Some(self.running.clone());
        Ok(Reading { state, intended, ..Reading::new(tree, selection, access) })
    }

    /// The parts of this daemon's state that the filter may select.
    fn own_state(&self, session: SessionId, filter: Option<&Filter>) -> Value {
        let mut state = serde_json::Map::new();
        let schema = &self.facts.schema;
        let top = |module: &str, name: &str| {
            let id = schema.module_by_name(module).filter(|id| schema.module(*id).implemented)?;
            let node = schema.child(None, id, name)?;
            filter.is_none_or(|filter| filter.touches(schema, node)).then(|| format!("{module}:{name}"))
        };
        if let Some(name) = top("ietf-netconf-monitoring", "netconf-state") {
            state.insert(name, self.netconf_state());
        }
        if top("ietf-subscribed-notifications", "subscriptions").is_some() {
            state.extend(self.push.report());
        }
        if let Some(name) = top("ietf-subscribed-notifications", "streams") {
            state.insert(name, self.stream.to_json_of_subscriptions());
        }
        if let Some(name) = top("nc-notifications", "netconf") {
            state.insert(name, self.stream.to_json());
        }
        if self.nacm.is_served() {
            let counters = self.nacm.counters;
            let nacm = json!({
                "denied-operations": counters.denied_operations,
                "denied-data-writes": counters.denied_data_writes,
                "denied-notifications": counters.denied_notifications,
            });
            state.insert("ietf-netconf-acm:nacm".to_owned(), nacm);
        }
        let system = self.system_state(session, filter);
        if !system.is_empty() {
            let system = json!({ "ietf-cats:cats": { "cats-system:system": system } });
            state.insert("ietf-routing:routing".to_owned(), system);
        }
        Value::Object(state)
    }

    /// Those of them that `cats-system` has.
    fn system_state(&self, session: SessionId, filter: Option<&Filter>) -> serde_json::Map<String, Value> {
        let schema = &self.facts.schema;
        let mut system = serde_json::Map::new();
        if system_node(schema, "detached-candidates").is_some_and(|node| may_select(schema, filter, node)) {
            let candidates = self.detached_candidates(session);
            if !candidates.is_empty() {
                system.insert("detached-candidates".to_owned(), json!({ "candidate": candidates }));
            }
        }
        if system_node(schema, "history").is_some_and(|history| may_select(schema, filter, history)) {
            let revisions = self.history.revisions();
            if !revisions.is_empty() {
                system.insert("history".to_owned(), json!({ "revision": revisions }));
            }
        }
        if system_node(schema, "call-home").is_some_and(|node| may_select(schema, filter, node)) {
            let clients = self.call_home.clients();
            if !clients.is_empty() {
                system.insert("call-home".to_owned(), json!({ "client": clients }));
            }
        }
        system
    }
}

fn answer(operational: Reading, compared: Option<Awaited>) -> Reply {
    match compared {
        None => Reply::Data(operational),
        Some(awaited) => awaited.with(operational),
    }
}

/// May the filter select anything at or below `place`?
fn may_select(schema: &Schema, filter: Option<&Filter>, place: NodeId) -> bool {
    let below = |node: NodeId, above: NodeId| chain(schema, node).contains(&above);
    filter.is_none_or(|filter| {
        !filter.places(schema, &|node| below(node, place) || below(place, node)).is_empty()
    })
}

/// A container of `cats-system`.
fn system_node(schema: &Schema, name: &str) -> Option<NodeId> {
    let steps = [("ietf-routing", "routing"), ("ietf-cats", "cats"), ("cats-system", "system")];
    let steps = steps.into_iter().chain([("cats-system", name)]);
    steps.into_iter().try_fold(None, |above, (module, name)| {
        schema.child(above, schema.module_by_name(module)?, name).map(Some)
    })?
}

pub(crate) fn merge(schema: &Schema, tree: &Tree, state: &Value) -> Result<Tree, Vec<Error>> {
    cats_yang_tree::edit(tree, schema, Ops::from_state_json(schema, state)?)
}

/// The paths that a component is to be asked for: none when the filter selects nothing that a component may have,
/// an empty list for all.
pub(crate) fn component_paths(schema: &Schema, filter: Option<&Filter>) -> Option<Vec<String>> {
    let holds = |node: NodeId| holds_state(schema, node);
    let Some(filter) = filter else {
        return schema.data_children_of(None).iter().any(|node| holds(*node)).then(Vec::new);
    };
    let places = filter.places(schema, &holds);
    let mut paths: Vec<String> = places.iter().map(|place| place.render(schema).0).collect();
    paths.sort();
    paths.dedup();
    (!paths.is_empty()).then_some(paths)
}

/// Is `node` state of a component, or is there any below it?
pub(crate) fn holds_state(schema: &Schema, node: NodeId) -> bool {
    !OWN.contains(&schema.module_of(node).name.as_str())
        && (!schema.node(node).config
            || schema.data_children(node).iter().any(|child| holds_state(schema, *child)))
}
