//! Installed bindings: ageing, removal, restart, configuration.

use super::{Bound, DRAIN_LIMIT, IDLE_PAGE, Ingress, Output, REMOVAL_RETRY, State};
use crate::{Adopted, DropReason, IngressConfig};
use cats_engine_types::{
    Binding, BindingEvent, BindingStatus, Counters, FlowKey, InstallFailure, RemovalReason, TransactionId,
};
use std::sync::Arc;
use std::time::{Duration, Instant};

impl Ingress {
    pub(super) fn put_bound(&mut self, bound: Bound, now: Instant) {
        let key = bound.binding.forward.key;
        let deadline = if bound.staged { Some(now + DRAIN_LIMIT) } else { self.next_check(&bound) };
        self.put(key, State::Bound(bound), deadline);
    }

    fn next_check(&self, bound: &Bound) -> Option<Instant> {
        let idle = bound.binding.lifetime.idle.map(|idle| self.coarse(bound.used + idle));
        match (idle, bound.hard_end) {
            (Some(idle), Some(hard)) => Some(idle.min(hard)),
            (idle, hard) => idle.or(hard),
        }
    }

    /// The next multiple of the poll interval: flows that may be idle are asked for together.
    fn coarse(&self, at: Instant) -> Instant {
        let step = self.config.idle_poll.as_nanos().max(1);
        let rest = at.saturating_duration_since(self.origin).as_nanos() % step;
        if rest == 0 { at } else { at + Duration::from_nanos(u64::try_from(step - rest).unwrap_or(0)) }
    }

    /// The punt queue was found empty after all earlier outputs were carried out: nothing held can be
    /// overtaken any more.
    pub fn handle_drained(&mut self) {
        for key in std::mem::take(&mut self.staged) {
            if let Some(State::Bound(bound)) = self.flows.get(&key).map(|flow| &flow.state) {
                self.outputs.push_back(Output::Activate(bound.binding.clone()));
            }
        }
    }

    /// The backend's answer to [`Output::Activate`].
    pub fn handle_activate_result(
        &mut self,
        binding: &Arc<Binding>,
        result: Result<(), InstallFailure>,
        now: Instant,
    ) {
        let key = binding.forward.key;
        let Some(State::Bound(bound)) = self.flows.get(&key).map(|flow| &flow.state) else { return };
        if !Arc::ptr_eq(&bound.binding, binding) {
            return;
        }
        if let Some(State::Bound(mut bound)) = self.take(key) {
            // Refused: its packets keep coming by the punt queue, and it is tried again.
            bound.staged = result.is_err();
            self.put_bound(bound, now);
        }
    }

    /// Does what is due, but asks for no more than a page of idle times: the rest stays due, so that packets are
    /// seen to in between.
    pub fn handle_timeout(&mut self, now: Instant) {
        let mut questions = Vec::new();
        while let Some(&(at, key)) = self.deadlines.first() {
            if at > now || questions.len() == IDLE_PAGE {
                break;
            }
            self.deadlines.pop_first();
            if let Some(flow) = self.flows.get_mut(&key) {
                flow.deadline = None;
                self.due(key, now, &mut questions);
            }
        }
        if !questions.is_empty() {
            self.outputs.push_back(Output::QueryIdle(questions));
        }
    }

    fn due(&mut self, key: FlowKey, now: Instant, questions: &mut Vec<Arc<Binding>>) {
        match self.flows.get(&key).map(|flow| &flow.state) {
            Some(State::Waiting { .. }) => self.end_waiting(key, DropReason::HoldExpired),
            Some(State::Bound(bound)) if bound.hard_end.is_some_and(|end| end <= now) => {
                self.remove(key, RemovalReason::Hard, now);
            }
            Some(State::Bound(bound)) if bound.staged => {
                let binding = bound.binding.clone();
                self.staged.remove(&key);
                self.outputs.push_back(Output::Activate(binding));
            }
            Some(State::Bound(bound)) => questions.push(bound.binding.clone()),
            Some(State::Removing { reason, .. }) => {
                let reason = *reason;
                self.remove(key, reason, now);
            }
            Some(State::Committing { .. }) | None => {}
        }
    }

    /// The backend's answer to [`Output::QueryIdle`]: how long each flow has been idle; none: it is not
    /// installed.
    pub fn handle_last_used(&mut self, idle: &[(FlowKey, Option<Duration>)], now: Instant) {
        for (key, idle) in idle {
            let Some(State::Bound(bound)) = self.flows.get(key).map(|flow| &flow.state) else { continue };
            let limit = bound.binding.lifetime.idle;
            match idle {
                Some(idle) if limit.is_some_and(|limit| *idle >= limit) => {
                    self.remove(*key, RemovalReason::Idle, now);
                }
                Some(idle) => {
                    let used = now.checked_sub(*idle).unwrap_or(now);
                    if let Some(State::Bound(mut bound)) = self.take(*key) {
                        bound.used = bound.used.max(used);
                        self.put_bound(bound, now);
                    }
                }
                // The kernel ended it at its hard lifetime, or someone else did.
                None => {
                    let hard = bound.binding.lifetime.hard.is_some();
                    let reason = if hard { RemovalReason::Hard } else { RemovalReason::Cleared };
                    self.remove(*key, reason, now);
                }
            }
        }
    }

