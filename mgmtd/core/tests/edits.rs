//! What `edit-config`, `copy-config` and the reads do with the datastores.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a failed set-up is a failed test

mod node;

use cats_mgmtd_core::{
    Alarm, ComponentId, Datastore, DefaultOperation, Edit, ErrorOption, Filter, Limits, Output, READ_TIMEOUT,
    ReadAs, Reply, Request, Selection, Source, Target, TestOption,
};
use cats_yang_tree::build::{SchemaBuilder, Ty};
use cats_yang_tree::error::{Error, ErrorTag, MOST};
use node::{Node, commit, config, edit, edit_with, knob};
use std::sync::Arc;

use Datastore::{Candidate, Running};

const TWO_ITEMS: &str = "<item><name>a</name><size>1</size></item><item><name>b</name></item>";

#[test]
fn an_edit_changes_the_candidate_only() {
    let mut node = Node::new();
    let a = node.open("ada");
    node.ok(a, edit(TWO_ITEMS));
    assert_eq!(node.running(), "");
    let candidate = node.config(a, Candidate);
    assert!(
        candidate.contains("<name>a</name><size>1</size>") && candidate.contains("<name>b</name>"),
        "{candidate}"
    );
}

#[test]
fn running_is_not_written_directly() {
    let mut node = Node::new();
    let a = node.open("ada");
    let mut direct = edit_with("<knob>1</knob>");
    direct.target = Running;
    for request in [
        Request::EditConfig(direct),
        Request::CopyConfig {
            target: Target::Datastore(Running),
            source: Source::Datastore(Candidate),
            with_defaults: None,
        },
        Request::DeleteConfig { target: Target::Datastore(Running) },
        Request::DeleteConfig { target: Target::Datastore(Candidate) },
    ] {
        assert_eq!(node.refused(a, request).tag, ErrorTag::OperationNotSupported);
    }
}

/// The case L11.
#[test]
fn copying_a_datastore_onto_itself_is_an_invalid_value() {
    let mut node = Node::new();
    let a = node.open("ada");
    for target in [Running, Candidate] {
        let copy = Request::CopyConfig {
            target: Target::Datastore(target),
            source: Source::Datastore(target),
            with_defaults: None,
        };
        assert_eq!(node.refused(a, copy).tag, ErrorTag::InvalidValue);
    }
}

#[test]
fn a_copy_replaces_the_whole_candidate() {
    let mut node = Node::new();
    let a = node.open("ada");
    node.ok(a, knob(1));
    node.ok(a, commit());
    node.ok(a, edit(TWO_ITEMS));
    node.ok(
        a,
        Request::CopyConfig {
            target: Target::Datastore(Candidate),
            source: Source::Config(config("<mode>x</mode>")),
            with_defaults: None,
        },
    );
    let candidate = node.config(a, Candidate);
    assert!(candidate.contains("<mode>x</mode>") && !candidate.contains("knob"), "{candidate}");
    node.ok(
        a,
        Request::CopyConfig {
            target: Target::Datastore(Candidate),
            source: Source::Datastore(Running),
            with_defaults: None,
        },
    );
    assert_eq!(node.config(a, Candidate), node.running());
}

#[test]
fn an_edit_that_was_read_ahead_does_what_it_does_unread() {
    let whole = "<knob>1</knob><mode>m</mode>";
    let wrong = "<knob>1</knob><mode nc:operation=\"delete\"/><item><name>a</name><size>0</size></item>";
    for (content, default) in [whole, wrong].into_iter().flat_map(|content| {
        [DefaultOperation::Merge, DefaultOperation::Replace, DefaultOperation::None].map(|d| (content, d))
    }) {
        let outcome = |read: Option<ReadAs>| {
            let mut node = Node::new();
            let a = node.open("ada");
            node.ok(a, edit(TWO_ITEMS));
            let mut edit = edit_with(content);
            (edit.default_operation, edit.test_option) = (default, TestOption::Set);
            edit.error_option = ErrorOption::ContinueOnError;
            if let Some(read) = read {
                edit.config = edit.config.read(&node.schema, read);
            }
            (node.ask(a, Request::EditConfig(edit)), node.config(a, Candidate))
        };
        assert_eq!(outcome(Some(ReadAs::Edit(default))), outcome(None), "{content} {default:?}");
        // Read as something else, it is read again.
        for other in [ReadAs::Edit(DefaultOperation::None), ReadAs::Whole] {
            assert_eq!(outcome(Some(other)), outcome(None), "{content} {default:?}");
        }
    }
}

