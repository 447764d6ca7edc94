//! The functions: XPath 1.0's core library (section 4) and those of RFC 7950 section 10.

use super::Kind;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Function {
    Last,
    Position,
    Count,
    Id,
    LocalName,
    NamespaceUri,
    Name,
    String,
    Concat,
    StartsWith,
    Contains,
    SubstringBefore,
    SubstringAfter,
    Substring,
    StringLength,
    NormalizeSpace,
    Translate,
    Boolean,
    Not,
    True,
    False,
    Lang,
    Number,
    Sum,
    Floor,
    Ceiling,
    Round,
    Current,
    ReMatch,
    Deref,
    DerivedFrom,
    DerivedFromOrSelf,
    EnumValue,
    BitIsSet,
}

/// What a function takes and gives.
struct Signature {
    name: &'static str,
    least: usize,
    /// None for any number.
    most: Option<usize>,
    /// The first argument must be a node-set.
    nodes: bool,
    result: Kind,
}

const ALL: [Function; 34] = [
    Function::Last,
    Function::Position,
    Function::Count,
    Function::Id,
    Function::LocalName,
    Function::NamespaceUri,
    Function::Name,
    Function::String,
    Function::Concat,
    Function::StartsWith,
    Function::Contains,
    Function::SubstringBefore,
    Function::SubstringAfter,
    Function::Substring,
    Function::StringLength,
    Function::NormalizeSpace,
    Function::Translate,
    Function::Boolean,
    Function::Not,
    Function::True,
    Function::False,
    Function::Lang,
    Function::Number,
    Function::Sum,
    Function::Floor,
    Function::Ceiling,
    Function::Round,
    Function::Current,
    Function::ReMatch,
    Function::Deref,
    Function::DerivedFrom,
    Function::DerivedFromOrSelf,
    Function::EnumValue,
    Function::BitIsSet,
];

impl Function {
    pub(super) fn named(name: &str) -> Option<Self> {
        ALL.into_iter().find(|function| function.name() == name)
    }

    pub(super) fn name(self) -> &'static str {
        self.signature().name
    }

    pub(super) fn result(self) -> Kind {
        self.signature().result
    }

    /// Must its first argument be a node-set?
    pub(super) fn takes_nodes(self) -> bool {
        self.signature().nodes
    }

    /// How many arguments it takes, in words, unless `given` is right.
    pub(super) fn refuses(self, given: usize) -> Option<String> {
        let Signature { least, most, .. } = self.signature();
        if given >= least && most.is_none_or(|most| given <= most) {
            return None;
        }
        let plural = |count: usize| if count == 1 { "argument" } else { "arguments" };
        Some(match most {
            Some(0) => "no arguments".to_owned(),
            Some(most) if most == least => format!("{least} {}", plural(least)),
            Some(most) => format!("{least} to {most} arguments"),
            None => format!("at least {least} {}", plural(least)),
        })
    }

    /// Does it read the context node when called with that many arguments?
    pub(super) fn reads_context(self, arguments: usize) -> bool {
        match self {
            Function::Lang => true,
            Function::LocalName
            | Function::NamespaceUri
            | Function::Name
            | Function::String
            | Function::StringLength
            | Function::NormalizeSpace
            | Function::Number => arguments == 0,
            Function::Last
            | Function::Position
            | Function::Count
            | Function::Id
            | Function::Concat
            | Function::StartsWith
            | Function::Contains
            | Function::SubstringBefore
            | Function::SubstringAfter
            | Function::Substring
            | Function::Translate
            | Function::Boolean
            | Function::Not
            | Function::True
            | Function::False
            | Function::Sum
            | Function::Floor
            | Function::Ceiling
            | Function::Round
            | Function::Current
            | Function::ReMatch
            | Function::Deref
            | Function::DerivedFrom
            | Function::DerivedFromOrSelf
            | Function::EnumValue
            | Function::BitIsSet => false,
        }
    }

    fn signature(self) -> Signature {
        use Kind::{Boolean, Nodes, Number, String};
        let of = |name, least, most, nodes, result| Signature { name, least, most, nodes, result };
        match self {
            Function::Last => of("last", 0, Some(0), false, Number),
            Function::Position => of("position", 0, Some(0), false, Number),
            Function::Count => of("count", 1, Some(1), true, Number),
            Function::Id => of("id", 1, Some(1), false, Nodes),
            Function::LocalName => of("local-name", 0, Some(1), true, String),
            Function::NamespaceUri => of("namespace-uri", 0, Some(1), true, String),
            Function::Name => of("name", 0, Some(1), true, String),
            Function::String => of("string", 0, Some(1), false, String),
            Function::Concat => of("concat", 2, None, false, String),
            Function::StartsWith => of("starts-with", 2, Some(2), false, Boolean),
            Function::Contains => of("contains", 2, Some(2), false, Boolean),
            Function::SubstringBefore => of("substring-before", 2, Some(2), false, String),
            Function::SubstringAfter => of("substring-after", 2, Some(2), false, String),
            Function::Substring => of("substring", 2, Some(3), false, String),
            Function::StringLength => of("string-length", 0, Some(1), false, Number),
            Function::NormalizeSpace => of("normalize-space", 0, Some(1), false, String),
            Function::Translate => of("translate", 3, Some(3), false, String),
            Function::Boolean => of("boolean", 1, Some(1), false, Boolean),
            Function::Not => of("not", 1, Some(1), false, Boolean),
            Function::True => of("true", 0, Some(0), false, Boolean),
            Function::False => of("false", 0, Some(0), false, Boolean),
            Function::Lang => of("lang", 1, Some(1), false, Boolean),
            Function::Number => of("number", 0, Some(1), false, Number),
            Function::Sum => of("sum", 1, Some(1), true, Number),
            Function::Floor => of("floor", 1, Some(1), false, Number),
            Function::Ceiling => of("ceiling", 1, Some(1), false, Number),
            Function::Round => of("round", 1, Some(1), false, Number),
            Function::Current => of("current", 0, Some(0), false, Nodes),
            Function::ReMatch => of("re-match", 2, Some(2), false, Boolean),
            Function::Deref => of("deref", 1, Some(1), true, Nodes),
            Function::DerivedFrom => of("derived-from", 2, Some(2), true, Boolean),
            Function::DerivedFromOrSelf => of("derived-from-or-self", 2, Some(2), true, Boolean),
            Function::EnumValue => of("enum-value", 1, Some(1), true, Number),
            Function::BitIsSet => of("bit-is-set", 2, Some(2), true, Boolean),
        }
    }
}
