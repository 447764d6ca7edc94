//! A small NETCONF server on this machine, and the keys to log in to it.

#![allow(dead_code, missing_docs, unreachable_pub)] // each test program uses a part
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test fails by panicking

use cats_mgmtd_netconf::{
    CloseReason, DataOf, Limits, NoModules, Operation, Refusals, Reply, Rpc, Session, Settings,
};
use cats_mgmtd_transport::{
    Access, Account, Accounts, Admission, Connection, FREE, HostKeys, LocalListener, Method, Respond,
    Response, Rooms, SessionLimits, Silent, SshLimits, SshListener, StoredPassword, Users, serve,
};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::sync::{mpsc, oneshot, watch};

/// Nothing in these tests takes longer, short of a failure.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A client's hello with base:1.1.
pub const HELLO: &str = "<hello xmlns=\"urn:ietf:params:xml:ns:netconf:base:1.0\"><capabilities>\
    <capability>urn:ietf:params:netconf:base:1.1</capability></capabilities></hello>]]>]]>";

/// `content` as the chunked rpc number `id`.
pub fn rpc(id: u32, content: &str) -> String {
    let base = "urn:ietf:params:xml:ns:netconf:base:1.0";
    let text = format!("<rpc xmlns=\"{base}\" message-id=\"{id}\">{content}</rpc>");
    format!("\n#{}\n{text}\n##\n", text.len())
}

/// How the server is set up.
pub struct Setup {
    pub ssh: SshLimits,
    pub sessions: SessionLimits,
    pub methods: Vec<Method>,
    /// Users beside ann.
    pub accounts: Accounts,
    /// Size of the answer to `<get>`, in bytes.
    pub data: usize,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            ssh: SshLimits::default(),
            sessions: SessionLimits::default(),
            methods: vec![Method::PublicKey, Method::KeyboardInteractive, Method::Password],
            accounts: Accounts::default(),
            data: 10,
        }
    }
}

/// The running server. It ends with the value.
pub struct Lab {
    pub dir: TempDir,
    pub address: SocketAddr,
    /// Memory of the sessions.
    pub rooms: Arc<Rooms>,
    /// Who may log in.
    pub access: watch::Sender<Arc<Access>>,
    /// Requests answered so far.
    answered: watch::Receiver<usize>,
    /// Why sessions ended, and whose they were, in order.
    pub ended: watch::Receiver<Vec<(String, CloseReason)>>,
    /// Killers of the sessions, in order of their begin.
    pub kills: mpsc::Receiver<oneshot::Sender<CloseReason>>,
    tasks: Vec<tokio::task::JoinHandle<()>>,
}

impl Drop for Lab {
    fn drop(&mut self) {
        self.tasks.iter().for_each(|task| task.abort());
    }
}

/// The bytes of a piece of data.
const PIECE: usize = 10_000;

struct Echo {
    data: usize,
    answered: Arc<watch::Sender<usize>>,
}

impl Respond for Echo {
    async fn greeted(&mut self, _hello: cats_mgmtd_netconf::Hello) {}

    async fn respond(&mut self, rpc: Rpc) -> Response {
        self.answered.send_modify(|count| *count += 1);
        match rpc.operation {
            Operation::Get { .. } => {
                let data = self.data;
                let inner = (0..data).step_by(PIECE).map(move |at| "x".repeat(PIECE.min(data - at)));
                let (begin, end) = ("<echo xmlns=\"urn:echo\">".to_owned(), "</echo>".to_owned());
                let pieces = [begin].into_iter().chain(inner).chain([end]);
                Response::Data { of: DataOf::Base, pieces: Box::new(pieces) }
            }
            Operation::GetSchema { identifier, .. } => {
                Reply::Schema(format!("module {identifier} {{}}")).into()
            }
            _ => Reply::Ok.into(),
        }
    }

    async fn refused(&mut self, _more: Refusals) {}
}

