//! NETCONF over SSH (RFC 6242), over TLS (RFC 7589) and over the local socket: who may connect, and the bytes of a session.
//!
//! This crate must not know what a request means: it accepts connections, says whose they are, and drives
//! [`cats_mgmtd_netconf::Session`] over them. It decides nothing about access beyond "gets a session or not".
//!
//! [`LocalListener::run`], [`SshListener::run`] and [`TlsServer`] send each accepted [`Connection`] to a bounded channel;
//! the daemon makes a session for it and calls [`serve`], once per connection, in a task of its own.

mod access;
mod admission;
mod algorithms;
mod authorized;
mod call_home;
mod connection;
mod guard;
mod host_key;
mod keepalive;
mod local;
mod password;
mod peer;
mod room;
mod serve;
mod ssh;
mod strangers;
mod tls;
mod turns;

pub use access::{Access, Account, AccountKey, Accounts, Method, SshLimits};
pub use admission::{Admission, Refusal, SessionLimits, Ticket};
pub use authorized::{AuthorizedKeysError, Users, read_authorized_keys};
pub use call_home::{
    CallHome, CallHomeClient, CallHomeClients, CallHomeState, CallHomeStates, Endpoint, Periodic, Speaks,
    Stage, StartWith, Strategy,
};
pub use connection::{Connection, Transport};
pub use host_key::{HostKeyError, HostKeys};
pub use keepalive::Keepalive;
pub use local::LocalListener;
pub use password::{PASSWORD_LIMIT, StoredPassword};
pub use room::{FREE, Rooms};
pub use serve::{Respond, Response, Silent, Tell, serve};
pub use ssh::{SshListener, SshServer};
pub use tls::{
    CertToName, CertToNameEntry, Credentials, Fingerprint, FingerprintError, MapType, TlsFileError, TlsFiles,
    TlsListener, TlsServer, TlsSettings,
};
pub use turns::{Rank, Turn, Turns};
