//! One message after its framing: requests, hellos and replies as each end reads them.

use crate::infoset::{self, attributes, same, same_bindings};
use cats_mgmtd_netconf::{
    Answer, Content, Echo, EditData, Filter, Hello, NoModules, Operation, RawReply, Reply, Source,
    XmlFragment, escape_text, parse_rpc, write_reply,
};
use cats_yang_tree::error::{Error, ErrorInfo};
use roxmltree::Node;

const BASE: &str = "urn:ietf:params:xml:ns:netconf:base:1.0";
const NMDA: &str = cats_mgmtd_netconf::names::NMDA;
const DEPTH: usize = 16;

/// A message as it is. A request says the same after it was written by our client and read again, what is cut out of
/// it means the same on its own, and every reply to it is XML with its attributes; so for hellos and replies.
pub fn rpc(data: &[u8]) {
    request(data);
    if let Ok(hello) = Hello::parse(data) {
        let again = Hello::parse(hello.to_xml().as_bytes());
        assert_eq!(again.as_ref(), Ok(&hello));
    }
    if let Ok(text) = std::str::from_utf8(data) {
        answer(text);
    }
}

fn request(data: &[u8]) {
    match parse_rpc(data, DEPTH) {
        Ok(rpc) => {
            let text = std::str::from_utf8(data).expect("a request is text");
            let document = infoset::read(text);
            let root = document.root_element();
            assert!(infoset::depth(root) <= DEPTH, "deeper than allowed");
            assert_eq!(root.attribute("message-id"), Some(rpc.message_id.as_str()));
            replied(&rpc.attributes, Reply::Ok, Some(root));
            let element = root.children().find(Node::is_element).expect("a request has an operation");
            cut_out(&rpc.operation, element);
            again(&rpc.operation);
        }
        Err(refused) => {
            let reply = Reply::Errors(vec![refused.error.clone()]);
            let written = replied(&refused.attributes, reply, None);
            let read = RawReply { message_id: None, xml: written.clone() }.answer(&NoModules);
            assert_eq!(read, Ok(Answer::Errors(vec![as_read(refused.error)])), "{written}");
        }
    }
}

/// Longer texts of errors are cut off, bytes.
const TEXT_MAX: usize = 4 << 10;

/// The error as a client reads it: without white space around its texts, and without what XML cannot hold.
fn as_read(mut error: Error) -> Error {
    let text = |text: &str| infoset::text(&format!("<x>{}</x>", escape_text(text))).trim().to_owned();
    let cut = |word: &str| word[..word.floor_char_boundary(TEXT_MAX)].to_owned();
    let message = cut(&error.message);
    let more = if message.len() < error.message.len() { "…" } else { "" };
    error.message = text(&(message + more));
    for info in &mut error.info {
        match info {
            ErrorInfo::BadAttribute(word) | ErrorInfo::BadElement(word) | ErrorInfo::BadNamespace(word) => {
                *word = text(&cut(word));
            }
            ErrorInfo::SessionId(_)
            | ErrorInfo::NonUnique(_)
            | ErrorInfo::MissingChoice(_)
            | ErrorInfo::Structure(_) => {}
        }
    }
    error
}

/// A reply that repeats `echo`; it is XML, and has the attributes and the declarations of the request.
fn replied(echo: &Echo, reply: Reply, request: Option<Node<'_, '_>>) -> String {
    let written = write_reply(echo, reply, &NoModules).concat();
    let document = infoset::read(&written);
    let root = document.root_element();
    if let Some(request) = request {
        assert_eq!(attributes(root), attributes(request));
        for declared in request.namespaces() {
            let kept = root.namespaces().any(|found| found == declared);
            assert!(kept, "{declared:?} is not in {written}");
        }
    }
    written
}

