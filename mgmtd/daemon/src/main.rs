//! The management daemon: it wires the transports to NETCONF sessions, these to the core, and the core to the
//! store, to libyang and to the engine.
//!
//! This program must not decide anything about configuration: that is the core's. It runs without capabilities. The
//! hub (one task) owns the core; each session is a task; the store and libyang have a thread each, since they block.
//! Every channel between them is bounded.

mod args;
mod content;
mod engine;
mod exec;
mod files;
mod history;
mod hub;
mod keeper;
mod limits;
mod listening;
mod logins;
mod operations;
mod oracle;
mod random;
mod recorder;
mod retrieval;
mod rules;
mod session;
mod startup;
mod telling;
mod transports;
mod waiting;

use args::Args;
use cats_mgmtd_transport::{Access, Admission, Connection, HostKeys, LocalListener, SshListener};
use clap::Parser;
use files::Files;
use hub::{Hub, HubSender, Input, Workers};
use limits::Limits;
use listening::{Doors, Guests};
use rules::Rules;
use startup::{Ready, StartError};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tracing_subscriber::EnvFilter;
use transports::Configured;

/// Accepted connections that may wait for their session.
const ACCEPTED: usize = 16;

/// What is logged unless `RUST_LOG` says otherwise. The SSH library writes texts of peers as they come.
const LOGGED: &str = "info,russh=error";

/// How long sessions may take to close when the daemon stops.
const GOODBYE: Duration = Duration::from_secs(5);

fn main() -> ExitCode {
    cats_yang_schema::keep_little_memory();
    let args = Args::parse();
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(LOGGED));
    let colours = std::io::stderr().is_terminal();
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(colours)
        // To complain of a standard error that takes nothing would be to panic.
        .log_internal_errors(false)
        .init();
    let result = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(StartError::system("cannot start the runtime"))
        .and_then(|runtime| runtime.block_on(run(args)));
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(args: Args) -> Result<(), StartError> {
    let mut stop = Stop::new()?;
    std::fs::create_dir_all(&args.run_dir)
        .map_err(StartError::system(format!("cannot create {}", args.run_dir.display())))?;
    let ready_file = ReadyFile::new(&args.run_dir)?;
    let Ready { core, rules, logins, schema, compiled, store, boot, capabilities, engine, archive, keeper } =
        startup::prepare(&args)?;
    let (sender, inputs) = hub::channel();
    let (revision, revisions) = watch::channel(store.revision());
    let thread = |what: &'static str| StartError::system(format!("cannot start the {what} thread"));
    let oracle = oracle::start(compiled, Arc::clone(&schema), startup::sessions(&args), sender.clone())
        .map_err(thread("oracle"))?;
    let (recorder, recording) = recorder::start(
        (store, archive),
        core.running().1.clone(),
        Arc::clone(&schema),
        boot,
        (startup::sessions(&args), sender.clone()),
    )
    .map_err(thread("recorder"))?;
    let (keeper, keeping) = keeper.start(sender.clone()).map_err(thread("keeper"))?;
    let (limits, limited, admission) = admission(&args, &rules);
    let files = Files::new(&args, limited, Arc::clone(&schema), sender.clone());
    let access = logins.subscribe();
    let (transports, configured) = watch::channel(rules.transports());
    let workers = Workers { oracle, recorder, keeper, files, limits, transports, revision };
    let hub = Hub::new(core, (rules, logins), Arc::clone(&schema), workers);
    let mut hub = tokio::spawn(hub.run(inputs));
    let shared = Arc::new(session::Shared {
        schema,
        capabilities,
        limits: args.message_limits(),
        hub: sender.clone(),
        administrators: args.user.iter().map(|user| user.name.clone()).collect(),
        memory: session::Memory::default(),
    });
    let (alive, sessions) = mpsc::channel(1);
    let listeners = listen(&args, (shared, admission), (access, configured), alive).await?;
    tokio::spawn(engine::run(engine, revisions, sender.clone()));
    ready_file.announce()?;
    tracing::info!(run_dir = %args.run_dir.display(), "ready");
    tokio::select! {
        () = stop.wait() => tracing::info!("stopping"),
        // Only a bug of ours ends it; a service manager starts us again, from what is durable.
        _ = &mut hub => return Err(StartError::Lost),
    }
    ready_file.retract();
    listeners.abort();
    shut_down(sender, hub, (recording, keeping), sessions).await;
    Ok(())
}

/// Counts the sessions, and keeps what they take up to the limits that are configured.
fn admission(args: &Args, rules: &Rules) -> (watch::Sender<Limits>, watch::Receiver<Limits>, Arc<Admission>) {
    let (limits, limited) = watch::channel(Limits::of(rules.limits()));
    let admission = Admission::new(args.session_limits());
    tokio::spawn(limits::follow(limited.clone(), Arc::clone(admission.rooms())));
    (limits, limited, admission)
}

/// Lets a commit that is on its way end, closes the sessions, and waits until the journal is closed.
async fn shut_down(
    sender: HubSender,
    hub: tokio::task::JoinHandle<()>,
    (recording, keeping): (std::thread::JoinHandle<()>, std::thread::JoinHandle<()>),
    mut sessions: mpsc::Receiver<()>,
) {
    // A hub that is gone is stopped.
    let _ = sender.send(Input::Stop).await;
    drop(sender);
    if hub.await.is_err() {
        tracing::error!("the hub ended badly");
    }
    // Each session holds a sender until it has said goodbye.
    if tokio::time::timeout(GOODBYE, sessions.recv()).await.is_err() {
        tracing::warn!("some sessions did not close in time");
    }
    let joined = move || recording.join().is_ok() && keeping.join().is_ok();
    let closed = tokio::task::spawn_blocking(joined).await;
    if !closed.unwrap_or(false) {
        tracing::error!("the recorder or the keeper ended badly");
    }
}

