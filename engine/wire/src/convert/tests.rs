use super::Problem;
use crate::control_plane as pb;
use cats_engine_types::*;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::time::Duration;

pub(crate) fn node() -> impl Strategy<Value = NodeId> {
    "[A-Za-z0-9][A-Za-z0-9._-]{0,63}".prop_map(|name| name.parse().unwrap())
}

pub(crate) fn csci_id() -> impl Strategy<Value = CsciId> {
    prop_oneof![
        (1..=u32::MAX).prop_map(|number| CsciId::number(number).unwrap()),
        any::<IpAddr>().prop_map(CsciId::address)
    ]
}

pub(crate) fn cs_id() -> impl Strategy<Value = CsId> {
    csci_id().prop_map(|id| match (id.as_number(), id.as_address()) {
        (Some(number), _) => CsId::number(number).unwrap(),
        (None, address) => CsId::address(address.unwrap()),
    })
}

fn transaction() -> impl Strategy<Value = TransactionId> {
    any::<(u64, u64)>().prop_map(|(epoch, sequence)| TransactionId { epoch, sequence })
}

fn key() -> impl Strategy<Value = FlowKey> {
    let v4 = any::<([u8; 4], u16, [u8; 4], u16)>()
        .prop_map(|(client, port, service, to)| (SocketAddr::from((client, port)), (service, to).into()));
    let v6 = any::<([u8; 16], u16, [u8; 16], u16)>()
        .prop_map(|(client, port, service, to)| (SocketAddr::from((client, port)), (service, to).into()));
    (prop_oneof![Just(Protocol::TCP), Just(Protocol::UDP)], prop_oneof![v4, v6])
        .prop_filter_map("no flow", |(protocol, (client, service))| {
            FlowKey::new(protocol, client, service).ok()
        })
}

pub(crate) fn locator() -> impl Strategy<Value = Locator> {
    (any::<IpAddr>(), option::of(any::<u16>())).prop_map(|(address, port)| Locator { address, port })
}

fn family() -> impl Strategy<Value = Family> {
    prop_oneof![Just(Family::V4), Just(Family::V6)]
}

fn encapsulation() -> impl Strategy<Value = Encapsulation> {
    let srv6 = (any::<bool>(), vec(any::<Ipv6Addr>(), 1..=16)).prop_map(|(full, list)| Encapsulation::Srv6 {
        mode: if full { Encaps::Full } else { Encaps::Reduced },
        segments: Segments::try_from(list).unwrap(),
    });
    prop_oneof![Just(Encapsulation::None), srv6]
}

fn path() -> impl Strategy<Value = Path> {
    (node(), node(), encapsulation(), any::<u64>(), any::<u16>(), any::<u64>()).prop_map(
        |(headend, endpoint, encapsulation, delay, mtu, generation)| Path {
            headend,
            endpoint,
            encapsulation,
            delay: Micros(delay),
            mtu,
            generation: Generation(generation),
        },
    )
}

fn binding() -> impl Strategy<Value = Binding> {
    let forward = (key(), csci_id(), locator(), node(), path())
        .prop_map(|(key, csci_id, locator, egress, path)| Forward { key, csci_id, locator, egress, path });
    let millis = || option::of((0..u64::MAX / 1_000_000).prop_map(Duration::from_millis));
    (transaction(), cs_id(), forward, millis(), millis(), any::<u64>(), any::<u32>()).prop_map(
        |(transaction, cs_id, forward, idle, hard, epoch, version)| Binding {
            transaction,
            cs_id,
            reverse: Binding::reverse_of(&forward),
            forward,
            lifetime: Lifetime { idle, hard },
            epoch: Epoch(epoch),
            version,
        },
    )
}

