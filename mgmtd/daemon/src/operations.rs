//! Operations that are not of this daemon: RPCs and actions that a component carries out.

use cats_mgmtd_core::Request;
use cats_mgmtd_netconf::names::YANG;
use cats_yang_tree::error::{Error, ErrorTag};
use cats_yang_tree::operation::Call;
use cats_yang_tree::schema::Schema;

/// What an operation element asks; none for one that no implemented module has.
pub(crate) fn request(
    schema: &Schema,
    namespace: &str,
    name: &str,
    xml: &str,
) -> Option<Result<Request, Error>> {
    let is_action = namespace == YANG && name == "action";
    let rpc = schema
        .module_by_namespace(namespace)
        .filter(|module| schema.module(*module).implemented)
        .and_then(|module| schema.child(None, module, name));
    if !is_action && rpc.is_none() {
        return None;
    }
    let document = match roxmltree::Document::parse(xml) {
        Ok(document) => document,
        Err(error) => return Some(Err(Error::protocol(ErrorTag::MalformedMessage, error.to_string()))),
    };
    let element = document.root_element();
    let call = match rpc {
        Some(rpc) => Ok(Call::rpc(schema, rpc, element)?),
        None => Call::action(schema, element),
    };
    let asked = |call| Request::Execute(Box::new(call));
    let unknown = || Error::protocol(ErrorTag::BadElement, "<action> leads to no action");
    Some(call.map(asked).map_err(|errors| errors.into_iter().next().unwrap_or_else(unknown)))
}
