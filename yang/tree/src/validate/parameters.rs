//! What a module asks of the parameters of an operation, each being judged by itself: nothing of them is kept.
//!
//! An expression that reads state is left to whoever carries the operation out, since the tree may lack it, and so is
//! a leafref to state.

use super::constraints::chain;
use super::shape::check_parameters;
use super::violations::Violations;
use super::whens::{may_exist, not_evaluated};
use crate::error::{Error, ErrorInfo, ErrorTag, shown};
use crate::path::{InstancePath, Key, Step};
use crate::schema::{NodeId, NodeKind, Schema, Type};
use crate::tree::{Branch, Data, Entries, Tree};
use crate::value::Value;
use crate::xpath::{Accessible, Budget, Evaluation, Expr, Scope, XPathError};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The steps that the expressions of one operation may take.
const STEPS: u64 = 2_000_000;

/// What is wrong with the parameters `branch` that stand at `place` in `whole`, of the first phase that finds anything:
/// what is missing or too much, then conditions and references.
pub(crate) fn check(schema: &Schema, whole: &Tree, place: &InstancePath, branch: &Arc<Branch>) -> Vec<Error> {
    let mut found = Violations::of(schema, whole);
    check_parameters(schema, whole, place, branch, (&mut found, Budget::new(STEPS)));
    if found.is_empty()
        && let Some(half) = place.node()
    {
        let name = schema.data_name(half);
        let mut judge = Judge { schema, whole, half, name, budget: Budget::new(STEPS), found };
        judge.inside(half, branch, &mut place.clone());
        found = judge.found;
    }
    found.into_errors()
}

struct Judge<'s> {
    schema: &'s Schema,
    whole: &'s Tree,
    /// The input or output.
    half: NodeId,
    /// Of the operation.
    name: &'s str,
    budget: Budget,
    found: Violations<'s>,
}

