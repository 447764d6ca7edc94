//! Who may log in over SSH, and how: a value, replaced as a whole when the configuration changes.

use crate::authorized::Users;
use crate::password::{Passwords, StoredPassword};
use crate::tls::Shown;
use russh::keys::Algorithm;
use russh::keys::PublicKey;
use russh::keys::ssh_key::public::KeyData;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

const NO_KEY: &str = "it is not a public key of its algorithm in the form of RFC 4253 section 6.6";

/// RSA keys are at least so long, in bits.
const RSA_BITS: usize = 2048;

/// Who may log in over SSH, and how.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Access {
    /// Users whose keys are in files.
    pub administrators: Users,
    /// Users of the configuration.
    pub accounts: Accounts,
    /// The methods that are offered, in this order.
    pub methods: Vec<Method>,
    /// What strangers may do.
    pub limits: SshLimits,
}

/// How a user proves who it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// A signature with one of the user's keys.
    PublicKey,
    /// One question, for the password.
    KeyboardInteractive,
    /// The password.
    Password,
}

/// Bounds on what strangers can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SshLimits {
    /// Connections that are not authenticated yet; for a further one the oldest of the source that holds most is
    /// closed. 32.
    pub unauthenticated: usize,
    /// Those of one source, an IPv4 address or an IPv6 /64; for a further one its oldest is closed. 8.
    pub per_source: usize,
    /// How long each of these may take: to authenticate, and to open a session when there is none. 30 s.
    pub login: Duration,
    /// Keys and passwords that are tried on one connection before it is closed. 6.
    pub attempts: usize,
    /// How long the answer to a refused key or password takes, so that it tells nothing: this, or the least multiple of
    /// it that the check fits in. 200 ms.
    pub rejection: Duration,
}

impl Default for SshLimits {
    fn default() -> Self {
        Self {
            unauthenticated: 32,
            per_source: 8,
            login: Duration::from_secs(30),
            attempts: 6,
            rejection: Duration::from_millis(200),
        }
    }
}

/// The users of the configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Accounts {
    users: BTreeMap<String, Account>,
    passwords: Passwords,
}

/// What one user proves its identity by.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Account {
    /// Its password; without one it has to have a key.
    pub password: Option<StoredPassword>,
    /// Its keys.
    pub keys: Vec<AccountKey>,
}

/// A key of an [`Account`].
#[derive(Clone, PartialEq, Eq)]
pub struct AccountKey {
    /// What it is called, for the log.
    pub name: String,
    key: PublicKey,
}

impl fmt::Debug for AccountKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AccountKey").field(&self.name).finish()
    }
}

impl Accounts {
    /// `(name, account)` of each user.
    pub fn new(users: impl IntoIterator<Item = (String, Account)>) -> Self {
        let users: BTreeMap<_, _> = users.into_iter().collect();
        let passwords = Passwords::of(users.values().filter_map(|account| account.password.as_ref()));
        Self { users, passwords }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.users.len()
    }

    fn get(&self, user: &str) -> Option<&Account> {
        self.users.get(user)
    }

    /// What the check of any password takes.
    pub(crate) fn passwords(&self) -> Passwords {
        self.passwords
    }
}

impl AccountKey {
    /// The key called `name`: `algorithm` as IANA names it, `data` the bytes of RFC 4253 section 6.6 in base64.
    ///
    /// # Errors
    /// Why it is of no use.
    pub fn new(name: &str, algorithm: &str, data: &str) -> Result<Self, &'static str> {
        // An RSA key may be called by its signatures (RFC 8332).
        let own = if ["rsa-sha2-256", "rsa-sha2-512"].contains(&algorithm) { "ssh-rsa" } else { algorithm };
        if own.contains(char::is_whitespace) || data.contains(char::is_whitespace) {
            return Err(NO_KEY);
        }
        let key = PublicKey::from_openssh(&format!("{own} {data}")).map_err(|_| NO_KEY)?;
        acceptable(&key)?;
        Ok(Self { name: name.to_owned(), key })
    }
}

