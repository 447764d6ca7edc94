//! `<hello>`, both ends (RFC 6241 section 8.1).

use crate::framing::Framing;
use crate::names::{BASE, BASE_1_0, BASE_1_1};
use crate::reply::escape_text;
use cats_yang_tree::xml;
use roxmltree::Node;
use thiserror::Error;

/// Why a hello ends the session.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum HelloError {
    /// Not UTF-8 or not XML.
    #[error("the hello is not well-formed: {0}")]
    Malformed(String),
    /// Something else came first, such as an rpc.
    #[error("<{0}> before <hello>")]
    NotHello(String),
    /// The server refuses the session and says why.
    #[error("refused by the server: {0}")]
    Refused(Box<cats_yang_tree::error::Error>),
    /// RFC 6241 section 8.1: a client must not send one.
    #[error("the client's hello carries a session-id")]
    SessionIdFromClient,
    /// A server must send one, of 1 to 4294967295.
    #[error("the server's hello carries no valid session-id")]
    NoSessionId,
    /// Neither base:1.0 nor base:1.1 is in both hellos.
    #[error("the peer has no base capability in common with us (base:1.0 or base:1.1)")]
    NoCommonBase,
}

/// A peer's hello.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hello {
    /// Capability URIs in order, trimmed.
    pub capabilities: Vec<String>,
    /// A server's.
    pub session_id: Option<u32>,
}

impl Hello {
    /// Parses a message.
    ///
    /// # Errors
    /// It is no hello.
    pub fn parse(message: &[u8]) -> Result<Self, HelloError> {
        let text = std::str::from_utf8(message).map_err(|error| HelloError::Malformed(error.to_string()))?;
        let document = xml::parse(text).map_err(|error| HelloError::Malformed(error.message))?;
        let root = document.root_element();
        if !root.has_tag_name((BASE, "hello")) {
            return Err(HelloError::NotHello(root.tag_name().name().to_owned()));
        }
        let text = |node: Node<'_, '_>| node.text().unwrap_or_default().trim().to_owned();
        let capabilities = root
            .children()
            .filter(|node| node.has_tag_name((BASE, "capabilities")))
            .flat_map(|node| node.children())
            .filter(|node| node.has_tag_name((BASE, "capability")))
            .map(text)
            .collect();
        let session_id = root.children().find(|node| node.has_tag_name((BASE, "session-id"))).map(text);
        // A session-id that is no number is one all the same: 0 is never valid.
        let session_id = session_id.map(|text| text.parse().unwrap_or(0));
        Ok(Self { capabilities, session_id })
    }

    /// Its XML text.
    pub fn to_xml(&self) -> String {
        let mut out = format!("<hello xmlns=\"{BASE}\"><capabilities>");
        for capability in &self.capabilities {
            out.push_str(&format!("<capability>{}</capability>", escape_text(capability)));
        }
        out.push_str("</capabilities>");
        if let Some(id) = self.session_id {
            out.push_str(&format!("<session-id>{id}</session-id>"));
        }
        out.push_str("</hello>");
        out
    }

    /// The framing after both hellos: chunked if both have base:1.1.
    ///
    /// # Errors
    /// No base capability is common.
    pub fn agree(&self, ours: &[String]) -> Result<Framing, HelloError> {
        let common = |base: &str| {
            self.capabilities.iter().any(|capability| capability == base)
                && ours.iter().any(|own| own == base)
        };
        if common(BASE_1_1) {
            Ok(Framing::Chunked)
        } else if common(BASE_1_0) {
            Ok(Framing::EndOfMessage)
        } else {
            Err(HelloError::NoCommonBase)
        }
    }
}
