//! `Northbound` between a C-SMA and its C-PSes.
//!
//! | file | is |
//! |---|---|
//! | `client`, `server` | both ends of the stream |
//! | `request`, `rest` | both ends of the same over plain HTTP |
//!
//! The C-SMA's end of a stream is one attempt at a time: which path selector is tried next, and when, is its owner's to say. The C-PS
//! takes agents on the listener of the forwarders. Every advertisement is signed by its sender, and the signature is
//! checked over the octets as they came before anything is read from them. Where a peer does not keep up, its queue
//! fills and it is disconnected: agent and path selector find out on the next connection what the other lacks.

mod client;
mod request;
mod rest;
mod server;

pub use client::{AgentEvent, Target, Upstream, connect};
pub use request::{RequestError, Retrieved, post, retrieve};
pub use server::{AgentId, AgentLink, Agents, Northbound, SelectorEvent};

pub(crate) use rest::router;
pub(crate) use server::Service;

use crate::keys::{Algorithm, Signature};
use cats_engine_wire::metrics as pb;

/// Advertisements, or instructions, that wait for one peer at most. A peer that is so far behind is disconnected.
const QUEUE: usize = 1024;

/// Words in one message at most.
const BATCH: usize = 64;

/// Octets of advertisements in one message, from which on the next one takes the rest.
const MESSAGE: usize = 1 << 20;

fn encode(payload: Vec<u8>, signature: Signature) -> pb::Envelope {
    let algorithm = match signature.algorithm {
        Algorithm::Ed25519 => pb::envelope::Algorithm::Ed25519,
        Algorithm::HmacSha256 => pb::envelope::Algorithm::HmacSha256,
    };
    pb::Envelope {
        payload,
        algorithm: algorithm.into(),
        key_id: signature.key_id,
        signature: signature.octets,
    }
}

/// The payload and what signs it.
fn open(envelope: pb::Envelope) -> Result<(Vec<u8>, Signature), String> {
    let algorithm = match pb::envelope::Algorithm::try_from(envelope.algorithm) {
        Ok(pb::envelope::Algorithm::Ed25519) => Algorithm::Ed25519,
        Ok(pb::envelope::Algorithm::HmacSha256) => Algorithm::HmacSha256,
        Ok(pb::envelope::Algorithm::Unspecified) => return Err("it is not signed".to_owned()),
        Err(_) => return Err(format!("algorithm {} is not known", envelope.algorithm)),
    };
    let signature = Signature { algorithm, key_id: envelope.key_id, octets: envelope.signature };
    Ok((envelope.payload, signature))
}
