//! The stream of events: who is told what, in which order, and what becomes of those who do not listen.

#![allow(clippy::unwrap_used, clippy::panic)] // a failed set-up is a failed test

mod acm;
mod node;

use acm::{in_bench, merge, nacm_of, rule, user};
use cats_mgmtd_core::{
    Alarm, CommitOptions, Confirmed, End, EventLimits, Filter, GivenIn, Limits, Logged, NmdaDatastore, Reply,
    Request, Selection, SessionId, Subscribe,
};
use cats_yang_tree::build::{SchemaBuilder, Scope, Ty};
use cats_yang_tree::error::{ErrorInfo, ErrorTag};
use cats_yang_tree::schema::Schema;
use cats_yang_tree::time::date_and_time;
use node::{Node, commit};
use std::sync::Arc;
use std::time::Duration;

const NCN: &str = "urn:ietf:params:xml:ns:yang:ietf-netconf-notifications";

fn schema() -> Arc<Schema> {
    let acm = "urn:ietf:params:xml:ns:yang:ietf-netconf-acm";
    let schema = SchemaBuilder::new()
        .module("ietf-netconf-acm", acm, "nacm", acm::nacm)
        .module("ietf-netconf-notifications", NCN, "ncn", base_events)
        .module("nc-notifications", "urn:ietf:params:xml:ns:netmod:notification", "manageEvent", |m| {
            m.state(|s| {
                s.container("netconf", |c| {
                    c.container("streams", |c| {
                        c.list("stream", &["name"], |l| {
                            l.leaf("name", Ty::string());
                            l.leaf("description", Ty::string());
                            l.leaf("replaySupport", Ty::boolean());
                            l.leaf("replayLogCreationTime", Ty::string());
                        });
                    });
                });
            });
            m.notification("replayComplete", |_| {});
            m.notification("notificationComplete", |_| {});
        })
        .module("probe-bench", acm::NS, "pb", |m| {
            m.container("bench", acm::bench);
            m.container("other", |c| {
                c.leaf("knob", Ty::uint32());
            });
        })
        .module("cats-system", "urn:catsd:yang:cats-system", "csys", |m| {
            m.augment("netconf-config-change", |c| {
                c.leaf("edits-left-out", Ty::uint32());
            });
        });
    Arc::new(schema.build().unwrap())
}

fn base_events(m: &mut Scope<'_>) {
    let by = |c: &mut Scope<'_>| {
        c.leaf("username", Ty::string());
        c.leaf("session-id", Ty::uint32());
        c.leaf("source-host", Ty::string());
    };
    m.notification("netconf-config-change", |n| {
        n.container("changed-by", |c| {
            c.leaf("server", Ty::empty());
            by(c);
        });
        n.leaf("datastore", Ty::string());
        n.list("edit", &[], |l| {
            l.leaf("target", Ty::instance_identifier(false));
            l.leaf("operation", Ty::string());
        });
    });
    m.notification("netconf-session-start", by);
    m.notification("netconf-session-end", |n| {
        by(n);
        n.leaf("killed-by", Ty::uint32());
        n.leaf("termination-reason", Ty::string());
    });
    m.notification("netconf-confirmed-commit", |n| {
        by(n);
        n.leaf("confirm-event", Ty::string());
        n.leaf("timeout", Ty::uint32());
    });
}

fn node() -> (Node, SessionId) {
    let mut node = Node::of(schema(), Limits::default(), &[], false);
    let mut administrator = user("root");
    administrator.recovery = true;
    administrator.source_host = Some("192.0.2.7".to_owned());
    let root = node.open_as(administrator).unwrap();
    (node, root)
}

fn wanted() -> Subscribe {
    Subscribe { stream: "NETCONF".to_owned(), filter: None, start_us: None, stop_us: None }
}

fn subscribe(wanted: Subscribe) -> Request {
    Request::Subscribe(Box::new(wanted))
}

fn set(node: &mut Node, session: SessionId, content: &str) {
    node.ok(session, merge(&in_bench(content)));
    node.ok(session, commit());
}

fn knob(node: &mut Node, session: SessionId, value: u32) {
    set(node, session, &format!("<knob>{value}</knob>"));
}

