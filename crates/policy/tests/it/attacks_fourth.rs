//! Fourth round of attacks on the gate: rules that never matched, and commands that rules missed.

use prowess_policy::{
    Actor, Effect, Gate, GateAction, PermissionMode, PermissionRule, PermissionRules, RuleSource,
    SkillAction, SkillActor, Verdict,
};

use Verdict::{Allow, Ask, Deny};

fn gate(allow: &[&str], deny: &[&str]) -> Gate {
    let mut gate = Gate::default();
    for (effect, list) in [(Effect::Allow, allow), (Effect::Deny, deny)] {
        for text in list {
            gate.rules.add(effect, text, RuleSource::Flag);
        }
    }
    gate
}

fn verdict(gate: &Gate, text: &str) -> Verdict {
    let decision = gate.decide(&GateAction::Command { text }, &Actor::default());
    decision.verdict
}

fn loading(gate: &Gate, name: &str, arguments: &str) -> Verdict {
    let action = GateAction::Skill {
        name,
        also: &[],
        action: SkillAction::Load,
        arguments,
    };
    gate.decide(&action, &Actor::default()).verdict
}

#[test]
fn rules_that_match_nothing_are_invalid() {
    for (rule, hint) in [
        ("Skill(deploy prod*)", "`skill:deploy/load:prod*`"),
        ("Skill(deploy prod)", "`skill:deploy/load:prod`"),
        ("Skill(deploy prod *)", "`skill:deploy/load:prod`"),
        ("Skill(deploy/load)", "`skill:deploy/load`"),
        ("Skill(deploy/Run)", "`skill:deploy/run`"),
        ("Skill(\"deploy\")", "without quotes"),
        ("Skill(a,b)", "one rule for each"),
        ("Skill(/deploy)", "`Skill(deploy)`"),
        ("Skill(name:deploy)", "`Skill(deploy)`"),
        ("skill:deploy prod", "`skill:deploy/load:prod`"),
        ("skill:deploy/Load", "`skill:deploy/load`"),
        ("Read:.env", "`Read(.env)`"),
        ("Write:out", "`Write(out)`"),
        ("Bash:rm", "`Bash(rm)`"),
        ("file:.env", "`file(.env)`"),
        ("Read(\".env\")", "`Read(.env)`"),
        ("Read('.env')", "`Read(.env)`"),
        ("read:\".env\"", "`Read(.env)`"),
        ("Read(.env, a)", "one rule for each"),
        ("Read({.env,a})", "one rule for each"),
        ("Read(.env|a)", "one rule for each"),
        ("Read(path:.env)", "`Read(.env)`"),
        ("Read(file_path:.env)", "`Read(.env)`"),
        ("read(file:.env)", "`Read(.env)`"),
        ("Read(!.env)", "negated"),
        ("Read($HOME/.env)", "not expanded"),
        ("Bash(command:rm*)", "`Bash(rm*)`"),
        ("Bash(rm:x)", "`Bash(rm:*)`"),
        ("Bash(rm:*, mv:*)", "one rule for each"),
    ] {
        for effect in [Effect::Deny, Effect::Ask] {
            let fault = PermissionRule::parse(rule, effect).expect_err(rule);
            assert!(fault.why.contains(hint), "{rule}: {}", fault.why);
        }
        // Every request needs approval.
        let gate = gate(&["Bash(ls:*)"], &[rule]);
        assert_eq!(verdict(&gate, "ls"), Ask, "{rule}");
        assert_eq!(loading(&gate, "deploy", ""), Ask, "{rule}");
    }
}

#[test]
fn ordinary_rules_are_still_valid() {
    for rule in [
        "Skill(deploy)",
        "Skill(deploy *)",
        "Skill(deploy:*)",
        "Skill(apps/web:deploy)",
        "Skill(deploy*)",
        "skill:deploy/load:prod x",
        "skill:apps/web:deploy/run",
        "Bash(npm run test:unit)",
        "Bash(npm run test:*)",
        "Bash(rm:*)",
        "Bash(rm *)",
        "Bash(rsync a host:b)",
        "bash(command:rm*)",
        "Task(model:opus)",
        "Read(src/[ab].rs)",
        "Read(~/notes/**)",
        "Read(a b.txt)",
        "mcp__github__list",
        "mcp:github/list",
    ] {
        let parsed = PermissionRule::parse(rule, Effect::Deny);
        assert!(parsed.is_ok(), "{rule}: {parsed:?}");
    }
    for rule in ["Read(Smith, John.pdf)", "Edit(a{b,c}.txt)"] {
        let parsed = PermissionRule::parse(rule, Effect::Allow);
        assert!(parsed.is_ok(), "{rule}: {parsed:?}");
    }
}

