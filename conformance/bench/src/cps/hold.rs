//! How much longer the first datagram of a flow takes than its second.

use super::bed::Bed;
use crate::Settings;
use crate::cpu::pin;
use crate::figure::{Better, Figure};
use cats_conformance::layout::{CLIENT, INSTANCE_B, SERVICE};
use std::io;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Flows of a round.
const FLOWS: u16 = 2000;
const FIRST_PORT: u16 = 10_000;
/// Rounds after which ports would come again.
const ROUNDS: usize = 25;
/// The service's port.
const PORT: u16 = 443;
/// How long an answer may take.
const BOUND: Duration = Duration::from_secs(2);

pub(super) fn measure(bed: &Bed, settings: &Settings) -> Result<Vec<Figure>, String> {
    let (mut middle, mut late) = (Vec::new(), Vec::new());
    for round in 0..settings.rounds.min(ROUNDS) {
        let mut holds = holds(bed, round)?;
        holds.sort_by(f64::total_cmp);
        let at = |hundredth: usize| holds.get(holds.len() * hundredth / 100).copied();
        middle.extend(at(50));
        late.extend(at(99));
    }
    let note = format!(
        "echo of the first datagram of a flow less that of its second, {FLOWS} flows a round, one after the other; \
         client and instance on CPU 0, the engine on CPU 1"
    );
    let figure = |key: &str, runs| Some(Figure::of(key, "us", Better::Lower, runs)?.note(note.clone()));
    let figures = if bed.is_distributed() {
        [figure("cps/hold-grpc-p99-us", late), None]
    } else {
        [figure("cps/hold-p50-us", middle), figure("cps/hold-p99-us", late)]
    };
    Ok(figures.into_iter().flatten().collect())
}

/// Microseconds of each flow.
fn holds(bed: &Bed, round: usize) -> Result<Vec<f64>, String> {
    let told = |error: cats_conformance::LabError| error.to_string();
    let address = format!("{}:{PORT}", INSTANCE_B[0]);
    let server = bed.instance().enter(|| bind(&address)).map_err(told)??;
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let echo = scope.spawn(|| echo(&server, &stop));
        let asked = bed.client().enter(|| ask_all(round)).map_err(told);
        stop.store(true, Ordering::Relaxed);
        let echoed = echo.join().map_err(|_| "the echo panicked".to_owned());
        let holds = asked??;
        echoed??;
        Ok(holds)
    })
}

fn bind(address: &str) -> Result<UdpSocket, String> {
    let bound = UdpSocket::bind(address).map_err(|error| format!("{address}: {error}"))?;
    bound.set_read_timeout(Some(Duration::from_millis(50))).map_err(|error| error.to_string())?;
    Ok(bound)
}

fn echo(server: &UdpSocket, stop: &AtomicBool) -> Result<(), String> {
    pin(None, 0)?;
    let mut buffer = [0; 64];
    while !stop.load(Ordering::Relaxed) {
        match server.recv_from(&mut buffer) {
            Ok((length, client)) => {
                let data = buffer.get(..length).unwrap_or_default();
                server.send_to(data, client).map_err(|error| format!("answering: {error}"))?;
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(format!("receiving: {error}")),
        }
    }
    Ok(())
}

fn ask_all(round: usize) -> Result<Vec<f64>, String> {
    pin(None, 0)?;
    let base = u16::try_from(round).unwrap_or(0).saturating_mul(FLOWS);
    let mut holds = Vec::with_capacity(FLOWS.into());
    for flow in 0..FLOWS {
        let port = FIRST_PORT + base + flow;
        let socket = UdpSocket::bind((CLIENT[0], port)).map_err(|error| format!("port {port}: {error}"))?;
        socket.connect((SERVICE[0], PORT)).map_err(|error| error.to_string())?;
        socket.set_read_timeout(Some(BOUND)).map_err(|error| error.to_string())?;
        let first =
            ask(&socket).map_err(|error| format!("no answer to the flow from port {port}: {error}"))?;
        let second = ask(&socket).map_err(|error| format!("no second answer to port {port}: {error}"))?;
        holds.push((first.as_secs_f64() - second.as_secs_f64()) * 1e6);
    }
    Ok(holds)
}

fn ask(socket: &UdpSocket) -> io::Result<Duration> {
    let begin = Instant::now();
    socket.send(b"who")?;
    socket.recv(&mut [0; 64])?;
    Ok(begin.elapsed())
}
