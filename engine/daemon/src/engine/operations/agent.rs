//! Operations of the metric agent, and of the path selector towards metric agents.

use super::{Job, Reply, answer, fault, path, without_role, written, wrong};
use crate::engine::{Engine, Now};
use crate::plane::Plane;
use cats_engine_core::config::{cs_id, csci_id};
use cats_engine_core::sma::policy::{DryRun, Effect, Policy, PolicyConfig, RuleConfig, Tally};
use cats_engine_core::sma::{InstanceKey, PolicyView, QuarantineId, ReleaseError, Sma};
use cats_engine_transport::management::Fault;
use cats_engine_types::{CsId, CsciId, Health, MetricRecord, NodeId};
use cats_yang_model::generated::ietf_cats;
use cats_yang_model::operation::Operation;
use cats_yang_model::operations::cats_exec::{
    self as model, DropQuarantined, PolicyDryRun, ReleaseQuarantined, Synchronise,
};
use cats_yang_model::{LeafList, List};
use serde_json::Value;

/// Reports in quarantine that one operation looks at.
const REPORTS: usize = 10_000;

/// Refused reports that are told.
const REFUSED: usize = 100;

/// Nodes that are told.
const PEERS: usize = 1000;

/// Instances that rules are tried on in one go.
const STEP: usize = 500;

fn without_agent() -> Vec<Fault> {
    without_role("metric agent", "metric-agent")
}

/// The reports in quarantine that are meant, the oldest first, and whether there are more of them.
struct Meant {
    ids: Vec<QuarantineId>,
    more: bool,
}

/// What became of them.
#[derive(Default)]
struct Reviewed {
    done: u32,
    refused: Vec<ReleaseError>,
    more: bool,
}

impl Reviewed {
    fn told(&self) -> impl Iterator<Item = (u64, Option<String>)> {
        self.refused.iter().take(REFUSED).map(|error| (report_of(error).0, Some(error.to_string())))
    }

    fn omitted(&self) -> u32 {
        u32::try_from(self.refused.len().saturating_sub(REFUSED)).unwrap_or(u32::MAX)
    }
}

impl<P: Plane> Engine<P> {
    pub(super) fn release_quarantined(
        &mut self,
        input: &model::ReleaseQuarantinedInput,
        now: Now,
    ) -> Result<model::ReleaseQuarantinedOutput, Vec<Fault>> {
        let which = (&input.report, input.cs_id, input.csci_id);
        let reviewed =
            self.review::<ReleaseQuarantined>(which, |sma, id| sma.release(id, now.at, now.micros()))?;
        let refused = reviewed.told().map(|(report, reason)| model::Refused { report, reason });
        let (refused, omitted) = (List::of(refused), reviewed.omitted());
        Ok(model::ReleaseQuarantinedOutput { done: reviewed.done, refused, omitted, more: reviewed.more })
    }

    pub(super) fn drop_quarantined(
        &mut self,
        input: &model::DropQuarantinedInput,
        now: Now,
    ) -> Result<model::DropQuarantinedOutput, Vec<Fault>> {
        let which = (&input.report, input.cs_id, input.csci_id);
        let reviewed =
            self.review::<DropQuarantined>(which, |sma, id| sma.drop_quarantined(id, now.at, now.micros()))?;
        let refused = reviewed.told().map(|(report, reason)| model::OutputRefused { report, reason });
        let (refused, omitted) = (List::of(refused), reviewed.omitted());
        Ok(model::DropQuarantinedOutput { done: reviewed.done, refused, omitted, more: reviewed.more })
    }

    fn review<O: Operation>(
        &mut self,
        (reports, cs, csci): (&LeafList<u64>, Option<ietf_cats::CsId>, Option<ietf_cats::CsciId>),
        mut act: impl FnMut(&mut Sma, QuarantineId) -> Result<(), ReleaseError>,
    ) -> Result<Reviewed, Vec<Fault>> {
        let Some(role) = &mut self.agent else { return Err(without_agent()) };
        let service = cs.map(cs_id).transpose().map_err(|error| wrong::<O>("cs-id", &error))?;
        let instance = csci.map(csci_id).transpose().map_err(|error| wrong::<O>("csci-id", &error))?;
        let meant = match reports.is_empty() {
            true => meant(&role.sma, service, instance),
            false => Meant { ids: reports.iter().copied().map(QuarantineId).collect(), more: false },
        };
        let mut reviewed = Reviewed { more: meant.more, ..Reviewed::default() };
        for id in meant.ids {
            match act(&mut role.sma, id) {
                Ok(()) => reviewed.done += 1,
                Err(error) => reviewed.refused.push(error),
            }
        }
        Ok(reviewed)
    }
}

fn meant(sma: &Sma, service: Option<CsId>, instance: Option<CsciId>) -> Meant {
    let waiting = sma.quarantined(None, usize::MAX);
    let of = waiting.iter().filter(|report| {
        let key = report.key();
        service.is_none_or(|service| key.cs_id == service)
            && instance.is_none_or(|instance| key.csci_id == instance)
    });
    let mut ids: Vec<QuarantineId> = of.take(REPORTS + 1).map(|report| report.id).collect();
    let more = ids.len() > REPORTS;
    ids.truncate(REPORTS);
    Meant { ids, more }
}

