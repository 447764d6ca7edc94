use super::*;
use crate::codec::subobject::SrCode;
use crate::codec::tlv::{
    MsdPair, SetupType, SrCapability, SrCapabilityFlags, SrPolicyCapability, StatefulCapability, TlvValue,
};
use crate::vectors::bytes;

const SECOND: Duration = Duration::from_secs(1);

fn outputs(session: &mut Session) -> Vec<Output> {
    std::iter::from_fn(|| session.poll_output()).collect()
}

/// The messages that a session sent since it was asked last.
fn said(session: &mut Session) -> Vec<Message> {
    sent(&outputs(session))
}

fn sent(outputs: &[Output]) -> Vec<Message> {
    let bytes = outputs.iter().filter_map(|output| match output {
        Output::Send(bytes) => Some(bytes),
        _ => None,
    });
    bytes.map(|bytes| Message::decode(bytes).expect("what we send is a message")).collect()
}

fn closed(outputs: &[Output]) -> Option<&Reason> {
    outputs.iter().find_map(|output| match output {
        Output::Closed(reason) => Some(reason),
        _ => None,
    })
}

fn errors(messages: &[Message]) -> Vec<ErrorCode> {
    messages.iter().filter_map(error_code).collect()
}

fn reasons(messages: &[Message]) -> Vec<CloseReason> {
    let bodies = messages.iter().flat_map(|message| &message.objects).map(|object| &object.body);
    bodies.filter_map(|body| if let Body::Close(close) = body { Some(close.reason) } else { None }).collect()
}

fn keepalive() -> Vec<u8> {
    bytes("A08")
}

fn open_of(keepalive: u8, dead: u8) -> Vec<u8> {
    let open = Body::Open(Open::new(keepalive, dead, 7, Vec::new()));
    Message::new(MessageType::Open, vec![Object::new(open)]).encode().unwrap()
}

fn new(settings: Settings) -> (Session, Instant) {
    let now = Instant::now();
    (Session::new(settings, now), now)
}

/// A session that is up, of which all outputs are taken.
fn up_with(settings: Settings, open: &[u8]) -> (Session, Instant) {
    let (mut session, now) = new(settings);
    session.handle_bytes(&[open, &keepalive()].concat(), now);
    outputs(&mut session);
    assert_eq!(session.stage(), Stage::Up);
    (session, now)
}

fn up() -> (Session, Instant) {
    up_with(Settings::new(Role::Pce), &bytes("A01"))
}

/// What a session that is up says to a case.
fn answer(case: &str) -> (Session, Vec<Output>) {
    let (mut session, now) = up();
    session.handle_bytes(&bytes(case), now);
    let outputs = outputs(&mut session);
    (session, outputs)
}

/// What a session says to an Open, and how it ends.
fn judged(role: Role, open: &[u8]) -> (Vec<ErrorCode>, Option<Reason>) {
    let (mut session, now) = new(Settings::new(role));
    session.handle_bytes(open, now);
    let outputs = outputs(&mut session);
    (errors(&sent(&outputs)), closed(&outputs).cloned())
}

fn refusal(code: ErrorCode) -> (Vec<ErrorCode>, Option<Reason>) {
    (vec![code], Some(Reason::Refused(code)))
}

#[test]
fn a_session_is_up_when_both_opens_are_accepted() {
    let (mut session, now) = new(Settings::new(Role::Pce));
    assert_eq!(said(&mut session)[0].kind, MessageType::Open);
    session.handle_bytes(&bytes("A01"), now);
    assert_eq!(session.stage(), Stage::KeepWait);
    assert_eq!(said(&mut session), [Message::bare(MessageType::Keepalive)]);
    session.handle_bytes(&keepalive(), now);
    assert!(matches!(outputs(&mut session)[..], [Output::Up(_)]));
    assert_eq!(session.peer().map(|open| open.session), Some(1));
}

