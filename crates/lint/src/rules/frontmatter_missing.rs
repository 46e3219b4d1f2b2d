//! Missing frontmatter.

use prowess_diag::{Fix, TextEdit};

use super::{FindingSink, LintFinding, LintSubject, RuleLevels, line_break};
use crate::key_notation;
use prowess_spec::identity;
use prowess_spec::name;
use prowess_spec::problem::ProblemKind;
use prowess_spec::yaml::write;

rule!(
    "frontmatter-missing",
    RuleLevels::of("EEW"),
    Suggested,
    "the file has no frontmatter"
);

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    let Some(problem) = parsed
        .problems
        .iter()
        .find(|problem| problem.kind == ProblemKind::FrontmatterMissing)
    else {
        return;
    };
    let first = problem.span.of(parsed.text);
    let mut finding = LintFinding::at(
        problem.span,
        "SKILL.md must start with YAML frontmatter (`---`)",
    );
    if is_link_target(parsed.text) {
        finding = finding
            .label("this is the target of a symbolic link, checked out as text")
            .help("enable symlinks and check it out again: `git config core.symlinks true`, then `git checkout -- SKILL.md`");
    } else if first.starts_with("---") {
        finding = finding.label("the opening line must be `---` and nothing else");
    } else if first.trim_end() != first.trim() && first.trim() == "---" {
        finding = finding.label("the opening line must start at column 1");
    } else if first.trim() == "+++" {
        finding = finding
            .label("this is TOML; a skill needs YAML between two `---` lines")
            .fix(key_notation::from_toml(parsed.text));
    } else if let Some(end) = key_notation::leading_keys(parsed.text) {
        let eol = line_break(parsed.text);
        let before = if parsed.text[..end].ends_with('\n') {
            ""
        } else {
            eol
        };
        let open = TextEdit::insert(0, format!("---{eol}"));
        let close = TextEdit::insert(end, format!("{before}---{eol}"));
        finding = finding
            .label("these keys are not between two `---` lines")
            .fix(Fix::suggested(
                "put `---` before and after the keys",
                vec![open, close],
            ));
    } else {
        finding = finding.label("no `---` on the first line").fix_or_help(
            insertion(skill),
            "start the file with:\n---\nname: …\ndescription: …\n---",
        );
    }
    out.report(finding);
}

/// Returns `true` if the whole text is a relative path, which Git writes if symlinks are disabled.
fn is_link_target(text: &str) -> bool {
    let text = text.trim();
    text.starts_with("../") && !text.contains(char::is_whitespace)
}

fn insertion(skill: &LintSubject<'_>) -> Option<Fix> {
    let parsed = skill.parsed?;
    // A name other than the folder's would be the next error.
    let name = skill
        .package
        .folder()
        .filter(|folder| name::faults(folder).is_empty())?;
    let body = parsed.body_text();
    let description = first_paragraph(body)
        .or_else(|| identity::first_line(body).map(std::borrow::Cow::into_owned))?;
    let eol = line_break(parsed.text);
    let block = format!(
        "---{eol}name: {name}{eol}description: {}{eol}---{eol}{eol}",
        write::scalar(&description)
    );
    Some(Fix::suggested(
        "start with name and description",
        vec![TextEdit::insert(parsed.body.start as usize, block)],
    ))
}

/// Maximum number of characters of a suggested description.
const MOST_CHARACTERS: usize = 300;

/// Returns the first sentences of ordinary text in a body, without headings, lists and code.
fn first_paragraph(body: &str) -> Option<String> {
    let is_text = |line: &str| {
        let line = line.trim_start();
        line.starts_with("**") || line.starts_with(|c: char| c.is_alphanumeric())
    };
    let is_list = |line: &str| {
        line.trim_start_matches(|c: char| c.is_ascii_digit())
            .starts_with(". ")
    };
    let mut in_code = false;
    let mut lines = body.lines().skip_while(|line| {
        let is_fence = line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~");
        in_code ^= is_fence;
        is_fence || in_code || !is_text(line) || is_list(line.trim_start())
    });
    let lines: Vec<&str> = lines
        .by_ref()
        .take_while(|line| is_text(line))
        .map(str::trim)
        .collect();
    let text = lines.join(" ").replace("**", "");
    // A last sentence that introduces a list is incomplete.
    let text = match text.strip_suffix(':') {
        Some(whole) => whole.rfind(". ").map(|end| whole[..=end].to_owned())?,
        None => text,
    };
    let has_end = text.contains(['.', '\u{3002}']) || text.split(' ').count() > 3;
    if !has_end {
        return None;
    }
    if text.chars().count() <= MOST_CHARACTERS {
        return Some(text);
    }
    // Whole sentences only.
    let cut = text.char_indices().nth(MOST_CHARACTERS)?.0;
    let end = text[..cut].rfind(". ").map(|end| end + 1)?;
    Some(text[..end].to_owned())
}
