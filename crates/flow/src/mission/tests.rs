use std::cell::Cell;
use std::collections::BTreeMap;

use proptest::prelude::*;
use prowess_diag::{FileReport, LineIndex, Severity};
use prowess_spec::ReadFault;

use super::*;

/// Files of a project that are not `.hcl`. A folder is a path that others begin with.
struct Files(BTreeMap<String, Vec<u8>>);

impl ProjectFiles for Files {
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadFault> {
        assert!(!path.starts_with('/') && !path.contains(".."), "{path}");
        let folder = format!("{path}/");
        match self.0.get(path) {
            Some(bytes) if bytes.len() > crate::MAX_FILE => Err(ReadFault::TooLarge {
                bytes: bytes.len() as u64,
            }),
            Some(bytes) => Ok(bytes.clone()),
            None if self.0.keys().any(|known| known.starts_with(&folder)) => {
                Err(ReadFault::NotAFile("a folder"))
            }
            None => Err(ReadFault::Missing),
        }
    }
}

fn read_with(
    files: &[(&str, &str)],
    variable: &dyn Fn(&str) -> Option<String>,
) -> (MissionProject, Vec<FileReport>) {
    let settings = MissionSettings {
        variable,
        plugin: &|plugin| (plugin == "replaced").then(|| "standin".to_owned()),
        library: &|| vec!["library-skill".to_owned()],
        ..MissionSettings::default()
    };
    let texts: Vec<MissionText> = files
        .iter()
        .filter(|(path, _)| {
            path.rsplit_once('.')
                .is_some_and(|(_, ending)| ending == "hcl")
        })
        .map(|(path, text)| MissionText {
            path: (*path).to_owned(),
            bytes: Ok(text.as_bytes().to_vec()),
        })
        .collect();
    let others = files.iter().map(|(path, text)| {
        let path = (*path).to_owned();
        (path, text.as_bytes().to_vec())
    });
    MissionProject::read(&texts, &Files(others.collect()), &settings)
}

fn read(files: &[(&str, &str)]) -> (MissionProject, Vec<FileReport>) {
    read_with(files, &|_| None)
}

/// Returns findings as lines: `file:line:column severity rule: message (help)`.
fn lines(reports: &[FileReport]) -> Vec<String> {
    let mut lines = Vec::new();
    for report in reports {
        let index = LineIndex::new(report.text());
        for one in &report.diagnostics {
            let at = one.span.map_or(0, |span| span.start as usize);
            let place = index.position(report.text(), at);
            lines.push(format!(
                "{}:{}:{} {} {}: {} ({})",
                report.path,
                place.line,
                place.column,
                one.severity.as_str(),
                one.rule,
                one.message,
                one.help.as_deref().unwrap_or_default()
            ));
        }
    }
    lines
}

fn errors(reports: &[FileReport]) -> Vec<String> {
    let is_error = |line: &String| line.contains(" error ");
    lines(reports).into_iter().filter(is_error).collect()
}

const BASE: &str = r#"
variable "key" { default = "k" }
variable "token" { secret = true }
variable "team" { }
model "m" {
  provider = "anthropic"
  api_key  = vars.token
  aliases  = { sonnet = "claude-sonnet-4", x = "claude-opus-4" }
}
agent "worker" {
  model       = models.m.sonnet
  personality = "Calm. Works."
}
"#;

/// A mission with these items, and the base files.
fn mission(items: &str) -> (MissionProject, Vec<FileReport>) {
    let text = format!(
        "mission \"x\" {{\n  commander {{ model = models.m.sonnet }}\n  agents = [agents.worker]\n{items}\n}}\n"
    );
    read(&[("base.hcl", BASE), ("x.hcl", &text)])
}

/// Returns the only error of a mission, without its file.
fn only_error(items: &str) -> String {
    let (_, reports) = mission(items);
    let found = errors(&reports);
    let [only] = &*found else {
        panic!("{items}: {found:#?}")
    };
    only.clone()
}

#[track_caller]
fn assert_error(items: &str, line: usize, rule: &str, message: &str, help: &str) {
    let found = only_error(items);
    assert!(found.starts_with(&format!("x.hcl:{line}:")), "{found}");
    assert!(found.contains(&format!(" {rule}: ")), "{found}");
    assert!(found.contains(message), "{found}");
    assert!(found.contains(help), "{found}");
}

const TASK: &str = "  task \"t\" { objective = \"Do.\" }\n";

#[test]
fn whole_project_is_read() {
    let (project, reports) = mission(TASK);
    assert_eq!(lines(&reports), Vec::<String>::new());
    let mission = project.mission("x").unwrap();
    assert_eq!(mission.tasks[0].objective, Value::Text("Do.".into()));
    assert_eq!(mission.max_parallel, 3);
    assert_eq!(project.agents[0].description(), Some("Calm."));
    let paths: Vec<&str> = project.files.iter().map(|file| &*file.path).collect();
    assert_eq!(paths, ["base.hcl", "x.hcl"]);
    assert!(project.files[0].digest.starts_with("sha256:"));
}

#[test]
fn fault_in_a_block_leaves_other_blocks_and_files() {
    let (project, reports) = read(&[
        ("base.hcl", BASE),
        (
            "bad.hcl",
            "skill \"a\" {\n  description = \"x\n}\nskill \"b\" {\n  description = \"d\"\n  instructions = \"i\"\n}\n",
        ),
    ]);
    let found = errors(&reports);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].starts_with("bad.hcl:2:17 error mission-syntax"),
        "{found:?}"
    );
    assert_eq!(project.skills.len(), 1);
    assert_eq!(project.agents.len(), 1);
}

#[test]
fn finding_in_a_heredoc_has_its_own_place() {
    let found = only_error(
        "  task \"t\" {\n    objective = <<-T\n      one\n      two ${inputs.nope}\n    T\n  }",
    );
    assert!(found.starts_with("x.hcl:7:13 "), "{found}");
    assert!(found.contains("unknown input `inputs.nope`"), "{found}");
}

#[test]
fn mark_crlf_tabs_and_missing_line_break_are_read() {
    let text = "\u{feff}skill \"s\" {\r\n\tdescription = \"d\"\r\n\tinstructions = <<-T\r\n\t\ta\r\n\t\tb\r\n\tT\r\n}";
    let (project, reports) = read(&[("s.hcl", text)]);
    assert_eq!(lines(&reports), Vec::<String>::new());
    assert_eq!(project.skills[0].instructions, Value::Text("a\nb\n".into()));
}

#[test]
fn bytes_that_are_not_utf8_and_large_files_are_findings() {
    let settings = MissionSettings::default();
    let text = |path: &str, bytes: Vec<u8>| MissionText {
        path: path.to_owned(),
        bytes: Ok(bytes),
    };
    let files = [
        text("a.hcl", b"skill \"a\" {\n  x = \"\xff\"\n}\n".to_vec()),
        text("b.hcl", vec![b'#'; prowess_hcl::MAX_FILE + 1]),
        MissionText {
            path: "c.hcl".to_owned(),
            bytes: Err(ReadFault::TooLarge { bytes: 1 << 21 }),
        },
    ];
    let (project, reports) = MissionProject::read(&files, &Files(BTreeMap::new()), &settings);
    let found = lines(&reports);
    assert_eq!(found.len(), 3, "{found:#?}");
    assert!(
        found[0].starts_with("a.hcl:2:") && found[0].contains("not UTF-8"),
        "{found:#?}"
    );
    assert!(found[1].contains("larger than 1 MiB"), "{found:#?}");
    assert!(found[2].contains("larger than 1 MiB"), "{found:#?}");
    assert!(project.skills.is_empty());
}

/// Each has its own message with the right way to write it.
#[test]
fn old_and_foreign_notation_is_explained() {
    let table = [
        (
            "skill \"a\" { description = \"d\"; tools = [] }",
            "`;`",
            "line of its own",
        ),
        ("skill \"a\" {\n  name: \"x\"\n}", "`:`", "write `name = …`"),
        (
            "skill \"a\" {\n  description = 'x'\n}",
            "double quotation marks",
            "`\"x\"`",
        ),
        (
            "skill \"a\" {\n  description = \"x\n}",
            "not closed on its line",
            "heredoc",
        ),
        (
            "skill \"a\" {\n  description = \"x\"\n",
            "`skill \"a\"` is not closed",
            "add `}`",
        ),
        (
            "workflow \"a\" {\n}",
            "`workflow` is an old name",
            "mission \"NAME\"",
        ),
        (
            "task \"t\" {\n}",
            "unknown block `task`",
            "belongs in `mission`",
        ),
        (
            "tools = []",
            "`tools` is outside of a block",
            "`agent { … }`",
        ),
        (
            "agnet \"a\" {\n}",
            "unknown block `agnet`",
            "did you mean `agent`?",
        ),
    ];
    for (text, message, help) in table {
        let (_, reports) = read(&[("a.hcl", &format!("{text}\n"))]);
        let found = errors(&reports);
        assert!(
            found
                .iter()
                .any(|one| one.contains(message) && one.contains(help)),
            "{text}: {found:#?}"
        );
    }
    for (items, message, help) in [
        (
            "supervisor_model = models.m.x",
            "`supervisor_model`",
            "commander { model",
        ),
        (
            "folder { path = \"x\" }",
            "`folder` is an old name",
            "memory {",
        ),
        (
            "run_folder { base = \"x\" }",
            "`run_folder`",
            "scratchpad = true",
        ),
        ("folders = []", "`folders`", "memories ="),
    ] {
        let (_, reports) = mission(&format!("{items}\n{TASK}"));
        let found = errors(&reports);
        assert!(
            found.len() == 1 && found[0].contains(message) && found[0].contains(help),
            "{items}: {found:#?}"
        );
    }
}

