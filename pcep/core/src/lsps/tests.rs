use super::*;
use crate::codec::Message;
use crate::grammar::{self, Context, Initiation};
use crate::vectors::bytes;

const OURS: PceId = PceId(1);
const OTHER: PceId = PceId(2);

fn context() -> Context {
    Context {
        setup_types: vec![SetupType::SR],
        reports: true,
        updates: true,
        initiates: true,
        most_labels: None,
        most_srv6_sids: None,
        resolves_nai: true,
    }
}

/// The update of a case, of that LSP.
fn update(case: &str, plsp: Option<PlspId>) -> Update {
    let message = Message::decode(&bytes(case)).unwrap();
    let mut update = grammar::updates(&message, &context()).items.remove(0);
    update.lsp.plsp = plsp.unwrap_or(update.lsp.plsp);
    update
}

fn creation(name: &str) -> Creation {
    let message = Message::decode(&bytes("A27")).unwrap();
    match grammar::initiations(&message, &context()).items.remove(0) {
        Initiation::Create(creation) => Creation { name: Octets::from(name), ..*creation },
        Initiation::Remove(removal) => panic!("{removal:?}"),
    }
}

fn removal(plsp: PlspId) -> Removal {
    let Creation { srp, mut lsp, .. } = creation("any");
    lsp.plsp = plsp;
    Removal { srp, lsp }
}

/// The case PCEP C15, and the tenth habit of `conformance/pcep-cases.md`.
#[test]
fn an_update_is_for_who_was_given_the_lsp() {
    let mut lsps = Lsps::new(10, 5);
    assert_eq!(lsps.check_update(OURS, &update("C15", None)), Err(ErrorCode::UNKNOWN_PLSP_ID));
    let plsp = lsps.add("one".into(), SetupType::SR).unwrap();
    let update = update("C15", Some(plsp));
    assert_eq!(lsps.check_update(OURS, &update), Err(ErrorCode::NOT_DELEGATED));
    lsps.delegate(plsp, OURS);
    assert_eq!(
        lsps.check_update(OURS, &update).map(|held| held.name.text().into_owned()),
        Ok("one".to_owned())
    );
    assert_eq!(lsps.check_update(OTHER, &update), Err(ErrorCode::NOT_DELEGATED));
    let other = Update { setup: SetupType::SRV6, ..update.clone() };
    assert_eq!(lsps.check_update(OURS, &other), Err(ErrorCode::SETUP_TYPE_MISMATCH));
    assert_eq!(lsps.revoke(plsp), Ok(()));
    assert_eq!(lsps.check_update(OURS, &update), Err(ErrorCode::NOT_DELEGATED));
}

/// The ninth habit of `conformance/pcep-cases.md`, and rows 19/6, 19/7, 23/1.
#[test]
fn an_initiated_lsp_has_a_name_of_its_own_and_stays_with_its_pce() {
    let mut lsps = Lsps::new(10, 2);
    lsps.add("ours".into(), SetupType::SR).unwrap();
    assert_eq!(lsps.create(OURS, &creation("ours")), Err(ErrorCode::PATH_NAME_IN_USE));
    let plsp = lsps.create(OURS, &creation("one")).unwrap();
    assert_eq!(lsps.revoke(plsp), Err(ErrorCode::INITIATED_NOT_REVOCABLE));
    lsps.create(OURS, &creation("two")).unwrap();
    assert_eq!(lsps.create(OURS, &creation("three")), Err(ErrorCode::INITIATED_LIMIT));
    assert_eq!(lsps.iter().count(), 3);
}

/// Rows 19/1, 19/3 and 19/9.
#[test]
fn only_what_a_pce_made_is_removed_by_it() {
    let mut lsps = Lsps::new(10, 2);
    let ours = lsps.add("ours".into(), SetupType::SR).unwrap();
    let theirs = lsps.create(OURS, &creation("theirs")).unwrap();
    assert_eq!(lsps.check_removal(OURS, &removal(ours)), Err(ErrorCode::NOT_INITIATED));
    assert_eq!(lsps.check_removal(OTHER, &removal(theirs)), Err(ErrorCode::NOT_DELEGATED));
    assert!(lsps.check_removal(OURS, &removal(theirs)).is_ok());
    lsps.remove(theirs).unwrap();
    assert_eq!(lsps.check_removal(OURS, &removal(theirs)), Err(ErrorCode::UNKNOWN_PLSP_ID));
    assert_eq!(lsps.get(theirs), None);
}

#[test]
fn a_number_is_not_used_again_as_long_as_there_are_others() {
    let mut lsps = Lsps::new(2, 0);
    let first = lsps.add("first".into(), SetupType::SR).unwrap();
    lsps.remove(first);
    let second = lsps.add("first".into(), SetupType::SR).unwrap();
    assert_ne!(first, second);
    lsps.last = 0x000f_ffff;
    let third = lsps.add("third".into(), SetupType::SR).unwrap();
    assert_eq!(third, first, "it begins anew");
    assert_eq!(lsps.add("fourth".into(), SetupType::SR), None);
}
