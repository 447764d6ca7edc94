//! What passes an interface, by tcpdump: it copies each packet as it passes, where a plain packet socket would
//! share it with a kernel that rewrites segment lists in place.

use super::{Space, wait_for};
use std::io::{BufRead, BufReader, Read};
use std::net::Ipv6Addr;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// IP packets that passed an interface, in and out, without their Ethernet header.
pub struct Capture {
    packets: Arc<Mutex<Vec<Vec<u8>>>>,
    tcpdump: Child,
    thread: Option<JoinHandle<()>>,
}

impl Capture {
    /// Starts on an interface of a namespace.
    pub fn start(space: &Space, interface: &str) -> Self {
        let mut tcpdump = Command::new("ip")
            .args(["netns", "exec", &space.name, "tcpdump", "--immediate-mode", "-n", "-U", "-w", "-"])
            // Room for what passes while a busy machine lets it wait; and no ARP.
            .args(["-B", "16384", "-i", interface, "ip or ip6"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(tcpdump.stderr.take().unwrap());
        let mut line = String::new();
        while !line.contains("listening on") {
            line.clear();
            assert_ne!(said.read_line(&mut line).unwrap(), 0, "tcpdump ended");
        }
        let packets = Arc::new(Mutex::new(Vec::new()));
        let into = packets.clone();
        let mut stream = tcpdump.stdout.take().unwrap();
        let thread = std::thread::spawn(move || {
            let mut head = [0; 24];
            if stream.read_exact(&mut head).is_err() {
                return;
            }
            let mut record = [0; 16];
            while stream.read_exact(&mut record).is_ok() {
                let length = u32::from_le_bytes(record[8..12].try_into().unwrap());
                let mut frame = vec![0; length as usize];
                if stream.read_exact(&mut frame).is_ok() {
                    into.lock().unwrap().push(frame[14..].to_vec());
                }
            }
        });
        Self { packets, tcpdump, thread: Some(thread) }
    }

    /// The first packet that fulfils a condition, once there is one.
    pub fn find(&self, what: &str, condition: impl Fn(&[u8]) -> bool) -> Vec<u8> {
        let mut found = None;
        wait_for(what, || {
            found = self.packets.lock().unwrap().iter().find(|packet| condition(packet)).cloned();
            found.is_some()
        });
        found.unwrap()
    }

    pub fn all(&self) -> Vec<Vec<u8>> {
        self.packets.lock().unwrap().clone()
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        let _ = self.tcpdump.kill();
        let _ = self.tcpdump.wait();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// An outer IPv6 packet with the segments left and the inner packet.
pub struct Srv6 {
    pub source: Ipv6Addr,
    pub destination: Ipv6Addr,
    pub hop_limit: u8,
    pub segments_left: Option<u8>,
    pub inner: Vec<u8>,
}

/// Reads an encapsulated packet.
pub fn srv6(packet: &[u8]) -> Option<Srv6> {
    if packet[0] >> 4 != 6 {
        return None;
    }
    let address = |at: usize| Ipv6Addr::from(<[u8; 16]>::try_from(&packet[at..at + 16]).unwrap());
    let (next, at, segments_left) = match packet[6] {
        43 => (packet[40], 40 + (usize::from(packet[41]) + 1) * 8, Some(packet[43])),
        next => (next, 40, None),
    };
    matches!(next, 4 | 41).then(|| Srv6 {
        source: address(8),
        destination: address(24),
        hop_limit: packet[7],
        segments_left,
        inner: packet[at..].to_vec(),
    })
}
