//! Every command on a pseudo-terminal, with hostile text wherever a command prints text of others.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use serde_json::json;

use crate::world::World;

/// Writes the clipboard, sets a colour that Prowess never uses, clears the screen, opens a link, and
/// ends with an eight-bit control character, a direction mark, a backspace and DEL.
const HOSTILE: &str = "A\u{1b}]52;c;aGk=\u{7}\u{1b}[5;35mB\u{1b}[2J\u{1b}]8;;http://evil\u{7}\u{9b}5m\u{202e}C\u{8}\u{7f}D";

/// The same as a YAML and TOML string.
const ESCAPED: &str = r"A\u001b]52;c;aGk=\u0007\u001b[5;35mB\u001b[2J\u001b]8;;http://evil\u0007\u009b5m\u202eC\u0008\u007fD";

/// SGR parameters that Prowess uses.
const COLOURS: [&str; 19] = [
    "", "0", "1", "2", "3", "4", "7", "22", "31", "32", "33", "34", "36", "39", "91", "92", "93",
    "94", "96",
];

/// A folder or file name cannot contain a slash.
fn name() -> String {
    HOSTILE.replace('/', "")
}

fn world() -> World {
    let world = World::new();
    let skill = |name: &str, more: &str| {
        format!(
            "---\nname: {name}\ndescription: \"{ESCAPED} Use when asked.\"\nwhen_to_use: \"{ESCAPED}\"\n\
             version: \"{ESCAPED}\"\nargument-hint: \"{ESCAPED}\"\nlicense: \"{ESCAPED}\"\n\"k{ESCAPED}\": 1\n{more}---\n\
             # Heading {HOSTILE}\n\n{HOSTILE} [link]({HOSTILE}.md)\n"
        )
    };
    for root in [
        ".agents/skills",
        "~/.agents/skills",
        "~/shop/.agents/skills",
    ] {
        world.file(format!("{root}/evil/SKILL.md"), skill("evil", ""));
        let folder = format!("{root}/{}", name());
        world.file(
            format!("{folder}/SKILL.md"),
            skill(&format!("\"{ESCAPED}\""), ""),
        );
        for folder in [format!("{root}/evil"), folder] {
            world.file(format!("{folder}/references/e.md"), HOSTILE);
            world.file(format!("{folder}/references/{}", name()), HOSTILE);
            let script =
                format!("#!/bin/sh\nprintf '%s\\n' '{HOSTILE}'\nprintf '%s\\n' '{HOSTILE}' >&2\n");
            world.file_with_mode(&format!("{folder}/run.sh"), script, 0o755);
        }
    }
    world.file(
        "~/.agents/skills/acts/SKILL.md",
        skill(
            "acts",
            &format!(
                "allowed-tools: Bash(./run.sh:*) Bash({ESCAPED}\nhooks:\n  UserPromptSubmit:\n    - hooks:\n        - type: command\n          command: ./run.sh\n"
            ),
        ),
    );
    world.file_with_mode(
        "~/.agents/skills/acts/run.sh",
        format!("#!/bin/sh\nprintf '%s\\n' '{HOSTILE}'\nprintf '%s\\n' '{HOSTILE}' >&2\nexit 3\n"),
        0o755,
    );
    world.file(
        "~/.agents/skills/loads/SKILL.md",
        skill("loads", "allowed-tools: Bash(printf:*)\n")
            + &format!("\n!`printf '%s' '{}'`\n!`false`\n", "x"),
    );
    world.file(
        ".agents/prowess.toml",
        format!(
            "[permissions]\nallow = [\"{ESCAPED}\"]\ndeny = [\"Bash(rm {ESCAPED})\", \"Skill(x)\"]\n\
             [skills.visibility]\n\"{ESCAPED}\" = \"off\"\nloads = \"off\"\n[\"{ESCAPED}\"]\nx = 1\n"
        ),
    );
    let shop = world.path("~/shop");
    world.file(
        "~/config.toml",
        format!(
            "[sandbox]\nstrength = 'best-effort'\n[agents.\"{ESCAPED}\"]\ndeny = ['evil']\n\
             [mcp.servers.shop]\ncommand = {:?}\nargs = ['mcp']\ncwd = '{}'\nenv = {{ PROWESS_HOME = '${{HOME}}/none' }}\n\
             [mcp.servers.gone]\ncommand = \"gone{ESCAPED}\"\n\
             [mcp.servers.loud]\ncommand = '/bin/sh'\nargs = ['-c', \"printf '%s\\n' '{ESCAPED}' >&2; printf '%s\\n' '{ESCAPED}'; exit 3\"]\n",
            env!("CARGO_BIN_EXE_prowess"),
            shop.display(),
        ),
    );
    world.file(
        ".mcp.json",
        json!({"mcpServers": {HOSTILE: {"command": HOSTILE, "args": [HOSTILE], "env": {HOSTILE: HOSTILE}}}})
            .to_string(),
    );
    let calls = json!([
        {"name": HOSTILE, "input": {HOSTILE: HOSTILE}},
        {"name": "bash", "input": {"command": format!("echo {HOSTILE}")}},
        {"name": "load_skill", "input": {"name": "evil"}},
        {"name": "load_skill", "input": {"name": "acts"}},
        {"name": "load_skill_resource", "input": {"skill_name": "evil", "resource_path": "references/e.md"}},
        {"name": "read", "input": {"path": format!("no{HOSTILE}")}},
    ]);
    let script = [
        json!({"text": HOSTILE, "calls": calls}),
        json!({"text": HOSTILE, "calls": [{"name": "list_skills", "input": {}}]}),
        json!({"text": HOSTILE}),
    ];
    let script: String = script.iter().map(|line| format!("{line}\n")).collect();
    world.file("script.jsonl", script);
    world
}

