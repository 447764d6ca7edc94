//! `show sma`: the metric agent of this node at a glance.

use super::data::Cursor;
use super::page::{Page, Table, left, right};
use super::services::{NAMES, Names};
use super::words::{counted, several, some, span, span_of, time, where_so};
use super::{SERVICE, View};

pub(super) const VIEW: View = View {
    words: &["sma"],
    help: "the metric agent: what it holds, its services, the path selectors that it tells",
    narrows: &[SERVICE],
    reads: &[
        "metric-agent/status",
        "metric-agent/enabled",
        "metric-agent/node-id",
        "metric-agent/collection/listen",
        "metric-agent/collection/broker/host",
        "metric-agent/sites/site",
        "metric-agent/path-selectors",
        "metric-agent/quarantine/waiting",
        "metric-agent/quarantine/pushed-out",
        "metric-agent/calendar/open",
        "metric-agent/calendar/maintenance-until",
        "metric-agent/statistics",
        NAMES,
    ],
    page,
};

fn page(home: Cursor<'_>) -> Page {
    let mut page = Page::default();
    let agent = home.down("metric-agent");
    if !agent.is("enabled") {
        page.note(NONE);
        return page;
    }
    page.heading(format!("Metric agent {}", agent.word("node-id")));
    page.facts([
        ("Collection", collection(agent)),
        ("Instances", instances(agent)),
        ("Reports", reports(agent)),
        ("Senders", senders(agent)),
        ("Quarantine", quarantine(agent)),
        ("Updates", updates(agent)),
        ("Maintenance", maintenance(agent)),
    ]);
    for fault in agent.down("status").words("fault") {
        page.note(format!("Fault: {fault}"));
    }
    sites(&mut page, agent, &Names::of(home));
    selectors(&mut page, agent);
    page
}

pub(super) const NONE: &str =
    "This node is no metric agent: set metric-agent node-id NAME, then set metric-agent enabled true.";

fn collection(agent: Cursor<'_>) -> String {
    let (collection, status) = (agent.down("collection"), agent.down("status"));
    let listen = collection.down("listen");
    let listening = match listen.text("address") {
        Some(address) => format!("listens on {address} port {}", listen.word("port")),
        None => "no listener (set metric-agent collection listen address ADDRESS)".to_owned(),
    };
    let broker = collection.down("broker").text("host").map(|host| match status.is("broker-connected") {
        true => format!("broker {host} delivers"),
        false => format!("broker {host} is not reached"),
    });
    several([listening, broker.unwrap_or_default()])
}

fn instances(agent: Cursor<'_>) -> String {
    let status = agent.down("status");
    let skewed = agent.down("statistics").count("skewed-instances");
    several([
        format!("{} known", status.count("instances")),
        format!("{} with metrics", status.count("live")),
        some(skewed, "with a clock that is off"),
    ])
}

fn reports(agent: Cursor<'_>) -> String {
    let counters = agent.down("statistics");
    let refused: u64 = counters.entries("refused").iter().map(|cause| cause.count("reports")).sum();
    several([
        format!("{} received", counters.count("received")),
        format!("{} taken in", counters.count("taken")),
        some(counters.count("flagged"), "of them in doubt"),
        some(refused, "refused or put off"),
        some(agent.down("status").count("waiting-reports"), "waiting for their turn now"),
    ])
}

fn senders(agent: Cursor<'_>) -> String {
    match agent.down("statistics").count("authentication-failures") {
        0 => String::new(),
        failures => {
            format!("{} to prove who they are (show state metric-agent audit)", counted(failures, "failure"))
        }
    }
}

fn quarantine(agent: Cursor<'_>) -> String {
    let quarantine = agent.down("quarantine");
    match (quarantine.count("waiting"), quarantine.count("pushed-out")) {
        (0, 0) => "empty".to_owned(),
        (0, out) => format!("empty; {} dropped for want of room", counted(out, "report")),
        (waiting, 0) => format!("{} for you (show sma quarantine)", waits(waiting)),
        (waiting, out) => {
            format!("{} for you (show sma quarantine); {out} dropped for want of room", waits(waiting))
        }
    }
}

