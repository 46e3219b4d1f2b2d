//! `search_skills`.

use prowess_catalog::VisibilityOverride;
use prowess_tools::Loaded;
use serde_json::{Value, json};

use crate::support::{World, call, told};

#[test]
fn best_match_comes_first() {
    let world = World::new();
    world
        .file(
            "~/.agents/skills/pdf/SKILL.md",
            "---\nname: pdf\ndescription: Fill forms in PDF files\n---\nx\n",
        )
        .file(
            "~/.agents/skills/forms/SKILL.md",
            "---\nname: forms\ndescription: Design web pages\n---\nAlso forms.\n",
        )
        .skill("deploy", "", "Ship.");
    let context = world.context();
    let answer = call(
        &context,
        &mut Loaded::default(),
        "search_skills",
        &json!({"query": "pdf forms"}),
    );
    let answer = answer.unwrap();
    assert_eq!(answer.value["skills"][0]["name"], "pdf");
    assert_eq!(answer.value["total"], 2);
    assert!(
        answer
            .text
            .starts_with("- **pdf**: Fill forms in PDF files\n- **forms**")
    );
    let one = told(
        &context,
        "search_skills",
        &json!({"query": "pdf forms", "limit": 1}),
    );
    assert!(
        one.ends_with("\n\n[1 more not shown; use a more specific query]"),
        "{one}"
    );
}

#[test]
fn results_say_which_skills_fit() {
    let world = World::new();
    world.file(
        "~/.agents/skills/pdf-forms/SKILL.md",
        "---\nname: pdf-forms\ndescription: Fills in the fields of PDF forms\n---\nx\n",
    );
    for number in 0..40 {
        let name = format!("chapter-{number}");
        world.file(
            format!("~/.agents/skills/{name}/SKILL.md"),
            format!("---\nname: {name}\ndescription: Explains a chapter in the handbook\n---\nSee the form.\n"),
        );
    }
    let context = world.context();
    let message = json!({"query": "please fill in the fields of this PDF form for me"});
    let answer = call(&context, &mut Loaded::default(), "search_skills", &message).unwrap();
    let skills = answer.value["skills"].as_array().unwrap();
    assert_eq!(skills[0]["name"], "pdf-forms");
    assert_eq!(skills[0]["fits"], true);
    assert!(skills.len() > 1 && skills[1..].iter().all(|skill| skill["fits"] == false));
}

#[test]
fn hidden_skills_do_not_change_which_skills_fit() {
    let world = World::new();
    for number in 0..60 {
        let name = format!("pdf-forms-{number}");
        world.file(
            format!("~/.agents/skills/{name}/SKILL.md"),
            format!("---\nname: {name}\ndescription: Please fill in the fields of this PDF form for me\n---\nx\n"),
        );
    }
    world.file(
        "~/.agents/skills/paper/SKILL.md",
        "---\nname: paper\ndescription: Fills in the fields of PDF forms\n---\nx\n",
    );
    for number in 0..200 {
        let name = format!("chapter-{number}");
        world.file(
            format!("~/.agents/skills/{name}/SKILL.md"),
            format!("---\nname: {name}\ndescription: Explains a chapter in the handbook\n---\nx\n"),
        );
    }
    let mut context = world.context();
    for number in 0..60 {
        context
            .settings
            .visibility
            .overrides
            .insert(format!("pdf-forms-{number}"), VisibilityOverride::UserOnly);
    }
    let message = json!({"query": "please fill in the fields of this PDF form for me"});
    let answer = call(&context, &mut Loaded::default(), "search_skills", &message).unwrap();
    let best = &answer.value["skills"][0];
    assert_eq!(
        (&best["name"], &best["fits"]),
        (&json!("paper"), &json!(true))
    );
}

