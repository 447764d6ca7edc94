//! How reports come in at a metric agent, from outside: whoever sends them proves who it is, over whatever channel, and
//! what is wrong stops there. Needs root.

use cats_conformance::broker::{self, Broker};
use cats_conformance::command::Background;
use cats_conformance::configuration::cats;
use cats_conformance::lab::{python, repository_root};
use cats_conformance::pki::NodeFiles;
use cats_conformance::sites::{AGENTS, Extent, MANY, Sites};
use cats_conformance::state::{Agent, Metrics, alarms};
use cats_conformance::wait::wait_for;
use cats_conformance::{LabError, Result};
use std::path::{Path, PathBuf};

const REPORTER: &str = env!("CARGO_BIN_EXE_cats-report");

/// A path selector and a metric agent, to which nobody reports yet.
fn start(name: &str) -> Result<Sites> {
    Sites::start(name, REPORTER, Extent::Metrics)
}

/// Configuration of the metric agent.
fn agent(content: &str) -> String {
    cats(&format!("<metric-agent xmlns=\"urn:catsd:yang:cats-sma\">{content}</metric-agent>"))
}

/// Has tokens of the issuer `lab` taken, and gives the arguments by which a reporter has them.
fn take_tokens(sites: &Sites) -> Result<Vec<String>> {
    let key = sites.authority.signing_key("issuer")?;
    sites.agents[0].configure(&agent(&format!(
        "<collection><tokens><issuer>lab</issuer><audience>C-SMA-1</audience><leeway>0</leeway>\
         <key><id>lab</id><file>{}</file></key></tokens></collection>",
        key.public.display()
    )))?;
    Ok(token(&key.private, "lab", "C-SMA-1", 600))
}

fn token(key: &Path, issuer: &str, audience: &str, lifetime: i32) -> Vec<String> {
    let (key, lifetime) = (key.display().to_string(), lifetime.to_string());
    let pairs = [
        ["--jwt-key", &key],
        ["--jwt-issuer", issuer],
        ["--jwt-audience", audience],
        ["--jwt-lifetime", &lifetime],
    ];
    pairs.iter().flatten().map(ToString::to_string).collect()
}

fn words(words: &[String]) -> Vec<&str> {
    words.iter().map(String::as_str).collect()
}

/// Whether so many instances are told of, each with these slots.
fn all_have(metrics: &Metrics, instances: usize, slots: &str) -> bool {
    metrics.len() == instances && metrics.values().all(|told| told.get("gas").is_some_and(|gas| gas == slots))
}

/// Proves SMA-1, SMA-2, SMA-18.
#[test]
fn a_token_or_a_signature_proves_who_reports_if_it_is_right_in_all() -> Result<()> {
    let sites = start("collection-tokens")?;
    let right = take_tokens(&sites)?;
    for over in ["grpc", "rest"] {
        let load = ["--over", over, "--instances", "20", "--count", "3", "--rate", "10", "--check"];
        let faults = ["--faults", "other-instance,bad-signature", "--every", "10"];
        let reported = sites.report_by(0, &words(&right), &[&load[..], &faults].concat())?;
        assert_eq!((reported.code, reported.taken("honest")), (Some(0), 60), "{over}: {:#}", reported.told);
    }
    sites.until_told(0, "twenty instances", |told| all_have(told, 20, "240"))?;

    let issuer = PathBuf::from(sites.pki("issuer.sign"));
    let another = sites.authority.signing_key("another")?;
    let before = Agent::of(&sites.agents[0])?;
    for (what, wrong) in [
        ("expired", token(&issuer, "lab", "C-SMA-1", -2)),
        ("for another audience", token(&issuer, "lab", "C-SMA-2", 600)),
        ("of another issuer", token(&issuer, "elsewhere", "C-SMA-1", 600)),
        ("of another key", token(&another.private, "lab", "C-SMA-1", 600)),
    ] {
        for over in ["grpc", "rest"] {
            let reported =
                sites.report_by(0, &words(&wrong), &["--over", over, "--count", "2", "--rate", "10"])?;
            assert_eq!(reported.taken("honest"), 0, "{what} over {over}: {:#}", reported.told);
        }
    }
    let after = Agent::of(&sites.agents[0])?;
    assert_eq!(before.count("taken"), after.count("taken"));
    assert!(
        after.count("authentication-failures") >= before.count("authentication-failures") + 16,
        "{after:?}"
    );
    wait_for("the alarm", || alarms(&sites.agents[0]).ok()?.remove("authentication-failure"))?;
    Ok(())
}

