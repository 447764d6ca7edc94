//! Which user a certificate speaks for: the list `cert-to-name` of RFC 7407.

use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};
use std::collections::BTreeMap;
use std::fmt;
use std::net::Ipv4Addr;
use thiserror::Error;
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;

/// The list, in the order in which it is searched.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CertToName(Vec<CertToNameEntry>);

/// An entry of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertToNameEntry {
    /// Lower ones are searched first.
    pub id: u32,
    /// Of the client's certificate, or of one of its authorities.
    pub fingerprint: Fingerprint,
    /// Where the name comes from.
    pub map: MapType,
}

/// Where a name comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MapType {
    /// It is this one.
    Specified(String),
    /// The first of the three kinds of alternative names that the certificate has.
    SanAny,
    /// An address of mail; its host is in lower case.
    SanRfc822Name,
    /// A name of DNS, in lower case.
    SanDnsName,
    /// An address: IPv4 with dots, IPv6 as 32 hexadecimal digits.
    SanIpAddress,
    /// The one common name of the subject.
    CommonName,
}

/// The digest of a certificate, by the numbers for hashes of RFC 5246.
#[derive(Clone, PartialEq, Eq)]
pub struct Fingerprint {
    hash: Hash,
    digest: Vec<u8>,
}

/// Those by which nobody can make another certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Hash {
    Sha224,
    Sha256,
    Sha384,
    Sha512,
}

/// Why a fingerprint is of no use.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FingerprintError {
    /// It is no text of octets.
    #[error("it is not octets in hexadecimal, with colons between them")]
    Form,
    /// Two certificates with the same one can be made.
    #[error("its hash {0:02X} is MD5 or SHA-1, which prove nothing any more: take 04, SHA-256")]
    Weak(u8),
    /// No hash has the number.
    #[error("{0:02X} is the number of no hash: 04 is SHA-256, 05 SHA-384, 06 SHA-512")]
    Unknown(u8),
    /// It has too few octets, or too many.
    #[error("after the number of its hash it has {found} octets, not {wanted}")]
    Length {
        /// So many has it.
        found: usize,
        /// So many has the hash.
        wanted: usize,
    },
}

impl Hash {
    fn of(number: u8) -> Result<Self, FingerprintError> {
        match number {
            3 => Ok(Hash::Sha224),
            4 => Ok(Hash::Sha256),
            5 => Ok(Hash::Sha384),
            6 => Ok(Hash::Sha512),
            1 | 2 => Err(FingerprintError::Weak(number)),
            other => Err(FingerprintError::Unknown(other)),
        }
    }

    fn number(self) -> u8 {
        match self {
            Hash::Sha224 => 3,
            Hash::Sha256 => 4,
            Hash::Sha384 => 5,
            Hash::Sha512 => 6,
        }
    }

    fn length(self) -> usize {
        match self {
            Hash::Sha224 => 28,
            Hash::Sha256 => 32,
            Hash::Sha384 => 48,
            Hash::Sha512 => 64,
        }
    }

    fn digest(self, certificate: &[u8]) -> Vec<u8> {
        match self {
            Hash::Sha224 => Sha224::digest(certificate).to_vec(),
            Hash::Sha256 => Sha256::digest(certificate).to_vec(),
            Hash::Sha384 => Sha384::digest(certificate).to_vec(),
            Hash::Sha512 => Sha512::digest(certificate).to_vec(),
        }
    }
}

impl Fingerprint {
    /// Reads a `tls-fingerprint`: the number of the hash, then the digest, octets in hexadecimal with colons between.
    ///
    /// # Errors
    /// See [`FingerprintError`].
    pub fn parse(text: &str) -> Result<Self, FingerprintError> {
        let octet = |text: &str| {
            let plain = text.len() == 2 && text.bytes().all(|c| c.is_ascii_hexdigit());
            u8::from_str_radix(text, 16).ok().filter(|_| plain).ok_or(FingerprintError::Form)
        };
        let octets = text.split(':').map(octet).collect::<Result<Vec<u8>, _>>()?;
        let (number, digest) = octets.split_first().ok_or(FingerprintError::Form)?;
        let hash = Hash::of(*number)?;
        if digest.len() != hash.length() {
            return Err(FingerprintError::Length { found: digest.len(), wanted: hash.length() });
        }
        Ok(Self { hash, digest: digest.to_vec() })
    }

