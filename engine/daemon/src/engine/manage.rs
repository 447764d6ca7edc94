//! The engine's side of a commit.

use super::{Engine, Now};
use crate::change::{fault_of, model_change};
use crate::config::{Desired, desired};
use crate::plane::Plane;
use cats_engine_core::config::Checked;
use cats_engine_transport::management::{Attached, Call, Change, ConfigId, Fault};
use cats_engine_types::Revision;
use cats_yang_model::Config;

/// A commit between its two phases.
#[derive(Debug)]
pub(super) struct Prepared {
    revision: Revision,
    changes: Vec<Change>,
    config: Checked,
    desired: Desired,
}

impl<P: Plane> Engine<P> {
    pub(super) fn manage(&mut self, call: Call, now: Now) {
        // Somebody who no longer waits for an answer needs none.
        match call {
            Call::Attach(id, reply) => {
                self.prepared = None;
                let needs_snapshot = id != self.id;
                tracing::info!(revision = %id.revision, ours = %self.id.revision, needs_snapshot, "management attached");
                if !needs_snapshot {
                    self.confirm();
                }
                let nodes = Config::top_level().map(str::to_owned).collect();
                drop(reply.send(Attached { revision: self.id.revision, needs_snapshot, nodes }));
            }
            Call::Snapshot { id, document, reply } => drop(reply.send(self.snapshot(id, &document, now))),
            Call::Prepare { revision, base, changes, reply } => {
                self.prepared = None;
                let prepared = self.prepare(revision, base, changes);
                let answer = prepared.map(|prepared| {
                    let steps = self.steps(&prepared.desired);
                    self.prepared = Some(prepared);
                    steps
                });
                drop(reply.send(answer));
            }
            Call::Apply(revision, reply) => drop(reply.send(self.commit(revision, now))),
            Call::Abort(revision, reply) => {
                self.prepared = self.prepared.take().filter(|prepared| prepared.revision != revision);
                reply.send(()).unwrap_or_default();
            }
            Call::Detach => self.prepared = None,
            Call::State { paths, limit, page, reply } => {
                drop(reply.send(self.state(&paths, limit, page.as_deref(), now)));
            }
            Call::Watch { paths, deltas } => self.watch(&paths, deltas, now),
            Call::Execute { operation, input, reply } => self.operate(&operation, &input, reply, now),
        }
    }

    fn confirm(&mut self) {
        self.confirmed = true;
        self.prune();
    }

    fn snapshot(&mut self, id: ConfigId, document: &[u8], now: Now) -> Result<(), Vec<Fault>> {
        self.prepared = None;
        let json = serde_json::from_slice(document).map_err(|error| {
            vec![fault("/", "malformed-message", format!("the snapshot is no JSON: {error}"))]
        })?;
        let config = Config::from_json(&json).map_err(|error| vec![fault_of(&error)])?;
        let (config, desired) = desired(&Checked::default(), config, id.revision)?;
        self.store
            .write_snapshot(&id, config.config())
            .map_err(|error| vec![fault("/", "operation-failed", error.to_string())])?;
        tracing::info!(revision = %id.revision, "configuration taken over");
        self.id = id;
        self.config = config;
        self.confirmed = true;
        self.apply(desired, now);
        Ok(())
    }

    fn prepare(
        &self,
        revision: Revision,
        base: Revision,
        changes: Vec<Change>,
    ) -> Result<Prepared, Vec<Fault>> {
        if base != self.id.revision {
            let message =
                format!("the engine runs revision {}, the changes start from {base}", self.id.revision);
            return Err(vec![fault("/", "operation-failed", message)]);
        }
        let mut config = self.config.config().clone();
        for change in &changes {
            let change = model_change(change).map_err(|fault| vec![fault])?;
            config.apply(&change).map_err(|error| vec![fault_of(&error)])?;
        }
        let (config, desired) = desired(&self.config, config, revision)?;
        Ok(Prepared { revision, changes, config, desired })
    }

    /// What a commit will do, for people.
    fn steps(&self, desired: &Desired) -> Vec<String> {
        let mut steps = Vec::new();
        match (&self.selector, &desired.selector) {
            (None, Some(_)) => steps.push("start the path selector".to_owned()),
            (Some(_), None) => steps.push("stop the path selector".to_owned()),
            (Some(_), Some(_)) => steps.push("configure the path selector".to_owned()),
            (None, None) => {}
        }
        match (self.forwarder.as_ref().map(|role| &role.desired), &desired.forwarder) {
            (None, Some(_)) => steps.push("start the forwarder".to_owned()),
            (Some(_), None) => steps.push("stop the forwarder and remove what it installed".to_owned()),
            (Some(old), Some(new)) if old != new => steps.push("change the data plane".to_owned()),
            (Some(_), Some(_)) | (None, None) => {}
        }
        match (self.agent.as_ref().map(|role| &role.desired), &desired.agent) {
            (None, Some(_)) => steps.push("start the metric agent".to_owned()),
            (Some(_), None) => {
                steps.push("stop the metric agent and withdraw what it advertised".to_owned());
            }
            (Some(old), Some(new)) if old != new => steps.push("configure the metric agent".to_owned()),
            (Some(_), Some(_)) | (None, None) => {}
        }
        steps
    }

    fn commit(&mut self, revision: Revision, now: Now) -> Result<(), String> {
        let Some(prepared) = self.prepared.take().filter(|prepared| prepared.revision == revision) else {
            return Err(format!("revision {revision} is not prepared"));
        };
        let Prepared { changes, config, desired, .. } = prepared;
        self.id.revision = revision;
        self.config = config;
        // The commit is decided: a full disk costs a snapshot after the next start, not the commit.
        if let Err(error) = self.store.write_commit(&self.id, &changes, self.config.config()) {
            tracing::error!(%error, "the configuration could not be stored");
        }
        self.apply(desired, now);
        Ok(())
    }
}

fn fault(path: &str, tag: &str, message: String) -> Fault {
    Fault { path: path.to_owned(), tag: tag.to_owned(), app_tag: None, message }
}
