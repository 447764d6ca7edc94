//! Configurations in files (the capability `:url`, RFC 6241 section 8.8): what waits for a file that is read or written
//! elsewhere. Each user has files of its own, so what is in them is as if it had stood in the request.

use crate::core::Core;
use crate::output::Output;
use crate::reading::Reading;
use crate::types::{Config, Now, Reply, Request, SessionId, Source, Target, Ticket};
use cats_yang_tree::error::{Error, ErrorInfo, ErrorTag};
use std::collections::BTreeMap;

/// Sessions that wait for a file; each has one request in progress.
#[derive(Debug, Clone, Default)]
pub(crate) struct Files {
    waiting: BTreeMap<Ticket, Waiting>,
}

#[derive(Debug, Clone)]
struct Waiting {
    session: SessionId,
    /// What is to be done with the configuration of the file; none when the file was the aim.
    request: Option<Request>,
}

impl Files {
    pub(crate) fn forget(&mut self, session: SessionId) {
        self.waiting.retain(|_, waiting| waiting.session != session);
    }
}

impl Core {
    /// Asks for the file that `request` takes its configuration from. None: it waits for that now.
    pub(crate) fn fetch_first(
        &mut self,
        session: SessionId,
        mut request: Request,
    ) -> Result<Option<Request>, Vec<Error>> {
        let Some((config, read_as)) = request.config_mut() else { return Ok(Some(request)) };
        let Some(url) = config.url().map(str::to_owned) else { return Ok(Some(request)) };
        if let Request::CopyConfig { target: Target::Url(target), source: Source::Config(_), .. } = &request
            && *target == url
        {
            let message = format!("source and target are both '{url}'");
            let error = Error::protocol(ErrorTag::InvalidValue, message);
            return Err(vec![error.with(ErrorInfo::BadElement("url".to_owned()))]);
        }
        let ticket = self.wait_for_file(session, Some(request));
        let user = self.user_of(session);
        self.outputs.push_back(Output::Fetch { ticket, user, url, read_as });
        Ok(None)
    }

    /// The answer to an [`Output::Fetch`].
    pub fn handle_fetched(&mut self, ticket: Ticket, result: Result<Config, Error>, now: Now) {
        let Some(Waiting { session, request: Some(mut request) }) = self.files.waiting.remove(&ticket) else {
            return;
        };
        match (result, request.config_mut()) {
            (Ok(fetched), Some((config, _))) => {
                *config = fetched;
                self.carry_out(session, request, now);
            }
            (Ok(_), None) => {}
            (Err(error), _) => self.reply(session, Err(vec![error])),
        }
    }

    /// The answer to an [`Output::Store`] or an [`Output::Remove`].
    pub fn handle_stored(&mut self, ticket: Ticket, result: Result<(), Error>) {
        let Some(Waiting { session, request: None }) = self.files.waiting.remove(&ticket) else { return };
        self.reply(session, result.map(|()| Reply::Ok).map_err(|error| vec![error]));
    }

    pub(crate) fn store(&mut self, session: SessionId, url: String, content: Reading) {
        let ticket = self.wait_for_file(session, None);
        let user = self.user_of(session);
        self.outputs.push_back(Output::Store { ticket, user, url, content });
    }

    pub(crate) fn remove(&mut self, session: SessionId, url: String) {
        let ticket = self.wait_for_file(session, None);
        let user = self.user_of(session);
        self.outputs.push_back(Output::Remove { ticket, user, url });
    }

    fn wait_for_file(&mut self, session: SessionId, request: Option<Request>) -> Ticket {
        let ticket = self.ticket();
        self.files.waiting.insert(ticket, Waiting { session, request });
        ticket
    }
}
