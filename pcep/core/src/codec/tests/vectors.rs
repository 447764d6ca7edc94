use crate::codec::object::{Ero, LspFlags, MetricType, Open, Operational};
use crate::codec::subobject::{Nai, SidAndNai, SidStructure, SrFlags, SrHop, Srv6Hop};
use crate::codec::tlv::{
    BindingValue, NoPathReasons, PathSetupTypes, SetupType, SrCapabilityFlags, StatefulCapability,
    SubTlvValue,
};
use crate::codec::{Body, Fault, Message, MessageType, Reference, Remedy, SubobjectValue, TlvValue};
use crate::errors::ErrorCode;
use crate::vectors::bytes;

/// Decodes a case and encodes it again.
fn both_ways(case: &str) -> Message {
    let bytes = bytes(case);
    let message = Message::decode(&bytes).unwrap_or_else(|error| panic!("{case}: {error}"));
    assert_eq!(message.encode().unwrap(), bytes, "{case}");
    message
}

/// What a case gets that does not decode.
fn refused(case: &str) -> Remedy {
    Message::decode(&bytes(case)).expect_err(case).remedy()
}

macro_rules! bodies {
    ($message:expr, $kind:ident) => {
        $message
            .objects
            .iter()
            .filter_map(|object| match &object.body {
                Body::$kind(body) => Some(body),
                _ => None,
            })
            .collect::<Vec<_>>()
    };
}

macro_rules! values {
    ($tlvs:expr, $kind:ident) => {
        $tlvs
            .iter()
            .filter_map(|tlv| match &tlv.value {
                TlvValue::$kind(value) => Some(value),
                _ => None,
            })
            .collect::<Vec<_>>()
    };
}

fn open(case: &str) -> Open {
    let message = both_ways(case);
    assert_eq!(message.kind, MessageType::Open);
    bodies!(message, Open)[0].clone()
}

fn route(case: &str) -> Ero {
    bodies!(both_ways(case), Ero)[0].clone()
}

fn labels(route: &Ero) -> Vec<Option<u32>> {
    route.hops.iter().map(|hop| sr(&hop.value).as_label()).collect()
}

fn sr(hop: &SubobjectValue) -> &SrHop {
    match hop {
        SubobjectValue::Sr(hop) => hop,
        other => panic!("{other:?} is no segment of SR-MPLS"),
    }
}

fn srv6(hop: &SubobjectValue) -> &Srv6Hop {
    match hop {
        SubobjectValue::Srv6(hop) => hop,
        other => panic!("{other:?} is no segment of SRv6"),
    }
}

fn setup_types(open: &Open) -> PathSetupTypes {
    values!(open.tlvs, SetupTypes)[0].clone()
}

/// The case PCEP A01.
#[test]
fn an_open_without_capabilities() {
    let open = open("A01");
    assert_eq!((open.version(), open.keepalive, open.dead_timer, open.session), (1, 30, 120, 1));
    assert!(open.tlvs.is_empty());
}

/// The case PCEP A02.
#[test]
fn an_open_of_a_stateful_peer() {
    assert_eq!(values!(open("A02").tlvs, Stateful), [&StatefulCapability::UPDATE]);
}

/// The case PCEP A03.
/// The case PCEP A04.
/// The case PCEP A06.
#[test]
fn an_open_with_the_capability_for_segments_where_drafts_had_it() {
    for (case, msd) in [("A03", 0), ("A04", 10), ("A06", 16)] {
        assert_eq!(values!(open(case).tlvs, OldSrCapability)[0].msd, msd, "{case}");
    }
}

/// The case PCEP A05.
#[test]
fn an_open_with_a_list_of_one_path_setup_type() {
    let types = setup_types(&open("A05"));
    assert_eq!(types.types, [SetupType::SR]);
    assert!(matches!(&types.sub_tlvs[0].value, SubTlvValue::Sr(sr) if sr.msd == 16 && sr.flags.0 == 0));
}

