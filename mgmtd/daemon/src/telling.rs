//! What a session is told unasked, on the way from the hub to its peer.

use crate::hub::Input;
use crate::session::Shared;
use cats_mgmtd_core::{Message, SessionId, Taken, Told};
use cats_mgmtd_transport::{Rank, Tell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::mpsc;

/// A message of fewer bytes is made into text where the session runs: to make a thread of its worker costs more.
const LITTLE: usize = 16 << 10;

/// Makes text of messages in the session's own time, and tells the hub what became of them.
pub(crate) struct Teller {
    session: SessionId,
    user: (String, Rank),
    messages: mpsc::Receiver<Message>,
    /// The message that is being made into text.
    open: Option<Message>,
    listens: Arc<AtomicBool>,
    /// Memory is worth giving back when the session ends.
    big: Arc<AtomicBool>,
    shared: Arc<Shared>,
    /// Of the messages that the hub was not told of yet.
    sent: u32,
    denied: u32,
}

impl Teller {
    pub(crate) fn new(
        (session, user): (SessionId, (String, Rank)),
        (messages, listens, big): (mpsc::Receiver<Message>, Arc<AtomicBool>, Arc<AtomicBool>),
        shared: Arc<Shared>,
    ) -> Self {
        Self { session, user, messages, open: None, listens, big, shared, sent: 0, denied: 0 }
    }

    async fn told(&self, message: &Message) -> Told {
        let schema = &self.shared.schema;
        if message.evaluates() {
            self.big.store(true, Ordering::Relaxed);
            // As reads do it: the sessions of all users take turns, so that nobody is held up by what others have set up.
            let (user, rank) = &self.user;
            let _turn = self.shared.turn(user, *rank).await;
            return tokio::task::block_in_place(|| message.told(schema));
        }
        match message.weight() < LITTLE {
            true => message.told(schema),
            false => tokio::task::block_in_place(|| message.told(schema)),
        }
    }
}

impl Tell for Teller {
    async fn next(&mut self) -> Option<String> {
        if self.open.is_none() {
            self.open = self.messages.recv().await;
        }
        let Some(message) = &self.open else {
            // The hub has forgotten the session, and says so otherwise.
            return std::future::pending().await;
        };
        let told = self.told(message).await;
        self.open = None;
        match told {
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
        let _ = self.shared.hub.send(Input::Taken { session: self.session, taken }).await;
    }

    fn listens(&self) -> bool {
        self.listens.load(Ordering::Relaxed)
    }
}
