//! Which modules there are, and which of them are implemented with which features: one table.

use cats_yang_tree::error::{Error, ErrorTag};
use std::borrow::Cow;

mod embedded {
    include!(concat!(env!("OUT_DIR"), "/modules.rs"));
}

/// The standard modules whose nodes are served, and their features. What they import is there for its types and
/// groupings only; `ietf-interfaces` becomes implemented too, since leafrefs of `ietf-routing` point into it.
const IMPLEMENTED: &[(&str, &[&str])] = &[
    ("iana-crypt-hash", &["crypt-hash-sha-256", "crypt-hash-sha-512"]),
    ("ietf-alarms", &["alarm-history", "alarm-shelving", "alarm-summary", "operator-actions"]),
    ("ietf-datastores", &[]),
    ("ietf-netconf", &["candidate", "confirmed-commit", "rollback-on-error", "url", "validate", "xpath"]),
    ("ietf-netconf-acm", &[]),
    ("ietf-netconf-monitoring", &[]),
    ("ietf-netconf-nmda", &["origin", "with-defaults"]),
    ("ietf-netconf-notifications", &[]),
    ("ietf-netconf-with-defaults", &[]),
    ("ietf-origin", &[]),
    ("ietf-routing", &[]),
    ("ietf-subscribed-notifications", &["encode-xml", "replay", "subtree", "xpath"]),
    ("ietf-system", &["authentication", "local-users"]),
    ("ietf-yang-library", &[]),
    ("ietf-yang-push", &["on-change"]),
    // For its identities, which an import alone does not make values (RFC 7950 section 9.10.2).
    ("ietf-x509-cert-to-name", &[]),
];

/// State of standard modules that is told on change: what `cats-types:on-change` says of our own.
pub(crate) const ON_CHANGE: &[(&str, &str)] = &[
    ("ietf-alarms", "alarm-inventory"),
    ("ietf-alarms", "alarm-list"),
    ("ietf-alarms", "shelved-alarms"),
    ("ietf-alarms", "summary"),
];

/// Of ours, those that hold only types and extensions.
const TYPES_ONLY: &[&str] = &["cats-types"];

/// One module's text, and how it is to be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleSource {
    /// Its name, as its text says.
    pub name: String,
    /// Its newest revision, as its text says.
    pub revision: Option<String>,
    /// The YANG text.
    pub text: Cow<'static, str>,
    /// False: it is there to be imported, and left out of the schema if no module does.
    pub implemented: bool,
    /// The features to enable, when it is implemented.
    pub features: Vec<String>,
}

impl ModuleSource {
    /// A module from its text, such as a file of `--extra-module`: implemented, with all its features.
    ///
    /// # Errors
    /// When the text does not begin like a module, or holds a NUL character.
    pub fn extra(text: impl Into<Cow<'static, str>>) -> Result<Self, Error> {
        let text = text.into();
        if text.contains('\0') {
            return Err(invalid("the module holds a NUL character"));
        }
        let words = Words { rest: &text };
        let Some((name, revision)) = header(words) else {
            return Err(invalid("not a YANG module: the text does not begin with 'module NAME {'"));
        };
        Ok(Self { name, revision, text, implemented: true, features: vec!["*".to_owned()] })
    }
}

fn invalid(message: &str) -> Error {
    Error::application(ErrorTag::InvalidValue, message)
}

/// The modules of this build: the table of standard ones implemented, ours implemented, and all others that can
/// be imported.
pub fn default_modules() -> Vec<ModuleSource> {
    let standard = embedded::STANDARD.iter().filter_map(|text| known(text)).map(|source| {
        let entry = IMPLEMENTED.iter().find(|(name, _)| *name == source.name);
        let features = entry.map_or(&[] as &[&str], |(_, features)| features);
        ModuleSource {
            implemented: entry.is_some(),
            features: features.iter().map(|feature| (*feature).to_owned()).collect(),
            ..source
        }
    });
    let ours = embedded::OURS
        .iter()
        .filter_map(|text| known(text))
        .map(|source| ModuleSource { implemented: !TYPES_ONLY.contains(&source.name.as_str()), ..source });
    standard.chain(ours).collect()
}

/// An embedded module; a submodule has no header of a module and is none.
fn known(text: &'static str) -> Option<ModuleSource> {
    ModuleSource::extra(text).ok()
}

/// The name, and the newest of the revisions in the text.
fn header(mut words: Words<'_>) -> Option<(String, Option<String>)> {
    if words.next()? != "module" {
        return None;
    }
    let name = words.next()?.to_owned();
    let mut newest: Option<&str> = None;
    let mut depth = 0usize;
    while let Some(word) = words.next() {
        match word {
            "{" => depth += 1,
            "}" => depth = depth.saturating_sub(1),
            "revision" if depth == 1 => newest = newest.max(words.next()),
            _ => {}
        }
    }
    Some((name, newest.map(str::to_owned)))
}

/// The words of a YANG text (RFC 7950 section 6.1): braces, semicolons, quoted strings without their quotes, and
/// unquoted strings; comments are skipped.
struct Words<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Words<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        self.skip_space_and_comments();
        let first = self.rest.chars().next()?;
        match first {
            '{' | '}' | ';' => Some(self.take(first.len_utf8())),
            '"' | '\'' => {
                self.take(1);
                let inner = self.take(closing_quote(self.rest, first));
                self.take(1);
                Some(inner)
            }
            _ => {
                let ends = |c: char| c.is_whitespace() || matches!(c, '{' | '}' | ';');
                Some(self.take(self.rest.find(ends).unwrap_or(self.rest.len())))
            }
        }
    }
}

impl<'a> Words<'a> {
    /// Cuts up to `length` octets off.
    fn take(&mut self, length: usize) -> &'a str {
        let (head, tail) = self.rest.split_at_checked(length).unwrap_or((self.rest, ""));
        self.rest = tail;
        head
    }

    fn skip_space_and_comments(&mut self) {
        loop {
            self.rest = self.rest.trim_start();
            let end = if self.rest.starts_with("//") {
                self.rest.find('\n')
            } else if self.rest.starts_with("/*") {
                self.rest.find("*/").map(|at| at + 2)
            } else {
                return;
            };
            self.take(end.unwrap_or(self.rest.len()));
        }
    }
}

/// Where the string ends; a backslash escapes in double quotes only.
fn closing_quote(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        if escaped {
            escaped = false;
        } else if c == '\\' && quote == '"' {
            escaped = true;
        } else if c == quote {
            return at;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_revision_is_read_and_those_of_imports_are_not() {
        let text = "/* revision 2030-01-01 */ module a { // module b\n namespace \"urn:a \\\" }\"; prefix a; import b { \
                    revision-date 2031-01-01; } revision 2019-01-01; revision 2020-02-02 { description '}'; } }";
        let source = ModuleSource::extra(text).unwrap();
        assert_eq!(source.name, "a");
        assert_eq!(source.revision.as_deref(), Some("2020-02-02"));
    }

    #[test]
    fn what_is_no_module_is_refused_with_the_reason() {
        for text in ["", "submodule a { }", "hello", "module a {\0}"] {
            assert!(ModuleSource::extra(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn every_implemented_standard_module_is_embedded() {
        let modules = default_modules();
        for (name, _) in IMPLEMENTED {
            assert!(modules.iter().any(|module| module.name == *name && module.implemented), "{name}");
        }
        assert!(modules.iter().any(|module| module.name == "cats-types" && !module.implemented));
    }
}
