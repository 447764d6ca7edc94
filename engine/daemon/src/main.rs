//! The engine daemon: wires the roles that configuration switches on.

fn main() {}
