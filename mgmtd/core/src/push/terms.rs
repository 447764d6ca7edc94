//! What a subscription asks for: the parameters of `establish-subscription` and `modify-subscription`, read.

use super::refusal::{Asked, Refusal, Why};
use super::rhythm::Period;
use crate::reading::{Filter, GivenIn};
use crate::told::pushed_paths;
use crate::types::NmdaDatastore;
use cats_yang_tree::diff::PatchOperation;
use cats_yang_tree::error::{Error, ErrorTag};
use cats_yang_tree::operation::Call;
use cats_yang_tree::schema::{NodeId, Schema};
use cats_yang_tree::time::unix_us;
use cats_yang_tree::{Branch, Change, Data, Defaults, Found, InstancePath, Key, Step, Tree, json};
use serde_json::{Map, Value as Json};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// The module of streams and of what all subscriptions have.
pub(crate) const SUBSCRIBED: &str = "ietf-subscribed-notifications";
/// The module of datastores.
pub(crate) const PUSH: &str = "ietf-yang-push";

/// The shortest period, centiseconds.
pub(crate) const LEAST_PERIOD_CS: u32 = 10;

/// The steps that the evaluation of an XPath filter of a subscription may take: it is evaluated again and again.
const STEPS: u64 = 1_000_000;

/// The parameters that say where from, of which a later request replaces all.
const OF_TARGET: [&str; 7] = [
    "ietf-yang-push:datastore",
    "ietf-yang-push:selection-filter-ref",
    "ietf-yang-push:datastore-subtree-filter",
    "ietf-yang-push:datastore-xpath-filter",
    "stream-filter-name",
    "stream-subtree-filter",
    "stream-xpath-filter",
];

/// What a subscription asks for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Terms {
    /// All of it as an object of RFC 7951, by which it is told.
    pub(crate) words: Map<String, Json>,
    pub(crate) datastore: NmdaDatastore,
    pub(crate) selection: Arc<Selected>,
    pub(crate) trigger: Trigger,
    /// Microseconds since 1970.
    pub(crate) stop_us: Option<i64>,
}

/// When it is to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Trigger {
    Periodic(Period),
    OnChange(OnChange),
}

/// `on-change`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OnChange {
    pub(crate) dampening: Duration,
    /// `sync-on-start`: all of it is told at the start, and when there are gaps.
    pub(crate) syncs: bool,
    pub(crate) excluded: Vec<PatchOperation>,
}

/// The part of a datastore that is wanted.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Selected {
    pub(crate) filter: Option<Filter>,
    /// The stored filter that it is.
    pub(crate) stored: Option<String>,
    /// The nodes of components' state that may have something of it, if it is told of on change.
    pub(crate) state: BTreeSet<String>,
    /// Where changes may concern it; everywhere without.
    places: Option<Vec<InstancePath>>,
}

impl Selected {
    /// What a filter, or the stored one of that name, selects. `state`: of `<operational>`.
    fn new(schema: &Schema, filter: Option<Filter>, stored: Option<String>) -> Self {
        let places = filter.as_ref().map(|filter| filter.places(schema, &|_| true));
        let places = places.map(|places| places.into_iter().map(|place| place.path).collect());
        let state = pushed_paths(schema, filter.as_ref());
        Self { filter, stored, state, places }
    }

    /// May a change at a place concern it, as far as what was set goes?
    pub(crate) fn concerns(&self, change: &Change) -> bool {
        let meets = |place: &InstancePath| {
            place
                .steps
                .iter()
                .zip(&change.path.steps)
                .all(|(a, b)| a.node == b.node && (a.key.is_none() || b.key.is_none() || a.key == b.key))
        };
        self.places.as_ref().is_none_or(|places| places.iter().any(meets))
    }

    /// May it select any of the nodes that are told of on change?
    fn has_on_change(&self, schema: &Schema) -> bool {
        let told = |node: NodeId| told_on_change(schema, node);
        self.filter.as_ref().is_none_or(|filter| !filter.places(schema, &told).is_empty())
    }
}

