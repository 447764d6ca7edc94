use super::*;
use crate::codec::object::{
    Bandwidth, EndPointsV4, Ero, Lsp, LspFlags, PcepError, PlspId, Rp, RpFlags, Rro, Srp, SrpFlags,
};
use crate::codec::subobject::{AutonomousSystem, SidAndNai, SidStructure, SrFlags, SrHop, Srv6Hop};
use crate::codec::{Ieee754, Message, MessageType, ObjectFlags, Subobject, SubobjectValue};
use crate::vectors::bytes;

/// A session of a headend that can all, ten labels and eight SRv6 SIDs.
fn context() -> Context {
    Context {
        setup_types: vec![SetupType::RSVP, SetupType::SR, SetupType::SRV6],
        reports: true,
        updates: true,
        initiates: true,
        most_labels: Some(10),
        most_srv6_sids: Some(8),
        resolves_nai: true,
    }
}

fn message(case: &str) -> Message {
    Message::decode(&bytes(case)).unwrap_or_else(|error| panic!("{case}: {error}"))
}

fn refused<T: std::fmt::Debug>(parsed: Parsed<T>) -> Refusal {
    assert!(parsed.items.is_empty(), "{parsed:?}");
    assert_eq!(parsed.refusals.len(), 1, "{parsed:?}");
    parsed.refusals[0]
}

fn only<T: std::fmt::Debug>(parsed: Parsed<T>) -> T {
    let Parsed { mut items, refusals } = parsed;
    assert_eq!((items.len(), refusals.len()), (1, 0), "{items:?} {refusals:?}");
    items.remove(0)
}

fn setup(kind: SetupType) -> Tlv {
    TlvValue::SetupType(crate::codec::tlv::PathSetupType { reserved: [0; 3], kind }).into()
}

fn rp(request: u32, flags: RpFlags) -> Object {
    Object::required(Body::Rp(Rp { flags, request, tlvs: Vec::new() }))
}

fn srp(operation: u32, kind: SetupType) -> Object {
    Object::required(Body::Srp(Srp { flags: SrpFlags(0), operation, tlvs: vec![setup(kind)] }))
}

fn ends() -> Object {
    let [source, destination] = [[192, 0, 2, 1], [192, 0, 2, 2]].map(std::net::Ipv4Addr::from);
    Object::required(Body::EndPointsV4(EndPointsV4 { source, destination }))
}

fn lsp(plsp: u32, flags: LspFlags) -> Object {
    Object::required(Body::Lsp(Lsp { plsp: PlspId::new(plsp).unwrap(), flags, tlvs: Vec::new() }))
}

fn ero(hops: Vec<SubobjectValue>) -> Object {
    Object::required(Body::Ero(Ero { hops: hops.into_iter().map(Subobject::strict).collect() }))
}

fn label(label: u32) -> SubobjectValue {
    SubobjectValue::Sr(SrHop::label(label))
}

fn index(index: u32) -> SubobjectValue {
    SubobjectValue::Sr(SrHop { flags: SrFlags::default(), segment: SidAndNai::sid(index), ..SrHop::label(0) })
}

fn sid(structure: Option<SidStructure>) -> SubobjectValue {
    SubobjectValue::Srv6(Srv6Hop::new(1, "2001:db8::1".parse().unwrap(), structure))
}

fn other() -> SubobjectValue {
    SubobjectValue::AutonomousSystem(AutonomousSystem { number: 65_000 })
}

/// An update of a path with these hops.
fn update(kind: SetupType, hops: Vec<SubobjectValue>) -> Message {
    Message::new(MessageType::Update, vec![srp(5, kind), lsp(9, LspFlags::default()), ero(hops)])
}

fn judge(kind: SetupType, hops: Vec<SubobjectValue>, context: &Context) -> Result<(), ErrorCode> {
    let parsed = updates(&update(kind, hops), context);
    match parsed.refusals.first() {
        None => Ok(()),
        Some(Refusal { code, about }) => {
            assert_eq!(*about, Some(Reference::Operation(5)));
            Err(*code)
        }
    }
}

