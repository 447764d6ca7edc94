//! Service contact instances and their C-SMA over TLS on the loopback.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bed;

use bed::Authority;
use bed::collection::{Agent, Instance, a_report, csci, permissions};
use cats_engine_transport::collection::{
    Admission, CollectionEvent, Connection, Others, Permissions, Proofs, ReportStream, ReporterEvent, Source,
};
use cats_engine_transport::control_plane::Sent;
use cats_engine_transport::pki::Pki;
use cats_engine_types::{Freshness, Rejection, Report, ReporterInstruction};
use cats_engine_wire::metrics as pb;
use cats_engine_wire::metrics::collection_client::CollectionClient;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

async fn connected(agent: &mut Agent, instance: &mut Instance) -> (Connection, ReportStream) {
    (agent.connected().await, instance.connected().await)
}

/// Reports until there are `count`.
async fn reports(agent: &mut Agent, count: usize) -> Vec<Report> {
    let mut taken = Vec::new();
    while taken.len() < count {
        match agent.next().await {
            CollectionEvent::Reports { reports, .. } => taken.extend(reports),
            other => panic!("{other:?}"),
        }
    }
    taken
}

/// Proves SMA-1, SMA-2, SMA-18.
#[tokio::test]
async fn reports_go_up_and_answers_come_down_on_a_stream_of_a_known_instance() {
    let ca = Authority::new();
    let mut agent = Agent::start(&ca, Admission::new(permissions(&[7], 1), Proofs::default())).await;
    let mut instance = Instance::start(&ca, 7, &agent);
    let (connection, stream) = connected(&mut agent, &mut instance).await;
    assert_eq!(connection.instances, [csci(7)]);

    let said: Vec<Report> = (1..=600).map(|sequence| a_report(7, 1, sequence)).collect();
    for report in &said {
        assert_eq!(stream.send_when_room(report.clone()).await, Sent::Queued);
    }
    let CollectionEvent::Reports { source, reports: first, .. } = agent.next().await else { panic!() };
    assert_eq!(source, Source::Stream(connection.id));
    let mut taken = first;
    taken.extend(reports(&mut agent, said.len() - taken.len()).await);
    assert_eq!(taken, said);

    let at = |sequence| Freshness { epoch: 1, sequence };
    let acknowledge =
        |sequence| ReporterInstruction::Acknowledge { csci_id: csci(7), freshness: at(sequence) };
    let others = [
        ReporterInstruction::Reject {
            csci_id: csci(7),
            freshness: at(9),
            reason: Rejection::OutOfRange,
            detail: "gas".to_owned(),
        },
        ReporterInstruction::Pull { csci_id: csci(7) },
        ReporterInstruction::Pace { min_interval: Duration::from_secs(5) },
    ];
    for instruction in (1..=8).map(acknowledge).chain(others.clone()) {
        assert_eq!(connection.send(instruction), Sent::Queued);
    }
    let mut heard = Vec::new();
    while heard.len() < 4 || !heard.ends_with(&others) {
        heard.extend(instance.instructions().await);
    }
    // Acknowledgements that follow each other may be one; the last of them is always there.
    assert_eq!(heard[heard.len() - 4], acknowledge(8));
}

fn many(instance: u32, from: u64, count: u64) -> pb::FromReporter {
    let reports = (from..from + count).map(|sequence| (&a_report(instance, 1, sequence)).into()).collect();
    pb::FromReporter { message: Some(pb::from_reporter::Message::Reports(pb::Reports { reports })) }
}

fn rejected(report: &Report) -> ReporterInstruction {
    let Report { csci_id, freshness, .. } = *report;
    ReporterInstruction::Reject { csci_id, freshness, reason: Rejection::Stale, detail: String::new() }
}

