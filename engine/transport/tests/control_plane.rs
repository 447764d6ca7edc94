//! Forwarders and their C-PS over mutual TLS on the loopback.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bed;

use bed::{Authority, Cps, Forwarder, a_key, a_report, a_request, name};
use cats_engine_transport::control_plane::{Attachment, CpsEvent, ForwarderEvent, Sent, Upstream};
use cats_engine_transport::pki::Pki;
use cats_engine_types::{BindingEvent, BindingStatus, Epoch, Instruction, RequestFailure, TransactionId};
use std::fs;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

async fn attached(cps: &mut Cps, forwarder: &mut Forwarder) -> (Attachment, Upstream) {
    let CpsEvent::Attached { attachment, .. } = cps.next().await else { panic!("not attached") };
    let ForwarderEvent::Attached { epoch, upstream } = forwarder.next().await else { panic!("not attached") };
    assert_eq!(epoch, Epoch(7));
    (attachment, upstream)
}

fn refusal(sequence: u64) -> Instruction {
    Instruction::Refuse {
        transaction: TransactionId { epoch: 3, sequence },
        key: a_key(40_000),
        failure: RequestFailure::NoCandidate,
    }
}

/// Proves CP-11.
#[tokio::test]
async fn requests_statuses_reports_and_instructions_travel_over_an_authenticated_channel() {
    let ca = Authority::new();
    let mut cps = Cps::start(&Pki::open(ca.certificate("cps", 1, &["cats:cps:C-PS-1"])), &["IF-1"]).await;
    let pki = Pki::open(ca.certificate("if1", 2, &["cats:fwd:IF-1"]));
    let mut forwarder = Forwarder::start("IF-1", &pki, cps.address);
    let (attachment, upstream) = attached(&mut cps, &mut forwarder).await;
    assert_eq!(attachment.node, name("IF-1"));

    let status = BindingStatus {
        transaction: TransactionId { epoch: 3, sequence: 9 },
        key: a_key(40_001),
        event: BindingEvent::Installed,
    };
    assert_eq!(upstream.request(a_request("IF-1", 1)), Sent::Queued);
    assert_eq!(upstream.status(status.clone()), Sent::Queued);
    assert_eq!(upstream.request(a_request("IF-1", 2)), Sent::Queued);
    // Batches may split, but the order of words stays.
    let (mut requests, mut statuses) = (Vec::new(), Vec::new());
    while requests.len() + statuses.len() < 3 {
        match cps.next().await {
            CpsEvent::Requests(id, _, batch) => {
                assert_eq!(id, attachment.id);
                requests.extend(batch);
            }
            CpsEvent::Statuses(_, batch) => {
                assert_eq!(requests.len(), 1);
                statuses.extend(batch);
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(requests, [a_request("IF-1", 1), a_request("IF-1", 2)]);
    assert_eq!(statuses, [status]);

    let mut changed = a_report("IF-1");
    changed.epoch = Epoch(4);
    forwarder.report.send_replace(changed.clone());
    let CpsEvent::Report(_, report) = cps.next().await else { panic!("no report") };
    assert_eq!(report, changed);

    assert_eq!(attachment.send(refusal(1)), Sent::Queued);
    let ForwarderEvent::Instructions(batch) = forwarder.next().await else { panic!("no instructions") };
    assert_eq!(batch, [refusal(1)]);
}

/// Why an attempt failed; the C-PS has heard of nobody.
async fn refused(cps: &mut Cps, forwarder: &mut Forwarder) -> String {
    let ForwarderEvent::Detached { reason } = forwarder.next().await else { panic!("attached") };
    assert!(cps.events.try_recv().is_err());
    reason
}

/// Proves CP-27.
#[tokio::test]
async fn a_server_of_another_identity_is_refused() {
    let ca = Authority::new();
    let mut cps = Cps::start(&Pki::open(ca.certificate("cps", 1, &["cats:cps:C-PS-1"])), &["IF-1"]).await;
    let pki = Pki::open(ca.certificate("if1", 2, &["cats:fwd:IF-1"]));
    let mut forwarder = Forwarder::start_for("IF-1", &pki, cps.address, "C-PS-2");
    let reason = refused(&mut cps, &mut forwarder).await;
    assert!(reason.contains("the server is cats:cps:C-PS-1 and cats:cps:C-PS-2 is expected"), "{reason}");

    // A forwarder's certificate makes no C-PS.
    let mut cps = Cps::start(&Pki::open(ca.certificate("x", 3, &["cats:fwd:C-PS-1"])), &["IF-1"]).await;
    let mut forwarder = Forwarder::start("IF-1", &pki, cps.address);
    let reason = refused(&mut cps, &mut forwarder).await;
    assert!(reason.contains("the server is cats:fwd:C-PS-1"), "{reason}");
}

/// Proves CP-27.
#[tokio::test]
async fn a_forwarder_that_is_not_configured_expired_or_of_another_authority_is_refused() {
    let ca = Authority::new();
    let mut cps = Cps::start(&Pki::open(ca.certificate("cps", 1, &["cats:cps:C-PS-1"])), &["IF-1"]).await;
    let foreign = Authority::new();
    for (files, why) in [
        (ca.certificate("if2", 2, &["cats:fwd:IF-2"]), "forwarder IF-2 is not configured here"),
        (ca.certificate_until("old", 3, &["cats:fwd:IF-1"], 2021), "CertificateExpired"),
        (ca.certificate("two", 4, &["cats:fwd:IF-1", "cats:fwd:IF-2"]), "exactly one is needed"),
        (ca.certificate("none", 5, &["https://example.com"]), "exactly one is needed"),
        (foreign.certificate("if1", 6, &["cats:fwd:IF-1"]), "UnknownIssuer"),
    ] {
        let mut forwarder = Forwarder::start("IF-1", &Pki::open(files), cps.address);
        let reason = refused(&mut cps, &mut forwarder).await;
        assert!(reason.contains(why), "{reason}");
    }
}

/// Proves CP-27.
#[tokio::test]
async fn a_forwarder_of_another_authority_that_trusts_the_server_is_refused_by_it() {
    let ca = Authority::new();
    let mut cps = Cps::start(&Pki::open(ca.certificate("cps", 1, &["cats:cps:C-PS-1"])), &["IF-1"]).await;
    let other = Authority::new();
    let mut files = other.certificate("if1", 6, &["cats:fwd:IF-1"]);
    files.authority = ca.dir.path().join("ca.pem");
    let mut forwarder = Forwarder::start("IF-1", &Pki::open(files), cps.address);
    let reason = refused(&mut cps, &mut forwarder).await;
    assert!(reason.contains("UnknownCA") || reason.contains("DecryptError"), "{reason}");
}

/// Proves CP-12, CP-27.
#[tokio::test]
async fn a_forwarder_that_speaks_for_another_is_disconnected() {
    let ca = Authority::new();
    let mut cps =
        Cps::start(&Pki::open(ca.certificate("cps", 1, &["cats:cps:C-PS-1"])), &["IF-1", "IF-2"]).await;
    let pki = Pki::open(ca.certificate("if1", 2, &["cats:fwd:IF-1"]));
    let mut forwarder = Forwarder::start("IF-1", &pki, cps.address);
    let (_attachment, upstream) = attached(&mut cps, &mut forwarder).await;
    assert_eq!(upstream.request(a_request("IF-2", 1)), Sent::Queued);
    assert!(matches!(cps.next().await, CpsEvent::Detached(_, node) if node == name("IF-1")));
    let ForwarderEvent::Detached { reason } = forwarder.next().await else { panic!("still attached") };
    assert!(reason.contains("requests.ingress is IF-2"), "{reason}");
    drop(forwarder);

    // With a report in another's name it never attaches, though it may get the welcome.
    let mut cps =
        Cps::start(&Pki::open(ca.certificate("cps", 1, &["cats:cps:C-PS-1"])), &["IF-1", "IF-2"]).await;
    let mut liar = Forwarder::start("IF-2", &pki, cps.address);
    loop {
        if let ForwarderEvent::Detached { reason } = liar.next().await {
            assert!(reason.contains("report.node is IF-2"), "{reason}");
            break;
        }
    }
    assert!(cps.events.try_recv().is_err());
}

/// Proves CP-27.
#[tokio::test]
async fn plaintext_and_a_client_without_a_certificate_get_nothing() {
    let ca = Authority::new();
    let mut cps = Cps::start(&Pki::open(ca.certificate("cps", 1, &["cats:cps:C-PS-1"])), &["IF-1"]).await;
    let mut plain = tokio::net::TcpStream::connect(cps.address).await.unwrap();
    plain.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").await.unwrap();
    let mut answer = Vec::new();
    // At most a TLS alert (content type 21) before the end, never an HTTP/2 frame.
    drop(plain.read_to_end(&mut answer).await);
    assert!(answer.is_empty() || answer[0] == 21, "{answer:?}");

    let mut roots = rustls::RootCertStore::empty();
    let pem = fs::read(ca.dir.path().join("ca.pem")).unwrap();
    let der =
        <rustls::pki_types::CertificateDer<'_> as rustls::pki_types::pem::PemObject>::from_pem_slice(&pem);
    roots.add(der.unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(bed::TrustAll))
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let stream = tokio::net::TcpStream::connect(cps.address).await.unwrap();
    let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
    // In TLS 1.3 the client's handshake ends before the server has judged it: the refusal comes with the first read.
    let refused = match connector.connect("cats.invalid".try_into().unwrap(), stream).await {
        Err(error) => error,
        Ok(mut stream) => stream.read(&mut [0; 16]).await.unwrap_err(),
    };
    assert!(refused.to_string().contains("CertificateRequired"), "{refused}");
    assert!(cps.events.try_recv().is_err());
}

/// Proves CP-27.
#[tokio::test]
async fn a_revoked_forwarder_is_disconnected_when_the_list_changes_and_does_not_come_back() {
    let ca = Authority::new();
    let mut files = ca.certificate("cps", 1, &["cats:cps:C-PS-1"]);
    files.revocation_list = Some(ca.revoke(&[99]));
    let server = Pki::open(files);
    let mut cps = Cps::start(&server, &["IF-1"]).await;
    let pki = Pki::open(ca.certificate("if1", 2, &["cats:fwd:IF-1"]));
    let mut forwarder = Forwarder::start("IF-1", &pki, cps.address);
    let (_attachment, _upstream) = attached(&mut cps, &mut forwarder).await;

    ca.revoke(&[2, 99]);
    assert!(server.refresh());
    assert!(matches!(cps.next().await, CpsEvent::Detached(..)));
    let ForwarderEvent::Detached { .. } = forwarder.next().await else { panic!("still attached") };
    let reason = refused(&mut cps, &mut forwarder).await;
    assert!(reason.contains("CertificateRevoked"), "{reason}");
}

/// Proves CP-27.
#[tokio::test]
async fn a_revoked_server_is_refused() {
    let ca = Authority::new();
    let mut cps = Cps::start(&Pki::open(ca.certificate("cps", 1, &["cats:cps:C-PS-1"])), &["IF-1"]).await;
    let mut files = ca.certificate("if1", 2, &["cats:fwd:IF-1"]);
    files.revocation_list = Some(ca.revoke(&[1]));
    let mut forwarder = Forwarder::start("IF-1", &Pki::open(files), cps.address);
    let reason = refused(&mut cps, &mut forwarder).await;
    assert!(reason.contains("Revoked"), "{reason}");
}

#[tokio::test]
async fn a_forwarder_attaches_once_the_configuration_names_it() {
    let ca = Authority::new();
    let mut cps = Cps::start(&Pki::open(ca.certificate("cps", 1, &["cats:cps:C-PS-1"])), &[]).await;
    let pki = Pki::open(ca.certificate("if1", 2, &["cats:fwd:IF-1"]));
    let mut forwarder = Forwarder::start("IF-1", &pki, cps.address);
    assert!(refused(&mut cps, &mut forwarder).await.contains("not configured"));
    cps.forwarders.replace([name("IF-1")].into());
    let _ends = attached(&mut cps, &mut forwarder).await;
}

#[tokio::test]
async fn a_forwarder_attaches_again_after_the_path_selector_restarts() {
    let ca = Authority::new();
    let server = Pki::open(ca.certificate("cps", 1, &["cats:cps:C-PS-1"]));
    let mut cps = Cps::start(&server, &["IF-1"]).await;
    let address = cps.address;
    let pki = Pki::open(ca.certificate("if1", 2, &["cats:fwd:IF-1"]));
    let mut forwarder = Forwarder::start("IF-1", &pki, address);
    let (attachment, _upstream) = attached(&mut cps, &mut forwarder).await;
    drop(attachment);
    drop(cps);
    assert!(matches!(forwarder.next().await, ForwarderEvent::Detached { .. }));
    let mut cps = Cps::start_at(address, &server, &["IF-1"]).await;
    attached(&mut cps, &mut forwarder).await;
}

#[tokio::test]
async fn files_that_do_not_fit_leave_the_former_ones_in_use_and_late_files_are_picked_up() {
    let ca = Authority::new();
    let files = ca.certificate("if1", 2, &["cats:fwd:IF-1"]);
    let key = files.private_key.clone();
    let saved = fs::read_to_string(&key).unwrap();
    fs::remove_file(&key).unwrap();
    let pki = Pki::open(files);
    assert!(pki.problem().unwrap().to_string().contains("if1.key"));

    let mut cps = Cps::start(&Pki::open(ca.certificate("cps", 1, &["cats:cps:C-PS-1"])), &["IF-1"]).await;
    let mut forwarder = Forwarder::start("IF-1", &pki, cps.address);
    assert!(refused(&mut cps, &mut forwarder).await.contains("if1.key"));
    bed::replace(&key, &saved);
    assert!(pki.refresh());
    assert_eq!(pki.problem(), None);
    let _ends = attached(&mut cps, &mut forwarder).await;

    // A key that does not belong to the certificate.
    ca.certificate("other", 3, &["cats:fwd:IF-1"]);
    bed::replace(&key, &fs::read_to_string(ca.dir.path().join("other.key")).unwrap());
    assert!(!pki.refresh());
    assert!(pki.problem().is_some());
}

#[tokio::test]
async fn a_forwarder_that_does_not_read_is_let_go_when_its_queue_is_full() {
    let ca = Authority::new();
    let mut cps = Cps::start(&Pki::open(ca.certificate("cps", 1, &["cats:cps:C-PS-1"])), &["IF-1"]).await;
    let pki = Pki::open(ca.certificate("if1", 2, &["cats:fwd:IF-1"]));
    let mut forwarder = Forwarder::start("IF-1", &pki, cps.address);
    let (attachment, _upstream) = attached(&mut cps, &mut forwarder).await;
    // Its owner takes no event, so its channel fills, then the connection, then the queue here. Bounded all the way.
    let mut sent = 0_u64;
    while attachment.send(refusal(sent)) == Sent::Queued {
        sent += 1;
        assert!(sent < 10_000_000, "the queue has no bound");
        if sent.is_multiple_of(1000) {
            tokio::task::yield_now().await;
        }
    }
    drop(attachment);
    assert!(matches!(cps.next().await, CpsEvent::Detached(..)));
}
