//! Random data and expressions of the module `shop`: for laws that hold for all, and for comparison with another
//! evaluator.
#![allow(clippy::expect_used)] // a failure here is a failed test

use cats_yang_tree::schema::{NodeId, NodeKind, Schema};
use std::fmt::Write as _;

/// splitmix64: all the randomness that is needed.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % sides
    }

    /// One of these.
    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[usize::try_from(self.roll(from.len() as u64)).expect("a small number")]
    }
}

const WORDS: [&str; 5] = ["a", "b", "10", "w x", ""];

/// Random content of the shop, as XML.
pub(crate) fn data(dice: &mut Dice) -> String {
    let mut out = String::from("<shop xmlns=\"urn:shop\">");
    let name = dice.pick(&WORDS);
    maybe(&mut out, dice, "name", name);
    for tag in ["z", "a", "10"] {
        maybe(&mut out, dice, "tag", tag);
    }
    maybe(&mut out, dice, "hour", "10");
    if dice.roll(2) == 0 {
        out.push_str("<policy>");
        let (limit, text) = (dice.roll(12).to_string(), dice.pick(&WORDS));
        maybe(&mut out, dice, "limit", &limit);
        maybe(&mut out, dice, "text", text);
        out.push_str("</policy>");
    }
    for name in ["a", "b", "c"] {
        if dice.roll(4) > 0 {
            item(&mut out, dice, name);
        }
    }
    for id in [30, 10, 20] {
        if dice.roll(3) > 0 {
            let _ = write!(out, "<rule><id>{id}</id>");
            maybe(&mut out, dice, "act", "deny");
            out.push_str("</rule>");
        }
    }
    maybe(&mut out, dice, "best", "b");
    if dice.roll(2) == 0 {
        out.push_str("<vault>");
        maybe(&mut out, dice, "code", "9");
        out.push_str("</vault>");
    }
    out.push_str(dice.pick(&["<cash>5</cash>", "<card>a</card>", ""]));
    out.push_str("</shop>");
    out
}

fn item(out: &mut String, dice: &mut Dice, name: &str) {
    let _ = write!(out, "<item><name>{name}</name>");
    let (price, stock) = (format!("{}.5", dice.roll(3)), dice.roll(12).to_string());
    maybe(out, dice, "price", &price);
    maybe(out, dice, "stock", &stock);
    maybe(out, dice, "on", "false");
    if dice.roll(2) == 0 {
        let kind = dice.pick(&["fruit", "apple", "tool"]);
        let _ = write!(out, "<kind xmlns:q=\"urn:shop\">q:{kind}</kind>");
    }
    maybe(out, dice, "flags", "cold fresh");
    maybe(out, dice, "grade", "fine");
    for width in 1..3 {
        if dice.roll(2) == 0 {
            let _ = write!(out, "<size><width>{width}</width><height>{}</height>", dice.roll(3));
            maybe(out, dice, "label", &format!("l{width}"));
            out.push_str("</size>");
        }
    }
    if dice.roll(3) == 0 {
        out.push_str("<extra xmlns=\"urn:extra\">more</extra>");
    }
    out.push_str("</item>");
}

fn maybe(out: &mut String, dice: &mut Dice, name: &str, text: &str) {
    if dice.roll(3) > 0 {
        let _ = write!(out, "<{name}>{text}</{name}>");
    }
}

/// Makes expressions that are likely to meet something. Names have modules as prefixes.
pub(crate) struct Maker<'d> {
    pub(crate) schema: &'d Schema,
    pub(crate) dice: &'d mut Dice,
    /// Without what has no index: `//`, `preceding` and the like.
    pub(crate) indexable: bool,
    /// Without what libyang evaluates otherwise than the recommendation: rounding and fractions, the white space
    /// that it puts into the string-values of containers, comparisons of node-sets with booleans, text nodes,
    /// positions and order behind steps from several nodes, the root as a node of `ancestor::*`, keys that equal any
    /// of several nodes, and `enum-value()` of what is no leaf.
    pub(crate) plain: bool,
}

