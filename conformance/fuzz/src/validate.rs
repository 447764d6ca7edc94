//! Validation by what changed, held against validation of the whole.

use crate::edit::config;
use crate::input::Input;
use crate::laws;
use crate::schema::schema;
use cats_yang_tree::error::Error;
use cats_yang_tree::{ChangeSet, DefaultOperation, Ops, Tree, diff, edit, validate as judged};

/// So many edits are made of one input.
const EDITS: usize = 16;

/// Parts as for `edit_config`, where an odd option byte commits what was edited so far. Running is what was valid last;
/// what a commit finds does not depend on what running was.
pub fn validate(data: &[u8]) {
    let schema = schema();
    assert!(schema.left().is_empty(), "all constraints are judged here: {:?}", schema.left());
    let (mut running, _) = whole(&Tree::new()).expect("an empty configuration is valid here");
    let mut candidate = running.clone();
    for part in Input(data).parts().filter(|part| !part.is_empty()).take(EDITS) {
        let mut part = Input(part);
        let option = part.byte();
        let default = match option / 2 % 3 {
            0 => DefaultOperation::Merge,
            1 => DefaultOperation::None,
            _ => DefaultOperation::Replace,
        };
        let Ok(content) = std::str::from_utf8(part.0) else { continue };
        let ops = Ops::from_xml_str(schema, &config(content), default);
        if let Ok(edited) = ops.and_then(|ops| edit(&candidate, schema, ops)) {
            candidate = edited;
        }
        if option % 2 == 1
            && let Some(valid) = committed(&running, &candidate)
        {
            running = valid.clone();
            candidate = valid;
        }
    }
    committed(&running, &candidate);
}

/// The candidate after a validation against running, if it is valid, which the validation of the whole must say too.
fn committed(running: &Tree, candidate: &Tree) -> Option<Tree> {
    let schema = schema();
    let by_change = judged(schema, running, candidate.clone(), diff(running, candidate));
    let by_whole = whole(candidate);
    match (by_change, by_whole) {
        (Ok((new, changes)), Ok((again, _))) => {
            assert_eq!(new, again, "what is valid is not the same from {}", laws::text(running));
            assert_eq!(changes.apply(running, schema).expect("the changes fit running"), new);
            let (same, none) = judged(schema, &new, new.clone(), ChangeSet::default()).expect("it is valid");
            assert!(same == new && none.is_empty(), "valid again with {none:?}");
            laws::step(running, &new);
            Some(new)
        }
        (Err(by_change), Err(by_whole)) => {
            let (from, to) = (laws::text(running), laws::text(candidate));
            assert_eq!(said(&by_change), said(&by_whole), "from {from} to {to}");
            None
        }
        (by_change, by_whole) => panic!(
            "by the change {:?}, of the whole {:?}, from {} to {}",
            by_change.map(drop),
            by_whole.map(drop),
            laws::text(running),
            laws::text(candidate)
        ),
    }
}

fn whole(tree: &Tree) -> Result<(Tree, ChangeSet), Vec<Error>> {
    let empty = Tree::new();
    judged(schema(), &empty, tree.clone(), diff(&empty, tree))
}

fn said(errors: &[Error]) -> Vec<String> {
    errors.iter().map(|error| format!("{error} {:?} {:?}", error.app_tag, error.info)).collect()
}