fn report_of(error: &ReleaseError) -> QuarantineId {
    match error {
        ReleaseError::Unknown(id)
        | ReleaseError::Superseded { id }
        | ReleaseError::Expired { id }
        | ReleaseError::Gone { id } => *id,
    }
}

/// Rules that are being tried on all instances.
#[derive(Debug)]
pub(super) struct Trying {
    policy: Policy,
    after: Option<InstanceKey>,
    tally: Tally,
    pub(super) reply: Reply,
}

impl<P: Plane> Engine<P> {
    /// One instance is looked at once; all of them take their time.
    pub(super) fn begin_trying(&mut self, input: &Value, reply: Reply) {
        match self.trying(input) {
            Ok(Try::One(output)) => answer(reply, written::<PolicyDryRun>(&output)),
            Ok(Try::All(policy)) => {
                let trying = Trying { policy, after: None, tally: Tally::default(), reply };
                self.queue(Job::Trying(Box::new(trying)));
            }
            Err(faults) => answer(reply, Err(faults)),
        }
    }

    fn trying(&mut self, input: &Value) -> Result<Try, Vec<Fault>> {
        type Of = PolicyDryRun;
        let input = Of::read(input).map_err(|error| vec![crate::change::fault_of(&error)])?;
        let Some(role) = &self.agent else { return Err(without_agent()) };
        let policy = policy(&role.sma, &input)?;
        let Some(of) = &input.instance else { return Ok(Try::All(policy)) };
        let key = InstanceKey {
            cs_id: cs_id(of.cs_id).map_err(|error| wrong::<Of>("instance/cs-id", &error))?,
            csci_id: csci_id(of.csci_id).map_err(|error| wrong::<Of>("instance/csci-id", &error))?,
        };
        match role.sma.dry_run(&policy, key) {
            Some(view) => Ok(Try::One(of_one(&view))),
            None => {
                let message = format!("the metric agent has no metrics of instance {key}");
                Err(vec![fault(&path::<Of>("instance"), "data-missing", &message)])
            }
        }
    }

    /// Tries rules on some instances; none when it is done.
    pub(super) fn try_some(&mut self, mut trying: Box<Trying>) -> Option<Box<Trying>> {
        if trying.reply.is_closed() {
            return None;
        }
        let Some(role) = &self.agent else {
            answer(trying.reply, Err(without_agent()));
            return None;
        };
        let last = role.sma.try_policy(&trying.policy, trying.after, STEP, &mut trying.tally);
        if last.is_some() {
            trying.after = last;
            return Some(trying);
        }
        let Trying { policy, tally, reply, .. } = *trying;
        answer(reply, written::<PolicyDryRun>(&of_all(&policy, &tally)));
        None
    }
}

/// What is to be done for it.
enum Try {
    One(model::PolicyDryRunOutput),
    All(Policy),
}

/// The rules that are given, or else those in force.
fn policy(sma: &Sma, input: &model::PolicyDryRunInput) -> Result<Policy, Vec<Fault>> {
    let in_force = &sma.config().policy;
    if input.rule.is_empty() {
        return Ok(in_force.clone());
    }
    let rules = input.rule.values().map(|rule| RuleConfig {
        name: rule.name.clone(),
        priority: rule.priority,
        text: rule.text.clone(),
    });
    let config = PolicyConfig { rules: rules.collect(), transform: *in_force.transform() };
    Policy::compile(&config, &sma.config().calendar).map_err(|errors| {
        let fault_of = |error: &cats_engine_core::sma::policy::RuleError| {
            let place = format!("rule[name='{}']/text", error.rule);
            fault(&path::<PolicyDryRun>(&place), "invalid-value", &error.to_string())
        };
        errors.iter().map(fault_of).collect()
    })
}

fn of_all(policy: &Policy, tally: &Tally) -> model::PolicyDryRunOutput {
    let rule = |(place, (name, priority, _)): (usize, (&str, u32, _))| model::OutputRule {
        priority,
        name: name.to_owned(),
        fires: Some(tally.fired.get(place).copied().unwrap_or_default()),
        ..model::OutputRule::default()
    };
    model::PolicyDryRunOutput {
        tried: tally.tried,
        changed: tally.changed,
        suppressed: tally.suppressed,
        flagged: tally.flagged,
        rule: List::of(policy.rules().enumerate().map(rule)),
        metric: List::default(),
    }
}

fn of_one(view: &PolicyView<'_>) -> model::PolicyDryRunOutput {
    model::PolicyDryRunOutput {
        tried: 1,
        changed: u64::from(view.before != view.after),
        suppressed: u64::from(view.outcome.suppress),
        flagged: u64::from(view.outcome.flagged),
        rule: List::of(view.rules.iter().map(rule_of)),
        metric: List::of(metrics_of(&view.before, &view.after)),
    }
}

