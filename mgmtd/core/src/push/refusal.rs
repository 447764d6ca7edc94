//! Why a request about subscriptions is refused: the identities of RFC 8639 and RFC 8641, told as RFC 8640 section 5
//! says, with hints of what would be taken.

use cats_yang_tree::error::{Error, ErrorInfo, ErrorTag, Structure, StructureLeaf};

/// The identities.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    EncodingUnsupported,
    FilterUnsupported,
    InsufficientResources,
    NoSuchSubscription,
    DatastoreNotSubscribable,
    NoSuchSubscriptionResync,
    OnChangeUnsupported,
    OnChangeSyncUnsupported,
    PeriodUnsupported,
}

impl Why {
    /// The identity, as it stands in `error-app-tag` too.
    pub(crate) fn identity(self) -> &'static str {
        match self {
            Why::EncodingUnsupported => "ietf-subscribed-notifications:encoding-unsupported",
            Why::FilterUnsupported => "ietf-subscribed-notifications:filter-unsupported",
            Why::InsufficientResources => "ietf-subscribed-notifications:insufficient-resources",
            Why::NoSuchSubscription => "ietf-subscribed-notifications:no-such-subscription",
            Why::DatastoreNotSubscribable => "ietf-yang-push:datastore-not-subscribable",
            Why::NoSuchSubscriptionResync => "ietf-yang-push:no-such-subscription-resync",
            Why::OnChangeUnsupported => "ietf-yang-push:on-change-unsupported",
            Why::OnChangeSyncUnsupported => "ietf-yang-push:on-change-sync-unsupported",
            Why::PeriodUnsupported => "ietf-yang-push:period-unsupported",
        }
    }

    fn tag(self) -> ErrorTag {
        match self {
            Why::InsufficientResources => ErrorTag::ResourceDenied,
            Why::OnChangeUnsupported | Why::OnChangeSyncUnsupported => ErrorTag::OperationNotSupported,
            Why::EncodingUnsupported
            | Why::FilterUnsupported
            | Why::NoSuchSubscription
            | Why::DatastoreNotSubscribable
            | Why::NoSuchSubscriptionResync
            | Why::PeriodUnsupported => ErrorTag::InvalidValue,
        }
    }
}

/// What was asked, which names the structure that the answer has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    Establish,
    EstablishOfStream,
    Modify,
    ModifyOfStream,
    Delete,
    Resync,
}

impl Asked {
    /// The same of a subscription to a stream.
    pub(crate) fn of_stream(self) -> Self {
        match self {
            Asked::Establish | Asked::EstablishOfStream => Asked::EstablishOfStream,
            Asked::Modify | Asked::ModifyOfStream => Asked::ModifyOfStream,
            Asked::Delete | Asked::Resync => self,
        }
    }

    /// Module and name of the `yang-data`.
    fn structure(self) -> (&'static str, &'static str) {
        match self {
            Asked::Establish => ("ietf-yang-push", "establish-subscription-datastore-error-info"),
            Asked::EstablishOfStream => {
                ("ietf-subscribed-notifications", "establish-subscription-stream-error-info")
            }
            Asked::ModifyOfStream => {
                ("ietf-subscribed-notifications", "modify-subscription-stream-error-info")
            }
            Asked::Modify => ("ietf-yang-push", "modify-subscription-datastore-error-info"),
            Asked::Delete => ("ietf-subscribed-notifications", "delete-subscription-error-info"),
            Asked::Resync => ("ietf-yang-push", "resync-subscription-error"),
        }
    }
}

/// A refusal with its hints, by the names of their leafs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) why: Why,
    message: String,
    hints: Vec<(&'static str, String)>,
}

impl Refusal {
    pub(crate) fn new(why: Why, message: impl Into<String>) -> Self {
        Self { why, message: message.into(), hints: Vec::new() }
    }

    /// The same with a hint.
    pub(crate) fn hint(mut self, leaf: &'static str, value: impl ToString) -> Self {
        self.hints.push((leaf, value.to_string()));
        self
    }

    /// A filter that is not usable; where and why is the hint.
    pub(crate) fn filter(error: &Error) -> Self {
        let message = error.message.clone();
        Self::new(Why::FilterUnsupported, message.clone()).hint("filter-failure-hint", message)
    }

    pub(crate) fn into_error(self, asked: Asked) -> Error {
        let (module, name) = asked.structure();
        let identity = self.why.identity();
        let mut leafs = vec![("reason".to_owned(), StructureLeaf::Identity(identity.to_owned()))];
        leafs.extend(
            self.hints.into_iter().map(|(leaf, value)| (leaf.to_owned(), StructureLeaf::Text(value))),
        );
        let structure = Structure { module: module.to_owned(), name: name.to_owned(), leafs };
        Error::application(self.why.tag(), self.message)
            .app_tag(identity)
            .with(ErrorInfo::Structure(Box::new(structure)))
    }
}
