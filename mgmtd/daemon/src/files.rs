//! The files that `file:` URLs name (RFC 6241 section 8.8): those of one directory below the state directory, and no
//! others. Neither `..` nor a symbolic link leads out of it; the kernel sees to that while it resolves a name.

use crate::hub::{HubSender, Input};
use crate::session::config_of;
use cats_mgmtd_core::{Config, DefaultOperation, Reading, Ticket};
use cats_mgmtd_netconf::names::BASE;
use cats_yang_tree::error::{Error, ErrorInfo, ErrorTag};
use cats_yang_tree::schema::Schema;
use cats_yang_tree::xml;
use rustix::fs::{AtFlags, Dir, Mode, OFlags, ResolveFlags, openat, openat2, renameat, unlinkat};
use rustix::io::Errno;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::sync::Arc;

/// A URL may be so long, bytes.
const URL_MAX: usize = 1024;

/// Files in one directory that a client may make.
const FILES_MAX: usize = 1024;

/// Reads, writes and deletes files, each on a thread that may block. Their number is bounded by that of the sessions,
/// which have one request in progress each.
#[derive(Debug, Clone)]
pub(crate) struct Files {
    directory: Directory,
    schema: Arc<Schema>,
    hub: HubSender,
}

impl Files {
    /// Of the directory `root`, which is made when it is needed; no file of more than `limit` bytes.
    pub(crate) fn new(root: PathBuf, limit: usize, schema: Arc<Schema>, hub: HubSender) -> Self {
        Self { directory: Directory { root, limit }, schema, hub }
    }

    pub(crate) fn fetch(&self, ticket: Ticket, url: String, default: DefaultOperation) {
        self.run(move |files| {
            let result = files.directory.read(&url).and_then(|text| files.config(&url, text, default));
            Input::Fetched { ticket, result }
        });
    }

    pub(crate) fn store(&self, ticket: Ticket, url: String, content: Reading) {
        self.run(move |files| {
            let content = content.to_xml(&files.schema).map_err(|mut errors| errors.remove(0));
            let document = content.map(|xml| format!("<config xmlns=\"{BASE}\">{xml}</config>\n"));
            let result = document.and_then(|text| files.directory.write(&url, ticket, text.as_bytes()));
            Input::Stored { ticket, result }
        });
    }

    pub(crate) fn remove(&self, ticket: Ticket, url: String) {
        self.run(move |files| Input::Stored { ticket, result: files.directory.remove(&url) });
    }

    fn run(&self, work: impl FnOnce(&Files) -> Input + Send + 'static) {
        let files = self.clone();
        // The answer goes to the hub; one that is gone waits for none.
        drop(tokio::task::spawn_blocking(move || drop(files.hub.blocking_send(work(&files)))));
    }

    /// The file must hold one `<config>` element (RFC 6241 section 8.8.5).
    fn config(&self, url: &str, text: String, default: DefaultOperation) -> Result<Config, Error> {
        let document = xml::parse(&text).map_err(|error| invalid(url, &error.message))?;
        if !document.root_element().has_tag_name((BASE, "config")) {
            let name = document.root_element().tag_name().name();
            return Err(invalid(url, &format!("the file holds <{name}>, not <config> of '{BASE}'")));
        }
        drop(document);
        Ok(config_of(text, &self.schema, default))
    }
}

#[derive(Debug, Clone)]
struct Directory {
    root: PathBuf,
    limit: usize,
}

impl Directory {
    fn read(&self, url: &str) -> Result<String, Error> {
        let (parent, name) = self.place(url)?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file =
            openat(&parent, name.as_str(), flags, Mode::empty()).map_err(|errno| failed(url, errno))?;
        let file = File::from(file);
        let kind = file.metadata().map_err(|error| broken(url, &error))?.file_type();
        if !kind.is_file() {
            return Err(invalid(url, "it is no plain file"));
        }
        let mut bytes = Vec::new();
        let most = self.limit as u64 + 1;
        file.take(most).read_to_end(&mut bytes).map_err(|error| broken(url, &error))?;
        self.fits(url, bytes.len())?;
        String::from_utf8(bytes).map_err(|_| invalid(url, "the file is not UTF-8"))
    }

