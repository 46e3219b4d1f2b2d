//! Second round of attacks on the gate, as the attackers met it: through the command.

use serde_json::{Value, json};

use crate::world::World;

const SANDBOX: &str = "[sandbox]\nstrength = 'best-effort'\n";

pub(crate) fn world(settings: &str) -> World {
    let world = World::new();
    world.file("~/config.toml", format!("{settings}{SANDBOX}"));
    world
}

pub(crate) fn skill(world: &World, folder: &str, name: &str, keys: &str, body: &str) {
    let text =
        format!("---\nname: {name}\ndescription: Does it. Use when asked.\n{keys}---\n{body}\n");
    world.file(format!("{folder}/{name}/SKILL.md"), text);
}

/// Returns everything that a call of a tool prints.
pub(crate) fn call(world: &World, tool: &str, input: &Value) -> String {
    let output = world.run(&["tool", "call", tool, "--json", &input.to_string()]);
    format!("{}{}", output.stdout, output.stderr)
}

/// Runs a scripted conversation. Each call is one turn.
pub(crate) fn converse(world: &World, calls: &[Value], more: &[&str]) -> String {
    let turns = calls.iter().map(|call| json!({ "calls": [call] }));
    let turns = turns.chain([json!({"text": "done"})]);
    let text: String = turns.map(|turn| format!("{turn}\n")).collect();
    let model = format!("scripted:{}", world.file("~/script.jsonl", text).display());
    let mut arguments = vec![
        "run",
        "--task",
        "go",
        "--no-wait",
        "--model",
        &model,
        "--json",
    ];
    arguments.extend(more);
    world.run(&arguments).stdout
}

const ARITHMETIC: &str = "a[$(echo PWN$((40+2)) >&2)]";

