//! What a session is told unasked, on the way from the hub to its peer.

use crate::hub::{HubSender, Input};
use crate::session::Shared;
use cats_mgmtd_core::{Message, SessionId, Taken, Told};
use cats_mgmtd_transport::Tell;
use cats_yang_tree::schema::Schema;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::mpsc;

/// A message of fewer bytes is made into text where the session runs: to make a thread of its worker costs more.
const LITTLE: usize = 16 << 10;

/// Makes text of messages in the session's own time, and tells the hub what became of them.
pub(crate) struct Teller {
    session: SessionId,
    messages: mpsc::Receiver<Message>,
    listens: Arc<AtomicBool>,
    schema: Arc<Schema>,
    hub: HubSender,
    /// Of the messages that the hub was not told of yet.
    sent: u32,
    denied: u32,
}

impl Teller {
    pub(crate) fn new(
        session: SessionId,
        (messages, listens): (mpsc::Receiver<Message>, Arc<AtomicBool>),
        shared: &Shared,
    ) -> Self {
        let (schema, hub) = (Arc::clone(&shared.schema), shared.hub.clone());
        Self { session, messages, listens, schema, hub, sent: 0, denied: 0 }
    }

    fn told(&self, message: &Message) -> Told {
        match message.weight() < LITTLE {
            true => message.told(&self.schema),
            false => tokio::task::block_in_place(|| message.told(&self.schema)),
        }
    }
}

impl Tell for Teller {
    async fn next(&mut self) -> Option<String> {
        let Some(message) = self.messages.recv().await else {
            // The hub has forgotten the session, and says so otherwise.
            return std::future::pending().await;
        };
        match self.told(&message) {
            Told::Text(text) => {
                self.sent += 1;
                Some(text)
            }
            Told::Unwanted => None,
            Told::Denied => {
                self.denied += 1;
                None
            }
        }
    }

    async fn taken(&mut self, messages: usize) {
        let (sent, denied) = (std::mem::take(&mut self.sent), std::mem::take(&mut self.denied));
        let taken = Taken { messages, sent, denied };
        // A hub that is gone has nothing more to tell.
        let _ = self.hub.send(Input::Taken { session: self.session, taken }).await;
    }

    fn listens(&self) -> bool {
        self.listens.load(Ordering::Relaxed)
    }
}
