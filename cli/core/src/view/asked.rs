//! A view as it was asked for: which part of it, and what it reads for that.
//!
//! A service may be meant by its name, which no list of state has as a key. Then the configuration is asked first which
//! service that is ([`Asked::lookup`], [`Asked::resolve`]), and the view reads that one.

use super::data::Cursor;
use super::page::Page;
use super::{View, resolve};
use crate::edit::{self, Selection};
use crate::error::{Error, nearest};
use crate::token::Token;
use cats_yang_tree::path::InstancePath;
use cats_yang_tree::schema::{NodeId, Schema};
use cats_yang_tree::tree::Tree;
use cats_yang_tree::value::Value;

/// The services by their CS-IDs, below the home of all of ours.
const SERVICES: &str = "services/service";

/// A view as it was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    pub(super) view: &'static View,
    /// Leafs of keys, and what each is to be.
    pub(super) narrowed: Vec<(&'static str, Means)>,
}

/// What a key is to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Means {
    /// This.
    Value(Value),
    /// That of the service with this name.
    Service(Named),
}

/// A service by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Named {
    name: String,
    span: (usize, usize),
}

impl Named {
    /// The word as a name, if services may be called so.
    pub(super) fn of(schema: &Schema, word: &Token) -> Option<Self> {
        let (_, leaf) = names(schema)?;
        let ty = schema.leaf_type(leaf)?;
        Value::parse_text(schema, ty, schema.node(leaf).module, &word.text).ok()?;
        Some(Self { name: word.text.clone(), span: word.span() })
    }

    fn unknown(&self, known: &[(String, Value)]) -> Error {
        let message = format!("no service is called `{}`", self.name);
        let error = Error { tag: "data-missing".to_owned(), ..Error::usage(message).under(self.span) };
        let names = known.iter().map(|(name, _)| name.as_str());
        error.remedy(match nearest(&self.name, names) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "name it by its CS-ID; show state services service has both".to_owned(),
        })
    }
}

/// The services, and the leaf with the name of each.
pub(super) fn names(schema: &Schema) -> Option<(InstancePath, NodeId)> {
    let services = resolve(schema, SERVICES)?;
    let leaf = schema.children_named(services.node(), "name").next()?;
    Some((services, leaf))
}

impl Asked {
    /// The content of the subtree filter that selects the names of services, where one has to be known first.
    pub fn lookup(&self, schema: &Schema) -> Option<String> {
        self.narrowed.iter().any(|(_, means)| matches!(means, Means::Service(_))).then(|| {
            let name = resolve(schema, &format!("{SERVICES}/name"));
            let selection = name.map(|path| Selection { path, matches: Vec::new() });
            edit::filters(schema, &selection.into_iter().collect::<Vec<_>>())
        })
    }

    /// The same with CS-IDs in the place of names, by what the lookup gave.
    ///
    /// # Errors
    /// When no service has that name.
    pub fn resolve(&self, schema: &Schema, found: &Tree) -> Result<Self, Error> {
        let services = Cursor::home(schema, found).down("services").entries("service");
        let known: Vec<(String, Value)> = services
            .into_iter()
            .filter_map(|service| Some((service.text("name")?, service.value("cs-id")?.clone())))
            .collect();
        let value = |named: &Named| {
            let service = known.iter().find(|(name, _)| *name == named.name);
            service.map(|(_, cs_id)| cs_id.clone()).ok_or_else(|| named.unknown(&known))
        };
        let narrowed = self.narrowed.iter().map(|(leaf, means)| match means {
            Means::Value(value) => Ok((*leaf, Means::Value(value.clone()))),
            Means::Service(named) => Ok((*leaf, Means::Value(value(named)?))),
        });
        Ok(Self { view: self.view, narrowed: narrowed.collect::<Result<_, _>>()? })
    }

    /// The content of the subtree filter that selects what the view reads. What names stand for has to be known.
    pub fn filter(&self, schema: &Schema) -> String {
        let selections: Vec<Selection> = self
            .view
            .reads
            .iter()
            .filter_map(|read| resolve(schema, read))
            .map(|path| self.selection(schema, path))
            .collect();
        edit::filters(schema, &selections)
    }

    /// The data as the view shows them.
    pub fn page(&self, schema: &Schema, tree: &Tree) -> Page {
        (self.view.page)(Cursor::home(schema, tree))
    }

    /// Entries of lists that have a key of this name must have this value of it.
    fn selection(&self, schema: &Schema, path: InstancePath) -> Selection {
        let mut matches = Vec::new();
        for step in &path.steps {
            for key in schema.list_keys(step.node) {
                let value = self.narrowed.iter().find_map(|(leaf, means)| match means {
                    Means::Value(value) if *leaf == schema.node(*key).name => Some(value.clone()),
                    Means::Value(_) | Means::Service(_) => None,
                });
                matches.extend(value.map(|value| (step.node, *key, value)));
            }
        }
        Selection { path, matches }
    }
}
