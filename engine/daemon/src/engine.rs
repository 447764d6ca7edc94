//! [`Engine`]: the roles of one node around their state machines. It has no tasks and no waiting of its own: it is
//! given what happens with the time at which it is handled, and settles everything that follows before it returns.

mod agent;
mod alarms;
mod forwarder;
mod manage;
mod operations;
mod selector;
mod state;
mod told;

use crate::config::{Desired, MetricAgent, desired};
use crate::network::{Arrival, Busy, Network};
use crate::plane::Plane;
use crate::store::Store;
use agent::{AgentRole, REPORTS};
use alarms::Alarms;
use cats_engine_core::config::Checked;
use cats_engine_transport::management::{Call, ConfigId};
use cats_engine_types::{Epoch, UnixMicros};
use cats_yang_model::Config;
use forwarder::ForwarderRole;
use manage::Prepared;
use operations::Operations;
use rustix::event::{PollFd, PollFlags, Timespec};
use selector::{ADVERTISEMENTS, SelectorRole};
use std::io;
use std::os::fd::BorrowedFd;
use std::task::{Context, Poll};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::runtime::Handle;
use told::Watcher;

/// Rounds between the roles in one step, so that messages get their turn in a flood of packets.
const ROUNDS: usize = 16;

/// When something is handled.
#[derive(Debug, Clone, Copy)]
pub struct Now {
    /// For deadlines.
    pub at: Instant,
    /// For records.
    pub wall: SystemTime,
}

impl Now {
    /// Both clocks, read now.
    pub fn read() -> Self {
        Self { at: Instant::now(), wall: SystemTime::now() }
    }

    fn since_1970(self) -> Duration {
        self.wall.duration_since(UNIX_EPOCH).unwrap_or_default()
    }

    /// The wall clock as messages have it.
    fn micros(self) -> UnixMicros {
        UnixMicros(u64::try_from(self.since_1970().as_micros()).unwrap_or(u64::MAX))
    }

    fn nanos(self) -> u64 {
        u64::try_from(self.since_1970().as_nanos()).unwrap_or(u64::MAX)
    }
}

/// How much of what comes in bulk is still taken before packets get their turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Turn {
    reports: usize,
    advertisements: usize,
}

impl Turn {
    const WHOLE: Self = Self { reports: REPORTS, advertisements: ADVERTISEMENTS };

    fn is_over(self) -> bool {
        self.reports == 0 || self.advertisements == 0
    }
}

/// What the engine starts with.
#[derive(Debug)]
pub struct Parts {
    /// Where network tasks run.
    pub runtime: Handle,
    /// The state directory.
    pub store: Store,
    /// What was applied last.
    pub id: ConfigId,
    /// What was applied last.
    pub config: Config,
    /// Of this start.
    pub epoch: Epoch,
}

/// The roles of a node.
#[derive(Debug)]
pub struct Engine<P> {
    store: Store,
    /// Of this start.
    epoch: Epoch,
    /// The newest that was given to a role.
    newest: Epoch,
    id: ConfigId,
    config: Checked,
    prepared: Option<Prepared>,
    selector: Option<SelectorRole>,
    forwarder: Option<ForwarderRole<P>>,
    agent: Option<AgentRole>,
    alarms: Alarms,
    network: Network,
    turn: Turn,
    operations: Operations,
    watcher: Option<Watcher>,
    /// What the data plane has of ours and nobody configured may go: cats-mgmtd has confirmed the configuration.
    confirmed: bool,
}

impl<P: Plane> Engine<P> {
    /// Starts with what was applied last.
    pub fn start(parts: Parts, now: Now) -> Self {
        let Parts { runtime, store, id, config, epoch } = parts;
        let mut engine = Self {
            store,
            epoch,
            newest: epoch,
            id,
            config: Checked::default(),
            prepared: None,
            selector: None,
            forwarder: None,
            agent: None,
            alarms: Alarms::default(),
            network: Network::new(runtime),
            turn: Turn::WHOLE,
            operations: Operations::default(),
            watcher: None,
            confirmed: false,
        };
        match desired(&Checked::default(), config.clone(), engine.id.revision) {
            Ok((checked, desired)) => {
                engine.config = checked;
                engine.apply(desired, now);
            }
            Err(faults) => {
                // It was applied before, by another release: the management daemon will tell the faults again.
                tracing::error!(?faults, "the stored configuration cannot be applied");
                engine.config = Checked::trusted(config);
            }
        }
        engine
    }

    /// Takes roles on, changes and drops them.
    fn apply(&mut self, desired: Desired, now: Now) {
        let Desired { selector, forwarder, agent, pki } = desired;
        let remote = forwarder.as_ref().and_then(|forwarder| forwarder.remote.clone());
        let listens = selector.as_ref().is_some_and(|selector| selector.listen.is_some());
        let collects = agent.as_ref().is_some_and(MetricAgent::uses_network);
        self.end_agent(agent.as_ref(), now);
        let void = self.network.certificates(&pki, listens || collects || remote.is_some());
        let epoch = self.selector_epoch(selector.is_some(), now);
        let anew = self.network.listen(selector.as_ref(), epoch) || !listens;
        self.apply_selector(selector, epoch, anew, now);
        self.apply_agent(agent, void, now);
        self.apply_forwarder(forwarder, now);
        self.uplink(remote.as_ref(), now);
        self.settle(now);
    }

