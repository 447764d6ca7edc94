//! Tasks of the repository: tidy, codegen, trace, yang-fetch.

mod yang_fetch;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask yang-fetch";

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let outcome = match arguments.next().as_deref() {
        Some("yang-fetch") => yang_fetch::run(),
        Some(other) => Err(Failure(format!("unknown task {other}; {USAGE}"))),
        None => Err(Failure(USAGE.into())),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure(message)) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Why a task stopped, for the person who started it.
#[derive(Debug)]
struct Failure(String);

impl Failure {
    /// Makes a failure of what could not be done to a file.
    fn io(verb: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Failure {
        let path = path.to_path_buf();
        move |error| Failure(format!("cannot {verb} {}: {error}", path.display()))
    }
}

/// The directory of build products, which `CARGO_TARGET_DIR` and cargo's configuration may move.
fn target_dir() -> Result<PathBuf, Failure> {
    let metadata = cargo_metadata::MetadataCommand::new().no_deps().exec();
    metadata
        .map(|metadata| metadata.target_directory.into_std_path_buf())
        .map_err(|error| Failure(format!("cargo metadata failed: {error}")))
}
