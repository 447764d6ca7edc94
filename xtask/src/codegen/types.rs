//! Rust types for YANG types. Enumerations and unions become items of their own.

use super::names::{self, Names, Source, camel};
use crate::Failure;
use cats_yang_tree::schema::{Canonical, Integer, Named, Node, Type, TypeRef};
use std::fmt::Write as _;

/// The Rust type of a leaf.
#[derive(Debug, Clone)]
pub(crate) struct Rust {
    /// Its path, as seen from the generated modules.
    pub(crate) path: String,
    /// Whether it is `Copy`.
    pub(crate) copy: bool,
}

impl Rust {
    fn copy(path: &str) -> Self {
        Self { path: path.to_owned(), copy: true }
    }
}

/// The type of a leaf or leaf-list.
pub(crate) fn of_leaf(names: &mut Names<'_>, node: &Node, ty: &TypeRef) -> Result<Rust, Failure> {
    let rust = match &ty.base {
        Type::Boolean => Rust::copy("bool"),
        Type::Empty => Rust::copy("crate::leaf::Empty"),
        Type::Decimal64 { digits, .. } => Rust::copy(&format!("crate::leaf::Decimal64<{digits}>")),
        Type::Integer { kind, .. } => Rust::copy(integer(*kind)),
        Type::String { canonical, .. } => text(*canonical),
        Type::Leafref { real, .. } => return of_leaf(names, node, real),
        Type::Enumeration(enums) => return enumeration(names, node, ty, enums),
        Type::Union(members) => match addresses(members) {
            Some(path) => Rust::copy(path),
            None => return union(names, node, ty, members),
        },
        // An identity by the name of its module and its own.
        Type::InstanceIdentifier { .. } | Type::Identityref { .. } => {
            Rust { path: "String".to_owned(), copy: false }
        }
        Type::Binary { .. } | Type::Bits(_) => {
            return Err(Failure(format!(
                "codegen: {}: the model has no {} yet; add it to xtask/src/codegen/types.rs and yang/model/src/leaf.rs",
                names.schema.path_of(node.id),
                ty.name
            )));
        }
    };
    Ok(rust)
}

/// The value of a default as an expression, and the type that a method returns it by.
pub(crate) fn default(rust: &Rust, ty: &TypeRef, text: &str) -> Option<(String, String)> {
    let expression = match &ty.base {
        Type::Boolean | Type::Integer { .. } => text.to_owned(),
        Type::Decimal64 { digits, .. } => {
            let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
            let scaled: i64 =
                format!("{whole}{fraction:0<width$}", width = usize::from(*digits)).parse().ok()?;
            format!("crate::leaf::Decimal64::from_scaled({scaled})")
        }
        Type::Enumeration(_) => format!("{}::{}", rust.path, camel(text)),
        Type::Leafref { real, .. } => return default(rust, real, text),
        Type::String {
            canonical: Canonical::Text | Canonical::Lowercase | Canonical::DateAndTime | Canonical::XPath,
            ..
        } => {
            return Some((format!("{text:?}"), "&str".to_owned()));
        }
        Type::String { .. }
        | Type::Union(_)
        | Type::Empty
        | Type::Binary { .. }
        | Type::Bits(_)
        | Type::Identityref { .. }
        | Type::InstanceIdentifier { .. } => return None,
    };
    Some((expression, rust.path.clone()))
}

fn integer(kind: Integer) -> &'static str {
    match kind {
        Integer::I8 => "i8",
        Integer::I16 => "i16",
        Integer::I32 => "i32",
        Integer::I64 => "i64",
        Integer::U8 => "u8",
        Integer::U16 => "u16",
        Integer::U32 => "u32",
        Integer::U64 => "u64",
    }
}

