//! The loop that owns the engine: one thread, which waits in one place for packets, messages and deadlines.
//!
//! Network tasks run in a tokio runtime beside it and hand their events over on channels. The loop polls these itself,
//! with a waker that makes a descriptor readable, so that a packet from the kernel wakes the thread without a detour.

use crate::engine::{Engine, Now};
use crate::plane::Plane;
use cats_engine_transport::management::Call;
use rustix::event::EventfdFlags;
use std::future::Future;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;
use tokio::sync::mpsc;

/// Messages that are handled before packets get their turn, at most.
const TURN: usize = 64;

/// The longest wait, so that a lost wake-up costs no more.
const LONGEST: Duration = Duration::from_secs(1);

/// Makes the loop's descriptor readable.
struct Bell(OwnedFd);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // Full means that it is readable already.
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }
}

/// Runs the engine in the calling thread until `shutdown` completes. What is installed stays installed.
///
/// # Errors
/// The system refuses to wait or to read packets.
pub fn run<P: Plane>(
    engine: &mut Engine<P>,
    calls: &mut mpsc::Receiver<Call>,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    let bell = Arc::new(Bell(rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?));
    let waker = Waker::from(Arc::clone(&bell));
    let mut context = Context::from_waker(&waker);
    let mut shutdown = pin!(shutdown);
    loop {
        let mut count = [0; 8];
        // Nothing to read means that nobody rang.
        let _ = rustix::io::read(&bell.0, &mut count);
        if shutdown.as_mut().poll(&mut context).is_ready() {
            return Ok(());
        }
        let more = turn(engine, calls, &mut context) | engine.step(Now::read());
        let longest = if more { Duration::ZERO } else { LONGEST };
        engine.wait(bell.0.as_fd(), longest, Now::read())?;
    }
}

/// Handles messages that are there; true where more may be.
fn turn<P: Plane>(
    engine: &mut Engine<P>,
    calls: &mut mpsc::Receiver<Call>,
    context: &mut Context<'_>,
) -> bool {
    for _ in 0..TURN {
        let mut idle = true;
        if let Poll::Ready(Some(call)) = calls.poll_recv(context) {
            engine.handle_call(call, Now::read());
            idle = false;
        }
        idle &= !engine.handle_arrival(context, Now::read());
        if idle {
            return false;
        }
    }
    true
}
