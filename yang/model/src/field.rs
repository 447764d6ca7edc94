//! What a member of a struct can be: a leaf, a leaf-list, a container or a list; and how each reads, writes and
//! changes. The generated code only says which member has which name.

use crate::change::{ApplyError, Change, Operation};
use crate::leaf::Leaf;
use crate::path::{self, Step};
use cats_yang_tree::map::Map;
use serde_json::Value as Json;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// Where a reader or a change is, for its errors.
pub struct At<'a> {
    above: Option<&'a At<'a>>,
    member: &'a str,
    /// Predicates of a list entry.
    entry: String,
}

impl<'a> At<'a> {
    /// A top-level member.
    pub(crate) fn root(member: &'a str) -> Self {
        Self { above: None, member, entry: String::new() }
    }

    fn member(&'a self, member: &'a str) -> At<'a> {
        At { above: Some(self), member, entry: String::new() }
    }

    /// The same list at one of its entries.
    fn entry(&self, entry: String) -> At<'_> {
        At { above: self.above, member: self.member, entry }
    }

    fn path(&self) -> String {
        self.to_string()
    }

    pub(crate) fn unknown(&self) -> ApplyError {
        ApplyError::Unknown { path: self.path() }
    }

    fn missing(&self) -> ApplyError {
        ApplyError::Missing { path: self.path() }
    }

    fn value(&self, reason: impl Into<String>) -> ApplyError {
        ApplyError::Value { path: self.path(), reason: reason.into() }
    }
}

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(above) = self.above {
            above.fmt(f)?;
        }
        write!(f, "/{}{}", self.member, self.entry)
    }
}

/// A member of a container or entry.
pub trait Field {
    /// Takes a whole value over in place of what it has.
    ///
    /// # Errors
    /// What the type cannot hold, and where.
    fn read(&mut self, json: &Json, at: &At<'_>) -> Result<(), ApplyError>;

    /// Its value; none when it is absent or, being a container, empty.
    fn write(&self) -> Option<Json>;

    /// Makes a change to itself when `rest` is empty, otherwise to something below. `step` is its own step.
    ///
    /// # Errors
    /// When the change does not fit.
    fn apply(&mut self, step: &Step, rest: &[Step], change: &Change, at: &At<'_>) -> Result<(), ApplyError>;
}

/// The members of a container or list entry.
pub trait Branch: Clone + Default + PartialEq + fmt::Debug + Send + Sync + 'static {
    /// Members that are always there.
    const REQUIRED: &'static [&'static str];

    /// A member by its JSON name.
    fn field(&mut self, member: &str) -> Option<&mut dyn Field>;

    /// All members with their JSON names, in the order of the schema.
    fn fields(&self) -> Vec<(&'static str, &dyn Field)>;

    /// Reads all members out of an RFC 7951 object.
    ///
    /// # Errors
    /// The first member that is unknown, missing or wrong.
    fn read_members(json: &Json, at: &At<'_>) -> Result<Self, ApplyError> {
        let Json::Object(members) = json else { return Err(at.value("an object is expected")) };
        let mut branch = Self::default();
        for (member, value) in members {
            let at = at.member(member);
            match branch.field(member) {
                Some(field) => field.read(value, &at)?,
                None => return Err(at.unknown()),
            }
        }
        match Self::REQUIRED.iter().find(|member| !members.contains_key(**member)) {
            Some(member) => Err(at.member(member).missing()),
            None => Ok(branch),
        }
    }

    /// Writes all members that are there.
    fn write_members(&self) -> serde_json::Map<String, Json> {
        let members = self.fields().into_iter();
        members.filter_map(|(name, field)| Some((name.to_owned(), field.write()?))).collect()
    }

    /// Makes a change to a member or below.
    ///
    /// # Errors
    /// When the change does not fit.
    fn apply_below(&mut self, rest: &[Step], change: &Change, at: &At<'_>) -> Result<(), ApplyError> {
        let Some((step, rest)) = rest.split_first() else { return Err(at.unknown()) };
        let at = at.member(&step.member);
        let required = rest.is_empty() && Self::REQUIRED.contains(&step.member.as_str());
        if required && change.operation == Operation::Delete {
            return Err(at.value("it is always there, and cannot be deleted"));
        }
        match self.field(&step.member) {
            Some(field) => field.apply(step, rest, change, &at),
            None => Err(at.unknown()),
        }
    }
}

/// A whole tree.
pub trait Rooted: Default {
    /// The JSON names from the top to each root.
    const ROOTS: &'static [&'static [&'static str]];

    /// The root of that index in [`Rooted::ROOTS`].
    fn root(&mut self, index: usize) -> Option<&mut dyn Field>;

    /// All roots in the order of [`Rooted::ROOTS`].
    fn roots(&self) -> Vec<&dyn Field>;
}

/// A list entry.
pub trait Entry: Branch {
    /// Its key: the leaf's own type, or a struct of several.
    type Key: Ord + Clone + fmt::Debug + Send + Sync + 'static;

