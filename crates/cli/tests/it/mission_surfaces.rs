//! Missions at the command line: hints that can be typed, completion, the schema of plans, `--watch`, a
//! whole project, and planning without processes and connections.

use prowess_tools::Schema;
use serde_json::{Value, json};

use crate::mission_runs::{calls, done, mission, script};
use crate::world::{Output, World};

/// A project in several files: names with blanks and an apostrophe, texts in files, two missions, four
/// agents, three skills, a plugin, `role`, and an attribute with an old name.
fn whole_project() -> World {
    let world = World::new();
    world.file(
        "config/models.hcl",
        "variable \"api_key\" { secret = true }\nmodel \"anthropic\" {\n  provider       = \"anthropic\"\n  api_key        = vars.api_key\n  allowed_models = [\"claude_sonnet_4\"]\n}\nplugin \"shell\" {\n  source  = \"github.com/example/shell\"\n  version = \"v1.0.0\"\n}\n",
    );
    world.file(
        "skills.hcl",
        "skill \"find sources\" {\n  description  = \"Load to find sources\"\n  instructions = load(\"./texts/find.md\")\n}\nskill \"write\" {\n  description  = \"Load to write\"\n  instructions = load(\"texts/write.md\")\n}\nskill \"check\" {\n  description  = \"Load to check\"\n  instructions = load(\"@/texts/check.txt\")\n  tools        = [plugins.shell.exec]\n}\n",
    );
    for (file, text) in [
        ("find", "FIND-TEXT\n"),
        ("write", "WRITE-TEXT ${not.read}\n"),
    ] {
        world.file(format!("texts/{file}.md"), text);
    }
    world.file("texts/check.txt", "CHECK-TEXT\n");
    let agent = |name: &str, skills: &str| {
        format!(
            "agent \"{name}\" {{\n  model       = models.anthropic.claude_sonnet_4\n  role        = \"Works.\"\n  personality = \"Careful.\"\n  skills      = [{skills}]\n}}\n"
        )
    };
    world.file(
        "agents.hcl",
        [
            agent("Lead Researcher", "skills[\"find sources\"]"),
            agent("The Editor's Helper", "skills.write, skills.check"),
            agent("checker", "skills.check"),
            agent("Archivist", ""),
        ]
        .concat(),
    );
    let head = "  commander { model = models.anthropic.claude_sonnet_4 }\n";
    world.file(
        "missions/daily.hcl",
        format!(
            "mission \"Daily Report\" {{\n{head}  agents = [agents[\"Lead Researcher\"], agents[\"The Editor's Helper\"]]\n  input \"topic\" {{ type = \"string\" }}\n  task \"Gather it\" {{ objective = \"Gather ${{inputs.topic}}\" }}\n  task \"write\" {{\n    objective  = \"Write\"\n    depends_on = [tasks[\"Gather it\"]]\n  }}\n}}\n"
        ),
    );
    world.file(
        "missions/archive.hcl",
        format!(
            "mission \"archive\" {{\n{head}  agents = [agents.checker, agents.Archivist]\n  task \"keep\" {{ objective = \"Keep it\" }}\n}}\n"
        ),
    );
    world
}

/// missions.md line 2.
#[test]
fn project_with_unusual_names_plans_as_a_whole() {
    let world = whole_project();
    let plan = world.run(&["mission", "plan", "--json"]);
    let plan = plan.json();
    assert_eq!(
        plan["counts"],
        json!({ "missions": 2, "agents": 4, "skills": 3 })
    );
    let names = |key: &str| -> Vec<&str> {
        let all = plan[key].as_array().unwrap().iter();
        all.map(|one| one["name"].as_str().unwrap()).collect()
    };
    assert_eq!(names("missions"), ["archive", "Daily Report"]);
    assert_eq!(
        names("agents"),
        [
            "Lead Researcher",
            "The Editor's Helper",
            "checker",
            "Archivist"
        ]
    );
    let texts: Vec<&str> = plan["skills"]
        .as_array()
        .unwrap()
        .iter()
        .map(|skill| skill["instructions"].as_str().unwrap().trim())
        .collect();
    assert_eq!(texts, ["FIND-TEXT", "WRITE-TEXT ${not.read}", "CHECK-TEXT"]);
    assert_eq!(
        plan["agents"][1]["skills"],
        json!(["write", "check"]),
        "{plan}"
    );
    assert_eq!(
        plan["missions"][1]["tasks"][1]["depends_on"],
        json!(["Gather it"])
    );
    // Findings are about the plugin, the names that Squadron refuses, and the old attribute only.
    for finding in plan["findings"].as_array().unwrap() {
        let text = finding.to_string();
        let is_expected = ["shell", "allowed_models", "Squadron", "role"];
        assert!(is_expected.iter().any(|part| text.contains(part)), "{text}");
    }
}

