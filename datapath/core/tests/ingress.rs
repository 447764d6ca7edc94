//! The life of a flow at the ingress, on the model data plane.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)] // tests

mod scene;

use cats_datapath_core::model::{Fate, Model};
use cats_datapath_core::{
    Backend, BackendError, DropReason, ForwarderConfig, IDLE_PAGE, PacketId, PlaneDrop,
};
use cats_engine_types::{BindingEvent, CsId, Epoch, InstallFailure, Protocol, RemovalReason, RequestFailure};
use scene::{Scene, binding, config, dropped, events, key, released, tcp, udp};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// Proves CP-10.
#[test]
fn packets_that_race_on_one_key_make_one_request_and_go_on_in_order() {
    let mut scene = Scene::new(&config());
    let first = scene.punt(tcp(1));
    assert_eq!(first.requests.len(), 1);
    assert_eq!(first.verdicts, []);
    for _ in 0..3 {
        assert!(scene.punt(tcp(1)).is_empty(), "it joins");
    }
    let effects = scene.answer(binding(&first.requests[0]));
    assert_eq!(released(&effects), [0, 1, 2, 3]);
    assert_eq!(events(&effects), [BindingEvent::Installed]);
    assert!(scene.passes(tcp(1)));
}

/// Proves CP-9, CP-15.
#[test]
fn both_directions_are_installed_before_a_packet_is_released() {
    let mut scene = Scene::new(&config());
    let request = scene.punt(tcp(1)).requests.remove(0);
    scene.forwarder.ingress().handle_binding(binding(&request), scene.now);
    assert_eq!(scene.forwarder.backend().flows(), [], "nothing is released or installed before the drain");
    scene.forwarder.drain(scene.now);
    let model = scene.forwarder.backend();
    let reverse = ("198.51.100.21:443".parse().unwrap(), "192.0.2.10:1".parse().unwrap());
    let back = model.backward(Protocol::TCP, reverse, 100);
    assert_eq!(back, Fate::Returned("192.0.2.100:443".parse().unwrap()));
    assert_eq!(model.transactions, 1);
}

/// Proves CP-24.
#[test]
fn a_commit_that_fails_drops_the_packets_and_leaves_nothing() {
    let mut scene = Scene::new(&config());
    let request = scene.punt(tcp(1)).requests.remove(0);
    scene.forwarder.backend().fail_commit(InstallFailure::Full);
    let effects = scene.answer(binding(&request));
    assert_eq!(dropped(&effects), [0]);
    assert_eq!(events(&effects), [BindingEvent::InstallFailed(InstallFailure::Full)]);
    assert_eq!(scene.forwarder.backend().flows(), []);
    assert_eq!(scene.forwarder.ingress().occupancy().flows, 0);
    assert_eq!(scene.punt(tcp(1)).requests.len(), 1, "the next packet asks anew");
}

/// Proves CP-21, CP-24.
#[test]
fn at_the_hold_deadline_packets_are_dropped_and_a_later_binding_is_never_installed() {
    let mut scene = Scene::new(&config());
    let request = scene.punt(tcp(1)).requests.remove(0);
    let (at, what) = scene.forwarder.ingress().poll_timeout().unwrap();
    assert_eq!((at - scene.now, what), (SECOND, "hold"));
    assert!(scene.advance(SECOND - Duration::from_millis(1)).is_empty());
    assert_eq!(dropped(&scene.advance(Duration::from_millis(1))), [0]);
    assert_eq!(scene.forwarder.ingress().drops()[&DropReason::HoldExpired], 1);
    let effects = scene.answer(binding(&request));
    assert_eq!(events(&effects), [BindingEvent::InstallFailed(InstallFailure::NotPending)]);
    assert_eq!(scene.forwarder.backend().flows(), []);
}