/// The second habit of `conformance/pcep-cases.md`.
#[test]
fn an_open_and_a_keepalive_at_once_are_accepted() {
    let (session, _) = up_with(Settings::new(Role::Pcc), &bytes("A06"));
    assert_eq!(session.stage(), Stage::Up);
}

#[test]
fn the_pieces_in_which_messages_come_make_no_difference() {
    let (mut session, now) = new(Settings::new(Role::Pce));
    let all = [bytes("A02"), keepalive(), bytes("A10"), bytes("A13")].concat();
    for byte in &all {
        session.handle_bytes(&[*byte], now);
    }
    let told =
        outputs(&mut session).into_iter().filter(|output| matches!(output, Output::Message(_))).count();
    assert_eq!(told, 2);
}

/// Proves CP-28: what waits to be told is bounded.
#[test]
fn hundreds_of_requests_at_once_are_all_told_and_no_more_is_read_meanwhile() {
    let (mut session, now) = up();
    session.handle_bytes(&bytes("A13").repeat(300), now);
    assert!(!session.wants_input());
    assert_eq!(session.outputs.len(), OUTPUTS);
    let told =
        outputs(&mut session).into_iter().filter(|output| matches!(output, Output::Message(_))).count();
    assert_eq!(told, 300);
    assert!(session.wants_input());
}

#[test]
fn a_peer_that_says_nothing_is_left_by_the_timers_of_the_handshake() {
    let (mut session, now) = new(Settings::new(Role::Pce));
    let (due, what) = session.poll_timeout().unwrap();
    assert_eq!((due, what), (now + 60 * SECOND, "Open"));
    session.handle_timeout(due - SECOND);
    assert_eq!(session.stage(), Stage::OpenWait);
    session.handle_timeout(due);
    let ended = outputs(&mut session);
    assert_eq!(errors(&sent(&ended)), [ErrorCode::NO_OPEN]);
    assert_eq!(closed(&ended), Some(&Reason::Refused(ErrorCode::NO_OPEN)));
    assert_eq!(session.poll_timeout(), None);

    let (mut session, now) = new(Settings::new(Role::Pce));
    session.handle_bytes(&bytes("A01"), now);
    session.handle_timeout(now + 60 * SECOND);
    assert_eq!(errors(&said(&mut session)), [ErrorCode::NO_KEEPALIVE]);
}

#[test]
fn keepalives_go_out_as_often_as_was_announced_unless_something_else_did() {
    let (mut session, now) = up();
    let (due, what) = session.poll_timeout().unwrap();
    assert_eq!((due, what), (now + 30 * SECOND, "keepalive"));
    session.send(&Message::bare(MessageType::Notification), now + 10 * SECOND).unwrap();
    outputs(&mut session);
    session.handle_timeout(due);
    assert!(outputs(&mut session).is_empty());
    session.handle_timeout(now + 40 * SECOND);
    assert_eq!(said(&mut session), [Message::bare(MessageType::Keepalive)]);
}

#[test]
fn a_peer_that_is_silent_for_its_dead_timer_is_left() {
    let (mut session, now) = up_with(Settings::new(Role::Pce), &open_of(5, 20));
    session.handle_bytes(&keepalive(), now + 19 * SECOND);
    session.handle_timeout(now + 38 * SECOND);
    assert_eq!(session.stage(), Stage::Up);
    session.handle_timeout(now + 39 * SECOND);
    let ended = outputs(&mut session);
    assert_eq!(reasons(&sent(&ended)), [CloseReason::DEAD_TIMER]);
    let reason = closed(&ended).unwrap();
    assert_eq!(reason.to_string(), "nothing was heard for 20s, the dead timer of the session");
}

/// The first habit of `conformance/pcep-cases.md`.
#[test]
fn a_profile_bears_more_silence_than_the_peer_announces() {
    let mut settings = Settings::new(Role::Pce);
    settings.profile.patience = Some(45 * SECOND);
    let (mut session, now) = up_with(settings, &open_of(5, 20));
    session.handle_timeout(now + 44 * SECOND);
    assert_eq!(session.stage(), Stage::Up);
    session.handle_timeout(now + 45 * SECOND);
    assert_eq!(session.stage(), Stage::Closed);
}

