//! The services of a configuration, ordered by CS-ID; a clone shares what is equal.

use super::config::ServiceConfig;
use cats_engine_types::CsId;
use cats_yang_tree::map::{Difference, Map};
use std::sync::Arc;

/// Services by their identity.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Services(Map<CsId, Arc<ServiceConfig>>);

impl Services {
    /// The service with this identity.
    pub fn get(&self, cs_id: CsId) -> Option<&Arc<ServiceConfig>> {
        self.0.get(&cs_id)
    }

    /// The service with this identity, to be changed in place.
    pub fn get_mut(&mut self, cs_id: CsId) -> Option<&mut ServiceConfig> {
        self.0.get_mut(&cs_id).map(Arc::make_mut)
    }

    /// Takes a service in, in the place of one with the same identity.
    pub fn insert(&mut self, service: ServiceConfig) {
        self.0.insert(service.cs_id, Arc::new(service));
    }

    /// Takes a service out.
    pub fn remove(&mut self, cs_id: CsId) {
        self.0.remove(&cs_id);
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<ServiceConfig>> {
        self.0.values()
    }

    /// What differs in `new`; what both share is not visited.
    pub(super) fn diff<'a>(
        &'a self,
        new: &'a Self,
    ) -> impl Iterator<Item = Difference<'a, CsId, Arc<ServiceConfig>>> {
        self.0.diff(&new.0)
    }
}

impl FromIterator<ServiceConfig> for Services {
    fn from_iter<I: IntoIterator<Item = ServiceConfig>>(services: I) -> Self {
        Self(services.into_iter().map(|service| (service.cs_id, Arc::new(service))).collect())
    }
}
