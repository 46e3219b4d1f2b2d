//! `prowess policy` and the rules of the configuration.

use serde_json::{Value, json};

use crate::world::World;

#[test]
fn decision_is_explained() {
    let world = World::new();
    let run = |args: &[&str]| {
        let mut all = vec!["policy", "check"];
        all.extend(args);
        world.run(&all).snapshot()
    };
    insta::assert_snapshot!(
        "allowed",
        run(&[
            "--allow",
            "Bash(git:*)",
            "--",
            "git",
            "commit",
            "-m",
            "a; b"
        ])
    );
    insta::assert_snapshot!(
        "not_allowed",
        run(&["--allow", "Bash(git:*)", "--", "git log | tee out"])
    );
    insta::assert_snapshot!(
        "forbidden",
        run(&[
            "--allow",
            "Bash",
            "--deny",
            "Bash(rm:*)",
            "--",
            "cd x && r\\m -rf y"
        ])
    );
    insta::assert_snapshot!(
        "option",
        run(&["--allow", "Bash(git:*)", "--", "git -c core.pager=sh log"])
    );
    insta::assert_snapshot!(
        "not_plain",
        run(&["--allow", "Bash", "--", "for f in *; do cat $f; done"])
    );
    insta::assert_snapshot!(
        "no_rule",
        run(&["--allow", "Bash (git:*)", "--", "git status"])
    );
}

#[test]
fn project_rules_can_only_restrict() {
    let world = World::new();
    world.file(
        "~/config.toml",
        "[permissions]\nmode = 'ask'\nallow = ['Bash(git:*)', 'Bash(ls']\n[sandbox]\nstrength = 'best-effort'\n",
    );
    world.file(
        ".agents/prowess.toml",
        "[permissions]\nmode = 'yolo'\nallow = ['Bash']\ndeny = ['Bash(git push:*)']\n[sandbox]\nstrength = 'off'\n",
    );
    insta::assert_snapshot!(
        "configured",
        world.run(&["policy", "show"]).expect(0).snapshot()
    );
    let document = world.run(&["policy", "show", "--json"]).expect(0).json();
    assert_eq!(
        (&document["mode"], &document["sandbox"]),
        (&json!("ask"), &json!("best-effort"))
    );
    assert_eq!(document["rules"].as_array().unwrap().len(), 2);
    world
        .run(&["policy", "check", "--", "git", "status"])
        .expect(0);
    world.run(&["policy", "check", "--", "id"]).expect(1);
    let denied = world
        .run(&["policy", "check", "--json", "--", "git", "push"])
        .expect(1)
        .json();
    assert_eq!(
        (&denied["verdict"], &denied["rule"]),
        (&json!("deny"), &json!("Bash(git push:*)"))
    );
}

#[test]
fn untrusted_skill_cannot_run_commands() {
    let world = World::new();
    world.skill(
        ".agents/skills/x",
        &format!(
            "name: x\ndescription: {}\nallowed-tools: Bash(git status:*)\n",
            crate::world::DESCRIPTION
        ),
    );
    let check = |expected| {
        world
            .run(&["policy", "check", "--skill", "x", "--", "git status"])
            .expect(expected)
    };
    insta::assert_snapshot!("inert", check(1).snapshot());
    let trust = world.run(&["trust", "x", "--json"]).expect(0).json();
    let digest = trust["skills"][0]["digest"].as_str().unwrap().to_owned();
    world.run(&["trust", "x", "--digest", &digest]).expect(0);
    insta::assert_snapshot!("pre_approved", check(0).snapshot());
    // A skill pre-approves only the listed commands, and only for itself.
    world
        .run(&["policy", "check", "--skill", "x", "--", "git push"])
        .expect(1);
    world
        .run(&["policy", "check", "--", "git status"])
        .expect(1);
}

#[test]
fn json_lines() {
    let world = World::new();
    let input = [
        r#"{"id": "a", "rules": {"allow": ["Bash(git:*)"]}, "cmd": "git status"}"#,
        r#"{"id": 2, "rules": {"allow": ["Bash"], "deny": ["Bash(rm:*)"]}, "cmd": "/bin/rm x"}"#,
        "",
        r#"{"id": 3, "rules": {"ask": ["Bash(git push:*)"], "allow": ["Bash(git:*)"]}, "cmd": "git push"}"#,
        r#"{"id": 4, "cmd": "ls"}"#,
        r#"{"id": 5}"#,
        "nonsense",
        r#"{"id": 7, "rules": {"allow": "Bash"}, "cmd": "ls"}"#,
        r#"{"id": 8, "rules": {"allow": ["Bash(cat:*)", "Edit(out)"]}, "cmd": "cat a > out", "cwd": "/w"}"#,
    ]
    .join("\n");
    let output = world
        .command(&["policy", "check", "--jsonl"])
        .stdin(input)
        .run()
        .expect(0);
    let answers: Vec<Value> = output
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let verdicts: Vec<(Value, &str)> = answers
        .iter()
        .map(|answer| (answer["id"].clone(), answer["verdict"].as_str().unwrap()))
        .collect();
    assert_eq!(
        verdicts,
        [
            (json!("a"), "allow"),
            (json!(2), "deny"),
            (json!(3), "ask"),
            (json!(4), "ask"),
            (json!(5), "deny"),
            (json!(null), "deny"),
            (json!(7), "deny"),
            (json!(8), "allow"),
        ]
    );
    assert_eq!(answers[0]["words"], json!([["git", "status"]]));
    assert_eq!(answers[1]["rule"], json!("Bash(rm:*)"));
    assert!(answers.iter().all(|answer| answer["reason"].is_string()));
}

