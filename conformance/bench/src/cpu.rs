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

/// Keeps all threads of a process on one CPU, and those that they start.
pub(crate) fn pin_process(process: u32, cpu: usize) -> Result<(), String> {
    threads(process)?.into_iter().try_for_each(|thread| pin(Pid::from_raw(thread), cpu))
}

/// The threads of a process.
pub(crate) fn threads(process: u32) -> Result<Vec<i32>, String> {
    let folder = format!("/proc/{process}/task");
    let entries = fs::read_dir(&folder).map_err(|error| format!("{folder}: {error}"))?;
    Ok(entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect())
}

/// CPU time that all threads of a process have had, ns.
pub(crate) fn of_process(process: u32) -> Result<u64, String> {
    let of_thread = |thread| nanos(&format!("/proc/{process}/task/{thread}/schedstat"));
    threads(process)?.into_iter().map(of_thread).sum()
}

/// CPU time of a thread by its file `schedstat`, ns.
pub(crate) fn nanos(file: &str) -> Result<u64, String> {
    let text = fs::read_to_string(file).map_err(|error| format!("cannot read {file}: {error}"))?;
    let first = text.split_whitespace().next().and_then(|word| word.parse().ok());
    first.ok_or_else(|| format!("{file} has no number"))
}
