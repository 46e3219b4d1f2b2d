//! What placeholders become: cases of the reference, by number, and those of other runtimes.

use prowess_diag::Span;
use prowess_render::{
    Arguments, CommandHandling, Compat, FillError, MAX_OUTPUT, PrepareOptions, Rendered,
    RenderedPart, Replacement, SkillVariables, Template, prepare,
};
use prowess_spec::parse;
use serde_json::json;

fn template(body: &str, names: &[&str], compat: Compat) -> Template {
    let options = PrepareOptions {
        names,
        compat,
        commands: CommandHandling::Bind,
    };
    prepare(body, Span::new(0, body.len()), &options).unwrap()
}

fn variables() -> SkillVariables {
    SkillVariables {
        skill_dir: Some("/skills/a b".into()),
        session_id: Some("s-1".into()),
        project_dir: Some("/project".into()),
        effort: Some("high".into()),
        env: [("REGION".to_owned(), "eu".to_owned())].into(),
    }
}

fn fill(body: &str, names: &[&str], compat: Compat, arguments: &Arguments) -> Rendered {
    template(body, names, compat)
        .fill(arguments, &variables())
        .unwrap()
}

/// The text, with `<script|positionals|variables>` for each command.
fn show(rendered: &Rendered) -> String {
    rendered
        .parts
        .iter()
        .map(|part| match part {
            RenderedPart::Text(text) => text.clone(),
            RenderedPart::Command(slot) => {
                let variables: Vec<String> = slot
                    .variables
                    .iter()
                    .map(|(name, value)| format!("{name}={value}"))
                    .collect();
                format!(
                    "<{}|{}|{}>",
                    slot.script,
                    slot.positionals.join(","),
                    variables.join(",")
                )
            }
            other => format!("{other:?}"),
        })
        .collect()
}

struct Case(
    &'static str,
    Compat,
    &'static [&'static str],
    &'static str,
    Option<&'static str>,
    &'static str,
);

const P: Compat = Compat::Prowess;
const C: Compat = Compat::ClaudeCode;
const A: Compat = Compat::Agentick;
const G: Compat = Compat::Goose;

