//! What a NETCONF client hears by YANG-Push of what contact instances report: at the metric agent, and at the path selector
//! that the agent tells. Needs root.

use cats_conformance::configuration::cats;
use cats_conformance::netconf::Session;
use cats_conformance::node::Node;
use cats_conformance::sites::{Extent, Sites};
use cats_conformance::{LabError, Result};
use roxmltree::{Document, Node as Element};
use std::time::{Duration, Instant};

const REPORTER: &str = env!("CARGO_BIN_EXE_cats-report");

/// How long it may take from a report to who subscribed, on a loaded machine.
const BOUND: Duration = Duration::from_secs(20);

/// The cache of a metric agent.
const INSTANCES: &str = "<metric-agent xmlns=\"urn:catsd:yang:cats-sma\"><instances/></metric-agent>";

/// What the path selector has of instances.
const SERVICE_TABLE: &str =
    "<path-selector xmlns=\"urn:catsd:yang:cats-cps\"><service-table/></path-selector>";

/// A client that is told of a part of `<operational>` when it changes.
struct Subscriber(Session);

impl Subscriber {
    fn to(node: &Node, part: &str) -> Result<Subscriber> {
        let mut session = node.netconf()?;
        let filter = format!(
            "<routing xmlns=\"urn:ietf:params:xml:ns:yang:ietf-routing\">\
             <cats xmlns=\"urn:ietf:params:xml:ns:yang:ietf-cats\">{part}</cats></routing>"
        );
        let reply = session.succeed(&format!(
            "<establish-subscription xmlns=\"urn:ietf:params:xml:ns:yang:ietf-subscribed-notifications\" \
             xmlns:yp=\"urn:ietf:params:xml:ns:yang:ietf-yang-push\">\
             <yp:datastore xmlns:ds=\"urn:ietf:params:xml:ns:yang:ietf-datastores\">ds:operational</yp:datastore>\
             <yp:datastore-subtree-filter>{filter}</yp:datastore-subtree-filter><yp:on-change/></establish-subscription>"
        ))?;
        assert!(reply.contains("<id"), "{reply}");
        let mut subscriber = Subscriber(session);
        subscriber.hears("all that there is", |notification| notification.contains("<push-update"))?;
        Ok(subscriber)
    }

    /// Waits for a notification.
    fn hears(&mut self, what: &str, is_it: impl Fn(&str) -> bool) -> Result<String> {
        let (since, mut last) = (Instant::now(), String::new());
        while since.elapsed() < BOUND {
            last = self.0.receive()?;
            if is_it(&last) {
                return Ok(last);
            }
        }
        Err(LabError::new(format!("waiting to hear of {what}"), last))
    }

    /// Waits until a change is told that has this value in a node of this name; gives when it was.
    fn hears_of(&mut self, node: &str, value: &str) -> Result<Instant> {
        self.hears(&format!("{node} {value}"), |notification| {
            let Ok(document) = Document::parse(notification) else { return false };
            let mut all = document.root_element().descendants();
            let changed = all.any(|element| element.has_tag_name(name("push-change-update")));
            changed && document.root_element().descendants().any(|element| has(element, node, value))
        })?;
        Ok(Instant::now())
    }
}

fn name(local: &str) -> (&'static str, &str) {
    ("urn:ietf:params:xml:ns:yang:ietf-yang-push", local)
}

fn has(element: Element<'_, '_>, node: &str, value: &str) -> bool {
    element.tag_name().name() == node && element.text() == Some(value)
}

/// Proves SMA-13, DESIGN: what an instance reports, what the agent makes of it and what the path selector has of it comes
/// by YANG-Push to who subscribed to it on change.
#[test]
fn a_subscriber_hears_of_a_report_at_the_agent_and_at_the_path_selector() -> Result<()> {
    let sites = Sites::start("subscribers", REPORTER, Extent::Metrics)?;
    let mut at_agent = Subscriber::to(&sites.agents[0], INSTANCES)?;
    let mut at_selector = Subscriber::to(&sites.selector, SERVICE_TABLE)?;
    let first = sites.report(0, &["--rate", "2", "--gas", "300"])?;
    at_agent.hears_of("gas", "300")?;
    at_selector.hears_of("gas", "240")?;
    drop(first);
    // A little more is not told on at once, and is in the cache at once.
    let second = sites.report(0, &["--rate", "2", "--gas", "301"])?;
    at_agent.hears_of("gas", "301")?;
    drop(second);
    at_agent.hears_of("state", "STALE")?;
    at_selector.hears_of("gas", "0")?;
    let read = sites.agents[0].netconf()?.get(&cats(INSTANCES))?;
    assert!(read.contains(">301<"), "{read}");
    Ok(())
}
