//! NETCONF over TLS (RFC 7589): clients have certificates, and the certificates say who they are.

mod credentials;
mod files;
mod listener;
mod names;
mod server;

pub(crate) use credentials::Shown;
pub use credentials::{Credentials, TlsSettings};
pub use files::{TlsFileError, TlsFiles};
pub use listener::TlsListener;
pub use names::{CertToName, CertToNameEntry, Fingerprint, FingerprintError, MapType};
pub use server::TlsServer;