/// Case, rules, declared names, body, arguments, result.
const CASES: &[Case] = &[
    Case(
        "73",
        P,
        &[],
        "Fix $ARGUMENTS now",
        Some("123 high"),
        "Fix 123 high now",
    ),
    Case(
        "74",
        P,
        &[],
        "$0 from $1 to $2",
        Some("SearchBar React Vue"),
        "SearchBar from React to Vue",
    ),
    Case(
        "75",
        P,
        &[],
        "$ARGUMENTS[0]|$ARGUMENTS[1]",
        Some("\"hello world\" second"),
        "hello world|second",
    ),
    Case(
        "75 raw",
        P,
        &[],
        "$ARGUMENTS",
        Some("\"hello world\" second"),
        "\"hello world\" second",
    ),
    Case(
        "76",
        P,
        &[],
        "[$0][$1][$2]",
        Some("one two"),
        "[one][two][$2]",
    ),
    Case(
        "77",
        P,
        &["issue"],
        "$0 $ARGUMENTS[1] $issue! $foo $HOME",
        None,
        "$0 $ARGUMENTS[1] ! $foo $HOME",
    ),
    Case("77 all", P, &[], "a${x}$ARGUMENTS.", None, "a${x}."),
    Case(
        "78",
        P,
        &["issue", "branch"],
        "$issue@$branch",
        Some("7 main"),
        "7@main",
    ),
    Case(
        "79",
        P,
        &["issue"],
        "$issues $issue",
        Some("7"),
        "$issues 7",
    ),
    Case("79 digits", C, &[], "$10 $0", Some("a b"), "$10 a"),
    Case(
        "79 digits, ours",
        P,
        &[],
        "$10 $0",
        Some("a b"),
        "$10 a\n\nARGUMENTS: a b",
    ),
    Case(
        "79 price",
        C,
        &[],
        "$200K $1M $0.01",
        Some("a b"),
        "$200K bM a.01",
    ),
    Case("80", P, &[], "\\$1.00 $0", Some("a"), "$1.00 a"),
    Case("80 claude", C, &[], "\\$1.00 $0", Some("a b"), "$1.00 a"),
    Case("80 none", P, &[], "\\$1.00", None, "$1.00"),
    Case("81", P, &[], "\\\\$1 $0", Some("a b"), "\\\\b a"),
    Case("81 claude", C, &[], "\\\\$1", Some("a b"), "\\\\b"),
    Case("81 other", P, &[], "\\$HOME $0", Some("a"), "\\$HOME a"),
    Case(
        "81 variable",
        P,
        &[],
        "\\${CLAUDE_SKILL_DIR}",
        None,
        "\\/skills/a b",
    ),
    Case(
        "82",
        P,
        &[],
        "Do it.",
        Some("SOLO"),
        "Do it.\n\nARGUMENTS: SOLO",
    ),
    Case(
        "82 line",
        P,
        &[],
        "Do it.\n",
        Some("SOLO"),
        "Do it.\n\nARGUMENTS: SOLO",
    ),
    Case(
        "82 claude",
        C,
        &[],
        "Do it.\n",
        Some("SOLO"),
        "Do it.\n\n\nARGUMENTS: SOLO",
    ),
    Case(
        "83",
        P,
        &[],
        "Do $1",
        Some("SOLO"),
        "Do $1\n\nARGUMENTS: SOLO",
    ),
    Case("84", P, &[], "Do $0", Some("SOLO"), "Do SOLO"),
    Case("84 name", C, &["a", "b"], "Do $b.", Some("SOLO"), "Do ."),
    Case(
        "84 name, ours",
        P,
        &["a", "b"],
        "Do $b.",
        Some("SOLO"),
        "Do .\n\nARGUMENTS: SOLO",
    ),
    Case("84 all words", P, &["a"], "$a $1", Some("x 'y z'"), "x y z"),
    Case("84 empty word", P, &[], "$0.", Some("x ''"), "x."),
    Case(
        "84 some words",
        P,
        &["a"],
        "Do $a.",
        Some("1 2 3"),
        "Do 1.\n\nARGUMENTS: 1 2 3",
    ),
    Case("84 goose", G, &[], "Do $1.", Some("1 2"), "Do 1."),
    Case("85", P, &[], "Do it.", Some(""), "Do it."),
    Case("85 blank", P, &[], "Do it.", Some("  "), "Do it."),
    Case(
        "86",
        P,
        &[],
        "Summarize $0",
        Some("\"$ARGUMENTS from yesterday\""),
        "Summarize $ARGUMENTS from yesterday",
    ),
    Case(
        "87",
        P,
        &[],
        "<$ARGUMENTS>",
        Some("$& $$ $1 $`"),
        "<$& $$ $1 $`>",
    ),
    Case(
        "88",
        P,
        &[],
        "${CLAUDE_SKILL_DIR} ${CLAUDE_PROJECT_DIR} ${CLAUDE_SESSION_ID} ${CLAUDE_EFFORT} ${CLAUDE_PLUGIN_ROOT} ${CLAUDE_X}",
        None,
        "/skills/a b /project s-1 high ${CLAUDE_PLUGIN_ROOT} ${CLAUDE_X}",
    ),
    Case(
        "88 aliases",
        P,
        &[],
        "${PROWESS_SKILL_DIR} ${AGENTICK_SKILL_DIR} ${AGENTICK_SESSION_ID} ${PROWESS_PROJECT_DIR}",
        None,
        "/skills/a b /skills/a b s-1 /project",
    ),
    Case(
        "88 value",
        P,
        &[],
        "$ARGUMENTS",
        Some("${CLAUDE_SKILL_DIR}"),
        "${CLAUDE_SKILL_DIR}",
    ),
    Case(
        "89",
        P,
        &[],
        "```sh\nawk '{print $1}' $ARGUMENTS\n```\n`$1` $1",
        Some("a b"),
        "```sh\nawk '{print $1}' a b\n```\n`$1` b",
    ),
    Case(
        "89 claude",
        C,
        &[],
        "```sh\nawk '{print $1}'\n```\n`$1`",
        Some("a b"),
        "```sh\nawk '{print b}'\n```\n`b`",
    ),
    Case("89 escape", P, &[], "`\\$1` $0", Some("a"), "`$1` a"),
    Case(
        "90",
        P,
        &[],
        "- diff: !`printf hi`",
        None,
        "- diff: <printf hi||>",
    ),
    Case(
        "91",
        P,
        &[],
        "KEY=!`cmd` `format!` macro",
        None,
        "KEY=!`cmd` `format!` macro",
    ),
    Case(
        "92",
        P,
        &[],
        "```!\necho a\necho b\n```\n",
        None,
        "<echo a\necho b\n||>\n",
    ),
    Case(
        "92 crlf",
        P,
        &[],
        "```!\r\necho a\r\necho b\r\n```\r\n",
        None,
        "<echo a\necho b\n||>\r\n",
    ),
    Case(
        "92 quotation",
        P,
        &[],
        "> ```!\n> echo a\n> ```\n",
        None,
        "> ```!\n> echo a\n> ```\n",
    ),
    Case(
        "94",
        P,
        &[],
        "Do $ARGUMENTS",
        Some("x !`touch pwned`"),
        "Do x !`touch pwned`",
    ),
    Case(
        "94 line",
        P,
        &[],
        "$ARGUMENTS",
        Some("```!\ntouch pwned\n```"),
        "```!\ntouch pwned\n```",
    ),
    Case(
        "95",
        P,
        &[],
        "!`echo \"$ARGUMENTS\"`",
        Some("a\"; touch pwned; echo \""),
        "<echo \"${ARGUMENTS}\"||ARGUMENTS=a\"; touch pwned; echo \">",
    ),
    Case("104", P, &[], "A $ARGUMENTS", Some("123"), "A 123"),
    Case(
        "example fence",
        P,
        &[],
        "```\n!`ls $ARGUMENTS`\n```",
        Some("x"),
        "```\n!`ls x`\n```",
    ),
    Case(
        "example fence, claude",
        C,
        &[],
        "```\n!`ls $ARGUMENTS`\n```",
        Some("x"),
        "```\n<ls \"${ARGUMENTS}\"||ARGUMENTS=x>\n```",
    ),
    Case(
        "link",
        P,
        &[],
        "[x](${CLAUDE_SKILL_DIR}/a.md) [y]($0)",
        Some("q"),
        "[x](/skills/a b/a.md) [y](q)",
    ),
    Case(
        "command: positions",
        P,
        &[],
        "!`cmp $1 $10 ${2} $ARGUMENTS[0]`",
        Some("a b c d"),
        "<cmp \"${1}\" \"${10}\" \"${2}\" \"${ARGUMENTS_0}\"|a,b,c,d|ARGUMENTS_0=a>\n\nARGUMENTS: a b c d",
    ),
    Case(
        "command: only what it can see",
        P,
        &[],
        "!`echo $0`",
        Some("a b c"),
        "<echo \"${0}\"|a|>\n\nARGUMENTS: a b c",
    ),
    Case(
        "command: all",
        P,
        &[],
        "!`echo \"$@\"`",
        Some("a b"),
        "<echo \"$@\"|a,b|>\n\nARGUMENTS: a b",
    ),
    Case(
        "command: names",
        P,
        &["issue", "PATH", "a-b"],
        "!`echo $issue $PATH $a-b`",
        Some("1 2 3"),
        "<echo \"${issue}\" \"${PROWESS_ARGUMENT_1}\" \"${PROWESS_ARGUMENT_2}\"||PROWESS_ARGUMENT_1=2,PROWESS_ARGUMENT_2=3,issue=1>",
    ),
    Case(
        "command: missing",
        P,
        &["issue"],
        "!`echo $1 $issue $ARGUMENTS $ARGUMENTS[3]`",
        None,
        "<echo \"${1}\" \"${issue}\" \"${ARGUMENTS}\" \"${ARGUMENTS_3}\"||ARGUMENTS=,ARGUMENTS_3=,issue=>",
    ),
    Case(
        "command: variables",
        P,
        &[],
        "!`${CLAUDE_SKILL_DIR}/x.sh ${env:REGION}`",
        None,
        "<\"${PROWESS_SKILL_DIR}\"/x.sh \"${PROWESS_ENV_REGION}\"||PROWESS_ENV_REGION=eu,PROWESS_SKILL_DIR=/skills/a b>",
    ),
    Case(
        "command: escapes",
        P,
        &[],
        "!`awk '{print \\$1}' \"\\$2\"`",
        None,
        "<awk '{print $1}' \"\\$2\"||>",
    ),
    Case(
        "command: takes the arguments",
        P,
        &[],
        "!`echo $0`",
        Some("a"),
        "<echo \"${0}\"|a|>",
    ),
    Case(
        "command: takes none",
        P,
        &[],
        "!`echo $1`",
        Some("a"),
        "<echo \"${1}\"|a|>\n\nARGUMENTS: a",
    ),
    Case(
        "huge index",
        P,
        &[],
        "!`echo $99999999999999999999`",
        None,
        "<echo \"${2147483647}\"||>",
    ),
    Case(
        "command: its own variables",
        P,
        &[],
        "!`read x < f; eval \"$x\"`",
        None,
        "<read x < f; eval \"$x\"||>",
    ),
    // Agentick, section 3.
    Case(
        "agentick: string",
        A,
        &[],
        "Do $ARGUMENTS and $ARGUMENTS",
        Some("a b"),
        "Do a b and a b",
    ),
    Case("agentick: none", A, &[], "Do $ARGUMENTS.", None, "Do ."),
    Case(
        "agentick: quotes",
        A,
        &[],
        "$0|$1",
        Some("'a b' c"),
        "a b|c",
    ),
    Case(
        "agentick: element",
        A,
        &[],
        "$ARGUMENTS[0]=$0",
        Some("x"),
        "x=x",
    ),
    Case(
        "agentick: out of range",
        A,
        &[],
        "$0 $3 $ARGUMENTS[3]",
        Some("x"),
        "x $3 $ARGUMENTS[3]",
    ),
    Case(
        "agentick: named from string",
        A,
        &["a", "b"],
        "$b-$a",
        Some("1 2"),
        "2-1\n\nARGUMENTS: 1 2",
    ),
    Case(
        "agentick: unknown",
        A,
        &["a"],
        "$nope $0",
        Some("1"),
        "$nope 1",
    ),
    Case(
        "agentick: missing name",
        A,
        &["a", "b"],
        "$b $0",
        Some("1"),
        "$b 1",
    ),
    Case(
        "agentick: variables",
        A,
        &[],
        "${AGENTICK_SESSION_ID} ${AGENTICK_NOPE} ${HOME}",
        None,
        "s-1 ${AGENTICK_NOPE} ${HOME}",
    ),
    Case("agentick: no escape", A, &[], "\\$0", Some("x"), "\\x"),
    Case("agentick: code", A, &[], "`$0`", Some("x"), "`x`"),
    Case(
        "agentick: appendix",
        A,
        &[],
        "Do it.",
        Some("x"),
        "Do it.\n\nARGUMENTS: x",
    ),
    Case(
        "agentick: empty appendix",
        A,
        &[],
        "Do it.",
        Some(""),
        "Do it.\n\nARGUMENTS: ",
    ),
    Case(
        "agentick: price counts",
        A,
        &[],
        "costs $5",
        Some("x"),
        "costs $5",
    ),
    Case(
        "agentick: no second reading",
        A,
        &[],
        "$ARGUMENTS",
        Some("$1 two"),
        "$1 two",
    ),
    Case(
        "agentick: examples are text",
        A,
        &[],
        "```\n!`ls`\n```",
        None,
        "```\n!`ls`\n```",
    ),
    Case("agentick: glued", A, &[], "prose!`ls`", None, "prose!`ls`"),
    // Goose counts `$1` from 1 and `$ARGUMENTS[0]` from 0.
    Case(
        "goose",
        G,
        &[],
        "$1 $2 $ARGUMENTS[0] $0 $3",
        Some("a b"),
        "a b a $0 $3",
    ),
    Case(
        "goose: command",
        G,
        &[],
        "!`echo $1 $0`",
        Some("a b"),
        "<echo \"${0}\" \"${2147483647}\"|a,b|>",
    ),
    // core-agent, section 3: environment.
    Case(
        "core-agent: granted",
        P,
        &[],
        "in ${env:REGION}.",
        None,
        "in eu.",
    ),
    Case(
        "core-agent: not granted",
        P,
        &[],
        "in ${env:SECRET}.",
        None,
        "in ${env:SECRET}.",
    ),
    Case(
        "core-agent: malformed",
        P,
        &[],
        "${env:} ${env:A B} ${env:9}",
        None,
        "${env:} ${env:A B} ${env:9}",
    ),
];