/// Is `node`, or anything below it, told of on change in `<operational>`?
pub(crate) fn told_on_change(schema: &Schema, node: NodeId) -> bool {
    let found = schema.node(node);
    found.config
        || found.flags.on_change
        || schema.data_children(node).iter().any(|child| told_on_change(schema, *child))
}

/// The defaults that a reader of a datastore sees.
pub(crate) fn defaults_of(datastore: NmdaDatastore) -> Defaults {
    match datastore {
        NmdaDatastore::Operational => Defaults::ReportAll,
        NmdaDatastore::Running | NmdaDatastore::Candidate | NmdaDatastore::Intended => Defaults::Explicit,
    }
}

/// The input of an operation.
pub(crate) struct Given<'a> {
    schema: &'a Schema,
    node: NodeId,
    parameters: Tree,
    /// What was said wrongly is answered with this one's structure.
    asked: Asked,
}

impl<'a> Given<'a> {
    /// Judges the input beside running.
    pub(crate) fn new(
        schema: &'a Schema,
        running: &Tree,
        call: &Call,
        asked: Asked,
    ) -> Result<Self, Vec<Error>> {
        let parameters = call.parameters(schema, running).map_err(|errors| of_filters(errors, asked))?;
        Ok(Self { schema, node: call.input(), parameters, asked })
    }

    fn refuse(&self, refusal: Refusal) -> Vec<Error> {
        vec![refusal.into_error(self.asked)]
    }

    /// The stream that is named, if it is one of these.
    pub(crate) fn stream(&self) -> Option<&str> {
        text(self.schema, self.node, self.parameters.root(), (SUBSCRIBED, "stream"))
    }

    /// Does it name a datastore?
    pub(crate) fn names_datastore(&self) -> bool {
        text(self.schema, self.node, self.parameters.root(), (PUSH, "datastore")).is_some()
    }

    /// A point in time, microseconds since 1970.
    pub(crate) fn time(&self, leaf: &str) -> Option<u64> {
        unix_us(text(self.schema, self.node, self.parameters.root(), (SUBSCRIBED, leaf))?)
    }

    /// The filter of a stream.
    pub(crate) fn stream_filter(&self, running: &Tree) -> Result<StreamFilter, Vec<Error>> {
        let root = self.parameters.root();
        match text(self.schema, self.node, root, (SUBSCRIBED, "stream-filter-name")) {
            Some(name) => stored_of_stream(self.schema, running, name),
            None => stream_filter(self.schema, self.node, root, None),
        }
        .map_err(|error| vec![Refusal::filter(&error).into_error(self.asked.of_stream())])
    }

    pub(crate) fn id(&self) -> Option<u32> {
        number(self.schema, self.node, self.parameters.root(), (SUBSCRIBED, "id"))
            .or_else(|| number(self.schema, self.node, self.parameters.root(), (PUSH, "id")))
    }

    /// Is the encoding, if it is named, the one of NETCONF?
    pub(crate) fn takes_encoding(&self) -> Result<(), Vec<Error>> {
        match text(self.schema, self.node, self.parameters.root(), (SUBSCRIBED, "encoding")) {
            None | Some("ietf-subscribed-notifications:encode-xml") => Ok(()),
            Some(encoding) => {
                let message = format!("{encoding} does not go with NETCONF: encode-xml does");
                Err(self.refuse(Refusal::new(Why::EncodingUnsupported, message)))
            }
        }
    }

