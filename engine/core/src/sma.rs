//! The C-SMA: what a path selector may believe of a site.

pub mod northbound;
