//! Fourth round of attacks on the gate, as the attackers met it: through the command.

use serde_json::{Value, json};

use crate::gate_attacks::{call, converse, loads, skill, sub_run, world, writes};
use crate::world::World;

const EDITS: &str = "[permissions]\nmode = 'accept-edits'\nallow = ['Bash(echo:*)']\n";

fn bash(command: &str) -> Value {
    json!({"name": "bash", "input": {"command": command}})
}

/// Returns frontmatter in which a key cannot be read, one for each reason.
fn unread(key: &str, value: &str, other: &str) -> Vec<(&'static str, String)> {
    let big: String = (0..300)
        .map(|n| format!("  k{n}: {}\n", "v".repeat(60)))
        .collect();
    let deep = format!("{}{}", "[".repeat(30), "]".repeat(30));
    let line = format!("{key}: {value}\n");
    vec![
        ("duplicate", format!("{line}{key}: {other}\n")),
        ("reversed duplicate", format!("{key}: {other}\n{line}")),
        ("anchor", format!("{key}: &a {value}\n")),
        ("anchor elsewhere", format!("{line}x: &a b\n")),
        ("alias", format!("x: &a {value}\n{key}: *a\n")),
        ("tag", format!("{key}: !!str {value}\n")),
        ("depth", format!("{line}x: {deep}\n")),
        ("size", format!("{line}x:\n{big}")),
        (
            "size and escape",
            format!("\"{}\": {value}\nx:\n{big}", key.replace('-', "\\x2d")),
        ),
    ]
}

#[test]
fn unread_allowed_tools_allow_nothing() {
    let calls = [bash("echo RAN"), writes("w.txt", "x")];
    for (why, keys) in unread("allowed-tools", "Read", "Bash") {
        let world = world(EDITS);
        skill(&world, "~/.agents/skills", "s", &keys, "Do.");
        let output = sub_run(&world, "s", &calls);
        assert!(!output.contains("RAN\\n"), "{why}: {output}");
        assert!(!world.path("w.txt").exists(), "{why}: {output}");
    }
    // Unclosed frontmatter is a text without keys, but it restricts.
    let world = world(EDITS);
    let text = "---\nname: s\ndescription: Does it.\nallowed-tools: Read\n\nDo.\n";
    world.file("~/.agents/skills/s/SKILL.md", text);
    let output = sub_run(&world, "s", &calls);
    assert!(!world.path("w.txt").exists(), "{output}");
    // Without the key, and with a readable one, the rules decide.
    for keys in ["", "allowed-tools: Bash Write\n"] {
        skill(&world, "~/.agents/skills", "s", keys, "Do.");
        let output = sub_run(&world, "s", &calls);
        assert!(output.contains("RAN\\n"), "{keys}: {output}");
        assert!(world.path("w.txt").exists(), "{keys}: {output}");
    }
}

#[test]
fn unread_disallowed_tools_need_approval() {
    let mut cases = unread("disallowed-tools", "Bash", "Read");
    // With escapes in keys, `disable-model-invocation` may be there as well.
    cases.retain(|(why, _)| *why != "size and escape");
    for (why, keys) in cases {
        let world = world(EDITS);
        skill(&world, "~/.agents/skills", "s", &keys, "Do.");
        let output = converse(&world, &[loads("s"), bash("echo RAN")], &[]);
        assert!(!output.contains("RAN\\n"), "{why}: {output}");
    }
}

#[test]
fn unread_keys_keep_a_skill_from_models() {
    for (why, keys) in unread("disable-model-invocation", "true", "false") {
        let world = world(EDITS);
        skill(&world, "~/.agents/skills", "s", &keys, "BODYTEXT");
        let output = converse(&world, &[loads("s")], &[]);
        assert!(!output.contains("BODYTEXT"), "{why}: {output}");
    }
}

