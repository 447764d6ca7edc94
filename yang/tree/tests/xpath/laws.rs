//! Laws that hold for any expression and any data.

use crate::maker::{Dice, Maker, data};
use crate::shop::{Shop, node};
use cats_yang_tree::schema::{NodeId, NodeKind, Schema};
use cats_yang_tree::xpath::{Accessible, Budget, Evaluation, Expr, Outcome, Scope};
use cats_yang_tree::{InstancePath, Tree};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// What a tree stores: the paths of its nodes, with the values of leafs and the order of users' entries.
fn stored(schema: &Schema, tree: &Tree) -> BTreeMap<String, (InstancePath, String)> {
    let mut evaluation = Evaluation::new(schema, tree, Accessible::Stored);
    let root = evaluation.root();
    let mut budget = Budget::new(1_000_000);
    let all = Expr::parse(schema, "//*", Scope::of_modules()).expect("an expression");
    let Ok(Outcome::Nodes(paths)) = all.evaluate(&mut evaluation, root, &mut budget) else {
        panic!("no node-set");
    };
    let value = Expr::parse(schema, "string(self::*[not(*)])", Scope::of_modules()).expect("an expression");
    let earlier = Expr::parse(schema, "count(preceding-sibling::*)", Scope::of_modules()).expect("one more");
    let mut out = BTreeMap::new();
    for path in paths {
        let place = evaluation.place(&path).expect("it is stored");
        let mut text = match value.evaluate(&mut evaluation, place, &mut budget) {
            Ok(Outcome::String(text)) => text,
            other => panic!("{other:?}"),
        };
        if path.node().is_some_and(|node| schema.is_user_ordered(node)) {
            text = format!("{text} {:?}", earlier.evaluate(&mut evaluation, place, &mut budget));
        }
        out.insert(path.render(schema).0, (path, text));
    }
    out
}

/// The paths of what one tree has and the other has not, or otherwise.
fn changed(schema: &Schema, old: &Tree, new: &Tree) -> Vec<InstancePath> {
    let (old, new) = (stored(schema, old), stored(schema, new));
    let one_way = |a: &BTreeMap<String, (InstancePath, String)>,
                   b: &BTreeMap<String, (InstancePath, String)>| {
        let other = |(name, (_, text)): &(&String, &(InstancePath, String))| {
            b.get(*name).is_none_or(|(_, other)| other != text)
        };
        a.iter().filter(other).map(|(_, (path, _))| path.clone()).collect::<Vec<_>>()
    };
    let mut all = one_way(&old, &new);
    all.extend(one_way(&new, &old));
    all
}

/// The instances of `context` in a tree.
fn contexts(schema: &Schema, tree: &Tree, context: NodeId) -> BTreeSet<String> {
    let mut evaluation = Evaluation::new(schema, tree, Accessible::Configuration);
    let root = evaluation.root();
    let chain: Vec<String> = std::iter::successors(Some(context), |id| schema.data_parent(*id))
        .map(|id| format!("{}:{}", schema.module_of(id).name, schema.node(id).name))
        .collect();
    let text = chain.iter().rev().fold(String::new(), |text, name| format!("{text}/{name}"));
    let all = Expr::parse(schema, &text, Scope::of_modules()).expect("an expression");
    match all.evaluate(&mut evaluation, root, &mut Budget::new(100_000)) {
        Ok(Outcome::Nodes(paths)) => paths.iter().map(|path| path.render(schema).0).collect(),
        other => panic!("{other:?}"),
    }
}

/// The value of an expression; of a node-set, whether it has nodes.
fn value(schema: &Schema, tree: &Tree, expression: &Expr, at: &InstancePath) -> String {
    let mut evaluation = Evaluation::new(schema, tree, Accessible::Configuration);
    let place = evaluation.place(at).expect("the context node exists");
    match expression.evaluate(&mut evaluation, place, &mut Budget::new(1_000_000)) {
        Ok(Outcome::Nodes(paths)) => (!paths.is_empty()).to_string(),
        other => format!("{other:?}"),
    }
}

