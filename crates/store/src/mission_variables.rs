//! Variables of missions: values that a person sets outside of a project.
//!
//! One file holds the variables of all projects, by the real path of the project. Only its owner may
//! read it. A file that others can read, or that is damaged, is reported and left alone.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

/// Maximum size of the file, in bytes.
const MAX_FILE: u64 = 4 * 1024 * 1024;
/// Maximum size of a value, in bytes.
pub const MAX_VARIABLE: usize = 64 * 1024;
/// Maximum number of variables of a project.
const MAX_VARIABLES: usize = 1_000;
/// The version of the format.
const VERSION: u64 = 1;

/// A variable that a person set.
#[derive(Clone, PartialEq, Eq)]
pub struct StoredVariable {
    /// The value.
    pub value: String,
    /// `true` if it may reach no model, record or output.
    pub is_secret: bool,
}

impl fmt::Debug for StoredVariable {
    /// Prints no value: it may be a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoredVariable")
    }
}

/// Error from the variables of missions.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VariableStoreError {
    /// The file cannot be read or written.
    #[error("cannot {verb} `{}`", path.display())]
    File {
        /// The operation.
        verb: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// Other users can read the file.
    #[error("`{0}` is readable by other users; run `chmod 600 {0}`", path.display())]
    Readable {
        /// The file.
        path: PathBuf,
    },
    /// The file is damaged, too large, or of another version.
    #[error("`{}` cannot be used: {why}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: &'static str,
    },
    /// The value or the number of variables is too large.
    #[error("{0}")]
    TooLarge(&'static str),
}

/// The variables of all projects, in one file.
#[derive(Clone, Debug)]
pub struct MissionVariables {
    folder: PathBuf,
}

impl MissionVariables {
    /// Opens the file in a folder, which need not exist and must not be inside a project.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
        }
    }

    /// Returns the file.
    pub fn file(&self) -> PathBuf {
        self.folder.join("variables.json")
    }

    /// Returns the variables of a project, by name.
    pub fn all(
        &self,
        project: &Path,
    ) -> Result<BTreeMap<String, StoredVariable>, VariableStoreError> {
        let contents = self.read()?;
        let variables = contents["projects"][key(project)].as_object();
        let variable = |(name, entry): (&String, &Value)| {
            let value = entry["value"].as_str()?.to_owned();
            let is_secret = entry["secret"].as_bool().unwrap_or(true);
            Some((name.clone(), StoredVariable { value, is_secret }))
        };
        Ok(variables
            .into_iter()
            .flatten()
            .filter_map(variable)
            .collect())
    }

    /// Sets a variable.
    pub fn set(
        &self,
        project: &Path,
        name: &str,
        variable: &StoredVariable,
    ) -> Result<(), VariableStoreError> {
        if variable.value.len() > MAX_VARIABLE {
            return Err(VariableStoreError::TooLarge(
                "a variable has at most 64 KiB",
            ));
        }
        let entry = json!({ "value": variable.value, "secret": variable.is_secret });
        self.change(project, |variables| {
            variables.insert(name.to_owned(), entry);
            true
        })?;
        Ok(())
    }

    /// Removes a variable. Returns `true` if it was set.
    pub fn remove(&self, project: &Path, name: &str) -> Result<bool, VariableStoreError> {
        self.change(project, |variables| variables.remove(name).is_some())
    }

    /// Changes the variables of a project, if `change` returns `true`.
    fn change(
        &self,
        project: &Path,
        change: impl FnOnce(&mut Map<String, Value>) -> bool,
    ) -> Result<bool, VariableStoreError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| VariableStoreError::File {
                verb: "write",
                path,
                source,
            }
        };
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.folder)
            .map_err(failed(&self.folder))?;
        // Two programs that set variables at once do so one after the other.
        let lock_file = self.folder.join("variables.lock");
        let lock = private().open(&lock_file).map_err(failed(&lock_file))?;
        lock.lock().map_err(failed(&lock_file))?;
        let mut contents = self.read()?;
        let variables = &mut contents["projects"][key(project)];
        if !variables.is_object() {
            *variables = json!({});
        }
        let Some(variables) = variables.as_object_mut() else {
            return Ok(false);
        };
        if !change(variables) {
            return Ok(false);
        }
        if variables.len() > MAX_VARIABLES {
            return Err(VariableStoreError::TooLarge(
                "a project has at most 1,000 variables",
            ));
        }
        let text = format!("{contents:#}\n");
        if text.len() as u64 > MAX_FILE {
            return Err(VariableStoreError::TooLarge(
                "all variables together have at most 4 MiB",
            ));
        }
        // After a crash, either the old or the new file exists.
        let (path, new) = (self.file(), self.folder.join("variables.json.new"));
        let write = || {
            let _ = fs::remove_file(&new);
            let mut file = private().create_new(true).open(&new)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&new, &path)?;
            File::open(&self.folder)?.sync_all()
        };
        write().map_err(failed(&path))?;
        Ok(true)
    }

    fn read(&self) -> Result<Value, VariableStoreError> {
        let path = self.file();
        let failed = |source| VariableStoreError::File {
            verb: "read",
            path: path.clone(),
            source,
        };
        let damaged = |why| VariableStoreError::Damaged {
            path: path.clone(),
            why,
        };
        let metadata = match fs::metadata(&path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(json!({ "version": VERSION, "projects": {} }));
            }
            Err(error) => return Err(failed(error)),
        };
        // Opening a FIFO would block.
        if !metadata.is_file() {
            return Err(damaged("it is not a regular file"));
        }
        if metadata.mode() & 0o077 != 0 {
            return Err(VariableStoreError::Readable { path });
        }
        let mut text = String::new();
        let file = File::open(&path).map_err(failed)?;
        let read = file.take(MAX_FILE + 1).read_to_string(&mut text);
        read.map_err(failed)?;
        if text.len() as u64 > MAX_FILE {
            return Err(damaged("it has more than 4 MiB"));
        }
        // The error of the parser could show a part of the file.
        let contents: Value =
            serde_json::from_str(&text).map_err(|_| damaged("it is not valid JSON"))?;
        if contents["version"] != VERSION || !contents["projects"].is_object() {
            return Err(damaged("it was written by another version"));
        }
        Ok(contents)
    }
}

/// Returns options that create a file which only its owner can read.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create(true).mode(0o600);
    options
}

/// Returns the key of a project: its real path.
fn key(project: &Path) -> String {
    let real = fs::canonicalize(project).unwrap_or_else(|_| project.to_owned());
    real.to_string_lossy().into_owned()
}
