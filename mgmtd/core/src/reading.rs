//! Reads: what is asked for, and the one place where a tree becomes what its reader sees.

use crate::nacm::Access;
use cats_yang_tree::error::{Error, ErrorInfo, ErrorTag};
use cats_yang_tree::notice::Notice;
use cats_yang_tree::schema::{NodeId, NodeKind, Schema};
use cats_yang_tree::xpath::{self, Accessible, Budget, Expr, Kind, Scope, XPathError};
use cats_yang_tree::{Defaults, InstancePath, Origins, Place, Step, Subtree, Tree, View, view};
use std::num::NonZeroU16;
use std::sync::Arc;

/// What is wanted of a datastore. The default is all of it, with what was set and nothing else.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Selection {
    /// The part that is wanted; absent for all.
    pub filter: Option<Filter>,
    /// Configuration alone, or state alone.
    pub config: Option<bool>,
    /// Configuration of these origins alone; of `<operational>` only.
    pub origins: Option<Origins>,
    /// Levels, counted from what the filter selects.
    pub depth: Option<NonZeroU16>,
    /// Say where configuration comes from; of `<operational>` only.
    pub with_origin: bool,
    /// What is done with defaults.
    pub defaults: Defaults,
}

/// The steps that the evaluation of an XPath filter may take.
const STEPS: u64 = 20_000_000;

/// The same for one notification: there are many.
const STEPS_OF_NOTICE: u64 = 100_000;

/// A subtree filter that takes fewer steps than this is evaluated at once.
const FEW: usize = 1_000;

/// A filter, read by the schema: what is wrong with its text was said before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Filter {
    /// RFC 6241 section 6.
    Subtree(Subtree),
    /// RFC 6241 section 8.9.
    XPath(XPath),
}

/// The parameter that an XPath filter is given in, by which its errors name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GivenIn {
    /// `<filter>` of `get` and `get-config`.
    Filter,
    /// `<xpath-filter>` of `get-data` and `compare`.
    XPathFilter,
    /// `<datastore-xpath-filter>` of a subscription.
    Subscription,
    /// `<stream-xpath-filter>` of a subscription.
    StreamXPath,
}

impl GivenIn {
    fn element(self) -> &'static str {
        match self {
            GivenIn::Filter => "filter",
            GivenIn::XPathFilter => "xpath-filter",
            GivenIn::Subscription => "datastore-xpath-filter",
            GivenIn::StreamXPath => "stream-xpath-filter",
        }
    }
}

/// An XPath expression that names nodes. Two are equal when they were written alike.
#[derive(Debug, Clone)]
pub struct XPath {
    given_in: GivenIn,
    select: String,
    namespaces: Vec<(String, String)>,
    expression: Arc<Expr>,
    /// The steps that its evaluation may take.
    steps: u64,
}

impl PartialEq for XPath {
    fn eq(&self, other: &Self) -> bool {
        self.given_in == other.given_in && self.select == other.select && self.namespaces == other.namespaces
    }
}

impl Eq for XPath {}

impl Filter {
    /// A subtree filter from its `<filter>` or `<subtree-filter>` element.
    ///
    /// # Errors
    /// When the text is no XML.
    pub fn subtree(schema: &Schema, element: &str) -> Result<Self, Error> {
        Subtree::parse(schema, element).map(Filter::Subtree)
    }

    /// An XPath filter from its expression, and the prefixes and namespaces in scope where it stands.
    ///
    /// # Errors
    /// `invalid-value` when the text is no expression whose value is a node-set.
    pub fn xpath(
        schema: &Schema,
        given_in: GivenIn,
        select: String,
        namespaces: Vec<(String, String)>,
    ) -> Result<Self, Error> {
        let scope = Scope::of_namespaces(schema, &namespaces);
        let expression = Expr::parse(schema, &select, scope).map_err(|error| refused(given_in, &error))?;
        match expression.kind() {
            Kind::Nodes => {
                let expression = Arc::new(expression);
                Ok(Filter::XPath(XPath { given_in, select, namespaces, expression, steps: STEPS }))
            }
            found @ (Kind::String | Kind::Number | Kind::Boolean) => {
                Err(refused(given_in, &XPathError::NotNodes { found }))
            }
        }
    }

