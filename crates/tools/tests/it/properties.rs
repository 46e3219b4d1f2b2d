//! Any input of a model gives a result or an error, never a panic, and runs no command.

use std::sync::LazyLock;

use proptest::prelude::*;
use prowess_policy::{ApprovalAnswer, PermissionMode};
use prowess_tools::{Loaded, ToolContext, ToolSelection, Toolset, typed};
use serde_json::{Map, Value, json};

use crate::support::{Says, World, call, gate};

/// A context in which every prompt is approved, without a loaded skill.
static APPROVING: LazyLock<(World, ToolContext, std::sync::Arc<crate::support::Really>)> =
    LazyLock::new(|| {
        let world = World::new();
        world
            .skill("pdf", "arguments: [a, b]\n", "$ARGUMENTS $0 $a")
            .file("~/.agents/skills/pdf/x.md", "x");
        let (mut context, runner) = world.running();
        context.gate = gate(PermissionMode::Yolo, &[]);
        context.services.approver = Says::new(ApprovalAnswer::Always);
        (world, context, runner)
    });

/// A context in which every prompt is declined, with a loaded skill.
static DECLINING: LazyLock<(
    World,
    ToolContext,
    std::sync::Arc<crate::support::Really>,
    Loaded,
)> = LazyLock::new(|| {
    let world = World::new();
    world.skill("pdf", "", "Do it.");
    let (context, runner) = world.running();
    let mut loaded = Loaded::default();
    call(&context, &mut loaded, "load_skill", &json!({"name": "pdf"})).unwrap();
    (world, context, runner, loaded)
});

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        prop_oneof![
            Just("pdf"),
            Just("x.md"),
            Just("../x"),
            Just("!`touch pwned`"),
            Just("$(touch pwned)"),
        ]
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((key(), inner), 0..6)
                .prop_map(|pairs| Value::from(pairs.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

fn key() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "name",
            "skill_name",
            "resource_path",
            "arguments",
            "args",
            "query",
            "metadata",
            "offset",
            "limit",
            "reason",
            "commandLine",
        ])
        .prop_map(str::to_owned),
        any::<String>(),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_input_gives_a_result_or_an_error(input in any_json(), object in prop::collection::vec((key(), any_json()), 0..5)) {
        let (world, context, runner) = &*APPROVING;
        let result = json!({"type": "object", "required": ["name"]});
        let tools = Toolset::new(&ToolSelection { result: Some(result), ..ToolSelection::everything() }).unwrap();
        let object = Value::from(object.into_iter().collect::<Map<_, _>>());
        for input in [&input, &object] {
            for tool in tools.tools(context) {
                match tools.call(context, &mut Loaded::default(), tool.name(), input) {
                    Ok(answer) => prop_assert!(answer.text.len() <= prowess_tools::MAX_BYTES),
                    Err(error) => prop_assert!(error.to_string().len() <= 11_000),
                }
            }
        }
        // Without a loaded skill, no input can run a command.
        prop_assert_eq!(runner.ran(), 0);
        prop_assert!(!world.exists("pwned"));
    }

    #[test]
    fn no_command_runs_without_permission(command in "\\PC{1,60}", shell in "[a-z ;|&$()`'\"<>=*/.-]{1,40}") {
        let world = &*DECLINING;
        let (_, context, runner, loaded) = world;
        let tools = Toolset::new(&ToolSelection::default()).unwrap();
        for line in [command, shell] {
            let input = json!({"reason": "", "commandLine": line});
            let answer = tools.call(context, &mut loaded.clone(), "run_command_line", &input);
            prop_assert!(answer.is_err());
        }
        prop_assert_eq!(runner.ran(), 0);
    }

    #[test]
    fn any_message_can_be_parsed(message in "[/$ab \\n\\PC]{0,40}") {
        let (_, context, _) = &*APPROVING;
        let _ = typed(context, &message);
    }
}
