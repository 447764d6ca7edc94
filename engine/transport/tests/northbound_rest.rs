//! Metric agents and their path selector over plain HTTP.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bed;

use bed::http::Client;
use bed::northbound::{Selector, advertisement, record};
use bed::{Authority, TIMING, agent, name, signer};
use cats_engine_transport::keys::Signer;
use cats_engine_transport::northbound::{RequestError, Retrieved, SelectorEvent, Target, post, retrieve};
use cats_engine_transport::pki::Pki;
use cats_engine_types::{
    Advertisement, AdvertisementContent, AgentInstruction, CsciId, Freshness, MetricRecord,
    SynchronisationCause, Withdrawal, WithdrawalReason,
};
use cats_engine_wire::json::{AgentView, encode_advertisement};
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::task::JoinHandle;

/// A path selector that holds what it is told, in order.
struct Holding(JoinHandle<()>);

impl Drop for Holding {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Holding {
    fn start(selector: Selector) -> Self {
        Self(tokio::spawn(hold(selector)))
    }
}

async fn hold(mut selector: Selector) {
    let mut held: BTreeMap<CsciId, MetricRecord> = BTreeMap::new();
    let mut last: Option<Freshness> = None;
    while let Some(event) = selector.events.recv().await {
        match event {
            SelectorEvent::Posted { advertisement, answer, .. } => {
                let misses = last.map_or(0, |last| last.sequence) < advertisement.since;
                let instruction = match misses {
                    true => AgentInstruction::Synchronise(SynchronisationCause::Gap),
                    false => {
                        take(&mut held, &advertisement);
                        last = Some(advertisement.freshness);
                        AgentInstruction::Acknowledge(advertisement.freshness)
                    }
                };
                answer.send(vec![instruction]).unwrap();
            }
            SelectorEvent::Queried { agent, answer } => {
                assert_eq!(agent, name("C-SMA-1"));
                let view =
                    last.map(|freshness| AgentView { freshness, records: held.values().cloned().collect() });
                answer.send(view).unwrap();
            }
            other => panic!("{other:?}"),
        }
    }
}

fn take(held: &mut BTreeMap<CsciId, MetricRecord>, advertisement: &Advertisement) {
    match &advertisement.content {
        AdvertisementContent::Snapshot { records, .. } => {
            *held = records.iter().map(|record| (record.csci_id, record.clone())).collect();
        }
        AdvertisementContent::Delta { records, withdrawals } => {
            held.extend(records.iter().map(|record| (record.csci_id, record.clone())));
            for gone in withdrawals {
                held.remove(&gone.csci_id);
            }
        }
        AdvertisementContent::Refresh => {}
    }
}

async fn bed(ca: &Authority) -> (Holding, Target) {
    let (sign, verify) = signer(ca.dir.path(), "k1", agent("C-SMA-1"));
    let selector = Selector::start(ca, &["C-SMA-1"], vec![verify]).await;
    let pki = Pki::open(ca.certificate("sma1", 2, &["cats:sma:C-SMA-1"]));
    let target = target(&selector, pki, sign);
    (Holding::start(selector), target)
}

fn target(selector: &Selector, pki: Arc<Pki>, signer: Arc<Signer>) -> Target {
    let address = selector.cps.address;
    Target { address, cps: name("C-PS-1"), pki, signer, compress: false, timing: TIMING }
}

fn said(sequence: u64, content: AdvertisementContent) -> Advertisement {
    advertisement("C-SMA-1", sequence, content)
}

/// Proves SMA-13, SMA-20: publish, update one, withdraw, retrieve, with the same words as on the stream.
#[tokio::test]
async fn instances_are_published_updated_withdrawn_and_retrieved_by_requests() {
    let ca = Authority::new();
    let (_holding, target) = bed(&ca).await;
    let me = name("C-SMA-1");
    assert_eq!(retrieve(&target, &me, None).await.unwrap(), Retrieved::Nothing);

    let publish = AdvertisementContent::Snapshot { part: 0, last: true, records: vec![record(1), record(2)] };
    let mut changed = record(1);
    changed.sample.gas = 0;
    let update = AdvertisementContent::Delta { records: vec![changed.clone()], withdrawals: Vec::new() };
    let gone =
        Withdrawal { cs_id: record(2).cs_id, csci_id: record(2).csci_id, reason: WithdrawalReason::Failed };
    let withdraw = AdvertisementContent::Delta { records: Vec::new(), withdrawals: vec![gone] };
    for (sequence, content, held) in [
        (1, publish, vec![record(1), record(2)]),
        (2, update, vec![changed.clone(), record(2)]),
        (3, withdraw, vec![changed]),
    ] {
        let freshness = Freshness { epoch: 7, sequence };
        let answer = post(&target, &said(sequence, content)).await.unwrap();
        assert_eq!(answer, [AgentInstruction::Acknowledge(freshness)]);
        let Retrieved::View(view) = retrieve(&target, &me, None).await.unwrap() else { panic!("nothing") };
        assert_eq!(view, AgentView { freshness, records: held });
        assert_eq!(retrieve(&target, &me, Some(freshness)).await.unwrap(), Retrieved::Same);
        let before = Freshness { epoch: 7, sequence: sequence - 1 };
        assert!(matches!(retrieve(&target, &me, Some(before)).await.unwrap(), Retrieved::View(_)));
    }
    // What builds on a message that never came is answered as on the stream.
    let answer = post(&target, &said(9, AdvertisementContent::Refresh)).await.unwrap();
    assert_eq!(answer, [AgentInstruction::Synchronise(SynchronisationCause::Gap)]);
}

/// Proves SMA-19, SMA-20.
#[tokio::test]
async fn what_is_not_signed_by_the_agent_or_not_its_own_is_refused() {
    let ca = Authority::new();
    let (sign, verify) = signer(ca.dir.path(), "k1", agent("C-SMA-1"));
    let (other, verify_other) = signer(ca.dir.path(), "k2", agent("C-SMA-2"));
    let selector = Selector::start(&ca, &["C-SMA-1"], vec![verify, verify_other]).await;
    let files = ca.certificate("sma1", 2, &["cats:sma:C-SMA-1"]);
    let client = Client::new(&files, selector.cps.address, hyper::Version::HTTP_2);
    let stranger = target(&selector, Pki::open(ca.certificate("x", 3, &["cats:sma:C-SMA-3"])), sign.clone());
    let own = target(&selector, Pki::open(files), sign.clone());
    let elsewhere = Target { cps: name("C-PS-2"), ..own.clone() };
    let _holding = Holding::start(selector);

    let body = encode_advertisement(&said(1, AdvertisementContent::Refresh));
    let foreign = encode_advertisement(&advertisement("C-SMA-2", 1, AdvertisementContent::Refresh));
    let json = ("content-type", "application/json");
    let by = |signer: &Signer, body: &[u8]| signer.sign_detached(body).unwrap();
    for (signature, body, status, words) in [
        (Some(by(&sign, &body)), body.clone(), 200, "acknowledge"),
        (None, body.clone(), 401, "CATS-Signature is missing"),
        (Some(by(&other, &body)), body.clone(), 401, "the signature is cats:sma:C-SMA-2's"),
        (Some(by(&sign, &foreign)), body.clone(), 401, "is not that of the payload"),
        (Some(by(&sign, &foreign)), foreign.clone(), 403, "field `agent` is C-SMA-2"),
        (Some(by(&sign, b"{}")), b"{}".to_vec(), 400, "none of snapshot, delta and refresh"),
    ] {
        let mut headers = vec![json];
        headers.extend(signature.as_deref().map(|signature| ("cats-signature", signature)));
        let answer = client.send("POST", "/cats/v1/advertisements", &headers, body).await;
        let text = String::from_utf8(answer.body).unwrap();
        assert_eq!(answer.status, status, "{text}");
        assert!(text.contains(words), "{words}: {text}");
    }
    let asked = client.send("GET", "/cats/v1/advertisements/C-SMA-2", &[], Vec::new()).await;
    assert_eq!(asked.status, 403);

    let refused = post(&stranger, &said(2, AdvertisementContent::Refresh)).await.unwrap_err();
    assert!(refused.to_string().contains("metric agent C-SMA-3 is not configured"), "{refused}");
    let wrong = post(&elsewhere, &said(2, AdvertisementContent::Refresh)).await.unwrap_err();
    assert!(matches!(wrong, RequestError::Unreachable { .. }), "{wrong}");
    assert!(wrong.to_string().contains("cats:cps:C-PS-2 is expected"), "{wrong}");
}
