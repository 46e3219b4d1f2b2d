//! Findings on real skills that were wrong, and fixes that gave rights.

use prowess_diag::{Applicability, Diagnostic, Severity};
use prowess_lint::{LintProfile, LintRuleSet, LintSubject, check, fix};
use prowess_spec::{FileKind, PackageFile, PackageListing, parse};

fn skill(keys: &str, body: &str) -> String {
    format!(
        "---\nname: x\ndescription: Reads forms. Use when a form is there.\n{keys}---\n\n{body}\n"
    )
}

fn package(folder: &str, files: &[&str]) -> PackageListing {
    let file = |path: &&str| PackageFile {
        path: (*path).into(),
        kind: FileKind::File,
        executable: Some(true),
    };
    PackageListing {
        files: Some(files.iter().map(file).collect()),
        ..PackageListing::named(folder)
    }
}

fn findings(text: &str, package: &PackageListing, profile: LintProfile) -> Vec<Diagnostic> {
    let rules = LintRuleSet::new(profile, None);
    check(&LintSubject::new(&parse(text.as_bytes()), package), &rules)
}

/// Returns the rules with findings in the profile `claude-code`.
fn rules(text: &str, files: &[&str]) -> Vec<&'static str> {
    let found = findings(text, &package("x", files), LintProfile::ClaudeCode);
    found.iter().map(|finding| finding.rule).collect()
}

fn fix_everything(text: &str, folder: &str) -> String {
    let rules = LintRuleSet::new(LintProfile::ClaudeCode, None);
    let package = package(folder, &[]);
    let least = Applicability::Suggested;
    let fixed = fix::fix_all(text.as_bytes(), &package, None, &rules, least);
    fixed.unwrap().text
}

#[test]
fn tools_is_a_misspelt_key_only_if_its_values_are_tools() {
    for (keys, expected) in [
        ("tools: [Read, Glob]\n", "misspelt-key"),
        ("tools: Read, Bash(git log:*), mcp__a__b\n", "misspelt-key"),
        ("tools:\n  - Read\n  - write\n", "misspelt-key"),
        ("tools: [claude, cursor, gemini]\n", "unknown-key"),
        ("tools: [computer, code_execution]\n", "unknown-key"),
        ("tools:\n", "unknown-key"),
        (
            "tools:\n  - name: choose\n    description: d\n",
            "unknown-key",
        ),
        ("args: file format\n", "misspelt-key"),
        ("args: [file, format]\n", "misspelt-key"),
        ("args: \"[--verbose]\"\n", "unknown-key"),
        ("args: \"[text or file path]\"\n", "unknown-key"),
        ("args: file\nargument-hint: file\n", "unknown-key"),
        ("args:\n  - name: target\n", "unknown-key"),
        ("argument: path\n", "misspelt-key"),
        ("argument: PR URL or number\n", "unknown-key"),
        ("description-cn: 读取表单\n", "unknown-key"),
    ] {
        assert_eq!(rules(&skill(keys, "Do it."), &[]), [expected], "{keys}");
    }
}

#[test]
fn tools_of_claude_code_are_known_and_unrelated_ones_get_no_suggestion() {
    for tool in [
        "TeamCreate",
        "CronCreate",
        "CronList",
        "CronDelete",
        "Workflow",
    ] {
        let text = skill(&format!("allowed-tools: {tool}\n"), "Do it.");
        assert_eq!(rules(&text, &[]), Vec::<&str>::new(), "{tool}");
    }
    for tool in ["TeamUpdate", "Ask", "Search", "Run", "FileCreate"] {
        let text = skill(&format!("allowed-tools: {tool}\n"), "Do it.");
        let found = findings(&text, &package("x", &[]), LintProfile::ClaudeCode);
        assert_eq!(found.len(), 1, "{tool}");
        let label = found[0].label.as_deref();
        assert_eq!(label, Some("Claude Code has no such tool"), "{tool}");
        assert_eq!(found[0].severity, Severity::Note, "{tool}");
    }
}

