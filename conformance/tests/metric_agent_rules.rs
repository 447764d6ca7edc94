//! A metric agent's configuration over NETCONF: what is wrong with it is refused by the management daemon itself, with
//! the place and the remedy. Needs root.

use cats_conformance::Result;
use cats_conformance::netconf::Session;
use cats_conformance::server::Server;

/// The reply to a commit of the candidate after this edit of the metric agent.
fn commit(session: &mut Session, agent: &str) -> Result<String> {
    session.edit_candidate(&configuration(agent))?;
    session.call("<commit/>")
}

fn configuration(agent: &str) -> String {
    format!(
        "<routing xmlns=\"urn:ietf:params:xml:ns:yang:ietf-routing\"><cats xmlns=\"urn:ietf:params:xml:ns:yang:ietf-cats\">\
         <metric-agent xmlns=\"urn:catsd:yang:cats-sma\"><enabled>true</enabled><node-id>C-SMA-1</node-id>{agent}\
         </metric-agent></cats></routing>"
    )
}

fn rule(statement: &str) -> String {
    let statement = statement.replace('<', "&lt;");
    format!("<policy><rule><name>few</name><statement>{statement}</statement></rule></policy>")
}

/// The path of the error without prefixes, as these are the server's to choose.
fn error_path(reply: &str) -> String {
    let path = reply.split_once("<error-path").and_then(|(_, rest)| rest.split_once('>'));
    let path = path.and_then(|(_, rest)| rest.split_once("</error-path>")).map_or("", |(path, _)| path);
    let mut local = String::new();
    for (place, part) in path.replace("&apos;", "'").replace("&quot;", "'").split('\'').enumerate() {
        // Every second part is a value in quotes.
        if place % 2 == 1 {
            local.push_str(&format!("'{part}'"));
            continue;
        }
        for step in part.split_inclusive(['/', '[']) {
            local.push_str(step.rsplit(':').next().unwrap_or_default());
        }
    }
    local
}

#[track_caller]
fn refused(reply: &str, below: &str, wanted: &[&str]) {
    assert_eq!(error_path(reply), format!("/routing/cats/metric-agent{below}"), "{reply}");
    for wanted in wanted {
        assert!(reply.contains(wanted), "{wanted} expected: {reply}");
    }
}

/// The agent as it runs, without the reply around it.
fn running_agent(session: &mut Session) -> Result<String> {
    let filter = "<routing xmlns=\"urn:ietf:params:xml:ns:yang:ietf-routing\"><cats xmlns=\"urn:ietf:params:xml:ns:yang:ietf-cats\">\
                  <metric-agent xmlns=\"urn:catsd:yang:cats-sma\"/></cats></routing>";
    let reply = session.running(filter)?;
    Ok(reply.split_once("<data").map_or(reply.clone(), |(_, data)| data.to_owned()))
}

/// Proves SMA-15.
#[test]
fn a_rule_that_names_an_unknown_metric_is_refused_with_its_place_and_mended_in_the_candidate() -> Result<()> {
    let mut server = Server::start("metric-agent-rule")?;
    let mut session = server.node.netconf()?;
    let reply = commit(&mut session, &rule("IF Site_GSA < 10 THEN REDUCE GAS BY 50%"))?;
    let words = [
        "<error-tag>invalid-value</error-tag>",
        "<error-app-tag>invalid-rule</error-app-tag>",
        "column 4: `Site_GSA` cannot stand here",
        "was `Site_GAS` meant?",
    ];
    refused(&reply, "/policy/rule[name='few']/statement", &words);
    assert!(!running_agent(&mut session)?.contains("few"), "nothing of it is in force");
    let validated = session.call("<validate><source><candidate/></source></validate>")?;
    refused(&validated, "/policy/rule[name='few']/statement", &words);

    let reply = commit(&mut session, &rule("IF Site_GAS < 10 THEN REDUCE GAS BY 50%"))?;
    assert!(reply.contains("<ok"), "the rest of the candidate was kept: {reply}");
    let before = running_agent(&mut session)?;
    assert!(before.contains("IF Site_GAS &lt; 10 THEN REDUCE GAS BY 50%"), "{before}");
    server.node.kill("mgmtd")?;
    server.node.start_mgmtd()?;
    assert_eq!(running_agent(&mut server.node.netconf()?)?, before);
    Ok(())
}

