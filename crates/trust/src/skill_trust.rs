//! The trust verdict about a skill, for the gate, and which skills need trust.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use prowess_catalog::location::unescape_path;
use prowess_catalog::{Scope, Skill};
use prowess_policy::{
    Actor, Effect, PermissionRule, PermissionRules, RuleFault, RuleSource, SkillActor,
};
use prowess_registry::digest::{FactKind, FileFacts};
use prowess_registry::{Registry, files_of, outside_route, skill_path};
use prowess_spec::Manifest;
use prowess_spec::manifest::ToolList;

use crate::package_pin::{
    ChangedPackage, PackageFault, PackagePin, PinnedPackage, is_package_tree,
};
use crate::store::{TrustError, TrustKind, TrustState, TrustStore};

/// The trust verdict about a skill with a certain digest, and the tools that it asks for.
#[derive(Clone, Debug)]
pub struct SkillTrust {
    /// The name of the skill.
    pub name: Box<str>,
    /// Its folder, or its file if the skill is a single file. `None` if it is not on disk.
    pub place: Option<PathBuf>,
    /// The kind of its trust record.
    pub kind: TrustKind,
    /// The digest over all its files.
    pub digest: String,
    /// `true` if the skill must be trusted before it may run commands or grant tools.
    pub required: bool,
    /// The state in the trust store. `None` if no trust is required.
    pub state: Option<TrustState>,
    /// Its `allowed-tools` and `disallowed-tools`.
    pub tools: PermissionRules,
    /// `true` if it has `allowed-tools`, even if the list is empty or could not be read.
    pub has_tool_list: bool,
    /// The package that a lockfile pins. `None` if no lockfile names the skill.
    pub package: Option<Arc<PinnedPackage>>,
    /// `true` if its files are not those of the lockfile, so that it counts as text only.
    pub is_changed_package: bool,
    /// `true` for a skill of the project.
    pub of_project: bool,
}

/// The part that a skill plays in a request. It decides whether `allowed-tools` is everything that
/// the skill may use, or only what needs no approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkillRole {
    /// The skill's own commands and hooks, and `prowess exec`.
    Author,
    /// The skill is loaded in a conversation, and the agent acts for the user.
    Conversation,
    /// The skill has a run of its own.
    SubRun,
    /// A model runs a command as the skill with `run_command_line`.
    CommandTool,
}

impl SkillTrust {
    /// Looks up the trust of a skill, and compares it with its lockfile if it is a package. The
    /// manifest, the digest and the files must come from the same read. `project` is the folder in
    /// which agents work.
    pub fn new(
        skill: &Skill,
        manifest: &Manifest<'_>,
        digest: String,
        files: &[FileFacts],
        store: Option<&TrustStore>,
        project: &Path,
    ) -> Result<Self, TrustError> {
        let place = skill_path(skill);
        let kind = TrustKind::of_form(skill.form);
        let pin = package_of(skill, store);
        let may_be_package = !matches!(pin, PackagePin::Free | PackagePin::Live(_));
        let package = pinned(skill, pin)?;
        let is_changed = |package: &PinnedPackage| *package.digest != *digest;
        let is_changed_package = package.as_deref().is_some_and(is_changed);
        if let (Some(package), Some(place), true) = (&package, &place, is_changed_package)
            && package.changed == ChangedPackage::Refuse
        {
            return Err(TrustError::Package(package.fault(place, files)));
        }
        let required = may_be_package || is_foreign(skill, project);
        let state = match (&place, store) {
            (Some(place), Some(store)) if required => Some(store.state_of(kind, place, &digest)?),
            _ => None,
        };
        let mut tools = PermissionRules::default();
        let lists = [
            (Effect::Allow, &manifest.allowed_tools),
            (Effect::Deny, &manifest.disallowed_tools),
        ];
        for (effect, list) in lists {
            for token in list.iter().flat_map(ToolList::tokens) {
                let source = RuleSource::Skill(skill.name.clone());
                tools.add_as(effect, &token.text, source, |text, effect| {
                    rule_in_folder(text, effect, place.as_deref())
                });
            }
        }
        if let Some(folder) = place.as_deref().and_then(Path::to_str) {
            tools.read_also(folder);
        }
        // It is unknown what a list that could not be read allows or forbids.
        for (effect, key) in [
            (Effect::Allow, "allowed-tools"),
            (Effect::Deny, "disallowed-tools"),
        ] {
            if manifest.has_lost(key) {
                let source = RuleSource::Skill(skill.name.clone());
                tools.add_unread(effect, key, "the frontmatter could not be read", source);
            }
        }
        let has_tool_list = manifest.allowed_tools.is_some() || manifest.has_lost("allowed-tools");
        Ok(Self {
            name: skill.name.clone(),
            place,
            kind,
            digest,
            required,
            state,
            tools,
            has_tool_list,
            package,
            is_changed_package,
            of_project: skill.id.origin.scope == Scope::Project,
        })
    }

