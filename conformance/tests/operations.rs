//! Operations on a node that carries traffic, over NETCONF and on the command line. Needs root.

use cats_conformance::Result;
use cats_conformance::command::{Outcome, outcome};
use cats_conformance::configuration::{Metric, cats, metrics};
use cats_conformance::deployment::AllInOne;
use cats_conformance::layout::{CLIENT, Links, SERVICE};
use cats_conformance::node::program;
use cats_conformance::service::{Connection, curl};
use cats_conformance::wait::wait_for;

const EXEC: &str = "urn:catsd:yang:cats-exec";

fn dry_run(more: &str) -> String {
    let (client, service) = (CLIENT[0], SERVICE[0]);
    format!(
        "<select-dry-run xmlns=\"{EXEC}\"><client>{client}</client><client-port>40000</client-port>\
         <destination>{service}</destination><port>443</port>{more}</select-dry-run>"
    )
}

/// The one-shot command line on the node.
fn cli(deployment: &AllInOne, commands: &str) -> Result<Outcome> {
    let socket = deployment.node.netconf_socket().display().to_string();
    outcome(&program("cats")?, &["--socket", &socket, "--format", "json", "-c", commands])
}

#[test]
fn a_dry_run_foretells_where_new_flows_go() -> Result<()> {
    let deployment = AllInOne::start("ops-dry-run", Links::default())?;
    let mut session = deployment.node.netconf()?;
    let told = session.succeed(&dry_run(""))?;
    assert!(told.contains("<csci-id>198.51.100.21</csci-id>"), "{told}");
    assert_eq!(curl(&deployment.hosts.client, SERVICE[0], &[])?, "B");
    let slow = Metric { computing_time: 60, ..Metric::B };
    deployment.node.configure(&cats(&metrics(Metric::A, slow)))?;
    let told = session.succeed(&dry_run("<max-candidates>1</max-candidates>"))?;
    assert!(
        told.contains("<selected xmlns=\"urn:catsd:yang:cats-exec\"><csci-id>198.51.100.11"),
        "what was committed holds: {told}"
    );
    assert_eq!(told.matches("<candidate").count(), 1, "{told}");
    wait_for("new flows to go to A", || {
        (curl(&deployment.hosts.client, SERVICE[0], &[]).ok()? == "A").then_some(())
    })
}

#[test]
fn a_flow_that_is_cleared_may_go_to_another_instance() -> Result<()> {
    let deployment = AllInOne::start("ops-clear", Links::default())?;
    let client = &deployment.hosts.client;
    let mut standing = Connection::open(client, SERVICE[0])?;
    assert_eq!(standing.ask()?, "B");
    let cleared = cli(&deployment, "request clear-bindings cs-id 1")?;
    assert_eq!(cleared.status.code(), Some(0), "{cleared:?}");
    let json: serde_json::Value = serde_json::from_str(&cleared.stdout).unwrap_or_default();
    // Flows that ended before may still have their bindings.
    assert!(json["cats-exec:cleared"].as_u64() >= Some(1), "{cleared:?}");
    let flows = "<routing xmlns=\"urn:ietf:params:xml:ns:yang:ietf-routing\"><cats \
                 xmlns=\"urn:ietf:params:xml:ns:yang:ietf-cats\"><path-selector xmlns=\"urn:catsd:yang:cats-cps\">\
                 <flows/></path-selector></cats></routing>";
    let mut session = deployment.node.netconf()?;
    wait_for("the binding to be gone", || {
        session.get(flows).ok()?.contains("<total>0</total>").then_some(())
    })?;
    assert_eq!(curl(client, SERVICE[0], &[])?, "B");
    Ok(())
}

#[test]
fn the_command_line_tells_what_is_wrong_with_a_request() -> Result<()> {
    let mut deployment = AllInOne::start("ops-cli", Links::default())?;
    let told = cli(
        &deployment,
        "request select-dry-run client 192.0.2.10 client-port 40000 destination 192.0.2.100 port 443",
    )?;
    let json: serde_json::Value = serde_json::from_str(&told.stdout).unwrap_or_default();
    assert_eq!(json["cats-exec:selected"]["csci-id"], "198.51.100.21", "{told:?}");
    let missing = cli(&deployment, "request select-dry-run client 192.0.2.10")?;
    assert_eq!(missing.status.code(), Some(2), "{missing:?}");
    assert!(missing.stderr.contains("/cats-exec:select-dry-run/client-port"), "{missing:?}");
    let usage = cli(&deployment, "request select-dry-run protocol sctp")?;
    assert_eq!(usage.status.code(), Some(1), "{usage:?}");
    assert!(usage.stderr.contains("\"udp\""), "what is expected: {usage:?}");
    deployment.node.kill("engined")?;
    let gone = wait_for("the engine to be missed", || {
        let told = cli(&deployment, "request clear-bindings all").ok()?;
        told.stderr.contains("start cats-engined").then_some(told)
    })?;
    assert_eq!(gone.status.code(), Some(2), "{gone:?}");
    Ok(())
}