/// missions.md line 78: the schema fits real plans, and describes each of their fields.
#[test]
fn plans_fit_their_schema() {
    let published = World::new().run(&["schema", "plan"]).expect(0).json();
    let schema = Schema::new(&published).unwrap();
    let research = World::new();
    research.file("m.hcl", crate::missions::RESEARCH);
    let rich = mission(
        "budget {\n tokens = 9\n dollars = 1.5\n}\ninput \"list\" {\n type = \"list\"\n default = []\n}\ndataset \"d\" {\n bind_to = inputs.list\n}\nschedule {\n at = [\"09:15\"]\n timezone = \"Europe/Berlin\"\n}\ntask \"a\" {\n objective = \"a\"\n output = { text = string(\"The text\", true) }\n router {\n route {\n target = tasks.b\n condition = \"c\"\n }\n route {\n target = missions.next\n condition = \"d\"\n }\n }\n}\ntask \"b\" {\n objective = \"b\"\n}\ntask \"c\" {\n objective = \"Look\"\n iterator {\n dataset = datasets.d\n parallel = true\n }\n}",
    );
    for (world, at) in [(&research, 0), (&whole_project(), 1), (&rich, 0)] {
        let plan = world.run(&["mission", "plan", "--at", "2027-01-01", "--json"]);
        let plan = plan.expect(at).json();
        assert_eq!(schema.check(&plan), Ok(()), "{plan}");
        described(&published, &published, &plan, "");
    }
    // It can fail.
    let wrong = json!({ "schema": 1, "missions": [{}] });
    assert!(schema.check(&wrong).is_err());
}

/// Checks that the schema names each field of a value.
fn described(root: &Value, schema: &Value, value: &Value, path: &str) {
    let schema = match schema["$ref"].as_str() {
        Some(name) => root.pointer(name.trim_start_matches('#')).unwrap(),
        None => schema,
    };
    let schema = match schema["anyOf"].as_array() {
        Some(kinds) if !value.is_null() => {
            return described(root, kinds.last().unwrap(), value, path);
        }
        _ => schema,
    };
    match value {
        Value::Object(fields) => {
            let Some(known) = schema["properties"].as_object() else {
                return;
            };
            for (name, value) in fields {
                let known = known.get(name);
                let known = known.unwrap_or_else(|| panic!("{path}.{name} is not described"));
                described(root, known, value, &format!("{path}.{name}"));
            }
        }
        Value::Array(items) => {
            for item in items {
                described(root, &schema["items"], item, path);
            }
        }
        _ => {}
    }
}

/// Returns the commands that an output says to type.
fn typed(output: &Output) -> Vec<Vec<String>> {
    let text = format!("{}{}", output.stdout, output.stderr);
    let parts = text
        .split('`')
        .filter_map(|part| part.strip_prefix("prowess "));
    parts
        .map(|command| command.split_whitespace().map(str::to_owned).collect())
        .collect()
}

/// Returns the suggested command that has a part.
#[track_caller]
fn suggested(output: &Output, part: &str) -> Vec<String> {
    let typed = typed(output);
    let found = typed.iter().find(|words| words.join(" ").contains(part));
    found
        .unwrap_or_else(|| panic!("{part} in {}{}", output.stdout, output.stderr))
        .clone()
}

