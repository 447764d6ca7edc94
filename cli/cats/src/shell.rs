//! Runs commands: each becomes NETCONF operations, and their answers become output.

use crate::Format;
use crate::session::{Session, data};
use cats_cli_core::command::{self, Command, Mode, Source};
use cats_cli_core::edit;
use cats_cli_core::error::Error;
use cats_cli_core::render::{self, Sign};
use cats_cli_core::request::Request;
use cats_cli_core::token::Token;
use cats_cli_core::view::{self, Asked};
use cats_mgmtd_netconf::{
    Answer, CommitOptions, Content, Datastore, DefaultOperation, ErrorOption, Filter, Operation, TestOption,
    WithDefaults, XmlFragment,
};
use cats_yang_tree::path::InstancePath;
use cats_yang_tree::schema::Schema;
use cats_yang_tree::tree::Tree;
use std::fmt::Write as _;
use std::io::Write;
use std::sync::Arc;

/// Whether to go on after a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    /// Read the next command.
    Go,
    /// Leave.
    Stop,
}

/// Who gives the commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Giver {
    /// A script: it has the candidate for itself while it configures, and leaves nothing uncommitted in it.
    Script,
    /// A person at a terminal, who shares the candidate with others and is told what stays in it.
    Person,
}

/// One user's session with its mode.
pub(crate) struct Shell {
    session: Session,
    schema: Arc<Schema>,
    mode: Mode,
    format: Format,
    giver: Giver,
    /// Edits of this session that are neither committed nor discarded.
    uncommitted: bool,
}

impl Shell {
    pub(crate) fn new(session: Session, schema: Schema, format: Format, giver: Giver) -> Self {
        let schema = Arc::new(schema);
        Self { session, schema, mode: Mode::Operational, format, giver, uncommitted: false }
    }

    pub(crate) fn mode(&self) -> Mode {
        self.mode
    }

    pub(crate) fn schema(&self) -> Arc<Schema> {
        self.schema.clone()
    }

    /// Runs one command and writes what it shows.
    pub(crate) fn run(&mut self, words: &[Token], out: &mut dyn Write) -> Result<Flow, Error> {
        let words = match self.giver {
            Giver::Script => words.to_vec(),
            Giver::Person => command::expand(&self.schema, self.mode, words)?,
        };
        match command::parse(&self.schema, self.mode, &words)? {
            Command::Show { source, path } => self.show(source, &path, out)?,
            Command::View(asked) => self.view(&asked, out)?,
            Command::Request(request) => self.request(&request, out)?,
            Command::Configure => self.configure()?,
            Command::Set(assignments) => self.edit(edit::set(&self.schema, &assignments))?,
            Command::Delete(path) => self.edit(edit::delete(&self.schema, &path))?,
            Command::Compare => self.compare(out)?,
            Command::Commit => self.settle(&Operation::Commit(CommitOptions::default()))?,
            Command::CommitCheck => {
                let source = cats_mgmtd_netconf::Source::Datastore(Datastore::Candidate);
                self.simple(&Operation::Validate { source })?;
            }
            Command::Discard => self.settle(&Operation::DiscardChanges)?,
            Command::Help => self.help(out)?,
            Command::Exit if self.mode == Mode::Configure => self.leave(out)?,
            Command::Exit => return Ok(Flow::Stop),
        }
        Ok(Flow::Go)
    }

    /// Whether edits of this session are neither committed nor discarded.
    pub(crate) fn has_uncommitted(&self) -> bool {
        self.uncommitted
    }

    /// Ends the session: what a script left uncommitted goes, and is an error; a person is told what stays.
    pub(crate) fn finish(&mut self, out: &mut dyn Write) -> Result<(), Error> {
        if self.mode == Mode::Configure { self.leave(out) } else { Ok(()) }
    }

    fn configure(&mut self) -> Result<(), Error> {
        if self.giver == Giver::Script {
            self.simple(&Operation::Lock { target: Datastore::Candidate })?;
        }
        self.mode = Mode::Configure;
        Ok(())
    }

    /// Leaves configure mode. The server discards the changes of a candidate that is unlocked (RFC 6241 section
    /// 8.3.5.2).
    fn leave(&mut self, out: &mut dyn Write) -> Result<(), Error> {
        self.mode = Mode::Operational;
        let left = std::mem::take(&mut self.uncommitted);
        if self.giver == Giver::Script {
            self.simple(&Operation::Unlock { target: Datastore::Candidate })?;
            if left {
                let mut error = Error::usage("the changes were not committed, and are discarded");
                error.tag = "operation-failed".to_owned();
                return Err(error.remedy("end the script with `commit` or `discard`"));
            }
        } else if left {
            writeln!(out, "uncommitted changes stay in the candidate").map_err(|error| unwritable(&error))?;
        }
        Ok(())
    }

    /// Commits or discards.
    fn settle(&mut self, operation: &Operation) -> Result<(), Error> {
        self.simple(operation)?;
        self.uncommitted = false;
        Ok(())
    }

    fn simple(&mut self, operation: &Operation) -> Result<(), Error> {
        self.session.call(operation, &*self.schema).map(|_| ())
    }

    fn edit(&mut self, content: String) -> Result<(), Error> {
        let config = fragment("config", &content)?;
        self.simple(&Operation::EditConfig {
            target: Datastore::Candidate,
            default_operation: DefaultOperation::Merge,
            test_option: TestOption::Set,
            error_option: ErrorOption::StopOnError,
            config: Content::Inline(config),
        })?;
        self.uncommitted = true;
        Ok(())
    }

