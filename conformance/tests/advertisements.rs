//! What a metric agent tells a path selector, from outside: by requests of HTTP that somebody else's agent makes, and by a
//! secret in the place of a key pair. Needs root.

use cats_conformance::command::Outcome;
use cats_conformance::configuration::cats;
use cats_conformance::layout::SELECTOR;
use cats_conformance::pki::NodeFiles;
use cats_conformance::reporter::{SigningAlgorithm, detached_signature};
use cats_conformance::sites::{Extent, Sites};
use cats_conformance::state::{Metrics, heard_of};
use cats_conformance::wait::wait_for;
use cats_conformance::{LabError, Result};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

const REPORTER: &str = env!("CARGO_BIN_EXE_cats-report");

/// The agent that is none of ours.
const STRANGE: &str = "C-SMA-9";

fn start(name: &str) -> Result<Sites> {
    Sites::start(name, REPORTER, Extent::Metrics)
}

/// Has the path selector know an agent by a key.
fn authorise(sites: &Sites, agent: &str, (id, algorithm, file): (&str, &str, &Path)) -> Result<()> {
    sites.selector.configure(&cats(&format!(
        "<path-selector xmlns=\"urn:catsd:yang:cats-cps\"><agent><node-id>{agent}</node-id><key><id>{id}</id>\
         <algorithm>{algorithm}</algorithm><file>{}</file></key></agent></path-selector>",
        file.display()
    )))
}

fn secret(sites: &Sites, name: &str) -> Result<PathBuf> {
    let file = PathBuf::from(sites.pki(name));
    std::fs::write(&file, format!("{name}: a secret of thirty-two octets or more\n"))
        .map_err(LabError::of("writing a secret"))?;
    Ok(file)
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

fn record(csci_id: u32, gas: u32) -> Value {
    json!({
        "cs-id": 1, "csci-id": csci_id, "gas": gas, "computing-time": 5, "health": "healthy",
        "taken": now().to_string(), "valid-for": 600_000,
    })
}

fn advertisement(sequence: u64, content: (&str, Value)) -> Value {
    let mut said = json!({
        "agent": STRANGE, "epoch": "1", "sequence": sequence.to_string(), "since": (sequence - 1).to_string(),
        "timestamp": now().to_string(),
    });
    said[content.0] = content.1;
    said
}

/// An agent that speaks by curl.
struct Strange<'a> {
    sites: &'a Sites,
    files: NodeFiles,
    /// What it signs with.
    key: (&'static str, SigningAlgorithm, PathBuf),
}

impl Strange<'_> {
    fn curl(&self, path: &str, options: &[&str]) -> Result<(String, String)> {
        let url = format!("https://{}:7443/cats/v1/advertisements{path}", SELECTOR.management);
        let NodeFiles { certificate, private_key, .. } = &self.files;
        let (certificate, key) = (certificate.display().to_string(), private_key.display().to_string());
        let own = ["-sk", "--max-time", "5", "--noproxy", "*", "--cert", &certificate, "--key", &key];
        let shown = ["-D", "-", "-w", "\n%{http_code}", &url];
        let Outcome { stdout, .. } =
            self.sites.hosts.agents[1].outcome("curl", &[&own[..], options, &shown].concat())?;
        let (text, status) = stdout.rsplit_once('\n').unwrap_or_default();
        Ok((status.to_owned(), text.to_owned()))
    }

    /// Says something; the status that it is answered with, and the answer.
    fn say(&self, said: &Value) -> Result<(String, String)> {
        let (id, algorithm, file) = &self.key;
        let body = said.to_string();
        let signature = detached_signature(file, *algorithm, id, body.as_bytes())?;
        self.send(&body, Some(&signature))
    }

    fn send(&self, body: &str, signature: Option<&str>) -> Result<(String, String)> {
        let signature = signature.map(|signature| format!("cats-signature: {signature}"));
        let mut options = vec!["-H", "content-type: application/json", "--data-binary", body];
        options.extend(signature.iter().flat_map(|header| ["-H", header]));
        self.curl("", &options)
    }

    /// What is held of it, with its tag.
    fn held(&self, known: Option<&str>) -> Result<(String, String, String)> {
        let known = known.map(|tag| format!("if-none-match: {tag}"));
        let options: Vec<&str> = known.iter().flat_map(|header| ["-H", header]).collect();
        let (status, text) = self.curl(&format!("/{STRANGE}"), &options)?;
        let tag = text.lines().find_map(|line| {
            Some(line.split_once(": ")?).filter(|(name, _)| name.eq_ignore_ascii_case("etag"))
        });
        let tag = tag.map(|(_, tag)| tag.trim().to_owned()).unwrap_or_default();
        Ok((status, tag, text))
    }
}

/// The slots of each instance that the path selector has heard of.
fn heard(sites: &Sites) -> Result<Vec<String>> {
    let metrics: Metrics = heard_of(&sites.selector, STRANGE)?;
    Ok(metrics.iter().map(|(key, told)| format!("{key}: {}", told["gas"])).collect())
}

