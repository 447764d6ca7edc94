//! Three sites, each with a metric agent of its own: an instance behind an egress, and the agent that is told of it and
//! tells the path selector. The ingress and the path selector are those of section 14.
//!
//! ```text
//!            access        core                    core      site
//!   client ──────── IF-1 ──────── T (transit) ┬─────────── EF-1 ──── A 198.51.100.11     C-SMA-1
//! 192.0.2.10    192.0.2.1                     ├─────────── EF-2 ──── B 198.51.100.21     C-SMA-2
//!                                             └─────────── EF-3 ──── C 198.51.100.35     C-SMA-3
//!                    └─ C-PS-1, IF-1, EF-1..3 and C-SMA-1..3 on a management network ─┘
//! ```

mod configuration;
mod hosts;

pub use configuration::{CACHE_LIFE, TTL};
pub use hosts::{AGENTS, EGRESSES, Hosts, INSTANCES, Site};

use crate::command::{Background, run_with_input};
use crate::lab::Lab;
use crate::layout::{INGRESS, Place, SELECTOR, SERVICE};
use crate::node::{AdministratorKey, Node};
use crate::pki::{Authority, NodeFiles};
use crate::state::{Metrics, heard_of, told_by};
use crate::wait::wait_for;
use crate::{LabError, Result, service};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

/// Instances that may report at each site: the one that serves is the first.
pub const MANY: u32 = 150;

/// NETCONF's port over SSH.
const SSH_PORT: u16 = 830;

/// Running sites.
#[derive(Debug)]
pub struct Sites {
    /// C-PS-1.
    pub selector: Node,
    /// C-SMA-1 to C-SMA-3.
    pub agents: Vec<Node>,
    /// IF-1, then EF-1 to EF-3.
    pub forwarders: Vec<Node>,
    /// The servers of A, B and C.
    pub servers: Vec<Background>,
    /// The hosts.
    pub hosts: Hosts,
    /// The authority that issued the certificates.
    pub authority: Authority,
    /// The lab.
    pub lab: Lab,
    /// The program that reports.
    reporter: PathBuf,
}

/// How much of the sites is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Everything.
    All,
    /// C-PS-1 and C-SMA-1 alone, which forward nothing.
    Metrics,
}

impl Sites {
    /// Lays out, starts and configures the sites. Nothing is reported yet. `reporter` is the program `cats-report`.
    pub fn start(name: &str, reporter: &str, extent: Extent) -> Result<Sites> {
        let lab = Lab::create(name)?;
        let authority = Authority::create(&lab.folder().join("pki"))?;
        let key = AdministratorKey::create(&lab, "admin-key")?;
        let hosts = Hosts::create(&lab)?;
        let (forwarding, sites) = if extent == Extent::All { (1 + EGRESSES.len(), 3) } else { (0, 1) };
        let egresses = EGRESSES.into_iter().zip(&hosts.egresses);
        let forwarders = [(INGRESS, &hosts.ingress)].into_iter().chain(egresses).take(forwarding);
        let agents = AGENTS.into_iter().zip(&hosts.agents).take(sites);
        let mut nodes = Vec::new();
        for (place, host) in [(SELECTOR, &hosts.selector)].into_iter().chain(forwarders).chain(agents) {
            let ssh = format!("{}:{SSH_PORT}", place.management);
            nodes.push(Node::create(&lab, place.name, Arc::clone(host), &ssh, &key)?);
        }
        start_together(&mut nodes)?;
        let agents = nodes.split_off(1 + forwarding);
        let forwarders = nodes.split_off(1);
        let selector =
            nodes.pop().ok_or_else(|| LabError::new("starting the sites", "there is no selector"))?;
        let mut servers = Vec::new();
        for (instance, host) in INSTANCES.iter().zip(&hosts.instances).take(forwarding) {
            servers.push(service::start_instance(&lab, host, instance.name, &[instance.address])?);
        }
        let reporter = PathBuf::from(reporter);
        let sites = Sites { selector, agents, forwarders, servers, hosts, authority, lab, reporter };
        sites.configure()?;
        Ok(sites)
    }

