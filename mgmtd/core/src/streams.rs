//! The stream NETCONF: what is kept of it, and who is told (RFC 5277).
//!
//! The stream is a log, and a subscription a cursor on it: nothing queues for a subscriber that does not read. What the log
//! keeps is bounded by size and age, in memory and in a store outside, which [`Output::Keep`] writes. A cursor that the log
//! has left behind has lost events; RFC 5277 has no word for that, so its session ends.

use crate::core::Core;
use crate::delivery::Message;
use crate::monitoring::date_and_time;
use crate::notices::Logged;
use crate::output::{Alarm, Event, Output};
use crate::reading::Filter;
use crate::types::{End, Now, Reply, SessionId};
use cats_yang_tree::error::{Error, ErrorInfo, ErrorTag};
use cats_yang_tree::notice::Notice;
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The name of the stream that every server has.
pub(crate) const NETCONF: &str = "NETCONF";

/// Of so many events, the youngest, the data are held beside the text.
const READY: usize = 64;

/// So many events go to the store at a time.
const MOST_KEPT_AT_ONCE: usize = 256;

/// When events cannot be kept, that is tried again after so long.
const KEEP_AGAIN: Duration = Duration::from_secs(10);

/// How much of the stream is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventLimits {
    /// Bytes, in memory and in the store each.
    pub bytes: usize,
    /// What is older goes.
    pub age: Duration,
}

impl Default for EventLimits {
    fn default() -> Self {
        Self { bytes: 4 << 20, age: Duration::from_secs(7 * 24 * 3600) }
    }
}

/// The parameters of `create-subscription`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscribe {
    /// The name of the stream.
    pub stream: String,
    /// Which events; all without one. An XPath filter is one of [`Filter::of_notices`].
    pub filter: Option<Filter>,
    /// Since when: microseconds since 1970-01-01T00:00:00Z.
    pub start_us: Option<u64>,
    /// Until when.
    pub stop_us: Option<u64>,
}

/// The log and its cursors.
#[derive(Debug)]
pub(crate) struct Stream {
    log: VecDeque<Arc<Logged>>,
    /// The number of the next event.
    next: u64,
    bytes: usize,
    limits: EventLimits,
    /// Since when events are kept.
    created_us: u64,
    /// When the last of those happened that are kept no more.
    aged_us: Option<u64>,
    cursors: BTreeMap<SessionId, Cursor>,
    keeping: Keeping,
}

/// How far the store has got.
#[derive(Debug, Clone, Copy)]
struct Keeping {
    /// The next event that it is to have.
    next: u64,
    /// It writes.
    busy: bool,
    /// It failed, and is tried again at this time.
    again: Option<Instant>,
}

#[derive(Debug, Clone)]
struct Cursor {
    /// The next event.
    next: u64,
    filter: Option<Arc<Filter>>,
    replay: Option<Replay>,
    stop: Option<Stop>,
}

/// The past part of a subscription.
#[derive(Debug, Clone, Copy)]
struct Replay {
    since_us: u64,
    /// The first event that is not of the past.
    until: u64,
}

/// The end of a subscription, by both clocks: events carry the time of one, and the other is not set.
#[derive(Debug, Clone, Copy)]
struct Stop {
    unix_us: u64,
    at: Instant,
}

/// What a cursor is to be told next.
enum Next {
    Event(Arc<Logged>),
    Passed,
    ReplayComplete,
    Complete,
    Lost,
    Nothing,
}

impl Stream {
    pub(crate) fn new(now: Now) -> Self {
        Self {
            log: VecDeque::new(),
            next: 1,
            bytes: 0,
            limits: EventLimits::default(),
            created_us: now.unix_us,
            aged_us: None,
            cursors: BTreeMap::new(),
            keeping: Keeping { next: 1, busy: false, again: None },
        }
    }

    /// The first event that is kept.
    pub(crate) fn first(&self) -> u64 {
        self.log.front().map_or(self.next, |event| event.seq)
    }

    pub(crate) fn get(&self, seq: u64) -> Option<&Arc<Logged>> {
        self.log.get(usize::try_from(seq.checked_sub(self.first())?).ok()?)
    }

