//! `prowess validate`

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use prowess_diag::render::{concise, diff, full, github, json, sarif};
use prowess_diag::{
    Applicability, Counts, Diagnostic, FileReport, LineIndex, Severity, sanitize, suggest, wording,
};
use prowess_lint::rules::RULES;
use prowess_lint::{Profile, RuleSet, Subject, Target, check, fix};
use prowess_registry::fs::walk::{Notice, WalkOptions, walk};
use prowess_registry::{
    FileOptions, FileSource, Found, Registry, WatchOptions, read_path, replace,
};
use prowess_spec::parse::MAX_FILE;
use prowess_spec::{Facts, Package, ReadFault, parse};
use serde_json::{Value, json};

use super::explain;
use super::targets::{self, Meant};
use crate::args::{FormatArg, GlobalArgs, ValidateArgs};
use crate::config::{self, Config};
use crate::env::Environment;
use crate::error::CliError;
use crate::exit::Exit;
use crate::library;
use prowess_terminal::{Printer, Progress, into_inner};

/// How many files are named after `--fix`.
const MOST_NAMED: usize = 20;
/// How many folders below a path are opened. Whoever names a path wants all of it checked.
const MAX_FOLDERS: usize = 2_000_000;

pub(crate) fn run(
    args: &ValidateArgs,
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, CliError> {
    if args.watch {
        return watch(args, global, environment, printer);
    }
    once(args, global, environment, printer)
}

/// Checks again whenever a skill changes, until it is interrupted or nobody reads any more.
fn watch(
    args: &ValidateArgs,
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, CliError> {
    let (config, _) = settings(args, environment)?;
    let Some(paths) = sources(&args.paths, &config, global, environment, printer)? else {
        return Err(CliError::new("`--watch` needs files, not standard input"));
    };
    let registry = Registry::default();
    for path in paths {
        // A SKILL.md is watched with its folder.
        let folder = path.parent().filter(|_| path.is_file()).map(Path::to_owned);
        let folder = environment.current.join(folder.unwrap_or(path));
        registry.add_files(FileSource::of_folder(folder, FileOptions::default()));
    }
    // First watched, then checked: what happens from now on is noticed.
    let _watching = registry.watch(WatchOptions::default());
    registry.refresh();
    let changes = registry.subscribe();
    let mut exit = once(args, global, environment, printer)?;
    printer.status("Watching; stop with Ctrl-C");
    while !printer.reader_left() {
        if changes.next_within(Duration::from_hours(1)).is_some() {
            printer.status("");
            // A mistake in a file that is being edited is no reason to stop.
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
) -> Result<(Config, Vec<FileReport>), CliError> {
    if args.no_config { Ok(Default::default()) } else { config::load(environment) }
}

fn once(
    args: &ValidateArgs,
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, CliError> {
    let (config, warnings) = settings(args, environment)?;
    for report in warnings.iter().filter(|_| !printer.is_quiet()) {
        printer.findings(report);
    }
    let rules = rule_set(args, &config)?;
    let fail_on = match &args.fail_on {
        Some(level) => Severity::parse(level).ok_or_else(|| {
            unknown_word("--fail-on", level, &Severity::ALL.map(Severity::as_str))
        })?,
        None => config.fail_on.unwrap_or(Severity::Error),
    };
    let format = if args.json { FormatArg::Json } else { args.format };
    let job = Job {
        rules,
        format,
        action: match args {
            ValidateArgs { diff: true, .. } => Action::Diff,
            ValidateArgs { fix: true, .. } => Action::Fix,
            _ => Action::Report,
        },
        least: if args.unsafe_fixes { Applicability::Suggested } else { Applicability::Safe },
        statistics: args.statistics,
        layout: printer.layout(),
        global,
        config: &config,
        environment,
        progress: Progress::new(printer),
        results: Mutex::default(),
        places: Mutex::default(),
    };
    let roots = sources(&args.paths, &config, global, environment, printer)?;
    if roots.is_none()
        && job.action == Action::Fix
        && (format != FormatArg::Full || args.statistics)
    {
        return Err(CliError::new(
            "with `-` and `--fix` the answer is the mended text; no other format fits",
        )
        .hint("leave out `--fix` to see the findings"));
    }
    if roots.is_none() {
        return job.standard_input(printer, fail_on);
    }
    let notices = job.walk(roots.unwrap_or_default());
    let elapsed = job.progress.elapsed();
    let Job { rules, results, progress, action, .. } = job;
    drop(progress);
    let mut results = into_inner(results);
    let too_deep = notices.iter().any(|notice| matches!(notice, Notice::TooDeep { .. }));
    let is_cut =
        |notice: &&Notice| matches!(notice, Notice::TooDeep { .. } | Notice::TooMany { .. });
    for notice in notices.iter().filter(is_cut) {
        printer.warn(&notice.explain(&|path| targets::display(path, environment)));
    }
    results.files.sort_by(|a, b| a.file.cmp(&b.file));
    if results.skills == 0 && too_deep {
        return Err(CliError::new("no skill was checked")
            .hint("folders are searched six levels deep; name one that is nearer to the skills"));
    }
    if action == Action::Diff {
        return print_diff(results, printer);
    }
    print_results(&results, &rules, format, args.statistics, printer)?;
    summarise(&results, &elapsed, printer);
    for failure in &results.failures {
        printer.error(failure);
    }
    if results.failures.is_empty() {
        Ok(verdict(results.counts(), fail_on))
    } else {
        Ok(Exit::Failed)
    }
}

/// Turns what was typed into paths; nothing means standard input.
fn sources(
    typed: &[PathBuf],
    config: &Config,
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Option<Vec<PathBuf>>, CliError> {
    if typed.iter().any(|path| path == Path::new("-")) {
        if typed.len() > 1 {
            return Err(CliError::new(
                "`-` reads standard input and cannot be combined with paths",
            ));
        }
        return Ok(None);
    }
    if typed.is_empty() {
        library::check_flags(global)?;
        let roots = targets::visible_roots(global, config, environment);
        if roots.is_empty() {
            return Err(CliError::new("there are no skills to check here")
                .hint("name a folder: `prowess validate PATH`")
                .hint("or create a skill: `prowess new .agents/skills/my-skill`"));
        }
        return Ok(Some(targets::distinct(roots)));
    }
    let mut paths = Vec::new();
    for typed in typed {
        match targets::resolve(typed, global, environment, printer)? {
            Meant::Path(path) => paths.push(path),
            Meant::Memory { location, .. } => {
                let message = format!("{} is not a file", wording::tick(location));
                return Err(CliError::new(message).hint("only skills in folders are checked"));
            }
        }
    }
    Ok(Some(targets::distinct(paths)))
}

/// The rules that flags and configuration ask for. Flags count more.
fn rule_set(args: &ValidateArgs, config: &Config) -> Result<RuleSet, CliError> {
    let profile = match &args.profile {
        Some(name) => Profile::parse(name)
            .ok_or_else(|| unknown_word("--profile", name, &Profile::ALL.map(Profile::as_str)))?,
        None => config.profile.unwrap_or_default(),
    };
    let target = match args.target.as_deref() {
        None => None,
        Some("claude-ai") => Some(Target::ClaudeAi),
        Some(other) => return Err(unknown_word("--target", other, &["claude-ai"])),
    };
    let ids = |names: &[String]| {
        names
            .iter()
            .map(|name| explain::find(name).map(|rule| rule.id))
            .collect::<Result<Vec<_>, _>>()
    };
    let selected = ids(&args.select)?;
    let ignored = ids(&args.ignore)?;
    let mut rules = RuleSet::new(profile, target);
    for (rule, severity) in &config.severity {
        rules.set(rule, *severity);
    }
    // A rule that is asked for on the command line is heard, whatever the files say of it.
    let mut rules = if selected.is_empty() {
        let mut rules = rules.select(&config.select);
        for rule in &config.ignore {
            rules.set(rule, None);
        }
        rules
    } else {
        rules.select(&selected)
    };
    for assignment in &args.severity {
        let (name, level) = assignment.split_once('=').ok_or_else(|| {
            CliError::new(format!("`--severity {assignment}` is not of the form RULE=LEVEL"))
                .hint("for example: `--severity broken-link=error`")
        })?;
        let rule = explain::find(name)?;
        let severity = match level {
            "off" => None,
            level => Some(Severity::parse(level).ok_or_else(|| {
                unknown_word("--severity", level, &["error", "warning", "note", "off"])
            })?),
        };
        rules.set(rule.id, severity);
    }
    for rule in ignored {
        rules.set(rule, None);
    }
    Ok(rules)
}

fn unknown_word(flag: &str, word: &str, known: &[&str]) -> CliError {
    let error = CliError::new(format!(
        "`{flag}` does not know `{word}`: it is {}",
        wording::either(known.iter().map(wording::tick))
    ));
    match suggest::nearest(word, known.iter().copied()) {
        Some(near) => error.hint(format!("did you mean `{flag} {near}`?")),
        None => error,
    }
}

/// What is done about findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Report,
    Fix,
    Diff,
}

/// Everything the threads share.
struct Job<'a> {
    rules: RuleSet,
    format: FormatArg,
    action: Action,
    /// How sure a fix must be to be applied.
    least: Applicability,
    statistics: bool,
    layout: full::Options,
    global: &'a GlobalArgs,
    config: &'a Config,
    environment: &'a Environment,
    progress: Progress,
    results: Mutex<Results>,
    places: Mutex<Vec<PathBuf>>,
}

/// What was found in all.
#[derive(Default)]
struct Results {
    skills: usize,
    /// Folders with a finding of their own, which are not skills.
    folders: usize,
    files: Vec<Checked>,
    mended: Vec<Mended>,
    failures: Vec<CliError>,
}

/// A file that was changed, or would be.
struct Mended {
    file: PathBuf,
    path: String,
    findings: usize,
    /// What would change; empty if it has changed.
    diff: String,
}

impl Results {
    fn fixed(&self) -> usize {
        self.mended.iter().map(|mended| mended.findings).sum()
    }

    fn extent(&self) -> full::Extent {
        let affected = self.files.len() - self.folders;
        full::Extent { skills: self.skills, affected, folders: self.folders }
    }

    fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for file in &self.files {
            counts.merge(file.counts);
        }
        counts
    }
}

/// What was found in one skill, printed already: the texts are not kept.
struct Checked {
    /// The real path: two that look alike when shown are two.
    file: PathBuf,
    counts: Counts,
    pieces: Vec<Piece>,
}

struct Piece {
    rule: &'static str,
    text: PieceText,
}

enum PieceText {
    Line(String),
    Value(Value),
    Nothing,
}

impl Job<'_> {
    /// Checks every skill at or below the paths.
    fn walk(&self, paths: Vec<PathBuf>) -> Vec<Notice> {
        let real = paths.iter().filter_map(|path| std::fs::canonicalize(path).ok());
        self.places.lock().unwrap_or_else(PoisonError::into_inner).extend(real);
        let mut folders = Vec::new();
        for path in paths {
            if !read_path(&path, &mut |found| self.check(found)) {
                folders.push(path);
            }
        }
        let options = WalkOptions { max_folders: MAX_FOLDERS, ..WalkOptions::default() };
        let summary = walk(&folders, options, &|found| self.check(found));
        for notice in &summary.notices {
            if let Notice::Unreadable { path, reason } = notice {
                self.unread(path, &ReadFault::Unreadable(reason.clone()));
            }
        }
        // An empty `.agents/skills` is no mistake; an empty folder that was named is one.
        let mut roots: Option<Vec<PathBuf>> = None;
        let mut is_root = |folder: &PathBuf| {
            let find = || targets::visible_roots(self.global, self.config, self.environment);
            roots.get_or_insert_with(find).contains(folder)
        };
        for (folder, &skills) in folders.iter().zip(&summary.by_root) {
            // Where something was left out, nobody knows that there is no skill.
            let is_cut = |notice: &Notice| match notice {
                Notice::Unreadable { path, .. } | Notice::TooDeep { path } => {
                    path.starts_with(folder)
                }
                Notice::TooMany { root, .. } => root.starts_with(folder),
                Notice::SeenBefore { .. } | Notice::Reserved { .. } => false,
            };
            if skills == 0 && !is_root(folder) && !summary.notices.iter().any(is_cut) {
                self.unread(folder, &ReadFault::Missing);
            }
        }
        summary.notices
    }

    /// A path for whoever reads the output: people know `~`, programs must open it.
    fn show(&self, path: &Path) -> String {
        match self.format {
            FormatArg::Full if self.action != Action::Diff => {
                targets::display(path, self.environment)
            }
            _ => targets::plain(path, self.environment),
        }
    }

    /// Reports a folder that is not a skill.
    fn unread(&self, path: &Path, fault: &ReadFault) {
        let package = Package::default();
        let findings = check(&Subject::unread(&package, fault), &self.rules);
        self.lock().folders += usize::from(!findings.is_empty());
        self.record(path, self.show(path), None, findings);
    }

    fn check(&self, found: Found<'_>) {
        let path = self.show(found.path);
        match found.bytes {
            Err(fault) => {
                let findings = check(&Subject::unread(found.package, &fault), &self.rules);
                self.keep(found.path, path, None, findings);
            }
            Ok(bytes) => {
                let parsed = parse(bytes);
                let findings = check(&Subject::new(&parsed, found.package), &self.rules);
                let is_wanted = |finding: &Diagnostic| {
                    finding.fix.as_ref().is_some_and(|fix| fix.applicability >= self.least)
                };
                if self.action != Action::Report && findings.iter().any(is_wanted) {
                    self.mend(path, found.path, bytes, found.package, findings);
                } else {
                    self.keep(found.path, path, Some(parsed.text), findings);
                }
            }
        }
        self.progress.step();
    }

    fn mend(
        &self,
        path: String,
        file: &Path,
        bytes: &[u8],
        package: &dyn Facts,
        before: Vec<Diagnostic>,
    ) {
        let (Some(fixed), Ok(text)) =
            (fix::fix_all(bytes, package, &self.rules, self.least), std::str::from_utf8(bytes))
        else {
            return self.keep(file, path, None, before);
        };
        let mut mended = Mended {
            file: file.to_owned(),
            path: path.clone(),
            findings: fixed.applied,
            diff: String::new(),
        };
        if self.action == Action::Diff {
            mended.diff = diff::unified(&path, text, &fixed.text);
        } else if fixed.text != text {
            let replaced = replace::replace_file(file, &self.roots(), bytes, fixed.text.as_bytes());
            if let Err(error) = replaced {
                let error = match std::error::Error::source(&error) {
                    Some(source) => CliError::new(error.to_string()).cause(source),
                    None => CliError::new(error.to_string()),
                };
                self.lock().failures.push(error.hint("nothing was written to this file"));
                return self.keep(file, path, Some(text), before);
            }
        }
        if fixed.text != text {
            self.lock().mended.push(mended);
        }
        self.keep(file, path, Some(&fixed.text), fixed.remaining);
    }

    /// The real places that were named: nothing outside them is written.
    fn roots(&self) -> Vec<PathBuf> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Results> {
        self.results.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a skill and records its findings.
    fn keep(&self, file: &Path, path: String, text: Option<&str>, diagnostics: Vec<Diagnostic>) {
        self.lock().skills += 1;
        self.record(file, path, text, diagnostics);
    }

    /// Prints findings into memory and lets go of the text.
    fn record(&self, file: &Path, path: String, text: Option<&str>, diagnostics: Vec<Diagnostic>) {
        if diagnostics.is_empty() {
            return;
        }
        let report = FileReport { path, text: text.map(Arc::from), diagnostics };
        let lines = LineIndex::new(report.text());
        let counts = self.count(&report.diagnostics);
        let pieces = report
            .diagnostics
            .iter()
            .map(|diagnostic| Piece {
                rule: diagnostic.rule,
                text: self.print(&report, &lines, diagnostic),
            })
            .collect();
        self.lock().files.push(Checked { file: file.to_owned(), counts, pieces });
    }

    /// Counts findings. A suggestion that was asked for and could not be applied is no offer.
    fn count(&self, findings: &[Diagnostic]) -> Counts {
        let mut counts: Counts = findings.iter().collect();
        if self.action == Action::Fix && self.least == Applicability::Suggested {
            counts.suggested = 0;
        }
        counts
    }

    fn print(&self, report: &FileReport, lines: &LineIndex, diagnostic: &Diagnostic) -> PieceText {
        if self.statistics || self.action == Action::Diff {
            return PieceText::Nothing;
        }
        match self.format {
            FormatArg::Full => {
                PieceText::Line(full::finding(report, lines, diagnostic, self.layout))
            }
            FormatArg::Concise => PieceText::Line(concise::line(report, lines, diagnostic)),
            FormatArg::Github => PieceText::Line(github::line(report, lines, diagnostic)),
            FormatArg::Json => PieceText::Value(json::finding(report, lines, diagnostic)),
            FormatArg::Sarif => PieceText::Value(sarif::result(report, lines, diagnostic)),
        }
    }

    /// Checks what comes in on standard input. With `--fix` the mended text is the answer.
    fn standard_input(self, printer: &Printer, fail_on: Severity) -> Result<Exit, CliError> {
        let mut bytes = Vec::new();
        let read = std::io::stdin().lock().take(MAX_FILE as u64 + 1).read_to_end(&mut bytes);
        read.map_err(|error| CliError::new("cannot read standard input").cause(error))?;
        if bytes.len() > MAX_FILE {
            return Err(CliError::new(format!(
                "standard input has more than the {} that are read",
                wording::size(MAX_FILE as u64)
            )));
        }
        let package = Package::default();
        let rules = &self.rules;
        if self.action == Action::Fix {
            let parsed = parse(&bytes);
            let (text, diagnostics) = match fix::fix_all(&bytes, &package, rules, self.least) {
                Some(fixed) => (fixed.text, fixed.remaining),
                // Not text: handed on as it came, so that nothing is lost.
                None => (parsed.text.to_owned(), check(&Subject::new(&parsed, &package), rules)),
            };
            let is_text = parsed.text.len() == bytes.len();
            printer.verbatim(if is_text { text.as_bytes() } else { &bytes })?;
            // The answer is the text, so that what is left to say goes beside it.
            let path = "<stdin>".to_owned();
            let report = FileReport { path, text: Some(text.into()), diagnostics };
            printer.findings(&report);
            let counts = self.count(&report.diagnostics);
            if counts.total() > 0 {
                let extent = full::Extent { skills: 1, affected: 1, folders: 0 };
                printer.status(&full::summary(counts, extent));
            }
            return Ok(verdict(counts, fail_on));
        }
        let parsed = parse(&bytes);
        let findings = check(&Subject::new(&parsed, &package), rules);
        if self.action == Action::Diff {
            self.mend("<stdin>".into(), Path::new("-"), &bytes, &package, findings);
            return print_diff(into_inner(self.results), printer);
        }
        self.keep(Path::new("-"), "<stdin>".into(), Some(parsed.text), findings);
        let elapsed = self.progress.elapsed();
        let Job { rules, results, format, statistics, .. } = self;
        let results = into_inner(results);
        print_results(&results, &rules, format, statistics, printer)?;
        summarise(&results, &elapsed, printer);
        Ok(verdict(results.counts(), fail_on))
    }
}

fn verdict(counts: Counts, fail_on: Severity) -> Exit {
    if counts.at_least(fail_on) > 0 { Exit::No } else { Exit::Done }
}

fn print_results(
    results: &Results,
    rules: &RuleSet,
    format: FormatArg,
    statistics: bool,
    printer: &Printer,
) -> Result<(), CliError> {
    let pieces = || results.files.iter().flat_map(|file| &file.pieces);
    if statistics {
        return print_statistics(results, format, printer);
    }
    let values = || {
        pieces()
            .filter_map(|piece| {
                if let PieceText::Value(value) = &piece.text { Some(value.clone()) } else { None }
            })
            .collect::<Vec<Value>>()
    };
    match format {
        FormatArg::Full => {
            let mut explained: Vec<&str> = Vec::new();
            let mut text = String::new();
            for piece in pieces() {
                if let PieceText::Line(line) = &piece.text {
                    text.push_str(line);
                    // Once for each rule: the name stands in every headline anyway.
                    if !explained.contains(&piece.rule) {
                        explained.push(piece.rule);
                        let green = anstyle::AnsiColor::Green.on_default().bold();
                        text.push_str(&format!(
                            "{green}note{green:#}: run `prowess explain {}`\n",
                            piece.rule
                        ));
                    }
                    text.push('\n');
                }
            }
            printer.answer(&text)
        }
        FormatArg::Concise | FormatArg::Github => {
            let lines = pieces().filter_map(|piece| {
                if let PieceText::Line(line) = &piece.text { Some(line) } else { None }
            });
            printer.answer(&lines.map(|line| format!("{line}\n")).collect::<String>())
        }
        FormatArg::Json => {
            let counts = results.counts();
            printer.json(&json!({
                "schema": "prowess.validate/1",
                "profile": rules.profile().as_str(),
                "summary": {
                    "skills": results.skills,
                    "affected": results.extent().affected,
                    "errors": counts.errors,
                    "warnings": counts.warnings,
                    "notes": counts.notes,
                    "fixable": counts.fixable,
                    "fixed": results.fixed(),
                    "suggested": counts.suggested,
                },
                "findings": values(),
            }))
        }
        FormatArg::Sarif => {
            let used: Vec<sarif::RuleInfo<'_>> = RULES
                .iter()
                .filter(|rule| pieces().any(|piece| piece.rule == rule.id))
                .map(|rule| sarif::RuleInfo { id: rule.id, summary: rule.summary, page: rule.page })
                .collect();
            printer.json(&sarif::log(env!("CARGO_PKG_VERSION"), &used, &values()))
        }
    }
}

/// How often each rule was broken, most often first.
fn print_statistics(
    results: &Results,
    format: FormatArg,
    printer: &Printer,
) -> Result<(), CliError> {
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for file in &results.files {
        let mut seen: Vec<&str> = Vec::new();
        for piece in &file.pieces {
            let entry = counts.entry(piece.rule).or_default();
            entry.0 += 1;
            if !seen.contains(&piece.rule) {
                seen.push(piece.rule);
                entry.1 += 1;
            }
        }
    }
    let mut rows: Vec<(&str, (usize, usize))> = counts.into_iter().collect();
    rows.sort_by_key(|(rule, (findings, _))| (std::cmp::Reverse(*findings), *rule));
    if format == FormatArg::Json {
        let rules: Vec<Value> = rows.iter().map(|(rule, (findings, skills))| json!({ "rule": rule, "findings": findings, "skills": skills })).collect();
        return printer.json(&json!({ "schema": "prowess.validate-statistics/1", "skills": results.skills, "rules": rules }));
    }
    if rows.is_empty() {
        return Ok(());
    }
    let mut text = String::from("findings   skills  rule\n");
    for (rule, (findings, skills)) in rows {
        text.push_str(&format!(
            "{:>8} {:>8}  {rule}\n",
            wording::thousands(findings),
            wording::thousands(skills)
        ));
    }
    printer.answer(&text)
}

/// Prints what `--fix` would change.
fn print_diff(mut results: Results, printer: &Printer) -> Result<Exit, CliError> {
    results.mended.sort_by(|a, b| a.file.cmp(&b.file));
    printer.diff(&results.mended.iter().map(|mended| mended.diff.as_str()).collect::<String>())?;
    if results.mended.is_empty() {
        printer.status(&format!("Nothing to fix in {}", wording::count(results.skills, "skill")));
        return Ok(Exit::Done);
    }
    printer.status(&format!(
        "Would fix {} in {}",
        wording::count(results.fixed(), "finding"),
        wording::count(results.mended.len(), "skill")
    ));
    Ok(Exit::No)
}

fn summarise(results: &Results, elapsed: &str, printer: &Printer) {
    if !results.mended.is_empty() {
        let mut files: Vec<&Mended> = results.mended.iter().collect();
        files.sort_by(|a, b| a.file.cmp(&b.file));
        printer.status(&format!(
            "Fixed {} in {}",
            wording::count(results.fixed(), "finding"),
            wording::count(files.len(), "skill")
        ));
        for mended in files.iter().take(MOST_NAMED) {
            printer.status(&format!(
                "  {}: {}",
                sanitize::line(&mended.path),
                wording::count(mended.findings, "finding")
            ));
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
        printer
            .status(&format!("Validated {} in {elapsed}", wording::count(results.skills, "skill")));
    }
}
