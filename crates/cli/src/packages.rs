//! Where the packages of this project and this person are, what their lockfiles pin, and how changes
//! of packages are shown.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use prowess::inspect;
use prowess_diag::{LineIndex, Severity, review, sanitize, theme, wording};
use prowess_package::fault::FaultPoints;
use prowess_package::git::GitLimits;
use prowess_package::lock::LockedPackage;
use prowess_package::manifest;
use prowess_package::operations::{
    OnProgress, PackageChange, PackageContext, PackagePlan, PackageProgress, PlanNote, SourceAccess,
};
use prowess_package::power::{self, ChangedWords, PowerDifference, PowerKind};
use prowess_package::resolve::AcceptedChanges;
use prowess_package::source::SourceOrigin;
use prowess_package::{PackageError, PackageExit};
use prowess_trust::{PackageFault, PackageLocks, TrustSummary, summarise};
use serde_json::{Value, json};

use prowess_package::pins::{LockPins, PinScope};
use prowess_package::project::{PackageScope, ScopeKind};
use prowess_package::status::{PackageState, PackageStatus, package_status};
use prowess_package::store::PackageStore;
use prowess_registry::resource::SkillFolder;
use prowess_registry::{PackageFolders, SkillScan};

use crate::env::Environment;
use crate::output::{Exit, Failure, Printer};
use crate::skill_servers::OwnServers;
use crate::{permissions, targets, trust_text, usage_store};

/// Most packages that a question repeats.
const MOST_REMINDERS: usize = 6;
/// Length of a commit id or digest that is shown.
const SHORT_ID: usize = 12;

/// The scope that a command works on.
#[derive(Debug, Args)]
pub(crate) struct ScopeArgs {
    /// Work on your own packages, for all projects
    #[arg(long)]
    pub(crate) user: bool,
    /// Do not use the network
    #[arg(long)]
    pub(crate) offline: bool,
}

impl ScopeArgs {
    /// Opens the scope.
    pub(crate) fn open(
        &self,
        environment: &Environment,
        printer: &Printer,
    ) -> Result<PackageContext, Failure> {
        context(self.user, self.offline, environment, printer)
    }
}

/// Answers that a person gives in advance to changes of locked packages.
#[derive(Debug, Args)]
pub(crate) struct AcceptArgs {
    /// Take new versions that may do more
    #[arg(long)]
    pub(crate) accept_power: bool,
    /// Take a version that is lower than the locked one
    #[arg(long)]
    allow_downgrade: bool,
    /// Take a tag that points to another commit than before
    #[arg(long)]
    accept_moved_tag: bool,
    /// Take a branch whose history was rewritten
    #[arg(long)]
    accept_rewritten: bool,
    /// Install despite findings of this rule of `prowess scan` (can be repeated)
    #[arg(long, value_name = "RULE")]
    pub(crate) accept: Vec<String>,
}

impl AcceptArgs {
    /// Returns the changes of sources that are accepted.
    pub(crate) fn changes(&self) -> AcceptedChanges {
        AcceptedChanges {
            moved_tag: self.accept_moved_tag,
            downgrade: self.allow_downgrade,
            rewritten: self.accept_rewritten,
        }
    }

    /// Asks about locked packages whose new version may do more. Returns `false` if the person refuses.
    /// Without a terminal, it is an error with the command that accepts them.
    pub(crate) fn may_take(
        &self,
        plan: &PackagePlan,
        powers: &[PackagePower],
        is_json: bool,
        command: &[&str],
    ) -> Result<bool, Failure> {
        let more: Vec<_> = replaced_with_more(plan, powers).collect();
        if more.is_empty() || self.accept_power {
            return Ok(true);
        }
        let counts = count_more(more.len());
        let question = format!("{}{counts}. Take it?", power_reminder(&more));
        let answer = (!is_json).then(|| permissions::ask(&question, "y/N"));
        match answer.flatten().as_deref() {
            Some("y" | "yes") => Ok(true),
            Some(_) => Ok(false),
            None => Err(refused_power(&counts, command)),
        }
    }
}

