//! A small NETCONF server over TLS on this machine, authorities, and clients with certificates.

#![allow(dead_code, missing_docs, unreachable_pub)] // each test program uses a part
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test fails by panicking

use crate::lab::{HELLO, PATIENCE, rpc, sessions};
use cats_mgmtd_netconf::CloseReason;
use cats_mgmtd_transport::{
    Access, Account, Accounts, Admission, CertToName, CertToNameEntry, Connection, Credentials, Fingerprint,
    MapType, SessionLimits, SshLimits, TlsFiles, TlsListener, TlsServer, TlsSettings,
};
use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, IsCa, Issuer, KeyIdMethod, KeyPair, KeyUsagePurpose, RevokedCertParams, SanType,
    SerialNumber, date_time_ymd,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// An authority.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    /// Its certificate, and those above it but the one at the top.
    chain: Vec<CertificateDer<'static>>,
    pub der: Vec<u8>,
    pub pem: String,
}

/// Who has a certificate.
pub struct Identity {
    pub chain: Vec<CertificateDer<'static>>,
    pub key: PrivateKeyDer<'static>,
    pub key_pem: String,
    /// That of the chain.
    pem: String,
    serial: SerialNumber,
}

impl Identity {
    pub fn der(&self) -> &[u8] {
        &self.chain[0]
    }
}

