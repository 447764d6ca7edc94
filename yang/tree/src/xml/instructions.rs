//! The declaration of a document and its processing instructions, of which the parser lets more through than XML 1.0 does
//! (its sections 2.6 and 2.8) and Namespaces in XML.

use super::names::BLANKS;

/// What is wrong with `<?…?>`, which stands at the begin of the document or elsewhere.
pub(super) fn fault(whole: &str, at_begin: bool) -> Option<&'static str> {
    // Without its end the parser refuses it.
    let inner = whole.strip_prefix("<?")?.strip_suffix("?>")?;
    let (target, content) = inner.split_at(inner.find(BLANKS).unwrap_or(inner.len()));
    if target == "xml" && at_begin {
        return declaration(content);
    }
    if target.eq_ignore_ascii_case("xml") {
        return Some(
            "an XML declaration, or an instruction of that name, stands elsewhere than at the begin",
        );
    }
    let in_name = |c: char| !c.is_ascii() || c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    (!target.chars().all(in_name)).then_some("a processing instruction has no name without a colon")
}

/// What follows `<?xml` in the production `XMLDecl`. Which encoding it is stands elsewhere.
fn declaration(content: &str) -> Option<&'static str> {
    let Some((version, mut rest)) = field(content, "version") else {
        return Some("the XML declaration has no version");
    };
    let digits = version.strip_prefix("1.").unwrap_or_default();
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some("the XML declaration has another version than 1.0 or the like");
    }
    if let Some((_, behind)) = field(rest, "encoding") {
        rest = behind;
    }
    if let Some((standalone, behind)) = field(rest, "standalone") {
        if !matches!(standalone, "yes" | "no") {
            return Some("'standalone' of the XML declaration is neither 'yes' nor 'no'");
        }
        rest = behind;
    }
    let left = !rest.trim_start_matches(BLANKS).is_empty();
    left.then_some("the XML declaration holds more than version, encoding and standalone, in that order")
}

/// The value of ` NAME="VALUE"` that `text` begins with, and what follows it.
fn field<'a>(text: &'a str, name: &str) -> Option<(&'a str, &'a str)> {
    let behind = text.strip_prefix(BLANKS)?.trim_start_matches(BLANKS).strip_prefix(name)?;
    let value = behind.trim_start_matches(BLANKS).strip_prefix('=')?.trim_start_matches(BLANKS);
    let quote = value.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    value.get(1..)?.split_once(quote)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_declaration_has_a_version_and_perhaps_an_encoding_and_whether_it_stands_alone() {
        for good in [
            "version='1.0'",
            "version = \"1.1\" ",
            "version='1.0' encoding='UTF-8'",
            "version='1.0'\n encoding=\"utf-8\"\tstandalone='yes'",
            "version='1.0' standalone = 'no'\r\n",
        ] {
            for blank in [" ", "\t", "\r\n "] {
                assert_eq!(fault(&format!("<?xml{blank}{good}?>"), true), None, "{good}");
            }
        }
        for bad in [
            "",
            " ",
            " encoding='UTF-8'",
            " version='2.0'",
            " version='1.'",
            " version='1.x'",
            " version=1.0",
            " version='1.0' standalone='maybe'",
            " version='1.0' standalone='YES'",
            " version='1.0' standalone=''",
            " version='1.0'standalone='yes'",
            " version='1.0' standalone='yes' encoding='UTF-8'",
            " version='1.0' version='1.0'",
            " version='1.0' more='1'",
            " version='1.0\"",
        ] {
            assert!(fault(&format!("<?xml{bad}?>"), true).is_some(), "{bad}");
        }
    }

    #[test]
    fn an_instruction_has_a_name_of_its_own() {
        for good in ["<?a?>", "<?a b='1'?>", "<?xml-stylesheet href=''?>", "<?ä\n?>", "<?a", "<?a?"] {
            assert_eq!(fault(good, true), None, "{good}");
            assert_eq!(fault(good, false), None, "{good}");
        }
        for bad in ["<?XML version='1.0'?>", "<?xMl?>", "<?a:b?>", "<?a\"b\"?>", "<?a=b?>"] {
            assert!(fault(bad, true).is_some(), "{bad}");
        }
        assert!(fault("<?xml version='1.0'?>", false).is_some());
    }
}
