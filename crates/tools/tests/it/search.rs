//! `search_skills`.

use prowess_catalog::VisibilityOverride;
use prowess_tools::Loaded;
use serde_json::json;

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