fn text(canonical: Canonical) -> Rust {
    match canonical {
        Canonical::Ipv4Address => Rust::copy("std::net::Ipv4Addr"),
        Canonical::Ipv6Address => Rust::copy("std::net::Ipv6Addr"),
        Canonical::Ipv4Prefix => Rust::copy("ipnet::Ipv4Net"),
        Canonical::Ipv6Prefix => Rust::copy("ipnet::Ipv6Net"),
        Canonical::Text | Canonical::Lowercase | Canonical::DateAndTime | Canonical::XPath => {
            Rust { path: "String".to_owned(), copy: false }
        }
    }
}

/// The unions `ip-address` and `ip-prefix`, by whatever name.
fn addresses(members: &[TypeRef]) -> Option<&'static str> {
    let canonical = |member: &TypeRef| match &member.base {
        Type::String { canonical, .. } => Some(*canonical),
        _ => None,
    };
    match members.iter().map(canonical).collect::<Vec<_>>().as_slice() {
        [Some(Canonical::Ipv4Address), Some(Canonical::Ipv6Address)] => Some("std::net::IpAddr"),
        [Some(Canonical::Ipv4Prefix), Some(Canonical::Ipv6Prefix)] => Some("ipnet::IpNet"),
        _ => None,
    }
}

/// The item of a type that a typedef or a leaf defines: its path, and its module and name when it is a new one.
fn item(names: &mut Names<'_>, node: &Node, ty: &TypeRef) -> (String, Option<(String, String)>) {
    let (source, module, wanted) = match ty.module {
        Some(module) => {
            let wanted = vec![camel(&ty.name), format!("{}Type", camel(&ty.name))];
            (Source::Typedef(module, ty.name.clone()), names.schema.module(module).name.clone(), wanted)
        }
        None => {
            let module = names.schema.module_of(node.id).name.clone();
            (Source::Leaf(node.id), module, names.of_node(node.id))
        }
    };
    if let Some(path) = names.path(&source) {
        return (path, None);
    }
    let name = names.claim(source.clone(), &module, wanted.into_iter());
    (names.path(&source).unwrap_or_default(), Some((module, name)))
}

fn described(ty: &TypeRef, node: &Node) -> String {
    match &node.description {
        Some(text) if ty.module.is_none() => text.clone(),
        _ => format!("The type `{}`.", ty.name),
    }
}

fn enumeration(names: &mut Names<'_>, node: &Node, ty: &TypeRef, enums: &[Named]) -> Result<Rust, Failure> {
    let (path, fresh) = item(names, node, ty);
    let Some((module, name)) = fresh else { return Ok(Rust { path, copy: true }) };
    let mut text = names::doc(&described(ty, node), "");
    text += "#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]\n";
    let _ = writeln!(text, "pub enum {name} {{");
    for named in enums {
        text += &names::doc(named.description.as_deref().unwrap_or(&named.name), "    ");
        let _ = writeln!(text, "    {},", camel(&named.name));
    }
    text += "}\n\n";
    let first = enums.first().map_or(String::new(), |named| camel(&named.name));
    let _ = writeln!(
        text,
        "impl {name} {{\n    /// Its name in YANG.\n    pub const fn as_str(self) -> &'static str {{\n        match self {{"
    );
    for named in enums {
        let _ = writeln!(text, "            Self::{} => {:?},", camel(&named.name), named.name);
    }
    text += "        }\n    }\n}\n\n";
    let _ = writeln!(text, "impl crate::leaf::Leaf for {name} {{");
    let _ = writeln!(text, "    fn blank() -> Self {{ Self::{first} }}\n");
    text += "    fn parse(text: &str) -> Result<Self, String> {\n        match text {\n";
    for named in enums {
        let _ = writeln!(text, "            {:?} => Ok(Self::{}),", named.name, camel(&named.name));
    }
    let all = enums.iter().map(|named| named.name.as_str()).collect::<Vec<_>>().join(", ");
    let _ = writeln!(
        text,
        "            _ => Err(format!(\"{{text:?}} is none of {all}\")),\n        }}\n    }}\n"
    );
    text += "    fn to_json(&self) -> serde_json::Value { self.as_str().into() }\n}\n\n";
    let _ = writeln!(text, "impl std::fmt::Display for {name} {{");
    text += "    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { f.write_str(self.as_str()) }\n}\n";
    names.add(&module, text);
    Ok(Rust { path, copy: true })
}

