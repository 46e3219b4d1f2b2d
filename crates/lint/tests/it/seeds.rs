//! The frontmatter cases of the five seed references (their section 3): P for Planck, K and A for
//! `skilled_crew`, then the lists of core-agent and Agentick. Comments mark deliberate differences.

use prowess_lint::{LintProfile, LintRuleSet, LintSubject, check};
use prowess_spec::manifest::SpannedText;
use prowess_spec::tool_pattern::{ToolPattern, parse_list};
use prowess_spec::{Manifest, PackageListing, SkillName, identify, parse};

fn manifest(text: &str) -> Manifest<'_> {
    parse(text.as_bytes()).manifest
}

#[expect(clippy::ref_option, reason = "called with fields")]
fn value<'a>(text: &'a Option<SpannedText<'_>>) -> Option<&'a str> {
    text.as_ref().map(|text| &*text.value)
}

fn rules(text: &str, profile: LintProfile) -> Vec<&'static str> {
    let (parsed, package) = (parse(text.as_bytes()), PackageListing::named("x"));
    check(
        &LintSubject::new(&parsed, &package),
        &LintRuleSet::new(profile, None),
    )
    .into_iter()
    .map(|finding| finding.rule)
    .collect()
}

/// Returns frontmatter with a name, a description and these lines.
fn with(lines: &str) -> String {
    format!("---\nname: x\ndescription: Use when d.\n{lines}\n---\nbody\n")
}

#[test]
fn planck_parsing() {
    // P1, P6: values are verbatim, including quoted colons.
    let parsed = manifest("---\nname: x\ndescription: \"a: b\"\n---\n");
    assert_eq!(
        (value(&parsed.name), value(&parsed.description)),
        (Some("x"), Some("a: b"))
    );
    // P3, P4, P5: missing fields are named.
    assert!(rules("no frontmatter", LintProfile::Lenient).contains(&"frontmatter-missing"));
    assert!(rules("---\ndescription: d\n---\nb", LintProfile::Lenient).contains(&"name-missing"));
    assert!(rules("---\nname: x\n---\nb", LintProfile::Lenient).contains(&"description-missing"));
    // P7: defaults.
    let text = with("");
    let plain = manifest(&text);
    assert_eq!(
        (
            plain.always_present,
            value(&plain.planck_version),
            value(&plain.creator)
        ),
        (None, None, None)
    );
    // P9
    assert_eq!(
        value(&manifest(&with("creator: agent")).creator),
        Some("agent")
    );
    // P13: null is absent, never the word.
    let text = with("creator: null\nplanck_version: ~\nlicense:");
    let null = manifest(&text);
    assert_eq!(
        (
            value(&null.creator),
            value(&null.planck_version),
            value(&null.license)
        ),
        (None, None, None)
    );
}

#[test]
fn planck_p08_only_literal_true_pins() {
    for (written, pinned, understood) in [
        ("true", true, true),
        ("false", false, true),
        ("\"yes\"", false, false),
        ("1", false, false),
        ("yes", false, false),
    ] {
        let text = with(&format!("always_present: {written}"));
        let flag = manifest(&text).always_present.unwrap();
        assert_eq!(
            (flag.value, flag.understood),
            (pinned, understood),
            "{written}"
        );
        assert_eq!(
            rules(&text, LintProfile::Lenient).contains(&"boolean-value"),
            !understood,
            "{written}"
        );
    }
}

#[test]
fn planck_p10_invocation_flag() {
    let disabled = |lines: &str| manifest(&with(lines)).model_invocation_disabled();
    assert!(disabled("disable-model-invocation: true"));
    assert!(!disabled("disable-model-invocation: false"));
    assert!(!disabled(""));
    // Planck reads anything else as false; we use the safer value and report it.
    assert!(disabled("disable-model-invocation: maybe"));
    assert!(
        rules(
            &with("disable-model-invocation: maybe"),
            LintProfile::Lenient
        )
        .contains(&"boolean-value")
    );
}

