//! Authorities, certificates, keys and both ends of a control plane, for tests.

#![allow(unreachable_pub, dead_code)] // a test program has no other crate, and each uses a part of this

pub mod collection;
pub mod http;
pub mod northbound;
pub mod tokens;

use cats_engine_transport::Subject;
use cats_engine_transport::control_plane::{
    CpsEvent, ForwarderEvent, Forwarders, Listen, Target, Timing, attach, serve,
};
use cats_engine_transport::keys::{Algorithm, Keyring, Signer, SigningKey, VerifyingKey};
use cats_engine_transport::northbound::Northbound;
use cats_engine_transport::pki::{Pki, PkiFiles};
use cats_engine_types::{
    Capabilities, EncapsulationKind, Epoch, Family, FlowKey, ForwarderReport, NodeId, Protocol,
    ServiceRequest, TenantId, TransactionId,
};
use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, DnType, IsCa, Issuer, KeyIdMethod,
    KeyPair, KeyUsagePurpose, PKCS_ED25519, RevokedCertParams, SanType, SerialNumber, date_time_ymd,
};
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

/// Longer than anything here takes; only a hang meets it.
pub const BOUND: Duration = Duration::from_secs(20);

/// Short waits, so that nothing is waited for.
pub const TIMING: Timing = Timing {
    keepalive: Duration::from_millis(50),
    silence: Duration::from_secs(2),
    connect: Duration::from_secs(5),
    backoff: Duration::from_millis(10),
    backoff_limit: Duration::from_millis(100),
};

pub struct Authority {
    pub dir: TempDir,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    pub fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        let dir = TempDir::new().unwrap();
        params.distinguished_name.push(DnType::CommonName, dir.path().display().to_string());
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        fs::write(dir.path().join("ca.pem"), &pem).unwrap();
        Self { dir, issuer: Issuer::new(params, key) }
    }

    /// Files `NAME.pem` and `NAME.key` with these URIs.
    pub fn certificate(&self, name: &str, serial: u64, uris: &[&str]) -> PkiFiles {
        self.certificate_until(name, serial, uris, 2100)
    }

    /// Of a server that is no node: by its address.
    pub fn server(&self, name: &str, serial: u64, address: &str) -> PkiFiles {
        self.issue(name, serial, vec![SanType::IpAddress(address.parse().unwrap())], 2100)
    }

    pub fn certificate_until(&self, name: &str, serial: u64, uris: &[&str], year: i32) -> PkiFiles {
        let names = uris.iter().map(|uri| SanType::URI((*uri).try_into().unwrap())).collect();
        self.issue(name, serial, names, year)
    }

    fn issue(&self, name: &str, serial: u64, names: Vec<SanType>, year: i32) -> PkiFiles {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.serial_number = Some(SerialNumber::from(serial));
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(year, 1, 1);
        params.subject_alt_names = names;
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let file = |suffix: &str| self.dir.path().join(format!("{name}.{suffix}"));
        fs::write(file("pem"), certificate.pem()).unwrap();
        fs::write(file("key"), key.serialize_pem()).unwrap();
        PkiFiles {
            authority: self.dir.path().join("ca.pem"),
            certificate: file("pem"),
            private_key: file("key"),
            revocation_list: None,
        }
    }

    /// A list in `crl.pem` that revokes these serial numbers.
    pub fn revoke(&self, serials: &[u64]) -> PathBuf {
        let list = CertificateRevocationListParams {
            this_update: date_time_ymd(2024, 1, 1),
            next_update: date_time_ymd(2100, 1, 1),
            crl_number: SerialNumber::from(1),
            issuing_distribution_point: None,
            revoked_certs: serials
                .iter()
                .map(|serial| RevokedCertParams {
                    serial_number: SerialNumber::from(*serial),
                    revocation_time: date_time_ymd(2024, 1, 1),
                    reason_code: None,
                    invalidity_date: None,
                })
                .collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        let file = self.dir.path().join("crl.pem");
        replace(&file, &list.signed_by(&self.issuer).unwrap().pem().unwrap());
        file
    }
}