/// Proves CP-24.
#[test]
fn a_binding_that_comes_at_the_deadline_is_late_even_if_no_timeout_was_handled() {
    let mut scene = Scene::new(&config());
    let request = scene.punt(tcp(1)).requests.remove(0);
    scene.now += SECOND;
    let effects = scene.answer(binding(&request));
    assert_eq!(events(&effects), [BindingEvent::InstallFailed(InstallFailure::NotPending)]);
    assert_eq!(dropped(&effects), [0]);
}

/// Proves CP-24.
#[test]
fn a_binding_of_an_earlier_request_of_the_same_flow_is_not_installed() {
    let mut scene = Scene::new(&config());
    let old = scene.punt(tcp(1)).requests.remove(0);
    scene.advance(SECOND);
    let new = scene.punt(tcp(1)).requests.remove(0);
    assert_ne!(old.transaction, new.transaction);
    let effects = scene.answer(binding(&old));
    assert_eq!(events(&effects), [BindingEvent::InstallFailed(InstallFailure::NotPending)]);
    assert_eq!(released(&scene.answer(binding(&new))), [1]);
}

/// Proves CP-24.
#[test]
fn an_unreachable_c_ps_is_waited_for_until_the_deadline_and_other_refusals_drop_at_once() {
    let mut scene = Scene::new(&config());
    for (port, failure, dropped_now) in
        [(1, RequestFailure::Unreachable, 0), (2, RequestFailure::NoCandidate, 1)]
    {
        let request = scene.punt(tcp(port)).requests.remove(0);
        scene.forwarder.ingress().handle_refusal(request.key, request.transaction, &failure);
        let effects = scene.forwarder.drain(scene.now);
        assert_eq!(dropped(&effects).len(), dropped_now);
    }
    assert_eq!(scene.forwarder.ingress().waiting().len(), 1, "to be asked again");
    assert_eq!(dropped(&scene.advance(SECOND)), [0]);
}

/// The ingress's part of fencing.
#[test]
fn a_binding_of_an_older_owner_is_fenced() {
    let mut scene = Scene::new(&config());
    scene.bind(tcp(1));
    let request = scene.punt(tcp(2)).requests.remove(0);
    let mut old = binding(&request);
    old.epoch = Epoch(4);
    let fenced = InstallFailure::Fenced { found: Epoch(4), known: Epoch(5) };
    assert_eq!(events(&scene.answer(old)), [BindingEvent::InstallFailed(fenced)]);
    assert_eq!(released(&scene.answer(binding(&request))), [1], "it still waits for the owner");
}

/// Proves CP-9.
#[test]
fn a_binding_whose_directions_do_not_belong_together_is_refused() {
    let mut scene = Scene::new(&config());
    let spoil: [fn(&mut cats_engine_types::Binding); 3] = [
        |binding| binding.reverse.restore.set_port(1),
        |binding| binding.cs_id = CsId::number(2).unwrap(),
        |binding| binding.forward.locator.address = "2001:db8::1".parse().unwrap(),
    ];
    for (port, spoil) in (1..).zip(spoil) {
        let request = scene.punt(tcp(port)).requests.remove(0);
        let mut wrong = binding(&request);
        spoil(&mut wrong);
        let effects = scene.answer(wrong);
        let events = events(&effects);
        let refused = [BindingEvent::InstallFailed(InstallFailure::NotRealisable(String::new()))];
        assert_eq!(std::mem::discriminant(&events[0]), std::mem::discriminant(&refused[0]));
        assert_eq!(dropped(&effects).len(), 1);
    }
    assert_eq!(scene.forwarder.backend().flows(), []);
}

/// Proves CP-15.
#[test]
fn a_udp_binding_lets_only_released_packets_pass_until_the_queue_was_empty() {
    let mut scene = Scene::new(&config());
    let request = scene.punt(udp(1)).requests.remove(0);
    assert_eq!(released(&scene.answer(binding(&request))), [0]);
    assert!(!scene.passes(udp(1)), "a fresh packet is punted behind the held ones");
    assert_eq!(released(&scene.punt(udp(1))), [1]);
    assert!(scene.drained().is_empty());
    assert!(scene.passes(udp(1)));
}