/// missions.md line 80: what an error says to type works.
#[test]
fn hints_of_mission_errors_can_be_typed() {
    let world = mission(
        "input \"topic\" {\n type = \"string\"\n default = \"x\"\n}\ntask \"a\" { objective = \"a\" }\ntask \"b\" {\n objective = \"b\"\n depends_on = [tasks.a]\n}",
    );
    let failing = script(
        &world,
        "failing.jsonl",
        &[calls(
            &["You direct task `a`"],
            &[],
            &[(
                "task_complete",
                json!({ "summary": "no", "succeed": false }),
            )],
        )],
    );
    let working = script(&world, "working.jsonl", &[done("a"), done("b")]);
    // The blocks name a model that does not exist, so that `--model` is added.
    let run = |arguments: &[&str], model: &str| {
        let asks = matches!(arguments, ["mission", "run" | "resume", ..]);
        let model = ["--model", model];
        let model: &[&str] = if asks { &model } else { &[] };
        world.run(&[arguments, model].concat())
    };
    let again = |words: &[String], replace: &[(&str, &str)], code: i32| {
        let words: Vec<String> = words
            .iter()
            .map(|word| {
                let start = word.clone();
                replace
                    .iter()
                    .fold(start, |word, (from, to)| word.replace(from, to))
            })
            .collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        run(&words, &working).expect(code)
    };

    // A failed task: the hint of the run, and of a resume without `--retry`.
    let failed = run(&["mission", "run", "x"], &failing).expect(1);
    let hint = suggested(&failed, "mission resume");
    let id = hint[2].clone();
    let refused = run(&["mission", "resume", &id], &working).expect(2);
    assert_eq!(suggested(&refused, "mission resume"), hint);
    let no_task = run(&["mission", "resume", &id, "--retry", "zzzzzz"], &working).expect(2);
    again(&suggested(&no_task, "mission show"), &[], 0);
    let no_task = run(&["mission", "show", &id, "zzzzzz"], &working).expect(2);
    again(&suggested(&no_task, "mission show"), &[], 0);
    again(&hint, &[], 0);

    // Names.
    let no_mission = run(&["mission", "run", "zzzzzz"], &working).expect(2);
    again(&suggested(&no_mission, "mission list"), &[], 0);
    let near = run(&["mission", "graph", "nxt"], &working).expect(2);
    assert!(
        near.stderr.contains("did you mean `next`?"),
        "{}",
        near.stderr
    );
    run(&["mission", "graph", "next"], &working).expect(0);

    // Not a run of a mission.
    let no_run = run(&["mission", "show", "zzzzzz"], &working).expect(2);
    again(&suggested(&no_run, "list"), &[], 0);

    // Inputs and times.
    let wrong = run(&["mission", "plan", ".", "x", "--input", "topic"], &working).expect(2);
    assert!(
        wrong.stderr.contains("e.g. `--input topic=rust`"),
        "{}",
        wrong.stderr
    );
    run(
        &["mission", "plan", ".", "x", "--input", "topic=rust"],
        &working,
    )
    .expect(0);
    let wrong = run(&["mission", "run", "next"], &working).expect(2);
    assert!(
        wrong.stderr.contains("`--input NAME=VALUE`"),
        "{}",
        wrong.stderr
    );
    run(
        &["mission", "plan", ".", "next", "--input", "count=3"],
        &working,
    )
    .expect(0);
    let wrong = run(
        &["mission", "plan", ".", "next", "--input", "count=many"],
        &working,
    )
    .expect(2);
    again(&suggested(&wrong, "mission plan"), &[], 0);
    let wrong = run(&["mission", "plan", "--at", "soon"], &working).expect(2);
    assert!(
        wrong.stderr.contains("`--at 2027-01-01T09:00:00Z`"),
        "{}",
        wrong.stderr
    );
    run(
        &["mission", "plan", "--at", "2027-01-01T09:00:00Z"],
        &working,
    )
    .expect(0);
    let wrong = run(&["mission", "list", "nowhere"], &working).expect(2);
    again(&suggested(&wrong, "mission list"), &[], 0);

    // A budget.
    let stopped = run(&["mission", "run", "x", "--budget", "tokens=10"], &working).expect(5);
    let hint = suggested(&stopped, "--budget tokens=N");
    again(&hint, &[("tokens=N", "tokens=100000")], 0);

    // Errors in the files, then files that are not trusted.
    let good = std::fs::read_to_string(world.path("mission.hcl")).unwrap();
    let bad = good.replacen("commander {", "unknwon = 1\n  commander {", 1);
    assert_ne!(bad, good);
    world.file("mission.hcl", bad);
    let wrong = run(&["mission", "run", "x"], &working).expect(1);
    again(&suggested(&wrong, "mission plan"), &[], 1);
    world.file("mission.hcl", format!("{good}\n# changed\n"));
    let untrusted = run(&["mission", "run", "x"], &working).expect(3);
    let review = suggested(&untrusted, "trust");
    let words: Vec<&str> = review.iter().map(String::as_str).collect();
    let reviewed = run(&words, &working);
    let digest = suggested(&reviewed, "--digest");
    again(&digest, &[], 0);
    run(&["mission", "run", "x"], &working).expect(0);

    // No files at all.
    let empty = World::new();
    let nothing = empty.run(&["mission", "list"]).expect(2);
    assert!(
        nothing
            .stderr
            .contains("create a file such as `missions.hcl`"),
        "{}",
        nothing.stderr
    );
    empty.file("missions.hcl", &good);
    assert!(empty.run(&["mission", "list"]).code < 2);
}

