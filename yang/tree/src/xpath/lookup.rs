//! Entries that predicates name by their keys are looked up. What is found is what may match: the predicates are
//! applied to it all the same, so a look-up never decides more than which entries need not be visited.

use super::compare::is_its_text;
use super::eval::Context;
use super::number;
use super::place::{Content, Evaluation, Place, Slot};
use super::term::{Step, Term, Test};
use super::{Kind, XPathError};
use crate::path::{Key, is_positional};
use crate::schema::{Canonical, Integer, NodeId, NodeKind, Type};
use crate::tree::Data;
use crate::value::Value;
use std::sync::Arc;

/// More combinations of key values than this are not looked up one by one.
const MAX_COMBINATIONS: usize = 64;
/// Up to here each integer is one number of its own.
const EXACT: f64 = 9_007_199_254_740_992.0;

impl<'t> Evaluation<'t> {
    /// The entries that a step with predicates for all keys may lead to, in document order; none when it has to
    /// look for them.
    pub(super) fn looked_up(
        &mut self,
        from: Place,
        step: &Step,
        context: Context<'_>,
    ) -> Result<Option<Vec<Place>>, XPathError> {
        let (false, Test::Name(named)) = (step.keys.is_empty(), &step.test) else { return Ok(None) };
        let mut nodes = named.below(self.node(from));
        let (Some(list), None) = (nodes.next(), nodes.next()) else { return Ok(None) };
        if !self.is_stored_list(from, list) || !self.sees(list) {
            return Ok(None);
        }
        let schema = self.schema;
        let mut combinations: Vec<Vec<Value>> = vec![Vec::new()];
        let own = [list];
        let (keys, itself) = match schema.node(list).kind {
            NodeKind::LeafList { .. } => (&own[..], true),
            _ => (schema.list_keys(list), false),
        };
        if keys.is_empty() {
            return Ok(None);
        }
        for key in keys {
            let term = step.keys.iter().find(|term| match &term.key {
                None => itself,
                // A name without prefix may also be that of a leaf of another module.
                Some(named) => !itself && named.below(Some(list)).eq([*key]),
            });
            let Some(term) = term else { return Ok(None) };
            let Some(values) = self.key_values(*key, &term.operand, context)? else { return Ok(None) };
            if combinations.len() * values.len() > MAX_COMBINATIONS {
                return Ok(None);
            }
            let with = |before: &Vec<Value>, value: &Value| {
                before.iter().chain([value]).cloned().collect::<Vec<Value>>()
            };
            combinations = combinations
                .iter()
                .flat_map(|before| values.iter().map(move |value| with(before, value)))
                .collect();
        }
        let mut found = Vec::new();
        for values in combinations {
            self.spend(1)?;
            found.extend(self.entry(from, list, &Key::new(values)));
        }
        self.put_in_order(&mut found)?;
        Ok(Some(found))
    }

    /// Is `node` a list or leaf-list of which there are entries below `from` that have keys?
    pub(super) fn is_stored_list(&self, from: Place, node: NodeId) -> bool {
        let Content::Branch(branch) = self.spot(from).content else { return false };
        matches!(branch.get(node), Some(Data::List(_) | Data::LeafList(_)))
    }

    fn entry(&mut self, from: Place, list: NodeId, key: &Key) -> Option<Place> {
        let Content::Branch(branch) = self.spot(from).content else { return None };
        let (key, content) = match branch.get(list)? {
            Data::List(entries) => {
                let (key, entry) = entries.get_key_value(key)?;
                (key, Content::Branch(entry))
            }
            Data::LeafList(entries) => {
                let (key, value) = entries.get_key_value(key)?;
                (key, Content::Value(value))
            }
            Data::Leaf(_) | Data::Container(_) | Data::Any(_) => return None,
        };
        Some(self.push(from, list, Slot::Entry(key), content))
    }

