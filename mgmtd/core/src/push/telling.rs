//! Who is told what, when.

use super::message::{Changes, Content, Update, Whole};
use super::pulls::Pull;
use super::refusal::Why;
use super::table::{ABSENCE, Base, PATIENCE, Standing, Subscription};
use super::terms::{Selected, Trigger, defaults_of};
use super::{Seen, rhythm};
use crate::core::Core;
use crate::delivery::Message;
use crate::output::Output;
use crate::reading::{Reading, Selection};
use crate::reads::READ_TIMEOUT;
use crate::state::component_paths;
use crate::types::{ComponentId, Datastore, NmdaDatastore, Now, SessionId, Ticket};
use cats_yang_tree::error::Error;
use cats_yang_tree::{Tree, diff, diff_of_few};
use std::sync::Arc;
use std::time::Instant;

/// What a component has of an update.
enum Found {
    State(Tree),
    /// Nothing of it is selected.
    Nothing,
    /// It cannot be asked, or did not answer.
    Missing,
}

/// Changes of a datastore are looked at one by one for whom they concern, when they are fewer.
const FEW: usize = 10_000;

impl Core {
    /// Notices what has changed, for those who want to be told.
    pub(crate) fn look_for_changes(&mut self, now: Now) {
        if self.push.table.is_empty() {
            self.push.seen = self.running.clone();
            return;
        }
        let running = !self.push.seen.ptr_eq(&self.running);
        if running {
            let rules = !self.nacm.same_rules(&self.push.seen, &self.running);
            self.push.seen = self.running.clone();
            self.follow_filters(now);
            self.changed(now, |subscription| {
                rules || subscription.terms.datastore != NmdaDatastore::Candidate
            });
        }
        self.look_at_candidates(now);
    }

    /// What components tell of their state, or the state of our own that is told on change, is not what it was.
    pub(crate) fn state_moved(&mut self, now: Now) {
        self.changed(now, |subscription| subscription.terms.datastore == NmdaDatastore::Operational);
        self.go_on_with_components(now);
    }

    /// What a component tells is not known for now: whoever is told of it is told that. It may be back soon, and have
    /// lost nothing.
    pub(crate) fn suspend_for_component(&mut self, now: Now) {
        let ids = self.push.table.ids(|subscription| {
            let begun = subscription.told.is_some() && subscription.standing == Standing::Active;
            begun && subscription.watches().next().is_some()
        });
        for id in ids {
            let Some(mut subscription) = self.push.table.take(id) else { continue };
            subscription.standing = Standing::NoComponent { until: now.instant + ABSENCE };
            subscription.waiting = None;
            let reason = Why::InsufficientResources.identity();
            self.send(id, &mut subscription, Content::Suspended { reason }, now);
            self.push.table.put(id, subscription);
        }
    }

    /// Those go on whose component has told everything again.
    fn go_on_with_components(&mut self, now: Now) {
        if !self.push.table.lacks_components() || self.components.any().is_none() {
            return;
        }
        let ids = self.push.table.ids(Subscription::lacks_component);
        for id in ids {
            let Some(mut subscription) = self.push.table.take(id) else { continue };
            if self.can_begin(&subscription) {
                subscription.standing = Standing::NoComponent { until: now.instant };
            }
            self.push.table.put(id, subscription);
        }
    }

    /// From what its receiver has a patch leads to what there is (RFC 8641 section 3.11.1).
    fn resume_without_gap(&mut self, id: u32, subscription: &mut Subscription, now: Now) {
        subscription.standing = Standing::Active;
        self.send(id, subscription, Content::Resumed, now);
        // What is told of at once waits for nothing.
        subscription.since = now.instant.checked_sub(rhythm::COALESCING).or(Some(now.instant));
    }

    /// Wants to be told by components what subscriptions select and what alarms are made of, and no more.
    pub(crate) fn watch_for_subscribers(&mut self) {
        let alarms = self.alarms.watched();
        let others = self.told.wants().filter(|path| Some(path.as_str()) != alarms);
        let has_alarms = alarms.is_none_or(|alarms| self.told.wants().any(|path| path == alarms));
        if !others.eq(self.push.watched()) || !has_alarms {
            let wanted = self.push.watched().cloned().chain(alarms.map(str::to_owned));
            self.watch_state(wanted.collect());
        }
    }