/// Checks the rows of the table that have this number; returns how many there are.
fn check(number: &str) -> usize {
    let rows = CASES
        .iter()
        .filter(|Case(name, ..)| name.split(' ').next() == Some(number));
    rows.map(check_row).count()
}

fn check_row(Case(name, compat, names, body, arguments, expected): &Case) {
    let arguments = arguments.map_or_else(Arguments::none, Arguments::from_text);
    assert_eq!(
        &show(&fill(body, names, *compat, &arguments)),
        expected,
        "case {name}"
    );
}

/// A test for each number of reference §9.4 that is about text alone.
macro_rules! numbered {
    ($($test:ident $number:literal)*) => {
        $(#[test]
        fn $test() {
            assert_ne!(check($number), 0);
        })*

        #[test]
        fn cases_of_other_runtimes_and_of_commands() {
            let numbers = [$($number),*];
            let is_other = |Case(name, ..): &&Case| {
                name.split(' ').next().is_none_or(|number| !numbers.contains(&number))
            };
            assert_ne!(CASES.iter().filter(is_other).map(check_row).count(), 0);
        }
    };
}

numbered! {
    case_073_all_arguments "73"
    case_074_positions_count_from_zero "74"
    case_075_quotes_group_words "75"
    case_076_a_position_that_is_not_there_stays "76"
    case_077_without_arguments "77"
    case_078_arguments_by_name "78"
    case_079_a_longer_name_or_number_is_another "79"
    case_080_a_backslash_keeps_a_placeholder "80"
    case_081_what_a_backslash_leaves_alone "81"
    case_082_arguments_that_nothing_took_are_added "82"
    case_083_a_position_that_took_nothing_is_no_taker "83"
    case_084_what_was_taken_is_not_added "84"
    case_085_nothing_is_added_for_nothing "85"
    case_086_a_value_is_not_read_again "86"
    case_087_a_value_is_inserted_byte_for_byte "87"
    case_088_variables "88"
    case_089_code_is_left_alone_unless_claude_code_is_followed "89"
}

