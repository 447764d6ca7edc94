//! How users log in over SSH, with OpenSSH's client. These tests need openssh-client.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test fails by panicking

mod lab;

use cats_mgmtd_netconf::CloseReason;
use cats_mgmtd_transport::{Access, Account, AccountKey, Accounts, Method, SshLimits};
use lab::{HELLO, Lab, PATIENCE, Setup, account, make_key, rpc, run};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// `sesame`, by SHA-256 and by SHA-512.
const SHA256: &str = "$5$rounds=1000$saltsalt$30.yc4HsSpLTxr3NqKw4EhPINDzNTqzxg9qelAitDW2";
const SHA512: &str =
    "$6$saltsalt$g3uPFdehVnKoLXdidvSAg1zlVgYomPr0X/xgdXSBn2LuxZUOGgYW4IULZkguZ77fzYteIur49AGHmF9iek6Sf1";

const BOTH: [&str; 2] = ["password", "keyboard-interactive"];

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// bob and cyd, whose password is `sesame`, and dan, who has none.
fn users() -> Accounts {
    Accounts::new([
        ("bob".to_owned(), account(SHA512)),
        ("cyd".to_owned(), account(SHA256)),
        ("dan".to_owned(), Account::default()),
    ])
}

async fn lab() -> Lab {
    Lab::start(Setup { accounts: users(), ..Setup::default() }).await
}

async fn session(mut command: Command) -> Output {
    command.args(["-s", "netconf"]);
    run(command, format!("{HELLO}{}", rpc(1, "<close-session/>"))).await
}

