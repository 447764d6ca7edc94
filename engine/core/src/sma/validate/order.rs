//! The order of an SCI's reports: none counts twice, none after a later one (SMA-5).

use super::Refusal;
use cats_engine_types::Freshness;

/// What came so far of one SCI: the latest report, and which of the 64 up to it were seen.
#[derive(Debug, Clone, Copy, Default)]
pub(in super::super) struct Order {
    last: Option<Freshness>,
    /// Bit n stands for the sequence number n below the latest one.
    seen: u64,
}

impl Order {
    /// The latest report.
    pub(in super::super) fn last(&self) -> Option<Freshness> {
        self.last
    }

    /// Whether a report is later than all before it.
    pub(in super::super) fn check(&self, found: Freshness) -> Result<(), Refusal> {
        let Some(last) = self.last else { return Ok(()) };
        if found > last {
            return Ok(());
        }
        if found == last {
            return Err(Refusal::Duplicate { found });
        }
        let behind = last.sequence.saturating_sub(found.sequence);
        let unseen = found.epoch == last.epoch && behind < 64 && self.seen >> behind & 1 == 0;
        Err(if unseen { Refusal::OutOfOrder { found, last } } else { Refusal::Replayed { found, last } })
    }

    /// Remembers a report, be it taken in or not.
    pub(in super::super) fn see(&mut self, found: Freshness) {
        let Some(last) = self.last else {
            (self.last, self.seen) = (Some(found), 1);
            return;
        };
        if found.epoch > last.epoch {
            (self.last, self.seen) = (Some(found), 1);
        } else if found > last {
            let ahead = u32::try_from(found.sequence - last.sequence).unwrap_or(u32::MAX);
            (self.last, self.seen) = (Some(found), self.seen.checked_shl(ahead).unwrap_or(0) | 1);
        } else if found.epoch == last.epoch && last.sequence - found.sequence < 64 {
            self.seen |= 1 << (last.sequence - found.sequence);
        }
    }
}
