//! The gate as commands use it: rules of the configuration, trust, and questions to a person.

use std::path::PathBuf;

pub(crate) use crate::ask::{Terminal, ask, explain};
use prowess::HostPaths;
use prowess_catalog::Entry;
use prowess_diag::sanitize;
use prowess_policy::{Effect, Gate, Source};
use prowess_registry::fs::scopes;
use prowess_shell::{Word, script};
use prowess_tools::SkillSnapshot;

use crate::env::Environment;
use crate::error::CliError;
use crate::library::Library;

/// The project: the repository, else the current folder.
pub(crate) fn workspace(environment: &Environment) -> PathBuf {
    scopes::repository(&environment.current)
        .unwrap_or(&environment.current)
        .to_owned()
}

/// Returns the folders of the program.
pub(crate) fn paths(environment: &Environment) -> HostPaths {
    let mut ours = vec![
        environment.cache_folder(),
        // Only the files: they may lie in a folder that is not ours.
        environment.settings().user,
    ];
    // SQLite keeps what was written last beside its file, and believes what it finds there.
    ours.extend(["", "-wal", "-shm", "-journal"].map(|end| {
        let mut file = environment.store_file()?.into_os_string();
        file.push(end);
        Some(PathBuf::from(file))
    }));
    HostPaths {
        workspace: workspace(environment),
        home: environment.home.clone(),
        state: environment.state_folder(),
        ours: ours.into_iter().flatten().collect(),
    }
}

/// Adds rules that were typed; one that means nothing is an error.
pub(crate) fn add(gate: &mut Gate, effect: Effect, rules: &[String]) -> Result<(), CliError> {
    for text in rules {
        let known = gate.rules.unread().len();
        gate.rules.add(effect, text, Source::Flag);
        if let Some(unread) = gate.rules.unread().get(known) {
            let message = format!(
                "the rule `{}` means nothing",
                sanitize::line(&unread.fault.text)
            );
            return Err(CliError::new(message)
                .cause(&unread.fault.why)
                .hint("rules look like `Bash(git status:*)`, `Read(src/**)`, `WebFetch(domain:example.com)`"));
        }
    }
    Ok(())
}

/// Reads a skill.
pub(crate) fn read(
    entry: &Entry,
    library: &Library,
    environment: &Environment,
) -> Result<SkillSnapshot, CliError> {
    let failed = |error: &dyn std::error::Error| {
        let base = CliError::new(format!(
            "cannot read the skill `{}`",
            sanitize::line(&entry.skill.name)
        ));
        let mut cause = error.to_string();
        let mut source = error.source();
        while let Some(inner) = source {
            cause.push_str(&format!(": {inner}"));
            source = inner.source();
        }
        base.cause(cause)
    };
    let store = paths(environment).trust();
    let (name, skill) = (entry.name(), &entry.skill);
    SkillSnapshot::read(name, skill, &library.registry, store.as_ref())
        .map_err(|error| failed(&error))
}

/// A command line from what was typed behind `--`: one text as it is, words as words.
pub(crate) fn line(typed: &[String]) -> String {
    match typed {
        [text] => text.clone(),
        words => script::canonical(
            &words
                .iter()
                .map(|word| Word::plain(&**word))
                .collect::<Vec<_>>(),
        ),
    }
}