/// Proves SMA-29: no answer is lost, however many reports a message has and however late they are read; who does not
/// read answers is not listened to meanwhile.
#[tokio::test]
async fn every_report_of_a_stream_that_is_slow_to_read_is_answered() {
    const EACH: u64 = 5000;
    const MESSAGES: u64 = 8;
    let ca = Authority::new();
    let mut agent = Agent::start(&ca, Admission::new(permissions(&[7], 1), Proofs::default())).await;
    let files = ca.certificate("i7", 7, &["cats:csci:7"]);
    let mut client = CollectionClient::new(bed::channel(&files, agent.address).await);
    let (out, stream) = mpsc::channel(64);
    let stream = tokio_stream::wrappers::ReceiverStream::new(stream);
    let mut incoming = client.report(stream).await.unwrap().into_inner();
    let _connection = agent.connected().await;
    for message in 0..MESSAGES {
        out.try_send(many(7, 1 + message * EACH, EACH)).unwrap();
    }
    // As long as nothing is answered, one message is all that is read.
    let mut first = Some(agent.next().await);
    assert!(tokio::time::timeout(Duration::from_millis(200), agent.next()).await.is_err());
    let answering = tokio::spawn(async move {
        let mut taken = 0;
        while taken < EACH * MESSAGES {
            let event = match first.take() {
                Some(first) => first,
                None => agent.next().await,
            };
            let CollectionEvent::Reports { reports, mut answers, .. } = event else { panic!("{event:?}") };
            for report in &reports {
                taken += 1;
                assert_eq!(report.freshness.sequence, taken);
                answers.add(rejected(report));
            }
            assert_eq!(answers.send(), Sent::Queued);
        }
        agent
    });
    let mut last = 0;
    while last < EACH * MESSAGES {
        let message = tokio::time::timeout(bed::BOUND, incoming.message()).await.unwrap().unwrap().unwrap();
        let Some(pb::to_reporter::Message::Instructions(batch)) = message.message else { continue };
        for word in batch.instructions {
            let Ok(ReporterInstruction::Reject { freshness, .. }) = word.try_into() else { panic!() };
            last += 1;
            assert_eq!(freshness.sequence, last);
        }
    }
    drop(answering.await.unwrap());
}

/// Proves SMA-18: an instance reports for itself only, and only for its services.
#[tokio::test]
async fn a_report_for_somebody_else_or_for_another_service_is_rejected_and_the_others_are_taken() {
    let ca = Authority::new();
    let admission = Admission::new(permissions(&[7, 8], 1), Proofs::default());
    let mut agent = Agent::start(&ca, admission.clone()).await;
    let mut instance = Instance::start(&ca, 7, &agent);
    let (_connection, stream) = connected(&mut agent, &mut instance).await;
    for report in [a_report(8, 1, 1), a_report(7, 2, 2), a_report(7, 1, 3)] {
        assert_eq!(stream.send(report), Sent::Queued);
    }
    assert_eq!(reports(&mut agent, 1).await, [a_report(7, 1, 3)]);
    let mut heard = Vec::new();
    while heard.len() < 2 {
        heard.extend(instance.instructions().await);
    }
    let rejections = [
        (8, 1, "csci-id is 8 and the certificate is cats:csci:7's"),
        (7, 2, "instance 7 is not configured for service 2"),
    ];
    for (instruction, (id, at, words)) in heard.into_iter().zip(rejections) {
        let ReporterInstruction::Reject { csci_id, freshness, reason, detail } = instruction else {
            panic!()
        };
        assert_eq!((csci_id, freshness.sequence, reason), (csci(id), at, Rejection::Unauthorised));
        assert_eq!(detail, words);
    }
    assert_eq!(admission.counters().unauthorised, 2);

    admission.replace(Permissions { instances: BTreeMap::new(), others: Others::Taken });
    assert_eq!(stream.send(a_report(7, 2, 4)), Sent::Queued);
    assert_eq!(reports(&mut agent, 1).await, [a_report(7, 2, 4)]);
}

/// Proves SMA-28: one that sends nothing but what is not its own is let go.
#[tokio::test]
async fn an_instance_that_goes_on_with_what_is_refused_is_disconnected() {
    let ca = Authority::new();
    let mut agent = Agent::start(&ca, Admission::new(permissions(&[7], 1), Proofs::default())).await;
    let mut instance = Instance::start(&ca, 7, &agent);
    let (_connection, stream) = connected(&mut agent, &mut instance).await;
    // One good report among three does not help.
    for sequence in 0..200 {
        let id = if sequence % 3 == 0 { 7 } else { 8 };
        assert_eq!(stream.send(a_report(id, 1, sequence)), Sent::Queued);
    }
    while !matches!(agent.next().await, CollectionEvent::Disconnected(_)) {}
    let reason = instance.disconnected().await;
    assert!(reason.contains("too many reports are refused"), "{reason}");
}

