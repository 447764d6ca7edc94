//! Inputs that servers in wide use get wrong, with the right answer, over the local socket of a real daemon. The
//! references are to sections of RFC 6241 and RFC 7950. Needs root.

use cats_conformance::Result;
use cats_conformance::netconf::Session;
use cats_conformance::server::Server;

const LX: &str = "urn:catsd:lab:example";
const NC: &str = "urn:ietf:params:xml:ns:netconf:base:1.0";
const YANG: &str = "urn:ietf:params:xml:ns:yang:1";

fn session(name: &str) -> Result<(Server, Session)> {
    let server = Server::start(&format!("cases-{name}"))?;
    let session = server.node.netconf()?;
    Ok((server, session))
}

/// The reply to an edit of the candidate below `gear`, with options before the configuration.
fn edit_with(session: &mut Session, options: &str, inner: &str) -> Result<String> {
    session.call(&format!(
        "<edit-config><target><candidate/></target>{options}<config><gear xmlns=\"{LX}\" xmlns:nc=\"{NC}\" \
         xmlns:y=\"{YANG}\">{inner}</gear></config></edit-config>"
    ))
}

fn edit(session: &mut Session, inner: &str) -> Result<String> {
    edit_with(session, "", inner)
}

/// What the candidate has below `gear`, under a filter, without the reply around it.
fn candidate(session: &mut Session, filter: &str) -> Result<String> {
    let reply =
        session.succeed(&format!("<get-config><source><candidate/></source>{filter}</get-config>"))?;
    let data = reply.split_once("<data").and_then(|(_, rest)| rest.split_once('>')).map(|(_, rest)| rest);
    Ok(data.unwrap_or_default().split("</data>").next().unwrap_or_default().to_owned())
}

fn gear(session: &mut Session, inner: &str) -> Result<String> {
    candidate(session, &format!("<filter type=\"subtree\"><gear xmlns=\"{LX}\">{inner}</gear></filter>"))
}

#[track_caller]
fn ok(reply: &str) {
    assert!(reply.contains("<ok"), "{reply}");
}

#[track_caller]
fn error(reply: &str, tag: &str, more: &[&str]) {
    assert!(reply.contains(&format!("<error-tag>{tag}</error-tag>")), "{tag} expected: {reply}");
    for wanted in more {
        assert!(reply.contains(wanted), "{wanted} expected: {reply}");
    }
}

#[test]
fn an_operation_on_a_path_that_is_not_there_is_data_missing_under_default_operation_none() -> Result<()> {
    let (_server, mut session) = session("none")?;
    let none = "<default-operation>none</default-operation>";
    let reply = edit_with(&mut session, none, "<strict><needed nc:operation=\"create\">1</needed></strict>")?;
    error(&reply, "data-missing", &[]);
    Ok(())
}

#[test]
fn an_operation_attribute_without_a_namespace_is_unknown_and_not_a_merge() -> Result<()> {
    let (_server, mut session) = session("attribute")?;
    let reply = edit(&mut session, "<knob operation=\"delete\">1</knob>")?;
    error(
        &reply,
        "unknown-attribute",
        &["<bad-attribute>operation</bad-attribute>", "<bad-element>knob</bad-element>"],
    );
    assert_eq!(gear(&mut session, "")?, "");
    Ok(())
}

#[test]
fn replace_on_a_container_replaces_everything_in_it() -> Result<()> {
    let (_server, mut session) = session("replace")?;
    ok(&edit(&mut session, "<knob>1</knob><item><name>a</name></item>")?);
    let reply = session.call(&format!(
        "<edit-config><target><candidate/></target><config><gear xmlns=\"{LX}\" xmlns:nc=\"{NC}\" \
         nc:operation=\"replace\"><left>l</left></gear></config></edit-config>"
    ))?;
    ok(&reply);
    let data = gear(&mut session, "")?;
    assert!(data.contains("<left>l</left>") && !data.contains("knob") && !data.contains("item"), "{data}");
    Ok(())
}

#[test]
fn the_value_in_a_delete_of_a_leaf_does_not_matter() -> Result<()> {
    let (_server, mut session) = session("delete-value")?;
    ok(&edit(&mut session, "<knob>1</knob>")?);
    ok(&edit(&mut session, "<knob nc:operation=\"delete\">2</knob>")?);
    assert!(!gear(&mut session, "")?.contains("knob"));
    Ok(())
}

#[test]
fn the_same_leaf_twice_in_one_edit_is_refused() -> Result<()> {
    let (_server, mut session) = session("twice")?;
    let reply = edit(&mut session, "<knob>1</knob><knob>2</knob>")?;
    assert!(reply.contains("<rpc-error"), "{reply}");
    assert_eq!(gear(&mut session, "")?, "");
    Ok(())
}

