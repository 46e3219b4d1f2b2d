//! The values of a project's variables.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use prowess_flow::mission::{
    BlockFillError, MissionProject, Value, fill, from_json, to_json, variable_name,
};

use crate::secrets::SecretValues;

/// Looks up an environment variable.
pub type MissionVariableLookup = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// The values of a project's variables: those that `prowess mission set` stored, then those of the
/// environment (`PROWESS_VAR_NAME`). Defaults are in the project.
#[derive(Clone)]
pub struct VariableValues {
    stored: BTreeMap<Box<str>, (Box<str>, bool)>,
    environment: MissionVariableLookup,
}

/// The place where a variable was set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VariableOrigin {
    /// `prowess mission set`
    Stored,
    /// The environment.
    Environment,
}

impl fmt::Debug for VariableValues {
    /// Prints no values: each of them may be a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.stored.keys()).finish()
    }
}

impl VariableValues {
    /// Creates the values of an environment.
    pub fn new(environment: MissionVariableLookup) -> Self {
        Self {
            stored: BTreeMap::new(),
            environment,
        }
    }

    /// Adds a stored variable.
    pub fn store(&mut self, name: &str, value: &str, is_secret: bool) {
        self.stored.insert(name.into(), (value.into(), is_secret));
    }

    /// Returns the value of a variable, unless only its default is known.
    pub fn get(&self, name: &str) -> Option<String> {
        match self.stored.get(name) {
            Some((value, _)) => Some(value.to_string()),
            None => (self.environment)(&variable_name(name)),
        }
    }

    /// Returns `true` if a variable was stored as a secret, whatever its block says.
    pub fn is_secret(&self, name: &str) -> bool {
        self.stored
            .get(name)
            .is_some_and(|(_, is_secret)| *is_secret)
    }

    /// Returns the place where a variable was set.
    pub fn origin(&self, name: &str) -> Option<VariableOrigin> {
        if self.stored.contains_key(name) {
            return Some(VariableOrigin::Stored);
        }
        let found = (self.environment)(&variable_name(name));
        found.map(|_| VariableOrigin::Environment)
    }

    /// Returns the secret variables of a project, as `vars.NAME`: those that it declares as secret, and
    /// those that were stored as secrets.
    pub fn secrets(&self, project: &MissionProject) -> SecretValues {
        let declared = project.variables.iter().filter(|one| one.is_secret);
        let declared = declared.map(|one| &*one.name);
        let stored = self.stored().filter(|name| self.is_secret(name));
        let mut secrets = SecretValues::new();
        for name in declared.chain(stored) {
            if let Some(value) = self.get(name) {
                secrets.add(format!("vars.{name}"), value);
            }
        }
        secrets
    }

    /// Returns the value of a variable, or the marker of a secret.
    pub fn marked(&self, name: &str, secrets: &SecretValues) -> Option<String> {
        let full = format!("vars.{name}");
        if secrets.has(&full) {
            return Some(SecretValues::marker(&full));
        }
        self.get(name)
    }

    /// Fills in a setting of a project, such as a key or a header. The result may contain secrets.
    pub fn fill(&self, value: &Value, secrets: &SecretValues) -> Result<Value, BlockFillError> {
        let filled = fill(value, &|name| self.marked(name, secrets), None)?;
        Ok(match to_json(&filled) {
            Some(json) => from_json(&secrets.fill_input(&json)),
            None => filled,
        })
    }

    /// Returns the names of the stored variables, in order.
    pub fn stored(&self) -> impl Iterator<Item = &str> {
        self.stored.keys().map(|name| &**name)
    }
}
