//! The alarms of this daemon, as entries of the node's list of alarms.

use super::filter::Filter;
use super::place;
use super::text::text;
use super::time::date_and_time;
use crate::engine::{Engine, Now};
use crate::plane::Plane;
use serde_json::{Map, Value, json};

const LIST: [&str; 3] = ["cats-system:system", "alarms", "alarm"];

/// The name of this program in the list.
const COMPONENT: &str = "cats-engined";

impl<P: Plane> Engine<P> {
    pub(super) fn alarm_state(&mut self, cats: &mut Map<String, Value>, filter: &Filter, now: Now) {
        if !filter.wants(&LIST) {
            return;
        }
        self.look(now);
        let entries: Vec<Value> = self
            .alarms
            .iter(now)
            .map(|(kind, resource, standing)| {
                json!({
                    "component": COMPONENT,
                    "alarm-type": kind.name(),
                    "resource": resource,
                    "alarm-text": text(&standing.text),
                    "time-created": date_and_time(standing.since),
                })
            })
            .collect();
        if !entries.is_empty() {
            place(cats, &LIST, Value::Array(entries));
        }
    }
}
