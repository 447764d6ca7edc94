//! The tasks that carry the control plane: started, changed and stopped as the configuration wants.

use crate::config::{Remote, Selector};
use cats_engine_transport::control_plane::{
    CpsEvent, ForwarderEvent, Forwarders, Listen, Target, Timing, attach, serve,
};
use cats_engine_transport::pki::{Pki, PkiFiles};
use cats_engine_types::{Epoch, ForwarderReport, NodeId};
use std::future::{Future, pending};
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

/// Events that wait for the engine; beyond it the streams are not read.
const EVENTS: usize = 64;

/// How often files of certificates are looked at.
const REFRESH: Duration = Duration::from_secs(2);

/// How long until a listener that could not be opened is tried again.
const LISTEN_AGAIN: Duration = Duration::from_secs(1);

/// What comes from other nodes.
#[derive(Debug)]
pub(crate) enum Arrival {
    /// To the path selector.
    Selector(CpsEvent),
    /// To the forwarder.
    Forwarder(ForwarderEvent),
}

/// The running tasks.
#[derive(Debug)]
pub(crate) struct Network {
    runtime: Handle,
    pki: Option<Certificates>,
    server: Option<Server>,
    client: Option<Client>,
}

#[derive(Debug)]
struct Certificates {
    files: PkiFiles,
    pki: Arc<Pki>,
    _watch: Task,
}

#[derive(Debug)]
struct Server {
    at: (SocketAddr, NodeId),
    forwarders: Forwarders,
    events: mpsc::Receiver<CpsEvent>,
    _task: Task,
}

#[derive(Debug)]
struct Client {
    to: Remote,
    report: watch::Sender<ForwarderReport>,
    events: mpsc::Receiver<ForwarderEvent>,
    _task: Task,
}

/// A task that ends when it is dropped.
#[derive(Debug)]
struct Task(JoinHandle<()>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Network {
    pub(crate) fn new(runtime: Handle) -> Self {
        Self { runtime, pki: None, server: None, client: None }
    }

    /// Uses these files from now on. Every attachment is made anew where they are others.
    pub(crate) fn certificates(&mut self, files: &PkiFiles, wanted: bool) {
        if wanted && self.pki.as_ref().is_some_and(|known| known.files == *files) {
            return;
        }
        (self.server, self.client, self.pki) = (None, None, None);
        if wanted {
            let pki = Pki::open(files.clone());
            let watch = self.spawn(Arc::clone(&pki).watch(REFRESH));
            self.pki = Some(Certificates { files: files.clone(), pki, _watch: watch });
        }
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> Task {
        Task(self.runtime.spawn(task))
    }

    /// Listens for forwarders, or stops. True if all former attachments are void.
    pub(crate) fn listen(&mut self, selector: Option<&Selector>, epoch: Epoch) -> bool {
        let wanted = selector.and_then(|selector| Some((selector.listen.clone()?, &selector.forwarders)));
        let (Some((at, names)), Some(certificates)) = (wanted, &self.pki) else {
            return self.server.take().is_some();
        };
        if let Some(server) = self.server.as_ref().filter(|server| server.at == at) {
            server.forwarders.replace(names.clone());
            return false;
        }
        let forwarders = Forwarders::default();
        forwarders.replace(names.clone());
        let (sender, events) = mpsc::channel(EVENTS);
        let pki = Arc::clone(&certificates.pki);
        let task = listen(at.clone(), pki, epoch, forwarders.clone(), sender);
        self.server = Some(Server { at, forwarders, events, _task: self.spawn(task) });
        true
    }

    /// Attaches to a path selector, or stops. True if the former attachment is void.
    pub(crate) fn attach(&mut self, remote: Option<&Remote>, report: &ForwarderReport) -> bool {
        let (Some(remote), Some(certificates)) = (remote, &self.pki) else {
            return self.client.take().is_some();
        };
        if let Some(client) = self.client.as_ref().filter(|client| client.to == *remote) {
            client.report.send_if_modified(|known| {
                let changed = known != report;
                known.clone_from(report);
                changed
            });
            return false;
        }
        let (sender, events) = mpsc::channel(EVENTS);
        let (report, reports) = watch::channel(report.clone());
        let target = Target {
            address: remote.address,
            cps: remote.cps.clone(),
            pki: Arc::clone(&certificates.pki),
            timing: Timing::default(),
        };
        let task = self.spawn(attach(target, reports, sender));
        self.client = Some(Client { to: remote.clone(), report, events, _task: task });
        true
    }

    /// Ends the attachment to a path selector.
    pub(crate) fn detach(&mut self) {
        self.client = None;
    }

    /// The next arrival, if one is there.
    pub(crate) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Arrival> {
        // The tasks run until they are aborted: an end of their events never comes while their owner is there.
        if let Some(server) = &mut self.server
            && let Poll::Ready(Some(event)) = server.events.poll_recv(context)
        {
            return Poll::Ready(Arrival::Selector(event));
        }
        if let Some(client) = &mut self.client
            && let Poll::Ready(Some(event)) = client.events.poll_recv(context)
        {
            return Poll::Ready(Arrival::Forwarder(event));
        }
        Poll::Pending
    }
}

async fn listen(
    (address, node): (SocketAddr, NodeId),
    pki: Arc<Pki>,
    epoch: Epoch,
    forwarders: Forwarders,
    events: mpsc::Sender<CpsEvent>,
) {
    let mut told = false;
    loop {
        let end = match TcpListener::bind(address).await {
            Ok(listener) => {
                tracing::info!(%address, %node, "listening for forwarders");
                told = false;
                let listen = Listen {
                    listener,
                    pki: Arc::clone(&pki),
                    node: node.clone(),
                    epoch,
                    forwarders: forwarders.clone(),
                    timing: Timing::default(),
                    events: events.clone(),
                    northbound: None,
                };
                serve(listen, pending()).await.map_err(|error| error.to_string())
            }
            Err(error) => Err(error.to_string()),
        };
        if let Err(error) = end
            && !told
        {
            tracing::warn!(%address, %error, "cannot listen for forwarders; trying again");
            told = true;
        }
        tokio::time::sleep(LISTEN_AGAIN).await;
    }
}
