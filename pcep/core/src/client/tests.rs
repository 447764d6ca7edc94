use super::*;
use crate::codec::object::{Bandwidth, Ero, PcepError};
use crate::codec::subobject::{SrHop, Srv6Hop};
use crate::codec::tlv::{PathSetupType, SetupType};
use crate::codec::{Ieee754, Subobject, SubobjectValue};
use crate::grammar::Attributes;

const FIRST: PceId = PceId(1);
const SECOND: PceId = PceId(2);
const MILLI: Duration = Duration::from_millis(1);

fn context() -> Context {
    Context {
        setup_types: vec![SetupType::SRV6, SetupType::SR],
        reports: false,
        updates: false,
        initiates: false,
        most_labels: None,
        most_srv6_sids: None,
        resolves_nai: false,
    }
}

/// A client with two PCEs that are up, of which the first is preferred.
fn client() -> (Client, Instant) {
    let now = Instant::now();
    let mut client = Client::new(Limits::default(), 0);
    client.configure(&[(SECOND, 20), (FIRST, 10)], now);
    client.handle_up(FIRST, context());
    client.handle_up(SECOND, context());
    (client, now)
}

fn sid(last: u16) -> std::net::Ipv6Addr {
    [0x2001, 0xdb8, 0, 0, 0, 0, 0, last].into()
}

fn ask() -> Ask {
    Ask {
        setup: SetupType::SRV6,
        source: sid(1).into(),
        destination: sid(2).into(),
        constraints: Attributes::default(),
        most_sids: 3,
        ends_at: vec![Hop::Sid(sid(2))],
    }
}

fn outputs(client: &mut Client) -> Vec<Output> {
    std::iter::from_fn(|| client.poll_output()).collect()
}

/// The requests that went out: to whom, and with which number.
fn asked(outputs: &[Output]) -> Vec<(PceId, u32)> {
    let sent = outputs.iter().filter_map(|output| match output {
        Output::Send { pce, message } if message.kind == MessageType::PathRequest => Some((*pce, message)),
        _ => None,
    });
    let number = |message: &Message| match &message.objects[0].body {
        Body::Rp(rp) => rp.request,
        other => panic!("{other:?}"),
    };
    sent.map(|(pce, message)| (pce, number(message))).collect()
}

fn answers(outputs: &[Output]) -> Vec<Result<PceId, Failed>> {
    let answers = outputs.iter().filter_map(|output| match output {
        Output::Answer { result, .. } => Some(result.clone().map(|(pce, _)| pce)),
        _ => None,
    });
    answers.collect()
}

/// Asks, and tells the number of the attempt.
fn begin(client: &mut Client, now: Instant) -> u32 {
    client.request(7, ask(), now);
    let asked = asked(&outputs(client));
    assert_eq!(asked[0].0, FIRST);
    asked[0].1
}

fn rp(number: u32, setup: SetupType) -> Object {
    let tlv = TlvValue::SetupType(PathSetupType { reserved: [0; 3], kind: setup }).into();
    Object::required(Body::Rp(Rp { flags: RpFlags(0), request: number, tlvs: vec![tlv] }))
}

fn route(hops: Vec<SubobjectValue>) -> Object {
    Object::required(Body::Ero(Ero { hops: hops.into_iter().map(Subobject::strict).collect() }))
}

fn over(sids: &[u16]) -> Vec<SubobjectValue> {
    sids.iter().map(|last| SubobjectValue::Srv6(Srv6Hop::new(1, sid(*last), None))).collect()
}

fn reply(number: u32) -> Message {
    Message::new(MessageType::PathReply, vec![rp(number, SetupType::SRV6), route(over(&[9, 2]))])
}

fn no_path(number: u32, reasons: NoPathReasons) -> Message {
    let tlvs = vec![TlvValue::NoPathVector(reasons).into()];
    let body = NoPath { nature: 0, flags: crate::codec::object::NoPathFlags(0), reserved: 0, tlvs };
    Message::new(MessageType::PathReply, vec![rp(number, SetupType::SRV6), Object::new(Body::NoPath(body))])
}

/// Takes a message of a PCE, and tells what comes of it.
fn take(client: &mut Client, pce: PceId, message: &Message, now: Instant) -> Vec<Output> {
    client.handle_message(pce, message, now);
    outputs(client)
}

