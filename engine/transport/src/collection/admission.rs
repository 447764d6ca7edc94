//! Who may report what.

use crate::identity::{Identities, Subject};
use crate::keys::Keyring;
use crate::tokens::{Claims, Tokens};
use arc_swap::ArcSwap;
use cats_engine_types::{CsId, CsciId, Rejection, Report};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The services that instances may report for, as the configuration has them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Permissions {
    /// Of the instances that are configured.
    pub instances: BTreeMap<CsciId, BTreeSet<CsId>>,
    /// Of all others.
    pub others: Others,
}

/// What instances may do that are not configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Others {
    /// Nothing.
    #[default]
    Refused,
    /// Report for any service, if they are authentic.
    Taken,
}

/// Why a report or a question is refused before it reaches the owner.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Denial {
    /// The sender is not who it says, or does not say it.
    #[error("{0}")]
    Unauthenticated(String),
    /// It is somebody else's to say or to ask.
    #[error("{0}")]
    Unauthorised(String),
    /// It is none.
    #[error("{0}")]
    Malformed(String),
}

impl Denial {
    /// As the sender is told.
    pub fn rejection(&self) -> Rejection {
        match self {
            Self::Unauthenticated(_) | Self::Unauthorised(_) => Rejection::Unauthorised,
            Self::Malformed(_) => Rejection::Malformed,
        }
    }
}

/// What counts as proof of an instance beside its certificate.
#[derive(Debug, Clone, Default)]
pub struct Proofs {
    /// Tokens, if any are taken.
    pub tokens: Option<Arc<Tokens>>,
    /// Keys of detached signatures of reports in JSON, if any are taken.
    pub keys: Option<Arc<Keyring>>,
}

/// What was refused, and what was not understood. Counts from the start of the process on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AdmissionCounters {
    /// Senders that are not who they say, or do not say it.
    pub unauthenticated: u64,
    /// Reports for somebody else, or for a service that is not the sender's.
    pub unauthorised: u64,
    /// What is no report.
    pub malformed: u64,
    /// Members of JSON that are not known.
    pub unknown_fields: u64,
}

#[derive(Debug, Default)]
struct Counters {
    unauthenticated: AtomicU64,
    unauthorised: AtomicU64,
    malformed: AtomicU64,
    unknown_fields: AtomicU64,
}

/// Judges senders. Shared by every channel of a C-SMA.
#[derive(Debug, Default)]
pub struct Admission {
    permissions: ArcSwap<Permissions>,
    proofs: Proofs,
    counters: Counters,
}

/// What a connection shows of its peer.
#[derive(Debug, Clone, Default)]
pub(crate) struct Credentials {
    /// Of its certificate.
    pub(crate) identities: Arc<Identities>,
    /// The instances among them: one that fronts many has many.
    pub(crate) instances: BTreeSet<CsciId>,
    /// Of the token that it came with.
    pub(crate) claims: Option<Claims>,
}

/// What showed whose a report is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Proof {
    /// The certificate of its connection.
    Certificate,
    /// A token, of the report or of the connection.
    Token,
}

/// The last token of each instance of a stream, and what it said: most repeat theirs in every report. Only what was
/// verified is kept.
#[derive(Debug, Default)]
pub(crate) struct KnownTokens(HashMap<CsciId, (Box<str>, Claims)>);

/// Of so many instances of a stream at most; beyond it all are verified anew.
const KNOWN_TOKENS: usize = 4096;

impl Credentials {
    /// Without a token.
    pub(crate) fn of(identities: Arc<Identities>) -> Self {
        let instances = identities.instances().collect();
        Self { identities, instances, claims: None }
    }
}

impl Admission {
    /// Takes certificates, and `proofs`.
    pub fn new(permissions: Permissions, proofs: Proofs) -> Arc<Self> {
        Arc::new(Self {
            permissions: ArcSwap::from_pointee(permissions),
            proofs,
            counters: Counters::default(),
        })
    }

    /// These permissions from now on.
    pub fn replace(&self, permissions: Permissions) {
        self.permissions.store(Arc::new(permissions));
    }

    /// What was refused so far.
    pub fn counters(&self) -> AdmissionCounters {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        AdmissionCounters {
            unauthenticated: read(&self.counters.unauthenticated),
            unauthorised: read(&self.counters.unauthorised),
            malformed: read(&self.counters.malformed),
            unknown_fields: read(&self.counters.unknown_fields),
        }
    }

    /// Who a connection belongs to: by its certificate, and by the token that it came with.
    pub(crate) fn connect(
        &self,
        identities: &Arc<Identities>,
        token: Option<&str>,
    ) -> Result<Credentials, Denial> {
        let claims = token.map(|token| self.verify(token)).transpose()?;
        Ok(Credentials { claims, ..Credentials::of(Arc::clone(identities)) })
    }

