//! A client's check of a server: the chain, then the identity. Host names and addresses play no part.

use crate::identity::{Identities, Subject};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, Error, OtherError, RootCertStore, SignatureScheme};
use std::sync::Arc;
use webpki::{
    BorrowedCertRevocationList, CertRevocationList, EndEntityCert, KeyUsage, OwnedCertRevocationList,
    RevocationOptionsBuilder,
};

/// The server's certificate belongs to somebody else.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the server is {found} and {expected} is expected")]
pub(crate) struct WrongIdentity {
    pub(crate) found: String,
    pub(crate) expected: String,
}

#[derive(Debug)]
pub(super) struct SubjectVerifier {
    roots: Arc<RootCertStore>,
    revoked: Vec<CertRevocationList<'static>>,
    algorithms: WebPkiSupportedAlgorithms,
    expected: Subject,
}

impl SubjectVerifier {
    pub(super) fn new(
        roots: &Arc<RootCertStore>,
        revoked: &[CertificateRevocationListDer<'static>],
        provider: &CryptoProvider,
        expected: Subject,
    ) -> Result<Self, webpki::Error> {
        let revoked = revoked
            .iter()
            .map(|list| Ok(owned(&BorrowedCertRevocationList::from_der(list)?)?.into()))
            .collect::<Result<_, webpki::Error>>()?;
        Ok(Self {
            roots: Arc::clone(roots),
            revoked,
            algorithms: provider.signature_verification_algorithms,
            expected,
        })
    }

    fn check_chain(
        &self,
        leaf: &CertificateDer<'_>,
        rest: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<(), Error> {
        let certificate = EndEntityCert::try_from(leaf).map_err(refuse)?;
        let lists: Vec<&CertRevocationList<'_>> = self.revoked.iter().collect();
        let revocation = match lists.is_empty() {
            true => None,
            false => RevocationOptionsBuilder::new(&lists).ok().map(RevocationOptionsBuilder::build),
        };
        certificate
            .verify_for_usage(
                self.algorithms.all,
                &self.roots.roots,
                rest,
                now,
                KeyUsage::server_auth(),
                revocation,
                None,
            )
            .map(drop)
            .map_err(refuse)
    }
}

fn owned(list: &BorrowedCertRevocationList<'_>) -> Result<OwnedCertRevocationList, webpki::Error> {
    list.to_owned()
}

/// The alert that tells the peer what is wrong, as far as TLS has one.
fn refuse(error: webpki::Error) -> Error {
    let known = match error {
        webpki::Error::CertExpired { .. } => CertificateError::Expired,
        webpki::Error::CertNotValidYet { .. } => CertificateError::NotValidYet,
        webpki::Error::CertRevoked => CertificateError::Revoked,
        webpki::Error::UnknownIssuer => CertificateError::UnknownIssuer,
        webpki::Error::UnknownRevocationStatus => CertificateError::UnknownRevocationStatus,
        other => CertificateError::Other(OtherError(Arc::new(other))),
    };
    Error::InvalidCertificate(known)
}

impl ServerCertVerifier for SubjectVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.check_chain(end_entity, intermediates, now)?;
        let other = |error: OtherError| Error::InvalidCertificate(CertificateError::Other(error));
        let identities =
            Identities::of_certificate(end_entity).map_err(|error| other(OtherError(Arc::new(error))))?;
        if !identities.contains(&self.expected) {
            let wrong = WrongIdentity { found: identities.to_string(), expected: self.expected.to_string() };
            return Err(other(OtherError(Arc::new(wrong))));
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