/// The value of an element that stands once.
fn text<'a>(notice: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = notice.split_once(&format!("<{name}"))?;
    let (_, rest) = rest.split_once('>')?;
    rest.split_once(&format!("</{name}>")).map(|(text, _)| text)
}

fn of(notices: &[String], name: &str) -> usize {
    notices.iter().filter(|notice| notice.contains(&format!("<{name}"))).count()
}

fn bad_element(node: &mut Node, session: SessionId, wanted: Subscribe) -> (ErrorTag, Vec<ErrorInfo>) {
    let error = node.refused(session, subscribe(wanted));
    (error.tag, error.info)
}

/// The cases N02 and N04, and the other errors of RFC 5277 section 2.1.1.
#[test]
fn what_no_stream_can_give_is_refused_by_the_element_that_asks_for_it() {
    let (mut node, root) = node();
    let now = node.now.unix_us;
    let named = |name: &str| vec![ErrorInfo::BadElement(name.to_owned())];
    let future = Subscribe { start_us: Some(now + 1), ..wanted() };
    assert_eq!(bad_element(&mut node, root, future), (ErrorTag::BadElement, named("startTime")));
    let unknown = Subscribe { stream: "SNMP".to_owned(), ..wanted() };
    assert_eq!(bad_element(&mut node, root, unknown), (ErrorTag::BadElement, named("stream")));
    let no_start = Subscribe { stop_us: Some(now), ..wanted() };
    assert_eq!(bad_element(&mut node, root, no_start), (ErrorTag::MissingElement, named("startTime")));
    let backwards = Subscribe { start_us: Some(now), stop_us: Some(now - 1), ..wanted() };
    assert_eq!(bad_element(&mut node, root, backwards), (ErrorTag::BadElement, named("stopTime")));
    node.ok(root, subscribe(wanted()));
    assert_eq!(node.refused(root, subscribe(wanted())).tag, ErrorTag::InUse);
}

/// The case N08: who changed the configuration, and what of it, behind the answer to the commit.
#[test]
fn a_commit_is_told_with_its_user_its_session_and_its_edits() {
    let (mut node, root) = node();
    let ann = node.open("ann");
    node.ok(ann, subscribe(wanted()));
    assert_eq!(node.listening, [(ann, true)]);
    set(&mut node, root, "<knob>1</knob><item><name>a'b</name></item>");
    let told = node.told_to(ann);
    let [change] = told.as_slice() else { panic!("{told:?}") };
    assert!(change.starts_with("<notification xmlns=\"urn:ietf:params:xml:ns:netconf:notification:1.0\">"));
    assert_eq!(text(change, "eventTime"), Some(date_and_time(node.now.unix_us).as_str()));
    assert_eq!(text(change, "username"), Some("root"));
    assert_eq!(text(change, "session-id"), Some(root.to_string().as_str()));
    assert_eq!(text(change, "source-host"), Some("192.0.2.7"));
    assert_eq!(text(change, "datastore"), Some("running"));
    let edit = "<target xmlns:pb=\"urn:probe:bench\">/pb:bench/pb:knob</target><operation>create</operation>";
    assert!(change.contains(edit), "{change}");
    assert!(change.contains("/pb:bench/pb:item[pb:name=\"a'b\"]</target>"), "{change}");
    knob(&mut node, root, 2);
    assert!(node.told_to(ann)[0].contains("<operation>replace</operation>"));
    assert!(node.told_to(root).is_empty(), "who has not subscribed is told nothing");
}

