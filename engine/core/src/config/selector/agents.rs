//! Which metric agents may advertise what.

use crate::config::agent::scope;
use crate::config::{CATS, Violation, invalid, node};
use crate::cps::{AgentBounds, AgentConfig};
use cats_yang_model::generated::cats_cps::{Agent, PathSelector};
use cats_yang_model::generated::ietf_cats::Cats;
use std::collections::BTreeMap;
use std::time::Duration;

/// The agents of other nodes, and the one of this node if it has an entry.
pub(in crate::config) fn read(cats: &Cats, violations: &mut Vec<Violation>) -> Vec<AgentConfig> {
    keys(cats, violations);
    let entries = cats.path_selector.agent.values();
    entries.filter_map(|entry| one(entry, violations)).collect()
}

pub(super) fn bounds(selector: &PathSelector) -> AgentBounds {
    let from = &selector.agent_limits;
    let seconds = |value: u32| Duration::from_secs(u64::from(value));
    AgentBounds {
        window: seconds(from.window()),
        silence: seconds(from.silence()),
        resynchronise: seconds(from.resynchronise_interval()),
        records: from.records() as usize,
    }
}

fn path(name: &str, below: &str) -> String {
    format!("{CATS}/cats-cps:path-selector/agent[node-id='{name}']/{below}")
}

fn one(entry: &Agent, violations: &mut Vec<Violation>) -> Option<AgentConfig> {
    let place = |below: &str| path(&entry.node_id, below);
    let egresses = entry.egress.iter();
    let mut egress = |name: &String| node(name, violations, || place(&format!("egress[.='{name}']")));
    let egresses = egresses.filter_map(&mut egress).collect();
    Some(AgentConfig {
        node: node(&entry.node_id, violations, || place("node-id"))?,
        scope: scope(&mut entry.service.iter(), |id| place(&format!("service[.='{id}']")), violations),
        egresses,
        min_interval: entry.min_interval.map(|millis| Duration::from_millis(u64::from(millis))),
    })
}

/// A signature names its key and nothing else, so each name is of one agent.
fn keys(cats: &Cats, violations: &mut Vec<Violation>) {
    let mut known: BTreeMap<&str, &str> = BTreeMap::new();
    let local = cats.metric_agent.node_id.as_deref().filter(|_| cats.metric_agent.enabled());
    for agent in cats.path_selector.agent.values() {
        let name = agent.node_id.as_str();
        if agent.key.is_empty() && local != Some(name) {
            let message =
                format!("nothing that {name} advertises can be verified; add a key that it signs with");
            violations.push(invalid(path(name, "key"), &message));
        }
        for key in agent.key.values() {
            let other = *known.entry(&key.id).or_insert(name);
            if other != name {
                let message = format!(
                    "agents {other} and {name} both have a key `{}`; give one of them another name",
                    key.id
                );
                violations.push(invalid(path(name, &format!("key[id='{}']/id", key.id)), &message));
            }
        }
    }
}
