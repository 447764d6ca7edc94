//! The server's end of a session, fed with what a peer could send.

use crate::infoset;
use crate::input::{Input, Pieces};
use cats_mgmtd_netconf::{
    DataOf, Decoder, Event, Filter, Framing, Hello, Limits, NoModules, Operation, Output, Reply, Session,
    Settings, encode, escape_text,
};
use cats_yang_tree::error::{Error, ErrorInfo, ErrorTag};
use std::time::Instant;

const BASE: &str = "urn:ietf:params:xml:ns:netconf:base:1.0";
const DEPTH: usize = 8;

/// One byte of options, four for the pieces, then what the peer sends: as it is, or (by the options) behind a hello
/// and in right framing, a message in each part that a zero byte ends. The outputs are the same in any pieces, each
/// request gets its reply with its attributes, and what waits stays within its bound.
pub fn session(data: &[u8]) {
    let mut input = Input(data);
    let option = input.byte();
    let pieces = input.pieces();
    let (wire, greeted) = wire(option, pieces, &input);
    let message = if option & 0b100 == 0 { 1 << 20 } else { 256 };

    let whole = outputs(message, &[&wire]);
    assert_eq!(outputs(message, &pieces.of(&wire)), whole, "in pieces");
    let single: Vec<&[u8]> = wire.chunks(1).collect();
    assert_eq!(outputs(message, &single), whole, "byte by byte");
    replies(&whole, greeted);
}

/// The bytes of the connection, and the framing if they begin with a right hello.
fn wire(option: u8, pieces: Pieces, input: &Input<'_>) -> (Vec<u8>, Option<Framing>) {
    let (base, framing) = match option & 0b11 {
        0b00 => return (input.0.to_vec(), None),
        0b01 => ("1.0", Framing::EndOfMessage),
        _ => ("1.1", Framing::Chunked),
    };
    let uri = format!("urn:ietf:params:netconf:base:{base}");
    let hello = Hello { capabilities: vec![uri], session_id: None }.to_xml();
    let mut wire = encode(Framing::EndOfMessage, vec![hello]).concat();
    if option & 0b11 == 0b11 {
        // Right framing only up to here.
        wire.extend_from_slice(input.0);
        return (wire, Some(framing));
    }
    for message in input.parts().filter(|message| !message.is_empty()) {
        match framing {
            Framing::EndOfMessage => wire.extend([message, b"]]>]]>"].concat()),
            Framing::Chunked => {
                for chunk in pieces.of(message) {
                    wire.extend_from_slice(format!("\n#{}\n", chunk.len()).as_bytes());
                    wire.extend_from_slice(chunk);
                }
                wire.extend_from_slice(b"\n##\n");
            }
        }
    }
    (wire, Some(framing))
}

/// Everything a session says, each request answered at once.
fn outputs(message: usize, pieces: &[&[u8]]) -> Vec<Output> {
    let now = Instant::now();
    let limits = Limits { message, depth: DEPTH, ..Limits::default() };
    let settings = Settings { session_id: 7, capabilities: vec!["urn:x?a=1&b=2".to_owned()], limits };
    let mut session = Session::new(settings, now);
    let mut outputs = Vec::new();
    drain(&mut session, &mut outputs, now);
    for piece in pieces {
        assert!(
            session.wants_input() || matches!(outputs.last(), Some(Output::Closed(_))),
            "all is answered"
        );
        session.handle_bytes(piece, now);
        drain(&mut session, &mut outputs, now);
        assert!(session.backlog() == 0, "{} bytes wait without a request", session.backlog());
    }
    session.handle_eof();
    drain(&mut session, &mut outputs, now);
    let ends = outputs.iter().filter(|output| matches!(output, Output::Closed(_))).count();
    assert!(ends == 1 && matches!(outputs.last(), Some(Output::Closed(_))), "it ends once, and last");
    assert!(session.poll_timeout().is_none(), "nothing is due behind the end");
    outputs
}

