//! The names of NETCONF: namespaces and capabilities.

/// The namespace of `<rpc>`, `<hello>` and the base operations (RFC 6241).
pub const BASE: &str = "urn:ietf:params:xml:ns:netconf:base:1.0";
/// The namespace of `get-schema` (RFC 6022).
pub const MONITORING: &str = "urn:ietf:params:xml:ns:yang:ietf-netconf-monitoring";
/// The namespace of `get-data` and `edit-data` (RFC 8526).
pub const NMDA: &str = "urn:ietf:params:xml:ns:yang:ietf-netconf-nmda";
/// The namespace of `compare` (RFC 9144).
pub const COMPARE: &str = "urn:ietf:params:xml:ns:yang:ietf-nmda-compare";
/// The namespace of `update` (draft-ietf-netconf-privcand).
pub const PRIVATE_CANDIDATE: &str = "urn:ietf:params:xml:ns:yang:ietf-netconf-private-candidate";
/// The capability of private candidates, without its parameters.
pub const PRIVATE_CANDIDATE_1_0: &str = "urn:ietf:params:netconf:capability:private-candidate:1.0";
/// The namespace of `create-subscription` and of `<notification>` (RFC 5277).
pub const NOTIFICATION: &str = cats_yang_tree::notice::NOTIFICATION;
/// The capability of notifications (RFC 5277).
pub const NOTIFICATION_1_0: &str = "urn:ietf:params:netconf:capability:notification:1.0";
/// The capability of requests beside a subscription (RFC 5277 section 6).
pub const INTERLEAVE_1_0: &str = "urn:ietf:params:netconf:capability:interleave:1.0";
/// The namespace of the datastores' identities (RFC 8342).
pub const DATASTORES: &str = "urn:ietf:params:xml:ns:yang:ietf-datastores";
/// The namespace of the parameter `with-defaults` (RFC 6243).
pub const WITH_DEFAULTS: &str = "urn:ietf:params:xml:ns:yang:ietf-netconf-with-defaults";
/// The namespace of `non-unique`, `missing-choice` and `action` (RFC 7950).
pub const YANG: &str = "urn:ietf:params:xml:ns:yang:1";
/// The namespace of the parameter `comment` of `commit`, and of operations of this server's own.
pub const EXEC: &str = "urn:catsd:yang:cats-exec";
/// The capability of RFC 4741, and of end-of-message framing.
pub const BASE_1_0: &str = "urn:ietf:params:netconf:base:1.0";
/// The capability of RFC 6241, and of chunked framing.
pub const BASE_1_1: &str = "urn:ietf:params:netconf:base:1.1";
/// The capability of RFC 6243, without its parameters.
pub const WITH_DEFAULTS_1_0: &str = "urn:ietf:params:netconf:capability:with-defaults:1.0";
/// The capability of RFC 8526: `with-defaults` for `<operational>`.
pub const WITH_OPERATIONAL_DEFAULTS_1_0: &str =
    "urn:ietf:params:netconf:capability:with-operational-defaults:1.0";
