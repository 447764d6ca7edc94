//! `Collection` between service contact instances and their C-SMA.
//!
//! | file | is |
//! |---|---|
//! | `admission` | who may report what: certificates, tokens, and the services of each instance |
//! | `server` | the listener of a C-SMA or of an instance |
//! | `stream` | one stream of reports at a C-SMA |
//! | `answers` | what goes back on it |
//! | `reporter` | the instance's end of such a stream |
//! | `rest` | the same over plain HTTP, at both ends |
//! | `pull` | a C-SMA asks an instance |
//! | `subscription` | a C-SMA listens to an instance |
//! | `broker` | both ends of reports over MQTT |
//!
//! An instance is who its certificate says (`cats:csci:CSCI-ID`), or the subject of a token, in the stream's metadata or
//! in each report. It reports for itself only, and for the services that the configuration gives it.
//!
//! Reports go to the owner as events on a bounded channel. Where the owner does not keep up, streams are not read, and
//! HTTP/2's flow control holds the instances. Nor are streams read whose answers are not: an instance that reads none for
//! so long that it counts as silent is disconnected.

mod admission;
mod answers;
mod broker;
mod pull;
mod reporter;
mod rest;
mod server;
mod stream;
mod subscription;

pub use admission::{Admission, AdmissionCounters, Denial, Others, Permissions, Proofs};
pub use answers::Answers;
pub use broker::{
    BrokerCounters, BrokerEvent, BrokerTarget, Proof, PublisherTarget, SiteName, SiteNameError, collect,
    publish,
};
pub use pull::{PullError, PullTarget, pull_grpc, pull_http};
pub use reporter::{ReportStream, ReporterEvent, ReporterTarget, report};
pub use server::{
    CollectionEvent, Connection, ConnectionId, Listen, Offer, Reader, Readers, Source, Subscriber, serve,
};
pub use subscription::{SubscriptionEvent, SubscriptionTarget, subscribe};

use crate::Timing;
use std::time::Duration;

/// The timing of streams of reports: calmer than that of forwarders, since there are so many.
pub const TIMING: Timing = Timing {
    keepalive: Duration::from_secs(10),
    silence: Duration::from_secs(35),
    connect: Duration::from_secs(10),
    backoff: Duration::from_millis(500),
    backoff_limit: Duration::from_secs(60),
};

/// Reports that wait for one C-SMA at most.
const QUEUE: usize = 1024;

/// Instructions that wait for one instance at most, beside the answers to its reports: it may front ten thousands, each
/// of which is asked again, or hears late what became of a report that had to wait.
const INSTRUCTIONS: usize = 32_768;

/// Words in one message at most.
const BATCH: usize = 256;
