//! `prowess convert`

use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use prowess::inspect;
use prowess_config::{McpServer, McpTransport};
use prowess_diag::{FileReport, FindingCounts, Severity, wording};
use prowess_flow::AgentDef;
use prowess_flow::convert::{
    Conversion, ConvertServer, ConvertTarget, ConvertTransport, ConvertedFile, convert,
};
use prowess_flow::mission::{MissionProject, MissionSettings};
use prowess_registry::ConversionFiles;
use prowess_spec::ReadFault;

use crate::args::GlobalArgs;
use crate::env::Environment;
use crate::output::{Exit, Failure, Printer};
use crate::{targets, visible_skills};

#[derive(Debug, Args)]
#[command(
    about = "Convert skills, agents and missions into the files of another system\n\nReads the HCL files of Squadron, agent files of all systems that `prowess agent list` knows, and folders with a SKILL.md. Each thing that the target cannot express is reported. Files are only written into a new or empty folder, and the source is not changed.",
    after_help = "\
Exit codes:
  0  converted; with `--check`, nothing would be lost
  1  errors in the source; with `--check`, something would be lost
  2  the command failed

Examples:
  prowess convert . --to skills --out new           write skills as folders
  prowess convert .claude --to squadron --out hcl   write agents as HCL
  prowess convert . --to agents-md --out md --json  the same as JSON"
)]
pub(crate) struct ConvertArgs {
    /// A file, or a folder with missions, agents or skills
    #[arg(value_name = "SRC")]
    pub(crate) source: PathBuf,
    /// The form to write: squadron, agents-md, skills
    #[arg(long, value_name = "TARGET", hide_possible_values = true)]
    pub(crate) to: TargetArg,
    /// The folder to write; it must be empty or not exist
    #[arg(long, value_name = "DIR", required_unless_present = "check")]
    pub(crate) out: Option<PathBuf>,
    /// Write nothing, and fail if something would be lost
    #[arg(long)]
    pub(crate) check: bool,
    /// Print as JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TargetArg {
    Squadron,
    AgentsMd,
    Skills,
}

impl TargetArg {
    fn target(self) -> ConvertTarget {
        match self {
            Self::Squadron => ConvertTarget::Squadron,
            Self::AgentsMd => ConvertTarget::AgentsMd,
            Self::Skills => ConvertTarget::Skills,
        }
    }
}

pub(crate) fn run(
    args: &ConvertArgs,
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let out = args.out.as_ref().filter(|_| !args.check);
    // Without a final `/`, which would follow a link.
    let out = out.map(|out| {
        environment
            .current
            .join(out)
            .components()
            .collect::<PathBuf>()
    });
    if let Some(out) = &out {
        check_folder(out, environment)?;
    }
    let target = args.to.target();
    let (conversion, reports) = converted(args, target, global, environment, printer)?;
    let has_errors = !reports.is_empty();
    if conversion.files.is_empty() && !has_errors {
        let shown = wording::tick(targets::display(&args.source, environment));
        let what = match target {
            ConvertTarget::Squadron => "skills, agents or missions",
            ConvertTarget::AgentsMd => "agents",
            ConvertTarget::Skills => "skills",
        };
        return Err(Failure::new(format!("no {what} in {shown}"))
            .hint("list agents with `prowess agent list`, skills with `prowess list`"));
    }
    let out = out.filter(|_| !has_errors);
    if let Some(out) = &out {
        write_all(out, &conversion.files, environment)?;
    }
    let shown = out.as_ref().map(|out| targets::display(out, environment));
    if args.json {
        let document = inspect::conversion(target, &conversion, shown.as_deref(), &reports);
        printer.json(&document)?;
    } else {
        // If there are errors, what would be lost is not the question yet.
        let shown = if has_errors {
            &reports
        } else {
            &conversion.reports
        };
        for report in shown {
            printer.findings(report);
        }
    }
    let lost = conversion.reports.iter().flat_map(|one| &one.diagnostics);
    let lost = lost.count();
    if has_errors {
        let findings = reports.iter().flat_map(|report| &report.diagnostics);
        let counts: FindingCounts = findings.collect();
        let errors = wording::count(counts.errors, "error");
        let failure = Failure::new(format!("{errors} in the source: nothing was written"));
        printer.error(&failure.hint("correct the files, or convert the others one by one"));
        return Ok(Exit::No);
    }
    let losses = match lost {
        0 => "nothing is lost".to_owned(),
        lost => format!("{} cannot be expressed", wording::count(lost, "thing")),
    };
    let files = wording::count(conversion.files.len(), "file");
    match shown {
        Some(shown) => {
            let typed = wording::shell_word(&shown);
            printer.status(&format!(
                "Wrote {files} to `{shown}`; {losses}\nUndo: `rm -r {typed}`"
            ));
        }
        None => printer.status(&format!("Would write {files}; {losses}")),
    }
    if args.check && lost > 0 {
        return Ok(Exit::No);
    }
    Ok(Exit::Done)
}

