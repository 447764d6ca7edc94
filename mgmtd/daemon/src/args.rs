//! The command line: only what exists is offered.

use cats_mgmtd_netconf::Limits;
use cats_mgmtd_transport::{FREE, SessionLimits};
use clap::Parser;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// The management daemon of catsd: datastores and NETCONF.
#[derive(Debug, Clone, Parser)]
#[command(name = "cats-mgmtd", version)]
pub(crate) struct Args {
    /// Where configuration is kept; made if it is not there
    #[arg(long, value_name = "DIR")]
    pub(crate) state_dir: PathBuf,
    /// Where the sockets and the file mgmtd.ready are put; made if it is not there
    #[arg(long, value_name = "DIR")]
    pub(crate) run_dir: PathBuf,
    /// Listen for NETCONF over SSH (RFC 6242, whose port is 830); also by socket activation
    #[arg(long, value_name = "ADDR:PORT")]
    pub(crate) ssh: Option<SocketAddr>,
    /// Listen for NETCONF over TLS (RFC 7589, whose port is 6513), with the files that cats-system names
    #[arg(long, value_name = "ADDR:PORT")]
    pub(crate) tls: Option<SocketAddr>,
    /// An administrator, whom no rule of access control stops, and the file of public keys that open a session;
    /// repeatable
    #[arg(long, value_name = "NAME:AUTHORIZED_KEYS_FILE", value_parser = parse_user)]
    pub(crate) user: Vec<User>,
    /// A further YANG module, whose data are stored, validated and served; repeatable
    #[arg(long, value_name = "FILE")]
    pub(crate) extra_module: Vec<PathBuf>,
    /// Let edit-config and copy-config change running directly, beside the candidate (RFC 6241 section 8.2)
    #[arg(long)]
    pub(crate) writable_running: bool,
    /// The socket of cats-engined [default: RUN_DIR/engine.sock]
    #[arg(long, value_name = "SOCKET")]
    pub(crate) engine: Option<PathBuf>,
    /// Sessions that may be open, over all transports; one that has said no hello gives way to more, else they are refused
    #[arg(long, value_name = "COUNT", default_value_t = 256, value_parser = at_least(1, MAX_SESSIONS))]
    pub(crate) max_sessions: u64,
    /// Sessions that one user may have open; likewise
    #[arg(long, value_name = "COUNT", default_value_t = 16, value_parser = at_least(1, MAX_SESSIONS))]
    pub(crate) max_sessions_per_user: u64,
    /// The largest message that a client may send; a larger one is answered with too-big
    #[arg(long, value_name = "BYTES", default_value_t = 64 << 20, value_parser = at_least(4096, MAX_MESSAGE))]
    pub(crate) max_message_bytes: u64,
    /// Revisions of running that the history keeps; 64 MiB of changes at most
    #[arg(long, value_name = "COUNT", default_value_t = 1000, value_parser = at_least(1, 10_000))]
    pub(crate) history_revisions: u64,
    /// A session that asks nothing for so long is closed [default: never]
    #[arg(long, value_name = "SECONDS", value_parser = at_least(1, u64::from(u32::MAX)))]
    pub(crate) idle_timeout: Option<u64>,
}

/// The hub's queues are sized for so many sessions and some more.
const MAX_SESSIONS: u64 = 4096;

/// The parser's offsets have 32 bits.
const MAX_MESSAGE: u64 = 1 << 30;

fn at_least(least: u64, most: u64) -> clap::builder::RangedU64ValueParser {
    clap::value_parser!(u64).range(least..=most)
}

impl Args {
    /// The bounds on sessions that the transports keep.
    pub(crate) fn session_limits(&self) -> SessionLimits {
        let count = |option: u64| usize::try_from(option).unwrap_or(usize::MAX);
        SessionLimits { total: count(self.max_sessions), per_user: count(self.max_sessions_per_user) }
    }

    /// The bounds of each session.
    pub(crate) fn message_limits(&self) -> Limits {
        Limits {
            message: usize::try_from(self.max_message_bytes).unwrap_or(usize::MAX),
            at_once: FREE,
            idle: self.idle_timeout.map(Duration::from_secs),
            ..Limits::default()
        }
    }
}

/// One `--user`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct User {
    pub(crate) name: String,
    pub(crate) keys: PathBuf,
}

fn parse_user(text: &str) -> Result<User, String> {
    match text.split_once(':') {
        Some((name, keys)) if !name.is_empty() && !keys.is_empty() => {
            Ok(User { name: name.to_owned(), keys: keys.into() })
        }
        Some(_) | None => {
            Err("expected NAME:FILE, such as admin:/home/admin/.ssh/authorized_keys".to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_a_name_and_a_file() {
        assert_eq!(parse_user("ada:/k:1"), Ok(User { name: "ada".into(), keys: "/k:1".into() }));
        for bad in ["ada", ":/k", "ada:", ""] {
            assert!(parse_user(bad).is_err(), "{bad}");
        }
    }
}
