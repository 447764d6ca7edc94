//! The engine daemon: wires the roles that the configuration switches on.
//!
//! [`engine::Engine`] holds the roles around the state machines of engine/core, pcep/core and datapath/core;
//! [`run::run`] feeds it from one thread. [`config`] translates the typed configuration into the words of each role.
//! [`store`] keeps what was applied, so that a node forwards and restarts without cats-mgmtd.
//!
//! This crate must not know NETCONF, XML, libyang or sessions: a commit reaches it as changes on its socket.

mod change;
pub mod config;
pub mod engine;
mod network;
pub mod plane;
pub mod run;
pub mod store;
