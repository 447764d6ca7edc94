//! The types of alarms that there can be: the inventory.

use super::entry::Severity;
use serde_json::{Value, json};

/// The module of their identities.
pub(crate) const MODULE: &str = "cats-alarms";

struct Kind {
    name: &'static str,
    severities: &'static [Severity],
    /// What is wrong by it, and what to do.
    text: &'static str,
}

const fn kind(name: &'static str, severities: &'static [Severity], text: &'static str) -> Kind {
    Kind { name, severities, text }
}

const WARNING: &[Severity] = &[Severity::Warning];
const MINOR: &[Severity] = &[Severity::Minor];
const MAJOR: &[Severity] = &[Severity::Major];
const CRITICAL: &[Severity] = &[Severity::Critical];

const KINDS: &[Kind] = &[
    kind(
        "component-not-connected",
        CRITICAL,
        "a program is not connected to cats-mgmtd or does not answer, so what is committed is not in force: start it, and \
         see its log",
    ),
    kind(
        "out-of-sync",
        CRITICAL,
        "a program does not take the running configuration: commit one that it takes",
    ),
    kind(
        "unrecorded",
        CRITICAL,
        "a confirmed commit was taken back and the journal does not take that, so nothing can be committed: make room, or \
         repair the disk",
    ),
    kind("no-history", MINOR, "revisions cannot be kept: make room, or repair the disk"),
    kind("no-event-log", MINOR, "events are kept in memory alone: make room, or repair the disk"),
    kind(
        "cannot-call",
        MINOR,
        "a client that is called is not reached: see that it listens at its endpoints",
    ),
    kind(
        "tls-failed",
        MAJOR,
        "NETCONF over TLS is not served as configured: see the certificates and the addresses",
    ),
    kind("data-plane-fault", CRITICAL, "the data plane is not as configured: see what the kernel refuses"),
    kind(
        "unusable",
        MAJOR,
        "certificates, keys or addresses of the channels between nodes cannot be used: put them right",
    ),
    kind("flow-limit", MAJOR, "new flows are refused: raise base/flow-limits, or take load away"),
    kind(
        "binding-failure",
        MAJOR,
        "an ingress does not install what is decided: see its data plane and its limits",
    ),
    kind("agent-clock-skew", MAJOR, "nothing of a metric agent is taken: set the clocks of both nodes"),
    kind(
        "agent-silent",
        MAJOR,
        "nothing is heard of a metric agent: see whether it runs and reaches this node",
    ),
    kind(
        "record-limit",
        MINOR,
        "a metric agent advertises more than is taken: raise path-selector/agent-limits/records",
    ),
    kind(
        "instance-clock-skew",
        MINOR,
        "reports of contact instances are doubtful or refused: set their clocks",
    ),
    kind(
        "report-overload",
        MINOR,
        "reports of contact instances wait for their turn: raise metric-agent/rates/total-rate, or have them report less",
    ),
    kind(
        "authentication-failure",
        WARNING,
        "senders of reports did not prove who they are: see metric-agent/audit",
    ),
    kind("unauthorised-report", WARNING, "senders reported of what they may not: see metric-agent/audit"),
    kind("quarantine", WARNING, "reports in doubt wait for an operator: release or drop them"),
    kind(
        "cache-full",
        MINOR,
        "there is no room for metrics of more instances: raise metric-agent/cache/max-entries",
    ),
    kind(
        "path-selector-unreachable",
        MAJOR,
        "a metric agent does not reach a path selector, where what it was told expires: see the network and its certificate",
    ),
    kind(
        "buffer-overrun",
        MINOR,
        "changes for a path selector were dropped: it gets the whole view once it is reached",
    ),
];

/// The entries of the inventory.
pub(crate) fn inventory() -> Value {
    let entry = |kind: &Kind| {
        let severities: Vec<&str> = kind.severities.iter().map(|severity| severity.name()).collect();
        json!({
            "alarm-type-id": format!("{MODULE}:{}", kind.name),
            "alarm-type-qualifier": "",
            "will-clear": true,
            "severity-level": severities,
            "description": kind.text,
        })
    };
    json!({ "alarm-type": KINDS.iter().map(entry).collect::<Vec<Value>>() })
}
