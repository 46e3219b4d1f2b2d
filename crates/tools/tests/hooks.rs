//! Tests of skill hooks with real processes in the real sandbox. Includes cases 126 and 129.
//!
//! This program has its own `main` because it is also the sandbox helper.

#![expect(clippy::unwrap_used, reason = "all of this is tests")]

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use prowess_catalog::{Precedence, Scope};
use prowess_policy::profile::Strength;
use prowess_policy::{
    ApprovalAnswer, Effect, Gate, PermissionMode, PermissionRules, RuleSource, Verdict,
};
use prowess_registry::{FileOptions, Place, Registry};
use prowess_sandbox::{Helper, Runner};
use prowess_spec::parse;
use prowess_tools::{
    EventName, HookEnd, HookEvent, HookOutcome, HookSet, HookState, HookToolCall, Settings,
    ToolContext, ToolPaths, run_hooks,
};
use prowess_traits::{ApprovalRequest, Approver, Clock};
use prowess_trust::{SkillTrust, TrustKind, TrustStore};
use serde_json::{Value, json};

prowess_test::tests! {
    case_126_hooks_of_a_confined_skill_are_honoured
    case_129_hooks_live_with_their_skill
    case_129_once_fires_once
    case_129_exit_2_blocks_and_exit_1_does_not
    case_129_a_timeout_does_not_block
    untrusted_skills_run_no_hooks
    denied_run_action_stops_hooks
    restrictions_of_other_skills_stop_hooks
    changed_skills_run_no_hooks
    hooks_receive_the_event
    strictest_decision_wins_and_none_widens_permissions
    updated_input_is_passed_to_the_next_hook
    large_output_is_truncated
    oversized_json_is_ignored
    invalid_output_does_not_block
    arguments_without_a_shell_are_literal
    relative_programs_resolve_in_the_skill_folder
    gate_decides_and_refusal_is_remembered
    session_approval_prompts_once
    user_rules_override_hooks
    matchers_and_conditions_select_hooks
    stop_hooks_cannot_block_forever
    output_of_start_hooks_reaches_the_model
    hooks_run_in_the_sandbox
    unread_input_is_not_an_error
    commands_can_be_disabled
    hooks_of_all_active_skills_run
}

/// The sandbox helper: this program.
static HELPER: OnceLock<Helper> = OnceLock::new();

fn main() -> ExitCode {
    HELPER.get_or_init(prowess_sandbox::maybe_run_helper);
    prowess_test::harness::run(tests())
}

fn case_126_hooks_of_a_confined_skill_are_honoured() {
    let hooks = hook("PreToolUse", "Bash", "./guard.sh");
    for (tools, runs) in [
        ("Bash(${CLAUDE_SKILL_DIR}/guard.sh)", true),
        ("Read", false),
    ] {
        let world = World::with(&hooks, tools, true);
        world.skill_script("guard.sh", "exit 2");
        world.trust();
        let mut context = world.context();
        context.settings.confine = true;
        context.services.approver = Arc::new(Always(ApprovalAnswer::Once));
        let outcome = fire(&context, &bash("ls"));
        // The ceiling applies to hooks too, without a prompt. A call whose check cannot run is
        // refused as well.
        assert!(outcome.is_blocked(), "{outcome:?}");
        assert_eq!(matches!(outcome.runs[0].end, HookEnd::NotRun { .. }), !runs);
    }
}

fn case_129_hooks_live_with_their_skill() {
    let world = World::new(&hook("PreToolUse", "Bash", "true; exit 2"));
    let context = world.context();
    let mut state = HookState::default();
    let before = run_hooks(&context, &[], &bash("ls"), &mut state);
    assert_eq!(before, HookOutcome::default());
    assert!(fire(&context, &bash("ls")).is_blocked());
    let after = run_hooks(&context, &[], &bash("ls"), &mut state);
    assert_eq!(after, HookOutcome::default());
}

fn case_129_once_fires_once() {
    let world = World::new(
        r#"
  PreToolUse:
    - hooks:
        - {type: command, command: "echo x >> $CLAUDE_PROJECT_DIR/once", once: true}
        - {type: command, command: "echo x >> $CLAUDE_PROJECT_DIR/often"}"#,
    );
    let context = world.context();
    let mut state = HookState::default();
    for runs in [2, 1, 1] {
        let outcome = fire_with(&context, &bash("ls"), &mut state);
        assert_eq!(outcome.runs.len(), runs);
        assert!(
            outcome.runs.iter().all(|run| run.end == HookEnd::Fine),
            "{outcome:?}"
        );
    }
    assert_eq!(world.read("once").lines().count(), 1);
    assert_eq!(world.read("often").lines().count(), 3);
    // `once` is per session.
    assert_eq!(fire(&context, &bash("ls")).runs.len(), 2);
}

