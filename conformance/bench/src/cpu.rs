//! CPUs and CPU time of threads.

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_setaffinity};
use std::fs;

/// Keeps a thread (none: the calling one) on one CPU.
pub(crate) fn pin(thread: Option<Pid>, cpu: usize) -> Result<(), String> {
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(thread, &set).map_err(|error| format!("pinning to CPU {cpu}: {error}"))
}

/// CPU time of a thread by its file `schedstat`, ns.
pub(crate) fn nanos(file: &str) -> Result<u64, String> {
    let text = fs::read_to_string(file).map_err(|error| format!("cannot read {file}: {error}"))?;
    let first = text.split_whitespace().next().and_then(|word| word.parse().ok());
    first.ok_or_else(|| format!("{file} has no number"))
}
