//! The directories that the files lie in: one for each user, which no name leads out of, and with bounds.

use super::name::{home_of, invalid, names_in};
use crate::recorder::is_full;
use cats_mgmtd_core::Ticket;
use cats_yang_tree::error::{Error, ErrorTag};
use rustix::fs::{
    AtFlags, Dir, Mode, OFlags, ResolveFlags, mkdirat, openat, openat2, renameat, statat, unlinkat,
};
use rustix::io::Errno;
use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The bounds of the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Space {
    /// Bytes of all users.
    pub(crate) total: u64,
    /// Bytes of one user.
    pub(crate) per_user: u64,
}

/// Files in one directory that a client may make.
const FILES_MAX: usize = 1024;

/// The space is looked up in directories nested so deep.
const NESTED: usize = 8;

#[derive(Debug)]
pub(super) struct Store {
    root: PathBuf,
    /// Of one file, bytes.
    limit: usize,
    /// Held while the space is looked at and taken.
    writing: Mutex<()>,
}

/// Where a URL of a user leads.
struct Place {
    parent: OwnedFd,
    name: String,
}

impl Store {
    pub(super) fn new(root: PathBuf, limit: usize) -> Self {
        Self { root, limit, writing: Mutex::new(()) }
    }

    /// Removes what a crash left half written, and tells of files that no user can reach.
    pub(super) fn survey(&self) {
        let Ok(entries) = std::fs::read_dir(&self.root) else { return };
        let mut ownerless = 0;
        for entry in entries.flatten() {
            if !entry.file_name().as_encoded_bytes().starts_with(b"~") {
                ownerless += 1;
                continue;
            }
            for left in std::fs::read_dir(entry.path()).into_iter().flatten().flatten() {
                let name = left.file_name();
                if name.as_encoded_bytes().starts_with(b".") && name.as_encoded_bytes().ends_with(b".new") {
                    // What stays takes space, and nothing else.
                    let _ = std::fs::remove_file(left.path());
                }
            }
        }
        if ownerless > 0 {
            let directory = self.root.display();
            tracing::warn!(
                %directory,
                ownerless,
                "files of URLs that no user can reach: each user has a directory of its own there, such as ~admin; \
                 move them into it"
            );
        }
    }

    pub(super) fn read(&self, user: &str, url: &str) -> Result<String, Error> {
        let Place { parent, name } = self.place(user, url)?;
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
        if bytes.len() > self.limit {
            return Err(self.too_big(url));
        }
        String::from_utf8(bytes).map_err(|_| invalid(url, "the file is not UTF-8"))
    }

    /// Replaces a file whole, or makes it, from pieces that come one after the other.
    pub(super) fn write(
        &self,
        (user, url): (&str, &str),
        ticket: Ticket,
        space: Space,
        pieces: impl Iterator<Item = String>,
    ) -> Result<(), Error> {
        let writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let place = self.place(user, url)?;
        let room = self.room(user, url, &place, space)?;
        let Place { parent, name } = place;
        let beside = format!(".{}.new", ticket.0);
        // A crash may have left one.
        let _ = unlinkat(&parent, beside.as_str(), AtFlags::empty());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = openat(&parent, beside.as_str(), flags, Mode::RUSR | Mode::WUSR)
            .map_err(|errno| failed(url, errno))?;
        let done = self.fill(url, File::from(file), room, pieces).and_then(|()| {
            renameat(&parent, beside.as_str(), &parent, name.as_str())
                .and_then(|()| rustix::fs::fsync(&parent))
                .map_err(|errno| broken(url, &errno.into()))
        });
        drop(writing);
        done.inspect_err(|_| {
            let _ = unlinkat(&parent, beside.as_str(), AtFlags::empty());
        })
    }

    fn fill(
        &self,
        url: &str,
        file: File,
        room: u64,
        pieces: impl Iterator<Item = String>,
    ) -> Result<(), Error> {
        let mut file = BufWriter::new(file);
        let mut size = 0;
        for piece in pieces {
            size += piece.len() as u64;
            if size > self.limit as u64 {
                return Err(self.too_big(url));
            }
            if size > room {
                return Err(full(url));
            }
            file.write_all(piece.as_bytes()).map_err(|error| broken(url, &error))?;
        }
        let file = file.into_inner().map_err(|error| broken(url, error.error()))?;
        file.sync_all().map_err(|error| broken(url, &error))
    }

    pub(super) fn remove(&self, user: &str, url: &str) -> Result<(), Error> {
        let Place { parent, name } = self.place(user, url)?;
        unlinkat(&parent, name.as_str(), AtFlags::empty()).map_err(|errno| failed(url, errno))?;
        rustix::fs::fsync(&parent).map_err(|errno| failed(url, errno))
    }

