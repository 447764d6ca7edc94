//! Tokens that say which instance sends.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bed;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bed::Authority;
use bed::collection::{Agent, Instance, a_report, csci, permissions};
use bed::tokens::{Issuer, exp};
use cats_engine_transport::collection::{Admission, CollectionEvent};
use cats_engine_transport::control_plane::Sent;
use cats_engine_transport::pki::Pki;
use cats_engine_transport::tokens::{TokenAlgorithm, TokenKey, TokenRules, Tokens};
use cats_engine_types::{Rejection, Report, ReporterInstruction};
use cats_engine_wire::metrics as pb;
use cats_engine_wire::metrics::collection_client::CollectionClient;
use serde_json::json;
use std::time::Duration;
use tokio::sync::mpsc;

/// A public key and a token that its owner signed for instance 7 until 2100.
const RSA: &str = "-----BEGIN PUBLIC KEY-----
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAoA+3BYm6Ynz0rF4qHuj6
b3AVTp2kOkjc8RmUo2ysiJjABI11Pxyi31fuXkkWep1D7Ov+eBO/kRw13OTZwjsw
kKf3ixvLfk31EcOfg9oDMrBHVm0uHbBTHAEXU5P3/zUHRV+48Va/bVX6eREnDS0w
9cOX+D+qoazZ+yOEhVSMzzKuHYDY4LknI74psWALHSPlQpbOmMR9AGrIlqLEiLgb
Hyg1LhKxiaRJq1HaO6mXTGqsxABPxsMtmWzBMRKws7m7e9+pMAhAq0ZmPSfYTrXs
mnSLGlIsbSVKzhR8Wp9EPTPNIRNenWRAL6ErY2LXt/6J7PW7Kx3RRN333HfzL6w0
lwIDAQAB
-----END PUBLIC KEY-----
";
const RSA_TOKEN: &str = concat!(
    "eyJhbGciOiJSUzI1NiIsImtpZCI6InJzYSJ9.eyJpc3MiOiJodHRwczovL2lzc3Vlci5leGFtcGxlIiwiYXVkIjoiY2F0cy1zbWE",
    "iLCJzdWIiOiI3IiwiZXhwIjo0MTAyNDQ0ODAwfQ.J5_iq3_rgljAT5p31xMGl_TSHi5osIFUNZsMepGQ5HtpN91irV2LrvHWsk5D",
    "VDqqNNJrIWk19V53AAZTu4GOvMb_wP7VADVq8u7h88jShUfsBOtVSD2vqZlHTedoBUTyVjZy_g67egOUJTAHn0U6bzRNGzdvnuZ6",
    "9iDCIxwyMXFt3_DA617vRCilrsisUfdOorG-vDpSYgFfX2ipRUiRob60iG_4QF9ZCKB10_EX-rRRYvI6w0sbp1gJ8lSYV3VXHnF9",
    "CXHDScyZAV9nHe83X00KEL5DGrt7S-ZOqse_R1GJLq4uxCnYzHeeVCr3z-HKsCTmLbCeXM0iGZADhMOvcA",
);

/// Proves SMA-18: signature, expiry, issuer, audience and subject.
#[test]
fn a_token_counts_only_whole_in_time_from_the_issuer_for_this_audience_and_for_an_instance() {
    for algorithm in [TokenAlgorithm::EdDsa, TokenAlgorithm::Es256, TokenAlgorithm::Hs256] {
        let issuer = Issuer::new(algorithm);
        let tokens = Tokens::open(issuer.rules());
        assert_eq!(tokens.problems(), []);
        let claims = tokens.verify(&issuer.token("7", 600)).unwrap();
        assert_eq!(claims.csci_id, csci(7));

        let body = |changes: serde_json::Value| {
            let mut body =
                json!({"iss": "https://issuer.example", "aud": "cats-sma", "sub": "7", "exp": exp(600)});
            for (name, value) in changes.as_object().unwrap() {
                match value.is_null() {
                    true => drop(body.as_object_mut().unwrap().remove(name)),
                    false => body[name] = value.clone(),
                }
            }
            issuer.sign(&body)
        };
        assert!(tokens.verify(&body(json!({"aud": ["other", "cats-sma"]}))).is_ok());
        for (changes, words) in [
            (json!({"exp": exp(-60)}), "ExpiredSignature"),
            (json!({"exp": null}), "exp"),
            (json!({"nbf": exp(600)}), "ImmatureSignature"),
            (json!({"iss": "https://other.example"}), "InvalidIssuer"),
            (json!({"iss": null}), "iss"),
            (json!({"aud": "cats-cps"}), "InvalidAudience"),
            (json!({"aud": null}), "aud"),
            (json!({"sub": "ARS"}), "is no CSCI-ID"),
            (json!({"sub": null}), "sub"),
        ] {
            let error = tokens.verify(&body(changes.clone())).unwrap_err().to_string();
            assert!(error.contains(words), "{algorithm:?} {changes}: {error}");
        }
    }
}

