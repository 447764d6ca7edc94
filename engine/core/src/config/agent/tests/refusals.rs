//! What is refused, with its place and its remedy.

use super::*;

fn rule(statement: &str) -> Value {
    json!({ "policy": { "rule": [{ "name": "r", "statement": statement }] } })
}

/// Proves SMA-15.
#[test]
fn a_rule_that_names_an_unknown_metric_is_refused_at_its_statement_with_the_column() {
    let (path, message) = refused(rule("IF Site_GSA < 10 THEN FLAG"));
    assert_eq!(path, "policy/rule[name='r']/statement");
    assert!(message.starts_with("column 4: `Site_GSA` cannot stand here; expected "), "{message}");
    assert!(message.ends_with("; was `Site_GAS` meant?"), "{message}");
    let (_, message) = refused(rule("IF GAS < 10 THEN"));
    assert!(message.starts_with("column 17: the rule ends here; expected "), "{message}");
    let (_, message) = refused(rule("IF Time IN Häuser THEN FLAG"));
    assert!(message.starts_with("column 12: "), "{message}");
    let violations = check(&Config::default(), &cats(rule("nonsense"), json!({})));
    let [violation] = violations.as_slice() else { panic!("{violations:?}") };
    assert_eq!(
        (violation.tag.as_str(), violation.app_tag.as_deref()),
        ("invalid-value", Some("invalid-rule"))
    );
}

#[test]
fn a_rule_that_is_not_in_force_must_be_one_all_the_same() {
    let mut agent = rule("IF Gas THEN FLAG");
    agent["policy"]["rule"][0]["enabled"] = json!(false);
    assert_eq!(refused(agent.clone()).0, "policy/rule[name='r']/statement");
    agent["enabled"] = json!(false);
    assert_eq!(
        refused(agent).0,
        "policy/rule[name='r']/statement",
        "nor does it matter whether the agent is enabled"
    );
}

#[test]
fn a_rule_may_ask_for_the_windows_that_there_are() {
    let mut agent = rule("IF Time IN night THEN SET GAS = 0");
    assert!(refused(agent.clone()).1.starts_with("column 12: `night` cannot stand here"));
    let weekly = json!({ "day": ["monday"], "begin": "22:00", "end": "04:00" });
    agent["calendar"] = json!({ "window": [{ "name": "night", "weekly": weekly }] });
    assert_eq!(read(agent.clone()).policy.rules().len(), 1);
    // What is wrong with a window is said once, and not again of each rule that asks for it.
    agent["calendar"]["window"][0]["weekly"]["end"] = json!("24:00");
    let (path, message) = refused(agent);
    assert_eq!(path, "calendar/window[name='night']/weekly/end");
    assert!(message.contains("`24:00` is no time of day"), "{message}");
}

#[test]
fn a_window_that_is_none_is_refused_at_the_leaf_that_is_wrong() {
    let once = |begin: &str, end: &str| json!({ "begin": begin, "end": end });
    let span = once("2026-12-24T00:00:00Z", "2026-12-25T00:00:00Z");
    let cases = [
        (
            json!([{ "name": "w", "once": once("2026-12-24T00:00:00Z", "2026-12-24T00:00:00Z") }]),
            "once/end",
            "ends before",
        ),
        (
            json!([{ "name": "w", "once": once("2026-02-30T00:00:00Z", "2026-12-24T00:00:00Z") }]),
            "once/begin",
            "no time",
        ),
        (json!([{ "name": "SET", "once": span }]), "name", "means something else in rules"),
        (
            json!([{ "name": "w", "weekly": { "begin": "01:00", "end": "02:00" } }]),
            "weekly/day",
            "no day of the week",
        ),
        (json!([{ "name": "w" }]), "", "set once or weekly"),
    ];
    for (windows, leaf, words) in cases {
        let name = windows[0]["name"].as_str().unwrap().to_owned();
        let (path, message) = refused(json!({ "calendar": { "window": windows } }));
        let place = format!("calendar/window[name='{name}']/{leaf}");
        assert_eq!(path, place.trim_end_matches('/'));
        assert!(message.contains(words), "{message}");
    }
    let twice = json!([{ "name": "a-b", "once": span }, { "name": "A_B", "once": span }]);
    let (path, message) = refused(json!({ "calendar": { "window": twice } }));
    assert!(path.ends_with("]/name") && message.contains("the same name"), "{path}: {message}");
}

