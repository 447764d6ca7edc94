//! The connections whose user is not known yet: how many there may be, of one source and of all.

use crate::access::SshLimits;
use crate::guard::Progress;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;
use tracing::{debug, warn};

/// A source that has more than it may is named in the log once in this time.
const PERIOD: Duration = Duration::from_secs(60);

/// Sources that are remembered as named; with so many, further ones are not named.
const NAMED: usize = 256;

/// Who shares a bound: an IPv4 address, or the /64 of an IPv6 address, of which one machine has all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Source(IpAddr);

impl Source {
    fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V6(address) => {
                Self(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into())
            }
            v4 @ IpAddr::V4(_) => Self(v4),
        }
    }
}

/// Counts the unauthenticated connections.
#[derive(Debug)]
pub(crate) struct Strangers(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    next: u64,
    /// In order of arrival.
    waiting: BTreeMap<u64, Stranger>,
    /// When a source was last named in the log.
    named: BTreeMap<Source, Instant>,
}

#[derive(Debug)]
struct Stranger {
    source: Source,
    progress: Arc<watch::Sender<Progress>>,
}

impl Strangers {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::default()))
    }

    /// A place for a connection from `address`. When its source has all that it may, its oldest connection is given up
    /// for it, since whoever shares the source, as behind a translator of addresses, would be kept out otherwise; and when
    /// all places are taken, the oldest of the source that holds most. So whoever connects gets the time that a login
    /// takes.
    pub(crate) fn admit(
        self: &Arc<Self>,
        address: IpAddr,
        limits: &SshLimits,
        progress: &Arc<watch::Sender<Progress>>,
    ) -> Place {
        let (source, bound) = (Source::of(address), limits.per_source);
        let mut state = self.state();
        while state.held_by(source) >= bound.max(1) {
            if state.may_name(source, Instant::now()) {
                warn!(source = %source.0, bound, "connections given up: too many of this source are unauthenticated");
            }
            state.give_up_one_of(source);
        }
        while state.waiting.len() >= limits.unauthenticated.max(1) {
            state.give_up_one();
        }
        let id = state.next;
        state.next += 1;
        state.waiting.insert(id, Stranger { source, progress: Arc::clone(progress) });
        Place { strangers: Arc::clone(self), id }
    }

    /// Whether something about `address` may be said in the log; for each source that is rarely so.
    pub(crate) fn may_name(&self, address: IpAddr) -> bool {
        self.state().may_name(Source::of(address), Instant::now())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn held_by(&self, source: Source) -> usize {
        self.waiting.values().filter(|stranger| stranger.source == source).count()
    }

    fn give_up_one(&mut self) {
        let most = self.waiting.iter().max_by_key(|(id, stranger)| {
            let oldest_first = std::cmp::Reverse(**id);
            (self.held_by(stranger.source), oldest_first)
        });
        let id = most.map(|(id, _)| *id);
        self.give_up(id);
    }

    fn give_up_one_of(&mut self, source: Source) {
        let oldest = self.waiting.iter().find(|(_, stranger)| stranger.source == source).map(|(id, _)| *id);
        self.give_up(oldest);
    }

    fn give_up(&mut self, id: Option<u64>) {
        let Some(stranger) = id.and_then(|id| self.waiting.remove(&id)) else { return };
        debug!(source = %stranger.source.0, "an unauthenticated connection is given up for a new one");
        stranger.progress.send_modify(|progress| progress.abandoned = true);
    }

    fn may_name(&mut self, source: Source, now: Instant) -> bool {
        self.named.retain(|_, at| now.duration_since(*at) < PERIOD);
        let may = self.named.len() < NAMED && !self.named.contains_key(&source);
        if may {
            self.named.insert(source, now);
        }
        may
    }
}

/// A place among the strangers, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    strangers: Arc<Strangers>,
    id: u64,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.strangers.state().waiting.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Held = (Place, watch::Receiver<Progress>);

    fn connect(
        strangers: &Arc<Strangers>,
        (unauthenticated, per_source): (usize, usize),
        address: &str,
    ) -> Held {
        let (progress, watched) = watch::channel(Progress::default());
        let limits = SshLimits { unauthenticated, per_source, ..SshLimits::default() };
        (strangers.admit(address.parse().unwrap(), &limits, &Arc::new(progress)), watched)
    }

    #[test]
    fn at_the_bound_of_a_source_its_oldest_gives_way_and_at_that_of_all_the_oldest_of_the_greediest() {
        let strangers = Strangers::new();
        let from = |address| connect(&strangers, (4, 3), address);
        let one = from("192.0.2.1");
        let mut others =
            vec![from("192.0.2.2"), from("192.0.2.2"), from("::ffff:192.0.2.2"), from("192.0.2.2")];
        let given_up =
            |others: &[Held]| others.iter().map(|held| held.1.borrow().abandoned).collect::<Vec<_>>();
        assert_eq!(given_up(&others), [true, false, false, false], "a fourth of the same source");
        others.push(from("2001:db8::1"));
        assert_eq!(
            given_up(&others),
            [true, true, false, false, false],
            "the oldest of the source with most"
        );
        assert!(!one.1.borrow().abandoned);
        drop(others.remove(0));
        assert_eq!(strangers.state().waiting.len(), 4, "whose place was taken gives none back");
    }

    #[test]
    fn addresses_of_one_prefix_are_one_source() {
        let strangers = Strangers::new();
        let from = |address| connect(&strangers, (32, 2), address);
        let held = [from("2001:db8::1"), from("2001:db8::ffff:0:0:1")];
        let given_up = || held.each_ref().map(|held| held.1.borrow().abandoned);
        let _next = from("2001:db8:0:1::2");
        assert_eq!(given_up(), [false, false], "the next /64 is another");
        let _same = from("2001:db8::2");
        assert_eq!(given_up(), [true, false]);
    }

    #[test]
    fn a_source_with_too_many_is_named_once_in_a_period() {
        let mut state = State::default();
        let source = Source::of("192.0.2.1".parse().unwrap());
        let start = Instant::now();
        for (after, named) in [(0, true), (30, false), (59, false), (61, true), (120, false), (121, true)] {
            assert_eq!(state.may_name(source, start + Duration::from_secs(after)), named, "{after} s");
        }
        let others = (0..1000_u32).map(|n| Source(IpAddr::V4(n.into())));
        let may_be = others.filter(|source| state.may_name(*source, start)).count();
        assert_eq!(may_be, NAMED - 1);
        assert_eq!(state.named.len(), NAMED);
    }
}
