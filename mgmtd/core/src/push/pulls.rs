//! What periodic updates read of components: one read for all that want the same of it, and few reads at a time, so that
//! subscriptions keep no component from its other work.

use crate::types::{ComponentId, Now, Ticket};
use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

/// So many reads are under way at once, beside those of requests.
const MOST: usize = 4;

/// The reads, and the updates that wait for them.
#[derive(Debug, Default)]
pub(super) struct Pulls {
    under_way: BTreeMap<Ticket, Pull>,
    /// Subscriptions whose read has not begun, the longest due first. Each is there once at most.
    waiting: VecDeque<u32>,
}

/// A read.
#[derive(Debug)]
pub(super) struct Pull {
    pub(super) component: ComponentId,
    /// What is read of it.
    pub(super) paths: Vec<String>,
    /// Who is told of it.
    pub(super) subscriptions: Vec<u32>,
    pub(super) deadline: Instant,
}

impl Pulls {
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.under_way.values().map(|pull| pull.deadline).min()
    }

    /// Does a subscription wait for a read?
    pub(super) fn has(&self, id: u32) -> bool {
        self.waiting.contains(&id) || self.under_way.values().any(|pull| pull.subscriptions.contains(&id))
    }

    /// Has a subscription share a read that is under way, or wait until another one has ended: true then.
    pub(super) fn joins(&mut self, id: u32, component: ComponentId, paths: &[String]) -> bool {
        let same = |pull: &&mut Pull| pull.component == component && pull.paths == paths;
        if let Some(pull) = self.under_way.values_mut().find(same) {
            pull.subscriptions.push(id);
            return true;
        }
        let full = self.under_way.len() >= MOST;
        if full {
            self.waiting.push_back(id);
        }
        full
    }

    pub(super) fn begin(&mut self, ticket: Ticket, pull: Pull) {
        self.under_way.insert(ticket, pull);
    }

    /// Who is to be told of a read that has ended; none when it is no read of these.
    pub(super) fn end(&mut self, ticket: Ticket) -> Option<Vec<u32>> {
        self.under_way.remove(&ticket).map(|pull| pull.subscriptions)
    }

    /// Who waits in vain for a component that is lost.
    pub(super) fn lost(&mut self, component: ComponentId) -> Vec<u32> {
        let lost = self.under_way.extract_if(.., |_, pull| pull.component == component);
        lost.flat_map(|(_, pull)| pull.subscriptions).collect()
    }

    /// Who has waited too long.
    pub(super) fn late(&mut self, now: Now) -> Vec<u32> {
        let late = self.under_way.extract_if(.., |_, pull| pull.deadline <= now.instant);
        late.flat_map(|(_, pull)| pull.subscriptions).collect()
    }

    /// Whose read may begin.
    pub(super) fn next(&mut self) -> Option<u32> {
        if self.under_way.len() < MOST { self.waiting.pop_front() } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const ENGINE: ComponentId = ComponentId(1);

    fn now(seconds: u64) -> Now {
        thread_local!(static START: Instant = Instant::now());
        Now { instant: START.with(|start| *start) + Duration::from_secs(seconds), unix_us: 0 }
    }

    /// Wants a read of `path` for a subscription.
    fn want(pulls: &mut Pulls, id: u32, path: &str) {
        let paths = vec![path.to_owned()];
        if !pulls.joins(id, ENGINE, &paths) {
            let (subscriptions, deadline) = (vec![id], now(20).instant);
            pulls.begin(Ticket(u64::from(id)), Pull { component: ENGINE, paths, subscriptions, deadline });
        }
    }

    #[test]
    fn who_wants_the_same_shares_a_read() {
        let mut pulls = Pulls::default();
        (1..=100).for_each(|id| want(&mut pulls, id, "/a"));
        assert_eq!(pulls.under_way.len(), 1);
        assert!(pulls.has(100));
        assert_eq!(pulls.end(Ticket(1)), Some((1..=100).collect()));
        assert_eq!((pulls.end(Ticket(1)), pulls.next(), pulls.has(100)), (None, None, false));
    }

    #[test]
    fn few_reads_are_under_way_at_once_and_the_others_have_their_turn_in_order() {
        let mut pulls = Pulls::default();
        (1..=10).for_each(|id| want(&mut pulls, id, &format!("/{id}")));
        assert_eq!((pulls.under_way.len(), pulls.next()), (MOST, None));
        assert!((1..=10).all(|id| pulls.has(id)));
        assert_eq!(pulls.end(Ticket(2)), Some(vec![2]));
        assert_eq!(pulls.next(), Some(5));
        want(&mut pulls, 5, "/5");
        assert_eq!(pulls.next(), None);
    }

    #[test]
    fn a_component_that_is_lost_or_late_is_waited_for_no_more() {
        let mut pulls = Pulls::default();
        (1..=6).for_each(|id| want(&mut pulls, id, &format!("/{id}")));
        assert_eq!(pulls.late(now(19)), Vec::<u32>::new());
        assert_eq!(pulls.deadline(), Some(now(20).instant));
        assert_eq!(pulls.lost(ComponentId(2)), Vec::<u32>::new());
        assert_eq!(pulls.late(now(20)), [1, 2, 3, 4]);
        assert_eq!((pulls.next(), pulls.next(), pulls.next()), (Some(5), Some(6), None));
    }
}