/// The case E27. What only a validation of the whole finds is found too: it is the outcome that is tested, also what the
/// candidate held before.
#[test]
fn test_only_validates_the_outcome_and_changes_nothing() {
    let mut node = Node::new();
    let (a, b) = (node.open("ada"), node.open("bob"));
    node.core.handle_private_candidate(b);
    for session in [a, b] {
        let test = |content: &str| {
            Request::EditConfig(Edit { test_option: TestOption::TestOnly, ..edit_with(content) })
        };
        node.ok(session, test("<knob>1</knob>"));
        assert_eq!(node.config(session, Candidate), "");
        assert_eq!(node.refused(session, test("<knob>no</knob>")).tag, ErrorTag::InvalidValue);
        let refused = node.refused(session, test("<knob>666</knob>"));
        assert_eq!(refused.app_tag.as_deref(), Some("must-violation"));
        assert_eq!(node.config(session, Candidate), "");
        // The candidate takes it: it may become valid before it is committed (RFC 7950 section 8.3.3).
        node.ok(session, edit("<knob>666</knob>"));
        let before = node.config(session, Candidate);
        assert_eq!(node.refused(session, test("<mode>m</mode>")).app_tag.as_deref(), Some("must-violation"));
        node.ok(session, test("<knob>1</knob>"));
        assert_eq!(node.config(session, Candidate), before);
    }
}

/// RFC 7950 section 8.3: a client hears of all that is wrong with its edit, be it with the text or with what is there.
#[test]
fn errors_of_the_text_and_errors_against_the_datastore_are_told_together() {
    use ErrorTag::{BadElement, DataExists, DataMissing, InvalidValue, UnknownElement};
    let ghost = "<item nc:operation=\"delete\"><name>ghost</name></item>";
    let there = "<item nc:operation=\"create\"><name>a</name></item>";
    for (content, tags) in [
        (format!("<knob>x</knob>{ghost}"), vec![InvalidValue, DataMissing]),
        (format!("{ghost}<knob>x</knob>"), vec![InvalidValue, DataMissing]),
        (format!("<nothing/>{there}{ghost}"), vec![UnknownElement, DataExists, DataMissing]),
        (format!("{there}<secret>$0$</secret>"), vec![InvalidValue, DataExists]),
        // What is named twice is one fault: the second does not meet the first.
        (format!("{there}{there}"), vec![BadElement, DataExists]),
        ("<item nc:operation=\"create\"><name>c</name></item>".repeat(2), vec![BadElement]),
        ("<item nc:operation=\"delete\"><name>b</name></item>".repeat(2), vec![BadElement]),
        // An entry without a good key is nowhere.
        ("<item nc:operation=\"delete\"><name/></item>".to_owned(), vec![InvalidValue]),
    ] {
        let mut node = Node::new();
        let a = node.open("ada");
        node.ok(a, edit(TWO_ITEMS));
        let before = node.config(a, Candidate);
        let Reply::Errors(errors) = node.ask(a, edit(&content)) else { panic!("{content} is taken") };
        let told: Vec<ErrorTag> = errors.iter().map(|error| error.tag).collect();
        assert_eq!(told, tags, "{content}: {errors:?}");
        assert_eq!(node.config(a, Candidate), before, "{content}");
    }
}

/// An entry to insert at may be in the part that cannot be read, so it is not missed.
#[test]
fn an_anchor_is_not_missed_beside_what_could_not_be_read() {
    let schema = SchemaBuilder::new().module("probe-bench", node::NS, "pb", |m| {
        m.container("bench", |c| {
            c.list("rule", &["id"], |l| {
                l.leaf("id", Ty::uint32());
                l.leaf("size", Ty::uint32());
            })
            .user_ordered();
        });
    });
    let schema = Arc::new(schema.build().unwrap());
    let insert = "<rule xmlns:yang=\"urn:ietf:params:xml:ns:yang:1\" yang:insert=\"after\" \
                  xmlns:pb=\"urn:probe:bench\" yang:key=\"[pb:id='1']\"><id>2</id></rule>";
    for (more, tags) in [
        ("<rule><id>1</id><size>x</size></rule>", vec![ErrorTag::InvalidValue]),
        ("", vec![ErrorTag::BadAttribute]),
    ] {
        let mut node = Node::of(Arc::clone(&schema), Limits::default(), &[], false);
        let a = node.open("ada");
        let Reply::Errors(errors) = node.ask(a, edit(&format!("{more}{insert}"))) else { panic!("{more}") };
        assert_eq!(errors.iter().map(|error| error.tag).collect::<Vec<_>>(), tags, "{errors:?}");
    }
}

