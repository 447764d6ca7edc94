//! What is said of a path beside its hops.

use crate::codec::object::{
    AssociationFlags, AssociationV4, AssociationV6, Bandwidth, Ero, Iro, LoadBalancing, Lspa, Metric,
    ObjectiveFunction, Rro, Xro,
};
use crate::codec::{Body, Object, Tlv};
use std::net::IpAddr;

/// A group that an LSP belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Association {
    /// Whether the LSP joins or leaves.
    pub flags: AssociationFlags,
    /// What the group is for.
    pub kind: u16,
    /// Its number.
    pub id: u16,
    /// Who gave the number.
    pub source: IpAddr,
    /// More of its identity, and what is said of it.
    pub tlvs: Vec<Tlv>,
}

/// Constraints of a request, or properties of a path.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Attributes {
    /// What the path is to carry.
    pub bandwidth: Option<Bandwidth>,
    /// What the LSP carries that is to be optimised anew.
    pub existing_bandwidth: Option<Bandwidth>,
    /// Bounds or values.
    pub metrics: Vec<Metric>,
    /// Affinities and priorities.
    pub lspa: Option<Lspa>,
    /// What it is to pass.
    pub include: Option<Iro>,
    /// What it is to avoid.
    pub exclude: Option<Xro>,
    /// What it is to be best at.
    pub objective: Option<ObjectiveFunction>,
    /// Into how many paths it may be split.
    pub load_balancing: Option<LoadBalancing>,
    /// The groups of the LSP.
    pub associations: Vec<Association>,
    /// What is not known, or has no meaning here.
    pub others: Vec<Object>,
}

impl Attributes {
    /// Takes an object. Of what can be there once, the first one counts.
    pub(super) fn take(&mut self, object: &Object) {
        match &object.body {
            Body::Bandwidth(bandwidth) => keep_first(&mut self.bandwidth, bandwidth),
            Body::ExistingBandwidth(bandwidth) => keep_first(&mut self.existing_bandwidth, bandwidth),
            Body::Metric(metric) => self.metrics.push(metric.clone()),
            Body::Lspa(lspa) => keep_first(&mut self.lspa, lspa),
            Body::Iro(include) => keep_first(&mut self.include, include),
            Body::Xro(exclude) => keep_first(&mut self.exclude, exclude),
            Body::ObjectiveFunction(objective) => keep_first(&mut self.objective, objective),
            Body::LoadBalancing(balancing) => keep_first(&mut self.load_balancing, balancing),
            Body::AssociationV4(of) => self.associations.push(Association {
                flags: of.flags,
                kind: of.kind,
                id: of.id,
                source: of.source.into(),
                tlvs: of.tlvs.clone(),
            }),
            Body::AssociationV6(of) => self.associations.push(Association {
                flags: of.flags,
                kind: of.kind,
                id: of.id,
                source: of.source.into(),
                tlvs: of.tlvs.clone(),
            }),
            Body::Open(_)
            | Body::Rp(_)
            | Body::NoPath(_)
            | Body::EndPointsV4(_)
            | Body::EndPointsV6(_)
            | Body::Ero(_)
            | Body::Rro(_)
            | Body::Svec(_)
            | Body::Notification(_)
            | Body::Error(_)
            | Body::Close(_)
            | Body::Lsp(_)
            | Body::Srp(_)
            | Body::VendorInformation(_)
            | Body::Unknown(_) => self.others.push(object.clone()),
        }
    }
}

impl Attributes {
    /// As a request says them, in the order of RFC 5440 section 6.4: each must be met.
    pub fn to_objects(&self) -> Vec<Object> {
        let mut bodies: Vec<Body> = Vec::new();
        bodies.extend(self.lspa.clone().map(Body::Lspa));
        bodies.extend(self.bandwidth.clone().map(Body::Bandwidth));
        bodies.extend(self.metrics.iter().cloned().map(Body::Metric));
        bodies.extend(self.objective.clone().map(Body::ObjectiveFunction));
        bodies.extend(self.existing_bandwidth.clone().map(Body::ExistingBandwidth));
        bodies.extend(self.include.clone().map(Body::Iro));
        bodies.extend(self.load_balancing.clone().map(Body::LoadBalancing));
        bodies.extend(self.exclude.clone().map(Body::Xro));
        let associations = self.associations.iter().cloned().map(Association::into_body);
        let known = bodies.into_iter().chain(associations).map(Object::required);
        known.chain(self.others.iter().cloned()).collect()
    }
}

impl Association {
    fn into_body(self) -> Body {
        let Self { flags, kind, id, source, tlvs } = self;
        match source {
            IpAddr::V4(source) => {
                Body::AssociationV4(AssociationV4 { reserved: 0, flags, kind, id, source, tlvs })
            }
            IpAddr::V6(source) => {
                Body::AssociationV6(AssociationV6 { reserved: 0, flags, kind, id, source, tlvs })
            }
        }
    }
}

fn keep_first<T: Clone>(place: &mut Option<T>, value: &T) {
    place.get_or_insert_with(|| value.clone());
}

/// A path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    /// That is to be taken.
    pub route: Ero,
    /// That is taken.
    pub taken: Option<Rro>,
    /// What it is like.
    pub attributes: Attributes,
}

impl Path {
    pub(super) fn new(route: Ero) -> Self {
        Self { route, taken: None, attributes: Attributes::default() }
    }
}

/// Paths of a reply or report: each begins with its ERO.
pub(super) fn take_path(paths: &mut Vec<Path>, before: &mut Attributes, object: &Object) {
    match (&object.body, paths.last_mut()) {
        (Body::Ero(route), _) => paths.push(Path::new(route.clone())),
        (Body::Rro(taken), Some(path)) => keep_first(&mut path.taken, taken),
        (_, Some(path)) => path.attributes.take(object),
        (_, None) => before.take(object),
    }
}
