//! The cost of forwarding, CPU time a packet, against plain kernel forwarding in the same round.

mod load;
mod peers;
mod rig;

use crate::Settings;
use crate::figure::{Better, Figure};
use load::Traffic;
use rig::Rig;
use std::time::Duration;

/// How long each measurement sends.
const DURATION: Duration = Duration::from_millis(700);
/// How long a forwarder is sent its traffic before the first round.
const WARM_UP: Duration = Duration::from_millis(1500);
/// Numbers of flows, with their names in keys.
const SIZES: &[(&str, u32)] = &[("1", 1), ("10k", 10_000), ("100k", 100_000)];

/// A forwarder that is measured, and what it is sent.
struct Case {
    key: String,
    rig: Rig,
    traffic: Traffic,
    ratios: Vec<f64>,
}

pub(crate) fn measure(settings: &Settings) -> Result<Vec<Figure>, String> {
    let mut plain = Rig::lay_out("plain")?;
    plain.send(peers::plain_traffic(), WARM_UP)?;
    let mut cases = cases()?;
    for _ in 0..settings.rounds {
        let peer = plain.measure(peers::plain_traffic(), DURATION)?;
        for case in &mut cases {
            let own = case.rig.measure(case.traffic, DURATION)?;
            case.ratios.push(peer / own);
        }
    }
    let against = format!("plain IPv4 forwarding of Linux {}", release());
    let note =
        "60-octet UDP to flows at random; CPU time of the receiving link's thread a packet that arrived";
    let figures = cases.into_iter().filter_map(|case| {
        Some(Figure::of(&case.key, "ratio", Better::Higher, case.ratios)?.against(&against).note(note))
    });
    Ok(figures.collect())
}

fn cases() -> Result<Vec<Case>, String> {
    let mut cases = Vec::new();
    for (name, flows) in SIZES {
        let traffic = Traffic { flows: *flows, destination: Rig::SERVICE, port: Rig::PORT };
        let mut rig = Rig::lay_out(&format!("hand{name}"))?;
        peers::write_by_hand(&rig)?;
        rig.send(traffic, WARM_UP)?;
        cases.push(Case { key: format!("datapath/handmade-{name}-ratio"), rig, traffic, ratios: Vec::new() });
    }
    Ok(cases)
}

fn release() -> String {
    std::fs::read_to_string("/proc/sys/kernel/osrelease")
        .map_or_else(|_| "of this machine".to_owned(), |text| text.trim().to_owned())
}