/// The fragment of an operation, with the namespace and name of the element that it was cut from.
fn fragments(operation: &Operation) -> Option<((&'static str, &'static str), &XmlFragment)> {
    match operation {
        Operation::Get { filter: Some(Filter::Subtree(filter)), .. }
        | Operation::GetConfig { filter: Some(Filter::Subtree(filter)), .. } => {
            Some(((BASE, "filter"), filter))
        }
        Operation::EditConfig { config: Content::Inline(config), .. }
        | Operation::CopyConfig { source: Source::Config(Content::Inline(config)), .. }
        | Operation::Validate { source: Source::Config(Content::Inline(config)) } => {
            Some(((BASE, "config"), config))
        }
        Operation::EditData(EditData { config: Content::Inline(config), .. }) => {
            Some(((NMDA, "config"), config))
        }
        Operation::GetData(get) => match &get.filter {
            Some(Filter::Subtree(filter)) => Some(((NMDA, "subtree-filter"), filter)),
            Some(Filter::XPath { .. }) | None => None,
        },
        Operation::Other { xml, .. } => Some((("", ""), xml)),
        _ => None,
    }
}

fn cut_out(operation: &Operation, element: Node<'_, '_>) {
    let Some((name, fragment)) = fragments(operation) else { return };
    let mut all = element.descendants().filter(Node::is_element);
    let original = all.find(|node| name.1.is_empty() || node.has_tag_name(name));
    let original = original.expect("it was cut from somewhere");
    let document = infoset::read(fragment.as_str());
    assert!(same(original, document.root_element()), "{fragment} is not what it was cut from");
    assert!(same_bindings(original, document.root_element()), "{fragment} lost the meaning of a prefix");
}

/// What our client writes for an operation is read as that operation.
fn again(operation: &Operation) {
    let message = format!("<rpc xmlns=\"{BASE}\" message-id=\"1\">{}</rpc>", operation.to_xml());
    let read = match parse_rpc(message.as_bytes(), DEPTH + 2) {
        Ok(rpc) => rpc.operation,
        Err(refused) => panic!("our own request is refused: {:?}: {message}", refused.error),
    };
    match (fragments(operation), fragments(&read)) {
        (Some((_, before)), Some((_, after))) => {
            let (a, b) = (infoset::read(before.as_str()), infoset::read(after.as_str()));
            assert!(same(a.root_element(), b.root_element()), "{before} became {after}");
            assert!(same_bindings(a.root_element(), b.root_element()), "{before} became {after}");
            assert_eq!(std::mem::discriminant(operation), std::mem::discriminant(&read));
        }
        (None, None) => assert_eq!(*operation, read),
        (before, after) => panic!("{before:?} became {after:?}"),
    }
}

/// A reply as a client reads it: errors that it can read can be written and read again.
fn answer(text: &str) {
    let reply = RawReply { message_id: None, xml: text.to_owned() };
    match reply.answer(&NoModules) {
        Ok(Answer::Errors(errors)) => {
            let written = write_reply(&Echo::default(), Reply::Errors(errors.clone()), &NoModules).concat();
            let read = RawReply { message_id: None, xml: written }.answer(&NoModules);
            let Ok(Answer::Errors(read)) = read else { panic!("our errors are read as {read:?}") };
            let tags = |errors: &[Error]| -> Vec<_> {
                errors.iter().map(|error| (error.kind, error.tag, error.app_tag.clone())).collect()
            };
            assert_eq!(tags(&read), tags(&errors));
        }
        Ok(Answer::Data(fragment)) => drop(infoset::read(fragment.as_str())),
        Ok(Answer::Output(fragments)) => {
            let document = infoset::read(text);
            let elements: Vec<_> = document.root_element().children().filter(Node::is_element).collect();
            for fragment in &fragments {
                let copy = infoset::read(fragment.as_str());
                assert!(elements.iter().any(|element| same(*element, copy.root_element())), "{fragment}");
            }
        }
        Ok(Answer::Ok) | Err(_) => {}
    }
}
