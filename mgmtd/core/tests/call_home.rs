//! Clients that are called, and TLS: the alarms that stand while they cannot be reached, or it is not served.

#![allow(clippy::unwrap_used)] // tests

mod node;

use cats_mgmtd_core::{Alarm, Called};
use node::Node;

fn called(client: &str, unreachable: bool, why: &str) -> Called {
    Called {
        client: client.to_owned(),
        stage: "waiting",
        since_us: 0,
        endpoint: None,
        remote: None,
        connections: 0,
        failed: 3,
        last_error: Some((why.to_owned(), 1)),
        unreachable,
    }
}

fn cannot_call(client: &str, reason: &str) -> Alarm {
    Alarm::CannotCall { client: client.to_owned(), reason: reason.to_owned() }
}

#[test]
fn an_alarm_stands_for_each_client_that_cannot_be_reached_and_stays_the_same_while_its_reasons_change() {
    let mut node = Node::new();
    let now = node.now;
    node.core.handle_call_home(vec![called("a", true, "refused"), called("b", false, "lost")], now);
    assert_eq!(node.alarms(), [cannot_call("a", "refused")]);
    node.core.handle_call_home(vec![called("a", true, "no route"), called("b", true, "lost")], now);
    assert_eq!(node.alarms(), [cannot_call("a", "refused"), cannot_call("b", "lost")]);
    node.core.handle_call_home(vec![called("b", true, "lost")], now);
    assert_eq!(node.alarms(), [cannot_call("b", "lost")]);
    let place = "/ietf-routing:routing/ietf-cats:cats/cats-system:system/call-home/client[name='b']";
    assert_eq!(node.alarms()[0].resource(), place);
    node.core.handle_call_home(vec![called("b", false, "lost")], now);
    assert_eq!(node.alarms(), []);
}

#[test]
fn an_alarm_stands_while_tls_is_not_served_beside_those_of_clients() {
    let mut node = Node::new();
    let now = node.now;
    node.core.handle_call_home(vec![called("a", true, "refused")], now);
    node.core.handle_tls(Some("no key".to_owned()), now);
    let failed = Alarm::TlsFailed { reason: "no key".to_owned() };
    assert_eq!(node.alarms(), [cannot_call("a", "refused"), failed]);
    node.core.handle_tls(None, now);
    assert_eq!(node.alarms(), [cannot_call("a", "refused")]);
}
