//! Configurations in files (RFC 6241 section 8.8), which are read and written elsewhere.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a failed set-up is a failed test

mod node;

use cats_mgmtd_core::{
    Config, Datastore, DefaultOperation, Edit, Output, ReadAs, Reply, Request, Source, Target, Ticket,
};
use cats_yang_tree::Defaults;
use cats_yang_tree::error::{Error, ErrorTag};
use node::{Node, config, edit_with, knob, lock};

use Datastore::{Candidate, Running};

fn at(url: &str) -> Config {
    Config::at(url.to_owned())
}

fn file(url: &str) -> Target {
    Target::Url(url.to_owned())
}

/// The ticket of the file that is to be read.
fn fetched(node: &mut Node, wanted: &str) -> (Ticket, ReadAs) {
    match node.told.pop() {
        Some(Output::Fetch { ticket, user, url, read_as }) if url == wanted => {
            assert_eq!(user, "ada", "each has files of its own");
            (ticket, read_as)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_edit_whose_configuration_is_in_a_file_is_done_when_that_was_read() {
    let mut node = Node::new();
    let a = node.open("ada");
    let edit = Edit { config: at("one"), default_operation: DefaultOperation::Replace, ..edit_with("") };
    node.send(a, Request::EditConfig(edit.clone()));
    let (ticket, read_as) = fetched(&mut node, "one");
    assert_eq!((read_as, node.reply(a)), (ReadAs::Edit(DefaultOperation::Replace), None));
    node.core.handle_fetched(ticket, Ok(config("<knob>1</knob>")), node.now);
    node.drain();
    assert_eq!(node.reply(a), Some(Reply::Ok));
    assert!(node.config(a, Candidate).contains("<knob>1</knob>"));
    // A file that cannot be read changes nothing.
    node.send(a, Request::EditConfig(edit));
    let (ticket, _) = fetched(&mut node, "one");
    let error = Error::protocol(ErrorTag::InvalidValue, "there is no such file");
    node.core.handle_fetched(ticket, Err(error.clone()), node.now);
    node.drain();
    assert_eq!(node.reply(a), Some(Reply::Errors(vec![error])));
}

#[test]
fn a_copy_from_a_file_and_a_validation_of_one_take_its_whole_configuration() {
    let mut node = Node::new();
    let a = node.open("ada");
    node.ok(a, knob(1));
    for request in [
        Request::CopyConfig {
            target: Target::Datastore(Candidate),
            source: Source::Config(at("two")),
            with_defaults: None,
        },
        Request::Validate { source: Source::Config(at("two")) },
    ] {
        node.send(a, request);
        let (ticket, _) = fetched(&mut node, "two");
        node.core.handle_fetched(ticket, Ok(config("<mode>m</mode>")), node.now);
        node.drain();
        assert_eq!(node.reply(a), Some(Reply::Ok));
    }
    let candidate = node.config(a, Candidate);
    assert!(candidate.contains("<mode>m</mode>") && !candidate.contains("knob"), "{candidate}");
}

#[test]
fn a_lock_that_was_taken_while_a_file_was_read_holds() {
    let mut node = Node::new();
    let (a, b) = (node.open("ada"), node.open("bob"));
    node.send(a, Request::EditConfig(Edit { config: at("one"), ..edit_with("") }));
    let (ticket, _) = fetched(&mut node, "one");
    node.ok(b, lock(Candidate));
    node.core.handle_fetched(ticket, Ok(config("<knob>1</knob>")), node.now);
    node.drain();
    assert_eq!(node.reply(a).map(node::first_error).map(|error| error.tag), Some(ErrorTag::InUse));
}

#[test]
fn a_datastore_or_another_file_is_copied_to_a_file_as_it_is_at_that_time() {
    let mut node = Node::new();
    let a = node.open("ada");
    node.ok(a, knob(1));
    for (source, value) in [(Source::Datastore(Candidate), 1), (Source::Config(at("two")), 2)] {
        node.send(a, Request::CopyConfig { target: file("one"), source, with_defaults: None });
        if value == 2 {
            let (from, _) = fetched(&mut node, "two");
            node.core.handle_fetched(from, Ok(config("<knob>2</knob>")), node.now);
            node.drain();
        }
        let Some(Output::Store { ticket, user, url, content }) = node.told.pop() else { panic!() };
        assert_eq!((user.as_str(), url.as_str(), node.reply(a)), ("ada", "one", None));
        assert!(content.to_xml(&node.schema).unwrap().contains(&format!("<knob>{value}</knob>")));
        node.core.handle_stored(ticket, Ok(()));
        node.drain();
        assert_eq!(node.reply(a), Some(Reply::Ok));
    }
}

/// RFC 6243 section 4.5.3: the copy has the defaults that a retrieval in that mode shows.
#[test]
fn a_copy_to_a_file_has_the_defaults_that_its_mode_says() {
    let mut node = Node::new();
    let a = node.open("ada");
    node.ok(a, knob(1));
    for (mode, shown) in [
        (None, None),
        (Some(Defaults::Explicit), None),
        (Some(Defaults::Trim), None),
        (Some(Defaults::ReportAll), Some(">auto</mode>")),
        (Some(Defaults::ReportAllTagged), Some("default=\"true\">auto</mode>")),
    ] {
        for source in [Source::Datastore(Candidate), Source::Config(config("<knob>1</knob>"))] {
            node.send(a, Request::CopyConfig { target: file("one"), source, with_defaults: mode });
            let Some(Output::Store { ticket, content, .. }) = node.told.pop() else { panic!() };
            let text = content.to_xml(&node.schema).unwrap();
            assert_eq!(text.contains("auto"), shown.is_some(), "{mode:?}: {text}");
            assert!(shown.is_none_or(|shown| text.contains(shown)), "{mode:?}: {text}");
            node.core.handle_stored(ticket, Ok(()));
            node.drain();
            assert_eq!(node.reply(a), Some(Reply::Ok));
        }
    }
}

/// RFC 6241 section 7.2 has `operation`, and RFC 7950 `insert`, for edits alone: they are unknown in what is copied or
/// validated, and mean in a file that is edited what they mean in a request.
#[test]
fn a_complete_configuration_says_of_no_node_what_is_to_be_done() {
    let mut node = Node::new();
    let a = node.open("ada");
    node.ok(a, knob(1));
    let content = "<knob nc:operation=\"merge\">2</knob>";
    for from_file in [false, true] {
        let source = || Source::Config(if from_file { at("one") } else { config(content) });
        let copy = |target| Request::CopyConfig { target, source: source(), with_defaults: None };
        let inline =
            [copy(Target::Datastore(Candidate)), copy(file("two")), Request::Validate { source: source() }];
        for request in inline {
            node.send(a, request);
            if from_file {
                let (ticket, read_as) = fetched(&mut node, "one");
                assert_eq!(read_as, ReadAs::Whole);
                node.core.handle_fetched(ticket, Ok(config(content)), node.now);
                node.drain();
            }
            let error = node::first_error(node.reply(a).unwrap());
            assert_eq!(error.tag, ErrorTag::UnknownAttribute, "{error}");
            assert_eq!(error.path.unwrap().0, "/probe-bench:bench/knob");
        }
    }
    assert!(node.config(a, Candidate).contains("<knob>1</knob>"));
    node.send(a, Request::EditConfig(Edit { config: at("one"), ..edit_with("") }));
    let (ticket, _) = fetched(&mut node, "one");
    node.core.handle_fetched(ticket, Ok(config("<knob nc:operation=\"delete\"/>")), node.now);
    node.drain();
    assert_eq!(node.reply(a), Some(Reply::Ok));
    assert_eq!(node.config(a, Candidate), "");
}

/// The case L11, of a file.
#[test]
fn a_file_is_not_copied_onto_itself() {
    let mut node = Node::new();
    let a = node.open("ada");
    let copy =
        Request::CopyConfig { target: file("one"), source: Source::Config(at("one")), with_defaults: None };
    assert_eq!(node.refused(a, copy).tag, ErrorTag::InvalidValue);
}

#[test]
fn a_file_is_deleted_and_a_failure_is_told() {
    let mut node = Node::new();
    let a = node.open("ada");
    for result in [Ok(()), Err(Error::protocol(ErrorTag::InvalidValue, "there is no such file"))] {
        node.send(a, Request::DeleteConfig { target: file("one") });
        let Some(Output::Remove { ticket, user, url }) = node.told.pop() else { panic!() };
        assert_eq!((user.as_str(), url.as_str()), ("ada", "one"));
        node.core.handle_stored(ticket, result.clone());
        node.drain();
        let expected = result.map_or_else(|error| Reply::Errors(vec![error]), |()| Reply::Ok);
        assert_eq!(node.reply(a), Some(expected));
    }
}

#[test]
fn nobody_waits_for_the_file_of_a_session_that_has_ended() {
    let mut node = Node::new();
    let a = node.open("ada");
    node.send(a, Request::EditConfig(Edit { config: at("one"), ..edit_with("") }));
    let (ticket, _) = fetched(&mut node, "one");
    node.drop_session(a);
    node.core.handle_fetched(ticket, Ok(config("<knob>1</knob>")), node.now);
    node.drain();
    let b = node.open("bob");
    assert_eq!((node.config(b, Candidate), node.config(b, Running)), (String::new(), String::new()));
}
