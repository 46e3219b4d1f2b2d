//! `prowess add`

use clap::Args;
use prowess_diag::{sanitize, wording};
use prowess_package::lock::LockedPackage;
use prowess_package::operations::{
    AddRequest, PackageContext, PackagePlan, apply, list_source, plan_add,
};
use prowess_package::project::ScopeKind;
use prowess_package::source::{PackageSource, SourceOrigin, WantedRef};
use prowess_trust::TrustKind;
use serde_json::json;

use crate::env::Environment;
use crate::output::{Exit, Failure, Printer};
use crate::packages::{self, AcceptArgs, PackagePower, ScopeArgs, failure};
use crate::{permissions, targets, usage_store};

#[derive(Debug, Args)]
#[command(
    about = "Install skills from git, archives, sites, MCP servers, registries or folders\n\nShows what each skill may do, and installs it without trust: nothing of it runs before you trust it. The exact files are pinned in `prowess.lock`, and checked whenever the skill is used.\n\nA source is `owner/repo`, an address of a git repository, an archive, a site with an index of skills, `mcp:SERVER/URI` for a skill of an MCP server of yours, `REGISTRY:NAME` for a package of a registry of yours, or a folder; `@` and a version, range, tag, branch or commit may follow, as in `prowess add acme/skills@^1.4 pdf`.",
    after_help = "\
Examples:
  prowess add ./skills/pdf-tools    a folder of your own, not pinned
  prowess add forms.skill           an archive
  prowess add forms.skill --list    list the skills of a source"
)]
pub(crate) struct AddArgs {
    /// Where the skills come from
    #[arg(value_name = "SOURCE")]
    source: String,
    /// Names or folders of skills in the source (default: the only one)
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    #[command(flatten)]
    scope: ScopeArgs,
    /// Take this tag
    #[arg(long, value_name = "TAG", conflicts_with_all = ["branch", "rev"])]
    tag: Option<String>,
    /// Follow this branch
    #[arg(long, value_name = "BRANCH", conflicts_with = "rev")]
    branch: Option<String>,
    /// Take this commit
    #[arg(long, value_name = "COMMIT")]
    rev: Option<String>,
    /// Take the skill in this folder of the repository
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
    /// Install it under this name
    #[arg(long = "as", value_name = "NAME")]
    rename: Option<String>,
    /// Install all skills of the source
    #[arg(long, conflicts_with = "names")]
    all: bool,
    /// Look into folders such as `docs`, `examples` and `tests` as well
    #[arg(long)]
    all_paths: bool,
    /// Install the skills of this plugin, which may be in another repository
    #[arg(long, value_name = "PLUGIN")]
    plugin: Option<String>,
    /// List the skills of the source and install nothing
    #[arg(long, conflicts_with_all = ["dry_run", "trust"])]
    list: bool,
    /// Show what would be installed and install nothing
    #[arg(long)]
    dry_run: bool,
    /// Also trust it if its digest starts with this (at least 12 digits)
    #[arg(long, value_name = "DIGEST")]
    trust: Option<String>,
    #[command(flatten)]
    accept: AcceptArgs,
    /// Print as JSON
    #[arg(long, help_heading = "Output")]
    json: bool,
}

/// Minimum length of a digest prefix.
const SHORTEST: usize = 12;

