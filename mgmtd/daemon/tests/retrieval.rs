//! Filters, defaults and datastores as clients meet them, on the module probe-bench.

#![allow(clippy::unwrap_used, clippy::panic)] // a failed set-up is a failed test

mod daemon;

use cats_yang_tree::error::{ErrorInfo, ErrorTag};
use daemon::{Daemon, Place, Session, text_of};

const NS: &str = "urn:probe:bench";
const NMDA: &str = "urn:ietf:params:xml:ns:yang:ietf-netconf-nmda";
const CONTENT: &str = "<knob>5</knob><mode>auto</mode><tag>z</tag><tag>a</tag>\
    <item><name>a</name><descr>first</descr><size>1</size><shape xmlns:p=\"urn:probe:bench\">p:round</shape></item>\
    <item><name>b</name><descr>second</descr></item>";

/// A daemon with that content in running, and a session.
fn bench(place: &Place) -> (Daemon, Session) {
    let daemon = place.start_bench();
    let mut session = daemon.client();
    session.ok(&edit(CONTENT));
    session.ok("<commit/>");
    (daemon, session)
}

fn in_bench(content: &str) -> String {
    format!("<bench xmlns=\"{NS}\">{content}</bench>")
}

fn edit(content: &str) -> String {
    format!("<edit-config><target><candidate/></target><config>{}</config></edit-config>", in_bench(content))
}

fn get_config(filter: &str, more: &str) -> String {
    format!("<get-config><source><running/></source>{filter}{more}</get-config>")
}

fn subtree(content: &str) -> String {
    get_config(&format!("<filter type=\"subtree\">{content}</filter>"), "")
}

fn with_defaults(mode: &str) -> String {
    let ns = "urn:ietf:params:xml:ns:yang:ietf-netconf-with-defaults";
    format!("<with-defaults xmlns=\"{ns}\">{mode}</with-defaults>")
}

fn get_data(datastore: &str, more: &str) -> String {
    format!(
        "<get-data xmlns=\"{NMDA}\" xmlns:ds=\"urn:ietf:params:xml:ns:yang:ietf-datastores\" \
         xmlns:or=\"urn:ietf:params:xml:ns:yang:ietf-origin\"><datastore>{datastore}</datastore>{more}</get-data>"
    )
}

/// The content of `<data>`.
fn inside(data: &str) -> &str {
    let (start, rest) = data.split_once('>').unwrap();
    if start.ends_with('/') { "" } else { rest.strip_suffix("</data>").unwrap() }
}

/// The cases G01, G03, G04, G07, G08, G09 and P27.
#[test]
fn subtree_filters_select_to_the_letter() {
    let place = Place::new();
    let (_daemon, mut session) = bench(&place);
    let shape = "<shape xmlns:pb=\"urn:probe:bench\">pb:round</shape>";
    let first = format!("<item><name>a</name><descr>first</descr><size>1</size>{shape}</item>");
    let whole = in_bench("<item><name>b</name><descr>second</descr></item>");
    let cases = [
        ("G01", String::new(), String::new()),
        (
            "G01",
            in_bench(""),
            in_bench(&format!(
                "<knob>5</knob><mode>auto</mode><tag>z</tag><tag>a</tag>{first}\
             <item><name>b</name><descr>second</descr></item>"
            )),
        ),
        (
            "G03",
            in_bench("<item><name/></item>"),
            in_bench("<item><name>a</name></item><item><name>b</name></item>"),
        ),
        ("G04", in_bench("<item><descr>second</descr></item>"), whole.clone()),
        ("G04", in_bench("<item><name>b</name></item>"), whole.clone()),
        ("G07", in_bench("<item>\n <name>\n\tb </name>\n</item>"), whole.clone()),
        ("G08", "<bench xmlns=\"urn:nobody\"><knob/></bench>".to_owned(), String::new()),
        ("G09", "<bench xmlns=\"\"><item><name>b</name></item></bench>".to_owned(), whole),
        (
            "P27",
            format!("<bench xmlns=\"{NS}\" xmlns:any=\"{NS}\"><item><shape>any:round</shape></item></bench>"),
            in_bench(&first),
        ),
        ("P27", in_bench("<item><shape>square</shape></item>"), String::new()),
    ];
    for (case, filter, wanted) in cases {
        let data = session.data(&subtree(&filter));
        assert_eq!(inside(&data), wanted, "{case}: {filter}");
    }
}

