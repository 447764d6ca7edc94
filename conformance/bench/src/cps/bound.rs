//! New flows a second: one datagram of each, at a rate that a core is busy with and at one below.

use super::bed::Bed;
use crate::Settings;
use crate::cpu::pin;
use crate::figure::{Better, Figure, median};
use cats_conformance::layout::{INSTANCE_B, SERVICE};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::time::{Duration, Instant};

/// More than a core binds with the C-PS in process.
const ABOVE: u32 = 60_000;
/// Nearly what a core binds over gRPC. With more than it can take, the C-PS ends the stream and the ingress attaches
/// anew, which would be measured in the place of new flows.
const ABOVE_GRPC: u32 = 8_000;
/// Less.
const BELOW: u32 = 5_000;
/// How long each rate is sent.
const DURATION: Duration = Duration::from_secs(2);
/// Packets of a rate come in bursts of this period.
const PERIOD: Duration = Duration::from_millis(1);
/// The service's port.
const PORT: u16 = 443;
/// Ports of a client; its address counts up beyond them.
const PORTS: u32 = 32_768;
const FIRST_PORT: u32 = 1024;
const FIRST_CLIENT: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
/// So long without an arrival, all that will come has come.
const QUIET: Duration = Duration::from_millis(300);

/// Of one rate.
struct Outcome {
    /// Flows bound a second of the engines' CPU time.
    per_cpu: f64,
    /// Flows bound a second of wall time while they were sent.
    per_wall: f64,
    /// Share of the flows sent that were bound.
    share: f64,
}

pub(super) fn measure(bed: &Bed, settings: &Settings) -> Result<Vec<Figure>, String> {
    let sink = bed.instance().enter(sink).map_err(|error| error.to_string())??;
    let mut next = 0;
    let (mut above, mut below, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..settings.rounds {
        below.push(round(bed, BELOW, &mut next)?);
        let outcome = round(bed, above_of(bed), &mut next)?;
        if !bed.is_distributed() {
            ratios.push(1.0 / outcome.per_cpu / crate::datapath::bare_install()?);
        }
        above.push(outcome);
    }
    drop(sink);
    let ratio = Figure::of("cps/new-flow-ratio-install", "ratio", Better::Lower, ratios).map(|figure| {
        figure.against("the nft backend's installs alone, 256 in a transaction, in this program").note(format!(
            "CPU time of a new flow, as for cps/new-flows-per-s at {ABOVE} offered, to that of a bare binding"
        ))
    });
    Ok(rate(bed, &above, &below).into_iter().chain(ratio).collect())
}

/// Takes what arrives, so that nothing answers that the port is closed; it is never read. Must run in the namespace of
/// instance B.
pub(crate) fn sink() -> Result<UdpSocket, String> {
    let address = format!("{}:{PORT}", INSTANCE_B[0]);
    UdpSocket::bind(&address).map_err(|error| format!("{address}: {error}"))
}

fn rate(bed: &Bed, above: &[Outcome], below: &[Outcome]) -> Option<Figure> {
    let middle = |outcomes: &[Outcome], value: fn(&Outcome) -> f64| {
        median(&outcomes.iter().map(value).collect::<Vec<f64>>()).unwrap_or_default()
    };
    let (key, daemons) = if bed.is_distributed() {
        ("cps/new-flows-grpc-per-s", "cats-engined of the ingress and of the C-PS, both on CPU 1")
    } else {
        ("cps/new-flows-per-s", "cats-engined on CPU 1")
    };
    let note = format!(
        "UDP flows of one datagram each; those whose datagram reached the instance, a second of CPU time of {daemons} \
         (re-injected packets' way to the instance included), at {} new flows a second offered; of wall time \
         {:.0} a second, {:.0} % of those offered. At {BELOW} offered: {:.0} a second of CPU time, {:.1} % bound",
        above_of(bed),
        middle(above, |o| o.per_wall),
        100.0 * middle(above, |o| o.share),
        middle(below, |o| o.per_cpu),
        100.0 * middle(below, |o| o.share),
    );
    let runs = above.iter().map(|outcome| outcome.per_cpu).collect();
    Some(Figure::of(key, "1/s", Better::Higher, runs)?.note(note))
}

fn above_of(bed: &Bed) -> u32 {
    if bed.is_distributed() { ABOVE_GRPC } else { ABOVE }
}

/// Sends flows that were not there before.
fn round(bed: &Bed, rate: u32, next: &mut u32) -> Result<Outcome, String> {
    let before = (bed.cpu_seconds()?, bed.arrived()?);
    let first = *next;
    let sent = bed.client().enter(|| send(first, rate, DURATION)).map_err(|error| error.to_string())??;
    *next += sent;
    let at_end = bed.arrived()?;
    let arrived = settled(bed)?;
    let cpu = bed.cpu_seconds()? - before.0;
    #[allow(clippy::cast_precision_loss)] // far below 2^52
    let flows = |arrived: u64| arrived.saturating_sub(before.1) as f64;
    let bound = flows(arrived);
    if bound < 100.0 {
        return Err(format!("{bound} of {sent} flows were bound"));
    }
    Ok(Outcome {
        per_cpu: bound / cpu,
        per_wall: flows(at_end) / DURATION.as_secs_f64(),
        share: bound / f64::from(sent),
    })
}

/// Arrivals, once there are no more.
fn settled(bed: &Bed) -> Result<u64, String> {
    let mut last = bed.arrived()?;
    loop {
        std::thread::sleep(QUIET);
        let now = bed.arrived()?;
        if now == last {
            return Ok(now);
        }
        last = now;
    }
}

/// Sends the first datagrams of flows from `first` on; how many. Must run in the client's namespace.
pub(crate) fn send(first: u32, rate: u32, duration: Duration) -> Result<u32, String> {
    pin(None, 0)?;
    let told = |error: std::io::Error| format!("sending flows: {error}");
    let service: Ipv4Addr = SERVICE[0].parse().map_err(|error| format!("{}: {error}", SERVICE[0]))?;
    // Raw, so that a flow costs a packet and no socket.
    let socket = Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::from(255))).map_err(told)?;
    socket.set_header_included_v4(true).map_err(told)?;
    let to = SockAddr::from(SocketAddrV4::new(service, 0));
    let begin = Instant::now();
    let mut sent = 0;
    while begin.elapsed() < duration {
        let millis = u64::try_from(begin.elapsed().as_millis()).unwrap_or(u64::MAX);
        let due = u32::try_from(millis.saturating_mul(u64::from(rate / 1000))).unwrap_or(u32::MAX);
        while sent < due {
            socket.send_to(&datagram(first + sent, service), &to).map_err(told)?;
            sent += 1;
        }
        std::thread::sleep(PERIOD);
    }
    Ok(sent)
}

/// An IPv4 packet with a UDP datagram; the kernel fills in length, identification and checksum of the header.
fn datagram(flow: u32, service: Ipv4Addr) -> [u8; 46] {
    let client = Ipv4Addr::from_bits(FIRST_CLIENT.to_bits() + flow / PORTS);
    // Below 32768 + 1024.
    let port = u16::try_from(FIRST_PORT + flow % PORTS).unwrap_or(0);
    let mut packet = [0; 46];
    let header = [0x45, 0, 0, 46, 0, 0, 0x40, 0, 64, 17, 0, 0];
    let parts: [&[u8]; 6] = [
        &header,
        &client.octets(),
        &service.octets(),
        &port.to_be_bytes(),
        &PORT.to_be_bytes(),
        &[0, 26, 0, 0],
    ];
    for (place, octet) in packet.iter_mut().zip(parts.concat()) {
        *place = octet;
    }
    packet
}
