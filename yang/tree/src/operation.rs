//! RPCs and actions (RFC 7950 sections 7.14 and 7.15): what they are given and what they answer.
//!
//! In a tree an operation is the node of its input, or of its output, below what it is invoked on; paths give that node
//! the name of the operation. So the parameters stand where the expressions of a module look for them (RFC 7950 section
//! 6.4.1).

use crate::edit::edit;
use crate::error::{Error, ErrorInfo, ErrorTag};
use crate::json;
use crate::ops::{Op, Ops, Stage};
use crate::ops::{json as json_in, xml as xml_in};
use crate::path::{InstancePath, Key, Step};
use crate::schema::{NodeId, NodeKind, Schema};
use crate::tree::{Branch, Child, Data, Entries, Tree};
use crate::validate::parameters;
use crate::view::defaults::in_use;
use crate::view::{Defaults, view};
use crate::xpath::{Accessible, Budget, Evaluation};
use roxmltree::Node;
use serde_json::{Map, Value as Json};
use std::sync::Arc;

/// The steps that the `when` of one default may take.
const STEPS: u64 = 100_000;

/// An operation that is asked for. What is wrong with its parameters is kept, so that who may not ask for it learns
/// nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    operation: NodeId,
    halves: Halves,
    /// What an action is invoked on.
    above: InstancePath,
    given: Result<Arc<Branch>, Vec<Error>>,
}

/// What an operation answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer(Tree);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Halves {
    input: NodeId,
    output: NodeId,
}

impl Call {
    /// Of an RPC, with the children of `element` as parameters; none when `rpc` is none.
    pub fn rpc(schema: &Schema, rpc: NodeId, element: Node<'_, '_>) -> Option<Self> {
        let NodeKind::Rpc { input, output } = schema.node(rpc).kind else { return None };
        let halves = Halves { input, output };
        Some(Self::read(schema, rpc, halves, InstancePath::default(), element))
    }

    /// Of the action that `element` leads to, the `<action>` of RFC 7950 section 7.15.2.
    ///
    /// # Errors
    /// When it leads to none.
    pub fn action(schema: &Schema, element: Node<'_, '_>) -> Result<Self, Vec<Error>> {
        let way = xml_in::parameters::way(schema, element)?;
        let NodeKind::Action { input, output } = schema.node(way.action).kind else {
            return Err(vec![Error::application(ErrorTag::BadElement, "no action is named")]);
        };
        Ok(Self::read(schema, way.action, Halves { input, output }, way.above, way.element))
    }

    fn read(
        schema: &Schema,
        operation: NodeId,
        halves: Halves,
        above: InstancePath,
        element: Node<'_, '_>,
    ) -> Self {
        let place = below(&above, halves.input);
        let read = xml_in::parameters::read(schema, halves.input, place, element);
        let given = read.and_then(|found| branch_of(schema, found));
        Self { operation, halves, above, given }
    }

    /// The RPC or action.
    pub fn operation(&self) -> NodeId {
        self.operation
    }

    /// What an action is invoked on; the root for an RPC.
    pub fn instance(&self) -> &InstancePath {
        &self.above
    }

    /// The place of the operation: `/module:name` for an RPC.
    pub fn path(&self) -> InstancePath {
        below(&self.above, self.operation)
    }

    /// The input as one object of RFC 7951, `{"module:input": {…}}`, with the defaults in use, if it is valid beside the
    /// data of `tree` and these have the instance of an action.
    ///
    /// # Errors
    /// What is wrong with it, with paths into the operation.
    pub fn judged(&self, schema: &Schema, tree: &Tree) -> Result<String, Vec<Error>> {
        let filled = self.filled(schema, tree)?;
        let name = format!("{}:input", schema.module_of(self.halves.input).name);
        let input = json::branch(schema, &filled, Some(self.halves.input));
        Ok(Json::Object(Map::from_iter([(name, input)])).to_string())
    }

    /// As [`Call::judged`], as data: the parameters are at the top.
    ///
    /// # Errors
    /// As [`Call::judged`].
    pub fn parameters(&self, schema: &Schema, tree: &Tree) -> Result<Tree, Vec<Error>> {
        self.filled(schema, tree).map(|filled| Tree::from_root(Arc::new(filled)))
    }

    /// The schema node that the parameters stand below.
    pub fn input(&self) -> NodeId {
        self.halves.input
    }