    /// Issues certificates and keys, and writes the configurations, the path selector's first.
    fn configure(&self) -> Result<()> {
        let mut keys = Vec::new();
        for agent in AGENTS {
            keys.push(self.authority.signing_key(agent.name)?);
            let first = hosts::csci_id(agent);
            let uris: Vec<String> = (first..first + MANY).map(|id| format!("cats:csci:{id}")).collect();
            let uris: Vec<&str> = uris.iter().map(String::as_str).collect();
            self.authority.issue(&sci(agent), &uris)?;
        }
        let selector = configuration::selector(&self.certificate(SELECTOR, "cps")?, &keys);
        self.selector.configure(&selector)?;
        let places = [INGRESS].into_iter().chain(EGRESSES);
        for (node, place) in self.forwarders.iter().zip(places) {
            let files = self.certificate(place, "fwd")?;
            let config = match place == INGRESS {
                true => configuration::ingress(&files),
                false => configuration::egress(place, &files),
            };
            node.configure(&config)?;
        }
        for ((node, place), key) in self.agents.iter().zip(AGENTS).zip(&keys) {
            node.configure(&configuration::agent(place, &self.certificate(place, "sma")?, key))?;
        }
        Ok(())
    }

    fn certificate(&self, place: Place, role: &str) -> Result<NodeFiles> {
        self.authority.issue(place.name, &[&format!("cats:{role}:{}", place.name)])
    }

    /// Reports of the instance of a site, or of more, until the value is dropped: `load` are further arguments of
    /// `cats-report`.
    pub fn report(&self, site: usize, load: &[&str]) -> Result<Background> {
        let agent = AGENTS.get(site).copied().unwrap_or(AGENTS[0]);
        let proof = self.certified(agent);
        self.report_as(site, &proof.each_ref().map(String::as_str), load)
    }

    /// The same, by arguments that say who reports.
    pub fn report_as(&self, site: usize, proof: &[&str], load: &[&str]) -> Result<Background> {
        let (agent, command) = self.reporter(site)?;
        let log = self.lab.folder().join(format!("report-{}.log", agent.name));
        let command = completed(command, agent, proof, load);
        Background::start(&format!("cats-report at {}", agent.name), command, &log)
    }

    /// As [`Sites::report_as`], to its end: what `cats-report` tells of it.
    pub fn report_by(&self, site: usize, proof: &[&str], load: &[&str]) -> Result<Reported> {
        let (agent, mut command) = self.reporter(site)?;
        command.args(["--format", "json", "--wait", "20"]);
        let outcome = run_with_input(completed(command, agent, proof, load), b"")?;
        let doing = || format!("reporting at {}", agent.name);
        let told = serde_json::from_str(&outcome.stdout)
            .map_err(|error| LabError::new(doing(), format!("{error}: {outcome:?}")))?;
        Ok(Reported { told, code: outcome.status.code() })
    }

    /// The arguments that show the certificate of a site's instances.
    pub fn certified(&self, agent: Place) -> [String; 4] {
        let file = |suffix: &str| self.pki(&format!("{}.{suffix}", sci(agent)));
        ["--certificate".to_owned(), file("pem"), "--private-key".to_owned(), file("key")]
    }

    /// A file of the lab's keys and certificates.
    pub fn pki(&self, name: &str) -> String {
        self.lab.folder().join("pki").join(name).display().to_string()
    }

    /// `cats-report` at a site, in its own name.
    fn reporter(&self, site: usize) -> Result<(Place, Command)> {
        let missing = || LabError::new(format!("reporting at site {site}"), "there is no such site");
        let (agent, host) = AGENTS.get(site).zip(self.hosts.agents.get(site)).ok_or_else(missing)?;
        let mut command = host.command(&self.reporter.display().to_string());
        command.args(["--agent", agent.name, "--authority", &self.pki("ca.pem")]);
        Ok((*agent, command))
    }

