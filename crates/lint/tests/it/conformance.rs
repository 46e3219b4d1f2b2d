//! Conformance cases 1 to 60 of the Agent Skills reference that concern a single text. Cases about
//! folders and paths (8, 11 to 14, 35 to 37, 58) are in the registry's tests.
//!
//! Strict cases list the errors of the `spec` profile; lenient cases list what the loader reads and
//! which recoveries it reports.

use prowess_diag::Severity;
use prowess_lint::{LintProfile, LintRuleSet, LintSubject, LintTarget, check};
use prowess_spec::{PackageListing, identify, parse};

fn findings(
    bytes: &[u8],
    folder: &str,
    rules: &LintRuleSet,
) -> Vec<(&'static str, Severity, String)> {
    let (parsed, package) = (parse(bytes), PackageListing::named(folder));
    let found = check(&LintSubject::new(&parsed, &package), rules);
    found
        .into_iter()
        .map(|finding| (finding.rule, finding.severity, finding.message.into_owned()))
        .collect()
}

/// Returns the errors of a profile, by rule.
fn errors(bytes: &[u8], folder: &str, profile: LintProfile) -> Vec<&'static str> {
    let found = findings(bytes, folder, &LintRuleSet::new(profile, None));
    found
        .into_iter()
        .filter(|(_, severity, _)| *severity == Severity::Error)
        .map(|(rule, ..)| rule)
        .collect()
}

