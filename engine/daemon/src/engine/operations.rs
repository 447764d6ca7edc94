//! Operations: what people have done to a running node, from the words of the modules to those of the roles.
//!
//! Most are answered at once. One that looks at many records does so some at a time, between packets, and is answered at
//! the end; who gives up waiting ends it where it is.

mod agent;
mod selector;

use super::{Engine, Now};
use crate::change::fault_of;
use crate::plane::Plane;
use agent::Trying;
use cats_engine_transport::management::Fault;
use cats_yang_model::operation::Operation;
use cats_yang_model::operations::cats_exec::{
    ClearBindings, DropQuarantined, PolicyDryRun, ReleaseQuarantined, SelectDryRun, Synchronise,
};
use selector::Clearing;
use serde_json::Value;
use std::collections::VecDeque;
use std::fmt::Display;
use tokio::sync::oneshot;

/// Where an answer goes: the output, or why nothing was done.
pub(super) type Reply = oneshot::Sender<Result<Vec<u8>, Vec<Fault>>>;

/// So many operations that take their time are under way at most.
const MOST: usize = 16;

/// Operations that take their time, in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct Operations {
    jobs: VecDeque<Job>,
}

/// One that takes its time, between two looks at it.
#[derive(Debug)]
enum Job {
    Clearing(Box<Clearing>),
    Trying(Box<Trying>),
}

impl Job {
    fn reply(self) -> Reply {
        match self {
            Job::Clearing(clearing) => clearing.reply,
            Job::Trying(trying) => trying.reply,
        }
    }
}

impl<P: Plane> Engine<P> {
    /// Carries an operation out, or begins to.
    pub(super) fn operate(&mut self, operation: &str, input: &[u8], reply: Reply, now: Now) {
        // Nothing is done that nobody waits for any more.
        if reply.is_closed() {
            return;
        }
        let input = match serde_json::from_slice::<Value>(input) {
            Ok(input) => input,
            Err(error) => {
                let message = format!("the input is no JSON: {error}");
                return answer(reply, Err(vec![fault("/", "malformed-message", &message)]));
            }
        };
        match operation {
            name if is::<SelectDryRun>(name) => {
                answer(
                    reply,
                    self.carried::<SelectDryRun>(&input, |engine, input| engine.select_dry_run(&input, now)),
                );
            }
            name if is::<ClearBindings>(name) => self.begin_clearing(&input, reply, now),
            name if is::<ReleaseQuarantined>(name) => {
                let done = self.carried::<ReleaseQuarantined>(&input, |engine, input| {
                    engine.release_quarantined(&input, now)
                });
                answer(reply, done);
            }
            name if is::<DropQuarantined>(name) => {
                let done = self
                    .carried::<DropQuarantined>(&input, |engine, input| engine.drop_quarantined(&input, now));
                answer(reply, done);
            }
            name if is::<PolicyDryRun>(name) => self.begin_trying(&input, reply),
            name if is::<Synchronise>(name) => {
                answer(
                    reply,
                    self.carried::<Synchronise>(&input, |engine, input| engine.synchronise(&input, now)),
                );
            }
            unknown => {
                let message = format!(
                    "the engine has no operation {unknown}; it is of another release than cats-mgmtd"
                );
                answer(reply, Err(vec![fault("/", "operation-not-supported", &message)]));
            }
        }
    }

    /// Takes in what takes its time.
    fn queue(&mut self, job: Job) {
        if self.operations.jobs.len() < MOST {
            self.operations.jobs.push_back(job);
            return;
        }
        let message = "too many operations are under way: try again later";
        answer(job.reply(), Err(vec![fault("/", "resource-denied", message)]));
    }

    /// Goes on with what takes its time; false if there is nothing. All of it gets its turn.
    pub(super) fn operate_on(&mut self, now: Now) -> bool {
        let Some(job) = self.operations.jobs.pop_front() else { return false };
        let left = match job {
            Job::Clearing(clearing) => self.clear_some(clearing, now).map(Job::Clearing),
            Job::Trying(trying) => self.try_some(trying).map(Job::Trying),
        };
        self.operations.jobs.extend(left);
        true
    }

    fn carried<O: Operation>(
        &mut self,
        input: &Value,
        carry_out: impl FnOnce(&mut Self, O::Input) -> Result<O::Output, Vec<Fault>>,
    ) -> Result<Vec<u8>, Vec<Fault>> {
        let input = O::read(input).map_err(|error| vec![fault_of(&error)])?;
        written::<O>(&carry_out(self, input)?)
    }
}

fn is<O: Operation>(name: &str) -> bool {
    name.split_once(':') == Some((O::MODULE, O::NAME))
}

fn written<O: Operation>(output: &O::Output) -> Result<Vec<u8>, Vec<Fault>> {
    let failed = |error: serde_json::Error| vec![fault("/", "operation-failed", &error.to_string())];
    serde_json::to_vec(&O::write(output)).map_err(failed)
}

/// Somebody who no longer waits for an answer needs none.
fn answer(reply: Reply, result: Result<Vec<u8>, Vec<Fault>>) {
    drop(reply.send(result));
}

/// A parameter that the roles do not take.
fn wrong<O: Operation>(parameter: &str, reason: &dyn Display) -> Vec<Fault> {
    vec![fault(&path::<O>(parameter), "invalid-value", &reason.to_string())]
}

fn path<O: Operation>(parameter: &str) -> String {
    format!("/{}:{}/{parameter}", O::MODULE, O::NAME)
}

/// The node has not the role that carries the operation out.
fn without_role(role: &str, container: &str) -> Vec<Fault> {
    let message = format!("this node is no {role}: ask the node that is, or enable {container} here");
    vec![fault("/", "operation-not-supported", &message)]
}

fn fault(path: &str, tag: &str, message: &str) -> Fault {
    Fault { path: path.to_owned(), tag: tag.to_owned(), app_tag: None, message: message.to_owned() }
}
