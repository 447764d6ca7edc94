//! Calls one client, over and over.

use super::reconnect::{Now, Reconnect};
use super::{CallHomeClient, CallHomeState, CallHomeStates, Endpoint, Servers, Stage};
use crate::connection::Calling;
use crate::guard::Course;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::net::{TcpStream, lookup_host};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout};
use tracing::{debug, info, warn};

/// So long a session may take to end once its connection is not wanted any more.
const PARTING: Duration = Duration::from_secs(10);

/// So many addresses of a name are tried.
const ADDRESSES: usize = 8;

type Settings = watch::Receiver<Option<Arc<CallHomeClient>>>;

/// The task that calls a client.
pub(crate) struct Caller {
    name: String,
    settings: Settings,
    machine: Reconnect,
    servers: Arc<Servers>,
    state: CallHomeState,
    states: watch::Sender<CallHomeStates>,
}

/// A connection, which ends with it.
struct Line {
    course: Course,
    wanted: watch::Sender<bool>,
    serving: JoinHandle<String>,
    remote: SocketAddr,
}

impl Drop for Line {
    fn drop(&mut self) {
        self.wanted.send_replace(false);
        self.course.abandon();
        self.serving.abort();
    }
}

/// What has become of an attempt.
enum Attempt {
    Connected(Line),
    Failed(String),
    /// What is configured has changed meanwhile.
    Overtaken,
}

impl Caller {
    /// Until there are no settings any more.
    pub(crate) async fn run(
        name: String,
        mut settings: Settings,
        servers: Arc<Servers>,
        states: watch::Sender<CallHomeStates>,
    ) {
        let Some(client) = settings.borrow_and_update().clone() else { return };
        let endpoints = client.endpoints.keys().copied().collect();
        let machine = Reconnect::new(client.strategy.clone(), endpoints, now(), random());
        let state = CallHomeState {
            stage: Stage::Waiting,
            since: now().unix,
            connections: 0,
            failed: 0,
            last_error: None,
            unreachable: false,
        };
        let mut caller = Self { name, settings, machine, servers, state, states };
        while caller.settings.borrow().is_some() {
            caller.step().await;
        }
    }

