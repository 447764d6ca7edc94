//! Operations that a component carries out: judged before, bounded meanwhile, judged again after.

#![allow(clippy::unwrap_used, clippy::panic)] // a failed set-up is a failed test

mod acm;
mod node;

use acm::{deny, nacm_of, permit, rule, user};
use cats_mgmtd_core::{
    EXECUTE_TIMEOUT, Event, Limits, MOST_EXECUTIONS, Output, Reply, Request, SessionId, Ticket,
};
use cats_yang_tree::build::{SchemaBuilder, Ty};
use cats_yang_tree::error::{Error, ErrorTag};
use cats_yang_tree::operation::Call;
use cats_yang_tree::roxmltree::Document;
use cats_yang_tree::schema::Schema;
use node::{NS, Node, commit, edit, first_error};
use std::sync::Arc;
use std::time::Duration;

/// Access control, and a module with operations.
fn schema() -> Arc<Schema> {
    let guarded = acm::schema();
    let acm =
        guarded.module_by_name("ietf-netconf-acm").map(|id| guarded.module(id).namespace.clone()).unwrap();
    let schema = SchemaBuilder::new().module("ietf-netconf-acm", &acm, "nacm", acm::nacm);
    let schema = schema.module("probe-bench", NS, "pb", |m| {
        m.container("bench", |c| {
            c.list("item", &["name"], |l| {
                l.leaf("name", Ty::string());
                l.action(
                    "reset",
                    |i| {
                        i.leaf("to", Ty::uint32()).default("0");
                    },
                    |_| {},
                );
            });
            c.state(|s| {
                s.list("wait", &["id"], |l| {
                    l.leaf("id", Ty::uint32());
                    l.action("release", |_| {}, |_| {});
                });
            });
        });
        m.rpc(
            "count",
            |i| {
                i.leaf("item", Ty::leafref("/bench/item/name"));
                i.leaf("most", Ty::uint32().range(1, 9)).default("3");
            },
            |o| {
                o.leaf("found", Ty::uint32()).mandatory();
            },
        );
        m.rpc("wipe", |_| {}, |_| {}).flags(|flags| flags.default_deny_all = true);
    });
    Arc::new(schema.build().unwrap())
}

/// A node with a component, and an administrator.
struct Bed {
    node: Node,
    root: SessionId,
}

impl Bed {
    fn new() -> Self {
        let mut bed = Self::without_component();
        bed.node.attach(1, Some(0));
        bed
    }

    fn without_component() -> Self {
        let mut node = Node::of(schema(), Limits::default(), &[], false);
        let mut administrator = user("root");
        administrator.recovery = true;
        let root = node.open_as(administrator).unwrap();
        Self { node, root }
    }

    fn rpc(&self, name: &str, parameters: &str) -> Request {
        let text = format!("<{name} xmlns=\"{NS}\">{parameters}</{name}>");
        let document = Document::parse(&text).unwrap();
        let schema = &self.node.schema;
        let rpc = schema.child(None, schema.module_by_name("probe-bench").unwrap(), name).unwrap();
        Request::Execute(Box::new(Call::rpc(schema, rpc, document.root_element()).unwrap()))
    }

    fn action(&self, content: &str) -> Request {
        let text = format!("<action><bench xmlns=\"{NS}\">{content}</bench></action>");
        let document = Document::parse(&text).unwrap();
        Request::Execute(Box::new(Call::action(&self.node.schema, document.root_element()).unwrap()))
    }

    fn count(&self) -> Request {
        self.rpc("count", "")
    }

    /// What the component was told last.
    fn told(&mut self) -> (Ticket, String, String) {
        match self.node.told.pop() {
            Some(Output::Execute { ticket, operation, input, .. }) => (ticket, operation, input),
            other => panic!("{other:?}"),
        }
    }

    fn executed(&mut self, ticket: Ticket, output: &str) {
        self.node.core.handle_executed(ticket, Ok(output.as_bytes().to_vec()));
        self.node.drain();
    }

    fn has_item(&mut self, name: &str) {
        let root = self.root;
        self.node.ok(root, edit(&format!("<item><name>{name}</name></item>")));
        self.committed();
    }

    /// The administrator commits, and the component takes part.
    fn committed(&mut self) {
        let root = self.root;
        self.node.send(root, commit());
        self.node.planned(1);
        assert_eq!(self.node.reply(root), Some(Reply::Ok));
        self.node.told.clear();
    }
}

