//! RPCs and actions that a component carries out: they are judged here, and so is what it answers.
//!
//! Nothing waits for a component but the session that asked, and that for a bounded time.

use crate::core::Core;
use crate::output::{Event, Output};
use crate::state::holds_state;
use crate::types::{ComponentId, Now, Reply, SessionId, Ticket};
use cats_yang_tree::error::{Error, ErrorTag};
use cats_yang_tree::operation::Call;
use cats_yang_tree::schema::Schema;
use cats_yang_tree::{InstancePath, Tree};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How long a component may take for an operation.
pub const EXECUTE_TIMEOUT: Duration = Duration::from_secs(10);

/// So many operations are under way at a time, each of another session.
pub const MOST_EXECUTIONS: usize = 16;

/// What a component answered, to be read by whoever answers the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Executed {
    call: Call,
    /// The data that the operation was called with.
    tree: Tree,
    output: Vec<u8>,
}

impl Executed {
    pub(crate) fn of(call: Call, tree: Tree, output: Vec<u8>) -> Self {
        Self { call, tree, output }
    }

    /// The output parameters as XML elements.
    ///
    /// # Errors
    /// When the component answered what the schema does not allow, which is a bug of ours.
    pub fn to_xml(&self, schema: &Schema) -> Result<String, Vec<Error>> {
        Ok(self.call.answered(schema, &self.tree, &self.output)?.to_xml(schema))
    }

    /// The name of the operation, for logs.
    pub fn operation<'s>(&self, schema: &'s Schema) -> &'s str {
        &schema.node(self.call.operation()).name
    }
}

/// An operation under way.
#[derive(Debug, Clone)]
struct Execution {
    session: SessionId,
    component: ComponentId,
    call: Call,
    stage: Stage,
    deadline: Instant,
}

#[derive(Debug, Clone)]
enum Stage {
    /// The component is asked whether it has what an action is invoked on.
    Locating,
    /// It is at it; with the data that the operation was called with.
    Running(Tree),
}

/// All of them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Executions {
    waiting: BTreeMap<Ticket, Execution>,
}

type Answers = Vec<(SessionId, Result<Reply, Vec<Error>>)>;

impl Executions {
    pub(crate) fn forget(&mut self, session: SessionId) {
        self.waiting.retain(|_, execution| execution.session != session);
    }

    pub(crate) fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        self.waiting.values().map(|execution| (execution.deadline, "operation")).min_by_key(|(due, _)| *due)
    }

    pub(crate) fn expired(&mut self, now: Instant) -> Answers {
        let seconds = EXECUTE_TIMEOUT.as_secs();
        let message = format!(
            "the engine did not answer within {seconds} s, and may carry the operation out all the same: look at its \
             state and its log before a retry"
        );
        self.fail(|execution| execution.deadline <= now, &message)
    }

    pub(crate) fn lost(&mut self, component: ComponentId) -> Answers {
        let message = "the connection to the engine was lost, and it may have carried the operation out: look at its \
                       state before a retry";
        self.fail(|execution| execution.component == component, message)
    }

    fn fail(&mut self, which: impl Fn(&Execution) -> bool, message: &str) -> Answers {
        let failed = self.waiting.extract_if(.., |_, execution| which(execution));
        let error = || vec![Error::application(ErrorTag::OperationFailed, message)];
        failed.map(|(_, execution)| (execution.session, Err(error()))).collect()
    }
}

impl Core {
    /// Has a component carry an operation out.
    pub(crate) fn execute(
        &mut self,
        session: SessionId,
        call: Call,
        now: Now,
    ) -> Result<Option<Reply>, Vec<Error>> {
        let Some(component) = self.components.any() else {
            let message = "the engine, which carries this operation out, is not connected: start cats-engined, and \
                           see the alarms";
            return Err(vec![Error::application(ErrorTag::OperationFailed, message)]);
        };
        if self.executions.waiting.len() >= MOST_EXECUTIONS {
            let message =
                format!("{MOST_EXECUTIONS} operations are under way, which is the most: try again later");
            return Err(vec![Error::application(ErrorTag::ResourceDenied, message)]);
        }
        let ticket = self.ticket();
        let deadline = now.instant + EXECUTE_TIMEOUT;
        let execution = Execution { session, component, call, stage: Stage::Locating, deadline };
        match self.place_of_state(&execution.call) {
            Some(place) => {
                let paths = vec![place.render(&self.facts.schema).0];
                self.executions.waiting.insert(ticket, execution);
                self.outputs.push_back(Output::ReadState { ticket, component, paths });
            }
            None => self.run(ticket, execution, self.running.clone())?,
        }
        Ok(None)
    }

    /// What an action is invoked on, if a component may have it in its state and running has not.
    fn place_of_state<'c>(&self, call: &'c Call) -> Option<&'c InstancePath> {
        let place = call.instance();
        let node = place.node()?;
        let is_state = holds_state(&self.facts.schema, node);
        (is_state && self.running.find(place).is_none()).then_some(place)
    }

    fn run(&mut self, ticket: Ticket, mut execution: Execution, tree: Tree) -> Result<(), Vec<Error>> {
        let schema = &self.facts.schema;
        let input = execution.call.judged(schema, &tree)?;
        let (session, component) = (execution.session, execution.component);
        let operation = name_of(schema, &execution.call);
        execution.stage = Stage::Running(tree);
        self.executions.waiting.insert(ticket, execution);
        let user = self.user_of(session);
        let event = Event::Executes { session, user, operation: operation.clone() };
        self.outputs.push_back(Output::Event(event));
        self.outputs.push_back(Output::Execute { ticket, component, operation, input });
        Ok(())
    }

    /// The state that an operation waits for; false when none does with that ticket.
    pub(crate) fn located(&mut self, ticket: Ticket, state: &Result<Tree, Vec<Error>>) -> bool {
        let Some(execution) = self.executions.waiting.remove(&ticket) else { return false };
        let session = execution.session;
        let merged = state.clone().map(|state| self.running.merged(&self.facts.schema, &state));
        if let Err(errors) = merged.and_then(|tree| self.run(ticket, execution, tree)) {
            self.reply(session, Err(errors));
        }
        true
    }

    /// What a component answered to an [`Output::Execute`].
    pub fn handle_executed(&mut self, ticket: Ticket, result: Result<Vec<u8>, Vec<Error>>) {
        let Some(Execution { session, call, stage: Stage::Running(tree), .. }) =
            self.executions.waiting.remove(&ticket)
        else {
            return;
        };
        let answer = result.map(|output| Reply::Executed(Box::new(Executed { call, tree, output })));
        self.reply(session, answer);
    }

    /// RFC 8341 sections 3.1.3 and 3.4.4: an action is a node, for which what leads to it must be readable too.
    pub(crate) fn may_execute(&mut self, session: SessionId, call: &Call) -> Result<(), Error> {
        let (access, schema) = (self.access(session), &self.facts.schema);
        let node = schema.node(call.operation());
        match call.instance().steps.is_empty() {
            true => access.may_invoke(&schema.module(node.module).name, &node.name),
            false => access.may_act(&call.path()),
        }
    }
}

/// What a component is told: `module:name` of an RPC, the instance path of an action.
pub(crate) fn name_of(schema: &Schema, call: &Call) -> String {
    let path = call.path().render(schema).0;
    match call.instance().steps.is_empty() {
        true => path.trim_start_matches('/').to_owned(),
        false => path,
    }
}
