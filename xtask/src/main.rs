//! Tasks of the repository, run as `cargo xtask NAME`. They look at the project from outside: no crate of the
//! project may depend on this one, and this one must not know what any crate does, only how crates relate.

mod codegen;
mod tidy;
mod trace;
mod tree;
mod yang_fetch;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// A task: its name, what it is for, and the function that runs it.
struct Task {
    name: &'static str,
    about: &'static str,
    run: fn() -> Result<(), Failure>,
}

const TASKS: &[Task] = &[
    Task {
        name: "codegen",
        about: "generates the typed model of yang/model from the modules",
        run: codegen::run,
    },
    Task {
        name: "yang-fetch",
        about: "fetches the standard YANG modules to target/yang",
        run: yang_fetch::run,
    },
    Task {
        name: "tidy",
        about: "checks the laws of the floor plan and the style of the text",
        run: tidy::run,
    },
    Task { name: "trace", about: "prints every requirement with the tests that prove it", run: trace::run },
];

fn main() -> ExitCode {
    let name = std::env::args().nth(1);
    let Some(task) = TASKS.iter().find(|task| Some(task.name) == name.as_deref()) else {
        eprintln!("usage: cargo xtask TASK\n");
        for task in TASKS {
            eprintln!("  {:<12} {}", task.name, task.about);
        }
        return ExitCode::FAILURE;
    };
    match (task.run)() {
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

/// The root of the repository: the folder above this crate's.
fn repository_root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().unwrap_or(own).to_path_buf()
}

/// The directory of build products, which `CARGO_TARGET_DIR` and cargo's configuration may move.
fn target_dir() -> Result<PathBuf, Failure> {
    let metadata = cargo_metadata::MetadataCommand::new().no_deps().exec();
    metadata
        .map(|metadata| metadata.target_directory.into_std_path_buf())
        .map_err(|error| Failure(format!("cargo metadata failed: {error}")))
}
