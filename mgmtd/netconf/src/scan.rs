//! A look at a message before it is parsed: how deep its elements nest, and what its first start tag says.

/// The deepest nesting of elements, as far as start and end tags can be told without a parser; what is not well
/// formed is left for the parser to refuse.
pub(crate) fn depth(xml: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0_usize);
    let mut rest = xml;
    while let Some((_, tag)) = rest.split_once('<') {
        rest = if let Some(comment) = tag.strip_prefix("!--") {
            behind(comment, "-->")
        } else if let Some(cdata) = tag.strip_prefix("![CDATA[") {
            behind(cdata, "]]>")
        } else if let Some(instruction) = tag.strip_prefix('?') {
            behind(instruction, "?>")
        } else if let Some(end) = tag.strip_prefix('/') {
            depth = depth.saturating_sub(1);
            end
        } else {
            let (body, next) = start_tag(tag);
            if !body.ends_with('/') {
                depth += 1;
                deepest = deepest.max(depth);
            } else {
                deepest = deepest.max(depth + 1);
            }
            next
        };
    }
    deepest
}

fn behind<'a>(text: &'a str, marker: &str) -> &'a str {
    text.split_once(marker).map_or("", |(_, rest)| rest)
}

/// A start tag without its angle brackets, and what follows it.
fn start_tag(text: &str) -> (&str, &str) {
    let mut quote = None;
    for (at, byte) in text.bytes().enumerate() {
        match (quote, byte) {
            (Some(open), close) if open == close => quote = None,
            (Some(_), _) => {}
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, b'>') => {
                return (text.get(..at).unwrap_or_default(), text.get(at + 1..).unwrap_or_default());
            }
            (None, _) => {}
        }
    }
    (text, "")
}

/// The attributes of the first start tag in `head`, if that is whole, as an empty element `<x ATTRIBUTES/>`: what
/// can still be said of a message that was too big to keep.
pub(crate) fn first_tag(head: &[u8]) -> Option<String> {
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(head.get(..error.valid_up_to())?).ok()?,
    };
    let mut rest = text;
    loop {
        let (_, tag) = rest.split_once('<')?;
        if let Some(skipped) = tag.strip_prefix("!--") {
            rest = skipped.split_once("-->")?.1;
        } else if let Some(skipped) = tag.strip_prefix('?') {
            rest = skipped.split_once("?>")?.1;
        } else {
            let (body, after) = start_tag(tag);
            let whole = body.len() < tag.len() || !after.is_empty();
            return whole.then(|| format!("<{}/>", body.trim_end_matches('/')));
        }
    }
}

/// The start tag of an `<rpc>` that [`brings_configuration`] looks behind has so many bytes at most.
const START_TAG: usize = 16 << 10;

/// Does the `<rpc>` hold an operation that brings a configuration, as far as that can be told without a parser? None when
/// it has no operation, or a start tag that a parser refuses soon enough.
pub(crate) fn brings_configuration(xml: &str) -> Option<bool> {
    const BRING: [&str; 4] = ["edit-config", "copy-config", "validate", "edit-data"];
    let mut rest = xml;
    let mut rpc = true;
    loop {
        let (_, tag) = rest.split_once('<')?;
        if let Some(comment) = tag.strip_prefix("!--") {
            rest = behind(comment, "-->");
        } else if let Some(instruction) = tag.strip_prefix('?') {
            rest = behind(instruction, "?>");
        } else if std::mem::take(&mut rpc) {
            let (body, behind) = start_tag(tag);
            if body.len() > START_TAG {
                return None;
            }
            rest = behind;
        } else {
            let name = tag.split(|c: char| c.is_ascii_whitespace() || c == '>' || c == '/').next()?;
            let local = name.rsplit(':').next()?;
            return Some(BRING.contains(&local));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_that_brings_a_configuration_is_told_by_its_name() {
        let of = |inner: &str| {
            brings_configuration(&format!("<?xml version='1.0'?><!-- <get/> --><n:rpc a='>'>{inner}"))
        };
        for inner in [
            "<edit-config>",
            " <!-- <get> --><n:edit-config\n x=''",
            "<copy-config/>",
            "<validate>",
            "<d:edit-data>",
        ] {
            assert_eq!(of(inner), Some(true), "{inner}");
        }
        for inner in
            ["<get><edit-config>", "<get-config>", "<edit-configs>", "<edit-config:get>", "</edit-config"]
        {
            assert_eq!(of(inner), Some(false), "{inner}");
        }
        assert_eq!(of("  "), None);
        assert_eq!(brings_configuration(&format!("<rpc a='{}'><get/>", "x".repeat(START_TAG))), None);
        assert_eq!(brings_configuration("no xml"), None);
    }

    #[test]
    fn depth_counts_elements_and_not_what_looks_like_one() {
        assert_eq!(depth("<a/>"), 1);
        assert_eq!(depth("<a><b x='>'/><c><d/></c></a>"), 3);
        assert_eq!(depth("<a><!-- <b><c> --><![CDATA[<d><e>]]></a>"), 1);
    }

    #[test]
    fn the_first_tag_is_found_behind_a_declaration_and_only_when_whole() {
        let head = b"<?xml version=\"1.0\"?><rpc message-id=\"7\"><edit";
        assert_eq!(first_tag(head).as_deref(), Some("<rpc message-id=\"7\"/>"));
        assert_eq!(first_tag(b"<rpc message-id=\"7"), None);
    }
}
