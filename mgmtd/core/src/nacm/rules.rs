//! `/nacm` of a configuration as rules.

use super::path::{self, RulePath};
use cats_yang_tree::error::{Error, ErrorTag, Errors};
use cats_yang_tree::schema::{ModuleId, NodeId, Schema};
use cats_yang_tree::{Branch, Data, InstancePath, Key, Step};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The module.
pub(super) const MODULE: &str = "ietf-netconf-acm";

/// So many rules may be committed.
pub(super) const MOST_RULES: usize = 10_000;

/// `access-operations-type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)] // the bits of RFC 8341
pub enum AccessOperation {
    Create,
    Read,
    Update,
    Delete,
    Exec,
}

impl AccessOperation {
    pub(super) const ALL: [Self; 5] = [Self::Create, Self::Read, Self::Update, Self::Delete, Self::Exec];

    /// The name of its bit.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Read => "read",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Exec => "exec",
        }
    }

    fn bit(self) -> u8 {
        1 << (self as u8)
    }
}

/// A set of access operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Operations(u8);

impl Operations {
    const ALL: Self = Self(0x1f);

    pub(super) fn contains(self, operation: AccessOperation) -> bool {
        self.0 & operation.bit() != 0
    }

    fn read(text: &str) -> Self {
        if text == "*" {
            return Self::ALL;
        }
        let named = |operation: &&AccessOperation| text.split(' ').any(|word| word == operation.name());
        let bits = AccessOperation::ALL.iter().filter(named).map(|operation| operation.bit());
        Self(bits.fold(0, |all, bit| all | bit))
    }
}

/// A name, or all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Named {
    Any,
    Only(String),
}

impl Named {
    fn read(text: &str) -> Self {
        if text == "*" { Self::Any } else { Self::Only(text.to_owned()) }
    }

    pub(super) fn matches(&self, name: &str) -> bool {
        match self {
            Named::Any => true,
            Named::Only(only) => only == name,
        }
    }
}

/// `rule-type`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Target {
    /// Without one, a rule is about everything.
    Everything,
    Operation(Named),
    Notification(Named),
    Data(RulePath),
}

/// One `rule`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rule {
    pub(super) module: Named,
    pub(super) target: Target,
    pub(super) operations: Operations,
    pub(super) permit: bool,
}

/// One `rule-list`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct RuleList {
    groups: Vec<Named>,
    rules: Vec<Arc<Rule>>,
}

/// All that `/nacm` says. The default is what an empty one says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rules {
    pub(super) enabled: bool,
    pub(super) read_default: bool,
    pub(super) write_default: bool,
    pub(super) exec_default: bool,
    external_groups: bool,
    /// The groups that name a user.
    members: BTreeMap<String, Vec<String>>,
    lists: Vec<RuleList>,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            enabled: true,
            read_default: true,
            write_default: false,
            exec_default: true,
            external_groups: true,
            members: BTreeMap::new(),
            lists: Vec::new(),
        }
    }
}

impl Rules {
    /// The rules of `nacm`, the content of the container `node`. A rule whose path is none of this schema is left out:
    /// there is nothing that it is about. [`faults`] keeps such rules from being committed.
    pub(super) fn compile(schema: &Schema, node: NodeId, nacm: &Branch) -> Self {
        let at = |branch, node| Place { schema, node, branch };
        let nacm = at(nacm, node);
        let mut rules = Self {
            enabled: nacm.boolean("enable-nacm"),
            read_default: nacm.permits("read-default"),
            write_default: nacm.permits("write-default"),
            exec_default: nacm.permits("exec-default"),
            external_groups: nacm.boolean("enable-external-groups"),
            ..Self::default()
        };
        if let Some(groups) = nacm.container("groups") {
            for (_, group) in groups.entries("group") {
                for user in group.values("user-name") {
                    rules.members.entry(user).or_default().push(group.text("name").unwrap_or_default());
                }
            }
        }
        for (_, list) in nacm.entries("rule-list") {
            let groups = list.values("group").iter().map(|group| Named::read(group)).collect();
            let of = list.entries("rule");
            let list_rules = of.iter().filter_map(|(_, rule)| rule.rule().ok()).map(Arc::new).collect();
            rules.lists.push(RuleList { groups, rules: list_rules });
        }
        rules
    }

    /// The groups that `user` is in, where the transport reports `external` ones (RFC 8341 section 3.4.5).
    pub(super) fn groups_of(&self, user: &str, external: &[String]) -> Vec<String> {
        let external = external.iter().filter(|_| self.external_groups);
        let mut groups: Vec<String> =
            self.members.get(user).into_iter().flatten().chain(external).cloned().collect();
        groups.sort_unstable();
        groups.dedup();
        groups
    }

