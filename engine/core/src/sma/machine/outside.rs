//! What others than the SCIs tell: transports, a monitor of health, operators (SMA-24, SMA-28).

use super::super::InstanceKey;
use super::super::cache::EntryIx;
use super::super::state::SciState;
use super::{AuditKind, PullCause, Sma};
use cats_engine_types::{CsciId, Health, UnixMicros, WithdrawalReason};
use std::time::Instant;

/// Somebody did not prove to be who it claims to be. A transport tells of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthenticationFailure {
    /// Where it came from, as the transport names it.
    pub peer: String,
    /// The SCI that it claims to be, where it got that far.
    pub claimed: Option<CsciId>,
    /// What is wrong: the certificate, the token, its time, its issuer.
    pub reason: String,
}

/// No SCI of this identity is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0} is not known to this service metric agent: it neither reported nor is configured")]
pub struct UnknownInstance(pub CsciId);

impl Sma {
    /// A transport turned somebody away.
    pub fn handle_authentication_failure(
        &mut self,
        failure: AuthenticationFailure,
        now: Instant,
        wall: UnixMicros,
    ) {
        self.set_time(now, wall);
        self.counters.authentication_failures += 1;
        self.audit(AuditKind::Authentication(failure));
    }

    /// Another source than the SCI tells of its health, until it tells otherwise: the site's monitoring, or probes.
    /// UNKNOWN is no opinion, and HEALTHY does not make better what the SCI says of itself.
    ///
    /// UNHEALTHY takes the slots out at once; of a STALE SCI it says that there is nothing to wait for.
    pub fn handle_health(
        &mut self,
        csci_id: CsciId,
        health: Health,
        now: Instant,
        wall: UnixMicros,
    ) -> Result<(), UnknownInstance> {
        self.set_time(now, wall);
        let entries: Vec<EntryIx> = self.cache.of_instance(csci_id).map(|(ix, _)| ix).collect();
        if entries.is_empty() {
            return Err(UnknownInstance(csci_id));
        }
        for ix in entries {
            self.monitored(ix, health);
        }
        self.finish();
        Ok(())
    }

    fn monitored(&mut self, ix: EntryIx, health: Health) {
        let Some(entry) = self.cache.get_mut(ix) else { return };
        let (key, before) = (entry.key, entry.health());
        let opinion = entry.monitored.replace(health);
        let state = entry.state;
        self.tell_health(ix, key, before);
        if state == SciState::Stale && health == Health::Unhealthy {
            self.fail(ix);
        }
        self.offer(ix);
        if opinion == Some(Health::Unhealthy) && health != Health::Unhealthy {
            self.pull(ix, PullCause::Recovery);
        }
    }

    /// An operator takes an SCI out: its metrics are withdrawn. Its next report brings it back.
    pub fn remove(
        &mut self,
        key: InstanceKey,
        now: Instant,
        wall: UnixMicros,
    ) -> Result<(), UnknownInstance> {
        self.set_time(now, wall);
        let ix = self.cache.find(key).ok_or(UnknownInstance(key.csci_id))?;
        self.withdraw(ix, WithdrawalReason::Removed);
        self.audit(AuditKind::Removed { key });
        self.finish();
        Ok(())
    }
}
