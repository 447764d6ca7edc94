//! Subscriptions to datastores: who is told what, when.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)] // tests

mod subscriber;

use cats_mgmtd_core::{LEAST_PERIOD_CS, NmdaDatastore};
use cats_yang_tree::error::ErrorTag;
use std::time::Duration;
use subscriber::{
    Copy, DS, NS, SN, World, YP, datastore, establish, hints, name_of, on_change, periodic, subtree, with_id,
    xpath,
};

fn all_of_running() -> String {
    datastore("running") + &subtree("")
}

fn on_all_changes() -> String {
    all_of_running() + &on_change("")
}

#[test]
fn all_is_told_at_the_start_and_changes_afterwards() {
    let mut world = World::new();
    let root = world.administrator();
    world.change(root, "<knob>1</knob><item><name>a</name><size>1</size></item>");
    let id = world.establish(root, &on_all_changes());
    world.ms(0);
    let heard = world.heard(root);
    assert_eq!(heard.len(), 1, "{heard:?}");
    let whole = format!(
        "<push-update xmlns=\"{YP}\"><id>{id}</id><datastore-contents><bench xmlns=\"{NS}\"><knob>1</knob><item>\
         <name>a</name><size>1</size></item></bench></datastore-contents></push-update>"
    );
    assert!(heard[0].contains(&whole), "{}", heard[0]);
    assert!(heard[0].contains("<eventTime>2026-11-30T12:00:00.000000Z</eventTime>"), "{}", heard[0]);
    world.change(root, "<knob>2</knob><item><name>b/c</name></item>");
    world.ms(10);
    let heard = world.heard(root);
    assert_eq!(heard.len(), 1, "{heard:?}");
    let changes = format!(
        "<push-change-update xmlns=\"{YP}\"><id>{id}</id><datastore-changes><yang-patch><patch-id>0</patch-id><edit>\
         <edit-id>1</edit-id><operation>replace</operation><target>/probe-bench:bench/knob</target><value><knob \
         xmlns=\"{NS}\">2</knob></value></edit><edit><edit-id>2</edit-id><operation>create</operation>\
         <target>/probe-bench:bench/item=b%2Fc</target><value><item xmlns=\"{NS}\"><name>b/c</name></item></value>\
         </edit></yang-patch></datastore-changes></push-change-update>"
    );
    assert!(heard[0].contains(&changes), "{}", heard[0]);
}

#[test]
fn changes_of_ten_milliseconds_are_told_together_and_what_came_and_went_is_not() {
    let mut world = World::new();
    let root = world.administrator();
    world.establish(root, &on_all_changes());
    world.ms(5);
    world.heard(root);
    for knob in 1..=3 {
        world.change(root, &format!("<knob>{knob}</knob>"));
        world.ms(3);
    }
    world.ms(2);
    let heard = world.heard(root);
    assert_eq!(heard.len(), 1, "{heard:?}");
    assert!(heard[0].contains(">3</knob>") && heard[0].contains("create"), "{}", heard[0]);
    world.change(root, "<knob>4</knob>");
    world.change(root, "<knob>3</knob>");
    world.ms(1000);
    assert_eq!(world.heard(root), Vec::<String>::new());
}

/// The case Y05.
#[test]
fn a_burst_within_the_dampening_period_is_told_once_with_the_newest_value() {
    let mut world = World::new();
    let root = world.administrator();
    let dampened = on_change("<yp:dampening-period>100</yp:dampening-period>");
    world.establish(root, &(all_of_running() + &dampened));
    world.ms(2000);
    world.heard(root);
    for knob in 1..=20 {
        world.change(root, &format!("<knob>{knob}</knob>"));
        world.ms(15);
    }
    let heard = world.heard(root);
    assert_eq!(heard.len(), 1, "{heard:?}");
    assert!(heard[0].contains(">1</knob>"), "{}", heard[0]);
    world.ms(1000);
    let heard = world.heard(root);
    assert_eq!(heard.len(), 1, "{heard:?}");
    assert!(heard[0].contains(">20</knob>"), "{}", heard[0]);
}

