//! What the nodes say of themselves: operational state, read over NETCONF.

use crate::configuration::cats;
use crate::node::Node;
use crate::{LabError, Result};
use roxmltree::{Document, Node as Element};
use std::collections::BTreeMap;

/// What a forwarder has and counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Forwarder {
    /// The plain numbers of its status by their YANG name, such as `held-bytes` or `punted-packets`.
    pub status: BTreeMap<String, u64>,
    /// Dropped packets by reason.
    pub drops: BTreeMap<String, u64>,
    /// Packets and octets that matched the classifier of a service, by CS-ID.
    pub matched: BTreeMap<String, (u64, u64)>,
    /// The installed bindings: leaf values by YANG name, under the binding's key.
    pub bindings: BTreeMap<String, BTreeMap<String, String>>,
}

impl Forwarder {
    /// Reads it from a running node.
    pub fn of(node: &Node) -> Result<Forwarder> {
        let filter = cats(
            "<traffic-classifiers/><forwarder xmlns=\"urn:catsd:yang:cats-forwarder\"><status/><bindings/>\
             </forwarder>",
        );
        read(node, &filter, |root| {
            let status = root.descendants().find(|n| is(*n, "status"));
            Forwarder {
                status: status.map(numbers).unwrap_or_default(),
                drops: named(root, "drop", |n| {
                    let leaves = leaves(n);
                    Some((leaves.get("reason")?.clone(), number(&leaves, "packets")))
                }),
                matched: named(root, "traffic-classifier", |n| {
                    let leaves = leaves(n);
                    let counts = (number(&leaves, "matched-packets"), number(&leaves, "matched-bytes"));
                    Some((leaves.get("cs-id")?.clone(), counts))
                }),
                bindings: named(root, "binding", by_key),
            }
        })
    }

    /// A number of its status; 0 where it has none.
    pub fn count(&self, name: &str) -> u64 {
        self.status.get(name).copied().unwrap_or_default()
    }

    /// Packets dropped for a reason; 0 where there are none.
    pub fn dropped(&self, reason: &str) -> u64 {
        self.drops.get(reason).copied().unwrap_or_default()
    }
}

/// What a path selector has and counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    /// Its flows: leaf values by YANG name, under the flow's key.
    pub flows: BTreeMap<String, BTreeMap<String, String>>,
    /// Its counters by their YANG name.
    pub statistics: BTreeMap<String, u64>,
}

impl Selector {
    /// Reads it from a running node.
    pub fn of(node: &Node) -> Result<Selector> {
        let filter =
            cats("<path-selector xmlns=\"urn:catsd:yang:cats-cps\"><flows/><statistics/></path-selector>");
        read(node, &filter, |root| Selector {
            flows: named(root, "flow", by_key),
            statistics: root.descendants().find(|n| is(*n, "statistics")).map(numbers).unwrap_or_default(),
        })
    }
}

/// What a metric agent has and counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Agent {
    /// Its status: leaf values by YANG name.
    pub status: BTreeMap<String, String>,
    /// Its counters by their YANG name.
    pub statistics: BTreeMap<String, u64>,
    /// Reports that it refused, by cause.
    pub refused: BTreeMap<String, u64>,
}

impl Agent {
    /// Reads it from a running node.
    pub fn of(node: &Node) -> Result<Agent> {
        let filter =
            cats("<metric-agent xmlns=\"urn:catsd:yang:cats-sma\"><status/><statistics/></metric-agent>");
        read(node, &filter, |root| {
            let agent = root.descendants().find(|n| is(*n, "metric-agent"));
            let part = |name: &str| agent.and_then(|agent| agent.children().find(|n| is(*n, name)));
            Agent {
                status: part("status").map(leaves).unwrap_or_default(),
                statistics: part("statistics").map(numbers).unwrap_or_default(),
                refused: named(root, "refused", |n| {
                    let leaves = leaves(n);
                    Some((leaves.get("cause")?.clone(), number(&leaves, "reports")))
                }),
            }
        })
    }

    /// A number of its status; 0 where it has none.
    pub fn number(&self, name: &str) -> u64 {
        number(&self.status, name)
    }

    /// A counter; 0 where it has none.
    pub fn count(&self, name: &str) -> u64 {
        self.statistics.get(name).copied().unwrap_or_default()
    }

    /// Reports that it refused for a cause; 0 where there are none.
    pub fn refused(&self, cause: &str) -> u64 {
        self.refused.get(cause).copied().unwrap_or_default()
    }
}

/// What a metric agent shows of the instances that report to it: leaf values by YANG name, under `CS-ID CSCI-ID`.
pub fn instances(agent: &Node) -> Result<BTreeMap<String, BTreeMap<String, String>>> {
    let filter = cats("<metric-agent xmlns=\"urn:catsd:yang:cats-sma\"><instances/></metric-agent>");
    read(agent, &filter, |root| {
        named(root, "instance", |instance| {
            let leaves = leaves(instance);
            Some((format!("{} {}", leaves.get("cs-id")?, leaves.get("csci-id")?), leaves))
        })
    })
}

/// The subtree filter that selects the alarms that stand.
pub const ALARMS: &str = "<alarms xmlns=\"urn:ietf:params:xml:ns:yang:ietf-alarms\"><alarm-list><alarm>\
                          <is-cleared>false</is-cleared></alarm></alarm-list></alarms>";