#[test]
fn what_an_agent_cannot_do_is_refused_where_it_stands() -> Result<()> {
    let server = Server::start("metric-agent-refusals")?;
    let mut session = server.node.netconf()?;
    let selector = |name: &str, rest: &str| {
        format!(
            "<path-selector><node-id>{name}</node-id><address>192.0.2.1</address>{rest}<signature><key-id>k</key-id>\
             <file>/etc/cats/pki/k</file></signature></path-selector>"
        )
    };
    let chain = [
        selector("A", ""),
        selector("B", "<alternative-to>A</alternative-to>"),
        selector("C", "<alternative-to>B</alternative-to>"),
    ];
    let cases = [
        (
            "<cache><valid-for>60</valid-for></cache>".to_owned(),
            "/cache/valid-for",
            "raise valid-for to 61 at least",
        ),
        (
            "<validation><ranges><gas-min>6</gas-min><gas-max>5</gas-max></ranges></validation>".to_owned(),
            "/validation/ranges/gas-max",
            "raise validation/ranges/gas-max to 6 at least",
        ),
        (
            format!("<northbound>{}</northbound>", chain.concat()),
            "/northbound/path-selector[node-id='C']/alternative-to",
            "B is itself an alternative to A",
        ),
        (
            "<calendar><window><name>w</name><once><begin>2026-12-24T01:00:00Z</begin><end>2026-12-24T01:00:00+01:00</end>\
             </once></window></calendar>"
                .to_owned(),
            "/calendar/window[name='w']/once/end",
            "it ends before it begins",
        ),
        (
            "<calendar><window><name>floor</name><weekly><day>monday</day><begin>01:00</begin><end>02:00</end></weekly>\
             </window></calendar>"
                .to_owned(),
            "/calendar/window[name='floor']/name",
            "its name means something else in rules",
        ),
    ];
    for (agent, below, words) in cases {
        let reply = commit(&mut session, &agent)?;
        refused(&reply, below, &["<error-tag>invalid-value</error-tag>", words]);
        session.succeed("<discard-changes/>")?;
    }
    Ok(())
}

#[test]
fn what_yang_says_of_an_agent_needs_no_rule_of_ours() -> Result<()> {
    let server = Server::start("metric-agent-yang")?;
    let mut session = server.node.netconf()?;
    let unnamed = configuration("").replace("<node-id>C-SMA-1</node-id>", "");
    session.edit_candidate(&unnamed)?;
    refused(&session.call("<commit/>")?, "/enabled", &["a metric agent needs a node-id"]);
    let nobody = "<northbound><path-selector><node-id>A</node-id><address>192.0.2.1</address><alternative-to>B</alternative-to>\
                  <signature><key-id>k</key-id><file>/k</file></signature></path-selector></northbound>";
    let reply = commit(&mut session, nobody)?;
    refused(
        &reply,
        "/northbound/path-selector[node-id='A']/alternative-to",
        &["<error-app-tag>instance-required</error-app-tag>"],
    );
    session.succeed("<discard-changes/>")?;
    let unheard =
        "<admission><discovery>false</discovery><discovered-service>1</discovered-service></admission>";
    let reply = commit(&mut session, unheard)?;
    let words = "nobody reports of it: delete it, or set discovery true";
    refused(&reply, "/admission/discovered-service[.='1']", &[words]);
    session.succeed("<discard-changes/>")?;
    let reply = commit(&mut session, "<calendar><window><name>w</name></window></calendar>")?;
    refused(&reply, "/calendar/window[name='w']", &["<missing-choice", "when"]);
    Ok(())
}