#[test]
fn an_edit_with_an_error_does_nothing_unless_it_is_to_continue() {
    let mut node = Node::new();
    let a = node.open("ada");
    let wrong = "<knob>1</knob><mode>m</mode>\
                 <item><name>a</name><size>0</size></item>\
                 <item><name>b</name><size>2</size></item>\
                 <item nc:operation=\"delete\"><name>c</name></item>";
    for (test_option, error_option) in [
        (TestOption::TestThenSet, ErrorOption::StopOnError),
        (TestOption::Set, ErrorOption::StopOnError),
        (TestOption::Set, ErrorOption::RollbackOnError),
        (TestOption::TestThenSet, ErrorOption::ContinueOnError),
        (TestOption::TestOnly, ErrorOption::ContinueOnError),
    ] {
        let request = cats_mgmtd_core::Edit { test_option, error_option, ..edit_with(wrong) };
        let Reply::Errors(_) = node.ask(a, Request::EditConfig(request)) else { panic!("it has errors") };
        assert_eq!(node.config(a, Candidate), "");
    }
    let request = cats_mgmtd_core::Edit {
        test_option: TestOption::Set,
        error_option: ErrorOption::ContinueOnError,
        ..edit_with(wrong)
    };
    let Reply::Errors(errors) = node.ask(a, Request::EditConfig(request)) else { panic!("it has errors") };
    let tags: Vec<ErrorTag> = errors.iter().map(|error| error.tag).collect();
    assert_eq!(tags, vec![ErrorTag::InvalidValue, ErrorTag::DataMissing]);
    let candidate = node.config(a, Candidate);
    assert!(candidate.contains("<knob>1</knob>") && candidate.contains("<mode>m</mode>"), "{candidate}");
    assert!(candidate.contains("<name>b</name><size>2</size>"), "{candidate}");
    assert!(!candidate.contains("<size>0</size>") && !candidate.contains("<name>c</name>"), "{candidate}");
}

/// A long start tag around many pieces, none of which can be done: all of them together are as long as its square.
#[test]
fn an_edit_in_pieces_that_would_take_too_long_is_done_as_far_as_that() {
    let mut node = Node::new();
    let a = node.open("ada");
    let wrong = format!("<item{}>{}</item>", " ".repeat(1 << 20), "<size>0</size>".repeat(10_000));
    let request = cats_mgmtd_core::Edit {
        test_option: TestOption::Set,
        error_option: ErrorOption::ContinueOnError,
        ..edit_with(&format!("<knob>1</knob>{wrong}<mode>m</mode>"))
    };
    let Reply::Errors(errors) = node.ask(a, Request::EditConfig(request)) else { panic!("it has errors") };
    assert!(errors.len() <= MOST + 1, "{}", errors.len());
    assert!(errors.iter().any(|error| error.tag == ErrorTag::TooBig), "{errors:?}");
    let candidate = node.config(a, Candidate);
    assert!(candidate.contains("<knob>1</knob>"), "{candidate}");
}

#[test]
fn the_default_operation_is_the_requests() {
    let mut node = Node::new();
    let a = node.open("ada");
    node.ok(a, edit(TWO_ITEMS));
    let mut request = edit_with("<mode>m</mode>");
    request.default_operation = DefaultOperation::None;
    assert_eq!(node.refused(a, Request::EditConfig(request.clone())).tag, ErrorTag::DataMissing);
    request.default_operation = DefaultOperation::Replace;
    node.ok(a, Request::EditConfig(request));
    let candidate = node.config(a, Candidate);
    assert!(candidate.contains("<mode>m</mode>") && !candidate.contains("item"), "{candidate}");
}

#[test]
fn a_filter_selects_and_an_empty_one_selects_nothing() {
    let mut node = Node::new();
    let a = node.open("ada");
    node.ok(a, edit(&format!("<knob>1</knob>{TWO_ITEMS}")));
    node.ok(a, commit());
    let mut read = |filter: &str| match node
        .ask(a, Request::GetConfig { source: Running, selection: selection(Some(filter)) })
    {
        Reply::Data(reading) => reading.to_xml(&node::schema()).unwrap(),
        other => panic!("{other:?}"),
    };
    assert_eq!(read("<filter/>"), "");
    let one = read("<filter><bench xmlns=\"urn:probe:bench\"><item><name>a</name></item></bench></filter>");
    assert!(one.contains("<size>1</size>") && !one.contains("knob") && !one.contains("<name>b"), "{one}");
}

fn selection(filter: Option<&str>) -> Selection {
    let filter = filter.map(|text| Filter::subtree(&node::schema(), text).unwrap());
    Selection { filter, ..Selection::default() }
}