    /// The terms; what is not given is as in those before.
    pub(crate) fn terms(&self, running: &Tree, before: Option<&Terms>) -> Result<Terms, Vec<Error>> {
        let root = self.parameters.root();
        self.takes_encoding()?;
        let datastore = self.datastore()?;
        let selection = Arc::new(self.selection(running)?);
        let trigger = match (self.trigger()?, before.map(|before| &before.trigger)) {
            (Some(Trigger::OnChange(new)), Some(Trigger::OnChange(old))) => {
                Trigger::OnChange(OnChange { dampening: new.dampening, ..old.clone() })
            }
            (Some(new), _) => new,
            (None, Some(old)) => old.clone(),
            (None, None) => {
                let message = "a subscription to a datastore needs <periodic> or <on-change>";
                return Err(vec![
                    Error::application(ErrorTag::MissingElement, message)
                        .with(cats_yang_tree::error::ErrorInfo::BadElement("periodic".to_owned())),
                ]);
            }
        };
        let is_on_change = matches!(trigger, Trigger::OnChange(_));
        if is_on_change && datastore == NmdaDatastore::Operational && !selection.has_on_change(self.schema) {
            let message = "nothing that the filter may select is told of on change: see system-capabilities, or \
                           subscribe periodically";
            return Err(self.refuse(Refusal::new(Why::OnChangeUnsupported, message)));
        }
        let stop = text(self.schema, self.node, root, (SUBSCRIBED, "stop-time"));
        let stop_us = stop.and_then(signed_us).or(before.and_then(|before| before.stop_us));
        Ok(Terms {
            words: self.words(before.map(|before| &before.words)),
            datastore,
            selection,
            trigger,
            stop_us,
        })
    }

    /// What was said, with what was said before and holds on.
    pub(crate) fn words(&self, before: Option<&Map<String, Json>>) -> Map<String, Json> {
        let mut words = before.cloned().unwrap_or_default();
        words.retain(|name, _| !OF_TARGET.contains(&name.as_str()));
        let Json::Object(new) = json::branch(self.schema, self.parameters.root(), Some(self.node)) else {
            return words;
        };
        for (name, value) in new {
            let other = match name.as_str() {
                "ietf-yang-push:periodic" => "ietf-yang-push:on-change",
                "ietf-yang-push:on-change" => "ietf-yang-push:periodic",
                _ => "",
            };
            words.remove(other);
            match (words.get_mut(&name), value) {
                (Some(Json::Object(old)), Json::Object(new)) => old.extend(new),
                (_, value) => drop(words.insert(name, value)),
            }
        }
        words.remove("id");
        words
    }

    fn datastore(&self) -> Result<NmdaDatastore, Vec<Error>> {
        let root = self.parameters.root();
        let Some(name) = text(self.schema, self.node, root, (PUSH, "datastore")) else {
            let message = "a subscription needs a <stream> or a <datastore>";
            return Err(vec![Error::application(ErrorTag::MissingElement, message)]);
        };
        let known = [
            NmdaDatastore::Running,
            NmdaDatastore::Candidate,
            NmdaDatastore::Intended,
            NmdaDatastore::Operational,
        ];
        let found =
            known.into_iter().find(|known| name.strip_prefix("ietf-datastores:") == Some(known.name()));
        found.ok_or_else(|| {
            let message = format!("{name} is not here: running, candidate, intended and operational are");
            self.refuse(Refusal::new(Why::DatastoreNotSubscribable, message))
        })
    }

    fn selection(&self, running: &Tree) -> Result<Selected, Vec<Error>> {
        let root = self.parameters.root();
        match text(self.schema, self.node, root, (PUSH, "selection-filter-ref")) {
            Some(name) => stored(self.schema, running, name),
            None => within(self.schema, self.node, root, None),
        }
        .map_err(|error| self.refuse(Refusal::filter(&error)))
    }

