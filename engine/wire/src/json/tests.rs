//! Reports and advertisements through JSON.

use super::*;
use crate::convert::metric_tests::{advertisement, agent_instruction, report, reporter_instruction};
use crate::{MAX_REPORTS, Problem};
use cats_engine_types::*;
use proptest::collection::vec;
use proptest::prelude::*;
use std::time::Duration;

proptest! {
    #[test]
    fn a_report_survives_json(word in report()) {
        let decoded = decode_report(&encode_report(&word, Some("a.b.c"))).unwrap();
        let expected = DecodedReport { report: word, token: Some("a.b.c".to_owned()), unknown_fields: 0 };
        prop_assert_eq!(decoded, expected);
    }

    #[test]
    fn what_an_agent_answers_survives_json(words in vec(reporter_instruction(), 0..4)) {
        let octets = encode_reporter_instructions(&words);
        prop_assert_eq!(decode_reporter_instructions(&octets).unwrap(), words);
    }

    #[test]
    fn an_advertisement_survives_json(word in advertisement()) {
        prop_assert_eq!(decode_advertisement(&encode_advertisement(&word)).unwrap(), word);
    }

    #[test]
    fn what_a_path_selector_holds_survives_json(word in advertisement()) {
        if let AdvertisementContent::Snapshot { records, .. } = word.content {
            let view = AgentView { freshness: word.freshness, records };
            prop_assert_eq!(decode_agent_view(&encode_agent_view(&view)).unwrap(), view);
        }
    }

    #[test]
    fn what_a_path_selector_answers_survives_json(words in vec(agent_instruction(), 0..4)) {
        let octets = encode_agent_instructions(&words);
        prop_assert_eq!(decode_agent_instructions(&octets).unwrap(), words);
    }

    #[test]
    fn no_text_makes_a_decoder_fail_otherwise_than_by_an_error(text in ".{0,200}") {
        let _ = decode_reports(text.as_bytes());
        let _ = decode_advertisement(text.as_bytes());
    }
}

/// A report by hand, as a service's own program would write it.
const WRITTEN: &str = r#"{
    "kind": "full", "cause": "heartbeat", "cs-id": 1, "csci-id": "2001:db8::7",
    "locator": {"address": "198.51.100.11", "port": 8443},
    "epoch": 1750000000000000000, "sequence": 42, "timestamp": "1750000000000000", "ttl": 120,
    "gas": 300, "computing-time": 12.345, "min": "4", "max": 80.5, "min-input-tokens": 16, "max-input-tokens": 4096,
    "health": "healthy", "price": 3, "reputation": 9, "security-level": 5,
    "instances": {"healthy": 3, "degraded": 1}
}"#;

#[test]
fn a_report_written_by_hand_is_read() {
    let DecodedReport { report, token, unknown_fields } = decode_report(WRITTEN.as_bytes()).unwrap();
    assert_eq!((token, unknown_fields), (None, 0));
    assert_eq!((report.kind, report.cause), (ReportKind::Full, ReportCause::Heartbeat));
    assert_eq!((report.cs_id.to_string(), report.csci_id.to_string()), ("1".into(), "2001:db8::7".into()));
    assert_eq!(report.locator.unwrap().to_string(), "198.51.100.11:8443");
    assert_eq!(report.freshness, Freshness { epoch: 1_750_000_000_000_000_000, sequence: 42 });
    assert_eq!((report.timestamp.0, report.ttl), (1_750_000_000_000_000, Some(Duration::from_secs(120))));
    let expected = ReportedMetrics {
        gas: Some(300),
        computing_time: Some(12_345),
        computing_time_min: Some(ReportedTime { time: 4_000, input_tokens: Some(16) }),
        computing_time_max: Some(ReportedTime { time: 80_500, input_tokens: Some(4096) }),
        health: Some(Health::Healthy),
        price: Some(3),
        reputation: Some(9),
        security_level: Some(5),
        instances: Some(InstanceCounts { healthy: 3, degraded: 1, unhealthy: 0, unknown: 0 }),
    };
    assert_eq!(report.metrics, expected);
}

fn with(name: &str, value: &str) -> String {
    let mut object: serde_json::Map<String, serde_json::Value> = serde_json::from_str(WRITTEN).unwrap();
    object.remove(name);
    let mut text = serde_json::Value::Object(object).to_string();
    if !value.is_empty() {
        text.insert_str(1, &format!("\"{name}\": {value}, "));
    }
    text
}

/// Proves SMA-6: every field's format.
#[test]
fn each_required_member_is_missed_by_its_name() {
    for name in ["kind", "cause", "cs-id", "csci-id", "epoch", "sequence", "timestamp"] {
        for text in [with(name, ""), with(name, "null")] {
            let error = decode_report(text.as_bytes()).unwrap_err();
            assert_eq!((error.field.as_str(), &error.problem), (name, &Problem::Missing));
        }
    }
    for name in ["locator", "ttl", "gas", "computing-time", "health", "price", "reputation", "instances"] {
        assert!(decode_report(with(name, "").as_bytes()).is_ok(), "{name}");
    }
}