    /// The event that comes next.
    pub(crate) fn end(&self) -> u64 {
        self.next
    }

    /// Since when all events are there: microseconds since 1970-01-01T00:00:00Z.
    pub(crate) fn begin_us(&self) -> u64 {
        self.aged_us.unwrap_or(self.created_us)
    }

    /// Has a session a subscription by `create-subscription`?
    pub(crate) fn has(&self, session: SessionId) -> bool {
        self.cursors.contains_key(&session)
    }

    fn push(&mut self, event: Arc<Logged>) {
        self.bytes += event.weight();
        self.next = event.seq + 1;
        self.log.push_back(event);
        if let Some(at) = self.log.len().checked_sub(READY + 1)
            && let Some(old) = self.log.get_mut(at)
        {
            *old = Arc::new(old.put_by());
        }
    }

    /// Lets go of what is too much or too old; one event always stays.
    fn evict(&mut self, now: Now) {
        let age_us = u64::try_from(self.limits.age.as_micros()).unwrap_or(u64::MAX);
        let oldest_us = now.unix_us.saturating_sub(age_us);
        while self.log.len() > 1
            && let Some(front) = self.log.front()
            && (self.bytes > self.limits.bytes || front.unix_us < oldest_us)
        {
            self.bytes -= front.weight();
            self.aged_us = Some(front.unix_us);
            self.log.pop_front();
        }
    }

    /// What comes next for a cursor, which moves on.
    fn step(&mut self, session: SessionId, now: Now) -> Next {
        let (first, end) = (self.first(), self.next);
        let Some(cursor) = self.cursors.get_mut(&session) else { return Next::Nothing };
        if cursor.next < first {
            return Next::Lost;
        }
        if cursor.replay.is_some_and(|replay| cursor.next >= replay.until) {
            cursor.replay = None;
            return Next::ReplayComplete;
        }
        if cursor.next >= end {
            return match cursor.stop {
                Some(stop) if stop.at <= now.instant => Next::Complete,
                Some(_) | None => Next::Nothing,
            };
        }
        let (seq, since, stop) =
            (cursor.next, cursor.replay.map(|replay| replay.since_us), cursor.stop.map(|stop| stop.unix_us));
        cursor.next += 1;
        match self.get(seq) {
            Some(event)
                if since.is_none_or(|since| event.unix_us >= since)
                    && stop.is_none_or(|stop| event.unix_us <= stop) =>
            {
                Next::Event(Arc::clone(event))
            }
            Some(_) | None => Next::Passed,
        }
    }

    pub(crate) fn forget(&mut self, session: SessionId) {
        self.cursors.remove(&session);
    }

    /// When there is something to do that no input brings; a session that `may` say no to has no room to be told.
    pub(crate) fn poll_timeout(&self, may: impl Fn(SessionId) -> bool) -> Option<(Instant, &'static str)> {
        let cursors = self.cursors.iter().filter(|(session, _)| may(**session));
        let stops = cursors.filter_map(|(_, cursor)| Some((cursor.stop?.at, "stop of events")));
        let again = self.keeping.again.map(|again| (again, "events"));
        stops.chain(again).min_by_key(|(due, _)| *due)
    }

    /// What RFC 8639 says of the stream.
    pub(crate) fn to_json_of_subscriptions(&self) -> Value {
        let mut stream = json!({
            "name": NETCONF,
            "description": "what happens to the configuration, to sessions and to this node",
            "replay-support": [null],
            "replay-log-creation-time": date_and_time(self.created_us),
        });
        if let (Some(aged_us), Some(stream)) = (self.aged_us, stream.as_object_mut()) {
            stream.insert("replay-log-aged-time".to_owned(), json!(date_and_time(aged_us)));
        }
        json!({ "stream": [stream] })
    }

    /// What is served of the stream as state.
    pub(crate) fn to_json(&self) -> Value {
        let stream = json!({
            "name": NETCONF,
            "description": "what happens to the configuration, to sessions and to this node",
            "replaySupport": true,
            "replayLogCreationTime": date_and_time(self.created_us),
        });
        json!({ "streams": { "stream": [stream] } })
    }
}

