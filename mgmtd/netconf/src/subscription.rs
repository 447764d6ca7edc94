//! `create-subscription` of RFC 5277.

use crate::names::{BASE, NOTIFICATION};
use crate::parameters::{Parameters, invalid_value};
use crate::reply::escape_text;
use crate::retrieval::Filter;
use crate::rpc::Operation;
use cats_yang_tree::error::Error;
use cats_yang_tree::time::{date_and_time, unix_us};

/// The stream that every server has.
pub const NETCONF_STREAM: &str = "NETCONF";

/// `<create-subscription>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateSubscription {
    /// `stream`, `NETCONF` when absent.
    pub stream: String,
    /// `filter`.
    pub filter: Option<Filter>,
    /// `startTime`: microseconds since 1970-01-01T00:00:00Z.
    pub start_us: Option<u64>,
    /// `stopTime`, likewise.
    pub stop_us: Option<u64>,
}

impl Default for CreateSubscription {
    fn default() -> Self {
        Self { stream: NETCONF_STREAM.to_owned(), filter: None, start_us: None, stop_us: None }
    }
}

/// Parses an operation of this namespace; none for a name that it has not.
pub(crate) fn parse(given: &Parameters<'_, '_, '_>, name: &str) -> Result<Option<Operation>, Error> {
    if name != "create-subscription" {
        return Ok(None);
    }
    // Clients that know one kind of filter give that.
    given.only_and(&["stream", "filter", "startTime", "stopTime"], (BASE, "filter"))?;
    let created = CreateSubscription {
        stream: given.string("stream")?.unwrap_or_else(|| NETCONF_STREAM.to_owned()),
        filter: given.filter()?,
        start_us: time(given, "startTime")?,
        stop_us: time(given, "stopTime")?,
    };
    Ok(Some(Operation::CreateSubscription(Box::new(created))))
}

impl CreateSubscription {
    pub(crate) fn to_xml(&self) -> String {
        let time = |name: &str, us: Option<u64>| {
            us.map(|us| format!("<{name}>{}</{name}>", date_and_time(us))).unwrap_or_default()
        };
        let filter = self.filter.as_ref().map(Filter::to_xml).unwrap_or_default();
        format!(
            "<create-subscription xmlns=\"{NOTIFICATION}\"><stream>{}</stream>{filter}{}{}</create-subscription>",
            escape_text(&self.stream),
            time("startTime", self.start_us),
            time("stopTime", self.stop_us)
        )
    }
}

fn time(given: &Parameters<'_, '_, '_>, name: &'static str) -> Result<Option<u64>, Error> {
    let Some(text) = given.string(name)? else { return Ok(None) };
    let text = text.trim();
    let time = unix_us(text);
    time.map(Some).ok_or_else(|| invalid_value(name, text, "a date and time such as 2026-11-30T12:00:00Z"))
}
