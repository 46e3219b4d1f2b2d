//! `prowess` without a command.

use crate::world::World;

#[test]
fn no_skills() {
    insta::assert_snapshot!(World::new().run::<&str>(&[]).expect(0).snapshot());
}

#[test]
fn skills_and_problems() {
    let world = World::new();
    world.good(".agents/skills/pdf");
    world.good(".claude/skills/release-notes");
    world.good("~/.claude/skills/pdf");
    world.good("~/.claude/skills/csv-report");
    world.skill(
        ".agents/skills/odd",
        "name: odd\ndescription: Uses: a colon\n",
    );
    world.folder(".agents/skills/broken/SKILL.md");
    insta::assert_snapshot!(world.run::<&str>(&[]).expect(0).snapshot());
}

#[test]
fn listing_over_budget() {
    let world = World::new();
    world.good(".agents/skills/pdf");
    world.file(".agents/prowess.toml", "[prompt]\nbudget = 10\n");
    let output = world.run::<&str>(&[]).expect(0);
    assert!(
        output
            .stdout
            .contains("  the model reads 2 names without descriptions "),
        "{}",
        output.snapshot()
    );
    for line in output.stdout.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

/// Every suggested command exists.
#[test]
fn suggested_commands_exist() {
    let world = World::new();
    world.good(".agents/skills/pdf");
    world.good("~/.claude/skills/pdf");
    let text = world.run::<&str>(&[]).expect(0).stdout;
    let named = text.match_indices("prowess ").filter_map(|(at, _)| {
        let command = text[at..].split_whitespace().nth(1)?;
        command.starts_with(char::is_alphabetic).then_some(command)
    });
    let named: Vec<&str> = named.collect();
    assert!(named.len() >= 4, "{text}");
    for command in named {
        world.run(&["help", command]).expect(0);
    }
}
