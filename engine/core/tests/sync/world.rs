//! The nodes and the links between them.

use cats_engine_core::cps::{AgentConfig, Cps, CpsConfig, Event as CpsEvent, Output as CpsOutput};
use cats_engine_core::scope::Scope;
use cats_engine_core::sma::northbound::{
    Alarm, Northbound, NorthboundConfig, Output, PeerConfig, PeerView, Urgency,
};
use cats_engine_types::{
    Advertisement, AgentInstruction, CsId, CsciId, Epoch, Freshness, Health, MetricRecord, Micros, NodeId,
    Sample, UnixMicros, Withdrawal, WithdrawalReason,
};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

pub(crate) fn node(text: &str) -> NodeId {
    text.parse().unwrap()
}

pub(crate) fn cs_id(number: u32) -> CsId {
    CsId::number(number).unwrap()
}

pub(crate) fn csci(number: u32) -> CsciId {
    CsciId::number(number).unwrap()
}

pub(crate) fn only(services: &[u32]) -> Scope {
    Scope::Only(services.iter().map(|number| cs_id(*number)).collect())
}

pub(crate) fn peer(name: &str) -> PeerConfig {
    PeerConfig { node: node(name), scope: Scope::All, alternative_to: None }
}

pub(crate) fn record(service: u32, instance: u32, gas: u32) -> MetricRecord {
    MetricRecord {
        cs_id: cs_id(service),
        csci_id: csci(instance),
        locator: None,
        sample: Sample {
            gas,
            computing_time: Micros(5_000),
            computing_time_min: None,
            computing_time_max: None,
            health: Health::Healthy,
            price: None,
            reputation: None,
            security_level: None,
            instances: None,
        },
        taken: UnixMicros(0),
        valid_for: Duration::from_secs(60),
        flagged: false,
    }
}

/// A path selector at the other end of a link.
pub(crate) struct Selector {
    pub(crate) name: NodeId,
    pub(crate) cps: Cps,
    /// The connection that it has.
    pub(crate) connection: Option<u64>,
    /// Nothing goes up, nothing comes down.
    pub(crate) cut: (bool, bool),
    pub(crate) skew: i64,
}

/// What a link does to a message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Link {
    /// Of a hundred messages.
    pub(crate) lost: u64,
    /// The longest delay, in milliseconds; delays differ, so that messages overtake each other.
    pub(crate) delay: u64,
}

enum Event {
    Up(Advertisement),
    Down(AgentInstruction),
    Open,
    Refused,
    /// The C-SMA, or the C-PS, sees the end of a connection.
    SmaCloses,
    CpsCloses,
}

pub(crate) struct World {
    pub(crate) now: Instant,
    start: Instant,
    pub(crate) sma: Northbound,
    pub(crate) epoch: u64,
    pub(crate) config: NorthboundConfig,
    pub(crate) selectors: Vec<Selector>,
    pub(crate) cps_config: CpsConfig,
    pub(crate) link: Link,
    events: BTreeMap<(Instant, u64), (usize, Event)>,
    counter: u64,
    random: u64,
    nonces: BTreeSet<(NodeId, Freshness)>,
    /// Everything that was sent.
    pub(crate) sent: Vec<(NodeId, Advertisement)>,
    pub(crate) alarms: Vec<(Alarm, bool)>,
    pub(crate) attempts: Vec<(NodeId, Duration)>,
    pub(crate) told: Vec<CpsEvent>,
    pub(crate) instructions: Vec<AgentInstruction>,
}

const AGENT: &str = "SMA-1";
const WALL: u64 = 1_800_000_000_000_000;

impl World {
    /// One C-SMA, and C-PSes that it is configured with; nothing has been done yet.
    pub(crate) fn new(config: NorthboundConfig) -> Self {
        let now = Instant::now();
        let agent =
            AgentConfig { node: node(AGENT), scope: Scope::All, egresses: Vec::new(), min_interval: None };
        let cps_config = CpsConfig { agents: vec![agent], ..CpsConfig::default() };
        let selectors = config.peers.iter().map(|peer| Selector {
            name: peer.node.clone(),
            cps: Cps::new(Epoch(1), now),
            connection: None,
            cut: (false, false),
            skew: 0,
        });
        let mut world = Self {
            now,
            start: now,
            sma: Northbound::new(node(AGENT), 1, now, UnixMicros(WALL)),
            epoch: 1,
            selectors: selectors.collect(),
            config,
            cps_config,
            link: Link { lost: 0, delay: 0 },
            events: BTreeMap::new(),
            counter: 0,
            random: 1,
            nonces: BTreeSet::new(),
            sent: Vec::new(),
            alarms: Vec::new(),
            attempts: Vec::new(),
            told: Vec::new(),
            instructions: Vec::new(),
        };
        for selector in &mut world.selectors {
            selector.cps.configure(world.cps_config.clone(), now);
        }
        world.configure(world.config.clone());
        world
    }

