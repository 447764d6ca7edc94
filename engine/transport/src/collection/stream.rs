//! One stream of reports at a C-SMA.

use super::BATCH;
use super::admission::{Admission, Credentials, Denial, LastToken};
use super::server::{CollectionEvent, Connection, ConnectionId, Source, tell};
use crate::Timing;
use crate::accept::Peer;
use crate::pki::Pki;
use crate::revocation::revoked;
use cats_engine_types::{CsciId, Freshness, Report, ReporterInstruction};
use cats_engine_wire::metrics as pb;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::mpsc;
use tonic::{Status, Streaming};

/// What a report costs that is refused here, before it reaches the owner. One that is not gives one back.
const REFUSED: u32 = 8;

/// The stream ends when refused reports cost so much: after 32 in a row, or when there is more than one among nine.
const PATIENCE: u32 = 256;

pub(super) struct Session {
    pub(super) id: ConnectionId,
    pub(super) peer: Peer,
    pub(super) credentials: Credentials,
    pub(super) pki: Arc<Pki>,
    pub(super) admission: Arc<Admission>,
    pub(super) events: mpsc::Sender<CollectionEvent>,
    pub(super) instructions: mpsc::WeakSender<ReporterInstruction>,
}

impl Session {
    pub(super) async fn run(
        self,
        incoming: Streaming<pb::FromReporter>,
        connection: Connection,
        queue: mpsc::Receiver<ReporterInstruction>,
        out: mpsc::Sender<Result<pb::ToReporter, Status>>,
        timing: Timing,
    ) {
        if self.events.send(CollectionEvent::Connected(connection)).await.is_err() {
            drop(out.try_send(Err(Status::unavailable("the metric agent stops"))));
            return;
        }
        tracing::debug!(peer = %self.peer.address, identities = %self.credentials.identities, "instance connected");
        let end = tokio::select! {
            end = self.receive(incoming, timing) => end,
            end = write(queue, &out, timing) => end,
            end = revoked(&self.pki, &self.peer) => end,
        };
        tracing::debug!(peer = %self.peer.address, reason = %end.message(), "instance disconnected");
        drop(out.try_send(Err(end)));
        drop(self.events.send(CollectionEvent::Disconnected(self.id)).await);
    }

    /// Reads until the stream ends, which gives the status that the peer gets.
    async fn receive(&self, mut incoming: Streaming<pb::FromReporter>, timing: Timing) -> Status {
        use pb::from_reporter::Message;
        let mut last = LastToken::default();
        let mut strain = 0_u32;
        loop {
            let message = match tokio::time::timeout(timing.silence, incoming.message()).await {
                Ok(Ok(Some(message))) => message.message,
                Ok(Ok(None)) => return Status::ok("the instance closed the stream"),
                Ok(Err(status)) => return status,
                Err(_) => return Status::deadline_exceeded("the instance is silent"),
            };
            // An unknown kind of message comes from a newer release.
            let Some(Message::Reports(batch)) = message else { continue };
            let read = Instant::now();
            let mut reports = Vec::with_capacity(batch.reports.len());
            for message in batch.reports {
                match self.judge(message, &mut last) {
                    Ok(report) => {
                        strain = strain.saturating_sub(1);
                        reports.push(report);
                    }
                    Err((place, denial)) => {
                        strain += REFUSED;
                        if let Err(status) = self.refuse(place, denial, strain) {
                            return status;
                        }
                    }
                }
            }
            if reports.is_empty() {
                continue;
            }
            let event = CollectionEvent::Reports { source: Source::Stream(self.id), read, reports };
            if self.events.send(event).await.is_err() {
                return Status::unavailable("the metric agent stops");
            }
        }
    }

    /// The report of a message, or which report it is not, and why.
    fn judge(
        &self,
        mut message: pb::Report,
        last: &mut LastToken,
    ) -> Result<Report, (Option<(CsciId, Freshness)>, Denial)> {
        let token = message.token.take();
        let place = message.csci_id.clone().and_then(|id| CsciId::try_from(id).ok()).zip(message.freshness);
        let place = place.map(|(id, at)| (id, Freshness { epoch: at.epoch, sequence: at.sequence }));
        let report = Report::try_from(message)
            .map_err(|error| (place, self.admission.malformed(error.to_string())))?;
        self.admission
            .admit(&self.credentials, token.as_deref(), last, &report)
            .map_err(|denial| (place, denial))?;
        Ok(report)
    }

    /// Tells the sender. One that sends nothing else than what is refused is let go.
    fn refuse(&self, place: Option<(CsciId, Freshness)>, denial: Denial, strain: u32) -> Result<(), Status> {
        let claimed = place.map(|(id, _)| id);
        tell(&self.events, self.peer.address.to_string(), claimed, denial.clone());
        let Some((csci_id, freshness)) = place else {
            return Err(Status::invalid_argument(denial.to_string()));
        };
        if strain >= PATIENCE {
            return Err(Status::permission_denied(format!(
                "too many reports are refused, the last one because {denial}"
            )));
        }
        let instruction = ReporterInstruction::Reject {
            csci_id,
            freshness,
            reason: denial.rejection(),
            detail: denial.to_string(),
        };
        match self.instructions.upgrade() {
            Some(instructions) if instructions.try_send(instruction).is_ok() => Ok(()),
            Some(_) => Err(Status::resource_exhausted("the instance does not read its answers")),
            None => Err(Status::aborted("the metric agent let the instance go")),
        }
    }
}

/// Sends what is queued until the owner drops the connection or the peer is gone.
async fn write(
    mut queue: mpsc::Receiver<ReporterInstruction>,
    out: &mpsc::Sender<Result<pb::ToReporter, Status>>,
    timing: Timing,
) -> Status {
    use pb::to_reporter::Message;
    let mut batch = Vec::with_capacity(BATCH);
    loop {
        let message = match tokio::time::timeout(timing.keepalive, queue.recv_many(&mut batch, BATCH)).await {
            Ok(0) => return Status::aborted("the metric agent let the instance go"),
            Ok(_) => {
                batch.dedup_by(supersede);
                let instructions = batch.iter().map(Into::into).collect();
                Message::Instructions(pb::ReporterInstructions { instructions })
            }
            Err(_) => Message::Keepalive(pb::Keepalive {}),
        };
        batch.clear();
        let sent = out.send(Ok(pb::ToReporter { message: Some(message) }));
        match tokio::time::timeout(timing.silence, sent).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return Status::cancelled("the connection is gone"),
            Err(_) => return Status::deadline_exceeded("the instance does not read"),
        }
    }
}

/// Of two acknowledgements of one instance, one right behind the other, the later says it all.
fn supersede(later: &mut ReporterInstruction, earlier: &mut ReporterInstruction) -> bool {
    use ReporterInstruction::Acknowledge;
    match (&*later, earlier) {
        (Acknowledge { csci_id, freshness }, Acknowledge { csci_id: id, freshness: at }) if csci_id == id => {
            *at = *freshness;
            true
        }
        _ => false,
    }
}
