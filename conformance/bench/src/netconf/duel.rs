//! Ours against yuma's netconfd, round by round, over the same SSH client.

use super::crowd::{self, Crowd};
use super::endpoint::{Client, Endpoint};
use super::load;
use super::rig::Ours;
use super::told::Told;
use super::yuma::Yuma;
use crate::figure::{Better, Figure, median};
use cats_conformance::lab::Lab;
use cats_conformance::netconf::Session;
use cats_conformance::node::AdministratorKey;
use cats_conformance::{LabError, Result};
use std::time::{Duration, Instant};

/// Sessions that are set up in a round.
const SESSIONS: u32 = 10;
/// How long a round of reads, or of pairs, lasts.
const DURATION: Duration = Duration::from_millis(500);
/// Requests that are sent ahead of their replies.
const AHEAD: u32 = 64;
/// Entries of the small datastore.
const FEW: usize = 10;
/// Entries of the large one.
const MANY: usize = 10_000;
/// Rounds with it at most: yuma takes more than ten seconds for one.
const LARGE_ROUNDS: usize = 5;
/// The sessions that are set up one after the other may not all be gone when the many begin.
const MORE_SESSIONS: &str = "--max-sessions-per-user=64";
/// Reads of the large datastore in a round.
const READS: u32 = 3;

/// Seconds an operation of both sides, a round each.
#[derive(Default)]
struct Duel {
    ours: Vec<f64>,
    theirs: Vec<f64>,
}

/// The comparisons.
#[derive(Default)]
struct Duels {
    setup: Duel,
    reads: Duel,
    pairs: Duel,
    crowd: Duel,
    /// How busy the CPUs were meanwhile.
    crowd_shares: String,
    told: Duel,
    edit: Duel,
    commit: Duel,
    get: Duel,
}

pub(super) fn measure(lab: &Lab, key: &AdministratorKey, rounds: usize) -> Result<Vec<Figure>> {
    let ours = Ours::start(lab, key, "duel", &[MORE_SESSIONS])?;
    let yuma = Yuma::start(lab, key)?;
    let ends = [&ours.endpoint, &yuma.endpoint];
    let mut duels = Duels::default();
    for round in 0..rounds {
        duels.setup.fight(round, |side| sessions(ends[side]))?;
    }
    let mut clients = [ends[0].connect()?.settle(), ends[1].connect()?.settle()];
    small(&mut clients, &mut duels, rounds)?;
    crowded(ends, &mut duels, rounds)?;
    told(ends, &mut duels, rounds)?;
    large(&mut clients, &mut duels, rounds.min(LARGE_ROUNDS))?;
    Ok(duels.figures(&Yuma::version()?))
}

fn small(clients: &mut [Client; 2], duels: &mut Duels, rounds: usize) -> Result<()> {
    for client in clients.iter_mut() {
        client.session.edit_candidate(&load::items(FEW))?;
        client.session.commit()?;
        expect(&client.session.succeed(load::READ)?, FEW)?;
    }
    for round in 0..rounds {
        duels.reads.fight(round, |side| pipelined(&mut clients[side].session))?;
        duels.pairs.fight(round, |side| pairs(&mut clients[side].session, round))?;
    }
    Ok(())
}

/// Beside the ten entries.
fn crowded(ends: [&Endpoint; 2], duels: &mut Duels, rounds: usize) -> Result<()> {
    let mut crowd = Crowd::connect(ends)?;
    for round in 0..rounds {
        duels.crowd.fight(round, |side| crowd.pairs(side, round))?;
    }
    duels.crowd_shares = crowd.shares();
    Ok(())
}

/// With the sessions that are there already.
fn told(ends: [&Endpoint; 2], duels: &mut Duels, rounds: usize) -> Result<()> {
    let mut pairs = [Told::connect(ends[0])?, Told::connect(ends[1])?];
    for round in 0..rounds {
        duels.told.fight(round, |side| pairs[side].commits(round))?;
    }
    Ok(())
}

fn large(clients: &mut [Client; 2], duels: &mut Duels, rounds: usize) -> Result<()> {
    let items = load::items(MANY);
    for round in 0..rounds {
        for client in clients.iter_mut() {
            client.session.edit_candidate(load::NO_ITEMS)?;
            client.session.commit()?;
        }
        duels.edit.fight(round, |side| seconds(|| clients[side].session.edit_candidate(&items)))?;
        duels.commit.fight(round, |side| seconds(|| clients[side].session.commit()))?;
        duels.get.fight(round, |side| {
            let session = &mut clients[side].session;
            let taken = seconds(|| (0..READS).try_for_each(|_| expect(&session.succeed(load::READ)?, MANY)))?;
            Ok(taken / f64::from(READS))
        })?;
    }
    Ok(())
}

