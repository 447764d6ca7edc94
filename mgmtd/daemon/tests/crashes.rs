//! kill -9 in the middle of commits: running is one of the commits, never half of one, and never an older one than
//! was answered.

#![allow(clippy::unwrap_used, clippy::panic)] // a failed set-up is a failed test

mod daemon;

use cats_mgmtd_netconf::Answer;
use daemon::{Place, edit, text_of};
use std::process::Command;

/// Kills at a moment that differs from round to round: after some answers, and a while into the next commit.
const ROUNDS: u32 = 60;

#[test]
fn a_killed_daemon_comes_back_with_the_last_answered_commit_or_the_one_in_flight() {
    let place = Place::new();
    let mut kept = 0;
    for round in 0..ROUNDS {
        let daemon = place.start();
        let mut session = daemon.client();
        let running = session.running();
        let found = text_of(&running, "one").map_or(0, |value| value.parse().unwrap());
        assert_eq!(
            text_of(&running, "twin").map_or(0, |value| value.parse().unwrap()),
            found,
            "half a commit"
        );
        assert_eq!(
            running.matches("<item>").count() as u32,
            u32::from(found > 0) * 20,
            "half a commit: {running}"
        );
        assert!(found >= kept, "revision {kept} was answered, and {found} came back");
        let answers = 1 + round % 3;
        for value in found + 1..found + 12 {
            session.send(&edit(&content(value)));
            session.send("<commit/>");
        }
        for _ in 0..2 * answers {
            assert_eq!(session.receive(), Some(Answer::Ok));
        }
        kept = found + answers;
        // Work is under way; burn a little time, another amount each round, without waiting for a clock.
        let work = u64::from(round * 37 % 60) * 20_000;
        std::hint::black_box((0..work).fold(1u64, |sum, n| sum.wrapping_mul(n | 1)));
        daemon.kill();
    }
    let said = Command::new("ls").arg(place.path("state")).output().unwrap();
    assert!(String::from_utf8_lossy(&said.stdout).contains("running.journal"));
}

/// Twenty entries and two leafs that all carry `value`, so that half of it would show.
fn content(value: u32) -> String {
    let items: String =
        (0..20).map(|n| format!("<item><name>i{n}</name><size>{value}</size></item>")).collect();
    format!("<one>{value}</one>{items}<twin>{value}</twin>")
}