/// Where the value of an expression changes, its dependencies say so. Returns how often it did.
fn dependencies_tell(seed: u64) -> usize {
    let mut dice = Dice(seed);
    let old = Shop::with(&format!("<config>{}</config>", data(&mut dice)));
    let schema = &old.schema;
    // The same again but for one leaf, entry or container; or something else altogether.
    let new = match dice.roll(3) {
        0 => Shop::with(&format!("<config>{}</config>", data(&mut dice))).tree,
        _ => old.without_one(&mut dice),
    };
    let changes = changed(schema, &old.tree, &new);
    let nodes: Vec<NodeId> = schema.data_nodes().map(|node| node.id).collect();
    let mut told = 0;
    for _ in 0..100 {
        let context = dice.pick(&nodes);
        let text =
            Maker { schema, dice: &mut dice, indexable: true, plain: false }.expression(Some(context), 3);
        let expression = Expr::parse(schema, &text, Scope::of_modules()).expect("an expression");
        let Ok(found) = expression.dependencies(schema, Some(context)) else { continue };
        let (before, after) = (contexts(schema, &old.tree, context), contexts(schema, &new, context));
        for at in before.intersection(&after) {
            let path = InstancePath::parse(schema, at).expect("a path");
            if value(schema, &old.tree, &expression, &path) == value(schema, &new, &expression, &path) {
                continue;
            }
            told += 1;
            let tells = |change: &InstancePath| {
                let of = found.iter().filter(|dependency| Some(dependency.node) == change.node());
                of.clone().any(|dependency| path.steps.starts_with(dependency.common(change)))
            };
            assert!(changes.iter().any(tells), "seed {seed}: {text} at {at}: {found:?}");
        }
    }
    told
}

#[test]
fn where_the_value_of_an_expression_changes_a_dependency_changed() {
    let told: usize = (0..100).map(dependencies_tell).sum();
    assert!(told > 100, "{told} changes of values");
}

impl Shop {
    /// Its tree without one random node that is stored.
    fn without_one(&self, dice: &mut Dice) -> Tree {
        use cats_yang_tree::{Operation, Ops, edit};
        let all: Vec<InstancePath> =
            stored(&self.schema, &self.tree).into_values().map(|(path, _)| path).collect();
        let is_key = |path: &InstancePath| path.node().is_some_and(|node| self.schema.is_key(node));
        let other: Vec<&InstancePath> = all.iter().filter(|path| !is_key(path)).collect();
        let path = dice.pick(&other);
        let mut ops = Ops::default();
        ops.push(&self.schema, path, Operation::Remove, None).expect("a path of the schema");
        edit(&self.tree, &self.schema, ops).expect("an edit that fits")
    }
}

/// Pieces of expressions, with a blank between.
const PIECES: &str = "/ // . .. [ ] ( ) @ , :: * | + - = != < <= and or div mod $ ' \" 'a' 1 .5 1. shop item name \
    shop:shop shop:* child:: ancestor:: preceding-sibling:: text() node() last() position() current() count( string( \
    not( deref( concat( sum( é";

/// Pieces put together at random.
fn soup() -> impl Strategy<Value = String> {
    let known: Vec<&str> = PIECES.split_whitespace().collect();
    let piece = prop_oneof![
        4 => prop::sample::select(known).prop_map(str::to_owned),
        1 => Just(" ".to_owned()),
        1 => "[ -~]{0,3}",
        1 => any::<String>(),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_or_the_evaluator_panic(text in soup(), budget in 0u64..20_000) {
        let shop = Shop::open();
        for scope in [shop.scope(), Scope::of_modules()] {
            match Expr::parse(&shop.schema, &text, scope) {
                Ok(expression) => {
                    let mut budget = Budget::new(budget);
                    let mut evaluation = Evaluation::new(&shop.schema, &shop.tree, Accessible::WithState);
                    let root = evaluation.root();
                    let _ = expression.evaluate(&mut evaluation, root, &mut budget);
                    let item = node(&shop.schema, "/shop:shop/item");
                    let _ = expression.dependencies(&shop.schema, Some(item));
                    prop_assert_eq!(expression.text(), text.as_str());
                }
                Err(error) => prop_assert!(!error.to_string().is_empty()),
            }
        }
    }

    /// What a made expression gives does not depend on whether entries are looked up or looked at.
    #[test]
    fn look_ups_find_what_a_search_finds(seed in any::<u64>()) {
        let mut dice = Dice(seed);
        let shop = Shop::with(&format!("<config>{}</config>", data(&mut dice)));
        let schema = &shop.schema;
        let lists: Vec<NodeId> = schema
            .data_nodes()
            .filter(|node| matches!(node.kind, NodeKind::List { .. }) && node.config)
            .map(|node| node.id)
            .collect();
        let list = dice.pick(&lists);
        let key = |id: &NodeId| format!("shop:{}", schema.node(*id).name);
        let mut equal = String::new();
        let mut search = String::new();
        for id in schema.list_keys(list) {
            let operand = Maker { schema, dice: &mut dice, indexable: false, plain: false }.operand();
            equal = format!("[{} = {operand}]{equal}", key(id));
            search = format!("{search}[boolean({} = {operand}) or false()]", key(id));
        }
        let name = &schema.node(list).name;
        let (looked_up, searched) = (shop.at("/", &format!("//shop:{name}/../shop:{name}{equal}")), shop.at("/", &format!("//shop:{name}{search}")));
        prop_assert_eq!(looked_up, searched, "{}", equal);
    }
}