/// Proves SMA-13, SMA-20, SMA-23, CP-27: with the same meaning as over the stream, and read again by its tag.
#[test]
fn an_agent_publishes_updates_withdraws_and_reads_what_is_held_by_signed_requests() -> Result<()> {
    let sites = start("advertisements-http")?;
    let pair = sites.authority.signing_key(STRANGE)?;
    authorise(&sites, STRANGE, ("pair", "ed25519", &pair.public))?;
    let shared = secret(&sites, "strange.secret")?;
    authorise(&sites, STRANGE, ("secret", "hmac-sha256", &shared))?;
    let files = sites.authority.issue(STRANGE, &[&format!("cats:sma:{STRANGE}")])?;
    let mut agent = Strange { sites: &sites, files, key: ("pair", SigningAlgorithm::Ed25519, pair.private) };

    wait_for("the path selector to know the agent", || (agent.held(None).ok()?.0 == "404").then_some(()))?;
    let (status, wants) = agent.say(&advertisement(1, ("refresh", json!({}))))?;
    assert_eq!(status, "409", "the whole view is wanted first: {wants}");
    assert!(wants.contains("synchronise"), "{wants}");
    let all = json!({ "part": 0, "last": true, "records": [record(1, 100), record(2, 200)] });
    let first = advertisement(2, ("snapshot", all));
    let (status, answer) = agent.say(&first)?;
    assert_eq!(status, "200", "{answer}");
    assert_eq!(heard(&sites)?, ["1 1: 100", "1 2: 200"]);
    let (status, tag, text) = agent.held(None)?;
    assert!(status == "200" && text.contains("\"gas\":200"), "{status} {text}");
    assert_eq!(agent.held(Some(&tag))?.0, "304");

    // By the secret from now on.
    agent.key = ("secret", SigningAlgorithm::HmacSha256, shared);
    let update = json!({ "records": [record(1, 50)] });
    assert_eq!(agent.say(&advertisement(3, ("delta", update)))?.0, "200");
    let gone = json!({ "withdrawals": [{ "cs-id": 1, "csci-id": 2, "reason": "removed" }] });
    assert_eq!(agent.say(&advertisement(4, ("delta", gone)))?.0, "200");
    assert_eq!(heard(&sites)?, ["1 1: 50"]);
    assert_eq!(agent.held(Some(&tag))?.0, "200", "what is held is another thing now");

    // Nothing of this changes anything: a repetition, what is an hour off, another's name, no signature, another one's.
    let later = ("delta", json!({ "records": [record(1, 1)] }));
    let mut old = advertisement(5, later.clone());
    old["timestamp"] = json!((now() - 3_600_000_000).to_string());
    let mut foreign = advertisement(5, later.clone());
    foreign["agent"] = json!("C-SMA-1");
    let body = advertisement(5, later).to_string();
    let other = sites.authority.signing_key("another")?;
    let by_other = detached_signature(&other.private, SigningAlgorithm::Ed25519, "pair", body.as_bytes())?;
    agent.say(&first)?;
    agent.say(&old)?;
    assert_eq!(agent.say(&foreign)?.0, "403");
    assert_eq!(agent.send(&body, None)?.0, "401");
    assert_eq!(agent.send(&body, Some(&by_other))?.0, "401");
    assert_eq!(heard(&sites)?, ["1 1: 50"]);
    Ok(())
}

/// Proves SMA-13, SMA-20: the stream of an agent that shares a secret with the path selector.
#[test]
fn an_agent_may_sign_by_a_secret_that_it_shares_with_the_path_selector() -> Result<()> {
    let sites = start("advertisements-secret")?;
    let _reports = sites.report(0, &["--rate", "4"])?;
    sites.until_equal(0)?;
    let shared = secret(&sites, "shared.secret")?;
    sites.agents[0].configure(&cats(&format!(
        "<metric-agent xmlns=\"urn:catsd:yang:cats-sma\"><northbound><path-selector><node-id>C-PS-1</node-id><signature>\
         <key-id>shared</key-id><algorithm>hmac-sha256</algorithm><file>{}</file></signature></path-selector>\
         </northbound></metric-agent>",
        shared.display()
    )))?;
    wait_for("what nobody can verify to be no longer believed", || {
        let left = cats_conformance::state::believed_for(&sites.selector, "C-SMA-1").ok()?;
        (left.unwrap_or_default() == 0).then_some(())
    })?;
    authorise(&sites, "C-SMA-1", ("shared", "hmac-sha256", &shared))?;
    wait_for("what is signed by the secret to be believed", || {
        (cats_conformance::state::believed_for(&sites.selector, "C-SMA-1").ok()?? > 0).then_some(())
    })?;
    sites.until_equal(0)?;
    Ok(())
}
