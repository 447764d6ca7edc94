//! Metric agents and their path selector over mutual TLS on the loopback.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bed;

use bed::northbound::{Selector, advertisement, record};
use bed::{Authority, BOUND, TIMING, agent, name, signer};
use cats_engine_transport::control_plane::Sent;
use cats_engine_transport::keys::{Algorithm, Signer, SigningKey};
use cats_engine_transport::northbound::{AgentEvent, SelectorEvent, Target, Upstream, connect};
use cats_engine_transport::pki::Pki;
use cats_engine_types::{Advertisement, AdvertisementContent, AgentInstruction, CsId, SynchronisationCause};
use cats_engine_wire::metrics as pb;
use cats_engine_wire::metrics::northbound_client::NorthboundClient;
use prost::Message;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// A C-SMA that connects once.
struct Agent(mpsc::Receiver<AgentEvent>);

impl Agent {
    fn start(pki: &Arc<Pki>, signer: &Arc<Signer>, address: SocketAddr, cps: &str) -> Self {
        let (sender, events) = mpsc::channel(64);
        let target = Target {
            address,
            cps: name(cps),
            pki: Arc::clone(pki),
            signer: Arc::clone(signer),
            compress: true,
            timing: TIMING,
        };
        tokio::spawn(connect(target, sender));
        Self(events)
    }

    async fn next(&mut self) -> AgentEvent {
        tokio::time::timeout(BOUND, self.0.recv()).await.unwrap().unwrap()
    }

    async fn connected(&mut self) -> Upstream {
        match self.next().await {
            AgentEvent::Connected { upstream } => upstream,
            other => panic!("{other:?}"),
        }
    }

    /// Why it is not connected any more; instructions are skipped.
    async fn disconnected(&mut self) -> String {
        loop {
            if let AgentEvent::Disconnected { reason } = self.next().await {
                assert!(self.0.recv().await.is_none(), "something follows");
                return reason;
            }
        }
    }
}

/// Proves SMA-13, SMA-19, SMA-20, SMA-29.
#[tokio::test]
async fn signed_and_compressed_advertisements_go_up_and_instructions_come_down() {
    let ca = Authority::new();
    let (sign, verify) = signer(ca.dir.path(), "k1", agent("C-SMA-1"));
    let mut selector = Selector::start(&ca, &["C-SMA-1"], vec![verify]).await;
    let pki = Pki::open(ca.certificate("sma1", 2, &["cats:sma:C-SMA-1"]));
    let mut sma = Agent::start(&pki, &sign, selector.cps.address, "C-PS-1");
    let upstream = sma.connected().await;
    let link = selector.connected().await;
    assert_eq!(link.agent, name("C-SMA-1"));

    let instructions = vec![
        AgentInstruction::Synchronise(SynchronisationCause::Start),
        AgentInstruction::Pace { min_interval: Duration::from_secs(9) },
        AgentInstruction::Query { cs_id: CsId::number(1).unwrap(), csci_ids: Vec::new() },
    ];
    for instruction in &instructions {
        assert_eq!(link.send(instruction.clone()), Sent::Queued);
    }
    let mut heard = Vec::new();
    while heard.len() < 3 {
        let AgentEvent::Instructions(batch) = sma.next().await else { panic!("no instructions") };
        heard.extend(batch);
    }
    assert_eq!(heard, instructions);

    // A view that is larger than one message, with several instances in each advertisement.
    let said: Vec<Advertisement> = (0..20_u32)
        .map(|part| {
            let records = (0..2000).map(|number| record(part * 2000 + number + 1)).collect();
            let content = AdvertisementContent::Snapshot { part, last: part == 19, records };
            advertisement("C-SMA-1", u64::from(part) + 1, content)
        })
        .chain([advertisement("C-SMA-1", 21, AdvertisementContent::Refresh)])
        .collect();
    for one in &said {
        assert_eq!(upstream.send(one.clone()), Sent::Queued);
    }
    let mut taken = Vec::new();
    while taken.len() < said.len() {
        let SelectorEvent::Advertisements(id, _, batch) = selector.next().await else { panic!("nothing") };
        assert_eq!(id, link.id);
        taken.extend(batch);
    }
    assert!(taken == said, "what arrived is not what was said");
}

/// Proves SMA-19: the metrics go to nobody but the configured path selector.
#[tokio::test]
async fn an_agent_says_nothing_to_another_path_selector() {
    let ca = Authority::new();
    let (sign, verify) = signer(ca.dir.path(), "k1", agent("C-SMA-1"));
    let selector = Selector::start(&ca, &["C-SMA-1"], vec![verify]).await;
    let pki = Pki::open(ca.certificate("sma1", 2, &["cats:sma:C-SMA-1"]));
    let mut sma = Agent::start(&pki, &sign, selector.cps.address, "C-PS-2");
    let reason = sma.disconnected().await;
    assert_eq!(reason, "the server is cats:cps:C-PS-1 and cats:cps:C-PS-2 is expected");
}

