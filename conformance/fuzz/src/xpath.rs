//! XPath: what an expression means does not depend on how it is found out.

use crate::content::{lacking, tree};
use crate::input::Input;
use crate::laws;
use crate::schema::{A, B, schema};
use cats_yang_tree::xpath::{Accessible, Budget, Evaluation, Expr, Outcome, Scope, XPathError, select};
use cats_yang_tree::{Defaults, Found, InstancePath, Tree, view, xml};
use std::collections::HashSet;

/// The steps that an evaluation may take here.
const STEPS: u64 = 20_000;

/// Where expressions are evaluated.
const CONTEXTS: [&str; 8] = [
    "/",
    "/fuzz-a:top/lists/item[name='a']",
    "/fuzz-a:top/lists/chosen",
    "/fuzz-a:top/lists/item[name='a']/deep/sub[id='1']/text",
    "/fuzz-a:top/lists/tag[.='t1']",
    "/fuzz-a:top/scalars/fuzz-b:more/form",
    "/fuzz-a:top/left",
    "/fuzz-b:lone",
];

/// A byte for the context and what is accessible, one for a node that is taken away, then the expression, with the
/// prefixes a and b bound. Its value is the same twice, agrees with what functions say of it and with what it selects
/// as a filter, and changes only when something changes that it depends on.
pub fn xpath(data: &[u8]) {
    let mut input = Input(data);
    let (option, away) = (input.byte(), input.byte());
    let Ok(text) = std::str::from_utf8(input.0) else { return };
    let context = CONTEXTS[usize::from(option) % CONTEXTS.len()];
    let at = InstancePath::parse(schema(), context).expect("a path of the schema");
    let accessible = match (option >> 3) % 3 {
        0 => Accessible::Configuration,
        1 => Accessible::WithState,
        _ => Accessible::Stored,
    };
    let Ok(expression) = Expr::parse(schema(), text, scope()) else { return };
    let Some(value) = value(&expression, tree(), &at, accessible) else { return };
    let Ok(value) = value else { return };
    functions(text, &value, &at, accessible);
    if let Outcome::Nodes(nodes) = &value {
        those(nodes, accessible);
        if at.steps.is_empty() && accessible == Accessible::Stored {
            selected(&expression, nodes);
        }
    }
    depends(&expression, &value, &at, accessible, usize::from(away));
}

fn scope() -> Scope {
    let element = format!("<x xmlns:a=\"{A}\" xmlns:b=\"{B}\"/>");
    let document = xml::parse(&element).expect("it is XML");
    Scope::of_element(schema(), document.root_element())
}

/// The value at a place, twice the same; none when the place is not there.
fn value(
    expression: &Expr,
    tree: &Tree,
    at: &InstancePath,
    accessible: Accessible,
) -> Option<Result<Outcome, XPathError>> {
    let mut evaluation = Evaluation::new(schema(), tree, accessible);
    let place = evaluation.place(at)?;
    let mut budget = Budget::new(STEPS);
    let value = expression.evaluate(&mut evaluation, place, &mut budget);
    assert!(budget.taken() <= STEPS, "{} steps were taken", budget.taken());
    let mut again = Budget::new(STEPS);
    let second = expression.evaluate(&mut evaluation, place, &mut again);
    assert!(same(&value, &second), "{value:?} and then {second:?}");
    if let Ok(value) = &value {
        assert_eq!(std::mem::discriminant(&kind(value)), std::mem::discriminant(&expression.kind()));
        if let Ok(holds) = expression.holds(&mut evaluation, place, &mut Budget::new(STEPS)) {
            assert_eq!(holds, truth(value), "{value:?}");
        }
    }
    Some(value)
}

/// The same, where not-a-number is itself.
fn same(a: &Result<Outcome, XPathError>, b: &Result<Outcome, XPathError>) -> bool {
    match (a, b) {
        (Ok(Outcome::Number(a)), Ok(Outcome::Number(b))) => a == b || a.is_nan() && b.is_nan(),
        (a, b) => a == b,
    }
}