    fn trigger(&self) -> Result<Option<Trigger>, Vec<Error>> {
        let (schema, root) = (self.schema, self.parameters.root());
        if let Some((node, periodic)) = container(schema, self.node, root, "periodic") {
            let centiseconds = number(schema, node, periodic, (PUSH, "period")).unwrap_or_default();
            if centiseconds < LEAST_PERIOD_CS {
                let message = format!("a period of {centiseconds} centiseconds is too short");
                let refusal = Refusal::new(Why::PeriodUnsupported, message);
                return Err(self.refuse(refusal.hint("period-hint", LEAST_PERIOD_CS)));
            }
            let anchor_us = text(schema, node, periodic, (PUSH, "anchor-time")).and_then(signed_us);
            return Ok(Some(Trigger::Periodic(Period { centiseconds, anchor_us })));
        }
        let Some((node, on_change)) = container(schema, self.node, root, "on-change") else {
            return Ok(None);
        };
        let dampening = number(schema, node, on_change, (PUSH, "dampening-period")).unwrap_or_default();
        let syncs = child(schema, node, on_change, (PUSH, "sync-on-start"));
        let syncs = !matches!(syncs, Some(Data::Leaf(cats_yang_tree::Value::Bool(false))));
        Ok(Some(Trigger::OnChange(OnChange {
            dampening: Duration::from_millis(u64::from(dampening).saturating_mul(10)),
            syncs,
            excluded: excluded(schema, node, on_change),
        })))
    }
}

/// A filter of events, and the stored one that it is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StreamFilter {
    pub(crate) filter: Option<Arc<Filter>>,
    pub(crate) stored: Option<String>,
}

/// The stored filter of events of that name.
pub(crate) fn stored_of_stream(schema: &Schema, running: &Tree, name: &str) -> Result<StreamFilter, Error> {
    let (list, entry) = entry(schema, running, (SUBSCRIBED, "stream-filter"), name)?;
    stream_filter(schema, list, entry, Some(name.to_owned()))
}

fn stream_filter(
    schema: &Schema,
    node: NodeId,
    branch: &Branch,
    stored: Option<String>,
) -> Result<StreamFilter, Error> {
    let subtree = match child(schema, node, branch, (SUBSCRIBED, "stream-subtree-filter")) {
        Some(Data::Any(content)) => Some(Filter::subtree(schema, &format!("<filter>{content}</filter>"))?),
        Some(Data::Leaf(_) | Data::Container(_) | Data::List(_) | Data::LeafList(_)) | None => None,
    };
    let filter = match (subtree, text(schema, node, branch, (SUBSCRIBED, "stream-xpath-filter"))) {
        (Some(filter), _) => Some(filter),
        (None, Some(select)) => {
            Some(Filter::of_notices(schema, GivenIn::StreamXPath, select.to_owned(), namespaces(schema))?)
        }
        (None, None) => None,
    };
    Ok(StreamFilter { filter: filter.map(Arc::new), stored })
}

/// The names of modules as prefixes, as they stand in values.
fn namespaces(schema: &Schema) -> Vec<(String, String)> {
    schema.modules.iter().map(|module| (module.name.clone(), module.namespace.clone())).collect()
}

/// The entry of a list of `/filters`.
fn entry<'t>(
    schema: &Schema,
    running: &'t Tree,
    (module, list): (&str, &str),
    name: &str,
) -> Result<(NodeId, &'t Branch), Error> {
    let missing = || Error::application(ErrorTag::DataMissing, format!("there is no stored filter '{name}'"));
    let filters = schema.module_by_name(SUBSCRIBED).and_then(|of| schema.child(None, of, "filters"));
    let filters = filters.ok_or_else(missing)?;
    let list = schema.module_by_name(module).and_then(|of| schema.child(Some(filters), of, list));
    let list = list.ok_or_else(missing)?;
    let steps = vec![Step { node: filters, key: None }, Step { node: list, key: Some(Key::string(name)) }];
    match running.find(&InstancePath { steps }) {
        Some(Found::Branch(entry)) => Ok((list, entry)),
        Some(Found::Leaf(_) | Found::List(_) | Found::LeafList(_) | Found::Any(_)) | None => Err(missing()),
    }
}

/// What a subscription has of the stored filter of that name.
pub(crate) fn stored(schema: &Schema, running: &Tree, name: &str) -> Result<Selected, Error> {
    let (list, entry) = entry(schema, running, (PUSH, "selection-filter"), name)?;
    within(schema, list, entry, Some(name.to_owned()))
}

