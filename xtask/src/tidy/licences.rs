//! The licences of the dependencies, held against the list in `deny.toml`, so that the law is checked where
//! cargo-deny is not installed.

use crate::tree::TextFile;

/// A dependency and its licence expression.
pub(crate) struct Licensed {
    pub(crate) name: String,
    pub(crate) licence: Option<String>,
}

/// Checks that each dependency may be used under licences of the list.
pub(crate) fn check(dependencies: &[Licensed], files: &[TextFile]) -> Vec<String> {
    let Some(list) = files.iter().find(|f| f.path.as_os_str() == "deny.toml") else {
        return vec!["deny.toml: it is not there; it lists the licences".to_owned()];
    };
    let allowed = allowed(&list.text);
    let refused =
        dependencies.iter().filter(|d| !d.licence.as_deref().is_some_and(|l| satisfied(l, &allowed)));
    refused
        .map(|d| {
            let licence = d.licence.as_deref().unwrap_or("no licence");
            format!("Cargo.lock: {} has {licence}, which deny.toml does not allow; use another crate", d.name)
        })
        .collect()
}

/// The strings of the array `allow` under `[licenses]`.
fn allowed(toml: &str) -> Vec<String> {
    let section = toml.split("[licenses]").nth(1).unwrap_or_default();
    let array = section.split("allow = [").nth(1).and_then(|rest| rest.split(']').next()).unwrap_or_default();
    array.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Whether an SPDX expression can be met: one of its alternatives has only allowed licences. `AND` binds closer
/// than `OR`; the old slash is an `OR`.
fn satisfied(expression: &str, allowed: &[String]) -> bool {
    let expression = expression.replace('/', " OR ");
    let mut alternatives = split_outside(&expression, " OR ");
    if alternatives.len() > 1 {
        return alternatives.iter().any(|part| satisfied(part, allowed));
    }
    alternatives = split_outside(&expression, " AND ");
    if alternatives.len() > 1 {
        return alternatives.iter().all(|part| satisfied(part, allowed));
    }
    let one = expression.trim();
    match one.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
        Some(inner) => satisfied(inner, allowed),
        None => allowed.iter().any(|licence| licence == one),
    }
}

/// Splits at a separator that stands outside of parentheses.
fn split_outside(text: &str, separator: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut depth = 0i32;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if depth == 0
            && let Some(after) = rest.strip_prefix(separator)
        {
            parts.push(String::new());
            rest = after;
            continue;
        }
        depth += i32::from(c == '(') - i32::from(c == ')');
        if let Some(last) = parts.last_mut() {
            last.push(c);
        }
        rest = rest.get(c.len_utf8()..).unwrap_or_default();
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meets(expression: &str) -> bool {
        satisfied(expression, &["MIT".to_owned(), "Apache-2.0".to_owned(), "Unicode-3.0".to_owned()])
    }

    #[test]
    fn one_allowed_alternative_is_enough_and_every_part_of_a_sum_is_needed() {
        assert!(meets("MIT OR GPL-3.0"));
        assert!(meets("GPL-3.0/MIT"));
        assert!(meets("(MIT OR GPL-3.0) AND Unicode-3.0"));
        assert!(!meets("MIT AND GPL-3.0"));
        assert!(!meets("MPL-2.0"));
    }

    #[test]
    fn the_list_is_read_from_its_section() {
        let toml = "[bans]\nallow = [\"no\"]\n[licenses]\nallow = [\n  \"MIT\",\n  \"ISC\",\n]\n[sources]\n";
        assert_eq!(allowed(toml), ["MIT", "ISC"]);
    }
}