#[test]
fn scripts_of_the_repository_are_not_missing() {
    let own = ["scripts/fill.py"];
    for (body, files, expected) in [
        // The skill has no scripts: it means those of the repository.
        ("Run `./scripts/dev.sh`.", &[][..], false),
        ("## See also\n\n- `scripts/check.py`", &[], false),
        ("Run the bundled `scripts/fill.py`.", &[], true),
        ("Run `python {baseDir}/scripts/fill.py`.", &[], true),
        ("Run `${CLAUDE_SKILL_DIR}/scripts/fill.py`.", &[], true),
        ("Run `python scripts/other.py`.", &own, true),
        ("Run `python scripts/train/run.py`.", &own, false),
        ("## See also\n\n- `scripts/check.py`", &own, false),
        ("```sh\n# scripts/new.sh\necho\n```", &own, false),
        ("```ts\n// scripts/new.ts\n```", &own, false),
    ] {
        let found = rules(&skill("", body), files).contains(&"missing-script");
        assert_eq!(found, expected, "{body}");
    }
}

#[test]
fn text_about_another_agent_uses_no_tool() {
    for (body, expected) in [
        (
            "A `general-purpose` subagent carries the `Skill` tool.",
            false,
        ),
        ("Start an agent with the `Skill` tool.", false),
        ("- \u{274c} `Write` tool", false),
        ("The dedicated `Glob` tools are unavailable.", false),
        ("Use the `Write` tool.", true),
    ] {
        let found = rules(&skill("allowed-tools: Read\n", body), &[]);
        assert_eq!(found.contains(&"tool-not-allowed"), expected, "{body}");
    }
}

#[test]
fn windows_shell_is_described_as_such() {
    let text = skill("allowed-tools: Bash(cmd:*)\n", "Do it.");
    let found = findings(&text, &package("x", &[]), LintProfile::ClaudeCode);
    assert_eq!(
        found[0].message,
        "`Bash(cmd:*)` allows every command on Windows, and none elsewhere"
    );
}

#[test]
fn worthless_folder_name_is_not_taken() {
    for (folder, name) in [
        ("skills", "musescore"),
        ("1", "musescore"),
        ("security", "api-security-catalog"),
        ("skill-adapter", "monitoring-cpu"),
    ] {
        let text = skill("", "Do it.").replace("name: x", &format!("name: {name}"));
        let found = findings(&text, &package(folder, &[]), LintProfile::ClaudeCode);
        assert_eq!(found[0].rule, "name-folder-mismatch");
        let help = format!("rename the folder to `{name}`");
        assert_eq!(
            (found[0].help.as_deref(), &found[0].fix),
            (Some(&*help), &None),
            "{folder}"
        );
        assert_eq!(fix_everything(&text, folder), text, "{folder}");
    }
}

#[test]
fn name_is_never_changed_by_a_safe_fix() {
    let rules = LintRuleSet::new(LintProfile::ClaudeCode, None);
    for (name, folder) in [
        ("ce:compound", "ce-compound"),
        ("Release Notes", "release-notes"),
        ("release--notes", "release-notes"),
        ("release\u{200b}notes", "releasenotes"),
        ("\u{201c}notes\u{201d}", "notes"),
    ] {
        let text = skill("", "Do it.").replace("name: x", &format!("name: {name}"));
        let package = package(folder, &[]);
        let fixed = fix::fix_all(text.as_bytes(), &package, None, &rules, Applicability::Safe);
        assert_eq!(fixed.unwrap().text, text, "{name}");
        let better = fix_everything(&text, folder);
        assert!(better.contains(&format!("name: {folder}\n")), "{better}");
    }
}

#[test]
fn placeholders_in_code_are_not_escaped_in_bulk() {
    let text = skill("", "```sh\nawk '{ print $1 }'\n```");
    assert_eq!(rules(&text, &[]), ["placeholder-in-code"]);
    assert_eq!(fix_everything(&text, "x"), text);
}