/// The filter that stands among the children of `branch`.
fn within(schema: &Schema, node: NodeId, branch: &Branch, name: Option<String>) -> Result<Selected, Error> {
    let subtree = match child(schema, node, branch, (PUSH, "datastore-subtree-filter")) {
        Some(Data::Any(content)) => Some(Filter::subtree(schema, &format!("<filter>{content}</filter>"))?),
        Some(Data::Leaf(_) | Data::Container(_) | Data::List(_) | Data::LeafList(_)) | None => None,
    };
    let filter = match (subtree, text(schema, node, branch, (PUSH, "datastore-xpath-filter"))) {
        (Some(filter), _) => Some(filter),
        (None, Some(select)) => {
            let filter = Filter::xpath(schema, GivenIn::Subscription, select.to_owned(), namespaces(schema))?;
            Some(filter.within(STEPS))
        }
        (None, None) => None,
    };
    Ok(Selected::new(schema, filter, name))
}

/// Microseconds since 1970; what is before that is that.
fn signed_us(text: &str) -> Option<i64> {
    unix_us(text).and_then(|us| i64::try_from(us).ok())
}

/// Errors at a filter, or at an encoding, are told by their identity.
fn of_filters(errors: Vec<Error>, asked: Asked) -> Vec<Error> {
    let at_encoding = |error: &&Error| error.path.as_ref().is_some_and(|path| path.0.ends_with("/encoding"));
    if let Some(error) = errors.iter().find(at_encoding) {
        return vec![Refusal::new(Why::EncodingUnsupported, error.message.clone()).into_error(asked)];
    }
    let at_filter = |error: &&Error| error.path.as_ref().is_some_and(|path| path.0.contains("filter"));
    match errors.iter().find(at_filter) {
        Some(error) => {
            let of_stream = error.path.as_ref().is_some_and(|path| path.0.contains("stream-"));
            vec![Refusal::filter(error).into_error(if of_stream { asked.of_stream() } else { asked })]
        }
        None => errors,
    }
}

fn excluded(schema: &Schema, node: NodeId, on_change: &Branch) -> Vec<PatchOperation> {
    let all = [
        PatchOperation::Create,
        PatchOperation::Delete,
        PatchOperation::Insert,
        PatchOperation::Move,
        PatchOperation::Replace,
    ];
    let Some(Data::LeafList(named)) = child(schema, node, on_change, (PUSH, "excluded-change")) else {
        return Vec::new();
    };
    let is_named =
        |operation: &PatchOperation| named.iter().any(|(_, value)| value.to_string() == operation.name());
    all.into_iter().filter(is_named).collect()
}

fn child<'b>(
    schema: &Schema,
    node: NodeId,
    branch: &'b Branch,
    (module, name): (&str, &str),
) -> Option<&'b Data> {
    branch.get(schema.child(Some(node), schema.module_by_name(module)?, name)?)
}

fn container<'b>(
    schema: &Schema,
    node: NodeId,
    branch: &'b Branch,
    name: &str,
) -> Option<(NodeId, &'b Branch)> {
    let id = schema.child(Some(node), schema.module_by_name(PUSH)?, name)?;
    match branch.get(id)? {
        Data::Container(inner) => Some((id, inner)),
        Data::Leaf(_) | Data::List(_) | Data::LeafList(_) | Data::Any(_) => None,
    }
}

fn text<'b>(schema: &Schema, node: NodeId, branch: &'b Branch, name: (&str, &str)) -> Option<&'b str> {
    match child(schema, node, branch, name)? {
        Data::Leaf(value) => value.as_str(),
        Data::Container(_) | Data::List(_) | Data::LeafList(_) | Data::Any(_) => None,
    }
}

fn number(schema: &Schema, node: NodeId, branch: &Branch, name: (&str, &str)) -> Option<u32> {
    match child(schema, node, branch, name)? {
        Data::Leaf(cats_yang_tree::Value::Uint32(number)) => Some(*number),
        Data::Leaf(_) | Data::Container(_) | Data::List(_) | Data::LeafList(_) | Data::Any(_) => None,
    }
}
