//! Who may log in over SSH: the users of `ietf-system` (RFC 7317) and the policy of `cats-system`, as the transport
//! takes them, and what of them it cannot take.

use cats_mgmtd_transport::{Access, Account, AccountKey, Accounts, Method, SshLimits, StoredPassword, Users};
use cats_yang_model::generated::cats_system::{AuthenticationMethod, Ssh};
use cats_yang_tree::error::{Error, ErrorTag};
use cats_yang_tree::schema::{NodeId, Schema};
use cats_yang_tree::tree::EntriesIter;
use cats_yang_tree::{Branch, ChangeSet, Data, InstancePath, Step, Tree, Value};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// A password that the core takes must be one that the transport takes.
const _: () = assert!(cats_mgmtd_core::PASSWORD_LIMIT == cats_mgmtd_transport::PASSWORD_LIMIT);

/// The module of the users.
const MODULE: &str = "ietf-system";

/// The only way of looking a password up.
const LOCAL: &str = "ietf-system:local-users";

/// Follows running, and tells the transport who may log in.
pub(crate) struct Logins {
    /// Absent when `--extra-module` has put something else in the place of the module.
    nodes: Option<Nodes>,
    /// The policy that is in `access`.
    policy: Ssh,
    access: watch::Sender<Arc<Access>>,
}

/// The schema nodes below `/ietf-system:system`.
struct Nodes {
    system: NodeId,
    authentication: NodeId,
    order: NodeId,
    user: NodeId,
    name: NodeId,
    password: NodeId,
    key: NodeId,
    algorithm: NodeId,
    data: NodeId,
}

impl Logins {
    /// # Errors
    /// What in `running` the transport cannot take.
    pub(crate) fn new(
        schema: &Schema,
        administrators: Users,
        running: &Tree,
        ssh: &Ssh,
    ) -> Result<Self, Vec<Error>> {
        let nodes = Nodes::of(schema);
        // A later --user takes a name over; its account counts no more.
        let mut reading = Reading { schema, reserved: None, errors: Vec::new() };
        let users = nodes.as_ref().map(|nodes| nodes.read(running, &mut reading)).unwrap_or_default();
        if !reading.errors.is_empty() {
            return Err(reading.errors);
        }
        let access = access_of(administrators, users, ssh);
        Ok(Self { nodes, policy: ssh.clone(), access: watch::Sender::new(Arc::new(access)) })
    }

    /// Where the transport finds it.
    pub(crate) fn subscribe(&self) -> watch::Receiver<Arc<Access>> {
        self.access.subscribe()
    }

    /// What is wrong with `new` after `changes`.
    pub(crate) fn check(&self, schema: &Schema, new: &Tree, changes: &ChangeSet) -> Vec<Error> {
        let present = Arc::clone(&self.access.borrow());
        let mut reading = Reading { schema, reserved: Some(&present.administrators), errors: Vec::new() };
        if let Some(nodes) = self.nodes.as_ref().filter(|nodes| nodes.are_in(changes)) {
            nodes.read(new, &mut reading);
        }
        reading.errors
    }

    /// Takes over what runs after `changes`.
    pub(crate) fn follow(&mut self, schema: &Schema, running: &Tree, changes: &ChangeSet, ssh: &Ssh) {
        let same_users = !self.nodes.as_ref().is_some_and(|nodes| nodes.are_in(changes));
        if same_users && self.policy == *ssh {
            return;
        }
        self.policy = ssh.clone();
        let present = Arc::clone(&self.access.borrow());
        // What is wrong was found before the commit.
        let mut reading = Reading { schema, reserved: None, errors: Vec::new() };
        let users = self.nodes.as_ref().map(|nodes| nodes.read(running, &mut reading)).unwrap_or_default();
        let access = access_of(present.administrators.clone(), users, ssh);
        tracing::info!(users = access.accounts.count(), "who may log in over SSH has changed");
        self.access.send_replace(Arc::new(access));
    }
}

/// What `ietf-system` says.
#[derive(Default)]
struct LocalUsers {
    accounts: Accounts,
    /// Passwords are looked up at all.
    passwords: bool,
}

fn access_of(administrators: Users, users: LocalUsers, ssh: &Ssh) -> Access {
    let mut methods = methods_of(ssh);
    methods.retain(|method| users.passwords || *method == Method::PublicKey);
    Access { administrators, accounts: users.accounts, methods, limits: limits_of(ssh) }
}

