//! Instance paths in the form of RFC 7951 section 6.11.

use crate::change::ApplyError;

/// One step: the member name as JSON has it, and predicates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The member name.
    pub member: String,
    /// `(key, value)`; the key is `.` for a leaf-list entry.
    pub predicates: Vec<(String, String)>,
}

/// Splits a path at its slashes and brackets.
pub(crate) fn parse(path: &str) -> Result<Vec<Step>, ApplyError> {
    let mut reader = Reader { path, at: 0 };
    let mut steps = Vec::new();
    while !reader.rest().is_empty() {
        reader.expect("/", "a slash")?;
        let member = reader.name("a node name")?;
        let mut predicates = Vec::new();
        while reader.rest().starts_with('[') {
            reader.expect("[", "a bracket")?;
            let key = if reader.rest().starts_with('.') {
                reader.expect(".", "a dot")?;
                ".".to_owned()
            } else {
                let name = reader.name("a key name")?;
                name.split_once(':').map_or(name.clone(), |(_, key)| key.to_owned())
            };
            reader.expect("=", "an equals sign")?;
            predicates.push((key, reader.value()?));
            reader.expect("]", "a closing bracket")?;
        }
        steps.push(Step { member, predicates });
    }
    Ok(steps)
}

struct Reader<'a> {
    path: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        self.path.get(self.at..).unwrap_or_default()
    }

    fn fail<T>(&self, expected: &'static str) -> Result<T, ApplyError> {
        Err(ApplyError::MalformedPath { path: self.path.to_owned(), offset: self.at, expected })
    }

    fn expect(&mut self, token: &str, what: &'static str) -> Result<(), ApplyError> {
        if !self.rest().starts_with(token) {
            return self.fail(what);
        }
        self.at += token.len();
        Ok(())
    }

    fn name(&mut self, what: &'static str) -> Result<String, ApplyError> {
        let rest = self.rest();
        let end = rest.find(['/', '[', ']', '=', '\'', '"']).unwrap_or(rest.len());
        let name = rest.get(..end).unwrap_or_default().trim();
        if name.is_empty() {
            return self.fail(what);
        }
        self.at += end;
        Ok(name.to_owned())
    }

    /// A quoted value; one with quotes of both kinds is a `concat` of such.
    fn value(&mut self) -> Result<String, ApplyError> {
        if !self.rest().starts_with("concat(") {
            return self.quoted();
        }
        self.expect("concat(", "a concatenation")?;
        let mut value = self.quoted()?;
        while self.rest().starts_with(',') {
            self.expect(",", "a comma")?;
            value.push_str(&self.quoted()?);
        }
        self.expect(")", "a comma or a closing parenthesis")?;
        Ok(value)
    }

    fn quoted(&mut self) -> Result<String, ApplyError> {
        let rest = self.rest();
        let Some(quote) = rest.chars().next().filter(|c| matches!(c, '\'' | '"')) else {
            return self.fail("a quoted value");
        };
        let inner = rest.get(1..).unwrap_or_default();
        let Some(end) = inner.find(quote) else { return self.fail("a closing quote") };
        self.at += end + 2;
        Ok(inner.get(..end).unwrap_or_default().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slashes_and_brackets_in_values_split_nothing() {
        let steps = parse("/m:a/list[k='x/[y]'][n:j=\"it's\"]/ll[.='']").unwrap();
        assert_eq!(steps.len(), 3);
        assert_eq!(steps[0].member, "m:a");
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(steps[1].predicates, [pair("k", "x/[y]"), pair("j", "it's")]);
        assert_eq!(steps[2].predicates, [pair(".", "")]);
    }

    #[test]
    fn a_value_with_both_quotes_is_put_together() {
        let steps = parse("/m:a/ll[.=concat('x',\"'\",'\"y')]").unwrap();
        assert_eq!(steps[1].predicates, [(".".to_owned(), "x'\"y".to_owned())]);
        assert!(parse("/a[.=concat('x'").is_err() && parse("/a[.=concat('x' 'y')]").is_err());
    }

    #[test]
    fn a_malformed_path_is_refused_at_its_octet() {
        for (path, at) in
            [("a", 0), ("/", 1), ("/a[", 3), ("/a[k", 4), ("/a[k=", 5), ("/a[k='x", 5), ("/a[k='x'", 8)]
        {
            match parse(path) {
                Err(ApplyError::MalformedPath { offset, .. }) => assert_eq!(offset, at, "{path}"),
                other => panic!("{path}: {other:?}"),
            }
        }
    }
}
