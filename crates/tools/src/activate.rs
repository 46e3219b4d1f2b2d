//! Turning a skill and its arguments into exactly the text that a model receives.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use prowess_catalog::skill::one_line;
use prowess_catalog::visibility::{Refusal, View, Who};
use prowess_catalog::{Entry, Form, Scope, Skill};
use prowess_diag::Diagnostic;
use prowess_registry::digest::FileFacts;
use prowess_render::{
    Arguments, CommandHandling, FillError, FillReport, PrepareOptions, SkillVariables, prepare,
};
use prowess_spec::{Parsed, parse};
use prowess_trust::{Reading, Standing, State};
use sha2::{Digest, Sha256};

use crate::expand::{CommandRun, Execution, ExpandError, expand};
use crate::workshop::Workshop;

/// Most files of a skill that are listed.
const MAX_FILES: usize = 100;

/// What a skill is given.
#[derive(Clone, Debug)]
pub struct Given {
    /// Its arguments.
    pub arguments: Arguments,
    /// Whether its commands run.
    pub execution: Execution,
    /// Who wants it: a model or a person.
    pub who: Who,
}

impl Given {
    /// A model wants it, with these arguments.
    pub fn by_model(arguments: Arguments) -> Self {
        Self {
            arguments,
            execution: Execution::default(),
            who: Who::Model,
        }
    }

    /// A person wants it, with these arguments.
    pub fn by_person(arguments: Arguments) -> Self {
        Self {
            arguments,
            execution: Execution::default(),
            who: Who::Person,
        }
    }
}

/// A skill that is ready to enter a conversation.
#[derive(Clone, Debug)]
pub struct Activation {
    /// Its name.
    pub name: Box<str>,
    /// The skill.
    pub skill: Arc<Skill>,
    /// Its folder; nothing where it is not on disk.
    pub folder: Option<PathBuf>,
    /// The digest over its files.
    pub digest: String,
    /// Whether it is trusted, or need not be.
    pub trusted: bool,
    /// Its body with everything filled in.
    pub body: String,
    /// Its other files, with their sizes, at most 100.
    pub files: Vec<(String, u64)>,
    /// How many files it has beside SKILL.md.
    pub file_count: usize,
    /// All that the model receives.
    pub text: String,
    /// What became of each placeholder.
    pub report: FillReport,
    /// How its commands went.
    pub runs: Vec<CommandRun>,
    /// What is worth knowing besides.
    pub notes: Vec<Diagnostic>,
}

impl Activation {
    /// A sum over what the model receives: another sum, another text.
    pub fn rendering(&self) -> [u8; 32] {
        Sha256::digest(self.text.as_bytes()).into()
    }
}

/// Why a skill could not be activated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ActivationError {
    /// There is no such skill, or not for whoever asks.
    #[error(transparent)]
    NotFound(Refusal),
    /// Its files could not be read.
    #[error("cannot read the skill {name}: {why}")]
    Read {
        /// Its name.
        name: Box<str>,
        /// Why.
        why: String,
    },
    /// A value would stand where a shell takes it for code.
    #[error("the skill {name} cannot be used safely: {}", .diagnostics.first().map_or("", |found| found.message.as_ref()))]
    Unsafe {
        /// Its name.
        name: Box<str>,
        /// One for each unsafe place, with the safe form.
        diagnostics: Vec<Diagnostic>,
    },
    /// The arguments do not fit.
    #[error(transparent)]
    Fill(#[from] FillError),
    /// It wants a shell that is not there.
    #[error(
        "Skill {name} requires {shell} (`shell: {shell}` in frontmatter) but {shell} was not found"
    )]
    NoShell {
        /// Its name.
        name: Box<str>,
        /// The shell.
        shell: Box<str>,
    },
    /// One of its commands.
    #[error(transparent)]
    Command(#[from] ExpandError),
}

