//! `prowess validate`

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use clap::{Args, ValueEnum};
use clap_complete::{ArgValueCandidates, ArgValueCompleter};
use prowess::validate::{
    self as validation, PathWatch, Presenter, SecurityScan, SkillNames, ValidationAction,
    ValidationJob, ValidationOutcome,
};
use prowess_config::{Config, RuleOptions};
use prowess_diag::render::{concise, full, github, json, sarif};
use prowess_diag::{
    Applicability, Diagnostic, FileReport, FindingCounts, LineIndex, Severity, sanitize, suggest,
    wording,
};
use prowess_flow::Dialect;
use prowess_lint::rules::RULES;
use prowess_lint::{LintProfile, LintRuleSet, LintTarget};
use prowess_registry::ScanNotice;
use prowess_scan::ScanFinding;
use prowess_spec::parse::MAX_FILE;
use serde_json::{Value, json};

use super::explain::{self, AnyRule};
use super::scan;
use crate::args::GlobalArgs;
use crate::commands::{completions, mcp_servers};
use crate::env::Environment;
use crate::output::{Exit, Failure, Printer, Progress};
use crate::targets::{self, Meant};
use crate::visible_skills::{self, Library};

/// How findings are printed, for `validate` and `scan`.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct FindingsArgs {
    /// Output format: full, concise, json, github, sarif (default: full)
    #[arg(
        long,
        value_name = "FORMAT",
        default_value = "full",
        hide_possible_values = true,
        hide_default_value = true,
        help_heading = "Output"
    )]
    pub(crate) format: FormatArg,
    /// Same as `--format json`
    #[arg(long, help_heading = "Output", conflicts_with = "format")]
    pub(crate) json: bool,
    /// Print the number of findings per rule instead of the findings
    #[arg(long, help_heading = "Output")]
    pub(crate) statistics: bool,
}

#[derive(Debug, Default, Args)]
#[command(
    about = "Check skills against the specification\n\nChecks every skill, agent file and mission file in the given folders. Files are only changed with `--fix`.",
    after_help = "\
Exit codes:
  0  no findings at or above `--fail-on`; with `--diff`, no changes
  1  findings at or above `--fail-on`; with `--diff`, changes
  2  the command failed

Examples:
  prowess validate                        check all visible skills
  prowess validate skills --diff          show what `--fix` would change
  prowess validate skills --fix           check a folder and fix it"
)]
pub(crate) struct ValidateArgs {
    /// Folders, SKILL.md files, agent files such as TEAM.json, mission files (.hcl), installed names, or `-` for standard input (default: all visible skills except the bundled one)
    #[arg(value_name = "PATH|NAME", add = ArgValueCompleter::new(completions::skills_and_paths))]
    pub(crate) paths: Vec<PathBuf>,
    /// Apply safe fixes
    #[arg(long)]
    pub(crate) fix: bool,
    /// With `--fix` or `--diff`, include suggested fixes; review the result
    #[arg(long)]
    pub(crate) unsafe_fixes: bool,
    /// Print what `--fix` would change, without changing files
    #[arg(long, conflicts_with_all = ["format", "json", "statistics"])]
    pub(crate) diff: bool,
    /// Rule set to apply: spec, claude-code, lenient, crew (default: claude-code)
    #[arg(long, value_name = "PROFILE", help_heading = "Rules")]
    pub(crate) profile: Option<String>,
    /// Also check the requirements of this target: claude-ai
    #[arg(long, value_name = "TARGET", help_heading = "Rules")]
    pub(crate) target: Option<String>,
    /// Read the files as agent files of this system: claude, copilot, opencode, gemini, codex, planck, skilled-crew, core-agent (default: by their paths)
    #[arg(long, value_name = "SYSTEM", help_heading = "Rules")]
    pub(crate) dialect: Option<String>,
    /// Only check this rule (can be repeated or comma-separated)
    #[arg(long, value_name = "RULE", help_heading = "Rules", value_delimiter = ',', add = ArgValueCandidates::new(completions::rule_names))]
    pub(crate) select: Vec<String>,
    /// Skip this rule (can be repeated or comma-separated)
    #[arg(long, value_name = "RULE", help_heading = "Rules", value_delimiter = ',', add = ArgValueCandidates::new(completions::rule_names))]
    pub(crate) ignore: Vec<String>,
    /// Set the severity of a rule: error, warning, note, off (can be repeated or comma-separated)
    #[arg(
        long,
        value_name = "RULE=LEVEL",
        help_heading = "Rules",
        value_delimiter = ','
    )]
    pub(crate) severity: Vec<String>,
    /// Lowest severity that fails the run: error, warning, note (default: error)
    #[arg(long, value_name = "LEVEL", help_heading = "Rules")]
    pub(crate) fail_on: Option<String>,
    /// Ignore configuration files
    #[arg(long, help_heading = "Rules")]
    pub(crate) no_config: bool,
    #[command(flatten)]
    pub(crate) output: FindingsArgs,
    /// Watch for changes and check again
    #[arg(long, help_heading = "Output")]
    pub(crate) watch: bool,
    /// Also search all files of the skills for text to read before trusting them, as `prowess scan` does
    #[arg(long, help_heading = "Rules")]
    pub(crate) security: bool,
    /// `true` for `prowess scan`.
    #[arg(skip)]
    pub(crate) scan_only: bool,
}

