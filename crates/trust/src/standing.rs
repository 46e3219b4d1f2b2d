//! How a skill stands before the gate: what it may use, and whether it is trusted.

use std::path::{Path, PathBuf};

use prowess_catalog::{Form, Skill};
use prowess_policy::{Actor, Effect, PermissionRules, RuleSource, SkillActor};
use prowess_registry::Registry;
use prowess_registry::digest::{self, FileFacts};
use prowess_spec::manifest::ToolList;
use prowess_spec::parse;

use crate::store::{Contents, Error, State, TrustStore, contents, contents_of};

/// Most files of a small skill, and most bytes in them: less than a millisecond to read and hash.
const SMALL_FILES: usize = 64;
const SMALL_BYTES: u64 = 256 * 1024;

/// How a skill stands before the gate.
#[derive(Clone, Debug)]
pub struct Standing {
    /// Its name.
    pub name: Box<str>,
    /// Its folder, or its file where a file alone is the skill; nothing where it is not on disk.
    pub place: Option<PathBuf>,
    /// The digest over all its files.
    pub digest: String,
    /// Whether a person must trust it before it may do anything.
    pub required: bool,
    /// Whether somebody does; nothing where nobody has to.
    pub state: Option<State>,
    /// Its `allowed-tools` and `disallowed-tools`.
    pub tools: PermissionRules,
}

/// A skill as one reading found it: its text and the digest that trust is bound to are of the same
/// bytes.
#[derive(Clone, Debug)]
pub struct Reading {
    /// Its SKILL.md, or the file that is the skill.
    pub text: Vec<u8>,
    /// Its files on disk, in order of path.
    pub files: Vec<FileFacts>,
    /// How it stands before the gate.
    pub standing: Standing,
}

impl Reading {
    /// Reads a skill, and looks it up.
    pub fn of(
        skill: &Skill,
        registry: &Registry,
        store: Option<&TrustStore>,
    ) -> Result<Self, Error> {
        let read = || registry.text(&skill.id).map_err(Error::Text);
        let (text, files, digest) = match (place_of(skill), &skill.seal) {
            (Some(place), _) => {
                let main = Path::new(&*skill.location).file_name();
                match contents(&place, main.filter(|_| skill.form == Form::Folder)) {
                    Ok(Contents {
                        files,
                        digest,
                        text: Some(text),
                    }) => (text, files, digest),
                    Ok(Contents {
                        files,
                        digest,
                        text: None,
                    }) => (read()?, files, digest),
                    // Where SKILL.md itself cannot be read, that is what is wrong.
                    Err(error) => return Err(read().err().unwrap_or(error)),
                }
            }
            (None, Some(seal)) => (read()?, Vec::new(), seal.to_string()),
            (None, None) => (
                read()?,
                Vec::new(),
                format!("memory:{:016x}", skill.fingerprint),
            ),
        };
        let standing = Standing::of(skill, &text, digest, store)?;
        Ok(Self {
            text,
            files,
            standing,
        })
    }

    /// The same on a thread that must not wait: nothing for a skill that is not a folder with a few
    /// small files, or cannot be read.
    pub fn of_small(skill: &Skill, store: Option<&TrustStore>) -> Option<Self> {
        let place = place_of(skill).filter(|_| skill.form == Form::Folder)?;
        let listed = digest::files_within(&place, SMALL_FILES, SMALL_BYTES).ok()?;
        let main = Path::new(&*skill.location).file_name();
        let Contents {
            files,
            digest,
            text,
        } = contents_of(&place, &place, listed, main).ok()?;
        let text = text?;
        let standing = Standing::of(skill, &text, digest, store).ok()?;
        Some(Self {
            text,
            files,
            standing,
        })
    }
}

