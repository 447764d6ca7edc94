//! The join of requirements, citations and results.

use super::citations::Citation;
use super::results::TestResult;

/// The IDs in the order of the list: one requirement a line, tab-separated, the ID first; `#` begins a comment.
pub(crate) fn requirement_ids(list: &str) -> Result<Vec<String>, String> {
    let mut ids = Vec::new();
    for (number, line) in list.lines().enumerate() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let fields: Vec<&str> = line.split('\t').collect();
        let [id, strength, _text, _section] = fields.as_slice() else {
            return Err(format!("line {}: {} fields, 4 expected", number + 1, fields.len()));
        };
        if !matches!(*strength, "M" | "S" | "m") {
            return Err(format!("line {}: strength {strength:?}, one of M, S, m expected", number + 1));
        }
        if ids.iter().any(|known| known == id) {
            return Err(format!("line {}: {id} is there twice", number + 1));
        }
        ids.push((*id).to_owned());
    }
    Ok(ids)
}

/// One line for each citation of an ID that is not in the list.
pub(crate) fn unknown_ids(ids: &[String], citations: &[Citation]) -> Vec<String> {
    let mut found = Vec::new();
    for citation in citations {
        for id in citation.ids.iter().filter(|id| !ids.contains(id)) {
            found.push(format!("{}:{}: {id} is no requirement", citation.file, citation.line));
        }
    }
    found
}

/// The report: `ID covered|open tests…`. Covered: a test that cites it passed, and none that cites it failed.
pub(crate) fn lines(ids: &[String], citations: &[Citation], results: &[TestResult]) -> Vec<String> {
    ids.iter()
        .map(|id| {
            let citing: Vec<&Citation> = citations.iter().filter(|c| c.ids.contains(id)).collect();
            let outcomes: Vec<bool> = citing.iter().filter_map(|c| outcome(c, results)).collect();
            let covered = !outcomes.is_empty() && outcomes.iter().all(|passed| *passed);
            let mut line = format!("{id} {}", if covered { "covered" } else { "open" });
            for citation in citing {
                line.push(' ');
                line.push_str(&name(citation));
            }
            line
        })
        .collect()
}

/// How the cited test ended: nothing if it did not run.
fn outcome(citation: &Citation, results: &[TestResult]) -> Option<bool> {
    let mut ran = results.iter().filter(|result| is_of(citation, result)).peekable();
    ran.peek()?;
    Some(ran.all(|result| result.passed))
}

fn is_of(citation: &Citation, result: &TestResult) -> bool {
    let binary = match &citation.binary {
        Some(binary) => result.binary == format!("cats-{}::{binary}", citation.package),
        None => {
            let package = result.binary.split("::").next().unwrap_or_default();
            let folder = package.strip_prefix("cats-").unwrap_or(package);
            folder == citation.package
        }
    };
    let (module, function) = result.name.rsplit_once("::").unwrap_or(("", &result.name));
    let inside = citation.module.is_empty()
        || module == citation.module
        || module.strip_prefix(citation.module.as_str()).is_some_and(|rest| rest.starts_with("::"));
    binary && inside && function == citation.function
}

fn name(citation: &Citation) -> String {
    let mut parts = vec![citation.package.as_str()];
    parts.extend(citation.binary.as_deref());
    if !citation.module.is_empty() {
        parts.push(&citation.module);
    }
    parts.push(&citation.function);
    parts.join("::")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn citation(package: &str, binary: Option<&str>, module: &str, function: &str, ids: &[&str]) -> Citation {
        Citation {
            file: "f.rs".to_owned(),
            line: 7,
            package: package.to_owned(),
            binary: binary.map(str::to_owned),
            module: module.to_owned(),
            function: function.to_owned(),
            ids: ids.iter().map(|s| (*s).to_owned()).collect(),
        }
    }

    fn result(binary: &str, name: &str, passed: bool) -> TestResult {
        TestResult { binary: binary.to_owned(), name: name.to_owned(), passed }
    }

    fn ids(list: &[&str]) -> Vec<String> {
        list.iter().map(|s| (*s).to_owned()).collect()
    }

    #[test]
    fn an_id_is_covered_when_its_test_ran_and_passed() {
        let citations = [citation("engine-core", None, "cps", "selects", &["CP-1"])];
        let passed = [result("cats-engine-core", "cps::tests::selects", true)];
        assert_eq!(
            lines(&ids(&["CP-1", "CP-2"]), &citations, &passed),
            ["CP-1 covered engine-core::cps::selects", "CP-2 open"]
        );
    }

    #[test]
    fn an_id_is_open_when_its_test_failed_or_did_not_run() {
        let citations = [citation("engine-core", None, "cps", "selects", &["CP-1"])];
        let failed = [result("cats-engine-core", "cps::tests::selects", false)];
        let open = ["CP-1 open engine-core::cps::selects"];
        assert_eq!(lines(&ids(&["CP-1"]), &citations, &failed), open);
        assert_eq!(lines(&ids(&["CP-1"]), &citations, &[]), open);
    }

    #[test]
    fn one_failure_opens_an_id_that_another_test_proves() {
        let citations =
            [citation("a", None, "", "good", &["CP-1"]), citation("a", Some("b"), "", "bad", &["CP-1"])];
        let results = [result("cats-a", "good", true), result("cats-a::b", "bad", false)];
        assert_eq!(lines(&ids(&["CP-1"]), &citations, &results), ["CP-1 open a::good a::b::bad"]);
    }

    #[test]
    fn a_test_of_the_same_name_elsewhere_proves_nothing() {
        let citations = [citation("a", None, "left", "works", &["CP-1"])];
        let elsewhere =
            [result("cats-a", "right::tests::works", true), result("cats-b", "left::works", true)];
        assert_eq!(lines(&ids(&["CP-1"]), &citations, &elsewhere), ["CP-1 open a::left::works"]);
        let binary = [citation("a", Some("one"), "", "works", &["CP-1"])];
        assert_eq!(
            lines(&ids(&["CP-1"]), &binary, &[result("cats-a::two", "works", true)]),
            ["CP-1 open a::one::works"]
        );
    }

    #[test]
    fn a_citation_of_no_requirement_is_named_with_its_place() {
        let citations = [citation("a", None, "", "works", &["CP-99"])];
        assert_eq!(unknown_ids(&ids(&["CP-1"]), &citations), ["f.rs:7: CP-99 is no requirement"]);
    }

    #[test]
    fn the_list_of_requirements_refuses_a_line_that_it_cannot_read() {
        assert_eq!(requirement_ids("# head\nCP-1\tM\ttext\t1\n").unwrap(), ["CP-1"]);
        assert!(requirement_ids("CP-1\tM\ttext\n").is_err());
        assert!(requirement_ids("CP-1\tX\ttext\t1\n").is_err());
        assert!(requirement_ids("CP-1\tM\ttext\t1\nCP-1\tM\ttext\t1\n").is_err());
    }
}