/// As a careful operator replaces a file: in one step.
pub fn replace(file: &Path, text: &str) {
    let fresh = file.with_extension("fresh");
    fs::write(&fresh, text).unwrap();
    fs::rename(&fresh, file).unwrap();
}

pub fn name(text: &str) -> NodeId {
    text.parse().unwrap()
}

/// A C-PS that listens on the loopback.
pub struct Cps {
    pub address: SocketAddr,
    pub events: mpsc::Receiver<CpsEvent>,
    pub forwarders: Forwarders,
    task: JoinHandle<()>,
}

impl Cps {
    pub async fn start(pki: &Arc<Pki>, allowed: &[&str]) -> Self {
        Self::start_at("127.0.0.1:0".parse().unwrap(), pki, allowed).await
    }

    pub async fn start_at(address: SocketAddr, pki: &Arc<Pki>, allowed: &[&str]) -> Self {
        Self::start_with(address, pki, allowed, None).await
    }

    /// And takes metric agents.
    pub async fn start_with(
        address: SocketAddr,
        pki: &Arc<Pki>,
        allowed: &[&str],
        northbound: Option<Northbound>,
    ) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let forwarders = Forwarders::default();
        forwarders.replace(allowed.iter().map(|text| name(text)).collect());
        let (sender, events) = mpsc::channel(64);
        let listen = Listen {
            listener,
            pki: Arc::clone(pki),
            node: name("C-PS-1"),
            epoch: Epoch(7),
            forwarders: forwarders.clone(),
            timing: TIMING,
            events: sender,
            northbound,
        };
        let task = tokio::spawn(async move { serve(listen, std::future::pending()).await.unwrap() });
        Self { address, events, forwarders, task }
    }

    pub async fn next(&mut self) -> CpsEvent {
        tokio::time::timeout(BOUND, self.events.recv()).await.unwrap().unwrap()
    }
}

impl Drop for Cps {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A forwarder that attaches.
pub struct Forwarder {
    pub events: mpsc::Receiver<ForwarderEvent>,
    pub report: watch::Sender<ForwarderReport>,
    task: JoinHandle<()>,
}

impl Forwarder {
    pub fn start(node: &str, pki: &Arc<Pki>, address: SocketAddr) -> Self {
        Self::start_for(node, pki, address, "C-PS-1")
    }

    pub fn start_for(node: &str, pki: &Arc<Pki>, address: SocketAddr, cps: &str) -> Self {
        let (report, reports) = watch::channel(a_report(node));
        let (sender, events) = mpsc::channel(64);
        let target = Target { address, cps: name(cps), pki: Arc::clone(pki), timing: TIMING };
        let task = tokio::spawn(attach(target, reports, sender));
        Self { events, report, task }
    }