impl FindingsArgs {
    fn format(&self) -> FormatArg {
        if self.json {
            FormatArg::Json
        } else {
            self.format
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatArg {
    #[default]
    Full,
    Concise,
    Json,
    Github,
    Sarif,
}

/// Maximum number of files listed after `--fix`.
const MOST_NAMED: usize = 20;

pub(crate) fn run(
    args: &ValidateArgs,
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    if args.unsafe_fixes && !args.fix && !args.diff {
        return Err(
            Failure::new("`--unsafe-fixes` requires `--fix` or `--diff`")
                .hint("add `--fix` to apply the suggested fixes, or `--diff` to preview them"),
        );
    }
    if args.watch {
        return watch(args, global, environment, printer);
    }
    once(args, global, environment, printer)
}

/// Checks again when a skill changes, until interrupted or until standard output is closed.
fn watch(
    args: &ValidateArgs,
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let (config, _) = settings(args, environment)?;
    let Some(paths) = sources(args, &config, global, environment, printer)? else {
        return Err(Failure::new(
            "`--watch` cannot be used with standard input; pass a folder",
        ));
    };
    // Start watching before checking, so that no change is missed.
    let watch = PathWatch::start(paths, &environment.current);
    let mut exit = once(args, global, environment, printer)?;
    printer.status("Watching for changes; press Ctrl-C to stop");
    while !printer.reader_left() {
        if watch.changed_within(Duration::from_hours(1)) {
            printer.status("");
            // Keep watching: the file may be in the middle of an edit.
            exit = once(args, global, environment, printer).unwrap_or_else(|error| {
                printer.error(&error);
                Exit::Failed
            });
        }
    }
    Ok(exit)
}

fn settings(
    args: &ValidateArgs,
    environment: &Environment,
) -> Result<(Config, Vec<FileReport>), Failure> {
    if args.no_config {
        Ok(Default::default())
    } else {
        visible_skills::settings(environment)
    }
}

fn once(
    args: &ValidateArgs,
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let (config, warnings) = settings(args, environment)?;
    for report in warnings.iter().filter(|_| !printer.is_quiet()) {
        printer.findings(report);
    }
    let rules = config.rules(&asked(args)?);
    let fail_on = match &args.fail_on {
        Some(level) => Severity::parse(level).ok_or_else(|| {
            unknown_word("--fail-on", level, &Severity::ALL.map(Severity::as_str))
        })?,
        None => config.fail_on.unwrap_or(Severity::Error),
    };
    let format = args.output.format();
    let job = ValidationJob {
        rules,
        action: match args {
            ValidateArgs { diff: true, .. } => ValidationAction::Diff,
            ValidateArgs { fix: true, .. } => ValidationAction::Fix,
            _ => ValidationAction::Report,
        },
        least: if args.unsafe_fixes {
            Applicability::Suggested
        } else {
            Applicability::Safe
        },
        deep: !args.paths.is_empty(),
        dialect: dialect(args)?,
        security: security(args)?,
    };
    let screen = Screen {
        format,
        prints: !args.output.statistics && !args.diff,
        is_diff: args.diff,
        layout: printer.layout(),
        global,
        config: &config,
        environment,
        progress: Progress::new(printer),
        is_named: !args.paths.is_empty(),
        roots: OnceLock::new(),
        library: OnceLock::new(),
    };
    let paths = sources(args, &config, global, environment, printer)?;
    let outcome = if let Some(paths) = paths {
        validation::run(&job, paths, &screen)
    } else {
        if job.action == ValidationAction::Fix
            && (format != FormatArg::Full || args.output.statistics)
        {
            return Err(Failure::new(
                "`-` with `--fix` prints the fixed text and cannot be combined with other formats",
            )
            .hint("remove `--fix` to see the findings"));
        }
        let bytes = standard_input()?;
        match validation::check_text(&job, &bytes, "<stdin>", &screen) {
            validation::TextOutcome::Checked(outcome) => outcome,
            validation::TextOutcome::FixedFile {
                text,
                report,
                counts,
            } => {
                // Input that is not text is printed unchanged.
                let text = text.as_deref().map_or(bytes.as_slice(), str::as_bytes);
                print_fixed_text(text, &report, counts, printer)?;
                return Ok(verdict(counts, fail_on));
            }
        }
    };
    let elapsed = screen.progress.elapsed();
    drop(screen);
    let too_deep = outcome
        .notices
        .iter()
        .any(|notice| matches!(notice, ScanNotice::TooDeep { .. }));
    let is_cut = |notice: &&ScanNotice| {
        matches!(
            notice,
            ScanNotice::TooDeep { .. }
                | ScanNotice::TooMany { .. }
                | ScanNotice::TooManyEntries { .. }
                | ScanNotice::Outside { .. }
        )
    };
    for notice in outcome.notices.iter().filter(is_cut) {
        printer.warn(&notice.explain(&|path| targets::display(path, environment)));
    }
    if outcome.checked() == 0 && too_deep {
        return Err(Failure::new("no skill was checked").hint("pass a folder closer to the skills"));
    }
    if job.action == ValidationAction::Diff {
        return print_diff(&outcome, printer);
    }
    let unsearched = outcome.unsearched.iter();
    for path in unsearched.take(MOST_NAMED) {
        let path = targets::display(path, environment);
        printer.warn(&format!(
            "{} was not searched completely",
            wording::tick(path)
        ));
    }
    if args.scan_only {
        scan::print(&outcome, format, args.output.statistics, printer)?;
        scan::summarise(&outcome, &elapsed, printer);
    } else {
        print_results(
            &outcome,
            &job.rules,
            format,
            args.output.statistics,
            printer,
        )?;
        summarise(&outcome, &elapsed, printer);
    }
    for error in &outcome.failures {
        let failure = Failure::new(error.to_string());
        let failure = match std::error::Error::source(error) {
            Some(source) => failure.cause(source),
            None => failure,
        };
        printer.error(&failure.hint("the file was not changed"));
    }
    if outcome.failures.is_empty() {
        Ok(verdict(outcome.counts(), fail_on))
    } else {
        Ok(Exit::Failed)
    }
}

/// Resolves the arguments to paths. Returns `None` for standard input.
fn sources(
    args: &ValidateArgs,
    config: &Config,
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Option<Vec<PathBuf>>, Failure> {
    let typed = &args.paths;
    if typed.iter().any(|path| path == Path::new("-")) {
        if typed.len() > 1 {
            return Err(Failure::new(
                "`-` reads standard input and cannot be combined with paths",
            ));
        }
        return Ok(None);
    }
    if typed.is_empty() {
        visible_skills::check_flags(global, environment)?;
        visible_skills::warn_of_missing_folders(environment, printer);
        let place = visible_skills::place(global, config, environment);
        let roots = validation::visible_roots(&place);
        for notice in roots.notices.iter().take(MOST_NAMED) {
            printer.warn(&notice.explain(&|path| targets::display(path, environment)));
        }
        let roots = roots.folders;
        if roots.is_empty() {
            return Err(Failure::new("no skills are visible from here")
                .hint("check the current folder with `prowess validate .`")
                .hint("create a skill with `prowess new .agents/skills/my-skill`"));
        }
        return Ok(Some(validation::distinct(roots)));
    }
    let mut paths = Vec::new();
    for typed in typed {
        if validation::is_agent_file(typed) || args.dialect.is_some() && typed.is_file() {
            paths.push(typed.clone());
            continue;
        }
        match targets::resolve(typed, global, environment, printer)? {
            Meant::Path(path) | Meant::Skill { path, .. } => paths.push(path),
            Meant::Memory { location, .. } => {
                let message = format!("cannot check {}: not on disk", wording::tick(location));
                return Err(Failure::new(message).hint("pass a folder that contains skills"));
            }
        }
    }
    Ok(Some(validation::distinct(paths)))
}

/// Returns the settings of the search for text to read before trusting a skill.
fn security(args: &ValidateArgs) -> Result<Option<SecurityScan>, Failure> {
    if !args.security && !args.scan_only {
        return Ok(None);
    }
    let ids = |names: &[String]| -> Result<Vec<&'static str>, Failure> {
        let found = names.iter().map(|name| explain::find_any(name));
        let found: Vec<AnyRule> = found.collect::<Result<_, _>>()?;
        Ok(found.into_iter().filter_map(AnyRule::scan_id).collect())
    };
    Ok(Some(SecurityScan {
        only: args.scan_only,
        select: ids(&args.select)?,
        ignore: ids(&args.ignore)?,
    }))
}

/// Returns the system that `--dialect` names.
fn dialect(args: &ValidateArgs) -> Result<Option<Dialect>, Failure> {
    let Some(name) = &args.dialect else {
        return Ok(None);
    };
    match Dialect::parse(name) {
        Some(dialect) => Ok(Some(dialect)),
        None => Err(unknown_word(
            "--dialect",
            name,
            &Dialect::ALL.map(Dialect::as_str),
        )),
    }
}

/// Converts the flags to rule settings.
fn asked(args: &ValidateArgs) -> Result<RuleOptions, Failure> {
    let profile = match &args.profile {
        Some(name) => Some(LintProfile::parse(name).ok_or_else(|| {
            unknown_word(
                "--profile",
                name,
                &LintProfile::ALL.map(LintProfile::as_str),
            )
        })?),
        None => None,
    };
    let target = match args.target.as_deref() {
        None => None,
        Some("claude-ai") => Some(LintTarget::ClaudeAi),
        Some(other) => return Err(unknown_word("--target", other, &["claude-ai"])),
    };
    let ids = |names: &[String]| -> Result<Vec<&'static str>, Failure> {
        if !args.security && !args.scan_only {
            let ids = names
                .iter()
                .map(|name| explain::find(name).map(|rule| rule.id));
            return ids.collect();
        }
        let found = names.iter().map(|name| explain::find_any(name));
        let found: Vec<AnyRule> = found.collect::<Result<_, _>>()?;
        Ok(found.into_iter().filter_map(AnyRule::lint_id).collect())
    };
    let mut asked = RuleOptions {
        profile,
        target,
        select: ids(&args.select)?,
        ignore: ids(&args.ignore)?,
        severity: Vec::new(),
    };
    for assignment in &args.severity {
        let (name, level) = assignment.split_once('=').ok_or_else(|| {
            Failure::new(format!(
                "invalid value `{assignment}` for `--severity`: expected RULE=LEVEL"
            ))
            .hint("e.g. `--severity broken-link=error`")
        })?;
        let rule = explain::find(name)?;
        let severity = match level {
            "off" => None,
            level => Some(Severity::parse(level).ok_or_else(|| {
                unknown_word("--severity", level, &["error", "warning", "note", "off"])
            })?),
        };
        asked.severity.push((rule.id, severity));
    }
    Ok(asked)
}

fn unknown_word(flag: &str, word: &str, known: &[&str]) -> Failure {
    let error = Failure::new(format!(
        "invalid value `{word}` for `{flag}`: expected {}",
        wording::either(known.iter().map(wording::tick))
    ));
    match suggest::nearest(word, known.iter().copied()) {
        Some(near) => error.hint(format!("did you mean `{flag} {near}`?")),
        None => error,
    }
}

/// Formats findings; shared by the worker threads.
struct Screen<'a> {
    format: FormatArg,
    /// `true` to print findings, `false` to only count them.
    prints: bool,
    /// `true` to print a diff, which programs also read.
    is_diff: bool,
    layout: full::RenderOptions,
    global: &'a GlobalArgs,
    config: &'a Config,
    environment: &'a Environment,
    progress: Progress,
    roots: OnceLock<validation::VisibleRoots>,
    library: OnceLock<Option<SkillNames>>,
    /// `true` if paths were named, `false` to check all visible skills.
    is_named: bool,
}

impl Screen<'_> {
    fn roots(&self) -> &validation::VisibleRoots {
        self.roots.get_or_init(|| {
            let place = visible_skills::place(self.global, self.config, self.environment);
            validation::visible_roots(&place)
        })
    }
}

