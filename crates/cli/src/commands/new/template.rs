//! Templates of new skills.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use prowess_spec::SkillName;
use prowess_spec::yaml::write;

/// Default description of a new skill.
const DESCRIPTION: &str = "Describe what this skill does. Use when the user asks for it.";

/// A template of a skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub(super) enum Template {
    /// Only instructions.
    Minimal,
    /// With a script.
    Script,
    /// With arguments.
    Arguments,
}

/// A file of a template.
#[derive(Clone, Copy, Debug)]
pub(super) struct TemplateFile {
    /// Its path relative to the skill's folder.
    pub path: &'static str,
    text: &'static str,
    is_executable: bool,
}

impl Template {
    /// Returns the files of the template; the first is `SKILL.md`.
    pub(super) fn files(self) -> &'static [TemplateFile] {
        const fn file(path: &'static str, text: &'static str, is_executable: bool) -> TemplateFile {
            TemplateFile {
                path,
                text,
                is_executable,
            }
        }
        const SKILL: &str = "SKILL.md";
        const MINIMAL: &[TemplateFile] = &[file(
            SKILL,
            include_str!("templates/minimal/SKILL.md"),
            false,
        )];
        const ARGUMENTS: &[TemplateFile] = &[file(
            SKILL,
            include_str!("templates/arguments/SKILL.md"),
            false,
        )];
        const SCRIPT: &[TemplateFile] = &[
            file(SKILL, include_str!("templates/script/SKILL.md"), false),
            file(
                "scripts/run.sh",
                include_str!("templates/script/run.sh"),
                true,
            ),
        ];
        match self {
            Self::Minimal => MINIMAL,
            Self::Arguments => ARGUMENTS,
            Self::Script => SCRIPT,
        }
    }

    /// Writes the files into a folder, without overwriting existing ones. Returns their paths, or the path
    /// that could not be written and the error.
    pub(super) fn create(
        self,
        folder: &Path,
        name: &SkillName,
        description: Option<&str>,
    ) -> Result<Vec<PathBuf>, (PathBuf, std::io::Error)> {
        let fill = |text: &str| {
            text.replace("{{name}}", name.as_str())
                .replace("{{title}}", &title(name.as_str()))
                .replace(
                    "{{description}}",
                    &write::scalar(description.unwrap_or(DESCRIPTION)),
                )
        };
        let write = |file: &TemplateFile| {
            let path = folder.join(file.path);
            match create(&path, &fill(file.text), file.is_executable) {
                Ok(()) => Ok(path),
                Err(error) => Err((path, error)),
            }
        };
        self.files().iter().map(write).collect()
    }
}

/// Converts a name to a title: `release-notes` becomes `Release notes`.
fn title(name: &str) -> String {
    let words = name.replace('-', " ");
    let mut characters = words.chars();
    characters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(characters).collect()
    })
}

fn create(path: &Path, text: &str, is_executable: bool) -> std::io::Result<()> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)?;
    file.write_all(text.as_bytes())?;
    if is_executable {
        file.set_permissions(std::fs::Permissions::from_mode(0o755))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn existing_files_are_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let name = SkillName::new("release-notes").unwrap();
        let create = || Template::Script.create(folder.path(), &name, Some("Writes: notes"));
        let files = create().unwrap();
        let text = std::fs::read_to_string(&files[0]).unwrap();
        assert!(
            text.contains("name: release-notes\ndescription: 'Writes: notes'\n"),
            "{text}"
        );
        assert!(text.contains("# Release notes\n"), "{text}");
        let (path, error) = create().unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::AlreadyExists);
        assert_eq!(path, files[0]);
    }
}
