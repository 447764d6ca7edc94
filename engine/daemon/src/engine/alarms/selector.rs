//! What the path selector tells of.

use super::{Alarms, Kind, SELECTOR, entry, place};
use crate::engine::Now;
use cats_engine_core::cps::{AgentAlarm, Event};
use cats_engine_types::{InstallFailure, NodeId};
use std::time::Duration;

impl Alarms {
    /// Something happened that may be the begin or the end of one.
    pub(in crate::engine) fn follow_selector(&mut self, event: &Event, now: Now) {
        match event {
            Event::FlowLimit(true) => {
                let text = "the path selector has as many flows as it may, and refuses new ones: raise \
                            base/flow-limits, or take load away";
                self.raise(Kind::FlowLimit, &place(SELECTOR), |_| text.to_owned(), now);
            }
            Event::FlowLimit(false) => self.clear(Kind::FlowLimit, &place(SELECTOR)),
            Event::Agent { agent, alarm, raised } => {
                let (kind, text) = of_agent(agent, *alarm);
                let resource = entry("cats-cps:path-selector/agents/status", agent);
                match raised {
                    true => self.raise(kind, &resource, |_| text, now),
                    false => self.clear(kind, &resource),
                }
            }
            // What came too late, or of an owner that is none any more, is nothing to act on.
            Event::InstallFailed {
                failure: InstallFailure::NotPending | InstallFailure::Fenced { .. },
                ..
            } => {}
            Event::InstallFailed { node, failure, .. } => {
                let resource = entry("cats-cps:path-selector/forwarders/status", node);
                let text = |times| {
                    format!(
                        "ingress {node} did not install what was decided for flows ({times} so far), which have failed by \
                         that; the last one: {failure}"
                    )
                };
                self.raise(Kind::BindingFailure, &resource, text, now);
            }
            Event::Attached { .. }
            | Event::Detached { .. }
            | Event::Fenced { .. }
            | Event::ReconnectRequired { .. }
            | Event::Lost { .. } => {}
        }
    }

    /// The path selector is gone, and all that it told of.
    pub(in crate::engine) fn end_selector(&mut self) {
        self.end(&[Kind::FlowLimit, Kind::BindingFailure, Kind::ClockSkew, Kind::Silent, Kind::RecordLimit]);
    }
}

/// What a path selector says of a metric agent.
fn of_agent(agent: &NodeId, alarm: AgentAlarm) -> (Kind, String) {
    match alarm {
        AgentAlarm::ClockSkew { offset } => {
            let by = Duration::from_micros(offset.unsigned_abs());
            let way = if offset < 0 { "behind" } else { "ahead" };
            let text = format!(
                "the clock of metric agent {agent} is {by:?} {way}, and nothing of it is taken: set the clocks of \
                 both nodes"
            );
            (Kind::ClockSkew, text)
        }
        AgentAlarm::Silent => {
            let text = format!(
                "nothing is heard of metric agent {agent}; what it advertised holds until it expires: see whether it \
                 runs and reaches this node"
            );
            (Kind::Silent, text)
        }
        AgentAlarm::RecordLimit => {
            let text = format!(
                "metric agent {agent} advertises more records than are taken: raise path-selector/agent-limits/records"
            );
            (Kind::RecordLimit, text)
        }
    }
}
