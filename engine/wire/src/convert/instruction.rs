//! What the C-PS tells a forwarder.

use super::binding::{encode_reason, reason};
use super::{DecodeError, Decoded, Problem, fault, required, within};
use crate::control_plane as pb;
use cats_engine_types::Instruction;

impl From<&Instruction> for pb::Instruction {
    fn from(word: &Instruction) -> Self {
        use pb::instruction::Instruction as Wire;
        let instruction = match word {
            Instruction::Install(binding) => Wire::Install(binding.as_ref().into()),
            Instruction::Refuse { transaction, key, failure } => Wire::Refuse(pb::Refusal {
                transaction: Some(transaction.into()),
                key: Some(key.into()),
                failure: Some(failure.into()),
            }),
            Instruction::Remove { transaction, key, reason } => Wire::Remove(pb::Removal {
                transaction: Some(transaction.into()),
                key: Some(key.into()),
                reason: encode_reason(*reason).into(),
            }),
        };
        Self { instruction: Some(instruction) }
    }
}

impl TryFrom<pb::Instruction> for Instruction {
    type Error = DecodeError;

    fn try_from(message: pb::Instruction) -> Decoded<Self> {
        use pb::instruction::Instruction as Wire;
        match message.instruction.ok_or_else(|| fault("instruction", Problem::Missing))? {
            Wire::Install(binding) => Ok(Self::Install(Box::new(within("install", binding)?))),
            Wire::Refuse(refusal) => Ok(Self::Refuse {
                transaction: required("refuse.transaction", refusal.transaction)?,
                key: required("refuse.key", refusal.key)?,
                failure: required("refuse.failure", refusal.failure)?,
            }),
            Wire::Remove(removal) => Ok(Self::Remove {
                transaction: required("remove.transaction", removal.transaction)?,
                key: required("remove.key", removal.key)?,
                reason: reason(removal.reason)?,
            }),
        }
    }
}