fn drain(session: &mut Session, outputs: &mut Vec<Output>, now: Instant) {
    while let Some(output) = session.poll_output() {
        let reply = match &output {
            Output::Request(rpc) => Some(answer(&rpc.operation, &rpc.message_id)),
            Output::Send(_) | Output::Closed(_) => None,
        };
        outputs.push(output);
        match reply {
            Some(Reply::Data(data)) => {
                session.begin_data(DataOf::Base);
                let mut rest = data.as_str();
                while let Some((at, _)) = rest.char_indices().nth(5000) {
                    let (piece, after) = rest.split_at(at);
                    session.data(piece);
                    rest = after;
                }
                session.data(rest);
                session.end_data(now);
            }
            Some(reply) => session.reply(reply, &NoModules, now),
            None => {}
        }
    }
}

/// What a filter says, as data.
fn content(filter: &Filter) -> String {
    match filter {
        Filter::Subtree(element) => element.as_str().to_owned(),
        Filter::XPath { select, .. } => escape_text(select).into_owned(),
    }
}

/// One kind of reply or another, with the peer's own words in it where errors carry some.
fn answer(operation: &Operation, word: &str) -> Reply {
    match operation {
        Operation::Get { filter, .. } | Operation::GetConfig { filter, .. } => {
            Reply::Data(filter.as_ref().map_or(String::new(), content))
        }
        Operation::GetSchema { identifier, .. } => Reply::Schema(identifier.clone()),
        Operation::Other { xml, .. } => Reply::Output(xml.as_str().to_owned()),
        Operation::KillSession { .. } => {
            let error = Error::protocol(ErrorTag::InvalidValue, word).app_tag(word);
            Reply::Errors(vec![error.with(ErrorInfo::BadElement(word.to_owned()))])
        }
        _ => Reply::Ok,
    }
}

/// The hello first, then in the framing that was agreed on: right behind each request its reply, with its attributes,
/// and else only errors, which are for what never became a request.
fn replies(outputs: &[Output], greeted: Option<Framing>) {
    let mut decoder = Decoder::new(usize::MAX / 2);
    let (mut met, mut awaited) = (false, None);
    for output in outputs {
        let bytes = match output {
            Output::Send(bytes) => bytes,
            Output::Request(rpc) => {
                assert!(awaited.replace(rpc).is_none(), "a request before the last one was answered");
                continue;
            }
            Output::Closed(_) => break,
        };
        if met && !decoder.is_inside() {
            let agreed = if bytes.starts_with(b"\n#") { Framing::Chunked } else { Framing::EndOfMessage };
            decoder.set_framing(greeted.unwrap_or(agreed));
        }
        let (used, event) = decoder.feed(bytes).expect("our framing is right");
        assert_eq!(used, bytes.len(), "a piece of two messages");
        match event {
            None => {}
            Some(Event::Message(message)) if met => {
                let message = String::from_utf8(message).expect("we write UTF-8");
                reply(&message, awaited.take().map(|rpc| rpc.attributes.as_str()));
            }
            Some(Event::Message(message)) => {
                let hello = Hello::parse(&message).expect("our hello is one");
                assert_eq!(hello.session_id, Some(7));
                met = true;
            }
            Some(Event::TooBig { size, .. }) => panic!("a reply of {size} bytes"),
            Some(Event::Discarded { .. }) => panic!("nothing was given up"),
        }
    }
    assert!(!decoder.is_inside(), "half a reply");
    assert!(awaited.is_none(), "no reply to {awaited:?}");
}

fn reply(message: &str, echo: Option<&str>) {
    let document = infoset::read(message);
    let root = document.root_element();
    assert!(root.has_tag_name((BASE, "rpc-reply")), "{message}");
    match echo {
        Some(echo) => {
            let element = format!("<x{echo}/>");
            let wanted = infoset::read(&element);
            assert_eq!(infoset::attributes(root), infoset::attributes(wanted.root_element()), "{message}");
        }
        None => assert!(root.children().all(|child| child.has_tag_name((BASE, "rpc-error"))), "{message}"),
    }
}
