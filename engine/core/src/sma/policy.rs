//! Rules of the operator over what is told of a site, `IF condition THEN action` (SMA-15).
//!
//! | file | holds |
//! |---|---|
//! | `words` | how words are compared, and which one a wrong word was meant to be |
//! | `metric` | the metrics that rules know, with their units and ranges |
//! | `lexer`, `parser` | from text to a rule, or to the place where it is none |
//! | `rule` | a rule in its normal form, which prints as text that parses to it |
//! | `compile` | [`Policy`]: rules in order, and what of the world they read |
//! | `apply` | what the rules make of one record, and why |
//! | `reevaluation` | everything again after a change of rules, site or time, a slice at a time |
//!
//! # The language
//!
//! ```text
//! rule      = IF condition THEN action { "," action }
//! condition = all { OR all }
//! all       = one { AND one }
//! one       = NOT one | "(" condition ")" | test
//! test      = number ("<" | "<=" | "=" | "!=" | ">=" | ">") value
//!           | SCI_Health ("=" | "!=") (HEALTHY | DEGRADED | UNHEALTHY | UNKNOWN)
//!           | SCI_State ("=" | "!=") (ACTIVE | HEALTHY | STALE | FAILED)
//!           | (CS_ID | CSCI_ID) ("=" | "!=") (a number above 0 or an IP address)
//!           | Time IN (Maintenance_Window | the name of a window of the calendar)
//!           | Flagged
//! action    = SET target "=" value | REDUCE target BY (value | percent "%")
//!           | CAP target AT value | FLOOR target AT value | SUPPRESS_UPDATES | FLAG
//! ```
//!
//! A `number` is a metric of [`Number`], a `target` one of [`Target`]; of these `SCI_Health` can only be set. Times are
//! milliseconds unless `us`, `ms` or `s` says otherwise. Upper and lower case do not count, and `_` is like `-`.
//! `Maintenance_Window` is any window of maintenance.
//!
//! # What rules do to each other
//!
//! Rules are looked at once each, the lowest priority number first, equal ones by their names.
//!
//! - A condition sees the metrics as the rules before left them; `Raw_GAS` and `Raw_Computing_Time` are as they were
//!   reported, before smoothing too. Metrics of the site and its times do not change under the rules.
//! - What a rule SET is final: no later rule changes that metric.
//! - What a rule CAPped or FLOORed stays within that bound, whatever a later rule does to it; where two bounds
//!   contradict each other, the earlier one holds.
//! - REDUCE is done at its moment to what is there then.
//! - A comparison with a metric that is not there is false, also with `!=`. SET brings a metric about; the other
//!   actions leave alone what is not there. FLOOR makes no slots where there are none.
//! - Whatever rules say, what is FAILED is told as UNHEALTHY, and what does not serve has no slots.

mod apply;
mod compile;
mod lexer;
mod metric;
mod parser;
mod reevaluation;
mod rule;
pub(super) mod words;

pub use apply::{ActionReport, DryRun, Effect, Fired, Outcome, SiteView, Subject, Tally, TestReport};
pub use compile::{Policy, PolicyConfig, RuleConfig, RuleError, SiteTruth};
pub use metric::{Number, Target};
pub use parser::{MAX_ACTIONS, MAX_DEPTH, MAX_TESTS, MAX_TEXT};
pub use reevaluation::{Order, Reevaluation};
pub use rule::{Action, Amount, Comparison, Condition, Rule, Test, TimeWindow, Value};

pub use compile::{MAX_RULES, MAX_SITE_TESTS};

#[cfg(test)]
mod tests;
