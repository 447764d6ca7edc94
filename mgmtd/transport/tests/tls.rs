//! NETCONF over TLS (RFC 7589), with clients of tokio-rustls and certificates of rcgen.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)] // tests

mod lab;
mod tls_lab;

use cats_mgmtd_netconf::CloseReason;
use cats_mgmtd_transport::{CertToName, MapType, SessionLimits, SshLimits};
use lab::PATIENCE;
use std::sync::Arc;
use std::time::Duration;
use tls_lab::{Authority, TlsLab, entry, specified};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::time::timeout;

const CLOSE: &str = "<close-session/>";

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_opens_a_session_of_its_user_by_either_version() {
    let mut lab = TlsLab::start().await;
    let between = lab.ca.below("another").below("one more");
    for (who, version) in [
        (lab.ca.client("ann"), &rustls::version::TLS12),
        (lab.ca.client("bob"), &rustls::version::TLS13),
        (between.client("ann"), &rustls::version::TLS13),
    ] {
        let mut client = lab.session_by(Some(&who), version).await.unwrap();
        assert!(client.asks(1, "<get/>").await.unwrap().contains("xxxxxxxxxx"));
        assert!(client.asks(2, CLOSE).await.unwrap().contains("<ok/>"));
        assert!(client.ends().await.contains("the end"), "in order");
    }
    let ended = lab.ended(3).await;
    assert_eq!(ended.iter().map(|(user, _)| user.as_str()).collect::<Vec<_>>(), ["ann", "bob", "ann"]);
    assert_eq!(lab.admission.count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_shows_no_good_certificate_of_a_user_gets_no_session() {
    let lab = TlsLab::start().await;
    let foreign = Authority::new("the authority");
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        for (what, who) in [
            ("none", None),
            ("of a foreign authority", Some(foreign.client("ann"))),
            ("expired", Some(lab.ca.expired("ann"))),
            ("of nobody", Some(lab.ca.client("eve"))),
        ] {
            let refused = lab.session_by(who.as_ref(), version).await;
            assert!(refused.is_err(), "{what}");
        }
    }
    lab.set(|settings| settings.names = CertToName::default());
    assert!(refused_soon(&lab, "ann").await, "without a name");
    assert!(lab.ended.borrow().is_empty());
}

/// Tries until the settings are in force.
async fn refused_soon(lab: &TlsLab, name: &str) -> bool {
    let who = lab.ca.client(name);
    let trying = async { while lab.session(Some(&who)).await.is_ok() {} };
    timeout(PATIENCE, trying).await.is_ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_entry_with_the_lowest_number_names_the_user_and_those_who_get_another_name_lose_their_sessions()
{
    let mut lab = TlsLab::start().await;
    let who = lab.ca.client("somebody");
    let map = |first: &str, second: &str| {
        CertToName::new([
            entry(20, who.der(), specified(second)),
            entry(10, &lab.ca.der, specified(first)),
            entry(5, who.der(), MapType::SanAny),
        ])
    };
    lab.set(|settings| settings.names = map("ann", "bob"));
    let open = async {
        loop {
            if let Ok(client) = lab.session(Some(&who)).await {
                return client;
            }
        }
    };
    let mut client = timeout(PATIENCE, open).await.unwrap();
    lab.set(|settings| settings.names = map("bob", "ann"));
    client.ends().await;
    let names = |ended: Vec<(String, CloseReason)>| ended;
    let ended = names(lab.ended(1).await);
    assert_eq!(ended, [("ann".to_owned(), CloseReason::Withdrawn)]);
    let mut client = lab.session(Some(&who)).await.unwrap();
    client.asks(1, CLOSE).await.unwrap();
    assert_eq!(lab.ended(2).await[1], ("bob".to_owned(), CloseReason::CloseSession));
}

/// A client may send along what it likes: only what was checked names it.
#[tokio::test(flavor = "multi_thread")]
async fn an_authority_that_is_only_sent_along_gives_no_name() {
    let lab = TlsLab::start().await;
    let privileged = lab.ca.below("privileged");
    let names = CertToName::new([entry(1, &privileged.der, specified("ann"))]);
    let mut eve = lab.ca.client("eve");
    eve.chain.push(privileged.der.clone().into());
    let ann = privileged.client("ann");
    lab.set(|settings| settings.names = names);
    let open = async { while lab.session(Some(&ann)).await.is_err() {} };
    timeout(PATIENCE, open).await.unwrap();
    assert!(lab.session(Some(&eve)).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_certificate_opens_no_session_and_ends_the_one_it_has_opened() {
    let mut lab = TlsLab::start().await;
    let (ann, bobby) = (lab.ca.client("ann"), lab.ca.client("bobby"));
    let names = [entry(1, ann.der(), specified("ann")), entry(2, bobby.der(), specified("bob"))];
    lab.put("revoked.pem", &lab.ca.revokes(&[]));
    let list = lab.dir.path().join("revoked.pem");
    lab.set(|settings| {
        settings.names = CertToName::new(names);
        settings.files.revocation_list = Some(list);
    });
    let open = async {
        loop {
            if let Ok(client) = lab.session(Some(&bobby)).await {
                return client;
            }
        }
    };
    let mut of_bob = timeout(PATIENCE, open).await.unwrap();
    let mut of_ann = lab.session(Some(&ann)).await.unwrap();
    lab.put("revoked.pem", &lab.ca.revokes(&[&ann]));
    of_ann.ends().await;
    assert_eq!(lab.ended(1).await, [("ann".to_owned(), CloseReason::Withdrawn)]);
    assert!(lab.session(Some(&ann)).await.is_err());
    assert!(of_bob.asks(1, "<get/>").await.unwrap().contains("xxx"), "it goes on");
}

#[tokio::test(flavor = "multi_thread")]
async fn new_files_are_in_force_for_new_connections_and_those_that_are_no_good_are_not() {
    let lab = TlsLab::start().await;
    let ann = lab.ca.client("ann");
    let mut first = lab.session(Some(&ann)).await.unwrap();
    let new = lab.ca.server();
    lab.put_server(&new);
    let renewed = async { while lab.session(Some(&ann)).await.unwrap().server() != new.der() {} };
    timeout(PATIENCE, renewed).await.unwrap();
    lab.put("server.key", "no key");
    let mut credentials = lab.credentials.clone();
    let problem = timeout(PATIENCE, credentials.problem(&None)).await.unwrap().unwrap();
    assert!(problem.contains("server.key holds no private key"), "{problem}");
    assert_eq!(lab.session(Some(&ann)).await.unwrap().server(), new.der());
    lab.put("server.key", &new.key_pem);
    assert_eq!(timeout(PATIENCE, credentials.problem(&Some(problem))).await.unwrap(), None);
    assert!(first.asks(1, "<get/>").await.unwrap().contains("xxx"), "it goes on");
    let other = Authority::new("another");
    lab.put("ca.pem", &other.pem);
    first.ends().await;
    assert!(lab.session(Some(&ann)).await.is_err(), "it is trusted no more");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pipe_is_no_file_and_a_key_that_all_can_read_is_none() {
    use std::os::unix::fs::PermissionsExt;
    let lab = TlsLab::start().await;
    let mut credentials = lab.credentials.clone();
    let key = lab.dir.path().join("server.key");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o604)).unwrap();
    // The same file, with another time of change.
    std::fs::write(&key, std::fs::read(&key).unwrap()).unwrap();
    let problem = timeout(PATIENCE, credentials.problem(&None)).await.unwrap();
    assert!(problem.as_ref().unwrap().contains("mode 0604"), "{problem:?}");
    std::fs::remove_file(&key).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&key).status().unwrap().success());
    let other = async {
        let mut known = problem;
        while !known.as_ref().is_some_and(|problem| problem.contains("no plain file")) {
            known = credentials.problem(&known).await;
        }
    };
    timeout(PATIENCE, other).await.unwrap();
    assert!(lab.session(Some(&lab.ca.client("ann"))).await.is_ok(), "by the key from before");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_silent_is_given_up_and_so_is_the_oldest_of_a_source_that_holds_too_many() {
    let limits = SshLimits { login: Duration::from_secs(1), per_source: 2, ..SshLimits::default() };
    let lab = TlsLab::with(limits, SessionLimits::default()).await;
    let mut silent = TcpStream::connect(lab.address).await.unwrap();
    let gone = timeout(PATIENCE, silent.read(&mut [0])).await.unwrap();
    assert!(gone.is_err() || gone.unwrap() == 0, "after the time for a login");
    let limits = SshLimits { login: Duration::from_secs(3600), per_source: 2, ..SshLimits::default() };
    lab.access.send_modify(|access| Arc::make_mut(access).limits = limits);
    let mut first = TcpStream::connect(lab.address).await.unwrap();
    let _others =
        [TcpStream::connect(lab.address).await.unwrap(), TcpStream::connect(lab.address).await.unwrap()];
    let gone = timeout(PATIENCE, first.read(&mut [0])).await.unwrap();
    assert!(gone.is_err() || gone.unwrap() == 0, "for the third");
    assert!(lab.session(Some(&lab.ca.client("ann"))).await.is_ok(), "who has a certificate comes in");
}

/// The case P65: over TLS, too.
#[tokio::test(flavor = "multi_thread")]
async fn a_user_with_too_many_sessions_is_told_so() {
    let lab = TlsLab::with(SshLimits::default(), SessionLimits { total: 8, per_user: 1 }).await;
    let ann = lab.ca.client("ann");
    let mut first = lab.session(Some(&ann)).await.unwrap();
    first.asks(1, "<get/>").await.unwrap();
    let told = match lab.session(Some(&ann)).await {
        Ok(mut second) => second.ends().await,
        Err(why) => why,
    };
    assert!(told.contains("end") || told.contains("resource-denied"), "{told}");
    assert!(lab.session(Some(&lab.ca.client("bob"))).await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_who_is_taken_out_loses_the_session() {
    let mut lab = TlsLab::start().await;
    let mut client = lab.session(Some(&lab.ca.client("ann"))).await.unwrap();
    lab.access
        .send_modify(|access| Arc::make_mut(access).accounts = cats_mgmtd_transport::Accounts::default());
    client.ends().await;
    assert_eq!(lab.ended(1).await, [("ann".to_owned(), CloseReason::Withdrawn)]);
}