/// The case Y04.
#[test]
fn excluded_changes_are_not_told() {
    let mut world = World::new();
    let root = world.administrator();
    world.change(root, "<knob>1</knob><mode>m</mode>");
    let excluding = on_change("<yp:excluded-change>delete</yp:excluded-change>");
    world.establish(root, &(all_of_running() + &excluding));
    world.ms(10);
    world.heard(root);
    world.change(root, "<knob nc:operation=\"delete\"/>");
    world.ms(100);
    assert_eq!(world.heard(root), Vec::<String>::new());
    world.change(root, "<knob>5</knob><mode nc:operation=\"delete\"/>");
    world.ms(100);
    let heard = world.heard(root);
    assert_eq!(heard.len(), 1, "{heard:?}");
    assert!(heard[0].contains("create") && !heard[0].contains("delete"), "{}", heard[0]);
}

#[test]
fn without_sync_on_start_only_changes_are_told() {
    let mut world = World::new();
    let root = world.administrator();
    world.change(root, "<knob>1</knob>");
    let id =
        world.establish(root, &(all_of_running() + &on_change("<yp:sync-on-start>false</yp:sync-on-start>")));
    world.ms(1000);
    assert_eq!(world.heard(root), Vec::<String>::new());
    world.change(root, "<mode>m</mode>");
    world.ms(10);
    assert_eq!(
        world.heard_when(root).into_iter().map(|(_, name)| name).collect::<Vec<_>>(),
        ["push-change-update"]
    );
    let error = world.refused(root, &with_id(YP, "resync-subscription", id));
    assert_eq!(error.app_tag.as_deref(), Some("ietf-yang-push:on-change-sync-unsupported"));
    assert_eq!(error.tag, ErrorTag::OperationNotSupported);
}

#[test]
fn a_resync_tells_all_of_it_again() {
    let mut world = World::new();
    let root = world.administrator();
    let id = world.establish(root, &on_all_changes());
    world.ms(10);
    world.heard(root);
    world.rpc_output(root, &with_id(YP, "resync-subscription", id));
    world.ms(0);
    assert_eq!(world.heard_when(root).into_iter().map(|(_, name)| name).collect::<Vec<_>>(), ["push-update"]);
    let error = world.refused(root, &with_id(YP, "resync-subscription", id + 1));
    assert_eq!(error.app_tag.as_deref(), Some("ietf-yang-push:no-such-subscription-resync"));
}

/// RFC 8641 section 3.7: by the number a receiver sees that nothing is missing since it was told all.
#[test]
fn patches_are_counted_from_the_last_time_that_all_was_told() {
    let mut world = World::new();
    let root = world.administrator();
    let id = world.establish(root, &on_all_changes());
    let heard = |world: &mut World, knob: u32| {
        world.change(root, &format!("<knob>{knob}</knob>"));
        world.ms(20);
        let heard = world.heard(root).pop().unwrap();
        heard.split("<patch-id>").nth(1).unwrap().split('<').next().unwrap().to_owned()
    };
    world.ms(10);
    assert_eq!([1, 2, 3].map(|knob| heard(&mut world, knob)), ["0", "1", "2"]);
    world.rpc_output(root, &with_id(YP, "resync-subscription", id));
    world.ms(0);
    assert_eq!([4, 5].map(|knob| heard(&mut world, knob)), ["0", "1"]);
}

/// The case Y02.
#[test]
fn periodic_updates_come_at_multiples_of_the_period_from_the_anchor() {
    let mut world = World::new();
    let root = world.administrator();
    let rhythm = "<yp:period>50</yp:period><yp:anchor-time>2020-01-01T00:00:00.2Z</yp:anchor-time>";
    world.establish(root, &(all_of_running() + &periodic(rhythm)));
    world.ms(1500);
    let when: Vec<u128> = world.heard_when(root).into_iter().map(|(at, _)| at).collect();
    assert_eq!(when, [200, 700, 1200]);
}

/// The case P54.
#[test]
fn a_step_of_the_wall_clock_neither_stops_nor_hurries_updates() {
    let mut world = World::new();
    let root = world.administrator();
    let anchor = "<yp:period>100</yp:period><yp:anchor-time>2026-11-30T12:00:00Z</yp:anchor-time>";
    world.establish(root, &(all_of_running() + &periodic(anchor)));
    world.establish(root, &(all_of_running() + &periodic("<yp:period>100</yp:period>")));
    let other = world.administrator();
    let stop = "<stop-time>2026-11-30T12:00:10Z</stop-time>";
    world.establish(other, &(on_all_changes() + stop));
    world.ms(3500);
    world.now.unix_us -= 600_300_000;
    world.ms(3500);
    world.now.unix_us += 1_200_600_000;
    world.ms(2900);
    let heard = world.heard_when(root).len();
    assert!((18..=21).contains(&heard), "{heard}");
    assert_eq!(world.heard_when(other).len(), 1);
    world.ms(200);
    assert_eq!(
        world.heard_when(other).last().map(|(at, name)| (*at, name.as_str())),
        Some((10_000, "subscription-terminated"))
    );
}