/// Proves SMA-18.
#[tokio::test]
async fn nobody_without_a_certificate_of_an_instance_is_heard_while_tokens_are_not_taken() {
    let ca = Authority::new();
    let admission = Admission::new(permissions(&[7], 1), Proofs::default());
    let mut agent = Agent::start(&ca, admission.clone()).await;
    let other = Pki::open(ca.certificate("fwd", 5, &["cats:fwd:IF-1"]));
    let reason = Instance::start_with(&other, &agent, None).disconnected().await;
    assert!(reason.contains("the certificate is cats:fwd:IF-1's"), "{reason}");
    let foreign = Authority::new();
    let mut files = foreign.certificate("i7", 7, &["cats:csci:7"]);
    files.authority = ca.dir.path().join("ca.pem");
    let reason = Instance::start_with(&Pki::open(files), &agent, None).disconnected().await;
    assert!(reason.contains("UnknownCA") || reason.contains("DecryptError"), "{reason}");
    let mut plain = CollectionClient::new(bed::anonymous(agent.address).await);
    let empty = tokio_stream::iter(Vec::<pb::FromReporter>::new());
    let status = plain.report(empty).await.unwrap_err();
    assert_eq!(status.code(), tonic::Code::Unauthenticated);
    assert!(status.message().contains("the certificate is nobody's"), "{status}");
    assert_eq!(admission.counters().unauthenticated, 2);
    while let Ok(event) = agent.events.try_recv() {
        assert!(matches!(event, CollectionEvent::Denied { .. }), "{event:?}");
    }
}

/// Proves SMA-18: an instance speaks to its own C-SMA only.
#[tokio::test]
async fn an_instance_says_nothing_to_another_agent() {
    let ca = Authority::new();
    let agent = Agent::start(&ca, Admission::new(permissions(&[7], 1), Proofs::default())).await;
    let pki = Pki::open(ca.certificate("i7", 7, &["cats:csci:7"]));
    let mut instance = Instance::start_for(&pki, agent.address, "C-SMA-2", None);
    let reason = instance.disconnected().await;
    assert_eq!(reason, "the server is cats:sma:C-SMA-1 and cats:sma:C-SMA-2 is expected");
}

/// Proves SMA-18: a revoked certificate ends the stream, and does not come back.
#[tokio::test]
async fn an_instance_whose_certificate_is_revoked_is_disconnected_at_once() {
    let ca = Authority::new();
    let mut agent = Agent::start(&ca, Admission::new(permissions(&[7, 8], 1), Proofs::default())).await;
    let mut instance = Instance::start(&ca, 7, &agent);
    let (_connection, _stream) = connected(&mut agent, &mut instance).await;
    let mut other = Instance::start(&ca, 8, &agent);
    let (_kept, stream) = connected(&mut agent, &mut other).await;
    ca.revoke(&[7, 99]);
    assert!(agent.pki.refresh());
    let reason = instance.disconnected().await;
    assert!(reason.contains("Revoked"), "{reason}");
    assert!(matches!(agent.next().await, CollectionEvent::Disconnected(_)));
    let reason = instance.disconnected().await;
    assert!(reason.contains("CertificateRevoked"), "{reason}");
    assert_eq!(stream.send(a_report(8, 1, 1)), Sent::Queued);
    assert_eq!(reports(&mut agent, 1).await, [a_report(8, 1, 1)]);
}

/// Proves SMA-6: what is no report is told with its field; a report that does not say whose it is ends the stream.
#[tokio::test]
async fn a_malformed_report_is_rejected_with_its_field() {
    let ca = Authority::new();
    let admission = Admission::new(permissions(&[7], 1), Proofs::default());
    let mut agent = Agent::start(&ca, admission.clone()).await;
    let files = ca.certificate("i7", 7, &["cats:csci:7"]);
    let mut client = CollectionClient::new(bed::channel(&files, agent.address).await);
    let (out, stream) = mpsc::channel(4);
    let stream = tokio_stream::wrappers::ReceiverStream::new(stream);
    let mut incoming = client.report(stream).await.unwrap().into_inner();
    let _connection = agent.connected().await;
    let send = |report: pb::Report| {
        let reports = pb::Reports { reports: vec![report] };
        out.try_send(pb::FromReporter { message: Some(pb::from_reporter::Message::Reports(reports)) })
            .unwrap();
    };
    send(pb::Report { health: 77, ..(&a_report(7, 1, 5)).into() });
    let rejection = loop {
        let message = incoming.message().await.unwrap().unwrap().message;
        if let Some(pb::to_reporter::Message::Instructions(batch)) = message {
            break ReporterInstruction::try_from(batch.instructions[0].clone()).unwrap();
        }
    };
    let ReporterInstruction::Reject { freshness, reason, detail, .. } = rejection else { panic!() };
    assert_eq!((freshness.sequence, reason), (5, Rejection::Malformed));
    assert_eq!(detail, "field `health` is the unknown number 77");

    send(pb::Report { csci_id: None, ..(&a_report(7, 1, 6)).into() });
    let status = loop {
        if let Err(status) = incoming.message().await {
            break status;
        }
    };
    assert_eq!(status.message(), "field `csci_id` is missing");
    assert_eq!(admission.counters().malformed, 2);
}

