//! NETCONF on the wire, both ends (RFC 6241, RFC 6242): framing, hello, requests, replies and errors, and the
//! session state machines.
//!
//! This crate must not know datastores, users, schemas beyond names and namespaces, or any transport: bytes and
//! times come in as arguments, and bytes and requests come out. The server's end is [`Session`]; the client's end is
//! [`Client`]. Both follow one contract: `handle_*`, then drain `poll_output`, then sleep until `poll_timeout`.

mod client;
mod compare;
mod fragment;
mod framing;
mod grammar;
mod hello;
mod modules;
/// Namespaces and capability URIs.
pub mod names;
mod nmda;
mod parameters;
mod path;
mod reply;
mod request;
mod retrieval;
mod rpc;
mod scan;
mod session;
mod subscription;

pub use client::{Answer, AnswerError, Client, ClientError, ClientOutput, ClientSettings, RawReply};
pub use compare::{Compare, Edit, comparison_xml, differences_xml};
pub use fragment::XmlFragment;
pub use framing::{Decoder, Event, Framing, FramingError, HEAD, encode};
pub use grammar::{Refused, parse_rpc};
pub use hello::{Hello, HelloError};
pub use modules::{Modules, NoModules};
pub use nmda::{EditData, GetData, NmdaDatastore, OriginFilter};
pub use parameters::Parameters;
pub use path::instances_xml;
pub use reply::{DataOf, Reply, escape_text, write_reply};
pub use retrieval::{Filter, WithDefaults};
pub use rpc::{
    CommitOptions, Confirmed, Content, Datastore, DefaultOperation, Echo, ErrorOption, Operation, Resolution,
    Rpc, Source, Target, TestOption, operation_not_supported, unknown_namespace,
};
pub use session::{CloseReason, Limits, Output, Refusals, Session, Settings, refuse_session};
pub use subscription::{CreateSubscription, NETCONF_STREAM};
