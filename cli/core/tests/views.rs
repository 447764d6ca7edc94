//! Views over the product's own schema: what is asked for, and how it is told. The texts stand in `views/`; to make them
//! anew run with `UPDATE_GOLDEN=1`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test may

use cats_cli_core::command::{Command, Mode, expand, parse};
use cats_cli_core::complete::{NoValues, complete};
use cats_cli_core::error::Error;
use cats_cli_core::token::{Token, commands};
use cats_cli_core::view::{Asked, words};
use cats_yang_schema::{default_modules, load};
use cats_yang_tree::schema::Schema;
use cats_yang_tree::tree::Tree;
use cats_yang_tree::{Ops, edit};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::OnceLock;

fn schema() -> &'static Schema {
    static SCHEMA: OnceLock<Schema> = OnceLock::new();
    SCHEMA.get_or_init(|| load(&default_modules()).unwrap().schema().clone())
}

fn line(text: &str) -> Vec<Token> {
    commands(text).unwrap().into_iter().next().unwrap_or_default()
}

fn asked(text: &str) -> Result<Asked, Error> {
    match parse(schema(), Mode::Operational, &line(text))? {
        Command::View(asked) => Ok(asked),
        other => panic!("{text} is {other:?}"),
    }
}

/// The page of a view where the server answers with these data below `cats`.
fn page(text: &str, cats: &Value) -> String {
    paged(text, &json!({ "ietf-routing:routing": { "ietf-cats:cats": cats } }))
}

/// The same where it answers with this document.
fn paged(text: &str, document: &Value) -> String {
    let ops = Ops::from_state_json(schema(), document).unwrap();
    let tree = edit(&Tree::new(), schema(), ops).unwrap();
    asked(text).unwrap().page(schema(), &tree).to_string()
}

#[track_caller]
fn is_told(name: &str, text: &str, cats: &Value) {
    golden(name, text, &page(text, cats));
}

#[track_caller]
fn golden(name: &str, text: &str, told: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/views/{name}.txt"));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&file, told).unwrap();
    }
    let golden = std::fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(told, golden, "{text}: see {}", file.display());
}

fn services() -> Value {
    json!({ "service": [{ "cs-id": 1, "name": "video" }, { "cs-id": 2, "name": "chat" }] })
}

fn agent() -> Value {
    json!({
        "cats-services:services": services(),
        "cats-sma:metric-agent": {
            "enabled": true, "node-id": "SMA-1",
            "collection": {
                "listen": { "address": "192.0.2.9", "port": 7444 },
                "broker": { "host": "broker.example", "site": "east" },
            },
            "status": {
                "epoch": "1796025600000000000", "instances": 4, "live": 3, "waiting-reports": 2, "records": 3,
                "updates-due": 1, "updates-timed": 0, "updates-held": 2, "updates-suppressed": 0,
                "update-interval": "5000", "busy": true, "maintenance": true, "broker-connected": false,
                "fault": ["cannot listen for contact instances on 192.0.2.9:7444: address in use"],
            },
            "sites": { "site": [
                { "cs-id": 1, "gas": "150", "instances": "3", "healthy": 1, "degraded": 1, "unhealthy": 0,
                  "unknown": 0, "stale": 1, "failed": 0, "silent": 0, "healthy-gas": "100", "degraded-gas": "100" },
                { "cs-id": 2, "gas": "0", "instances": "1", "healthy": 0, "degraded": 0, "unhealthy": 0,
                  "unknown": 0, "stale": 0, "failed": 0, "silent": 1, "healthy-gas": "0", "degraded-gas": "0" },
            ] },
            "path-selectors": { "status": [
                { "node-id": "C-PS-1", "link": "synchronised", "failures": 0, "sent-sequence": "42",
                  "acknowledged-sequence": "42", "pending": 0, "pace": "0" },
                { "node-id": "C-PS-2", "alternative-to": "C-PS-1", "link": "waiting", "failures": 4,
                  "sent-sequence": "0", "acknowledged-sequence": "0", "pending": 3, "pace": "2000",
                  "next-attempt": "7600", "reason": "connection refused", "alarm": ["unreachable"] },
            ] },
            "quarantine": { "waiting": 2, "pushed-out": "1" },
            "calendar": { "open": ["night"], "maintenance-until": "2026-12-01T04:00:00Z" },
            "statistics": {
                "received": "1234", "taken": "1200", "flagged": "12", "authentication-failures": "3",
                "skewed-instances": "1",
                "refused": [{ "cause": "duplicate", "reports": "30" }, { "cause": "missing", "reports": "4" }],
                "updates": [{ "trigger": "health", "told": "2" }, { "trigger": "metric", "told": "40" }],
            },
        },
    })
}

