//! What the rules mean for one user, node by node: the decision of RFC 8341 section 3.4.
//!
//! Most rules speak of all instances of a node, so the decision is the schema node's, made once. What is left for each
//! instance are the rules that name entries by their keys.

use super::rules::{AccessOperation, Rule, Rules, Target};
use cats_yang_tree::schema::{ModuleId, NodeId, NodeKind, Schema};
use cats_yang_tree::{Key, Step};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;

/// The operations that no default permits, whatever their `rpc` statements say (RFC 8341 section 3.4.4 step 11).
const DENIED_BY_DEFAULT: [&str; 2] = ["delete-config", "kill-session"];

/// So many rules are asked one after the other; of more, those are looked up that name the entry.
const FEW: usize = 8;

/// The rules for one user over one schema.
pub(crate) struct Effective {
    pub(super) schema: Arc<Schema>,
    pub(super) user: String,
    rules: Vec<Arc<Rule>>,
    defaults: Defaults,
    /// What many nodes have in common.
    classes: Vec<Class>,
    nodes: Vec<Facts>,
    entries: BTreeMap<NodeId, NamedEntries>,
    /// The rules about some instances: by the first entry that they name by all keys, or else under none.
    by_entry: BTreeMap<Option<(NodeId, Key)>, Vec<u32>>,
}

impl fmt::Debug for Effective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rules = self.rules.len();
        f.debug_struct("Effective").field("user", &self.user).field("rules", &rules).finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, Copy)]
struct Defaults {
    read: bool,
    write: bool,
    exec: bool,
}

/// The verdicts on a node, one for each access operation.
type Class = [Verdict; 5];

/// The verdict on one access operation.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
struct Verdict {
    /// The rules about some instances only, in order; they stand before what decides all others.
    some: Vec<u32>,
    /// Is it permitted when none of these is about the instance?
    otherwise: bool,
}

/// How much of what stands at and below a node is readable, rules about some instances aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    All,
    /// The node, but not everything below it.
    Part,
    /// Not the node, so nothing below it either.
    Nothing,
}

/// What is known of a node without looking at instances.
#[derive(Debug, Clone, Copy)]
pub(super) struct Facts {
    class: u32,
    pub(super) read: Extent,
    /// May the node and all below it be created?
    pub(super) create: bool,
    /// May the node and all below it be deleted?
    pub(super) delete: bool,
    /// Is there, at or below it, a rule about some instances only?
    pub(super) by_instance: bool,
}

/// The entries of a list or leaf-list that rules about some instances are about.
#[derive(Debug, Clone, Default)]
pub(super) struct NamedEntries {
    pub(super) keys: BTreeSet<Key>,
    /// There are rules that do not say which by all keys.
    pub(super) any: bool,
}

/// What the rules say where it is not known which instance is meant: one of these or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Judged {
    pub(super) permit: bool,
    pub(super) deny: bool,
}

impl Effective {
    pub(super) fn new(schema: &Arc<Schema>, rules: &Rules, groups: &[String], user: &str) -> Self {
        let mut effective = Self {
            schema: Arc::clone(schema),
            user: user.to_owned(),
            rules: rules.for_groups(groups),
            defaults: Defaults {
                read: rules.read_default,
                write: rules.write_default,
                exec: rules.exec_default,
            },
            classes: Vec::new(),
            nodes: Vec::with_capacity(schema.nodes.len()),
            entries: BTreeMap::new(),
            by_entry: BTreeMap::new(),
        };
        effective.classify();
        effective.summarise();
        effective.name_entries();
        effective
    }

    pub(super) fn facts(&self, node: NodeId) -> Option<&Facts> {
        self.nodes.get(node.0 as usize)
    }

    pub(super) fn named_entries(&self, list: NodeId) -> Option<&NamedEntries> {
        self.entries.get(&list)
    }

