//! JSON web tokens that say which service contact instance sends (RFC 7519).
//!
//! A token counts when it is signed by a known key, has not expired, is meant for this audience, comes from this issuer,
//! and its subject is a CSCI-ID. Keys are files that are read again when they change; one that cannot be used leaves the
//! former in use.

mod provider;

use crate::keys::KeyError;
use arc_swap::ArcSwap;
use cats_engine_types::{CsciId, UnixMicros};
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Octets of a token at most.
const LIMIT: usize = 8 << 10;

/// Octets of a key file at most.
const FILE: u64 = 64 << 10;

/// Octets of a secret at least.
const SECRET: usize = 32;

/// How tokens are signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TokenAlgorithm {
    /// Ed25519.
    EdDsa,
    /// ECDSA with P-256 and SHA-256.
    Es256,
    /// RSA (PKCS #1 1.5) of 2048 bits or more with SHA-256.
    Rs256,
    /// HMAC-SHA256.
    Hs256,
}

impl TokenAlgorithm {
    fn of_token(self) -> Algorithm {
        match self {
            Self::EdDsa => Algorithm::EdDSA,
            Self::Es256 => Algorithm::ES256,
            Self::Rs256 => Algorithm::RS256,
            Self::Hs256 => Algorithm::HS256,
        }
    }
}

/// A key that tokens are verified with.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TokenKey {
    /// The `kid` of tokens; a token without one is tried with every key of its algorithm.
    pub id: String,
    /// How it signs.
    pub algorithm: TokenAlgorithm,
    /// A public key in PEM, or the octets of a secret but a last newline.
    pub file: PathBuf,
}

/// Which tokens count.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TokenRules {
    /// The `iss` that they must have.
    pub issuer: String,
    /// The `aud` that they must have among theirs.
    pub audience: String,
    /// How far clocks may be apart.
    pub leeway: Duration,
    /// The keys.
    pub keys: Vec<TokenKey>,
}

/// What a token that counts says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claims {
    /// Who sends.
    pub csci_id: CsciId,
    /// Until when it counts, with the leeway.
    pub expires: UnixMicros,
}

/// Why a token does not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// It is no token, is not signed by a known key, has expired, or is not meant for here.
    #[error("the token does not count: {0}")]
    Refused(String),
    /// Its subject is nobody.
    #[error("the token's subject `{subject}` is no CSCI-ID: {error}")]
    Subject {
        /// As it stands there.
        subject: String,
        /// What is wrong.
        error: cats_engine_types::IdError,
    },
    /// It counted before.
    #[error("the token has expired")]
    Expired,
}

#[derive(Deserialize)]
struct Body {
    sub: String,
    exp: u64,
}

type Seen = Option<(u64, u64, i64, i64)>;

/// Verifies tokens.
pub struct Tokens {
    rules: TokenRules,
    current: ArcSwap<BTreeMap<String, Arc<DecodingKey>>>,
    last: Mutex<BTreeMap<String, (Seen, Option<KeyError>)>>,
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokens").field("rules", &self.rules).finish_non_exhaustive()
    }
}

impl Tokens {
    /// Reads the keys.
    pub fn open(rules: TokenRules) -> Arc<Self> {
        provider::install();
        let tokens = Arc::new(Self { rules, current: ArcSwap::default(), last: Mutex::default() });
        tokens.refresh();
        tokens
    }

    /// Reads key files again that have changed. Returns whether a new key is in use.
    pub fn refresh(&self) -> bool {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let mut keys = BTreeMap::clone(&self.current.load());
        let mut changed = false;
        for key in &self.rules.keys {
            let seen = crate::pki::stamp(&key.file);
            if last.get(&key.id).is_some_and(|(known, _)| *known == seen) {
                continue;
            }
            let problem = match read(key) {
                Ok(material) => {
                    changed = true;
                    keys.insert(key.id.clone(), Arc::new(material));
                    None
                }
                Err(problem) => {
                    tracing::warn!(key = key.id, file = %key.file.display(), %problem,
                        "a key of tokens cannot be used; a former one stays in use");
                    Some(KeyError { id: key.id.clone(), file: key.file.clone(), problem })
                }
            };
            last.insert(key.id.clone(), (seen, problem));
        }
        if changed {
            self.current.store(Arc::new(keys));
        }
        changed
    }

    /// Looks for changed files every `interval`, for ever.
    pub async fn watch(self: Arc<Self>, interval: Duration) {
        crate::keys::every(interval, || {
            self.refresh();
        })
        .await;
    }

    /// What is wrong with key files at present.
    pub fn problems(&self) -> Vec<KeyError> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.values().filter_map(|(_, problem)| problem.clone()).collect()
    }

    /// What a token says, if it counts.
    pub fn verify(&self, token: &str) -> Result<Claims, TokenError> {
        let refused = |why: String| TokenError::Refused(why);
        if token.len() > LIMIT {
            return Err(refused(format!("it has {} octets; at most {LIMIT} are taken", token.len())));
        }
        let header = jsonwebtoken::decode_header(token).map_err(|error| refused(error.to_string()))?;
        let keys = self.current.load();
        let mut reason = "no key for it is known here".to_owned();
        for key in self.rules.keys.iter().filter(|key| {
            key.algorithm.of_token() == header.alg && header.kid.as_ref().is_none_or(|kid| *kid == key.id)
        }) {
            let Some(material) = keys.get(&key.id) else { continue };
            match jsonwebtoken::decode::<Body>(token, material, &self.validation(header.alg)) {
                Ok(data) => return self.claims(data.claims),
                Err(error) => reason = error.to_string(),
            }
        }
        Err(refused(reason))
    }

    fn validation(&self, algorithm: Algorithm) -> Validation {
        let mut validation = Validation::new(algorithm);
        validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
        validation.set_issuer(&[&self.rules.issuer]);
        validation.set_audience(&[&self.rules.audience]);
        validation.leeway = self.rules.leeway.as_secs();
        validation.validate_nbf = true;
        validation
    }

    fn claims(&self, body: Body) -> Result<Claims, TokenError> {
        let expires = body.exp.saturating_add(self.rules.leeway.as_secs()).saturating_mul(1_000_000);
        match body.sub.parse() {
            Ok(csci_id) => Ok(Claims { csci_id, expires: UnixMicros(expires) }),
            Err(error) => Err(TokenError::Subject { subject: body.sub, error }),
        }
    }
}

impl Claims {
    /// Still the same after the token was verified.
    pub fn check(&self) -> Result<CsciId, TokenError> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = u64::try_from(now.as_micros()).unwrap_or(u64::MAX);
        if now < self.expires.0 { Ok(self.csci_id) } else { Err(TokenError::Expired) }
    }
}

fn read(key: &TokenKey) -> Result<DecodingKey, String> {
    let octets = crate::file::read_up_to(&key.file, FILE).map_err(|error| error.to_string())?;
    let words = |error: jsonwebtoken::errors::Error| error.to_string();
    match key.algorithm {
        TokenAlgorithm::EdDsa => DecodingKey::from_ed_pem(&octets).map_err(words),
        TokenAlgorithm::Es256 => DecodingKey::from_ec_pem(&octets).map_err(words),
        TokenAlgorithm::Rs256 => DecodingKey::from_rsa_pem(&octets).map_err(words),
        TokenAlgorithm::Hs256 => {
            let secret = octets.strip_suffix(b"\n").unwrap_or(&octets);
            if secret.len() < SECRET {
                return Err(format!("the secret has {} octets; at least {SECRET} are needed", secret.len()));
            }
            DecodingKey::from_secret(secret).map_err(words)
        }
    }
}
