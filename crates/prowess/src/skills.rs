//! Skills as values: parse, load, define, render.

use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use prowess_registry::{InvalidSkill, NewSkill, SkillBuilder, SourceFaultKind};
use prowess_render::{
    Arguments, CommandHandling, FillError, PrepareOptions, RefusedTemplate, RenderedPart,
    SkillVariables, prepare,
};
use prowess_runtime::SkillRef;
use prowess_spec::parse::MAX_FILE;
use prowess_spec::{ReadFault, parse};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// Parses the text of a `SKILL.md`, as tolerantly as a file is read: unknown keys, broken YAML and a
/// missing description are no errors. The name must be in the frontmatter.
///
/// ```
/// let skill = prowess::parse_skill("---\nname: greet\ndescription: Greets people.\n---\nSay hello.\n")?;
/// assert_eq!(skill.name(), "greet");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn parse_skill(text: impl Into<String>) -> Result<NewSkill, InvalidSkill> {
    NewSkill::from_file_text(text, None)
}

/// Parses the text of a `SKILL.md` like [`parse_skill`]. `name` is used if the frontmatter has no
/// valid name, like that of a folder.
pub fn parse_skill_named(name: &str, text: impl Into<String>) -> Result<NewSkill, InvalidSkill> {
    NewSkill::from_file_text(text, Some(name))
}

/// Error from loading a skill.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadSkillError {
    /// The file could not be read.
    #[error("cannot read `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The path is neither a folder with a SKILL.md nor a Markdown file, or the file has no content.
    #[error("`{}` is not a skill: {why}", path.display())]
    NotASkill {
        /// The path.
        path: PathBuf,
        /// The reason.
        why: Box<str>,
    },
    /// The frontmatter has another name than the folder.
    #[error("the folder `{folder}` has a skill named `{name}`; both names must be the same")]
    NameMismatch {
        /// The name of the folder.
        folder: Box<str>,
        /// The name in the frontmatter.
        name: Box<str>,
    },
}

/// Reads one skill: a folder with a `SKILL.md`, or a Markdown file. It is read as tolerantly as the
/// skills of a registry, and its files can be used when it runs, where `${PROWESS_SKILL_DIR}` is its
/// folder. The text is read again then.
///
/// A folder must have the name of its skill. A file need not: a missing name is that of its folder
/// or file, and a missing description is the first line of the text.
///
/// ```
/// # let world = tempfile::tempdir()?;
/// # let greet = world.path().join("greet");
/// # std::fs::create_dir(&greet)?;
/// # std::fs::write(greet.join("SKILL.md"), "---\nname: greet\ndescription: Greets.\n---\nSay hello.\n")?;
/// let skill = prowess::load_skill(&greet)?;
/// assert_eq!(skill.name(), "greet");
/// assert!(prowess::load_skill("nowhere").is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn load_skill(path: impl AsRef<Path>) -> Result<NewSkill, LoadSkillError> {
    let path = path.as_ref();
    let skill = match NewSkill::from_path(path) {
        Ok(Some(skill)) => skill,
        Ok(None) => {
            return Err(LoadSkillError::NotASkill {
                path: path.into(),
                why: "it is neither a skill folder nor a Markdown file".into(),
            });
        }
        Err(fault) => {
            let path = path.into();
            return Err(match &fault.why {
                SourceFaultKind::NotASkill(why) => LoadSkillError::NotASkill {
                    path,
                    why: why.to_string().into(),
                },
                why => LoadSkillError::Read {
                    path,
                    source: read_error(why),
                },
            });
        }
    };
    match skill.alias().filter(|_| path.is_dir()) {
        Some(alias) => {
            let parsed = parse(skill.text().as_bytes());
            let written = parsed.manifest.name.as_ref();
            let written = written.map(|written| prowess_spec::name::normalise(&written.value));
            // One of them is the folder's name, the other one is written in the file.
            let (folder, name) = if written.as_deref() == Some(alias) {
                (skill.name(), alias)
            } else {
                (alias, skill.name())
            };
            Err(LoadSkillError::NameMismatch {
                folder: folder.into(),
                name: name.into(),
            })
        }
        None => Ok(skill),
    }
}

/// Reads one skill like [`load_skill`], with typed arguments: the fields of a type. Arguments that do
/// not match its schema are an error before a model is asked.
///
/// ```
/// # let world = tempfile::tempdir()?;
/// # let triage = world.path().join("triage.md");
/// # std::fs::write(&triage, "---\nname: triage\narguments: [issue]\n---\nLook at issue $issue.\n")?;
/// #[derive(serde::Serialize, schemars::JsonSchema)]
/// struct Triage {
///     issue: u32,
/// }
///
/// let skill = prowess::load_typed_skill::<Triage>(&triage)?;
/// assert_eq!(skill.render(&Triage { issue: 42 })?.trim(), "Look at issue 42.");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn load_typed_skill<T: JsonSchema + Serialize>(
    path: impl AsRef<Path>,
) -> Result<TypedSkill<T>, LoadSkillError> {
    load_skill(path).map(TypedSkill::new)
}

