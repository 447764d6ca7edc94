//! Many sessions that edit and commit at once, the same on both sides.

use super::endpoint::{Client, Endpoint};
use super::load;
use super::rig::{CLIENT_CPU, SERVER_CPU};
use cats_conformance::{LabError, Result};
use std::time::{Duration, Instant};

/// Sessions of a side.
pub(super) const SESSIONS: usize = 16;
/// How long a round lasts.
const DURATION: Duration = Duration::from_millis(1_000);

/// The sessions of both sides, and how busy the CPUs were while each worked.
pub(super) struct Crowd {
    clients: [Vec<Client>; 2],
    busy: [Vec<[f64; 2]>; 2],
}

impl Crowd {
    pub(super) fn connect(ends: [&Endpoint; 2]) -> Result<Crowd> {
        let of = |end: &Endpoint| {
            (0..SESSIONS).map(|_| end.connect().map(Client::settle)).collect::<Result<Vec<_>>>()
        };
        Ok(Crowd { clients: [of(ends[0])?, of(ends[1])?], busy: [Vec::new(), Vec::new()] })
    }

    /// Seconds a pair: each session edits a leaf of its own and commits, one after the other, all at once.
    pub(super) fn pairs(&mut self, side: usize, round: usize) -> Result<f64> {
        let (before, begin) = ([idle(CLIENT_CPU)?, idle(SERVER_CPU)?], Instant::now());
        let counts = std::thread::scope(|scope| {
            let work = |(at, client)| scope.spawn(move || session(client, at, round, begin));
            let threads: Vec<_> = self.clients[side].iter_mut().enumerate().map(work).collect();
            let ended = threads.into_iter().map(|thread| {
                thread.join().map_err(|_| LabError::new("editing and committing", "a client panicked"))?
            });
            ended.collect::<Result<Vec<u32>>>()
        })?;
        let taken = begin.elapsed().as_secs_f64();
        let after = [idle(CLIENT_CPU)?, idle(SERVER_CPU)?];
        let share = |cpu: usize| (1.0 - (after[cpu] - before[cpu]) / taken).clamp(0.0, 1.0);
        self.busy[side].push([share(0), share(1)]);
        Ok(taken / f64::from(counts.iter().sum::<u32>()))
    }

    /// How busy the clients' and the server's CPU were, on the average.
    pub(super) fn shares(&self) -> String {
        let of = |side: usize, cpu: usize| {
            let shares = self.busy[side].iter().map(|shares| shares[cpu]);
            100.0 * shares.sum::<f64>() / f64::from(u32::try_from(self.busy[side].len()).unwrap_or(u32::MAX))
        };
        format!(
            "CPU of the clients and of the server busy: ours {:.0} % and {:.0} %, theirs {:.0} % and {:.0} %",
            of(0, 0),
            of(0, 1),
            of(1, 0),
            of(1, 1)
        )
    }
}

fn session(client: &mut Client, at: usize, round: usize, begin: Instant) -> Result<u32> {
    let mut count = 0;
    while begin.elapsed() < DURATION {
        count += 1;
        let value = (round * 100_000 + count as usize) % 1_000_000 + 1;
        client.session.edit_candidate(&load::own(at, value))?;
        client.session.commit()?;
    }
    Ok(count)
}

/// Seconds that a CPU had nothing to do, or waited for a disk, since the start.
fn idle(cpu: usize) -> Result<f64> {
    let doing = || format!("reading how busy CPU {cpu} is");
    let stat = std::fs::read_to_string("/proc/stat").map_err(LabError::of(doing()))?;
    let line = stat.lines().find_map(|line| line.strip_prefix(&format!("cpu{cpu} ")));
    let ticks = |field: &str| field.parse::<f64>().ok();
    let fields: Vec<f64> =
        line.into_iter().flat_map(|line| line.split_whitespace().filter_map(ticks)).collect();
    match fields[..] {
        // user, nice, system, idle, iowait; a hundred a second.
        [_, _, _, idle, iowait, ..] => Ok((idle + iowait) / 100.0),
        _ => Err(LabError::new(doing(), "/proc/stat has another form")),
    }
}
