//! How words of the rule language are compared, and which one a wrong word was meant to be.

/// Words with a place in the grammar, which no window may be called.
const RESERVED: [&str; 20] = [
    "IF",
    "THEN",
    "AND",
    "OR",
    "NOT",
    "IN",
    "TIME",
    "SET",
    "REDUCE",
    "BY",
    "CAP",
    "AT",
    "FLOOR",
    "SUPPRESS_UPDATES",
    "FLAG",
    "FLAGGED",
    "MS",
    "US",
    "S",
    crate::sma::calendar::ANY_MAINTENANCE,
];

/// Whether two words are the same: upper and lower case do not count, and `_` is like `-`.
pub(in crate::sma) fn alike(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().map(folded).eq(b.bytes().map(folded))
}

fn folded(byte: u8) -> u8 {
    if byte == b'-' { b'_' } else { byte.to_ascii_lowercase() }
}

/// Whether the word has a meaning of its own.
pub(in crate::sma) fn is_reserved(word: &str) -> bool {
    RESERVED.iter().any(|reserved| alike(reserved, word))
}

/// The candidate that `word` was probably meant to be: few letters away, the first of the nearest.
pub(super) fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = (word.len() / 3).clamp(1, 3);
    let mut best = None;
    for candidate in candidates {
        if word.len().abs_diff(candidate.len()) > allowed || alike(word, candidate) {
            continue;
        }
        let away = distance(word, candidate);
        if away <= allowed && best.is_none_or(|(least, _)| away < least) {
            best = Some((away, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// How many letters to change, insert, leave out or swap with the next one.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<u8> = b.bytes().map(folded).collect();
    let mut rows: [Vec<usize>; 3] = [Vec::new(), Vec::new(), (0..=b.len()).collect()];
    let mut before = None;
    for (place, letter) in a.bytes().map(folded).enumerate() {
        rows.rotate_left(1);
        let [swapped, above, row] = &mut rows;
        row.clear();
        row.push(place + 1);
        let mut left = None;
        for (column, other) in b.iter().enumerate() {
            let at = |row: &[usize], column: usize| row.get(column).copied().unwrap_or(usize::MAX - 1);
            let mut least = (at(above, column) + usize::from(letter != *other))
                .min(at(above, column + 1) + 1)
                .min(at(row, column) + 1);
            if left == Some(letter) && before == Some(*other) && column > 0 {
                least = least.min(at(swapped, column - 1) + 1);
            }
            row.push(least);
            left = Some(*other);
        }
        before = Some(letter);
    }
    let [_, _, last] = &rows;
    last.last().copied().unwrap_or(0)
}
