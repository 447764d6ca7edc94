//! The example of section 14 on four nodes, packet for packet, as `make demo` runs it. Needs root.

use cats_conformance::Result;
use cats_conformance::demo::{Scenario, run};

/// Proves CP-34, CP-35, CP-1, CP-9, CP-13, CP-15, CP-16, CP-17, CP-18.
#[test]
fn the_example_is_carried_as_figure_4_says_and_new_metrics_move_new_flows_only() -> Result<()> {
    run(Scenario::Section14, false)
}

/// Proves CP-34, CP-35.
#[test]
fn the_example_is_carried_over_ipv6_too() -> Result<()> {
    run(Scenario::Section14Ipv6, false)
}
