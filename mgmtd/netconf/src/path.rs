//! Instance paths between the two forms: module names where they change (RFC 7951), and a prefix on every name
//! (RFC 7950 section 9.13.2).

use crate::modules::Modules;
use crate::reply::escape_text;
use cats_yang_tree::error::Path;
use quick_xml::escape::escape;

/// A path with a prefix on every name, and what the prefixes mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Prefixed {
    pub(crate) text: String,
    /// Prefix, namespace, module; prefixes are unique.
    bindings: Vec<(String, String, String)>,
}

impl Prefixed {
    /// ` xmlns:a="urn:a"…`.
    pub(crate) fn declarations(&self) -> String {
        let one =
            |(prefix, uri, _): &(String, String, String)| format!(" xmlns:{prefix}=\"{}\"", escape(uri));
        self.bindings.iter().map(one).collect()
    }

    /// The prefix of `module`, declared now if it was not. Absent if the module is unknown.
    fn prefix(&mut self, module: &str, modules: &dyn Modules) -> Option<String> {
        if let Some((prefix, _, _)) = self.bindings.iter().find(|(_, _, known)| known == module) {
            return Some(prefix.clone());
        }
        let (wanted, uri) = modules.by_name(module)?;
        let mut prefix = wanted.to_owned();
        let mut number = 2;
        while self.bindings.iter().any(|(taken, _, _)| *taken == prefix) {
            prefix = format!("{wanted}{number}");
            number += 1;
        }
        self.bindings.push((prefix.clone(), uri.to_owned(), module.to_owned()));
        Some(prefix)
    }
}

/// `/m:a/b[k='v']` as `/p:a/p:b[p:k='v']`. Absent if it names a module that is not known, or none.
pub(crate) fn to_prefixes(path: &str, modules: &dyn Modules) -> Option<Prefixed> {
    let mut out = Prefixed { text: String::with_capacity(path.len() * 2), bindings: Vec::new() };
    let mut module: Option<String> = None;
    for token in tokens(path) {
        match token {
            Token::Name { text, key } => {
                let (own, name) = match text.split_once(':') {
                    Some((own, name)) => (Some(own.to_owned()), name),
                    None => (module.clone(), text),
                };
                let prefix = out.prefix(own.as_deref()?, modules)?;
                out.text.push_str(&prefix);
                out.text.push(':');
                out.text.push_str(name);
                if !key {
                    module = own;
                }
            }
            Token::Other(text) => out.text.push_str(text),
        }
    }
    Some(out)
}

/// `/p:a/q:b[q:k='v']` as `/m:a/n:b[k='v']`, where `module_of` tells the module of a prefix; a prefix that it does
/// not know stays.
pub(crate) fn to_modules(path: &str, module_of: &dyn Fn(&str) -> Option<String>) -> String {
    let mut out = String::with_capacity(path.len());
    let mut current: Option<String> = None;
    for token in tokens(path) {
        match token {
            Token::Name { text, key } => {
                let (module, name) = match text.split_once(':') {
                    Some((prefix, name)) => {
                        (Some(module_of(prefix).unwrap_or_else(|| prefix.to_owned())), name)
                    }
                    None => (None, text),
                };
                if let Some(module) = module.filter(|module| current.as_ref() != Some(module)) {
                    out.push_str(&module);
                    out.push(':');
                    if !key {
                        current = Some(module);
                    }
                }
                out.push_str(name);
            }
            Token::Other(text) => out.push_str(text),
        }
    }
    out
}

/// A leaf-list of instance-identifiers in the namespace of an operation that answers with them. Paths into modules that
/// are not known are left out.
pub fn instances_xml(namespace: &str, element: &str, paths: &[Path], modules: &dyn Modules) -> String {
    let one = |prefixed: Prefixed| {
        let (declared, text) = (prefixed.declarations(), escape_text(&prefixed.text));
        format!("<{element} xmlns=\"{namespace}\"{declared}>{text}</{element}>")
    };
    paths.iter().filter_map(|path| to_prefixes(&path.0, modules)).map(one).collect()
}

