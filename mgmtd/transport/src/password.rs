//! Stored passwords and their check, which takes the same work whoever asks.

use sha_crypt::{Params, PasswordVerifier, ShaCrypt, sha512_crypt};
use std::fmt;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// A longer password is wrong, in bytes: to hash one takes time in proportion to the square of its length.
pub const PASSWORD_LIMIT: usize = 512;

/// Stored hashes of more rounds are refused: one check of a million takes about a second.
const ROUNDS_LIMIT: u32 = 1_000_000;

/// Passwords that are checked at a time; others wait.
const CHECKS: usize = 2;

/// A hash of `crypt(3)` by SHA-256 (`$5$`) or SHA-512 (`$6$`).
#[derive(Clone, PartialEq, Eq)]
pub struct StoredPassword {
    hash: Arc<str>,
    rounds: u32,
}

impl StoredPassword {
    /// Of `$id$[rounds=N$]salt$hash`.
    ///
    /// # Errors
    /// Why it is of no use.
    pub fn new(hash: &str) -> Result<Self, String> {
        let mut fields = hash.split('$').skip(1);
        match fields.next() {
            Some("5" | "6") => {}
            Some("1") => {
                return Err(
                    "MD5 protects no password any more, so $1$ is not supported: give a hash that begins \
                            with $5$ or $6$"
                        .to_owned(),
                );
            }
            _ => return Err("it is no hash that begins with $5$ or $6$".to_owned()),
        }
        let rounds = match fields.next().and_then(|field| field.strip_prefix("rounds=")) {
            Some(rounds) => rounds.parse().unwrap_or(u32::MAX),
            None => Params::RECOMMENDED_ROUNDS,
        };
        if !(Params::ROUNDS_MIN..=ROUNDS_LIMIT).contains(&rounds) {
            return Err(format!(
                "it has {rounds} rounds; {} to {ROUNDS_LIMIT} are accepted",
                Params::ROUNDS_MIN
            ));
        }
        Ok(Self { hash: Arc::from(hash), rounds })
    }

    fn is_of(&self, password: &[u8]) -> bool {
        ShaCrypt::SHA512.verify_password(password, &*self.hash).is_ok()
    }
}

impl fmt::Debug for StoredPassword {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredPassword").field("rounds", &self.rounds).finish_non_exhaustive()
    }
}

/// What the check of any password takes: the work of the costliest that is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Passwords {
    rounds: u32,
}

impl Default for Passwords {
    fn default() -> Self {
        Self { rounds: Params::RECOMMENDED_ROUNDS }
    }
}

impl Passwords {
    pub(crate) fn of<'a>(stored: impl Iterator<Item = &'a StoredPassword>) -> Self {
        let least = Self::default().rounds;
        Self { rounds: stored.map(|password| password.rounds).fold(least, u32::max) }
    }

    /// Whether `given` is the password. Absent, empty and overlong ones are wrong after the same work.
    fn check(self, stored: Option<&StoredPassword>, given: &str) -> bool {
        let usable = !given.is_empty() && given.len() <= PASSWORD_LIMIT;
        let tried = if usable { given.as_bytes() } else { b"-" };
        let right = stored.is_some_and(|stored| stored.is_of(tried));
        if right && usable {
            return true;
        }
        let done = stored.map_or(0, |stored| stored.rounds);
        // Less than the fewest rounds that there may be is not seen from outside.
        if let Ok(rest) = Params::new(self.rounds.saturating_sub(done)) {
            std::hint::black_box(sha512_crypt(tried, b"nobodys-salt", rest));
        }
        false
    }
}

/// Checks passwords in threads of their own, few at a time.
#[derive(Debug)]
pub(crate) struct Checker(Semaphore);

impl Checker {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(Semaphore::new(CHECKS)))
    }

    /// As [`Passwords::check`].
    pub(crate) async fn check(
        &self,
        passwords: Passwords,
        stored: Option<StoredPassword>,
        given: String,
    ) -> bool {
        // Never closed; and whoever waits here is bounded by the time for a login.
        let Ok(_permit) = self.0.acquire().await else { return false };
        let checked = tokio::task::spawn_blocking(move || passwords.check(stored.as_ref(), &given)).await;
        checked.unwrap_or(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Made by `openssl passwd -5 -salt 'rounds=1000$saltsalt' sesame` and `openssl passwd -6 -salt saltsalt sesame`.
    const SHA256: &str = "$5$rounds=1000$saltsalt$30.yc4HsSpLTxr3NqKw4EhPINDzNTqzxg9qelAitDW2";
    const SHA512: &str =
        "$6$saltsalt$g3uPFdehVnKoLXdidvSAg1zlVgYomPr0X/xgdXSBn2LuxZUOGgYW4IULZkguZ77fzYteIur49AGHmF9iek6Sf1";

    #[test]
    fn hashes_of_other_programs_are_verified() {
        for hash in [SHA256, SHA512] {
            let stored = StoredPassword::new(hash).unwrap();
            let passwords = Passwords::of([&stored].into_iter());
            assert!(passwords.check(Some(&stored), "sesame"), "{hash}");
            for wrong in ["Sesame", "sesame ", "", &"s".repeat(PASSWORD_LIMIT + 1)] {
                assert!(!passwords.check(Some(&stored), wrong), "{wrong}");
            }
            assert!(!passwords.check(None, "sesame"));
        }
    }

    #[test]
    fn hashes_that_are_weak_endless_or_none_are_refused_with_the_reason() {
        let rest = SHA512.rsplit('$').next().unwrap();
        for (hash, why) in [
            ("$1$salt$0123456789012345678901".to_owned(), "MD5"),
            (format!("$6$rounds=999999999$salt${rest}"), "999999999 rounds"),
            (format!("$6$rounds=99999999999$salt${rest}"), "rounds"),
            (format!("$6$rounds=10$salt${rest}"), "1000 to 1000000"),
            ("$0$clear".to_owned(), "no hash"),
            ("clear".to_owned(), "no hash"),
        ] {
            assert!(StoredPassword::new(&hash).unwrap_err().contains(why), "{hash}");
        }
    }

    #[test]
    fn every_check_takes_the_work_of_the_costliest_hash() {
        let costly = StoredPassword::new(&SHA512.replacen("$6$", "$6$rounds=70000$", 1)).unwrap();
        let cheap = StoredPassword::new(SHA256).unwrap();
        assert_eq!(Passwords::of([&cheap, &costly].into_iter()).rounds, 70_000);
        assert_eq!(Passwords::of([&cheap].into_iter()).rounds, Params::RECOMMENDED_ROUNDS);
    }

    #[test]
    fn a_stored_password_does_not_show_its_hash_in_logs() {
        assert!(!format!("{:?}", StoredPassword::new(SHA512).unwrap()).contains("saltsalt"));
    }
}