/// Case, folder, text, and the errors of the `spec` profile.
type Strict<'a> = (u32, &'a str, &'a str, &'a [&'a str]);

#[test]
fn strict_cases() {
    let long = |n: usize| "a".repeat(n);
    let described =
        |n: usize, c: &str| format!("---\nname: x\ndescription: {}\n---\nb\n", c.repeat(n));
    let compatible = |n: usize| {
        format!(
            "---\nname: x\ndescription: d\ncompatibility: {}\n---\nb\n",
            long(n)
        )
    };
    let named = |name: &str| format!("---\nname: {name}\ndescription: d\n---\nb\n");
    let cases: &[Strict<'_>] = &[
        (
            1,
            "my-skill",
            "---\nname: my-skill\ndescription: A test skill\n---\n# My Skill\n",
            &[],
        ),
        (2, "x", "# No frontmatter here", &["frontmatter-missing"]),
        (
            3,
            "x",
            "---\nname: x\ndescription: d\n",
            &["frontmatter-unclosed"],
        ),
        (
            4,
            "x",
            "---\nname: [invalid\ndescription: d\n---\n",
            &["name-characters", "name-folder-mismatch", "yaml-syntax"],
        ),
        (5, "x", "---\n- a\n- b\n---\n", &["frontmatter-not-a-map"]),
        (
            6,
            "x",
            "---\nname: x\ndescription: d\nlicense: MIT\n---\n",
            &[],
        ),
        (
            7,
            "x",
            "---\nname: x\ndescription: d\nmetadata:\n  author: Test Author\n  version: 1.0\n---\n",
            &[],
        ),
        (9, "x", "---\ndescription: d\n---\n", &["name-missing"]),
        (10, "x", "---\nname: x\n---\n", &["description-missing"]),
        (
            15,
            "x",
            "---\nname: x\ndescription: d\nallowed-tools: Bash(jq:*) Bash(git:*)\n---\n",
            &[],
        ),
        (
            16,
            "x",
            "---\r\nname: x\r\ndescription: d\r\n---\r\nbody\r\n",
            &[],
        ),
        (
            17,
            "x",
            "\u{feff}---\nname: x\ndescription: d\n---\n",
            &["byte-order-mark"],
        ),
        (
            18,
            "x",
            "\n---\nname: x\ndescription: d\n---\n",
            &["frontmatter-misplaced"],
        ),
        (
            20,
            "x",
            "---\nname: x\ndescription: d\n---\na\n---\nb\n",
            &[],
        ),
        (
            21,
            "x",
            "---\n---\nx",
            &[
                "description-missing",
                "frontmatter-not-a-map",
                "name-missing",
            ],
        ),
        (22, "x", "---\njust text\n---\n", &["frontmatter-not-a-map"]),
        (
            23,
            "x",
            "---\nname: x\nname: y\ndescription: d\n---\n",
            &["duplicate-key"],
        ),
        (
            24,
            "x",
            "---\nname: x\ndescription: Use when: x\n---\n",
            &["yaml-syntax"],
        ),
        (25, "3000", "---\nname: 3000\ndescription: d\n---\n", &[]),
        (25, "true", "---\nname: true\ndescription: d\n---\n", &[]),
        (
            26,
            "x",
            "---\nname: x\ndescription:\n---\n",
            &["description-missing"],
        ),
        (
            26,
            "x",
            "---\nname: x\ndescription: \"   \"\n---\n",
            &["description-missing"],
        ),
        (
            27,
            "x",
            "---\nname: x\ndescription: >\n  a\n  b\n---\n",
            &[],
        ),
        (
            30,
            "x",
            "---\nname: &a x\ndescription: *a\n---\n",
            &["yaml-feature", "yaml-feature"],
        ),
        (
            30,
            "x",
            "---\nname: x\ndescription: d\n<<: {license: MIT}\n---\n",
            &["yaml-feature"],
        ),
        (
            30,
            "x",
            "---\nname: !!str x\ndescription: d\n---\n",
            &["yaml-feature"],
        ),
        (
            31,
            "x",
            "---\nname: x\ndescription: d\nmetadata: foo\n---\n",
            &["metadata-not-a-map"],
        ),
        (34, "x", "---\nname: x\ndescription: d\n---\nbody\n", &[]),
        (38, "MySkill", &named("MySkill"), &["name-case"]),
        (39, &long(70), &named(&long(70)), &["name-length"]),
        (39, &long(64), &named(&long(64)), &[]),
        (39, &long(65), &named(&long(65)), &["name-length"]),
        (40, "-my-skill", &named("-my-skill"), &["name-hyphens"]),
        (40, "a-", &named("a-"), &["name-hyphens"]),
        (41, "my--skill", &named("my--skill"), &["name-hyphens"]),
        (42, "my_skill", &named("my_skill"), &["name-characters"]),
        (
            43,
            "wrong-name",
            &named("correct-name"),
            &["name-folder-mismatch"],
        ),
        (
            44,
            "x",
            "---\nname: x\ndescription: d\nunknown_field: 1\n---\n",
            &["unknown-key"],
        ),
        (
            45,
            "x",
            "---\nname: x\ndescription: d\nlicense: MIT\nmetadata:\n  a: b\n---\n",
            &[],
        ),
        (
            46,
            "x",
            "---\nname: x\ndescription: d\nallowed-tools: Read\n---\n",
            &[],
        ),
        (47, "技能", &named("技能"), &[]),
        (48, "мой-навык", &named("мой-навык"), &[]),
        (49, "навык", &named("навык"), &[]),
        (50, "НАВЫК", &named("НАВЫК"), &["name-case"]),
        (51, "x", &described(1100, "x"), &["description-length"]),
        (51, "x", &described(1024, "🙂"), &[]),
        (51, "x", &described(1025, "🙂"), &["description-length"]),
        (52, "x", &compatible(10), &[]),
        (53, "x", &compatible(550), &["compatibility-length"]),
        (54, "café", &named("cafe\u{301}"), &[]),
        (55, "हिन्दी", &named("हिन्दी"), &["name-characters"]),
        (
            56,
            "x",
            "---\nfoo: 1\nbar: 2\n---\n",
            &[
                "description-missing",
                "name-missing",
                "unknown-key",
                "unknown-key",
            ],
        ),
        (
            57,
            "x",
            "---\nName: x\nDescription: d\n---\n",
            &[
                "description-missing",
                "misspelt-key",
                "misspelt-key",
                "name-missing",
            ],
        ),
    ];
    for (case, folder, text, expected) in cases {
        let mut found = errors(text.as_bytes(), folder, LintProfile::Spec);
        found.sort_unstable();
        assert_eq!(found, *expected, "case {case}: {text:.60}");
    }
}

/// Case, text, then name, description, and the recoveries that must be reported.
type Lenient<'a> = (u32, &'a str, &'a str, &'a str, &'a [&'a str]);

