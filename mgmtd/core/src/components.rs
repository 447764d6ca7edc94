//! Connected components and how far they follow running.
//!
//! A component says which top-level nodes concern it, and hears of nothing else: the revision that it holds is the last
//! one that changed something of these, or that of the snapshot that it got. Only a component that holds what running has
//! there, or is about to, takes part in a commit; every other one is brought to it by a snapshot. One that is lost or refuses its snapshot never blocks a commit, and an alarm stands meanwhile.

use crate::output::{Alarm, Event, Output};
use crate::types::{Attachment, ComponentId, Now};
use cats_yang_tree::error::Error;
use cats_yang_tree::schema::NodeId;
use cats_yang_tree::{Change, ChangeSet, Tree};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
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
    nodes: Nodes,
    follows: Follows,
    /// What it holds, or will when it has done what it was sent.
    holds: u64,
    /// Running has changed for it since the snapshot that is on its way.
    behind: bool,
    /// Bounded by the queue towards the component: one that does not read is disconnected.
    asked: VecDeque<Asked>,
}

/// The top-level nodes that concern a component; none when all do.
pub(crate) type Nodes = Option<BTreeSet<NodeId>>;

/// What is remembered of the components of a name, also while none is connected.
#[derive(Debug, Clone)]
struct Meant {
    nodes: Nodes,
    /// What one holds that needs nothing.
    revision: u64,
}

/// Does any of these changes concern who uses these nodes?
fn concern(nodes: &Nodes, changes: &ChangeSet) -> bool {
    changes.changes.iter().any(|change| concerns(nodes, change))
}