/// The alarms that stand: the text of each by its type.
pub fn alarms(node: &Node) -> Result<BTreeMap<String, String>> {
    read(node, ALARMS, |root| {
        named(root, "alarm", |alarm| {
            let leaves = leaves(alarm);
            let kind = leaves.get("alarm-type-id")?;
            let kind = kind.split_once(':').map_or(kind.as_str(), |(_, kind)| kind);
            Some((kind.to_owned(), leaves.get("alarm-text")?.clone()))
        })
    })
}

/// How many records a path selector holds of a metric agent.
pub fn records_of(selector: &Node, agent: &str) -> Result<u64> {
    let filter = cats(&format!(
        "<path-selector xmlns=\"urn:catsd:yang:cats-cps\"><agents><status><node-id>{agent}</node-id><records/></status>\
         </agents></path-selector>"
    ));
    read(selector, &filter, |root| {
        root.descendants().find(|n| is(*n, "status")).map_or(0, |status| number(&leaves(status), "records"))
    })
}

/// Metrics of instances by `CS-ID CSCI-ID`: leaf values by YANG name.
pub type Metrics = BTreeMap<String, BTreeMap<String, String>>;

/// What is told of an instance, and is to arrive.
const TOLD: [&str; 7] = ["gas", "computing-us", "health", "price", "reputation", "security-level", "flagged"];

/// What a metric agent tells path selectors: its northbound view.
pub fn told_by(node: &Node) -> Result<Metrics> {
    let filter = cats(
        "<metric-agent xmlns=\"urn:catsd:yang:cats-sma\"><instances><instance><cs-id/><csci-id/><told/></instance>\
         </instances></metric-agent>",
    );
    read(node, &filter, |root| {
        named(root, "instance", |instance| {
            let told = instance.children().find(|n| is(*n, "told"))?;
            metrics_of(instance, told)
        })
    })
}

/// What a path selector has of a metric agent.
pub fn heard_of(selector: &Node, agent: &str) -> Result<Metrics> {
    records(selector, agent, metrics_of)
}

/// For how long a path selector believes what it has of a metric agent if it hears nothing more, in milliseconds: the
/// least of all instances, 0 where one is not believed, and nothing where it has none.
pub fn believed_for(selector: &Node, agent: &str) -> Result<Option<u64>> {
    let left = |_: Element<'_, '_>, record: Element<'_, '_>| {
        Some((record.range().start.to_string(), number(&leaves(record), "expires-in")))
    };
    Ok(records(selector, agent, left)?.into_values().min())
}

/// What the records of a metric agent in a path selector's table hold, each with the entry that it is in.
fn records<T>(
    selector: &Node,
    agent: &str,
    hold: impl Fn(Element<'_, '_>, Element<'_, '_>) -> Option<(String, T)>,
) -> Result<BTreeMap<String, T>> {
    let filter = cats(
        "<path-selector xmlns=\"urn:catsd:yang:cats-cps\"><service-table><entry><cs-id/><csci-id/><record/></entry>\
         </service-table></path-selector>",
    );
    let source = format!("cats:sma:{agent}");
    read(selector, &filter, |root| {
        named(root, "entry", |entry| {
            let of_agent = |n: &Element<'_, '_>| {
                is(*n, "record") && leaves(*n).get("source").is_some_and(|found| *found == source)
            };
            hold(entry, entry.children().find(of_agent)?)
        })
    })
}

/// An instance, and what is told of it; nothing where nothing is.
fn metrics_of(entry: Element<'_, '_>, told: Element<'_, '_>) -> Option<(String, BTreeMap<String, String>)> {
    let keys = leaves(entry);
    let mut metrics = leaves(told);
    metrics.retain(|name, _| TOLD.contains(&name.as_str()));
    let key = format!("{} {}", keys.get("cs-id")?, keys.get("csci-id")?);
    (!metrics.is_empty()).then_some((key, metrics))
}

fn read<T>(node: &Node, filter: &str, build: impl FnOnce(Element<'_, '_>) -> T) -> Result<T> {
    let mut session = node.netconf()?;
    let reply = session.get(filter)?;
    session.close()?;
    let document = Document::parse(&reply).map_err(LabError::of(format!("reading {}", node.name())))?;
    Ok(build(document.root()))
}

fn is(element: Element<'_, '_>, name: &str) -> bool {
    element.tag_name().name() == name
}

fn named<T>(
    root: Element<'_, '_>,
    name: &str,
    entry: impl Fn(Element<'_, '_>) -> Option<(String, T)>,
) -> BTreeMap<String, T> {
    root.descendants().filter(|n| is(*n, name)).filter_map(entry).collect()
}

fn by_key(element: Element<'_, '_>) -> Option<(String, BTreeMap<String, String>)> {
    let leaves = leaves(element);
    Some((leaves.get("key")?.clone(), leaves))
}

/// The leaves of an element; of a leaf-list its last value.
fn leaves(element: Element<'_, '_>) -> BTreeMap<String, String> {
    let text = |n: Element<'_, '_>| Some((n.tag_name().name().to_owned(), n.text()?.to_owned()));
    element.children().filter(Element::is_element).filter_map(text).collect()
}

fn numbers(element: Element<'_, '_>) -> BTreeMap<String, u64> {
    leaves(element).into_iter().filter_map(|(name, text)| Some((name, text.parse().ok()?))).collect()
}

fn number(leaves: &BTreeMap<String, String>, name: &str) -> u64 {
    leaves.get(name).and_then(|text| text.parse().ok()).unwrap_or_default()
}
