//! XPath 1.0 over the datastore value, in the contexts of RFC 7950 sections 6.4 and 10 (`must`, `when`, leafref
//! paths) and of RFC 6241 section 8.9 (filters).
//!
//! An [`Expr`] is read once against the schema: names become schema nodes, so that a step is a look-up. An
//! [`Evaluation`] walks the accessible tree of RFC 7950 section 6.4.1 without building it: containers without
//! presence and defaults in use are met where they would stand. Predicates that name all keys of a list are
//! look-ups; `count()`, `last()`, positions and the mere existence of entries come from the counts of the map.
//!
//! What is there: all of the grammar; all axes but `namespace`; the core function library and the functions of RFC
//! 7950 section 10. Data have neither attributes nor comments, so `@x`, `id()`, `lang()` and `comment()` find
//! nothing. There are no variables. The value of a leaf is its canonical form; identities and
//! instance-identifiers have modules' names in the place of prefixes, and comparing a leaf with a string reads the
//! string with the prefixes of the expression. `name()` gives a prefix of the expression, if it has one for the
//! module, or else the module's name.
//!
//! Everything is bounded: the length and nesting of expressions, the steps and depth of an evaluation, and the
//! length of strings.

mod axes;
mod call;
mod compare;
mod depends;
mod each;
mod error;
mod eval;
mod function;
mod lookup;
mod names;
mod number;
mod parse;
mod place;
mod select;
mod steps;
mod term;
mod token;
mod yang;

pub use depends::{Dependency, NotIndexable};
pub use error::XPathError;
pub use names::{Scope, Unprefixed};
pub use place::{Evaluation, Place};
pub use select::select;

use crate::path::InstancePath;
use crate::schema::{Expression, NodeKind, Schema};
use eval::Context;
use std::sync::Arc;
use term::Term;

/// The longest expression, in octets.
pub const MAX_LENGTH: usize = 64 << 10;
/// How deep parentheses, predicates and arguments nest.
pub const MAX_NESTING: usize = 64;
/// How deep an evaluation nests: in the expression and in the data that its predicates meet.
pub const MAX_DEPTH: u16 = 256;
/// How many nodes an evaluation holds at a time; each takes about 60 octets.
pub const MAX_NODES: usize = 1 << 20;
/// How many places a filter selects; each takes some hundred octets.
pub const MAX_PLACES: usize = 1 << 17;
/// The longest string that an evaluation makes, in octets.
pub const MAX_STRING: usize = 16 << 20;
/// The longest pattern that `re-match()` takes, in octets.
pub const MAX_PATTERN: usize = 4 << 10;

/// An expression whose names are resolved against a schema, with which alone it may be used.
#[derive(Debug, Clone)]
pub struct Expr {
    term: Term,
    scope: Scope,
    text: Box<str>,
}

/// The type of a value (XPath 1.0 section 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Kind {
    Nodes,
    String,
    Number,
    Boolean,
}

/// The value of an expression.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// In document order, each once; the text inside a leaf has the path of the leaf.
    Nodes(Vec<InstancePath>),
    /// A string.
    String(String),
    /// A number.
    Number(f64),
    /// A boolean.
    Boolean(bool),
}

/// What an expression sees of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accessible {
    /// The accessible tree of an expression on configuration: configuration alone, with containers without
    /// presence and defaults in use.
    Configuration,
    /// The same with state: for expressions on state.
    WithState,
    /// What the tree holds, state too, and of configuration what exists without being stored: for filters over a view
    /// that reports defaults, which vouches for none of state.
    Reported,
    /// What the tree holds and nothing else: for filters over a view that has the defaults that it is to have.
    Stored,
}

/// The steps that evaluations may take: about one for each node that is met and each operator. One budget may
/// serve several evaluations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Budget {
    limit: u64,
    left: u64,
}

/// A `when` that decides whether a node may exist.
#[derive(Debug, Clone)]
pub struct When {
    /// The condition, or why it cannot be read.
    pub expression: Result<Expr, XPathError>,
    /// The context node is the parent in data, not the node itself.
    pub on_parent: bool,
}

impl Expr {
    /// Reads an expression.
    ///
    /// # Errors
    /// What is wrong with it and where; also for an argument or operand that should be a node-set and is none.
    pub fn parse(schema: &Schema, text: &str, scope: Scope) -> Result<Self, XPathError> {
        let term = parse::parse(schema, text, &scope)?;
        Ok(Self { term, scope, text: Box::from(text) })
    }