fn case_129_exit_2_blocks_and_exit_1_does_not() {
    for (event, blocks) in [
        (bash("ls"), true),
        (HookEvent::UserPromptSubmit { prompt: "hello" }, true),
        (HookEvent::Stop { message: None }, true),
        (HookEvent::SessionStart { source: "startup" }, false),
        (
            HookEvent::PostToolUse {
                tool: tool("Bash", &NOTHING),
                response: &NOTHING,
            },
            false,
        ),
    ] {
        let name = event.name();
        for code in [0, 1, 2, 3, 127] {
            let line = format!("echo because >&2; exit {code}");
            let world = World::new(&hook(name.as_str(), "*", &line));
            let outcome = fire(&world.context(), &event);
            assert_eq!(outcome.runs[0].code, Some(code), "{outcome:?}");
            assert_eq!(outcome.is_blocked(), blocks && code == 2, "{name} {code}");
            let reason = if outcome.is_blocked() { "because" } else { "" };
            assert_eq!(outcome.reason(), reason);
            match code {
                0 => assert_eq!(outcome.runs[0].end, HookEnd::Fine),
                2 => assert_eq!(outcome.runs[0].end, HookEnd::Refused),
                _ => {
                    assert_eq!(
                        outcome.runs[0].end,
                        HookEnd::Failed {
                            complaint: "because".into()
                        }
                    );
                }
            }
        }
    }
}

fn case_129_a_timeout_does_not_block() {
    let world = World::new(
        r#"
  PreToolUse:
    - hooks:
        - {type: command, command: "echo '{\"decision\":\"block\"}'; trap 'exit 2' TERM; sleep 1000 & wait", timeout: 0.3}
        - {type: command, command: "true"}"#,
    );
    let outcome = fire(&world.context(), &bash("ls"));
    assert_eq!(outcome.runs[0].end, HookEnd::TimedOut, "{outcome:?}");
    assert_eq!(outcome.runs[1].end, HookEnd::Fine);
    assert_eq!(outcome.verdict, None);
}

fn untrusted_skills_run_no_hooks() {
    let world = World::untrusted(&hook(
        "PreToolUse",
        "*",
        "echo x > $CLAUDE_PROJECT_DIR/canary; exit 2",
    ));
    let mut context = world.context();
    for mode in [
        PermissionMode::Ask,
        PermissionMode::Yolo,
        PermissionMode::AcceptEdits,
    ] {
        context.gate().mode = mode;
        context.services.approver = Arc::new(Always(ApprovalAnswer::Always));
        let outcome = fire(&context, &bash("ls"));
        let why = "the skill is not trusted".into();
        assert_eq!(outcome.runs[0].end, HookEnd::NotRun { why });
        assert_eq!(outcome.verdict, None);
        assert!(!world.exists("canary"));
    }
    // The same hook runs after the user trusts the skill.
    world.trust();
    assert!(fire(&world.context(), &bash("ls")).is_blocked());
    assert!(world.exists("canary"));
}

fn denied_run_action_stops_hooks() {
    let world = World::new(&hook(
        "PreToolUse",
        "*",
        "echo x > $CLAUDE_PROJECT_DIR/canary; exit 2",
    ));
    world.trust();
    let context = world.context();
    let name = load(&context).1.name;
    for rule in [format!("skill:{name}/run"), format!("Skill({name})")] {
        let context = world.context();
        let mut gate = context.gate();
        gate.rules.add(Effect::Deny, &rule, RuleSource::Flag);
        drop(gate);
        let outcome = fire(&context, &bash("ls"));
        assert!(
            matches!(&outcome.runs[0].end, HookEnd::NotRun { why } if why.contains("a rule forbids it")),
            "{outcome:?}"
        );
        assert!(outcome.is_blocked(), "{outcome:?}");
        assert!(!world.exists("canary"));
    }
}

fn changed_skills_run_no_hooks() {
    let world = World::new(&hook("PreToolUse", "*", "./guard.sh"));
    world.skill_script("guard.sh", "exit 2");
    world.trust();
    let context = world.context();
    let (set, trust) = load(&context);
    let again = || {
        run_hooks(
            &context,
            &[(&set, &trust)],
            &bash("ls"),
            &mut HookState::default(),
        )
    };
    assert!(again().is_blocked());
    world.skill_script("guard.sh", "echo x > $CLAUDE_PROJECT_DIR/canary");
    assert!(matches!(&again().runs[0].end, HookEnd::NotRun { why } if why.contains("changed")));
    assert!(again().is_blocked());
    // Trusted again, but the loaded hooks are from the earlier version.
    world.trust();
    assert!(matches!(&again().runs[0].end, HookEnd::NotRun { .. }));
    assert!(!world.exists("canary"));
}