#[test]
fn no_keepalive_means_no_timers() {
    let mut settings = Settings::new(Role::Pce);
    settings.timers = Timers { keepalive: 0, dead: 0 };
    let (session, _) = up_with(settings, &open_of(0, 20));
    assert_eq!(session.poll_timeout(), None);
}

fn with_least_keepalive(least: u8) -> Settings {
    let mut settings = Settings::new(Role::Pce);
    settings.acceptable = Acceptable { keepalive: least..=255, dead: 1..=255, without_keepalives: false };
    settings
}

#[test]
fn timers_that_are_not_accepted_are_answered_with_others_and_refused_the_second_time() {
    let (mut session, now) = new(with_least_keepalive(10));
    outputs(&mut session);
    session.handle_bytes(&open_of(1, 4), now);
    let proposal = said(&mut session);
    assert_eq!(errors(&proposal), [ErrorCode::NEGOTIABLE]);
    let Body::Open(open) = &proposal[0].objects[1].body else { panic!("{proposal:?}") };
    assert_eq!((open.keepalive, open.dead_timer), (10, 4));

    session.handle_bytes(&open_of(2, 8), now);
    let ended = outputs(&mut session);
    assert_eq!(errors(&sent(&ended)), [ErrorCode::STILL_UNACCEPTABLE]);
}

#[test]
fn timers_that_were_proposed_are_accepted() {
    let (mut session, now) = new(with_least_keepalive(10));
    session.handle_bytes(&open_of(1, 4), now);
    session.handle_bytes(&[open_of(10, 40), keepalive()].concat(), now);
    assert_eq!(session.stage(), Stage::Up);
}

#[test]
fn timers_that_nothing_acceptable_is_near_are_refused() {
    let mut settings = with_least_keepalive(10);
    settings.acceptable.keepalive = std::ops::RangeInclusive::new(20, 10);
    let (mut session, now) = new(settings);
    session.handle_bytes(&open_of(1, 4), now);
    assert_eq!(errors(&said(&mut session)), [ErrorCode::UNACCEPTABLE]);
    assert_eq!(session.stage(), Stage::Closed);
}

fn proposal(keepalive: u8, dead: u8) -> Vec<u8> {
    let open = Object::new(Body::Open(Open::new(keepalive, dead, 7, Vec::new())));
    error_message(ErrorCode::NEGOTIABLE, None, vec![open]).encode().unwrap()
}

#[test]
fn what_the_peer_proposes_is_taken_once_if_it_is_acceptable() {
    let (mut session, now) = new(with_least_keepalive(10));
    outputs(&mut session);
    session.handle_bytes(&open_of(30, 120), now);
    outputs(&mut session);
    session.handle_bytes(&proposal(60, 240), now);
    let again = said(&mut session);
    let Body::Open(open) = &again[0].objects[0].body else { panic!("{again:?}") };
    assert_eq!((open.keepalive, open.dead_timer), (60, 240));
    session.handle_bytes(&keepalive(), now);
    assert_eq!(session.stage(), Stage::Up);
    assert_eq!(session.poll_timeout(), Some((now + 60 * SECOND, "keepalive")));
}

#[test]
fn what_the_peer_proposes_is_refused_if_it_is_not_acceptable() {
    let (mut session, now) = new(with_least_keepalive(10));
    session.handle_bytes(&proposal(1, 4), now);
    assert_eq!(errors(&said(&mut session)), [ErrorCode::PROPOSAL_UNACCEPTABLE]);
    assert_eq!(session.stage(), Stage::Closed);
}

#[test]
fn a_message_in_place_of_an_open_is_refused() {
    assert_eq!(judged(Role::Pce, &bytes("A13")), refusal(ErrorCode::INVALID_OPEN));
}

#[test]
fn an_open_that_cannot_be_read_is_refused() {
    let mut open = bytes("A02");
    open[14..16].copy_from_slice(&[0, 9]);
    assert_eq!(judged(Role::Pce, &open), refusal(ErrorCode::INVALID_OPEN));
}

