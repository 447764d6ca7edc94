//! Who a certificate belongs to: its URIs of the form `cats:ROLE:NAME`.

use cats_engine_types::{IdError, NodeId};
use std::fmt;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};

/// What a node is in an identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// `cats:fwd:NAME`: an ingress or egress forwarder.
    Forwarder,
    /// `cats:cps:NAME`: a path selector.
    PathSelector,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Role::Forwarder => "fwd",
            Role::PathSelector => "cps",
        })
    }
}

/// One identity.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Identity {
    /// What it is.
    pub role: Role,
    /// Its name.
    pub name: NodeId,
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cats:{}:{}", self.role, self.name)
    }
}

/// The identities of one certificate.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Identities(Vec<Identity>);

/// Why a certificate names nobody.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdentityError {
    /// It is no X.509 certificate.
    #[error("the certificate cannot be parsed: {0}")]
    Certificate(String),
    /// A URI `cats:fwd:` or `cats:cps:` has no valid name.
    #[error("the certificate's URI `{uri}` names no node: {error}")]
    Name {
        /// As it stands there.
        uri: String,
        /// What is wrong.
        error: IdError,
    },
    /// It has no identity in the role, or more than one.
    #[error("the certificate has {found} URIs `cats:{role}:NAME`; exactly one is needed")]
    Count {
        /// The role asked for.
        role: Role,
        /// How many it has.
        found: usize,
    },
}

impl Identities {
    /// The identities in the subject alternative names of a certificate. URIs of other roles and schemes are skipped.
    pub fn of_certificate(der: &[u8]) -> Result<Self, IdentityError> {
        let (_, certificate) =
            X509Certificate::from_der(der).map_err(|error| IdentityError::Certificate(error.to_string()))?;
        let names = certificate
            .subject_alternative_name()
            .map_err(|error| IdentityError::Certificate(error.to_string()))?;
        let mut found = Vec::new();
        for name in names.iter().flat_map(|extension| &extension.value.general_names) {
            if let GeneralName::URI(uri) = name
                && let Some(identity) = parse(uri)?
            {
                found.push(identity);
            }
        }
        Ok(Self(found))
    }

    /// Whether the certificate belongs to `identity`.
    pub fn contains(&self, identity: &Identity) -> bool {
        self.0.contains(identity)
    }

    /// The one name in a role.
    pub fn in_role(&self, role: Role) -> Result<&NodeId, IdentityError> {
        let mut names = self.0.iter().filter(|identity| identity.role == role).map(|identity| &identity.name);
        match (names.next(), names.count()) {
            (Some(name), 0) => Ok(name),
            (first, more) => Err(IdentityError::Count { role, found: usize::from(first.is_some()) + more }),
        }
    }
}

impl fmt::Display for Identities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("nobody");
        }
        for (index, identity) in self.0.iter().enumerate() {
            write!(f, "{}{identity}", if index == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

fn parse(uri: &str) -> Result<Option<Identity>, IdentityError> {
    let (role, name) = if let Some(name) = uri.strip_prefix("cats:fwd:") {
        (Role::Forwarder, name)
    } else if let Some(name) = uri.strip_prefix("cats:cps:") {
        (Role::PathSelector, name)
    } else {
        return Ok(None);
    };
    match name.parse() {
        Ok(name) => Ok(Some(Identity { role, name })),
        Err(error) => Err(IdentityError::Name { uri: uri.to_owned(), error }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_of_another_scheme_or_role_names_nobody_here() {
        assert_eq!(parse("https://example.com"), Ok(None));
        assert_eq!(parse("cats:sma:A"), Ok(None));
        let identity = parse("cats:fwd:IF-1").unwrap().unwrap();
        assert_eq!((identity.role, identity.to_string()), (Role::Forwarder, "cats:fwd:IF-1".to_owned()));
        assert!(matches!(parse("cats:cps:"), Err(IdentityError::Name { .. })));
    }

    #[test]
    fn a_role_must_be_named_exactly_once() {
        let name = |text: &str| Identity { role: Role::Forwarder, name: text.parse().unwrap() };
        let two = Identities(vec![name("A"), name("B")]);
        assert_eq!(
            two.in_role(Role::Forwarder),
            Err(IdentityError::Count { role: Role::Forwarder, found: 2 })
        );
        let found = Identities::default().in_role(Role::PathSelector).unwrap_err();
        assert_eq!(found, IdentityError::Count { role: Role::PathSelector, found: 0 });
    }
}