fn hooks_receive_the_event() {
    let world = World::new(
        r#"
  PreToolUse: [{hooks: [{type: command, command: "cat > $PROWESS_PROJECT_DIR/pre"}]}]
  PostToolUse: [{hooks: [{type: command, command: "cat > $CLAUDE_PROJECT_DIR/post"}]}]
  Stop: [{hooks: [{type: command, command: "cat > $CLAUDE_PROJECT_DIR/stop"}]}]
  SessionStart: [{hooks: [{type: command, command: "cat > $CLAUDE_PROJECT_DIR/start; pwd; echo $CLAUDE_SKILL_DIR"}]}]
  UserPromptSubmit: [{hooks: [{type: command, command: "cat > $CLAUDE_PROJECT_DIR/prompt"}]}]"#,
    );
    let context = world.context();
    let input = json!({"command": "echo \"$(x)\" 'ä'\n"});
    let call = HookToolCall {
        id: Some("t1"),
        ..tool("Bash", &input)
    };
    let seen = |event: &HookEvent<'_>, file: &str| -> Value {
        let outcome = fire(&context, event);
        assert_eq!(outcome.runs[0].end, HookEnd::Fine, "{outcome:?}");
        serde_json::from_str(&world.read(file)).unwrap()
    };
    let project = world.path("");
    let pre = seen(&HookEvent::PreToolUse { tool: call }, "pre");
    assert_eq!(
        pre,
        json!({
            "session_id": "s1", "cwd": project, "permission_mode": "default",
            "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": input,
            "tool_use_id": "t1",
        })
    );
    let response = json!({"stdout": "y"});
    let post = seen(
        &HookEvent::PostToolUse {
            tool: call,
            response: &response,
        },
        "post",
    );
    assert_eq!(
        (&post["tool_response"], &post["tool_input"]),
        (&response, &input)
    );
    let stop = seen(
        &HookEvent::Stop {
            message: Some("bye"),
        },
        "stop",
    );
    assert_eq!(
        (&stop["stop_hook_active"], &stop["last_assistant_message"]),
        (&json!(false), &json!("bye"))
    );
    assert_eq!(
        seen(&HookEvent::UserPromptSubmit { prompt: "hi" }, "prompt")["prompt"],
        "hi"
    );
    let start = HookEvent::SessionStart { source: "resume" };
    assert_eq!(seen(&start, "start")["source"], "resume");
    // A hook runs in the project and receives the folder of its skill.
    let folder = world.skill_folder();
    let said = fire(&context, &start).context.remove(0).text;
    assert_eq!(
        said.lines().map(Path::new).collect::<Vec<_>>(),
        [&project, &folder]
    );
}

fn strictest_decision_wins_and_none_widens_permissions() {
    let says = |words: &[&str]| {
        let hooks: String = words
            .iter()
            .map(|word| {
                let answer = json!({"hookSpecificOutput": {
                    "hookEventName": "PreToolUse", "permissionDecision": word,
                    "permissionDecisionReason": format!("because {word}"),
                }});
                format!(
                    "\n        - {{type: command, command: {}}}",
                    json!(format!("echo '{answer}'"))
                )
            })
            .collect();
        let world = World::new(&format!("\n  PreToolUse:\n    - hooks:{hooks}"));
        fire(&world.context(), &bash("ls"))
    };
    for (words, verdict, reason) in [
        (&["allow"][..], Verdict::Allow, "because allow"),
        (&["allow", "ask"], Verdict::Ask, "because ask"),
        (&["ask", "allow"], Verdict::Ask, "because ask"),
        (
            &["ask", "deny", "allow", "ask"],
            Verdict::Deny,
            "because deny",
        ),
        (
            &["deny", "deny"],
            Verdict::Deny,
            "because deny\nbecause deny",
        ),
    ] {
        let outcome = says(words);
        assert_eq!(outcome.verdict, Some(verdict), "{words:?}: {outcome:?}");
        assert_eq!(outcome.reason(), reason);
        assert_eq!(outcome.runs.len(), words.len());
        for gate in [Verdict::Allow, Verdict::Ask, Verdict::Deny] {
            assert!(outcome.tighten(gate) >= gate && outcome.tighten(gate) >= verdict);
        }
    }
    assert_eq!(says(&["allow"]).tighten(Verdict::Ask), Verdict::Ask);
    assert_eq!(HookOutcome::default().tighten(Verdict::Ask), Verdict::Ask);
}

