//! What an RPC or action is given, from the XML of its element.

use super::{Reader, Taken};
use crate::error::{Error, ErrorInfo, ErrorTag, Errors};
use crate::ops::{Op, Operation};
use crate::path::{InstancePath, Step};
use crate::schema::{NodeId, NodeKind, Schema};
use roxmltree::Node;

/// An action and the node that it is invoked on, as `<action>` names them.
pub(crate) struct Way<'x, 'd> {
    pub(crate) action: NodeId,
    pub(crate) above: InstancePath,
    /// The element with its parameters.
    pub(crate) element: Node<'x, 'd>,
}

/// The parameters in `element`, the children of the input `half`, which stands at the end of `place`.
pub(crate) fn read(
    schema: &Schema,
    half: NodeId,
    place: InstancePath,
    element: Node<'_, '_>,
) -> Result<Vec<Op>, Vec<Error>> {
    let mut reader = Reader { schema, taken: Taken::Parameters, errors: Errors::default(), trail: place };
    let found = reader.children(Some(half), element, Operation::Merge);
    if reader.errors.is_empty() { Ok(found) } else { Err(reader.errors.into_vec()) }
}

/// Follows the content of `<action>` to the action (RFC 7950 section 7.15.2).
pub(crate) fn way<'x, 'd>(schema: &Schema, action: Node<'x, 'd>) -> Result<Way<'x, 'd>, Vec<Error>> {
    let trail = InstancePath::default();
    let mut reader = Reader { schema, taken: Taken::Parameters, errors: Errors::default(), trail };
    match reader.follow(action) {
        Some((id, element)) if reader.errors.is_empty() => {
            Ok(Way { action: id, above: reader.trail, element })
        }
        Some(_) | None => Err(reader.errors.into_vec()),
    }
}

impl Reader<'_> {
    fn follow<'x, 'd>(&mut self, action: Node<'x, 'd>) -> Option<(NodeId, Node<'x, 'd>)> {
        let mut at = action;
        loop {
            let parent = self.trail.node();
            at = self.only_child(parent, at)?;
            let node = self.named(parent, at)?;
            match &self.schema.node(node).kind {
                NodeKind::Action { .. } => return Some((node, at)),
                NodeKind::Container { .. } => self.trail.steps.push(Step { node, key: None }),
                NodeKind::List { .. } => {
                    let key = self.entry_key(node, at, Operation::Merge)?;
                    self.trail.steps.push(Step { node, key: Some(key) });
                }
                _ => {
                    let name = at.tag_name().name();
                    self.wrong(ErrorTag::BadElement, name, format!("'{name}' leads to no action"));
                    return None;
                }
            }
        }
    }

    /// The element inside of `element` that is no key.
    fn only_child<'x, 'd>(&mut self, list: Option<NodeId>, element: Node<'x, 'd>) -> Option<Node<'x, 'd>> {
        let keys = list.map_or(&[][..], |list| self.schema.list_keys(list));
        let is_key = |child: &Node<'_, '_>| {
            keys.iter().map(|key| self.schema.node(*key)).any(|key| {
                let namespace = &self.schema.module(key.module).namespace;
                child.tag_name().name() == key.name
                    && child.tag_name().namespace() == Some(namespace.as_str())
            })
        };
        let mut inside = element.children().filter(Node::is_element).filter(|child| !is_key(child));
        let (first, second) = (inside.next(), inside.next());
        match (first, second) {
            (Some(only), None) => Some(only),
            (Some(_), Some(second)) => {
                let name = second.tag_name().name();
                let what = format!("'{name}' is too much: one action is invoked at a time");
                self.wrong(ErrorTag::BadElement, name, what);
                None
            }
            (None, _) => {
                let name = element.tag_name().name();
                self.wrong(ErrorTag::MissingElement, name, format!("'{name}' has no action in it"));
                None
            }
        }
    }

    fn named(&mut self, parent: Option<NodeId>, element: Node<'_, '_>) -> Option<NodeId> {
        let tag = element.tag_name();
        let (name, namespace) = (tag.name(), tag.namespace().unwrap_or_default());
        let Some(module) = self.schema.module_by_namespace(namespace) else {
            let what = format!("no module has the namespace '{namespace}' of element '{name}'");
            let error = Error::application(ErrorTag::UnknownNamespace, what);
            let error = error.with(ErrorInfo::BadElement(name.to_owned()));
            self.fail(error.with(ErrorInfo::BadNamespace(namespace.to_owned())));
            return None;
        };
        let found = self.schema.child(parent, module, name);
        if found.is_none() {
            let what = format!("module {} has no '{name}' here", self.schema.module(module).name);
            self.wrong(ErrorTag::UnknownElement, name, what);
        }
        found
    }

    fn wrong(&mut self, tag: ErrorTag, name: &str, what: String) {
        self.fail(Error::application(tag, what).with(ErrorInfo::BadElement(name.to_owned())));
    }
}
