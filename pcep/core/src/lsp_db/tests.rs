use super::*;
use crate::codec::Message;
use crate::codec::object::Lsp;
use crate::grammar::{Context, reports};
use crate::vectors::bytes;

fn headend() -> IpAddr {
    [10, 99, 0, 1].into()
}

fn report(case: &str) -> Report {
    let context = Context {
        setup_types: vec![SetupType::RSVP, SetupType::SR],
        reports: true,
        updates: true,
        initiates: true,
        most_labels: None,
        most_srv6_sids: None,
        resolves_nai: true,
    };
    reports(&Message::decode(&bytes(case)).unwrap(), &context).items.remove(0)
}

/// The report of a case, of another LSP.
fn of(plsp: u32, name: Option<&str>, flags: LspFlags) -> Report {
    let tlvs = name.map(|name| TlvValue::PathName(name.into()).into()).into_iter().collect();
    Report { lsp: Lsp { plsp: PlspId::new(plsp).unwrap(), flags, tlvs }, ..report("A22") }
}

fn up() -> LspDb {
    let mut db = LspDb::new(Limits::default());
    db.handle_up(headend());
    db
}

fn names(db: &LspDb) -> Vec<String> {
    db.lsps(headend()).map(|(name, _)| name.text().into_owned()).collect()
}

/// The cases PCEP A20, A21 and A22.
#[test]
fn a_headend_tells_what_it_has_and_that_this_was_all() {
    let mut db = up();
    assert_eq!(db.handle_report(headend(), report("A20")), Ok(Change::Added("POL-EXPL-CP-EXPL".into())));
    assert_eq!(db.sync(headend()), Some(Sync::Running));
    assert_eq!(db.handle_report(headend(), report("A21")), Ok(Change::Synchronised { removed: vec![] }));
    assert_eq!(db.sync(headend()), Some(Sync::Done));
    assert_eq!(db.handle_report(headend(), report("A22")), Ok(Change::Added("POL-DYN-CP-DYN".into())));
    let delegated: Vec<bool> = db.lsps(headend()).map(|(_, known)| known.is_delegated()).collect();
    assert_eq!(delegated, [true, false]);
}

#[test]
fn what_a_headend_does_not_tell_again_is_gone() {
    let mut db = up();
    for (plsp, name) in [(1, "one"), (2, "two")] {
        db.handle_report(headend(), of(plsp, Some(name), LspFlags::SYNC)).unwrap();
    }
    let now = Instant::now();
    db.handle_down(headend(), now);
    assert_eq!(names(&db), ["one", "two"]);
    assert!(db.lsps(headend()).all(|(_, known)| !known.is_delegated()));
    db.handle_up(headend());
    let again = db.handle_report(headend(), of(7, Some("two"), LspFlags::SYNC));
    assert_eq!(again, Ok(Change::Changed("two".into())), "its number is another one");
    let end = db.handle_report(headend(), report("A21"));
    assert_eq!(end, Ok(Change::Synchronised { removed: vec!["one".into()] }));
    assert_eq!((names(&db), db.poll_timeout()), (vec!["two".to_owned()], None));
}

#[test]
fn a_headend_that_does_not_come_back_is_forgotten() {
    let mut db = up();
    db.handle_report(headend(), of(1, Some("one"), LspFlags::SYNC)).unwrap();
    let now = Instant::now();
    db.handle_down(headend(), now);
    let (due, _) = db.poll_timeout().unwrap();
    assert_eq!(due, now + Duration::from_secs(60));
    assert!(db.handle_timeout(now).is_empty());
    assert_eq!(db.handle_timeout(due), [(headend(), vec!["one".into()])]);
    assert_eq!(db.sync(headend()), None);
}

#[test]
fn a_name_is_told_once_and_an_lsp_that_is_gone_is_removed() {
    let mut db = up();
    let unnamed = || of(1, None, LspFlags::ADMINISTRATIVE);
    assert_eq!(db.handle_report(headend(), unnamed()), Err(ErrorCode::PATH_NAME_MISSING));
    db.handle_report(headend(), of(1, Some("one"), LspFlags::SYNC)).unwrap();
    assert_eq!(db.handle_report(headend(), unnamed()), Ok(Change::Changed("one".into())));
    assert_eq!(db.handle_report(headend(), unnamed()), Ok(Change::Unchanged("one".into())));
    assert_eq!(db.handle_report(headend(), of(1, None, LspFlags::REMOVE)), Ok(Change::Removed("one".into())));
    assert_eq!(db.handle_report(headend(), of(1, None, LspFlags::REMOVE)), Ok(Change::Nothing));
}

/// Rows 19/5, 20/1 and 23/1.
#[test]
fn reports_that_cannot_be_are_refused() {
    let mut db = LspDb::new(Limits { lsps: 1, ..Limits::default() });
    let one = || of(1, Some("one"), LspFlags::SYNC);
    assert_eq!(db.handle_report(headend(), one()), Err(ErrorCode::REPORT_NOT_ADVERTISED));
    db.handle_up(headend());
    db.handle_report(headend(), one()).unwrap();
    let two = of(2, Some("two"), LspFlags::SYNC);
    assert_eq!(db.handle_report(headend(), two), Err(ErrorCode::REPORT_NOT_PROCESSED));
    assert_eq!(
        db.handle_report(headend(), of(2, Some("one"), LspFlags::SYNC)),
        Err(ErrorCode::PATH_NAME_IN_USE)
    );
    assert_eq!(
        db.handle_report(headend(), of(1, Some("other"), LspFlags::SYNC)),
        Err(ErrorCode::PATH_NAME_IN_USE)
    );
    assert_eq!(
        db.handle_report(headend(), of(0, Some("none"), LspFlags::SYNC)),
        Err(ErrorCode::REPORT_NOT_PROCESSED)
    );
}
