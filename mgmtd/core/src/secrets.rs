//! Passwords in clear text (`$0$…` of `iana-crypt-hash`): an edit holds hashes in their place before anything is done
//! with it, so that no datastore, record or log ever has one.

use cats_yang_tree::error::{Error, ErrorTag};
use cats_yang_tree::schema::Schema;
use cats_yang_tree::{InstancePath, Ops, Value};
use sha_crypt::{PasswordHasher, ShaCrypt};
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// Random bytes for the salts of one request.
pub type Salt = [u8; 16];

/// A longer password is refused, in bytes: to hash one takes time in proportion to the square of its length.
pub const PASSWORD_LIMIT: usize = 512;

/// What clear text begins with.
const CLEAR: &str = "$0$";

/// Salts of SHA-crypt have 16 characters of 6 bits.
const SALT_BYTES: usize = 12;

/// Replaces clear text by SHA-512 hashes, salted from `salt` and the path of each.
pub(crate) fn hash_passwords(schema: &Schema, ops: &mut Ops, salt: Option<&Salt>) -> Result<(), Vec<Error>> {
    ops.replace_values(|path, value| match clear_text(schema, path, value) {
        Some(password) => hash(schema, path, password, salt).map(Some),
        None => Ok(None),
    })
}

fn clear_text<'a>(schema: &Schema, path: &InstancePath, value: &'a Value) -> Option<&'a str> {
    let password = value.as_str()?.strip_prefix(CLEAR)?;
    schema.leaf_type(path.node()?)?.is_crypt_hash().then_some(password)
}

fn hash(schema: &Schema, path: &InstancePath, password: &str, salt: Option<&Salt>) -> Result<Value, Error> {
    let at = path.render(schema);
    let invalid = |message: String| Error::application(ErrorTag::InvalidValue, message).at(at.clone());
    if password.is_empty() {
        return Err(invalid("an empty password lets nobody in: give one, or delete the leaf".to_owned()));
    }
    if password.len() > PASSWORD_LIMIT {
        return Err(invalid(format!(
            "the password is longer than the {PASSWORD_LIMIT} bytes that are accepted"
        )));
    }
    let Some(salt) = salt else {
        let message = "clear text cannot be hashed here: give a hash, which begins with $5$ or $6$";
        return Err(Error::application(ErrorTag::OperationFailed, message).at(at));
    };
    let digest = Sha256::new().chain_update(salt).chain_update(at.0.as_bytes()).finalize();
    let own = digest.get(..SALT_BYTES).unwrap_or_default();
    let hashed = ShaCrypt::SHA512.hash_password_with_salt(password.as_bytes(), own).map_err(|error| {
        let message = format!("the password cannot be hashed: {error}");
        Error::application(ErrorTag::OperationFailed, message).at(at.clone())
    })?;
    Ok(Value::String(Arc::from(hashed.as_str())))
}
