//! What cats-mgmtd is told of state as it changes, while it watches.
//!
//! Nothing waits in line: what is told of an entry is what it is when it is told. While nobody takes what is told, keys of
//! what changed are kept, within the bound of [`cats_engine_types::Changed`]; beyond that the watcher is let go, and
//! begins anew.

use super::selector::SelectorRole;
use super::state::{Entry, Pushed, place_pushed};
use super::{Engine, Now};
use crate::plane::Plane;
use cats_engine_transport::management::StateDelta;
use cats_engine_types::{CsId, CsciId, Epoch};
use cats_yang_model::pushed::retain_pushed;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// The time between two messages, in which what changes is told together.
const PACE: Duration = Duration::from_millis(2);

/// The same for containers that are made anew to see whether they have changed.
const LOOK: Duration = Duration::from_millis(5);

/// Entries of long lists in one message.
const ENTRIES: usize = 256;

/// Who watches.
#[derive(Debug)]
pub(super) struct Watcher {
    deltas: mpsc::Sender<StateDelta>,
    sequence: u64,
    parts: BTreeMap<Pushed, Progress>,
    /// The roles as it knows them.
    roles: Roles,
    /// Of what was asked for and is none of ours.
    nothing: Vec<String>,
    /// When entries expire whose record selects.
    expiries: BTreeSet<(Instant, (CsId, CsciId))>,
    next: Instant,
    look: Instant,
    /// Something has happened since the containers were looked at.
    stirred: bool,
    /// Entries wait to be told.
    more: bool,
}

/// How far a part is told.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Progress {
    /// A list, up to a key.
    Begun(Option<String>),
    /// All of a list: what changes is.
    List,
    /// A container, which looked like this; nothing before it was told.
    Container(Option<Value>),
}

/// Which roles there are; one that begins anew is another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Roles {
    selector: Option<Epoch>,
    agent: Option<Epoch>,
    plane: bool,
}

impl Watcher {
    fn new(deltas: mpsc::Sender<StateDelta>, roles: Roles, now: Now) -> Self {
        Self {
            deltas,
            sequence: 0,
            parts: BTreeMap::new(),
            roles,
            nothing: Vec::new(),
            expiries: BTreeSet::new(),
            next: now.at,
            look: now.at,
            stirred: true,
            more: true,
        }
    }
}

/// A message in the making.
#[derive(Debug, Default)]
struct Message {
    dropped: Vec<String>,
    document: Map<String, Value>,
    whole: Vec<String>,
}

impl<P: Plane> Engine<P> {
    /// Watches these parts, and no others.
    pub(super) fn watch(&mut self, paths: &[String], deltas: mpsc::Sender<StateDelta>, now: Now) {
        let roles = self.roles();
        let known = self.watcher.take().filter(|watcher| watcher.deltas.same_channel(&deltas));
        let mut watcher = known.unwrap_or_else(|| Watcher::new(deltas, roles, now));
        let wanted: BTreeSet<Pushed> = paths.iter().filter_map(|path| Pushed::of(path)).collect();
        watcher.nothing.extend(paths.iter().filter(|path| Pushed::of(path).is_none()).cloned());
        let before: Vec<Pushed> = watcher.parts.keys().copied().collect();
        for part in before.into_iter().filter(|part| !wanted.contains(part)) {
            watcher.parts.remove(&part);
            self.follow_pushed(part, false);
        }
        for part in wanted {
            if watcher.parts.contains_key(&part) {
                continue;
            }
            let begin = if part.is_long() { Progress::Begun(None) } else { Progress::Container(None) };
            watcher.parts.insert(part, begin);
            self.follow_pushed(part, true);
        }
        (watcher.stirred, watcher.more) = (true, true);
        self.watcher = Some(watcher);
    }

    fn roles(&self) -> Roles {
        Roles {
            selector: self.selector.as_ref().map(SelectorRole::epoch),
            agent: self.agent.as_ref().map(|role| role.epoch),
            plane: self.forwarder.as_ref().is_some_and(|role| role.plane.is_some()),
        }
    }

    /// When [`Engine::tell`] is to be called at the latest.
    pub(super) fn tells_at(&self) -> Option<Instant> {
        let watcher = self.watcher.as_ref()?;
        let expiry = watcher.expiries.first().map(|(at, _)| *at);
        let look = watcher.stirred.then_some(watcher.look.max(watcher.next));
        let more = watcher.more.then_some(watcher.next);
        look.into_iter().chain(more).chain(expiry).min()
    }

    /// Tells what is new, as far as one message goes and there is room for it. `moved`: something has happened.
    pub(super) fn tell(&mut self, moved: bool, now: Now) {
        let Some(mut watcher) = self.watcher.take() else { return };
        watcher.stirred |= moved;
        if watcher.deltas.is_closed() || watcher.roles != self.roles() {
            return self.let_go(&watcher);
        }
        self.expire(&mut watcher, now);
        // A report that nothing follows from yet has changed an entry all the same.
        watcher.more = watcher.more || moved || watcher.parts.keys().any(|part| self.has_pushed(*part));
        if now.at < watcher.next {
            self.watcher = Some(watcher);
            return;
        }
        watcher.next = now.at + PACE;
        let deltas = watcher.deltas.clone();
        let Ok(room) = deltas.try_reserve() else {
            self.watcher = Some(watcher);
            return;
        };
        let mut message = Message { whole: std::mem::take(&mut watcher.nothing), ..Message::default() };
        match self.compose(&mut watcher, &mut message, now) {
            Ok(more) => watcher.more = more,
            Err(why) => {
                tracing::warn!(%why, "what changes of the state is told anew");
                return self.let_go(&watcher);
            }
        }
        if let Some(delta) = delta_of(message) {
            watcher.sequence += 1;
            room.send(StateDelta { epoch: self.epoch, sequence: watcher.sequence, ..delta });
        }
        self.watcher = Some(watcher);
    }

