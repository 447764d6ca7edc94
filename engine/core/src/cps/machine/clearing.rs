//! Bindings that an operator wants to end: of a service, an instance, an ingress, or all.

use super::Cps;
use super::views::FlowCursor;
use crate::cps::flow::{Flow, FlowState};
use cats_engine_types::{CsId, CsciId, NodeId, RemovalReason};
use std::time::Instant;

/// Flows looked at in one go.
const STEP: usize = 1000;

/// Which flows are meant: those that all of these say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Which {
    /// Of this service.
    pub service: Option<CsId>,
    /// Bound to this instance.
    pub instance: Option<CsciId>,
}

impl Which {
    fn means(&self, flow: &Flow) -> bool {
        let instance = flow.destination.map(|destination| destination.csci_id);
        self.service.is_none_or(|service| flow.service == Some(service))
            && self.instance.is_none_or(|wanted| instance == Some(wanted))
    }
}

/// How far it went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cleared {
    /// Bindings that are being removed.
    pub count: u32,
    /// Where to go on; nothing at the end.
    pub next: Option<FlowCursor>,
}

impl Cps {
    /// Ends some of the active flows behind the cursor that `which` means, at one ingress or at all.
    pub fn clear_some(
        &mut self,
        which: Which,
        ingress: Option<&NodeId>,
        after: Option<&FlowCursor>,
        now: Instant,
    ) -> Cleared {
        self.now = now;
        let none = Cleared { count: 0, next: None };
        let only = match ingress.map(|name| self.nodes.find(name)) {
            Some(None) => return none,
            Some(found) => found,
            None => None,
        };
        let after = match after.map(|(node, key)| self.nodes.find(node).map(|node| (node, *key))) {
            Some(None) => return none,
            Some(found) => found,
            None => None,
        };
        let step: Vec<_> = self.flows.after(after).take(STEP).collect();
        let last = step.last().filter(|_| step.len() == STEP).map(|(key, _)| *key);
        let mut count = 0;
        for ((node, _), ix) in step {
            let meant =
                self.flows.get(ix).is_some_and(|flow| flow.state() == FlowState::Active && which.means(flow));
            if meant && only.is_none_or(|only| only == node) {
                self.drain(ix, RemovalReason::Cleared);
                count += 1;
            }
        }
        let next = last.and_then(|(node, key)| Some((self.name(node)?.clone(), key)));
        Cleared { count, next }
    }
}
