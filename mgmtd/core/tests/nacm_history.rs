//! Access control of revisions: what is compared is read, and what is loaded is written.

#![allow(clippy::unwrap_used, clippy::panic)] // a failed set-up is a failed test

mod acm;
mod node;

use acm::{in_bench, merge, nacm_of, permit, rule, user};
use cats_mgmtd_core::{Datastore, Limits, Output, Reply, Request, SessionId};
use cats_yang_tree::Tree;
use cats_yang_tree::error::{Error, ErrorTag};
use node::{Node, commit, first_error};

/// Revisions that an administrator made, and ada, whom these rules hold for.
struct Revisions {
    node: Node,
    ada: SessionId,
    trees: Vec<Tree>,
}

impl Revisions {
    fn with_rules(rules: &[String]) -> Self {
        let mut node = Node::of(acm::schema(), Limits::default(), &[], false);
        let mut administrator = user("root");
        administrator.recovery = true;
        let root = node.open_as(administrator).unwrap();
        let ada = node.open("ada");
        let mut trees = vec![node.core.running().1.clone()];
        for content in [
            nacm_of("", "g", rules),
            in_bench("<knob>1</knob><item><name>a</name><key>s3cret</key></item>"),
            in_bench("<knob>2</knob><item><name>a</name><key>0ther</key></item>"),
            in_bench("<knob>3</knob>"),
        ] {
            node.ok(root, merge(&content));
            node.ok(root, commit());
            trees.push(node.core.running().1.clone());
        }
        Self { node, ada, trees }
    }

    /// The answer to ada, whatever is recalled for it.
    fn ask(&mut self, request: Request) -> Reply {
        self.node.send(self.ada, request);
        if let Some(Output::Recall { ticket, revisions, .. }) = self.node.told.pop() {
            let found = revisions.iter().map(|revision| self.trees[*revision as usize].clone()).collect();
            self.node.core.handle_recalled(ticket, Ok(found));
            self.node.drain();
        }
        self.node.reply(self.ada).unwrap()
    }

    fn refused(&mut self, request: Request) -> Error {
        first_error(self.ask(request))
    }
}

#[test]
fn what_may_not_be_read_is_no_difference() {
    let mut revisions = Revisions::with_rules(&[]);
    let Reply::Comparison(comparison) = revisions.ask(Request::CompareRevision { from: 2, to: Some(3) })
    else {
        panic!("not compared")
    };
    let edits = format!("{:?}", comparison.edits(&revisions.node.schema).unwrap());
    assert!(edits.contains("knob"), "{edits}");
    assert!(!edits.contains("s3cret") && !edits.contains("0ther"), "{edits}");
}

#[test]
fn a_revision_is_loaded_by_those_only_who_may_write_what_it_changes() {
    let knob = || permit("/pb:bench/pb:knob", "*");
    let mut revisions = Revisions::with_rules(&[knob()]);
    let before = revisions.node.config(revisions.ada, Datastore::Candidate);
    assert_eq!(revisions.refused(Request::Rollback { revision: 2 }).tag, ErrorTag::AccessDenied);
    assert_eq!(revisions.node.config(revisions.ada, Datastore::Candidate), before);
    assert_eq!(revisions.ask(Request::Rollback { revision: 3 }), Reply::Ok);
    assert!(revisions.node.config(revisions.ada, Datastore::Candidate).contains("<knob>2</knob>"));
}

/// The rules themselves are hidden, and none of them was there at first.
#[test]
fn how_much_a_refused_revision_would_change_out_of_sight_is_not_told() {
    let mut revisions = Revisions::with_rules(&[permit("/pb:bench", "*")]);
    let Reply::Errors(errors) = revisions.ask(Request::Rollback { revision: 0 }) else { panic!("loaded") };
    let [error] = &errors[..] else { panic!("{errors:?}") };
    assert_eq!((error.tag, &error.path), (ErrorTag::AccessDenied, &None));
    assert!(!error.message.contains("delete"), "{error:?}");
}

#[test]
fn each_of_the_operations_can_be_denied() {
    let denied = |name: &str| {
        let what = format!("<module-name>cats-exec</module-name><rpc-name>{name}</rpc-name>");
        rule(name, &what, "exec", false)
    };
    let mut revisions = Revisions::with_rules(&[denied("compare-revision"), denied("rollback")]);
    for request in [Request::CompareRevision { from: 2, to: None }, Request::Rollback { revision: 4 }] {
        assert_eq!(revisions.refused(request).tag, ErrorTag::AccessDenied);
    }
}
