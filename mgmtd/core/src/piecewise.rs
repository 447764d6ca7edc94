//! `continue-on-error`: an edit that cannot be done whole is done in the pieces that can.
//!
//! Pieces are subtrees of the request. One that fails is cut into its children, each with the levels and the list
//! keys that lead to it, until a piece is done or cannot be cut.

use crate::nacm::Access;
use crate::types::Config;
use cats_yang_tree::error::{Error, ErrorTag, Errors};
use cats_yang_tree::schema::{NodeId, Schema};
use cats_yang_tree::validate::without_unknown_elements;
use cats_yang_tree::{DefaultOperation, Tree, edit as apply, roxmltree, xml};
use roxmltree::Node;

/// The pieces of an edit may be read again up to so many times its length, and [`SLACK`] more: of one with long tags
/// around many small pieces the rest is not done.
const AGAIN: usize = 16;
const SLACK: usize = 1 << 20;

/// What can be done of `config`, and the errors of the rest; `errors` are those of the whole.
pub(crate) fn edit(
    schema: &Schema,
    (tree, access): (&Tree, &Access),
    config: &Config,
    default: DefaultOperation,
    errors: Vec<Error>,
) -> (Option<Tree>, Vec<Error>) {
    // With `replace` all that is not named goes, so a part would delete what another part holds.
    if default == DefaultOperation::Replace {
        return (None, errors);
    }
    let text = config.text();
    let Ok(document) = xml::parse(text) else { return (None, errors) };
    let left = text.len().saturating_mul(AGAIN).saturating_add(SLACK);
    let mut run =
        Run { schema, access, config, default, tree: tree.clone(), errors: Errors::default(), left };
    let root = document.root_element();
    let around = Around { open: start_tag(root, text), close: end_tag(root, text) };
    run.children(root, None, &around, text);
    // Whether a node may exist is known when all pieces are done that can be.
    let (done, unknown) = without_unknown_elements(schema, tree, &run.tree);
    run.errors.extend(unknown);
    (Some(done), run.errors.into_vec())
}

struct Run<'a> {
    schema: &'a Schema,
    access: &'a Access,
    config: &'a Config,
    default: DefaultOperation,
    tree: Tree,
    errors: Errors,
    /// Bytes that may still be read.
    left: usize,
}

/// The tags that a piece stands between.
struct Around {
    open: String,
    close: String,
}

impl Run<'_> {
    fn children(&mut self, element: Node<'_, '_>, parent: Option<NodeId>, around: &Around, source: &str) {
        let keys: Vec<&str> = parent.map_or_else(Vec::new, |parent| {
            self.schema.list_keys(parent).iter().map(|key| self.schema.node(*key).name.as_str()).collect()
        });
        for child in element.children().filter(Node::is_element) {
            if !keys.contains(&child.tag_name().name()) {
                self.piece(child, parent, around, source);
            }
        }
    }

    fn piece(&mut self, element: Node<'_, '_>, parent: Option<NodeId>, around: &Around, source: &str) {
        if self.left == 0 {
            return self.errors.push_with(|| {
                let name = element.tag_name().name();
                let why = "cannot be done whole, and would take too long in pieces: send smaller edits";
                Error::application(ErrorTag::TooBig, format!("the edit, from '{name}' on, {why}"))
            });
        }
        let text = source.get(element.range()).unwrap_or_default();
        let part = format!("{}{text}{}", around.open, around.close);
        self.left = self.left.saturating_sub(part.len());
        let read = self.config.parse_part(self.schema, &part, self.default);
        let done = read.map_err(|faulty| faulty.errors).and_then(|ops| {
            self.access.may_request(&ops)?;
            apply(&self.tree, self.schema, ops)
        });
        match done {
            Ok(tree) => self.tree = tree,
            Err(errors) => match self.node_of(element, parent) {
                Some(node) if self.can_be_cut(element, node) => {
                    let around = self.within(element, node, around, source);
                    self.children(element, Some(node), &around, source);
                }
                Some(_) | None => self.errors.extend(errors),
            },
        }
    }

    /// Has it content beside keys, and no operation of its own that its content depends on?
    fn can_be_cut(&self, element: Node<'_, '_>, node: NodeId) -> bool {
        let own_operation = element.attributes().any(|attribute| attribute.name() == "operation");
        let children = element.children().filter(Node::is_element).count();
        !own_operation && children > self.schema.list_keys(node).len()
    }

    fn node_of(&self, element: Node<'_, '_>, parent: Option<NodeId>) -> Option<NodeId> {
        let module = self.schema.module_by_namespace(element.tag_name().namespace()?)?;
        self.schema.child(parent, module, element.tag_name().name())
    }

    fn within(&self, element: Node<'_, '_>, node: NodeId, around: &Around, source: &str) -> Around {
        let mut open = format!("{}{}", around.open, start_tag(element, source));
        for key in self.schema.list_keys(node) {
            let name = &self.schema.node(*key).name;
            let namespace = element.tag_name().namespace();
            let is_key = |child: &Node<'_, '_>| {
                child.tag_name().name() == name && child.tag_name().namespace() == namespace
            };
            let leaf = element.children().find(is_key);
            open.push_str(leaf.and_then(|leaf| source.get(leaf.range())).unwrap_or_default());
        }
        Around { open, close: format!("{}{}", end_tag(element, source), around.close) }
    }
}

/// From `<` to `>`; only of an element that has children.
fn start_tag(element: Node<'_, '_>, source: &str) -> String {
    let end = element.first_child().map_or(element.range().end, |child| child.range().start);
    source.get(element.range().start..end).unwrap_or_default().to_owned()
}

fn end_tag(element: Node<'_, '_>, source: &str) -> String {
    let text = source.get(element.range()).unwrap_or_default();
    text.rfind("</").and_then(|at| text.get(at..)).unwrap_or_default().to_owned()
}
