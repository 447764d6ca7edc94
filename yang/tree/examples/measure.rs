//! Times of edits, diffs and reads with many entries: `cargo run --release -p cats-yang-tree --example measure [N]`.
#![allow(clippy::expect_used)] // a wrong schema ends the measurement

use cats_yang_tree::build::{SchemaBuilder, Ty};
use cats_yang_tree::schema::Schema;
use cats_yang_tree::xpath::{Accessible, Budget, Evaluation, Expr, Scope};
use cats_yang_tree::{DefaultOperation, Defaults, InstancePath, Ops, Tree, diff, edit, validate, view};
use std::fmt::Write as _;
use std::time::Instant;

fn main() {
    let count: usize = std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(10_000);
    let (schema, config) = (schema(), config(count));
    let clock = Clock(Instant::now());
    let ops = Ops::from_xml_str(&schema, &config, DefaultOperation::Merge).expect("good XML");
    let clock = clock.lap("read XML");
    let full = edit(&Tree::new(), &schema, ops).expect("fits");
    let clock = clock.lap("edit");
    let changes = diff(&Tree::new(), &full);
    let clock = clock.lap("diff from empty");
    let (full, _) = validate(&schema, &Tree::new(), full, changes).expect("valid");
    let clock = clock.lap("validate all");
    let xml = view(&full, &schema, Defaults::Explicit).to_xml();
    let clock = clock.lap("write XML");
    let all = view(&full, &schema, Defaults::ReportAll);
    let clock = clock.lap("report-all view");
    let small =
        "<config><top xmlns=\"urn:measure\"><item><name>n5</name><size>77</size></item></top></config>";
    let ops = Ops::from_xml_str(&schema, small, DefaultOperation::Merge).expect("good XML");
    let one = edit(&full, &schema, ops).expect("fits");
    let clock = clock.lap("edit one leaf");
    let changes = diff(&full, &one);
    let clock = clock.lap("diff of one leaf");
    let (_, changes) = validate(&schema, &full, one, changes).expect("valid");
    let clock = clock.lap("validate one leaf");
    let items = evaluate(&schema, &full, count);
    let clock = clock.lap(&format!("evaluate a must on {items} entries"));
    let ops = Ops::from_xml_str(&schema, &config, DefaultOperation::Replace).expect("good XML");
    let same = edit(&full, &schema, ops).expect("fits");
    clock.lap("replace with the same, reading included");
    assert!(same.ptr_eq(&full) && changes.changes.len() == 1 && !all.is_empty());
    println!("{} entries, {} bytes of XML, resident {}", count, xml.len(), resident());
}

/// Evaluates a `must` that reads a leaf beside its context node, on each entry.
fn evaluate(schema: &Schema, tree: &Tree, count: usize) -> usize {
    let must =
        Expr::parse(schema, "../size > 0 and ../enabled = 'true'", Scope::of_modules()).expect("good XPath");
    let mut evaluation = Evaluation::new(schema, tree, Accessible::Configuration);
    let mut budget = Budget::new(u64::MAX);
    let holds = |at: usize| {
        let path = format!("/measure:top/item[name='n{at}']/descr");
        let path = InstancePath::parse(schema, &path).expect("a path of the schema");
        let place = evaluation.place(&path).expect("an entry");
        let holds = must.holds(&mut evaluation, place, &mut budget).expect("few steps");
        evaluation.forget(evaluation.root());
        holds
    };
    (0..count).map(holds).filter(|holds| *holds).count()
}

struct Clock(Instant);

impl Clock {
    fn lap(self, what: &str) -> Self {
        println!("{what}: {:.3} ms", self.0.elapsed().as_secs_f64() * 1e3);
        Self(Instant::now())
    }
}

fn resident() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS"));
    line.map_or_else(|| "unknown".to_owned(), |line| line.trim_start_matches("VmRSS:").trim().to_owned())
}

fn schema() -> Schema {
    SchemaBuilder::new()
        .module("measure", "urn:measure", "m", |m| {
            m.container("top", |c| {
                c.list("item", &["name"], |l| {
                    l.leaf("name", Ty::string().length(1, 64));
                    l.leaf("descr", Ty::string().pattern("[a-z ]*"));
                    l.leaf("size", Ty::uint32().range(1, 1_000_000));
                    l.leaf("enabled", Ty::boolean()).default("true");
                    l.leaf("peer", Ty::leafref("../../item/name"));
                });
            });
        })
        .build()
        .expect("a good schema")
}

fn config(count: usize) -> String {
    let mut config = String::from("<config><top xmlns=\"urn:measure\">");
    for at in 0..count {
        let peer = (at + 1) % count;
        let _ = write!(
            config,
            "<item><name>n{at}</name><descr>an item</descr><size>{}</size><enabled>true</enabled><peer>n{peer}</peer></item>",
            at % 999_999 + 1
        );
    }
    config.push_str("</top></config>");
    config
}
