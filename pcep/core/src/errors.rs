//! The table of errors: what a PCErr message can say (RFC 5440 section 7.15 and what has been added since).
//!
//! The rows are those of the registry of PCEP numbers for the documents that are named beside them. For too many SRv6
//! SIDs RFC 9603 has two values, 39 in its section on capabilities and 43 in the one on routes, and both are registered:
//! we send 39 and read both.

use std::fmt;

/// A type and a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ErrorCode {
    /// Error-Type.
    pub kind: u8,
    /// Error-value; 0 where the type has none.
    pub value: u8,
}

/// A row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// Its name here.
    pub name: &'static str,
    /// Type and value.
    pub code: ErrorCode,
    /// What they say.
    pub meaning: &'static str,
    /// The number of the RFC.
    pub rfc: u16,
}

macro_rules! table {
    ($($name:ident = $kind:literal, $value:literal, $rfc:literal, $meaning:literal;)*) => {
        impl ErrorCode {
            $(
                #[doc = $meaning]
                pub const $name: Self = Self { kind: $kind, value: $value };
            )*
        }

        /// All rows that are known here, in order.
        pub const TABLE: &[Row] = &[$(Row { name: stringify!($name), code: ErrorCode::$name, meaning: $meaning, rfc: $rfc },)*];
    };
}

