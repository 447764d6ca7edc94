//! `show sma quarantine`: the reports that wait for an operator.

use super::View;
use super::agent::{NONE, waits};
use super::cache::doubt;
use super::data::Cursor;
use super::page::{Page, Table, left, right};
use super::services::{NAMES, Names};
use super::words::{counted, duration, several, time};

pub(super) const VIEW: View = View {
    words: &["sma", "quarantine"],
    help: "reports in doubt, until request release-quarantined or request drop-quarantined",
    narrows: &[],
    reads: &[
        "metric-agent/quarantine/report",
        "metric-agent/quarantine/waiting",
        "metric-agent/quarantine/pushed-out",
        "metric-agent/quarantine/max-reports",
        "metric-agent/enabled",
        NAMES,
    ],
    page,
};

fn page(home: Cursor<'_>) -> Page {
    let mut page = Page::default();
    let (agent, names) = (home.down("metric-agent"), Names::of(home));
    let quarantine = agent.down("quarantine");
    let reports = quarantine.entries("report");
    if !agent.is("enabled") {
        page.note(NONE);
        return page;
    }
    let room = quarantine.text("max-reports").map(|max| format!("room for {max}")).unwrap_or_default();
    let out = quarantine.count("pushed-out");
    let lost =
        if out == 0 { String::new() } else { format!("{} dropped for want of room", counted(out, "report")) };
    match quarantine.count("waiting") {
        0 => page.note(several(["No report waits".to_owned(), room, lost])),
        waiting => page.note(several([waits(waiting), room, lost])),
    }
    if reports.is_empty() {
        page.note(
            "Reports wait here where a reaction of metric-agent validation is quarantine and their values changed too \
             fast.",
        );
        return page;
    }
    page.table(table(&reports, &names));
    page.note(
        "request release-quarantined report ID takes its values in, unless a later report was taken in meanwhile; \
         request drop-quarantined report ID forgets it. Both take cs-id, csci-id and all too.",
    );
    page
}

fn table(reports: &[Cursor<'_>], names: &Names) -> Table {
    let mut table = Table::new(&[
        right("ID"),
        left("SERVICE"),
        left("INSTANCE"),
        left("RECEIVED"),
        right("SLOTS"),
        right("COMPUTING"),
        left("HEALTH"),
        left("WHY IT WAITS"),
    ]);
    for report in reports {
        let values = report.down("values");
        table.row([
            report.word("id"),
            names.service(&report.word("cs-id")),
            report.word("csci-id"),
            time(&report.word("received")),
            values.word("gas"),
            duration(values.number("computing-us")),
            values.word("health"),
            several(report.words("doubt").iter().map(|name| doubt(name))),
        ]);
    }
    table
}
