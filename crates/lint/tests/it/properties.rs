//! Properties that hold for every text. The fuzz targets in `fuzz/` run the same oracles.

use proptest::prelude::*;
use prowess_diag::Span;
use prowess_spec::body::{self, BodyItem, BodyItemKind, ScanDetail, links};
use prowess_test::oracle;

/// Generates pieces of frontmatter, valid and invalid.
fn piece() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        Just("name"),
        Just("description"),
        Just("allowed-tools"),
        Just("metadata"),
        Just("a"),
        Just("b-c"),
        Just("Read"),
        Just("é"),
        Just("x y")
    ];
    let mark = prop_oneof![
        Just(": "),
        Just(":"),
        Just("\n"),
        Just("\n  "),
        Just("\n- "),
        Just("\n  - "),
        Just("\n\t"),
        Just("'"),
        Just("\""),
        Just("''"),
        Just("["),
        Just("]"),
        Just(", "),
        Just("{"),
        Just("}"),
        Just(" #"),
        Just("#"),
        Just("|"),
        Just(">"),
        Just("|-"),
        Just("\n\n"),
        Just("\t"),
        Just("&"),
        Just("*"),
        Just("!"),
        Just("<<"),
        Just("%"),
        Just("@"),
        Just("`"),
        Just("\\"),
        Just("\\\""),
        Just("\\\\"),
        Just("\\n"),
        Just("\\ "),
        Just("\\u2014"),
        Just("\\\n  "),
        Just("\r\n"),
        Just("\r"),
        Just("---"),
        Just("\n---\n"),
        Just("..."),
        Just("? "),
        Just("  "),
        Just("~"),
        Just("\u{feff}"),
        Just("\u{85}"),
        Just("\u{2028}"),
        Just("\u{0}"),
    ];
    prop_oneof![3 => word.prop_map(str::to_owned), 4 => mark.prop_map(str::to_owned), 1 => "[ -~]{0,12}"]
}

fn yaml() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::collection::vec(piece(), 0..24).prop_map(|pieces| pieces.concat()),
        // Mostly valid: keys with values and continuation lines.
        prop::collection::vec(
            (
                prop_oneof![Just("a"), Just("name"), Just("  b"), Just("- c")],
                piece(),
                piece()
            ),
            0..6
        )
        .prop_map(|lines| lines
            .into_iter()
            .map(|(key, x, y)| format!("{key}: {x}{y}\n"))
            .collect()),
        // Quoted text with escapes and line breaks.
        (
            prop_oneof![Just("'"), Just("\"")],
            prop::collection::vec(quoted_piece(), 0..12)
        )
            .prop_map(|(mark, pieces)| format!("a: {mark}{}{mark}\nb: c\n", pieces.concat())),
        // Flow collections, on the line of their key and on the next one.
        (
            prop_oneof![Just("a: "), Just("a:\n  "), Just("a:\n- ")],
            flow()
        )
            .prop_map(|(before, flow)| format!("{before}{flow}\nb: c\n")),
        prop::collection::vec(flow_piece(), 0..12)
            .prop_map(|pieces| format!("a: {{{}}}\nb: c\n", pieces.concat())),
        // Lists of maps and maps of lists, with dashes anywhere.
        prop::collection::vec((0..5_usize, line_piece()), 0..8).prop_map(|lines| lines
            .into_iter()
            .map(|(indent, line)| format!("{}{line}\n", "  ".repeat(indent)))
            .fold("a:\n".to_owned(), |text, line| text + &line)),
    ]
}

/// Generates a valid flow collection.
fn flow() -> impl Strategy<Value = String> {
    let scalar = prop::sample::select(vec![
        "b", "\"c d\"", "'e'", "1.5", "{}", "[]", "f g", "\"\"",
    ]);
    let key = prop::sample::select(vec!["h: ", "\"i\":", "\"j\" : ", "'k': ", "l-m: "]);
    scalar
        .prop_map(str::to_owned)
        .prop_recursive(4, 16, 3, move |inner| {
            let end = prop::sample::select(vec!["", " ", ",", " , "]);
            let map = prop::collection::vec((key.clone(), inner.clone()), 1..4);
            let map = map.prop_map(|entries| {
                entries
                    .into_iter()
                    .map(|(key, value)| key.to_owned() + &value)
            });
            let map = map.prop_map(|entries| entries.collect::<Vec<_>>().join(", "));
            let list = prop::collection::vec(inner, 1..4).prop_map(|items| items.join(", "));
            prop_oneof![
                (map, end.clone()).prop_map(|(map, end)| format!("{{{map}{end}}}")),
                (list, end).prop_map(|(list, end)| format!("[{list}{end}]")),
            ]
        })
}

