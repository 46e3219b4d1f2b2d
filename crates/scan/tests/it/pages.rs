//! The examples of the pages. The text after `text bad` or `text good` has settings: `file=PATH` (default:
//! `SKILL.md`), `link=TARGET` for a link out of the skill, `hex=BYTES` for a file that is not text, and
//! `escapes` if `\u{…}` stands for a character.

use prowess_scan::{RULES, ScanContent, ScanFile, ScanRule, SkillScanner};
use prowess_test::pages::{self, PageExample};

fn findings(example: &PageExample) -> Vec<&'static str> {
    let text = example.unescaped();
    let path = example.get("file").unwrap_or("SKILL.md");
    let hex = example.get("hex").map(pages::bytes_of_hex);
    let content = match (example.get("link"), &hex) {
        (Some(target), _) => ScanContent::LinkOut { target },
        (None, Some(head)) => ScanContent::Binary { head },
        (None, None) => ScanContent::Text(&text),
    };
    let file = ScanFile {
        path,
        content,
        executable: false,
        is_main: path == "SKILL.md",
    };
    let found = SkillScanner::new(None).file(&file).findings;
    found.iter().map(|found| found.diagnostic.rule).collect()
}

fn each_rule(check: impl Fn(&ScanRule, &[PageExample]) -> Result<(), String>) {
    pages::check_each(
        RULES,
        |rule| rule.id,
        |rule| check(rule, &pages::examples(rule.page, &["text"])),
    );
}

fn shown(example: &PageExample) -> String {
    format!("findings {:?}", findings(example))
}

#[test]
fn bad_examples_have_findings() {
    each_rule(|rule, examples| {
        let is_found = |example: &PageExample| findings(example).contains(&rule.id);
        pages::all_hold(examples, "bad", is_found, shown)
    });
}

#[test]
fn good_examples_have_no_findings() {
    each_rule(|_, examples| {
        pages::all_hold(
            examples,
            "good",
            |example| findings(example).is_empty(),
            shown,
        )
    });
}

#[test]
fn pages_have_the_same_headings() {
    each_rule(|rule, _| {
        let title = rule.page.lines().next().unwrap_or_default();
        let headings: Vec<&str> = rule
            .page
            .lines()
            .filter(|line| line.starts_with("## "))
            .collect();
        if title == format!("# {}", rule.id)
            && headings == ["## Why", "## Bad", "## Good", "## What to do"]
        {
            Ok(())
        } else {
            Err(format!("{title}, {headings:?}"))
        }
    });
}

#[test]
fn examples_fit_a_terminal() {
    each_rule(|_, examples| {
        pages::fit_a_terminal(examples.iter().flat_map(|example| example.text.lines()))
    });
}
