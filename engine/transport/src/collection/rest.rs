//! Reports over plain HTTP, HTTP/2 or 1.1, with JSON.
//!
//! | | |
//! |---|---|
//! | `POST /cats/v1/reports` | one report or an array of them; answered by an array of what became of each. Proof is the client's certificate, `Authorization: Bearer TOKEN`, a token in `auth`, or a detached JWS of the body in `CATS-Signature` |
//! | `GET /cats/v1/reports/CSCI-ID` | what it last reported, with its freshness as `ETag`; `If-None-Match` is honoured |
//! | `GET /cats/v1/reports/stream` | server-sent events, one a report, with its freshness as `id` |
//!
//! 200: taken in, at least one of them. 400: no report; the body names the field. 401, 403: not the sender's. 413, 415:
//! too large, or no JSON. 422: none taken in. 503: the owner does not answer in time.

use super::QUEUE;
use super::admission::{Credentials, Denial, KnownTokens};
use super::server::{CollectionEvent, Offer, Reader, Service, Subscriber, bearer};
use crate::accept::Peer;
use crate::answer::{SIGNATURE, document, problem, read_json, tagged, text};
use crate::revocation::revoked;
use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use cats_engine_types::{CsciId, Report, ReporterInstruction};
use cats_engine_wire::MAX_REPORTS;
use cats_engine_wire::json::{DecodedReport, decode_reports, encode_report, encode_reporter_instructions};
use std::convert::Infallible;
use std::time::Instant;
use tokio::sync::{mpsc, oneshot};
use tokio_stream::wrappers::ReceiverStream;

pub(super) fn router(service: Service) -> Router {
    let router = Router::new()
        .route("/cats/v1/reports/stream", get(stream))
        .route("/cats/v1/reports/{csci_id}", get(last));
    let router = match service.offer {
        Offer::Reports => router.route("/cats/v1/reports", post(take)),
        Offer::Answers => router,
    };
    router.with_state(service)
}

fn denied(service: &Service, peer: &Peer, claimed: Option<CsciId>, denial: Denial) -> Response {
    let status = match denial {
        Denial::Unauthenticated(_) => StatusCode::UNAUTHORIZED,
        Denial::Unauthorised(_) => StatusCode::FORBIDDEN,
        Denial::Malformed(_) => StatusCode::BAD_REQUEST,
    };
    let answer = problem(status, None, &denial.to_string());
    service.tell(peer, claimed, denial);
    answer
}

fn credentials(service: &Service, peer: &Peer, headers: &HeaderMap) -> Result<Credentials, Denial> {
    let token = text(headers, header::AUTHORIZATION.as_str()).and_then(bearer);
    service.admission.connect(&peer.identities, token)
}

async fn take(
    State(service): State<Service>,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let credentials = match credentials(&service, &peer, &headers) {
        Ok(credentials) => credentials,
        Err(denial) => return denied(&service, &peer, None, denial),
    };
    let body = match read_json(&headers, body, MAX_REPORTS, service.timing.connect).await {
        Ok(body) => body,
        Err(answer) => return answer,
    };
    let signatory = match text(&headers, SIGNATURE).map(|jws| service.admission.signatory(&body, jws)) {
        Some(Err(denial)) => return denied(&service, &peer, None, denial),
        Some(Ok(id)) => Some(id),
        None => None,
    };
    let decoded = match decode_reports(&body) {
        Ok(decoded) => decoded,
        Err(error) => {
            service.tell(&peer, None, service.admission.malformed(error.to_string()));
            return problem(StatusCode::BAD_REQUEST, Some(&error.field), &error.to_string());
        }
    };
    let (reports, denials) = judge(&service, &credentials, signatory, decoded);
    if let (true, Some((first, denial))) = (reports.is_empty(), denials.first()) {
        return denied(&service, &peer, Some(first.csci_id), denial.clone());
    }
    let mut answers = Vec::new();
    for (report, denial) in denials {
        answers.push(rejection(&report, &denial));
        service.tell(&peer, Some(report.csci_id), denial);
    }
    match outcome(&service, reports).await {
        Some(outcome) => answers.extend(outcome),
        None => return problem(StatusCode::SERVICE_UNAVAILABLE, None, "no answer in time"),
    }
    let taken = answers.iter().any(|answer| matches!(answer, ReporterInstruction::Acknowledge { .. }));
    let status = if taken { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY };
    document(status, encode_reporter_instructions(&answers))
}