fn concerns(nodes: &Nodes, change: &Change) -> bool {
    let top = change.path.steps.first();
    nodes.as_ref().is_none_or(|nodes| top.is_none_or(|top| nodes.contains(&top.node)))
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
    /// By name: as many as there are kinds of components.
    meant: BTreeMap<String, Meant>,
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

    /// Those that take part in a commit of these changes. One that is being brought to running does, since it takes
    /// the snapshot before the change.
    pub(crate) fn taking_part(&self, changes: &ChangeSet) -> Vec<ComponentId> {
        let follows = |component: &Component| match component.follows {
            Follows::InSync => true,
            Follows::Loading(_) => !component.behind,
            Follows::Refused => false,
        };
        let connected = self.connected.iter().filter(|(_, component)| follows(component));
        connected.filter(|(_, component)| concern(&component.nodes, changes)).map(|(id, _)| *id).collect()
    }

    /// Does a change concern a component that is connected?
    pub(crate) fn concerned(&self, changes: &ChangeSet) -> bool {
        self.connected.values().any(|component| concern(&component.nodes, changes))
    }

    /// What a component of this name holds that needs nothing; none when that is not known.
    pub(crate) fn meant_for(&self, name: &str) -> Option<u64> {
        self.meant.get(name).map(|meant| meant.revision)
    }

    pub(crate) fn attach(
        &mut self,
        attachment: Attachment,
        nodes: Nodes,
        (revision, running): (u64, &Tree),
        out: &mut VecDeque<Output>,
    ) {
        let Attachment { component: id, name, holds: held, .. } = attachment;
        self.clear_alarms_of(&name, out);
        let known = self.meant.get(&name).filter(|meant| meant.nodes == nodes);
        let holds = known.map_or(revision, |meant| meant.revision);
        self.meant.insert(name.clone(), Meant { nodes: nodes.clone(), revision: holds });
        let (follows, asked) = (Follows::InSync, VecDeque::new());
        self.connected.insert(id, Component { name, nodes, follows, holds, behind: false, asked });
        if held != Some(holds) {
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
        let (name, behind) = (component.name.clone(), component.behind);
        self.clear_alarms_of(&name, out);
        if behind {
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
            Some(Asked::Snapshot(_)) => {
                component.asked.pop_front();
                self.refused_snapshot(id, errors, current, out);
                Refused::Snapshot
            }
            Some(Asked::Abort) | None => Refused::Nothing,
        }
    }

    fn refused_snapshot(
        &mut self,
        id: ComponentId,
        errors: &[Error],
        ((revision, running), now): ((u64, &Tree), Now),
        out: &mut VecDeque<Output>,
    ) {
        let Some(component) = self.connected.get_mut(&id) else { return };
        component.follows = Follows::Refused;
        // A change on top of what it does not have decides nothing.
        component.disregard_changes();
        let (component, behind) = (component.name.clone(), component.behind);
        let reason = errors.first().map_or("no reason given".to_owned(), ToString::to_string);
        self.replace_alarm(Alarm::OutOfSync { component, reason }, now, out);
        if behind {
            self.load(id, (revision, running), out);
        }
    }

    /// Running has changed: those that it concerns and that did not take part get it whole.
    pub(crate) fn follow(
        &mut self,
        took_part: &[ComponentId],
        changes: &ChangeSet,
        (revision, running): (u64, &Tree),
        out: &mut VecDeque<Output>,
    ) {
        for meant in self.meant.values_mut().filter(|meant| concern(&meant.nodes, changes)) {
            meant.revision = revision;
        }
        let mut to_load = Vec::new();
        for (id, component) in &mut self.connected {
            if took_part.contains(id) {
                component.holds = revision;
            } else if concern(&component.nodes, changes) {
                match component.follows {
                    // It gets the newer revision when it has answered, so at most one is on its way.
                    Follows::Loading(_) => component.behind = true,
                    Follows::InSync | Follows::Refused => to_load.push(*id),
                }
            }
        }
        for id in to_load {
            self.load(id, (revision, running), out);
        }
    }

    /// Sends what concerns it of a change to be prepared.
    pub(crate) fn prepare(
        &mut self,
        id: ComponentId,
        revision: u64,
        changes: &Arc<ChangeSet>,
        out: &mut VecDeque<Output>,
    ) {
        if let Some(component) = self.connected.get_mut(&id) {
            component.asked.push_back(Asked::Prepare { live: true });
            let theirs = |change: &&Change| concerns(&component.nodes, change);
            let changes = match changes.changes.iter().all(|change| theirs(&change)) {
                true => Arc::clone(changes),
                false => {
                    let changes = changes.changes.iter().filter(theirs).cloned().collect();
                    Arc::new(ChangeSet { changes })
                }
            };
            out.push_back(Output::Prepare { component: id, revision, base: component.holds, changes });
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
            (component.holds, component.behind) = (revision, false);
            if let Some(meant) = self.meant.get_mut(&component.name) {
                meant.revision = revision;
            }
            component.asked.push_back(Asked::Snapshot(revision));
            out.push_back(Output::Snapshot { component: id, revision, tree: running.clone() });
        }
    }

    /// Raises an alarm in place of others about the same component. One of the same kind has not ended: its words are new.
    pub(crate) fn replace_alarm(&mut self, alarm: Alarm, now: Now, out: &mut VecDeque<Output>) {
        if self.alarms.contains_key(&alarm) {
            return;
        }
        let (same, others): (Vec<Alarm>, Vec<Alarm>) = self
            .alarms
            .keys()
            .filter(|other| other.component() == alarm.component())
            .cloned()
            .partition(|other| other.kind() == alarm.kind());
        for gone in others {
            self.alarms.remove(&gone);
            out.push_back(Output::Event(Event::AlarmCleared(gone)));
        }
        let since = same.iter().find_map(|known| self.alarms.remove(known)).unwrap_or(now.unix_us);
        self.alarms.insert(alarm.clone(), since);
        out.push_back(Output::Event(Event::AlarmRaised(alarm)));
    }

    pub(crate) fn clear_unrecorded(&mut self, out: &mut VecDeque<Output>) {
        let ours = Alarm::Unrecorded { reason: String::new() };
        self.clear_alarms_of(ours.component(), out);
    }

    pub(crate) fn clear_no_history(&mut self, out: &mut VecDeque<Output>) {
        let ours = Alarm::NoHistory { reason: String::new() };
        self.clear_alarms_of(ours.component(), out);
    }

    pub(crate) fn clear_no_events(&mut self, out: &mut VecDeque<Output>) {
        let ours = Alarm::NoEvents { reason: String::new() };
        self.clear_alarms_of(ours.component(), out);
    }

    /// Lets the `wanted` ones stand and no others of their component. One that differs only in its words stays as it is.
    pub(crate) fn stand(
        &mut self,
        component: &str,
        wanted: Vec<Alarm>,
        now: Now,
        out: &mut VecDeque<Output>,
    ) {
        let same = |a: &Alarm, b: &Alarm| a.kind() == b.kind() && a.resource() == b.resource();
        let standing: Vec<Alarm> =
            self.alarms.keys().filter(|alarm| alarm.component() == component).cloned().collect();
        for alarm in &standing {
            if !wanted.iter().any(|other| same(alarm, other)) {
                self.alarms.remove(alarm);
                out.push_back(Output::Event(Event::AlarmCleared(alarm.clone())));
            }
        }
        for alarm in wanted {
            if !standing.iter().any(|other| same(&alarm, other)) {
                self.raise(alarm, now, out);
            }
        }
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
