//! An unmodified scrapli-netconf against `cats-mgmtd` over SSH: each test starts a daemon with an empty datastore in a
//! namespace of its own and runs one check of `conformance/clients/scrapli_checks.py` in both versions of NETCONF, over
//! OpenSSH on a pseudo-terminal and over paramiko. Needs root.

use cats_conformance::Result;
use cats_conformance::clients::scrapli;
use cats_conformance::server::Server;

fn check(name: &str) -> Result<()> {
    let server = Server::start(&format!("scrapli-{name}"))?;
    for transport in ["system", "paramiko"] {
        for version in ["1.0", "1.1"] {
            scrapli(&server, transport, version, name)?;
        }
    }
    Ok(())
}

/// The case P03.
#[test]
fn a_session_on_a_terminal_or_not_edits_validates_commits_and_discards() -> Result<()> {
    check("edits")
}

#[test]
fn a_confirmed_commit_is_confirmed_cancelled_left_and_taken_up_by_its_name() -> Result<()> {
    check("confirmed")
}

#[test]
fn an_xpath_filter_and_every_mode_of_defaults_are_served() -> Result<()> {
    check("retrieval")
}

#[test]
fn the_datastores_of_nmda_are_read_and_edited_and_tell_origins() -> Result<()> {
    check("nmda")
}

#[test]
fn what_is_refused_is_a_failure_to_the_client_with_tag_and_place() -> Result<()> {
    check("errors")
}

#[test]
fn text_that_a_terminal_or_a_chunk_reader_could_spoil_comes_back_as_it_was() -> Result<()> {
    check("values")
}