#[test]
fn sessions_and_confirmed_commits_are_told() {
    let (mut node, root) = node();
    node.ok(root, subscribe(wanted()));
    let ann = node.open("ann");
    node.drop_session(ann);
    let bob = node.open("bob");
    node.ok(root, Request::KillSession { session: bob });
    let told = node.told_to(root);
    assert_eq!((of(&told, "netconf-session-start"), of(&told, "netconf-session-end")), (2, 2), "{told:?}");
    assert_eq!(text(&told[0], "username"), Some("ann"));
    assert_eq!(text(&told[1], "termination-reason"), Some("dropped"));
    assert_eq!(text(&told[1], "source-host"), Some("192.0.2.1"));
    assert_eq!(text(&told[3], "killed-by"), Some(root.to_string().as_str()));
    node.ok(root, merge(&in_bench("<knob>9</knob>")));
    let confirmed = Some(Confirmed { timeout_s: 60, persist: None });
    node.ok(root, Request::Commit(CommitOptions { confirmed, ..CommitOptions::default() }));
    node.pass(Duration::from_secs(61));
    let told = node.told_to(root);
    let events: Vec<_> = told.iter().filter_map(|notice| text(notice, "confirm-event")).collect();
    assert_eq!(events, ["start", "timeout"]);
    let back = told.iter().rfind(|notice| notice.contains("config-change")).unwrap();
    assert!(back.contains("<changed-by><server/></changed-by>"), "{back}");
    let start = told.iter().find(|notice| notice.contains("confirm-event")).unwrap();
    assert_eq!((text(start, "timeout"), text(start, "username")), (Some("60"), Some("root")));
}

#[test]
fn filters_let_through_whole_events_that_they_select() {
    let (mut node, root) = node();
    let schema = Arc::clone(&node.schema);
    let subtree =
        |inner: &str| Filter::subtree(&schema, &format!("<filter xmlns:n='{NCN}'>{inner}</filter>")).unwrap();
    let xpath = |select: &str| {
        let namespaces = vec![("n".to_owned(), NCN.to_owned())];
        Filter::of_notices(&schema, GivenIn::Filter, select.to_owned(), namespaces).unwrap()
    };
    let filters = [
        (subtree("<n:netconf-config-change/>"), 1),
        (subtree("<n:netconf-session-start><n:username>eve</n:username></n:netconf-session-start>"), 1),
        (subtree("<n:netconf-session-start><n:username>nobody</n:username></n:netconf-session-start>"), 0),
        (subtree(""), 0),
        (xpath("/n:netconf-config-change/n:edit[n:operation='create']"), 1),
        (xpath("/n:netconf-config-change/n:edit[n:operation='delete']"), 0),
        (xpath("//n:username[. = 'eve']"), 1),
        (xpath("true()"), 2),
    ];
    let sessions: Vec<_> = filters
        .into_iter()
        .map(|(filter, count)| {
            let session = node.open("ann");
            node.ok(session, subscribe(Subscribe { filter: Some(filter), ..wanted() }));
            (session, count)
        })
        .collect();
    sessions.iter().for_each(|(session, _)| drop(node.told_to(*session)));
    node.open("eve");
    knob(&mut node, root, 5);
    for (session, count) in sessions {
        let told = node.told_to(session);
        assert_eq!(told.len(), count, "{told:?}");
        assert!(told.iter().all(|notice| notice.contains("<session-id>")), "an event is whole: {told:?}");
    }
}

/// The cases N06 and P47: each event once, in the order of time, then one replayComplete.
#[test]
fn a_replay_tells_what_is_kept_once_and_its_end_and_goes_on_with_what_happens() {
    let (mut node, root) = node();
    let start = node.now.unix_us;
    for value in 1..=100 {
        node.now.unix_us += 1_000_000;
        knob(&mut node, root, value);
    }
    let ann = node.open("ann");
    node.ok(ann, subscribe(Subscribe { start_us: Some(start + 11_000_000), ..wanted() }));
    let told = node.told_to(ann);
    assert_eq!(of(&told, "netconf-config-change"), 90);
    assert_eq!(of(&told, "replayComplete"), 1);
    assert!(told.last().unwrap().contains("<replayComplete"), "{:?}", told.last());
    let times: Vec<_> = told.iter().filter_map(|notice| text(notice, "eventTime")).collect();
    assert!(times.is_sorted() && times[0] == date_and_time(start + 11_000_000), "{times:?}");
    knob(&mut node, root, 1000);
    assert_eq!(of(&node.told_to(ann), "netconf-config-change"), 1);

    let bob = node.open("bob");
    let past =
        Subscribe { start_us: Some(start + 20_000_000), stop_us: Some(start + 29_000_000), ..wanted() };
    node.ok(bob, subscribe(past));
    let told = node.told_to(bob);
    assert_eq!(of(&told, "netconf-config-change"), 10);
    assert!(told[10].contains("<replayComplete") && told[11].contains("<notificationComplete"), "{told:?}");
    assert_eq!(told.len(), 12);
    assert_eq!(node.listening.last(), Some(&(bob, false)));
    knob(&mut node, root, 1001);
    assert!(node.told_to(bob).is_empty());
    node.ok(bob, subscribe(wanted()));
}

