//! Ingress and backend together: every backend output is carried out in batches, what is left for others
//! comes back as [`Effects`].

use crate::{
    Applied, Backend, BackendError, ForwarderConfig, Ingress, IngressConfig, Install, Output, PacketId,
    check_config,
};
use cats_engine_types::{Binding, BindingStatus, Epoch, ServiceRequest};
use std::sync::Arc;
use std::time::Instant;

/// What becomes of a punted packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It goes on, with the release mark.
    Release,
    /// It ends here.
    Drop,
}

/// What a forwarder wants of others, each in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Effects {
    /// To the C-PS.
    pub requests: Vec<ServiceRequest>,
    /// To the C-PS.
    pub statuses: Vec<BindingStatus>,
    /// To the punt path.
    pub verdicts: Vec<(PacketId, Verdict)>,
    /// Faults of the data plane; what was to be removed is tried again.
    pub faults: Vec<BackendError>,
}

impl Effects {
    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A forwarder: the ingress state machine, the backend, and between them every commit.
///
/// Give it inputs, then call [`Forwarder::drain`]: inputs given before one drain reach the backend in common
/// transactions. A node without the ingress role has an ingress without services: it binds nothing.
#[derive(Debug)]
pub struct Forwarder<B> {
    backend: B,
    ingress: Ingress,
}

impl<B: Backend> Forwarder<B> {
    /// Applies the configuration and adopts what the data plane has. `epoch` is the start of this
    /// incarnation and never repeats. Drain afterwards: restored bindings are reported.
    pub fn start(
        mut backend: B,
        config: &ForwarderConfig,
        epoch: Epoch,
        now: Instant,
    ) -> Result<(Self, Applied), BackendError> {
        check_config(config)?;
        let adopted = backend.adopt()?;
        let applied = backend.apply_static(config)?;
        let mut ingress = Ingress::new(config.node.clone(), ingress_of(config), epoch, now);
        ingress.handle_adopted(adopted, now);
        Ok((Self { backend, ingress }, applied))
    }

    /// Applies a new configuration. Flows of services that left it end with the next drain.
    pub fn reconfigure(&mut self, config: &ForwarderConfig, now: Instant) -> Result<Applied, BackendError> {
        check_config(config)?;
        let applied = self.backend.apply_static(config)?;
        self.ingress.handle_config(ingress_of(config), now);
        Ok(applied)
    }

    /// The state machine, for its inputs and what it shows.
    pub fn ingress(&mut self) -> &mut Ingress {
        &mut self.ingress
    }

    /// The data plane, for its counters and for pruning.
    pub fn backend(&mut self) -> &mut B {
        &mut self.backend
    }

    /// Carries out everything that is due, until nothing is left for the backend.
    pub fn drain(&mut self, now: Instant) -> Effects {
        let mut effects = Effects::default();
        let mut batch = Batch::default();
        loop {
            while let Some(output) = self.ingress.poll_output() {
                match batch.add(output) {
                    // Order within one kind of backend work is kept; another kind ends the batch.
                    Some(Left::Backend(output)) => {
                        self.run(std::mem::take(&mut batch), now, &mut effects);
                        batch.add(output);
                    }
                    Some(Left::Effect(output)) => effects.take(output),
                    None => {}
                }
            }
            if batch.is_empty() {
                return effects;
            }
            self.run(std::mem::take(&mut batch), now, &mut effects);
        }
    }

    fn run(&mut self, batch: Batch, now: Instant, effects: &mut Effects) {
        match batch {
            Batch::Empty => {}
            Batch::Commit(installs) => {
                let results = self.backend.commit(&installs);
                for (install, result) in installs.iter().zip(results) {
                    self.ingress.handle_commit_result(&install.binding, result, now);
                }
            }
            Batch::Activate(bindings) => {
                let results = self.backend.activate(&bindings);
                for (binding, result) in bindings.iter().zip(results) {
                    self.ingress.handle_activate_result(binding, result, now);
                }
            }
            Batch::Remove(bindings) => match self.backend.remove(&bindings) {
                Ok(counters) => {
                    for (binding, counters) in bindings.iter().zip(counters) {
                        self.ingress.handle_removed(binding, counters);
                    }
                }
                Err(fault) => effects.faults.push(fault),
            },
            Batch::QueryIdle(bindings) => match self.backend.last_used(&bindings) {
                Ok(idle) => {
                    let keys = bindings.iter().map(|binding| binding.forward.key);
                    let idle: Vec<_> = keys.zip(idle).collect();
                    self.ingress.handle_last_used(&idle, now);
                }
                Err(fault) => {
                    effects.faults.push(fault);
                    self.ingress.handle_query_failed(&bindings, now);
                }
            },
        }
    }
}

impl Effects {
    fn take(&mut self, output: Output) {
        match output {
            Output::Request(request) => self.requests.push(request),
            Output::Status(status) => self.statuses.push(status),
            Output::Release(packets) => {
                self.verdicts.extend(packets.into_iter().map(|id| (id, Verdict::Release)));
            }
            Output::Drop { packets, .. } => {
                self.verdicts.extend(packets.into_iter().map(|id| (id, Verdict::Drop)));
            }
            // Batch::add keeps these.
            Output::Commit(_) | Output::Activate(_) | Output::Remove(_) | Output::QueryIdle(_) => {}
        }
    }
}

/// Backend work of one kind.
#[derive(Debug, Default)]
enum Batch {
    #[default]
    Empty,
    Commit(Vec<Install>),
    Activate(Vec<Arc<Binding>>),
    Remove(Vec<Arc<Binding>>),
    QueryIdle(Vec<Arc<Binding>>),
}

/// What a batch does not take.
enum Left {
    /// Backend work of another kind.
    Backend(Output),
    /// For others.
    Effect(Output),
}

impl Batch {
    fn is_empty(&self) -> bool {
        matches!(self, Batch::Empty)
    }

    fn add(&mut self, output: Output) -> Option<Left> {
        match (&mut *self, output) {
            (
                _,
                output @ (Output::Request(_) | Output::Status(_) | Output::Release(_) | Output::Drop { .. }),
            ) => {
                return Some(Left::Effect(output));
            }
            (Batch::Commit(batch), Output::Commit(install)) => batch.push(install),
            (Batch::Activate(batch), Output::Activate(binding)) => batch.push(binding),
            (Batch::Remove(batch), Output::Remove(binding)) => batch.push(binding),
            (Batch::QueryIdle(batch), Output::QueryIdle(page)) => batch.extend(page),
            (Batch::Empty, Output::Commit(install)) => *self = Batch::Commit(vec![install]),
            (Batch::Empty, Output::Activate(binding)) => *self = Batch::Activate(vec![binding]),
            (Batch::Empty, Output::Remove(binding)) => *self = Batch::Remove(vec![binding]),
            (Batch::Empty, Output::QueryIdle(page)) => *self = Batch::QueryIdle(page),
            (Batch::Commit(_) | Batch::Activate(_) | Batch::Remove(_) | Batch::QueryIdle(_), output) => {
                return Some(Left::Backend(output));
            }
        }
        None
    }
}

fn ingress_of(config: &ForwarderConfig) -> IngressConfig {
    config.ingress.clone().unwrap_or_default()
}
