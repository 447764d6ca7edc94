//! The end of a stream whose peer's certificate is no longer taken.

use crate::accept::Peer;
use crate::pki::Pki;
use tonic::Status;

/// Completes when the peer's certificate is no longer taken, though it was when it connected.
pub(crate) async fn revoked(pki: &Pki, peer: &Peer) -> Status {
    let mut changes = pki.changes();
    loop {
        if peer.chain.is_empty() || changes.changed().await.is_err() {
            return std::future::pending().await;
        }
        if let Err(error) = pki.recheck(&peer.chain) {
            return Status::unauthenticated(error.to_string());
        }
    }
}