    /// Replaces a file whole, or makes it.
    fn write(&self, url: &str, ticket: Ticket, bytes: &[u8]) -> Result<(), Error> {
        self.fits(url, bytes.len())?;
        let (parent, name) = self.place(url)?;
        self.has_room(url, &parent)?;
        let beside = format!(".{}.new", ticket.0);
        // A crash may have left one.
        let _ = unlinkat(&parent, beside.as_str(), AtFlags::empty());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = openat(&parent, beside.as_str(), flags, Mode::RUSR | Mode::WUSR)
            .map_err(|errno| failed(url, errno))?;
        let mut file = File::from(file);
        let done = file
            .write_all(bytes)
            .and_then(|()| file.sync_all())
            .and_then(|()| Ok(renameat(&parent, beside.as_str(), &parent, name.as_str())?))
            .and_then(|()| Ok(rustix::fs::fsync(&parent)?));
        done.map_err(|error| {
            let _ = unlinkat(&parent, beside.as_str(), AtFlags::empty());
            broken(url, &error)
        })
    }

    fn remove(&self, url: &str) -> Result<(), Error> {
        let (parent, name) = self.place(url)?;
        unlinkat(&parent, name.as_str(), AtFlags::empty()).map_err(|errno| failed(url, errno))?;
        rustix::fs::fsync(&parent).map_err(|errno| failed(url, errno))
    }

    /// The directory that a URL leads to, and the name in it.
    fn place(&self, url: &str) -> Result<(OwnedFd, String), Error> {
        let mut names = names_in(url)?;
        let name = names.pop().unwrap_or_default();
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.root);
        made.map_err(|error| broken(url, &error))?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open(&self.root, flags, Mode::empty()).map_err(|errno| failed(url, errno))?;
        if names.is_empty() {
            return Ok((root, name));
        }
        let confined = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let parent = openat2(&root, names.join("/"), flags, Mode::empty(), confined);
        parent.map(|parent| (parent, name)).map_err(|errno| failed(url, errno))
    }

    fn fits(&self, url: &str, size: usize) -> Result<(), Error> {
        if size <= self.limit {
            return Ok(());
        }
        let message =
            format!("'{url}': the file has more than {} bytes, which no message may have", self.limit);
        Err(Error::protocol(ErrorTag::TooBig, message))
    }

    fn has_room(&self, url: &str, parent: &OwnedFd) -> Result<(), Error> {
        let entries = Dir::read_from(parent).map_err(|errno| failed(url, errno))?;
        if entries.count() < FILES_MAX {
            return Ok(());
        }
        let message = format!("'{url}': there are {FILES_MAX} files already: delete some by <delete-config>");
        Err(Error::protocol(ErrorTag::ResourceDenied, message))
    }
}

/// The steps of the path of a `file:` URL (RFC 8089), whose root is our directory.
fn names_in(url: &str) -> Result<Vec<String>, Error> {
    if url.len() > URL_MAX {
        let message = format!("the URL has {} bytes; at most {URL_MAX} are accepted", url.len());
        return Err(about_url(Error::protocol(ErrorTag::InvalidValue, message)));
    }
    let (scheme, rest) = url.split_once(':').unwrap_or_default();
    if !scheme.eq_ignore_ascii_case("file") {
        return Err(invalid(url, "only URLs of the scheme 'file' are supported, such as file:///backup.xml"));
    }
    let path = match rest.strip_prefix("//") {
        Some(authority) => authority.strip_prefix("localhost").unwrap_or(authority),
        None => rest,
    };
    let path = path
        .strip_prefix('/')
        .ok_or_else(|| invalid(url, "it names another host or no absolute path: write file:///NAME"))?;
    path.split('/').map(|step| name_of(step).map_err(|why| invalid(url, why))).collect()
}

fn name_of(step: &str) -> Result<String, &'static str> {
    if step.contains(['?', '#']) {
        return Err("'?' and '#' are written %3F and %23 in a name");
    }
    let name =
        decoded(step).ok_or("a percent sign is followed by two hexadecimal digits, and names are UTF-8")?;
    if name.is_empty() || name.starts_with('.') {
        return Err("no name in it may be empty or begin with a full stop");
    }
    if name.len() > 255 || name.chars().any(|c| c == '/' || c.is_control()) {
        return Err("a name has 255 bytes at most, no slash and no control character");
    }
    Ok(name)
}

