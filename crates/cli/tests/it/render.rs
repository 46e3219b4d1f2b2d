//! `prowess prompt --skill`: cases 90 to 103 of the reference, with real commands in the real sandbox.

use serde_json::{Value, json};

use crate::world::{Output, World};

/// Returns a world with one skill in the home folder, which needs no trust.
fn world(tools: &str, body: &str) -> World {
    let world = World::new();
    skill(&world, "~/.agents/skills/x", tools, body);
    world.file("~/config.toml", "[sandbox]\nstrength = 'best-effort'\n");
    world
}

fn skill(world: &World, folder: &str, tools: &str, body: &str) {
    let text = format!(
        "---\nname: x\ndescription: Does it. Use when asked.\nallowed-tools: {tools}\narguments: [first, second]\n---\n{body}"
    );
    world.file(format!("{folder}/SKILL.md"), text);
}

fn render(world: &World, arguments: &[&str]) -> Output {
    let mut all = vec!["prompt", "--skill", "x", "--json"];
    all.extend(arguments);
    world.run(&all)
}

/// Returns the body that a model receives.
#[track_caller]
fn body(tools: &str, template: &str, arguments: &str) -> String {
    let document = render(&world(tools, template), &["--arguments", arguments])
        .expect(0)
        .json();
    document["body"]
        .as_str()
        .unwrap()
        .trim_matches('\n')
        .to_owned()
}

#[track_caller]
fn refused(tools: &str, template: &str, code: i32) -> String {
    let output = render(&world(tools, template), &[]).expect(code);
    assert_eq!(output.stdout, "", "a model gets nothing");
    output.stderr
}

const ANY: &str = "Bash";

#[test]
fn case_090_inline() {
    assert_eq!(body(ANY, "- diff: !`printf hi`\n", ""), "- diff: hi");
}

#[test]
fn case_091_text_that_looks_like_a_command() {
    assert_eq!(
        body(ANY, "KEY=!`cmd` and `format!` macro\n", ""),
        "KEY=!`cmd` and `format!` macro"
    );
    assert_eq!(
        body(ANY, "```bash\n!`touch x`\n```\n", ""),
        "```bash\n!`touch x`\n```"
    );
}

#[test]
fn case_092_block() {
    assert_eq!(body(ANY, "```!\necho a\necho b\n```\n", ""), "a\nb");
}

#[test]
fn case_093_output_is_text() {
    let world = world(ANY, "!`cat out.txt`\n");
    world.file(
        "out.txt",
        "!`touch pwned` $0 $ARGUMENTS ${CLAUDE_SKILL_DIR}",
    );
    let document = render(&world, &["--arguments", "x"]).expect(0).json();
    let expected = "!`touch pwned` $0 $ARGUMENTS ${CLAUDE_SKILL_DIR}\n\nARGUMENTS: x";
    assert_eq!(document["body"].as_str().unwrap().trim_end(), expected);
    assert!(!world.path("pwned").exists());
}

#[test]
fn case_094_argument_is_text() {
    let world = world(ANY, "Do $ARGUMENTS\n");
    let document = render(&world, &["--arguments", "x !`touch pwned`"])
        .expect(0)
        .json();
    assert_eq!(document["body"], "Do x !`touch pwned`\n");
    assert_eq!(document["commands"], json!([]));
    assert!(!world.path("pwned").exists());
}

#[test]
fn case_095_argument_cannot_break_out_of_quotes() {
    let hostile = "a\"; touch pwned; echo \"";
    let world = world("Bash(echo:*)", "!`echo \"$ARGUMENTS\"`\n");
    let document = render(&world, &["--arguments", hostile]).expect(0).json();
    assert_eq!(document["body"].as_str().unwrap().trim_end(), hostile);
    assert!(!world.path("pwned").exists());
}

