//! The table of ours: sets, chains and rules, the same for IPv4 and IPv6.
//!
//! ```text
//! pre (prerouting, raw + 10)        post (postrouting, srcnat + 10)
//!   outer for a SID of ours: mark     forward packets: done
//!   TCP SYN: opening                      SYN: clamp the MSS
//!   forward: rewrite, mark, count     reverse: restore the source, done
//!   sent: hop limit, done             decapsulated for delivery: provisioned or dropped
//!   from an instance: mark            return traffic without a binding: dropped
//!   to a service address: miss
//! ```
//! `opening` is the same with the MSS clamped. `miss` begins with the flows whose port changes too. So the fast path
//! is one look-up in `forward` or `reverse`, the service's counter, and two writes: one rule for the hop limit that
//! hosts send most. A return packet misses `forward` first. Only a miss looks at services.

use super::encode::{
    ACCEPT, Checksum, Compare, DROP, GOTO, META_IIFNAME, META_L4PROTO, META_MARK, META_OIFNAME, NETWORK,
    QueueKind, REG, Rule, TRANSPORT,
};
use crate::netlink::Encoder;
use cats_engine_types::Family;

/// The name of our table in each family.
pub(crate) const TABLE: &str = "cats";
/// Changes with whatever a running table cannot be brought to by replacing rules and static sets.
pub(crate) const LAYOUT: &str = "cats layout 3";

/// The queue of packets without a binding, and of those whose hop limit ends here.
pub const QUEUE: u16 = 0x0ca7;

const BASE: u32 = 0x0ca7_0000;
/// On packets that the punt path releases.
pub(crate) const MARK_RELEASE: u32 = BASE | 0x0001;
/// On rewritten packets; the low octet is the path table.
pub(crate) const MARK_FORWARD: u32 = BASE | 0x0100;
/// On rewritten packets that are forwarded plainly.
pub(crate) const MARK_PLAIN: u32 = BASE | 0x0400;
/// On packets that instances send.
pub(crate) const MARK_RETURN: u32 = BASE | 0x0200;
/// On outer packets, and then on what is in them: for an instance here.
pub(crate) const MARK_DELIVER: u32 = BASE | 0x0301;
/// The same: return traffic.
pub(crate) const MARK_REVERSE: u32 = BASE | 0x0302;
/// On outer packets for a SID whose family has no service here.
pub(crate) const MARK_CLOSED: u32 = BASE | 0x0303;
const GROUP: u32 = 0xffff_ff00;

/// The hop limit that most hosts send.
const USUAL_HOPS: u8 = 64;
pub(crate) const TTL_STEPS: std::ops::RangeInclusive<u8> = 2..=255;

/// Counters of the table that are not of a service.
pub(crate) const COUNTERS: [&str; 10] = [
    "punted",
    "reverse",
    "delivered",
    "drop_reverse",
    "drop_released",
    "drop_unserved",
    "drop_fragment",
    "drop_undelivered",
    "drop_segment",
    "expired",
];

/// Where things are in the headers of a family.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) family: u8,
    /// Octets of an address.
    pub(crate) address: u32,
    source: u32,
    destination: u32,
    hop_limit: u32,
}

impl Shape {
    pub(crate) fn of(family: Family) -> Self {
        match family {
            Family::V4 => Shape { family: 2, address: 4, source: 12, destination: 16, hop_limit: 8 },
            Family::V6 => Shape { family: 10, address: 16, source: 8, destination: 24, hop_limit: 7 },
        }
    }

    pub(crate) fn is_v4(self) -> bool {
        self.address == 4
    }

    /// Registers of an address.
    fn words(self) -> u32 {
        self.address / 4
    }

    /// How a write of an address keeps the checksums.
    fn address_sum(self) -> Checksum {
        if self.is_v4() { Checksum::HeaderAndTransport(10) } else { Checksum::Transport }
    }

    fn hop_limit_sum(self) -> Checksum {
        if self.is_v4() { Checksum::Header(10) } else { Checksum::None }
    }
}

/// What the rules depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Features {
    pub(crate) queue: QueueKind,
    /// Only packets from access interfaces open flows.
    pub(crate) access: bool,
    /// The node decapsulates.
    pub(crate) sids: bool,
    /// Some SID's family has no service here.
    pub(crate) closed: bool,
    /// Instances are delivered to here.
    pub(crate) deliveries: bool,
    /// Return traffic is sent to owners.
    pub(crate) owners: bool,
}