#[test]
fn a_period_that_is_too_short_is_refused_with_a_hint() {
    let mut world = World::new();
    let root = world.administrator();
    let error = world.refused(root, &establish(&(all_of_running() + &periodic("<yp:period>1</yp:period>"))));
    assert_eq!(error.app_tag.as_deref(), Some("ietf-yang-push:period-unsupported"));
    assert_eq!(error.tag, ErrorTag::InvalidValue);
    let hint = LEAST_PERIOD_CS.to_string();
    let wanted = [("reason", "ietf-yang-push:period-unsupported"), ("period-hint", hint.as_str())];
    assert_eq!(hints(&error), wanted.map(|(name, value)| (name.to_owned(), value.to_owned())));
}

/// The case Y11.
#[test]
fn a_filter_that_is_no_expression_is_refused_with_a_hint() {
    let mut world = World::new();
    let root = world.administrator();
    for select in ["/pb:bench[", "/nobody:bench", "count(/pb:bench)", "/pb:bench/pb:item[unknown()]"] {
        let asked = establish(&(datastore("running") + &xpath(select) + &on_change("")));
        let error = world.refused(root, &asked);
        let identity = "ietf-subscribed-notifications:filter-unsupported";
        assert_eq!(
            (error.app_tag.as_deref(), error.tag),
            (Some(identity), ErrorTag::InvalidValue),
            "{select}"
        );
        let hints = hints(&error);
        assert_eq!(hints[0], ("reason".to_owned(), identity.to_owned()));
        assert_eq!(hints[1].0, "filter-failure-hint");
    }
}

#[test]
fn an_xpath_filter_selects_what_it_names() {
    let mut world = World::new();
    let root = world.administrator();
    let id = world
        .establish(root, &(datastore("running") + &xpath("/pb:bench/pb:item[pb:size > 5]") + &on_change("")));
    let mut copy = Copy::of(&world.schema, id);
    for size in [3, 7, 9, 2] {
        world.change(root, &format!("<knob>{size}</knob><item><name>a</name><size>{size}</size></item>"));
        world.ms(20);
    }
    let heard = world.heard(root);
    let words: Vec<_> = ["push-update", "create", "replace", "delete"].into_iter().collect();
    assert_eq!(heard.len(), words.len(), "{heard:?}");
    for (heard, word) in heard.iter().zip(words) {
        assert!(heard.contains(word) && !heard.contains("knob"), "{heard}");
        copy.hear(heard);
    }
    assert_eq!(copy.to_xml(), "");
}

/// The case Y07.
#[test]
fn only_the_session_of_a_subscription_deletes_or_modifies_it() {
    let mut world = World::new();
    let (root, other) = (world.administrator(), world.administrator());
    let id = world.establish(root, &on_all_changes());
    let identity = Some("ietf-subscribed-notifications:no-such-subscription");
    let error = world.refused(other, &with_id(SN, "delete-subscription", id));
    assert_eq!((error.app_tag.as_deref(), error.tag), (identity, ErrorTag::InvalidValue));
    let modify = format!(
        "<modify-subscription xmlns=\"{SN}\" xmlns:yp=\"{YP}\" xmlns:ds=\"{DS}\"><id>{id}</id>{}</modify-subscription>",
        datastore("running")
    );
    assert_eq!(world.refused(other, &modify).app_tag.as_deref(), identity);
    world.rpc_output(root, &with_id(SN, "delete-subscription", id));
    assert_eq!(world.refused(root, &with_id(SN, "delete-subscription", id)).app_tag.as_deref(), identity);
    world.change(root, "<knob>1</knob>");
    world.ms(100);
    assert_eq!(world.heard(root), Vec::<String>::new());
}

