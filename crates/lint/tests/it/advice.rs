//! Findings of one file together: every suggested fix can be applied, and advice is given once.

use prowess_diag::{Applicability, Diagnostic};
use prowess_lint::{LintProfile, LintRuleSet, LintSubject, check, fix};
use prowess_spec::{PackageListing, parse};

fn text(keys: &str) -> String {
    format!(
        "---\nname: x\ndescription: Reads forms. Use when a form is there.\n{keys}---\nDo it.\n"
    )
}

fn findings(text: &str, folder: &str, profile: LintProfile) -> Vec<Diagnostic> {
    let (parsed, package) = (parse(text.as_bytes()), PackageListing::named(folder));
    check(
        &LintSubject::new(&parsed, &package),
        &LintRuleSet::new(profile, None),
    )
}

/// Returns the number of suggested and of applied fixes.
fn offered_and_applied(text: &str, folder: &str) -> (usize, usize) {
    let rules = LintRuleSet::new(LintProfile::ClaudeCode, None);
    let package = PackageListing::named(folder);
    let offered = findings(text, folder, LintProfile::ClaudeCode);
    let fixed = fix::fix_all(
        text.as_bytes(),
        &package,
        None,
        &rules,
        Applicability::Suggested,
    )
    .unwrap();
    (
        offered
            .iter()
            .filter(|finding| finding.fix.is_some())
            .count(),
        fixed.applied.len(),
    )
}

#[test]
fn all_suggested_fixes_can_be_applied() {
    for (text, folder, count) in [
        // No fix grants a tool.
        (text("alowed-tools: Read\nallowed_tools: Grep\n"), "x", 0),
        (text("lisence: MIT\nlicence: BSD\n"), "x", 1),
        (
            text("alowed-tools: Read\nallowed_tools: Grep\nallowed-tools: Glob\n"),
            "x",
            0,
        ),
        (
            text("alowed-tools: Read\ndisable_model_invocation: true\n"),
            "x",
            1,
        ),
        (text("").replace("name: x", "nam: x\nnaem: y"), "x", 1),
        (text("").replace("name: x", "name: x_y"), "x_y", 0),
        (text("").replace("name: x", "name: X"), "X", 0),
        (text("").replace("name: x", "name: X_y"), "x_y", 0),
        (
            text("").replace("name: x", "name: Other Name"),
            "Wrong_Name",
            0,
        ),
        (
            text("").replace("name: x", "name: Other Name"),
            "right-name",
            0,
        ),
        (text("").replace("name: x", "name: Name"), "right-name", 1),
        (
            text("").replace("name: x", "name: Right Name"),
            "right-name",
            1,
        ),
        (
            "# Read forms\n\nUse when a form is there.\n".to_owned(),
            "READ_forms",
            0,
        ),
        (
            "# Read forms\n\nUse when a form is there.\n".to_owned(),
            "read-forms",
            1,
        ),
    ] {
        assert_eq!(
            offered_and_applied(&text, folder),
            (count, count),
            "{folder}:\n{text}"
        );
    }
}

#[test]
fn only_the_first_of_two_misspellings_is_renamed() {
    let text = text("lisence: MIT\nlicence: BSD\n");
    let found = findings(&text, "x", LintProfile::ClaudeCode);
    assert!(found[0].fix.is_some(), "{found:?}");
    assert_eq!(
        found[1].label.as_deref(),
        Some("no effect: line 4 also looks like `license`")
    );
    let text = text
        .replace("lisence: MIT", "user_invocable: true")
        .replace("licence: BSD", "allowed_tools: Grep");
    assert!(
        findings(&text, "x", LintProfile::ClaudeCode)[0]
            .fix
            .is_some()
    );
    let strict = findings(&text, "x", LintProfile::Spec);
    assert_eq!((strict[0].rule, &strict[0].fix), ("misspelt-key", &None));
    // The finding about the missing name covers the first, so the second has its own.
    let text = text
        .replace("name: x", "nam: x\nnaem: y")
        .replace("user_invocable: true\n", "");
    let rules: Vec<&str> = findings(&text, "x", LintProfile::ClaudeCode)
        .iter()
        .map(|finding| finding.rule)
        .collect();
    assert_eq!(rules, ["name-missing", "misspelt-key", "misspelt-key"]);
}

