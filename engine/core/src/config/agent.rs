//! What a metric agent is configured with.
//!
//! | file | reads |
//! |---|---|
//! | `intake` | who may report, when that is believed, how long it holds |
//! | `rules` | windows of time, and the operator's rules |
//! | `telling` | when updates are told, and to whom |
//! | `channels` | checks what the transports are configured with, which they read themselves |
//! | `times` | times of YANG |
//!
//! All of it is read whether or not the agent is enabled: what is wrong is said when it is configured, not when it is
//! switched on.

mod channels;
mod intake;
mod rules;
mod telling;
mod times;

pub(super) use telling::scope;

use super::{CATS, Violation, invalid, node};
use crate::sma::SmaConfig;
use cats_engine_types::NodeId;
use cats_yang_model::generated::ietf_cats::Cats;
use std::fmt::Display;
use std::time::Duration;

/// A metric agent: its name, and what its machine is configured with. The path selectors of the latter are those of
/// the configuration, alternatives in the order in which they are tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetricAgent {
    /// The name of the agent.
    pub node: NodeId,
    /// The machine's configuration.
    pub sma: SmaConfig,
}

/// The metric agent of this node; nothing where it is not enabled.
pub fn metric_agent(cats: &Cats, violations: &mut Vec<Violation>) -> Option<MetricAgent> {
    let agent = &cats.metric_agent;
    let (calendar, policy) = rules::read(agent, violations);
    let interval = cats.base.update_interval();
    let sma = SmaConfig {
        admission: intake::admission(&agent.admission, violations),
        validation: intake::validation(&agent.validation, violations),
        quarantine: intake::quarantine(&agent.quarantine),
        cache: intake::cache(&agent.cache, violations),
        rates: intake::rates(&agent.rates),
        pull: intake::pull(&agent.pull),
        smoothing: intake::smoothing(&agent.smoothing, violations),
        calendar,
        policy,
        update: telling::update(&agent.updates, (interval > 0).then(|| seconds(interval)), violations),
        northbound: telling::northbound(agent, violations),
    };
    channels::check(cats, violations);
    if !agent.enabled() {
        return None;
    }
    let name = agent.node_id.as_deref().unwrap_or_default();
    Some(MetricAgent { node: node(name, violations, || path("node-id"))?, sma })
}

/// The path of a node of the agent.
fn path(below: &str) -> String {
    format!("{CATS}/cats-sma:metric-agent/{below}")
}

fn seconds(value: u32) -> Duration {
    Duration::from_secs(u64::from(value))
}

fn millis(value: u32) -> Duration {
    Duration::from_millis(u64::from(value))
}

fn refuse(below: &str, message: String, violations: &mut Vec<Violation>) {
    violations.push(invalid(path(below), &message));
}

/// Notes two leafs of which the second must not be below the first.
fn ordered<T: PartialOrd + Display>(low: (&str, T), high: (&str, T), violations: &mut Vec<Violation>) {
    let ((low, least), (high, most)) = (low, high);
    if most < least {
        let message = format!(
            "{high} is {most} and {low} is {least}; raise {high} to {least} at least, or lower {low}"
        );
        refuse(high, message, violations);
    }
}

#[cfg(test)]
mod tests;
