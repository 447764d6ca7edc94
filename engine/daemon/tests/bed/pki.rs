//! An authority, and what it gives to nodes and instances.

use cats_engine_transport::pki::PkiFiles;
use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, IsCa, Issuer, KeyIdMethod, KeyPair,
    KeyUsagePurpose, PKCS_ED25519, RevokedCertParams, SanType, SerialNumber, date_time_ymd,
};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

pub struct Authority {
    pub dir: TempDir,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    pub fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().unwrap();
        let dir = TempDir::new().unwrap();
        fs::write(dir.path().join("ca.pem"), params.self_signed(&key).unwrap().pem()).unwrap();
        let authority = Self { dir, issuer: Issuer::new(params, key) };
        authority.revoke(&[]);
        authority
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Files `NAME.pem` and `NAME.key` with these URIs.
    pub fn certificate(&self, name: &str, serial: u64, uris: &[&str]) -> PkiFiles {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.serial_number = Some(SerialNumber::from(serial));
        params.subject_alt_names = uris.iter().map(|uri| SanType::URI((*uri).try_into().unwrap())).collect();
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        replace(&self.file(&format!("{name}.key")), &key.serialize_pem());
        replace(&self.file(&format!("{name}.pem")), &certificate.pem());
        PkiFiles {
            authority: self.file("ca.pem"),
            certificate: self.file(&format!("{name}.pem")),
            private_key: self.file(&format!("{name}.key")),
            revocation_list: Some(self.file("crl.pem")),
        }
    }

    /// The list revokes these serial numbers from now on.
    pub fn revoke(&self, serials: &[u64]) {
        let revoked = |serial: &u64| RevokedCertParams {
            serial_number: SerialNumber::from(*serial),
            revocation_time: date_time_ymd(2024, 1, 1),
            reason_code: None,
            invalidity_date: None,
        };
        let list = CertificateRevocationListParams {
            this_update: date_time_ymd(2024, 1, 1),
            next_update: date_time_ymd(2100, 1, 1),
            crl_number: SerialNumber::from(1),
            issuing_distribution_point: None,
            revoked_certs: serials.iter().map(revoked).collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        replace(&self.file("crl.pem"), &list.signed_by(&self.issuer).unwrap().pem().unwrap());
    }

    /// A pair of Ed25519 in `NAME.sign` and `NAME.verify`.
    pub fn signing_pair(&self, name: &str) {
        let pair = KeyPair::generate_for(&PKCS_ED25519).unwrap();
        replace(&self.file(&format!("{name}.verify")), &pair.public_key_pem());
        replace(&self.file(&format!("{name}.sign")), &pair.serialize_pem());
    }

    /// `cats-system:system` of a node with the certificate `NAME.pem`.
    pub fn system(&self, name: &str) -> Value {
        let file = |name: &str| self.file(name).display().to_string();
        json!({ "certificates": {
            "authority": file("ca.pem"),
            "certificate": file(&format!("{name}.pem")),
            "private-key": file(&format!("{name}.key")),
            "revocation-list": file("crl.pem"),
        } })
    }
}

/// As a careful operator replaces a file: in one step.
pub fn replace(file: &Path, text: &str) {
    let fresh = file.with_extension("fresh");
    fs::write(&fresh, text).unwrap();
    fs::rename(&fresh, file).unwrap();
}