fn named(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

fn authority_params(name: &str) -> CertificateParams {
    let mut params = named(name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params
}

impl Authority {
    pub fn new(name: &str) -> Self {
        let (params, key) = (authority_params(name), KeyPair::generate().unwrap());
        let certificate = params.self_signed(&key).unwrap();
        let (der, pem) = (certificate.der().to_vec(), certificate.pem());
        Self { issuer: Issuer::new(params, key), chain: Vec::new(), der, pem }
    }

    /// One that this one vouches for.
    pub fn below(&self, name: &str) -> Self {
        let (params, key) = (authority_params(name), KeyPair::generate().unwrap());
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let (der, pem) = (certificate.der().to_vec(), certificate.pem());
        let chain = [certificate.der().clone()].into_iter().chain(self.chain.clone()).collect();
        Self { issuer: Issuer::new(params, key), chain, der, pem }
    }

    pub fn client(&self, name: &str) -> Identity {
        self.identity(named(name), name.len() as u64)
    }

    /// One whose certificate was good a while ago.
    pub fn expired(&self, name: &str) -> Identity {
        let mut params = named(name);
        (params.not_before, params.not_after) = (date_time_ymd(2020, 1, 1), date_time_ymd(2021, 1, 1));
        self.identity(params, 0)
    }

    pub fn server(&self) -> Identity {
        let mut params = named("server");
        params.subject_alt_names = vec![SanType::DnsName("server.example".try_into().unwrap())];
        self.identity(params, 1)
    }

    fn identity(&self, mut params: CertificateParams, number: u64) -> Identity {
        let serial = SerialNumber::from(number + 1000);
        params.serial_number = Some(serial.clone());
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ClientAuth, ExtendedKeyUsagePurpose::ServerAuth];
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let chain: Vec<_> = [certificate.der().clone()].into_iter().chain(self.chain.clone()).collect();
        let pem = if self.chain.is_empty() { certificate.pem() } else { certificate.pem() + &self.pem };
        let der = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        Identity { chain, key: der, key_pem: key.serialize_pem(), pem, serial }
    }

    /// The list of those whose certificates are revoked.
    pub fn revokes(&self, who: &[&Identity]) -> String {
        let revoked = |identity: &&Identity| RevokedCertParams {
            serial_number: identity.serial.clone(),
            revocation_time: date_time_ymd(2026, 1, 1),
            reason_code: None,
            invalidity_date: None,
        };
        let list = CertificateRevocationListParams {
            this_update: date_time_ymd(2026, 1, 1),
            next_update: date_time_ymd(2126, 1, 1),
            crl_number: SerialNumber::from(1),
            issuing_distribution_point: None,
            revoked_certs: who.iter().map(revoked).collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        list.signed_by(&self.issuer).unwrap().pem().unwrap()
    }
}

/// An entry of cert-to-name.
pub fn entry(id: u32, certificate: &[u8], map: MapType) -> CertToNameEntry {
    CertToNameEntry { id, fingerprint: Fingerprint::of(certificate), map }
}

pub fn specified(name: &str) -> MapType {
    MapType::Specified(name.to_owned())
}

/// The running server. It ends with the value.
pub struct TlsLab {
    pub dir: TempDir,
    pub address: SocketAddr,
    pub ca: Authority,
    pub settings: watch::Sender<Option<Arc<TlsSettings>>>,
    pub access: watch::Sender<Arc<Access>>,
    pub credentials: Credentials,
    pub server: Arc<TlsServer>,
    pub admission: Arc<Admission>,
    pub accepted: mpsc::Sender<Connection>,
    pub ended: watch::Receiver<Vec<(String, CloseReason)>>,
    tasks: Vec<tokio::task::JoinHandle<()>>,
}

impl Drop for TlsLab {
    fn drop(&mut self) {
        self.tasks.iter().for_each(|task| task.abort());
    }
}

/// Who may log in: ann and bob.
fn accounts(limits: SshLimits) -> Arc<Access> {
    let accounts = ["ann", "bob"].map(|name| (name.to_owned(), Account::default()));
    Arc::new(Access { accounts: Accounts::new(accounts), limits, ..Access::default() })
}

impl TlsLab {
    /// The common names of its authority's clients are their names.
    pub async fn start() -> Self {
        Self::with(SshLimits::default(), SessionLimits::default()).await
    }

    pub async fn with(limits: SshLimits, sessions_limits: SessionLimits) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let ca = Authority::new("the authority");
        std::fs::write(dir.path().join("ca.pem"), &ca.pem).unwrap();
        put_server(dir.path(), &ca.server());
        let (settings, watched) = watch::channel(None);
        let (access, watched_access) = watch::channel(accounts(limits));
        let mut credentials = Credentials::follow(watched, Duration::from_millis(20));
        let admission = Admission::new(sessions_limits);
        let (accepted, connections) = mpsc::channel(16);
        let server =
            TlsServer::new(credentials.clone(), watched_access, Arc::clone(&admission), accepted.clone());
        let server = Arc::new(server);
        let any = "127.0.0.1:0".parse().unwrap();
        let listener = TlsListener::bind(any, Arc::clone(&server)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (ended_sender, ended) = watch::channel(Vec::new());
        let (kills, mut killers) = mpsc::channel(64);
        let echo = (10, Arc::new(watch::channel(0).0));
        let tasks = vec![
            tokio::spawn(listener.run()),
            tokio::spawn(sessions(connections, echo, ended_sender, kills)),
            // What kills a session is to be kept as long as it.
            tokio::spawn(async move {
                let mut kept = Vec::new();
                while let Some(killer) = killers.recv().await {
                    kept.push(killer);
                }
            }),
        ];
        let names = CertToName::new([entry(1, &ca.der, MapType::CommonName)]);
        let files = TlsFiles {
            authority: dir.path().join("ca.pem"),
            certificate: dir.path().join("server.pem"),
            private_key: dir.path().join("server.key"),
            revocation_list: None,
        };
        settings.send_replace(Some(Arc::new(TlsSettings { files, names })));
        let lab = Self {
            dir,
            address,
            ca,
            settings,
            access,
            credentials: credentials.clone(),
            server,
            admission,
            accepted,
            ended,
            tasks,
        };
        credentials.loaded().await;
        lab
    }

    /// Changes the settings.
    pub fn set(&self, change: impl FnOnce(&mut TlsSettings)) {
        self.settings.send_modify(|settings| {
            let mut new = TlsSettings::clone(settings.as_ref().unwrap());
            change(&mut new);
            *settings = Some(Arc::new(new));
        });
    }

    pub fn put(&self, file: &str, text: &str) {
        // As a whole, as whoever replaces certificates should.
        let (aside, path) = (self.dir.path().join("aside"), self.dir.path().join(file));
        std::fs::write(&aside, text).unwrap();
        std::fs::set_permissions(&aside, std::fs::Permissions::from_mode(0o600)).unwrap();
        std::fs::rename(aside, path).unwrap();
    }

    pub fn put_server(&self, identity: &Identity) {
        self.put("server.pem", &identity.pem);
        self.put("server.key", &identity.key_pem);
    }

    /// A session of who has this certificate.
    pub async fn session(&self, who: Option<&Identity>) -> Result<Client, String> {
        self.session_by(who, &rustls::version::TLS13).await
    }

    pub async fn session_by(
        &self,
        who: Option<&Identity>,
        version: &'static SupportedProtocolVersion,
    ) -> Result<Client, String> {
        let stream = TcpStream::connect(self.address).await.map_err(|error| error.to_string())?;
        self.session_over(stream, who, version).await
    }

    /// As a client of TLS over a connection that somebody has made.
    pub async fn session_over(
        &self,
        stream: TcpStream,
        who: Option<&Identity>,
        version: &'static SupportedProtocolVersion,
    ) -> Result<Client, String> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from(self.ca.der.clone())).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[version])
            .unwrap()
            .with_root_certificates(roots);
        let config = match who {
            Some(who) => config.with_client_auth_cert(who.chain.clone(), who.key.clone_key()).unwrap(),
            None => config.with_no_client_auth(),
        };
        let name = ServerName::try_from("server.example").unwrap();
        let connected = TlsConnector::from(Arc::new(config)).connect(name, stream);
        let stream = timeout(PATIENCE, connected).await.unwrap().map_err(|error| error.to_string())?;
        let mut client = Client { stream, read: String::new() };
        client.send(HELLO).await?;
        client.until("]]>]]>").await?;
        Ok(client)
    }

    /// Waits until so many sessions have ended.
    pub async fn ended(&mut self, count: usize) -> Vec<(String, CloseReason)> {
        let ended = self.ended.wait_for(|ended| ended.len() >= count);
        timeout(PATIENCE, ended).await.unwrap().unwrap().clone()
    }
}

