//! The prompt: line editing, completion and history around [`Shell`].

use crate::shell::{Flow, Shell};
use cats_cli_core::command::Mode;
use cats_cli_core::complete::{NoValues, complete};
use cats_cli_core::error::Error;
use cats_cli_core::token;
use cats_yang_tree::schema::Schema;
use reedline::{
    ColumnarMenu, Completer, CompletionResult, DefaultPrompt, DefaultPromptSegment, Emacs, KeyCode,
    KeyModifiers, MenuBuilder, Reedline, ReedlineEvent, ReedlineMenu, Signal, Span, Suggestion,
    default_emacs_keybindings,
};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const MENU: &str = "completion";

/// Reads and runs commands until `exit` or the end of input.
pub(crate) fn run(shell: &mut Shell) -> Result<(), Error> {
    let configuring = Arc::new(AtomicBool::new(false));
    let mut editor = editor(Words { schema: shell.schema(), configuring: configuring.clone() });
    loop {
        let mode = shell.mode();
        configuring.store(mode == Mode::Configure, Ordering::Relaxed);
        let mark = match mode {
            Mode::Operational => "cats> ",
            Mode::Configure => "cats# ",
        };
        let prompt =
            DefaultPrompt::new(DefaultPromptSegment::Basic(mark.to_owned()), DefaultPromptSegment::Empty);
        match editor.read_line(&prompt) {
            Ok(Signal::Success(line)) => {
                if let Flow::Stop = line_entered(shell, &line)? {
                    return Ok(());
                }
            }
            Ok(Signal::CtrlD) => return shell.finish(&mut io::stdout().lock()),
            Ok(_) => {}
            Err(error) => return Err(Error::usage(format!("the terminal cannot be read: {error}"))),
        }
    }
}

/// An error is told and the session goes on, unless the server is lost.
fn line_entered(shell: &mut Shell, line: &str) -> Result<Flow, Error> {
    let commands = match token::commands(line) {
        Ok(commands) => commands,
        Err(error) => {
            eprintln!("{}", error.explain(line));
            return Ok(Flow::Go);
        }
    };
    for command in commands {
        match shell.run(&command, &mut io::stdout().lock()) {
            Ok(Flow::Go) => {}
            Ok(Flow::Stop) => return Ok(Flow::Stop),
            Err(error) if error.tag == "unreachable" => return Err(error),
            Err(error) => {
                eprintln!("{}", error.explain(line));
                return Ok(Flow::Go);
            }
        }
    }
    Ok(Flow::Go)
}

fn editor(words: Words) -> Reedline {
    let mut keys = default_emacs_keybindings();
    keys.add_binding(
        KeyModifiers::NONE,
        KeyCode::Tab,
        ReedlineEvent::UntilFound(vec![ReedlineEvent::Menu(MENU.to_owned()), ReedlineEvent::MenuNext]),
    );
    let menu = ColumnarMenu::default().with_name(MENU);
    Reedline::create()
        .with_completer(Box::new(words))
        .with_menu(ReedlineMenu::EngineCompleter(Box::new(menu)))
        .with_quick_completions(true)
        .with_partial_completions(true)
        .with_edit_mode(Box::new(Emacs::new(keys)))
}

struct Words {
    schema: Arc<Schema>,
    configuring: Arc<AtomicBool>,
}

impl Completer for Words {
    fn complete(&mut self, line: &str, position: usize) -> CompletionResult {
        let mode = if self.configuring.load(Ordering::Relaxed) { Mode::Configure } else { Mode::Operational };
        let before = line.get(..position).unwrap_or(line);
        let (start, completions) = complete(&self.schema, mode, before, &NoValues);
        let suggestions: Vec<Suggestion> = completions
            .into_iter()
            .map(|completion| Suggestion {
                value: completion.word,
                description: Some(completion.help).filter(|help| !help.is_empty()),
                span: Span { start, end: position },
                append_whitespace: true,
                ..Suggestion::default()
            })
            .collect();
        CompletionResult::fresh(suggestions)
    }
}
