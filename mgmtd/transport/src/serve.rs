//! Drives a NETCONF session over a connection.

use crate::access::Standing;
use crate::admission::Ticket;
use crate::connection::{Connection, FINISH, Stream};
use crate::guard::Progress;
use crate::peer::SshChannel;
use crate::room::{Room, Rooms};
use crate::turns::{Rank, Turn};
use cats_mgmtd_netconf::{CloseReason, DataOf, Hello, Modules, Output, Refusals, Reply, Rpc, Session};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{oneshot, watch};
use tokio::task::yield_now;
use tokio::time::{Instant, sleep, sleep_until, timeout};

/// A peer that sends no more may be gone, which does not always show: an answer that takes longer is not waited for, so that
/// locks and places of those who are gone do not last.
const LAST_ANSWER: Duration = Duration::from_millis(if cfg!(test) { 200 } else { 60_000 });

/// A peer that takes no byte for so long loses the session.
const STALL: Duration = Duration::from_secs(60);

/// How much is read ahead while the peer does not take what is written; more than this and both wait, until one
/// side gives way or [`STALL`] passes.
const READ_AHEAD_WHILE_WRITING: usize = 4 << 20;

/// A message that there is no memory for is given up after so long, and one that takes memory and stands still is too.
const NO_ROOM: Duration = Duration::from_secs(10);
const STANDSTILL: Duration = Duration::from_secs(60);

/// What is read at a time, in bytes; every idle session holds so much.
const BUFFER: usize = 8 << 10;

/// Answers that follow closely on each other are written together, up to so many bytes: one packet of SSH.
const TOGETHER: usize = 32 << 10;

/// What a request is answered with.
pub enum Response {
    /// A reply as a whole.
    Reply(Reply),
    /// Data, of which a piece is made when the one before it is written: however slow the peer is, one is in memory.
    Data {
        /// Whose `<data>` element they are in.
        of: DataOf,
        /// Pieces as [`Session::data`] takes them, of some kilobytes.
        pieces: Box<dyn Iterator<Item = String> + Send>,
    },
}

impl From<Reply> for Response {
    fn from(reply: Reply) -> Self {
        Response::Reply(reply)
    }
}

/// Answers the requests of one session, one at a time.
pub trait Respond: Send {
    /// The peer's hello has come; before the first request.
    fn greeted(&mut self, hello: Hello) -> impl Future<Output = ()> + Send;

    /// The answer to `rpc`. The future is dropped only when the session is killed or the server shuts down; when the
    /// peer just goes away it is driven to its end.
    fn respond(&mut self, rpc: Rpc) -> impl Future<Output = Response> + Send;

    /// So many more messages are answered with an error without being requests; called before the answers are written.
    fn refused(&mut self, more: Refusals) -> impl Future<Output = ()> + Send;
}

/// What the peer of one session is told unasked.
pub trait Tell: Send {
    /// The next message, a `<notification>` element; none for one that is not for the peer after all. While there is
    /// none to come it does not end. The future may be dropped before its end, and nothing is lost by that.
    fn next(&mut self) -> impl Future<Output = Option<String>> + Send;

    /// So many messages that were taken are written, or were not to be.
    fn taken(&mut self, messages: usize) -> impl Future<Output = ()> + Send;

    /// May there be messages to come? The session is not idle then, whatever it asks.
    fn listens(&self) -> bool;
}

/// Tells nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Tell for Silent {
    async fn next(&mut self) -> Option<String> {
        std::future::pending().await
    }

    async fn taken(&mut self, _messages: usize) {}

    fn listens(&self) -> bool {
        false
    }
}

