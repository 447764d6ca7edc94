//! Access control against a specification that asks the rules for each node by itself, over random rules, data and
//! edits.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)] // tests

mod acm;

use acm::{in_bench, nacm_of, rule, tree, user};
use cats_mgmtd_core::{
    Access, Core, DefaultOperation, Facts, Filter, Limits, Now, Output, Reading, Reply, Request, Selection,
};
use cats_yang_tree::schema::{NodeId, Schema};
use cats_yang_tree::{Branch, Data, InstancePath, Step, Tree};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};
use std::time::Instant;

static SCHEMA: LazyLock<Arc<Schema>> = LazyLock::new(acm::schema);

/// A step of a path, with the key that it names.
type Named = (&'static str, Option<(&'static str, &'static str)>);

/// Paths of rules.
const PATHS: &[&[Named]] = &[
    &[],
    &[("bench", None)],
    &[("bench", None), ("knob", None)],
    &[("bench", None), ("tag", None)],
    &[("bench", None), ("tag", Some((".", "x")))],
    &[("bench", None), ("item", None)],
    &[("bench", None), ("item", Some(("name", "a")))],
    &[("bench", None), ("item", Some(("name", "b")))],
    &[("bench", None), ("item", None), ("name", None)],
    &[("bench", None), ("item", None), ("size", None)],
    &[("bench", None), ("item", Some(("name", "a"))), ("size", None)],
    &[("bench", None), ("item", None), ("key", None)],
    &[("bench", None), ("item", None), ("limits", None)],
    &[("bench", None), ("item", Some(("name", "b"))), ("limits", None), ("rate", None)],
    &[("bench", None), ("item", None), ("port", None)],
    &[("bench", None), ("item", None), ("port", Some(("number", "1")))],
    &[("bench", None), ("item", Some(("name", "a"))), ("port", Some(("number", "2")))],
    &[("bench", None), ("item", Some(("name", "a"))), ("port", None), ("number", None)],
    &[("bench", None), ("rule", Some(("id", "2")))],
    &[("bench", None), ("rule", None), ("action", None)],
    &[("bench", None), ("pres", None)],
    &[("bench", None), ("pres", None), ("on", None)],
    &[("bench", None), ("ca", None)],
];

/// Those that name keys of lists.
const KEYS: [usize; 2] = [8, 17];

#[derive(Debug, Clone, Copy)]
struct Rule {
    path: usize,
    reads: bool,
    permit: bool,
}

impl Rule {
    fn xml(self, number: usize) -> String {
        let steps = PATHS[self.path].iter().map(|(name, key)| match key {
            None => format!("/pb:{name}"),
            Some((".", value)) => format!("/pb:{name}[.='{value}']"),
            Some((key, value)) => format!("/pb:{name}[pb:{key}='{value}']"),
        });
        let path: String = steps.collect();
        let path = if path.is_empty() { "/" } else { &path };
        let operations = if self.reads { "read" } else { "update" };
        rule(&format!("r{number}"), &format!("<path>{path}</path>"), operations, self.permit)
    }

    /// Is it about the node at the end of this way?
    fn matches(self, way: &[(String, Vec<(String, String)>)]) -> bool {
        let path = PATHS[self.path];
        self.reads
            && path.len() <= way.len()
            && path.iter().zip(way).all(|((name, key), (step, keys))| {
                name == step && key.is_none_or(|(k, v)| keys.contains(&(k.to_owned(), v.to_owned())))
            })
    }
}

/// The names and keys of a path.
fn way_of(path: &InstancePath) -> Vec<(String, Vec<(String, String)>)> {
    let schema = &**SCHEMA;
    let step = |step: &Step| {
        let names: Vec<String> = match schema.list_keys(step.node) {
            [] => vec![".".to_owned()],
            keys => keys.iter().map(|key| schema.node(*key).name.clone()).collect(),
        };
        let values = step.key.iter().flat_map(|key| key.values()).map(ToString::to_string);
        (schema.node(step.node).name.clone(), names.into_iter().zip(values).collect())
    };
    path.steps.iter().map(step).collect()
}

/// RFC 8341 section 3.4.5 for one node and reading, word by word.
fn may_read(rules: &[Rule], read_default: bool, path: &InstancePath) -> bool {
    let way = way_of(path);
    if let Some(rule) = rules.iter().find(|rule| rule.matches(&way)) {
        return rule.permit;
    }
    let guarded = path.steps.iter().any(|step| SCHEMA.node(step.node).flags.default_deny_all);
    !guarded && read_default
}

/// May the node be seen: it, all above it, and the keys of the entries on the way?
fn is_seen(rules: &[Rule], read_default: bool, path: &InstancePath) -> bool {
    (1..=path.steps.len()).all(|length| {
        let above = InstancePath { steps: path.steps[..length].to_vec() };
        let keys = SCHEMA.list_keys(above.node().unwrap());
        let key = |key: &NodeId| {
            let mut path = above.clone();
            path.steps.push(Step { node: *key, key: None });
            may_read(rules, read_default, &path)
        };
        may_read(rules, read_default, &above) && keys.iter().all(key)
    })
}

/// All nodes of a tree but containers without presence.
fn nodes(tree: &Tree) -> Vec<InstancePath> {
    fn visit(branch: &Branch, path: &InstancePath, out: &mut Vec<InstancePath>) {
        for (node, data) in branch.iter() {
            let at = |key| {
                let mut path = path.clone();
                path.steps.push(Step { node, key });
                path
            };
            match data {
                Data::Leaf(_) | Data::Any(_) => out.push(at(None)),
                Data::LeafList(entries) => out.extend(entries.iter().map(|(key, _)| at(Some(key.clone())))),
                Data::Container(inner) => {
                    if !SCHEMA.is_non_presence(node) {
                        out.push(at(None));
                    }
                    visit(inner, &at(None), out);
                }
                Data::List(entries) => {
                    for (key, entry) in entries.iter() {
                        let path = at(Some(key.clone()));
                        out.push(path.clone());
                        visit(entry, &path, out);
                    }
                }
            }
        }
    }
    let mut out = Vec::new();
    visit(tree.root(), &InstancePath::default(), &mut out);
    out
}

fn rules(
    reads: impl Strategy<Value = bool>,
    permits: impl Strategy<Value = bool>,
) -> impl Strategy<Value = Vec<Rule>> {
    let rule =
        (0..PATHS.len(), reads, permits).prop_map(|(path, reads, permit)| Rule { path, reads, permit });
    prop::collection::vec(rule, 0..24)
}

/// The content of `bench`, piece by piece.
const PIECES: &[&str] = &[
    "<knob>1</knob>",
    "<tag>x</tag>",
    "<tag>y</tag>",
    "<item><name>a</name></item>",
    "<item><name>a</name><size>1</size></item>",
    "<item><name>a</name><key>k</key></item>",
    "<item><name>a</name><limits><rate>1</rate></limits></item>",
    "<item><name>a</name><port><number>1</number><label>l</label></port></item>",
    "<item><name>a</name><port><number>2</number></port></item>",
    "<item><name>b</name><size>2</size></item>",
    "<item><name>b</name><limits><rate>2</rate></limits></item>",
    "<item><name>c</name><port><number>1</number></port></item>",
    "<rule><id>1</id><action>m</action></rule>",
    "<rule><id>2</id><action>n</action></rule>",
    "<rule><id>3</id></rule>",
    "<pres/>",
    "<pres><on>true</on></pres>",
    "<ca>c</ca>",
];

fn data() -> impl Strategy<Value = Tree> {
    prop::collection::vec(prop::bool::ANY, PIECES.len()).prop_map(|wanted| {
        let chosen = PIECES.iter().zip(wanted).filter(|(_, wanted)| *wanted).map(|(piece, _)| *piece);
        chosen.fold(Tree::new(), |before, piece| {
            let text = format!("<config>{}</config>", in_bench(piece));
            let ops = cats_yang_tree::Ops::from_xml_str(&SCHEMA, &text, Default::default()).unwrap();
            cats_yang_tree::edit(&before, &SCHEMA, ops).unwrap()
        })
    })
}

fn access(rules: &[Rule], settings: &str, more: &[String]) -> Access {
    let xml = rules.iter().enumerate().map(|(number, rule)| rule.xml(number)).chain(more.iter().cloned());
    Access::of(&SCHEMA, &tree(&SCHEMA, &nacm_of(settings, "g", &xml.collect::<Vec<_>>())), &user("ada"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn what_is_read_is_what_the_rules_say_node_by_node(
        rules in rules(prop::bool::weighted(0.8), prop::bool::ANY),
        read_default in prop::bool::weighted(0.7),
        data in data(),
    ) {
        let settings = if read_default { "" } else { "<read-default>deny</read-default>" };
        let access = access(&rules, settings, &[]);
        let read = access.readable(&data);
        let found: BTreeSet<String> = nodes(&read).iter().map(|path| path.render(&SCHEMA).0).collect();
        let right: BTreeSet<String> = nodes(&data)
            .iter()
            .filter(|path| is_seen(&rules, read_default, path))
            .map(|path| path.render(&SCHEMA).0)
            .collect();
        prop_assert_eq!(found, right);
        if access.reads_all() {
            prop_assert!(read.ptr_eq(&data));
        }
    }
}

/// Filters, as elements inside of `<filter>`.
const FILTERS: &[&str] = &[
    "<bench xmlns=\"urn:probe:bench\"/>",
    "<bench xmlns=\"urn:probe:bench\"><item><size>1</size></item></bench>",
    "<bench xmlns=\"urn:probe:bench\"><item><name/><key>k</key></item></bench>",
    "<bench xmlns=\"urn:probe:bench\"><item><name>a</name><limits/></item><knob/></bench>",
    "<bench xmlns=\"urn:probe:bench\"><item><limits><rate>2</rate></limits><size/></item></bench>",
    "<bench xmlns=\"urn:probe:bench\"><item><port><number>1</number></port></item></bench>",
    "<bench xmlns=\"urn:probe:bench\"><knob>1</knob><rule><action>n</action></rule><tag/></bench>",
    "<bench xmlns=\"urn:probe:bench\"><tag>x</tag><item/></bench>",
    "<bench xmlns=\"urn:probe:bench\"><pres><on>true</on></pres></bench>",
];

/// A node that runs `nacm` and the data, and answers one session of ada.
fn ask(config: &Tree, request: Request) -> Reply {
    let now = Now { instant: Instant::now(), unix_us: 0 };
    let facts = Facts {
        schema: Arc::clone(&SCHEMA),
        content_id: String::new(),
        schema_index: Arc::from(""),
        capabilities: Vec::new(),
        modules: Vec::new(),
        components: Vec::new(),
        limits: Limits::default(),
        writable_running: false,
    };
    let mut core = Core::new(facts, config.clone(), 0, now);
    let session = core.open_session(user("ada"), now).unwrap();
    core.handle_request(session, request, now);
    while let Some(output) = core.poll_output() {
        if let Output::Reply { reply, .. } = output {
            return reply;
        }
    }
    panic!("no reply")
}

/// `data` beside a `/nacm` with these rules.
fn config(rules: &[Rule], operations: &str, more: &[String], data: &Tree) -> Tree {
    let xml = rules.iter().enumerate().map(|(number, rule)| {
        rule.xml(number)
            .replace(">read<", &format!(">{operations}<"))
            .replace(">update<", &format!(">{operations}<"))
    });
    let text = format!(
        "<config>{}</config>",
        nacm_of("", "g", &xml.chain(more.iter().cloned()).collect::<Vec<_>>())
    );
    let ops = cats_yang_tree::Ops::from_xml_str(&SCHEMA, &text, Default::default()).unwrap();
    cats_yang_tree::edit(data, &SCHEMA, ops).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn a_filter_selects_among_what_may_be_read_only(
        rules in rules(Just(true), prop::bool::weighted(0.3)),
        data in data(),
        filter in prop::sample::select(FILTERS),
    ) {
        let access = access(&rules, "", &[]);
        let request = || Request::GetConfig {
            source: cats_mgmtd_core::Datastore::Running,
            selection: Selection {
                filter: Some(Filter::subtree(&SCHEMA, &format!("<filter>{filter}</filter>")).unwrap()),
                ..Selection::default()
            },
        };
        let reading = |config: &Tree| match ask(config, request()) {
            Reply::Data(reading) => Reading::to_xml(&reading, &SCHEMA).unwrap(),
            other => panic!("{other:?}"),
        };
        let shown = reading(&config(&rules, "read", &[], &data));
        let alone = reading(&config(&rules, "read", &[], &access.readable(&data)));
        prop_assert_eq!(shown, alone);
    }
}

/// Edits of one or two nodes, with the operation at `OP`.
const EDITS: &[&str] = &[
    "<knob OP>1</knob>",
    "<knob OP>2</knob>",
    "<tag OP>x</tag>",
    "<item OP><name>a</name></item>",
    "<item OP><name>a</name><size>1</size></item>",
    "<item OP><name>b</name><limits><rate>2</rate></limits></item>",
    "<item><name>a</name><size OP>1</size></item>",
    "<item><name>a</name><key OP>k</key></item>",
    "<item><name>b</name><limits OP/></item>",
    "<item><name>b</name><limits OP><rate>3</rate></limits></item>",
    "<item><name>b</name><limits><rate OP>2</rate></limits></item>",
    "<item><name>a</name><port OP><number>1</number></port></item>",
    "<item><name>a</name><port OP><number>2</number><label>n</label></port></item>",
    "<item><name>c</name><port OP><number>1</number></port></item>",
    "<rule OP><id>2</id></rule>",
    "<rule OP><id>2</id><action>n</action></rule>",
    "<rule><id>1</id><action OP>q</action></rule>",
    "<pres OP/>",
    "<pres OP><on>true</on></pres>",
    "<ca OP>c</ca>",
    "<cb OP>d</cb>",
    "<knob>1</knob><item OP><name>a</name></item>",
];
const OPERATIONS: &[&str] = &[
    "",
    "nc:operation=\"merge\"",
    "nc:operation=\"replace\"",
    "nc:operation=\"create\"",
    "nc:operation=\"delete\"",
    "nc:operation=\"remove\"",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    /// The answer to an edit is the same whether what its user has no rights to is there or not.
    #[test]
    fn an_edit_tells_nothing_of_what_is_hidden(
        denied in rules(Just(true), Just(false)),
        data in data(),
        edit in prop::sample::select(EDITS),
        operation in prop::sample::select(OPERATIONS),
        default in prop::sample::select(vec![DefaultOperation::Merge, DefaultOperation::Replace, DefaultOperation::None]),
    ) {
        // All that is not denied is permitted. An entry that is hidden by its key alone leaves rights to what is in
        // it, and whoever writes there learns whether it is there.
        let denied: Vec<Rule> = denied.into_iter().filter(|rule| !KEYS.contains(&rule.path)).collect();
        let permitted = [rule("rest", "<module-name>probe-bench</module-name>", "*", true)];
        let whole = config(&denied, "*", &permitted, &data);
        let access = Access::of(&SCHEMA, &whole, &user("ada"));
        let shown = config(&denied, "*", &permitted, &access.readable(&data));
        let content = in_bench(&edit.replace("OP", operation));
        let request = || Request::EditConfig(acm::edit_with(&content, default));
        let (told, right) = (ask(&whole, request()), ask(&shown, request()));
        prop_assert_eq!(told, right, "{} {:?}", content, default);
    }
}