/// Proves SMA-3.
#[test]
fn what_must_not_cross_is_refused_at_the_upper_leaf() {
    let cases = [
        ("validation/ranges/gas", ["-min", "-max"], json!(6), json!(5)),
        ("validation/ranges/computing-time", ["-min", "-max"], json!("6"), json!("5.999")),
        ("validation/ranges/price", ["-min", "-max"], json!(6), json!(5)),
        ("validation/ranges/reputation", ["-min", "-max"], json!(6), json!(5)),
        ("validation/ranges/security-level", ["-min", "-max"], json!(6), json!(5)),
        ("policy/bounds/gas", ["-floor", "-ceiling"], json!(6), json!(5)),
        ("policy/bounds/computing-time", ["-floor", "-ceiling"], json!("6"), json!("5.999")),
        ("policy/bounds/price", ["-floor", "-ceiling"], json!(6), json!(5)),
        ("updates/damping/", ["first-pause", "longest-pause"], json!(6), json!(5)),
        ("northbound/", ["first-backoff", "longest-backoff"], json!(6), json!(5)),
        ("cache/", ["ttl/trust", "max-ttl/trust"], json!(6), json!(5)),
        ("cache/", ["ttl/health", "max-ttl/health"], json!(6), json!(5)),
    ];
    for (stem, [low, high], least, most) in cases {
        let (low, high) = (format!("{stem}{low}"), format!("{stem}{high}"));
        let set = |values: [(&str, &Value); 2]| {
            let mut agent = json!({});
            for (path, value) in values {
                let node = path.split('/').fold(&mut agent, |node, name| &mut node[name]);
                *node = value.clone();
            }
            agent
        };
        let (path, message) = refused(set([(&low, &least), (&high, &most)]));
        assert_eq!(path, high);
        assert!(message.contains(&format!("or lower {low}")), "{message}");
        read(set([(&low, &most), (&high, &most)]));
    }
}

#[test]
fn what_is_told_holds_until_it_is_said_again() {
    let agent = |valid_for: u32, snapshot: u32, refresh: u32| {
        json!({
            "cache": { "valid-for": valid_for },
            "northbound": { "snapshot-interval": snapshot, "refresh-interval": refresh },
        })
    };
    for (valid_for, snapshot, refresh, least) in [(60, 60, 10, 61), (30, 20, 16, 32), (1, 1, 1, 2)] {
        let (path, message) = refused(agent(valid_for, snapshot, refresh));
        assert_eq!(path, "cache/valid-for");
        assert!(message.contains(&format!("raise valid-for to {least} at least")), "{message}");
        read(agent(least, snapshot, refresh));
    }
}

#[test]
fn a_reserve_leaves_something_to_routine_updates() {
    let bucket = |rate: Value| json!({ "updates": { "bucket": rate } });
    let (path, message) = refused(bucket(json!({ "burst": 10, "reserve": 10 })));
    assert_eq!(path, "updates/bucket/reserve");
    assert!(message.contains("lower it to 9 at most"), "{message}");
    read(bucket(json!({ "burst": 10, "reserve": 9 })));
    let off = read(bucket(json!({ "enabled": false, "burst": 10, "reserve": 10 })));
    assert_eq!(off.update.bucket, None, "what is not limited has no reserve");
}