/// Runs `session` over `connection` until it ends, and says why it ended. `kill` ends it from outside; dropping the
/// sender of `kill` does nothing. Holds one reply in memory at most, or one piece of it, besides short ones that are
/// written together, and does not parse the next request before the answer to the one before is made. What `teller` has
/// to say is written between answers: while nothing is asked, while an answer is made, and one message after each answer.
pub async fn serve<R: Respond, T: Tell>(
    connection: Connection,
    session: Session,
    modules: &(dyn Modules + Send + Sync),
    (mut responder, teller): (R, T),
    kill: oneshot::Receiver<CloseReason>,
) -> CloseReason {
    let Connection { stream, channel, ticket, standing, rank, .. } = connection;
    let progress = channel.as_ref().map(SshChannel::progress);
    let ender = Ender { kill: Some(kill), ticket, greeted: false, standing, progress };
    let mut driver = Driver::new(stream, session, ender, teller);
    let rooms = Arc::clone(driver.room.rooms());
    // Of the big message in progress.
    let mut turn = None;
    let reason = loop {
        let request = match driver.drain(&mut responder).await {
            Ok(request) => request,
            Err(reason) => break reason,
        };
        if request.is_none() && driver.session.is_pending() {
            // Two turns at once would wait for each other.
            drop(turn.take());
            turn = driver.turn(&rooms, rank).await;
            continue;
        }
        match request {
            Some(_) if !driver.ender.standing_holds() => {
                break driver.write_held().await.err().unwrap_or(CloseReason::Withdrawn);
            }
            Some(rpc) => {
                let answered = driver.answer(rpc, &mut responder, (modules, turn.take())).await;
                if let Err(reason) = answered {
                    break reason;
                }
                driver.tell_one().await;
            }
            None => {
                turn = None;
                driver.wait().await;
            }
        }
    };
    drop(turn);
    finish(&mut *driver.stream, channel, &reason).await;
    reason
}

/// Ends the connection: in order, unless it has failed or its peer does not take that.
async fn finish(stream: &mut dyn Stream, channel: Option<SshChannel>, reason: &CloseReason) {
    let failed = matches!(reason, CloseReason::Connection(_));
    let status = u32::from(!matches!(reason, CloseReason::CloseSession | CloseReason::Dropped));
    let finish = Connection::finish(stream, channel.clone(), status);
    if (failed || timeout(FINISH, finish).await.is_err())
        && let Some(channel) = channel
    {
        channel.abandon();
    }
}

struct Driver<T> {
    teller: T,
    /// Messages of it that are not written yet.
    told: usize,
    stream: Box<dyn Stream>,
    session: Session,
    ender: Ender,
    /// Refused messages that the responder was told of.
    refused: Refusals,
    /// The peer sends no more.
    ended: bool,
    buffer: Vec<u8>,
    /// Memory for what is not a request yet.
    room: Room,
    /// Since when it is not read on for want of memory.
    hungry: Option<Instant>,
    /// What is to be written with what comes next, unless that takes its time.
    held: Vec<u8>,
}

impl<T: Tell> Driver<T> {
    fn new(stream: Box<dyn Stream>, session: Session, ender: Ender, teller: T) -> Self {
        Self {
            teller,
            told: 0,
            stream,
            session,
            room: ender.ticket.room(),
            ender,
            refused: Refusals::default(),
            ended: false,
            buffer: vec![0; BUFFER],
            hungry: None,
            held: Vec::new(),
        }
    }

    /// Writes what the session has to say, up to a request or the end; before a request some of it may be held.
    async fn drain<R: Respond>(&mut self, responder: &mut R) -> Result<Option<Rpc>, CloseReason> {
        if self.session.is_greeted() {
            self.ender.greeted();
        }
        loop {
            let output = self.session.poll_output();
            self.greet(responder).await;
            // While that is written more may come, and ask for more to be written.
            let Some(output) = output else {
                if self.held.is_empty() && self.told == 0 {
                    break;
                }
                self.write_held().await?;
                self.settle_told().await;
                continue;
            };
            let refused = self.session.refused();
            if refused != self.refused {
                responder.refused(refused.since(self.refused)).await;
                self.refused = refused;
            }
            match output {
                Output::Send(bytes) => self.hold(bytes).await?,
                Output::Request(rpc) => return Ok(Some(rpc)),
                Output::Closed(reason) => {
                    self.write_held().await?;
                    return Err(reason);
                }
            }
        }
        let _ = self.stream.flush().await;
        self.room.settle(self.session.held());
        Ok(None)
    }

