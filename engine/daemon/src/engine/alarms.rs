//! The conditions that stand, and that someone should act on: told by the roles as they begin and end, or seen when this
//! program looks, and shown as entries of the node's list of alarms.

mod agent;
mod selector;

use super::{Engine, Now};
use crate::plane::Plane;
use cats_engine_core::sma::InstanceKey;
use cats_engine_types::NodeId;
use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime};

/// How long an alarm stands after the last of the things that happen rather than stand, such as a sender that did not
/// prove who it is.
const AFTER: Duration = Duration::from_secs(600);

/// Words that differ in nothing but what is counted are not told anew before so long: each is an entry of the alarm's
/// history.
const WORDS: Duration = Duration::from_secs(60);

/// How often is looked for what no machine tells of.
const LOOK: Duration = Duration::from_secs(1);

/// What an alarm is about: places in the model, below the container of this software.
const FORWARDER: &str = "cats-forwarder:forwarder";
const CERTIFICATES: &str = "cats-system:system/certificates";
const SELECTOR: &str = "cats-cps:path-selector";
const AGENT: &str = "cats-sma:metric-agent";

/// The instance path of a place.
fn place(below: &str) -> String {
    format!("/ietf-routing:routing/ietf-cats:cats/{below}")
}

/// That of an entry of a list by its name, which has no quotes.
fn entry(list: &str, node: &NodeId) -> String {
    place(&format!("{list}[node-id='{node}']"))
}

/// What kind of condition it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// The data plane is not as configured.
    DataPlane,
    /// Keys, certificates or addresses that are configured cannot be used.
    Unusable,
    /// The path selector has as many flows as it may.
    FlowLimit,
    /// Ingresses could not install what was decided.
    BindingFailure,
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

/// How bad it is, in the words of RFC 8632.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Severity {
    Warning,
    Minor,
    Major,
    Critical,
}

impl Severity {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Warning => "warning",
            Self::Minor => "minor",
            Self::Major => "major",
            Self::Critical => "critical",
        }
    }
}

impl Kind {
    /// Its identity in the module `cats-alarms`.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::DataPlane => "data-plane-fault",
            Self::Unusable => "unusable",
            Self::FlowLimit => "flow-limit",
            Self::BindingFailure => "binding-failure",
            Self::ClockSkew => "agent-clock-skew",
            Self::Silent => "agent-silent",
            Self::RecordLimit => "record-limit",
            Self::InstanceClocks => "instance-clock-skew",
            Self::Overload => "report-overload",
            Self::Authentication => "authentication-failure",
            Self::Unauthorised => "unauthorised-report",
            Self::Quarantine => "quarantine",
            Self::CacheFull => "cache-full",
            Self::Unreachable => "path-selector-unreachable",
            Self::BufferOverrun => "buffer-overrun",
        }
    }

    pub(super) fn severity(self) -> Severity {
        match self {
            Self::DataPlane => Severity::Critical,
            Self::Unusable
            | Self::FlowLimit
            | Self::BindingFailure
            | Self::ClockSkew
            | Self::Silent
            | Self::Unreachable => Severity::Major,
            Self::RecordLimit
            | Self::InstanceClocks
            | Self::Overload
            | Self::CacheFull
            | Self::BufferOverrun => Severity::Minor,
            Self::Authentication | Self::Unauthorised | Self::Quarantine => Severity::Warning,
        }
    }

    /// Whether it is of things that happen: it stands for a while after the last one.
    fn happens(self) -> bool {
        matches!(self, Self::Authentication | Self::Unauthorised | Self::BindingFailure)
    }
}

