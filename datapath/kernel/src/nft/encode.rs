//! nf_tables messages and expressions, as far as the data plane uses them.

use crate::netlink::{Encoder, Mark};

const SUBSYSTEM: u16 = 10;

pub(crate) const NEWTABLE: u16 = SUBSYSTEM << 8;
pub(crate) const GETTABLE: u16 = SUBSYSTEM << 8 | 1;
pub(crate) const DELTABLE: u16 = SUBSYSTEM << 8 | 2;
pub(crate) const NEWCHAIN: u16 = SUBSYSTEM << 8 | 3;
pub(crate) const DELCHAIN: u16 = SUBSYSTEM << 8 | 5;
pub(crate) const NEWRULE: u16 = SUBSYSTEM << 8 | 6;
pub(crate) const DELRULE: u16 = SUBSYSTEM << 8 | 8;
pub(crate) const NEWSET: u16 = SUBSYSTEM << 8 | 9;
pub(crate) const GETSET: u16 = SUBSYSTEM << 8 | 10;
pub(crate) const NEWSETELEM: u16 = SUBSYSTEM << 8 | 12;
pub(crate) const GETSETELEM: u16 = SUBSYSTEM << 8 | 13;
pub(crate) const DELSETELEM: u16 = SUBSYSTEM << 8 | 14;
pub(crate) const NEWOBJ: u16 = SUBSYSTEM << 8 | 18;
pub(crate) const GETOBJ: u16 = SUBSYSTEM << 8 | 19;
pub(crate) const DELOBJ: u16 = SUBSYSTEM << 8 | 20;
const BATCH_BEGIN: u16 = 0x10;
const BATCH_END: u16 = 0x11;

/// The first of sixteen registers of four octets.
pub(crate) const REG: u32 = 8;

/// Bases of payload expressions.
pub(crate) const NETWORK: u32 = 1;
pub(crate) const TRANSPORT: u32 = 2;

pub(crate) const META_MARK: u32 = 3;
pub(crate) const META_IIFNAME: u32 = 6;
pub(crate) const META_OIFNAME: u32 = 7;
pub(crate) const META_L4PROTO: u32 = 16;

pub(crate) const ACCEPT: i32 = 1;
pub(crate) const DROP: i32 = 0;
pub(crate) const GOTO: i32 = -4;

const OBJECT_COUNTER: u32 = 1;

/// How a payload write keeps checksums right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Checksum {
    /// Nothing covers the field.
    None,
    /// The network header's own, at this offset.
    Header(u32),
    /// That and the transport header's, which covers the addresses.
    HeaderAndTransport(u32),
    /// The transport header's only; a UDP checksum of 0 stays 0.
    Transport,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Compare {
    Equal = 0,
    NotEqual = 1,
    LessOrEqual = 3,
    Greater = 4,
}

/// Which expression hands packets to the punt queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QueueKind {
    /// nf_tables' own, where the kernel has it.
    Native,
    /// The target of x_tables through the compatibility expression.
    Compat,
}

/// Starts a message of a family (2 or 10) within a batch or alone.
pub(crate) fn begin(encoder: &mut Encoder, kind: u16, flags: u16, family: u8, sequence: u32) -> Mark {
    let mark = encoder.begin(kind, flags, sequence);
    encoder.put(&[family, 0, 0, 0]);
    mark
}

pub(crate) fn batch_begin(encoder: &mut Encoder, sequence: u32) {
    batch(encoder, BATCH_BEGIN, sequence);
}

pub(crate) fn batch_end(encoder: &mut Encoder, sequence: u32) {
    batch(encoder, BATCH_END, sequence);
}

fn batch(encoder: &mut Encoder, kind: u16, sequence: u32) {
    let mark = encoder.begin(kind, 0, sequence);
    let [high, low] = SUBSYSTEM.to_be_bytes();
    encoder.put(&[0, 0, high, low]);
    encoder.end(mark);
}

/// The expressions of one rule, appended in order of evaluation.
pub(crate) struct Rule<'a>(pub(crate) &'a mut Encoder);

