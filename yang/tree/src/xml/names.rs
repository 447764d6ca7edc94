//! A look at a document before it is parsed, tag by tag: how many names its elements bring, and what of names the parser
//! lets through or reads as something else. A parser compares each attribute of an element with the others, and keeps
//! for each element with declarations all namespaces in scope there, so that time and memory grow with the square of what
//! a peer sends.

use super::Unread;
use super::instructions;

/// An element may have so many attributes, and so many namespaces may be in scope where it stands.
const MAX_NAMES: usize = 512;

/// The namespaces that are declared, each times those in scope there, may be so many over a document.
const MAX_SCOPES: usize = 1 << 26;

/// What else is not well-formed is left to the parser.
pub(super) fn look(xml: &str) -> Result<(), Unread> {
    // The namespaces in scope in each element that is open.
    let mut open: Vec<usize> = Vec::new();
    let (mut scopes, mut at) = (0_usize, 0);
    while let Some(start) = xml.get(at..).and_then(|rest| rest.find('<')).map(|offset| at + offset) {
        let rest = xml.get(start..).unwrap_or_default();
        let behind = |marker: &str| rest.find(marker).map_or(rest.len(), |offset| offset + marker.len());
        let mut fault = None;
        let length = if rest.starts_with("<!--") {
            behind("-->")
        } else if rest.starts_with("<![CDATA[") {
            behind("]]>")
        } else if rest.starts_with("<?") {
            let length = behind("?>");
            fault = instructions::fault(rest.get(..length).unwrap_or_default(), is_begin(xml, start));
            length
        } else if rest.starts_with("</") {
            open.pop();
            fault = rest.starts_with("</:").then_some(NO_PREFIX);
            behind(">")
        } else {
            let tag = Tag::read(rest);
            let scope = open.last().copied().unwrap_or_default() + tag.declared;
            scopes = scopes.saturating_add(tag.declared * scope);
            if tag.attributes.max(scope) > MAX_NAMES || scopes > MAX_SCOPES {
                return Err(Unread::TooBig(format!(
                    "too many attributes or namespaces at byte {start}: an element may have {MAX_NAMES}"
                )));
            }
            if !tag.empty {
                open.push(scope);
            }
            fault = tag.fault;
            tag.length
        };
        if let Some(fault) = fault {
            return Err(Unread::Malformed(format!("{fault}, at byte {start}")));
        }
        at = start + length;
    }
    Ok(())
}

/// Does the document begin there, but for a byte order mark?
fn is_begin(xml: &str, at: usize) -> bool {
    xml.get(..at).is_some_and(|before| before.trim_start_matches('\u{feff}').is_empty())
}

const NO_PREFIX: &str = "a name begins with a colon";

/// A start tag.
#[derive(Default)]
struct Tag {
    length: usize,
    /// Declarations of namespaces too.
    attributes: usize,
    declared: usize,
    empty: bool,
    /// It declares a default namespace.
    has_default: bool,
    /// What Namespaces in XML does not allow, and the parser does.
    fault: Option<&'static str>,
}

impl Tag {
    fn read(text: &str) -> Self {
        let mut tag = Self::default();
        let (mut quote, mut before) = (None, b' ');
        for (at, byte) in text.bytes().enumerate() {
            tag.length = at + 1;
            match (quote, byte) {
                (Some(open), _) if open == byte => quote = None,
                (Some(_), _) => {}
                (None, b'"' | b'\'') => quote = Some(byte),
                (None, b'=') => tag.attributes += 1,
                (None, b'>') => {
                    tag.empty = before == b'/';
                    break;
                }
                (None, b'x') if before.is_ascii_whitespace() => {
                    tag.declare(text.get(at..).unwrap_or_default())
                }
                (None, b':') => tag.colon(before, text.get(at + 1..).unwrap_or_default()),
                (None, _) => {}
            }
            before = byte;
        }
        tag
    }

    /// Takes the attribute that `text` begins with, if it declares a namespace.
    fn declare(&mut self, text: &str) {
        let Some(rest) = text.strip_prefix("xmlns") else { return };
        let Some(prefixed) = rest.strip_prefix(':') else {
            if ends_name(rest) {
                self.declared += 1;
                if std::mem::replace(&mut self.has_default, true) {
                    self.fault = Some("an element declares two default namespaces");
                }
            }
            return;
        };
        self.declared += 1;
        // Not beyond this attribute: of the next one the same is asked.
        let (prefix, rest) =
            prefixed.split_at(prefixed.find([' ', '\t', '\n', '\r', '=', '>']).unwrap_or_default());
        let value = rest.trim_start_matches(BLANKS).strip_prefix('=').unwrap_or_default();
        if prefix == "xmlns" {
            self.fault = Some("the prefix 'xmlns' is declared");
        } else if matches!(value.trim_start_matches(BLANKS).get(..2), Some("\"\"" | "''")) {
            self.fault = Some("a prefix is declared for no namespace");
        }
    }