fn updated_input_is_passed_to_the_next_hook() {
    let world = World::new(
        r#"
  PreToolUse:
    - hooks:
        - {type: command, command: "./first.sh"}
        - {type: command, command: "./second.sh", if: "Bash(rm *)"}
        - {type: command, command: "true; exit 2", if: "Bash(never *)"}"#,
    );
    world.skill_script(
        "first.sh",
        r#"echo '{"hookSpecificOutput": {"updatedInput": {"command": "rm x"}, "additionalContext": "c"}, "systemMessage": "m"}'"#,
    );
    world.skill_script("second.sh", "cat > $CLAUDE_PROJECT_DIR/seen");
    world.trust();
    let outcome = fire(&world.context(), &bash("ls"));
    assert_eq!(outcome.runs.len(), 2, "{outcome:?}");
    assert_eq!(outcome.updated_input, Some(json!({"command": "rm x"})));
    assert!(
        world
            .read("seen")
            .contains(r#""tool_input":{"command":"rm x"}"#)
    );
    assert_eq!(
        (&*outcome.context[0].text, &*outcome.messages[0].text),
        ("c", "m")
    );
    assert_eq!(&*outcome.context[0].skill, "guard");
    world.skill_script("second.sh", "exit 2");
    world.trust();
    let outcome = fire(&world.context(), &bash("ls"));
    assert!(outcome.is_blocked() && outcome.updated_input.is_none());
}

fn large_output_is_truncated() {
    let flood = "head -c 20000000 /dev/zero | tr '\\\\0' x";
    let world = World::new(&hook("UserPromptSubmit", "", flood));
    let outcome = fire(
        &world.context(),
        &HookEvent::UserPromptSubmit { prompt: "" },
    );
    assert_eq!(outcome.runs[0].end, HookEnd::Fine, "{:?}", outcome.runs);
    let text = &outcome.context[0].text;
    assert!(text.chars().count() <= 10_000 && text.ends_with("characters omitted]"));
    let world = World::new(&hook("PreToolUse", "", &format!("{flood} >&2; exit 2")));
    let outcome = fire(&world.context(), &bash("ls"));
    assert!(outcome.is_blocked());
    assert!(outcome.reason().len() <= 10_000 && outcome.reason().len() > 9_000);
    let long =
        "python3 -c 'import json; print(json.dumps({\\\"systemMessage\\\": \\\"y\\\" * 100000}))'";
    let world = World::new(&hook("PreToolUse", "", long));
    let outcome = fire(&world.context(), &bash("ls"));
    assert!(
        outcome.messages[0].text.len() <= 10_000,
        "{:?}",
        outcome.runs
    );
}

fn oversized_json_is_ignored() {
    let line = "echo '{'; head -c 20000000 /dev/zero | tr '\\\\0' ' '; echo '\\\"decision\\\": \\\"block\\\"}'";
    let world = World::new(&hook("PreToolUse", "", line));
    let outcome = fire(&world.context(), &bash("ls"));
    assert_eq!(
        (outcome.verdict, &outcome.runs[0].end),
        (None, &HookEnd::Fine),
        "{:?}",
        outcome.runs
    );
    assert!(outcome.runs[0].faults[0].contains("too long"));
}

fn invalid_output_does_not_block() {
    for line in [
        "echo '{'",
        "echo '{\\\"decision\\\": \\\"block\\\"'",
        "echo '{} {}'",
        "printf '{\\\\xff\\\\xfe}'",
        "echo '{\\\"hookSpecificOutput\\\": 1}'",
    ] {
        let world = World::new(&hook("PreToolUse", "", line));
        let outcome = fire(&world.context(), &bash("ls"));
        assert_eq!(
            (outcome.verdict, &outcome.runs[0].end),
            (None, &HookEnd::Fine),
            "{line}"
        );
        assert_eq!(outcome.runs[0].faults.len(), 1, "{line}: {outcome:?}");
    }
    let world = World::new(&hook(
        "UserPromptSubmit",
        "",
        "printf 'a\\\\xff\\\\xfe\\\\x00b'",
    ));
    let outcome = fire(
        &world.context(),
        &HookEvent::UserPromptSubmit { prompt: "" },
    );
    assert_eq!(outcome.context[0].text, "a\u{FFFD}\u{FFFD}\0b");
    let world = World::new(&hook("PreToolUse", "", "printf '\\\\xff' >&2; exit 2"));
    assert_eq!(fire(&world.context(), &bash("ls")).reason(), "\u{FFFD}");
    for line in ["kill -9 $$", "/no/such/program", "exec 1>&- 2>&-; exit 1"] {
        let world = World::new(&hook("PreToolUse", "", line));
        let outcome = fire(&world.context(), &bash("ls"));
        assert_eq!(outcome.verdict, None, "{line}");
        let end = &outcome.runs[0].end;
        assert!(
            matches!(end, HookEnd::Failed { .. } | HookEnd::NotRun { .. }),
            "{line}: {end:?}"
        );
    }
}

fn arguments_without_a_shell_are_literal() {
    let world = World::new(
        r#"
  UserPromptSubmit:
    - hooks:
        - type: command
          command: printf
          args: ["%s\n", "*", "$HOME", "a  b", "it's", "`id`", "$(id)", "~", "", "${CLAUDE_SKILL_DIR}/x", "${OTHER}", ";", "x y"]"#,
    );
    let outcome = fire(
        &world.context(),
        &HookEvent::UserPromptSubmit { prompt: "" },
    );
    let folder = world.skill_folder();
    let wanted = format!(
        "*\n$HOME\na  b\nit's\n`id`\n$(id)\n~\n\n{}/x\n${{OTHER}}\n;\nx y",
        folder.display()
    );
    assert_eq!(outcome.context[0].text, wanted, "{:?}", outcome.runs);
}

fn relative_programs_resolve_in_the_skill_folder() {
    for hook in [
        "command: \"./guard.sh one; exit 3\"",
        "command: ./guard.sh, args: [one]",
    ] {
        let hooks = format!("\n  UserPromptSubmit: [{{hooks: [{{type: command, {hook}}}]}}]");
        let world = World::new(&hooks);
        world.skill_script("guard.sh", "echo $1 >&2; pwd >&2; exit 1");
        world.trust();
        // The project contains a program with the same name.
        std::fs::copy("/bin/true", world.path("guard.sh")).unwrap();
        let event = HookEvent::UserPromptSubmit { prompt: "" };
        let outcome = fire(&world.context(), &event);
        let project = world.path("");
        let complaint = format!("one\n{}", project.display());
        assert_eq!(
            outcome.runs[0].end,
            HookEnd::Failed { complaint },
            "{outcome:?}"
        );
    }
}

fn gate_decides_and_refusal_is_remembered() {
    let hooks = hook("PreToolUse", "", "echo x >> $CLAUDE_PROJECT_DIR/canary");
    let world = World::with(&hooks, "Read", true);
    let mut context = world.context();
    let asked = Arc::new(Counting::new(ApprovalAnswer::No));
    context.services.approver = Arc::clone(&asked) as Arc<dyn Approver>;
    let mut state = HookState::default();
    for _ in 0..3 {
        let outcome = fire_with(&context, &bash("ls"), &mut state);
        let end = &outcome.runs[0].end;
        assert!(
            matches!(end, HookEnd::NotRun { why } if why.starts_with("not allowed")),
            "{end:?}"
        );
        // The call is not let through unchecked.
        assert_eq!(outcome.verdict, Some(Verdict::Ask));
    }
    assert_eq!(asked.count.load(Ordering::Relaxed), 1);
    assert!(!world.exists("canary"));
    // Another session prompts again.
    context.services.approver = Arc::new(Always(ApprovalAnswer::Once));
    let outcome = fire(&context, &bash("ls"));
    assert_eq!(outcome.runs[0].end, HookEnd::Fine, "{outcome:?}");
    assert!(world.exists("canary"));
}

fn session_approval_prompts_once() {
    for command in [
        "command: \"./guard.sh one\"",
        "command: \"./guard.sh $CLAUDE_PROJECT_DIR | cat\"",
        "command: \"./guard.sh $(echo one)\"",
        "command: \"echo $CLAUDE_PROJECT_DIR/*\"",
        "command: ./guard.sh, args: [one, '*', '$x']",
    ] {
        let hooks = format!("\n  PreToolUse: [{{hooks: [{{type: command, {command}}}]}}]");
        let world = World::with(&hooks, "Read", true);
        world.skill_script("guard.sh", "echo $1");
        world.trust();
        let mut context = world.context();
        let asked = Arc::new(Counting::new(ApprovalAnswer::Session));
        context.services.approver = Arc::clone(&asked) as Arc<dyn Approver>;
        for _ in 0..3 {
            let outcome = fire(&context, &bash("ls"));
            assert_eq!(outcome.runs[0].end, HookEnd::Fine, "{outcome:?}");
        }
        assert_eq!(asked.count.load(Ordering::Relaxed), 1, "{command}");
    }
}

fn user_rules_override_hooks() {
    let world = World::new(&hook("PreToolUse", "", "touch $CLAUDE_PROJECT_DIR/canary"));
    let context = world.context();
    let mut rules = PermissionRules::default();
    rules.add(Effect::Deny, "Bash(touch *)", RuleSource::Flag);
    context.gate().rules = rules;
    let outcome = fire(&context, &bash("ls"));
    assert!(matches!(&outcome.runs[0].end, HookEnd::NotRun { why } if why.contains("forbids")));
    context.gate().rules = PermissionRules::default();
    context.gate().mode = PermissionMode::Plan;
    let outcome = fire(&context, &bash("ls"));
    assert!(matches!(&outcome.runs[0].end, HookEnd::NotRun { why } if why.contains("plan")));
    assert!(outcome.is_blocked());
    assert!(!world.exists("canary"));
    context.gate().mode = PermissionMode::Ask;
    assert_eq!(fire(&context, &bash("ls")).runs[0].end, HookEnd::Fine);
    assert!(world.exists("canary"));
}

fn matchers_and_conditions_select_hooks() {
    let world = World::new(
        r#"
  PreToolUse:
    - matcher: "Edit|Write"
      hooks: [{type: command, command: "echo names"}]
    - matcher: "mcp__.*__write"
      hooks: [{type: command, command: "echo pattern"}]
    - matcher: Bash
      hooks: [{type: command, command: "echo push", if: "Bash(git push *)"}]
    - hooks:
        - {type: command, command: "echo path", if: "Edit(*.ts)"}
        - {type: command, command: "echo host", if: "WebFetch(domain:example.com)"}
        - {type: command, command: "echo tool", if: "mcp__memory__write"}
  SessionStart:
    - matcher: resume
      hooks: [{type: command, command: "echo resume"}]"#,
    );
    let context = world.context();
    let ran = |event: &HookEvent<'_>| -> Vec<String> {
        let runs = fire(&context, event).runs;
        runs.iter()
            .map(|run| run.command.trim_start_matches("echo ").to_owned())
            .collect()
    };
    let pre = |name: &'static str, input: Value| {
        let tool = HookToolCall {
            name,
            also: &[],
            input: &input,
            id: None,
        };
        ran(&HookEvent::PreToolUse { tool })
    };
    assert_eq!(pre("Write", json!({"file_path": "a.md"})), ["names"]);
    assert_eq!(pre("Edit", json!({"file_path": "a.ts"})), ["names", "path"]);
    assert_eq!(pre("mcp__memory__write", json!({})), ["pattern", "tool"]);
    assert_eq!(pre("Bash", json!({"command": "git status"})), [""; 0]);
    assert_eq!(pre("Bash", json!({"command": "git push origin"})), ["push"]);
    assert_eq!(
        pre("Bash", json!({"command": "ls && FOO=1 git push origin"})),
        ["push"]
    );
    assert_eq!(pre("Bash", json!({"command": 7})), [""; 0]);
    assert_eq!(pre("Bash", Value::Null), [""; 0]);
    assert_eq!(
        pre("WebFetch", json!({"url": "https://u:p@example.com:8080/x"})),
        ["host"]
    );
    assert_eq!(
        pre("WebFetch", json!({"url": "https://example.com.evil.org/"})),
        [""; 0]
    );
    // A tool with an additional name.
    let input = json!({"commandLine": "git push origin", "reason": "r"});
    let tool = HookToolCall {
        name: "run_command_line",
        also: &["Bash"],
        input: &input,
        id: None,
    };
    assert_eq!(ran(&HookEvent::PreToolUse { tool }), ["push"]);
    assert_eq!(
        ran(&HookEvent::SessionStart { source: "resume" }),
        ["resume"]
    );
    assert_eq!(ran(&HookEvent::SessionStart { source: "startup" }), [""; 0]);
}

