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
/// Sequence of configurations; verdicts have 0, and are answered if their packet is gone.
const CONFIGURATION: u32 = 1;
/// Each try begins with an empty socket of 8 MiB.
const CONFIGURE_TRIES: u32 = 3;
const NLMSG_ERROR: u16 = 2;
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
    /// Packets that came before the answer to a configuration; they are received first.
    early: Vec<Punted>,
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
        let (socket, buffer) = (Arc::new(socket), vec![0; 16 * 1024]);
        let mut queue = Self { socket, interfaces, buffer, early: Vec::new() };
        queue.configure(|encoder| encoder.attr(1, &[1, 0, 0, 0]))?;
        queue.configure(|encoder| {
            let mut params = COPY.to_be_bytes().to_vec();
            params.push(2);
            encoder.attr(2, &params);
            encoder.attr_be32(3, length(limits));
            // Large packets stay whole.
            encoder.attr_be32(4, 4);
            encoder.attr_be32(5, 4);
        })?;
        Ok(queue)
    }

    /// Brings the kernel's bound to the limits. Packets that it holds stay.
    pub fn set_limits(&mut self, limits: &PendingLimits) -> io::Result<()> {
        self.configure(|encoder| encoder.attr_be32(3, length(limits)))
    }

    /// Whether packets wait that the socket does not show.
    pub(crate) fn has_early(&self) -> bool {
        !self.early.is_empty()
    }

    /// The kernel answers while it hands packets over: those that come before its answer are kept.
    fn configure(&mut self, fill: impl FnOnce(&mut Encoder)) -> io::Result<()> {
        let mut encoder = Encoder::with_capacity(64);
        let mark = encoder.begin(CONFIG, NLM_F_ACK, CONFIGURATION);
        put_header(&mut encoder);
        fill(&mut encoder);
        encoder.end(mark);
        let mut early = std::mem::take(&mut self.early);
        let answer = self.exchange(encoder.bytes(), &mut early);
        self.early = early;
        answer
    }

    fn exchange(&mut self, request: &[u8], early: &mut Vec<Punted>) -> io::Result<()> {
        for _ in 0..CONFIGURE_TRIES {
            self.socket.send(request, 0)?;
            // The kernel answers within the call; where nothing is left, the answer met a full socket.
            loop {
                match self.read_datagram(DONT_WAIT, early) {
                    Ok(None) => {}
                    Ok(Some(0)) => return Ok(()),
                    Ok(Some(errno)) => return Err(io::Error::from_raw_os_error(errno)),
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    Err(error) => return Err(error),
                }
            }
        }
        Err(io::Error::new(io::ErrorKind::TimedOut, "its answers were lost: too many packets came"))
    }

    /// Reads one datagram: packets go to `into`; the error number of an answer, 0 for none.
    fn read_datagram(&mut self, flags: i32, into: &mut Vec<Punted>) -> io::Result<Option<i32>> {
        let mut space = self.buffer.as_mut_slice();
        let length = self.socket.recv(&mut space, flags)?;
        let mut answer = None;
        for message in messages(self.buffer.get(..length).unwrap_or_default()) {
            match message.kind {
                PACKET => into.extend(self.read(message.body)),
                NLMSG_ERROR if message.sequence == CONFIGURATION => {
                    answer = Some(u32_at(message.body, 0).map_or(0, |raw| -raw.cast_signed()))
                }
                _ => {}
            }
        }
        Ok(answer)
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
        into.append(&mut self.early);
        for _ in 0..most {
            match self.read_datagram(DONT_WAIT, into) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(true),
                Err(error) => return Err(error),
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

/// Packets that the kernel holds at most.
fn length(limits: &PendingLimits) -> u32 {
    (limits.octets_total / OCTETS_A_PACKET).max(1024)
}

fn put_header(encoder: &mut Encoder) {
    let [high, low] = QUEUE.to_be_bytes();
    encoder.put(&[0, 0, high, low]);
}

fn be32(bytes: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(..4)?.try_into().ok()?))
}
