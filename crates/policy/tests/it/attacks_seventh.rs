//! Seventh round of attacks: names of programs that are only known when a line runs, other ways of
//! reading a line than bash's, grants in other folders. `docs/dev/audits.md` lists the finding of each
//! test.

use prowess_policy::{
    Actor, ApprovalAnswer, BoundScript, Effect, Gate, GateAction, GateOutcome, PermissionMode,
    PermissionRule, PermissionRules, RuleSource, SkillActor, Verdict,
};

fn gate(allow: &[&str], deny: &[&str]) -> Gate {
    let mut gate = Gate::default();
    for (effect, list) in [(Effect::Allow, allow), (Effect::Deny, deny)] {
        for text in list {
            gate.rules.add(effect, text, RuleSource::Flag);
        }
    }
    gate.places.root = "/p".into();
    gate
}

fn skill(tools: &PermissionRules) -> Actor<'_> {
    Actor {
        skill: Some(SkillActor {
            name: "x",
            digest: "sha256:1",
            trusted: true,
            folder: Some("/s/x"),
            of_project: false,
            tools,
            ceiling: false,
        }),
        ..Actor::default()
    }
}

fn bound(script: &str) -> BoundScript<'_> {
    BoundScript {
        script,
        display: script,
        positionals: &[],
        variables: &[],
    }
}

/// Lines that run `date` although a rule denies it.
const HIDDEN: &[&str] = &[
    "x=te; da$x +RAN",
    "x=te; da\"$x\" +RAN",
    "x=te; da${x} +RAN",
    "/bin/$(echo date) +RAN",
    "/bin/`echo date` +RAN",
    "x=te; if da$x; then :; fi",
    "x=te; { da$x; }",
    "x=te; (da$x)",
    "x=te; echo $(da$x)",
    "x=te; echo \"$(da$x)\"",
    "x=te; ((da$x) ; (echo a))",
    "x=te; echo $((da$x); (echo a))",
    "x=te; a=(b); da$x",
    "x=te; case q in q) da$x;; esac",
    "x=te; bash <<E\nda$x +RAN\nE",
    "$'\\x{64}ate' +RAN",
    "$'\\x{164}ate' +RAN",
    "$'\\544ate' +RAN",
    "$'date\\0z' +RAN",
    "$'da\\0z'te +RAN",
    "$'date\\x{}z' +RAN",
    "# don't\necho ${#x}; date +RAN\n: }",
    "# don't\necho ${x:-a #b}; date +RAN\n: }",
    "# don't\n((1 #)); date +RAN",
    "# don't\necho a\r#b; date +RAN",
    "cat <<\"$E\"\nit's\n$E\ndate +RAN",
    "cat <<'a$E'\nit's\na$E\ndate +RAN",
    "cat <<\\$E\nit's\n$E\ndate +RAN",
    "echo $(date +RAN case in 2>&1); case q in a) ;; \\esac) ;; \\esac) ;; esac",
    "echo \"$(case q in\nq) date +RAN;; esac)\"",
    "echo \"$(case q\nin q) date +RAN;; esac)\"",
    "echo \"$(case q in (q) date +RAN;; esac)\"",
    "echo \"$(case q in a|q) date +RAN;; esac)\"",
    "echo \"$(case q in a) ;; q) date +RAN; esac)\"",
    "echo \"$(case q in q) ;; esac; date +RAN)\"",
    "echo \"$(\\case in; date +RAN)\"",
    "echo $(>f case q in; date +RAN)\n: ;esac)",
    "echo $(>f case q in\ndate)\n: ;esac)",
    "x=te; ((${x:-((} )) || da$x ${z:-))}",
    "x=te; (($[ 1 ] )) || da$x",
    "x=te; do$x +RAN",
    "cat <<E\n\tE\n'\nE\ndate +RAN\n: '",
    "cat <<E\nE\r\n'\nE\ndate +RAN\n: '",
    "cat <<E\nfoo\\\nE\n'\nE\ndate +RAN\n: '",
    "cat <<E\n\\\nE\ndate +RAN",
    "cat <<E\r\nit's\r\nE\r\ndate +RAN",
    "cat <<E\n'\nE\\\n\ndate +RAN\n: '",
];