    /// Reads an expression of a module.
    ///
    /// # Errors
    /// As [`Expr::parse`].
    pub fn of_expression(schema: &Schema, expression: &Expression) -> Result<Self, XPathError> {
        Self::parse(schema, &expression.text, Scope::of_expression(expression))
    }

    /// Its text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The type of its value, which is known without evaluation.
    pub fn kind(&self) -> Kind {
        self.term.kind()
    }

    /// Its value at the context node `at`.
    ///
    /// # Errors
    /// When it takes more steps than the budget has, or meets what only data show to be wrong: a pattern or the
    /// name of an identity that is computed.
    pub fn evaluate(
        &self,
        evaluation: &mut Evaluation<'_>,
        at: Place,
        budget: &mut Budget,
    ) -> Result<Outcome, XPathError> {
        self.within(evaluation, budget, |evaluation| {
            let context = Context::new(at, &self.scope);
            Ok(match self.kind() {
                Kind::Nodes => {
                    let places = evaluation.nodes_of(&self.term, context)?;
                    Outcome::Nodes(places.into_iter().map(|place| evaluation.path(place)).collect())
                }
                Kind::String => Outcome::String(evaluation.string_of(&self.term, context)?.into_owned()),
                Kind::Number => Outcome::Number(evaluation.number_of(&self.term, context)?),
                Kind::Boolean => Outcome::Boolean(evaluation.boolean_of(&self.term, context)?),
            })
        })
    }

    /// Its value at the context node `at` as a boolean: whether a `must` or `when` holds. Of a node-set it is
    /// whether there is any node, for which one has to be found and no more.
    ///
    /// # Errors
    /// As [`Expr::evaluate`].
    pub fn holds(
        &self,
        evaluation: &mut Evaluation<'_>,
        at: Place,
        budget: &mut Budget,
    ) -> Result<bool, XPathError> {
        self.within(evaluation, budget, |evaluation| {
            evaluation.boolean_of(&self.term, Context::new(at, &self.scope))
        })
    }

    /// Lends the budget to the evaluation and forgets what it meets.
    fn within<'t, T>(
        &self,
        evaluation: &mut Evaluation<'t>,
        budget: &mut Budget,
        evaluate: impl FnOnce(&mut Evaluation<'t>) -> Result<T, XPathError>,
    ) -> Result<T, XPathError> {
        let mark = evaluation.mark();
        evaluation.budget = *budget;
        let result = evaluate(evaluation);
        *budget = evaluation.budget;
        evaluation.forget(mark);
        result
    }
}

impl Accessible {
    /// What a filter over a view is to see: defaults exist where the view reports them.
    pub fn of_view(defaults: crate::Defaults) -> Self {
        match defaults {
            crate::Defaults::ReportAll | crate::Defaults::ReportAllTagged => Accessible::Reported,
            crate::Defaults::Trim | crate::Defaults::Explicit => Accessible::Stored,
        }
    }
}

impl Budget {
    /// So many steps.
    pub fn new(steps: u64) -> Self {
        Self { limit: steps, left: steps }
    }

    /// How many were taken.
    pub fn taken(&self) -> u64 {
        self.limit - self.left
    }

    fn spend(&mut self, steps: u64) -> Result<(), XPathError> {
        match self.left.checked_sub(steps) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(XPathError::Steps { limit: self.limit }),
        }
    }
}

/// Per node: the `when`s on which it depends in data, its own and those of the choices and cases around it.
pub(crate) fn whens(schema: &Schema) -> Vec<Arc<[When]>> {
    let none: Arc<[When]> = Arc::from([]);
    let mut all = vec![none; schema.nodes.len()];
    for node in schema.data_nodes() {
        let mut found = Vec::new();
        let mut at = Some(node.id);
        while let Some(id) = at {
            let around = schema.node(id);
            let is_data = id == node.id;
            if !is_data && !matches!(around.kind, NodeKind::Choice { .. } | NodeKind::Case) {
                break;
            }
            found.extend(around.whens.iter().map(|when| When {
                expression: Expr::of_expression(schema, when),
                on_parent: when.on_parent || !is_data,
            }));
            at = around.parent;
        }
        if let (false, Some(whens)) = (found.is_empty(), all.get_mut(node.id.0 as usize)) {
            *whens = Arc::from(found);
        }
    }
    all
}
