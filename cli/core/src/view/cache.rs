//! `show sma cache`: each contact instance as its agent believes it, and as path selectors are told.

use super::agent::NONE;
use super::data::Cursor;
use super::page::{Page, Table, left, right};
use super::services::{NAMES, Names};
use super::words::{counted, duration, several, some, span, span_of, time, where_so};
use super::{INSTANCE, SERVICE, View};

pub(super) const VIEW: View = View {
    words: &["sma", "cache"],
    help: "contact instances: what each reported, how old that is, and what path selectors are told",
    narrows: &[SERVICE, INSTANCE],
    reads: &[
        "metric-agent/instances/instance",
        "metric-agent/sites/site",
        "metric-agent/enabled",
        "metric-agent/collection/listen/address",
        "metric-agent/status/instances",
        NAMES,
    ],
    page,
};

fn page(home: Cursor<'_>) -> Page {
    let mut page = Page::default();
    let (agent, names) = (home.down("metric-agent"), Names::of(home));
    let instances = agent.down("instances").entries("instance");
    let sites = agent.down("sites").entries("site");
    let mut rest = instances.as_slice();
    while let Some(first) = rest.first() {
        let service = first.word("cs-id");
        let count = rest.iter().take_while(|instance| instance.word("cs-id") == service).count();
        let (of_service, others) = rest.split_at(count);
        rest = others;
        let site = sites.iter().find(|site| site.word("cs-id") == service);
        let sums = site.map(sums).unwrap_or_default();
        page.heading(format!("Service {}: {sums}", names.service(&service)));
        page.table(table(of_service));
    }
    if let [one] = instances.as_slice() {
        detail(&mut page, one);
    }
    if instances.is_empty() {
        page.note(why_empty(agent));
    } else {
        legend(&mut page, &instances);
    }
    page
}

/// One line about all instances of a service.
fn sums(site: &Cursor<'_>) -> String {
    several([
        counted(site.count("gas"), "slot"),
        counted(site.count("instances"), "instance"),
        some(site.count("healthy"), "healthy"),
        some(site.count("degraded"), "degraded"),
        some(site.count("unhealthy"), "unhealthy"),
        some(site.count("unknown"), "of unknown health"),
        some(site.count("stale"), "stale"),
        some(site.count("failed"), "failed"),
        some(site.count("silent"), "silent"),
    ])
}

