//! What must hold for every rule and every line.

use proptest::prelude::*;
use prowess_policy::{
    Actor, BoundScript, Effect, Gate, GateAction, GateOutcome, PermissionMode, PermissionRule,
    PermissionRules, Plan, RuleSource, SkillActor, Verdict,
};
use prowess_shell::{finder, lex, script};

const RULES: &[&str] = &[
    "Bash",
    "Bash(*)",
    "Bash(git:*)",
    "Bash(git push:*)",
    "Bash(git status)",
    "Bash(git * main)",
    "Bash(ls*)",
    "Bash(rm:*)",
    "Bash(rm -rf:*)",
    "Bash(env:*)",
    "Bash(sh:*)",
    "bash:git *",
    "Bash (git:*)",
    "Bash(git",
    "Bash(:*)",
    "Read",
    "Read(.env)",
    "Edit",
    "Edit(out)",
    "*",
    "Skill(x)",
    "mcp__a__b",
    "Bash(cat:*)",
    "Bash(echo:*)",
    "",
];

const TOKENS: &[&str] = &[
    "git", "status", "push", "rm", "-rf", "ls", "env", "sh", "-c", "'rm x'", "cat", ".env", "echo",
    "main", "x", "a=b", ";", "&&", "|", "\n", "&", ">", "out", "$(", ")", "`", "\"", "'", "\\",
    "$x", "#", "(", "{", "}", "*", "?", "~", "2>&1", "/bin/rm", "\u{200b}", "é", "sudo", "xargs",
    "-exec", "find", "\t", "if", "then",
];

fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        proptest::collection::vec(proptest::sample::select(TOKENS), 0..9)
            .prop_map(|tokens| tokens.join(" ")),
        proptest::collection::vec(proptest::sample::select(TOKENS), 0..9)
            .prop_map(|tokens| tokens.concat()),
        any::<String>(),
    ]
}

fn rules() -> impl Strategy<Value = Vec<(Effect, &'static str)>> {
    let effect = proptest::sample::select(&[Effect::Allow, Effect::Ask, Effect::Deny][..]);
    proptest::collection::vec((effect, proptest::sample::select(RULES)), 0..5)
}

/// Lines that run code of another language, or code from their input.
fn code() -> impl Strategy<Value = String> {
    const CODE: &[&str] = &[
        "python3 -c",
        "perl -e",
        "awk",
        "sed",
        "node -e",
        "bash -c",
        "sh",
        "make",
        "xargs",
        "env",
        "eval",
        "sudo",
        "find . -exec",
        "git",
        "timeout 5",
        "'rm x'",
        "'BEGIN{system(1)}'",
        "'1e rm'",
        "|",
        ";",
        "&&",
        "echo",
        "x",
        "--eval=x",
        "-f",
        "-",
    ];
    let words = proptest::collection::vec(proptest::sample::select(CODE), 1..7);
    words.prop_map(|words| words.join(" "))
}

fn gate(rules: &[(Effect, &str)], mode: PermissionMode) -> Gate {
    let mut gate = Gate {
        mode,
        ..Gate::default()
    };
    for (effect, text) in rules {
        gate.rules.add(*effect, text, RuleSource::Flag);
    }
    gate
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn adding_a_deny_or_ask_rule_never_widens_access(
        rules in rules(),
        added in proptest::sample::select(RULES),
        effect in proptest::sample::select(&[Effect::Ask, Effect::Deny][..]),
        line in line(),
        mode in proptest::sample::select(&PermissionMode::ALL[..]),
    ) {
        let before = gate(&rules, mode).decide(&GateAction::Command { text: &line }, &Actor::default());
        let mut more = rules.clone();
        more.push((effect, added));
        let after = gate(&more, mode).decide(&GateAction::Command { text: &line }, &Actor::default());
        prop_assert!(after.verdict >= before.verdict, "{line:?}: {before:?} became {after:?}");
    }

    #[test]
    fn removing_an_allow_rule_never_widens_access(rules in rules(), line in line()) {
        let full = gate(&rules, PermissionMode::Ask).decide(&GateAction::Command { text: &line }, &Actor::default());
        let fewer: Vec<_> = rules.iter().copied().filter(|(effect, _)| *effect != Effect::Allow).collect();
        let less = gate(&fewer, PermissionMode::Ask).decide(&GateAction::Command { text: &line }, &Actor::default());
        prop_assert!(less.verdict >= full.verdict);
    }

    #[test]
    fn every_line_gets_a_decision(line in any::<String>(), rules in rules()) {
        let outcome = gate(&rules, PermissionMode::Ask).command(&line, &Actor::default());
        prop_assert!(!outcome.decision().reason.is_empty());
        if let GateOutcome::Allowed(approved, _) = outcome {
            prop_assert!(!matches!(approved.value().plan, Plan::AsTyped(_)), "{line:?} was never proved");
        }
        finder::find(&line);
    }

    #[test]
    fn written_lines_parse_to_the_same_words(line in line()) {
        if let Ok(parsed) = lex(&line) {
            let again = lex(&script::write(&parsed));
            prop_assert_eq!(again.map(|script| script.commands.len()), Ok(parsed.commands.len()));
        }
    }

    #[test]
    fn every_text_is_a_rule_or_an_error(text in any::<String>()) {
        for effect in [Effect::Allow, Effect::Ask, Effect::Deny] {
            if let Err(fault) = PermissionRule::parse(&text, effect) {
                prop_assert!(!fault.why.is_empty());
            }
        }
    }

    /// Redirections are left out: bare `Bash` of a trusted skill covers those of a script.
    #[test]
    fn loop_around_a_line_never_allows_more(rules in rules(), line in line(), code in code()) {
        let tools = PermissionRules::of_skill("x", "Bash", "");
        let skill = SkillActor { name: "x", digest: "1", trusted: true, folder: None, of_project: false, tools: &tools, ceiling: false };
        let actor = Actor { skill: Some(skill), ..Actor::default() };
        let rules: Vec<_> = rules.into_iter().filter(|(effect, _)| *effect != Effect::Allow).collect();
        let gate = gate(&rules, PermissionMode::Ask);
        let verdict = |script: &str| {
            let bound = BoundScript { script, display: script, positionals: &[], variables: &[] };
            gate.bound(&bound, &actor).decision().verdict
        };
        for line in [line, code] {
            if !lex(&line).is_ok_and(|parsed| parsed.commands.iter().all(|command| command.redirects.is_empty())) {
                continue;
            }
            let (plain, looped) = (verdict(&line), verdict(&format!("for i in 1; do {line}\ndone")));
            prop_assert!(looped >= plain, "{line:?}: {plain:?} became {looped:?} with {rules:?}");
        }
    }

    #[test]
    fn denied_programs_never_run(prefix in line(), line in line()) {
        // However the lines around it look, a plain `rm` at the start of a line is seen; unless it
        // stands in quotes, and then it does not run.
        let prefix = prefix.replace(['\'', '"', '\\'], "");
        let text = format!("{prefix}\nrm x\n{line}");
        let decision = gate(&[(Effect::Allow, "Bash"), (Effect::Deny, "Bash(rm:*)")], PermissionMode::Ask)
            .decide(&GateAction::Command { text: &text }, &Actor::default());
        prop_assert_ne!(decision.verdict, Verdict::Allow, "{:?}", text);
    }
}