#[test]
fn invalid_name_and_folder_are_renamed_together() {
    for (name, folder, better) in [
        ("x_y", "x_y", "x-y"),
        ("Other Name", "Wrong_Name", "other-name"),
    ] {
        let text = text("").replace("name: x", &format!("name: {name}"));
        let help = format!("rename both the skill and its folder to `{better}`");
        for finding in findings(&text, folder, LintProfile::ClaudeCode) {
            assert_eq!(finding.help.as_deref(), Some(&*help), "{finding:?}");
            assert!(finding.fix.is_none(), "{finding:?}");
        }
    }
    // A valid name stays.
    let found = findings(&text(""), "Wrong_Name", LintProfile::ClaudeCode);
    assert_eq!(found[0].help.as_deref(), Some("rename the folder to `x`"));
    assert!(found[0].fix.is_none());
}

#[test]
fn unknown_keys_of_one_kind_get_advice_once() {
    let help = |keys: &str, profile: LintProfile| -> Vec<Option<String>> {
        let found = findings(&text(keys), "x", profile);
        let found = found
            .into_iter()
            .filter(|finding| finding.rule == "unknown-key");
        found.map(|finding| finding.help.map(Into::into)).collect()
    };
    let some = |help: &str| Some(help.to_owned());
    assert_eq!(
        help(
            "author: me\nzebra: a\ntags: a\nyak: b\n",
            LintProfile::ClaudeCode
        ),
        [
            some("add a line `metadata:`, and move `author` and `tags` below it, indented"),
            some("remove `zebra` and `yak`, or move them below `metadata:`, which accepts any key"),
            None,
            None,
        ]
    );
    assert_eq!(
        help("author: me\nmetadata:\n  a: b\n", LintProfile::ClaudeCode),
        [some("move `author` below `metadata:`, indented")]
    );
    // Lines cannot be added below a map in braces.
    assert_eq!(
        help(
            "author: me\nmetadata: {\"a\": \"b\"}\n",
            LintProfile::ClaudeCode
        ),
        [some("move `author` into the braces of `metadata`")]
    );
    assert_eq!(
        help(
            "tags: a\nauthor: me\nmetadata:\n  a: b\n  tags: c\n",
            LintProfile::ClaudeCode
        ),
        [
            some("`metadata` already has a `tags` (line 8); remove this one"),
            some("move `author` below `metadata:`, indented"),
        ]
    );
    assert_eq!(
        help("version: 1.0\n", LintProfile::Spec),
        [some(
            "add a line `metadata:`, and move `version` below it as a string: `version: \"1.0\"`"
        )]
    );
    assert_eq!(help("version: 1.0\n", LintProfile::ClaudeCode), []);
    assert_eq!(
        help(
            "tags: [a, b]\nzebra:\n  - 'x: y'\n",
            LintProfile::ClaudeCode
        ),
        [
            some("add a line `metadata:`, and move `tags` below it as a string: `tags: a, b`"),
            some("remove `zebra`, or move it below `metadata:` as a string: `zebra: 'x: y'`"),
        ]
    );
    assert_eq!(
        help(
            "tags: [a, b]\nauthor: me\nmetadata:\n  a: b\n",
            LintProfile::ClaudeCode
        )[0],
        some(
            "move `tags` and `author` below `metadata:`, indented, and write each value as a string: `tags: a, b`"
        )
    );
    let many: String = (0..20).map(|n| format!("zebra-{n}: 1\n")).collect();
    let helps = help(&many, LintProfile::ClaudeCode);
    assert_eq!(helps.iter().flatten().count(), 1);
    assert!(
        helps[0]
            .as_ref()
            .is_some_and(|help| help.starts_with("remove these 20 keys, or"))
    );
    assert_eq!(
        help("model: inherit\n", LintProfile::Spec),
        [some(
            "remove `model`, or use the profile `claude-code` if the skill is only for \
             Claude Code"
        )]
    );
}

/// Returns the text marked by each finding of a rule, with its label and help.
fn marked<'t>(text: &'t str, rule: &str) -> Vec<(&'t str, String, Option<String>)> {
    let found = findings(text, "x", LintProfile::ClaudeCode).into_iter();
    found
        .filter(|finding| finding.rule == rule)
        .map(|finding| {
            let label = finding.label.unwrap_or_default().into_owned();
            (
                finding.span.unwrap().of(text),
                label,
                finding.help.map(Into::into),
            )
        })
        .collect()
}

