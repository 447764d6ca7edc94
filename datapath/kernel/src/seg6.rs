//! The source of encapsulated packets, by generic netlink.

use crate::netlink::{Connection, NETLINK_GENERIC, attribute, u16_at};
use std::io;
use std::net::Ipv6Addr;

const CONTROLLER: u16 = 16;
const GET_FAMILY: u8 = 3;
const SET_TUNSRC: u8 = 3;

/// Sets the source address of outer headers in this network namespace; the unspecified address leaves the
/// search to the kernel, for each packet.
pub(crate) fn set_source(source: Ipv6Addr) -> io::Result<()> {
    let mut connection = Connection::open(NETLINK_GENERIC)?;
    let family = connection.ask(
        CONTROLLER,
        |encoder| {
            encoder.put(&[GET_FAMILY, 1, 0, 0]);
            encoder.attr_text(2, "SEG6");
        },
        |message| attribute(message.body.get(4..)?, 1).and_then(|id| u16_at(id, 0)),
    )?;
    let family =
        family.ok_or_else(|| io::Error::new(io::ErrorKind::Unsupported, "the kernel has no SRv6"))?;
    connection.request(family, 0, |encoder| {
        encoder.put(&[SET_TUNSRC, 1, 0, 0]);
        encoder.attr(1, &source.octets());
    })
}
