//! From text to [`Value`], type by type.

use super::{Invalid, Names, Token, Value, canonical};
use crate::error::shown;
use crate::path::InstancePath;
use crate::schema::{Canonical, IdentityId, Integer, Named, Pattern, Schema, Span, Type, TypeRef};
use std::sync::Arc;

pub(super) fn value(
    schema: &Schema,
    ty: &TypeRef,
    names: Names<'_>,
    token: Token,
    text: &str,
) -> Result<Value, Invalid> {
    if !accepts(&ty.base, token) {
        return Err(invalid(format!("{} is written as {} in JSON", ty.name, json_form(&ty.base))));
    }
    let word = text.trim_matches([' ', '\t', '\n', '\r']);
    match &ty.base {
        Type::Binary { length } => binary(length, text),
        Type::Bits(bits) => read_bits(bits, word),
        Type::Boolean => match word {
            "true" => Ok(Value::Bool(true)),
            "false" => Ok(Value::Bool(false)),
            _ => Err(invalid(format!("'{}' is not 'true' or 'false'", shown(word)))),
        },
        Type::Decimal64 { digits, range } => decimal(*digits, range, word),
        Type::Empty => match word {
            "" => Ok(Value::Empty),
            _ => Err(invalid(format!("a leaf of type empty has no value, not '{}'", shown(word)))),
        },
        Type::Enumeration(names) => enumeration(schema, names, word),
        Type::Identityref { bases } => identity(schema, bases, names, word),
        Type::InstanceIdentifier { .. } => match InstancePath::parse_with(schema, names, word) {
            Ok(path) if path.steps.is_empty() => Err(invalid("an instance-identifier names a node, not '/'")),
            Ok(path) => Ok(Value::Instance(Arc::from(path.render(schema).0))),
            Err(error) => Err(invalid(error.message)),
        },
        Type::Integer { kind, range } => integer(*kind, range, token, word),
        Type::Leafref { real, .. } => value(schema, real, names, token, text),
        Type::String { canonical: Canonical::XPath, .. } => xpath(schema, names, text),
        Type::String { length, patterns, canonical } => string(schema, length, patterns, *canonical, text),
        Type::Union(types) => union(schema, types, names, token, text),
    }
}

/// RFC 7951 section 6: the JSON token of each type.
fn accepts(ty: &Type, token: Token) -> bool {
    let wanted = match ty {
        Type::Boolean => Token::Boolean,
        Type::Empty => Token::Empty,
        Type::Integer { kind: Integer::I64 | Integer::U64, .. } => Token::String,
        Type::Integer { .. } => Token::Number,
        Type::Binary { .. }
        | Type::Bits(_)
        | Type::Decimal64 { .. }
        | Type::Enumeration(_)
        | Type::Identityref { .. }
        | Type::InstanceIdentifier { .. }
        | Type::String { .. } => Token::String,
        Type::Leafref { .. } | Type::Union(_) => return true,
    };
    matches!(token, Token::Text | Token::Default) || token == wanted
}

fn json_form(ty: &Type) -> &'static str {
    match ty {
        Type::Boolean => "true or false",
        Type::Empty => "[null]",
        Type::Integer { kind: Integer::I64 | Integer::U64, .. } => "a string",
        Type::Integer { .. } => "a number",
        Type::Binary { .. }
        | Type::Bits(_)
        | Type::Decimal64 { .. }
        | Type::Enumeration(_)
        | Type::Identityref { .. }
        | Type::InstanceIdentifier { .. }
        | Type::Leafref { .. }
        | Type::String { .. }
        | Type::Union(_) => "a string",
    }
}

fn integer(kind: Integer, range: &[Span<i128>], token: Token, word: &str) -> Result<Value, Invalid> {
    let (min, max): (i128, i128) = match kind {
        Integer::I8 => (i8::MIN.into(), i8::MAX.into()),
        Integer::I16 => (i16::MIN.into(), i16::MAX.into()),
        Integer::I32 => (i32::MIN.into(), i32::MAX.into()),
        Integer::I64 => (i64::MIN.into(), i64::MAX.into()),
        Integer::U8 => (0, u8::MAX.into()),
        Integer::U16 => (0, u16::MAX.into()),
        Integer::U32 => (0, u32::MAX.into()),
        Integer::U64 => (0, u64::MAX.into()),
    };
    let Some(number) = read_integer(word, token) else {
        return Err(invalid(format!("'{}' is not an integer", shown(word))));
    };
    let whole = [Span { min, max }];
    let spans = if range.is_empty() { &whole } else { range };
    let fits = |spans: &[Span<i128>]| spans.iter().any(|span| span.min <= number && number <= span.max);
    if !fits(&whole) || !fits(spans) {
        return Err(invalid(format!("{number} is out of range: allowed is {}", ranges(spans))));
    }
    let value = match kind {
        Integer::I8 | Integer::I16 | Integer::I32 => i32::try_from(number).ok().map(Value::Int32),
        Integer::I64 => i64::try_from(number).ok().map(Value::Int64),
        Integer::U8 | Integer::U16 | Integer::U32 => u32::try_from(number).ok().map(Value::Uint32),
        Integer::U64 => u64::try_from(number).ok().map(Value::Uint64),
    };
    value.ok_or_else(|| invalid(format!("{number} is out of range: allowed is {}", ranges(spans))))
}

