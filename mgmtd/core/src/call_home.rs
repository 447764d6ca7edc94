//! What the transports tell of the clients that are called, and of TLS: state of `cats-system`, and alarms.

use crate::core::Core;
use crate::monitoring::date_and_time;
use crate::output::Alarm;
use crate::types::Now;
use serde_json::{Value, json};

/// How far the connection to a client has come. Times are microseconds since 1970.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Called {
    /// Its name.
    pub client: String,
    /// `waiting`, `connecting` or `connected`.
    pub stage: &'static str,
    /// Since when it is connected, or was not.
    pub since_us: u64,
    /// The endpoint that is connected or tried.
    pub endpoint: Option<u8>,
    /// The address and port that it is connected to.
    pub remote: Option<String>,
    /// How often it was connected.
    pub connections: u64,
    /// Attempts that failed.
    pub failed: u64,
    /// Why the last attempt that failed did, or the last connection ended, and when.
    pub last_error: Option<(String, u64)>,
    /// No endpoint could be reached since the last connection.
    pub unreachable: bool,
}

/// What was told last.
#[derive(Debug, Clone, Default)]
pub(crate) struct CallHome(Vec<Called>);

impl CallHome {
    pub(crate) fn clients(&self) -> Vec<Value> {
        self.0.iter().map(Called::to_json).collect()
    }
}

impl Called {
    fn to_json(&self) -> Value {
        let mut connection = json!({
            "state": self.stage,
            "since": date_and_time(self.since_us),
            "connections": self.connections.to_string(),
            "failed-attempts": self.failed.to_string(),
        });
        if let Value::Object(connection) = &mut connection {
            let error = self.last_error.as_ref();
            let more = [
                ("endpoint", self.endpoint.map(|endpoint| json!(endpoint))),
                ("remote-address", self.remote.as_ref().map(|remote| json!(remote))),
                ("last-error", error.map(|(why, _)| json!(why))),
                ("last-error-time", error.map(|(_, at)| json!(date_and_time(*at)))),
            ];
            let more = more.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
            connection.extend(more);
        }
        json!({ "name": self.client, "connection": connection })
    }
}

impl Core {
    /// How far the connections to the clients that are called have come.
    pub fn handle_call_home(&mut self, called: Vec<Called>, now: Now) {
        let unreachable = called.iter().filter(|client| client.unreachable);
        let alarms: Vec<Alarm> = unreachable
            .map(|client| Alarm::CannotCall {
                client: client.client.clone(),
                reason: client.last_error.as_ref().map(|(why, _)| why.clone()).unwrap_or_default(),
            })
            .collect();
        let any = Alarm::CannotCall { client: String::new(), reason: String::new() };
        self.components.stand(any.component(), alarms, now, &mut self.outputs);
        self.call_home = CallHome(called);
    }

    /// What is wrong with NETCONF over TLS, if anything is.
    pub fn handle_tls(&mut self, problem: Option<String>, now: Now) {
        let any = Alarm::TlsFailed { reason: String::new() };
        let alarms = problem.map(|reason| Alarm::TlsFailed { reason }).into_iter().collect();
        self.components.stand(any.component(), alarms, now, &mut self.outputs);
    }
}
