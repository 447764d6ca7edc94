//! What an auditor wants to read: failures to authenticate, violations of policy, anomalies, and what operators did
//! (SMA-28).

use super::super::cache::EntryIx;
use super::super::config::Rate;
use super::super::limits::Meter;
use super::super::{Doubts, InstanceKey, QuarantineId, Refusal};
use super::outside::AuthenticationFailure;
use super::{Output, Sma};
use cats_engine_types::UnixMicros;
use std::collections::VecDeque;

/// Records that are kept; the oldest goes first. All are also outputs, for a log that keeps more.
const KEPT: usize = 1024;

/// Records that are made. Beyond, they are counted, and the next one says how many: a flood of bad reports must not
/// fill the disk.
const RATE: Rate = Rate { per_second: 1000, burst: 1000 };

/// Records about one SCI, so that no SCI hides what others did.
const RATE_OF_ONE: Rate = Rate { per_second: 1, burst: 20 };

/// One entry of the audit log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRecord {
    /// Counts up from 1.
    pub number: u64,
    /// When.
    pub at: UnixMicros,
    /// What.
    pub kind: AuditKind,
    /// So many records before this one were left out, because there were too many in a second.
    pub left_out: u64,
}

/// What an audit record is of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuditKind {
    /// Somebody did not prove to be who it claims to be.
    Authentication(AuthenticationFailure),
    /// A report was not taken in.
    Refused {
        /// Whose.
        key: InstanceKey,
        /// Why.
        refusal: Refusal,
    },
    /// A report was taken in with doubts.
    Flagged {
        /// Whose.
        key: InstanceKey,
        /// Which.
        doubts: Doubts,
    },
    /// An SCI reports more often than it may. Told when that begins.
    TooOften {
        /// Which one.
        key: InstanceKey,
    },
    /// An operator released a report from quarantine.
    Released {
        /// Whose.
        key: InstanceKey,
        /// Which one.
        id: QuarantineId,
    },
    /// An operator dropped a report from quarantine.
    Dropped {
        /// Whose.
        key: InstanceKey,
        /// Which one.
        id: QuarantineId,
    },
    /// An operator took an SCI out.
    Removed {
        /// Which one.
        key: InstanceKey,
    },
}

#[derive(Debug, Default)]
pub(super) struct Audit {
    kept: VecDeque<AuditRecord>,
    last: u64,
    meter: Meter,
    left_out: u64,
}

impl Audit {
    pub(super) fn after(&self, after: u64) -> impl Iterator<Item = &AuditRecord> {
        self.kept.iter().skip_while(move |record| record.number <= after)
    }
}

impl Sma {
    /// Puts on record what an SCI did, unless too much of it is on record already.
    pub(super) fn audit_of(&mut self, ix: EntryIx, kind: AuditKind) {
        let now = self.now;
        let entry = self.cache.get_mut(ix);
        if entry.is_some_and(|entry| entry.audited.take(RATE_OF_ONE, now).is_err()) {
            self.leave_out();
        } else {
            self.audit(kind);
        }
    }

    fn leave_out(&mut self) {
        self.audit.left_out += 1;
        self.counters.audit_left_out += 1;
    }

    pub(super) fn audit(&mut self, kind: AuditKind) {
        if self.audit.meter.take(RATE, self.now).is_err() {
            self.leave_out();
            return;
        }
        self.audit.last += 1;
        let left_out = std::mem::take(&mut self.audit.left_out);
        let record = AuditRecord { number: self.audit.last, at: self.wall, kind, left_out };
        if self.audit.kept.len() >= KEPT {
            self.audit.kept.pop_front();
        }
        self.audit.kept.push_back(record.clone());
        self.output(Output::Audit(record));
    }
}