/// Proves SMA-1, SMA-13, SMA-18: a detached signature of the posted octets, by a key pair or by a shared secret.
#[test]
fn a_posted_report_counts_by_its_signature_and_is_read_again_with_its_tag() -> Result<()> {
    let sites = start("collection-signed")?;
    take_tokens(&sites)?;
    let pair = sites.authority.signing_key("instance")?;
    let secret = sites.pki("instance.secret");
    std::fs::write(&secret, "a secret of thirty-two octets or more")
        .map_err(LabError::of("writing a secret"))?;
    let key = |id: &str, algorithm: &str, file: &str| {
        format!(
            "<report-key><id>{id}</id><csci-id>1000</csci-id><algorithm>{algorithm}</algorithm><file>{file}</file>\
             </report-key>"
        )
    };
    let keys =
        key("pair", "ed25519", &pair.public.display().to_string()) + &key("secret", "hmac-sha256", &secret);
    sites.agents[0].configure(&agent(&format!("<collection>{keys}</collection>")))?;
    let private = pair.private.display().to_string();
    for (id, algorithm, file) in [("pair", "ed25519", &private), ("secret", "hmac-sha256", &secret)] {
        let proof = ["--signing-key", file, "--signing-key-id", id, "--signing-algorithm", algorithm];
        let load = ["--over", "rest", "--count", "6", "--rate", "10", "--check", "--ttl", "600"];
        let faults = ["--faults", "bad-signature,other-instance,replay"];
        let reported = sites.report_by(0, &proof, &[&load[..], &faults].concat())?;
        assert_eq!((reported.code, reported.taken("honest")), (Some(0), 6), "{id}: {:#}", reported.told);
    }
    sites.until_told(0, "the instance", |told| all_have(told, 1, "240"))?;

    let [_, certificate, _, private] = sites.certified(AGENTS[0]);
    let get = |options: &[&str]| {
        let url = format!("https://{}:7444/cats/v1/reports/1000", AGENTS[0].management);
        let own =
            ["-sk", "--max-time", "5", "--noproxy", "*", "--cert", &certificate, "--key", &private, "-i"];
        sites.hosts.agents[0].run("curl", &[&own[..], options, &[&url]].concat())
    };
    let first = get(&[])?.to_lowercase();
    assert!(first.contains(" 200") && first.contains("\"gas\":"), "{first}");
    let tag =
        first.lines().find_map(|line| line.strip_prefix("etag: ")).unwrap_or_default().trim().to_owned();
    let again = get(&["-H", &format!("if-none-match: {tag}")])?;
    assert!(again.contains(" 304"), "{tag}: {again}");
    Ok(())
}

/// Proves SMA-3, SMA-5, SMA-6, SMA-18, SMA-28: of what hostile and broken instances send nothing reaches a path selector.
#[test]
fn what_is_out_of_range_malformed_replayed_or_not_ones_own_is_refused_over_each_channel() -> Result<()> {
    let sites = start("collection-hostile")?;
    let proof = sites.certified(AGENTS[0]);
    let (proof, many) = (words(&proof), MANY.to_string());
    let common = "replay,reorder,out-of-range,unknown-fields,missing-key,clock-ahead,clock-behind,other-instance,\
                  oversize";
    for (over, faults) in [("grpc", common.to_owned()), ("rest", format!("{common},nan,wrong-unit"))] {
        let load = [
            "--over",
            over,
            "--instances",
            &many,
            "--count",
            "6",
            "--rate",
            "2",
            "--every",
            "2",
            "--ttl",
            "600",
        ];
        let reported =
            sites.report_by(0, &proof, &[&load[..], &["--faults", &faults, "--check"]].concat())?;
        assert_eq!(reported.code, Some(0), "{over}: {:#}", reported.told);
    }
    let load = ["--instances", &many, "--count", "1", "--check", "--ttl", "600"];
    let reported = sites.report_by(0, &proof, &load)?;
    assert_eq!((reported.code, reported.taken("honest")), (Some(0), MANY.into()), "{:#}", reported.told);
    let told = sites.until_told(0, "honest values", |told| all_have(told, MANY as usize, "240"))?;
    assert!(told.values().all(|told| told["computing-us"] == "10000"), "{told:?}");
    let counted = Agent::of(&sites.agents[0])?;
    for cause in ["out-of-range", "duplicate", "clock-skew"] {
        assert!(counted.refused(cause) > 0, "{cause}: {counted:?}");
    }
    assert!(counted.count("unknown-fields") > 0, "{counted:?}");
    Ok(())
}

