//! NETCONF over TLS and call home: what `cats-system` says of them, in the words of the transport, what of it the
//! transport cannot take, and what it tells in return.

use cats_mgmtd_core::Called;
use cats_mgmtd_transport::{
    CallHomeClient, CallHomeClients, CallHomeStates, CertToName, CertToNameEntry, Endpoint, Fingerprint,
    Keepalive, MapType, Periodic, Speaks, Stage, StartWith, Strategy, TlsFiles, TlsSettings,
};
use cats_yang_model::generated::cats_system::{self, CallHome, Client, Tls, Transport};
use cats_yang_tree::error::{Error, ErrorTag, Path};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// The ports of RFC 8071.
const SSH_PORT: u16 = 4334;
const TLS_PORT: u16 = 4335;

/// Where the nodes of TLS are.
const PLACE: &str = "/ietf-routing:routing/ietf-cats:cats/cats-system:system/tls";

/// Where the ways from a certificate to a name are defined.
const MAPS: &str = "ietf-x509-cert-to-name:";

/// What is configured.
#[derive(Debug, Clone)]
pub(crate) struct Configured {
    pub(crate) tls: Arc<Tls>,
    pub(crate) call_home: Arc<CallHome>,
}

impl Configured {
    /// Takes over what is configured now; true if it is something else.
    pub(crate) fn follow(&mut self, now: Configured) -> bool {
        let same = Arc::ptr_eq(&self.tls, &now.tls) && Arc::ptr_eq(&self.call_home, &now.call_home);
        *self = now;
        !same
    }

    /// Where clients connect to.
    pub(crate) fn listen(&self) -> Option<SocketAddr> {
        let listen = self.tls.listen.as_ref()?;
        let any = IpAddr::V6(Ipv6Addr::UNSPECIFIED);
        Some(SocketAddr::new(listen.address.unwrap_or(any), listen.port()))
    }

    /// By what they are known.
    pub(crate) fn settings(&self) -> TlsSettings {
        let tls = &self.tls;
        let files = TlsFiles {
            authority: tls.authority().into(),
            certificate: tls.certificate().into(),
            private_key: tls.private_key().into(),
            revocation_list: tls.revocation_list.as_ref().map(PathBuf::from),
        };
        // What is wrong was found before the commit.
        let names = tls.cert_to_name.values().filter_map(|entry| entry_of(entry).ok());
        TlsSettings { files, names: CertToName::new(names) }
    }

    /// Who is called.
    pub(crate) fn clients(&self) -> CallHomeClients {
        self.call_home.client.values().map(|client| (client.name.clone(), client_of(client))).collect()
    }
}

/// What the transport cannot take.
pub(crate) fn check(tls: &Tls) -> Vec<Error> {
    let wrong = |entry: &Arc<cats_system::CertToName>| {
        let (leaf, why) = entry_of(entry).err()?;
        let path = format!("{PLACE}/cert-to-name[id='{}']/{leaf}", entry.id);
        Some(Error::application(ErrorTag::InvalidValue, why).at(Path(path)))
    };
    tls.cert_to_name.values().filter_map(wrong).collect()
}

/// An entry, or the leaf of it that is of no use, and why.
fn entry_of(entry: &cats_system::CertToName) -> Result<CertToNameEntry, (&'static str, String)> {
    let fingerprint =
        Fingerprint::parse(&entry.fingerprint).map_err(|error| ("fingerprint", error.to_string()))?;
    let map = match entry.map_type.strip_prefix(MAPS).unwrap_or(&entry.map_type) {
        "specified" => MapType::Specified(entry.name.clone().unwrap_or_default()),
        "san-any" => MapType::SanAny,
        "san-rfc822-name" => MapType::SanRfc822Name,
        "san-dns-name" => MapType::SanDnsName,
        "san-ip-address" => MapType::SanIpAddress,
        "common-name" => MapType::CommonName,
        other => {
            return Err(("map-type", format!("there is no way from a certificate to a name by {other}")));
        }
    };
    Ok(CertToNameEntry { id: entry.id, fingerprint, map })
}