    /// Carries a big message out when it is its turn.
    async fn turn<'r>(&mut self, rooms: &'r Rooms, rank: Rank) -> Option<Turn<'r>> {
        let turn = tokio::select! {
            biased;
            reason = self.ender.ended() => {
                self.session.close(reason);
                return None;
            }
            turn = rooms.turn(self.room.user(), rank) => turn,
        };
        tokio::task::block_in_place(|| self.session.proceed());
        self.room.settle(self.session.held());
        // What was refused has its answer.
        self.session.is_asked().then_some(turn)
    }

    /// May more be read, as far as memory goes?
    fn has_room(&mut self) -> bool {
        self.room.holds(self.session.held() + BUFFER)
    }

    /// Takes what is to be written, and writes what is more than goes together.
    async fn hold(&mut self, bytes: Vec<u8>) -> Result<(), CloseReason> {
        if self.held.len() + bytes.len() > TOGETHER {
            self.write_held().await?;
        }
        if self.held.is_empty() {
            self.held = bytes;
        } else {
            self.held.reserve_exact(TOGETHER.saturating_sub(self.held.len()));
            self.held.extend_from_slice(&bytes);
        }
        Ok(())
    }

    async fn write_held(&mut self) -> Result<(), CloseReason> {
        let held = std::mem::take(&mut self.held);
        self.write(&held).await
    }

    /// What was told so far is written.
    async fn settle_told(&mut self) {
        let told = std::mem::take(&mut self.told);
        if told > 0 {
            self.teller.taken(told).await;
        }
    }

    /// Tells what is next. It is written with what the session has to say.
    fn tell(&mut self, message: Option<String>) {
        self.told += 1;
        if let Some(message) = message {
            self.session.notify(message);
        }
    }

    /// A message, if there is any: who asks one thing after the other is told something too.
    async fn tell_one(&mut self) {
        tokio::select! {
            biased;
            message = self.teller.next() => self.tell(message),
            () = std::future::ready(()) => {}
        }
    }

    async fn greet<R: Respond>(&mut self, responder: &mut R) {
        if let Some(hello) = self.session.take_hello() {
            responder.greeted(hello).await;
        }
    }

    /// Writes all of `bytes`; meanwhile reads on, so that two sides that both write do not block each other.
    async fn write(&mut self, bytes: &[u8]) -> Result<(), CloseReason> {
        let (mut reader, mut writer) = tokio::io::split(&mut self.stream);
        let mut stall = pin!(sleep(STALL));
        let mut rest = bytes;
        let mut flushed = false;
        while !flushed {
            let more = !self.ended && self.session.backlog() < READ_AHEAD_WHILE_WRITING;
            let may_read = more && self.room.holds(self.session.held() + BUFFER);
            tokio::select! {
                biased;
                reason = self.ender.ended_while_writing() => return Err(reason),
                written = write_some(&mut writer, rest) => match written {
                    // Over TLS, what was written is not always sent.
                    Ok(_) if rest.is_empty() => flushed = true,
                    Ok(0) => return Err(CloseReason::Connection("it takes no more bytes".to_owned())),
                    Ok(count) => {
                        rest = rest.get(count..).unwrap_or_default();
                        stall.as_mut().reset(Instant::now() + STALL);
                    }
                    Err(error) => return Err(CloseReason::Connection(error.to_string())),
                },
                read = reader.read(&mut self.buffer), if may_read => match read {
                    Ok(0) | Err(_) => self.ended = true,
                    Ok(count) => {
                        let now = Instant::now().into_std();
                        self.session.handle_bytes(self.buffer.get(..count).unwrap_or_default(), now);
                    }
                },
                () = &mut stall => {
                    let why = format!("the peer took nothing for {} s", STALL.as_secs());
                    return Err(CloseReason::Connection(why));
                }
            }
        }
        Ok(())
    }

    /// Waits for the answer, and reads ahead meanwhile, within bounds. Data are written here, the rest of it by
    /// [`Driver::drain`].
    async fn answer<R: Respond>(
        &mut self,
        rpc: Rpc,
        responder: &mut R,
        (modules, turn): (&(dyn Modules + Send + Sync), Option<Turn<'_>>),
    ) -> Result<(), CloseReason> {
        let mut answer = pin!(responder.respond(rpc));
        // There may be something that was told after the answer before.
        let mut written = self.send().await;
        let (mut late, mut last) = (None, None);
        let response = loop {
            let end = self.ended.then(|| *last.get_or_insert_with(|| Instant::now() + LAST_ANSWER));
            let may_read = !self.ended && self.session.wants_input() && self.has_room();
            tokio::select! {
                biased;
                reason = self.ender.ended() => {
                    self.session.close(reason);
                    return Ok(());
                }
                response = &mut answer => break response,
                read = self.stream.read(&mut self.buffer), if may_read => self.ended = self.took(read),
                message = self.teller.next(), if written.is_ok() => {
                    // An answer that was given before this was to be told stands before it.
                    tokio::select! {
                        biased;
                        response = &mut answer => {
                            late = Some(message);
                            break response;
                        }
                        () = std::future::ready(()) => {}
                    }
                    self.tell(message);
                    written = self.send().await;
                }
                () = at(end) => {
                    self.session.close(CloseReason::Dropped);
                    return Ok(());
                }
                // Whoever answers at once has had its turn.
                () = yield_now(), if written.is_ok() && (!self.held.is_empty() || self.told > 0) => {
                    written = self.write_held().await;
                    if written.is_ok() {
                        let _ = self.stream.flush().await;
                        self.settle_told().await;
                    }
                }
            }
        };
        drop(turn);
        written?;
        match response {
            Response::Reply(reply) => self.session.reply(reply, modules, Instant::now().into_std()),
            Response::Data { of, pieces } => {
                self.session.begin_data(of);
                for piece in pieces {
                    self.session.data(&piece);
                    self.send().await?;
                }
                self.session.end_data(Instant::now().into_std());
            }
        }
        if let Some(message) = late {
            self.tell(message);
        }
        if self.ended {
            self.session.handle_eof();
        }
        Ok(())
    }

    /// Holds or writes what a reply in progress has to say so far: nothing else comes before its end.
    async fn send(&mut self) -> Result<(), CloseReason> {
        while let Some(output) = self.session.poll_output() {
            match output {
                Output::Send(bytes) => self.hold(bytes).await?,
                Output::Closed(reason) => return Err(reason),
                Output::Request(_) => {}
            }
        }
        Ok(())
    }

    /// Waits for bytes, for time, for memory, or for the end.
    async fn wait(&mut self) {
        if self.ended {
            // Only now, with all that was read handed over.
            return self.session.handle_eof();
        }
        let listens = self.session.is_greeted() && self.teller.listens();
        let due = self.session.poll_timeout().filter(|_| !listens).map(|(due, _)| Instant::from_std(due));
        let freed = self.room.rooms().freed();
        let fed = self.has_room();
        let given_up = match self.hungry {
            _ if fed && !self.room.is_used() => None,
            _ if fed => Some(Instant::now() + STANDSTILL),
            hungry => Some(*self.hungry.insert(hungry.unwrap_or_else(Instant::now)) + NO_ROOM),
        };
        tokio::select! {
            biased;
            reason = self.ender.ended_between_requests() => self.session.close(reason),
            read = self.stream.read(&mut self.buffer), if fed => {
                self.hungry = None;
                self.ended = self.took(read);
            }
            message = self.teller.next(), if self.session.is_greeted() => self.tell(message),
            () = freed, if !fed => {}
            () = at(given_up) => {
                self.hungry = None;
                self.session.discard();
                self.room.settle(self.session.held());
            }
            () = at(due) => self.session.handle_timeout(Instant::now().into_std()),
        }
    }

    /// Hands over what was read; true at the end.
    fn took(&mut self, read: std::io::Result<usize>) -> bool {
        match read {
            Ok(0) | Err(_) => true,
            Ok(count) => {
                self.session
                    .handle_bytes(self.buffer.get(..count).unwrap_or_default(), Instant::now().into_std());
                false
            }
        }
    }
}

