//! What the C-PS tells a forwarder.

use crate::{Binding, FlowKey, RemovalReason, RequestFailure, TransactionId};

/// One instruction of the C-PS to an ingress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Instruction {
    /// Commit both directions, then release the held packets; answered by a
    /// [`BindingStatus`](crate::BindingStatus).
    Install(Box<Binding>),
    /// The flow gets no binding: its held packets are dropped.
    Refuse {
        /// Of the request.
        transaction: TransactionId,
        /// The flow.
        key: FlowKey,
        /// Why.
        failure: RequestFailure,
    },
    /// The binding ends; answered by [`Removed`](crate::BindingEvent::Removed).
    Remove {
        /// Of the binding.
        transaction: TransactionId,
        /// The flow.
        key: FlowKey,
        /// Why.
        reason: RemovalReason,
    },
}
