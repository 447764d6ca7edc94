//! The files of certificates and keys, as they are read.

use crate::authorized::plain;
use rustls::crypto::CryptoProvider;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer, TrustAnchor, UnixTime};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thiserror::Error;
use webpki::{
    BorrowedCertRevocationList, CertRevocationList, EndEntityCert, KeyUsage, RevocationOptionsBuilder,
};

/// Larger files of certificates and keys are refused.
const FILE_LIMIT: u64 = 1 << 20;

/// Larger files of revocation lists are refused.
const LIST_LIMIT: u64 = 16 << 20;

/// Where the certificates and keys of TLS are, all PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// Certificates of the authorities that clients are trusted by.
    pub authority: PathBuf,
    /// The server's certificate, then intermediate ones.
    pub certificate: PathBuf,
    /// Its private key: PKCS #8, SEC 1 or PKCS #1.
    pub private_key: PathBuf,
    /// Revocation lists, if any are used; then each authority in a client's chain needs one.
    pub revocation_list: Option<PathBuf>,
}

/// The size of a record. There are clients, such as ncclient, that read so much when their socket has something; the rest
/// of a larger record would stay in their library of TLS, where they do not look before more comes.
const RECORD: usize = 4096;

/// Why the files are of no use. What they hold is never told: they may be named by who may not read them.
#[derive(Debug, Error)]
pub enum TlsFileError {
    /// It cannot be read.
    #[error("{path}: {error}", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// It is larger than any such file should be.
    #[error("{path} has more than {limit} bytes", path = path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The bound.
        limit: u64,
    },
    /// Everybody may read or write the key.
    #[error("{path} has mode {mode:04o}; others must not read a private key: chmod o-rwx it", path = path.display())]
    Mode {
        /// The file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// It lacks what it should hold.
    #[error("{path} holds no {wanted} in PEM", path = path.display())]
    Pem {
        /// The file.
        path: PathBuf,
        /// What it should hold.
        wanted: &'static str,
    },
    /// It does not go with the others.
    #[error("{path}: {why}", path = path.display())]
    Misfit {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
}

/// What tells one state of the files from another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stamp(Vec<Option<(u64, u64, i64, i64)>>);

impl Stamp {
    pub(super) fn of(files: &TlsFiles) -> Self {
        let all = [Some(&files.authority), Some(&files.certificate), Some(&files.private_key)];
        let paths = all.into_iter().chain([files.revocation_list.as_ref()]).flatten();
        let stamp = |path: &PathBuf| {
            let found = std::fs::metadata(path).ok()?;
            Some((found.ino(), found.size(), found.mtime(), found.mtime_nsec()))
        };
        Self(paths.map(stamp).collect())
    }
}

/// One usable state of the files.
#[derive(Debug)]
pub(super) struct Loaded {
    server: Arc<ServerConfig>,
    roots: Arc<RootCertStore>,
    /// The certificates that `roots` are of.
    authorities: Vec<(TrustAnchor<'static>, CertificateDer<'static>)>,
    revoked: Vec<CertRevocationList<'static>>,
    provider: Arc<CryptoProvider>,
}

impl Loaded {
    pub(super) fn read(files: &TlsFiles) -> Result<Self, TlsFileError> {
        let provider = Arc::new(ring::default_provider());
        let authorities = authorities(&files.authority)?;
        let roots = RootCertStore { roots: authorities.iter().map(|(anchor, _)| anchor.clone()).collect() };
        let roots = Arc::new(roots);
        let lists: Vec<CertificateRevocationListDer<'static>> = match &files.revocation_list {
            Some(path) => sections(path, LIST_LIMIT, "revocation list")?,
            None => Vec::new(),
        };
        let list_file = files.revocation_list.as_ref().unwrap_or(&files.authority);
        let revoked = lists.iter().map(|list| owned(list).map_err(|why| misfit(list_file, why))).collect();
        let revoked = Result::from_iter::<Vec<_>>(revoked)?;
        let clients = WebPkiClientVerifier::builder_with_provider(Arc::clone(&roots), Arc::clone(&provider))
            .with_crls(lists)
            .build()
            .map_err(|why| misfit(list_file, why))?;
        let chain: Vec<CertificateDer<'static>> = sections(&files.certificate, FILE_LIMIT, "certificate")?;
        let mut server = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])
            .map_err(|why| misfit(&files.certificate, why))?
            .with_client_cert_verifier(clients)
            .with_single_cert(chain, private_key(&files.private_key)?)
            .map_err(|why| misfit(&files.private_key, why))?;
        // No resumption: each connection shows its certificate, so that a revoked one never gets in.
        server.send_tls13_tickets = 0;
        server.session_storage = Arc::new(NoServerSessionStorage {});
        server.max_fragment_size = Some(RECORD);
        Ok(Self { server: Arc::new(server), roots, authorities, revoked, provider })
    }

    pub(super) fn server(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.server)
    }

    /// The client's certificate and those of the authorities up to one that is trusted: what was checked, and nothing
    /// that a client has only sent along.
    pub(super) fn verified(
        &self,
        chain: &[CertificateDer<'static>],
        at: UnixTime,
    ) -> Result<Vec<CertificateDer<'static>>, webpki::Error> {
        let Some((own, sent)) = chain.split_first() else { return Err(webpki::Error::UnknownIssuer) };
        let certificate = EndEntityCert::try_from(own)?;
        let lists: Vec<&CertRevocationList<'_>> = self.revoked.iter().collect();
        let revocation = RevocationOptionsBuilder::new(&lists).ok().map(RevocationOptionsBuilder::build);
        let algorithms = self.provider.signature_verification_algorithms.all;
        let usage = KeyUsage::client_auth();
        let path =
            certificate.verify_for_usage(algorithms, &self.roots.roots, sent, at, usage, revocation, None)?;
        let anchor = path.anchor();
        let between = path.intermediate_certificates().map(|one| one.der().into_owned());
        let trusted =
            self.authorities.iter().filter(|(known, _)| known == anchor).map(|(_, one)| one.clone());
        Ok([own.clone()].into_iter().chain(between).chain(trusted).collect())
    }
}