fn table(instances: &[Cursor<'_>]) -> Table {
    let mut table = Table::new(&[
        left("INSTANCE"),
        left("STATE"),
        left("HEALTH"),
        right("SLOTS"),
        right("TOLD"),
        right("COMPUTING"),
        right("AGE"),
        right("TTL LEFT"),
        left("NOTES"),
    ]);
    for instance in instances {
        let left = instance.number("ttl-remaining").map(|left| match left {
            0 => "over".to_owned(),
            left => span(left),
        });
        table.row([
            instance.word("csci-id"),
            instance.word("state"),
            instance.word("health"),
            instance.word("gas"),
            instance.word("told-gas"),
            duration(instance.down("reported").number("computing-us")),
            span_of(instance.number("age")),
            left.unwrap_or_default(),
            notes(instance),
        ]);
    }
    table
}

fn notes(instance: &Cursor<'_>) -> String {
    let told = instance.down("told");
    let doubts = instance.words("doubt").into_iter().map(|name| doubt(&name));
    let skewed =
        instance.is("clock-skewed") && !instance.words("doubt").iter().any(|name| name == "clock-skew");
    let others = [
        where_so(skewed, &doubt("clock-skew")),
        match instance.count("quarantined") {
            0 => String::new(),
            1 => "1 report in quarantine".to_owned(),
            more => format!("{more} reports in quarantine"),
        },
        where_so(instance.is("waits"), "a report waits for its turn"),
        where_so(told.is("flagged"), "told with a flag"),
        where_so(!told.is_there(), "not told"),
        instance.text("waiting-update").map(|why| format!("update waits ({why})")).unwrap_or_default(),
        where_so(instance.word("source") == "discovered", "discovered"),
    ];
    several(doubts.chain(others))
}

/// What a flag means.
pub(super) fn doubt(name: &str) -> String {
    let words = match name {
        "gas-change" => "slots changed too fast",
        "computing-time-change" => "computing time changed too fast",
        "flapping" => "health changed too often",
        "no-computing-time" => "slots without a computing time",
        "clock-skew" => "its clock is off",
        other => other,
    };
    words.to_owned()
}

/// The values of one instance side by side, and what became of its reports.
fn detail(page: &mut Page, instance: &Cursor<'_>) {
    let (reported, told) = (instance.down("reported"), instance.down("told"));
    let mut values = Table::new(&[left("METRIC"), right("REPORTED"), right("SMOOTHED"), right("TOLD")]);
    let none = String::new;
    values.row(["slots".to_owned(), reported.word("gas"), instance.word("smoothed-gas"), told.word("gas")]);
    values.row([
        "computing time".to_owned(),
        duration(reported.number("computing-us")),
        duration(instance.number("smoothed-computing-us")),
        duration(told.number("computing-us")),
    ]);
    for (name, leaf) in [("shortest", "computing-min-us"), ("longest", "computing-max-us")] {
        let (from, to) = (duration(reported.number(leaf)), duration(told.number(leaf)));
        if !(from.is_empty() && to.is_empty()) {
            values.row([name.to_owned(), from, none(), to]);
        }
    }
    for leaf in ["health", "price", "reputation", "security-level"] {
        let (from, to) = (reported.word(leaf), told.word(leaf));
        if !(from.is_empty() && to.is_empty()) {
            values.row([leaf.replace('-', " "), from, none(), to]);
        }
    }
    page.heading("Values");
    page.table(values);
    let counters = instance.down("statistics");
    page.heading("Reports");
    page.facts([
        ("Taken in", counters.word("taken")),
        ("In doubt", nonzero(counters, "flagged")),
        ("Quarantined", nonzero(counters, "quarantined")),
        ("Refused", refused(counters)),
        ("Too often", nonzero(counters, "too-often")),
        ("Asked for", nonzero(counters, "pulls")),
        ("Last one", last(instance)),
        ("Locator", instance.word("locator")),
        ("In this state", span_of(instance.number("state-age"))),
    ]);
}

fn nonzero(counters: Cursor<'_>, name: &str) -> String {
    counters.number(name).filter(|count| *count > 0).map(|count| count.to_string()).unwrap_or_default()
}

fn refused(counters: Cursor<'_>) -> String {
    let causes = ["invalid", "duplicate", "out-of-order", "replayed", "skewed"];
    several(causes.map(|cause| some(counters.count(cause), &cause.replace('-', " "))))
}

fn last(instance: &Cursor<'_>) -> String {
    let Some(taken) = instance.text("taken") else { return String::new() };
    let number = instance.text("sequence").map(|number| format!("number {number}"));
    several([number.unwrap_or_default(), format!("made {}", time(&taken))])
}

/// What the states mean that are seen.
fn legend(page: &mut Page, instances: &[Cursor<'_>]) {
    let meanings = [
        ("ACTIVE", "discovered, and not yet relied upon"),
        ("STALE", "nothing was heard of it within its time to live, and it is not eligible"),
        ("FAILED", "nothing was heard of it within the grace either"),
    ];
    let seen = |state: &str| instances.iter().any(|instance| instance.word("state") == state);
    for (at, (state, meaning)) in meanings.into_iter().filter(|(state, _)| seen(state)).enumerate() {
        if at == 0 {
            page.heading("States");
        }
        page.text(format!("{state}: {meaning}"));
    }
}

/// What to do about a cache that has nothing.
fn why_empty(agent: Cursor<'_>) -> String {
    if !agent.is("enabled") {
        return NONE.to_owned();
    }
    match (agent.down("status").count("instances"), agent.down("collection").down("listen").text("address")) {
        (0, None) => {
            "No contact instance is known, and none can connect: set metric-agent collection listen address \
                      ADDRESS, or a source or broker."
                .to_owned()
        }
        (0, Some(address)) => format!(
            "No contact instance is known. Those that report to {address} are taken in where metric-agent admission \
             has them, or allows discovery."
        ),
        (known, _) => format!("None of the {known} known contact instances is asked for."),
    }
}
