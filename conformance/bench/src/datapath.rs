//! The cost of forwarding, CPU time a packet, against plain kernel forwarding in the same round; and what bindings
//! cost.

mod frames;
mod install;
mod load;
mod peers;
mod rig;
mod steered;

use crate::Settings;
use crate::figure::{Better, Figure, median};
use load::Traffic;
use rig::Rig;
use std::time::Duration;

/// How long each measurement sends.
const DURATION: Duration = Duration::from_millis(700);
/// How long a forwarder is sent its traffic before the first round.
const WARM_UP: Duration = Duration::from_millis(1500);
/// How long is sent for a look at a frame.
const LOOK: Duration = Duration::from_millis(10);
/// Numbers of flows, with their names in keys.
const SIZES: &[(&str, u32)] = &[("1", 1), ("10k", 10_000), ("100k", 100_000)];
/// Only if asked for.
const LARGE: (&str, u32) = ("1m", 1_000_000);
/// The number of flows at which ours is held against the peer's.
const TARGET: &str = "10k";

/// Who forwards.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Forwarder {
    /// Rules written by hand, with the load's connections established.
    Handmade,
    /// The same where no connection is ever established: the encapsulating route takes packets out of the hook where
    /// that is done, unless the host-wide nf_hooks_lwtunnel is on. Only told, for want of answers that could come back.
    Untracked,
    /// Ours.
    Nft,
}

impl Forwarder {
    fn name(self) -> &'static str {
        match self {
            Self::Handmade => "handmade",
            Self::Untracked => "untracked",
            Self::Nft => "nft",
        }
    }
}

/// A forwarder that is measured, and what it is sent.
struct Case {
    forwarder: Forwarder,
    size: &'static str,
    rig: Rig,
    traffic: Traffic,
    ratios: Vec<f64>,
}

pub(crate) fn measure(settings: &Settings) -> Result<Vec<Figure>, String> {
    let mut figures = forwarding(settings)?;
    figures.extend(install::measure(settings)?);
    Ok(figures)
}

/// CPU seconds of a binding that is installed without anything around it.
pub(crate) fn bare_install() -> Result<f64, String> {
    install::bare()
}

fn forwarding(settings: &Settings) -> Result<Vec<Figure>, String> {
    let mut plain = Rig::lay_out("plain")?;
    plain.send(peers::plain_traffic(), WARM_UP)?;
    let mut cases = Vec::new();
    for (forwarder, size, flows) in wanted(settings) {
        let case = Case::prepare(forwarder, size, flows);
        cases.push(case.map_err(|error| format!("{} with {size} flows: {error}", forwarder.name()))?);
    }
    for _ in 0..settings.rounds {
        let peer = plain.measure(peers::plain_traffic(), DURATION)?;
        for case in &mut cases {
            let own = case.rig.measure(case.traffic, DURATION)?;
            case.ratios.push(peer / own);
        }
    }
    for peer in [Forwarder::Handmade, Forwarder::Untracked] {
        tell_target(&cases, peer);
    }
    let against = format!("plain IPv4 forwarding of Linux {}", release());
    Ok(cases.into_iter().filter_map(|case| case.figure(&against)).collect())
}

fn wanted(settings: &Settings) -> Vec<(Forwarder, &'static str, u32)> {
    let mut wanted = Vec::new();
    for (size, flows) in SIZES.iter().copied().chain(settings.large.then_some(LARGE)) {
        wanted.push((Forwarder::Handmade, size, flows));
        if size == TARGET {
            wanted.push((Forwarder::Untracked, size, flows));
        }
        wanted.push((Forwarder::Nft, size, flows));
    }
    wanted
}

impl Case {
    /// Sets a forwarder up, looks whether it does its work, and warms it up.
    fn prepare(forwarder: Forwarder, size: &'static str, flows: u32) -> Result<Self, String> {
        let traffic = Traffic { flows, destination: Rig::SERVICE, port: Rig::PORT };
        let mut rig = Rig::lay_out(&format!("{}{size}", forwarder.name()))?;
        match forwarder {
            Forwarder::Handmade => write_by_hand(&mut rig, traffic)?,
            Forwarder::Untracked => {
                peers::translate_by_hand(&rig)?;
                peers::encapsulate_by_hand(&rig)?;
            }
            Forwarder::Nft => steered::steer(&rig, flows)?,
        }
        frames::check_steered(&rig.sample(traffic, LOOK)?, flows)?;
        rig.send(traffic, WARM_UP)?;
        Ok(Self { forwarder, size, rig, traffic, ratios: Vec::new() })
    }

    fn figure(self, against: &str) -> Option<Figure> {
        let what = match self.forwarder {
            Forwarder::Handmade => {
                "nft DNAT, conntrack, an SRv6 route; written by hand with nft and ip; all flows established before, \
                 as where nf_hooks_lwtunnel is on"
            }
            Forwarder::Untracked => return None,
            Forwarder::Nft => {
                "the nft backend, a binding of both directions for each flow; no process of ours runs meanwhile, so \
                 that the daemon's share is 0"
            }
        };
        let key = format!("datapath/{}-{}-ratio", self.forwarder.name(), self.size);
        let note = format!(
            "{what}. 60-octet UDP to flows at random, 2 segments; CPU time of the receiving link's thread a packet \
             that arrived; a frame at the sink was checked"
        );
        Some(Figure::of(&key, "ratio", Better::Higher, self.ratios)?.against(against).note(note))
    }
}

/// The peer with the connections of the load established: they are, before the encapsulating route is there.
fn write_by_hand(rig: &mut Rig, traffic: Traffic) -> Result<(), String> {
    let most = peers::trackable(rig)?;
    if most < traffic.flows {
        return Err(format!(
            "net.netfilter.nf_conntrack_max is {most}; set it to {} or more",
            2 * traffic.flows
        ));
    }
    peers::translate_by_hand(rig)?;
    // Flows are chosen at random: after some packets each hardly one is left out.
    let enough = traffic.flows - traffic.flows / 100;
    let mut tracked = 0;
    for _ in 0..20 {
        rig.send(traffic, WARM_UP)?;
        tracked = peers::tracked(rig)?;
        if tracked >= enough {
            break;
        }
    }
    if tracked < enough {
        return Err(format!("only {tracked} connections are established"));
    }
    peers::encapsulate_by_hand(rig)
}

/// Ours against hand-written rules, round by round.
fn tell_target(cases: &[Case], peer: Forwarder) {
    let ratios = |forwarder: Forwarder| {
        let case = cases.iter().find(|case| case.forwarder == forwarder && case.size == TARGET);
        case.map(|case| case.ratios.as_slice()).unwrap_or_default()
    };
    let (ours, theirs) = (ratios(Forwarder::Nft), ratios(peer));
    let rounds: Vec<f64> = ours.iter().zip(theirs).map(|(ours, theirs)| ours / theirs).collect();
    if let Some(middle) = median(&rounds) {
        let rounds: Vec<String> = rounds.iter().map(|ratio| format!("{ratio:.3}")).collect();
        println!("nft to {} at {TARGET} flows: {middle:.3}, rounds {}", peer.name(), rounds.join(" "));
    }
}

fn release() -> String {
    std::fs::read_to_string("/proc/sys/kernel/osrelease")
        .map_or_else(|_| "of this machine".to_owned(), |text| text.trim().to_owned())
}