#[test]
fn agentick_metadata_must_be_equal() {
    let world = World::new();
    world
        .skill("a", "metadata:\n  team: infra\n  tier: \"1\"\n", "x")
        .skill("b", "metadata:\n  team: infra\n", "x")
        .skill("c", "", "x");
    let context = world.context();
    let names = |metadata| {
        let input = json!({"query": "", "metadata": metadata});
        let answer = call(&context, &mut Loaded::default(), "search_skills", &input).unwrap();
        let skills = answer.value["skills"].as_array().unwrap().clone();
        skills
            .iter()
            .map(|skill| skill["name"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(json!({"team": "infra"})), ["a", "b"]);
    assert_eq!(names(json!({"team": "infra", "tier": "1"})), ["a"]);
    assert_eq!(names(json!({"team": "Infra"})), [] as [&str; 0]);
    assert_eq!(names(json!({})), ["a", "b", "c"]);
}

#[test]
fn name_only_skills_are_searched_by_name() {
    let world = World::new();
    world
        .skill("deploy", "metadata:\n  team: infra\n", "Rockets.")
        .skill("deploy-rockets-far", "", "Planets.");
    let mut context = world.context();
    for name in ["deploy", "deploy-rockets-far"] {
        let overrides = &mut context.settings.visibility.overrides;
        overrides.insert(name.into(), VisibilityOverride::NameOnly);
    }
    let search = |input| told(&context, "search_skills", &input);
    assert_eq!(
        search(json!({"query": "planets"})),
        "No skills match planets."
    );
    // A part of a word is not a word of the name.
    assert_eq!(
        search(json!({"query": "a planet"})),
        "No skills match a planet."
    );
    let rockets = json!({"query": "deploy planets"});
    let answer = call(&context, &mut Loaded::default(), "search_skills", &rockets).unwrap();
    let skills = answer.value["skills"].as_array().unwrap();
    let mut fits: Vec<_> = skills
        .iter()
        .map(|skill| (skill["name"].as_str().unwrap(), &skill["fits"]))
        .collect();
    fits.sort_by_key(|(name, _)| *name);
    // All words of the first name are in the query; the rest of the skill does not count.
    let expected = [
        ("deploy", &json!(true)),
        ("deploy-rockets-far", &json!(false)),
    ];
    assert_eq!(fits, expected);
    let by_team = json!({"query": "", "metadata": {"team": "infra"}});
    assert_eq!(search(by_team), "No skills match.");
}

#[test]
fn no_match_and_invalid_input() {
    let world = World::new();
    world.skill("pdf", "", "x");
    let context = world.context();
    let search = |input| told(&context, "search_skills", &input);
    assert_eq!(
        search(json!({"query": "zzzzqq"})),
        "No skills match zzzzqq."
    );
    assert_eq!(
        search(json!({})),
        "Invalid input for search_skills: `query` is missing (expected a string)."
    );
    assert_eq!(
        search(json!({"query": "x", "metadata": {"a": 1}})),
        "Invalid input for search_skills: `metadata.a` must be a string, not a number."
    );
}

/// In a session, a skill with `paths` is found when a matching file was used or is in the query.
#[test]
fn path_skill_is_found_when_the_query_names_a_file() {
    let world = World::new();
    let types =
        "---\nname: types\ndescription: Conventions of the house\npaths: \"src/**/*.ts\"\n---\nx\n";
    world
        .file("~/.agents/skills/types/SKILL.md", types)
        .skill("login", "", "O.");
    let mut context = world.context();
    context.settings.visibility.touched = Some(Vec::new());
    let search = |query: &str| {
        let input = json!({ "query": query });
        let answer = call(&context, &mut Loaded::default(), "search_skills", &input).unwrap();
        answer.value["skills"].clone()
    };
    assert_eq!(search("conventions of the house"), json!([]));
    let found = search("refactor login in ./src/web/login.ts");
    let names: Vec<&str> = (found.as_array().unwrap().iter())
        .map(|skill| skill["name"].as_str().unwrap())
        .collect();
    assert!(
        names.contains(&"login") && names.contains(&"types"),
        "{found}"
    );
    let types = &found[names.iter().position(|name| *name == "types").unwrap()];
    assert_eq!(types["fits"], true);
    assert_eq!(types.get("paths"), None, "a matching file was named");
    // An absolute path inside the project counts, other files do not.
    let inside = world.path("src/a.ts");
    assert_eq!(
        search(&format!("look at {}", inside.display()))[0]["name"],
        "types"
    );
    assert_eq!(search("look at docs/a.md"), json!([]));
}

/// The files of an MCP client are unknown: a search finds skills with `paths` and names the files.
#[test]
fn path_skill_is_found_with_its_condition_if_files_are_unknown() {
    let world = World::new();
    let types = "---\nname: types\ndescription: Conventions of the house\npaths: [\"src/**/*.ts\", \"</x>*.md\"]\n---\nx\n";
    world.file("~/.agents/skills/types/SKILL.md", types);
    let mut context = world.context();
    context.settings.visibility.touched = Some(Vec::new());
    context.settings.visibility.search_waiting = true;
    let call =
        |tool: &str, input: Value| call(&context, &mut Loaded::default(), tool, &input).unwrap();
    // The tools are there although no skill is listed.
    assert_eq!(call("list_skills", json!({})).text, "No skills available.");
    let answer = call(
        "search_skills",
        json!({ "query": "conventions of the house" }),
    );
    assert_eq!(
        answer.text,
        "- **types**: Conventions of the house (only for files that match src/**/*.ts, &lt;/x>*.md)"
    );
    assert_eq!(
        answer.value["skills"][0],
        json!({
            "name": "types", "scope": "user", "description": "Conventions of the house",
            "loaded": false, "fits": false, "paths": ["src/**/*.ts", "&lt;/x>*.md"],
        })
    );
    let answer = call(
        "search_skills",
        json!({ "query": "conventions of the house in src/a.ts" }),
    );
    assert_eq!(answer.text, "- **types**: Conventions of the house");
    assert_eq!(answer.value["skills"][0]["fits"], true);
    assert!(
        call("load_skill", json!({ "name": "types" }))
            .text
            .contains('x')
    );
}
