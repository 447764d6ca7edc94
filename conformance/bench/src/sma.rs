//! A metric agent, with its listener and its state machine.

mod agent;
mod tests;
