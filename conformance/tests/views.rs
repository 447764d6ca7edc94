//! What an operator sees of a metric agent and of the path selector that it tells, on one node: reports that are taken in,
//! in doubt or refused, and the alarms that stand. Instances report over HTTP with curl. Needs root.

use cats_conformance::Result;
use cats_conformance::command::{Outcome, outcome};
use cats_conformance::lab::Lab;
use cats_conformance::node::{AdministratorKey, Node, program};
use cats_conformance::pki::{Authority, NodeFiles};
use cats_conformance::server::Server;
use cats_conformance::wait::wait_for;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const INSTANCE: &str = "198.51.100.11";

struct Bed {
    node: Node,
    reporter: NodeFiles,
    /// Of the reporter: when it started.
    epoch: Duration,
    _lab: Lab,
}

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

impl Bed {
    /// A node that is path selector and metric agent; values that change too fast wait for an operator.
    fn start(name: &str) -> Result<Bed> {
        let lab = Lab::create(name)?;
        let authority = Authority::create(&lab.folder().join("pki"))?;
        let key = AdministratorKey::create(&lab, "admin-key")?;
        let host = Arc::new(lab.host("node")?);
        let mut node = Node::create(&lab, "node", host, "127.0.0.1:830", &key)?;
        node.start()?;
        let files = authority.issue("node", &["cats:sma:SMA-1", "cats:cps:C-PS-1"])?;
        let reporter = authority.issue("reporter", &[&format!("cats:csci:{INSTANCE}")])?;
        let bed = Bed { node, reporter, epoch: now(), _lab: lab };
        bed.succeed(&format!(
            "configure; set base enable true; set services service 1 name video address 192.0.2.100 \
             instance {INSTANCE} egress EF-1 locator {INSTANCE}; \
             set cats-system:system certificates authority {} certificate {} private-key {}; \
             set path-selector node-id C-PS-1 enabled true; \
             set metric-agent node-id SMA-1 enabled true collection listen address 127.0.0.1; \
             set metric-agent validation rate-of-change gas reaction quarantine within 3600000; commit",
            files.authority.display(),
            files.certificate.display(),
            files.private_key.display(),
        ))?;
        Ok(bed)
    }

    fn cats(&self, format: &str, commands: &str) -> Result<Outcome> {
        let socket = self.node.netconf_socket().display().to_string();
        outcome(&program("cats")?, &["--socket", &socket, "--format", format, "-c", commands])
    }

    fn succeed(&self, commands: &str) -> Result<String> {
        let outcome = self.cats("table", commands)?;
        assert_eq!(outcome.status.code(), Some(0), "{commands}: {outcome:?}");
        Ok(outcome.stdout)
    }

    /// Waits until a view shows all of these words, and gives it.
    fn shows(&self, view: &str, words: &[&str]) -> Result<String> {
        let mut last = String::new();
        let shown = wait_for(&format!("{words:?} in {view}"), || {
            last = self.cats("table", view).ok()?.stdout;
            words.iter().all(|word| last.contains(word)).then(|| last.clone())
        });
        shown.inspect_err(|_| eprintln!("{view}: {last}"))
    }

    /// Reports so many slots; the status that it is answered with. Without `proof` it does not say who it is.
    fn report(&self, sequence: u32, gas: u32, proof: bool) -> Result<String> {
        let report = format!(
            "{{\"kind\":\"full\",\"cause\":\"heartbeat\",\"cs-id\":1,\"csci-id\":\"{INSTANCE}\",\"epoch\":\"{}\",\
             \"sequence\":\"{sequence}\",\"timestamp\":\"{}\",\"gas\":{gas},\"computing-time\":5.2,\
             \"health\":\"healthy\"}}",
            self.epoch.as_nanos(),
            now().as_micros()
        );
        let (certificate, key) = (
            self.reporter.certificate.display().to_string(),
            self.reporter.private_key.display().to_string(),
        );
        let mut args = vec!["-sk", "--max-time", "5", "-o", "/dev/null", "-w", "%{http_code}"];
        args.extend(["-H", "content-type: application/json", "--data", &report]);
        if proof {
            args.extend(["--cert", &certificate, "--key", &key]);
        }
        args.push("https://127.0.0.1:7444/cats/v1/reports");
        Ok(self.node.host().outcome("curl", &args)?.stdout)
    }
}

