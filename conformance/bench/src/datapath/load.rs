//! The load: frames of random flows out of the kernel's own test-run facility, and the sink that drops them.

use super::rig::{Ends, Rig};
use libbpf_rs::{Map, MapCore, MapFlags, Object, ObjectBuilder, ProgramInput, ProgramMut};
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Source of the two programs; built when the benchmark runs, so that nothing else needs clang.
const SOURCE: &str = include_str!("../../bpf/load.bpf.c");
/// `BPF_F_TEST_XDP_LIVE_FRAMES`.
const LIVE_FRAMES: u32 = 1 << 1;
/// Frames a call; a call ends after them.
const FRAMES_A_CALL: u32 = 1 << 16;

/// Length of the program's copy of the headers.
const HEADERS: usize = 44;

/// Octets of a frame that the sink keeps.
pub(super) const SAMPLE: usize = 122;

/// Ports that a client uses; its address counts up beyond them.
const PORTS: u32 = 16384;

/// The source of a flow of the load.
pub(super) fn client(flow: u32) -> SocketAddrV4 {
    let address = Ipv4Addr::from_bits(Rig::FIRST_CLIENT.to_bits().wrapping_add(flow / PORTS));
    // Below 16384 + 1024.
    let port = u16::try_from(flow % PORTS).unwrap_or(0);
    SocketAddrV4::new(address, Rig::FIRST_PORT + port)
}

/// What is sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Traffic {
    /// So many flows, each packet of one at random.
    pub(super) flows: u32,
    /// Destination address of all packets.
    pub(super) destination: Ipv4Addr,
    /// UDP destination port of all packets.
    pub(super) port: u16,
}

/// The loaded programs.
pub(super) struct Load {
    object: Object,
}

impl Load {
    /// Builds and loads both programs.
    pub(super) fn open() -> Result<Self, String> {
        let bytes = compile()?;
        let open = ObjectBuilder::default()
            .open_memory(&bytes)
            .map_err(|error| format!("opening the load: {error}"))?;
        let object = open.load().map_err(|error| format!("loading the load: {error}"))?;
        Ok(Self { object })
    }

    /// Puts the sink on the link.
    pub(super) fn attach_sink(&mut self, ifindex: u32) -> Result<libbpf_rs::Link, String> {
        let index = i32::try_from(ifindex).map_err(|error| error.to_string())?;
        self.program("sink")?.attach_xdp(index).map_err(|error| format!("attaching the sink: {error}"))
    }

    /// Sends the traffic for about `duration`. Must run in the namespace of the sending link.
    pub(super) fn send(&mut self, ends: Ends, traffic: Traffic, duration: Duration) -> Result<(), String> {
        let frame = frame(ends, traffic);
        self.set(ends, traffic.flows, &frame)?;
        let end = Instant::now() + duration;
        let program = self.program("generate")?;
        while Instant::now() < end {
            let mut context = context(frame.len(), ends.sender);
            let input = ProgramInput {
                context_in: Some(&mut context),
                data_in: Some(&frame),
                flags: LIVE_FRAMES,
                repeat: FRAMES_A_CALL,
                ..ProgramInput::default()
            };
            program.test_run(input).map_err(|error| format!("sending frames: {error}"))?;
        }
        Ok(())
    }

    /// A frame that arrives at the sink from now on, its first octets; none if none has come yet.
    pub(super) fn sample(&self) -> Result<Option<Vec<u8>>, String> {
        let value = self.map("samples")?.lookup(&0u32.to_ne_bytes(), MapFlags::ANY);
        let value = value.map_err(|error| format!("reading the sample: {error}"))?.unwrap_or_default();
        let octets = value.get(4..4 + SAMPLE).filter(|_| value.iter().take(4).any(|octet| *octet != 0));
        Ok(octets.map(<[u8]>::to_vec))
    }

    /// Has the sink keep the next frame.
    pub(super) fn forget_sample(&self) -> Result<(), String> {
        let empty = vec![0; (4 + SAMPLE).next_multiple_of(4)];
        let updated = self.map("samples")?.update(&0u32.to_ne_bytes(), &empty, MapFlags::ANY);
        updated.map_err(|error| format!("emptying the sample: {error}"))
    }

    fn map(&self, name: &str) -> Result<Map<'_>, String> {
        let found = self.object.maps().find(|map| map.name() == name);
        found.ok_or_else(|| format!("the load has no map `{name}`"))
    }

    fn set(&self, ends: Ends, flows: u32, frame: &[u8]) -> Result<(), String> {
        let map = self.map("settings")?;
        let mut value = Vec::with_capacity(16 + HEADERS);
        for word in [flows, ends.sender, u32::from(Rig::FIRST_CLIENT), u32::from(Rig::FIRST_PORT)] {
            value.extend_from_slice(&word.to_ne_bytes());
        }
        value.extend(frame.iter().take(HEADERS));
        map.update(&0u32.to_ne_bytes(), &value, MapFlags::ANY)
            .map_err(|error| format!("setting the load: {error}"))
    }

    fn program(&mut self, name: &str) -> Result<ProgramMut<'_>, String> {
        let found = self.object.progs_mut().find(|program| program.name() == name);
        found.ok_or_else(|| format!("the load has no program `{name}`"))
    }
}

/// `struct xdp_md` of a frame of that length that came in by that link.
fn context(length: usize, ifindex: u32) -> Vec<u8> {
    let length = u32::try_from(length).unwrap_or(u32::MAX);
    [0, length, 0, ifindex, 0, 0].iter().flat_map(|word: &u32| word.to_ne_bytes()).collect()
}

/// A 60-octet UDP frame for the receiving link.
fn frame(ends: Ends, traffic: Traffic) -> Vec<u8> {
    let mut frame = Vec::with_capacity(60);
    frame.extend_from_slice(&ends.receiver_mac);
    frame.extend_from_slice(&ends.sender_mac);
    frame.extend_from_slice(&[0x08, 0x00]);
    // Version and length, then total length 46; identification and checksum are filled in by the program or stay 0.
    frame.extend_from_slice(&[0x45, 0, 0, 46, 0, 0, 0x40, 0, 64, 17, 0, 0]);
    frame.extend_from_slice(&Rig::FIRST_CLIENT.octets());
    frame.extend_from_slice(&traffic.destination.octets());
    frame.extend_from_slice(&Rig::FIRST_PORT.to_be_bytes());
    frame.extend_from_slice(&traffic.port.to_be_bytes());
    frame.extend_from_slice(&[0, 26, 0, 0]);
    frame.resize(60, 0);
    frame
}

fn compile() -> Result<Vec<u8>, String> {
    let mut clang = Command::new("clang");
    clang.args(["-O2", "-g", "-target", "bpf", "-x", "c", "-"]);
    clang.arg(format!("-I/usr/include/{}-linux-gnu", std::env::consts::ARCH));
    clang.args(["-c", "-o", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let missing = |error: std::io::Error| format!("cannot run clang: {error}; install clang and libbpf-dev");
    let mut child = clang.spawn().map_err(missing)?;
    let mut input = child.stdin.take().ok_or("clang has no standard input")?;
    input.write_all(SOURCE.as_bytes()).map_err(missing)?;
    drop(input);
    let output = child.wait_with_output().map_err(missing)?;
    if !output.status.success() {
        return Err(format!("clang refuses the load: {}", String::from_utf8_lossy(&output.stderr)));
    }
    Ok(output.stdout)
}
