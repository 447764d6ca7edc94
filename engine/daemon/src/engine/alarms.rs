//! The conditions that stand, and that someone should act on: told by the roles as they begin and end, or seen when this
//! program looks, and shown as entries of the node's list of alarms.

mod agent;
mod selector;

use super::{Engine, Now};
use crate::plane::Plane;
use cats_engine_core::sma::InstanceKey;
use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime};

/// How long an alarm stands after the last of the things that happen rather than stand, such as a sender that did not
/// prove who it is.
const AFTER: Duration = Duration::from_secs(600);

/// How often is looked for what no machine tells of.
const LOOK: Duration = Duration::from_secs(1);

/// What kind of condition it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// The data plane is not as configured.
    DataPlane,
    /// Keys, certificates or addresses that are configured cannot be used.
    Unusable,
    /// The path selector has as many flows as it may.
    FlowLimit,
    /// The clock of a metric agent is off.
    ClockSkew,
    /// A metric agent is not heard of.
    Silent,
    /// A metric agent advertises more than is taken.
    RecordLimit,
    /// Clocks of contact instances are off.
    InstanceClocks,
    /// Contact instances report faster than reports are taken in.
    Overload,
    /// Senders of reports do not prove who they are.
    Authentication,
    /// Senders report of what they may not.
    Unauthorised,
    /// Reports wait for an operator.
    Quarantine,
    /// There is no room for metrics of another contact instance.
    CacheFull,
    /// A path selector is not reached.
    Unreachable,
    /// Changes for a path selector were dropped.
    BufferOverrun,
}

impl Kind {
    /// Its name in YANG. It never changes: programs look for it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::DataPlane => "data-plane-fault",
            Self::Unusable => "unusable",
            Self::FlowLimit => "flow-limit",
            Self::ClockSkew => "clock-skew",
            Self::Silent => "silent",
            Self::RecordLimit => "record-limit",
            Self::InstanceClocks => "instance-clock-skew",
            Self::Overload => "report-overload",
            Self::Authentication => "authentication-failure",
            Self::Unauthorised => "unauthorised-report",
            Self::Quarantine => "quarantine",
            Self::CacheFull => "cache-full",
            Self::Unreachable => "unreachable",
            Self::BufferOverrun => "buffer-overrun",
        }
    }

    /// Whether it is of things that happen: it stands for a while after the last one.
    fn happens(self) -> bool {
        matches!(self, Self::Authentication | Self::Unauthorised)
    }
}

/// One condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Standing {
    pub(super) since: SystemTime,
    pub(super) text: String,
    /// How often it was told of, and when last.
    times: u64,
    last: Instant,
}

/// All that stand, by kind and by what they are about. What they are about is of the configuration, which so bounds them.
#[derive(Debug, Default)]
pub(super) struct Alarms {
    standing: BTreeMap<Kind, BTreeMap<String, Standing>>,
    /// How far the clocks of contact instances are off, and whether they are ahead. The cache bounds these.
    skewed: BTreeMap<InstanceKey, (Duration, bool)>,
    looked: Option<Instant>,
}

impl Alarms {
    /// It stands from now on, if it did not before; the words are the newest, and are given how often it was told of.
    fn raise(&mut self, kind: Kind, resource: &str, text: impl FnOnce(u64) -> String, now: Now) {
        let of_kind = self.standing.entry(kind).or_default();
        match of_kind.get_mut(resource).filter(|standing| stands(kind, standing, now)) {
            Some(standing) => {
                standing.times = standing.times.saturating_add(1);
                standing.text = text(standing.times);
                standing.last = now.at;
            }
            None => {
                let standing = Standing { since: now.wall, text: text(1), times: 1, last: now.at };
                of_kind.insert(resource.to_owned(), standing);
            }
        }
    }

    /// It is over, if it stood.
    fn clear(&mut self, kind: Kind, resource: &str) {
        if let Some(of_kind) = self.standing.get_mut(&kind) {
            of_kind.remove(resource);
        }
    }

    /// Of this kind there is this one and no other.
    fn only(&mut self, kind: Kind, found: Option<(String, String)>, now: Now) {
        let Some((resource, text)) = found else {
            self.standing.remove(&kind);
            return;
        };
        self.standing.entry(kind).or_default().retain(|known, _| *known == resource);
        self.raise(kind, &resource, |_| text, now);
    }

    /// All of these kinds are over.
    fn end(&mut self, kinds: &[Kind]) {
        self.standing.retain(|kind, _| !kinds.contains(kind));
    }

    /// All of them, by kind and by what they are about.
    pub(super) fn iter(&self, now: Now) -> impl Iterator<Item = (Kind, &str, &Standing)> {
        let all = self.standing.iter().flat_map(|(kind, of_kind)| {
            of_kind.iter().map(move |(resource, standing)| (*kind, resource.as_str(), standing))
        });
        all.filter(move |(kind, _, standing)| stands(*kind, standing, now))
    }
}

fn stands(kind: Kind, standing: &Standing, now: Now) -> bool {
    !kind.happens() || now.at.saturating_duration_since(standing.last) < AFTER
}

impl<P: Plane> Engine<P> {
    /// Looks for what no machine tells of as it begins and ends, unless that was done just now.
    pub(super) fn observe(&mut self, now: Now) {
        let due = |looked: Instant| now.at.saturating_duration_since(looked) >= LOOK;
        if self.alarms.looked.is_none_or(due) {
            self.look(now);
        }
    }