/// The cases G10, G14 and G15, and that the capability says so.
#[test]
fn xpath_filters_are_announced_and_work() {
    let place = Place::new();
    let (_daemon, mut session) = bench(&place);
    let announced =
        session.hello.capabilities.contains(&"urn:ietf:params:netconf:capability:xpath:1.0".to_owned());
    assert!(announced, "{:?}", session.hello);
    let filter = |attributes: &str| format!("<filter type=\"xpath\" {attributes}/>");
    let own = format!("xmlns:q=\"{NS}\" select=\"/q:bench/q:item[q:name='b']/q:descr\"");
    let found = in_bench("<item><name>b</name><descr>second</descr></item>");
    for get in [get_config(&filter(&own), ""), format!("<get>{}</get>", filter(&own))] {
        assert_eq!(inside(&session.data(&get)), found);
    }
    let outside = "<q:get-config xmlns:q=\"urn:ietf:params:xml:ns:netconf:base:1.0\" xmlns:w=\"urn:probe:bench\">\
                   <q:source><q:running/></q:source><q:filter type=\"xpath\" select=\"/w:bench/w:knob\"/></q:get-config>";
    assert_eq!(inside(&session.data(outside)), in_bench("<knob>5</knob>"), "declared further out");
    let count =
        session.refused(&get_config(&filter(&format!("xmlns:q=\"{NS}\" select=\"count(/q:bench)\"")), ""));
    assert_eq!(count.tag, ErrorTag::InvalidValue, "{count:?}");
    let none = session.refused(&get_config("<filter type=\"xpath\"/>", ""));
    assert_eq!(none.tag, ErrorTag::MissingAttribute);
    assert!(none.info.contains(&ErrorInfo::BadAttribute("select".to_owned())), "{none:?}");
    let by_data =
        get_data("ds:running", &format!("<xpath-filter xmlns:q=\"{NS}\">/q:bench/q:tag</xpath-filter>"));
    assert_eq!(inside(&session.data(&by_data)), in_bench("<tag>z</tag><tag>a</tag>"));
}

/// The cases G18 and G20: the examples of RFC 6243 appendix A in this model.
#[test]
fn defaults_are_shown_as_each_mode_has_it() {
    let place = Place::new();
    let (_daemon, mut session) = bench(&place);
    let modes = "basic-mode=explicit&also-supported=report-all,report-all-tagged,trim";
    let capability = format!("urn:ietf:params:netconf:capability:with-defaults:1.0?{modes}");
    assert!(session.hello.capabilities.contains(&capability), "{:?}", session.hello);
    let filter = format!("<filter>{}</filter>", in_bench("<mode/><item><name>b</name><enabled/></item>"));
    let name = "<item><name>b</name>";
    let mut read = |mode: &str| inside(&session.data(&get_config(&filter, mode))).to_owned();
    let explicit = in_bench(&format!("<mode>auto</mode>{name}</item>"));
    assert_eq!(read(""), explicit, "the basic mode is that without the parameter");
    assert_eq!(read(&with_defaults("explicit")), explicit);
    assert_eq!(read(&with_defaults("trim")), in_bench(&format!("{name}</item>")));
    let all = in_bench(&format!("<mode>auto</mode>{name}<enabled>true</enabled></item>"));
    assert_eq!(read(&with_defaults("report-all")), all);
    let tag = "xmlns:wd=\"urn:ietf:params:xml:ns:netconf:default:1.0\" wd:default=\"true\"";
    let tagged = all.replace("<enabled>", &format!("<enabled {tag}>"));
    assert_eq!(read(&with_defaults("report-all-tagged")), tagged);
    // What was read with tags can be sent back, and sets nothing more.
    let back = format!("<edit-config><target><candidate/></target><config>{tagged}</config></edit-config>");
    session.ok(&back);
    let candidate = session.data(&get_config(&filter, "").replace("running", "candidate"));
    assert_eq!(
        inside(&candidate),
        in_bench(
            &format!("{name}</item><mode>auto</mode>").replace(
                &format!("{name}</item><mode>auto</mode>"),
                &format!("<mode>auto</mode>{name}</item>")
            )
        )
    );
    let wrong = edit(&format!("<mode {tag}>manual</mode>"));
    assert_eq!(session.refused(&wrong).tag, ErrorTag::InvalidValue);
    let copy = format!(
        "<copy-config><target><candidate/></target><source><running/></source>{}</copy-config>",
        with_defaults("trim")
    );
    session.ok(&copy);
    assert_eq!(text_of(&session.data(&get_config("", "").replace("running", "candidate")), "mode"), None);
}

