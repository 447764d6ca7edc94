//! The command line: only what exists is offered.

use clap::Parser;
use std::net::SocketAddr;
use std::path::PathBuf;

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
    /// A user with full access, and the file of public keys that open a session; repeatable
    #[arg(long, value_name = "NAME:AUTHORIZED_KEYS_FILE", value_parser = parse_user)]
    pub(crate) user: Vec<User>,
    /// A further YANG module, whose data are stored, validated and served; repeatable
    #[arg(long, value_name = "FILE")]
    pub(crate) extra_module: Vec<PathBuf>,
    /// The socket of cats-engined [default: RUN_DIR/engine.sock]
    #[arg(long, value_name = "SOCKET")]
    pub(crate) engine: Option<PathBuf>,
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