impl Core {
    /// Takes over what was kept, oldest first, before anything happens; or says why nothing can be.
    pub fn handle_kept_events(
        &mut self,
        kept: Result<(u64, Vec<Logged>), String>,
        limits: EventLimits,
        now: Now,
    ) {
        self.stream.limits = limits;
        match kept {
            Ok((created_us, events)) => {
                self.stream.created_us = created_us;
                events.into_iter().for_each(|event| self.stream.push(Arc::new(event)));
                self.stream.keeping.next = self.stream.next;
                self.stream.evict(now);
            }
            Err(reason) => self.cannot_keep(reason, now),
        }
    }

    /// How much is kept from now on.
    pub fn handle_event_limits(&mut self, limits: EventLimits, now: Now) {
        self.stream.limits = limits;
        self.stream.evict(now);
    }

    /// The events of an [`Output::Keep`] are in the store, or none of them is.
    pub fn handle_kept(&mut self, through: u64, result: Result<(), String>, now: Now) {
        self.stream.keeping.busy = false;
        match result {
            Ok(()) => {
                self.stream.keeping.next = through + 1;
                self.components.clear_no_events(&mut self.outputs);
                self.keep_events();
            }
            Err(reason) => self.cannot_keep(reason, now),
        }
    }

    fn cannot_keep(&mut self, reason: String, now: Now) {
        self.stream.keeping.again = Some(now.instant + KEEP_AGAIN);
        self.components.replace_alarm(Alarm::NoEvents { reason }, now, &mut self.outputs);
    }

    /// Gives the store what it has not.
    fn keep_events(&mut self) {
        let stream = &mut self.stream;
        if stream.keeping.busy || stream.keeping.again.is_some() || stream.keeping.next >= stream.next {
            return;
        }
        let oldest = stream.first();
        let from = stream.keeping.next.max(oldest) - oldest;
        let events = stream.log.iter().skip(usize::try_from(from).unwrap_or(usize::MAX));
        let events: Vec<Arc<Logged>> = events.take(MOST_KEPT_AT_ONCE).map(Arc::clone).collect();
        if !events.is_empty() {
            stream.keeping.busy = true;
            self.outputs.push_back(Output::Keep { events, oldest });
        }
    }

    /// Something has happened that came out as an [`Output::Event`]: it is kept, and told to those who listen.
    pub fn handle_event(&mut self, event: &Event, now: Now) {
        if let Some(notice) = self.notice_of(event) {
            self.log_notice(notice, now);
        }
        match event {
            Event::AlarmRaised(alarm) => self.alarm_raised(alarm, now),
            Event::AlarmCleared(alarm) => self.alarm_cleared(alarm, now),
            Event::Committed { .. } => self.follow_alarm_control(now),
            Event::SessionOpened { .. }
            | Event::SessionEnded { .. }
            | Event::CommitFailed { .. }
            | Event::ConfirmedCommit { .. }
            | Event::RollbackRefused { .. }
            | Event::Denied { .. }
            | Event::Executes { .. }
            | Event::CandidateKept { .. }
            | Event::CandidateAttached { .. }
            | Event::CandidateDropped { .. } => {}
        }
    }

    /// Keeps a notification on the stream, and tells it.
    pub(crate) fn log_notice(&mut self, notice: Notice, now: Now) {
        let seq = self.stream.next;
        let event = Logged::new(&self.facts.schema, seq, now.unix_us, notice);
        self.stream.push(Arc::new(event));
        self.stream.evict(now);
        self.keep_events();
        self.advance_streams(now);
    }