    /// An epoch above all before it. A role that is dropped and taken on again knows nothing of what it said before, so
    /// it must not seem to go on with that.
    fn new_epoch(&mut self, now: Now) -> Epoch {
        let next = Epoch(now.nanos().max(self.newest.0.saturating_add(1)));
        self.newest = self.store.next_epoch(next.0).unwrap_or_else(|error| {
            // The next start has a later one all the same, unless the clock is set back.
            tracing::error!(%error, "the epoch could not be stored");
            next
        });
        self.newest
    }

    /// A message of the management daemon.
    pub fn handle_call(&mut self, call: Call, now: Now) {
        self.manage(call, now);
        self.settle(now);
    }

    /// Handles the next thing that has come from another node; false if there is none for now. To be followed by
    /// [`Engine::step`].
    pub(crate) fn handle_arrival(&mut self, context: &mut Context<'_>, now: Now) -> bool {
        let Poll::Ready(arrival) = self.network.poll_next(self.busy(), context) else { return false };
        match arrival {
            Arrival::Selector(event) => self.selector_event(event, now),
            Arrival::Northbound(event) => self.northbound_event(event, now),
            Arrival::Forwarder(event) => self.forwarder_event(event, now),
            Arrival::Collection(event) => self.collection_event(event, now),
            Arrival::Subscription(event) => self.subscription_event(event, now),
            Arrival::Answer(answer) => self.answer_event(answer, now),
            Arrival::Broker(event) => self.broker_event(event, now),
            Arrival::Agent(peer, event) => self.agent_event(&peer, event, now),
        }
        true
    }

    /// What is not taken until the next step.
    fn busy(&self) -> Busy {
        Busy {
            advertisements: self.turn.advertisements == 0
                || self.selector.as_ref().is_some_and(SelectorRole::is_behind),
            reports: self.turn.reports == 0 || self.agent.as_ref().is_some_and(AgentRole::is_behind),
        }
    }

    /// Handles what has come from other nodes, as far as one turn goes.
    pub fn handle_arrivals(&mut self, context: &mut Context<'_>, now: Now) {
        while self.handle_arrival(context, now) {}
        self.settle(now);
    }

    /// When [`Engine::step`] is to be called at the latest.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let selector = self.selector.as_ref().and_then(SelectorRole::poll_timeout);
        let forwarder = self.forwarder.as_ref().and_then(ForwarderRole::poll_timeout);
        let agent = self.agent.as_ref().and_then(AgentRole::poll_timeout);
        let told = self.tells_at();
        selector.into_iter().chain(forwarder).chain(agent).chain(told).min()
    }

    /// Takes packets that have come, does what is due, and carries everything between the roles. True where more is
    /// to be done at once.
    pub fn step(&mut self, now: Now) -> bool {
        if let Some(selector) = &mut self.selector {
            selector.handle_timeout(now);
        }
        if let Some(agent) = &mut self.agent {
            agent.handle_timeout(now);
        }
        self.forwarder_timeout(now);
        let more = std::mem::replace(&mut self.turn, Turn::WHOLE).is_over();
        self.take_advertisements(now);
        self.take_reports(now);
        let busy = self.busy();
        self.settle(now) || more || busy.advertisements || busy.reports
    }

    /// Waits for packets, for `wake`, or for what is due, `longest` at most.
    ///
    /// # Errors
    /// The system refuses to wait.
    pub fn wait(&mut self, wake: BorrowedFd<'_>, longest: Duration, now: Now) -> io::Result<()> {
        let due = self.poll_timeout().map(|at| at.saturating_duration_since(now.at));
        let longest = due.map_or(longest, |due| due.min(longest));
        if let Some(plane) = self.forwarder.as_mut().and_then(|role| role.plane.as_mut()) {
            return plane.wait(wake, longest, now.at);
        }
        let timeout = Timespec::try_from(longest).map_err(io::Error::other)?;
        match rustix::event::poll(&mut [PollFd::from_borrowed_fd(wake, PollFlags::IN)], Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Carries everything between the roles until nothing moves any more, within a bound; true where something may.
    fn settle(&mut self, now: Now) -> bool {
        let mut rounds = 0..ROUNDS;
        let mut moved = false;
        let more = rounds.all(|_| {
            let forwarder = self.pump_forwarder(now);
            let selector = self.pump_selector(now);
            let restored = self.restore_some(now);
            let agent = self.pump_agent(now);
            let operates = self.operate_on(now);
            let moves = forwarder || selector || restored || agent || operates;
            moved |= moves;
            moves
        });
        moved |= self.observe(now);
        self.tell(moved, now);
        more
    }
}
