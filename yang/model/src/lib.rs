//! The typed configuration and state, generated from the modules by `cargo xtask codegen`.
