//! The rules that YANG cannot say, which are the engine's: pure functions over the typed configuration, so they hold
//! whether or not an engine is connected.

use crate::transports::{self, Configured};
use crate::{content, engine};
use cats_engine_core::config::{Checked, Violation};
use cats_mgmtd_core::{EventLimits, Keeping};
use cats_yang_model::generated::cats_system::{Limits, Ssh};
use cats_yang_model::{ApplyError, Config};
use cats_yang_tree::error::{Error, ErrorTag, Path};
use cats_yang_tree::schema::Schema;
use cats_yang_tree::{ChangeSet, Tree};
use std::sync::Arc;
use std::time::Duration;

/// The typed configuration that runs, which shares with each new one what is equal.
#[derive(Debug, Clone)]
pub(crate) struct Rules {
    running: Checked,
}

/// What the rules say of a configuration.
#[derive(Debug)]
pub(crate) struct Judged {
    pub(crate) errors: Vec<Error>,
    /// The configuration as it was judged; none when it breaks a rule, or when no rule speaks of what changes.
    new: Option<Checked>,
}

impl Rules {
    /// # Errors
    /// When the model cannot hold `running`: schema and model are not of one release.
    pub(crate) fn new(schema: &Schema, running: &Tree) -> Result<Self, Error> {
        let snapshot = content::to_value(schema, running);
        let running = Config::from_json(&snapshot).map_err(|error| fault(&error))?;
        Ok(Self { running: Checked::trusted(running) })
    }

    /// How users log in over SSH.
    pub(crate) fn ssh(&self) -> &Ssh {
        &self.running.config().cats.system.ssh
    }

    /// What clients may take up.
    pub(crate) fn limits(&self) -> &Limits {
        &self.running.config().cats.system.limits
    }

    /// Where clients come in over TLS, and who is called.
    pub(crate) fn transports(&self) -> Configured {
        let system = &self.running.config().cats.system;
        Configured { tls: Arc::clone(&system.tls), call_home: Arc::clone(&system.call_home) }
    }

    /// Which private candidates of lost sessions are kept.
    pub(crate) fn keeping(&self) -> Keeping {
        let policy = &self.running.config().cats.system.detached_candidates;
        Keeping {
            time: Duration::from_secs(u64::from(policy.keep_time())),
            per_user: usize::from(policy.max_per_user()),
            total: usize::from(policy.max()),
        }
    }

    /// How much of the stream of events is kept.
    pub(crate) fn event_limits(&self) -> EventLimits {
        let log = &self.running.config().cats.system.event_log;
        let bytes = usize::try_from(log.max_size()).unwrap_or(usize::MAX).saturating_mul(1024);
        EventLimits { bytes, age: Duration::from_secs(u64::from(log.max_age()) * 3600) }
    }

    /// What is wrong with running after `changes`, at a cost that follows them.
    pub(crate) fn check(&self, schema: &Schema, changes: &ChangeSet) -> Judged {
        let new = match self.after(schema, changes) {
            Ok(None) => return Judged { errors: Vec::new(), new: None },
            Ok(Some(new)) => new,
            Err(error) => return Judged { errors: vec![fault(&error)], new: None },
        };
        let same = Arc::ptr_eq(&new.cats.system.tls, &self.running.config().cats.system.tls);
        let mut errors = if same { Vec::new() } else { transports::check(&new.cats.system.tls) };
        match self.running.after(new) {
            Ok(new) => Judged { new: Some(new).filter(|_| errors.is_empty()), errors },
            Err(violations) => {
                errors.extend(violations.into_iter().map(error_of));
                Judged { errors, new: None }
            }
        }
    }

    /// Takes a commit over; `judged`, where there is one, is what was said of it.
    pub(crate) fn follow(&mut self, schema: &Schema, changes: &ChangeSet, judged: Option<Judged>) {
        if let Some(new) = judged.and_then(|judged| judged.new) {
            self.running = new;
            return;
        }
        match self.after(schema, changes) {
            Ok(None) => {}
            Ok(Some(new)) => self.running = self.running.followed_by(new),
            Err(error) => {
                tracing::error!(%error, "the typed configuration does not follow a commit that it passed")
            }
        }
    }

    /// None when no rule speaks of what changes.
    fn after(&self, schema: &Schema, changes: &ChangeSet) -> Result<Option<Config>, ApplyError> {
        let records = content::modelled(schema, changes);
        if records.is_empty() {
            return Ok(None);
        }
        let mut new = self.running.config().clone();
        for record in records {
            // False is a change of another module, which no rule speaks of.
            let _known = new.apply(&record.into())?;
        }
        Ok(Some(new))
    }
}

fn fault(error: &ApplyError) -> Error {
    Error::application(
        ErrorTag::OperationFailed,
        format!("the model does not hold the configuration: {error}"),
    )
}

fn error_of(violation: Violation) -> Error {
    let mut error = Error::application(engine::tag_of(&violation.tag), violation.message);
    if !violation.path.is_empty() {
        error = error.at(Path(violation.path));
    }
    match violation.app_tag {
        Some(tag) => error.app_tag(tag),
        None => error,
    }
}
