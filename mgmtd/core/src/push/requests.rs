//! `establish-subscription`, `modify-subscription`, `delete-subscription`, `kill-subscription` and
//! `resync-subscription`.

use super::message::Content;
use super::refusal::{Asked, Refusal, Why};
use super::rhythm;
use super::table::Subscription;
use super::terms::{Given, PUSH, SUBSCRIBED, Selected, Terms, Trigger, stored};
use crate::core::Core;
use crate::operations::Executed;
use crate::types::{Now, Reply, SessionId};
use cats_yang_tree::error::{Error, ErrorInfo, ErrorTag};
use cats_yang_tree::notice::Notice;
use cats_yang_tree::operation::Call;
use cats_yang_tree::schema::Schema;
use cats_yang_tree::{Defaults, Tree, view};
use serde_json::{Map, Value as Json, json};
use std::sync::Arc;

/// Is it an operation on subscriptions?
pub(crate) fn is_ours(schema: &Schema, call: &Call) -> bool {
    let module = schema.module_of(call.operation()).name.as_str();
    call.instance().steps.is_empty() && matches!(module, SUBSCRIBED | PUSH)
}

type Answer = Result<Reply, Vec<Error>>;

impl Core {
    pub(crate) fn subscription_request(&mut self, session: SessionId, call: &Call, now: Now) -> Answer {
        let schema = Arc::clone(&self.facts.schema);
        match schema.node(call.operation()).name.as_str() {
            "establish-subscription" => self.establish(session, call, now),
            "modify-subscription" => self.modify(session, call, now),
            "delete-subscription" => self.delete(Some(session), call, now),
            "kill-subscription" => self.delete(None, call, now),
            "resync-subscription" => self.resync(session, call, now),
            other => {
                let message = format!("<{other}> is not served");
                Err(vec![Error::protocol(ErrorTag::OperationNotSupported, message)])
            }
        }
    }

    fn establish(&mut self, session: SessionId, call: &Call, now: Now) -> Answer {
        let schema = Arc::clone(&self.facts.schema);
        let asked = Asked::Establish;
        let given = Given::new(&schema, &self.running, call, asked)?;
        self.not_beside_create_subscription(session)?;
        if !given.names_datastore() {
            return self.listen(session, &given, call, now);
        }
        let terms = given.terms(&self.running, None)?;
        let mut subscription = Subscription::new(session, self.shared_terms(terms));
        self.stop_at(&mut subscription, now)?;
        self.try_out(&subscription, asked)?;
        let id = self.push.table.new_id(session).map_err(|refusal| vec![refusal.into_error(asked)])?;
        self.start_over(&mut subscription, now);
        self.push.table.put(id, subscription);
        Ok(self.established(session, call, &json!({ "id": id })))
    }

    pub(crate) fn established(&mut self, session: SessionId, call: &Call, output: &Json) -> Reply {
        self.listens_by_subscriptions(session);
        let output = json!({ "ietf-subscribed-notifications:output": output }).to_string();
        Reply::Executed(Box::new(Executed::of(call.clone(), self.running.clone(), output.into_bytes())))
    }

    /// RFC 8640 section 4: a session has subscriptions of RFC 5277 or of RFC 8639.
    fn not_beside_create_subscription(&self, session: SessionId) -> Result<(), Vec<Error>> {
        if !self.stream.has(session) {
            return Ok(());
        }
        let message = "this session has a subscription by <create-subscription>: open another session";
        Err(vec![Error::protocol(ErrorTag::OperationNotSupported, message)])
    }

    /// Does a session have subscriptions of RFC 8639?
    pub(crate) fn has_subscriptions(&self, session: SessionId) -> bool {
        self.push.table.number_of(session) > 0
    }

    fn modify(&mut self, session: SessionId, call: &Call, now: Now) -> Answer {
        let schema = Arc::clone(&self.facts.schema);
        let asked = Asked::Modify;
        let given = Given::new(&schema, &self.running, call, asked)?;
        if let Some(id) = given.id().filter(|id| self.push.table.listeners.contains_key(id)) {
            return self.modify_listener(session, id, &given, now);
        }
        let (id, before) = self.own(session, given.id(), Why::NoSuchSubscription, asked)?;
        let terms = given.terms(&self.running, Some(&before.terms))?;
        let mut modified = Subscription::new(session, self.shared_terms(terms));
        self.stop_at(&mut modified, now)?;
        self.try_out(&modified, asked)?;
        let Some(before) = self.push.table.take(id) else { return Ok(Reply::Ok) };
        (modified.patch_id, modified.sent, modified.excluded) =
            (before.patch_id, before.sent, before.excluded);
        self.start_over(&mut modified, now);
        self.push.table.put(id, modified);
        Ok(Reply::Ok)
    }

    /// By its session, or by whoever may kill.
    fn delete(&mut self, by: Option<SessionId>, call: &Call, now: Now) -> Answer {
        let schema = Arc::clone(&self.facts.schema);
        let given = Given::new(&schema, &self.running, call, Asked::Delete)?;
        let found = given.id().and_then(|id| Some((id, self.push.table.owner(id)?)));
        let found = found.filter(|(_, owner)| by.is_none_or(|by| by == *owner));
        let Some((id, owner)) = found else {
            return Err(self.missing(given.id(), Why::NoSuchSubscription, Asked::Delete));
        };
        self.push.table.take(id);
        self.push.table.listeners.remove(&id);
        match by {
            Some(_) => self.listens_by_subscriptions(owner),
            None => self.tell_of_the_end(id, owner, Why::NoSuchSubscription.identity(), now),
        }
        Ok(Reply::Ok)
    }

