//! What services are called.

use super::data::Cursor;
use std::collections::BTreeMap;

/// What a view reads for the names of services.
pub(super) const NAMES: &str = "services/service/name";

/// The names of services by their CS-IDs.
pub(super) struct Names(BTreeMap<String, String>);

impl Names {
    pub(super) fn of(home: Cursor<'_>) -> Self {
        let services = home.down("services").entries("service").into_iter();
        Self(services.filter_map(|service| Some((service.text("cs-id")?, service.text("name")?))).collect())
    }

    /// `1 (video)`.
    pub(super) fn service(&self, cs_id: &str) -> String {
        match self.0.get(cs_id) {
            Some(name) => format!("{cs_id} ({name})"),
            None => cs_id.to_owned(),
        }
    }

    pub(super) fn name(&self, cs_id: &str) -> String {
        self.0.get(cs_id).cloned().unwrap_or_default()
    }
}
