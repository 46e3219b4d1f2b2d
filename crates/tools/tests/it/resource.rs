//! `load_skill_resource`.

use prowess_policy::{Effect, PermissionMode};
use prowess_tools::{Loaded, ToolErrorKind, ToolSelection, Toolset};
use serde_json::{Value, json};

use crate::support::{World, call, gate, told};

fn world() -> World {
    let world = World::new();
    world
        .skill("pdf", "", "Do it.")
        .file(
            "~/.agents/skills/pdf/references/forms.md",
            "Forms.\nMore forms.\n",
        )
        .file(
            "~/.agents/skills/pdf/assets/logo.png",
            b"\x89PNG\r\n\x1a\nxyz",
        )
        .file("~/.agents/skills/pdf/scripts/fill.py", "print(1)\n");
    world
}

fn read(world: &World, path: &str) -> String {
    let input = json!({"skill_name": "pdf", "resource_path": path});
    told(&world.context(), "load_skill_resource", &input)
}

#[test]
fn core_agent_any_file_of_the_package() {
    let world = world();
    let context = world.context();
    let input = json!({"skill_name": "pdf", "resource_path": "references/forms.md"});
    for name in ["load_skill_resource", "load_skill_resources"] {
        let answer = call(&context, &mut Loaded::default(), name, &input).unwrap();
        assert_eq!(answer.text, "Forms.\nMore forms.\n");
        assert_eq!(
            answer.value,
            json!({
                "skill_name": "pdf", "path": "references/forms.md",
                "content": "Forms.\nMore forms.\n", "type": "text/plain",
                "size": 19, "offset": 0, "next": null,
            })
        );
    }
    // core-agent reads only three folders. It allows harmless dots too.
    assert_eq!(read(&world, "scripts/../scripts/./fill.py"), "print(1)\n");
    assert!(read(&world, "SKILL.md").starts_with("---\nname: pdf"));
}

#[test]
fn long_files_are_paged() {
    let world = world();
    let content: String = (0..30_000).map(|n| format!("line {n} é\n")).collect();
    world.file("~/.agents/skills/pdf/long.txt", &content);
    let context = world.context();
    let (mut offset, mut whole, mut parts) = (json!(0), String::new(), 0);
    while !offset.is_null() {
        let input = json!({"skill_name": "pdf", "resource_path": "long.txt", "offset": offset});
        let answer = call(
            &context,
            &mut Loaded::default(),
            "load_skill_resource",
            &input,
        )
        .unwrap();
        whole.push_str(answer.value["content"].as_str().unwrap());
        offset = answer.value["next"].clone();
        parts += 1;
        if !offset.is_null() {
            assert!(
                answer
                    .text
                    .ends_with(&format!("pass offset {offset} to continue]\n"))
            );
        }
    }
    assert!(whole == content && parts > 5);
    let input = json!({"skill_name": "pdf", "resource_path": "references/forms.md", "limit": 3});
    assert_eq!(
        told(&context, "load_skill_resource", &input),
        "For\n[bytes 0 to 3 of 19; pass offset 3 to continue]\n"
    );
    let input = json!({"skill_name": "pdf", "resource_path": "references/forms.md", "offset": 99});
    assert_eq!(
        told(&context, "load_skill_resource", &input),
        "[bytes 19 to 19 of 19; end of file]\n"
    );
}

#[test]
fn binary_files_return_a_notice() {
    let world = world();
    let context = world.context();
    let input = json!({"skill_name": "pdf", "resource_path": "assets/logo.png"});
    let answer = call(
        &context,
        &mut Loaded::default(),
        "load_skill_resource",
        &input,
    )
    .unwrap();
    assert_eq!(
        answer.text,
        "`assets/logo.png` of the skill pdf is not text: image/png, 11 B. It was not loaded."
    );
    assert_eq!(answer.value["type"], "image/png");
    assert!(answer.value["content"].is_null());
}

#[test]
fn missing_files_have_suggestions_and_a_list() {
    let world = world();
    let files = " Its files: SKILL.md, assets/logo.png, references/forms.md, scripts/fill.py";
    for (path, error) in [
        (
            "references/froms.md",
            "The skill pdf has no file `references/froms.md`. Did you mean `references/forms.md`?",
        ),
        (
            "forms.md",
            "The skill pdf has no file `forms.md`. Did you mean `references/forms.md`?",
        ),
        ("zzz", "The skill pdf has no file `zzz`."),
        (
            "references",
            "`references` of the skill pdf is a folder, not a file. Did you mean `references/forms.md`?",
        ),
    ] {
        assert_eq!(read(&world, path), format!("{error}{files}"));
    }
}

#[test]
fn core_agent_and_skilled_crew_escapes_are_refused() {
    let world = world();
    world.file("~/secret", "secret");
    std::os::unix::fs::symlink(
        world.path("~/secret"),
        world.path("~/.agents/skills/pdf/link"),
    )
    .unwrap();
    for (path, error) in [
        ("../../../secret", "it points outside the skill's folder."),
        ("/etc/passwd", "it must be relative to the skill's folder."),
        ("", "it is empty."),
        ("a\\b", "it contains a backslash or a NUL."),
        ("references/\0", "it contains a backslash or a NUL."),
        (
            "link",
            "Cannot read `link` of the skill pdf: `link` links to a file outside the skill.",
        ),
    ] {
        let text = read(&world, path);
        assert!(
            text.ends_with(error) && !text.contains("secret\n"),
            "{path}: {text}"
        );
    }
}

