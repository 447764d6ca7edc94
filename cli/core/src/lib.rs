//! Tokens, completion and rendering over a schema index: pure functions.
