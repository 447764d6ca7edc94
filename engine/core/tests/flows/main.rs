//! The C-PS from outside: requests, path replies and statuses in, outputs out, in simulated time.
#![allow(clippy::unwrap_used, clippy::panic)] // a test panics where it fails

mod admission;
mod agents;
mod domain;
mod failure;
mod identity;
mod lifetime;
mod operations;
mod random;
mod restart;
mod setup;
