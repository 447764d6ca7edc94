//! The errors of one request, of which a bounded number is told.

use super::{Error, ErrorTag};

/// So many errors are told in one answer; a last one says how many more there are.
pub const MOST: usize = 100;

/// Errors as they are found: the first [`MOST`], and how many followed.
#[derive(Debug, Clone, Default)]
pub struct Errors {
    first: Vec<Error>,
    more: usize,
}

impl Errors {
    /// Adds one, which is made only if it is to be told.
    pub fn push_with(&mut self, error: impl FnOnce() -> Error) {
        if self.first.len() < MOST {
            self.first.push(error());
        } else {
            self.more = self.more.saturating_add(1);
        }
    }

    /// Adds one.
    pub fn push(&mut self, error: Error) {
        self.push_with(|| error);
    }

    /// None yet?
    pub fn is_empty(&self) -> bool {
        self.first.is_empty()
    }

    /// In the order in which they came, with a last one that counts what is not told.
    pub fn into_vec(self) -> Vec<Error> {
        let Self { mut first, more } = self;
        if more > 0 {
            first.push(counted(more));
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
    // What was counted before has its own last error.
    if errors.len() <= MOST + 1 {
        return errors;
    }
    let mut told = Errors::default();
    told.extend(errors);
    told.into_vec()
}

fn counted(more: usize) -> Error {
    let message = format!("there are {more} more errors, which are not told: correct these first");
    Error::application(ErrorTag::OperationFailed, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_errors_are_told_and_the_others_counted() {
        let error = |n: usize| Error::application(ErrorTag::InvalidValue, n.to_string());
        let mut errors = Errors::default();
        (0..MOST).for_each(|n| errors.push(error(n)));
        assert_eq!(errors.clone().into_vec(), (0..MOST).map(error).collect::<Vec<_>>());
        errors.extend((0..7).map(error));
        let told = errors.into_vec();
        assert_eq!(
            (told.len(), told.last().map(|last| last.tag)),
            (MOST + 1, Some(ErrorTag::OperationFailed))
        );
        assert!(told.last().is_some_and(|last| last.message.contains("7 more")));
        assert_eq!(in_one_answer(told.clone()), told, "what was counted stays");
        assert_eq!(in_one_answer((0..1000).map(error).collect()).len(), MOST + 1);
    }
}
