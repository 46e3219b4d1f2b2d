//! Counts the instructions of commands with callgrind. Unlike times, counts hardly depend on what
//! else the machine does, so that two builds can be compared.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::bench::repeat;

/// Time after which the registry trusts the stamp of a file.
const REST: Duration = Duration::from_secs(3);
/// Words of the long query.
const LONG: usize = 40;

/// Skills that the model of the last turn loads.
const LOADS: usize = 6;

/// A measured command: its title, and its arguments after `--skills-dir FOLDER`.
struct Row {
    title: &'static str,
    arguments: Vec<String>,
}

/// Prints a table with a column for each binary. Each gets its own home; rows build on each other.
pub(crate) fn run(
    corpus: &Path,
    queries: &Path,
    skills: usize,
    binaries: &[PathBuf],
) -> Result<()> {
    let world = tempfile::tempdir()?;
    let library = world.path().join("library");
    std::fs::create_dir_all(&library)?;
    repeat(corpus, &library, skills)?;
    for number in 1..=LOADS {
        let folder = library.join(skill_name(number));
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join("SKILL.md"), skill_text(number))?;
    }
    std::thread::sleep(REST);
    let scripts = [0, 1, LOADS].map(|loads| script(world.path(), loads));
    let [none, one, all] = scripts;
    let rows = rows(&long_query(queries)?, &library, [&none?, &one?, &all?]);
    let mut columns = Vec::new();
    for (number, binary) in binaries.iter().enumerate() {
        let home = world.path().join(format!("home-{number}"));
        let project = home.join("project");
        std::fs::create_dir_all(&project)?;
        let count = |row: &Row| {
            let program = binary
                .canonicalize()
                .with_context(|| format!("cannot find {}", binary.display()))?;
            let mut command = Command::new("valgrind");
            command
                .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
                .arg(program)
                .arg("--skills-dir")
                .arg(&library)
                .args(&row.arguments)
                .current_dir(&project)
                .env_clear()
                .env("PATH", std::env::var_os("PATH").unwrap_or_default())
                .env("HOME", &home)
                .env("PROWESS_HOME", home.join("state"));
            instructions(command).with_context(|| row.title.to_owned())
        };
        let counts: Result<Vec<u64>> = rows.iter().map(count).collect();
        columns.push(counts?);
    }
    println!("{skills} skills; instructions in millions\n");
    let names = binaries
        .iter()
        .map(|binary| format!(" {} |", binary.display()));
    println!("| |{}", names.collect::<String>());
    println!("|---|{}", "---|".repeat(binaries.len()));
    for (at, row) in rows.iter().enumerate() {
        let counts = columns.iter().map(|column| column[at] as f64 / 1e6);
        let cells: String = counts.map(|count| format!(" {count:.1} |")).collect();
        println!("| {} |{cells}", row.title);
    }
    Ok(())
}

fn skill_name(number: usize) -> String {
    format!("counted-{number}")
}

/// Returns a skill with a body of ordinary length.
fn skill_text(number: usize) -> String {
    let step = "Read the report, note each figure, and compare it with the figure of last month.\n";
    format!(
        "---\nname: {}\ndescription: Compare the figures of report {number}. Use when a report of that kind arrives.\n---\n{}",
        skill_name(number),
        step.repeat(50)
    )
}

/// Writes the script of a model that loads skills, one in each reply, and ends. Returns its path.
fn script(folder: &Path, loads: usize) -> Result<PathBuf> {
    let mut text = String::new();
    for number in 1..=loads {
        let input = serde_json::json!({ "skill_name": skill_name(number) });
        let calls = serde_json::json!([{ "name": "load_skill", "input": input }]);
        text += &format!("{}\n", serde_json::json!({ "calls": calls }));
    }
    text += "{\"text\":\"Done.\"}\n";
    let path = folder.join(format!("script-{loads}.jsonl"));
    std::fs::write(&path, text)?;
    Ok(path)
}

fn rows(query: &str, library: &Path, scripts: [&Path; 3]) -> Vec<Row> {
    let row = |title, arguments: &[&str]| Row {
        title,
        arguments: arguments.iter().map(|word| (*word).to_owned()).collect(),
    };
    let [none, one, all] = scripts.map(|script| format!("scripted:{}", script.display()));
    let turn = |message, model| ["run", "--task", message, "--model", model];
    let library = library.display().to_string();
    let skill = skill_name(1);
    vec![
        row("`--version`", &["--version"]),
        row("`validate`", &["validate", &library]),
        row("`list`, first start", &["list"]),
        row("`list`, second start", &["list"]),
        row(
            "`find`, five words, first time: builds the index",
            &["find", "fill in a pdf form"],
        ),
        row("`find`, five words", &["find", "fill in a pdf form"]),
        row("`find`, a message of 40 words", &["find", query]),
        row("`prompt`", &["prompt"]),
        row("`prompt --skill`", &["prompt", "--skill", &skill]),
        row(
            "a turn without a hint: the message has no words",
            &turn("?", &none),
        ),
        row(
            "a turn with a hint: a message of 40 words",
            &turn(query, &none),
        ),
        row("a turn that loads one skill", &turn("?", &one)),
        row("a turn that loads six skills", &turn("?", &all)),
        row("`run SKILL`", &["run", &skill, "--model", &none]),
    ]
}

/// Returns the first words of the first long query.
fn long_query(queries: &Path) -> Result<String> {
    let text = std::fs::read_to_string(queries)
        .with_context(|| format!("cannot read {}", queries.display()))?;
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let value: Value = serde_json::from_str(line)?;
        let query = value["query"].as_str().context("a query is not a string")?;
        let words: Vec<&str> = query.split_whitespace().take(LONG).collect();
        if words.len() == LONG {
            return Ok(words.join(" "));
        }
    }
    bail!("no query has {LONG} words")
}

/// Runs a command under callgrind and returns the number of its instructions.
fn instructions(mut command: Command) -> Result<u64> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .context("cannot run valgrind")?;
    let errors = String::from_utf8_lossy(&output.stderr);
    // `validate` exits with 1 if there are findings.
    ensure!(
        matches!(output.status.code(), Some(0 | 1)),
        "the command failed: {errors}"
    );
    let line = errors.lines().rev().find(|line| line.contains("Collected"));
    let count = line.and_then(|line| line.rsplit(' ').next());
    count
        .and_then(|count| count.parse().ok())
        .with_context(|| format!("callgrind reported no count: {errors}"))
}