fn get(filter: Option<&str>) -> Request {
    Request::Get(selection(filter))
}

const COUNTERS: &str = "<filter><bench xmlns=\"urn:probe:bench\"><counters/></bench></filter>";

#[test]
fn get_shows_running_and_what_the_component_tells_for_the_filters_paths() {
    let mut node = Node::new();
    let a = node.open("ada");
    node.ok(a, knob(1));
    node.ok(a, commit());
    node.attach(1, Some(1));
    let only_config = "<filter><bench xmlns=\"urn:probe:bench\"><knob/></bench></filter>";
    let Reply::Data(reading) = node.ask(a, get(Some(only_config))) else { panic!("data") };
    let xml = reading.to_xml(&node.schema).unwrap();
    assert!(xml.contains("<knob>1</knob>"), "{xml}");
    assert!(node.told.is_empty(), "nobody is asked for state that was not asked for");
    node.send(a, get(Some(COUNTERS)));
    let Some(Output::ReadState { ticket, component: ComponentId(1), paths }) = node.told.pop() else {
        panic!()
    };
    assert_eq!(paths, vec!["/probe-bench:bench/counters"]);
    let page = serde_json::json!({ "probe-bench:bench": { "counters": { "seen": 9 } } });
    node.state(ticket, page);
    node.pass(std::time::Duration::ZERO);
    let Some(Reply::Data(reading)) = node.reply(a) else { panic!("data") };
    let xml = reading.to_xml(&node.schema).unwrap();
    assert!(xml.contains("<seen>9</seen>") && !xml.contains("knob"), "{xml}");
}

#[test]
fn entries_that_the_filter_names_by_key_are_asked_for_alone() {
    let mut node = Node::new();
    let a = node.open("ada");
    node.attach(1, Some(0));
    let entry = |name: &str| format!("/probe-bench:bench/item[name={name}]");
    let meter = |keys: &str| format!("/probe-bench:bench/meter{keys}");
    for (content, asked) in [
        ("<item/>", vec!["/probe-bench:bench/item".to_owned()]),
        ("<item><name/><hits/></item>", vec!["/probe-bench:bench/item".to_owned()]),
        ("<item><name> b </name><hits/></item><item><name>a</name></item>", vec![entry("'a'"), entry("'b'")]),
        ("<item><name>it's</name></item>", vec![entry("\"it's\"")]),
        ("<item xmlns=\"\"><name>a</name></item>", vec![entry("'a'")]),
        ("<meter><room>a</room><number>7</number></meter>", vec![meter("[room='a'][number='7']")]),
        ("<meter><room>a</room><number/></meter>", vec![meter("[room='a']")]),
        ("<meter><number>7</number></meter>", vec![meter("[number='7']")]),
        ("<meter><room>a</room></meter><meter><number/></meter>", vec![meter(""), meter("[room='a']")]),
        (
            "<item xmlns=\"urn:other\"><name>a</name></item><counters/>",
            vec!["/probe-bench:bench/counters".into()],
        ),
    ] {
        node.send(
            a,
            get(Some(&format!("<filter><bench xmlns=\"urn:probe:bench\">{content}</bench></filter>"))),
        );
        let Some(Output::ReadState { paths, ticket, .. }) = node.told.pop() else { panic!("{content}") };
        assert_eq!(paths, asked, "{content}");
        node.state(ticket, serde_json::json!({}));
    }
}

#[test]
fn state_that_takes_too_long_or_that_a_component_refuses_is_an_error_and_not_silence() {
    let mut node = Node::new();
    let a = node.open("ada");
    node.attach(1, Some(0));
    node.send(a, get(Some(COUNTERS)));
    node.pass(READ_TIMEOUT);
    let error = node::first_error(node.reply(a).expect("a reply"));
    assert_eq!(error.tag, ErrorTag::OperationFailed);
    assert!(error.message.contains("narrower filter"), "{}", error.message);
    node.send(a, get(Some(COUNTERS)));
    let Some(Output::ReadState { ticket, .. }) = node.told.pop() else { panic!() };
    let error = Error::application(ErrorTag::ResourceDenied, "busy");
    node.core.handle_state(ticket, Err(vec![error.clone()]), node.now);
    node.pass(std::time::Duration::ZERO);
    assert_eq!(node.reply(a), Some(Reply::Errors(vec![error])));
}

