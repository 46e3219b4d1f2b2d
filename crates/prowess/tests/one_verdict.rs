//! Validation, trust, permissions and rendering give one verdict about every program in the table.
//!
//! Each part is called through its own public functions and compared with the table, so that the
//! test fails if one of them stops using the table.

#![allow(clippy::unwrap_used, clippy::panic, reason = "test helpers may panic")]

use std::collections::BTreeSet;
use std::fs;

use prowess_diag::{Diagnostic, Span};
use prowess_lint::{LintProfile, LintRuleSet, LintSubject, check};
use prowess_policy::{Effect, PermissionRule};
use prowess_render::{PrepareOptions, prepare};
use prowess_shell::placeholders::{ValueKind, ValuePosition, judge_command};
use prowess_shell::{Word, lex, programs};
use prowess_spec::{PackageListing, parse};

/// Number of grants to check at once; the linter lists at most 100 findings of one rule.
const GRANTS_AT_ONCE: usize = 90;
/// Number of commands to check at once; trust lists at most 32 signs of network use.
const COMMANDS_AT_ONCE: usize = 30;

fn names() -> Vec<&'static str> {
    let names: Vec<_> = programs::names().collect();
    assert!(names.len() > 930, "{}", names.len());
    names
}

fn skill(keys: &str, body: &str) -> String {
    format!(
        "---\nname: x\ndescription: Reads forms. Use when a form is there.\n{keys}---\n{body}\n"
    )
}

fn lint(text: &str, rule: &str) -> Vec<Diagnostic> {
    let (parsed, package) = (parse(text.as_bytes()), PackageListing::named("x"));
    let rules = LintRuleSet::new(LintProfile::ClaudeCode, None);
    check(&LintSubject::new(&parsed, &package), &rules)
        .into_iter()
        .filter(|found| found.rule == rule)
        .collect()
}

fn trust(text: &str) -> prowess_trust::TrustSummary {
    let world = tempfile::tempdir().unwrap();
    fs::write(world.path().join("SKILL.md"), text).unwrap();
    prowess_trust::summarise(world.path()).unwrap()
}

/// Asserts that a grant has one verdict everywhere; `expected` is the table's.
fn check_grants(grants: &[(String, bool)]) {
    let list: String = grants
        .iter()
        .map(|(grant, _)| format!("  - \"{grant}\"\n"))
        .collect();
    let text = skill(&format!("allowed-tools:\n{list}"), "Do it.");
    let linted: BTreeSet<String> = lint(&text, "unrestricted-tool")
        .iter()
        .map(|found| found.span.unwrap().of(&text).trim_matches('"').to_owned())
        .collect();
    let trusted = trust(&text).grants;
    assert_eq!(trusted.len(), grants.len());
    for ((grant, expected), trusted) in grants.iter().zip(&trusted) {
        assert_eq!(trusted.text, *grant);
        assert_eq!(linted.contains(grant), *expected, "lint about {grant}");
        if let Ok(rule) = PermissionRule::parse(grant, Effect::Allow) {
            assert_eq!(rule.is_unrestricted(), *expected, "policy about {grant}");
            assert_eq!(trusted.unrestricted, *expected, "trust about {grant}");
        } else {
            // A shell keyword: the grant allows nothing.
            assert!(trusted.fault.is_some(), "trust about {grant}");
            assert!(!trusted.unrestricted, "trust about {grant}");
        }
    }
}

#[test]
fn grants_for_each_program_have_one_verdict() {
    let grants: Vec<(String, bool)> = names()
        .into_iter()
        .map(|name| {
            let expected = programs::is_unrestricted(&[Word::plain(name)]);
            (format!("Bash({name}:*)"), expected)
        })
        .collect();
    grants.chunks(GRANTS_AT_ONCE).for_each(check_grants);
    let open = grants.iter().filter(|(_, expected)| *expected).count();
    assert!(open > 300 && open < grants.len() - 300, "{open}");
}

#[test]
fn grants_with_more_words_have_one_verdict() {
    let grants = [
        ("Bash", true),
        ("Bash(*)", true),
        ("Bash(python3 -m:*)", true),
        ("Bash(env FOO=1 python3:*)", true),
        ("Bash(sudo bash:*)", true),
        ("Bash(timeout 5:*)", true),
        ("Bash(docker exec web:*)", true),
        ("Bash(npm exec:*)", true),
        ("Bash(uv run:*)", true),
        ("Bash(git bisect run:*)", true),
        ("Bash(python3*)", true),
        ("Bash(bash build.sh:*)", false),
        ("Bash(timeout 5 ls:*)", false),
        ("Bash(uv run pytest:*)", false),
        ("Bash(git log:*)", false),
        ("Bash(git * main)", false),
        ("Bash(ls*)", false),
        ("Bash(npm run build)", false),
    ];
    check_grants(&grants.map(|(grant, expected)| (grant.to_owned(), expected)));
}