/// Service addresses of a family at most.
pub(crate) const SERVICE_LIMIT: u32 = 16384;

/// The static sets that a configuration fills; they are emptied before.
pub(crate) const STATIC_SETS: [&str; 10] = [
    "services",
    "addresses",
    "access",
    "sids",
    "instances",
    "deliver_port",
    "deliver_protocol",
    "deliver_any",
    "answers",
    "counts",
];

/// A chain: name, and hook number with priority if packets enter there.
pub(crate) const CHAINS: [(&str, Option<(u32, i32)>); 6] = [
    ("pre", Some((0, -290))),
    ("post", Some((4, 110))),
    ("opening", None),
    ("miss", None),
    ("sent", None),
    ("deliver", None),
];

/// Calls `emit` for each rule with its chain, in order of evaluation.
pub(crate) fn rules(shape: Shape, features: Features, emit: &mut dyn FnMut(&'static str, &Encoder)) {
    let mut writer = Writer { shape, features, emit, scratch: Encoder::default() };
    writer.pre();
    writer.opening();
    writer.clamp("sent");
    writer.sent("sent");
    writer.miss();
    writer.post();
    writer.deliver();
}

struct Writer<'a> {
    shape: Shape,
    features: Features,
    emit: &'a mut dyn FnMut(&'static str, &Encoder),
    scratch: Encoder,
}

