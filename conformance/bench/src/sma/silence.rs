//! How soon a path selector hears that an instance is cut off: after its TTL, which the documents give, and so long
//! beyond it.

use super::load::{Answers, Flow, Target, settle};
use super::message::Reports;
use super::rig::{AGENT, Agent, INSTANCES, Site, first_of};
use crate::figure::{Better, Figure, median};
use cats_conformance::{LabError, Result};
use cats_engine_transport::Subject;
use cats_engine_transport::control_plane::{Forwarders, Listen, Timing, serve};
use cats_engine_transport::keys::{Algorithm, Keyring, VerifyingKey};
use cats_engine_transport::northbound::{AgentLink, Agents, Northbound, SelectorEvent};
use cats_engine_transport::pki::{Pki, PkiFiles};
use cats_engine_types::{
    AdvertisementContent, AgentInstruction, CsciId, Epoch, MetricRecord, NodeId, SynchronisationCause,
};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

/// Where the path selector listens.
const SELECTOR: &str = "127.0.0.1:7443";
/// Its name.
const NAME: &str = "C-PS-1";
/// The name of the agent's key.
const KEY: &str = "sma";
/// Seconds that a report holds: the least that a report can say.
const TTL: u64 = 1;
/// Instances that are cut off in a round, each with its own stream.
const CUT: u32 = 25;
/// Between the last reports of two of them, so that no two are due together.
const APART: Duration = Duration::from_millis(23);
/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(20);

pub(super) fn measure(site: &Site<'_>, rounds: usize) -> Result<Option<Figure>> {
    let key = site.authority.signing_key(KEY)?;
    let agent = site.start(
        "silence",
        &format!(
            "<northbound><path-selector><node-id>{NAME}</node-id><address>127.0.0.1</address>\
             <signature><key-id>{KEY}</key-id><file>{}</file></signature></path-selector></northbound>",
            key.private.display()
        ),
    )?;
    let mut beyond = agent.load(async || {
        let mut selector = Selector::start(site, key.public).await?;
        let mut all = Vec::new();
        for at in (0..INSTANCES).take(rounds) {
            all.push(round(site, &mut selector, at).await?);
        }
        Ok(all)
    })?;
    let middle = |values: &[f64]| median(values).unwrap_or_default();
    let medians: Vec<f64> = beyond.iter().map(|round| middle(round)).collect();
    let worst: Vec<f64> =
        beyond.iter_mut().map(|round| round.iter().copied().fold(f64::NEG_INFINITY, f64::max)).collect();
    let figure = Figure::of("sma/silence-beyond-ttl-ms", "ms", Better::Lower, worst);
    Ok(figure.map(|figure| {
        figure.note(format!(
            "{CUT} instances with a TTL of {TTL} s, one after the other cut off right behind a report; from {TTL} s after \
             that report was sent until a path selector in this program has read, over its stream from the agent, that \
             the instance has no slots: the slowest of each round; the median is {:.2} ms",
            middle(&medians)
        ))
    }))
}

/// A path selector that takes what it is told, and acknowledges it.
struct Selector {
    events: mpsc::Receiver<SelectorEvent>,
    link: Option<AgentLink>,
}

impl Selector {
    async fn start(site: &Site<'_>, public: PathBuf) -> Result<Selector> {
        let doing = || "starting a path selector";
        let files = site.authority.issue("cps", &[&format!("cats:cps:{NAME}")])?;
        let pki = Pki::open(PkiFiles {
            authority: files.authority,
            certificate: files.certificate,
            private_key: files.private_key,
            revocation_list: None,
        });
        let name = |name: &str| name.parse::<NodeId>().map_err(LabError::of(doing()));
        let (agents, agent) = (Agents::default(), name(AGENT)?);
        let key = VerifyingKey {
            id: KEY.to_owned(),
            owner: Subject::agent(&agent),
            algorithm: Algorithm::Ed25519,
            file: public,
        };
        agents.replace([agent].into());
        let (sender, events) = mpsc::channel(64);
        let (forwarders_events, _) = mpsc::channel(1);
        let listen = Listen {
            listener: TcpListener::bind(SELECTOR).await.map_err(LabError::of(doing()))?,
            pki,
            node: name(NAME)?,
            epoch: Epoch(1),
            forwarders: Forwarders::default(),
            timing: Timing::default(),
            events: forwarders_events,
            northbound: Some(Northbound { agents, keys: Keyring::open(vec![key]), events: sender }),
        };
        tokio::spawn(serve(listen, std::future::pending()));
        Ok(Selector { events, link: None })
    }

