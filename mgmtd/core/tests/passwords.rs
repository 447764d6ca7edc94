//! Clear text that an edit brings is a hash before anybody sees it.

#![allow(clippy::unwrap_used, clippy::panic)] // a failed set-up is a failed test

mod node;

use cats_mgmtd_core::{Config, Datastore, Edit, ErrorOption, PASSWORD_LIMIT, Reply, Request, TestOption};
use cats_yang_tree::error::{Error, ErrorTag};
use node::{Node, edit_with};
use sha_crypt::{PasswordVerifier, ShaCrypt};

fn salted(content: &str, salt: u8) -> Edit {
    let plain = edit_with("");
    let text = format!(
        "<config xmlns:nc=\"urn:ietf:params:xml:ns:netconf:base:1.0\"><bench xmlns=\"{}\">{content}</bench></config>",
        node::NS
    );
    Edit { config: Config::new(text).salted([salt; 16]), ..plain }
}

/// The content of each `secret` in the candidate, in order.
fn secrets(node: &mut Node) -> Vec<String> {
    let reader = node.open("reader");
    let candidate = node.config(reader, Datastore::Candidate);
    let mut parts = candidate.split("<secret>");
    parts.next();
    parts.map(|part| part.split('<').next().unwrap_or_default().to_owned()).collect()
}

fn errors(reply: Reply) -> Vec<Error> {
    match reply {
        Reply::Errors(errors) => errors,
        other => panic!("{other:?}"),
    }
}

#[test]
fn clear_text_is_hashed_with_another_salt_at_each_place_and_at_each_time() {
    let mut node = Node::new();
    let a = node.open("ada");
    let both = "<secret>$0$open &amp; sesame</secret><item><name>a</name><secret>&#36;0$open &amp; sesame</secret></item>";
    node.ok(a, Request::EditConfig(salted(both, 1)));
    let first = secrets(&mut node);
    node.ok(a, Request::EditConfig(salted(both, 2)));
    let second = secrets(&mut node);
    let all: Vec<&String> = first.iter().chain(&second).collect();
    assert_eq!(all.len(), 4);
    for (index, hash) in all.iter().enumerate() {
        assert!(hash.starts_with("$6$"), "{hash}");
        assert!(!all[..index].contains(hash), "{hash} twice");
        assert!(ShaCrypt::SHA512.verify_password(b"open & sesame", hash.as_str()).is_ok(), "{hash}");
        assert!(ShaCrypt::SHA512.verify_password(b"open sesame", hash.as_str()).is_err(), "{hash}");
    }
}

#[test]
fn a_hash_is_stored_as_it_is_and_text_of_other_leafs_stays() {
    let mut node = Node::new();
    let a = node.open("ada");
    let hash = format!("$6$salt${}", "x".repeat(86));
    node.ok(a, Request::EditConfig(salted(&format!("<secret>{hash}</secret><mode>$0$x</mode>"), 1)));
    assert_eq!(secrets(&mut node), [hash]);
    assert!(node.config(a, Datastore::Candidate).contains("<mode>$0$x</mode>"));
}

#[test]
fn an_edit_that_is_done_in_pieces_hashes_in_each() {
    let mut node = Node::new();
    let a = node.open("ada");
    let content = "<secret>$0$open</secret><knob nc:operation=\"delete\"/>";
    let pieces = Edit {
        error_option: ErrorOption::ContinueOnError,
        test_option: TestOption::Set,
        ..salted(content, 1)
    };
    let errors = errors(node.ask(a, Request::EditConfig(pieces)));
    assert_eq!(errors[0].tag, ErrorTag::DataMissing);
    assert!(secrets(&mut node)[0].starts_with("$6$"));
}

#[test]
fn a_password_that_nobody_could_log_in_with_is_refused() {
    let mut node = Node::new();
    let a = node.open("ada");
    let long = "p".repeat(PASSWORD_LIMIT + 1);
    for (content, why) in [("", "an empty password"), (long.as_str(), "longer than the 512 bytes")] {
        let edit = salted(&format!("<secret>$0${content}</secret>"), 1);
        let errors = errors(node.ask(a, Request::EditConfig(edit)));
        assert_eq!(errors[0].tag, ErrorTag::InvalidValue);
        assert!(errors[0].message.contains(why), "{}", errors[0].message);
        assert_eq!(errors[0].path.as_ref().unwrap().0, "/probe-bench:bench/secret");
    }
}

#[test]
fn a_request_does_not_show_its_text_in_logs() {
    let shown = format!("{:?}", Request::EditConfig(salted("<secret>$0$open</secret>", 1)));
    assert!(!shown.contains("open"), "{shown}");
}