#[test]
fn the_metric_agent_is_told_at_a_glance() {
    is_told("sma", "show sma", &agent());
    is_told(
        "sma-new",
        "show sma",
        &json!({ "cats-sma:metric-agent": { "enabled": true, "node-id": "SMA-1" } }),
    );
    is_told("sma-none", "show sma", &json!({}));
}

/// A number, or an address.
fn id(text: &str) -> Value {
    text.parse::<u32>().map_or_else(|_| json!(text), Value::from)
}

fn instance(cs_id: u32, csci_id: &str, more: Value) -> Value {
    let mut entry = json!({
        "cs-id": cs_id, "csci-id": id(csci_id), "state": "HEALTHY", "state-age": "65000", "source": "configured",
        "quarantined": 0, "waits": false, "clock-skewed": false,
        "statistics": { "taken": 20, "flagged": 1, "invalid": 2, "duplicate": 1, "too-often": 0, "pulls": 3 },
    });
    let members = entry.as_object_mut().unwrap();
    members.extend(more.as_object().unwrap().clone());
    entry
}

/// An instance that reports as it should.
fn reporting() -> Value {
    instance(
        1,
        "198.51.100.11",
        json!({
            "health": "healthy", "gas": 100, "told-gas": 80, "age": "1234", "ttl-remaining": "8766",
            "taken": "2026-11-30T08:00:01.000123Z", "epoch": "1", "sequence": "77", "locator": "198.51.100.11:8443",
            "reported": { "gas": 100, "computing-us": "5200", "health": "healthy", "computing-max-us": "20000",
                          "price": 3 },
            "smoothed-gas": 97, "smoothed-computing-us": "5310",
            "told": { "gas": 80, "computing-us": "5310", "health": "healthy", "price": 3, "flagged": false },
        }),
    )
}

fn cache(instances: &[Value]) -> Value {
    let sites = json!([
        { "cs-id": 1, "gas": "150", "instances": "3", "healthy": 1, "degraded": 1, "stale": 1 },
        { "cs-id": 2, "gas": "0", "instances": "1", "silent": 1 },
    ]);
    json!({
        "cats-services:services": services(),
        "cats-sma:metric-agent": {
            "enabled": true, "instances": { "instance": instances }, "sites": { "site": sites },
        },
    })
}

#[test]
fn contact_instances_are_told_by_service_with_age_and_what_is_in_doubt() {
    let degraded = json!({
        "health": "degraded", "gas": 100, "told-gas": 100, "age": "250", "ttl-remaining": "9750",
        "reported": { "gas": 100, "computing-us": "850", "health": "degraded" },
        "told": { "gas": 100, "computing-us": "850", "health": "degraded", "flagged": true },
        "doubt": ["gas-change", "clock-skew"], "clock-skewed": true, "quarantined": 2, "waits": true,
        "waiting-update": "metric", "source": "discovered", "state": "ACTIVE",
    });
    let stale = json!({
        "state": "STALE", "health": "healthy", "gas": 50, "age": "200000", "ttl-remaining": "0",
        "reported": { "gas": 50, "computing-us": "1500000", "health": "healthy" }, "quarantined": 1,
    });
    let instances = [
        reporting(),
        instance(1, "198.51.100.12", degraded),
        instance(1, "198.51.100.13", stale),
        instance(2, "7", json!({})),
    ];
    is_told("cache", "show sma cache", &cache(&instances));
    is_told("cache-instance", "show sma cache service 1 instance 198.51.100.11", &cache(&[reporting()]));
    is_told("cache-none", "show sma cache", &json!({ "cats-sma:metric-agent": { "enabled": true } }));
    let listening = json!({ "enabled": true, "collection": { "listen": { "address": "192.0.2.9" } } });
    is_told("cache-listening", "show sma cache", &json!({ "cats-sma:metric-agent": listening }));
    is_told("cache-no-agent", "show sma cache", &json!({}));
}