    /// The next records, and when they were read.
    async fn next(&mut self) -> Result<(Instant, Vec<MetricRecord>)> {
        let doing = "listening to the agent";
        loop {
            let event = tokio::time::timeout(PATIENCE, self.events.recv()).await;
            let event = event.map_err(LabError::of(doing))?;
            match event.ok_or_else(|| LabError::new(doing, "the listener is gone"))? {
                SelectorEvent::Connected(link) => {
                    self.say(&link, AgentInstruction::Synchronise(SynchronisationCause::Start));
                    self.link = Some(link);
                }
                SelectorEvent::Advertisements(_, read, all) => {
                    let mut found = Vec::new();
                    for one in all {
                        if let Some(link) = &self.link {
                            self.say(link, AgentInstruction::Acknowledge(one.freshness));
                        }
                        match one.content {
                            AdvertisementContent::Snapshot { records, .. }
                            | AdvertisementContent::Delta { records, .. } => found.extend(records),
                            AdvertisementContent::Refresh => {}
                        }
                    }
                    return Ok((read, found));
                }
                SelectorEvent::Disconnected(..)
                | SelectorEvent::Posted { .. }
                | SelectorEvent::Queried { .. } => {}
            }
        }
    }

    fn say(&self, link: &AgentLink, word: AgentInstruction) {
        // One that is gone connects again, and is told then.
        let _ = link.send(word);
    }
}

/// Milliseconds beyond the TTL, of each instance: others in each round, as one that comes back is told of later.
#[allow(clippy::cast_precision_loss)]
async fn round(site: &Site<'_>, selector: &mut Selector, at: u32) -> Result<Vec<f64>> {
    let target = Target { address: Agent::address(), name: AGENT, answers: Answers::Acknowledged };
    let mut flows = Vec::new();
    for (stream, files) in (0..CUT).zip(&site.streams) {
        let flow = Flow::open(&target, files, Reports::new(first_of(stream) + at, 1, TTL), 1).await?;
        flow.allow(2);
        flows.push(flow);
    }
    settle(&flows, false).await?;
    let ids: BTreeSet<CsciId> =
        (0..CUT).filter_map(|stream| CsciId::number(first_of(stream) + at).ok()).collect();
    let mut serving = BTreeSet::new();
    while serving.len() < ids.len() {
        for record in selector.next().await?.1 {
            if record.sample.gas > 0 {
                serving.insert(record.csci_id);
            }
        }
    }
    let mut said = BTreeMap::new();
    for (flow, id) in flows.into_iter().zip(&ids) {
        said.insert(*id, Instant::now());
        flow.allow(1);
        settle(std::slice::from_ref(&flow), false).await?;
        drop(flow);
        tokio::time::sleep(APART).await;
    }
    let mut beyond = BTreeMap::new();
    while beyond.len() < ids.len() {
        let (read, records) = selector.next().await?;
        for record in records.iter().filter(|record| record.sample.gas == 0) {
            if let Some(at) = said.get(&record.csci_id) {
                let since = read.saturating_duration_since(*at).as_secs_f64();
                beyond.entry(record.csci_id).or_insert((since - TTL as f64) * 1e3);
            }
        }
    }
    Ok(beyond.into_values().collect())
}