/// The case PCEP C06.
#[test]
fn another_version_is_told_before_the_session_is_up_and_ends_it_afterwards() {
    assert_eq!(judged(Role::Pce, &bytes("C06")), refusal(ErrorCode::VERSION));
    let (_, outputs) = answer("C06");
    assert_eq!(reasons(&sent(&outputs)), [CloseReason::MALFORMED]);
    let mut open = bytes("A01");
    open[8] = 2 << 5;
    assert_eq!(judged(Role::Pce, &open), refusal(ErrorCode::VERSION));
}

/// The cases PCEP C07 and C09.
#[test]
fn lengths_that_cannot_be_end_the_session() {
    for case in ["C07", "C09"] {
        let (session, outputs) = answer(case);
        assert_eq!(reasons(&sent(&outputs)), [CloseReason::MALFORMED], "{case}");
        assert!(matches!(closed(&outputs), Some(Reason::Malformed(_))), "{case}");
        assert_eq!(session.stage(), Stage::Closed);
    }
}

/// The case PCEP C11.
#[test]
fn a_second_open_is_refused_and_the_session_stays() {
    let (session, outputs) = answer("C11");
    assert_eq!(errors(&sent(&outputs)), [ErrorCode::SECOND_SESSION]);
    assert_eq!(session.stage(), Stage::Up);
}

/// The cases PCEP C18, C20, C22 and C33.
#[test]
fn a_malformed_object_is_answered_with_the_operation_that_it_is_about() {
    let rows = [
        ("C18", ErrorCode::SR_ERO_EMPTY),
        ("C20", ErrorCode::SRV6_ERO_EMPTY),
        ("C22", ErrorCode::SRV6_NAI_TYPE),
        ("C33", ErrorCode::MALFORMED_OBJECT),
    ];
    for (case, code) in rows {
        let (session, outputs) = answer(case);
        let messages = sent(&outputs);
        assert_eq!(errors(&messages), [code], "{case}");
        let about = messages[0].objects.iter().find_map(|object| match &object.body {
            Body::Srp(srp) => Some(srp.operation),
            _ => None,
        });
        assert_eq!(about, (case != "C33").then_some(5), "{case}");
        assert!(outputs.iter().any(|output| matches!(output, Output::Unreadable(_))));
        assert_eq!((session.stage(), session.counters().unreadable), (Stage::Up, 1));
    }
}

/// The case PCEP C26.
#[test]
fn a_path_setup_type_without_its_capability_is_refused() {
    assert_eq!(judged(Role::Pce, &bytes("C26")), refusal(ErrorCode::SRV6_CAPABILITY_MISSING));
    let mut sr = bytes("C26");
    sr[20] = 1;
    assert_eq!(judged(Role::Pcc, &sr), refusal(ErrorCode::SR_CAPABILITY_MISSING));
}

#[test]
fn a_pcc_that_can_impose_no_label_is_refused_and_a_pce_is_not_asked() {
    let mut open = bytes("A05");
    open[39] = 0;
    assert_eq!(judged(Role::Pce, &open), refusal(ErrorCode::MSD_ZERO));
    assert_eq!(judged(Role::Pcc, &open), (vec![], None));
    open[38] = SrCapabilityFlags::UNLIMITED.0;
    assert_eq!(judged(Role::Pce, &open), (vec![], None));
}

/// RFC 9603 section 5.1. The case PCEP B19 has such a limit.
#[test]
fn a_pcc_with_a_limit_that_is_none_of_srv6_is_refused() {
    assert_eq!(judged(Role::Pce, &bytes("B19")), refusal(ErrorCode::INVALID_OPEN));
}

