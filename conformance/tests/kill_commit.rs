//! Daemons killed in the midst of commits: afterwards the network does what running says, whichever commit that
//! came from. Needs root.

use cats_conformance::Result;
use cats_conformance::configuration::{Metric, cats, metrics};
use cats_conformance::deployment::FourNodes;
use cats_conformance::layout::{INSTANCE_A, Links, SERVICE};
use cats_conformance::node::Node;
use cats_conformance::service::{Connection, curl};
use cats_conformance::wait::wait_for;

/// A configuration, and who serves new flows with it, if anybody.
struct Shape {
    config: String,
    served_by: Option<&'static str>,
}

/// Kills a daemon while commits alternate between two shapes, once soon after they began and once later. Running
/// under `filter` has the text `mark` when the first shape was the last one. Established flows must never falter:
/// one is opened to B before B gets the metric `b`.
fn kill_amid_commits(
    name: &str,
    victim: impl Fn(&mut FourNodes) -> &mut Node,
    daemon: &str,
    (filter, mark): (&str, &str),
    b: Metric,
    shapes: [Shape; 2],
) -> Result<()> {
    let mut deployment = FourNodes::start(name, Links::default())?;
    let mut standing = Connection::open(&deployment.hosts.client, SERVICE[0])?;
    assert_eq!(standing.ask()?, "B");
    deployment.selector.configure(&cats(&metrics(Metric::A, b)))?;
    let [first, second] = &shapes;
    for (replies, [odd, even]) in [(1, [first, second]), (6, [second, first])] {
        let node = victim(&mut deployment);
        let mut session = node.netconf()?;
        for shape in [odd, even, odd, even, odd] {
            session.send(&format!(
                "<edit-config><target><candidate/></target><config>{}</config></edit-config>",
                shape.config
            ))?;
            session.send("<commit/>")?;
        }
        for _ in 0..replies {
            session.receive()?;
        }
        node.kill(daemon)?;
        assert_eq!(standing.ask()?, "B", "while the daemon is down");
        let node = victim(&mut deployment);
        if daemon == "mgmtd" {
            node.start_mgmtd()?;
        } else {
            // Commits go on without the engine; it is brought up to date when it is back.
            for _ in replies..10 {
                let reply = session.receive()?;
                assert!(reply.contains("ok/>"), "{reply}");
            }
            node.start_engined()?;
        }
        let running = node.netconf()?.running(filter)?;
        let shape = if running.contains(mark) { first } else { second };
        wait_for(&format!("new flows to be served by {:?}", shape.served_by), || {
            let answer = curl(&deployment.hosts.client, SERVICE[0], &["--max-time", "2"]).ok();
            (answer.as_deref() == shape.served_by).then_some(())
        })?;
        assert_eq!(standing.ask()?, "B", "after the restart");
    }
    Ok(())
}

fn forwarder(inner: &str) -> String {
    cats(&format!("<forwarder xmlns=\"urn:catsd:yang:cats-forwarder\">{inner}</forwarder>"))
}

/// With one segment at most no path can be imposed; with ten all can.
fn ingress(daemon: &str) -> Result<()> {
    let shape = |most: u8, served_by| {
        let config = forwarder(&format!("<ingress><max-segments>{most}</max-segments></ingress>"));
        Shape { config, served_by }
    };
    kill_amid_commits(
        &format!("kill-ingress-{daemon}"),
        |all| &mut all.ingress,
        daemon,
        (&forwarder("<ingress><max-segments/></ingress>"), "<max-segments>1</max-segments>"),
        Metric::B,
        [shape(1, None), shape(10, Some("B"))],
    )
}

/// With and without the delivery of A, which is preferred here; without it B takes the new flows.
fn egress(daemon: &str) -> Result<()> {
    let delivery = |attribute: &str, inner: &str| {
        forwarder(&format!(
            "<egress><delivery{attribute}><csci-id>{}</csci-id>{inner}</delivery></egress>",
            INSTANCE_A[0]
        ))
    };
    let remove = " xmlns:nc=\"urn:ietf:params:xml:ns:netconf:base:1.0\" nc:operation=\"remove\"";
    let with = INSTANCE_A.map(|address| format!("<locator><address>{address}</address></locator>")).concat();
    kill_amid_commits(
        &format!("kill-egress-{daemon}"),
        |all| &mut all.egresses[0],
        daemon,
        (&forwarder("<egress><delivery/></egress>"), "<delivery>"),
        Metric { computing_time: 60, ..Metric::B },
        [
            Shape { config: delivery("", &with), served_by: Some("A") },
            Shape { config: delivery(remove, ""), served_by: Some("B") },
        ],
    )
}

#[test]
fn an_ingress_whose_management_daemon_dies_amid_commits_does_what_running_says() -> Result<()> {
    ingress("mgmtd")
}

#[test]
fn an_ingress_whose_engine_dies_amid_commits_does_what_running_says() -> Result<()> {
    ingress("engined")
}

#[test]
fn an_egress_whose_management_daemon_dies_amid_commits_does_what_running_says() -> Result<()> {
    egress("mgmtd")
}

#[test]
fn an_egress_whose_engine_dies_amid_commits_does_what_running_says() -> Result<()> {
    egress("engined")
}

fn selector(daemon: &str) -> Result<()> {
    let shape = |computing_time: u32, served_by| {
        let b = Metric { computing_time, ..Metric::B };
        Shape { config: cats(&metrics(Metric::A, b)), served_by: Some(served_by) }
    };
    kill_amid_commits(
        &format!("kill-selector-{daemon}"),
        |all| &mut all.selector,
        daemon,
        (&cats("<service-metrics/>"), ">60.0<"),
        Metric::B,
        [shape(60, "A"), shape(5, "B")],
    )
}

#[test]
fn a_path_selector_whose_management_daemon_dies_amid_commits_does_what_running_says() -> Result<()> {
    selector("mgmtd")
}

#[test]
fn a_path_selector_whose_engine_dies_amid_commits_does_what_running_says() -> Result<()> {
    selector("engined")
}
