//! The results of the last run, from nextest's JUnit file.

/// One test that ran.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TestResult {
    /// Package and binary, as nextest names them: `cats-engine-core`, `cats-conformance::netconf`.
    pub(crate) binary: String,
    /// The path of the test function in its binary.
    pub(crate) name: String,
    pub(crate) passed: bool,
}

/// Reads a JUnit document. A test case passed if it holds no failure, no error and no skipped mark.
pub(crate) fn parse(xml: &str) -> Result<Vec<TestResult>, String> {
    let document = roxmltree::Document::parse(xml).map_err(|e| e.to_string())?;
    let cases = document.descendants().filter(|n| n.has_tag_name("testcase"));
    cases
        .map(|case| {
            let attribute = |name| {
                case.attribute(name).map(str::to_owned).ok_or_else(|| format!("a test case lacks its {name}"))
            };
            let bad = |tag: &str| matches!(tag, "failure" | "error" | "skipped");
            let passed = !case.children().any(|child| bad(child.tag_name().name()));
            Ok(TestResult { binary: attribute("classname")?, name: attribute("name")?, passed })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_with_a_failure_did_not_pass() {
        let xml = r#"<testsuites><testsuite name="a"><testcase name="x::good" classname="a"/>
            <testcase name="bad" classname="a"><failure type="t"/></testcase></testsuite></testsuites>"#;
        let found = parse(xml).unwrap();
        assert_eq!(
            found.iter().map(|r| (r.name.as_str(), r.passed)).collect::<Vec<_>>(),
            [("x::good", true), ("bad", false)]
        );
    }

    #[test]
    fn a_case_without_a_name_is_an_error() {
        assert!(parse("<testcase classname='a'/>").is_err());
    }
}