    /// The same, whose evaluation may take so many steps.
    #[must_use]
    pub(crate) fn within(self, steps: u64) -> Self {
        match self {
            Filter::Subtree(filter) => Filter::Subtree(filter),
            Filter::XPath(filter) => Filter::XPath(XPath { steps, ..filter }),
        }
    }

    pub(crate) fn is_xpath(&self) -> bool {
        matches!(self, Filter::XPath(_))
    }

    /// An XPath filter of notifications, each of which it holds for or not.
    ///
    /// # Errors
    /// `invalid-value` when the text is no expression.
    pub fn of_notices(
        schema: &Schema,
        given_in: GivenIn,
        select: String,
        namespaces: Vec<(String, String)>,
    ) -> Result<Self, Error> {
        let scope = Scope::of_namespaces(schema, &namespaces).of_notices();
        let expression = Expr::parse(schema, &select, scope).map_err(|error| refused(given_in, &error))?;
        let expression = Arc::new(expression);
        Ok(Filter::XPath(XPath { given_in, select, namespaces, expression, steps: STEPS_OF_NOTICE }))
    }

    /// Does a notification pass it? One that it takes too long to find out of does not.
    pub(crate) fn passes(&self, schema: &Schema, notice: &Notice) -> bool {
        match self {
            Filter::Subtree(filter) => notice.meets(schema, filter),
            Filter::XPath(filter) => notice
                .satisfies(schema, &filter.expression, &mut Budget::new(STEPS_OF_NOTICE))
                .unwrap_or(false),
        }
    }

    /// May it select anything at or below this top-level node?
    pub(crate) fn touches(&self, schema: &Schema, node: NodeId) -> bool {
        match self {
            Filter::Subtree(filter) => filter.touches(node),
            Filter::XPath(filter) => match filter.expression.dependencies(schema, None) {
                Ok(read) => read.iter().any(|read| chain(schema, read.node).first() == Some(&node)),
                Err(_) => true,
            },
        }
    }

    /// The places that hold all that it may select, or has to look at, below nodes that `wanted` says yes to.
    pub(crate) fn places(&self, schema: &Schema, wanted: &dyn Fn(NodeId) -> bool) -> Vec<Place> {
        let place = |chain: Vec<NodeId>| {
            // Entries are told apart by the filter itself.
            let is_list = |node: &NodeId| matches!(schema.node(*node).kind, NodeKind::List { .. });
            let list = chain.iter().position(is_list);
            let length = list.map_or(chain.len(), |at| at + 1);
            let step = |node| Step { node, key: None };
            Place::from(InstancePath { steps: chain.into_iter().take(length).map(step).collect() })
        };
        match self {
            Filter::Subtree(filter) => filter.places(schema, wanted),
            Filter::XPath(filter) => match filter.expression.dependencies(schema, None) {
                Ok(read) => {
                    let nodes = read.iter().map(|read| read.node).filter(|node| wanted(*node));
                    nodes.map(|node| place(chain(schema, node))).collect()
                }
                Err(_) => {
                    let top = schema.data_children_of(None).iter().copied().filter(|node| wanted(*node));
                    top.map(|node| place(vec![node])).collect()
                }
            },
        }
    }
}

impl XPath {
    /// The places that it selects of `tree`.
    fn places(
        &self,
        schema: &Schema,
        tree: &Tree,
        accessible: Accessible,
    ) -> Result<Vec<InstancePath>, Vec<Error>> {
        xpath::select(schema, tree, &self.expression, accessible, &mut Budget::new(self.steps))
            .map_err(|error| vec![refused(self.given_in, &error)])
    }
}

/// A data node and those above it, from the top.
pub(crate) fn chain(schema: &Schema, node: NodeId) -> Vec<NodeId> {
    let mut chain: Vec<NodeId> =
        std::iter::successors(Some(node), |node| schema.data_parent(*node)).collect();
    chain.reverse();
    chain
}

fn refused(given_in: GivenIn, error: &XPathError) -> Error {
    let tag = match error {
        XPathError::Steps { .. }
        | XPathError::Nodes { .. }
        | XPathError::Depth { .. }
        | XPathError::StringLength { .. } => ErrorTag::ResourceDenied,
        XPathError::Syntax { .. }
        | XPathError::Variable { .. }
        | XPathError::NamespaceAxis { .. }
        | XPathError::Prefix { .. }
        | XPathError::Function { .. }
        | XPathError::Arguments { .. }
        | XPathError::NodeSet { .. }
        | XPathError::Pattern { .. }
        | XPathError::Identity { .. }
        | XPathError::TooLong { .. }
        | XPathError::TooDeep { .. }
        | XPathError::NotNodes { .. } => ErrorTag::InvalidValue,
    };
    Error::protocol(tag, format!("the XPath filter is not usable: {error}"))
        .with(ErrorInfo::BadElement(given_in.element().to_owned()))
}

