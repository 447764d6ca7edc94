//! gRPC, HTTP and MQTT over TLS between nodes, and gRPC over the engine's Unix socket.
//!
//! | module | carries |
//! |---|---|
//! | [`control_plane`] | `ControlPlane`: [`control_plane::serve`] at the C-PS, [`control_plane::attach`] at a forwarder |
//! | [`collection`] | reports: [`collection::serve`] at the C-SMA, [`collection::report`] at an instance, and pulls, streams of events and a broker beside |
//! | [`northbound`] | advertisements: [`northbound::connect`] at the C-SMA; the C-PS takes them on the listener of its forwarders |
//! | [`management`] | `Management`, to cats-mgmtd |
//!
//! All turn streams into plain events on bounded channels, so that the owner of the state machines sees neither tonic nor
//! TLS. [`pki`] keeps keys, certificates and revocation lists, [`keys`] those of signatures, [`tokens`] those of tokens:
//! all are files, and their changes are followed.
//!
//! This crate must not know what a request, a binding, a metric or a configuration means, and must not decide who may do
//! what: the owner says so, as data. It makes sure that a peer is who it says, and speaks for itself only.

mod accept;
mod answer;
pub mod collection;
mod connect;
pub mod control_plane;
mod file;
mod http;
mod identity;
pub mod keys;
pub mod management;
pub mod northbound;
pub mod pki;
mod revocation;
mod sent;
mod timing;
pub mod tokens;

pub use identity::{Identities, Identity, IdentityError, Role, Subject};
pub use timing::Timing;