fn union(names: &mut Names<'_>, node: &Node, ty: &TypeRef, members: &[TypeRef]) -> Result<Rust, Failure> {
    let mut variants: Vec<(String, Rust)> = Vec::new();
    for member in members {
        let rust = of_leaf(names, node, member)?;
        if variants.iter().any(|(_, known)| known.path == rust.path) {
            continue;
        }
        let mut name = variant(&rust.path);
        if variants.iter().any(|(known, _)| *known == name) {
            name += &camel(&member.name);
        }
        variants.push((name, rust));
    }
    let copy = variants.iter().all(|(_, rust)| rust.copy);
    let (path, fresh) = item(names, node, ty);
    let Some((module, name)) = fresh else { return Ok(Rust { path, copy }) };
    let text = union_item(&name, &described(ty, node), &variants);
    names.add(&module, text);
    Ok(Rust { path, copy })
}

fn union_item(name: &str, doc: &str, variants: &[(String, Rust)]) -> String {
    let mut text = names::doc(doc, "");
    let copies = if variants.iter().all(|(_, rust)| rust.copy) { "Copy, " } else { "" };
    let _ = writeln!(text, "#[derive(Debug, Clone, {copies}PartialEq, Eq, Hash, PartialOrd, Ord)]");
    let _ = writeln!(text, "pub enum {name} {{");
    for (variant, rust) in variants {
        let what = rust.path.rsplit("::").next().unwrap_or_default();
        let _ = writeln!(text, "    /// The member `{what}`.\n    {variant}({}),", rust.path);
    }
    let _ = writeln!(text, "}}\n\nimpl crate::leaf::Leaf for {name} {{");
    if let Some((first, rust)) = variants.first() {
        let _ = writeln!(text, "    fn blank() -> Self {{ Self::{first}(<{}>::blank()) }}\n", rust.path);
    }
    for (function, argument) in [("parse", "text: &str"), ("from_json", "json: &serde_json::Value")] {
        let value = argument.split(':').next().unwrap_or_default();
        let _ = writeln!(text, "    fn {function}({argument}) -> Result<Self, String> {{");
        for (variant, rust) in variants {
            let _ = writeln!(
                text,
                "if let Ok(value) = <{} as crate::leaf::Leaf>::{function}({value}) {{ return Ok(Self::{variant}(value)); }}",
                rust.path
            );
        }
        let _ = writeln!(text, "Err(format!(\"{{{value}:?}} is no {}\"))\n    }}\n", name);
    }
    text += "    fn to_json(&self) -> serde_json::Value { match self {\n";
    for (variant, _) in variants {
        let _ = writeln!(text, "Self::{variant}(value) => value.to_json(),");
    }
    text += "    } }\n}\n\n";
    let _ = writeln!(text, "impl std::fmt::Display for {name} {{");
    text += "    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { match self {\n";
    for (variant, _) in variants {
        let _ = writeln!(text, "Self::{variant}(value) => value.fmt(f),");
    }
    text += "    } }\n}\n";
    text
}

fn variant(path: &str) -> String {
    match path {
        "std::net::Ipv4Addr" => "V4".to_owned(),
        "std::net::Ipv6Addr" => "V6".to_owned(),
        "std::net::IpAddr" => "Address".to_owned(),
        "ipnet::IpNet" => "Prefix".to_owned(),
        "String" => "Text".to_owned(),
        "u8" | "u16" | "u32" | "u64" | "i8" | "i16" | "i32" | "i64" => "Number".to_owned(),
        other => camel(other.rsplit("::").next().unwrap_or(other)),
    }
}