/// The reports that are their sender's, and the others.
fn judge(
    service: &Service,
    credentials: &Credentials,
    signatory: Option<CsciId>,
    decoded: Vec<DecodedReport>,
) -> (Vec<Report>, Vec<(Report, Denial)>) {
    let mut known = KnownTokens::default();
    let (mut reports, mut denials) = (Vec::new(), Vec::new());
    for DecodedReport { report, token, unknown_fields } in decoded {
        service.admission.unknown_fields(unknown_fields);
        let verdict = match signatory {
            Some(id) => service.admission.admit_signed(id, &report),
            None => service.admission.admit(credentials, token.as_deref(), &mut known, &report).map(drop),
        };
        match verdict {
            Ok(()) => reports.push(report),
            Err(denial) => denials.push((report, denial)),
        }
    }
    (reports, denials)
}

fn rejection(report: &Report, denial: &Denial) -> ReporterInstruction {
    ReporterInstruction::Reject {
        csci_id: report.csci_id,
        freshness: report.freshness,
        reason: denial.rejection(),
        detail: denial.to_string(),
    }
}

async fn outcome(service: &Service, reports: Vec<Report>) -> Option<Vec<ReporterInstruction>> {
    if reports.is_empty() {
        return Some(Vec::new());
    }
    let (answer, answered) = oneshot::channel();
    let asked = async {
        let event = CollectionEvent::Posted { read: Instant::now(), reports, answer };
        service.events.send(event).await.ok()?;
        answered.await.ok()
    };
    tokio::time::timeout(service.timing.connect, asked).await.ok().flatten()
}

async fn last(
    State(service): State<Service>,
    Extension(peer): Extension<Peer>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Response {
    let csci_id: CsciId = match id.parse() {
        Ok(id) => id,
        Err(error) => return problem(StatusCode::BAD_REQUEST, Some("csci-id"), &format!("{error}")),
    };
    let reader = credentials(&service, &peer, &headers)
        .and_then(|credentials| service.reader(&peer, &credentials, csci_id));
    let by = match reader {
        Ok(by) => by,
        Err(denial) => return denied(&service, &peer, Some(csci_id), denial),
    };
    match service.ask(by, csci_id).await {
        Some(Some(report)) => {
            tagged(&headers, &report.freshness.to_string(), || encode_report(&report, None))
        }
        Some(None) => {
            let words = format!("nothing is known of instance {csci_id}");
            problem(StatusCode::NOT_FOUND, None, &words)
        }
        None => problem(StatusCode::SERVICE_UNAVAILABLE, None, "no answer in time"),
    }
}

async fn stream(State(service): State<Service>, Extension(peer): Extension<Peer>) -> Response {
    let by = match service.subscriber(&peer) {
        Ok(by) => by,
        Err(denial) => return denied(&service, &peer, None, denial),
    };
    let (reports, queue) = mpsc::channel(QUEUE);
    let (out, body) = mpsc::channel::<Result<Bytes, Infallible>>(16);
    if !matches!(by, Reader::Node(_))
        || service.events.send(CollectionEvent::Subscribed(Subscriber { by, reports })).await.is_err()
    {
        return problem(StatusCode::SERVICE_UNAVAILABLE, None, "the owner stops");
    }
    tokio::spawn(async move {
        tokio::select! {
            () = events(queue, &out, service.timing) => {}
            _ = revoked(&service.pki, &peer) => {}
        }
    });
    let kind = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
    (kind, Body::from_stream(ReceiverStream::new(body))).into_response()
}

/// Writes reports as events, and comments while there are none, until the owner drops the subscriber or it is gone.
async fn events(
    mut queue: mpsc::Receiver<Report>,
    out: &mpsc::Sender<Result<Bytes, Infallible>>,
    timing: crate::Timing,
) {
    loop {
        let text = match tokio::time::timeout(timing.keepalive, queue.recv()).await {
            Ok(Some(report)) => {
                let data = String::from_utf8(encode_report(&report, None)).unwrap_or_default();
                format!("id: {}\ndata: {data}\n\n", report.freshness)
            }
            Ok(None) => return,
            Err(_) => ":\n\n".to_owned(),
        };
        match tokio::time::timeout(timing.silence, out.send(Ok(text.into()))).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) | Err(_) => return,
        }
    }
}
