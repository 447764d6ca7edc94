//! The traffic engineering database and constrained shortest path computation.