impl Writer<'_> {
    fn rule(&mut self, chain: &'static str, fill: impl FnOnce(&mut Rule<'_>)) {
        self.scratch.clear();
        fill(&mut Rule(&mut self.scratch));
        (self.emit)(chain, &self.scratch);
    }

    fn pre(&mut self) {
        let shape = self.shape;
        if self.features.sids && !shape.is_v4() {
            self.outer();
        }
        self.rule("pre", |rule| {
            syn(rule).verdict(GOTO, Some("opening"));
        });
        self.rule("pre", |rule| {
            rule.payload(REG, NETWORK, shape.hop_limit, 1).compare(REG, Compare::Equal, &[USUAL_HOPS]);
            flow(rule, shape).map("forward", REG, REG);
            redirect(rule, shape);
            let mark = REG + shape.words();
            rule.mask(mark, &GROUP.to_ne_bytes()).compare(mark, Compare::Equal, &MARK_FORWARD.to_ne_bytes());
            rule.immediate(REG, &[USUAL_HOPS - 1]);
            rule.write(REG, NETWORK, shape.hop_limit, 1, shape.hop_limit_sum()).verdict(ACCEPT, None);
        });
        self.rule("pre", |rule| {
            // A packet whose hop limit ends here goes by `miss`, so that its sender is told.
            rule.payload(REG, NETWORK, shape.hop_limit, 1).compare(REG, Compare::NotEqual, &[USUAL_HOPS]);
            rule.compare(REG, Compare::Greater, &[1]);
            flow(rule, shape).map("forward", REG, REG);
            redirect(rule, shape);
        });
        self.sent("pre");
        self.others("pre");
    }

    /// Packets for SIDs of ours.
    fn outer(&mut self) {
        let destination = self.shape.destination;
        if self.features.access {
            // The domain's edge (RFC 8754 section 5.1): a client reaches no segment of ours.
            self.rule("pre", |rule| {
                rule.meta(REG, META_IIFNAME).member("access", REG);
                rule.payload(REG, NETWORK, destination, 16).map("sids", REG, REG);
                rule.count("drop_segment").verdict(DROP, None);
            });
        }
        self.rule("pre", |rule| {
            rule.payload(REG, NETWORK, destination, 16).map("sids", REG, REG);
            rule.compare(REG, Compare::NotEqual, &MARK_CLOSED.to_ne_bytes());
            rule.set_mark(REG).verdict(ACCEPT, None);
        });
        if self.features.closed {
            self.rule("pre", |rule| {
                rule.payload(REG, NETWORK, destination, 16).map("sids", REG, REG);
                rule.count("drop_reverse").verdict(DROP, None);
            });
        }
    }

    /// The first packets of TCP connections.
    fn opening(&mut self) {
        let shape = self.shape;
        self.rule("opening", |rule| {
            rule.payload(REG, NETWORK, shape.hop_limit, 1).compare(REG, Compare::Greater, &[1]);
            flow(rule, shape).map("forward", REG, REG);
            redirect(rule, shape);
        });
        self.clamp("opening");
        self.sent("opening");
        self.others("opening");
    }

    /// What has no binding in `forward`.
    fn others(&mut self, chain: &'static str) {
        let shape = self.shape;
        if self.features.owners {
            self.rule(chain, |rule| {
                rule.payload(REG, NETWORK, shape.source, shape.address).member("instances", REG);
                rule.immediate(REG, &MARK_RETURN.to_ne_bytes()).set_mark(REG);
            });
        }
        self.rule(chain, |rule| {
            rule.payload(REG, NETWORK, shape.destination, shape.address).member("addresses", REG);
            rule.verdict(GOTO, Some("miss"));
        });
    }

    /// Lowers the MSS of a TCP SYN after a rewrite.
    fn clamp(&mut self, chain: &'static str) {
        let shape = self.shape;
        self.rule(chain, |rule| {
            syn(rule).payload(REG, NETWORK, shape.destination, shape.address);
            rule.meta(REG + shape.words(), META_MARK).map("mss", REG, REG).write_mss(REG);
        });
    }

    /// What follows a rewrite; other packets pass.
    fn sent(&mut self, chain: &'static str) {
        let shape = self.shape;
        // An encapsulating route takes the packet out of ip_forward, so the hop limit is lowered here.
        self.rule(chain, |rule| {
            grouped(rule, MARK_FORWARD).payload(REG, NETWORK, shape.hop_limit, 1).map("hops", REG, REG);
            rule.write(REG, NETWORK, shape.hop_limit, 1, shape.hop_limit_sum()).verdict(ACCEPT, None);
        });
        self.rule(chain, |rule| {
            marked(rule, MARK_PLAIN).verdict(ACCEPT, None);
        });
    }

    fn miss(&mut self) {
        let (shape, features) = (self.shape, self.features);
        self.rule("miss", |rule| {
            rule.payload(REG, NETWORK, shape.hop_limit, 1).compare(REG, Compare::Greater, &[1]);
            flow(rule, shape).map("forward_port", REG, REG);
            redirect_with_port(rule, shape).verdict(GOTO, Some("sent"));
        });
        if features.access {
            self.rule("miss", |rule| {
                rule.meta(REG, META_IIFNAME).not_member("access", REG);
                rule.count("drop_unserved").verdict(DROP, None);
            });
        }
        self.rule("miss", |rule| {
            rule.payload(REG, NETWORK, shape.hop_limit, 1).compare(REG, Compare::LessOrEqual, &[1]);
            rule.count("expired").queue(features.queue, QUEUE);
        });
        self.rule("miss", |rule| {
            flow(marked(rule, MARK_RELEASE), shape).map("staged", REG, REG);
            redirect_with_port(rule, shape).verdict(GOTO, Some("sent"));
        });
        self.rule("miss", |rule| {
            marked(rule, MARK_RELEASE).count("drop_released").verdict(DROP, None);
        });
        self.rule("miss", |rule| {
            if shape.is_v4() {
                rule.payload(REG, NETWORK, 6, 2).mask(REG, &[0x1f, 0xff]);
            } else {
                rule.fragment_offset6(REG).mask(REG, &[0xff, 0xf8]);
            }
            rule.compare(REG, Compare::NotEqual, &[0, 0]).count("drop_fragment").verdict(DROP, None);
        });
        self.rule("miss", |rule| {
            service(rule, shape, shape.destination, 2).member("services", REG);
            rule.count("punted").queue(features.queue, QUEUE);
        });
        self.rule("miss", |rule| {
            rule.count("drop_unserved").verdict(DROP, None);
        });
    }

    fn post(&mut self) {
        let (shape, features) = (self.shape, self.features);
        self.rule("post", |rule| {
            grouped(rule, MARK_FORWARD).verdict(ACCEPT, None);
        });
        self.rule("post", |rule| {
            syn(rule).payload(REG, NETWORK, shape.source, shape.address).map("mss_back", REG, REG);
            rule.write_mss(REG);
        });
        self.rule("post", |rule| {
            flow(rule, shape).map("reverse", REG, REG);
            rule.write(REG, NETWORK, shape.source, shape.address, shape.address_sum());
            rule.write(REG + shape.words(), TRANSPORT, 0, 2, Checksum::Transport);
            rule.count("reverse").verdict(ACCEPT, None);
        });
        if features.sids {
            self.rule("post", |rule| {
                marked(rule, MARK_DELIVER).verdict(GOTO, Some("deliver"));
            });
            self.rule("post", |rule| {
                marked(rule, MARK_REVERSE).count("drop_reverse").verdict(DROP, None);
            });
        }
        if features.deliveries {
            self.rule("post", |rule| {
                if features.access {
                    rule.meta(REG, META_OIFNAME).member("access", REG);
                }
                service(rule, shape, shape.source, 0).member("answers", REG);
                rule.count("drop_reverse").verdict(DROP, None);
            });
        }
    }

    fn deliver(&mut self) {
        let shape = self.shape;
        self.rule("deliver", |rule| {
            service(rule, shape, shape.destination, 2).member("deliver_port", REG);
            rule.count("delivered").verdict(ACCEPT, None);
        });
        self.rule("deliver", |rule| {
            rule.payload(REG, NETWORK, shape.destination, shape.address);
            rule.meta(REG + shape.words(), META_L4PROTO).member("deliver_protocol", REG);
            rule.count("delivered").verdict(ACCEPT, None);
        });
        self.rule("deliver", |rule| {
            rule.payload(REG, NETWORK, shape.destination, shape.address).member("deliver_any", REG);
            rule.count("delivered").verdict(ACCEPT, None);
        });
        self.rule("deliver", |rule| {
            rule.count("drop_undelivered").verdict(DROP, None);
        });
    }
}

