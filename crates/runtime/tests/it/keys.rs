//! Effects of frontmatter keys on a conversation.

use std::sync::Arc;

use prowess_agent::{Effort, Request};
use prowess_policy::{ApprovalAnswer, PermissionMode};
use prowess_runtime::{Engine, Models};
use prowess_tools::ToolContext;
use prowess_traits::{FindModelError, Model};
use serde_json::json;

use crate::script::{Script, bash, call, calls, conversation, load, results, says, tools};
use crate::talk::{self, asking};
use crate::world::{Seeing, World, mode};

prowess_test::tests! {
    disallowed_tools_are_neither_declared_nor_called
    disallowed_tools_pattern_becomes_deny_rule
    edit_of_loaded_skill_does_not_lift_its_restrictions
    skill_model_is_used_after_load
    missing_skill_model_is_ignored
    effort_reaches_the_provider
    untrusted_skill_cannot_choose_model
    allowed_tools_do_not_prompt_inline
    confined_skill_has_only_its_allowed_tools
    path_skill_is_listed_when_file_is_touched
    path_skill_can_be_loaded_by_name_before_touch
}

/// Finds models by name.
#[derive(Debug)]
pub(crate) struct Known(pub(crate) Vec<Arc<Script>>);

impl Models for Known {
    fn find(&self, name: &str) -> Result<Arc<dyn Model>, FindModelError> {
        let found = self.0.iter().find(|model| *model.about().name == *name);
        found
            .map(|model| Arc::clone(model) as _)
            .ok_or_else(|| FindModelError::Unusable("unknown model".into()))
    }
}

pub(crate) fn another(name: &str, says: &'static str) -> Arc<Script> {
    Arc::new(Script::new(name, move |_, _| crate::script::says(says)))
}

fn talk(parts: ToolContext, model: &Script, message: &str) -> Vec<Request> {
    talk::talk(&Engine::new(parts).unwrap(), message);
    model.asked()
}

/// Reference case 118.
fn disallowed_tools_are_neither_declared_nor_called() {
    let world = World::new();
    world.skill("careful", "disallowed-tools: Bash Write\n", "Look only.");
    let model = Script::of([
        load("careful"),
        calls([
            ("bash", json!({ "command": "touch pwned" })),
            ("write", json!({ "path": "pwned", "content": "x" })),
        ]),
        call("unload_skill", json!({ "name": "careful" })),
        bash("touch fine"),
        says("done"),
    ]);
    let mut parts = world.parts(model.clone());
    mode(&mut parts, PermissionMode::Yolo);
    let asked = talk(parts, &model, "go");
    assert!(tools(&asked[0]).contains(&"bash"));
    for name in ["bash", "write", "run_command_line"] {
        assert!(!tools(&asked[1]).contains(&name), "{name}");
    }
    assert!(tools(&asked[1]).contains(&"read"));
    for text in results(&asked[2]) {
        assert!(text.contains("its `disallowed-tools` lists it"), "{text}");
    }
    assert!(!world.exists("pwned"));
    assert!(tools(&asked[3]).contains(&"bash") && world.exists("fine"));
}

fn disallowed_tools_pattern_becomes_deny_rule() {
    let world = World::new();
    world.skill("careful", "disallowed-tools: Bash(touch:*)\n", "Look only.");
    let model = Script::of([
        load("careful"),
        bash("touch pwned"),
        bash("mkdir fine"),
        says("done"),
    ]);
    let mut parts = world.parts(model.clone());
    mode(&mut parts, PermissionMode::Yolo);
    let asked = talk(parts, &model, "go");
    assert!(
        tools(&asked[1]).contains(&"bash"),
        "the tool stays declared"
    );
    assert!(
        results(&asked[2])[0].contains("was refused"),
        "{:?}",
        results(&asked[2])
    );
    assert!(!world.exists("pwned") && world.exists("fine"));
}

/// What a skill grants lapses if its files change; what it forbids does not.
fn edit_of_loaded_skill_does_not_lift_its_restrictions() {
    let world = World::new();
    world.skill("careful", "disallowed-tools: Bash(touch:*)\n", "Look only.");
    let file = world.path("~/.agents/skills/careful/notes.md");
    let model = Script::by(move |at, _| match at {
        0 => load("careful"),
        1 => {
            std::fs::write(&file, "changed").unwrap();
            bash("touch pwned")
        }
        _ => says("done"),
    });
    let mut parts = world.parts(model.clone());
    mode(&mut parts, PermissionMode::Yolo);
    let asked = talk(parts, &model, "go");
    let told = &results(&asked[2])[0];
    assert!(told.contains("Bash(touch:*)"), "{told}");
    assert!(!world.exists("pwned"));
}

fn skill_model_is_used_after_load() {
    let world = World::new();
    world.skill("deep", "model: script/big\n", "Think.");
    let (small, big) = (Script::of([load("deep")]), another("script/big", "thought"));
    let mut parts = world.parts(small.clone());
    parts.services.models = Some(Arc::new(Known(vec![big.clone()])));
    talk(parts, &small, "go");
    assert_eq!((small.asked().len(), big.asked().len()), (1, 1));
    assert_eq!(big.last().system, small.last().system);
    assert!(conversation(&big.last()).contains("Think."));
}