/// Returns the locked packages whose new version may do more.
pub(crate) fn replaced_with_more<'p>(
    plan: &'p PackagePlan,
    powers: &'p [PackagePower],
) -> impl Iterator<Item = (&'p PackageChange, &'p PackagePower)> {
    let changes = plan.changes.iter().zip(powers);
    changes.filter(|(change, power)| {
        change.old.is_some() && change.new.is_some() && power.difference.is_more()
    })
}

/// Describes a number of packages whose new version may do more.
pub(crate) fn count_more(count: usize) -> String {
    format!(
        "{} may do more than before",
        wording::count(count, "package")
    )
}

/// Returns the error about versions that may do more, if there is no terminal to ask.
pub(crate) fn refused_power(counts: &str, command: &[&str]) -> Failure {
    let words = [&["prowess"], command, &["--accept-power"]].concat();
    let hint = format!("review the list, then run {}", wording::command(words));
    Failure::new(format!("{counts}, and nothing was changed"))
        .hint(hint)
        .exit(Exit::Denied)
}

/// Repeats what packages may do more, for the question: the list may be longer than the screen.
pub(crate) fn power_reminder(more: &[(&PackageChange, &PackagePower)]) -> String {
    let mut text = String::new();
    for (change, power) in more.iter().take(MOST_REMINDERS) {
        let mut kinds: BTreeMap<PowerKind, usize> = BTreeMap::new();
        for line in &power.difference.gained {
            *kinds.entry(line.kind).or_default() += 1;
        }
        let kinds: Vec<String> = kinds
            .into_iter()
            .map(|(kind, count)| format!("{}: {}", kind.plural(), wording::thousands(count)))
            .collect();
        let digest = change.new.as_ref().and_then(|new| new.digest.as_deref());
        text.push_str(&format!(
            "{}, {}\n  new {}\n",
            sanitize::line(&change.name),
            trust_text::short(digest.unwrap_or_default()),
            kinds.join(", ")
        ));
    }
    if more.len() > MOST_REMINDERS {
        let rest = wording::count(more.len() - MOST_REMINDERS, "more package");
        text.push_str(&format!("and {rest}\n"));
    }
    text
}

/// Repeats what new packages are, for the question.
pub(crate) fn new_reminder(
    shown: &[(LockedPackage, PackagePower)],
    context: &PackageContext,
    environment: &Environment,
) -> String {
    let mut text = String::new();
    for (package, power) in shown.iter().take(MOST_REMINDERS) {
        let path = targets::display(&context.scope.skills.join(&package.name), environment);
        let digest = package.digest.as_deref().unwrap_or("not pinned");
        text.push_str(&format!(
            "{}, {}\n{}",
            review::line(&path),
            trust_text::short(digest),
            trust_text::alarms(&inspect::trust_sections(&[], &power.new))
        ));
    }
    if shown.len() > MOST_REMINDERS {
        let rest = wording::count(shown.len() - MOST_REMINDERS, "more package");
        text.push_str(&format!("and {rest}\n"));
    }
    text
}

/// Returns the scope of the project around the current folder.
pub(crate) fn project_scope(environment: &Environment) -> PackageScope {
    PackageScope::project(&permissions::workspace(environment))
}

/// Returns the scope of the person, or `None` without a home or configuration folder.
pub(crate) fn user_scope(environment: &Environment) -> Option<PackageScope> {
    let file = environment.settings().user?;
    Some(PackageScope::user(
        environment.home.as_deref()?,
        file.parent()?,
    ))
}

/// Returns the lockfile of the person.
pub(crate) fn user_lock(environment: &Environment) -> Option<PathBuf> {
    user_scope(environment).map(|scope| scope.lock)
}

/// Returns the store of packages, or `None` without a folder for data.
pub(crate) fn store(environment: &Environment) -> Option<PackageStore> {
    environment
        .data_folder()
        .map(|data| PackageStore::new(&data))
}