    /// Is everything there that a subscription can begin with? A component that is not connected tells nothing.
    fn can_begin(&self, subscription: &Subscription) -> bool {
        self.components.any().is_none() || subscription.watches().all(|path| self.told.has(path))
    }

    fn look_at_candidates(&mut self, now: Now) {
        if !self.push.table.has_candidates() {
            return;
        }
        let ids = self.push.table.ids(|subscription| {
            subscription.terms.datastore == NmdaDatastore::Candidate
                && subscription.since.is_none()
                && matches!(subscription.terms.trigger, Trigger::OnChange(_))
        });
        for id in ids {
            let Some(mut subscription) = self.push.table.take(id) else { continue };
            let candidate = self.tree(subscription.session, Datastore::Candidate);
            if subscription.base.as_ref().is_none_or(|base| !base.tree.ptr_eq(&candidate)) {
                subscription.since = Some(now.instant);
            }
            self.push.table.put(id, subscription);
        }
    }

    fn changed(&mut self, now: Now, which: impl Fn(&Subscription) -> bool) {
        let ids = self.push.table.ids(|subscription| {
            subscription.since.is_none()
                && matches!(subscription.terms.trigger, Trigger::OnChange(_))
                && which(subscription)
        });
        if ids.is_empty() {
            return;
        }
        let since = self.gathers_since(now);
        for id in ids {
            if let Some(mut subscription) = self.push.table.take(id) {
                subscription.since = Some(since);
                self.push.table.put(id, subscription);
            }
        }
    }

    /// Since when the changes are gathered that this one is told with. One that has had its turn at another time than
    /// others joins them, so that they share the work again.
    fn gathers_since(&mut self, now: Now) -> Instant {
        let begun = self.push.gathering.filter(|begun| now.instant < *begun + rhythm::COALESCING);
        *self.push.gathering.insert(begun.unwrap_or(now.instant))
    }

    /// Those have their turn that are due.
    pub(crate) fn tell_subscribers(&mut self, now: Now) {
        for id in self.push.table.due(now.instant) {
            self.turn_of(id, now);
        }
        self.push.shared = super::Shared::default();
        self.end_listeners(now);
        let late = self.push.pulls.late(now);
        self.tell_pulled(late, || Found::Missing, now);
    }

    /// A session has room for more.
    pub(crate) fn tell_after_waiting(&mut self, session: SessionId, now: Now) {
        if self.push.table.is_empty() || !self.delivery.may_send(session) {
            return;
        }
        for id in self.push.table.crowd_of(session) {
            self.turn_of(id, now);
        }
        self.push.shared = super::Shared::default();
    }

    fn turn_of(&mut self, id: u32, now: Now) {
        let Some(mut subscription) = self.push.table.take(id) else { return };
        let over = subscription.stop.is_some_and(|stop| stop <= now.instant);
        match subscription.standing {
            Standing::NoRoom => self.resume_subscription(id, &mut subscription, now),
            Standing::NoComponent { until } if until <= now.instant && !over => {
                self.resume_without_gap(id, &mut subscription, now);
            }
            Standing::Active | Standing::TooMuch | Standing::NoComponent { .. } => {}
        }
        if matches!(subscription.standing, Standing::Active | Standing::TooMuch) {
            match subscription.terms.trigger.clone() {
                Trigger::Periodic(period) => {
                    let due = subscription.next.filter(|due| *due <= now.instant);
                    if let Some(due) = due
                        && self.has_room(&mut subscription, now)
                    {
                        subscription.next = Some(period.next(due, now));
                        self.tell_whole(id, &mut subscription, now);
                    }
                }
                Trigger::OnChange(terms) => {
                    let due = subscription.since.is_some_and(|since| {
                        rhythm::due(since, subscription.last, terms.dampening) <= now.instant
                    });
                    if (due || over && subscription.since.is_some()) && self.has_room(&mut subscription, now)
                    {
                        self.tell_changes(id, &mut subscription, now);
                    }
                }
            }
        }
        if over {
            // A dynamic subscription needs no word of its end at its time (RFC 8639 section 2.7.4), and the one that there
            // is, subscription-completed, goes with configured ones. It is told all the same, by the word that is left.
            return self.terminate(id, &subscription, Why::NoSuchSubscription.identity(), now);
        }
        self.push.table.put(id, subscription);
    }

