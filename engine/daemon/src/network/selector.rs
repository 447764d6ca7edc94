//! The listener of a path selector, for forwarders and metric agents of other nodes.

use super::listener::listen;
use super::{EVENTS, Network, REFRESH, Task};
use crate::config::Selector;
use cats_engine_transport::control_plane::{CpsEvent, Forwarders, Listen, Timing, serve};
use cats_engine_transport::keys::{Keyring, VerifyingKey};
use cats_engine_transport::northbound::{Agents, Northbound, SelectorEvent};
use cats_engine_types::{Epoch, NodeId};
use std::future::pending;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::sync::{mpsc, watch};

/// What listens.
#[derive(Debug)]
pub(super) struct Server {
    at: (SocketAddr, NodeId, Epoch),
    may: May,
    pub(super) forwarders: mpsc::Receiver<CpsEvent>,
    pub(super) agents: mpsc::Receiver<SelectorEvent>,
    _tasks: [Task; 2],
}

/// Who may connect.
#[derive(Debug, Clone, Default)]
struct May {
    forwarders: Forwarders,
    agents: Agents,
    keys: Arc<Keyring>,
    wanted: Vec<VerifyingKey>,
}

impl May {
    fn follow(&mut self, selector: &Selector) {
        self.forwarders.replace(selector.forwarders.clone());
        self.agents.replace(selector.agents.clone());
        if self.wanted != selector.keys {
            self.keys.replace(selector.keys.clone());
            self.wanted.clone_from(&selector.keys);
        }
    }
}

impl Network {
    /// Listens for forwarders and metric agents, or stops. True if all former connections are void.
    pub(crate) fn listen(&mut self, selector: Option<&Selector>, epoch: Epoch) -> bool {
        let wanted = selector.and_then(|selector| Some((selector.listen.clone()?, selector)));
        let (Some(((address, node), selector)), Some(certificates)) = (wanted, &self.pki) else {
            return self.server.take().is_some();
        };
        let at = (address, node, epoch);
        if let Some(server) = self.server.as_mut().filter(|server| server.at == at) {
            server.may.follow(selector);
            return false;
        }
        let mut may = May::default();
        may.follow(selector);
        let pki = Arc::clone(&certificates.pki);
        let (events, forwarders) = mpsc::channel(EVENTS);
        let (advertisements, agents) = mpsc::channel(EVENTS);
        let (node, who) = (at.1.clone(), may.clone());
        let task =
            listen(address, "forwarders and metric agents", watch::Sender::new(None), move |listener| {
                let northbound = Northbound {
                    agents: who.agents.clone(),
                    keys: Arc::clone(&who.keys),
                    events: advertisements.clone(),
                };
                let listen = Listen {
                    listener,
                    pki: Arc::clone(&pki),
                    node: node.clone(),
                    epoch,
                    forwarders: who.forwarders.clone(),
                    timing: Timing::default(),
                    events: events.clone(),
                    northbound: Some(northbound),
                };
                serve(listen, pending())
            });
        let tasks = [self.spawn(task), self.spawn(Arc::clone(&may.keys).watch(REFRESH))];
        self.server = Some(Server { at, may, forwarders, agents, _tasks: tasks });
        true
    }
}
