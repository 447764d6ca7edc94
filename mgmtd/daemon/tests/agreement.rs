//! kill -9 of the daemon in the middle of commits while an engine is attached: afterwards both have one revision, the
//! one before the commit or the one after it, and the same content.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a failed set-up is a failed test

mod daemon;

use cats_engine_transport::management::{Attached, Call, Change, ConfigId, Edit, listen, serve};
use cats_engine_types::Revision;
use daemon::{Place, edit, text_of};
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, watch};

const PATIENCE: Duration = Duration::from_secs(30);
const ROUNDS: u64 = 20;
const ITEMS: u32 = 20;

/// The leafs of a configuration by their paths below `knobs`.
type Leafs = BTreeMap<String, String>;

/// What the engine runs, and how far it follows.
#[derive(Debug, Clone, Default)]
struct Runs {
    id: ConfigId,
    leafs: Leafs,
    /// Calls so far.
    calls: u64,
    /// A daemon is attached, and needs to send no snapshot any more.
    in_sync: bool,
}

/// An engine that takes everything: it keeps what it applied as leafs, over any number of daemons.
async fn engine(mut calls: mpsc::Receiver<Call>, runs: watch::Sender<Runs>) {
    let mut watchers = Vec::new();
    let mut prepared: Option<(Revision, Leafs)> = None;
    while let Some(call) = calls.recv().await {
        runs.send_modify(|runs| runs.calls += 1);
        match call {
            Call::Attach(id, reply) => {
                prepared = None;
                let needs_snapshot = runs.borrow().id != id;
                runs.send_modify(|runs| runs.in_sync = !needs_snapshot);
                let revision = runs.borrow().id.revision;
                assert!(needs_snapshot || revision == id.revision);
                assert!(revision <= id.revision, "the engine runs {revision:?}, which was never durable");
                reply.send(Attached { revision, needs_snapshot, nodes: vec![] }).unwrap();
            }
            Call::Snapshot { id, document, reply } => {
                let leafs = leafs_of(&serde_json::from_slice(&document).unwrap());
                runs.send_modify(|runs| (runs.id, runs.leafs, runs.in_sync) = (id, leafs, true));
                prepared = None;
                // A daemon that was killed waits for no answer, here and below.
                let _ = reply.send(Ok(()));
            }
            Call::Prepare { revision, base, changes, reply } => {
                let mut leafs = runs.borrow().leafs.clone();
                assert_eq!(base, runs.borrow().id.revision);
                changes.iter().for_each(|change| make(&mut leafs, change));
                prepared = Some((revision, leafs));
                let _ = reply.send(Ok(vec![]));
            }
            Call::Apply(revision, reply) => {
                let (planned, leafs) = prepared.take().unwrap();
                assert_eq!(planned, revision);
                runs.send_modify(|runs| (runs.id.revision, runs.leafs) = (revision, leafs));
                let _ = reply.send(Ok(()));
            }
            Call::Abort(_, reply) => {
                prepared = None;
                let _ = reply.send(());
            }
            Call::Detach => {
                watchers.clear();
                prepared = None;
                runs.send_modify(|runs| runs.in_sync = false);
            }
            Call::State { .. } => panic!("no test asks for state"),
            // It is told nothing: there are no alarms here.
            Call::Watch { deltas, .. } => watchers.push(deltas),
            Call::Execute { .. } => panic!("no test asks for an operation"),
        }
    }
}

fn leafs_of(document: &Value) -> Leafs {
    let mut leafs = Leafs::new();
    let Some(knobs) = document.get("example-knobs:knobs") else { return leafs };
    for (name, value) in knobs.as_object().unwrap() {
        match value.as_array() {
            Some(items) => items.iter().for_each(|item| put_item(&mut leafs, item)),
            None => drop(leafs.insert(name.clone(), value.to_string())),
        }
    }
    leafs
}

fn put_item(leafs: &mut Leafs, item: &Value) {
    let name = item["name"].as_str().unwrap();
    leafs.insert(format!("item[name='{name}']/size"), item["size"].to_string());
}

