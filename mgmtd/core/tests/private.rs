//! Private candidates (draft-ietf-netconf-privcand-09), by its sections.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a failed set-up is a failed test

mod node;

use cats_mgmtd_core::{
    CommitOptions, Compare, Confirmed, Datastore, DefaultOperation, Limits, NmdaDatastore, Output, Reply,
    Request, Resolution, Selection, SessionId, Source, Target,
};
use cats_yang_tree::build::{SchemaBuilder, Ty};
use cats_yang_tree::error::{Error, ErrorTag};
use cats_yang_tree::schema::Schema;
use node::{NS, Node, commit, config, edit, holder, knob, lock, unlock};
use std::sync::Arc;
use std::time::Duration;

use Datastore::{Candidate, Running};
use Resolution::{PreferCandidate, PreferRunning, RevertOnConflict};

impl Node {
    /// A session whose client has announced the capability.
    fn private(&mut self, user: &str) -> SessionId {
        let session = self.open(user);
        self.core.handle_private_candidate(session);
        session
    }

    fn committed(&mut self, session: SessionId, content: &str) {
        self.ok(session, edit(content));
        self.ok(session, commit());
    }

    fn conflicts(&mut self, session: SessionId, request: Request) -> Vec<String> {
        match self.ask(session, request) {
            Reply::Errors(errors) => errors.iter().map(place).collect(),
            other => panic!("no conflict: {other:?}"),
        }
    }
}

fn place(error: &Error) -> String {
    assert_eq!(error.tag, ErrorTag::OperationFailed, "{error}");
    error.path.as_ref().expect("a conflict names its node").0.clone()
}

fn update(resolution: Resolution) -> Request {
    Request::Update { resolution }
}

fn item(name: &str, size: u32) -> String {
    format!("<item><name>{name}</name><size>{size}</size></item>")
}

fn gone(name: &str) -> String {
    format!("<item nc:operation=\"delete\"><name>{name}</name></item>")
}

/// A node with two private sessions and running as the examples of the draft have it: two entries.
fn two() -> (Node, SessionId, SessionId) {
    let mut node = Node::new();
    let (a, b) = (node.private("ada"), node.private("bob"));
    node.committed(a, &(item("one", 1) + &item("two", 2)));
    node.ok(b, update(RevertOnConflict));
    (node, a, b)
}

#[test]
fn a_private_candidate_is_neither_seen_nor_changed_by_others() {
    let mut node = Node::new();
    let (a, b, shared) = (node.private("ada"), node.private("bob"), node.open("sue"));
    node.ok(a, knob(1));
    node.ok(b, knob(2));
    node.ok(shared, knob(3));
    for (session, knob) in [(a, 1), (b, 2), (shared, 3)] {
        let seen = node.config(session, Candidate);
        assert!(seen.contains(&format!("<knob>{knob}</knob>")), "{seen}");
    }
    assert_eq!(node.running(), "");
}

#[test]
fn it_is_made_of_running_by_the_first_request_that_needs_it() {
    let data = || Request::GetData { datastore: NmdaDatastore::Candidate, selection: Selection::default() };
    let read = || Request::GetConfig { source: Candidate, selection: Selection::default() };
    for first in [data(), read(), Request::Validate { source: Source::Datastore(Candidate) }, lock(Candidate)]
    {
        let mut node = Node::new();
        let (a, b) = (node.private("ada"), node.private("bob"));
        node.committed(b, "<knob>1</knob>");
        node.ask(a, first);
        node.committed(b, "<knob>2</knob>");
        let seen = node.config(a, Candidate);
        assert!(seen.contains("<knob>1</knob>"), "as running was then: {seen}");
    }
}

#[test]
fn get_does_not_make_it() {
    let mut node = Node::new();
    let (a, b) = (node.private("ada"), node.private("bob"));
    node.ask(a, Request::Get(Selection::default()));
    node.committed(b, "<knob>2</knob>");
    assert!(node.config(a, Candidate).contains("<knob>2</knob>"));
}

