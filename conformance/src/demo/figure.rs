//! The four captures, read with tshark and set beside the document's Figure 4.

use super::{CLIENT_PORT, check};
use crate::Result;
use crate::capture::{Capture, Direction, read};
use crate::deployment::FourNodes;
use crate::layout::{CLIENT, EGRESS_B, INGRESS, INSTANCE_A, INSTANCE_B, SERVICE, TRANSIT_SEGMENT, link};
use crate::service::PORT;
use crate::wait::wait_for;
use std::path::{Path, PathBuf};

/// The running captures of the client, the core, the instance and the way back.
#[derive(Debug)]
pub(super) struct Captures {
    running: [Capture; 4],
}

/// What the document says about a packet and what was captured.
#[derive(Debug)]
pub(super) struct Step {
    title: &'static str,
    file: PathBuf,
    /// The lines of what the document says: the packet, and the header around it.
    expected: [String; 2],
    found: Vec<Packet>,
    holds: bool,
}

/// A captured packet: outer header first, if there is one.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Packet {
    outer: Option<Outer>,
    source: String,
    destination: String,
    checksums_good: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Outer {
    source: String,
    destination: String,
    segments: String,
}

impl Captures {
    /// Starts the four captures: at the client, on the core link into EF-2, at instance B, and at IF-1 on return.
    pub(super) fn start(deployment: &FourNodes, folder: &Path) -> Result<Captures> {
        let hosts = &deployment.hosts;
        let both = Direction::Both;
        let file = |name: &str| folder.join(format!("{name}.pcap"));
        let running = [
            Capture::start(&hosts.client, link::HOST, both, "ip or ip6", &file("client"))?,
            Capture::start(&hosts.transit, link::TRANSIT[2], Direction::Out, "ip6", &file("core"))?,
            Capture::start(&hosts.instances[1], link::HOST, both, "ip or ip6", &file("instance"))?,
            Capture::start(&hosts.ingress, link::CORE, Direction::In, "ip6", &file("return"))?,
        ];
        Ok(Captures { running })
    }

    /// Waits until the end of the connection is in every file, ends the captures and reads them.
    pub(super) fn finish(self, family: usize) -> Result<Vec<Step>> {
        for capture in &self.running {
            let what = format!("the end of the connection in {}", capture.file().display());
            wait_for(&what, || {
                capture.so_far("tcp.flags.fin == 1", &["frame.number"]).ok().filter(|p| !p.is_empty())
            })?;
        }
        let [client, core, instance, back] = self.running;
        let files = [client.stop()?, core.stop()?, instance.stop()?, back.stop()?];
        steps(&files, family)
    }
}

fn steps(files: &[PathBuf; 4], family: usize) -> Result<Vec<Step>> {
    let [client, core, instance, back] = files;
    let at = |address: &str, port: u16| {
        if address.contains(':') { format!("[{address}]:{port}") } else { format!("{address}:{port}") }
    };
    let (us, service) = (at(CLIENT[family], CLIENT_PORT), at(SERVICE[family], PORT));
    let selected = at(INSTANCE_B[family], PORT);
    let segment = |v4, v6| if family == 0 { v4 } else { v6 };
    let egress = segment(EGRESS_B.segment_v4, EGRESS_B.segment_v6);
    let ingress = segment(INGRESS.segment_v4, INGRESS.segment_v6);
    let client_seen = packets(client, family)?;
    let (sent, delivered): (Vec<Packet>, Vec<Packet>) = client_seen.into_iter().partition(|p| p.source == us);
    let step = |title, file: &Path, found: Vec<Packet>, from: &str, to: &str, outer: Option<[&str; 2]>| {
        let holds = !found.is_empty() && found.iter().all(|p| p.is(from, to, outer));
        let outer = outer.map_or(String::new(), |[_, to]| format!("[outer header toward {to}]"));
        Step { title, file: file.to_path_buf(), expected: [format!("{from} -> {to}"), outer], found, holds }
    };
    let instance_seen = packets(instance, family)?;
    let at_instance: Vec<Packet> = instance_seen.into_iter().filter(|p| p.source == us).collect();
    Ok(vec![
        step("client-facing packet", client, sent, &us, &service, None),
        step(
            "after ingress steering",
            core,
            packets(core, family)?,
            &us,
            &selected,
            Some([INGRESS.underlay, egress]),
        ),
        step("delivered to the instance", instance, at_instance, &us, &selected, None),
        step(
            "return before reverse processing",
            back,
            packets(back, family)?,
            &selected,
            &us,
            Some([EGRESS_B.underlay, ingress]),
        ),
        step("delivered to the client", client, delivered, &service, &us, None),
    ])
}