/// The cases D02, D04, D05 and D08, with the shapes of the examples of RFC 8526.
#[test]
fn datastores_are_read_and_edited_by_their_identities() {
    let place = Place::new();
    let (_daemon, mut session) = bench(&place);
    let filter = |content: &str| format!("<subtree-filter>{}</subtree-filter>", in_bench(content));
    let mut read = |datastore: &str, more: &str| inside(&session.data(&get_data(datastore, more))).to_owned();
    for datastore in ["ds:running", "ds:candidate", "ds:intended", "ds:operational"] {
        assert_eq!(read(datastore, &filter("<knob/>")), in_bench("<knob>5</knob>"), "{datastore}");
    }
    let in_use = "<item><name>b</name><enabled>true</enabled></item>";
    let enabled = filter("<item><name>b</name><enabled/></item>");
    assert_eq!(read("ds:operational", &enabled), in_bench(in_use), "defaults in use are in operation");
    let origin = read("ds:operational", &format!("{enabled}<with-origin/>"));
    let or =
        |name: &str| format!(" xmlns:or=\"urn:ietf:params:xml:ns:yang:ietf-origin\" or:origin=\"or:{name}\"");
    let wanted = in_bench(&in_use.replace("<enabled>", &format!("<enabled{}>", or("default"))))
        .replace("bench\">", &format!("bench\"{}>", or("intended")));
    assert_eq!(origin, wanted);
    let all = filter("<mode/><item><name>b</name></item>");
    let intended = read("ds:operational", &format!("{all}<origin-filter>or:intended</origin-filter>"));
    assert_eq!(intended, in_bench("<mode>auto</mode><item><name>b</name><descr>second</descr></item>"));
    let negated = format!("{all}<negated-origin-filter>or:intended</negated-origin-filter>");
    assert_eq!(read("ds:operational", &negated), in_bench(in_use));
    let cut = read("ds:running", &format!("{}<max-depth>1</max-depth>", filter("<item/>")));
    assert_eq!(cut, in_bench("<item><name>a</name></item><item><name>b</name></item>"));
    let state = "<subtree-filter><modules-state xmlns=\"urn:ietf:params:xml:ns:yang:ietf-yang-library\">\
                 <module-set-id/></modules-state></subtree-filter>";
    assert_eq!(read("ds:operational", &format!("{state}<config-filter>true</config-filter>")), "");
    assert!(
        read("ds:operational", &format!("{state}<config-filter>false</config-filter>"))
            .contains("module-set-id")
    );
    let library = "<subtree-filter><yang-library xmlns=\"urn:ietf:params:xml:ns:yang:ietf-yang-library\"/></subtree-filter>";
    assert_eq!(read("ds:running", library), "", "state is in operational alone");

    let mut refused = |datastore: &str, more: &str| session.refused(&get_data(datastore, more)).tag;
    assert_eq!(refused("ds:running", "<with-origin/>"), ErrorTag::InvalidValue);
    assert_eq!(refused("ds:startup", ""), ErrorTag::InvalidValue);
    assert_eq!(refused("ds:nowhere", ""), ErrorTag::InvalidValue);
    assert_eq!(
        refused("ds:operational", "<origin-filter>or:nowhere</origin-filter>"),
        ErrorTag::InvalidValue
    );
}

fn compare(source: &str, target: &str, more: &str) -> String {
    format!(
        "<compare xmlns=\"urn:ietf:params:xml:ns:yang:ietf-nmda-compare\" \
         xmlns:ds=\"urn:ietf:params:xml:ns:yang:ietf-datastores\"><source>ds:{source}</source>\
         <target>ds:{target}</target>{more}</compare>"
    )
}

/// RFC 9144.
#[test]
fn datastores_are_compared_as_a_patch() {
    let place = Place::new();
    let (_daemon, mut session) = bench(&place);
    session.ok(&edit("<knob>6</knob>"));
    let found = session.output(&compare("running", "candidate", ""));
    let wanted = format!(
        "<differences xmlns=\"urn:ietf:params:xml:ns:yang:ietf-nmda-compare\"><yang-patch>\
         <patch-id>differences</patch-id><edit><edit-id>1</edit-id><operation>replace</operation>\
         <target>/probe-bench:bench/knob</target><value><knob xmlns=\"{NS}\">6</knob></value>\
         <source-value><knob xmlns=\"{NS}\">5</knob></source-value></edit></yang-patch></differences>"
    );
    assert_eq!(found, wanted);
    let none = "<differences xmlns=\"urn:ietf:params:xml:ns:yang:ietf-nmda-compare\"></differences>";
    assert_eq!(session.output(&compare("running", "operational", "")), none);
    let state = session.output(&compare("running", "operational", "<all/>"));
    assert!(state.contains("<target>/ietf-yang-library:yang-library/content-id</target>"), "{state}");
    let filter = "<subtree-filter><bench xmlns=\"urn:probe:bench\"><inst/></bench></subtree-filter>";
    let nothing = session.output(&compare("running", "candidate", filter));
    assert_eq!(nothing, "<no-matches xmlns=\"urn:ietf:params:xml:ns:yang:ietf-nmda-compare\"/>");
    let error = session.refused(&compare("running", "candidate", "<report-origin/>"));
    assert_eq!(error.tag, ErrorTag::OperationNotSupported);
}

