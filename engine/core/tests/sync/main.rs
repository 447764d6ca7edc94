//! A C-SMA's northbound side and C-PSes joined by links that lose, delay, reorder and partition, in simulated time.
#![allow(clippy::unwrap_used, clippy::panic)] // a test panics where it fails

mod acceptance;
mod delivery;
mod faults;
mod schedules;
mod world;
