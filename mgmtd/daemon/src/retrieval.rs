//! What a request reads: from the words of NETCONF to those of the core.

use cats_mgmtd_core::{
    Compare, DefaultOperation, Filter, GivenIn, NmdaDatastore, Request, Selection, Subscribe,
};
use cats_mgmtd_netconf::{self as netconf, GetData, WithDefaults, names};
use cats_yang_tree::diff::{PatchEdit, PatchPlace};
use cats_yang_tree::error::{Error, ErrorInfo, ErrorTag};
use cats_yang_tree::schema::{IdentityId, Schema};
use cats_yang_tree::{Defaults, Origin, Origins};

/// The namespace of the identities of origins.
const ORIGIN: &str = "urn:ietf:params:xml:ns:yang:ietf-origin";

/// A filter that is longer, in bytes, is read each time.
const KEPT: usize = 4 << 10;

/// The filters of a session, read by the schema. The last one is kept: who polls asks with it again.
#[derive(Debug, Default)]
pub(crate) struct Filters {
    last: Option<Box<(netconf::Filter, GivenIn, Filter)>>,
}

/// What `get` and `get-config` want.
pub(crate) fn selection(
    filter: Option<netconf::Filter>,
    with_defaults: Option<WithDefaults>,
    schema: &Schema,
    filters: &mut Filters,
) -> Result<Selection, Error> {
    let filter = filter.map(|filter| filters.read(filter, GivenIn::Filter, schema)).transpose()?;
    let defaults = with_defaults.map(defaults).unwrap_or_default();
    Ok(Selection { filter, defaults, ..Selection::default() })
}

/// `get-data`. Without `with-defaults`, `<operational>` shows the defaults in use, as it is what the node works by
/// (RFC 8342 section 5.3), and the others show what was set.
pub(crate) fn get_data(get: GetData, schema: &Schema, filters: &mut Filters) -> Result<Request, Error> {
    let mode = match get.datastore {
        netconf::NmdaDatastore::Operational => Defaults::ReportAll,
        netconf::NmdaDatastore::Running
        | netconf::NmdaDatastore::Candidate
        | netconf::NmdaDatastore::Intended => Defaults::Explicit,
    };
    let selection = Selection {
        filter: get.filter.map(|filter| filters.read(filter, GivenIn::XPathFilter, schema)).transpose()?,
        config: get.config,
        origins: get.origins.map(|origins| self::origins(&origins, schema)).transpose()?,
        depth: get.max_depth,
        with_origin: get.with_origin,
        defaults: get.with_defaults.map_or(mode, defaults),
    };
    Ok(Request::GetData { datastore: datastore(get.datastore), selection })
}

/// `compare`.
pub(crate) fn compare(
    compare: netconf::Compare,
    schema: &Schema,
    filters: &mut Filters,
) -> Result<Request, Error> {
    Ok(Request::Compare(Compare {
        source: datastore(compare.source),
        target: datastore(compare.target),
        all: compare.all,
        filter: compare
            .filter
            .map(|filter| filters.read(filter, GivenIn::XPathFilter, schema))
            .transpose()?,
    }))
}

/// `create-subscription`.
pub(crate) fn subscribe(wanted: netconf::CreateSubscription, schema: &Schema) -> Result<Subscribe, Error> {
    let read = |filter| match filter {
        netconf::Filter::Subtree(element) => Filter::subtree(schema, element.as_str()),
        netconf::Filter::XPath { select, namespaces } => {
            Filter::of_notices(schema, GivenIn::Filter, select, namespaces)
        }
    };
    let netconf::CreateSubscription { stream, filter, start_us, stop_us } = wanted;
    Ok(Subscribe { stream, filter: filter.map(read).transpose()?, start_us, stop_us })
}

/// An edit of the answer to `compare`.
pub(crate) fn patch_edit(edit: PatchEdit) -> netconf::Edit {
    let place = edit.place.map(|place| match place {
        PatchPlace::First => ("first", None),
        PatchPlace::After(point) => ("after", Some(point)),
    });
    netconf::Edit {
        operation: edit.operation.name(),
        target: edit.target,
        place,
        value: edit.value,
        source_value: edit.source_value,
    }
}

