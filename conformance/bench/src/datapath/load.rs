//! The load: frames of random flows out of the kernel's own test-run facility, and the sink that drops them.

use super::rig::Rig;
use libbpf_rs::{MapCore, MapFlags, Object, ObjectBuilder, ProgramInput, ProgramMut};
use std::io::Write;
use std::net::Ipv4Addr;
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
    pub(super) fn send(&mut self, rig: &Rig, traffic: Traffic, duration: Duration) -> Result<(), String> {
        let frame = frame(rig, traffic);
        self.set(rig, traffic.flows, &frame)?;
        let end = Instant::now() + duration;
        let program = self.program("generate")?;
        while Instant::now() < end {
            let mut context = context(frame.len(), rig.sender);
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

    fn set(&self, rig: &Rig, flows: u32, frame: &[u8]) -> Result<(), String> {
        let map = self
            .object
            .maps()
            .find(|map| map.name() == "settings")
            .ok_or("the load has no map `settings`")?;
        let mut value = Vec::with_capacity(16 + HEADERS);
        for word in [flows, rig.sender, u32::from(Rig::FIRST_CLIENT), u32::from(Rig::FIRST_PORT)] {
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
fn frame(rig: &Rig, traffic: Traffic) -> Vec<u8> {
    let mut frame = Vec::with_capacity(60);
    frame.extend_from_slice(&rig.receiver_mac);
    frame.extend_from_slice(&rig.sender_mac);
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
