//! gRPC over mutual TLS between nodes, and over the engine's Unix socket.
//!
//! [`control_plane`] carries `ControlPlane`: [`control_plane::serve`] at the C-PS, [`control_plane::attach`] at a
//! forwarder. [`management`] serves `Management` to cats-mgmtd. Both turn streams into plain events on bounded channels,
//! so that the owner of the state machines sees neither tonic nor TLS. [`pki`] keeps keys, certificates and
//! revocation lists, which are files, and follows their changes.
//!
//! This crate must not know what a request, a binding or a configuration means, and must not decide who may do
//! what: the owner says which forwarders may attach. It makes sure that a peer is who it says, and speaks for itself only.

mod accept;
mod answer;
pub mod collection;
mod connect;
pub mod control_plane;
mod http;
mod identity;
pub mod keys;
pub mod management;
pub mod northbound;
pub mod pki;
mod revocation;
mod timing;
pub mod tokens;

pub use identity::{Identities, Identity, IdentityError, Role, Subject};
pub use timing::Timing;
