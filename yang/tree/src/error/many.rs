//! The errors of one request, of which a bounded number is told.

use super::{Error, ErrorTag};

/// So many errors are told in one answer; a last one says how many more there are.
pub const MOST: usize = 100;

/// The `error-app-tag` of that last one.
const MORE: &str = "more-errors";

/// Errors as they are found: the first [`MOST`], and how many followed.
#[derive(Debug, Clone, Default)]
pub struct Errors {
    first: Vec<Error>,
    more: usize,
    /// How many there are more is not to be told.
    hides_number: bool,
}

impl Errors {
    /// These, and so many more.
    pub(crate) fn of(first: Vec<Error>, more: usize) -> Self {
        Self { first, more, hides_number: false }
    }

    /// Adds one, which is made only if it is to be told.
    pub fn push_with(&mut self, error: impl FnOnce() -> Error) {
        if self.first.len() < MOST {
            self.first.push(error());
        } else {
            self.more = self.more.saturating_add(1);
        }
    }

    /// Adds one; one that counts others adds those.
    pub fn push(&mut self, error: Error) {
        match counted(&error) {
            None => self.push_with(|| error),
            Some(Some(more)) => self.more = self.more.saturating_add(more),
            Some(None) => self.hides_number = true,
        }
    }

    /// None yet?
    pub fn is_empty(&self) -> bool {
        self.first.is_empty() && self.more == 0 && !self.hides_number
    }

    /// From now on it is only told that there are more, if there are.
    pub fn hide_number(&mut self) {
        self.hides_number |= self.more > 0;
    }

    /// In the order in which they came, with a last one that counts what is not told.
    pub fn into_vec(self) -> Vec<Error> {
        let Self { mut first, more, hides_number } = self;
        match more {
            _ if hides_number => first.push(more_errors("")),
            0 => {}
            more => first.push(more_errors(&format!("{more} "))),
        }
        first
    }
}

impl Extend<Error> for Errors {
    fn extend<I: IntoIterator<Item = Error>>(&mut self, errors: I) {
        errors.into_iter().for_each(|error| self.push(error));
    }
}

/// What of `errors`, from one place or from several, is told in one answer.
pub fn in_one_answer(errors: Vec<Error>) -> Vec<Error> {
    let mut told = Errors::default();
    told.extend(errors);
    told.into_vec()
}

const BEFORE: &str = "there are ";
const AFTER: &str = "more errors, which are not told: correct these first";

fn more_errors(number: &str) -> Error {
    Error::application(ErrorTag::OperationFailed, format!("{BEFORE}{number}{AFTER}")).app_tag(MORE)
}

/// Does an error only say that there are others?
pub fn counts_others(error: &Error) -> bool {
    counted(error).is_some()
}

/// How many others an error stands for, if it does and tells it.
fn counted(error: &Error) -> Option<Option<usize>> {
    let more = error.app_tag.as_deref() == Some(MORE);
    let number = || error.message.strip_prefix(BEFORE)?.strip_suffix(AFTER)?.trim_end().parse().ok();
    more.then(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(n: usize) -> Error {
        Error::application(ErrorTag::InvalidValue, n.to_string())
    }

    #[test]
    fn the_first_errors_are_told_and_the_others_counted() {
        let mut errors = Errors::default();
        (0..MOST).for_each(|n| errors.push(error(n)));
        assert_eq!(errors.clone().into_vec(), (0..MOST).map(error).collect::<Vec<_>>());
        errors.extend((0..7).map(error));
        let told = errors.into_vec();
        assert_eq!(
            (told.len(), told.last().map(|last| last.tag)),
            (MOST + 1, Some(ErrorTag::OperationFailed))
        );
        assert!(told.last().is_some_and(|last| last.message.contains(" 7 more")));
        assert_eq!(in_one_answer(told.clone()), told, "what was counted stays");
        assert_eq!(in_one_answer((0..1000).map(error).collect()).len(), MOST + 1);
    }

    #[test]
    fn what_was_counted_in_several_places_is_one_number() {
        let all = |count: usize| in_one_answer((0..count).map(error).collect());
        let told = in_one_answer([all(MOST + 20), all(3), all(MOST + 4)].concat());
        assert_eq!(told.len(), MOST + 1);
        let last = told.last().map(|last| last.message.clone()).unwrap_or_default();
        assert!(last.contains(" 127 more"), "{last}");
    }

    #[test]
    fn a_number_that_is_hidden_does_not_come_back() {
        let mut errors = Errors::default();
        errors.extend((0..MOST + 7).map(error));
        errors.hide_number();
        let told = in_one_answer([errors.into_vec(), (0..9).map(error).collect()].concat());
        let last = told.last().map(|last| last.message.clone()).unwrap_or_default();
        assert!(last.contains("are more errors") && !last.contains(|c: char| c.is_ascii_digit()), "{last}");
        let mut few = Errors::default();
        few.extend((0..7).map(error));
        few.hide_number();
        assert_eq!(few.into_vec(), (0..7).map(error).collect::<Vec<_>>());
    }
}
