//! What subscribers are told. The text, which takes time in proportion to it, is made by whoever delivers it, once for
//! all that are told the same.

use super::terms::{PUSH, SUBSCRIBED};
use crate::reading::Reading;
use cats_yang_tree::diff::{PatchEdit, PatchOperation, PatchPlace};
use cats_yang_tree::error::Error;
use cats_yang_tree::schema::Schema;
use cats_yang_tree::{ChangeSet, Defaults, Tree, view};
use std::fmt::Write as _;
use std::sync::{Arc, OnceLock};

const NAMESPACES: [(&str, &str, &str); 2] = [
    (SUBSCRIBED, "sn", "urn:ietf:params:xml:ns:yang:ietf-subscribed-notifications"),
    (PUSH, "yp", "urn:ietf:params:xml:ns:yang:ietf-yang-push"),
];

/// A notification of one subscription.
#[derive(Debug, Clone)]
pub struct Update {
    /// The subscription's id.
    pub subscription: u32,
    /// What it is told.
    pub content: Content,
}

/// The notifications of RFC 8639 and RFC 8641.
#[derive(Debug, Clone)]
#[allow(missing_docs)] // fields of the same name as the leafs
pub enum Content {
    /// `push-update`.
    Whole(Arc<Whole>),
    /// `push-change-update`.
    Changes { patch_id: u32, changes: Arc<Changes> },
    /// `subscription-modified`, with the terms as XML elements.
    Modified { terms: Arc<str> },
    /// `subscription-suspended`, with an identity.
    Suspended { reason: &'static str },
    /// `subscription-resumed`.
    Resumed,
    /// `replay-completed`.
    ReplayCompleted,
    /// `subscription-terminated`, with an identity.
    Terminated { reason: &'static str },
}

/// All that a subscription selects.
#[derive(Debug)]
pub struct Whole {
    source: Source,
    /// Something is known to be missing.
    incomplete: bool,
    text: OnceLock<Result<Arc<str>, Vec<Error>>>,
}

#[derive(Debug)]
enum Source {
    /// To be selected yet.
    Reading(Box<Reading>),
    /// Selected.
    Seen(Tree),
}

/// How what a subscription selects has changed.
#[derive(Debug)]
pub struct Changes {
    changes: ChangeSet,
    excluded: Vec<PatchOperation>,
    text: OnceLock<Arc<str>>,
}

impl Whole {
    pub(crate) fn of_reading(reading: Reading) -> Self {
        Self { source: Source::Reading(Box::new(reading)), incomplete: false, text: OnceLock::new() }
    }

    pub(crate) fn of_seen(tree: Tree) -> Self {
        Self { source: Source::Seen(tree), incomplete: false, text: OnceLock::new() }
    }

    /// The same, said to lack something.
    pub(crate) fn with_a_gap(self) -> Self {
        Self { incomplete: true, ..self }
    }

    /// Is what it selects to be found out yet?
    fn is_open(&self) -> bool {
        matches!(self.source, Source::Reading(_)) && self.text.get().is_none()
    }

    fn text(&self, schema: &Schema) -> &Result<Arc<str>, Vec<Error>> {
        self.text.get_or_init(|| match &self.source {
            Source::Reading(reading) => reading.to_xml(schema).map(Arc::from),
            Source::Seen(tree) => Ok(Arc::from(view(tree, schema, Defaults::Explicit).to_xml())),
        })
    }
}

impl Changes {
    /// None when nothing but what is excluded has changed.
    pub(crate) fn new(changes: ChangeSet, excluded: &[PatchOperation]) -> Option<Self> {
        let mut changes = changes;
        changes.changes.retain(|change| !excluded.contains(&change.operation()));
        let excluded = excluded.to_vec();
        (!changes.is_empty()).then(|| Self { changes, excluded, text: OnceLock::new() })
    }

    pub(crate) fn excludes(&self, excluded: &[PatchOperation]) -> bool {
        self.excluded == excluded
    }

    /// About how many bytes the text has.
    fn weight(&self) -> usize {
        self.changes.changes.len() * 256
    }

    /// The edits of a YANG patch.
    pub fn edits(&self, schema: &Schema) -> Vec<PatchEdit> {
        self.changes.patch(schema)
    }

    fn text(&self, schema: &Schema) -> &Arc<str> {
        self.text.get_or_init(|| {
            let mut out = String::new();
            for (at, edit) in self.edits(schema).iter().enumerate() {
                write_edit(&mut out, at + 1, edit);
            }
            Arc::from(out)
        })
    }
}

impl Update {
    /// Module and name of the notification.
    pub fn name(&self) -> (&'static str, &'static str) {
        match &self.content {
            Content::Whole(_) => (PUSH, "push-update"),
            Content::Changes { .. } => (PUSH, "push-change-update"),
            Content::Modified { .. } => (SUBSCRIBED, "subscription-modified"),
            Content::Suspended { .. } => (SUBSCRIBED, "subscription-suspended"),
            Content::Resumed => (SUBSCRIBED, "subscription-resumed"),
            Content::ReplayCompleted => (SUBSCRIBED, "replay-completed"),
            Content::Terminated { .. } => (SUBSCRIBED, "subscription-terminated"),
        }
    }

    /// Does making its text begin with the evaluation of a selection?
    pub(crate) fn evaluates(&self) -> bool {
        match &self.content {
            Content::Whole(whole) => whole.is_open(),
            Content::Changes { .. }
            | Content::Modified { .. }
            | Content::Suspended { .. }
            | Content::Resumed
            | Content::ReplayCompleted
            | Content::Terminated { .. } => false,
        }
    }

    /// About how many bytes of data it has, as far as that is known without making the text.
    pub(crate) fn weight(&self) -> usize {
        match &self.content {
            Content::Changes { changes, .. } => changes.weight(),
            Content::Whole(whole) => {
                whole.text.get().and_then(|text| text.as_ref().ok()).map_or(0, |text| text.len())
            }
            Content::Modified { terms } => terms.len(),
            Content::Suspended { .. }
            | Content::Resumed
            | Content::ReplayCompleted
            | Content::Terminated { .. } => 0,
        }
    }

    /// The element of the notification.
    pub fn to_xml(&self, schema: &Schema) -> String {
        let (module, name) = self.name();
        let namespace = NAMESPACES.iter().find(|(known, ..)| *known == module).map_or("", |(.., uri)| uri);
        let mut out = format!("<{name} xmlns=\"{namespace}\"><id>{}</id>", self.subscription);
        match &self.content {
            Content::Whole(whole) => match whole.text(schema) {
                Ok(text) => {
                    out.push_str("<datastore-contents>");
                    out.push_str(text);
                    out.push_str("</datastore-contents>");
                    if whole.incomplete {
                        out.push_str("<incomplete-update/>");
                    }
                }
                // What cannot be selected any more is told to be missing.
                Err(_) => out.push_str("<datastore-contents/><incomplete-update/>"),
            },
            Content::Changes { patch_id, changes } => {
                // A String takes everything.
                let _ = write!(out, "<datastore-changes><yang-patch><patch-id>{patch_id}</patch-id>");
                out.push_str(changes.text(schema));
                out.push_str("</yang-patch></datastore-changes>");
            }
            Content::Modified { terms } => out.push_str(terms),
            Content::Suspended { reason } | Content::Terminated { reason } => write_reason(&mut out, reason),
            Content::Resumed | Content::ReplayCompleted => {}
        }
        out.push_str(&format!("</{name}>"));
        out
    }
}

fn write_reason(out: &mut String, identity: &str) {
    let (module, name) = identity.split_once(':').unwrap_or_default();
    if let Some((_, prefix, uri)) = NAMESPACES.iter().find(|(known, ..)| *known == module) {
        out.push_str(&format!("<reason xmlns:{prefix}=\"{uri}\">{prefix}:{name}</reason>"));
    }
}

/// Targets are percent-encoded, so nothing in them is markup.
fn write_edit(out: &mut String, id: usize, edit: &PatchEdit) {
    let (operation, target) = (edit.operation.name(), &edit.target);
    out.push_str(&format!(
        "<edit><edit-id>{id}</edit-id><operation>{operation}</operation><target>{target}</target>"
    ));
    match &edit.place {
        None => {}
        Some(PatchPlace::First) => out.push_str("<where>first</where>"),
        Some(PatchPlace::After(point)) => {
            out.push_str(&format!("<point>{point}</point><where>after</where>"));
        }
    }
    if let Some(value) = &edit.value {
        out.push_str("<value>");
        out.push_str(value);
        out.push_str("</value>");
    }
    out.push_str("</edit>");
}