#[test]
fn no_fix_gives_rights() {
    for keys in [
        "tools: [bash]\n",
        "tools: [Bash]\n",
        "tools: Read, Bash\n",
        "alowed-tools: Read\n",
        "allowed_tools: Bash(git log:*)\n",
        "allowed-tools: [bash]\n",
        "allowed-tools: bash(git log:*) read\n",
        "allowed-tools: Bash (git log:*)\n",
        "allowed-tools: \"Read\", \"Bash\"\n",
        "allowed-tools:\n  - Bash: true\n",
        "allowed-tools: Read # Bash\n",
        "allowed-tools: Read\nallowed-tools: Bash\n",
        "allowed-tools = Bash\n",
        "hook:\n  Stop:\n    - hooks:\n        - type: command\n          command: ls\n",
        "disable-model-invocation: flase\n",
        "disallowed-tools: Bash\ndisallowed-tools: Read\n",
    ] {
        let text = skill(keys, "Do it.");
        let before = parse(text.as_bytes()).manifest;
        let granted = |list: &Option<prowess_spec::manifest::ToolList<'_>>| -> Vec<String> {
            let tokens = list
                .iter()
                .flat_map(prowess_spec::manifest::ToolList::tokens);
            let valid = tokens.filter(|token| token.pattern.is_ok());
            valid.map(|token| token.text.to_string()).collect()
        };
        let mut fixed = text.clone();
        for _ in 0..3 {
            fixed = fix_everything(&fixed, "x");
        }
        let after = parse(fixed.as_bytes()).manifest;
        let old = granted(&before.allowed_tools);
        for tool in granted(&after.allowed_tools) {
            assert!(old.contains(&tool), "{keys} grants {tool}:\n{fixed}");
        }
        assert!(after.entry("hooks").is_none(), "{fixed}");
        assert!(
            granted(&after.disallowed_tools).len() >= granted(&before.disallowed_tools).len(),
            "{fixed}"
        );
        assert_eq!(
            after.model_invocation_disabled(),
            before.model_invocation_disabled(),
            "{fixed}"
        );
    }
}

#[test]
fn no_hint_proposes_a_shell_without_a_pattern() {
    for (keys, body) in [
        ("tools: [bash]\n", "Do it."),
        ("allowed-tools: [bash]\n", "Do it."),
        ("allowed-tools: Bahs\n", "Do it."),
        ("allowed-tools: Read\n", "Use the `Bash` tool."),
        ("allowed-tools: Read\n", "Now: !`git fetch --all`"),
    ] {
        let text = skill(keys, body);
        let found = findings(&text, &package("x", &[]), LintProfile::ClaudeCode);
        assert!(!found.is_empty(), "{text}");
        for finding in found {
            let said = [finding.label, finding.help];
            for said in said.into_iter().flatten() {
                assert!(!said.contains("`Bash`"), "{said}");
            }
        }
    }
}

#[test]
fn suggestions_that_fixes_reveal_are_applied_in_the_same_run() {
    // The key must be renamed before its value can be corrected.
    let text = skill("disalowed-tools: WebSerach\n", "Do it.");
    let fixed = fix_everything(&text, "x");
    assert!(fixed.contains("disallowed-tools: WebSearch\n"), "{fixed}");
    assert_eq!(fix_everything(&fixed, "x"), fixed);
}

#[test]
fn crew_profile_accepts_names_and_lists_of_skilled_crew() {
    let text = |name: &str| {
        skill(
            "license: MIT\ncompatibility:\n  - openai\n  - anthropic\nallowed-tools: Bash(node:*)\n",
            "Create the task.",
        )
        .replace("name: x", &format!("name: {name}"))
    };
    let found = |name: &str, profile| -> Vec<(&'static str, Severity)> {
        let found = findings(&text(name), &package(name, &[]), profile);
        found
            .into_iter()
            .filter(|finding| finding.rule != "unrestricted-tool")
            .map(|finding| (finding.rule, finding.severity))
            .collect()
    };
    for name in ["create-task", "create_task", "-a--b_", "a1"] {
        assert_eq!(found(name, LintProfile::Crew), [], "{name}");
    }
    assert_eq!(
        found("caf\u{e9}", LintProfile::Crew),
        [("name-characters", Severity::Error)]
    );
    assert_eq!(
        found("Task", LintProfile::Crew),
        [("name-case", Severity::Error)]
    );
    let long = "a".repeat(65);
    assert_eq!(
        found(&long, LintProfile::Crew),
        [("name-length", Severity::Error)]
    );
    for profile in [LintProfile::ClaudeCode, LintProfile::Lenient] {
        assert_eq!(
            found("create_task", profile),
            [
                ("name-characters", Severity::Note),
                ("text-expected", Severity::Note)
            ]
        );
    }
    assert_eq!(
        found("create_task", LintProfile::Spec),
        [
            ("name-characters", Severity::Error),
            ("text-expected", Severity::Error)
        ]
    );
    // The folder must still have the same name.
    let mismatch = findings(
        &text("create_task"),
        &package("create-task", &[]),
        LintProfile::Crew,
    );
    assert_eq!(mismatch[0].rule, "name-folder-mismatch");
}

