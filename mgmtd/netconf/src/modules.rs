//! What this crate needs to know of YANG modules: how names, prefixes and namespaces belong together.

use cats_yang_tree::schema::Schema;

/// The bindings between module names, prefixes and namespaces, for error paths.
pub trait Modules {
    /// Prefix and namespace of the module `name`.
    fn by_name(&self, name: &str) -> Option<(&str, &str)>;
    /// Name of the module with this namespace.
    fn by_namespace(&self, namespace: &str) -> Option<&str>;
}

impl Modules for Schema {
    fn by_name(&self, name: &str) -> Option<(&str, &str)> {
        let at = self.modules.binary_search_by(|module| module.name.as_str().cmp(name)).ok()?;
        self.modules.get(at).map(|module| (module.prefix.as_str(), module.namespace.as_str()))
    }

    fn by_namespace(&self, namespace: &str) -> Option<&str> {
        self.modules.iter().find(|module| module.namespace == namespace).map(|module| module.name.as_str())
    }
}

/// No modules at all: for a client that has not yet learned the server's schema. Paths then keep the prefixes of
/// the message.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoModules;

impl Modules for NoModules {
    fn by_name(&self, _name: &str) -> Option<(&str, &str)> {
        None
    }

    fn by_namespace(&self, _namespace: &str) -> Option<&str> {
        None
    }
}
