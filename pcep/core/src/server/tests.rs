use super::*;
use crate::codec::object::{Ero, Svec, SvecFlags};
use crate::codec::subobject::{SrCode, SrHop};
use crate::codec::{DecodeError, Subobject};
use crate::grammar::{Association, Attributes, Outcome};
use crate::vectors::bytes;

const PEER: ConnectionId = ConnectionId(1);
const OTHER: ConnectionId = ConnectionId(2);

fn context() -> Context {
    Context {
        setup_types: vec![SetupType::RSVP, SetupType::SR],
        reports: false,
        updates: false,
        initiates: false,
        most_labels: None,
        most_srv6_sids: None,
        resolves_nai: true,
    }
}

fn style() -> Style {
    Style { sr_code: SrCode::Assigned, associations: true, most_labels: Some(3), most_srv6_sids: None }
}

fn server(limits: Limits) -> Server {
    let mut server = Server::new(limits);
    server.handle_up(PEER, context(), style());
    server.handle_up(OTHER, context(), style());
    server
}

/// The request of the case PCEP A10, with that number.
fn request(number: u32) -> Message {
    let mut message: Result<Message, DecodeError> = Message::decode(&bytes("A10"));
    if let Ok(Message { objects, .. }) = &mut message
        && let Body::Rp(rp) = &mut objects[0].body
    {
        rp.request = number;
    }
    message.unwrap()
}

fn outputs(server: &mut Server) -> Vec<Output> {
    std::iter::from_fn(|| server.poll_output()).collect()
}

fn tickets(outputs: &[Output]) -> Vec<Ticket> {
    let tickets = outputs.iter().filter_map(|output| match output {
        Output::Compute { ticket, .. } => Some(*ticket),
        _ => None,
    });
    tickets.collect()
}

fn sent(outputs: &[Output]) -> Vec<(ConnectionId, Message)> {
    let sent = outputs.iter().filter_map(|output| match output {
        Output::Send { to, message } => Some((*to, message.clone())),
        _ => None,
    });
    sent.collect()
}

/// Types and values of the notifications that were sent, with the request.
fn told(outputs: &[Output]) -> Vec<(Option<Reference>, u8, u8)> {
    let notices = sent(outputs).into_iter().flat_map(|(_, message)| grammar::notices(&message));
    notices
        .map(|of| (of.about.first().copied(), of.notifications[0].kind, of.notifications[0].value))
        .collect()
}

fn path(labels: usize) -> Path {
    let hop = Subobject::strict(SubobjectValue::Sr(SrHop::label(16_000)));
    Path { route: Ero { hops: vec![hop; labels] }, taken: None, attributes: Attributes::default() }
}

/// Asks, and tells what is to be computed.
fn ask(server: &mut Server, from: ConnectionId, number: u32) -> Vec<Ticket> {
    server.handle_message(from, &request(number));
    tickets(&outputs(server))
}

fn reply(server: &mut Server, ticket: Ticket, answer: Answer) -> (ConnectionId, grammar::Reply) {
    server.answer(ticket, answer);
    let (to, message) = sent(&outputs(server)).remove(0);
    let message = Message::decode(&message.encode().unwrap()).unwrap();
    (to, grammar::replies(&message, &context()).items.remove(0))
}

/// Proves CP-8. The fifth habit of `conformance/pcep-cases.md`: in any order, by the number.
#[test]
fn replies_go_to_who_asked_in_any_order() {
    let mut server = server(Limits::default());
    let first = ask(&mut server, PEER, 7)[0];
    let second = ask(&mut server, OTHER, 7)[0];
    let (to, answer) = reply(&mut server, second, Answer::Paths(vec![path(2)]));
    assert_eq!((to, answer.rp.request), (OTHER, 7));
    assert!(matches!(&answer.outcome, Outcome::Paths(paths) if paths[0].route.hops.len() == 2));
    let (to, answer) = reply(&mut server, first, Answer::NoPath(NoPathReasons::UNKNOWN_DESTINATION));
    assert_eq!(to, PEER);
    let Outcome::NoPath { reason, .. } = answer.outcome else { panic!("{answer:?}") };
    assert_eq!(reason.tlvs[0].value, TlvValue::NoPathVector(NoPathReasons::UNKNOWN_DESTINATION));
    assert_eq!(server.waiting(), 0);
    server.answer(first, Answer::Paths(vec![path(1)]));
    assert!(outputs(&mut server).is_empty());
}

/// Proves CP-14. The eighth habit of `conformance/pcep-cases.md`.
#[test]
fn a_path_that_the_headend_cannot_impose_is_no_path() {
    let mut server = server(Limits::default());
    let ticket = ask(&mut server, PEER, 7)[0];
    let (_, answer) = reply(&mut server, ticket, Answer::Paths(vec![path(4)]));
    assert!(matches!(answer.outcome, Outcome::NoPath { .. }));
}

