//! ICMP in the place of routers: time exceeded for clients, and packet too big, translated from what the
//! underlay says of encapsulated packets to what the sender of the inner packet understands.

use crate::{NftBackend, packet};
use cats_engine_types::SpecialAddress;
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

/// Answers a second at most, of all kinds together; more are left unsent.
const RATE: u32 = 1000;
/// Octets of the offending packet that an answer quotes.
const QUOTE: usize = 200;
const PACKET_TOO_BIG: u8 = 2;
/// An IPv6 link carries at least so much.
const IPV6_LEAST: u32 = 1280;

/// Sockets for ICMP in both families.
#[derive(Debug)]
pub struct Icmp {
    v4: Socket,
    v6: Socket,
    underlay: Socket,
    window: Option<Instant>,
    sent: u32,
    failed: u64,
}

impl AsFd for Icmp {
    /// Readable when the underlay has said something.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.underlay.as_fd()
    }
}

impl Icmp {
    /// Opens the sockets in the calling thread's network namespace. What the underlay says is heard at the
    /// source address of encapsulated packets.
    pub fn open(underlay: Option<Ipv6Addr>) -> io::Result<Self> {
        let v4 = Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::ICMPV4))?;
        let v6 = Socket::new(Domain::IPV6, Type::RAW, Some(Protocol::ICMPV6))?;
        for sender in [&v4, &v6] {
            // They only send; what they hear fills the smallest buffer once.
            sender.set_recv_buffer_size(0)?;
        }
        let heard = Socket::new(Domain::IPV6, Type::RAW, Some(Protocol::ICMPV6))?;
        heard.set_nonblocking(true)?;
        if let Some(source) = underlay {
            heard.bind(&SocketAddr::new(IpAddr::V6(source), 0).into())?;
        }
        Ok(Self { v4, v6, underlay: heard, window: None, sent: 0, failed: 0 })
    }

    /// Answers that could not be sent, or not be made, since the sockets were opened.
    pub fn failed(&self) -> u64 {
        self.failed
    }

    /// Tells the sender of a packet that its hop limit ended here. As any answer it may fail, which is counted: the
    /// address to answer to is the peer's word.
    pub fn time_exceeded(&mut self, packet: &[u8], now: Instant) {
        let Some(headers) = packet::headers(packet) else { return };
        let kind = if headers.source.is_ipv4() { 11 } else { 3 };
        self.send(headers.source, [kind, 0], 0, packet, now)
    }

    /// Reads what the underlay said and passes on what concerns flows: to the client with the service
    /// address in the quotation, or to the instance. What cannot be read or passed on is counted and left out.
    pub fn handle_underlay(&mut self, backend: &mut NftBackend, now: Instant) {
        let mut buffer = [std::mem::MaybeUninit::new(0u8); 2048];
        for _ in 0..64 {
            let (length, _) = match self.underlay.recv_from(&mut buffer) {
                Ok(received) => received,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // One that the kernel kept for the socket; what it has received comes after it.
                Err(error) => {
                    self.note("reading what the underlay says", &error);
                    continue;
                }
            };
            let message: Vec<u8> = buffer
                .iter()
                .take(length)
                // SAFETY: the buffer was initialised with zeros, and receiving only overwrites.
                .map(|octet| {
                    #[allow(unsafe_code)]
                    unsafe {
                        octet.assume_init()
                    }
                })
                .collect();
            if let Some((mtu, mut quoted)) = too_big(&message) {
                self.pass_on(backend, mtu, &mut quoted, now);
            }
        }
    }

    fn pass_on(&mut self, backend: &mut NftBackend, mtu: u32, quoted: &mut [u8], now: Instant) {
        let Some(headers) = packet::headers(quoted) else { return };
        let restore = match backend.restore_of(quoted) {
            Ok(restore) => restore,
            Err(error) => return self.note("looking a quoted packet up", &error),
        };
        // Forward packets carry the instance as destination; the client knows the service address.
        if let Some(service) = restore {
            if packet::restore_destination(quoted, service).is_none() {
                return;
            }
        } else if !backend.delivers_from(headers.source) {
            return;
        }
        if headers.source.is_ipv4() {
            self.send(headers.source, [3, 4], mtu & 0xffff, quoted, now)
        } else {
            self.send(headers.source, [PACKET_TOO_BIG, 0], mtu.max(IPV6_LEAST), quoted, now)
        }
    }

    fn send(&mut self, to: IpAddr, kind: [u8; 2], word: u32, packet: &[u8], now: Instant) {
        // No error is sent to what is not one host (RFC 1122, section 3.2.2; RFC 4443, section 2.4).
        let nobody = SpecialAddress::of(to).is_some_and(|kind| kind != SpecialAddress::LinkLocal);
        if nobody || !self.admit(now) {
            return;
        }
        let mut message = vec![kind[0], kind[1], 0, 0];
        message.extend_from_slice(&word.to_be_bytes());
        message.extend(packet.iter().take(QUOTE));
        let socket = if to.is_ipv4() {
            let sum = packet::checksum(&message).to_be_bytes();
            if let Some(place) = message.get_mut(2..4) {
                place.copy_from_slice(&sum);
            }
            &self.v4
        } else {
            // The kernel fills the checksum in.
            &self.v6
        };
        // An error about an error helps nobody: the packet is lost, as any may be.
        if let Err(error) = socket.send_to(&message, &SocketAddr::new(to, 0).into()) {
            self.note("sending an ICMP error", &error);
        }
    }

    fn note(&mut self, what: &'static str, error: &io::Error) {
        self.failed += 1;
        tracing::debug!(what, %error, "ICMP left out");
    }

    fn admit(&mut self, now: Instant) -> bool {
        let fresh = self.window.is_none_or(|start| now.duration_since(start) >= Duration::from_secs(1));
        if fresh {
            self.window = Some(now);
            self.sent = 0;
        }
        self.sent += 1;
        self.sent <= RATE
    }
}

/// The largest inner packet that fits, and the beginning of the one that did not.
fn too_big(message: &[u8]) -> Option<(u32, Vec<u8>)> {
    if *message.first()? != PACKET_TOO_BIG {
        return None;
    }
    let mtu = u32::from_be_bytes(message.get(4..8)?.try_into().ok()?);
    let outer = message.get(8..)?;
    let at = packet::inner(outer)?;
    let inner = mtu.checked_sub(u32::try_from(at).ok()?)?;
    Some((inner, outer.get(at..)?.to_vec()))
}