#[test]
fn lenient_cases() {
    let cases: &[Lenient<'_>] = &[
        (
            16,
            "---\r\nname: x\r\ndescription: d\r\n---\r\nbody\r\n",
            "x",
            "d",
            &[],
        ),
        (
            17,
            "\u{feff}---\nname: x\ndescription: d\n---\n",
            "x",
            "d",
            &["byte-order-mark"],
        ),
        // The reference's loader keeps only the body; ours also reads the fields.
        (
            18,
            "\n---\nname: x\ndescription: d\n---\n",
            "x",
            "d",
            &["frontmatter-misplaced"],
        ),
        (
            19,
            "---\nname: x\ndescription: foo --- bar\n---\n",
            "x",
            "foo --- bar",
            &[],
        ),
        (
            20,
            "---\nname: x\ndescription: d\n---\na\n---\nb\n",
            "x",
            "d",
            &[],
        ),
        (
            21,
            "---\n---\nfirst line",
            "folder",
            "first line",
            &["description-missing", "frontmatter-not-a-map"],
        ),
        (
            23,
            "---\nname: x\nname: y\ndescription: d\n---\n",
            "x",
            "d",
            &["duplicate-key"],
        ),
        (
            24,
            "---\nname: x\ndescription: Use when: x\n---\n",
            "x",
            "Use when: x",
            &["yaml-syntax"],
        ),
        (
            25,
            "---\nname: 3000\ndescription: true\n---\n",
            "3000",
            "true",
            &[],
        ),
        (
            27,
            "---\nname: x\ndescription: |\n  a\n  b\n---\n",
            "x",
            "a\nb",
            &[],
        ),
        (
            28,
            "---\nname: x\ndescription: d\nargument-hint: [file] [fmt]\n---\n",
            "x",
            "d",
            &["yaml-syntax"],
        ),
        (
            29,
            "---\n}{ : [ :\n  - ][\n---\nbody line\n",
            "folder",
            "body line",
            &["yaml-invalid"],
        ),
        (
            30,
            "---\nname: x\ndescription: d\nallowed-tools: &a Bash\nlicense: *a\n---\n",
            "x",
            "d",
            &["yaml-feature"],
        ),
        (
            31,
            "---\nname: x\ndescription: d\nmetadata: foo\n---\n",
            "x",
            "d",
            &["metadata-not-a-map"],
        ),
        (
            43,
            "---\nname: correct-name\ndescription: d\n---\n",
            "correct-name",
            "d",
            &["name-folder-mismatch"],
        ),
        (
            44,
            "---\nname: x\ndescription: d\nunknown_field: 1\n---\n",
            "x",
            "d",
            &["unknown-key"],
        ),
    ];
    for (case, text, name, description, reported) in cases {
        let parsed = parse(text.as_bytes());
        let identity = identify(&parsed.manifest, Some("folder"), parsed.body_text());
        assert_eq!(
            (identity.name.as_str(), identity.description.as_str()),
            (*name, *description),
            "case {case}"
        );
        let found = findings(
            text.as_bytes(),
            "folder",
            &LintRuleSet::new(LintProfile::Lenient, None),
        );
        for rule in *reported {
            assert!(
                found.iter().any(|(found, ..)| found == rule),
                "case {case}: {rule} is not in {found:?}"
            );
        }
    }
}

#[test]
fn case_06_07_15_values_are_read() {
    let text = "---\nname: x\ndescription: d\nlicense: MIT\nmetadata:\n  version: 1.0\nallowed-tools: Bash(jq:*) Bash(git:*)\n---\n";
    let manifest = parse(text.as_bytes()).manifest;
    assert_eq!(
        manifest.license.as_ref().map(|text| &*text.value),
        Some("MIT")
    );
    assert_eq!(
        manifest.version.as_ref().map(|text| &*text.value),
        Some("1.0")
    );
    let tools: Vec<&str> = manifest
        .allowed_tools
        .iter()
        .flat_map(prowess_spec::manifest::ToolList::tokens)
        .map(|token| &*token.text)
        .collect();
    assert_eq!(tools, ["Bash(jq:*)", "Bash(git:*)"]);
    assert_eq!(
        manifest
            .entry("allowed-tools")
            .and_then(|entry| entry.value.text()),
        Some("Bash(jq:*) Bash(git:*)")
    );
}

#[test]
fn case_28_hint_keeps_its_brackets() {
    let hint = |text: &str| {
        parse(text.as_bytes())
            .manifest
            .argument_hint
            .map(|text| text.value.to_string())
    };
    assert_eq!(
        hint("---\nargument-hint: [file] [fmt]\n---\n").as_deref(),
        Some("[file] [fmt]")
    );
    assert_eq!(
        hint("---\nargument-hint: [topic]\n---\n").as_deref(),
        Some("[topic]")
    );
}