/// Text to wait for, and what to type then.
type Typed<'t> = (&'t str, &'t str);

/// Runs the command on a pseudo-terminal, and returns what it printed. Standard input is the terminal
/// if something is typed.
fn on_terminal(world: &World, columns: u16, arguments: &[&str], typed: &[Typed<'_>]) -> String {
    on_terminal_with(world, columns, arguments, typed, |_| {})
}

/// Like [`on_terminal`], and calls `act` with the expected text before something is typed.
pub(crate) fn on_terminal_with(
    world: &World,
    columns: u16,
    arguments: &[&str],
    typed: &[Typed<'_>],
    act: impl Fn(&str),
) -> String {
    let environment = [("PROWESS_NO_PROGRESS", "1")];
    on_terminal_env(world, columns, arguments, typed, &environment, act)
}

/// Like [`on_terminal_with`], with other environment variables.
pub(crate) fn on_terminal_env(
    world: &World,
    columns: u16,
    arguments: &[&str],
    typed: &[Typed<'_>],
    environment: &[(&str, &str)],
    act: impl Fn(&str),
) -> String {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let size = Winsize {
        ws_row: columns / 3,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(&master, size).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
    let terminal = || File::options().read(true).write(true).open(&name).unwrap();
    let stdin = if typed.is_empty() {
        Stdio::null()
    } else {
        Stdio::from(terminal())
    };
    let mut child = Command::new(env!("CARGO_BIN_EXE_prowess"))
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", world.path("~"))
        .env("PROWESS_HOME", world.path("~"))
        .env("TERM", "xterm-256color")
        .envs(environment.iter().copied())
        .current_dir(world.path(""))
        .args(arguments)
        .stdin(stdin)
        .stdout(terminal())
        .stderr(terminal())
        .spawn()
        .unwrap();
    let mut master = File::from(master);
    let mut typing = master.try_clone().unwrap();
    let shown = Arc::new(Mutex::new(Vec::new()));
    let text =
        |shown: &Mutex<Vec<u8>>| String::from_utf8_lossy(&shown.lock().unwrap()).into_owned();
    let reader = std::thread::spawn({
        let shown = Arc::clone(&shown);
        move || {
            let mut buffer = [0; 4096];
            // The end of a pseudo-terminal is an error.
            while let Ok(count @ 1..) = master.read(&mut buffer) {
                shown.lock().unwrap().extend_from_slice(&buffer[..count]);
            }
        }
    });
    for (expected, keys) in typed {
        let is_over = |child: &mut Child| child.try_wait().unwrap().is_some();
        prowess_test::wait_until(expected, || {
            text(&shown).contains(expected) || is_over(&mut child)
        });
        act(expected);
        typing.write_all(keys.as_bytes()).unwrap();
    }
    // The last keys end the command, perhaps after several questions.
    let last = typed.last().map(|(_, keys)| keys.as_bytes());
    let (mut seen, mut looks) = (0, 0);
    if !prowess_test::happens_within(prowess_test::PATIENCE, || {
        let now = shown.lock().unwrap().len();
        looks += 1;
        if let Some(last) = last.filter(|_| looks % 100 == 0 && now > seen) {
            typing.write_all(last).unwrap();
            seen = now;
        }
        child.try_wait().unwrap().is_some()
    }) {
        let _ = child.kill();
        let _ = child.wait();
        panic!("{arguments:?} does not end: {:?}", text(&shown));
    }
    drop(typing);
    reader.join().unwrap();
    text(&shown)
}

/// Returns the first sequence or character that must not reach a terminal.
fn raw(shown: &str) -> Option<String> {
    let mut rest = shown;
    while let Some(at) = rest.find(|c: char| {
        let is_plain = matches!(c, '\n' | '\r' | '\t');
        !is_plain
            && (c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'))
    }) {
        rest = &rest[at..];
        let parameters = rest
            .strip_prefix("\u{1b}[")
            .and_then(|rest| rest.split_once('m'))
            .filter(|(codes, _)| codes.split(';').all(|code| COLOURS.contains(&code)));
        let Some((_, after)) = parameters else {
            return Some(rest.chars().take(24).collect());
        };
        rest = after;
    }
    None
}

/// The commands and their subcommands, as clap knows them.
fn commands(world: &World) -> BTreeSet<String> {
    let complete = |words: &[&str]| -> Vec<String> {
        let arguments = [&["--", "prowess"], words, &[""]].concat();
        let output = world
            .command(&arguments)
            .env("COMPLETE", "bash")
            .env("_CLAP_IFS", "\n")
            .env("_CLAP_COMPLETE_INDEX", (words.len() + 1).to_string())
            .env("_CLAP_COMPLETE_COMP_TYPE", "9")
            .env("_CLAP_COMPLETE_SPACE", "true")
            .run()
            .expect(0);
        let names = output.stdout.lines().filter(|name| !name.starts_with('-'));
        names.map(str::to_owned).collect()
    };
    let mut all = BTreeSet::new();
    for command in complete(&[]) {
        // Only these have subcommands; the others complete their operands.
        let help = world.run(&[&command, "-h"]).expect(0).stdout;
        let has_more = help.contains("\nCommands:\n");
        if !help.contains(" <COMMAND>\n") {
            all.insert(command.clone());
        }
        if has_more {
            let inner = complete(&[&command]);
            assert!(!inner.is_empty(), "{command}");
            all.extend(inner.iter().map(|name| format!("{command} {name}")));
        }
    }
    all.remove("ls");
    all
}

/// M4: nothing but our own colours reaches a terminal, whatever its size.
#[test]
fn no_command_passes_escapes_to_a_terminal() {
    let world = world();
    let file = format!("references/{}", name());
    let folder = format!(".agents/skills/{}", name());
    world.file(
        "packs/packed/SKILL.md",
        format!("---\nname: packed\ndescription: \"{ESCAPED} Use when asked.\"\nlicense: \"{ESCAPED}\"\nversion: \"{ESCAPED}\"\nallowed-tools: Read {HOSTILE}\n---\n{HOSTILE}\n"),
    );
    world.run(&["pack", "packs/packed"]).expect(0);
    let model = format!("scripted:{}", world.path("script.jsonl").display());
    let load = json!({"name": "evil"}).to_string();
    let resource = json!({"skill_name": "evil", "resource_path": file}).to_string();
    let search = json!({"query": "asked"}).to_string();
    let made = world.run(&["run", "--task", HOSTILE, "--no-wait", "--model", &model]);
    assert!(
        made.stdout.contains(HOSTILE),
        "a pipe gets the bytes: {}",
        made.snapshot()
    );
    let sessions = world.run(&["session", "list", "--json"]).expect(0).json();
    let id = sessions["sessions"][0]["id"].as_str().unwrap().to_owned();
    // A session whose question is hostile, and a mission whose names are.
    let command =
        json!({"calls": [{"name": "bash", "input": {"command": format!("touch '{HOSTILE}'")}}]});
    let asks = world.file("asks.jsonl", format!("{command}\n"));
    let asks = format!("scripted:{}", asks.display());
    world
        .run(&["run", "--task", HOSTILE, "--model", &asks])
        .expect(6);
    let open = world.run(&["questions", "--json"]).expect(0).json();
    let question = open["questions"][0]["id"].as_str().unwrap().to_owned();
    let quoted = serde_json::to_string(HOSTILE).unwrap();
    world.file(
        "missions.hcl",
        format!("mission {quoted} {{\n  directive = {quoted}\n  agents = [agents[{quoted}]]\n  task {quoted} {{\n    objective = {quoted}\n  }}\n}}\n"),
    );
    let rows: Vec<(&str, Vec<&str>)> = vec![
        ("new", vec!["new", HOSTILE]),
        ("new", vec!["new", ".agents/skills/evil"]),
        ("validate", vec!["validate"]),
        ("validate", vec!["validate", &folder]),
        ("validate", vec!["validate", "--format", "concise"]),
        ("validate", vec!["validate", "--format", "github"]),
        ("validate", vec!["validate", "--format", "json"]),
        ("validate", vec!["validate", "--format", "sarif"]),
        ("validate", vec!["validate", "--diff", "--unsafe-fixes"]),
        ("validate", vec!["validate", HOSTILE]),
        ("explain", vec!["explain", HOSTILE]),
        ("list", vec!["list", "--all"]),
        ("list", vec!["list", "--all", "--wide"]),
        ("list", vec!["list", "--all", "--json"]),
        ("list", vec!["list", "--agent", HOSTILE]),
        ("find", vec!["find", "asked"]),
        ("find", vec!["find", "asked", "--json"]),
        ("find", vec!["find", HOSTILE]),
        ("show", vec!["show", "evil"]),
        ("show", vec!["show", &folder]),
        ("show", vec!["show", "evil", "--json"]),
        ("show", vec!["show", "evil", "--file", "references/e.md"]),
        ("show", vec!["show", "evil", "--file", &file]),
        ("show", vec!["show", "evil", "--file", &file, "--json"]),
        ("show", vec!["show", "evil", "--file", HOSTILE]),
        ("prompt", vec!["prompt"]),
        ("prompt", vec!["prompt", "--format", "xml"]),
        ("prompt", vec!["prompt", "--json"]),
        ("prompt", vec!["prompt", "--skill", "evil"]),
        ("prompt", vec!["prompt", "--skill", "evil", "--json"]),
        ("prompt", vec!["prompt", "--skill", "loads"]),
        ("prompt", vec!["prompt", "--skill", HOSTILE]),
        ("why", vec!["why", "evil"]),
        ("why", vec!["why", &folder]),
        ("why", vec!["why", "evil", "--query", HOSTILE]),
        ("why", vec!["why", "evil", "--json"]),
        ("why", vec!["why", HOSTILE]),
        ("why", vec!["why", "--session", &id]),
        ("run", vec!["run", "evil", HOSTILE, "--model", &model]),
        ("run", vec!["run", "acts", "x", "--model", &model]),
        ("run", vec!["run", "--task", HOSTILE, "--model", &model]),
        (
            "run",
            vec!["run", "--task", HOSTILE, "--model", &model, "--json"],
        ),
        ("run", vec!["run", "--task", "x", "--model", HOSTILE]),
        ("chat", vec!["chat", "--plain", "--model", &model]),
        ("agent list", vec!["agent", "list", "--all"]),
        ("agent list", vec!["agent", "list", "--json"]),
        ("agent show", vec!["agent", "show", HOSTILE]),
        ("agent run", vec!["agent", "run", HOSTILE, "x"]),
        (
            "agent run",
            vec!["agent", "run", "Explore", HOSTILE, "--model", &model],
        ),
        ("agent chat", vec!["agent", "chat", HOSTILE, "--plain"]),
        ("mission plan", vec!["mission", "plan"]),
        ("mission plan", vec!["mission", "plan", "--json"]),
        ("mission plan", vec!["mission", "plan", ".", HOSTILE]),
        ("mission list", vec!["mission", "list"]),
        ("mission graph", vec!["mission", "graph", HOSTILE]),
        ("mission run", vec!["mission", "run", HOSTILE]),
        ("mission show", vec!["mission", "show"]),
        ("mission show", vec!["mission", "show", HOSTILE]),
        ("mission resume", vec!["mission", "resume", HOSTILE]),
        ("mission cancel", vec!["mission", "cancel", HOSTILE]),
        ("mission set", vec!["mission", "set", HOSTILE]),
        (
            "convert",
            vec!["convert", HOSTILE, "--to", "skills", "--out", "converted"],
        ),
        ("questions", vec!["questions"]),
        ("questions", vec!["questions", "--json"]),
        ("answer", vec!["answer", HOSTILE, "yes"]),
        (
            "answer",
            vec![
                "answer",
                &question,
                "no",
                "--because",
                HOSTILE,
                "--no-continue",
            ],
        ),
        ("session list", vec!["session", "list"]),
        ("session list", vec!["session", "list", "--json"]),
        ("session show", vec!["session", "show", &id]),
        ("session show", vec!["session", "show", &id, "--json"]),
        ("session show", vec!["session", "show", HOSTILE]),
        (
            "session resume",
            vec!["session", "resume", &id, HOSTILE, "--model", &model],
        ),
        ("session replay", vec!["session", "replay", &id]),
        ("session export", vec!["session", "export", &id]),
        ("session remove", vec!["session", "remove", HOSTILE]),
        ("demo", vec!["demo"]),
        ("mcp", vec!["mcp"]),
        ("mcp config", vec!["mcp", "config", HOSTILE]),
        ("mcp config", vec!["mcp", "config", "claude-code"]),
        ("mcp list", vec!["mcp", "list"]),
        ("mcp list", vec!["mcp", "list", "--json"]),
        ("mcp trust", vec!["mcp", "trust"]),
        ("mcp trust", vec!["mcp", "trust", "--json"]),
        ("exec", vec!["exec", "acts", "--", "./run.sh"]),
        ("exec", vec!["exec", "acts", "--json", "--", "./run.sh"]),
        ("exec", vec!["exec", "acts", "--", HOSTILE]),
        ("exec", vec!["exec", HOSTILE, "--", "x"]),
        ("tool list", vec!["tool", "list"]),
        ("tool list", vec!["tool", "list", "--json"]),
        (
            "tool call",
            vec!["tool", "call", "load_skill", "--json", &load],
        ),
        (
            "tool call",
            vec!["tool", "call", "load_skill", "--json", &load, "--value"],
        ),
        (
            "tool call",
            vec!["tool", "call", "load_skill_resource", "--json", &resource],
        ),
        ("tool call", vec!["tool", "call", "list_skills"]),
        (
            "tool call",
            vec!["tool", "call", "search_skills", "--json", &search],
        ),
        ("tool call", vec!["tool", "call", HOSTILE]),
        ("trust", vec!["trust"]),
        ("trust", vec!["trust", "evil"]),
        ("trust", vec!["trust", &folder]),
        ("trust", vec!["trust", &folder, "--revoke"]),
        ("trust", vec!["trust", "--list"]),
        ("trust", vec!["trust", "evil", "--json"]),
        ("trust", vec!["trust", HOSTILE]),
        ("policy check", vec!["policy", "check", "--", HOSTILE]),
        (
            "policy check",
            vec!["policy", "check", "--json", "--", HOSTILE],
        ),
        (
            "policy check",
            vec!["policy", "check", "--skill", "acts", "--", "rm x"],
        ),
        ("policy show", vec!["policy", "show"]),
        ("policy show", vec!["policy", "show", "--json"]),
        ("stats", vec!["stats"]),
        ("stats", vec!["stats", "--json"]),
        ("doctor", vec!["doctor"]),
        ("doctor", vec!["doctor", "--json"]),
        ("schema", vec!["schema", HOSTILE]),
        ("init", vec!["init", "--dry-run"]),
        ("config show", vec!["config", "show", HOSTILE]),
        ("config show", vec!["config", "show"]),
        ("scan", vec!["scan", &folder]),
        ("scan", vec!["scan", HOSTILE]),
        ("pack", vec!["pack", &folder, "--site", "public"]),
        ("pack", vec!["pack", HOSTILE]),
        ("add", vec!["add", &folder, "--list"]),
        ("add", vec!["add", "./source", HOSTILE]),
        ("add", vec!["add", "packed.skill"]),
        ("add", vec!["add", HOSTILE]),
        ("sync", vec!["sync"]),
        ("outdated", vec!["outdated"]),
        ("update", vec!["update", HOSTILE]),
        ("update", vec!["update"]),
        ("lock", vec!["lock"]),
        ("verify", vec!["verify"]),
        ("verify", vec!["verify", HOSTILE]),
        ("diff", vec!["diff", HOSTILE]),
        ("diff", vec!["diff", "packed"]),
        ("link", vec!["link", HOSTILE]),
        ("link", vec!["link", "claude-code"]),
        ("rollback", vec!["rollback", "--list"]),
        ("rollback", vec!["rollback", HOSTILE]),
        ("fork", vec!["fork", HOSTILE]),
        ("fork", vec!["fork", "packed"]),
        ("remove", vec!["remove", HOSTILE]),
        ("remove", vec!["remove", "packed"]),
        ("store show", vec!["store", "show"]),
        ("store prune", vec!["store", "prune"]),
        ("completions", vec!["completions", HOSTILE]),
        ("help", vec!["help", HOSTILE]),
    ];
    let covered: BTreeSet<String> = rows.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(covered, commands(&world), "each command needs a row");
    let mut found = Vec::new();
    for (_, arguments) in &rows {
        let answers = [("", "\u{4}")];
        for (columns, typed) in [(0, &[][..]), (80, &answers[..])] {
            // The doctor and the demo start many processes; one size is enough.
            if matches!(arguments[0], "doctor" | "demo") && columns == 0 {
                continue;
            }
            let shown = on_terminal(&world, columns, arguments, typed);
            if let Some(raw) = raw(&shown) {
                found.push(format!("{columns} {arguments:?}: {raw:?}"));
            }
        }
    }
    assert!(
        found.is_empty(),
        "{} of {}:\n{}",
        found.len(),
        rows.len(),
        found.join("\n")
    );
}

/// The whole-screen chat moves the cursor itself, but never as a text says.
#[test]
fn chat_screen_shows_no_escapes_of_others() {
    let world = world();
    let model = format!("scripted:{}", world.path("script.jsonl").display());
    let typed = [("scripted", "hello\r"), ("\\u{1b}]52", "\u{3}")];
    let shown = on_terminal(&world, 90, &["chat", "--model", &model], &typed);
    assert!(shown.contains("\\u{1b}]52"), "the text is shown: {shown:?}");
    for raw in [
        "\u{1b}]52",
        "\u{1b}[5;35m",
        "\u{1b}]8",
        "\u{9b}",
        "\u{202e}",
        "\u{7f}",
    ] {
        assert!(!shown.contains(raw), "{raw:?}: {shown:?}");
    }
}

/// The check finds what it is meant to find.
#[test]
fn raw_sequences_are_recognized() {
    for fine in ["a\tb\r\n", "\u{1b}[1;31mx\u{1b}[0m", "\u{1b}[mé"] {
        assert_eq!(raw(fine), None, "{fine:?}");
    }
    for bad in [
        "\u{1b}]52;c;x\u{7}",
        "\u{1b}[5m",
        "\u{1b}[2J",
        "\u{9b}1m",
        "\u{202e}",
        "\u{8}",
    ] {
        assert!(raw(&format!("\u{1b}[1mx{bad}")).is_some(), "{bad:?}");
    }
}
