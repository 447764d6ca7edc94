//! Embeds the YANG modules: the standard ones from `target/yang`, where `cargo xtask yang-fetch` puts them, and
//! ours from `yang/modules`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn main() {
    link_xxhash();
    match embed() {
        Ok(()) => {}
        Err(message) => {
            println!("cargo::error={message}");
            std::process::exit(1);
        }
    }
}

fn embed() -> Result<(), String> {
    let out = PathBuf::from(variable("OUT_DIR")?);
    let manifest = PathBuf::from(variable("CARGO_MANIFEST_DIR")?);
    let standard = standard_modules(&out, &manifest)?;
    let ours = manifest.join("../modules");
    println!("cargo::rerun-if-changed={}", ours.display());
    println!("cargo::rerun-if-changed={}", standard.join("pyang.sha256").display());
    let mut table = String::new();
    table_of("STANDARD", &standard, &mut table)?;
    table_of("OURS", &ours, &mut table)?;
    let file = out.join("modules.rs");
    fs::write(&file, table).map_err(|error| format!("cannot write {}: {error}", file.display()))
}

/// libyang's own build uses libxxhash where it finds its headers, and yang5 does not tell the linker.
fn link_xxhash() {
    let known = Command::new("pkg-config")
        .args(["--exists", "libxxhash"])
        .status()
        .is_ok_and(|status| status.success());
    let header =
        ["/usr/include/xxhash.h", "/usr/local/include/xxhash.h"].iter().any(|path| Path::new(path).is_file());
    if known || header {
        println!("cargo::rustc-link-lib=xxhash");
    }
}

/// The directory `yang` in cargo's target directory, which is an ancestor of `OUT_DIR`.
fn standard_modules(out: &Path, manifest: &Path) -> Result<PathBuf, String> {
    let in_target = out.ancestors().map(|ancestor| ancestor.join("yang"));
    let beside = manifest.join("../../target/yang");
    in_target.chain([beside]).find(|folder| folder.join("pyang.sha256").is_file()).ok_or_else(|| {
        "the standard YANG modules are not there: run `cargo xtask yang-fetch` first, with the same target \
         directory"
            .to_owned()
    })
}

fn table_of(name: &str, folder: &Path, table: &mut String) -> Result<(), String> {
    let entries =
        fs::read_dir(folder).map_err(|error| format!("cannot read {}: {error}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "yang"))
        .collect();
    files.sort();
    let _ = writeln!(table, "pub(crate) const {name}: &[&str] = &[");
    for file in &files {
        let file = file.canonicalize().map_err(|error| format!("{}: {error}", file.display()))?;
        println!("cargo::rerun-if-changed={}", file.display());
        let _ = writeln!(table, "    include_str!({file:?}),");
    }
    table.push_str("];\n");
    Ok(())
}

fn variable(name: &str) -> Result<String, String> {
    env::var(name).map_err(|error| format!("{name}: {error}"))
}