#[test]
fn who_is_killed_is_told_so_and_nobody_kills_who_was_not_given_the_right() {
    let mut world = World::new();
    let (root, ada) = (world.administrator(), world.open("ada", false));
    let id = world.establish(root, &on_all_changes());
    let kill = with_id(SN, "kill-subscription", id);
    assert_eq!(world.refused(ada, &kill).tag, ErrorTag::AccessDenied);
    let other = world.administrator();
    world.rpc_output(other, &kill);
    let heard = world.heard(root);
    assert_eq!(heard.last().map(|text| name_of(text)).as_deref(), Some("subscription-terminated"));
    assert!(heard.last().unwrap().contains(":no-such-subscription</reason>"), "{heard:?}");
}

#[test]
fn a_modified_subscription_is_told_by_its_new_terms() {
    let mut world = World::new();
    let root = world.administrator();
    world.change(root, "<knob>1</knob><mode>m</mode>");
    let id = world.establish(root, &(datastore("running") + &subtree("<knob/>") + &on_change("")));
    world.ms(10);
    world.heard(root);
    let modify = format!(
        "<modify-subscription xmlns=\"{SN}\" xmlns:yp=\"{YP}\" xmlns:ds=\"{DS}\"><id>{id}</id>{}{}{}\
         </modify-subscription>",
        datastore("running"),
        subtree("<mode/>"),
        on_change("<yp:dampening-period>50</yp:dampening-period>"),
    );
    world.rpc_output(root, &modify);
    world.ms(0);
    let heard = world.heard(root);
    assert!(
        heard.len() == 1 && heard[0].contains("<mode>m</mode>") && !heard[0].contains("knob"),
        "{heard:?}"
    );
    world.change(root, "<mode>n</mode>");
    world.ms(400);
    assert_eq!(world.heard(root), Vec::<String>::new());
    world.ms(100);
    assert_eq!(world.heard(root).len(), 1);
}

#[test]
fn a_stored_filter_holds_for_who_refers_to_it_until_it_is_gone() {
    let mut world = World::new();
    let root = world.administrator();
    let filter = |select: &str| {
        format!(
            "<filters xmlns=\"{SN}\"><selection-filter xmlns=\"{YP}\"><filter-id>f</filter-id>\
             <datastore-xpath-filter xmlns:pb=\"{NS}\">{select}</datastore-xpath-filter></selection-filter></filters>"
        )
    };
    let refers =
        datastore("running") + "<yp:selection-filter-ref>f</yp:selection-filter-ref>" + &on_change("");
    let error = world.refused(root, &establish(&refers));
    assert_eq!(error.app_tag.as_deref(), Some("ietf-subscribed-notifications:filter-unsupported"));
    world.edit_top(root, &filter("/pb:bench/pb:knob"));
    world.change(root, "<knob>1</knob><mode>m</mode>");
    world.establish(root, &refers);
    world.ms(10);
    assert!(world.heard(root)[0].contains("<knob>1</knob></bench>"));
    world.edit_top(root, &filter("/pb:bench/pb:mode"));
    world.commit(root);
    world.ms(10);
    let heard = world.heard(root);
    assert_eq!(
        heard.iter().map(|text| name_of(text)).collect::<Vec<_>>(),
        ["subscription-modified", "push-update"]
    );
    assert!(heard[0].contains("<selection-filter-ref") && heard[1].contains("<mode>m</mode>"), "{heard:?}");
    let gone = format!(
        "<filters xmlns=\"{SN}\"><selection-filter xmlns=\"{YP}\" nc:operation=\"delete\"><filter-id>f</filter-id>\
         </selection-filter></filters>"
    );
    world.edit_top(root, &gone);
    world.commit(root);
    world.ms(10);
    let heard = world.heard(root);
    assert_eq!(heard.len(), 1, "{heard:?}");
    assert!(
        heard[0].contains("subscription-terminated") && heard[0].contains(":filter-unavailable<"),
        "{heard:?}"
    );
}

#[test]
fn what_the_receiver_may_not_read_is_hidden_from_the_moment_that_a_rule_says_so() {
    let mut world = World::new();
    let (root, ada) = (world.administrator(), world.open("ada", false));
    world.change(root, "<knob>1</knob><item><name>a</name><size>1</size></item>");
    world.establish(ada, &on_all_changes());
    world.ms(10);
    assert!(world.heard(ada)[0].contains("<knob>1</knob>"));
    world.edit_top(root, &rules("/pb:bench/pb:knob"));
    world.commit(root);
    world.ms(10);
    let heard = world.heard(ada);
    assert_eq!(heard.len(), 1, "{heard:?}");
    assert!(heard[0].contains("<operation>delete</operation><target>/probe-bench:bench/knob<"), "{heard:?}");
    world.change(root, "<knob>2</knob>");
    world.ms(100);
    assert_eq!(world.heard(ada), Vec::<String>::new());
}