    /// The key leafs in order.
    const KEYS: &'static [&'static str];

    /// The key.
    fn key(&self) -> Self::Key;

    /// The key, from the texts of the key leafs in the order of [`Entry::KEYS`].
    ///
    /// # Errors
    /// What is wrong with one of them.
    fn parse_key(texts: &[&str]) -> Result<Self::Key, String>;

    /// Sets the key leafs.
    fn set_key(&mut self, key: &Self::Key);
}

impl<T: Leaf> Field for T {
    fn read(&mut self, json: &Json, at: &At<'_>) -> Result<(), ApplyError> {
        *self = T::from_json(json).map_err(|reason| at.value(reason))?;
        Ok(())
    }

    fn write(&self) -> Option<Json> {
        Some(self.to_json())
    }

    fn apply(&mut self, _: &Step, rest: &[Step], change: &Change, at: &At<'_>) -> Result<(), ApplyError> {
        match (rest, &change.operation) {
            ([below, ..], _) => Err(at.member(&below.member).unknown()),
            ([], Operation::Set(json)) => self.read(json, at),
            ([], Operation::Delete | Operation::Move) => Err(at.value("it can only be set")),
        }
    }
}

impl<T: Leaf> Field for Option<T> {
    fn read(&mut self, json: &Json, at: &At<'_>) -> Result<(), ApplyError> {
        *self = Some(T::from_json(json).map_err(|reason| at.value(reason))?);
        Ok(())
    }

    fn write(&self) -> Option<Json> {
        self.as_ref().map(Leaf::to_json)
    }

    fn apply(&mut self, _: &Step, rest: &[Step], change: &Change, at: &At<'_>) -> Result<(), ApplyError> {
        match (rest, &change.operation) {
            ([below, ..], _) => Err(at.member(&below.member).unknown()),
            ([], Operation::Set(json)) => self.read(json, at),
            ([], Operation::Delete) => self.take().map(drop).ok_or_else(|| at.missing()),
            ([], Operation::Move) => Err(at.value("it can only be set or deleted")),
        }
    }
}

/// A non-presence container.
impl<B: Branch> Field for Arc<B> {
    fn read(&mut self, json: &Json, at: &At<'_>) -> Result<(), ApplyError> {
        *self = Arc::new(B::read_members(json, at)?);
        Ok(())
    }

    fn write(&self) -> Option<Json> {
        let members = self.write_members();
        (!members.is_empty()).then_some(Json::Object(members))
    }

    fn apply(&mut self, _: &Step, rest: &[Step], change: &Change, at: &At<'_>) -> Result<(), ApplyError> {
        match (rest, &change.operation) {
            ([_, ..], _) => Arc::make_mut(self).apply_below(rest, change, at),
            ([], Operation::Set(json)) => self.read(json, at),
            ([], Operation::Delete) => {
                *self = Arc::new(B::default());
                Ok(())
            }
            ([], Operation::Move) => Err(at.value("a container cannot be moved")),
        }
    }
}

/// A presence container.
impl<B: Branch> Field for Option<Arc<B>> {
    fn read(&mut self, json: &Json, at: &At<'_>) -> Result<(), ApplyError> {
        *self = Some(Arc::new(B::read_members(json, at)?));
        Ok(())
    }

    fn write(&self) -> Option<Json> {
        self.as_ref().map(|branch| Json::Object(branch.write_members()))
    }

