//! A client of plain HTTP that is not ours.

use cats_engine_transport::pki::PkiFiles;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::{HeaderMap, Request, Version};
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::net::SocketAddr;
use std::sync::Arc;

pub struct Client {
    config: Arc<rustls::ClientConfig>,
    address: SocketAddr,
}

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub version: Version,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl Client {
    pub fn new(files: &PkiFiles, address: SocketAddr, version: Version) -> Self {
        let config = super::with_certificate(files);
        Self::with(config, address, version)
    }

    /// Without a certificate.
    pub fn anonymous(address: SocketAddr) -> Self {
        Self::with(super::without_certificate(), address, Version::HTTP_2)
    }

    fn with(mut config: rustls::ClientConfig, address: SocketAddr, version: Version) -> Self {
        let protocol: &[u8] = if version == Version::HTTP_2 { b"h2" } else { b"http/1.1" };
        config.alpn_protocols = vec![protocol.to_vec()];
        Self { config: Arc::new(config), address }
    }

    /// Over a connection of its own.
    pub async fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: Vec<u8>) -> Answer {
        let stream = tokio::net::TcpStream::connect(self.address).await.unwrap();
        let connector = tokio_rustls::TlsConnector::from(Arc::clone(&self.config));
        let stream = connector.connect("cats.invalid".try_into().unwrap(), stream).await.unwrap();
        let second = stream.get_ref().1.alpn_protocol() == Some(b"h2");
        let uri = format!("https://{}{path}", self.address);
        let mut request = Request::builder().method(method).uri(uri).header("host", "cats.invalid");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(Bytes::from(body))).unwrap();
        let io = TokioIo::new(stream);
        let response = if second {
            let (mut sender, connection) =
                hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.unwrap();
            tokio::spawn(connection);
            sender.send_request(request).await.unwrap()
        } else {
            let (mut sender, connection) = hyper::client::conn::http1::handshake(io).await.unwrap();
            tokio::spawn(connection);
            sender.send_request(request).await.unwrap()
        };
        Answer {
            status: response.status().as_u16(),
            version: response.version(),
            headers: response.headers().clone(),
            body: response.into_body().collect().await.unwrap().to_bytes().to_vec(),
        }
    }
}