#[test]
fn edit_data_and_copy_config_work_on_it() {
    let mut node = Node::new();
    let (a, shared) = (node.private("ada"), node.open("sue"));
    let datastore = NmdaDatastore::Candidate;
    let merge = DefaultOperation::Merge;
    let content = config("<knob>4</knob>");
    node.ok(a, Request::EditData { datastore, default_operation: merge, config: content });
    assert!(node.config(a, Candidate).contains("<knob>4</knob>"));
    let copy =
        |source| Request::CopyConfig { target: Target::Datastore(Candidate), source, with_defaults: None };
    node.ok(a, copy(Source::Config(config("<knob>5</knob>"))));
    assert!(node.config(a, Candidate).contains("<knob>5</knob>"));
    assert_eq!(node.config(shared, Candidate), "");
    node.ok(a, copy(Source::Datastore(Running)));
    assert_eq!(node.config(a, Candidate), "");
}

/// Whoever compares sees what runs while a confirmed commit waits, and what is theirs alone once it is taken back and they
/// have updated.
#[test]
fn compare_while_anothers_confirmed_commit_waits_is_about_what_runs() {
    let mut node = Node::new();
    let (a, b, shared) = (node.private("ada"), node.private("bob"), node.open("sue"));
    let differences = |node: &mut Node, session: SessionId| {
        let (source, target) = (NmdaDatastore::Running, NmdaDatastore::Candidate);
        let compare = Request::Compare(Compare { source, target, all: false, filter: None });
        let Reply::Comparison(comparison) = node.ask(session, compare) else { panic!("no comparison") };
        let edits = comparison.edits(&node.schema).unwrap().unwrap_or_default();
        edits.into_iter().map(|edit| edit.target).collect::<Vec<_>>()
    };
    node.ok(a, knob(1));
    let confirmed = Confirmed { timeout_s: 60, persist: None };
    node.ok(a, Request::Commit(CommitOptions { confirmed: Some(confirmed), ..CommitOptions::default() }));
    node.ok(b, edit("<mode>slow</mode>"));
    assert_eq!(differences(&mut node, shared), Vec::<String>::new(), "the shared candidate follows");
    assert_eq!(differences(&mut node, b), ["/probe-bench:bench/mode"]);
    node.pass(Duration::from_secs(60));
    assert_eq!(differences(&mut node, shared), Vec::<String>::new(), "and follows back");
    assert_eq!(differences(&mut node, a), ["/probe-bench:bench/knob"], "its changes are its own again");
    node.ok(b, update(RevertOnConflict));
    let seen = node.config(b, Candidate);
    assert!(seen.contains("slow") && !seen.contains("knob"), "{seen}");
}

#[test]
fn compare_reads_it() {
    let mut node = Node::new();
    let (a, b) = (node.private("ada"), node.private("bob"));
    node.ok(a, knob(1));
    let compare = || {
        let (source, target) = (NmdaDatastore::Running, NmdaDatastore::Candidate);
        Request::Compare(Compare { source, target, all: false, filter: None })
    };
    for (session, edits) in [(a, Some(1)), (b, Some(0))] {
        let Reply::Comparison(comparison) = node.ask(session, compare()) else { panic!("no comparison") };
        let found = comparison.edits(&node.schema).unwrap();
        assert_eq!(found.map(|edits| edits.len()), edits);
    }
}

#[test]
fn it_ends_with_its_session() {
    let mut node = Node::with(Limits { sessions: 1, sessions_per_user: 1 }, &[]);
    let a = node.private("ada");
    node.ok(a, knob(1));
    node.drop_session(a);
    let next = node.open("ada");
    assert_eq!(node.config(next, Candidate), "");
    assert_eq!(node.refused(next, update(PreferCandidate)).tag, ErrorTag::OperationNotSupported);
}

#[test]
fn the_next_session_of_a_user_begins_with_running() {
    let mut node = Node::new();
    let a = node.private("ada");
    node.ok(a, knob(1));
    node.ok(a, Request::CloseSession);
    let next = node.private("ada");
    assert_eq!(node.config(next, Candidate), "");
}