#[test]
fn arguments_of_commands_do_not_become_code() {
    let world = world("");
    world.file("f.txt", "a\n");
    world.file("Makefile", "all:\n\t@echo hi\n");
    world.file_with_mode("x", "#!/bin/sh\necho PWN$((40+2)) >&2\n", 0o755);
    let cases = [
        (
            "echo \"$1\"; for n; do t=$((t+n)); done; echo $t",
            vec!["1", ARITHMETIC],
        ),
        (
            "sum() { local t=0; for n; do t=$((t+n)); done; echo $t; }; sum \"$0\" \"$1\"",
            vec!["1", ARITHMETIC],
        ),
        (
            "bash -c 'for i; do echo $((i)); done' _ \"$0\"",
            vec![ARITHMETIC],
        ),
        ("perl -ne 'print' \"$0\"", vec!["echo PWN$((40+2))|"]),
        ("perl -pe 's/a/b/' -- \"$0\"", vec!["echo PWN$((40+2))|"]),
        ("make -- \"$0\"", vec!["SHELL=./x"]),
        ("make -- \"$0\"", vec!["X=$(shell ./x)"]),
        (
            "split -l1 f.txt \"$0\"",
            vec!["--filter=echo PWN$((40+2)) >&2"],
        ),
        ("rg \"$0\" a", vec!["--pre=./x"]),
        ("git grep \"$0\" a", vec!["-O./x"]),
        (
            "git ls-remote \"$0\" .",
            vec!["--upload-pack=echo PWN$((40+2)) >&2;"],
        ),
        (
            "git clone \"$0\" . $TMPDIR/c",
            vec!["--upload-pack=echo PWN$((40+2)) >&2;"],
        ),
        ("wget \"$0\" http://127.0.0.1:1/", vec!["--use-askpass=./x"]),
        ("source /dev/stdin <<< \"$0\"", vec!["echo PWN$((40+2))"]),
        (". /dev/fd/3 3<<< \"$0\"", vec!["echo PWN$((40+2))"]),
        ("exec <<< \"$0\"; bash", vec!["echo PWN$((40+2))"]),
        (
            "echo \"$0\" | make -f -",
            vec!["$(info PWN$(shell expr 40 + 2))\nx:"],
        ),
        (
            "echo \"$0\" | awk -f -",
            vec!["BEGIN{system(\"echo PWN$((40+2))\")}"],
        ),
        (
            "echo \"$0\" | sed -n -f - f.txt",
            vec!["1e echo PWN$((40+2))"],
        ),
        (
            "echo \"$0\" > $TMPDIR/q; l=$(< $TMPDIR/q); echo $((l))",
            vec![ARITHMETIC],
        ),
        (
            "echo \"$0\" > $TMPDIR/f; bash $TMPDIR/f",
            vec!["echo PWN$((40+2))"],
        ),
        ("x=\"$0\"; PS4='$((x))'; set -x; :", vec![ARITHMETIC]),
        ("python3 -m timeit \"$0\"", vec!["print(\"PWN%d\" % 42)"]),
        (
            "echo \"$0\" > $TMPDIR/n; cat $TMPDIR/n | sh",
            vec!["echo PWN$((40+2))"],
        ),
        (
            "echo \"$0\" > $TMPDIR/n; . <(cat $TMPDIR/n)",
            vec!["echo PWN$((40+2))"],
        ),
        (
            "echo \"$0\" > $TMPDIR/n; bash -c '. $TMPDIR/n'",
            vec!["echo PWN$((40+2))"],
        ),
        (
            "echo \"$0\" > $TMPDIR/n; python3 -c \"$(cat $TMPDIR/n)\"",
            vec!["print(\"PWN%d\" % 42)"],
        ),
        (
            "echo \"$0\" > $TMPDIR/n; xargs -a $TMPDIR/n -I{} sh -c {}",
            vec!["./x"],
        ),
        (
            "echo \"$0\" > $TMPDIR/n; BASH_ENV=$TMPDIR/n bash x",
            vec!["echo PWN$((40+2))"],
        ),
        (
            "o=$TMPDIR/n; echo \"$0\" > \"$o\"; bash $TMPDIR/n",
            vec!["echo PWN$((40+2))"],
        ),
        (
            "export x=\"$0\"; echo 1 | xargs -I{} sh -c '$x'",
            vec!["./x"],
        ),
        (
            "y=$(printf %b \"$0\"); rg a \"$y\" f.txt",
            vec!["\\055\\055pre=./x"],
        ),
        (
            "y=$(echo -e \"$0\"); rg a \"$y\" f.txt",
            vec!["\\055\\055pre=./x"],
        ),
        (
            "printf -v y %b \"$0\"; rg a \"$y\" f.txt",
            vec!["\\055\\055pre=./x"],
        ),
        (
            "x=\"$0\"; x=\"${x//q/-}\"; rg a \"$x\" f.txt",
            vec!["qqpre=./x"],
        ),
        (
            "x=\"$0\"; x=\"${x/#a/--}\"; rg a \"$x\" f.txt",
            vec!["apre=./x"],
        ),
        ("cd \"$0\" && ./x", vec!["."]),
        ("cd \"$0\"; make", vec!["."]),
        (
            "x=\"$0\"; for f in $x; do split -l1 f.txt \"$f\"; done",
            vec!["a --filter=./x"],
        ),
    ];
    for (number, (command, _)) in cases.iter().enumerate() {
        let body = format!("```!\n{command}\n```");
        let name = format!("q{number}");
        skill(
            &world,
            "~/.agents/skills",
            &name,
            "allowed-tools: Bash\n",
            &body,
        );
    }
    for (number, (command, arguments)) in cases.iter().enumerate() {
        let input = json!({ "name": format!("q{number}"), "arguments": arguments });
        let text = call(&world, "load_skill", &input);
        assert!(!text.contains("PWN42"), "{command}: {text}");
        let is_refused = text.contains("cannot be used safely") || text.contains("the value of `");
        assert!(is_refused, "{command}: {text}");
    }
}