#[test]
fn planck_p11_p12_p14_recoveries() {
    for (text, rule) in [
        ("---\r\nname: x\r\ndescription: d\r\n---\r\nb", None),
        (
            "\u{feff}---\nname: x\ndescription: d\n---\nb",
            Some("byte-order-mark"),
        ),
        (
            "\n\n---\nname: x\ndescription: d\n---\nb",
            Some("frontmatter-misplaced"),
        ),
        (
            "---\nname: x\ndescription: d: e\n---\nb",
            Some("yaml-syntax"),
        ),
    ] {
        assert_eq!(value(&manifest(text).name), Some("x"), "{text}");
        let found = rules(text, LintProfile::Lenient);
        assert!(
            rule.is_none_or(|rule| found.contains(&rule)),
            "{text}: {found:?}"
        );
    }
}

#[test]
fn crew_skill_file() {
    // K1: all optional fields; a list as compatibility is reported, not fatal.
    let text = with(
        "license: MIT\ncompatibility:\n- a\n- b\nmetadata:\n  a: b\nallowed-tools: Bash(python:*) Read",
    );
    assert!(rules(&text, LintProfile::Lenient).contains(&"text-expected"));
    assert_eq!(value(&manifest(&text).license), Some("MIT"));
    // K3: an absent key means no list, not an empty one.
    assert_eq!(manifest(&with("")).allowed_tools, None);
    assert_eq!(
        manifest(&with("allowed-tools: \"\""))
            .allowed_tools
            .map(|list| list.tokens().len()),
        Some(0)
    );
    // K4: a bare Bash is reported (a load error in skilled_crew).
    assert!(
        rules(&with("allowed-tools: Bash"), LintProfile::Lenient).contains(&"unrestricted-tool")
    );
    // K5: an unknown key is a note by default and an error in strict mode.
    assert!(rules(&with("foo: 1"), LintProfile::Spec).contains(&"unknown-key"));
    // K6, K7
    assert!(SkillName::new("a b").is_err() && SkillName::new(&"a".repeat(65)).is_err());
    // K11: nothing is evaluated, not even frontmatter.
    assert!(manifest("---js\n{ name: 'x' }\n---\n").entries.is_empty());
}

#[test]
fn crew_allowed_tools() {
    let tools = |text: &str| {
        parse_list(text)
            .into_iter()
            .map(|token| text[token.range].to_owned())
            .collect::<Vec<_>>()
    };
    // A1, A2, A3
    assert_eq!(
        tools("Bash(python:*) Read Write"),
        ["Bash(python:*)", "Read", "Write"]
    );
    assert_eq!(tools("Read"), ["Read"]);
    assert!(tools("").is_empty());
    // A4, A5, A6, A9
    let covers = |list: &str, command: &str| {
        parse_list(list).into_iter().any(|token| matches!(token.pattern, Ok(ToolPattern::Command(pattern)) if pattern.covers(command)))
    };
    assert!(
        covers("Bash(git:*) Bash(npm:*)", "npm test")
            && covers("Bash(git:*) Bash(npm:*)", "git log")
    );
    assert!(
        covers("Bash(npm run test:*)", "npm run test")
            && !covers("Bash(npm run test:*)", "npm run testx")
    );
    assert!(!covers("Bash(git:*)", "./git x") && !covers("Bash(git:*)", "/usr/bin/git x"));
    // A7
    assert!(rules(&with("allowed-tools: Raed"), LintProfile::ClaudeCode).contains(&"unknown-tool"));
    // A8
    assert_eq!(
        tools("mcp__a__b Bash(echo (x))"),
        ["mcp__a__b", "Bash(echo (x))"]
    );
}

