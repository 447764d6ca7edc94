//! The messages of `conformance/pcep-cases.md`, for tests.

const PAGE: &str = include_str!("../../../conformance/pcep-cases.md");

/// The cases with their bytes.
pub(crate) fn rows() -> impl Iterator<Item = (&'static str, Vec<u8>)> {
    PAGE.lines().filter_map(|line| {
        let mut cells = line.strip_prefix("| ")?.split(" | ");
        let case = cells.next()?;
        let digits = cells.last()?.strip_prefix('`')?.strip_suffix("` |")?;
        let bytes = digits.as_bytes().chunks(2).map(|pair| {
            let pair = std::str::from_utf8(pair).expect("a digit is ASCII");
            u8::from_str_radix(pair, 16).expect("two hexadecimal digits")
        });
        Some((case, bytes.collect()))
    })
}

/// The bytes of a case.
pub(crate) fn bytes(case: &str) -> Vec<u8> {
    let row = rows().find(|(row, _)| *row == case);
    row.unwrap_or_else(|| panic!("{case} has no row")).1
}

/// Those of C are about more than the layout.
#[test]
fn every_valid_case_has_a_test() {
    let tests = include_str!("codec/tests/vectors.rs");
    for (case, _) in rows().filter(|(case, _)| !case.starts_with('C')) {
        assert!(tests.contains(&format!("/// The case PCEP {case}")), "{case} has no test");
    }
}