pub(super) enum FormattedFinding {
    /// A line, or several.
    Line(String),
    /// A JSON value as compact text, which takes much less memory than the value.
    Json(Box<str>),
    Nothing,
}

impl FormattedFinding {
    fn json(value: &Value) -> Self {
        Self::Json(value.to_string().into_boxed_str())
    }
}

impl Presenter for Screen<'_> {
    type Finding = FormattedFinding;

    /// Formats a path: with `~` for reading, otherwise so that programs can open it.
    fn path(&self, path: &Path) -> String {
        match self.format {
            FormatArg::Full if !self.is_diff => targets::display(path, self.environment),
            _ => targets::plain(path, self.environment),
        }
    }

    fn present(
        &self,
        report: &FileReport,
        lines: &LineIndex,
        diagnostic: &Diagnostic,
    ) -> FormattedFinding {
        if !self.prints {
            return FormattedFinding::Nothing;
        }
        match self.format {
            FormatArg::Full => {
                FormattedFinding::Line(full::finding(report, lines, diagnostic, self.layout))
            }
            FormatArg::Concise => FormattedFinding::Line(concise::line(report, lines, diagnostic)),
            FormatArg::Github => FormattedFinding::Line(github::line(report, lines, diagnostic)),
            FormatArg::Json => FormattedFinding::json(&json::finding(report, lines, diagnostic)),
            FormatArg::Sarif => FormattedFinding::json(&sarif::result(report, lines, diagnostic)),
        }
    }

    /// Programs also get the place.
    fn present_scan(
        &self,
        report: &FileReport,
        lines: &LineIndex,
        finding: &ScanFinding,
    ) -> FormattedFinding {
        let place = finding.place.as_str();
        let diagnostic = &finding.diagnostic;
        match self.format {
            FormatArg::Json if self.prints => {
                let mut value = json::finding(report, lines, diagnostic);
                value["place"] = json!(place);
                FormattedFinding::json(&value)
            }
            FormatArg::Sarif if self.prints => {
                let mut value = sarif::result(report, lines, diagnostic);
                value["properties"] = json!({ "place": place });
                FormattedFinding::json(&value)
            }
            _ => self.present(report, lines, diagnostic),
        }
    }

    /// A standard folder such as `.agents/skills` may be empty; other folders may not.
    fn may_be_empty(&self, folder: &Path) -> bool {
        self.roots().folders.iter().any(|root| root == folder)
    }

    /// Links of a project lead to the outside only if a path was named.
    fn may_follow(&self, link: &Path) -> bool {
        self.is_named || self.roots().bounds.allow(link)
    }

    fn plugin_server(&self, plugin: &str) -> Option<String> {
        self.config.mission_plugins.get(plugin).cloned()
    }

    fn has_server(&self, name: &str) -> bool {
        mcp_servers::has_server(name, self.config, self.environment)
    }

    fn skill_names(&self) -> Vec<String> {
        visible_skills::names(self.global, self.config, self.environment)
    }

    /// The skills that are visible from here are those of the project around the current folder.
    fn skills(&self, root: &Path) -> Option<SkillNames> {
        let environment = self.environment;
        let current = environment.current.canonicalize().ok()?;
        let home = environment.home.as_deref();
        let home = home.and_then(|home| home.canonicalize().ok());
        if !current.starts_with(root) && home.as_deref() != Some(root) {
            return None;
        }
        let known = self.library.get_or_init(|| {
            let library = Library::with(self.config.clone(), self.global, environment);
            let catalog = library.ok()?.catalog();
            let place = environment.place();
            Some(SkillNames { catalog, place })
        });
        known.clone()
    }

    fn step(&self) {
        self.progress.step();
    }
}

