//! Random modules that use every kind of constraint, and random configurations of them.

use super::Dice;
use cats_yang_tree::schema::{Integer, NodeId, NodeKind, Schema, Type, TypeRef};
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A module as text; the same seed gives the same one.
pub fn module(seed: u64) -> String {
    let mut maker = Maker { dice: Dice(seed), out: String::new(), nodes: Vec::new(), next: 0 };
    maker.out =
        "module g { yang-version 1.1; namespace \"urn:g\"; prefix g; revision 2026-11-29;\n".to_owned();
    let inside = Inside {
        path: Vec::new(),
        full: Vec::new(),
        may_be_mandatory: true,
        wavering: false,
        in_case: false,
    };
    for _ in 0..2 + maker.dice.roll(2) {
        maker.node(&inside, 0);
    }
    maker.out.push_str("}\n");
    maker.out
}

/// What was made so far, in the order of the text.
struct Made {
    /// Names from the top, in data.
    path: Vec<String>,
    /// The same with choices and cases.
    full: Vec<String>,
    kind: Kind,
    default: bool,
    /// It goes with a `when` of its own or of what it is implied in.
    wavering: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// `uint8` of 0 to 4, with or without a default.
    Number {
        default: bool,
    },
    /// The key of a list, a `uint8`.
    Key,
    /// `enumeration` of a, b and c.
    Word,
    LeafList,
    Container,
    List,
}

struct Maker {
    dice: Dice,
    out: String,
    nodes: Vec<Made>,
    next: u32,
}

#[derive(Clone)]
struct Inside {
    path: Vec<String>,
    full: Vec<String>,
    may_be_mandatory: bool,
    /// What is implied here goes with a `when`.
    wavering: bool,
    /// Right in a case: libyang forgets what is implied in a case of which a choice in it has data.
    in_case: bool,
}

impl Maker {
    fn one_in(&mut self, sides: u64) -> bool {
        self.dice.roll(sides) == 0
    }

    fn name(&mut self, letter: char) -> String {
        self.next += 1;
        format!("{letter}{}", self.next)
    }

    fn within(inside: &Inside, name: &str) -> Inside {
        let mut here = inside.clone();
        here.path.push(name.to_owned());
        here.full.push(name.to_owned());
        here.in_case = false;
        here
    }

    fn made(&mut self, here: &Inside, kind: Kind) {
        self.nodes.push(Made {
            path: here.path.clone(),
            full: here.full.clone(),
            kind,
            default: false,
            wavering: false,
        });
    }

    fn node(&mut self, inside: &Inside, depth: usize) {
        let deep = depth >= 3;
        let kinds = if inside.in_case { 10 } else { 12 };
        match self.dice.roll(if deep { 5 } else { kinds }) {
            0..=3 => self.leaf(inside),
            4 => self.leaf_list(inside),
            5 | 6 => self.container(inside, depth),
            7..=9 => self.list(inside, depth),
            _ => self.choice(inside, depth),
        }
    }

    fn leaf(&mut self, inside: &Inside) {
        let name = self.name('l');
        let here = Self::within(inside, &name);
        let target = self.leafref(&here.path);
        let (ty, kind) = match (self.dice.roll(5), target) {
            (0 | 1, Some(path)) => {
                (format!("leafref {{ path \"{path}\"; }}"), Kind::Number { default: false })
            }
            (2, _) => ("enumeration { enum a; enum b; enum c; }".to_owned(), Kind::Word),
            _ => ("uint8 { range \"0..4\"; }".to_owned(), Kind::Number { default: false }),
        };
        let _ = write!(self.out, "leaf {name} {{ type {ty}");
        self.out.push_str(if ty.ends_with('}') { " " } else { "; " });
        let plain = !ty.starts_with("leafref");
        let default = plain && self.one_in(4);
        if default {
            self.out.push_str(if kind == Kind::Word { "default a; " } else { "default 2; " });
        } else if inside.may_be_mandatory && self.one_in(6) {
            self.out.push_str("mandatory true; ");
        }
        let from = self.out.len();
        self.conditions(&here.path);
        let wavering = self.out[from..].contains("when");
        self.out.push_str("}\n");
        self.made(&here, if kind == Kind::Word { kind } else { Kind::Number { default } });
        if let Some(made) = self.nodes.last_mut() {
            (made.default, made.wavering) = (default, wavering || inside.wavering);
        }
    }

