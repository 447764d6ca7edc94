//! gRPC over mutual TLS between nodes, and over the engine's Unix socket.
