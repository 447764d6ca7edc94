//! One stream of reports at a C-SMA.

use super::BATCH;
use super::admission::{Admission, Credentials, Denial, KnownTokens, Proof};
use super::answers::{Room, Said};
use super::server::{CollectionEvent, Connection, ConnectionId, Source, tell};
use crate::Timing;
use crate::accept::Peer;
use crate::pki::Pki;
use crate::revocation::revoked;
use crate::sent::Sent;
use cats_engine_types::{CsciId, Freshness, Report, ReporterInstruction};
use cats_engine_wire::metrics as pb;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio::time::Sleep;
use tokio_stream::{Stream, StreamExt};
use tonic::{Status, Streaming};

/// What a report costs that is refused here, before it reaches the owner. One that is not gives one back.
const REFUSED: u32 = 8;

/// The stream ends when refused reports cost so much: after 32 in a row, or when there is more than one among nine.
const PATIENCE: u32 = 256;

/// Which report of which instance, as far as a message says so.
type Place = Option<(CsciId, Freshness)>;

pub(super) struct Session {
    pub(super) id: ConnectionId,
    pub(super) peer: Peer,
    pub(super) credentials: Credentials,
    pub(super) pki: Arc<Pki>,
    pub(super) admission: Arc<Admission>,
    pub(super) events: mpsc::Sender<CollectionEvent>,
    pub(super) room: Room,
}

impl Session {
    pub(super) async fn run(
        self,
        incoming: Streaming<pb::FromReporter>,
        connection: Connection,
        said: mpsc::Receiver<Said>,
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
            end = write(said, &out, timing) => end,
            end = revoked(&self.pki, &self.peer) => end,
        };
        tracing::debug!(peer = %self.peer.address, reason = %end.message(), "instance disconnected");
        drop(out.try_send(Err(end)));
        drop(self.events.send(CollectionEvent::Disconnected(self.id)).await);
    }

    /// Reads until the stream ends, which gives the status that the peer gets.
    async fn receive(&self, mut incoming: Streaming<pb::FromReporter>, timing: Timing) -> Status {
        let mut judge = Judge { session: self, known: KnownTokens::default(), strain: 0 };
        let mut silence = pin!(tokio::time::sleep(timing.silence));
        loop {
            let first = tokio::select! {
                biased;
                first = incoming.next() => first,
                () = &mut silence => return Status::deadline_exceeded("the instance is silent"),
            };
            let read = Instant::now();
            put_off(silence.as_mut(), read, timing.silence);
            let mut judged = Judged::default();
            let mut end = judge.take(first, &mut judged).err();
            // What has come by now goes on together: with many small messages, each costs little more than its octets.
            while end.is_none() && judged.count() < BATCH {
                match std::future::poll_fn(|cx| Poll::Ready(Pin::new(&mut incoming).poll_next(cx))).await {
                    Poll::Ready(next) => end = judge.take(next, &mut judged).err(),
                    Poll::Pending => break,
                }
            }
            if let Err(status) = self.hand_over(judged, read).await {
                return status;
            }
            if let Some(end) = end {
                return end;
            }
        }
    }

    /// Says what is refused, and hands the other reports to the owner, when there is room for the answers.
    async fn hand_over(&self, judged: Judged, read: Instant) -> Result<(), Status> {
        let gone = || Status::aborted("the metric agent let the instance go");
        let Judged { reports, refused, others } = judged;
        if !refused.is_empty() {
            let mut answers = self.room.take(refused.len()).await.ok_or_else(gone)?;
            refused.into_iter().for_each(|refusal| answers.add(refusal));
            if answers.send() == Sent::Gone {
                return Err(Status::resource_exhausted("the instance does not read what it is told"));
            }
        }
        if reports.is_empty() {
            return Ok(());
        }
        let answers = self.room.take(reports.len()).await.ok_or_else(gone)?;
        let (source, named) = (Source::Stream(self.id), !others);
        let event = CollectionEvent::Reports { source, read, reports, named, answers };
        self.events.send(event).await.map_err(|_| Status::unavailable("the metric agent stops"))
    }
}

/// Reports that came together.
#[derive(Default)]
struct Judged {
    reports: Vec<Report>,
    /// What is said of those that the owner does not get.
    refused: Vec<ReporterInstruction>,
    /// Some are of instances that only a token names.
    others: bool,
}

impl Judged {
    fn count(&self) -> usize {
        self.reports.len() + self.refused.len()
    }
}