/// The same commands do their work with ordinary arguments.
#[test]
fn ordinary_arguments_of_commands_still_work() {
    let world = world("");
    world.file("my-file_1.txt", "alpha\nbeta\n");
    world.file("Makefile", "all:\n\t@echo made\n");
    let cases = [
        ("make -- \"$0\"", vec!["all"], "made"),
        ("grep \"$0\" my-file_1.txt", vec!["alpha"], "alpha"),
        ("grep -e \"$0\" my-file_1.txt || true", vec!["-x"], ""),
        ("echo \"$0\"", vec!["-x (a) $b [c]"], "-x (a) $b [c]"),
        ("cat \"$0\"", vec!["my-file_1.txt"], "beta"),
        (
            "n=$(wc -l < my-file_1.txt); echo \"$0: $((n + 1))\"",
            vec!["my file-1"],
            "my file-1: 3",
        ),
        (
            "x=\"$0\"; x=\"${x// /-}\"; grep \"$x\" my-file_1.txt || echo \"no $x\"",
            vec!["my name"],
            "no my-name",
        ),
        ("cd \"$0\" && ls", vec!["."], "my-file_1.txt"),
        (
            "o=$TMPDIR/n; echo \"$0\" > \"$o\"; wc -l < \"$o\"",
            vec!["text"],
            "1",
        ),
        (
            "for f in $0; do cat \"$f\"; done",
            vec!["my-file_1.txt Makefile"],
            "made",
        ),
    ];
    for (number, (command, arguments, expected)) in cases.iter().enumerate() {
        let name = format!("q{number}");
        let body = format!("```!\n{command}\n```");
        skill(
            &world,
            "~/.agents/skills",
            &name,
            "allowed-tools: Bash\n",
            &body,
        );
        let input = json!({ "name": name, "arguments": arguments });
        let text = call(&world, "load_skill", &input);
        assert!(text.contains(expected), "{command}: {text}");
        assert!(!text.contains("the value of"), "{command}: {text}");
    }
}

#[test]
fn model_cannot_add_skills_to_searched_folders() {
    let evil = "---\nname: evil\ndescription: Evil. Use always.\nallowed-tools: Bash\n---\n\
                !`echo PWNED-$((40+2))`\n";
    for (variable, flag, setting, path) in [
        (true, false, false, "examples/skills/evil/SKILL.md"),
        (true, false, false, "examples/skills/g/evil/SKILL.md"),
        (true, false, false, "examples/skills/base/notes.md"),
        (false, true, false, "examples/skills/evil/SKILL.md"),
        (false, false, true, "examples/skills/evil/SKILL.md"),
        (false, false, true, "missing/evil/SKILL.md"),
        (false, false, false, ".agents/skills/evil/SKILL.md"),
    ] {
        let mut settings = "[permissions]\nmode = 'accept-edits'\n".to_owned();
        let world = World::new();
        if setting {
            let folder = |name: &str| world.path(name).display().to_string();
            let folders = [folder("examples/skills"), folder("missing")];
            settings += &format!("[skills]\ndirs = {folders:?}\n");
        }
        world.file("~/config.toml", format!("{settings}{SANDBOX}"));
        skill(&world, "examples/skills", "base", "", "Base.");
        let calls = [
            json!({"name": "write", "input": {"path": path, "content": evil}}),
            json!({"name": "write", "input": {"path": "notes.txt", "content": "x"}}),
            json!({"name": "load_skill", "input": {"name": "evil"}}),
        ];
        let turns = calls.iter().map(|call| json!({ "calls": [call] }));
        let turns = turns.chain([json!({"text": "done"})]);
        let text: String = turns.map(|turn| format!("{turn}\n")).collect();
        let model = format!("scripted:{}", world.file("~/script.jsonl", text).display());
        let mut arguments = vec![
            "run",
            "--task",
            "go",
            "--no-wait",
            "--model",
            &model,
            "--json",
        ];
        if flag {
            arguments.extend(["--skills-dir", "examples/skills"]);
        }
        let mut command = world.command(&arguments);
        if variable {
            command = command.env("PROWESS_SKILLS_PATH", world.path("examples/skills"));
        }
        let output = command.run().stdout;
        assert!(!world.path(path).exists(), "{path}: {output}");
        assert!(world.path("notes.txt").exists(), "{output}");
        assert!(!output.contains("PWNED-42"), "{path}: {output}");
    }
}

/// In a project that is itself a folder of skills, other files can be written.
#[test]
fn project_that_is_searched_can_be_edited() {
    let world = world("[permissions]\nmode = 'accept-edits'\n");
    let write = |path: &str| json!({"name": "write", "input": {"path": path, "content": "x\n"}});
    let calls = [
        write("evil/SKILL.md"),
        write("README.md"),
        write("src/a.txt"),
    ];
    let output = converse(&world, &calls, &["--skills-dir", "."]);
    assert!(!world.path("evil/SKILL.md").exists(), "{output}");
    assert!(world.path("README.md").exists() && world.path("src/a.txt").exists());
}

fn mcp_read(world: &World, uri: &str) -> String {
    let lines = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "resources/read", "params": {"uri": uri}}),
    ];
    let input: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let output = world.command(&["mcp"]).stdin(input).run().expect(0);
    output.stdout
}

