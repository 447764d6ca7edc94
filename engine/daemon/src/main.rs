//! `cats-engined`: the engine of a CATS node.

mod args;
mod host;

use args::Args;
use cats_datapath_kernel::Steering;
use cats_engine_daemon::engine::{Engine, Now, Parts};
use cats_engine_daemon::run::run;
use cats_engine_daemon::store::Store;
use cats_engine_transport::management;
use clap::Parser;
use host::{Ready, StartError};
use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::UNIX_EPOCH;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, oneshot};
use tracing_subscriber::EnvFilter;

/// Calls of the management daemon that wait at most; it waits then.
const CALLS: usize = 16;

/// Threads for connections to other daemons and nodes; packets and decisions have a thread of their own.
const NETWORK_THREADS: usize = 2;

fn main() -> ExitCode {
    let args = Args::parse();
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let colours = std::io::stderr().is_terminal();
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(colours)
        // To complain of a standard error that takes nothing would be to panic.
        .log_internal_errors(false)
        .init();
    match serve(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn serve(args: &Args) -> Result<(), StartError> {
    // Before there is a second thread: threads inherit the namespace of the one that starts them.
    if let Some(name) = &args.netns {
        host::enter(name)?;
    }
    host::allow_descriptors();
    let _lock = host::own(&args.state_dir)?;
    let ready = Ready::new(&args.run_dir)?;
    let store = |error| StartError::Store(error);
    let (store, id, config) = Store::open(&args.state_dir).map_err(store)?;
    let now = Now::read();
    let since = now.wall.duration_since(UNIX_EPOCH).unwrap_or_default();
    let epoch =
        store.next_epoch(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)).map_err(StartError::Store)?;
    tracing::info!(revision = %id.revision, %epoch, "starting");

    let runtime = runtime().map_err(|error| StartError::system("starting the network threads", error))?;
    let (sender, mut calls) = mpsc::channel(CALLS);
    let socket = args.run_dir.join("engine.sock");
    let (stop, stopped) =
        stop(&runtime).map_err(|error| StartError::system("listening for signals", error))?;
    let listener = {
        let _context = runtime.enter();
        management::listen(&socket).map_err(|error| StartError::system("opening the socket", error))?
    };
    runtime.spawn(async move {
        if let Err(error) = management::serve(listener, sender, std::future::pending()).await {
            tracing::error!(%error, "the management socket is closed");
        }
    });
    runtime.spawn(stop);

    let parts = Parts { runtime: runtime.handle().clone(), store, id, config, epoch };
    let mut engine = Engine::<Steering>::start(parts, now);
    ready.announce()?;
    let end = run(&mut engine, &mut calls, stopped);
    tracing::info!("stopping; what is installed stays");
    // A service manager that is not there is not told.
    drop(sd_notify::notify(&[sd_notify::NotifyState::Stopping]));
    runtime.shutdown_background();
    end.map_err(|error| StartError::system("waiting for events", error))
}

fn runtime() -> std::io::Result<Runtime> {
    Builder::new_multi_thread().worker_threads(NETWORK_THREADS).thread_name("network").enable_all().build()
}

/// A task that ends with a signal to stop, and what completes then.
fn stop(
    runtime: &Runtime,
) -> std::io::Result<(impl Future<Output = ()> + Send + use<>, impl Future<Output = ()> + use<>)> {
    let _context = runtime.enter();
    let (mut term, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let (sender, receiver) = oneshot::channel::<()>();
    let task = async move {
        tokio::select! {
            _ = Signal::recv(&mut term) => {}
            _ = Signal::recv(&mut interrupt) => {}
        }
        drop(sender);
    };
    Ok((task, async move { drop(receiver.await) }))
}