impl Judge<'_> {
    /// A container, an entry or the whole at `path`.
    fn inside(&mut self, parent: NodeId, branch: &Branch, path: &mut InstancePath) {
        self.musts(parent, path);
        for child in self.schema.data_children(parent) {
            path.steps.push(Step { node: *child, key: None });
            self.child(*child, branch.get(*child), path);
            path.steps.pop();
        }
    }

    fn child(&mut self, id: NodeId, data: Option<&Data>, path: &mut InstancePath) {
        match data {
            // It exists with what it stands in.
            None if self.schema.is_non_presence(id)
                && self.schema.case_of(id).is_none()
                && self.may_be(id, path) == Some(true) =>
            {
                self.inside(id, &Branch::default(), path);
            }
            None => {}
            Some(_) if self.may_be(id, path) == Some(false) => self.unknown(id, path),
            Some(Data::Container(inner)) => self.inside(id, inner, path),
            Some(Data::Leaf(_) | Data::Any(_)) => self.value(id, path),
            Some(Data::List(entries)) => {
                self.uniques(id, entries, path);
                entries.iter().for_each(|(key, entry)| {
                    self.keyed(key, path, &mut |judge, path| judge.inside(id, entry, path));
                });
            }
            Some(Data::LeafList(entries)) => entries.iter().for_each(|(key, _)| {
                self.keyed(key, path, &mut |judge, path| judge.value(id, path));
            }),
        }
    }

    fn keyed(
        &mut self,
        key: &Key,
        path: &mut InstancePath,
        judge: &mut dyn FnMut(&mut Self, &mut InstancePath),
    ) {
        if let Some(step) = path.steps.last_mut() {
            step.key = Some(key.clone());
        }
        judge(self, path);
        if let Some(step) = path.steps.last_mut() {
            step.key = None;
        }
    }

    fn value(&mut self, id: NodeId, path: &InstancePath) {
        self.musts(id, path);
        let Some(Type::Leafref { path: target_path, target: Some(target), require_instance: true, .. }) =
            self.schema.leaf_type(id).map(|ty| &ty.base)
        else {
            return;
        };
        if !self.schema.node(*target).config && !self.is_own(*target) {
            return;
        }
        let text = format!("{} = current()", target_path.text);
        let expr = Expr::parse(self.schema, &text, Scope::of_expression(target_path));
        if self.holds(expr, "path", id, path) == Some(false) {
            let value = self.shown_at(path);
            let target = self.schema.path_of(*target);
            let what = format!("'{value}' refers to nothing: no {target} has this value");
            // RFC 7950 section 15.5.
            let error = Error::application(ErrorTag::DataMissing, what).app_tag("instance-required");
            self.fail(path, error);
        }
    }

    fn shown_at(&self, path: &InstancePath) -> String {
        match self.whole.find(path) {
            Some(crate::tree::Found::Leaf(value)) => shown(&value.to_string()),
            _ => String::new(),
        }
    }

    fn musts(&mut self, id: NodeId, path: &InstancePath) {
        let schema = self.schema;
        for must in &schema.node(id).musts {
            let expr = Expr::of_expression(schema, &must.condition);
            if self.holds(expr, "must", id, path) == Some(false) {
                let standard = || format!("the condition '{}' is not met", must.condition.text);
                let message = must.message.clone().unwrap_or_else(standard);
                let tag = must.app_tag.as_deref().unwrap_or("must-violation");
                let error = Error::application(ErrorTag::OperationFailed, message).app_tag(tag);
                self.fail(path, error);
            }
        }
    }

    /// None when that is not judged here, or cannot be, which is then recorded.
    fn holds(
        &mut self,
        expr: Result<Expr, XPathError>,
        what: &str,
        id: NodeId,
        path: &InstancePath,
    ) -> Option<bool> {
        let expr = match expr {
            Ok(expr) => expr,
            Err(error) => {
                self.fail(path, not_evaluated(what, &error));
                return None;
            }
        };
        if !self.is_judged(&expr, what, id, path) {
            return None;
        }
        let mut evaluation = Evaluation::new(self.schema, self.whole, Accessible::WithState);
        let at = evaluation.place(path)?;
        match expr.holds(&mut evaluation, at, &mut self.budget) {
            Ok(holds) => Some(holds),
            Err(error) => {
                self.fail(path, not_evaluated(what, &error));
                None
            }
        }
    }

    /// May the node exist, by its `when`s? None when that is not judged here.
    fn may_be(&mut self, id: NodeId, path: &InstancePath) -> Option<bool> {
        let schema = self.schema;
        let whens = schema.whens(id);
        for when in whens {
            let context = if when.on_parent { schema.data_parent(id).unwrap_or(id) } else { id };
            let judged = match &when.expression {
                Ok(expr) => self.is_judged(expr, "when", context, path),
                Err(_) => true,
            };
            if !judged {
                return None;
            }
        }
        match may_exist((schema, self.whole, Accessible::WithState), path, whens, &mut self.budget) {
            Ok(may) => may,
            Err(error) => {
                self.fail(path, not_evaluated("when", &error));
                None
            }
        }
    }

    /// Is all there that the expression reads? One that names the operation from the root on is refused: no node has its
    /// name there.
    fn is_judged(&mut self, expr: &Expr, what: &str, context: NodeId, path: &InstancePath) -> bool {
        let names_itself = [format!("/{}/", self.name), format!(":{}/", self.name)];
        if names_itself.iter().any(|name| expr.text().contains(name.as_str())) {
            let what = format!("its '{what}' names the operation itself, which is not supported");
            self.fail(path, Error::application(ErrorTag::OperationNotSupported, what));
            return false;
        }
        let Ok(read) = expr.dependencies(self.schema, Some(context)) else { return false };
        !read.iter().any(|read| {
            let node = self.schema.node(read.node);
            crate::index::is_data(&node.kind) && !node.config && !self.is_own(read.node)
        })
    }

    /// Is the node a parameter of this operation?
    fn is_own(&self, node: NodeId) -> bool {
        chain(self.schema, None, node).contains(&self.half)
    }

    /// RFC 7950 section 7.8.3.
    fn uniques(&mut self, list: NodeId, entries: &Entries<Arc<Branch>>, path: &InstancePath) {
        let NodeKind::List { uniques, .. } = &self.schema.node(list).kind else { return };
        for leafs in uniques {
            let chains: Vec<Vec<NodeId>> =
                leafs.iter().map(|leaf| chain(self.schema, Some(list), *leaf)).collect();
            let mut known: BTreeSet<Vec<&Value>> = BTreeSet::new();
            for (_, entry) in entries.iter() {
                let tuple: Option<Vec<&Value>> = chains.iter().map(|way| leaf_at(entry, way)).collect();
                if tuple.is_some_and(|tuple| !known.insert(tuple)) {
                    let name = &self.schema.node(list).name;
                    let what = format!("two entries of '{name}' have the values that have to be unique");
                    let error = Error::application(ErrorTag::OperationFailed, what);
                    self.fail(path, error.app_tag("data-not-unique"));
                    break;
                }
            }
        }
    }

    fn unknown(&mut self, id: NodeId, path: &InstancePath) {
        let name = self.schema.node(id).name.clone();
        let what = format!("there is no '{name}' here, since its 'when' is false");
        let error = Error::application(ErrorTag::UnknownElement, what).with(ErrorInfo::BadElement(name));
        self.fail(path, error);
    }

    fn fail(&mut self, path: &InstancePath, error: Error) {
        self.found.push_with(path, || error);
    }
}

fn leaf_at<'b>(entry: &'b Branch, way: &[NodeId]) -> Option<&'b Value> {
    let (last, above) = way.split_last()?;
    let mut branch = entry;
    for id in above {
        match branch.get(*id)? {
            Data::Container(inner) => branch = inner,
            Data::Leaf(_) | Data::List(_) | Data::LeafList(_) | Data::Any(_) => return None,
        }
    }
    branch.leaf(*last)
}
