//! Folders with skills that a user names: `~`, relative paths, folders that do not exist.

use crate::world::World;

fn names(output: &crate::world::Output) -> Vec<String> {
    let document = output.json();
    let skills = document["skills"].as_array().unwrap();
    let own = skills.iter().filter(|skill| skill["scope"] != "bundled");
    own.map(|skill| skill["name"].as_str().unwrap().to_owned())
        .collect()
}

/// S-B9 and row P20: `~` was expanded in the configuration only.
#[test]
fn tilde_is_the_home_folder() {
    let world = World::new();
    world.good("~/team/alpha");
    world.good("~/team/nested/beta");
    world.good("~/gamma");
    let list = ["list", "--json"];
    for (folders, expected) in [
        ("~/team", &["alpha", "beta"][..]),
        ("~/team/nested/", &["beta"]),
        ("~", &["alpha", "beta", "gamma"]),
        ("~/gamma:~/team/nested", &["beta", "gamma"]),
    ] {
        let output = world
            .command(&list)
            .env("PROWESS_SKILLS_PATH", folders)
            .run();
        assert_eq!(names(&output.expect(0)), expected, "{folders}");
    }
    let output = world
        .run(&["list", "--json", "--skills-dir=~/team"])
        .expect(0);
    assert_eq!(names(&output), ["alpha", "beta"]);
    let output = world
        .run(&["list", "--json", "--skills-dir=~/absent"])
        .expect(2);
    assert!(
        output
            .stderr
            .contains("`--skills-dir ~/absent` does not exist"),
        "{}",
        output.stderr
    );
    world.file("~/config.toml", "[skills]\ndirs = ['~/team']\n");
    assert_eq!(names(&world.run(&list).expect(0)), ["alpha", "beta"]);
}

#[test]
fn relative_folders_are_below_the_current_folder() {
    let world = World::new();
    world.good("team/alpha");
    world.good("../beside/beta");
    let list = ["list", "--json"];
    for (folders, expected) in [
        ("team", &["alpha"][..]),
        ("./team", &["alpha"]),
        ("../beside", &["beta"]),
    ] {
        let output = world
            .command(&list)
            .env("PROWESS_SKILLS_PATH", folders)
            .run();
        assert_eq!(names(&output.expect(0)), expected, "{folders}");
    }
    // Relative paths in the user's file start at the folder of the file.
    world.good("~/near/delta");
    world.file("~/config.toml", "[skills]\ndirs = ['near']\n");
    assert_eq!(names(&world.run(&list).expect(0)), ["delta"]);
}

#[test]
fn folder_of_the_variable_that_does_not_exist_is_reported() {
    let world = World::new();
    world.good("team/alpha");
    for arguments in [&["list", "--json"][..], &["validate"], &["find", "form"]] {
        let run = world.command(arguments);
        let output = run
            .env("PROWESS_SKILLS_PATH", "team:~/absent:gone")
            .run()
            .expect(0);
        for folder in ["~/absent", "gone"] {
            let expected = format!("warning: `{folder}` in `PROWESS_SKILLS_PATH` does not exist\n");
            assert!(
                output.stderr.contains(&expected),
                "{arguments:?}: {}",
                output.stderr
            );
        }
        assert_eq!(
            output.stderr.matches("does not exist").count(),
            2,
            "{arguments:?}"
        );
    }
    let quiet = world.command(&["list", "--json", "-q"]);
    let output = quiet.env("PROWESS_SKILLS_PATH", "gone").run().expect(0);
    assert_eq!(output.stderr, "");
}
