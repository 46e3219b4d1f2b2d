//! The `agent` key of forked skills.

use prowess_agent::{Event, Request};
use prowess_catalog::{Audience, CatalogView, SkillGrant};
use prowess_policy::PermissionMode;
use prowess_runtime::{Engine, RuntimeError, Session, SkillRef, SubRun};
use serde_json::json;

use crate::script::{Script, bash, call, conversation, load, results, says, tools};
use crate::talk::{go_on, started, talk};
use crate::world::{Counter, World, children, events, mode, never, roots, wait};

prowess_test::tests! {
    case_125_unknown_agent_suggests_similar_name_and_runs_nothing
    case_125_unknown_agent_is_reported_to_users_and_callers
    case_125_background_agent_is_resolved_immediately
    case_125_default_agent_is_general_purpose
    case_125_explore_and_plan_are_read_only
    case_125_configured_agent_sees_only_its_skills
    case_125_agent_cannot_exceed_its_parent
    case_125_agent_does_not_run_denied_skill
    case_125_grant_for_built_in_agent_only_restricts
}

/// Tools that change something or can start something that does.
const CHANGING: [&str; 4] = ["bash", "write", "edit", "run_command_line"];

fn grant(allow: &[&str], deny: &[&str]) -> SkillGrant {
    let owned = |names: &[&str]| {
        names
            .iter()
            .map(|&name| name.to_owned())
            .collect::<Vec<_>>()
    };
    SkillGrant {
        allow: (!allow.is_empty()).then(|| owned(allow)),
        deny: owned(deny),
    }
}

fn index(request: &Request) -> &str {
    request.system.last().map_or("", String::as_str)
}

fn case_125_unknown_agent_suggests_similar_name_and_runs_nothing() {
    let world = World::new();
    let hook = "hooks:\n  PreToolUse:\n    - hooks:\n        - type: command\n          command: mkdir hooked\n";
    world.skill("guard", hook, "Guard.");
    world.skill(
        "scout",
        "context: fork\nagent: Exploer\n",
        "Look !`mkdir rendered`.",
    );
    let model = Script::of([load("guard"), load("scout"), says("no")]);
    let mut parts = world.parts(model.clone());
    parts
        .settings
        .agents
        .insert("writer".into(), SkillGrant::default());
    mode(&mut parts, PermissionMode::Yolo);
    let engine = Engine::new(parts).unwrap();
    let id = talk(&engine, "go");
    let request = model.last();
    let result = request.messages.last().unwrap().results().next().unwrap();
    assert!(result.is_error);
    assert_eq!(
        result.text,
        "no agent named `Exploer`, required by skill `scout`; did you mean `Explore`? Available \
         agents: `general-purpose`, `Explore`, `Plan` and `writer`"
    );
    assert!(children(&engine, &id).is_empty(), "no session was started");
    for made in ["hooked", "rendered"] {
        assert!(!world.exists(made), "{made}");
    }
    let began = |event: &Event| matches!(event, Event::CallStarted { .. });
    assert_eq!(
        events(&engine, &id)
            .iter()
            .filter(|one| began(&one.event))
            .count(),
        1
    );
}

fn case_125_unknown_agent_is_reported_to_users_and_callers() {
    let world = World::new();
    world.skill("scout", "context: fork\nagent: reviewer\n", "Look.");
    let engine = world.engine(Script::of([]));
    let check = |error: RuntimeError| {
        assert_eq!(
            error.to_string(),
            "no agent named `reviewer`, required by skill `scout`; available agents: \
             `general-purpose`, `Explore` and `Plan`"
        );
        let RuntimeError::NoAgent {
            near: None, known, ..
        } = error
        else {
            panic!("{error:?}")
        };
        assert_eq!(known.len(), 3);
    };
    let run = |engine: &Engine| {
        wait(engine.run_skill(SubRun::new(SkillRef::Name("scout".into())), &never())).unwrap_err()
    };
    check(run(&engine));
    assert!(roots(&engine).is_empty(), "no session was started");
    wait(async {
        let mut session = Session::start(&engine, "t").await.unwrap();
        check(session.say("/scout the house", &never()).await.unwrap_err());
        assert!(children(&engine, session.id()).is_empty());
    });
    // The error stays short even with many agents.
    let mut parts = world.parts(Script::of([]));
    for number in 0..1_000 {
        parts
            .settings
            .agents
            .insert(format!("agent-{number:03}").into(), SkillGrant::default());
    }
    let error = run(&Engine::new(parts).unwrap()).to_string();
    assert!(
        error.contains("`agent-016` and 983 more") && error.len() < 500,
        "{error}"
    );
}

