//! Reads everything at a path that can be converted: missions, agents and skills.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use prowess_flow::AgentFile;
use prowess_flow::convert::{ConvertAgent, ConvertSource, MissionSource, SkillText};
use prowess_flow::mission::{MissionProject, is_mission_file};
use prowess_spec::ReadFault;

use crate::agent_files::{AgentPath, OpenProject, agent_paths_below};
use crate::fs::read::{FoundSkill, read_path};
use crate::fs::walk::{WalkOptions, walk};
use crate::mission_files::MissionFiles;

/// Maximum depth of folders that are searched for skills.
const MAX_DEPTH: usize = 16;

/// What can be converted at a path.
#[derive(Debug, Default)]
pub struct ConversionFiles {
    /// The files of Squadron.
    pub missions: Option<MissionFiles>,
    /// Agent files, by path.
    pub agents: Vec<AgentFile>,
    /// Skills, by path. The path is that of the `SKILL.md`.
    pub skills: Vec<SkillText>,
    /// Files that could not be read, and why.
    pub unread: Vec<(PathBuf, ReadFault)>,
    /// `true` if there are more files than were looked at.
    pub is_truncated: bool,
}

impl ConversionFiles {
    /// Reads a file, or everything below a folder. Links are not followed.
    pub fn read(path: &Path) -> Result<Self, ReadFault> {
        let mut found = Self::default();
        let full = path.canonicalize().map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => ReadFault::Missing,
            _ => ReadFault::Unreadable(prowess_diag::io_reason(error).to_lowercase()),
        })?;
        if full.is_dir() {
            let missions = MissionFiles::read(&full)?;
            let is_mission = |bytes: &Vec<u8>| is_mission_file(bytes);
            let mut texts = missions.files.iter();
            if texts.any(|file| file.bytes.as_ref().is_ok_and(is_mission)) {
                found.missions = Some(missions);
            }
            let (agents, is_truncated) = agent_paths_below(&full);
            found.is_truncated = is_truncated;
            for agent in agents {
                found.add_agent(&agent);
            }
            let options = WalkOptions {
                max_depth: MAX_DEPTH,
                // A link may lead anywhere.
                max_linked_folders: 0,
                ..WalkOptions::default()
            };
            let skills = Mutex::new(Self::default());
            let visit = |skill: FoundSkill<'_>| {
                if let Ok(mut skills) = skills.lock() {
                    skills.add_skill(&skill);
                }
            };
            let summary = walk(&[full], options, &visit);
            found.is_truncated |= summary.notices.iter().any(|notice| {
                matches!(
                    notice,
                    crate::ScanNotice::TooDeep { .. } | crate::ScanNotice::TooMany { .. }
                )
            });
            let skills = skills.into_inner().unwrap_or_default();
            found.skills = skills.skills;
            found.unread.extend(skills.unread);
            found.skills.sort_by(|one, other| one.path.cmp(&other.path));
        } else if full.extension().is_some_and(|ending| ending == "hcl") {
            found.missions = Some(MissionFiles::read(&full)?);
        } else if let Some(agent) = AgentPath::found(&full) {
            found.add_agent(&agent);
        } else if full
            .file_name()
            .is_some_and(|name| name.eq_ignore_ascii_case("SKILL.md"))
        {
            read_path(&full, &mut |skill| found.add_skill(&skill));
        }
        Ok(found)
    }

    fn add_agent(&mut self, agent: &AgentPath) {
        match agent.read() {
            Ok(file) => self.agents.push(file),
            Err(fault) => self.unread.push((agent.root.join(&agent.path), fault)),
        }
    }

    fn add_skill(&mut self, skill: &FoundSkill<'_>) {
        let bytes = match &skill.bytes {
            Ok(bytes) => *bytes,
            Err(fault) => {
                self.unread.push((skill.path.to_owned(), fault.clone()));
                return;
            }
        };
        let Ok(text) = str::from_utf8(bytes) else {
            let fault = ReadFault::Unreadable("it is not UTF-8".to_owned());
            self.unread.push((skill.path.to_owned(), fault));
            return;
        };
        let own = skill.package.file_name();
        let others = skill.package.paths();
        let others = others.into_iter().filter(|path| Some(*path) != own);
        self.skills.push(SkillText {
            path: skill.path.to_string_lossy().into_owned(),
            folder: skill.package.folder().map(str::to_owned),
            text: text.into(),
            others: others.map(str::to_owned).collect(),
        });
    }

    /// Returns `true` if there is nothing to convert.
    pub fn is_empty(&self) -> bool {
        self.missions.is_none() && self.agents.is_empty() && self.skills.is_empty()
    }

    /// Opens the folders of the projects, so that files can be copied and places shown.
    pub fn open(&self) -> Result<ConversionProjects, ReadFault> {
        let mut projects = BTreeMap::new();
        let missions = self.missions.as_ref().map(|missions| &missions.root);
        for root in missions
            .into_iter()
            .chain(self.agents.iter().map(|file| &file.root))
        {
            if let Entry::Vacant(entry) = projects.entry(root.clone()) {
                entry.insert(OpenProject::open(root)?);
            }
        }
        Ok(ConversionProjects(projects))
    }

    /// Returns the source of a conversion. `project` is what the mission files say, and `shown` turns
    /// a path into the text of findings.
    pub fn source<'a>(
        &'a self,
        projects: &'a ConversionProjects,
        project: Option<&'a MissionProject>,
        shown: &dyn Fn(&Path) -> String,
    ) -> ConvertSource<'a> {
        let missions = self.missions.as_ref().zip(project);
        let missions = missions.and_then(|(missions, project)| {
            Some(MissionSource {
                folder: shown(&missions.root),
                files: &missions.files,
                project,
                others: projects.0.get(&missions.root)?,
            })
        });
        let agent = |file: &'a AgentFile| {
            Some(ConvertAgent {
                folder: shown(&file.root),
                file,
                others: projects.0.get(&file.root)?,
            })
        };
        // A skill that a block names as its source is part of the block.
        let is_source = |skill: &&SkillText| {
            let root = self.missions.as_ref().map(|missions| &missions.root);
            let mut blocks = project.iter().flat_map(|project| &project.skills);
            blocks.any(|block| {
                let folder = root.zip(block.folder.as_deref());
                folder.is_some_and(|(root, folder)| {
                    Path::new(&skill.path).parent() == Some(root.join(folder).as_path())
                })
            })
        };
        let skills = self.skills.iter().filter(|skill| !is_source(skill));
        let skill = |skill: &SkillText| SkillText {
            path: shown(Path::new(&skill.path)),
            ..skill.clone()
        };
        ConvertSource {
            missions,
            agents: self.agents.iter().filter_map(agent).collect(),
            skills: skills.map(skill).collect(),
            servers: Vec::new(),
        }
    }
}

/// The open folders of projects.
#[derive(Debug)]
pub struct ConversionProjects(BTreeMap<PathBuf, OpenProject>);
