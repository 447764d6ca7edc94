//! Operations: what they are given and what they answer, in the form in which cats-mgmtd and the engine speak of them.

use crate::change::ApplyError;
use crate::field::{At, Branch};
use serde_json::{Map, Value as Json};

/// An operation of a module.
pub trait Operation {
    /// The module that defines it.
    const MODULE: &'static str;

    /// Its name in that module.
    const NAME: &'static str;

    /// What it is given.
    type Input: Branch;

    /// What it answers.
    type Output: Branch;

    /// Reads `{"module:input": {…}}`.
    ///
    /// # Errors
    /// What its types cannot hold, and where.
    fn read(input: &Json) -> Result<Self::Input, ApplyError> {
        let name = format!("{}:input", Self::MODULE);
        let place = format!("{}:{}", Self::MODULE, Self::NAME);
        let at = At::root(&place);
        let empty = Json::Object(Map::new());
        Self::Input::read_members(input.get(&name).unwrap_or(&empty), &at)
    }

    /// Writes `{"module:output": {…}}`.
    fn write(output: &Self::Output) -> Json {
        let name = format!("{}:output", Self::MODULE);
        Json::Object(Map::from_iter([(name, Json::Object(output.write_members()))]))
    }
}
