//! What clients may take up all together, as `cats-system` says.

use crate::files::Space;
use crate::session::Memory;
use cats_mgmtd_transport::Rooms;
use cats_yang_model::generated::cats_system;
use tokio::sync::watch;

/// The limits that are in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Bytes of messages that have not come whole.
    pub(crate) messages: u64,
    /// For the files of URLs.
    pub(crate) space: Space,
}

impl Limits {
    pub(crate) fn of(limits: &cats_system::Limits) -> Self {
        let bytes = |mebibytes: u32| u64::from(mebibytes) << 20;
        Self {
            messages: bytes(limits.message_memory()),
            space: Space { total: bytes(limits.file_space()), per_user: bytes(limits.file_space_per_user()) },
        }
    }
}

/// Keeps the memory of messages to what is configured, and gives it back when there were big ones.
pub(crate) async fn follow(mut limits: watch::Receiver<Limits>, rooms: std::sync::Arc<Rooms>) {
    loop {
        rooms.set_limit(limits.borrow_and_update().messages);
        tokio::select! {
            changed = limits.changed() => if changed.is_err() {
                return;
            },
            () = rooms.emptied() => Memory::give_back(),
        }
    }
}
