//! A commit until somebody else is told of it.

use super::endpoint::{Client, Endpoint};
use super::load;
use cats_conformance::{LabError, Result};
use std::time::Instant;

/// Commits of a round: the peer takes up to a second for each.
const COMMITS: u32 = 3;

/// A session that commits, and one that is told.
pub(super) struct Told {
    committer: Client,
    listener: Client,
}

impl Told {
    pub(super) fn connect(end: &Endpoint) -> Result<Told> {
        let (committer, mut listener) = (end.connect()?.settle(), end.connect()?.settle());
        let subscribe = "<create-subscription xmlns=\"urn:ietf:params:xml:ns:netconf:notification:1.0\"/>";
        listener.session.succeed(subscribe)?;
        Ok(Told { committer, listener })
    }

    /// Seconds from the request to commit one leaf until the notification of it is received.
    pub(super) fn commits(&mut self, round: usize) -> Result<f64> {
        let mut taken = 0.0;
        for commit in 0..COMMITS {
            // Another value than any before it.
            let value = 1 + 4 * round + commit as usize;
            self.committer.session.edit_candidate(&load::knob(value))?;
            let begin = Instant::now();
            self.committer.session.send("<commit/>")?;
            self.wait_for_change()?;
            taken += begin.elapsed().as_secs_f64();
            let reply = self.committer.session.receive()?;
            if reply.contains("rpc-error") {
                return Err(LabError::new("committing one leaf", reply));
            }
        }
        Ok(taken / f64::from(COMMITS))
    }

    /// Sessions that come and go are told too.
    fn wait_for_change(&mut self) -> Result<()> {
        while !self.listener.session.receive()?.contains("netconf-config-change") {}
        Ok(())
    }
}