/// One condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Standing {
    pub(super) since: SystemTime,
    pub(super) text: String,
    /// Since when these words stand.
    worded: Instant,
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
    /// It stands from now on, if it did not before; the words are the newest, or not much older, and are given how often it
    /// was told of.
    fn raise(&mut self, kind: Kind, resource: &str, text: impl FnOnce(u64) -> String, now: Now) {
        let of_kind = self.standing.entry(kind).or_default();
        match of_kind.get_mut(resource).filter(|standing| stands(kind, standing, now)) {
            Some(standing) => {
                standing.times = standing.times.saturating_add(1);
                standing.last = now.at;
                if now.at.saturating_duration_since(standing.worded) >= WORDS {
                    let words = text(standing.times);
                    if words != standing.text {
                        (standing.text, standing.worded) = (words, now.at);
                    }
                }
            }
            None => {
                let (worded, last) = (now.at, now.at);
                let standing = Standing { since: now.wall, text: text(1), worded, times: 1, last };
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
    /// Looks for what no machine tells of as it begins and ends, unless that was done just now. True where it was.
    pub(super) fn observe(&mut self, now: Now) -> bool {
        let due = |looked: Instant| now.at.saturating_duration_since(looked) >= LOOK;
        let looks = self.alarms.looked.is_none_or(due);
        if looks {
            self.look(now);
        }
        looks
    }

    /// The same at once, so that what is shown is what holds.
    pub(super) fn look(&mut self, now: Now) {
        let Self { alarms, forwarder, agent, network, .. } = self;
        alarms.looked = Some(now.at);
        let fault = forwarder.as_ref().and_then(|role| role.fault.as_ref()).map(|(fault, _)| {
            let text = format!("the data plane is not as configured, and tried again: {fault}");
            (place(FORWARDER), text)
        });
        alarms.only(Kind::DataPlane, fault, now);
        let faults = network.faults();
        let unusable = (!faults.is_empty()).then(|| {
            let text =
                format!("what is configured cannot be used, and is tried again: {}", faults.join("; "));
            (place(CERTIFICATES), text)
        });
        alarms.only(Kind::Unusable, unusable, now);
        alarms.look_at_agent(agent.as_ref(), now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cats_engine_core::sma::{Alarm, AuditKind, AuditRecord, AuthenticationFailure};
    use cats_engine_types::{CsId, CsciId, UnixMicros};
    use std::time::UNIX_EPOCH;

    fn at(begin: Instant, seconds: u64) -> Now {
        let after = Duration::from_secs(seconds);
        Now { at: begin + after, wall: UNIX_EPOCH + after }
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
    fn an_alarm_keeps_its_begin_and_takes_new_words_once_a_minute() {
        let (mut alarms, begin) = (Alarms::default(), Instant::now());
        let found = |text: &str| Some((place(FORWARDER), text.to_owned()));
        for (second, text, told) in
            [(1, "one", "one"), (5, "two", "one"), (61, "three", "three"), (70, "four", "three")]
        {
            alarms.only(Kind::DataPlane, found(text), at(begin, second));
            let shown = standing(&alarms, at(begin, second));
            assert_eq!(shown, [("data-plane-fault", place(FORWARDER), 1, told.to_owned())]);
        }
        alarms.only(Kind::DataPlane, None, at(begin, 70));
        assert_eq!(standing(&alarms, at(begin, 70)), []);
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
        alarms.follow_audit(&record, at(begin, 1));
        alarms.follow_audit(&record, at(begin, 500));
        let shown = standing(&alarms, at(begin, 1099));
        assert_eq!((shown.len(), shown[0].0, shown[0].2), (1, "authentication-failure", 1));
        assert!(
            shown[0].3.contains("(2 so far)") && shown[0].3.contains("192.0.2.7:4000 as 7: the token"),
            "{shown:?}"
        );
        assert_eq!(standing(&alarms, at(begin, 1100)), [], "600 s after the last one");
        alarms.follow_audit(&record, at(begin, 2000));
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
            alarms.follow_agent(&alarm(number), true, at(begin, number.into()));
        }
        alarms.follow_agent(&alarm(5), true, at(begin, 61));
        let shown = standing(&alarms, at(begin, 61));
        assert_eq!((shown.len(), shown[0].0, shown[0].2), (1, "instance-clock-skew", 1));
        let text = &shown[0].3;
        assert!(text.contains("3 of service 1 by 3600s ahead, and 2 more"), "{text}");
        for number in 1..=5 {
            assert_eq!(standing(&alarms, at(begin, 9)).len(), 1);
            alarms.follow_agent(&alarm(number), false, at(begin, 9));
        }
        assert_eq!(standing(&alarms, at(begin, 9)), []);
    }
}
