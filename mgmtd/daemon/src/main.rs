//! The management daemon: wires datastores, transports, the store and the engine's socket.

fn main() {}
