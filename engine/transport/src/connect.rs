//! The client's side of a connection: TCP, then TLS with our certificate to a peer of a known identity, then HTTP/2.

use crate::identity::Subject;
use crate::pki::Pki;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use rustls::{CertificateError, OtherError};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tonic::transport::{Channel, Endpoint};

/// A channel to the peer that has `expected` in its certificate. It is not made anew when it ends.
pub(crate) async fn channel(address: SocketAddr, expected: &Subject, pki: &Pki) -> Result<Channel, String> {
    let stream = tls(address, expected, pki, &[b"h2"]).await?;
    let mut stream = Some(TokioIo::new(stream));
    // The scheme is plain because TLS is already there.
    let endpoint = Endpoint::from_static("http://cats.invalid");
    endpoint
        .connect_with_connector(tower::service_fn(move |_| {
            let stream = stream.take().ok_or_else(|| io::Error::other("one connection for each attempt"));
            std::future::ready(stream)
        }))
        .await
        .map_err(|error| chain(&error))
}

/// TLS to the peer that has `expected` in its certificate.
pub(crate) async fn tls(
    address: SocketAddr,
    expected: &Subject,
    pki: &Pki,
    protocols: &[&[u8]],
) -> Result<TlsStream<TcpStream>, String> {
    let mut config = match pki.client(expected) {
        Some(config) => config.map_err(|error| error.to_string())?,
        None => {
            return Err(pki
                .problem()
                .map_or_else(|| "no usable certificates".to_owned(), |problem| problem.to_string()));
        }
    };
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    let handshake = async {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let name = ServerName::IpAddress(address.ip().into());
        TlsConnector::from(Arc::new(config)).connect(name, stream).await
    };
    handshake.await.map_err(|error| explain(&error))
}

/// An error with what led to it, once each.
pub(crate) fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let cause = error.to_string();
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
        source = error.source();
    }
    text
}

/// In words for people: rustls prints our own errors as data.
fn explain(error: &io::Error) -> String {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match inner {
        Some(rustls::Error::InvalidCertificate(CertificateError::Other(OtherError(why)))) => why.to_string(),
        _ => chain(error),
    }
}