#[test]
fn versions_that_differ_are_reported() {
    for (keys, expected) in [
        ("version: 3\n", &[][..]),
        ("version: '1.4'\nmetadata:\n  version: '1.4'\n", &[]),
        (
            "version: '1.5'\nmetadata:\n  version: '1.4'\n",
            &["version-mismatch"],
        ),
        ("version:\nmetadata:\n  version: '1.4'\n", &[]),
    ] {
        assert_eq!(rules(&skill(keys, "Do it."), &[]), expected, "{keys}");
    }
}

/// Returns the only finding of a rule in the profile `claude-code`.
fn only(text: &str, package: &PackageListing, rule: &str) -> Diagnostic {
    let mut found = findings(text, package, LintProfile::ClaudeCode);
    found.retain(|finding| finding.rule == rule);
    assert_eq!(found.len(), 1, "{rule}: {found:?}\n{text}");
    found.remove(0)
}

fn help(finding: &Diagnostic) -> &str {
    finding.help.as_deref().unwrap_or_default()
}

#[test]
fn maps_of_clients_below_metadata_are_kept() {
    for key in ["openclaw", "clawdbot", "clawdis", "moltbot", "hermes"] {
        let text = skill(
            &format!("metadata:\n  {key}:\n    emoji: x\n    requires: {{bins: [a]}}\n"),
            "Do it.",
        );
        for profile in [
            LintProfile::Spec,
            LintProfile::ClaudeCode,
            LintProfile::Lenient,
        ] {
            let mut found = findings(&text, &package("x", &[]), profile);
            found.retain(|finding| finding.rule == "metadata-value");
            assert_eq!(found.len(), 1, "{key} {profile:?}");
            assert_eq!(found[0].severity, Severity::Note, "{key} {profile:?}");
            assert!(help(&found[0]).starts_with("keep it if"), "{key}");
            assert!(!help(&found[0]).contains("string"), "{key}");
        }
    }
    for (keys, expected) in [
        (
            "metadata:\n  creator:\n    name: Jane Doe\n",
            "give each value its own key directly under `metadata`: `creator-name: Jane Doe`",
        ),
        (
            "metadata:\n  tags: [a, b]\n",
            "write it as one string: `tags: a, b`",
        ),
        (
            "metadata:\n  openclaw: [a, b]\n",
            "write it as one string: `openclaw: a, b`",
        ),
        (
            "metadata:\n  sources:\n    - url: x\n",
            "give each value its own key directly under `metadata`",
        ),
    ] {
        let found = only(&skill(keys, "Do it."), &package("x", &[]), "metadata-value");
        assert!(help(&found).ends_with(expected), "{keys}: {}", help(&found));
    }
}

#[test]
fn unknown_maps_are_not_moved_below_metadata_as_they_are() {
    for (keys, expected) in [
        (
            "requires:\n  mcp: [rube]\n",
            "remove `requires`, or write each of its values as a string with its own key below \
             `metadata:`: `requires-mcp: rube`",
        ),
        (
            "author:\n  name: Jane\n",
            "remove `author`, or write each of its values as a string with its own key below \
             `metadata:`: `author-name: Jane`",
        ),
        (
            "inputs:\n  - name: a\n",
            "remove `inputs`, or write each of its values as a string with its own key below \
             `metadata:`",
        ),
    ] {
        let found = only(&skill(keys, "Do it."), &package("x", &[]), "unknown-key");
        assert_eq!(help(&found), expected);
    }
    let text = skill("requires:\n  mcp: [rube]\nlevel: high\n", "Do it.");
    let found = findings(&text, &package("x", &[]), LintProfile::ClaudeCode);
    assert_eq!(
        help(&found[1]),
        "remove `level`, or move it below `metadata:`, which accepts any key"
    );
}

#[test]
fn prices_are_no_code_and_high_indexes_are_no_arguments() {
    for (code, message, start) in [
        ("saves $125,000 a year", None, ""),
        ("costs $50", None, ""),
        (
            "from $125 down to $8.20",
            Some("`$8` in code: Claude Code replaces it with an argument if there are 9 or more"),
            "write `USD 8.20`, or write `\\$8`",
        ),
        (
            "Director | $75,000 | $0",
            Some("`$0` in code: Claude Code replaces it with an argument"),
            "write `USD 0`, or write `\\$0`",
        ),
        (
            "awk '{ print $3, $1 }'",
            Some("`$1` in code (and 1 more): Claude Code replaces it with an argument"),
            "move the code to a file of the skill, or write `\\$1`",
        ),
        (
            "echo \"$1/month.txt\" $2.log",
            Some("`$1` in code (and 1 more): Claude Code replaces it with an argument"),
            "",
        ),
    ] {
        let text = skill("", &format!("```text\n{code}\n```"));
        let mut found = findings(&text, &package("x", &[]), LintProfile::ClaudeCode);
        found.retain(|finding| finding.rule == "placeholder-in-code");
        let said = found.first().map(|finding| &*finding.message);
        assert_eq!(said, message, "{code}");
        if let Some(finding) = found.first() {
            assert!(help(finding).starts_with(start), "{}", help(finding));
        }
    }
}