    /// [`Output::QueryIdle`] could not be answered: the flows are asked for again after a poll interval.
    pub fn handle_query_failed(&mut self, bindings: &[Arc<Binding>], now: Instant) {
        let again = now + self.config.idle_poll.max(Duration::from_millis(100));
        for binding in bindings {
            let key = binding.forward.key;
            if matches!(self.flows.get(&key).map(|flow| &flow.state), Some(State::Bound(_)))
                && let Some(state) = self.take(key)
            {
                self.put(key, state, Some(again));
            }
        }
    }

    fn remove(&mut self, key: FlowKey, reason: RemovalReason, now: Instant) {
        if let Some(State::Bound(Bound { binding, .. }) | State::Removing { binding, .. }) = self.take(key) {
            self.outputs.push_back(Output::Remove(binding.clone()));
            self.put(key, State::Removing { binding, reason }, Some(now + REMOVAL_RETRY));
        }
    }

    /// The backend has removed both directions. Without this answer the removal is tried again.
    pub fn handle_removed(&mut self, binding: &Arc<Binding>, counters: Counters) {
        let key = binding.forward.key;
        if let Some(State::Removing { binding: known, reason }) = self.flows.get(&key).map(|flow| &flow.state)
            && Arc::ptr_eq(known, binding)
        {
            let reason = *reason;
            self.take(key);
            self.status(binding, BindingEvent::Removed { reason, counters });
        }
    }

    /// The C-PS or an operator ends a flow. One that is not there is answered as removed, so that both ends
    /// agree.
    pub fn handle_removal(
        &mut self,
        key: FlowKey,
        transaction: TransactionId,
        reason: RemovalReason,
        now: Instant,
    ) {
        match self.flows.get(&key).map(|flow| &flow.state) {
            Some(State::Waiting { transaction: known, .. }) if *known == transaction => {
                self.end_waiting(key, DropReason::Refused);
            }
            Some(State::Committing { binding, .. }) if binding.transaction == transaction => {
                self.end_waiting(key, DropReason::Refused);
            }
            Some(State::Bound(bound)) if bound.binding.transaction == transaction => {
                return self.remove(key, reason, now);
            }
            Some(State::Removing { binding, .. }) if binding.transaction == transaction => return,
            Some(_) | None => {}
        }
        let event = BindingEvent::Removed { reason, counters: Counters::default() };
        self.outputs.push_back(Output::Status(BindingStatus { transaction, key, event }));
    }

    /// Bindings that the data plane had when this incarnation started. Those of services that are no longer
    /// configured are removed; the others are reported as restored (CP-23).
    pub fn handle_adopted(&mut self, adopted: Vec<Adopted>, now: Instant) {
        for Adopted { binding, hard_left, staged } in adopted {
            let key = binding.forward.key;
            self.owner = self.owner.max(binding.epoch);
            let configured = self.config.keeps(key.destination(), binding.cs_id);
            let hard_end = hard_left.map(|left| now + left);
            let bound = Bound { binding: binding.clone(), staged, used: now, hard_end, replacing: None };
            if configured {
                self.status(&binding, BindingEvent::Restored(Box::new((*binding).clone())));
            }
            self.put_bound(bound, now);
            if !configured {
                self.remove(key, RemovalReason::Unconfigured, now);
            }
        }
    }

    /// A new configuration. Flows of services that left it end; the others stay.
    pub fn handle_config(&mut self, config: IngressConfig, now: Instant) {
        self.config = config;
        let gone: Vec<(FlowKey, bool)> =
            self.flows.iter().filter_map(|(key, flow)| self.leaves(key, &flow.state)).collect();
        for (key, bound) in gone {
            if bound {
                self.remove(key, RemovalReason::Unconfigured, now);
            } else {
                self.end_waiting(key, DropReason::NoService);
            }
        }
    }

    /// Whether a flow's service left the configuration, and whether the flow is bound.
    fn leaves(&self, key: &FlowKey, state: &State) -> Option<(FlowKey, bool)> {
        let address = key.destination();
        let takes_new = |service| self.config.services.get(&address) == Some(&service);
        let (stays, bound) = match state {
            State::Waiting { service, .. } => (takes_new(*service), false),
            State::Committing { binding, .. } => (takes_new(binding.cs_id), false),
            State::Bound(bound) => (self.config.keeps(address, bound.binding.cs_id), true),
            State::Removing { .. } => return None,
        };
        (!stays).then_some((*key, bound))
    }
}
