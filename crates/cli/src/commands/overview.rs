//! `prowess` without a command: visible skills, problems and next steps.

use std::path::Path;

use prowess_catalog::{Catalog, Scope, SkillOrigin};
use prowess_diag::{sanitize, theme, wording};

use crate::args::GlobalArgs;
use crate::env::Environment;
use crate::output::{Exit, Failure, Printer, cut, wrap};
use crate::prompt_share;
use crate::targets;
use crate::visible_skills::Library;

/// Column of the commands.
const COMMAND_COLUMN: usize = 52;

pub(crate) fn run(
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let library = Library::open(global, environment, printer)?;
    let catalog = library.catalog();
    let own = catalog
        .entries()
        .iter()
        .filter(|entry| entry.skill.id.origin.scope != Scope::Bundled);
    let strong = theme::STRONG;
    let mut text = if own.count() == 0 {
        format!("{strong}No skills are visible from here{strong:#} except the bundled one\n\n")
    } else {
        let count = wording::count(catalog.listed().len(), "skill");
        let are = if catalog.listed().len() == 1 {
            "is"
        } else {
            "are"
        };
        format!("{strong}{count}{strong:#} {are} visible from here\n\n")
    };
    for scope in Scope::ALL {
        text.push_str(&scope_line(
            &catalog,
            scope,
            environment,
            printer.text_width(),
        ));
    }
    text.push('\n');
    text.push_str(&facts(
        &library,
        &catalog,
        environment,
        printer.text_width(),
    )?);
    text.push_str(&next(&catalog));
    printer.answer(&text)?;
    Ok(Exit::Done)
}

/// Formats a scope: number of skills, and their folders.
fn scope_line(catalog: &Catalog, scope: Scope, environment: &Environment, width: usize) -> String {
    let mut roots: Vec<(&SkillOrigin, usize)> = Vec::new();
    for entry in catalog.entries() {
        let origin = &*entry.skill.id.origin;
        match roots.iter_mut().find(|(known, _)| *known == origin) {
            _ if origin.scope != scope => {}
            Some((_, count)) => *count += 1,
            None => roots.push((origin, 1)),
        }
    }
    if roots.is_empty() {
        return String::new();
    }
    roots.sort();
    let total: usize = roots.iter().map(|(_, count)| count).sum();
    let places: Vec<String> = roots
        .iter()
        .filter(|_| scope != Scope::Bundled)
        .map(|(origin, count)| {
            let root = targets::display(Path::new(&*origin.root), environment);
            if roots.len() == 1 {
                root
            } else {
                format!("{root} {count}")
            }
        })
        .collect();
    let places = sanitize::line(&places.join(", ")).into_owned();
    let dim = theme::DIM;
    let places = cut(&places, width.saturating_sub(20).max(20));
    let line = format!("  {:8} {:>6}", scope.as_str(), wording::thousands(total));
    if places.is_empty() {
        format!("{line}\n")
    } else {
        format!("{line}  {dim}{places}{dim:#}\n")
    }
}

/// Returns facts about the skills, each with the command that shows more.
fn facts(
    library: &Library,
    catalog: &Catalog,
    environment: &Environment,
    width: usize,
) -> Result<String, Failure> {
    let report = library.registry.report();
    let shadowed = catalog
        .entries()
        .iter()
        .filter(|entry| entry.is_shadowed())
        .count();
    let repaired = catalog
        .entries()
        .iter()
        .filter(|entry| entry.skill.problems > 0)
        .count();
    let reading = prompt_share::of(library, environment)?;
    let mut lines: Vec<(String, &str)> = Vec::new();
    let is = |n: usize| if n == 1 { "is" } else { "are" };
    if shadowed > 0 {
        let n = wording::thousands(shadowed);
        lines.push((
            format!("{n} {} shadowed by skills with the same name", is(shadowed)),
            "prowess list --all",
        ));
    }
    if repaired > 0 {
        let (n, have) = (
            wording::thousands(repaired),
            if repaired == 1 { "has" } else { "have" },
        );
        lines.push((
            format!("{n} {have} invalid frontmatter"),
            "prowess validate",
        ));
    }
    if !report.faults.is_empty() {
        let n = wording::thousands(report.faults.len());
        lines.push((format!("{n} cannot be read"), "prowess doctor"));
    }
    lines.push((reading.summary, "prowess prompt"));
    let good = theme::GOOD.on_default();
    let line = |(fact, command): &(String, &str)| {
        format!("  {fact:COMMAND_COLUMN$}  {good}{command}{good:#}\n")
    };
    let mut text: String = lines.iter().map(line).collect();
    if let Some(remedy) = &reading.remedy {
        for part in wrap(&sanitize::line(remedy), width.saturating_sub(4).max(20)) {
            text.push_str(&format!("    {part}\n"));
        }
    }
    Ok(text)
}

fn next(catalog: &Catalog) -> String {
    let good = theme::bold(theme::GOOD);
    let first = if catalog.listed().len() > 1 {
        [
            ("prowess list", "list all skills"),
            ("prowess find WORDS", "search skills"),
            ("prowess help", "show all commands"),
        ]
    } else {
        [
            ("prowess new .agents/skills/NAME", "create a skill"),
            ("prowess demo", "show a complete run, offline"),
            ("prowess help", "show all commands"),
        ]
    };
    let line = |(command, what): &(&str, &str)| format!("  {good}{command:32}{good:#} {what}\n");
    format!("\nNext:\n{}", first.iter().map(line).collect::<String>())
}