fn client_of(client: &Client) -> CallHomeClient {
    let (speaks, usual) = match client.transport() {
        Transport::Ssh => (Speaks::Ssh, SSH_PORT),
        Transport::Tls => (Speaks::Tls, TLS_PORT),
    };
    let endpoint = |endpoint: &Arc<cats_system::Endpoint>| {
        let (host, port) = (endpoint.address.to_string(), endpoint.port.unwrap_or(usual));
        (endpoint.id, Endpoint { host, port })
    };
    let (strategy, keepalives) = (&client.reconnect_strategy, &client.keepalives);
    let start_with = match strategy.start_with() {
        cats_system::StartWith::FirstListed => StartWith::FirstListed,
        cats_system::StartWith::LastConnected => StartWith::LastConnected,
        cats_system::StartWith::RandomSelection => StartWith::Random,
    };
    let periodic = client.periodic.as_ref();
    let seconds = |seconds: u16| Duration::from_secs(u64::from(seconds));
    CallHomeClient {
        speaks,
        endpoints: client.endpoint.values().map(endpoint).collect(),
        strategy: Strategy {
            start_with,
            max_attempts: strategy.max_attempts(),
            initial_wait: seconds(strategy.initial_wait()),
            max_wait: seconds(strategy.max_wait()),
            periodic: periodic.map(|periodic| Periodic {
                period: seconds(periodic.period()) * 60,
                anchor: periodic.anchor_time.as_deref().and_then(since_1970),
            }),
        },
        connect_timeout: seconds(strategy.connect_timeout()),
        idle: periodic.map(|periodic| seconds(periodic.idle_timeout())).filter(|idle| !idle.is_zero()),
        keepalive: Keepalive {
            idle: seconds(keepalives.idle_time()),
            interval: seconds(keepalives.probe_interval()),
            probes: keepalives.max_probes(),
        },
    }
}

/// Of a `date-and-time`; none of one before 1970.
fn since_1970(text: &str) -> Option<Duration> {
    let (date, rest) = text.split_once('T')?;
    let (time, offset) = rest.split_at(rest.find(['Z', '+', '-'])?);
    let numbers = |text: &str, by: char| text.split(by).map(|part| part.parse().ok()).collect();
    let date: Option<Vec<i64>> = numbers(date, '-');
    let time: Option<Vec<i64>> = numbers(time.split('.').next()?, ':');
    let ([year, month, day], [hour, minute, second]) =
        (<[i64; 3]>::try_from(date?).ok()?, <[i64; 3]>::try_from(time?).ok()?);
    let east = match offset.strip_prefix(['+', '-']) {
        Some(distance) => {
            let (hours, minutes) = distance.split_once(':')?;
            let distance = hours.parse::<i64>().ok()? * 60 + minutes.parse::<i64>().ok()?;
            if offset.starts_with('-') { -distance } else { distance }
        }
        None => 0,
    };
    // Years that begin with March have the leap day at their end.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    let days = days + (153 * month + 2) / 5 + day - 1 - 719_468;
    let seconds = ((days * 24 + hour) * 60 + minute - east) * 60 + second;
    u64::try_from(seconds).ok().map(Duration::from_secs)
}

