//! Who issues tokens.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use cats_engine_transport::collection::Proofs;
use cats_engine_transport::tokens::{TokenAlgorithm, TokenKey, TokenRules, Tokens};
use rcgen::{KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ED25519};
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair};
use serde_json::{Value, json};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tempfile::TempDir;

/// Issues tokens by one key.
pub struct Issuer {
    dir: TempDir,
    algorithm: TokenAlgorithm,
    pair: KeyPair,
}

/// So many seconds from now.
pub fn exp(seconds: i64) -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    i64::try_from(now).unwrap() + seconds
}

const SECRET: &str = "a secret of at least 32 octets, no less";

impl Issuer {
    pub fn new(algorithm: TokenAlgorithm) -> Self {
        let dir = TempDir::new().unwrap();
        let kind = match algorithm {
            TokenAlgorithm::Es256 => &PKCS_ECDSA_P256_SHA256,
            TokenAlgorithm::EdDsa | TokenAlgorithm::Rs256 | TokenAlgorithm::Hs256 => &PKCS_ED25519,
        };
        let pair = KeyPair::generate_for(kind).unwrap();
        let text = match algorithm {
            TokenAlgorithm::Hs256 => SECRET.to_owned(),
            TokenAlgorithm::EdDsa | TokenAlgorithm::Es256 | TokenAlgorithm::Rs256 => pair.public_key_pem(),
        };
        super::replace(&dir.path().join("issuer"), &text);
        Self { dir, algorithm, pair }
    }

    pub fn rules(&self) -> TokenRules {
        let file = self.dir.path().join("issuer");
        TokenRules {
            issuer: "https://issuer.example".to_owned(),
            audience: "cats-sma".to_owned(),
            leeway: Duration::from_secs(5),
            keys: vec![TokenKey { id: "issuer".to_owned(), algorithm: self.algorithm, file }],
        }
    }

    pub fn proofs(&self) -> Proofs {
        Proofs { tokens: Some(Tokens::open(self.rules())), keys: None }
    }

    /// A token for an instance that expires in so many seconds.
    pub fn token(&self, subject: &str, seconds: i64) -> String {
        self.sign(&json!({
            "iss": "https://issuer.example",
            "aud": "cats-sma",
            "sub": subject,
            "exp": exp(seconds),
        }))
    }

    pub fn sign(&self, claims: &Value) -> String {
        let name = match self.algorithm {
            TokenAlgorithm::EdDsa => "EdDSA",
            TokenAlgorithm::Es256 => "ES256",
            TokenAlgorithm::Rs256 => "RS256",
            TokenAlgorithm::Hs256 => "HS256",
        };
        let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let message = format!("{}.{}", encode(&json!({"alg": name, "typ": "JWT"})), encode(claims));
        let (der, octets) = (self.pair.serialize_der(), message.as_bytes());
        let signature = match self.algorithm {
            TokenAlgorithm::EdDsa => Ed25519KeyPair::from_pkcs8(&der).unwrap().sign(octets).as_ref().to_vec(),
            TokenAlgorithm::Es256 => {
                let random = ring::rand::SystemRandom::new();
                let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &der, &random).unwrap();
                pair.sign(&random, octets).unwrap().as_ref().to_vec()
            }
            TokenAlgorithm::Hs256 => {
                let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, SECRET.as_bytes());
                ring::hmac::sign(&key, octets).as_ref().to_vec()
            }
            TokenAlgorithm::Rs256 => panic!("no key for RSA is made here"),
        };
        format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}
