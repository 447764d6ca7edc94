//! The fuzz targets: each is a function of bytes that a peer could have sent, and panics when a law is broken, not
//! only when the reader does. `tests/corpus.rs` replays the committed corpus through the same functions; the programs
//! of `fuzz_targets` run them under libFuzzer. It must not know sockets, files or a fuzzer.

#![allow(clippy::expect_used, clippy::panic)] // a law that is broken has to stop the run

mod content;
mod edit;
mod filter;
mod framing;
mod infoset;
mod input;
mod json;
mod laws;
mod paths;
mod pcep;
mod rpc;
mod schema;
mod session;
mod validate;
mod xpath;

pub use edit::edit_config;
pub use filter::filter;
pub use framing::framing;
pub use json::json;
pub use paths::paths;
pub use pcep::{pcep_message, pcep_object, pcep_tlv};
pub use rpc::rpc;
pub use session::session;
pub use validate::validate;
pub use xpath::xpath;

/// A target: its name, which is that of its corpus folder and of its program, and what it runs.
pub type Target = (&'static str, fn(&[u8]));

/// All targets.
pub const TARGETS: &[Target] = &[
    ("edit_config", edit_config),
    ("filter", filter),
    ("framing", framing),
    ("json", json),
    ("paths", paths),
    ("pcep_message", pcep_message),
    ("pcep_object", pcep_object),
    ("pcep_tlv", pcep_tlv),
    ("rpc", rpc),
    ("session", session),
    ("validate", validate),
    ("xpath", xpath),
];