#[test]
fn lower_case_rules_about_bash_are_rules_about_commands() {
    for rule in ["bash(rm:*)", "BASH(rm:*)", "bash(rm *)"] {
        let gate = gate(&["Bash"], &[rule]);
        assert_eq!(verdict(&gate, "rm x"), Deny, "{rule}");
        assert_eq!(verdict(&gate, "ls"), Allow, "{rule}");
        let parsed = PermissionRule::parse(rule, Effect::Deny).expect(rule);
        assert!(
            parsed
                .usual_spelling()
                .is_some_and(|it| it.starts_with("Bash(rm")),
            "{rule}"
        );
    }
    let fault = PermissionRule::parse("bash(rm:*)", Effect::Allow).expect_err("a grant");
    assert!(fault.why.contains("`Bash(rm:*)`"), "{}", fault.why);
    let usual = PermissionRule::parse("Bash(rm:*)", Effect::Deny).expect("a rule");
    assert_eq!(usual.usual_spelling(), None);
}

#[test]
fn colon_in_a_rule_about_a_skill_may_precede_arguments() {
    for rule in ["Skill(deploy:prod)", "skill:deploy:prod"] {
        let gate = gate(&[], &[rule]);
        assert_eq!(loading(&gate, "deploy", "prod"), Deny, "{rule}");
        assert_eq!(loading(&gate, "deploy", "'prod'"), Deny, "{rule}");
        assert_eq!(loading(&gate, "deploy:prod", ""), Deny, "{rule}");
        assert_eq!(loading(&gate, "deploy", "test"), Allow, "{rule}");
        assert_eq!(loading(&gate, "deploy", ""), Allow, "{rule}");
    }
    // An allow rule has one meaning.
    let gate = gate(&["Skill(deploy:prod)"], &[]);
    assert_eq!(loading(&gate, "deploy", "prod"), Ask);
}

#[test]
fn values_of_all_options_are_judged() {
    let free = gate(&["Bash"], &[]);
    let banned = gate(&["Bash"], &["Bash(rm:*)"]);
    for line in [
        "git clone -c core.sshCommand='rm x' a:b d",
        "git clone --config=core.sshCommand='rm x' a:b d",
        "strace -o'|rm x' true",
        "strace --output='|rm x' true",
        "dpkg --pre-invoke='rm x' -i a.deb",
        "dpkg --post-invoke 'rm x' --configure -a",
        "hyperfine --prepare='rm x' ls",
        "hyperfine -p 'rm x' ls",
        "hyperfine --setup 'rm x' --cleanup 'rm y' ls",
    ] {
        assert_eq!(verdict(&banned, line), Deny, "{line}");
        assert_eq!(verdict(&free, line), Allow, "{line}");
    }
    // Options that are not in the table may take commands.
    for line in [
        "watchexec --on-start='rm x' ls",
        "strace -o '!rm x' true",
        "nice --unheard-of='rm x' ls",
    ] {
        assert_ne!(verdict(&banned, line), Allow, "{line}");
    }
    for line in [
        "git clone -c user.name=rm https://h/r d",
        "strace -o out.txt true",
        "hyperfine --prepare='sync' ls",
        "dpkg -l",
        "timeout 5 ls src/*.rs",
    ] {
        assert_eq!(verdict(&banned, line), Allow, "{line}");
    }
}

fn yolo() -> Gate {
    Gate {
        mode: PermissionMode::Yolo,
        ..gate(&[], &["Bash(rm:*)"])
    }
}

#[test]
fn quotes_braces_and_patterns_hide_no_programs() {
    let gate = yolo();
    for line in [
        "echo \"${z-'$(rm x)'}\"",
        "echo \"${z:='`rm x`'}\"",
        "echo \"${z-'}$(rm x)'\"",
        "cat <<E\n${z-'$(rm x)'}\nE",
        "cat <<-E\n\t${z-'$(rm x)'}\n\tE",
        "cat <<E\ndon't\nE\nrm x\necho 'a'",
        "cat <<'E'\ndon't\nE\nrm x\necho 'a'",
        "cat <<A <<B\nit's\nA\nb\nB\nrm x # '",
        "bash <<E\nrm x\nE",
        "/bin/{r..r}m x",
        "/bin/{r..r}{m..m} x",
        "/bin/{q..s}m x",
        "{{r,s}m,x}",
        "env /bin/{r..r}m x",
        "/bin/r[]m] x",
        "/bin/r[!]a-l] x",
        "/bin/r[[:alpha:]] x",
        "env /bin/r[]m] x",
        "nice /bin/r[]m] x cat",
        "/bin/s[]m] x",
        "shopt -s extglob\n/bin/r@(m) x",
        "shopt -s extglob\n/bin/+(r)m x",
        "bash -O extglob -c '/bin/r@(m) x'",
    ] {
        assert_eq!(verdict(&gate, line), Deny, "{line:?}");
    }
    for line in [
        "echo \"${z:-'none'}\"",
        "echo \"${z#'a'}\" \"${z%\\'}\"",
        "for i in {1..3}; do echo $i; done",
        "echo {a..z} {x,y}",
        "mkdir -p src/{a,b}/{c,d}",
        "cat <<E\ndon't\nE\necho done",
        "cat > f <<'E'\nit's $(rm x)\nE",
        "ls src/*.rs [ab].txt",
        "[ -f x ] && ls",
        "case $x in a*) ls;; b*) ls;; esac",
    ] {
        let decision = gate.decide(&GateAction::Command { text: line }, &Actor::default());
        assert_eq!(decision.verdict, Allow, "{line:?} {decision:?}");
    }
}