#[test]
fn changes_of_running_come_in_by_an_update_only() {
    let (mut node, a, b) = two();
    node.config(a, Candidate);
    node.committed(b, "<knob>7</knob>");
    node.ok(a, edit("<mode>m</mode>"));
    assert!(!node.config(a, Candidate).contains("knob"));
    node.ok(a, update(RevertOnConflict));
    let seen = node.config(a, Candidate);
    assert!(seen.contains("<knob>7</knob>") && seen.contains("<mode>m</mode>"), "{seen}");
    node.ok(a, commit());
    assert!(node.running().contains("<mode>m</mode>") && node.running().contains("<knob>7</knob>"));
}

#[test]
fn a_commit_brings_only_the_changes_of_its_session_on_top_of_what_runs() {
    let (mut node, a, b) = two();
    node.ok(a, edit(&item("one", 11)));
    node.ok(b, edit(&item("two", 22)));
    node.ok(a, commit());
    node.ok(b, commit());
    let running = node.running();
    assert!(running.contains("<size>11</size>") && running.contains("<size>22</size>"), "{running}");
    assert_eq!(node.config(b, Candidate), running, "a commit does not end the private candidate");
}

/// The example of the draft: one session changes an entry that another deletes.
fn contended() -> (Node, SessionId, SessionId) {
    let (mut node, a, b) = two();
    node.ok(a, edit(&item("one", 11)));
    node.committed(b, &(gone("one") + &item("two", 22)));
    (node, a, b)
}

const ONE_SIZE: &str = "/probe-bench:bench/item[name='one']/size";

#[test]
fn revert_on_conflict_changes_nothing_and_names_the_nodes() {
    let (mut node, a, _) = contended();
    let before = node.config(a, Candidate);
    assert_eq!(node.conflicts(a, update(RevertOnConflict)), [ONE_SIZE]);
    assert_eq!(node.config(a, Candidate), before);
    assert!(before.contains("<size>11</size>") && before.contains("<size>2</size>"), "{before}");
}

#[test]
fn prefer_candidate_keeps_what_is_in_conflict_and_takes_the_rest() {
    let (mut node, a, _) = contended();
    node.ok(a, update(PreferCandidate));
    let seen = node.config(a, Candidate);
    assert!(seen.contains("<name>one</name>") && seen.contains("<size>11</size>"), "{seen}");
    assert!(seen.contains("<size>22</size>"), "{seen}");
    node.ok(a, commit());
    assert_eq!(node.running(), seen);
}

#[test]
fn prefer_running_takes_what_runs() {
    let (mut node, a, _) = contended();
    node.ok(a, edit("<knob>5</knob>"));
    node.ok(a, update(PreferRunning));
    let seen = node.config(a, Candidate);
    assert!(!seen.contains("<name>one</name>") && seen.contains("<size>22</size>"), "{seen}");
    assert!(seen.contains("<knob>5</knob>"), "what is not in conflict stays: {seen}");
}

#[test]
fn a_commit_fails_with_a_conflict_and_running_stays() {
    let (mut node, a, _) = contended();
    let running = node.running();
    assert_eq!(node.conflicts(a, commit()), [ONE_SIZE]);
    assert_eq!(node.running(), running);
    node.ok(a, Request::DiscardChanges);
    node.ok(a, commit());
    assert_eq!(node.running(), running);
}

#[test]
fn a_conflict_is_settled_by_an_edit_of_its_node_until_running_changes_it_again() {
    let (mut node, a, b) = two();
    node.ok(a, knob(1));
    node.committed(b, "<knob>2</knob>");
    assert_eq!(node.conflicts(a, commit()), ["/probe-bench:bench/knob"]);
    node.ok(a, edit("<mode>m</mode>"));
    assert_eq!(node.conflicts(a, commit()), ["/probe-bench:bench/knob"], "that was another node");
    node.ok(a, knob(1));
    node.committed(b, "<knob>3</knob>");
    assert_eq!(node.conflicts(a, commit()), ["/probe-bench:bench/knob"], "it runs otherwise than was told");
    node.ok(a, knob(1));
    node.ok(a, commit());
    assert!(node.running().contains("<knob>1</knob>"), "{}", node.running());
}

