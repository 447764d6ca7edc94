//! A lab: a folder for its files and a prefix for its namespaces, both its own.

use crate::namespace::{self, Namespace};
use crate::{LabError, Result};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

static COUNT: AtomicU32 = AtomicU32::new(0);

/// A lab's folder and names. The hosts are owned by the layouts that are made in it.
#[derive(Debug)]
pub struct Lab {
    folder: PathBuf,
    prefix: String,
}

impl Lab {
    /// Begins a lab in `target/lab/NAME`, emptied, after sweeping what dead labs have left.
    pub fn create(name: &str) -> Result<Lab> {
        if !rustix::process::geteuid().is_root() {
            return Err(LabError::new("making a lab of network namespaces", "it needs root"));
        }
        sweep()?;
        let folder = target_dir().join("lab").join(name);
        let doing = || format!("emptying {}", folder.display());
        if folder.exists() {
            std::fs::remove_dir_all(&folder).map_err(LabError::of(doing()))?;
        }
        std::fs::create_dir_all(&folder).map_err(LabError::of(doing()))?;
        let prefix = format!("catslab{}x{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        Ok(Lab { folder, prefix })
    }

    /// The folder in which everything of the lab lies: states, logs, captures, keys.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Makes a host.
    pub fn host(&self, name: &str) -> Result<Namespace> {
        Namespace::create(&format!("{}-{name}", self.prefix))
    }
}

/// The folder of build products.
pub fn target_dir() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => PathBuf::from(folder),
        None => repository_root().join("target"),
    }
}

/// The interpreter of the Python environment that `conformance/setup.sh` makes.
pub fn python() -> String {
    target_dir().join("venv/bin/python").display().to_string()
}

/// The root of the repository that this crate was built in.
pub fn repository_root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().unwrap_or(own).to_path_buf()
}

/// Takes down all labs of this process at once, for an end that drops nothing.
pub fn abandon() {
    let own = format!("catslab{}x", std::process::id());
    for name in namespaces().unwrap_or_default().iter().filter(|name| name.starts_with(&own)) {
        namespace::delete(name);
    }
}

fn namespaces() -> Result<Vec<String>> {
    let list = crate::command::run("ip", &["netns", "list"])?;
    Ok(list.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect())
}

/// Deletes the namespaces of labs whose process is gone, with what runs in them.
fn sweep() -> Result<()> {
    for name in namespaces()? {
        let owner = name.strip_prefix("catslab").and_then(|rest| rest.split_once('x')).map(|(pid, _)| pid);
        if let Some(pid) = owner
            && !Path::new("/proc").join(pid).exists()
        {
            namespace::delete(&name);
        }
    }
    Ok(())
}
