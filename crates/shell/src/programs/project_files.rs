//! The files of a project that a command line names, or that its programs read by themselves.

/// Programs that execute what a file of the project says, and those files.
const PROJECT_FILES: &[(&[&str], &[&str])] = &[
    (
        &["npm", "npx", "yarn", "pnpm", "bun", "bunx", "node"],
        &["package.json"],
    ),
    (&["deno"], &["deno.json", "deno.jsonc"]),
    (
        &["uv", "uvx", "poetry", "pdm", "hatch", "pipenv", "rye"],
        &["pyproject.toml", "Pipfile"],
    ),
    (&["make", "gmake"], &["Makefile", "makefile", "GNUmakefile"]),
    (&["just"], &["justfile", "Justfile"]),
    (&["task"], &["Taskfile.yml", "Taskfile.yaml"]),
    (&["cargo"], &["Cargo.toml", "build.rs"]),
    (&["go"], &["go.mod"]),
    (&["bundle", "rake"], &["Gemfile", "Rakefile"]),
    (&["composer"], &["composer.json"]),
    (
        &["gradle", "mvn"],
        &["build.gradle", "build.gradle.kts", "pom.xml"],
    ),
    (
        &["docker", "podman", "docker-compose"],
        &["Dockerfile", "compose.yaml", "docker-compose.yml"],
    ),
];
/// Returns the files that a word of a command line may mean: itself, parts of it (`--require=./x`,
/// `cd lib && ./x`), a module of Python, and the files that a build tool reads.
pub fn named_files(word: &str) -> Vec<String> {
    let is_end = |c: char| c.is_whitespace() || "='\";&|()<>`$".contains(c);
    let parts = word.split(is_end).filter(|part| !part.is_empty());
    let mut found = vec![word.to_owned()];
    for part in parts {
        let module = part.replace('.', "/");
        let name = part.rsplit('/').next().unwrap_or(part);
        let read = PROJECT_FILES.iter();
        let read = read.filter(|(tools, _)| tools.contains(&name));
        found.push(part.to_owned());
        found.extend([format!("{module}.py"), format!("{module}/__main__.py")]);
        found.extend(read.flat_map(|(_, files)| files.iter().map(|file| (*file).to_owned())));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_files_are_words_parts_modules_and_build_files() {
        for (word, expected) in [
            ("--require=./x.js", "./x.js"),
            ("cd lib && ./x", "./x"),
            ("lib.app", "lib/app/__main__.py"),
            ("/usr/bin/make", "Makefile"),
            ("npx", "package.json"),
        ] {
            let found = named_files(word);
            assert!(
                found.iter().any(|file| file == expected),
                "{word}: {found:?}"
            );
        }
        assert!(!named_files("makefiles").contains(&"Makefile".to_owned()));
    }
}
