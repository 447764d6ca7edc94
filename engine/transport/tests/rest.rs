//! Reports over HTTP: posted, asked for, and streamed.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bed;

use bed::collection::{Agent, a_report, csci, permissions};
use bed::http::{Answer, Client};
use bed::tokens::Issuer;
use bed::{Authority, BOUND, TIMING, name};
use cats_engine_transport::Subject;
use cats_engine_transport::collection::{
    Admission, CollectionEvent, Denial, Listen, Proofs, PullError, PullTarget, Reader, Readers,
    SubscriptionEvent, SubscriptionTarget, pull_grpc, pull_http, serve, subscribe,
};
use cats_engine_transport::control_plane::Sent;
use cats_engine_transport::pki::Pki;
use cats_engine_transport::tokens::TokenAlgorithm;
use cats_engine_types::{Rejection, Report, ReporterInstruction};
use cats_engine_wire::json::{decode_reporter_instructions, encode_report};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

const JSON: (&str, &str) = ("content-type", "application/json");

/// Answers every report that is posted, and every question, as a C-SMA that takes all but those of sequence 13.
fn answer_all(agent: Agent) -> (SocketAddr, Answering) {
    let address = agent.address;
    (address, Answering(tokio::spawn(answer(agent))))
}

struct Answering(JoinHandle<()>);

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn answer(mut agent: Agent) {
    let mut last: Option<Report> = None;
    while let Some(event) = agent.events.recv().await {
        match event {
            CollectionEvent::Posted { reports, answer, .. } => {
                last = reports.last().cloned();
                answer.send(reports.iter().map(verdict).collect()).unwrap();
            }
            CollectionEvent::Queried { csci_id, answer, .. } => {
                answer.send(last.clone().filter(|report| report.csci_id == csci_id)).unwrap();
            }
            CollectionEvent::Denied { .. } => {}
            other => panic!("{other:?}"),
        }
    }
}

fn verdict(report: &Report) -> ReporterInstruction {
    let (csci_id, freshness) = (report.csci_id, report.freshness);
    match freshness.sequence {
        13 => ReporterInstruction::Reject {
            csci_id,
            freshness,
            reason: Rejection::Stale,
            detail: "a duplicate".to_owned(),
        },
        _ => ReporterInstruction::Acknowledge { csci_id, freshness },
    }
}

fn json(instance: u32, service: u32, sequence: u64) -> Vec<u8> {
    encode_report(&a_report(instance, service, sequence), None)
}

/// Proves SMA-1, SMA-13, SMA-18: over HTTP/2 and HTTP/1.1.
#[tokio::test]
async fn a_posted_report_is_answered_and_read_again_with_its_tag() {
    let ca = Authority::new();
    let agent = Agent::start(&ca, Admission::new(permissions(&[7], 1), Proofs::default())).await;
    let (address, _answering) = answer_all(agent);
    for version in [hyper::Version::HTTP_2, hyper::Version::HTTP_11] {
        let files = ca.certificate("i7", 7, &["cats:csci:7"]);
        let client = Client::new(&files, address, version);
        let answer = client.send("POST", "/cats/v1/reports", &[JSON], json(7, 1, 5)).await;
        assert_eq!((answer.status, answer.version), (200, version));
        let said = decode_reporter_instructions(&answer.body).unwrap();
        assert_eq!(said, [verdict(&a_report(7, 1, 5))]);

        let read = client.send("GET", "/cats/v1/reports/7", &[], Vec::new()).await;
        assert_eq!((read.status, read.body), (200, json(7, 1, 5)));
        let tag = read.headers.get("etag").unwrap().to_str().unwrap().to_owned();
        assert_eq!(tag, "\"1-5\"");
        let same = client.send("GET", "/cats/v1/reports/7", &[("if-none-match", &tag)], Vec::new()).await;
        assert_eq!((same.status, same.body.as_slice()), (304, b"".as_slice()));
        let other =
            client.send("GET", "/cats/v1/reports/7", &[("if-none-match", "\"1-4\"")], Vec::new()).await;
        assert_eq!(other.status, 200);
    }
}

