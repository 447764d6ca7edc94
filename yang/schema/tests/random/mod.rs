//! Random configurations and state of the default modules: of the right types, whatever the constraints say.

#![allow(dead_code, unreachable_pub, missing_docs)] // each test takes what it needs

pub mod modules;

use cats_yang_schema::{Compiled, default_modules, load};
use cats_yang_tree::ops::{Operation as EditOperation, Ops};
use cats_yang_tree::schema::{
    Canonical, IdentityId, Integer, ModuleId, NodeId, NodeKind, Schema, Type, TypeRef,
};
use cats_yang_tree::{Tree, Value, edit};
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;
use std::sync::OnceLock;

pub fn compiled() -> &'static Compiled {
    static COMPILED: OnceLock<Compiled> = OnceLock::new();
    COMPILED.get_or_init(|| load(&default_modules()).expect("the modules compile"))
}

pub fn schema() -> &'static Schema {
    compiled().schema()
}

pub fn cats() -> NodeId {
    let found = schema()
        .nodes
        .iter()
        .find(|node| schema().path_of(node.id) == "/ietf-routing:routing/ietf-cats:cats");
    found.unwrap().id
}

/// splitmix64: all that a configuration needs of randomness.
pub struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % sides
    }
}

pub fn member(parent: NodeId, id: NodeId) -> String {
    let (parent, node) = (schema().node(parent), schema().node(id));
    if parent.module == node.module {
        node.name.clone()
    } else {
        format!("{}:{}", schema().module_of(id).name, node.name)
    }
}

/// A random object of a container or list entry, without empty containers. Constraints do not matter here.
pub fn object(id: NodeId, state: bool, dice: &mut Dice) -> Map<String, Json> {
    let mut members = Map::new();
    let mut cases: BTreeMap<NodeId, NodeId> = BTreeMap::new();
    for child in schema().data_children(id) {
        let node = schema().node(*child);
        if !chosen(*child, &mut cases, dice) {
            continue;
        }
        if !(if state { schema().is_key(*child) || has_state(*child) } else { node.config }) {
            continue;
        }
        let name = member(id, *child);
        match &node.kind {
            NodeKind::Leaf { ty, mandatory, .. } => {
                if *mandatory || schema().is_key(*child) || dice.roll(2) == 0 {
                    members.insert(name, leaf(ty, dice));
                }
            }
            NodeKind::LeafList { ty, .. } => {
                let values: BTreeMap<String, Json> = (0..dice.roll(4))
                    .map(|_| leaf(ty, dice))
                    .map(|value| (value.to_string(), value))
                    .collect();
                if !values.is_empty() {
                    members.insert(name, Json::Array(values.into_values().collect()));
                }
            }
            NodeKind::Container { presence } => {
                let inner = object(*child, state, dice);
                if (*presence && !state && dice.roll(2) == 0) || (!*presence && !inner.is_empty()) {
                    members.insert(name, Json::Object(inner));
                }
            }
            NodeKind::List { .. } => {
                let entries: BTreeMap<String, Map<String, Json>> = (0..dice.roll(4))
                    .map(|_| object(*child, state, dice))
                    .map(|entry| (predicates(*child, &entry), entry))
                    .collect();
                if !entries.is_empty() {
                    members.insert(name, Json::Array(entries.into_values().map(Json::Object).collect()));
                }
            }
            other => panic!("{other:?}"),
        }
    }
    members
}

/// Whether a node stands in no choice, or in the case of it that was drawn.
fn chosen(child: NodeId, cases: &mut BTreeMap<NodeId, NodeId>, dice: &mut Dice) -> bool {
    let Some((choice, case)) = schema().case_of(child) else { return true };
    let all = &schema().node(choice).children;
    let roll = || all[usize::try_from(dice.roll(all.len() as u64)).unwrap()];
    *cases.entry(choice).or_insert_with(roll) == case
}

