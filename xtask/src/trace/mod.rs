//! `cargo xtask trace`: every requirement with the tests that prove it. It must not know what a requirement
//! means: it joins three lists, the requirements, the tests that cite them, and the results of the last run.

mod citations;
mod join;
mod results;

use crate::{Failure, repository_root, tree};

/// Where the requirements are listed.
const REQUIREMENTS: &str = "conformance/requirements.tsv";
/// Where `make test` leaves the results.
const RESULTS: &str = "target/nextest/ci/junit.xml";

/// Prints one line a requirement, `ID covered|open tests…`; an ID that no requirement has is an error.
pub(crate) fn run() -> Result<(), Failure> {
    let root = repository_root();
    let files = tree::text_files(&root)?;
    let list = files
        .iter()
        .find(|f| f.path.as_os_str() == REQUIREMENTS)
        .ok_or_else(|| Failure(format!("{REQUIREMENTS} is not there")))?;
    let ids = join::requirement_ids(&list.text).map_err(|e| Failure(format!("{REQUIREMENTS}: {e}")))?;
    let citations = citations::find(&files);
    let results = match std::fs::read_to_string(root.join(RESULTS)) {
        Ok(xml) => results::parse(&xml).map_err(|e| Failure(format!("{RESULTS}: {e}")))?,
        Err(_) => {
            eprintln!("{RESULTS}: no results yet, so every requirement is open; run make test first");
            Vec::new()
        }
    };
    let unknown = join::unknown_ids(&ids, &citations);
    for line in join::lines(&ids, &citations, &results) {
        println!("{line}");
    }
    if unknown.is_empty() { Ok(()) } else { Err(Failure(unknown.join("\n"))) }
}