enum Token<'a> {
    /// A node name; `key` inside of a predicate.
    Name { text: &'a str, key: bool },
    /// Punctuation, a literal, a position.
    Other(&'a str),
}

fn tokens(path: &str) -> impl Iterator<Item = Token<'_>> {
    let mut rest = path;
    let mut inside = false;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let length = if matches!(first, '"' | '\'') {
            rest.get(1..)?.find(first).map_or(rest.len(), |at| at + 2)
        } else if is_name_start(first) {
            rest.find(|c| !(is_name_start(c) || matches!(c, '-' | '.' | ':' | '0'..='9')))
                .unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        let (text, next) = rest.split_at_checked(length)?;
        rest = next;
        match first {
            '[' => inside = true,
            ']' => inside = false,
            _ => {}
        }
        // A name before a parenthesis is a function: a literal with both kinds of quotes is written as concat(…).
        let is_node = is_name_start(first) && !next.trim_start().starts_with('(');
        Some(if is_node { Token::Name { text, key: inside } } else { Token::Other(text) })
    })
}

fn is_name_start(c: char) -> bool {
    c == '_' || c.is_ascii_alphabetic()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Two;

    impl Modules for Two {
        fn by_name(&self, name: &str) -> Option<(&str, &str)> {
            match name {
                "mod-a" => Some(("p", "urn:a")),
                "mod-b" => Some(("p", "urn:b")),
                _ => None,
            }
        }

        fn by_namespace(&self, _namespace: &str) -> Option<&str> {
            None
        }
    }

    #[test]
    fn every_name_gets_a_prefix_and_equal_prefixes_are_told_apart() {
        let found = to_prefixes("/mod-a:top/list[key='x/y:z'][n=\"1\"]/mod-b:leaf[.='v'][3]", &Two).unwrap();
        assert_eq!(found.text, "/p:top/p:list[p:key='x/y:z'][p:n=\"1\"]/p2:leaf[.='v'][3]");
        assert_eq!(found.declarations(), " xmlns:p=\"urn:a\" xmlns:p2=\"urn:b\"");
    }

    #[test]
    fn the_function_that_joins_a_literal_with_both_kinds_of_quotes_is_no_node() {
        let path = "/mod-a:top/list[key=concat('it', \"'\", 's \"x\"')]/mod-b:leaf";
        let prefixed = "/p:top/p:list[p:key=concat('it', \"'\", 's \"x\"')]/p2:leaf";
        assert_eq!(to_prefixes(path, &Two).unwrap().text, prefixed);
        let module_of = |prefix: &str| Some(if prefix == "p" { "mod-a" } else { "mod-b" }.to_owned());
        assert_eq!(to_modules(prefixed, &module_of), path);
    }

    #[test]
    fn each_instance_declares_the_prefixes_of_its_names() {
        let paths = [Path("/mod-a:top/list[key='<']".to_owned()), Path("/mod-c:top".to_owned())];
        let wanted = "<at xmlns=\"urn:x\" xmlns:p=\"urn:a\">/p:top/p:list[p:key='&lt;']</at>";
        assert_eq!(instances_xml("urn:x", "at", &paths, &Two), wanted);
    }

    #[test]
    fn a_path_into_an_unknown_module_has_no_prefixes() {
        assert_eq!(to_prefixes("/mod-c:top", &Two), None);
        assert_eq!(to_prefixes("/top", &Two), None);
    }

    #[test]
    fn a_prefixed_path_returns_to_module_names() {
        let module_of = |prefix: &str| match prefix {
            "p" => Some("mod-a".to_owned()),
            "p2" => Some("mod-b".to_owned()),
            _ => None,
        };
        let path = "/p:top/p:list[p:key='x/y:z']/p2:leaf/p2:more";
        assert_eq!(to_modules(path, &module_of), "/mod-a:top/list[key='x/y:z']/mod-b:leaf/more");
    }
}