#[test]
fn an_edit_does_not_settle_a_conflict_that_nobody_was_told_of() {
    let (mut node, a, b) = two();
    node.ok(a, knob(1));
    node.committed(b, "<knob>2</knob>");
    node.ok(a, knob(4));
    assert_eq!(node.conflicts(a, commit()), ["/probe-bench:bench/knob"]);
}

#[test]
fn the_same_change_on_both_sides_is_a_conflict() {
    let (mut node, a, b) = two();
    node.ok(a, edit(&item("three", 3)));
    node.committed(b, &item("three", 3));
    assert_eq!(node.conflicts(a, commit()), ["/probe-bench:bench/item[name='three']"]);
}

#[test]
fn a_deletion_is_in_conflict_with_a_change_below_it() {
    let (mut node, a, b) = two();
    node.ok(a, edit(&gone("one")));
    node.committed(b, &item("one", 11));
    assert_eq!(node.conflicts(a, commit()), [ONE_SIZE]);
    node.ok(a, update(PreferCandidate));
    node.ok(a, commit());
    assert!(!node.running().contains("<name>one</name>"));
}

#[test]
fn discarding_goes_back_to_the_last_update_and_not_to_running() {
    let (mut node, a, b) = two();
    node.ok(a, knob(1));
    node.committed(b, "<knob>2</knob>");
    node.ok(a, Request::DiscardChanges);
    assert!(!node.config(a, Candidate).contains("knob"));
    node.ok(a, update(RevertOnConflict));
    node.ok(a, knob(3));
    node.ok(a, Request::DiscardChanges);
    assert!(node.config(a, Candidate).contains("<knob>2</knob>"));
}

#[test]
fn deleting_it_makes_a_new_one_of_running() {
    let (mut node, a, b) = two();
    node.ok(a, knob(1));
    node.committed(b, "<knob>2</knob>");
    node.ok(a, Request::DeleteConfig { target: Target::Datastore(Candidate) });
    assert!(node.config(a, Candidate).contains("<knob>2</knob>"));
    let refused = node.refused(a, Request::DeleteConfig { target: Target::Datastore(Running) });
    assert_eq!(refused.tag, ErrorTag::OperationNotSupported);
}

#[test]
fn each_session_locks_its_own() {
    let (mut node, a, b) = two();
    let shared = node.open("sue");
    for session in [a, b, shared] {
        node.ok(session, lock(Candidate));
    }
    let again = node.refused(a, lock(Candidate));
    assert_eq!((again.tag, holder(&again)), (ErrorTag::LockDenied, Some(a.0)));
    node.ok(a, unlock(Candidate));
    assert_eq!(node.refused(a, unlock(Candidate)).tag, ErrorTag::OperationFailed);
    node.ok(a, knob(1));
    let modified = node.refused(a, lock(Candidate));
    assert_eq!((modified.tag, holder(&modified)), (ErrorTag::LockDenied, Some(0)));
    node.ok(a, commit());
    node.ok(b, knob(2));
    node.ok(b, unlock(Candidate));
    assert!(!node.config(b, Candidate).contains("knob"), "RFC 6241 section 8.3.5.2");
}

/// A lock is the session's until it unlocks, whatever becomes of the candidate meanwhile.
#[test]
fn a_lock_stays_when_the_candidate_is_replaced() {
    let replacements: [fn(&mut Node, SessionId); 3] = [
        |node, session| {
            node.ok(session, Request::DeleteConfig { target: Target::Datastore(Candidate) });
        },
        |node, session| {
            node.send(session, Request::Rollback { revision: 1 });
            let Some(Output::Recall { ticket, running, .. }) = node.told.pop() else {
                panic!("not recalled")
            };
            node.core.handle_recalled(ticket, Ok(vec![running.1]));
            node.drain();
            assert_eq!(node.reply(session), Some(Reply::Ok));
        },
        |node, session| node.committed(session, "<knob>7</knob>"),
    ];
    for replace in replacements {
        let (mut node, a, _) = two();
        node.ok(a, lock(Candidate));
        replace(&mut node, a);
        assert_eq!(holder(&node.refused(a, lock(Candidate))), Some(a.0));
        node.ok(a, edit("<knob>9</knob>"));
        node.ok(a, unlock(Candidate));
        assert_eq!(node.config(a, Candidate), node.running(), "to unlock is to discard");
        assert_eq!(node.refused(a, unlock(Candidate)).tag, ErrorTag::OperationFailed);
    }
}

