//! Probes of TCP, by which a peer that is gone is noticed on a connection that is silent.

use rustix::net::sockopt;
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

/// When a connection that is silent is probed, and when it is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keepalive {
    /// The first probe is sent when nothing came for so long. 60 s.
    pub idle: Duration,
    /// The time between two. 60 s.
    pub interval: Duration,
    /// After so many without an answer the connection is lost. 3.
    pub probes: u8,
}

impl Default for Keepalive {
    fn default() -> Self {
        Self { idle: Duration::from_secs(60), interval: Duration::from_secs(60), probes: 3 }
    }
}

impl Keepalive {
    /// Sets it for a socket; what was sent and is not acknowledged counts likewise.
    pub(crate) fn set(&self, socket: &impl AsFd) -> io::Result<()> {
        let lost = self.idle + self.interval * u32::from(self.probes);
        sockopt::set_tcp_keepidle(socket, self.idle)?;
        sockopt::set_tcp_keepintvl(socket, self.interval)?;
        sockopt::set_tcp_keepcnt(socket, u32::from(self.probes))?;
        sockopt::set_tcp_user_timeout(socket, u32::try_from(lost.as_millis()).unwrap_or(u32::MAX))?;
        sockopt::set_socket_keepalive(socket, true)?;
        Ok(())
    }
}
