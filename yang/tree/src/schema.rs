//! The schema as plain data: what a module set says, in a form that can be walked, indexed and sent to a CLI.
//!
//! Nodes stand in one vector and name each other by [`NodeId`]; `choice` and `case` are nodes too, but never
//! appear in data. An invariant: a node's id is larger than its parent's, and siblings keep the order of the
//! modules (RFC 7950 section 7.5.7), augmenting nodes after those of the augmented module.

use serde::{Deserialize, Serialize};

/// Index of a [`Node`] in [`Schema::nodes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct NodeId(pub u32);

/// Index of a [`Module`] in [`Schema::modules`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ModuleId(pub u16);

/// Index of an [`Identity`] in [`Schema::identities`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct IdentityId(pub u32);

/// A compiled set of modules.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schema {
    /// All modules, implemented and import-only, ordered by name.
    pub modules: Vec<Module>,
    /// All schema nodes, parents first.
    pub nodes: Vec<Node>,
    /// All identities.
    pub identities: Vec<Identity>,
    /// Top-level data nodes, RPCs and notifications.
    pub roots: Vec<NodeId>,
    /// What [`Schema::indexed`] computes; empty after deserialisation until then.
    #[serde(skip)]
    pub(crate) index: crate::index::Index,
}

/// One module and revision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)] // the statements of RFC 7950 of the same names
pub struct Module {
    pub name: String,
    pub namespace: String,
    pub prefix: String,
    pub revision: Option<String>,
    /// False for a module that is only imported for its types and groupings.
    pub implemented: bool,
    /// Enabled features.
    pub features: Vec<String>,
    /// Names of the modules that deviate this one.
    pub deviations: Vec<String>,
}

/// An identity and the identities it is derived from, directly or not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The module that defines it.
    pub module: ModuleId,
    /// Its name.
    pub name: String,
    /// All ancestors, so "derived from" is one look-up.
    pub ancestors: Vec<IdentityId>,
}

/// `status` of RFC 7950 section 7.21.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Status {
    #[default]
    Current,
    Deprecated,
    Obsolete,
}

/// A schema node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// Its own index.
    pub id: NodeId,
    /// The schema parent (may be a choice, a case, an RPC's input or output).
    pub parent: Option<NodeId>,
    /// The module whose namespace it has.
    pub module: ModuleId,
    /// Its name.
    pub name: String,
    /// `config true`.
    pub config: bool,
    /// `status`.
    pub status: Status,
    /// `description`, in one paragraph.
    pub description: Option<String>,
    /// What it is.
    pub kind: NodeKind,
    /// Schema children in order.
    pub children: Vec<NodeId>,
    /// `when` of the node itself, and of the uses and augments that brought it.
    pub whens: Vec<Expression>,
    /// `must` statements.
    pub musts: Vec<Must>,
    /// Presentation and protection flags.
    pub flags: Flags,
}

/// Extensions that change how a node is shown or guarded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flags {
    /// `cats-types:on-change`: state that is pushed when it changes.
    pub on_change: bool,
    /// `cats-types:sensitive`, `nacm:default-deny-all` and hashes of passwords: never shown in logs.
    pub sensitive: bool,
    /// `nacm:default-deny-write`.
    pub default_deny_write: bool,
    /// `nacm:default-deny-all`.
    pub default_deny_all: bool,
    /// `cats-types:hidden`: left out of CLI completion.
    pub hidden: bool,
    /// `cats-types:alias`: another word for it in the CLI.
    pub alias: Option<String>,
    /// `cats-types:compress`: its own name may be left out in the CLI.
    pub compress: bool,
    /// `cats-types:column`: its position in the table in which its list is shown.
    pub column: Option<u32>,
}

/// The kinds of schema nodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum NodeKind {
    /// `presence` says whether existence itself is data.
    Container {
        presence: bool,
    },
    List {
        /// In `key` order; empty only for state lists.
        keys: Vec<NodeId>,
        user_ordered: bool,
        min_elements: u32,
        max_elements: Option<u32>,
        /// Each `unique` as its leafs.
        uniques: Vec<Vec<NodeId>>,
    },
    Leaf {
        ty: TypeRef,
        mandatory: bool,
        default: Option<String>,
        units: Option<String>,
    },
    LeafList {
        ty: TypeRef,
        user_ordered: bool,
        min_elements: u32,
        max_elements: Option<u32>,
        defaults: Vec<String>,
        units: Option<String>,
    },
    Choice {
        mandatory: bool,
        default_case: Option<NodeId>,
    },
    Case,
    Anydata {
        mandatory: bool,
    },
    Anyxml {
        mandatory: bool,
    },
    Rpc {
        input: NodeId,
        output: NodeId,
    },
    Action {
        input: NodeId,
        output: NodeId,
    },
    Input,
    Output,
    Notification,
}