/// Proves SMA-2: many instances at once, each known by its own CSCI-ID.
#[tokio::test]
async fn a_hundred_instances_report_at_once() {
    let ca = Authority::new();
    let ids: Vec<u32> = (101..=200).collect();
    let mut agent = Agent::start(&ca, Admission::new(permissions(&ids, 1), Proofs::default())).await;
    let mut reporting = JoinSet::new();
    for id in &ids {
        let mut instance = Instance::start(&ca, *id, &agent);
        // A hundred handshakes at once may take longer than an attempt has on a busy machine: it is made again.
        reporting.spawn(async move {
            let mut streams = Vec::new();
            while let Some(event) = instance.events.recv().await {
                if let ReporterEvent::Connected(stream) = event {
                    assert_eq!(stream.send(a_report(instance.id, 1, 1)), Sent::Queued);
                    streams.push(stream);
                }
            }
        });
    }
    let (mut sources, mut kept) = (BTreeSet::new(), BTreeMap::new());
    while sources.len() < 100 {
        match agent.next().await {
            CollectionEvent::Connected(connection) => drop(kept.insert(connection.id, connection)),
            CollectionEvent::Disconnected(id) => drop(kept.remove(&id)),
            CollectionEvent::Reports { source: Source::Stream(id), reports, .. } => {
                assert_eq!(kept[&id].instances, [reports[0].csci_id]);
                sources.insert(reports[0].csci_id);
            }
            other => panic!("{other:?}"),
        }
    }
}

/// Proves SMA-1: a question for what was last reported; an instance asks for its own only.
#[tokio::test]
async fn what_was_last_reported_is_told_to_the_instance_and_to_configured_readers() {
    let ca = Authority::new();
    let mut agent = Agent::start(&ca, Admission::new(permissions(&[7, 8], 1), Proofs::default())).await;
    agent.readers.replace([bed::selector("C-PS-1")].into());
    for (uri, serial, asked, found) in [
        ("cats:csci:7", 7, 7, Ok(1)),
        ("cats:csci:8", 8, 7, Err("cats:csci:8 may not read what instance 7 reports")),
        ("cats:cps:C-PS-1", 9, 7, Ok(1)),
        ("cats:cps:C-PS-2", 10, 7, Err("cats:cps:C-PS-2 may not read what instance 7 reports")),
        ("cats:csci:7", 11, 7, Err("nothing is known of instance 7")),
    ] {
        let files = ca.certificate("reader", serial, &[uri]);
        let mut client = CollectionClient::new(bed::channel(&files, agent.address).await);
        let request = pb::GetRequest { csci_id: Some((&csci(asked)).into()) };
        let answer = if serial == 11 { None } else { Some(a_report(7, 1, 1)) };
        let asking = tokio::spawn(async move { client.get(request).await });
        let answering = async {
            loop {
                if let CollectionEvent::Queried { answer: to, .. } = agent.next().await {
                    to.send(answer.clone()).unwrap();
                }
            }
        };
        let result = tokio::select! {
            result = asking => result.unwrap(),
            () = answering => panic!("no end"),
        };
        match found {
            Ok(sequence) => {
                let report = Report::try_from(result.unwrap().into_inner()).unwrap();
                assert_eq!(report.freshness.sequence, sequence, "{uri}");
            }
            Err(words) => {
                let status = result.unwrap_err();
                assert!(status.message().contains(words), "{uri}: {status}");
            }
        }
    }
}

#[tokio::test]
async fn an_instance_connects_again_after_its_agent_restarts() {
    let ca = Authority::new();
    let mut agent = Agent::start(&ca, Admission::new(permissions(&[7], 1), Proofs::default())).await;
    let mut instance = Instance::start(&ca, 7, &agent);
    let (connection, _stream) = connected(&mut agent, &mut instance).await;
    let address = agent.address;
    drop((agent, connection));
    instance.disconnected().await;
    let mut agent =
        Agent::start_at(address, &ca, Admission::new(permissions(&[7], 1), Proofs::default())).await;
    loop {
        if let ReporterEvent::Connected(stream) = instance.next().await {
            let _connection = agent.connected().await;
            assert_eq!(stream.send(a_report(7, 1, 1)), Sent::Queued);
            assert_eq!(reports(&mut agent, 1).await.len(), 1);
            break;
        }
    }
}
