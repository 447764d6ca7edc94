//! Connected components and how far they follow running.
//!
//! Only a component that holds running's revision, or is about to, takes part in a commit; every other one is brought
//! to it by a snapshot. One that is lost or refuses its snapshot never blocks a commit, and an alarm stands meanwhile.

use crate::output::{Alarm, Event, Output};
use crate::types::{Attachment, ComponentId, Now};
use cats_yang_tree::error::Error;
use cats_yang_tree::{ChangeSet, Tree};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// How far a component follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Follows {
    /// It holds running.
    InSync,
    /// A snapshot of this revision is on its way.
    Loading(u64),
    /// It refused a snapshot; the next revision is tried.
    Refused,
}

/// Something that a component has yet to answer. It answers in order, so the first one is what an answer is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    Snapshot(u64),
    /// `live`: a commit waits for it; it does not once it was aborted.
    Prepare {
        live: bool,
    },
    Abort,
}

#[derive(Debug, Clone)]
struct Component {
    name: String,
    follows: Follows,
    /// Bounded by the queue towards the component: one that does not read is disconnected.
    asked: VecDeque<Asked>,
}

/// What a component's refusal was about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The change that the commit in flight waits for.
    Change,
    /// Its snapshot: it no longer takes part in a commit.
    Snapshot,
    /// Something that nobody waits for any more.
    Nothing,
}

impl Component {
    fn disregard_changes(&mut self) {
        for asked in &mut self.asked {
            if let Asked::Prepare { live } = asked {
                *live = false;
            }
        }
    }
}

/// All components and the alarms about them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Components {
    connected: BTreeMap<ComponentId, Component>,
    /// The alarms that stand, at most one of each component, and since when: microseconds since 1970.
    alarms: BTreeMap<Alarm, u64>,
}

impl Components {
    /// Starts with an alarm for each component that is expected and not there.
    pub(crate) fn new(expected: &[String], now: Now, out: &mut VecDeque<Output>) -> Self {
        let mut components = Self::default();
        for name in expected {
            components.raise(Alarm::Unreachable { component: name.clone() }, now, out);
        }
        components
    }

    pub(crate) fn alarms(&self) -> impl Iterator<Item = (&Alarm, u64)> {
        self.alarms.iter().map(|(alarm, since_us)| (alarm, *since_us))
    }

    pub(crate) fn any(&self) -> Option<ComponentId> {
        self.connected.keys().next().copied()
    }

    pub(crate) fn name(&self, id: ComponentId) -> &str {
        self.connected.get(&id).map_or("component", |component| &component.name)
    }

    /// Those that take part in a commit on top of `revision`. One that is being brought there does, since it takes
    /// the snapshot before the change.
    pub(crate) fn in_sync(&self, revision: u64) -> Vec<ComponentId> {
        let follows = |component: &Component| match component.follows {
            Follows::InSync => true,
            Follows::Loading(loading) => loading == revision,
            Follows::Refused => false,
        };
        self.connected.iter().filter(|(_, component)| follows(component)).map(|(id, _)| *id).collect()
    }

    /// Does a change concern a component that is connected?
    pub(crate) fn take_part(&self, changes: &ChangeSet) -> bool {
        !changes.is_empty() && !self.connected.is_empty()
    }

    pub(crate) fn attach(
        &mut self,
        attachment: Attachment,
        (revision, running): (u64, &Tree),
        out: &mut VecDeque<Output>,
    ) {
        let Attachment { component: id, name, holds } = attachment;
        self.clear_alarms_of(&name, out);
        let in_sync = holds == Some(revision);
        self.connected.insert(id, Component { name, follows: Follows::InSync, asked: VecDeque::new() });
        if !in_sync {
            self.load(id, (revision, running), out);
        }
    }

    /// Forgets a connection. True if it was known.
    pub(crate) fn detach(&mut self, id: ComponentId, now: Now, out: &mut VecDeque<Output>) -> bool {
        let Some(gone) = self.connected.remove(&id) else { return false };
        if self.connected.values().all(|other| other.name != gone.name) {
            self.clear_alarms_of(&gone.name, out);
            self.raise(Alarm::Unreachable { component: gone.name }, now, out);
        }
        true
    }

    /// A snapshot was taken over.
    pub(crate) fn loaded(
        &mut self,
        id: ComponentId,
        (revision, running): (u64, &Tree),
        out: &mut VecDeque<Output>,
    ) {
        let Some(component) = self.connected.get_mut(&id) else { return };
        let Some(Asked::Snapshot(loaded)) = component.asked.front().copied() else { return };
        component.asked.pop_front();
        if component.follows != Follows::Loading(loaded) {
            return;
        }
        component.follows = Follows::InSync;
        let name = component.name.clone();
        self.clear_alarms_of(&name, out);
        if loaded != revision {
            self.load(id, (revision, running), out);
        }
    }

    /// A plan was made. True if the commit in flight waits for it.
    pub(crate) fn planned(&mut self, id: ComponentId) -> bool {
        let Some(component) = self.connected.get_mut(&id) else { return false };
        let Some(Asked::Prepare { live }) = component.asked.front().copied() else { return false };
        component.asked.pop_front();
        live
    }

