//! A load of reports on a metric agent, honest or hostile: what was sent, and what became of it.

use cats_conformance::reporter::{self, Settings};
use clap::Parser;
use std::process::ExitCode;
use tokio::signal::unix::{SignalKind, signal};

fn main() -> ExitCode {
    let settings = Settings::parse();
    let format = settings.format;
    let check = settings.check;
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("cats-report: starting a runtime: {error}");
            return ExitCode::FAILURE;
        }
    };
    match runtime.block_on(reporter::run(settings, until_asked_to_end())) {
        Ok(summary) => {
            println!("{}", summary.print(format));
            let faults = summary.faults();
            for fault in &faults {
                eprintln!("cats-report: {fault}");
            }
            if check && !faults.is_empty() { ExitCode::from(2) } else { ExitCode::SUCCESS }
        }
        Err(error) => {
            eprintln!("cats-report: {error}");
            ExitCode::FAILURE
        }
    }
}

/// An interrupt ends the load; what was seen until then is printed all the same.
async fn until_asked_to_end() {
    let (Ok(mut interrupt), Ok(mut terminate)) =
        (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}
