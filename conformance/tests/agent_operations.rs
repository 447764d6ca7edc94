//! What operators have a metric agent and its path selector do, over NETCONF and on the command line: reports in
//! quarantine, rules that are tried, views that are sent anew, and who may. Needs root.

use cats_conformance::command::{Outcome, outcome};
use cats_conformance::configuration::cats;
use cats_conformance::netconf::Session;
use cats_conformance::node::{AdministratorKey, Node, program};
use cats_conformance::server::{ADDRESS, PORT, Server};
use cats_conformance::sites::{AGENTS, Extent, Sites};
use cats_conformance::state::instances;
use cats_conformance::wait::wait_for;
use cats_conformance::{LabError, Result};
use serde_json::Value;

const REPORTER: &str = env!("CARGO_BIN_EXE_cats-report");
const EXEC: &str = "urn:catsd:yang:cats-exec";
const BASE: &str = "urn:ietf:params:xml:ns:netconf:base:1.0";
const WORD: &str = "open sesame";

/// A metric agent at which changes that are too fast wait for an operator, and its path selector.
fn start(name: &str) -> Result<Sites> {
    let sites = Sites::start(name, REPORTER, Extent::Metrics)?;
    sites.agents[0].configure(&cats(
        "<metric-agent xmlns=\"urn:catsd:yang:cats-sma\"><validation><rate-of-change><gas>\
         <reaction>quarantine</reaction><within>3600000</within></gas></rate-of-change></validation></metric-agent>",
    ))?;
    Ok(sites)
}

fn report(sites: &Sites, load: &[&str]) -> Result<()> {
    let proof = sites.certified(AGENTS[0]);
    let proof: Vec<&str> = proof.iter().map(String::as_str).collect();
    sites.report_by(0, &proof, &[load, &["--count", "1", "--ttl", "600"]].concat()).map(drop)
}

/// Reports of instances from the first on, of which each is in doubt, and waits.
fn doubt(sites: &Sites, count: &str) -> Result<()> {
    report(sites, &["--instances", count, "--gas", "300"])?;
    report(sites, &["--instances", count, "--gas", "3000"])
}

fn cli(node: &Node, commands: &str) -> Result<Outcome> {
    let socket = node.netconf_socket().display().to_string();
    outcome(&program("cats")?, &["--socket", &socket, "--format", "json", "-c", commands])
}

/// What a request on the command line answers.
fn request(node: &Node, operation: &str) -> Result<Value> {
    let told = cli(node, &format!("request {operation}"))?;
    assert_eq!(told.status.code(), Some(0), "{operation}: {told:?}");
    serde_json::from_str(&told.stdout).map_err(LabError::of(operation.to_owned()))
}

/// The numbers of the reports that wait.
fn waiting(agent: &Node) -> Result<Vec<String>> {
    let told = cli(agent, "show sma quarantine")?;
    let document: Value =
        serde_json::from_str(&told.stdout).map_err(LabError::of("reading the quarantine"))?;
    let agent = &document["ietf-routing:routing"]["ietf-cats:cats"]["cats-sma:metric-agent"];
    let reports = agent["quarantine"]["report"].as_array().cloned().unwrap_or_default();
    Ok(reports.iter().filter_map(|report| Some(report["id"].as_str()?.to_owned())).collect())
}

fn call(session: &mut Session, operation: &str, input: &str) -> Result<String> {
    session.call(&format!("<{operation} xmlns=\"{EXEC}\">{input}</{operation}>"))
}

/// Proves SMA-4: over NETCONF and on the command line, one by one, by service and instance, and all.
#[test]
fn reports_in_doubt_are_released_or_dropped_by_number_by_instance_or_all() -> Result<()> {
    let sites = start("agent-quarantine")?;
    let (agent, mut session) = (&sites.agents[0], sites.agents[0].netconf()?);
    doubt(&sites, "4")?;
    let ids = waiting(agent)?;
    assert_eq!(ids.len(), 4, "{ids:?}");
    let reply = call(
        &mut session,
        "release-quarantined",
        &format!("<report>{}</report><report>77</report>", ids[0]),
    )?;
    assert!(reply.contains("<done") && reply.contains(">1</"), "{reply}");
    assert!(reply.contains(">77</") && reply.contains("<reason"), "an unknown one is told: {reply}");
    let told = sites.until_told(0, "the values that were released", |told| {
        told.get("1 1000").is_some_and(|told| told["gas"] == "2400")
    })?;
    assert_eq!(told["1 1001"]["gas"], "240", "the others wait: {told:?}");

    let dropped = request(agent, "drop-quarantined cs-id 1 csci-id 1001")?;
    assert_eq!(
        (&dropped["cats-exec:done"], &dropped["cats-exec:more"]),
        (&1.into(), &false.into()),
        "{dropped}"
    );
    let again = request(agent, &format!("drop-quarantined report {}", ids[1]))?;
    assert_eq!(again["cats-exec:done"], 0, "{again}");
    assert_eq!(again["cats-exec:refused"][0]["report"], ids[1].as_str(), "{again}");
    let all = request(agent, "release-quarantined all")?;
    assert_eq!(all["cats-exec:done"], 2, "{all}");
    sites.until_told(0, "all but the one that was dropped", |told| {
        let gas: Vec<&str> = told.values().map(|told| told["gas"].as_str()).collect();
        gas == ["2400", "240", "2400", "2400"]
    })?;
    assert!(waiting(agent)?.is_empty());
    assert_eq!(instances(agent)?["1 1001"]["gas"], "300");
    Ok(())
}