    /// `create-subscription`.
    pub(crate) fn subscribe(
        &mut self,
        session: SessionId,
        wanted: Subscribe,
        now: Now,
    ) -> Result<Reply, Vec<Error>> {
        let Subscribe { stream, filter, start_us, stop_us } = wanted;
        if stream != NETCONF {
            let what = format!("there is no stream '{stream}': see /netconf/streams");
            return Err(bad_element("stream", what));
        }
        if self.has_subscriptions(session) {
            // RFC 8640 section 4: a session has subscriptions of one kind.
            let what = "this session has subscriptions by <establish-subscription>: open another session";
            return Err(vec![Error::protocol(ErrorTag::OperationNotSupported, what)]);
        }
        check_times(start_us, stop_us, now)?;
        if self.stream.cursors.contains_key(&session) {
            let what = "this session has a subscription already: end it, or open another session";
            return Err(vec![Error::protocol(ErrorTag::InUse, what)]);
        }
        self.stream.evict(now);
        let log = &self.stream;
        let replay = start_us.map(|since_us| Replay { since_us, until: log.next });
        let stop = stop_us.map(|unix_us| {
            let left = Duration::from_micros(unix_us.saturating_sub(now.unix_us));
            // What is too far away for the clock does not come.
            let at = now
                .instant
                .checked_add(left)
                .unwrap_or(now.instant + Duration::from_secs(u64::from(u32::MAX)));
            Stop { unix_us, at }
        });
        let next = if replay.is_some() { log.first() } else { log.next };
        let cursor = Cursor { next, filter: filter.map(Arc::new), replay, stop };
        self.stream.cursors.insert(session, cursor);
        self.listens(session, true);
        Ok(Reply::Ok)
    }

    /// Tells those who listen what they have not been told and have room for.
    pub(crate) fn advance_streams(&mut self, now: Now) {
        let sessions: Vec<SessionId> = self.stream.cursors.keys().copied().collect();
        for session in sessions {
            self.advance_cursor(session, now);
        }
        self.advance_listeners(None, now);
    }

    /// The same for one session.
    pub(crate) fn advance_streams_of(&mut self, session: SessionId, now: Now) {
        self.advance_cursor(session, now);
        self.advance_listeners(Some(session), now);
    }

    fn advance_cursor(&mut self, session: SessionId, now: Now) {
        while self.delivery.may_send(session) {
            match self.stream.step(session, now) {
                Next::Event(event) => {
                    let filter = self.stream.cursors.get(&session).and_then(|cursor| cursor.filter.clone());
                    let access = self.access(session);
                    self.tell(session, Message::event(event, filter, access));
                }
                Next::Passed => {}
                Next::ReplayComplete => self.tell_own(session, "replayComplete", now),
                Next::Complete => {
                    self.tell_own(session, "notificationComplete", now);
                    self.stream.forget(session);
                    self.listens(session, false);
                }
                Next::Lost => {
                    self.outputs.push_back(Output::End { session, why: End::Behind });
                    return self.end(session, End::Behind, now);
                }
                Next::Nothing => return,
            }
        }
    }

    fn tell_own(&mut self, session: SessionId, name: &str, now: Now) {
        match Notice::named(&self.facts.schema, ("nc-notifications", name), &json!({})) {
            Ok(notice) => self.tell(session, Message::own(now.unix_us, notice)),
            // A schema without the module has no subscriptions either.
            Err(errors) => debug_assert!(false, "{errors:?}"),
        }
    }

    /// Time has passed.
    pub(crate) fn advance_events(&mut self, now: Now) {
        if self.stream.keeping.again.is_some_and(|again| again <= now.instant) {
            self.stream.keeping.again = None;
            self.keep_events();
        }
        let due = |cursor: &Cursor| cursor.stop.is_some_and(|stop| stop.at <= now.instant);
        if self.stream.cursors.values().any(due) {
            self.advance_streams(now);
        }
    }
}

fn check_times(start_us: Option<u64>, stop_us: Option<u64>, now: Now) -> Result<(), Vec<Error>> {
    match (start_us, stop_us) {
        (Some(start), _) if start > now.unix_us => {
            Err(bad_element("startTime", "a replay cannot begin in the future".to_owned()))
        }
        (None, Some(_)) => {
            let what = "<stopTime> goes with <startTime> only";
            let error = Error::protocol(ErrorTag::MissingElement, what);
            Err(vec![error.with(ErrorInfo::BadElement("startTime".to_owned()))])
        }
        (Some(start), Some(stop)) if stop < start => {
            Err(bad_element("stopTime", "<stopTime> is before <startTime>".to_owned()))
        }
        (_, _) => Ok(()),
    }
}

fn bad_element(name: &str, what: String) -> Vec<Error> {
    vec![Error::protocol(ErrorTag::BadElement, what).with(ErrorInfo::BadElement(name.to_owned()))]
}
