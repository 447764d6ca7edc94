//! The Rust client `rustnetconf`, which others wrote, over SSH: it subscribes, and rebuilds what is in the datastore from
//! the updates alone. Needs root.

use cats_conformance::node::AdministratorKey;
use cats_conformance::server::{ADDRESS, PORT, Server};
use cats_conformance::wait::BOUND;
use cats_conformance::{LabError, Result};
use roxmltree::{Document, Node};
use rustnetconf::transport::ssh::HostKeyVerification;
use rustnetconf::{Client, Datastore};
use std::collections::BTreeMap;
use std::future::Future;
use tokio::time::timeout;

const SUBSCRIBE: &str = "<establish-subscription xmlns=\"urn:ietf:params:xml:ns:yang:ietf-subscribed-notifications\" \
     xmlns:yp=\"urn:ietf:params:xml:ns:yang:ietf-yang-push\">\
     <yp:datastore xmlns:ds=\"urn:ietf:params:xml:ns:yang:ietf-datastores\">ds:running</yp:datastore>\
     <yp:datastore-subtree-filter><gear xmlns=\"urn:catsd:lab:example\"/></yp:datastore-subtree-filter>\
     <yp:on-change/></establish-subscription>";

/// The place of each leaf of list `item`, as targets name it, and its value.
type Copy = BTreeMap<String, String>;

async fn within<T, E: std::fmt::Display>(
    doing: &str,
    work: impl Future<Output = std::result::Result<T, E>>,
) -> Result<T> {
    let done = timeout(BOUND, work).await.map_err(|_| LabError::new(doing, "it takes too long"))?;
    done.map_err(|error| LabError::new(doing, error.to_string()))
}

async fn connect(key: &AdministratorKey) -> Result<Client> {
    let client = Client::connect(&format!("{ADDRESS}:{PORT}"))
        .username(AdministratorKey::USER)
        .key_file(&key.private.display().to_string())
        .gather_facts(false)
        .host_key_verification(HostKeyVerification::AcceptAll);
    within("connecting", client.connect()).await
}

async fn change(client: &mut Client, gear: &str) -> Result<()> {
    let config = format!(
        "<gear xmlns=\"urn:catsd:lab:example\" xmlns:nc=\"urn:ietf:params:xml:ns:netconf:base:1.0\">{gear}</gear>"
    );
    within("editing", client.edit_config(Datastore::Candidate).config(&config).send()).await?;
    within("committing", client.commit()).await
}

/// The child elements' names and texts.
fn leafs<'a>(of: Node<'a, 'a>) -> impl Iterator<Item = (&'a str, &'a str)> {
    of.children()
        .filter(Node::is_element)
        .map(|leaf| (leaf.tag_name().name(), leaf.text().unwrap_or_default()))
}

fn put(copy: &mut Copy, item: Node<'_, '_>) {
    let name = leafs(item).find(|(leaf, _)| *leaf == "name").map_or("", |(_, name)| name);
    let target = format!("/lab-example:gear/item={name}");
    for (leaf, value) in leafs(item) {
        copy.insert(format!("{target}/{leaf}"), value.to_owned());
    }
}

/// Applies the next update; the names of its edits' operations, or of itself.
async fn hear(client: &mut Client, copy: &mut Copy) -> Result<Vec<String>> {
    let doing = "waiting for an update";
    let notice = within(doing, client.recv_notification()).await?;
    let notice = notice.ok_or_else(|| LabError::new(doing, "the session has ended"))?;
    assert!(notice.event_time.ends_with('Z'), "{}", notice.event_time);
    let document = Document::parse(&notice.event_xml).map_err(LabError::of("reading an update"))?;
    let items = |within: Node<'_, '_>, copy: &mut Copy| {
        within.descendants().filter(|node| node.has_tag_name(("urn:catsd:lab:example", "item"))).for_each(
            |item| {
                put(copy, item);
            },
        );
    };
    if document.root_element().tag_name().name() == "push-update" {
        copy.clear();
        items(document.root_element(), copy);
        return Ok(vec!["push-update".to_owned()]);
    }
    assert_eq!(document.root_element().tag_name().name(), "push-change-update", "{}", notice.event_xml);
    let edits = document.descendants().filter(|node| node.tag_name().name() == "edit");
    let mut operations = Vec::new();
    for edit in edits {
        let of = |name: &str| edit.children().find(|child| child.tag_name().name() == name);
        let text = |name: &str| of(name).and_then(|found| found.text()).unwrap_or_default().to_owned();
        let (operation, target) = (text("operation"), text("target"));
        if operation == "delete" {
            copy.retain(|place, _| *place != target && !place.starts_with(&format!("{target}/")));
        } else if let Some(value) = of("value") {
            items(value, copy);
            let leaf = value.first_element_child().and_then(|leaf| leaf.text());
            if target.matches('/').count() == 3 {
                copy.insert(target, leaf.unwrap_or_default().to_owned());
            }
        }
        operations.push(operation);
    }
    Ok(operations)
}

async fn rebuild(key: &AdministratorKey) -> Result<()> {
    let (mut writer, mut subscriber) = (connect(key).await?, connect(key).await?);
    change(&mut writer, "<item><name>a</name><size>1</size></item>").await?;
    let id = within("subscribing", subscriber.rpc(SUBSCRIBE)).await?;
    assert!(id.contains("<id"), "{id}");
    let mut copy = Copy::new();
    assert_eq!(hear(&mut subscriber, &mut copy).await?, ["push-update"]);
    let steps = [
        ("<item><name>b</name><size>2</size></item>", "create"),
        ("<item><name>b</name><size>3</size></item>", "replace"),
        ("<item nc:operation=\"delete\"><name>a</name></item>", "delete"),
    ];
    for (gear, operation) in steps {
        change(&mut writer, gear).await?;
        assert_eq!(hear(&mut subscriber, &mut copy).await?, [operation]);
    }
    let place = |leaf: &str| format!("/lab-example:gear/item=b/{leaf}");
    let wanted = [(place("name"), "b".to_owned()), (place("size"), "3".to_owned())];
    assert_eq!(copy, Copy::from(wanted));
    // It may still ask, and is told what comes meanwhile.
    change(&mut writer, "<item><name>c</name></item>").await?;
    let running = within("reading", subscriber.get_config(Datastore::Running)).await?;
    assert!(running.contains("<name>c</name>"), "{running}");
    assert_eq!(hear(&mut subscriber, &mut copy).await?, ["create"]);
    within("closing", subscriber.close_session()).await
}

#[test]
fn rustnetconf_rebuilds_what_there_is_from_updates_alone() -> Result<()> {
    let server = Server::start("rustnetconf")?;
    server.node.host().enter(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.map_err(LabError::of("starting a runtime"))?.block_on(rebuild(&server.key))
    })?
}