fn read_error(why: &SourceFaultKind) -> std::io::Error {
    use std::io::{Error, ErrorKind};
    let SourceFaultKind::Read(fault) = why else {
        return Error::other(why.to_string());
    };
    match fault {
        ReadFault::Missing => Error::new(ErrorKind::NotFound, "no such file"),
        ReadFault::NotAFile(kind) => {
            Error::new(ErrorKind::InvalidInput, format!("it is {kind}, not a file"))
        }
        ReadFault::TooLarge { bytes } => {
            let text = format!("it has {bytes} bytes; the limit is {MAX_FILE}");
            Error::new(ErrorKind::FileTooLarge, text)
        }
        ReadFault::Unreadable(why) => Error::other(why.clone()),
    }
}

/// A skill with typed arguments.
#[derive(Clone, Debug)]
pub struct TypedSkill<T> {
    /// The skill, to be registered. It has the schema of the arguments.
    pub skill: NewSkill,
    schema: Value,
    input: PhantomData<fn(&T)>,
}

/// Defines a skill whose arguments are the fields of a type: `$field` in its instructions is
/// replaced by the field. The same rules apply as for a file.
///
/// ```
/// use prowess::{NewSkill, Registry, define_skill};
///
/// #[derive(serde::Serialize, schemars::JsonSchema)]
/// struct Greeting {
///     who: String,
///     times: u32,
/// }
///
/// let skill = define_skill::<Greeting>(
///     NewSkill::builder("greet", "Greets people.").instructions("Say hello to $who, $times times."),
/// )?;
/// let text = skill.render(&Greeting { who: "Ada".into(), times: 2 })?;
/// assert_eq!(text.trim(), "Say hello to Ada, 2 times.");
/// assert_eq!(skill.input_schema()["properties"]["times"]["type"], "integer");
///
/// Registry::default().register(skill.skill)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn define_skill<T: JsonSchema + Serialize>(
    builder: SkillBuilder,
) -> Result<TypedSkill<T>, InvalidSkill> {
    let schema = schemars::schema_for!(T).to_value();
    let names: Vec<String> = schema["properties"]
        .as_object()
        .map(|properties| properties.keys().cloned().collect())
        .unwrap_or_default();
    builder.arguments(&names).build().map(TypedSkill::new)
}

impl<T: JsonSchema> TypedSkill<T> {
    /// Gives a skill typed arguments.
    pub fn new(skill: NewSkill) -> Self {
        let schema = schemars::schema_for!(T).to_value();
        Self {
            skill: skill.with_input_schema(schema.clone()),
            schema,
            input: PhantomData,
        }
    }
}

impl<T> From<TypedSkill<T>> for SkillRef {
    fn from(typed: TypedSkill<T>) -> Self {
        typed.skill.into()
    }
}

impl<T> From<&TypedSkill<T>> for SkillRef {
    fn from(typed: &TypedSkill<T>) -> Self {
        typed.skill.clone().into()
    }
}

impl<T: Serialize> TypedSkill<T> {
    /// Returns the JSON Schema of its arguments.
    pub fn input_schema(&self) -> &Value {
        &self.schema
    }

    /// Converts a value to arguments.
    pub fn arguments(&self, input: &T) -> Result<Arguments, RenderError> {
        Ok(Arguments::from_json(serde_json::to_value(input)?))
    }

    /// Renders its instructions with a value.
    pub fn render(&self, input: &T) -> Result<String, RenderError> {
        render(
            self.skill.text(),
            &self.arguments(input)?,
            &SkillVariables::default(),
        )
    }
}

/// Error from rendering a skill.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RenderError {
    /// A shell would interpret a value as code.
    #[error(transparent)]
    RefusedTemplate(#[from] RefusedTemplate),
    /// The arguments are invalid.
    #[error(transparent)]
    Fill(#[from] FillError),
    /// The arguments cannot be converted to JSON.
    #[error("cannot convert the arguments to JSON")]
    Json(#[from] serde_json::Error),
}

/// Renders the body of a skill with arguments and variables. Commands do not run; a note replaces
/// each one. [`activate`](crate::activate()) runs them, gated and sandboxed.
///
/// ```
/// use prowess::render::{Arguments, SkillVariables};
///
/// let text = "---\nname: x\ndescription: d\n---\nFix $0 in $1: !`git status`\n";
/// let body = prowess::render_skill(text, &Arguments::from_text("it \"the shop\""), &SkillVariables::default())?;
/// assert_eq!(body.trim(), "Fix it in the shop: [command not run: git status]");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn render_skill(
    text: &str,
    arguments: &Arguments,
    variables: &SkillVariables,
) -> Result<String, RenderError> {
    render(text, arguments, variables)
}

fn render(
    text: &str,
    arguments: &Arguments,
    variables: &SkillVariables,
) -> Result<String, RenderError> {
    let parsed = parse(text.as_bytes());
    let names: Vec<&str> = parsed
        .manifest
        .arguments
        .iter()
        .map(|name| &*name.value)
        .collect();
    let options = PrepareOptions {
        names: &names,
        commands: CommandHandling::Withhold,
        ..PrepareOptions::default()
    };
    let rendered = prepare(parsed.text, parsed.body, &options)?.fill(arguments, variables)?;
    let piece = |part: RenderedPart| match part {
        RenderedPart::Text(text) => text,
        RenderedPart::Command(slot) => format!("[command not run: {}]", slot.display),
        RenderedPart::Withheld(held) => format!("[command not run: {}]", held.display),
        RenderedPart::Refused(refused) => format!("[command not run: {}]", refused.display),
        _ => String::new(),
    };
    Ok(rendered.parts.into_iter().map(piece).collect())
}
