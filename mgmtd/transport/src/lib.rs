//! NETCONF over SSH and over the local socket.
