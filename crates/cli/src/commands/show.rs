//! `prowess show`

use std::path::Path;
use std::path::PathBuf;

use clap::Args;
use clap_complete::ArgValueCompleter;
use prowess::inspect;
use prowess_catalog::outline::headings;
use prowess_diag::{Diagnostic, Severity, sanitize, theme, wording};
use prowess_lint::{LintProfile, LintRuleSet, LintSubject, check, skills_ref};
use prowess_package::status::PackageStatus;
use prowess_registry::digest::{self, FactKind, FileFacts};
use prowess_registry::resource::SkillFolder;
use prowess_registry::{FoundSkill, read_folder, read_path};
use prowess_spec::identity::{IdentitySource, identify};
use prowess_spec::yaml::{YamlEntry, YamlNode, YamlValue as Yaml};
use prowess_spec::{PackageListing, ParsedSkill, parse, tokens};

use crate::args::GlobalArgs;
use crate::commands::completions;
use crate::env::Environment;
use crate::output::{Exit, Failure, Printer, wrap};
use crate::packages;
use crate::targets::{self, Meant};

#[derive(Debug, Args)]
#[command(
    about = "Show the metadata, outline, files and size of one skill\n\nReads the skill as the loader does, recovering as much as possible from invalid files.",
    after_help = "\
Examples:
  prowess show skills/release-notes                   show everything
  prowess show skills/release-notes --json            print as JSON
  prowess show skills/release-notes --file SKILL.md   print one of its files"
)]
pub(crate) struct ShowArgs {
    /// Folder of a skill, its SKILL.md, or an installed name
    #[arg(value_name = "PATH|NAME", add = ArgValueCompleter::new(completions::skills_and_paths))]
    pub(crate) path: PathBuf,
    /// Print this file of the skill, given relative to the skill's folder
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<String>,
    /// With `--file`, start at this byte (default: 0)
    #[arg(
        long,
        value_name = "BYTE",
        default_value_t = 0,
        hide_default_value = true,
        requires = "file"
    )]
    pub(crate) offset: u64,
    /// With `--file`, print at most this many bytes (default: 65,536)
    #[arg(long, value_name = "BYTES", requires = "file")]
    pub(crate) limit: Option<usize>,
    /// Read the skill with this profile; `spec` with `--json` prints the output of `skills-ref read-properties`
    #[arg(long, value_name = "PROFILE")]
    pub(crate) profile: Option<String>,
    /// Print as JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

pub(crate) fn run(
    args: &ShowArgs,
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let profile = match &args.profile {
        None => LintProfile::default(),
        Some(name) => LintProfile::parse(name).ok_or_else(|| {
            Failure::new(format!("invalid value `{name}` for `--profile`"))
                .hint("expected `spec`, `claude-code` or `lenient`")
        })?,
    };
    let meant = targets::resolve_skill(&args.path, global, environment, printer)?;
    let (path, folder) = match meant {
        Meant::Path(path) => (path, None),
        Meant::Skill { path, folder } => (path, Some(folder)),
        Meant::Memory { location, text } => {
            if args.file.as_deref().is_some_and(|file| file != "SKILL.md") {
                return Err(Failure::new("a bundled skill consists of SKILL.md only"));
            }
            if args.file.is_some() {
                printer.verbatim(&text)?;
                return Ok(Exit::Done);
            }
            let (path, package) = (Path::new(&location), PackageListing::default());
            let found = FoundSkill::named(path, Ok(text.as_slice()), &package);
            return show(found, None, args, profile, environment, printer);
        }
    };
    if let Some(file) = &args.file {
        return super::show_file::run(&path, folder, file, args, environment, printer);
    }
    let mut outcome = None;
    let mut visit = |found: FoundSkill<'_>| {
        let shown = show(found, folder.as_ref(), args, profile, environment, printer);
        outcome = Some(shown);
    };
    match &folder {
        Some(folder) => read_folder(folder, &mut visit),
        None => read_path(&path, &mut visit),
    };
    outcome.unwrap_or_else(|| {
        let shown = targets::display(&path, environment);
        let hint = format!(
            "check the skills in subfolders with {}",
            wording::command(["prowess", "validate", &*shown])
        );
        Err(Failure::new(format!("SKILL.md not found in `{shown}`")).hint(hint))
    })
}

