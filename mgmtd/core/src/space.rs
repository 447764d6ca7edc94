//! How much memory candidates and running may take.
//!
//! Both are counted as they grow and shrink, at the cost of each change. The count of running is exact. That of what a
//! candidate holds beside running can only be too high, so it is measured again where it would refuse something and much
//! has changed since it was last.

use crate::core::Core;
use crate::private::Private;
use crate::types::SessionId;
use cats_yang_tree::error::{Error, ErrorTag};
use cats_yang_tree::{Tree, unshared};

/// Bounds in bytes of memory, about. What is beyond is refused with `resource-denied`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// For all private candidates of a user together, those of lost sessions included; and for the shared candidate.
    pub candidates_of_user: usize,
    /// For all candidates.
    pub candidates: usize,
    /// For running.
    pub running: usize,
}

impl Default for Space {
    fn default() -> Self {
        Self { candidates_of_user: 256 << 20, candidates: 1 << 30, running: 2 << 30 }
    }
}

/// What a candidate takes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Weight {
    /// At most so much.
    bytes: usize,
    /// Came and went since it was measured.
    moved: usize,
}

impl Weight {
    pub(crate) fn of(tree: &Tree, base: &Tree) -> Self {
        Self { bytes: unshared(tree, base), moved: 0 }
    }

    /// After `old` became `new`.
    pub(crate) fn then(self, Step { gained, lost }: Step) -> Self {
        Self { bytes: self.bytes + gained, moved: self.moved + gained + lost }
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self { bytes: self.bytes + other.bytes, moved: self.moved + other.moved }
    }

    fn has_room(self, step: Step, limit: usize) -> bool {
        self.bytes + step.gained <= limit
    }

    /// Much may be told by measuring it again: what is refused meanwhile costs nothing.
    fn is_vague(self, limit: usize) -> bool {
        self.moved > limit / 8
    }
}

/// A change of a tree.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step {
    gained: usize,
    lost: usize,
}

impl Step {
    pub(crate) fn between(old: &Tree, new: &Tree) -> Self {
        Self { gained: unshared(new, old), lost: unshared(old, new) }
    }
}

/// Whose candidates.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Whose {
    Shared,
    User(String),
    All,
}

impl Core {
    /// Bounds from now on; what is there already stays.
    pub fn handle_space(&mut self, space: Space) {
        self.space = space;
    }

    /// May the candidate of a session become another one?
    pub(crate) fn may_become(&mut self, session: SessionId, step: Step) -> Result<(), Vec<Error>> {
        let own = match self.sessions.get(session) {
            Some(open) if self.is_private(session) => Whose::User(open.peer.user.clone()),
            Some(_) | None => Whose::Shared,
        };
        let Space { candidates_of_user, candidates, .. } = self.space;
        for (whose, limit) in [(own, candidates_of_user), (Whose::All, candidates)] {
            if self.held(&whose).has_room(step, limit) {
                continue;
            }
            if self.held(&whose).is_vague(limit) {
                self.measure(&whose);
            }
            if !self.held(&whose).has_room(step, limit) {
                let what = match whose {
                    Whose::Shared => "the candidate",
                    Whose::User(_) => "the private candidates of this user",
                    Whose::All => "the candidates of all sessions",
                };
                return Err(vec![refused(what, limit, "<commit> or <discard-changes> first")]);
            }
        }
        Ok(())
    }

    /// What running takes once it has become another one, if it may.
    pub(crate) fn running_may_become(&self, new: &Tree) -> Result<usize, Vec<Error>> {
        let bytes = self.running_bytes_with(new);
        match bytes > self.space.running {
            true => Err(vec![refused("<running>", self.space.running, "delete what is not needed")]),
            false => Ok(bytes),
        }
    }

    /// What running would take as another tree.
    pub(crate) fn running_bytes_with(&self, new: &Tree) -> usize {
        let Step { gained, lost } = Step::between(&self.running, new);
        (self.running_bytes + gained).saturating_sub(lost)
    }

    fn held(&mut self, whose: &Whose) -> Weight {
        let privates = self.private_weights(whose, |private, _| private.weight());
        match whose {
            Whose::User(_) => privates,
            Whose::Shared | Whose::All => {
                if self.candidate.ptr_eq(&self.running) {
                    self.candidate_weight = Weight::default();
                }
                privates.and(self.candidate_weight)
            }
        }
    }

    fn measure(&mut self, whose: &Whose) {
        self.private_weights(whose, Private::measure);
        match whose {
            Whose::User(_) => {}
            Whose::Shared | Whose::All => self.candidate_weight = Weight::of(&self.candidate, &self.running),
        }
    }

    fn private_weights(&mut self, whose: &Whose, weigh: impl Fn(&mut Private, &Tree) -> Weight) -> Weight {
        let (sessions, running) = (&self.sessions, &self.running);
        let is_meant = |user: Option<&str>| match whose {
            Whose::Shared => false,
            Whose::User(name) => user == Some(name),
            Whose::All => true,
        };
        let user = |session: SessionId| sessions.get(session).map(|open| open.peer.user.as_str());
        let open = self.privates.iter_mut().filter(|(session, _)| is_meant(user(**session)));
        let open = open.filter_map(|(_, private)| private.as_mut());
        let lost = self.detached.with_users().filter(|(user, _)| is_meant(Some(user)));
        let all = open.chain(lost.map(|(_, private)| private));
        all.map(|private| weigh(private, running)).fold(Weight::default(), Weight::and)
    }
}

fn refused(what: &str, limit: usize, remedy: &str) -> Error {
    let message = format!("{what} would take more than {limit} bytes of memory: {remedy}");
    Error::application(ErrorTag::ResourceDenied, message)
}