    /// Is everything readable that this schema can hold?
    pub(super) fn reads_all(&self) -> bool {
        let top = self.schema.data_children_of(None);
        top.iter()
            .filter_map(|node| self.facts(*node))
            .all(|facts| facts.read == Extent::All && !facts.by_instance)
    }

    /// The verdict on the last node of `trail`, as far as `trail` says which instance it is.
    pub(super) fn judge(&self, operation: AccessOperation, trail: &[Step]) -> Judged {
        let mut judged = Judged { permit: false, deny: false };
        let Some(verdict) = trail.last().and_then(|step| self.verdict(operation, step.node)) else {
            return Judged { permit: false, deny: true };
        };
        let mut say = |permit: bool| if permit { judged.permit = true } else { judged.deny = true };
        for at in self.candidates(verdict, trail).iter() {
            let Some(rule) = self.rules.get(*at as usize) else { continue };
            let Target::Data(path) = &rule.target else { continue };
            match path.meets(trail, &self.user) {
                Some(true) => {
                    say(rule.permit);
                    return judged;
                }
                Some(false) => {}
                None => say(rule.permit),
            }
        }
        say(verdict.otherwise);
        judged
    }

    /// Those of the rules about some instances that may be about the one that `trail` leads to, in order.
    fn candidates<'a>(&self, verdict: &'a Verdict, trail: &[Step]) -> Cow<'a, [u32]> {
        let mut entries = Vec::new();
        for step in
            trail.iter().filter(|step| verdict.some.len() > FEW && has_entries(&self.schema, step.node))
        {
            match &step.key {
                Some(key) => entries.push((step.node, key.clone())),
                None => return Cow::Borrowed(&verdict.some),
            }
        }
        if verdict.some.len() <= FEW {
            return Cow::Borrowed(&verdict.some);
        }
        let of = |entry: Option<(NodeId, Key)>| self.by_entry.get(&entry).into_iter().flatten().copied();
        let found = entries.into_iter().map(Some).chain([None]).flat_map(of);
        let mut found: Vec<u32> = found.filter(|at| verdict.some.binary_search(at).is_ok()).collect();
        found.sort_unstable();
        Cow::Owned(found)
    }

    /// Is the access permitted, to every instance that `trail` may mean?
    pub(super) fn permits(&self, operation: AccessOperation, trail: &[Step]) -> bool {
        !self.judge(operation, trail).deny
    }

    /// RFC 8341 section 3.4.4 from step 6 on.
    pub(super) fn may_invoke(&self, module: &str, operation: &str) -> bool {
        let about = |rule: &Rule| match &rule.target {
            Target::Everything => true,
            Target::Operation(name) => name.matches(operation),
            Target::Notification(_) | Target::Data(_) => false,
        };
        if let Some(permit) = self.first_match(module, AccessOperation::Exec, about) {
            return permit;
        }
        let of_netconf = module == super::NETCONF;
        let closed =
            of_netconf && DENIED_BY_DEFAULT.contains(&operation) || self.is_guarded(module, operation);
        !closed && self.defaults.exec
    }

    /// RFC 8341 section 3.4.6 from step 5 on; of a notification that is tied to a data node the node decides too:
    /// see [`Effective::permits`].
    pub(super) fn may_receive(&self, module: &str, notification: &str) -> bool {
        let about = |rule: &Rule| match &rule.target {
            Target::Everything => true,
            Target::Notification(name) => name.matches(notification),
            Target::Operation(_) | Target::Data(_) => false,
        };
        let found = self.first_match(module, AccessOperation::Read, about);
        found.unwrap_or_else(|| !self.is_guarded(module, notification) && self.defaults.read)
    }

    /// Do the rules about its name deny a notification?
    pub(super) fn names_deny(&self, module: &str, notification: &str) -> bool {
        let about = |rule: &Rule| match &rule.target {
            Target::Notification(name) => name.matches(notification),
            Target::Everything | Target::Operation(_) | Target::Data(_) => false,
        };
        self.first_match(module, AccessOperation::Read, about) == Some(false)
    }

    fn first_match(
        &self,
        module: &str,
        operation: AccessOperation,
        about: impl Fn(&Rule) -> bool,
    ) -> Option<bool> {
        let matches = |rule: &&Arc<Rule>| {
            rule.module.matches(module) && rule.operations.contains(operation) && about(rule)
        };
        self.rules.iter().find(matches).map(|rule| rule.permit)
    }

    /// Does the statement of this operation or notification contain `default-deny-all`?
    fn is_guarded(&self, module: &str, name: &str) -> bool {
        let module = self.schema.module_by_name(module);
        let node = module.and_then(|module| self.schema.child(None, module, name));
        node.is_some_and(|node| self.schema.node(node).flags.default_deny_all)
    }

    fn verdict(&self, operation: AccessOperation, node: NodeId) -> Option<&Verdict> {
        let facts = self.facts(node)?;
        self.classes.get(facts.class as usize)?.get(operation as usize)
    }
}