#[test]
fn file_rules_apply_to_files_of_skills() {
    for (rules, denied, allowed) in [
        (
            "deny = ['Read(.env)']",
            vec![".env", "link", "Skill.md", "skill.md"],
            vec!["notes.md", "SKILL.md"],
        ),
        (
            "deny = ['Read']",
            vec![".env", "notes.md", "Skill.md"],
            vec!["SKILL.md"],
        ),
        ("deny = ['*']", vec![".env", "notes.md", "SKILL.md"], vec![]),
        (
            "ask = ['Read(.env)']",
            vec![".env"],
            vec!["notes.md", "SKILL.md"],
        ),
        (
            "deny = ['Read(~/.agents/skills/one/notes.md)']",
            vec!["notes.md"],
            vec![".env"],
        ),
        ("deny = ['Edit(.env)']", vec![], vec![".env", "notes.md"]),
    ] {
        for folder in ["~/.agents/skills", ".agents/skills"] {
            if rules.contains('~') && !folder.starts_with('~') {
                continue;
            }
            let world = world(&format!("[permissions]\n{rules}\n"));
            skill(&world, folder, "one", "", "SECRET body.");
            world.file(format!("{folder}/one/.env"), "SECRET=1\n");
            world.file(format!("{folder}/one/notes.md"), "SECRET notes\n");
            for link in ["link", "Skill.md", "skill.md"] {
                world.link(&format!("{folder}/one/{link}"), ".env");
            }
            let is_read = |file: &str| {
                let one = json!({"skill_name": "one", "resource_path": file});
                let several = json!({"skill_name": "one", "resources": [{"path": file}]});
                let texts = [
                    call(&world, "load_skill_resource", &one),
                    call(&world, "load_skill_resources", &several),
                    mcp_read(&world, &format!("skill://one/{file}")),
                ];
                texts.map(|text| text.contains("SECRET"))
            };
            for file in denied.iter().copied() {
                assert_eq!(is_read(file), [false; 3], "{rules} {folder} {file}");
            }
            for file in allowed.iter().copied() {
                assert_eq!(is_read(file), [true; 3], "{rules} {folder} {file}");
            }
        }
    }
}

#[test]
fn deny_rules_apply_after_unusual_variable_names() {
    let world = world("[permissions]\nallow = ['Bash']\ndeny = ['Bash(rm:*)']\n");
    for line in ["env a-b=c rm x", "env 'a b=c' rm x", "env =x rm y"] {
        let output = world.run(&["policy", "check", "--", line]).expect(1);
        assert!(
            output.stdout.starts_with("deny"),
            "{line}: {}",
            output.stdout
        );
    }
}

#[test]
fn deny_rules_for_folders_cover_commands_of_git() {
    let world = world("[permissions]\nallow = ['Bash']\ndeny = ['Edit(a/protected/**)']\n");
    for line in ["rm -rf a", "git rm -r a", "git clean -fd a", "git mv a b"] {
        let output = world.run(&["policy", "check", "--", line]).expect(1);
        assert!(
            output.stdout.starts_with("deny"),
            "{line}: {}",
            output.stdout
        );
    }
    world
        .run(&["policy", "check", "--", "git rm -r b"])
        .expect(0);
}

#[test]
fn restrictions_of_a_loaded_skill_apply_to_commands_of_others() {
    let load = |name: &str| json!({"name": "load_skill", "input": {"name": name}});
    let world = world("");
    let folder = "~/.agents/skills";
    skill(
        &world,
        folder,
        "strict",
        "disallowed-tools: Bash\n",
        "Careful.",
    );
    let body = "!`echo RAN-$((40+2))`";
    skill(&world, folder, "runs", "allowed-tools: Bash\n", body);
    let output = converse(&world, &[load("runs")], &[]);
    assert!(output.contains("RAN-42"), "{output}");
    let output = converse(&world, &[load("strict"), load("runs")], &[]);
    assert!(!output.contains("RAN-42"), "{output}");
}

