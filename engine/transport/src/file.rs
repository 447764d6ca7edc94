//! Files of keys, certificates and revocation lists, which operators put where the configuration says.

use rustix::fs::OFlags;
use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Octets of a file at most: a revocation list of some 400,000 certificates.
const LARGEST: u64 = 16 << 20;

/// The content of a plain file and of nothing else: to open a pipe waits for its other end, and a device may never end.
pub(crate) fn read(file: &Path) -> io::Result<Vec<u8>> {
    read_up_to(file, LARGEST)
}

/// The same, of no more than so many octets.
pub(crate) fn read_up_to(file: &Path, most: u64) -> io::Result<Vec<u8>> {
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(file)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no plain file"));
    }
    let mut octets = Vec::new();
    // What it grows by meanwhile counts too.
    file.take(most.saturating_add(1)).read_to_end(&mut octets)?;
    if octets.len() as u64 > most {
        return Err(io::Error::other(format!("it has more than {most} octets")));
    }
    Ok(octets)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a failed set-up is a failed test

    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_pipe_a_directory_or_a_device_in_place_of_a_file_is_refused_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("file"), "octets").unwrap();
        symlink(at("file"), at("link")).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
        for good in ["file", "link"] {
            assert_eq!(read(&at(good)).unwrap(), b"octets", "{good}");
        }
        for bad in [at("pipe"), dir.path().to_owned(), "/dev/zero".into()] {
            let error = read(&bad).unwrap_err().to_string();
            assert!(error.contains("no plain file"), "{}: {error}", bad.display());
        }
        assert_eq!(read(&at("none")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_file_has_so_many_octets_and_no_more() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        std::fs::write(&file, "12345").unwrap();
        assert_eq!(read_up_to(&file, 5).unwrap(), b"12345");
        assert!(read_up_to(&file, 4).unwrap_err().to_string().contains("more than 4 octets"));
    }
}