/// Proves SMA-18.
#[test]
fn a_token_of_another_key_or_algorithm_or_changed_on_the_way_does_not_count() {
    let issuer = Issuer::new(TokenAlgorithm::EdDsa);
    let tokens = Tokens::open(issuer.rules());
    let good = issuer.token("7", 600);
    let part = |index: usize| good.split('.').nth(index).unwrap();
    let encode = |text: &str| URL_SAFE_NO_PAD.encode(text);
    let other = Issuer::new(TokenAlgorithm::EdDsa).token("7", 600);
    let confused = Issuer::new(TokenAlgorithm::Hs256).token("7", 600);
    let claims = json!({"iss": "https://issuer.example", "aud": "cats-sma", "sub": "8", "exp": exp(600)});
    for (token, words) in [
        (other, "InvalidSignature"),
        (confused, "no key for it is known"),
        (format!("{}.{}.{}", part(0), encode(&claims.to_string()), part(2)), "InvalidSignature"),
        (format!("{}.{}.", encode(r#"{"alg":"none"}"#), part(1)), "does not count"),
        (format!("{}.{}.{}", encode(r#"{"alg":"EdDSA","kid":"other"}"#), part(1), part(2)), "no key for it"),
        ("no token".to_owned(), "does not count"),
        (String::new(), "does not count"),
        ("x".repeat(10_000), "at most 8192"),
    ] {
        let error = tokens.verify(&token).unwrap_err().to_string();
        assert!(error.contains(words), "{token}: {error}");
    }
}

#[test]
fn a_token_signed_with_rsa_counts_and_a_new_key_file_is_read() {
    let dir = tempfile::TempDir::new().unwrap();
    let file = dir.path().join("rsa.pem");
    bed::replace(&file, "garbage");
    let key = TokenKey { id: "rsa".to_owned(), algorithm: TokenAlgorithm::Rs256, file: file.clone() };
    let tokens = Tokens::open(TokenRules {
        issuer: "https://issuer.example".to_owned(),
        audience: "cats-sma".to_owned(),
        leeway: Duration::ZERO,
        keys: vec![key],
    });
    assert!(tokens.problems()[0].to_string().contains("key rsa"));
    assert!(tokens.verify(RSA_TOKEN).unwrap_err().to_string().contains("no key for it is known"));
    bed::replace(&file, RSA);
    assert!(tokens.refresh());
    assert_eq!(tokens.verify(RSA_TOKEN).unwrap().csci_id, csci(7));
}

async fn reports(agent: &mut Agent) -> Vec<Report> {
    match agent.next().await {
        CollectionEvent::Reports { reports, .. } => reports,
        other => panic!("{other:?}"),
    }
}

/// Proves SMA-18: a token in the stream's metadata, whose certificate is nobody's; a token of another CSCI-ID.
#[tokio::test]
async fn a_stream_with_a_token_reports_for_the_subject_of_the_token_only() {
    let ca = Authority::new();
    let issuer = Issuer::new(TokenAlgorithm::EdDsa);
    let admission = Admission::new(permissions(&[7, 8], 1), issuer.proofs());
    let mut agent = Agent::start(&ca, admission.clone()).await;
    let nobody = Pki::open(ca.certificate("nobody", 3, &["https://instance.example"]));
    let mut instance = Instance::start_with(&nobody, &agent, Some(&issuer.token("7", 600)));
    let stream = instance.connected().await;
    let connection = agent.connected().await;
    assert_eq!(connection.instances, [csci(7)]);
    assert_eq!(stream.send(a_report(8, 1, 1)), Sent::Queued);
    assert_eq!(stream.send(a_report(7, 1, 2)), Sent::Queued);
    assert_eq!(reports(&mut agent).await, [a_report(7, 1, 2)]);
    let heard = instance.instructions().await;
    let ReporterInstruction::Reject { reason, detail, .. } = &heard[0] else { panic!() };
    assert_eq!((*reason, detail.as_str()), (Rejection::Unauthorised, "csci-id is 8 and the token is 7's"));

    for (token, words) in [
        (issuer.token("7", -60), "ExpiredSignature"),
        (Issuer::new(TokenAlgorithm::EdDsa).token("7", 600), "InvalidSignature"),
    ] {
        let mut instance = Instance::start_with(&nobody, &agent, Some(&token));
        let reason = instance.disconnected().await;
        assert!(reason.contains(words), "{reason}");
    }
    assert_eq!((admission.counters().unauthenticated, admission.counters().unauthorised), (2, 1));
}

/// Proves SMA-18: a token in each report, without any certificate.
#[tokio::test]
async fn each_report_may_bring_its_own_token() {
    let ca = Authority::new();
    let issuer = Issuer::new(TokenAlgorithm::Es256);
    let admission = Admission::new(permissions(&[7, 8], 1), issuer.proofs());
    let mut agent = Agent::start(&ca, admission.clone()).await;
    let mut client = CollectionClient::new(bed::anonymous(agent.address).await);
    let (out, stream) = mpsc::channel(4);
    let stream = tokio_stream::wrappers::ReceiverStream::new(stream);
    let _incoming = client.report(stream).await.unwrap().into_inner();
    let _connection = agent.connected().await;
    let with = |instance: u32, token: Option<String>| pb::Report {
        token,
        ..(&a_report(instance, 1, u64::from(instance))).into()
    };
    let batch = vec![
        with(7, Some(issuer.token("7", 600))),
        with(8, Some(issuer.token("7", 600))),
        with(8, None),
        with(8, Some(issuer.token("8", -60))),
        with(8, Some(issuer.token("8", 600))),
    ];
    let message = pb::from_reporter::Message::Reports(pb::Reports { reports: batch });
    out.send(pb::FromReporter { message: Some(message) }).await.unwrap();
    assert_eq!(reports(&mut agent).await, [a_report(7, 1, 7), a_report(8, 1, 8)]);
    assert_eq!((admission.counters().unauthenticated, admission.counters().unauthorised), (2, 1));
}