#[test]
fn reports_in_quarantine_are_told_with_their_reason() {
    let report = |id: &str, csci_id: &str, doubts: Value| {
        json!({
            "id": id, "cs-id": 1, "csci-id": csci_id, "received": "2026-11-30T08:00:01.000123Z", "doubt": doubts,
            "values": { "gas": 500, "computing-us": "5000", "health": "healthy" },
        })
    };
    let quarantine = json!({
        "waiting": 2, "pushed-out": "3", "max-reports": 1024,
        "report": [
            report("7", "198.51.100.11", json!(["gas-change"])),
            report("12", "198.51.100.12", json!(["computing-time-change", "flapping"])),
        ],
    });
    let agent = json!({ "enabled": true, "quarantine": quarantine });
    let state = json!({ "cats-services:services": services(), "cats-sma:metric-agent": agent });
    is_told("quarantine", "show sma quarantine", &state);
    let empty =
        json!({ "enabled": true, "quarantine": { "waiting": 0, "pushed-out": "0", "max-reports": 1024 } });
    is_told("quarantine-empty", "show sma quarantine", &json!({ "cats-sma:metric-agent": empty }));
}

fn record(source: &str, more: Value) -> Value {
    let mut record = json!({
        "source": source, "selects": false, "authorised": true, "valid": true, "gas": 100,
        "computing-us": "5200", "health": "healthy",
    });
    record.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    record
}

fn entry(cs_id: u32, csci_id: &str, more: Value, records: &[Value]) -> Value {
    let mut entry =
        json!({ "cs-id": cs_id, "csci-id": id(csci_id), "valid": true, "reserved": 0, "record": records });
    let members = entry.as_object_mut().unwrap();
    members.extend(more.as_object().unwrap().clone());
    if records.is_empty() {
        members.remove("record");
    }
    entry
}

#[test]
fn the_service_table_is_told_with_source_and_age_and_what_stands_by() {
    let advertised = json!({ "selects": true, "age": "1234", "taken-age": "1900", "expires-in": "58000" });
    let strange = json!({ "authorised": false, "age": "9000", "expires-in": "81000", "gas": 1 });
    let fixed = json!({ "gas": 40, "computing-us": "20000" });
    let both = entry(
        1,
        "198.51.100.11",
        json!({ "gas": 100, "reserved": 3, "computing-us": "5200", "health": "healthy", "source": "cats:sma:SMA-1" }),
        &[record("static", fixed), record("cats:sma:SMA-1", advertised), record("cats:sma:SMA-9", strange)],
    );
    let old = json!({ "selects": true, "valid": false, "age": "125000", "expires-in": "0", "flagged": true });
    let expired = entry(
        1,
        "198.51.100.21",
        json!({ "valid": false, "gas": 100, "health": "healthy" }),
        &[record("cats:sma:SMA-2", old)],
    );
    let mut unlimited = record("static", json!({ "selects": true }));
    unlimited.as_object_mut().unwrap().remove("gas");
    let plain = entry(2, "7", json!({ "health": "healthy", "source": "static" }), &[unlimited]);
    let bare = entry(2, "8", json!({ "valid": false }), &[]);
    let selector = json!({
        "enabled": true,
        "service-table": { "generation": "12", "entry": [both, expired, plain, bare] },
    });
    let state = json!({ "cats-services:services": services(), "cats-cps:path-selector": selector });
    is_told("cst", "show cst", &state);
    is_told("cst-no-selector", "show cst", &json!({}));
    let empty = json!({ "enabled": true, "service-table": { "generation": "0" } });
    is_told("cst-empty", "show cst", &json!({ "cats-cps:path-selector": empty }));
    let waiting = json!({
        "enabled": true, "agent": [{ "node-id": "SMA-1" }, { "node-id": "SMA-2" }],
        "agents": { "status": [{ "node-id": "SMA-1", "connected": false }] },
    });
    is_told("cst-waiting", "show cst", &json!({ "cats-cps:path-selector": waiting }));
}

