//! The C-PS's end of plain HTTP, on the listener of the streams, by the same certificates.
//!
//! | | |
//! |---|---|
//! | `POST /cats/v1/advertisements` | an advertisement in JSON, with a detached JWS of the body in `CATS-Signature`: a snapshot publishes the whole view, a delta updates or withdraws instances; answered by an array of instructions |
//! | `GET /cats/v1/advertisements/AGENT` | what is held of the agent, for the agent itself, with its freshness as `ETag`; `If-None-Match` is honoured |
//!
//! 200: taken. 400: no advertisement; the body names the field. 401: not signed by a key of the agent. 403: not the
//! agent's to say or to ask. 404: nothing is held. 409: not taken, the whole view is wanted. 413, 415: too large, or no
//! JSON. 503: the owner does not answer in time.

use super::server::{SelectorEvent, Service};
use crate::accept::Peer;
use crate::answer::{SIGNATURE, document, problem, read_json, tagged, text};
use crate::identity::Subject;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use axum::routing::{get, post};
use axum::{Extension, Router};
use cats_engine_types::{Advertisement, AgentInstruction, NodeId};
use cats_engine_wire::MAX_ADVERTISEMENTS;
use cats_engine_wire::json::{decode_advertisement, encode_agent_instructions, encode_agent_view};
use std::time::Instant;
use tokio::sync::oneshot;

pub(crate) fn router(service: Service) -> Router {
    Router::new()
        .route("/cats/v1/advertisements", post(take))
        .route("/cats/v1/advertisements/{agent}", get(held))
        .with_state(service)
}

async fn take(
    State(service): State<Service>,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let agent = match service.northbound.authorise(&peer) {
        Ok(agent) => agent,
        Err(status) => return problem(StatusCode::FORBIDDEN, None, status.message()),
    };
    let body = match read_json(&headers, body, MAX_ADVERTISEMENTS, service.timing.silence).await {
        Ok(body) => body,
        Err(answer) => return answer,
    };
    let advertisement = match verify(&service, &agent, text(&headers, SIGNATURE), &body) {
        Ok(advertisement) => advertisement,
        Err((status, field, words)) => {
            tracing::warn!(%agent, error = %words, "advertisement refused");
            return problem(status, field.as_deref(), &words);
        }
    };
    let (answer, answered) = oneshot::channel();
    let event =
        SelectorEvent::Posted { read: Instant::now(), advertisement: Box::new(advertisement), answer };
    match ask(&service, event, answered).await {
        Some(instructions) => {
            let unknown = instructions.iter().any(|one| matches!(one, AgentInstruction::Synchronise(_)));
            let status = if unknown { StatusCode::CONFLICT } else { StatusCode::OK };
            document(status, encode_agent_instructions(&instructions))
        }
        None => problem(StatusCode::SERVICE_UNAVAILABLE, None, "no answer in time"),
    }
}

type Refusal = (StatusCode, Option<String>, String);

/// What `agent` signed, in its own name. Nothing is read of what is not signed.
fn verify(
    service: &Service,
    agent: &NodeId,
    signature: Option<&str>,
    body: &[u8],
) -> Result<Advertisement, Refusal> {
    let unauthorised = |words: String| (StatusCode::UNAUTHORIZED, None, words);
    let Some(jws) = signature else {
        return Err(unauthorised("the header CATS-Signature is missing".to_owned()));
    };
    let owner = service
        .northbound
        .keys
        .verify_detached(body, jws)
        .map_err(|error| unauthorised(error.to_string()))?;
    if owner != Subject::agent(agent) {
        return Err(unauthorised(format!("the signature is {owner}'s and the certificate is {agent}'s")));
    }
    let advertisement = decode_advertisement(body)
        .map_err(|error| (StatusCode::BAD_REQUEST, Some(error.field.clone()), error.to_string()))?;
    if advertisement.agent != *agent {
        let words = format!("field `agent` is {} and the certificate is {agent}'s", advertisement.agent);
        return Err((StatusCode::FORBIDDEN, Some("agent".to_owned()), words));
    }
    Ok(advertisement)
}

async fn held(
    State(service): State<Service>,
    Extension(peer): Extension<Peer>,
    Path(asked): Path<String>,
    headers: HeaderMap,
) -> Response {
    let agent = match service.northbound.authorise(&peer) {
        Ok(agent) if agent.as_str() == asked => agent,
        Ok(agent) => {
            let words = format!("metric agent {agent} may ask for what is held of itself only");
            return problem(StatusCode::FORBIDDEN, None, &words);
        }
        Err(status) => return problem(StatusCode::FORBIDDEN, None, status.message()),
    };
    let (answer, answered) = oneshot::channel();
    match ask(&service, SelectorEvent::Queried { agent, answer }, answered).await {
        Some(Some(view)) => tagged(&headers, &view.freshness.to_string(), || encode_agent_view(&view)),
        Some(None) => problem(StatusCode::NOT_FOUND, None, "nothing is held of this metric agent"),
        None => problem(StatusCode::SERVICE_UNAVAILABLE, None, "no answer in time"),
    }
}

/// The owner's answer; none in time.
async fn ask<T>(service: &Service, event: SelectorEvent, answered: oneshot::Receiver<T>) -> Option<T> {
    let asked = async {
        service.northbound.events.send(event).await.ok()?;
        answered.await.ok()
    };
    tokio::time::timeout(service.timing.connect, asked).await.ok().flatten()
}
