//! XML in and out (RFC 7950, RFC 6241).

use crate::error::Error;

/// Elements may nest this deep.
pub const MAX_DEPTH: usize = 256;

/// Parses a document after a linear scan that refuses what nests deeper than [`MAX_DEPTH`], so that the recursive
/// parser behind it cannot run out of stack. Document types are refused.
///
/// # Errors
/// `too-big` for depth, `malformed-message` (type rpc) for everything else.
pub fn parse(text: &str) -> Result<roxmltree::Document<'_>, Error> {
    let _ = text;
    todo!()
}