/// A decimal number with an optional sign; in a module also `0x` hexadecimal and `0` octal (RFC 7950 section 9.2.1).
fn read_integer(word: &str, token: Token) -> Option<i128> {
    let (negative, digits) = match word.as_bytes().first()? {
        b'-' => (true, word.get(1..)?),
        b'+' => (false, word.get(1..)?),
        _ => (false, word),
    };
    let (digits, radix) = match token {
        Token::Default => match digits.strip_prefix("0x") {
            Some(hex) => (hex, 16),
            None if digits.len() > 1 && digits.starts_with('0') => (digits, 8),
            None => (digits, 10),
        },
        Token::Text | Token::Number | Token::String | Token::Boolean | Token::Empty => (digits, 10),
    };
    if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let number = i128::from_str_radix(digits, radix).ok()?;
    Some(if negative { -number } else { number })
}

fn decimal(digits: u8, range: &[Span<i64>], word: &str) -> Result<Value, Invalid> {
    let Some(unscaled) = canonical::read_decimal(word, digits) else {
        let what = format!("'{}' is not a decimal number with at most {digits} fraction digits", shown(word));
        return Err(invalid(what));
    };
    if !range.is_empty() && !range.iter().any(|span| span.min <= unscaled && unscaled <= span.max) {
        let text = |unscaled| Value::Decimal64 { digits, unscaled }.to_string();
        let allowed: Vec<String> =
            range.iter().map(|span| format!("{}..{}", text(span.min), text(span.max))).collect();
        return Err(invalid(format!("{} is out of range: allowed is {}", shown(word), allowed.join(" | "))));
    }
    Ok(Value::Decimal64 { digits, unscaled })
}

fn binary(length: &[Span<u64>], text: &str) -> Result<Value, Invalid> {
    let Some((text, octets)) = canonical::base64(text) else {
        return Err(invalid("not base64 (RFC 4648 section 4, with padding)"));
    };
    check_length(length, octets, "octets")?;
    Ok(Value::Binary(Arc::from(text)))
}

fn read_bits(bits: &[Named], word: &str) -> Result<Value, Invalid> {
    let mut set: Vec<&Named> = Vec::new();
    for name in word.split_ascii_whitespace() {
        let Some(bit) = bits.iter().find(|bit| bit.name == name) else {
            return Err(invalid(format!("no bit '{}': there are {}", shown(name), listed(bits))));
        };
        if set.iter().any(|other| other.name == name) {
            return Err(invalid(format!("bit '{name}' stands twice")));
        }
        set.push(bit);
    }
    set.sort_by_key(|bit| bit.value);
    let names: Vec<&str> = set.iter().map(|bit| bit.name.as_str()).collect();
    Ok(Value::Bits(Arc::from(names.join(" "))))
}

fn enumeration(schema: &Schema, names: &[Named], word: &str) -> Result<Value, Invalid> {
    if names.iter().any(|name| name.name == word) {
        return Ok(Value::Enum(schema.shared_name(word)));
    }
    Err(invalid(format!("'{}' is not one of {}", shown(word), listed(names))))
}

fn identity(schema: &Schema, bases: &[IdentityId], names: Names<'_>, word: &str) -> Result<Value, Invalid> {
    let (prefix, name) = match word.split_once(':') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, word),
    };
    let Some(module) = (names.resolve)(prefix) else {
        return Err(invalid(format!("the prefix of identity '{}' names no module here", shown(word))));
    };
    let found = schema.identity_by_name(module, name).filter(|id| {
        let derived = &schema.identity(*id).ancestors;
        schema.module(module).implemented && bases.iter().all(|base| derived.contains(base))
    });
    let Some(value) = found.and_then(|id| schema.identity_value(id)) else {
        let bases: Vec<&str> = bases.iter().map(|base| schema.identity(*base).name.as_str()).collect();
        let module = &schema.module(module).name;
        let what = format!("'{module}:{}' is no identity derived from {}", shown(name), bases.join(" and "));
        return Err(invalid(what));
    };
    Ok(Value::Identity(value.clone()))
}

