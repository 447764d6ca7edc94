//! From libyang's compiled types to the plain ones, with the name and module of the typedef that was used.

use crate::convert::{Names, fold};
use crate::raw::{NodeRef, TypeStatement, TypeView};
use cats_yang_tree::schema::{Canonical, Integer, ModuleId, Named, Pattern, Span, Type, TypeRef};
use yang5::ffi::LY_DATA_TYPE as Base;

/// A chain of typedefs is finite; nothing follows more of one than this.
const MAX_CHAIN: usize = 64;

const BUILTIN: &[&str] = &[
    "binary",
    "bits",
    "boolean",
    "decimal64",
    "empty",
    "enumeration",
    "identityref",
    "instance-identifier",
    "int16",
    "int32",
    "int64",
    "int8",
    "leafref",
    "string",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
    "union",
];

/// The type of a leaf or leaf-list of `module`.
pub(crate) fn of_node(names: &Names, node: NodeRef, module: ModuleId) -> TypeRef {
    match node.ty() {
        Some(view) => type_ref(names, view, node.type_statement(), module),
        None => TypeRef { name: "empty".to_owned(), module: None, base: Type::Empty },
    }
}

fn type_ref(names: &Names, view: TypeView, statement: Option<TypeStatement>, module: ModuleId) -> TypeRef {
    let statement = statement.filter(|statement| leads_to(*statement, view));
    let (name, defined_in) = match statement {
        Some(statement) if is_builtin(statement) => (statement.name(), None),
        Some(statement) => (statement.name(), statement.module().and_then(|found| names.module(found))),
        None => (view.typedef_name().unwrap_or(builtin(view.base())), None),
    };
    TypeRef { name: name.to_owned(), module: defined_in, base: base(names, view, statement, module) }
}

/// Whether the compiled type comes of this statement. It does not where a deviation has replaced the type. libyang
/// keeps the name of the innermost typedef that restricts anything, so the statement's own name may be another.
fn leads_to(statement: TypeStatement, view: TypeView) -> bool {
    let wanted = view.typedef_name().unwrap_or(builtin(view.base()));
    let chain = std::iter::successors(Some(statement), |statement| statement.definition());
    chain.take(MAX_CHAIN).any(|statement| statement.name() == wanted)
}

fn is_builtin(statement: TypeStatement) -> bool {
    statement.definition().is_none() && BUILTIN.contains(&statement.name())
}

fn base(names: &Names, view: TypeView, statement: Option<TypeStatement>, module: ModuleId) -> Type {
    match view.base() {
        Base::LY_TYPE_BINARY => Type::Binary { length: lengths(view) },
        Base::LY_TYPE_BITS => Type::Bits(named(view)),
        Base::LY_TYPE_BOOL => Type::Boolean,
        Base::LY_TYPE_DEC64 => Type::Decimal64 { digits: view.fraction_digits(), range: decimal_range(view) },
        Base::LY_TYPE_EMPTY => Type::Empty,
        Base::LY_TYPE_ENUM => Type::Enumeration(named(view)),
        Base::LY_TYPE_IDENT => Type::Identityref {
            bases: view.bases().into_iter().filter_map(|base| names.identity(base)).collect(),
        },
        Base::LY_TYPE_INST => Type::InstanceIdentifier { require_instance: view.requires_instance() },
        Base::LY_TYPE_LEAFREF => leafref(names, view, module),
        Base::LY_TYPE_STRING => Type::String {
            length: lengths(view),
            patterns: patterns(view),
            canonical: canonical(view.plugin()),
        },
        Base::LY_TYPE_UNION => union(names, view, statement, module),
        other => Type::Integer { kind: integer(other), range: integer_range(view) },
    }
}

fn leafref(names: &Names, view: TypeView, module: ModuleId) -> Type {
    let real = view.leafref_real().map(|real| type_ref(names, real, None, module));
    Type::Leafref {
        path: names.expression(&view.leafref_path(), module, false),
        target: None,
        require_instance: view.requires_instance(),
        real: Box::new(real.unwrap_or(TypeRef {
            name: "string".to_owned(),
            module: None,
            base: unrestricted(),
        })),
    }
}

fn unrestricted() -> Type {
    Type::String { length: Vec::new(), patterns: Vec::new(), canonical: Canonical::Text }
}