#[test]
fn texts_with_dollars_and_percents_stay_as_they_are() {
    let (project, reports) =
        mission("  task \"t\" { objective = \"$HOME $(x) %Y 100% $${x} %%{y}\" }");
    assert_eq!(lines(&reports), Vec::<String>::new());
    let text = "$HOME $(x) %Y 100% ${x} %{y}";
    assert_eq!(
        project.missions[0].tasks[0].objective,
        Value::Text(text.into())
    );
}

#[test]
fn load_works_in_every_text() {
    let text = r#"
skill "s" {
  description  = load("t/a.md")
  instructions = load("./t/a.md")
}
agent "b" {
  model       = models.m.x
  personality = load("@/t/a.md")
}
mission "x" {
  commander { model = models.m.x }
  agents    = [agents.worker]
  directive = load("t/a.md")
  task "t" { objective = load("t/b.txt") }
}
"#;
    let (project, reports) = read(&[
        ("base.hcl", BASE),
        ("deep/x.hcl", text),
        ("t/a.md", "A ${vars.nope} %{ if }"),
        ("t/b.txt", "B"),
    ]);
    assert_eq!(lines(&reports), Vec::<String>::new());
    let loaded = Value::Text("A ${vars.nope} %{ if }".into());
    assert_eq!(project.skills[0].description, loaded);
    assert_eq!(project.skills[0].instructions, loaded);
    assert_eq!(project.agents[1].personality, loaded);
    assert_eq!(project.missions[0].directive, Some(loaded));
    assert_eq!(
        project.missions[0].tasks[0].objective,
        Value::Text("B".into())
    );
    let paths: Vec<&str> = project.files.iter().map(|file| &*file.path).collect();
    assert_eq!(paths, ["base.hcl", "deep/x.hcl", "t/a.md", "t/b.txt"]);
}

#[test]
fn bad_paths_of_load_are_findings_at_the_call() {
    let large = "x".repeat(crate::MAX_FILE + 1);
    for (path, message) in [
        ("/etc/passwd.md", "is absolute"),
        ("~/a.md", "is absolute"),
        ("../a.md", "is outside the project"),
        ("t/../../a.md", "is outside the project"),
        ("t/missing.md", "does not exist"),
        ("t/large.md", "is too large"),
        ("t/a.json", "reads `.md` and `.txt` files"),
        ("t/folder.md", "is a folder"),
        ("", "is the project itself"),
    ] {
        let text = format!(
            "skill \"s\" {{\n  description = \"d\"\n  instructions = load(\"{path}\")\n}}\n"
        );
        let files = [
            ("a.hcl", &*text),
            ("t/large.md", &large),
            ("t/folder.md/x", ""),
            ("t/a.json", "{}"),
        ];
        let (project, reports) = read(&files);
        let found = lines(&reports);
        assert_eq!(found.len(), 1, "{path}: {found:?}");
        assert!(
            found[0].starts_with("a.hcl:3:18 error mission-path:"),
            "{path}: {found:?}"
        );
        assert!(found[0].contains(message), "{path}: {found:?}");
        assert!(project.skills.is_empty(), "{path}");
    }
}

#[test]
fn path_of_load_must_be_known() {
    let items = "  input \"p\" { type = \"string\" }\n  task \"t\" { objective = load(inputs.p) }";
    assert_error(
        items,
        5,
        "mission-path",
        "must be known before",
        "as a text",
    );
}

#[test]
fn duplicates_of_every_kind_name_the_first() {
    let blocks = [
        ("variable", "{ default = \"1\" }"),
        ("model", "{\n provider = \"anthropic\"\n api_key = \"k\"\n}"),
        (
            "tool",
            "{\n implements = builtins.http.get\n url = \"u\"\n}",
        ),
        ("skill", "{\n description = \"d\"\n instructions = \"i\"\n}"),
        ("agent", "{\n model = models.m.x\n personality = \"p\"\n}"),
        ("memory", "{ description = \"d\" }"),
        ("packet", "{ path = \"@/kb\" }"),
        ("mcp", "{ command = \"x\" }"),
        (
            "mission",
            "{\n commander { model = models.m.x }\n agents = [agents.worker]\n task \"t\" { objective = \"o\" }\n}",
        ),
    ];
    for (kind, body) in blocks {
        let block = format!("{kind} \"twice\" {body}\n");
        let both = format!("{block}{block}");
        let line = block.lines().count() + 1;
        let kb = ("kb/a.md", "");
        let (_, reports) = read(&[("base.hcl", BASE), ("a.hcl", &both), kb]);
        let found = errors(&reports);
        let start = format!("a.hcl:{line}:");
        assert!(
            found.len() == 1
                && found[0].starts_with(&start)
                && found[0].contains("`twice` is defined twice (the first is in a.hcl:1"),
            "{kind}: {found:#?}"
        );
        let (_, reports) = read(&[("base.hcl", BASE), ("a.hcl", &block), ("b.hcl", &block), kb]);
        let found = errors(&reports);
        assert!(
            found.len() == 1 && found[0].starts_with("b.hcl:1:") && found[0].contains("a.hcl:1"),
            "{kind}: {found:#?}"
        );
    }
    for (kind, body) in [
        ("task", "{ objective = \"o\" }"),
        ("input", "{ type = \"string\" }"),
        ("dataset", "{ description = \"d\" }"),
    ] {
        let block = format!("  {kind} \"twice\" {body}\n");
        let found = only_error(&format!("{block}{block}{TASK}"));
        assert!(found.starts_with("x.hcl:5:"), "{kind}: {found}");
        assert!(found.contains("the first is in x.hcl:4"), "{kind}: {found}");
    }
}

#[test]
fn scoped_names_may_not_be_global_names() {
    let text = r#"
skill "s" {
  description  = "d"
  instructions = "global"
}
agent "a" {
  model       = models.m.x
  personality = "p"
  skill "s" {
    description  = "d"
    instructions = "scoped"
  }
}
"#;
    let (_, reports) = read(&[("base.hcl", BASE), ("a.hcl", text)]);
    let found = errors(&reports);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].starts_with("a.hcl:9:9 error mission-name"),
        "{found:?}"
    );
    assert!(
        found[0].contains("the global one is in a.hcl:2"),
        "{found:?}"
    );
    let agent = "  agent \"worker\" {\n    model = models.m.x\n    personality = \"p\"\n  }\n";
    assert_error(
        &format!("{agent}{TASK}"),
        4,
        "mission-name",
        "the agent `worker` exists globally too",
        "base.hcl:10",
    );
}

/// Two agents and two missions may use the same scoped names, and each has its own.
#[test]
fn scoped_names_are_independent() {
    let agent = |name: &str, text: &str| {
        format!(
            "agent \"{name}\" {{\n model = models.m.x\n personality = \"p\"\n skills = [skills.own]\n skill \"own\" {{\n description = \"d\"\n instructions = \"{text}\"\n }}\n}}\n"
        )
    };
    let mission = |name: &str| {
        format!(
            "mission \"{name}\" {{\n commander {{ model = models.m.x }}\n agents = [agents.local]\n task \"t\" {{ objective = \"o\" }}\n{}}}\n",
            agent("local", name)
        )
    };
    let text = [
        agent("a", "one"),
        agent("b", "two"),
        mission("m1"),
        mission("m2"),
    ]
    .concat();
    let (project, reports) = read(&[("base.hcl", BASE), ("a.hcl", &text)]);
    assert_eq!(lines(&reports), Vec::<String>::new());
    let skills: Vec<String> = project
        .skills
        .iter()
        .map(|skill| {
            let text = skill.instructions.as_text().unwrap_or_default();
            format!("{} {} {text}", skill.name, skill.scope)
        })
        .collect();
    assert_eq!(
        skills,
        [
            "own agent a one",
            "own agent b two",
            "own mission m1 agent local m1",
            "own mission m2 agent local m2",
        ]
    );
    // It is listed once, although it is named and implicit.
    assert_eq!(project.agents[1].skills, ["own".into()]);
    let other =
        "agent \"c\" {\n model = models.m.x\n personality = \"p\"\n skills = [skills.own]\n}\n";
    let (_, reports) = read(&[("base.hcl", BASE), ("a.hcl", &text), ("c.hcl", other)]);
    let found = errors(&reports);
    assert!(
        found.len() == 1
            && found[0].starts_with("c.hcl:4:12")
            && found[0].contains("unknown skill"),
        "{found:?}"
    );
}

