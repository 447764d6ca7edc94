//! Waiting for a condition, with a bound: the lab's only way to let time pass.

use crate::{LabError, Result};
use std::time::{Duration, Instant};

/// How long the lab waits for things that take milliseconds on an idle machine and seconds on a loaded one.
pub const BOUND: Duration = Duration::from_secs(20);

const PERIOD: Duration = Duration::from_millis(20);

/// Asks `condition` every 20 ms until it gives a value, for [`BOUND`] at most. The error says what was waited for.
pub fn wait_for<T>(what: &str, condition: impl FnMut() -> Option<T>) -> Result<T> {
    wait_at_most(BOUND, what, condition)
}

/// As [`wait_for`], with a bound of its own.
pub fn wait_at_most<T>(bound: Duration, what: &str, mut condition: impl FnMut() -> Option<T>) -> Result<T> {
    let started = Instant::now();
    loop {
        if let Some(value) = condition() {
            return Ok(value);
        }
        if started.elapsed() > bound {
            return Err(LabError::new(what, format!("did not come about within {} s", bound.as_secs_f32())));
        }
        std::thread::sleep(PERIOD);
    }
}
