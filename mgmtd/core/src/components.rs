//! Connected components and how far they follow running.
//!
//! Only a component that holds running's revision takes part in a commit; every other one is brought to it by a
//! snapshot, so a component that is slow, lost or refuses never blocks a commit, and an alarm stands meanwhile.

use crate::output::{Alarm, Event, Output};
use crate::types::{Attachment, ComponentId};
use cats_yang_tree::Tree;
use cats_yang_tree::error::Error;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Follows {
    /// It holds running.
    InSync,
    /// A snapshot of this revision is on its way.
    Loading(u64),
    /// It refused a snapshot; the next revision is tried.
    Refused,
}

#[derive(Debug, Clone)]
struct Component {
    name: String,
    follows: Follows,
    /// Aborts sent and not confirmed: plans that arrive before are of what was aborted.
    aborts_due: u32,
}

/// All components and the alarms about them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Components {
    connected: BTreeMap<ComponentId, Component>,
    alarms: BTreeSet<Alarm>,
}

impl Components {
    /// Starts with an alarm for each component that is expected and not there.
    pub(crate) fn new(expected: &[String], out: &mut VecDeque<Output>) -> Self {
        let mut components = Self::default();
        for name in expected {
            components.raise(Alarm::Unreachable { component: name.clone() }, out);
        }
        components
    }

    pub(crate) fn alarms(&self) -> impl Iterator<Item = &Alarm> {
        self.alarms.iter()
    }

    pub(crate) fn any(&self) -> Option<ComponentId> {
        self.connected.keys().next().copied()
    }

    pub(crate) fn name(&self, id: ComponentId) -> &str {
        self.connected.get(&id).map_or("component", |component| &component.name)
    }

    /// Those that take part in a commit.
    pub(crate) fn in_sync(&self) -> Vec<ComponentId> {
        let followers = self.connected.iter().filter(|(_, component)| component.follows == Follows::InSync);
        followers.map(|(id, _)| *id).collect()
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
        self.connected.insert(id, Component { name, follows: Follows::InSync, aborts_due: 0 });
        if !in_sync {
            self.load(id, (revision, running), out);
        }
    }

    /// Forgets a connection. True if it was known.
    pub(crate) fn detach(&mut self, id: ComponentId, out: &mut VecDeque<Output>) -> bool {
        let Some(gone) = self.connected.remove(&id) else { return false };
        if self.connected.values().all(|other| other.name != gone.name) {
            self.clear_alarms_of(&gone.name, out);
            self.raise(Alarm::Unreachable { component: gone.name }, out);
        }
        true
    }

    /// A snapshot was taken over.
    pub(crate) fn loaded(
        &mut self,
        id: ComponentId,
        loaded: u64,
        (revision, running): (u64, &Tree),
        out: &mut VecDeque<Output>,
    ) {
        let Some(component) = self.connected.get_mut(&id) else { return };
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

    /// A snapshot was refused. False if no snapshot was on its way: it is a plan that was refused.
    pub(crate) fn refused_snapshot(
        &mut self,
        id: ComponentId,
        refused: u64,
        errors: &[Error],
        (revision, running): (u64, &Tree),
        out: &mut VecDeque<Output>,
    ) -> bool {
        let Some(component) = self.connected.get_mut(&id) else { return true };
        if component.follows != Follows::Loading(refused) {
            return false;
        }
        component.follows = Follows::Refused;
        let component = component.name.clone();
        let reason = errors.first().map_or("no reason given".to_owned(), ToString::to_string);
        self.clear_alarms_of(&component, out);
        self.raise(Alarm::OutOfSync { component, reason }, out);
        if refused != revision {
            self.load(id, (revision, running), out);
        }
        true
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

    /// Sends an abort and remembers that it is to be confirmed.
    pub(crate) fn abort(&mut self, id: ComponentId, revision: u64, out: &mut VecDeque<Output>) {
        if let Some(component) = self.connected.get_mut(&id) {
            component.aborts_due += 1;
            out.push_back(Output::Abort { component: id, revision });
        }
    }

    pub(crate) fn aborted(&mut self, id: ComponentId) {
        if let Some(component) = self.connected.get_mut(&id) {
            component.aborts_due = component.aborts_due.saturating_sub(1);
        }
    }

    /// Whether a plan or refusal that arrives now is of something aborted before.
    pub(crate) fn is_late(&self, id: ComponentId) -> bool {
        self.connected.get(&id).is_none_or(|component| component.aborts_due > 0)
    }

    fn load(&mut self, id: ComponentId, (revision, running): (u64, &Tree), out: &mut VecDeque<Output>) {
        if let Some(component) = self.connected.get_mut(&id) {
            component.follows = Follows::Loading(revision);
            out.push_back(Output::Snapshot { component: id, revision, tree: running.clone() });
        }
    }

    fn raise(&mut self, alarm: Alarm, out: &mut VecDeque<Output>) {
        if self.alarms.insert(alarm.clone()) {
            out.push_back(Output::Event(Event::AlarmRaised(alarm)));
        }
    }

    fn clear_alarms_of(&mut self, name: &str, out: &mut VecDeque<Output>) {
        let of = |alarm: &Alarm| match alarm {
            Alarm::Unreachable { component } | Alarm::OutOfSync { component, .. } => component == name,
        };
        let cleared: Vec<_> = self.alarms.iter().filter(|alarm| of(alarm)).cloned().collect();
        for alarm in cleared {
            self.alarms.remove(&alarm);
            out.push_back(Output::Event(Event::AlarmCleared(alarm)));
        }
    }
}