#[test]
fn skills_of_the_library_can_be_listed() {
    let text = "agent \"a\" {\n model = models.m.x\n personality = \"p\"\n skills = [skills[\"library-skill\"]]\n}\n";
    let (project, reports) = read(&[("base.hcl", BASE), ("a.hcl", text)]);
    assert_eq!(lines(&reports), Vec::<String>::new());
    assert_eq!(project.agents[0].skills, ["library-skill".into()]);
}

#[test]
fn unknown_references_of_every_namespace_name_the_nearest() {
    let defined = r#"
variable "known_one" { default = "x" }
model "known_one" {
  provider = "anthropic"
  api_key  = "k"
}
skill "known_one" {
  description  = "d"
  instructions = "i"
}
tool "known_one" {
  implements = builtins.http.get
  url        = "u"
}
mcp "known_one" { command = "x" }
plugin "known_one" { version = "local" }
memory "known_one" { description = "d" }
packet "known_one" { path = "./kb" }
agent "known_one" {
  model       = models.m.x
  personality = "p"
}
mission "known_one_m" {
  commander { model = models.m.x }
  agents = [agents.known_one]
  task "t" { objective = "o" }
}
"#;
    let agent = |line: &str| format!("agent \"a\" {{\n  personality = \"p\"\n{line}\n}}\n");
    let with_model = |line: &str| agent(&format!("  model = models.m.x\n  {line}"));
    let in_mission = |items: &str| {
        format!(
            "mission \"x\" {{\n  commander {{ model = models.m.x }}\n  agents = [agents.worker]\n  input \"known_one\" {{ type = \"string\" }}\n  dataset \"known_one\" {{ description = \"d\" }}\n  task \"known_one\" {{ objective = \"o\" }}\n{items}\n}}\n"
        )
    };
    let task = |line: &str| {
        in_mission(&format!(
            "  task \"t\" {{\n    objective = \"o\"\n    {line}\n  }}"
        ))
    };
    let table = [
        (
            agent("  model = models.known_on.x"),
            "unknown model `models.known_on.x`",
            "`known_one`",
        ),
        (
            with_model("tools = [builtins.http.gte]"),
            "builtins.http.gte",
            "`get`",
        ),
        (
            with_model("tools = [builtins.htp.get]"),
            "builtins.htp.get",
            "`http`",
        ),
        (
            with_model("tools = [plugins.known_on.x]"),
            "unknown plugin",
            "`known_one`",
        ),
        (
            with_model("tools = [mcp.known_on.x]"),
            "unknown server",
            "`known_one`",
        ),
        (
            with_model("tools = [tools.known_on]"),
            "unknown tool",
            "`known_one`",
        ),
        (
            with_model("skills = [skills.known_on]"),
            "unknown skill",
            "`known_one`",
        ),
        (
            task("agents = [agents.known_on]"),
            "unknown agent",
            "`known_one`",
        ),
        (
            task("depends_on = [tasks.known_on]"),
            "unknown task",
            "`known_one`",
        ),
        (
            task("packets = [packets.known_on]"),
            "unknown packet",
            "`known_one`",
        ),
        (
            task("iterator { dataset = datasets.known_on }"),
            "unknown dataset",
            "`known_one`",
        ),
        (
            in_mission("  memories = [memories.known_on]"),
            "unknown memory",
            "`known_one`",
        ),
        (
            in_mission("  task \"t\" { objective = \"${inputs.known_on}\" }"),
            "unknown input",
            "`known_one`",
        ),
        (
            in_mission("  task \"t\" { objective = \"${vars.known_on}\" }"),
            "unknown variable",
            "`known_one`",
        ),
        (
            task("router {\n route {\n target = missions.known_one_n\n condition = \"c\"\n }\n }"),
            "unknown mission",
            "`known_one_m`",
        ),
        (
            in_mission("  task \"t\" { objective = \"${input.known_one}\" }"),
            "unknown name `input`",
            "`inputs`",
        ),
    ];
    for (text, message, near) in table {
        let files = [
            ("base.hcl", BASE),
            ("d.hcl", defined),
            ("x.hcl", &*text),
            ("kb/a", ""),
        ];
        let (_, reports) = read(&files);
        let found: Vec<String> = errors(&reports)
            .into_iter()
            .filter(|one| one.starts_with("x.hcl"))
            .collect();
        let [only] = &*found else {
            panic!("{text}: {found:#?}")
        };
        assert!(only.contains("error mission-reference"), "{only}");
        assert!(only.contains(message), "{only}");
        assert!(only.contains(&format!("did you mean {near}?")), "{only}");
        // It points at the reference itself.
        let report = reports.iter().find(|one| one.path == "x.hcl").unwrap();
        let finding = report
            .diagnostics
            .iter()
            .find(|one| one.severity == Severity::Error)
            .unwrap();
        let place = &report.text()[finding.span.unwrap().range()];
        assert!(place.contains('.') && !place.contains(' '), "{place}");
    }
}

/// At every level, an unknown attribute and an unknown block are errors.
#[test]
fn unknown_words_are_errors_in_every_block() {
    fn visit(spec: &'static blocks::BlockSpec, before: &str, after: &str, seen: &mut usize) {
        for (inner, _) in spec.blocks {
            let label = if inner.has_label { " \"n\"" } else { "" };
            let head = format!("{before}{}{label} {{\n", inner.kind);
            let tail = format!("\n}}{after}");
            visit(inner, &head, &tail, seen);
            let open = inner.is_open;
            for (word, is_block) in [("zzqq = 1", false), ("zzqq {\n}", true)] {
                if open && !is_block {
                    continue;
                }
                let text = format!("{head}{word}{tail}\n");
                let (_, reports) = read(&[("a.hcl", &text)]);
                let found = errors(&reports);
                assert!(
                    found
                        .iter()
                        .any(|one| one.contains("mission-key") && one.contains("`zzqq`")),
                    "{text}: {found:#?}"
                );
                *seen += 1;
            }
            if let Some(attribute) = inner.attributes.first()
                && !open
            {
                let wrong = format!("{}x", attribute.name);
                let text = format!("{head}{wrong} = 1{tail}\n");
                let (_, reports) = read(&[("a.hcl", &text)]);
                let near = format!("did you mean `{}`?", attribute.name);
                assert!(
                    errors(&reports).iter().any(|one| one.contains(&near)),
                    "{text}: {:#?}",
                    errors(&reports)
                );
            }
        }
    }
    let mut seen = 0;
    visit(&blocks::FILE, "", "", &mut seen);
    assert!(seen > 60, "{seen}");
}

#[test]
fn names_with_blanks_and_capitals_work_everywhere() {
    let text = r#"
model "My Model" {
  provider = "anthropic"
  api_key  = "k"
}
skill "Web-Scraping" {
  description  = "d"
  instructions = "i"
}
memory "The Notes" { description = "d" }
agent "Quality Assurance" {
  model       = models["My Model"].claude_x
  personality = "p"
  skills      = [skills["Web-Scraping"], skills.Web-Scraping]
}
mission "Dev'y" {
  commander { model = models["My Model"].claude_x }
  agents   = [agents["Quality Assurance"]]
  memories = [memories["The Notes"]]
  dataset "The Rows" { description = "d" }
  task "First One" { objective = "o" }
  task "Second" {
    objective  = "o"
    depends_on = [tasks["First One"]]
    iterator { dataset = datasets["The Rows"] }
  }
}
"#;
    let (project, reports) = read(&[("a.hcl", text)]);
    assert_eq!(errors(&reports), Vec::<String>::new());
    let warnings = lines(&reports);
    assert_eq!(warnings.len(), 8, "{warnings:#?}");
    assert!(
        warnings
            .iter()
            .all(|one| one.contains("Squadron refuses the name"))
    );
    let mission = project.mission("Dev'y").unwrap();
    assert_eq!(mission.agents, ["Quality Assurance".into()]);
    assert_eq!(mission.tasks[1].depends_on, ["First One".into()]);
    assert_eq!(project.agents[0].skills, ["Web-Scraping".into()]);
}