    fn leaf_list(&mut self, inside: &Inside) {
        let name = self.name('s');
        let here = Self::within(inside, &name);
        let target = self.leafref(&here.path).filter(|_| self.dice.roll(2) == 0);
        let ty = target
            .map_or("uint8 { range \"0..4\"; }".to_owned(), |path| format!("leafref {{ path \"{path}\"; }}"));
        let _ = write!(self.out, "leaf-list {name} {{ type {ty} ");
        self.elements(inside.may_be_mandatory);
        self.conditions(&here.path);
        self.out.push_str("}\n");
        self.made(&here, Kind::LeafList);
    }

    fn elements(&mut self, may_be_mandatory: bool) {
        if may_be_mandatory && self.one_in(8) {
            self.out.push_str("min-elements 1; ");
        }
        if self.one_in(5) {
            self.out.push_str("max-elements 2; ");
        }
        if self.one_in(4) {
            self.out.push_str("ordered-by user; ");
        }
    }

    fn container(&mut self, inside: &Inside, depth: usize) {
        let name = self.name('c');
        let here = Self::within(inside, &name);
        let presence = self.one_in(2);
        let _ = write!(self.out, "container {name} {{ ");
        if presence {
            self.out.push_str("presence \"it is there\"; ");
        }
        let from = self.out.len();
        self.conditions(&here.path);
        let wavering = !presence && self.out[from..].contains("when");
        self.out.push('\n');
        self.made(&here, Kind::Container);
        if let Some(made) = self.nodes.last_mut() {
            made.wavering = !presence && (wavering || inside.wavering);
        }
        let wavering = !presence && (wavering || here.wavering);
        let here = Inside { may_be_mandatory: presence || here.may_be_mandatory, wavering, ..here };
        for _ in 0..1 + self.dice.roll(3) {
            self.node(&here, depth + 1);
        }
        self.out.push_str("}\n");
    }

    fn list(&mut self, inside: &Inside, depth: usize) {
        let name = self.name('e');
        let here = Self::within(inside, &name);
        let _ = write!(self.out, "list {name} {{ key \"k\"; ");
        self.elements(inside.may_be_mandatory);
        self.conditions(&here.path);
        self.out.push_str("\nleaf k { type uint8 { range \"0..4\"; } }\n");
        self.made(&here, Kind::List);
        let key = Self::within(&here, "k");
        self.made(&key, Kind::Key);
        let here = Inside { may_be_mandatory: true, wavering: false, ..here };
        let from = self.nodes.len();
        for _ in 0..1 + self.dice.roll(3) {
            self.node(&here, depth + 1);
        }
        self.unique(&here.full, from);
        self.out.push_str("}\n");
    }

    /// One or two leafs below the list that are in no list below it. libyang does not survive a `unique` of a leaf whose
    /// default is not in use.
    fn unique(&mut self, list: &[String], from: usize) {
        let made = &self.nodes[from..];
        let in_list = |path: &[String]| {
            made.iter().any(|other| other.kind == Kind::List && path.starts_with(&other.full))
        };
        let is_leaf = |made: &&Made| matches!(made.kind, Kind::Number { .. } | Kind::Word);
        let leafs: Vec<String> = made
            .iter()
            .filter(|made| is_leaf(made) && !in_list(&made.full))
            .filter(|made| !made.default || !made.wavering && made.full.len() == list.len() + 1)
            .map(|made| made.full[list.len()..].join("/"))
            .collect();
        if leafs.is_empty() || !self.one_in(2) {
            return;
        }
        let first = self.pick(leafs.len());
        let second = self.pick(leafs.len());
        let both = if first == second {
            leafs[first].clone()
        } else {
            format!("{} {}", leafs[first], leafs[second])
        };
        let _ = writeln!(self.out, "unique \"{both}\";");
    }

