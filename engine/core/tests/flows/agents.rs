//! What a C-SMA says decides on new flows, and ends no established one.

use crate::domain::{
    A, B, Domain, config, cs_id, csci, events, node, path_for, path_request, record, refusal,
};
use cats_engine_core::cps::{AgentConfig, CpsConfig, FlowState, Source};
use cats_engine_core::scope::Scope;
use cats_engine_types::{
    Advertisement, AdvertisementContent, Binding, BindingEvent, Freshness, Gas, Generation, Health,
    MetricRecord, Micros, PathReply, RequestFailure, Sample, UnixMicros, Withdrawal, WithdrawalReason,
};
use std::time::Duration;

fn with_agents() -> CpsConfig {
    let agent = |name: &str| AgentConfig {
        node: node(name),
        scope: Scope::All,
        egresses: Vec::new(),
        min_interval: None,
    };
    CpsConfig { agents: vec![agent("SMA-1"), agent("SMA-2")], ..config() }
}

/// A domain without static metrics, and one C-SMA whose messages are numbered.
struct Site {
    domain: Domain,
    start: std::time::Instant,
    sequence: u64,
}

impl Site {
    fn new() -> Self {
        Self::with(CpsConfig { metrics: Vec::new(), ..with_agents() })
    }

    fn with(config: CpsConfig) -> Self {
        let domain = Domain::with(config);
        let start = domain.now;
        Self { domain, start, sequence: 0 }
    }

    fn wall(&self) -> UnixMicros {
        let elapsed = self.domain.now.saturating_duration_since(self.start);
        UnixMicros(1_800_000_000_000_000 + u64::try_from(elapsed.as_micros()).unwrap())
    }

    fn record(&self, instance: u32, gas: u32, health: Health) -> MetricRecord {
        MetricRecord { taken: self.wall(), ..record(instance, gas, health) }
    }

    fn say(&mut self, content: AdvertisementContent) {
        let since = self.sequence;
        self.sequence += 1;
        let freshness = Freshness { epoch: 1, sequence: self.sequence };
        let (timestamp, agent) = (self.wall(), node("SMA-1"));
        let advertisement = Advertisement { agent: agent.clone(), freshness, since, timestamp, content };
        let now = self.domain.now;
        self.domain.cps.handle_advertisement(&agent, advertisement, now, timestamp).unwrap();
        self.domain.outputs();
        self.domain.settle();
    }

    fn whole(&mut self, records: Vec<MetricRecord>) {
        self.say(AdvertisementContent::Snapshot { part: 0, last: true, records });
    }

    fn change(&mut self, record: MetricRecord) {
        self.say(AdvertisementContent::Delta { records: vec![record], withdrawals: Vec::new() });
    }

    fn both(&mut self, gas: u32) {
        let records = [A, B].map(|instance| self.record(instance, gas, Health::Healthy));
        self.whole(records.to_vec());
    }

    /// The instance that a new flow is bound to.
    fn chosen(&mut self, port: u16) -> Binding {
        self.domain.active(port)
    }

    fn refused(&mut self, port: u16) -> (RequestFailure, Vec<String>) {
        let request = self.domain.request(port);
        let outputs = self.domain.send(&request);
        let decision = self.domain.cps.decisions().next().unwrap();
        let words = decision.candidates.iter().map(|candidate| candidate.verdict.to_string()).collect();
        (refusal(&outputs), words)
    }
}

/// Proves CP-17, CP-30.
#[test]
fn when_a_site_has_no_slots_or_does_not_serve_new_flows_go_elsewhere_and_established_ones_stay() {
    let full: fn(&mut Site) = |site| {
        let record = site.record(B, 0, Health::Healthy);
        site.change(record);
    };
    let unhealthy: fn(&mut Site) = |site| {
        let record = site.record(B, 0, Health::Unhealthy);
        site.change(record);
    };
    let withdrawn: fn(&mut Site) = |site| {
        let (cs_id, csci_id) = (cs_id(1), csci(B));
        let withdrawals = vec![Withdrawal { cs_id, csci_id, reason: WithdrawalReason::Failed }];
        site.say(AdvertisementContent::Delta { records: Vec::new(), withdrawals });
    };
    let left_out: fn(&mut Site) = |site| {
        let record = site.record(A, 5, Health::Healthy);
        site.whole(vec![record]);
    };
    for way in [full, unhealthy, withdrawn, left_out] {
        let mut site = Site::new();
        site.both(5);
        assert_eq!(site.chosen(1).forward.csci_id, csci(B));
        let generation = site.domain.cps.cst().generation();
        way(&mut site);
        assert!(site.domain.cps.cst().generation() > generation);
        assert_eq!(site.chosen(2).forward.csci_id, csci(A));
        site.domain.pass(Duration::from_secs(20));
        assert_eq!(site.domain.state(1), FlowState::Active);
        assert!(events(&site.domain.outputs()).is_empty());
        site.both(5);
        assert_eq!(site.chosen(3).forward.csci_id, csci(B));
    }
}

