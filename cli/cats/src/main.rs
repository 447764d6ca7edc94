//! The CLI: a NETCONF client with no power of its own.

fn main() {}
