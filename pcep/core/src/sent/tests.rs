//! What we send, one message of a kind, as it stands in `conformance/pcep-sent.txt`: there foreign dissectors judge it.

use crate::client::{Ask, Client, Limits, PceId};
use crate::codec::object::{
    Bandwidth, Close, CloseReason, EndPointsV4, Ero, Lsp, LspFlags, Metric, MetricFlags, MetricType, NoPath,
    NoPathFlags, ObjectiveFunction, Open, Operational, PlspId, Rp, RpFlags, Srp, SrpFlags,
};
use crate::codec::subobject::{SidStructure, SrHop, Srv6Hop};
use crate::codec::tlv::{
    Binding, BindingValue, ExtendedAssociationId, Ipv4LspIdentifiers, MsdPair, NoPathReasons, PathSetupType,
    SetupType, SrCapability, SrCapabilityFlags, SrPolicyCapability, StatefulCapability, TlvValue,
};
use crate::codec::{Body, Ieee754, Message, MessageType, Object, Reference, Subobject, SubobjectValue, Tlv};
use crate::errors::ErrorCode;
use crate::grammar::{Association, Attributes, Context};
use crate::session::{self, Capabilities, Role, Session, Settings, Srv6Limits, Tls, error_message};
use std::fmt::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Instant;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../conformance/pcep-sent.txt");

fn open(tls: Tls, old: bool) -> Message {
    let mut settings = Settings::new(Role::Pcc);
    settings.tls = tls;
    settings.profile.old_sr_capability = old;
    settings.capabilities = Capabilities {
        stateful: Some(StatefulCapability::UPDATE.with(StatefulCapability::INITIATE)),
        setup_types: vec![SetupType::SR, SetupType::SRV6],
        sr: Some(SrCapability { reserved: 0, flags: SrCapabilityFlags(0), msd: 10 }),
        srv6: Some(Srv6Limits {
            resolves_nai: false,
            pairs: vec![MsdPair { kind: MsdPair::ENCAPSULATE, value: 8 }],
        }),
        associations: vec![6],
        sr_policy: Some(SrPolicyCapability::PRIORITY),
        objective_functions: vec![1],
        speaker: Some(b"cps-1".to_vec()),
        ..Capabilities::default()
    };
    let mut session = Session::new(settings, Instant::now());
    match session.poll_output() {
        Some(session::Output::Send(bytes)) => Message::decode(&bytes).unwrap(),
        other => panic!("{other:?}"),
    }
}

fn v4(last: u8) -> Ipv4Addr {
    [192, 0, 2, last].into()
}

fn v6(last: u16) -> Ipv6Addr {
    [0x2001, 0xdb8, 0, 0, 0, 0, 0, last].into()
}

fn constraints() -> Attributes {
    let value = Ieee754::from(10_000.0);
    let metric = Metric { reserved: 0, flags: MetricFlags::BOUND, kind: MetricType::DELAY, value };
    Attributes {
        bandwidth: Some(Bandwidth { octets: Ieee754::from(125_000.0) }),
        metrics: vec![metric],
        objective: Some(ObjectiveFunction { code: 1, reserved: 0, tlvs: Vec::new() }),
        ..Attributes::default()
    }
}

/// A request, and that nobody waits for it any more.
fn asked(setup: SetupType, source: IpAddr, destination: IpAddr) -> Vec<Message> {
    let now = Instant::now();
    let mut client = Client::new(Limits::default(), 0);
    client.configure(&[(PceId(1), 1)], now);
    let context = Context {
        setup_types: vec![setup],
        reports: false,
        updates: false,
        initiates: false,
        most_labels: None,
        most_srv6_sids: None,
        resolves_nai: false,
    };
    client.handle_up(PceId(1), context);
    let ask =
        Ask { setup, source, destination, constraints: constraints(), most_sids: 5, ends_at: Vec::new() };
    client.request(1, ask, now);
    client.cancel(1);
    let outputs = std::iter::from_fn(|| client.poll_output());
    outputs
        .map(|output| match output {
            crate::client::Output::Send { message, .. } => message,
            other => panic!("{other:?}"),
        })
        .collect()
}

fn setup(kind: SetupType) -> Vec<Tlv> {
    vec![TlvValue::SetupType(PathSetupType { reserved: [0; 3], kind }).into()]
}

fn rp(kind: SetupType) -> Object {
    Object::required(Body::Rp(Rp { flags: RpFlags(0), request: 1, tlvs: setup(kind) }))
}

fn srp(kind: SetupType) -> Object {
    Object::required(Body::Srp(Srp { flags: SrpFlags(0), operation: 2, tlvs: setup(kind) }))
}

fn labels() -> Object {
    let hops = [16_000, 16_001].map(|label| Subobject::strict(SubobjectValue::Sr(SrHop::label(label))));
    Object::required(Body::Ero(Ero { hops: hops.into() }))
}

