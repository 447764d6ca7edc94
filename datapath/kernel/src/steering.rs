//! Everything of a forwarder that one thread runs: wait, step, repeat.

use crate::backend::refused;
use crate::{Icmp, NftBackend, PuntQueue, Punted, Verdicts};
use cats_datapath_core::{
    Applied, BackendError, Effects, Forwarder, ForwarderConfig, PacketId, PendingLimits, Verdict,
};
use cats_engine_types::Epoch;
use rustix::event::{PollFd, PollFlags, Timespec};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

/// Punted packets that one step takes, so that bindings and timeouts get their turn in a flood.
const STEP: usize = 256;
/// Times that one step goes back to the queue for what came while it worked.
const ROUNDS: u32 = 4;

/// A forwarder on the nftables data plane, with punt queue and ICMP.
///
/// Runs in one thread, in the network namespace that the thread was in when it was opened:
/// [`Steering::wait`], give it what others sent, [`Steering::step`], send on what it wants, and again.
#[derive(Debug)]
pub struct Steering {
    forwarder: Forwarder<NftBackend>,
    queue: PuntQueue,
    verdicts: Verdicts,
    icmp: Icmp,
    punted: Vec<Punted>,
}

impl Steering {
    /// Adopts what the kernel has, applies the configuration, and binds the punt queue. `epoch` is the start
    /// of this incarnation. The first step reports restored bindings.
    pub fn open(
        config: &ForwarderConfig,
        epoch: Epoch,
        now: Instant,
    ) -> Result<(Self, Applied), BackendError> {
        let mut backend = NftBackend::open(config.node.clone())?;
        let interfaces = backend.interfaces()?;
        let limits = config.ingress.as_ref().map_or_else(PendingLimits::default, |ingress| ingress.pending);
        let queue = PuntQueue::open(&limits, interfaces).map_err(|error| refused("punt queue", &error))?;
        let icmp = Icmp::open(config.underlay_source).map_err(|error| refused("ICMP", &error))?;
        let (forwarder, applied) = Forwarder::start(backend, config, epoch, now)?;
        let verdicts = queue.verdicts();
        Ok((Self { forwarder, queue, verdicts, icmp, punted: Vec::new() }, applied))
    }

    /// What is said to clients and instances.
    pub fn icmp(&self) -> &Icmp {
        &self.icmp
    }

    /// The forwarder, for inputs from the C-PS and for what it shows.
    pub fn forwarder(&mut self) -> &mut Forwarder<NftBackend> {
        &mut self.forwarder
    }

    /// Applies a new configuration.
    pub fn reconfigure(&mut self, config: &ForwarderConfig, now: Instant) -> Result<Applied, BackendError> {
        let applied = self.forwarder.reconfigure(config, now)?;
        self.icmp = Icmp::open(config.underlay_source).map_err(|error| refused("ICMP", &error))?;
        let interfaces = self.forwarder.backend().interfaces()?;
        self.queue.set_interfaces(interfaces);
        let limits = config.ingress.as_ref().map_or_else(PendingLimits::default, |ingress| ingress.pending);
        self.queue.set_limits(&limits).map_err(|error| refused("bounds of the punt queue", &error))?;
        Ok(applied)
    }

    /// Blocks until a packet is punted, the underlay says something, `wake` is readable, or something is
    /// due; at most for `longest`.
    pub fn wait(&mut self, wake: Option<BorrowedFd<'_>>, longest: Duration, now: Instant) -> io::Result<()> {
        let due = self.forwarder.ingress().poll_timeout().map(|(at, _)| at.saturating_duration_since(now));
        let longest = due.map_or(longest, |due| due.min(longest));
        let longest = if self.queue.has_early() { Duration::ZERO } else { longest };
        let timeout = Timespec::try_from(longest).map_err(io::Error::other)?;
        let mut watched = vec![
            PollFd::from_borrowed_fd(self.queue.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(self.icmp.as_fd(), PollFlags::IN),
        ];
        watched.extend(wake.map(|wake| PollFd::from_borrowed_fd(wake, PollFlags::IN)));
        match rustix::event::poll(&mut watched, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Takes what has come, does what is due, and answers the punt queue; what is left is for others:
    /// requests and statuses to the C-PS, faults to the operator. `effects.verdicts` is empty.
    pub fn step(&mut self, now: Instant) -> io::Result<Effects> {
        let mut effects = Effects::default();
        self.forwarder.ingress().handle_timeout(now);
        // Bindings that have come are committed first: what waits for them is released, not joined.
        let given = self.forwarder.drain(now);
        self.carry_out(given, &mut effects)?;
        for round in 0.. {
            let drained = self.take_punted(now)?;
            let taken = self.forwarder.drain(now);
            let idle = drained && taken.verdicts.is_empty() && round > 0;
            self.carry_out(taken, &mut effects)?;
            if idle {
                // All that was released is on its way, and nothing has come since: open staged bindings.
                self.forwarder.ingress().handle_drained();
                let last = self.forwarder.drain(now);
                self.carry_out(last, &mut effects)?;
            }
            if idle || !drained || round == ROUNDS {
                break;
            }
        }
        self.icmp.handle_underlay(self.forwarder.backend(), now);
        Ok(effects)
    }

    /// Hands punted packets to the ingress; whether the queue was found empty.
    fn take_punted(&mut self, now: Instant) -> io::Result<bool> {
        let mut punted = std::mem::take(&mut self.punted);
        let drained = self.queue.receive(STEP, &mut punted)?;
        let mut ended: Vec<(PacketId, Verdict)> = Vec::new();
        for packet in punted.drain(..) {
            match packet {
                Punted::Flow(packet) => self.forwarder.ingress().handle_packet(packet, now),
                Punted::Expired(id, packet) => {
                    self.icmp.time_exceeded(&packet, now);
                    ended.push((id, Verdict::Drop));
                }
                Punted::Other(id) => self.forwarder.ingress().handle_no_flow(id),
            }
        }
        self.punted = punted;
        self.verdicts.send(&ended)?;
        Ok(drained)
    }

    fn carry_out(&mut self, done: Effects, effects: &mut Effects) -> io::Result<()> {
        self.verdicts.send(&done.verdicts)?;
        effects.requests.extend(done.requests);
        effects.statuses.extend(done.statuses);
        effects.faults.extend(done.faults);
        Ok(())
    }
}
