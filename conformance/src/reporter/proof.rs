//! What says who reports, beside a certificate: tokens (RFC 7519) and detached signatures (RFC 7515, appendix F).

use super::settings::{JwtAlgorithm, Settings, SigningAlgorithm, named};
use crate::{LabError, Result};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use cats_engine_types::CsciId;
use ring::hmac;
use ring::signature::Ed25519KeyPair;
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::pki_types::pem::PemObject;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Proves who the instances of a connection are.
pub(super) struct Proof {
    settings: Arc<Settings>,
    issuer: Option<Key>,
    tokens: HashMap<CsciId, (Instant, String)>,
    signers: HashMap<CsciId, Key>,
}

enum Key {
    Ed25519(Ed25519KeyPair),
    Secret(hmac::Key),
}

impl Key {
    fn read(file: &Path, is_secret: bool) -> Result<Self> {
        let doing = || format!("reading the key {}", file.display());
        let octets = std::fs::read(file).map_err(LabError::of(doing()))?;
        if is_secret {
            let secret = octets.strip_suffix(b"\n").unwrap_or(&octets);
            return Ok(Self::Secret(hmac::Key::new(hmac::HMAC_SHA256, secret)));
        }
        let der = PrivatePkcs8KeyDer::from_pem_slice(&octets).map_err(LabError::of(doing()))?;
        let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(der.secret_pkcs8_der());
        pair.map(Self::Ed25519).map_err(LabError::of(doing()))
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Ed25519(_) => "EdDSA",
            Self::Secret(_) => "HS256",
        }
    }

    /// The signature in base64url; a spoilt one has a wrong octet.
    fn sign(&self, message: &str, spoilt: bool) -> String {
        let mut octets = match self {
            Self::Ed25519(pair) => pair.sign(message.as_bytes()).as_ref().to_vec(),
            Self::Secret(key) => hmac::sign(key, message.as_bytes()).as_ref().to_vec(),
        };
        if let Some(first) = octets.first_mut().filter(|_| spoilt) {
            *first ^= 1;
        }
        URL_SAFE_NO_PAD.encode(octets)
    }

    fn detached(&self, key_id: &str, document: &[u8], spoilt: bool) -> String {
        let header = encoded(&json!({ "alg": self.name(), "kid": key_id }));
        let message = format!("{header}.{}", URL_SAFE_NO_PAD.encode(document));
        format!("{header}..{}", self.sign(&message, spoilt))
    }
}

impl Proof {
    pub(super) fn new(settings: Arc<Settings>) -> Result<Self> {
        let secret = settings.jwt_algorithm == JwtAlgorithm::Hs256;
        let issuer = settings.jwt_key.as_deref().map(|file| Key::read(file, secret)).transpose()?;
        Ok(Self { settings, issuer, tokens: HashMap::new(), signers: HashMap::new() })
    }

    /// A token of an instance, if it has any.
    pub(super) fn token(&mut self, id: CsciId, spoilt: bool) -> Option<String> {
        let issuer = self.issuer.as_ref()?;
        let lifetime = self.settings.jwt_lifetime;
        let fresh = Duration::from_secs(lifetime.max(0).unsigned_abs().into()) / 2;
        if let Some((made, token)) = self.tokens.get(&id).filter(|(made, _)| made.elapsed() < fresh)
            && !spoilt
        {
            let _ = made;
            return Some(token.clone());
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let claims = json!({
            "iss": self.settings.jwt_issuer,
            "aud": self.settings.jwt_audience,
            "sub": id.to_string(),
            "exp": now.saturating_add_signed(lifetime.into()),
        });
        let header = json!({ "alg": issuer.name(), "typ": "JWT" });
        let message = format!("{}.{}", encoded(&header), encoded(&claims));
        let token = format!("{message}.{}", issuer.sign(&message, spoilt));
        if !spoilt {
            self.tokens.insert(id, (Instant::now(), token.clone()));
        }
        Some(token)
    }

    /// The detached signature of a document by an instance's key, if there is one.
    pub(super) fn signature(&mut self, id: CsciId, document: &[u8], spoilt: bool) -> Result<Option<String>> {
        let (Some(file), Some(key_id)) = (&self.settings.signing_key, &self.settings.signing_key_id) else {
            return Ok(None);
        };
        if !self.signers.contains_key(&id) {
            let secret = self.settings.signing_algorithm == SigningAlgorithm::HmacSha256;
            self.signers.insert(id, Key::read(Path::new(&named(file, id)), secret)?);
        }
        let Some(key) = self.signers.get(&id) else { return Ok(None) };
        Ok(Some(key.detached(&named(key_id, id), document, spoilt)))
    }
}

/// The detached signature of a document by the key in a file: Ed25519, or a secret of HMAC-SHA256.
pub fn detached_signature(
    file: &Path,
    algorithm: SigningAlgorithm,
    key_id: &str,
    document: &[u8],
) -> Result<String> {
    let key = Key::read(file, algorithm == SigningAlgorithm::HmacSha256)?;
    Ok(key.detached(key_id, document, false))
}

fn encoded(value: &Value) -> String {
    URL_SAFE_NO_PAD.encode(value.to_string())
}