fn case_125_background_agent_is_resolved_immediately() {
    let world = World::new();
    world.skill(
        "scout",
        "context: fork\nbackground: true\nagent: Explorer\n",
        "Look.",
    );
    let model = Script::of([load("scout"), says("no")]);
    let mut parts = world.parts(model.clone());
    parts.settings.background = true;
    let engine = Engine::new(parts).unwrap();
    talk(&engine, "go");
    let told = &results(&model.last())[0];
    assert!(told.starts_with("no agent named `Explorer`"), "{told}");
}

fn case_125_default_agent_is_general_purpose() {
    let world = World::new();
    world
        .skill("maker", "context: fork\n", "Make $ARGUMENTS.")
        .skill("other", "", "Other.");
    let model = Script::of([
        call("load_skill", json!({ "name": "maker", "arguments": "one" })),
        bash("mkdir made"),
        says("It is made."),
        says("done"),
    ]);
    let engine = world.free(model.clone());
    let id = talk(&engine, "the secret is 7");
    let child = &children(&engine, &id)[0].id;
    assert_eq!(started(&engine, child).agents, ["general-purpose".into()]);
    let first = &model.asked()[1];
    assert!(
        CHANGING.iter().all(|tool| tools(first).contains(tool)),
        "{:?}",
        tools(first)
    );
    assert!(conversation(first).contains("Make one.") && !conversation(first).contains("secret"));
    assert!(index(first).contains("other"), "{}", index(first));
    assert!(world.exists("made"));
    assert!(results(&model.last())[0].contains("It is made."));
    assert!(
        started(&engine, &id).agents.is_empty(),
        "the conversation itself is not forked"
    );
}

fn case_125_explore_and_plan_are_read_only() {
    for agent in ["Explore", "plan"] {
        let world = World::new();
        world.skill(
            "scout",
            &format!("context: fork\nagent: {agent}\n"),
            "Look around.",
        );
        world.skill("maker", "context: fork\n", "Make.");
        let model = Script::by(|at, _| match at {
            0 => load("scout"),
            1 => bash("mkdir made"),
            2 => load("maker"),
            3 => call("count", json!({})),
            _ => says("done"),
        });
        let counter = Counter::new("count");
        let mut parts = world.parts(model.clone());
        parts.services.tools.push(counter.clone());
        mode(&mut parts, PermissionMode::Yolo);
        let engine = Engine::new(parts).unwrap();
        let id = talk(&engine, "go");
        // `load_skill` is excluded because loading a skill may run its commands.
        let changing = [&CHANGING[..], &["count", "load_skill"]].concat();
        let check = |request: &Request| {
            let names = tools(request);
            assert!(
                !changing.iter().any(|tool| names.contains(tool)),
                "{agent}: {names:?}"
            );
            assert!(
                names.contains(&"read") && names.contains(&"grep"),
                "{agent}: {names:?}"
            );
        };
        let asked = model.asked();
        assert!(
            tools(&asked[0]).contains(&"bash"),
            "the parent has every tool"
        );
        check(&asked[1]);
        for (at, tool) in [(2, "bash"), (4, "count")] {
            let told = &results(&asked[at])[0];
            assert!(
                told.starts_with(&format!("Unknown tool: {tool}.")),
                "{told}"
            );
        }
        assert!(counter.inputs().is_empty() && !world.exists("made"));
        // The restriction survives a resume, even if the skill has changed.
        let scout = children(&engine, &id)[0].id.clone();
        world.skill("scout", "context: fork\n", "Make something.");
        engine.context().services.registry.refresh();
        go_on(&engine, &scout);
        check(&model.last());
    }
}

