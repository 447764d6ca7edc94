//! The alarms of this daemon that stand, as cats-mgmtd is told of them: it has the list of all, and what became of each.

use super::text::text;
use super::time::date_and_time;
use crate::engine::{Engine, Now};
use crate::plane::Plane;
use serde_json::{Map, Value, json};

impl<P: Plane> Engine<P> {
    /// Members of a document.
    pub(super) fn standing_alarms(&mut self, now: Now) -> Map<String, Value> {
        self.look(now);
        let entries = self.alarms.iter(now).map(|(kind, resource, standing)| {
            let since = date_and_time(standing.since);
            json!({
                "resource": resource,
                "alarm-type-id": format!("cats-alarms:{}", kind.name()),
                "alarm-type-qualifier": "",
                "time-created": since,
                "last-raised": since,
                "last-changed": since,
                "is-cleared": false,
                "perceived-severity": kind.severity().name(),
                "alarm-text": text(&standing.text),
            })
        });
        let entries: Vec<Value> = entries.collect();
        match entries.is_empty() {
            true => Map::new(),
            false => Map::from_iter([(
                "ietf-alarms:alarms".to_owned(),
                json!({ "alarm-list": { "alarm": entries } }),
            )]),
        }
    }
}