    /// The same at once, so that what is shown is what holds.
    pub(super) fn look(&mut self, now: Now) {
        let Self { alarms, forwarder, agent, network, .. } = self;
        alarms.looked = Some(now.at);
        let faulty =
            forwarder.as_ref().and_then(|role| Some((role.fault.as_ref()?, &role.desired.config.node)));
        let fault = faulty.map(|((fault, _), node)| {
            let text = format!("the data plane is not as configured, and tried again: {fault}");
            (format!("cats:fwd:{node}"), text)
        });
        alarms.only(Kind::DataPlane, fault, now);
        let faults = network.faults();
        let unusable = (!faults.is_empty()).then(|| {
            let text =
                format!("what is configured cannot be used, and is tried again: {}", faults.join("; "));
            ("network".to_owned(), text)
        });
        alarms.only(Kind::Unusable, unusable, now);
        alarms.look_at_agent(agent.as_ref(), now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cats_engine_core::sma::{Alarm, AuditKind, AuditRecord, AuthenticationFailure};
    use cats_engine_types::{CsId, CsciId, NodeId, UnixMicros};
    use std::time::UNIX_EPOCH;

    fn at(begin: Instant, seconds: u64) -> Now {
        let after = Duration::from_secs(seconds);
        Now { at: begin + after, wall: UNIX_EPOCH + after }
    }

    fn agent() -> NodeId {
        "SMA-1".parse().unwrap()
    }

    /// What stands, since when, in how many words.
    fn standing(alarms: &Alarms, now: Now) -> Vec<(&'static str, String, u64, String)> {
        let seconds = |since: SystemTime| since.duration_since(UNIX_EPOCH).unwrap().as_secs();
        alarms
            .iter(now)
            .map(|(kind, resource, standing)| {
                (kind.name(), resource.to_owned(), seconds(standing.since), standing.text.clone())
            })
            .collect()
    }

    #[test]
    fn an_alarm_keeps_its_begin_and_takes_the_newest_words() {
        let (mut alarms, begin) = (Alarms::default(), Instant::now());
        let found = |text: &str| Some(("cats:fwd:N".to_owned(), text.to_owned()));
        alarms.only(Kind::DataPlane, found("one"), at(begin, 1));
        alarms.only(Kind::DataPlane, found("two"), at(begin, 5));
        let shown = standing(&alarms, at(begin, 9));
        assert_eq!(shown, [("data-plane-fault", "cats:fwd:N".to_owned(), 1, "two".to_owned())]);
        alarms.only(Kind::DataPlane, None, at(begin, 9));
        assert_eq!(standing(&alarms, at(begin, 9)), []);
    }

    /// Proves SMA-28.
    #[test]
    fn who_did_not_prove_who_it_is_is_an_alarm_until_nobody_was_for_a_while() {
        let (mut alarms, begin) = (Alarms::default(), Instant::now());
        let failure = AuthenticationFailure {
            peer: "192.0.2.7:4000".to_owned(),
            claimed: Some(CsciId::number(7).unwrap()),
            reason: "the token is expired".to_owned(),
        };
        let record = AuditRecord {
            number: 1,
            at: UnixMicros(0),
            kind: AuditKind::Authentication(failure),
            left_out: 0,
        };
        alarms.follow_audit(&agent(), &record, at(begin, 1));
        alarms.follow_audit(&agent(), &record, at(begin, 500));
        let shown = standing(&alarms, at(begin, 1099));
        assert_eq!((shown.len(), shown[0].0, shown[0].2), (1, "authentication-failure", 1));
        assert!(
            shown[0].3.contains("(2 so far)") && shown[0].3.contains("192.0.2.7:4000 as 7: the token"),
            "{shown:?}"
        );
        assert_eq!(standing(&alarms, at(begin, 1100)), [], "600 s after the last one");
        alarms.follow_audit(&agent(), &record, at(begin, 2000));
        let anew = standing(&alarms, at(begin, 2001));
        assert_eq!((anew[0].2, anew[0].3.contains("(1 so far)")), (2000, true), "{anew:?}");
    }

    #[test]
    fn clocks_of_many_instances_are_one_alarm_that_names_some_and_ends_with_the_last() {
        let (mut alarms, begin) = (Alarms::default(), Instant::now());
        let alarm = |number: u32| {
            let csci_id = CsciId::number(number).unwrap();
            let key = InstanceKey { cs_id: CsId::number(1).unwrap(), csci_id };
            Alarm::ClockSkew { key, by: Duration::from_secs(3600), ahead: true }
        };
        for number in 1..=5 {
            alarms.follow_agent(&agent(), &alarm(number), true, at(begin, number.into()));
        }
        let shown = standing(&alarms, at(begin, 9));
        assert_eq!((shown.len(), shown[0].0, shown[0].2), (1, "instance-clock-skew", 1));
        let text = &shown[0].3;
        assert!(text.contains("3 of service 1 by 3600s ahead, and 2 more"), "{text}");
        for number in 1..=5 {
            assert_eq!(standing(&alarms, at(begin, 9)).len(), 1);
            alarms.follow_agent(&agent(), &alarm(number), false, at(begin, 9));
        }
        assert_eq!(standing(&alarms, at(begin, 9)), []);
    }
}