#[test]
fn core_agent_frontmatter() {
    // Extended frontmatter loads: map-typed compatibility, list-typed references, user-invocable.
    let text = with("compatibility:\n  python: 3\nreferences:\n- a.md\nuser-invocable: false");
    let parsed = manifest(&text);
    assert!(!parsed.is_user_invocable() && parsed.entry("references").is_some());
    // Tools as a string, with commas, as a list; null is none.
    let count = |lines: &str| {
        manifest(&with(lines))
            .allowed_tools
            .map(|list| list.tokens().len())
    };
    assert_eq!(count("allowed-tools: Read Write"), Some(2));
    assert_eq!(count("allowed-tools: Read, Bash(git add *)"), Some(2));
    assert_eq!(count("allowed-tools: [Read, Write]"), Some(2));
    assert_eq!(count("allowed-tools:\n- Read\n- Write"), Some(2));
    assert_eq!(count("allowed-tools: null"), None);
    // Unbalanced parentheses are reported at their position.
    assert!(rules(&with("allowed-tools: Bash(git"), LintProfile::Lenient).contains(&"tool-syntax"));
    // Decorated separators are not separators.
    assert!(manifest("---yaml\nname: x\n---\n").entries.is_empty());
    // A dash inside a description does not truncate it.
    assert_eq!(
        value(&manifest("---\nname: x\ndescription: plan --- then act\n---\n").description),
        Some("plan --- then act")
    );
}

#[test]
fn agentick_frontmatter() {
    // Flow and block lists, quoted commas, comments and hashes in quotes.
    let text =
        with("a: [x, \"y, z\"]\nb:\n- x\n- y\nc: 1 # note\nd: \"# text\"\ne:\n  f:\n    g: 1");
    let parsed = manifest(&text);
    let entry = |key: &str| parsed.entry(key).map(|entry| &entry.value);
    assert_eq!(
        entry("a").and_then(|node| node.items()?.get(1)?.text()),
        Some("y, z")
    );
    assert_eq!(
        entry("b").and_then(|node| node.items()).map(<[_]>::len),
        Some(2)
    );
    assert_eq!(
        (
            entry("c").and_then(|n| n.text()),
            entry("d").and_then(|n| n.text())
        ),
        (Some("1"), Some("# text"))
    );
    assert_eq!(
        entry("e").and_then(|node| node.get("f")?.get("g")?.text()),
        Some("1")
    );
    // Literal and folded scalars, exactly.
    let block = manifest("---\na: |\n  one\n  two\nb: >\n  one\n  two\nc: |-\n  one\n---\n");
    let text = |key: &str| block.entry(key).and_then(|entry| entry.value.text());
    assert_eq!(
        (text("a"), text("b"), text("c")),
        (Some("one\ntwo\n"), Some("one two\n"), Some("one"))
    );
    // `yes` and `no` are text in text fields.
    assert_eq!(
        value(&manifest("---\nname: yes\ndescription: no\n---\n").name),
        Some("yes")
    );
    // Unclosed frontmatter is none.
    assert!(manifest("---\nname: x\n").entries.is_empty());
    // Arguments as a string and as a list.
    for lines in [
        "arguments: issue branch",
        "arguments: [issue, branch]",
        "arguments:\n- issue\n- branch",
    ] {
        let names: Vec<String> = manifest(&with(lines))
            .arguments
            .iter()
            .map(|name| name.value.to_string())
            .collect();
        assert_eq!(names, ["issue", "branch"], "{lines}");
    }
    assert_eq!(manifest(&with("maxTicks: 5")).max_ticks, Some(5));
    // Names that defineSkill accepts and rejects.
    for name in ["a", "skill-1", "1skill", "pdf-processing"] {
        assert!(SkillName::new(name).is_ok(), "{name}");
    }
    for name in ["", "a b", "Ab", "a_b", "-a", "a--b"] {
        assert!(SkillName::new(name).is_err(), "{name}");
    }
    // A flat file: no folder, description from the body.
    let parsed = parse(b"# Deploy the site\n\nsteps");
    let identity = identify(&parsed.manifest, None, parsed.body_text());
    assert_eq!(identity.description, "Deploy the site");
}

#[test]
fn squadron_escaping_paths_are_rejected() {
    // `load()`: relative paths are accepted, absolute and escaping ones rejected.
    use prowess_spec::ResourcePath;
    assert!(ResourcePath::new("prompts/a.md").is_ok());
    assert!(ResourcePath::new("/etc/passwd").is_err() && ResourcePath::new("../../x").is_err());
}