impl Rule<'_> {
    fn expression(&mut self, name: &str, fill: impl FnOnce(&mut Encoder)) -> &mut Self {
        self.0.nest(1, |element| {
            element.attr_text(1, name);
            element.nest(2, fill);
        });
        self
    }

    pub(crate) fn payload(&mut self, register: u32, base: u32, offset: u32, length: u32) -> &mut Self {
        self.expression("payload", |e| {
            e.attr_be32(1, register);
            e.attr_be32(2, base);
            e.attr_be32(3, offset);
            e.attr_be32(4, length);
        })
    }

    pub(crate) fn write(
        &mut self,
        register: u32,
        base: u32,
        offset: u32,
        length: u32,
        sum: Checksum,
    ) -> &mut Self {
        self.expression("payload", |e| {
            e.attr_be32(5, register);
            e.attr_be32(2, base);
            e.attr_be32(3, offset);
            e.attr_be32(4, length);
            let (kind, at, flags) = match sum {
                Checksum::None => (0, 0, 0),
                Checksum::Header(at) => (1, at, 0),
                Checksum::HeaderAndTransport(at) => (1, at, 1),
                Checksum::Transport => (0, 0, 1),
            };
            e.attr_be32(6, kind);
            e.attr_be32(7, at);
            if flags != 0 {
                e.attr_be32(8, flags);
            }
        })
    }

    pub(crate) fn meta(&mut self, register: u32, key: u32) -> &mut Self {
        self.expression("meta", |e| {
            e.attr_be32(2, key);
            e.attr_be32(1, register);
        })
    }

    pub(crate) fn set_mark(&mut self, register: u32) -> &mut Self {
        self.expression("meta", |e| {
            e.attr_be32(2, META_MARK);
            e.attr_be32(3, register);
        })
    }

    pub(crate) fn compare(&mut self, register: u32, how: Compare, value: &[u8]) -> &mut Self {
        self.expression("cmp", |e| {
            e.attr_be32(1, register);
            e.attr_be32(2, how as u32);
            e.nest(3, |data| data.attr(1, value));
        })
    }

    pub(crate) fn mask(&mut self, register: u32, mask: &[u8]) -> &mut Self {
        let zero = vec![0u8; mask.len()];
        let length = u32::try_from(mask.len()).unwrap_or(0);
        self.expression("bitwise", |e| {
            e.attr_be32(1, register);
            e.attr_be32(2, register);
            e.attr_be32(3, length);
            e.nest(4, |data| data.attr(1, mask));
            e.nest(5, |data| data.attr(1, &zero));
        })
    }

    pub(crate) fn immediate(&mut self, register: u32, value: &[u8]) -> &mut Self {
        self.expression("immediate", |e| {
            e.attr_be32(1, register);
            e.nest(2, |data| data.attr(1, value));
        })
    }

    /// Goes on only if the key is in the set.
    pub(crate) fn member(&mut self, set: &str, register: u32) -> &mut Self {
        self.expression("lookup", |e| {
            e.attr_text(1, set);
            e.attr_be32(2, register);
        })
    }

    /// Goes on only if the key is not in the set.
    pub(crate) fn not_member(&mut self, set: &str, register: u32) -> &mut Self {
        self.expression("lookup", |e| {
            e.attr_text(1, set);
            e.attr_be32(2, register);
            e.attr_be32(5, 1);
        })
    }

    /// Goes on only if the key is in the map, with its value from `to`.
    pub(crate) fn map(&mut self, map: &str, register: u32, to: u32) -> &mut Self {
        self.expression("lookup", |e| {
            e.attr_text(1, map);
            e.attr_be32(2, register);
            e.attr_be32(3, to);
        })
    }

    /// Counts in the object that the map has for the key.
    pub(crate) fn count_by(&mut self, map: &str, register: u32) -> &mut Self {
        self.expression("objref", |e| {
            e.attr_be32(3, register);
            e.attr_text(4, map);
        })
    }

    /// Counts in a named object.
    pub(crate) fn count(&mut self, name: &str) -> &mut Self {
        self.expression("objref", |e| {
            e.attr_be32(1, OBJECT_COUNTER);
            e.attr_text(2, name);
        })
    }

    /// Lowers the maximum segment size of a TCP SYN to the register's two octets; the kernel never raises it.
    pub(crate) fn write_mss(&mut self, register: u32) -> &mut Self {
        self.expression("exthdr", |e| {
            e.attr_be32(7, register);
            e.attr(2, &[2]);
            e.attr_be32(3, 2);
            e.attr_be32(4, 2);
            e.attr_be32(6, 1);
        })
    }

    /// Two octets of an IPv6 fragment header; goes on only if there is one.
    pub(crate) fn fragment_offset6(&mut self, register: u32) -> &mut Self {
        self.expression("exthdr", |e| {
            e.attr_be32(1, register);
            e.attr(2, &[44]);
            e.attr_be32(3, 2);
            e.attr_be32(4, 2);
        })
    }

    pub(crate) fn queue(&mut self, kind: QueueKind, number: u16) -> &mut Self {
        match kind {
            QueueKind::Native => self.expression("queue", |e| {
                e.attr(1, &number.to_be_bytes());
                e.attr(2, &1u16.to_be_bytes());
                e.attr(3, &0u16.to_be_bytes());
            }),
            QueueKind::Compat => self.expression("target", |e| {
                e.attr_text(1, "NFQUEUE");
                e.attr_be32(2, 0);
                let mut info = [0u8; 8];
                let [first, second] = number.to_ne_bytes();
                info[0] = first;
                info[1] = second;
                e.attr(3, &info);
            }),
        }
    }

    pub(crate) fn verdict(&mut self, code: i32, chain: Option<&str>) -> &mut Self {
        self.expression("immediate", |e| {
            e.attr_be32(1, 0);
            e.nest(2, |data| {
                data.nest(2, |verdict| {
                    verdict.attr_be32(1, code as u32);
                    if let Some(chain) = chain {
                        verdict.attr_text(2, chain);
                    }
                });
            });
        })
    }
}