    fn apply(&mut self, _: &Step, rest: &[Step], change: &Change, at: &At<'_>) -> Result<(), ApplyError> {
        match (rest, &change.operation) {
            ([_, ..], _) => match self {
                Some(branch) => Arc::make_mut(branch).apply_below(rest, change, at),
                None => Err(at.missing()),
            },
            ([], Operation::Set(json)) => self.read(json, at),
            ([], Operation::Delete) => self.take().map(drop).ok_or_else(|| at.missing()),
            ([], Operation::Move) => Err(at.value("a container cannot be moved")),
        }
    }
}

/// A list: its entries by key, in the order of keys. It dereferences to the persistent map.
pub struct List<E: Entry>(Map<E::Key, Arc<E>>);

impl<E: Entry> List<E> {
    /// A list of these entries; of two with the same key, the later one.
    pub fn of(entries: impl IntoIterator<Item = E>) -> Self {
        entries.into_iter().map(|entry| (entry.key(), Arc::new(entry))).collect::<Map<_, _>>().into()
    }
}

impl<E: Entry> From<Map<E::Key, Arc<E>>> for List<E> {
    fn from(map: Map<E::Key, Arc<E>>) -> Self {
        Self(map)
    }
}

impl<E: Entry> Deref for List<E> {
    type Target = Map<E::Key, Arc<E>>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<E: Entry> Clone for List<E> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<E: Entry> Default for List<E> {
    fn default() -> Self {
        Self(Map::default())
    }
}

impl<E: Entry> PartialEq for List<E> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<E: Entry> fmt::Debug for List<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<E: Entry> Field for List<E> {
    fn read(&mut self, json: &Json, at: &At<'_>) -> Result<(), ApplyError> {
        let Json::Array(values) = json else { return Err(at.value("an array is expected")) };
        let mut entries = Map::default();
        for (index, value) in values.iter().enumerate() {
            let at = at.entry(format!("[{}]", index + 1));
            let entry = E::read_members(value, &at)?;
            if entries.insert(entry.key(), Arc::new(entry)).is_some() {
                return Err(at.value("its key is that of an entry before"));
            }
        }
        self.0 = entries;
        Ok(())
    }

    fn write(&self) -> Option<Json> {
        let entries = self.0.values().map(|entry| Json::Object(entry.write_members()));
        (!self.0.is_empty()).then(|| Json::Array(entries.collect()))
    }

    fn apply(&mut self, step: &Step, rest: &[Step], change: &Change, at: &At<'_>) -> Result<(), ApplyError> {
        let key = entry_key::<E>(step, at)?;
        let predicates = step.predicates.iter().map(|(name, value)| format!("[{name}={}]", quote(value)));
        let at = at.entry(predicates.collect());
        if !rest.is_empty() {
            let entry = self.0.get_mut(&key).ok_or_else(|| at.missing())?;
            if E::KEYS.contains(&rest.first().map_or("", |step| step.member.as_str())) {
                return Err(at.value("the keys of an entry cannot be changed"));
            }
            return Arc::make_mut(entry).apply_below(rest, change, &at);
        }
        match &change.operation {
            Operation::Set(json) => {
                let entry = read_entry::<E>(json, &key, &at)?;
                self.0.insert(key, Arc::new(entry));
                Ok(())
            }
            Operation::Delete => self.0.remove(&key).map(drop).ok_or_else(|| at.missing()),
            Operation::Move => Err(at.value("the list is ordered by the system")),
        }
    }
}

fn quote(value: &str) -> String {
    if value.contains('\'') { format!("\"{value}\"") } else { format!("'{value}'") }
}

fn entry_key<E: Entry>(step: &Step, at: &At<'_>) -> Result<E::Key, ApplyError> {
    let text =
        |name: &&str| step.predicates.iter().find(|(key, _)| key == name).map(|(_, text)| text.as_str());
    let texts: Option<Vec<&str>> = E::KEYS.iter().map(text).collect();
    match texts {
        Some(texts) if texts.len() == step.predicates.len() => {
            E::parse_key(&texts).map_err(|reason| at.value(reason))
        }
        _ => Err(at.value(format!("one entry is named by its keys {}", E::KEYS.join(", ")))),
    }
}

/// An entry whose keys may be in its value, in the path, or in both.
fn read_entry<E: Entry>(json: &Json, key: &E::Key, at: &At<'_>) -> Result<E, ApplyError> {
    let Json::Object(members) = json else { return Err(at.value("an object is expected")) };
    if E::KEYS.iter().all(|name| members.contains_key(*name)) {
        let entry = E::read_members(json, at)?;
        return if entry.key() == *key {
            Ok(entry)
        } else {
            Err(at.value("its keys are not those of the path"))
        };
    }
    let mut blank = E::default();
    blank.set_key(key);
    let mut whole = members.clone();
    for name in E::KEYS {
        if let Some(value) = blank.field(name).and_then(|field| field.write()) {
            whole.insert((*name).to_owned(), value);
        }
    }
    E::read_members(&Json::Object(whole), at)
}

/// A leaf-list: its values in the user's order, or in the order in which they came.
#[derive(Debug, Clone, PartialEq)]
pub struct LeafList<T: Leaf>(Arc<Vec<T>>);

impl<T: Leaf> Default for LeafList<T> {
    fn default() -> Self {
        Self(Arc::new(Vec::new()))
    }
}

impl<T: Leaf> Deref for LeafList<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T: Leaf> FromIterator<T> for LeafList<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        Self(Arc::new(values.into_iter().collect()))
    }
}