/// Loads the key of a flow.
fn flow<'r, 'e>(rule: &'r mut Rule<'e>, shape: Shape) -> &'r mut Rule<'e> {
    if shape.is_v4() {
        // Words are loaded without a call; both addresses at once would not be.
        rule.payload(REG, NETWORK, shape.source, 4).payload(REG + 1, NETWORK, shape.destination, 4);
    } else {
        rule.payload(REG, NETWORK, shape.source, 32);
    }
    rule.payload(REG + 2 * shape.words(), TRANSPORT, 0, 4);
    rule.meta(REG + 2 * shape.words() + 1, META_L4PROTO)
}

/// Loads address, port (at the transport header's offset) and protocol.
fn service<'r, 'e>(rule: &'r mut Rule<'e>, shape: Shape, address: u32, port: u32) -> &'r mut Rule<'e> {
    rule.payload(REG, NETWORK, address, shape.address);
    rule.payload(REG + shape.words(), TRANSPORT, port, 2);
    rule.meta(REG + shape.words() + 1, META_L4PROTO)
}

/// Takes the value of `forward` into the packet.
fn redirect<'r, 'e>(rule: &'r mut Rule<'e>, shape: Shape) -> &'r mut Rule<'e> {
    rule.write(REG, NETWORK, shape.destination, shape.address, shape.address_sum());
    rule.set_mark(REG + shape.words()).count_by("counts", REG + shape.words() + 1)
}

/// Takes the value of `forward_port` or `staged` into the packet.
fn redirect_with_port<'r, 'e>(rule: &'r mut Rule<'e>, shape: Shape) -> &'r mut Rule<'e> {
    rule.write(REG, NETWORK, shape.destination, shape.address, shape.address_sum());
    rule.write(REG + shape.words(), TRANSPORT, 2, 2, Checksum::Transport);
    rule.set_mark(REG + shape.words() + 1).count_by("counts", REG + shape.words() + 2)
}

/// Goes on only with a TCP SYN, with or without ACK.
fn syn<'r, 'e>(rule: &'r mut Rule<'e>) -> &'r mut Rule<'e> {
    rule.meta(REG, META_L4PROTO).compare(REG, Compare::Equal, &[6]);
    rule.payload(REG, TRANSPORT, 13, 1).mask(REG, &[2]).compare(REG, Compare::NotEqual, &[0])
}

fn marked<'r, 'e>(rule: &'r mut Rule<'e>, mark: u32) -> &'r mut Rule<'e> {
    rule.meta(REG, META_MARK).compare(REG, Compare::Equal, &mark.to_ne_bytes())
}

fn grouped<'r, 'e>(rule: &'r mut Rule<'e>, mark: u32) -> &'r mut Rule<'e> {
    rule.meta(REG, META_MARK).mask(REG, &GROUP.to_ne_bytes());
    rule.compare(REG, Compare::Equal, &(mark & GROUP).to_ne_bytes())
}