/// missions.md line 78: runs and their tasks.
#[test]
fn runs_and_tasks_are_completed() {
    let world =
        mission("task \"gather\" { objective = \"a\" }\ntask \"odd name\" { objective = \"b\" }");
    let model = script(&world, "a.jsonl", &[done("gather"), done("odd name")]);
    let run = world.run(&["mission", "run", "x", "--model", &model, "--json"]);
    let result: Value = serde_json::from_str(run.expect(0).stdout.lines().last().unwrap()).unwrap();
    let id = result["run"].as_str().unwrap();
    let complete = crate::completions::complete;
    for verb in ["show", "resume", "cancel"] {
        assert_eq!(
            complete(&world, &["mission", verb, &id[..4]]),
            [id],
            "{verb}"
        );
    }
    assert_eq!(complete(&world, &["mission", "show", id, "ga"]), ["gather"]);
    // A name with a blank is not offered: shells insert candidates as they are.
    assert_eq!(
        complete(&world, &["mission", "resume", id, "--retry", ""])
            .into_iter()
            .filter(|word| !word.starts_with('-'))
            .collect::<Vec<_>>(),
        ["gather"]
    );
}

/// missions.md line 81.
#[test]
fn validate_watches_a_mission_file() {
    for path in ["m.hcl", "."] {
        let world = World::new();
        world.file("m.hcl", crate::missions::RESEARCH);
        let flags = ["validate", path, "--watch", "--format", "concise"];
        let running = world.command(&flags).start();
        running.line(|line| line.starts_with("Watching for changes"));
        world.file(
            "m.hcl",
            format!("{}\nmodle \"x\" {{\n}}\n", crate::missions::RESEARCH),
        );
        let line = running.line(|line| line.contains("error["));
        assert!(line.contains("[mission-"), "{path}: {line}");
        world.file("m.hcl", crate::missions::RESEARCH);
        running.line(|line| line.starts_with("Validated "));
    }
}

/// Starts a program that ends with `SIGSYS` when it starts a process or opens a connection. The filter of
/// system calls is installed before the program is executed.
pub(crate) const FORBID: &str = r"
import ctypes, os, platform, struct, sys
numbers = {
    'x86_64': dict(arch=0xC000003E, fork=57, vfork=58, clone=56, clone3=435, connect=42),
    'aarch64': dict(arch=0xC00000B7, clone=220, clone3=435, connect=203),
}[platform.machine()]
KILL, ALLOW, NOSYS = 0x80000000, 0x7FFF0000, 0x00050000 | 38
LOAD, EQUAL, SET, RETURN = 0x20, 0x15, 0x45, 0x06
code = []
def add(op, yes, no, value): code.append(struct.pack('HBBI', op, yes, no, value))
add(LOAD, 0, 0, 0)
for name in ['fork', 'vfork', 'connect']:
    if name in numbers:
        add(EQUAL, 0, 1, numbers[name]); add(RETURN, 0, 0, KILL)
# `clone3` has its flags in memory: without it, threads are started with `clone`.
add(EQUAL, 0, 1, numbers['clone3']); add(RETURN, 0, 0, NOSYS)
add(EQUAL, 0, 4, numbers['clone'])
add(LOAD, 0, 0, 16)
add(SET, 1, 0, 0x00010000)
add(RETURN, 0, 0, KILL)
add(RETURN, 0, 0, ALLOW)
add(RETURN, 0, 0, ALLOW)
filters = ctypes.create_string_buffer(b''.join(code))
class Program(ctypes.Structure):
    _fields_ = [('length', ctypes.c_ushort), ('filters', ctypes.c_void_p)]
