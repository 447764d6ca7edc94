//! From the command line to what the daemon runs on: schema, running configuration, core.

use crate::args::Args;
use crate::history::Archive;
use crate::keeper::Keeper;
use crate::logins::Logins;
use crate::recorder::modules_of;
use crate::rules::Rules;
use crate::waiting::{self, Waiting};
use crate::{content, engine, hub, oracle, random, retrieval};
use cats_mgmtd_core::{Core, Facts, Limits, ModuleText};
use cats_mgmtd_netconf::names::{BASE_1_0, BASE_1_1};
use cats_mgmtd_store::{Options, Recovered, Store, StoreError};
use cats_mgmtd_transport::Users;
use cats_yang_schema::{Compiled, ModuleSource};
use cats_yang_tree::Tree;
use cats_yang_tree::error::Error;
use cats_yang_tree::schema::{Module, Schema};
use std::path::PathBuf;
use std::sync::Arc;

/// The journal is folded into a snapshot from this size on, bytes.
const COMPACT_AT: u64 = 16 << 20;

/// More sessions than the transports let in, so that a refusal is theirs: some may be ending still.
pub(crate) fn sessions(args: &Args) -> usize {
    args.session_limits().total * 2
}

/// Why the daemon does not start, or does not go on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StartError {
    /// A file of the command line cannot be read.
    #[error("cannot read the module {path}: {source}")]
    ModuleFile { path: PathBuf, source: std::io::Error },
    /// A file of the command line is no module.
    #[error("{path} is not usable as --extra-module: {error}")]
    Module { path: PathBuf, error: Error },
    /// The modules do not compile together.
    #[error("the YANG modules do not compile:{}", lines(.0))]
    Schema(Vec<Error>),
    /// The state directory.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Stored configuration that this schema does not allow.
    #[error(
        "the stored configuration of revision {revision} does not fit the YANG modules of this version:{}\nNothing was \
         changed. Start the version, or with the --extra-module files, that wrote it and change these nodes, or move \
         {dir}/running.journal and {dir}/running.snapshot away to start empty", lines(.errors)
    )]
    Misfit { revision: u64, dir: PathBuf, errors: Vec<Error> },
    /// The configuration before a confirmed commit cannot be recorded, by a fault of ours.
    #[error("the configuration before a confirmed commit cannot be recorded: {0}")]
    NotRecorded(Error),
    /// Anything else that the system refuses.
    #[error("{what}: {source}")]
    System { what: String, source: std::io::Error },
    /// The task that owns the datastores ended by itself.
    #[error(
        "the datastores' task ended unexpectedly: what was committed is kept; see the message before this one"
    )]
    Lost,
    /// The SSH server's key.
    #[error(transparent)]
    HostKey(#[from] cats_mgmtd_transport::HostKeyError),
}

impl StartError {
    pub(crate) fn system(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |source| StartError::System { what, source }
    }
}

fn lines(errors: &[Error]) -> String {
    errors.iter().map(|error| format!("\n  {error}")).collect()
}

/// All that the daemon runs on.
pub(crate) struct Ready {
    pub(crate) core: Core,
    pub(crate) rules: Rules,
    pub(crate) logins: Logins,
    pub(crate) schema: Arc<Schema>,
    pub(crate) compiled: Compiled,
    pub(crate) store: Store,
    pub(crate) boot: String,
    pub(crate) capabilities: Vec<String>,
    pub(crate) engine: engine::Settings,
    pub(crate) archive: Archive,
    pub(crate) keeper: Keeper,
}

