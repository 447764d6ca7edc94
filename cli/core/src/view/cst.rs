//! `show cst`: what the path selector knows of each instance, who says so, and how old that is.

use super::data::Cursor;
use super::page::{Page, Table, left, right};
use super::services::{NAMES, Names};
use super::words::{counted, duration, several, some, span, span_of, where_so};
use super::{INSTANCE, SERVICE, View};

pub(super) const VIEW: View = View {
    words: &["cst"],
    help: "the computing service table: capacity of each instance, with source and age",
    narrows: &[SERVICE, INSTANCE],
    reads: &[
        "path-selector/service-table/entry",
        "path-selector/service-table/generation",
        "path-selector/enabled",
        "path-selector/agent/node-id",
        "path-selector/agents/status/connected",
        NAMES,
    ],
    page,
};

fn page(home: Cursor<'_>) -> Page {
    let mut page = Page::default();
    let selector = home.down("path-selector");
    let names = Names::of(home);
    let entries = selector.down("service-table").entries("entry");
    if let Some(generation) = selector.down("service-table").text("generation") {
        page.note(format!("Computing service table, generation {generation}"));
    }
    let mut of_service: Vec<Cursor<'_>> = Vec::new();
    let mut entries = entries.into_iter().peekable();
    while let Some(entry) = entries.next() {
        let service = entry.word("cs-id");
        of_service.push(entry);
        if entries.peek().is_none_or(|next| next.word("cs-id") != service) {
            page.heading(format!("Service {}: {}", names.service(&service), sums(&of_service)));
            page.table(table(&of_service));
            of_service.clear();
        }
    }
    if page_is_empty(selector) {
        page.note(why_empty(selector));
    }
    page
}

fn page_is_empty(selector: Cursor<'_>) -> bool {
    selector.down("service-table").entries("entry").is_empty()
}

/// One line about all instances of a service: what new flows find.
fn sums(entries: &[Cursor<'_>]) -> String {
    let usable: Vec<&Cursor<'_>> = entries.iter().filter(|entry| is_usable(entry)).collect();
    let unlimited = usable.iter().any(|entry| entry.number("gas").is_none());
    let free: u64 =
        usable.iter().map(|entry| entry.count("gas").saturating_sub(entry.count("reserved"))).sum();
    let slots = if unlimited { "slots without limit".to_owned() } else { counted(free, "free slot") };
    let count = entries.len() as u64;
    let usable = match usable.len() as u64 {
        usable if usable == count => String::new(),
        usable => format!(", {usable} of them usable"),
    };
    format!("{slots}, {}{usable}", counted(count, "instance"))
}

/// Whether a new flow may go there, as far as the table says.
fn is_usable(entry: &Cursor<'_>) -> bool {
    let admits = matches!(entry.word("health").as_str(), "healthy" | "degraded");
    entry.is("valid") && admits && entry.number("gas") != Some(0)
}

fn table(entries: &[Cursor<'_>]) -> Table {
    let mut table = Table::new(&[
        left("INSTANCE"),
        left("SOURCE"),
        right("SLOTS"),
        right("RESERVED"),
        right("COMPUTING"),
        left("HEALTH"),
        right("AGE"),
        right("EXPIRES IN"),
        left("NOTES"),
    ]);
    for entry in entries {
        let mut records = entry.entries("record");
        // The one that selects stands beside the name of the instance.
        records.sort_by_key(|record| !record.is("selects"));
        let reserved = some(entry.count("reserved"), "");
        if records.is_empty() {
            let notes = "no source says anything of it".to_owned();
            table.row([
                entry.word("csci-id"),
                String::new(),
                String::new(),
                reserved.trim().to_owned(),
                String::new(),
                String::new(),
                String::new(),
                String::new(),
                notes,
            ]);
            continue;
        }
        for (at, record) in records.iter().enumerate() {
            // Another record of the same instance stands below it, without a mark that there is nothing to say.
            let first = |text: String| if at == 0 { text } else { " ".to_owned() };
            table.row([
                first(entry.word("csci-id")),
                record.word("source"),
                record.text("gas").unwrap_or_else(|| "unlimited".to_owned()),
                first(reserved.trim().to_owned()),
                duration(record.number("computing-us")),
                record.word("health"),
                span_of(record.number("age")),
                expiry(record),
                notes(record),
            ]);
        }
    }
    table
}

fn expiry(record: &Cursor<'_>) -> String {
    match record.number("expires-in") {
        None => "never".to_owned(),
        Some(0) => "expired".to_owned(),
        Some(left) => span(left),
    }
}

fn notes(record: &Cursor<'_>) -> String {
    let authorised = record.is("authorised");
    several([
        where_so(record.is("selects") && record.is("valid"), "selects"),
        where_so(record.is("selects") && !record.is("valid"), "not usable: expired"),
        where_so(!authorised, "not used: its agent may not speak of this instance"),
        where_so(authorised && !record.is("selects"), "stands by"),
        where_so(record.is("flagged"), "in doubt at its agent"),
    ])
}

/// What to do about a table that has nothing.
fn why_empty(selector: Cursor<'_>) -> String {
    if !selector.is("enabled") {
        return "This node is no path selector: set path-selector enabled true, on the node that is to be one.".to_owned();
    }
    let agents = selector.entries("agent").len() as u64;
    let connected =
        selector.down("agents").entries("status").iter().filter(|agent| agent.is("connected")).count();
    match agents {
        0 => "Nothing is known: set path-selector agent NAME for metric agents that may advertise, or \
              service-metrics service-metric for what is to be fixed."
            .to_owned(),
        _ => format!(
            "Nothing is known: of {}, {connected} connected. See show state path-selector agents.",
            counted(agents, "metric agent")
        ),
    }
}