/// Proves CP-25.
#[test]
fn a_site_that_falls_silent_gets_no_new_flow_once_its_records_expire() {
    let mut site = Site::new();
    site.both(5);
    site.chosen(1);
    site.domain.pass(Duration::from_millis(59_999));
    site.chosen(2);
    site.domain.pass(Duration::from_millis(1));
    let (failure, words) = site.refused(3);
    assert_eq!((failure, words), (RequestFailure::NoCandidate, vec!["its metrics expired".to_owned(); 2]));
    assert_eq!((site.domain.state(1), site.domain.state(2)), (FlowState::Active, FlowState::Active));
    // A refresh says that they hold on.
    site.say(AdvertisementContent::Refresh);
    site.chosen(4);
    site.domain.pass(Duration::from_secs(59));
    site.chosen(5);
}

/// Proves CP-2.
#[test]
fn the_record_of_the_agent_selects_before_that_of_the_configuration() {
    let mut site = Site::with(with_agents());
    assert_eq!(site.chosen(1).forward.csci_id, csci(B));
    let slow = MetricRecord {
        sample: Sample { computing_time: Micros(50_000), ..site.record(B, 5, Health::Healthy).sample },
        valid_for: Duration::from_secs(10),
        ..site.record(B, 5, Health::Healthy)
    };
    site.whole(vec![slow]);
    assert_eq!(site.chosen(2).forward.csci_id, csci(A));
    let records = site.domain.cps.records(cs_id(1), csci(B), site.domain.now);
    let seen: Vec<_> = records.iter().map(|record| (record.agent.cloned(), record.selects)).collect();
    assert_eq!(seen, [(Some(node("SMA-1")), true), (None, false)]);
    // Expired it no longer does.
    site.domain.pass(Duration::from_secs(10));
    assert_eq!(site.chosen(3).forward.csci_id, csci(B));
    let row = site.domain.cps.cst().row(cs_id(1), csci(B)).unwrap();
    let selecting = site.domain.cps.cst().selecting(row, site.domain.now).unwrap();
    assert_eq!(selecting.source, Source::Static);
}

/// Proves CP-2, CP-27.
#[test]
fn a_source_that_is_not_authorised_makes_no_candidate_and_the_decision_says_so() {
    let mut config = CpsConfig { metrics: Vec::new(), ..with_agents() };
    config.agents[0].egresses = vec![node("EF-1")];
    let mut site = Site::with(config.clone());
    site.both(5);
    assert_eq!(site.chosen(1).forward.csci_id, csci(A));
    let decision = site.domain.cps.decisions().next().unwrap();
    assert_eq!(decision.candidates[1].verdict.to_string(), "the source of its metrics is not authorised");
    config.agents[0].egresses.clear();
    let now = site.domain.now;
    site.domain.cps.configure(config, now);
    site.domain.settle();
    assert_eq!(site.chosen(2).forward.csci_id, csci(B));
}