#[test]
fn unread_creator_needs_trust() {
    let nested = |text: String| match text.split_once("x:") {
        Some((head, rest)) => format!(
            "metadata:\n  {}\nx:{rest}",
            head.trim().replace('\n', "\n  ")
        ),
        None => format!("metadata:\n  {}\n", text.trim().replace('\n', "\n  ")),
    };
    let flat = unread("creator", "agent", "me").into_iter();
    let inner = unread("creator", "agent", "me").into_iter();
    let inner = inner.filter(|(why, _)| *why != "alias");
    let more: String = (0..70).map(|n| format!("  k{n}: v\n")).collect();
    let others = [
        (
            "two maps",
            "metadata:\n  creator: me\nmetadata:\n  creator: agent\n".to_owned(),
        ),
        (
            "many values",
            format!("metadata:\n{more}  creator: agent\n"),
        ),
        ("two spellings", "creator: me\nCreator: agent\n".to_owned()),
        ("list", "metadata:\n  creator: [agent]\n".to_owned()),
    ];
    let cases = flat
        .chain(inner.map(|(why, keys)| (why, nested(keys))))
        .chain(others);
    for (why, keys) in cases {
        let world = world("");
        let keys = format!("allowed-tools: Bash\n{keys}");
        skill(
            &world,
            "~/.agents/skills",
            "s",
            &keys,
            "!`echo PWN$((40+2))`",
        );
        let output = converse(&world, &[loads("s")], &[]);
        assert!(!output.contains("PWN42"), "{why}: {keys}: {output}");
        let shown = world.run(&["trust", "s"]);
        assert!(
            !format!("{}{}", shown.stdout, shown.stderr).contains("needs no trust"),
            "{why}"
        );
    }
}

#[test]
fn empty_tool_list_limits_commands_of_models() {
    let runs = |world: &World| {
        let input = json!({"reason": "x", "commandLine": "echo RAN"}).to_string();
        let command = [
            "tool",
            "call",
            "run_command_line",
            "--skill",
            "s",
            "--json",
            &input,
        ];
        world.run(&command).stdout.contains("RAN\"")
    };
    for (keys, is_run) in [
        ("", true),
        ("allowed-tools: Bash(echo:*)\n", true),
        ("allowed-tools: []\n", false),
        ("allowed-tools: \"\"\n", false),
        ("allowed-tools: Read\n", false),
    ] {
        let world = world(EDITS);
        skill(&world, "~/.agents/skills", "s", keys, "Do.");
        assert_eq!(runs(&world), is_run, "{keys}");
    }
}

const GUARD: &str = "allowed-tools: Bash\nhooks:\n  PreToolUse:\n    - matcher: Write\n      hooks:\n        \
                     - type: command\n          command: CHECK\n";

#[test]
fn project_does_not_switch_off_hooks() {
    let guard = GUARD.replace("CHECK", "echo GUARDED >&2; exit 2");
    let calls = [loads("guard"), writes("w.txt", "x")];
    for settings in [
        "[permissions]\ndeny = ['Bash']\n",
        "[permissions]\nask = ['Bash']\n",
        "[permissions]\nskill-commands = false\n",
        "[permissions]\ndeny = ['skill:guard/run']\n",
        "[permissions]\ndeny = ['Skill(guard)']\n",
    ] {
        let world = world(EDITS);
        skill(&world, "~/.agents/skills", "guard", &guard, "Guards.");
        world.file(".agents/prowess.toml", settings);
        let output = converse(&world, &calls, &[]);
        // A skill that cannot be loaded has no hooks; the rule says so.
        let is_loaded = !settings.contains("Skill(");
        assert_eq!(
            world.path("w.txt").exists(),
            !is_loaded,
            "{settings}: {output}"
        );
        if !is_loaded {
            continue;
        }
        let recorded = output.lines().filter(|line| line.contains("\"decided\""));
        let recorded: Vec<&str> = recorded.filter(|line| line.contains("GUARDED")).collect();
        assert!(!recorded.is_empty(), "{settings}: {output}");
        for command in [&["why", "guard"][..], &["doctor"]] {
            let output = world.run(command).stdout;
            assert!(
                output.contains("GUARDED"),
                "{settings}: {command:?}: {output}"
            );
        }
    }
}