pub(crate) fn run(
    args: &AddArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let context = args.scope.open(environment, printer)?;
    let request = args.request(&context, environment)?;
    if args.list {
        return list(&request, &context, args.json, printer);
    }
    let plan = plan_add(&context, &request).map_err(|error| failure(&error))?;
    let powers = packages::powers(&plan, &context)?;
    let document = packages::plan_document(&plan, &powers);
    let scans = packages::scans(&plan, &context);
    let more: Vec<_> = packages::replaced_with_more(&plan, &powers).collect();
    let more = (more.len(), packages::power_reminder(&more));
    if !args.json {
        let width = printer.list_width();
        for (change, power) in plan.changes.iter().zip(&powers) {
            if let Some(package) = &change.new {
                printer.answer(&packages::describe_new(package, power, width))?;
            }
        }
        packages::show_changes(&plan, &powers, &scans, printer)?;
        packages::print_notes(&plan, environment, printer);
    }
    packages::check_scans(&scans, &args.accept.accept)?;
    let changes = plan.changes.iter().zip(powers);
    let shown: Vec<(LockedPackage, PackagePower)> = changes
        .filter_map(|(change, power)| Some((change.new.clone()?, power)))
        .collect();
    if args.dry_run || plan.is_empty() {
        if args.json {
            let installed =
                json!({ "schema": packages::SCHEMA, "changes": document, "installed": false });
            printer.json(&installed)?;
        } else {
            printer.status(if plan.is_empty() {
                "Already installed"
            } else {
                "Nothing was installed (`--dry-run`)"
            });
        }
        return Ok(Exit::Done);
    }
    let mut wants_trust = false;
    // A digest accepts exactly these files.
    let is_accepted = more.0 == 0 || args.accept.accept_power || args.trust.is_some();
    let refused = || {
        let names = args.names.iter().map(String::as_str);
        let words: Vec<&str> = ["add", &*args.source].into_iter().chain(names).collect();
        packages::refused_power(&packages::count_more(more.0), &words)
    };
    if !args.json && args.trust.is_none() {
        let question = format!(
            "{}{}Install it? Nothing of it runs until you trust it.",
            packages::new_reminder(&shown, &context, environment),
            more.1
        );
        // Several packages are trusted one by one.
        let choices = if shown.len() == 1 {
            "y/N/t = and trust"
        } else {
            "y/N"
        };
        match permissions::ask(&question, choices).as_deref() {
            // Without a terminal it is installed: without trust, nothing of it runs.
            None if is_accepted => {}
            None => return Err(refused()),
            Some("y" | "yes") => {}
            Some("t") if shown.len() == 1 => wants_trust = true,
            Some(_) => return Ok(Exit::No),
        }
    } else if !is_accepted {
        return Err(refused());
    }
    if let Some(digest) = &args.trust {
        check_digest(digest, &shown)?;
        wants_trust = true;
    }
    apply(&context, &plan).map_err(|error| failure(&error))?;
    if wants_trust {
        trust(&shown, &context, environment)?;
    }
    if args.json {
        let installed = json!({ "schema": packages::SCHEMA, "changes": document, "installed": true, "trusted": wants_trust });
        printer.json(&installed)?;
        return Ok(Exit::Done);
    }
    report(&plan, wants_trust, &context, environment, printer);
    Ok(Exit::Done)
}

impl AddArgs {
    fn request(
        &self,
        context: &PackageContext,
        environment: &Environment,
    ) -> Result<AddRequest, Failure> {
        // What a person types means what the person's own file says, in every project.
        let shorthand = context.settings.shorthand();
        let wanted = match (&self.tag, &self.branch, &self.rev) {
            (Some(tag), ..) => Some(WantedRef::tag(tag)),
            (_, Some(branch), _) => Some(WantedRef::branch(branch)),
            (_, _, Some(rev)) => Some(WantedRef::parse(rev)),
            (None, None, None) => None,
        };
        let source = PackageSource::parse(&self.source, shorthand, SourceOrigin::Typed);
        let source = source.map_err(|error| failure(&error.into()))?;
        let scope = &context.scope;
        let root = (scope.kind == ScopeKind::Project).then_some(scope.root.as_path());
        let mut source = source.typed_in(&environment.current, root);
        if let Some(wanted) = wanted {
            let named = wanted.and_then(|wanted| source.with_wanted(wanted));
            source = named.map_err(|error| failure(&error.into()))?;
        }
        if let Some(path) = &self.path {
            source = source
                .with_path(path)
                .map_err(|error| failure(&error.into()))?;
        }
        Ok(AddRequest {
            source,
            names: self.names.clone(),
            all: self.all,
            all_paths: self.all_paths,
            rename: self.rename.clone(),
            plugin: self.plugin.clone(),
            accepted: self.accept.changes(),
        })
    }
}

