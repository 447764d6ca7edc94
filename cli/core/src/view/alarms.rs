//! `show alarms`: what someone should act on.

use super::View;
use super::data::Cursor;
use super::page::Page;
use super::words::{counted, time};

pub(super) const VIEW: View = View {
    words: &["alarms"],
    help: "conditions that stand and that someone should act on",
    narrows: &[],
    reads: &["system/alarms"],
    page,
};

fn page(home: Cursor<'_>) -> Page {
    let mut page = Page::default();
    let mut alarms = home.down("system").down("alarms").entries("alarm");
    // Those that came last are looked for.
    alarms.sort_by_key(|alarm| std::cmp::Reverse(alarm.word("time-created")));
    match alarms.len() {
        0 => page.note("No alarm stands."),
        count => page.note(format!("{}, the newest first", counted(count as u64, "alarm"))),
    }
    for alarm in alarms {
        let (kind, resource, component) =
            (alarm.word("alarm-type"), alarm.word("resource"), alarm.word("component"));
        let of = if resource == component { String::new() } else { format!(" of {component}") };
        page.heading(format!("{}  {kind}  {resource}{of}", time(&alarm.word("time-created"))));
        page.text(alarm.word("alarm-text"));
    }
    page
}