fn string(
    schema: &Schema,
    length: &[Span<u64>],
    patterns: &[Pattern],
    form: Canonical,
    text: &str,
) -> Result<Value, Invalid> {
    if let Some(bad) = text.chars().find(|c| !is_yang_char(*c)) {
        return Err(invalid(format!("character U+{:04X} cannot stand in a string", u32::from(bad))));
    }
    check_length(length, text.chars().count() as u64, "characters")?;
    for pattern in patterns {
        let Some(regex) = schema.regex(pattern) else {
            return Err(invalid(format!("pattern '{}' of the schema was not compiled", pattern.regex)));
        };
        if regex.is_match(text) == pattern.invert {
            let verb = if pattern.invert { "matches the forbidden" } else { "does not match the" };
            let what = format!("'{}' {verb} pattern '{}'", shown(text), pattern.regex);
            let message = pattern.message.clone().unwrap_or(what);
            return Err(Invalid { message, app_tag: pattern.app_tag.clone() });
        }
    }
    match canonical::string(form, text) {
        Some(text) => Ok(Value::String(text)),
        None => Err(invalid(format!("'{}' is not a valid address, prefix or time", shown(text)))),
    }
}

/// An instance-identifier if it can be one, so that both have one canonical form.
fn xpath(schema: &Schema, names: Names<'_>, text: &str) -> Result<Value, Invalid> {
    if let Some(bad) = text.chars().find(|c| !is_yang_char(*c)) {
        return Err(invalid(format!("character U+{:04X} cannot stand in a string", u32::from(bad))));
    }
    if let Ok(path) = InstancePath::parse_with(schema, names, text) {
        return Ok(Value::Instance(Arc::from(path.render(schema).0)));
    }
    let text = super::xpath::qualified(schema, names, text).map_err(invalid)?;
    Ok(Value::Instance(Arc::from(text)))
}

/// RFC 7950 section 9.4: no control characters, surrogates or non-characters.
fn is_yang_char(c: char) -> bool {
    match u32::from(c) {
        0x9 | 0xA | 0xD => true,
        0..0x20 | 0xFDD0..=0xFDEF => false,
        code => code & 0xFFFE != 0xFFFE,
    }
}

fn union(
    schema: &Schema,
    types: &[TypeRef],
    names: Names<'_>,
    token: Token,
    text: &str,
) -> Result<Value, Invalid> {
    if let Some(value) = types.iter().find_map(|ty| value(schema, ty, names, token, text).ok()) {
        return Ok(value);
    }
    let mut allowed = Vec::new();
    types.iter().for_each(|ty| members(ty, token, &mut allowed));
    Err(invalid(format!("'{}' is of none of the types {}", shown(text), allowed.join(", "))))
}

/// The types of a union by name, with what a person can read of their restrictions; patterns are not.
fn members(ty: &TypeRef, token: Token, out: &mut Vec<String>) {
    let name = &ty.name;
    let what = match &ty.base {
        Type::Union(inner) if name == "union" => {
            return inner.iter().for_each(|ty| members(ty, token, out));
        }
        Type::Leafref { real, .. } => return members(real, token, out),
        base if !accepts(base, token) => format!("{name} (written as {} in JSON)", json_form(base)),
        Type::Enumeration(names) | Type::Bits(names) => format!("{name} ({})", listed(names)),
        Type::Integer { range, .. } if !range.is_empty() => format!("{name} ({})", ranges(range)),
        _ => name.clone(),
    };
    if !out.contains(&what) {
        out.push(what);
    }
}

fn check_length(length: &[Span<u64>], found: u64, unit: &str) -> Result<(), Invalid> {
    if length.is_empty() || length.iter().any(|span| span.min <= found && found <= span.max) {
        return Ok(());
    }
    Err(invalid(format!("{found} {unit} long: allowed is {}", ranges(length))))
}

fn ranges<T: std::fmt::Display + PartialEq>(spans: &[Span<T>]) -> String {
    let text = |span: &Span<T>| match span.min == span.max {
        true => span.min.to_string(),
        false => format!("{}..{}", span.min, span.max),
    };
    spans.iter().map(text).collect::<Vec<_>>().join(" | ")
}

/// At most the first 16 names, so that a message stays readable.
fn listed(names: &[Named]) -> String {
    let first: Vec<&str> = names.iter().take(16).map(|name| name.name.as_str()).collect();
    let more = if names.len() > 16 { ", …" } else { "" };
    format!("{}{more}", first.join(", "))
}

fn invalid(message: impl Into<String>) -> Invalid {
    Invalid { message: message.into(), app_tag: None }
}
