//! How patient the ends of a stream are.

use std::time::Duration;

/// How patient both ends are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// A keepalive is sent after so long without another message.
    pub keepalive: Duration,
    /// The peer is dead after so long without a message.
    pub silence: Duration,
    /// Bound of a TCP connection and TLS handshake.
    pub connect: Duration,
    /// First wait before a new attempt; each further one doubles.
    pub backoff: Duration,
    /// The longest wait.
    pub backoff_limit: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            keepalive: Duration::from_secs(1),
            silence: Duration::from_secs(4),
            connect: Duration::from_secs(4),
            backoff: Duration::from_millis(200),
            backoff_limit: Duration::from_secs(60),
        }
    }
}
