//! `edit-config`, one after another on a tree.

use crate::infoset;
use crate::input::Input;
use crate::laws;
use crate::schema::{A, B, C, schema};
use cats_mgmtd_netconf::{Answer, Echo, RawReply, Reply, write_reply};
use cats_yang_tree::error::Error;
use cats_yang_tree::{DefaultOperation, Ops, Tree, edit, xml};

/// So many edits are made of one input.
const EDITS: usize = 16;

/// Parts that a zero byte separates, each a byte for the default operation and the content of a `<config>`, with the
/// prefixes a, b, c, nc and y declared. A refused edit has errors that can be told, and every tree keeps the laws.
pub fn edit_config(data: &[u8]) {
    let schema = schema();
    let mut tree = Tree::new();
    for part in Input(data).parts().filter(|part| !part.is_empty()).take(EDITS) {
        let mut part = Input(part);
        let default = match part.byte() % 3 {
            0 => DefaultOperation::Merge,
            1 => DefaultOperation::Replace,
            _ => DefaultOperation::None,
        };
        let Ok(content) = std::str::from_utf8(part.0) else { continue };
        let edited =
            Ops::from_xml_str(schema, &config(content), default).and_then(|ops| edit(&tree, schema, ops));
        match edited {
            Ok(new) => {
                laws::step(&tree, &new);
                tree = new;
            }
            Err(errors) => told(&errors),
        }
    }
    laws::configuration(&tree);
}

pub(crate) fn config(content: &str) -> String {
    format!(
        "<config xmlns:a=\"{A}\" xmlns:b=\"{B}\" xmlns:c=\"{C}\" xmlns:nc=\"{}\" xmlns:y=\"{}\">{content}</config>",
        xml::NETCONF,
        xml::YANG
    )
}

/// A client reads the errors as we meant them, paths included.
fn told(errors: &[Error]) {
    assert!(!errors.is_empty(), "refused without an error");
    let reply = write_reply(&Echo::default(), Reply::Errors(errors.to_vec()), schema()).concat();
    drop(infoset::read(&reply));
    let read = RawReply { message_id: None, xml: reply.clone() }.answer(schema());
    let Ok(Answer::Errors(read)) = read else { panic!("{read:?} of {reply}") };
    let facts = |errors: &[Error]| -> Vec<_> {
        let all = errors.iter();
        all.map(|error| (error.kind, error.tag, error.app_tag.clone(), error.path.clone())).collect()
    };
    assert_eq!(facts(&read), facts(errors), "{reply}");
}