fn case_125_configured_agent_sees_only_its_skills() {
    let world = World::new();
    world.skill("draft", "context: fork\nagent: Writer\n", "Write.");
    world.file("~/.agents/skills/draft/more.md", "More of it.");
    world.skill("notes", "context: fork\n", "Notes.");
    world
        .skill("plain", "", "Plain text.")
        .skill("hidden-one", "", "Hidden.");
    let model = Script::by(|at, _| match at {
        0 => load("draft"),
        1 | 6 => load("hidden-one"),
        2 => load("missing-one"),
        3 => call(
            "load_skill_resource",
            json!({ "skill_name": "draft", "resource_path": "more.md" }),
        ),
        4 => load("plain"),
        5 => load("notes"),
        _ => says("done"),
    });
    let mut parts = world.parts(model.clone());
    parts
        .settings
        .agents
        .insert("writer".into(), grant(&["notes", "plain"], &[]));
    let engine = Engine::new(parts).unwrap();
    let id = talk(&engine, "go");
    let asked = model.asked();
    let told = |at: usize| results(&asked[at]).remove(0);
    assert!(
        index(&asked[0]).contains("hidden-one"),
        "the parent sees every skill"
    );
    assert!(index(&asked[1]).contains("plain") && !index(&asked[1]).contains("hidden-one"));
    assert_eq!(
        told(2).replace("hidden-one", "missing-one"),
        told(3),
        "indistinguishable from a missing skill"
    );
    assert!(
        told(4).contains("More of it."),
        "its own files: {}",
        told(4)
    );
    assert!(told(5).contains("Plain text."), "{}", told(5));
    // Its sub-runs have the same limits.
    assert!(index(&asked[6]).contains("plain") && !index(&asked[6]).contains("hidden-one"));
    assert_eq!(
        told(7),
        "Unknown skill: hidden-one. Available: notes, plain"
    );
    let draft = children(&engine, &id)[0].id.clone();
    let notes = children(&engine, &draft)[0].id.clone();
    assert_eq!(started(&engine, &draft).agents, ["writer".into()]);
    assert_eq!(
        started(&engine, &notes).agents,
        ["writer".into(), "general-purpose".into()]
    );
    for id in [&*draft, &*notes] {
        wait(async {
            let session = Session::resume(&engine, id, None).await.unwrap();
            let visible = |name: &str| {
                let catalog = session.context().services.registry.snapshot();
                let policy = &session.context().settings.visibility;
                let view = CatalogView::new(&catalog, policy, Audience::Model);
                view.resolve(name).is_ok()
            };
            assert!(visible("plain") && !visible("hidden-one"), "{id}");
        });
    }
}

fn case_125_agent_cannot_exceed_its_parent() {
    let world = World::new();
    world.skill("draft", "context: fork\nagent: writer\n", "Write.");
    world
        .skill("notes", "", "Notes.")
        .skill("hidden-one", "", "Hidden.");
    let model = Script::by(|at, _| if at == 0 { load("draft") } else { says("done") });
    let mut parts = world.parts(model.clone());
    // The plain and the qualified name refer to the same skill.
    parts.settings.visibility.grant = grant(&["draft", "user:notes"], &[]);
    parts
        .settings
        .agents
        .insert("writer".into(), grant(&["notes", "hidden-one"], &[]));
    talk(&Engine::new(parts).unwrap(), "go");
    let asked = model.asked();
    let index = index(&asked[1]);
    assert!(
        index.contains("notes") && !index.contains("hidden-one"),
        "{index}"
    );
}

fn case_125_agent_does_not_run_denied_skill() {
    let world = World::new();
    world.skill("draft", "context: fork\nagent: writer\n", "Write.");
    let model = Script::of([load("draft"), says("no")]);
    let mut parts = world.parts(model.clone());
    parts
        .settings
        .agents
        .insert("writer".into(), grant(&[], &["draft"]));
    let engine = Engine::new(parts).unwrap();
    let id = talk(&engine, "go");
    let told = &results(&model.last())[0];
    assert_eq!(
        told,
        "skill `draft` runs as agent `writer`, which may not use that skill"
    );
    assert!(children(&engine, &id).is_empty());
}

fn case_125_grant_for_built_in_agent_only_restricts() {
    let world = World::new();
    world.skill("scout", "context: fork\nagent: Explore\n", "Look.");
    world
        .skill("seen-one", "", "Seen.")
        .skill("hidden-one", "", "Hidden.");
    let resource = |name: &str| {
        call(
            "load_skill_resource",
            json!({ "skill_name": name, "resource_path": "SKILL.md" }),
        )
    };
    let model = Script::of([
        load("scout"),
        resource("seen-one"),
        resource("hidden-one"),
        says("sub"),
        says("done"),
    ]);
    let mut parts = world.parts(model.clone());
    parts
        .settings
        .agents
        .insert("explore".into(), grant(&[], &["hidden-one"]));
    talk(&Engine::new(parts).unwrap(), "go");
    let asked = model.asked();
    assert!(!CHANGING.iter().any(|tool| tools(&asked[1]).contains(tool)));
    let (seen, hidden) = (&results(&asked[2])[0], &results(&asked[3])[0]);
    assert!(seen.contains("Seen."), "{seen}");
    assert!(!hidden.contains("Hidden."), "{hidden}");
}
