//! Reads, checks and fixes agent files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use prowess_catalog::Catalog;
use prowess_diag::{Diagnostic, FileReport, fix};
use prowess_flow::{AgentFile, Dialect};
use prowess_lint::LintRuleSet;
use prowess_lint::rules::{self, RULES};
use prowess_registry::{AgentPath, Place, read_agent_file, read_agent_text};
use prowess_spec::ReadFault;

use crate::validate::job::ValidationJob;
use crate::validate::missions::MissionTarget;

/// Maximum number of rounds of fixes. A fix may reveal another finding.
const MAX_ROUNDS: usize = 8;

/// Returns `true` if a path is that of an agent or mission file, such as `.claude/agents/a.md`,
/// `TEAM.json` or `missions.hcl`.
pub fn is_agent_file(path: &Path) -> bool {
    AgentTarget::new(path, None).is_some() || MissionTarget::new(path).is_some()
}

/// Reads the agent file at a path. Returns `None` if the path is not that of an agent file, or if it
/// cannot be read.
pub fn read_agent_file_at(path: &Path) -> Option<AgentFile> {
    AgentTarget::new(path, None)?.read().ok()
}

/// An agent file at a path.
pub(super) struct AgentTarget {
    /// The project, without links.
    pub(super) root: PathBuf,
    /// The path below it.
    path: String,
    dialect: Dialect,
    /// All skills that its agents can name, if they are known.
    skills: Option<SkillNames>,
}

/// The skills that agents can name.
#[derive(Clone, Debug)]
pub struct SkillNames {
    /// The skills.
    pub catalog: Arc<Catalog>,
    /// The place from which they are visible.
    pub place: Place,
}

impl AgentTarget {
    /// Returns `None` if a path is not that of an agent file. With a dialect, any file is one.
    pub(super) fn new(path: &Path, dialect: Option<Dialect>) -> Option<Self> {
        let AgentPath {
            root,
            path,
            dialect,
        } = match dialect {
            Some(dialect) => AgentPath::with(path, dialect)?,
            None => AgentPath::of(path)?,
        };
        Some(Self {
            root,
            path,
            dialect,
            skills: None,
        })
    }

    /// Returns `true` if a file of this name may be an agent file, in some folder.
    pub(super) fn may_be(name: &[u8]) -> bool {
        let endings: [&[u8]; 6] = [b".md", b".toml", b".yaml", b".yml", b".json", b".hcl"];
        endings.iter().any(|ending| name.ends_with(ending))
    }

    fn read(&self) -> Result<AgentFile, ReadFault> {
        read_agent_file(&self.root, &self.path, self.dialect)
    }

    /// Reads the file, and checks the skills that it names if `known` returns all skills of the
    /// project.
    pub(super) fn read_with(
        &mut self,
        known: impl FnOnce(&Path) -> Option<SkillNames>,
    ) -> Result<AgentFile, ReadFault> {
        let mut file = self.read()?;
        if file
            .agents
            .iter()
            .any(|agent| !agent.skill_names.is_empty())
        {
            self.skills = known(&self.root);
        }
        self.check_skills(&mut file);
        Ok(file)
    }

    fn check_skills(&self, file: &mut AgentFile) {
        if let Some(SkillNames { catalog, place }) = &self.skills {
            prowess_tools::check_skills(file, catalog, place);
        }
    }

    /// Returns the findings about another text of the file.
    pub(super) fn read_text(&self, bytes: &[u8]) -> Vec<FileReport> {
        let read = read_agent_text(&self.root, &self.path, self.dialect, bytes);
        let Ok(mut file) = read else {
            return Vec::new();
        };
        self.check_skills(&mut file);
        file.reports
    }

    /// Applies the rules of a job to the findings of reports: which of them are reported, and how
    /// severe they are.
    pub(super) fn selected(rules: &LintRuleSet, mut reports: Vec<FileReport>) -> Vec<FileReport> {
        for report in &mut reports {
            report.diagnostics.retain_mut(|finding| {
                let Some(index) = rules::position(finding.rule) else {
                    return true;
                };
                let rule = &RULES[index];
                let Some(severity) = rules.severity(index) else {
                    return false;
                };
                // Some findings of a rule about agents are less severe than others. They keep their
                // severity, unless the user chose one.
                let usual = rule.levels.under(rules.profile(), rules.target());
                if !rule.on_agents || usual != Some(severity) {
                    finding.severity = severity;
                }
                true
            });
        }
        reports.retain(|report| !report.diagnostics.is_empty());
        reports
    }

    /// Applies the fixes that a job wants to the text of the file itself. Returns the new text and
    /// the rules whose findings were fixed, or `None` if there is nothing to fix.
    pub(super) fn fixed(
        &self,
        job: &ValidationJob,
        report: &FileReport,
    ) -> Option<(String, Vec<&'static str>)> {
        fixed(job, report, &|text| {
            let reports = Self::selected(&job.rules, self.read_text(text.as_bytes()));
            let mut reports = reports.into_iter();
            reports.find(|report| report.path == self.path)
        })
    }
}

/// Applies the fixes that a job wants, and those of the findings that `read` returns for the new text.
/// Returns the new text and the rules whose findings were fixed.
pub(super) fn fixed(
    job: &ValidationJob,
    report: &FileReport,
    read: &dyn Fn(&str) -> Option<FileReport>,
) -> Option<(String, Vec<&'static str>)> {
    let mut text = report.text().to_owned();
    let mut applied = Vec::new();
    let mut findings: Vec<Diagnostic> = report.diagnostics.clone();
    for _ in 0..MAX_ROUNDS {
        let wanted = findings.iter().filter_map(|finding| {
            let fix = finding.fix.as_ref()?;
            (fix.applicability >= job.least).then_some((finding.rule, fix))
        });
        let (next, rules) = fix::apply_named(&text, wanted);
        if rules.is_empty() || next == text {
            break;
        }
        text = next;
        applied.extend(rules);
        findings = read(&text)
            .map(|report| report.diagnostics)
            .unwrap_or_default();
    }
    (!applied.is_empty()).then_some((text, applied))
}