fn sids() -> Object {
    let structure = Some(SidStructure::new(32, 16, 16, 0));
    let hops = [1, 2]
        .map(|last| Subobject::strict(SubobjectValue::Srv6(Srv6Hop::new(1, v6(last), structure.clone()))));
    Object::required(Body::Ero(Ero { hops: hops.into() }))
}

fn lsp(plsp: u32) -> Object {
    let identifiers =
        Ipv4LspIdentifiers { sender: v4(1), lsp: 1, tunnel: 1, extended_tunnel: v4(1), endpoint: v4(2) };
    let binding = Binding { flags: 0, reserved: 0, value: BindingValue::LabelEntry(17_000 << 12) };
    let tlvs = vec![
        TlvValue::Ipv4Lsp(identifiers).into(),
        TlvValue::PathName("paths".into()).into(),
        TlvValue::Binding(binding).into(),
    ];
    let flags = LspFlags::DELEGATE.with(LspFlags::ADMINISTRATIVE).with_operational(Operational::Up);
    Object::required(Body::Lsp(Lsp { plsp: PlspId::new(plsp).unwrap(), flags, tlvs }))
}

fn policy() -> Vec<Object> {
    let tlvs = vec![
        TlvValue::ExtendedAssociationId(ExtendedAssociationId::of_policy(100, v4(2).into())).into(),
        TlvValue::PolicyName("gold".into()).into(),
        TlvValue::Preference(100).into(),
    ];
    let flags = crate::codec::object::AssociationFlags(0);
    let association = Association { flags, kind: 6, id: 1, source: v4(1).into(), tlvs };
    Attributes { associations: vec![association], ..Attributes::default() }.to_objects()
}

fn no_path() -> Object {
    let tlvs = vec![TlvValue::NoPathVector(NoPathReasons::UNKNOWN_DESTINATION).into()];
    Object::required(Body::NoPath(NoPath { nature: 0, flags: NoPathFlags(0), reserved: 0, tlvs }))
}

fn ends() -> Object {
    Object::required(Body::EndPointsV4(EndPointsV4 { source: v4(1), destination: v4(2) }))
}

fn messages() -> Vec<(&'static str, Message)> {
    let of = |kind, objects: Vec<Object>| Message::new(kind, objects);
    let proposal = Object::new(Body::Open(Open::new(30, 120, 1, Vec::new())));
    let [v4_request, withdrawal] = asked(SetupType::SR, v4(1).into(), v4(2).into()).try_into().unwrap();
    let v6_request = asked(SetupType::SRV6, v6(1).into(), v6(2).into()).remove(0);
    let close = Object::new(Body::Close(Close::new(CloseReason::DEAD_TIMER)));
    vec![
        ("open", open(Tls::None, false)),
        ("open-of-drafts", open(Tls::None, true)),
        ("keepalive", Message::bare(MessageType::Keepalive)),
        ("start-tls", open(Tls::Required, false)),
        ("close", of(MessageType::Close, vec![close])),
        ("proposal", error_message(ErrorCode::NEGOTIABLE, None, vec![proposal])),
        ("error-of-a-request", error_message(ErrorCode::RP_MISSING, Some(Reference::Request(1)), vec![])),
        (
            "error-of-an-operation",
            error_message(ErrorCode::UNKNOWN_PLSP_ID, Some(Reference::Operation(2)), vec![]),
        ),
        ("request", v4_request),
        ("request-srv6", v6_request),
        ("withdrawal", withdrawal),
        (
            "reply",
            of(
                MessageType::PathReply,
                [vec![rp(SetupType::SR), labels()], constraints().to_objects()].concat(),
            ),
        ),
        ("reply-srv6", of(MessageType::PathReply, vec![rp(SetupType::SRV6), sids()])),
        ("reply-no-path", of(MessageType::PathReply, vec![rp(SetupType::SR), no_path()])),
        ("report", of(MessageType::Report, vec![srp(SetupType::SR), lsp(1), labels()])),
        ("report-srv6", of(MessageType::Report, vec![srp(SetupType::SRV6), lsp(2), sids()])),
        ("update", of(MessageType::Update, vec![srp(SetupType::SR), lsp(1), labels()])),
        (
            "initiation",
            of(
                MessageType::Initiate,
                [vec![srp(SetupType::SR), lsp(0), ends(), labels()], policy()].concat(),
            ),
        ),
    ]
}

#[test]
fn what_we_send_is_what_dissectors_judge() {
    let mut text = String::new();
    for (name, message) in messages() {
        let bytes = message.encode().unwrap();
        assert_eq!(Message::decode(&bytes).as_ref(), Ok(&message), "{name}");
        write!(text, "{name} ").unwrap();
        for byte in bytes {
            write!(text, "{byte:02x}").unwrap();
        }
        text.push('\n');
    }
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(FILE, &text).unwrap();
    }
    let golden = std::fs::read_to_string(FILE).unwrap_or_default();
    assert_eq!(text, golden, "run with UPDATE_GOLDEN=1 and read what changed");
}
