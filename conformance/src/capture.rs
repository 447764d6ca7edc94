//! Captures: tcpdump writes the packets of one interface to a file, tshark reads them.

use crate::command::{Background, run};
use crate::namespace::Namespace;
use crate::{LabError, Result};
use rustix::process::Signal;
use std::path::{Path, PathBuf};

/// What the kernel keeps for tcpdump, in KiB. Its default is a few dozen full-size frames, and on a busy machine
/// tcpdump runs late: what a test waits for would be among the lost ones.
const BUFFER_KIB: &str = "16384";

/// Which packets of an interface are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Those that arrive and those that leave.
    Both,
    /// Those that arrive.
    In,
    /// Those that leave.
    Out,
}

/// A running capture.
#[derive(Debug)]
pub struct Capture {
    tcpdump: Background,
    file: PathBuf,
}

impl Capture {
    /// Starts capturing on `link` into `file` (pcap), and returns once packets are seen. `filter` is a pcap filter.
    pub fn start(
        host: &Namespace,
        link: &str,
        direction: Direction,
        filter: &str,
        file: &Path,
    ) -> Result<Capture> {
        let mut command = host.command("tcpdump");
        // Without a user to change to, tcpdump keeps the rights to write where the lab says.
        command.args([
            "-Z",
            "root",
            "--immediate-mode",
            "-U",
            "-n",
            "-s",
            "0",
            "-B",
            BUFFER_KIB,
            "-i",
            link,
            "-w",
        ]);
        command.arg(file);
        match direction {
            Direction::Both => {}
            Direction::In => drop(command.args(["-Q", "in"])),
            Direction::Out => drop(command.args(["-Q", "out"])),
        }
        command.arg(filter);
        let log = file.with_extension("tcpdump.log");
        let _ = std::fs::remove_file(&log);
        let mut tcpdump = Background::start(&format!("tcpdump on {link}"), command, &log)?;
        tcpdump.wait_until("listening", || {
            std::fs::read_to_string(&log).is_ok_and(|text| text.contains("listening on"))
        })?;
        Ok(Capture { tcpdump, file: file.to_path_buf() })
    }

    /// Ends the capture and gives its file.
    pub fn stop(self) -> Result<PathBuf> {
        self.tcpdump.stop(Signal::INT)?;
        Ok(self.file)
    }

    /// Where the packets go.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The packets so far that match a display filter.
    pub fn so_far(&self, filter: &str, fields: &[&str]) -> Result<Vec<Vec<String>>> {
        read(&self.file, filter, fields)
    }
}

/// Reads a capture with tshark: for each packet that matches the display filter, the values of `fields`. Where a
/// field occurs several times in a packet its values are joined by commas, the outer header's first.
pub fn read(file: &Path, filter: &str, fields: &[&str]) -> Result<Vec<Vec<String>>> {
    let name = file.display().to_string();
    let mut args =
        vec!["-n", "-r", &name, "-Y", filter, "-T", "fields", "-E", "separator=/t", "-E", "occurrence=a"];
    // Checksums are worked out, and relative sequence numbers are not.
    args.extend([
        "-o",
        "ip.check_checksum:TRUE",
        "-o",
        "tcp.check_checksum:TRUE",
        "-o",
        "udp.check_checksum:TRUE",
    ]);
    args.extend(["-o", "tcp.relative_sequence_numbers:FALSE"]);
    for field in fields {
        args.extend(["-e", field]);
    }
    let text = run("tshark", &args)?;
    text.lines()
        .map(|line| {
            let values: Vec<String> = line.split('\t').map(str::to_owned).collect();
            if values.len() == fields.len() {
                Ok(values)
            } else {
                Err(LabError::new(format!("reading {name}"), format!("tshark printed {line:?}")))
            }
        })
        .collect()
}