    /// Is there room to tell something? When there has been none for too long, the subscription is suspended.
    fn has_room(&self, subscription: &mut Subscription, now: Now) -> bool {
        if self.delivery.may_send(subscription.session) {
            subscription.waiting = None;
            return true;
        }
        let since = *subscription.waiting.get_or_insert(now.instant);
        if since + PATIENCE <= now.instant {
            subscription.standing = Standing::NoRoom;
        }
        false
    }

    /// What was missed is made good by all of it.
    fn resume_subscription(&mut self, id: u32, subscription: &mut Subscription, now: Now) {
        if !self.delivery.may_send(subscription.session) {
            return;
        }
        subscription.standing = Standing::Active;
        subscription.waiting = None;
        let reason = "ietf-subscribed-notifications:unsupportable-volume";
        self.send(id, subscription, Content::Suspended { reason }, now);
        self.send(id, subscription, Content::Resumed, now);
        self.start_over(subscription, now);
    }

    /// From here on a receiver is to have all of it, unless it wanted nothing but changes.
    pub(crate) fn start_over(&mut self, subscription: &mut Subscription, now: Now) {
        match subscription.terms.trigger.clone() {
            Trigger::Periodic(period) => subscription.next = Some(period.first(now)),
            Trigger::OnChange(terms) => {
                let base = self.base_of(subscription);
                subscription.told = match terms.syncs || !self.can_begin(subscription) {
                    true => None,
                    false => self.seen(subscription, &base).ok(),
                };
                subscription.base = Some(base);
                // What is told of at once waits for nothing.
                let at_once = now.instant.checked_sub(rhythm::COALESCING).unwrap_or(now.instant);
                subscription.since = terms.syncs.then_some(at_once);
                subscription.last = None;
            }
        }
    }

    fn tell_whole(&mut self, id: u32, subscription: &mut Subscription, now: Now) {
        let Base { tree, access, .. } = self.base_of(subscription);
        let datastore = subscription.terms.datastore;
        if datastore == NmdaDatastore::Operational {
            return self.pull(id, subscription, now);
        }
        let selection = selection_of(&subscription.terms.selection, datastore);
        let whole = Arc::new(Whole::of_reading(Reading::new(tree, selection, access)));
        subscription.last = Some(now.instant);
        self.send(id, subscription, Content::Whole(whole), now);
    }

    /// Asks a component for its part of `<operational>`.
    fn pull(&mut self, id: u32, subscription: &mut Subscription, now: Now) {
        let waits = self.push.pulls.has(id);
        let filter = subscription.terms.selection.filter.as_ref();
        let paths = component_paths(&self.facts.schema, filter);
        match (self.components.any(), paths) {
            // The state that was asked for last is on its way yet.
            _ if waits => {}
            (Some(component), Some(paths)) if self.push.pulls.joins(id, component, &paths) => {}
            (Some(component), Some(paths)) => {
                let ticket = self.ticket();
                let (subscriptions, deadline) = (vec![id], now.instant + READ_TIMEOUT);
                let pull = Pull { component, paths: paths.clone(), subscriptions, deadline };
                self.push.pulls.begin(ticket, pull);
                self.outputs.push_back(Output::ReadState { ticket, component, paths });
            }
            (None, Some(_)) => self.tell_operational(id, subscription, Found::Missing, now),
            (_, None) => self.tell_operational(id, subscription, Found::Nothing, now),
        }
    }

    /// A component's state that an update waits for; false when none does with that ticket.
    pub(crate) fn pulled(&mut self, ticket: Ticket, state: &Result<Tree, Vec<Error>>, now: Now) -> bool {
        let Some(subscriptions) = self.push.pulls.end(ticket) else { return false };
        let found = || state.as_ref().map_or(Found::Missing, |state| Found::State(state.clone()));
        self.tell_pulled(subscriptions, found, now);
        true
    }

    /// Nothing more comes of a component.
    pub(crate) fn pulls_lost(&mut self, component: ComponentId, now: Now) {
        let lost = self.push.pulls.lost(component);
        self.tell_pulled(lost, || Found::Missing, now);
    }

    /// Tells those who waited for a read, and begins the next ones.
    fn tell_pulled(&mut self, ids: Vec<u32>, found: impl Fn() -> Found, now: Now) {
        for id in ids {
            let Some(mut subscription) = self.push.table.take(id) else { continue };
            if self.has_room(&mut subscription, now) {
                self.tell_operational(id, &mut subscription, found(), now);
            }
            self.push.table.put(id, subscription);
        }
        while let Some(id) = self.push.pulls.next() {
            let Some(mut subscription) = self.push.table.take(id) else { continue };
            self.pull(id, &mut subscription, now);
            self.push.table.put(id, subscription);
        }
    }

