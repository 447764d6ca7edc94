//! What the channels have in common: the instances of a connection, what they say next, and the counts.

use super::Fault;
use super::encode::Answer;
use super::ledger::Ledger;
use super::load::{Draft, Load};
use super::proof::Proof;
use super::settings::Settings;
use crate::Result;
use cats_engine_types::CsciId;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Between attempts to connect.
const PAUSE: Duration = Duration::from_millis(100);

/// The instances of one connection.
pub(super) struct Turn {
    pub(super) settings: Arc<Settings>,
    /// The instance, where the connection is one's own.
    pub(super) alone: Option<CsciId>,
    pub(super) load: Load,
    pub(super) proof: Proof,
    pub(super) ledger: Ledger,
    /// True once no report is to be made any more.
    stop: watch::Receiver<bool>,
}

/// Why a connection is waited at.
pub(super) enum Wake {
    /// Reports are due.
    Due,
    /// There are no more, and their answers were awaited for long enough.
    Over,
}

impl Turn {
    pub(super) fn new(
        settings: Arc<Settings>,
        instances: &[CsciId],
        stranger: CsciId,
        stop: watch::Receiver<bool>,
    ) -> Result<Self> {
        let alone = instances.first().copied().filter(|_| settings.is_apart());
        Ok(Self {
            load: Load::new(Arc::clone(&settings), instances, stranger, Instant::now()),
            proof: Proof::new(Arc::clone(&settings))?,
            ledger: Ledger::new(),
            alone,
            stop,
            settings,
        })
    }

    /// Whether there is nothing more to report.
    pub(super) fn is_over(&self) -> bool {
        *self.stop.borrow() || self.load.due().is_none()
    }

    /// Waits until reports are due, or all is over. `open` answers are awaited meanwhile; the caller takes them in and
    /// calls again.
    pub(super) async fn wake(&mut self, open: bool) -> Wake {
        while !*self.stop.borrow() {
            let Some(due) = self.load.due() else { break };
            tokio::select! {
                () = tokio::time::sleep_until(due.into()) => return Wake::Due,
                changed = self.stop.changed() => if changed.is_err() { break },
            }
        }
        if open {
            tokio::time::sleep(Duration::from_secs_f64(self.settings.wait)).await;
        }
        Wake::Over
    }

    /// Notes that no connection came about or one ended, and waits a little; false when all is over.
    pub(super) async fn disconnected(&mut self, reason: &str) -> bool {
        self.ledger.ended(reason);
        if self.is_over() {
            return false;
        }
        tokio::select! {
            () = tokio::time::sleep(PAUSE) => {}
            _ = self.stop.changed() => {}
        }
        !self.is_over()
    }

    /// A connection is there.
    pub(super) fn connected(&mut self) {
        self.ledger.totals.connected += 1;
        self.load.begin_anew(Instant::now());
    }

    /// The reports that are due, in groups that go together: honest ones up to a batch, each hostile one by itself.
    pub(super) fn groups(&mut self) -> Vec<Vec<Draft>> {
        let drafts = self.load.take(Instant::now());
        self.grouped(drafts)
    }

    pub(super) fn grouped(&self, drafts: Vec<Draft>) -> Vec<Vec<Draft>> {
        let mut groups: Vec<Vec<Draft>> = Vec::new();
        // A document has one signature.
        let signed = self.settings.signing_key.is_some();
        for draft in drafts {
            match groups.last_mut() {
                Some(group)
                    if draft.fault.is_none()
                        && group.last().is_some_and(|last| {
                            last.fault.is_none() && (!signed || last.sender == draft.sender)
                        }) =>
                {
                    group.push(draft);
                }
                Some(_) | None => groups.push(vec![draft]),
            }
        }
        groups
    }

    /// With the token of each, if there are tokens. A signature takes a token's place.
    pub(super) fn proven(&mut self, group: Vec<Draft>) -> Vec<(Draft, Option<String>)> {
        let signed = self.settings.signing_key.is_some();
        let mut token = |draft: &Draft| {
            self.proof.token(draft.sender, draft.fault == Some(Fault::BadSignature)).filter(|_| !signed)
        };
        group
            .into_iter()
            .map(|draft| {
                let token = token(&draft);
                (draft, token)
            })
            .collect()
    }

    /// Takes answers in; gives the reports that they ask for.
    pub(super) fn answered(&mut self, answers: Vec<Answer>) -> Vec<Draft> {
        let now = Instant::now();
        let mut asked = Vec::new();
        for answer in answers {
            match answer {
                Answer::Acknowledge(id, freshness) => self.ledger.acknowledged(id, freshness, now),
                Answer::Reject { id, freshness, reason, detail } => {
                    self.ledger.rejected(id, freshness, &reason, &detail);
                }
                Answer::Pull(id) => {
                    self.ledger.totals.pulls += 1;
                    if !self.is_over() {
                        asked.extend(self.load.pulled(id, now));
                    }
                }
                Answer::Pace { min_interval_ms } => self.ledger.totals.pace_ms = Some(min_interval_ms),
            }
        }
        asked
    }
}
