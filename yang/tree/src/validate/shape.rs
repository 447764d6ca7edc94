//! Mandatory nodes and numbers of entries.

use super::asked::{Asked, budget, each_place};
use super::conditions::Asks;
use super::violations::Violations;
use super::whens::{may_exist, not_evaluated};
use crate::edit::cases;
use crate::error::{Error, ErrorInfo, ErrorTag};
use crate::path::{InstancePath, Step};
use crate::schema::{NodeId, NodeKind, Schema};
use crate::tree::{Branch, Data, Entries, Found, Tree};
use crate::xpath::{Accessible, Budget};
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// `base` is valid, so what it shares with `new` is visited only where `asked` says that a `when` may have come true.
pub(super) fn check(
    schema: &Schema,
    base: Option<&Tree>,
    new: &Tree,
    asked: &mut Asked,
    found: &mut Violations<'_>,
) {
    let (of, trail) = (Of::Configuration, InstancePath::default());
    let mut walk = Walk { schema, new, of, trail, found, known: BTreeSet::new(), budget: budget() };
    walk.branch(None, base.map(|base| &base.root), &new.root);
    if base.is_some() {
        for (at, condition) in schema.constraints().conditions.iter().enumerate() {
            let chain = match condition.asks {
                Asks::When { obliges: true } => condition.chain.split_last().map(|(_, above)| above),
                Asks::Choice => Some(&condition.chain[..]),
                Asks::When { obliges: false } | Asks::Must { .. } | Asks::Target { .. } => None,
            };
            if let Some(above) = chain {
                walk.missed(condition.node, above, asked.take(at));
            }
        }
    }
}

/// The same for the parameters of an operation, `branch`, which stand at `place` in `whole`.
pub(super) fn check_parameters(
    schema: &Schema,
    whole: &Tree,
    place: &InstancePath,
    branch: &Arc<Branch>,
    (found, budget): (&mut Violations<'_>, Budget),
) {
    let (of, trail) = (Of::Parameters, place.clone());
    let mut walk = Walk { schema, new: whole, of, trail, found, known: BTreeSet::new(), budget };
    walk.branch(place.node(), None, branch);
}

/// What is walked over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Of {
    Configuration,
    /// Those of an operation.
    Parameters,
}

struct Walk<'s, 'f> {
    schema: &'s Schema,
    new: &'s Tree,
    of: Of,
    trail: InstancePath,
    found: &'s mut Violations<'f>,
    /// What was found, by [`mark`]: the walk over what changed may have been where a `when` came true.
    known: BTreeSet<u64>,
    budget: Budget,
}

impl Of {
    /// What is done to have a node.
    fn done(self) -> &'static str {
        match self {
            Of::Configuration => "configured",
            Of::Parameters => "given",
        }
    }

    /// What is wrong where a node is missed.
    fn missing(self, name: &str) -> Error {
        let what = format!("'{name}' must be {}", self.done());
        match self {
            Of::Configuration => Error::application(ErrorTag::DataMissing, what),
            Of::Parameters => Error::application(ErrorTag::MissingElement, what)
                .with(ErrorInfo::BadElement(name.to_owned())),
        }
    }
}

impl Walk<'_, '_> {
    /// A node that has to exist as soon as its `when` is true, in what `chain` leads to.
    fn missed(&mut self, node: NodeId, chain: &[NodeId], subtrees: Vec<InstancePath>) {
        let above = |mut subtree: InstancePath| {
            subtree.steps.truncate(chain.len());
            subtree
        };
        let subtrees: BTreeSet<InstancePath> = subtrees.into_iter().map(above).collect();
        let mut places = Vec::new();
        let subtrees: Vec<InstancePath> = subtrees.into_iter().collect();
        let found = each_place(self.schema, self.new, chain, &subtrees, &mut |evaluation, place| {
            places.push(evaluation.path(place));
            Ok(())
        });
        if let Err(error) = found {
            self.found.push_with(&InstancePath::default(), || not_evaluated("when", &error));
        }
        for place in places {
            self.missed_at(node, place);
        }
    }

