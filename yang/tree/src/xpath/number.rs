//! Numbers and their texts (XPath 1.0 sections 3.5, 4.2 and 4.4).

/// `number()` of a string: blanks around, an optional minus, digits with at most one point; all else is NaN.
pub(super) fn parse(text: &str) -> f64 {
    let text = text.trim_matches([' ', '\t', '\n', '\r']);
    let digits = text.strip_prefix('-').unwrap_or(text);
    let mut points = 0;
    let mut any = false;
    for byte in digits.bytes() {
        match byte {
            b'0'..=b'9' => any = true,
            b'.' => points += 1,
            _ => return f64::NAN,
        }
    }
    if !any || points > 1 {
        return f64::NAN;
    }
    text.parse().unwrap_or(f64::NAN)
}

/// `string()` of a number: no exponent, no point in integers, as many digits as tell it from its neighbours.
pub(super) fn text(number: f64) -> String {
    if number.is_nan() {
        "NaN".to_owned()
    } else if number.is_infinite() {
        if number > 0.0 { "Infinity".to_owned() } else { "-Infinity".to_owned() }
    } else if number == 0.0 {
        // Negative zero too.
        "0".to_owned()
    } else {
        number.to_string()
    }
}

/// `round()`: the nearest integer, of two the greater.
pub(super) fn round(number: f64) -> f64 {
    if (-0.5..0.0).contains(&number) {
        return -0.0;
    }
    let floor = number.floor();
    // Adding a half first would round 0.49999999999999994 up.
    if number - floor >= 0.5 { floor + 1.0 } else { floor }
}

/// `boolean()` of a number.
pub(super) fn truth(number: f64) -> bool {
    number != 0.0 && !number.is_nan()
}

#[cfg(test)]
mod tests {
    use super::{parse, round, text};

    #[test]
    fn numbers_become_the_texts_of_the_recommendation() {
        let cases = [
            (0.0, "0"),
            (-0.0, "0"),
            (1.0, "1"),
            (-7.0, "-7"),
            (0.5, "0.5"),
            (-0.1, "-0.1"),
            (1e21, "1000000000000000000000"),
            (1e-7, "0.0000001"),
            (1.0 / 3.0, "0.3333333333333333"),
            (123456789.125, "123456789.125"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "Infinity"),
            (f64::NEG_INFINITY, "-Infinity"),
        ];
        for (number, expected) in cases {
            assert_eq!(text(number), expected);
        }
    }

    #[test]
    fn only_texts_of_the_grammar_are_numbers() {
        for (words, expected) in
            [("1", 1.0), (" -2.50\n", -2.5), (".5", 0.5), ("5.", 5.0), ("-.5", -0.5), ("007", 7.0)]
        {
            assert_eq!(parse(words), expected, "{words:?}");
        }
        for words in
            ["", " ", "-", ".", "+1", "1e3", "0x10", "1 2", "--1", "1.2.3", "inf", "NaN", "- 1", "１"]
        {
            assert!(parse(words).is_nan(), "{words:?}");
        }
    }

    #[test]
    fn halves_round_up_also_below_zero() {
        for (number, expected) in [
            (0.5, 1.0),
            (1.5, 2.0),
            (2.4, 2.0),
            (-1.5, -1.0),
            (-2.6, -3.0),
            (0.49999999999999994, 0.0),
            (4503599627370497.0, 4503599627370497.0),
        ] {
            assert_eq!(round(number), expected, "{number}");
        }
        assert!(round(-0.5).is_sign_negative() && round(-0.5) == 0.0);
        assert!(round(f64::NAN).is_nan() && round(f64::INFINITY).is_infinite());
    }
}