/// Proves SMA-18: each of several reports has its own answer.
#[tokio::test]
async fn of_several_reports_each_is_answered_for_itself() {
    let ca = Authority::new();
    let agent = Agent::start(&ca, Admission::new(permissions(&[7], 1), Proofs::default())).await;
    let (address, _answering) = answer_all(agent);
    let client = Client::new(&ca.certificate("i7", 7, &["cats:csci:7"]), address, hyper::Version::HTTP_2);
    let batch = [json(7, 1, 12), json(7, 1, 13), json(8, 1, 14), json(7, 2, 15)];
    let body = [b"[".as_slice(), &batch.join(b",".as_slice()), b"]"].concat();
    let answer = client.send("POST", "/cats/v1/reports", &[JSON], body).await;
    assert_eq!(answer.status, 200);
    let mut found: Vec<(u64, Option<Rejection>)> = decode_reporter_instructions(&answer.body)
        .unwrap()
        .into_iter()
        .map(|answer| match answer {
            ReporterInstruction::Acknowledge { freshness, .. } => (freshness.sequence, None),
            ReporterInstruction::Reject { freshness, reason, .. } => (freshness.sequence, Some(reason)),
            other => panic!("{other:?}"),
        })
        .collect();
    found.sort_unstable();
    let unauthorised = Some(Rejection::Unauthorised);
    assert_eq!(found, [(12, None), (13, Some(Rejection::Stale)), (14, unauthorised), (15, unauthorised)]);

    // None taken in.
    let answer = client.send("POST", "/cats/v1/reports", &[JSON], json(7, 1, 13)).await;
    assert_eq!(answer.status, 422);
}

/// Proves SMA-3, SMA-6, SMA-18, SMA-28.
#[tokio::test]
async fn a_request_that_is_not_its_senders_or_is_no_report_is_refused_with_the_reason() {
    let ca = Authority::new();
    let issuer = Issuer::new(TokenAlgorithm::EdDsa);
    let (sign, verify) = bed::signer(ca.dir.path(), "i7", Subject::Instance(csci(7)));
    let (_, foreign) = bed::signer(ca.dir.path(), "sma", bed::agent("C-SMA-2"));
    let proofs = Proofs { keys: Some(bed::keyring(vec![verify, foreign])), ..issuer.proofs() };
    let admission = Admission::new(permissions(&[7, 8], 1), proofs);
    let agent = Agent::start(&ca, Arc::clone(&admission)).await;
    let (address, _answering) = answer_all(agent);
    let client = Client::anonymous(address);
    let post = async |headers: &[(&str, &str)], body: Vec<u8>| -> Answer {
        let headers: Vec<_> = [JSON].into_iter().chain(headers.iter().copied()).collect();
        client.send("POST", "/cats/v1/reports", &headers, body).await
    };
    let seven = format!("Bearer {}", issuer.token("7", 600));
    let old = format!("Bearer {}", issuer.token("7", -600));
    let good = json(7, 1, 5);
    let signature = sign.sign_detached(&good).unwrap();
    let in_report = encode_report(&a_report(8, 1, 1), Some(&issuer.token("8", 600)));
    for (headers, body, status, words) in [
        (vec![("authorization", seven.as_str())], good.clone(), 200, ""),
        (vec![("cats-signature", signature.as_str())], good.clone(), 200, ""),
        (vec![], in_report, 200, ""),
        (vec![], good.clone(), 401, "neither a certificate nor a token"),
        (vec![("authorization", old.as_str())], good.clone(), 401, "ExpiredSignature"),
        (vec![("authorization", seven.as_str())], json(8, 1, 5), 403, "csci-id is 8 and the token is 7's"),
        (vec![("cats-signature", signature.as_str())], json(7, 1, 6), 401, "is not that of the payload"),
        (vec![("cats-signature", "x..y")], good.clone(), 401, "no detached JWS"),
        (vec![("authorization", seven.as_str())], b"{\"gas\": NaN}".to_vec(), 400, "field `gas` is no JSON"),
        (vec![("authorization", seven.as_str())], b"{}".to_vec(), 400, "field `kind` is missing"),
        (vec![("content-encoding", "gzip")], good.clone(), 415, "without an encoding"),
        (vec![("authorization", seven.as_str())], vec![b' '; (1 << 20) + 1], 413, "more than 1048576 octets"),
    ] {
        let answer = post(&headers, body).await;
        let body = String::from_utf8(answer.body).unwrap();
        assert_eq!(answer.status, status, "{body}");
        assert!(body.contains(words), "{words}: {body}");
    }
    let plain = client.send("POST", "/cats/v1/reports", &[("content-type", "text/plain")], good).await;
    assert_eq!(plain.status, 415);
    let counters = admission.counters();
    assert_eq!((counters.unauthenticated, counters.unauthorised, counters.malformed), (4, 1, 2));

    let other = client.send("GET", "/cats/v1/reports/8", &[("authorization", &seven)], Vec::new()).await;
    assert_eq!(other.status, 403);
    let none = client.send("GET", "/cats/v1/reports/x", &[("authorization", &seven)], Vec::new()).await;
    assert_eq!(none.status, 400);
    assert_eq!(client.send("GET", "/cats/v1/reports/stream", &[], Vec::new()).await.status, 403);
}

