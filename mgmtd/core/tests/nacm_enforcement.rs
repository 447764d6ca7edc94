//! Access control where it bites: operations, reads, edits and commits of sessions.

#![allow(clippy::unwrap_used, clippy::panic)] // a failed set-up is a failed test

mod acm;
mod node;

use acm::{config, deny, edit_with, in_bench, merge, nacm_of, permit, rule, user};
use cats_mgmtd_core::{
    Config, Datastore, DefaultOperation, Edit, ErrorOption, Event, Filter, GivenIn, Limits, Output, Reply,
    Request, Resolution, Selection, SessionId, Source, Target, TestOption,
};
use cats_yang_tree::Defaults;
use cats_yang_tree::error::{Error, ErrorInfo, ErrorTag, MOST};
use node::{Node, commit};

use Datastore::{Candidate, Running};
use ErrorTag::{AccessDenied, BadAttribute, DataExists, DataMissing, OperationFailed};

/// A node with an administrator, whom nothing is denied, and ada, who is in the group `g`.
struct Two {
    node: Node,
    root: SessionId,
    ada: SessionId,
}

impl Two {
    fn with(nacm: &str) -> Self {
        let mut node = Node::of(acm::schema(), Limits::default(), &[], false);
        let mut administrator = user("root");
        administrator.recovery = true;
        let root = node.open_as(administrator).unwrap();
        let ada = node.open("ada");
        let mut two = Self { node, root, ada };
        two.commit(nacm);
        two
    }

    fn with_rules(rules: &[String]) -> Self {
        Self::with(&nacm_of("", "g", rules))
    }

    /// The administrator changes running.
    fn commit(&mut self, content: &str) {
        let root = self.root;
        self.node.ok(root, merge(content));
        self.node.ok(root, commit());
    }

    fn has(&mut self, content: &str) {
        self.commit(&in_bench(content));
    }

    fn ok(&mut self, request: Request) {
        let ada = self.ada;
        self.node.ok(ada, request);
    }

    fn errors(&mut self, request: Request) -> Vec<Error> {
        match self.node.ask(self.ada, request) {
            Reply::Errors(errors) => errors,
            other => panic!("{other:?}"),
        }
    }

    fn refused(&mut self, request: Request) -> Error {
        self.errors(request).remove(0)
    }