/// Returns lines with a placeholder as the program, an option's value, an operand or code, quoted
/// and unquoted.
fn lines(name: &str) -> Vec<String> {
    [
        "$0 NAME",
        "\"$0\" NAME",
        "./$0/NAME x",
        "NAME $0",
        "NAME \"$0\"",
        "NAME '$0'",
        "NAME x $0",
        "NAME x \"$0\"",
        "NAME x y z a b \"$0\"",
        "NAME -- \"$0\"",
        "NAME -x \"$0\"",
        "NAME --option=\"$0\" x",
        "NAME -c $0",
        "NAME -c \"x $0\"",
        "NAME -c 'x $0'",
        "NAME -e \"x $0\" y",
        "NAME --eval=\"$0\"",
        "NAME -m \"$0\"",
        "sudo NAME \"$0\"",
        "bash -c \"NAME $0\"",
        "echo \"$0\" | NAME",
        "NAME <<< \"$0\"",
        "NAME=\"$0\" make",
    ]
    .map(|line| line.replace("NAME", name))
    .to_vec()
}

/// A refused position: the span, the reason and the remedy.
type Refusal = (Span, String, String);

fn refusals(found: &[Diagnostic]) -> Vec<Refusal> {
    let text = |text: &Option<std::borrow::Cow<'static, str>>| text.as_deref().unwrap().to_owned();
    let mut all: Vec<Refusal> = found
        .iter()
        .filter(|found| found.rule == "unsafe-placeholder")
        .map(|found| (found.span.unwrap(), text(&found.label), text(&found.help)))
        .collect();
    all.sort_by_key(|(span, ..)| span.start);
    all
}

fn rendered(text: &str) -> Vec<Refusal> {
    let parsed = parse(text.as_bytes());
    match prepare(parsed.text, parsed.body, &PrepareOptions::default()) {
        Ok(_) => Vec::new(),
        Err(refused) => refusals(&refused.diagnostics),
    }
}

fn tabled(text: &str, lines: &[String]) -> Vec<Refusal> {
    let mut all = Vec::new();
    let mut from = 0;
    for line in lines {
        let command = format!("!`{line}`");
        let start = from + text[from..].find(&command).unwrap() + 2;
        from = start + line.len();
        let at = line.find("$0").unwrap();
        let position = ValuePosition {
            range: at..at + 2,
            kind: ValueKind::Argument,
        };
        let judgement = judge_command(line, &[position], &[] as &[&str]);
        all.extend(judgement.refused().map(|(found, reason)| {
            let span = Span::new(start + found.range.start, start + found.range.end);
            let written = &line[found.range.clone()];
            (span, reason.explain().to_owned(), reason.remedy(written))
        }));
    }
    all.sort_by_key(|(span, ..)| span.start);
    all
}

#[test]
fn placeholders_in_each_position_have_one_verdict() {
    let mut refused = 0;
    for name in names() {
        let lines = lines(name);
        let body: String = lines.iter().map(|line| format!("- !`{line}`\n")).collect();
        let text = skill("allowed-tools: Bash\n", &body);
        let table = tabled(&text, &lines);
        assert_eq!(
            refusals(&lint(&text, "unsafe-placeholder")),
            table,
            "lint about {name}"
        );
        assert_eq!(rendered(&text), table, "render about {name}");
        refused += table.len();
    }
    assert!(refused > 10_000, "{refused}");
}

/// A program that can run anything must not receive a value as its first word.
#[test]
fn unrestricted_programs_take_no_value_as_first_word() {
    for name in names() {
        if !programs::is_unrestricted(&[Word::plain(name)]) {
            continue;
        }
        let line = format!("{name} \"$0\"");
        let text = skill("allowed-tools: Bash\n", &format!("Now: !`{line}`"));
        assert!(!rendered(&text).is_empty(), "{line}");
    }
}

#[test]
fn network_use_has_one_verdict() {
    let commands: Vec<String> = names()
        .into_iter()
        .map(|name| format!("{name} x"))
        .filter(|command| lex(command).is_ok())
        .collect();
    assert!(commands.len() > 900, "{}", commands.len());
    let mut network = 0;
    for chunk in commands.chunks(COMMANDS_AT_ONCE) {
        let body: String = chunk
            .iter()
            .map(|command| format!("- !`{command}`\n"))
            .collect();
        let summary = trust(&skill("", &body));
        for command in chunk {
            let words = lex(command).unwrap().commands.remove(0).words;
            let expected = programs::uses_network(&words);
            let name = &*words[0].text;
            let is_listed = summary.network.iter().any(|known| **known == *name);
            assert_eq!(is_listed, expected, "{command}");
            network += usize::from(expected);
        }
    }
    assert!(network > 60, "{network}");
}
