//! The core function library (XPath 1.0 section 4).

use super::XPathError;
use super::eval::Context;
use super::function::Function;
use super::number;
use super::place::{Evaluation, Place};
use super::term::{Call, Term};
use std::borrow::Cow;
use std::collections::BTreeMap;

impl<'t> Evaluation<'t> {
    /// A call of a function that gives a boolean.
    pub(super) fn boolean_call(&mut self, call: &Call, context: Context<'_>) -> Result<bool, XPathError> {
        match (call.function, call.arguments.as_slice()) {
            (Function::True, _) => Ok(true),
            (Function::Boolean, [term]) => self.boolean_of(term, context),
            (Function::Not, [term]) => Ok(!self.boolean_of(term, context)?),
            (Function::StartsWith, [text, start]) => {
                let text = self.string_of(text, context)?;
                Ok(text.starts_with(&*self.string_of(start, context)?))
            }
            (Function::Contains, [text, part]) => {
                let text = self.string_of(text, context)?;
                Ok(text.contains(&*self.string_of(part, context)?))
            }
            (Function::ReMatch, [text, pattern]) => self.re_match(call, text, pattern, context),
            (Function::DerivedFrom, [nodes, identity]) => {
                self.derived_from(call, nodes, identity, context, false)
            }
            (Function::DerivedFromOrSelf, [nodes, identity]) => {
                self.derived_from(call, nodes, identity, context, true)
            }
            (Function::BitIsSet, [nodes, bit]) => self.bit_is_set(nodes, bit, context),
            // Data have no xml:lang, so no language.
            (_, _) => Ok(false),
        }
    }

    /// A call of a function that gives a number.
    pub(super) fn number_call(&mut self, call: &Call, context: Context<'_>) -> Result<f64, XPathError> {
        match (call.function, call.arguments.as_slice()) {
            (Function::Last, _) => Ok(context.size as f64),
            (Function::Position, _) => Ok(context.position as f64),
            (Function::Count, [nodes]) => Ok(self.size_of(nodes, context)? as f64),
            (Function::Sum, [nodes]) => {
                let mut sum = 0.0;
                for place in self.nodes_of(nodes, context)? {
                    sum += self.number_at(place)?;
                }
                Ok(sum)
            }
            (Function::StringLength, arguments) => {
                let text = self.string_or_context(arguments, context)?;
                Ok(text.chars().count() as f64)
            }
            (Function::Number, []) => self.number_at(context.node),
            (Function::Number, [term, ..]) => self.number_of(term, context),
            (Function::Floor, [term]) => Ok(self.number_of(term, context)?.floor()),
            (Function::Ceiling, [term]) => Ok(self.number_of(term, context)?.ceil()),
            (Function::Round, [term]) => Ok(number::round(self.number_of(term, context)?)),
            (Function::EnumValue, [nodes]) => self.enum_value(nodes, context),
            (_, _) => Ok(f64::NAN),
        }
    }

