//! NETCONF over TLS and call home from outside: ncclient, and `openssl s_client`. Needs root.

use cats_conformance::command::{Outcome, run, run_with_input};
use cats_conformance::lab::{Lab, python, repository_root};
use cats_conformance::node::{AdministratorKey, Node};
use cats_conformance::pki::{Authority, NodeFiles};
use cats_conformance::state::ALARMS;
use cats_conformance::wait::wait_for;
use cats_conformance::{LabError, Result};
use std::path::Path;
use std::sync::Arc;

const ADDRESS: &str = "127.0.0.1";
const BASE: &str = "urn:ietf:params:xml:ns:netconf:base:1.0";

/// A daemon that serves TLS, its authority, and the administrator's keys.
struct Secured {
    node: Node,
    key: AdministratorKey,
    admin: NodeFiles,
    authority: Authority,
    lab: Lab,
}

/// `content` below the container of cats-system.
fn system(content: &str) -> String {
    format!(
        "<routing xmlns=\"urn:ietf:params:xml:ns:yang:ietf-routing\"><cats \
         xmlns=\"urn:ietf:params:xml:ns:yang:ietf-cats\"><system xmlns=\"urn:catsd:yang:cats-system\">{content}\
         </system></cats></routing>"
    )
}

/// As cert-to-name has it.
fn fingerprint(certificate: &Path) -> Result<String> {
    let file = certificate.display().to_string();
    let said = run("openssl", &["x509", "-in", &file, "-noout", "-fingerprint", "-sha256"])?;
    let octets = said.trim().rsplit('=').next().unwrap_or_default();
    Ok(format!("04:{octets}"))
}

impl Secured {
    /// Users are those whom the common names of the authority's certificates name.
    fn start(name: &str, options: &[&str], more: &str) -> Result<Secured> {
        let lab = Lab::create(name)?;
        let key = AdministratorKey::create(&lab, "admin-key")?;
        let host = Arc::new(lab.host("mgmt")?);
        let authority = Authority::create(&lab.folder().join("pki"))?;
        let address = ADDRESS.parse().map_err(LabError::of("reading an address"))?;
        let server = authority.issue_server("server", address)?;
        let admin = authority.issue(AdministratorKey::USER, &[])?;
        let mut node = Node::create(&lab, "server", host, &format!("{ADDRESS}:830"), &key)?;
        for option in options {
            node.add_option(option);
        }
        node.start_mgmtd()?;
        let file = |path: &Path| path.display().to_string();
        node.configure(&system(&format!(
            "<tls>{more}<authority>{}</authority><certificate>{}</certificate><private-key>{}</private-key>\
             <cert-to-name><id>1</id><fingerprint>{}</fingerprint><map-type \
             xmlns:x=\"urn:ietf:params:xml:ns:yang:ietf-x509-cert-to-name\">x:common-name</map-type></cert-to-name></tls>",
            file(&server.authority),
            file(&server.certificate),
            file(&server.private_key),
            fingerprint(&server.authority)?,
        )))?;
        Ok(Secured { node, key, admin, authority, lab })
    }

    fn ncclient(&self, arguments: &[&str]) -> Result<()> {
        let script =
            repository_root().join("conformance/clients/ncclient_tls_checks.py").display().to_string();
        let arguments: Vec<&str> = [script.as_str()].iter().chain(arguments).copied().collect();
        self.node.host().run(&python(), &arguments).map(drop)
    }

    /// A session of openssl's client that reads nothing but the hello and the answer to close-session.
    fn openssl(&self, who: Option<&NodeFiles>, options: &[&str]) -> Result<Outcome> {
        let mut command = self.node.host().command("openssl");
        command.args(["s_client", "-connect", &format!("{ADDRESS}:6513"), "-quiet", "-verify_return_error"]);
        command.arg("-CAfile").arg(&self.admin.authority).args(options);
        if let Some(who) = who {
            command.arg("-cert").arg(&who.certificate).arg("-key").arg(&who.private_key);
        }
        let script = format!(
            "<hello xmlns=\"{BASE}\"><capabilities><capability>urn:ietf:params:netconf:base:1.0</capability>\
             </capabilities></hello>]]>]]><rpc xmlns=\"{BASE}\" message-id=\"1\"><close-session/></rpc>]]>]]>"
        );
        run_with_input(command, script.as_bytes())
    }

    /// What is told of this part of the system.
    fn told(&self, part: &str) -> Result<String> {
        self.node.netconf()?.get(&system(part))
    }
}

