//! The floor plan: which package stands on which level, and who may import whom.

use super::licences::Licensed;
use crate::Failure;
use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A storey of the floor plan. Imports point from a higher one to a lower one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Level {
    /// Words: plain data.
    L0,
    /// Pure state machines.
    L1,
    /// Shells around the outside world.
    L2,
    /// Programs.
    L3,
    /// Tests and tasks, which nobody imports.
    Outside,
}

const LEVELS: &[(&str, Level)] = &[
    ("cats-yang-tree", Level::L0),
    ("cats-yang-model", Level::L0),
    ("cats-engine-types", Level::L0),
    ("cats-engine-wire", Level::L0),
    ("cats-cli-core", Level::L1),
    ("cats-mgmtd-netconf", Level::L1),
    ("cats-mgmtd-core", Level::L1),
    ("cats-engine-core", Level::L1),
    ("cats-pcep-core", Level::L1),
    ("cats-datapath-core", Level::L1),
    ("cats-mgmtd-transport", Level::L2),
    ("cats-mgmtd-store", Level::L2),
    ("cats-yang-schema", Level::L2),
    ("cats-engine-transport", Level::L2),
    ("cats-pcep-io", Level::L2),
    ("cats-datapath-kernel", Level::L2),
    ("cats-cli-cats", Level::L3),
    ("cats-mgmtd-daemon", Level::L3),
    ("cats-engine-daemon", Level::L3),
    ("cats-conformance", Level::Outside),
    ("cats-bench", Level::Outside),
    ("cats-clients", Level::Outside),
    ("cats-fuzz", Level::Outside),
    ("xtask", Level::Outside),
];

/// The crates that may link C and hold `unsafe`.
pub(crate) const C_AND_UNSAFE: &[&str] = &["cats-yang-schema", "cats-datapath-kernel"];

/// External crates that bring I/O, a clock or randomness, refused in L0 and L1.
const IMPURE: &[&str] = &[
    "async-std",
    "chrono",
    "fastrand",
    "getrandom",
    "hyper",
    "hyper-util",
    "libc",
    "mio",
    "netlink-sys",
    "nix",
    "rand",
    "redb",
    "rtnetlink",
    "russh",
    "rustix",
    "rustls",
    "socket2",
    "tempfile",
    "time",
    "tokio",
    "tokio-rustls",
];

/// Packages with a `links` key that link no foreign C library into ours: build-time markers, and ring, whose
/// assembly is the TLS provider that the design chose.
const HARMLESS_LINKS: &[&str] = &["ring", "prettyplease", "rayon-core", "libc", "wasm-bindgen-shared"];

/// A package of the workspace with what the laws look at.
pub(crate) struct OurPackage {
    pub(crate) name: String,
    pub(crate) level: Option<Level>,
    /// The package's folder, relative to the root.
    pub(crate) folder: PathBuf,
    /// Our packages that it imports (normal and build), and those that only its tests import.
    imports: Vec<String>,
    test_imports: Vec<String>,
    /// External packages that it names itself.
    externals: Vec<String>,
    /// External packages in its closure, not through another package of ours, that link a C library.
    c_links: Vec<String>,
}

/// Reads `cargo metadata` of the repository at `root`.
pub(crate) fn metadata(root: &Path) -> Result<Metadata, Failure> {
    let command = MetadataCommand::new().manifest_path(root.join("Cargo.toml")).exec();
    command.map_err(|e| Failure(format!("cargo metadata failed: {e}")))
}

/// The licences of everything that the workspace depends on.
pub(crate) fn licences(metadata: &Metadata) -> Vec<Licensed> {
    let named = |p: &Package| Licensed { name: p.name.to_string(), licence: p.license.clone() };
    metadata.packages.iter().map(named).collect()
}

/// The packages of the workspace.
pub(crate) fn load(root: &Path, metadata: &Metadata) -> Result<Vec<OurPackage>, Failure> {
    let ours: BTreeSet<String> = metadata.workspace_packages().iter().map(|p| p.name.to_string()).collect();
    let by_id: BTreeMap<_, &Package> = metadata.packages.iter().map(|p| (&p.id, p)).collect();
    let resolve =
        metadata.resolve.as_ref().ok_or_else(|| Failure("cargo metadata gave no dependency graph".into()))?;
    let edges: BTreeMap<_, Vec<_>> =
        resolve.nodes.iter().map(|n| (&n.id, n.deps.iter().collect::<Vec<_>>())).collect();
    let mut packages = Vec::new();
    for package in metadata.workspace_packages() {
        let name = package.name.to_string();
        let kinds = |test: bool| {
            package.dependencies.iter().filter(move |d| (d.kind == DependencyKind::Development) == test)
        };
        let mine = |test| kinds(test).map(|d| d.name.clone()).filter(|d| ours.contains(d)).collect();
        let folder = package.manifest_path.parent().map(|p| p.as_std_path()).unwrap_or(root);
        let mut c_links = Vec::new();
        let mut seen = BTreeSet::new();
        let mut open = vec![&package.id];
        while let Some(id) = open.pop() {
            for dep in edges.get(id).into_iter().flatten() {
                let test_only = dep.dep_kinds.iter().all(|k| k.kind == DependencyKind::Development);
                let Some(found) = by_id.get(&dep.pkg) else { continue };
                if test_only || ours.contains(found.name.as_str()) || !seen.insert(&dep.pkg) {
                    continue;
                }
                if found.links.is_some() && !HARMLESS_LINKS.contains(&found.name.as_str()) {
                    c_links.push(found.name.to_string());
                }
                open.push(&dep.pkg);
            }
        }
        packages.push(OurPackage {
            level: level_of(&name),
            folder: folder.strip_prefix(root).unwrap_or(folder).to_path_buf(),
            imports: mine(false),
            test_imports: mine(true),
            externals: kinds(false).map(|d| d.name.clone()).filter(|d| !ours.contains(d)).collect(),
            c_links,
            name,
        });
    }
    Ok(packages)
}