#[test]
fn all_expands_sorted_and_without_doubles() {
    let text = "mcp \"s\" { command = \"x\" }\nagent \"a\" {\n model = models.m.x\n personality = \"p\"\n tools = [builtins.http.post, builtins.http.all, builtins.http.get, mcp.s.all, mcp.s.all, plugins.replaced.all]\n}\n";
    let (project, reports) = read(&[("base.hcl", BASE), ("a.hcl", text)]);
    assert_eq!(lines(&reports), Vec::<String>::new());
    let tools: Vec<String> = project.agents[0]
        .tools
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        tools,
        [
            "http.post",
            "http.delete",
            "http.get",
            "http.patch",
            "http.put",
            "mcp.s.all",
            "mcp.standin.all",
        ]
    );
}

#[test]
fn secrets_may_not_be_in_texts_for_models() {
    let places = [
        "skill \"s\" {\n  description = \"${vars.token}\"\n  instructions = \"i\"\n}\n",
        "skill \"s\" {\n  description = \"d\"\n  instructions = \"%{ if vars.token == \"x\" }a%{ endif }\"\n}\n",
        "agent \"a\" {\n  model = models.m.x\n  personality = \"x ${vars.token}\"\n}\n",
        "agent \"a\" {\n  model = models.m.x\n  personality = \"p\"\n  role = vars.token\n}\n",
        "tool \"t\" {\n  implements = builtins.http.get\n  description = vars.token\n}\n",
        "memory \"n\" { description = vars.token }\n",
    ];
    for text in places {
        let (_, reports) = read(&[("base.hcl", BASE), ("a.hcl", text)]);
        let found = errors(&reports);
        assert!(
            found.len() == 1
                && found[0].contains("mission-secret")
                && found[0].contains("in a `tool`"),
            "{text}: {found:#?}"
        );
    }
    for items in [
        "  task \"t\" { objective = \"Use ${vars.token}\" }",
        "  directive = vars.token\n  task \"t\" { objective = \"o\" }",
        "  task \"t\" {\n    objective = \"o\"\n    router {\n      route {\n        target = tasks.u\n        condition = \"if ${vars.token}\"\n      }\n    }\n  }\n  task \"u\" { objective = \"o\" }",
        "  input \"i\" {\n    type = \"string\"\n    default = vars.token\n  }\n  task \"t\" { objective = \"o\" }",
        "  dataset \"d\" { items = [{ a = vars.token }] }\n  task \"t\" { objective = \"o\" }",
    ] {
        let found = only_error(items);
        assert!(found.contains("mission-secret"), "{items}: {found}");
    }
    let protected = "  input \"i\" {\n    type = \"string\"\n    protected = true\n    value = vars.token\n  }\n  task \"t\" { objective = \"${inputs.i}\" }";
    assert_error(
        protected,
        9,
        "mission-secret",
        "protected input `inputs.i`",
        "tools only",
    );
}

/// The value of a secret is not even asked for.
#[test]
fn secrets_reach_tools_as_names() {
    let text = r#"
tool "post" {
  implements = builtins.http.post
  inputs     = { city = string("City", true) }
  url        = "https://x/${inputs.city}"
  headers    = { Authorization = "Bearer ${vars.token}" }
}
mcp "s" {
  url     = "https://x"
  headers = { Authorization = "Bearer ${vars.token}" }
}
"#;
    let asked = std::cell::RefCell::new(Vec::new());
    let variable = |name: &str| {
        asked.borrow_mut().push(name.to_owned());
        Some("canary".to_owned())
    };
    let (project, reports) = read_with(&[("base.hcl", BASE), ("a.hcl", text)], &variable);
    assert_eq!(lines(&reports), Vec::<String>::new());
    assert_eq!(asked.into_inner(), ["key", "team"]);
    let headers = &project.tools[0].parameters[1].1;
    assert_eq!(inputs::needs(headers), ["vars.token"]);
    assert_eq!(
        inputs::needs(&project.tools[0].parameters[0].1),
        ["inputs.city"]
    );
    let stored = serde_json::to_string(&project).unwrap();
    assert!(!stored.contains("canary"), "{stored}");
    let again: MissionProject = serde_json::from_str(&stored).unwrap();
    assert_eq!(serde_json::to_string(&again).unwrap(), stored);
}

#[test]
fn variables_come_from_outside_then_from_defaults() {
    let text = "skill \"s\" {\n  description = \"${vars.key} ${vars.outside}\"\n  instructions = vars.team\n}\n";
    let declared = format!("variable \"outside\" {{}}\n{text}");
    let set = |name: &str| (name == "outside" || name == "key").then(|| format!("set-{name}"));
    let (_, reports) = read_with(&[("base.hcl", BASE), ("a.hcl", text)], &set);
    assert!(errors(&reports)[0].contains("unknown variable `vars.outside`"));
    let (project, reports) = read_with(&[("base.hcl", BASE), ("a.hcl", &declared)], &set);
    assert_eq!(lines(&reports), Vec::<String>::new());
    assert_eq!(
        project.skills[0].description,
        Value::Text("set-key set-outside".into())
    );
    assert_eq!(
        inputs::needs(&project.skills[0].instructions),
        ["vars.team"]
    );
    let (_, reports) = read(&[("base.hcl", BASE), ("a.hcl", text)]);
    let found = errors(&reports);
    assert!(
        found.len() == 1 && found[0].contains("unknown variable `vars.outside`"),
        "{found:?}"
    );
    let secret = "variable \"s\" {\n  secret = true\n  default = \"x\"\n}\n";
    let (_, reports) = read(&[("a.hcl", secret)]);
    let found = errors(&reports);
    assert!(
        found.len() == 1 && found[0].contains("PROWESS_VAR_S"),
        "{found:?}"
    );
}

#[test]
fn cycles_are_shown_as_paths() {
    let tasks = |lines: [&str; 3]| {
        let names = ["a", "b", "c"];
        let task = |(name, line): (&str, &str)| {
            format!("  task \"{name}\" {{\n    objective = \"o\"\n    {line}\n  }}\n")
        };
        names.into_iter().zip(lines).map(task).collect::<String>()
    };
    let route = |target: &str| {
        format!("router {{\n route {{\n target = {target}\n condition = \"c\"\n }}\n }}")
    };
    let only = only_error(&tasks([
        "depends_on = [tasks.c]",
        "depends_on = [tasks.a]",
        "depends_on = [tasks.b]",
    ]));
    assert!(only.contains("a → b → c → a"), "{only}");
    let only = only_error(&tasks(["send_to = [tasks.b]", "send_to = [tasks.a]", ""]));
    assert!(only.contains("a → b → a"), "{only}");
    let only = only_error(&tasks([&route("tasks.b"), &route("tasks.a"), ""]));
    assert!(only.contains("a → b → a"), "{only}");
    // A mission that routes to itself is not a cycle.
    let (_, reports) = mission(&tasks([&route("missions.x"), "", ""]));
    assert_eq!(lines(&reports), Vec::<String>::new());
}

#[test]
fn rules_about_routes_have_one_finding_each() {
    let two = |first: &str, second: &str| {
        format!(
            "  task \"a\" {{\n    objective = \"o\"\n    {first}\n  }}\n  task \"b\" {{\n    objective = \"o\"\n    {second}\n  }}\n"
        )
    };
    let route = "route {\n target = tasks.b\n condition = \"c\"\n }\n";
    let table = [
        (two("router { }", ""), "`router` has no `route` block"),
        (
            two(&format!("send_to = [tasks.b]\n router {{\n {route} }}"), ""),
            "exclude each other",
        ),
        (two("send_to = [tasks.a]", ""), "starts itself"),
        (two("send_to = [tasks.b, tasks.b]", ""), "given twice"),
        (
            two(&format!("router {{\n {route}{route} }}"), ""),
            "given twice",
        ),
        (
            format!(
                "{}  task \"c\" {{\n    objective = \"o\"\n    depends_on = [tasks.b]\n  }}\n",
                two("send_to = [tasks.b]", "")
            ),
            "`c` cannot depend on `b`",
        ),
        (
            format!(
                "  task \"z\" {{ objective = \"o\" }}\n{}",
                two("send_to = [tasks.b]", "depends_on = [tasks.z]")
            ),
            "cannot have `depends_on`",
        ),
        (
            format!(
                "  dataset \"d\" {{ description = \"d\" }}\n{}",
                two(
                    &format!(
                        "iterator {{\n dataset = datasets.d\n parallel = true\n }}\n router {{\n {route} }}"
                    ),
                    ""
                )
            ),
            "cannot have a `router`",
        ),
        (
            two(
                "router {\n route {\n target = tasks.b\n condition = \"\"\n }\n }",
                "",
            ),
            "`condition` is empty",
        ),
    ];
    for (items, message) in table {
        let (_, reports) = mission(&items);
        let found = errors(&reports);
        assert!(
            !found.is_empty() && found.iter().all(|one| one.contains(message)),
            "{items}: {found:#?}"
        );
    }
}