    fn missed_at(&mut self, node: NodeId, place: InstancePath) {
        let new = self.new;
        let empty = Arc::default();
        let branch = match new.find(&place) {
            Some(Found::Branch(branch)) => branch,
            _ => &empty,
        };
        let in_use = |(choice, case): (NodeId, NodeId)| {
            let mut taken = branch.children.iter().flat_map(|child| cases(self.schema, child.id));
            taken.any(|other| other == (choice, case))
        };
        if !cases(self.schema, node).into_iter().all(in_use) {
            return;
        }
        self.trail = place;
        match &self.schema.node(node).kind {
            NodeKind::Choice { mandatory, .. } => self.choice(node, *mandatory, None, branch),
            _ => self.child(node, None, branch),
        }
        self.trail = InstancePath::default();
    }

    /// May a child of where we are exist, by its `when`s? No, too, where libyang has to say.
    fn may_be(&mut self, id: NodeId) -> bool {
        let schema = self.schema;
        let whens = match schema.node(id).kind {
            NodeKind::Choice { .. } => schema.constraints().choices.get(&id).map_or(&[][..], |whens| whens),
            _ => schema.whens(id),
        };
        if whens.is_empty() {
            return true;
        }
        let mut path = self.trail.clone();
        path.steps.push(Step { node: id, key: None });
        let accessible = match self.of {
            Of::Configuration => Accessible::Configuration,
            Of::Parameters => Accessible::WithState,
        };
        match may_exist((schema, self.new, accessible), &path, whens, &mut self.budget) {
            Ok(may) => may.unwrap_or(false),
            Err(error) => {
                self.fail(&path, (id, "when"), || not_evaluated("when", &error));
                false
            }
        }
    }

    /// Records a violation of a node's rule at a place, once.
    fn fail(&mut self, place: &InstancePath, rule: (NodeId, &str), error: impl FnOnce() -> Error) {
        if self.known.insert(mark(place, rule)) {
            self.found.push_with(place, error);
        }
    }

    /// As [`Walk::fail`], at a child of where we are.
    fn fail_at(&mut self, node: NodeId, rule: &str, error: impl FnOnce() -> Error) {
        let mut place = self.trail.clone();
        place.steps.push(Step { node, key: None });
        self.fail(&place, (node, rule), error);
    }

    fn branch(&mut self, parent: Option<NodeId>, base: Option<&Arc<Branch>>, new: &Arc<Branch>) {
        if base.is_some_and(|base| Arc::ptr_eq(base, new)) {
            return;
        }
        let children = match parent {
            Some(parent) => &self.schema.node(parent).children,
            None => &self.schema.roots,
        };
        self.level(children, base, new);
    }

    /// The schema children of a branch, or of a case in it that is in use.
    fn level(&mut self, children: &[NodeId], base: Option<&Arc<Branch>>, new: &Branch) {
        for id in children {
            let node = self.schema.node(*id);
            if self.of == Of::Configuration && !node.config {
                continue;
            }
            match &node.kind {
                NodeKind::Choice { mandatory, .. } => self.choice(*id, *mandatory, base, new),
                _ => self.child(*id, base, new),
            }
        }
    }

    fn choice(&mut self, id: NodeId, mandatory: bool, base: Option<&Arc<Branch>>, new: &Branch) {
        let schema = self.schema;
        let mut taken = new.children.iter().flat_map(|child| cases(schema, child.id));
        match taken.find(|(choice, _)| *choice == id) {
            Some((_, case)) => match schema.node(case).kind {
                NodeKind::Case => self.level(&schema.node(case).children, base, new),
                _ => self.child(case, base, new),
            },
            None if mandatory && self.may_be(id) => {
                let name = &schema.node(id).name;
                let (of, trail) = (self.of, std::mem::take(&mut self.trail));
                self.fail(&trail, (id, "mandatory"), || {
                    let what = format!("one case of choice '{name}' must be {}", of.done());
                    let error = Error::application(ErrorTag::DataMissing, what).app_tag("missing-choice");
                    error.with(ErrorInfo::MissingChoice(name.clone()))
                });
                self.trail = trail;
            }
            None => {}
        }
    }

