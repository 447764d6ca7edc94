//! What went wrong in the lab: what was being done, and why it failed.

use std::fmt;

/// A failure with its place. A lab has one user, who reads it and looks into the lab's folder.
#[derive(Debug)]
pub struct LabError {
    /// What was being done.
    pub doing: String,
    /// The cause, in the words of whoever refused.
    pub why: String,
}

/// The result of each step in the lab.
pub type Result<T> = std::result::Result<T, LabError>;

impl LabError {
    /// A failure of `doing`, caused by `why`.
    pub fn new(doing: impl Into<String>, why: impl fmt::Display) -> LabError {
        LabError { doing: doing.into(), why: why.to_string() }
    }

    /// A `map_err` argument: the error becomes the cause of the failure of `doing`.
    pub fn of<E: fmt::Display>(doing: impl Into<String>) -> impl FnOnce(E) -> LabError {
        let doing = doing.into();
        move |why| LabError::new(doing, why)
    }
}

impl fmt::Display for LabError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.doing, self.why.trim())
    }
}

impl std::error::Error for LabError {}