fn show(
    found: FoundSkill<'_>,
    opened: Option<&SkillFolder>,
    args: &ShowArgs,
    profile: LintProfile,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let FoundSkill {
        path: file,
        bytes,
        package,
        ..
    } = found;
    let bytes = bytes.map_err(|fault| unreadable(file, &fault, environment))?;
    let parsed = parse(bytes);
    let subject = LintSubject::new(&parsed, package);
    let findings = check(&subject, &LintRuleSet::new(profile, None));
    if profile == LintProfile::Spec && args.json {
        return print_properties(&parsed, &findings, printer);
    }
    // A single Markdown file has no skill folder.
    let folder = package
        .folder()
        .is_some()
        .then(|| file.parent().unwrap_or(Path::new(".")));
    let folder = folder.map(|folder| {
        if folder.as_os_str().is_empty() {
            Path::new(".")
        } else {
            folder
        }
    });
    let (files, digest) = match (opened, folder) {
        (Some(opened), Some(_)) => hashed(opened)?,
        (None, Some(folder)) => {
            let opened = SkillFolder::open(folder);
            hashed(&opened.map_err(|error| Failure::new(error.to_string()))?)?
        }
        (_, None) => (Vec::new(), None),
    };
    let count = |severity| {
        findings
            .iter()
            .filter(|found| found.severity == severity)
            .count()
    };
    let package = inspect::Package {
        identity: identify(&parsed.manifest, package.folder(), parsed.body_text()),
        file: targets::display(file, environment),
        outline: headings(parsed.body_text())
            .map(|(level, text)| (level, text.to_owned()))
            .collect(),
        errors: count(Severity::Error),
        warnings: count(Severity::Warning),
        parsed: &parsed,
        files,
        digest,
        folder: folder.map(Path::to_owned),
    };
    let profile_flag = if profile == LintProfile::default() {
        String::new()
    } else {
        format!(" --profile {}", profile.as_str())
    };
    let status = package.folder.as_deref();
    let status = status.and_then(|folder| packages::status_of(&entry_of(folder), environment));
    let view = View {
        package,
        profile_flag,
        status,
    };
    if args.json {
        let mut document = view.package.document();
        document["package"] = view.status.as_ref().map(packages::status_document).into();
        printer.json(&document)?;
    } else {
        printer.answer(&view.to_text(printer.text_width(), environment))?;
    }
    Ok(Exit::Done)
}

fn unreadable(file: &Path, fault: &prowess_spec::ReadFault, environment: &Environment) -> Failure {
    use prowess_spec::ReadFault;
    let shown = targets::display(file, environment);
    Failure::new(match fault {
        ReadFault::Missing => format!("`{shown}` does not exist"),
        ReadFault::NotAFile(what) => format!("`{shown}` is {what}, not a regular file"),
        ReadFault::TooLarge { bytes } => {
            format!("`{shown}` is too large: {}", wording::size(*bytes))
        }
        ReadFault::Unreadable(reason) => format!("cannot read `{shown}`: {reason}"),
    })
}

/// Prints the output of `skills-ref read-properties`.
fn print_properties(
    parsed: &ParsedSkill<'_>,
    findings: &[Diagnostic],
    printer: &Printer,
) -> Result<Exit, Failure> {
    match skills_ref::properties(parsed, findings) {
        Ok(properties) => {
            printer.json(&properties)?;
            Ok(Exit::Done)
        }
        Err(fatal) => {
            printer.error(
                &Failure::new(fatal.message.clone())
                    .hint(format!("run `prowess explain {}`", fatal.rule)),
            );
            Ok(Exit::No)
        }
    }
}

/// Formats a skill as text.
struct View<'a> {
    package: inspect::Package<'a>,
    /// The option of `validate` that gives the same findings.
    profile_flag: String,
    /// The package that it is.
    status: Option<PackageStatus>,
}