fn constraints() -> impl Strategy<Value = Constraints> {
    let micros = || option::of(any::<u64>().prop_map(Micros));
    let score = || option::of((0..=10u8).prop_map(|value| Score::try_from(value).unwrap()));
    let number = || option::of(any::<u32>());
    ((micros(), micros(), micros(), micros()), (number(), number(), number(), number()), score(), score())
        .prop_map(
            |((network, total, jitter, computing), (bandwidth, loss, gas, price), reputation, security)| {
                Constraints {
                    max_network_delay: network,
                    max_total_delay: total,
                    min_bandwidth: bandwidth,
                    max_jitter: jitter,
                    max_loss_ppm: loss,
                    min_gas: gas,
                    max_computing_time: computing,
                    max_price: price.map(Price),
                    min_reputation: reputation,
                    min_security_level: security,
                }
            },
        )
}

fn request() -> impl Strategy<Value = ServiceRequest> {
    (transaction(), node(), key(), option::of(cs_id()), constraints(), any::<u32>(), option::of(any::<u64>()))
        .prop_map(|(transaction, ingress, key, cs_id, constraints, tenant, generation)| ServiceRequest {
            transaction,
            ingress,
            key,
            cs_id,
            constraints,
            tenant: TenantId(tenant),
            generation,
        })
}

fn report() -> impl Strategy<Value = ForwarderReport> {
    let kind = prop_oneof![
        Just(EncapsulationKind::None),
        Just(EncapsulationKind::Srv6Encaps),
        Just(EncapsulationKind::Srv6EncapsReduced)
    ];
    let capabilities = (vec(kind, 0..4), any::<u8>(), vec(family(), 0..3), any::<u32>()).prop_map(
        |(encapsulations, max_segments, families, max_bindings)| Capabilities {
            encapsulations,
            max_segments,
            families,
            max_bindings,
        },
    );
    let state = prop_oneof![Just(DeliveryState::Ready), ".{0,20}".prop_map(DeliveryState::Failed)];
    let delivery = (csci_id(), locator(), state).prop_map(|(csci_id, locator, state)| Delivery {
        csci_id,
        locator,
        state,
    });
    let sids = vec((family(), any::<Ipv6Addr>()), 0..3);
    (node(), any::<u64>(), option::of(capabilities), vec(delivery, 0..4), sids).prop_map(
        |(node, epoch, ingress, deliveries, decapsulation)| ForwarderReport {
            node,
            epoch: Epoch(epoch),
            ingress,
            deliveries,
            decapsulation,
        },
    )
}

fn reason() -> impl Strategy<Value = RemovalReason> {
    prop_oneof![
        Just(RemovalReason::Idle),
        Just(RemovalReason::Hard),
        Just(RemovalReason::Requested),
        Just(RemovalReason::Cleared),
        Just(RemovalReason::Unconfigured)
    ]
}

fn status() -> impl Strategy<Value = BindingStatus> {
    let failure = prop_oneof![
        Just(InstallFailure::NotPending),
        Just(InstallFailure::Full),
        ".{0,20}".prop_map(InstallFailure::NotRealisable),
        any::<(u64, u64)>()
            .prop_map(|(found, known)| InstallFailure::Fenced { found: Epoch(found), known: Epoch(known) }),
        ".{0,20}".prop_map(InstallFailure::DataPlane)
    ];
    let removed =
        (reason(), any::<[u64; 4]>()).prop_map(|(reason, [fp, fb, rp, rb])| BindingEvent::Removed {
            reason,
            counters: Counters {
                forward_packets: fp,
                forward_bytes: fb,
                reverse_packets: rp,
                reverse_bytes: rb,
            },
        });
    let event = prop_oneof![
        Just(BindingEvent::Installed),
        failure.prop_map(BindingEvent::InstallFailed),
        removed,
        binding().prop_map(|binding| BindingEvent::Restored(Box::new(binding)))
    ];
    (transaction(), key(), event).prop_map(|(transaction, key, event)| BindingStatus {
        transaction,
        key,
        event,
    })
}

