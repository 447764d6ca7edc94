//! The program behind `make demo`. It must not know how the daemons work: it lays out hosts, starts programs and
//! looks at packets.

fn main() {}