/// The case PCEP A07.
#[test]
fn an_open_of_a_peer_that_can_srv6_and_sr_policies() {
    let open = open("A07");
    let types = setup_types(&open);
    assert_eq!(types.types, [SetupType::RSVP, SetupType::SR, SetupType::SRV6]);
    let SubTlvValue::Sr(sr) = &types.sub_tlvs[0].value else { panic!("{types:?}") };
    assert!(sr.flags.contains(SrCapabilityFlags::RESOLVES_NAI));
    let SubTlvValue::Srv6(srv6) = &types.sub_tlvs[1].value else { panic!("{types:?}") };
    let limits: Vec<_> = srv6.limits.iter().map(|limit| (limit.kind, limit.value)).collect();
    assert_eq!(limits, [(41, 8), (44, 10)]);
    assert_eq!(values!(open.tlvs, AssociationTypes), [&vec![6]]);
    assert_eq!(values!(open.tlvs, SrPolicy)[0].0, 1);
}

/// The case PCEP A08.
#[test]
fn a_keepalive() {
    assert_eq!(both_ways("A08"), Message::bare(MessageType::Keepalive));
}

/// The case PCEP A09.
#[test]
fn a_close() {
    assert_eq!(bodies!(both_ways("A09"), Close)[0].reason.0, 1);
}

/// The case PCEP A10.
#[test]
fn a_request_with_constraints() {
    let message = both_ways("A10");
    let rp = bodies!(message, Rp)[0];
    assert_eq!((rp.request, values!(rp.tlvs, SetupType)[0].kind), (1, SetupType::SR));
    let ends = bodies!(message, EndPointsV4)[0];
    assert_eq!(
        (ends.source.to_string(), ends.destination.to_string()),
        ("10.99.0.1".into(), "8.8.8.8".into())
    );
    assert_eq!(bodies!(message, Bandwidth)[0].octets.value(), 100_000.0);
    let metrics = bodies!(message, Metric);
    assert_eq!((metrics[0].kind, metrics[0].value.value()), (MetricType::SID_DEPTH, 16.0));
    assert_eq!((metrics[1].kind, metrics[1].value.value()), (MetricType::TE, 10.0));
    assert_eq!(bodies!(message, ObjectiveFunction)[0].code, 1);
    assert!(message.objects[4].flags.must_process());
    assert!(!message.objects[3].flags.must_process());
}

/// The case PCEP A11.
#[test]
fn a_metric_of_no_known_type_is_kept() {
    let message = both_ways("A11");
    let metric = bodies!(message, Metric)[0];
    assert_eq!((metric.reserved, metric.flags.0, metric.kind.0), (0x447a, 0, 0));
}

/// The case PCEP A13.
#[test]
fn a_request_with_an_lsp() {
    let message = both_ways("A13");
    assert_eq!(bodies!(message, Rp)[0].request, 10);
    assert_eq!(bodies!(message, Lsp)[0].plsp.value(), 0);
}

/// The case PCEP A16.
#[test]
fn a_reply_with_segments() {
    let route = route("A16");
    assert_eq!(labels(&route), [Some(16_040), Some(16_060)]);
    let SidAndNai::Both(_, Nai::Ipv4Node(node)) = sr(&route.hops[0].value).segment else {
        panic!("{route:?}")
    };
    assert_eq!(node.to_string(), "4.4.4.4");
}

/// The case PCEP A19.
#[test]
fn a_reply_without_a_path() {
    let message = both_ways("A19");
    let no_path = bodies!(message, NoPath)[0];
    assert_eq!(values!(no_path.tlvs, NoPathVector), [&NoPathReasons::UNKNOWN_DESTINATION]);
}

/// The case PCEP A20.
#[test]
fn a_report_with_a_tlv_of_a_vendor() {
    let message = both_ways("A20");
    let lsp = bodies!(message, Lsp)[0];
    assert!(lsp.flags.contains(LspFlags::SYNC));
    assert_eq!(lsp.flags.operational(), Operational::GoingUp);
    assert_eq!(values!(lsp.tlvs, PathName)[0].text(), "POL-EXPL-CP-EXPL");
    assert_eq!(values!(lsp.tlvs, Unknown)[0].code(), 65_505);
}

/// The case PCEP A21.
#[test]
fn the_end_of_synchronisation() {
    let message = both_ways("A21");
    assert_eq!(bodies!(message, Lsp)[0].plsp.value(), 0);
    assert!(bodies!(message, Ero)[0].hops.is_empty());
}