fn kind(value: &Outcome) -> cats_yang_tree::xpath::Kind {
    use cats_yang_tree::xpath::Kind;
    match value {
        Outcome::Nodes(_) => Kind::Nodes,
        Outcome::String(_) => Kind::String,
        Outcome::Number(_) => Kind::Number,
        Outcome::Boolean(_) => Kind::Boolean,
    }
}

/// Section 4.3 of XPath 1.0.
fn truth(value: &Outcome) -> bool {
    match value {
        Outcome::Nodes(nodes) => !nodes.is_empty(),
        Outcome::String(text) => !text.is_empty(),
        Outcome::Number(number) => *number != 0.0 && !number.is_nan(),
        Outcome::Boolean(value) => *value,
    }
}

/// What functions and predicates say of the value, if the longer expression is not too much.
fn functions(text: &str, value: &Outcome, at: &InstancePath, accessible: Accessible) {
    let ask = |text: String| -> Option<Outcome> {
        let expression = Expr::parse(schema(), &text, scope()).ok()?;
        self::value(&expression, tree(), at, accessible)?.ok()
    };
    let agrees = |text: String, wanted: &Outcome| {
        if let Some(found) = ask(text.clone()) {
            assert!(same(&Ok(found.clone()), &Ok(wanted.clone())), "{text} is {found:?}, not {wanted:?}");
        }
    };
    agrees(format!("not({text})"), &Outcome::Boolean(!truth(value)));
    agrees(format!("boolean({text})"), &Outcome::Boolean(truth(value)));
    let Outcome::Nodes(nodes) = value else { return };
    let count = nodes.len() as f64;
    agrees(format!("count({text})"), &Outcome::Number(count));
    agrees(format!("({text}) | ({text})"), value);
    agrees(format!("({text})[true()]"), value);
    agrees(format!("({text})[position() < 3]"), &Outcome::Nodes(nodes.iter().take(2).cloned().collect()));
    agrees(format!("({text})[1]"), &Outcome::Nodes(nodes.first().cloned().into_iter().collect()));
    agrees(format!("({text})[last()]"), &Outcome::Nodes(nodes.last().cloned().into_iter().collect()));
    agrees(format!("count(({text})[last() = {count}])"), &Outcome::Number(count));
}

/// Each once, and each there where what is stored is all there is.
fn those(nodes: &[InstancePath], accessible: Accessible) {
    for node in nodes {
        laws::texts(node);
        let found = tree().find(node);
        assert!(accessible != Accessible::Stored || found.is_some(), "{node:?} is not there");
    }
}

/// As a filter it selects these nodes.
fn selected(expression: &Expr, nodes: &[InstancePath]) {
    let all = view(tree(), schema(), Defaults::Explicit);
    let mut budget = Budget::new(STEPS);
    let Ok(places) = select(schema(), tree(), expression, Accessible::Stored, &mut budget) else { return };
    let (by_filter, by_value) = (all.at(&places).tree(), all.at(nodes).tree());
    assert_eq!(by_filter, by_value, "{places:?} where the value is {nodes:?}");
    assert!(nodes.iter().all(|node| matches!(by_filter.find(node), Some(found) if !empty(&found))));
}

fn empty(found: &Found<'_>) -> bool {
    matches!(found, Found::List(entries) if entries.is_empty())
}

/// Without a node that the expression does not depend on, its value is the same.
fn depends(expression: &Expr, value: &Outcome, at: &InstancePath, accessible: Accessible, away: usize) {
    let Ok(dependencies) = expression.dependencies(schema(), at.node()) else { return };
    let without = &lacking()[away % lacking().len()];
    let gone: HashSet<&InstancePath> = without.gone.iter().collect();
    let touched = gone.iter().any(|gone| {
        let mut all = dependencies.iter();
        all.any(|one| Some(one.node) == gone.node() && at.steps.starts_with(one.common(gone)))
    });
    if touched || accessible == Accessible::Stored {
        return;
    }
    if let Some(after) = self::value(expression, &without.tree, at, accessible) {
        assert!(
            same(&Ok(value.clone()), &after),
            "{value:?} became {after:?} without {:?}, on which it does not depend",
            without.gone.first().map(|path| path.render(schema()))
        );
    }
}