/// Returns the lockfiles that skills are checked against.
pub(crate) fn pins(environment: &Environment) -> Option<Arc<LockPins>> {
    let scopes = [Some(project_scope(environment)), user_scope(environment)];
    // A project may not loosen it.
    let changed = own_settings(environment).install.changed;
    let scopes = scopes.into_iter().flatten().map(|scope| PinScope {
        is_personal: scope.kind == ScopeKind::User,
        lock: scope.lock,
        entries: scope.skills,
        changed: changed.unwrap_or_default(),
    });
    let store = store(environment)?;
    Some(Arc::new(LockPins::new(scopes.collect(), store)))
}

/// Returns the folders of the skills of the project that its lockfile names, if `only-locked` hides all
/// others.
pub(crate) fn locked_entries(environment: &Environment) -> Option<BTreeSet<PathBuf>> {
    let scope = project_scope(environment);
    let is_set = |settings: &manifest::InstallSettings| settings.only_locked == Some(true);
    if !is_set(&own_settings(environment).install) && !is_set(&project_settings(&scope).install) {
        return None;
    }
    // The registry may name the folder in another way.
    let real = std::fs::canonicalize(&scope.skills).ok();
    let named = pins(environment).map(|pins| pins.named());
    let entries = named.unwrap_or_default().into_keys();
    let names = entries.filter(|entry| entry.parent() == Some(&scope.skills));
    let both = names.flat_map(|entry| {
        let name = entry.file_name().unwrap_or_default();
        let other = real.as_ref().map(|real| real.join(name));
        [Some(entry.clone()), other]
    });
    Some(both.flatten().collect())
}

/// Returns the sections about packages of the project's file. Faults are reported by the commands that
/// read the configuration.
fn project_settings(scope: &PackageScope) -> manifest::PackageManifest {
    let text = prowess_config::read_text(&scope.manifest).unwrap_or_default();
    let root = scope.root.to_string_lossy();
    let origin = SourceOrigin::Project {
        root: &root,
        mirrors: &[],
    };
    manifest::read("", &text, origin).0
}

/// Returns the state of the package that a skill is. `None` if no lockfile names it.
pub(crate) fn status_of(entry: &Path, environment: &Environment) -> Option<PackageStatus> {
    let pin = pins(environment)?.pin(entry);
    package_status(entry, &pin)
}

/// Returns the state of a package that is not among the skills: it is not on disk, or its lockfile cannot
/// be read.
pub(crate) fn unlisted(name: &str, environment: &Environment) -> Option<PackageStatus> {
    let is_name = !name.is_empty() && !name.contains(['/', '\\']) && !name.starts_with('.');
    let (entry, pin) = pins(environment).filter(|_| is_name)?.find(name)?;
    package_status(&entry, &pin).filter(|status| {
        matches!(
            status.state,
            PackageState::Absent | PackageState::Unreadable
        )
    })
}

/// Returns a warning for each lockfile that cannot be read.
pub(crate) fn lock_faults(environment: &Environment) -> Vec<String> {
    let pins = pins(environment);
    let faults = pins.iter().flat_map(|pins| pins.faults());
    let text = |(lock, reason): (&Path, Box<str>)| {
        let lock = wording::tick(targets::display(lock, environment));
        format!("cannot read {lock}: {reason}; its packages are not used; run `prowess verify`")
    };
    faults
        .map(text)
        .map(|text| sanitize::line(&text).into_owned())
        .collect()
}

/// Returns the packages that a lockfile names and that are not on disk.
pub(crate) fn absent(environment: &Environment) -> Vec<PackageStatus> {
    let named = pins(environment).map(|pins| pins.named());
    let named = named.unwrap_or_default().into_iter();
    let absent = named.filter(|(entry, _)| !entry.is_dir());
    absent
        .filter_map(|(entry, pin)| package_status(&entry, &pin))
        .collect()
}

/// Returns a package and its state as JSON.
pub(crate) fn status_document(status: &PackageStatus) -> Value {
    json!({
        "name": status.name,
        "version": status.version,
        "source": status.source,
        "state": status.state.as_str(),
        "scope": if status.is_personal { "user" } else { "project" },
        "fault": status.fault.as_ref().map(ToString::to_string),
        "hint": status.hint(),
    })
}