fn stop_hooks_cannot_block_forever() {
    let world = World::new(&hook(
        "Stop",
        "",
        "grep -q '.stop_hook_active.:true' && echo again >&2; exit 2",
    ));
    let context = world.context();
    let mut state = HookState::default();
    let stop = HookEvent::Stop { message: None };
    for turn in 0..2 {
        for at in 0..8 {
            let outcome = fire_with(&context, &stop, &mut state);
            assert!(outcome.is_blocked(), "{turn} {at}");
            assert_eq!(
                outcome.reason() == "again",
                at > 0,
                "{turn} {at} {outcome:?}"
            );
        }
        let outcome = fire_with(&context, &stop, &mut state);
        assert!(!outcome.is_blocked() && outcome.reasons.is_empty());
        assert!(
            outcome.messages[0].text.contains("8 times in a row"),
            "{outcome:?}"
        );
    }
    // A user message resets the count.
    fire_with(&context, &stop, &mut state);
    assert_ne!(state, HookState::default());
    fire_with(
        &context,
        &HookEvent::UserPromptSubmit { prompt: "" },
        &mut state,
    );
    assert_eq!(state, HookState::default());
    let world = World::new(&hook(
        "Stop",
        "",
        "echo '{\\\"continue\\\": false, \\\"stopReason\\\": \\\"s\\\", \\\"decision\\\": \\\"block\\\"}'",
    ));
    let outcome = fire(&world.context(), &stop);
    assert_eq!(
        (outcome.verdict, outcome.stop.map(|said| said.text)),
        (None, Some("s".into()))
    );
}