/// Rules that hide a place from everybody.
fn rules(path: &str) -> String {
    format!(
        "<nacm xmlns=\"urn:ietf:params:xml:ns:yang:ietf-netconf-acm\"><rule-list nc:operation=\"replace\"><name>l</name>\
         <group>*</group><rule><name>r</name><path xmlns:pb=\"{NS}\">{path}</path><access-operations>read\
         </access-operations><action>deny</action></rule></rule-list></nacm>"
    )
}

#[test]
fn a_receiver_that_takes_nothing_is_suspended_and_then_told_all_of_it() {
    let mut world = World::new();
    let (root, slow) = (world.administrator(), world.administrator());
    let id = world.establish(slow, &on_all_changes());
    let mut copy = Copy::of(&world.schema, id);
    world.ms(10);
    world.stall(slow);
    for knob in 0..100 {
        world.change(root, &format!("<knob>{knob}</knob>"));
        world.ms(20);
    }
    assert!(world.queued[&slow].len() <= 64, "{}", world.queued[&slow].len());
    world.ms(6000);
    world.change(root, "<knob>1000</knob>");
    world.ms(100);
    world.unstall(slow);
    world.ms(100);
    let heard = world.heard(slow);
    let names: Vec<String> = heard.iter().map(|text| name_of(text)).collect();
    let last = &names[names.len() - 3..];
    assert_eq!(last, ["subscription-suspended", "subscription-resumed", "push-update"]);
    heard.iter().for_each(|text| copy.hear(text));
    let now = world.data(slow, NmdaDatastore::Running, None);
    assert!(now.contains(&copy.to_xml()), "{}", copy.to_xml());
    world.change(root, "<knob>7</knob>");
    world.ms(10);
    assert_eq!(world.heard(slow).len(), 1);
}

#[test]
fn operational_is_told_with_its_defaults_and_state_of_this_daemon_periodically() {
    let mut world = World::new();
    let root = world.administrator();
    world.change(root, "<item><name>a</name></item>");
    world.establish(root, &(datastore("operational") + &subtree("") + &on_change("")));
    world.ms(10);
    let heard = world.heard(root);
    assert!(
        heard[0].contains("<mode>auto</mode>") && heard[0].contains("<enabled>true</enabled>"),
        "{heard:?}"
    );
    let state = format!(
        "<yp:datastore-subtree-filter><subscriptions xmlns=\"{SN}\"/></yp:datastore-subtree-filter>{}",
        periodic("<yp:period>100</yp:period>")
    );
    let other = world.administrator();
    world.establish(other, &(datastore("operational") + &state));
    world.ms(1100);
    let heard = world.heard(other);
    assert_eq!(heard.len(), 2, "{heard:?}");
    assert!(heard[1].contains("<sent-event-records>1</sent-event-records>"), "{heard:?}");
    let states = datastore("operational")
        + &format!(
            "<yp:datastore-subtree-filter><subscriptions xmlns=\"{SN}\"/></yp:datastore-subtree-filter>"
        )
        + &on_change("");
    let error = world.refused(other, &establish(&states));
    assert_eq!(error.app_tag.as_deref(), Some("ietf-yang-push:on-change-unsupported"));
}

#[test]
fn the_candidate_is_told_of_before_it_is_committed() {
    let mut world = World::new();
    let root = world.administrator();
    world.establish(root, &(datastore("candidate") + &subtree("") + &on_change("")));
    world.ms(10);
    world.heard(root);
    world.edit(root, "<knob>1</knob>");
    world.ms(10);
    let heard = world.heard(root);
    assert!(heard.len() == 1 && heard[0].contains("<knob"), "{heard:?}");
}

#[test]
fn what_is_not_a_datastore_here_is_refused() {
    let mut world = World::new();
    let root = world.administrator();
    let error = world.refused(root, &establish(&(datastore("startup") + &on_change(""))));
    assert_eq!(error.app_tag.as_deref(), Some("ietf-yang-push:datastore-not-subscribable"));
}