    fn read(&mut self, session: SessionId, request: Request) -> String {
        match self.node.ask(session, request) {
            Reply::Data(reading) => reading.to_xml(&self.node.schema).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    /// What ada sees of running through a filter.
    fn sees(&mut self, filter: &str) -> String {
        let filter = Filter::subtree(&self.node.schema, &format!("<filter>{filter}</filter>")).unwrap();
        self.selects(Selection { filter: Some(filter), ..Selection::default() })
    }

    /// What ada sees of running.
    fn selects(&mut self, selection: Selection) -> String {
        let ada = self.ada;
        self.read(ada, Request::GetConfig { source: Running, selection })
    }

    fn candidate(&mut self) -> String {
        let root = self.root;
        self.read(root, Request::GetConfig { source: Candidate, selection: Selection::default() })
    }
}

const ITEMS: &str =
    "<item><name>a</name><size>1</size><key>s3cret</key></item><item><name>b</name><size>2</size></item>";

/// Everything about items, for what shows what else is missing.
fn items() -> String {
    permit("/pb:bench/pb:item", "*")
}

/// The case A04.
#[test]
fn ending_another_session_is_denied_without_a_rule_and_counted() {
    let mut two = Two::with_rules(&[]);
    let victim = two.node.open("bob");
    let error = two.refused(Request::KillSession { session: victim });
    assert_eq!((error.tag, error.path), (AccessDenied, None));
    assert_eq!(two.refused(Request::DeleteConfig { target: Target::Datastore(Candidate) }).tag, AccessDenied);
    assert!(two.node.ended.is_empty());
    let logged = |event: &&Event| matches!(event, Event::Denied { user, .. } if user == "ada");
    assert_eq!(two.node.events.iter().filter(logged).count(), 2);
    let root = two.root;
    let state = two.read(root, Request::Get(Selection::default()));
    assert!(state.contains("<denied-operations>2</denied-operations>"), "{state}");
    two.node.ok(root, Request::KillSession { session: victim });
}

/// The case A05.
#[test]
fn what_may_not_be_read_is_left_out_without_an_error() {
    let mut two = Two::with(&nacm_of("<read-default>deny</read-default>", "g", &[]));
    two.has(ITEMS);
    let ada = two.ada;
    for source in [Running, Candidate] {
        assert_eq!(two.read(ada, Request::GetConfig { source, selection: Selection::default() }), "");
    }
    assert_eq!(two.read(ada, Request::Get(Selection::default())), "");
    assert_eq!(two.sees(&in_bench("<item><name>a</name></item>")), "");
}

/// The case A08.
#[test]
fn a_path_with_a_key_hides_that_entry_only() {
    let mut two = Two::with_rules(&[deny("/pb:bench/pb:item[pb:name='a']", "*")]);
    two.has(ITEMS);
    let rest = in_bench("<item><name>b</name><size>2</size></item>");
    assert_eq!(two.sees(&in_bench("<item/>")), rest);
    assert_eq!(two.sees(&in_bench("")), rest);
    assert_eq!(two.sees(&in_bench("<item><name>a</name></item>")), "");
}

#[test]
fn an_entry_goes_when_one_of_its_keys_is_hidden() {
    let mut two = Two::with_rules(&[deny("/pb:bench/pb:item[pb:name='a']/pb:name", "read")]);
    two.has(ITEMS);
    assert_eq!(two.sees(&in_bench("")), in_bench("<item><name>b</name><size>2</size></item>"));
}

#[test]
fn what_is_below_a_hidden_node_is_hidden_even_if_a_rule_permits_it() {
    let mut two =
        Two::with_rules(&[permit("/pb:bench/pb:item/pb:size", "read"), deny("/pb:bench/pb:item", "read")]);
    two.has(&format!("{ITEMS}<knob>1</knob>"));
    assert_eq!(two.sees(&in_bench("")), in_bench("<knob>1</knob>"));
}

#[test]
fn a_filter_finds_nothing_by_what_is_hidden() {
    let mut two = Two::with_rules(&[]);
    two.has(ITEMS);
    assert_eq!(two.sees(&in_bench("<item><key>s3cret</key></item>")), "");
    assert_eq!(two.sees(&in_bench("<item><name/><key>s3cret</key></item>")), "");
    let whole = in_bench("<item><name>a</name><size>1</size></item>");
    assert_eq!(two.sees(&in_bench("<item><name>a</name></item>")), whole);
    assert_eq!(two.sees("<nacm xmlns=\"urn:ietf:params:xml:ns:yang:ietf-netconf-acm\"/>"), "");
}

#[test]
fn an_xpath_filter_finds_nothing_by_what_is_hidden() {
    let mut two = Two::with_rules(&[]);
    two.has(ITEMS);
    let mut finds = |select: &str| {
        let namespaces = vec![("pb".to_owned(), "urn:probe:bench".to_owned())];
        let filter = Filter::xpath(&two.node.schema, GivenIn::Filter, select.to_owned(), namespaces).unwrap();
        two.selects(Selection { filter: Some(filter), ..Selection::default() })
    };
    assert_eq!(finds("/pb:bench/pb:item[pb:key='s3cret']"), "");
    assert_eq!(finds("/pb:bench/pb:item/pb:key"), "");
    let name = in_bench("<item><name>a</name></item><item><name>b</name></item>");
    assert_eq!(finds("/pb:bench/pb:item[not(pb:key)]/pb:name"), name, "as if there were none");
}

#[test]
fn no_default_stands_in_for_what_is_hidden() {
    let mut two = Two::with_rules(&[deny("/pb:bench/pb:mode", "read")]);
    two.has("<knob>1</knob><mode>manual</mode>");
    let selection = Selection { defaults: Defaults::ReportAll, ..Selection::default() };
    assert_eq!(two.selects(selection), in_bench("<knob>1</knob>"));
}

#[test]
fn state_is_read_under_the_same_rules() {
    let mut two = Two::with_rules(&[]);
    let ada = two.ada;
    let get = || Request::Get(Selection::default());
    let root = two.root;
    assert!(two.read(root, get()).contains("denied-data-writes"));
    assert!(!two.read(ada, get()).contains("denied"), "/nacm is guarded");
}

#[test]
fn the_command_line_gets_its_schema_unless_a_rule_denies_that() {
    let mut two = Two::with_rules(&[]);
    let index = || Request::SchemaIndex { content_id: None };
    let ada = two.ada;
    assert!(matches!(two.node.ask(ada, index()), Reply::SchemaIndex { index: Some(_), .. }));
    let denied =
        rule("ce", "<module-name>cats-exec</module-name><rpc-name>schema-index</rpc-name>", "exec", false);
    two.commit(&nacm_of("", "g", &[denied]));
    assert_eq!(two.refused(index()).tag, AccessDenied);
}

/// The case A13.
#[test]
fn one_denied_node_denies_the_whole_edit() {
    let mut two = Two::with_rules(&[items()]);
    two.has(ITEMS);
    let before = two.candidate();
    let content = in_bench("<item><name>a</name><size>7</size></item><knob>1</knob>");
    for error_option in [ErrorOption::StopOnError, ErrorOption::ContinueOnError, ErrorOption::RollbackOnError]
    {
        let edit = Edit {
            test_option: TestOption::Set,
            error_option,
            ..edit_with(&content, DefaultOperation::Merge)
        };
        let error = two.refused(Request::EditConfig(edit));
        assert_eq!(error.tag, AccessDenied, "{error_option:?}");
        assert_eq!(error.path.unwrap().0, "/probe-bench:bench/knob");
        assert_eq!(two.candidate(), before, "{error_option:?}");
    }
    two.ok(merge(&in_bench("<item><name>a</name><size>7</size></item>")));
    let root = two.root;
    let state = two.read(root, Request::Get(Selection::default()));
    assert!(state.contains("<denied-data-writes>3</denied-data-writes>"), "{state}");
}

#[test]
fn each_denied_node_is_told_once() {
    let mut two = Two::with_rules(&[]);
    let errors = two.errors(merge(&in_bench("<item><name>c</name><size>1</size></item><knob>1</knob>")));
    let paths: Vec<String> = errors.iter().map(|error| error.path.clone().unwrap().0).collect();
    assert_eq!(paths, ["/probe-bench:bench/knob", "/probe-bench:bench/item[name='c']"]);
}

#[test]
fn what_an_edit_leaves_as_it_is_takes_no_rights() {
    let mut two = Two::with_rules(&[permit("/pb:bench/pb:item/pb:size", "update")]);
    two.has(&format!("{ITEMS}<knob>5</knob>"));
    two.ok(merge(&in_bench("<knob>5</knob><item><name>a</name><size>9</size></item>")));
    assert_eq!(two.refused(merge(&in_bench("<item><name>c</name><size>9</size></item>"))).tag, AccessDenied);
}

#[test]
fn deleting_a_node_deletes_all_that_is_in_it() {
    let mut two = Two::with_rules(&[deny("/pb:bench/pb:item/pb:limits", "delete"), items()]);
    two.has("<item><name>a</name></item><item><name>b</name><limits><rate>1</rate></limits></item>");
    let delete =
        |name: &str| merge(&in_bench(&format!("<item nc:operation=\"remove\"><name>{name}</name></item>")));
    // The key of an item is hidden and may be deleted, so it is in nobody's way.
    two.ok(delete("a"));
    let error = two.refused(delete("b"));
    assert_eq!(error.path.unwrap().0, "/probe-bench:bench/item[name='b']/limits/rate");
}

#[test]
fn creating_a_node_creates_all_that_is_in_it() {
    let mut two = Two::with_rules(&[deny("/pb:bench/pb:item/pb:size", "create"), items()]);
    two.ok(merge(&in_bench("<item><name>a</name></item>")));
    let error = two.refused(merge(&in_bench("<item><name>b</name><size>1</size></item>")));
    assert_eq!(error.path.unwrap().0, "/probe-bench:bench/item[name='b']/size");
}

#[test]
fn moving_an_entry_updates_it() {
    let mut two = Two::with_rules(&[permit("/pb:bench/pb:rule[pb:id='2']", "update")]);
    two.has("<rule><id>1</id></rule><rule><id>2</id></rule><rule><id>3</id></rule>");
    let first = |id: u32| merge(&in_bench(&format!("<rule yang:insert=\"first\"><id>{id}</id></rule>")));
    two.ok(first(2));
    assert_eq!(two.refused(first(3)).tag, AccessDenied);
}

/// RFC 8341 section 3.2.5: what an edit changes as a side effect takes no rights.
#[test]
fn the_case_that_gives_way_takes_no_rights() {
    let mut two = Two::with_rules(&[permit("/pb:bench/pb:cb", "create")]);
    two.has("<ca>x</ca>");
    two.ok(merge(&in_bench("<cb>y</cb>")));
    two.ok(commit());
    let error = two.refused(merge(&in_bench("<cb nc:operation=\"delete\"/>")));
    assert_eq!(error.tag, AccessDenied);
}

/// What ada is told of edits of one entry that she may not read, whether it is there or not.
#[test]
fn a_hidden_entry_that_is_there_is_not_told_from_one_that_is_not() {
    let body = "<size>1</size>";
    let edits = [
        format!("<item nc:operation=\"create\"><name>a</name>{body}</item>"),
        "<item nc:operation=\"delete\"><name>a</name></item>".to_owned(),
        "<item nc:operation=\"remove\"><name>a</name></item>".to_owned(),
        format!("<item nc:operation=\"replace\"><name>a</name>{body}</item>"),
        format!("<item><name>a</name>{body}</item>"),
        "<item><name>a</name></item>".to_owned(),
        "<item><name>a</name><size nc:operation=\"delete\"/></item>".to_owned(),
        "<item><name>a</name><port nc:operation=\"remove\"><number>1</number></port></item>".to_owned(),
    ];
    for rules in
        [vec![deny("/pb:bench/pb:item[pb:name='a']", "*"), items()], vec![deny("/pb:bench/pb:item", "*")]]
    {
        // With an error of its own, an edit is not done, but what it would meet is told.
        let all = edits.iter().flat_map(|edit| ["", "<knob>x</knob>"].map(|wrong| format!("{edit}{wrong}")));
        for edit in all {
            for default in [DefaultOperation::Merge, DefaultOperation::None] {
                let told =
                    [ITEMS, "<item><name>b</name></item>", "<item><name>a</name><size>5</size></item>"].map(
                        |there| {
                            let mut two = Two::with_rules(&rules);
                            two.has(there);
                            two.errors(Request::EditConfig(edit_with(&in_bench(&edit), default)))
                        },
                    );
                assert_eq!(told[0], told[1], "{edit}");
                assert_eq!(told[0], told[2], "{edit}");
                let fits = |error: &Error| error.tag == AccessDenied || error.message.contains("'x'");
                assert!(told[0].iter().all(fits), "{edit}: {told:?}");
            }
        }
    }
}

#[test]
fn a_hidden_value_is_not_found_by_writing_it() {
    let mut two = Two::with_rules(&[deny("/pb:bench/pb:item/pb:size", "*"), items()]);
    two.has(ITEMS);
    let guess = |size: u32| merge(&in_bench(&format!("<item><name>a</name><size>{size}</size></item>")));
    let (right, wrong) = (two.errors(guess(1)), two.errors(guess(2)));
    assert_eq!(right, wrong);
    assert_eq!(right.first().map(|error| error.tag), Some(AccessDenied));
}

#[test]
fn what_may_hold_hidden_nodes_that_must_stay_is_not_replaced_whether_it_does_or_not() {
    let hidden = [deny("/pb:bench/pb:item[pb:name='a']", "*"), permit("/pb:bench", "*")];
    for edit in [
        "<bench xmlns=\"urn:probe:bench\" nc:operation=\"delete\"/>",
        "<bench xmlns=\"urn:probe:bench\" nc:operation=\"replace\"><knob>1</knob></bench>",
    ] {
        let told = [ITEMS, "<knob>1</knob>"].map(|there| {
            let mut two = Two::with_rules(&hidden);
            two.has(there);
            two.errors(merge(edit))
        });
        assert_eq!(told[0], told[1]);
        assert_eq!(told[0].first().map(|error| error.tag), Some(AccessDenied));
    }
    let mut two = Two::with_rules(&hidden);
    two.has(ITEMS);
    two.ok(merge(&in_bench("<item nc:operation=\"replace\"><name>b</name><size>4</size></item>")));
}

#[test]
fn a_hidden_entry_is_no_anchor() {
    let rules = [deny("/pb:bench/pb:rule[pb:id='2']", "*"), permit("/pb:bench/pb:rule", "*")];
    let insert = merge(&in_bench(
        "<rule yang:insert=\"after\" yang:key=\"[pb:id='2']\" xmlns:pb=\"urn:probe:bench\"><id>9</id></rule>",
    ));
    let told = ["<rule><id>1</id></rule><rule><id>2</id></rule>", "<rule><id>1</id></rule>"].map(|there| {
        let mut two = Two::with_rules(&rules);
        two.has(there);
        two.errors(insert.clone())
    });
    assert_eq!(told[0], told[1]);
    // One that is not there and would be readable is told as such.
    let mut two = Two::with_rules(&[permit("/pb:bench/pb:rule", "*")]);
    assert_eq!(two.refused(insert).tag, BadAttribute);
}

#[test]
fn errors_about_what_may_be_read_are_as_ever() {
    let mut two = Two::with_rules(&[items()]);
    two.has(ITEMS);
    let item = |operation: &str, name: &str| {
        merge(&in_bench(&format!("<item nc:operation=\"{operation}\"><name>{name}</name></item>")))
    };
    assert_eq!(two.refused(item("create", "a")).tag, DataExists);
    assert_eq!(two.refused(item("delete", "c")).tag, DataMissing);
}

#[test]
fn copying_a_datastore_takes_along_what_may_be_read_and_needs_the_rights_for_the_difference() {
    let mut two = Two::with(&nacm_of("", "g", &[permit("/", "*")]));
    two.has(ITEMS);
    let root = two.root;
    two.node.ok(root, merge(&in_bench("<knob>9</knob>")));
    let copy = || Request::CopyConfig {
        target: Target::Datastore(Candidate),
        source: Source::Datastore(Running),
        with_defaults: None,
    };
    two.ok(copy());
    assert!(!two.candidate().contains("<knob>"), "{}", two.candidate());
    // What is hidden and must stay would be deleted.
    let mut two = Two::with_rules(&[permit("/pb:bench", "*")]);
    assert_eq!(two.refused(copy()).tag, AccessDenied);
    let whole = Request::CopyConfig {
        target: Target::Datastore(Candidate),
        source: Source::Config(config(&in_bench("<knob>1</knob>"))),
        with_defaults: None,
    };
    assert_eq!(two.refused(whole).tag, AccessDenied);
}

/// Each has files of its own, so what is read from one is as if the request had it.
#[test]
fn a_user_uses_its_files_whatever_it_may_read_and_saves_what_it_may_read() {
    let url = || "file:///a".to_owned();
    let copy = |target, source| Request::CopyConfig { target, source, with_defaults: None };
    let mut two = Two::with_rules(&[deny("/pb:bench/pb:knob", "*"), permit("/pb:bench/pb:item", "*")]);
    two.has(ITEMS);
    let root = two.root;
    two.node.ok(root, merge(&in_bench("<knob>9</knob>")));
    let ada = two.ada;
    two.node.send(ada, copy(Target::Url(url()), Source::Datastore(Candidate)));
    let Some(Output::Store { user, content, ticket, .. }) = two.node.told.pop() else { panic!() };
    let saved = content.to_xml(&two.node.schema).unwrap();
    assert_eq!(user, "ada");
    assert!(saved.contains("<item>") && !saved.contains("<knob>"), "{saved}");
    two.node.core.handle_stored(ticket, Ok(()));
    two.node.drain();
    assert_eq!(two.node.reply(ada), Some(Reply::Ok));
    for (content, permitted) in [("<item><name>z</name></item>", true), ("<knob>8</knob>", false)] {
        let Request::EditConfig(edit) = merge("") else { panic!() };
        two.node.send(ada, Request::EditConfig(Edit { config: Config::at(url()), ..edit }));
        let Some(Output::Fetch { user, ticket, .. }) = two.node.told.pop() else { panic!() };
        assert_eq!(user, "ada");
        let now = two.node.now;
        two.node.core.handle_fetched(ticket, Ok(config(&in_bench(content))), now);
        two.node.drain();
        assert_eq!(two.node.reply(ada) == Some(Reply::Ok), permitted, "{content}");
    }
    let gone = Request::DeleteConfig { target: Target::Url(url()) };
    assert_eq!(two.refused(gone).tag, AccessDenied, "the operation takes a rule, as ever");
}

#[test]
fn a_commit_is_judged_by_who_commits_and_by_what_differs() {
    let mut two = Two::with_rules(&[permit("/pb:bench/pb:knob", "*")]);
    let root = two.root;
    // Edited by another, who may.
    two.node.ok(root, merge(&in_bench("<knob>1</knob><mode>x</mode>")));
    let error = two.refused(commit());
    assert_eq!((error.tag, error.path.unwrap().0.as_str()), (AccessDenied, "/probe-bench:bench/mode"));
    assert!(two.candidate().contains("<mode>x</mode>"), "a denied commit leaves the candidate");
    // Giving changes up takes no rights to what they change.
    two.ok(Request::DiscardChanges);
    two.ok(merge(&in_bench("<knob>1</knob>")));
    two.ok(commit());
    assert!(two.node.running().contains("<knob>1</knob>"));
}

#[test]
fn a_commit_of_hidden_changes_is_denied_without_saying_where() {
    let mut two = Two::with_rules(&[deny("/pb:bench/pb:item[pb:name='a']", "*"), permit("/pb:bench", "*")]);
    let root = two.root;
    two.node.ok(root, merge(&in_bench(ITEMS)));
    let errors = two.errors(commit());
    assert!(errors.iter().all(|error| error.tag == AccessDenied && error.path.is_none()), "{errors:?}");
    assert!(errors.iter().all(|error| !error.message.contains("item")), "{errors:?}");
}

/// The case A15.
#[test]
fn rules_hold_for_open_sessions_as_soon_as_they_are_committed() {
    let mut two = Two::with_rules(&[]);
    two.has(ITEMS);
    let size = || merge(&in_bench("<item><name>a</name><size>3</size></item>"));
    assert_eq!(two.refused(size()).tag, AccessDenied);
    two.commit(&nacm_of("", "g", &[items()]));
    two.ok(size());
    two.ok(commit());
    two.commit(&nacm_of("<exec-default>deny</exec-default>", "g", &[]));
    assert_eq!(two.refused(size()).tag, AccessDenied);
    two.commit("<nacm xmlns=\"urn:ietf:params:xml:ns:yang:ietf-netconf-acm\"><enable-nacm>false</enable-nacm></nacm>");
    two.ok(merge(&in_bench("<knob>1</knob>")));
}

/// The case P58.
#[test]
fn who_is_denied_access_control_cannot_give_himself_access() {
    let deny_acm = rule("acm", "<module-name>ietf-netconf-acm</module-name>", "*", false);
    let mut two = Two::with(&nacm_of("<write-default>permit</write-default>", "g", &[deny_acm]));
    let edits = [
        "<nacm xmlns=\"urn:ietf:params:xml:ns:yang:ietf-netconf-acm\"><enable-nacm>false</enable-nacm></nacm>".to_owned(),
        "<nacm xmlns=\"urn:ietf:params:xml:ns:yang:ietf-netconf-acm\" nc:operation=\"delete\"/>".to_owned(),
        nacm_of("", "g", &[rule("acm", "", "*", true)]),
    ];
    for edit in edits {
        let errors = two.errors(merge(&edit));
        assert!(errors.iter().all(|error| error.tag == AccessDenied), "{errors:?}");
    }
    two.ok(merge(&in_bench("<knob>1</knob>")));
    two.ok(commit());
}

#[test]
fn a_rule_whose_path_is_none_is_refused_with_its_place_and_the_reason() {
    let mut two = Two::with_rules(&[]);
    let root = two.root;
    for (path, why) in [
        ("/pb:bench/pb:nothing", "the schema has no 'probe-bench:nothing'"),
        ("/pb:bench/pb:item[pb:size='1']", "'size' is no key"),
        ("/pb:bench/pb:item[1]", "not by positions"),
        ("//pb:item", "expected a name"),
        ("/pb:bench/pb:item[pb:name=concat('a',1)]", "expected a quoted value"),
    ] {
        two.node
            .ok(root, merge(&nacm_of("", "g", &[rule("r", &format!("<path>{path}</path>"), "*", false)])));
        let error = two.node.refused(root, commit());
        assert_eq!(error.tag, ErrorTag::InvalidValue, "{path}");
        assert!(error.message.contains(why), "{path}: {}", error.message);
        assert_eq!(error.path.unwrap().0, "/ietf-netconf-acm:nacm/rule-list[name='l']/rule[name='r']/path");
        two.node.ok(root, Request::DiscardChanges);
    }
}

#[test]
fn more_rules_than_are_taken_are_refused() {
    let mut two = Two::with_rules(&[]);
    let root = two.root;
    let rules: Vec<String> = (0..10_001).map(|number| rule(&format!("r{number}"), "", "*", true)).collect();
    two.node.ok(root, merge(&nacm_of("", "g", &rules)));
    let error = two.node.refused(root, commit());
    assert_eq!(
        (error.tag, error.path.unwrap().0.as_str()),
        (ErrorTag::ResourceDenied, "/ietf-netconf-acm:nacm")
    );
}

/// RFC 7950 section 15.1: the entries that are not unique are named, unless one of them is hidden.
#[test]
fn an_error_that_names_a_hidden_place_says_only_that_there_is_one() {
    let path = |name: &str| format!("/probe-bench:bench/item[name='{name}']/size");
    let clash = Error::application(OperationFailed, "size of 'a' and 'b'")
        .app_tag("data-not-unique")
        .at(cats_yang_tree::error::Path("/probe-bench:bench/item".to_owned()))
        .with(ErrorInfo::NonUnique(cats_yang_tree::error::Path(path("b"))));
    for (rules, told) in [
        (vec![permit("/pb:bench", "*")], "size of 'a' and 'b'"),
        (vec![deny("/pb:bench/pb:item[pb:name='b']", "*"), permit("/pb:bench", "*")], "may not read"),
    ] {
        let mut two = Two::with_rules(&rules);
        two.ok(merge(&in_bench("<item><name>a</name></item>")));
        two.node.hold_oracle = true;
        let ada = two.ada;
        two.node.send(ada, commit());
        two.node.fail_held(clash.clone());
        let Some(Reply::Errors(errors)) = two.node.reply(ada) else { panic!("no reply") };
        assert!(errors[0].message.contains(told), "{errors:?}");
        assert_eq!(errors[0].info.is_empty(), told == "may not read");
        let logged = two.node.events.iter().any(
            |event| matches!(event, Event::CommitFailed { errors, .. } if errors[0].message.contains("'b'")),
        );
        assert!(logged, "the log has it all");
    }
}

/// How many errors were not told is a number of places, of which some may be hidden.
#[test]
fn many_errors_are_told_up_to_a_number_and_hidden_ones_are_one_and_not_counted() {
    let at = |name: usize| {
        let path = cats_yang_tree::error::Path(format!("/probe-bench:bench/item[name='{name}']/size"));
        Error::application(OperationFailed, format!("the size of {name}")).at(path)
    };
    let all = rule("all", "", "*", true);
    for (rules, hidden) in [(vec![all.clone()], false), (vec![deny("/pb:bench/pb:item", "read"), all], true)]
    {
        let mut two = Two::with_rules(&rules);
        two.ok(merge(&in_bench("<knob>1</knob>")));
        two.node.hold_oracle = true;
        let ada = two.ada;
        two.node.send(ada, commit());
        let Some(Output::Validate { ticket, .. }) = two.node.held.pop_front() else {
            panic!("not validated")
        };
        let now = two.node.now;
        two.node.core.handle_validated(ticket, Err((0..1000).map(at).collect()), now);
        two.node.drain();
        let Some(Reply::Errors(errors)) = two.node.reply(ada) else { panic!("no reply") };
        let count = errors.last().map(|last| last.message.clone()).unwrap();
        assert!(count.contains("more errors"), "{count}");
        assert_eq!(count.contains(|c: char| c.is_ascii_digit()), !hidden, "{count}");
        assert_eq!(errors.len(), if hidden { 2 } else { MOST + 1 });
        let logged = two.node.events.iter().find_map(|event| match event {
            Event::CommitFailed { errors, .. } => Some(errors.len()),
            _ => None,
        });
        assert_eq!(logged, Some(MOST + 1), "the log has all that is told to anybody");
    }
}

/// What a rule of a component says may tell of any place, and so may which rule it is.
#[test]
fn the_words_of_rules_beyond_yang_are_for_who_may_read_all_that_they_are_about() {
    let overlap = Error::application(ErrorTag::DataExists, "a and the hidden b overlap")
        .app_tag("overlapping-items")
        .at(cats_yang_tree::error::Path("/probe-bench:bench/item[name='a']".to_owned()));
    let all = format!("{}{}", permit("/pb:bench", "*"), permit("/", "read"));
    for (rules, spoken) in [
        (vec![all], true),
        (vec![deny("/pb:bench/pb:item[pb:name='b']", "*"), permit("/pb:bench", "*")], false),
    ] {
        let mut two = Two::with_rules(&rules);
        two.ok(merge(&in_bench("<item><name>a</name></item>")));
        two.node.hold_checks = true;
        let ada = two.ada;
        two.node.send(ada, commit());
        let Some(Output::Check { ticket, .. }) = two.node.held.pop_front() else { panic!("not checked") };
        let near = Error { message: "a and the hidden c are near".to_owned(), ..overlap.clone() };
        let (now, found) = (two.node.now, vec![overlap.clone(), near.clone()]);
        two.node.core.handle_checked(ticket, found.clone(), now);
        two.node.drain();
        let Some(Reply::Errors(errors)) = two.node.reply(ada) else { panic!("no reply") };
        if spoken {
            assert_eq!(errors, found);
            continue;
        }
        let [told] = &errors[..] else { panic!("how many rules are broken is told: {errors:?}") };
        assert_eq!((told.tag, &told.app_tag, &told.info[..]), (OperationFailed, &None, &[][..]));
        assert!(told.message.contains("may not read"), "{told:?}");
        assert_eq!(told.path, overlap.path, "the place itself may be read");
    }
}

#[test]
fn a_commit_of_a_private_candidate_takes_the_rights_to_its_changes_only() {
    let mut two = Two::with_rules(&[items()]);
    two.has(ITEMS);
    let ada = two.ada;
    two.node.core.handle_private_candidate(ada);
    two.ok(merge(&in_bench("<item><name>a</name><size>7</size></item>")));
    assert_eq!(two.refused(merge(&in_bench("<knob>1</knob>"))).tag, AccessDenied);
    two.has("<knob>5</knob>");
    two.ok(commit());
    assert!(two.selects(Selection::default()).contains("<size>7</size>"));
}

#[test]
fn a_conflict_tells_nothing_of_what_may_not_be_read() {
    let hidden = deny("/pb:bench/pb:item/pb:limits", "read");
    let mut two = Two::with_rules(&[hidden, items()]);
    two.has("<item><name>a</name></item>");
    let ada = two.ada;
    two.node.core.handle_private_candidate(ada);
    let limits = |rate: u32| format!("<item><name>a</name><limits><rate>{rate}</rate></limits></item>");
    two.ok(merge(&in_bench(&limits(1))));
    two.has(&limits(2));
    for error in two.errors(commit()) {
        assert!(!error.to_string().contains("limits"), "{error}");
    }
}

#[test]
fn updating_is_denied_by_a_rule_for_the_operation() {
    let names = "<module-name>ietf-netconf-private-candidate</module-name><rpc-name>update</rpc-name>";
    let mut two = Two::with_rules(&[rule("up", names, "exec", false)]);
    let ada = two.ada;
    two.node.core.handle_private_candidate(ada);
    assert_eq!(two.refused(Request::Update { resolution: Resolution::PreferRunning }).tag, AccessDenied);
}