fn methods_of(ssh: &Ssh) -> Vec<Method> {
    let method = |method: &AuthenticationMethod| match method {
        AuthenticationMethod::Publickey => Method::PublicKey,
        AuthenticationMethod::KeyboardInteractive => Method::KeyboardInteractive,
        AuthenticationMethod::Password => Method::Password,
    };
    let configured: Vec<Method> = ssh.authentication_method.iter().map(method).collect();
    if configured.is_empty() {
        // The defaults of the module.
        return vec![Method::PublicKey, Method::KeyboardInteractive, Method::Password];
    }
    configured
}

fn limits_of(ssh: &Ssh) -> SshLimits {
    SshLimits {
        unauthenticated: usize::from(ssh.max_startups()),
        per_source: usize::from(ssh.max_startups_per_source()),
        login: Duration::from_secs(u64::from(ssh.login_grace_time())),
        attempts: usize::from(ssh.authentication_tries()),
        ..SshLimits::default()
    }
}

/// The schema, and what was found to be wrong.
struct Reading<'a> {
    schema: &'a Schema,
    /// Whose names no account may have, if that is looked at.
    reserved: Option<&'a Users>,
    errors: Vec<Error>,
}

impl Reading<'_> {
    fn refuse(&mut self, path: &InstancePath, leaf: NodeId, why: String) {
        let mut path = path.clone();
        path.steps.push(Step { node: leaf, key: None });
        let error = Error::application(ErrorTag::InvalidValue, why).at(path.render(self.schema));
        self.errors.push(error);
    }
}

impl Nodes {
    fn of(schema: &Schema) -> Option<Self> {
        let module = schema.module_by_name(MODULE)?;
        let system = schema.child(None, module, "system")?;
        let authentication = schema.child(Some(system), module, "authentication")?;
        let user = schema.child(Some(authentication), module, "user")?;
        let key = schema.child(Some(user), module, "authorized-key")?;
        Some(Self {
            system,
            authentication,
            order: schema.child(Some(authentication), module, "user-authentication-order")?,
            user,
            name: schema.child(Some(user), module, "name")?,
            password: schema.child(Some(user), module, "password")?,
            key,
            algorithm: schema.child(Some(key), module, "algorithm")?,
            data: schema.child(Some(key), module, "key-data")?,
        })
    }

    fn are_in(&self, changes: &ChangeSet) -> bool {
        let mut first = changes.changes.iter().map(|change| change.path.steps.first());
        first.any(|step| step.is_none_or(|step| step.node == self.system))
    }

    fn read(&self, tree: &Tree, reading: &mut Reading<'_>) -> LocalUsers {
        let step = |node| Step { node, key: None };
        let path = InstancePath { steps: vec![step(self.system), step(self.authentication)] };
        let found = tree.root().get(self.system).and_then(|system| branch(system)?.get(self.authentication));
        let Some(authentication) = found.and_then(branch) else { return LocalUsers::default() };
        let passwords = self.order(authentication, &path, reading);
        let users = entries(authentication, self.user).map(|(key, entry)| {
            let mut at = path.clone();
            at.steps.push(Step { node: self.user, key: Some(key.clone()) });
            let name = name_of(key);
            if reading.reserved.is_some_and(|administrators| administrators.has(&name)) {
                let why = "it is the name of an administrator by --user, whom no access control stops: take another";
                reading.refuse(&at, self.name, why.to_owned());
            }
            (name, self.account(entry, &at, reading))
        });
        LocalUsers { accounts: Accounts::new(users.collect::<Vec<_>>()), passwords }
    }

    fn order(&self, authentication: &Branch, path: &InstancePath, reading: &mut Reading<'_>) -> bool {
        let Some(Data::LeafList(order)) = authentication.get(self.order) else { return false };
        let mut local = false;
        for (_, method) in order.iter() {
            if method.as_str() == Some(LOCAL) {
                local = true;
            } else {
                let why = format!("{method} is not supported: passwords are those of local-users");
                reading.refuse(path, self.order, why);
            }
        }
        local
    }

    fn account(&self, entry: &Branch, at: &InstancePath, reading: &mut Reading<'_>) -> Account {
        let password = text(entry, self.password).and_then(|hash| match StoredPassword::new(hash) {
            Ok(stored) => Some(stored),
            Err(why) => {
                reading.refuse(at, self.password, format!("the password cannot be verified: {why}"));
                None
            }
        });
        let mut keys = Vec::new();
        for (key, entry) in entries(entry, self.key) {
            let algorithm = text(entry, self.algorithm).unwrap_or_default();
            let data = text(entry, self.data).unwrap_or_default();
            match AccountKey::new(&name_of(key), algorithm, data) {
                Ok(key) => keys.push(key),
                Err(why) => {
                    let mut at = at.clone();
                    at.steps.push(Step { node: self.key, key: Some(key.clone()) });
                    reading.refuse(&at, self.data, why.to_owned());
                }
            }
        }
        Account { password, keys }
    }
}