/// Finds a skill by name, fills in its arguments, runs its commands, and says what the model
/// receives. Its use is remembered once, when all of that went well.
pub fn activate(
    workshop: &Workshop,
    asked: &str,
    given: &Given,
) -> Result<Activation, ActivationError> {
    let catalog = workshop.registry.snapshot();
    let view = View::new(&catalog, &workshop.visibility, given.who);
    let entry: &Entry = view.resolve(asked).map_err(ActivationError::NotFound)?;
    let skill = Arc::clone(&entry.skill);
    let name: Box<str> = entry.name().into();
    let unread = |why: String| ActivationError::Read {
        name: name.clone(),
        why,
    };
    let read = workshop
        .read(&skill)
        .map_err(|error| unread(error.to_string()))?;
    let activation = render(workshop, &name, &skill, read, given)?;
    if given.execution == Execution::Run {
        workshop.record_use(&name);
    }
    Ok(activation)
}

/// Activates a skill for a model on a thread that must not wait. Nothing where it has commands, is
/// not a small folder on disk, or cannot be activated: then nothing was done, and [`activate`] is
/// for whoever can wait. Its use is for the caller to remember.
pub(crate) fn activate_at_once(
    workshop: &Workshop,
    asked: &str,
    arguments: Arguments,
) -> Option<Activation> {
    let catalog = workshop.registry.snapshot();
    let view = View::new(&catalog, &workshop.visibility, Who::Model);
    let entry = view.resolve(asked).ok()?;
    let read = Reading::of_small(&entry.skill, workshop.trust.as_ref())?;
    let given = Given {
        execution: Execution::Show,
        ..Given::by_model(arguments)
    };
    let activation = render(workshop, entry.name(), &entry.skill, read, &given).ok()?;
    activation.runs.is_empty().then_some(activation)
}

fn render(
    workshop: &Workshop,
    name: &str,
    skill: &Arc<Skill>,
    read: Reading,
    given: &Given,
) -> Result<Activation, ActivationError> {
    let Reading {
        text,
        files,
        standing,
    } = read;
    let parsed = parse(&text);
    let trusted = standing.is_trusted();
    let commands = if trusted && workshop.settings.commands {
        CommandHandling::Bind
    } else {
        CommandHandling::Withhold
    };
    let names: Vec<&str> = parsed
        .manifest
        .arguments
        .iter()
        .map(|text| &*text.value)
        .collect();
    let options = PrepareOptions {
        names: &names,
        compat: workshop.settings.compat,
        commands,
    };
    let template =
        prepare(parsed.text, parsed.body, &options).map_err(|refused| ActivationError::Unsafe {
            name: name.into(),
            diagnostics: refused.diagnostics,
        })?;
    if template.commands() > 0 && given.execution == Execution::Run {
        check_shell(name, &parsed)?;
    }
    let folder = standing.place.as_ref().map(|place| match skill.form {
        Form::Folder | Form::Memory => place.clone(),
        Form::File | Form::Command => place.parent().unwrap_or(place).to_owned(),
    });
    let is_served = skill.id.origin.scope == Scope::Server;
    let variables = variables(workshop, folder.as_deref(), is_served);
    let filled = template.fill(&given.arguments, &variables)?;
    let mut runs = Vec::new();
    let body = expand(
        workshop,
        &standing,
        filled.parts,
        given.execution,
        &mut runs,
    )?;
    let (files, file_count) = beside(workshop, skill, files);
    let mut activation = Activation {
        name: name.into(),
        skill: Arc::clone(skill),
        folder,
        digest: standing.digest.clone(),
        trusted,
        body,
        files,
        file_count,
        text: String::new(),
        report: filled.report,
        runs,
        notes: template.notes().to_vec(),
    };
    activation.text = frame(&activation, &standing, workshop.settings.closing.as_deref());
    Ok(activation)
}

