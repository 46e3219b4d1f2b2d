use super::*;

fn words(line: &str) -> Vec<Vec<String>> {
    lex(line)
        .unwrap_or_else(|refusal| panic!("{line:?}: {}", refusal.why))
        .commands
        .into_iter()
        .map(|command| {
            command
                .words
                .into_iter()
                .map(|word| word.text.into())
                .collect()
        })
        .collect()
}

#[test]
fn accepted() {
    let cases: &[(&str, &[&[&str]])] = &[
        ("git status", &[&["git", "status"]]),
        (
            "git commit -m \"a; b && c\"",
            &[&["git", "commit", "-m", "a; b && c"]],
        ),
        (
            "git commit -m 'it is $5'",
            &[&["git", "commit", "-m", "it is $5"]],
        ),
        ("a\\ b c", &[&["a b", "c"]]),
        ("gi\\\nt log", &[&["git", "log"]]),
        (
            "git diff HEAD~1 stash@{0}",
            &[&["git", "diff", "HEAD~1", "stash@{0}"]],
        ),
        (
            "a && b || c | d; e\nf",
            &[&["a"], &["b"], &["c"], &["d"], &["e"], &["f"]],
        ),
        ("a &&\n b", &[&["a"], &["b"]]),
        ("a # a comment", &[&["a"]]),
        ("a b#c", &[&["a", "b#c"]]),
        ("a '' \"\"", &[&["a", "", ""]]),
        ("a \"x\\\\y\\z\"", &[&["a", "x\\y\\z"]]),
        ("a 2>&1 >/dev/null", &[&["a"]]),
        (
            "find . -exec a {} +",
            &[&["find", ".", "-exec", "a", "{}", "+"]],
        ),
        ("[ -f x ] && a", &[&["[", "-f", "x", "]"], &["a"]]),
    ];
    for (line, expected) in cases {
        assert_eq!(words(line), *expected, "{line:?}");
    }
}

#[test]
fn patterns_are_marked() {
    let script = lex("git add src/*.rs 'x*'").unwrap();
    let globs: Vec<bool> = script.commands[0].words.iter().map(Word::is_glob).collect();
    assert_eq!(globs, [false, false, true, false]);
}

#[test]
fn redirections_are_kept() {
    let script = lex("a >x 2>>'y z' < in &>both 2>&1").unwrap();
    assert_eq!(
        script.commands[0].redirects,
        [
            Redirect::Write {
                from: Some(1),
                append: false,
                target: "x".into()
            },
            Redirect::Write {
                from: Some(2),
                append: true,
                target: "y z".into()
            },
            Redirect::Read("in".into()),
            Redirect::Write {
                from: None,
                append: false,
                target: "both".into()
            },
            Redirect::Copy { from: 2, to: 1 },
        ]
    );
}

#[test]
fn refused() {
    let cases = [
        "",
        " ",
        "\n",
        "# only",
        ";",
        "a;;b",
        "; a",
        "a &",
        "a & b",
        "a |& b",
        "a &&",
        "a |",
        "a || ; b",
        "$x",
        "a $x",
        "a \"$x\"",
        "a `b`",
        "a \"`b`\"",
        "a $(b)",
        "a <(b)",
        "(a)",
        "{ a; }",
        "a {b,c}",
        "a {b}",
        "a [b]",
        "! a",
        "a !b",
        "A=1 a",
        "a=b",
        "~/a",
        "a ~",
        "a ~/x",
        "a --x=~/y",
        "a x:~",
        "\"\"~ a",
        "a *",
        "a -*",
        "a ''*x",
        "a '-'*",
        "* a",
        "a?",
        "if a",
        "time a",
        "[[ a",
        "function a",
        "%1 a",
        "'' a",
        "a << x",
        "a <<< x",
        "a <> x",
        "a >| x",
        "a >&- b",
        "a >& x",
        "a 2>&1x",
        "a 10>x",
        ">x a",
        "a > *",
        "a >",
        "a 'b",
        "a \"b",
        "a \\",
        "a\r",
        "a\0",
        "a \u{1b}[0m",
        "a \u{200b}",
        "a '\u{202e}'",
        "a\u{a0}b",
        "a \u{e000}",
        "a # it's",
        "a \"\"\\ #; b",
        "coproc a",
        "a\\\n#b",
        "2\\\n>x",
        "a '2'>x",
        "a >2>x",
        "a >> 2>&1",
        "a < 0<in",
    ];
    for line in cases {
        assert!(lex(line).is_err(), "{line:?} gives {:?}", lex(line));
    }
}

#[test]
fn refusals_have_an_offset() {
    let refusal = lex("git log $x").unwrap_err();
    assert_eq!(
        (refusal.at, refusal.why),
        (8, "a variable or substitution (`$`)")
    );
}

#[test]
fn long_lines_are_refused() {
    assert!(lex(&"a ".repeat(MAX_BYTES)).is_err());
    assert!(lex(&"a;".repeat(MAX_COMMANDS + 1)).is_err());
    assert!(lex(&"a;".repeat(MAX_COMMANDS)).is_ok());
}
