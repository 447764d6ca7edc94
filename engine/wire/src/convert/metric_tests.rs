//! Reports and advertisements through protobuf.

use super::Problem;
use super::tests::{cs_id, csci_id, locator, node, through};
use crate::metrics as pb;
use cats_engine_types::*;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use std::time::Duration;

fn freshness() -> impl Strategy<Value = Freshness> {
    any::<(u64, u64)>().prop_map(|(epoch, sequence)| Freshness { epoch, sequence })
}

fn health() -> impl Strategy<Value = Health> {
    prop::sample::select(vec![Health::Healthy, Health::Degraded, Health::Unhealthy, Health::Unknown])
}

fn counts() -> impl Strategy<Value = InstanceCounts> {
    any::<[u32; 4]>().prop_map(|[healthy, degraded, unhealthy, unknown]| InstanceCounts {
        healthy,
        degraded,
        unhealthy,
        unknown,
    })
}

fn reported() -> impl Strategy<Value = ReportedMetrics> {
    let bound = || {
        option::of(
            any::<(u64, Option<u32>)>().prop_map(|(time, input_tokens)| ReportedTime { time, input_tokens }),
        )
    };
    let number = || option::of(any::<u64>());
    (
        number(),
        number(),
        bound(),
        bound(),
        option::of(health()),
        [number(), number(), number()],
        option::of(counts()),
    )
        .prop_map(|(gas, time, min, max, health, [price, reputation, security_level], instances)| {
            ReportedMetrics {
                gas,
                computing_time: time,
                computing_time_min: min,
                computing_time_max: max,
                health,
                price,
                reputation,
                security_level,
                instances,
            }
        })
}

pub(crate) fn report() -> impl Strategy<Value = Report> {
    let kind = prop::sample::select(vec![ReportKind::Full, ReportKind::Delta]);
    let cause = prop::sample::select(ReportCause::ALL.to_vec());
    let ttl = option::of(any::<u32>().prop_map(|seconds| Duration::from_secs(seconds.into())));
    let ids = (cs_id(), csci_id(), option::of(locator()));
    (kind, cause, ids, freshness(), any::<u64>(), ttl, reported()).prop_map(
        |(kind, cause, (cs_id, csci_id, locator), freshness, timestamp, ttl, metrics)| Report {
            kind,
            cause,
            cs_id,
            csci_id,
            locator,
            freshness,
            timestamp: UnixMicros(timestamp),
            ttl,
            metrics,
        },
    )
}

pub(crate) fn reporter_instruction() -> impl Strategy<Value = ReporterInstruction> {
    let reason = prop::sample::select(Rejection::ALL.to_vec());
    prop_oneof![
        (csci_id(), freshness())
            .prop_map(|(csci_id, freshness)| ReporterInstruction::Acknowledge { csci_id, freshness }),
        (csci_id(), freshness(), reason, ".{0,20}").prop_map(|(csci_id, freshness, reason, detail)| {
            ReporterInstruction::Reject { csci_id, freshness, reason, detail }
        }),
        csci_id().prop_map(|csci_id| ReporterInstruction::Pull { csci_id }),
        pause().prop_map(|min_interval| ReporterInstruction::Pace { min_interval })
    ]
}

fn pause() -> impl Strategy<Value = Duration> {
    (0..u64::MAX / 1_000_000).prop_map(Duration::from_millis)
}

fn sample() -> impl Strategy<Value = Sample> {
    let bound = || {
        option::of(
            any::<(u64, Option<u32>)>()
                .prop_map(|(time, input_tokens)| RequestTime { time: Micros(time), input_tokens }),
        )
    };
    let score = || option::of((0..=10_u8).prop_map(|value| Score::try_from(value).unwrap()));
    let price = option::of(any::<u32>().prop_map(Price));
    (any::<(u32, u64)>(), bound(), bound(), health(), price, [score(), score()], option::of(counts()))
        .prop_map(|((gas, time), min, max, health, price, [reputation, security_level], instances)| Sample {
            gas,
            computing_time: Micros(time),
            computing_time_min: min,
            computing_time_max: max,
            health,
            price,
            reputation,
            security_level,
            instances,
        })
}

fn record() -> impl Strategy<Value = MetricRecord> {
    (cs_id(), csci_id(), option::of(locator()), sample(), any::<(u64, bool)>(), pause()).prop_map(
        |(cs_id, csci_id, locator, sample, (taken, flagged), valid_for)| MetricRecord {
            cs_id,
            csci_id,
            locator,
            sample,
            taken: UnixMicros(taken),
            valid_for,
            flagged,
        },
    )
}

fn withdrawal() -> impl Strategy<Value = Withdrawal> {
    let reason = prop::sample::select(vec![
        WithdrawalReason::Failed,
        WithdrawalReason::Evicted,
        WithdrawalReason::Removed,
        WithdrawalReason::Unauthorised,
    ]);
    (cs_id(), csci_id(), reason).prop_map(|(cs_id, csci_id, reason)| Withdrawal { cs_id, csci_id, reason })
}