/// Reads and converts the source. The reports are the errors that prevent it.
fn converted(
    args: &ConvertArgs,
    target: ConvertTarget,
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<(Conversion, Vec<FileReport>), Failure> {
    let path = environment.current.join(&args.source);
    let cannot = |path: &Path, fault: &ReadFault| {
        let shown = wording::tick(targets::display(path, environment));
        let why = match fault {
            ReadFault::Missing => "it does not exist".to_owned(),
            ReadFault::NotAFile(kind) => format!("it is {kind}"),
            ReadFault::TooLarge { bytes } => format!("it has {}", wording::size(*bytes)),
            ReadFault::Unreadable(why) => why.clone(),
        };
        Failure::new(format!("cannot read {shown}")).cause(why)
    };
    let files = ConversionFiles::read(&path).map_err(|fault| cannot(&path, &fault))?;
    if let Some((path, fault)) = files.unread.first() {
        return Err(cannot(path, fault).hint("correct the file, or convert the others one by one"));
    }
    if files.is_truncated {
        let shown = wording::tick(targets::display(&path, environment));
        printer.warn(&format!(
            "{shown} has more files or folders than were searched; pass a folder closer to the files"
        ));
    }
    if files.is_empty() {
        let shown = wording::tick(targets::display(&path, environment));
        return Err(Failure::new(format!("nothing to convert in {shown}")).hint(
            "pass an `.hcl` file, an agent file such as `.claude/agents/NAME.md`, a SKILL.md, or a folder with some",
        ));
    }
    let shown = |path: &Path| targets::display(path, environment);
    let mut reports: Vec<FileReport> = Vec::new();
    let mut project: Option<MissionProject> = None;
    if let Some(missions) = &files.missions {
        let config = visible_skills::load(environment).config;
        let library = || visible_skills::names(global, &config, environment);
        // Values of the environment stay out of the files.
        let settings = MissionSettings {
            library: &library,
            ..MissionSettings::default()
        };
        let (read, found) = missions
            .project(&settings)
            .map_err(|fault| cannot(&missions.root, &fault))?;
        add_errors(&missions.root, &found, &shown, &mut reports);
        project = Some(read);
    }
    for file in &files.agents {
        add_errors(&file.root, &file.reports, &shown, &mut reports);
    }
    let projects = files.open().map_err(|fault| cannot(&path, &fault))?;
    let mut source = files.source(&projects, project.as_ref(), &shown);
    let agents = source.agents.iter().flat_map(|one| &one.file.agents);
    source.servers = agents.flat_map(servers).collect();
    Ok((convert(&source, target), reports))
}

/// Returns the MCP servers in the files of an agent.
fn servers(agent: &AgentDef) -> Vec<ConvertServer> {
    let found = prowess_config::agent_servers(agent).into_iter();
    let server = |(server, file): (McpServer, Box<str>)| ConvertServer {
        agent: agent.name.as_str().into(),
        file,
        name: server.name,
        transport: match server.transport {
            McpTransport::Program {
                command,
                args,
                env,
                cwd,
            } => ConvertTransport::Program {
                command,
                args,
                env,
                has_folder: cwd.is_some(),
            },
            McpTransport::Web { url, headers } => ConvertTransport::Web { url, headers },
        },
    };
    found.map(server).collect()
}

/// Adds the errors of reports: because of each of them, something was not read. What was read, and
/// only cannot run here, is converted.
fn add_errors(
    root: &Path,
    found: &[FileReport],
    shown: &dyn Fn(&Path) -> String,
    reports: &mut Vec<FileReport>,
) {
    for report in found {
        let is_error = |one: &&prowess_diag::Diagnostic| {
            one.severity == Severity::Error && one.rule != "mission-unsupported"
        };
        let errors: Vec<_> = report
            .diagnostics
            .iter()
            .filter(is_error)
            .cloned()
            .collect();
        if !errors.is_empty() {
            reports.push(FileReport {
                path: shown(&root.join(&report.path)),
                text: report.text.clone(),
                diagnostics: errors,
            });
        }
    }
}

/// Returns an error if a folder cannot be written: it has files, or is something else.
fn check_folder(out: &Path, environment: &Environment) -> Result<(), Failure> {
    let shown = wording::tick(targets::display(out, environment));
    let hint = "choose a folder that is empty or does not exist";
    let kind = match out.symlink_metadata() {
        Ok(found) => found.file_type(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(Failure::new(format!("cannot use {shown}")).cause(error)),
    };
    if kind.is_symlink() {
        return Err(Failure::new(format!("{shown} is a link")).hint(hint));
    }
    if !kind.is_dir() {
        return Err(Failure::new(format!("{shown} is not a folder")).hint(hint));
    }
    let mut entries = out
        .read_dir()
        .map_err(|error| Failure::new(format!("cannot read {shown}")).cause(error))?;
    if entries.next().is_some() {
        return Err(Failure::new(format!("{shown} is not empty")).hint(hint));
    }
    Ok(())
}

/// Writes all files, or none: they are written into a folder beside the new one. That folder gets its
/// name, or its contents are moved into an empty folder that exists.
fn write_all(
    out: &Path,
    files: &[ConvertedFile],
    environment: &Environment,
) -> Result<(), Failure> {
    let failed = |path: &Path, error: std::io::Error| {
        let shown = wording::tick(targets::display(path, environment));
        Failure::new(format!("cannot write {shown}")).cause(error)
    };
    let is_new = !out.exists();
    let out = if is_new {
        out.to_owned()
    } else {
        out.canonicalize().map_err(|error| failed(out, error))?
    };
    let parent = out.parent().unwrap_or(Path::new("/"));
    std::fs::create_dir_all(parent).map_err(|error| failed(parent, error))?;
    let name = out.file_name().unwrap_or_default().to_string_lossy();
    let part = parent.join(format!(".{name}.prowess-{}", std::process::id()));
    std::fs::create_dir(&part).map_err(|error| failed(&part, error))?;
    let written = files
        .iter()
        .try_for_each(|file| {
            let path = part.join(&file.path);
            create(&path, &file.text).map_err(|error| failed(&out.join(&file.path), error))
        })
        .and_then(|()| {
            let moved = if is_new {
                rename_new(&part, &out)
            } else {
                move_into(&part, &out)
            };
            moved.map_err(|error| failed(&out, error))
        });
    if written.is_err() || !is_new {
        // What cannot be removed is a folder of this process that no other command reads.
        let _ = std::fs::remove_dir_all(&part);
    }
    written
}

/// Renames a file or a folder. Fails if the new name exists.
fn rename_new(from: &Path, to: &Path) -> std::io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        use rustix::io::Errno;
        match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            // Not supported by every file system.
            Err(Errno::INVAL | Errno::NOSYS) => {}
            renamed => return Ok(renamed?),
        }
    }
    if to.symlink_metadata().is_ok() {
        return Err(std::io::ErrorKind::AlreadyExists.into());
    }
    std::fs::rename(from, to)
}

/// Moves the contents of a folder into another one. If one of them cannot be moved, all return.
fn move_into(from: &Path, to: &Path) -> std::io::Result<()> {
    let mut moved: Vec<OsString> = Vec::new();
    for entry in from.read_dir()? {
        let name = entry?.file_name();
        if let Err(error) = rename_new(&from.join(&name), &to.join(&name)) {
            for name in moved {
                let _ = rename_new(&to.join(&name), &from.join(&name));
            }
            return Err(error);
        }
        moved.push(name);
    }
    Ok(())
}

fn create(path: &Path, text: &str) -> std::io::Result<()> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)?;
    file.write_all(text.as_bytes())
}