    fn tell_operational(&mut self, id: u32, subscription: &mut Subscription, found: Found, now: Now) {
        let (state, missing) = match found {
            Found::State(state) => (Some(state), false),
            Found::Nothing => (None, false),
            Found::Missing => (None, true),
        };
        let selection = selection_of(&subscription.terms.selection, NmdaDatastore::Operational);
        // Only what is wrong with the YANG library, which was told already.
        let Ok(reading) = self.operational(subscription.session, state, selection) else { return };
        subscription.last = Some(now.instant);
        let whole = Whole::of_reading(reading);
        let whole = if missing { whole.with_a_gap() } else { whole };
        self.send(id, subscription, Content::Whole(Arc::new(whole)), now);
    }

    fn tell_changes(&mut self, id: u32, subscription: &mut Subscription, now: Now) {
        let Trigger::OnChange(terms) = subscription.terms.trigger.clone() else { return };
        let base = self.base_of(subscription);
        subscription.since = None;
        if subscription.told.is_none() && !self.can_begin(subscription) {
            // Its turn comes with what is missing.
            return;
        }
        if subscription.told.is_some() && !self.concerns(subscription, &base) {
            subscription.base = Some(base);
            return;
        }
        let seen = self.seen(subscription, &base);
        subscription.base = Some(base);
        let Ok(seen) = seen else { return self.give_up(id, subscription, now) };
        if subscription.standing == Standing::TooMuch {
            subscription.standing = Standing::Active;
            self.send(id, subscription, Content::Resumed, now);
        }
        let content = match subscription.told.replace(seen.clone()) {
            Some(told) => self.changes(&told, &seen, &terms.excluded).map(|changes| {
                let patch_id = subscription.patch_id;
                subscription.patch_id = patch_id.wrapping_add(1);
                Content::Changes { patch_id, changes }
            }),
            None => terms.syncs.then(|| {
                subscription.patch_id = 0;
                Content::Whole(self.whole(&seen))
            }),
        };
        if let Some(content) = content {
            subscription.last = Some(now.instant);
            self.send(id, subscription, content, now);
        }
    }

    /// What a subscription selects takes too much to find out.
    fn give_up(&mut self, id: u32, subscription: &mut Subscription, now: Now) {
        subscription.told = None;
        if subscription.standing == Standing::Active {
            subscription.standing = Standing::TooMuch;
            let reason = Why::InsufficientResources.identity();
            self.send(id, subscription, Content::Suspended { reason }, now);
        }
    }

    /// What a subscription's datastore is now, and what its receiver may do.
    pub(crate) fn base_of(&mut self, subscription: &Subscription) -> Base {
        let access = self.access(subscription.session);
        let tree = self.configuration(subscription.session, subscription.terms.datastore);
        let state = match subscription.terms.datastore {
            NmdaDatastore::Operational => self.alarms.beside(self.told.tree()),
            NmdaDatastore::Running | NmdaDatastore::Candidate | NmdaDatastore::Intended => Tree::new(),
        };
        Base::new(tree, state, access)
    }

    /// May what changed since it was last looked at concern a subscription?
    fn concerns(&mut self, subscription: &Subscription, base: &Base) -> bool {
        let Some(before) = &subscription.base else { return true };
        if before.is(base) {
            return false;
        }
        // A default in use may depend on what is elsewhere.
        let by_defaults =
            subscription.terms.datastore == NmdaDatastore::Operational && !before.tree.ptr_eq(&base.tree);
        if before.access != base.access || by_defaults {
            return true;
        }
        let selection = &subscription.terms.selection;
        [(&before.tree, &base.tree), (&before.state, &base.state)].into_iter().any(|(old, new)| {
            let known = self.push.shared.raw.iter().find(|(a, b, _)| a.ptr_eq(old) && b.ptr_eq(new));
            let changes = match known {
                Some((.., changes)) => changes.clone(),
                None => {
                    let changes = diff_of_few(old, new, FEW).map(Arc::new);
                    self.push.shared.raw.push((old.clone(), new.clone(), changes.clone()));
                    changes
                }
            };
            changes.is_none_or(|changes| changes.changes.iter().any(|change| selection.concerns(change)))
        })
    }