impl Maker<'_> {
    /// A value to compare a key with, the same for all entries.
    pub(crate) fn operand(&mut self) -> String {
        match self.dice.roll(4) {
            0 => self.string(None, 0),
            1 => self.number(None, 0),
            2 => {
                format!("/shop:shop/shop:{}", self.pick(&["best", "tag", "name", "hour", "item/shop:stock"]))
            }
            _ => format!("concat({}, '')", self.string(None, 0)),
        }
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        self.dice.pick(from)
    }

    fn name(&self, node: NodeId) -> String {
        format!("{}:{}", self.schema.module_of(node).name, self.schema.node(node).name)
    }

    /// An expression for a context node of `at`.
    pub(crate) fn expression(&mut self, at: Option<NodeId>, depth: u32) -> String {
        match self.dice.roll(4) {
            0 => self.nodes(at, depth),
            1 => self.number(at, depth),
            2 => self.string(at, depth),
            _ => self.boolean(at, depth),
        }
    }

    fn number(&mut self, at: Option<NodeId>, depth: u32) -> String {
        let Some(below) = depth.checked_sub(1) else {
            let numbers = ["0", "1", "2", "7", "10", "-3", "0.5"];
            return self.pick(if self.plain { &numbers[..6] } else { &numbers }).to_owned();
        };
        let kinds = if self.plain { 5 } else { 8 };
        match self.dice.roll(kinds) {
            0 => format!("count({})", self.nodes(at, below)),
            1 if self.plain => format!("sum({})", self.leaf(at, below)),
            1 => format!("sum({})", self.nodes(at, below)),
            2 => {
                let operator =
                    self.pick(if self.plain { &["+", "-"] } else { &["+", "-", "*", "div", "mod"] });
                format!("({} {operator} {})", self.number(at, below), self.number(at, below))
            }
            3 if self.plain => format!("number({})", self.string(at, below)),
            3 => format!("number({})", self.expression(at, below)),
            4 => format!("string-length({})", self.string(at, below)),
            5 => format!("{}({})", self.pick(&["floor", "ceiling", "round"]), self.number(at, below)),
            6 => format!("enum-value({})", self.nodes(at, below)),
            _ => self.number(at, 0),
        }
    }

    fn string(&mut self, at: Option<NodeId>, depth: u32) -> String {
        let Some(below) = depth.checked_sub(1) else {
            return self
                .pick(&["'a'", "'b'", "'10'", "'w x'", "''", "'1'", "'true'", "'shop:apple'"])
                .to_owned();
        };
        match self.dice.roll(8) {
            0 => format!("string({})", self.leaf(at, below)),
            1 => format!("concat({}, {})", self.string(at, below), self.string(at, below)),
            2 => format!("substring({}, {})", self.string(at, below), self.number(at, 0)),
            3 => {
                let function = self.pick(&["substring-before", "substring-after"]);
                format!("{function}({}, {})", self.string(at, below), self.string(at, below))
            }
            4 => format!("normalize-space({})", self.string(at, below)),
            5 => format!("translate({}, 'ab1', 'BA')", self.string(at, below)),
            6 => format!("local-name({})", self.nodes(at, below)),
            _ => self.string(at, 0),
        }
    }

    fn boolean(&mut self, at: Option<NodeId>, depth: u32) -> String {
        let Some(below) = depth.checked_sub(1) else {
            return self.pick(&["true()", "false()"]).to_owned();
        };
        match self.dice.roll(9) {
            0 => format!("not({})", self.expression(at, below)),
            1 => format!(
                "({} {} {})",
                self.boolean(at, below),
                self.pick(&["and", "or"]),
                self.boolean(at, below)
            ),
            2 => format!("boolean({})", self.nodes(at, below)),
            3 => format!("contains({}, {})", self.string(at, below), self.string(at, below)),
            4 => format!("re-match({}, '[a-z0-9]*')", self.string(at, below)),
            5 => {
                let nodes = if self.plain { self.leaf(at, below) } else { self.nodes(at, below) };
                format!("derived-from{}({nodes}, 'shop:fruit')", self.pick(&["", "-or-self"]))
            }
            _ => {
                let operator = self.pick(&["=", "!=", "<", "<=", ">", ">="]);
                let right = match self.dice.roll(4) {
                    0 => self.leaf(at, below),
                    1 => self.string(at, below),
                    2 if !self.plain => self.boolean(at, below),
                    _ => self.number(at, below),
                };
                format!("({} {operator} {right})", self.leaf(at, below))
            }
        }
    }

    /// A path to leafs.
    fn leaf(&mut self, at: Option<NodeId>, depth: u32) -> String {
        self.path(at, depth, true)
    }

    fn nodes(&mut self, at: Option<NodeId>, depth: u32) -> String {
        match self.dice.roll(6) {
            0 if depth > 0 => {
                format!("({} | {})", self.path(at, depth - 1, false), self.path(at, depth - 1, false))
            }
            1 if depth > 0 => format!("({})[{}]", self.path(at, depth - 1, false), self.number(None, 0)),
            2 if depth > 0 && !self.plain => {
                let (one, other) = (self.path(at, depth - 1, false), self.path(at, depth - 1, false));
                format!("({one} | {other})/{}", self.pick(&["..", "*", "*[last()]", "shop:name", "../*[2]"]))
            }
            _ => self.path(at, depth, false),
        }
    }

    fn path(&mut self, from: Option<NodeId>, depth: u32, to_leaf: bool) -> String {
        let (at, start) = match self.dice.roll(4) {
            0 => (None, String::new()),
            1 => {
                let shop = self.schema.data_children_of(None).first().copied();
                (shop, "current()/ancestor-or-self::shop:shop".to_owned())
            }
            2 => {
                let (mut at, mut start) = (from, ".".to_owned());
                while let Some(node) = at.filter(|_| self.dice.roll(2) == 0) {
                    start.push_str("/..");
                    at = self.schema.data_parent(node);
                }
                (at, start)
            }
            _ => {
                let steps = self.steps(from, depth, to_leaf);
                return if steps.is_empty() { ".".to_owned() } else { steps };
            }
        };
        let steps = self.steps(at, depth, to_leaf);
        if steps.is_empty() { start } else { format!("{start}/{steps}") }
    }

    fn steps(&mut self, from: Option<NodeId>, depth: u32, to_leaf: bool) -> String {
        let mut at = from;
        let mut out: Vec<String> = Vec::new();
        loop {
            let children: Vec<NodeId> = self.schema.data_children_of(at).to_vec();
            if children.is_empty() {
                break;
            }
            let child = self.dice.pick(&children);
            let (test, next) = match self.dice.roll(14) {
                0 if !to_leaf => ("*".to_owned(), child),
                1 if !to_leaf && !self.plain => ("node()".to_owned(), child),
                2 if !self.indexable => (format!("descendant::{}", self.name(child)), child),
                3 if !to_leaf => {
                    let all = ["following-sibling", "preceding-sibling", "ancestor", "ancestor-or-self"];
                    let axis = match self.dice.roll(6) {
                        _ if self.plain => self.dice.pick(&all[..2]),
                        0 if !self.indexable => "following",
                        1 if !self.indexable => "preceding",
                        _ => self.pick(&all),
                    };
                    let same = at.unwrap_or(child);
                    let test = if self.dice.roll(2) == 0 { "*".to_owned() } else { self.name(same) };
                    (format!("{axis}::{test}"), same)
                }
                _ => (self.name(child), child),
            };
            let mut step = test;
            // Behind '*' a predicate may meet what it was not made for.
            let exact = !self.plain || !step.ends_with('*');
            if depth > 0 && exact && self.dice.roll(3) == 0 {
                let _ = write!(step, "[{}]", self.predicate(next, depth - 1));
            }
            if !self.indexable && !self.plain && self.dice.roll(12) == 0 {
                // Below anything that stands there.
                step.insert_str(0, if out.is_empty() { "descendant-or-self::node()/" } else { "/" });
            }
            if self.dice.roll(12) == 0 && !self.plain {
                let _ = write!(step, "/../{}", self.pick(&["*", "node()", "shop:name", "shop:item", "."]));
            }
            out.push(step);
            at = Some(next);
            let more =
                matches!(self.schema.node(next).kind, NodeKind::Container { .. } | NodeKind::List { .. });
            if !more || (!to_leaf && self.dice.roll(4) == 0) {
                break;
            }
        }
        out.join("/")
    }

    fn predicate(&mut self, at: NodeId, depth: u32) -> String {
        let keys = self.schema.list_keys(at).to_vec();
        match self.dice.roll(6) {
            0 | 1 if !keys.is_empty() => {
                let equal = |maker: &mut Self, key: &NodeId| {
                    let value = match maker.dice.roll(3) {
                        0 => maker.string(Some(at), 0),
                        1 => maker.number(Some(at), 0),
                        _ if maker.plain => maker.string(Some(at), 0),
                        _ => maker.leaf(None, 0),
                    };
                    format!("{} = {value}", maker.name(*key))
                };
                let terms: Vec<String> = keys.iter().rev().map(|key| equal(self, key)).collect();
                terms.join(self.pick(&[" and ", "]["]))
            }
            2 if !self.plain => self
                .pick(&["1", "2", "last()", "position() > 1", "position() = last()", "last() - 1"])
                .to_owned(),
            3 => self.nodes(Some(at), depth),
            _ => self.boolean(Some(at), depth),
        }
    }
}
