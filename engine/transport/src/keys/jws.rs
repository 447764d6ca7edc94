//! Detached signatures of JSON (RFC 7515, appendix F): `HEADER..SIGNATURE` beside the payload, whose octets as they were
//! received are what is signed.

use super::{Algorithm, KeyError, Keyring, Signature, SignatureError, Signer};
use crate::identity::Subject;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

/// Octets of a detached signature at most.
const LIMIT: usize = 4096;

/// Why a detached signature does not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JwsError {
    /// It is none.
    #[error("the signature is no detached JWS: {0}")]
    Form(&'static str),
    /// Its key or its octets do not fit.
    #[error(transparent)]
    Signature(#[from] SignatureError),
}

impl Signer {
    /// Signs a payload, detached.
    pub fn sign_detached(&self, payload: &[u8]) -> Result<String, KeyError> {
        let algorithm = match self.key.algorithm {
            Algorithm::Ed25519 => "EdDSA",
            Algorithm::HmacSha256 => "HS256",
        };
        let header = json!({ "alg": algorithm, "kid": self.key.id }).to_string();
        let header = URL_SAFE_NO_PAD.encode(header);
        let signature = self.sign(signed(&header, payload).as_bytes())?;
        Ok(format!("{header}..{}", URL_SAFE_NO_PAD.encode(signature.octets)))
    }
}

impl Keyring {
    /// Whose detached signature of `payload` this is.
    pub fn verify_detached(&self, payload: &[u8], jws: &str) -> Result<Subject, JwsError> {
        if jws.len() > LIMIT {
            return Err(JwsError::Form("it is longer than 4096 octets"));
        }
        let mut parts = jws.split('.');
        let (Some(header), Some(""), Some(signature), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(JwsError::Form("HEADER..SIGNATURE is expected"));
        };
        let (algorithm, key_id) = parse_header(header)?;
        let octets = decode(signature, "the signature is no base64url")?;
        let signature = Signature { algorithm, key_id, octets };
        Ok(self.verify(signed(header, payload).as_bytes(), &signature)?)
    }
}

fn signed(header: &str, payload: &[u8]) -> String {
    format!("{header}.{}", URL_SAFE_NO_PAD.encode(payload))
}

fn decode(text: &str, problem: &'static str) -> Result<Vec<u8>, JwsError> {
    URL_SAFE_NO_PAD.decode(text).map_err(|_| JwsError::Form(problem))
}

fn parse_header(text: &str) -> Result<(Algorithm, String), JwsError> {
    let octets = decode(text, "the header is no base64url")?;
    let header: Value =
        serde_json::from_slice(&octets).map_err(|_| JwsError::Form("the header is no JSON"))?;
    // An extension that must be understood is not understood here.
    if header.get("crit").is_some() {
        return Err(JwsError::Form("the header has `crit`, and no extension is known here"));
    }
    let algorithm = match header.get("alg").and_then(Value::as_str) {
        Some("EdDSA") => Algorithm::Ed25519,
        Some("HS256") => Algorithm::HmacSha256,
        Some(_) | None => return Err(JwsError::Form("`alg` must be EdDSA or HS256")),
    };
    match header.get("kid").and_then(Value::as_str) {
        Some(id) => Ok((algorithm, id.to_owned())),
        None => Err(JwsError::Form("`kid` is missing")),
    }
}