#[tokio::test]
async fn who_is_turned_away_is_told_to_the_owner() {
    let ca = Authority::new();
    let mut agent = Agent::start(&ca, Admission::new(permissions(&[7], 1), Proofs::default())).await;
    let client =
        Client::new(&ca.certificate("i8", 8, &["cats:csci:8"]), agent.address, hyper::Version::HTTP_2);
    assert_eq!(client.send("POST", "/cats/v1/reports", &[JSON], json(7, 1, 1)).await.status, 403);
    let CollectionEvent::Denied { claimed, denial, .. } = agent.any().await else { panic!("not told") };
    let words = "csci-id is 7 and the certificate is cats:csci:8's".to_owned();
    assert_eq!((claimed, denial), (Some(csci(7)), Denial::Unauthorised(words)));
}

/// An instance that serves its reports and streams them.
struct Instance {
    address: SocketAddr,
    pki: Arc<Pki>,
    events: mpsc::Receiver<CollectionEvent>,
    task: JoinHandle<()>,
}

impl Instance {
    async fn start(ca: &Authority, address: &str) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut files = ca.certificate("i7", 7, &["cats:csci:7"]);
        files.revocation_list = Some(ca.revoke(&[99]));
        let pki = Pki::open(files);
        let readers = Readers::default();
        readers.replace([bed::agent("C-SMA-1")].into());
        let (sender, events) = mpsc::channel(64);
        let mut listen = Listen::instance(listener, Arc::clone(&pki), name("SCI-7"), readers, sender);
        listen.timing = TIMING;
        let task = tokio::spawn(async move { serve(listen, std::future::pending()).await.unwrap() });
        Self { address, pki, events, task }
    }

    async fn next(&mut self) -> CollectionEvent {
        tokio::time::timeout(BOUND, self.events.recv()).await.unwrap().unwrap()
    }

    fn target(&self, ca: &Authority, identity: &str, serial: u64) -> PullTarget {
        let pki = Pki::open(ca.certificate("puller", serial, &[identity]));
        PullTarget { address: self.address, csci_id: csci(7), pki, deadline: Duration::from_secs(10) }
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        self.task.abort();
    }
}

type Pulled = Result<Report, PullError>;

/// Pulls both ways, while the instance gives these answers.
async fn pull(instance: &mut Instance, target: &PullTarget, answers: [Option<Report>; 2]) -> [Pulled; 2] {
    let mut results = Vec::new();
    for (grpc, given) in [true, false].into_iter().zip(answers) {
        let target = target.clone();
        let pulled =
            tokio::spawn(
                async move { if grpc { pull_grpc(&target).await } else { pull_http(&target).await } },
            );
        let answering = async {
            loop {
                if let CollectionEvent::Queried { by, csci_id, answer } = instance.next().await {
                    assert_eq!((by, csci_id), (Reader::Node(bed::agent("C-SMA-1")), target_id()));
                    answer.send(given.clone()).unwrap();
                }
            }
        };
        tokio::select! {
            result = pulled => results.push(result.unwrap()),
            () = answering => panic!("no end"),
        }
    }
    results.try_into().unwrap()
}

fn target_id() -> cats_engine_types::CsciId {
    csci(7)
}

/// Proves SMA-1: a report is pulled by a unary call and by GET.
#[tokio::test]
async fn an_agent_pulls_a_report_over_grpc_and_http() {
    let ca = Authority::new();
    let mut instance = Instance::start(&ca, "127.0.0.1:0").await;
    let target = instance.target(&ca, "cats:sma:C-SMA-1", 2);
    let said = [Some(a_report(7, 1, 5)), Some(a_report(7, 1, 6))];
    assert_eq!(pull(&mut instance, &target, said.clone()).await.map(Result::ok), said);

    for result in pull(&mut instance, &target, [None, None]).await {
        let error = result.unwrap_err();
        assert!(error.to_string().contains("nothing is known of instance 7"), "{error}");
    }
    for result in pull(&mut instance, &target, [Some(a_report(8, 1, 1)), Some(a_report(8, 1, 1))]).await {
        let error = result.unwrap_err();
        assert!(error.to_string().contains("it is of instance 8"), "{error}");
    }
    let stranger = instance.target(&ca, "cats:sma:C-SMA-2", 3);
    for result in pull(&mut instance, &stranger, [None, None]).await {
        let error = result.unwrap_err();
        assert!(error.to_string().contains("cats:sma:C-SMA-2 may not read"), "{error}");
    }
    let other = PullTarget { csci_id: csci(8), ..target };
    for result in pull(&mut instance, &other, [None, None]).await {
        let error = result.unwrap_err();
        assert!(
            error.to_string().contains("the server is cats:csci:7 and cats:csci:8 is expected"),
            "{error}"
        );
    }
}