#[test]
fn an_alternative_is_to_a_path_selector_that_is_none_itself() {
    let entries = |of: [(&str, Option<&str>); 3]| {
        let entry = |(name, first): (&str, Option<&str>)| {
            selector(name, first.map_or(json!({}), |first| json!({ "alternative-to": first })))
        };
        json!({ "northbound": { "path-selector": of.map(entry) } })
    };
    let chain = refused(entries([("A", None), ("B", Some("A")), ("C", Some("B"))]));
    assert_eq!(chain.0, "northbound/path-selector[node-id='C']/alternative-to");
    assert!(chain.1.contains("B is itself an alternative to A"), "{}", chain.1);
    let itself = refused(entries([("A", None), ("B", None), ("C", Some("C"))]));
    assert!(itself.1.contains("C cannot stand in for itself"), "{}", itself.1);
    let nobody = refused(entries([("A", None), ("B", None), ("C", Some("D"))]));
    assert!(nobody.1.contains("there is no path-selector[node-id='D']"), "{}", nobody.1);
    let circle = cats(entries([("A", Some("B")), ("B", Some("A")), ("C", None)]), json!({}));
    let circle = check(&Config::default(), &circle);
    assert_eq!(circle.len(), 2, "both ends of a circle: {circle:?}");
}

/// Proves SMA-20.
#[test]
fn who_is_on_another_node_has_an_address_and_gets_signed_messages() {
    let rest = json!({ "cats-cps:path-selector": { "enabled": true, "node-id": "C-PS-1" } });
    let of = |entry: Value| refused_with(json!({ "northbound": { "path-selector": [entry] } }), rest.clone());
    let (path, message) = of(json!({ "node-id": "X", "signature": { "key-id": "k", "file": "/k" } }));
    assert_eq!(path, "northbound/path-selector[node-id='X']/address");
    assert!(message.contains("so it needs an address"), "{message}");
    let (path, message) = of(json!({ "node-id": "X", "address": "192.0.2.7" }));
    assert_eq!(path, "northbound/path-selector[node-id='X']/signature");
    assert!(message.contains("set signature/key-id and signature/file"), "{message}");
    let (path, message) = of(selector("C-PS-1", json!({})));
    assert_eq!(path, "northbound/path-selector[node-id='C-PS-1']/address");
    assert!(message.contains("take the address out"), "{message}");
    let (path, message) = of(selector("X", json!({ "address": "224.0.0.1" })));
    assert_eq!(path, "northbound/path-selector[node-id='X']/address");
    assert!(message.contains("nobody is reached at 224.0.0.1"), "{message}");
}

/// Proves SMA-18.
#[test]
fn reports_over_a_broker_are_proved_by_something() {
    let broker = json!({ "host": "broker.example", "site": "S" });
    let (path, message) = refused(json!({ "collection": { "broker": broker } }));
    assert_eq!(path, "collection/broker");
    assert!(message.contains("configure collection/tokens, or a collection/report-key"), "{message}");
    let key = json!([{ "id": "k", "csci-id": 7, "file": "/k" }]);
    read(json!({ "collection": { "broker": broker, "report-key": key } }));
}

#[test]
fn agent_and_path_selector_of_a_node_listen_apart() {
    let listen = |address: &str, port: u16| json!({ "address": address, "port": port });
    let both = |agent: Value, selector: Value| {
        let selector = json!({ "enabled": true, "node-id": "C-PS-1", "listen": selector });
        (json!({ "collection": { "listen": agent } }), json!({ "cats-cps:path-selector": selector }))
    };
    for (here, there) in [("192.0.2.1", "192.0.2.1"), ("0.0.0.0", "192.0.2.1"), ("192.0.2.1", "::")] {
        let (agent, rest) = both(listen(here, 7443), listen(there, 7443));
        let (path, message) = refused_with(agent, rest);
        assert_eq!(path, "collection/listen/port");
        assert!(message.contains("listens at") && message.contains("use another port"), "{message}");
    }
    for (here, there) in
        [(("192.0.2.1", 7444), ("192.0.2.1", 7443)), (("192.0.2.2", 7443), ("192.0.2.1", 7443))]
    {
        let (agent, rest) = both(listen(here.0, here.1), listen(there.0, there.1));
        read_with(agent, rest);
    }
}