#[tokio::test]
async fn an_agent_that_is_not_configured_or_has_another_role_is_refused() {
    let ca = Authority::new();
    let (sign, verify) = signer(ca.dir.path(), "k1", agent("C-SMA-1"));
    let mut selector = Selector::start(&ca, &[], vec![verify]).await;
    for (uri, serial, words) in [
        ("cats:sma:C-SMA-1", 2, "metric agent C-SMA-1 is not configured"),
        ("cats:fwd:C-SMA-1", 3, "0 URIs `cats:sma:NAME`"),
    ] {
        let pki = Pki::open(ca.certificate("sma1", serial, &[uri]));
        let reason = Agent::start(&pki, &sign, selector.cps.address, "C-PS-1").disconnected().await;
        assert!(reason.contains(words), "{reason}");
    }
    assert!(selector.events.try_recv().is_err());
    selector.agents.replace([name("C-SMA-1")].into());
    let pki = Pki::open(ca.certificate("sma1", 4, &["cats:sma:C-SMA-1"]));
    let mut sma = Agent::start(&pki, &sign, selector.cps.address, "C-PS-1");
    let _upstream = sma.connected().await;
    selector.connected().await;
}

/// Proves SMA-20.
#[tokio::test]
async fn an_advertisement_by_another_key_or_in_another_name_ends_the_stream_unread() {
    let ca = Authority::new();
    let (first, verify) = signer(ca.dir.path(), "k1", agent("C-SMA-1"));
    let (second, verify_second) = signer(ca.dir.path(), "k2", agent("C-SMA-2"));
    let (unknown, _) = signer(ca.dir.path(), "k3", agent("C-SMA-1"));
    let mut selector = Selector::start(&ca, &["C-SMA-1", "C-SMA-2"], vec![verify, verify_second]).await;
    let pki = Pki::open(ca.certificate("sma1", 2, &["cats:sma:C-SMA-1"]));
    for (sign, as_agent, words) in [
        (&unknown, "C-SMA-1", "key `k3` is not known here"),
        (&second, "C-SMA-1", "key `k2` is cats:sma:C-SMA-2's"),
        (&first, "C-SMA-2", "field `agent` is C-SMA-2 and the certificate is C-SMA-1's"),
    ] {
        let mut sma = Agent::start(&pki, sign, selector.cps.address, "C-PS-1");
        let upstream = sma.connected().await;
        let _link = selector.connected().await;
        assert_eq!(upstream.send(advertisement(as_agent, 1, AdvertisementContent::Refresh)), Sent::Queued);
        let reason = sma.disconnected().await;
        assert!(reason.contains(words), "{reason}");
        assert!(matches!(selector.next().await, SelectorEvent::Disconnected(..)), "it was read");
    }
}

/// An agent without a usable key sends nothing unsigned.
#[tokio::test]
async fn without_a_key_nothing_is_sent() {
    let ca = Authority::new();
    let (_, verify) = signer(ca.dir.path(), "k1", agent("C-SMA-1"));
    let mut selector = Selector::start(&ca, &["C-SMA-1"], vec![verify]).await;
    let pki = Pki::open(ca.certificate("sma1", 2, &["cats:sma:C-SMA-1"]));
    let file = ca.dir.path().join("none");
    let sign = Signer::open(SigningKey { id: "k1".to_owned(), algorithm: Algorithm::Ed25519, file });
    let mut sma = Agent::start(&pki, &sign, selector.cps.address, "C-PS-1");
    let upstream = sma.connected().await;
    selector.connected().await;
    assert_eq!(upstream.send(advertisement("C-SMA-1", 1, AdvertisementContent::Refresh)), Sent::Queued);
    assert!(sma.disconnected().await.contains("cannot be signed: key k1"));
    assert!(matches!(selector.next().await, SelectorEvent::Disconnected(..)));
}

/// Proves SMA-13: an agent that lets a path selector go has its last words heard, such as that nothing is advertised any more.
#[tokio::test]
async fn what_was_said_before_the_end_arrives_before_it() {
    let ca = Authority::new();
    let (sign, verify) = signer(ca.dir.path(), "k1", agent("C-SMA-1"));
    let mut selector = Selector::start(&ca, &["C-SMA-1"], vec![verify]).await;
    let pki = Pki::open(ca.certificate("sma1", 2, &["cats:sma:C-SMA-1"]));
    let mut sma = Agent::start(&pki, &sign, selector.cps.address, "C-PS-1");
    let upstream = sma.connected().await;
    let _link = selector.connected().await;
    let records: Vec<_> = (1..=200).map(record).collect();
    for sequence in 1..=1000 {
        let content = AdvertisementContent::Delta { records: records.clone(), withdrawals: Vec::new() };
        assert_eq!(upstream.send(advertisement("C-SMA-1", sequence, content)), Sent::Queued);
    }
    drop(upstream);
    let mut heard = 0;
    while heard < 1000 {
        match selector.next().await {
            SelectorEvent::Advertisements(_, _, batch) => heard += batch.len(),
            other => panic!("after {heard}: {other:?}"),
        }
    }
    assert_eq!(sma.disconnected().await, "let go");
    assert!(matches!(selector.next().await, SelectorEvent::Disconnected(..)));
}

