//! What a C-PS takes of a C-SMA, and what it says to the rest.

use crate::world::{cs_id, csci, node, only, record};
use cats_engine_core::cps::{
    AdvertisementError, AgentAlarm, AgentConfig, AgentPhase, AgentView, Cps, CpsConfig, Event,
    InstanceConfig, Output, Policy, Precedence, ServiceConfig,
};
use cats_engine_core::scope::Scope;
use cats_engine_types::{
    Advertisement, AdvertisementContent, AgentInstruction, Constraints, Epoch, Freshness, MetricRecord,
    SynchronisationCause, UnixMicros,
};
use std::time::{Duration, Instant};

const SECOND: u64 = 1_000_000;
const WALL: u64 = 1_800_000_000 * SECOND;

struct Bed {
    cps: Cps,
    config: CpsConfig,
    now: Instant,
    elapsed: u64,
    sequence: u64,
    epoch: u64,
}

impl Bed {
    fn new() -> Self {
        let agent = |name: &str| AgentConfig {
            node: node(name),
            scope: Scope::All,
            egresses: Vec::new(),
            min_interval: None,
        };
        let config = CpsConfig { agents: vec![agent("SMA-1"), agent("SMA-2")], ..CpsConfig::default() };
        let now = Instant::now();
        let mut cps = Cps::new(Epoch(1), now);
        cps.configure(config.clone(), now);
        Self { cps, config, now, elapsed: 0, sequence: 0, epoch: 1 }
    }

    fn configure(&mut self) {
        self.cps.configure(self.config.clone(), self.now);
    }

    fn wall(&self) -> UnixMicros {
        UnixMicros(WALL + self.elapsed)
    }

    fn pass(&mut self, seconds: u64) {
        let end = self.now + Duration::from_secs(seconds);
        while let Some((at, _)) = self.cps.poll_timeout().filter(|(at, _)| *at <= end) {
            self.now = self.now.max(at);
            self.cps.handle_timeout(self.now);
        }
        self.now = end;
        self.elapsed += seconds * SECOND;
    }

    /// The next message of SMA-1.
    fn message(&mut self, content: AdvertisementContent) -> Advertisement {
        let since = self.sequence;
        self.sequence += 1;
        let freshness = Freshness { epoch: self.epoch, sequence: self.sequence };
        Advertisement { agent: node("SMA-1"), freshness, since, timestamp: self.wall(), content }
    }

    fn hand(&mut self, advertisement: Advertisement) -> Result<(), AdvertisementError> {
        let wall = self.wall();
        self.cps.handle_advertisement(&node("SMA-1"), advertisement, self.now, wall)
    }

    fn say(&mut self, content: AdvertisementContent) {
        let advertisement = self.message(content);
        self.hand(advertisement).unwrap();
    }

    fn instructions(&mut self) -> Vec<AgentInstruction> {
        let mut instructions = Vec::new();
        while let Some(output) = self.cps.poll_output() {
            if let Output::Instruct { agent, instruction } = output {
                assert_eq!(agent, node("SMA-1"));
                instructions.push(instruction);
            }
        }
        instructions
    }

    fn alarms(&mut self) -> Vec<(AgentAlarm, bool)> {
        let mut alarms = Vec::new();
        while let Some(output) = self.cps.poll_output() {
            match output {
                Output::Event(Event::Agent { agent, alarm, raised }) if agent == node("SMA-1") => {
                    alarms.push((alarm, raised));
                }
                _ => {}
            }
        }
        alarms
    }

    fn view(&self) -> AgentView {
        self.cps.agents().find(|agent| agent.node == node("SMA-1")).unwrap()
    }

    fn known(&self) -> Vec<u32> {
        let advertised = self.cps.advertised(&node("SMA-1"));
        advertised.filter_map(|record| record.csci_id.as_number()).collect()
    }
}

fn whole(records: Vec<MetricRecord>) -> AdvertisementContent {
    AdvertisementContent::Snapshot { part: 0, last: true, records }
}

fn change(records: Vec<MetricRecord>) -> AdvertisementContent {
    AdvertisementContent::Delta { records, withdrawals: Vec::new() }
}