/// The case PCEP A22.
#[test]
fn a_report_that_delegates() {
    let message = both_ways("A22");
    let flags = bodies!(message, Lsp)[0].flags;
    assert!(flags.contains(LspFlags::DELEGATE.with(LspFlags::ADMINISTRATIVE)));
    assert_eq!(bodies!(message, Metric).len(), 2);
}

/// The case PCEP A24.
#[test]
fn an_update_with_a_vendors_information() {
    let message = both_ways("A24");
    let lsp = bodies!(message, Lsp)[0];
    assert_eq!(lsp.plsp.value(), 0x8000f);
    assert_eq!(values!(lsp.tlvs, Vendor)[0].enterprise, 9);
    assert_eq!(bodies!(message, Ero)[0].hops.len(), 3);
}

/// The case PCEP A27.
#[test]
fn an_initiation_of_an_sr_policy() {
    let message = both_ways("A27");
    let association = bodies!(message, AssociationV4)[0];
    assert_eq!((association.kind, association.id), (6, 1));
    let policy = values!(association.tlvs, ExtendedAssociationId)[0].policy();
    assert_eq!(policy, Some((100, "7.7.7.7".parse().unwrap())));
    assert_eq!(values!(association.tlvs, CandidatePath)[0].origin, 10);
    assert_eq!(values!(association.tlvs, Preference), [&100]);
    assert_eq!(bodies!(message, VendorInformation)[0].enterprise, 9);
}

/// The case PCEP A28.
#[test]
fn a_report_that_answers_an_initiation() {
    let message = both_ways("A28");
    assert_eq!(bodies!(message, Srp)[0].operation, 1);
    assert!(bodies!(message, AssociationV4).is_empty());
}

/// The case PCEP A30.
#[test]
fn an_error() {
    assert_eq!(bodies!(both_ways("A30"), Error)[0].code, ErrorCode::NOT_DELEGATED);
}

/// The case PCEP A32.
#[test]
fn a_start_of_tls() {
    assert_eq!(both_ways("A32"), Message::bare(MessageType::StartTls));
}

/// The case PCEP B01.
#[test]
fn a_segment_that_is_an_index() {
    let route = route("B01");
    let hop = sr(&route.hops[0].value);
    assert_eq!((hop.sid(), hop.as_label()), (Some(123_456), None));
}

/// The case PCEP B02.
#[test]
fn a_segment_over_an_adjacency() {
    let route = route("B02");
    assert!(matches!(sr(&route.hops[0].value).segment, SidAndNai::Both(_, Nai::Ipv4Adjacency { .. })));
}

/// The case PCEP B05.
#[test]
fn a_segment_that_is_a_node_only() {
    let route = route("B05");
    assert!(matches!(sr(&route.hops[0].value).segment, SidAndNai::Nai(Nai::Ipv4Node(_))));
}

/// The case PCEP B07.
#[test]
fn bits_behind_a_label_are_kept_and_not_part_of_it() {
    let route = route("B07");
    let hop = sr(&route.hops[0].value);
    assert!(hop.flags.contains(SrFlags::LABEL) && !hop.flags.contains(SrFlags::WHOLE_ENTRY));
    assert_eq!((hop.as_label(), hop.sid()), (Some(0x75bc), Some(0x075b_cd15)));
}

/// The case PCEP B08: the layout can be read, though it is not valid.
#[test]
fn an_nai_type_without_an_nai_is_kept() {
    let route = route("B08");
    let SidAndNai::Sid(_, kind) = srv6(&route.hops[0].value).segment.clone() else { panic!("{route:?}") };
    assert_eq!(kind.number(), 2);
}

/// The case PCEP B09.
#[test]
fn an_srv6_segment_with_its_structure() {
    let route = route("B09");
    let sid = srv6(&route.hops[0].value).sid().unwrap();
    assert_eq!(sid.structure, Some(SidStructure::new(10, 2, 1, 0)));
}