#[test]
fn prefix_of_a_name_is_omitted_if_the_rest_is_the_folder() {
    for (name, folder) in [
        ("gsd:spike", "spike"),
        ("openakita/skills@douyin-tool", "douyin-tool"),
        ("'@acme/Deploy'", "deploy"),
    ] {
        let text = skill("", "Do it.").replace("name: x", &format!("name: {name}"));
        let found = findings(&text, &package(folder, &[]), LintProfile::ClaudeCode);
        let rules: Vec<&str> = found.iter().map(|finding| finding.rule).collect();
        assert!(rules.contains(&"name-characters"), "{rules:?}");
        assert!(!rules.contains(&"name-folder-mismatch"), "{rules:?}");
        let fixed = fix_everything(&text, folder);
        assert!(
            fixed.contains(&format!("name: {folder}\n")),
            "{name}: {fixed}"
        );
    }
    let text = skill("", "Do it.").replace("name: x", "name: gsd:spike");
    let found = only(&text, &package("Spike", &[]), "name-characters");
    assert_eq!(
        help(&found),
        "rename both the skill and its folder to `spike`"
    );
}

#[test]
fn injected_commands_that_only_read_need_no_permission() {
    for (command, expected) in [
        ("git status --short", false),
        ("git log --oneline -5 2>/dev/null || echo none", false),
        ("cat \"$1\" | head -20", false),
        ("find . -name '*.md'", false),
        ("ls ${CLAUDE_SKILL_DIR}/references", false),
        ("find . -name '*.md' -delete", true),
        ("echo x > out.txt", true),
        ("git push", true),
        ("git branch new", true),
        ("echo \"$(gh pr view)\"", true),
        ("npm ls", true),
    ] {
        let found = rules(&skill("", &format!("Now: !`{command}`")), &[]);
        let found = found.contains(&"injection-not-allowed");
        assert_eq!(found, expected, "{command}");
    }
}

#[test]
fn broken_links_are_not_redirected_to_unrelated_files() {
    let files = ["SKILL.md", "docs/README.md", "references/forms.md"];
    for (target, label) in [
        ("other/SKILL.md", "no such file in the skill's folder"),
        ("skills/skill.md", "no such file in the skill's folder"),
        ("SKILLS.md", "no such file in the skill's folder"),
        (
            "examples/python/README.md",
            "no such file in the skill's folder",
        ),
        ("guides/forms.md", "did you mean `references/forms.md`?"),
    ] {
        let text = skill("", &format!("Read [this]({target})."));
        let found = only(&text, &package("x", &files), "broken-link");
        assert_eq!(found.label.as_deref(), Some(label), "{target}");
    }
    let text = skill("", "Read [this](other/SKILL.md).");
    let found = only(&text, &package("x", &files), "broken-link");
    assert_eq!(
        help(&found),
        "mention the other skill by name, or remove the link"
    );
}

#[test]
fn labels_of_open_grants_are_true() {
    for (tool, label) in [
        ("Bash(mysql:*)", "`mysql` can start a shell"),
        ("Bash(psql *)", "`psql` can start a shell"),
        (
            "Bash(python3:*)",
            "`python3` runs any code that it is given",
        ),
        ("Bash(npx:*)", "`npx` runs any command that follows"),
        ("Bash(find:*)", "`find` can run any command"),
    ] {
        let text = skill(&format!("allowed-tools: {tool}\n"), "Do it.");
        let found = only(&text, &package("x", &[]), "unrestricted-tool");
        assert_eq!(found.label.as_deref(), Some(label), "{tool}");
    }
}

#[test]
fn description_that_is_a_comment_is_described_as_such() {
    let text = "---\nname: x\ndescription: # Statistical Analysis\n---\n\nDo it.\n";
    let found = only(text, &package("x", &[]), "description-missing");
    assert_eq!(found.label.as_deref(), Some("YAML reads this as a comment"));
    assert_eq!(
        help(&found),
        "remove the `#`, or put the text in quotation marks"
    );
}

