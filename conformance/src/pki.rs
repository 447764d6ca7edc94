//! The lab's certificates: an authority and, for each node, a certificate with its identity as a SAN URI. They are
//! made anew for each lab and never committed.

use crate::{LabError, Result};
use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, DnType, ExtendedKeyUsagePurpose,
    IsCa, Issuer, KeyIdMethod, KeyPair, KeyUsagePurpose, PKCS_ED25519, RevokedCertParams, SanType,
    SerialNumber, date_time_ymd,
};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The files of one node.
#[derive(Debug, Clone)]
pub struct NodeFiles {
    /// The authority's certificate, PEM.
    pub authority: PathBuf,
    /// The node's certificate, PEM.
    pub certificate: PathBuf,
    /// Its private key, PKCS #8 PEM, readable by its owner alone.
    pub private_key: PathBuf,
}

/// The files of a key pair of Ed25519 that signs what a node tells.
#[derive(Debug, Clone)]
pub struct KeyPairFiles {
    /// The private key, PKCS #8 PEM, readable by its owner alone.
    pub private: PathBuf,
    /// The public key, PEM.
    pub public: PathBuf,
}

/// A certificate authority that lives in a folder.
#[derive(Debug)]
pub struct Authority {
    folder: PathBuf,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    /// Makes an authority and writes its certificate to `folder/ca.pem`.
    pub fn create(folder: &Path) -> Result<Authority> {
        let doing = "making the lab's authority";
        std::fs::create_dir_all(folder).map_err(LabError::of(doing))?;
        let key = KeyPair::generate().map_err(LabError::of(doing))?;
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "catsd lab authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let certificate = params.self_signed(&key).map_err(LabError::of(doing))?;
        std::fs::write(folder.join("ca.pem"), certificate.pem()).map_err(LabError::of(doing))?;
        Ok(Authority { folder: folder.to_path_buf(), issuer: Issuer::new(params, key) })
    }

    /// Issues a certificate for a node whose identities are the SAN URIs `uris`, such as `cats:fwd:IF-1`. The files
    /// are named after `name`.
    pub fn issue(&self, name: &str, uris: &[&str]) -> Result<NodeFiles> {
        let doing = format!("issuing the certificate of {name}");
        let uri = |uri: &&str| (*uri).try_into().map(SanType::URI).map_err(LabError::of(doing.clone()));
        let names = uris.iter().map(uri).collect::<Result<_>>()?;
        self.issue_for(name, names)
    }

    /// Issues a certificate for a server that is known by its address and is no node.
    pub fn issue_server(&self, name: &str, address: IpAddr) -> Result<NodeFiles> {
        self.issue_for(name, vec![SanType::IpAddress(address)])
    }

    /// Makes a key pair that signs what a node tells, in files that are named after it.
    pub fn signing_key(&self, name: &str) -> Result<KeyPairFiles> {
        let doing = || format!("making the signing key of {name}");
        let pair = KeyPair::generate_for(&PKCS_ED25519).map_err(LabError::of(doing()))?;
        let file = |suffix: &str| self.folder.join(format!("{name}.{suffix}"));
        let files = KeyPairFiles { private: file("sign"), public: file("verify") };
        write_private(&files.private, &pair.serialize_pem()).map_err(LabError::of(doing()))?;
        std::fs::write(&files.public, pair.public_key_pem()).map_err(LabError::of(doing()))?;
        Ok(files)
    }

    /// Writes the list of revoked certificates, which are these from now on, and gives its file.
    pub fn revoke(&self, certificates: &[&Path]) -> Result<PathBuf> {
        let doing = || "listing revoked certificates".to_owned();
        let revoked = |file: &&Path| {
            let der = CertificateDer::from_pem_file(file).map_err(LabError::of(doing()))?;
            let (_, parsed) =
                x509_parser::parse_x509_certificate(&der).map_err(|error| LabError::new(doing(), error))?;
            Ok(RevokedCertParams {
                serial_number: SerialNumber::from_slice(parsed.raw_serial()),
                revocation_time: date_time_ymd(2024, 1, 1),
                reason_code: None,
                invalidity_date: None,
            })
        };
        let list = CertificateRevocationListParams {
            this_update: date_time_ymd(2024, 1, 1),
            next_update: date_time_ymd(2100, 1, 1),
            crl_number: SerialNumber::from(1),
            issuing_distribution_point: None,
            revoked_certs: certificates.iter().map(revoked).collect::<Result<_>>()?,
            key_identifier_method: KeyIdMethod::Sha256,
        };
        let signed = list.signed_by(&self.issuer).map_err(LabError::of(doing()))?;
        let (file, fresh) = (self.folder.join("crl.pem"), self.folder.join("crl.fresh"));
        std::fs::write(&fresh, signed.pem().map_err(LabError::of(doing()))?)
            .map_err(LabError::of(doing()))?;
        std::fs::rename(&fresh, &file).map_err(LabError::of(doing()))?;
        Ok(file)
    }

    fn issue_for(&self, name: &str, names: Vec<SanType>) -> Result<NodeFiles> {
        let doing = format!("issuing the certificate of {name}");
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.subject_alt_names = names;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ClientAuth, ExtendedKeyUsagePurpose::ServerAuth];
        let key = KeyPair::generate().map_err(LabError::of(doing.clone()))?;
        let certificate = params.signed_by(&key, &self.issuer).map_err(LabError::of(doing.clone()))?;
        let files = NodeFiles {
            authority: self.folder.join("ca.pem"),
            certificate: self.folder.join(format!("{name}.pem")),
            private_key: self.folder.join(format!("{name}.key")),
        };
        std::fs::write(&files.certificate, certificate.pem()).map_err(LabError::of(doing.clone()))?;
        write_private(&files.private_key, &key.serialize_pem()).map_err(LabError::of(doing))?;
        Ok(files)
    }
}

fn write_private(file: &Path, text: &str) -> std::io::Result<()> {
    std::fs::write(file, text)?;
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o600))
}