fn branch(data: &Data) -> Option<&Branch> {
    match data {
        Data::Container(branch) => Some(branch),
        Data::Leaf(_) | Data::List(_) | Data::LeafList(_) | Data::Any(_) => None,
    }
}

fn entries(parent: &Branch, list: NodeId) -> impl Iterator<Item = (&cats_yang_tree::Key, &Branch)> {
    let found: Option<EntriesIter<'_, Arc<Branch>>> = match parent.get(list) {
        Some(Data::List(entries)) => Some(entries.iter()),
        Some(Data::Leaf(_) | Data::Container(_) | Data::LeafList(_) | Data::Any(_)) | None => None,
    };
    found.into_iter().flatten().map(|(key, entry)| (key, entry.as_ref()))
}

fn text(branch: &Branch, leaf: NodeId) -> Option<&str> {
    branch.leaf(leaf).and_then(Value::as_str)
}

fn name_of(key: &cats_yang_tree::Key) -> String {
    key.values().first().map(ToString::to_string).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content;
    use cats_yang_model::{CONFIG_LEAVES, Config};
    use serde_json::{Value as Json, json};

    const HASH: &str =
        "$6$saltsalt$g3uPFdehVnKoLXdidvSAg1zlVgYomPr0X/xgdXSBn2LuxZUOGgYW4IULZkguZ77fzYteIur49AGHmF9iek6Sf1";
    const KEY: &str = "AAAAC3NzaC1lZDI1NTE5AAAAILM+rvN+ot98qgEN796jTiQfZfG1KaT0PtFDJ/XFSqti";
    const OTHER_KEY: &str = "AAAAC3NzaC1lZDI1NTE5AAAAILM+rvN+ot98qgEN796jTiQfZfG1KaT0PtFDJ/XFSqtj";

    /// Every leaf that is consumed here.
    fn full() -> Json {
        json!({
            "ietf-system:system": { "authentication": {
                "user-authentication-order": ["ietf-system:local-users"],
                "user": [{
                    "name": "ann", "password": HASH,
                    "authorized-key": [{ "name": "k", "algorithm": "ssh-ed25519", "key-data": KEY }],
                }],
            } },
            "ietf-routing:routing": { "ietf-cats:cats": { "cats-system:system": { "ssh": {
                "authentication-method": ["password", "publickey"], "authentication-tries": 3,
                "login-grace-time": 20, "max-startups": 10, "max-startups-per-source": 4,
            } } } },
        })
    }

    /// The leaf or entry at the path, in the first entry of each list.
    fn find<'a>(mut value: &'a mut Json, path: &str) -> &'a mut Json {
        for name in path.split('/').skip(1) {
            if value.is_array() {
                value = &mut value[0];
            }
            value = &mut value[name];
        }
        if value.is_array() { &mut value[0] } else { value }
    }

    fn access(schema: &Schema, config: &Json) -> Result<Access, Vec<Error>> {
        let tree = content::from_json(schema, config.to_string().as_bytes())?;
        let model = Config::from_json(config).unwrap();
        let logins = Logins::new(schema, Users::default(), &tree, &model.cats.system.ssh)?;
        let access = Access::clone(&logins.subscribe().borrow());
        Ok(access)
    }

    fn schema() -> Schema {
        cats_yang_schema::load(&cats_yang_schema::default_modules())
            .unwrap_or_else(|errors| panic!("{errors:?}"))
            .schema()
            .clone()
    }

    #[test]
    fn every_leaf_of_users_and_of_the_login_policy_changes_who_may_log_in_or_how() {
        let schema = schema();
        let before = access(&schema, &full()).unwrap();
        assert_eq!(before.methods, [Method::Password, Method::PublicKey]);
        let policy = "/ietf-routing:routing/ietf-cats:cats/cats-system:system/ssh/";
        let ours = |path: &&&str| path.starts_with("/ietf-system:system/") || path.starts_with(policy);
        let leafs: Vec<_> = CONFIG_LEAVES.iter().filter(ours).collect();
        assert_eq!(leafs.len(), 11);
        for leaf in leafs {
            let mut config = full();
            let value = find(&mut config, leaf);
            *value = match leaf.rsplit('/').next().unwrap() {
                "user-authentication-order" => {
                    // Without an entry no password is looked up.
                    config["ietf-system:system"]["authentication"]["user-authentication-order"] = json!([]);
                    assert_ne!(access(&schema, &config).unwrap(), before, "{leaf}");
                    continue;
                }
                "password" => json!(HASH.replace("saltsalt", "othersal")),
                "key-data" => json!(OTHER_KEY),
                "authentication-method" => json!("keyboard-interactive"),
                "algorithm" => {
                    *value = json!("ssh-rsa");
                    let errors = access(&schema, &config).unwrap_err();
                    assert!(errors[0].message.contains("not a public key of its algorithm"), "{errors:?}");
                    continue;
                }
                _ => match value.as_u64() {
                    Some(number) => json!(number + 1),
                    None => json!("other"),
                },
            };
            assert_ne!(access(&schema, &config).unwrap(), before, "{leaf}");
        }
    }

    #[test]
    fn what_the_transport_cannot_take_is_refused_at_its_leaf() {
        let schema = schema();
        let user = "/ietf-system:system/authentication/user";
        let md5 = "$1$salt$0123456789012345678901";
        for (leaf, value, path, why) in [
            ("password", md5, "[name='ann']/password", "MD5"),
            ("password", "$0$clear", "[name='ann']/password", "no hash"),
            ("authorized-key/key-data", "AAAA", "[name='ann']/authorized-key[name='k']/key-data", "RFC 4253"),
        ] {
            let mut config = full();
            *find(&mut config, &format!("{user}/{leaf}")) = json!(value);
            let errors = access(&schema, &config).unwrap_err();
            assert_eq!(errors.len(), 1);
            assert_eq!(errors[0].path.as_ref().unwrap().0, format!("{user}{path}"));
            assert!(errors[0].message.contains(why), "{errors:?}");
            assert!(!errors[0].message.contains(value), "a secret in an error: {errors:?}");
        }
        let mut config = full();
        *find(&mut config, "/ietf-system:system/authentication/user-authentication-order") =
            json!("ietf-system:radius");
        let errors = access(&schema, &config).unwrap_err();
        assert!(errors[0].message.contains("radius is not supported"), "{errors:?}");
    }

    #[test]
    fn no_account_takes_the_name_of_an_administrator() {
        let schema = schema();
        let administrators = Users::new([("ann".to_owned(), "keys".into())]);
        let logins = Logins::new(&schema, administrators, &Tree::new(), &Ssh::default()).unwrap();
        let tree = content::from_json(&schema, full().to_string().as_bytes()).unwrap();
        let errors = logins.check(&schema, &tree, &cats_yang_tree::diff(&Tree::new(), &tree));
        assert_eq!(errors.len(), 1);
        assert_eq!(
            errors[0].path.as_ref().unwrap().0,
            "/ietf-system:system/authentication/user[name='ann']/name"
        );
        assert!(errors[0].message.contains("--user"), "{errors:?}");
    }

    #[test]
    fn a_policy_that_changes_alone_is_followed() {
        let schema = schema();
        let with = |methods: Json| {
            let mut config = full();
            let ssh = "/ietf-routing:routing/ietf-cats:cats/cats-system:system/ssh";
            find(&mut config, ssh)["authentication-method"] = methods;
            let tree = content::from_json(&schema, config.to_string().as_bytes()).unwrap();
            (tree, Config::from_json(&config).unwrap())
        };
        let (before, model) = with(json!(["publickey"]));
        let mut logins = Logins::new(&schema, Users::default(), &before, &model.cats.system.ssh).unwrap();
        assert_eq!(logins.subscribe().borrow().methods, [Method::PublicKey]);
        let (after, model) = with(json!(["publickey", "password"]));
        let changes = cats_yang_tree::diff(&before, &after);
        assert_eq!(logins.check(&schema, &after, &changes), []);
        logins.follow(&schema, &after, &changes, &model.cats.system.ssh);
        assert_eq!(logins.subscribe().borrow().methods, [Method::PublicKey, Method::Password]);
    }

    #[test]
    fn by_default_only_keys_are_taken_and_with_local_users_passwords_too() {
        let schema = schema();
        let keys_only = access(&schema, &json!({})).unwrap();
        assert_eq!((keys_only.methods, keys_only.limits), (vec![Method::PublicKey], SshLimits::default()));
        let order = json!({ "ietf-system:system": { "authentication": {
            "user-authentication-order": ["ietf-system:local-users"] } } });
        let all = [Method::PublicKey, Method::KeyboardInteractive, Method::Password];
        assert_eq!(access(&schema, &order).unwrap().methods, all);
    }
}
