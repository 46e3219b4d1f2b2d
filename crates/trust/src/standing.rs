//! How a skill stands before the gate: what it may use, and whether it is trusted.

use std::path::{Path, PathBuf};

use prowess_catalog::{Form, Skill};
use prowess_policy::{Actor, Effect, RuleSet, SkillActor, Source};
use prowess_spec::manifest::ToolList;
use prowess_spec::parse;

use crate::store::{Error, State, TrustStore, digest_of};

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
    pub tools: RuleSet,
}

impl Standing {
    /// Looks a skill up. `text` is its SKILL.md.
    pub fn of(skill: &Skill, text: &[u8], store: Option<&TrustStore>) -> Result<Self, Error> {
        let place = place_of(skill);
        let required = crate::is_required(skill);
        let digest = match (&place, &skill.seal) {
            (Some(place), _) => digest_of(place)?,
            (None, Some(seal)) => seal.to_string(),
            (None, None) => format!("memory:{:016x}", skill.fingerprint),
        };
        let state = match (&place, store) {
            (Some(place), Some(store)) if required => Some(store.state(place)?),
            _ => None,
        };
        let manifest = parse(text).manifest;
        let mut tools = RuleSet::default();
        let lists =
            [(Effect::Allow, &manifest.allowed_tools), (Effect::Deny, &manifest.disallowed_tools)];
        for (effect, list) in lists {
            for token in list.iter().flat_map(|list: &ToolList| &list.tokens) {
                let source = Source::Skill(skill.name.clone());
                tools.add(effect, &with_folder(&token.text, place.as_deref()), source);
            }
        }
        Ok(Self { name: skill.name.clone(), place, digest, required, state, tools })
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
    let Some(folder) = place.and_then(Path::to_str) else { return rule.to_owned() };
    ["${CLAUDE_SKILL_DIR}", "${PROWESS_SKILL_DIR}", "${AGENTICK_SKILL_DIR}"]
        .iter()
        .fold(rule.to_owned(), |rule, name| rule.replace(name, folder))
}
