//! The functions of YANG (RFC 7950 section 10), `current()` aside.

use super::eval::Context;
use super::place::{Content, Evaluation, Place};
use super::term::{Call, Term};
use super::{Expr, XPathError, parse};
use crate::path::InstancePath;
use crate::schema::{IdentityId, Named, NodeId, Schema, Type};
use crate::value::Value;

impl<'t> Evaluation<'t> {
    pub(super) fn re_match(
        &mut self,
        call: &Call,
        text: &Term,
        pattern: &Term,
        context: Context<'_>,
    ) -> Result<bool, XPathError> {
        let text = self.string_of(text, context)?;
        if let Some(known) = &call.pattern {
            self.spend_matching(&text, known.as_str())?;
            return Ok(known.is_match(&text));
        }
        let pattern = self.string_of(pattern, context)?;
        // Translating a pattern takes as long as a walk over some hundred nodes.
        self.spend(200 + pattern.len() as u64)?;
        self.spend_matching(&text, &pattern)?;
        Ok(parse::pattern(call.at, &pattern)?.is_match(&text))
    }

    /// Matching takes at worst the product of both lengths.
    fn spend_matching(&mut self, text: &str, pattern: &str) -> Result<(), XPathError> {
        self.spend(text.len() as u64 * (16 + pattern.len() as u64) / 1024)
    }

    /// The nodes that the first node refers to, if it is a leafref or an instance-identifier.
    pub(super) fn deref(&mut self, nodes: &Term, context: Context<'_>) -> Result<Vec<Place>, XPathError> {
        let Some(place) = self.first(nodes, context)? else { return Ok(Vec::new()) };
        let spot = self.spot(place);
        let Content::Value(value) = spot.content else { return Ok(Vec::new()) };
        let schema = self.schema;
        match (schema.leaf_type(spot.node).map(|ty| &ty.base), value) {
            (Some(Type::Leafref { path, .. }), _) => {
                self.spend(path.text.len() as u64)?;
                let path = Expr::of_expression(schema, path)?;
                let context = Context::new(place, &path.scope).at_depth(context.depth);
                let mut found = Vec::new();
                for target in self.nodes_of(&path.term, context)? {
                    if matches!(self.spot(target).content, Content::Value(other) if other == value) {
                        found.push(target);
                    }
                }
                Ok(found)
            }
            (Some(Type::InstanceIdentifier { .. } | Type::Union(_)), Value::Instance(text)) => {
                let path = InstancePath::parse(schema, text).ok();
                let seen = path.filter(|path| path.steps.iter().all(|step| self.sees(step.node)));
                Ok(seen.and_then(|path| self.place(&path)).into_iter().collect())
            }
            _ => Ok(Vec::new()),
        }
    }

    pub(super) fn derived_from(
        &mut self,
        call: &Call,
        nodes: &Term,
        identity: &Term,
        context: Context<'_>,
        or_self: bool,
    ) -> Result<bool, XPathError> {
        let schema = self.schema;
        let text = self.string_of(identity, context)?;
        let (prefix, name) = match text.split_once(':') {
            Some((prefix, name)) => (Some(prefix), name),
            None => (None, &*text),
        };
        // Without a prefix the module may be that of the leaf.
        let mut known: Option<(NodeId, IdentityId)> = None;
        self.some_node(nodes, context, &mut |evaluation, place| {
            let spot = evaluation.spot(place);
            let Content::Value(Value::Identity(value)) = spot.content else { return Ok(false) };
            let wanted = match known {
                Some((node, wanted)) if node == spot.node => wanted,
                _ => {
                    let module = context.scope.module_of_value(schema, Some(spot.node), prefix);
                    let found = module.and_then(|module| schema.identity_by_name(module, name));
                    let unknown =
                        || XPathError::Identity { at: call.at, identity: text.clone().into_owned() };
                    found.ok_or_else(unknown)?
                }
            };
            known = Some((spot.node, wanted));
            let Some(own) = identity_of(schema, value) else { return Ok(false) };
            Ok(or_self && own == wanted || schema.identity(own).ancestors.contains(&wanted))
        })
    }

    /// The number of the enum that the first node is; NaN for anything else.
    pub(super) fn enum_value(&mut self, nodes: &Term, context: Context<'_>) -> Result<f64, XPathError> {
        let Some(place) = self.first(nodes, context)? else { return Ok(f64::NAN) };
        let spot = self.spot(place);
        let Content::Value(Value::Enum(name)) = spot.content else { return Ok(f64::NAN) };
        let ty = self.schema.leaf_type(spot.node);
        let found = ty.and_then(|ty| enum_named(&ty.base, name));
        Ok(found.map_or(f64::NAN, |named| named.value as f64))
    }

    pub(super) fn bit_is_set(
        &mut self,
        nodes: &Term,
        bit: &Term,
        context: Context<'_>,
    ) -> Result<bool, XPathError> {
        let bit = self.string_of(bit, context)?;
        let Some(place) = self.first(nodes, context)? else { return Ok(false) };
        let Content::Value(Value::Bits(bits)) = self.spot(place).content else { return Ok(false) };
        Ok(bits.split(' ').any(|set| set == bit))
    }
}

fn identity_of(schema: &Schema, value: &str) -> Option<IdentityId> {
    let (module, name) = value.split_once(':')?;
    schema.identity_by_name(schema.module_by_name(module)?, name)
}

fn enum_named<'s>(ty: &'s Type, name: &str) -> Option<&'s Named> {
    match ty {
        Type::Enumeration(names) => names.iter().find(|named| named.name == name),
        Type::Leafref { real, .. } => enum_named(&real.base, name),
        Type::Union(members) => members.iter().find_map(|member| enum_named(&member.base, name)),
        Type::Binary { .. }
        | Type::Bits(_)
        | Type::Boolean
        | Type::Decimal64 { .. }
        | Type::Empty
        | Type::Identityref { .. }
        | Type::InstanceIdentifier { .. }
        | Type::Integer { .. }
        | Type::String { .. } => None,
    }
}