    /// It learns by the end of its stream that it has to begin anew.
    fn let_go(&mut self, watcher: &Watcher) {
        for part in watcher.parts.keys() {
            self.follow_pushed(*part, false);
        }
    }

    /// What has expired looks other than it did.
    fn expire(&mut self, watcher: &mut Watcher, now: Now) {
        while let Some((at, key)) = watcher.expiries.first().copied().filter(|(at, _)| *at <= now.at) {
            watcher.expiries.remove(&(at, key));
            watcher.more = true;
            if let Some(role) = &mut self.selector {
                role.cps.changed_instances().note(key);
            }
        }
    }

    /// Puts together what is new; true where that is not all.
    fn compose(&mut self, watcher: &mut Watcher, message: &mut Message, now: Now) -> Result<bool, String> {
        let looks = watcher.stirred && now.at >= watcher.look;
        if looks {
            watcher.look = now.at + LOOK;
            watcher.stirred = false;
        }
        let mut left = ENTRIES;
        let mut more = false;
        let parts: Vec<Pushed> = watcher.parts.keys().copied().collect();
        for part in parts {
            let Some(progress) = watcher.parts.get(&part).cloned() else { continue };
            let progress = match progress {
                Progress::Container(before) if looks => {
                    Some(Progress::Container(Some(self.look_at(part, before, message, now)?)))
                }
                Progress::Container(_) => None,
                Progress::Begun(after) if left > 0 => Some(self.begin(
                    part,
                    after.as_deref(),
                    (&mut *watcher, &mut *message),
                    &mut left,
                    now,
                )?),
                Progress::Begun(_) => None,
                Progress::List => {
                    if self.has_lost_pushed(part) {
                        return Err(format!("more of {} changed than can be kept", part.path()));
                    }
                    self.change(part, watcher, message, &mut left, now);
                    None
                }
            };
            if let Some(progress) = progress {
                more |= matches!(progress, Progress::Begun(_));
                watcher.parts.insert(part, progress);
            }
            more |= self.has_pushed(part) || left == 0;
        }
        Ok(more)
    }

    /// A container: told if it is not what it was.
    fn look_at(
        &mut self,
        part: Pushed,
        before: Option<Value>,
        message: &mut Message,
        now: Now,
    ) -> Result<Value, String> {
        let found = self.pushed_whole(part, now)?;
        let looks = told_of(found.clone());
        match before {
            Some(before) if before == looks => return Ok(looks),
            Some(_) => message.dropped.push(part.path()),
            None => message.whole.push(part.path()),
        }
        merge(&mut message.document, found);
        Ok(looks)
    }

    /// The next entries of a list that is told for the first time.
    fn begin(
        &mut self,
        part: Pushed,
        after: Option<&str>,
        (watcher, message): (&mut Watcher, &mut Message),
        left: &mut usize,
        now: Now,
    ) -> Result<Progress, String> {
        let (entries, last) = self.pushed_page(part, after, *left, now)?;
        watcher.expiries.extend(self.page_expiries(part, after, entries.len(), now)?);
        *left = left.saturating_sub(entries.len());
        place_pushed(&mut message.document, part, entries);
        Ok(match last {
            Some(last) => Progress::Begun(Some(last)),
            None => {
                message.whole.push(part.path());
                Progress::List
            }
        })
    }

    /// The entries of a list that have changed.
    fn change(
        &mut self,
        part: Pushed,
        watcher: &mut Watcher,
        message: &mut Message,
        left: &mut usize,
        now: Now,
    ) {
        let changes = self.pushed_changes(part, *left, now);
        *left -= changes.len().min(*left);
        let mut entries = Vec::with_capacity(changes.len());
        for Entry { path, value, until } in changes {
            watcher.expiries.extend(until);
            message.dropped.push(path);
            entries.extend(value);
        }
        place_pushed(&mut message.document, part, entries);
    }
}

/// Of a document only what is told.
fn told_of(document: Map<String, Value>) -> Value {
    let mut document = Value::Object(document);
    retain_pushed(&mut document);
    document
}

/// What there is to be sent, if anything.
fn delta_of(message: Message) -> Option<StateDelta> {
    let Message { dropped, document, whole } = message;
    let document = told_of(document);
    let empty = document.as_object().is_none_or(Map::is_empty);
    if empty && dropped.is_empty() && whole.is_empty() {
        return None;
    }
    let json = if empty { Vec::new() } else { document.to_string().into_bytes() };
    Some(StateDelta { dropped, json, whole, ..StateDelta::default() })
}

/// Brings members into others; where both have one, what is below is brought together.
fn merge(into: &mut Map<String, Value>, from: Map<String, Value>) {
    for (name, value) in from {
        match (into.get_mut(&name), value) {
            (Some(Value::Object(known)), Value::Object(new)) => merge(known, new),
            (_, value) => drop(into.insert(name, value)),
        }
    }
}