    async fn step(&mut self) {
        if let Some(endpoint) = self.machine.poll_output() {
            return self.call(endpoint).await;
        }
        self.tell(Stage::Waiting);
        let due = self.machine.poll_timeout();
        let waiting = async {
            match due {
                Some((due, _)) => sleep_until(Instant::from_std(due)).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.settings.changed() => self.follow(),
            () = waiting => self.machine.handle_timeout(now(), random()),
        }
    }

    /// Takes over what is configured now.
    fn follow(&mut self) {
        if let Some(client) = self.settings.borrow_and_update().clone() {
            let endpoints = client.endpoints.keys().copied().collect();
            self.machine.handle_change(client.strategy.clone(), endpoints, now(), random());
        }
    }

    async fn call(&mut self, number: u8) {
        let client = self.settings.borrow().clone();
        let Some(client) = client else { return };
        let Some(endpoint) = client.endpoints.get(&number).cloned() else { return self.follow() };
        self.tell(Stage::Connecting { endpoint: number });
        match self.attempt(&client, &endpoint).await {
            Attempt::Overtaken => self.follow(),
            Attempt::Failed(why) => {
                debug!(client = self.name, endpoint = number, why, "call home failed");
                self.state.failed += 1;
                self.state.last_error = Some((why, now().unix));
                self.machine.handle_failed(now(), random());
            }
            Attempt::Connected(line) => {
                self.machine.handle_connected(now());
                info!(client = self.name, endpoint = number, remote = %line.remote, "called home");
                self.state.connections += 1;
                self.state.since = now().unix;
                self.tell(Stage::Connected { endpoint: number, remote: line.remote });
                let why = self.hold(line, (&client, number)).await;
                info!(client = self.name, why, "the connection that called home has ended");
                self.state.since = now().unix;
                self.state.last_error = Some((why, now().unix));
                self.machine.handle_lost(now(), random());
            }
        }
    }

    /// Up to the login of a user.
    async fn attempt(&mut self, client: &CallHomeClient, endpoint: &Endpoint) -> Attempt {
        let made = tokio::select! {
            biased;
            _ = self.settings.changed() => return Attempt::Overtaken,
            made = connect(endpoint, client.connect_timeout) => made,
        };
        let made = made.and_then(|(stream, remote)| {
            client.keepalive.set(&stream)?;
            Ok((stream, remote))
        });
        let (stream, remote) = match made {
            Ok(made) => made,
            Err(error) => return Attempt::Failed(format!("{}: {error}", at(endpoint))),
        };
        let (wanted, watched) = watch::channel(true);
        let calling = Calling { wanted: Some(watched), idle: client.idle };
        let Some((course, serving)) = self.servers.begin(client.speaks, stream, remote, calling) else {
            return Attempt::Failed("there is no server of SSH here: see the log".to_owned());
        };
        let mut line = Line { course, wanted, serving: tokio::spawn(serving), remote };
        let logged_in = tokio::select! {
            biased;
            _ = self.settings.changed() => return Attempt::Overtaken,
            progress = line.course.progress.wait_for(|now| now.authenticated) => progress.is_ok(),
        };
        match logged_in {
            true => Attempt::Connected(line),
            false => {
                let why = line.end().await;
                Attempt::Failed(format!("{remote}: nobody has logged in: {why}"))
            }
        }
    }

    /// Up to the end of the connection, and why that was.
    async fn hold(&mut self, mut line: Line, (client, number): (&CallHomeClient, u8)) -> String {
        loop {
            let ended = tokio::select! {
                changed = self.settings.changed() => if changed.is_err() {
                    return "the server shuts down".to_owned();
                } else {
                    false
                },
                ended = line.course.progress.changed() => ended.is_err(),
            };
            if ended {
                return line.end().await;
            }
            let present = self.settings.borrow_and_update().clone();
            let same = present.as_ref().is_some_and(|present| {
                present.speaks == client.speaks
                    && present.endpoints.get(&number) == client.endpoints.get(&number)
            });
            if !same {
                line.wanted.send_replace(false);
                let parted = line.course.progress.wait_for(|now| now.sessions == 0);
                // One that does not part is cut off.
                let _ = timeout(PARTING, parted).await.is_ok();
                self.follow();
                return "it is not configured any more".to_owned();
            }
            self.follow();
        }
    }

    fn tell(&mut self, stage: Stage) {
        self.state.stage = stage;
        let unreachable = self.machine.is_unreachable();
        if unreachable && !self.state.unreachable {
            let why = self.state.last_error.as_ref().map(|(why, _)| why.as_str()).unwrap_or_default();
            warn!(client = self.name, why, "no endpoint of a client that is called can be reached");
        }
        self.state.unreachable = unreachable;
        self.states.send_if_modified(|states| {
            let known = states.get(&self.name);
            let changes = known != Some(&self.state);
            if changes {
                states.insert(self.name.clone(), self.state.clone());
            }
            changes
        });
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        self.states.send_if_modified(|states| states.remove(&self.name).is_some());
    }
}

impl Line {
    /// What its end was.
    async fn end(&mut self) -> String {
        (&mut self.serving).await.unwrap_or_else(|_| "it was cut off".to_owned())
    }
}

fn at(endpoint: &Endpoint) -> String {
    format!("{} port {}", endpoint.host, endpoint.port)
}

/// To the first address that answers, each in so much time.
async fn connect(endpoint: &Endpoint, each: Duration) -> io::Result<(TcpStream, SocketAddr)> {
    let late = |what| io::Error::new(io::ErrorKind::TimedOut, format!("no {what} in time"));
    let found = timeout(each, lookup_host((endpoint.host.as_str(), endpoint.port))).await;
    let found = found.unwrap_or_else(|_| Err(late("address for the name")))?;
    let mut failed = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in found.take(ADDRESSES) {
        match timeout(each, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => return Ok((stream, address)),
            Ok(Err(error)) => failed = error,
            Err(_) => failed = late("TCP connection"),
        }
    }
    Err(failed)
}

fn now() -> Now {
    let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Now { instant: Instant::now().into_std(), unix }
}

/// Enough to spread attempts; nobody gains by foretelling it.
fn random() -> u32 {
    use std::hash::{BuildHasher, Hasher};
    let hashed = std::hash::RandomState::new().build_hasher().finish();
    u32::try_from(hashed >> 32).unwrap_or_default()
}