fn output_of_start_hooks_reaches_the_model() {
    for event in [
        HookEvent::SessionStart { source: "startup" },
        HookEvent::UserPromptSubmit { prompt: "" },
    ] {
        let world = World::new(&hook(event.name().as_str(), "", "echo remember this"));
        let outcome = fire(&world.context(), &event);
        assert_eq!(outcome.context[0].text, "remember this");
    }
    let world = World::new(&hook("PreToolUse", "", "echo not this"));
    assert!(fire(&world.context(), &bash("ls")).context.is_empty());
}

fn hooks_run_in_the_sandbox() {
    let world = World::new(&hook(
        "UserPromptSubmit",
        "",
        concat!(
            "echo x > $CLAUDE_SKILL_DIR/canary; echo x > ../outside/canary; cat ../home",
            "/.ssh/id; echo $SECRET_TOKEN; echo done"
        ),
    ));
    let event = HookEvent::UserPromptSubmit { prompt: "" };
    let mut context = world.context();
    context.settings.strength = Strength::BestEffort;
    let outcome = fire(&context, &event);
    assert_eq!(outcome.context[0].text, "done", "{:?}", outcome.runs);
    assert!(!world.skill_folder().join("canary").exists());
    let canary = world.path("../outside/canary");
    assert!(!canary.exists());
    // Control: without a sandbox, the same hook succeeds.
    context.settings.strength = Strength::Off;
    assert!(fire(&context, &event).context[0].text.starts_with("secret"));
    assert!(canary.exists());
}

