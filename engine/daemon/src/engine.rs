//! [`Engine`]: the roles of one node around their state machines. It has no tasks and no waiting of its own: it is
//! given what happens with the time at which it is handled, and settles everything that follows before it returns.

mod forwarder;
mod manage;
mod selector;
mod state;

use crate::config::{Desired, desired};
use crate::network::{Arrival, Network};
use crate::plane::Plane;
use crate::store::Store;
use cats_engine_core::config::Checked;
use cats_engine_transport::management::{Call, ConfigId};
use cats_engine_types::Epoch;
use cats_yang_model::Config;
use forwarder::ForwarderRole;
use manage::Prepared;
use rustix::event::{PollFd, PollFlags, Timespec};
use selector::SelectorRole;
use std::io;
use std::os::fd::BorrowedFd;
use std::task::{Context, Poll};
use std::time::{Duration, Instant, SystemTime};
use tokio::runtime::Handle;

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
    epoch: Epoch,
    id: ConfigId,
    config: Checked,
    prepared: Option<Prepared>,
    selector: Option<SelectorRole>,
    forwarder: Option<ForwarderRole<P>>,
    network: Network,
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
            id,
            config: Checked::default(),
            prepared: None,
            selector: None,
            forwarder: None,
            network: Network::new(runtime),
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
        let Desired { selector, forwarder, pki } = desired;
        let remote = forwarder.as_ref().and_then(|forwarder| forwarder.remote.clone());
        let listens = selector.as_ref().is_some_and(|selector| selector.listen.is_some());
        self.network.certificates(&pki, listens || remote.is_some());
        let anew = self.network.listen(selector.as_ref(), self.epoch) || !listens;
        self.apply_selector(selector, anew, now);
        self.apply_forwarder(forwarder, now);
        self.uplink(remote.as_ref(), now);
        self.settle(now);
    }

    /// A message of the management daemon.
    pub fn handle_call(&mut self, call: Call, now: Now) {
        self.manage(call, now);
        self.settle(now);
    }

    /// What came from another node. To be followed by [`Engine::step`].
    pub(crate) fn handle_arrival(&mut self, arrival: Arrival, now: Now) {
        match arrival {
            Arrival::Selector(event) => self.selector_event(event, now),
            Arrival::Forwarder(event) => self.forwarder_event(event, now),
        }
    }

    /// Handles all that has come from other nodes.
    pub fn handle_arrivals(&mut self, context: &mut Context<'_>, now: Now) {
        while let Poll::Ready(arrival) = self.network.poll_next(context) {
            self.handle_arrival(arrival, now);
        }
        self.settle(now);
    }

    pub(crate) fn network(&mut self) -> &mut Network {
        &mut self.network
    }

    /// When [`Engine::step`] is to be called at the latest.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let selector = self.selector.as_ref().and_then(SelectorRole::poll_timeout);
        let forwarder = self.forwarder.as_ref().and_then(ForwarderRole::poll_timeout);
        selector.into_iter().chain(forwarder).min()
    }

    /// Takes packets that have come, does what is due, and carries everything between the roles. True where more is
    /// to be done at once.
    pub fn step(&mut self, now: Now) -> bool {
        if let Some(selector) = &mut self.selector {
            selector.handle_timeout(now);
        }
        self.forwarder_timeout(now);
        self.settle(now)
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
        for _ in 0..ROUNDS {
            let forwarder = self.pump_forwarder(now);
            let selector = self.pump_selector(now);
            let restored = self.restore_some(now);
            if !(forwarder || selector || restored) {
                return false;
            }
        }
        true
    }
}