/// The level of a package by its name, or nothing for one that the floor plan does not name.
fn level_of(name: &str) -> Option<Level> {
    LEVELS.iter().find(|(known, _)| *known == name).map(|(_, level)| *level)
}

/// Checks the laws that the graph of packages can show.
pub(crate) fn check(packages: &[OurPackage]) -> Vec<String> {
    packages.iter().flat_map(check_package).collect()
}

fn check_package(package: &OurPackage) -> Vec<String> {
    let place = package.folder.join("Cargo.toml").display().to_string();
    let name = &package.name;
    let Some(level) = package.level else {
        return vec![format!("{place}: {name} is on no level; give it one in xtask/src/tidy/floor.rs")];
    };
    let mut findings = Vec::new();
    for import in &package.imports {
        if !may_import(name, level, import) {
            findings.push(format!(
                "{place}: {name} ({level:?}) must not import {import}: imports point downward"
            ));
        }
    }
    for import in package.test_imports.iter().filter(|i| level_of(i) >= Some(Level::L3)) {
        findings.push(format!("{place}: nobody imports {import}, not even tests; test it from conformance"));
    }
    if level <= Level::L1 {
        for external in package.externals.iter().filter(|e| IMPURE.contains(&e.as_str())) {
            findings.push(format!(
                "{place}: {name} ({level:?}) must not depend on {external}: no I/O, clock or randomness there; \
                 take these as arguments"
            ));
        }
    }
    if level != Level::Outside && !C_AND_UNSAFE.contains(&name.as_str()) {
        for link in &package.c_links {
            findings.push(format!(
                "{place}: {name} must not link C, and {link} does; only yang/schema and datapath/kernel may"
            ));
        }
    }
    findings
}

/// The imports within one level that the floor plan allows: the typed model reads the tree, the messages convert
/// to and from the engine's words, and measurements and others' clients run in the lab.
const WITHIN_A_LEVEL: &[(&str, &str)] = &[
    ("cats-yang-model", "cats-yang-tree"),
    ("cats-engine-wire", "cats-engine-types"),
    ("cats-bench", "cats-conformance"),
    ("cats-clients", "cats-conformance"),
];

fn may_import(name: &str, level: Level, import: &str) -> bool {
    if WITHIN_A_LEVEL.contains(&(name, import)) {
        return true;
    }
    match level_of(import) {
        None | Some(Level::Outside) => false,
        Some(below) => below < level || level == Level::Outside,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, imports: &[&str], externals: &[&str]) -> OurPackage {
        OurPackage {
            name: name.to_owned(),
            level: level_of(name),
            folder: PathBuf::from("x"),
            imports: imports.iter().map(|s| (*s).to_owned()).collect(),
            test_imports: Vec::new(),
            externals: externals.iter().map(|s| (*s).to_owned()).collect(),
            c_links: Vec::new(),
        }
    }

    #[test]
    fn a_pure_crate_may_not_import_its_neighbour() {
        let found =
            check_package(&package("cats-engine-core", &["cats-pcep-core", "cats-engine-types"], &[]));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("must not import cats-pcep-core"));
    }

    #[test]
    fn among_the_words_the_engine_does_not_import_the_tree_nor_the_tree_the_model() {
        assert!(check_package(&package("cats-yang-model", &["cats-yang-tree"], &[])).is_empty());
        assert_eq!(check_package(&package("cats-engine-types", &["cats-yang-tree"], &[])).len(), 1);
        assert_eq!(check_package(&package("cats-yang-tree", &["cats-yang-model"], &[])).len(), 1);
    }

    #[test]
    fn programs_do_not_import_each_other_and_nobody_imports_the_outside() {
        assert_eq!(check_package(&package("cats-cli-cats", &["cats-mgmtd-daemon"], &[])).len(), 1);
        assert_eq!(check_package(&package("cats-mgmtd-daemon", &["cats-conformance"], &[])).len(), 1);
    }

    #[test]
    fn a_runtime_in_a_pure_crate_is_found_and_in_a_shell_is_not() {
        assert_eq!(check_package(&package("cats-mgmtd-core", &[], &["tokio"])).len(), 1);
        assert!(check_package(&package("cats-mgmtd-store", &[], &["rustix"])).is_empty());
    }

    #[test]
    fn a_package_outside_the_floor_plan_is_named() {
        assert!(check_package(&package("cats-new", &[], &[]))[0].contains("on no level"));
    }

    #[test]
    fn c_is_linked_by_the_two_crates_that_may() {
        let mut found = package("cats-mgmtd-store", &[], &[]);
        found.c_links.push("libyang5-sys".to_owned());
        assert_eq!(check_package(&found).len(), 1);
        let mut schema = package("cats-yang-schema", &[], &[]);
        schema.c_links.push("libyang5-sys".to_owned());
        assert!(check_package(&schema).is_empty());
    }
}
