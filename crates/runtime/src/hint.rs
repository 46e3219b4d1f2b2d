//! Hints: the skills that may fit a user message, as a note next to it.

use std::collections::BTreeSet;
use std::sync::Arc;

use prowess_agent::{HintResult, HintedSkill, MessagePart, SkillHint};
use prowess_catalog::{Audience, CatalogView, Scope, Skill};
use prowess_search::GOOD_FIT;
use prowess_search::hint::{Hint, HintOutcome, HintQuery, HintRequest, HintRow, hint};
use prowess_tools::ToolContext;
use prowess_tools::names::LOAD_SKILL;

use crate::journal::blocking;
use crate::session::Session;

/// The skills that a model knows when a message arrives.
#[derive(Clone, Debug, Default)]
pub struct KnownSkills {
    /// The index in the system prompt, in the default format.
    pub index: String,
    /// The names of the loaded skills.
    pub loaded: BTreeSet<Box<str>>,
    /// The names of the skills that earlier hints in the conversation describe.
    pub described: BTreeSet<Box<str>>,
}

impl Session {
    /// Returns the hint for a user message. Returns `None` if hints are disabled, the model cannot
    /// load skills, or no skill matches. A failure gives no hint; it never fails the turn.
    pub(crate) async fn hint(&self, message: &str) -> Option<SkillHint> {
        self.context.settings.hint?;
        let mut tools = self.tools.tools(&self.context);
        if !tools.any(|tool| tool.name() == LOAD_SKILL) || !self.is_declared(LOAD_SKILL) {
            return None;
        }
        let run = &self.journal.run;
        let parts = run.messages().iter().flat_map(|message| &message.parts);
        let described = parts.filter_map(|part| match part {
            MessagePart::Hint { skills, .. } => Some(skills),
            _ => None,
        });
        let system = run.started().and_then(|started| started.system.last());
        let known = KnownSkills {
            index: system.cloned().unwrap_or_default(),
            loaded: self.loaded.names().map(Into::into).collect(),
            described: described.flatten().cloned().collect(),
        };
        let (context, message) = (Arc::clone(&self.context), message.to_owned());
        blocking(move || skill_hint(&context, &message, &known))
            .await
            .ok()
            .flatten()
    }
}

/// Returns the hint that a message gets. Returns `None` if hints are disabled or no skill matches
/// the message. Blocks: the first call builds the search index.
pub fn skill_hint(context: &ToolContext, message: &str, known: &KnownSkills) -> Option<SkillHint> {
    let settings = &context.settings;
    let options = settings.hint?;
    let touched = settings.visibility.touched.as_deref().unwrap_or_default();
    let query = HintQuery::new(message, &settings.paths.workspace, touched);
    // Skills that wait for a file that the message names are candidates.
    let named = (!query.paths.is_empty()).then(|| {
        let mut visibility = settings.visibility.clone();
        let touched = visibility.touched.get_or_insert_default();
        touched.extend(query.paths.iter().cloned());
        visibility
    });
    let catalog = context.services.registry.snapshot();
    let visibility = named.as_ref().unwrap_or(&settings.visibility);
    let view = CatalogView::new(&catalog, visibility, Audience::Model);
    if !view.has_skills() {
        return None;
    }
    let index = context.services.registry.search_index();
    let made = hint(&HintRequest {
        query: &query,
        catalog: &catalog,
        view: &view,
        index: &index,
        listing: &known.index,
        is_loaded: &|name| known.loaded.contains(name),
        is_described: &|name| known.described.contains(name),
        is_untrusted: &|skill| is_untrusted(context, skill),
        load_tool: LOAD_SKILL,
        options,
        least_fit: GOOD_FIT,
    })?;
    Some(record(made, query.is_cut))
}

/// Returns `true` if a skill needs trust and is not trusted. A skill of a server is not read: the
/// server must not learn about the search.
fn is_untrusted(context: &ToolContext, skill: &Arc<Skill>) -> bool {
    let workspace = &context.settings.paths.workspace;
    prowess_trust::is_required(skill, workspace, context.services.trust.as_ref())
        && (skill.id.origin.scope == Scope::Server
            || !context
                .read(skill)
                .is_ok_and(|snapshot| snapshot.is_trusted()))
}

/// Converts a hint to its record.
fn record(hint: Hint, cut: bool) -> SkillHint {
    let skill = |row: HintRow| {
        let (outcome, hidden) = match row.outcome {
            HintOutcome::Described => (HintResult::Described, None),
            HintOutcome::Named => (HintResult::Named, None),
            HintOutcome::Weak => (HintResult::Weak, None),
            HintOutcome::Loaded => (HintResult::Loaded, None),
            HintOutcome::Repeated => (HintResult::Repeated, None),
            HintOutcome::Hidden(why) => (HintResult::Hidden, Some(why.as_str().into())),
            HintOutcome::Surplus => (HintResult::Surplus, None),
            HintOutcome::NoRoom => (HintResult::NoRoom, None),
        };
        HintedSkill {
            name: row.name,
            fit: row.fit,
            by_path: row.by_path,
            outcome,
            hidden,
        }
    };
    SkillHint {
        text: hint.text,
        skills: hint.rows.into_iter().map(skill).collect(),
        least_fit: GOOD_FIT,
        cut,
    }
}
