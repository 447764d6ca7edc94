//! The network service table: what is known of the paths from each ingress to each egress (CP-30).
//!
//! It decides the selection; the topology's link delays decide only the path.

use super::config::PathMetric;
use super::nodes::NodeIx;
use cats_engine_types::{Generation, Micros};
use std::time::Instant;

/// The table: a row for each ingress, a place in it for each egress.
#[derive(Debug, Default)]
pub struct Nst {
    generation: Generation,
    rows: Vec<Vec<Option<PathRecord>>>,
    configured: Vec<PathMetric>,
}

/// What is known of one path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathRecord {
    /// Whether the egress is reached at all.
    pub reachable: bool,
    /// One-way delay.
    pub delay: Option<Micros>,
    /// Delay variation.
    pub jitter: Option<Micros>,
    /// Packets lost per million.
    pub loss_ppm: Option<u32>,
    /// kbit/s.
    pub bandwidth: Option<u32>,
    /// From when on it is no longer valid; absent: never, as of configured records.
    pub expires: Option<Instant>,
}

impl Nst {
    /// Counts up with each change of a record.
    pub fn generation(&self) -> Generation {
        self.generation
    }

    /// The configured records.
    pub fn configured(&self) -> &[PathMetric] {
        &self.configured
    }

    /// The records from an ingress, by egress.
    pub(super) fn from(&self, ingress: NodeIx) -> &[Option<PathRecord>] {
        self.rows.get(ingress.at()).map_or(&[], Vec::as_slice)
    }

    pub(super) fn configure(
        &mut self,
        paths: &[PathMetric],
        mut node: impl FnMut(&cats_engine_types::NodeId) -> NodeIx,
    ) {
        if self.configured == paths {
            return;
        }
        self.configured = paths.to_vec();
        self.generation = self.generation.next();
        self.rows.clear();
        for path in paths {
            let (ingress, egress) = (node(&path.ingress).at(), node(&path.egress).at());
            if self.rows.len() <= ingress {
                self.rows.resize(ingress + 1, Vec::new());
            }
            let Some(row) = self.rows.get_mut(ingress) else { continue };
            if row.len() <= egress {
                row.resize(egress + 1, None);
            }
            if let Some(place) = row.get_mut(egress) {
                *place = Some(PathRecord {
                    reachable: path.reachable,
                    delay: path.delay,
                    jitter: path.jitter,
                    loss_ppm: path.loss_ppm,
                    bandwidth: path.bandwidth,
                    expires: None,
                });
            }
        }
    }
}