/// Judges the reports of one stream.
struct Judge<'s> {
    session: &'s Session,
    known: KnownTokens,
    strain: u32,
}

impl Judge<'_> {
    /// Takes the next message. The error ends the stream.
    fn take(
        &mut self,
        next: Option<Result<pb::FromReporter, Status>>,
        judged: &mut Judged,
    ) -> Result<(), Status> {
        use pb::from_reporter::Message;
        let message = next.ok_or_else(|| Status::ok("the instance closed the stream"))??.message;
        // An unknown kind of message comes from a newer release.
        let Some(Message::Reports(batch)) = message else { return Ok(()) };
        for message in batch.reports {
            match self.judge(message) {
                Ok((report, by)) => {
                    self.strain = self.strain.saturating_sub(1);
                    judged.others |= by == Proof::Token;
                    judged.reports.push(report);
                }
                Err((place, denial)) => {
                    self.strain += REFUSED;
                    judged.refused.push(self.refuse(place, denial)?);
                }
            }
        }
        Ok(())
    }

    /// The report of a message, or which report it is not, and why.
    fn judge(&mut self, mut message: pb::Report) -> Result<(Report, Proof), (Place, Denial)> {
        let Session { admission, credentials, .. } = self.session;
        let token = message.token.take();
        let place = message.csci_id.clone().and_then(|id| CsciId::try_from(id).ok()).zip(message.freshness);
        let place = place.map(|(id, at)| (id, Freshness { epoch: at.epoch, sequence: at.sequence }));
        let report =
            Report::try_from(message).map_err(|error| (place, admission.malformed(error.to_string())))?;
        let by = admission
            .admit(credentials, token.as_deref(), &mut self.known, &report)
            .map_err(|denial| (place, denial))?;
        Ok((report, by))
    }

    /// What the sender is told. One that sends nothing else than what is refused is let go.
    fn refuse(&self, place: Place, denial: Denial) -> Result<ReporterInstruction, Status> {
        let claimed = place.map(|(id, _)| id);
        tell(&self.session.events, self.session.peer.address.to_string(), claimed, denial.clone());
        let Some((csci_id, freshness)) = place else {
            return Err(Status::invalid_argument(denial.to_string()));
        };
        if self.strain >= PATIENCE {
            return Err(Status::permission_denied(format!(
                "too many reports are refused, the last one because {denial}"
            )));
        }
        let (reason, detail) = (denial.rejection(), denial.to_string());
        Ok(ReporterInstruction::Reject { csci_id, freshness, reason, detail })
    }
}

/// Sends what is queued until the owner drops the connection or the peer is gone.
async fn write(
    mut said: mpsc::Receiver<Said>,
    out: &mpsc::Sender<Result<pb::ToReporter, Status>>,
    timing: Timing,
) -> Status {
    use pb::to_reporter::Message;
    let (mut batch, mut words) = (Vec::new(), Vec::new());
    let mut quiet = pin!(tokio::time::sleep(timing.keepalive));
    loop {
        let queued = tokio::select! {
            biased;
            queued = said.recv_many(&mut batch, BATCH) => Some(queued),
            () = &mut quiet => None,
        };
        if queued == Some(0) {
            return Status::aborted("the metric agent let the instance go");
        }
        put_off(quiet.as_mut(), Instant::now(), timing.keepalive);
        // Kept until the words are written.
        let rooms: Vec<_> = batch.drain(..).filter_map(|said: Said| said.into_words(&mut words)).collect();
        words.dedup_by(supersede);
        let instructions = words.chunks(BATCH).map(|words| {
            let instructions = words.iter().map(Into::into).collect();
            Message::Instructions(pb::ReporterInstructions { instructions })
        });
        let keepalive = queued.is_none().then_some(Message::Keepalive(pb::Keepalive {}));
        for message in instructions.chain(keepalive) {
            let sent = out.send(Ok(pb::ToReporter { message: Some(message) }));
            match tokio::time::timeout(timing.silence, sent).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return Status::cancelled("the connection is gone"),
                Err(_) => return Status::deadline_exceeded("the instance does not read"),
            }
        }
        words.clear();
        if queued.is_none() {
            // Most streams are quiet most of the time, and there are many.
            (batch, words) = (Vec::new(), Vec::new());
        }
        drop(rooms);
    }
}

/// Lets a timer go off so long after `now`: to put it off is cheap, to set one anew for each message is not.
fn put_off(timer: Pin<&mut Sleep>, now: Instant, after: Duration) {
    if let Some(at) = now.checked_add(after) {
        timer.reset(at.into());
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