/// An unquoted value is one word, whatever it contains (audit, "over-strict").
#[test]
fn unquoted_argument_is_one_word() {
    for value in [
        "a b",
        " a  b ",
        "*",
        "a; touch pwned",
        "$(touch pwned)",
        "a\nb",
        "'",
        "~ {a,b} ?",
        "",
    ] {
        for tools in ["Bash(printf:*)", ANY] {
            let world = world(tools, "!`printf '[%s]' a $ARGUMENTS b`\n");
            world.file("list", "");
            let document = render(&world, &["--arguments", value]).expect(0).json();
            let body = document["body"].as_str().unwrap().trim_end_matches('\n');
            assert_eq!(body, format!("[a][{value}][b]"), "{tools}");
            assert!(!world.path("pwned").exists());
        }
    }
}

#[test]
fn unquoted_argument_cannot_be_an_option() {
    for tools in ["Bash(ls:*)", ANY] {
        let output = render(
            &world(tools, "!`ls $ARGUMENTS`\n"),
            &["--arguments", "-R /"],
        )
        .expect(2);
        assert_eq!(output.stdout, "", "a model gets nothing");
        assert!(
            output
                .stderr
                .contains("the value of `$ARGUMENTS` begins with `-`"),
            "{}",
            output.stderr
        );
        let world = world(tools, "!`ls -- $ARGUMENTS`\n");
        world.file("-R x", "");
        let document = render(&world, &["--arguments", "-R x"]).expect(0).json();
        assert_eq!(document["body"].as_str().unwrap().trim_end(), "-R x");
    }
}

#[test]
fn case_096_failure_aborts() {
    let stderr = refused(ANY, "Before\n!`false`\n", 2);
    assert!(stderr.contains("`false` failed: exit code 1"), "{stderr}");
}

#[test]
fn case_097_exit_code_1_of_search_commands_is_success() {
    assert_eq!(
        body(ANY, "[!`grep zzz /etc/hostname`]\n", ""),
        "[!`grep zzz /etc/hostname`]"
    );
    assert_eq!(body(ANY, "got !`grep zzz /dev/null` end\n", ""), "got  end");
    let stderr = refused(ANY, "!`grep --badflag x`\n", 2);
    assert!(stderr.contains("exit code 2"), "{stderr}");
    assert_eq!(body(ANY, "ok !`false || true` end\n", ""), "ok  end");
}

#[test]
fn case_098_standard_error_is_part_of_the_output() {
    assert_eq!(
        body(ANY, "!`sh -c 'echo out; echo err >&2'`\n", ""),
        "out\nerr"
    );
}

#[test]
fn case_099_timeout() {
    let world = world(ANY, "!`sh -c 'sleep 600 & sleep 600'`\n");
    world.file(
        "~/config.toml",
        "[sandbox]\nstrength = 'best-effort'\ntimeout = 1\n",
    );
    let output = render(&world, &[]).expect(2);
    assert!(
        output.stderr.contains("timed out after"),
        "{}",
        output.stderr
    );
}

#[test]
fn case_100_long_output_is_written_to_a_file() {
    let world = world(ANY, "!`seq 1 100000`\n");
    let document = render(&world, &[]).expect(0).json();
    let text = document["body"].as_str().unwrap();
    assert!(text.len() < 6_000, "{}", text.len());
    let file = document["commands"][0]["file"].as_str().unwrap();
    assert!(text.contains(file));
    assert_eq!(
        std::fs::read_to_string(file).unwrap().lines().count(),
        100_000
    );
}

#[test]
fn case_101_disabled_by_policy() {
    let world = world(ANY, "a !`touch pwned` b\n");
    world.file(
        ".agents/prowess.toml",
        "[permissions]\nskill-commands = false\n",
    );
    let document = render(&world, &[]).expect(0).json();
    assert_eq!(
        document["body"],
        "a [shell command execution disabled by policy] b\n"
    );
    assert!(!world.path("pwned").exists());
}

