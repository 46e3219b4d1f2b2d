//! Fourth round of attacks on the gate: rules that never matched, and commands that rules missed.

use prowess_policy::{
    Actor, Effect, Gate, GateAction, PermissionRule, RuleSource, SkillAction, Verdict,
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
