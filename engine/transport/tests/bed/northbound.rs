//! A path selector that takes metric agents, and what they advertise.

use super::{Authority, BOUND, Cps, keyring, name};
use cats_engine_transport::keys::VerifyingKey;
use cats_engine_transport::northbound::{AgentLink, Agents, Northbound, SelectorEvent};
use cats_engine_transport::pki::Pki;
use cats_engine_types::{
    Advertisement, AdvertisementContent, CsId, CsciId, Freshness, Health, MetricRecord, Micros, Sample,
    UnixMicros,
};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// A C-PS that takes agents.
pub struct Selector {
    pub cps: Cps,
    pub pki: Arc<Pki>,
    pub agents: Agents,
    pub events: mpsc::Receiver<SelectorEvent>,
}

impl Selector {
    pub async fn start(ca: &Authority, allowed: &[&str], keys: Vec<VerifyingKey>) -> Self {
        let mut files = ca.certificate("cps", 1, &["cats:cps:C-PS-1"]);
        files.revocation_list = Some(ca.revoke(&[99]));
        let pki = Pki::open(files);
        let agents = Agents::default();
        agents.replace(allowed.iter().map(|text| name(text)).collect());
        let (sender, events) = mpsc::channel(64);
        let northbound = Northbound { agents: agents.clone(), keys: keyring(keys), events: sender };
        let cps = Cps::start_with("127.0.0.1:0".parse().unwrap(), &pki, &[], Some(northbound)).await;
        Self { cps, pki, agents, events }
    }

    pub async fn next(&mut self) -> SelectorEvent {
        tokio::time::timeout(BOUND, self.events.recv()).await.unwrap().unwrap()
    }

    pub async fn connected(&mut self) -> AgentLink {
        let SelectorEvent::Connected(link) = self.next().await else { panic!("not connected") };
        link
    }
}

pub fn record(number: u32) -> MetricRecord {
    MetricRecord {
        cs_id: CsId::number(1).unwrap(),
        csci_id: CsciId::number(number).unwrap(),
        locator: None,
        sample: Sample {
            gas: 100,
            computing_time: Micros(12_345),
            computing_time_min: None,
            computing_time_max: None,
            health: Health::Healthy,
            price: None,
            reputation: None,
            security_level: None,
            instances: None,
        },
        taken: UnixMicros(1),
        valid_for: Duration::from_secs(60),
        flagged: false,
    }
}

pub fn advertisement(agent: &str, sequence: u64, content: AdvertisementContent) -> Advertisement {
    Advertisement {
        agent: name(agent),
        freshness: Freshness { epoch: 7, sequence },
        since: sequence - 1,
        timestamp: UnixMicros(1_750_000_000_000_000),
        content,
    }
}