/// Reads standard input, up to the maximum size of a skill.
fn standard_input() -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = std::io::stdin()
        .lock()
        .take(MAX_FILE as u64 + 1)
        .read_to_end(&mut bytes);
    read.map_err(|error| Failure::new("cannot read standard input").cause(error))?;
    if bytes.len() > MAX_FILE {
        return Err(Failure::new(format!(
            "standard input is larger than {}",
            wording::size(MAX_FILE as u64)
        )));
    }
    Ok(bytes)
}

/// Prints the fixed text to standard output, and the remaining findings to standard error.
fn print_fixed_text(
    text: &[u8],
    report: &FileReport,
    counts: FindingCounts,
    printer: &Printer,
) -> Result<(), Failure> {
    printer.verbatim(text)?;
    let lines = LineIndex::new(report.text());
    let layout = printer.aside_layout();
    let found: Vec<String> = (report.diagnostics.iter())
        .map(|diagnostic| full::finding(report, &lines, diagnostic, layout))
        .collect();
    let rules = report.diagnostics.iter().map(|diagnostic| diagnostic.rule);
    printer.aside(&with_pointers(
        rules.zip(found.iter().map(String::as_str)),
        layout,
    ));
    if counts.total() > 0 {
        let extent = full::Extent {
            skills: 1,
            affected: 1,
            folders: 0,
            noun: "skill",
        };
        printer.status(&full::summary(counts, extent));
    }
    Ok(())
}