    pub(crate) fn with(peers: Vec<PeerConfig>) -> Self {
        Self::new(NorthboundConfig { peers, ..NorthboundConfig::default() })
    }

    pub(crate) fn seed(&mut self, seed: u64) {
        self.random = seed;
    }

    /// Splitmix64.
    fn roll(&mut self, below: u64) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % below.max(1)
    }

    pub(crate) fn wall(&self) -> UnixMicros {
        let elapsed = self.now.saturating_duration_since(self.start).as_micros();
        UnixMicros(WALL + u64::try_from(elapsed).unwrap())
    }

    fn wall_of(&self, at: usize) -> UnixMicros {
        UnixMicros(self.wall().0.saturating_add_signed(self.selectors[at].skew))
    }

    pub(crate) fn configure(&mut self, config: NorthboundConfig) {
        self.config = config.clone();
        let wall = self.wall();
        self.sma.configure(config, self.now, wall);
        self.drain();
    }

    /// A record with the report that it rests on taken now.
    pub(crate) fn publish(&mut self, mut record: MetricRecord, urgency: Urgency) {
        let wall = self.wall();
        record.taken = wall;
        self.sma.publish(record, urgency, self.now, wall);
        self.drain();
    }

    pub(crate) fn withdraw(&mut self, service: u32, instance: u32) {
        let (cs_id, csci_id) = (cs_id(service), csci(instance));
        let withdrawal = Withdrawal { cs_id, csci_id, reason: WithdrawalReason::Failed };
        let wall = self.wall();
        self.sma.withdraw(withdrawal, self.now, wall);
        self.drain();
    }

    /// kill -9 and a start: what it knew is gone, and its epoch is a later one.
    pub(crate) fn restart_sma(&mut self) {
        self.epoch += 1;
        let wall = self.wall();
        self.sma = Northbound::new(node(AGENT), self.epoch, self.now, wall);
        for at in 0..self.selectors.len() {
            if self.selectors[at].connection.take().is_some() {
                self.after(5, at, Event::CpsCloses);
            }
        }
        // Attempts of the process that is gone.
        self.events.retain(|_, (_, event)| !matches!(event, Event::Open | Event::Refused));
        self.configure(self.config.clone());
    }

    pub(crate) fn restart_cps(&mut self, at: usize) {
        let selector = &mut self.selectors[at];
        selector.cps = Cps::new(Epoch(1), self.now);
        selector.cps.configure(self.cps_config.clone(), self.now);
        self.break_connection(at);
    }

    /// Both ends learn that the connection is gone, unless the link is cut.
    pub(crate) fn break_connection(&mut self, at: usize) {
        if self.selectors[at].connection.take().is_none() {
            return;
        }
        let (up, down) = self.selectors[at].cut;
        if !down {
            self.after(5, at, Event::SmaCloses);
        }
        if !up {
            self.after(5, at, Event::CpsCloses);
        }
    }

    fn after(&mut self, millis: u64, at: usize, event: Event) {
        self.counter += 1;
        self.events.insert((self.now + Duration::from_millis(millis), self.counter), (at, event));
    }

    fn send(&mut self, at: usize, up: bool, event: Event) {
        let cut = self.selectors[at].cut;
        if (up && cut.0) || (!up && cut.1) || self.roll(100) < self.link.lost {
            return;
        }
        let delay = self.roll(self.link.delay + 1);
        self.after(delay, at, event);
    }

    fn at(&self, name: &NodeId) -> usize {
        self.selectors.iter().position(|selector| selector.name == *name).unwrap()
    }

    /// Carries out what all of them want done.
    pub(crate) fn drain(&mut self) {
        while let Some(output) = self.sma.poll_output() {
            match output {
                Output::Connect { peer } => {
                    let at = self.at(&peer);
                    self.attempts.push((peer, self.now.saturating_duration_since(self.start)));
                    let (up, down) = self.selectors[at].cut;
                    let (millis, event) = if up || down { (500, Event::Refused) } else { (20, Event::Open) };
                    self.after(millis, at, event);
                }
                Output::Disconnect { peer } => {
                    let at = self.at(&peer);
                    self.events.retain(|_, (of, event)| *of != at || !matches!(event, Event::Open));
                    if self.selectors[at].connection.take().is_some() {
                        self.after(5, at, Event::CpsCloses);
                    }
                }
                Output::Send { peer, advertisement } => {
                    let fresh = self.nonces.insert((peer.clone(), advertisement.freshness));
                    assert!(fresh, "{} is sent twice to {peer}", advertisement.freshness);
                    let at = self.at(&peer);
                    self.sent.push((peer, advertisement.clone()));
                    self.send(at, true, Event::Up(advertisement));
                }
                Output::Alarm { alarm, raised } => self.alarms.push((alarm, raised)),
            }
        }
        for at in 0..self.selectors.len() {
            while let Some(output) = self.selectors[at].cps.poll_output() {
                match output {
                    CpsOutput::Instruct { instruction, .. } => {
                        self.instructions.push(instruction.clone());
                        self.send(at, false, Event::Down(instruction));
                    }
                    CpsOutput::Event(event) => self.told.push(event),
                    other => panic!("{other:?}"),
                }
            }
        }
    }

    fn handle(&mut self, at: usize, event: Event) {
        let (now, wall, theirs) = (self.now, self.wall(), self.wall_of(at));
        let name = self.selectors[at].name.clone();
        let agent = node(AGENT);
        match event {
            Event::Up(advertisement) => {
                let cut = self.selectors[at].cut.0;
                if !cut {
                    // What is refused is counted there.
                    let _ = self.selectors[at].cps.handle_advertisement(&agent, advertisement, now, theirs);
                }
            }
            Event::Down(instruction) => {
                if !self.selectors[at].cut.1 {
                    self.sma.handle_instruction(&name, instruction, now, wall);
                }
            }
            Event::Open => {
                if self.selectors[at].cut != (false, false) {
                    self.sma.handle_disconnected(&name, now, wall);
                } else {
                    self.counter += 1;
                    self.selectors[at].connection = Some(self.counter);
                    self.sma.handle_connected(&name, now, wall);
                    self.selectors[at].cps.handle_agent_connected(&agent, now).unwrap();
                }
            }
            Event::Refused => self.sma.handle_disconnected(&name, now, wall),
            Event::SmaCloses => {
                // Only where no newer connection is there.
                if self.selectors[at].connection.is_none() {
                    self.sma.handle_disconnected(&name, now, wall);
                }
            }
            Event::CpsCloses => {
                if self.selectors[at].connection.is_none() {
                    self.selectors[at].cps.handle_agent_disconnected(&agent, now);
                }
            }
        }
        self.drain();
    }

    /// The next thing that happens until `end`; false if nothing does.
    pub(crate) fn step(&mut self, end: Instant) -> bool {
        let timeout = |at: Option<(Instant, &'static str)>| at.map(|(at, _)| at);
        let mut next = timeout(self.sma.poll_timeout());
        for selector in &self.selectors {
            next = [next, timeout(selector.cps.poll_timeout())].into_iter().flatten().min();
        }
        let message = self.events.first_key_value().map(|((at, _), _)| *at);
        let Some(at) = [next, message].into_iter().flatten().min().filter(|at| *at <= end) else {
            self.now = self.now.max(end);
            return false;
        };
        self.now = self.now.max(at);
        if message.is_some_and(|message| message <= self.now)
            && let Some((_, (of, event))) = self.events.pop_first()
        {
            self.handle(of, event);
            return true;
        }
        let wall = self.wall();
        if timeout(self.sma.poll_timeout()).is_some_and(|at| at <= self.now) {
            self.sma.handle_timeout(self.now, wall);
        }
        for selector in &mut self.selectors {
            if timeout(selector.cps.poll_timeout()).is_some_and(|at| at <= self.now) {
                selector.cps.handle_timeout(self.now);
            }
        }
        self.drain();
        true
    }

    pub(crate) fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        let mut steps = 0;
        while self.step(end) {
            steps += 1;
            assert!(steps < 1_000_000, "it never comes to rest");
        }
    }

    /// Nothing is lost, cut or slow any more.
    pub(crate) fn heal(&mut self) {
        self.link = Link { lost: 0, delay: 0 };
        for selector in &mut self.selectors {
            selector.cut = (false, false);
        }
    }

    /// What a C-PS believes of the C-SMA.
    pub(crate) fn believed(&self, at: usize) -> Vec<MetricRecord> {
        self.selectors[at].cps.advertised(&node(AGENT)).cloned().collect()
    }

    /// What it should believe.
    pub(crate) fn view(&self, at: usize) -> Vec<MetricRecord> {
        let scope = &self.config.peers[at].scope;
        self.sma.records(None).filter(|record| scope.covers(record.cs_id)).cloned().collect()
    }

    pub(crate) fn peer(&self, at: usize) -> PeerView {
        self.sma.peers().nth(at).unwrap()
    }

    pub(crate) fn agent(&self, at: usize) -> cats_engine_core::cps::AgentView {
        self.selectors[at].cps.agents().next().unwrap()
    }
}