#[test]
fn approval_in_advance_leaves_deny_rules_in_force() {
    let approved = |rule: &str, deny: &[&str], line: &str| {
        let mut gate = gate(&[], deny);
        gate.approvals
            .add(Effect::Allow, rule, RuleSource::Approval);
        verdict(&gate, line)
    };
    for line in [
        "bash -c '$0 x' rm",
        "bash -c '/bin/s@(m) x'",
        "python3 -c 'import os; os.system(\"r\" + \"m x\")'",
    ] {
        assert_ne!(approved("Bash", &["Bash(rm:*)"], line), Allow, "{line}");
        assert_eq!(approved("Bash", &[], line), Allow, "{line}");
        // Exactly this line was approved.
        let exact = format!("Bash({line})");
        assert_eq!(approved(&exact, &["Bash(rm:*)"], line), Allow, "{line}");
    }
    assert_eq!(approved("Bash", &["Bash(rm:*)"], "ls"), Allow);
    assert_eq!(approved("Bash", &["Bash(rm:*)"], "rm x"), Deny);
    // Deny rules of loaded skills count as well.
    let restrictions = PermissionRules::of_skill("s", "", "Bash(rm:*)");
    let mut gate = gate(&[], &[]);
    gate.approvals
        .add(Effect::Allow, "Bash", RuleSource::Approval);
    let action = GateAction::Command {
        text: "bash -c '$0 x' rm",
    };
    let decision = gate.decide(&action, &Actor::default().within(&restrictions));
    assert_eq!(decision.verdict, Ask);
}

#[test]
fn grants_for_scripts_stay_in_their_folder() {
    let rules = [
        "Bash(cd:*)",
        "Bash(bash build.sh:*)",
        "Bash(python3 scripts/fill.py:*)",
        "Bash(node tools/*)",
        "Bash(make -f build.mk)",
        "Bash(ls:*)",
        "Bash(npm run build)",
        "Bash(ruby:*)",
    ];
    let gate = gate(&rules, &[]);
    for (line, expected) in [
        ("bash build.sh", Allow),
        ("python3 scripts/fill.py x", Allow),
        ("node tools/a.js", Allow),
        ("make -f build.mk", Allow),
        ("cd third_party && bash build.sh", Ask),
        ("cd third_party; python3 scripts/fill.py", Ask),
        ("cd third_party && node tools/a.js", Ask),
        ("cd third_party && make -f build.mk", Ask),
        ("cd third_party && ls", Allow),
        ("cd third_party && npm run build", Allow),
        // The rule is about every script.
        ("cd third_party && ruby x.rb", Allow),
    ] {
        assert_eq!(verdict(&gate, line), expected, "{line}");
    }
}

#[test]
fn rules_for_relative_programs_are_about_the_project() {
    let tools = PermissionRules::of_skill("s", "Bash(./own.sh:*) Bash(bash own.sh)", "");
    let actor = Actor {
        skill: Some(SkillActor {
            name: "s",
            digest: "sha256:1",
            trusted: true,
            folder: Some("/skills/s"),
            of_project: false,
            tools: &tools,
            ceiling: false,
        }),
        ..Actor::default()
    };
    let mut gate = gate(
        &["Bash(./build.sh:*)", "Bash(bash build.sh:*)", "Bash(ls:*)"],
        &[],
    );
    gate.places.root = "/project".into();
    for (folder, expected) in [
        ("/project", Allow),
        ("/project/.agents/skills/s", Ask),
        ("/skills/s", Ask),
    ] {
        gate.places.cwd = Some(folder.into());
        let decide = |text| gate.decide(&GateAction::Command { text }, &actor).verdict;
        for line in ["./build.sh", "bash build.sh x"] {
            assert_eq!(decide(line), expected, "{folder}: {line}");
        }
        assert_eq!(decide("ls"), Allow, "{folder}");
        // The rules of the skill are about its own folder.
        let own = if folder == "/skills/s" { Allow } else { Ask };
        for line in ["./own.sh", "bash own.sh"] {
            assert_eq!(decide(line), own, "{folder}: {line}");
        }
    }
}

#[test]
fn abbreviated_options_for_folders_are_followed() {
    let gate = gate(&["Bash"], &["Edit(keep/**)"]);
    for line in [
        "env --chd=keep touch a",
        "env --chdir=keep touch a",
        "env --chd keep touch a",
        "env -Ckeep touch a",
    ] {
        assert_eq!(verdict(&gate, line), Deny, "{line}");
    }
}