fn unread_input_is_not_an_error() {
    let big = json!({"content": "x".repeat(4 << 20)});
    let world = World::new(&hook("PreToolUse", "", "exec 0<&-; exit 2"));
    let event = HookEvent::PreToolUse {
        tool: tool("Write", &big),
    };
    assert!(fire(&world.context(), &event).is_blocked());
    let world = World::new(&hook("PreToolUse", "", "wc -c > $CLAUDE_PROJECT_DIR/count"));
    fire(&world.context(), &event);
    assert!(world.read("count").trim().parse::<usize>().unwrap() > 4 << 20);
}

fn commands_can_be_disabled() {
    let world = World::new(&hook("PreToolUse", "", "true; exit 2"));
    let mut context = world.context();
    context.settings.commands = false;
    let why = "shell command execution disabled by policy".into();
    let outcome = fire(&context, &bash("ls"));
    assert_eq!(outcome.runs[0].end, HookEnd::NotRun { why });
    assert!(outcome.is_blocked());
    let mut context = world.context();
    context.services.runner = None;
    let outcome = fire(&context, &bash("ls"));
    assert!(matches!(outcome.runs[0].end, HookEnd::NotRun { .. }) && !outcome.is_blocked());
}

fn hooks_of_all_active_skills_run() {
    let world = World::new(&hook("PreToolUse", "", "true"));
    let context = world.context();
    let other = World::new(&hook("PreToolUse", "", "echo no >&2; exit 2"));
    let (first, second) = (load(&context), load(&other.context()));
    // The other skill is trusted only in the other store.
    let active = [(&first.0, &first.1), (&second.0, &second.1)];
    let outcome = run_hooks(&context, &active, &bash("ls"), &mut HookState::default());
    assert_eq!(outcome.runs[0].end, HookEnd::Fine);
    assert!(matches!(outcome.runs[1].end, HookEnd::NotRun { .. }));
    TrustStore::new(world.path("../trust"))
        .grant(TrustKind::Skill, &other.skill_folder(), &second.1.digest, 1)
        .unwrap();
    let outcome = run_hooks(&context, &active, &bash("ls"), &mut HookState::default());
    assert!(
        outcome.is_blocked() && outcome.reason() == "no",
        "{outcome:?}"
    );
    assert_eq!(
        outcome.runs.iter().map(|run| run.event).collect::<Vec<_>>(),
        [EventName::PreToolUse; 2]
    );
}

fn restrictions_of_other_skills_stop_hooks() {
    let world = World::new(&hook("PreToolUse", "", "true"));
    let context = world.context();
    let (hooks, trust) = load(&context);
    let none = HookSet::default();
    for (disallowed, is_run) in [("", true), ("Bash", false), ("Bash(true:*)", false)] {
        let strict = SkillTrust {
            name: "strict".into(),
            tools: PermissionRules::of_skill("strict", "", disallowed),
            ..trust.clone()
        };
        let active = [(&none, &strict), (&hooks, &trust)];
        let outcome = run_hooks(&context, &active, &bash("ls"), &mut HookState::default());
        let end = &outcome.runs[0].end;
        assert_eq!(*end == HookEnd::Fine, is_run, "{disallowed}: {end:?}");
        // A call whose check cannot run is not made.
        assert_eq!(outcome.is_blocked(), !is_run, "{disallowed}: {outcome:?}");
        // An untrusted skill restricts nothing.
        let strict = SkillTrust {
            required: true,
            state: None,
            ..strict
        };
        let active = [(&none, &strict), (&hooks, &trust)];
        let outcome = run_hooks(&context, &active, &bash("ls"), &mut HookState::default());
        assert_eq!(outcome.runs[0].end, HookEnd::Fine, "{disallowed}");
    }
}

const NOTHING: Value = Value::Null;

/// Returns the frontmatter of one hook. `command` is put in double quotes.
fn hook(event: &str, matcher: &str, command: &str) -> String {
    format!(
        "\n  {event}:\n    - matcher: \"{matcher}\"\n      hooks: [{{type: command, command: \"{command}\"}}]"
    )
}