#[test]
fn too_many_messages_of_unknown_types_end_the_session() {
    let (mut session, now) = up();
    let unknown = [0x20, 99, 0, 4];
    for _ in 0..5 {
        session.handle_bytes(&unknown, now);
    }
    assert_eq!(errors(&said(&mut session)), [ErrorCode::CAPABILITY; 5]);
    session.handle_bytes(&unknown, now + 60 * SECOND);
    assert_eq!(errors(&said(&mut session)), [ErrorCode::CAPABILITY]);
    session.handle_bytes(&unknown.repeat(5), now + 61 * SECOND);
    let ended = outputs(&mut session);
    assert_eq!(reasons(&sent(&ended)), [CloseReason::UNKNOWN_MESSAGES]);
    assert_eq!(closed(&ended), Some(&Reason::ByUs(CloseReason::UNKNOWN_MESSAGES)));
}

#[test]
fn too_many_unknown_requests_end_the_session() {
    let (mut session, now) = up();
    for number in 0..5 {
        session.unknown_request(number, now);
    }
    assert_eq!(errors(&said(&mut session)), [ErrorCode::UNKNOWN_REQUEST; 5]);
    session.unknown_request(5, now);
    assert_eq!(reasons(&said(&mut session)), [CloseReason::UNKNOWN_REQUESTS]);
}

/// The case PCEP A09.
#[test]
fn a_close_of_the_peer_ends_the_session_without_an_answer() {
    let (_, outputs) = answer("A09");
    assert_eq!(outputs, [Output::Closed(Reason::ByPeer(CloseReason::NONE))]);
}

#[test]
fn an_error_is_told_and_never_answered() {
    let (_, told) = answer("A30");
    assert!(matches!(told[..], [Output::Message(_)]));
    let (mut session, now) = up();
    session.handle_bytes(&[0x20, 6, 0, 12, 13, 0x10, 0, 8, 0, 0, 1, 1], now);
    assert!(matches!(outputs(&mut session)[..], [Output::Message(_)]));
    session.handle_bytes(&[0x20, 6, 0, 8, 13, 0x10, 0, 4], now);
    assert!(matches!(outputs(&mut session)[..], [Output::Unreadable(_)]));
}

#[test]
fn nothing_is_sent_before_the_session_is_up_or_after_its_end() {
    let (mut session, now) = new(Settings::new(Role::Pcc));
    outputs(&mut session);
    let message = Message::bare(MessageType::PathRequest);
    assert_eq!(session.send(&message, now), Err(SendError::NotUp));
    session.handle_eof();
    assert_eq!(outputs(&mut session), [Output::Closed(Reason::Dropped)]);
    assert_eq!(session.send(&message, now), Err(SendError::NotUp));
    session.handle_bytes(&bytes("A01"), now);
    session.close(CloseReason::NONE, now);
    assert!(outputs(&mut session).is_empty());
}

#[test]
fn what_came_whole_is_told_before_the_end() {
    let (mut session, now) = up();
    session.handle_bytes(&bytes("A13").repeat(OUTPUTS + 3), now);
    session.handle_eof();
    let told = outputs(&mut session);
    assert_eq!(told.len(), OUTPUTS + 4);
    assert_eq!(told.last(), Some(&Output::Closed(Reason::Dropped)));
}

fn encrypted(tls: Tls) -> Settings {
    Settings { tls, ..Settings::new(Role::Pcc) }
}

/// Proves CP-27: with StartTLS nothing but that goes before TLS. The case PCEP A32.
#[test]
fn starttls_comes_first_and_the_open_goes_over_tls() {
    let (mut session, now) = new(encrypted(Tls::Required));
    assert_eq!(said(&mut session), [Message::bare(MessageType::StartTls)]);
    session.handle_bytes(&[bytes("A32"), vec![22, 3, 1]].concat(), now);
    assert_eq!(outputs(&mut session), [Output::StartTls(vec![22, 3, 1])]);
    assert!(!session.wants_input());
    session.handle_tls(true, now);
    assert_eq!(said(&mut session)[0].kind, MessageType::Open);
    session.handle_bytes(&[bytes("A01"), keepalive()].concat(), now);
    assert_eq!(session.stage(), Stage::Up);
}