#[test]
fn redundant_dependency_is_a_warning_with_a_fix() {
    let text = "  task \"a\" { objective = \"o\" }\n  task \"b\" {\n    objective = \"o\"\n    depends_on = [tasks.a]\n  }\n  task \"c\" {\n    objective = \"o\"\n    depends_on = [tasks.a, tasks.b]\n  }";
    let (_, reports) = mission(text);
    assert_eq!(errors(&reports), Vec::<String>::new());
    let report = &reports[0];
    let [finding] = &*report.diagnostics else {
        panic!("{:?}", lines(&reports))
    };
    assert_eq!(finding.severity, Severity::Warning);
    let fix = finding.fix.as_ref().unwrap();
    let (fixed, _) = prowess_diag::fix::apply_named(report.text(), [(finding.rule, fix)]);
    assert!(fixed.contains("depends_on = [tasks.b]"), "{fixed}");
    // A diamond is fine.
    let diamond = "  task \"a\" { objective = \"o\" }\n  task \"b\" {\n objective = \"o\"\n depends_on = [tasks.a]\n }\n  task \"c\" {\n objective = \"o\"\n depends_on = [tasks.a]\n }\n  task \"d\" {\n objective = \"o\"\n depends_on = [tasks.b, tasks.c]\n }";
    assert_eq!(lines(&mission(diamond).1), Vec::<String>::new());
}

#[test]
fn iterators_are_checked() {
    let task = |iterator: &str, objective: &str| {
        format!(
            "  dataset \"d\" {{\n    schema = {{ name = string(\"n\", true) }}\n  }}\n  task \"t\" {{\n    objective = \"{objective}\"\n    iterator {{\n      dataset = datasets.d\n{iterator}\n    }}\n  }}"
        )
    };
    assert_eq!(
        lines(&mission(&task("parallel = true", "${item.name}")).1),
        Vec::<String>::new()
    );
    assert_error(
        &task("", "${item.name}"),
        8,
        "mission-reference",
        "parallel = true",
        "one by one",
    );
    assert_error(
        "  task \"t\" { objective = \"${item.name}\" }",
        4,
        "mission-reference",
        "`item` cannot be used here",
        "iterator",
    );
    assert_error(
        &task("parallel = true", "${item.nam}"),
        8,
        "mission-reference",
        "unknown field `item.nam`",
        "did you mean `name`?",
    );
    for name in [
        "concurrency_limit = 2",
        "start_delay = 5",
        "smoketest = true",
    ] {
        assert_error(
            &task(name, "o"),
            11,
            "mission-value",
            "needs `parallel = true`",
            "add",
        );
    }
    assert_error(
        &task("parallel = true\nconcurrency_limit = 0", "o"),
        12,
        "mission-value",
        "`concurrency_limit` must be at least 1",
        "",
    );
    let bound = |kind: &str| {
        format!(
            "  input \"i\" {{ type = \"{kind}\" }}\n  dataset \"d\" {{ bind_to = inputs.i }}\n{TASK}"
        )
    };
    assert_eq!(lines(&mission(&bound("list")).1), Vec::<String>::new());
    assert_error(
        &bound("string"),
        5,
        "mission-value",
        "is a string, not a list",
        "list",
    );
}

#[test]
fn inputs_are_checked_and_converted() {
    for (kind, default, is_good) in [
        ("string", "\"a\"", true),
        ("string", "3", true),
        ("number", "3.5", true),
        ("number", "\"x\"", false),
        ("integer", "3", true),
        ("integer", "3.5", false),
        ("bool", "true", true),
        ("bool", "\"maybe\"", false),
        ("list", "[1]", true),
        ("list", "{ a = 1 }", false),
        ("object", "{ a = 1 }", true),
        ("map", "[]", false),
    ] {
        let items = format!(
            "  input \"i\" {{\n    type = \"{kind}\"\n    default = {default}\n  }}\n{TASK}"
        );
        let (_, reports) = mission(&items);
        let found = errors(&reports);
        assert_eq!(found.is_empty(), is_good, "{items}: {found:?}");
        let has_type = |one: &String| one.contains("the default of `i` has the wrong type");
        assert!(found.iter().all(has_type), "{found:?}");
    }
    let (project, reports) = mission(
        "  inputs = {\n    topic = string(\"Topic\", true)\n    count = integer(\"n\")\n    tags = list(string, \"Tags\")\n    deep = bool(\"Deep\", { default = false })\n  }\n  task \"t\" { objective = \"${inputs.topic} ${inputs.count} ${inputs.tags} ${inputs.deep}\" }",
    );
    assert_eq!(lines(&reports), Vec::<String>::new());
    let mission = &project.missions[0];
    assert_eq!(mission.missing_inputs(&[]), ["topic", "count", "tags"]);
    let near = Some("topic".into());
    assert_eq!(
        mission.parse_input("topci", "x"),
        Err(InputFault::Unknown { near })
    );
    assert!(matches!(
        mission.parse_input("count", "x"),
        Err(InputFault::Type(_))
    ));
    assert!(matches!(
        mission.parse_input("tags", "a"),
        Err(InputFault::Type(_))
    ));
    let text = |name: &str, text: &str| (name.to_owned(), mission.parse_input(name, text).unwrap());
    let some = [text("topic", "${vars.token} %{ if }"), text("count", "3")];
    let task = &mission.tasks[0];
    let values = mission.input_values(&some);
    let filled = task.objective_with(Some(&values), None).unwrap();
    assert_eq!(inputs::needs(&filled), ["inputs.tags"]);
    let all = [
        some[0].clone(),
        some[1].clone(),
        text("tags", "[\"a\", \"b\"]"),
    ];
    let values = mission.input_values(&all);
    let filled = task.objective_with(Some(&values), None).unwrap();
    assert_eq!(
        filled,
        Value::Text("${vars.token} %{ if } 3 [\"a\",\"b\"] false".into())
    );
    let tags = from_json(&serde_json::json!([1]));
    assert!(matches!(
        mission.check_input("tags", &tags),
        Err(InputFault::Type(_))
    ));
}

#[test]
fn objectives_are_filled_for_each_item() {
    let (project, reports) = mission(
        "  dataset \"d\" { items = [{ name = \"a\" }, { name = \"b\" }] }\n  task \"t\" {\n    objective = \"Do ${item.name}\"\n    iterator {\n      dataset = datasets.d\n      parallel = true\n    }\n  }",
    );
    assert_eq!(lines(&reports), Vec::<String>::new());
    let mission = &project.missions[0];
    let task = &mission.tasks[0];
    assert_eq!(task.needs(), ["item.name"]);
    let objectives = task
        .objectives(mission, None, &Cell::new(usize::MAX))
        .unwrap();
    assert_eq!(objectives, ["Do a", "Do b"]);
    // Tasks share the limit, so that a plan stays small.
    let left = Cell::new(15);
    assert!(task.objectives(mission, None, &left).is_some());
    assert!(task.objectives(mission, None, &left).is_none());
}

#[test]
fn schedules_are_checked() {
    for (schedule, message) in [
        ("timezone = \"UTC\"", "exactly one of"),
        ("every = \"1h\"\ncron = \"0 * * * *\"", "exactly one of"),
        ("every = \"30s\"", "at least `1m`"),
        ("every = \"7m\"", "does not divide"),
        ("every = \"48h\"", "does not divide"),
        ("every = \"soon\"", "not an interval"),
        ("at = [\"9am\"]", "not a time of the day"),
        ("at = [\"24:00\"]", "not a time of the day"),
        ("at = []", "no times"),
        ("at = \"09:00\"", "a list of texts"),
        ("at = [\"09:00\"]\nweekdays = [\"someday\"]", "unknown day"),
        (
            "every = \"1h\"\ntimezone = \"Not/A/Zone\"",
            "unknown time zone",
        ),
        (
            "cron = \"0 9 * * *\"\nweekdays = [\"mon\"]",
            "cannot be used with `cron`",
        ),
        ("cron = \"0 9 * *\"", "5 fields, not 4"),
        ("cron = \"60 9 * * *\"", "not between 0 and 59"),
        ("cron = \"0 9 * * fry\"", "not a field"),
        ("cron = \"0 9 5-2 * *\"", "not a field"),
        ("cron = \"*/0 9 * * *\"", "not a field"),
    ] {
        let found = only_error(&format!("  schedule {{\n{schedule}\n  }}\n{TASK}"));
        assert!(found.contains(message), "{schedule}: {found}");
    }
    for schedule in [
        "at = [\"09:00\", \"17:45\"]\nweekdays = [\"mon\", \"Sunday\"]",
        "every = \"15m\"",
        "every = \"12h\"",
        "cron = \"*/15 9-17 1,15 jan-mar mon\"",
        "cron = \"0 0 * * 7\"",
        "cron = \"@daily\"",
    ] {
        let (_, reports) = mission(&format!("  schedule {{\n{schedule}\n  }}\n{TASK}"));
        assert_eq!(lines(&reports), Vec::<String>::new(), "{schedule}");
    }
}

