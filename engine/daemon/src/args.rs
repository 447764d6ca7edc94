//! The command line.

use clap::Parser;
use std::path::PathBuf;

/// The engine of a CATS node: path selector, path computation, ingress and egress forwarder, as configured.
#[derive(Debug, Parser)]
#[command(name = "cats-engined", version, about)]
pub(crate) struct Args {
    /// Where the configuration that was applied last is kept.
    #[arg(long, value_name = "DIR")]
    pub(crate) state_dir: PathBuf,
    /// Where the socket engine.sock and the file engined.ready are.
    #[arg(long, value_name = "DIR")]
    pub(crate) run_dir: PathBuf,
    /// The network namespace to run in: a name of /run/netns, or the absolute name of a file.
    #[arg(long, value_name = "NAME")]
    pub(crate) netns: Option<PathBuf>,
}
