//! The C-SMA from outside: reports in, outputs out, in simulated time.
#![allow(clippy::unwrap_used, clippy::panic)] // a test panics where it fails

mod aging;
mod anything;
mod believed;
mod change;
mod floods;
mod order;
mod random;
mod selector;
mod site;
mod telling;
mod together;