fn put_server(dir: &Path, identity: &Identity) {
    std::fs::write(dir.join("server.pem"), &identity.pem).unwrap();
    std::fs::write(dir.join("server.key"), &identity.key_pem).unwrap();
    std::fs::set_permissions(dir.join("server.key"), std::fs::Permissions::from_mode(0o600)).unwrap();
}

/// The client's end of a session.
pub struct Client {
    pub stream: TlsStream<TcpStream>,
    read: String,
}

impl Client {
    pub async fn send(&mut self, text: &str) -> Result<(), String> {
        let sent = async {
            self.stream.write_all(text.as_bytes()).await?;
            self.stream.flush().await
        };
        timeout(PATIENCE, sent).await.unwrap().map_err(|error| error.to_string())
    }

    /// What comes up to this text.
    pub async fn until(&mut self, wanted: &str) -> Result<String, String> {
        loop {
            if let Some(at) = self.read.find(wanted) {
                let rest = self.read.split_off(at + wanted.len());
                return Ok(std::mem::replace(&mut self.read, rest));
            }
            let mut bytes = [0; 4096];
            let count = timeout(PATIENCE, self.stream.read(&mut bytes)).await.unwrap();
            match count.map_err(|error| error.to_string())? {
                0 => return Err(format!("the end, after {:?}", self.read)),
                count => self.read.push_str(std::str::from_utf8(&bytes[..count]).unwrap()),
            }
        }
    }

    /// Asks for something, and takes the answer.
    pub async fn asks(&mut self, id: u32, content: &str) -> Result<String, String> {
        self.send(&rpc(id, content)).await?;
        self.until("\n##\n").await
    }

    /// What the server shows.
    pub fn server(&self) -> Vec<u8> {
        self.stream.get_ref().1.peer_certificates().unwrap()[0].to_vec()
    }

    /// Waits for the end.
    pub async fn ends(&mut self) -> String {
        self.until("what never comes").await.unwrap_err()
    }
}