/// A read: the root that was current when it was asked, who asked, and the part that is wanted. Making it up and writing
/// it out, which takes time, is for the asker: nothing that happens meanwhile shows in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    pub(crate) tree: Tree,
    /// What a component told of itself, which is in it too.
    pub(crate) state: Option<Tree>,
    /// What was intended, for origins.
    pub(crate) intended: Option<Tree>,
    pub(crate) selection: Selection,
    pub(crate) access: Access,
}

impl Reading {
    pub(crate) fn new(tree: Tree, selection: Selection, access: Access) -> Self {
        Self { tree, state: None, intended: None, selection, access }
    }

    /// What the reader sees, ready to be written. In this order: defaults; what the reader may not see goes; depth, and
    /// the filter; configuration or state; origins. So no default stands in for what is hidden, no filter finds what
    /// may not be seen, and every filter sees the defaults that the reply shows.
    ///
    /// # Errors
    /// When the filter cannot be evaluated.
    pub fn view<'a>(&self, schema: &'a Schema) -> Result<View<'a>, Vec<Error>> {
        let Selection { config, origins, with_origin, .. } = &self.selection;
        let mut seen = match &self.state {
            None => self.selected(schema, &self.tree)?,
            Some(state) => self.selected(schema, &self.tree.merged(schema, state))?,
        };
        if let Some(config) = config {
            seen = seen.config(*config);
        }
        if let (Some(origins), Some(intended)) = (origins, &self.intended) {
            seen = seen.origins(intended, *origins);
        }
        match &self.intended {
            Some(intended) if *with_origin => Ok(seen.with_origin(intended)),
            Some(_) | None => Ok(seen),
        }
    }

    /// As [`Reading::view`], where that takes no time to speak of: for who may read everything, what was set, of not
    /// too much. None is no answer.
    pub fn view_at_once<'a>(&self, schema: &'a Schema) -> Option<View<'a>> {
        let Selection { filter, config, origins, depth, with_origin, defaults } = &self.selection;
        let whole = self.access.reads_all() && self.state.is_none();
        if !whole || config.is_some() || origins.is_some() || *with_origin {
            return None;
        }
        let all = view(&self.tree, schema, *defaults).depth(*depth);
        match filter {
            None => Some(all),
            Some(Filter::Subtree(filter)) => all.filter_within(filter, FEW),
            Some(Filter::XPath(_)) => None,
        }
    }

    /// The part that the filter selects of what may be read.
    fn selected<'a>(&self, schema: &'a Schema, tree: &Tree) -> Result<View<'a>, Vec<Error>> {
        let Selection { filter, depth, defaults, .. } = &self.selection;
        let all = view(tree, schema, *defaults);
        if self.access.reads_all() {
            return Ok(match filter {
                None => all.depth(*depth),
                Some(Filter::Subtree(filter)) => all.depth(*depth).filter(filter),
                Some(Filter::XPath(filter)) => {
                    let places = filter.places(schema, tree, Accessible::of_view(*defaults))?;
                    all.depth(*depth).at(&places)
                }
            });
        }
        let readable = |view: View<'a>| view.cut(|tree| self.access.readable(tree));
        Ok(match filter {
            None => readable(all).depth(*depth),
            // Only what the filter selects is cut down; filtered again, it shows nothing that was selected by what is
            // hidden. A subtree filter asks for nothing to be absent, so this is the filtered part of what is readable.
            Some(Filter::Subtree(filter)) => readable(all.filter(filter)).depth(*depth).filter(filter),
            Some(Filter::XPath(filter)) => {
                let readable = readable(all);
                // The defaults in use are in it by now.
                let places = filter.places(schema, &readable.tree(), Accessible::Stored)?;
                readable.depth(*depth).at(&places)
            }
        })
    }

    /// The content of `<data>` as one text.
    ///
    /// # Errors
    /// As [`Reading::view`].
    pub fn to_xml(&self, schema: &Schema) -> Result<String, Vec<Error>> {
        Ok(self.view(schema)?.to_xml())
    }
}