/// A set or map as it is created.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SetSpec<'a> {
    pub(crate) name: &'a str,
    pub(crate) key: u32,
    pub(crate) key_type: u32,
    pub(crate) data_type: u32,
    /// Octets of the values; none: a set.
    pub(crate) data: Option<u32>,
    /// Elements at most; none: no bound.
    pub(crate) size: Option<u32>,
    pub(crate) timeout: bool,
    /// Values are counters.
    pub(crate) counters: bool,
    /// Expressions that each element evaluates.
    pub(crate) expressions: &'a [&'a str],
}

pub(crate) fn set(encoder: &mut Encoder, table: &str, spec: &SetSpec<'_>, id: u32) {
    const MAP: u32 = 8;
    const TIMEOUT: u32 = 0x10;
    const OBJECT: u32 = 0x40;
    const EXPRESSIONS: u32 = 0x100;
    let mut flags = 0;
    for (set, bit) in [
        (spec.data.is_some(), MAP),
        (spec.timeout, TIMEOUT),
        (spec.counters, OBJECT),
        (!spec.expressions.is_empty(), EXPRESSIONS),
    ] {
        if set {
            flags |= bit;
        }
    }
    encoder.attr_text(1, table);
    encoder.attr_text(2, spec.name);
    encoder.attr_be32(3, flags);
    encoder.attr_be32(4, spec.key_type);
    encoder.attr_be32(5, spec.key);
    if let Some(data) = spec.data {
        encoder.attr_be32(6, spec.data_type);
        encoder.attr_be32(7, data);
    }
    if let Some(size) = spec.size {
        encoder.nest(9, |desc| desc.attr_be32(1, size));
    }
    encoder.attr_be32(10, id);
    if spec.counters {
        encoder.attr_be32(15, OBJECT_COUNTER);
    }
    let expression = |e: &mut Encoder, name: &str| {
        e.attr_text(1, name);
        e.nest(2, |_| {});
    };
    match spec.expressions {
        [] => {}
        [one] => encoder.nest(17, |e| expression(e, one)),
        several => encoder.nest(18, |list| {
            for name in several {
                list.nest(1, |e| expression(e, name));
            }
        }),
    }
}

/// One element. Empty parts are left out.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Element<'a> {
    pub(crate) key: &'a [u8],
    pub(crate) data: &'a [u8],
    /// Milliseconds.
    pub(crate) timeout: Option<u64>,
    pub(crate) user: &'a [u8],
    pub(crate) object: Option<&'a str>,
}

/// Table, set and elements of a message on elements.
pub(crate) fn elements<'a>(
    encoder: &mut Encoder,
    table: &str,
    set: &str,
    elements: impl IntoIterator<Item = Element<'a>>,
) {
    encoder.attr_text(1, table);
    encoder.attr_text(2, set);
    encoder.nest(3, |list| {
        for element in elements {
            list.nest(1, |e| {
                e.nest(1, |key| key.attr(1, element.key));
                if !element.data.is_empty() {
                    e.nest(2, |data| data.attr(1, element.data));
                }
                if let Some(timeout) = element.timeout {
                    e.attr_be64(4, timeout);
                }
                if !element.user.is_empty() {
                    e.attr(6, element.user);
                }
                if let Some(object) = element.object {
                    e.attr_text(9, object);
                }
            });
        }
    });
}