/// The case PCEP B13.
#[test]
fn an_srv6_segment_without_an_nai() {
    let hop = Srv6Hop::new(5, "fc00:0:1:e001::".parse().unwrap(), Some(SidStructure::new(32, 16, 16, 0)));
    assert_eq!(srv6(&route("B13").hops[0].value), &hop);
}

/// The case PCEP B14.
#[test]
fn an_association_with_all_tlvs_of_an_sr_policy() {
    let message = both_ways("B14");
    let tlvs = &bodies!(message, AssociationV4)[0].tlvs;
    assert_eq!(values!(tlvs, PolicyName)[0].text(), "Test");
    assert_eq!(values!(tlvs, CandidatePath)[0].autonomous_system, 65_535);
    assert_eq!(values!(tlvs, CandidatePathName)[0].text(), "Foo");
    assert_eq!(values!(tlvs, Preference), [&10]);
}

/// The case PCEP B17.
#[test]
fn a_binding_to_an_srv6_sid() {
    let message = both_ways("B17");
    let binding = values!(bodies!(message, Lsp)[0].tlvs, Binding)[0];
    assert!(matches!(binding.value, BindingValue::Srv6(_)));
    assert_eq!(binding.flags, 0x40);
}

/// The case PCEP B19.
#[test]
fn a_capability_that_is_padded() {
    let types = setup_types(&open("B19"));
    assert!(matches!(&types.sub_tlvs[1].value, SubTlvValue::Srv6(srv6) if srv6.limits.len() == 1));
}

/// The case PCEP C06: before the session is up it is 1/8, which the session says.
#[test]
fn another_version() {
    let error = Message::decode(&bytes("C06")).unwrap_err();
    assert_eq!((error.offset, error.fault), (0, Fault::Version { found: 2 }));
    assert_eq!(refused("C06"), Remedy::CloseMalformed);
}

/// The case PCEP C07.
#[test]
fn an_object_of_no_length() {
    let error = Message::decode(&bytes("C07")).unwrap_err();
    let expected = "at byte 6: an object has the length 0, expected a multiple of 4, from 4 on";
    assert_eq!(error.to_string(), expected);
    assert_eq!(refused("C07"), Remedy::CloseMalformed);
}

/// The case PCEP C09.
#[test]
fn an_object_whose_length_is_no_multiple_of_four() {
    assert_eq!(refused("C09"), Remedy::CloseMalformed);
}

/// The case PCEP C18.
#[test]
fn a_segment_of_nothing() {
    let error = Message::decode(&bytes("C18")).unwrap_err();
    assert_eq!(error.about, Some(Reference::Operation(5)));
    assert_eq!(error.remedy(), Remedy::Error(ErrorCode::SR_ERO_EMPTY));
}

/// Row 10/13, and 10/11 for an NAI without a type.
#[test]
fn a_segment_whose_nai_is_of_no_known_type() {
    for (kind, code) in [(7, ErrorCode::SR_NAI_TYPE), (0, ErrorCode::MALFORMED_OBJECT)] {
        let mut bytes = bytes("B01");
        let at = bytes.len() - 10;
        assert_eq!(bytes[at], 0x10);
        bytes[at] = kind << 4;
        let error = Message::decode(&bytes).unwrap_err();
        assert_eq!(error.remedy(), Remedy::Error(code));
        assert_eq!(error.about, Some(Reference::Request(1)));
    }
}

/// The case PCEP C20.
#[test]
fn an_srv6_segment_of_nothing() {
    assert_eq!(refused("C20"), Remedy::Error(ErrorCode::SRV6_ERO_EMPTY));
}

/// The case PCEP C22.
#[test]
fn an_srv6_segment_at_an_ipv4_node() {
    assert_eq!(refused("C22"), Remedy::Error(ErrorCode::SRV6_NAI_TYPE));
}

/// The case PCEP C33.
#[test]
fn a_tlv_that_runs_over_the_next_object() {
    let error = Message::decode(&bytes("C33")).unwrap_err();
    let expected = "at byte 20: the value of a TLV needs 64 octets, 4 are left";
    assert_eq!(error.to_string(), expected);
    assert_eq!(error.remedy(), Remedy::Error(ErrorCode::MALFORMED_OBJECT));
}
