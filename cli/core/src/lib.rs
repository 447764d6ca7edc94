//! The words of the command line: tokens, places in the schema, commands, completion, rendering. Pure functions
//! over the schema index that the server gives, so that whatever the schema has, the CLI has.
//!
//! This crate must not know a socket, a terminal, a file or a session; nor any module by name, but for the one
//! place ([`place::HOME`]) whose children may be named without their parents. Only the [views](view) know what is below
//! it, by the names of nodes.

pub mod command;
pub mod complete;
pub mod edit;
pub mod error;
pub mod place;
pub mod render;
pub mod request;
pub mod token;
pub mod view;
