//! The answers to reports on their way back: a stream is read no further than there is room for them, so that none is
//! lost of a sender that reads, however many there are, and one that does not read is not listened to.

use crate::sent::Sent;
use cats_engine_types::ReporterInstruction;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

/// Reports of one stream that are read and whose answers are not written, at most. A message with more is taken when it
/// is the only one.
pub(super) const ROOM: usize = 4096;

/// Takes the answers to reports that came together. Dropped, these stay unanswered.
#[derive(Debug)]
pub struct Answers {
    words: Vec<ReporterInstruction>,
    queue: mpsc::Sender<Said>,
    room: OwnedSemaphorePermit,
}

/// What waits to be written.
#[derive(Debug)]
pub(super) enum Said {
    /// What the owner says of its own accord.
    Word(ReporterInstruction),
    /// The answers to reports, and the room that they take until they are written.
    Answers(Vec<ReporterInstruction>, OwnedSemaphorePermit),
}

/// Has the room for the answers of one stream.
#[derive(Debug)]
pub(super) struct Room {
    queue: mpsc::WeakSender<Said>,
    room: Arc<Semaphore>,
}

impl Answers {
    /// Adds the next answer.
    pub fn add(&mut self, answer: ReporterInstruction) {
        self.words.push(answer);
    }

    /// Sends them all.
    pub fn send(self) -> Sent {
        let Self { words, queue, room } = self;
        if words.is_empty() {
            return Sent::Queued;
        }
        Sent::queue(&queue, Said::Answers(words, room))
    }
}

impl Room {
    /// Weak, so that the owner alone keeps the stream.
    pub(super) fn new(queue: &mpsc::Sender<Said>) -> Self {
        Self { queue: queue.downgrade(), room: Arc::new(Semaphore::new(ROOM)) }
    }

    /// Waits until there is room for the answers to so many reports. Nothing where the owner let the stream go.
    pub(super) async fn take(&self, reports: usize) -> Option<Answers> {
        // At most ROOM.
        let permits = u32::try_from(reports.min(ROOM)).unwrap_or(u32::MAX);
        let room = Arc::clone(&self.room).acquire_many_owned(permits).await.ok()?;
        Some(Answers { words: Vec::with_capacity(reports), queue: self.queue.upgrade()?, room })
    }
}

impl Said {
    /// Adds what is said to `words`; gives back what is to be kept until they are written.
    pub(super) fn into_words(self, words: &mut Vec<ReporterInstruction>) -> Option<OwnedSemaphorePermit> {
        match self {
            Self::Word(word) => {
                words.push(word);
                None
            }
            Self::Answers(answers, room) => {
                words.extend(answers);
                Some(room)
            }
        }
    }
}
