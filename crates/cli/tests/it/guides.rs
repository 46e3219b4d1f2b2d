//! The guides for people who come from other systems: every file in them is written, and every
//! command is run.

use crate::world::World;

/// The guides, and the fewest commands that each must run.
const GUIDES: [(&str, usize); 5] = [
    ("convert.md", 4),
    ("from-claude-code.md", 8),
    ("from-planck.md", 6),
    ("from-skilled-crew.md", 6),
    ("from-core-agent.md", 7),
];

/// A fenced block of a guide.
#[derive(Debug)]
enum Snippet {
    /// A file of the project.
    File { path: String, text: String },
    /// The configuration of the user.
    Configuration(String),
    /// A command line, and the exit codes that it may have.
    Command { line: String, codes: Vec<i32> },
}

/// Returns the snippets of a guide. A fence is `LANGUAGE PATH` for a file, `toml` for the
/// configuration, and `sh` for commands. A comment `# exits with N` gives exit codes other than 0.
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
            Some((_, path)) => found.push(Snippet::File {
                path: path.to_owned(),
                text,
            }),
            None if info == "toml" => found.push(Snippet::Configuration(text)),
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

/// Runs a command and returns its exit code and its output. `trust` asks a person, who says yes: the
/// test confirms with the digest that the command shows.
fn run(world: &World, line: &str) -> (i32, String) {
    let words = words(line);
    assert_eq!(words[0], "prowess", "{line}");
    let mut arguments = words[1..].to_vec();
    if arguments[0] == "trust" {
        let shown = world.run(&[&arguments[..], &["--json".to_owned()]].concat());
        if shown.code != 0 {
            return (shown.code, shown.stderr);
        }
        let digest = shown.json()["skills"][0]["digest"].clone();
        arguments.push("--digest".to_owned());
        arguments.push(digest.as_str().unwrap().to_owned());
    }
    let output = world.command(&arguments).stdin(String::new()).run();
    (output.code, format!("{}{}", output.stdout, output.stderr))
}

#[test]
fn every_snippet_of_a_guide_works() {
    for (guide, least) in GUIDES {
        let path = format!("{}/../../docs/guides/{guide}", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap();
        if guide.starts_with("from-") {
            assert!(text.contains("\nKeep your files, type this"), "{guide}");
        }
        let snippets = snippets(&text);
        let world = World::new();
        for snippet in &snippets {
            match snippet {
                Snippet::File { path, text } => _ = world.file(path, text),
                Snippet::Configuration(text) => _ = world.file("~/config.toml", text),
                Snippet::Command { .. } => {}
            }
        }
        let mut count = 0;
        for snippet in &snippets {
            let Snippet::Command { line, codes } = snippet else {
                continue;
            };
            let (code, output) = run(&world, line);
            count += 1;
            assert!(
                codes.contains(&code),
                "{guide}: `{line}` exits with {code}\n{output}"
            );
        }
        assert!(count >= least, "{guide}: {count} commands");
    }
}