/// Proves SMA-20, CP-27.
#[test]
fn a_message_is_taken_within_30_seconds_of_the_clock_and_not_beyond() {
    let mut bed = Bed::new();
    bed.say(whole(vec![record(1, 1, 5)]));
    for (offset, taken) in [(30, true), (-30, true), (31, false), (-31, false), (3600, false), (-3600, false)]
    {
        let mut message = bed.message(change(vec![record(1, 2, 5)]));
        message.timestamp = UnixMicros(bed.wall().0.saturating_add_signed(offset * 1_000_000));
        let result = bed.hand(message);
        assert_eq!(result.is_ok(), taken, "{offset} s: {result:?}");
    }
    assert_eq!(bed.view().counters.outside_window, 4);
    assert_eq!(bed.view().counters.accepted, 3);
}

/// Proves SMA-20.
#[test]
fn an_alarm_tells_of_clocks_an_hour_apart_and_ends_with_the_next_message_in_time() {
    for (offset, says) in [(3600, "1h"), (-3600, "old")] {
        let mut bed = Bed::new();
        bed.say(whole(Vec::new()));
        bed.alarms();
        let mut skewed = bed.message(AdvertisementContent::Refresh);
        skewed.timestamp = UnixMicros(bed.wall().0.saturating_add_signed(offset * 1_000_000));
        let error = bed.hand(skewed.clone()).unwrap_err();
        let AdvertisementError::Window { offset: found, .. } = error else { panic!("{error:?}") };
        assert_eq!(found, offset * 1_000_000);
        assert!(error.to_string().contains(if offset < 0 { says } else { "ahead" }), "{error}");
        let alarm = AgentAlarm::ClockSkew { offset: offset * 1_000_000 };
        assert_eq!(bed.alarms(), [(alarm, true)]);
        assert_eq!(bed.view().alarms, [alarm]);
        // It is raised once.
        assert!(bed.hand(skewed).is_err());
        assert_eq!(bed.alarms(), []);
        bed.say(whole(Vec::new()));
        assert_eq!(bed.alarms(), [(alarm, false)]);
    }
}

/// Proves SMA-20, CP-27.
#[test]
fn a_nonce_is_taken_once_and_none_of_an_earlier_start() {
    let mut bed = Bed::new();
    bed.say(whole(vec![record(1, 1, 5)]));
    let old = bed.message(change(vec![record(1, 1, 0)]));
    bed.hand(old.clone()).unwrap();
    bed.say(change(vec![record(1, 1, 7)]));
    let error = bed.hand(old.clone()).unwrap_err();
    assert!(matches!(error, AdvertisementError::Repeated { .. }), "{error:?}");
    assert_eq!(error.to_string(), "the message 1-2 of SMA-1 is a repetition or late; 1-3 is known");
    bed.epoch = 2;
    bed.sequence = 0;
    bed.say(whole(vec![record(1, 1, 9)]));
    let mut replay = old;
    replay.freshness.sequence = 900;
    assert!(matches!(bed.hand(replay).unwrap_err(), AdvertisementError::OldEpoch { .. }));
    let slots: Vec<u32> = bed.cps.advertised(&node("SMA-1")).map(|record| record.sample.gas).collect();
    assert_eq!(slots, [9]);
    assert_eq!((bed.view().counters.repeated, bed.view().counters.old_epoch), (1, 1));
}

/// Proves CP-27.
#[test]
fn nobody_speaks_who_is_not_configured_or_in_the_name_of_another() {
    let mut bed = Bed::new();
    let message = bed.message(whole(vec![record(1, 1, 5)]));
    let (now, wall) = (bed.now, bed.wall());
    let error = bed.cps.handle_advertisement(&node("SMA-9"), message.clone(), now, wall).unwrap_err();
    assert!(error.to_string().contains("configure path-selector/agent[node-id='SMA-9']"), "{error}");
    assert!(bed.cps.handle_agent_connected(&node("SMA-9"), now).is_err());
    let error = bed.cps.handle_advertisement(&node("SMA-2"), message, now, wall).unwrap_err();
    assert_eq!(error.to_string(), "SMA-2 advertises in the name of SMA-1");
    assert_eq!(bed.cps.cst().services(), []);
}