/// Proves CP-8. The cases PCEP A10 and A11.
#[test]
fn a_request_has_its_ends_and_constraints() {
    let (parsed, together) = requests(&message("A10"), &context());
    let request = only(parsed);
    assert!(together.is_empty());
    assert_eq!((request.rp.request, request.setup), (1, SetupType::SR));
    assert_eq!(
        (request.source.to_string(), request.destination.to_string()),
        ("10.99.0.1".into(), "8.8.8.8".into())
    );
    assert_eq!(request.constraints.metrics.len(), 2);
    assert_eq!(request.constraints.lspa.unwrap().include_any, 0xff);

    let request = only(requests(&message("A11"), &context()).0);
    assert_eq!(request.lsp.unwrap().plsp.value(), 0x10);
}

/// The case PCEP C01.
#[test]
fn a_request_without_its_parameters_is_refused() {
    let refusal = refused(requests(&message("C01"), &context()).0);
    assert_eq!(refusal, Refusal { code: ErrorCode::RP_MISSING, about: None });
    let empty = Message::bare(MessageType::PathRequest);
    assert_eq!(refused(requests(&empty, &context()).0).code, ErrorCode::RP_MISSING);
}

#[test]
fn a_request_without_end_points_is_refused_and_the_next_one_is_not() {
    let objects = vec![rp(1, RpFlags(0)), rp(2, RpFlags(0)), ends()];
    let parsed = requests(&Message::new(MessageType::PathRequest, objects), &context()).0;
    assert_eq!(parsed.items[0].rp.request, 2);
    let refusal = Refusal { code: ErrorCode::END_POINTS_MISSING, about: Some(Reference::Request(1)) };
    assert_eq!(parsed.refusals, [refusal]);
}

#[test]
fn a_request_to_optimise_anew_needs_the_path_that_is_taken() {
    let objects = vec![rp(1, RpFlags::REOPTIMISE), ends()];
    let message = Message::new(MessageType::PathRequest, objects);
    assert_eq!(refused(requests(&message, &context()).0).code, ErrorCode::RRO_MISSING);
    let rro = Object::new(Body::Rro(Rro { hops: Vec::new() }));
    let message = Message::new(MessageType::PathRequest, vec![rp(1, RpFlags::REOPTIMISE), ends(), rro]);
    only(requests(&message, &context()).0);
}

#[test]
fn requests_that_belong_together_are_told() {
    use crate::codec::object::{Svec, SvecFlags};
    let svec = Svec { flags: SvecFlags::NODE_DIVERSE, requests: vec![1, 2] };
    let objects = vec![Object::new(Body::Svec(svec)), rp(1, RpFlags(0)), ends(), rp(2, RpFlags(0)), ends()];
    let (parsed, together) = requests(&Message::new(MessageType::PathRequest, objects), &context());
    assert_eq!((parsed.items.len(), together[0].requests.as_slice()), (2, &[1, 2][..]));
}

/// The case PCEP C28.
#[test]
fn a_path_setup_type_that_is_not_common_is_refused() {
    let refusal = refused(requests(&message("C28"), &context()).0);
    assert_eq!(refusal, Refusal { code: ErrorCode::SETUP_TYPE, about: Some(Reference::Request(9)) });
    let only_rsvp = Context { setup_types: vec![SetupType::RSVP], ..context() };
    assert_eq!(judge(SetupType::SR, vec![label(1000)], &only_rsvp), Err(ErrorCode::SETUP_TYPE));
}

/// The case PCEP C04.
#[test]
fn an_unknown_object_that_must_be_processed_is_refused() {
    let refusal = refused(replies(&message("C04"), &context()));
    assert_eq!(refusal, Refusal { code: ErrorCode::UNKNOWN_CLASS, about: Some(Reference::Request(1)) });
}

