//! Datastores, sessions, locks and the commit state machine of the management daemon.
//!
//! This crate must not know framing, transports, libyang, the store's files or what any module means beyond
//! `ietf-netconf-acm`, which it enforces, and `ietf-netconf-monitoring`, `ietf-yang-library`, `ietf-alarms` and the history and the detached candidates of `cats-system`, whose state it is. It has no I/O, no clock and no randomness:
//! see the contract on [`Core`]. Of what it says by itself it knows `nc-notifications` and
//! `ietf-netconf-notifications`.
//!
//! A commit goes validate (yang/tree's, on a thread outside) → check (rules that YANG cannot say, outside) → prepare (each component
//! in sync) → record (durable: the point of decision) → apply. A failure before that point leaves candidate and
//! running as they were. While the journal is written, further commits are decided upon what is being written. A confirmed commit that is not confirmed is taken back by a commit of the daemon's own.

mod ahead;
mod alarms;
mod call_home;
mod commit;
mod compare;
mod components;
mod confirmed;
mod content;
mod core;
mod datastores;
mod deciding;
mod delivery;
mod ending;
mod files;
mod history;
mod library;
mod monitoring;
mod nacm;
mod notices;
mod operations;
mod output;
mod piecewise;
mod private;
mod push;
mod reading;
mod reads;
mod secrets;
mod session;
mod space;
mod state;
mod streams;
mod told;
mod types;

pub use crate::core::{Core, Facts, ModuleText};
pub use call_home::Called;
pub use commit::PREPARE_TIMEOUT;
pub use compare::{Compare, Comparison};
pub use confirmed::RECORD_AGAIN;
pub use delivery::{MESSAGE_QUEUE, Message, Taken, Told};
pub use history::Kept;
pub use nacm::{Access, AccessOperation};
pub use notices::Logged;
pub use operations::{EXECUTE_TIMEOUT, Executed, MOST_EXECUTIONS};
pub use output::{
    Alarm, Author, CommitRecord, ConfirmEvent, Event, Kind, Output, Pending, Recorded, WhyDropped,
};
pub use private::Keeping;
pub use push::{Changes, Content as UpdateContent, LEAST_PERIOD_CS, Update, Whole};
pub use reading::{Filter, GivenIn, Reading, Selection, XPath};
pub use reads::READ_TIMEOUT;
pub use secrets::{PASSWORD_LIMIT, Salt};
pub use session::Limits;
pub use space::Space;
pub use streams::{EventLimits, Subscribe};
pub use told::Delta;
pub use types::{
    Attachment, CommitOptions, ComponentId, Config, Confirmed, Datastore, DefaultOperation, Edit, End,
    ErrorOption, NmdaDatastore, Now, Peer, ReadAs, Reply, Request, Resolution, SessionId, Source, Target,
    TestOption, Ticket, Transport,
};
