//! The journal of commits and its recovery.
