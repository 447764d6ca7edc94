//! Packets that wait for the binding of their flow, within bounds.

use crate::PendingLimits;

/// The name that the punt path gave a packet it keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PacketId(pub u32);

/// The held packets of one flow, in order of arrival.
#[derive(Debug, Default)]
pub(crate) struct Held {
    packets: Vec<PacketId>,
    octets: u32,
}

/// What is held in all. Every [`Held`] that was filled through it is given back by [`PendingTotals::release`].
#[derive(Debug, Default)]
pub(crate) struct PendingTotals {
    pub(crate) flows: u32,
    pub(crate) packets: u32,
    pub(crate) octets: u32,
}

/// Which bound a packet met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PendingBound {
    Flow,
    Total,
    Flows,
}

impl PendingTotals {
    /// A record for a new flow with its first packet.
    pub(crate) fn open(
        &mut self,
        id: PacketId,
        octets: u32,
        limits: &PendingLimits,
    ) -> Result<Held, PendingBound> {
        if self.flows >= limits.flows {
            return Err(PendingBound::Flows);
        }
        let mut held = Held::default();
        self.join(&mut held, id, octets, limits)?;
        self.flows += 1;
        Ok(held)
    }

    /// One more packet of a flow that already waits.
    pub(crate) fn join(
        &mut self,
        held: &mut Held,
        id: PacketId,
        octets: u32,
        limits: &PendingLimits,
    ) -> Result<(), PendingBound> {
        let of_flow = held.octets.saturating_add(octets);
        if held.packets.len() >= limits.packets_per_flow as usize || of_flow > limits.octets_per_flow {
            return Err(PendingBound::Flow);
        }
        let total = self.octets.saturating_add(octets);
        if total > limits.octets_total {
            return Err(PendingBound::Total);
        }
        held.packets.push(id);
        held.octets = of_flow;
        self.octets = total;
        self.packets += 1;
        Ok(())
    }

    /// Ends a record; the packets in order of arrival.
    pub(crate) fn release(&mut self, held: Held) -> Vec<PacketId> {
        self.flows = self.flows.saturating_sub(1);
        self.octets = self.octets.saturating_sub(held.octets);
        self.packets = self.packets.saturating_sub(u32::try_from(held.packets.len()).unwrap_or(u32::MAX));
        held.packets
    }
}
