//! The state of the engine, as far as it is asked for: page by page, each of which is read while the next one is fetched.

use crate::content;
use crate::hub::{HubSender, Input};
use cats_engine_wire::management::GetStateRequest;
use cats_engine_wire::management::management_client::ManagementClient;
use cats_mgmtd_core::{ComponentId, Ticket};
use cats_yang_tree::Tree;
use cats_yang_tree::error::{Error, ErrorTag};
use cats_yang_tree::schema::Schema;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;
use tonic::transport::Channel;

/// State in one answer to `get` at most, bytes of JSON.
const MAX_STATE: usize = 256 << 20;

/// A page of so many bytes is read where it is fetched: to make a thread of its own for it costs more.
const LITTLE: usize = 8 << 10;

/// How long the engine may take for a page; one that takes longer counts as lost.
const PAGE_TIMEOUT: Duration = Duration::from_secs(5);

/// Reads all pages, and hands the hub what they say, or that the engine is gone. When there are many the core may have
/// given up waiting.
pub(super) async fn read(
    client: ManagementClient<Channel>,
    component: ComponentId,
    (ticket, paths): (Ticket, Vec<String>),
    schema: Arc<Schema>,
    hub: HubSender,
) {
    let input = match read_pages(client, paths, &schema).await {
        Some(result) => Input::State { ticket, result },
        None => Input::EngineGone { component },
    };
    // A hub that is gone needs no answer.
    let _ = hub.send(input).await;
}

/// None when the engine does not answer.
async fn read_pages(
    mut client: ManagementClient<Channel>,
    paths: Vec<String>,
    schema: &Arc<Schema>,
) -> Option<Result<Tree, Vec<Error>>> {
    let (mut state, mut size, mut page) = (Gathered::default(), 0, String::new());
    loop {
        let request = GetStateRequest { paths: paths.clone(), limit: 0, page };
        let reply = match tokio::time::timeout(PAGE_TIMEOUT, client.get_state(request)).await.ok()? {
            Ok(reply) => reply.into_inner(),
            Err(status) if is_lost(&status) => return None,
            Err(status) => {
                let message = format!("the engine did not give its state: {}", status.message());
                return Some(Err(vec![Error::application(ErrorTag::OperationFailed, message)]));
            }
        };
        size += reply.json.len();
        if size > MAX_STATE {
            let message =
                format!("the engine's state has more than {MAX_STATE} bytes: ask with a narrower filter");
            return Some(Err(vec![Error::application(ErrorTag::TooBig, message)]));
        }
        if let Err(errors) = state.add(reply.json, schema).await {
            return Some(Err(errors));
        }
        page = reply.next_page;
        if page.is_empty() {
            return Some(state.all().await);
        }
    }
}

/// Is it the connection that failed, or its other end that stops, and not the question?
fn is_lost(status: &tonic::Status) -> bool {
    std::error::Error::source(status).is_some() || status.code() == tonic::Code::Unavailable
}

type Parsing = JoinHandle<Result<Tree, Vec<Error>>>;

/// What the pages say that came so far. One is read while the next one is fetched.
#[derive(Debug, Default)]
struct Gathered {
    state: Tree,
    /// With the last page.
    parsing: Option<Parsing>,
}

impl Gathered {
    async fn add(&mut self, page: Vec<u8>, schema: &Arc<Schema>) -> Result<(), Vec<Error>> {
        self.gather().await?;
        if page.len() <= LITTLE {
            self.state = content::with_page(schema, &self.state, &page)?;
        } else {
            let (schema, state) = (Arc::clone(schema), std::mem::take(&mut self.state));
            self.parsing =
                Some(tokio::task::spawn_blocking(move || content::with_page(&schema, &state, &page)));
        }
        Ok(())
    }

    async fn all(mut self) -> Result<Tree, Vec<Error>> {
        self.gather().await?;
        Ok(self.state)
    }

    async fn gather(&mut self) -> Result<(), Vec<Error>> {
        if let Some(parsing) = self.parsing.take() {
            self.state = parsing.await.map_err(|_| {
                let message = "the engine's state cannot be read, by a fault of ours: see the log";
                vec![Error::application(ErrorTag::OperationFailed, message)]
            })??;
        }
        Ok(())
    }
}