#[track_caller]
fn served(output: &Output) {
    assert!(text(&output.stdout).contains("message-id=\"1\"><ok/>"), "{}", text(&output.stderr));
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[track_caller]
fn denied(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(255));
    assert_eq!(text(&output.stdout), "");
    text(&output.stderr)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_opens_a_session_by_either_method() {
    let mut lab = lab().await;
    for user in ["bob", "cyd"] {
        for method in BOTH {
            served(&session(lab.ssh_with_words(user, method, &["sesame"], &[])).await);
        }
    }
    let ended = lab.ended(4).await;
    let users: Vec<_> = ended.iter().map(|(user, _)| user.as_str()).collect();
    assert_eq!(users, ["bob", "bob", "cyd", "cyd"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_password_may_be_followed_by_the_right_one() {
    let lab = lab().await;
    for method in BOTH {
        served(&session(lab.ssh_with_words("bob", method, &["open", "simsim", "sesame"], &[])).await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_passwords_unknown_users_and_users_without_one_get_the_same_answers() {
    let lab = lab().await;
    for method in BOTH {
        let mut answers = Vec::new();
        for user in ["bob", "dan", "eve", "ann"] {
            let words = ["wrong", "", "wronger"];
            let said = denied(&session(lab.ssh_with_words(user, method, &words, &[])).await);
            assert_eq!(lab.unsaid(), 0, "{user} is asked three times");
            answers.push(said.replace(user, "USER"));
        }
        assert!(
            answers[0].contains("Permission denied (publickey,keyboard-interactive,password)"),
            "{answers:?}"
        );
        assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    }
}

/// Whoever may write accounts must not become an administrator by it.
#[tokio::test(flavor = "multi_thread")]
async fn an_account_with_the_name_of_an_administrator_lets_nobody_in() {
    let accounts = Accounts::new([("ann".to_owned(), account(SHA512))]);
    let lab = Lab::start(Setup { accounts, ..Setup::default() }).await;
    denied(&session(lab.ssh_with_words("ann", "password", &["sesame"], &[])).await);
    served(&session(lab.ann()).await);
}

/// The case P05: guessing on one connection is bounded.
#[tokio::test(flavor = "multi_thread")]
async fn a_connection_ends_after_as_many_tries_as_are_allowed() {
    let ssh = SshLimits { attempts: 2, ..SshLimits::default() };
    let lab = Lab::start(Setup { accounts: users(), ssh, ..Setup::default() }).await;
    for method in BOTH {
        let words = ["wrong", "wronger", "sesame", "sesame", "sesame"];
        let options = ["-o", "NumberOfPasswordPrompts=5"];
        let said = denied(&session(lab.ssh_with_words("bob", method, &words, &options)).await);
        assert!(said.contains("Too many authentication attempts"), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_methods_that_are_configured_are_offered_in_their_order_and_no_others_work() {
    for (methods, named) in [
        (vec![Method::PublicKey], "(publickey)"),
        (vec![Method::Password, Method::PublicKey], "(password,publickey)"),
        (vec![Method::KeyboardInteractive], "(keyboard-interactive)"),
    ] {
        let lab = Lab::start(Setup { accounts: users(), methods: methods.clone(), ..Setup::default() }).await;
        let said = denied(&session(lab.ssh_with_words("bob", "none", &[], &[])).await);
        assert!(said.contains(&format!("Permission denied {named}")), "{said}");
        for (method, name) in [(Method::Password, BOTH[0]), (Method::KeyboardInteractive, BOTH[1])] {
            let output = session(lab.ssh_with_words("bob", name, &["sesame"], &[])).await;
            assert_eq!(output.status.success(), methods.contains(&method), "{name} of {named}");
        }
        let key = session(lab.ann()).await;
        assert_eq!(key.status.success(), methods.contains(&Method::PublicKey), "a key of {named}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_kind_of_host_key_is_offered_and_none_with_sha_1() {
    let lab = lab().await;
    for algorithm in ["ssh-ed25519", "ecdsa-sha2-nistp256", "rsa-sha2-512", "rsa-sha2-256"] {
        let option = format!("HostKeyAlgorithms={algorithm}");
        served(&session(lab.ssh_with_words("bob", "password", &["sesame"], &["-o", &option])).await);
    }
    for (option, complaint) in [
        ("HostKeyAlgorithms=ssh-rsa", "no matching host key type found"),
        ("HostKeyAlgorithms=ecdsa-sha2-nistp384", "no matching host key type found"),
        ("KexAlgorithms=diffie-hellman-group14-sha1", "no matching key exchange method found"),
        ("Ciphers=aes128-cbc", "no matching cipher found"),
    ] {
        let options = ["-o", "LogLevel=INFO", "-o", option];
        let said = denied(&session(lab.ssh_with_words("bob", "password", &["sesame"], &options)).await);
        assert!(said.contains(complaint), "{option}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_algorithm_that_openssh_shares_with_the_server_works() {
    let lab = lab().await;
    for option in [
        "KexAlgorithms=curve25519-sha256",
        "KexAlgorithms=curve25519-sha256@libssh.org",
        "KexAlgorithms=ecdh-sha2-nistp256",
        "KexAlgorithms=ecdh-sha2-nistp384",
        "KexAlgorithms=ecdh-sha2-nistp521",
        "KexAlgorithms=diffie-hellman-group16-sha512",
        "KexAlgorithms=diffie-hellman-group14-sha256",
        "Ciphers=chacha20-poly1305@openssh.com",
        "Ciphers=aes256-gcm@openssh.com",
        "Ciphers=aes128-gcm@openssh.com",
        "Compression=yes",
    ] {
        served(&session(lab.ssh_with_words("bob", "password", &["sesame"], &["-o", option])).await);
    }
    for cipher in ["aes256-ctr", "aes192-ctr", "aes128-ctr"] {
        for mac in [
            "hmac-sha2-256-etm@openssh.com",
            "hmac-sha2-512-etm@openssh.com",
            "hmac-sha2-256",
            "hmac-sha2-512",
        ] {
            let options = ["-c", cipher, "-m", mac];
            served(&session(lab.ssh_with_words("bob", "password", &["sesame"], &options)).await);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_who_is_added_may_log_in_at_once_with_a_key() {
    let lab = lab().await;
    let path = lab.dir.path().join("eve");
    make_key(&path, &["-t", "ecdsa", "-b", "521"]);
    let eve = || lab.ssh("eve", &path);
    denied(&session(eve()).await);
    let line = std::fs::read_to_string(path.with_extension("pub")).unwrap();
    let key = AccountKey::new("laptop", "ecdsa-sha2-nistp521", line.split(' ').nth(1).unwrap()).unwrap();
    let accounts = Accounts::new([("eve".to_owned(), Account { password: None, keys: vec![key] })]);
    lab.access.send_modify(|access| {
        *access = Arc::new(Access { accounts, ..Access::clone(access) });
    });
    served(&session(eve()).await);
    denied(&session(lab.ssh_with_words("bob", "password", &["sesame"], &[])).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_who_is_taken_out_loses_open_sessions_and_opens_no_more_on_a_connection_that_stands() {
    let mut lab = lab().await;
    let socket = lab.dir.path().join("mux").display().to_string();
    let mut master = lab.ssh_with_words("bob", "password", &["sesame"], &["-M", "-N", "-S", &socket]);
    let mut master = master.stdin(Stdio::null()).spawn().unwrap();
    let exists = async {
        while !std::path::Path::new(&socket).exists() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, exists).await.unwrap();
    let over_it = || {
        let mut ssh = Command::new("ssh");
        ssh.args(["-F", "/dev/null", "-S", &socket, "bob@127.0.0.1"]);
        ssh.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        ssh
    };
    let mut first = over_it();
    let mut first = first.args(["-s", "netconf"]).spawn().unwrap();
    let mut stdin = first.stdin.take().unwrap();
    std::io::Write::write_all(&mut stdin, format!("{HELLO}{}", rpc(1, "<get/>")).as_bytes()).unwrap();
    lab.answered(1).await;
    lab.access.send_modify(|access| {
        *access = Arc::new(Access { accounts: Accounts::default(), ..Access::clone(access) });
    });
    assert_eq!(lab.ended(1).await, [("bob".to_owned(), CloseReason::Withdrawn)]);
    let output = tokio::task::spawn_blocking(move || first.wait_with_output().unwrap());
    let output = tokio::time::timeout(PATIENCE, output).await.unwrap().unwrap();
    assert!(text(&output.stdout).contains("message-id=\"1\"><data>"), "the answer before was whole");
    let output = session(over_it()).await;
    assert!(text(&output.stderr).contains("may not log in any more"), "{}", text(&output.stderr));
    denied(&session(lab.ssh_with_words("bob", "password", &["sesame"], &[])).await);
    master.kill().unwrap();
    master.wait().unwrap();
}

/// Needs python3 with ncclient.
#[tokio::test(flavor = "multi_thread")]
async fn ncclient_logs_in_with_a_password() {
    let lab = lab().await;
    let script = "import sys\nfrom ncclient import manager\nfrom ncclient.transport.errors import AuthenticationError\n\
        def session(word):\n\
        \x20 return manager.connect(host='127.0.0.1', port=int(sys.argv[1]), username='bob', password=word,\n\
        \x20   hostkey_verify=False, allow_agent=False, look_for_keys=False, timeout=30)\n\
        with session('sesame') as m: print(m.get().ok)\n\
        try: session('simsim')\n\
        except AuthenticationError: print('denied')\n";
    let mut python = Command::new("python3");
    python.args(["-c", script, &lab.address.port().to_string()]);
    python.stdin(Stdio::piped()).stdout(Stdio::piped());
    python.stderr(Stdio::piped());
    let output = run(python, "").await;
    assert_eq!(text(&output.stdout), "True\ndenied\n", "{}", text(&output.stderr));
}

/// Paramiko asks for the service of authentication before each try. The library answers it once, so a further try is
/// ended with a reason, instead of waited for; paramiko's other transport asks once, and tries as often as it may.
/// Needs python3 with paramiko.
#[tokio::test(flavor = "multi_thread")]
async fn paramiko_tries_again_on_a_new_connection_or_asks_for_the_service_once() {
    let lab = lab().await;
    let script = "import sys, paramiko\n\
        def connect(kind):\n\
        \x20 t = kind(('127.0.0.1', int(sys.argv[1])))\n\
        \x20 t.auth_timeout = 3600\n\
        \x20 t.start_client(timeout=30)\n\
        \x20 return t\n\
        def attempt(t, what):\n\
        \x20 try: what(t)\n\
        \x20 except paramiko.SSHException: return 'no'\n\
        \x20 return 'in' if t.is_authenticated() else 'no'\n\
        wrong = paramiko.RSAKey.generate(2048)\n\
        refused = [lambda t: t.auth_password('bob', 'simsim'), lambda t: t.auth_publickey('bob', wrong)]\n\
        right = lambda t: t.auth_password('bob', 'sesame')\n\
        for kind in [paramiko.Transport, paramiko.ServiceRequestingTransport]:\n\
        \x20 for first in refused:\n\
        \x20   t = connect(kind)\n\
        \x20   print(attempt(t, first), attempt(t, right), end=' ')\n\
        \x20   t.close()\n\
        t = connect(paramiko.Transport)\n\
        print(attempt(t, right))\n\
        t.close()\n";
    let port = lab.address.port().to_string();
    let mut python = Command::new("python3");
    python.args(["-c", script, &port]).stdin(Stdio::null());
    let output = tokio::task::spawn_blocking(move || python.output().unwrap());
    let output = tokio::time::timeout(PATIENCE, output).await.unwrap().unwrap();
    assert_eq!(text(&output.stdout), "no no no no no in no in in\n", "{}", text(&output.stderr));
}
