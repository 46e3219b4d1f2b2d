//! `prowess completions`, and dynamic completion.

use crate::world::World;

const SHELLS: [&str; 5] = ["bash", "elvish", "fish", "powershell", "zsh"];

#[test]
fn script_for_every_shell() {
    let world = World::new();
    for shell in SHELLS {
        let output = world.run(&["completions", shell]).expect(0);
        assert!(
            output.stdout.contains("COMPLETE"),
            "{shell}: {}",
            output.stdout
        );
        assert!(
            output.stdout.contains("prowess"),
            "{shell}: {}",
            output.stdout
        );
        assert_eq!(output.stderr, "", "{shell}");
    }
}

#[test]
fn unknown_shell() {
    assert_eq!(
        World::new().run(&["completions", "bsh"]).expect(2).errors(),
        "error: unsupported shell `bsh`: expected `bash`, `elvish`, `fish`, `powershell` or `zsh`\nhint: did you mean `prowess completions bash`?\n"
    );
}

/// Requests completion of the last word, as the bash script does.
pub(crate) fn complete(world: &World, words: &[&str]) -> Vec<String> {
    let arguments = [&["--", "prowess"], words].concat();
    let run = world
        .command(&arguments)
        .env("COMPLETE", "bash")
        .env("_CLAP_IFS", "\n")
        .env("_CLAP_COMPLETE_INDEX", words.len().to_string())
        .env("_CLAP_COMPLETE_COMP_TYPE", "9")
        .env("_CLAP_COMPLETE_SPACE", "true");
    let output = run.run().expect(0);
    assert_eq!(output.stderr, "", "{words:?}");
    output.stdout.lines().map(str::to_owned).collect()
}

#[test]
fn names_of_skills() {
    let world = World::new();
    world.good(".agents/skills/release-notes");
    world.good("~/.claude/skills/csv-report");
    world.good("shared/retro");
    assert_eq!(complete(&world, &["show", "re"]), ["release-notes"]);
    assert_eq!(complete(&world, &["why", "c"]), ["csv-report"]);
    assert_eq!(complete(&world, &["validate", "rel"]), ["release-notes"]);
    world.file(".agents/prowess.toml", "[skills]\ndirs = ['shared']\n");
    assert_eq!(complete(&world, &["show", "ret"]), ["retro"]);
    // Errors in the configuration are ignored.
    world.file(".agents/prowess.toml", "broken");
    assert_eq!(complete(&world, &["show", "re"]), ["release-notes"]);
}

#[test]
fn paths() {
    let world = World::with_a_good_skill();
    assert_eq!(
        complete(&world, &["show", "skills/rel"]),
        ["skills/release-notes/"]
    );
    assert_eq!(complete(&world, &["validate", "ski"]), ["skills/"]);
}

#[test]
fn commands_flags_and_values() {
    let world = World::new();
    assert_eq!(complete(&world, &["comp"]), ["completions"]);
    assert_eq!(complete(&world, &["list", "--wi"]), ["--wide"]);
    assert_eq!(
        complete(&world, &["explain", "name-fold"]),
        ["name-folder-mismatch"]
    );
    assert_eq!(
        complete(&world, &["validate", "--select", "name-fold"]),
        ["name-folder-mismatch"]
    );
    assert_eq!(complete(&world, &["completions", "f"]), ["fish"]);
    assert_eq!(complete(&world, &["help", "exit"]), ["exit-codes"]);
    assert_eq!(complete(&world, &["help", "val"]), ["validate"]);
    assert_eq!(complete(&world, &["list", "--scope", "pro"]), ["project"]);
    world.file(".agents/prowess.toml", "[agents.writer]\n");
    assert_eq!(complete(&world, &["prompt", "--agent", ""]), ["writer"]);
    let agent = "---\nname: reviewer\ndescription: d\n---\nx\n";
    world.file(".claude/agents/reviewer.md", agent);
    assert_eq!(complete(&world, &["agent", "show", "rev"]), ["reviewer"]);
    assert_eq!(
        complete(&world, &["validate", "--ignore", "agent-un"]),
        ["agent-unsupported"]
    );
}

/// Shells insert candidates unquoted, and names are untrusted.
#[test]
fn names_with_shell_syntax_are_not_offered() {
    let world = World::new();
    for folder in [
        "zz$(touch pwned)",
        "zz;ls",
        "zz\u{1b}[31m",
        "zz good",
        "zz-good",
    ] {
        world.file(format!(".agents/skills/{folder}/SKILL.md"), "Do it.\n");
    }
    assert_eq!(complete(&world, &["why", "zz"]), ["zz-good"]);
}

#[test]
fn names_of_missions() {
    let world = World::new();
    world.file("missions.hcl", crate::missions::RESEARCH);
    assert_eq!(complete(&world, &["mission", "graph", "re"]), ["research"]);
    assert_eq!(
        complete(&world, &["mission", "plan", ".", "re"]),
        ["research"]
    );
}
