//! Subscriptions to streams (RFC 8639): cursors on the log, with an id, beside each other in a session.
//!
//! A receiver that is slow lags, and nothing queues for it. One that the log has left behind is told of the loss by a
//! suspension, and goes on with what is there.

use super::message::{Content, Update};
use super::refusal::{Asked, Why};
use super::rhythm;
use super::terms::{Given, StreamFilter, stored_of_stream};
use crate::core::Core;
use crate::delivery::Message;
use crate::notices::Logged;
use crate::streams::{NETCONF, Stream};
use crate::types::{Now, Reply, SessionId};
use cats_yang_tree::error::{Error, ErrorInfo, ErrorTag};
use cats_yang_tree::operation::Call;
use cats_yang_tree::time::date_and_time;
use serde_json::{Map, Value as Json, json};
use std::sync::Arc;
use std::time::Instant;

/// A subscription to the stream NETCONF.
#[derive(Debug, Clone)]
pub(crate) struct Listener {
    pub(crate) session: SessionId,
    /// What was asked for, as an object of RFC 7951.
    pub(crate) words: Map<String, Json>,
    filter: StreamFilter,
    /// The next event.
    next: u64,
    replay: Option<Replay>,
    stop: Option<Stop>,
    /// It has had its turn since its time was over.
    waits_for_room: bool,
}

/// The past part of it.
#[derive(Debug, Clone, Copy)]
struct Replay {
    since_us: u64,
    /// The first event that is not of the past.
    until: u64,
}

/// Its end by both clocks: events carry the time of one, and the other is not set.
#[derive(Debug, Clone, Copy)]
struct Stop {
    unix_us: u64,
    at: Instant,
}

/// What it is told next.
enum Next {
    Event(Arc<Logged>),
    Passed,
    ReplayCompleted,
    Over,
    Lost,
    Nothing,
}

impl Listener {
    /// When its time is over; one that waits for room has its turn when there is some.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.stop.map(|stop| stop.at).filter(|_| !self.waits_for_room)
    }

    fn step(&mut self, log: &Stream, now: Now) -> Next {
        if self.next < log.first() {
            self.next = log.first();
            return Next::Lost;
        }
        if self.replay.is_some_and(|replay| self.next >= replay.until) {
            self.replay = None;
            return Next::ReplayCompleted;
        }
        if self.next >= log.end() {
            return match self.stop {
                Some(stop) if stop.at <= now.instant => Next::Over,
                Some(_) | None => Next::Nothing,
            };
        }
        let event = log.get(self.next);
        self.next += 1;
        let wanted = |event: &&Arc<Logged>| {
            self.replay.is_none_or(|replay| event.unix_us >= replay.since_us)
                && self.stop.is_none_or(|stop| event.unix_us <= stop.unix_us)
        };
        event.filter(wanted).map_or(Next::Passed, |event| Next::Event(Arc::clone(event)))
    }
}

impl Core {
    /// `establish-subscription` of a stream.
    pub(crate) fn listen(
        &mut self,
        session: SessionId,
        given: &Given<'_>,
        call: &Call,
        now: Now,
    ) -> Result<Reply, Vec<Error>> {
        if let Some(stream) = given.stream().filter(|stream| *stream != NETCONF) {
            let what = format!("there is no stream '{stream}': see /streams");
            return Err(invalid("stream", what));
        }
        given.takes_encoding()?;
        let since_us = given.time("replay-start-time");
        if since_us.is_some_and(|since_us| since_us >= now.unix_us) {
            let what = "a replay begins in the past: replay-start-time is not";
            return Err(invalid("replay-start-time", what.to_owned()));
        }
        let stop = stop_of(given, since_us, now)?;
        let filter = given.stream_filter(&self.running)?;
        let asked = Asked::EstablishOfStream;
        let id = self.push.table.new_id(session).map_err(|refusal| vec![refusal.into_error(asked)])?;
        let replay = since_us.map(|since_us| Replay { since_us, until: self.stream.end() });
        let next = if replay.is_some() { self.stream.first() } else { self.stream.end() };
        let words = given.words(None);
        let listener = Listener { session, words, filter, next, replay, stop, waits_for_room: false };
        self.push.table.listeners.insert(id, listener);
        let mut output = json!({ "id": id });
        let begin_us = self.stream.begin_us();
        if let (Some(output), true) = (output.as_object_mut(), since_us.is_some_and(|since| since < begin_us))
        {
            output.insert("replay-start-time-revision".to_owned(), json!(date_and_time(begin_us)));
        }
        Ok(self.established(session, call, &output))
    }