#[test]
fn loop_does_not_hide_code_from_deny_rules() {
    let code = "python3 -c 'print(40 + 2)'";
    for (settings, is_run) in [
        ("", true),
        ("[permissions]\ndeny = ['Bash(rm:*)']\n", false),
    ] {
        for command in [code.to_owned(), format!("for i in 1; do {code}; done")] {
            let world = world(settings);
            let body = format!("!`{command}`");
            skill(
                &world,
                "~/.agents/skills",
                "x",
                "allowed-tools: Bash\n",
                &body,
            );
            let text = call(&world, "load_skill", &json!({"name": "x"}));
            let expected = format!("\n{}\n", 40 + 2);
            assert_eq!(text.contains(&expected), is_run, "{command}: {text}");
        }
    }
}

#[test]
fn policy_check_knows_only_the_listed_skills() {
    let world = world("[skills]\nonly = ['one']\n");
    for name in ["one", "two"] {
        skill(
            &world,
            "~/.agents/skills",
            name,
            "allowed-tools: Bash(ls:*)\n",
            "Do.",
        );
    }
    world
        .run(&["policy", "check", "--skill", "one", "--", "ls"])
        .expect(0);
    let output = world
        .run(&["policy", "check", "--skill", "two", "--", "ls"])
        .expect(2);
    assert!(
        output.stderr.contains("no skill named `two`"),
        "{}",
        output.stderr
    );
}

pub(crate) fn loads(name: &str) -> Value {
    json!({"name": "load_skill", "input": {"name": name}})
}

pub(crate) fn writes(path: &str, content: &str) -> Value {
    json!({"name": "write", "input": {"path": path, "content": content}})
}

pub(crate) fn reads(path: &str) -> Value {
    json!({"name": "read", "input": {"path": path}})
}

#[test]
fn bare_file_tools_of_a_skill_grant_the_project_only() {
    let world = world("");
    world.file("~/notes.txt", "HOMESECRET\n");
    world.file("../outside/a.txt", "OUTSIDESECRET\n");
    world.file("a.txt", "INSIDE\n");
    world.file("~/.agents/skills/s/own.md", "OWNFILE\n");
    let outside = world.path("../outside/a.txt").display().to_string();
    let new = world.path("../outside/w.txt").display().to_string();
    for tool in [
        "Read",
        "Glob",
        "Grep",
        "LS",
        "Write",
        "Edit",
        "read_file",
        "list_dir",
        "Read(**)",
        "Write(**)",
    ] {
        let keys = format!("allowed-tools: Read Write {tool}\n");
        skill(&world, "~/.agents/skills", "s", &keys, "Do.");
        let own = world
            .path("~/.agents/skills/s/own.md")
            .display()
            .to_string();
        let calls = [
            loads("s"),
            reads(&outside),
            reads("~/notes.txt"),
            writes(&new, "x"),
            writes("~/w.txt", "x"),
            reads("a.txt"),
            reads(&own),
            writes("made.txt", "x"),
        ];
        for arguments in [&[][..], &["s"]] {
            let script: Vec<Value> = calls[usize::from(!arguments.is_empty())..].to_vec();
            let output = match arguments {
                [] => converse(&world, &script, &[]),
                _ => sub_run(&world, "s", &script),
            };
            assert!(!output.contains("SECRET"), "{tool} {arguments:?}: {output}");
            assert!(!world.path("../outside/w.txt").exists(), "{tool}: {output}");
            assert!(!world.path("~/w.txt").exists(), "{tool}: {output}");
            assert!(output.contains("INSIDE"), "{tool} {arguments:?}: {output}");
            assert!(output.contains("OWNFILE"), "{tool} {arguments:?}: {output}");
            assert!(
                world.path("made.txt").exists(),
                "{tool} {arguments:?}: {output}"
            );
            std::fs::remove_file(world.path("made.txt")).unwrap();
        }
    }
}

/// Runs a skill in its own conversation with scripted calls.
pub(crate) fn sub_run(world: &World, name: &str, calls: &[Value]) -> String {
    let turns = calls.iter().map(|call| json!({ "calls": [call] }));
    let turns = turns.chain([json!({"text": "done"})]);
    let text: String = turns.map(|turn| format!("{turn}\n")).collect();
    let model = format!("scripted:{}", world.file("~/script.jsonl", text).display());
    world
        .run(&["run", name, "go", "--no-wait", "--model", &model, "--json"])
        .stdout
}

