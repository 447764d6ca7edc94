//! A client of plain HTTP, 2 or 1.1 as the server likes, over our TLS: one connection for each exchange.

use crate::connect;
use crate::identity::Subject;
use crate::pki::Pki;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::net::SocketAddr;

/// The peer, and who it must be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer<'a> {
    pub(crate) address: SocketAddr,
    pub(crate) expected: &'a Subject,
    pub(crate) pki: &'a Pki,
}

/// Sends one request; the answer's body is still to be read. The connection lives as long as that.
pub(crate) async fn send(
    peer: Peer<'_>,
    mut request: Request<Full<Bytes>>,
) -> Result<Response<Incoming>, String> {
    let stream = connect::tls(peer.address, peer.expected, peer.pki, &[b"h2", b"http/1.1"]).await?;
    let second = stream.get_ref().1.alpn_protocol() == Some(b"h2");
    let stream = TokioIo::new(stream);
    let failed = |error: hyper::Error| connect::chain(&error);
    if second {
        let (mut sender, connection) =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), stream).await.map_err(failed)?;
        tokio::spawn(connection);
        return sender.send_request(request).await.map_err(failed);
    }
    // HTTP/1.1 names the host in a header, and all of the address to proxies only.
    if let Some(path) = request.uri().path_and_query().cloned() {
        *request.uri_mut() = path.into();
    }
    let (mut sender, connection) = hyper::client::conn::http1::handshake(stream).await.map_err(failed)?;
    tokio::spawn(connection);
    sender.send_request(request).await.map_err(failed)
}

/// A request to the peer.
pub(crate) fn request(
    method: &str,
    address: SocketAddr,
    path: &str,
    headers: &[(&str, &str)],
    body: Vec<u8>,
) -> Result<Request<Full<Bytes>>, String> {
    let mut request = Request::builder()
        .method(method)
        .uri(format!("https://{address}{path}"))
        .header("host", address.to_string());
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(Full::new(Bytes::from(body))).map_err(|error| error.to_string())
}

/// The whole body, if it is not larger than `max`.
pub(crate) async fn body(response: Response<Incoming>, max: usize) -> Result<Bytes, String> {
    let limited = Limited::new(response.into_body(), max);
    match limited.collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<http_body_util::LengthLimitError>() => {
            Err(format!("the answer has more than {max} octets"))
        }
        Err(error) => Err(connect::chain(error.as_ref())),
    }
}
