//! Programs that the lab runs: to their end, or in the background for as long as their owner lives.

use crate::wait::{BOUND, wait_at_most};
use crate::{LabError, Result};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::Duration;

/// What a program left when it ended.
#[derive(Debug)]
pub struct Outcome {
    /// How it ended.
    pub status: ExitStatus,
    /// What it wrote to standard output.
    pub stdout: String,
    /// What it wrote to standard error.
    pub stderr: String,
}

/// Runs a program to its end and gives its standard output; a status other than 0 is an error with both outputs.
pub fn run(program: impl AsRef<str>, args: &[&str]) -> Result<String> {
    let outcome = outcome(program.as_ref(), args)?;
    if outcome.status.success() {
        return Ok(outcome.stdout);
    }
    let said = format!("{}: {}{}", outcome.status, outcome.stderr, outcome.stdout);
    Err(LabError::new(format!("{} {}", program.as_ref(), args.join(" ")), said))
}

/// Runs a program to its end, however it ends.
pub fn outcome(program: &str, args: &[&str]) -> Result<Outcome> {
    let output = Command::new(program).args(args).stdin(Stdio::null()).output();
    Ok(Outcome::from(output.map_err(LabError::of(format!("starting {program}")))?))
}

/// Runs a command to its end with `input` on its standard input, which is then closed.
pub fn run_with_input(mut command: Command, input: &[u8]) -> Result<Outcome> {
    let doing = format!("running {}", command.get_program().to_string_lossy());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(LabError::of(doing.clone()))?;
    let stdin = child.stdin.take();
    let output = std::thread::scope(|scope| {
        scope.spawn(move || {
            // A program that ends before it has read everything is its caller's business, not the pipe's.
            stdin.map(|mut stdin| stdin.write_all(input))
        });
        child.wait_with_output()
    });
    output.map(Outcome::from).map_err(LabError::of(doing))
}

impl From<Output> for Outcome {
    fn from(output: Output) -> Outcome {
        Outcome {
            status: output.status,
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// A program that runs until it is stopped; dropping it kills it. Both outputs go to its log.
#[derive(Debug)]
pub struct Background {
    name: String,
    child: Child,
    log: PathBuf,
}

impl Background {
    /// Starts a program with the log file `log`, which is begun anew.
    pub fn start(name: &str, mut command: Command, log: &Path) -> Result<Background> {
        let doing = || format!("starting {name} with the log {}", log.display());
        let file = File::options().create(true).append(true).open(log).map_err(LabError::of(doing()))?;
        let again = file.try_clone().map_err(LabError::of(doing()))?;
        let child =
            command.stdin(Stdio::null()).stdout(file).stderr(again).spawn().map_err(LabError::of(doing()))?;
        Ok(Background { name: name.to_owned(), child, log: log.to_path_buf() })
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Where both outputs go.
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// How the program ended, or nothing while it runs.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Waits until `condition` holds; the program's end before that is an error with the end of its log.
    pub fn wait_until(&mut self, what: &str, mut condition: impl FnMut() -> bool) -> Result<()> {
        let what = format!("{}: {what}", self.name);
        let ended =
            wait_at_most(BOUND, &what, || if condition() { Some(None) } else { self.ended().map(Some) });
        match ended {
            Ok(None) => Ok(()),
            Ok(Some(status)) => {
                Err(LabError::new(what, format!("it ended with {status}\n{}", self.log_end())))
            }
            Err(late) => Err(LabError::new(what, format!("{}\n{}", late.why, self.log_end()))),
        }
    }

    /// Asks the program to end with `signal` and waits for it.
    pub fn stop(mut self, signal: Signal) -> Result<ExitStatus> {
        self.signal(signal)?;
        let what = format!("the end of {}", self.name);
        wait_at_most(Duration::from_secs(10), &what, || self.ended())
    }

    /// Sends `signal` to the program.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        let pid =
            pid.ok_or_else(|| LabError::new(format!("signalling {}", self.name), "it has no process id"))?;
        kill_process(pid, signal).map_err(LabError::of(format!("signalling {}", self.name)))
    }

    fn log_end(&self) -> String {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines.get(lines.len().saturating_sub(20)..).unwrap_or_default().join("\n")
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        // The process may be gone already; there is nobody to tell.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