/// Proves CP-15.
#[test]
fn a_staged_binding_is_opened_after_a_while_even_if_the_queue_is_never_empty() {
    let mut scene = Scene::new(&config());
    let request = scene.punt(udp(1)).requests.remove(0);
    scene.answer(binding(&request));
    scene.advance(Duration::from_millis(100));
    assert!(scene.passes(udp(1)));
}

/// Proves CP-22, CP-37.
#[test]
fn an_idle_flow_is_removed_in_both_directions_and_reported() {
    let mut scene = Scene::new(&config());
    let request = scene.bind(tcp(1));
    scene.bind(tcp(2));
    scene.advance(Duration::from_secs(100));
    assert!(scene.passes(tcp(2)));
    let mut effects = scene.advance(Duration::from_secs(21));
    assert_eq!(effects.statuses.len(), 1);
    let status = effects.statuses.remove(0);
    assert_eq!((status.transaction, status.key), (request.transaction, tcp(1)));
    assert!(matches!(status.event, BindingEvent::Removed { reason: RemovalReason::Idle, .. }));
    assert_eq!(scene.forwarder.backend().flows(), [tcp(2)]);
    let (_, what) = scene.forwarder.ingress().poll_timeout().unwrap();
    assert_eq!(what, "idle");
    let effects = scene.advance(Duration::from_secs(100));
    assert_eq!(effects.statuses.len(), 1, "the other one 120 s after its last packet");
}

#[test]
fn idle_times_are_asked_for_by_the_page_however_many_flows_are_due() {
    let mut scene = Scene::over(Model::new(4 * IDLE_PAGE), &config());
    let flows = u16::try_from(IDLE_PAGE).unwrap() * 2 + 10;
    for port in 1..=flows {
        scene.bind(tcp(port));
    }
    let ended: Vec<usize> =
        [121, 0, 0, 0].map(|seconds| scene.advance(Duration::from_secs(seconds)).statuses.len()).to_vec();
    assert_eq!(ended, [IDLE_PAGE, IDLE_PAGE, 10, 0]);
}

/// Proves CP-22.
#[test]
fn a_busy_flow_ends_at_its_hard_lifetime() {
    let mut scene = Scene::new(&config());
    let request = scene.punt(tcp(1)).requests.remove(0);
    let mut hard = binding(&request);
    hard.lifetime.hard = Some(Duration::from_secs(10));
    scene.answer(hard);
    for _ in 0..9 {
        assert!(scene.passes(tcp(1)));
        assert!(scene.advance(SECOND).is_empty());
    }
    let effects = scene.advance(SECOND);
    assert!(matches!(events(&effects)[..], [BindingEvent::Removed { reason: RemovalReason::Hard, .. }]));
    assert!(!scene.passes(tcp(1)));
}

/// Proves CP-22.
#[test]
fn a_removal_that_the_data_plane_refuses_is_tried_again_until_it_is_done() {
    let mut scene = Scene::new(&config());
    let request = scene.bind(tcp(1));
    let fault = BackendError::Unrealisable("not now".to_owned());
    scene.forwarder.backend().set_fault(Some(fault.clone()));
    let now = scene.now;
    let reason = RemovalReason::Requested;
    scene.forwarder.ingress().handle_removal(tcp(1), request.transaction, reason, now);
    let effects = scene.forwarder.drain(now);
    assert_eq!((effects.statuses.len(), effects.faults), (0, vec![fault]));
    assert_eq!(dropped(&scene.punt(tcp(1))).len(), 1, "no new flow before the old one is gone");
    scene.forwarder.backend().set_fault(None);
    let effects = scene.advance(SECOND);
    assert!(matches!(events(&effects)[..], [BindingEvent::Removed { reason: RemovalReason::Requested, .. }]));
}

