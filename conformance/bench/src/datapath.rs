//! The cost of forwarding, per packet, against plain kernel forwarding in the same round.

mod load;
mod rig;

use crate::Settings;
use crate::figure::{Better, Figure};
use load::Traffic;
use rig::{Cost, Rig};
use std::time::Duration;

/// How long each measurement sends.
const DURATION: Duration = Duration::from_millis(700);

pub(crate) fn measure(settings: &Settings) -> Result<Vec<Figure>, String> {
    let mut rig = Rig::lay_out()?;
    let mut plain = Vec::new();
    for _ in 0..settings.rounds {
        let traffic = Traffic { flows: 1, destination: Rig::INSTANCE, port: Rig::PORT };
        let Cost { nanos_a_packet, packets } = rig.measure(traffic, DURATION)?;
        eprintln!("plain {nanos_a_packet} ns/packet {packets} packets");
        plain.push(nanos_a_packet);
    }
    Ok(Figure::of("datapath/plain-ns", "ns", Better::Lower, plain).into_iter().collect())
}
