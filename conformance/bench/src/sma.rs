//! The metric agent as instances meet it: a cats-engined that collects reports over TLS. How many it takes, against a
//! stream that only echoes them; what it remembers of them; and how soon it notices that no more come.

#[cfg(test)]
mod agent;
mod duel;
mod echo;
pub(crate) mod load;
mod memory;
pub(crate) mod message;
pub(crate) mod rig;
mod silence;
#[cfg(test)]
mod tests;

use crate::Settings;
use crate::figure::Figure;
use cats_conformance::Result;
use cats_conformance::lab::Lab;
use cats_conformance::node::AdministratorKey;
use rig::Site;

pub(crate) fn measure(settings: &Settings) -> std::result::Result<Vec<Figure>, String> {
    all(settings.rounds).map_err(|error| error.to_string())
}

fn all(rounds: usize) -> Result<Vec<Figure>> {
    let lab = Lab::create("bench-sma")?;
    let site = Site::create(&lab, AdministratorKey::create(&lab, "admin-key")?)?;
    let mut figures = duel::measure(&site, rounds)?;
    figures.extend(memory::measure(&site)?);
    figures.extend(silence::measure(&site, rounds)?);
    Ok(figures)
}