    /// The values of `key` that equal the operand; none when that cannot be said.
    fn key_values(
        &mut self,
        key: NodeId,
        operand: &Term,
        context: Context<'_>,
    ) -> Result<Option<Vec<Value>>, XPathError> {
        let schema = self.schema;
        if schema.list_keys(key).is_empty() && is_positional(schema, key) {
            return Ok(None);
        }
        let Some(ty) = schema.leaf_type(key).map(|ty| real(&ty.base)) else { return Ok(None) };
        match operand.kind() {
            Kind::String => {
                let text = self.string_of(operand, context)?;
                if let Type::String { canonical: Canonical::Text, .. } = ty {
                    return Ok(Some(vec![Value::String(Arc::from(&*text))]));
                }
                Ok(match context.scope.value(schema, key, &text) {
                    Some(value) => Some(vec![value]),
                    // What names nothing here may still be the text of an entry.
                    None => (is_its_text(ty) || is_plain(ty)).then(Vec::new),
                })
            }
            Kind::Number => {
                let number = self.number_of(operand, context)?;
                let Type::Integer { .. } = ty else { return Ok(None) };
                if number.abs() >= EXACT {
                    return Ok(None);
                }
                Ok(Some(context.scope.value(schema, key, &number::text(number)).into_iter().collect()))
            }
            Kind::Nodes => self.key_values_of_nodes(key, ty, operand, context),
            Kind::Boolean => Ok(None),
        }
    }

    fn key_values_of_nodes(
        &mut self,
        key: NodeId,
        ty: &Type,
        operand: &Term,
        context: Context<'_>,
    ) -> Result<Option<Vec<Value>>, XPathError> {
        let schema = self.schema;
        if let Type::Union(_) = ty {
            return Ok(None);
        }
        let places = self.nodes_of(operand, context)?;
        if places.len() > MAX_COMBINATIONS {
            return Ok(None);
        }
        let mut values = Vec::new();
        for place in places {
            if let Content::Value(value) = self.spot(place).content
                && is_of(ty, value)
            {
                values.push(value.clone());
                continue;
            }
            // Nodes compare by their texts, in which modules stand for prefixes.
            let text = self.text_at(place)?;
            let module = schema.node(key).module;
            let read = schema.leaf_type(key).and_then(|ty| Value::parse_text(schema, ty, module, &text).ok());
            values.extend(read.filter(|value| value.to_string() == *text));
        }
        values.sort();
        values.dedup();
        Ok(Some(values))
    }
}

fn real(ty: &Type) -> &Type {
    match ty {
        Type::Leafref { real: target, .. } => real(&target.base),
        _ => ty,
    }
}

/// Does no name that a prefix could change stand in a value of the type?
fn is_plain(ty: &Type) -> bool {
    match ty {
        Type::Binary { .. } | Type::Bits(_) | Type::Decimal64 { .. } | Type::Integer { .. } => true,
        Type::String { canonical, .. } => *canonical != Canonical::XPath,
        Type::Boolean
        | Type::Empty
        | Type::Enumeration(_)
        | Type::Identityref { .. }
        | Type::InstanceIdentifier { .. }
        | Type::Leafref { .. }
        | Type::Union(_) => false,
    }
}

/// Is `value` of the kind that the type has, so that the same value is the same text and no other is?
fn is_of(ty: &Type, value: &Value) -> bool {
    match (ty, value) {
        (Type::Integer { kind, .. }, _) => match kind {
            Integer::I8 | Integer::I16 | Integer::I32 => matches!(value, Value::Int32(_)),
            Integer::U8 | Integer::U16 | Integer::U32 => matches!(value, Value::Uint32(_)),
            Integer::I64 => matches!(value, Value::Int64(_)),
            Integer::U64 => matches!(value, Value::Uint64(_)),
        },
        (Type::Boolean, Value::Bool(_))
        | (Type::Enumeration(_), Value::Enum(_))
        | (Type::Bits(_), Value::Bits(_))
        | (Type::Identityref { .. }, Value::Identity(_))
        | (Type::InstanceIdentifier { .. }, Value::Instance(_))
        | (Type::Binary { .. }, Value::Binary(_)) => true,
        (Type::String { canonical, .. }, Value::String(_)) => *canonical != Canonical::XPath,
        _ => false,
    }
}
