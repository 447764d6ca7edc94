//! What sessions are told unasked, on its way to them.
//!
//! A message is made into text by the task of its session, which says when it is written. So many may be out at a time, of
//! so many bytes; beyond, whoever has something to tell keeps it until there is room. Nothing queues for a session that
//! does not read.

use crate::core::Core;
use crate::nacm::Access;
use crate::notices::Logged;
use crate::output::Output;
use crate::push::Update;
use crate::reading::Filter;
use crate::types::{Now, SessionId};
use cats_yang_tree::notice::{NOTIFICATION, Notice};
use cats_yang_tree::schema::Schema;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// So many messages may be out to a session.
const MOST_MESSAGES: usize = 64;

/// And so many bytes, about, before the last of them.
const MOST_BYTES: usize = 1 << 20;

/// Messages of a session that its queue must take: beside those of [`MOST_MESSAGES`], what says of a subscription that it
/// has changed.
pub const MESSAGE_QUEUE: usize = 4 * MOST_MESSAGES;

/// One thing to be told to one session.
#[derive(Debug, Clone)]
pub struct Message {
    content: Content,
}

#[derive(Debug, Clone)]
enum Content {
    /// An event of a stream, if its receiver may know it and wants to.
    Event { event: Arc<Logged>, filter: Option<Arc<Filter>>, access: Access },
    /// What is about the receiver's own subscription, which nothing keeps from it.
    Own { unix_us: u64, notice: Box<Notice> },
    /// What a subscription to a datastore is told.
    Update { unix_us: u64, update: Box<Update> },
}

/// What becomes of a [`Message`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// This `<notification>` is sent.
    Text(String),
    /// The receiver does not want it.
    Unwanted,
    /// The receiver may not know it.
    Denied,
}

impl Message {
    /// An event of a stream.
    pub(crate) fn event(event: Arc<Logged>, filter: Option<Arc<Filter>>, access: Access) -> Self {
        Self { content: Content::Event { event, filter, access } }
    }

    /// A notification about the receiver's own subscription.
    pub(crate) fn own(unix_us: u64, notice: Notice) -> Self {
        Self { content: Content::Own { unix_us, notice: Box::new(notice) } }
    }

    /// What a subscription to a datastore is told.
    pub(crate) fn update(unix_us: u64, update: Update) -> Self {
        Self { content: Content::Update { unix_us, update: Box::new(update) } }
    }

    /// The text of it: access control first, so that no filter finds what may not be known.
    pub fn told(&self, schema: &Schema) -> Told {
        match &self.content {
            Content::Own { unix_us, notice } => {
                Told::Text(notice.to_xml(schema, &crate::monitoring::date_and_time(*unix_us)))
            }
            Content::Update { unix_us, update } => {
                let time = crate::monitoring::date_and_time(*unix_us);
                let content = update.to_xml(schema);
                Told::Text(format!(
                    "<notification xmlns=\"{NOTIFICATION}\"><eventTime>{time}</eventTime>{content}</notification>"
                ))
            }
            Content::Event { event, filter, access } => {
                // What this schema does not know any more is of no use to anybody.
                let Some(notice) = event.notice(schema) else { return Told::Unwanted };
                let Some(notice) = access.receivable(schema, &notice) else { return Told::Denied };
                match filter {
                    Some(filter) if !filter.passes(schema, &notice) => Told::Unwanted,
                    Some(_) | None => Told::Text(notice.to_xml(schema, &event.time())),
                }
            }
        }
    }

    /// Does it take time that cannot be told before, as a read does?
    pub fn evaluates(&self) -> bool {
        match &self.content {
            Content::Event { .. } | Content::Own { .. } => false,
            Content::Update { update, .. } => update.evaluates(),
        }
    }

    /// About how many bytes it has.
    pub fn weight(&self) -> usize {
        match &self.content {
            Content::Event { event, .. } => event.weight(),
            Content::Own { .. } => 512,
            Content::Update { update, .. } => 512 + update.weight(),
        }
    }
}

/// What became of messages to a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Taken {
    /// So many have left the queue.
    pub messages: usize,
    /// So many of them were sent.
    pub sent: u32,
    /// So many of them the receiver may not know.
    pub denied: u32,
}

/// What is out, by session.
#[derive(Debug, Clone, Default)]
pub(crate) struct Delivery {
    out: BTreeMap<SessionId, Out>,
    listening: BTreeSet<SessionId>,
}

#[derive(Debug, Clone, Default)]
struct Out {
    weights: VecDeque<usize>,
    bytes: usize,
}

impl Delivery {
    /// May the session be told more? When there is room again, [`Core::handle_taken`] says so.
    pub(crate) fn may_send(&self, session: SessionId) -> bool {
        self.out.get(&session).is_none_or(|out| out.weights.len() < MOST_MESSAGES && out.bytes < MOST_BYTES)
    }

    /// May the session be told that something about a subscription of its own has changed? There are places for that
    /// beside those of [`Delivery::may_send`].
    pub(crate) fn may_send_own(&self, session: SessionId) -> bool {
        self.out.get(&session).is_none_or(|out| out.weights.len() < MESSAGE_QUEUE)
    }

    fn sent(&mut self, session: SessionId, weight: usize) {
        let out = self.out.entry(session).or_default();
        out.weights.push_back(weight);
        out.bytes += weight;
    }

    fn taken(&mut self, session: SessionId, messages: usize) {
        let Some(out) = self.out.get_mut(&session) else { return };
        let gone = out.weights.drain(..messages.min(out.weights.len()));
        out.bytes -= gone.sum::<usize>();
        if out.weights.is_empty() {
            self.out.remove(&session);
        }
    }

    pub(crate) fn forget(&mut self, session: SessionId) {
        self.out.remove(&session);
        self.listening.remove(&session);
    }
}

impl Core {
    /// Tells a session something. Whoever calls has asked whether it may.
    pub(crate) fn tell(&mut self, session: SessionId, message: Message) {
        debug_assert!(self.delivery.may_send_own(session));
        self.delivery.sent(session, message.weight());
        self.outputs.push_back(Output::Notify { session, message });
    }

    /// Says whether there may be something to tell to a session: while there is, it is not idle.
    pub(crate) fn listens(&mut self, session: SessionId, listens: bool) {
        let changed = match listens {
            true => self.delivery.listening.insert(session),
            false => self.delivery.listening.remove(&session),
        };
        if changed {
            self.outputs.push_back(Output::Listens { session, listens });
        }
    }

    /// A session has room for more.
    pub fn handle_taken(&mut self, session: SessionId, taken: Taken, now: Now) {
        self.delivery.taken(session, taken.messages);
        self.nacm.count_denied_notifications(taken.denied);
        self.sessions.count(session, |counts| counts.told = counts.told.saturating_add(taken.sent));
        self.advance_streams(now);
        self.tell_after_waiting(session, now);
    }
}