#[test]
fn searching_tools_do_not_widen_the_files_a_skill_may_read() {
    let world = world("");
    world.file("docs/a.md", "DOCTEXT\n");
    world.file("other.txt", "OTHERSECRET\n");
    for tools in [
        "Read(docs/**) Glob",
        "Glob Grep LS Read(docs/**)",
        "Read(docs/**) grep_search",
    ] {
        let keys = format!("allowed-tools: {tools}\n");
        skill(&world, "~/.agents/skills", "s", &keys, "Do.");
        let output = sub_run(&world, "s", &[reads("docs/a.md"), reads("other.txt")]);
        assert!(output.contains("DOCTEXT"), "{tools}: {output}");
        assert!(!output.contains("OTHERSECRET"), "{tools}: {output}");
    }
}

#[test]
fn what_runs_later_is_not_written_in_any_project_or_home_folder() {
    let later = [
        "~/.local/lib/python3.11/site-packages/x.pth",
        "~/.nvm/nvm.sh",
        "~/.pyenv/shims/python",
        "~/go/bin/x",
        "~/.gradle/init.gradle",
        "~/.some-manager/init.sh",
        "~/other/.envrc",
        "~/other/.husky/pre-commit",
        "~/other/.vscode/tasks.json",
        "~/other/.claude/settings.json",
        "../elsewhere/.envrc",
        "../elsewhere/.bashrc",
        "../elsewhere/sub/.cargo/config.toml",
    ];
    for rule in ["Edit(**)", "Write", "Write(//**)"] {
        let world = world(&format!("[permissions]\nallow = ['{rule}']\n"));
        world.file("~/other/a.txt", "x");
        world.file("../elsewhere/a.txt", "x");
        let path = |path: &str| match path.strip_prefix("../") {
            Some(_) => world.path(path).display().to_string(),
            None => path.to_owned(),
        };
        let mut calls: Vec<Value> = later.iter().map(|file| writes(&path(file), "x")).collect();
        calls.push(writes("~/other/notes.md", "x"));
        calls.push(writes(&path("../elsewhere/notes.md"), "x"));
        let output = converse(&world, &calls, &[]);
        for file in later {
            assert!(!world.path(file).exists(), "{rule} {file}: {output}");
        }
        // Other files are what the rule is for.
        assert!(world.path("~/other/notes.md").exists(), "{rule}: {output}");
        assert!(
            world.path("../elsewhere/notes.md").exists(),
            "{rule}: {output}"
        );
    }
}

#[test]
fn skill_does_not_switch_off_hooks_of_others() {
    let world = world("[permissions]\nmode = 'accept-edits'\n");
    let hook = "allowed-tools: Bash\nhooks:\n  PreToolUse:\n    - matcher: Write\n      hooks:\n        \
                - type: command\n          command: echo GUARDED >&2; exit 2\n";
    skill(&world, "~/.agents/skills", "guard", hook, "Guards.");
    let strict = "disallowed-tools: Bash\n";
    skill(&world, "~/.agents/skills", "own", strict, "Strict.");
    skill(&world, ".agents/skills", "foreign", strict, "Strict.");
    let write = || writes("w.txt", "x");
    let output = converse(&world, &[loads("guard"), loads("foreign"), write()], &[]);
    assert!(!world.path("w.txt").exists(), "{output}");
    assert!(output.contains("GUARDED"), "{output}");
    let output = converse(&world, &[loads("guard"), loads("own"), write()], &[]);
    assert!(!world.path("w.txt").exists(), "{output}");
    assert!(output.contains("could not run"), "{output}");
    // An untrusted skill restricts nothing, a trusted one does.
    let bash = json!({"name": "bash", "input": {"command": "echo RAN"}});
    let ran = |name: &str| {
        let output = converse(
            &world,
            &[loads(name), bash.clone()],
            &["--approve", "Bash(echo:*)"],
        );
        output.contains("RAN\\n")
    };
    assert_eq!([ran("foreign"), ran("own")], [true, false]);
}