fn verdict(counts: FindingCounts, fail_on: Severity) -> Exit {
    if counts.at_least(fail_on) > 0 {
        Exit::No
    } else {
        Exit::Done
    }
}

fn print_results(
    results: &ValidationOutcome<FormattedFinding>,
    rules: &LintRuleSet,
    format: FormatArg,
    statistics: bool,
    printer: &Printer,
) -> Result<(), Failure> {
    if statistics {
        return print_statistics(results, format, printer);
    }
    let values = results
        .findings()
        .filter_map(|finding| match &finding.text {
            FormattedFinding::Json(text) => Some(&**text),
            _ => None,
        });
    match format {
        FormatArg::Full => {
            let lines = results
                .findings()
                .filter_map(|finding| match &finding.text {
                    FormattedFinding::Line(line) => Some((finding.rule, line.as_str())),
                    _ => None,
                });
            printer.answer(&with_pointers(lines, printer.layout()))
        }
        FormatArg::Concise | FormatArg::Github => {
            let lines = results.findings().filter_map(|finding| {
                if let FormattedFinding::Line(line) = &finding.text {
                    Some(line)
                } else {
                    None
                }
            });
            printer.answer(&lines.map(|line| format!("{line}\n")).collect::<String>())
        }
        FormatArg::Json => {
            let counts = results.counts();
            let document = json!({
                "schema": "prowess.validate/1",
                "profile": rules.profile().as_str(),
                "summary": {
                    "skills": results.checked(),
                    "affected": results.extent().affected,
                    "errors": counts.errors,
                    "warnings": counts.warnings,
                    "notes": counts.notes,
                    "fixable": counts.fixable,
                    "fixed": results.fixed(),
                    "suggested": counts.suggested,
                },
                "findings": [],
            });
            printer.json_with_list(&document, "findings", values)
        }
        FormatArg::Sarif => {
            let used = rules_of(results);
            let document = sarif::log(env!("CARGO_PKG_VERSION"), &used, &[]);
            printer.json_with_list(&document, "results", values)
        }
    }
}