/// A start without a required input would fail.
#[test]
fn schedules_give_the_inputs_that_are_required() {
    let input = |more: &str| format!("  input \"topic\" {{\n    type = \"string\"\n{more}  }}\n");
    let schedule = |more: &str| format!("  schedule {{\n    every = \"1h\"\n{more}  }}\n{TASK}");
    let given = "    inputs = { topic = \"x\" }\n";
    let default = "    default = \"x\"\n";
    for (text, count) in [
        (input("") + &schedule(""), 1),
        (input("") + &schedule(given), 0),
        (input(default) + &schedule(""), 0),
    ] {
        let (_, reports) = mission(&text);
        let found = lines(&reports);
        assert_eq!(found.len(), count, "{text}: {found:?}");
        assert!(found.iter().all(|one| one.contains("the input `topic`")));
        assert_eq!(errors(&reports), Vec::<String>::new());
    }
}

/// Times across both changes of the clock, in two zones, and without a cross product.
#[test]
fn next_starts_are_exact() {
    let table: [(&str, &str, [&str; 4]); 9] = [
        (
            "at = [\"17:45\", \"09:15\"]\ntimezone = \"UTC\"",
            "2026-05-01T10:00:00Z",
            [
                "2026-05-01T17:45:00+00:00",
                "2026-05-02T09:15:00+00:00",
                "2026-05-02T17:45:00+00:00",
                "2026-05-03T09:15:00+00:00",
            ],
        ),
        (
            "at = [\"09:15\"]\ntimezone = \"Europe/Berlin\"",
            "2026-03-28T00:00:00Z",
            [
                "2026-03-28T09:15:00+01:00",
                "2026-03-29T09:15:00+02:00",
                "2026-03-30T09:15:00+02:00",
                "2026-03-31T09:15:00+02:00",
            ],
        ),
        (
            "at = [\"09:15\"]\ntimezone = \"America/Chicago\"",
            "2026-10-31T12:00:00Z",
            [
                "2026-10-31T09:15:00-05:00",
                "2026-11-01T09:15:00-06:00",
                "2026-11-02T09:15:00-06:00",
                "2026-11-03T09:15:00-06:00",
            ],
        ),
        // 02:30 does not exist on the day of the change, and the start is an hour later.
        (
            "at = [\"02:30\"]\ntimezone = \"Europe/Berlin\"",
            "2026-03-28T12:00:00Z",
            [
                "2026-03-29T03:30:00+02:00",
                "2026-03-30T02:30:00+02:00",
                "2026-03-31T02:30:00+02:00",
                "2026-04-01T02:30:00+02:00",
            ],
        ),
        // 02:30 occurs twice, and starts once.
        (
            "at = [\"02:30\"]\ntimezone = \"Europe/Berlin\"",
            "2026-10-24T12:00:00Z",
            [
                "2026-10-25T02:30:00+02:00",
                "2026-10-26T02:30:00+01:00",
                "2026-10-27T02:30:00+01:00",
                "2026-10-28T02:30:00+01:00",
            ],
        ),
        // An interval continues through both changes.
        (
            "every = \"30m\"\ntimezone = \"America/Chicago\"",
            "2026-03-08T07:15:00Z",
            [
                "2026-03-08T01:30:00-06:00",
                "2026-03-08T03:00:00-05:00",
                "2026-03-08T03:30:00-05:00",
                "2026-03-08T04:00:00-05:00",
            ],
        ),
        (
            "cron = \"*/30 * * * *\"\ntimezone = \"America/Chicago\"",
            "2026-11-01T06:15:00Z",
            [
                "2026-11-01T01:30:00-05:00",
                "2026-11-01T01:00:00-06:00",
                "2026-11-01T01:30:00-06:00",
                "2026-11-01T02:00:00-06:00",
            ],
        ),
        (
            "at = [\"09:00\"]\nweekdays = [\"mon\", \"fri\"]\ntimezone = \"UTC\"",
            "2026-05-01T09:00:00Z",
            [
                "2026-05-04T09:00:00+00:00",
                "2026-05-08T09:00:00+00:00",
                "2026-05-11T09:00:00+00:00",
                "2026-05-15T09:00:00+00:00",
            ],
        ),
        // With a day of the month and a day of the week, either is enough.
        (
            "cron = \"0 0 29 2 sun\"\ntimezone = \"UTC\"",
            "2027-02-22T00:00:00Z",
            [
                "2027-02-28T00:00:00+00:00",
                "2028-02-06T00:00:00+00:00",
                "2028-02-13T00:00:00+00:00",
                "2028-02-20T00:00:00+00:00",
            ],
        ),
    ];
    for (schedule, after, expected) in table {
        let (project, reports) = mission(&format!("  schedule {{\n{schedule}\n  }}\n{TASK}"));
        assert_eq!(lines(&reports), Vec::<String>::new());
        let after = parse_time(after, "UTC").unwrap();
        let starts = project.missions[0].schedules[0].next(after, "UTC", 4);
        let starts: Vec<String> = starts
            .iter()
            .map(|start| start.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string())
            .collect();
        assert_eq!(starts, expected, "{schedule}");
    }
}

#[test]
fn budgets_triggers_and_limits_are_checked() {
    for (items, message) in [
        ("budget { }", "needs `tokens` or `dollars`"),
        ("budget { tokens = 0 }", "`tokens` must be at least 1"),
        ("budget { tokens = 1.5 }", "not a whole number"),
        ("budget { dollars = 0 }", "more than 0"),
        ("budget { dollars = \"many\" }", "not a number"),
        ("max_parallel = 0", "at least 1"),
        ("scratchpad = \"perhaps\"", "not `true` or `false`"),
        (
            "trigger { webhook_path = \"x\" }",
            "not the path of a web hook",
        ),
        ("trigger { }\n  trigger { }", "only one `trigger`"),
        ("memory { description = \"\" }", "`description` is empty"),
        ("agents = []", ""),
    ] {
        let (_, reports) = mission(&format!("  {items}\n{TASK}"));
        let found = errors(&reports);
        assert!(
            found.len() == 1 && found[0].contains(message),
            "{items}: {found:#?}"
        );
    }
    let other = "mission \"y\" {\n  commander { model = models.m.x }\n  agents = [agents.worker]\n  trigger { webhook_path = \"/x\" }\n  task \"t\" { objective = \"o\" }\n}\nmission \"x\" {\n  commander { model = models.m.x }\n  agents = [agents.worker]\n  trigger { }\n  task \"t\" { objective = \"o\" }\n}\n";
    let (_, reports) = read(&[("base.hcl", BASE), ("a.hcl", other)]);
    let found = errors(&reports);
    assert!(
        found.len() == 1 && found[0].contains("starts two missions (the first is in a.hcl:4"),
        "{found:?}"
    );
}

/// What is left out is `mission-unsupported` at its line, with a way to write it.
#[test]
fn unsupported_features_are_named() {
    let used = |block: &str, tool: &str| {
        format!(
            "{block}\nagent \"a\" {{\n model = models.m.x\n personality = \"p\"\n tools = [{tool}]\n}}\n"
        )
    };
    let plugin = "plugin \"p\" {\n source = \"github.com/x/y\"\n version = \"v1.0.0\"\n}";
    let npm = "mcp \"s\" {\n source = \"npm:@x/y\"\n version = \"1.0.0\"\n}";
    let table = [
        (
            used(plugin, "plugins.p.x"),
            "error",
            1,
            "[missions.plugins]",
        ),
        (plugin.to_owned(), "note", 1, "[missions.plugins]"),
        (used(npm, "mcp.s.x"), "error", 2, "\"@x/y@1.0.0\""),
        (npm.to_owned(), "note", 2, "npx"),
        (
            "gateway \"g\" { version = \"local\" }".to_owned(),
            "warning",
            1,
            "questions",
        ),
        (
            "command_center {\n url = \"ws://x\"\n instance_name = \"i\"\n}".to_owned(),
            "warning",
            1,
            "mission list",
        ),
        (
            "mcp_host { enabled = true }".to_owned(),
            "warning",
            1,
            "prowess mcp",
        ),
        (
            "storage {\n backend = \"postgres\"\n conn_string = vars.token\n}".to_owned(),
            "warning",
            1,
            "SQLite",
        ),
        (
            "vault { provider = \"keychain\" }".to_owned(),
            "warning",
            1,
            "PROWESS_VAR_NAME",
        ),
    ];
    for (text, severity, line, help) in table {
        let (_, reports) = read(&[("base.hcl", BASE), ("a.hcl", &format!("{text}\n"))]);
        let found = lines(&reports);
        let [only] = &*found else {
            panic!("{text}: {found:#?}")
        };
        assert!(only.starts_with(&format!("a.hcl:{line}:")), "{only}");
        assert!(
            only.contains(&format!(" {severity} mission-unsupported: ")),
            "{only}"
        );
        assert!(only.contains(help), "{only}");
    }
    let (_, reports) = read(&[("a.hcl", "plugin \"replaced\" { version = \"local\" }\n")]);
    assert_eq!(lines(&reports), Vec::<String>::new());
}

