//! Signatures and MACs over payloads, and their key files.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bed;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use cats_engine_transport::Subject;
use cats_engine_transport::keys::{
    Algorithm, JwsError, Keyring, Signature, SignatureError, Signer, SigningKey, VerifyingKey,
};
use rcgen::KeyPair;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use tempfile::TempDir;

struct Files {
    dir: TempDir,
}

impl Files {
    fn new() -> Self {
        Self { dir: TempDir::new().unwrap() }
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let file = self.dir.path().join(name);
        bed::replace(&file, text);
        file
    }

    fn ed25519(&self, name: &str) -> (PathBuf, PathBuf) {
        bed::signing_pair(self.dir.path(), name)
    }
}

fn agent() -> Subject {
    bed::agent("C-SMA-1")
}

fn both(algorithm: Algorithm, private: PathBuf, public: PathBuf) -> (Arc<Signer>, Arc<Keyring>) {
    let signer = Signer::open(SigningKey { id: "k1".to_owned(), algorithm, file: private });
    let key = VerifyingKey { id: "k1".to_owned(), owner: agent(), algorithm, file: public };
    (signer, Keyring::open(vec![key]))
}

/// Proves SMA-20: a signature or a MAC, over the octets of the payload.
#[test]
fn a_signature_and_a_mac_hold_for_the_octets_that_were_signed_and_no_others() {
    let files = Files::new();
    let (private, public) = files.ed25519("a");
    let secret = files.write("secret", &format!("{}\n", "s".repeat(32)));
    for (signer, ring) in [
        both(Algorithm::Ed25519, private, public),
        both(Algorithm::HmacSha256, secret.clone(), secret.clone()),
    ] {
        let signature = signer.sign(b"payload").unwrap();
        assert_eq!(ring.verify(b"payload", &signature), Ok(agent()));
        assert_eq!(ring.verify(b"payloae", &signature), Err(SignatureError::Wrong("k1".to_owned())));
        let mut short = signature.clone();
        short.octets.pop();
        assert_eq!(ring.verify(b"payload", &short), Err(SignatureError::Wrong("k1".to_owned())));
        let unknown = Signature { key_id: "k2".to_owned(), ..signature.clone() };
        assert_eq!(ring.verify(b"payload", &unknown), Err(SignatureError::UnknownKey("k2".to_owned())));
        let other = match signature.algorithm {
            Algorithm::Ed25519 => Algorithm::HmacSha256,
            Algorithm::HmacSha256 => Algorithm::Ed25519,
        };
        let confused = Signature { algorithm: other, ..signature };
        assert!(matches!(ring.verify(b"payload", &confused), Err(SignatureError::Algorithm { .. })));
    }
}

/// Proves SMA-20: beside JSON the signature is a detached JWS.
#[test]
fn a_detached_signature_holds_for_its_payload_and_header() {
    let files = Files::new();
    let (private, public) = files.ed25519("a");
    let (signer, ring) = both(Algorithm::Ed25519, private, public);
    let jws = signer.sign_detached(b"{ }").unwrap();
    assert_eq!(ring.verify_detached(b"{ }", &jws), Ok(agent()));
    assert!(matches!(ring.verify_detached(b"{}", &jws), Err(JwsError::Signature(_))));

    let signature = jws.rsplit('.').next().unwrap();
    let with = |header: &str| format!("{}..{signature}", URL_SAFE_NO_PAD.encode(header));
    for (jws, words) in [
        (with(r#"{"alg":"none","kid":"k1"}"#), "`alg` must be EdDSA or HS256"),
        (with(r#"{"alg":"EdDSA"}"#), "`kid` is missing"),
        (with(r#"{"alg":"EdDSA","kid":"k1","crit":["b64"],"b64":false}"#), "`crit`"),
        (with(r#"{"alg":"HS256","kid":"k1"}"#), "one of ed25519 and the signature is one of hmac-sha256"),
        (with(r#"{"alg":"EdDSA","kid":"k1","x":1}"#), "is not that of the payload"),
        (with("no json"), "the header is no JSON"),
        (jws.replacen("..", ".e30.", 1), "HEADER..SIGNATURE"),
        (format!("{jws}.x"), "HEADER..SIGNATURE"),
        ("a..!".to_owned(), "is no base64url"),
        ("x".repeat(5000), "longer than 4096"),
    ] {
        let error = ring.verify_detached(b"{ }", &jws).unwrap_err().to_string();
        assert!(error.contains(words), "{jws}: {error}");
    }
}

#[test]
fn a_key_file_that_changes_is_read_again_and_a_bad_one_leaves_the_former_in_use() {
    let files = Files::new();
    let (private, public) = files.ed25519("a");
    let (signer, ring) = both(Algorithm::Ed25519, private, public.clone());
    let first = signer.sign(b"p").unwrap();
    assert!(!ring.refresh(), "nothing changed");

    files.write("a.verify", "garbage");
    assert!(!ring.refresh());
    assert!(ring.problems()[0].to_string().contains("key k1"), "{:?}", ring.problems());
    assert_eq!(ring.verify(b"p", &first), Ok(agent()));

    // The pair is replaced, the private key a little later.
    let (fresh_private, fresh_public) = files.ed25519("b");
    fs::rename(&fresh_public, &public).unwrap();
    assert!(ring.refresh());
    assert_eq!(ring.problems(), []);
    assert_eq!(ring.verify(b"p", &first), Err(SignatureError::Wrong("k1".to_owned())));
    fs::rename(fresh_private, files.dir.path().join("a.sign")).unwrap();
    assert!(signer.refresh());
    assert_eq!(ring.verify(b"p", &signer.sign(b"p").unwrap()), Ok(agent()));

    ring.replace(Vec::new());
    assert!(matches!(ring.verify(b"p", &first), Err(SignatureError::UnknownKey(_))));
}

#[test]
fn a_file_of_another_kind_or_a_short_secret_makes_no_key() {
    let files = Files::new();
    let (private, public) = files.ed25519("a");
    let p256 = KeyPair::generate().unwrap();
    let wrong = files.write("p256.pub", &p256.public_key_pem());
    let short = files.write("short", &"s".repeat(31));
    for (algorithm, file, words) in [
        (Algorithm::Ed25519, private, "no public key"),
        (Algorithm::Ed25519, wrong, "not one of Ed25519"),
        (Algorithm::HmacSha256, short.clone(), "has 31 octets; at least 32"),
        (Algorithm::HmacSha256, files.dir.path().join("none"), "No such file"),
    ] {
        let ring = Keyring::open(vec![VerifyingKey { id: "k1".to_owned(), owner: agent(), algorithm, file }]);
        let problem = ring.problems()[0].to_string();
        assert!(problem.contains(words), "{problem}");
    }
    let signer =
        Signer::open(SigningKey { id: "k1".to_owned(), algorithm: Algorithm::Ed25519, file: public });
    assert!(signer.sign(b"p").unwrap_err().to_string().contains("no private key"));
}