pub(super) fn waits(reports: u64) -> String {
    if reports == 1 { "1 report waits".to_owned() } else { format!("{reports} reports wait") }
}

fn updates(agent: Cursor<'_>) -> String {
    let status = agent.down("status");
    let told: u64 = agent.down("statistics").entries("updates").iter().map(|by| by.count("told")).sum();
    let interval = status.number("update-interval").filter(|millis| *millis > 0);
    several([
        format!("{told} told"),
        some(status.count("updates-due"), "waiting for the bucket"),
        some(status.count("updates-timed"), "waiting for their interval"),
        some(status.count("updates-held"), "held by maintenance"),
        some(status.count("updates-suppressed"), "suppressed by a rule"),
        interval.map(|millis| format!("one each {} at most", span(millis))).unwrap_or_default(),
        where_so(status.is("busy"), "optional metrics left out for load"),
    ])
}

fn maintenance(agent: Cursor<'_>) -> String {
    let calendar = agent.down("calendar");
    let open = calendar.words("open");
    match (agent.down("status").is("maintenance"), calendar.text("maintenance-until")) {
        (true, Some(until)) => {
            format!("on until {} ({}): only what is critical is told", time(&until), open.join(", "))
        }
        (true, None) => format!("on ({}): only what is critical is told", open.join(", ")),
        (false, _) if open.is_empty() => String::new(),
        (false, _) => format!("off; open windows: {}", open.join(", ")),
    }
}

fn sites(page: &mut Page, agent: Cursor<'_>, names: &Names) {
    let sites = agent.down("sites").entries("site");
    page.heading("Services");
    let mut table = Table::new(&[
        left("SERVICE"),
        left("NAME"),
        right("SLOTS"),
        right("INSTANCES"),
        right("HEALTHY"),
        right("DEGRADED"),
        right("UNHEALTHY"),
        right("UNKNOWN"),
        right("STALE"),
        right("FAILED"),
        right("SILENT"),
    ]);
    for site in &sites {
        let many = |name: &str| {
            site.number(name).filter(|count| *count > 0).map(|c| c.to_string()).unwrap_or_default()
        };
        let service = site.word("cs-id");
        table.row([
            service.clone(),
            names.name(&service),
            site.word("gas"),
            site.word("instances"),
            many("healthy"),
            many("degraded"),
            many("unhealthy"),
            many("unknown"),
            many("stale"),
            many("failed"),
            many("silent"),
        ]);
    }
    match sites.is_empty() {
        true => page.text("none: no contact instance is known (show sma cache)"),
        false => page.table(table),
    }
}

fn selectors(page: &mut Page, agent: Cursor<'_>) {
    let peers = agent.down("path-selectors").entries("status");
    page.heading("Path selectors");
    let mut table = Table::new(&[
        left("NAME"),
        left("LINK"),
        right("SENT"),
        right("ACKNOWLEDGED"),
        right("PENDING"),
        left("NOTES"),
    ]);
    for peer in &peers {
        table.row([
            peer.word("node-id"),
            peer.word("link"),
            peer.word("sent-sequence"),
            peer.word("acknowledged-sequence"),
            peer.word("pending"),
            peer_notes(peer),
        ]);
    }
    match peers.is_empty() {
        true => page.text("none is told: set metric-agent northbound path-selector NAME"),
        false => page.table(table),
    }
}

fn peer_notes(peer: &Cursor<'_>) -> String {
    let alarms = peer.words("alarm");
    let has = |name: &str| alarms.iter().any(|alarm| alarm == name);
    let failures = match peer.count("failures") {
        0 => String::new(),
        1 => "1 attempt failed".to_owned(),
        more => format!("{more} attempts failed"),
    };
    let next = span_of(peer.number("next-attempt"));
    let pace = peer.number("pace").filter(|pace| *pace > 0).map(span);
    several([
        peer.text("alternative-to").map(|of| format!("stands in for {of}")).unwrap_or_default(),
        where_so(has("unreachable"), "not reached"),
        where_so(has("buffer-overrun"), "changes dropped, gets the whole view"),
        failures,
        where_so(!next.is_empty(), &format!("next one in {next}")),
        peer.word("reason"),
        pace.map(|pace| format!("wants one message each {pace}")).unwrap_or_default(),
    ])
}
