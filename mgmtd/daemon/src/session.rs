//! One session: from an accepted connection to its end.

use crate::exec;
use crate::hub::{ENGINE, HubSender, Input, Opened, now};
use crate::operations;
use crate::random;
use crate::retrieval::{self, Filters};
use crate::telling::Teller;
use cats_mgmtd_core::{
    CommitOptions, Comparison, Config, Confirmed, Datastore, Edit, ErrorOption, Executed, Peer, ReadAs,
    Reading, Reply, Request, Resolution, SessionId, Source, Target, TestOption, Transport,
};
use cats_mgmtd_netconf as netconf;
use cats_mgmtd_netconf::names::EXEC;
use cats_mgmtd_netconf::{CloseReason, DataOf, EditData, Operation, Rpc, Settings};
use cats_mgmtd_transport::{Connection, Rank, Respond, Response, Turn, Turns, serve};
use cats_yang_tree::error::{Error, ErrorTag};
use cats_yang_tree::schema::Schema;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::oneshot;

/// A request or reply of so many bytes leaves memory behind that is worth giving back.
const BIG: usize = 4 << 20;

/// So many filters and comparisons are evaluated at a time, each of another user, and as many of recovery sessions.
const EVALUATIONS: usize = 2;

/// A configuration of fewer bytes is read where the session runs: to make a thread of its worker costs more.
const LITTLE: usize = 8 << 10;

/// What all sessions share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) schema: Arc<Schema>,
    pub(crate) capabilities: Vec<String>,
    pub(crate) limits: netconf::Limits,
    pub(crate) hub: HubSender,
    /// The users of `--user`.
    pub(crate) administrators: Vec<String>,
    pub(crate) memory: Memory,
}

impl Shared {
    /// To evaluate a filter or a comparison.
    pub(crate) async fn turn(&self, user: &str, rank: Rank) -> Turn<'_> {
        self.memory.evaluations.turn(user, rank).await
    }
}

/// Bounds memory, and gives that of big configurations back to the system once they are freed.
#[derive(Debug)]
pub(crate) struct Memory {
    /// A datastore may hold a big configuration, which a later request frees.
    held: AtomicBool,
    /// Of filters and comparisons, which take memory while they are evaluated.
    evaluations: Turns,
}

impl Default for Memory {
    fn default() -> Self {
        Self { held: AtomicBool::new(false), evaluations: Turns::new(EVALUATIONS) }
    }
}

impl Memory {
    /// What must be given back when a request for `operation` is answered: what it brought, or what it freed.
    fn follow(&self, operation: &Operation) -> bool {
        let brings = content_of(operation).is_some_and(|config| match config {
            netconf::Content::Inline(config) => config.as_str().len() >= BIG,
            // It may be big; that is seen elsewhere.
            netconf::Content::Url(_) => true,
        });
        if brings {
            self.held.store(true, Ordering::Relaxed);
            return true;
        }
        let frees = matches!(
            operation,
            Operation::DiscardChanges | Operation::CopyConfig { .. } | Operation::DeleteConfig { .. }
        );
        frees && self.held.swap(false, Ordering::Relaxed)
    }

    pub(crate) fn give_back() {
        // Nobody waits for it.
        drop(tokio::task::spawn_blocking(cats_yang_schema::return_memory));
    }
}

/// The configuration in a request.
fn content_of(operation: &Operation) -> Option<&netconf::Content> {
    match operation {
        Operation::EditConfig { config, .. } | Operation::EditData(EditData { config, .. }) => Some(config),
        Operation::CopyConfig { source, .. } | Operation::Validate { source } => match source {
            netconf::Source::Config(config) => Some(config),
            netconf::Source::Datastore(_) => None,
        },
        Operation::Get { .. }
        | Operation::GetConfig { .. }
        | Operation::GetData(_)
        | Operation::Compare(_)
        | Operation::DeleteConfig { .. }
        | Operation::Lock { .. }
        | Operation::Unlock { .. }
        | Operation::Commit(_)
        | Operation::CancelCommit { .. }
        | Operation::DiscardChanges
        | Operation::Update { .. }
        | Operation::CloseSession
        | Operation::KillSession { .. }
        | Operation::GetSchema { .. }
        | Operation::CreateSubscription(_)
        | Operation::Other { .. } => None,
    }
}

