//! A C-SMA asks an instance what it would report now, over gRPC or HTTP (SMA-1).

use crate::connect;
use crate::http;
use crate::identity::Subject;
use crate::pki::Pki;
use cats_engine_types::{CsciId, Report};
use cats_engine_wire::MAX_REPORTS;
use cats_engine_wire::json::decode_report;
use cats_engine_wire::metrics as pb;
use cats_engine_wire::metrics::collection_client::CollectionClient;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// Whom to ask.
#[derive(Debug, Clone)]
pub struct PullTarget {
    /// Where it is.
    pub address: SocketAddr,
    /// Which instance; its certificate must have it.
    pub csci_id: CsciId,
    /// The node's own certificates.
    pub pki: Arc<Pki>,
    /// Bound of the whole exchange.
    pub deadline: Duration,
}

/// Why there is no report.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PullError {
    /// No connection, or it broke.
    #[error("instance {csci_id} is not reached: {reason}")]
    Unreachable {
        /// Which.
        csci_id: CsciId,
        /// Why.
        reason: String,
    },
    /// It does not answer in time.
    #[error("instance {0} does not answer in time")]
    Deadline(CsciId),
    /// It answers that it will not.
    #[error("instance {csci_id} refuses: {reason}")]
    Refused {
        /// Which.
        csci_id: CsciId,
        /// In its own words.
        reason: String,
    },
    /// What it answers is no report, or too large for one.
    #[error("instance {csci_id} answered what is no report of its own: {reason}")]
    Malformed {
        /// Which.
        csci_id: CsciId,
        /// The field, where there is one.
        reason: String,
    },
}

/// Asks over gRPC.
pub async fn pull_grpc(target: &PullTarget) -> Result<Report, PullError> {
    bounded(target, Box::pin(ask_grpc(target))).await
}

/// Asks over HTTP: `GET /cats/v1/reports/CSCI-ID`.
pub async fn pull_http(target: &PullTarget) -> Result<Report, PullError> {
    bounded(target, Box::pin(ask_http(target))).await
}

async fn bounded(
    target: &PullTarget,
    ask: impl Future<Output = Result<Report, PullError>>,
) -> Result<Report, PullError> {
    match tokio::time::timeout(target.deadline, ask).await {
        Ok(Ok(report)) if report.csci_id != target.csci_id => {
            Err(target.malformed(format!("it is of instance {}", report.csci_id)))
        }
        Ok(result) => result,
        Err(_) => Err(PullError::Deadline(target.csci_id)),
    }
}

async fn ask_grpc(target: &PullTarget) -> Result<Report, PullError> {
    let expected = Subject::Instance(target.csci_id);
    let channel = connect::channel(target.address, &expected, &target.pki).await;
    let channel = channel.map_err(|reason| target.unreachable(reason))?;
    let mut client = CollectionClient::new(channel).max_decoding_message_size(MAX_REPORTS);
    let request = pb::GetRequest { csci_id: Some((&target.csci_id).into()) };
    match client.get(request).await {
        Ok(answer) => {
            Report::try_from(answer.into_inner()).map_err(|error| target.malformed(error.to_string()))
        }
        Err(status) if status.code() == tonic::Code::OutOfRange => {
            Err(target.malformed(connect::chain(&status)))
        }
        Err(status) => Err(target.refused(connect::chain(&status))),
    }
}

async fn ask_http(target: &PullTarget) -> Result<Report, PullError> {
    let expected = Subject::Instance(target.csci_id);
    let peer = http::Peer { address: target.address, expected: &expected, pki: &target.pki };
    let path = format!("/cats/v1/reports/{}", target.csci_id);
    let request = http::request("GET", target.address, &path, &[("accept", "application/json")], Vec::new())
        .map_err(|reason| target.unreachable(reason))?;
    let response = http::send(peer, request).await.map_err(|reason| target.unreachable(reason))?;
    let status = response.status();
    let body = http::body(response, MAX_REPORTS).await.map_err(|reason| target.malformed(reason))?;
    if !status.is_success() {
        let words = String::from_utf8_lossy(&body).chars().take(200).collect::<String>();
        return Err(target.refused(format!("{status} {words}")));
    }
    decode_report(&body).map(|decoded| decoded.report).map_err(|error| target.malformed(error.to_string()))
}

impl PullTarget {
    fn unreachable(&self, reason: String) -> PullError {
        PullError::Unreachable { csci_id: self.csci_id, reason }
    }

    fn refused(&self, reason: String) -> PullError {
        PullError::Refused { csci_id: self.csci_id, reason }
    }

    fn malformed(&self, reason: String) -> PullError {
        PullError::Malformed { csci_id: self.csci_id, reason }
    }
}
