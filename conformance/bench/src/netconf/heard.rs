//! A metric that an instance reports, until the last of many subscribers on change is told of it.

use super::endpoint::Client;
use super::rig::{CLIENT_CPU, Ours};
use crate::cpu::pin;
use crate::figure::{Better, Figure, median};
use crate::sma::load::{Answers, Flow, Target};
use crate::sma::message::Reports;
use crate::sma::rig;
use cats_conformance::lab::Lab;
use cats_conformance::netconf::Session;
use cats_conformance::node::AdministratorKey;
use cats_conformance::pki::{Authority, NodeFiles};
use cats_conformance::{LabError, Result};
use std::time::{Duration, Instant};
use tokio::runtime::Builder;

/// Sessions, each with a subscription.
const SUBSCRIBERS: usize = 50;
/// Reports of a run.
const EVENTS: u64 = 300;
const RUNS: usize = 3;
/// The instance that reports.
const INSTANCE: u32 = 1;
/// Between two reports; to which so many more microseconds are added, so that no clock of a daemon is met always at
/// the same place.
const PAUSE: Duration = Duration::from_millis(15);
const SPREAD: [u64; 7] = [0, 1700, 3100, 5300, 7900, 9200, 11_600];

/// The slots of each instance, as reported.
const SUBSCRIBE: &str = "<establish-subscription xmlns=\"urn:ietf:params:xml:ns:yang:ietf-subscribed-notifications\" \
     xmlns:yp=\"urn:ietf:params:xml:ns:yang:ietf-yang-push\">\
     <yp:datastore xmlns:ds=\"urn:ietf:params:xml:ns:yang:ietf-datastores\">ds:operational</yp:datastore>\
     <yp:datastore-subtree-filter><routing xmlns=\"urn:ietf:params:xml:ns:yang:ietf-routing\">\
     <cats xmlns=\"urn:ietf:params:xml:ns:yang:ietf-cats\"><metric-agent xmlns=\"urn:catsd:yang:cats-sma\">\
     <instances><instance><gas/></instance></instances></metric-agent></cats></routing>\
     </yp:datastore-subtree-filter><yp:on-change/></establish-subscription>";

/// What carries a session.
enum Subscriber {
    Local(Session),
    Ssh(Client),
}

impl Subscriber {
    fn session(&mut self) -> &mut Session {
        match self {
            Subscriber::Local(session) => session,
            Subscriber::Ssh(client) => &mut client.session,
        }
    }
}

pub(super) fn measure(lab: &Lab, key: &AdministratorKey) -> Result<Option<Figure>> {
    let authority = Authority::create(&lab.folder().join("pki-on-change"))?;
    let agent = authority.issue("agent", &[&format!("cats:sma:{}", rig::AGENT)])?;
    let instance = authority.issue("instance", &[&format!("cats:csci:{INSTANCE}")])?;
    let (mut over_ssh, mut middle, mut most) = (Vec::new(), Vec::new(), Vec::new());
    let mut local = Vec::new();
    for run in 0..RUNS {
        for ssh in [true, false] {
            let name = format!("on-change-{}-{run}", if ssh { "ssh" } else { "local" });
            let ours = Ours::start(lab, key, &name, &["--max-sessions-per-user=128"])?;
            rig::configure(&ours.node, &agent, "")?;
            let mut delays = delays(&ours, &instance, ssh)?;
            delays.sort_by(f64::total_cmp);
            let at = |hundredth: usize| delays.get(delays.len() * hundredth / 100).copied();
            if ssh {
                over_ssh.extend(at(99));
                middle.extend(at(50));
                most.extend(delays.last());
            } else {
                local.extend(at(99));
            }
        }
    }
    let of = |values: &[f64]| median(values).unwrap_or_default();
    let note = format!(
        "from the moment when an instance may send a report to a metric agent, with other slots, until the last of \
         {SUBSCRIBERS} sessions over SSH with a subscription on change, dampening 0, has read its push-change-update; \
         {EVENTS} reports a run; the 10 ms in which changes are gathered are in it. Median {:.2} ms, the most {:.2} ms; \
         over the local socket p99 {:.2} ms. Both daemons on CPU 1, reporter, ssh clients and readers on CPU 0",
        of(&middle),
        of(&most),
        of(&local)
    );
    let figure = Figure::of("netconf/on-change-p99-ms", "ms", Better::Lower, over_ssh);
    Ok(figure.map(|figure| figure.note(note)))
}

/// Milliseconds of each event.
fn delays(ours: &Ours, instance: &NodeFiles, ssh: bool) -> Result<Vec<f64>> {
    let connect = || -> Result<Subscriber> {
        Ok(if ssh {
            Subscriber::Ssh(ours.endpoint.connect()?.settle())
        } else {
            Subscriber::Local(ours.node.netconf()?)
        })
    };
    let mut subscribers = (0..SUBSCRIBERS).map(|_| connect()).collect::<Result<Vec<_>>>()?;
    ours.node.host().enter(|| {
        let doing = "starting the reporter";
        pin(None, CLIENT_CPU).map_err(LabError::of(doing))?;
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.map_err(LabError::of(doing))?;
        let target =
            Target { address: rig::Agent::address(), name: rig::AGENT, answers: Answers::Acknowledged };
        let reports = Reports::counted(INSTANCE, 600);
        let flow = runtime.block_on(Flow::open(&target, instance, reports, 1))?;
        flow.allow(1);
        for subscriber in &mut subscribers {
            subscriber.session().succeed(SUBSCRIBE)?;
        }
        until_told(&mut subscribers, 1)?;
        let mut delays = Vec::new();
        for report in 2..EVENTS + 2 {
            let spread = SPREAD.get(usize::try_from(report % 7).unwrap_or(0)).copied().unwrap_or(0);
            std::thread::sleep(PAUSE + Duration::from_micros(spread));
            let begin = Instant::now();
            flow.allow(1);
            until_told(&mut subscribers, report)?;
            delays.push(begin.elapsed().as_secs_f64() * 1e3);
        }
        Ok(delays)
    })?
}

/// Reads of each subscriber until it is told what was reported.
fn until_told(subscribers: &mut [Subscriber], report: u64) -> Result<()> {
    let slots = format!(">{}</gas>", Reports::slots(report));
    for subscriber in subscribers {
        while !subscriber.session().receive()?.contains(&slots) {}
    }
    Ok(())
}