/// Row 3/2, and the twelfth habit of `conformance/pcep-cases.md`.
#[test]
fn an_unknown_type_is_refused_with_p_and_kept_without() {
    let unknown = crate::codec::UnknownObject::new(6, 9, vec![1, 2, 3, 4]).unwrap();
    let mut objects = vec![rp(1, RpFlags(0)), ends(), Object::required(Body::Unknown(unknown))];
    let message = Message::new(MessageType::PathRequest, objects.clone());
    assert_eq!(refused(requests(&message, &context()).0).code, ErrorCode::UNKNOWN_TYPE);
    objects[2].flags = ObjectFlags::NONE;
    let request = only(requests(&Message::new(MessageType::PathRequest, objects.clone()), &context()).0);
    assert_eq!(request.constraints.others, objects[2..]);
}

/// The cases PCEP A16 and A19.
#[test]
fn a_reply_has_paths_or_the_reason_why_there_is_none() {
    let Outcome::Paths(paths) = only(replies(&message("A16"), &context())).outcome else { panic!() };
    assert_eq!((paths[0].route.hops.len(), paths[0].attributes.metrics[0].value.value()), (2, 20.0));
    let Outcome::NoPath { reason, .. } = only(replies(&message("A19"), &context())).outcome else { panic!() };
    assert_eq!(reason.nature, 0);
}

/// The sixth habit of `conformance/pcep-cases.md`.
#[test]
fn a_reply_may_have_several_paths() {
    let mut reply = message("A16");
    let route = reply.objects[1].clone();
    let bandwidth = Object::new(Body::Bandwidth(Bandwidth { octets: Ieee754::from(1.0) }));
    reply.objects.extend([route, bandwidth]);
    let Outcome::Paths(paths) = only(replies(&reply, &context())).outcome else { panic!() };
    assert_eq!(paths.len(), 2);
    assert!(paths[0].attributes.bandwidth.is_none() && paths[1].attributes.bandwidth.is_some());
}

#[test]
fn a_reply_of_nothing_is_refused() {
    let message = Message::new(MessageType::PathReply, vec![rp(3, RpFlags(0))]);
    let refusal = Refusal { code: ErrorCode::ERO_MISSING, about: Some(Reference::Request(3)) };
    assert_eq!(refused(replies(&message, &context())), refusal);
}

/// The cases PCEP A20, A21, A22 and A28.
#[test]
fn a_report_has_the_lsp_and_its_path() {
    let report = only(reports(&message("A20"), &context()));
    assert_eq!((report.setup, report.paths[0].route.hops.len()), (SetupType::SR, 2));
    assert!(!report.is_end_of_sync());
    assert!(only(reports(&message("A21"), &context())).is_end_of_sync());
    let report = only(reports(&message("A22"), &context()));
    assert_eq!(report.paths[0].attributes.metrics.len(), 2);
    assert_eq!(only(reports(&message("A28"), &context())).srp.unwrap().operation, 1);
}

#[test]
fn reports_without_an_operation_are_told_apart_by_their_lsps() {
    let objects = vec![
        lsp(1, LspFlags::SYNC),
        ero(vec![]),
        lsp(2, LspFlags::REMOVE),
        srp(7, SetupType::SR),
        lsp(3, LspFlags::default()),
        ero(vec![]),
    ];
    let parsed = reports(&Message::new(MessageType::Report, objects), &context());
    let lsps: Vec<u32> = parsed.items.iter().map(|report| report.lsp.plsp.value()).collect();
    assert_eq!(lsps, [1, 2, 3]);
    assert_eq!(parsed.items[2].srp.as_ref().map(|srp| srp.operation), Some(7));
}

#[test]
fn what_a_report_needs_is_missed_by_its_number() {
    let report = |objects| refused(reports(&Message::new(MessageType::Report, objects), &context())).code;
    assert_eq!(report(vec![srp(7, SetupType::SR), ero(vec![])]), ErrorCode::LSP_MISSING);
    assert_eq!(report(vec![srp(7, SetupType::SR), lsp(1, LspFlags::SYNC)]), ErrorCode::ERO_MISSING);
    let rsvp = vec![srp(7, SetupType::RSVP), lsp(1, LspFlags::SYNC), ero(vec![])];
    assert_eq!(report(rsvp), ErrorCode::LSP_IDENTIFIERS_MISSING);
    assert_eq!(report(vec![]), ErrorCode::LSP_MISSING);
}