    /// The instance that answers a new flow, if one does within 2 s.
    pub fn new_flow(&self) -> Option<String> {
        service::curl(&self.hosts.client, SERVICE[0], &["--max-time", "2"]).ok()
    }

    /// Waits until the path selector has what a site's agent tells, which is something; gives that.
    pub fn until_equal(&self, site: usize) -> Result<Metrics> {
        self.until_told(site, "something", |told| !told.is_empty())
    }

    /// Waits until a site's agent tells what it is to, and the path selector has it; gives that.
    pub fn until_told(&self, site: usize, what: &str, is_so: impl Fn(&Metrics) -> bool) -> Result<Metrics> {
        let missing = || LabError::new(format!("asking site {site}"), "there is no such site");
        let (agent, place) = self.agents.get(site).zip(AGENTS.get(site)).ok_or_else(missing)?;
        let mut last = String::new();
        let equal = wait_for(&format!("the path selector to have of {}: {what}", place.name), || {
            let told = told_by(agent).ok()?;
            let heard = heard_of(&self.selector, place.name).ok()?;
            last = format!("told {} of {told:?}, heard {} of {heard:?}", told.len(), heard.len());
            last.truncate(4000);
            (told == heard && is_so(&told)).then_some(told)
        });
        equal.map_err(|error| LabError::new(error.doing, format!("{}: {last}", error.why)))
    }

    /// Waits until an instance answers new flows.
    pub fn until_served_by(&self, name: &str) -> Result<()> {
        wait_for(&format!("new flows to go to {name}"), || (self.new_flow()? == name).then_some(()))
    }
}

/// What became of a load of reports.
#[derive(Debug)]
pub struct Reported {
    /// All of it, as `cats-report` tells.
    pub told: serde_json::Value,
    /// How `cats-report` ended: 0 where all came as it is to.
    pub code: Option<i32>,
}

impl Reported {
    /// Reports of a kind, such as `honest`, that were taken in.
    pub fn taken(&self, kind: &str) -> u64 {
        self.line(kind).and_then(|line| line["acknowledged"].as_u64()).unwrap_or_default()
    }

    /// How many of a kind were refused for a reason.
    pub fn refused(&self, kind: &str, reason: &str) -> u64 {
        let refused = self.line(kind).and_then(|line| line["refused"].as_array()).into_iter().flatten();
        refused.filter(|entry| entry["reason"] == reason).filter_map(|entry| entry["count"].as_u64()).sum()
    }

    fn line(&self, kind: &str) -> Option<&serde_json::Value> {
        self.told["reports"].as_array()?.iter().find(|line| line["kind"] == kind)
    }
}

/// With these arguments, and what they leave open: the agent's listener, its first instance, how long reports hold.
fn completed(mut command: Command, agent: Place, proof: &[&str], load: &[&str]) -> Command {
    command.args(proof).args(load);
    let is_open = |name: &&str| ![proof, load].concat().contains(name);
    if is_open(&"--to") {
        command.args(["--to", &format!("{}:7444", agent.management)]);
    }
    if is_open(&"--first") {
        command.args(["--first", &hosts::csci_id(agent).to_string()]);
    }
    if is_open(&"--ttl") {
        command.args(["--ttl", &TTL.as_secs().to_string()]);
    }
    command
}

fn sci(agent: Place) -> String {
    format!("sci-of-{}", agent.name)
}

/// Starts all nodes, two at a time.
fn start_together(nodes: &mut [Node]) -> Result<()> {
    let (left, right) = nodes.split_at_mut(nodes.len() / 2);
    std::thread::scope(|scope| {
        let other = scope.spawn(|| right.iter_mut().try_for_each(Node::start));
        left.iter_mut().try_for_each(Node::start)?;
        other.join().map_err(|_| LabError::new("starting the nodes", "the thread panicked"))?
    })
}