/// Lines that run no `date`, in ways that must not be taken for one.
const HONEST: &[&str] = &[
    "echo $(( $x + 1 ))",
    "i=0; while (( i < $n )); do i=$((i + 1)); done",
    "a=($x $y); echo ok",
    "a=(\n  $x\n  $y\n); echo ok",
    "echo ${x:-$HOME/y}",
    "echo ${x%$y.z}",
    "echo ${#x} # it's fine",
    "# don't worry\necho ok",
    "case $x in $y) echo a;; b|$z) echo b;; esac",
    "for f in $x; do echo \"$f\"; done",
    "x=$y; echo $x",
    "[ \"$x\" = y ] && echo $x",
    "cat <<E\n$HOME/bin\nE",
    "cat <<'E'\n$HOME/bin\nE",
    "echo $(case $x in a) echo b;; esac)",
    "f() { echo $1; }; f $x",
    "cat <<-E\n\tit's\n\tE\necho ok",
    "cat <<E\na \\\nb\nE\necho ok",
    "echo $((${x} + ${#a[@]}))",
    ">out case; echo ok",
];

/// S5: a trusted skill with bare `Bash` ran what a rule denies.
#[test]
fn hidden_programs_of_trusted_skills_are_asked_about() {
    let tools = PermissionRules::of_skill("x", "Bash", "");
    let gate = gate(&[], &["Bash(date:*)"]);
    for script in HIDDEN {
        let outcome = gate.bound(&bound(script), &skill(&tools));
        let verdict = outcome.decision().verdict;
        assert_ne!(verdict, Verdict::Allow, "{script}");
    }
    for script in HONEST {
        let outcome = gate.bound(&bound(script), &skill(&tools));
        assert_eq!(
            outcome.decision().verdict,
            Verdict::Allow,
            "{script}: {outcome:?}"
        );
    }
}

/// S5: mode `yolo` does not prompt, so it denies.
#[test]
fn hidden_programs_are_denied_in_mode_yolo() {
    let mut gate = gate(&[], &["Bash(date:*)"]);
    gate.mode = PermissionMode::Yolo;
    let decide = |text| gate.decide(&GateAction::Command { text }, &Actor::default());
    for text in HIDDEN.iter().chain(&["x=date; $x", "x=te; env da$x"]) {
        let decision = decide(text);
        assert_eq!(decision.verdict, Verdict::Deny, "{text}: {decision:?}");
    }
    for text in HONEST {
        let decision = decide(text);
        assert_eq!(decision.verdict, Verdict::Allow, "{text}: {decision:?}");
    }
    // Without a rule about commands, the name of a program hides nothing.
    let mut gate = self::gate(&[], &["Read(.env)"]);
    gate.mode = PermissionMode::Yolo;
    let action = GateAction::Command { text: "$EDITOR a" };
    assert_eq!(
        gate.decide(&action, &Actor::default()).verdict,
        Verdict::Allow
    );
}

/// S6: a pattern for a bare name matched a program of the project in a folder of that name.
#[test]
fn pattern_for_a_bare_name_matches_no_path() {
    let verdict = |rule: &str, text: &str| {
        let action = GateAction::Command { text };
        gate(&[rule], &[])
            .decide(&action, &Actor::default())
            .verdict
    };
    for (rule, text) in [
        ("Bash(git*)", "git/x"),
        ("Bash(g*t status)", "g/evil/t status"),
        ("Bash(git* status)", "git/x status"),
        ("bash:git*", "git/x"),
    ] {
        assert_eq!(verdict(rule, text), Verdict::Ask, "{rule}: {text}");
    }
    for (rule, text) in [
        ("Bash(git*)", "git status"),
        ("Bash(git*)", "git add a/b"),
        ("Bash(./scripts/*)", "./scripts/x"),
        ("Bash(ls*)", "ls /tmp"),
    ] {
        assert_eq!(verdict(rule, text), Verdict::Allow, "{rule}: {text}");
    }
}

