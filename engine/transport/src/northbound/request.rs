//! The C-SMA's end of plain HTTP: one request for each advertisement.

use super::Target;
use crate::answer::SIGNATURE;
use crate::http;
use crate::identity::Subject;
use cats_engine_types::{Advertisement, AgentInstruction, Freshness, NodeId};
use cats_engine_wire::json::{AgentView, decode_agent_instructions, decode_agent_view, encode_advertisement};
use cats_engine_wire::{MAX_MESSAGE, MAX_REPORTS};
use hyper::StatusCode;
use hyper::body::Bytes;

/// Why a request has no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// No connection, or it broke, or no answer came in time.
    #[error("path selector {cps} is not reached: {reason}")]
    Unreachable {
        /// Which.
        cps: NodeId,
        /// Why.
        reason: String,
    },
    /// It does not take the request.
    #[error("path selector {cps} refuses: {reason}")]
    Refused {
        /// Which.
        cps: NodeId,
        /// Its status and words.
        reason: String,
    },
    /// The advertisement cannot be signed.
    #[error(transparent)]
    Key(#[from] crate::keys::KeyError),
    /// What it answers is not what was asked for.
    #[error("path selector {cps} answered what is no answer: {reason}")]
    Malformed {
        /// Which.
        cps: NodeId,
        /// The field, where there is one.
        reason: String,
    },
}

/// What is held of the C-SMA.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Retrieved {
    /// Nothing.
    Nothing,
    /// What it had, by the tag.
    Same,
    /// This.
    View(AgentView),
}

/// Advertises once. What comes back says what the C-PS has taken, or wants.
pub async fn post(
    target: &Target,
    advertisement: &Advertisement,
) -> Result<Vec<AgentInstruction>, RequestError> {
    let body = encode_advertisement(advertisement);
    let signature = target.signer.sign_detached(&body)?;
    let headers = [("content-type", "application/json"), (SIGNATURE, signature.as_str())];
    let exchange = exchange(target, "POST", "/cats/v1/advertisements", &headers, body, MAX_REPORTS);
    let (status, body) = Box::pin(exchange).await?;
    if status != StatusCode::OK && status != StatusCode::CONFLICT {
        return Err(refused(target, status, &body));
    }
    decode_agent_instructions(&body).map_err(|error| malformed(target, error.to_string()))
}

/// Asks what the C-PS holds of `agent`, which is the caller; `known` is what the caller has already.
pub async fn retrieve(
    target: &Target,
    agent: &NodeId,
    known: Option<Freshness>,
) -> Result<Retrieved, RequestError> {
    let tag = known.map(|freshness| format!("\"{freshness}\""));
    let headers: Vec<(&str, &str)> = tag.iter().map(|tag| ("if-none-match", tag.as_str())).collect();
    let path = format!("/cats/v1/advertisements/{agent}");
    let exchange = exchange(target, "GET", &path, &headers, Vec::new(), MAX_MESSAGE);
    let (status, body) = Box::pin(exchange).await?;
    match status {
        StatusCode::NOT_MODIFIED => Ok(Retrieved::Same),
        StatusCode::NOT_FOUND => Ok(Retrieved::Nothing),
        StatusCode::OK => decode_agent_view(&body)
            .map(Retrieved::View)
            .map_err(|error| malformed(target, error.to_string())),
        status => Err(refused(target, status, &body)),
    }
}

async fn exchange(
    target: &Target,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: Vec<u8>,
    max: usize,
) -> Result<(StatusCode, Bytes), RequestError> {
    let unreachable = |reason| RequestError::Unreachable { cps: target.cps.clone(), reason };
    let expected = Subject::selector(&target.cps);
    let peer = http::Peer { address: target.address, expected: &expected, pki: &target.pki };
    let request = http::request(method, target.address, path, headers, body).map_err(unreachable)?;
    let exchange = async {
        let response = http::send(peer, request).await?;
        let status = response.status();
        Ok((status, http::body(response, max).await?))
    };
    match tokio::time::timeout(target.timing.connect + target.timing.silence, exchange).await {
        Ok(result) => result.map_err(unreachable),
        Err(_) => Err(unreachable("no answer in time".to_owned())),
    }
}

fn refused(target: &Target, status: StatusCode, body: &[u8]) -> RequestError {
    let words: String = String::from_utf8_lossy(body).chars().take(200).collect();
    RequestError::Refused { cps: target.cps.clone(), reason: format!("{status} {words}") }
}

fn malformed(target: &Target, reason: String) -> RequestError {
    RequestError::Malformed { cps: target.cps.clone(), reason }
}
