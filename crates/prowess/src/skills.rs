//! Skills as values: parse, load, define, render.

use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use prowess_registry::{InvalidSkill, NewSkill, SkillBuilder, read_path};
use prowess_render::{
    Arguments, CommandHandling, FillError, PrepareOptions, RefusedTemplate, RenderedPart,
    SkillVariables, prepare,
};
use prowess_spec::parse::MAX_FILE;
use prowess_spec::{ReadFault, parse};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// Parses the text of a `SKILL.md`. The same rules apply as for a file.
///
/// ```
/// let skill = prowess::parse_skill("---\nname: greet\ndescription: Greets people.\n---\nSay hello.\n")?;
/// assert_eq!(skill.name(), "greet");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn parse_skill(text: impl Into<String>) -> Result<NewSkill, InvalidSkill> {
    NewSkill::from_text(text)
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
    /// The path is neither a folder with a SKILL.md nor a Markdown file.
    #[error("`{}` is neither a skill folder nor a Markdown file", path.display())]
    NotASkill {
        /// The path.
        path: PathBuf,
    },
    /// The skill is invalid.
    #[error(transparent)]
    InvalidSkill(#[from] InvalidSkill),
}

/// Reads one skill: a folder with a `SKILL.md`, or a Markdown file.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # std::fs::write(folder.path().join("SKILL.md"), "---\nname: greet\ndescription: Greets.\n---\nSay hello.\n")?;
/// let skill = prowess::load_skill(folder.path())?;
/// assert_eq!(skill.name(), "greet");
/// assert!(prowess::load_skill("nowhere").is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn load_skill(path: impl AsRef<Path>) -> Result<NewSkill, LoadSkillError> {
    let path = path.as_ref();
    let mut loaded = None;
    let is_skill = read_path(path, &mut |found| {
        let is_markdown = found
            .path
            .extension()
            .is_some_and(|ending| ending.eq_ignore_ascii_case("md"));
        loaded = match found.bytes {
            Err(fault) => Some(Err(LoadSkillError::Read {
                path: found.path.to_owned(),
                source: read_error(&fault),
            })),
            Ok(bytes) if is_markdown => {
                let text = String::from_utf8_lossy(bytes).into_owned();
                Some(parse_skill(text).map_err(LoadSkillError::from))
            }
            Ok(_) => None,
        };
    });
    loaded
        .filter(|_| is_skill)
        .unwrap_or_else(|| Err(LoadSkillError::NotASkill { path: path.into() }))
}

fn read_error(fault: &ReadFault) -> std::io::Error {
    use std::io::{Error, ErrorKind};
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
    /// The skill, to be registered.
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
    let skill = builder.arguments(&names).build()?;
    Ok(TypedSkill {
        skill,
        schema,
        input: PhantomData,
    })
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