pub(crate) fn advertisement() -> impl Strategy<Value = Advertisement> {
    let snapshot = (any::<(u32, bool)>(), vec(record(), 0..4))
        .prop_map(|((part, last), records)| AdvertisementContent::Snapshot { part, last, records });
    let delta = (vec(record(), 0..4), vec(withdrawal(), 0..4))
        .prop_map(|(records, withdrawals)| AdvertisementContent::Delta { records, withdrawals });
    let content = prop_oneof![snapshot, delta, Just(AdvertisementContent::Refresh)];
    (node(), freshness(), any::<(u64, u64)>(), content).prop_map(
        |(agent, freshness, (since, timestamp), content)| Advertisement {
            agent,
            freshness,
            since,
            timestamp: UnixMicros(timestamp),
            content,
        },
    )
}

pub(crate) fn agent_instruction() -> impl Strategy<Value = AgentInstruction> {
    let cause = prop::sample::select(vec![
        SynchronisationCause::Start,
        SynchronisationCause::Gap,
        SynchronisationCause::Requested,
    ]);
    prop_oneof![
        freshness().prop_map(AgentInstruction::Acknowledge),
        cause.prop_map(AgentInstruction::Synchronise),
        (cs_id(), vec(csci_id(), 0..4))
            .prop_map(|(cs_id, csci_ids)| AgentInstruction::Query { cs_id, csci_ids }),
        pause().prop_map(|min_interval| AgentInstruction::Pace { min_interval })
    ]
}

proptest! {
    #[test]
    fn a_report_survives_the_wire(word in report()) {
        prop_assert_eq!(&through::<_, pb::Report>(&word), &word);
    }

    #[test]
    fn what_an_agent_answers_a_report_survives_the_wire(word in reporter_instruction()) {
        prop_assert_eq!(&through::<_, pb::ReporterInstruction>(&word), &word);
    }

    /// Proves SMA-13: every operation of the northbound interface has its encoding.
    #[test]
    fn an_advertisement_survives_the_wire(word in advertisement()) {
        prop_assert_eq!(&through::<_, pb::Advertisement>(&word), &word);
    }

    #[test]
    fn what_a_path_selector_tells_an_agent_survives_the_wire(word in agent_instruction()) {
        prop_assert_eq!(&through::<_, pb::AgentInstruction>(&word), &word);
    }
}

fn a_report() -> pb::Report {
    pb::Report {
        kind: pb::ReportKind::Full.into(),
        cause: pb::ReportCause::Heartbeat.into(),
        cs_id: Some((&CsId::number(1).unwrap()).into()),
        csci_id: Some((&CsciId::number(7).unwrap()).into()),
        freshness: Some(pb::Freshness { epoch: 1, sequence: 1 }),
        ..Default::default()
    }
}

/// Proves SMA-6: a field that is missing or has no value of its type is named.
#[test]
fn a_report_that_lacks_a_field_or_has_none_of_its_values_is_refused_at_that_field() {
    type Change = fn(&mut pb::Report);
    let cases: [(&str, Change, Problem); 8] = [
        ("kind", |report| report.kind = 0, Problem::Missing),
        ("cause", |report| report.cause = 9, Problem::UnknownNumber(9)),
        ("cs_id", |report| report.cs_id = None, Problem::Missing),
        ("csci_id.id", |report| report.csci_id = Some(pb::ServiceId { id: None }), Problem::Missing),
        ("freshness", |report| report.freshness = None, Problem::Missing),
        ("health", |report| report.health = -1, Problem::UnknownNumber(-1)),
        (
            "locator.address",
            |report| report.locator = Some(pb::Locator { address: vec![1; 5], port: None }),
            Problem::AddressLength(5),
        ),
        (
            "min_input_tokens",
            |report| report.min_input_tokens = Some(1),
            Problem::Refused("belongs to `min_us`, which is missing".to_owned()),
        ),
    ];
    assert!(Report::try_from(a_report()).is_ok());
    for (field, change, problem) in cases {
        let mut message = a_report();
        change(&mut message);
        let error = Report::try_from(message).unwrap_err();
        assert_eq!((error.field.as_str(), error.problem), (field, problem));
    }
}

#[test]
fn a_record_out_of_range_is_refused_at_its_index() {
    let record = pb::MetricRecord {
        cs_id: Some((&CsId::number(1).unwrap()).into()),
        csci_id: Some((&CsciId::number(7).unwrap()).into()),
        health: pb::Health::Healthy.into(),
        reputation: Some(11),
        ..Default::default()
    };
    let delta = pb::Delta { records: vec![record], withdrawals: Vec::new() };
    let message = pb::Advertisement {
        agent: "C-SMA-1".to_owned(),
        freshness: Some(pb::Freshness { epoch: 1, sequence: 1 }),
        timestamp_us: 1,
        content: Some(pb::advertisement::Content::Delta(delta)),
        since: 0,
    };
    let error = Advertisement::try_from(message).unwrap_err();
    assert_eq!(error.field, "delta.records[0].reputation");
    assert_eq!(error.problem, Problem::Refused("a score is 0 to 10".to_owned()));
}