    fn help(&self, out: &mut dyn Write) -> Result<(), Error> {
        let mut text = String::new();
        for word in command::words(self.mode) {
            let _ = writeln!(text, "{:22} {}", word.name, word.help);
        }
        if self.mode == Mode::Operational {
            for (words, help) in view::words(&self.schema) {
                let _ = writeln!(text, "{:22} {help}", format!("show {words}"));
            }
        }
        out.write_all(text.as_bytes()).map_err(|error| unwritable(&error))
    }

    fn show(&mut self, source: Source, path: &InstancePath, out: &mut dyn Write) -> Result<(), Error> {
        let filter = match path.steps.is_empty() {
            true => None,
            false => Some(fragment("filter", &edit::filter(&self.schema, path))?),
        };
        let reply = self.read(source, filter)?;
        let tree = self.tree(&reply)?;
        self.tell(&tree, || render::outline(&self.schema, &tree), out)
    }

    fn view(&mut self, asked: &Asked, out: &mut dyn Write) -> Result<(), Error> {
        let asked = match asked.lookup(&self.schema) {
            Some(filter) => {
                let services = self.get(&filter)?;
                &asked.resolve(&self.schema, &services)?
            }
            None => asked,
        };
        let tree = self.get(&asked.filter(&self.schema))?;
        self.tell(&tree, || asked.page(&self.schema, &tree).to_string(), out)
    }

    /// Configuration and state under a subtree filter; what holds by default is told like what is set.
    fn get(&mut self, filter: &str) -> Result<Tree, Error> {
        let filter = Some(Filter::Subtree(fragment("filter", filter)?));
        let operation = Operation::Get { filter, with_defaults: Some(WithDefaults::ReportAll) };
        let reply = data(self.session.call(&operation, &*self.schema)?)?;
        self.tree(&reply)
    }

    /// Has an operation carried out and shows what it answers, if that is anything.
    fn request(&mut self, request: &Request, out: &mut dyn Write) -> Result<(), Error> {
        let operation = edit::request(&self.schema, request);
        match self.session.call_xml(&operation, &*self.schema)? {
            Answer::Output(elements) => {
                let elements: String = elements.into_iter().map(XmlFragment::into_string).collect();
                let tree = render::answer(&self.schema, request.operation, &elements)?;
                // No command makes an answer.
                let format = if self.format == Format::Set { Format::Table } else { self.format };
                self.tell_as(format, &tree, || render::outline(&self.schema, &tree), out)
            }
            Answer::Data(data) => out.write_all(data.as_str().as_bytes()).map_err(|error| unwritable(&error)),
            Answer::Ok | Answer::Errors(_) => Ok(()),
        }
    }

    /// Writes data in the format that was asked for; `table` makes it the one for people.
    fn tell(&self, tree: &Tree, table: impl FnOnce() -> String, out: &mut dyn Write) -> Result<(), Error> {
        self.tell_as(self.format, tree, table, out)
    }

    fn tell_as(
        &self,
        format: Format,
        tree: &Tree,
        table: impl FnOnce() -> String,
        out: &mut dyn Write,
    ) -> Result<(), Error> {
        let text = match format {
            Format::Table => table(),
            Format::Xml => lines(render::xml(&self.schema, tree)),
            Format::Json => lines(render::json(&self.schema, tree)),
            Format::Set => {
                render::set_lines(&self.schema, tree).iter().map(|line| format!("set {line}\n")).collect()
            }
        };
        out.write_all(text.as_bytes()).map_err(|error| unwritable(&error))
    }

    fn compare(&mut self, out: &mut dyn Write) -> Result<(), Error> {
        let running = self.read(Source::Running, None)?;
        let candidate = self.read(Source::Candidate, None)?;
        let lines = render::compare(&self.schema, &self.tree(&running)?, &self.tree(&candidate)?);
        for line in lines {
            let sign = match line.sign {
                Sign::Added => '+',
                Sign::Removed => '-',
            };
            writeln!(out, "{sign} {}", line.text).map_err(|error| unwritable(&error))?;
        }
        Ok(())
    }

    fn read(&mut self, source: Source, filter: Option<XmlFragment>) -> Result<XmlFragment, Error> {
        let (filter, with_defaults) = (filter.map(Filter::Subtree), None);
        let operation = match source {
            Source::Running => Operation::GetConfig { source: Datastore::Running, filter, with_defaults },
            Source::Candidate => Operation::GetConfig { source: Datastore::Candidate, filter, with_defaults },
            Source::State => Operation::Get { filter, with_defaults },
        };
        data(self.session.call(&operation, &*self.schema)?)
    }

    fn tree(&self, data: &XmlFragment) -> Result<Tree, Error> {
        render::read(&self.schema, data.as_str())
    }
}

/// `<name>` with its content, in the namespace of NETCONF.
fn fragment(name: &str, content: &str) -> Result<XmlFragment, Error> {
    let namespace = cats_mgmtd_netconf::names::BASE;
    let kind = if name == "filter" { " type=\"subtree\"" } else { "" };
    XmlFragment::parse(format!("<{name} xmlns=\"{namespace}\"{kind}>{content}</{name}>"))
        .map_err(|error| Error::usage(format!("the request cannot be written: {error}")))
}

fn lines(mut text: String) -> String {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

/// The tag of an output whose reader has gone, as after `cats … | head`: the program ends without a word.
pub(crate) const READER_GONE: &str = "reader-gone";

fn unwritable(error: &std::io::Error) -> Error {
    let mut told = Error::usage(format!("the output cannot be written: {error}"));
    if error.kind() == std::io::ErrorKind::BrokenPipe {
        told.tag = READER_GONE.to_owned();
    }
    told
}
