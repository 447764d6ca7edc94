//! NETCONF on the wire, both ends: framing, hello, rpc, rpc-error and the session state machine.
