//! From modules to a compiled schema.

use crate::modules::ModuleSource;
use crate::raw::{Context, ModuleRef, Provided};
use crate::{convert, faults};
use cats_yang_tree::error::{Error, ErrorTag};
use cats_yang_tree::schema::Schema;
use sha2::{Digest, Sha256};
use std::ffi::CString;
use std::fmt::Write as _;

/// A compiled set of modules: the plain schema, the modules' text, and libyang's own view of them for
/// [`Compiled::validate`]. It holds memory that is never given back, so a process makes one.
pub struct Compiled {
    schema: Schema,
    /// In the order of [`Schema::modules`].
    sources: Vec<String>,
    content_id: String,
    pub(crate) context: &'static Context,
}

/// Compiles modules. Those marked implemented, and those that these import, make the schema.
///
/// # Errors
/// One error for each module that does not compile, naming the module, the place and the reason; or for each
/// thing in the schema that yang/tree cannot honour.
pub fn load(modules: &[ModuleSource]) -> Result<Compiled, Vec<Error>> {
    let provided = provide(modules)?;
    let Some(context) = Context::new(provided) else {
        return Err(vec![Error::application(ErrorTag::ResourceDenied, "libyang cannot make a context")]);
    };
    let mut errors = Vec::new();
    for (module, names) in modules.iter().zip(provided) {
        if !module.implemented {
            continue;
        }
        let features: Vec<CString> = module.features.iter().filter_map(|name| c_string(name)).collect();
        if !context.load(&names.name, names.revision.as_deref(), &features) {
            errors.extend(faults::of_module(&module.name, context.take_faults()));
        }
    }
    if errors.is_empty() && !context.compile() {
        errors.extend(faults::of_compilation(context.take_faults()));
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    context.take_faults();
    let context: &'static Context = Box::leak(Box::new(context));
    let in_use = modules_in_use(context, modules);
    let schema = convert::schema(&in_use);
    if !schema.faults().is_empty() {
        return Err(schema.faults().iter().map(|fault| faults::of_schema(fault)).collect());
    }
    let sources: Vec<String> = in_use.iter().map(|module| source_of(*module, modules)).collect();
    let content_id = content_id(&schema, &sources);
    Ok(Compiled { schema, sources, content_id, context })
}

impl Compiled {
    /// The schema.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The YANG text of a module, for `get-schema`: of that revision, or of the only one.
    pub fn source(&self, module: &str, revision: Option<&str>) -> Option<&str> {
        let fits = |candidate: &cats_yang_tree::schema::Module| {
            candidate.name == module && (revision.is_none() || candidate.revision.as_deref() == revision)
        };
        let index = self.schema.modules.iter().position(fits)?;
        self.sources.get(index).map(String::as_str)
    }

    /// Names the content: equal for equal modules, revisions, features and texts (RFC 8525 `content-id`).
    pub fn content_id(&self) -> &str {
        &self.content_id
    }
}

fn provide(modules: &[ModuleSource]) -> Result<&'static [Provided], Vec<Error>> {
    let mut provided = Vec::with_capacity(modules.len());
    let mut errors = Vec::new();
    for module in modules {
        match (c_string(&module.name), c_string(&module.text)) {
            (Some(name), Some(text)) => {
                let revision = module.revision.as_deref().and_then(c_string);
                provided.push(Provided { name, revision, text });
            }
            _ => errors.push(Error::application(
                ErrorTag::InvalidValue,
                format!("module {} holds a NUL character", module.name.escape_debug()),
            )),
        }
    }
    if errors.is_empty() { Ok(Vec::leak(provided)) } else { Err(errors) }
}

fn c_string(text: &str) -> Option<CString> {
    CString::new(text).ok()
}

/// The modules that were asked for and, transitively, what they import, ordered by name. libyang's own, such as
/// its schema-mount, are left out unless they are among them.
fn modules_in_use(context: &'static Context, asked: &[ModuleSource]) -> Vec<ModuleRef> {
    let wanted = |module: &ModuleRef| {
        module.implemented() && asked.iter().any(|source| source.implemented && source.name == module.name())
    };
    let mut in_use: Vec<ModuleRef> = context.modules().into_iter().filter(wanted).collect();
    let mut next = 0;
    while let Some(module) = in_use.get(next).copied() {
        for import in module.imports() {
            if !in_use.contains(&import) {
                in_use.push(import);
            }
        }
        next += 1;
    }
    in_use.sort_by_key(|module| (module.name(), module.revision()));
    in_use
}

/// The text as it was given, or libyang's print of its own edition.
fn source_of(module: ModuleRef, given: &[ModuleSource]) -> String {
    let same = |source: &&ModuleSource| {
        source.name == module.name() && source.revision.as_deref() == module.revision()
    };
    match given.iter().find(same) {
        Some(source) => source.text.clone().into_owned(),
        None => module.print().unwrap_or_default(),
    }
}

fn content_id(schema: &Schema, sources: &[String]) -> String {
    let mut hash = Sha256::new();
    for (module, source) in schema.modules.iter().zip(sources) {
        for part in [module.name.as_str(), module.revision.as_deref().unwrap_or_default(), source] {
            hash.update(part.as_bytes());
            hash.update([0]);
        }
        hash.update([u8::from(module.implemented)]);
        for feature in &module.features {
            hash.update(feature.as_bytes());
            hash.update([0]);
        }
    }
    hash.finalize().iter().take(16).fold(String::new(), |mut id, byte| {
        let _ = write!(id, "{byte:02x}");
        id
    })
}