/// Compiles the modules, opens the state directory, and restores running from it.
///
/// # Errors
/// Each names the file and the remedy.
pub(crate) fn prepare(args: &Args) -> Result<Ready, StartError> {
    let compiled = cats_yang_schema::load(&modules(args)?).map_err(StartError::Schema)?;
    let schema = Arc::new(compiled.schema().clone());
    let options =
        Options { modules: modules_of(&schema), new_instance: random_name()?, compact_at: COMPACT_AT };
    let found = Store::open(&args.state_dir, options)?;
    if found.torn > 0 {
        tracing::warn!(bytes = found.torn, "the last write of the journal was not complete and is cut off");
    }
    let revision = found.store.revision();
    let misfit = |errors| StartError::Misfit { revision, dir: args.state_dir.clone(), errors };
    let boot = boot_id()?;
    let instance = found.store.instance().to_owned();
    let mut archive =
        Archive::open(&args.state_dir, &instance, revision, args.history_revisions, Arc::clone(&schema));
    let running = restore(&schema, &compiled, &found, &mut archive).map_err(misfit)?;
    let waiting = waiting::find(&schema, &compiled, &running, found.pending.as_ref()).map_err(misfit)?;
    let Recovered { mut store, modules, pending, outdated, .. } = found;
    let now = hub::now();
    let (running, waiting) =
        waiting::settle(&schema, &boot, (running, waiting), (&mut store, &mut archive), now)?;
    let rules = Rules::new(&schema, &running).map_err(|error| misfit(vec![error]))?;
    let administrators = Users::new(args.user.iter().map(|user| (user.name.clone(), user.keys.clone())));
    let logins = Logins::new(&schema, administrators, &running, rules.ssh()).map_err(misfit)?;
    if outdated || modules != modules_of(&schema) {
        if !archive.make_durable() {
            tracing::warn!("the revisions that only the journal holds are lost to the history");
        }
        let config = content::to_json(&schema, &running);
        let pending = pending.filter(|_| waiting.is_some());
        store.compact(&modules_of(&schema), config.as_bytes(), pending.as_ref())?;
        tracing::info!(
            revision = store.revision(),
            "the stored configuration was taken over into the present modules"
        );
    }
    let engine = to_engine(args, compiled.content_id(), instance, &schema);
    let capabilities = capabilities(&schema, &compiled, args);
    let facts = facts(&schema, &compiled, &capabilities, args);
    let mut core = Core::new(facts, running, store.revision(), now);
    core.handle_history(archive.told(), now);
    if let Some(Waiting { pending, base, .. }) = waiting {
        core.resume(pending, base, now);
    }
    let (keeper, kept) = Keeper::open(&args.state_dir, now.unix_us);
    core.handle_kept_events(kept, rules.event_limits(), now);
    Ok(Ready { core, rules, logins, schema, compiled, store, boot, capabilities, engine, archive, keeper })
}

fn to_engine(args: &Args, content_id: &str, datastore_id: String, schema: &Arc<Schema>) -> engine::Settings {
    engine::Settings {
        socket: args.engine.clone().unwrap_or_else(|| args.run_dir.join("engine.sock")),
        content_id: content_id.to_owned(),
        datastore_id,
        schema: Arc::clone(schema),
        sessions: sessions(args),
    }
}

fn modules(args: &Args) -> Result<Vec<ModuleSource>, StartError> {
    let mut modules = cats_yang_schema::default_modules();
    if args.writable_running
        && let Some(netconf) = modules.iter_mut().find(|module| module.name == "ietf-netconf")
    {
        netconf.features.push("writable-running".to_owned());
    }
    for path in &args.extra_module {
        let text = std::fs::read_to_string(path)
            .map_err(|source| StartError::ModuleFile { path: path.clone(), source })?;
        let module =
            ModuleSource::extra(text).map_err(|error| StartError::Module { path: path.clone(), error })?;
        modules.retain(|known| known.name != module.name);
        modules.push(module);
    }
    Ok(modules)
}

/// Running as it was recorded, if it is still valid. The history catches up on the way.
fn restore(
    schema: &Schema,
    compiled: &Compiled,
    found: &Recovered,
    archive: &mut Archive,
) -> Result<Tree, Vec<Error>> {
    let tree = archive.catch_up(found.snapshot.as_ref(), &found.records)?;
    still_valid(schema, compiled, tree)
}

/// A configuration that was recorded, if it is still valid.
pub(crate) fn still_valid(schema: &Schema, compiled: &Compiled, tree: Tree) -> Result<Tree, Vec<Error>> {
    let (valid, _) = oracle::judge(compiled, schema, &Tree::new(), tree.clone())?;
    if valid == tree {
        return Ok(valid);
    }
    let gone = cats_yang_tree::diff(&tree, &valid).changes;
    let message = "its 'when' is false now, so it would be deleted";
    let error = |path| Error::application(cats_yang_tree::error::ErrorTag::UnknownElement, message).at(path);
    Err(gone.iter().map(|change| error(change.path.render(schema))).collect())
}

