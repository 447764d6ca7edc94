//! What the servers of plain HTTP have in common: bodies that are JSON, answers that are JSON, and tags.

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;
use std::time::Duration;

/// The header of a detached signature.
pub(crate) const SIGNATURE: &str = "cats-signature";

/// An error as JSON.
pub(crate) fn problem(status: StatusCode, field: Option<&str>, message: &str) -> Response {
    let body = match field {
        Some(field) => json!({ "field": field, "message": message }),
        None => json!({ "message": message }),
    };
    document(status, body.to_string().into_bytes())
}

pub(crate) fn document(status: StatusCode, body: Vec<u8>) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], body).into_response()
}

/// A header, if it is there and readable.
pub(crate) fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// The body, if it is JSON, not too large, and comes in time.
pub(crate) async fn read_json(
    headers: &HeaderMap,
    body: Body,
    max: usize,
    patience: Duration,
) -> Result<Bytes, Response> {
    let kind = text(headers, header::CONTENT_TYPE.as_str()).unwrap_or("application/json");
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if !kind.eq_ignore_ascii_case("application/json") || headers.contains_key(header::CONTENT_ENCODING) {
        let words = "a body of type application/json without an encoding is expected";
        return Err(problem(StatusCode::UNSUPPORTED_MEDIA_TYPE, None, words));
    }
    match tokio::time::timeout(patience, axum::body::to_bytes(body, max)).await {
        Ok(Ok(octets)) => Ok(octets),
        Ok(Err(_)) => {
            let words = format!("the body is cut, or has more than {max} octets");
            Err(problem(StatusCode::PAYLOAD_TOO_LARGE, None, &words))
        }
        Err(_) => Err(problem(StatusCode::REQUEST_TIMEOUT, None, "the body did not come in time")),
    }
}

/// A document with a tag, or only that it is the one that the client has.
pub(crate) fn tagged(headers: &HeaderMap, tag: &str, body: impl FnOnce() -> Vec<u8>) -> Response {
    let tag = format!("\"{tag}\"");
    let known = text(headers, header::IF_NONE_MATCH.as_str()).unwrap_or_default();
    let fresh = known.split(',').map(str::trim).any(|one| one == "*" || one.trim_start_matches("W/") == tag);
    let answer = match fresh {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => document(StatusCode::OK, body()),
    };
    ([(header::ETAG, tag), (header::CACHE_CONTROL, "no-cache".to_owned())], answer).into_response()
}