    /// A call of a function that gives a string.
    pub(super) fn string_call<'x>(
        &mut self,
        call: &'x Call,
        context: Context<'x>,
    ) -> Result<Cow<'x, str>, XPathError>
    where
        't: 'x,
    {
        match (call.function, call.arguments.as_slice()) {
            (Function::String, arguments) => self.string_or_context(arguments, context),
            (Function::LocalName | Function::NamespaceUri | Function::Name, arguments) => {
                self.name_of(call.function, arguments, context)
            }
            (Function::Concat, terms) => {
                let mut out = String::new();
                for term in terms {
                    let text = self.string_of(term, context)?;
                    self.lengthen(&mut out, &text)?;
                }
                Ok(Cow::Owned(out))
            }
            (Function::SubstringBefore, [text, mark]) => Ok(self.split_at(text, mark, context)?.0.into()),
            (Function::SubstringAfter, [text, mark]) => Ok(self.split_at(text, mark, context)?.1.into()),
            (Function::Substring, [text, start, rest @ ..]) => {
                let text = self.string_of(text, context)?;
                let start = self.number_of(start, context)?;
                let length = rest.first().map(|length| self.number_of(length, context)).transpose()?;
                Ok(Cow::Owned(substring(&text, start, length)))
            }
            (Function::NormalizeSpace, arguments) => {
                let text = self.string_or_context(arguments, context)?;
                let words = text.split([' ', '\t', '\n', '\r']).filter(|word| !word.is_empty());
                Ok(Cow::Owned(words.collect::<Vec<_>>().join(" ")))
            }
            (Function::Translate, [text, from, to]) => {
                let text = self.string_of(text, context)?;
                let from = self.string_of(from, context)?;
                let to = self.string_of(to, context)?;
                self.spend((text.len() + from.len()) as u64 / 64)?;
                Ok(Cow::Owned(translate(&text, &from, &to)))
            }
            (_, _) => Ok(Cow::Borrowed("")),
        }
    }

    /// A call of a function that gives a node-set, in document order.
    pub(super) fn nodes_call(&mut self, call: &Call, context: Context<'_>) -> Result<Vec<Place>, XPathError> {
        match (call.function, call.arguments.as_slice()) {
            (Function::Current, _) => Ok(vec![context.current]),
            (Function::Deref, [nodes]) => self.deref(nodes, context),
            // id(): data have no attributes, so none of type ID.
            (_, _) => Ok(Vec::new()),
        }
    }

    /// What stands before and after the first `mark` in a text; nothing on either side where there is none.
    fn split_at(
        &mut self,
        text: &Term,
        mark: &Term,
        context: Context<'_>,
    ) -> Result<(String, String), XPathError> {
        let text = self.string_of(text, context)?;
        let mark = self.string_of(mark, context)?;
        let (before, after) = text.split_once(&*mark).unwrap_or_default();
        Ok((before.to_owned(), after.to_owned()))
    }

    fn string_or_context<'x>(
        &mut self,
        arguments: &'x [Term],
        context: Context<'x>,
    ) -> Result<Cow<'x, str>, XPathError>
    where
        't: 'x,
    {
        match arguments.first() {
            Some(term) => self.string_of(term, context),
            None => self.text_at(context.node),
        }
    }

    fn name_of<'x>(
        &mut self,
        function: Function,
        arguments: &[Term],
        context: Context<'_>,
    ) -> Result<Cow<'x, str>, XPathError>
    where
        't: 'x,
    {
        let schema = self.schema;
        let place = match arguments.first() {
            Some(nodes) => self.first(nodes, context)?,
            None => Some(context.node),
        };
        let node = place.filter(|place| !self.is_text(*place)).and_then(|place| self.node(place));
        Ok(match (node, function) {
            (None, _) => Cow::Borrowed(""),
            (Some(node), Function::LocalName) => Cow::Borrowed(&schema.node(node).name),
            (Some(node), Function::NamespaceUri) => Cow::Borrowed(&schema.module_of(node).namespace),
            (Some(node), _) => Cow::Owned(context.scope.qualified(schema, node)),
        })
    }
}

/// Characters count from 1; a character stays when its position lies in the rounded span (section 4.2).
fn substring(text: &str, start: f64, length: Option<f64>) -> String {
    let first = number::round(start);
    let end = length.map(|length| first + number::round(length));
    let inside = |position: f64| position >= first && end.is_none_or(|end| position < end);
    let numbered = text.chars().zip(1u32..);
    numbered.filter(|(_, position)| inside(f64::from(*position))).map(|(c, _)| c).collect()
}

fn translate(text: &str, from: &str, to: &str) -> String {
    let mut map: BTreeMap<char, Option<char>> = BTreeMap::new();
    let mut to = to.chars();
    for c in from.chars() {
        // The first of equal characters counts; each takes one of the other side.
        let other = to.next();
        map.entry(c).or_insert(other);
    }
    text.chars().filter_map(|c| map.get(&c).copied().unwrap_or(Some(c))).collect()
}

#[cfg(test)]
mod tests {
    use super::{substring, translate};

    #[test]
    fn substrings_are_those_of_the_recommendation() {
        let infinity = f64::INFINITY;
        let cases = [
            (2.0, Some(3.0), "234"),
            (2.0, None, "2345"),
            (1.5, Some(2.6), "234"),
            (0.0, Some(3.0), "12"),
            (f64::NAN, Some(3.0), ""),
            (1.0, Some(f64::NAN), ""),
            (-42.0, Some(infinity), "12345"),
            (-infinity, Some(infinity), ""),
        ];
        for (start, length, expected) in cases {
            assert_eq!(substring("12345", start, length), expected, "{start} {length:?}");
        }
        assert_eq!(substring("äöü€", 2.0, Some(2.0)), "öü");
    }

    #[test]
    fn translate_replaces_and_removes_characters() {
        assert_eq!(translate("bar", "abc", "ABC"), "BAr");
        assert_eq!(translate("--aaa--", "abc-", "ABC"), "AAA");
        assert_eq!(translate("aa", "aa", "xy"), "xx");
        assert_eq!(translate("é", "é", "e"), "e");
    }
}
