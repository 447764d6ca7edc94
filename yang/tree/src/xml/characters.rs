//! A look at a document before it is parsed: the characters and the encoding that XML 1.0 and NETCONF do not allow, and
//! that a parser of `&str` lets through or reads as something else.

/// Why `xml` is no document in UTF-8 of characters that XML 1.0 allows (its sections 2.2 and 4.3.3). What else is not
/// well-formed is left to the parser.
pub(super) fn fault(xml: &str) -> Option<String> {
    encoding(xml).or_else(|| literal(xml)).or_else(|| referred(xml))
}

/// RFC 6241 section 3: all messages are in UTF-8, whatever a declaration says.
fn encoding(xml: &str) -> Option<String> {
    let declaration = xml.trim_start_matches('\u{feff}').strip_prefix("<?xml")?;
    let (declaration, _) = declaration.split_once("?>")?;
    let (_, named) = declaration.split_once("encoding")?;
    let named = named.trim_start().strip_prefix('=')?.trim_start();
    let name = named.get(1..)?.split(['"', '\'']).next()?;
    let other = !name.eq_ignore_ascii_case("UTF-8");
    other.then(|| format!("the encoding is declared as '{}': send UTF-8", name.escape_debug()))
}

/// A character that stands there itself.
fn literal(xml: &str) -> Option<String> {
    // U+FFFE and U+FFFF begin so.
    let suspect = |byte: u8| (byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r')) || byte == 0xef;
    if !xml.bytes().any(suspect) {
        return None;
    }
    let (at, found) = xml.char_indices().find(|(_, c)| !is_allowed(u32::from(*c)))?;
    Some(format!("XML allows no character U+{:04X}, which stands at byte {at}", u32::from(found)))
}

/// A character that is written as a number, outside of what is no markup.
fn referred(xml: &str) -> Option<String> {
    if !xml.contains("&#") {
        return None;
    }
    let mut at = 0;
    while let Some(start) = xml.get(at..).and_then(|rest| rest.find(['<', '&'])).map(|offset| at + offset) {
        let rest = xml.get(start..).unwrap_or_default();
        let behind = |marker: &str| rest.find(marker).map_or(rest.len(), |offset| offset + marker.len());
        at = start
            + if rest.starts_with("<!--") {
                behind("-->")
            } else if rest.starts_with("<![CDATA[") {
                behind("]]>")
            } else if rest.starts_with("<?") {
                behind("?>")
            } else {
                1
            };
        if let Some(number) = rest.strip_prefix("&#").and_then(number_at)
            && !is_allowed(number)
        {
            return Some(format!("XML allows no character U+{number:04X}, to which byte {start} refers"));
        }
    }
    None
}

/// None for what is no number, or above all that 32 bits hold: the parser refuses both.
fn number_at(text: &str) -> Option<u32> {
    let end = text.bytes().position(|byte| !byte.is_ascii_alphanumeric())?;
    let digits = text.get(..end)?;
    match digits.strip_prefix('x') {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => digits.parse().ok(),
    }
}

/// The production `Char`.
fn is_allowed(code: u32) -> bool {
    matches!(code, 0x9 | 0xa | 0xd | 0x20..=0xd7ff | 0xe000..=0xfffd | 0x10000..=0x10_ffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_xml_does_not_allow_is_found_in_content_and_attributes_as_itself_and_as_a_number() {
        let numbers = ["&#xD800;", "&#55296;", "&#xFFFE;", "&#65535;", "&#0;", "&#x1;", "&#x110000;"];
        for bad in numbers.into_iter().chain(["\u{fffe}", "\u{ffff}", "\u{1}", "\0", "\u{1f}"]) {
            for xml in
                [format!("<a>b{bad}c</a>"), format!("<a b='{bad}'/>"), format!("<a><!-- --> {bad}</a>")]
            {
                assert!(fault(&xml).is_some(), "{xml:?}");
            }
        }
        for bad in ["\u{fffe}", "\u{1}"] {
            for xml in [format!("<a><![CDATA[{bad}]]></a>"), format!("<a><!--{bad}--></a>")] {
                assert!(fault(&xml).is_some(), "{xml:?}");
            }
        }
    }

    #[test]
    fn what_xml_allows_is_let_through() {
        let good =
            ["&#9;&#10;&#xd;\t\n\r", "\u{fffd}\u{feff}\u{fdd0}\u{10ffff}", "&#xFFFD;&#x10000;&#x10FFFF;"];
        let text = ["<![CDATA[&#xD800;]]>", "<!--&#xD800;-->", "<?pi &#xD800;?>"];
        for good in good.into_iter().chain(text) {
            assert_eq!(fault(&format!("<a>{good}</a>")), None, "{good:?}");
        }
    }

    #[test]
    fn no_other_encoding_than_utf_8_is_taken() {
        for (declared, other) in [
            ("encoding=\"UTF-8\"", false),
            ("encoding = 'utf-8' standalone='yes'", false),
            ("", false),
            ("encoding=\"ISO-8859-1\"", true),
            ("encoding='UTF-16'", true),
            ("encoding=\"US-ASCII\"", true),
        ] {
            for mark in ["", "\u{feff}"] {
                let xml = format!("{mark}<?xml version=\"1.0\" {declared}?><a>encoding='x'</a>");
                assert_eq!(fault(&xml).is_some(), other, "{xml}");
            }
        }
    }
}
