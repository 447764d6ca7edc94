//! Key files, and what is computed with them: ring does the cryptography.

use super::Algorithm;
use ring::hmac;
use ring::signature::{ED25519, Ed25519KeyPair, UnparsedPublicKey};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{PrivatePkcs8KeyDer, SubjectPublicKeyInfoDer};
use std::fmt;
use std::path::Path;
use x509_parser::prelude::FromDer;
use x509_parser::x509::SubjectPublicKeyInfo;

/// Octets of a secret at least: as many as the digest has.
const SECRET: usize = 32;

/// Octets of a key file at most.
const FILE: u64 = 64 << 10;

/// id-Ed25519 of RFC 8410.
const ED25519_OID: &str = "1.3.101.112";

/// What signs.
pub(super) enum SigningMaterial {
    Ed25519(Ed25519KeyPair),
    Hmac(hmac::Key),
}

/// What verifies.
pub(super) enum VerifyingMaterial {
    Ed25519(UnparsedPublicKey<Vec<u8>>),
    Hmac(hmac::Key),
}

impl fmt::Debug for SigningMaterial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningMaterial")
    }
}

impl fmt::Debug for VerifyingMaterial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("VerifyingMaterial")
    }
}

impl SigningMaterial {
    pub(super) fn read(algorithm: Algorithm, file: &Path) -> Result<Self, String> {
        let octets = contents(file)?;
        match algorithm {
            Algorithm::Ed25519 => {
                let der = PrivatePkcs8KeyDer::from_pem_slice(&octets)
                    .map_err(|error| format!("no private key in PEM (PKCS #8): {error}"))?;
                Ed25519KeyPair::from_pkcs8_maybe_unchecked(der.secret_pkcs8_der())
                    .map(Self::Ed25519)
                    .map_err(|error| format!("no private key of Ed25519: {error}"))
            }
            Algorithm::HmacSha256 => secret(&octets).map(Self::Hmac),
        }
    }

    pub(super) fn sign(&self, payload: &[u8]) -> Vec<u8> {
        match self {
            Self::Ed25519(pair) => pair.sign(payload).as_ref().to_vec(),
            Self::Hmac(key) => hmac::sign(key, payload).as_ref().to_vec(),
        }
    }
}

impl VerifyingMaterial {
    pub(super) fn read(algorithm: Algorithm, file: &Path) -> Result<Self, String> {
        let octets = contents(file)?;
        match algorithm {
            Algorithm::Ed25519 => public(&octets).map(Self::Ed25519),
            Algorithm::HmacSha256 => secret(&octets).map(Self::Hmac),
        }
    }

    pub(super) fn verify(&self, payload: &[u8], signature: &[u8]) -> bool {
        match self {
            Self::Ed25519(key) => key.verify(payload, signature).is_ok(),
            Self::Hmac(key) => hmac::verify(key, payload, signature).is_ok(),
        }
    }
}

fn contents(file: &Path) -> Result<Vec<u8>, String> {
    crate::file::read_up_to(file, FILE).map_err(|error| error.to_string())
}

fn public(octets: &[u8]) -> Result<UnparsedPublicKey<Vec<u8>>, String> {
    let der = SubjectPublicKeyInfoDer::from_pem_slice(octets)
        .map_err(|error| format!("no public key in PEM: {error}"))?;
    let (_, info) =
        SubjectPublicKeyInfo::from_der(&der).map_err(|error| format!("no public key: {error}"))?;
    if info.algorithm.algorithm.to_id_string() != ED25519_OID {
        return Err("the public key is not one of Ed25519".to_owned());
    }
    Ok(UnparsedPublicKey::new(&ED25519, info.subject_public_key.data.to_vec()))
}

fn secret(octets: &[u8]) -> Result<hmac::Key, String> {
    let secret = octets.strip_suffix(b"\n").unwrap_or(octets);
    if secret.len() < SECRET {
        return Err(format!("the secret has {} octets; at least {SECRET} are needed", secret.len()));
    }
    Ok(hmac::Key::new(hmac::HMAC_SHA256, secret))
}