    /// Takes a colon in a name.
    fn colon(&mut self, before: u8, rest: &str) {
        if before.is_ascii_whitespace() || before == b'<' {
            self.fault = Some(NO_PREFIX);
        } else if rest.strip_prefix("xmlns").is_some_and(ends_name) {
            // The parser takes it for a default namespace, whatever its prefix.
            self.fault = Some("an attribute with a prefix has the name 'xmlns'");
        }
    }
}

/// White space as XML has it.
pub(super) const BLANKS: [char; 4] = [' ', '\t', '\n', '\r'];

fn ends_name(rest: &str) -> bool {
    rest.starts_with('=') || rest.starts_with(BLANKS)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The byte that it is refused at for too many names.
    fn too_many(xml: &str) -> Option<usize> {
        let Err(Unread::TooBig(why)) = look(xml) else { return None };
        why.split_once("byte ")?.1.split_once(':')?.0.parse().ok()
    }

    fn declarations(count: usize) -> String {
        (0..count).map(|n| format!(" xmlns:p{n}='u{n}'")).collect()
    }

    #[test]
    fn an_element_has_so_many_attributes_and_no_more() {
        let with = |count: usize| {
            let attributes: String = (0..count).map(|n| format!(" a{n}='>= xmlns:b='")).collect();
            format!("<!-- <c{attributes} d=''> --><a><b{attributes}/></a>")
        };
        assert_eq!(too_many(&with(MAX_NAMES)), None);
        let crowded = with(MAX_NAMES + 1);
        assert_eq!(too_many(&crowded), crowded.find("<b"));
    }

    #[test]
    fn namespaces_count_while_they_are_in_scope() {
        let half = declarations(MAX_NAMES / 2);
        let siblings = format!("<a{half}><b{half}/><c{half}></c></a>");
        assert_eq!(too_many(&siblings), None);
        let nested = format!("<a{half}><b{half}><c xmlns='u'/></b></a>");
        assert_eq!(too_many(&nested), nested.find("<c"));
    }

    #[test]
    fn declarations_below_many_others_are_bounded_over_a_document() {
        let many = declarations(MAX_NAMES - 1);
        let wide = |count: usize| format!("<a{many}>{}</a>", "<b xmlns='u'/>".repeat(count));
        assert_eq!(too_many(&wide(100_000)), None);
        assert!(too_many(&wide(MAX_SCOPES / MAX_NAMES)).is_some());
    }

    #[test]
    fn what_namespaces_do_not_allow_is_refused_wherever_a_tag_may_stand() {
        for bad in [
            "<a xmlns:xmlns='u'/>",
            "<a xmlns:xmlns = 'http://www.w3.org/2000/xmlns/'/>",
            "<a xmlns:b=''/>",
            "<a\nxmlns:b\t=\r\"\"/>",
            "<a xmlns='u' xmlns='v'/>",
            "<a xmlns='u' b='' xmlns\n=''/>",
            "<a b:xmlns='u' xmlns:b='v'/>",
            "<a xmlns:b='v' b:xmlns ='u'/>",
            "<:a/>",
            "<a :b=''/>",
        ] {
            for xml in [bad.to_owned(), format!("<r><!-- <s> --><s x='>'>{bad}</s></r>")] {
                assert!(matches!(look(&xml), Err(Unread::Malformed(_))), "{xml}");
            }
        }
        assert!(matches!(look("<a></:a>"), Err(Unread::Malformed(_))));
    }

    #[test]
    fn what_namespaces_allow_is_let_through_and_so_is_what_only_looks_like_a_fault() {
        for good in [
            "<a xmlns=''/>",
            "<a xmlns='u'><a xmlns='v'/></a>",
            "<a xmlns:b=' '/>",
            "<a xmlns:b='u' b:c='' b:xmlnsd='' xmlnsx=''/>",
            "<a b=' xmlns:xmlns=\"u\" :c '> xmlns:b='' :d <![CDATA[<:a xmlns:xmlns=''>]]></a>",
            "<a><!-- <:a xmlns:b=''/> --><?b <:a xmlns:b=''/> ?></a>",
        ] {
            assert!(look(good).is_ok(), "{good}");
            assert!(roxmltree::Document::parse(good).is_ok(), "{good}");
        }
    }
}