/// Returns the rules that have findings, for a SARIF log.
pub(super) fn rules_of(
    results: &ValidationOutcome<FormattedFinding>,
) -> Vec<sarif::RuleInfo<'static>> {
    let lint = RULES.iter().map(|rule| sarif::RuleInfo {
        id: rule.id,
        summary: rule.summary,
        page: rule.page,
    });
    let scan = prowess_scan::RULES.iter().map(|rule| sarif::RuleInfo {
        id: rule.id,
        summary: rule.summary,
        page: rule.page,
    });
    lint.chain(scan)
        .filter(|rule| results.findings().any(|finding| finding.rule == rule.id))
        .collect()
}

/// Joins findings. The first finding of each rule ends with a pointer to `prowess explain`.
pub(super) fn with_pointers<'a>(
    findings: impl Iterator<Item = (&'static str, &'a str)>,
    layout: full::RenderOptions,
) -> String {
    with_new_pointers(findings, layout, &mut Vec::new())
}

/// Joins findings. The first finding of each rule that is not in `explained` ends with a pointer.
pub(super) fn with_new_pointers<'a>(
    findings: impl Iterator<Item = (&'static str, &'a str)>,
    layout: full::RenderOptions,
    explained: &mut Vec<&'static str>,
) -> String {
    let mut text = String::new();
    for (rule, finding) in findings {
        text.push_str(finding);
        if !explained.contains(&rule) {
            explained.push(rule);
            let pointer = format!("for details, run `prowess explain {rule}`");
            text.push_str(&full::help(&pointer, layout.width));
        }
        text.push('\n');
    }
    text
}

