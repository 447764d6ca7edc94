//! The metric agent, and the metric agents of a path selector, as far as they are reached over the network. What the
//! agent's machine is to do, and what is wrong with any of it, is engine/core's to say.

use cats_engine_core::config::{self, CATS, Checked, Violation, node, noted};
use cats_engine_core::cps::{AgentConfig, CpsConfig};
use cats_engine_core::scope::Scope;
use cats_engine_core::sma::SmaConfig;
use cats_engine_core::sma::northbound::PeerConfig;
use cats_engine_transport::Subject;
use cats_engine_transport::collection::{Others, Permissions, SiteName};
use cats_engine_transport::keys::{Algorithm, SigningKey, VerifyingKey};
use cats_engine_transport::tokens::{TokenAlgorithm, TokenKey, TokenRules};
use cats_engine_types::{CsciId, NodeId};
use cats_yang_model::generated::cats_cps as selector;
use cats_yang_model::generated::cats_sma as model;
use cats_yang_model::generated::ietf_cats::Cats;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

const AGENT: &str = "cats-sma:metric-agent";

/// The metric agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetricAgent {
    /// Its name, and the machine's configuration without the path selector of this node.
    pub machine: Arc<config::MetricAgent>,
    /// How it hears of instances.
    pub collection: Collection,
    /// The path selector of this node, which is told in process.
    pub local: Option<NodeId>,
    /// Path selectors of other nodes.
    pub peers: BTreeMap<NodeId, Peer>,
}

/// How a metric agent hears of instances.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Collection {
    /// Where instances connect.
    pub listen: Option<Listener>,
    /// Which tokens say who an instance is; absent: none.
    pub tokens: Option<TokenRules>,
    /// Keys that instances sign reports with.
    pub keys: Vec<VerifyingKey>,
    /// Instances that it connects to itself.
    pub sources: BTreeMap<CsciId, Source>,
    /// A broker that delivers reports.
    pub broker: Option<Broker>,
}

/// A listener for instances.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listener {
    /// Where.
    pub address: SocketAddr,
    /// Connections at one time.
    pub connections: usize,
}

/// An instance that a metric agent connects to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Source {
    /// Where it is.
    pub address: SocketAddr,
    /// How it is asked for a report; absent: not at all.
    pub ask: Option<Ask>,
    /// Whether it is listened to.
    pub subscribe: bool,
}

/// How an instance is asked for a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ask {
    /// Over gRPC.
    Grpc,
    /// Over HTTP.
    Http,
}

/// A broker that delivers reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broker {
    /// Its name or address.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The site whose reports are meant.
    pub site: SiteName,
    /// Names the session at the broker.
    pub client_id: String,
    /// How long the broker keeps it.
    pub session_expiry: Duration,
}

/// A path selector of another node, as a metric agent reaches it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    /// Where it is.
    pub address: SocketAddr,
    /// What advertisements to it are signed with.
    pub key: SigningKey,
    /// Whether messages are compressed.
    pub compress: bool,
}

impl MetricAgent {
    /// Whether it speaks or listens to anybody outside of this process.
    pub fn uses_network(&self) -> bool {
        let Collection { listen, sources, broker, .. } = &self.collection;
        listen.is_some() || !sources.is_empty() || broker.is_some() || !self.peers.is_empty()
    }

    /// Its name.
    pub fn node(&self) -> &NodeId {
        &self.machine.node
    }

    /// The machine's configuration. The path selector of this node may know everything, unless an entry bounds that.
    pub fn sma(&self) -> SmaConfig {
        let mut sma = self.machine.sma.clone();
        let peers = &mut sma.northbound.peers;
        if let Some(local) =
            self.local.as_ref().filter(|local| !peers.iter().any(|peer| peer.node == **local))
        {
            peers.push(PeerConfig { node: local.clone(), scope: Scope::All, alternative_to: None });
        }
        sma
    }

    /// Who may report what, before a report is looked at.
    pub fn permissions(&self) -> Permissions {
        let admission = &self.machine.sma.admission;
        let mut permissions = Permissions {
            instances: BTreeMap::new(),
            others: if admission.discovery { Others::Taken } else { Others::Refused },
        };
        for instance in &admission.instances {
            permissions.instances.entry(instance.csci_id).or_default().insert(instance.cs_id);
        }
        permissions
    }
}

/// The metric agent of this node, and what its path selector and it have to do with each other.
pub(super) fn read(
    checked: &Checked,
    cps: Option<&mut CpsConfig>,
    violations: &mut Vec<Violation>,
) -> Option<MetricAgent> {
    let machine = Arc::clone(checked.metric_agent()?);
    let cats = &checked.config().cats;
    let mut found = MetricAgent {
        collection: collection(&cats.metric_agent.collection, &machine.node, violations),
        local: None,
        peers: peers(&cats.metric_agent.northbound, violations),
        machine,
    };
    if let Some(cps) = cps {
        introduce(&mut found, cps, cats.path_selector.node_id.as_deref());
    }
    Some(found)
}

/// A path selector and a metric agent of one node know each other without being configured to. An entry that names the
/// other one bounds what it may know, or say.
fn introduce(agent: &mut MetricAgent, cps: &mut CpsConfig, name: Option<&str>) {
    let node = agent.node().clone();
    // Nobody else knows a path selector without a name.
    let selector = name.and_then(|name| name.parse().ok()).unwrap_or_else(|| node.clone());
    agent.peers.remove(&selector);
    agent.local = Some(selector);
    if !cps.agents.iter().any(|known| known.node == node) {
        cps.agents.push(AgentConfig { node, scope: Scope::All, egresses: Vec::new(), min_interval: None });
    }
}

