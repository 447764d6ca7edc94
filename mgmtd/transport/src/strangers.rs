//! The connections whose user is not known yet: how many there may be, of one source and of all.

use crate::guard::Progress;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;
use tracing::{debug, warn};

/// A source that is refused is named in the log once in this time.
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
pub(crate) struct Strangers {
    total: usize,
    per_source: usize,
    state: Mutex<State>,
}

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
    pub(crate) fn new(total: usize, per_source: usize) -> Arc<Self> {
        Arc::new(Self { total, per_source, state: Mutex::default() })
    }

    /// A place for a connection from `address`; none when its source has all that it may. When all places are taken,
    /// the oldest connection of the source that holds most is given up for it: whoever connects gets the time that
    /// a login takes.
    pub(crate) fn admit(
        self: &Arc<Self>,
        address: IpAddr,
        progress: &Arc<watch::Sender<Progress>>,
    ) -> Option<Place> {
        let source = Source::of(address);
        let mut state = self.state();
        if state.held_by(source) >= self.per_source {
            state.name(source, self.per_source, Instant::now());
            return None;
        }
        if state.waiting.len() >= self.total {
            state.give_up_one();
        }
        let id = state.next;
        state.next += 1;
        state.waiting.insert(id, Stranger { source, progress: Arc::clone(progress) });
        Some(Place { strangers: Arc::clone(self), id })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
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
        let Some(stranger) = most.map(|(id, _)| *id).and_then(|id| self.waiting.remove(&id)) else { return };
        debug!(source = %stranger.source.0, "an unauthenticated connection is given up for a new one");
        stranger.progress.send_modify(|progress| progress.abandoned = true);
    }

    fn name(&mut self, source: Source, bound: usize, now: Instant) {
        self.named.retain(|_, at| now.duration_since(*at) < PERIOD);
        if self.named.len() < NAMED && !self.named.contains_key(&source) {
            self.named.insert(source, now);
            warn!(source = %source.0, bound, "SSH connections refused: too many of this source are unauthenticated");
        }
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

    type Held = (Option<Place>, watch::Receiver<Progress>);

    fn connect(strangers: &Arc<Strangers>, address: &str) -> Held {
        let (progress, watched) = watch::channel(Progress::default());
        (strangers.admit(address.parse().unwrap(), &Arc::new(progress)), watched)
    }

    #[test]
    fn a_source_has_its_bound_and_at_the_bound_of_all_the_greediest_gives_way() {
        let strangers = Strangers::new(4, 3);
        let from = |address| connect(&strangers, address);
        let (one, two, three) = (from("192.0.2.1"), from("192.0.2.2"), from("192.0.2.2"));
        let four = from("::ffff:192.0.2.2");
        assert!(four.0.is_some());
        assert!(from("192.0.2.2").0.is_none(), "a fourth of the same source");
        let five = from("2001:db8::1");
        assert!(five.0.is_some());
        let given_up = [&one, &two, &three, &four, &five].map(|held| held.1.borrow().abandoned);
        assert_eq!(given_up, [false, true, false, false, false], "the oldest of the source with most");
        drop(one);
        assert!(from("2001:db8::2").0.is_some());
    }

    #[test]
    fn addresses_of_one_prefix_are_one_source() {
        let strangers = Strangers::new(32, 2);
        let from = |address| connect(&strangers, address);
        let held = [from("2001:db8::1"), from("2001:db8::ffff:0:0:1")];
        assert!(held.iter().all(|held| held.0.is_some()));
        assert!(from("2001:db8::2").0.is_none());
        assert!(from("2001:db8:0:1::2").0.is_some(), "the next /64");
    }

    #[test]
    fn a_refused_source_is_named_once_in_a_period() {
        let mut state = State::default();
        let source = Source::of("192.0.2.1".parse().unwrap());
        let start = Instant::now();
        for (after, named) in [(0, 0), (30, 0), (59, 0), (61, 61), (120, 61), (121, 121)] {
            state.name(source, 8, start + Duration::from_secs(after));
            let at = state.named.get(&source).copied();
            assert_eq!(at, Some(start + Duration::from_secs(named)), "{after} s");
        }
        (0..1000_u32).for_each(|n| state.name(Source(IpAddr::V4(n.into())), 8, start));
        assert_eq!(state.named.len(), NAMED);
    }
}