#[test]
fn hook_that_needs_approval_does_not_let_calls_through() {
    let world = world(EDITS);
    let check = "python3 -c \"import sys; sys.exit(2)\"";
    let guard = GUARD.replace("CHECK", check);
    skill(&world, "~/.agents/skills", "guard", &guard, "Guards.");
    skill(
        &world,
        "~/.agents/skills",
        "other",
        "disallowed-tools: Bash(rm:*)\n",
        "Strict.",
    );
    let calls = [loads("guard"), loads("other"), writes("w.txt", "x")];
    let output = converse(&world, &calls, &[]);
    assert!(!world.path("w.txt").exists(), "{output}");
    assert!(output.contains("could not run"), "{output}");
}

#[test]
fn arguments_do_not_choose_instructions() {
    let world = world("");
    world.file_with_mode("x", "#!/bin/sh\necho PWN$((40+2)) >&2\n", 0o755);
    world.file("Makefile", "all:\n\t@echo $(V)\n");
    world.file("d/Makefile", "all:\n\t@echo PWN$$((40+2))\n");
    world.file("c.py", "print('PWN%d' % 42)\n");
    let cases = [
        ("V=\"$0\" make", "$(shell ./x)"),
        ("export V=\"$0\"; make", "$(shell ./x)"),
        ("export x=\"$0\"; make -f - <<< 'a:;$(x)'", "./x"),
        ("make -f d/\"$0\"", "Makefile"),
        ("npm --prefix \"$0\" test", "d"),
        ("git -C \"$0\" status", "d"),
        ("git --git-dir \"$0\" status", "d"),
        ("cd -- \"$0\" && git status", "d"),
        ("python3 -m unittest \"$0\"", "c"),
    ];
    for (number, (command, argument)) in cases.iter().enumerate() {
        let name = format!("q{number}");
        let body = format!("```!\n{command}\n```");
        skill(
            &world,
            "~/.agents/skills",
            &name,
            "allowed-tools: Bash\n",
            &body,
        );
        let input = json!({ "name": name, "arguments": [argument] });
        let text = call(&world, "load_skill", &input);
        assert!(!text.contains("PWN42"), "{command}: {text}");
        let is_refused = text.contains("cannot be used safely") || text.contains("the value of");
        assert!(is_refused, "{command}: {text}");
    }
}

#[test]
fn grants_for_scripts_do_not_move_to_other_folders() {
    let settings =
        "[permissions]\nallow = ['Bash(cd:*)', 'Bash(bash build.sh:*)', 'Bash(./build.sh:*)']\n";
    let world = world(settings);
    let other = "#!/bin/sh\necho PWN$((40+2))\n";
    world.file_with_mode("build.sh", "#!/bin/sh\necho GOOD\n", 0o755);
    world.file_with_mode("third_party/build.sh", other, 0o755);
    skill(&world, "~/.agents/skills", "s", "", "Do.");
    world.file_with_mode("~/.agents/skills/s/build.sh", other, 0o755);
    let as_skill = |line: &str| json!({"name": "run_command_line", "input": {"reason": "x", "commandLine": line}});
    let calls = [
        loads("s"),
        bash("cd third_party && bash build.sh"),
        bash("cd third_party && ./build.sh"),
        as_skill("./build.sh"),
        as_skill("bash build.sh"),
    ];
    let output = converse(&world, &calls, &[]);
    assert!(!output.contains("PWN42"), "{output}");
    let output = converse(&world, &[bash("bash build.sh"), bash("./build.sh")], &[]);
    assert_eq!(output.matches("GOOD\\n").count(), 2, "{output}");
}

#[test]
fn deny_rules_that_match_nothing_are_reported() {
    for (rule, hint) in [
        ("Read:.env", "`Read(.env)`"),
        ("Skill(deploy prod*)", "`skill:deploy/load:prod*`"),
        ("bash(rm:*)", "`Bash(rm:*)`"),
    ] {
        let world = world(&format!(
            "[permissions]\nallow = ['Bash']\ndeny = ['{rule}']\n"
        ));
        let output = world.run(&["policy", "check", "--", "rm x"]);
        assert!(
            !output.stdout.starts_with("allow"),
            "{rule}: {}",
            output.stdout
        );
        let output = world.run(&["policy", "show"]);
        assert!(output.stderr.contains(hint), "{rule}: {}", output.stderr);
    }
}
