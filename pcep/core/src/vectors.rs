//! The messages of `conformance/pcep-cases.md`, for tests.

use crate::errors::{ErrorCode, TABLE};

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

const TESTS: &[&str] = &[
    include_str!("client/tests.rs"),
    include_str!("codec/tests/vectors.rs"),
    include_str!("grammar/tests.rs"),
    include_str!("lsp_db/tests.rs"),
    include_str!("lsps/tests.rs"),
    include_str!("server/tests.rs"),
    include_str!("session/tests.rs"),
];

/// Those that a comment of a test names: "The case PCEP A01", "The cases PCEP A20, A21 and A22".
#[test]
fn every_case_has_a_test() {
    let comments = TESTS.iter().flat_map(|tests| tests.lines()).filter(|line| line.contains("/// "));
    let named: Vec<&str> =
        comments.filter_map(|line| line.split_once(" PCEP ")).map(|(_, cases)| cases).collect();
    for (case, _) in rows() {
        assert!(named.iter().any(|cases| cases.contains(case)), "{case} has no test");
    }
}

/// Rows of the table that nothing here answers with yet: the data plane, policy, or the synchronisation of RFC 8232 would.
const UNUSED: &[ErrorCode] = &[
    ErrorCode::UNSUPPORTED_CLASS,
    ErrorCode::UNSUPPORTED_TYPE,
    ErrorCode::POLICY_LOOSE,
    ErrorCode::POLICY_OBJECTIVE,
    ErrorCode::POLICY_OBJECTIVE_ASKED,
    ErrorCode::LSP_DB_VERSION_MISSING,
    ErrorCode::NOT_REQUIRED,
    ErrorCode::MSD_EXCEEDED,
    ErrorCode::UNKNOWN_SID,
    ErrorCode::NAI_UNRESOLVED,
    ErrorCode::SRGB_MISSING,
    ErrorCode::SRGB_EXCEEDED,
    ErrorCode::SRLB_MISSING,
    ErrorCode::SRLB_EXCEEDED,
    ErrorCode::SRV6_ERO_COUNT_IN_ROUTE,
    ErrorCode::SR_POLICY_CAPABILITY_MISSING,
    ErrorCode::INITIATION_RATE,
    ErrorCode::LSP_DB_VERSION_MISMATCH,
    ErrorCode::SYNC_BEFORE_TRIGGER,
    ErrorCode::TRIGGER_NOT_ADVERTISED,
    ErrorCode::SYNC_NOT_COMPLETED,
    ErrorCode::LSP_DB_VERSION_INVALID,
    ErrorCode::SPEAKER_INVALID,
    ErrorCode::SPEAKER_OF_OTHERS,
    ErrorCode::INSTANTIATION_UNACCEPTABLE,
    ErrorCode::INSTANTIATION_INTERNAL,
    ErrorCode::INSTANTIATION_SIGNALLING,
    ErrorCode::TLS_REQUIRED,
];

/// Proves CP-8: the table of errors of RFC 5440, 8231, 8281, 8408, 8664, 9603 and of StartTLS, row by row.
#[test]
fn every_row_of_the_error_table_is_raised_in_a_test_or_said_to_be_unused() {
    let tests = TESTS.concat();
    for row in TABLE.iter().filter(|row| row.code.kind < 26) {
        let is_raised = tests.contains(&format!("ErrorCode::{}", row.name));
        assert_ne!(is_raised, UNUSED.contains(&row.code), "{} {}", row.code, row.name);
    }
}
