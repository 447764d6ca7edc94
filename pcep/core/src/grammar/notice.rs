//! PCNtf and PCErr: what a peer lets know, and what it could not accept (RFC 5440 sections 6.6 and 6.7).
//!
//! The numbers stand before what is said of them or, by the habit of some peers, behind.

use crate::codec::object::{Notification, Open, PlspId};
use crate::codec::{Body, Message, Reference};
use crate::errors::ErrorCode;

/// Notifications, and which requests they are about.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Notice {
    /// None: about the session.
    pub about: Vec<Reference>,
    /// What is told.
    pub notifications: Vec<Notification>,
}

/// Errors, and what they are about.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Failure {
    /// None: about the session.
    pub about: Vec<Reference>,
    /// What is wrong.
    pub codes: Vec<ErrorCode>,
    /// The LSP, if it is told.
    pub lsp: Option<PlspId>,
    /// The Open that is proposed.
    pub proposal: Option<Open>,
}

/// What a group has so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Nothing,
    Numbers,
    Content,
    NumbersAndContent,
    ContentAndNumbers,
}

impl Part {
    /// With a number; nothing: a new group begins.
    fn with_number(self) -> Option<Self> {
        match self {
            Self::Nothing | Self::Numbers => Some(Self::Numbers),
            Self::Content | Self::ContentAndNumbers => Some(Self::ContentAndNumbers),
            Self::NumbersAndContent => None,
        }
    }

    /// With content; nothing: a new group begins.
    fn with_content(self) -> Option<Self> {
        match self {
            Self::Nothing | Self::Content => Some(Self::Content),
            Self::Numbers | Self::NumbersAndContent => Some(Self::NumbersAndContent),
            Self::ContentAndNumbers => None,
        }
    }
}

fn number(body: &Body) -> Option<Reference> {
    if let Body::Rp(rp) = body {
        return Some(Reference::Request(rp.request));
    }
    if let Body::Srp(srp) = body { Some(Reference::Operation(srp.operation)) } else { None }
}

/// Groups as they come to be.
struct Groups<T> {
    done: Vec<T>,
    current: T,
    part: Part,
}

impl<T: Default> Groups<T> {
    fn new() -> Self {
        Self { done: Vec::new(), current: T::default(), part: Part::Nothing }
    }

    /// The group that a number belongs to.
    fn of_number(&mut self) -> &mut T {
        self.step(self.part.with_number(), Part::Numbers)
    }

    /// The group that a notification or error belongs to.
    fn of_content(&mut self) -> &mut T {
        self.step(self.part.with_content(), Part::Content)
    }

    fn step(&mut self, next: Option<Part>, first: Part) -> &mut T {
        if next.is_none() {
            self.done.push(std::mem::take(&mut self.current));
        }
        self.part = next.unwrap_or(first);
        &mut self.current
    }

    fn finish(mut self) -> Vec<T> {
        self.done.push(self.current);
        self.done
    }
}

/// The notifications of a message.
pub fn notices(message: &Message) -> Vec<Notice> {
    let mut groups: Groups<Notice> = Groups::new();
    for body in message.objects.iter().map(|object| &object.body) {
        if let Some(number) = number(body) {
            groups.of_number().about.push(number);
        } else if let Body::Notification(notification) = body {
            groups.of_content().notifications.push(notification.clone());
        }
    }
    let mut all = groups.finish();
    all.retain(|notice| !notice.notifications.is_empty());
    all
}

/// The errors of a message.
pub fn failures(message: &Message) -> Vec<Failure> {
    let mut groups: Groups<Failure> = Groups::new();
    for body in message.objects.iter().map(|object| &object.body) {
        if let Some(number) = number(body) {
            groups.of_number().about.push(number);
        } else if let Body::Error(error) = body {
            groups.of_content().codes.push(error.code);
        } else if let Body::Lsp(lsp) = body {
            groups.current.lsp = Some(lsp.plsp);
        } else if let Body::Open(open) = body {
            groups.current.proposal = Some(open.clone());
        }
    }
    let mut all = groups.finish();
    all.retain(|failure| !failure.codes.is_empty());
    all
}