#[test]
fn test_only_changes_nothing_and_finds_what_is_wrong() -> Result<()> {
    let (_server, mut session) = session("test-only")?;
    let option = "<test-option>test-only</test-option>";
    ok(&edit_with(&mut session, option, "<knob>1</knob>")?);
    assert_eq!(gear(&mut session, "")?, "");
    error(&edit_with(&mut session, option, "<knob>-1</knob>")?, "invalid-value", &["knob"]);
    Ok(())
}

#[test]
fn insertion_in_a_list_that_the_system_orders_is_refused() -> Result<()> {
    let (_server, mut session) = session("insert")?;
    let reply = edit(&mut session, "<item y:insert=\"first\"><name>a</name></item>")?;
    error(&reply, "unknown-attribute", &["insert"]);
    Ok(())
}

#[test]
fn an_identity_and_an_instance_identifier_come_back_with_the_prefixes_they_use() -> Result<()> {
    let (_server, mut session) = session("prefixes")?;
    ok(&edit(&mut session, &format!("<form xmlns:mine=\"{LX}\">mine:round</form>"))?);
    ok(&edit(&mut session, &format!("<place xmlns:z=\"{LX}\">/z:gear/z:item[z:name='a']</place>"))?);
    let data = gear(&mut session, "")?;
    let document = roxmltree::Document::parse(&data).unwrap_or_else(|e| panic!("{e}: {data}"));
    let leaf = |name: &str| document.descendants().find(|n| n.tag_name().name() == name);
    let form = leaf("form").unwrap_or_else(|| panic!("{data}"));
    let (prefix, name) = form.text().and_then(|t| t.split_once(':')).unwrap_or_default();
    assert_eq!((form.lookup_namespace_uri(Some(prefix)), name), (Some(LX), "round"), "{data}");
    let place = leaf("place").unwrap_or_else(|| panic!("{data}"));
    let path = place.text().unwrap_or_default();
    let prefix = path.trim_start_matches('/').split(':').next().unwrap_or_default();
    assert_eq!(place.lookup_namespace_uri(Some(prefix)), Some(LX), "{data}");
    assert!(path.contains("='a']"), "{data}");
    Ok(())
}

#[test]
fn an_empty_filter_selects_nothing_and_a_wildcard_namespace_selects_any() -> Result<()> {
    let (_server, mut session) = session("filters")?;
    ok(&edit(&mut session, "<knob>1</knob><item><name>a</name><text> b </text></item>")?);
    assert_eq!(candidate(&mut session, "<filter type=\"subtree\"/>")?, "");
    assert_eq!(candidate(&mut session, "<filter/>")?, "");
    assert_eq!(candidate(&mut session, "<filter><gear xmlns=\"urn:other\"/></filter>")?, "");
    let any = candidate(&mut session, "<filter><gear xmlns=\"\"><knob/></gear></filter>")?;
    assert!(any.contains("<knob>1</knob>") && !any.contains("item"), "{any}");
    Ok(())
}

#[test]
fn a_default_shows_only_where_a_client_has_set_it() -> Result<()> {
    let (_server, mut session) = session("defaults")?;
    ok(&edit(&mut session, "<knob>1</knob>")?);
    assert!(!gear(&mut session, "")?.contains("mode"), "basic-mode is explicit");
    ok(&edit(&mut session, "<mode>auto</mode>")?);
    assert!(gear(&mut session, "")?.contains("<mode>auto</mode>"), "explicit keeps what a client has set");
    Ok(())
}

#[test]
fn a_missing_mandatory_leaf_is_named_at_commit() -> Result<()> {
    let (_server, mut session) = session("mandatory")?;
    ok(&edit(&mut session, "<strict/>")?);
    let reply = session.call("<commit/>")?;
    assert!(reply.contains("needed") || reply.contains("strict"), "{reply}");
    assert!(reply.contains("<rpc-error"), "{reply}");
    assert!(gear(&mut session, "")?.contains("strict"), "the candidate is kept after a failed commit");
    Ok(())
}

/// The case P70.
#[test]
fn thousand_entries_are_committed_in_one_edit_and_read_back_in_order() -> Result<()> {
    let (_server, mut session) = session("thousand")?;
    let entries: String =
        (0..1000).map(|i| format!("<item><name>n{i:04}</name><size>{}</size></item>", i + 1)).collect();
    ok(&edit(&mut session, &entries)?);
    session.commit()?;
    let reply = session.running(&format!("<gear xmlns=\"{LX}\"/>"))?;
    let names: Vec<&str> = reply.split("<name>").skip(1).filter_map(|rest| rest.split('<').next()).collect();
    assert_eq!(names.len(), 1000);
    assert!(names.is_sorted());
    Ok(())
}