fn with_body(keys: &str, body: &str) -> String {
    text(keys).replace("Do it.\n", body)
}

/// Returns the fixes of a rule, each with the fixed text.
fn fixes(text: &str, rule: &str) -> Vec<(String, Applicability, String)> {
    let found = findings(text, "x", LintProfile::ClaudeCode).into_iter();
    found
        .filter(|finding| finding.rule == rule)
        .filter_map(|finding| finding.fix)
        .map(|fix| {
            let fixed = prowess_diag::fix::apply(text, [&fix]).0;
            (fix.title, fix.applicability, fixed)
        })
        .collect()
}

#[test]
fn quoted_entries_are_not_quoted_again() {
    let title = "remove the quotation marks".to_owned();
    for (value, bare) in [
        (r#""Read", "Bash(git log:*)""#, "Read, Bash(git log:*)"),
        (r#""Read" "Write""#, "Read Write"),
        ("'Read', Write", "Read, Write"),
    ] {
        let [broken, fixed] = [value, bare].map(|list| text(&format!("allowed-tools: {list}\n")));
        let offer = (title.clone(), Applicability::Suggested, fixed);
        assert_eq!(fixes(&broken, "yaml-syntax"), [offer], "{value}");
        let found = marked(&broken, "tool-syntax");
        let label = "quotation marks around a single entry; it grants nothing";
        assert_eq!(
            (found[0].1.as_str(), found[0].2.as_deref()),
            (label, Some("remove the quotation marks")),
            "{value}"
        );
    }
    // Quotation marks inside a pattern belong to it; an open mark is closed.
    let whole = fixes(&text("allowed-tools: \"Read, Write\n"), "yaml-syntax");
    assert_eq!(whole[0].0, "close the quotation mark");
}

#[test]
fn value_after_a_tool_is_removed() {
    let list = |item: &str| text(&format!("allowed-tools:\n  - {item}\n"));
    for (item, offer) in [
        ("Read: true", Some(("remove the value", "Read"))),
        ("Read: false", None),
        ("Bash: git log", None),
        ("Bash(git: x)", Some(("quote it", "'Bash(git: x)'"))),
    ] {
        let offer =
            offer.map(|(title, fixed)| (title.to_owned(), Applicability::Suggested, list(fixed)));
        assert_eq!(
            fixes(&list(item), "field-type"),
            Vec::from_iter(offer),
            "{item}"
        );
    }
    assert_eq!(fixes(&list("'Read: true'"), "unknown-tool"), []);
}

#[test]
fn harmful_fix_becomes_advice_with_a_reason() {
    let harmful = text("").replace("name: x", "Name: x y");
    let rules = LintRuleSet::new(LintProfile::ClaudeCode, None);
    let package = PackageListing::named("x y");
    let why = "rename it to `name` (not applied: it would cause a new error, name-characters)";
    let mut found = findings(&harmful, "x y", LintProfile::ClaudeCode);
    assert!(found[0].fix.is_some());
    fix::remove_inapplicable_fixes(&harmful, &package, &rules, &mut found);
    assert_eq!(
        (found[0].help.as_deref(), &found[0].fix),
        (Some(why), &None)
    );
    for least in [Applicability::Safe, Applicability::Suggested] {
        let fixed = fix::fix_all(harmful.as_bytes(), &package, None, &rules, least).unwrap();
        assert_eq!(
            (fixed.text.as_str(), fixed.applied.len()),
            (harmful.as_str(), 0)
        );
        assert_eq!(
            (fixed.remaining[0].help.as_deref(), &fixed.remaining[0].fix),
            (Some(why), &None)
        );
    }
    // Only harmful fixes are removed.
    let both = harmful.replace("description:", "Description:");
    let mut found = findings(&both, "x y", LintProfile::ClaudeCode);
    fix::remove_inapplicable_fixes(&both, &package, &rules, &mut found);
    let offers: Vec<bool> = found.iter().map(|finding| finding.fix.is_some()).collect();
    assert_eq!(offers, [false, true], "{found:?}");
}

#[test]
fn letter_case_is_mentioned_only_if_it_is_the_fault() {
    let text = text("allowed-tools: Wriite bash(ls:*)\n");
    let labels: Vec<String> = marked(&text, "unknown-tool")
        .into_iter()
        .map(|(_, label, _)| label)
        .collect();
    assert_eq!(
        labels,
        [
            "did you mean `Write`?",
            "did you mean `Bash`? Names are case-sensitive"
        ]
    );
}

#[test]
fn advice_names_only_existing_lines() {
    let text = text("user-invocable: nope\ndisable-model-invocation: true\n");
    let found = marked(&text, "unreachable-skill");
    assert_eq!(
        found[0].2.as_deref(),
        Some("remove `user-invocable`, or let the model invoke it")
    );
}

#[test]
fn suggested_pattern_covers_no_more_than_the_command_needs() {
    for (command, advice) in [
        ("tac \"$1\"", Some("tac:*")),
        ("cut -c 3 \"$1\"", Some("cut:*")),
        // Without an argument, the exact command is enough.
        ("cksum -l x.txt", Some("cksum -l x.txt")),
        ("git fetch --all", Some("git fetch --all")),
        ("banner 'no PR'", Some("banner 'no PR'")),
        // A command that must be changed needs no permission.
        ("tac '$1' x.txt", None),
        ("sh -c '$1'", None),
        ("eval ls", None),
    ] {
        let text = with_body("", &format!("Now: !`{command}`\n"));
        let found = marked(&text, "injection-not-allowed");
        let help = advice.map(|pattern| format!("allow it: `allowed-tools: Bash({pattern})`"));
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].0, &found[0].2), (command, &help));
    }
}