/// Lists the skills of a source.
fn list(
    request: &AddRequest,
    context: &PackageContext,
    is_json: bool,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let listing = list_source(context, request).map_err(|error| failure(&error))?;
    let found = &listing.found.packages;
    if is_json {
        let skills = found.iter().map(|one| {
            json!({ "name": one.name, "path": one.folder, "plugins": one.plugins, "problem": one.problem.as_ref().map(ToString::to_string) })
        });
        let skills: Vec<_> = skills.collect();
        printer.json(
            &json!({ "schema": packages::SCHEMA, "commit": listing.commit, "skills": skills }),
        )?;
        return Ok(Exit::Done);
    }
    let mut text = String::new();
    for one in found {
        text.push_str(&format!(
            "{}  {}",
            sanitize::line(&one.name),
            sanitize::line(&one.folder)
        ));
        if let Some(problem) = &one.problem {
            let problem = problem.to_string();
            text.push_str(&format!(
                "  cannot be installed: {}",
                sanitize::line(&problem)
            ));
        }
        text.push('\n');
    }
    printer.answer(&text)?;
    printer.status(&wording::count(found.len(), "skill"));
    Ok(Exit::Done)
}

fn check_digest(prefix: &str, shown: &[(LockedPackage, PackagePower)]) -> Result<(), Failure> {
    let digits = prefix.strip_prefix("sha256:").unwrap_or(prefix);
    for (package, _) in shown {
        let digest = package.digest.as_deref().unwrap_or_default();
        let fits = digits.len() >= SHORTEST
            && digest
                .strip_prefix("sha256:")
                .is_some_and(|all| all.starts_with(digits));
        if !fits {
            let name = sanitize::line(&package.name);
            return Err(Failure::new(format!("`--trust` does not match `{name}`"))
                .cause(format!("the digest is {digest}"))
                .hint("review it again with `prowess add … --dry-run`"));
        }
    }
    Ok(())
}

/// Trusts the installed packages as they were shown.
fn trust(
    shown: &[(LockedPackage, PackagePower)],
    context: &PackageContext,
    environment: &Environment,
) -> Result<(), Failure> {
    let store = permissions::paths(environment).trust().ok_or_else(|| {
        Failure::new("cannot find a home folder for the trust store").hint("set `PROWESS_HOME`")
    })?;
    let now = u64::try_from(usage_store::now() / 1_000_000_000).unwrap_or_default();
    for (package, _) in shown {
        let Some(digest) = &package.digest else {
            continue;
        };
        let path = context.scope.skills.join(&package.name);
        store
            .grant(TrustKind::Skill, &path, digest, now)
            .map_err(|error| {
                Failure::new(format!("cannot trust `{}`", sanitize::line(&package.name)))
                    .cause(error)
            })?;
    }
    Ok(())
}

/// Reports what was installed, and how to undo it.
fn report(
    plan: &PackagePlan,
    is_trusted: bool,
    context: &PackageContext,
    environment: &Environment,
    printer: &Printer,
) {
    let mut names = Vec::new();
    for change in &plan.changes {
        let Some(package) = &change.new else {
            continue;
        };
        let path = targets::display(&context.scope.skills.join(&package.name), environment);
        printer.status(&format!(
            "+ {} {}  {}",
            sanitize::line(&package.name),
            packages::version(package),
            sanitize::line(&path)
        ));
        names.push(package.name.as_str());
    }
    let user = if context.scope.kind == ScopeKind::User {
        &["--user"][..]
    } else {
        &[]
    };
    let command = |words: &[&str]| {
        let all = ["prowess"].iter().chain(words).chain(&names);
        wording::command(all.copied().collect::<Vec<_>>())
    };
    let undo = [&["remove"], user].concat();
    if is_trusted {
        printer.status(&format!("undo: {}", command(&undo)));
    } else {
        let next = command(&["trust"]);
        printer.status(&format!("next: {next}; undo: {}", command(&undo)));
    }
}
