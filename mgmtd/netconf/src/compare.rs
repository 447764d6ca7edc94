//! `compare` of RFC 9144: what would have to be done to one datastore to make it another.

use crate::names::COMPARE;
use crate::nmda::{NmdaDatastore, filter, filter_xml};
use crate::parameters::Parameters;
use crate::reply::escape_text;
use crate::retrieval::Filter;
use crate::rpc::{Operation, operation_not_supported};
use cats_yang_tree::error::{Error, ErrorInfo};

/// `<compare>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compare {
    /// What is to be changed.
    pub source: NmdaDatastore,
    /// What it is to become.
    pub target: NmdaDatastore,
    /// Also what only one of the two can hold.
    pub all: bool,
    /// `subtree-filter` or `xpath-filter`.
    pub filter: Option<Filter>,
}

/// One `edit` of the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// `create`, `delete`, `insert`, `move` or `replace`.
    pub operation: &'static str,
    /// The node, as RFC 8040 names resources.
    pub target: String,
    /// `where`, with the `point` that it takes.
    pub place: Option<(&'static str, Option<String>)>,
    /// The element as it is to be.
    pub value: Option<String>,
    /// The element as it is.
    pub source_value: Option<String>,
}

/// Parses an operation of ietf-nmda-compare; none for a name that it has not.
pub(crate) fn parse(given: &Parameters<'_, '_, '_>, name: &str) -> Result<Option<Operation>, Error> {
    if name != "compare" {
        return Ok(None);
    }
    given.only(&["source", "target", "all", "report-origin", "subtree-filter", "xpath-filter"])?;
    if given.flag("report-origin")? {
        let error = operation_not_supported("compare with report-origin");
        return Err(error.with(ErrorInfo::BadElement("report-origin".to_owned())));
    }
    let compare = Compare {
        source: NmdaDatastore::of(given.required("source")?)?,
        target: NmdaDatastore::of(given.required("target")?)?,
        all: given.flag("all")?,
        filter: filter(given)?,
    };
    Ok(Some(Operation::Compare(Box::new(compare))))
}

impl Compare {
    pub(crate) fn to_xml(&self) -> String {
        let (source, target) = (self.source.to_xml("source"), self.target.to_xml("target"));
        let all = if self.all { "<all/>" } else { "" };
        let filter = filter_xml(self.filter.as_ref());
        format!("<compare xmlns=\"{COMPARE}\">{source}{target}{all}{filter}</compare>")
    }
}

/// The output of `compare`. Absent edits say that the filter matched nothing on either side, and that nothing was
/// compared; an empty list says that there is no difference.
pub fn comparison_xml(edits: Option<&[Edit]>) -> String {
    match edits {
        Some(edits) => differences_xml(COMPARE, edits),
        None => format!("<no-matches xmlns=\"{COMPARE}\"/>"),
    }
}

/// `differences` in the namespace of an operation that answers with them; empty when there are none.
pub fn differences_xml(namespace: &str, edits: &[Edit]) -> String {
    let mut out = format!("<differences xmlns=\"{namespace}\">");
    if !edits.is_empty() {
        out.push_str("<yang-patch><patch-id>differences</patch-id>");
        for (at, edit) in edits.iter().enumerate() {
            edit.write(at + 1, &mut out);
        }
        out.push_str("</yang-patch>");
    }
    out.push_str("</differences>");
    out
}

impl Edit {
    fn write(&self, id: usize, out: &mut String) {
        let target = escape_text(&self.target);
        out.push_str(&format!(
            "<edit><edit-id>{id}</edit-id><operation>{}</operation><target>{target}</target>",
            self.operation
        ));
        if let Some((place, point)) = &self.place {
            if let Some(point) = point {
                out.push_str(&format!("<point>{}</point>", escape_text(point)));
            }
            out.push_str(&format!("<where>{place}</where>"));
        }
        for (name, value) in [("value", &self.value), ("source-value", &self.source_value)] {
            if let Some(value) = value {
                out.push_str(&format!("<{name}>{value}</{name}>"));
            }
        }
        out.push_str("</edit>");
    }
}
