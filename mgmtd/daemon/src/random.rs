//! Random bytes from the system.

use std::fs::File;
use std::io::{self, Read};

/// So many of them.
///
/// # Errors
/// What the system says.
pub(crate) fn bytes<const COUNT: usize>() -> io::Result<[u8; COUNT]> {
    let mut bytes = [0; COUNT];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}