/// Rows 19/2 and 19/5, and 2/0 for an initiation.
#[test]
fn what_was_not_advertised_is_refused() {
    let stateless = Context { reports: false, updates: false, initiates: false, ..context() };
    assert_eq!(refused(reports(&message("A20"), &stateless)).code, ErrorCode::REPORT_NOT_ADVERTISED);
    assert_eq!(refused(updates(&message("A24"), &stateless)).code, ErrorCode::UPDATE_NOT_ADVERTISED);
    assert_eq!(refused(initiations(&message("A27"), &stateless)).code, ErrorCode::CAPABILITY);
}

/// The case PCEP A24.
#[test]
fn an_update_has_the_lsp_and_its_new_path() {
    let update = only(updates(&message("A24"), &context()));
    assert_eq!((update.lsp.plsp.value(), update.path.route.hops.len()), (0x8000f, 3));
}

/// The case PCEP C13.
#[test]
fn what_an_update_needs_is_missed_by_its_number() {
    let refusal = refused(updates(&message("C13"), &context()));
    assert_eq!(refusal, Refusal { code: ErrorCode::LSP_MISSING, about: Some(Reference::Operation(5)) });
    let update = |objects| refused(updates(&Message::new(MessageType::Update, objects), &context())).code;
    assert_eq!(update(vec![srp(5, SetupType::SR), lsp(1, LspFlags::default())]), ErrorCode::ERO_MISSING);
    assert_eq!(update(vec![lsp(1, LspFlags::default()), ero(vec![])]), ErrorCode::SRP_MISSING);
    assert_eq!(update(vec![]), ErrorCode::SRP_MISSING);
}

/// The case PCEP A27.
#[test]
fn an_initiation_has_a_name_a_path_and_its_policy() {
    let Initiation::Create(creation) = only(initiations(&message("A27"), &context())) else { panic!() };
    assert_eq!((creation.name.text().as_ref(), creation.path.route.hops.len()), ("pola-policy1", 2));
    assert_eq!(creation.path.attributes.associations[0].kind, 6);
    assert!(creation.ends.is_some());
}

/// The case PCEP C30.
#[test]
fn an_initiation_with_a_number_is_refused() {
    let refusal = refused(initiations(&message("C30"), &context()));
    assert_eq!(refusal, Refusal { code: ErrorCode::PLSP_ID_GIVEN, about: Some(Reference::Operation(6)) });
}

#[test]
fn what_an_initiation_needs_is_missed_by_its_number() {
    let initiate =
        |objects| refused(initiations(&Message::new(MessageType::Initiate, objects), &context())).code;
    assert_eq!(initiate(vec![lsp(0, LspFlags::default())]), ErrorCode::SRP_MISSING);
    assert_eq!(initiate(vec![srp(1, SetupType::SR)]), ErrorCode::LSP_MISSING);
    assert_eq!(
        initiate(vec![srp(1, SetupType::SR), lsp(0, LspFlags::default())]),
        ErrorCode::PATH_NAME_MISSING
    );
    let mut without_path = message("A27").objects;
    without_path.retain(|object| !matches!(object.body, Body::Ero(_)));
    assert_eq!(initiate(without_path), ErrorCode::ERO_MISSING);
    let mut without_ends = message("A27").objects;
    without_ends.retain(|object| !matches!(object.body, Body::EndPointsV4(_)));
    without_ends[0] = srp(1, SetupType::RSVP);
    assert_eq!(initiate(without_ends), ErrorCode::END_POINTS_MISSING);
}

#[test]
fn a_removal_needs_no_path() {
    let mut srp = srp(4, SetupType::SR);
    if let Body::Srp(srp) = &mut srp.body {
        srp.flags = SrpFlags::REMOVE;
    }
    let message = Message::new(MessageType::Initiate, vec![srp, lsp(8, LspFlags::default())]);
    let Initiation::Remove(removal) = only(initiations(&message, &context())) else { panic!() };
    assert_eq!(removal.lsp.plsp.value(), 8);
}