    /// Returns `true` if the skill may run commands and grant tools.
    pub fn is_trusted(&self) -> bool {
        !self.is_changed_package
            && (!self.required || self.state.as_ref().is_some_and(TrustState::is_trusted))
    }

    /// Returns the rules whose restrictions apply to the session that loads the skill. `None` if it
    /// is not trusted: an untrusted skill could otherwise switch off the hooks of others.
    pub fn restrictions(&self) -> Option<&PermissionRules> {
        self.is_trusted().then_some(&self.tools)
    }

    /// Returns the skill as an actor for the gate. `confine` is the setting of that name: `true`
    /// if `allowed-tools` limits skills outside of sub-runs too. `restrictions` are those of the
    /// skills that are loaded in the session: they apply to everything that runs in it.
    pub fn actor<'a>(
        &'a self,
        role: SkillRole,
        confine: bool,
        restrictions: &'a PermissionRules,
    ) -> Actor<'a> {
        let ceiling = match role {
            SkillRole::Author => confine,
            SkillRole::Conversation => confine && self.has_tool_list,
            SkillRole::SubRun | SkillRole::CommandTool => self.has_tool_list,
        };
        Actor {
            skill: Some(SkillActor {
                name: &self.name,
                digest: &self.digest,
                trusted: self.is_trusted(),
                folder: self.place.as_deref().and_then(Path::to_str),
                of_project: self.of_project,
                tools: &self.tools,
                ceiling,
            }),
            restrictions,
        }
    }
}

/// Parses a rule that may contain a variable for the skill's own folder:
/// `Bash(${CLAUDE_SKILL_DIR}/scripts/x.sh:*)`.
pub(crate) fn rule_in_folder(
    rule: &str,
    effect: Effect,
    place: Option<&Path>,
) -> Result<PermissionRule, RuleFault> {
    const VARIABLES: [&str; 3] = [
        "${CLAUDE_SKILL_DIR}",
        "${PROWESS_SKILL_DIR}",
        "${AGENTICK_SKILL_DIR}",
    ];
    match place.and_then(Path::to_str) {
        Some(folder) => PermissionRule::parse_in_folder(rule, effect, &VARIABLES, folder),
        None => PermissionRule::parse(rule, effect),
    }
}

/// Returns `true` if a skill must be trusted before it may run commands or grant tools: it comes
/// from a project, a server or the store of packages, a lockfile pins it or cannot be read, an agent
/// wrote it or may have, or an agent in `project` can write its files.
/// Other skills in the user's own folders, named on the command line or built into a program need no
/// trust.
pub fn is_required(skill: &Skill, project: &Path, store: Option<&TrustStore>) -> bool {
    let pin = package_of(skill, store);
    !matches!(pin, PackagePin::Free | PackagePin::Live(_)) || is_foreign(skill, project)
}

/// Returns what the lockfiles say about a skill.
pub fn package_of(skill: &Skill, store: Option<&TrustStore>) -> PackagePin {
    let entry = skill_path(skill).zip(store);
    entry.map_or(PackagePin::Free, |(entry, store)| store.pin(&entry))
}

/// Returns the version of a skill: the one that its lockfile names, or else the one that its author
/// wrote.
pub fn version_of(skill: &Skill, store: Option<&TrustStore>) -> Option<Box<str>> {
    match package_of(skill, store) {
        PackagePin::Pinned(package) if package.version.is_some() => package.version.clone(),
        _ => skill.version.clone(),
    }
}

/// Compares a skill with its lockfile, before one of its files is used. Reads all its files if it is a
/// package. Returns `None` if no lockfile pins it, or if changed packages are used as text.
pub fn check_package(
    skill: &Skill,
    registry: &Registry,
    store: Option<&TrustStore>,
) -> Result<Option<Arc<PinnedPackage>>, TrustError> {
    let Some(package) = pinned(skill, package_of(skill, store))? else {
        return Ok(None);
    };
    if *package.digest == *registry.digest(skill)? {
        return Ok(Some(package));
    }
    if package.changed == ChangedPackage::Text {
        return Ok(None);
    }
    let place = skill_path(skill).unwrap_or_default();
    let (folder, files) = files_of(&place)?;
    Err(package.fault(&folder, &files).into())
}

