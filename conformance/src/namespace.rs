//! Hosts of the lab: network namespaces with their links, addresses, routes and settings.

use crate::command::{Outcome, outcome, run};
use crate::{LabError, Result};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::File;
use std::os::fd::AsFd;
use std::process::Command;

/// A network namespace. Dropping it deletes it with its links.
#[derive(Debug)]
pub struct Namespace {
    name: String,
}

impl Namespace {
    /// Makes a namespace with loopback up, without duplicate address detection and reverse path filters.
    pub fn create(name: &str) -> Result<Namespace> {
        run("ip", &["netns", "add", name])?;
        let namespace = Namespace { name: name.to_owned() };
        namespace.ip(&["link", "set", "lo", "up"])?;
        namespace.sysctl(&[
            "net.ipv6.conf.default.accept_dad=0",
            "net.ipv6.conf.all.accept_dad=0",
            "net.ipv6.conf.default.accept_ra=0",
            "net.ipv4.conf.all.rp_filter=0",
            "net.ipv4.conf.default.rp_filter=0",
        ])?;
        Ok(namespace)
    }

    /// The name under which `ip netns` knows it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Makes it a router of both families that accepts segment routing headers on all links made from now on.
    pub fn make_router(&self) -> Result<()> {
        self.sysctl(&[
            "net.ipv4.ip_forward=1",
            "net.ipv6.conf.all.forwarding=1",
            "net.ipv6.conf.default.forwarding=1",
            "net.ipv6.conf.all.seg6_enabled=1",
            "net.ipv6.conf.default.seg6_enabled=1",
            "net.ipv4.conf.all.send_redirects=0",
            "net.ipv4.conf.default.send_redirects=0",
        ])
    }

    /// Sets kernel parameters, each `name=value`.
    pub fn sysctl(&self, settings: &[&str]) -> Result<()> {
        self.run("sysctl", &[&["-q", "-w"], settings].concat()).map(drop)
    }

    /// Runs `ip` on this namespace.
    pub fn ip(&self, args: &[&str]) -> Result<String> {
        run("ip", &[&["-n", self.name.as_str()], args].concat())
    }

    /// Adds addresses (with their prefix length) to a link.
    pub fn add_addresses(&self, link: &str, addresses: &[&str]) -> Result<()> {
        for address in addresses {
            self.ip(&["address", "add", address, "dev", link])?;
        }
        Ok(())
    }

    /// Runs a program in it to its end; a status other than 0 is an error.
    pub fn run(&self, program: &str, args: &[&str]) -> Result<String> {
        run("ip", &[&["netns", "exec", self.name.as_str(), program], args].concat())
    }

    /// Runs a program in it to its end, however it ends.
    pub fn outcome(&self, program: &str, args: &[&str]) -> Result<Outcome> {
        outcome("ip", &[&["netns", "exec", self.name.as_str(), program], args].concat())
    }

    /// A command that will run in it.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name, program]);
        command
    }

    /// Runs a function on a thread that has entered the namespace: sockets that it opens belong there, and stay
    /// there when they are handed out.
    pub fn enter<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T> {
        let path = format!("/run/netns/{}", self.name);
        let file = File::open(&path).map_err(LabError::of(format!("opening {path}")))?;
        let entered = std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))
                    .map_err(LabError::of(format!("entering {path}")))
                    .map(|()| work())
            });
            thread.join()
        });
        entered.map_err(|_| LabError::new(format!("working in {path}"), "the thread panicked"))?
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // What still runs in it would keep it alive; a failure here is found by the next lab's sweep.
        delete(&self.name);
    }
}

/// Kills what runs in a namespace and deletes it.
pub(crate) fn delete(name: &str) {
    for pid in run("ip", &["netns", "pids", name]).unwrap_or_default().split_whitespace() {
        let _ = run("kill", &["-9", pid]);
    }
    let _ = run("ip", &["netns", "delete", name]);
}

/// Joins two namespaces by a pair of virtual links, up, with the given MTU.
pub fn join(left: (&Namespace, &str), right: (&Namespace, &str), mtu: u16) -> Result<()> {
    let mtu = mtu.to_string();
    let ((left, left_link), (right, right_link)) = (left, right);
    run(
        "ip",
        &[
            "link",
            "add",
            left_link,
            "mtu",
            &mtu,
            "netns",
            left.name(),
            "type",
            "veth",
            "peer",
            "name",
            right_link,
            "mtu",
            &mtu,
            "netns",
            right.name(),
        ],
    )?;
    left.ip(&["link", "set", left_link, "up"])?;
    right.ip(&["link", "set", right_link, "up"]).map(drop)
}
