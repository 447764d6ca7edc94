//! The protobuf services between daemons and between nodes.