#[test]
fn each_command_of_a_block_has_its_own_span() {
    let body = "```!\ngit fetch\ntac \"$1\" | sort\n\n# note: it's fine\ntac <<EOF\n$1; x\nEOF\nmake\n```\n";
    let text = with_body("allowed-tools: Bash(git fetch)\n", body);
    let found = marked(&text, "injection-not-allowed");
    let places: Vec<&str> = found.iter().map(|(place, ..)| *place).collect();
    assert_eq!(places, ["tac \"$1\"", "sort", "tac <<EOF", "make"]);
    assert_eq!(
        found[0].2.as_deref(),
        Some("add `Bash(tac:*)` to `allowed-tools`")
    );
    assert_eq!(
        found[2].2, None,
        "the argument in the here-document must go first"
    );
}

#[test]
fn blocks_with_many_commands_are_bounded() {
    let text = with_body("", &format!("```!\n{}```\n", "make\n".repeat(250)));
    let found = findings(&text, "x", LintProfile::ClaudeCode);
    assert_eq!(found.len(), 101);
    assert!(
        found
            .iter()
            .any(|finding| finding.message.starts_with("150 more findings"))
    );
}

#[test]
fn interpreter_code_gets_specific_advice() {
    for (command, help) in [
        (
            "sh -c '$1'",
            "pass it after the code: `sh -c '… \"\\$1\" …' -- \"$1\"`",
        ),
        (
            "python3 -c 'print($1)'",
            "pass it after the code: `python3 -c '… sys.argv[-1] …' -- \"$1\"`",
        ),
        (
            "eval $1",
            "remove `eval` and write the command out, with the argument in double quotes",
        ),
        (
            "grep '$1' x",
            "use double quotes: `\"$1\"`; or write `\\$1` if another program is to read it",
        ),
    ] {
        let text = with_body("", &format!("Now: !`{command}`\n"));
        let found = marked(&text, "unsafe-placeholder");
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].2.as_deref(), Some(help));
        if let Some((_, code)) = help.split_once("code: `") {
            let text = with_body("", &format!("Now: !`{}`\n", code.trim_end_matches('`')));
            assert_eq!(marked(&text, "unsafe-placeholder"), [], "{code}");
        }
    }
}

