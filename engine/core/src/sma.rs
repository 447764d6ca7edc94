//! The C-SMA: what a path selector may believe of a site.
//!
//! | file | holds |
//! |---|---|
//! | `state` | what is thought of an SCI as a source of reports |
//! | `calendar` | windows of time that rules and update control know by name |
//! | `transform` | smoothing, safety margin, ceiling and floor |
//! | `policy` | the rules of the operator |
//! | `northbound` | what each path selector is told |

pub mod calendar;
pub mod northbound;
pub mod policy;
mod state;
pub mod transform;

pub use state::SciState;