pub(crate) fn datastore(datastore: netconf::NmdaDatastore) -> NmdaDatastore {
    match datastore {
        netconf::NmdaDatastore::Running => NmdaDatastore::Running,
        netconf::NmdaDatastore::Candidate => NmdaDatastore::Candidate,
        netconf::NmdaDatastore::Intended => NmdaDatastore::Intended,
        netconf::NmdaDatastore::Operational => NmdaDatastore::Operational,
    }
}

pub(crate) fn defaults(mode: WithDefaults) -> Defaults {
    match mode {
        WithDefaults::ReportAll => Defaults::ReportAll,
        WithDefaults::ReportAllTagged => Defaults::ReportAllTagged,
        WithDefaults::Trim => Defaults::Trim,
        WithDefaults::Explicit => Defaults::Explicit,
    }
}

pub(crate) fn default_operation(operation: netconf::DefaultOperation) -> DefaultOperation {
    match operation {
        netconf::DefaultOperation::Merge => DefaultOperation::Merge,
        netconf::DefaultOperation::Replace => DefaultOperation::Replace,
        netconf::DefaultOperation::None => DefaultOperation::None,
    }
}

impl Filters {
    fn read(&mut self, filter: netconf::Filter, given_in: GivenIn, schema: &Schema) -> Result<Filter, Error> {
        if let Some((last, last_in, read)) = self.last.as_deref()
            && (last, *last_in) == (&filter, given_in)
        {
            return Ok(read.clone());
        }
        let read = match &filter {
            netconf::Filter::Subtree(element) => Filter::subtree(schema, element.as_str()),
            netconf::Filter::XPath { select, namespaces } => {
                Filter::xpath(schema, given_in, select.clone(), namespaces.clone())
            }
        }?;
        self.last = (length(&filter) <= KEPT).then(|| Box::new((filter, given_in, read.clone())));
        Ok(read)
    }
}

fn length(filter: &netconf::Filter) -> usize {
    match filter {
        netconf::Filter::Subtree(element) => element.as_str().len(),
        netconf::Filter::XPath { select, namespaces } => {
            select.len() + namespaces.iter().map(|(prefix, uri)| prefix.len() + uri.len()).sum::<usize>()
        }
    }
}

/// The origins that are derived from, or are, one of those that are asked for.
fn origins(asked: &netconf::OriginFilter, schema: &Schema) -> Result<Origins, Error> {
    let identity = |namespace: &str, name: &str| {
        let module = schema.module_by_namespace(namespace)?;
        schema.identity_by_name(module, name)
    };
    let base = identity(ORIGIN, "origin");
    let mut wanted = Origins::default();
    for (namespace, name) in &asked.identities {
        let found = identity(namespace, name).filter(|id| derived(schema, Some(*id), base));
        let Some(found) = found else {
            let element = asked.element();
            let message =
                format!("'{name}' of '{namespace}' is no origin: see the identities of ietf-origin");
            return Err(Error::protocol(ErrorTag::InvalidValue, message)
                .with(ErrorInfo::BadElement(element.to_owned())));
        };
        let is = |origin: Origin| derived(schema, identity(ORIGIN, origin.name()), Some(found));
        wanted = wanted.or(Origins {
            intended: is(Origin::Intended),
            default: is(Origin::Default),
            system: is(Origin::System),
        });
    }
    Ok(if asked.negated { wanted.negated() } else { wanted })
}

fn derived(schema: &Schema, identity: Option<IdentityId>, from: Option<IdentityId>) -> bool {
    let (Some(identity), Some(from)) = (identity, from) else { return false };
    identity == from || schema.identity(identity).ancestors.contains(&from)
}

/// The capabilities of RFC 6243 section 4.3 and RFC 8526 section 3.1.1.2.
pub(crate) fn with_defaults_capabilities() -> [String; 2] {
    let modes = [WithDefaults::ReportAll, WithDefaults::ReportAllTagged, WithDefaults::Trim];
    let also = modes.map(WithDefaults::name).join(",");
    let basic = WithDefaults::Explicit.name();
    [
        format!("{}?basic-mode={basic}&also-supported={also}", names::WITH_DEFAULTS_1_0),
        names::WITH_OPERATIONAL_DEFAULTS_1_0.to_owned(),
    ]
}
