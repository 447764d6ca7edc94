//! Reports as JSON in requests of HTTP/2. Each awaits the answer to the one before it, so that none is overtaken.

use super::encode;
use super::fault::Fault;
use super::load::Draft;
use super::tls;
use super::turn::{Turn, Wake};
use crate::{LabError, Result};
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::collections::VecDeque;
use std::time::{Duration, Instant};
use tokio::task::JoinHandle;

/// How long a connection may take.
const PATIENCE: Duration = Duration::from_secs(10);

type Sender = SendRequest<Full<Bytes>>;

/// Reports until there is nothing more to report.
pub(super) async fn report(mut turn: Turn) -> Turn {
    loop {
        let reason = match tokio::time::timeout(PATIENCE, open(&turn)).await {
            Ok(Ok((sender, connection))) => {
                turn.connected();
                let end = serve(&mut turn, sender).await;
                connection.abort();
                match end {
                    Some(reason) => reason,
                    None => return turn,
                }
            }
            Ok(Err(error)) => error.to_string(),
            Err(_) => "no answer in time".to_owned(),
        };
        if !turn.disconnected(&reason).await {
            return turn;
        }
    }
}

async fn open(turn: &Turn) -> Result<(Sender, JoinHandle<()>)> {
    let stream = TokioIo::new(tls::connect(&turn.settings, turn.alone).await?);
    let opened = handshake(TokioExecutor::new(), stream).await;
    let (sender, connection) = opened.map_err(LabError::of("opening HTTP/2"))?;
    Ok((sender, tokio::spawn(async move { drop(connection.await) })))
}

/// Reports over one connection; why it ended, or nothing when all was reported.
async fn serve(turn: &mut Turn, mut sender: Sender) -> Option<String> {
    let mut waiting: VecDeque<Vec<Draft>> = VecDeque::new();
    let patience = Duration::from_secs_f64(turn.settings.wait);
    loop {
        let Some(group) = waiting.pop_front() else {
            match turn.wake(false).await {
                Wake::Due => waiting.extend(turn.groups()),
                Wake::Over => return None,
            }
            continue;
        };
        let (drafts, request) = match request(turn, group) {
            Ok(request) => request,
            Err(error) => return Some(error.to_string()),
        };
        match tokio::time::timeout(patience, send(&mut sender, request)).await {
            Ok(Ok((status, body))) => {
                let asked = take(turn, &drafts, status, &body);
                waiting.extend(turn.grouped(asked));
            }
            Ok(Err(error)) => return Some(error.to_string()),
            Err(_) => return Some("the agent does not answer".to_owned()),
        }
    }
}

fn request(turn: &mut Turn, group: Vec<Draft>) -> Result<(Vec<Draft>, Request<Full<Bytes>>)> {
    let now = Instant::now();
    for draft in &group {
        turn.ledger.sent(draft, now);
    }
    let first = group.first().map(|draft| (draft.sender, draft.fault));
    let proven = turn.proven(group);
    let body = encode::document(&proven);
    let mut request = Request::post(format!("https://{}/cats/v1/reports", turn.settings.to))
        .header("content-type", "application/json");
    if let Some((id, fault)) = first
        && let Some(jws) = turn.proof.signature(id, &body, fault == Some(Fault::BadSignature))?
    {
        request = request.header("cats-signature", jws);
    }
    let request = request.body(Full::new(body.into())).map_err(LabError::of("making a request"))?;
    Ok((proven.into_iter().map(|(draft, _)| draft).collect(), request))
}

async fn send(
    sender: &mut Sender,
    request: Request<Full<Bytes>>,
) -> std::result::Result<(u16, Bytes), hyper::Error> {
    sender.ready().await?;
    let response = sender.send_request(request).await?;
    let status = response.status().as_u16();
    Ok((status, response.into_body().collect().await?.to_bytes()))
}

/// Counts what became of a request; gives the reports that are asked for.
fn take(turn: &mut Turn, drafts: &[Draft], status: u16, body: &[u8]) -> Vec<Draft> {
    match encode::document_answers(body) {
        Some(answers) => turn.answered(answers),
        None => {
            let words = String::from_utf8_lossy(body);
            turn.ledger.refused_together(drafts, &format!("http-{status}"), &words);
            Vec::new()
        }
    }
}