/// Proves of the case P54 that the end of a subscription comes by the clock that nobody sets.
#[test]
fn a_subscription_ends_at_its_stop_time_whatever_the_wall_clock_does() {
    let (mut node, root) = node();
    let (start_us, stop_us) = (Some(node.now.unix_us), Some(node.now.unix_us + 10_000_000));
    node.ok(root, subscribe(Subscribe { start_us, stop_us, ..wanted() }));
    assert_eq!(of(&node.told_to(root), "replayComplete"), 1);
    node.now.unix_us -= 600_000;
    node.pass(Duration::from_secs(9));
    assert!(node.told_to(root).is_empty());
    let due = node.core.poll_timeout().unwrap();
    assert_eq!(due, (node.now.instant + Duration::from_secs(1), "stop of events"));
    node.pass(Duration::from_secs(1));
    assert_eq!(of(&node.told_to(root), "notificationComplete"), 1);
    assert_eq!(node.core.poll_timeout(), None);
}

fn ruled(about: &str) -> (Node, SessionId, SessionId) {
    let (mut node, root) = node();
    node.ok(root, merge(&nacm_of("", "g", &[rule("r", about, "*", false)])));
    node.ok(root, commit());
    let ada = node.open("ada");
    (node, root, ada)
}

fn denied(node: &mut Node, session: SessionId) -> String {
    let selection = Selection::default();
    let reply = node.ask(session, Request::GetData { datastore: NmdaDatastore::Operational, selection });
    let Reply::Data(reading) = reply else { panic!("{reply:?}") };
    text(&reading.to_xml(&node.schema).unwrap(), "denied-notifications").unwrap().to_owned()
}

/// The case A16, and the rules as they are when something is told.
#[test]
fn a_notification_that_a_rule_denies_is_not_delivered_and_is_counted() {
    let (mut node, root, ada) = ruled("<notification-name>netconf-config-change</notification-name>");
    node.ok(ada, subscribe(wanted()));
    knob(&mut node, root, 1);
    node.open("eve");
    let told = node.told_to(ada);
    assert_eq!((told.len(), of(&told, "netconf-session-start")), (1, 1), "{told:?}");
    assert_eq!(denied(&mut node, root), "1");
    node.ok(root, merge(&nacm_of("<enable-nacm>false</enable-nacm>", "g", &[])));
    node.ok(root, commit());
    assert_eq!(of(&node.told_to(ada), "netconf-config-change"), 1);
}

/// The case P52: edits of what the receiver may not read are not told, and no notification with none left.
#[test]
fn edits_that_may_not_be_read_are_left_out_and_without_any_there_is_no_notification() {
    let (mut node, root, ada) = ruled("<path>/pb:bench/pb:item</path>");
    node.ok(ada, subscribe(wanted()));
    set(&mut node, root, "<knob>1</knob><item><name>a</name></item>");
    let told = node.told_to(ada);
    assert!(told[0].contains("pb:knob") && !told[0].contains("pb:item"), "{told:?}");
    set(&mut node, root, "<item><name>b</name></item>");
    assert!(node.told_to(ada).is_empty());
    assert_eq!(denied(&mut node, root), "1");
}

#[test]
fn a_change_of_many_nodes_tells_some_and_how_many_it_leaves_out() {
    let (mut node, root) = node();
    node.ok(root, subscribe(wanted()));
    let items: String = (0..700).map(|at| format!("<item><name>i{at}</name></item>")).collect();
    set(&mut node, root, &items);
    let told = node.told_to(root);
    assert_eq!(told[0].matches("<edit>").count(), 500);
    assert_eq!(text(&told[0], "edits-left-out"), Some("200"));
}

