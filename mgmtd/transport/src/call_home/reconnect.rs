//! When a client is called, and where: a state machine without I/O. Time and randomness are arguments.

use std::time::{Duration, Instant};

/// The current time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Now {
    /// By the clock that never jumps.
    pub(crate) instant: Instant,
    /// Since 1970, by the wall clock.
    pub(crate) unix: Duration,
}

/// What is tried when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Strategy {
    /// The endpoint that is tried first.
    pub start_with: StartWith,
    /// So often an endpoint is tried before the next one; once at least.
    pub max_attempts: u8,
    /// The time between two attempts. It is doubled with each round over all endpoints that fails.
    pub initial_wait: Duration,
    /// It grows no further than this.
    pub max_wait: Duration,
    /// From time to time; else always.
    pub periodic: Option<Periodic>,
}

/// The endpoint that is tried first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartWith {
    /// The first one.
    FirstListed,
    /// The one that was connected last, or the first one.
    LastConnected,
    /// Any.
    Random,
}

/// A connection that is made from time to time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Periodic {
    /// From one to the next; not zero.
    pub period: Duration,
    /// A time that one is or was due at, since 1970; without it one is due at the start.
    pub anchor: Option<Duration>,
}

/// The state machine. After each input take [`Reconnect::poll_output`], and sleep until [`Reconnect::poll_timeout`].
#[derive(Debug, Clone)]
pub(crate) struct Reconnect {
    strategy: Strategy,
    /// Their numbers, in order.
    endpoints: Vec<u8>,
    /// What the times of a periodic connection are counted from.
    anchor: Duration,
    phase: Phase,
    last: Option<u8>,
    /// Rounds that failed since a connection that was one.
    failed_rounds: u32,
    /// All endpoints have failed since the last connection.
    unreachable: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// For the beginning of a round, or for the next attempt of this one.
    Waiting {
        until: Instant,
        then: Option<Round>,
    },
    /// The attempt is to be made.
    Due(Round),
    /// It is made.
    Trying(Round),
    Connected {
        since: Instant,
    },
    /// There is no endpoint.
    Idle,
}

/// A round over all endpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Round {
    /// The endpoint that is tried, by its place in the list.
    place: usize,
    /// So many have been given up.
    given_up: usize,
    /// So often has this one been tried.
    tried: u8,
}

impl Reconnect {
    pub(crate) fn new(strategy: Strategy, endpoints: Vec<u8>, now: Now, random: u32) -> Self {
        let mut machine = Self {
            strategy,
            endpoints,
            anchor: now.unix,
            phase: Phase::Idle,
            last: None,
            failed_rounds: 0,
            unreachable: false,
        };
        machine.start(now, random);
        machine
    }

    /// What is configured has changed. A connection stays; anything else begins anew.
    pub(crate) fn handle_change(&mut self, strategy: Strategy, endpoints: Vec<u8>, now: Now, random: u32) {
        self.strategy = strategy;
        self.endpoints = endpoints;
        if !matches!(self.phase, Phase::Connected { .. }) {
            self.failed_rounds = 0;
            self.start(now, random);
        }
    }

    /// The time of [`Reconnect::poll_timeout`] has come.
    pub(crate) fn handle_timeout(&mut self, now: Now, random: u32) {
        if let Phase::Waiting { until, then } = self.phase
            && until <= now.instant
        {
            self.phase = then.map_or_else(|| self.begin(random), Phase::Due);
        }
    }

    /// A user of the client has logged in.
    pub(crate) fn handle_connected(&mut self, now: Now) {
        if let Phase::Trying(round) = self.phase {
            self.last = self.endpoints.get(round.place).copied();
            self.unreachable = false;
            self.phase = Phase::Connected { since: now.instant };
        }
    }

    /// The attempt has failed.
    pub(crate) fn handle_failed(&mut self, now: Now, random: u32) {
        let Phase::Trying(mut round) = self.phase else { return };
        round.tried += 1;
        if round.tried >= self.strategy.max_attempts.max(1) {
            round = Round {
                place: (round.place + 1) % self.endpoints.len().max(1),
                given_up: round.given_up + 1,
                tried: 0,
            };
        }
        if round.given_up < self.endpoints.len() {
            let until = now.instant + self.wait(random);
            self.phase = Phase::Waiting { until, then: Some(round) };
            return;
        }
        self.unreachable = true;
        self.failed_rounds = self.failed_rounds.saturating_add(1);
        self.pause(now, random);
    }

    /// The connection has ended.
    pub(crate) fn handle_lost(&mut self, now: Now, random: u32) {
        let Phase::Connected { since } = self.phase else { return };
        // One that never lasts must not keep both sides busy.
        let lasted = now.instant.saturating_duration_since(since) >= self.wait(0);
        self.failed_rounds = if lasted { 0 } else { self.failed_rounds.saturating_add(1) };
        self.pause(now, random);
    }

