//! Tests that cite requirements: a doc line `/// Proves CP-1, CP-9.` on a test function.

use crate::tree::TextFile;
use std::path::Path;

/// A test function and what it says that it proves.
#[derive(Debug, PartialEq, Eq, Clone)]
pub(crate) struct Citation {
    /// The file, as printed in messages.
    pub(crate) file: String,
    pub(crate) line: usize,
    /// The package's folder with slashes as dashes, as nextest's binary ids begin (without `cats-`).
    pub(crate) package: String,
    /// The integration test's name, for files under `tests/`.
    pub(crate) binary: Option<String>,
    /// The module path that the file's place gives, for files under `src/`.
    pub(crate) module: String,
    pub(crate) function: String,
    pub(crate) ids: Vec<String>,
}

/// All citations in the Rust files, in the order of the files.
pub(crate) fn find(files: &[TextFile]) -> Vec<Citation> {
    files.iter().filter(|f| f.has_extension("rs")).flat_map(find_in_file).collect()
}

fn find_in_file(file: &TextFile) -> Vec<Citation> {
    let Some(place) = place(&file.path) else { return Vec::new() };
    let mut found = Vec::new();
    let mut ids: Vec<String> = Vec::new();
    for (number, line) in file.text.lines().enumerate() {
        let line = line.trim();
        if let Some(words) = line.strip_prefix("/// Proves ") {
            ids.extend(
                words
                    .split([',', ' ', ';'])
                    .map(|w| w.trim_matches('.'))
                    .filter(|w| is_id(w))
                    .map(str::to_owned),
            );
        } else if let Some(function) = function_name(line) {
            if !ids.is_empty() {
                found.push(Citation {
                    file: file.path.display().to_string(),
                    line: number + 1,
                    function,
                    ids: std::mem::take(&mut ids),
                    ..place.clone()
                });
            }
        } else if !line.starts_with("///") && !line.starts_with('#') && !line.is_empty() {
            ids.clear();
        }
    }
    found
}

/// `CP-12`, `SMA-3`: upper-case letters, a dash, digits.
fn is_id(word: &str) -> bool {
    word.split_once('-').is_some_and(|(letters, digits)| {
        !letters.is_empty()
            && letters.chars().all(|c| c.is_ascii_uppercase())
            && !digits.is_empty()
            && digits.chars().all(|c| c.is_ascii_digit())
    })
}

fn function_name(line: &str) -> Option<String> {
    let line = line.strip_prefix("pub ").unwrap_or(line);
    let line = line.strip_prefix("async ").unwrap_or(line);
    let rest = line.strip_prefix("fn ")?;
    let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    (!name.is_empty()).then_some(name)
}

/// A citation with only its place filled in, from the path of a file `FOLDERS/src/…` or `FOLDERS/tests/…`.
fn place(path: &Path) -> Option<Citation> {
    let parts: Vec<String> = path.iter().map(|p| p.to_string_lossy().into_owned()).collect();
    let split = parts.iter().position(|p| p == "src" || p == "tests")?;
    let (folders, rest) = parts.split_at(split);
    let (kind, rest) = rest.split_first()?;
    let mut modules: Vec<String> = rest.iter().map(|p| p.trim_end_matches(".rs").to_owned()).collect();
    if modules.last().is_some_and(|last| matches!(last.as_str(), "mod" | "lib" | "main")) {
        modules.pop();
    }
    let binary = (kind == "tests").then(|| modules.first().cloned().unwrap_or_default());
    if binary.is_some() && !modules.is_empty() {
        modules.remove(0);
    }
    Some(Citation {
        file: String::new(),
        line: 0,
        package: folders.join("-"),
        binary,
        module: modules.join("::"),
        function: String::new(),
        ids: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn find_in(path: &str, text: &str) -> Vec<Citation> {
        find(&[TextFile { path: PathBuf::from(path), text: text.to_owned() }])
    }

    #[test]
    fn a_citation_belongs_to_the_function_below_it() {
        let found = find_in(
            "engine/core/src/cps/select.rs",
            "/// Says more.\n/// Proves CP-1, CP-9.\n#[test]\nfn first() {\n",
        );
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].ids, ["CP-1", "CP-9"]);
        assert_eq!((found[0].package.as_str(), found[0].module.as_str()), ("engine-core", "cps::select"));
        assert_eq!((found[0].function.as_str(), found[0].line), ("first", 4));
    }

    #[test]
    fn integration_tests_are_known_by_their_binary() {
        let found = find_in(
            "conformance/tests/netconf.rs",
            "/// Proves CP-36.\n#[tokio::test]\nasync fn overlap() {}\n",
        );
        assert_eq!(found[0].binary.as_deref(), Some("netconf"));
        assert_eq!(found[0].module, "");
    }

    #[test]
    fn a_citation_that_stands_on_something_else_is_dropped() {
        assert!(find_in("a/src/lib.rs", "/// Proves CP-1.\nstruct S;\nfn f() {}\n").is_empty());
    }
}
