//! Words that may be those of others, such as what a peer says of itself.

use serde_json::{Value, json};

/// The text as a string of YANG, which has no control characters but a few (RFC 7950 section 9.4): a value that is none
/// would cost its reader all the rest.
pub(super) fn text(words: &str) -> Value {
    let fit = |c: char| match c {
        '\t' | '\n' | '\r' => true,
        '\u{fdd0}'..='\u{fdef}' => false,
        c => c >= ' ' && u32::from(c) & 0xfffe != 0xfffe,
    };
    json!(words.chars().map(|c| if fit(c) { c } else { char::REPLACEMENT_CHARACTER }).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_character_of_yang_is_replaced() {
        assert_eq!(
            text("a\tb\u{1}\u{1b}[2J\u{ffff}\u{1fffe}\u{fdd0}\u{7f}"),
            json!("a\tb\u{fffd}\u{fffd}[2J\u{fffd}\u{fffd}\u{fffd}\u{7f}")
        );
    }
}