fn tool<'a>(name: &'a str, input: &'a Value) -> HookToolCall<'a> {
    HookToolCall {
        name,
        also: &[],
        input,
        id: None,
    }
}

fn bash(line: &str) -> HookEvent<'static> {
    let input: &'static Value = Box::leak(Box::new(json!({ "command": line })));
    HookEvent::PreToolUse {
        tool: tool("Bash", input),
    }
}

/// The folder of the skill, in the project.
const SKILL: &str = ".agents/skills/guard";

/// A project with one skill, and a trust store.
struct World(prowess_test::World);

impl Deref for World {
    type Target = prowess_test::World;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl World {
    /// Creates a trusted skill that may run every command.
    fn new(hooks: &str) -> Self {
        Self::with(hooks, "Bash Edit", true)
    }

    fn untrusted(hooks: &str) -> Self {
        Self::with(hooks, "Bash Edit", false)
    }

    fn with(hooks: &str, tools: &str, trusted: bool) -> Self {
        let world = Self(prowess_test::World::shared());
        world
            .folder("../outside")
            .mode("../outside", 0o777)
            .file("~/.ssh/id", "secret")
            .file(
                format!("{SKILL}/SKILL.md"),
                format!("---\nname: guard\ndescription: Guards.\nallowed-tools: {tools}\nhooks:{hooks}\n---\nbody\n"),
            );
        if trusted {
            world.trust();
        }
        world
    }

    fn skill_folder(&self) -> PathBuf {
        self.path(SKILL)
    }

    /// Writes a script of the skill.
    fn skill_script(&self, name: &str, body: &str) {
        self.script(format!("{SKILL}/{name}"), body);
    }

    fn trust(&self) {
        let store = TrustStore::new(self.path("../trust"));
        let (_, trust) = load(&self.context());
        store
            .grant(TrustKind::Skill, &self.skill_folder(), &trust.digest, 1)
            .unwrap();
    }

    fn context(&self) -> ToolContext {
        let (home, workspace) = (self.path("~"), self.path(""));
        let place = Place {
            current: workspace.clone(),
            home: Some(home.clone()),
            ..Place::default()
        };
        let registry = Registry::open(place, FileOptions::default(), Precedence::default());
        let mut context = ToolContext::new(Arc::new(registry), Arc::new(NoTime));
        context.services.trust = Some(TrustStore::new(self.path("../trust")));
        context.services.runner = Some(Arc::new(Runner::new(HELPER.get().unwrap().clone())));
        let root = workspace.to_str().unwrap().into();
        let places = prowess_policy::WorkspacePaths {
            root,
            ..prowess_policy::WorkspacePaths::default()
        };
        context.gate = Mutex::new(Gate {
            places,
            ..Gate::default()
        });
        context.settings.paths = ToolPaths {
            workspace,
            home,
            ..ToolPaths::default()
        };
        context.settings = Settings {
            paths: context.settings.paths.clone(),
            session: Some("s1".into()),
            strength: Strength::BestEffort,
            edits: true,
            ..Settings::default()
        };
        context
    }
}

/// Returns the hooks and the trust of the skill, as in an activation.
fn load(context: &ToolContext) -> (HookSet, SkillTrust) {
    let catalog = context.services.registry.snapshot();
    let skill = &catalog.resolve("guard").unwrap().skill;
    assert_eq!(skill.id.origin.scope, Scope::Project);
    let read = context.read(skill).unwrap();
    let (set, notes) = HookSet::read(&parse(read.document.text.as_bytes()).manifest);
    assert_eq!(notes, []);
    (set, read.trust)
}

/// Runs the hooks for an event in a new session.
fn fire(context: &ToolContext, event: &HookEvent<'_>) -> HookOutcome {
    fire_with(context, event, &mut HookState::default())
}

fn fire_with(context: &ToolContext, event: &HookEvent<'_>, state: &mut HookState) -> HookOutcome {
    let (set, trust) = load(context);
    run_hooks(context, &[(&set, &trust)], event, state)
}

#[derive(Debug)]
struct NoTime;

impl Clock for NoTime {
    fn now(&self) -> i64 {
        0
    }
}

#[derive(Debug)]
struct Always(ApprovalAnswer);

impl Approver for Always {
    fn ask(&self, _: &ApprovalRequest<'_>) -> ApprovalAnswer {
        self.0
    }
}

#[derive(Debug)]
struct Counting {
    answer: ApprovalAnswer,
    count: AtomicUsize,
}

impl Counting {
    fn new(answer: ApprovalAnswer) -> Self {
        Self {
            answer,
            count: AtomicUsize::new(0),
        }
    }
}

impl Approver for Counting {
    fn ask(&self, _: &ApprovalRequest<'_>) -> ApprovalAnswer {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.answer
    }
}