table! {
    INVALID_OPEN = 1, 1, 5440, "an Open message that is not valid, or another message in its place";
    NO_OPEN = 1, 2, 5440, "no Open message in time";
    UNACCEPTABLE = 1, 3, 5440, "session characteristics that are refused and cannot be negotiated";
    NEGOTIABLE = 1, 4, 5440, "session characteristics that are refused, with others proposed";
    STILL_UNACCEPTABLE = 1, 5, 5440, "a second Open message with characteristics that are refused";
    PROPOSAL_UNACCEPTABLE = 1, 6, 5440, "a proposal of characteristics that are refused";
    NO_KEEPALIVE = 1, 7, 5440, "neither Keepalive nor PCErr message in time";
    VERSION = 1, 8, 5440, "a version of PCEP that is not supported";
    CAPABILITY = 2, 0, 5440, "a capability that is not supported";
    UNKNOWN_CLASS = 3, 1, 5440, "an object of an unknown class";
    UNKNOWN_TYPE = 3, 2, 5440, "an object of an unknown type";
    UNSUPPORTED_CLASS = 4, 1, 5440, "an object of a class that is not supported";
    UNSUPPORTED_TYPE = 4, 2, 5440, "an object of a type that is not supported";
    UNSUPPORTED_PARAMETER = 4, 4, 5440, "a parameter that is not supported";
    POLICY_METRIC = 5, 1, 5440, "the value of a metric is asked for, which policy forbids";
    POLICY_LOOSE = 5, 2, 5440, "strict hops are asked for, which policy forbids";
    POLICY_OBJECTIVE = 5, 3, 5541, "an objective function that policy forbids";
    POLICY_OBJECTIVE_ASKED = 5, 4, 5541, "the objective function is asked for, which policy forbids";
    RP_MISSING = 6, 1, 5440, "no RP object";
    RRO_MISSING = 6, 2, 5440, "no RRO object in a request to optimise an LSP anew";
    END_POINTS_MISSING = 6, 3, 5440, "no END-POINTS object";
    LSP_MISSING = 6, 8, 8231, "no LSP object";
    ERO_MISSING = 6, 9, 8231, "no ERO object";
    SRP_MISSING = 6, 10, 8231, "no SRP object";
    LSP_IDENTIFIERS_MISSING = 6, 11, 8231, "no LSP-IDENTIFIERS TLV";
    LSP_DB_VERSION_MISSING = 6, 12, 8232, "no LSP-DB-VERSION TLV";
    SYNCHRONISED_REQUEST_MISSING = 7, 0, 5440, "a request of those that belong together is missing";
    UNKNOWN_REQUEST = 8, 0, 5440, "a request of which nothing is known";
    SECOND_SESSION = 9, 1, 5440, "an attempt to establish a second session";
    NOT_REQUIRED = 10, 1, 5440, "an object without the P flag, which it must have";
    BAD_LABEL = 10, 2, 8664, "a label that cannot be";
    SR_ERO_COUNT = 10, 3, 8664, "too many SR-ERO sub-objects";
    LABEL_FORMAT = 10, 4, 8664, "a label in a wrong format";
    SR_ERO_MIXED = 10, 5, 8664, "an ERO that mixes SR-ERO with other sub-objects";
    SR_ERO_EMPTY = 10, 6, 8664, "an SR-ERO sub-object with neither SID nor NAI";
    SR_RRO_EMPTY = 10, 7, 8664, "an SR-RRO sub-object with neither SID nor NAI";
    PATH_NAME_MISSING = 10, 8, 8281, "no SYMBOLIC-PATH-NAME TLV";
    MSD_EXCEEDED = 10, 9, 8664, "a SID depth above that of the session";
    SR_RRO_MIXED = 10, 10, 8664, "an RRO that mixes SR-RRO with other sub-objects";
    MALFORMED_OBJECT = 10, 11, 8408, "an object that is malformed";
    SR_CAPABILITY_MISSING = 10, 12, 8664, "no SR-PCE-CAPABILITY sub-TLV";
    SR_NAI_TYPE = 10, 13, 8664, "an NAI type that is not supported in SR-ERO or SR-RRO";
    UNKNOWN_SID = 10, 14, 8664, "an unknown SID";
    NAI_UNRESOLVED = 10, 15, 8664, "an NAI that leads to no SID";
    SRGB_MISSING = 10, 16, 8664, "no SRGB";
    SRGB_EXCEEDED = 10, 17, 8664, "a SID index beyond the SRGB";
    SRLB_MISSING = 10, 18, 8664, "no SRLB";
    SRLB_EXCEEDED = 10, 19, 8664, "a SID index beyond the SRLB";
    INCONSISTENT_SIDS = 10, 20, 8664, "sub-objects of SR-ERO or SR-RRO that mix labels and indexes";
    MSD_ZERO = 10, 21, 8664, "a SID depth of 0";
    SRV6_CAPABILITY_MISSING = 10, 34, 9603, "no SRv6-PCE-CAPABILITY sub-TLV";
    SRV6_RRO_EMPTY = 10, 35, 9603, "an SRv6-RRO sub-object with neither SID nor NAI";
    SRV6_RRO_MIXED = 10, 36, 9603, "an RRO that mixes SRv6-RRO with other sub-objects";
    SID_STRUCTURE = 10, 37, 9603, "an SRv6 SID structure that is not valid";
    SRV6_ERO_COUNT = 10, 39, 9603, "too many SRv6-ERO sub-objects";
    SRV6_NAI_TYPE = 10, 40, 9603, "an NAI type that is not supported in SRv6-ERO or SRv6-RRO";
    SRV6_ERO_EMPTY = 10, 41, 9603, "an SRv6-ERO sub-object with neither SID nor NAI";
    SRV6_ERO_MIXED = 10, 42, 9603, "an ERO that mixes SRv6-ERO with other sub-objects";
    SRV6_ERO_COUNT_IN_ROUTE = 10, 43, 9603, "too many SRv6-ERO sub-objects, by its other number";
    SR_POLICY_CAPABILITY_MISSING = 10, 44, 9862, "no SRPOLICY-CAPABILITY TLV";
    NOT_DELEGATED = 19, 1, 8231, "an update of an LSP that is not delegated";
    UPDATE_NOT_ADVERTISED = 19, 2, 8231, "an update without the capability for it";
    UNKNOWN_PLSP_ID = 19, 3, 8231, "an operation on an LSP of which nothing is known";
    REPORT_NOT_ADVERTISED = 19, 5, 8231, "a report without the capability for it";
    INITIATED_LIMIT = 19, 6, 8281, "more initiated LSPs than are allowed";
    INITIATED_NOT_REVOCABLE = 19, 7, 8281, "delegation of an initiated LSP cannot be revoked";
    PLSP_ID_GIVEN = 19, 8, 8281, "a PLSP-ID in a request to make an LSP";
    NOT_INITIATED = 19, 9, 8281, "removal of an LSP that no PCE made";
    INITIATION_RATE = 19, 10, 8281, "initiations that come too often";
    SRV6_NOT_ADVERTISED = 19, 19, 9603, "SRv6 without the capability for it, or under another path set-up type";
    REPORT_NOT_PROCESSED = 20, 1, 8231, "a report that the PCE cannot process";
    LSP_DB_VERSION_MISMATCH = 20, 2, 8232, "another version of the LSP database";
    SYNC_BEFORE_TRIGGER = 20, 3, 8232, "synchronisation before the PCE triggered it";
    TRIGGER_NOT_ADVERTISED = 20, 4, 8232, "triggered synchronisation without the capability for it";
    SYNC_NOT_COMPLETED = 20, 5, 8231, "synchronisation that the PCC cannot complete";
    LSP_DB_VERSION_INVALID = 20, 6, 8232, "a version of the LSP database that is not valid";
    SPEAKER_INVALID = 20, 7, 8232, "a speaker entity identifier that is not valid";
    SETUP_TYPE = 21, 1, 8408, "a path set-up type that is not supported";
    SETUP_TYPE_MISMATCH = 21, 2, 8408, "another path set-up type than before";
    PATH_NAME_IN_USE = 23, 1, 8281, "a name that another LSP has";
    SPEAKER_OF_OTHERS = 23, 2, 8281, "a speaker identity for an LSP that no PCE made";
    INSTANTIATION_UNACCEPTABLE = 24, 1, 8281, "parameters with which no LSP can be made";
    INSTANTIATION_INTERNAL = 24, 2, 8281, "the LSP cannot be made for internal reasons";
    INSTANTIATION_SIGNALLING = 24, 3, 8281, "the LSP cannot be signalled";
    STARTTLS_LATE = 25, 1, 8253, "StartTLS after other messages";
    STARTTLS_EXPECTED = 25, 2, 8253, "another message than StartTLS, Open or PCErr";
    TLS_REQUIRED = 25, 3, 8253, "TLS failed, and nothing goes without it";
    TLS_OPTIONAL = 25, 4, 8253, "TLS failed, and it goes without it";
    NO_STARTTLS = 25, 5, 8253, "no StartTLS message in time";
    ASSOCIATION_TYPE = 26, 1, 8697, "an association type that is not supported";
    ASSOCIATION_FULL = 26, 2, 8697, "too many LSPs in an association";
    ASSOCIATIONS_LIMIT = 26, 3, 8697, "too many associations";
    ASSOCIATION_UNKNOWN = 26, 4, 8697, "an association of which nothing is known";
    ASSOCIATION_CONFIGURED_MISMATCH = 26, 5, 8697, "something else is configured of the association";
    ASSOCIATION_MISMATCH = 26, 6, 8697, "something else is known of the association";
    ASSOCIATION_NOT_JOINED = 26, 7, 8697, "the association cannot be joined";
    ASSOCIATION_RANGE = 26, 8, 8697, "the number of an association out of its range";
    SR_POLICY_MISMATCH = 26, 20, 9862, "another SR policy than before";
    CANDIDATE_PATH_MISMATCH = 26, 21, 9862, "another candidate path than before";
    BINDING_INVALID = 32, 1, 9604, "a binding SID that is not valid";
    BINDING_UNAVAILABLE = 32, 2, 9604, "a binding value that cannot be had";
    BINDING_EXHAUSTED = 32, 3, 9604, "no binding value can be had";
    BINDING_STUCK = 32, 4, 9604, "a binding value that cannot be removed";
    BINDING_TYPES = 32, 5, 9604, "binding types that do not go together";
}

impl ErrorCode {
    /// Its row; nothing if it is not known here.
    pub fn row(self) -> Option<&'static Row> {
        TABLE.iter().find(|row| row.code == self)
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.kind, self.value)?;
        match self.row() {
            Some(row) => write!(f, " ({})", row.meaning),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_order_and_has_no_row_twice() {
        assert!(TABLE.is_sorted_by(|a, b| a.code < b.code));
    }

    #[test]
    fn an_error_says_what_it_means() {
        let text = ErrorCode::UNKNOWN_PLSP_ID.to_string();
        assert_eq!(text, "19/3 (an operation on an LSP of which nothing is known)");
        assert_eq!(ErrorCode { kind: 99, value: 1 }.to_string(), "99/1");
    }
}
