//! When what is known of an SCI is told on (SMA-17, SMA-21, SMA-22, SMA-29).
//!
//! | file | holds |
//! |---|---|
//! | `config` | thresholds, intervals, bucket, load |
//! | `trigger` | what the difference between what was told and what holds is worth |
//! | `bucket` | the rate of updates |
//! | `damping` | repeated failures of one SCI |
//! | `load` | when there is too much to tell, and what is left out then |
//! | `slots` | what is kept of each SCI |
//! | `control` | [`Control`]: who waits for what, and who is next |
//!
//! # How long an update waits
//!
//! | trigger | waits for |
//! |---|---|
//! | health worse, no slots left, security level | the bucket |
//! | recovery | the bucket; after repeated failures a pause that doubles with each of them |
//! | discovery, a metric beyond its threshold | the minimum interval since the last update, the end of maintenance, the bucket |
//! | anything else that differs, and that the SCI still reports | the update interval since the last update, the end of maintenance, the bucket |
//!
//! The values decide what an update is, never what a report calls itself, so no SCI can hurry its updates by a label.
//! What waits is a place in a queue, not a copy: what is told is what holds when the turn comes, and where nothing is
//! different any more, nothing is told.
//!
//! Of what is due, the more urgent trigger goes first, within a trigger what has waited longest. The bucket bounds all
//! of it; a part of it is kept for critical triggers. With an empty bucket critical updates alone get through, and
//! what waits for longer than its interval then waits for nothing but the bucket.

mod bucket;
mod config;
mod control;
mod damping;
mod load;
mod slots;
mod trigger;

pub use config::{BucketConfig, DampingConfig, LoadConfig, OptionalMetrics, Thresholds, UpdateConfig};
pub use control::{Control, ControlView, Due};
pub use slots::Number;
pub use trigger::Trigger;
