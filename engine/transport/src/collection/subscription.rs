//! A C-SMA listens to the reports of an instance as server-sent events, for instances that cannot connect (SMA-1).

use super::admission::{Admission, Credentials, KnownTokens};
use crate::Timing;
use crate::connect;
use crate::http;
use crate::identity::{Identities, Subject};
use crate::pki::Pki;
use cats_engine_types::{CsciId, Report};
use cats_engine_wire::json::decode_report;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::sync::mpsc;

/// Octets of one event at most.
const EVENT: usize = 64 << 10;

/// What happens to a subscription.
#[derive(Debug)]
pub enum SubscriptionEvent {
    /// The instance streams.
    Connected(CsciId),
    /// A report. It is the instance's own, and for a service of its own.
    Report(Report),
    /// The stream ended, or an attempt failed for another reason than the one before; attempts go on.
    Disconnected {
        /// Which instance.
        csci_id: CsciId,
        /// Why, for people.
        reason: String,
    },
}

/// Whom to listen to.
#[derive(Debug, Clone)]
pub struct SubscriptionTarget {
    /// Where it is.
    pub address: SocketAddr,
    /// Which instance; its certificate must have it.
    pub csci_id: CsciId,
    /// The node's own certificates.
    pub pki: Arc<Pki>,
    /// Who may report what.
    pub admission: Arc<Admission>,
    /// How patient.
    pub timing: Timing,
}

/// Keeps a subscription, for ever: connects, listens, and tries again after each end. What was said meanwhile is not
/// said again: the owner asks for a full report when it is connected. Returns when `events` is closed.
pub async fn subscribe(target: SubscriptionTarget, events: mpsc::Sender<SubscriptionEvent>) {
    let mut wait = target.timing.backoff;
    let mut last = String::new();
    let csci_id = target.csci_id;
    loop {
        let (connected, reason) = tokio::select! {
            end = run(&target, &events) => end,
            () = events.closed() => return,
        };
        wait = match connected {
            true => target.timing.backoff,
            false => wait.saturating_mul(2).min(target.timing.backoff_limit),
        };
        if connected || reason != last {
            last.clone_from(&reason);
            tracing::warn!(%csci_id, address = %target.address, %reason, "not subscribed to an instance");
            if events.send(SubscriptionEvent::Disconnected { csci_id, reason }).await.is_err() {
                return;
            }
        }
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = events.closed() => return,
        }
    }
}

/// Whether it was connected, and why it is no longer.
async fn run(target: &SubscriptionTarget, events: &mpsc::Sender<SubscriptionEvent>) -> (bool, String) {
    let mut body = match tokio::time::timeout(target.timing.connect, open(target)).await {
        Ok(Ok(body)) => body,
        Ok(Err(reason)) => return (false, reason),
        Err(_) => return (false, "no answer in time".to_owned()),
    };
    if events.send(SubscriptionEvent::Connected(target.csci_id)).await.is_err() {
        return (true, "nobody listens".to_owned());
    }
    let mut certificates = target.pki.changes();
    tokio::select! {
        // The next attempt shows the new certificate and checks the peer against the new lists.
        Ok(()) = certificates.changed() => (true, "the certificates changed".to_owned()),
        reason = listen(target, &mut body, events) => (true, reason),
    }
}

async fn open(target: &SubscriptionTarget) -> Result<Incoming, String> {
    let expected = Subject::Instance(target.csci_id);
    let peer = http::Peer { address: target.address, expected: &expected, pki: &target.pki };
    let headers = [("accept", "text/event-stream")];
    let request = http::request("GET", target.address, "/cats/v1/reports/stream", &headers, Vec::new())?;
    let response = http::send(peer, request).await?;
    if !response.status().is_success() {
        return Err(format!("the instance answers {}", response.status()));
    }
    let kind = response.headers().get("content-type").and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if kind.split(';').next() != Some("text/event-stream") {
        return Err(format!("the instance answers with `{kind}` and text/event-stream is expected"));
    }
    Ok(response.into_body())
}