/// libyang unrolls unions of unions, so the statements are unrolled too.
fn union(names: &Names, view: TypeView, statement: Option<TypeStatement>, module: ModuleId) -> Type {
    let members = view.members();
    let mut statements = Vec::new();
    if let Some(statement) = statement {
        unroll(statement, &mut statements);
    }
    let known = statements.len() == members.len();
    let member = |(index, view): (usize, TypeView)| {
        let statement = statements.get(index).copied().filter(|_| known);
        type_ref(names, view, statement, module)
    };
    Type::Union(members.into_iter().enumerate().map(member).collect())
}

fn unroll(statement: TypeStatement, into: &mut Vec<TypeStatement>) {
    let mut definition = statement;
    let mut steps = 0;
    loop {
        let mut members = definition.members().peekable();
        if members.peek().is_some() {
            members.for_each(|member| unroll(member, into));
            return;
        }
        match definition.definition() {
            Some(next) if steps < MAX_CHAIN => definition = next,
            _ => break,
        }
        steps += 1;
    }
    into.push(statement);
}

fn lengths(view: TypeView) -> Vec<Span<u64>> {
    view.length().into_iter().map(|(min, max)| Span { min, max }).collect()
}

fn integer_range(view: TypeView) -> Vec<Span<i128>> {
    view.range().into_iter().map(|(min, max)| Span { min, max }).collect()
}

fn decimal_range(view: TypeView) -> Vec<Span<i64>> {
    let clamp = |value: i128| i64::try_from(value).unwrap_or(if value < 0 { i64::MIN } else { i64::MAX });
    view.range().into_iter().map(|(min, max)| Span { min: clamp(min), max: clamp(max) }).collect()
}

fn named(view: TypeView) -> Vec<Named> {
    let item = |item: crate::raw::NamedValue| Named {
        name: item.name.to_owned(),
        value: item.value,
        description: item.description.map(fold).filter(|text| !text.is_empty()),
    };
    view.named().into_iter().map(item).collect()
}

fn patterns(view: TypeView) -> Vec<Pattern> {
    let pattern = |pattern: crate::raw::PatternRef| Pattern {
        regex: pattern.regex().to_owned(),
        invert: pattern.inverted(),
        message: pattern.message().map(fold),
        app_tag: pattern.app_tag().map(str::to_owned),
    };
    view.patterns().into_iter().map(pattern).collect()
}

/// By libyang's plugin: it is inherited by typedefs derived from the one it was made for.
fn canonical(plugin: &str) -> Canonical {
    match plugin.strip_prefix("ly2 ").unwrap_or(plugin) {
        "hex-string" => Canonical::Lowercase,
        "ipv4-address" | "ipv4-address-no-zone" => Canonical::Ipv4Address,
        "ipv6-address" | "ipv6-address-no-zone" => Canonical::Ipv6Address,
        "ipv4-address-prefix" => Canonical::Ipv4Prefix,
        "ipv6-address-prefix" => Canonical::Ipv6Prefix,
        "date-and-time" => Canonical::DateAndTime,
        "xpath1.0" | "node-instance-identifier" => Canonical::XPath,
        _ => Canonical::Text,
    }
}

fn integer(base: Base::Type) -> Integer {
    match base {
        Base::LY_TYPE_INT8 => Integer::I8,
        Base::LY_TYPE_INT16 => Integer::I16,
        Base::LY_TYPE_INT32 => Integer::I32,
        Base::LY_TYPE_INT64 => Integer::I64,
        Base::LY_TYPE_UINT8 => Integer::U8,
        Base::LY_TYPE_UINT16 => Integer::U16,
        Base::LY_TYPE_UINT32 => Integer::U32,
        _ => Integer::U64,
    }
}

fn builtin(base: Base::Type) -> &'static str {
    match base {
        Base::LY_TYPE_BINARY => "binary",
        Base::LY_TYPE_BITS => "bits",
        Base::LY_TYPE_BOOL => "boolean",
        Base::LY_TYPE_DEC64 => "decimal64",
        Base::LY_TYPE_EMPTY => "empty",
        Base::LY_TYPE_ENUM => "enumeration",
        Base::LY_TYPE_IDENT => "identityref",
        Base::LY_TYPE_INST => "instance-identifier",
        Base::LY_TYPE_LEAFREF => "leafref",
        Base::LY_TYPE_UNION => "union",
        Base::LY_TYPE_INT8 => "int8",
        Base::LY_TYPE_INT16 => "int16",
        Base::LY_TYPE_INT32 => "int32",
        Base::LY_TYPE_INT64 => "int64",
        Base::LY_TYPE_UINT8 => "uint8",
        Base::LY_TYPE_UINT16 => "uint16",
        Base::LY_TYPE_UINT32 => "uint32",
        Base::LY_TYPE_UINT64 => "uint64",
        _ => "string",
    }
}