#[test]
fn without_tls_there_is_no_session_where_it_is_required() {
    let (mut session, now) = new(encrypted(Tls::Required));
    session.handle_bytes(&bytes("A01"), now);
    assert_eq!(errors(&said(&mut session)), [ErrorCode::INVALID_OPEN]);
    assert_eq!(session.stage(), Stage::Closed);

    let (mut session, now) = new(encrypted(Tls::Required));
    session.handle_bytes(&bytes("A13"), now);
    assert_eq!(errors(&said(&mut session)), [ErrorCode::STARTTLS_EXPECTED]);

    let (mut session, now) = new(encrypted(Tls::Required));
    session.handle_bytes(&error_message(ErrorCode::TLS_OPTIONAL, None, vec![]).encode().unwrap(), now);
    assert_eq!(closed(&outputs(&mut session)), Some(&Reason::RefusedByPeer(ErrorCode::TLS_OPTIONAL)));

    let (mut session, now) = new(encrypted(Tls::Required));
    session.handle_timeout(now + 60 * SECOND);
    assert_eq!(errors(&said(&mut session)), [ErrorCode::NO_STARTTLS]);

    let (mut session, now) = new(encrypted(Tls::Required));
    session.handle_bytes(&bytes("A32"), now);
    session.handle_tls(false, now);
    assert_eq!(closed(&outputs(&mut session)), Some(&Reason::TlsFailed));
}

#[test]
fn a_session_that_prefers_tls_goes_on_without_it() {
    let (mut session, now) = new(encrypted(Tls::Preferred));
    session.handle_bytes(&[bytes("A01"), keepalive()].concat(), now);
    assert_eq!(session.stage(), Stage::Up);

    let (mut session, now) = new(encrypted(Tls::Preferred));
    session.handle_bytes(&error_message(ErrorCode::TLS_OPTIONAL, None, vec![]).encode().unwrap(), now);
    assert_eq!(session.stage(), Stage::OpenWait);
}

#[test]
fn a_starttls_that_is_not_wanted_is_declined_and_one_that_is_late_ends_the_session() {
    let (mut session, now) = new(Settings::new(Role::Pce));
    outputs(&mut session);
    session.handle_bytes(&bytes("A32"), now);
    assert_eq!(errors(&said(&mut session)), [ErrorCode::TLS_OPTIONAL]);
    session.handle_bytes(&[bytes("A01"), keepalive()].concat(), now);
    assert_eq!(session.stage(), Stage::Up);
    outputs(&mut session);
    session.handle_bytes(&bytes("A32"), now);
    assert_eq!(errors(&said(&mut session)), [ErrorCode::STARTTLS_LATE]);
    assert_eq!(session.stage(), Stage::Closed);
}

fn capable() -> Settings {
    let mut settings = Settings::new(Role::Pce);
    settings.capabilities = Capabilities {
        stateful: Some(StatefulCapability::UPDATE.with(StatefulCapability::INITIATE)),
        setup_types: vec![SetupType::SR, SetupType::SRV6],
        sr: Some(SrCapability { reserved: 0, flags: SrCapabilityFlags(0), msd: 0 }),
        srv6: Some(Srv6Limits { resolves_nai: false, pairs: Vec::new() }),
        associations: vec![6],
        sr_policy: Some(SrPolicyCapability::PRIORITY),
        ..Capabilities::default()
    };
    settings
}

fn common(settings: Settings, open: &str) -> Common {
    let (mut session, now) = new(settings);
    session.handle_bytes(&[bytes(open), keepalive()].concat(), now);
    let up = outputs(&mut session).into_iter().find_map(|output| match output {
        Output::Up(common) => Some(*common),
        _ => None,
    });
    up.expect("the session is up")
}

/// Proves CP-19: what a headend can impose is known from its Open.
#[test]
fn both_sides_use_what_both_can() {
    let common = common(capable(), "A07");
    assert!(common.reports && common.updates && common.initiates && !common.db_version);
    assert_eq!(common.setup_types, [SetupType::SR, SetupType::SRV6]);
    let style = Style {
        sr_code: SrCode::Assigned,
        associations: true,
        most_labels: Some(10),
        most_srv6_sids: Some(10),
    };
    assert_eq!(common.style, style);
}