#[test]
fn servers_plugins_models_and_packets_are_checked() {
    for (text, message) in [
        ("mcp \"s\" { }", "needs `command` or `url`"),
        (
            "mcp \"s\" {\n command = \"x\"\n url = \"https://x\"\n}",
            "exclude each other",
        ),
        ("mcp \"s\" { source = \"npm:x\" }", "needs `version`"),
        (
            "mcp \"s\" {\n url = \"https://x\"\n args = []\n}",
            "`args` cannot be used with `url`",
        ),
        (
            "mcp \"s\" {\n command = \"x\"\n headers = {}\n}",
            "cannot be used with `command`",
        ),
        ("mcp \"s\" { url = \"x\" }", "not a web address"),
        (
            "plugin \"p\" {\n source = \"/x\"\n version = \"local\"\n}",
            "is absolute",
        ),
        (
            "plugin \"p\" {\n source = \"../x\"\n version = \"local\"\n}",
            "outside the project",
        ),
        (
            "plugin \"p\" {\n source = \"./x\"\n version = \"v1.0.0\"\n}",
            "version `local`",
        ),
        (
            "plugin \"p\" {\n source = \"github.com/x/y\"\n version = \"new\"\n}",
            "not a version",
        ),
        (
            "plugin \"http\" { version = \"local\" }",
            "not a name for a plugin",
        ),
        ("plugin \"p\" { }", "has no `version`"),
        (
            "model \"n\" {\n provider = \"llama\"\n api_key = \"k\"\n}",
            "unknown provider",
        ),
        ("model \"n\" { provider = \"openai\" }", "needs `api_key`"),
        (
            "model \"n\" {\n provider = \"ollama\"\n base_url = \"u\"\n}",
            "needs `aliases`",
        ),
        (
            "agent \"a\" {\n model = models.m.unknown\n personality = \"p\"\n}",
            "unknown model",
        ),
        ("storage { backend = \"postgres\" }", "needs `conn_string`"),
        ("packet \"k\" { path = \"./missing\" }", "does not exist"),
        ("packet \"k\" { path = \"../kb\" }", "outside the project"),
        ("packet \"k\" { path = \".\" }", "the project itself"),
        ("packet \"k\" { path = \"kb/a.md\" }", "not a folder"),
        (
            "memory \"scratchpad\" { description = \"d\" }",
            "not a name for a memory",
        ),
        (
            "memory \"n\" {\n description = \"d\"\n path = \"x\"\n}",
            "`path` is an old name",
        ),
        (
            "agent \"a\" {\n model = models.m.x\n personality = \"p\"\n reasoning = \"extreme\"\n}",
            "`reasoning`",
        ),
        (
            "agent \"a\" {\n model = models.m.x\n personality = \"p\"\n pruning {\n prune_on = 5\n prune_to = 5\n }\n}",
            "less than `prune_on`",
        ),
    ] {
        let files = [
            ("base.hcl", BASE),
            ("a.hcl", &*format!("{text}\n")),
            ("kb/a.md", ""),
        ];
        let (_, reports) = read(&files);
        let found = errors(&reports);
        assert!(
            found.len() == 1 && found[0].contains(message),
            "{text}: {found:#?}"
        );
    }
}

#[test]
fn files_of_packets_are_not_part_of_the_project() {
    let (project, reports) = read(&[
        ("a.hcl", "packet \"k\" { path = \"./kb\" }\n"),
        ("kb/broken.hcl", "agent {{{\n"),
    ]);
    assert_eq!(lines(&reports), Vec::<String>::new());
    assert_eq!(project.files.len(), 1);
}

#[test]
fn skill_can_be_a_folder() {
    let (project, reports) = read(&[
        ("a.hcl", "skill \"s\" { source = \"./skills/x\" }\n"),
        (
            "skills/x/SKILL.md",
            "---\nname: x\ndescription: Does it.\n---\nDo it.\n",
        ),
    ]);
    assert_eq!(lines(&reports), Vec::<String>::new());
    assert_eq!(
        project.skills[0].description,
        Value::Text("Does it.".into())
    );
    assert_eq!(project.skills[0].instructions, Value::Text("Do it.".into()));
}

#[test]
fn faults_of_skills_have_one_finding_each() {
    for (body, message) in [
        ("instructions = \"i\"", "`skill` has no `description`"),
        ("description = \"d\"", "`skill` has no `instructions`"),
        (
            "description = \"\"\n instructions = \"i\"",
            "`description` is empty",
        ),
        (
            "description = \"d\"\n instructions = \" \"",
            "`instructions` is empty",
        ),
        (
            "description = \"d\"\n instructions = \"i\"\n color = 1",
            "unknown attribute `color`",
        ),
        (
            "description = \"d\"\n instructions = \"i\"\n tools = [tools.no]",
            "unknown tool",
        ),
    ] {
        let (_, reports) = read(&[("a.hcl", &format!("skill \"s\" {{\n {body}\n}}\n"))]);
        let found = lines(&reports);
        assert!(
            found.len() == 1 && found[0].contains(message),
            "{body}: {found:#?}"
        );
    }
}

#[test]
fn role_is_the_description_of_an_agent() {
    let text = "agent \"a\" {\n model = models.m.x\n personality = \"Calm. Slow.\"\n role = \"Writes letters\"\n}\n";
    let (project, reports) = read(&[("base.hcl", BASE), ("a.hcl", text)]);
    let found = lines(&reports);
    assert!(
        found.len() == 1 && found[0].contains("note mission-ignored"),
        "{found:?}"
    );
    assert_eq!(project.agents[0].description(), Some("Writes letters"));
}

#[test]
fn graphs_escape_names() {
    let (project, reports) = mission(
        "  task \"a\\\"]; x\" {\n    objective = \"o\"\n    router {\n      route {\n        target = tasks.b\n        condition = \"If \\\"quoted\\\" | done\"\n      }\n      route {\n        target = missions.x\n        condition = \"again\"\n      }\n    }\n  }\n  task \"b\" { objective = \"o\" }\n  task \"c\" { objective = \"o\" }\n  task \"d\" {\n    objective = \"o\"\n    depends_on = [tasks.c]\n  }",
    );
    assert_eq!(errors(&reports), Vec::<String>::new());
    let mission = &project.missions[0];
    assert_eq!(
        mission.graph(GraphFormat::Mermaid),
        "flowchart TD\n  t0[\"a#34;#93;#59; x\"]\n  t1[\"b\"]\n  t2[\"c\"]\n  t3[\"d\"]\n  m0([\"mission x\"])\n  t0 -.->|\"If #34;quoted#34; #124; done\"| t1\n  t0 -.->|\"again\"| m0\n  t2 --> t3\n"
    );
    assert_eq!(
        mission.graph(GraphFormat::Dot),
        "digraph \"x\" {\n  rankdir=TB;\n  t0 [shape=box, label=\"a\\\"]; x\"];\n  t1 [shape=box, label=\"b\"];\n  t2 [shape=box, label=\"c\"];\n  t3 [shape=box, label=\"d\"];\n  m0 [shape=oval, label=\"mission x\"];\n  t0 -> t1 [style=dashed, label=\"If \\\"quoted\\\" | done\"];\n  t0 -> m0 [style=dashed, label=\"again\"];\n  t2 -> t3;\n}\n"
    );
    let text = mission.graph(GraphFormat::Text);
    assert!(text.contains("  d  after c\n"), "{text}");
    assert!(text.contains("    → mission x  if again\n"), "{text}");
}