/// S8: core-agent's spelling allowed all servers and all tools.
#[test]
fn allow_rules_for_all_tools_are_invalid_in_each_spelling() {
    for rule in [
        "mcp__*",
        "mcp:*",
        "mcp:*/read",
        "mcp:f*",
        "tool:*",
        "tool:mcp__*",
        "tool:a*",
    ] {
        assert!(
            PermissionRule::parse(rule, Effect::Allow).is_err(),
            "{rule}"
        );
        assert!(PermissionRule::parse(rule, Effect::Deny).is_ok(), "{rule}");
    }
    for rule in ["mcp:fs", "mcp:fs/*", "mcp:fs/re*", "tool:x", "mcp__fs"] {
        assert!(PermissionRule::parse(rule, Effect::Allow).is_ok(), "{rule}");
    }
}

/// S1: the relative rule of a skill was about the project's file of the same name.
#[test]
fn relative_rules_of_a_skill_are_about_its_folder() {
    let tools = PermissionRules::of_skill(
        "x",
        "Bash(./check.sh) Bash(python3 run.py:*) Bash(git add:*)",
        "",
    );
    let mut gate = gate(&["Bash(./own.sh)"], &[]);
    let decide = |gate: &Gate, text| {
        let action = GateAction::Command { text };
        gate.decide(&action, &skill(&tools)).verdict
    };
    for text in ["./check.sh", "python3 run.py", "python3 run.py -v"] {
        assert_eq!(decide(&gate, text), Verdict::Ask, "{text}");
        let outcome = gate.bound(&bound(text), &skill(&tools));
        assert_eq!(outcome.decision().verdict, Verdict::Ask, "{text}");
    }
    assert_eq!(decide(&gate, "git add a"), Verdict::Allow);
    assert_eq!(decide(&gate, "./own.sh"), Verdict::Allow);
    gate.places.cwd = Some("/s/x".into());
    for text in ["./check.sh", "python3 run.py", "git add a"] {
        assert_eq!(decide(&gate, text), Verdict::Allow, "{text}");
    }
    assert_eq!(decide(&gate, "./own.sh"), Verdict::Ask);

    // A skill of the project names files of the project.
    gate.places.cwd = None;
    let mut actor = skill(&tools);
    actor.skill.as_mut().unwrap().of_project = true;
    let action = GateAction::Command { text: "./check.sh" };
    assert_eq!(gate.decide(&action, &actor).verdict, Verdict::Allow);
}

/// S2: `--approve` with a relative path approved the file of the same name in a skill.
#[test]
fn approval_of_a_relative_path_is_about_the_project() {
    let tools = PermissionRules::default();
    let mut gate = gate(&[], &[]);
    gate.approvals
        .add(Effect::Allow, "Bash(./check.sh)", RuleSource::Approval);
    let action = GateAction::Command { text: "./check.sh" };
    assert_eq!(gate.decide(&action, &skill(&tools)).verdict, Verdict::Allow);
    gate.places.cwd = Some("/s/x".into());
    assert_eq!(gate.decide(&action, &skill(&tools)).verdict, Verdict::Ask);
}

/// S2: an answer covered the same text in another folder. S4: it is a person's decision.
#[test]
fn grants_are_for_one_folder() {
    let tools = PermissionRules::default();
    let mut gate = gate(&[], &[]);
    for text in ["python3 run.py", "python3 run.py; for x in a; do :; done"] {
        gate.places.cwd = Some("/s/x".into());
        let GateOutcome::Ask(pending) = gate.command(text, &skill(&tools)) else {
            panic!("{text}");
        };
        let grant = pending.answer(ApprovalAnswer::Session).unwrap().1;
        gate.grants.extend(grant);
        let action = GateAction::Command { text };
        let decision = gate.decide(&action, &skill(&tools));
        assert_eq!(decision.verdict, Verdict::Allow, "{text}");
        assert!(decision.grant.is_some(), "{text}");
        for other in [None, Some("/s".into()), Some("/p".into())] {
            gate.places.cwd = other;
            let decision = gate.decide(&action, &skill(&tools));
            assert_eq!(decision.verdict, Verdict::Ask, "{text}");
        }
    }
}