program = Program(len(code), ctypes.addressof(filters))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.byref(program), 0, 0) == 0, os.strerror(ctypes.get_errno())
os.execv(sys.argv[1], sys.argv[1:])
";

/// missions.md line 45.
#[test]
fn reading_commands_need_no_process_and_no_connection() {
    use std::os::unix::process::ExitStatusExt;
    let world = mission("task \"a\" { objective = \"a\" }");
    let model = script(&world, "a.jsonl", &[done("a")]);
    let run = world.run(&["mission", "run", "x", "--model", &model, "--json"]);
    let result: Value = serde_json::from_str(run.expect(0).stdout.lines().last().unwrap()).unwrap();
    let id = result["run"].as_str().unwrap();
    world.file(
        "servers.hcl",
        "mcp \"local\" { command = \"/bin/true\" }\nmcp \"remote\" { url = \"http://127.0.0.1:9/\" }\n",
    );
    let launcher = world.file("forbid.py", FORBID);
    let start = |program: &str, arguments: &[&str]| {
        let mut command = std::process::Command::new("python3");
        command.arg(&launcher).arg(program).args(arguments);
        command.current_dir(world.path("")).env_clear();
        for name in ["PATH", "HOME", "PROWESS_HOME"] {
            let value = match name {
                "PATH" => std::env::var_os("PATH").unwrap(),
                _ => world.path("~").into_os_string(),
            };
            command.env(name, value);
        }
        command.output().unwrap()
    };
    // The filter works: a shell that starts a program is killed.
    let control = start("/bin/sh", &["-c", "/bin/true; echo no"]);
    assert_eq!(control.status.signal(), Some(31), "{control:?}");
    let program = env!("CARGO_BIN_EXE_prowess");
    for arguments in [
        &["mission", "plan", "--json"][..],
        &["mission", "list"],
        &["mission", "show"],
        &["mission", "show", id],
        &["mission", "graph", "x"],
        &["validate", "servers.hcl", "mission.hcl"],
    ] {
        let output = start(program, arguments);
        let code = output.status.code();
        assert!(
            code.is_some_and(|code| code < 2),
            "{arguments:?}: {output:?}"
        );
    }
}

/// missions.md line 80: `mission set`.
#[test]
fn hints_of_variables_can_be_typed() {
    let world = World::new();
    world.file(
        "m.hcl",
        format!("variable \"team\" {{}}\n{}", crate::missions::RESEARCH),
    );
    let set = |arguments: &[&str], value: &[u8], code: i32| {
        let command = [&["mission", "set"], arguments].concat();
        world.command(&command).stdin(value).run().expect(code)
    };
    let again = |words: &[String]| {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        // A hint that reads a file: its content.
        let words = words.strip_suffix(&["<", "FILE"]).unwrap_or(&words);
        world.command(words).stdin("red").run().expect(0)
    };
    for (value, part) in [
        (&b""[..], "no value on standard input"),
        (b"\xff", "not UTF-8"),
        (b"a\0b", "cannot be used"),
    ] {
        let wrong = set(&["team"], value, 2);
        assert!(wrong.stderr.contains(part), "{}", wrong.stderr);
        again(&suggested(&wrong, "mission set team"));
    }
    let long = "x".repeat(65);
    let wrong = set(&[&long], b"x", 2);
    again(&suggested(&wrong, "mission set"));
    let unset = set(&["other", "--remove"], b"", 2);
    again(&suggested(&unset, "mission set"));
    let done = set(&["team"], b"blue", 0);
    again(&suggested(&done, "--remove"));

    // A variable that a mission needs and that is not set.
    let world = mission("task \"a\" { objective = \"For ${vars.team}\" }");
    let text = std::fs::read_to_string(world.path("mission.hcl")).unwrap();
    world.file("mission.hcl", format!("variable \"team\" {{}}\n{text}"));
    crate::mission_runs::trust(&world);
    let model = script(&world, "a.jsonl", &[done_with("For red")]);
    let run = ["mission", "run", "x", "--model", &model];
    let unset = world.run(&run).expect(2);
    let words = suggested(&unset, "mission set team");
    world.command(&words).stdin("red").run().expect(0);
    world.run(&run).expect(0);
}

