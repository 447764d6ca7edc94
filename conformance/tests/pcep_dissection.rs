//! What we send over PCEP, judged by somebody else's dissector. `pcep-sent.txt` has one message of a kind, and a test of
//! `pcep/core` keeps it what we really send.

use cats_conformance::capture::read;
use cats_conformance::{LabError, Result};
use std::path::PathBuf;

const SENT: &str = include_str!("../pcep-sent.txt");

const PORT: u16 = 4189;

/// The names of the messages with their bytes.
fn messages() -> Vec<(&'static str, Vec<u8>)> {
    let lines = SENT.lines().filter_map(|line| line.split_once(' '));
    let octet = |pair: &[u8]| {
        let pair = std::str::from_utf8(pair).expect("a digit is ASCII");
        u8::from_str_radix(pair, 16).expect("two hexadecimal digits")
    };
    lines.map(|(name, digits)| (name, digits.as_bytes().chunks(2).map(octet).collect())).collect()
}

/// A packet with one message of a connection.
fn packet(message: &[u8], sequence: u32) -> Vec<u8> {
    let length = u16::try_from(40 + message.len()).expect("a message fits into a packet");
    let ethernet = [&[2; 12][..], &[0x08, 0x00]].concat();
    let mut ip = vec![0x45, 0];
    ip.extend(length.to_be_bytes());
    ip.extend([0, 1, 0, 0, 64, 6, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2]);
    let mut tcp: Vec<u8> = [40_000_u16.to_be_bytes(), PORT.to_be_bytes()].concat();
    tcp.extend([sequence.to_be_bytes(), 0_u32.to_be_bytes()].concat());
    tcp.extend([0x50, 0x18, 0xff, 0xff, 0, 0, 0, 0]);
    [ethernet, ip, tcp, message.to_vec()].concat()
}

/// A capture of all messages, one a packet.
fn capture() -> Result<PathBuf> {
    let mut file: Vec<u8> = Vec::new();
    file.extend(0xa1b2_c3d4_u32.to_le_bytes());
    file.extend([2, 0, 4, 0]);
    file.extend([0; 8]);
    file.extend([65_535_u32.to_le_bytes(), 1_u32.to_le_bytes()].concat());
    let mut sequence = 1;
    for (_, message) in messages() {
        let packet = packet(&message, sequence);
        let length = u32::try_from(packet.len()).expect("a packet is short").to_le_bytes();
        file.extend([0; 8]);
        file.extend([length, length].concat());
        file.extend(packet);
        sequence += u32::try_from(message.len()).expect("a message is short");
    }
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("pcep-sent.pcap");
    std::fs::write(&path, file).map_err(|error| LabError::new("writing a capture", error.to_string()))?;
    Ok(path)
}

/// Proves CP-8: no message that we send is malformed to Wireshark. What its version does not know, it says.
#[test]
fn a_dissector_finds_nothing_malformed_in_what_we_send() -> Result<()> {
    let rows = read(&capture()?, "tcp", &["pcep.msg", "_ws.malformed", "_ws.expert.message"])?;
    let messages = messages();
    assert_eq!(rows.len(), messages.len());
    for ((name, bytes), row) in messages.iter().zip(rows) {
        let [kind, malformed, expert] = &row[..] else { panic!("{name}: {row:?}") };
        assert_eq!(kind, &bytes[1].to_string(), "{name}");
        assert_eq!(malformed, "", "{name}");
        // The packets around the messages have no checksums.
        let mut found = expert.split(',').filter(|found| !found.starts_with("Bad checksum"));
        assert!(!found.any(|found| found.contains("Bad") || found.contains("length")), "{name}: {expert}");
    }
    Ok(())
}