/// Proves SMA-5: the alarm stands until the instance's clock is right.
#[test]
fn the_clock_of_an_instance_that_is_an_hour_off_raises_an_alarm() -> Result<()> {
    let sites = start("collection-clocks")?;
    let proof = sites.certified(AGENTS[0]);
    for (fault, words_of_it) in [("clock-ahead", "ahead"), ("clock-behind", "behind")] {
        let load = ["--count", "1", "--faults", fault, "--check", "--ttl", "600"];
        let reported = sites.report_by(0, &words(&proof), &load)?;
        assert_eq!((reported.code, reported.taken("honest")), (Some(0), 1), "{:#}", reported.told);
        let text = wait_for("the alarm", || alarms(&sites.agents[0]).ok()?.remove("instance-clock-skew"))?;
        assert!(text.contains("1000") && text.contains(words_of_it), "{fault}: {text}");
        sites.report_by(0, &words(&proof), &["--count", "1", "--ttl", "600"])?;
        wait_for("the alarm to end", || {
            (!alarms(&sites.agents[0]).ok()?.contains_key("instance-clock-skew")).then_some(())
        })?;
    }
    Ok(())
}

/// Proves SMA-1, SMA-18: through Debian's mosquitto, which is killed and comes back without any memory.
#[test]
fn reports_come_over_a_broker_and_go_on_after_it_restarts() -> Result<()> {
    let sites = start("collection-broker")?;
    let proof = take_tokens(&sites)?;
    let address = AGENTS[0].management;
    let server = address.parse().map_err(LabError::of("reading the address of the broker"))?;
    let files = sites.authority.issue_server("broker", server)?;
    let mut broker = Broker::start(&sites.lab, &sites.hosts.agents[0], address, &files)?;
    sites.agents[0].configure(&agent(&format!(
        "<collection><broker><host>{address}</host><site>east</site></broker></collection>"
    )))?;
    let connected = |wanted: &str| {
        wait_for(&format!("the broker to be connected to: {wanted}"), || {
            (Agent::of(&sites.agents[0]).ok()?.status.get("broker-connected")? == wanted).then_some(())
        })
    };
    connected("true")?;
    let to = format!("{address}:{}", broker::PORT);
    let own = sites.certified(AGENTS[0]);
    let proof = [words(&proof), words(&own), vec!["--to", &to]].concat();
    let report = |gas: &str, faults: &[&str]| {
        let load = ["--over", "mqtt", "--site", "east", "--instances", "10", "--gas", gas, "--ttl", "600"];
        sites.report_by(0, &proof, &[&load[..], faults, &["--rate", "10", "--check"]].concat())
    };
    let hostile =
        ["--count", "4", "--faults", "bad-signature,other-instance,out-of-range,nan,missing-key,replay"];
    assert_eq!(report("300", &hostile)?.code, Some(0));
    sites.until_told(0, "what is honest over the broker", |told| all_have(told, 10, "240"))?;
    let counted = wait_for("the hostile reports to be counted", || {
        let counted = Agent::of(&sites.agents[0]).ok()?;
        (counted.count("taken") == 40 && counted.count("authentication-failures") > 0).then_some(counted)
    })?;
    assert!(counted.refused("out-of-range") > 0, "{counted:?}");

    broker.kill()?;
    connected("false")?;
    broker.start_again()?;
    connected("true")?;
    assert_eq!(report("500", &["--count", "1"])?.code, Some(0));
    sites.until_told(0, "what came over the broker anew", |told| all_have(told, 10, "400"))?;
    Ok(())
}

/// A contact instance of the lab that does not connect, and whose slots are those of its file.
struct Contact {
    server: Background,
    slots: PathBuf,
}

impl Contact {
    fn start(sites: &Sites, slots: &str) -> Result<Contact> {
        let NodeFiles { authority, certificate, private_key } =
            sites.authority.issue("contact", &["cats:csci:1000"])?;
        let file = sites.lab.folder().join("contact.slots");
        std::fs::write(&file, slots).map_err(LabError::of("writing slots"))?;
        let mut command = sites.hosts.agents[0].command(&python());
        command.arg(repository_root().join("conformance/lab/contact.py"));
        command.args(["1000", "127.0.0.1", "7445"]);
        command.args([authority, certificate, private_key]).arg(&file);
        let log = sites.lab.folder().join("contact.log");
        let mut server = Background::start("the contact instance", command, &log)?;
        server.wait_until("serving", || read(&log).contains("serving"))?;
        Ok(Contact { server, slots: file })
    }

    fn now_has(&self, slots: &str) -> Result<()> {
        let fresh = self.slots.with_extension("fresh");
        let written = std::fs::write(&fresh, slots).and_then(|()| std::fs::rename(&fresh, &self.slots));
        written.map_err(LabError::of("writing slots"))
    }

    /// What it said so far.
    fn said(&self) -> String {
        read(self.server.log())
    }
}

fn read(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap_or_default()
}

