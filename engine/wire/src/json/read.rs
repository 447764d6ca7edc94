//! Parsing that knows where it is: an error names the member that it happened in.

use crate::convert::{DecodeError, Decoded, Problem, fault};
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Number;
use std::collections::BTreeSet;
use std::fmt;

/// Levels of arrays and objects in each other at most.
const DEPTH: usize = 16;

/// A value, with the order of members kept.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Value>),
    Members(Vec<(String, Value)>),
}

/// Reads one document of at most `max` octets.
pub(super) fn read(octets: &[u8], max: usize) -> Decoded<Value> {
    if octets.len() > max {
        return Err(fault("", Problem::TooLong { octets: octets.len(), max }));
    }
    let mut place = Place::default();
    let mut reader = serde_json::Deserializer::from_slice(octets);
    let value = Located { place: &mut place }.deserialize(&mut reader);
    match value {
        Ok(value) => {
            reader.end().map_err(|error| fault("", Problem::Syntax(error.to_string())))?;
            Ok(value)
        }
        Err(error) => Err(DecodeError {
            field: place.text(),
            problem: place.problem.take().unwrap_or_else(|| Problem::Syntax(error.to_string())),
        }),
    }
}

#[derive(Debug, Default)]
struct Place {
    path: Vec<Step>,
    problem: Option<Problem>,
}

#[derive(Debug)]
enum Step {
    Member(String),
    Index(usize),
}

impl Place {
    fn text(&self) -> String {
        let mut text = String::new();
        for step in &self.path {
            match step {
                Step::Member(name) if text.is_empty() => text.push_str(name),
                Step::Member(name) => text = format!("{text}.{name}"),
                Step::Index(index) => text = format!("{text}[{index}]"),
            }
        }
        text
    }
}

/// Reads one value. The path is left where it was, unless there is an error: then it leads there.
struct Located<'a> {
    place: &'a mut Place,
}

impl<'de> DeserializeSeed<'de> for Located<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        if self.place.path.len() > DEPTH {
            self.place.problem = Some(Problem::Expected {
                found: "too deep".to_owned(),
                expected: "a value within 16 levels of others",
            });
            return Err(serde::de::Error::custom("too deep"));
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Located<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("not a finite number"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Text(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        loop {
            self.place.path.push(Step::Index(list.len()));
            match items.next_element_seed(Located { place: self.place })? {
                Some(value) => list.push(value),
                None => break,
            }
            self.place.path.pop();
        }
        self.place.path.pop();
        Ok(Value::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut members = Vec::new();
        let mut seen = BTreeSet::new();
        while let Some(name) = entries.next_key::<String>()? {
            self.place.path.push(Step::Member(name.clone()));
            if !seen.insert(name.clone()) {
                self.place.problem = Some(Problem::Repeated);
                return Err(serde::de::Error::custom("repeated"));
            }
            let value = entries.next_value_seed(Located { place: self.place })?;
            self.place.path.pop();
            members.push((name, value));
        }
        Ok(Value::Members(members))
    }
}
