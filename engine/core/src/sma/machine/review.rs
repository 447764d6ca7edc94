//! What an operator does with reports in quarantine (SMA-4).

use super::super::cache::Arrival;
use super::super::quarantine::{QuarantineId, ReleaseError};
use super::super::validate::Doubts;
use super::{AuditKind, Sma};
use cats_engine_types::{ReportKind, UnixMicros};
use std::time::Instant;

impl Sma {
    /// Takes a report out of quarantine and in, as if it had just been believed when it came.
    ///
    /// What came later holds: a report is not released when a later one of its SCI was taken in, nor when its TTL is
    /// over. Later reports in quarantine stay there and may be released after it; earlier ones may not be any more.
    pub fn release(&mut self, id: QuarantineId, now: Instant, wall: UnixMicros) -> Result<(), ReleaseError> {
        self.set_time(now, wall);
        let waiting = self.quarantine.get(id).ok_or(ReleaseError::Unknown(id))?;
        let key = waiting.key();
        let ix = self.cache.find(key).ok_or(ReleaseError::Gone { id })?;
        let entry = self.cache.get(ix).ok_or(ReleaseError::Gone { id })?;
        if entry.acted.is_some_and(|acted| acted > waiting.report.freshness) {
            return Err(ReleaseError::Superseded { id });
        }
        let ttl = waiting.report.ttl.unwrap_or_else(|| entry.ttl(&self.config.cache));
        let end = waiting.since.checked_add(ttl.min(self.config.cache.max_ttl.capacity));
        if end.is_some_and(|end| end <= self.now) {
            return Err(ReleaseError::Expired { id });
        }
        let Some(waiting) = self.quarantine.remove(id) else { return Err(ReleaseError::Unknown(id)) };
        let mut report = waiting.report;
        // The sample has what a delta report was laid upon.
        report.locator = report.locator.or(entry.locator);
        report.kind = ReportKind::Full;
        let (at, wall) = (waiting.since, waiting.received);
        let arrival = Arrival { report, gap: false, doubts: Doubts::NONE, at, wall };
        self.take_in(ix, &arrival, waiting.sample, Doubts::NONE);
        self.counters.released += 1;
        self.audit(AuditKind::Released { key, id });
        self.finish();
        Ok(())
    }

    /// Drops a report from quarantine.
    pub fn drop_quarantined(
        &mut self,
        id: QuarantineId,
        now: Instant,
        wall: UnixMicros,
    ) -> Result<(), ReleaseError> {
        self.set_time(now, wall);
        let dropped = self.quarantine.remove(id).ok_or(ReleaseError::Unknown(id))?;
        self.counters.dropped += 1;
        self.audit(AuditKind::Dropped { key: dropped.key(), id });
        Ok(())
    }
}