/// Proves SMA-1, SMA-9: an instance that does not answer is told apart from one that refuses, and soon.
#[tokio::test]
async fn a_pull_ends_with_its_deadline() {
    let ca = Authority::new();
    let instance = Instance::start(&ca, "127.0.0.1:0").await;
    let target =
        PullTarget { deadline: Duration::from_millis(50), ..instance.target(&ca, "cats:sma:C-SMA-1", 2) };
    assert_eq!(pull_http(&target).await, Err(PullError::Deadline(csci(7))));
    assert_eq!(pull_grpc(&target).await, Err(PullError::Deadline(csci(7))));
    let gone = PullTarget { address: "127.0.0.1:1".parse().unwrap(), deadline: BOUND, ..target };
    assert!(matches!(pull_http(&gone).await, Err(PullError::Unreachable { .. })));
    assert!(matches!(pull_grpc(&gone).await, Err(PullError::Unreachable { .. })));
}

struct Subscription(mpsc::Receiver<SubscriptionEvent>);

impl Subscription {
    fn start(target: &PullTarget, admission: &Arc<Admission>) -> Self {
        let (sender, events) = mpsc::channel(64);
        let target = SubscriptionTarget {
            address: target.address,
            csci_id: target.csci_id,
            pki: Arc::clone(&target.pki),
            admission: Arc::clone(admission),
            timing: TIMING,
        };
        tokio::spawn(subscribe(target, sender));
        Self(events)
    }

    async fn next(&mut self) -> SubscriptionEvent {
        tokio::time::timeout(BOUND, self.0.recv()).await.unwrap().unwrap()
    }

    async fn disconnected(&mut self) -> String {
        loop {
            if let SubscriptionEvent::Disconnected { reason, .. } = self.next().await {
                return reason;
            }
        }
    }
}

/// Proves SMA-1, SMA-18: server-sent events over HTTP/2; a restart of the instance is survived.
#[tokio::test]
async fn an_agent_listens_to_an_instance_and_goes_on_after_its_restart() {
    let ca = Authority::new();
    let mut instance = Instance::start(&ca, "127.0.0.1:0").await;
    let address = instance.address;
    let target = instance.target(&ca, "cats:sma:C-SMA-1", 2);
    let admission = Admission::new(permissions(&[7], 1), Proofs::default());
    let mut subscription = Subscription::start(&target, &admission);
    for round in 0..2 {
        let CollectionEvent::Subscribed(subscriber) = instance.next().await else { panic!("nobody") };
        assert_eq!(subscriber.by, Reader::Node(bed::agent("C-SMA-1")));
        assert!(matches!(subscription.next().await, SubscriptionEvent::Connected(id) if id == csci(7)));
        // Those of other instances and services are left out.
        for report in [a_report(8, 1, 1), a_report(7, 2, 1), a_report(7, 1, 1), a_report(7, 1, 2)] {
            assert_eq!(subscriber.send(report), Sent::Queued);
        }
        for sequence in [1, 2] {
            let SubscriptionEvent::Report(report) = subscription.next().await else { panic!("no report") };
            assert_eq!(report, a_report(7, 1, sequence));
        }
        assert_eq!(admission.counters().unauthorised, 2 * (round + 1));
        drop((subscriber, instance));
        subscription.disconnected().await;
        instance = Instance::start(&ca, &address.to_string()).await;
    }
}

/// Proves SMA-18: an agent whose certificate is revoked hears no more.
#[tokio::test]
async fn a_subscriber_that_is_revoked_or_does_not_read_is_let_go() {
    let ca = Authority::new();
    let mut instance = Instance::start(&ca, "127.0.0.1:0").await;
    let target = instance.target(&ca, "cats:sma:C-SMA-1", 2);
    let admission = Admission::new(permissions(&[7], 1), Proofs::default());
    let mut subscription = Subscription::start(&target, &admission);
    let CollectionEvent::Subscribed(subscriber) = instance.next().await else { panic!("nobody") };
    // The owner of the subscription takes nothing, so its channel fills, then the connection, then the queue here.
    let mut sent = 0_u64;
    while subscriber.send(a_report(7, 1, sent)) == Sent::Queued {
        sent += 1;
        assert!(sent < 1_000_000, "the queue has no end");
        tokio::task::yield_now().await;
    }
    drop(subscriber);
    subscription.disconnected().await;
    let CollectionEvent::Subscribed(_kept) = instance.next().await else { panic!("nobody") };
    ca.revoke(&[2, 99]);
    assert!(instance.pki.refresh());
    subscription.disconnected().await;
    let reason = subscription.disconnected().await;
    assert!(reason.contains("CertificateRevoked"), "{reason}");
}