/// What decides which verdicts a node has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Circumstances {
    module: ModuleId,
    /// Index of the rules whose path names the node or an ancestor.
    active: usize,
    deny_write: bool,
    deny_all: bool,
}

/// The making of an [`Effective`].
impl Effective {
    /// Gives every node its class, parents first.
    fn classify(&mut self) {
        let schema = Arc::clone(&self.schema);
        let mut at: HashMap<Option<NodeId>, Vec<u32>> = HashMap::new();
        for (index, rule) in (0u32..).zip(&self.rules) {
            match &rule.target {
                Target::Everything => at.entry(None).or_default().push(index),
                Target::Data(path) => at.entry(path.target).or_default().push(index),
                Target::Operation(_) | Target::Notification(_) => {}
            }
        }
        let mut active: Vec<Vec<u32>> = vec![at.remove(&None).unwrap_or_default()];
        let mut known: HashMap<Circumstances, u32> = HashMap::new();
        let mut of: Vec<Circumstances> = Vec::with_capacity(schema.nodes.len());
        for node in &schema.nodes {
            let above = node.parent.and_then(|parent| of.get(parent.0 as usize));
            let mut set = above.map_or(0, |above| above.active);
            if let Some(more) = at.get(&Some(node.id)) {
                let mut rules = active.get(set).cloned().unwrap_or_default();
                rules.extend(more);
                rules.sort_unstable();
                set = active.len();
                active.push(rules);
            }
            let circumstances = Circumstances {
                module: node.module,
                active: set,
                deny_write: node.flags.default_deny_write || above.is_some_and(|above| above.deny_write),
                deny_all: node.flags.default_deny_all || above.is_some_and(|above| above.deny_all),
            };
            of.push(circumstances);
            let class = *known.entry(circumstances).or_insert_with(|| {
                let rules = active.get(set).map_or(&[] as &[u32], Vec::as_slice);
                self.classes
                    .push(AccessOperation::ALL.map(|operation| self.decide(operation, circumstances, rules)));
                u32::try_from(self.classes.len() - 1).unwrap_or(u32::MAX)
            });
            let facts = Facts { class, read: Extent::All, create: true, delete: true, by_instance: false };
            self.nodes.push(facts);
        }
    }

    /// RFC 8341 section 3.4.5 from step 6 on.
    fn decide(&self, operation: AccessOperation, of: Circumstances, rules: &[u32]) -> Verdict {
        let module = &self.schema.module(of.module).name;
        let mut verdict = Verdict::default();
        for at in rules {
            let Some(rule) = self.rules.get(*at as usize) else { continue };
            if !rule.module.matches(module) || !rule.operations.contains(operation) {
                continue;
            }
            if matches!(&rule.target, Target::Data(path) if !path.entries.is_empty()) {
                verdict.some.push(*at);
            } else {
                verdict.otherwise = rule.permit;
                return verdict;
            }
        }
        verdict.otherwise = match operation {
            AccessOperation::Read => !of.deny_all && self.defaults.read,
            AccessOperation::Create | AccessOperation::Update | AccessOperation::Delete => {
                !of.deny_all && !of.deny_write && self.defaults.write
            }
            AccessOperation::Exec => !of.deny_all && self.defaults.exec,
        };
        verdict
    }