#[test]
fn suggested_description_is_the_first_paragraph() {
    for (body, expected) in [
        (
            "# Job search\n\nSearches **job boards** for\nopen positions.\n\n## Use\n",
            "Searches job boards for open positions.",
        ),
        (
            "# Job search\n\nSearches all the job boards. Use it when:\n\n- a\n",
            "Searches all the job boards.",
        ),
        (
            "# Job search\n\n**Version:** 1.0\n**Output:** a list of positions\n\n## Purpose\n\n\
             Searches all the job boards.\n",
            "Searches all the job boards.",
        ),
    ] {
        let fixed = fix_everything(body, "job-search");
        assert!(
            fixed.contains(&format!("\ndescription: {expected}\n")),
            "{fixed}"
        );
    }
    // Frontmatter below other text is to be moved, not written again.
    let body = "<!-- a note -->\n---\nname: job-search\ndescription: Searches.\n---\n\nDo it.\n";
    assert_eq!(fix_everything(body, "job-search"), body);
    let found = only(body, &package("job-search", &[]), "frontmatter-missing");
    assert_eq!(
        help(&found),
        "move the block that starts on line 2 to the top of the file"
    );
    // A title or a note about the origin does not describe a skill.
    for body in [
        "# Job search\n\n- one\n",
        "# Job search\n\n```sh\nls a b c d\n```\n",
        "# Job search\n\n## Description\n\nConverted from a post by a friend.\n",
    ] {
        assert_eq!(fix_everything(body, "job-search"), body);
        let found = only(body, &package("job-search", &[]), "frontmatter-missing");
        assert!(help(&found).starts_with("start the file with:"));
    }
}

#[test]
fn bad_name_gets_one_finding() {
    let name_rules = |name: &str, folder: &str, profile| -> Vec<&'static str> {
        let text = skill("", "Do it.").replace("name: x", &format!("name: {name}"));
        let found = findings(&text, &package(folder, &[]), profile);
        found.into_iter().map(|finding| finding.rule).collect()
    };
    for (name, folder, expected) in [
        (
            "Flutter Error Handling",
            "error-handling",
            &["name-characters"][..],
        ),
        ("HTTP-Client", "http", &["name-case"]),
        ("error handling", "flutter", &["name-characters"]),
        // Underscores are tolerated; upper-case letters and another folder are not.
        (
            "HTTP_Client",
            "http-client",
            &["name-case", "name-characters"],
        ),
        (
            "error_handling",
            "flutter",
            &["name-characters", "name-folder-mismatch"],
        ),
        ("error-handling", "flutter", &["name-folder-mismatch"]),
    ] {
        let found = name_rules(name, folder, LintProfile::ClaudeCode);
        assert_eq!(found, expected, "{name}");
    }
    // The others are reported if the one is not.
    let text = skill("", "Do it.").replace("name: x", "name: HTTP Client");
    let mut active = LintRuleSet::new(LintProfile::ClaudeCode, None);
    active.set("name-characters", None);
    let parsed = parse(text.as_bytes());
    let found = check(&LintSubject::new(&parsed, &package("http", &[])), &active);
    let found: Vec<&str> = found.iter().map(|finding| finding.rule).collect();
    assert_eq!(found, ["name-case"]);
    // The reference validator reports each fault.
    assert_eq!(
        name_rules("HTTP Client", "http", LintProfile::Spec),
        ["name-case", "name-characters", "name-folder-mismatch"]
    );
    let text = skill("", "Do it.").replace("name: x", "name: HTTP Client");
    let found = only(&text, &package("http", &[]), "name-characters");
    assert_eq!(
        found.label.as_deref(),
        Some("a space and upper-case letters are not allowed")
    );
}

