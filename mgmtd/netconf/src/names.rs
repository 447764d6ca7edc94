//! The names of NETCONF: namespaces and capabilities.

/// The namespace of `<rpc>`, `<hello>` and the base operations (RFC 6241).
pub const BASE: &str = "urn:ietf:params:xml:ns:netconf:base:1.0";
/// The namespace of `get-schema` (RFC 6022).
pub const MONITORING: &str = "urn:ietf:params:xml:ns:yang:ietf-netconf-monitoring";
/// The namespace of `non-unique`, `missing-choice` and `action` (RFC 7950).
pub const YANG: &str = "urn:ietf:params:xml:ns:yang:1";
/// The capability of RFC 4741, and of end-of-message framing.
pub const BASE_1_0: &str = "urn:ietf:params:netconf:base:1.0";
/// The capability of RFC 6241, and of chunked framing.
pub const BASE_1_1: &str = "urn:ietf:params:netconf:base:1.1";
