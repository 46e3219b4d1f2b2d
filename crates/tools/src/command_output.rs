//! Results of the tools that run commands.

use std::path::{Component, Path, PathBuf};

use prowess_policy::Profile;
use prowess_traits::CommandResult;
use serde_json::{Value, json};

use crate::names;
use crate::result_limit;
use crate::tool::object;

/// Maximum length of a command in bytes.
pub(crate) const MAX_COMMAND: usize = 100_000;

/// The two output streams of a command, truncated to fit a result.
#[derive(Debug)]
pub(crate) struct CommandOutput<'r> {
    ran: &'r CommandResult,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    truncated: bool,
    hint: Option<&'static str>,
}

impl<'r> CommandOutput<'r> {
    /// Trims each stream, and keeps its beginning and its end.
    pub(crate) fn new(
        ran: &'r CommandResult,
        trim: fn(&str) -> &str,
        bytes: usize,
        lines: usize,
    ) -> Self {
        let streams = [&ran.stdout, &ran.stderr];
        let whole = streams.map(|stream| trim(&stream.text));
        let [stdout, stderr] = whole.map(|text| result_limit::ends(text, bytes, lines));
        let truncated = streams.iter().any(|stream| stream.omitted > 0)
            || stdout.len() != whole[0].len()
            || stderr.len() != whole[1].len();
        Self {
            ran,
            stdout,
            stderr,
            truncated,
            hint: None,
        }
    }

    /// Adds a hint to the result.
    pub(crate) fn hint(self, hint: Option<&'static str>) -> Self {
        Self { hint, ..self }
    }

    /// Returns the result as JSON.
    pub(crate) fn value(&self) -> Value {
        let mut value = json!({
            "exitCode": self.ran.code,
            "stdout": self.stdout,
            "stderr": self.stderr,
            "timedOut": self.ran.stopped == Some("deadline"),
            "signal": self.ran.signal,
            "truncated": self.truncated,
            "durationMs": self.ran.milliseconds,
        });
        if let Some(hint) = self.hint {
            value["hint"] = hint.into();
        }
        value
    }

    /// Returns the schema of [`CommandOutput::value`].
    pub(crate) fn schema() -> Value {
        let fields = [
            ("exitCode", json!({ "type": ["integer", "null"] })),
            ("stdout", json!({ "type": "string" })),
            ("stderr", json!({ "type": "string" })),
            ("timedOut", json!({ "type": "boolean" })),
            ("signal", json!({ "type": ["integer", "null"] })),
            ("truncated", json!({ "type": "boolean" })),
            ("durationMs", json!({ "type": "integer", "minimum": 0 })),
        ];
        let required = fields.each_ref().map(|(name, _)| *name);
        let hint = ("hint", json!({ "type": "string" }));
        let fields: Vec<_> = fields.into_iter().chain([hint]).collect();
        object(&fields, &required)
    }
}

/// Returns how a command ended, if it did not succeed, from the result of a tool. `None` for other tools.
pub fn command_failure(tool: &str, value: &Value) -> Option<String> {
    if !matches!(tool, names::BASH | names::RUN_COMMAND_LINE) {
        return None;
    }
    if value["timedOut"] == true {
        return Some("timed out".to_owned());
    }
    match (value["exitCode"].as_i64(), value["signal"].as_i64()) {
        (Some(0), _) => None,
        (Some(code), _) => Some(format!("exit code {code}")),
        (None, Some(signal)) => Some(format!("killed by signal {signal}")),
        (None, None) => value.get("exitCode").map(|_| "stopped".to_owned()),
    }
}

/// Returns a hint if a command failed and its output looks as if the sandbox denied access to a
/// file.
pub(crate) fn write_hint(ran: &CommandResult, profile: &Profile) -> Option<&'static str> {
    let streams = [&ran.stderr.text, &ran.stdout.text];
    let denied = streams.iter().any(|text| looks_denied(text, profile));
    let is_missing = |(layer, state): &(Box<str>, Box<str>)| {
        &**layer == "namespaces" && state.starts_with("missing")
    };
    let lacks_namespaces = ran.layers.iter().any(is_missing);
    let hint = match profile.writable.contains(&profile.cwd) {
        _ if lacks_namespaces => NAMESPACES_HINT,
        true => PROTECTED_HINT,
        false => WRITE_HINT,
    };
    (!ran.is_success() && denied).then_some(hint)
}

/// The hint about commands that could not write because a layer is missing.
const NAMESPACES_HINT: &str = "The sandbox of this machine has no namespaces, so commands cannot \
    create files directly in the project, and git cannot write. `prowess doctor` tells the user how \
    to allow namespaces.";

/// The hint about commands that could not write although the project is writable.
const PROTECTED_HINT: &str = "The sandbox may have denied access to a file. Commands can write to the \
    project, except for files that decide what runs later, such as settings of editors and agents, and \
    folders that the user's `PATH` names, such as the `bin` of an active virtual environment. \
    They can write to another folder only if the user lists it in `[sandbox] write` of their settings.";

/// The hint about commands that could not write.
const WRITE_HINT: &str = "The sandbox may have denied access to a file. Commands can write to the \
    project only with `--edits`, and to another folder only if the user lists it in `[sandbox] \
    write` of their settings.";

/// Returns `true` if the output of a failed command looks as if the sandbox denied access to a file:
/// it was not permitted, or it does not exist in the sandbox because no folder of the profile
/// contains it. Looks at names only, and so reveals nothing about files outside.
pub fn looks_denied(output: &str, profile: &Profile) -> bool {
    const DENIED: [&str; 4] = [
        "Read-only file system",
        "EROFS",
        "Permission denied",
        "EACCES",
    ];
    const ABSENT: [&str; 3] = ["No such file or directory", "nonexistent", "ENOENT"];
    let has = |line: &str, signs: &[&str]| signs.iter().any(|sign| line.contains(sign));
    output.lines().any(|line| {
        has(line, &DENIED)
            || has(line, &ABSENT)
                && line
                    .split(|c: char| c.is_whitespace() || "'\"`:,()".contains(c))
                    .any(|word| is_outside(word, profile))
    })
}

/// Returns `true` if a word is a path outside of the folders of a profile and of the system.
fn is_outside(word: &str, profile: &Profile) -> bool {
    const SYSTEM: [&str; 8] = [
        "/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/dev", "/proc",
    ];
    if !word.starts_with('/') && !word.contains("../") {
        return false;
    }
    let mut path = PathBuf::new();
    for part in profile.cwd.join(word).components() {
        match part {
            Component::ParentDir => {
                path.pop();
            }
            part => path.push(part),
        }
    }
    let folders = profile.readable.iter().chain(&profile.writable);
    let mut known = folders
        .map(PathBuf::as_path)
        .chain(SYSTEM.iter().map(Path::new));
    path.components().count() > 1 && !known.any(|folder| path.starts_with(folder))
}