    fn filled(&self, schema: &Schema, tree: &Tree) -> Result<Branch, Vec<Error>> {
        let given = self.given.as_ref().map_err(Clone::clone)?;
        let (whole, place) = self.placed(schema, tree, self.halves.input, given)?;
        let wrong = parameters::check(schema, &whole, &place, given);
        if !wrong.is_empty() {
            return Err(wrong);
        }
        Ok(Filler { schema, whole: &whole }.branch(self.halves.input, given, &place))
    }

    /// Reads the output, an object of RFC 7951 like `{"module:output": {…}}` or nothing, beside the data that the
    /// operation was called with.
    ///
    /// # Errors
    /// When it is not what the schema says.
    pub fn answered(&self, schema: &Schema, tree: &Tree, output: &[u8]) -> Result<Answer, Vec<Error>> {
        let half = self.halves.output;
        let place = below(&self.above, half);
        let name = format!("{}:output", schema.module_of(half).name);
        let found = match output_of(output, &name).map_err(|error| vec![error.at(place.render(schema))])? {
            Some(output) => json_in::read_parameters(schema, half, place, &output)?,
            None => Vec::new(),
        };
        let branch = branch_of(schema, found)?;
        let (whole, place) = self.placed(schema, tree, half, &branch)?;
        let wrong = parameters::check(schema, &whole, &place, &branch);
        if wrong.is_empty() { Ok(Answer(Tree::from_root(branch))) } else { Err(wrong) }
    }

    /// `tree` with the operation in it, and where.
    fn placed(
        &self,
        schema: &Schema,
        tree: &Tree,
        half: NodeId,
        parameters: &Arc<Branch>,
    ) -> Result<(Tree, InstancePath), Vec<Error>> {
        let child =
            Child { id: half, default: false, presence: true, data: Data::Container(parameters.clone()) };
        match with(schema, tree.root(), &self.above.steps, child) {
            Some(root) => Ok((Tree::from_root(root), below(&self.above, half))),
            None => {
                let name = self.above.node().map_or("", |node| schema.node(node).name.as_str());
                let what = format!("there is no such '{name}', so nothing can be done to it");
                Err(vec![Error::application(ErrorTag::DataMissing, what).at(self.above.render(schema))])
            }
        }
    }
}

impl Answer {
    /// What a server answered to an RPC or action: the children of the element that `text` is.
    ///
    /// # Errors
    /// When these are not what the schema says, each by itself.
    pub fn from_xml(schema: &Schema, operation: NodeId, text: &str) -> Result<Self, Vec<Error>> {
        let (NodeKind::Rpc { output, .. } | NodeKind::Action { output, .. }) = schema.node(operation).kind
        else {
            return Err(vec![Error::application(ErrorTag::BadElement, "no operation is named")]);
        };
        let document = crate::xml::parse(text).map_err(|error| vec![error])?;
        let place = below(&InstancePath::default(), output);
        let found = xml_in::parameters::read(schema, output, place, document.root_element())?;
        branch_of(schema, found).map(|branch| Answer(Tree::from_root(branch)))
    }

    /// The output parameters, at the top of a tree.
    pub fn tree(&self) -> &Tree {
        &self.0
    }

    /// The output parameters as elements that declare their namespaces.
    pub fn to_xml(&self, schema: &Schema) -> String {
        view(&self.0, schema, Defaults::Explicit).to_xml()
    }
}

fn below(above: &InstancePath, node: NodeId) -> InstancePath {
    let mut path = above.clone();
    path.steps.push(Step { node, key: None });
    path
}

fn branch_of(schema: &Schema, nodes: Vec<Op>) -> Result<Arc<Branch>, Vec<Error>> {
    let ops = Ops { steps: vec![Stage { replace_all: false, nodes }] };
    edit(&Tree::new(), schema, ops).map(|tree| tree.root().clone())
}

/// The value of the only member, if there is any.
fn output_of(text: &[u8], name: &str) -> Result<Option<Json>, Error> {
    let wrong = |what: String| Error::application(ErrorTag::MalformedMessage, what);
    if text.is_empty() {
        return Ok(None);
    }
    let json =
        serde_json::from_slice(text).map_err(|error| wrong(format!("the output is no JSON: {error}")))?;
    let Json::Object(mut members) = json else { return Err(wrong("the output is no object".to_owned())) };
    let output = members.remove(name);
    match members.keys().next() {
        None => Ok(output),
        Some(other) => Err(wrong(format!("the output has '{other}' where only '{name}' may stand"))
            .with(ErrorInfo::BadElement(other.clone()))),
    }
}

