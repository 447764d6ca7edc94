//! The only crate that speaks to the kernel's data plane: rtnetlink, nftables, NFQUEUE, packet sockets.