/// Proves CP-7, CP-8: a request has its ends and constraints, and its answer the path.
#[test]
fn a_request_goes_to_the_preferred_pce_and_its_answer_comes_back() {
    let (mut client, now) = client();
    let mut ask = ask();
    ask.constraints.bandwidth = Some(Bandwidth { octets: Ieee754::from(1e6) });
    client.request(7, ask, now);
    let sent = outputs(&mut client);
    let Output::Send { pce: FIRST, message } = &sent[0] else { panic!("{sent:?}") };
    let (parsed, _) = grammar::requests(&Message::decode(&message.encode().unwrap()).unwrap(), &context());
    let request = &parsed.items[0];
    assert_eq!((request.setup, request.destination), (SetupType::SRV6, sid(2).into()));
    assert_eq!(request.constraints.bandwidth.as_ref().unwrap().octets.value(), 1e6);

    let told = take(&mut client, FIRST, &reply(request.rp.request), now);
    let [Output::Answer { key: 7, result: Ok((FIRST, paths)) }] = &told[..] else { panic!("{told:?}") };
    assert_eq!(paths[0].route.hops.len(), 2);
    assert_eq!((client.pending(), client.poll_timeout()), (0, None));
}

/// Proves CP-24: what is late, repeated or of others changes nothing.
#[test]
fn answers_that_are_not_to_the_present_attempt_change_nothing() {
    let (mut client, now) = client();
    let number = begin(&mut client, now);
    let ignored = |why| move |pce, request| vec![Output::Ignored { pce, request, why }];
    assert_eq!(take(&mut client, SECOND, &reply(number), now), ignored(Ignored::OtherPce)(SECOND, number));
    assert_eq!(take(&mut client, FIRST, &reply(999), now), ignored(Ignored::Unknown)(FIRST, 999));
    assert_eq!(client.pending(), 1);

    assert_eq!(answers(&take(&mut client, FIRST, &reply(number), now)), [Ok(FIRST)]);
    assert_eq!(take(&mut client, FIRST, &reply(number), now), ignored(Ignored::Ended)(FIRST, number));
}

/// Proves CP-24: a late answer does not bring back what has timed out.
#[test]
fn after_the_deadline_an_answer_is_late() {
    let (mut client, now) = client();
    client.handle_down(SECOND, now);
    let number = begin(&mut client, now);
    client.handle_timeout(now + 200 * MILLI);
    assert!(outputs(&mut client).is_empty(), "nobody else can be asked");
    assert_eq!(client.poll_timeout(), Some((now + 500 * MILLI, "path request")));
    client.handle_timeout(now + 500 * MILLI);
    assert_eq!(answers(&outputs(&mut client)), [Err(Failed::Timeout(500 * MILLI))]);
    let told = take(&mut client, FIRST, &reply(number), now + 501 * MILLI);
    assert_eq!(told, [Output::Ignored { pce: FIRST, request: number, why: Ignored::Ended }]);
}

#[test]
fn a_pce_that_does_not_answer_is_told_and_the_next_one_is_asked() {
    let (mut client, now) = client();
    let number = begin(&mut client, now);
    client.handle_timeout(now + 200 * MILLI);
    let told = outputs(&mut client);
    let Output::Send { pce: FIRST, message } = &told[0] else { panic!("{told:?}") };
    assert_eq!(grammar::notices(message)[0].about, [Reference::Request(number)]);
    let again = asked(&told);
    assert_eq!(again[0].0, SECOND);
    assert_ne!(again[0].1, number);

    let late = take(&mut client, FIRST, &reply(number), now + 201 * MILLI);
    assert_eq!(late, [Output::Ignored { pce: FIRST, request: number, why: Ignored::Ended }]);
    let told = take(&mut client, SECOND, &reply(again[0].1), now + 210 * MILLI);
    assert_eq!(answers(&told), [Ok(SECOND)]);
}

#[test]
fn a_lost_session_is_no_lost_request() {
    let (mut client, now) = client();
    begin(&mut client, now);
    client.handle_down(FIRST, now);
    assert_eq!(asked(&outputs(&mut client))[0].0, SECOND);
    client.handle_down(SECOND, now);
    assert_eq!(answers(&outputs(&mut client)), [Err(Failed::NoPce)]);
    client.request(8, ask(), now);
    assert_eq!(answers(&outputs(&mut client)), [Err(Failed::NoPce)]);
}

#[test]
fn a_pce_that_is_not_configured_any_more_is_not_asked() {
    let (mut client, now) = client();
    begin(&mut client, now);
    client.configure(&[(SECOND, 20)], now);
    assert_eq!(asked(&outputs(&mut client))[0].0, SECOND);
    client.handle_up(FIRST, context());
    client.request(8, ask(), now);
    assert_eq!(asked(&outputs(&mut client))[0].0, SECOND);
}

#[test]
fn that_there_is_no_path_is_an_answer_unless_the_pce_cannot_say() {
    let (mut client, now) = client();
    let number = begin(&mut client, now);
    let told = take(&mut client, FIRST, &no_path(number, NoPathReasons::UNAVAILABLE), now);
    let (pce, number) = asked(&told)[0];
    assert_eq!(pce, SECOND);
    let told = take(&mut client, SECOND, &no_path(number, NoPathReasons::UNKNOWN_DESTINATION), now);
    assert!(matches!(answers(&told)[..], [Err(Failed::NoPath(_))]));
}

