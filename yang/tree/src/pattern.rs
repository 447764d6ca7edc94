//! XML Schema regular expressions (RFC 7950 section 9.4.5) in the syntax of the crate `regex`.

use regex::{Regex, RegexBuilder};
use std::iter::Peekable;
use std::str::Chars;

/// NameStartChar of XML 1.0: what `\i` means.
const NAME_START: &str = r":A-Z_a-z\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{2FF}\x{370}-\x{37D}\x{37F}-\x{1FFF}\x{200C}-\x{200D}\x{2070}-\x{218F}\x{2C00}-\x{2FEF}\x{3001}-\x{D7FF}\x{F900}-\x{FDCF}\x{FDF0}-\x{FFFD}\x{10000}-\x{EFFFF}";
/// What NameChar of XML 1.0 has besides.
const NAME_MORE: &str = r"\-.0-9\x{B7}\x{300}-\x{36F}\x{203F}-\x{2040}";

/// The blocks of `\p{Is…}` that YANG modules use.
const BLOCKS: [(&str, &str); 6] = [
    ("IsBasicLatin", r"\x{0}-\x{7F}"),
    ("IsLatin-1Supplement", r"\x{80}-\x{FF}"),
    ("IsLatinExtended-A", r"\x{100}-\x{17F}"),
    ("IsLatinExtended-B", r"\x{180}-\x{24F}"),
    ("IsGreek", r"\x{370}-\x{3FF}"),
    ("IsCyrillic", r"\x{400}-\x{4FF}"),
];

/// The memory in octets that a pattern of a module may take once compiled.
const LARGE: usize = 64 << 20;
/// That of a pattern which a peer sends.
pub(crate) const SMALL: usize = 256 << 10;

/// Compiles an XML Schema pattern, which always matches whole strings.
pub(crate) fn compile(pattern: &str) -> Result<Regex, String> {
    compile_within(pattern, LARGE)
}

/// Does all of `text` match a pattern that a peer has sent? One that cannot be read, or would take too much, matches
/// nothing.
pub fn matches(pattern: &str, text: &str) -> bool {
    compile_within(pattern, SMALL).is_ok_and(|regex| regex.is_match(text))
}

/// As [`compile`], if the result takes at most `limit` octets.
pub(crate) fn compile_within(pattern: &str, limit: usize) -> Result<Regex, String> {
    let mut translator = Translator { input: pattern.chars().peekable(), out: String::from(r"\A(?:") };
    translator.outside()?;
    translator.out.push_str(r")\z");
    let built = RegexBuilder::new(&translator.out).size_limit(limit).build();
    built.map_err(|error| error.to_string().lines().last().unwrap_or_default().to_owned())
}

struct Translator<'a> {
    input: Peekable<Chars<'a>>,
    out: String,
}