fn done_with(text: &str) -> Value {
    let complete = json!({ "summary": "s" });
    calls(
        &["You direct task `a`", text],
        &[],
        &[("task_complete", complete)],
    )
}

/// missions.md line 80: runs that wait, that another process has, that handed over, and plans that do
/// not fit.
#[test]
fn hints_of_runs_can_be_typed() {
    let a = "You direct task `a`";
    let world = mission(
        "task \"a\" {\n objective = \"a\"\n output {\n field \"n\" { type = \"integer\" }\n }\n}\ntask \"b\" {\n objective = \"b\"\n depends_on = [tasks.a]\n}",
    );
    let submit = calls(
        &[a],
        &["Recorded."],
        &[("submit_output", json!({ "n": 1 }))],
    );
    let fails = calls(
        &["You direct task `b`"],
        &[],
        &[("task_complete", json!({ "summary": "s", "succeed": false }))],
    );
    let failing = script(&world, "f.jsonl", &[submit.clone(), done("a"), fails]);
    let working = script(&world, "w.jsonl", &[submit, done("a"), done("b")]);
    let with = |words: &[String], model: &str| {
        let words = words.iter().map(String::as_str);
        let words: Vec<&str> = words.chain(["--model", model]).collect();
        world.run(&words)
    };

    // Files that do not fit: the finished task has another output.
    let failed = world
        .run(&["mission", "run", "x", "--model", &failing])
        .expect(1);
    let id = suggested(&failed, "mission resume")[2].clone();
    let good = std::fs::read_to_string(world.path("mission.hcl")).unwrap();
    world.file("mission.hcl", good.replace("\"integer\"", "\"string\""));
    crate::mission_runs::trust(&world);
    let replan = ["mission", "resume", &id, "--replan", "--model", &working];
    let unfit = world.run(&replan).expect(2);
    assert!(unfit.stderr.contains("do not fit"), "{}", unfit.stderr);
    let old = suggested(&unfit, "mission resume");
    with(&old, &working).expect(0);
    let done_already = world.run(&["mission", "resume", &id]).expect(0);
    assert!(done_already.stderr.contains("is done already"));

    // A model that cannot be used.
    let faulty = world.run(&[
        "mission", "run", "x", "--model", &working, "--budget", "usd=1",
    ]);
    world.run(&suggested(&faulty.expect(2), "doctor"));

    // A run that waits: the hint of the run, of `resume` and of `show`.
    let world = mission("task \"a\" { objective = \"a\" }");
    let text = std::fs::read_to_string(world.path("mission.hcl")).unwrap();
    let text = text.replace("\"Calm.\"", "\"Calm.\"\n  tools = [builtins.human.ask]");
    world.file("mission.hcl", text);
    crate::mission_runs::trust(&world);
    let worker = "You are agent `worker`";
    let ask = json!({ "question": "Which?" });
    let call = json!({ "name": "worker", "task": "x" });
    let model = script(
        &world,
        "q.jsonl",
        &[
            calls(&[worker], &["blue"], &[("ask_human", ask)]),
            crate::mission_runs::says(&[worker], &[], "AGENT-DONE"),
            calls(&[a], &["AGENT-DONE"], &[("call_agent", call)]),
            done("a"),
        ],
    );
    let waiting = world
        .run(&["mission", "run", "x", "--model", &model])
        .expect(6);
    let hint = suggested(&waiting, "answer");
    let listed = world.run(&suggested(&waiting, "questions")).expect(0);
    assert!(listed.stdout.contains("Which?"), "{}", listed.stdout);
    let shown = world.run(&["mission", "show"]).expect(0);
    let id = shown.stdout.lines().nth(1).unwrap();
    let id = id.split_whitespace().next().unwrap().to_owned();
    let show = world.run(&["mission", "show", &id]).expect(0);
    assert_eq!(suggested(&show, "answer"), hint);
    let resumed = world
        .run(&["mission", "resume", &id, "--model", &model])
        .expect(6);
    assert_eq!(suggested(&resumed, "answer"), hint);
    let words = hint.iter().map(|word| word.replace("ANSWER", "blue"));
    let words: Vec<String> = words.chain(["--model".into(), model]).collect();
    world.run(&words).expect(0);
}