#[test]
fn a_stateless_peer_reports_nothing_and_sets_up_by_rsvp() {
    let common = common(Settings::new(Role::Pce), "A01");
    assert!(!common.reports && !common.updates);
    assert_eq!(common.setup_types, [SetupType::RSVP]);
}

/// The fourth, seventh and eighth habits of `conformance/pcep-cases.md`.
#[test]
fn a_profile_says_how_messages_are_written() {
    let mut settings = capable();
    settings.profile = Profile {
        sr_code: Some(SrCode::Draft),
        associations: false,
        most_sids: Some(9),
        ..Profile::default()
    };
    let style = common(settings, "A07").style;
    let told =
        Style { sr_code: SrCode::Draft, associations: false, most_labels: Some(9), most_srv6_sids: Some(9) };
    assert_eq!(style, told);
}

#[test]
fn a_capability_where_drafts_had_it_counts_and_is_announced_there_by_profile() {
    let mut settings = capable();
    settings.profile.old_sr_capability = true;
    let common = common(settings.clone(), "A04");
    assert!(common.peer.is_sr_old);
    assert_eq!((common.setup_types, common.style.most_labels), (vec![SetupType::SR], Some(10)));

    let (mut session, _) = new(settings);
    let said = said(&mut session);
    let Body::Open(open) = &said[0].objects[0].body else { panic!("{said:?}") };
    assert!(open.tlvs.iter().any(|tlv| matches!(tlv.value, TlvValue::OldSrCapability(_))));
    assert!(!open.tlvs.iter().any(|tlv| matches!(tlv.value, TlvValue::SetupTypes(_))));
}

#[test]
fn what_is_announced_is_what_an_open_is_read_as() {
    let mut settings = capable();
    settings.capabilities.srv6 = Some(Srv6Limits {
        resolves_nai: true,
        pairs: vec![MsdPair { kind: MsdPair::ENCAPSULATE, value: 8 }],
    });
    settings.capabilities.lsp_db_version = Some(42);
    settings.capabilities.speaker = Some(b"one".to_vec());
    settings.capabilities.objective_functions = vec![1, 2];
    let (mut session, _) = new(settings.clone());
    let said = said(&mut session);
    let Body::Open(open) = &said[0].objects[0].body else { panic!("{said:?}") };
    assert_eq!(Capabilities::of(open), settings.capabilities);
}

/// The outputs of a session that is up and gets these bytes in pieces of that size.
fn in_pieces(bytes: &[u8], size: usize, now: Instant) -> Vec<Output> {
    let mut session = Session::new(Settings::new(Role::Pce), now);
    session.handle_bytes(&[crate::vectors::bytes("A02"), keepalive()].concat(), now);
    let mut all = outputs(&mut session);
    for piece in bytes.chunks(size) {
        session.handle_bytes(piece, now);
        all.extend(outputs(&mut session));
    }
    all
}

proptest::proptest! {
    #[test]
    fn any_bytes_mean_the_same_in_any_pieces_and_end_the_session_at_most_once(
        seeds in proptest::collection::vec(proptest::collection::vec(proptest::prelude::any::<u8>(), 0..60), 0..6),
        rest in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..20),
        size in 1..40_usize,
    ) {
        use crate::codec::sample::{Sample, Seed};
        let messages = seeds.iter().map(|seed| Message::sample(&mut Seed::new(seed)).encode().unwrap());
        let bytes = [messages.collect::<Vec<_>>().concat(), rest].concat();
        let now = Instant::now();
        let whole = in_pieces(&bytes, usize::MAX, now);
        proptest::prop_assert_eq!(&in_pieces(&bytes, size, now), &whole);
        let ends = whole.iter().filter(|output| matches!(output, Output::Closed(_))).count();
        proptest::prop_assert!(ends == 0 || ends == 1 && matches!(whole.last(), Some(Output::Closed(_))));
    }
}
