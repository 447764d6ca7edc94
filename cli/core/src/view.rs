//! Views: what an operator looks at often, put together of several places of the data and told in words for people.
//!
//! Data come first: a view names the places that it reads, and every format but the table shows what stands there as it
//! is. The table is a [`Page`], which the view makes of the same data. A view knows nodes by their names, as an operator
//! does, and no module; where the server's schema lacks what a view is of, there is no such view.
//!
//! | file | holds |
//! |---|---|
//! | `asked` | which part of a view is asked for, and what it reads for that |
//! | `data` | the data by names |
//! | `page` | headings, facts, tables and notes, and how they are set |
//! | `words`, `services` | times, counts and names as people say them |
//! | the others | one view each |

mod agent;
mod alarms;
mod asked;
mod cache;
mod cst;
mod data;
mod page;
mod quarantine;
mod services;
mod words;

pub use asked::Asked;
pub use page::Page;

use crate::command::Word;
use crate::complete::{Completion, Values};
use crate::error::{Error, nearest};
use crate::place::{expected_values, home};
use crate::token::{Token, quote};
use asked::{Means, Named};
use cats_yang_tree::path::{InstancePath, Step};
use cats_yang_tree::schema::{NodeId, Schema};
use cats_yang_tree::value::Value;
use data::Cursor;

/// A view.
#[derive(Debug)]
pub struct View {
    /// Its words behind `show`.
    pub words: &'static [&'static str],
    /// One line about it.
    pub help: &'static str,
    /// To what it can be narrowed: keys of the lists that it reads.
    narrows: &'static [Narrowing],
    /// The places that it reads, by names below [`crate::place::HOME`], or from the top on behind a slash. It is there where
    /// the first of them is.
    reads: &'static [&'static str],
    page: fn(Cursor<'_>) -> Page,
}

/// A key that a view can be narrowed by.
#[derive(Debug)]
struct Narrowing {
    word: &'static str,
    help: &'static str,
    /// Its leaf.
    leaf: &'static str,
}

const SERVICE: Narrowing =
    Narrowing { word: "service", help: "only this service, by its CS-ID or name", leaf: "cs-id" };
const INSTANCE: Narrowing =
    Narrowing { word: "instance", help: "only this contact instance, by its CSCI-ID", leaf: "csci-id" };

const VIEWS: &[View] = &[alarms::VIEW, cst::VIEW, agent::VIEW, cache::VIEW, quarantine::VIEW];

impl PartialEq for View {
    fn eq(&self, other: &Self) -> bool {
        self.words == other.words
    }
}

impl Eq for View {}

/// The views of this schema, with their words as one.
pub fn words(schema: &Schema) -> Vec<(String, &'static str)> {
    there(schema).map(|view| (view.words.join(" "), view.help)).collect()
}

/// Reads what stands behind `show`; nothing where that is no view.
pub(crate) fn parse(schema: &Schema, words: &[Token]) -> Option<Result<Asked, Error>> {
    let mut reader = Reader::new(schema);
    reader.begins(words.first()?).then(|| {
        words.iter().try_for_each(|word| reader.take(word))?;
        reader.end(words)
    })
}

/// The words with those in full that are given by a beginning which only one of those that may stand there has.
pub(crate) fn expand(schema: &Schema, words: &[Token]) -> Result<Vec<Token>, Error> {
    let mut reader = Reader::new(schema);
    let mut out = Vec::with_capacity(words.len());
    for word in words {
        let word = match reader.value {
            Some(_) => word.clone(),
            None => full(word, reader.offers().iter().map(|offer| offer.name))?,
        };
        // What is wrong is told when it is read.
        let _ = reader.take(&word);
        out.push(word);
    }
    Ok(out)
}

