//! The store of events on a thread of its own: no commit and no session waits for it.

use crate::hub::{HubSender, Input};
use cats_mgmtd_core::Logged;
use cats_mgmtd_store::{EventStore, StoreError, StoredEvent};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use tokio::sync::mpsc;

/// The core gives one job at a time.
const QUEUE: usize = 2;

/// Events to be kept, and the oldest that is wanted still.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) events: Vec<Arc<Logged>>,
    pub(crate) oldest: u64,
}

/// The store, or where it would be: it is opened again with the next job.
pub(crate) struct Keeper {
    state: PathBuf,
    store: Option<EventStore>,
}

impl Keeper {
    /// Opens the store, and gives what it holds with the time since when, or says why it holds nothing.
    pub(crate) fn open(state: &Path, unix_us: u64) -> (Self, Result<(u64, Vec<Logged>), String>) {
        let opened = EventStore::open(state, unix_us);
        let state = state.to_path_buf();
        match opened {
            Ok((store, events)) => {
                let kept = (store.created(), events.into_iter().map(logged).collect());
                (Self { state, store: Some(store) }, Ok(kept))
            }
            Err(error) => (Self { state, store: None }, Err(error.to_string())),
        }
    }

    /// Starts the thread; it ends when the sender is dropped.
    ///
    /// # Errors
    /// When the system has no thread to give.
    pub(crate) fn start(self, hub: HubSender) -> std::io::Result<(mpsc::Sender<Job>, JoinHandle<()>)> {
        let (sender, receiver) = mpsc::channel(QUEUE);
        let thread =
            std::thread::Builder::new().name("keeper".to_owned()).spawn(move || self.run(receiver, &hub))?;
        Ok((sender, thread))
    }

    fn run(mut self, mut jobs: mpsc::Receiver<Job>, hub: &HubSender) {
        while let Some(Job { events, oldest }) = jobs.blocking_recv() {
            let through = events.last().map_or(0, |event| event.seq);
            let result = self.keep(&events, oldest).map_err(|error| {
                tracing::error!(%error, "events are not kept");
                error.to_string()
            });
            // A hub that is gone waits for no answer.
            let _ = hub.blocking_send(Input::Kept { through, result });
        }
    }

    fn keep(&mut self, events: &[Arc<Logged>], oldest: u64) -> Result<(), StoreError> {
        let events: Vec<StoredEvent> = events.iter().map(|event| stored(event)).collect();
        let now = events.first().map_or(0, |event| event.at);
        let store = match &mut self.store {
            Some(store) => store,
            none => {
                let (mut store, _) = EventStore::open(&self.state, now)?;
                // What it holds was not there to be read, and its numbers have been given again.
                store.clear()?;
                none.insert(store)
            }
        };
        store.append(&events, oldest)
    }
}

fn stored(event: &Logged) -> StoredEvent {
    StoredEvent { seq: event.seq, at: event.unix_us, text: event.text().to_string() }
}

fn logged(event: StoredEvent) -> Logged {
    Logged::kept(event.seq, event.at, Arc::from(event.text))
}