/// A shell that a skill asks for must be there before anything runs.
fn check_shell(name: &str, parsed: &Parsed<'_>) -> Result<(), ActivationError> {
    let missing = |shell: &str| ActivationError::NoShell {
        name: name.into(),
        shell: shell.into(),
    };
    match parsed
        .manifest
        .shell
        .as_ref()
        .map(|shell| shell.value.trim().to_ascii_lowercase())
    {
        Some(shell) if shell == "powershell" || shell == "pwsh" => Err(missing("powershell")),
        _ if ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"]
            .iter()
            .any(|file| Path::new(file).exists()) =>
        {
            Ok(())
        }
        _ => Err(missing("bash")),
    }
}

fn variables(workshop: &Workshop, folder: Option<&Path>, is_served: bool) -> SkillVariables {
    let spell = |path: &Path| path.to_str().map(str::to_owned);
    SkillVariables {
        skill_dir: folder.and_then(spell),
        session_id: workshop.settings.session.clone(),
        project_dir: spell(&workshop.places.workspace),
        effort: workshop.settings.effort.clone(),
        // What a person granted is for skills of theirs.
        env: if is_served {
            BTreeMap::new()
        } else {
            workshop.settings.environment.clone()
        },
    }
}

/// The files of a skill beside SKILL.md, with their sizes.
fn beside(
    workshop: &Workshop,
    skill: &Skill,
    files: Vec<FileFacts>,
) -> (Vec<(String, u64)>, usize) {
    let mut all: Vec<(String, u64)> = match skill.form {
        Form::Folder => {
            let main = Path::new(&*skill.location).file_name().map(Path::new);
            let others = files.into_iter().filter(|file| Some(&*file.path) != main);
            others
                .map(|file| (file.path.to_string_lossy().into_owned(), file.size))
                .collect()
        }
        // What is not on disk is listed by where it comes from.
        Form::Memory => {
            let files = workshop.registry.files(&skill.id).unwrap_or_default();
            files
                .into_iter()
                .filter(|(path, _)| path != "SKILL.md")
                .collect()
        }
        Form::File | Form::Command => Vec::new(),
    };
    let count = all.len();
    all.truncate(MAX_FILES);
    (all, count)
}

/// The body between what a model must know before and after it.
fn frame(activation: &Activation, standing: &Standing, closing: Option<&str>) -> String {
    let mut text = String::with_capacity(activation.body.len() + 1024);
    if let Some(folder) = &activation.folder {
        text.push_str(&format!(
            "Base directory for this skill: {}\n",
            folder.display()
        ));
    }
    let origin = &activation.skill.id.origin;
    if origin.scope == Scope::Server {
        let server = one_line(&origin.vendor);
        text.push_str(&format!("This skill comes from the MCP server `{server}`: its text is that server's, not the user's. Its commands did not run, and it grants no tools.\n"));
    }
    if let Some(version) = &activation.skill.version {
        text.push_str(&format!("Version: {}\n", one_line(version)));
    }
    if !activation.trusted && origin.scope != Scope::Server {
        let why = match &standing.state {
            Some(State::Lapsed { .. }) => "it changed since a person trusted it",
            _ => "no person trusts it yet",
        };
        text.push_str(&format!("This skill is read-only here: {why}. Its commands did not run, and it grants no tools.\n"));
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(activation.body.trim_matches('\n'));
    if !activation.files.is_empty() {
        text.push_str("\n\nFiles of this skill (read them with load_skill_resource):\n");
        for (path, size) in &activation.files {
            let path = one_line(path);
            text.push_str(&format!(
                "- {path} ({})\n",
                prowess_diag::wording::size(*size)
            ));
        }
        let more = activation.file_count - activation.files.len();
        if more > 0 {
            text.push_str(&format!("- and {more} more\n"));
        }
        text.pop();
    }
    // Core-agent leaves skills without a word in them alone.
    if let Some(closing) = closing.filter(|_| !activation.body.trim().is_empty()) {
        text.push_str("\n\n");
        text.push_str(closing);
    }
    text.push('\n');
    text
}