#[test]
fn rules_match_the_normalized_path() {
    let world = world();
    let mut context = world.context();
    context.gate = gate(
        PermissionMode::Yolo,
        &[(Effect::Deny, "skill:pdf/read:references/*")],
    );
    for path in [
        "references/forms.md",
        "references/././forms.md",
        "x/../references/forms.md",
    ] {
        let input = json!({"skill_name": "pdf", "resource_path": path});
        let no = call(
            &context,
            &mut Loaded::default(),
            "load_skill_resource",
            &input,
        );
        assert_eq!(no.unwrap_err().why(), Some(ToolErrorKind::Denied), "{path}");
    }
    let input = json!({"skill_name": "pdf", "resource_path": "scripts/fill.py"});
    assert_eq!(told(&context, "load_skill_resource", &input), "print(1)\n");
}

#[test]
fn invalid_input_and_unknown_skills() {
    let world = world();
    let context = world.context();
    let read = |input| told(&context, "load_skill_resource", &input);
    assert_eq!(
        read(json!({"name": "pdf", "resource_path": "x"})),
        "Invalid input for load_skill_resource:\n- `skill_name` is missing (expected a string)\n- unknown field `name` (expected `skill_name`, `resource_path`, `offset`, `limit`)"
    );
    assert_eq!(
        read(json!({"skill_name": "pfd", "resource_path": "x"})),
        "Unknown skill: pfd. Did you mean `pdf`? Available: pdf"
    );
}

/// Reads several files of a skill, and returns the result by path.
fn several(world: &World, rules: &[(Effect, &str)], paths: &[&str]) -> Value {
    let mut context = world.context();
    context.gate = gate(PermissionMode::Ask, rules);
    let tools = Toolset::new(&ToolSelection::everything()).unwrap();
    let resources: Vec<Value> = paths.iter().map(|path| json!({ "path": path })).collect();
    let input = json!({ "skill_name": "pdf", "resources": resources });
    let answer = tools
        .call(
            &context,
            &mut Loaded::default(),
            "load_skill_resources",
            &input,
        )
        .unwrap();
    assert!(
        answer.text.len() <= prowess_tools::MAX_BYTES,
        "{}",
        answer.text.len()
    );
    let value: Value = serde_json::from_str(&answer.text).unwrap();
    assert_eq!(value, answer.value["resources"]);
    value
}

#[test]
fn skilled_crew_several_files_are_bounded() {
    let world = world();
    for name in ["one", "two", "three"] {
        let path = format!("~/.agents/skills/pdf/{name}.txt");
        world.file(path, format!("{}\n", "\"".repeat(15)).repeat(1_000));
    }
    world.file("~/.agents/skills/pdf/huge.txt", "x".repeat(100_000));
    let told = several(
        &world,
        &[],
        &["one.txt", "two.txt", "three.txt", "huge.txt", "SKILL.md"],
    );
    let error = |path: &str| told[path]["error"].as_str().unwrap_or_default();
    assert_eq!(told["one.txt"].as_str().unwrap().len(), 16_000);
    assert!(
        error("two.txt").contains("the result is full"),
        "{}",
        error("two.txt")
    );
    assert!(
        error("huge.txt").contains("too long"),
        "{}",
        error("huge.txt")
    );
    assert!(
        told["SKILL.md"]
            .as_str()
            .unwrap()
            .starts_with("---\nname: pdf")
    );
    // Long names and errors do not exceed the limit either.
    let long: Vec<String> = (0..20)
        .map(|at| format!("{at}{}", "\u{1}".repeat(298)))
        .collect();
    let long: Vec<&str> = long.iter().map(String::as_str).collect();
    assert_eq!(several(&world, &[], &long).as_object().unwrap().len(), 20);
    let context = world.context();
    for resources in [json!([]), json!(vec![json!({ "path": "SKILL.md" }); 21])] {
        let input = json!({ "skill_name": "pdf", "resources": resources });
        let tools = Toolset::new(&ToolSelection::everything()).unwrap();
        let called = tools.call(
            &context,
            &mut Loaded::default(),
            "load_skill_resources",
            &input,
        );
        assert_eq!(called.unwrap_err().why(), Some(ToolErrorKind::Input));
    }
}

#[test]
fn rules_about_one_file_apply_to_several() {
    let world = world();
    let paths = [
        "references/forms.md",
        "references/./../scripts/fill.py",
        "assets/logo.png",
    ];
    for rules in [
        &[(Effect::Deny, "load_skill_resource(resource_path:*fill.py)")][..],
        &[(Effect::Deny, "skill:pdf/read:scripts/*")],
    ] {
        let told = several(&world, rules, &paths);
        assert_eq!(told[paths[0]], "Forms.\nMore forms.\n");
        let refused = told[paths[1]]["error"].as_str().unwrap();
        assert!(refused.contains("refused"), "{rules:?} {refused}");
        let binary = told[paths[2]]["error"].as_str().unwrap();
        assert!(binary.contains("is not text"), "{binary}");
    }
    for name in ["load_skill_resource", "load_skill_resources"] {
        let told = several(&world, &[(Effect::Deny, name)], &paths);
        assert!(
            told.as_object()
                .unwrap()
                .values()
                .all(|one| one["error"].is_string()),
            "{told}"
        );
    }
}