#[test]
fn the_number_0_names_nobody() {
    let of = |agent: Value| refused(agent).0;
    assert_eq!(
        of(json!({ "admission": { "discovered-service": [0] } })),
        "admission/discovered-service[.='0']"
    );
    let instance = |cs_id: u32, csci_id: u32| json!({ "admission": { "instance": [{ "cs-id": cs_id, "csci-id": csci_id }] } });
    assert_eq!(of(instance(0, 7)), "admission/instance[cs-id='0'][csci-id='7']/cs-id");
    assert_eq!(of(instance(7, 0)), "admission/instance[cs-id='7'][csci-id='0']/csci-id");
    let source = json!({ "collection": { "source": [{ "csci-id": 0, "address": "192.0.2.1" }] } });
    assert_eq!(of(source), "collection/source[csci-id='0']/csci-id");
    let key = json!({ "collection": { "report-key": [{ "id": "k", "csci-id": 0, "file": "/k" }] } });
    assert_eq!(of(key), "collection/report-key[id='k']/csci-id");
    let scope = json!({ "northbound": { "path-selector": [selector("X", json!({ "service": [0] }))] } });
    assert_eq!(of(scope), "northbound/path-selector[node-id='X']/service[.='0']");
}

/// Proves SMA-20.
#[test]
fn a_key_is_of_one_agent_and_each_agent_of_another_node_has_one() {
    let with = |agents: Value| {
        refused_with(json!({}), json!({ "cats-cps:path-selector": { "enabled": true, "agent": agents } }))
    };
    let key = |id: &str| json!([{ "id": id, "file": "/k" }]);
    let (path, message) =
        with(json!([{ "node-id": "A", "key": key("k") }, { "node-id": "B", "key": key("k") }]));
    assert_eq!(path, "cats-cps:path-selector/agent[node-id='B']/key[id='k']/id");
    assert!(message.contains("agents A and B both have a key `k`"), "{message}");
    let (path, message) = with(json!([{ "node-id": "A" }]));
    assert_eq!(path, "cats-cps:path-selector/agent[node-id='A']/key");
    assert!(message.contains("nothing that A advertises can be verified"), "{message}");
}

fn text() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "IF",
        "THEN",
        "GAS",
        "Site_GAS",
        "<",
        "5",
        "AND",
        "(",
        ")",
        "NOT",
        "SET",
        "=",
        "FLAG",
        ",",
        "Time",
        "IN",
        "night",
        "äöü",
        "%",
        "0.5",
        "REDUCE",
        "BY",
        "SCI_Health",
        "HEALTHY",
        "\u{1F600}",
    ]);
    let sentence = prop::collection::vec(words, 1..16).prop_map(|words| words.join(" "));
    prop_oneof![3 => sentence, 1 => "\\PC{1,40}"]
}

proptest! {
    /// Whatever stands there: it is a rule, or the column lies within it or right behind it.
    #[test]
    fn each_statement_is_a_rule_or_has_the_column_where_it_is_none(statement in text()) {
        prop_assume!(statement.len() <= MAX_TEXT);
        let mut violations = Vec::new();
        let config = cats(rule(&statement), json!({}));
        let agent = metric_agent(&config.cats, &mut violations).unwrap();
        match violations.as_slice() {
            [] => prop_assert_eq!(agent.sma.policy.rules().len(), 1),
            [violation] => {
                let column = violation.message.strip_prefix("column ").and_then(|rest| rest.split_once(':'));
                let column: usize = column.unwrap().0.parse().unwrap();
                prop_assert!((1..=statement.chars().count() + 1).contains(&column), "{}", violation.message);
            }
            more => prop_assert!(false, "{more:?}"),
        }
    }

    /// A range is refused exactly where its ends cross, and else it is the machine's.
    #[test]
    fn ranges_are_refused_exactly_where_their_ends_cross(min in 0u32..20, max in 0u32..20) {
        let agent = json!({ "validation": { "ranges": { "price-min": min, "price-max": max } } });
        let mut violations = Vec::new();
        let read = metric_agent(&cats(agent, json!({})).cats, &mut violations).unwrap();
        prop_assert_eq!(violations.is_empty(), min <= max);
        let price = read.sma.validation.ranges.price;
        prop_assert_eq!((price.min, price.max), (u64::from(min), u64::from(max)));
    }

    /// A floor and a ceiling that do not cross bound what is told.
    #[test]
    fn bounds_clamp_between_floor_and_ceiling(
        floor in prop::option::of(0u32..20), ceiling in prop::option::of(0u32..20),
    ) {
        let mut bounds = json!({});
        for (leaf, value) in [("gas-floor", floor), ("gas-ceiling", ceiling)] {
            if let Some(value) = value {
                bounds[leaf] = json!(value);
            }
        }
        let config = cats(json!({ "policy": { "bounds": bounds } }), json!({}));
        let violations = check(&Config::default(), &config);
        let crossed = floor.zip(ceiling).is_some_and(|(floor, ceiling)| floor > ceiling);
        prop_assert_eq!(violations.len(), usize::from(crossed));
    }
}