#[test]
fn a_pce_that_refuses_or_cancels_is_followed_by_the_next_one() {
    let (mut client, now) = client();
    let number = begin(&mut client, now);
    let rp = rp(number, SetupType::SRV6);
    let error = Object::new(Body::Error(PcepError::new(ErrorCode::POLICY_METRIC)));
    let told = take(&mut client, FIRST, &Message::new(MessageType::Error, vec![rp, error.clone()]), now);
    let (pce, number) = asked(&told)[0];
    assert_eq!(pce, SECOND);
    let rp = self::rp(number, SetupType::SRV6);
    let told = take(&mut client, SECOND, &Message::new(MessageType::Error, vec![rp, error]), now);
    assert_eq!(answers(&told), [Err(Failed::Refused(ErrorCode::POLICY_METRIC))]);

    let number = begin(&mut client, now);
    let cancelled = Notification { reserved: 0, flags: 0, kind: 1, value: 2, tlvs: Vec::new() };
    let objects = vec![self::rp(number, SetupType::SRV6), Object::new(Body::Notification(cancelled))];
    let told = take(&mut client, FIRST, &Message::new(MessageType::Notification, objects), now);
    assert_eq!(asked(&told)[0].0, SECOND);
}

/// Proves CP-14: a path that the headend cannot realise, or that leads elsewhere, is a failure.
#[test]
fn a_path_that_cannot_be_used_is_a_failure() {
    let rows = [
        (SetupType::SRV6, over(&[9, 8, 7, 2]), Failed::Unusable(ErrorCode::SRV6_ERO_COUNT)),
        (SetupType::SRV6, over(&[2, 9]), Failed::OtherEndpoint),
        (SetupType::SRV6, over(&[]), Failed::Unusable(ErrorCode::ERO_MISSING)),
        (
            SetupType::SR,
            vec![SubobjectValue::Sr(SrHop::label(16_000))],
            Failed::Unusable(ErrorCode::SETUP_TYPE_MISMATCH),
        ),
        (
            SetupType::SRV6,
            vec![SubobjectValue::Sr(SrHop::label(16_000))],
            Failed::Unusable(ErrorCode::MALFORMED_OBJECT),
        ),
    ];
    for (setup, hops, failed) in rows {
        let (mut client, now) = client();
        client.handle_down(SECOND, now);
        let number = begin(&mut client, now);
        let message = Message::new(MessageType::PathReply, vec![rp(number, setup), route(hops)]);
        assert_eq!(answers(&take(&mut client, FIRST, &message, now)), [Err(failed)]);
    }
}

#[test]
fn a_congested_pce_is_asked_last() {
    let (mut client, now) = client();
    let tlvs = vec![TlvValue::OverloadDuration(30).into()];
    let congested = Notification { reserved: 0, flags: 0, kind: 2, value: 1, tlvs };
    let message = |told: Notification| {
        Message::new(MessageType::Notification, vec![Object::new(Body::Notification(told))])
    };
    take(&mut client, FIRST, &message(congested.clone()), now);
    client.request(1, ask(), now);
    assert_eq!(asked(&outputs(&mut client))[0].0, SECOND);
    client.request(2, ask(), now + 31_000 * MILLI);
    assert_eq!(asked(&outputs(&mut client))[0].0, FIRST);

    take(&mut client, FIRST, &message(congested.clone()), now);
    take(&mut client, FIRST, &message(Notification { value: 2, tlvs: Vec::new(), ..congested }), now);
    client.request(3, ask(), now);
    assert_eq!(asked(&outputs(&mut client))[0].0, FIRST);
}

/// Proves CP-28: what waits is bounded.
#[test]
fn requests_above_the_bound_fail_at_once() {
    let now = Instant::now();
    let mut client = Client::new(Limits { pending: 2, ended: 1, ..Limits::default() }, u32::MAX - 1);
    client.configure(&[(FIRST, 10)], now);
    client.handle_up(FIRST, context());
    for key in 0..3 {
        client.request(key, ask(), now);
    }
    let told = outputs(&mut client);
    let numbers: Vec<u32> = asked(&told).into_iter().map(|(_, number)| number).collect();
    assert_eq!(numbers, [u32::MAX, 1], "0 is no number");
    assert_eq!(answers(&told), [Err(Failed::TooMany { limit: 2 })]);
    client.cancel(0);
    client.cancel(1);
    client.cancel(1);
    assert_eq!((client.pending(), client.ended.len(), client.poll_timeout()), (0, 1, None));
}

#[test]
fn a_pce_that_cannot_set_up_in_that_way_is_not_asked() {
    let (mut client, now) = client();
    client.request(7, Ask { setup: SetupType::RSVP, ..ask() }, now);
    assert_eq!(answers(&outputs(&mut client)), [Err(Failed::NoPce)]);
}
