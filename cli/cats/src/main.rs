//! The CLI of catsd: one-shot and interactive. A NETCONF client over the server's local socket, with no power
//! that NETCONF lacks.
//!
//! This program must not know what any module means, nor touch a datastore, the engine or the kernel: it asks
//! the server, and everything it knows of the schema comes from there.

mod index;
mod interactive;
mod session;
mod shell;

use cats_cli_core::error::Error;
use clap::{Parser, ValueEnum};
use session::Session;
use shell::{Flow, Giver, READER_GONE, Shell};
use std::io::{IsTerminal, Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::{fs, io};

/// Configure and watch a catsd node.
#[derive(Parser)]
#[command(name = "cats", version, about)]
struct Arguments {
    /// The management daemon's socket.
    #[arg(long, value_name = "PATH", default_value = "/run/cats/netconf.sock")]
    socket: PathBuf,
    /// Runs these commands, separated by `;` or line breaks, and stops at the first error. From `configure` on a script
    /// has the candidate locked for itself, and what it leaves uncommitted is discarded.
    #[arg(short = 'c', value_name = "COMMANDS", conflicts_with = "file")]
    commands: Option<String>,
    /// Runs the commands in this file; `-` is standard input.
    #[arg(short = 'f', value_name = "FILE")]
    file: Option<PathBuf>,
    /// How data and errors are printed.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

/// How data are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// An outline with tables, for people.
    Table,
    /// RFC 7951 JSON; an error is one JSON object on standard error.
    Json,
    /// XML.
    Xml,
    /// The `set` commands that make the configuration.
    Set,
}

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return unparsed(&error),
    };
    let script = match script(&arguments) {
        Ok(script) => script,
        Err(error) => return fail(&error, "", arguments.format),
    };
    match run(&arguments, script.as_deref()) {
        Ok(()) => ExitCode::SUCCESS,
        Err((error, line)) => fail(&error, &line, arguments.format),
    }
}

/// Arguments that cannot be read, or a request for help. Whether JSON is wanted is then to be seen only in the words.
fn unparsed(error: &clap::Error) -> ExitCode {
    let words: Vec<String> = std::env::args().collect();
    let json = words.windows(2).any(|pair| pair == ["--format", "json"])
        || words.iter().any(|w| w == "--format=json");
    if error.use_stderr() && json {
        return fail(&Error::usage(error.to_string().trim_end()), "", Format::Json);
    }
    let _ = error.print();
    if error.use_stderr() { ExitCode::from(1) } else { ExitCode::SUCCESS }
}

/// The commands to run, or none for an interactive session.
fn script(arguments: &Arguments) -> Result<Option<String>, Error> {
    let unreadable = |name: &str, error: &io::Error| Error::usage(format!("cannot read {name}: {error}"));
    if let Some(commands) = &arguments.commands {
        return Ok(Some(commands.clone()));
    }
    let from_input = match &arguments.file {
        Some(file) if file.as_os_str() != "-" => {
            let text =
                fs::read_to_string(file).map_err(|error| unreadable(&file.display().to_string(), &error))?;
            return Ok(Some(text));
        }
        Some(_) => true,
        None => !io::stdin().is_terminal(),
    };
    if !from_input {
        return Ok(None);
    }
    let mut text = String::new();
    io::stdin().read_to_string(&mut text).map_err(|error| unreadable("standard input", &error))?;
    Ok(Some(text))
}

/// Runs the script or the interactive session; an error comes with the line that it is about.
fn run(arguments: &Arguments, script: Option<&str>) -> Result<(), (Error, String)> {
    let fatal = |error: Error| (error, String::new());
    let (mut session, hello) = Session::connect(&arguments.socket).map_err(fatal)?;
    let schema = index::load(&mut session, &hello).map_err(fatal)?;
    let giver = if script.is_some() { Giver::Script } else { Giver::Person };
    let mut shell = Shell::new(session, schema, arguments.format, giver);
    match script {
        Some(script) => batch(&mut shell, script),
        None => interactive::run(&mut shell).map_err(fatal),
    }
}

fn batch(shell: &mut Shell, script: &str) -> Result<(), (Error, String)> {
    let commands = cats_cli_core::token::commands(script).map_err(|error| located(error, script))?;
    let mut out = io::stdout().lock();
    let last = commands.len();
    for (number, command) in (1..).zip(commands) {
        match shell.run(&command, &mut out) {
            Ok(Flow::Go) => {}
            Ok(Flow::Stop) => return Ok(()),
            // What the script left in the candidate is discarded when its session, and so its lock, ends.
            Err(mut error) => {
                let _ = out.flush();
                if error.tag == READER_GONE && (number < last || shell.has_uncommitted()) {
                    error.tag = "partial-operation".to_owned();
                    error.message.push_str("; the commands after it were not run");
                }
                return Err(located(error, script));
            }
        }
    }
    shell.finish(&mut out).map_err(|error| (error, String::new()))
}

/// The error with its span moved into the one line of the script that it points into.
fn located(mut error: Error, script: &str) -> (Error, String) {
    let Some((start, length)) = error.span else { return (error, String::new()) };
    let before = script.get(..start).unwrap_or_default();
    let from = before.rfind('\n').map_or(0, |at| at + 1);
    let line = script.get(from..).unwrap_or_default().lines().next().unwrap_or_default().to_owned();
    error.span = Some((start - from, length));
    (error, line)
}

fn fail(error: &Error, line: &str, format: Format) -> ExitCode {
    if error.tag == READER_GONE {
        return ExitCode::SUCCESS;
    }
    let text = match format {
        Format::Json => serde_json::to_string(error).unwrap_or_else(|_| error.to_string()),
        Format::Table | Format::Xml | Format::Set => error.explain(line),
    };
    let _ = writeln!(io::stderr(), "{text}");
    ExitCode::from(exit_code(&error.tag))
}

/// The exit codes that scripts rely on, by the error's tag.
fn exit_code(tag: &str) -> u8 {
    match tag {
        "usage" => 1,
        "unreachable" => 3,
        "access-denied" => 4,
        "timeout" | "partial-operation" => 5,
        "lock-denied" | "in-use" => 6,
        _ => 2,
    }
}
