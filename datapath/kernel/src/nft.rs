//! nf_tables by our own netlink batches.

pub(crate) mod encode;
pub(crate) mod ruleset;
pub(crate) mod sets;

use crate::netlink::{Connection, Encoder, Failure, Mark, NETLINK_NETFILTER, NLM_F_CREATE, Received};
use std::io;

/// A batch under construction: all of it or nothing.
#[derive(Debug)]
pub(crate) struct Batch<'a> {
    connection: &'a mut Connection,
    encoder: Encoder,
    first: u32,
    last: u32,
    last_mark: Option<Mark>,
}

impl<'a> Batch<'a> {
    pub(crate) fn begin(connection: &'a mut Connection) -> Self {
        let mut encoder = Encoder::with_capacity(16 * 1024);
        let first = connection.next();
        encode::batch_begin(&mut encoder, first);
        Self { connection, encoder, first, last: first, last_mark: None }
    }

    /// Adds a message; its sequence names it in a failure.
    pub(crate) fn add(&mut self, kind: u16, flags: u16, family: u8, fill: impl FnOnce(&mut Encoder)) -> u32 {
        let sequence = self.connection.next();
        let mark = encode::begin(&mut self.encoder, kind, flags, family, sequence);
        fill(&mut self.encoder);
        self.encoder.end(mark);
        self.last = sequence;
        self.last_mark = Some(mark);
        sequence
    }

    /// Commits. A batch without messages does nothing.
    pub(crate) fn commit(mut self) -> io::Result<Vec<Failure>> {
        let Some(mark) = self.last_mark else { return Ok(Vec::new()) };
        self.encoder.acknowledge(mark);
        let end = self.connection.next();
        encode::batch_end(&mut self.encoder, end);
        self.connection.exchange(self.encoder.bytes(), self.first, self.last, |_| {})
    }
}

/// Opens the socket that batches and look-ups go through.
pub(crate) fn connect() -> io::Result<Connection> {
    Connection::open(NETLINK_NETFILTER)
}

/// Asks for single elements of a set by key. `each` gets the position of a key and the element's attributes;
/// keys that are not there are left out.
pub(crate) fn get_elements(
    connection: &mut Connection,
    family: u8,
    set: &str,
    keys: &[Vec<u8>],
    each: &mut dyn FnMut(usize, &[u8]),
) -> io::Result<()> {
    // So many answers fit into the receive buffer whatever they carry.
    const AT_ONCE: usize = 64;
    for (page, keys) in keys.chunks(AT_ONCE).enumerate() {
        let mut encoder = Encoder::with_capacity(AT_ONCE * 128);
        let mut first = None;
        let mut last = 0;
        let mut last_mark = None;
        for key in keys {
            last = connection.next();
            first.get_or_insert(last);
            let mark = encode::begin(&mut encoder, encode::GETSETELEM, 0, family, last);
            last_mark = Some(mark);
            encode::elements(
                &mut encoder,
                ruleset::TABLE,
                set,
                [encode::Element { key, ..encode::Element::default() }],
            );
            encoder.end(mark);
        }
        if let Some(mark) = last_mark {
            encoder.acknowledge(mark);
        }
        let first = first.unwrap_or(last);
        let mut found = |message: Received<'_>| {
            let place = message.sequence.wrapping_sub(first) as usize;
            for element in elements_of(message) {
                each(page * AT_ONCE + place, element);
            }
        };
        let failures = connection.exchange(encoder.bytes(), 0, last, &mut found)?;
        if let Some(failure) = failures.iter().find(|failure| failure.errno != ENOENT) {
            return Err(failure.error());
        }
    }
    Ok(())
}

/// Dumps a set.
pub(crate) fn dump_elements(
    connection: &mut Connection,
    family: u8,
    set: &str,
    each: &mut dyn FnMut(&[u8]),
) -> io::Result<()> {
    connection.dump(
        encode::GETSETELEM,
        |encoder| {
            encoder.put(&[family, 0, 0, 0]);
            encoder.attr_text(1, ruleset::TABLE);
            encoder.attr_text(2, set);
        },
        |message| {
            for element in elements_of(message) {
                each(element);
            }
        },
    )
}

fn elements_of(message: Received<'_>) -> impl Iterator<Item = &[u8]> {
    let body = message.body.get(4..).unwrap_or_default();
    let list = crate::netlink::attribute(body, 3).unwrap_or_default();
    crate::netlink::attributes(list).filter(|(kind, _)| *kind == 1).map(|(_, element)| element)
}

pub(crate) const ENOENT: i32 = 2;
pub(crate) const ENFILE: i32 = 23;
pub(crate) const EEXIST: i32 = 17;
pub(crate) const EBUSY: i32 = 16;

pub(crate) const CREATE: u16 = NLM_F_CREATE;
