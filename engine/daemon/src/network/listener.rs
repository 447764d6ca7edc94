//! A listener that is opened again until it is there: an address may come later than the configuration that names it.

use std::fmt::Display;
use std::future::Future;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::watch;

/// How long until a listener that could not be opened is tried again.
const AGAIN: Duration = Duration::from_secs(1);

/// Opens a listener for `whom` and serves it, for ever. What keeps it from that is told once, and stands in `fault` until
/// it is over.
pub(super) async fn listen<E: Display, F: Future<Output = Result<(), E>>>(
    address: SocketAddr,
    whom: &'static str,
    fault: watch::Sender<Option<String>>,
    serve: impl Fn(TcpListener) -> F,
) {
    loop {
        let end = match TcpListener::bind(address).await {
            Ok(listener) => {
                tracing::info!(%address, "listening for {whom}");
                fault.send_replace(None);
                serve(listener).await.map_err(|error| error.to_string())
            }
            Err(error) => Err(error.to_string()),
        };
        if let Err(error) = end
            && fault.borrow().is_none()
        {
            tracing::warn!(%address, %error, "cannot listen for {whom}; trying again");
            fault.send_replace(Some(format!("cannot listen for {whom} on {address}: {error}")));
        }
        tokio::time::sleep(AGAIN).await;
    }
}
