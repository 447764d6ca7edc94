//! The program behind `make demo`. It must not know how the daemons work: it lays out hosts, starts programs and
//! looks at packets.

use cats_conformance::demo::{self, Scenario};
use cats_conformance::lab;
use clap::{Parser, Subcommand};
use std::process::ExitCode;
use tokio::signal::unix::{SignalKind, signal};

/// The lab of network namespaces; needs root.
#[derive(Parser)]
#[command(name = "cats-lab")]
struct Args {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Run an example end to end and check its packets
    Demo {
        /// Which example
        #[arg(long, value_enum, default_value = "section-14")]
        scenario: Scenario,
        /// Leave the lab up and open the command line until it is left
        #[arg(long)]
        hold: bool,
    },
}

fn main() -> ExitCode {
    let Task::Demo { scenario, hold } = Args::parse().task;
    match until_interrupted(move || demo::run(scenario, hold)) {
        Ok(Some(Ok(()))) => ExitCode::SUCCESS,
        Ok(Some(Err(error))) => {
            eprintln!("cats-lab: {error}");
            ExitCode::FAILURE
        }
        Ok(None) => {
            eprintln!("cats-lab: interrupted; taking the lab down");
            lab::abandon();
            ExitCode::from(130)
        }
        Err(error) => {
            eprintln!("cats-lab: waiting for signals: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs `work` on a thread of its own; nothing if a signal that asks to end comes first.
fn until_interrupted<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> std::io::Result<Option<T>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let mut hangup = signal(SignalKind::hangup())?;
        let (done, mut ended) = tokio::sync::mpsc::channel(1);
        std::thread::spawn(move || done.blocking_send(work()));
        tokio::select! {
            result = ended.recv() => Ok(result),
            _ = interrupt.recv() => Ok(None),
            _ = terminate.recv() => Ok(None),
            _ = hangup.recv() => Ok(None),
        }
    })
}