/// `branch` with `child` at the end of `steps`; none where these lead to nothing. A container without presence is always
/// there.
fn with(schema: &Schema, branch: &Arc<Branch>, steps: &[Step], child: Child) -> Option<Arc<Branch>> {
    let mut changed = Branch::clone(branch);
    let Some((step, rest)) = steps.split_first() else {
        changed.put(child);
        return Some(Arc::new(changed));
    };
    let data = match (branch.get(step.node), &step.key) {
        (Some(Data::Container(inner)), None) => Data::Container(with(schema, inner, rest, child)?),
        (None, None) if schema.is_non_presence(step.node) => {
            Data::Container(with(schema, &Arc::default(), rest, child)?)
        }
        (Some(Data::List(entries)), Some(key)) => {
            let entry = with(schema, entries.get(key)?, rest, child)?;
            let mut entries = Entries::clone(entries);
            entries.set(key.clone(), entry);
            Data::List(Arc::new(entries))
        }
        (Some(_) | None, _) => return None,
    };
    let presence = branch.child(step.node).is_some_and(|known| known.presence);
    changed.put(Child { id: step.node, default: false, presence, data });
    Some(Arc::new(changed))
}

/// Puts the defaults in use into parameters, which RFC 7950 section 7.14.2 asks for.
struct Filler<'s> {
    schema: &'s Schema,
    whole: &'s Tree,
}

impl Filler<'_> {
    fn branch(&self, parent: NodeId, branch: &Arc<Branch>, path: &InstancePath) -> Branch {
        let mut filled = Branch::clone(branch);
        for id in self.schema.data_children(parent) {
            let path = below(path, *id);
            let data = match branch.get(*id) {
                Some(Data::Container(inner)) => {
                    Some(Data::Container(Arc::new(self.branch(*id, inner, &path))))
                }
                Some(Data::List(entries)) => Some(self.entries(*id, entries, &path)),
                Some(Data::Leaf(_) | Data::LeafList(_) | Data::Any(_)) => None,
                None if in_use(self.schema, branch, *id) && self.allows(*id, &path) => {
                    self.default(*id, &path)
                }
                None => None,
            };
            if let Some(data) = data {
                let presence = branch.child(*id).is_some_and(|known| known.presence);
                filled.put(Child { id: *id, default: false, presence, data });
            }
        }
        filled
    }

    fn entries(&self, list: NodeId, entries: &Entries<Arc<Branch>>, path: &InstancePath) -> Data {
        let mut filled = Entries::clone(entries);
        for (key, entry) in entries.iter() {
            let mut path = path.clone();
            if let Some(step) = path.steps.last_mut() {
                step.key = Some(key.clone());
            }
            filled.set(key.clone(), Arc::new(self.branch(list, entry, &path)));
        }
        Data::List(Arc::new(filled))
    }

    fn default(&self, id: NodeId, path: &InstancePath) -> Option<Data> {
        let values = self.schema.default_values(id);
        match &self.schema.node(id).kind {
            NodeKind::Leaf { .. } => values.first().cloned().map(Data::Leaf),
            NodeKind::LeafList { .. } if !values.is_empty() => {
                let mut entries = Entries::new(self.schema.is_user_ordered(id));
                for value in values {
                    entries.set(Key::One(value.clone()), value.clone());
                }
                Some(Data::LeafList(Arc::new(entries)))
            }
            NodeKind::Container { presence: false } => {
                let inner = self.branch(id, &Arc::default(), path);
                (!inner.is_empty()).then(|| Data::Container(Arc::new(inner)))
            }
            _ => None,
        }
    }

    /// Do the `when`s of the node at `path` hold? A condition that cannot be told lets no default be.
    fn allows(&self, id: NodeId, path: &InstancePath) -> bool {
        self.schema.whens(id).iter().all(|when| {
            let mut evaluation = Evaluation::new(self.schema, self.whole, Accessible::WithState);
            let parent =
                InstancePath { steps: path.steps.split_last().map_or(&[][..], |(_, above)| above).to_vec() };
            let place =
                if when.on_parent { evaluation.place(&parent) } else { evaluation.place_or_dummy(path) };
            match (&when.expression, place) {
                (Ok(expression), Some(place)) => {
                    expression.holds(&mut evaluation, place, &mut Budget::new(STEPS)).unwrap_or(false)
                }
                (Ok(_) | Err(_), _) => false,
            }
        })
    }
}