/// Proves SMA-4, SMA-8, SMA-13.
#[test]
fn a_report_is_seen_at_its_agent_and_at_the_path_selector_or_waits_where_it_is_in_doubt() -> Result<()> {
    let bed = Bed::start("views-report")?;
    bed.shows(
        "show sma",
        &["Metric agent SMA-1", "listens on 127.0.0.1 port 7444", "none: no contact instance"],
    )?;
    bed.shows("show sma cache", &["No contact instance is known", "127.0.0.1"])?;
    wait_for("the listener", || (bed.report(1, 100, true).ok()? == "200").then_some(()))?;
    bed.shows(
        "show sma cache",
        &["Service 1 (video): 100 slots, 1 instance", INSTANCE, "5.2 ms", "discovered"],
    )?;
    bed.shows("show sma", &["video", "C-PS-1", "synchronised"])?;
    let table = bed.shows("show cst", &["Service 1 (video)", INSTANCE, "cats:sma:SMA-1", "selects"])?;
    assert!(table.contains("5.2 ms"), "{table}");
    assert_eq!(bed.report(2, 900, true)?, "422", "too fast to be believed");
    bed.shows("show sma quarantine", &["1 report waits", INSTANCE, "900", "slots changed too fast"])?;
    bed.shows("show sma cache service 1 instance 198.51.100.11", &["1 report in quarantine", "REPORTED"])?;
    bed.shows("show alarms", &["quarantine", "metric-agent", "reports in doubt wait for an operator: 1"])?;

    let json = bed.cats("json", "show sma quarantine")?;
    let document: serde_json::Value =
        serde_json::from_str(&json.stdout).unwrap_or_else(|error| panic!("{error}: {json:?}"));
    let report = &document["ietf-routing:routing"]["ietf-cats:cats"]["cats-sma:metric-agent"]["quarantine"]["report"]
        [0];
    assert_eq!((&report["cs-id"], &report["csci-id"]), (&1.into(), &INSTANCE.into()), "{document}");
    for view in ["show cst service video", "show sma cache video"] {
        bed.shows(view, &["Service 1 (video)", INSTANCE])?;
    }
    bed.shows("show sma service video", &["video", "C-PS-1"])?;
    let unknown = bed.cats("table", "show cst service vidoe")?;
    assert_eq!(unknown.status.code(), Some(2), "{unknown:?}");
    assert!(unknown.stderr.contains("did you mean `video`?"), "{unknown:?}");
    assert!(bed.succeed("show cst service 7")?.contains("Nothing is known"), "another service has no rows");
    Ok(())
}

/// Proves SMA-25, SMA-28.
#[test]
fn what_someone_should_act_on_stands_in_one_list() -> Result<()> {
    let bed = Bed::start("views-alarms")?;
    wait_for("the listener", || (bed.report(1, 100, true).ok()? == "200").then_some(()))?;
    bed.shows("show alarms", &["No alarm stands."])?;
    assert_eq!(bed.report(2, 100, false)?, "401", "it does not say who it is");
    bed.shows(
        "show alarms",
        &["authentication-failure", "metric-agent", "did not prove who they are (1 so far)"],
    )?;
    let key = bed.node.folder().join("nobody.key").display().to_string();
    bed.succeed(&format!(
        "configure; set metric-agent northbound path-selector C-PS-9 address 127.0.0.1 port 9 \
         signature key-id k file {key}; commit"
    ))?;
    bed.shows(
        "show alarms",
        &["path-selector-unreachable", "status[node-id='C-PS-9']", "unusable", "nobody.key"],
    )?;
    bed.succeed("configure; delete metric-agent northbound path-selector C-PS-9; commit")?;
    wait_for("the alarms to end", || {
        let shown = bed.cats("table", "show alarms").ok()?.stdout;
        (!shown.contains("C-PS-9") && !shown.contains("nobody.key")).then_some(())
    })
}

#[test]
fn an_engine_that_is_not_there_is_the_alarm_and_its_views_say_what_to_set() -> Result<()> {
    let server = Server::start("views-alone")?;
    let socket = server.node.netconf_socket().display().to_string();
    let show = |view: &str| outcome(&program("cats")?, &["--socket", &socket, "-c", view]);
    let alarms = show("show alarms")?.stdout;
    assert!(alarms.contains("cats-engined is not connected"), "{alarms}");
    assert!(show("show sma")?.stdout.contains("set metric-agent enabled true"));
    assert!(show("show cst")?.stdout.contains("set path-selector enabled true"));
    let help = show("help")?.stdout;
    assert!(help.contains("show sma quarantine"), "{help}");
    assert_eq!(show("show sm")?.status.code(), Some(1), "a script spells words out");
    Ok(())
}
