//! Reads, checks and fixes agent files.

use std::path::Path;

use prowess_diag::{Diagnostic, FileReport, fix};
use prowess_flow::AgentFile;
use prowess_lint::LintRuleSet;
use prowess_lint::rules::{self, RULES};
use prowess_registry::{AgentPath, read_agent_text};
use prowess_spec::ReadFault;

use crate::validate::job::ValidationJob;
use crate::validate::missions::MissionTarget;

/// Maximum number of rounds of fixes. A fix may reveal another finding.
const MAX_ROUNDS: usize = 8;

/// Returns `true` if a path is that of an agent or mission file, such as `.claude/agents/a.md`,
/// `TEAM.json` or `missions.hcl`.
pub fn is_agent_file(path: &Path) -> bool {
    AgentTarget::new(path).is_some() || MissionTarget::new(path).is_some()
}

/// Reads the agent file at a path. Returns `None` if the path is not that of an agent file, or if it
/// cannot be read.
pub fn read_agent_file_at(path: &Path) -> Option<AgentFile> {
    AgentTarget::new(path)?.read().ok()
}

/// An agent file at a path.
pub(super) struct AgentTarget(pub(super) AgentPath);

impl AgentTarget {
    /// Returns `None` if a path is not that of an agent file.
    pub(super) fn new(path: &Path) -> Option<Self> {
        AgentPath::of(path).map(Self)
    }

    pub(super) fn read(&self) -> Result<AgentFile, ReadFault> {
        self.0.read()
    }

    /// Returns the findings about another text of the file.
    pub(super) fn read_text(&self, bytes: &[u8]) -> Vec<FileReport> {
        read_agent_text(&self.0.root, &self.0.path, self.0.dialect, bytes)
            .map(|file| file.reports)
            .unwrap_or_default()
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
            reports.find(|report| report.path == self.0.path)
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
