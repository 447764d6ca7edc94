//! A broker of MQTT 5: Debian's mosquitto, which takes TLS with client certificates only.

use crate::command::Background;
use crate::lab::Lab;
use crate::namespace::Namespace;
use crate::pki::NodeFiles;
use crate::{LabError, Result};
use rustix::process::Signal;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The port of MQTT over TLS.
pub const PORT: u16 = 8883;

/// A broker in a namespace. Dropping it kills it.
#[derive(Debug)]
pub struct Broker {
    host: Arc<Namespace>,
    folder: PathBuf,
    starts: u32,
    running: Option<Background>,
}

impl Broker {
    /// Starts it on an address of the namespace. `files` are those of a server with that address.
    pub fn start(lab: &Lab, host: &Arc<Namespace>, address: &str, files: &NodeFiles) -> Result<Broker> {
        let folder = lab.folder().to_path_buf();
        let text = format!(
            "user root\nlistener {PORT} {address}\ncafile {}\ncertfile {}\nkeyfile {}\nrequire_certificate true\n\
             allow_anonymous true\ntls_version tlsv1.3\n",
            files.authority.display(),
            files.certificate.display(),
            files.private_key.display(),
        );
        std::fs::write(folder.join("mosquitto.conf"), text).map_err(LabError::of("configuring mosquitto"))?;
        let mut broker = Broker { host: Arc::clone(host), folder, starts: 0, running: None };
        broker.start_again()?;
        Ok(broker)
    }

    /// Kills it, with the sessions and messages that it has in memory.
    pub fn kill(&mut self) -> Result<()> {
        self.running.take().map_or(Ok(()), |running| running.stop(Signal::KILL).map(drop))
    }

    /// Starts it once more, without any memory.
    pub fn start_again(&mut self) -> Result<()> {
        self.starts += 1;
        let log = self.folder.join(format!("mosquitto-{}.log", self.starts));
        let mut command = self.host.command(&program()?);
        command.arg("-c").arg(self.folder.join("mosquitto.conf"));
        let mut running = Background::start("mosquitto", command, &log)?;
        running.wait_until("serving", || is_serving(&log))?;
        self.running = Some(running);
        Ok(())
    }
}

fn is_serving(log: &Path) -> bool {
    std::fs::read_to_string(log).is_ok_and(|text| text.lines().any(|line| line.ends_with(" running")))
}

/// Debian has it where only root looks for programs.
fn program() -> Result<String> {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let places = std::env::split_paths(&paths).chain(["/usr/sbin".into()]);
    let found = places.map(|place| place.join("mosquitto")).find(|file| file.exists());
    let missing =
        || LabError::new("looking for mosquitto", "it is missing; sh conformance/setup.sh test installs it");
    found.map(|file| file.display().to_string()).ok_or_else(missing)
}