/// Describes a package and its state in one line.
pub(crate) fn describe_status(status: &PackageStatus) -> String {
    let mut text = sanitize::line(&status.name).into_owned();
    if let Some(version) = &status.version {
        text.push_str(&format!(" {}", sanitize::line(version)));
    }
    if let Some(source) = &status.source {
        text.push_str(&format!(" from {}", sanitize::line(source)));
    }
    let state = match status.state {
        PackageState::Locked => "as locked",
        PackageState::Changed => "changed since it was locked",
        PackageState::Absent => "not on disk",
        PackageState::Forked => "forked: its files are yours",
        PackageState::Linked => "a folder of your own, not pinned",
        PackageState::Unreadable => "its lockfile cannot be read",
    };
    format!("{text}, {state}")
}

/// Converts the reason why a package is not loaded.
pub(crate) fn refusal(fault: &PackageFault) -> Failure {
    Failure::new(sanitize::line(&fault.to_string()).into_owned())
        .hint(sanitize::line(&fault.hint()).into_owned())
        .exit(Exit::Denied)
}

/// Returns the folders of packages that links of the project may lead to.
pub(crate) fn folders(environment: &Environment) -> PackageFolders {
    match pins(environment) {
        Some(pins) => PackageFolders::new(move || pins.folders()),
        None => PackageFolders::default(),
    }
}

/// Returns what operations on a scope need.
pub(crate) fn context(
    user: bool,
    offline: bool,
    environment: &Environment,
    printer: &Printer,
) -> Result<PackageContext, Failure> {
    let homeless = |what: &str| {
        Failure::new(format!("cannot find a folder for {what}")).hint("set `PROWESS_HOME`")
    };
    let scope = if user {
        user_scope(environment).ok_or_else(|| homeless("your packages"))?
    } else {
        project_scope(environment)
    };
    let own = checked_settings(environment)?;
    let fetcher = prowess_http::WebFetcher::new(crate::runtime_setup::AGENT)
        .map_err(|error| Failure::new("cannot create the HTTP client for packages").cause(error))?;
    Ok(PackageContext {
        scope,
        store: store(environment).ok_or_else(|| homeless("packages"))?,
        cache: environment
            .cache_folder()
            .ok_or_else(|| homeless("the cache"))?,
        state: environment
            .state_folder()
            .ok_or_else(|| homeless("the state of packages"))?,
        environment: environment.program_variables(),
        git_limits: GitLimits::default(),
        fetcher: (!offline).then(|| Arc::new(fetcher) as _),
        settings: own.install,
        access: SourceAccess {
            servers: Some(Arc::new(OwnServers::new(environment))),
            registries: own.registries,
            signers: own.signers,
        },
        offline,
        now: usage_store::now() / 1_000_000_000,
        progress: progress(printer),
        faults: Arc::new(FaultPoints::default()),
    })
}

/// Returns the sections about packages of the person's own file. Faults are reported by the commands
/// that read the configuration.
pub(crate) fn own_settings(environment: &Environment) -> manifest::PackageManifest {
    let Some(file) = environment.settings().user else {
        return manifest::PackageManifest::default();
    };
    let text = prowess_config::read_text(&file).unwrap_or_default();
    let shown = targets::display(&file, environment);
    manifest::read(&shown, &text, SourceOrigin::Person).0
}

/// Returns the sections about packages of the person's own file. A fault in them is an error: what
/// cannot be read might be a list of allowed sources, or a key.
fn checked_settings(environment: &Environment) -> Result<manifest::PackageManifest, Failure> {
    let Some(file) = environment.settings().user else {
        return Ok(manifest::PackageManifest::default());
    };
    let shown = targets::display(&file, environment);
    let text = match prowess_config::read_text(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => {
            return Err(
                Failure::new(format!("cannot read {}", wording::tick(&shown))).cause(error),
            );
        }
    };
    let (settings, report) = manifest::read(&shown, &text, SourceOrigin::Person);
    let mut faults = report.diagnostics.iter();
    match faults.find(|fault| fault.severity == Severity::Error) {
        None => Ok(settings),
        Some(fault) => {
            let message = format!("{} is not valid", wording::tick(&shown));
            let failure = Failure::new(message).cause(sanitize::line(&fault.message));
            Err(Failure {
                report: Some(Box::new(report)),
                ..failure
            })
        }
    }
}

