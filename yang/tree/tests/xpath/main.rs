//! XPath 1.0: the grammar, values, look-ups, filters and dependencies.

#![allow(clippy::expect_used, clippy::panic)] // a failure here is a failed test

mod cost;
mod dependencies;
mod filters;
mod grammar;
mod laws;
mod maker;
mod shop;
mod values;