/// The cases PCEP B08 and B09: the layout can be read, but an NAI type says that an NAI is there.
#[test]
fn an_nai_type_without_an_nai_is_malformed() {
    for case in ["B08", "B09"] {
        assert_eq!(refused(replies(&message(case), &context())).code, ErrorCode::MALFORMED_OBJECT, "{case}");
    }
    only(replies(&message("B13"), &context()));
}

/// The case PCEP C24.
#[test]
fn srv6_is_refused_under_another_setup_type_or_without_the_capability() {
    let refusal = refused(updates(&message("C24"), &context()));
    assert_eq!(
        refusal,
        Refusal { code: ErrorCode::SRV6_NOT_ADVERTISED, about: Some(Reference::Operation(5)) }
    );
    assert_eq!(judge(SetupType::SRV6, vec![sid(None)], &context()), Ok(()));
}

/// The rows of RFC 8664 for routes.
#[test]
fn a_route_of_labels_is_judged_by_the_table() {
    let judge = |hops| judge(SetupType::SR, hops, &context());
    assert_eq!(judge(vec![label(16_000), label(16_001)]), Ok(()));
    assert_eq!(judge(vec![label(3)]), Err(ErrorCode::BAD_LABEL));
    assert_eq!(judge(vec![label(16_000), other()]), Err(ErrorCode::SR_ERO_MIXED));
    assert_eq!(judge(vec![label(16_000), index(4)]), Err(ErrorCode::INCONSISTENT_SIDS));
    assert_eq!(judge(vec![label(16_000); 10]), Ok(()));
    assert_eq!(judge(vec![label(16_000); 11]), Err(ErrorCode::SR_ERO_COUNT));
    let entry = SrHop { flags: SrFlags::WHOLE_ENTRY, ..SrHop::label(16_000) };
    assert_eq!(judge(vec![SubobjectValue::Sr(entry)]), Err(ErrorCode::LABEL_FORMAT));
}

/// The rows of RFC 9603 for routes.
#[test]
fn a_route_of_srv6_is_judged_by_the_table() {
    let judge = |hops| judge(SetupType::SRV6, hops, &context());
    assert_eq!(judge(vec![sid(Some(SidStructure::new(32, 16, 16, 64)))]), Ok(()));
    assert_eq!(judge(vec![sid(Some(SidStructure::new(32, 16, 16, 65)))]), Err(ErrorCode::SID_STRUCTURE));
    assert_eq!(judge(vec![sid(None), other()]), Err(ErrorCode::SRV6_ERO_MIXED));
    assert_eq!(judge(vec![sid(None), label(16_000)]), Err(ErrorCode::SRV6_ERO_MIXED));
    assert_eq!(judge(vec![sid(None); 9]), Err(ErrorCode::SRV6_ERO_COUNT));
}

/// Proves CP-14: what the headend cannot resolve is refused. Row 4/4.
#[test]
fn a_node_without_a_sid_needs_a_headend_that_resolves_it() {
    let node = crate::codec::subobject::Nai::Ipv4Node([192, 0, 2, 9].into());
    let hop = SubobjectValue::Sr(SrHop {
        flags: SrFlags::default(),
        segment: SidAndNai::Nai(node),
        ..SrHop::label(0)
    });
    assert_eq!(judge(SetupType::SR, vec![hop.clone()], &context()), Ok(()));
    let cannot = Context { resolves_nai: false, ..context() };
    assert_eq!(judge(SetupType::SR, vec![hop], &cannot), Err(ErrorCode::UNSUPPORTED_PARAMETER));
}