    fn child(&mut self, id: NodeId, base: Option<&Arc<Branch>>, new: &Branch) {
        let node = self.schema.node(id);
        let before = base.and_then(|base| base.get(id));
        let now = new.get(id);
        match &node.kind {
            NodeKind::Leaf { mandatory: true, .. }
            | NodeKind::Anydata { mandatory: true }
            | NodeKind::Anyxml { mandatory: true }
                if now.is_none() && self.may_be(id) =>
            {
                let of = self.of;
                self.fail_at(id, "mandatory", || of.missing(&node.name));
            }
            NodeKind::Container { presence } => {
                let empty = Arc::default();
                let inner = match now {
                    Some(Data::Container(inner)) => inner,
                    // It exists with its parent, unless its `when` says otherwise. Where it did before, it lacks nothing.
                    None if base.is_some() && before.is_none() && self.schema.case_of(id).is_none() => return,
                    _ if !presence && self.may_be(id) => &empty,
                    _ => return,
                };
                let before = match before {
                    Some(Data::Container(before)) => Some(before),
                    _ => None,
                };
                self.trail.steps.push(Step { node: id, key: None });
                self.branch(Some(id), before, inner);
                self.trail.steps.pop();
            }
            NodeKind::List { min_elements, max_elements, .. } => {
                self.list(id, (before, now), *min_elements, *max_elements);
            }
            NodeKind::LeafList { min_elements, max_elements, .. } => {
                let count = match now {
                    Some(Data::LeafList(entries)) => entries.len(),
                    _ => 0,
                };
                self.count(id, count, *min_elements, *max_elements);
            }
            _ => {}
        }
    }

    fn list(
        &mut self,
        id: NodeId,
        (before, now): (Option<&Data>, Option<&Data>),
        min: u32,
        max: Option<u32>,
    ) {
        let (old, entries) = match (before, now) {
            (Some(Data::List(old)), Some(Data::List(new))) if Arc::ptr_eq(old, new) => return,
            (Some(Data::List(old)), Some(Data::List(new))) => (Some(old), Some(new)),
            (_, Some(Data::List(new))) => (None, Some(new)),
            _ => (None, None),
        };
        self.count(id, entries.map_or(0, |entries| entries.len()), min, max);
        if let Some(entries) = entries {
            self.entries(id, old.map(|old| &**old), entries);
        }
    }

    fn entries(&mut self, id: NodeId, old: Option<&Entries<Arc<Branch>>>, entries: &Entries<Arc<Branch>>) {
        for (key, before, entry) in entries.changed_since(old) {
            self.trail.steps.push(Step { node: id, key: Some(key.clone()) });
            self.branch(Some(id), before, entry);
            self.trail.steps.pop();
        }
    }

    /// RFC 7950 sections 15.2 and 15.3.
    fn count(&mut self, id: NodeId, count: usize, min: u32, max: Option<u32>) {
        let node = self.schema.node(id);
        let found = u32::try_from(count).unwrap_or(u32::MAX);
        let (tag, what) = if found < min && self.may_be(id) {
            ("too-few-elements", format!("'{}' needs at least {min} entries, not {found}", node.name))
        } else if let Some(max) = max.filter(|max| found > *max) {
            ("too-many-elements", format!("'{}' takes at most {max} entries, not {found}", node.name))
        } else {
            return;
        };
        self.fail_at(id, tag, || Error::application(ErrorTag::OperationFailed, what).app_tag(tag));
    }
}

/// A number for a violation: a set of these is small, however deep the places are.
fn mark(place: &InstancePath, rule: (NodeId, &str)) -> u64 {
    let mut hasher = DefaultHasher::new();
    (place, rule).hash(&mut hasher);
    hasher.finish()
}