#[test]
fn unbalanced_parenthesis_is_marked() {
    const NEVER_CLOSED: &str =
        "this `(` is never closed; everything after it belongs to this entry, which grants nothing";
    for (value, before, place, label) in [
        (
            "Read Bash(git add:* Bash(ls:*)",
            "Read Bash",
            "(",
            NEVER_CLOSED,
        ),
        (
            "Read\n  Bash(git\n  add:* Grep",
            "Read\n  Bash",
            "(",
            NEVER_CLOSED,
        ),
        (
            "|\n  Bash(git add:*\n  Read",
            "|\n  Bash",
            "(",
            NEVER_CLOSED,
        ),
        ("Bash(a)) Read", "Bash(a)", ")", "this `)` was never opened"),
        (
            "Bash(a)(b)",
            "",
            "Bash(a)(b)",
            "text follows the closing parenthesis; it grants nothing",
        ),
    ] {
        let text = text(&format!("allowed-tools: {value}\n"));
        let found = findings(&text, "x", LintProfile::ClaudeCode);
        let found = found
            .iter()
            .find(|finding| finding.rule == "tool-syntax")
            .unwrap();
        let span = found.span.unwrap();
        assert_eq!(
            (span.of(&text), found.label.as_deref()),
            (place, Some(label)),
            "{value}"
        );
        let at = text.find("allowed-tools: ").unwrap() + "allowed-tools: ".len() + before.len();
        assert_eq!(span.start as usize, at, "{value}");
        assert!(!found.message.contains('\n'), "{}", found.message);
    }
}

#[test]
fn duplicate_key_names_the_line_of_the_first() {
    let text = text("license: MIT\nname: x\nlicense: BSD\n");
    let labels: Vec<String> = marked(&text, "duplicate-key")
        .into_iter()
        .map(|(_, label, _)| label)
        .collect();
    assert_eq!(
        labels,
        [
            "`name` is already on line 2, with the same value",
            "`license` is already on line 4, with another value; Prowess uses the first",
        ]
    );
}

/// One-line formats show only the message.
#[test]
fn message_names_the_misspelt_required_key() {
    let text = text("").replace("description:", "descripton:");
    let found = findings(&text, "x", LintProfile::ClaudeCode);
    assert_eq!(
        found
            .iter()
            .map(|finding| (finding.rule, &*finding.message))
            .collect::<Vec<_>>(),
        [(
            "description-missing",
            "missing required field in frontmatter: `description`, perhaps misspelt as `descripton`"
        )]
    );
    // If a part of the block was not read, no key is reported as missing.
    let text = text.replace("---\nDo it.", "hooks: *foo\n---\nDo it.");
    let found = findings(&text, "x", LintProfile::ClaudeCode);
    let rules: Vec<&str> = found.iter().map(|finding| finding.rule).collect();
    assert_eq!(rules, ["misspelt-key", "yaml-invalid"]);
    let help = found[1].help.as_deref().unwrap();
    assert!(help.starts_with("quote the value if it is text"), "{help}");
    let found = findings(&text.replace("*foo", "@foo"), "x", LintProfile::ClaudeCode);
    assert_eq!(
        found[1].message,
        "invalid YAML: an unquoted value begins with `@`"
    );
    assert_eq!(found[1].help.as_deref(), Some("quote the value"));
}

#[test]
fn advice_names_the_key_to_move() {
    let found = findings(&text("author: me\n"), "x", LintProfile::ClaudeCode);
    assert_eq!(
        found[0].help.as_deref(),
        Some("add a line `metadata:`, and move `author` below it, indented")
    );
}

#[test]
fn message_names_the_lines_of_further_hidden_characters() {
    let body = |lines: &str| format!("{}{lines}", text("").replace("forms", "for\u{200b}ms"));
    for (text, message) in [
        (body(""), "the character U+200B is invisible"),
        (
            body("a\u{200b}b\u{2060}\n"),
            "the character U+200B (and 2 more on line 6) is invisible",
        ),
        (
            body("a\n\u{200b}\nb\u{ad}\u{ad}\n"),
            "the character U+200B (and 3 more on lines 7 and 8) is invisible",
        ),
        (
            body(&"\u{200b}\n".repeat(1_000)),
            "the character U+200B (and 1,000 more on lines 6, 7, 8, 9, 10 and 995 others) is",
        ),
    ] {
        let found = findings(&text, "x", LintProfile::ClaudeCode);
        let found = found
            .iter()
            .find(|finding| finding.rule == "invisible-characters")
            .unwrap();
        assert!(found.message.starts_with(message), "{}", found.message);
    }
}
