//! The bound of bindings: the kernel's, in the sizes of their maps.

use super::{FAMILIES, NftBackend, family_number, refused};
use crate::netlink::{attribute, attributes};
use crate::nft::encode;
use crate::nft::ruleset::{self, Shape};
use crate::nft::{Batch, CREATE, sets};
use cats_datapath_core::{BackendError, ForwarderConfig};

const DESCRIPTION: u16 = 9;
const DESCRIPTION_SIZE: u16 = 1;
const EXPRESSIONS: u16 = 18;

impl NftBackend {
    /// Brings the bound to the configuration; in words what came of it, if it is another one. A lower one ends no
    /// flow.
    pub(super) fn apply_limit(&mut self, config: &ForwarderConfig) -> Result<Option<String>, BackendError> {
        let Some(wanted) = config.ingress.as_ref().map(|ingress| ingress.flow_limit) else { return Ok(None) };
        if wanted != self.limit {
            self.resize(wanted)?;
            self.read_limit()?;
        }
        let told = format!(
            "flow limit {wanted}: this kernel cannot resize the maps of bindings, which hold {}; another limit takes \
             effect once the table cats is deleted and made anew, which ends all flows",
            self.limit
        );
        Ok((wanted != self.limit).then_some(told))
    }

    /// A kernel before 6.5 leaves the maps as they are, and says nothing.
    fn resize(&mut self, limit: u32) -> Result<(), BackendError> {
        let mut batch = Batch::begin(&mut self.nft);
        for shape in FAMILIES.map(Shape::of) {
            for (id, spec) in (1..).zip(sets::bindings(shape, limit, self.counted)) {
                batch.add(encode::NEWSET, CREATE, shape.family, |e| {
                    encode::set(e, ruleset::TABLE, &spec, id);
                });
            }
        }
        let failures = batch.commit().map_err(|error| refused("sizes of maps", &error))?;
        if let Some(failure) = failures.first() {
            tracing::debug!(error = %failure.error(), limit, "maps not resized");
        }
        Ok(())
    }

    /// What the table was made with, or resized to.
    pub(super) fn read_limit(&mut self) -> Result<(), BackendError> {
        for family in FAMILIES.map(family_number) {
            let found = self.nft.ask(
                encode::GETSET,
                |e| {
                    e.put(&[family, 0, 0, 0]);
                    e.attr_text(1, ruleset::TABLE);
                    e.attr_text(2, "reverse");
                },
                |message| {
                    let body = message.body.get(4..)?;
                    let size = attribute(attribute(body, DESCRIPTION)?, DESCRIPTION_SIZE)?;
                    let size = u32::from_be_bytes(size.try_into().ok()?);
                    Some((size, attributes(body).any(|(kind, _)| kind == EXPRESSIONS)))
                },
            );
            let found = found.map_err(|error| refused("map reverse", &error))?;
            let Some((limit, counted)) = found else {
                return Err(BackendError::Unreadable { what: "map reverse", offset: 0 });
            };
            (self.limit, self.counted) = (limit, counted);
        }
        Ok(())
    }
}