#[test]
fn very_long_line_is_answered() {
    let world = World::new();
    let input = format!(
        "{{\"id\": 1, \"rules\": {{\"allow\": [\"Bash\"]}}, \"cmd\": \"{}\"}}\n{{\"id\": 2, \"cmd\": \"ls\"}}\n",
        "a".repeat(5 << 20)
    );
    let output = world
        .command(&["policy", "check", "--jsonl"])
        .stdin(input)
        .run()
        .expect(0);
    assert_eq!(output.stdout.lines().count(), 2);
    assert!(output.stdout.lines().nth(1).unwrap().contains("\"id\":2"));
}

/// The lines of the security audit (findings M6, L1 and L2), as they were reported.
#[test]
fn audited_lines_are_not_allowed() {
    let allow = |rule: &'static str, lines: &[&str]| {
        let rules = json!({"allow": [rule]});
        lines
            .iter()
            .map(|line| json!({"id": line, "rules": rules, "cmd": line}).to_string())
            .collect::<Vec<_>>()
    };
    let ban = json!({"allow": ["Bash"], "deny": ["Bash(rm:*)"]});
    let banned = [
        "echo 'rm x' | env sh",
        "echo 'rm x' | timeout 5 sh",
        "echo 'rm x' | command sh",
        "echo 'rm x' | exec sh",
        "echo 'rm x' | nice sh",
        "echo 'rm x' | setsid sh",
        "echo 'rm x' | busybox sh",
        "echo 'rm x' | bash /dev/stdin",
        "echo 'rm x' | . /dev/stdin",
        "echo '1e rm x' | sed -f - f",
        "echo 'BEGIN{system(\"rm x\")}' | awk -f - f",
        "echo 'a:;rm x' | make -f -",
        "echo 'rm x' | xargs -I% sh -c %",
        "hash -p /bin/rm y; y x",
        "socat - 'EXEC:rm x'",
        "ncat -e 'rm x' h 1",
        "coreutils rm x",
    ];
    let mut input: Vec<String> = banned
        .iter()
        .map(|line| json!({"id": line, "rules": ban, "cmd": line}).to_string())
        .collect();
    for (rule, lines) in [
        ("Bash(awk:*)", &["awk B* f"][..]),
        ("Bash(tar:*)", &["tar c*"]),
        ("Bash(sqlite3:*)", &["sqlite3 db s*"]),
        (
            "Bash(python3:*)",
            &["python3 --check-hash-based-pycs always -c CODE"],
        ),
        ("Bash(eslint:*)", &["eslint -c x.js"]),
        ("Bash(jest:*)", &["jest -c x.js"]),
        ("Bash(mocha:*)", &["mocha -r x.js"]),
        ("Bash(webpack:*)", &["webpack -c x.js"]),
        ("Bash(vite:*)", &["vite build -c x.js"]),
        ("Bash(rollup:*)", &["rollup -c x.js"]),
        ("Bash(vitest:*)", &["vitest -c x.js"]),
        ("Bash(meson:*)", &["meson test --wrapper=x"]),
        ("Bash(cmake:*)", &["cmake --build . -- SHELL=x"]),
        ("Bash(clang-tidy:*)", &["clang-tidy -load=x"]),
        ("Bash(pytest:*)", &["pytest /elsewhere"]),
        ("Bash(tsc:*)", &["tsc -p /elsewhere"]),
    ] {
        input.extend(allow(rule, lines));
    }
    let output = World::new()
        .command(&["policy", "check", "--jsonl"])
        .stdin(input.join("\n"))
        .run()
        .expect(0);
    let mut answers = 0;
    for line in output.stdout.lines() {
        let answer: Value = serde_json::from_str(line).unwrap();
        assert_ne!(answer["verdict"], json!("allow"), "{line}");
        answers += 1;
    }
    assert_eq!(answers, input.len());
}