/// The one of the known words that this is, or is a beginning of; itself where it is none.
pub(crate) fn full<'a>(word: &Token, known: impl Iterator<Item = &'a str>) -> Result<Token, Error> {
    let begun: Vec<&str> = known.filter(|known| known.starts_with(&word.text)).collect();
    let whole = begun.iter().find(|known| **known == word.text);
    match (whole.or(begun.first()), begun.len()) {
        (Some(one), 1) if !word.quoted => Ok(Token { text: (*one).to_owned(), ..word.clone() }),
        (Some(_), 2..) if whole.is_none() && !word.quoted => {
            let begun = begun.into_iter().map(str::to_owned).collect();
            Err(Error::usage(format!("`{}` may be several words", word.text))
                .under(word.span())
                .expecting(begun))
        }
        (Some(_) | None, _) => Ok(word.clone()),
    }
}

/// What may follow these words behind `show`.
pub(crate) fn offers(schema: &Schema, words: &[Token], values: &dyn Values) -> Vec<Completion> {
    let mut reader = Reader::new(schema);
    if words.iter().try_for_each(|word| reader.take(word)).is_err() {
        return Vec::new();
    }
    let word = |offer: Word| Completion { word: offer.name.to_owned(), help: offer.help.to_owned() };
    match (reader.view, reader.value) {
        (Some(view), Some(narrowing)) => values_of(schema, view, narrowing, values),
        _ => reader.offers().into_iter().map(word).collect(),
    }
}

fn values_of(schema: &Schema, view: &View, narrowing: &Narrowing, values: &dyn Values) -> Vec<Completion> {
    let keys = list_of(schema, view, narrowing);
    let names = asked::names(schema).filter(|_| narrowing.leaf == SERVICE.leaf);
    let places = keys.into_iter().chain(names);
    let values = places.flat_map(|(path, leaf)| values.of(&path, leaf));
    values.map(|value| Completion { word: quote(&value), help: narrowing.help.to_owned() }).collect()
}

/// The first list of a view that has this key, and the leaf of the key.
fn list_of(schema: &Schema, view: &View, narrowing: &Narrowing) -> Option<(InstancePath, NodeId)> {
    let paths = view.reads.iter().filter_map(|read| resolve(schema, read));
    paths.into_iter().find_map(|path| {
        path.steps.iter().enumerate().find_map(|(at, step)| {
            let is_key = |key: &&NodeId| schema.node(**key).name == narrowing.leaf;
            let leaf = schema.list_keys(step.node).iter().find(is_key)?;
            Some((InstancePath { steps: path.steps.iter().take(at + 1).cloned().collect() }, *leaf))
        })
    })
}

/// The views that the schema has what they are of.
fn there(schema: &Schema) -> impl Iterator<Item = &'static View> {
    let has = |view: &&View| view.reads.first().is_some_and(|read| resolve(schema, read).is_some());
    VIEWS.iter().filter(has)
}

/// The place of this name below the home of all of ours, or behind a slash below the root.
fn resolve(schema: &Schema, names: &str) -> Option<InstancePath> {
    let (above, names) = match names.strip_prefix('/') {
        Some(names) => (InstancePath::default(), names),
        None => (home(schema)?, names),
    };
    names.split('/').try_fold(above, |mut path, name| {
        let node = schema.children_named(path.node(), name).next()?;
        path.steps.push(Step { node, key: None });
        Some(path)
    })
}

/// Reads the words of a view.
struct Reader<'a> {
    schema: &'a Schema,
    words: Vec<&'static str>,
    view: Option<&'static View>,
    narrowed: Vec<(&'static Narrowing, Means)>,
    /// What the next word is the value of.
    value: Option<&'static Narrowing>,
}

impl<'a> Reader<'a> {
    fn new(schema: &'a Schema) -> Self {
        Self { schema, words: Vec::new(), view: None, narrowed: Vec::new(), value: None }
    }

    fn begins(&self, word: &Token) -> bool {
        self.offers().iter().any(|offer| offer.name == word.text)
    }

    /// Words of views that go on from here.
    fn further(&self) -> Vec<Word> {
        let depth = self.words.len();
        let mut found: Vec<Word> = Vec::new();
        for view in there(self.schema).filter(|view| view.words.starts_with(&self.words)) {
            if let Some(name) = view.words.get(depth)
                && found.iter().all(|word| word.name != *name)
            {
                found.push(Word { name, help: view.help });
            }
        }
        found
    }

