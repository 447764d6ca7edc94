//! The real daemon in a directory of its own, and a client over its local socket.

#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::expect_used, clippy::panic)] // each test file uses a part

pub mod engine;

use cats_mgmtd_netconf::names::PRIVATE_CANDIDATE_1_0;
use cats_mgmtd_netconf::{Answer, Client, ClientOutput, ClientSettings, Hello, NoModules};
use cats_yang_tree::error::Error;
use std::io::{Read, Write};
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

/// A bound for everything that is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

pub const NS: &str = "urn:example:knobs";

const MODULE: &str = r#"module example-knobs {
  yang-version 1.1;
  namespace "urn:example:knobs";
  prefix ek;
  revision 2026-11-29;
  container knobs {
    must "not(one) or not(other)" { error-message "one or the other"; error-app-tag "both"; }
    leaf one { type uint32; }
    leaf other { type uint32; }
    leaf twin { type uint32; }
    list item {
      key "name";
      leaf name { type string; }
      leaf size { type uint32 { range "1..max"; } }
      action reset { output { leaf was { type uint32; } } }
    }
    leaf favourite { type leafref { path "../item/name"; } }
    leaf deep { when "../one"; type string; }
    leaf seen { config false; type uint32; }
    list turned { config false; leaf by { type string; } }
  }
  rpc turn {
    input {
      leaf which { type leafref { path "/ek:knobs/ek:item/ek:name"; } mandatory true; }
      leaf by { type uint32 { range "1..9"; } default "1"; }
    }
    output { leaf now { type uint32; mandatory true; } }
  }
}
"#;

/// A model with a node of each kind.
const BENCH: &str = include_str!("probe-bench.yang");

/// A directory with the state, the sockets and the module of a daemon, over any number of runs.
pub struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("example-knobs.yang"), MODULE).unwrap();
        std::fs::write(dir.path().join("probe-bench.yang"), BENCH).unwrap();
        Self { dir }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn command(&self) -> Command {
        self.directories(Command::new(env!("CARGO_BIN_EXE_cats-mgmtd")))
    }

    fn directories(&self, mut command: Command) -> Command {
        command.arg("--state-dir").arg(self.path("state")).arg("--run-dir").arg(self.path("run"));
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command
    }

    /// Starts a daemon with the module and waits until it says that it is ready.
    pub fn start(&self) -> Daemon {
        self.start_with(&["--extra-module", self.path("example-knobs.yang").to_str().unwrap()])
    }

    /// The same with the module probe-bench.
    pub fn start_bench(&self) -> Daemon {
        self.start_with(&["--extra-module", self.path("probe-bench.yang").to_str().unwrap()])
    }

    pub fn start_with(&self, arguments: &[&str]) -> Daemon {
        let mut command = self.command();
        command.args(arguments);
        self.wait_for(command)
    }

    /// Starts a daemon that can write no file beyond a few kilobytes, as on a disk that is full.
    pub fn start_on_a_full_disk(&self) -> Daemon {
        let mut shell = Command::new("sh");
        shell
            .arg("-c")
            .arg("ulimit -f 12; trap '' XFSZ; exec \"$0\" \"$@\"")
            .arg(env!("CARGO_BIN_EXE_cats-mgmtd"));
        let mut command = self.directories(shell);
        command.arg("--extra-module").arg(self.path("example-knobs.yang"));
        self.wait_for(command)
    }

    /// Starts a daemon whose standard error nobody reads any more.
    pub fn start_unheard(&self) -> Daemon {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = self.command();
        command.arg("--extra-module").arg(self.path("example-knobs.yang")).env("RUST_LOG", "debug");
        self.wait_for_with(command, writer.into())
    }

    fn wait_for(&self, command: Command) -> Daemon {
        self.wait_for_with(command, Stdio::inherit())
    }

    fn wait_for_with(&self, mut command: Command, stderr: Stdio) -> Daemon {
        let socket = self.path("notify.sock");
        let _ = std::fs::remove_file(&socket);
        let notify = UnixDatagram::bind(&socket).unwrap();
        notify.set_read_timeout(Some(PATIENCE)).unwrap();
        let child = command.env("NOTIFY_SOCKET", &socket).stderr(stderr).spawn().unwrap();
        let daemon = Daemon { child, socket: self.path("run/netconf.sock") };
        let mut word = [0; 64];
        let length = notify.recv(&mut word).expect("the daemon to be ready");
        assert_eq!(&word[..length], b"READY=1\n");
        daemon
    }

    /// Runs a daemon that is expected not to start.
    pub fn fails(&self, arguments: &[&str]) -> String {
        let Output { status, stderr, .. } =
            self.command().args(arguments).stderr(Stdio::piped()).output().unwrap();
        assert!(!status.success());
        String::from_utf8_lossy(&stderr).into_owned()
    }
}

/// A running daemon, killed when it goes out of scope.
pub struct Daemon {
    child: Child,
    socket: PathBuf,
}

impl Daemon {
    pub fn client(&self) -> Session {
        Session::open(&self.socket, ClientSettings::default())
    }