fn decoded(step: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(step.len());
    let mut rest = step.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                let text = std::str::from_utf8(&digits).ok().filter(|text| !text.starts_with('+'))?;
                u8::from_str_radix(text, 16).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

fn about_url(error: Error) -> Error {
    error.with(ErrorInfo::BadElement("url".to_owned()))
}

fn invalid(url: &str, why: &str) -> Error {
    about_url(Error::protocol(ErrorTag::InvalidValue, format!("'{url}': {why}")))
}

/// What the system says of a name.
fn failed(url: &str, errno: Errno) -> Error {
    match errno {
        Errno::NOENT | Errno::NOTDIR => invalid(url, "there is no such file"),
        Errno::LOOP | Errno::XDEV => invalid(url, "a symbolic link is not followed"),
        Errno::ISDIR | Errno::PERM => invalid(url, "it is no plain file"),
        other => broken(url, &other.into()),
    }
}

fn broken(url: &str, error: &std::io::Error) -> Error {
    tracing::warn!(url, %error, "a file of a URL cannot be used");
    Error::protocol(ErrorTag::OperationFailed, format!("'{url}': {error}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a failed set-up is a failed test

    use super::*;
    use std::os::unix::fs::symlink;

    fn tag<T: std::fmt::Debug>(result: Result<T, Error>) -> ErrorTag {
        result.unwrap_err().tag
    }

    #[test]
    fn a_url_names_steps_below_the_directory() {
        assert_eq!(names_in("file:///a.xml").unwrap(), ["a.xml"]);
        assert_eq!(names_in("FILE://localhost/a/b%20c%C3%A9").unwrap(), ["a", "b c\u{e9}"]);
        assert_eq!(names_in("file:/a").unwrap(), ["a"]);
        let long = format!("file:///{}", "x".repeat(256));
        for bad in [
            "",
            "a.xml",
            "http://h/a",
            "file:a",
            "file://host/a",
            "file:///",
            "file:///a/",
            "file:///a//b",
            "file:///../a",
            "file:///a/../../b",
            "file:///%2e%2e/a",
            "file:///.",
            "file:///.hidden",
            "file:///a%2Fb",
            "file:///a%00",
            "file:///a%",
            "file:///a%+1",
            "file:///%ff",
            "file:///a?b",
            "file:///a#b",
            &long,
            &"file:///a/".repeat(200),
        ] {
            assert_eq!(tag(names_in(bad)), ErrorTag::InvalidValue, "{bad}");
        }
    }

    #[test]
    fn a_file_is_written_replaced_read_and_removed_and_nothing_else_is_left() {
        let place = tempfile::tempdir().unwrap();
        let directory = Directory { root: place.path().join("url"), limit: 100 };
        let url = "file:///a.xml";
        assert_eq!(tag(directory.read(url)), ErrorTag::InvalidValue);
        for text in ["one", "two"] {
            directory.write(url, Ticket(1), text.as_bytes()).unwrap();
            assert_eq!(directory.read(url).unwrap(), text);
        }
        assert_eq!(std::fs::read_dir(&directory.root).unwrap().count(), 1);
        directory.remove(url).unwrap();
        assert_eq!(tag(directory.remove(url)), ErrorTag::InvalidValue);
        assert_eq!(tag(directory.write(url, Ticket(1), &[0; 101])), ErrorTag::TooBig);
        std::fs::write(directory.root.join("a.xml"), [b'x'; 101]).unwrap();
        assert_eq!(tag(directory.read(url)), ErrorTag::TooBig);
    }

    #[test]
    fn no_link_leads_out_of_the_directory() {
        let place = tempfile::tempdir().unwrap();
        let directory = Directory { root: place.path().join("url"), limit: 100 };
        let (outside, secret) = (place.path().join("outside"), place.path().join("outside/secret"));
        std::fs::create_dir_all(&outside).unwrap();
        std::fs::create_dir_all(directory.root.join("sub")).unwrap();
        std::fs::write(&secret, "secret").unwrap();
        symlink(&secret, directory.root.join("link")).unwrap();
        symlink(&outside, directory.root.join("dir")).unwrap();
        for url in ["file:///link", "file:///dir/secret", "file:///sub", "file:///sub/none", "file:///none/a"]
        {
            assert_eq!(tag(directory.read(url)), ErrorTag::InvalidValue, "{url}");
        }
        for url in ["file:///dir/secret", "file:///dir/new", "file:///none/a"] {
            assert_eq!(tag(directory.write(url, Ticket(1), b"x")), ErrorTag::InvalidValue, "{url}");
            assert_eq!(tag(directory.remove(url)), ErrorTag::InvalidValue, "{url}");
        }
        // A link is replaced and removed itself; what it names stays.
        directory.write("file:///link", Ticket(1), b"mine").unwrap();
        assert_eq!(directory.read("file:///link").unwrap(), "mine");
        directory.write("file:///sub/a", Ticket(1), b"below").unwrap();
        assert_eq!(std::fs::read_to_string(&secret).unwrap(), "secret");
        assert_eq!(tag(directory.remove("file:///sub")), ErrorTag::InvalidValue);
    }
}