/// Proves CP-26.
#[test]
fn a_later_version_repairs_the_path_and_an_earlier_one_or_another_instance_is_refused() {
    let mut scene = Scene::new(&config());
    let request = scene.bind(tcp(1));
    let mut repaired = binding(&request);
    repaired.version = 2;
    repaired.forward.path.mtu = 1400;
    assert_eq!(events(&scene.answer(repaired.clone())), [BindingEvent::Installed]);
    assert_eq!(events(&scene.answer(repaired.clone())), [BindingEvent::Installed], "again is no change");
    let mut other = repaired.clone();
    other.version = 3;
    other.forward.locator.address = [198, 51, 100, 11].into();
    other.reverse = cats_engine_types::Binding::reverse_of(&other.forward);
    for refused in [binding(&request), other] {
        let events = events(&scene.answer(refused));
        assert!(matches!(events[..], [BindingEvent::InstallFailed(InstallFailure::NotRealisable(_))]));
    }
    assert_eq!(*scene.forwarder.ingress().bindings(None, 9)[0], repaired);
}

/// Proves CP-23.
#[test]
fn a_restart_restores_bindings_before_packets_and_removes_those_of_services_that_are_gone() {
    let mut scene = Scene::new(&config());
    let kept = scene.bind(tcp(1));
    scene.bind(udp(1));
    let model: Model = scene.forwarder.backend().clone();
    let mut less = config();
    less.ingress.as_mut().unwrap().services.retain(|service, _| service.protocol == Protocol::TCP);
    let mut scene = Scene::over(model, &less);
    let effects = scene.forwarder.drain(scene.now);
    let expected = binding(&kept);
    assert!(matches!(&events(&effects)[..],
        [BindingEvent::Restored(restored), BindingEvent::Removed { reason: RemovalReason::Unconfigured, .. }]
        if **restored == expected));
    assert!(scene.passes(tcp(1)));
    assert_eq!(scene.forwarder.backend().flows(), [tcp(1)]);
    let request = scene.punt(tcp(2)).requests.remove(0);
    let mut fenced = binding(&request);
    fenced.epoch = Epoch(4);
    let events = events(&scene.answer(fenced));
    assert!(matches!(events[..], [BindingEvent::InstallFailed(InstallFailure::Fenced { .. })]));
}

/// Proves CP-17.
#[test]
fn a_service_that_gives_its_address_up_but_stays_configured_keeps_its_flows() {
    let mut scene = Scene::new(&config());
    scene.bind(tcp(1));
    scene.punt(tcp(2));
    let address = tcp(1).destination();
    let mut taken = config();
    let ingress = taken.ingress.as_mut().unwrap();
    ingress.services.insert(address, CsId::number(2).unwrap());
    ingress.standing.insert((address, scene::service()));
    let now = scene.now;
    scene.forwarder.reconfigure(&taken, now).unwrap();
    let effects = scene.forwarder.drain(now);
    assert_eq!(events(&effects), [], "the established flow stays");
    assert_eq!(dropped(&effects), [1], "what waited was asked for the other service");
    assert!(scene.passes(tcp(1)));
    let model: Model = scene.forwarder.backend().clone();
    let mut scene = Scene::over(model, &taken);
    let effects = scene.forwarder.drain(scene.now);
    assert!(matches!(events(&effects)[..], [BindingEvent::Restored(_)]), "after a restart too");
    assert!(scene.passes(tcp(1)));
}

#[test]
fn a_service_that_leaves_the_configuration_takes_its_flows_along() {
    let mut scene = Scene::new(&config());
    scene.bind(tcp(1));
    scene.punt(tcp(2));
    let none = ForwarderConfig { ingress: None, ..config() };
    let now = scene.now;
    scene.forwarder.reconfigure(&none, now).unwrap();
    let effects = scene.forwarder.drain(now);
    assert!(matches!(events(&effects)[..], [BindingEvent::Removed { .. }]));
    assert_eq!(dropped(&effects), [1]);
    assert_eq!(scene.forwarder.ingress().occupancy().flows, 0);
    assert_eq!(dropped(&scene.punt(tcp(3))), [2], "no service, no request");
}