#[test]
fn a_lock_of_running_keeps_a_private_candidate_from_running() {
    let (mut node, a, b) = two();
    node.ok(b, lock(Running));
    node.ok(a, knob(1));
    assert_eq!(node.refused(a, commit()).tag, ErrorTag::InUse);
    node.ok(b, unlock(Running));
    node.ok(a, commit());
}

#[test]
fn the_shared_candidate_follows_unless_it_has_changes() {
    let (mut node, a, _) = two();
    let shared = node.open("sue");
    node.committed(a, "<knob>1</knob>");
    assert_eq!(node.config(shared, Candidate), node.running());
    node.ok(shared, edit("<mode>m</mode>"));
    node.committed(a, "<knob>2</knob>");
    assert!(node.config(shared, Candidate).contains("<knob>1</knob>"));
}

fn confirmed(persist: Option<&str>) -> Request {
    let confirmed = Some(Confirmed { timeout_s: 600, persist: persist.map(str::to_owned) });
    Request::Commit(CommitOptions { confirmed, ..CommitOptions::default() })
}

#[test]
fn the_changes_of_a_confirmed_commit_come_back_when_it_is_taken_back() {
    for cancel in [true, false] {
        let (mut node, a, b) = two();
        let before = node.running();
        node.ok(a, knob(1));
        node.ok(a, confirmed(None));
        assert!(node.running().contains("<knob>1</knob>"));
        if cancel {
            node.ok(a, Request::CancelCommit { persist_id: None });
        } else {
            node.pass(Duration::from_secs(600));
        }
        assert_eq!(node.running(), before);
        assert!(node.config(a, Candidate).contains("<knob>1</knob>"), "they are its to commit again");
        assert_eq!(node.config(b, Candidate), before);
        node.ok(a, commit());
        assert!(node.running().contains("<knob>1</knob>"));
    }
}

#[test]
fn a_confirmed_commit_that_is_confirmed_brings_nothing_back() {
    let (mut node, a, b) = two();
    node.ok(a, knob(1));
    node.ok(a, confirmed(Some("token")));
    let confirm = CommitOptions { persist_id: Some("token".to_owned()), ..CommitOptions::default() };
    node.ok(b, Request::Commit(confirm));
    node.ok(b, knob(2));
    node.ok(b, confirmed(None));
    node.ok(b, Request::CancelCommit { persist_id: None });
    assert!(node.running().contains("<knob>1</knob>"));
    node.ok(a, Request::DiscardChanges);
    assert_eq!(node.config(a, Candidate), node.running());
}

#[test]
fn a_commit_that_validation_refuses_leaves_running_and_keeps_the_update() {
    let (mut node, a, b) = two();
    node.ok(a, knob(666));
    node.committed(b, "<mode>m</mode>");
    let running = node.running();
    assert_eq!(node.refused(a, commit()).app_tag.as_deref(), Some("must-violation"));
    assert_eq!(node.running(), running);
    let seen = node.config(a, Candidate);
    assert!(seen.contains("<knob>666</knob>") && seen.contains("<mode>m</mode>"), "{seen}");
}

/// Lists and leaf-lists whose order is the user's, a leaf-list whose order is not, and a choice.
fn orders() -> Arc<Schema> {
    let schema = SchemaBuilder::new().module("probe-bench", NS, "pb", |m| {
        m.container("bench", |c| {
            c.leaf("knob", Ty::uint32());
            c.list("rule", &["name"], |l| {
                l.leaf("name", Ty::string());
                l.leaf("size", Ty::uint32());
            })
            .user_ordered();
            c.leaf_list("tag", Ty::string());
            c.choice("way", |w| {
                w.case("near", |n| {
                    n.leaf("near", Ty::uint32());
                });
                w.case("far", |f| {
                    f.leaf("far", Ty::uint32());
                });
            });
            c.presence("flag", |_| {});
        });
    });
    Arc::new(schema.build().unwrap())
}

