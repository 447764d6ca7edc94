//! NETCONF over SSH with the clients that people have. These tests need openssh-client.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test fails by panicking

mod lab;

use cats_mgmtd_netconf::CloseReason;
use cats_mgmtd_transport::{SessionLimits, SshLimits};
use lab::{HELLO, Lab, PATIENCE, Setup, make_key, rpc, run};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn netconf(mut ssh: Command) -> Command {
    ssh.args(["-s", "netconf"]);
    ssh
}

#[tokio::test(flavor = "multi_thread")]
async fn openssh_opens_a_session_asks_and_closes() {
    let mut lab = Lab::start(Setup::default()).await;
    for (kind, arguments) in [
        ("ed25519", &["-t", "ed25519"][..]),
        ("ecdsa", &["-t", "ecdsa", "-b", "384"]),
        ("rsa", &["-t", "rsa", "-b", "2048"]),
    ] {
        let key = lab.dir.path().join(kind);
        make_key(&key, arguments);
        std::fs::copy(key.with_extension("pub"), lab.dir.path().join("authorized")).unwrap();
        let input = format!("{HELLO}{}{}", rpc(1, "<get/>"), rpc(2, "<close-session/>"));
        let output = run(netconf(lab.ssh("ann", &key)), input).await;
        let (said, complaint) = (text(&output.stdout), text(&output.stderr));
        assert!(said.contains("<session-id>"), "{kind}: {complaint}");
        assert!(
            said.contains("message-id=\"1\"><data><echo xmlns=\"urn:echo\">xxxxxxxxxx</echo></data>"),
            "{said}"
        );
        assert!(said.contains("message-id=\"2\"><ok/>"), "{said}");
        assert!(output.status.success(), "{kind}: {complaint}");
    }
    let ended = lab.ended(3).await;
    assert_eq!(ended, vec![("ann".to_owned(), CloseReason::CloseSession); 3]);
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_before_the_end_of_input_are_answered() {
    let mut lab = Lab::start(Setup::default()).await;
    let output = run(netconf(lab.ann()), format!("{HELLO}{}{}", rpc(1, "<get/>"), rpc(2, "<commit/>"))).await;
    assert!(text(&output.stdout).contains("message-id=\"2\"><ok/>"), "{}", text(&output.stdout));
    assert_eq!(lab.ended(1).await[0].1, CloseReason::Dropped);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_key_and_an_unknown_user_are_denied_alike() {
    let lab = Lab::start(Setup::default()).await;
    let wrong = lab.dir.path().join("wrong");
    make_key(&wrong, &["-t", "ed25519"]);
    for (user, key) in [("ann", &wrong), ("bob", &lab.dir.path().join("ann")), ("root", &wrong)] {
        let output = run(netconf(lab.ssh(user, key)), HELLO).await;
        assert_eq!(output.status.code(), Some(255), "{user}");
        assert!(
            text(&output.stderr).contains("Permission denied (publickey,keyboard-interactive,password)"),
            "{}",
            text(&output.stderr)
        );
        assert_eq!(text(&output.stdout), "");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_counts_from_the_moment_it_is_in_the_file_until_it_is_taken_out() {
    let lab = Lab::start(Setup::default()).await;
    let (key, file) = (lab.dir.path().join("late"), lab.dir.path().join("authorized"));
    make_key(&key, &["-t", "ed25519"]);
    let input = format!("{HELLO}{}", rpc(1, "<close-session/>"));
    assert!(!run(netconf(lab.ssh("ann", &key)), input.clone()).await.status.success());
    let before = std::fs::read_to_string(&file).unwrap();
    let added = std::fs::read_to_string(key.with_extension("pub")).unwrap();
    std::fs::write(&file, format!("{before}{added}")).unwrap();
    assert!(run(netconf(lab.ssh("ann", &key)), input.clone()).await.status.success());
    std::fs::write(&file, before).unwrap();
    assert!(!run(netconf(lab.ssh("ann", &key)), input).await.status.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn shells_commands_and_other_subsystems_are_refused_with_the_reason() {
    let lab = Lab::start(Setup::default()).await;
    for (arguments, code, reason) in [
        (&[][..], 1, "there is no shell here, only the subsystem netconf"),
        (&["uname", "-a"], 1, "no commands are run here, there is only the subsystem netconf"),
        (&["-s", "sftp"], 255, "subsystem request failed"),
    ] {
        let mut ssh = lab.ann();
        ssh.args(arguments);
        let output = run(ssh, "").await;
        assert_eq!(output.status.code(), Some(code), "{arguments:?}");
        assert!(text(&output.stderr).contains(reason), "{arguments:?}: {}", text(&output.stderr));
        assert_eq!(text(&output.stdout), "");
    }
}

/// The case P03.
#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_and_an_environment_are_accepted_and_nothing_is_echoed() {
    let lab = Lab::start(Setup::default()).await;
    let mut ssh = netconf(lab.ann());
    ssh.args(["-tt", "-o", "SetEnv=LC_ALL=C"]);
    // With a terminal, ssh looks at its own: options must come before the destination.
    let mut ordered = Command::new(ssh.get_program());
    ordered.args(["-tt", "-o", "SetEnv=LC_ALL=C"]);
    let arguments: Vec<_> = ssh.get_args().map(ToOwned::to_owned).collect();
    ordered.args(&arguments[..arguments.len() - 3]);
    ordered
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let output = run(ordered, format!("{HELLO}{}", rpc(1, "<close-session/>"))).await;
    let said = text(&output.stdout);
    assert!(said.contains("message-id=\"1\"><ok/>"), "{said} {}", text(&output.stderr));
    assert!(!said.contains("<close-session"), "an echo: {said}");
}

/// The case P05: each waits only for its time.
#[tokio::test(flavor = "multi_thread")]
async fn silent_connections_are_bounded_in_time() {
    let ssh = SshLimits { per_source: 2, login: Duration::from_secs(2), ..SshLimits::default() };
    let lab = Lab::start(Setup { ssh, ..Setup::default() }).await;
    let address = lab.address;
    let ends = tokio::task::spawn_blocking(move || {
        for mut stream in [(); 2].map(|()| TcpStream::connect(address).unwrap()) {
            stream.write_all(b"SSH-2.0-silent\r\n").unwrap();
            until_closed(&mut stream);
        }
    });
    ends.await.unwrap();
    let output = run(netconf(lab.ann()), format!("{HELLO}{}", rpc(1, "<close-session/>"))).await;
    assert!(output.status.success(), "their places are free again: {}", text(&output.stderr));
}

/// Reads to the end of the stream; a reset is an end too.
fn until_closed(stream: &mut TcpStream) {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    if let Err(error) = std::io::copy(stream, &mut std::io::sink()) {
        assert_ne!(error.kind(), std::io::ErrorKind::WouldBlock, "never closed");
    }
}

/// The case P05: a stranger's connections do not keep out who comes from elsewhere, and no more than the bound stay.
#[tokio::test(flavor = "multi_thread")]
async fn hundreds_of_silent_connections_of_one_address_do_not_delay_a_login_from_another() {
    let lab = Lab::start(Setup::default()).await;
    let mut silent: Vec<_> = (0..300).map(|_| TcpStream::connect(lab.address).unwrap()).collect();
    let output =
        run(netconf(lab.ann_from("127.0.0.2")), format!("{HELLO}{}", rpc(1, "<close-session/>"))).await;
    assert!(output.status.success(), "{}", text(&output.stderr));
    let last = silent.split_off(silent.len() - SshLimits::default().per_source);
    let open = tokio::task::spawn_blocking(move || {
        silent.iter_mut().for_each(until_closed);
        last.iter().filter(|stream| is_open(stream)).count()
    });
    assert_eq!(open.await.unwrap(), SshLimits::default().per_source, "its places are held still");
}

/// Who shares a source with strangers, as behind a translator of addresses, is not kept out by them.
#[tokio::test(flavor = "multi_thread")]
async fn a_login_gets_a_place_when_all_of_its_source_are_taken() {
    let ssh = SshLimits { per_source: 2, ..SshLimits::default() };
    let lab = Lab::start(Setup { ssh, ..Setup::default() }).await;
    let silent = [(); 2].map(|()| TcpStream::connect(lab.address).unwrap());
    let output = run(netconf(lab.ann()), format!("{HELLO}{}", rpc(1, "<close-session/>"))).await;
    assert!(output.status.success(), "{}", text(&output.stderr));
    let open = tokio::task::spawn_blocking(move || {
        let [mut oldest, other] = silent;
        until_closed(&mut oldest);
        is_open(&other)
    });
    assert!(open.await.unwrap(), "only the oldest gave way");
}

/// Many strangers hold all places: the oldest gives way.
#[tokio::test(flavor = "multi_thread")]
async fn a_login_gets_a_place_when_all_are_taken() {
    let ssh = SshLimits { unauthenticated: 2, ..SshLimits::default() };
    let lab = Lab::start(Setup { ssh, ..Setup::default() }).await;
    let silent = [(); 2].map(|()| TcpStream::connect(lab.address).unwrap());
    let output =
        run(netconf(lab.ann_from("127.0.0.2")), format!("{HELLO}{}", rpc(1, "<close-session/>"))).await;
    assert!(output.status.success(), "{}", text(&output.stderr));
    let open = tokio::task::spawn_blocking(move || {
        let [mut oldest, other] = silent;
        until_closed(&mut oldest);
        is_open(&other)
    });
    assert!(open.await.unwrap(), "only the oldest gave way");
}

/// Whether the server, which has greeted or closed by now, keeps the connection.
fn is_open(mut stream: &TcpStream) -> bool {
    stream.set_nonblocking(true).unwrap();
    loop {
        match stream.read(&mut [0; 256]) {
            Ok(0) => return false,
            Ok(_) => {}
            Err(error) => return error.kind() == std::io::ErrorKind::WouldBlock,
        }
    }
}

/// The case P05: authenticated, and no session asked for.
#[tokio::test(flavor = "multi_thread")]
async fn a_login_without_a_session_is_closed() {
    let ssh = SshLimits { login: Duration::from_secs(1), ..SshLimits::default() };
    let lab = Lab::start(Setup { ssh, ..Setup::default() }).await;
    let mut command = lab.ann();
    command.arg("-N");
    assert!(!run(command, "").await.status.success());
}

/// The case P65.
#[tokio::test(flavor = "multi_thread")]
async fn sessions_above_the_bound_of_a_user_are_refused_with_the_reason() {
    let sessions = SessionLimits { per_user: 1, ..SessionLimits::default() };
    let mut lab = Lab::start(Setup { sessions, ..Setup::default() }).await;
    let mut first = netconf(lab.ann()).spawn().unwrap();
    let asking = format!("{HELLO}{}", rpc(1, "<get/>"));
    first.stdin.as_mut().unwrap().write_all(asking.as_bytes()).unwrap();
    // The answer shows that its hello was heard.
    lab.answered(1).await;
    let output = run(netconf(lab.ann()), HELLO).await;
    assert!(text(&output.stderr).contains("user ann has 1 sessions open"), "{}", text(&output.stderr));
    first.kill().unwrap();
    first.wait().unwrap();
    lab.ended(1).await;
    let output = run(netconf(lab.ann()), format!("{HELLO}{}", rpc(1, "<close-session/>"))).await;
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_stops_stops_the_answers_and_gets_them_all_when_it_goes_on() {
    const REPLY: usize = 1 << 20;
    const COUNT: usize = 64;
    /// The window, the pipe behind it, what each side holds of one packet, and the answer in hand: with room to spare.
    const BOUND: usize = 6;
    let mut lab = Lab::start(Setup { data: REPLY, ..Setup::default() }).await;
    let mut child = netconf(lab.ann()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut input = HELLO.to_owned();
    (1..=COUNT as u32).for_each(|id| input.push_str(&rpc(id, "<get/>")));
    stdin.write_all(input.as_bytes()).unwrap();
    // OpenSSH grants a window of 2 MiB and opens it as its reader reads: two answers fill it, with the third in hand.
    lab.answered(3).await;
    // Meanwhile the server does all of the same work for one that reads; the stopped session has had its turns.
    let output = run(netconf(lab.ann()), input).await;
    assert_eq!(text(&output.stdout).matches("<echo ").count(), COUNT);
    let answered = lab.answered(COUNT + 3).await - COUNT;
    assert!(answered <= BOUND, "{answered} answers of 1 MiB were made for a reader that reads nothing");
    stdin.write_all(rpc(99, "<close-session/>").as_bytes()).unwrap();
    let output = tokio::task::spawn_blocking(move || child.wait_with_output().unwrap());
    let output = tokio::time::timeout(PATIENCE, output).await.unwrap().unwrap();
    let said = text(&output.stdout);
    assert_eq!(said.matches("<echo ").count(), COUNT);
    assert!(said.len() > COUNT * REPLY);
    assert!(said.contains("message-id=\"99\"><ok/>"));
    assert!(output.status.success());
}

/// Its locks would stand in the way of others.
#[tokio::test(flavor = "multi_thread")]
async fn a_session_whose_client_dies_before_it_has_read_its_answer_ends_at_once() {
    let mut lab = Lab::start(Setup { data: 16 << 20, ..Setup::default() }).await;
    let mut child = netconf(lab.ann()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(format!("{HELLO}{}", rpc(1, "<get/>")).as_bytes()).unwrap();
    lab.answered(1).await;
    // Nothing is read of it: the window is shut before the end of this.
    let mut other = netconf(lab.ann()).spawn().unwrap();
    other.stdin.take().unwrap().write_all(format!("{HELLO}{}", rpc(1, "<get/>")).as_bytes()).unwrap();
    let mut read = vec![0; 8 << 20];
    other.stdout.as_mut().unwrap().read_exact(&mut read).unwrap();
    child.kill().unwrap();
    let reason = CloseReason::Connection("it has ended".to_owned());
    assert_eq!(lab.ended(1).await, [("ann".to_owned(), reason)]);
    other.kill().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_session_closes_its_channel() {
    let mut lab = Lab::start(Setup::default()).await;
    let mut child = netconf(lab.ann()).spawn().unwrap();
    let kill = tokio::time::timeout(PATIENCE, lab.kills.recv()).await.unwrap().unwrap();
    kill.send(CloseReason::Killed { by: 7 }).unwrap();
    let _stdin = child.stdin.take();
    let output = tokio::task::spawn_blocking(move || child.wait_with_output().unwrap());
    let output = tokio::time::timeout(PATIENCE, output).await.unwrap().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(lab.ended(1).await, [("ann".to_owned(), CloseReason::Killed { by: 7 })]);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_sessions_share_one_ssh_connection() {
    let mut lab = Lab::start(Setup::default()).await;
    let socket = lab.dir.path().join("mux");
    let mut master = lab.ann();
    master.arg("-N").arg("-M").arg("-S").arg(&socket);
    let mut master = master.spawn().unwrap();
    let exists = async {
        while !socket.exists() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, exists).await.unwrap();
    for _ in 0..2 {
        let mut ssh = Command::new("ssh");
        ssh.args(["-F", "/dev/null", "-S"]).arg(&socket).args(["-s", "ann@127.0.0.1", "netconf"]);
        ssh.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        ssh.stderr(std::process::Stdio::piped());
        let output = run(ssh, format!("{HELLO}{}", rpc(1, "<close-session/>"))).await;
        assert!(text(&output.stdout).contains("<ok/>"), "{}", text(&output.stderr));
    }
    lab.ended(2).await;
    master.kill().unwrap();
    master.wait().unwrap();
}

/// Needs python3 with ncclient.
#[tokio::test(flavor = "multi_thread")]
async fn ncclient_opens_a_session_asks_and_closes() {
    let mut lab = Lab::start(Setup { data: 100_000, ..Setup::default() }).await;
    let script = "import sys\nfrom ncclient import manager\n\
        with manager.connect(host='127.0.0.1', port=int(sys.argv[1]), username='ann', key_filename=sys.argv[2],\n\
        \x20   hostkey_verify=False, allow_agent=False, look_for_keys=False, timeout=30) as m:\n\
        \x20 print(m.session_id, ':base:1.1' in m.server_capabilities, len(m.get().data_xml) > 100000)\n\
        \x20 print(m.lock('candidate').ok, m.get_schema('x').data)\n\
        \x20 [m.commit() for _ in range(50)]\n";
    let mut python = Command::new("python3");
    python.args(["-c", script, &lab.address.port().to_string()]).arg(lab.dir.path().join("ann"));
    python.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    python.stderr(std::process::Stdio::piped());
    let output = run(python, "").await;
    assert_eq!(text(&output.stdout), "1 True True\nTrue module x {}\n", "{}", text(&output.stderr));
    assert_eq!(lab.ended(1).await[0].1, CloseReason::CloseSession);
}