/// Starts the listeners and the task that makes sessions of what they accept; aborting that ends them all.
async fn listen(
    args: &Args,
    (shared, admission): (Arc<session::Shared>, Arc<Admission>),
    (access, configured): (watch::Receiver<Arc<Access>>, watch::Receiver<Configured>),
    alive: mpsc::Sender<()>,
) -> Result<tokio::task::AbortHandle, StartError> {
    let (accepted, mut connections) = mpsc::channel::<Connection>(ACCEPTED);
    let path = args.run_dir.join("netconf.sock");
    let local = LocalListener::bind(&path, Arc::clone(&admission))
        .map_err(StartError::system(format!("cannot listen at {}", path.display())))?;
    let keys = HostKeysOnce::default();
    let ssh = ssh_listener(args, access.clone(), &admission, &keys).await?;
    let guests = Guests { access, admission, accepted: accepted.clone() };
    let doors = Doors::open(args, &guests, configured).await?;
    let hub = shared.hub.clone();
    let accepting = tokio::spawn(async move {
        let doors = doors.keep(guests, keys, hub);
        let local = local.run(accepted.clone());
        let ssh = async {
            match ssh {
                Some(ssh) => ssh.run(accepted).await,
                None => std::future::pending().await,
            }
        };
        let sessions = async {
            while let Some(connection) = connections.recv().await {
                let (shared, alive) = (Arc::clone(&shared), alive.clone());
                tokio::spawn(async move {
                    session::run(connection, shared).await;
                    drop(alive);
                });
            }
        };
        tokio::join!(local, ssh, doors, sessions)
    });
    Ok(accepting.abort_handle())
}

/// The SSH server at the address of the command line, or at the socket that systemd hands over.
async fn ssh_listener(
    args: &Args,
    access: watch::Receiver<Arc<Access>>,
    admission: &Arc<Admission>,
    known: &HostKeysOnce,
) -> Result<Option<SshListener>, StartError> {
    let handed = listenfd::ListenFd::from_env()
        .take_tcp_listener(0)
        .map_err(StartError::system("the first socket of LISTEN_FDS is not a TCP listener"))?;
    if handed.is_none() && args.ssh.is_none() {
        return Ok(None);
    }
    let keys = HostKeys::load_or_create(&args.state_dir)?;
    for key in keys.fingerprints() {
        tracing::info!(key, "SSH host key");
    }
    // Nobody else has loaded them yet.
    let _ = known.set(Some(keys.clone()));
    if args.user.is_empty() && access.borrow().accounts.count() == 0 {
        tracing::warn!("nobody can log in over SSH: there is neither --user nor a user of ietf-system");
    }
    let admission = Arc::clone(admission);
    let listener = match (handed, args.ssh) {
        (Some(handed), _) => {
            let over = |listener| SshListener::over(listener, keys, access, admission);
            handed.set_nonblocking(true).and_then(|()| tokio::net::TcpListener::from_std(handed)).map(over)
        }
        (None, Some(address)) => SshListener::bind(address, keys, access, admission).await,
        (None, None) => return Ok(None),
    };
    let listener = listener.map_err(StartError::system("SSH"))?;
    let address = listener.local_addr().map_err(StartError::system("SSH"))?;
    tracing::info!(%address, "NETCONF over SSH");
    Ok(Some(listener))
}

/// The host keys, once something has needed them; none when they cannot be used.
type HostKeysOnce = Arc<OnceLock<Option<HostKeys>>>;

/// SIGTERM and SIGINT.
struct Stop {
    terminate: Signal,
    interrupt: Signal,
}

impl Stop {
    fn new() -> Result<Self, StartError> {
        let take = |kind| signal(kind).map_err(StartError::system("cannot take signals"));
        Ok(Self { terminate: take(SignalKind::terminate())?, interrupt: take(SignalKind::interrupt())? })
    }

    async fn wait(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// `RUN_DIR/mgmtd.ready`: there while the daemon serves.
struct ReadyFile(PathBuf);

impl ReadyFile {
    /// Removes what a killed daemon has left. A daemon that lives keeps its file; its sockets and its lock keep this
    /// one from starting.
    fn new(run_dir: &Path) -> Result<Self, StartError> {
        let path = run_dir.join("mgmtd.ready");
        if std::os::unix::net::UnixStream::connect(run_dir.join("netconf.sock")).is_ok() {
            return Ok(Self(path));
        }
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(StartError::system(format!("cannot remove {}", path.display()))(error))
            }
            Ok(()) | Err(_) => Ok(Self(path)),
        }
    }

    fn announce(&self) -> Result<(), StartError> {
        let pid = format!("{}\n", std::process::id());
        std::fs::write(&self.0, pid)
            .map_err(StartError::system(format!("cannot write {}", self.0.display())))?;
        sd_notify::notify(&[sd_notify::NotifyState::Ready])
            .map_err(StartError::system("cannot notify systemd"))
    }

    fn retract(&self) {
        let told = sd_notify::notify(&[sd_notify::NotifyState::Stopping]);
        let removed = std::fs::remove_file(&self.0);
        for failed in [told.err(), removed.err()].into_iter().flatten() {
            tracing::warn!(error = %failed, "the readiness could not be taken back");
        }
    }
}