/// Rows 10/10 and 10/36.
#[test]
fn a_path_that_is_taken_does_not_mix_hops() {
    let report = |hops: Vec<SubobjectValue>| {
        let hops: Vec<_> = hops.into_iter().map(Subobject::strict).collect();
        let rro = Object::new(Body::Rro(Rro { hops }));
        let objects = vec![srp(7, SetupType::SR), lsp(1, LspFlags::default()), ero(vec![]), rro];
        refused(reports(&Message::new(MessageType::Report, objects), &context())).code
    };
    assert_eq!(report(vec![label(16_000), other()]), ErrorCode::SR_RRO_MIXED);
    assert_eq!(report(vec![sid(None), label(16_000)]), ErrorCode::SRV6_RRO_MIXED);
}

/// Rows 10/7 and 10/35: the numbers of a report are others than those of a path that is to be taken.
#[test]
fn a_hop_of_nothing_in_a_report_has_its_own_number() {
    use crate::codec::Remedy;
    for (case, code) in [("C18", ErrorCode::SR_RRO_EMPTY), ("C20", ErrorCode::SRV6_RRO_EMPTY)] {
        let mut bytes = bytes(case);
        let at = bytes.len() - 8;
        assert_eq!(bytes[at], 7);
        bytes[at] = 8;
        assert_eq!(Message::decode(&bytes).unwrap_err().remedy(), Remedy::Error(code));
    }
}

/// The case PCEP A30, and the third habit of `conformance/pcep-cases.md`.
#[test]
fn errors_have_their_numbers_before_or_behind() {
    let expected = Failure {
        about: vec![Reference::Operation(3)],
        codes: vec![ErrorCode::NOT_DELEGATED],
        ..Failure::default()
    };
    let mut error = message("A30");
    assert_eq!(failures(&error), std::slice::from_ref(&expected));
    error.objects.reverse();
    assert_eq!(failures(&error), [expected]);
}

#[test]
fn errors_about_several_requests_are_told_apart() {
    let error = |code| Object::new(Body::Error(PcepError::new(code)));
    let objects = vec![
        rp(1, RpFlags(0)),
        rp(2, RpFlags(0)),
        error(ErrorCode::POLICY_METRIC),
        rp(3, RpFlags(0)),
        error(ErrorCode::UNKNOWN_CLASS),
    ];
    let found = failures(&Message::new(MessageType::Error, objects));
    let about: Vec<_> = found.iter().map(|failure| failure.about.as_slice()).collect();
    assert_eq!(about, [&[Reference::Request(1), Reference::Request(2)][..], &[Reference::Request(3)]]);
}

#[test]
fn notifications_have_the_requests_that_they_are_about() {
    use crate::codec::object::Notification;
    let told = Notification {
        reserved: 0,
        flags: 0,
        kind: 2,
        value: 1,
        tlvs: vec![TlvValue::OverloadDuration(30).into()],
    };
    let objects = vec![Object::new(Body::Notification(told.clone()))];
    let found = notices(&Message::new(MessageType::Notification, objects.clone()));
    assert_eq!(found, [Notice { about: vec![], notifications: vec![told.clone()] }]);
    let objects = [objects, vec![rp(4, RpFlags(0))]].concat();
    let found = notices(&Message::new(MessageType::Notification, objects));
    assert_eq!(found, [Notice { about: vec![Reference::Request(4)], notifications: vec![told] }]);
}

proptest::proptest! {
    /// Whatever comes is an item, a refusal, or nothing.
    #[test]
    fn any_message_is_parsed_as_any_kind(seed in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..300)) {
        use crate::codec::sample::{Sample, Seed};
        let message = Message::sample(&mut Seed::new(&seed));
        let count = message.objects.len();
        let (parsed, together) = requests(&message, &context());
        proptest::prop_assert!(parsed.items.len() + parsed.refusals.len() + together.len() <= count.max(1) + 1);
        let replies = replies(&message, &context());
        proptest::prop_assert!(replies.items.len() + replies.refusals.len() <= count.max(1));
        let reports = reports(&message, &context());
        proptest::prop_assert!(reports.items.len() + reports.refusals.len() <= count.max(1));
        updates(&message, &context());
        initiations(&message, &context());
        proptest::prop_assert!(failures(&message).len() <= count && notices(&message).len() <= count);
    }
}