#[test]
fn ncclient_has_a_session_over_tls_as_the_user_whom_its_certificate_names() -> Result<()> {
    let server = Secured::start("tls-ncclient", &["--tls=127.0.0.1:6513"], "")?;
    let file = |path: &Path| path.display().to_string();
    let (certificate, key) = (file(&server.admin.certificate), file(&server.admin.private_key));
    wait_for("the certificates to be in force", || {
        server.openssl(Some(&server.admin), &[]).ok().filter(|said| said.stdout.contains("<ok/>"))
    })?;
    server.ncclient(&["tls", ADDRESS, "6513", &certificate, &key, &file(&server.admin.authority)])
}

#[test]
fn openssl_has_a_session_by_either_version_with_a_certificate_and_none_without() -> Result<()> {
    let listen = "<listen><address>127.0.0.1</address></listen>";
    let server = Secured::start("tls-openssl", &[], listen)?;
    wait_for("the listener of the configuration", || {
        server.openssl(Some(&server.admin), &[]).ok().filter(|said| said.stdout.contains("<ok/>"))
    })?;
    let stranger = server.authority.issue("nobody", &[])?;
    for version in ["-tls1_2", "-tls1_3"] {
        let said = server.openssl(Some(&server.admin), &[version])?;
        assert!(
            said.stdout.contains("<hello") && said.stdout.contains("<ok/>"),
            "{version}: {}",
            said.stderr
        );
        for who in [None, Some(&stranger)] {
            let said = server.openssl(who, &[version])?;
            assert!(!said.stdout.contains("<hello"), "{version}: {}", said.stdout);
        }
    }
    let said =
        server.openssl(Some(&server.admin), &["-no_tls1_3", "-no_tls1_2", "-cipher", "ALL:@SECLEVEL=0"])?;
    assert!(!said.stdout.contains("<hello"), "an old version: {}", said.stdout);
    server.node.configure(&system(
        "<tls xmlns:nc=\"urn:ietf:params:xml:ns:netconf:base:1.0\"><listen nc:operation=\"delete\"/></tls>",
    ))?;
    wait_for("the listener to be closed", || {
        server.openssl(Some(&server.admin), &[]).ok().filter(|said| said.stderr.contains("onnection refused"))
    })?;
    Ok(())
}

#[test]
fn files_that_are_missing_and_fingerprints_that_prove_nothing_are_told_of() -> Result<()> {
    let server = Secured::start("tls-faults", &["--tls=127.0.0.1:6513"], "")?;
    server.node.configure(&system("<tls><private-key>/nowhere/node.key</private-key></tls>"))?;
    wait_for("the alarm", || {
        let told = server.node.netconf().ok()?.get(ALARMS).ok()?;
        (told.contains("tls-failed") && told.contains("/nowhere/node.key")).then_some(())
    })?;
    let weak = "<tls><cert-to-name><id>1</id><fingerprint>02:AB</fingerprint></cert-to-name></tls>";
    let refused = server.node.configure(&system(weak)).map_err(|error| error.to_string());
    assert!(refused.as_ref().is_err_and(|why| why.contains("SHA-256")), "{refused:?}");
    // What a commit refuses stays in the candidate.
    server.node.netconf()?.succeed("<discard-changes/>")?;
    let key = server.lab.folder().join("pki/server.key").display().to_string();
    server.node.configure(&system(&format!("<tls><private-key>{key}</private-key></tls>")))?;
    wait_for("the alarm to be gone", || {
        server.node.netconf().ok()?.get(ALARMS).ok().filter(|told| !told.contains("tls-failed"))
    })?;
    Ok(())
}

#[test]
fn ncclient_is_called_at_the_second_endpoint_and_an_alarm_stands_before() -> Result<()> {
    let server = Secured::start("call-home", &[], "")?;
    server.node.configure(&system(
        "<call-home><client><name>noc</name><endpoint><id>1</id><address>127.0.0.1</address><port>1</port></endpoint>\
         <endpoint><id>2</id><address>127.0.0.1</address></endpoint><reconnect-strategy><max-attempts>1</max-attempts>\
         <max-wait>1</max-wait></reconnect-strategy></client></call-home>",
    ))?;
    wait_for("the alarm", || {
        let told = server.node.netconf().ok()?.get(ALARMS).ok()?;
        (told.contains("cannot-call") && told.contains("'noc'")).then_some(())
    })?;
    let key = server.key.private.display().to_string();
    server.ncclient(&["call_home", ADDRESS, "4334", AdministratorKey::USER, &key])?;
    wait_for("the end of the connection to be told of", || {
        let told = server.told("<call-home/>").ok()?;
        (told.contains("<connections>1</connections>") && !told.contains(">connected<")).then_some(())
    })?;
    Ok(())
}
