//! Operations that the engine carries out.
//!
//! Each is a call of its own beside the stream of commits, and could overtake these. So it is made when the engine has
//! answered what it was sent before: an operation sees the configuration that was committed before it.

use super::error_of;
use crate::hub::{HubSender, Input};
use cats_engine_wire::management::management_client::ManagementClient;
use cats_engine_wire::management::{ExecuteRequest, execute_reply};
use cats_engine_wire::{MAX_INPUT, MAX_OUTPUT};
use cats_mgmtd_core::{EXECUTE_TIMEOUT, Ticket};
use cats_yang_tree::error::{Error, ErrorTag};
use std::collections::VecDeque;
use tonic::Code;
use tonic::transport::Channel;

/// An operation as it is asked for.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) ticket: Ticket,
    pub(super) operation: String,
    pub(super) input: String,
}

/// What was sent on the stream and what was answered there, in that order. What waits is bounded, as the core asks for
/// so many operations at a time.
#[derive(Debug, Default)]
pub(super) struct Order {
    sent: u64,
    answered: u64,
    waiting: VecDeque<(u64, Asked)>,
}

impl Order {
    /// Something was sent that is answered once.
    pub(super) fn sent(&mut self) {
        self.sent += 1;
    }

    /// The next answer has come.
    pub(super) fn answered(&mut self) {
        self.answered += 1;
    }

    /// Behind what was sent so far.
    pub(super) fn wait(&mut self, asked: Asked) {
        self.waiting.push_back((self.sent, asked));
    }

    /// The next one whose time has come.
    pub(super) fn next(&mut self) -> Option<Asked> {
        let (after, _) = self.waiting.front()?;
        if *after > self.answered {
            return None;
        }
        self.waiting.pop_front().map(|(_, asked)| asked)
    }
}

/// Has the engine carry it out, and tells the hub. The core has given up waiting after the time-out.
pub(super) async fn execute(client: ManagementClient<Channel>, asked: Asked, hub: HubSender) {
    let Asked { ticket, operation, input } = asked;
    let called = call(client, operation, input);
    let Ok(result) = tokio::time::timeout(EXECUTE_TIMEOUT, called).await else { return };
    // A hub that is gone needs no answer.
    let _ = hub.send(Input::Executed { ticket, result }).await;
}

type Answer = Result<Vec<u8>, Vec<Error>>;

async fn call(client: ManagementClient<Channel>, operation: String, input: String) -> Answer {
    if input.len() > MAX_INPUT {
        let message =
            format!("the input has {} bytes, at most {MAX_INPUT} are accepted: ask for less", input.len());
        return Err(vec![Error::application(ErrorTag::TooBig, message)]);
    }
    // An output that is too big is an error of the engine's, which is longer by its frame only.
    let mut client = client.max_decoding_message_size(2 * MAX_OUTPUT);
    let request = ExecuteRequest { operation, input: input.into_bytes() };
    let reply = client.execute(request).await.map_err(|status| {
        let message = match status.code() {
            Code::Unimplemented => {
                "the engine carries no operations out: start the cats-engined of this release"
            }
            _ => status.message(),
        };
        let message = format!("the engine did not carry the operation out: {message}");
        vec![Error::application(ErrorTag::OperationFailed, message)]
    })?;
    match reply.into_inner().result {
        Some(execute_reply::Result::Output(output)) => Ok(output),
        Some(execute_reply::Result::Errors(errors)) if !errors.errors.is_empty() => {
            Err(errors.errors.into_iter().map(error_of).collect())
        }
        Some(execute_reply::Result::Errors(_)) | None => {
            let message = "the engine answered neither an output nor an error: see its log";
            Err(vec![Error::application(ErrorTag::OperationFailed, message)])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(ticket: u64) -> Asked {
        Asked { ticket: Ticket(ticket), operation: String::new(), input: String::new() }
    }

    fn next(order: &mut Order) -> Option<u64> {
        order.next().map(|asked| asked.ticket.0)
    }

    #[test]
    fn an_operation_waits_for_the_answers_to_what_was_sent_before_it_and_for_no_others() {
        let mut order = Order::default();
        order.wait(asked(1));
        assert_eq!(next(&mut order), Some(1), "nothing was sent");
        order.sent();
        order.wait(asked(2));
        order.sent();
        order.wait(asked(3));
        assert_eq!(next(&mut order), None);
        order.answered();
        assert_eq!((next(&mut order), next(&mut order)), (Some(2), None), "the second answer is not there");
        order.answered();
        assert_eq!(next(&mut order), Some(3));
    }
}
