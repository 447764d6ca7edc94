//! TLS to an agent, which is known by the URI of its certificate, and to a broker, which is known by its name.

use super::settings::{Settings, named};
use crate::{LabError, Result};
use cats_engine_types::CsciId;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WantsClientCert, verify_server_cert_signed_by_trust_anchor};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{ClientConfig, ConfigBuilder, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use x509_parser::extensions::GeneralName;

/// Connects to the agent as an instance, which is `None` where one certificate is for all.
pub async fn connect(settings: &Settings, id: Option<CsciId>) -> Result<TlsStream<TcpStream>> {
    let doing = || format!("connecting to {}", settings.to);
    let mut config = to_agent(settings, id)?;
    config.alpn_protocols = vec![b"h2".to_vec()];
    let stream = TcpStream::connect(&settings.to).await.map_err(LabError::of(doing()))?;
    stream.set_nodelay(true).map_err(LabError::of(doing()))?;
    let peer = stream.peer_addr().map_err(LabError::of(doing()))?;
    let name = ServerName::IpAddress(peer.ip().into());
    let connected = TlsConnector::from(Arc::new(config)).connect(name, stream).await;
    connected.map_err(LabError::of(doing()))
}

fn to_agent(settings: &Settings, id: Option<CsciId>) -> Result<ClientConfig> {
    let agent =
        OfAgent { roots: roots(settings)?, provider: ring::default_provider(), name: settings.agent.clone() };
    let builder = builder()?.dangerous().with_custom_certificate_verifier(Arc::new(agent));
    with_certificate(settings, id, builder)
}

/// As the agent's, for a broker whose certificate has its name.
pub(super) fn to_broker(settings: &Settings, id: Option<CsciId>) -> Result<ClientConfig> {
    with_certificate(settings, id, builder()?.with_root_certificates(roots(settings)?))
}

fn builder() -> Result<ConfigBuilder<ClientConfig, rustls::WantsVerifier>> {
    ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(LabError::of("preparing TLS"))
}

fn roots(settings: &Settings) -> Result<RootCertStore> {
    let doing = || format!("reading the authority {}", settings.authority.display());
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(&settings.authority).map_err(LabError::of(doing()))? {
        let certificate = certificate.map_err(LabError::of(doing()))?;
        roots.add(certificate).map_err(LabError::of(doing()))?;
    }
    Ok(roots)
}

fn with_certificate(
    settings: &Settings,
    id: Option<CsciId>,
    builder: ConfigBuilder<ClientConfig, WantsClientCert>,
) -> Result<ClientConfig> {
    let (Some(certificate), Some(key)) = (&settings.certificate, &settings.private_key) else {
        return Ok(builder.with_no_client_auth());
    };
    let place = |template: &str| id.map_or_else(|| template.to_owned(), |id| named(template, id));
    let (certificate, key) = (place(certificate), place(key));
    let doing = || format!("reading the certificate {certificate} and its key");
    let chain = CertificateDer::pem_file_iter(&certificate).map_err(LabError::of(doing()))?;
    let chain = chain.collect::<std::result::Result<Vec<_>, _>>().map_err(LabError::of(doing()))?;
    let key = PrivateKeyDer::from_pem_file(&key).map_err(LabError::of(doing()))?;
    builder.with_client_auth_cert(chain, key).map_err(LabError::of(doing()))
}

/// Takes a metric agent: a certificate of the authority with the agent's URI.
#[derive(Debug)]
struct OfAgent {
    roots: RootCertStore,
    provider: CryptoProvider,
    name: Option<String>,
}

impl ServerCertVerifier for OfAgent {
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        rest: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        now: UnixTime,
    ) -> std::result::Result<ServerCertVerified, Error> {
        let algorithms = self.provider.signature_verification_algorithms.all;
        let parsed = ParsedCertificate::try_from(leaf)?;
        verify_server_cert_signed_by_trust_anchor(&parsed, &self.roots, rest, now, algorithms)?;
        let agents: Vec<String> =
            uris(leaf)?.iter().filter_map(|uri| Some(uri.strip_prefix("cats:sma:")?.to_owned())).collect();
        let fits = self.name.as_ref().map_or(!agents.is_empty(), |name| agents.contains(name));
        match fits {
            true => Ok(ServerCertVerified::assertion()),
            false => Err(Error::General(format!(
                "the server is not the metric agent {}",
                self.name.as_deref().unwrap_or("that is expected")
            ))),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// The URIs among the names of a certificate.
fn uris(certificate: &CertificateDer<'_>) -> std::result::Result<Vec<String>, Error> {
    let refused = |error: String| Error::General(format!("the server's certificate cannot be read: {error}"));
    let (_, parsed) =
        x509_parser::parse_x509_certificate(certificate).map_err(|error| refused(error.to_string()))?;
    let names = parsed.subject_alternative_name().map_err(|error| refused(error.to_string()))?;
    let names = names.iter().flat_map(|names| &names.value.general_names);
    Ok(names
        .filter_map(|name| match name {
            GeneralName::URI(uri) => Some((*uri).to_owned()),
            _ => None,
        })
        .collect())
}