#[test]
fn author_chooses_between_names_with_different_words() {
    for (name, folder, expected) in [
        (
            "managing-backups",
            "backup-manager",
            "change the name to `backup-manager`, or rename the folder to `managing-backups`",
        ),
        (
            "Backup Helper",
            "backup-manager",
            "change the name to `backup-manager`, or rename both the skill and its folder to \
             `backup-helper`",
        ),
        (
            "Android Design System (Compose)",
            "android-design-system",
            "change the name to `android-design-system`, or rename both the skill and its folder \
             to `android-design-system-compose`",
        ),
        (
            "Android Views",
            "skills",
            "rename both the skill and its folder to `android-views`",
        ),
        (
            "obra/powers@finishing-a-branch",
            "powers-branch",
            "change the name to `powers-branch`, or rename both the skill and its folder to \
             `obra-powers-finishing-a-branch`",
        ),
    ] {
        let text = skill("", "Do it.").replace("name: x", &format!("name: {name}"));
        let found = findings(&text, &package(folder, &[]), LintProfile::ClaudeCode);
        assert_eq!((help(&found[0]), &found[0].fix), (expected, &None));
    }
    // The folder's name says more, but the skill may be called by its name.
    let text = skill("", "Do it.").replace("name: x", "name: pdf");
    let found = only(&text, &package("pdf-tools", &[]), "name-folder-mismatch");
    assert_eq!(help(&found), "or rename the folder to `pdf`");
    assert!(found.fix.is_some());
}

#[test]
fn programs_that_run_no_command_are_not_reported() {
    for (tools, expected) in [
        ("Bash(sg *) Bash(ast-grep *)", None),
        ("Bash(python3 --version *)", None),
        ("Bash(sqlite3 --help *)", None),
        (
            "Bash(xargs -I --version *)",
            Some("`Bash(xargs -I --version *)` allows every command"),
        ),
        (
            "Bash(env -V *)",
            Some("`Bash(env -V *)` allows every command"),
        ),
        ("Bash(sg *)", Some("`Bash(sg *)` allows every command")),
        ("Bash(open:*)", Some("`Bash(open:*)` can start any program")),
        (
            "Bash(xdg-open *)",
            Some("`Bash(xdg-open *)` can start any program"),
        ),
        ("Bash(open https://example.com/*)", None),
    ] {
        let text = skill(&format!("allowed-tools: {tools}\n"), "Do it.");
        let mut found = findings(&text, &package("x", &[]), LintProfile::ClaudeCode);
        found.retain(|finding| finding.rule == "unrestricted-tool");
        let said = found.first().map(|finding| &*finding.message);
        assert_eq!(said, expected, "{tools}");
    }
}

#[test]
fn first_argument_is_counted_from_zero() {
    let keys = "argument-hint: path\n";
    for (keys, body, start) in [
        (keys, "Read `$1`.", "arguments are counted from `$0`: "),
        ("", "Read `$1`.", "write it without backticks"),
        (keys, "Read $0 and `$1`.", "write it without backticks"),
        (keys, "Pay `$1,000`.", "write `USD 1,000`"),
        (keys, "Run `awk '{print $1}'`.", "write it outside the code"),
    ] {
        let found = only(
            &skill(keys, body),
            &package("x", &[]),
            "placeholder-in-code",
        );
        assert!(help(&found).starts_with(start), "{body}: {}", help(&found));
    }
}

#[test]
fn hint_for_an_injected_command_omits_redirections() {
    for (command, expected) in [
        (
            "gh pr view --json url 2>/dev/null",
            "allow it: `allowed-tools: Bash(gh pr view --json url)`",
        ),
        (
            "python3 --version >/dev/null 2>&1",
            "allow it: `allowed-tools: Bash(python3 --version)`",
        ),
    ] {
        let text = skill("", &format!("Now: !`{command}`"));
        let found = only(&text, &package("x", &[]), "injection-not-allowed");
        assert_eq!(help(&found), expected);
        let keys = help(&found).replace("allow it: `", "").replace('`', "\n");
        let text = skill(&keys, &format!("Now: !`{command}`"));
        assert!(
            !rules(&text, &[]).contains(&"injection-not-allowed"),
            "{keys}"
        );
    }
}

#[test]
fn tools_of_other_agents_are_named_as_in_claude_code() {
    for (tool, label) in [
        ("read_file", "Claude Code calls it `Read`"),
        ("listDirectory", "Claude Code calls it `Glob`"),
        ("run_shell_command", "Claude Code has no such tool"),
        ("readPaper", "Claude Code has no such tool"),
    ] {
        let text = skill(&format!("allowed-tools: {tool}\n"), "Do it.");
        let found = only(&text, &package("x", &[]), "unknown-tool");
        assert_eq!(found.label.as_deref(), Some(label), "{tool}");
        assert_eq!((found.severity, &found.fix), (Severity::Note, &None));
    }
}

