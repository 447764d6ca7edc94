//! The only crate that speaks to the kernel's data plane: nftables, routes, the punt queue, ICMP. It carries
//! out what `cats-datapath-core` wants and must not know who decides, or why.
//!
//! [`Steering`] is the whole of it for one thread; [`NftBackend`], [`PuntQueue`] and [`Icmp`] are its parts.
//!
//! # What a packet meets
//! A client's packet of a bound flow: one look-up in the map `forward` gives instance, mark and service counter (a
//! flow whose port changes too has another map, which only packets to service addresses ask); the hop limit is
//! lowered; a host route to the instance encapsulates with SRv6, in the main table or
//! in one that the mark names. Plain forwarding has neither. Without a binding it is held in an NFQUEUE; released packets pass the rules
//! again with a mark, and are dropped if they still find no binding. Return packets, decapsulated or plain,
//! get their source back in POSTROUTING by one look-up in `reverse`; what comes out of a return SID, or from an
//! instance's service port, without a binding is dropped and counted.
//!
//! Bindings of UDP flows are staged first, so that no later packet overtakes the held ones. TCP bindings are
//! open at once: a TCP receiver puts segments in order.
//!
//! # What is not there
//! - Fragments other than the first one to a service address are dropped and counted; the first one is
//!   steered and of no use alone.
//! - ICMP errors that routers behind the egress, or instances, send to clients are not translated: from a
//!   return SID they are dropped and counted. ICMP to a service address, echo included, is dropped and counted.
//! - The hop limit of return packets is lowered by the ingress only, not by the egress.
//! - The egress clamps no MSS: the ingress clamps both directions by the forward path's MTU.
//! - Whether flows are counted one by one is fixed when the table is made, by the first configuration with an
//!   ingress. So is the bound of bindings before Linux 6.5; a configuration with another one is warned of.
//! - nft 1.0.6 does not know the expression `last` and breaks off with a fault when it lists the flow maps;
//!   the other sets can be listed by name.
//!
//! # What it changes beside its own objects
//! `ip_forward`, `ipv6.conf.all.forwarding` and `seg6_enabled` are switched on, and on access interfaces with
//! on-link service addresses `proxy_ndp` on and `proxy_delay` to 0; none is ever switched back.
//! `lo` must be up for packet-too-big messages of the own underlay device to be heard. Conntrack and
//! `nf_hooks_lwtunnel` are neither needed nor touched.
mod backend;
mod icmp;
mod netlink;
mod nft;
mod packet;
mod queue;
mod route;
mod seg6;
mod steering;
mod sysctl;

pub use backend::NftBackend;
pub use icmp::Icmp;
pub use nft::ruleset::QUEUE;
pub use queue::{PuntQueue, Punted, Verdicts};
pub use route::{ANCHOR, PROTOCOL};
pub use steering::Steering;
