//! What holds for every text and every value.

use proptest::prelude::*;
use prowess_diag::Span;
use prowess_render::{
    Arguments, CommandHandling, Compat, FillError, PrepareOptions, Rendered, RenderedPart,
    Replacement, SkillVariables, prepare,
};
use serde_json::Value;

fn variables() -> SkillVariables {
    SkillVariables {
        skill_dir: Some("/skills/x".into()),
        ..SkillVariables::default()
    }
}

fn compat() -> impl Strategy<Value = Compat> {
    prop::sample::select(Compat::ALL.to_vec())
}

/// Bodies made of what means something.
fn body() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "$ARGUMENTS",
        "$0",
        "$1",
        "$12",
        "$ARGUMENTS[1]",
        "$name",
        "$a-b",
        "\\",
        "${CLAUDE_SKILL_DIR}",
        "${env:X}",
        "${",
        "}",
        "!`echo $0`",
        "!`",
        "`",
        "```",
        "```!\n",
        "\n",
        "\n```\n",
        " ",
        "text",
        "é",
        "[x](",
        ")",
        "$",
        "'",
        "\"",
        "> ",
        "- ",
        "eval ",
        "$(",
        "|",
        "bash ",
        "<<EOF\n",
        "EOF\n",
        "((",
        "))",
        "#",
        ";",
        "case x in ",
        "esac",
        "{ ",
        "; }",
        "\r\n",
    ]);
    prop::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}

/// Values that try to mean something.
fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        ".{0,40}",
        Just("$1 $ARGUMENTS ${CLAUDE_SKILL_DIR} !`touch pwned`".to_owned()),
        Just("```!\ntouch pwned\n```".to_owned()),
        Just("'; touch pwned; \"$(touch pwned)".to_owned()),
    ]
}

/// Arguments of every kind, with values that no body contains.
fn given() -> impl Strategy<Value = Arguments> {
    let word = "q[0-9]{3}[ '\"\\\\é]?[0-9]?";
    let key = prop::sample::select(vec!["name", "a-b", "other", "0", "ARGUMENTS"]);
    let member = prop_oneof![
        word.prop_map(Value::from),
        (100_000..u32::MAX).prop_map(Value::from)
    ];
    prop_oneof![
        prop::collection::vec(word, 0..5).prop_map(|words| Arguments::from_text(words.join(" "))),
        prop::collection::vec(word, 0..5).prop_map(Arguments::from_words),
        prop::collection::vec(member.clone(), 0..4)
            .prop_map(|items| Arguments::from_json(Value::Array(items))),
        prop::collection::vec((key, member), 0..5).prop_map(|members| {
            let members = members
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value));
            Arguments::from_json(Value::Object(members.collect()))
        }),
    ]
}

fn render(body: &str, compat: Compat, arguments: &Arguments) -> Option<Rendered> {
    let options = PrepareOptions {
        names: &["name", "a-b"],
        compat,
        commands: CommandHandling::Bind,
    };
    let template = prepare(body, Span::new(0, body.len()), &options).ok()?;
    match template.fill(arguments, &variables()) {
        Ok(rendered) => Some(rendered),
        Err(FillError::Nul { .. } | FillError::NoValue { .. }) => None,
        Err(other) => panic!("{other}"),
    }
}

