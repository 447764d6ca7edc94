//! The C-PS: service catalogue, computing and network service tables, joint selection, flow state machine.