impl Lab {
    /// Starts the server, with one key for the user ann, `dir/ann`.
    pub async fn start(setup: Setup) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(dir.path(), open).unwrap();
        make_key(&dir.path().join("ann"), &["-t", "ed25519"]);
        std::fs::copy(dir.path().join("ann.pub"), dir.path().join("authorized")).unwrap();
        std::fs::copy(rsa_host_key(), dir.path().join("ssh_host_rsa_key")).unwrap();
        let keys = HostKeys::load_or_create(dir.path()).unwrap();
        let (access, watched) = watch::channel(Arc::new(Access {
            administrators: Users::new([("ann".to_owned(), dir.path().join("authorized"))]),
            accounts: setup.accounts,
            methods: setup.methods,
            limits: setup.ssh,
        }));
        let admission = Admission::new(setup.sessions);
        let rooms = Arc::clone(admission.rooms());
        let any = "127.0.0.1:0".parse().unwrap();
        let ssh = SshListener::bind(any, keys, watched, Arc::clone(&admission)).await.unwrap();
        let address = ssh.local_addr().unwrap();
        let local = LocalListener::bind(&dir.path().join("netconf.sock"), admission).unwrap();
        let (accepted, connections) = mpsc::channel(16);
        let (counter, answered) = watch::channel(0);
        let (ended_sender, ended) = watch::channel(Vec::new());
        let (kill_sender, kills) = mpsc::channel(64);
        let echo = (setup.data, Arc::new(counter));
        let tasks = vec![
            tokio::spawn(ssh.run(accepted.clone())),
            tokio::spawn(local.run(accepted)),
            tokio::spawn(sessions(connections, echo, ended_sender, kill_sender)),
        ];
        Self { dir, address, rooms, access, answered, ended, kills, tasks }
    }

    pub fn socket(&self) -> PathBuf {
        self.dir.path().join("netconf.sock")
    }

    /// `ssh` with everything that makes it depend on this machine switched off.
    pub fn ssh(&self, user: &str, key: &Path) -> Command {
        let mut command = Command::new("ssh");
        command.args(["-F", "/dev/null", "-o", "BatchMode=yes", "-o", "IdentitiesOnly=yes"]);
        command.args([
            "-o",
            "StrictHostKeyChecking=no",
            "-o",
            "UserKnownHostsFile=/dev/null",
            "-o",
            "LogLevel=ERROR",
        ]);
        command.args(["-o", "IdentityAgent=none", "-p", &self.address.port().to_string()]);
        command.arg("-i").arg(key).arg(format!("{user}@127.0.0.1"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// As [`Lab::ssh`], for one who has no key, and answers each question of the method with the next of these
    /// words.
    pub fn ssh_with_words(&self, user: &str, method: &str, words: &[&str], options: &[&str]) -> Command {
        let (ask, said) = (self.dir.path().join("ask"), self.dir.path().join("words"));
        std::fs::write(&said, words.join("\n") + "\n").unwrap();
        let script = format!("#!/bin/sh\nhead -n 1 {0}\nsed -i 1d {0}\n", said.display());
        std::fs::write(&ask, script).unwrap();
        let runs = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&ask, runs).unwrap();
        let mut command = Command::new("ssh");
        command.env("SSH_ASKPASS", ask).env("SSH_ASKPASS_REQUIRE", "force");
        // The first value of an option is the one that counts.
        command.args(options).args(["-o", "BatchMode=no", "-o"]);
        command.arg(format!("PreferredAuthentications={method}"));
        command.args(self.ssh(user, Path::new("/dev/null")).get_args());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// The words that [`Lab::ssh_with_words`] was not asked for.
    pub fn unsaid(&self) -> usize {
        std::fs::read_to_string(self.dir.path().join("words")).unwrap().lines().count()
    }

    /// As [`Lab::ssh`], for ann with her key.
    pub fn ann(&self) -> Command {
        self.ssh("ann", &self.dir.path().join("ann"))
    }

    /// As [`Lab::ann`], from another address of this machine.
    pub fn ann_from(&self, address: &str) -> Command {
        let mut command = Command::new("ssh");
        command.args(["-b", address]).args(self.ann().get_args());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Waits until so many requests are answered, or about to be; returns how many there are then.
    pub async fn answered(&mut self, count: usize) -> usize {
        let answered = self.answered.wait_for(|answered| *answered >= count);
        *tokio::time::timeout(PATIENCE, answered).await.unwrap().unwrap()
    }

    /// Waits until so many sessions have ended.
    pub async fn ended(&mut self, count: usize) -> Vec<(String, CloseReason)> {
        let ended = self.ended.wait_for(|ended| ended.len() >= count);
        tokio::time::timeout(PATIENCE, ended).await.unwrap().unwrap().clone()
    }
}

/// Serves what comes.
pub async fn sessions(
    mut connections: mpsc::Receiver<Connection>,
    (data, answered): (usize, Arc<watch::Sender<usize>>),
    ended: watch::Sender<Vec<(String, CloseReason)>>,
    kills: mpsc::Sender<oneshot::Sender<CloseReason>>,
) {
    let ended = Arc::new(ended);
    let mut session_id = 0;
    while let Some(connection) = connections.recv().await {
        session_id += 1;
        let limits = Limits { at_once: FREE, ..Limits::default() };
        let settings = Settings { session_id, capabilities: Vec::new(), limits };
        let session = Session::new(settings, Instant::now());
        let (killer, kill) = oneshot::channel();
        kills.try_send(killer).unwrap();
        let echo = Echo { data, answered: Arc::clone(&answered) };
        let ended = Arc::clone(&ended);
        tokio::spawn(async move {
            let user = connection.user.clone();
            let reason = serve(connection, session, &NoModules, (echo, Silent), kill).await;
            ended.send_modify(|list| list.push((user, reason)));
        });
    }
}

/// Made once for all tests, since it takes time.
pub fn rsa_host_key() -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("rsa_host_key");
    if !path.exists() {
        let own = path.with_extension(std::process::id().to_string());
        make_key(&own, &["-t", "rsa", "-b", "3072"]);
        std::fs::rename(own, &path).unwrap();
    }
    path
}

/// An account with this password.
pub fn account(hash: &str) -> Account {
    Account { password: Some(StoredPassword::new(hash).unwrap()), keys: Vec::new() }
}

pub fn make_key(path: &Path, kind: &[&str]) {
    let made = Command::new("ssh-keygen").args(kind).args(["-q", "-N", "", "-f"]).arg(path).status().unwrap();
    assert!(made.success());
}

/// Runs a command to its end with `input`, and fails when it takes too long.
pub async fn run(mut command: Command, input: impl Into<Vec<u8>>) -> Output {
    use std::io::Write;
    let input = input.into();
    let done = tokio::task::spawn_blocking(move || {
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        std::thread::spawn(move || {
            let _ = stdin.write_all(&input);
        });
        child.wait_with_output().unwrap()
    });
    tokio::time::timeout(PATIENCE, done).await.unwrap().unwrap()
}