/// Proves SMA-3, SMA-6: no number, an overflow, another unit, another type: each is an error that names the field.
#[test]
fn a_value_that_does_not_fit_is_refused_at_its_field() {
    let cases = [
        ("gas", "NaN", "is no JSON"),
        ("gas", "\"NaN\"", "is \"NaN\"; a whole number"),
        ("gas", "1e999", "is no JSON: number out of range"),
        ("gas", "Infinity", "is no JSON"),
        ("gas", "18446744073709551616", "a whole number from 0 to 18446744073709551615"),
        ("gas", "-1", "is -1; a whole number"),
        ("gas", "1.5", "is 1.5; a whole number"),
        ("gas", "true", "is true; a whole number"),
        ("gas", "\"+5\"", "is \"+5\"; a whole number"),
        ("computing-time", "\"12 ms\"", "a number of milliseconds without a unit"),
        ("computing-time", "\"0.012s\"", "a number of milliseconds without a unit"),
        ("computing-time", "12.3456", "at most three digits"),
        ("computing-time", "-0.5", "a number of milliseconds"),
        ("computing-time", "1e300", "a number of milliseconds"),
        ("ttl", "4294967296", "from 0 to 4294967295"),
        ("ttl", "\"30s\"", "without a unit"),
        ("min-input-tokens", "-3", "from 0 to 4294967295"),
        ("health", "\"well\"", "healthy, degraded, unhealthy or unknown is expected"),
        ("health", "1", "is 1; healthy"),
        ("kind", "\"partial\"", "full or delta"),
        ("cause", "[]", "is an array; heartbeat"),
        ("cs-id", "0", "0 names no service or instance"),
        ("cs-id", "\"ARS\"", "neither a number from 1 to 4294967295 nor an IP address"),
        ("csci-id", "\"188.3.67.3:67\"", "neither a number"),
        ("csci-id", "{}", "is an object; a number or a text"),
        ("epoch", "\"1750000000\\u0000\"", "a whole number"),
        ("timestamp", "1750000000.5", "a whole number"),
        ("locator.address", "", "is missing"),
        ("locator.port", "65536", "a number from 0 to 65535"),
        ("instances.healthy", "-1", "from 0 to 4294967295"),
        ("auth.token", "5", "is 5; a text"),
    ];
    for (field, value, words) in cases {
        let text = match field.split_once('.') {
            Some((outer, _)) if value.is_empty() => with(outer, "{}"),
            Some((outer @ "locator", inner)) => {
                with(outer, &format!("{{\"address\": \"::1\", \"{inner}\": {value}}}"))
            }
            Some((outer, inner)) => with(outer, &format!("{{\"{inner}\": {value}}}")),
            None => with(field, value),
        };
        let error = decode_report(text.as_bytes()).unwrap_err();
        assert_eq!(error.field, field, "{value}: {error}");
        assert!(error.to_string().contains(words), "{error}");
    }
    let error = decode_report(with("min", "").as_bytes()).unwrap_err();
    assert_eq!(error.to_string(), "field `min-input-tokens` belongs to `min`, which is missing");
}

#[test]
fn unknown_members_are_skipped_and_counted_at_all_levels_and_repeated_ones_refused() {
    let more =
        with("instances", r#"{"healthy": 1, "starting": 2}"#).replacen('{', r#"{"colour": {"a": [1]}, "#, 1);
    assert_eq!(decode_report(more.as_bytes()).unwrap().unknown_fields, 2);
    let twice = WRITTEN.replacen("\"gas\": 300", "\"gas\": 300, \"gas\": 301", 1);
    let error = decode_report(twice.as_bytes()).unwrap_err();
    assert_eq!((error.field.as_str(), error.problem), ("gas", Problem::Repeated));
}

#[test]
fn a_text_is_measured_before_it_is_parsed_and_bounded_in_depth_and_number() {
    let large = vec![b'['; MAX_REPORTS + 1];
    let problem = Problem::TooLong { octets: MAX_REPORTS + 1, max: MAX_REPORTS };
    assert_eq!(decode_reports(&large).unwrap_err().problem, problem);
    let deep = format!("{{\"a\": {}1{}}}", "[".repeat(40), "]".repeat(40));
    let error = decode_report(deep.as_bytes()).unwrap_err();
    assert!(error.to_string().contains("within 16 levels"), "{error}");
    let many = format!("[{}0]", "0,".repeat(MAX_BATCH));
    let error = decode_reports(many.as_bytes()).unwrap_err();
    assert_eq!(error.to_string(), "the document has 4097 reports; at most 4096 are taken");
    assert!(decode_report(b"").unwrap_err().to_string().starts_with("the document is no JSON"));
    assert!(decode_report(format!("{WRITTEN} x").as_bytes()).is_err(), "something follows");
}

/// Several reports in one document.
#[test]
fn an_array_of_reports_is_read_and_an_error_names_its_index() {
    let two = format!("[{WRITTEN}, {WRITTEN}]");
    assert_eq!(decode_reports(two.as_bytes()).unwrap().len(), 2);
    let broken = format!("[{WRITTEN}, {}]", with("gas", "-1"));
    assert_eq!(decode_reports(broken.as_bytes()).unwrap_err().field, "[1].gas");
    let no_json = format!("[{WRITTEN}, {}]", with("gas", "NaN"));
    assert_eq!(decode_reports(no_json.as_bytes()).unwrap_err().field, "[1].gas");
}

#[test]
fn an_advertisement_without_content_or_with_a_score_of_11_is_refused_at_its_place() {
    let text = br#"{"agent": "C-SMA-1", "epoch": 1, "sequence": 1, "timestamp": 1}"#;
    let error = decode_advertisement(text).unwrap_err();
    assert_eq!(error.to_string(), "the document has none of snapshot, delta and refresh");
    let text = br#"{"agent": "C-SMA-1", "epoch": 1, "sequence": 1, "timestamp": 1, "delta": {"records": [
        {"cs-id": 1, "csci-id": 2, "gas": 1, "computing-time": 1, "health": "healthy", "taken": 1, "valid-for": 1,
         "reputation": 11}]}}"#;
    let error = decode_advertisement(text).unwrap_err();
    assert_eq!(error.to_string(), "field `delta.records[0].reputation` is 11; at most 10 is allowed");
}