    /// The directory that a URL of `user` leads to, and the name in it.
    fn place(&self, user: &str, url: &str) -> Result<Place, Error> {
        let mut names = names_in(url)?;
        let name = names.pop().unwrap_or_default();
        let home = home_of(user)?;
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.root);
        made.map_err(|error| broken(url, &error))?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open(&self.root, flags, Mode::empty()).map_err(|errno| failed(url, errno))?;
        match mkdirat(&root, home.as_str(), Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(failed(url, errno)),
        }
        let confined = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let open = |from: &OwnedFd, path: &str| {
            openat2(from, path, flags, Mode::empty(), confined).map_err(|errno| failed(url, errno))
        };
        let home = open(&root, &home)?;
        let parent = if names.is_empty() { home } else { open(&home, &names.join("/"))? };
        Ok(Place { parent, name })
    }

    fn too_big(&self, url: &str) -> Error {
        let message =
            format!("'{url}': the file has more than {} bytes, which no message may have", self.limit);
        Error::protocol(ErrorTag::TooBig, message)
    }

    /// How many bytes the file may have: what it has now is room too.
    fn room(&self, user: &str, url: &str, place: &Place, space: Space) -> Result<u64, Error> {
        let present = statat(&place.parent, place.name.as_str(), AtFlags::SYMLINK_NOFOLLOW).ok();
        if present.is_none() && visible(&place.parent).map_err(|errno| failed(url, errno))? >= FILES_MAX {
            let message =
                format!("'{url}': there are {FILES_MAX} files already: delete some by <delete-config>");
            return Err(Error::protocol(ErrorTag::ResourceDenied, message));
        }
        let present = present.and_then(|stat| u64::try_from(stat.st_size).ok()).unwrap_or_default();
        let free = |bound: u64, path: &Path| bound.saturating_sub(used(path, NESTED).saturating_sub(present));
        let own = free(space.per_user, &self.root.join(home_of(user)?));
        Ok(own.min(free(space.total, &self.root)))
    }
}

/// How many files there are that a URL can name.
fn visible(parent: &OwnedFd) -> Result<usize, Errno> {
    let entries = Dir::read_from(parent)?;
    Ok(entries.flatten().filter(|entry| !entry.file_name().to_bytes().starts_with(b".")).count())
}

/// Bytes of the files at and below a directory. Links are not followed.
fn used(directory: &Path, nested: usize) -> u64 {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let size = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(data) if data.is_dir() && nested > 0 => used(&entry.path(), nested - 1),
        Ok(data) if data.is_file() => data.len(),
        Ok(_) | Err(_) => 0,
    };
    entries.map(size).fold(0, u64::saturating_add)
}

