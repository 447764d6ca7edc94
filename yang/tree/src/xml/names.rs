//! A look at a document before it is parsed: how many names its elements bring. A parser compares each attribute of an
//! element with the others, and keeps for each element with declarations all namespaces in scope there, so that time and
//! memory grow with the square of what a peer sends.

/// An element may have so many attributes, and so many namespaces may be in scope where it stands.
pub const MAX_NAMES: usize = 512;

/// The namespaces that are declared, each times those in scope there, may be so many over a document.
const MAX_SCOPES: usize = 1 << 26;

/// The byte at which an element stands that brings more names than a document may have. What is not well-formed is
/// left to the parser.
pub fn too_many_names(xml: &str) -> Option<usize> {
    // The namespaces in scope in each element that is open.
    let mut open: Vec<usize> = Vec::new();
    let (mut scopes, mut at) = (0_usize, 0);
    while let Some(start) = xml.get(at..).and_then(|rest| rest.find('<')).map(|offset| at + offset) {
        let rest = xml.get(start..).unwrap_or_default();
        let behind = |marker: &str| rest.find(marker).map_or(rest.len(), |offset| offset + marker.len());
        let length = if rest.starts_with("<!--") {
            behind("-->")
        } else if rest.starts_with("<![CDATA[") {
            behind("]]>")
        } else if rest.starts_with("<?") {
            behind("?>")
        } else if rest.starts_with("</") {
            open.pop();
            behind(">")
        } else {
            let tag = Tag::read(rest);
            let scope = open.last().copied().unwrap_or_default() + tag.declared;
            scopes = scopes.saturating_add(tag.declared * scope);
            if tag.attributes.max(scope) > MAX_NAMES || scopes > MAX_SCOPES {
                return Some(start);
            }
            if !tag.empty {
                open.push(scope);
            }
            tag.length
        };
        at = start + length;
    }
    None
}

/// A start tag.
#[derive(Default)]
struct Tag {
    length: usize,
    /// Declarations of namespaces too.
    attributes: usize,
    declared: usize,
    empty: bool,
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
                (None, b'x') if before.is_ascii_whitespace() && declares(text, at) => tag.declared += 1,
                (None, _) => {}
            }
            before = byte;
        }
        tag
    }
}

fn declares(text: &str, at: usize) -> bool {
    let name = text.get(at..).and_then(|rest| rest.strip_prefix("xmlns"));
    name.is_some_and(|rest| {
        rest.starts_with([':', '=']) || rest.starts_with(|c: char| c.is_ascii_whitespace())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declarations(count: usize) -> String {
        (0..count).map(|n| format!(" xmlns:p{n}='u{n}'")).collect()
    }

    #[test]
    fn an_element_has_so_many_attributes_and_no_more() {
        let with = |count: usize| {
            let attributes: String = (0..count).map(|n| format!(" a{n}='>= xmlns:b='")).collect();
            format!("<!-- <c{attributes} d=''> --><a><b{attributes}/></a>")
        };
        assert_eq!(too_many_names(&with(MAX_NAMES)), None);
        let crowded = with(MAX_NAMES + 1);
        assert_eq!(too_many_names(&crowded), crowded.find("<b"));
    }

    #[test]
    fn namespaces_count_while_they_are_in_scope() {
        let half = declarations(MAX_NAMES / 2);
        let siblings = format!("<a{half}><b{half}/><c{half}></c></a>");
        assert_eq!(too_many_names(&siblings), None);
        let nested = format!("<a{half}><b{half}><c xmlns='u'/></b></a>");
        assert_eq!(too_many_names(&nested), nested.find("<c"));
    }

    #[test]
    fn declarations_below_many_others_are_bounded_over_a_document() {
        let many = declarations(MAX_NAMES - 1);
        let wide = |count: usize| format!("<a{many}>{}</a>", "<b xmlns='u'/>".repeat(count));
        assert_eq!(too_many_names(&wide(100_000)), None);
        assert!(too_many_names(&wide(MAX_SCOPES / MAX_NAMES)).is_some());
    }
}
