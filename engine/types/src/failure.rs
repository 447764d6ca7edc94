//! What a request ran into: names that the C-PS and the ingress share.

use std::fmt;
use std::str::FromStr;

/// A name that no value of its kind has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no {kind} is named `{name}`; known are {known}")]
pub struct UnknownName {
    kind: &'static str,
    name: String,
    known: String,
}

macro_rules! named {
    ($(#[$about:meta])* $kind:ident, $word:literal { $($(#[$doc:meta])* $variant:ident = $name:literal,)+ }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $kind {
            $($(#[$doc])* $variant,)+
        }

        impl $kind {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The name, which the wire carries too.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }

        impl fmt::Display for $kind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }

        impl FromStr for $kind {
            type Err = UnknownName;

            fn from_str(name: &str) -> Result<Self, UnknownName> {
                Self::ALL.iter().copied().find(|known| known.name() == name).ok_or_else(|| UnknownName {
                    kind: $word,
                    name: name.to_owned(),
                    known: [$($name),+].join(", "),
                })
            }
        }
    };
}

named! {
    /// A deadline of the path selector.
    Deadline, "deadline" {
        /// The destination is selected.
        Selection = "selection",
        /// The path computation answers.
        PathRequest = "path-request",
        /// The ingress commits the binding.
        Commit = "commit",
    }
}

named! {
    /// A bound that a new flow would exceed.
    Limit, "limit" {
        /// Flows of the domain.
        FlowLimits = "flow-limits",
        /// Bindings that the ingress can hold.
        IngressBindings = "ingress-bindings",
        /// New flows of a client in a second.
        ClientRate = "client-rate",
        /// New flows of a tenant in a second.
        TenantRate = "tenant-rate",
        /// Requests that wait for the path selector's connection.
        Requests = "requests",
    }
}

named! {
    /// What a path selector lacks before it decides.
    NotReady, "want" {
        /// It has no configuration yet.
        Configuration = "configuration",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_is_of_one_value_and_others_are_refused_with_those_known() {
        for limit in Limit::ALL {
            assert_eq!(limit.to_string().parse(), Ok(*limit));
        }
        for deadline in Deadline::ALL {
            assert_eq!(deadline.to_string().parse(), Ok(*deadline));
        }
        let error = "path".parse::<Deadline>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "no deadline is named `path`; known are selection, path-request, commit"
        );
    }
}