fn rule(name: &str, content: &str) -> String {
    format!("<rule><name>{name}</name>{content}</rule>")
}

/// To the end, or behind another.
fn moved(name: &str, behind: Option<&str>) -> String {
    let place = match behind {
        Some(key) => format!("y:insert=\"after\" y:key=\"[name='{key}']\""),
        None => "y:insert=\"last\"".to_owned(),
    };
    format!("<rule xmlns:y=\"urn:ietf:params:xml:ns:yang:1\" {place}><name>{name}</name></rule>")
}

fn no_rule(name: &str) -> String {
    format!("<rule nc:operation=\"delete\"><name>{name}</name></rule>")
}

/// Two sessions that begin with the rules r, s and t, make these changes, and the conflicts that the first then has.
fn meet(ours: &str, theirs: &str) -> (Node, SessionId, Vec<String>) {
    let mut node = Node::of(orders(), Limits::default(), &[], false);
    let (a, b) = (node.private("ada"), node.private("bob"));
    node.committed(a, &["r", "s", "t"].map(|name| rule(name, "")).concat());
    node.ok(b, update(RevertOnConflict));
    node.ok(a, edit(ours));
    node.committed(b, theirs);
    let conflicts = match node.ask(a, update(RevertOnConflict)) {
        Reply::Ok => Vec::new(),
        Reply::Errors(errors) => errors.iter().map(place).collect(),
        other => panic!("{other:?}"),
    };
    (node, a, conflicts)
}

#[test]
fn a_node_is_modified_as_the_draft_lists_it() {
    let text = str::to_owned;
    let cases: [(String, String, &[&str]); 13] = [
        (text("<knob>1</knob>"), text("<knob>2</knob>"), &["knob"]),
        (rule("n", ""), rule("n", ""), &["rule[name='n']"]),
        (text("<flag/>"), text("<flag/>"), &["flag"]),
        (text("<tag>a</tag>"), text("<tag>b</tag>"), &["tag"]),
        (moved("r", None), moved("s", None), &["rule"]),
        (no_rule("r"), moved("r", None), &["rule", "rule[name='r']"]),
        (moved("r", Some("t")), no_rule("t"), &["rule", "rule[name='t']"]),
        (text("<near>1</near>"), text("<far>2</far>"), &["far", "near"]),
        (moved("r", None), rule("r", "<size>1</size>"), &[]),
        (moved("r", None), rule("n", ""), &[]),
        (rule("n", ""), rule("o", ""), &[]),
        (rule("r", "<size>1</size>"), rule("s", "<size>1</size>"), &[]),
        (text("<knob>1</knob>"), text("<tag>b</tag>"), &[]),
    ];
    for (ours, theirs, expected) in cases {
        let (_, _, mut conflicts) = meet(&ours, &theirs);
        conflicts.sort();
        let expected: Vec<_> = expected.iter().map(|node| format!("/probe-bench:bench/{node}")).collect();
        assert_eq!(conflicts, expected, "{ours} beside {theirs}");
    }
}

#[test]
fn each_mode_ends_in_a_candidate_that_can_be_committed() {
    let edits = [
        rule("n", "<size>1</size>"),
        rule("r", "<size>1</size>"),
        no_rule("r"),
        no_rule("t"),
        moved("r", None),
        moved("r", Some("s")),
        moved("s", Some("t")),
        moved("t", Some("r")),
        moved("n", Some("r")) + &moved("o", Some("n")),
        "<near>1</near>".to_owned(),
        "<far>1</far>".to_owned(),
        "<tag>a</tag><tag>b</tag>".to_owned(),
        "<flag/>".to_owned(),
    ];
    for ours in &edits {
        for theirs in &edits {
            for mode in [PreferCandidate, PreferRunning] {
                let (mut node, a, _) = meet(ours, theirs);
                node.ok(a, update(mode));
                let candidate = node.config(a, Candidate);
                assert!(!(candidate.contains("<near>") && candidate.contains("<far>")), "{candidate}");
                node.ok(a, commit());
                assert_eq!(node.running(), candidate, "{ours} on {theirs}");
            }
        }
    }
}
