//! End-to-end tests, and the lab of network namespaces that they and the demo run in: hosts, links, daemons,
//! captures. It starts the built programs and talks to them as a user would, over NETCONF, SSH and the wire; it
//! must not call a function of theirs, and nobody imports it. [`reporter`] alone knows words of the product: the messages
//! between instances and metric agents.
//!
//! Everything a lab makes carries the process id of its maker in its name, is undone when the [`lab::Lab`] is
//! dropped, and is swept by the next lab if its maker died.

pub mod broker;
pub mod capture;
pub mod clients;
pub mod command;
pub mod configuration;
pub mod demo;
pub mod deployment;
pub mod error;
pub mod lab;
pub mod layout;
pub mod namespace;
pub mod netconf;
pub mod node;
pub mod pki;
pub mod reporter;
pub mod server;
pub mod service;
pub mod sites;
pub mod state;
pub mod wait;

pub use error::{LabError, Result};