#[test]
fn alarms_are_told_the_newest_first_and_never_order_the_terminal_about() {
    let alarm = |kind: &str, resource: &str, at: &str, text: &str| {
        json!({
            "resource": resource, "alarm-type-id": format!("cats-alarms:{kind}"), "alarm-type-qualifier": "",
            "time-created": at, "last-raised": at, "last-changed": at, "is-cleared": false,
            "perceived-severity": "major", "alarm-text": text,
        })
    };
    let mut seen =
        alarm("component-not-connected", "cats-engined", "2026-11-30T09:00:00Z", "it is not connected");
    seen["operator-state-change"] = json!([
        { "time": "2026-11-30T09:01:00Z", "operator": "ann", "state": "ack", "text": "on my way" },
        { "time": "2026-11-30T09:00:30Z", "operator": "bob", "state": "none" },
    ]);
    let mut over = alarm("quarantine", "cats-engined", "2026-11-30T07:00:00Z", "reports wait");
    over["is-cleared"] = json!(true);
    let agent = "/ietf-routing:routing/ietf-cats:cats/cats-cps:path-selector/agents/status[node-id='SMA-1']";
    let skewed =
        alarm("agent-clock-skew", agent, "2026-11-30T08:00:01.5Z", "it is 3600s ahead\u{9b}2J: set it");
    let alarms = json!({
        "alarm-list": { "alarm": [skewed, over, seen] }, "shelved-alarms": { "number-of-shelved-alarms": 2 },
    });
    let document = json!({ "ietf-alarms:alarms": alarms });
    golden("alarms", "show alarms", &paged("show alarms", &document));
    is_told("alarms-none", "show alarms", &json!({}));
}

#[test]
fn a_view_asks_for_what_it_shows_and_no_more() {
    let filter = |text: &str| asked(text).unwrap().filter(schema());
    let all = filter("show cst");
    assert!(all.contains("<service-table><entry></entry><generation></generation></service-table>"), "{all}");
    assert!(all.contains("<service><name></name></service>"), "{all}");
    let one = filter("show cst service 1 instance 198.51.100.11");
    let entry = "<entry><cs-id>1</cs-id><csci-id>198.51.100.11</csci-id></entry>";
    assert!(one.contains(entry), "{one}");
    assert!(one.contains("<service><name></name><cs-id>1</cs-id></service>"), "{one}");
    assert_eq!(filter("show cst 1 198.51.100.11"), one, "the values alone say what they are of");
    let sma = filter("show sma service 1");
    assert!(sma.contains("<sites><site><cs-id>1</cs-id></site></sites>"), "{sma}");
    let cache = filter("show sma cache instance 7");
    assert!(cache.contains("<instance><csci-id>7</csci-id></instance>"), "{cache}");
    assert!(cache.contains("<sites><site></site></sites>"), "{cache}");
}