    fn resync(&mut self, session: SessionId, call: &Call, now: Now) -> Answer {
        let schema = Arc::clone(&self.facts.schema);
        let asked = Asked::Resync;
        let given = Given::new(&schema, &self.running, call, asked)?;
        let (id, subscription) = self.own(session, given.id(), Why::NoSuchSubscriptionResync, asked)?;
        let syncs = matches!(&subscription.terms.trigger, Trigger::OnChange(terms) if terms.syncs);
        if !syncs {
            let message = "only subscriptions on change with sync-on-start are told all of it again";
            return Err(vec![Refusal::new(Why::OnChangeSyncUnsupported, message).into_error(asked)]);
        }
        if let Some(mut subscription) = self.push.table.take(id) {
            self.start_over(&mut subscription, now);
            self.push.table.put(id, subscription);
        }
        Ok(Reply::Ok)
    }

    fn own(
        &self,
        session: SessionId,
        id: Option<u32>,
        why: Why,
        asked: Asked,
    ) -> Result<(u32, &Subscription), Vec<Error>> {
        let found = id.and_then(|id| Some((id, self.push.table.get(id)?)));
        found.filter(|(_, found)| found.session == session).ok_or_else(|| self.missing(id, why, asked))
    }

    pub(crate) fn missing(&self, id: Option<u32>, why: Why, asked: Asked) -> Vec<Error> {
        let message = format!("there is no subscription {} of this session", id.unwrap_or_default());
        vec![Refusal::new(why, message).into_error(asked)]
    }

    /// The same terms, with the selection of another subscription where that is equal: they share the work.
    fn shared_terms(&self, terms: Terms) -> Terms {
        let equal = self
            .push
            .table
            .iter()
            .map(|(_, other)| &other.terms.selection)
            .find(|other| **other == terms.selection)
            .map(Arc::clone);
        let selection = equal.unwrap_or_else(|| Arc::clone(&terms.selection));
        Terms { selection, ..terms }
    }

    fn stop_at(&self, subscription: &mut Subscription, now: Now) -> Result<(), Vec<Error>> {
        let Some(stop_us) = subscription.terms.stop_us else { return Ok(()) };
        if stop_us <= i64::try_from(now.unix_us).unwrap_or(i64::MAX) {
            let message = "stop-time is not in the future";
            return Err(vec![
                Error::application(ErrorTag::InvalidValue, message)
                    .with(ErrorInfo::BadElement("stop-time".to_owned())),
            ]);
        }
        subscription.stop = Some(rhythm::deadline(stop_us, now));
        Ok(())
    }

    /// A filter that cannot be evaluated is refused at once.
    fn try_out(&mut self, subscription: &Subscription, asked: Asked) -> Result<(), Vec<Error>> {
        let is_xpath = subscription.terms.selection.filter.as_ref().is_some_and(|filter| filter.is_xpath());
        if !is_xpath {
            return Ok(());
        }
        let base = self.base_of(subscription);
        let seen = self.seen(subscription, &base);
        self.push.shared = super::Shared::default();
        let refused = |errors: Vec<Error>| {
            errors.iter().map(|error| Refusal::filter(error).into_error(asked)).collect::<Vec<_>>()
        };
        seen.map(drop).map_err(refused)
    }

    /// Stored filters that changed hold for whoever refers to them; who refers to one that is gone is told so.
    pub(crate) fn follow_filters(&mut self, now: Now) {
        let schema = Arc::clone(&self.facts.schema);
        for id in self.push.table.ids(|subscription| subscription.terms.selection.stored.is_some()) {
            let Some(mut subscription) = self.push.table.take(id) else { continue };
            let name = subscription.terms.selection.stored.clone().unwrap_or_default();
            match stored(&schema, &self.running, &name) {
                Err(_) => {
                    let reason = "ietf-subscribed-notifications:filter-unavailable";
                    self.terminate(id, &subscription, reason, now);
                    continue;
                }
                Ok(selection) if selection == *subscription.terms.selection => {}
                Ok(selection) => self.refilter(id, &mut subscription, selection, now),
            }
            self.push.table.put(id, subscription);
        }
        self.follow_stream_filters(now);
    }

    fn refilter(&mut self, id: u32, subscription: &mut Subscription, selection: Selected, now: Now) {
        let terms = Terms { selection: Arc::new(selection), ..subscription.terms.clone() };
        subscription.terms = self.shared_terms(terms);
        let terms = self.terms_xml(&subscription.terms.words);
        self.send(id, subscription, Content::Modified { terms }, now);
        self.start_over(subscription, now);
    }

    /// What `subscription-modified` says beside the id.
    pub(crate) fn terms_xml(&self, words: &Map<String, Json>) -> Arc<str> {
        let mut content = words.clone();
        content.insert("encoding".to_owned(), json!("ietf-subscribed-notifications:encode-xml"));
        let name = (SUBSCRIBED, "subscription-modified");
        let notice = Notice::named(&self.facts.schema, name, &Json::Object(content));
        let text = notice.map(|notice| {
            view(&Tree::from_root(notice.content()), &self.facts.schema, Defaults::Explicit).to_xml()
        });
        Arc::from(text.unwrap_or_default())
    }
}
