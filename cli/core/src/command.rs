//! The commands and their grammar. What a command names in the data is read by [`crate::place`].

use crate::error::{Error, nearest};
use crate::place::{self, Assignment, Want};
use crate::request::{self, Request};
use crate::token::Token;
use crate::view::{self, Asked};
use cats_yang_tree::path::InstancePath;
use cats_yang_tree::schema::Schema;

/// The mode that a command is given in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Looking.
    #[default]
    Operational,
    /// Changing the candidate.
    Configure,
}

/// A command, understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Shows a part of a datastore.
    Show {
        /// Which.
        source: Source,
        /// Which part; all when empty.
        path: InstancePath,
    },
    /// Shows a view.
    View(Asked),
    /// Has an operation carried out.
    Request(Request),
    /// Enters configure mode.
    Configure,
    /// Creates nodes or gives them values, in the candidate.
    Set(Vec<Assignment>),
    /// Deletes a node, in the candidate.
    Delete(InstancePath),
    /// Shows what the candidate changes.
    Compare,
    /// Makes the candidate the running configuration.
    Commit,
    /// Checks the candidate as a commit would, without committing.
    CommitCheck,
    /// Makes the candidate equal to the running configuration.
    Discard,
    /// Leaves configure mode, or the CLI.
    Exit,
    /// Lists the commands of the mode.
    Help,
}

/// A datastore to be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The running configuration.
    Running,
    /// The candidate.
    Candidate,
    /// State, and the running configuration with it.
    State,
}

/// A command word with its help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word {
    /// The word.
    pub name: &'static str,
    /// One line about it.
    pub help: &'static str,
}

const OPERATIONAL: &[Word] = &[
    Word { name: "configure", help: "change the candidate configuration" },
    Word { name: "exit", help: "leave the CLI" },
    Word { name: "help", help: "list the commands" },
    Word { name: "request", help: "have an operation carried out: request OPERATION [PARAMETER VALUE]…" },
    Word { name: "show", help: "show config [PATH], show state [PATH], or one of the views below" },
];

const CONFIGURE: &[Word] = &[
    Word {
        name: "commit",
        help: "make the candidate the running configuration; `commit check` only validates it",
    },
    Word { name: "compare", help: "show what the candidate changes" },
    Word { name: "delete", help: "delete PATH in the candidate" },
    Word { name: "discard", help: "forget the changes of the candidate" },
    Word { name: "exit", help: "leave configure mode" },
    Word { name: "help", help: "list the commands" },
    Word { name: "set", help: "set PATH VALUE in the candidate" },
    Word { name: "show", help: "show the candidate, or its part PATH" },
];

const SHOWN: &[Word] = &[
    Word { name: "config", help: "the running configuration" },
    Word { name: "state", help: "state and the running configuration" },
];

/// What may stand behind `show`.
pub(crate) fn shown(schema: &Schema) -> Vec<Word> {
    SHOWN.iter().copied().chain(view::beginnings(schema)).collect()
}

/// The commands of a mode.
pub fn words(mode: Mode) -> &'static [Word] {
    match mode {
        Mode::Operational => OPERATIONAL,
        Mode::Configure => CONFIGURE,
    }
}

/// Reads one command.
pub fn parse(schema: &Schema, mode: Mode, command: &[Token]) -> Result<Command, Error> {
    let Some((verb, rest)) = command.split_first() else {
        return Err(Error::usage("the command is empty"));
    };
    match (mode, verb.text.as_str()) {
        (_, "exit") => alone(rest, Command::Exit),
        (_, "help") => alone(rest, Command::Help),
        (Mode::Operational, "configure") => alone(rest, Command::Configure),
        (Mode::Operational, "request") => request::parse(schema, rest).map(Command::Request),
        (Mode::Operational, "show") => show(schema, verb, rest),
        (Mode::Configure, "show") => {
            let path = place::place(schema, rest, Want::Config)?;
            Ok(Command::Show { source: Source::Candidate, path })
        }
        (Mode::Configure, "set") => Ok(Command::Set(place::assignments(schema, rest)?)),
        (Mode::Configure, "delete") => delete(schema, verb, rest),
        (Mode::Configure, "compare") => alone(rest, Command::Compare),
        (Mode::Configure, "discard") => alone(rest, Command::Discard),
        (Mode::Configure, "commit") => commit(rest),
        _ => Err(unknown(mode, verb)),
    }
}