/// Proves SMA-23.
#[test]
fn a_message_that_is_missing_leads_to_a_request_for_the_whole_view_until_it_comes() {
    let mut bed = Bed::new();
    bed.cps.handle_agent_connected(&node("SMA-1"), bed.now).unwrap();
    let start = AgentInstruction::Synchronise(SynchronisationCause::Start);
    assert_eq!(bed.instructions(), [start]);
    bed.say(whole(vec![record(1, 1, 5), record(1, 2, 5)]));
    let acknowledged = |sequence| AgentInstruction::Acknowledge(Freshness { epoch: 1, sequence });
    assert_eq!(bed.instructions(), [acknowledged(1)]);
    // One is lost; what comes after it is true all the same, but is not acknowledged.
    bed.message(change(vec![record(1, 2, 0)]));
    bed.say(change(vec![record(1, 1, 6)]));
    let gap = AgentInstruction::Synchronise(SynchronisationCause::Gap);
    assert_eq!(bed.instructions(), std::slice::from_ref(&gap));
    bed.say(AdvertisementContent::Refresh);
    assert_eq!(bed.instructions(), [], "it asks once");
    bed.pass(5);
    assert_eq!(bed.instructions(), std::slice::from_ref(&gap), "and again after five seconds");
    assert_eq!(bed.view().phase, AgentPhase::Lacking);
    bed.say(whole(vec![record(1, 1, 6), record(1, 2, 0)]));
    assert_eq!(bed.instructions(), [acknowledged(5)]);
    bed.pass(30);
    assert_eq!((bed.instructions(), bed.view().phase), (Vec::new(), AgentPhase::Synchronised));
}

/// Proves SMA-23.
#[test]
fn a_message_that_builds_on_what_is_known_makes_up_for_what_is_missing() {
    let mut bed = Bed::new();
    bed.say(whole(vec![record(1, 1, 5)]));
    bed.message(AdvertisementContent::Refresh);
    bed.say(AdvertisementContent::Refresh);
    assert_eq!(bed.view().phase, AgentPhase::Lacking);
    bed.cps.handle_agent_disconnected(&node("SMA-1"), bed.now);
    bed.cps.handle_agent_connected(&node("SMA-1"), bed.now).unwrap();
    let last = bed.instructions().pop().unwrap();
    assert_eq!(last, AgentInstruction::Acknowledge(Freshness { epoch: 1, sequence: 1 }));
    let mut batch = bed.message(change(vec![record(1, 1, 4)]));
    batch.since = 1;
    bed.hand(batch).unwrap();
    assert_eq!(bed.view().phase, AgentPhase::Synchronised);
}

/// Proves SMA-23.
#[test]
fn a_part_that_does_not_follow_breaks_the_snapshot_off_and_what_was_known_stays() {
    let part = |part, last, instance| AdvertisementContent::Snapshot {
        part,
        last,
        records: vec![record(1, instance, 1)],
    };
    let ways: [fn(&mut Bed); 4] = [
        |bed| drop(bed.message(AdvertisementContent::Refresh)),
        |bed| {
            // A change in the midst of it is lost.
            bed.message(change(vec![record(1, 3, 7)]));
        },
        |bed| {
            bed.cps.handle_agent_disconnected(&node("SMA-1"), bed.now);
            bed.cps.handle_agent_connected(&node("SMA-1"), bed.now).unwrap();
        },
        |bed| {
            // It started anew, and its first message was lost.
            bed.epoch += 1;
            bed.sequence = 1;
        },
    ];
    for way in ways {
        let mut bed = Bed::new();
        bed.say(whole(vec![record(1, 9, 1)]));
        bed.say(part(0, false, 1));
        bed.say(part(1, false, 2));
        assert_eq!((bed.known(), bed.view().phase), (vec![9], AgentPhase::Synchronising));
        way(&mut bed);
        bed.say(part(2, true, 3));
        assert_eq!((bed.known(), bed.view().phase), (vec![9], AgentPhase::Lacking));
        assert_eq!(bed.view().counters.abandoned, 1);
        bed.say(part(0, false, 1));
        bed.say(part(1, true, 2));
        assert_eq!((bed.known(), bed.view().phase), (vec![1, 2], AgentPhase::Synchronised));
    }
}

/// Proves SMA-23.
#[test]
fn after_a_restart_a_path_selector_knows_nothing_and_asks() {
    let mut bed = Bed::new();
    bed.say(whole(vec![record(1, 1, 5)]));
    let mut after = Bed { epoch: bed.epoch, sequence: bed.sequence, ..Bed::new() };
    assert_eq!(after.known(), [0; 0]);
    // A message that comes before the request is answered by it.
    after.say(change(vec![record(1, 2, 5)]));
    let start = AgentInstruction::Synchronise(SynchronisationCause::Start);
    assert_eq!((after.instructions(), after.known()), (vec![start], vec![2]));
    after.say(whole(vec![record(1, 1, 5)]));
    assert_eq!(after.known(), [1]);
}