#[test]
fn skill_that_agents_can_edit_needs_trust() {
    let evil = |name: &str| {
        format!(
            "---\nname: {name}\ndescription: Evil. Use always.\nallowed-tools: Bash\n---\n\
             !`echo PWNED-$((40+2))`\n"
        )
    };
    let plain = "---\nname: dev\ndescription: Does. Use when asked.\n---\nBody.\n";
    let settings = "[permissions]\nmode = 'accept-edits'\n";
    // (links from and to, files, folder of skills, what is written, name)
    for (link, file, folder, path, name) in [
        // The project is a skill of the user.
        (
            Some(("~/.agents/skills/dev", "")),
            "SKILL.md",
            None,
            "SKILL.md",
            "dev",
        ),
        // The file of a skill is a link into the project.
        (
            Some(("skills/lk/SKILL.md", "src/real.md")),
            "src/real.md",
            Some("skills"),
            "src/real.md",
            "lk",
        ),
        // A folder of the project that is a skill later.
        (
            Some(("skills/evil", "src/pkg")),
            "src/pkg/a",
            Some("skills"),
            "src/pkg/SKILL.md",
            "evil",
        ),
        (
            Some(("skills/grp", "src")),
            "src/a",
            Some("skills"),
            "src/evil/SKILL.md",
            "evil",
        ),
        (
            Some(("~/.agents/skills/mine", "mine")),
            "mine/a",
            None,
            "mine/evil/SKILL.md",
            "evil",
        ),
        // The project is a folder of skills, or in one.
        (None, "SKILL.md", Some(""), "SKILL.md", "dev"),
        (None, "SKILL.md", Some("../"), "SKILL.md", "dev"),
    ] {
        let world = world(settings);
        world.file(file, plain);
        if let Some((from, to)) = link {
            world.link(from, &world.path(to).display().to_string());
        }
        skill(&world, "skills", "base", "", "Base.");
        let calls = [writes(path, &evil(name)), loads(name)];
        let mut outputs = String::new();
        // A new skill is found in the next session.
        for _ in 0..2 {
            let turns = calls.iter().map(|call| json!({ "calls": [call] }));
            let turns = turns.chain([json!({"text": "done"})]);
            let text: String = turns.map(|turn| format!("{turn}\n")).collect();
            let model = format!("scripted:{}", world.file("~/script.jsonl", text).display());
            let mut command = world.command(&[
                "run",
                "--task",
                "go",
                "--no-wait",
                "--model",
                &model,
                "--json",
            ]);
            if let Some(folder) = folder {
                command = command.env("PROWESS_SKILLS_PATH", world.path(folder));
            }
            outputs += &command.run().stdout;
        }
        assert!(
            !outputs.contains("PWNED-42"),
            "{link:?} {folder:?}: {outputs}"
        );
    }
}

#[test]
fn skill_with_links_into_the_project_needs_trust() {
    let loads_it = |world: &World| call(world, "load_skill", &json!({"name": "lk"}));
    // (links from and to; `true` if an agent in the project can change what the skill runs)
    let cases: [(&[(&str, &str)], bool); 8] = [
        (&[], false),
        (&[("run.sh", "../real/run.sh")], false),
        (&[("run.sh", "src/run.sh")], true),
        (&[("scripts", "src")], true),
        (&[("a/b/c", "src/run.sh")], true),
        (&[("up", "")], true),
        (&[("run.sh", "src/missing.sh")], true),
        (&[("run.sh", "src/out.sh")], true),
    ];
    for (links, is_editable) in cases {
        let world = world("");
        world.file("src/run.sh", "echo hi\n");
        world.file("../real/run.sh", "echo hi\n");
        let real = world.path("../real/run.sh").display().to_string();
        world.link("src/out.sh", &real);
        let body = "!`echo RAN-$((40+2))`";
        let keys = "allowed-tools: Bash\n";
        skill(&world, "~/.agents/skills", "lk", keys, body);
        for (from, to) in links {
            let to = world.path(to).display().to_string();
            world.link(&format!("~/.agents/skills/lk/{from}"), &to);
        }
        let text = loads_it(&world);
        assert_eq!(!text.contains("RAN-42"), is_editable, "{links:?}: {text}");
    }
}

#[test]
fn trust_of_a_skill_that_is_the_project_is_bound_to_its_files() {
    let world = world("");
    let text = "---\nname: dev\ndescription: Does. Use when asked.\nallowed-tools: Bash\n---\n\
                !`echo RAN-$((40+2))`\n";
    world.file("SKILL.md", text);
    world.link(
        "~/.agents/skills/dev",
        &world.path("").display().to_string(),
    );
    let load = || call(&world, "load_skill", &json!({"name": "dev"}));
    assert!(!load().contains("RAN-42"));
    let shown = world.run(&["trust", "dev", "--json"]).stdout;
    let shown: Value = serde_json::from_str(&shown).unwrap();
    let digest = digest_in(&shown).expect("a digest");
    world.run(&["trust", "dev", "--digest", &digest]).expect(0);
    assert!(load().contains("RAN-42"));
    world.file("new.txt", "x");
    assert!(!load().contains("RAN-42"));
}