#[test]
fn a_read_whose_component_is_lost_meanwhile_shows_what_is_there_as_one_that_comes_later_does() {
    let mut node = Node::new();
    let a = node.open("ada");
    node.ok(a, knob(1));
    node.ok(a, commit());
    node.attach(1, Some(1));
    node.send(a, get(None));
    assert_eq!(node.reply(a), None);
    node.detach(1);
    let meanwhile = node.reply(a).expect("a reply");
    assert!(matches!(&meanwhile, Reply::Data(_)), "{meanwhile:?}");
    let Reply::Data(reading) = &meanwhile else { panic!() };
    assert!(reading.to_xml(&node.schema).unwrap().contains("<knob>1</knob>"));
    assert_eq!(node.alarms(), vec![Alarm::Unreachable { component: "engine".into() }]);
    assert_eq!(node.ask(a, get(None)), meanwhile);
}

#[test]
fn get_schema_gives_a_modules_text_and_says_what_is_wrong_with_a_request() {
    let mut node = Node::new();
    let a = node.open("ada");
    let ask = |identifier: &str, version: Option<&str>, format: Option<&str>| Request::GetSchema {
        identifier: identifier.into(),
        version: version.map(str::to_owned),
        format: format.map(str::to_owned),
    };
    for version in [None, Some("2026-11-29"), Some("")] {
        assert_eq!(
            node.ask(a, ask("probe-bench", version, Some("yang"))),
            Reply::Schema("module probe-bench {}".into())
        );
    }
    for wrong in [
        ask("nothing", None, None),
        ask("probe-bench", Some("1999-01-01"), None),
        ask("probe-bench", None, Some("yin")),
    ] {
        assert_eq!(node.refused(a, wrong).tag, ErrorTag::InvalidValue);
    }
    let error = node.refused(a, ask("twice", None, None));
    let wanted = (ErrorTag::OperationFailed, Some("data-not-unique"));
    assert_eq!((error.tag, error.app_tag.as_deref()), wanted, "RFC 6022 section 3.1: {error:?}");
    assert!(matches!(node.ask(a, ask("twice", Some("2020-01-01"), None)), Reply::Schema(_)));
}

#[test]
fn the_schema_index_is_sent_only_to_those_who_lack_it() {
    let mut node = Node::new();
    let a = node.open("ada");
    let index = |content_id: Option<&str>| Request::SchemaIndex { content_id: content_id.map(str::to_owned) };
    let answer =
        |index: Option<&str>| Reply::SchemaIndex { content_id: "c-1".into(), index: index.map(Into::into) };
    assert_eq!(node.ask(a, index(None)), answer(Some("{\"nodes\":[]}")));
    assert_eq!(node.ask(a, index(Some("c-0"))), answer(Some("{\"nodes\":[]}")));
    assert_eq!(node.ask(a, index(Some("c-1"))), answer(None));
}

/// RFC 7950 section 8.3.1: what has a false `when` is not there, however the rest of the edit is done.
#[test]
fn continue_on_error_does_not_create_what_has_a_false_when() {
    let schema = SchemaBuilder::new().module("probe-bench", node::NS, "pb", |m| {
        m.container("bench", |c| {
            c.leaf("knob", Ty::uint32());
            c.leaf("mode", Ty::string());
            c.leaf("speed", Ty::uint32()).when("../mode");
            c.leaf("gear", Ty::uint32()).when("../speed");
        });
    });
    let schema = Arc::new(schema.build().unwrap());
    let wrong = "<knob>many</knob>";
    for (content, left, errors) in [
        ("<speed>1</speed><gear>2</gear>", "", 3),
        ("<gear>2</gear><speed>1</speed><mode>m</mode>", "<mode>m</mode><speed>1</speed><gear>2</gear>", 1),
        ("<mode>m</mode><gear>2</gear>", "<mode>m</mode>", 2),
    ] {
        let mut node = Node::of(Arc::clone(&schema), Limits::default(), &[], false);
        let a = node.open("ada");
        for in_pieces in [true, false] {
            let more = if in_pieces { wrong } else { "" };
            let edit = Edit {
                test_option: TestOption::Set,
                error_option: ErrorOption::ContinueOnError,
                ..edit_with(&format!("{content}{more}"))
            };
            let mut told = match node.ask(a, Request::EditConfig(edit)) {
                Reply::Errors(told) => told,
                _ => Vec::new(),
            };
            if in_pieces {
                assert_eq!(told.remove(0).tag, ErrorTag::InvalidValue);
            }
            assert_eq!(told.len(), errors - 1, "{content}: {told:?}");
            assert!(told.iter().all(|error| error.tag == ErrorTag::UnknownElement), "{told:?}");
        }
        let candidate = node.config(a, Candidate);
        let inner = candidate.split_once('>').and_then(|(_, rest)| rest.strip_suffix("</bench>"));
        assert_eq!(inner.unwrap_or_default(), left, "{content}");
    }
}