/// The fourth and seventh habits of `conformance/pcep-cases.md`.
#[test]
fn a_reply_is_written_as_the_peer_reads_it() {
    let mut server = Server::new(Limits::default());
    let old = Style { sr_code: SrCode::Draft, associations: false, ..style() };
    server.handle_up(PEER, context(), old);
    let ticket = ask(&mut server, PEER, 7)[0];
    let mut path = path(1);
    let flags = crate::codec::object::AssociationFlags(0);
    let source = [192, 0, 2, 1].into();
    path.attributes.associations.push(Association { flags, kind: 6, id: 1, source, tlvs: Vec::new() });
    let (_, answer) = reply(&mut server, ticket, Answer::Paths(vec![path]));
    let Outcome::Paths(paths) = answer.outcome else { panic!("{answer:?}") };
    assert_eq!(paths[0].route.hops[0].value.kind(), 5);
    assert!(paths[0].attributes.associations.is_empty());
}

/// Proves CP-28: what one peer asks for is bounded, and so is what all do.
#[test]
fn a_peer_that_asks_for_too_much_is_told_to_wait_and_then_to_go_on() {
    let mut server = server(Limits { of_a_peer: 2, in_all: 3, ..Limits::default() });
    let first = ask(&mut server, PEER, 1)[0];
    let second = ask(&mut server, PEER, 2)[0];
    server.handle_message(PEER, &request(3));
    let turned = told(&outputs(&mut server));
    assert_eq!(turned, [(Some(Reference::Request(3)), 1, 2), (None, 2, 1)]);
    server.handle_message(PEER, &request(4));
    assert_eq!(told(&outputs(&mut server)), [(Some(Reference::Request(4)), 1, 2)], "it is told once to wait");
    assert_eq!((ask(&mut server, OTHER, 1).len(), ask(&mut server, OTHER, 2).len()), (1, 0));
    server.answer(first, Answer::Paths(vec![path(1)]));
    assert_eq!(told(&outputs(&mut server)), [(None, 2, 2)]);
    server.answer(second, Answer::Paths(vec![path(1)]));
    assert!(told(&outputs(&mut server)).is_empty());
}

#[test]
fn a_request_that_is_repeated_is_computed_once() {
    let mut server = server(Limits::default());
    assert_eq!((ask(&mut server, PEER, 1).len(), ask(&mut server, PEER, 1).len()), (1, 0));
}

#[test]
fn what_nobody_waits_for_is_forgotten() {
    let mut server = server(Limits::default());
    let first = ask(&mut server, PEER, 1)[0];
    let second = ask(&mut server, PEER, 2)[0];
    server.handle_message(OTHER, &notice(Some(1), 1, 1, Vec::new()));
    assert!(outputs(&mut server).is_empty(), "it is not theirs");
    server.handle_message(PEER, &notice(Some(1), 1, 1, Vec::new()));
    assert_eq!(outputs(&mut server), [Output::Forget(first)]);
    server.handle_down(PEER);
    assert_eq!(outputs(&mut server), [Output::Forget(second)]);
    server.handle_message(PEER, &request(3));
    assert!(outputs(&mut server).is_empty());
}

/// The case PCEP C28 among others: each is refused by its number.
#[test]
fn what_cannot_be_asked_is_refused() {
    let mut server = server(Limits::default());
    server.handle_message(PEER, &Message::decode(&bytes("C28")).unwrap());
    let (_, message) = sent(&outputs(&mut server)).remove(0);
    let failure = grammar::failures(&message).remove(0);
    assert_eq!((failure.about, failure.codes), (vec![Reference::Request(9)], vec![ErrorCode::SETUP_TYPE]));
}

/// Row 7/0.
#[test]
fn requests_that_belong_together_come_together() {
    let mut server = server(Limits::default());
    let with = |numbers: &[u32]| {
        let svec = Svec { flags: SvecFlags::LINK_DIVERSE, requests: numbers.to_vec() };
        let mut message = request(1);
        message.objects.insert(0, Object::required(Body::Svec(svec)));
        message
    };
    server.handle_message(PEER, &with(&[1, 2]));
    let (_, message) = sent(&outputs(&mut server)).remove(0);
    assert_eq!(grammar::failures(&message)[0].codes, [ErrorCode::SYNCHRONISED_REQUEST_MISSING]);
    server.handle_message(PEER, &with(&[1]));
    assert_eq!(tickets(&outputs(&mut server)).len(), 1);
}