#[test]
fn reminder_after_real_text_is_not_template_text() {
    let reminder = concat!("TO", "DO: add a guide");
    let text = skill("", &format!("# Usage\n\nReads the usage.\n\n{reminder}"));
    assert_eq!(rules(&text, &[]), Vec::<&str>::new());
    let text = skill("", &format!("# Usage\n\n{reminder}"));
    assert_eq!(rules(&text, &[]), ["template-text"]);
}

#[test]
fn invisible_characters_that_serve_a_purpose_are_not_removed() {
    for (body, expected) in [
        (
            "\u{200b}```\nls\n\u{200b}```",
            Some("remove it, and put more"),
        ),
        ("`!\u{200b}`command``", Some("remove it, and put more")),
        (
            "```python\nt.replace('\u{200b}', '')\n```",
            Some("write it as an escape"),
        ),
        ("Do\u{200b}it.", None),
        ("Do\u{200b}it, `\u{200b}`.", None),
    ] {
        let found = only(&skill("", body), &package("x", &[]), "invisible-characters");
        let start = expected.unwrap_or_default();
        assert!(found.help.as_deref().unwrap_or_default().starts_with(start));
        assert_eq!(found.fix.is_none(), expected.is_some(), "{body}");
    }
}

#[test]
fn argument_hint_with_a_colon_becomes_text() {
    let text = skill("argument-hint: [mode: a|b]\n", "Do it.");
    assert!(fix_everything(&text, "x").contains("\nargument-hint: '[mode: a|b]'\n"));
}

#[test]
fn script_of_the_repository_is_not_missing() {
    let body = "The bundled plugin is `scripts/a.py`.\n\nSee [it](../../scripts/a.py).";
    assert_eq!(rules(&skill("", body), &[]), ["link-outside"]);
}

#[test]
fn missing_script_with_a_link_is_reported_once() {
    let text = skill(
        "",
        "The bundled script [scripts/a.py](scripts/a.py) does it.",
    );
    assert_eq!(rules(&text, &[]), ["broken-link"]);
    let text = skill("", "The bundled script `scripts/a.py` does it.");
    assert_eq!(rules(&text, &[]), ["missing-script"]);
}

#[test]
fn path_of_the_project_is_written_in_backticks() {
    for (target, end) in [
        ("references/a.md", "remove the link"),
        (
            "src/main.ts",
            "write the path in backticks if it is in the user's project",
        ),
    ] {
        let text = skill("", &format!("Read [this]({target})."));
        let found = only(&text, &package("x", &[]), "broken-link");
        assert!(help(&found).ends_with(end), "{}", help(&found));
    }
    let text = skill("", "Read [this](docs/Event Bus.md).");
    assert_eq!(rules(&text, &[]), Vec::<&str>::new());
}

#[test]
fn boolean_that_an_installer_needs_is_not_quoted() {
    let text = skill("metadata:\n  internal: true\n", "Do it.");
    let found = only(&text, &package("x", &[]), "metadata-value");
    assert_eq!((found.severity, &found.fix), (Severity::Note, &None));
    assert_eq!(fix_everything(&text, "x"), text);
}

#[test]
fn advice_is_about_what_was_written() {
    for (keys, rule, expected) in [
        (
            "context: webiny-api\n",
            "choice-value",
            "remove it, or move `context` below `metadata:` if it is a key of your own",
        ),
        (
            "hooks:\n  SessionStart: ls\n",
            "invalid-hooks",
            "use `SessionStart:` with a list of `matcher` and `hooks`, each hook with a `type`",
        ),
    ] {
        let found = only(&skill(keys, "Do it."), &package("x", &[]), rule);
        assert_eq!(help(&found), expected);
    }
    for (body, start) in [
        ("- `$0`: the task", "write it without backticks if"),
        ("`ls $0`", "move the code to a file of the skill, or write"),
        (
            "`$2b$12abc`",
            "move the code to a file of the skill, or write",
        ),
        ("`costs $2M`", "write `USD 2M`, or write"),
    ] {
        let found = only(&skill("", body), &package("x", &[]), "placeholder-in-code");
        assert!(help(&found).starts_with(start), "{body}: {}", help(&found));
    }
    for (target, start) in [
        ("../style/SKILL.md", "mention the other skill by name"),
        ("../../docs/style.md", "copy the file into the skill; or"),
        ("../shared", "copy the files into the skill; or"),
    ] {
        let text = skill("", &format!("Read [this]({target})."));
        let found = only(&text, &package("x", &[]), "link-outside");
        assert!(
            help(&found).starts_with(start),
            "{target}: {}",
            help(&found)
        );
    }
}