/// Serves a connection until it ends.
pub(crate) async fn run(mut connection: Connection, shared: Arc<Shared>) {
    let peer = peer_of(&connection, &shared.administrators);
    let user = peer.user.clone();
    let rank = if peer.recovery { Rank::Recovery } else { Rank::Ordinary };
    connection.rank = rank;
    let (answer, opened) = oneshot::channel();
    // A hub that is gone answers nothing.
    let _ = shared.hub.send(Input::Open { peer, answer }).await;
    let Opened { session, kill, messages, listens } = match opened.await {
        Ok(Ok(opened)) => opened,
        Ok(Err(error)) => {
            tracing::warn!(user, %error, "a session is refused");
            return connection.refuse(error).await;
        }
        Err(_) => return connection.refuse(shutting_down()).await,
    };
    let limits = netconf::Limits { idle: connection.idle.or(shared.limits.idle), ..shared.limits };
    let settings = Settings { session_id: session.0, capabilities: shared.capabilities.clone(), limits };
    let state = netconf::Session::new(settings, now().instant);
    let big = Arc::new(AtomicBool::new(false));
    let responder = Responder {
        session,
        user: user.clone(),
        rank,
        shared: Arc::clone(&shared),
        big: Arc::clone(&big),
        filters: Filters::default(),
    };
    let told = (messages, listens, Arc::clone(&big));
    let teller = Teller::new((session, (user, rank)), told, Arc::clone(&shared));
    let reason = serve(connection, state, shared.schema.as_ref(), (responder, teller), kill).await;
    tracing::debug!(%session, %reason, "transport closed");
    let ended = match reason {
        CloseReason::BadHello(_) => Input::BadHello { session },
        CloseReason::HelloTimeout | CloseReason::IdleTimeout => Input::TimedOut { session },
        CloseReason::CloseSession
        | CloseReason::Dropped
        | CloseReason::Killed { .. }
        | CloseReason::BadFraming(_)
        | CloseReason::Behind
        | CloseReason::Withdrawn
        | CloseReason::Shutdown
        | CloseReason::Connection(_) => Input::Dropped { session },
    };
    // A hub that is gone has forgotten the session.
    let _ = shared.hub.send(ended).await;
    if big.load(Ordering::Relaxed) {
        Memory::give_back();
    }
}

/// The local socket takes root and this process's own user only, who can do more than NETCONF could deny them. They and
/// the users of `--user` have recovery sessions (RFC 8341 section 1.1), so rules can shut nobody out for good.
fn peer_of(connection: &Connection, administrators: &[String]) -> Peer {
    let (transport, source_host) = match connection.transport {
        cats_mgmtd_transport::Transport::Ssh => (Transport::Ssh, Some(host_of(&connection.peer))),
        cats_mgmtd_transport::Transport::Tls => (Transport::Tls, Some(host_of(&connection.peer))),
        cats_mgmtd_transport::Transport::Local => (Transport::Local, None),
    };
    let recovery = transport == Transport::Local || administrators.contains(&connection.user);
    // No transport reports groups.
    Peer { user: connection.user.clone(), transport, source_host, groups: Vec::new(), recovery }
}

/// The address in one with a port.
fn host_of(peer: &str) -> String {
    let host = peer.rsplit_once(':').map_or(peer, |(host, _)| host);
    host.trim_matches(['[', ']']).to_owned()
}

struct Responder {
    session: SessionId,
    user: String,
    rank: Rank,
    shared: Arc<Shared>,
    /// The session had a big request, or was told much.
    big: Arc<AtomicBool>,
    filters: Filters,
}

impl Respond for Responder {
    async fn greeted(&mut self, hello: netconf::Hello) {
        if asks_for_private_candidate(&hello) {
            // A hub that is gone has no candidates.
            let _ = self.shared.hub.send(Input::PrivateCandidate { session: self.session }).await;
        }
    }