/// An XPath expression and the prefixes in force where it was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expression {
    /// XPath 1.0 text, white space folded.
    pub text: String,
    /// `(prefix, module)`; unprefixed names belong to `module`.
    pub prefixes: Vec<(String, ModuleId)>,
    /// The module of unprefixed names.
    pub module: ModuleId,
    /// The context node is the parent of the node (a `when` of a uses or an augment).
    pub on_parent: bool,
}

/// A `must`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Must {
    /// The condition.
    pub condition: Expression,
    /// `error-message`.
    pub message: Option<String>,
    /// `error-app-tag`; `must-violation` when absent (RFC 7950 section 15.4).
    pub app_tag: Option<String>,
}

/// A type with the name it was used by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TypeRef {
    /// Name of the outermost typedef or built-in, such as `ip-prefix`.
    pub name: String,
    /// Module of that typedef; absent for a built-in type.
    pub module: Option<ModuleId>,
    /// What it resolves to.
    pub base: Type,
}

impl TypeRef {
    /// Is it `crypt-hash` of `iana-crypt-hash`? Told by the pattern, which typedefs derived from it have too.
    pub fn is_crypt_hash(&self) -> bool {
        match &self.base {
            Type::String { patterns, .. } => {
                patterns.iter().any(|pattern| pattern.regex.starts_with("$0$.*|"))
            }
            Type::Union(members) => members.iter().any(Self::is_crypt_hash),
            Type::Leafref { real, .. } => real.is_crypt_hash(),
            Type::Binary { .. }
            | Type::Bits(_)
            | Type::Boolean
            | Type::Decimal64 { .. }
            | Type::Empty
            | Type::Enumeration(_)
            | Type::Identityref { .. }
            | Type::InstanceIdentifier { .. }
            | Type::Integer { .. } => false,
        }
    }
}

/// A resolved type with its restrictions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Type {
    Binary {
        length: Vec<Span<u64>>,
    },
    Bits(Vec<Named>),
    Boolean,
    /// Values are scaled by 10^digits, as are the spans.
    Decimal64 {
        digits: u8,
        range: Vec<Span<i64>>,
    },
    Empty,
    Enumeration(Vec<Named>),
    Identityref {
        bases: Vec<IdentityId>,
    },
    InstanceIdentifier {
        require_instance: bool,
    },
    Integer {
        kind: Integer,
        range: Vec<Span<i128>>,
    },
    Leafref {
        path: Expression,
        target: Option<NodeId>,
        require_instance: bool,
        real: Box<TypeRef>,
    },
    String {
        length: Vec<Span<u64>>,
        patterns: Vec<Pattern>,
        canonical: Canonical,
    },
    Union(Vec<TypeRef>),
}

/// An inclusive span of a `range` or `length`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Span<T> {
    pub min: T,
    pub max: T,
}

/// The eight integer types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Integer {
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
}

/// An enum or a bit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Named {
    /// Its name.
    pub name: String,
    /// Its value or position.
    pub value: i64,
    /// Its description.
    pub description: Option<String>,
}

/// A `pattern` in XML Schema syntax.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Pattern {
    pub regex: String,
    /// `modifier invert-match`.
    pub invert: bool,
    pub message: Option<String>,
    pub app_tag: Option<String>,
}

/// String types whose canonical form is not the text itself (RFC 6991, RFC 9911).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Canonical {
    /// The text itself.
    #[default]
    Text,
    /// Lower case: `phys-address`, `mac-address`, `hex-string`, `uuid`.
    Lowercase,
    /// `inet:ipv4-address` with or without zone.
    Ipv4Address,
    /// `inet:ipv6-address` with or without zone, RFC 5952.
    Ipv6Address,
    /// Host bits cleared: 10.1.2.3/24 becomes 10.1.2.0/24.
    Ipv4Prefix,
    /// Host bits cleared, RFC 5952.
    Ipv6Prefix,
    /// `yang:date-and-time`.
    DateAndTime,
    /// `yang:xpath1.0`, `nacm:node-instance-identifier`: names are qualified by modules.
    XPath,
}
