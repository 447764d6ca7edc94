//! The engine's end of `engine.sock`, played by the test.

use super::Place;
use cats_engine_transport::management::{
    Attached, Call, Change, Fault, StateDelta, StatePage, listen, serve,
};
use cats_engine_types::{Epoch, Revision};
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, oneshot};

const PATIENCE: Duration = Duration::from_secs(30);

/// The engine's end, whose calls the test answers.
pub struct Engine {
    runtime: Runtime,
    calls: mpsc::Receiver<Call>,
    /// Where it tells what changes of its state.
    watcher: Option<mpsc::Sender<StateDelta>>,
    told: u64,
    _stop: oneshot::Sender<()>,
}

impl Engine {
    pub fn start(place: &Place) -> Self {
        std::fs::create_dir_all(place.path("run")).unwrap();
        let runtime = Runtime::new().unwrap();
        let (sender, calls) = mpsc::channel(16);
        let (stop, stopped) = oneshot::channel::<()>();
        let socket = place.path("run/engine.sock");
        let listener = {
            let _inside = runtime.enter();
            listen(&socket).unwrap()
        };
        runtime.spawn(async move {
            let stopped = async {
                let _ = stopped.await;
            };
            serve(listener, sender, stopped).await.unwrap();
        });
        Self { runtime, calls, watcher: None, told: 0, _stop: stop }
    }

    /// The next call that is to be answered; who watches is remembered.
    pub fn call(&mut self) -> Call {
        self.next_call(PATIENCE).unwrap()
    }

    /// A call, if there is one within a second.
    pub fn try_call(&mut self) -> Option<Call> {
        self.next_call(Duration::from_secs(1))
    }

    fn next_call(&mut self, patience: Duration) -> Option<Call> {
        loop {
            let next = async { tokio::time::timeout(patience, self.calls.recv()).await };
            match self.runtime.block_on(next).ok().map(Option::unwrap)? {
                Call::Watch { deltas, .. } => self.watched(deltas),
                call => return Some(call),
            }
        }
    }

    fn watched(&mut self, deltas: mpsc::Sender<StateDelta>) {
        if !self.watcher.as_ref().is_some_and(|known| known.same_channel(&deltas)) {
            (self.watcher, self.told) = (Some(deltas), 0);
        }
    }

    /// Tells what is gone and what is there of what is watched, and which paths are told whole by that.
    pub fn pushes(&mut self, dropped: &[&str], json: &str, whole: &[&str]) {
        while self.watcher.is_none() {
            let next = async { tokio::time::timeout(PATIENCE, self.calls.recv()).await };
            match self.runtime.block_on(next).unwrap().unwrap() {
                Call::Watch { deltas, .. } => self.watched(deltas),
                other => panic!("{other:?}"),
            }
        }
        self.told += 1;
        let words = |paths: &[&str]| paths.iter().map(ToString::to_string).collect();
        let delta = StateDelta {
            epoch: Epoch(1),
            sequence: self.told,
            dropped: words(dropped),
            json: json.as_bytes().to_vec(),
            whole: words(whole),
        };
        self.runtime.block_on(self.watcher.as_ref().unwrap().send(delta)).unwrap();
    }

    /// Answers the attach of a daemon at `expected`: that this configuration runs already, or not.
    pub fn attached(&mut self, expected: u64, needs_snapshot: bool) {
        let Call::Attach(id, reply) = self.call() else { panic!("an attach") };
        assert_eq!(id.revision, Revision(expected));
        assert!(!id.content_id.is_empty() && !id.datastore_id.is_empty());
        reply.send(Attached { revision: Revision(expected), needs_snapshot, nodes: vec![] }).unwrap();
    }

    pub fn loaded(&mut self, expected: u64) -> String {
        let Call::Snapshot { id, document, reply } = self.call() else { panic!("a snapshot") };
        assert_eq!(id.revision, Revision(expected));
        reply.send(Ok(())).unwrap();
        String::from_utf8(document).unwrap()
    }

    pub fn prepared(&mut self, expected: u64, answer: Result<Vec<String>, Vec<Fault>>) -> Vec<Change> {
        let Call::Prepare { revision, base, changes, reply } = self.call() else { panic!("a prepare") };
        assert_eq!((revision, base), (Revision(expected), Revision(expected - 1)));
        reply.send(answer).unwrap();
        changes
    }

    /// Answers a question for state with one page of this JSON, and says what it was for.
    pub fn tells(&mut self, json: &str) -> Vec<String> {
        let Call::State { paths, page: None, reply, .. } = self.call() else { panic!("a first question") };
        reply.send(Ok(StatePage { json: json.as_bytes().to_vec(), next: None })).unwrap();
        paths
    }

    pub fn applied(&mut self, expected: u64) {
        let Call::Apply(revision, reply) = self.call() else { panic!("an apply") };
        assert_eq!(revision, Revision(expected));
        reply.send(Ok(())).unwrap();
    }

    /// The next operation, with its input and the place for its answer.
    #[allow(clippy::type_complexity)] // that of the call
    pub fn operation(&mut self) -> (String, String, oneshot::Sender<Result<Vec<u8>, Vec<Fault>>>) {
        let Call::Execute { operation, input, reply } = self.call() else { panic!("an operation") };
        (operation, String::from_utf8(input).unwrap(), reply)
    }
}
