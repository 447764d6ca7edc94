//! Whether a report is believed (SMA-3 to SMA-6): each check by itself, without state but its own.

mod change;
mod consistency;
mod order;
mod range;
mod refusal;

pub(super) use change::{Change, Reference};
pub(super) use consistency::{check, doubts};
pub(super) use order::Order;
pub(super) use range::sample;
pub use refusal::{Contradiction, Doubts, Refusal};
