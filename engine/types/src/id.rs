//! Identities and counters that order things.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;
use std::sync::Arc;

/// Why a text or number is no identity.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// The number 0 names nothing (request metadata profile).
    #[error("0 names no service or instance; use 1 to 4294967295 or an address")]
    Zero,
    /// Neither a number nor an address.
    #[error("`{0}` is neither a number from 1 to 4294967295 nor an IP address")]
    Form(String),
    /// Not a node name.
    #[error(
        "`{0}` is no node name: 1 to 64 letters, digits, `.`, `_` or `-`, beginning with a letter or digit"
    )]
    Node(String),
}

macro_rules! service_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        ///
        /// A number above 0 or an address, as `ietf-cats` types it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(Id);

        impl $name {
            /// The identity with this number; 0 is refused.
            pub fn number(value: u32) -> Result<Self, IdError> {
                if value == 0 { Err(IdError::Zero) } else { Ok(Self(Id::Number(value))) }
            }

            /// The identity that is this address.
            pub fn address(value: IpAddr) -> Self {
                Self(match value {
                    IpAddr::V4(address) => Id::V4(address),
                    IpAddr::V6(address) => Id::V6(address),
                })
            }

            /// The number, if it is one.
            pub fn as_number(self) -> Option<u32> {
                match self.0 {
                    Id::Number(value) => Some(value),
                    Id::V4(_) | Id::V6(_) => None,
                }
            }

            /// The address, if it is one.
            pub fn as_address(self) -> Option<IpAddr> {
                match self.0 {
                    Id::Number(_) => None,
                    Id::V4(address) => Some(IpAddr::V4(address)),
                    Id::V6(address) => Some(IpAddr::V6(address)),
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self.0 {
                    Id::Number(value) => value.fmt(f),
                    Id::V4(address) => address.fmt(f),
                    Id::V6(address) => address.fmt(f),
                }
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                if let Ok(value) = text.parse::<u32>() {
                    return Self::number(value);
                }
                text.parse().map(Self::address).map_err(|_| IdError::Form(text.to_owned()))
            }
        }

        impl TryFrom<String> for $name {
            type Error = IdError;

            fn try_from(text: String) -> Result<Self, IdError> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.to_string()
            }
        }
    };
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Id {
    Number(u32),
    V4(Ipv4Addr),
    V6(Ipv6Addr),
}

service_id! {
    /// CATS Service ID (RFC 10053): names a service.
    CsId
}
service_id! {
    /// CATS Service Contact Instance ID (RFC 10053): names an instance of a service.
    CsciId
}

/// The name of a node in a role: the part after `cats:fwd:` of its certificate's URI. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct NodeId(Arc<str>);

impl NodeId {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for NodeId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let valid = text.len() <= 64
            && text.starts_with(|c: char| c.is_ascii_alphanumeric())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'));
        if valid { Ok(Self(text.into())) } else { Err(IdError::Node(text.to_owned())) }
    }
}

impl TryFrom<String> for NodeId {
    type Error = IdError;

    fn try_from(text: String) -> Result<Self, IdError> {
        text.parse()
    }
}

impl From<NodeId> for String {
    fn from(id: NodeId) -> String {
        id.0.as_ref().to_owned()
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One new flow, from its first packet to its binding: correlates request, decision, path and binding (CP-33).
///
/// Made by the ingress: its epoch (start time, so that a restart never repeats one) and a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TransactionId {
    /// The ingress's [`Epoch`].
    pub epoch: u64,
    /// Counts up from 1 within the epoch.
    pub sequence: u64,
}

impl fmt::Display for TransactionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}-{:x}", self.epoch, self.sequence)
    }
}

macro_rules! counter {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
        pub struct $name(pub u64);

        impl $name {
            /// The next one.
            #[must_use]
            pub fn next(self) -> Self {
                Self(self.0.saturating_add(1))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

counter! {
    /// A committed revision of a node's configuration.
    Revision
}
counter! {
    /// A state of a table (CST, NST, TED): counts up with each change (CP-30).
    Generation
}
counter! {
    /// An ownership epoch: the start of a component, in ns since 1970, never lower than one used before.
    Epoch
}
counter! {
    /// The revision of the policy that a decision was made under (CP-13).
    PolicyVersion
}

/// A tenant; 0 is the default tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct TenantId(pub u32);
