//! NETCONF clients of others, as they are, against a management daemon of the lab.

use crate::command::{Outcome, run, run_with_input};
use crate::lab::{python, repository_root, target_dir};
use crate::node::AdministratorKey;
use crate::server::{ADDRESS, PORT, Server};
use crate::{LabError, Result};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Where Debian puts the modules of yangcli.
const YUMA_MODULES: &str = "/usr/share/yuma/modules";

/// Runs one of the checks of `conformance/clients/scrapli_checks.py` over a transport, `system` or `paramiko`, in one
/// version of NETCONF.
pub fn scrapli(server: &Server, transport: &str, version: &str, check: &str) -> Result<()> {
    let script = repository_root().join("conformance/clients/scrapli_checks.py").display().to_string();
    let key = match transport {
        "paramiko" => rsa_key(server)?,
        _ => server.key.private.clone(),
    };
    let key = key.display().to_string();
    let args = [&script, ADDRESS, PORT, AdministratorKey::USER, &key, transport, version, check];
    server.node.host().run(&python(), &args).map(drop)
}

/// Runs commands of netconf-console2 in one session and gives the replies, which are as many.
pub fn netconf_console(server: &Server, commands: &[&str]) -> Result<Vec<String>> {
    // With a file of OpenSSH's settings it does not try the key with a password.
    let settings = write(server, "ssh-config", "")?;
    let program = target_dir().join("venv/bin/netconf-console2").display().to_string();
    let mut command = server.node.host().command(&program);
    command.args(["--host", ADDRESS, "--port", PORT, "-u", AdministratorKey::USER, "-i"]);
    command.arg("--privKeyFile").arg(&server.key.private).arg("--ssh-config").arg(settings);
    command.args(["-N", "lx=urn:catsd:lab:example"]);
    let outcome = run_with_input(command, (commands.join("\n") + "\n").as_bytes())?;
    let replies: Vec<String> = outcome.stdout.split("<?xml").skip(1).map(str::to_owned).collect();
    if outcome.status.success() && replies.len() == commands.len() {
        return Ok(replies);
    }
    Err(LabError::new(format!("netconf-console2 with {commands:?}"), format!("{outcome:?}")))
}

/// Runs a script of yangcli to its end, or to the first command that fails, and gives what it prints.
pub fn yangcli(server: &Server, script: &str) -> Result<String> {
    let script = write(server, "script", script)?;
    let mut command = server.node.host().command("yangcli");
    let value = |name: &str, value: &Path| format!("--{name}={}", value.display());
    command.arg(format!("--server={ADDRESS}")).arg(format!("--ncport={PORT}"));
    command.arg(format!("--user={}", AdministratorKey::USER)).arg("--password=none");
    command.arg(value("private-key", &server.key.private)).arg(value("public-key", &server.key.public));
    let own = repository_root().join("conformance/lab");
    command.arg(format!("--modpath={YUMA_MODULES}:{}", own.display()));
    // Nothing of it is kept in the home of who runs the tests.
    command.args(["--autoaliases=false", "--autohistory=false", "--autouservars=false"]);
    command.arg("--batch-mode").arg(value("run-script", &script));
    run_with_input(command, b"").map(|Outcome { stdout, .. }| stdout)
}

/// An RSA key that the administrator may log in with too.
fn rsa_key(server: &Server) -> Result<PathBuf> {
    let private = server.lab.folder().join("rsa-key");
    if private.exists() {
        return Ok(private);
    }
    let file = private.display().to_string();
    run(
        "ssh-keygen",
        &["-q", "-t", "rsa", "-b", "2048", "-m", "PEM", "-N", "", "-C", "rsa-key", "-f", &file],
    )?;
    let doing = || format!("adding a key to {}", server.key.public.display());
    let line = std::fs::read(private.with_extension("pub")).map_err(LabError::of(doing()))?;
    let mut keys = OpenOptions::new().append(true).open(&server.key.public).map_err(LabError::of(doing()))?;
    keys.write_all(&line).map_err(LabError::of(doing()))?;
    Ok(private)
}

fn write(server: &Server, name: &str, text: &str) -> Result<PathBuf> {
    let path = server.lab.folder().join(name);
    std::fs::write(&path, text).map_err(LabError::of(format!("writing {}", path.display())))?;
    Ok(path)
}