    async fn respond(&mut self, rpc: Rpc) -> Response {
        let memory = self.shared.memory.follow(&rpc.operation);
        let nmda = matches!(&rpc.operation, Operation::GetData(_));
        let of = if nmda { DataOf::Nmda } else { DataOf::Base };
        let revisions = matches!(&rpc.operation, Operation::Other { .. });
        let request = request_of(rpc.operation, &self.shared.schema, &mut self.filters)
            .unwrap_or_else(|error| Request::Unsupported(Box::new(error)));
        let (answer, reply) = oneshot::channel();
        let input = Input::Request { session: self.session, request, answer };
        let sent = self.shared.hub.send(input).await;
        let response = match reply.await {
            Ok(reply) if sent.is_ok() => self.response(reply, of, revisions).await,
            Ok(_) | Err(_) => netconf::Reply::from(shutting_down()).into(),
        };
        if memory {
            Memory::give_back();
            self.big.store(true, Ordering::Relaxed);
        }
        response
    }

    async fn refused(&mut self, more: netconf::Refusals) {
        // A hub that is gone counts no more.
        let _ = self.shared.hub.send(Input::Refused { session: self.session, more }).await;
    }
}

fn shutting_down() -> Error {
    Error::protocol(ErrorTag::ResourceDenied, "the server is shutting down")
}

/// Its parameters are the server's to say.
fn asks_for_private_candidate(hello: &netconf::Hello) -> bool {
    let base = |uri: &String| uri.split('?').next() == Some(netconf::names::PRIVATE_CANDIDATE_1_0);
    hello.capabilities.iter().any(base)
}

impl Responder {
    async fn response(&self, reply: Reply, of: DataOf, revisions: bool) -> Response {
        let reply = match reply {
            Reply::Data(reading) => return self.data(&reading, of).await,
            Reply::Comparison(comparison) => self.comparison(&comparison, revisions).await,
            Reply::Ok => netconf::Reply::Ok,
            Reply::Schema(text) => netconf::Reply::Schema(text.to_string()),
            Reply::SchemaIndex { content_id, index } => {
                netconf::Reply::Output(exec::schema_index_xml(&content_id, index.as_deref()))
            }
            Reply::Attached { conflicts } => {
                let schema = self.shared.schema.as_ref();
                netconf::Reply::Output(netconf::instances_xml(EXEC, "conflict", &conflicts, schema))
            }
            Reply::Executed(executed) => self.executed(&executed).await,
            Reply::Errors(errors) => netconf::Reply::Errors(errors),
        };
        reply.into()
    }

    /// What a component answered is held against the schema here, in the session's own time.
    async fn executed(&self, executed: &Executed) -> netconf::Reply {
        let schema = self.shared.schema.as_ref();
        match tokio::task::block_in_place(|| executed.to_xml(schema)) {
            Ok(xml) => netconf::Reply::Output(xml),
            Err(errors) => {
                let (operation, why) = (executed.operation(schema), errors.first());
                tracing::error!(operation, ?why, "{ENGINE} answered what the schema does not allow");
                // A hub that is gone counts no more.
                let _ = self.shared.hub.send(Input::Unreadable { session: self.session }).await;
                let message = format!(
                    "{ENGINE} carried '{operation}' out, but its answer is not what the schema says: see the log of \
                     cats-mgmtd, and report it"
                );
                netconf::Reply::Errors(vec![Error::application(ErrorTag::OperationFailed, message)])
            }
        }
    }

    /// Filters are evaluated here, in the session's own time; the text is made while it is written.
    async fn data(&self, reading: &Reading, of: DataOf) -> Response {
        let schema = &self.shared.schema;
        let view = match reading.view_at_once(schema) {
            Some(view) => Ok(view),
            None => {
                let _turn = self.turn().await;
                tokio::task::block_in_place(|| reading.view(schema))
            }
        };
        match view {
            Ok(view) => Response::Data { of, pieces: Box::new(view.pieces_with(Arc::clone(schema))) },
            Err(errors) => {
                // A hub that is gone counts no more.
                let _ = self.shared.hub.send(Input::Unreadable { session: self.session }).await;
                netconf::Reply::Errors(errors).into()
            }
        }
    }
}