fn full(url: &str) -> Error {
    let message = format!(
        "'{url}': there is no room for the file: delete others by <delete-config>, or give more room in cats-system"
    );
    Error::protocol(ErrorTag::ResourceDenied, message)
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
    let tag = match is_full(error) {
        true => ErrorTag::ResourceDenied,
        false => ErrorTag::OperationFailed,
    };
    Error::protocol(tag, format!("'{url}': {error}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a failed set-up is a failed test

    use super::*;
    use std::os::unix::fs::symlink;

    const ADA: &str = "ada";
    const SPACE: Space = Space { total: 10_000, per_user: 1000 };

    fn tag<T: std::fmt::Debug>(result: Result<T, Error>) -> ErrorTag {
        result.unwrap_err().tag
    }

    fn store(place: &tempfile::TempDir) -> Store {
        Store::new(place.path().join("url"), 100)
    }

    fn write(store: &Store, user: &str, url: &str, text: &str) -> Result<(), Error> {
        store.write((user, url), Ticket(1), SPACE, [text.to_owned()].into_iter())
    }

    #[test]
    fn a_file_is_written_replaced_read_and_removed_and_nothing_else_is_left() {
        let place = tempfile::tempdir().unwrap();
        let store = store(&place);
        let url = "file:///a.xml";
        assert_eq!(tag(store.read(ADA, url)), ErrorTag::InvalidValue);
        for text in ["one", "two"] {
            write(&store, ADA, url, text).unwrap();
            assert_eq!(store.read(ADA, url).unwrap(), text);
        }
        assert_eq!(std::fs::read_dir(store.root.join("~ada")).unwrap().count(), 1);
        assert_eq!(tag(write(&store, ADA, url, &"x".repeat(101))), ErrorTag::TooBig);
        assert_eq!(store.read(ADA, url).unwrap(), "two", "a failure leaves what there was");
        assert_eq!(std::fs::read_dir(store.root.join("~ada")).unwrap().count(), 1);
        store.remove(ADA, url).unwrap();
        assert_eq!(tag(store.remove(ADA, url)), ErrorTag::InvalidValue);
        std::fs::write(store.root.join("~ada/a.xml"), [b'x'; 101]).unwrap();
        assert_eq!(tag(store.read(ADA, url)), ErrorTag::TooBig);
    }

    #[test]
    fn a_user_reaches_its_own_files_and_nobody_elses() {
        let place = tempfile::tempdir().unwrap();
        let store = store(&place);
        write(&store, ADA, "file:///a.xml", "of ada").unwrap();
        std::fs::write(store.root.join("old.xml"), "of nobody").unwrap();
        for url in ["file:///a.xml", "file:///~ada/a.xml", "file:///old.xml", "file:///url/old.xml"] {
            assert_eq!(tag(store.read("bob", url)), ErrorTag::InvalidValue, "{url}");
            assert_eq!(tag(store.remove("bob", url)), ErrorTag::InvalidValue, "{url}");
        }
        write(&store, "bob", "file:///a.xml", "of bob").unwrap();
        assert_eq!(store.read(ADA, "file:///a.xml").unwrap(), "of ada");
    }

    #[test]
    fn the_space_of_a_user_and_of_all_is_bounded_and_what_is_replaced_gives_its_own_back() {
        let place = tempfile::tempdir().unwrap();
        let store = store(&place);
        let hundred = "x".repeat(100);
        let name = |n: usize| format!("file:///{n}");
        (0..10).for_each(|n| write(&store, ADA, &name(n), &hundred).unwrap());
        assert_eq!(tag(write(&store, ADA, &name(10), "x")), ErrorTag::ResourceDenied);
        write(&store, ADA, &name(0), &hundred).unwrap();
        write(&store, "bob", &name(0), &hundred).unwrap();
        let tight = Space { total: 1150, per_user: 1000 };
        let more =
            |text: &str| store.write(("bob", "file:///1"), Ticket(1), tight, [text.to_owned()].into_iter());
        assert_eq!(tag(more(&"x".repeat(51))), ErrorTag::ResourceDenied);
        more(&"x".repeat(50)).unwrap();
        store.remove(ADA, &name(0)).unwrap();
        more(&hundred).unwrap();
    }

    #[test]
    fn only_a_new_file_counts_against_the_number_of_files() {
        let place = tempfile::tempdir().unwrap();
        let store = store(&place);
        write(&store, ADA, "file:///0", "x").unwrap();
        (1..FILES_MAX).for_each(|n| std::fs::write(store.root.join(format!("~ada/{n}")), "").unwrap());
        write(&store, ADA, "file:///0", "y").unwrap();
        assert_eq!(tag(write(&store, ADA, "file:///new", "x")), ErrorTag::ResourceDenied);
        store.remove(ADA, "file:///1").unwrap();
        write(&store, ADA, "file:///new", "x").unwrap();
    }

    #[test]
    fn what_a_crash_left_half_written_is_removed() {
        let place = tempfile::tempdir().unwrap();
        let store = store(&place);
        write(&store, ADA, "file:///a", "x").unwrap();
        std::fs::write(store.root.join("~ada/.7.new"), "half").unwrap();
        store.survey();
        let names: Vec<_> = std::fs::read_dir(store.root.join("~ada")).unwrap().flatten().collect();
        assert_eq!(names.iter().map(|entry| entry.file_name()).collect::<Vec<_>>(), ["a"]);
    }

    #[test]
    fn no_link_leads_out_of_the_directory() {
        let place = tempfile::tempdir().unwrap();
        let store = store(&place);
        let home = store.root.join("~ada");
        let (outside, secret) = (place.path().join("outside"), place.path().join("outside/secret"));
        std::fs::create_dir_all(&outside).unwrap();
        std::fs::create_dir_all(home.join("sub")).unwrap();
        std::fs::write(&secret, "secret").unwrap();
        symlink(&secret, home.join("link")).unwrap();
        symlink(&outside, home.join("dir")).unwrap();
        symlink(&outside, store.root.join("~bob")).unwrap();
        for url in ["file:///link", "file:///dir/secret", "file:///sub", "file:///sub/none", "file:///none/a"]
        {
            assert_eq!(tag(store.read(ADA, url)), ErrorTag::InvalidValue, "{url}");
        }
        for url in ["file:///dir/secret", "file:///dir/new", "file:///none/a"] {
            assert_eq!(tag(write(&store, ADA, url, "x")), ErrorTag::InvalidValue, "{url}");
            assert_eq!(tag(store.remove(ADA, url)), ErrorTag::InvalidValue, "{url}");
        }
        assert_eq!(tag(store.read("bob", "file:///secret")), ErrorTag::InvalidValue);
        // A link is replaced and removed itself; what it names stays.
        write(&store, ADA, "file:///link", "mine").unwrap();
        assert_eq!(store.read(ADA, "file:///link").unwrap(), "mine");
        write(&store, ADA, "file:///sub/a", "below").unwrap();
        assert_eq!(std::fs::read_to_string(&secret).unwrap(), "secret");
        assert_eq!(tag(store.remove(ADA, "file:///sub")), ErrorTag::InvalidValue);
    }
}