/// What the session is told, by the schema.
fn output(bed: &mut Bed, session: SessionId) -> Result<String, Vec<Error>> {
    match bed.node.reply(session).unwrap() {
        Reply::Executed(executed) => executed.to_xml(&bed.node.schema),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_operation_goes_to_the_component_and_its_answer_to_the_session() {
    let mut bed = Bed::new();
    let root = bed.root;
    let asked = bed.rpc("count", "<most>7</most>");
    bed.node.send(root, asked);
    let (ticket, operation, input) = bed.told();
    assert_eq!(
        (operation.as_str(), input.as_str()),
        ("probe-bench:count", r#"{"probe-bench:input":{"most":7}}"#)
    );
    assert_eq!(bed.node.reply(root), None, "it waits");
    bed.executed(ticket, r#"{"probe-bench:output":{"found":2}}"#);
    assert_eq!(output(&mut bed, root).unwrap(), format!("<found xmlns=\"{NS}\">2</found>"));
    let done = Event::Executes { session: root, user: "root".to_owned(), operation };
    assert!(bed.node.events.contains(&done));
}

#[test]
fn what_the_component_answers_against_the_schema_is_its_fault() {
    let mut bed = Bed::new();
    let root = bed.root;
    let asked = bed.count();
    bed.node.send(root, asked);
    let (ticket, ..) = bed.told();
    bed.executed(ticket, r#"{"probe-bench:output":{}}"#);
    assert_eq!(output(&mut bed, root).unwrap_err()[0].tag, ErrorTag::MissingElement);
}

#[test]
fn what_the_component_refuses_reaches_the_session_as_it_is() {
    let mut bed = Bed::new();
    let root = bed.root;
    let asked = bed.count();
    bed.node.send(root, asked);
    let (ticket, ..) = bed.told();
    let error = Error::application(ErrorTag::OperationNotSupported, "no such role");
    bed.node.core.handle_executed(ticket, Err(vec![error.clone()]));
    bed.node.drain();
    assert_eq!(bed.node.reply(root), Some(Reply::Errors(vec![error])));
}

#[test]
fn wrong_input_goes_nowhere() {
    let mut bed = Bed::new();
    bed.has_item("a");
    let root = bed.root;
    for (parameters, tag, path) in [
        ("<most>10</most>", ErrorTag::InvalidValue, "/probe-bench:count/most"),
        ("<item>b</item>", ErrorTag::DataMissing, "/probe-bench:count/item"),
        ("<least>1</least>", ErrorTag::UnknownElement, "/probe-bench:count"),
    ] {
        let asked = bed.rpc("count", parameters);
        let error = bed.node.refused(root, asked);
        assert_eq!((error.tag, error.path.map(|path| path.0)), (tag, Some(path.to_owned())), "{parameters}");
    }
    assert!(bed.node.told.is_empty());
    let asked = bed.rpc("count", "<item>a</item>");
    bed.node.send(root, asked);
    assert_eq!(bed.told().2, r#"{"probe-bench:input":{"item":"a","most":3}}"#);
}

#[test]
fn without_a_component_the_error_says_what_to_start() {
    let mut bed = Bed::without_component();
    let (root, asked) = (bed.root, bed.count());
    let error = bed.node.refused(root, asked);
    assert_eq!(error.tag, ErrorTag::OperationFailed);
    assert!(error.message.contains("start cats-engined"), "{error}");
}

#[test]
fn a_component_that_goes_or_is_late_is_told_apart_and_its_late_words_change_nothing() {
    let mut bed = Bed::new();
    let (root, asked) = (bed.root, bed.count());
    bed.node.send(root, asked.clone());
    let (gone, ..) = bed.told();
    bed.node.detach(1);
    let lost = first_error(bed.node.reply(root).unwrap());
    assert!(lost.tag == ErrorTag::OperationFailed && lost.message.contains("was lost"), "{lost}");
    bed.node.attach(2, Some(0));
    bed.node.send(root, asked.clone());
    let (late, ..) = bed.told();
    bed.node.pass(EXECUTE_TIMEOUT - Duration::from_millis(1));
    assert_eq!(bed.node.reply(root), None);
    assert_eq!(bed.node.core.poll_timeout().map(|(_, why)| why), Some("operation"));
    bed.node.pass(Duration::from_millis(1));
    let error = first_error(bed.node.reply(root).unwrap());
    assert!(error.tag == ErrorTag::OperationFailed && error.message.contains("did not answer"), "{error}");
    for ticket in [gone, late] {
        bed.executed(ticket, r#"{"probe-bench:output":{"found":2}}"#);
    }
    assert_eq!(bed.node.reply(root), None);
    // The session is free for the next.
    bed.node.send(root, asked);
    let (ticket, ..) = bed.told();
    bed.executed(ticket, r#"{"probe-bench:output":{"found":4}}"#);
    assert!(output(&mut bed, root).unwrap().contains(">4<"));
}

#[test]
fn other_sessions_do_not_wait_and_so_many_operations_are_under_way_at_most() {
    let mut bed = Bed::new();
    let asked = bed.count();
    let sessions: Vec<SessionId> = (0..MOST_EXECUTIONS)
        .map(|_| {
            let mut peer = user("root");
            peer.recovery = true;
            let session = bed.node.open_as(peer).unwrap();
            bed.node.send(session, asked.clone());
            session
        })
        .collect();
    let root = bed.root;
    bed.node.config(root, cats_mgmtd_core::Datastore::Running);
    let error = bed.node.refused(root, asked.clone());
    assert_eq!(error.tag, ErrorTag::ResourceDenied);
    // A session that ends makes room, and what is answered to it goes nowhere.
    let (ticket, ..) = bed.told();
    bed.node.drop_session(*sessions.last().unwrap());
    bed.node.send(root, asked);
    assert_eq!(bed.node.reply(root), None);
    bed.executed(ticket, r#"{"probe-bench:output":{"found":2}}"#);
    assert_eq!(bed.node.reply(*sessions.last().unwrap()), None);
}

#[test]
fn an_action_needs_its_instance_which_a_component_may_have_in_its_state() {
    let mut bed = Bed::new();
    bed.has_item("a");
    let root = bed.root;
    let asked = bed.reset("a");
    bed.node.send(root, asked);
    let (ticket, operation, input) = bed.told();
    assert_eq!(operation, "/probe-bench:bench/item[name='a']/reset");
    assert_eq!(input, r#"{"probe-bench:input":{"to":0}}"#);
    bed.executed(ticket, "");
    assert_eq!(output(&mut bed, root).unwrap(), "");
    let asked = bed.reset("z");
    let missing = bed.node.refused(root, asked);
    assert_eq!(missing.tag, ErrorTag::DataMissing);
    assert_eq!(missing.path.unwrap().0, "/probe-bench:bench/item[name='z']");

    let asked = bed.action("<wait><id>7</id><release/></wait>");
    for (state, there) in [(r#"[{"id":7}]"#, true), (r#"[{"id":8}]"#, false)] {
        bed.node.send(root, asked.clone());
        let Some(Output::ReadState { ticket, paths, .. }) = bed.node.told.pop() else { panic!("a question") };
        assert_eq!(paths, ["/probe-bench:bench/wait[id='7']"]);
        let page = serde_json::from_str(&format!(r#"{{"probe-bench:bench":{{"wait":{state}}}}}"#)).unwrap();
        bed.node.state(ticket, page);
        bed.node.drain();
        if there {
            let (ticket, operation, _) = bed.told();
            assert_eq!(operation, "/probe-bench:bench/wait[id='7']/release");
            bed.executed(ticket, "");
            assert_eq!(output(&mut bed, root).unwrap(), "");
        } else {
            assert_eq!(first_error(bed.node.reply(root).unwrap()).tag, ErrorTag::DataMissing);
            assert!(bed.node.told.is_empty());
        }
    }
}

impl Bed {
    /// The administrator gives ada, who is in the group `g`, these rules.
    fn rules(&mut self, settings: &str, rules: &[String]) {
        let root = self.root;
        self.node.ok(root, acm::merge(&nacm_of(settings, "g", rules)));
        self.committed();
    }

    fn reset(&self, item: &str) -> Request {
        self.action(&format!("<item><name>{item}</name><reset/></item>"))
    }
}

/// RFC 8341 sections 3.1.3 and 3.4.4.
#[test]
fn what_is_not_permitted_is_refused_before_anything_else_is_told() {
    let mut bed = Bed::new();
    bed.has_item("a");
    bed.has_item("b");
    bed.rules(
        "",
        &[
            rule("count", "<rpc-name>count</rpc-name>", "exec", false),
            deny("/pb:bench/pb:item[pb:name='b']", "read"),
            deny("/pb:bench/pb:item[pb:name='a']/pb:reset", "*"),
        ],
    );
    let ada = bed.node.open("ada");
    let refused = [
        bed.rpc("count", ""),
        bed.rpc("count", "<most>10</most>"),
        bed.rpc("wipe", ""),
        bed.reset("a"),
        bed.reset("b"),
    ];
    for request in refused {
        let error = bed.node.refused(ada, request.clone());
        assert_eq!(error.tag, ErrorTag::AccessDenied, "{request:?}: {error}");
        assert_eq!(error.path, None, "it tells nothing");
    }
    assert!(bed.node.told.is_empty());
}

/// RFC 8341 section 3.4.4.
#[test]
fn what_a_rule_permits_is_done_whatever_the_defaults_say() {
    let mut bed = Bed::new();
    bed.has_item("a");
    let permitted = [
        rule("wipe", "<rpc-name>wipe</rpc-name>", "exec", true),
        permit("/pb:bench/pb:item/pb:reset", "exec"),
    ];
    bed.rules("<exec-default>deny</exec-default>", &permitted);
    let ada = bed.node.open("ada");
    for (request, operation) in [
        (bed.rpc("wipe", ""), "probe-bench:wipe"),
        (bed.reset("a"), "/probe-bench:bench/item[name='a']/reset"),
    ] {
        bed.node.send(ada, request);
        let (ticket, told, _) = bed.told();
        assert_eq!(told, operation);
        bed.executed(ticket, "");
        assert_eq!(output(&mut bed, ada).unwrap(), "");
    }
    let asked = bed.count();
    assert_eq!(bed.node.refused(ada, asked).tag, ErrorTag::AccessDenied, "nothing permits it");
}