    fn choice(&mut self, inside: &Inside, depth: usize) {
        let name = self.name('h');
        let cases: Vec<String> = (0..2).map(|_| self.name('a')).collect();
        let _ = write!(self.out, "choice {name} {{ ");
        let default = self.one_in(3);
        if default {
            let _ = write!(self.out, "default {}; ", cases[0]);
        } else if inside.may_be_mandatory && self.one_in(3) {
            self.out.push_str("mandatory true; ");
        }
        // The context node of its `when` is what holds it.
        let conditional = self.one_in(4);
        if conditional {
            let condition = self.condition(&inside.path);
            let _ = write!(self.out, "when \"{condition}\"; ");
        }
        self.out.push('\n');
        for (at, case) in cases.iter().enumerate() {
            let _ = writeln!(self.out, "case {case} {{");
            let mut within = inside.clone();
            within.wavering |= conditional;
            within.in_case = true;
            within.may_be_mandatory &= !(default && at == 0);
            within.full.extend([name.clone(), case.clone()]);
            for _ in 0..1 + self.dice.roll(2) {
                self.node(&within, depth + 1);
            }
            self.out.push_str("}\n");
        }
        self.out.push_str("}\n");
    }

    fn pick(&mut self, of: usize) -> usize {
        usize::try_from(self.dice.roll(of as u64)).unwrap()
    }

    fn conditions(&mut self, here: &[String]) {
        if self.one_in(5) {
            let condition = self.condition(here);
            let _ = write!(self.out, "when \"{condition}\"; ");
        }
        if self.one_in(5) {
            let condition = self.condition(here);
            let _ = write!(self.out, "must \"{condition}\"");
            if self.one_in(2) {
                let tag = self.pick(3);
                let _ = write!(self.out, " {{ error-app-tag \"m-{tag}\"; }} ");
            } else {
                self.out.push_str("; ");
            }
        }
    }

    /// Of nodes that were made before, so that no `when` depends on itself.
    fn condition(&mut self, here: &[String]) -> String {
        let one = self.term(here);
        match self.dice.roll(6) {
            0 => format!("{one} or {}", self.term(here)),
            1 => format!("{one} and not({})", self.term(here)),
            2 => format!("not({one})"),
            _ => one,
        }
    }

    fn term(&mut self, here: &[String]) -> String {
        // Of what need not be stored and goes with a `when`, libyang finds out late that it is not there.
        let implied = |made: &Made| made.wavering && (made.kind == Kind::Container || made.default);
        let usable = |made: &Made| !implied(made) && !here.starts_with(&made.path);
        let known: Vec<usize> = (0..self.nodes.len()).filter(|at| usable(&self.nodes[*at])).collect();
        if known.is_empty() {
            return "true()".to_owned();
        }
        let at = known[self.pick(known.len())];
        let (path, kind) = (self.path(here, at), self.nodes[at].kind);
        let number = self.dice.roll(5);
        match (kind, self.dice.roll(4)) {
            (Kind::Number { .. } | Kind::Key | Kind::LeafList, 0) => format!("{path} = {number}"),
            (Kind::Number { .. } | Kind::Key | Kind::LeafList, 1) => format!("{path} > {number}"),
            (Kind::Number { .. } | Kind::Key | Kind::LeafList, 2) => format!("sum({path}) < {}", number + 3),
            (Kind::Word, 0 | 1) => format!("{path} = 'b'"),
            (Kind::Word, 2) => format!("string-length({path}) > 0"),
            (Kind::List, 0) => format!("count({path}) < {}", number + 1),
            (Kind::List, 1) => format!("{path}[g:k = {number}]"),
            (Kind::List, 2) => format!("{path}[last()]/g:k != {number}"),
            _ => path,
        }
    }