/// The same command with its words in full, where a person has typed their beginnings only: those of the command, not
/// names and values. A script spells them out, so that a word that comes later cannot change what it means.
///
/// # Errors
/// A beginning of several words.
pub fn expand(schema: &Schema, mode: Mode, command: &[Token]) -> Result<Vec<Token>, Error> {
    let Some((verb, rest)) = command.split_first() else { return Ok(Vec::new()) };
    let verb = view::full(verb, words(mode).iter().map(|word| word.name))?;
    let mut out = vec![verb];
    match (mode, out.first().map(|verb| verb.text.as_str()), rest.split_first()) {
        (Mode::Operational, Some("show"), Some((what, behind))) => {
            let what = view::full(what, shown(schema).iter().map(|word| word.name))?;
            if SHOWN.iter().any(|word| word.name == what.text) {
                out.push(what);
                out.extend_from_slice(behind);
            } else {
                let words: Vec<Token> = std::iter::once(what).chain(behind.iter().cloned()).collect();
                out.extend(view::expand(schema, &words)?);
            }
        }
        _ => out.extend_from_slice(rest),
    }
    Ok(out)
}

fn alone(rest: &[Token], command: Command) -> Result<Command, Error> {
    match rest.first() {
        None => Ok(command),
        Some(word) => Err(Error::usage(format!("`{}` is too much", word.text)).under(word.span())),
    }
}

fn commit(rest: &[Token]) -> Result<Command, Error> {
    match rest.split_first() {
        None => Ok(Command::Commit),
        Some((word, rest)) if word.text == "check" => alone(rest, Command::CommitCheck),
        Some((word, _)) => Err(Error::usage(format!("`{}` is unknown here", word.text))
            .under(word.span())
            .expecting(vec!["check".to_owned()])),
    }
}

fn show(schema: &Schema, verb: &Token, rest: &[Token]) -> Result<Command, Error> {
    let expected = || shown(schema).iter().map(|word| word.name.to_owned()).collect();
    if let Some(asked) = view::parse(schema, rest) {
        return asked.map(Command::View);
    }
    let Some((what, rest)) = rest.split_first() else {
        return Err(Error::usage("what is to be shown?")
            .under((verb.start + verb.length, 1))
            .expecting(expected()));
    };
    let (source, want) = match what.text.as_str() {
        "config" => (Source::Running, Want::Config),
        "state" => (Source::State, Want::Any),
        other => {
            return Err(Error::usage(format!("`{other}` cannot be shown"))
                .under(what.span())
                .expecting(expected()));
        }
    };
    Ok(Command::Show { source, path: place::place(schema, rest, want)? })
}

fn delete(schema: &Schema, verb: &Token, rest: &[Token]) -> Result<Command, Error> {
    let path = place::place(schema, rest, Want::Config)?;
    if path.steps.is_empty() {
        return Err(Error::usage("what is to be deleted?").under((verb.start + verb.length, 1)));
    }
    Ok(Command::Delete(path))
}

fn unknown(mode: Mode, verb: &Token) -> Error {
    let names: Vec<String> = words(mode).iter().map(|word| word.name.to_owned()).collect();
    let error = Error::usage(format!("`{}` is no command here", verb.text)).under(verb.span());
    let other = match mode {
        Mode::Operational => Mode::Configure,
        Mode::Configure => Mode::Operational,
    };
    if words(other).iter().any(|word| word.name == verb.text) {
        let remedy = match mode {
            Mode::Operational => "enter `configure` first",
            Mode::Configure => "`exit` from configure mode first",
        };
        return error.remedy(remedy).expecting(names);
    }
    match nearest(&verb.text, names.iter().map(String::as_str)) {
        Some(near) => error.remedy(format!("did you mean `{near}`?")).expecting(names),
        None => error.expecting(names),
    }
}
