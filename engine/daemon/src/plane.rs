//! What the engine needs of a forwarder on its data plane.

use cats_datapath_core::{Applied, BackendError, Effects, ForwarderConfig, Ingress, PlaneCounters, Pruned};
use cats_datapath_kernel::Steering;
use cats_engine_types::{Capabilities, Epoch};
use std::io;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

/// A forwarder on its data plane: the state machine, the kernel or its model, and the packets that are held.
pub trait Plane: Sized {
    /// Adopts what is there, and applies the configuration.
    fn open(config: &ForwarderConfig, epoch: Epoch, now: Instant) -> Result<(Self, Applied), BackendError>;

    /// Applies a new configuration.
    fn reconfigure(&mut self, config: &ForwarderConfig, now: Instant) -> Result<Applied, BackendError>;

    /// The state machine, for what the path selector says and for what it shows.
    fn ingress(&mut self) -> &mut Ingress;

    /// Takes packets that have come, does what is due, and carries out what the machine wants. What is left is for the
    /// path selector.
    fn step(&mut self, now: Instant) -> io::Result<Effects>;

    /// Waits for packets, for `wake`, or for what is due, `longest` at most.
    fn wait(&mut self, wake: BorrowedFd<'_>, longest: Duration, now: Instant) -> io::Result<()>;

    /// What it can realise.
    fn capabilities(&mut self) -> Capabilities;

    /// Removes what is ours and not configured.
    fn prune(&mut self) -> Result<Pruned, BackendError>;

    /// Counters of the whole data plane.
    fn counters(&mut self) -> Result<PlaneCounters, BackendError>;
}

impl Plane for Steering {
    fn open(config: &ForwarderConfig, epoch: Epoch, now: Instant) -> Result<(Self, Applied), BackendError> {
        Steering::open(config, epoch, now)
    }

    fn reconfigure(&mut self, config: &ForwarderConfig, now: Instant) -> Result<Applied, BackendError> {
        Steering::reconfigure(self, config, now)
    }

    fn ingress(&mut self) -> &mut Ingress {
        self.forwarder().ingress()
    }

    fn step(&mut self, now: Instant) -> io::Result<Effects> {
        Steering::step(self, now)
    }

    fn wait(&mut self, wake: BorrowedFd<'_>, longest: Duration, now: Instant) -> io::Result<()> {
        Steering::wait(self, Some(wake), longest, now)
    }

    fn capabilities(&mut self) -> Capabilities {
        use cats_datapath_core::Backend;
        self.forwarder().backend().capabilities()
    }

    fn prune(&mut self) -> Result<Pruned, BackendError> {
        use cats_datapath_core::Backend;
        self.forwarder().backend().prune()
    }

    fn counters(&mut self) -> Result<PlaneCounters, BackendError> {
        use cats_datapath_core::Backend;
        self.forwarder().backend().counters()
    }
}