/// Reports steps that take time as lines, on a terminal only.
fn progress(printer: &Printer) -> Option<OnProgress> {
    if !printer.shows_progress() {
        return None;
    }
    let aside = printer.live();
    Some(Arc::new(move |step: &PackageProgress<'_>| {
        let text = match step {
            PackageProgress::Resolving { source } => format!("resolving {source}"),
            PackageProgress::Fetching { source } => format!("fetching {source}"),
            _ => return,
        };
        let dim = theme::DIM;
        aside.line(&format!("{dim}{}{dim:#}", sanitize::line(&text)));
    }))
}

/// Converts an error of an operation.
pub(crate) fn failure(error: &PackageError) -> Failure {
    let exit = match error.exit() {
        PackageExit::No => Exit::No,
        PackageExit::Failed => Exit::Failed,
        PackageExit::Refused => Exit::Denied,
        PackageExit::Credentials => Exit::NoKey,
    };
    let mut failure = Failure::new(sanitize::line(&error.to_string())).exit(exit);
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        let text = cause.to_string();
        if text != error.to_string() {
            failure = failure.cause(sanitize::line(&text));
        }
        source = cause.source();
    }
    match error.hint() {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// What a changed package may do, before and after.
pub(crate) struct PackagePower {
    /// What the new version may do. The default if the package is removed.
    pub(crate) new: TrustSummary,
    pub(crate) difference: PowerDifference,
    /// Changed lines and files. `None` if the package is new.
    pub(crate) words: Option<ChangedWords>,
}

/// Compares the old and the new files of a package.
fn power(
    change: &PackageChange,
    plan: &PackagePlan,
    context: &PackageContext,
) -> Result<PackagePower, Failure> {
    let folder = |package: Option<&LockedPackage>| {
        let digest = package?.digest.as_deref()?;
        plan.folder(&context.store, digest)
    };
    let summary = |folder: Option<&Path>| match folder {
        None => Ok(TrustSummary::default()),
        Some(folder) => summarise(folder).map_err(|error| {
            Failure::new(format!(
                "cannot read the files of package {}",
                wording::tick(sanitize::line(&change.name))
            ))
            .cause(error)
        }),
    };
    let (old, new) = (folder(change.old.as_ref()), folder(change.new.as_ref()));
    let (before, after) = (summary(old.as_deref())?, summary(new.as_deref())?);
    let words = match (&old, &new) {
        (Some(old), Some(new)) => {
            let old = contents(old, change.old.as_ref());
            let new = contents(new, change.new.as_ref());
            Some(power::changed_words(&slices(&old), &slices(&new)))
        }
        _ => None,
    };
    Ok(PackagePower {
        difference: power::compare(&before, &after),
        new: after,
        words,
    })
}

/// Compares the old and the new files of all packages of a plan, in its order.
pub(crate) fn powers(
    plan: &PackagePlan,
    context: &PackageContext,
) -> Result<Vec<PackagePower>, Failure> {
    let changes = plan.changes.iter();
    changes.map(|change| power(change, plan, context)).collect()
}

/// Returns the files of a package.
fn contents<'p>(folder: &Path, package: Option<&'p LockedPackage>) -> Vec<(&'p str, Vec<u8>)> {
    let Ok(opened) = SkillFolder::open(folder) else {
        return Vec::new();
    };
    let files = package.iter().flat_map(|package| &package.files);
    files
        .filter_map(|file| {
            Some((
                file.path.as_str(),
                opened.bytes(&file.path, file.size).ok()?,
            ))
        })
        .collect()
}