    /// The way from `here` to a node, relative or absolute.
    fn path(&mut self, here: &[String], at: usize) -> String {
        let to = self.nodes[at].path.clone();
        if self.one_in(3) {
            return to.iter().fold(String::new(), |path, name| format!("{path}/g:{name}"));
        }
        let common = here.iter().zip(&to).take_while(|(a, b)| a == b).count();
        let ups = vec!["..".to_owned(); here.len() - common];
        let downs = to[common..].iter().map(|name| format!("g:{name}"));
        ups.into_iter().chain(downs).collect::<Vec<_>>().join("/")
    }

    /// A path to a number that was made before.
    fn leafref(&mut self, here: &[String]) -> Option<String> {
        let fits = |made: &Made| matches!(made.kind, Kind::Number { .. } | Kind::Key | Kind::LeafList);
        let known: Vec<usize> = (0..self.nodes.len()).filter(|at| fits(&self.nodes[*at])).collect();
        let at = *known.get(self.pick(known.len().max(1)))?;
        let path = self.path(here, at);
        // A predicate on the list above a target, by a constant that is a sibling key or so would be: by a sibling.
        Some(path)
    }
}

/// A random object of what stands below `parent`: types and cases are right, all else is as it comes. A node is there
/// once in `rarity` plus one times at least.
pub fn object(schema: &Schema, parent: Option<NodeId>, rarity: u64, dice: &mut Dice) -> Map<String, Json> {
    let mut members = Map::new();
    let children = match parent {
        Some(parent) => &schema.node(parent).children,
        None => &schema.roots,
    };
    fill(schema, parent, children, rarity, dice, &mut members);
    members
}

fn fill(
    schema: &Schema,
    parent: Option<NodeId>,
    children: &[NodeId],
    rarity: u64,
    dice: &mut Dice,
    members: &mut Map<String, Json>,
) {
    for id in children {
        let node = schema.node(*id);
        let module = &schema.module_of(*id).name;
        if module != "g" || !node.config {
            continue;
        }
        let name = if parent.is_none() { format!("g:{}", node.name) } else { node.name.clone() };
        let wanted = dice.roll(rarity + 1) == 0;
        match &node.kind {
            NodeKind::Leaf { ty, mandatory, .. }
                if schema.is_key(*id) || wanted || *mandatory && dice.roll(4) != 0 =>
            {
                members.insert(name, value(ty, dice));
            }
            NodeKind::LeafList { ty, .. } if wanted => {
                let values: BTreeMap<String, Json> = (0..1 + dice.roll(3))
                    .map(|_| value(ty, dice))
                    .map(|value| (value.to_string(), value))
                    .collect();
                members.insert(name, Json::Array(values.into_values().collect()));
            }
            NodeKind::Container { presence } => {
                let inner = object(schema, Some(*id), rarity, dice);
                if *presence && wanted || !inner.is_empty() {
                    members.insert(name, Json::Object(inner));
                }
            }
            NodeKind::List { .. } if wanted => {
                let entries: BTreeMap<String, Json> = (0..1 + dice.roll(3))
                    .map(|_| object(schema, Some(*id), rarity, dice))
                    .map(|entry| (entry["k"].to_string(), Json::Object(entry)))
                    .collect();
                members.insert(name, Json::Array(entries.into_values().collect()));
            }
            NodeKind::Choice { .. } if !node.children.is_empty() => {
                let case = node.children[usize::try_from(dice.roll(node.children.len() as u64)).unwrap()];
                fill(schema, parent, &schema.node(case).children, rarity, dice, members);
            }
            _ => {}
        }
    }
}

fn value(ty: &TypeRef, dice: &mut Dice) -> Json {
    match &ty.base {
        Type::Integer { kind: Integer::U8, .. } => json!(dice.roll(5)),
        Type::Enumeration(names) => {
            json!(names[usize::try_from(dice.roll(names.len() as u64)).unwrap()].name)
        }
        Type::Leafref { real, .. } => value(real, dice),
        other => panic!("{other:?}"),
    }
}