/// Ed25519, ECDSA, and RSA of 2048 bits or more.
pub(crate) fn acceptable(key: &PublicKey) -> Result<(), &'static str> {
    match (key.algorithm(), key.key_data()) {
        (Algorithm::Ed25519 | Algorithm::Ecdsa { .. }, _) => Ok(()),
        (Algorithm::Rsa { .. }, KeyData::Rsa(rsa)) if rsa.key_size() as usize >= RSA_BITS => Ok(()),
        (Algorithm::Rsa { .. }, _) => Err("an RSA key needs 2048 bits or more"),
        _ => Err("its type is not supported: use ed25519, ecdsa or rsa"),
    }
}

impl Access {
    /// Whether there is such a user.
    pub(crate) fn knows(&self, user: &str) -> bool {
        self.administrators.has(user) || self.account(user).is_some()
    }

    /// The account of a user. None has the name of an administrator: who may write accounts must not become one.
    pub(crate) fn account(&self, user: &str) -> Option<&Account> {
        if self.administrators.has(user) { None } else { self.accounts.get(user) }
    }

    pub(crate) fn offers(&self, method: Method) -> bool {
        self.methods.contains(&method)
    }

    /// The name by which `key` may log in as `user`.
    pub(crate) async fn accepts(&self, user: &str, key: &PublicKey) -> Option<String> {
        let keys = self.account(user).map_or(&[][..], |account| &account.keys);
        if let Some(found) = keys.iter().find(|known| known.key.key_data() == key.key_data()) {
            return Some(found.name.clone());
        }
        self.administrators.accepts(user, key).await.then(|| "--user".to_owned())
    }
}

/// Where the present [`Access`] is found.
pub(crate) type Watched = watch::Receiver<Arc<Access>>;

/// Whether a session may go on.
#[derive(Debug, Clone)]
pub(crate) struct Standing {
    pub(crate) user: String,
    pub(crate) access: Watched,
    /// The certificate by which the user has logged in.
    pub(crate) shown: Option<Shown>,
    /// False from when the connection is not to be any more.
    pub(crate) wanted: Option<watch::Receiver<bool>>,
}

impl Standing {
    pub(crate) fn holds(&self) -> bool {
        self.access.borrow().knows(&self.user)
            && self.shown.as_ref().is_none_or(|shown| shown.is_of(&self.user))
            && self.wanted.as_ref().is_none_or(|wanted| *wanted.borrow())
    }

    /// Ready when the user may not log in any more, or not so.
    pub(crate) async fn lost(&mut self) {
        let Self { user, access, shown, wanted } = self;
        let revoked = async {
            match shown {
                Some(shown) => shown.lost(user).await,
                None => std::future::pending().await,
            }
        };
        let unwanted = async {
            match wanted {
                Some(wanted) => becomes(wanted, |wanted| !wanted).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = becomes(access, |access| !access.knows(user)) => {}
            () = revoked => {}
            () = unwanted => {}
        }
    }
}

/// Ready when the value is such; never, when nobody changes it any more.
async fn becomes<T>(value: &mut watch::Receiver<T>, such: impl FnMut(&T) -> bool) {
    if value.wait_for(such).await.is_err() {
        std::future::pending::<()>().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ED25519: &str =
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILM+rvN+ot98qgEN796jTiQfZfG1KaT0PtFDJ/XFSqti user@example.com";

    #[test]
    fn a_key_is_taken_with_its_own_algorithm_and_no_other() {
        let data = ED25519.split(' ').nth(1).unwrap();
        assert!(AccountKey::new("k", "ssh-ed25519", data).is_ok());
        for (algorithm, data) in
            [("ssh-rsa", data), ("ssh-ed25519", &data[..40]), ("ssh-ed25519 ", data), ("", "")]
        {
            assert_eq!(AccountKey::new("k", algorithm, data).unwrap_err(), NO_KEY, "{algorithm} {data}");
        }
    }

    #[tokio::test]
    async fn a_user_who_is_taken_out_loses_its_standing() {
        let one = |name: &str| Accounts::new([(name.to_owned(), Account::default())]);
        let (sender, access) = watch::channel(Arc::new(Access { accounts: one("ann"), ..Access::default() }));
        let mut ann = Standing { user: "ann".to_owned(), access, shown: None, wanted: None };
        assert!(ann.holds());
        sender.send_replace(Arc::new(Access { accounts: one("bob"), ..Access::default() }));
        ann.lost().await;
        assert!(!ann.holds());
    }
}