fn owned(list: &CertificateRevocationListDer<'_>) -> Result<CertRevocationList<'static>, webpki::Error> {
    Ok(BorrowedCertRevocationList::from_der(list)?.to_owned()?.into())
}

fn authorities(path: &Path) -> Result<Vec<(TrustAnchor<'static>, CertificateDer<'static>)>, TlsFileError> {
    let certificates: Vec<CertificateDer<'static>> = sections(path, FILE_LIMIT, "certificate")?;
    let anchored = certificates.into_iter().map(|certificate| {
        let anchor = webpki::anchor_from_trusted_cert(&certificate).map_err(|why| misfit(path, why))?;
        Ok((anchor.to_owned(), certificate))
    });
    anchored.collect()
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsFileError> {
    let (text, mode) = read(path, FILE_LIMIT)?;
    if mode & 0o007 != 0 {
        return Err(TlsFileError::Mode { path: path.to_owned(), mode });
    }
    let none = |_| TlsFileError::Pem { path: path.to_owned(), wanted: "private key" };
    PrivateKeyDer::from_pem_slice(&text).map_err(none)
}

fn sections<T: PemObject>(path: &Path, limit: u64, wanted: &'static str) -> Result<Vec<T>, TlsFileError> {
    let (text, _) = read(path, limit)?;
    let found = T::pem_slice_iter(&text).collect::<Result<Vec<T>, _>>().unwrap_or_default();
    match found.is_empty() {
        true => Err(TlsFileError::Pem { path: path.to_owned(), wanted }),
        false => Ok(found),
    }
}

/// What the file holds, and its permissions.
fn read(path: &Path, limit: u64) -> Result<(Vec<u8>, u32), TlsFileError> {
    let at = |error| TlsFileError::Read { path: path.to_owned(), error };
    let file = plain(path).map_err(at)?;
    let mode = file.metadata().map_err(at)?.mode() & 0o777;
    let mut text = Vec::new();
    let size = file.take(limit + 1).read_to_end(&mut text).map_err(at)?;
    match size as u64 > limit {
        true => Err(TlsFileError::TooLarge { path: path.to_owned(), limit }),
        false => Ok((text, mode)),
    }
}

fn misfit(path: &Path, why: impl ToString) -> TlsFileError {
    TlsFileError::Misfit { path: path.to_owned(), why: why.to_string() }
}