    /// Whether a connection may report at all. Where it shows neither an instance's certificate nor a token, its
    /// reports must have one.
    pub(crate) fn may_report(&self, credentials: &Credentials) -> Result<(), Denial> {
        let known = credentials.claims.is_some() || !credentials.instances.is_empty();
        if known || self.proofs.tokens.is_some() {
            return Ok(());
        }
        Err(self.unauthenticated(format!(
            "the certificate is {}'s; one with a URI `cats:csci:CSCI-ID` is needed, as no tokens are taken",
            credentials.identities
        )))
    }

    /// Whether a report is its sender's, and for a service of the sender's.
    pub(crate) fn admit(
        &self,
        credentials: &Credentials,
        token: Option<&str>,
        known: &mut KnownTokens,
        report: &Report,
    ) -> Result<Proof, Denial> {
        let named = report.csci_id;
        let proof = if credentials.instances.contains(&named) {
            Proof::Certificate
        } else {
            let subject = match (token, credentials.claims) {
                (Some(token), _) => self.recall(token, named, known)?,
                (None, Some(claims)) => {
                    claims.check().map_err(|error| self.unauthenticated(error.to_string()))?
                }
                (None, None) if !credentials.instances.is_empty() => {
                    let detail =
                        format!("csci-id is {named} and the certificate is {}'s", credentials.identities);
                    return Err(self.unauthorised(detail));
                }
                (None, None) => {
                    return Err(self.unauthenticated("neither a certificate nor a token".to_owned()));
                }
            };
            self.own(subject, named, "token")?;
            Proof::Token
        };
        self.permit(report)?;
        Ok(proof)
    }

    /// Whether a report is that of `signatory`, whose signature is on it, and for a service of its own.
    pub(crate) fn admit_signed(&self, signatory: CsciId, report: &Report) -> Result<(), Denial> {
        self.own(signatory, report.csci_id, "signature")?;
        self.permit(report)
    }

    /// Whose detached signature is on `payload`.
    pub(crate) fn signatory(&self, payload: &[u8], signature: &str) -> Result<CsciId, Denial> {
        let Some(keys) = &self.proofs.keys else {
            return Err(self.unauthenticated("signatures are not taken here".to_owned()));
        };
        match keys.verify_detached(payload, signature) {
            Ok(Subject::Instance(id)) => Ok(id),
            Ok(other @ Subject::Node(_)) => Err(self.unauthenticated(format!("the signature is {other}'s"))),
            Err(error) => Err(self.unauthenticated(error.to_string())),
        }
    }

    fn own(&self, subject: CsciId, named: CsciId, proof: &str) -> Result<(), Denial> {
        if subject == named {
            return Ok(());
        }
        Err(self.unauthorised(format!("csci-id is {named} and the {proof} is {subject}'s")))
    }

    fn permit(&self, report: &Report) -> Result<(), Denial> {
        let permissions = self.permissions.load();
        let allowed = match permissions.instances.get(&report.csci_id) {
            Some(services) => services.contains(&report.cs_id),
            None => permissions.others == Others::Taken,
        };
        if allowed {
            return Ok(());
        }
        Err(self.unauthorised(format!(
            "instance {} is not configured for service {}",
            report.csci_id, report.cs_id
        )))
    }

    fn recall(&self, token: &str, named: CsciId, known: &mut KnownTokens) -> Result<CsciId, Denial> {
        let KnownTokens(known) = known;
        let claims = match known.get(&named) {
            Some((same, claims)) if **same == *token => *claims,
            Some(_) | None => {
                let claims = self.verify(token)?;
                if claims.csci_id == named {
                    if known.len() >= KNOWN_TOKENS && !known.contains_key(&named) {
                        known.clear();
                    }
                    known.insert(named, (token.into(), claims));
                }
                claims
            }
        };
        claims.check().map_err(|error| self.unauthenticated(error.to_string()))
    }

    /// What a token says that came with a report or a request.
    pub(crate) fn verify(&self, token: &str) -> Result<Claims, Denial> {
        match &self.proofs.tokens {
            Some(tokens) => tokens.verify(token).map_err(|error| self.unauthenticated(error.to_string())),
            None => Err(self.unauthenticated("tokens are not taken here".to_owned())),
        }
    }

    pub(crate) fn unauthenticated(&self, detail: String) -> Denial {
        self.counters.unauthenticated.fetch_add(1, Ordering::Relaxed);
        Denial::Unauthenticated(detail)
    }

    pub(crate) fn unauthorised(&self, detail: String) -> Denial {
        self.counters.unauthorised.fetch_add(1, Ordering::Relaxed);
        Denial::Unauthorised(detail)
    }

    pub(crate) fn malformed(&self, detail: String) -> Denial {
        self.counters.malformed.fetch_add(1, Ordering::Relaxed);
        Denial::Malformed(detail)
    }

    pub(crate) fn unknown_fields(&self, fields: usize) {
        self.counters.unknown_fields.fetch_add(fields as u64, Ordering::Relaxed);
    }
}