fn collection(from: &model::Collection, name: &NodeId, violations: &mut Vec<Violation>) -> Collection {
    let listen = from.listen.as_ref().map(|listen| Listener {
        address: SocketAddr::new(listen.address, listen.port()),
        connections: listen.max_connections() as usize,
    });
    let mut csci_id = |text: &dyn std::fmt::Display, path: String| {
        noted(text.to_string().parse::<CsciId>(), violations, || path)
    };
    let at = |list: &str, key: &dyn std::fmt::Display, leaf: &str| {
        format!("{CATS}/{AGENT}/collection/{list}='{key}']/{leaf}")
    };
    let keys = from.report_key.values().filter_map(|key| {
        let owner = csci_id(&key.csci_id, at("report-key[id", &key.id, "csci-id"))?;
        Some(VerifyingKey {
            id: key.id.clone(),
            owner: Subject::Instance(owner),
            algorithm: match key.algorithm() {
                model::ReportKeyAlgorithm::Ed25519 => Algorithm::Ed25519,
                model::ReportKeyAlgorithm::HmacSha256 => Algorithm::HmacSha256,
            },
            file: (&*key.file).into(),
        })
    });
    let keys = keys.collect();
    let sources = from.source.values().filter_map(|source| {
        let instance = csci_id(&source.csci_id, at("source[csci-id", &source.csci_id, "csci-id"))?;
        let ask = match source.ask() {
            model::Ask::Grpc => Some(Ask::Grpc),
            model::Ask::Http => Some(Ask::Http),
            model::Ask::Never => None,
        };
        let address = SocketAddr::new(source.address, source.port());
        Some((instance, Source { address, ask, subscribe: source.subscribe() }))
    });
    let sources = sources.collect();
    let broker = from.broker.as_ref().and_then(|broker| self::broker(broker, name, violations));
    Collection { listen, tokens: from.tokens.as_ref().map(|from| tokens(from)), keys, sources, broker }
}

fn broker(from: &model::Broker, name: &NodeId, violations: &mut Vec<Violation>) -> Option<Broker> {
    let path = || format!("{CATS}/{AGENT}/collection/broker/site");
    Some(Broker {
        host: from.host.to_string(),
        port: from.port(),
        site: noted(from.site.parse::<SiteName>(), violations, path)?,
        client_id: from.client_id.clone().unwrap_or_else(|| name.to_string()),
        session_expiry: Duration::from_secs(from.session_expiry().into()),
    })
}

fn tokens(from: &model::Tokens) -> TokenRules {
    let key = |key: &Arc<model::Key>| TokenKey {
        id: key.id.clone(),
        algorithm: match key.algorithm() {
            model::Algorithm::Eddsa => TokenAlgorithm::EdDsa,
            model::Algorithm::Es256 => TokenAlgorithm::Es256,
            model::Algorithm::Rs256 => TokenAlgorithm::Rs256,
            model::Algorithm::Hs256 => TokenAlgorithm::Hs256,
        },
        file: (&*key.file).into(),
    };
    TokenRules {
        issuer: from.issuer.clone(),
        audience: from.audience.clone(),
        leeway: Duration::from_secs(from.leeway().into()),
        keys: from.key.values().map(key).collect(),
    }
}

/// Path selectors that are reached over the network: those with an address and a key.
fn peers(from: &model::Northbound, violations: &mut Vec<Violation>) -> BTreeMap<NodeId, Peer> {
    let peer = |entry: &Arc<model::PathSelector>| {
        let path = || format!("{CATS}/{AGENT}/northbound/path-selector[node-id='{}']/node-id", entry.node_id);
        let name = node(&entry.node_id, violations, path)?;
        let (address, signature) = (entry.address?, entry.signature.as_ref()?);
        let key = SigningKey {
            id: signature.key_id.clone(),
            algorithm: match signature.algorithm() {
                model::SignatureAlgorithm::Ed25519 => Algorithm::Ed25519,
                model::SignatureAlgorithm::HmacSha256 => Algorithm::HmacSha256,
            },
            file: (&*signature.file).into(),
        };
        let address = SocketAddr::new(address, entry.port());
        Some((name, Peer { address, key, compress: entry.compress() }))
    };
    from.path_selector.values().filter_map(peer).collect()
}

/// What a path selector verifies the advertisements of metric agents with.
pub(super) fn keys(cats: &Cats) -> Vec<VerifyingKey> {
    let of = |agent: &selector::Agent| {
        // The name was checked with the rest of the entry.
        let owner = agent.node_id.parse().map(|name| Subject::agent(&name)).ok();
        let keys = agent.key.values().filter_map(move |key| {
            Some(VerifyingKey {
                id: key.id.clone(),
                owner: owner.clone()?,
                algorithm: match key.algorithm() {
                    selector::Algorithm::Ed25519 => Algorithm::Ed25519,
                    selector::Algorithm::HmacSha256 => Algorithm::HmacSha256,
                },
                file: (&*key.file).into(),
            })
        });
        keys.collect::<Vec<_>>()
    };
    cats.path_selector.agent.values().flat_map(|agent| of(agent)).collect()
}