impl View<'_> {
    fn to_text(&self, width: usize, environment: &Environment) -> String {
        let shown = &self.package;
        let accent = theme::bold(theme::ACCENT);
        let dim = theme::DIM;
        let manifest = &shown.parsed.manifest;
        let locked = self.status.as_ref();
        let locked = locked.and_then(|status| status.version.as_deref());
        let own = manifest.version.as_ref().map(|text| &*text.value);
        let version = locked.or(own);
        let version = version.map(|text| format!(" {}", sanitize::line(text)));
        let version = version.unwrap_or_default();
        let mut text = format!(
            "{accent}{}{accent:#}{version}  {dim}{}{dim:#}\n",
            sanitize::line(&shown.identity.name),
            sanitize::line(&shown.file)
        );
        for line in wrap(
            &sanitize::line(&shown.identity.description),
            width.saturating_sub(2),
        ) {
            text.push_str(&format!("  {line}\n"));
        }
        if shown.identity.description_source == IdentitySource::Body {
            text.push_str(&format!(
                "  {dim}(from the body: the frontmatter has no description){dim:#}\n"
            ));
        }
        if let Some(status) = &self.status {
            section(&mut text, "Package");
            let mut lines = vec![packages::describe_status(status)];
            lines.extend(status.fault.as_ref().map(ToString::to_string));
            lines.extend(status.hint());
            for line in &lines {
                for row in wrap(&sanitize::line(line), width.saturating_sub(2)) {
                    text.push_str(&format!("  {row}\n"));
                }
            }
        }
        section(&mut text, "Frontmatter");
        let keys: Vec<&YamlEntry> = manifest
            .entries
            .iter()
            .filter(|entry| !matches!(&*entry.key, "name" | "description"))
            .collect();
        let column = keys
            .iter()
            .map(|entry| entry.key.chars().count())
            .max()
            .unwrap_or(0)
            .min(28);
        for entry in &keys {
            let value = sanitize::line(&flat(&entry.value)).into_owned();
            let room = width.saturating_sub(column + 4).max(20);
            text.push_str(&format!(
                "  {:column$}  {}\n",
                sanitize::line(&entry.key),
                wording::shorten(&value, room)
            ));
        }
        if keys.is_empty() {
            text.push_str("  only name and description\n");
        }
        section(&mut text, "Invocation");
        text.push_str(&format!(
            "  by models: {}   by users: {}\n",
            yes(!manifest.model_invocation_disabled()),
            yes(manifest.is_user_invocable())
        ));
        if !shown.outline.is_empty() {
            section(&mut text, "Outline");
            for (level, heading) in &shown.outline {
                let indent = "  ".repeat(*level);
                text.push_str(&format!(
                    "{indent}{}\n",
                    wording::shorten(&sanitize::line(heading), width.saturating_sub(indent.len()))
                ));
            }
        }
        if !shown.files.is_empty() {
            section(&mut text, "Files");
            for file in &shown.files {
                let mark = match file.kind {
                    FactKind::File => "",
                    FactKind::Executable => "  executable",
                    FactKind::Link => "  link",
                };
                text.push_str(&format!(
                    "  {:>9}  {}{dim}{mark}{dim:#}\n",
                    wording::size(file.size),
                    sanitize::line(&file.path.to_string_lossy())
                ));
            }
        }
        let body = shown.parsed.body_text();
        section(&mut text, "Size");
        text.push_str(&format!(
            "  listing {}, body {} in {}\n",
            about(
                tokens::estimate(&shown.identity.name)
                    + tokens::estimate(&shown.identity.description)
            ),
            about(tokens::estimate(body)),
            wording::count(body.lines().count(), "line"),
        ));
        if let Some(digest) = &shown.digest {
            text.push_str(&format!("  {dim}{digest}{dim:#}\n"));
        }
        let counts = [(shown.errors, "error"), (shown.warnings, "warning")];
        let counts = counts.into_iter().filter(|(n, _)| *n > 0);
        let counts: Vec<String> = counts.map(|(n, noun)| wording::count(n, noun)).collect();
        if !counts.is_empty() {
            let place = shown.folder.as_deref().map_or_else(
                || shown.file.clone(),
                |folder| targets::display(folder, environment),
            );
            text.push_str(&format!(
                "\n{}: run `prowess validate{} {}`\n",
                wording::all(counts),
                self.profile_flag,
                sanitize::line(&wording::shell_word(&place)),
            ));
        }
        text
    }
}

/// Returns the absolute path of a folder. Its last part may be a link, which is not followed.
fn entry_of(folder: &Path) -> PathBuf {
    std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned())
}

fn section(text: &mut String, title: &str) {
    let strong = theme::STRONG;
    text.push_str(&format!("\n{strong}{title}{strong:#}\n"));
}

fn yes(value: bool) -> &'static str {
    if value { "yes" } else { "no" }
}

fn about(tokens: usize) -> String {
    format!("about {}", wording::count(tokens, "token"))
}

/// Formats a value on one line.
fn flat(node: &YamlNode) -> String {
    match &node.value {
        Yaml::Scalar(text, _) => text.trim_end().to_owned(),
        Yaml::Sequence(items, _) => items.iter().map(flat).collect::<Vec<_>>().join(", "),
        Yaml::Mapping(entries, _) => entries
            .iter()
            .map(|entry| format!("{}: {}", entry.key, flat(&entry.value)))
            .collect::<Vec<_>>()
            .join(", "),
    }
}

/// Lists and hashes the files of a skill.
fn hashed(folder: &SkillFolder) -> Result<(Vec<FileFacts>, Option<String>), Failure> {
    let files = folder.files().map_err(|error| no_digest(&error))?;
    let hashed = folder.digest_and_text(&files, Path::new(""));
    let (digest, _) = hashed.map_err(|error| no_digest(&error))?;
    Ok((files, Some(digest)))
}

/// Converts a digest error, keeping its cause.
fn no_digest(error: &digest::DigestError) -> Failure {
    let base = Failure::new(error.to_string());
    match std::error::Error::source(error) {
        Some(cause) => base.cause(cause),
        None => base,
    }
}
