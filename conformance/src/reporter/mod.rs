//! A load of reports on a metric agent (C-SMA), from outside: many instances at any rate, over gRPC, HTTP or a broker,
//! honest or with the faults of hostile and broken ones, and what the agent made of it. The program is `cats-report`.
//!
//! It speaks as the documents of the wire say, by a client and an encoding of its own, since the product's would not
//! say what is wrong, and would not notice what both ends of it get wrong alike. Of the product it has the messages of
//! protobuf and the words for what is in a report.
//!
//! | file | holds |
//! |---|---|
//! | `settings` | the command line |
//! | `shape` | how the load of an instance goes in time |
//! | `fault` | what hostile instances do, and what is to become of it |
//! | `load` | which report is next, and when |
//! | `encode` | reports and answers in protobuf and in JSON |
//! | `proof` | tokens and signatures |
//! | `tls` | certificates |
//! | `turn` | the instances of one connection |
//! | `grpc`, `rest`, `mqtt` | the channels |
//! | `ledger` | what was sent, and what became of it |
//! | `summary` | how that is told |

mod encode;
mod fault;
mod grpc;
mod ledger;
mod load;
mod mqtt;
mod proof;
mod rest;
mod settings;
mod shape;
mod summary;
mod tls;
mod turn;

pub use fault::Fault;
pub use proof::detached_signature;
pub use settings::{Channel, Format, JwtAlgorithm, Settings, SigningAlgorithm};
pub use shape::Shape;
pub use summary::{Line, Refused, Summary};
pub use tls::connect;

use crate::{LabError, Result};
use cats_engine_types::CsciId;
use ledger::Totals;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::watch;
use tokio::task::JoinSet;
use turn::Turn;

/// Reports as the settings say, until they are fulfilled or `end` comes about.
pub async fn run(settings: Settings, end: impl Future<Output = ()>) -> Result<Summary> {
    if let Some(why) = settings.contradiction() {
        return Err(LabError::new("reading the command line", why));
    }
    let (settings, began) = (Arc::new(settings), Instant::now());
    // What is wrong with files is no reason to try again.
    let first = CsciId::number(settings.first).ok().filter(|_| settings.is_apart());
    tls::to_broker(&settings, first)?;
    let (stop, stopped) = watch::channel(false);
    let mut connections = JoinSet::new();
    for (instances, stranger) in connections_of(&settings)? {
        let turn = Turn::new(Arc::clone(&settings), &instances, stranger, stopped.clone())?;
        match settings.over {
            Channel::Grpc => connections.spawn(grpc::report(turn)),
            Channel::Rest => connections.spawn(rest::report(turn)),
            Channel::Mqtt => connections.spawn(mqtt::report(turn)),
        };
    }
    let mut totals = Totals::default();
    let mut end = std::pin::pin!(end);
    loop {
        tokio::select! {
            turn = connections.join_next() => match turn {
                Some(Ok(turn)) => totals.add(turn.ledger.into_totals()),
                Some(Err(error)) => return Err(LabError::new("reporting", error)),
                None => break,
            },
            () = &mut end, if !*stop.borrow() => drop(stop.send(true)),
        }
    }
    Ok(Summary::new(&totals, settings.over, began.elapsed()))
}

/// The instances of each connection, and one that is another connection's, or nobody's.
fn connections_of(settings: &Settings) -> Result<Vec<(Vec<CsciId>, CsciId)>> {
    let id = |number: u32| CsciId::number(number).map_err(LabError::of("naming instances"));
    let (first, count) = (settings.first, settings.instances);
    let connections = if settings.is_apart() { count } else { settings.connections.min(count) };
    let mut all = Vec::new();
    for connection in 0..connections {
        let mine = (first + connection..first + count).step_by(connections as usize);
        let stranger = if connections == 1 { first + count } else { first + (connection + 1) % connections };
        all.push((mine.map(id).collect::<Result<Vec<_>>>()?, id(stranger)?));
    }
    Ok(all)
}
