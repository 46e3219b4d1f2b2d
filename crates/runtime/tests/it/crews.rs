//! Crews of `skilled_crew`, with their own skills, commands and servers.

use std::sync::Arc;

use prowess_agent::Request;
use prowess_flow::{AgentFile, AgentScope};
use prowess_policy::PermissionMode;
use prowess_registry::Place;
use prowess_runtime::{AgentRun, Ending, Engine, Session};
use prowess_tools::{AgentFileTrust, AgentLibrary};
use serde_json::{Value, json};

use crate::script::{Act, Script, call, load, results, says, tools};
use crate::world::{Counter, World, children, mode, never, roots, wait};

prowess_test::tests! {
    crew_entry_sees_descriptions_and_skills_run_as_sub_runs
    crew_skill_has_the_mcp_tools_of_its_agent_and_no_others
    crew_hands_over_twice_with_results
    crew_commands_work_by_both_names
    crew_without_instructions_has_the_usual_prompt
    resumed_crew_finds_its_own_skills
    resumed_agent_must_still_be_trusted
}

/// Trusts every file until told otherwise.
#[derive(Debug, Default)]
struct Trust(std::sync::atomic::AtomicBool);

impl AgentFileTrust for Trust {
    fn is_trusted(&self, _: AgentScope, _: &AgentFile) -> bool {
        !self.0.load(std::sync::atomic::Ordering::SeqCst)
    }
}

const CREW: &str = "\
id: news
commands:
  - name: french
    filePath: ./commands/parler.command.md
entryPointAgent: lead
agents:
  lead:
    instructionsPath: ./AGENTS.md
    skills:
      - name: hackernews
        folderPath: ./kit/hackernews
  researcher:
    instructionsPath: ./researcher.md
    skills:
      - name: search-web
        folderPath: ./kit/search-web
  poster:
    instructionsPath: ./poster.md
";

/// Returns a world with a crew, and a skill of the project that the crew does not have.
fn world() -> World {
    let world = World::new();
    world.skill("other", "", "OTHER-BODY");
    world.file("news.skilled_crew.yaml", CREW);
    for (file, name, body) in [
        ("AGENTS.md", "lead", "You lead the news crew."),
        ("researcher.md", "researcher", "You research."),
        ("poster.md", "poster", "You post."),
    ] {
        let text = format!("---\nname: {name}\ndescription: The {name}.\n---\n{body}\n");
        world.file(file, text);
    }
    for name in ["hackernews", "search-web"] {
        let text = format!(
            "---\nname: {name}\ndescription: About {name}.\nallowed-tools: Bash(echo:*)\n---\nBODY-OF-{name}\n"
        );
        world.file(format!("kit/{name}/SKILL.md"), text);
    }
    world.file(
        "commands/parler.command.md",
        "---\n#name: init\ndescription: Speak French.\n---\nAnswer in French: $ARGUMENTS\n",
    );
    world
}

fn engine(world: &World, model: Arc<Script>) -> (Engine, Arc<Trust>) {
    let mut parts = world.parts(model);
    let trust = Arc::new(Trust::default());
    parts.services.agents = Some(Arc::new(library(world, &trust)));
    parts.settings.project_notes = Some(world.read("AGENTS.md"));
    mode(&mut parts, PermissionMode::Yolo);
    (Engine::new(parts).unwrap(), trust)
}

fn library(world: &World, trust: &Arc<Trust>) -> AgentLibrary {
    let place = Place {
        current: world.path(""),
        home: Some(world.path("~")),
        ..Place::default()
    };
    AgentLibrary::new(place, Arc::clone(trust) as Arc<dyn AgentFileTrust>)
}

fn run(engine: &Engine, agent: &str, task: &str) -> String {
    let finished = wait(engine.run_agent(AgentRun::new(agent, task), &never())).unwrap();
    match finished.ending {
        Ending::Submitted {
            value: Value::String(text),
        } => text,
        other => panic!("{other:?}"),
    }
}

fn ask(agent: &str, task: &str) -> Act {
    call("call_agent", json!({"name": agent, "task": task}))
}

