//! `prowess schema`

use crate::world::World;

#[test]
fn list() {
    insta::assert_snapshot!(World::new().run(&["schema"]).expect(0).snapshot());
}

#[test]
fn every_schema_is_json() {
    let world = World::new();
    let list = world.run(&["schema"]).expect(0).stdout;
    let mut seen = 0;
    for name in list
        .lines()
        .filter_map(|line| line.split_whitespace().next())
    {
        let output = world.run(&["schema", name]).expect(0);
        let schema = output.json();
        assert_eq!(
            schema["$schema"], "https://json-schema.org/draft/2020-12/schema",
            "{name}"
        );
        assert!(schema["properties"].is_object(), "{name}");
        assert_eq!(output.stderr, "", "{name}");
        insta::assert_snapshot!(name, output.snapshot());
        seen += 1;
    }
    assert!(seen >= 2, "{list}");
}

#[test]
fn unknown_schema_suggests() {
    assert_eq!(
        World::new().run(&["schema", "skil"]).expect(2).errors(),
        "error: no schema named `skil`\nhint: did you mean `skill`?\n"
    );
    insta::assert_snapshot!(World::new().run(&["schema", "zebra"]).expect(2).snapshot());
}
