//! Skills that exist only in memory.

use std::sync::Arc;

use prowess_catalog::{
    Catalog, FileStamp, Location, Precedence, Scope, Skill, SkillForm, SkillId, SkillLocation,
    SkillOrigin,
};
use prowess_spec::parse;

/// Creates a root of a scope at a position among the others.
pub(crate) fn root(scope: Scope, order: u32, path: &str) -> Arc<SkillOrigin> {
    Arc::new(SkillOrigin::new(scope, order, path))
}

/// Creates a root of the project.
pub(crate) fn project() -> Arc<SkillOrigin> {
    root(Scope::Project, 0, "/work/.agents/skills")
}

/// Creates a root of the user.
pub(crate) fn user() -> Arc<SkillOrigin> {
    root(Scope::User, 5, "/dwelling/.agents/skills")
}

/// Creates a folder skill of a root from the text of its `SKILL.md`.
pub(crate) fn folder(origin: &Arc<SkillOrigin>, path: &str, text: &str) -> Arc<Skill> {
    make(origin, path, SkillForm::Folder, text)
}

/// Creates a skill of this form; a command is named by its path.
pub(crate) fn make(
    origin: &Arc<SkillOrigin>,
    path: &str,
    form: SkillForm,
    text: &str,
) -> Arc<Skill> {
    let id = SkillId {
        origin: Arc::clone(origin),
        path: path.into(),
    };
    let (location, given) = if form == SkillForm::Command {
        (
            format!("{}/{path}", origin.root),
            path.trim_end_matches(".md").replace('/', ":"),
        )
    } else {
        let name = path.rsplit('/').next().unwrap_or(path);
        (format!("{}/{path}/SKILL.md", origin.root), name.to_owned())
    };
    let stamp = FileStamp {
        size: text.len() as u64,
        ..FileStamp::default()
    };
    let place = SkillLocation {
        id,
        form,
        location: Location::from_text(location),
        given: Some(&given),
        stamp,
        sidecar: None,
        fingerprint: text.len() as u64,
    };
    Arc::new(Skill::from_text(place, &parse(text.as_bytes()), None))
}

/// Creates a text with a name, a description and further keys.
pub(crate) fn text(name: &str, more: &str) -> String {
    format!("---\nname: {name}\ndescription: about {name}\n{more}---\n\nDo it.\n")
}

/// Creates a skill of the project.
pub(crate) fn skill(name: &str, more: &str) -> Arc<Skill> {
    folder(&project(), name, &text(name, more))
}

pub(crate) fn catalog(skills: Vec<Arc<Skill>>) -> Catalog {
    Catalog::new(skills, Precedence::default(), 1)
}