/// Generates pieces of flow collections, valid and invalid.
fn flow_piece() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "b", "c: ", "\"d\"", "\"e\":", "'f'", ":", ": ", ",", ", ", "{", "}", "[", "]", " ", "1",
        "~", "#", " #", "?", "? ", "-", "- ", "&g", "*h", "!i", "<<: ", "é", "\n  ", "\t",
    ])
}

/// Generates a line of a map, of a list, or of both.
fn line_piece() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "b: c",
        "d:",
        "e: f",
        "- g",
        "- h: i",
        "- j:",
        "- - k",
        "-",
        "- {l: m}",
        "[n]",
        "{o: p}",
        "q",
        "- 'r': s",
        "# t",
        "- u: |",
        "- v: w # x",
        "- y: 'z",
        "",
    ])
}

/// Generates pieces of quoted text.
fn quoted_piece() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "a", "é", " ", "  ", "\n", "\n  ", "\n\n  ", "\\", "\\\\", "\\\"", "\\n", "\\ ", "\\u2014",
        "\\u00", "\\t", "\\\n  ", "\\\n\n  ", "''", "'", "#", ": ", "\t",
    ])
}

/// Generates pieces of bodies.
fn body_piece() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "a",
        " ",
        "\n",
        "\n\n",
        "\r\n",
        "\r",
        "`",
        "``",
        "```",
        "````",
        "~",
        "~~~",
        "\n```",
        "\n~~~\n",
        "\n```\n",
        "\n```!\n",
        "\n- ```sh\n",
        "\n> ",
        "!`",
        " !`x`",
        "![",
        "$1",
        "$",
        "$ARGUMENTS",
        "\\",
        "$a",
        "${CLAUDE_X}",
        "[x]",
        "](",
        ")",
        "[a](b.md)",
        "[a](http://c)",
        "\n[id]: ",
        "d/e.md",
        "]: ",
        "<",
        ">",
        "\"",
        "` tool",
        "é",
    ])
}

/// Six times the default number of cases; set `PROPTEST_CASES=20000` for many more.
fn config() -> ProptestConfig {
    let usual = ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    ProptestConfig {
        cases: usual.cases * 6,
        ..usual
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn fast_reader_agrees_with_the_full_one(text in yaml()) {
        oracle::readers_agree(&text);
    }

    #[test]
    fn parsing_never_fails_and_spans_fit(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        oracle::parse_holds(&bytes);
    }

    #[test]
    fn parsing_skill_like_text_never_fails(front in yaml(), body in prop::collection::vec(piece(), 0..24)) {
        oracle::parse_holds(format!("---\n{front}\n---\n{}", body.concat()).as_bytes());
    }

    #[test]
    fn fixes_terminate_and_remove_findings(front in yaml(), body in prop::collection::vec(piece(), 0..8)) {
        oracle::fixes_hold(format!("---\n{front}\n---\n{}", body.concat()).as_bytes());
    }

    #[test]
    fn repair_does_not_change_valid_yaml(text in yaml()) {
        oracle::repair_holds(&text);
    }

    #[test]
    fn marked_scan_finds_the_same_items(pieces in prop::collection::vec(body_piece(), 0..30)) {
        let text = pieces.concat();
        let find = |names: &[&str], detail| {
            let items = body::analyse(&text, Span::new(0, text.len()), names, detail);
            let wanted = |item: &BodyItem| match item.kind {
                BodyItemKind::Placeholder(_) | BodyItemKind::Command { .. } => true,
                BodyItemKind::Link { target } => links::relative(target.of(&text)).is_some(),
                _ => false,
            };
            items.into_iter().filter(wanted).collect::<Vec<_>>()
        };
        for names in [&[][..], &["a"]] {
            prop_assert_eq!(find(names, ScanDetail::Marked), find(names, ScanDetail::Full), "{:?}", text);
        }
    }

    #[test]
    fn written_scalars_read_back(text in "\\PC{0,40}") {
        oracle::scalar_round_trips(&text);
    }

    #[test]
    fn paths_never_escape(path in "[a-c./\\\\:\\x00 ]{0,24}") {
        oracle::path_stays_inside(&path);
    }

    #[test]
    fn tool_tokens_cover_their_text(text in "[A-Za-z(): ,*_]{0,40}") {
        oracle::tool_tokens_hold(&text);
    }
}