impl Standing {
    /// What a text with this digest stands for.
    fn of(
        skill: &Skill,
        text: &[u8],
        digest: String,
        store: Option<&TrustStore>,
    ) -> Result<Self, Error> {
        let place = place_of(skill);
        let required = crate::is_required(skill);
        let state = match (&place, store) {
            (Some(place), Some(store)) if required => {
                Some(store.state_with(place, |_| Ok(digest.clone()))?)
            }
            _ => None,
        };
        let manifest = parse(text).manifest;
        let mut tools = PermissionRules::default();
        let lists = [
            (Effect::Allow, &manifest.allowed_tools),
            (Effect::Deny, &manifest.disallowed_tools),
        ];
        for (effect, list) in lists {
            for token in list.iter().flat_map(ToolList::tokens) {
                let source = RuleSource::Skill(skill.name.clone());
                tools.add(effect, &with_folder(&token.text, place.as_deref()), source);
            }
        }
        Ok(Self {
            name: skill.name.clone(),
            place,
            digest,
            required,
            state,
            tools,
        })
    }

    /// Tells whether the skill may do anything at all.
    pub fn is_trusted(&self) -> bool {
        !self.required || self.state.as_ref().is_some_and(State::is_trusted)
    }

    /// The skill as the gate sees it. With a ceiling, its `allowed-tools` are all it may use.
    pub fn actor(&self, ceiling: bool) -> Actor<'_> {
        Actor {
            skill: Some(SkillActor {
                name: &self.name,
                digest: &self.digest,
                trusted: self.is_trusted(),
                tools: &self.tools,
                ceiling,
            }),
        }
    }
}

/// Where a skill is on disk: its folder, or its file where a file alone is the skill.
pub fn place_of(skill: &Skill) -> Option<PathBuf> {
    let file = PathBuf::from(&*skill.location);
    match skill.form {
        Form::Folder => file.parent().map(Path::to_owned),
        Form::File | Form::Command => Some(file),
        Form::Memory => None,
    }
}

/// Rules may name the skill's own folder: `Bash(${CLAUDE_SKILL_DIR}/scripts/x.sh:*)`.
fn with_folder(rule: &str, place: Option<&Path>) -> String {
    let Some(folder) = place.and_then(Path::to_str) else {
        return rule.to_owned();
    };
    [
        "${CLAUDE_SKILL_DIR}",
        "${PROWESS_SKILL_DIR}",
        "${AGENTICK_SKILL_DIR}",
    ]
    .iter()
    .fold(rule.to_owned(), |rule, name| rule.replace(name, folder))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use prowess_catalog::Precedence;

    use super::*;
    use crate::store::digest_of;

    #[test]
    fn text_files_and_digest_are_of_one_reading() {
        let world = tempfile::tempdir().unwrap();
        let [root, elsewhere] = ["skills", "elsewhere"].map(|name| world.path().join(name));
        let text = |name: &str| format!("---\nname: {name}\ndescription: Does it.\n---\nDo it.\n");
        for folder in [
            root.join("plain/notes"),
            root.join("inner"),
            elsewhere.clone(),
        ] {
            fs::create_dir_all(folder).unwrap();
        }
        fs::write(root.join("plain/SKILL.md"), text("plain")).unwrap();
        fs::write(root.join("plain/notes/a.md"), "a").unwrap();
        fs::write(root.join("inner/text.md"), text("inner")).unwrap();
        symlink("text.md", root.join("inner/SKILL.md")).unwrap();
        fs::write(elsewhere.join("SKILL.md"), text("linked")).unwrap();
        symlink(&elsewhere, root.join("linked")).unwrap();
        let registry = Registry::new(Precedence::default());
        registry.load_dir(&root).unwrap();
        for (name, files) in [
            ("plain", &["SKILL.md", "notes/a.md"][..]),
            ("inner", &["SKILL.md", "text.md"]),
            ("linked", &["SKILL.md"]),
        ] {
            let skill = registry.get(name).unwrap();
            let read = Reading::of(&skill, &registry, None).unwrap();
            assert_eq!(read.text, text(name).as_bytes(), "{name}");
            let found: Vec<&str> = read
                .files
                .iter()
                .map(|file| file.path.to_str().unwrap())
                .collect();
            assert_eq!(found, files, "{name}");
            assert_eq!(
                read.standing.digest,
                digest_of(&root.join(name)).unwrap(),
                "{name}"
            );
        }
        let skill = registry.get("plain").unwrap();
        fs::remove_file(root.join("plain/SKILL.md")).unwrap();
        let gone = Reading::of(&skill, &registry, None).unwrap_err();
        assert_eq!(
            gone.to_string(),
            "cannot read the skill: there is no such file"
        );
    }
}