/// Prints the number of findings per rule, most frequent first.
pub(super) fn print_statistics(
    results: &ValidationOutcome<FormattedFinding>,
    format: FormatArg,
    printer: &Printer,
) -> Result<(), Failure> {
    let rows = results.by_rule();
    if format == FormatArg::Json {
        let rules: Vec<Value> = rows.iter().map(|(rule, findings, skills)| json!({ "rule": rule, "findings": findings, "skills": skills })).collect();
        return printer.json(&json!({ "schema": "prowess.validate-statistics/1", "skills": results.checked(), "rules": rules }));
    }
    if rows.is_empty() {
        return Ok(());
    }
    let mut text = String::from("findings   skills  rule\n");
    for (rule, findings, skills) in rows {
        text.push_str(&format!(
            "{:>8} {:>8}  {rule}\n",
            wording::thousands(findings),
            wording::thousands(skills)
        ));
    }
    printer.answer(&text)
}

/// Prints what `--fix` would change.
fn print_diff(
    results: &ValidationOutcome<FormattedFinding>,
    printer: &Printer,
) -> Result<Exit, Failure> {
    printer.diff(
        &results
            .fixed_files
            .iter()
            .map(|file| file.diff.as_str())
            .collect::<String>(),
    )?;
    printer.status(&results.diff_summary());
    Ok(if results.fixed_files.is_empty() {
        Exit::Done
    } else {
        Exit::No
    })
}

fn summarise(results: &ValidationOutcome<FormattedFinding>, elapsed: &str, printer: &Printer) {
    if !results.fixed_files.is_empty() {
        let files = &results.fixed_files;
        printer.status(&format!(
            "Fixed {} in {}",
            wording::count(results.fixed(), "finding"),
            wording::count(files.len(), results.noun())
        ));
        for file in files.iter().take(MOST_NAMED) {
            let path = sanitize::line(&file.path);
            printer.status(&format!("  {path}: {}", file.rule_list()));
        }
        let more = files.len().saturating_sub(MOST_NAMED);
        if more > 0 {
            printer.status(&format!("  and {}", wording::count(more, "more file")));
        }
    }
    let counts = results.counts();
    if counts.total() > 0 {
        printer.status(&full::summary(counts, results.extent()));
    } else {
        let left = if results.fixed_files.is_empty() {
            ""
        } else {
            " left"
        };
        let skills = wording::count(results.checked(), results.noun());
        printer.status(&format!(
            "Validated {skills} in {elapsed}, no findings{left}"
        ));
    }
}
