//! `show alarms`: what someone should act on.

use super::View;
use super::data::Cursor;
use super::page::Page;
use super::words::{counted, time};

pub(super) const VIEW: View = View {
    words: &["alarms"],
    help: "conditions that stand and that someone should act on",
    narrows: &[],
    reads: &["/alarms/alarm-list/alarm", "/alarms/shelved-alarms/number-of-shelved-alarms"],
    page,
};

/// What all places of ours begin with, which is left out.
const HOME: &str = "/ietf-routing:routing/ietf-cats:cats/";

fn page(home: Cursor<'_>) -> Page {
    let mut page = Page::default();
    let alarms = home.top().down("alarms");
    let (cleared, mut standing): (Vec<Cursor<'_>>, Vec<Cursor<'_>>) = alarms
        .down("alarm-list")
        .entries("alarm")
        .into_iter()
        .partition(|alarm| alarm.word("is-cleared") == "true");
    // Those that came last are looked for.
    standing.sort_by_key(|alarm| std::cmp::Reverse(alarm.word("last-raised")));
    match standing.len() {
        0 => page.note("No alarm stands."),
        count => page.note(format!("{}, the newest first", counted(count as u64, "alarm"))),
    }
    for alarm in standing {
        let (kind, resource) = (alarm.word("alarm-type-id"), alarm.word("resource"));
        let place = resource.strip_prefix(HOME).unwrap_or(&resource);
        let since = time(&alarm.word("last-raised"));
        let severity = alarm.word("perceived-severity");
        page.heading(format!("{since}  {severity}  {}  {}", bare(&kind), bare(place)));
        page.text(alarm.word("alarm-text"));
        let acts = alarm.entries("operator-state-change");
        if let Some(act) = acts.iter().max_by_key(|act| act.word("time")) {
            page.text(format!("{} by {}: {}", act.word("state"), act.word("operator"), act.word("text")));
        }
    }
    let shelved = alarms.down("shelved-alarms").number("number-of-shelved-alarms").unwrap_or(0);
    for (count, what) in [(cleared.len() as u64, "cleared"), (shelved, "on a shelf")] {
        if count > 0 {
            page.note(format!("{} {what}", counted(count, "more alarm")));
        }
    }
    page
}

/// A name without its module.
fn bare(name: &str) -> &str {
    let end = name.find(['/', '[']).unwrap_or(name.len());
    name.get(..end).and_then(|first| first.find(':')).and_then(|at| name.get(at + 1..)).unwrap_or(name)
}