/// What the transport tells, in the words of the core.
pub(crate) fn told(states: CallHomeStates) -> Vec<Called> {
    let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    let told = states.into_iter().map(|(client, state)| {
        let (stage, endpoint, remote) = match state.stage {
            Stage::Waiting => ("waiting", None, None),
            Stage::Connecting { endpoint } => ("connecting", Some(endpoint), None),
            Stage::Connected { endpoint, remote } => ("connected", Some(endpoint), Some(remote.to_string())),
        };
        Called {
            client,
            stage,
            since_us: micros(state.since),
            endpoint,
            remote,
            connections: state.connections,
            failed: state.failed,
            last_error: state.last_error.map(|(why, at)| (why, micros(at))),
            unreachable: state.unreachable,
        }
    });
    told.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use cats_yang_model::{CONFIG_LEAVES, Config};
    use serde_json::{Value as Json, json};

    const SYSTEM: &str = "/ietf-routing:routing/ietf-cats:cats/cats-system:system/";

    fn full() -> Json {
        let fingerprint = format!("04{}", ":AB".repeat(32));
        json!({ "ietf-routing:routing": { "ietf-cats:cats": { "cats-system:system": {
            "tls": {
                "listen": { "address": "192.0.2.1", "port": 16513 },
                "authority": "/a", "certificate": "/b", "private-key": "/c", "revocation-list": "/d",
                "cert-to-name": [{
                    "id": 1, "fingerprint": fingerprint, "map-type": "ietf-x509-cert-to-name:specified", "name": "ann",
                }],
            },
            "call-home": { "client": [{
                "name": "noc", "transport": "tls",
                "endpoint": [{ "id": 1, "address": "noc.example.com", "port": 14335 }],
                "periodic": {
                    "period": 10, "anchor-time": "2026-11-30T01:00:00+01:00", "idle-timeout": 20,
                },
                "reconnect-strategy": {
                    "start-with": "last-connected", "max-attempts": 4, "connect-timeout": 6, "initial-wait": 2,
                    "max-wait": 100,
                },
                "keepalives": { "idle-time": 16, "probe-interval": 6, "max-probes": 4 },
            }] },
        } } } })
    }

    fn configured(config: &Json) -> Configured {
        let system = Config::from_json(config).unwrap().cats.system.clone();
        Configured { tls: Arc::clone(&system.tls), call_home: Arc::clone(&system.call_home) }
    }

    fn words(configured: &Configured) -> (Option<SocketAddr>, TlsSettings, CallHomeClients) {
        (configured.listen(), configured.settings(), configured.clients())
    }

    /// The leaf at the path, in the first entry of each list.
    fn find<'a>(value: &'a mut Json, path: &str) -> &'a mut Json {
        path.split('/').skip(1).fold(value, |value, name| match value {
            Json::Array(entries) => &mut entries[0][name],
            other => &mut other[name],
        })
    }

    #[test]
    fn every_leaf_of_tls_and_of_call_home_changes_what_the_transport_does() {
        let before = words(&configured(&full()));
        let parts = [format!("{SYSTEM}tls/"), format!("{SYSTEM}call-home/")];
        let ours = |path: &&&str| parts.iter().any(|part| path.starts_with(part));
        let leafs: Vec<_> = CONFIG_LEAVES.iter().filter(ours).collect();
        assert_eq!(leafs.len(), 26);
        for leaf in leafs {
            let mut config = full();
            let value = find(&mut config, leaf);
            assert!(!value.is_null(), "{leaf} is not in the document");
            *value = match leaf.rsplit('/').next().unwrap() {
                "address" if leaf.contains("listen") => json!("2001:db8::1"),
                "map-type" => json!("ietf-x509-cert-to-name:san-any"),
                "fingerprint" => json!(format!("05{}", ":AB".repeat(48))),
                "transport" => json!("ssh"),
                "start-with" => json!("random-selection"),
                "anchor-time" => json!("2026-11-30T01:00:00Z"),
                _ => match value.as_u64() {
                    Some(number) => json!(number + 1),
                    None => json!("/other"),
                },
            };
            assert_ne!(words(&configured(&config)), before, "{leaf}");
        }
    }

    #[test]
    fn ports_are_those_of_the_transport_unless_others_are_configured() {
        for (transport, port) in [("ssh", 4334), ("tls", 4335)] {
            let mut config = full();
            *find(&mut config, &format!("{SYSTEM}call-home/client/transport")) = json!(transport);
            let endpoint = find(&mut config, &format!("{SYSTEM}call-home/client/endpoint"));
            *endpoint = json!([{ "id": 1, "address": "2001:db8::1" }]);
            let clients = configured(&config).clients();
            assert_eq!(clients["noc"].endpoints[&1], Endpoint { host: "2001:db8::1".to_owned(), port });
        }
        assert_eq!(configured(&json!({})).listen(), None);
        let mut config = full();
        *find(&mut config, &format!("{SYSTEM}tls/listen")) = json!({});
        assert_eq!(configured(&config).listen(), Some("[::]:6513".parse().unwrap()));
    }

    #[test]
    fn a_fingerprint_that_proves_nothing_is_refused_at_its_leaf() {
        let mut config = full();
        assert_eq!(check(&configured(&config).tls), []);
        *find(&mut config, &format!("{SYSTEM}tls/cert-to-name/fingerprint")) = json!("02:AB");
        let errors = check(&configured(&config).tls);
        assert_eq!(errors[0].path.as_ref().unwrap().0, format!("{PLACE}/cert-to-name[id='1']/fingerprint"));
        assert!(errors[0].message.contains("SHA-256"), "{errors:?}");
    }

    #[test]
    fn a_time_is_counted_from_1970_in_any_zone() {
        for (text, seconds) in [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("2026-11-30T00:00:00Z", Some(1_795_996_800)),
            ("2026-11-30T01:30:00.5+01:30", Some(1_795_996_800)),
            ("2024-02-28T19:00:00-05:00", Some(1_709_164_800)),
            ("1969-12-31T23:59:59Z", None),
            ("noon", None),
        ] {
            assert_eq!(since_1970(text), seconds.map(Duration::from_secs), "{text}");
        }
    }
}