impl Translator<'_> {
    fn outside(&mut self) -> Result<(), String> {
        while let Some(c) = self.input.next() {
            match c {
                '\\' => self.escape(false)?,
                '[' => self.class()?,
                '.' => self.out.push_str(r"[^\n\r]"),
                '^' | '$' => self.out.extend(['\\', c]),
                '(' if self.input.peek() == Some(&'?') => return Err("'(?' is no XML Schema syntax".into()),
                _ => self.out.push(c),
            }
        }
        Ok(())
    }

    /// The part of a class after its `[`, up to and with its `]`.
    fn class(&mut self) -> Result<(), String> {
        self.out.push('[');
        if self.input.next_if_eq(&'^').is_some() {
            self.out.push('^');
        }
        let mut first = true;
        while let Some(c) = self.input.next() {
            match c {
                ']' => {
                    self.out.push(']');
                    return Ok(());
                }
                '-' if self.input.peek() == Some(&'[') => {
                    self.input.next();
                    self.out.push_str("--");
                    self.class()?;
                }
                '-' if first || self.input.peek() == Some(&']') => self.out.push_str(r"\-"),
                '\\' => self.escape(true)?,
                '[' | '&' | '~' | '^' => self.out.extend(['\\', c]),
                _ => self.out.push(c),
            }
            first = false;
        }
        Err("a character class lacks its ']'".into())
    }

    fn escape(&mut self, in_class: bool) -> Result<(), String> {
        let Some(c) = self.input.next() else {
            return Err("a '\\' at the end escapes nothing".into());
        };
        let (negated, set) = match c {
            'i' => (false, NAME_START.to_owned()),
            'I' => (true, NAME_START.to_owned()),
            'c' => (false, format!("{NAME_START}{NAME_MORE}")),
            'C' => (true, format!("{NAME_START}{NAME_MORE}")),
            's' => (false, r" \t\n\r".to_owned()),
            'S' => (true, r" \t\n\r".to_owned()),
            'w' => (true, r"\p{P}\p{Z}\p{C}".to_owned()),
            'W' => (false, r"\p{P}\p{Z}\p{C}".to_owned()),
            'p' | 'P' => (c == 'P', self.property()?),
            _ => {
                self.out.extend(['\\', c]);
                return Ok(());
            }
        };
        match (in_class, negated) {
            (true, false) => self.out.push_str(&set),
            (_, true) => self.out.push_str(&format!("[^{set}]")),
            (false, false) => self.out.push_str(&format!("[{set}]")),
        }
        Ok(())
    }

    fn property(&mut self) -> Result<String, String> {
        let mut name = String::new();
        if self.input.next() != Some('{') {
            return Err("\\p needs a name in braces".into());
        }
        for c in self.input.by_ref() {
            if c == '}' {
                return match BLOCKS.iter().find(|(block, _)| *block == name) {
                    Some((_, set)) => Ok((*set).to_owned()),
                    None if name.starts_with("Is") => Err(format!("unknown block '{name}'")),
                    None => Ok(format!(r"\p{{{name}}}")),
                };
            }
            name.push(c);
        }
        Err("\\p lacks its '}'".into())
    }
}

#[cfg(test)]
mod tests {
    use super::compile;

    #[test]
    fn a_pattern_matches_whole_strings_only_and_carets_are_literal() {
        let regex = compile("a^b|c$").expect("translates");
        assert!(regex.is_match("a^b") && regex.is_match("c$"));
        assert!(!regex.is_match("c") && !regex.is_match("xa^b"));
    }

    #[test]
    fn name_escapes_classes_and_subtraction_are_translated() {
        let name = compile(r"\i\c*").expect("translates");
        assert!(name.is_match("if-1.x") && !name.is_match("1x"));
        let vowels = compile(r"[a-z-[aeiou]]+").expect("translates");
        assert!(vowels.is_match("xyz") && !vowels.is_match("xaz"));
        let letters = compile(r"[\p{L}\-_&&~]+").expect("translates");
        assert!(letters.is_match("é-_&~") && !letters.is_match("1"));
        assert!(compile(r"\p{IsBasicLatin}{2}").expect("translates").is_match("ab"));
        assert!(compile(r"\p{IsKlingon}").is_err() && compile("[a").is_err() && compile("(?i)a").is_err());
    }

    #[test]
    fn patterns_of_the_internet_types_work() {
        let v4 = r"(([0-9]|[1-9][0-9]|1[0-9][0-9]|2[0-4][0-9]|25[0-5])\.){3}([0-9]|[1-9][0-9]|1[0-9][0-9]|2[0-4][0-9]|25[0-5])(%[\p{N}\p{L}]+)?";
        let regex = compile(v4).expect("translates");
        assert!(regex.is_match("192.0.2.1%eth0") && !regex.is_match("192.0.2.256"));
        assert!(compile(r"\d{4}-\d{2}-\d{2}T.*").expect("translates").is_match("2026-11-29T00:00:00Z"));
    }
}
