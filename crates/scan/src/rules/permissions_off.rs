//! Permissions of an agent that are switched off.

use super::{FindingSink, Passage};
use crate::matching::matcher;

rule!(
    "permissions-off",
    Warning,
    lowers: true,
    "the permission checks or the sandbox of an agent are switched off",
    "start the agent with its checks, and allow single commands instead",
    triggers: [
        "dangerously-skip-permissions", "dangerously-bypass", "bypasspermissions", "--yolo", "danger-full-access", "--allow-all-tools", "--no-sandbox-agent", "approval_policy", "skipDangerousModePermissionPrompt", "--trust-all-tools", "permissionMode"
    ]
);

matcher!(
    SWITCHES,
    r"(?: --dangerously-skip-permissions | --dangerously-bypass-approvals-and-sandbox | \bbypassPermissions\b | \b(?:gemini|codex|qwen|crush|copilot|cursor-agent)\b[^|;\n]*\s--yolo\b | \bdanger-full-access\b | --allow-all-tools\b | --trust-all-tools\b
      | \bapproval_policy\s*=\s*['\x22]never | skipDangerousModePermissionPrompt['\x22]?\s*:\s*true )"
);

fn check(passage: &Passage<'_, '_>, out: &mut FindingSink) {
    let text = &passage.plain().text;
    let Some(range) = SWITCHES.find(text) else {
        return;
    };
    // A sentence that names the option explains it; a command uses it.
    let origin = passage.plain().origin(range.clone());
    let names_program = [
        "claude",
        "codex",
        "gemini",
        "qwen",
        "copilot",
        "q chat",
        "agent",
        "permission",
        "sandbox",
    ];
    let line = text.to_ascii_lowercase();
    let is_used = passage.is_code
        || passage.is_inline_code(&origin)
            && names_program.iter().any(|program| {
                let before = &line[..range.start.min(line.len())];
                before
                    .rsplit('`')
                    .next()
                    .is_some_and(|code| code.contains(program))
            });
    if is_used {
        out.plain(
            passage,
            range,
            "switches off the permission checks of an agent",
        );
    }
}