/// Returns the package that a skill is.
fn pinned(skill: &Skill, pin: PackagePin) -> Result<Option<Arc<PinnedPackage>>, PackageFault> {
    match pin {
        PackagePin::Free | PackagePin::Live(_) | PackagePin::Unknown => Ok(None),
        PackagePin::Pinned(package) => Ok(Some(package)),
        PackagePin::Unreadable { lock, reason } => Err(PackageFault::Lock {
            name: skill.name.clone(),
            lock,
            reason,
        }),
    }
}

/// Returns `true` if a skill is not the user's own, or an agent may have changed it.
fn is_foreign(skill: &Skill, project: &Path) -> bool {
    matches!(skill.id.origin.scope, Scope::Project | Scope::Server)
        || skill.by_agent
        || is_of_others(skill, project)
}

/// Most links of a skill that are followed. A skill with more needs trust.
const MAX_LINKS: usize = 256;

/// Returns `true` if the real files of a skill are those of a package, or are in the project, or around
/// it, or a link among its files leads there. A folder of skills inside the project is protected as a whole, so skills in it
/// count only if a link leads out of it.
fn is_of_others(skill: &Skill, project: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let (Some(place), Some(file)) = (skill_path(skill), skill.file()) else {
        return false;
    };
    let place = real(&place);
    if is_package_tree(&place) {
        return true;
    }
    if !project.is_absolute() {
        return false;
    }
    let (file, project) = (real(&file), real(project));
    let root = real(&unescape_path(&skill.id.origin.root));
    let is_protected = root != project && root.starts_with(&project);
    let is_inside =
        |path: &Path| path.starts_with(&project) && !(is_protected && path.starts_with(&root));
    let is_near = |path: &Path| project.starts_with(path) || is_inside(path);
    is_near(&place) || is_inside(&file) || links_match(&place, is_near)
}

/// Returns `true` if a link among the files of a skill passes through a path that matches or ends
/// there. A skill whose files cannot be listed, or whose links are broken or too many, matches too:
/// an agent may create the target of a broken link.
fn links_match(place: &Path, is_match: impl Fn(&Path) -> bool) -> bool {
    let Ok((folder, files)) = files_of(place) else {
        return true;
    };
    let links = files.iter().filter(|file| file.kind == FactKind::Link);
    let links: Vec<_> = links.collect();
    let is_followed = |link: &&FileFacts| match outside_route(&folder, &link.path) {
        None => false,
        Some(route) => match route.end() {
            None => true,
            Some(end) => is_match(end) || route.through.iter().any(|link| is_match(link)),
        },
    };
    links.len() > MAX_LINKS || links.iter().any(is_followed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn role_setting_and_list_decide_about_the_ceiling() {
        use SkillRole::{Author, CommandTool, Conversation, SubRun};
        let trust = |tools: Option<&str>| SkillTrust {
            name: "x".into(),
            place: None,
            kind: TrustKind::Skill,
            digest: String::new(),
            required: false,
            state: None,
            tools: PermissionRules::of_skill("x", tools.unwrap_or_default(), ""),
            has_tool_list: tools.is_some(),
            package: None,
            is_changed_package: false,
            of_project: false,
        };
        let ceiling = |role, confine, tools| {
            let trust = trust(tools);
            let none = PermissionRules::default();
            let skill = trust.actor(role, confine, &none).skill;
            skill.is_some_and(|skill| skill.ceiling)
        };
        // (role, not confined, confined): without a list, with an empty, a valid, an invalid one.
        let none = [
            (Author, false, true),
            (Conversation, false, false),
            (SubRun, false, false),
            (CommandTool, false, false),
        ];
        let some = [
            (Author, false, true),
            (Conversation, false, true),
            (SubRun, true, true),
            (CommandTool, true, true),
        ];
        for (tools, table) in [
            (None, none),
            (Some(""), some),
            (Some("Bash(ls:*)"), some),
            (Some("Bash(ls:*"), some),
        ] {
            for (role, free, confined) in table {
                assert_eq!(ceiling(role, false, tools), free, "{role:?} {tools:?}");
                assert_eq!(ceiling(role, true, tools), confined, "{role:?} {tools:?}");
            }
        }
    }
}