/// Proves CP-27: a revoked certificate ends the stream, and does not come back.
#[tokio::test]
async fn an_agent_that_is_revoked_is_disconnected_when_the_list_changes() {
    let ca = Authority::new();
    let (sign, verify) = signer(ca.dir.path(), "k1", agent("C-SMA-1"));
    let mut selector = Selector::start(&ca, &["C-SMA-1"], vec![verify]).await;
    let pki = Pki::open(ca.certificate("sma1", 2, &["cats:sma:C-SMA-1"]));
    let mut sma = Agent::start(&pki, &sign, selector.cps.address, "C-PS-1");
    let _upstream = sma.connected().await;
    let _link = selector.connected().await;
    ca.revoke(&[2, 99]);
    assert!(selector.pki.refresh());
    assert!(sma.disconnected().await.contains("Revoked"));
    assert!(matches!(selector.next().await, SelectorEvent::Disconnected(..)));
    let reason = Agent::start(&pki, &sign, selector.cps.address, "C-PS-1").disconnected().await;
    assert!(reason.contains("CertificateRevoked"), "{reason}");
}

fn envelope(ring: &Signer, payload: Vec<u8>, change: impl FnOnce(&mut pb::Envelope)) -> pb::FromMetricAgent {
    let signature = ring.sign(&payload).unwrap();
    let mut envelope = pb::Envelope {
        payload,
        algorithm: pb::envelope::Algorithm::Ed25519.into(),
        key_id: signature.key_id,
        signature: signature.octets,
    };
    change(&mut envelope);
    let envelopes = pb::Envelopes { envelopes: vec![envelope] };
    pb::FromMetricAgent { message: Some(pb::from_metric_agent::Message::Envelopes(envelopes)) }
}

/// Proves SMA-20: what is verified are the octets that came, so a newer agent's fields are under the signature too.
#[tokio::test]
async fn fields_of_a_newer_agent_pass_and_changed_or_unsigned_octets_do_not() {
    let ca = Authority::new();
    let (sign, verify) = signer(ca.dir.path(), "k1", agent("C-SMA-1"));
    let mut selector = Selector::start(&ca, &["C-SMA-1"], vec![verify]).await;
    let files = ca.certificate("sma1", 2, &["cats:sma:C-SMA-1"]);
    let said = advertisement("C-SMA-1", 1, AdvertisementContent::Refresh);
    let mut payload = pb::Advertisement::from(&said).encode_to_vec();
    // Field 200, varint 1: it would be lost if it were encoded anew.
    payload.extend([0xc0, 0x0c, 0x01]);
    type Change = fn(&mut pb::Envelope);
    let cases: [(Change, Option<&str>); 4] = [
        (|_| {}, None),
        (|envelope| envelope.payload.extend([0xc0, 0x0c, 0x02]), Some("is not that of the payload")),
        (|envelope| envelope.algorithm = 0, Some("it is not signed")),
        (|envelope| envelope.algorithm = 9, Some("algorithm 9 is not known")),
    ];
    for (change, refused) in cases {
        let mut client = NorthboundClient::new(bed::channel(&files, selector.cps.address).await);
        let (out, stream) = mpsc::channel(4);
        out.send(envelope(&sign, payload.clone(), change)).await.unwrap();
        let stream = tokio_stream::wrappers::ReceiverStream::new(stream);
        let mut incoming = client.synchronise(stream).await.unwrap().into_inner();
        let _link = selector.connected().await;
        match refused {
            None => {
                let SelectorEvent::Advertisements(_, _, batch) = selector.next().await else { panic!() };
                assert_eq!(batch, std::slice::from_ref(&said));
                drop((incoming, out, client));
            }
            Some(words) => {
                let status = loop {
                    if let Err(status) = incoming.message().await {
                        break status;
                    }
                };
                assert!(status.message().contains(words), "{status}");
            }
        }
        assert!(matches!(selector.next().await, SelectorEvent::Disconnected(..)));
    }
}

/// Proves SMA-25: the queue to a path selector that does not read is bounded, and its end is told.
#[tokio::test]
async fn an_upstream_that_nobody_reads_fills_and_says_so() {
    let ca = Authority::new();
    let (sign, verify) = signer(ca.dir.path(), "k1", agent("C-SMA-1"));
    let mut selector = Selector::start(&ca, &["C-SMA-1"], vec![verify]).await;
    let pki = Pki::open(ca.certificate("sma1", 2, &["cats:sma:C-SMA-1"]));
    let mut sma = Agent::start(&pki, &sign, selector.cps.address, "C-PS-1");
    let upstream = sma.connected().await;
    let _link = selector.connected().await;
    let content =
        AdvertisementContent::Delta { records: (1..10).map(record).collect(), withdrawals: Vec::new() };
    let mut sent = 0_u64;
    // Nobody takes the events of the path selector: its channel fills, then the connection, then the queue here.
    while upstream.send(advertisement("C-SMA-1", sent + 1, content.clone())) == Sent::Queued {
        sent += 1;
        assert!(sent < 100_000, "the queue has no end");
        tokio::task::yield_now().await;
    }
    assert_eq!(upstream.room(), 0);
    drop(upstream);
    drop(sma);
}