/// Proves CP-2, CP-27.
#[test]
fn an_agent_speaks_only_for_the_services_and_sites_that_the_configuration_gives_it() {
    let mut bed = Bed::new();
    let instance = |number: u32, egress: &str| InstanceConfig {
        csci_id: csci(number),
        enabled: true,
        egress: node(egress),
        v4: None,
        v6: None,
    };
    let service = |number: u32| ServiceConfig {
        cs_id: cs_id(number),
        name: None,
        enabled: true,
        matches: Vec::new(),
        tenants: Vec::new(),
        precedence: Precedence::Reject,
        constraints: Constraints::default(),
        policy: Policy::default(),
        instances: vec![instance(1, "EF-1"), instance(2, "EF-2")],
    };
    bed.config.services = [service(1), service(2)].into_iter().collect();
    bed.config.agents[0].scope = only(&[1]);
    bed.config.agents[0].egresses = vec![node("EF-1")];
    bed.configure();
    bed.say(whole(vec![record(1, 1, 5), record(1, 2, 5), record(2, 1, 5)]));
    let authorised = |bed: &Bed| {
        let one = |service, instance| {
            let records = bed.cps.records(cs_id(service), csci(instance), bed.now);
            assert_eq!(records.len(), 1);
            (records[0].authorised, records[0].selects)
        };
        [one(1, 1), one(1, 2), one(2, 1)]
    };
    let (yes, no) = ((true, true), (false, false));
    assert_eq!(authorised(&bed), [yes, no, no]);
    assert_eq!(bed.view().counters.unauthorised, 2);
    // A change of configuration holds at once, for what was said before too.
    bed.config.agents[0].egresses = vec![node("EF-1"), node("EF-2")];
    bed.configure();
    assert_eq!(authorised(&bed), [yes, yes, no]);
    bed.config.agents[0].scope = Scope::All;
    bed.configure();
    assert_eq!(authorised(&bed), [yes, yes, yes]);
    bed.config.services.get_mut(cs_id(1)).unwrap().instances[1].egress = node("EF-3");
    bed.configure();
    assert_eq!(authorised(&bed), [yes, no, yes]);
    bed.config.agents.remove(0);
    bed.configure();
    assert_eq!(bed.cps.cst().services(), []);
}

#[test]
fn one_agent_has_room_for_so_many_records_and_an_alarm_tells_of_more() {
    let mut bed = Bed::new();
    bed.config.agent_bounds.records = 2;
    bed.configure();
    bed.say(whole(vec![record(1, 1, 5), record(1, 2, 5), record(1, 3, 5)]));
    assert_eq!((bed.known(), bed.alarms()), (vec![1, 2], vec![(AgentAlarm::RecordLimit, true)]));
    bed.say(change(vec![record(1, 2, 6), record(1, 4, 6)]));
    assert_eq!((bed.known(), bed.view().counters.beyond_limit), (vec![1, 2], 2));
    bed.say(whole(vec![record(1, 1, 5)]));
    assert_eq!((bed.known(), bed.alarms()), (vec![1], vec![(AgentAlarm::RecordLimit, false)]));
}

/// Proves CP-25, CP-30.
#[test]
fn a_silent_agent_raises_an_alarm_and_its_records_expire_and_stay_to_be_seen() {
    let mut bed = Bed::new();
    bed.say(whole(vec![record(1, 1, 5)]));
    let generation = bed.cps.cst().generation();
    bed.pass(59);
    let seen = |bed: &Bed| {
        let records = bed.cps.records(cs_id(1), csci(1), bed.now);
        (records[0].valid, records[0].agent.cloned(), records[0].received)
    };
    let (valid, agent, received) = seen(&bed);
    assert_eq!((valid, agent), (true, Some(node("SMA-1"))));
    assert_eq!(bed.now.saturating_duration_since(received.unwrap()), Duration::from_secs(59));
    bed.alarms();
    bed.pass(1);
    assert_eq!((seen(&bed).0, bed.alarms()), (false, vec![(AgentAlarm::Silent, true)]));
    assert_eq!((bed.known(), bed.cps.cst().generation()), (vec![1], generation));
    bed.say(AdvertisementContent::Refresh);
    assert_eq!((seen(&bed).0, bed.alarms()), (true, vec![(AgentAlarm::Silent, false)]));
}