fn slices<'f>(files: &'f [(&'f str, Vec<u8>)]) -> BTreeMap<&'f str, &'f [u8]> {
    let files = files.iter();
    files
        .map(|(path, bytes)| (*path, bytes.as_slice()))
        .collect()
}

/// Returns the version of a package, or its commit or digest if it has none.
pub(crate) fn version(package: &LockedPackage) -> String {
    let short = |id: &String| -> String {
        let id = id.strip_prefix("sha256:").unwrap_or(id);
        id.chars().take(SHORT_ID).collect()
    };
    let id = package.commit.as_ref().or(package.digest.as_ref());
    let version = package.version.clone().or_else(|| id.map(short));
    let version = version.unwrap_or_else(|| "live".to_owned());
    sanitize::line(&version).into_owned()
}

/// Describes what a new package may do.
pub(crate) fn describe_new(package: &LockedPackage, power: &PackagePower, width: usize) -> String {
    let (strong, dim) = (theme::STRONG, theme::DIM);
    let summary = &power.new;
    let mut facts = vec![
        wording::count(summary.files, "file"),
        wording::size(summary.bytes),
    ];
    facts.extend(
        package
            .license
            .as_deref()
            .map(|text| sanitize::line(text).into_owned()),
    );
    facts.push(format!(
        "listing {} tokens",
        power.difference.listing_tokens.1
    ));
    if let Some(digest) = &package.digest {
        facts.push(digest.chars().take("sha256:".len() + SHORT_ID).collect());
    }
    let mut text = format!(
        "{strong}{} {}{strong:#}  {dim}{}{dim:#}\n",
        sanitize::line(&package.name),
        version(package),
        facts.join(", ")
    );
    let mut from = sanitize::line(&package.source.to_string()).into_owned();
    if let Some(name) = &package.git_ref {
        let kinds = [("refs/tags/", "tag"), ("refs/heads/", "branch")];
        let short = kinds
            .iter()
            .find_map(|(start, kind)| Some((*kind, name.strip_prefix(start)?)));
        let (kind, name) = short.unwrap_or(("ref", name));
        let name: String = name.chars().take(80).collect();
        from.push_str(&format!(", {kind} {}", sanitize::line(&name)));
    }
    if let Some(commit) = &package.commit {
        let commit: String = commit.chars().take(SHORT_ID).collect();
        from.push_str(&format!(", commit {}", sanitize::line(&commit)));
    }
    if let Some(signer) = &package.signer {
        from.push_str(&format!(", signed by {}", sanitize::line(signer)));
    }
    text.push_str(&format!("  {dim}from{dim:#} {from}\n"));
    let sections = inspect::trust_sections(&[], summary);
    if sections.is_empty() {
        text.push_str("  It requests no permissions, runs no commands and contains no scripts.\n");
    }
    text.push_str(&trust_text::sections(&sections, "  ", width, 4));
    text
}

/// Describes an update: the versions, the changed lines, and what the new version may do more.
pub(crate) fn describe_update(
    change: &PackageChange,
    power: &PackagePower,
    width: usize,
) -> String {
    let (strong, bad, dim) = (theme::STRONG, theme::bold(theme::BAD), theme::DIM);
    let shown = |package: &Option<LockedPackage>| package.as_ref().map(version).unwrap_or_default();
    let difference = &power.difference;
    let words = power.words.map_or_else(String::new, |words| {
        let binary = match words.binary {
            0 => String::new(),
            count => format!(", {}", wording::count(count, "binary file")),
        };
        format!("  words: {}{binary}", wording::count(words.lines, "line"))
    });
    let more = if difference.is_more() {
        format!("{bad}MORE{bad:#}")
    } else {
        "same".to_owned()
    };
    let mut text = format!(
        "{strong}{}{strong:#}  {} → {}{words}  power: {more}\n",
        sanitize::line(&change.name),
        shown(&change.old),
        shown(&change.new),
    );
    for (sign, lines) in [("+", &difference.gained), ("-", &difference.lost)] {
        // Each kind has its own limit, so that one does not hide another.
        let mut kinds: BTreeMap<PowerKind, usize> = BTreeMap::new();
        for line in lines {
            let count = kinds.entry(line.kind).or_default();
            *count += 1;
            if *count > trust_text::MOST_LINES {
                continue;
            }
            let rows = trust_text::rows(&format!("{sign} {line}"), width, 4);
            let place = line.place.as_deref().map_or_else(String::new, |place| {
                format!("  {dim}{}{dim:#}", sanitize::line(place))
            });
            text.push_str(&format!("{}{place}\n", rows.trim_end_matches('\n')));
        }
        for (kind, count) in kinds {
            if let Some(more) = count
                .checked_sub(trust_text::MOST_LINES)
                .filter(|more| *more > 0)
            {
                let more = wording::thousands(more);
                let kind = kind.plural();
                text.push_str(&format!("    {sign} {dim}and {more} more {kind}{dim:#}\n"));
            }
        }
    }
    for path in difference.changed.iter().take(trust_text::MOST_LINES) {
        text.push_str(&trust_text::rows(
            &format!("~ other bytes in {path}"),
            width,
            4,
        ));
    }
    if let Some(more) = difference.changed.len().checked_sub(trust_text::MOST_LINES)
        && more > 0
    {
        let more = wording::thousands(more);
        let kind = PowerKind::ChangedScript.plural();
        text.push_str(&format!("    ~ {dim}and {more} more {kind}{dim:#}\n"));
    }
    let (before, after) = difference.listing_tokens;
    if before != after {
        text.push_str(&format!("    listing {before} → {after} tokens\n"));
    }
    if difference.description_changed {
        text.push_str("    the description that models read changed\n");
    }
    text
}

/// Shows the changes of locked packages, and what the scan of all new files found. Packages that are new
/// are not described: nothing of them runs until they are trusted, and `trust` describes them.
pub(crate) fn show_changes(
    plan: &PackagePlan,
    powers: &[PackagePower],
    scans: &[(String, SkillScan)],
    printer: &Printer,
) -> Result<(), Failure> {
    let width = printer.list_width();
    for (change, power) in plan.changes.iter().zip(powers) {
        if change.old.is_some() && change.new.is_some() {
            printer.answer(&describe_update(change, power, width))?;
        }
    }
    print_scans(scans, printer);
    Ok(())
}

/// Prints the notes of a plan.
pub(crate) fn print_notes(plan: &PackagePlan, environment: &Environment, printer: &Printer) {
    for note in &plan.notes {
        let text = match note {
            PlanNote::VersionDiffers {
                name,
                tag,
                declared,
            } => format!(
                "{name}: the tag says version {tag}, and SKILL.md says {declared}; the tag counts"
            ),
            PlanNote::Large { name, files, bytes } => format!(
                "{name} has {} and {}; other hosts need not accept it",
                wording::count(*files, "file"),
                wording::size(*bytes)
            ),
            PlanNote::FirstSight { name } => {
                format!("{name}: the index has no digests, so its files are pinned as they are now")
            }
            PlanNote::HistoryUnknown { name } => {
                format!("{name}: the server does not show if its history was rewritten")
            }
            PlanNote::TooYoung { name, version } => {
                format!("{name}: {version} is younger than `minimum-age`, and was left out")
            }
            PlanNote::Restored { name, path } => {
                let path = wording::tick(targets::display(path, environment));
                format!("{path} differed from the lockfile, and is replaced by the locked `{name}`")
            }
            PlanNote::Mirror { url } => {
                format!("`{url}` is on this machine only: others cannot fetch from it")
            }
            PlanNote::ListUnread { name } => {
                format!(
                    "{name}: `skill.oms.sig` cannot be read, so its list of files was not compared"
                )
            }
            PlanNote::NotInstallable { name, reason } => {
                format!("{name} is not installed: {reason}")
            }
            _ => continue,
        };
        printer.warn(&sanitize::line(&text));
    }
}

/// Prints the packages that a plan changes, one line each.
pub(crate) fn print_changes(plan: &PackagePlan, printer: &Printer) {
    let shown = |package: &Option<LockedPackage>| match package {
        Some(package) => version(package),
        None => "none".to_owned(),
    };
    for change in &plan.changes {
        let name = sanitize::line(&change.name);
        let (old, new) = (shown(&change.old), shown(&change.new));
        printer.status(&format!("{name}  {old} → {new}"));
    }
}

/// Returns a plan as JSON.
pub(crate) fn plan_document(plan: &PackagePlan, powers: &[PackagePower]) -> Vec<Value> {
    let mut changes = Vec::new();
    for (change, power) in plan.changes.iter().zip(powers) {
        let package = |package: &Option<LockedPackage>| {
            package.as_ref().map(|package| {
                json!({
                    "version": package.version,
                    "commit": package.commit,
                    "digest": package.digest,
                    "source": package.source.to_string(),
                    "path": package.path,
                    "signer": package.signer,
                })
            })
        };
        let lines = |lines: &[power::PowerLine]| -> Vec<Value> {
            let lines = lines.iter();
            lines
                .map(|line| json!({ "kind": line.kind.as_str(), "value": line.value, "place": line.place }))
                .collect()
        };
        changes.push(json!({
            "name": change.name,
            "old": package(&change.old),
            "new": package(&change.new),
            "power": {
                "more": power.difference.is_more(),
                "gained": lines(&power.difference.gained),
                "lost": lines(&power.difference.lost),
                "changed": power.difference.changed,
                "listing_tokens": [power.difference.listing_tokens.0, power.difference.listing_tokens.1],
            },
            "changed_lines": power.words.map(|words| words.lines),
            "changed_files": power.words.map(|words| words.files),
            "changed_binary_files": power.words.map(|words| words.binary),
        }));
    }
    changes
}

/// The schema of the JSON of all package commands.
pub(crate) const SCHEMA: &str = "prowess.packages/1";

/// Searches the files of a package with the rules of `prowess scan`. A package that cannot be read is
/// refused elsewhere.
pub(crate) fn scan(folder: &Path) -> SkillScan {
    prowess_registry::scan_skill(folder).unwrap_or_default()
}

/// Searches the new files of all packages of a plan, by name.
pub(crate) fn scans(plan: &PackagePlan, context: &PackageContext) -> Vec<(String, SkillScan)> {
    let new = plan.changes.iter().filter_map(|change| change.new.as_ref());
    let folders = new.filter_map(|package| {
        let folder = plan.folder(&context.store, package.digest.as_deref()?)?;
        Some((package.name.clone(), folder))
    });
    folders
        .map(|(name, folder)| (name, scan(&folder)))
        .collect()
}

/// Prints what the scan of packages found, one line each.
pub(crate) fn print_scans(scans: &[(String, SkillScan)], printer: &Printer) {
    for (name, scan) in scans {
        let found = scan.files.iter();
        let found = found.flat_map(|file| file.findings.iter().map(move |one| (file, one)));
        let found: Vec<_> = found.collect();
        for (file, finding) in found.iter().take(trust_text::MOST_LINES) {
            let found = &finding.diagnostic;
            let text = file.text.as_deref().unwrap_or_default();
            let start = found.span.map_or(0, |span| span.start as usize);
            let line = LineIndex::new(text).position(text, start).line;
            let text = format!(
                "{name}: {}: {} ({}:{line})",
                found.severity.as_str(),
                found.message,
                file.path
            );
            printer.warn(&sanitize::line(&text));
        }
        if found.len() > trust_text::MOST_LINES {
            let more = wording::count(found.len() - trust_text::MOST_LINES, "more finding");
            printer.warn(&format!(
                "{}: {more}; see `prowess scan`",
                sanitize::line(name)
            ));
        }
    }
}

/// Refuses packages with findings of error level, except those of accepted rules.
pub(crate) fn check_scans(
    scans: &[(String, SkillScan)],
    accepted: &[String],
) -> Result<(), Failure> {
    for (name, scan) in scans {
        let found = scan.files.iter().flat_map(|file| &file.findings);
        let found = found.map(|one| &one.diagnostic);
        let mut errors = found.filter(|one| one.severity == Severity::Error);
        let refused = errors.find(|one| !accepted.iter().any(|rule| *rule == one.rule));
        if let Some(finding) = refused {
            let name = wording::tick(sanitize::line(name));
            let message = format!("the scan of {name} found an error, so nothing was changed");
            let hint = format!(
                "read it first; to install it anyway, add `--accept {}`",
                finding.rule
            );
            return Err(Failure::new(message)
                .cause(sanitize::line(&finding.message))
                .hint(hint)
                .exit(Exit::Denied));
        }
    }
    Ok(())
}