fn facts(schema: &Arc<Schema>, compiled: &Compiled, capabilities: &[String], args: &Args) -> Facts {
    let sessions = sessions(args);
    let modules = schema.modules.iter().filter_map(|module| {
        let yang = compiled.source(&module.name, module.revision.as_deref())?;
        Some(ModuleText {
            name: module.name.clone(),
            revision: module.revision.clone(),
            namespace: module.namespace.clone(),
            yang: Arc::from(yang),
        })
    });
    Facts {
        content_id: compiled.content_id().to_owned(),
        // Plain data with string keys always has a JSON form.
        schema_index: Arc::from(serde_json::to_string(schema.as_ref()).unwrap_or_default()),
        capabilities: [BASE_1_0, BASE_1_1]
            .iter()
            .map(ToString::to_string)
            .chain(capabilities.to_vec())
            .collect(),
        modules: modules.collect(),
        components: vec![hub::ENGINE.to_owned()],
        limits: Limits { sessions, sessions_per_user: sessions },
        writable_running: args.writable_running,
        schema: Arc::clone(schema),
    }
}

/// What the hello announces: what is built, the YANG library (RFC 8526), and the modules of YANG 1 (RFC 7950
/// section 5.6.4 keeps those of 1.1 to the library).
fn capabilities(schema: &Schema, compiled: &Compiled, args: &Args) -> Vec<String> {
    // confirmed-commit:1.0 is the same without names: RFC 4741's, which yangcli and other old clients look for.
    let built = [
        "candidate:1.0",
        "confirmed-commit:1.0",
        "confirmed-commit:1.1",
        "interleave:1.0",
        "notification:1.0",
        "private-candidate:1.0?supported-resolution-modes=revert-on-conflict,prefer-candidate,prefer-running",
        "rollback-on-error:1.0",
        "url:1.0?scheme=file",
        "validate:1.1",
        "xpath:1.0",
    ];
    let switched = args.writable_running.then_some("writable-running:1.0");
    let mut all: Vec<String> = built
        .into_iter()
        .chain(switched)
        .map(|name| format!("urn:ietf:params:netconf:capability:{name}"))
        .collect();
    all.extend(retrieval::with_defaults_capabilities());
    if let Some(library) = schema.modules.iter().find(|module| module.name == "ietf-yang-library") {
        let revision = library.revision.as_deref().unwrap_or_default();
        let id = compiled.content_id();
        all.push(format!(
            "urn:ietf:params:netconf:capability:yang-library:1.1?revision={revision}&content-id={id}"
        ));
    }
    for module in schema.modules.iter().filter(|module| module.implemented) {
        let text = compiled.source(&module.name, module.revision.as_deref()).unwrap_or_default();
        if is_yang_1(text) {
            all.push(module_capability(module));
        }
    }
    all
}

/// RFC 6020 section 5.6.4.
fn module_capability(module: &Module) -> String {
    let mut uri = format!("{}?module={}", module.namespace, module.name);
    if let Some(revision) = &module.revision {
        uri.push_str(&format!("&revision={revision}"));
    }
    for (parameter, names) in [("features", &module.features), ("deviations", &module.deviations)] {
        if !names.is_empty() {
            uri.push_str(&format!("&{parameter}={}", names.join(",")));
        }
    }
    uri
}

fn is_yang_1(text: &str) -> bool {
    let version =
        text.split_once("yang-version").map(|(_, rest)| rest.trim_start().trim_start_matches(['"', '\'']));
    !version.is_some_and(|version| version.starts_with("1.1"))
}

/// Names the time from this start of the machine to the next.
fn boot_id() -> Result<String, StartError> {
    let path = "/proc/sys/kernel/random/boot_id";
    let text = std::fs::read_to_string(path).map_err(StartError::system(format!("cannot read {path}")))?;
    Ok(text.trim().to_owned())
}

/// 128 random bits in hexadecimal.
fn random_name() -> Result<String, StartError> {
    let bytes: [u8; 16] = random::bytes().map_err(StartError::system("cannot read random bytes"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_language_version_of_a_module_is_seen() {
        assert!(is_yang_1("module a { namespace \"urn:a\"; }"));
        assert!(is_yang_1("module a { yang-version 1; }"));
        assert!(!is_yang_1("module a { yang-version 1.1; }"));
        assert!(!is_yang_1("module a { yang-version \"1.1\"; }"));
    }
}
