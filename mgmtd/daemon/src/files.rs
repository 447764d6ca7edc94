//! The files that `file:` URLs name (RFC 6241 section 8.8): those of the user's own directory below the state directory,
//! and no others. Neither `..` nor a symbolic link leads out of it; the kernel sees to that while it resolves a name.

mod name;
mod store;

use crate::args::Args;
use crate::hub::{HubSender, Input};
use crate::limits::Limits;
use crate::session::config_of;
use cats_mgmtd_core::{Config, ReadAs, Reading, Ticket};
use cats_mgmtd_netconf::names::BASE;
use cats_yang_tree::error::{Error, ErrorTag};
use cats_yang_tree::schema::Schema;
use cats_yang_tree::xml;
use std::sync::{Arc, Mutex, PoisonError};
pub(crate) use store::Space;
use store::Store;
use tokio::sync::watch;

/// Reads, writes and deletes files, each on a thread that may block. Their number is bounded by that of the sessions,
/// which have one request in progress each.
#[derive(Debug, Clone)]
pub(crate) struct Files {
    store: Arc<Store>,
    limits: watch::Receiver<Limits>,
    /// A file may be as big as a message, and they are read one after the other.
    turns: Arc<Mutex<()>>,
    schema: Arc<Schema>,
    hub: HubSender,
}

impl Files {
    /// In the state directory, in a directory that is made when it is needed; none bigger than a message may be, and all
    /// within `limits`.
    pub(crate) fn new(
        args: &Args,
        limits: watch::Receiver<Limits>,
        schema: Arc<Schema>,
        hub: HubSender,
    ) -> Self {
        let store = Store::new(args.state_dir.join("url"), args.message_limits().message);
        store.survey();
        Self { store: Arc::new(store), limits, turns: Arc::default(), schema, hub }
    }

    pub(crate) fn fetch(&self, ticket: Ticket, (user, url): (String, String), read_as: ReadAs) {
        self.run(move |files| {
            let _turn = files.turns.lock().unwrap_or_else(PoisonError::into_inner);
            let text = files.store.read(&user, &url);
            Input::Fetched { ticket, result: text.and_then(|text| files.config(&url, text, read_as)) }
        });
    }

    pub(crate) fn store(&self, ticket: Ticket, (user, url): (String, String), content: Reading) {
        self.run(move |files| {
            let view = content.view(&files.schema).map_err(first_of);
            let result = view.and_then(|view| {
                let begin = format!("<config xmlns=\"{BASE}\">");
                let pieces = std::iter::once(begin).chain(view.pieces()).chain(["</config>\n".to_owned()]);
                let space = files.limits.borrow().space;
                files.store.write((&user, &url), ticket, space, pieces)
            });
            Input::Stored { ticket, result }
        });
    }

    pub(crate) fn remove(&self, ticket: Ticket, (user, url): (String, String)) {
        self.run(move |files| Input::Stored { ticket, result: files.store.remove(&user, &url) });
    }

    fn run(&self, work: impl FnOnce(&Files) -> Input + Send + 'static) {
        let files = self.clone();
        // The answer goes to the hub; one that is gone waits for none.
        drop(tokio::task::spawn_blocking(move || drop(files.hub.blocking_send(work(&files)))));
    }

    /// The file must hold one `<config>` element (RFC 6241 section 8.8.5).
    fn config(&self, url: &str, text: String, read_as: ReadAs) -> Result<Config, Error> {
        let document = xml::parse(&text).map_err(|error| name::invalid(url, &error.message))?;
        if !document.root_element().has_tag_name((BASE, "config")) {
            let name = document.root_element().tag_name().name();
            return Err(name::invalid(url, &format!("the file holds <{name}>, not <config> of '{BASE}'")));
        }
        drop(document);
        Ok(config_of(text, &self.schema, read_as))
    }
}

/// The first of the errors for which a configuration cannot be read.
fn first_of(errors: Vec<Error>) -> Error {
    let unsaid = || Error::application(ErrorTag::OperationFailed, "the configuration cannot be read");
    errors.into_iter().next().unwrap_or_else(unsaid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_error_is_told_and_none_is_an_error_too() {
        let errors = ["a", "b"].map(|what| Error::application(ErrorTag::InvalidValue, what));
        assert_eq!(first_of(errors.to_vec()), errors[0]);
        assert_eq!(first_of(Vec::new()).tag, ErrorTag::OperationFailed);
    }
}