    /// That of a certificate, by SHA-256.
    pub fn of(certificate: &[u8]) -> Self {
        Self { hash: Hash::Sha256, digest: Hash::Sha256.digest(certificate) }
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02X}", self.hash.number())?;
        self.digest.iter().try_for_each(|octet| write!(f, ":{octet:02X}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl CertToName {
    /// Of these entries, in whatever order they are.
    pub fn new(entries: impl IntoIterator<Item = CertToNameEntry>) -> Self {
        let mut entries: Vec<_> = entries.into_iter().collect();
        entries.sort_by_key(|entry| entry.id);
        Self(entries)
    }

    /// The name in the first entry that matches a certificate of `chain` and can be found in the client's own, which is
    /// the first; the others are the authorities up to one that is trusted, and nothing that was only sent along. None if
    /// there is no such entry.
    pub fn name(&self, chain: &[&[u8]]) -> Option<String> {
        let (_, own) = x509_parser::parse_x509_certificate(chain.first()?).ok()?;
        let mut digests: BTreeMap<Hash, Vec<Vec<u8>>> = BTreeMap::new();
        let mut matches = |wanted: &Fingerprint| {
            let all = || chain.iter().map(|one| wanted.hash.digest(one)).collect();
            digests.entry(wanted.hash).or_insert_with(all).contains(&wanted.digest)
        };
        let matching = self.0.iter().filter(|entry| matches(&entry.fingerprint));
        matching.filter_map(|entry| entry.map.name(&own)).find(|name| !name.is_empty())
    }
}

impl MapType {
    fn name(&self, certificate: &X509Certificate<'_>) -> Option<String> {
        match self {
            MapType::Specified(name) => Some(name.clone()),
            MapType::CommonName => {
                let mut names = certificate.subject().iter_common_name();
                let only = names.next()?.as_str().ok()?.to_owned();
                // Which of several is meant cannot be known.
                names.next().is_none().then_some(only)
            }
            MapType::SanAny | MapType::SanRfc822Name | MapType::SanDnsName | MapType::SanIpAddress => {
                let names = certificate.subject_alternative_name().ok()??;
                names.value.general_names.iter().find_map(|name| self.alternative(name))
            }
        }
    }

    /// The name in an alternative one, if it is of the kind.
    fn alternative(&self, name: &GeneralName<'_>) -> Option<String> {
        let takes = |kind: &MapType| self == kind || *self == MapType::SanAny;
        match name {
            GeneralName::RFC822Name(mail) if takes(&MapType::SanRfc822Name) => {
                let (local, host) = mail.rsplit_once('@')?;
                Some(format!("{local}@{}", host.to_ascii_lowercase()))
            }
            GeneralName::DNSName(name) if takes(&MapType::SanDnsName) => Some(name.to_ascii_lowercase()),
            GeneralName::IPAddress(octets) if takes(&MapType::SanIpAddress) => match octets.len() {
                4 => <[u8; 4]>::try_from(*octets).ok().map(|octets| Ipv4Addr::from(octets).to_string()),
                16 => Some(octets.iter().map(|octet| format!("{octet:02x}")).collect()),
                _ => None,
            },
            // Of another kind than is asked for, or of one that names nobody.
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair, SanType};
    use std::net::IpAddr;

    fn certificate(common_names: &[&str], alternative: Vec<SanType>) -> Vec<u8> {
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        for name in common_names {
            params.distinguished_name.push(DnType::CommonName, *name);
        }
        params.subject_alt_names = alternative;
        let key = KeyPair::generate().unwrap();
        params.self_signed(&key).unwrap().der().to_vec()
    }

    fn mail(text: &str) -> SanType {
        SanType::Rfc822Name(text.try_into().unwrap())
    }

    fn dns(text: &str) -> SanType {
        SanType::DnsName(text.try_into().unwrap())
    }

    fn entry(id: u32, certificate: &[u8], map: MapType) -> CertToNameEntry {
        CertToNameEntry { id, fingerprint: Fingerprint::of(certificate), map }
    }

    fn mapped(certificate: &[u8], map: MapType) -> Option<String> {
        CertToName::new([entry(1, certificate, map)]).name(&[certificate])
    }

    #[test]
    fn each_kind_of_map_takes_its_field_and_no_other() {
        let v4: IpAddr = "192.0.2.1".parse().unwrap();
        let v6: IpAddr = "2001:DB8::A".parse().unwrap();
        let all = vec![dns("Router.Example.COM"), mail("Ann@Example.COM"), SanType::IpAddress(v4)];
        let all = certificate(&["Ann"], all);
        for (map, name) in [
            (MapType::Specified("ann".to_owned()), "ann"),
            (MapType::SanAny, "router.example.com"),
            (MapType::SanRfc822Name, "Ann@example.com"),
            (MapType::SanDnsName, "router.example.com"),
            (MapType::SanIpAddress, "192.0.2.1"),
            (MapType::CommonName, "Ann"),
        ] {
            assert_eq!(mapped(&all, map.clone()).as_deref(), Some(name), "{map:?}");
        }
        let v6 = certificate(&[], vec![SanType::IpAddress(v6)]);
        assert_eq!(mapped(&v6, MapType::SanAny).as_deref(), Some("20010db800000000000000000000000a"));
        for map in [MapType::SanRfc822Name, MapType::SanDnsName, MapType::CommonName] {
            assert_eq!(mapped(&v6, map), None);
        }
    }

    #[test]
    fn a_certificate_without_one_common_name_has_none() {
        assert_eq!(mapped(&certificate(&["ann"], Vec::new()), MapType::SanAny), None);
        assert_eq!(mapped(&certificate(&[""], Vec::new()), MapType::CommonName), None);
        assert_eq!(mapped(b"no certificate", MapType::Specified("ann".to_owned())), None);
    }

    #[test]
    fn entries_are_searched_by_their_ids_and_one_that_gives_no_name_is_passed_over() {
        let own = certificate(&["ann"], Vec::new());
        let authority = certificate(&["authority"], Vec::new());
        let other = certificate(&["other"], Vec::new());
        let specified = |name: &str| MapType::Specified(name.to_owned());
        let list = CertToName::new([
            entry(30, &own, specified("late")),
            entry(20, &authority, specified("by-authority")),
            entry(10, &own, MapType::SanDnsName),
            entry(5, &other, specified("other")),
        ]);
        let name = |chain: &[&[u8]]| list.name(chain);
        assert_eq!(name(&[&own, &authority]).as_deref(), Some("by-authority"));
        assert_eq!(name(&[&own]).as_deref(), Some("late"));
        assert_eq!(name(&[&authority]).as_deref(), Some("by-authority"));
        assert_eq!(name(&[]), None);
    }

    #[test]
    fn a_fingerprint_names_its_hash_and_has_its_length() {
        let certificate = certificate(&["ann"], Vec::new());
        for hash in [Hash::Sha224, Hash::Sha256, Hash::Sha384, Hash::Sha512] {
            let text = Fingerprint { hash, digest: hash.digest(&certificate) }.to_string();
            let parsed = Fingerprint::parse(&text.to_lowercase()).unwrap();
            let list = |map| CertToName::new([CertToNameEntry { id: 1, fingerprint: parsed.clone(), map }]);
            let name = list(MapType::CommonName).name(&[&certificate]);
            assert_eq!(name.as_deref(), Some("ann"), "{text}");
            assert_eq!(parsed.to_string(), text);
        }
        for (text, error) in [
            ("", FingerprintError::Form),
            ("04:+1", FingerprintError::Form),
            ("02:0A", FingerprintError::Weak(2)),
            ("01", FingerprintError::Weak(1)),
            ("FF:00", FingerprintError::Unknown(255)),
            ("04:00:01", FingerprintError::Length { found: 2, wanted: 32 }),
        ] {
            assert_eq!(Fingerprint::parse(text), Err(error), "{text}");
        }
    }
}
