//! Measures catsd. Every figure is a ratio to a peer or a limit of the same run, or says why it cannot be one.
//!
//! This program must not know a shortcut that a user has not: it measures what is built in release, in network
//! namespaces of its own, and it never decides whether a figure is good.

mod cps;
mod cpu;
mod datapath;
mod figure;
mod netconf;
mod sma;

use clap::Parser;
use figure::{Figure, Report};
use std::path::PathBuf;
use std::process::ExitCode;

/// The groups of figures, in the order in which they are measured. `GROUP.PART` is measured with its group, or alone.
const GROUPS: &[(&str, Measure)] = &[
    ("netconf", netconf::measure),
    ("netconf.on-change", netconf::on_change),
    ("netconf.bindings", netconf::bindings),
    ("sma", sma::measure),
    ("cps", cps::measure),
    ("datapath", datapath::measure),
];

/// Measures one group; the error says what could not be set up.
type Measure = fn(&Settings) -> Result<Vec<Figure>, String>;

/// Measures catsd and writes `target/bench.json`.
#[derive(Parser)]
#[command(name = "cats-bench")]
struct Arguments {
    /// Groups to measure, or parts of them as GROUP.PART, separated by commas; all by default. The figures of the others
    /// are kept.
    #[arg(long, value_delimiter = ',', value_name = "GROUP")]
    only: Vec<String>,
    /// Interleaved rounds of each comparison.
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// Measures a million flows too, which takes some minutes more.
    #[arg(long)]
    large: bool,
    /// Lets what is measured under a steady load run for ten minutes, not for twenty seconds.
    #[arg(long)]
    long: bool,
    /// Where the figures go.
    #[arg(long, default_value = "target/bench.json")]
    out: PathBuf,
}

/// What all groups are given.
pub(crate) struct Settings {
    /// Interleaved rounds of each comparison.
    pub(crate) rounds: usize,
    /// Whether to measure a million flows.
    pub(crate) large: bool,
    /// Whether to keep a steady load up for ten minutes.
    pub(crate) long: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cats-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), String> {
    for name in &arguments.only {
        if !GROUPS.iter().any(|(group, _)| group == name) {
            let known: Vec<&str> = GROUPS.iter().map(|(group, _)| *group).collect();
            return Err(format!("no figures of a group {name} are built; there are {}", known.join(", ")));
        }
    }
    let settings = Settings { rounds: arguments.rounds.max(1), large: arguments.large, long: arguments.long };
    let mut report = Report::open(&arguments.out)?;
    for (group, measure) in GROUPS {
        let wanted = |name: &String| name == group || group.strip_prefix(name.as_str()).is_some_and(is_part);
        if arguments.only.is_empty() || arguments.only.iter().any(wanted) {
            let figures = measure(&settings).map_err(|error| format!("{group}: {error}"))?;
            for figure in &figures {
                println!("{figure}");
            }
            report.replace(group, figures);
            report.save(&arguments.out)?;
        }
    }
    Ok(())
}

/// Is it what follows the group's name in the name of a part?
fn is_part(rest: &str) -> bool {
    rest.starts_with('.')
}