#[test]
fn large_input_is_bounded() {
    let keys: String = (0..60_000).map(|at| format!("k{at} = 1\n")).collect();
    let loops = "[for a in l : ".repeat(10) + "1" + &"]".repeat(10);
    let loops = loops.replace("in l", "in [1,2,3,4,5,6,7,8,9,10]");
    for text in [
        format!("skill \"s\" {{\n description = {{\n{keys}}}\n}}\n"),
        format!(
            "skill \"s\" {{\n description = {}\n}}\n",
            "[".repeat(100_000)
        ),
        format!("skill \"s\" {{\n description = \"${{{loops}}}\"\n instructions = \"i\"\n}}\n"),
        "agent {".repeat(50_000),
    ] {
        let (_, reports) = read(&[("a.hcl", &text)]);
        assert!(!errors(&reports).is_empty());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Equal input gives an equal project and equal findings, in any order of files.
    #[test]
    fn order_of_files_does_not_matter(seed in any::<u64>(), bad in any::<bool>()) {
        let task = if bad { "  task \"t\" { objective = vars.token }\n" } else { TASK };
        let text = format!("mission \"x\" {{\n  commander {{ model = models.m.sonnet }}\n  agents = [agents.worker, agents.nope]\n{task}}}\n");
        let mut files = vec![
            ("base.hcl", BASE),
            ("x.hcl", &*text),
            ("z/y.hcl", "skill \"s\" {\n description = \"d\"\n instructions = \"i\"\n}\n"),
            ("a.hcl", "skill \"s\" {\n description = \"e\"\n instructions = \"j\"\n}\n"),
        ];
        let first = read(&files);
        let count = files.len();
        for at in 0..count {
            let other = usize::try_from(seed.rotate_left(u32::try_from(at).unwrap() * 8) % count as u64).unwrap();
            files.swap(at, other);
        }
        let second = read(&files);
        prop_assert_eq!(&first.0, &second.0);
        prop_assert_eq!(lines(&first.1), lines(&second.1));
    }

    /// Any value of an input appears literally in the objective.
    #[test]
    fn input_values_are_never_evaluated(value in ".{0,40}") {
        let (project, _) = mission("  input \"i\" { type = \"string\" }\n  task \"t\" { objective = \"<${inputs.i}>\" }");
        let mission = &project.missions[0];
        let given = [("i".to_owned(), mission.parse_input("i", &value).unwrap())];
        let filled = mission.tasks[0].objective_with(Some(&mission.input_values(&given)), None).unwrap();
        prop_assert_eq!(filled, Value::Text(format!("<{value}>").into()));
    }
}

/// An example of a rule page: the file with this text, and other files next to it.
struct PageExample {
    is_bad: bool,
    files: Vec<(String, String)>,
}

impl PageExample {
    fn reports(&self) -> Vec<FileReport> {
        let files = self.files.iter();
        let files: Vec<(&str, &str)> = files.map(|(path, text)| (&**path, &**text)).collect();
        read(&files).1
    }
}

/// Returns the examples of a page. A fence is `hcl bad file=PATH` or `hcl good file=PATH`;
/// `files=A,B` names other files of the project.
fn page_examples(page: &str) -> Vec<PageExample> {
    let mut lines = page.lines();
    let mut examples = Vec::new();
    while let Some(line) = lines.next() {
        let Some(info) = line.strip_prefix("```hcl ") else {
            assert!(!line.starts_with("```"), "{line}");
            continue;
        };
        let text = lines.by_ref().take_while(|line| *line != "```");
        let text: String = text.map(|line| format!("{line}\n")).collect();
        let is_bad = match info.split(' ').next().unwrap() {
            "bad" => true,
            "good" => false,
            other => panic!("{other}"),
        };
        let setting = |name: &str| {
            let mut words = info.split(' ');
            words.find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
        };
        let others = setting("files").into_iter().flat_map(|all| all.split(','));
        let others = others.map(|path| (path.to_owned(), "A text.\n".to_owned()));
        let own = (setting("file").unwrap().to_owned(), text);
        let files = std::iter::once(own).chain(others).collect();
        examples.push(PageExample { is_bad, files });
    }
    examples
}

#[test]
fn mission_rules_are_those_of_the_pages() {
    let pages = prowess_lint::rules::RULES.iter();
    let pages: Vec<_> = pages
        .filter(|rule| rule.id.starts_with("mission-"))
        .collect();
    assert!(pages.iter().all(|rule| rule.on_agents));
    let listed: Vec<_> = pages
        .iter()
        .map(|rule| (rule.id, rule.levels.claude_code.unwrap()))
        .collect();
    let known = rules::MISSION_RULES.map(|rule| (rule.id, rule.severity));
    assert_eq!(listed, known);
}

#[test]
fn examples_of_mission_rule_pages_hold() {
    let pages = prowess_lint::rules::RULES.iter();
    for rule in pages.filter(|rule| rule.id.starts_with("mission-")) {
        let examples = page_examples(rule.page);
        let (bad, good): (Vec<_>, Vec<_>) = examples.iter().partition(|example| example.is_bad);
        assert!(!bad.is_empty() && !good.is_empty(), "{}", rule.id);
        for example in bad {
            let found = lines(&example.reports());
            let is_found = found.iter().any(|line| line.contains(rule.id));
            assert!(is_found, "{}: {found:?}", rule.id);
        }
        for example in good {
            let found = lines(&example.reports());
            assert!(found.is_empty(), "{}: {found:?}", rule.id);
        }
    }
}

/// The good example on the page is the first bad one after its fix.
#[test]
fn fix_on_the_page_about_graphs_gives_the_good_example() {
    let rule = prowess_lint::rules::find("mission-graph").unwrap();
    let examples = page_examples(rule.page);
    let reports = examples[0].reports();
    let fixes = reports[0].diagnostics.iter().filter_map(|finding| {
        let fix = finding.fix.as_ref()?;
        Some((finding.rule, fix))
    });
    let (fixed, _) = prowess_diag::fix::apply_named(reports[0].text(), fixes);
    let good = examples.iter().find(|example| !example.is_bad).unwrap();
    assert_eq!(fixed, good.files[0].1);
}

/// An error counts for the missions that use the block it is in, directly or through others.
#[test]
fn errors_count_for_the_missions_that_use_them() {
    let head = "model \"m\" {\n  provider = \"ollama\"\n  base_url = \"http://127.0.0.1:9\"\n  aliases  = { x = \"x\" }\n}\nagent \"good\" {\n  model       = models.m.x\n  personality = \"P\"\n}\n";
    let mission = |name: &str, agents: &str, more: &str| {
        format!(
            "mission \"{name}\" {{\n  commander {{ model = models.m.x }}\n  agents = [{agents}]\n  task \"t\" {{\n    objective = \"o\"\n{more}\n  }}\n}}\n"
        )
    };
    let agent = |more: &str| {
        format!(
            "agent \"bad one\" {{\n  model       = models.m.x\n  personality = \"P\"\n{more}\n}}\n"
        )
    };
    let good = mission("good", "agents.good", "");
    let uses = mission("uses", "agents[\"bad one\"]", "");
    let quoted = mission("quoted", "\"bad one\"", "");
    let prefixed = mission("prefixed", "\"agents.bad one\"", "");
    let route = "    router {\n      route {\n        target    = missions.uses\n        condition = \"c\"\n      }\n    }";
    let leads = mission("leads", "agents.good", route);
    let all = format!("{head}{good}{uses}{quoted}{prefixed}{leads}");
    for (name, bad) in [
        ("unknown attribute", agent("  typo = 1")),
        ("duplicate", format!("{}{}", agent(""), agent(""))),
        (
            "skill",
            format!(
                "{}skill \"s\" {{\n  description = \"d\"\n}}\n",
                agent("  skills = [skills.s]")
            ),
        ),
        (
            "bound tool",
            format!(
                "{}tool \"t\" {{\n  implements = builtins.http.nothing\n}}\n",
                agent("  tools = [tools.t]")
            ),
        ),
        (
            "server",
            format!("{}mcp \"s\" {{}}\n", agent("  tools = [mcp.s.all]")),
        ),
        (
            "variable",
            format!(
                "{}variable \"v\" {{\n  wrong = 1\n}}\n",
                agent("  role = vars.v")
            ),
        ),
    ] {
        let files = [("a.hcl", &*all), ("b.hcl", &*bad)];
        let (project, reports) = read(&files);
        let texts = files.map(|(path, text)| MissionText {
            path: path.to_owned(),
            bytes: Ok(text.as_bytes().to_vec()),
        });
        for (mission, expected) in [
            ("good", false),
            ("uses", true),
            ("quoted", true),
            ("prefixed", true),
            ("leads", true),
        ] {
            let found = project.has_errors_in(mission, &texts, &reports);
            assert_eq!(found, expected, "{name}, {mission}: {:#?}", lines(&reports));
        }
    }
    // Findings beyond the limit of a rule may be anywhere in their file.
    let typos: Vec<String> = (0..101).map(|at| format!("  typo{at} = 1\n")).collect();
    let many = agent(&typos.concat());
    let whole = format!("{all}{many}");
    let texts = [MissionText {
        path: "a.hcl".to_owned(),
        bytes: Ok(whole.clone().into_bytes()),
    }];
    let (project, reports) = read(&[("a.hcl", &whole)]);
    assert!(project.has_errors_in("good", &texts, &reports));
}

#[test]
fn variables_without_a_value_are_named() {
    let text = "variable \"unset\" {}\nvariable \"set\" { default = \"x\" }\nvariable \"other\" {}\nagent \"a\" {\n  personality = \"${vars.set}\"\n  role = vars.unset\n}\nagent \"b\" {\n  personality = vars.other\n}\nmission \"x\" {\n  agents = [agents.a]\n  task \"t\" { objective = \"o\" }\n}\n";
    let (project, _) = read(&[("a.hcl", text)]);
    assert_eq!(project.unset_variables("x"), ["unset"]);
}