#[test]
fn who_does_not_read_lags_and_is_told_everything_when_it_does() {
    let (mut node, root) = node();
    let (ann, bob) = (node.open("ann"), node.open("bob"));
    node.ok(ann, subscribe(wanted()));
    node.ok(bob, subscribe(wanted()));
    node.deaf.insert(ann, std::collections::VecDeque::new());
    for value in 1..=300 {
        knob(&mut node, root, value);
    }
    assert_eq!(node.told_to(bob).len(), 300, "others are told");
    assert_eq!(node.deaf[&ann].len(), 64, "so many may be out");
    node.hear(ann);
    assert_eq!(node.told_to(ann).len(), 300);
}

#[test]
fn who_lags_behind_what_is_kept_loses_its_session_and_nobody_else_does() {
    let (mut node, root) = node();
    node.core.handle_event_limits(EventLimits { bytes: 20_000, ..EventLimits::default() }, node.now);
    let (ann, bob) = (node.open("ann"), node.open("bob"));
    node.ok(ann, subscribe(wanted()));
    node.ok(bob, subscribe(wanted()));
    node.deaf.insert(ann, std::collections::VecDeque::new());
    for value in 1..=300 {
        knob(&mut node, root, value);
    }
    node.hear(ann);
    assert_eq!(node.ended, [(ann, End::Behind)]);
    let told = node.told_to(bob);
    assert_eq!(of(&told, "netconf-config-change"), 300);
    assert_eq!(text(told.last().unwrap(), "termination-reason"), Some("other"));
}

#[test]
fn what_is_too_old_is_not_replayed() {
    let (mut node, root) = node();
    let start_us = Some(node.now.unix_us);
    knob(&mut node, root, 1);
    node.pass(Duration::from_secs(8 * 24 * 3600));
    knob(&mut node, root, 2);
    node.ok(root, subscribe(Subscribe { start_us, ..wanted() }));
    assert_eq!(of(&node.told_to(root), "netconf-config-change"), 1);
}

#[test]
fn events_that_were_kept_are_replayed_after_a_restart() {
    let (mut before, root) = node();
    let start_us = Some(before.now.unix_us);
    for value in 1..=80 {
        knob(&mut before, root, value);
    }
    let kept =
        before.kept.iter().map(|event| Logged::kept(event.seq, event.unix_us, Arc::clone(event.text())));
    let kept: Vec<Logged> = kept.collect();
    let mut node = Node::of(schema(), Limits::default(), &[], false);
    node.core.handle_kept_events(Ok((7, kept)), EventLimits::default(), node.now);
    let ann = node.open("ann");
    node.ok(ann, subscribe(Subscribe { start_us, ..wanted() }));
    let told = node.told_to(ann);
    assert_eq!(of(&told, "netconf-config-change"), 80);
    assert_eq!(node.kept.first().map(|event| event.seq), before.kept.last().map(|event| event.seq + 1));
    let state = Request::Get(Selection::default());
    let Reply::Data(reading) = node.ask(ann, state) else { panic!("data") };
    let xml = reading.to_xml(&node.schema).unwrap();
    assert_eq!(text(&xml, "replayLogCreationTime"), Some("1970-01-01T00:00:00.000007Z"));
}

#[test]
fn a_full_disk_is_an_alarm_and_costs_no_event() {
    let (mut node, root) = node();
    node.ok(root, subscribe(wanted()));
    node.disk_is_full = true;
    knob(&mut node, root, 1);
    knob(&mut node, root, 2);
    assert!(matches!(node.alarms().as_slice(), [Alarm::NoEvents { .. }]), "{:?}", node.alarms());
    assert_eq!(node.told_to(root).len(), 2);
    let before = node.kept.len();
    node.pass(Duration::from_secs(10));
    assert_eq!(node.kept.len(), before);
    node.disk_is_full = false;
    node.pass(Duration::from_secs(10));
    assert!(node.alarms().is_empty());
    assert_eq!(node.kept.len(), before + 2);
    assert!(node.kept.windows(2).all(|pair| pair[0].seq + 1 == pair[1].seq));
}
