//! The machine that the daemon runs on: namespaces, directories, readiness.

use cats_engine_daemon::store::StoreError;
use rustix::fs::{FlockOperation, flock};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::LinkNameSpaceType;
use sd_notify::NotifyState;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

/// Why the daemon does not start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StartError {
    /// The system refuses.
    #[error("{doing}: {error}")]
    System {
        /// What was attempted.
        doing: String,
        /// The system's words.
        error: io::Error,
    },
    /// The state directory is of no use.
    #[error(transparent)]
    Store(StoreError),
    /// Another process has the state directory.
    #[error("{dir} is in use by another cats-engined; give each its own --state-dir", dir = .0.display())]
    InUse(PathBuf),
}

impl StartError {
    pub(crate) fn system(doing: impl Into<String>, error: io::Error) -> Self {
        StartError::System { doing: doing.into(), error }
    }
}

/// Moves the calling thread into a network namespace. To be called before there is another thread.
pub(crate) fn enter(name: &Path) -> Result<(), StartError> {
    let file = Path::new("/run/netns").join(name);
    let doing = || format!("entering the network namespace {}", file.display());
    let namespace = File::open(&file).map_err(|error| StartError::system(doing(), error))?;
    rustix::thread::move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))
        .map_err(|error| StartError::system(doing(), error.into()))
}

/// Lets the process have as many descriptors as the system allows it: each contact instance may have a connection, and
/// what a process begins with is made for programs that wait by `select`.
pub(crate) fn allow_descriptors() {
    let limit = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }) {
        tracing::warn!(%error, limit = ?limit.current, "there may be no more open files");
    }
}

/// Makes the state directory where it is missing, and keeps other processes out while the result lives.
pub(crate) fn own(dir: &Path) -> Result<File, StartError> {
    let doing = |error| StartError::system(format!("opening {}", dir.display()), error);
    fs::create_dir_all(dir).map_err(doing)?;
    let lock = File::create(dir.join("lock")).map_err(doing)?;
    match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(lock),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(StartError::InUse(dir.to_owned())),
        Err(error) => Err(doing(error.into())),
    }
}

/// The file that says that the daemon serves. It is gone when the daemon ends as it should.
#[derive(Debug)]
pub(crate) struct Ready(PathBuf);

impl Ready {
    /// Makes the run directory where it is missing, and removes the file of a former process.
    pub(crate) fn new(run_dir: &Path) -> Result<Self, StartError> {
        let doing = |error| StartError::system(format!("opening {}", run_dir.display()), error);
        fs::create_dir_all(run_dir).map_err(doing)?;
        let file = run_dir.join("engined.ready");
        match fs::remove_file(&file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(doing(error)),
            Ok(()) | Err(_) => Ok(Self(file)),
        }
    }

    /// Tells the service manager, and whoever waits for the file.
    pub(crate) fn announce(&self) -> Result<(), StartError> {
        fs::write(&self.0, format!("{}\n", std::process::id()))
            .map_err(|error| StartError::system(format!("writing {}", self.0.display()), error))?;
        if let Err(error) = sd_notify::notify(&[NotifyState::Ready]) {
            tracing::warn!(%error, "the service manager could not be told");
        }
        tracing::info!("ready");
        Ok(())
    }
}

impl Drop for Ready {
    fn drop(&mut self) {
        // Whoever reads it looks for the process too.
        drop(fs::remove_file(&self.0));
    }
}