    pub async fn next(&mut self) -> ForwarderEvent {
        tokio::time::timeout(BOUND, self.events.recv()).await.unwrap().unwrap()
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        self.task.abort();
    }
}

pub fn a_report(node: &str) -> ForwarderReport {
    ForwarderReport {
        node: name(node),
        epoch: Epoch(3),
        ingress: Some(Capabilities {
            encapsulations: vec![EncapsulationKind::None, EncapsulationKind::Srv6EncapsReduced],
            max_segments: 10,
            families: vec![Family::V4, Family::V6],
            max_bindings: 1000,
        }),
        deliveries: Vec::new(),
        decapsulation: Vec::new(),
    }
}

pub fn a_key(port: u16) -> FlowKey {
    let client = SocketAddr::new("192.0.2.10".parse().unwrap(), port);
    FlowKey::new(Protocol::TCP, client, "192.0.2.100:443".parse().unwrap()).unwrap()
}

pub fn a_request(ingress: &str, sequence: u64) -> ServiceRequest {
    ServiceRequest {
        transaction: TransactionId { epoch: 3, sequence },
        ingress: name(ingress),
        key: a_key(40_000),
        cs_id: None,
        constraints: Default::default(),
        tenant: TenantId(0),
        generation: None,
    }
}

/// Takes any server, to see what a server does to a client that is not ours.
#[derive(Debug)]
pub struct TrustAll;

impl rustls::client::danger::ServerCertVerifier for TrustAll {
    fn verify_server_cert(
        &self,
        _: &rustls::pki_types::CertificateDer<'_>,
        _: &[rustls::pki_types::CertificateDer<'_>],
        _: &rustls::pki_types::ServerName<'_>,
        _: &[u8],
        _: rustls::pki_types::UnixTime,
    ) -> Result<rustls::client::danger::ServerCertVerified, rustls::Error> {
        Ok(rustls::client::danger::ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &rustls::pki_types::CertificateDer<'_>,
        _: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        Ok(rustls::client::danger::HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &rustls::pki_types::CertificateDer<'_>,
        _: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        Ok(rustls::client::danger::HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        rustls::crypto::ring::default_provider().signature_verification_algorithms.supported_schemes()
    }
}

/// A channel of a client that is not ours, with these certificates.
pub async fn channel(files: &PkiFiles, address: SocketAddr) -> tonic::transport::Channel {
    over(with_certificate(files), address).await
}

/// A channel of a client that is not ours and has no certificate.
pub async fn anonymous(address: SocketAddr) -> tonic::transport::Channel {
    over(without_certificate(), address).await
}

fn with_certificate(files: &PkiFiles) -> rustls::ClientConfig {
    use rustls::pki_types::pem::PemObject;
    let chain = rustls::pki_types::CertificateDer::pem_file_iter(&files.certificate).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::from_pem_file(&files.private_key).unwrap();
    any_server().with_client_auth_cert(chain.map(Result::unwrap).collect(), key).unwrap()
}

fn without_certificate() -> rustls::ClientConfig {
    any_server().with_no_client_auth()
}

type Builder = rustls::ConfigBuilder<rustls::ClientConfig, rustls::client::WantsClientCert>;

fn any_server() -> Builder {
    rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(TrustAll))
}

async fn over(mut config: rustls::ClientConfig, address: SocketAddr) -> tonic::transport::Channel {
    config.alpn_protocols = vec![b"h2".to_vec()];
    let stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
    let stream = connector.connect("cats.invalid".try_into().unwrap(), stream).await.unwrap();
    let mut stream = Some(hyper_util::rt::TokioIo::new(stream));
    let take = tower::service_fn(move |_| {
        std::future::ready(stream.take().ok_or_else(|| std::io::Error::other("one connection")))
    });
    tonic::transport::Endpoint::from_static("http://cats.invalid").connect_with_connector(take).await.unwrap()
}

pub fn selector(text: &str) -> Subject {
    Subject::selector(&name(text))
}

pub fn agent(text: &str) -> Subject {
    Subject::agent(&name(text))
}

/// A pair of Ed25519 in `NAME.sign` and `NAME.verify`.
pub fn signing_pair(dir: &Path, name: &str) -> (PathBuf, PathBuf) {
    let pair = KeyPair::generate_for(&PKCS_ED25519).unwrap();
    let (private, public) = (dir.join(format!("{name}.sign")), dir.join(format!("{name}.verify")));
    replace(&private, &pair.serialize_pem());
    replace(&public, &pair.public_key_pem());
    (private, public)
}

/// Signs with key `id`, and what verifies it as `owner`'s.
pub fn signer(dir: &Path, id: &str, owner: Subject) -> (Arc<Signer>, VerifyingKey) {
    let (private, public) = signing_pair(dir, id);
    let (id, algorithm) = (id.to_owned(), Algorithm::Ed25519);
    let signer = Signer::open(SigningKey { id: id.clone(), algorithm, file: private });
    (signer, VerifyingKey { id, owner, algorithm, file: public })
}

pub fn keyring(keys: Vec<VerifyingKey>) -> Arc<Keyring> {
    let ring = Keyring::open(keys);
    assert_eq!(ring.problems(), []);
    ring
}