/// S11: a grant for a script lifted a mode that was set later, a ceiling and lost trust.
#[test]
fn grants_for_scripts_answer_prompts_only() {
    let tools = PermissionRules::default();
    let mut gate = gate(&[], &[]);
    for script in ["echo RAN", "echo RAN $HOME"] {
        let decide =
            |gate: &Gate, actor: &Actor<'_>| gate.bound(&bound(script), actor).decision().clone();
        let GateOutcome::Ask(pending) = gate.bound(&bound(script), &skill(&tools)) else {
            panic!("{script}");
        };
        gate.grants
            .extend(pending.answer(ApprovalAnswer::Session).unwrap().1);
        let mut confined = skill(&tools);
        let mut untrusted = skill(&tools);
        if let (Some(confined), Some(untrusted)) = (&mut confined.skill, &mut untrusted.skill) {
            confined.ceiling = true;
            untrusted.trusted = false;
        }
        assert_eq!(decide(&gate, &confined).verdict, Verdict::Deny, "{script}");
        assert_eq!(decide(&gate, &untrusted).verdict, Verdict::Deny, "{script}");
        for (mode, expected) in [
            (PermissionMode::Plan, Verdict::Deny),
            (PermissionMode::Allow, Verdict::Allow),
            (PermissionMode::Ask, Verdict::Allow),
        ] {
            gate.mode = mode;
            let decision = decide(&gate, &skill(&tools));
            assert_eq!(decision.verdict, expected, "{script} {mode:?}");
        }
    }
}

/// S7: rules about an argument were not compared with the members of lists and objects in it.
#[test]
fn rules_about_arguments_read_lists_and_objects() {
    let many = format!("[{}\"prod\"]", "1,".repeat(5_000));
    let gate = gate(&[], &["load_skill(arguments:prod*)"]);
    let verdict = |given: &str| {
        let action = GateAction::Tool {
            name: "load_skill",
            also: &[],
            arguments: &[("arguments", given)],
        };
        gate.decide(&action, &Actor::default()).verdict
    };
    for given in [
        "prod",
        " prod",
        "'prod'",
        "[\"prod\"]",
        "{\"to\":\"prod\"}",
        "[1, \"prod x\"]",
        &many,
    ] {
        assert_eq!(
            verdict(given),
            Verdict::Deny,
            "{}",
            &given[..given.len().min(40)]
        );
    }
    assert_ne!(verdict("[\"staging\"]"), Verdict::Deny);
}

/// S14: programs of the table that start what an option names.
#[test]
fn options_of_listed_programs_hide_no_programs() {
    let gate = gate(&["Bash"], &["Bash(rm:*)"]);
    let verdict = |text| {
        gate.decide(&GateAction::Command { text }, &Actor::default())
            .verdict
    };
    for text in [
        "tcpdump -z rm -w a",
        "gpg --photo-viewer \"rm x\" a",
        "aria2c --on-download-complete=rm u",
        "sops exec-env f \"rm x\"",
        "flatpak run --command=rm a x",
        "etcdctl lock a rm x",
        "ip -all netns exec rm x",
        "latexmk -pdflatex=\"rm x\" a",
        "latexmk -pdflatex=rm a",
        "mutt -e \"!rm x\"",
        "smbclient -c \"!rm x\" //h/s",
        "smbclient -c \"ls; !rm x\" //h/s",
        "smbclient -c \"!rm\" //h/s",
        "terragrunt exec -- rm x",
        "oc rsh p rm x",
        "rsh h rm x",
        "rclone --password-command \"rm x\" ls a:",
        "msmtp --passwordeval=\"rm x\" a",
    ] {
        assert_ne!(verdict(text), Verdict::Allow, "{text}");
    }
    for text in [
        "gpg --verify a.sig a",
        "ip addr show",
        "oc get pods",
        "latexmk -pdf a.tex",
        "terragrunt plan",
    ] {
        assert_eq!(verdict(text), Verdict::Allow, "{text}");
    }
}
