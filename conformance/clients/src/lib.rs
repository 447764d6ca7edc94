//! Tests by clients in Rust that others wrote: they talk to the programs as any user does.
//!
//! This crate must not know a crate of ours but `conformance`, which starts the programs.