/// The second half of case 78: names in one text are the names of a list.
#[test]
fn case_078_names_in_one_text_are_a_list() {
    for written in ["[issue, branch]", "\"issue branch\"", "issue branch"] {
        let text = format!("---\narguments: {written}\n---\n");
        let parsed = parse(text.as_bytes());
        let names: Vec<&str> = parsed
            .manifest
            .arguments
            .iter()
            .map(|name| &*name.value)
            .collect();
        assert_eq!(names, ["issue", "branch"], "{written}");
        let arguments = Arguments::from_text("7 main");
        assert_eq!(
            show(&fill("$issue@$branch", &names, P, &arguments)),
            "7@main"
        );
    }
}

#[test]
fn objects_have_names_and_positions() {
    let object = || Arguments::from_json(json!({"b": 2, "a": "x y", "n": null, "o": {"k": [1]}}));
    for (name, compat, names, body, expected) in [
        (
            "json",
            A,
            &[][..],
            "$ARGUMENTS",
            r#"{"b":2,"a":"x y","n":null,"o":{"k":[1]}}"#,
        ),
        ("key order", A, &[], "$0|$1|$2|$3", r#"2|x y||{"k":[1]}"#),
        ("declared order", A, &["a", "b"], "$0|$1|$2", "x y|2|$2"),
        ("keys are names", A, &[], "$a $b $zz $0", "x y 2 $zz 2"),
        ("a hyphen ends a name", A, &[], "$a-b $0", "x y-b 2"),
        ("missing", A, &["zz", "a"], "<$0> $zz", "<> $zz"),
        (
            "ours",
            P,
            &["a", "b"],
            "$a $b $1 $o",
            "x y 2 2 $o\n\nARGUMENTS: {\"n\":null,\"o\":{\"k\":[1]}}",
        ),
        (
            "ours, by position",
            P,
            &[],
            "$1 $2 $3",
            "x y  {\"k\":[1]}\n\nARGUMENTS: {\"b\":2}",
        ),
        (
            "ours, all",
            P,
            &[],
            "$ARGUMENTS",
            r#"{"b":2,"a":"x y","n":null,"o":{"k":[1]}}"#,
        ),
        (
            "ours, missing",
            P,
            &["zz"],
            "<$zz>",
            "<>\n\nARGUMENTS: {\"b\":2,\"a\":\"x y\",\"n\":null,\"o\":{\"k\":[1]}}",
        ),
        ("claude, missing", C, &["zz"], "<$zz>", "<>"),
        (
            "named only, agentick",
            A,
            &["a"],
            "$a",
            "x y\n\nARGUMENTS: {\"b\":2,\"a\":\"x y\",\"n\":null,\"o\":{\"k\":[1]}}",
        ),
    ] {
        assert_eq!(
            show(&fill(body, names, compat, &object())),
            expected,
            "{name}"
        );
    }
    let of = |value, body| show(&fill(body, &["a"], A, &Arguments::from_json(value)));
    assert_eq!(
        of(json!({"ARGUMENTS": "no"}), "$ARGUMENTS"),
        r#"{"ARGUMENTS":"no"}"#
    );
    assert_eq!(of(json!(["p", 2, true]), "$0 $1 $2 $a"), "p 2 true $a");
    assert_eq!(of(json!("p q"), "$0 $a $ARGUMENTS"), "p p p q");
    assert_eq!(of(json!(42), "$0 $ARGUMENTS"), "42 42");
    assert_eq!(of(json!(null), "<$ARGUMENTS>"), "<>");
}

/// S-B7, as reported: `b`, `note` and `2 3` were gone.
#[test]
fn arguments_without_a_placeholder_are_appended() {
    let of = |value| show(&fill("Use $a.", &["a"], P, &Arguments::from_json(value)));
    assert_eq!(
        of(json!({"a": 1, "b": 2, "note": "important"})),
        "Use 1.\n\nARGUMENTS: {\"b\":2,\"note\":\"important\"}"
    );
    assert_eq!(of(json!({"a": 1})), "Use 1.");
    assert_eq!(of(json!("1 2 3")), "Use 1.\n\nARGUMENTS: 1 2 3");
    // The items of an array have positions, but no names.
    assert_eq!(of(json!([1, 2])), "Use .\n\nARGUMENTS: [1,2]");
    let second = fill("$1", &[], P, &Arguments::from_json(json!([1, 2])));
    assert_eq!(show(&second), "2\n\nARGUMENTS: [1,2]");
}

#[test]
fn declared_names_without_a_value_are_missing() {
    let check = |arguments: Arguments, expected: &[&str]| {
        assert_eq!(
            arguments.missing(&["file", "format"]),
            expected,
            "{arguments:?}"
        );
    };
    check(Arguments::none(), &["file", "format"]);
    check(Arguments::from_text("a.pdf"), &["format"]);
    check(Arguments::from_text("a.pdf 'plain text' more"), &[]);
    check(Arguments::from_words(vec!["a b".into()]), &["format"]);
    check(Arguments::from_json(json!({"format": "md"})), &["file"]);
    check(
        Arguments::from_json(json!({"format": 1, "file": null})),
        &[],
    );
    check(Arguments::from_json(json!(["a", "b"])), &["file", "format"]);
}

#[test]
fn separate_words_stay_separate() {
    let arguments = Arguments::from_words(vec!["a b".into(), "it's".into()]);
    assert_eq!(
        show(&fill("$0|$1|$ARGUMENTS", &[], P, &arguments)),
        "a b|it's|'a b' 'it'\\''s'"
    );
}

#[test]
fn report_lists_every_placeholder() {
    let body = "$0 $7 \\$1 `$1` $n ${CLAUDE_X} ${CLAUDE_EFFORT} $ARGUMENTS !`echo $0 $7 \\$1`";
    let rendered = fill(body, &["m", "n"], P, &Arguments::from_text("abc 'd"));
    let found: Vec<(&str, Replacement)> = rendered
        .report
        .filled
        .iter()
        .map(|filled| (filled.span.of(body), filled.became))
        .collect();
    assert_eq!(
        found,
        [
            ("$0", Replacement::Value(3)),
            ("$7", Replacement::Missing),
            ("\\$1", Replacement::Escaped),
            ("$1", Replacement::Code),
            ("$n", Replacement::Value(2)),
            ("${CLAUDE_X}", Replacement::Unknown),
            ("${CLAUDE_EFFORT}", Replacement::Value(4)),
            ("$ARGUMENTS", Replacement::Value(6)),
            ("$0", Replacement::Bound(3)),
            ("$7", Replacement::Unset),
            ("\\$1", Replacement::Escaped),
        ]
    );
    assert!(!rendered.report.appended);
    assert_eq!(rendered.report.unbalanced, Some(4));
    assert_eq!(rendered.report.commands.len(), 1);
}

#[test]
fn unsafe_positions_are_refused_with_a_remedy() {
    let body = "Look: !`grep '$0' f` and !`eval \"$ARGUMENTS\"`";
    let options = PrepareOptions::default();
    let refused = prepare(body, Span::new(0, body.len()), &options).unwrap_err();
    let shown: Vec<_> = refused
        .diagnostics
        .iter()
        .map(|found| (found.span.unwrap().of(body), found.help.as_deref().unwrap()))
        .collect();
    assert_eq!(
        shown,
        [
            (
                "$0",
                "use double quotes: `\"$0\"`; or write `\\$0` if another program is to read it"
            ),
            (
                "$ARGUMENTS",
                "remove `eval` and write the command out, with the argument in double quotes"
            ),
        ]
    );
    assert_eq!(
        refused.to_string(),
        "`$0` is in an unsafe position in a command"
    );
    // Without running commands, the skill can still be shown.
    let options = PrepareOptions {
        commands: CommandHandling::Withhold,
        ..options
    };
    let template = prepare(body, Span::new(0, body.len()), &options).unwrap();
    let rendered = template.fill(&Arguments::none(), &variables()).unwrap();
    assert_eq!(rendered.parts.len(), 4);
    assert!(
        matches!(&rendered.parts[1], RenderedPart::Withheld(held) if &*held.display == "grep '$0' f")
    );
}

#[test]
fn text_outside_the_body_is_unchanged() {
    let text = "---\nname: $0\n---\nDo $0";
    let template = prepare(text, Span::new(17, text.len()), &PrepareOptions::default()).unwrap();
    let rendered = template
        .fill(&Arguments::from_text("x"), &variables())
        .unwrap();
    assert_eq!(show(&rendered), "Do x");
    assert_eq!(rendered.report.filled[0].span.of(text), "$0");
}

#[test]
fn values_that_no_command_can_receive_are_errors() {
    let fails = |body: &str, arguments: Arguments| {
        template(body, &[], P)
            .fill(&arguments, &variables())
            .unwrap_err()
    };
    let nul = fails("!`echo $0`", Arguments::from_words(vec!["a\0b".into()]));
    assert_eq!(
        nul.to_string(),
        "`$0` contains a NUL byte, which cannot be passed to a command"
    );
    let long = fails(
        "!`echo $ARGUMENTS`",
        Arguments::from_text("x".repeat(200_000)),
    );
    assert!(matches!(long, FillError::TooLong { .. }), "{long}");
    let many = fails(
        "!`echo \"$@\"`",
        Arguments::from_text("xxxxxxxxx ".repeat(200_000)),
    );
    assert!(matches!(many, FillError::TooLong { .. }), "{many}");
    let missing = fails("!`${CLAUDE_PLUGIN_ROOT}/x.sh`", Arguments::none());
    assert_eq!(
        missing.to_string(),
        "a command uses `${CLAUDE_PLUGIN_ROOT}`, which has no value here"
    );
    // Text takes all of these.
    let text = Arguments::from_text("a\0b".repeat(100_000));
    assert!(
        template("$ARGUMENTS", &[], P)
            .fill(&text, &variables())
            .is_ok()
    );
}

#[test]
fn output_is_bounded() {
    let megabyte = Arguments::from_text("x ".repeat(512 * 1024));
    let rendered = template("$ARGUMENTS", &[], P)
        .fill(&megabyte, &variables())
        .unwrap();
    assert!(matches!(&rendered.parts[..], [RenderedPart::Text(text)] if text.len() == 1024 * 1024));
    let many = template(&"$ARGUMENTS ".repeat(100_000), &[], P);
    let error = many.fill(&megabyte, &variables()).unwrap_err();
    assert_eq!(error, FillError::TooLarge { limit: MAX_OUTPUT });
    assert_eq!(
        error.to_string(),
        "the skill with its arguments is larger than 8 MiB"
    );
}

#[test]
fn hundred_thousand_placeholders_are_filled() {
    for (piece, names) in [
        ("$0 ", &[][..]),
        ("\\$0 ", &[]),
        ("$a ", &["a"]),
        ("${CLAUDE_SKILL_DIR} ", &[]),
        ("`$0` ", &[]),
        ("$(", &[]),
    ] {
        for compat in Compat::ALL {
            let body = piece.repeat(100_000);
            let rendered = fill(&body, names, compat, &Arguments::from_text("x"));
            assert!(rendered.report.filled.len() <= 100_000);
        }
    }
    let body = "!`echo $0`\n".repeat(10_000);
    assert_eq!(template(&body, &[], P).commands(), 10_000);
    let inside = format!("!`echo {}`", "$0 ".repeat(100_000));
    let refused = prepare(
        &inside,
        Span::new(0, inside.len()),
        &PrepareOptions::default(),
    )
    .unwrap_err();
    assert_eq!(refused.diagnostics.len(), 100);
    let names: Vec<String> = (0..1_000).map(|index| format!("n{index}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let body = "$n1 $n900 ".repeat(50_000);
    let template = template(&body, &names, P);
    assert_eq!(template.notes().len(), 1);
}
