//! Resolves the name of a program, once, before anything starts.

use std::fs::Metadata;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use prowess_policy::Plan;

use crate::error::ExecError;

/// A file and its words. The first word is the name that the program sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    pub(crate) file: PathBuf,
    pub(crate) words: Vec<Box<str>>,
}

impl Program {
    /// Returns the words for the record, with the file instead of its name.
    pub(crate) fn record(&self) -> Vec<Box<str>> {
        let file = self.file.to_string_lossy().into();
        std::iter::once(file)
            .chain(self.words.iter().skip(1).cloned())
            .collect()
    }
}

/// Resolves the program of a plan.
pub(crate) fn program(plan: &Plan, folders: &[PathBuf], cwd: &Path) -> Result<Program, ExecError> {
    let words: Vec<Box<str>> = match plan {
        Plan::Words(words) => words.clone(),
        Plan::Script(script) | Plan::AsTyped(script) => {
            ["bash", "--norc", "--noprofile", "-c", script]
                .map(Into::into)
                .into()
        }
    };
    let Some(name) = words.first().filter(|name| !name.is_empty()) else {
        return Err(ExecError::Empty);
    };
    if let Some(at) = words.iter().position(|word| word.contains('\0')) {
        let what = if at == 0 {
            "the program's name".into()
        } else {
            format!("word {at}").into()
        };
        return Err(ExecError::Nul { what });
    }
    let file = resolve(name, folders, cwd)?;
    Ok(Program { file, words })
}

fn resolve(name: &str, folders: &[PathBuf], cwd: &Path) -> Result<PathBuf, ExecError> {
    if name.contains('/') {
        let path = cwd.join(name);
        return match path.metadata() {
            Err(error) => {
                let why = error.to_string().into();
                Err(ExecError::NotExecutable { path, why })
            }
            Ok(facts) if facts.is_dir() => Err(ExecError::NotExecutable {
                path,
                why: "it is a folder".into(),
            }),
            Ok(facts) if !runs(&facts) => Err(ExecError::NotExecutable {
                path,
                why: "it is not executable".into(),
            }),
            Ok(_) => Ok(path),
        };
    }
    folders
        .iter()
        .map(|folder| folder.join(name))
        .find(|path| path.metadata().is_ok_and(|facts| runs(&facts)))
        .ok_or_else(|| ExecError::ProgramMissing {
            name: name.into(),
            folders: folders.to_vec(),
        })
}

fn runs(facts: &Metadata) -> bool {
    facts.is_file() && facts.permissions().mode() & 0o111 != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Plan {
        Plan::Words(words.iter().map(|word| (*word).into()).collect())
    }

    #[test]
    fn names_are_looked_up_and_paths_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tool");
        std::fs::write(&file, "#!/bin/sh\n").unwrap();
        let folders = [folder.path().to_owned()];
        let cwd = folder.path();

        let missing = program(&words(&["tool"]), &folders, cwd).unwrap_err();
        assert!(
            matches!(missing, ExecError::ProgramMissing { .. }),
            "no `x`: {missing}"
        );
        let stuck = program(&words(&["./tool"]), &folders, cwd).unwrap_err();
        assert!(
            stuck.to_string().contains("it is not executable"),
            "{stuck}"
        );

        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).unwrap();
        assert_eq!(
            program(&words(&["tool"]), &folders, Path::new("/"))
                .unwrap()
                .file,
            file
        );
        let relative = program(&words(&["./tool", "a"]), &[], cwd).unwrap();
        assert_eq!(relative.file, cwd.join("./tool"));
        assert_eq!(relative.record()[1], "a".into());
        assert!(
            program(&words(&["tool"]), &[], cwd).is_err(),
            "the folder itself is not searched"
        );
    }

    #[test]
    fn bad_words_are_named() {
        let error = |plan| program(&plan, &[], Path::new("/")).unwrap_err().to_string();
        assert_eq!(error(words(&[])), "the command is empty");
        assert_eq!(error(words(&["", "a"])), "the command is empty");
        assert_eq!(error(words(&["a", "b\0c"])), "word 1 has a NUL byte");
        assert_eq!(error(words(&["/"])), "cannot run `/`: it is a folder");
        assert_eq!(
            error(words(&["x"])),
            "no program named `x` in an empty search path"
        );
    }
}