    /// What a subscription selects of what its receiver may read.
    pub(crate) fn seen(&mut self, subscription: &Subscription, base: &Base) -> Result<Tree, Vec<Error>> {
        let selection = &subscription.terms.selection;
        let operational = subscription.terms.datastore == NmdaDatastore::Operational;
        let known = self.push.shared.seen.iter().find(|seen| {
            seen.operational == operational && seen.base.is(base) && Arc::ptr_eq(&seen.selection, selection)
        });
        if let Some(known) = known {
            return known.tree.clone();
        }
        let wanted = selection_of(selection, subscription.terms.datastore);
        let reading = Reading {
            state: operational.then(|| base.state.clone()).filter(|state| !state.is_empty()),
            ..Reading::new(base.tree.clone(), wanted, base.access.clone())
        };
        let tree = reading.view(&self.facts.schema).map(|view| view.tree());
        let (selection, base) = (Arc::clone(selection), base.clone());
        self.push.shared.seen.push(Seen { selection, base, operational, tree: tree.clone() });
        tree
    }

    fn changes(
        &mut self,
        old: &Tree,
        new: &Tree,
        excluded: &[cats_yang_tree::diff::PatchOperation],
    ) -> Option<Arc<Changes>> {
        if old.ptr_eq(new) {
            return None;
        }
        let same = |changes: &Option<Arc<Changes>>| {
            changes.as_ref().map_or(excluded.is_empty(), |changes| changes.excludes(excluded))
        };
        let known = self
            .push
            .shared
            .changes
            .iter()
            .find(|(a, b, changes)| a.ptr_eq(old) && b.ptr_eq(new) && same(changes));
        if let Some((.., known)) = known {
            return known.clone();
        }
        let changes = Changes::new(diff(old, new), excluded).map(Arc::new);
        self.push.shared.changes.push((old.clone(), new.clone(), changes.clone()));
        changes
    }

    fn whole(&mut self, seen: &Tree) -> Arc<Whole> {
        if let Some((_, whole)) = self.push.shared.wholes.iter().find(|(tree, _)| tree.ptr_eq(seen)) {
            return Arc::clone(whole);
        }
        let whole = Arc::new(Whole::of_seen(seen.clone()));
        self.push.shared.wholes.push((seen.clone(), Arc::clone(&whole)));
        whole
    }

    /// Ends a subscription that is taken out of the table.
    pub(crate) fn terminate(&mut self, id: u32, subscription: &Subscription, reason: &'static str, now: Now) {
        self.tell_of_the_end(id, subscription.session, reason, now);
    }

    /// One that is taken out of the table was not ended by its session.
    pub(crate) fn tell_of_the_end(&mut self, id: u32, session: SessionId, reason: &'static str, now: Now) {
        self.notify_own(session, Update { subscription: id, content: Content::Terminated { reason } }, now);
        self.listens_by_subscriptions(session);
    }

    pub(crate) fn send(&mut self, id: u32, subscription: &mut Subscription, content: Content, now: Now) {
        let session = subscription.session;
        match &content {
            Content::Whole(_) | Content::Changes { .. } => {
                let update = Update { subscription: id, content };
                let (module, name) = update.name();
                if !self.access(session).may_receive(module, name) {
                    subscription.excluded += 1;
                    self.nacm.count_denied_notifications(1);
                    return;
                }
                subscription.sent += 1;
                self.tell(session, Message::update(now.unix_us, update));
            }
            Content::Modified { .. }
            | Content::Suspended { .. }
            | Content::Resumed
            | Content::ReplayCompleted
            | Content::Terminated { .. } => {
                self.notify_own(session, Update { subscription: id, content }, now);
            }
        }
    }

    pub(crate) fn notify_own(&mut self, session: SessionId, update: Update, now: Now) {
        if self.sessions.get(session).is_some() && self.delivery.may_send_own(session) {
            self.tell(session, Message::update(now.unix_us, update));
        }
    }

    /// Says whether a session has subscriptions.
    pub(crate) fn listens_by_subscriptions(&mut self, session: SessionId) {
        let has = self.push.table.number_of(session) > 0;
        self.listens(session, has);
    }
}

/// What a reader of the datastore would ask for.
fn selection_of(selected: &Selected, datastore: NmdaDatastore) -> Selection {
    Selection { filter: selected.filter.clone(), defaults: defaults_of(datastore), ..Selection::default() }
}
