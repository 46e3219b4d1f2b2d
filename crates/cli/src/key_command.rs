//! API keys printed by a command, such as a password manager.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use crate::runtime_setup::Variables;

/// Maximum number of bytes read from a command.
const MAX_KEY: u64 = 16 * 1024;

/// Wraps a variable lookup. If the variable of a key is not set, the command configured for that
/// provider is run in `folder`, at most once, with `path` as its search path.
pub(crate) fn with_commands(
    variables: Variables,
    commands: &BTreeMap<String, String>,
    folder: PathBuf,
    path: Option<OsString>,
) -> Variables {
    let by_variable: BTreeMap<&'static str, String> = commands
        .iter()
        .filter_map(|(provider, command)| {
            Some((prowess_models::key_variable(provider)?, command.clone()))
        })
        .collect();
    let asked: Mutex<BTreeMap<String, Option<String>>> = Mutex::default();
    Arc::new(move |name: &str| {
        let set = variables(name).filter(|value| !value.trim().is_empty());
        if set.is_some() {
            return set;
        }
        let command = by_variable.get(name)?;
        let mut asked = asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked
            .entry(name.to_owned())
            .or_insert_with(|| printed(command, &folder, path.as_deref()))
            .clone()
    })
}

/// Returns the first line that a command prints, or `None` if it fails. The command can use the
/// terminal, e.g. to ask for a master password.
fn printed(command: &str, folder: &Path, path: Option<&OsStr>) -> Option<String> {
    let mut child = Command::new("sh")
        .envs(path.map(|path| ("PATH", path)))
        .args(["-c", command])
        .current_dir(folder)
        .stdin(Stdio::inherit())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .ok()?;
    let mut text = String::new();
    let read = child.stdout.take()?.take(MAX_KEY).read_to_string(&mut text);
    let ended = child.wait().ok()?;
    let line = text.lines().next().map(str::trim).unwrap_or_default();
    (read.is_ok() && ended.success() && !line.is_empty()).then(|| line.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_command_runs_once_and_variable_overrides_it() {
        let folder = tempfile::tempdir().unwrap();
        let witness = folder.path().join("asked");
        let command = format!(
            "echo x >> {}; echo from-command; echo more",
            witness.display()
        );
        let commands = BTreeMap::from([
            ("anthropic".to_owned(), command),
            ("openai".to_owned(), "echo never; exit 1".to_owned()),
            ("no-such".to_owned(), "echo y".to_owned()),
        ]);
        let set = |name: &str| (name == "GEMINI_API_KEY").then(|| "set".to_owned());
        let find = with_commands(Arc::new(set), &commands, folder.path().to_owned(), None);
        assert_eq!(find("GEMINI_API_KEY").as_deref(), Some("set"));
        assert!(!witness.exists());
        for _ in 0..2 {
            assert_eq!(find("ANTHROPIC_API_KEY").as_deref(), Some("from-command"));
        }
        assert_eq!(std::fs::read_to_string(&witness).unwrap(), "x\n");
        assert_eq!(
            find("OPENAI_API_KEY"),
            None,
            "the output of a failed command is ignored"
        );
        assert_eq!(find("HOME"), None);
    }
}
