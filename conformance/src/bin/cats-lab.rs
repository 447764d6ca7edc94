//! The program behind `make demo`. It must not know how the daemons work: it lays out hosts, starts programs and
//! looks at packets.

use cats_conformance::demo::{self, Scenario};
use clap::{Parser, Subcommand};
use std::process::ExitCode;

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
    match demo::run(scenario, hold) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cats-lab: {error}");
            ExitCode::FAILURE
        }
    }
}