impl Responder {
    async fn turn(&self) -> Turn<'_> {
        self.shared.turn(&self.user, self.rank).await
    }

    /// The difference is made here, in the session's own time.
    async fn comparison(&self, comparison: &Comparison, revisions: bool) -> netconf::Reply {
        let turn = self.turn().await;
        let edits = tokio::task::block_in_place(|| comparison.edits(&self.shared.schema));
        drop(turn);
        match edits {
            Ok(edits) => {
                let edits =
                    edits.map(|edits| edits.into_iter().map(retrieval::patch_edit).collect::<Vec<_>>());
                // Without a filter, nothing on either side is no difference.
                netconf::Reply::Output(match revisions {
                    true => netconf::differences_xml(EXEC, &edits.unwrap_or_default()),
                    false => netconf::comparison_xml(edits.as_deref()),
                })
            }
            Err(errors) => {
                // A hub that is gone counts no more.
                let _ = self.shared.hub.send(Input::Unreadable { session: self.session }).await;
                netconf::Reply::Errors(errors)
            }
        }
    }
}

fn request_of(operation: Operation, schema: &Schema, filters: &mut Filters) -> Result<Request, Error> {
    Ok(match operation {
        Operation::Get { filter, with_defaults } => {
            Request::Get(retrieval::selection(filter, with_defaults, schema, filters)?)
        }
        Operation::GetConfig { source, filter, with_defaults } => Request::GetConfig {
            source: datastore(source),
            selection: retrieval::selection(filter, with_defaults, schema, filters)?,
        },
        Operation::GetData(get) => retrieval::get_data(*get, schema, filters)?,
        Operation::Compare(compare) => retrieval::compare(*compare, schema, filters)?,
        Operation::EditData(edit) => {
            let default_operation = retrieval::default_operation(edit.default_operation);
            let config = read(edit.config, schema, ReadAs::Edit(default_operation));
            Request::EditData { datastore: retrieval::datastore(edit.datastore), default_operation, config }
        }
        Operation::EditConfig { target, default_operation, test_option, error_option, config } => {
            let default_operation = retrieval::default_operation(default_operation);
            let config = read(config, schema, ReadAs::Edit(default_operation));
            let target = datastore(target);
            let (test_option, error_option) = (test(test_option), on_error(error_option));
            Request::EditConfig(Edit { target, default_operation, test_option, error_option, config })
        }
        Operation::CopyConfig { target: to, source: from, with_defaults } => Request::CopyConfig {
            target: target(to),
            source: source(from, schema),
            with_defaults: with_defaults.map(retrieval::defaults),
        },
        Operation::DeleteConfig { target: gone } => Request::DeleteConfig { target: target(gone) },
        Operation::Lock { target } => Request::Lock { target: datastore(target) },
        Operation::Unlock { target } => Request::Unlock { target: datastore(target) },
        Operation::Commit(options) => Request::Commit(commit_options(options)),
        Operation::CancelCommit { persist_id } => Request::CancelCommit { persist_id },
        Operation::DiscardChanges => Request::DiscardChanges,
        Operation::Update { resolution: mode } => Request::Update { resolution: resolution(mode) },
        Operation::Validate { source: from } => Request::Validate { source: source(from, schema) },
        Operation::CloseSession => Request::CloseSession,
        Operation::KillSession { session_id } => Request::KillSession { session: SessionId(session_id) },
        Operation::GetSchema { identifier, version, format } => {
            Request::GetSchema { identifier, version, format }
        }
        Operation::CreateSubscription(wanted) => {
            Request::Subscribe(Box::new(retrieval::subscribe(*wanted, schema)?))
        }
        Operation::Other { namespace, name, xml } => {
            let own = if namespace == EXEC { exec::request(&name, xml.as_str()) } else { None };
            own.or_else(|| operations::request(schema, &namespace, &name, xml.as_str()))
                .unwrap_or_else(|| Err(unknown_operation(&namespace, &name, schema)))?
        }
    })
}

fn commit_options(options: netconf::CommitOptions) -> CommitOptions {
    let confirmed = options
        .confirmed
        .map(|confirmed| Confirmed { timeout_s: confirmed.timeout_s, persist: confirmed.persist });
    CommitOptions { confirmed, persist_id: options.persist_id, comment: options.comment }
}

fn test(option: netconf::TestOption) -> TestOption {
    match option {
        netconf::TestOption::TestThenSet => TestOption::TestThenSet,
        netconf::TestOption::Set => TestOption::Set,
        netconf::TestOption::TestOnly => TestOption::TestOnly,
    }
}

fn on_error(option: netconf::ErrorOption) -> ErrorOption {
    match option {
        netconf::ErrorOption::StopOnError => ErrorOption::StopOnError,
        netconf::ErrorOption::ContinueOnError => ErrorOption::ContinueOnError,
        netconf::ErrorOption::RollbackOnError => ErrorOption::RollbackOnError,
    }
}

