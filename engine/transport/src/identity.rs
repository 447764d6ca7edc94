//! Who a certificate belongs to: its URIs of the form `cats:ROLE:NAME` and `cats:csci:CSCI-ID`.

use cats_engine_types::{CsciId, IdError, NodeId};
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
    /// `cats:sma:NAME`: a service metric agent.
    MetricAgent,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Role::Forwarder => "fwd",
            Role::PathSelector => "cps",
            Role::MetricAgent => "sma",
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

/// Whom a certificate can belong to.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Subject {
    /// A node in a role.
    Node(Identity),
    /// A service contact instance.
    Instance(CsciId),
}

impl Subject {
    /// The metric agent of this name.
    pub fn agent(name: &NodeId) -> Self {
        Self::Node(Identity { role: Role::MetricAgent, name: name.clone() })
    }

    /// The path selector of this name.
    pub fn selector(name: &NodeId) -> Self {
        Self::Node(Identity { role: Role::PathSelector, name: name.clone() })
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node(identity) => identity.fmt(f),
            Self::Instance(id) => write!(f, "cats:csci:{id}"),
        }
    }
}

/// The identities of one certificate.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Identities(Vec<Subject>);

/// Why a certificate names nobody.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdentityError {
    /// It is no X.509 certificate.
    #[error("the certificate cannot be parsed: {0}")]
    Certificate(String),
    /// A URI of a role of ours has no valid name.
    #[error("the certificate's URI `{uri}` names nobody: {error}")]
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
                && let Some(subject) = parse(uri)?
            {
                found.push(subject);
            }
        }
        Ok(Self(found))
    }

    /// Those of an instance that was checked elsewhere.
    pub(crate) fn of_instance(id: CsciId) -> Self {
        Self(vec![Subject::Instance(id)])
    }

    /// Whether the certificate belongs to `subject`.
    pub fn contains(&self, subject: &Subject) -> bool {
        self.0.contains(subject)
    }

    /// Everybody that it belongs to.
    pub fn subjects(&self) -> impl Iterator<Item = &Subject> {
        self.0.iter()
    }

    /// The one name in a role.
    pub fn in_role(&self, role: Role) -> Result<&NodeId, IdentityError> {
        let mut names = self.0.iter().filter_map(|subject| match subject {
            Subject::Node(identity) if identity.role == role => Some(&identity.name),
            Subject::Node(_) | Subject::Instance(_) => None,
        });
        match (names.next(), names.count()) {
            (Some(name), 0) => Ok(name),
            (first, more) => Err(IdentityError::Count { role, found: usize::from(first.is_some()) + more }),
        }
    }

    /// The service contact instances that it belongs to; one that fronts several has several.
    pub fn instances(&self) -> impl Iterator<Item = CsciId> {
        self.0.iter().filter_map(|subject| match subject {
            Subject::Instance(id) => Some(*id),
            Subject::Node(_) => None,
        })
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

fn parse(uri: &str) -> Result<Option<Subject>, IdentityError> {
    let wrong = |error| IdentityError::Name { uri: uri.to_owned(), error };
    if let Some(id) = uri.strip_prefix("cats:csci:") {
        return id.parse().map(Subject::Instance).map(Some).map_err(wrong);
    }
    let roles = [Role::Forwarder, Role::PathSelector, Role::MetricAgent];
    let named = |role: Role| Some((role, uri.strip_prefix(&format!("cats:{role}:"))?));
    let Some((role, name)) = roles.into_iter().find_map(named) else { return Ok(None) };
    name.parse().map(|name| Some(Subject::Node(Identity { role, name }))).map_err(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_of_another_scheme_or_role_names_nobody_here() {
        assert_eq!(parse("https://example.com"), Ok(None));
        assert_eq!(parse("cats:nma:A"), Ok(None));
        for uri in
            ["cats:fwd:IF-1", "cats:cps:C-PS-1", "cats:sma:C-SMA-1", "cats:csci:7", "cats:csci:2001:db8::7"]
        {
            assert_eq!(parse(uri).unwrap().unwrap().to_string(), uri);
        }
        for uri in ["cats:cps:", "cats:sma:a b", "cats:csci:0", "cats:csci:A"] {
            assert!(matches!(parse(uri), Err(IdentityError::Name { .. })), "{uri}");
        }
    }

    #[test]
    fn a_role_must_be_named_exactly_once() {
        let name =
            |text: &str| Subject::Node(Identity { role: Role::Forwarder, name: text.parse().unwrap() });
        let two = Identities(vec![name("A"), name("B")]);
        assert_eq!(
            two.in_role(Role::Forwarder),
            Err(IdentityError::Count { role: Role::Forwarder, found: 2 })
        );
        let found = Identities::default().in_role(Role::PathSelector).unwrap_err();
        assert_eq!(found, IdentityError::Count { role: Role::PathSelector, found: 0 });
    }
}