#[test]
fn a_packet_of_no_flow_opens_none_and_is_dropped_and_counted() {
    let mut scene = Scene::new(&config());
    scene.forwarder.ingress().handle_no_flow(PacketId(7));
    let effects = scene.forwarder.drain(scene.now);
    assert_eq!((dropped(&effects), effects.requests.len()), (vec![7], 0));
    assert_eq!(scene.forwarder.ingress().drops()[&DropReason::NoService], 1);
    assert_eq!(scene.forwarder.ingress().occupancy().flows, 0);
}

/// Proves CP-28.
#[test]
fn each_bound_of_the_pending_table_drops_the_packet_that_meets_it() {
    let mut config = config();
    let ingress = config.ingress.as_mut().unwrap();
    ingress.pending.packets_per_flow = 3;
    ingress.pending.octets_per_flow = 1000;
    ingress.pending.octets_total = 1500;
    ingress.pending.flows = 4;
    ingress.flow_limit = 6;
    let mut scene = Scene::new(&config);
    for _ in 0..4 {
        scene.punt_of(tcp(1), 1);
    }
    scene.punt_of(tcp(2), 600);
    scene.punt_of(tcp(2), 600);
    scene.punt_of(tcp(3), 600);
    scene.punt_of(tcp(4), 600);
    scene.punt_of(tcp(5), 1);
    scene.punt_of(tcp(6), 1);
    let ingress = scene.forwarder.ingress();
    let drops: Vec<(DropReason, u64)> =
        ingress.drops().iter().map(|(reason, count)| (*reason, *count)).collect();
    let expected = [(DropReason::FlowBound, 2), (DropReason::TotalBound, 1), (DropReason::PendingFlows, 1)];
    assert_eq!(drops, expected);
    assert_eq!((ingress.occupancy().pending_flows, ingress.occupancy().held_octets), (4, 1204));
}

/// Proves CP-28.
#[test]
fn a_flood_of_distinct_flows_stays_within_its_bounds_and_harms_no_established_flow() {
    let mut config = config();
    config.ingress.as_mut().unwrap().pending.flows = 500;
    let mut scene = Scene::new(&config);
    scene.bind(tcp(1));
    for port in 2..=60_000 {
        scene.punt(key(Protocol::UDP, port));
        let occupancy = scene.forwarder.ingress().occupancy();
        assert!(occupancy.pending_flows <= 500 && occupancy.flows <= 501);
        if port % 1000 == 0 {
            assert!(scene.passes(tcp(1)));
        }
    }
    let held = scene.forwarder.ingress().drops()[&DropReason::PendingFlows];
    assert_eq!(held, 59_999 - 500);
    scene.advance(SECOND);
    assert_eq!(scene.forwarder.ingress().occupancy().flows, 1, "all that waited is given back");
}

/// Proves CP-28.
#[test]
fn the_flow_limit_holds_for_bindings_and_waiting_flows_together() {
    let mut config = config();
    config.ingress.as_mut().unwrap().flow_limit = 2;
    let mut scene = Scene::new(&config);
    scene.bind(tcp(1));
    scene.punt(tcp(2));
    assert_eq!(dropped(&scene.punt(tcp(3))).len(), 1);
    assert_eq!(scene.forwarder.ingress().drops()[&DropReason::FlowLimit], 1);
}

/// Proves CP-18.
#[test]
fn the_model_drops_return_traffic_without_a_binding_and_counts_it() {
    let mut scene = Scene::new(&config());
    let model = scene.forwarder.backend();
    let reverse = ("198.51.100.21:443".parse().unwrap(), "192.0.2.10:1".parse().unwrap());
    assert_eq!(model.backward(Protocol::TCP, reverse, 60), Fate::Dropped(PlaneDrop::ReverseWithoutBinding));
    assert_eq!(model.counters().unwrap().drops[&PlaneDrop::ReverseWithoutBinding].packets, 1);
}
