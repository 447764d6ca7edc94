//! The instance's end: reports are published, with their proof.

use super::{BrokerTarget, open};
use crate::answer::SIGNATURE;
use crate::connect;
use crate::keys::Signer;
use arc_swap::ArcSwapOption;
use cats_engine_types::Report;
use cats_engine_wire::json::encode_report;
use rumqttc::{
    AsyncClient, ConnectionError, Event, EventLoop, Incoming, Outgoing, PublishOptions, PublishProperties,
};
use std::sync::Arc;
use tokio::sync::mpsc;

/// How an instance proves who it is to whoever reads the broker.
#[derive(Debug, Clone)]
pub enum Proof {
    /// By a token in each report, replaced by the owner before it expires. Without one nothing is sent.
    Token(Arc<ArcSwapOption<String>>),
    /// By a detached signature of each report.
    Signature(Arc<Signer>),
}

/// Where to publish, and how.
#[derive(Debug, Clone)]
pub struct PublisherTarget {
    /// The broker.
    pub broker: BrokerTarget,
    /// What goes with each report.
    pub proof: Proof,
}

/// Publishes what `reports` yields, until it ends and the broker has confirmed all, within the time of a connection. While
/// the broker is away, reports wait in `reports` as far as it holds them; those that were sent and not confirmed are sent
/// again, but for a change of certificates: then the next report has to do.
pub async fn publish(target: PublisherTarget, mut reports: mpsc::Receiver<Report>) {
    loop {
        // What the files say from here on is a change.
        let mut certificates = target.broker.pki.changes();
        match open(&target.broker) {
            Ok((client, connection)) => {
                tokio::select! {
                    () = send(&target, &client, &mut reports) => return,
                    () = serve(&target, connection) => return,
                    _ = certificates.changed() => {}
                }
            }
            Err(reason) => {
                tracing::warn!(broker = target.broker.host, %reason, "reports cannot be published");
                tokio::select! {
                    _ = certificates.changed() => {}
                    () = tokio::time::sleep(target.broker.timing.backoff_limit) => {}
                }
            }
        }
    }
}

/// Hands reports to the connection. After the last one it lets the connection end, and comes back only where it cannot.
async fn send(target: &PublisherTarget, client: &AsyncClient, reports: &mut mpsc::Receiver<Report>) {
    while let Some(report) = reports.recv().await {
        let topic = format!("cats/v1/{}/{}/report", target.broker.site, report.csci_id);
        let (payload, signature) = match proven(&target.proof, &report) {
            Ok(proven) => proven,
            Err(reason) => {
                tracing::warn!(csci_id = %report.csci_id, %reason, "a report is not published");
                continue;
            }
        };
        let properties = PublishProperties {
            content_type: Some("application/json".to_owned()),
            user_properties: signature.map(|jws| (SIGNATURE.to_owned(), jws)).into_iter().collect(),
            ..PublishProperties::default()
        };
        let options = PublishOptions::at_least_once().properties(properties);
        if let Err(error) = client.publish(topic, payload, options).await {
            tracing::warn!(csci_id = %report.csci_id, error = %connect::chain(&error), "a report is not published");
        }
    }
    if client.disconnect_with_timeout(target.broker.timing.connect).await.is_ok() {
        std::future::pending().await
    }
}

fn proven(proof: &Proof, report: &Report) -> Result<(Vec<u8>, Option<String>), String> {
    match proof {
        Proof::Token(token) => match token.load_full() {
            Some(token) => Ok((encode_report(report, Some(&token)), None)),
            None => Err("there is no token".to_owned()),
        },
        Proof::Signature(signer) => {
            let payload = encode_report(report, None);
            let signature = signer.sign_detached(&payload).map_err(|error| error.to_string())?;
            Ok((payload, Some(signature)))
        }
    }
}

/// Serves the connection until it has ended as we wanted.
async fn serve(target: &PublisherTarget, mut connection: EventLoop) {
    let timing = target.broker.timing;
    let (mut wait, mut last) = (timing.backoff, String::new());
    loop {
        match connection.poll().await {
            Ok(Event::Incoming(Incoming::ConnAck(_))) => {
                wait = timing.backoff;
                last.clear();
            }
            Ok(Event::Outgoing(Outgoing::Disconnect))
            | Err(ConnectionError::DisconnectTimeout | ConnectionError::RequestsDone) => return,
            Ok(_) => {}
            Err(error) => {
                let reason = connect::chain(&error);
                if reason != last {
                    tracing::warn!(broker = target.broker.host, %reason, "not connected to the broker");
                    last = reason;
                }
                tokio::time::sleep(wait).await;
                wait = wait.saturating_mul(2).min(timing.backoff_limit);
            }
        }
    }
}