fn system(request: &Request) -> String {
    request.system.join("\n\n")
}

/// The text of the last result.
fn last(request: &Request) -> String {
    results(request).last().unwrap().clone()
}

fn crew_entry_sees_descriptions_and_skills_run_as_sub_runs() {
    let world = world();
    let model = Script::of([
        load("other"),
        load("hackernews"),
        says("STORY"),
        says("Told."),
    ]);
    let (engine, _) = engine(&world, model.clone());
    assert_eq!(run(&engine, "news", "What is new?"), "Told.");
    let asked = model.asked();
    let first = system(&asked[0]);
    assert!(first.starts_with("You lead the news crew."), "{first}");
    assert_eq!(
        first.matches("You lead the news crew.").count(),
        1,
        "{first}"
    );
    assert!(!first.contains("name: lead"), "no frontmatter: {first}");
    assert!(first.contains("About hackernews."), "{first}");
    for absent in ["BODY-OF", "search-web", "other", "undefined"] {
        assert!(!first.contains(absent), "{absent}: {first}");
    }
    let own = tools(&asked[0]);
    for absent in ["bash", "read", "write", "run_command_line"] {
        assert!(!own.contains(&absent), "{own:?}");
    }
    assert!(last(&asked[1]).contains("Unknown skill: other"));
    // The sub-run has the body of the skill and runs its commands.
    let inner = &asked[2];
    assert!(inner.messages[0].text().contains("BODY-OF-hackernews"));
    assert!(
        tools(inner).contains(&"run_command_line"),
        "{:?}",
        tools(inner)
    );
    assert!(!tools(inner).contains(&"bash"), "{:?}", tools(inner));
    let report = last(&asked[3]);
    assert!(
        report.ends_with("STORY") && !report.contains("BODY-OF"),
        "{report}"
    );
}

fn crew_skill_has_the_mcp_tools_of_its_agent_and_no_others() {
    let world = world();
    world.file(
        "news.skilled_crew.yaml",
        CREW.replace(
            "instructionsPath: ./AGENTS.md\n",
            "instructionsPath: ./AGENTS.md\n    mcp_servers:\n      - filePath: ./clock.json\n",
        ),
    );
    world.file(
        "clock.json",
        "{\"type\": \"stdio\", \"name\": \"clock\", \"command\": \"clock\"}",
    );
    let model = Script::of([
        load("hackernews"),
        says("STORY"),
        ask("researcher", "r"),
        says("R"),
        says("Told."),
    ]);
    let mut parts = world.parts(model.clone());
    let trust = Arc::new(Trust::default());
    parts.services.agents = Some(Arc::new(library(&world, &trust)));
    let (clock, mail) = (
        Counter::new("mcp__clock__now"),
        Counter::new("mcp__mail__send"),
    );
    parts.services.tools.extend([clock as _, mail as _]);
    mode(&mut parts, PermissionMode::Yolo);
    let engine = Engine::new(parts).unwrap();
    run(&engine, "news", "What is new?");
    let asked = model.asked();
    for request in &asked[..2] {
        let names = tools(request);
        assert!(names.contains(&"mcp__clock__now"), "{names:?}");
        assert!(!names.contains(&"mcp__mail__send"), "{names:?}");
    }
    let other = tools(&asked[3]);
    assert!(
        !other.iter().any(|name| name.starts_with("mcp__")),
        "{other:?}"
    );
}

