//! Inputs that once caused a panic, lost a key, or took quadratic time.

use prowess_lint::{LintProfile, LintRuleSet, LintSubject, check, fix};
use prowess_spec::{PackageListing, parse};

fn fixed(text: &str, folder: &str) -> String {
    let rules = LintRuleSet::new(LintProfile::ClaudeCode, None);
    fix::fix_all(
        text.as_bytes(),
        &PackageListing::named(folder),
        None,
        &rules,
        prowess_diag::Applicability::Safe,
    )
    .unwrap()
    .text
}

/// Returns the keys and values read from a text.
fn read(text: &str) -> Vec<(String, Option<String>)> {
    let manifest = parse(text.as_bytes()).manifest;
    manifest
        .entries
        .iter()
        .map(|entry| (entry.key.to_string(), entry.value.text().map(str::to_owned)))
        .collect()
}

#[test]
fn duplicates_in_repaired_yaml_have_correct_spans() {
    for name in ["éééééééé", "abcdefgh"] {
        let text = format!("---\nname: {name}\ndescription: y\nmetadata:\n\ta: 1\n\ta: 1\n---\n");
        let keys: Vec<String> = read(&fixed(&text, "x"))
            .into_iter()
            .map(|(key, _)| key)
            .collect();
        assert_eq!(keys, ["name", "description", "metadata"], "{text}");
    }
}

#[test]
fn safe_fix_never_loses_another_key() {
    for text in [
        "---\n{name, description: Use when foo}\n---\nb\n",
        "---\n? name\ndescription: Use when foo\n---\nb\n",
        "---\n  description: Use when foo\n---\nb\n",
        "---\n{description: Use when foo}\n---\nb\n",
        "---\nname: |\ndescription: Use when foo\n---\nb\n",
        "---\nname: x\ndescription: Use when foo\nmetadata: {\n  v: x,\n  v: x, author: me\n}\n---\nb\n",
    ] {
        let before = parse(text.as_bytes()).manifest;
        let after_text = fixed(text, "flow");
        let after = parse(after_text.as_bytes()).manifest;
        for entry in before.entries.iter().filter(|entry| &*entry.key != "name") {
            let same = after
                .entry(&entry.key)
                .is_some_and(|other| entry.value.same(&other.value));
            assert!(same, "{} of {text:?} is lost in {after_text:?}", entry.key);
        }
    }
}

#[test]
fn folder_named_null_is_a_valid_name() {
    let text = fixed("---\ndescription: Use when foo\n---\nb\n", "null");
    assert_eq!(read(&text)[0], ("name".into(), Some("null".into())));
}

#[test]
fn contradictory_permission_keys_resolve_to_the_stricter() {
    let text = "---\nname: x\ndescription: d\ndisable-model-invocation:\ndisable-model-invocation: true\n---\n";
    assert!(parse(text.as_bytes()).manifest.model_invocation_disabled());
}

/// Escapes whose lengths add up to that of their text: offsets in it are not offsets in the file.
#[test]
fn escaped_text_of_equal_length_has_no_offsets() {
    for value in [r#""\Lx\n @é""#, r#""\_@é x""#, r#""\Pé\t@""#] {
        let text = format!("---\nname: x\ndescription: d\nallowed-tools: {value}\n---\nb\n");
        prowess_test::oracle::parse_holds(text.as_bytes());
    }
}

/// 100 kB of each. A search that restarts at every hit would not finish in reasonable time.
#[test]
fn time_is_linear_in_size() {
    const SIZE: usize = 100_000;
    let many = |piece: &str| piece.repeat(SIZE / piece.len());
    let names: String = (0..3000).map(|n| format!("n{n} ")).collect();
    for (what, front, body) in [
        ("brackets", "", many("](")),
        (
            "definitions",
            "",
            format!("{}{}", " ".repeat(SIZE / 2), many("]:")),
        ),
        (
            "quotes and code",
            "",
            format!("{}{}", ">".repeat(SIZE / 2), many("`a`b")),
        ),
        (
            "unclosed block",
            "",
            format!("```\n{}{}", ">".repeat(SIZE / 2), many("` ")),
        ),
        ("scripts", "", many("scripts/")),
        (
            "script paths",
            "",
            (0..8000).map(|n| format!("scripts/a{n}.py ")).collect(),
        ),
        (
            "links",
            "",
            (0..8000).map(|n| format!("[a](b{n}.md) ")).collect(),
        ),
        (
            "tools",
            "allowed-tools: Bash(git:*)\n",
            format!("not {}", many("`Read` tool ")),
        ),
        ("commands", "", many("!`echo $1` ")),
        (
            "one command",
            "",
            format!("```!\necho {}\n```\n", many("a $1 ")),
        ),
        ("here-documents", "", format!("!`{}`", many("<<a"))),
        ("dollars", "", many("$")),
        ("names", &format!("arguments: {names}\n"), many("$n ")),
        ("indexes", "", many("$ARGUMENTS[")),
        ("variables", "", many("${")),
        ("carriage returns", "", many("\r")),
        ("invisible", "", many("\u{200b}")),
        ("fences", "", many("~~~`")),
    ] {
        let text = format!("---\nname: x\ndescription: Use when d.\n{front}---\n{body}");
        let package = PackageListing {
            files: Some(Vec::new()),
            ..PackageListing::named("x")
        };
        let parsed = parse(text.as_bytes());
        let found = check(
            &LintSubject::new(&parsed, &package),
            &LintRuleSet::new(LintProfile::ClaudeCode, None),
        );
        assert!(found.len() < 2000, "{what}: {} findings", found.len());
    }
}