/// Proves SMA-1, SMA-9: by GET when nothing is known of it, and by server-sent events from then on.
#[test]
fn an_instance_that_cannot_connect_is_asked_and_then_listened_to() -> Result<()> {
    let sites = start("collection-asked")?;
    let contact = Contact::start(&sites, "100")?;
    let source = |subscribe: bool| {
        agent(&format!(
            "<collection><source><csci-id>1000</csci-id><address>127.0.0.1</address><ask>http</ask>\
             <subscribe>{subscribe}</subscribe></source></collection><admission><instance><cs-id>1</cs-id>\
             <csci-id>1000</csci-id></instance></admission><pull><enabled>true</enabled>\
             <min-interval>1</min-interval></pull>"
        ))
    };
    sites.agents[0].configure(&source(false))?;
    sites.until_told(0, "what the instance answers", |told| all_have(told, 1, "80"))?;
    assert!(contact.said().contains("asked for /cats/v1/reports/1000"), "{}", contact.said());
    assert!(!contact.said().contains("listened to"), "{}", contact.said());

    sites.agents[0].configure(&source(true))?;
    wait_for("the instance to be listened to", || contact.said().contains("listened to").then_some(()))?;
    for slots in [200, 700] {
        contact.now_has(&slots.to_string())?;
        let told = (slots * 8 / 10).to_string();
        sites.until_told(0, "what the instance said", |metrics| all_have(metrics, 1, &told))?;
    }
    Ok(())
}

/// Proves SMA-1, SMA-4, SMA-9: what is pushed is asked for beside that, once it is overdue or in doubt.
#[test]
fn an_instance_that_pushes_is_asked_when_it_is_overdue_or_in_doubt() -> Result<()> {
    let sites = start("collection-hybrid")?;
    sites.agents[0]
        .configure(&agent("<pull><enabled>true</enabled><min-interval>1</min-interval></pull>"))?;
    let proof = sites.certified(AGENTS[0]);
    let overdue = ["--rate", "0.2", "--duration", "6", "--ttl", "1"];
    let reported = sites.report_by(0, &words(&proof), &overdue)?;
    assert!(reported.told["pulls"].as_u64() >= Some(1), "{:#}", reported.told);
    assert!(reported.taken("honest") >= 3, "what it was asked for counts: {:#}", reported.told);
    assert!(Agent::of(&sites.agents[0])?.count("stale") >= 1);

    let in_doubt =
        ["--rate", "4", "--duration", "4", "--shape", "flapping", "--period", "0.5", "--ttl", "600"];
    let reported = sites.report_by(0, &words(&proof), &in_doubt)?;
    assert!(reported.told["pulls"].as_u64() >= Some(1), "{:#}", reported.told);
    Ok(())
}

/// Proves SMA-18: in the middle of a stream, by a list that changes without a word to the agent.
#[test]
fn an_instance_whose_certificate_is_revoked_is_cut_off_amid_its_reports() -> Result<()> {
    let sites = start("collection-revoked")?;
    let list = sites.authority.revoke(&[])?;
    sites.agents[0].configure(&cats(&format!(
        "<system xmlns=\"urn:catsd:yang:cats-system\"><certificates><revocation-list>{}</revocation-list>\
         </certificates></system>",
        list.display()
    )))?;
    let one = |name: &str, id: u32| sites.authority.issue(name, &[&format!("cats:csci:{id}")]);
    let (bad, good) = (one("bad", 1000)?, one("good", 1001)?);
    let _both = {
        // One file name for both: the one of 1000 is revoked.
        for (files, id) in [(&bad, 1000), (&good, 1001)] {
            for (from, suffix) in [(&files.certificate, "pem"), (&files.private_key, "key")] {
                let to = sites.pki(&format!("own-{id}.{suffix}"));
                std::fs::copy(from, to).map_err(LabError::of("copying a certificate"))?;
            }
        }
        let (certificate, key) = (sites.pki("own-{id}.pem"), sites.pki("own-{id}.key"));
        sites.report_as(
            0,
            &["--certificate", &certificate, "--private-key", &key],
            &["--instances", "2", "--rate", "4"],
        )?
    };
    sites.until_told(0, "both instances", |told| all_have(told, 2, "240"))?;
    sites.authority.revoke(&[&bad.certificate])?;
    let left = sites.until_told(0, "the other instance alone, with slots", |told| {
        let slots = |id: &str| told.get(id).and_then(|told| told.get("gas")).map(String::as_str);
        slots("1 1001") == Some("240") && slots("1 1000") != Some("240")
    })?;
    let counted = Agent::of(&sites.agents[0])?;
    wait_for("the other one to go on reporting", || {
        (Agent::of(&sites.agents[0]).ok()?.count("taken") > counted.count("taken") + 4).then_some(())
    })?;
    assert!(left.contains_key("1 1001"));
    Ok(())
}
