//! Reports and advertisements in JSON (RFC 8259), as they travel over HTTP and MQTT.
//!
//! Names are in kebab case. Values are written as YANG's JSON has them (RFC 7951), so that a report looks as it does in
//! the datastore: 64-bit numbers as texts, CS-IDs and CSCI-IDs as a number or as an address in a text, computing times
//! in milliseconds as a text with three digits after the point. Numbers are taken as well as texts of numbers, up to
//! 2^53 without loss of digits at the sender. A unit is never part of a value.
//!
//! | member of a report | value | |
//! |---|---|---|
//! | `kind` | `full`, `delta` | must be there |
//! | `cause` | `heartbeat`, `threshold`, `health`, `critical`, `security`, `resync` | must be there |
//! | `cs-id`, `csci-id` | 1 to 4294967295, or an IP address | must be there |
//! | `locator` | `{"address": …, "port": …}`, the port may be absent | |
//! | `epoch`, `sequence` | 64 bits | must be there |
//! | `timestamp` | µs since 1970, 64 bits | must be there |
//! | `ttl` | seconds, 32 bits | |
//! | `gas`, `price`, `reputation`, `security-level` | 64 bits; ranges are judged by the C-SMA | |
//! | `computing-time`, `min`, `max` | ms with at most three digits after the point | |
//! | `min-input-tokens`, `max-input-tokens` | 32 bits; only with `min` or `max` | |
//! | `health` | `healthy`, `degraded`, `unhealthy`, `unknown` | |
//! | `instances` | `{"healthy": …, "degraded": …, "unhealthy": …, "unknown": …}`, absent is 0 | |
//! | `auth` | `{"token": …}`: a JSON web token, where the channel does not say who sends | |
//!
//! A member that is `null` is absent. Members that are not known are skipped and counted. One that is there twice, is of
//! another type, or does not fit its type refuses the document, and the error names it. A text is measured before it is
//! parsed.

mod advertisement;
mod object;
mod read;
mod report;
#[cfg(test)]
mod tests;

pub use advertisement::{
    AgentView, decode_advertisement, decode_agent_instructions, decode_agent_view, encode_advertisement,
    encode_agent_instructions, encode_agent_view,
};
pub use report::{
    DecodedReport, decode_report, decode_reporter_instructions, decode_reports, encode_report,
    encode_reporter_instructions,
};

/// The most reports in one document.
pub const MAX_BATCH: usize = 4096;