    /// The rules for a user of these groups in their order. Nobody without a group has any, not even those of `*`.
    pub(super) fn for_groups(&self, groups: &[String]) -> Vec<Arc<Rule>> {
        let applies =
            |list: &&RuleList| list.groups.iter().any(|group| groups.iter().any(|of| group.matches(of)));
        self.lists.iter().filter(applies).flat_map(|list| list.rules.iter().cloned()).collect()
    }
}

/// The rules of `nacm` that cannot be understood, each with its place and the reason.
pub(super) fn faults(schema: &Schema, node: NodeId, nacm: &Branch) -> Vec<Error> {
    let nacm = Place { schema, node, branch: nacm };
    let mut errors = Errors::default();
    let count: usize = nacm.entries("rule-list").iter().map(|(_, list)| list.entries("rule").len()).sum();
    if count > MOST_RULES {
        let path = InstancePath { steps: vec![Step { node, key: None }] };
        let what =
            format!("{count} rules are too many: {MOST_RULES} are taken, so let some speak of more at once");
        errors.push(Error::application(ErrorTag::ResourceDenied, what).at(path.render(schema)));
    }
    for (list_key, list) in nacm.entries("rule-list") {
        for (rule_key, rule) in list.entries("rule") {
            let Err(why) = rule.rule() else { continue };
            let steps = [
                Some(Step { node, key: None }),
                Some(Step { node: list.node, key: Some(list_key.clone()) }),
                Some(Step { node: rule.node, key: Some(rule_key.clone()) }),
                rule.child("path").map(|node| Step { node, key: None }),
            ];
            let path = InstancePath { steps: steps.into_iter().flatten().collect() };
            errors.push_with(|| Error::application(ErrorTag::InvalidValue, why).at(path.render(schema)));
        }
    }
    errors.into_vec()
}

/// A branch of `/nacm` with the schema node that it is of, asked by names.
#[derive(Clone, Copy)]
struct Place<'a> {
    schema: &'a Schema,
    node: NodeId,
    branch: &'a Branch,
}

impl<'a> Place<'a> {
    fn child(&self, name: &str) -> Option<NodeId> {
        let module: ModuleId = self.schema.node(self.node).module;
        self.schema.child(Some(self.node), module, name)
    }

    /// The value of a leaf, or its default.
    fn text(&self, name: &str) -> Option<String> {
        let leaf = self.child(name)?;
        let value = self.branch.leaf(leaf).or_else(|| self.schema.default_values(leaf).first())?;
        Some(value.to_string())
    }

    fn boolean(&self, name: &str) -> bool {
        self.text(name).is_some_and(|text| text == "true")
    }

    fn permits(&self, name: &str) -> bool {
        self.text(name).is_some_and(|text| text == "permit")
    }

    fn values(&self, name: &str) -> Vec<String> {
        match self.child(name).and_then(|list| self.branch.get(list)) {
            Some(Data::LeafList(entries)) => entries.iter().map(|(_, value)| value.to_string()).collect(),
            Some(Data::Leaf(_) | Data::Container(_) | Data::List(_) | Data::Any(_)) | None => Vec::new(),
        }
    }

    fn container(&self, name: &str) -> Option<Place<'a>> {
        let node = self.child(name)?;
        match self.branch.get(node)? {
            Data::Container(branch) => Some(Place { node, branch, ..*self }),
            Data::Leaf(_) | Data::List(_) | Data::LeafList(_) | Data::Any(_) => None,
        }
    }

    fn entries(&self, name: &str) -> Vec<(&'a Key, Place<'a>)> {
        let Some(node) = self.child(name) else { return Vec::new() };
        match self.branch.get(node) {
            Some(Data::List(entries)) => {
                entries.iter().map(|(key, branch)| (key, Place { node, branch, ..*self })).collect()
            }
            Some(Data::Leaf(_) | Data::Container(_) | Data::LeafList(_) | Data::Any(_)) | None => Vec::new(),
        }
    }

    /// This entry of the list `rule`; the error is about its path.
    fn rule(&self) -> Result<Rule, String> {
        let target = if let Some(name) = self.text("rpc-name") {
            Target::Operation(Named::read(&name))
        } else if let Some(name) = self.text("notification-name") {
            Target::Notification(Named::read(&name))
        } else if let Some(text) = self.text("path") {
            Target::Data(path::parse(self.schema, &text)?)
        } else {
            Target::Everything
        };
        Ok(Rule {
            module: Named::read(&self.text("module-name").unwrap_or_default()),
            target,
            operations: Operations::read(&self.text("access-operations").unwrap_or_default()),
            permit: self.permits("action"),
        })
    }
}