fn resolution(mode: netconf::Resolution) -> Resolution {
    match mode {
        netconf::Resolution::RevertOnConflict => Resolution::RevertOnConflict,
        netconf::Resolution::PreferCandidate => Resolution::PreferCandidate,
        netconf::Resolution::PreferRunning => Resolution::PreferRunning,
    }
}

fn datastore(datastore: netconf::Datastore) -> Datastore {
    match datastore {
        netconf::Datastore::Running => Datastore::Running,
        netconf::Datastore::Candidate => Datastore::Candidate,
    }
}

/// Read here, in the session's own time: the hub serves all sessions.
fn read(config: netconf::Content, schema: &Schema, read_as: ReadAs) -> Config {
    match config {
        netconf::Content::Inline(config) if config.as_str().len() < LITTLE => {
            config_of(config.into_string(), schema, read_as)
        }
        netconf::Content::Inline(config) => {
            tokio::task::block_in_place(|| config_of(config.into_string(), schema, read_as))
        }
        netconf::Content::Url(url) => Config::at(url),
    }
}

/// A `<config>` element that is read by the schema, which takes its time.
pub(crate) fn config_of(text: String, schema: &Schema, read_as: ReadAs) -> Config {
    let config = Config::new(text);
    let salted = match random::bytes() {
        Ok(salt) => config.salted(salt),
        Err(error) => {
            // Without salt the core refuses clear text, and nothing else.
            tracing::error!(%error, "no random bytes for the salts of passwords");
            config
        }
    };
    salted.read(schema, read_as)
}

fn target(target: netconf::Target) -> Target {
    match target {
        netconf::Target::Datastore(to) => Target::Datastore(datastore(to)),
        netconf::Target::Url(url) => Target::Url(url),
    }
}

fn source(source: netconf::Source, schema: &Schema) -> Source {
    match source {
        netconf::Source::Datastore(from) => Source::Datastore(datastore(from)),
        netconf::Source::Config(xml) => Source::Config(read(xml, schema, ReadAs::Whole)),
    }
}

fn unknown_operation(namespace: &str, name: &str, schema: &Schema) -> Error {
    let known = schema.modules.iter().any(|module| module.implemented && module.namespace == namespace);
    if known { netconf::operation_not_supported(name) } else { netconf::unknown_namespace(name, namespace) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hub;
    use cats_mgmtd_transport::{Admission, LocalListener, SessionLimits};
    use tokio::io::AsyncReadExt;
    use tokio::net::UnixStream;
    use tokio::sync::mpsc;

    /// What a peer gets when the hub answers its session with this, or is gone.
    async fn told(answered: Option<Error>) -> String {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("netconf.sock");
        let listener = LocalListener::bind(&path, Admission::new(SessionLimits::default())).unwrap();
        let (accepted, mut connections) = mpsc::channel(1);
        let listening = tokio::spawn(listener.run(accepted));
        let mut peer = UnixStream::connect(&path).await.unwrap();
        let connection = connections.recv().await.unwrap();
        listening.abort();
        let (hub, mut inputs) = hub::channel();
        let shared = Shared {
            schema: Arc::new(Schema::default()),
            capabilities: Vec::new(),
            limits: netconf::Limits::default(),
            hub,
            administrators: Vec::new(),
            memory: Memory::default(),
        };
        let running = tokio::spawn(run(connection, Arc::new(shared)));
        if let Some(error) = answered {
            let Some(Input::Open { answer, .. }) = inputs.recv().await else { panic!("a session") };
            answer.send(Err(error)).unwrap();
        }
        drop(inputs);
        let mut text = String::new();
        peer.read_to_string(&mut text).await.unwrap();
        running.await.unwrap();
        text
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_session_that_is_refused_is_told_why() {
        let error = Error::protocol(ErrorTag::ResourceDenied, "there are 512 sessions");
        for (answered, words) in [(Some(error), "there are 512 sessions"), (None, "shutting down")] {
            let text = told(answered).await;
            assert!(
                text.contains("<error-tag>resource-denied</error-tag>") && text.contains(words),
                "{text}"
            );
            assert!(text.ends_with("]]>]]>") && !text.contains("<hello"), "{text}");
        }
    }
}