    /// By what the view can still be narrowed.
    fn open(&self) -> Vec<&'static Narrowing> {
        let narrows = self.view.map_or(&[] as &[Narrowing], |view| view.narrows);
        narrows.iter().filter(|open| self.narrowed.iter().all(|(done, _)| done.leaf != open.leaf)).collect()
    }

    fn offers(&self) -> Vec<Word> {
        let mut offers = if self.narrowed.is_empty() { self.further() } else { Vec::new() };
        offers.extend(self.open().into_iter().map(|open| Word { name: open.word, help: open.help }));
        offers
    }

    fn take(&mut self, word: &Token) -> Result<(), Error> {
        if let Some(narrowing) = self.value.take() {
            return self.narrow(narrowing, word);
        }
        let further = if self.narrowed.is_empty() { self.further() } else { Vec::new() };
        if let Some(next) = further.into_iter().find(|next| next.name == word.text) {
            self.words.push(next.name);
            self.view = there(self.schema).find(|view| view.words == self.words);
            return Ok(());
        }
        let open = self.open();
        self.value = open.iter().copied().find(|open| open.word == word.text);
        match (self.value, open.first().copied()) {
            (Some(_), _) => Ok(()),
            // The value alone says which service it is, unless it is rather a word that was mistyped.
            (None, Some(first)) if word.quoted || self.near(word).is_none() => {
                self.narrow(first, word).map_err(|_| self.unknown(word))
            }
            (None, Some(_) | None) => Err(self.unknown(word)),
        }
    }

    fn narrow(&mut self, narrowing: &'static Narrowing, word: &Token) -> Result<(), Error> {
        let list = self.view.and_then(|view| list_of(self.schema, view, narrowing));
        let Some((_, leaf)) = list else { return Err(self.unknown(word)) };
        let Some(ty) = self.schema.leaf_type(leaf) else { return Err(self.unknown(word)) };
        let value = Value::parse_text(self.schema, ty, self.schema.node(leaf).module, &word.text);
        let named = || Named::of(self.schema, word).filter(|_| narrowing.leaf == SERVICE.leaf);
        let means = match (value, named()) {
            (Ok(value), _) => Means::Value(value),
            (Err(_), Some(named)) => Means::Service(named),
            (Err(invalid), None) => {
                let message = format!("`{}` is no {}: {}", word.text, narrowing.leaf, invalid.message);
                let expected = expected_values(self.schema, leaf);
                return Err(Error::usage(message).under(word.span()).expecting(expected));
            }
        };
        self.narrowed.push((narrowing, means));
        Ok(())
    }

    /// The word that may stand here and that this one was probably meant to be.
    fn near(&self, word: &Token) -> Option<&'static str> {
        nearest(&word.text, self.offers().into_iter().map(|offer| offer.name))
    }

    fn unknown(&self, word: &Token) -> Error {
        let offers: Vec<String> = self.offers().into_iter().map(|offer| offer.name.to_owned()).collect();
        let error = Error::usage(format!("`{}` is unknown here", word.text)).under(word.span());
        match self.near(word) {
            Some(near) => error.remedy(format!("did you mean `{near}`?")).expecting(offers),
            None => error.expecting(offers),
        }
    }

    fn end(self, words: &[Token]) -> Result<Asked, Error> {
        let behind = words.last().map_or((0, 1), |word| (word.start + word.length, 1));
        if let Some(narrowing) = self.value {
            return Err(Error::usage(format!("which {}?", narrowing.word)).under(behind));
        }
        let Some(view) = self.view else {
            let offers = self.offers().into_iter().map(|offer| offer.name.to_owned()).collect();
            return Err(Error::usage("what of it is to be shown?").under(behind).expecting(offers));
        };
        let narrowed = self.narrowed.into_iter().map(|(narrowing, means)| (narrowing.leaf, means)).collect();
        Ok(Asked { view, narrowed })
    }
}

/// What the views of this schema begin with.
pub(crate) fn beginnings(schema: &Schema) -> Vec<Word> {
    Reader::new(schema).offers()
}