/// Proves SMA-15.
#[test]
fn rules_are_tried_on_what_is_known_before_they_are_committed() -> Result<()> {
    let sites = start("agent-rules")?;
    let (agent, mut session) = (&sites.agents[0], sites.agents[0].netconf()?);
    report(&sites, &["--instances", "3", "--gas", "300"])?;
    sites.until_told(0, "three instances", |told| told.len() == 3)?;
    let rule = |text: &str| {
        format!(
            "<rule><name>cap</name><priority>1</priority><text>{}</text></rule>",
            text.replace('>', "&gt;")
        )
    };
    let reply = call(&mut session, "policy-dry-run", &rule("IF GAS > 100 THEN CAP GAS AT 100"))?;
    for (leaf, value) in [("tried", 3), ("changed", 3), ("fires", 3)] {
        assert!(
            reply.contains(&format!("<{leaf}")) && reply.contains(&format!(">{value}</{leaf}>")),
            "{reply}"
        );
    }
    let one = request(
        agent,
        "policy-dry-run rule cap priority 1 text \"IF GAS > 100 THEN CAP GAS AT 100\" instance cs-id 1 csci-id 1001",
    )?;
    assert_eq!(one["cats-exec:rule"][0]["test"][0]["holds"], true, "{one}");
    let told = sites.until_equal(0)?;
    assert!(told.values().all(|told| told["gas"] == "240"), "nothing was done: {told:?}");

    let wrong = call(&mut session, "policy-dry-run", &rule("IF Site_GSA > 100 THEN CAP GAS AT 100"))?;
    for part in ["invalid-value", "rule[", "Site_GAS"] {
        assert!(wrong.contains(part), "{part}: {wrong}");
    }
    let unknown = cli(agent, "request policy-dry-run instance cs-id 1 csci-id 7")?;
    assert_eq!(unknown.status.code(), Some(2), "{unknown:?}");
    assert!(
        unknown.stderr.contains("data-missing") && unknown.stderr.contains("no metrics of instance 7"),
        "{unknown:?}"
    );
    Ok(())
}

/// Proves SMA-13, SMA-23: at either end, of one node or of all.
#[test]
fn the_whole_view_is_sent_anew_when_an_operator_of_either_end_asks() -> Result<()> {
    let sites = start("agent-synchronise")?;
    let (agent, selector) = (&sites.agents[0], &sites.selector);
    // By itself it sends the whole view no more.
    agent.configure(&cats(
        "<metric-agent xmlns=\"urn:catsd:yang:cats-sma\"><cache><valid-for>4000</valid-for></cache>\
         <northbound><snapshot-interval>3600</snapshot-interval></northbound></metric-agent>",
    ))?;
    report(&sites, &["--instances", "3"])?;
    sites.until_told(0, "three instances", |told| told.len() == 3)?;
    let snapshots = || -> Result<u64> {
        let text = selector.netconf()?.get(&cats(
            "<path-selector xmlns=\"urn:catsd:yang:cats-cps\"><agents><status><node-id>C-SMA-1</node-id><statistics>\
             <snapshots/></statistics></status></agents></path-selector>",
        ))?;
        let number =
            text.split_once("<snapshots>").and_then(|(_, rest)| rest.split('<').next()?.parse().ok());
        Ok(number.unwrap_or_default())
    };
    for (node, words) in [
        (agent, "path-selector C-PS-1"),
        (agent, "all"),
        (selector, "metric-agent C-SMA-1"),
        (selector, "all"),
    ] {
        let before = snapshots()?;
        let begun = request(node, &format!("synchronise {words}"))?;
        assert_eq!(begun["cats-exec:peer"][0]["begun"], true, "{words}: {begun}");
        wait_for("another whole view", || (snapshots().ok()? > before).then_some(()))?;
    }
    for (node, input, tag) in [
        (agent, "<path-selector>C-PS-9</path-selector>", "data-missing"),
        (selector, "<metric-agent>C-SMA-9</metric-agent>", "data-missing"),
        (selector, "<path-selector>C-PS-1</path-selector>", "operation-not-supported"),
        (agent, "<metric-agent>C-SMA-1</metric-agent>", "operation-not-supported"),
    ] {
        let reply = call(&mut node.netconf()?, "synchronise", input)?;
        assert!(
            reply.contains(&format!("<error-tag>{tag}</error-tag>")),
            "{input} at {}: {reply}",
            node.name()
        );
    }
    for operation in ["release-quarantined all", "drop-quarantined all", "policy-dry-run"] {
        let told = cli(selector, &format!("request {operation}"))?;
        assert_eq!(told.status.code(), Some(2), "{operation}: {told:?}");
        assert!(told.stderr.contains("no metric agent"), "{operation}: {told:?}");
    }
    Ok(())
}