/// One leaf or entry of what an agent and the path selector of its node say of each other, few enough to meet.
fn any_edit() -> impl Strategy<Value = (String, Value)> {
    let name = prop::sample::select(vec!["A", "B", "C"]);
    let agent = "cats-sma:metric-agent";
    let peers = format!("{agent}/northbound/path-selector");
    let peer = (name.clone(), prop::option::of(name.clone()), any::<[bool; 2]>()).prop_map(
        move |(name, first, [address, signature])| {
            let mut entry = json!({ "node-id": name });
            for (leaf, value, is_there) in [
                ("alternative-to", json!(first), first.is_some()),
                ("address", json!("192.0.2.1"), address),
                ("signature", json!({ "key-id": "k", "file": "/k" }), signature),
            ] {
                if is_there {
                    entry[leaf] = value;
                }
            }
            (format!("{peers}[node-id='{name}']"), entry)
        },
    );
    let advertiser = (name.clone(), prop::option::of(prop::sample::select(vec!["k", "l"])));
    let advertiser = advertiser.prop_map(|(name, key)| {
        let keys: Vec<Value> = key.iter().map(|key| json!({ "id": key, "file": "/k" })).collect();
        (format!("cats-cps:path-selector/agent[node-id='{name}']"), json!({ "node-id": name, "key": keys }))
    });
    let named = |path: &'static str| name.clone().prop_map(move |name| (path.to_owned(), json!(name)));
    prop_oneof![
        4 => peer,
        4 => advertiser,
        1 => named("cats-sma:metric-agent/node-id"),
        1 => named("cats-cps:path-selector/node-id"),
        1 => any::<bool>().prop_map(|is| ("cats-sma:metric-agent/enabled".to_owned(), json!(is))),
        1 => any::<bool>().prop_map(|is| ("cats-cps:path-selector/enabled".to_owned(), json!(is))),
        1 => (0u32..3).prop_map(|seconds| ("base/update-interval".to_owned(), json!(seconds))),
        1 => (0u32..3).prop_map(|seconds| ("base/flow-timeout".to_owned(), json!(seconds))),
    ]
}

proptest! {
    /// What is said of a change is what is said of the whole, and the agent that follows it is the one of the whole.
    #[test]
    fn an_agent_that_follows_changes_is_the_one_of_the_whole(edits in prop::collection::vec(any_edit(), 1..24)) {
        let mut running = Checked::default().after(cats(json!({}), json!({}))).unwrap();
        for (path, value) in edits {
            let new = changed(running.config(), &path, value);
            let whole = Checked::default().after(new.clone());
            match (running.after(new), whole) {
                (Ok(after), Ok(whole)) => {
                    prop_assert_eq!(after.metric_agent(), whole.metric_agent());
                    running = after;
                }
                (after, whole) => prop_assert_eq!(after.err(), whole.err()),
            }
        }
    }
}