/// missions.md line 80: a run that another process has, and one that handed over.
#[test]
fn hints_of_runs_of_others_can_be_typed() {
    use crate::mission_server::{MissionServer, ServerAnswer};
    let server = MissionServer::new(|_| ServerAnswer::Hold);
    let world = mission("task \"a\" { objective = \"a\" }");
    world.file("models.hcl", server.model(""));
    crate::mission_runs::trust(&world);
    let running = world.command(&["mission", "run", "x", "--json"]).start();
    let first = running.line(|line| line.contains("\"kind\":\"started\""));
    let first: Value = serde_json::from_str(&first).unwrap();
    let id = first["session"].as_str().unwrap().to_owned();
    prowess_test::wait_until("a request", || server.held() == 1);
    let second = world.run(&["mission", "resume", &id]).expect(2);
    assert!(second.stderr.contains("in use"), "{}", second.stderr);
    world.run(&suggested(&second, "mission show")).expect(0);
    world.run(&suggested(&second, "mission cancel")).expect(0);
    running.close();

    let route = "task \"a\" {\n objective = \"o\"\n router {\n route {\n target = missions.next\n condition = \"n\"\n }\n }\n}";
    let world = mission(route);
    let chosen =
        json!({ "summary": "s", "route": "missions.next", "mission_inputs": { "count": 3 } });
    let model = script(
        &world,
        "a.jsonl",
        &[
            calls(&["You direct task `a`"], &[], &[("task_complete", chosen)]),
            done("n"),
        ],
    );
    let run = ["mission", "run", "x", "--model", &model, "--json"];
    let lines = crate::mission_runs::lines(&world.run(&run).expect(0).stdout);
    let id = lines[0]["session"].as_str().unwrap();
    let over = world.run(&["mission", "resume", id]).expect(2);
    assert!(over.stderr.contains("handed over"), "{}", over.stderr);
    world.run(&suggested(&over, "mission resume")).expect(0);
}

/// A run records the folder of its project as text, so that one whose path is not UTF-8 is refused with a
/// way out. Files with such names are findings.
#[test]
fn paths_that_are_not_utf8_are_named() {
    use std::os::unix::ffi::OsStringExt;
    let world = World::new();
    let odd = |name: &[u8]| std::ffi::OsString::from_vec(name.to_vec());
    let folder = std::path::PathBuf::from(odd(b"pro\xffject"));
    world.file(folder.join("m.hcl"), crate::missions::RESEARCH);
    std::os::unix::fs::symlink(world.path(&folder), world.path("link")).unwrap();
    let plan = world.run(&["mission", "list", "link"]).expect(0);
    assert!(plan.stdout.contains("research"), "{}", plan.stdout);
    let shown = world.run(&["trust", "link", "--json"]).expect(0).json();
    let digest = shown["skills"][0]["digest"].as_str().unwrap();
    world.run(&["trust", "link", "--digest", digest]).expect(0);
    let model = script(&world, "a.jsonl", &[done("a")]);
    let run = ["mission", "run", "research", "link", "--model", &model];
    let run = [&run[..], &["--input", "topic=x"]].concat();
    let refused = world.run(&run).expect(2);
    assert!(
        refused.stderr.contains("is not UTF-8"),
        "{}",
        refused.stderr
    );
    assert!(refused.stderr.contains("`mv`"), "{}", refused.stderr);

    // Inside a project.
    let world = World::new();
    world.file("m.hcl", crate::missions::RESEARCH);
    world.file(folder.join("more.hcl"), "agent \"lost\" {}\n");
    world.file(odd(b"\xfe.hcl"), "agent \"lost\" {}\n");
    world.file(folder.join("other.txt"), "");
    let plan = world.run(&["mission", "plan", "--json"]).expect(1).json();
    let findings = plan["findings"].as_array().unwrap();
    let odd: Vec<&Value> = findings
        .iter()
        .filter(|one| one.to_string().contains("not UTF-8"))
        .collect();
    assert_eq!(odd.len(), 2, "{findings:?}");
}
