//! Permission checks for commands: configured rules, trust and prompts.

use std::path::PathBuf;

pub(crate) use crate::approval_prompt::{Terminal, ask, explain};
use prowess::HostPaths;
use prowess_catalog::CatalogEntry;
use prowess_diag::sanitize;
use prowess_policy::{Effect, PermissionRules, RuleSource};
use prowess_registry::fs::skill_folders;
use prowess_shell::{Word, script};
use prowess_tools::SkillSnapshot;
use prowess_trust::TrustError;

use crate::env::Environment;
use crate::output::Failure;
use crate::packages;
use crate::visible_skills::Library;

/// Returns the root of the repository, or the current folder outside of one.
pub(crate) fn workspace(environment: &Environment) -> PathBuf {
    skill_folders::repository(&environment.current)
        .unwrap_or(&environment.current)
        .to_owned()
}

/// Returns the folders and files that the library works with.
pub(crate) fn paths(environment: &Environment) -> HostPaths {
    // A path that ends in `/` is a folder.
    let as_folder = |folder: PathBuf| folder.join("");
    let mut ours = vec![
        environment.cache_folder().map(as_folder),
        // Only the file: its folder may contain files of other programs.
        environment.settings().user,
        // A package that no lockfile names would be unchecked.
        packages::user_lock(environment),
    ];
    // SQLite trusts the contents of these files next to its database.
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
        named: environment.named_paths(),
        packages: packages::pins(environment).map(|pins| pins as _),
    }
}

/// Adds rules given as flags. Fails on an invalid rule.
pub(crate) fn add(
    rules: &mut PermissionRules,
    effect: Effect,
    texts: &[String],
    source: &RuleSource,
) -> Result<(), Failure> {
    for text in texts {
        let known = rules.unread().len();
        rules.add(effect, text, source.clone());
        if let Some(unread) = rules.unread().get(known) {
            let message = format!("invalid rule `{}`", sanitize::line(&unread.fault.text));
            return Err(Failure::new(message)
                .cause(&unread.fault.why)
                .hint("valid rules are e.g. `Bash(git status:*)`, `Read(src/**)`, `WebFetch(domain:example.com)`"));
        }
    }
    Ok(())
}

/// Parses the rules of `--approve`. Fails on an invalid rule.
pub(crate) fn approvals(texts: &[String]) -> Result<PermissionRules, Failure> {
    let mut rules = PermissionRules::default();
    add(&mut rules, Effect::Allow, texts, &RuleSource::Approval)?;
    Ok(rules)
}

/// Reads a skill.
pub(crate) fn read(
    entry: &CatalogEntry,
    library: &Library,
    environment: &Environment,
) -> Result<SkillSnapshot, Failure> {
    let failed = |error: &TrustError| {
        if let TrustError::Package(fault) = error {
            return packages::refusal(fault);
        }
        let error: &dyn std::error::Error = error;
        let base = Failure::new(format!(
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
    let project = workspace(environment);
    SkillSnapshot::read(name, skill, &library.registry, store.as_ref(), &project)
        .map_err(|error| failed(&error))
}

/// Builds a command line from the arguments after `--`: a single argument is used verbatim, several
/// are quoted and joined.
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
