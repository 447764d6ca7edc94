//! Reading the files and making rustls configurations of them.

use super::verifier::SubjectVerifier;
use super::{ClientCertificates, PkiError, PkiFiles};
use crate::identity::{Identities, Subject};
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{NoServerSessionStorage, VerifierBuilderError, WebPkiClientVerifier};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

/// What tells one state of the files from another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stamp(Vec<Option<(u64, u64, i64, i64)>>);

impl Stamp {
    pub(super) fn of(files: &PkiFiles) -> Self {
        let all = [Some(&files.authority), Some(&files.certificate), Some(&files.private_key)];
        let paths = all.into_iter().chain([files.revocation_list.as_ref()]).flatten();
        Self(paths.map(|path| stamp(path)).collect())
    }
}

/// What tells one state of a file from another; nothing where it is not there.
pub(crate) fn stamp(path: &Path) -> Option<(u64, u64, i64, i64)> {
    let found = std::fs::metadata(path).ok()?;
    Some((found.ino(), found.size(), found.mtime(), found.mtime_nsec()))
}

/// One usable state of the files.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) identities: Identities,
    /// With client certificates, and where they may be absent.
    servers: [Arc<ServerConfig>; 2],
    pub(super) clients: Arc<dyn ClientCertVerifier>,
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    roots: Arc<RootCertStore>,
    revoked: Vec<CertificateRevocationListDer<'static>>,
    provider: Arc<CryptoProvider>,
}

impl Loaded {
    pub(super) fn read(files: &PkiFiles) -> Result<Self, PkiError> {
        let provider = Arc::new(ring::default_provider());
        let roots = Arc::new(roots(&files.authority)?);
        let chain: Vec<CertificateDer<'static>> = sections(&files.certificate, "certificate")?;
        let key = PrivateKeyDer::from_pem_slice(&read(&files.private_key)?)
            .map_err(|error| pem(&files.private_key, format!("no private key: {error}")))?;
        let revoked = match &files.revocation_list {
            Some(file) => sections(file, "revocation list")?,
            None => Vec::new(),
        };
        let identities = chain.first().map(|leaf| Identities::of_certificate(leaf)).transpose();
        let identities = identities.map_err(|error| mismatch(&files.certificate, error))?.unwrap_or_default();

        let crl_file = files.revocation_list.as_ref().unwrap_or(&files.authority);
        let verifier = |optional: bool| {
            let builder =
                WebPkiClientVerifier::builder_with_provider(Arc::clone(&roots), Arc::clone(&provider))
                    .with_crls(revoked.clone());
            let builder = if optional { builder.allow_unauthenticated() } else { builder };
            builder.build().map_err(|error| mismatch(crl_file, error))
        };
        let clients = verifier(false)?;
        let server = |clients: Arc<dyn ClientCertVerifier>, protocols: &[&[u8]]| {
            let mut server = ServerConfig::builder_with_provider(Arc::clone(&provider))
                .with_protocol_versions(&[&rustls::version::TLS13])
                .map_err(|error| mismatch(&files.certificate, error))?
                .with_client_cert_verifier(clients)
                .with_single_cert(chain.clone(), key.clone_key())
                .map_err(|error| mismatch(&files.private_key, error))?;
            server.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
            // No resumption: each connection shows its certificate, so that a revoked one never gets in.
            server.send_tls13_tickets = 0;
            server.session_storage = Arc::new(NoServerSessionStorage {});
            Ok(Arc::new(server))
        };
        let servers =
            [server(Arc::clone(&clients), &[b"h2"])?, server(verifier(true)?, &[b"h2", b"http/1.1"])?];
        Ok(Self { identities, servers, clients, chain, key, roots, revoked, provider })
    }

    pub(super) fn server(&self, demand: ClientCertificates) -> Arc<ServerConfig> {
        let [required, optional] = &self.servers;
        Arc::clone(match demand {
            ClientCertificates::Required => required,
            ClientCertificates::Optional => optional,
        })
    }

    /// A client of a server that is no node of ours: its certificate must be by our authority and have the server's name
    /// or address.
    pub(super) fn client_by_name(&self) -> Result<ClientConfig, rustls::Error> {
        let unusable = |error: VerifierBuilderError| rustls::Error::General(error.to_string());
        let verifier =
            WebPkiServerVerifier::builder_with_provider(Arc::clone(&self.roots), Arc::clone(&self.provider))
                .with_crls(self.revoked.clone())
                .build()
                .map_err(unusable)?;
        let mut client = ClientConfig::builder_with_provider(Arc::clone(&self.provider))
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .with_webpki_verifier(verifier)
            .with_client_auth_cert(self.chain.clone(), self.key.clone_key())?;
        client.resumption = Resumption::disabled();
        Ok(client)
    }

    pub(super) fn client(&self, expected: Subject) -> Result<ClientConfig, rustls::Error> {
        let verifier =
            SubjectVerifier::new(&self.roots, &self.revoked, &self.provider, expected).map_err(|error| {
                rustls::Error::General(format!("the revocation list cannot be used: {error}"))
            })?;
        let mut client = ClientConfig::builder_with_provider(Arc::clone(&self.provider))
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_client_auth_cert(self.chain.clone(), self.key.clone_key())?;
        client.resumption = Resumption::disabled();
        Ok(client)
    }
}

fn roots(file: &Path) -> Result<RootCertStore, PkiError> {
    let mut store = RootCertStore::empty();
    for authority in sections::<CertificateDer<'static>>(file, "certificate")? {
        store.add(authority).map_err(|error| mismatch(file, error))?;
    }
    Ok(store)
}

fn sections<T: PemObject>(file: &Path, what: &str) -> Result<Vec<T>, PkiError> {
    let text = read(file)?;
    let found = T::pem_slice_iter(&text)
        .collect::<Result<Vec<T>, _>>()
        .map_err(|error| pem(file, error.to_string()))?;
    if found.is_empty() { Err(pem(file, format!("no {what} in it"))) } else { Ok(found) }
}

fn read(file: &Path) -> Result<Vec<u8>, PkiError> {
    let failed =
        |error: std::io::Error| PkiError::Read { file: file.to_path_buf(), error: error.to_string() };
    crate::file::read(file).map_err(failed)
}

fn pem(file: &Path, problem: String) -> PkiError {
    PkiError::Pem { file: file.to_owned(), problem }
}

fn mismatch(file: &Path, problem: impl ToString) -> PkiError {
    PkiError::Mismatch { file: file.to_owned(), problem: problem.to_string() }
}