/// Whoever has no rule for it changes nothing of what is believed.
#[test]
fn only_whom_access_control_permits_releases_and_drops_reports() -> Result<()> {
    let lab = cats_conformance::lab::Lab::create("agent-access")?;
    let key = AdministratorKey::create(&lab, "admin-key")?;
    let host = std::sync::Arc::new(lab.host("node")?);
    let mut node = Node::create(&lab, "server", host, &format!("{ADDRESS}:{PORT}"), &key)?;
    node.start()?;
    let server = Server { node, key, lab };
    let ada = |rules: &str| {
        format!(
            "<system xmlns=\"urn:ietf:params:xml:ns:yang:ietf-system\"><authentication>\
             <user-authentication-order>local-users</user-authentication-order>\
             <user><name>ada</name><password>$0${WORD}</password></user></authentication></system>\
             <nacm xmlns=\"urn:ietf:params:xml:ns:yang:ietf-netconf-acm\">\
             <groups><group><name>operators</name><user-name>ada</user-name></group></groups>\
             <rule-list><name>operators</name><group>operators</group>{rules}</rule-list></nacm>"
        )
    };
    let rule = |operation: &str, action: &str| {
        format!(
            "<rule><name>{operation}</name><module-name>cats-exec</module-name><rpc-name>{operation}</rpc-name>\
             <access-operations>exec</access-operations><action>{action}</action></rule>"
        )
    };
    let agent = cats(
        "<base><enable>true</enable></base><metric-agent xmlns=\"urn:catsd:yang:cats-sma\"><node-id>C-SMA-1</node-id><enabled>true</enabled></metric-agent>",
    );
    server.node.configure(&(agent + &ada("")))?;
    let operations =
        ["release-quarantined", "drop-quarantined", "policy-dry-run", "synchronise"].map(|name| {
            let input = if name == "policy-dry-run" { "" } else { "<all/>" };
            format!("<{name} xmlns=\"{EXEC}\">{input}</{name}>")
        });
    let denied = |server: &Server| -> Result<[bool; 4]> {
        let hello = format!(
            "<hello xmlns=\"{BASE}\"><capabilities><capability>urn:ietf:params:netconf:base:1.0</capability>\
             </capabilities></hello>]]>]]>"
        );
        let rpc = |(operation, id): (&String, u32)| {
            format!("<rpc xmlns=\"{BASE}\" message-id=\"{id}\">{operation}</rpc>]]>]]>")
        };
        let script = operations.iter().zip(1..).map(rpc).fold(hello, |all, message| all + &message);
        let told = server.ssh_with_word("ada", WORD, &[], script.as_bytes())?;
        let replies: Vec<&str> = told.stdout.split("]]>]]>").skip(1).collect();
        assert!(replies.len() > 4, "{told:?}");
        Ok([0, 1, 2, 3].map(|at| replies[at].contains("<error-tag>access-denied</error-tag>")))
    };
    wait_for("the engine to have the role", || {
        let told = cli(&server.node, "request policy-dry-run").ok()?;
        (told.status.code() == Some(0)).then_some(())
    })?;
    assert_eq!(denied(&server)?, [true, true, false, false]);
    server.node.configure(&ada(&(rule("drop-quarantined", "permit") + &rule("synchronise", "deny"))))?;
    assert_eq!(denied(&server)?, [true, false, false, true]);
    Ok(())
}