fn rule_of(run: &DryRun<'_>) -> model::OutputRule {
    let place = |at: usize| u16::try_from(at + 1).unwrap_or(u16::MAX);
    let tests = run.tests.iter().enumerate().map(|(at, test)| model::Test {
        place: place(at),
        test: Some(test.test.to_string()),
        found: test.found.clone(),
        holds: Some(test.holds),
    });
    let actions = run.actions.iter().enumerate().map(|(at, action)| model::Action {
        place: place(at),
        action: Some(action.action.to_string()),
        before: action.before.clone(),
        after: action.after.clone(),
        effect: Some(match action.effect {
            Effect::Done => model::Effect::Done,
            Effect::Absent => model::Effect::Absent,
            Effect::Overruled => model::Effect::Overruled,
        }),
    });
    model::OutputRule {
        priority: run.priority,
        name: run.rule.to_owned(),
        fires: Some(u64::from(run.fires)),
        test: List::of(tests),
        action: List::of(actions),
    }
}

/// What is told of an instance, before and after the rules.
fn metrics_of(before: &MetricRecord, after: &MetricRecord) -> Vec<model::Metric> {
    let of = |record: &MetricRecord| {
        let sample = &record.sample;
        [
            ("GAS", Some(sample.gas.to_string())),
            ("Computing_Time", Some(sample.computing_time.to_string())),
            ("SCI_Health", Some(health(sample.health).to_owned())),
            ("Price", sample.price.map(|price| price.0.to_string())),
            ("Reputation", sample.reputation.map(|score| u8::from(score).to_string())),
            ("Security_Level", sample.security_level.map(|score| u8::from(score).to_string())),
            ("Flagged", Some(record.flagged.to_string())),
        ]
    };
    let both = of(before).into_iter().zip(of(after));
    both.filter(|((_, before), (_, after))| before.is_some() || after.is_some())
        .map(|((name, before), (_, after))| model::Metric { name: name.to_owned(), before, after })
        .collect()
}

fn health(health: Health) -> &'static str {
    match health {
        Health::Healthy => "HEALTHY",
        Health::Degraded => "DEGRADED",
        Health::Unhealthy => "UNHEALTHY",
        Health::Unknown => "UNKNOWN",
    }
}

impl<P: Plane> Engine<P> {
    pub(super) fn synchronise(
        &mut self,
        input: &model::SynchroniseInput,
        now: Now,
    ) -> Result<model::SynchroniseOutput, Vec<Fault>> {
        let mut peers = Vec::new();
        if let Some(name) = &input.path_selector {
            let Some(role) = &self.agent else { return Err(without_agent()) };
            let node = named("path-selector", name)?;
            known("path-selector", &node, role.sma.northbound().peers().any(|peer| peer.node == node))?;
            peers.push((model::Role::PathSelector, node));
        } else if let Some(name) = &input.metric_agent {
            let Some(role) = &self.selector else {
                return Err(without_role("path selector", "path-selector"));
            };
            let node = named("metric-agent", name)?;
            known("metric-agent", &node, role.cps.agents().any(|agent| agent.node == node))?;
            peers.push((model::Role::MetricAgent, node));
        } else {
            if self.agent.is_none() && self.selector.is_none() {
                return Err(without_agent());
            }
            let selectors = self.agent.iter().flat_map(|role| role.sma.northbound().peers());
            peers.extend(selectors.map(|peer| (model::Role::PathSelector, peer.node)));
            let agents = self.selector.iter().flat_map(|role| role.cps.agents());
            peers.extend(agents.map(|agent| (model::Role::MetricAgent, agent.node)));
        }
        let omitted = u32::try_from(peers.len().saturating_sub(PEERS)).unwrap_or(u32::MAX);
        let begun: Vec<model::Peer> = peers
            .into_iter()
            .map(|(role, node)| {
                let begun = self.synchronise_with(role, &node, now);
                model::Peer { role, node_id: node.to_string(), begun: Some(begun) }
            })
            .collect();
        Ok(model::SynchroniseOutput { peer: List::of(begun.into_iter().take(PEERS)), omitted })
    }

    fn synchronise_with(&mut self, role: model::Role, node: &NodeId, now: Now) -> bool {
        match role {
            model::Role::PathSelector => {
                let agent = self.agent.as_mut();
                agent.is_some_and(|agent| agent.sma.synchronise(node, now.at, now.micros()))
            }
            model::Role::MetricAgent => {
                let selector = self.selector.as_mut();
                selector.is_some_and(|selector| selector.cps.synchronise_agent(node, now.at))
            }
        }
    }
}

fn named(parameter: &str, name: &str) -> Result<NodeId, Vec<Fault>> {
    name.parse().map_err(|error| wrong::<Synchronise>(parameter, &error))
}

fn known(parameter: &str, node: &NodeId, known: bool) -> Result<(), Vec<Fault>> {
    if known {
        return Ok(());
    }
    let message = format!("{node} is not configured here; see the list of {parameter}s");
    Err(vec![fault(&path::<Synchronise>(parameter), "data-missing", &message)])
}