#[test]
fn subscriptions_are_bounded_and_end_with_their_session() {
    let mut world = World::new();
    let root = world.administrator();
    for _ in 0..64 {
        world.establish(root, &on_all_changes());
    }
    let error = world.refused(root, &establish(&on_all_changes()));
    assert_eq!(error.app_tag.as_deref(), Some("ietf-subscribed-notifications:insufficient-resources"));
    assert_eq!(error.tag, ErrorTag::ResourceDenied);
    let other = world.administrator();
    let listed = world.data(other, NmdaDatastore::Operational, None).matches("<subscription>").count();
    assert_eq!(listed, 64);
    world.drop_session(root);
    assert!(!world.data(other, NmdaDatastore::Operational, None).contains("<subscription>"));
}

#[test]
fn a_thousand_subscriptions_of_a_hundred_sessions_are_all_told() {
    let mut world = World::new();
    let root = world.administrator();
    let sessions: Vec<_> = (0..100).map(|_| world.administrator()).collect();
    for session in &sessions {
        for _ in 0..10 {
            world.establish(*session, &on_all_changes());
        }
    }
    world.ms(10);
    for session in &sessions {
        assert_eq!(world.heard(*session).len(), 10);
    }
    world.change(root, "<knob>1</knob>");
    world.pass(Duration::from_millis(10));
    for session in &sessions {
        assert_eq!(world.heard(*session).len(), 10);
    }
}

fn stream(parameters: &str) -> String {
    format!("<stream>NETCONF</stream>{parameters}")
}

#[test]
fn a_subscription_to_the_stream_is_told_of_events_that_pass_its_filter() {
    let mut world = World::new();
    let root = world.administrator();
    let select = "/ncn:netconf-config-change/ncn:changed-by/ncn:username[.='root']";
    let ncn = "urn:ietf:params:xml:ns:yang:ietf-netconf-notifications";
    let filter = format!("<stream-xpath-filter xmlns:ncn=\"{ncn}\">{select}</stream-xpath-filter>");
    let id = world.establish(root, &stream(&filter));
    assert!(id > 0);
    let other = world.open("ada", true);
    world.change(other, "<knob>1</knob>");
    assert_eq!(world.heard(root), Vec::<String>::new());
    world.change(root, "<knob>2</knob>");
    let heard = world.heard(root);
    assert_eq!(heard.iter().map(|text| name_of(text)).collect::<Vec<_>>(), ["netconf-config-change"]);
    world.rpc_output(root, &with_id(SN, "delete-subscription", id));
    world.change(root, "<knob>3</knob>");
    assert_eq!(world.heard(root), Vec::<String>::new());
}

#[test]
fn a_replay_is_told_in_order_then_that_it_is_complete_and_ends_at_its_stop_time() {
    let mut world = World::new();
    let root = world.administrator();
    world.ms(1000);
    for knob in 1..=3 {
        world.change(root, &format!("<knob>{knob}</knob>"));
    }
    world.ms(1000);
    let replay = "<replay-start-time>2026-11-30T12:00:00.5Z</replay-start-time><stop-time>2026-11-30T12:00:09Z</stop-time>";
    world.establish(root, &stream(replay));
    world.ms(0);
    let names: Vec<String> = world.heard(root).iter().map(|text| name_of(text)).collect();
    let change = "netconf-config-change";
    assert_eq!(names, [change, change, change, "replay-completed"]);
    world.change(root, "<knob>4</knob>");
    assert_eq!(world.heard(root).len(), 1);
    world.ms(7000);
    let names: Vec<String> = world.heard(root).iter().map(|text| name_of(text)).collect();
    assert_eq!(names, ["subscription-terminated"]);
    let future = stream("<replay-start-time>2027-01-01T00:00:00Z</replay-start-time>");
    assert_eq!(world.refused(root, &establish(&future)).tag, ErrorTag::InvalidValue);
}

#[test]
fn a_stream_that_there_is_not_and_a_filter_that_is_none_are_refused() {
    let mut world = World::new();
    let root = world.administrator();
    let error = world.refused(root, &establish("<stream>nobody</stream>"));
    assert_eq!(error.tag, ErrorTag::InvalidValue);
    let error = world.refused(root, &establish(&stream("<stream-xpath-filter>/[</stream-xpath-filter>")));
    let identity = "ietf-subscribed-notifications:filter-unsupported";
    assert_eq!(error.app_tag.as_deref(), Some(identity));
    assert_eq!(hints(&error)[0], ("reason".to_owned(), identity.to_owned()));
    let listed = world.data(root, NmdaDatastore::Operational, None);
    assert!(listed.contains("<stream><name>NETCONF</name>"), "the stream is listed");
}