    /// A session with a private candidate.
    pub fn private_client(&self) -> Session {
        let mut settings = ClientSettings::default();
        settings.bases.push(PRIVATE_CANDIDATE_1_0.to_owned());
        Session::open(&self.socket, settings)
    }

    /// A connection whose client has not said anything yet.
    pub fn raw(&self) -> UnixStream {
        UnixStream::connect(&self.socket).unwrap()
    }

    /// What a connection that gets no session is told.
    pub fn refused(&self) -> String {
        let mut stream = UnixStream::connect(&self.socket).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).unwrap();
        said
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// SIGKILL.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// SIGTERM.
    pub fn terminate(mut self) -> ExitStatus {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").arg(pid).status().unwrap().success());
        self.child.wait().unwrap()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A NETCONF session.
pub struct Session {
    stream: UnixStream,
    client: Client,
    pub hello: Hello,
}

impl Session {
    fn open(socket: &Path, settings: ClientSettings) -> Self {
        let stream = UnixStream::connect(socket).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let client = Client::new(settings, Instant::now());
        let mut session = Self { stream, client, hello: Hello { capabilities: vec![], session_id: None } };
        match session.next() {
            Some(ClientOutput::Ready(hello)) => session.hello = hello,
            other => panic!("{other:?}"),
        }
        session
    }

    /// Sends an operation without waiting.
    pub fn send(&mut self, operation: &str) {
        self.client.request_xml(operation).unwrap();
        self.flush();
    }

    /// The next reply; none when the connection ends first.
    pub fn receive(&mut self) -> Option<Answer> {
        match self.next()? {
            ClientOutput::Reply(reply) => Some(reply.answer(&NoModules).unwrap()),
            ClientOutput::Closed(_) => None,
            other => panic!("{other:?}"),
        }
    }

    /// The next message, which is a notification.
    pub fn notification(&mut self) -> String {
        match self.next() {
            Some(ClientOutput::Reply(reply)) if reply.xml.starts_with("<notification ") => reply.xml,
            other => panic!("{other:?}"),
        }
    }

    pub fn ask(&mut self, operation: &str) -> Answer {
        self.send(operation);
        self.receive().expect("a reply")
    }

    pub fn ok(&mut self, operation: &str) {
        assert_eq!(self.ask(operation), Answer::Ok, "{operation}");
    }

    pub fn refused(&mut self, operation: &str) -> Error {
        match self.ask(operation) {
            Answer::Errors(mut errors) => errors.remove(0),
            other => panic!("{operation} -> {other:?}"),
        }
    }

    pub fn data(&mut self, operation: &str) -> String {
        match self.ask(operation) {
            Answer::Data(xml) => xml.into_string(),
            other => panic!("{operation} -> {other:?}"),
        }
    }

    /// The alarms that stand.
    pub fn alarms(&mut self) -> String {
        self.data(
            "<get><filter><alarms xmlns=\"urn:ietf:params:xml:ns:yang:ietf-alarms\"><alarm-list><alarm>\
             <is-cleared>false</is-cleared></alarm></alarm-list></alarms></filter></get>",
        )
    }

    /// The output elements, one after the other.
    pub fn output(&mut self, operation: &str) -> String {
        match self.ask(operation) {
            Answer::Output(elements) => elements.into_iter().map(|element| element.into_string()).collect(),
            other => panic!("{operation} -> {other:?}"),
        }
    }

    pub fn running(&mut self) -> String {
        self.data(&get_config("running"))
    }

    pub fn candidate(&mut self) -> String {
        self.data(&get_config("candidate"))
    }

    pub fn commit(&mut self, content: &str) {
        self.ok(&edit(content));
        self.ok("<commit/>");
    }

    fn flush(&mut self) {
        while let Some(output) = self.client.poll_output() {
            match output {
                ClientOutput::Send(bytes) => {
                    // A daemon that was killed takes no more; the missing reply says so.
                    let _ = self.stream.write_all(&bytes);
                }
                other => panic!("{other:?}"),
            }
        }
    }

    fn next(&mut self) -> Option<ClientOutput> {
        let mut buffer = [0; 16384];
        loop {
            match self.client.poll_output() {
                Some(ClientOutput::Send(bytes)) => {
                    let _ = self.stream.write_all(&bytes);
                }
                Some(output) => return Some(output),
                None => match self.stream.read(&mut buffer) {
                    Ok(0) => return None,
                    Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return None,
                    Err(error) => panic!("no reply: {error}"),
                    Ok(length) => self.client.handle_bytes(&buffer[..length]),
                },
            }
        }
    }
}

pub fn get_config(source: &str) -> String {
    format!("<get-config><source><{source}/></source><filter><knobs xmlns=\"{NS}\"/></filter></get-config>")
}

pub fn edit(content: &str) -> String {
    format!(
        "<edit-config><target><candidate/></target><config xmlns:nc=\"urn:ietf:params:xml:ns:netconf:base:1.0\">\
         <knobs xmlns=\"{NS}\">{content}</knobs></config></edit-config>"
    )
}

/// The text between the tags of the first `name` element.
pub fn text_of<'a>(xml: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = xml.split_once(&format!("<{name}>"))?;
    rest.split_once(&format!("</{name}>")).map(|(text, _)| text)
}