/// How much of `bytes` was taken; without any, what was taken is sent.
async fn write_some(writer: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) -> std::io::Result<usize> {
    match bytes.is_empty() {
        true => writer.flush().await.map(|()| 0),
        false => writer.write(bytes).await,
    }
}

/// Never, without a time.
async fn at(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}

/// What ends a session from outside.
struct Ender {
    kill: Option<oneshot::Receiver<CloseReason>>,
    ticket: Ticket,
    greeted: bool,
    standing: Option<Standing>,
    /// Of the SSH connection.
    progress: Option<watch::Receiver<Progress>>,
}

impl Ender {
    /// False when the user may not log in any more.
    fn standing_holds(&self) -> bool {
        self.standing.as_ref().is_none_or(Standing::holds)
    }

    fn greeted(&mut self) {
        if !self.greeted {
            self.greeted = true;
            self.ticket.greeted();
        }
    }

    /// Ready when the session is to end: killed, or its place taken before its peer said hello.
    async fn ended(&mut self) -> CloseReason {
        tokio::select! {
            reason = killed(&mut self.kill) => reason,
            () = self.ticket.displaced() => CloseReason::HelloTimeout,
        }
    }

    /// As [`Ender::ended`]; also when the connection has ended. The SSH library does not say so to who waits for room
    /// in a channel.
    async fn ended_while_writing(&mut self) -> CloseReason {
        let gone = gone(self.progress.clone());
        tokio::select! {
            biased;
            reason = self.ended() => reason,
            () = gone => CloseReason::Connection("it has ended".to_owned()),
        }
    }