impl<T: Leaf> LeafList<T> {
    fn position(&self, value: &T) -> Option<usize> {
        self.0.iter().position(|other| other == value)
    }

    /// Puts a value in its place: the last one, or where `after` says.
    fn place(&mut self, value: T, after: Option<&str>, at: &At<'_>) -> Result<(), ApplyError> {
        let values = Arc::make_mut(&mut self.0);
        let index = match after {
            None => values.len(),
            Some("") => 0,
            Some(path) => {
                let before = path::parse(path)?.pop().and_then(|mut step| step.predicates.pop());
                let before =
                    before.map(|(_, text)| T::parse(&text).map_err(|reason| at.value(reason))).transpose()?;
                let found = before.and_then(|before| values.iter().position(|other| *other == before));
                found.map(|index| index + 1).ok_or_else(|| ApplyError::Missing { path: path.to_owned() })?
            }
        };
        values.insert(index, value);
        Ok(())
    }
}

impl<T: Leaf> Field for LeafList<T> {
    fn read(&mut self, json: &Json, at: &At<'_>) -> Result<(), ApplyError> {
        let Json::Array(values) = json else { return Err(at.value("an array is expected")) };
        let values: Result<Vec<T>, String> = values.iter().map(T::from_json).collect();
        self.0 = Arc::new(values.map_err(|reason| at.value(reason))?);
        Ok(())
    }

    fn write(&self) -> Option<Json> {
        (!self.0.is_empty()).then(|| Json::Array(self.0.iter().map(Leaf::to_json).collect()))
    }

    fn apply(&mut self, step: &Step, rest: &[Step], change: &Change, at: &At<'_>) -> Result<(), ApplyError> {
        if let Some(below) = rest.first() {
            return Err(at.member(&below.member).unknown());
        }
        let text = match step.predicates.as_slice() {
            [] => {
                return match &change.operation {
                    Operation::Set(json) => self.read(json, at),
                    Operation::Delete => {
                        *self = Self::default();
                        Ok(())
                    }
                    Operation::Move => Err(at.value("one of its entries can be moved")),
                };
            }
            [(key, text)] if key == "." => text,
            _ => return Err(at.value("one entry is named by [.='value']")),
        };
        let value = T::parse(text).map_err(|reason| at.value(reason))?;
        let found = self.position(&value);
        let at = at.entry(format!("[.={}]", quote(text)));
        let remove = |list: &mut Self, index: usize| Arc::make_mut(&mut list.0).remove(index);
        match (&change.operation, found) {
            (Operation::Set(_), None) => self.place(value, change.after.as_deref(), &at),
            (Operation::Set(_), Some(_)) if change.after.is_none() => Ok(()),
            (Operation::Set(_) | Operation::Move, Some(index)) => {
                let value = remove(self, index);
                self.place(value, change.after.as_deref(), &at)
            }
            (Operation::Delete, Some(index)) => {
                remove(self, index);
                Ok(())
            }
            (Operation::Delete | Operation::Move, None) => Err(at.missing()),
        }
    }
}
