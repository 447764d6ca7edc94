//! Alarms of a real node: what a subscriber is told when the engine is killed and when it is back, and what an operator
//! does meanwhile, by an unmodified ncclient. Needs root.

use cats_conformance::Result;
use cats_conformance::lab::{Lab, python, repository_root};
use cats_conformance::node::{AdministratorKey, Node};
use cats_conformance::wait::wait_for;
use std::sync::Arc;
use std::thread;

#[test]
fn an_engine_that_is_killed_is_an_alarm_that_is_told_acknowledged_and_clears_when_it_is_back() -> Result<()> {
    let lab = Lab::create("alarms")?;
    let key = AdministratorKey::create(&lab, "admin-key")?;
    let host = Arc::new(lab.host("node")?);
    let mut node = Node::create(&lab, "node", Arc::clone(&host), "127.0.0.1:830", &key)?;
    node.start()?;
    let folder = lab.folder().to_owned();
    let script = repository_root().join("conformance/clients/ncclient_alarm_checks.py").display().to_string();
    let words = [key.private.display().to_string(), folder.display().to_string()];
    let subscriber = thread::spawn(move || {
        let args = [&script, "127.0.0.1", "830", AdministratorKey::USER, &words[0], &words[1]];
        host.run(&python(), &args)
    });
    let reaches = |name: &str| {
        wait_for(name, || (subscriber.is_finished() || folder.join(name).exists()).then_some(()))
    };
    reaches("listens")?;
    node.kill("engined")?;
    reaches("acknowledged")?;
    node.start_engined()?;
    subscriber.join().map(|told| told.map(drop)).unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
