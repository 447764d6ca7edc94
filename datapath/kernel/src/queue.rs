//! The punt queue: packets without a binding wait in the kernel; only their headers come here.

use crate::netlink::{Encoder, NETLINK_NETFILTER, NLM_F_ACK, attribute, messages, u32_at};
use crate::nft::ruleset::{MARK_RELEASE, QUEUE};
use crate::packet;
use cats_datapath_core::{PacketId, PendingLimits, PuntedPacket, Verdict};
use netlink_sys::{Socket, SocketAddr};
use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

const SUBSYSTEM: u16 = 3;
const PACKET: u16 = SUBSYSTEM << 8;
const VERDICT: u16 = SUBSYSTEM << 8 | 1;
const CONFIG: u16 = SUBSYSTEM << 8 | 2;
const NF_DROP: u32 = 0;
const NF_REPEAT: u32 = 4;
/// Enough for IP with extension headers, the ports, and a quotation in an ICMP error.
const COPY: u32 = 256;
/// A held packet occupies the kernel with about so many octets at least.
const OCTETS_A_PACKET: u32 = 256;
const BATCH_AT_ONCE: usize = 512;
const DONT_WAIT: i32 = 0x40;

/// A packet that the kernel holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Punted {
    /// It matched no binding.
    Flow(PuntedPacket),
    /// Its hop limit ends here; the beginning of the packet.
    Expired(PacketId, Vec<u8>),
    /// It is of no flow that could be bound; to be dropped.
    Other(PacketId),
}

/// The receiving end. One process at a time can have it in a network namespace.
#[derive(Debug)]
pub struct PuntQueue {
    socket: Arc<Socket>,
    interfaces: BTreeMap<u32, Arc<str>>,
    buffer: Vec<u8>,
}

/// The answering end, for the same or another thread.
#[derive(Debug, Clone)]
pub struct Verdicts {
    socket: Arc<Socket>,
}

impl AsFd for PuntQueue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl PuntQueue {
    /// Binds the queue in the calling thread's network namespace. `interfaces` are indices and names.
    pub fn open(limits: &PendingLimits, interfaces: Vec<(u32, String)>) -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_NETFILTER)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        socket.set_cap_ack(true)?;
        rustix::net::sockopt::set_socket_recv_buffer_size_force(&socket, 8 << 20)?;
        // The queue's own bound holds; a full socket counts as a drop and is no error of the reader.
        socket.set_no_enobufs(true)?;
        let interfaces = interfaces.into_iter().map(|(index, name)| (index, Arc::from(name))).collect();
        let queue = Self { socket: Arc::new(socket), interfaces, buffer: vec![0; 16 * 1024] };
        queue.configure(|encoder| encoder.attr(1, &[1, 0, 0, 0]))?;
        queue.configure(|encoder| {
            let mut params = COPY.to_be_bytes().to_vec();
            params.push(2);
            encoder.attr(2, &params);
            let length = (limits.octets_total / OCTETS_A_PACKET).max(1024);
            encoder.attr_be32(3, length);
            // Large packets stay whole.
            encoder.attr_be32(4, 4);
            encoder.attr_be32(5, 4);
        })?;
        Ok(queue)
    }

    fn configure(&self, fill: impl FnOnce(&mut Encoder)) -> io::Result<()> {
        let mut encoder = Encoder::with_capacity(64);
        let mark = encoder.begin(CONFIG, NLM_F_ACK, 1);
        put_header(&mut encoder);
        fill(&mut encoder);
        encoder.end(mark);
        self.socket.send(encoder.bytes(), 0)?;
        let mut answer = [0u8; 512];
        let mut space = answer.as_mut_slice();
        let length = self.socket.recv(&mut space, 0)?;
        let errno = answer.get(..length).and_then(|bytes| u32_at(bytes, 16)).unwrap_or(0);
        if errno == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(-errno.cast_signed())) }
    }

    /// The answering end.
    pub fn verdicts(&self) -> Verdicts {
        Verdicts { socket: self.socket.clone() }
    }

    /// Replaces what is known of interfaces.
    pub fn set_interfaces(&mut self, interfaces: Vec<(u32, String)>) {
        self.interfaces = interfaces.into_iter().map(|(index, name)| (index, Arc::from(name))).collect();
    }

    /// What waits, without blocking: so many at most. Whether the queue was found empty.
    pub fn receive(&mut self, most: usize, into: &mut Vec<Punted>) -> io::Result<bool> {
        for _ in 0..most {
            let mut space = self.buffer.as_mut_slice();
            let length = match self.socket.recv(&mut space, DONT_WAIT) {
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(true),
                Err(error) => return Err(error),
            };
            for message in messages(self.buffer.get(..length).unwrap_or_default()) {
                if message.kind == PACKET {
                    into.extend(self.read(message.body));
                }
            }
        }
        Ok(false)
    }

    fn read(&self, body: &[u8]) -> Option<Punted> {
        let rest = body.get(4..)?;
        let id = PacketId(be32(attribute(rest, 1)?)?);
        let Some(payload) = attribute(rest, 10) else { return Some(Punted::Other(id)) };
        let octets = attribute(rest, 13).and_then(be32);
        let octets = octets.unwrap_or_else(|| u32::try_from(payload.len()).unwrap_or(u32::MAX));
        let index = attribute(rest, 5).and_then(be32);
        let interface = index.and_then(|index| self.interfaces.get(&index)).cloned();
        if packet::headers(payload).is_some_and(|headers| headers.hop_limit <= 1) {
            return Some(Punted::Expired(id, payload.to_vec()));
        }
        let flow = packet::flow(payload).map(|key| PuntedPacket { id, key, octets, interface });
        Some(flow.map_or(Punted::Other(id), Punted::Flow))
    }
}

impl Verdicts {
    /// Lets packets go on or end, in this order.
    pub fn send(&self, verdicts: &[(PacketId, Verdict)]) -> io::Result<()> {
        for page in verdicts.chunks(BATCH_AT_ONCE) {
            let mut encoder = Encoder::with_capacity(40 * page.len());
            for (id, verdict) in page {
                let mark = encoder.begin(VERDICT, 0, 0);
                put_header(&mut encoder);
                let code = match verdict {
                    Verdict::Release => NF_REPEAT,
                    Verdict::Drop => NF_DROP,
                };
                let mut value = code.to_be_bytes().to_vec();
                value.extend_from_slice(&id.0.to_be_bytes());
                encoder.attr(2, &value);
                if *verdict == Verdict::Release {
                    encoder.attr_be32(3, MARK_RELEASE);
                }
                encoder.end(mark);
            }
            self.socket.send(encoder.bytes(), 0)?;
        }
        Ok(())
    }
}

fn put_header(encoder: &mut Encoder) {
    let [high, low] = QUEUE.to_be_bytes();
    encoder.put(&[0, 0, high, low]);
}

fn be32(bytes: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(..4)?.try_into().ok()?))
}