impl Packet {
    fn is(&self, from: &str, to: &str, outer: Option<[&str; 2]>) -> bool {
        let addresses = self.source == from && self.destination == to;
        let carried = match (&self.outer, outer) {
            (None, None) => true,
            // On its way it is addressed to the transit node's segment or, after it, to the last one.
            (Some(found), Some([source, last])) => {
                found.source == source
                    && (found.destination == last
                        || (found.destination == TRANSIT_SEGMENT && found.segments.contains(last)))
            }
            (Some(_), None) | (None, Some(_)) => false,
        };
        addresses && carried && self.checksums_good
    }

    /// The packet, and the header around it.
    fn lines(&self) -> [String; 2] {
        let outer = self.outer.as_ref().map_or(String::new(), |outer| {
            let segments =
                if outer.segments.is_empty() { String::new() } else { format!(", SRH {}", outer.segments) };
            format!("[outer {} -> {}{segments}]", outer.source, outer.destination)
        });
        let wrong = if self.checksums_good { "" } else { ", wrong checksum" };
        [format!("{} -> {}{wrong}", self.source, self.destination), outer]
    }
}

/// The example's TCP packets in a capture.
fn packets(file: &Path, family: usize) -> Result<Vec<Packet>> {
    let filter = format!("tcp.port == {CLIENT_PORT} && tcp.port == {PORT} && !icmp && !icmpv6");
    let fields = [
        "ip.src",
        "ip.dst",
        "ipv6.src",
        "ipv6.dst",
        "tcp.srcport",
        "tcp.dstport",
        "tcp.checksum.status",
        "ip.checksum.status",
        "ipv6.routing.srh.addr",
    ];
    let mut found = Vec::new();
    for values in read(file, &filter, &fields)? {
        let value = |index: usize| values.get(index).map(String::as_str).unwrap_or_default();
        let first = |list: &str| list.split(',').next().unwrap_or_default().to_owned();
        let last = |list: &str| list.rsplit(',').next().unwrap_or_default().to_owned();
        let encapsulated = value(2).split(',').filter(|a| !a.is_empty()).count() > family;
        let outer = encapsulated.then(|| Outer {
            source: first(value(2)),
            destination: first(value(3)),
            segments: value(8).to_owned(),
        });
        let (source, destination) = if family == 0 {
            (value(0).to_owned(), value(1).to_owned())
        } else {
            (last(value(2)), last(value(3)))
        };
        let name = |address: String, port: &str| {
            if family == 0 { format!("{address}:{port}") } else { format!("[{address}]:{port}") }
        };
        found.push(Packet {
            outer,
            source: name(source, value(4)),
            destination: name(destination, value(5)),
            checksums_good: value(6) == "1"
                && (family == 1 || value(7).split(',').all(|status| status == "1")),
        });
    }
    Ok(found)
}

/// Prints the captures beside the document, and gives how many checks failed.
pub(super) fn print(steps: &[Step]) -> usize {
    let mut failures = 0;
    println!("Figure 4 of the control-plane document, and what was captured:\n");
    let row = |cells: [&str; 5]| {
        let [title, file, expected, captured, verdict] = cells;
        println!("  {title:<34} {file:<24} {expected:<46} {captured:<70} {verdict}");
    };
    row(["packet", "capture", "document", "captured", ""]);
    for step in steps {
        let name = step.file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let file = format!("{name}, {} packets", step.found.len());
        let mut captured: Vec<[String; 2]> = step.found.iter().map(Packet::lines).collect();
        captured.dedup();
        let first = captured.first().cloned().unwrap_or_else(|| ["nothing".to_owned(), String::new()]);
        let verdict = if step.holds { "equal" } else { "NOT EQUAL" };
        row([step.title, &file, &step.expected[0], &first[0], verdict]);
        if !(step.expected[1].is_empty() && first[1].is_empty()) {
            row(["", "", &step.expected[1], &first[1], ""]);
        }
        for [packet, outer] in captured.iter().skip(1) {
            row(["", "", "", packet, ""]);
            row(["", "", "", outer, ""]);
        }
        failures += usize::from(!step.holds);
    }
    println!();
    let inner = |p: &Packet| INSTANCE_A.iter().chain(&INSTANCE_B).any(|a| p.source.contains(a));
    let leaked = steps.iter().filter(|s| s.title.ends_with("the client")).flat_map(|s| &s.found).any(inner);
    failures + check(!leaked, "the client saw no address of an instance")
}