    /// As [`Ender::ended`]; also when the user may not log in any more, who still gets the answer to a request in
    /// progress: it may be the commit that did it.
    async fn ended_between_requests(&mut self) -> CloseReason {
        let Some(mut standing) = self.standing.clone() else { return self.ended().await };
        tokio::select! {
            biased;
            reason = self.ended() => reason,
            () = standing.lost() => CloseReason::Withdrawn,
        }
    }
}

/// Ready when the connection has ended; never if it is not one of SSH.
async fn gone(progress: Option<watch::Receiver<Progress>>) {
    match progress {
        // Who would say so is gone only with the connection.
        Some(mut progress) => drop(progress.wait_for(|progress| progress.gone).await),
        None => std::future::pending().await,
    }
}

/// Never ready if nobody can kill the session any more.
async fn killed(kill: &mut Option<oneshot::Receiver<CloseReason>>) -> CloseReason {
    if let Some(receiver) = kill {
        let said = receiver.await;
        *kill = None;
        if let Ok(reason) = said {
            return reason;
        }
    }
    std::future::pending().await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::{Admission, SessionLimits};
    use crate::connection::Transport;
    use cats_mgmtd_netconf::{Limits, NoModules, Operation, Settings};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use tokio::io::{DuplexStream, duplex};
    use tokio::sync::mpsc;

    /// What a pipe takes before its reader reads, bytes.
    const PIPE: usize = 512;

    /// Answers with as much as the name of the schema that is asked for says.
    struct Long;

    impl Respond for Long {
        async fn greeted(&mut self, _hello: Hello) {}

        async fn respond(&mut self, rpc: Rpc) -> Response {
            match rpc.operation {
                Operation::GetSchema { identifier, .. } => {
                    Reply::Schema("x".repeat(identifier.parse().unwrap())).into()
                }
                _ => Reply::Ok.into(),
            }
        }

        async fn refused(&mut self, _more: Refusals) {}
    }

    /// Tells what comes over a channel, and counts what is written of it.
    struct Channel {
        messages: mpsc::Receiver<Option<String>>,
        taken: Arc<AtomicUsize>,
    }

    impl Tell for Channel {
        async fn next(&mut self) -> Option<String> {
            match self.messages.recv().await {
                Some(message) => message,
                None => std::future::pending().await,
            }
        }

        async fn taken(&mut self, messages: usize) {
            self.taken.fetch_add(messages, Ordering::Relaxed);
        }

        fn listens(&self) -> bool {
            true
        }
    }

    fn channel() -> (mpsc::Sender<Option<String>>, Channel) {
        let (sender, messages) = mpsc::channel(64);
        (sender, Channel { messages, taken: Arc::default() })
    }

    /// Answers when it is told to, and says when it was asked.
    struct Slow {
        asked: mpsc::Sender<()>,
        go: mpsc::Receiver<()>,
    }

    impl Respond for Slow {
        async fn greeted(&mut self, _hello: Hello) {}

        async fn respond(&mut self, _rpc: Rpc) -> Response {
            self.asked.send(()).await.unwrap();
            self.go.recv().await.unwrap();
            Reply::Ok.into()
        }

        async fn refused(&mut self, _more: Refusals) {}
    }

    /// The other end of a session, of which nothing is read yet.
    fn serving() -> DuplexStream {
        serving_with(Long, Silent, Limits::default())
    }

    fn serving_with<R, T>(responder: R, teller: T, limits: Limits) -> DuplexStream
    where
        R: Respond + 'static,
        T: Tell + 'static,
    {
        let (near, far) = duplex(PIPE);
        let ticket = Admission::new(SessionLimits::default()).admit("ann").unwrap();
        let connection = Connection {
            user: "ann".to_owned(),
            transport: Transport::Local,
            peer: String::new(),
            rank: Rank::default(),
            idle: None,
            stream: Box::new(near),
            channel: None,
            ticket,
            standing: None,
        };
        let settings = Settings { session_id: 1, capabilities: Vec::new(), limits };
        let session = Session::new(settings, std::time::Instant::now());
        let (_, kill) = oneshot::channel();
        tokio::spawn(serve(connection, session, &NoModules, (responder, teller), kill));
        far
    }

    async fn until(stream: &mut DuplexStream, wanted: &str) -> String {
        let mut all = Vec::new();
        while !String::from_utf8_lossy(&all).contains(wanted) {
            let reading = timeout(Duration::from_secs(5), stream.read_buf(&mut all)).await;
            let text = String::from_utf8_lossy(&all);
            assert!(reading.is_ok_and(|read| read.unwrap() > 0), "no {wanted} after {text}");
        }
        String::from_utf8(all).unwrap()
    }

    const BASE: &str = "urn:ietf:params:xml:ns:netconf:base:1.0";

    async fn greet(stream: &mut DuplexStream) {
        let hello = format!(
            "<hello xmlns=\"{BASE}\"><capabilities><capability>{}</capability></capabilities></hello>]]>]]>",
            "urn:ietf:params:netconf:base:1.0"
        );
        stream.write_all(hello.as_bytes()).await.unwrap();
        until(stream, "]]>]]>").await;
    }

    fn rpc(id: u32, content: &str) -> String {
        format!("<rpc xmlns=\"{BASE}\" message-id=\"{id}\">{content}</rpc>]]>]]>")
    }

    const DISCARD: &str = "<discard-changes/>";

    fn notice(at: usize) -> Option<String> {
        Some(format!("<n{at}/>"))
    }

    /// Its locks and its place go with it.
    #[tokio::test]
    async fn a_peer_that_sends_no_more_gets_its_answers_but_is_not_waited_for_without_end() {
        for answered in [true, false] {
            let (asked, _was_asked) = mpsc::channel(1);
            let (go, answering) = mpsc::channel(1);
            if answered {
                go.send(()).await.unwrap();
            }
            let mut stream = serving_with(Slow { asked, go: answering }, Silent, Limits::default());
            greet(&mut stream).await;
            stream.write_all(rpc(1, DISCARD).as_bytes()).await.unwrap();
            stream.shutdown().await.unwrap();
            let (began, mut rest) = (Instant::now(), String::new());
            stream.read_to_string(&mut rest).await.unwrap();
            assert_eq!(rest.contains("<ok/>"), answered, "{rest}");
            assert!(answered || began.elapsed() >= LAST_ANSWER);
        }
    }

    /// One thread runs both ends.
    #[tokio::test]
    async fn a_session_that_asks_nothing_is_told_at_once_and_what_is_written_is_counted() {
        let (sender, channel) = channel();
        let taken = Arc::clone(&channel.taken);
        // Who listens is not idle.
        let limits = Limits { idle: Some(Duration::ZERO), ..Limits::default() };
        let mut stream = serving_with(Long, channel, limits);
        greet(&mut stream).await;
        sender.send(notice(0)).await.unwrap();
        until(&mut stream, "<n0/>]]>]]>").await;
        sender.send(None).await.unwrap();
        sender.send(notice(1)).await.unwrap();
        until(&mut stream, "<n1/>]]>]]>").await;
        while taken.load(Ordering::Relaxed) < 3 {
            yield_now().await;
        }
    }

    #[tokio::test]
    async fn a_request_under_way_keeps_no_notification_waiting_and_an_answer_that_was_given_stands_first() {
        let (sender, channel) = channel();
        let (asked, mut was_asked) = mpsc::channel(1);
        let (go, answering) = mpsc::channel(1);
        let mut stream = serving_with(Slow { asked, go: answering }, channel, Limits::default());
        greet(&mut stream).await;
        stream.write_all(rpc(1, DISCARD).as_bytes()).await.unwrap();
        was_asked.recv().await.unwrap();
        sender.send(notice(0)).await.unwrap();
        until(&mut stream, "<n0/>]]>]]>").await;
        go.send(()).await.unwrap();
        sender.send(notice(1)).await.unwrap();
        let rest = until(&mut stream, "<n1/>]]>]]>").await;
        assert!(rest.starts_with("<rpc-reply"), "{rest}");
    }

    #[tokio::test]
    async fn who_asks_without_end_is_told_something_after_each_answer() {
        let (sender, channel) = channel();
        let mut stream = serving_with(Long, channel, Limits::default());
        greet(&mut stream).await;
        for at in 0..8 {
            sender.send(notice(at)).await.unwrap();
        }
        let many: String = (0..16).map(|id| rpc(id, DISCARD)).collect();
        let (mut reader, mut writer) = tokio::io::split(stream);
        tokio::spawn(async move { writer.write_all(many.as_bytes()).await });
        let mut all = Vec::new();
        while !String::from_utf8_lossy(&all).contains("message-id=\"15\"") {
            assert!(reader.read_buf(&mut all).await.unwrap() > 0);
        }
        let text = String::from_utf8(all).unwrap();
        assert_eq!((0..8).filter(|at| text.contains(&format!("<n{at}/>"))).count(), 8, "{text}");
        let messages = text.split("]]>]]>").filter(|message| !message.is_empty());
        let whole = |message: &str| {
            message.starts_with("<n") && message.ends_with("/>")
                || message.starts_with("<rpc-reply") && message.ends_with("</rpc-reply>")
        };
        // The last one may have come in part.
        let cut: Vec<_> = messages.filter(|message| !whole(message)).collect();
        assert!(cut.len() <= 1, "{cut:?}");
    }

    /// One thread runs both ends.
    #[tokio::test]
    async fn what_comes_while_the_last_answer_waits_for_its_reader_is_answered_without_more() {
        let mut stream = serving();
        greet(&mut stream).await;
        let schema = format!(
            "<rpc xmlns=\"{BASE}\" message-id=\"1\"><get-schema \
             xmlns=\"urn:ietf:params:xml:ns:yang:ietf-netconf-monitoring\"><identifier>{}</identifier></get-schema>\
             </rpc>]]>]]>",
            4 * PIPE
        );
        stream.write_all(schema.as_bytes()).await.unwrap();
        // The pipe is full of the answer when its first byte is here.
        until(&mut stream, "<").await;
        let lock = format!(
            "<rpc xmlns=\"{BASE}\" message-id=\"2\"><lock><target><running/></target></lock></rpc>]]>]]>"
        );
        for message in [lock.as_str(), "<no-rpc/>]]>]]>"] {
            stream.write_all(message.as_bytes()).await.unwrap();
            // The session takes it meanwhile: there is nothing else to do.
            for _ in 0..64 {
                yield_now().await;
            }
        }
        let rest = until(&mut stream, "<rpc-error>").await;
        assert!(rest.contains("message-id=\"2\""), "{rest}");
    }
}
