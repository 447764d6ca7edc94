//! The peer: a bidirectional stream of tonic that sends each message back, with the same messages, over the same TLS,
//! and nothing else. It has one thread, which is what serves a stream best where there is one CPU.

use cats_conformance::pki::NodeFiles;
use cats_conformance::{LabError, Result};
use cats_engine_wire::metrics as pb;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::thread::JoinHandle;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio::sync::{mpsc, oneshot};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_stream::wrappers::ReceiverStream;
use tonic::body::Body;
use tonic::codegen::{BoxFuture, Service, http};
use tonic::server::{Grpc, NamedService, StreamingService};
use tonic::transport::Server;
use tonic::transport::server::Connected;
use tonic::{Request, Response, Status, Streaming};
use tonic_prost::ProstCodec;

/// What it is, for figures.
pub(super) const NAME: &str = "a bare stream echo of tonic 0.14 with rustls";

/// The running peer. Dropping it ends it.
#[derive(Debug)]
pub(super) struct Echo {
    pub(super) address: SocketAddr,
    /// Where the kernel tells what its thread has had of a CPU.
    file: String,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Echo {
    /// Starts in the namespace of the calling thread, on one CPU.
    pub(super) fn start(files: &NodeFiles, cpu: usize) -> Result<Echo> {
        let doing = "starting the echo";
        let config = Arc::new(config(files)?);
        let (stop, stopped) = oneshot::channel();
        let (told, address) = std::sync::mpsc::sync_channel(1);
        let thread = std::thread::spawn(move || {
            let file = format!("/proc/self/task/{}/schedstat", rustix::thread::gettid().as_raw_nonzero());
            let served = crate::cpu::pin(None, cpu).and_then(|()| {
                let told = |address| drop(told.send(Ok((address, file))));
                let runtime = Builder::new_current_thread().enable_all().build();
                runtime.map_err(|error| error.to_string())?.block_on(serve(config, stopped, told))
            });
            if let Err(error) = served {
                // Whoever no longer waits has other troubles.
                drop(told.send(Err(error)));
            }
        });
        let (address, file) = address.recv().map_err(LabError::of(doing))?.map_err(LabError::of(doing))?;
        Ok(Echo { address, file, stop: Some(stop), thread: Some(thread) })
    }

    /// CPU time that it has had, ns.
    pub(super) fn cpu(&self) -> std::result::Result<u64, String> {
        crate::cpu::nanos(&self.file)
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

fn config(files: &NodeFiles) -> Result<ServerConfig> {
    let doing = || "preparing the echo's TLS";
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(&files.authority).map_err(LabError::of(doing()))? {
        roots.add(certificate.map_err(LabError::of(doing()))?).map_err(LabError::of(doing()))?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let clients = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
    let chain = CertificateDer::pem_file_iter(&files.certificate).map_err(LabError::of(doing()))?;
    let chain = chain.collect::<std::result::Result<Vec<_>, _>>().map_err(LabError::of(doing()))?;
    let key = PrivateKeyDer::from_pem_file(&files.private_key).map_err(LabError::of(doing()))?;
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(LabError::of(doing()))?
        .with_client_cert_verifier(clients.build().map_err(LabError::of(doing()))?)
        .with_single_cert(chain, key)
        .map_err(LabError::of(doing()))?;
    config.alpn_protocols = vec![b"h2".to_vec()];
    Ok(config)
}

async fn serve(
    config: Arc<ServerConfig>,
    stopped: oneshot::Receiver<()>,
    told: impl FnOnce(SocketAddr),
) -> std::result::Result<(), String> {
    let words = |error: io::Error| error.to_string();
    let listener = TcpListener::bind("127.0.0.1:0").await.map_err(words)?;
    told(listener.local_addr().map_err(words)?);
    let (accepted, connections) = mpsc::channel(16);
    let acceptor = TlsAcceptor::from(config);
    let accepting = async {
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, accepted) = (acceptor.clone(), accepted.clone());
            tokio::spawn(async move {
                let stream = match stream.set_nodelay(true) {
                    Ok(()) => acceptor.accept(stream).await,
                    Err(error) => Err(error),
                };
                drop(accepted.send(stream.map(Accepted)).await);
            });
        }
    };
    let serving = Server::builder().add_service(Echoes).serve_with_incoming(ReceiverStream::new(connections));
    tokio::select! {
        () = accepting => Err("it takes no connections any more".to_owned()),
        served = serving => served.map_err(|error| error.to_string()),
        _ = stopped => Ok(()),
    }
}

/// The method of the product under its own name, so that the load has one method to call.
#[derive(Debug, Clone)]
struct Echoes;

impl NamedService for Echoes {
    const NAME: &'static str = "cats.metrics.v1.Collection";
}

impl Service<http::Request<Body>> for Echoes {
    type Response = http::Response<Body>;
    type Error = std::convert::Infallible;
    type Future = BoxFuture<Self::Response, Self::Error>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<std::result::Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let codec = ProstCodec::<pb::FromReporter, pb::FromReporter>::default();
        Box::pin(async move { Ok(Grpc::new(codec).streaming(Self, request).await) })
    }
}

impl StreamingService<pb::FromReporter> for Echoes {
    type Response = pb::FromReporter;
    type ResponseStream = Streaming<pb::FromReporter>;
    type Future = std::future::Ready<std::result::Result<Response<Self::ResponseStream>, Status>>;

    fn call(&mut self, request: Request<Streaming<pb::FromReporter>>) -> Self::Future {
        std::future::ready(Ok(Response::new(request.into_inner())))
    }
}

/// A connection as tonic takes it.
struct Accepted(TlsStream<TcpStream>);

impl Connected for Accepted {
    type ConnectInfo = ();

    fn connect_info(&self) {}
}

impl AsyncRead for Accepted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, into)
    }
}

impl AsyncWrite for Accepted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        octets: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, octets)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        octets: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write_vectored(context, octets)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
