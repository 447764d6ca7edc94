//! The example's configurations against the modules alone: each is committed by a management daemon without an
//! engine. Needs root.

use cats_conformance::lab::repository_root;
use cats_conformance::layout::{EGRESS_A, EGRESS_B};
use cats_conformance::pki::NodeFiles;
use cats_conformance::server::Server;
use cats_conformance::{LabError, Result, configuration};

#[test]
fn every_node_of_the_example_is_configured_by_the_modules_and_survives_a_restart() -> Result<()> {
    let files = NodeFiles {
        authority: "/etc/cats/pki/ca.pem".into(),
        certificate: "/etc/cats/pki/node.pem".into(),
        private_key: "/etc/cats/pki/node.key".into(),
    };
    let nodes = [
        ("selector", configuration::selector(&files)),
        ("ingress", configuration::ingress(&files)),
        ("egress-a", configuration::egress(EGRESS_A, &files)),
        ("egress-b", configuration::egress(EGRESS_B, &files)),
        ("all-in-one", configuration::all_in_one()),
    ];
    for (name, config) in nodes {
        let mut server = Server::start(&format!("configuration-{name}"))?;
        server.node.configure(&config)?;
        let all = "<routing xmlns=\"urn:ietf:params:xml:ns:yang:ietf-routing\"/>";
        let before = server.node.netconf()?.running(all)?;
        assert!(before.contains("S1"), "{before}");
        server.node.kill("mgmtd")?;
        server.node.start_mgmtd()?;
        assert_eq!(server.node.netconf()?.running(all)?, before, "{name}");
    }
    Ok(())
}

#[test]
fn the_example_in_the_readme_is_committed_and_shown() -> Result<()> {
    let file = repository_root().join("README.md");
    let page = std::fs::read_to_string(&file).map_err(LabError::of(format!("reading {}", file.display())))?;
    let (_, rest) = page.split_once("<config xmlns=").unwrap_or_default();
    let (_, rest) = rest.split_once('>').unwrap_or_default();
    let (config, _) = rest.split_once("</config>").unwrap_or_default();
    let server = Server::start("configuration-readme")?;
    server.node.configure(config)?;
    let shown =
        server.node.netconf()?.running("<routing xmlns=\"urn:ietf:params:xml:ns:yang:ietf-routing\"/>")?;
    for wanted in ["S1", "192.0.2.100", "198.51.100.21", "EF-2"] {
        assert!(shown.contains(wanted), "{wanted}: {shown}");
    }
    Ok(())
}

/// A piece of the page, from one tag to the one that ends it.
fn piece<'a>(page: &'a str, tag: &str, namespace: &str) -> &'a str {
    let (begin, end) = (format!("<{tag} xmlns=\"{namespace}\">"), format!("\n    </{tag}>"));
    let found = page.find(&begin).and_then(|at| page.get(at..));
    found.and_then(|rest| rest.get(..rest.find(&end)? + end.len())).unwrap_or_default()
}

#[test]
fn the_metric_agent_in_the_readme_and_the_path_selector_that_takes_it_are_committed() -> Result<()> {
    let file = repository_root().join("README.md");
    let page = std::fs::read_to_string(&file).map_err(LabError::of(format!("reading {}", file.display())))?;
    let agent = piece(&page, "metric-agent", "urn:catsd:yang:cats-sma");
    let selector = piece(&page, "path-selector", "urn:catsd:yang:cats-cps");
    for (name, part, wanted) in [
        ("agent", agent, "IF Time IN night THEN SET GAS = 0"),
        ("selector", selector, "/etc/cats/pki/C-SMA-1.pem"),
    ] {
        let server = Server::start(&format!("configuration-readme-{name}"))?;
        server.node.configure(&format!(
            "<routing xmlns=\"urn:ietf:params:xml:ns:yang:ietf-routing\">\
             <cats xmlns=\"urn:ietf:params:xml:ns:yang:ietf-cats\">{part}</cats></routing>"
        ))?;
        let all = "<routing xmlns=\"urn:ietf:params:xml:ns:yang:ietf-routing\"/>";
        let shown = server.node.netconf()?.running(all)?;
        assert!(shown.contains(wanted) && shown.contains("C-SMA-1"), "{wanted}: {shown}");
    }
    Ok(())
}