#[test]
fn a_service_may_be_meant_by_its_name_wherever_a_view_takes_its_number() {
    let document =
        json!({ "ietf-routing:routing": { "ietf-cats:cats": { "cats-services:services": services() } } });
    let tree = edit(&Tree::new(), schema(), Ops::from_state_json(schema(), &document).unwrap()).unwrap();
    for view in ["sma", "sma cache", "cst"] {
        let by_number = asked(&format!("show {view} service 2")).unwrap();
        assert_eq!(by_number.lookup(schema()), None, "a number is known");
        for words in [format!("show {view} service chat"), format!("show {view} chat")] {
            let named = asked(&words).unwrap();
            let names = "<services xmlns=\"urn:catsd:yang:cats-services\"><service><name></name></service></services>";
            assert!(named.lookup(schema()).is_some_and(|filter| filter.contains(names)), "{words}");
            let found = named.resolve(schema(), &tree).unwrap();
            assert_eq!(found.filter(schema()), by_number.filter(schema()), "{words}");
        }
    }
    let unknown = |name: &str| {
        let asked = asked(&format!("show cst service {name}")).unwrap();
        asked.resolve(schema(), &tree).unwrap_err()
    };
    let error = unknown("chta");
    assert_eq!((error.tag.as_str(), error.span), ("data-missing", Some((17, 4))));
    assert_eq!(error.remedy.as_deref(), Some("did you mean `chat`?"));
    assert!(unknown("mail").remedy.unwrap().contains("show state services service"));
}

fn offered(text: &str) -> Vec<String> {
    complete(schema(), Mode::Operational, text, &NoValues).1.into_iter().map(|offer| offer.word).collect()
}

#[test]
fn views_are_completed_word_by_word() {
    assert_eq!(offered("show "), ["alarms", "config", "cst", "sma", "state"]);
    assert_eq!(offered("show s"), ["sma", "state"]);
    assert_eq!(offered("show sma "), ["cache", "quarantine", "service"]);
    assert_eq!(offered("show sma cache "), ["instance", "service"]);
    assert_eq!(offered("show sma cache service 1 "), ["instance"]);
    assert_eq!(offered("show sma cache 1 ins"), ["instance"]);
    assert_eq!(offered("show cst service 1 instance 7 "), Vec::<String>::new());
    assert_eq!(offered("show sma qarantine "), Vec::<String>::new());
    let help = words(schema()).into_iter().find(|(words, _)| words == "sma quarantine").unwrap().1;
    assert!(
        help.contains("request release-quarantined") && help.contains("request drop-quarantined"),
        "{help}"
    );
}

#[test]
fn a_person_may_shorten_words_as_long_as_they_are_no_others() {
    let long = |text: &str| -> Result<String, Error> {
        let words = expand(schema(), Mode::Operational, &line(text))?;
        Ok(words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" "))
    };
    assert_eq!(long("sh sm ca ser 1 i 7").unwrap(), "show sma cache service 1 instance 7");
    assert_eq!(long("sho cs 1").unwrap(), "show cst 1");
    assert_eq!(long("show al").unwrap(), "show alarms");
    assert_eq!(long("sh st services serv").unwrap(), "show state services serv");
    assert_eq!(long("show sma").unwrap(), "show sma");
    let error = long("show s").unwrap_err();
    assert_eq!((error.span, error.expected), (Some((5, 1)), vec!["state".to_owned(), "sma".to_owned()]));
    assert!(parse(schema(), Mode::Operational, &line("show sm")).is_err(), "a script spells words out");
}

#[test]
fn what_is_no_view_is_told_with_what_is_one() {
    let wrong = |text: &str| asked(text).unwrap_err();
    assert_eq!(wrong("show sma cahce").remedy.as_deref(), Some("did you mean `cache`?"));
    assert_eq!(wrong("show cst servce 1").remedy.as_deref(), Some("did you mean `service`?"));
    let value = wrong("show cst service no/where at all");
    assert_eq!(value.span, Some((17, 8)));
    assert!(wrong("show sma cache service").message.contains("which service?"));
    assert!(wrong("show cst service 1 service 2").expected.contains(&"instance".to_owned()));
    assert!(wrong("show alarms 7").message.contains("unknown"));
}