/// Seconds a session, from the start of the client until both hellos are exchanged.
fn sessions(end: &Endpoint) -> Result<f64> {
    let mut taken = 0.0;
    for _ in 0..SESSIONS {
        let begin = Instant::now();
        let client = end.connect()?;
        taken += begin.elapsed().as_secs_f64();
        client.settle().close()?;
    }
    Ok(taken / f64::from(SESSIONS))
}

/// Seconds a reply, with requests sent ahead.
fn pipelined(session: &mut Session) -> Result<f64> {
    let begin = Instant::now();
    let mut count = 0;
    while begin.elapsed() < DURATION {
        for _ in 0..AHEAD {
            session.send(load::READ)?;
        }
        for _ in 0..AHEAD {
            expect(&session.receive()?, FEW)?;
        }
        count += AHEAD;
    }
    Ok(begin.elapsed().as_secs_f64() / f64::from(count))
}

/// Seconds an edit of one leaf with its commit.
fn pairs(session: &mut Session, round: usize) -> Result<f64> {
    let begin = Instant::now();
    let mut count = 0_u32;
    while begin.elapsed() < DURATION {
        count += 1;
        session.edit_candidate(&load::knob(round * 1_000_000 + count as usize))?;
        session.commit()?;
    }
    Ok(begin.elapsed().as_secs_f64() / f64::from(count))
}

fn seconds(work: impl FnOnce() -> Result<()>) -> Result<f64> {
    let begin = Instant::now();
    work()?;
    Ok(begin.elapsed().as_secs_f64())
}

/// Both sides must have read the same.
fn expect(reply: &str, items: usize) -> Result<()> {
    let found = load::count(reply);
    if found == items {
        return Ok(());
    }
    let reply: String = reply.chars().take(500).collect();
    Err(LabError::new(format!("reading {items} list entries"), format!("there are {found} in {reply}")))
}

impl Duel {
    /// Both sides once, the first one in turn.
    fn fight(&mut self, round: usize, mut once: impl FnMut(usize) -> Result<f64>) -> Result<()> {
        let first = round % 2;
        let mut taken = [0.0; 2];
        for side in [first, 1 - first] {
            taken[side] = once(side)?;
        }
        self.ours.push(taken[0]);
        self.theirs.push(taken[1]);
        Ok(())
    }

    fn figure(&self, key: &str, better: Better, against: &str, what: &str) -> Option<Figure> {
        let rounds = self.ours.iter().zip(&self.theirs);
        // Higher is a ratio of rates, lower one of times.
        let ratio = |(ours, theirs): (&f64, &f64)| match better {
            Better::Higher => theirs / ours,
            Better::Lower => ours / theirs,
        };
        let (ours, theirs) = (median(&self.ours)? * 1e3, median(&self.theirs)? * 1e3);
        let note = format!("{what}; medians: ours {ours:.3} ms, theirs {theirs:.3} ms");
        let key = format!("netconf/{key}-ratio-yuma");
        Some(Figure::of(&key, "ratio", better, rounds.map(ratio).collect())?.against(against).note(note))
    }
}

impl Duels {
    fn figures(&self, against: &str) -> Vec<Figure> {
        let setup =
            "from the start of OpenSSH's client to both hellos, public key Ed25519, one after the other";
        let reads =
            "get-config of ten list entries of five leaves by subtree filter, 64 requests ahead, one session";
        let promise = "Ours is durable before the reply: a fdatasync for all commits that wait together. Theirs writes \
                       its whole startup file before the reply and never syncs it";
        let pairs =
            format!("edit-config of one leaf and commit beside ten list entries, one session. {promise}");
        let crowd = format!(
            "{} sessions at once, each edit-config of a leaf of its own and commit, one after the other, in the shared \
             candidate without a lock, so a commit takes what others have edited along. {promise}. {}",
            crowd::SESSIONS,
            self.crowd_shares
        );
        let edit = "edit-config of the candidate with 10,000 list entries of five leaves that were not there";
        let commit =
            "commit of these. Ours is durable by fdatasync; theirs writes its startup file without a sync";
        let told = "from the request to commit one leaf until another session has the whole netconf-config-change of it";
        let get = "get-config of these by subtree filter, the whole reply received";
        let all = [
            self.setup.figure("session-setup", Better::Lower, against, setup),
            self.reads.figure("get-config-pipelined", Better::Higher, against, reads),
            self.crowd.figure("edit-commit-pairs", Better::Higher, against, &crowd),
            self.pairs.figure("edit-commit-pairs-one-session", Better::Higher, against, &pairs),
            self.told.figure("notification", Better::Lower, against, told),
            self.edit.figure("edit-10k", Better::Lower, against, edit),
            self.commit.figure("commit-10k", Better::Lower, against, commit),
            self.get.figure("get-10k", Better::Lower, against, get),
        ];
        all.into_iter().flatten().collect()
    }
}