/// Reference §1: an unavailable model is ignored with a message, and the session keeps its model.
fn missing_skill_model_is_ignored() {
    let world = World::new();
    world
        .skill("deep", "model: haiku\n", "Think.")
        .skill("same", "model: inherit\n", "Same.");
    let model = Script::of([load("deep"), load("same"), says("done")]);
    let heard = Arc::new(std::sync::Mutex::new(Vec::new()));
    let ear = Arc::clone(&heard);
    let mut parts = world.parts(model.clone());
    parts.services.watchers.push(Arc::new(Seeing(
        move |_: &str, update: prowess_runtime::Update<'_>| {
            if let prowess_runtime::Update::Message(text) = update {
                ear.lock().unwrap().push(text.to_owned());
            }
        },
    )));
    assert_eq!(talk(parts, &model, "go").len(), 3);
    let heard = heard.lock().unwrap().join("\n");
    assert!(
        heard.contains("no model `haiku`") && heard.contains("continuing with script/one"),
        "{heard}"
    );
}

fn effort_reaches_the_provider() {
    let world = World::new();
    world.skill("deep", "effort: high\n", "Think ${CLAUDE_EFFORT}.");
    let model = Script::of([load("deep"), says("done")]);
    let mut parts = world.parts(model.clone());
    parts.settings.effort = Some(Effort::Low);
    let asked = talk(parts, &model, "go");
    assert_eq!(asked[0].options.effort, Some(Effort::Low));
    assert_eq!(asked[1].options.effort, Some(Effort::High));
}

fn untrusted_skill_cannot_choose_model() {
    let world = World::new();
    world.project_skill("deep", "model: script/big\neffort: max\n", "Think.");
    let (small, big) = (
        Script::of([load("deep"), says("done")]),
        another("script/big", "thought"),
    );
    let mut parts = world.parts(small.clone());
    parts.services.models = Some(Arc::new(Known(vec![big.clone()])));
    talk(parts, &small, "go");
    assert!(big.asked().is_empty());
    assert_eq!(small.last().options.effort, None);
}

fn allowed_tools_do_not_prompt_inline() {
    let world = World::new();
    world.skill("maker", "allowed-tools: Bash(mkdir:*)\n", "Make folders.");
    let model = Script::of([
        bash("mkdir before"),
        load("maker"),
        bash("mkdir made"),
        bash("touch other"),
        says("done"),
    ]);
    let (parts, person) = asking(&world, model.clone(), ApprovalAnswer::No);
    let asked = talk(parts, &model, "go");
    assert_eq!(person.asked(), ["mkdir before", "touch other"]);
    assert!(!world.exists("before") && !world.exists("other"));
    assert!(world.exists("made"), "{:?}", results(&asked[3]));
}

/// Agentick 4.3 #8, core-agent 4.2 #12: their lists have no effect.
fn confined_skill_has_only_its_allowed_tools() {
    let world = World::new();
    world.skill("maker", "allowed-tools: Bash(mkdir:*)\n", "Make folders.");
    let model = Script::of([
        load("maker"),
        bash("mkdir made"),
        bash("touch other"),
        says("done"),
    ]);
    let mut parts = world.parts(model.clone());
    mode(&mut parts, PermissionMode::Yolo);
    parts.settings.confine = true;
    let asked = talk(parts, &model, "go");
    assert!(world.exists("made"));
    assert!(!world.exists("other"), "{:?}", results(&asked[3]));
    assert!(results(&asked[3])[0].contains("was refused"));
}

/// Reference §6.2.
fn path_skill_is_listed_when_file_is_touched() {
    let world = World::new();
    world
        .skill("types", "paths: \"src/**/*.ts\"\n", "Use strict types.")
        .skill("other", "", "O.");
    world
        .file("src/a/b.ts", "let a = 1;\n")
        .file("b.md", "text\n");
    let model = Script::of([
        call("read", json!({ "path": "b.md" })),
        call("read", json!({ "path": "src/a/b.ts" })),
        load("types"),
        says("done"),
    ]);
    let asked = talk(world.parts(model.clone()), &model, "go");
    assert!(!asked[0].system.join("\n").contains("types"));
    assert!(!conversation(&asked[1]).contains("Does types."));
    let note = conversation(&asked[2]);
    assert!(
        note.contains("New:") && note.contains("Does types."),
        "{note}"
    );
    assert_eq!(note.matches("Does types.").count(), 1);
    assert!(results(&asked[3])[0].contains("Use strict types."));
    assert_eq!(asked[3].system, asked[0].system);
}

/// `paths` affects only the listing: the skill can be loaded by name at any time.
fn path_skill_can_be_loaded_by_name_before_touch() {
    let world = World::new();
    world
        .skill("types", "paths: \"src/**/*.ts\"\n", "Use strict types.")
        .skill("other", "", "O.");
    world.file("src/b.ts", "let a = 1;\n");
    let model = Script::of([
        // A file that cannot be read does not count as touched.
        call("read", json!({ "path": "src/none.ts" })),
        load("types"),
        says("done"),
    ]);
    let asked = talk(world.parts(model.clone()), &model, "go");
    assert!(!conversation(&asked[1]).contains("New:"));
    assert!(results(&asked[2])[0].contains("Use strict types."));
}