fn make(leafs: &mut Leafs, change: &Change) {
    let place = change.path.strip_prefix("/example-knobs:knobs/").unwrap();
    let Edit::Set(value) = &change.edit else { panic!("only values are set: {change:?}") };
    match serde_json::from_str(value).unwrap() {
        item @ Value::Object(_) => put_item(leafs, &item),
        value => drop(leafs.insert(place.to_owned(), value.to_string())),
    }
}

/// All leafs of the commit number `value`; none for 0.
fn expected(value: u32) -> Leafs {
    let items = (0..ITEMS).map(|n| format!("item[name='i{n}']/size"));
    let places = items.chain(["one".to_owned(), "twin".to_owned()]);
    if value == 0 { Leafs::new() } else { places.map(|place| (place, value.to_string())).collect() }
}

fn content(value: u32) -> String {
    let items: String =
        (0..ITEMS).map(|n| format!("<item><name>i{n}</name><size>{value}</size></item>")).collect();
    format!("<one>{value}</one>{items}<twin>{value}</twin>")
}

/// A fixed sequence of numbers below `bound`, the same in each run.
fn draw(seed: &mut u64, bound: u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 33) % bound
}

struct Bench {
    runtime: Runtime,
    runs: watch::Receiver<Runs>,
    engine: tokio::task::JoinHandle<()>,
}

impl Bench {
    fn start(place: &Place) -> Self {
        std::fs::create_dir_all(place.path("run")).unwrap();
        let runtime = Runtime::new().unwrap();
        let (sender, calls) = mpsc::channel(16);
        let (runs_sender, runs) = watch::channel(Runs::default());
        let listener = {
            let _inside = runtime.enter();
            listen(&place.path("run/engine.sock")).unwrap()
        };
        runtime.spawn(async move { serve(listener, sender, std::future::pending()).await.unwrap() });
        let engine = runtime.spawn(engine(calls, runs_sender));
        Self { runtime, runs, engine }
    }

    /// Waits until the engine has come so far.
    fn until(&mut self, what: &str, condition: impl FnMut(&Runs) -> bool) -> Runs {
        let wait = async { tokio::time::timeout(PATIENCE, self.runs.wait_for(condition)).await };
        let found = self.runtime.block_on(wait).unwrap_or_else(|_| panic!("not in time: {what}"));
        found.expect("the engine met something it must not").clone()
    }
}

#[test]
fn a_daemon_killed_in_mid_commit_and_its_engine_agree_on_one_revision_afterwards() {
    let place = Place::new();
    let mut bench = Bench::start(&place);
    let mut seed = 20_261_129;
    let mut before = 0;
    for round in 0..ROUNDS {
        let daemon = place.start();
        let mut session = daemon.client();
        let runs = bench.until("in sync", |runs| runs.in_sync);
        let running = session.running();
        let value = text_of(&running, "one").map_or(0, |value| value.parse().unwrap());
        assert_eq!(runs.leafs, expected(value), "round {round}: the engine's");
        assert_eq!(running.matches(&format!(">{value}<")).count(), expected(value).len(), "{running}");
        assert!(value >= before, "what the engine ran is gone: {before}, now {value}");
        // Each commit is a revision, so the numbers agree too.
        assert_eq!(runs.id.revision, Revision(u64::from(value)));
        for next in value + 1..value + 12 {
            session.send(&edit(&content(next)));
            session.send("<commit/>");
        }
        let (calls, spin) = (1 + draw(&mut seed, 12), draw(&mut seed, 2_000_000));
        before = bench.until("calls", |now| now.calls >= runs.calls + calls).id.revision.0 as u32;
        // On to some point between that call and the next ones, without waiting for a clock.
        std::hint::black_box((0..spin).fold(1_u64, |sum, n| sum.wrapping_mul(n | 1)));
        daemon.kill();
        bench.until("gone", |runs| !runs.in_sync);
    }
    assert!(!bench.engine.is_finished());
}
