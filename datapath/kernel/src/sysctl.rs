//! Kernel parameters of the calling thread's network namespace.

use std::fs;
use std::io;

/// Sets a parameter below `/proc/sys/net`, unless it has the value already.
pub(crate) fn set(name: &str, value: &str) -> io::Result<()> {
    if get(name).is_some_and(|found| found == value) {
        return Ok(());
    }
    let context = |error: io::Error| io::Error::new(error.kind(), format!("sysctl net/{name}: {error}"));
    fs::write(format!("/proc/sys/net/{name}"), value).map_err(context)
}

/// The value of a parameter.
pub(crate) fn get(name: &str) -> Option<String> {
    let value = fs::read_to_string(format!("/proc/sys/net/{name}")).ok()?;
    Some(value.trim().to_owned())
}