    /// Sums up what is at and below each node, children first.
    fn summarise(&mut self) {
        let schema = Arc::clone(&self.schema);
        for node in schema.nodes.iter().rev() {
            let below: Vec<Facts> = schema
                .data_children(node.id)
                .iter()
                .filter_map(|child| self.facts(*child))
                .copied()
                .collect();
            let keys: Vec<Facts> =
                schema.list_keys(node.id).iter().filter_map(|key| self.facts(*key)).copied().collect();
            let Some(facts) = self.facts(node.id) else { continue };
            let Some(class) = self.classes.get(facts.class as usize) else { continue };
            let otherwise = |operation: AccessOperation| {
                class.get(operation as usize).is_some_and(|verdict| verdict.otherwise)
            };
            // Without its keys an entry would be none.
            let read =
                if !otherwise(AccessOperation::Read) || keys.iter().any(|key| key.read == Extent::Nothing) {
                    Extent::Nothing
                } else if below.iter().all(|child| child.read == Extent::All) {
                    Extent::All
                } else {
                    Extent::Part
                };
            let summed = Facts {
                class: facts.class,
                read,
                create: otherwise(AccessOperation::Create) && below.iter().all(|child| child.create),
                delete: otherwise(AccessOperation::Delete) && below.iter().all(|child| child.delete),
                by_instance: class.iter().any(|verdict| !verdict.some.is_empty())
                    || below.iter().any(|child| child.by_instance),
            };
            if let Some(facts) = self.nodes.get_mut(node.id.0 as usize) {
                *facts = summed;
            }
        }
    }

    /// Notes for each list on the way of a rule about some instances which entries it is about.
    fn name_entries(&mut self) {
        let paths = (0u32..).zip(&self.rules).filter_map(|(at, rule)| match &rule.target {
            Target::Data(path) if !path.entries.is_empty() => Some((at, path)),
            Target::Data(_) | Target::Everything | Target::Operation(_) | Target::Notification(_) => None,
        });
        let mut named: BTreeMap<NodeId, NamedEntries> = BTreeMap::new();
        let mut targets = BTreeSet::new();
        let mut by_entry: BTreeMap<_, Vec<u32>> = BTreeMap::new();
        for (at, path) in paths {
            let entry = path
                .entries
                .iter()
                .find_map(|entries| Some((entries.list, entries.only(&self.schema, &self.user)?)));
            by_entry.entry(entry).or_default().push(at);
            targets.extend(path.target);
            for list in way_to(&self.schema, path.target).filter(|node| has_entries(&self.schema, *node)) {
                let named = named.entry(list).or_default();
                let entries = path.entries.iter().find(|entries| entries.list == list);
                match entries.and_then(|entries| entries.only(&self.schema, &self.user)) {
                    Some(key) => drop(named.keys.insert(key)),
                    None => named.any = true,
                }
            }
        }
        // A rule about a node is about all entries of the lists below it.
        for node in self.schema.data_nodes().filter(|node| has_entries(&self.schema, node.id)) {
            if way_to(&self.schema, self.schema.data_parent(node.id)).any(|above| targets.contains(&above)) {
                named.entry(node.id).or_default().any = true;
            }
        }
        self.entries = named;
        self.by_entry = by_entry;
    }
}

/// A node and the data nodes above it.
fn way_to(schema: &Schema, node: Option<NodeId>) -> impl Iterator<Item = NodeId> {
    std::iter::successors(node, |node| schema.data_parent(*node))
}

fn has_entries(schema: &Schema, node: NodeId) -> bool {
    matches!(schema.node(node).kind, NodeKind::List { .. } | NodeKind::LeafList { .. })
}
