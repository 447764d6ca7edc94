//! Reports as JSON over a broker of MQTT 5. It confirms that it has them; what the agent makes of them it does not tell.

use super::encode;
use super::load::Draft;
use super::tls;
use super::turn::{Turn, Wake};
use crate::{LabError, Result};
use rumqttc::{
    AsyncClient, Broker, Event, EventLoop, Incoming, MqttOptions, PublishOptions, PublishProperties,
    TlsConfiguration, Transport,
};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// Publications that wait for the connection.
const REQUESTS: usize = 256;

/// How long a connection may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Reports until there is nothing more to report.
pub(super) async fn report(mut turn: Turn) -> Turn {
    loop {
        let reason = match open(&turn) {
            Ok((client, connection)) => match serve(&mut turn, &client, connection).await {
                Some(reason) => reason,
                None => return turn,
            },
            Err(error) => error.to_string(),
        };
        if !turn.disconnected(&reason).await {
            return turn;
        }
    }
}

fn open(turn: &Turn) -> Result<(AsyncClient, EventLoop)> {
    let settings = &turn.settings;
    let doing = || format!("connecting to the broker {}", settings.to);
    let parts = settings.to.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse().ok()?)));
    let (host, port) = parts.ok_or_else(|| LabError::new(doing(), "HOST:PORT is expected"))?;
    let name = turn.load.first().map(|id| id.to_string()).unwrap_or_default();
    let name = format!("cats-report-{}-{name}", std::process::id());
    let mut options = MqttOptions::new(name, Broker::tcp(host.to_owned(), port));
    let config = tls::to_broker(settings, turn.alone)?;
    options.set_transport(Transport::Tls(TlsConfiguration::Rustls(Arc::new(config))));
    options.set_connect_timeout(PATIENCE);
    options.set_clean_start(true);
    AsyncClient::builder(options).capacity(REQUESTS).try_build().map_err(LabError::of(doing()))
}

/// Publishes over one connection; why it ended, or nothing when all was published and confirmed.
async fn serve(turn: &mut Turn, client: &AsyncClient, mut connection: EventLoop) -> Option<String> {
    let mut waiting: VecDeque<Draft> = VecDeque::new();
    let (mut connected, mut unconfirmed) = (false, 0_u64);
    loop {
        if turn.is_over() && waiting.is_empty() && unconfirmed == 0 {
            // The broker tells nobody of the end of a client that says goodbye.
            drop(client.try_disconnect());
            drop(tokio::time::timeout(PATIENCE, connection.poll()).await);
            return None;
        }
        while unconfirmed < REQUESTS as u64
            && let Some(draft) = waiting.pop_front()
        {
            if let Err(error) = publish(turn, client, draft) {
                return Some(error.to_string());
            }
            unconfirmed += 1;
        }
        tokio::select! {
            event = connection.poll() => match event {
                Ok(Event::Incoming(Incoming::ConnAck(_))) => {
                    turn.connected();
                    connected = true;
                }
                Ok(Event::Incoming(Incoming::PubAck(_))) => {
                    turn.ledger.totals.published += 1;
                    unconfirmed = unconfirmed.saturating_sub(1);
                }
                Ok(_) => {}
                Err(error) => return Some(error.to_string()),
            },
            wake = turn.wake(unconfirmed > 0), if connected && waiting.is_empty() => match wake {
                Wake::Due => waiting.extend(turn.groups().into_iter().flatten()),
                Wake::Over if unconfirmed == 0 => {}
                Wake::Over => return Some(format!("{unconfirmed} reports are not confirmed")),
            },
        }
    }
}

fn publish(turn: &mut Turn, client: &AsyncClient, draft: Draft) -> Result<()> {
    let (sender, named, fault) = (draft.sender, draft.report.csci_id, draft.fault);
    turn.ledger.count_sent(&draft);
    let payload = encode::document(&turn.proven(vec![draft]));
    let spoilt = fault == Some(super::Fault::BadSignature);
    let signature = turn.proof.signature(sender, &payload, spoilt)?;
    let properties = PublishProperties {
        content_type: Some("application/json".to_owned()),
        user_properties: signature.map(|jws| ("cats-signature".to_owned(), jws)).into_iter().collect(),
        ..PublishProperties::default()
    };
    let topic = format!("cats/v1/{}/{named}/report", turn.settings.site);
    let options = PublishOptions::at_least_once().properties(properties);
    client.try_publish(topic, payload, options).map_err(LabError::of("publishing a report"))
}