#[test]
fn edit_data_edits_the_candidate_and_says_what_is_not_written() {
    let place = Place::new();
    let (_daemon, mut session) = bench(&place);
    let edit_data = |datastore: &str, more: &str, content: &str| {
        format!(
            "<edit-data xmlns=\"{NMDA}\" xmlns:ds=\"urn:ietf:params:xml:ns:yang:ietf-datastores\">\
             <datastore>ds:{datastore}</datastore>{more}<config>{}</config></edit-data>",
            in_bench(content)
        )
    };
    session.ok(&edit_data("candidate", "", "<knob>6</knob>"));
    let none = "<default-operation>none</default-operation>";
    assert_eq!(
        session.refused(&edit_data("candidate", none, "<item><name>n</name></item>")).tag,
        ErrorTag::DataMissing
    );
    session.ok("<commit/>");
    assert_eq!(text_of(&session.data(&get_config("", "")), "knob"), Some("6"));
    for datastore in ["intended", "operational", "startup"] {
        let error = session.refused(&edit_data(datastore, "", "<knob>7</knob>"));
        assert_eq!(error.tag, ErrorTag::InvalidValue, "{datastore}");
    }
    let named = format!(
        "<target><datastore xmlns=\"{NMDA}\" xmlns:ds=\"urn:ietf:params:xml:ns:yang:ietf-datastores\">\
         ds:candidate</datastore></target>"
    );
    session.ok(&format!("<lock>{named}</lock>"));
    session.ok(&format!("<unlock>{named}</unlock>"));
}

/// The case D14.
#[test]
fn the_content_id_is_the_same_everywhere_and_every_datastore_has_its_schema() {
    let place = Place::new();
    let (_daemon, mut session) = bench(&place);
    let uri = session.hello.capabilities.iter().find(|uri| uri.contains("yang-library:1.1")).unwrap().clone();
    assert!(
        uri.starts_with(
            "urn:ietf:params:netconf:capability:yang-library:1.1?revision=2019-01-04&content-id="
        )
    );
    let id = uri.split_once("content-id=").unwrap().1.to_owned();
    let ns = "urn:ietf:params:xml:ns:yang:ietf-yang-library";
    let library = session.data(&format!("<get><filter><yang-library xmlns=\"{ns}\"/></filter></get>"));
    assert_eq!(text_of(&library, "content-id"), Some(id.as_str()));
    for datastore in ["running", "candidate", "intended", "operational"] {
        let one =
            format!("<name xmlns:ds=\"urn:ietf:params:xml:ns:yang:ietf-datastores\">ds:{datastore}</name>");
        assert!(library.contains(&one), "{datastore} in {library}");
    }
    let module = |name: &str| {
        let (_, rest) = library.split_once(&format!("<module><name>{name}</name>")).unwrap();
        rest.split_once("</module>").unwrap().0
    };
    assert!(module("ietf-netconf").contains("<feature>xpath</feature>"));
    assert!(module("ietf-netconf-nmda").contains("<feature>origin</feature>"));
    assert!(library.contains("<import-only-module><name>cats-types</name>"), "{library}");
    let old = session.data(&format!("<get><filter><modules-state xmlns=\"{ns}\"/></filter></get>"));
    assert_eq!(text_of(&old, "module-set-id"), Some(id.as_str()));
    assert!(old.contains("<conformance-type>import</conformance-type>"), "{old}");
}

#[test]
fn bad_hellos_and_dropped_sessions_are_counted() {
    use std::io::{Read as _, Write as _};
    let place = Place::new();
    let (daemon, mut session) = bench(&place);
    let mut raw = daemon.raw();
    raw.write_all(b"<hello xmlns=\"urn:nobody\"/>]]>]]>").unwrap();
    // The server closes, in one way or another.
    let _ = raw.read_to_end(&mut Vec::new());
    drop(daemon.client());
    let ns = "urn:ietf:params:xml:ns:yang:ietf-netconf-monitoring";
    let statistics =
        format!("<get><filter><netconf-state xmlns=\"{ns}\"><statistics/></netconf-state></filter></get>");
    let mut count = |name: &str| {
        let xml = session.data(&statistics);
        text_of(&xml, name).unwrap_or_else(|| panic!("{name} in {xml}")).parse::<u32>().unwrap()
    };
    let end = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while (count("in-bad-hellos"), count("dropped-sessions")) != (1, 1) {
        assert!(std::time::Instant::now() < end, "{} {}", count("in-bad-hellos"), count("dropped-sessions"));
        std::thread::yield_now();
    }
    assert_eq!((count("in-sessions"), count("out-notifications")), (3, 0));
}
