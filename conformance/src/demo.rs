//! `make demo`: the example of section 14, run with real packets and checked against the document's Figure 4.

mod clients;
mod decision;
mod figure;

use crate::deployment::FourNodes;
use crate::lab::target_dir;
use crate::layout::{CLIENT, INSTANCE_B, Links, SERVICE};
use crate::node::program;
use crate::{LabError, Result, service};
use figure::Captures;
use std::io::IsTerminal;
use std::process::Command;

/// The client's port in the example.
const CLIENT_PORT: u16 = 51000;

/// An example that can be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Scenario {
    /// The example of section 14 over IPv4.
    #[value(name = "section-14")]
    Section14,
    /// The same with the service, client and instances on IPv6.
    #[value(name = "section-14-ipv6")]
    Section14Ipv6,
}

impl Scenario {
    /// Which of the addresses it uses: 0 is IPv4, 1 is IPv6.
    fn family(self) -> usize {
        match self {
            Scenario::Section14 => 0,
            Scenario::Section14Ipv6 => 1,
        }
    }
}

/// Runs a scenario, prints what it shows, and leaves captures and decision in `target/demo`. A check that fails is
/// an error. With `hold` the command line is opened on the path selector before everything is taken down; it
/// runs the commands on standard input where that is no terminal.
pub fn run(scenario: Scenario, hold: bool) -> Result<()> {
    let folder = target_dir().join("demo");
    std::fs::create_dir_all(&folder).map_err(LabError::of(format!("making {}", folder.display())))?;
    println!(
        "laying out client, IF-1, T, EF-1, EF-2, A, B and C-PS-1, and configuring four nodes over NETCONF …"
    );
    let deployment = FourNodes::start("demo", Links::default())?;

    let family = scenario.family();
    let captures = Captures::start(&deployment, &folder)?;
    println!("running curl at the client …");
    let port = CLIENT_PORT.to_string();
    let answer = service::curl(&deployment.hosts.client, SERVICE[family], &["--local-port", &port])?;
    println!("the service {} answered: {answer}\n", SERVICE[family]);
    let steps = captures.finish(family)?;

    let decision = decision::fetch(&deployment.selector, CLIENT[family], CLIENT_PORT)?;
    let file = folder.join("decision.json");
    decision::write(&decision, &file)?;
    let mut failures = figure::print(&steps);
    failures += decision::print(&decision, INSTANCE_B[0]);
    failures += clients::run(&deployment, SERVICE[family])?;
    println!("\ncaptures and decision: {}", folder.display());
    if hold {
        open_command_line(&deployment)?;
    }
    if failures == 0 { Ok(()) } else { Err(LabError::new("the demo", format!("{failures} check(s) failed"))) }
}

fn open_command_line(deployment: &FourNodes) -> Result<()> {
    let nodes = [&deployment.selector, &deployment.ingress, &deployment.egresses[0], &deployment.egresses[1]];
    let by_hand = std::io::stdin().is_terminal();
    let until =
        if by_hand { "you leave the command line of C-PS-1" } else { "C-PS-1 has run the commands on stdin" };
    println!("\nthe lab stays up until {until}; the nodes:");
    for node in nodes {
        println!(
            "  {:<7} namespace {}, socket {}",
            node.name(),
            node.host().name(),
            node.netconf_socket().display()
        );
    }
    println!("  client  namespace {}", deployment.hosts.client.name());
    let mut cli = Command::new(program("cats")?);
    let status = cli.arg("--socket").arg(deployment.selector.netconf_socket()).status();
    let status = status.map_err(LabError::of("running the command line"))?;
    if by_hand || status.success() {
        return Ok(());
    }
    Err(LabError::new("running the commands on standard input", format!("{status}")))
}

/// Prints one check and gives 1 if it failed.
fn check(holds: bool, what: &str) -> usize {
    println!("  {} {what}", if holds { "ok  " } else { "FAIL" });
    usize::from(!holds)
}