fn failure() -> impl Strategy<Value = RequestFailure> {
    let no_path = prop_oneof![
        node().prop_map(NoPath::UnknownHeadend),
        node().prop_map(NoPath::UnknownEndpoint),
        (node(), node()).prop_map(|(headend, endpoint)| NoPath::Unreachable { headend, endpoint }),
        node().prop_map(NoPath::NoDeliverySegment),
        (0..1000usize, any::<u8>()).prop_map(|(needed, limit)| NoPath::TooManySegments { needed, limit })
    ];
    prop_oneof![
        Just(RequestFailure::UnknownService),
        (cs_id(), cs_id())
            .prop_map(|(destination, explicit)| RequestFailure::IdentityConflict { destination, explicit }),
        ".{0,20}".prop_map(RequestFailure::Unauthorised),
        ".{0,20}".prop_map(RequestFailure::Malformed),
        Just(RequestFailure::NoCandidate),
        no_path.prop_map(RequestFailure::NoPath),
        ".{0,20}".prop_map(RequestFailure::NotRealisable),
        prop::sample::select(Deadline::ALL).prop_map(RequestFailure::Deadline),
        ".{0,20}".prop_map(RequestFailure::Commit),
        prop::sample::select(Limit::ALL).prop_map(RequestFailure::Limit),
        Just(RequestFailure::ReconnectRequired),
        Just(RequestFailure::Unreachable),
        prop::sample::select(NotReady::ALL).prop_map(RequestFailure::NotReady)
    ]
}

fn instruction() -> impl Strategy<Value = Instruction> {
    prop_oneof![
        binding().prop_map(|binding| Instruction::Install(Box::new(binding))),
        (transaction(), key(), failure()).prop_map(|(transaction, key, failure)| Instruction::Refuse {
            transaction,
            key,
            failure
        }),
        (transaction(), key(), reason()).prop_map(|(transaction, key, reason)| Instruction::Remove {
            transaction,
            key,
            reason
        })
    ]
}

/// Encodes to octets and back, so that presence and defaults of the protobuf encoding are part of it.
pub(crate) fn through<W, M>(word: &W) -> W
where
    M: for<'a> From<&'a W> + prost::Message + Default,
    W: TryFrom<M, Error = super::DecodeError>,
{
    let octets = M::from(word).encode_to_vec();
    W::try_from(M::decode(octets.as_slice()).unwrap()).unwrap()
}

proptest! {
    /// The encoding of one interface of Table 2 alone: the service request.
    #[test]
    fn a_service_request_survives_the_wire(word in request()) {
        prop_assert_eq!(&through::<_, pb::ServiceRequest>(&word), &word);
    }

    /// The encoding of one interface of Table 2 alone: the report of a forwarder.
    #[test]
    fn a_forwarder_report_survives_the_wire(word in report()) {
        prop_assert_eq!(&through::<_, pb::ForwarderReport>(&word), &word);
    }

    /// The encoding of one interface of Table 2 alone: the binding status.
    #[test]
    fn a_binding_status_survives_the_wire(word in status()) {
        prop_assert_eq!(&through::<_, pb::BindingStatus>(&word), &word);
    }

    /// The encoding of one interface of Table 2 alone: the steering binding.
    #[test]
    fn an_instruction_survives_the_wire(word in instruction()) {
        prop_assert_eq!(&through::<_, pb::Instruction>(&word), &word);
    }
}

fn a_binding() -> pb::Binding {
    let key =
        FlowKey::new(Protocol::TCP, "192.0.2.10:40000".parse().unwrap(), "192.0.2.100:443".parse().unwrap());
    let forward = Forward {
        key: key.unwrap(),
        csci_id: CsciId::number(1).unwrap(),
        locator: Locator { address: "198.51.100.11".parse().unwrap(), port: None },
        egress: "EF-1".parse().unwrap(),
        path: Path {
            headend: "IF-1".parse().unwrap(),
            endpoint: "EF-1".parse().unwrap(),
            encapsulation: Encapsulation::None,
            delay: Micros(0),
            mtu: 1500,
            generation: Generation(1),
        },
    };
    pb::Binding::from(&Binding {
        transaction: TransactionId { epoch: 1, sequence: 1 },
        cs_id: CsId::number(1).unwrap(),
        reverse: Binding::reverse_of(&forward),
        forward,
        lifetime: Lifetime { idle: None, hard: None },
        epoch: Epoch(1),
        version: 1,
    })
}