/// The scripts of all commands, without what is bound to them.
fn scripts(rendered: &Rendered) -> Vec<(String, Span)> {
    let of = |part: &RenderedPart| match part {
        RenderedPart::Command(slot) => Some((slot.script.to_string(), slot.span)),
        _ => None,
    };
    rendered.parts.iter().filter_map(of).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn values_do_not_change_commands(body in body(), compat in compat(), value in value()) {
        let plain = render(&body, compat, &Arguments::from_text("plain words"));
        let hostile = render(&body, compat, &Arguments::from_text(value));
        if let (Some(plain), Some(hostile)) = (plain, hostile) {
            prop_assert_eq!(scripts(&plain), scripts(&hostile));
        }
    }

    #[test]
    fn values_are_inserted_unchanged(value in ".{0,60}", compat in compat()) {
        let words = Arguments::from_words(vec![value.clone()]);
        let placeholder = if compat == Compat::Goose { "<$1>" } else { "<$0>" };
        let rendered = render(placeholder, compat, &words).unwrap();
        prop_assert_eq!(&rendered.parts, &[RenderedPart::Text(format!("<{value}>"))]);
        let text = Arguments::from_text(value.clone());
        let rendered = render("<$ARGUMENTS>", compat, &text).unwrap();
        prop_assert_eq!(&rendered.parts, &[RenderedPart::Text(format!("<{value}>"))]);
    }

    /// No argument is lost: each value is in the text, in a value of a command, or in the line
    /// `ARGUMENTS:`.
    #[test]
    fn no_argument_is_lost(body in body(), arguments in given()) {
        let Some(rendered) = render(&body, Compat::Prowess, &arguments) else { return Ok(()) };
        let refused = rendered.parts.iter().any(|part| matches!(part, RenderedPart::Refused(_)));
        if refused {
            return Ok(());
        }
        let mut shown = String::new();
        for part in &rendered.parts {
            match part {
                RenderedPart::Text(text) => shown.push_str(text),
                RenderedPart::Command(slot) => {
                    let values = slot.variables.iter().map(|(_, value)| value);
                    values.chain(&slot.positionals).for_each(|value| shown.push_str(&format!("\n{value}\n")));
                }
                _ => {}
            }
        }
        let line = shown.rfind("ARGUMENTS: ").filter(|_| rendered.report.appended);
        let line = line.map(|at| &shown[at + "ARGUMENTS: ".len()..]);
        let raw = arguments.raw().unwrap_or_default();
        if raw.trim().is_empty() || shown.contains(raw) {
            return Ok(());
        }
        if let Some(Value::Object(members)) = arguments.json() {
            let rest: Value = line.map_or(Value::Null, |line| serde_json::from_str(line).unwrap());
            for (key, value) in members {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                prop_assert!(shown.contains(&text) || rest.get(key) == Some(value), "{key}: {shown}");
            }
        } else {
            for word in arguments.words() {
                prop_assert!(shown.contains(&*word), "{word}: {shown}");
            }
        }
    }

    #[test]
    fn body_without_placeholders_is_unchanged(body in "[^$`]{1,200}", value in "[a-z]{0,10}", compat in compat()) {
        let none = render(&body, compat, &Arguments::none()).unwrap();
        prop_assert_eq!(&none.parts, &[RenderedPart::Text(body.clone())]);
        let some = render(&body, compat, &Arguments::from_text(value.clone())).unwrap();
        let RenderedPart::Text(text) = &some.parts[0] else { panic!() };
        prop_assert!(text.starts_with(&body));
        let added = &text[body.len()..];
        prop_assert_eq!(some.report.appended, !added.is_empty());
        if !added.is_empty() {
            prop_assert_eq!(added.trim_start_matches('\n'), format!("ARGUMENTS: {value}"));
        }
    }

    #[test]
    fn random_arguments_do_not_panic(text in "\\PC{0,200}", start in 0_usize..220, end in 0_usize..220, compat in compat(), value in "\\PC{0,40}") {
        for commands in [CommandHandling::Bind, CommandHandling::Withhold] {
            let options = PrepareOptions { names: &["name", ""], compat, commands };
            if let Ok(template) = prepare(&text, Span::new(start, end), &options) {
                let _ = template.fill(&Arguments::from_text(value.clone()), &variables());
            }
        }
    }

    #[test]
    fn random_bodies_do_not_panic(body in body(), compat in compat(), value in value()) {
        for commands in [CommandHandling::Bind, CommandHandling::Withhold] {
            let options = PrepareOptions { names: &["name", "a-b"], compat, commands };
            if let Ok(template) = prepare(&body, Span::new(0, body.len()), &options) {
                let _ = template.fill(&Arguments::from_text(value.clone()), &variables());
            }
        }
    }

    #[test]
    fn random_scripts_do_not_panic(body in body(), value in value()) {
        let body = format!("```!\n{}\n```", body.replace("```", "``"));
        let _ = render(&body, Compat::Prowess, &Arguments::from_text(value));
    }

    #[test]
    fn report_is_ordered_and_complete(body in body(), compat in compat()) {
        if let Some(rendered) = render(&body, compat, &Arguments::from_text("one two")) {
            let spans: Vec<Span> = rendered.report.filled.iter().map(|filled| filled.span).collect();
            prop_assert!(spans.windows(2).all(|pair| pair[0].end <= pair[1].start));
            let text: usize = rendered.parts.iter().map(|part| match part {
                RenderedPart::Text(text) => text.len(),
                _ => 0,
            }).sum();
            let taken: usize = rendered.report.filled.iter().map(|filled| match filled.became {
                Replacement::Value(_) | Replacement::Empty => filled.span.len(),
                Replacement::Escaped => 1,
                _ => 0,
            }).sum();
            let given: usize = rendered.report.filled.iter().map(|filled| match filled.became {
                Replacement::Value(bytes) => bytes,
                _ => 0,
            }).sum();
            if rendered.report.commands.is_empty() && !rendered.report.appended {
                prop_assert_eq!(text, body.len() - taken + given);
            }
        }
    }
}