    /// `modify-subscription` of one.
    pub(crate) fn modify_listener(
        &mut self,
        session: SessionId,
        id: u32,
        given: &Given<'_>,
        now: Now,
    ) -> Result<Reply, Vec<Error>> {
        let asked = Asked::ModifyOfStream;
        let missing = || self.missing(Some(id), Why::NoSuchSubscription, asked);
        let known = self.push.table.listeners.get(&id).filter(|known| known.session == session);
        let known = known.ok_or_else(missing)?;
        let words = given.words(Some(&known.words));
        let stop = stop_of(given, None, now)?.or(known.stop);
        let filter = given.stream_filter(&self.running)?;
        if let Some(listener) = self.push.table.listeners.get_mut(&id) {
            (listener.words, listener.stop, listener.filter) = (words, stop, filter);
        }
        Ok(Reply::Ok)
    }

    /// Tells those who listen what they have not been told and have room for.
    pub(crate) fn advance_listeners(&mut self, of: Option<SessionId>, now: Now) {
        let wanted = |listener: &Listener| of.is_none_or(|session| listener.session == session);
        let listeners = self.push.table.listeners.iter().filter(|(_, listener)| wanted(listener));
        let ids: Vec<u32> = listeners.map(|(id, _)| *id).collect();
        for id in ids {
            self.advance_listener(id, now);
        }
    }

    /// Ends those whose time is over.
    pub(crate) fn end_listeners(&mut self, now: Now) {
        let over = |listener: &Listener| listener.deadline().is_some_and(|at| at <= now.instant);
        let listeners = self.push.table.listeners.iter().filter(|(_, listener)| over(listener));
        let ids: Vec<u32> = listeners.map(|(id, _)| *id).collect();
        for id in ids {
            self.advance_listener(id, now);
        }
    }

    fn advance_listener(&mut self, id: u32, now: Now) {
        loop {
            let Some(listener) = self.push.table.listeners.get_mut(&id) else { return };
            let session = listener.session;
            listener.waits_for_room = !self.delivery.may_send(session);
            if listener.waits_for_room {
                return;
            }
            match listener.step(&self.stream, now) {
                Next::Event(event) => {
                    let filter = listener.filter.filter.clone();
                    let access = self.access(session);
                    self.tell(session, Message::event(event, filter, access));
                }
                Next::Passed => {}
                Next::ReplayCompleted => self.tell_listener(id, session, Content::ReplayCompleted, now),
                Next::Lost => {
                    let reason = "ietf-subscribed-notifications:unsupportable-volume";
                    self.tell_listener(id, session, Content::Suspended { reason }, now);
                    self.tell_listener(id, session, Content::Resumed, now);
                }
                Next::Over => {
                    self.push.table.listeners.remove(&id);
                    let reason = Why::NoSuchSubscription.identity();
                    return self.tell_of_the_end(id, session, reason, now);
                }
                Next::Nothing => return,
            }
        }
    }

    fn tell_listener(&mut self, id: u32, session: SessionId, content: Content, now: Now) {
        self.notify_own(session, Update { subscription: id, content }, now);
    }

    /// Stored filters that changed hold for whoever refers to them.
    pub(crate) fn follow_stream_filters(&mut self, now: Now) {
        let schema = Arc::clone(&self.facts.schema);
        let refers = |(id, listener): (&u32, &Listener)| Some((*id, listener.filter.stored.clone()?));
        let named: Vec<(u32, String)> = self.push.table.listeners.iter().filter_map(refers).collect();
        for (id, name) in named {
            let Some(listener) = self.push.table.listeners.get_mut(&id) else { continue };
            let session = listener.session;
            match stored_of_stream(&schema, &self.running, &name) {
                Err(_) => {
                    self.push.table.listeners.remove(&id);
                    let reason = "ietf-subscribed-notifications:filter-unavailable";
                    self.tell_of_the_end(id, session, reason, now);
                }
                Ok(filter) if filter == listener.filter => {}
                Ok(filter) => {
                    listener.filter = filter;
                    let words = listener.words.clone();
                    let terms = self.terms_xml(&words);
                    self.tell_listener(id, session, Content::Modified { terms }, now);
                }
            }
        }
    }
}

fn stop_of(given: &Given<'_>, since_us: Option<u64>, now: Now) -> Result<Option<Stop>, Vec<Error>> {
    let Some(unix_us) = given.time("stop-time") else { return Ok(None) };
    if unix_us <= since_us.unwrap_or(now.unix_us) {
        let what = "stop-time is not after the begin of the subscription";
        return Err(invalid("stop-time", what.to_owned()));
    }
    let at = rhythm::deadline(i64::try_from(unix_us).unwrap_or(i64::MAX), now);
    Ok(Some(Stop { unix_us, at }))
}

fn invalid(element: &str, what: String) -> Vec<Error> {
    vec![Error::application(ErrorTag::InvalidValue, what).with(ErrorInfo::BadElement(element.to_owned()))]
}