#[test]
fn case_102_permission() {
    let stderr = refused("Read", "!`git status`\n", 3);
    assert!(stderr.contains("`git status` is not permitted"), "{stderr}");
    assert_eq!(body("Bash(printf *)", "!`printf hi`\n", ""), "hi");
    let world = world("Bash(printf *)", "!`printf hi`\n");
    for rule in ["deny", "ask"] {
        world.file(
            ".agents/prowess.toml",
            format!("[permissions]\n{rule} = ['Bash(printf:*)']\n"),
        );
        render(&world, &[]).expect(3);
    }
}

#[test]
fn case_103_missing_shell() {
    let world = World::new();
    world.file(
        "~/.agents/skills/x/SKILL.md",
        "---\nname: x\ndescription: Does it.\nshell: powershell\nallowed-tools: Bash\n---\n!`touch pwned`\n",
    );
    let output = render(&world, &[]).expect(2);
    assert!(
        output.stderr.contains("requires powershell"),
        "{}",
        output.stderr
    );
    assert!(!world.path("pwned").exists());
}

#[test]
fn untrusted_skills_run_no_commands_and_are_marked() {
    let world = World::new();
    skill(&world, ".agents/skills/x", ANY, "a !`touch pwned` b\n");
    let document = render(&world, &[]).expect(0).json();
    assert_eq!(document["trusted"], false);
    assert_eq!(
        document["body"],
        "a [command not run: this skill is not trusted] b\n"
    );
    assert!(
        document["text"]
            .as_str()
            .unwrap()
            .contains("the user has not trusted it yet")
    );
    assert!(!world.path("pwned").exists());
}

#[test]
fn no_exec_runs_no_commands() {
    let world = world(ANY, "a !`touch pwned` b\n");
    let document = render(&world, &["--no-exec"]).expect(0).json();
    assert_eq!(document["body"], "a [command not run: touch pwned] b\n");
    assert!(!world.path("pwned").exists());
}

#[test]
fn unsafe_placeholders_are_refused_with_the_safe_form() {
    let world = world(ANY, "!`sh -c 'echo $0'`\n!`eval \"$first\"`\n");
    let output = world
        .run(&["prompt", "--skill", "x", "--arguments", "v"])
        .expect(2);
    insta::assert_snapshot!(output.snapshot());
}

#[test]
fn text_output() {
    let world = world(
        "Bash(printf:*)",
        "# Do $first\n\n$second says !`printf '%s' \"$first\"`, \\$1 stays, $9 too.\n",
    );
    let output = world
        .run(&["prompt", "--skill", "x", "--arguments", "one \"two three\""])
        .expect(0);
    insta::assert_snapshot!(timeless(&output));
}

/// Replaces the duration of commands.
fn timeless(output: &Output) -> String {
    let text = output.snapshot();
    let mut result = String::new();
    for part in text.split_inclusive(" ms") {
        let cut = part
            .strip_suffix(" ms")
            .map(|part| part.trim_end_matches(|c: char| c.is_ascii_digit()));
        match cut {
            Some(cut) => result.push_str(&format!("{cut}[TIME]")),
            None => result.push_str(part),
        }
    }
    result
}

#[test]
fn arguments_by_name_and_as_json() {
    let world = world("Read", "$first and $second\n");
    let body = |args: &[&str]| -> Value { render(&world, args).expect(0).json()["body"].clone() };
    assert_eq!(
        body(&["--arg", "second=b", "--arg", "first=a"]),
        "a and b\n"
    );
    assert_eq!(
        body(&["--args-json", "{\"first\": 1, \"second\": [2]}"]),
        "1 and [2]\n"
    );
    assert_eq!(body(&["--arguments", "-x --y"]), "-x and --y\n");
    let output = render(&world, &["--args-json", "{"]).expect(2);
    assert!(
        output.stderr.contains("invalid JSON in"),
        "{}",
        output.stderr
    );
    render(&world, &["--arg", "x"]).expect(2);
}

#[test]
fn unknown_skill_suggests() {
    let world = world("Read", "x\n");
    insta::assert_snapshot!(world.run(&["prompt", "--skill", "xx"]).expect(2).snapshot());
}