async fn listen(
    target: &SubscriptionTarget,
    body: &mut Incoming,
    events: &mpsc::Sender<SubscriptionEvent>,
) -> String {
    let mut parser = Parser::default();
    let mut known = KnownTokens::default();
    let credentials = Credentials::of(Arc::new(Identities::of_instance(target.csci_id)));
    loop {
        let frame = match tokio::time::timeout(target.timing.silence, body.frame()).await {
            Ok(Some(Ok(frame))) => frame,
            Ok(Some(Err(error))) => return connect::chain(&error),
            Ok(None) => return "the instance closed the stream".to_owned(),
            Err(_) => return "the instance is silent".to_owned(),
        };
        let Ok(octets) = frame.into_data() else { continue };
        let documents = match parser.push(&octets) {
            Ok(documents) => documents,
            Err(reason) => return reason,
        };
        for document in documents {
            match judge(target, &credentials, &mut known, &document) {
                Ok(report) => {
                    if events.send(SubscriptionEvent::Report(report)).await.is_err() {
                        return "nobody listens".to_owned();
                    }
                }
                // The instance may do better with the next one.
                Err(reason) => {
                    tracing::warn!(csci_id = %target.csci_id, %reason, "report of a subscription refused");
                }
            }
        }
    }
}

fn judge(
    target: &SubscriptionTarget,
    credentials: &Credentials,
    known: &mut KnownTokens,
    document: &[u8],
) -> Result<Report, String> {
    let admission = &target.admission;
    let decoded =
        decode_report(document).map_err(|error| admission.malformed(error.to_string()).to_string())?;
    admission.unknown_fields(decoded.unknown_fields);
    admission
        .admit(credentials, decoded.token.as_deref(), known, &decoded.report)
        .map_err(|denial| denial.to_string())?;
    Ok(decoded.report)
}

/// The events of a stream (WHATWG HTML, "Interpreting an event stream"), of which only the data count here.
#[derive(Debug, Default)]
struct Parser {
    line: Vec<u8>,
    data: Vec<u8>,
    after_return: bool,
}

impl Parser {
    /// The data of the events that are whole now.
    fn push(&mut self, octets: &[u8]) -> Result<Vec<Vec<u8>>, String> {
        let mut whole = Vec::new();
        for octet in octets {
            let follows_return = std::mem::take(&mut self.after_return);
            match octet {
                b'\n' if follows_return => {}
                b'\n' | b'\r' => {
                    self.after_return = *octet == b'\r';
                    whole.extend(self.end_line());
                }
                octet => self.line.push(*octet),
            }
            if self.line.len() + self.data.len() > EVENT {
                return Err(format!("an event of the instance has more than {EVENT} octets"));
            }
        }
        Ok(whole)
    }

    fn end_line(&mut self) -> Option<Vec<u8>> {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            let data = std::mem::take(&mut self.data);
            return (!data.is_empty()).then_some(data);
        }
        if let Some(value) = line.strip_prefix(b"data:") {
            if !self.data.is_empty() {
                self.data.push(b'\n');
            }
            self.data.extend(value.strip_prefix(b" ").unwrap_or(value));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves SMA-1: server-sent events, however they are cut.
    #[test]
    fn events_are_found_however_the_stream_is_cut_and_whatever_ends_its_lines() {
        let text =
            "data: {\"a\":\ndata: 1}\n\n:comment\n\nid: 7\r\ndata:x\r\n\r\nevent: y\rdata: z\r\r".as_bytes();
        let expected: Vec<Vec<u8>> = vec![b"{\"a\":\n1}".to_vec(), b"x".to_vec(), b"z".to_vec()];
        for size in 1..text.len() {
            let mut parser = Parser::default();
            let mut found = Vec::new();
            for part in text.chunks(size) {
                found.extend(parser.push(part).unwrap());
            }
            assert_eq!(found, expected, "{size}");
        }
    }

    #[test]
    fn an_event_without_end_is_given_up() {
        let mut parser = Parser::default();
        let error = parser.push(&vec![b'x'; EVENT + 1]).unwrap_err();
        assert!(error.contains("more than 65536 octets"), "{error}");
    }
}