    /// The number of the endpoint that is to be tried: [`Reconnect::handle_connected`] or [`Reconnect::handle_failed`].
    pub(crate) fn poll_output(&mut self) -> Option<u8> {
        let Phase::Due(round) = self.phase else { return None };
        let endpoint = self.endpoints.get(round.place).copied();
        self.phase = if endpoint.is_some() { Phase::Trying(round) } else { Phase::Idle };
        endpoint
    }

    pub(crate) fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        match self.phase {
            Phase::Waiting { until, then: Some(_) } => Some((until, "the next attempt")),
            Phase::Waiting { until, then: None } => Some((until, "the next round")),
            Phase::Due(_) | Phase::Trying(_) | Phase::Connected { .. } | Phase::Idle => None,
        }
    }

    /// All endpoints have failed since the last connection.
    pub(crate) fn is_unreachable(&self) -> bool {
        self.unreachable
    }

    fn start(&mut self, now: Now, random: u32) {
        let anchored = self.strategy.periodic.filter(|periodic| periodic.anchor.is_some());
        self.phase = match anchored {
            Some(periodic) => Phase::Waiting { until: self.due(periodic, now), then: None },
            None => self.begin(random),
        };
    }

    /// A round.
    fn begin(&self, random: u32) -> Phase {
        let count = self.endpoints.len();
        let last = self.endpoints.iter().position(|endpoint| Some(*endpoint) == self.last);
        let place = match self.strategy.start_with {
            StartWith::FirstListed => 0,
            StartWith::LastConnected => last.unwrap_or(0),
            StartWith::Random => usize::try_from(random).unwrap_or(0) % count.max(1),
        };
        match count {
            0 => Phase::Idle,
            _ => Phase::Due(Round { place, given_up: 0, tried: 0 }),
        }
    }

    /// Up to the next round.
    fn pause(&mut self, now: Now, random: u32) {
        let until = match self.strategy.periodic {
            Some(periodic) => self.due(periodic, now),
            None => now.instant + self.wait(random),
        };
        self.phase = Phase::Waiting { until, then: None };
    }

    /// The next time of a periodic connection.
    fn due(&self, periodic: Periodic, now: Now) -> Instant {
        let period = periodic.period.max(Duration::from_secs(1)).as_micros();
        let anchor = periodic.anchor.unwrap_or(self.anchor).as_micros();
        let unix = now.unix.as_micros();
        let ahead = match anchor > unix {
            true => (anchor - unix - 1) % period + 1,
            false => period - (unix - anchor) % period,
        };
        now.instant + Duration::from_micros(u64::try_from(ahead).unwrap_or(u64::MAX))
    }

    /// The time between two attempts, less up to a quarter: many that have lost the same client do not come at once.
    fn wait(&self, random: u32) -> Duration {
        let most = self.strategy.max_wait.max(self.strategy.initial_wait);
        let doubled = 2_u32.saturating_pow(self.failed_rounds);
        let wait = self.strategy.initial_wait.saturating_mul(doubled).min(most);
        wait - wait.mul_f64(f64::from(random) / f64::from(u32::MAX) / 4.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-30T00:00:00Z.
    const MIDNIGHT: u64 = 1_795_996_800;

    /// The machine and a clock.
    struct World {
        machine: Reconnect,
        now: Now,
        random: u32,
    }

    fn strategy(start_with: StartWith, max_attempts: u8, periodic: Option<Periodic>) -> Strategy {
        let (initial_wait, max_wait) = (Duration::from_secs(1), Duration::from_secs(5));
        Strategy { start_with, max_attempts, initial_wait, max_wait, periodic }
    }

    fn world(strategy: Strategy, endpoints: &[u8]) -> World {
        let now = Now { instant: Instant::now(), unix: Duration::from_secs(MIDNIGHT) };
        let machine = Reconnect::new(strategy, endpoints.to_vec(), now, 0);
        World { machine, now, random: 0 }
    }

    impl World {
        fn pass(&mut self, time: Duration) {
            self.now.instant += time;
            self.now.unix += time;
            self.machine.handle_timeout(self.now, self.random);
        }

        /// The time that passes until the next attempt, in milliseconds, and its endpoint.
        fn next(&mut self) -> (u128, u8) {
            let begun = self.now.instant;
            let endpoint = loop {
                if let Some(endpoint) = self.machine.poll_output() {
                    break endpoint;
                }
                let (due, _) = self.machine.poll_timeout().expect("nothing is to come");
                self.pass(due - self.now.instant);
            };
            (self.now.instant.duration_since(begun).as_millis(), endpoint)
        }

        fn fails(&mut self) -> (u128, u8) {
            self.machine.handle_failed(self.now, self.random);
            self.next()
        }

        fn connects(&mut self) {
            self.machine.handle_connected(self.now);
            assert_eq!((self.machine.poll_output(), self.machine.poll_timeout()), (None, None));
        }

        fn is_lost_after(&mut self, seconds: u64) -> (u128, u8) {
            self.pass(Duration::from_secs(seconds));
            self.machine.handle_lost(self.now, self.random);
            self.next()
        }
    }

    #[test]
    fn each_endpoint_is_tried_as_often_as_it_may_be_and_waits_double_with_each_round() {
        let mut world = world(strategy(StartWith::FirstListed, 2, None), &[10, 20]);
        assert_eq!(world.next(), (0, 10), "at once");
        assert_eq!([(); 3].map(|()| world.fails()), [(1000, 10), (1000, 20), (1000, 20)]);
        assert!(!world.machine.is_unreachable());
        assert_eq!(world.fails(), (2000, 10));
        assert!(world.machine.is_unreachable());
        assert_eq!([(); 4].map(|()| world.fails()), [(2000, 10), (2000, 20), (2000, 20), (4000, 10)]);
        assert_eq!([(); 4].map(|()| world.fails()).last(), Some(&(5000, 10)), "no longer than that");
        world.connects();
        assert!(!world.machine.is_unreachable());
        assert_eq!(world.is_lost_after(60), (1000, 10), "as at first");
    }

    #[test]
    fn a_round_starts_with_the_endpoint_that_is_configured() {
        for (start_with, first, again) in [
            (StartWith::FirstListed, 10, 10),
            (StartWith::LastConnected, 10, 20),
            (StartWith::Random, 30, 30),
        ] {
            let mut world = world(strategy(start_with, 1, None), &[10, 20, 30]);
            world.random = 5;
            world.machine.handle_change(world.machine.strategy.clone(), vec![10, 20, 30], world.now, 5);
            assert_eq!(world.next().1, first, "{start_with:?}");
            while world.fails().1 != 20 {}
            world.connects();
            assert_eq!(world.is_lost_after(60).1, again, "{start_with:?}");
        }
    }

    #[test]
    fn one_that_connects_and_never_stays_is_called_less_and_less_often() {
        let mut world = world(strategy(StartWith::FirstListed, 1, None), &[10]);
        world.next();
        let mut waits = Vec::new();
        for _ in 0..4 {
            world.connects();
            waits.push(world.is_lost_after(0).0);
        }
        assert_eq!(waits, [2000, 4000, 5000, 5000]);
    }

    #[test]
    fn up_to_a_quarter_of_a_wait_is_taken_away_at_random() {
        for (random, wait) in [(0, 1000), (u32::MAX / 2, 875), (u32::MAX, 750)] {
            let mut world = world(strategy(StartWith::FirstListed, 9, None), &[10]);
            world.random = random;
            world.next();
            assert_eq!(world.fails(), (wait, 10));
        }
    }

    #[test]
    fn a_periodic_connection_keeps_to_its_anchor_and_leaves_out_what_it_was_there_for() {
        let hour = Duration::from_secs(3600);
        let at = |minutes: u64| Some(Duration::from_secs(MIDNIGHT) + Duration::from_secs(60 * minutes));
        for (anchor, first) in [(at(20), 20), (at(0), 60), (at(60 * 48 + 30), 30), (None, 0)] {
            let periodic = Some(Periodic { period: hour, anchor });
            let mut world = world(strategy(StartWith::FirstListed, 2, periodic), &[10]);
            assert_eq!(world.next(), (first * 60_000, 10), "{anchor:?}");
            world.connects();
            assert_eq!(world.is_lost_after(60), (59 * 60_000, 10), "{anchor:?}");
            world.connects();
            assert_eq!(world.is_lost_after(7260), (59 * 60_000, 10), "{anchor:?}: two are left out");
            assert_eq!(world.fails().0, 1000, "the second attempt of this time");
            assert_eq!(world.fails().0, 3_599_000, "the next time");
            assert!(world.machine.is_unreachable());
        }
    }

    #[test]
    fn a_change_starts_anew_but_leaves_a_connection_alone() {
        let mut world = world(strategy(StartWith::FirstListed, 1, None), &[10]);
        world.next();
        assert_eq!(world.fails().0, 2000);
        world.machine.handle_failed(world.now, 0);
        let other = strategy(StartWith::FirstListed, 3, None);
        world.machine.handle_change(other.clone(), vec![7, 8], world.now, 0);
        assert_eq!(world.next(), (0, 7));
        world.connects();
        world.machine.handle_change(other.clone(), vec![], world.now, 0);
        assert_eq!((world.machine.poll_output(), world.machine.poll_timeout()), (None, None));
        world.pass(Duration::from_secs(60));
        world.machine.handle_lost(world.now, 0);
        world.pass(Duration::from_secs(60));
        assert_eq!(world.machine.poll_output(), None, "there is no endpoint");
        world.machine.handle_change(other, vec![9], world.now, 0);
        assert_eq!(world.next(), (0, 9));
    }
}