/// Proves CP-22.
#[test]
fn a_reservation_counts_until_the_first_report_taken_after_the_binding_was_active() {
    let mut site = Site::new();
    let only_b = |site: &Site, gas| vec![site.record(B, gas, Health::Healthy)];
    let records = only_b(&site, 2);
    site.whole(records);
    let held = |site: &Site| site.domain.held(B);
    // In set-up, and ACTIVE.
    let binding = site.domain.ready(1);
    site.domain.pass(Duration::from_millis(10));
    let early = site.record(B, 2, Health::Healthy);
    site.domain.pass(Duration::from_millis(10));
    site.domain.status("IF-1", binding.transaction, binding.forward.key, BindingEvent::Installed);
    assert_eq!(held(&site), 1);
    // A report from before it was ACTIVE does not have it, however late it comes.
    site.domain.pass(Duration::from_secs(1));
    site.change(early);
    assert_eq!(held(&site), 1);
    site.chosen(2);
    assert_eq!(held(&site), 2);
    let (failure, words) = site.refused(3);
    assert_eq!(failure, RequestFailure::NoCandidate);
    assert_eq!(words[1], "slots 2 less 2 reserved, 1 wanted");
    // The next report has both; the slots that it tells of are free.
    site.domain.pass(Duration::from_secs(1));
    let report = site.record(B, 1, Health::Healthy);
    site.change(report);
    assert_eq!(held(&site), 0);
    site.chosen(4);
    assert_eq!((held(&site), site.domain.cps.reservations().count()), (1, 3));
    let counting = site.domain.cps.reservations().filter(|held| held.counts).count();
    assert_eq!(counting, 1);
    // The end of a flow that a report has frees nothing; the next report will tell.
    site.domain.removed(&binding, cats_engine_types::RemovalReason::Idle);
    assert_eq!(held(&site), 1);
    // Without a report they count to the end.
    assert_eq!(site.domain.cps.cst().row(cs_id(1), csci(B)).unwrap().held, 2);
}

/// A report that a slow clock dates too early, and one that was long under way, account for no flow too many.
///
/// Proves CP-22.
#[test]
fn of_two_readings_of_a_reports_time_the_earlier_one_counts() {
    for (skew, delay) in [(20_000_000i64, 0u64), (-20_000_000, 0), (0, 20_000_000)] {
        let mut site = Site::new();
        site.both(5);
        site.domain.pass(Duration::from_secs(1));
        // It was taken a second before the binding was ACTIVE.
        let mut report = site.record(B, 4, Health::Healthy);
        let taken = site.wall().0;
        site.domain.pass(Duration::from_secs(1));
        site.chosen(1);
        site.domain.pass(Duration::from_micros(delay));
        report.taken = UnixMicros(taken.saturating_add_signed(skew));
        site.sequence += 1;
        let message = Advertisement {
            agent: node("SMA-1"),
            freshness: Freshness { epoch: 1, sequence: site.sequence },
            since: site.sequence - 1,
            timestamp: UnixMicros((site.wall().0 - delay).saturating_add_signed(skew)),
            content: AdvertisementContent::Delta { records: vec![report], withdrawals: Vec::new() },
        };
        let (now, wall) = (site.domain.now, site.wall());
        site.domain.cps.handle_advertisement(&node("SMA-1"), message, now, wall).unwrap();
        assert_eq!(site.domain.held(B), 1, "skew {skew}, delay {delay}");
    }
}

#[test]
fn a_flow_that_is_asked_for_anew_stays_where_it_is_although_the_site_is_full() {
    let mut site = Site::new();
    site.both(5);
    assert_eq!(site.chosen(1).forward.csci_id, csci(B));
    let record = site.record(B, 0, Health::Unhealthy);
    site.change(record);
    let again = site.domain.request(1);
    let asked = path_request(&site.domain.send(&again));
    assert_eq!(asked.endpoint, node("EF-2"));
    let outcome = Ok(path_for(&asked, 1));
    site.domain.reply(PathReply { transaction: asked.transaction, outcome });
    assert_eq!(site.domain.state(1), FlowState::BindingReady);
}

/// Proves CP-13, CP-30.
#[test]
fn the_decision_names_the_generation_that_a_report_made_and_topology_has_its_own() {
    let mut site = Site::new();
    site.both(5);
    let generations = |site: &mut Site, port| {
        site.chosen(port);
        let decision = site.domain.cps.decisions().next().unwrap();
        (decision.generations.cst, decision.generations.nst, decision.generations.ted)
    };
    let (cst, nst, _) = generations(&mut site, 1);
    let report = site.record(B, 4, Health::Healthy);
    site.change(report);
    assert_eq!(generations(&mut site, 2), (cst.next(), nst, Some(Generation(1))));
    assert_eq!(
        site.domain.cps.cst().row(cs_id(1), csci(B)).and_then(|row| row.records().next()).map(|r| r.gas()),
        Some(Gas::Slots(4))
    );
}
