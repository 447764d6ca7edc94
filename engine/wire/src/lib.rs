//! The protobuf services between daemons and between nodes: messages, tonic stubs, and the conversions to and
//! from the engine's words.
//!
//! This crate must not start a task, open a socket or read a clock, and must not decide anything: it only says
//! what is on the wire. [`json`] has what travels in JSON beside protobuf. Unknown fields of a newer peer are ignored; a value that the engine's types cannot hold is
//! an error that names its field.

mod codec;
mod convert;
pub mod json;

pub use convert::{DecodeError, Problem};

/// `Management`: cats-mgmtd is the client, cats-engined the server, over `RUN_DIR/engine.sock`.
#[allow(missing_docs, unreachable_pub, clippy::large_enum_variant, clippy::too_many_lines)]
pub mod management {
    tonic::include_proto!("cats.management.v1");
}

/// `ControlPlane`: a forwarder is the client, its C-PS the server, over mutual TLS.
#[allow(missing_docs, unreachable_pub, clippy::large_enum_variant, clippy::too_many_lines)]
pub mod control_plane {
    tonic::include_proto!("cats.controlplane.v1");
}

/// `Collection` and `Northbound`: an instance is the client of its C-SMA, and that the client of its C-PSes, over TLS.
#[allow(missing_docs, unreachable_pub, clippy::large_enum_variant, clippy::too_many_lines)]
pub mod metrics {
    tonic::include_proto!("cats.metrics.v1");
}

/// The largest message that `Management` and `ControlPlane` take, octets.
pub const MAX_MESSAGE: usize = 64 << 20;

/// The largest message of reports that a C-SMA takes, octets; the largest text of reports in JSON too.
pub const MAX_REPORTS: usize = 1 << 20;

/// The largest message of advertisements that a C-PS takes, octets; the largest text in JSON too.
pub const MAX_ADVERTISEMENTS: usize = 16 << 20;

/// The largest input of an operation, octets.
pub const MAX_INPUT: usize = 1 << 20;

/// The largest output of an operation, octets.
pub const MAX_OUTPUT: usize = 4 << 20;

/// Octets of one [`management::Snapshot`] chunk that a sender should keep to.
pub const SNAPSHOT_CHUNK: usize = 1 << 20;
