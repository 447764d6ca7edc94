//! Operational state as RFC 7951 documents, in pages.
//!
//! The first page has everything but the long lists; these follow in a fixed order, as far as the limit of a page goes.
//! A page ends with its list and the last key of it, so that a list that changes meanwhile is still read in order.

mod agent;
mod agents;
mod alarms;
mod decision;
mod filter;
mod forwarder;
mod pushed;
mod selector;
mod service_table;
mod text;
mod time;

use super::{Engine, Now};
use crate::plane::Plane;
use cats_engine_transport::management::StatePage;
use cats_engine_types::{FlowKey, Protocol};
pub(super) use decision::encapsulation;
use filter::Filter;
pub(super) use pushed::{Entry, Pushed, place_pushed};
use serde_json::{Map, Value, json};

/// List entries in a page where the request leaves it to us, and at most.
const PAGE: usize = 1000;

/// A list that may be long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Long {
    Decisions,
    Flows,
    Bindings,
    ServiceTable,
    Sites,
    Instances,
    Quarantine,
    Audit,
}

impl Long {
    const ALL: [Self; 8] = [
        Self::Decisions,
        Self::Flows,
        Self::Bindings,
        Self::ServiceTable,
        Self::Sites,
        Self::Instances,
        Self::Quarantine,
        Self::Audit,
    ];

    fn name(self) -> &'static str {
        match self {
            Long::Decisions => "decisions",
            Long::Flows => "flows",
            Long::Bindings => "bindings",
            Long::ServiceTable => "service-table",
            Long::Sites => "sites",
            Long::Instances => "instances",
            Long::Quarantine => "quarantine",
            Long::Audit => "audit",
        }
    }

    fn path(self) -> [&'static str; 3] {
        match self {
            Long::Decisions => ["cats-cps:path-selector", "decisions", "decision"],
            Long::Flows => ["cats-cps:path-selector", "flows", "flow"],
            Long::Bindings => ["cats-forwarder:forwarder", "bindings", "binding"],
            Long::ServiceTable => service_table::LIST,
            Long::Sites => agent::SITES,
            Long::Instances => agent::INSTANCES,
            Long::Quarantine => agent::QUARANTINE,
            Long::Audit => agent::AUDIT,
        }
    }
}

/// A part of a long list, and the key to go on behind.
type Part = (Vec<Value>, Option<String>);

impl<P: Plane> Engine<P> {
    pub(super) fn state(
        &mut self,
        paths: &[String],
        limit: u32,
        page: Option<&str>,
        now: Now,
    ) -> Result<StatePage, String> {
        let filter = Filter::new(paths)?;
        let limit = if limit == 0 { PAGE } else { (limit as usize).min(PAGE) };
        let mut cats = Map::new();
        let (first, mut after) = match page {
            Some(page) => cursor(page)?,
            None => {
                self.selector_state(&mut cats, &filter, now);
                self.forwarder_state(&mut cats, &filter);
                self.agent_state(&mut cats, &filter, now);
                (Long::Decisions, None)
            }
        };
        let lists = Long::ALL.into_iter().skip_while(|list| *list != first);
        let mut left = limit;
        let mut next = None;
        for list in lists.filter(|list| filter.wants(&list.path())) {
            if left == 0 {
                next = Some(format!("{}:", list.name()));
                break;
            }
            let (entries, last) = self.part(list, &filter, after.take().as_deref(), left, now)?;
            left -= entries.len().min(left);
            if !entries.is_empty() {
                place(&mut cats, &list.path(), Value::Array(entries));
            }
            if let Some(last) = last {
                next = Some(format!("{}:{last}", list.name()));
                break;
            }
        }
        let json = serde_json::to_vec(&within(cats)).map_err(|error| error.to_string())?;
        Ok(StatePage { json, next })
    }

    fn part(
        &mut self,
        list: Long,
        filter: &Filter,
        after: Option<&str>,
        limit: usize,
        now: Now,
    ) -> Result<Part, String> {
        match list {
            Long::Decisions => Ok(self.decisions(filter, after, limit)),
            Long::Flows => self.flows(after, limit),
            Long::Bindings => self.bindings(after, limit),
            Long::ServiceTable => self.service_table(filter, after, limit, now),
            Long::Sites => self.sites(filter, after, limit),
            Long::Instances => self.instances(filter, after, limit, now),
            Long::Quarantine => self.quarantine(filter, after, limit),
            Long::Audit => self.audit_log(filter, after, limit),
        }
    }
}

/// The document with these members of ours.
fn within(cats: Map<String, Value>) -> Map<String, Value> {
    Map::from_iter([("ietf-routing:routing".to_owned(), json!({ "ietf-cats:cats": cats }))])
}

/// Where a page begins.
fn cursor(page: &str) -> Result<(Long, Option<String>), String> {
    let parsed = page.split_once(':').and_then(|(name, after)| {
        let list = Long::ALL.into_iter().find(|list| list.name() == name)?;
        Some((list, (!after.is_empty()).then(|| after.to_owned())))
    });
    parsed.ok_or_else(|| format!("`{page}` is no page of ours"))
}

/// Puts a value below the named members, which are made where they are missing.
fn place(object: &mut Map<String, Value>, path: &[&str], value: Value) {
    match path {
        [] => {}
        [last] => drop(object.insert((*last).to_owned(), value)),
        [first, rest @ ..] => {
            let below = object.entry(*first).or_insert_with(|| json!({}));
            if let Value::Object(below) = below {
                place(below, rest, value);
            }
        }
    }
}

/// Reads what a flow displays as.
pub(super) fn flow_key(text: &str) -> Result<FlowKey, String> {
    let parsed = || {
        let (protocol, ends) = text.split_once(' ')?;
        let (client, service) = ends.split_once(" > ")?;
        let protocol = match protocol {
            "tcp" => Protocol::TCP,
            "udp" => Protocol::UDP,
            _ => return None,
        };
        FlowKey::new(protocol, client.parse().ok()?, service.parse().ok()?).ok()
    };
    parsed().ok_or_else(|| format!("`{text}` is no flow"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_is_read_as_it_is_shown() {
        for text in ["tcp 192.0.2.10:40000 > 192.0.2.100:443", "udp [2001:db8::a]:1 > [2001:db8::1]:443"] {
            assert_eq!(flow_key(text).map(|key| key.to_string()), Ok(text.to_owned()));
        }
        assert!(flow_key("sctp 192.0.2.10:1 > 192.0.2.100:2").is_err());
    }

    #[test]
    fn a_page_names_its_list() {
        assert_eq!(cursor("flows:").unwrap(), (Long::Flows, None));
        assert_eq!(cursor("decisions:1-2").unwrap(), (Long::Decisions, Some("1-2".to_owned())));
        assert!(cursor("nonsense").is_err());
    }
}