#[test]
fn case_30_rejected_feature_grants_nothing() {
    for text in [
        "---\nname: x\ndescription: d\nbase: &b {allowed-tools: Bash}\n<<: *b\n---\n",
        "---\nname: x\ndescription: d\nallowed-tools: !!str Bash\n---\n",
        "---\nname: x\ndescription: d\na: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\nallowed-tools: Bash\n---\n",
    ] {
        let manifest = parse(text.as_bytes()).manifest;
        assert_eq!(
            (manifest.allowed_tools, manifest.incomplete),
            (None, true),
            "{text}"
        );
    }
}

#[test]
fn case_30_unread_restriction_still_applies() {
    let text = "---\nname: x\ndescription: d\ndisable-model-invocation: true\nuser-invocable: false\nx: &a 1\n---\n";
    let manifest = parse(text.as_bytes()).manifest;
    assert!(manifest.model_invocation_disabled() && !manifest.is_user_invocable());
}

#[test]
fn case_32_any_bytes_give_a_diagnostic() {
    for (bytes, rule) in [
        (&b"---\nname: x\ndescription: \xff\n---\n"[..], "not-utf8"),
        (&b"---\nname: x\ndescription: a\0b\n---\n"[..], "nul-byte"),
        (&b"\xff\xfe-\0-\0-\0"[..], "not-utf8"),
    ] {
        assert!(
            errors(bytes, "x", LintProfile::Lenient).contains(&rule),
            "{rule}"
        );
    }
}

#[test]
fn case_33_large_input_is_bounded() {
    let keys: String = (0..1_000_000).map(|n| format!("k{n}: v\n")).collect();
    let found = errors(
        format!("---\n{keys}---\nbody\n").as_bytes(),
        "x",
        LintProfile::Lenient,
    );
    assert_eq!(found, ["frontmatter-too-large"]);
}

#[test]
fn case_56_unexpected_keys_come_before_missing_ones() {
    let found = findings(
        b"---\nfoo: 1\nbar: 2\n---\n",
        "x",
        &LintRuleSet::new(LintProfile::Spec, None),
    );
    let messages: Vec<&str> = found
        .iter()
        .filter(|(_, severity, _)| *severity == Severity::Error)
        .map(|(.., message)| message.as_str())
        .collect();
    // Sorted by position: missing keys are reported at the opening line.
    assert_eq!(
        messages,
        [
            "missing required field in frontmatter: `description`",
            "missing required field in frontmatter: `name`",
            "unknown key in the frontmatter: `foo`",
            "unknown key in the frontmatter: `bar`",
        ]
    );
}

#[test]
fn case_59_claude_code_keys_are_known() {
    let text = "---\nname: x\ndescription: Use when d.\nargument-hint: a\npaths: src/**\nargument_hint: b\n---\nbody\n";
    let found = findings(
        text.as_bytes(),
        "x",
        &LintRuleSet::new(LintProfile::ClaudeCode, None),
    );
    let rules: Vec<(&str, Severity)> = found
        .iter()
        .map(|(rule, severity, _)| (*rule, *severity))
        .collect();
    assert_eq!(rules, [("misspelt-key", Severity::Warning)]);
    assert_eq!(
        parse(text.as_bytes())
            .manifest
            .argument_hint
            .map(|text| text.value.to_string())
            .as_deref(),
        Some("a")
    );
}

#[test]
fn case_60_claude_ai_rejects_more() {
    let rules = LintRuleSet::new(LintProfile::Spec, Some(LintTarget::ClaudeAi));
    let text = "---\nname: claude-x\ndescription: a <b> c\nargument-hint: a\n---\nbody\n";
    let found = findings(text.as_bytes(), "claude-x", &rules);
    let errors: Vec<&str> = found
        .iter()
        .filter(|(_, severity, _)| *severity == Severity::Error)
        .map(|(rule, ..)| *rule)
        .collect();
    assert_eq!(
        errors,
        ["claude-ai-name", "claude-ai-description", "claude-ai-keys"]
    );
    let message = found
        .iter()
        .find(|(rule, ..)| *rule == "claude-ai-keys")
        .map(|(.., message)| message.as_str());
    assert_eq!(
        message,
        Some(
            "Unexpected key(s) in SKILL.md frontmatter: argument-hint. Allowed properties are: allowed-tools, compatibility, description, license, metadata, name"
        )
    );
}