pub fn leaf(ty: &TypeRef, dice: &mut Dice) -> Json {
    match &ty.base {
        Type::Boolean => json!(dice.roll(2) == 0),
        Type::Enumeration(names) => {
            json!(names[usize::try_from(dice.roll(names.len() as u64)).unwrap()].name)
        }
        Type::Decimal64 { digits, range } => {
            let one = 10_i64.pow(u32::from(*digits));
            // Less than 1 where more does not fit.
            let fits = range.first().is_none_or(|span| span.max >= 6 * one);
            let whole = if fits { dice.roll(5) } else { 0 };
            json!(format!("{whole}.{}", dice.roll(9) + 1))
        }
        Type::Integer { kind, range } => {
            // Small numbers, so that keys meet.
            let number = range.first().map_or(0, |span| span.min) + i128::from(dice.roll(6));
            match kind {
                Integer::U64 | Integer::I64 => json!(number.to_string()),
                _ => json!(i64::try_from(number).unwrap()),
            }
        }
        Type::Leafref { real, .. } => leaf(real, dice),
        Type::Union(members) => {
            leaf(&members[usize::try_from(dice.roll(members.len() as u64)).unwrap()], dice)
        }
        Type::Empty => json!([null]),
        Type::Identityref { bases } => {
            let all: Vec<IdentityId> = schema().identities_derived_from(bases).collect();
            let identity = schema().identity(all[usize::try_from(dice.roll(all.len() as u64)).unwrap()]);
            json!(format!("{}:{}", schema().module(identity.module).name, identity.name))
        }
        Type::String { canonical, .. } => match canonical {
            Canonical::Ipv4Address => json!(format!("192.0.2.{}", dice.roll(4))),
            Canonical::Ipv6Address => json!(format!("2001:db8::{}", dice.roll(4) + 1)),
            Canonical::Ipv4Prefix => json!(format!("198.51.{}.0/24", dice.roll(4))),
            Canonical::Ipv6Prefix => json!(format!("2001:db8:{}::/48", dice.roll(4) + 1)),
            Canonical::DateAndTime => json!(format!("2026-11-29T22:00:0{}+00:00", dice.roll(9))),
            Canonical::Text | Canonical::Lowercase | Canonical::XPath => json!(word(ty, dice)),
        },
        other => panic!("{other:?}"),
    }
}

/// One of a few texts, as far as the type allows them.
pub fn word(ty: &TypeRef, dice: &mut Dice) -> &'static str {
    let fits = |text: &&str| Value::parse_text(schema(), ty, ModuleId(0), text).is_ok();
    let words: Vec<&str> =
        ["a", "EF-1", "it's", "x/y[z]", "/etc/x", "02:30"].into_iter().filter(fits).collect();
    words[usize::try_from(dice.roll(words.len() as u64)).unwrap()]
}

pub fn text(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

pub fn quoted(text: &str) -> String {
    if text.contains('\'') { format!("\"{text}\"") } else { format!("'{text}'") }
}

pub fn predicates(list: NodeId, entry: &Map<String, Json>) -> String {
    let keys = schema().list_keys(list).iter().map(|key| schema().node(*key).name.clone());
    keys.map(|key| format!("[{key}={}]", quoted(&text(&entry[&key])))).collect()
}

pub fn has_state(id: NodeId) -> bool {
    !schema().node(id).config || schema().data_children(id).iter().any(|child| has_state(*child))
}

pub fn config(seed: u64) -> Json {
    let cats = object(cats(), false, &mut Dice(seed));
    if cats.is_empty() { json!({}) } else { json!({"ietf-routing:routing": {"ietf-cats:cats": cats}}) }
}

pub fn tree(json: &Json) -> Tree {
    let ops = Ops::from_json(schema(), json, EditOperation::Merge).expect("the schema holds it");
    edit(&Tree::new(), schema(), ops).expect("the edit fits")
}