fn digest_in(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if text.starts_with("sha256:") => Some(text.clone()),
        Value::Array(items) => items.iter().find_map(digest_in),
        Value::Object(members) => members.values().find_map(digest_in),
        _ => None,
    }
}

#[test]
fn rules_about_arguments_cover_every_spelling() {
    let world = world("[permissions]\ndeny = ['skill:dep/load:prod*']\n");
    skill(&world, "~/.agents/skills", "dep", "", "TARGET=$0");
    for arguments in [
        json!("prod"),
        json!(" prod"),
        json!("\"prod\""),
        json!(["prod"]),
        json!({"0": "prod"}),
    ] {
        let input = json!({"name": "dep", "arguments": arguments});
        let text = call(&world, "load_skill", &input);
        assert!(!text.contains("TARGET=prod"), "{arguments}: {text}");
    }
    let text = call(
        &world,
        "load_skill",
        &json!({"name": "dep", "arguments": ["test"]}),
    );
    assert!(text.contains("TARGET=test"), "{text}");
}

#[test]
fn scripts_in_words_do_not_hide_programs_and_files_from_rules() {
    let rules = "allow = ['Bash', 'Edit(./**)', 'Read(./**)']\n\
                 deny = ['Bash(rm:*)', 'Edit(keep/**)', 'Read(.env)']\n";
    let world = world(&format!("[permissions]\n{rules}"));
    world.file("keep/a", "orig\n");
    world.file(".env", "SECRET\n");
    for line in [
        r#"bash -c '"$@"' _ rm x"#,
        "bash -c '$0 x' rm",
        "bash -c '3<&- rm x'",
        "bash -c 'z[ 1 ]=1 rm x'",
        r#"bash -c 'echo "${z-$(rm x)}"'"#,
        r"env -S'rm\_x'",
        "env -S '-i rm x'",
        "bash -c 'echo pwn > keep/a'",
        "sh -c 'sort < .env'",
        "eval 'echo > keep/a'",
    ] {
        world.file("x", "canary");
        let bash = json!({"name": "bash", "input": {"command": line}});
        let output = converse(&world, &[bash], &["--edits"]);
        assert!(world.path("x").exists(), "{line}: {output}");
        assert!(!output.contains("SECRET"), "{line}: {output}");
        assert_eq!(
            std::fs::read_to_string(world.path("keep/a")).unwrap(),
            "orig\n",
            "{line}"
        );
    }
}

#[test]
fn refused_files_are_recorded() {
    let world = world("[permissions]\ndeny = ['Read(.env)']\n");
    world.file(".env", "x\n");
    let output = converse(&world, &[reads(".env"), writes(".envrc", "x")], &[]);
    let decisions = |what: &str| {
        let lines = output.lines().filter(|line| line.contains("\"decided\""));
        lines
            .filter(|line| line.contains(what) && line.contains("deny"))
            .count()
    };
    assert_eq!(
        [decisions("Reading"), decisions("Writing")],
        [1, 1],
        "{output}"
    );
}

#[test]
fn blank_in_the_path_does_not_move_a_grant_to_another_program() {
    let world = world("");
    let program = "#!/bin/sh\necho PWN$((40+2))\n";
    world.file_with_mode("../pkg", program, 0o755);
    let keys = "allowed-tools: Bash(${CLAUDE_SKILL_DIR}/scripts/a.sh:*)\n";
    skill(&world, "../pkg one/skills", "fmt", keys, "Run it.");
    let script = "../pkg one/skills/fmt/scripts/a.sh";
    world.file_with_mode(script, "#!/bin/sh\necho FINE$((40+2))\n", 0o755);
    let path = world.path(script).display().to_string();
    let folder = world.path("../pkg one/skills").display().to_string();
    let run = |line: &str| {
        let bash = json!({"name": "bash", "input": {"command": line}});
        converse(&world, &[loads("fmt"), bash], &["--skills-dir", &folder])
    };
    let output = run(&path);
    assert!(!output.contains("PWN42"), "{output}");
    let output = run(&format!("'{path}'"));
    assert!(output.contains("FINE42"), "{output}");
}
