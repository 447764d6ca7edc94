//! All instances of a schema node, for those who ask a condition at each.

use super::axes::deeper;
use super::place::{Evaluation, Place, Verdict};
use super::{Budget, XPathError};
use crate::schema::NodeId;

impl<'t> Evaluation<'t> {
    /// Calls `see` with each node of the tree, as far as it is seen, that `chain` leads to from `from`, one level of
    /// data each, in document order; with `from` itself when the chain is empty. No budget is taken for the way.
    ///
    /// # Errors
    /// The first of `see`, or of a `when` on what exists without being stored.
    pub(crate) fn each(
        &mut self,
        from: Place,
        chain: &[NodeId],
        see: &mut dyn FnMut(&mut Self, Place) -> Result<(), XPathError>,
    ) -> Result<(), XPathError> {
        let Some((node, below)) = chain.split_first() else { return see(self, from) };
        self.budget = Budget::new(u64::MAX);
        self.instances(from, *node, deeper(0)?, &mut |evaluation, place| {
            evaluation.each(place, below, see)?;
            evaluation.budget = Budget::new(u64::MAX);
            Ok(Verdict::Drop)
        })?;
        Ok(())
    }
}
