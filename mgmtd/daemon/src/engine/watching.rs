//! What the engine tells of its state as it changes. It tells one thing after another: the next one is taken when the core
//! has the one before, so that an engine in a hurry waits, and tells then what is so by that time.

use crate::hub::{HubSender, Input};
use cats_engine_wire::management::management_client::ManagementClient;
use cats_engine_wire::management::{StateDelta, WatchRequest};
use cats_mgmtd_core::{ComponentId, Delta};
use cats_yang_tree::schema::Schema;
use cats_yang_tree::{InstancePath, Ops};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot, watch};
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Channel;

/// The engine is not asked to begin anew at once.
const PAUSE: Duration = Duration::from_millis(100);

/// Has the engine tell, while the connection is there and something is watched.
pub(super) async fn run(
    (mut client, component, mut watched): (
        ManagementClient<Channel>,
        ComponentId,
        watch::Receiver<Vec<String>>,
    ),
    schema: Arc<Schema>,
    hub: HubSender,
) {
    loop {
        if watched.wait_for(|paths| !paths.is_empty()).await.is_err() {
            return;
        }
        let (wanted, requests) = mpsc::channel(1);
        let ended = match client.watch(ReceiverStream::new(requests)).await {
            Ok(deltas) => {
                if hub.send(Input::EngineTellsAnew { component }).await.is_err() {
                    return;
                }
                watched.mark_changed();
                let mut telling = Telling { wanted, deltas: deltas.into_inner(), component, hub: &hub };
                telling.run(&mut watched, &schema).await
            }
            Err(status) => status.to_string(),
        };
        if hub.is_closed() || watched.has_changed().is_err() {
            return;
        }
        tracing::info!(why = %ended, "the engine tells its state anew");
        tokio::time::sleep(PAUSE).await;
    }
}

/// One stream of it.
struct Telling<'h> {
    wanted: mpsc::Sender<WatchRequest>,
    deltas: tonic::Streaming<StateDelta>,
    component: ComponentId,
    hub: &'h HubSender,
}

impl Telling<'_> {
    /// Asks for what is watched, and hands over what is told; why it ended.
    async fn run(&mut self, watched: &mut watch::Receiver<Vec<String>>, schema: &Schema) -> String {
        loop {
            tokio::select! {
                changed = watched.changed() => {
                    let paths = watched.borrow_and_update().clone();
                    if changed.is_err() || self.wanted.send(WatchRequest { paths }).await.is_err() {
                        return "the connection is gone".to_owned();
                    }
                }
                delta = self.deltas.message() => match delta {
                    Ok(Some(delta)) => {
                        if let Err(why) = self.hand_over(delta, schema).await {
                            return why;
                        }
                    }
                    Ok(None) => return "it closed the stream".to_owned(),
                    Err(status) => return status.to_string(),
                },
            }
        }
    }

    async fn hand_over(&self, delta: StateDelta, schema: &Schema) -> Result<(), String> {
        let delta = read(schema, delta).inspect_err(|why| {
            tracing::error!(%why, "what the engine tells cannot be read, by a fault of ours");
        })?;
        let (answer, taken) = oneshot::channel();
        let stopped = || "shutting down".to_owned();
        let input = Input::EngineTold { component: self.component, delta, answer };
        self.hub.send(input).await.map_err(|_| stopped())?;
        taken.await.map_err(|_| stopped())?
    }
}

fn read(schema: &Schema, delta: StateDelta) -> Result<Delta, String> {
    let StateDelta { epoch, sequence, dropped, json, whole } = delta;
    let path = |text: &String| InstancePath::parse(schema, text).map_err(|error| error.to_string());
    let dropped = dropped.iter().map(path).collect::<Result<_, _>>()?;
    let state = if json.is_empty() {
        Ops::default()
    } else {
        let value = serde_json::from_slice(&json).map_err(|error| format!("no JSON: {error}"))?;
        Ops::from_state_json(schema, &value).map_err(|errors| {
            errors.first().map_or_else(|| "it does not fit the schema".to_owned(), ToString::to_string)
        })?
    };
    Ok(Delta { epoch, sequence, dropped, state, whole })
}
