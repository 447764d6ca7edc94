//! What operators do to alarms: `set-operator-state`, and purging and compressing.

use super::MODULE;
use super::entry::{Act, Key, Severity, State};
use super::list::{Range, Wanted};
use super::report::act_of;
use super::shelves::is_meant;
use crate::core::Core;
use crate::operations::{Executed, name_of};
use crate::output::{Event, Output};
use crate::types::{Now, Reply, SessionId};
use cats_yang_tree::Tree;
use cats_yang_tree::error::{Error, ErrorTag};
use cats_yang_tree::notice::Notice;
use cats_yang_tree::operation::Call;
use cats_yang_tree::schema::Schema;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// Is it an action on alarms?
pub(crate) fn is_ours(schema: &Schema, call: &Call) -> bool {
    !call.instance().steps.is_empty() && schema.module_of(call.operation()).name == MODULE
}

impl Core {
    pub(crate) fn alarm_action(
        &mut self,
        session: SessionId,
        call: &Call,
        now: Now,
    ) -> Result<Reply, Vec<Error>> {
        let schema = Arc::clone(&self.facts.schema);
        let tree = self.running.merged(&schema, self.alarms.tree());
        let given = Given::new(&call.judged(&schema, &tree)?);
        let (user, operation) = (self.user_of(session), name_of(&schema, call));
        self.outputs.push_back(Output::Event(Event::Executes { session, user: user.clone(), operation }));
        let name = schema.node(call.operation()).name.as_str();
        let shelved = name.ends_with("shelved-alarms");
        let at_us = now.unix_us;
        let (leaf, count) = match name {
            "purge-alarms" | "purge-shelved-alarms" => {
                ("purged-alarms", self.alarms.list.purge(shelved, &given.wanted(at_us), at_us))
            }
            "compress-alarms" | "compress-shelved-alarms" => {
                let running = self.running.clone();
                let meant = |key: &Key| given.means((&schema, &running), key, shelved);
                ("compressed-alarms", self.alarms.list.compress(shelved, meant, at_us))
            }
            _ => return self.set_operator_state(user, call, &given, now),
        };
        self.alarms_moved(now);
        let output = json!({ "ietf-alarms:output": { leaf: count } }).to_string().into_bytes();
        Ok(Reply::Executed(Box::new(Executed::of(call.clone(), tree, output))))
    }

    fn set_operator_state(
        &mut self,
        operator: String,
        call: &Call,
        given: &Given,
        now: Now,
    ) -> Result<Reply, Vec<Error>> {
        let schema = Arc::clone(&self.facts.schema);
        let missing = || vec![Error::application(ErrorTag::DataMissing, "there is no such alarm")];
        let above = call.instance();
        let key = above.steps.last().and_then(|step| step.key.as_ref()).ok_or_else(missing)?;
        let text = |at: usize| key.values().get(at).and_then(|value| value.as_str()).map(Arc::from);
        let (Some(resource), Some(kind)) = (text(0), text(1)) else { return Err(missing()) };
        let key = Key { resource, kind };
        let state = given.text("state").and_then(State::of).unwrap_or(State::None);
        let text = given.text("text").map(str::to_owned);
        let act = Act { at_us: now.unix_us, operator, state, text };
        let act = self.alarms.list.set_state(&key, act).ok_or_else(missing)?;
        self.alarms_moved(now);
        let list = above.node();
        let node = schema.module_by_name(MODULE).and_then(|of| schema.child(list, of, "operator-action"));
        if let Some(Ok(notice)) = node.map(|node| Notice::from_json(&schema, node, above, &act_of(&act))) {
            self.log_notice(notice, now);
        }
        Ok(Reply::Ok)
    }
}

/// The parameters, as RFC 7951 has them.
struct Given(Map<String, Value>);

impl Given {
    fn new(input: &str) -> Self {
        let input: Value = serde_json::from_str(input).unwrap_or_default();
        let parameters = input.as_object().and_then(|input| input.values().next()?.as_object().cloned());
        Self(parameters.unwrap_or_default())
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_str()
    }

    fn below(&self, name: &str, leaf: &str) -> Option<&Value> {
        self.0.get(name)?.get(leaf)
    }

    /// Which alarms are to be purged.
    fn wanted(&self, now_us: u64) -> Wanted {
        let second = 1_000_000;
        let units = [("seconds", 1), ("minutes", 60), ("hours", 3600), ("days", 86_400), ("weeks", 604_800)];
        let age = units
            .into_iter()
            .find_map(|(unit, seconds)| Some(self.below("older-than", unit)?.as_u64()? * seconds * second));
        let severity = |name: &str| Severity::of(self.below("severity", name)?.as_str()?);
        let ranges = [
            severity("below").map(Range::Below),
            severity("is").map(Range::Is),
            severity("above").map(Range::Above),
        ];
        let of_operator = |leaf: &str| self.below("operator-state-filter", leaf)?.as_str();
        Wanted {
            cleared: match self.text("alarm-clearance-status") {
                Some("cleared") => Some(true),
                Some("not-cleared") => Some(false),
                Some(_) | None => None,
            },
            before_us: age.map(|age| now_us.saturating_sub(age)),
            severity: ranges.into_iter().flatten().next(),
            state: of_operator("state").and_then(State::of),
            operator: of_operator("user").map(str::to_owned),
        }
    }

    /// Is the alarm to be compressed? Of those on a shelf the resource is named as it is.
    fn means(&self, (schema, tree): (&Schema, &Tree), key: &Key, shelved: bool) -> bool {
        let of_resource = |wanted: &str| match shelved {
            true => *key.resource == *wanted,
            false => is_meant(schema, tree, wanted, &key.resource),
        };
        self.text("resource").is_none_or(of_resource)
            && self.text("alarm-type-id").is_none_or(|kind| *key.kind == *kind)
            && self.text("alarm-type-qualifier").is_none_or(str::is_empty)
    }
}