    /// A snapshot or a change was refused.
    pub(crate) fn rejected(
        &mut self,
        id: ComponentId,
        errors: &[Error],
        current: ((u64, &Tree), Now),
        out: &mut VecDeque<Output>,
    ) -> Refused {
        let Some(component) = self.connected.get_mut(&id) else { return Refused::Nothing };
        match component.asked.front().copied() {
            Some(Asked::Prepare { live }) => {
                component.asked.pop_front();
                if live { Refused::Change } else { Refused::Nothing }
            }
            Some(Asked::Snapshot(refused)) => {
                component.asked.pop_front();
                self.refused_snapshot(id, refused, errors, current, out);
                Refused::Snapshot
            }
            Some(Asked::Abort) | None => Refused::Nothing,
        }
    }

    fn refused_snapshot(
        &mut self,
        id: ComponentId,
        refused: u64,
        errors: &[Error],
        ((revision, running), now): ((u64, &Tree), Now),
        out: &mut VecDeque<Output>,
    ) {
        let Some(component) = self.connected.get_mut(&id) else { return };
        component.follows = Follows::Refused;
        // A change on top of what it does not have decides nothing.
        component.disregard_changes();
        let component = component.name.clone();
        let reason = errors.first().map_or("no reason given".to_owned(), ToString::to_string);
        self.clear_alarms_of(&component, out);
        self.raise(Alarm::OutOfSync { component, reason }, now, out);
        if refused != revision {
            self.load(id, (revision, running), out);
        }
    }

    /// Running has changed: those that did not take part get it whole.
    pub(crate) fn follow(
        &mut self,
        took_part: &[ComponentId],
        (revision, running): (u64, &Tree),
        out: &mut VecDeque<Output>,
    ) {
        let ids: Vec<_> = self.connected.keys().copied().collect();
        for id in ids {
            let Some(component) = self.connected.get(&id) else { continue };
            // One that is loading gets the newer revision when it has answered, so at most one is on its way.
            let loading = matches!(component.follows, Follows::Loading(_));
            if !took_part.contains(&id) && !loading {
                self.load(id, (revision, running), out);
            }
        }
    }

    /// Sends a change to be prepared.
    pub(crate) fn prepare(
        &mut self,
        id: ComponentId,
        revision: u64,
        changes: &Arc<ChangeSet>,
        out: &mut VecDeque<Output>,
    ) {
        if let Some(component) = self.connected.get_mut(&id) {
            component.asked.push_back(Asked::Prepare { live: true });
            let changes = Arc::clone(changes);
            out.push_back(Output::Prepare { component: id, revision, base: revision - 1, changes });
        }
    }

    /// Sends an abort; what the component still says about the change is of no account.
    pub(crate) fn abort(&mut self, id: ComponentId, revision: u64, out: &mut VecDeque<Output>) {
        if let Some(component) = self.connected.get_mut(&id) {
            component.disregard_changes();
            component.asked.push_back(Asked::Abort);
            out.push_back(Output::Abort { component: id, revision });
        }
    }

    pub(crate) fn aborted(&mut self, id: ComponentId) {
        if let Some(component) = self.connected.get_mut(&id)
            && component.asked.front() == Some(&Asked::Abort)
        {
            component.asked.pop_front();
        }
    }

    fn load(&mut self, id: ComponentId, (revision, running): (u64, &Tree), out: &mut VecDeque<Output>) {
        if let Some(component) = self.connected.get_mut(&id) {
            component.follows = Follows::Loading(revision);
            component.asked.push_back(Asked::Snapshot(revision));
            out.push_back(Output::Snapshot { component: id, revision, tree: running.clone() });
        }
    }

    /// Raises an alarm in place of others about the same component.
    pub(crate) fn replace_alarm(&mut self, alarm: Alarm, now: Now, out: &mut VecDeque<Output>) {
        if !self.alarms.contains_key(&alarm) {
            self.clear_alarms_of(alarm.component(), out);
            self.raise(alarm, now, out);
        }
    }

    pub(crate) fn clear_unrecorded(&mut self, out: &mut VecDeque<Output>) {
        let ours = Alarm::Unrecorded { reason: String::new() };
        self.clear_alarms_of(ours.component(), out);
    }

    fn raise(&mut self, alarm: Alarm, now: Now, out: &mut VecDeque<Output>) {
        if self.alarms.insert(alarm.clone(), now.unix_us).is_none() {
            out.push_back(Output::Event(Event::AlarmRaised(alarm)));
        }
    }

    fn clear_alarms_of(&mut self, name: &str, out: &mut VecDeque<Output>) {
        let cleared: Vec<_> = self.alarms.keys().filter(|alarm| alarm.component() == name).cloned().collect();
        for alarm in cleared {
            self.alarms.remove(&alarm);
            out.push_back(Output::Event(Event::AlarmCleared(alarm)));
        }
    }
}