/// Line 74 of missions §5.
fn crew_hands_over_twice_with_results() {
    let world = world();
    let model = Script::of([
        ask("researcher", "Find a story."),
        load("search-web"),
        says("WEB-RESULT"),
        says("Summary: a story."),
        ask("poster", "Post: a story."),
        says("Posted."),
        says("All done."),
    ]);
    let (engine, _) = engine(&world, model.clone());
    assert_eq!(run(&engine, "news", "Post the news."), "All done.");
    let asked = model.asked();
    let researcher = system(&asked[1]);
    assert!(researcher.starts_with("You research."), "{researcher}");
    assert!(researcher.contains("About search-web.") && !researcher.contains("hackernews"));
    assert!(
        !researcher.contains("You lead the news crew."),
        "{researcher}"
    );
    assert!(asked[2].messages[0].text().contains("BODY-OF-search-web"));
    assert!(last(&asked[3]).contains("WEB-RESULT"));
    assert!(last(&asked[4]).contains("Agent `researcher` finished"));
    assert!(last(&asked[4]).contains("Summary: a story."));
    assert!(system(&asked[5]).starts_with("You post."));
    assert_eq!(asked[5].messages[0].text(), "Post: a story.");
    assert!(tools(&asked[5]).is_empty(), "{:?}", tools(&asked[5]));
    assert!(last(&asked[6]).contains("Posted."));
    // Each is a session of its own, below the one that started it.
    let root = roots(&engine);
    assert_eq!(root.len(), 1);
    assert_eq!(children(&engine, &root[0].id).len(), 2);
}

fn crew_commands_work_by_both_names() {
    let world = world();
    let model = Script::of([says("Oui."), says("Oui.")]);
    let (engine, _) = engine(&world, model.clone());
    for command in ["/french hello", "/parler hello"] {
        wait(async {
            let mut session = Session::start_agent(&engine, "news", "t", &never())
                .await
                .unwrap();
            session.say(command, &never()).await.unwrap();
            session.proceed(&never()).await.unwrap();
        });
        let request = model.last();
        let text = request.messages[0].text();
        assert!(text.contains("Answer in French: hello"), "{text}");
        assert!(!system(&request).contains("french"), "only for people");
    }
    assert_eq!(model.asked().len(), 2, "a command is not a sub-run");
}

fn crew_without_instructions_has_the_usual_prompt() {
    let world = world();
    world.file("solo.skilled_crew.yaml", "agents:\n  solo:\n");
    let model = Script::of([says("x")]);
    let (engine, _) = engine(&world, model.clone());
    run(&engine, "solo", "go");
    let first = system(&model.last());
    assert!(
        first.starts_with(prowess_runtime::INSTRUCTIONS.trim()),
        "{first}"
    );
    assert!(
        !first.contains("undefined") && !first.contains("null"),
        "{first}"
    );
}

fn resumed_crew_finds_its_own_skills() {
    let world = world();
    let model = Script::of([
        load("hackernews"),
        says("STORY"),
        says("Told."),
        load("hackernews"),
        says("AGAIN"),
        says("Told again."),
    ]);
    let (engine, _) = engine(&world, model.clone());
    let id = wait(async {
        let mut session = Session::start_agent(&engine, "news", "t", &never())
            .await
            .unwrap();
        session.say("first", &never()).await.unwrap();
        session.proceed(&never()).await.unwrap();
        session.id().to_owned()
    });
    crate::talk::go_on(&engine, &id);
    let asked = model.asked();
    assert_eq!(asked[0].system, asked[3].system);
    assert_eq!(tools(&asked[0]), tools(&asked[3]));
    assert!(asked[4].messages[0].text().contains("BODY-OF-hackernews"));
    // A sub-run of its skill can be resumed too.
    let inner = children(&engine, &id);
    wait(async {
        let resumed = Session::resume(&engine, &inner[0].id, None).await.unwrap();
        let names: Vec<_> = resumed
            .skills()
            .into_iter()
            .map(|skill| skill.name)
            .collect();
        assert_eq!(names, [Box::from("hackernews")]);
    });
}

fn resumed_agent_must_still_be_trusted() {
    let world = world();
    let model = Script::of([says("x")]);
    let (engine, trust) = engine(&world, model);
    let id = wait(async {
        let mut session = Session::start_agent(&engine, "news", "t", &never())
            .await
            .unwrap();
        session.say("first", &never()).await.unwrap();
        session.proceed(&never()).await.unwrap();
        session.id().to_owned()
    });
    trust.0.store(true, std::sync::atomic::Ordering::SeqCst);
    let refused = wait(Session::resume(&engine, &id, None)).unwrap_err();
    assert!(
        refused.to_string().contains("agent `news` is not trusted"),
        "{refused}"
    );
}