fn broken(change: impl FnOnce(&mut pb::Binding)) -> super::DecodeError {
    let mut message = a_binding();
    change(&mut message);
    Binding::try_from(message).unwrap_err()
}

#[test]
fn an_error_names_the_field_by_its_whole_path() {
    let error = broken(|binding| {
        binding.forward.as_mut().unwrap().key.as_mut().unwrap().client.as_mut().unwrap().port = 65_536;
    });
    assert_eq!(error.field, "forward.key.client.port");
    assert_eq!(error.problem, Problem::TooLarge { found: 65_536, max: 65_535 });
    assert_eq!(error.to_string(), "field `forward.key.client.port` is 65536; at most 65535 is allowed");
}

#[test]
fn a_flow_of_a_client_that_is_not_unicast_is_refused_at_the_client() {
    for (client, words) in [([127, 0, 0, 1], "loopback"), ([192, 0, 2, 100], "both 192.0.2.100")] {
        let error = broken(|binding| {
            let key = binding.forward.as_mut().unwrap().key.as_mut().unwrap();
            key.client.as_mut().unwrap().address = client.to_vec();
        });
        assert_eq!(error.field, "forward.key.client");
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[test]
fn a_failure_by_a_name_that_is_unknown_is_refused() {
    use pb::request_failure::Kind;
    for kind in [Kind::Deadline, Kind::Limit, Kind::NotReady] {
        let message =
            pb::RequestFailure { kind: kind.into(), detail: "path".to_owned(), ..Default::default() };
        let error = RequestFailure::try_from(message).unwrap_err();
        assert_eq!(error.field, "detail");
        assert!(error.to_string().contains("is named `path`; known are"), "{error}");
    }
}

#[test]
fn a_missing_field_an_odd_address_and_an_empty_segment_list_are_refused() {
    assert_eq!(broken(|binding| binding.transaction = None).problem, Problem::Missing);
    let odd = broken(|binding| {
        binding.reverse.as_mut().unwrap().restore.as_mut().unwrap().address = vec![192, 0, 2];
    });
    assert_eq!((odd.field.as_str(), odd.problem), ("reverse.restore.address", Problem::AddressLength(3)));
    let empty = broken(|binding| {
        let path = binding.forward.as_mut().unwrap().path.as_mut().unwrap();
        path.encapsulation = pb::EncapsulationKind::Srv6EncapsReduced.into();
    });
    assert_eq!(empty.field, "forward.path.segments");
    let newer = broken(|binding| {
        binding.forward.as_mut().unwrap().path.as_mut().unwrap().encapsulation = 99;
    });
    assert_eq!(newer.problem, Problem::UnknownNumber(99));
}

#[test]
fn fields_and_capabilities_of_a_newer_peer_are_ignored() {
    let mut octets = prost::Message::encode_to_vec(&a_binding());
    // Field 200, varint 1.
    octets.extend([0xc0, 0x0c, 0x01]);
    let message: pb::Binding = prost::Message::decode(octets.as_slice()).unwrap();
    assert!(Binding::try_from(message).is_ok());

    let capabilities = pb::Capabilities { encapsulations: vec![1, 99, 3], ..Default::default() };
    let known = Capabilities::try_from(capabilities).unwrap().encapsulations;
    assert_eq!(known, [EncapsulationKind::None, EncapsulationKind::Srv6EncapsReduced]);
}
