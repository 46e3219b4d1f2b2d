//! The guides for people who come from other systems, and the guide for missions: every file in them
//! is written, and every command is run.

use std::path::Path;

use serde_json::Value;

use crate::world::World;

/// The guides, and the fewest commands that each must run.
const GUIDES: [(&str, usize); 9] = [
    ("convert.md", 4),
    ("from-claude-code.md", 8),
    ("from-planck.md", 6),
    ("from-skilled-crew.md", 6),
    ("from-core-agent.md", 7),
    ("from-squadron.md", 8),
    ("missions.md", 14),
    ("packages.md", 18),
    ("packages-compared.md", 20),
];

/// A fenced block of a guide.
#[derive(Debug)]
enum Snippet {
    /// A file of the project.
    File { path: String, text: String },
    /// A file that is written between two commands.
    ChangedFile { path: String, text: String },
    /// The configuration of the user.
    Configuration(String),
    /// A command line, and the exit codes that it may have.
    Command { line: String, codes: Vec<i32> },
}

/// Returns the snippets of a guide. A fence is `LANGUAGE PATH` for a file, `LANGUAGE PATH changed` for
/// one that is written after the commands before it, `toml` for the
/// configuration, `sh` for commands, and `text` for output. A comment `# exits with N` gives exit
/// codes other than 0.
fn snippets(text: &str) -> Vec<Snippet> {
    let mut found = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(info) = line.strip_prefix("```") else {
            continue;
        };
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        let mut text = block.join("\n");
        text.push('\n');
        match info.split_once(' ') {
            Some((_, path)) if path.ends_with(" changed") => found.push(Snippet::ChangedFile {
                path: path.trim_end_matches(" changed").to_owned(),
                text,
            }),
            Some((_, path)) => found.push(Snippet::File {
                path: path.to_owned(),
                text,
            }),
            None if info == "toml" => found.push(Snippet::Configuration(text)),
            None if info == "text" => {}
            None if info == "sh" => found.extend(block.iter().map(|line| command(line))),
            None => panic!("a fence needs `sh`, `toml` or a path: {line}"),
        }
    }
    found
}

fn command(line: &str) -> Snippet {
    let (line, comments) = line.split_once(" #").unwrap_or((line, ""));
    let codes = match comments.split_once("exits with ") {
        Some((_, codes)) => codes
            .split(" or ")
            .map(|code| code.trim().parse().unwrap())
            .collect(),
        None => vec![0],
    };
    Snippet::Command {
        line: line.trim().to_owned(),
        codes,
    }
}

/// Splits a command line into words; single quotes group.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut quoted) = (vec![String::new()], false);
    for c in line.chars() {
        match c {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            c => words.last_mut().unwrap().push(c),
        }
    }
    assert!(!quoted, "unpaired quote: {line}");
    words.retain(|word| !word.is_empty());
    words
}

/// Replaces the words `RUN` and `QUESTION` by the id of the latest run of a mission, and of the oldest
/// open question.
fn with_ids(world: &World, words: &mut [String]) {
    let id = |command: &[&str], list: &str, key: &str| {
        let document: Value = world.run(command).expect(0).json();
        document[list][0][key].as_str().unwrap().to_owned()
    };
    for word in words {
        match &**word {
            "RUN" => *word = id(&["mission", "show", "--json"], "runs", "run"),
            "QUESTION" => *word = id(&["questions", "--json"], "questions", "id"),
            _ => {}
        }
    }
}

/// Runs a command and returns its exit code and its output. `trust` asks a person, who says yes: the
/// test confirms with the digest that the command shows.
fn run(world: &World, line: &str) -> (i32, String) {
    let words = words(line);
    assert_eq!(words[0], "prowess", "{line}");
    let mut arguments = words[1..].to_vec();
    with_ids(world, &mut arguments);
    if arguments[0] == "trust" {
        let shown = world.run(&[&arguments[..], &["--json".to_owned()]].concat());
        if shown.code != 0 {
            return (shown.code, shown.stderr);
        }
        let digest = shown.json()["skills"][0]["digest"].clone();
        arguments.push("--digest".to_owned());
        arguments.push(digest.as_str().unwrap().to_owned());
    }
    // A person types the value of a variable.
    let is_set = arguments.len() > 2 && arguments[..2] == ["mission", "set"];
    let typed = if is_set { "value\n" } else { "" };
    let output = world.command(&arguments).stdin(typed.to_owned()).run();
    (output.code, format!("{}{}", output.stdout, output.stderr))
}

/// Writes the files of a guide, and runs its commands. Returns their number.
fn follow(world: &World, name: &str, text: &str) -> usize {
    let snippets = snippets(text);
    for snippet in &snippets {
        match snippet {
            Snippet::File { path, text } => _ = world.file(path, text),
            Snippet::Configuration(text) => _ = world.file("~/config.toml", text),
            Snippet::ChangedFile { .. } | Snippet::Command { .. } => {}
        }
    }
    let mut count = 0;
    for snippet in &snippets {
        if let Snippet::ChangedFile { path, text } = snippet {
            world.file(path, text);
        }
        let Snippet::Command { line, codes } = snippet else {
            continue;
        };
        let (code, output) = run(world, line);
        count += 1;
        assert!(
            codes.contains(&code),
            "{name}: `{line}` exits with {code}\n{output}"
        );
    }
    count
}

#[test]
fn every_snippet_of_a_guide_works() {
    for (guide, least) in GUIDES {
        let path = format!("{}/../../docs/guides/{guide}", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap();
        if guide.starts_with("from-") {
            assert!(text.contains("\nKeep your files, type this"), "{guide}");
        }
        let count = follow(&World::new(), guide, &text);
        assert!(count >= least, "{guide}: {count} commands");
    }
}

/// Copies the files below a folder into the project.
fn copy(world: &World, folder: &Path, inner: &str) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let path = format!("{inner}{}", entry.file_name().to_str().unwrap());
        if entry.file_type().unwrap().is_dir() {
            copy(world, &entry.path(), &format!("{path}/"));
        } else {
            world.file(&path, std::fs::read_to_string(entry.path()).unwrap());
        }
    }
}

#[test]
fn example_of_a_mission_runs_as_its_page_says() {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/missions/feedback"
    );
    let world = World::new();
    copy(&world, Path::new(folder), "");
    let page = std::fs::read_to_string(world.path("README.md")).unwrap();
    assert_eq!(follow(&world, "README.md", &page), 6);
}
