//! Explains why a skill is listed, hidden or omitted from the prompt.

use std::path::Path;

use prowess_catalog::index::{EntryOutcome, IndexText, NameOnlyReason, OmissionReason};
use prowess_catalog::rank::{RankReason, RankedSkill};
use prowess_catalog::{
    Audience, Catalog, CatalogEntry, CatalogView, HiddenReason, Location, SkillVisibility,
    Visibility,
};
use prowess_diag::wording;
use prowess_search::SearchHit;
use serde_json::{Value, json};

use crate::inspect::find::reasons;
use crate::inspect::skill::{origin_text, outcome_of, outcome_word, skill, visibility_word};

/// A request to explain one skill.
#[allow(missing_debug_implementations, reason = "it holds functions")]
#[derive(Clone, Copy)]
pub struct WhyQuestion<'a> {
    /// All skills.
    pub catalog: &'a Catalog,
    /// The visibility of skills.
    pub policy: &'a Visibility,
    /// The skill to explain.
    pub entry: &'a CatalogEntry,
    /// Returns the index that a session would start with. Called only if needed.
    pub index: &'a dyn Fn() -> IndexText,
    /// Returns the skills ranked by use. Called only if needed.
    pub ranked: &'a dyn Fn() -> Vec<RankedSkill>,
    /// A query and its search results.
    pub query: Option<(&'a str, &'a [SearchHit])>,
    /// Formats a path for display.
    pub show: &'a dyn Fn(&Path) -> String,
}

/// One line of an explanation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WhyAnswer {
    /// The topic, in one or two words.
    pub about: &'static str,
    /// The text.
    pub text: String,
}

/// Explanation of why a skill is listed, hidden or omitted from the prompt.
#[derive(Debug)]
pub struct SkillExplanation {
    /// Lines for people, one for each topic.
    pub lines: Vec<WhyAnswer>,
    /// Its visibility to models.
    pub model: SkillVisibility,
    person: SkillVisibility,
    fate: Option<String>,
    outcome: Option<EntryOutcome>,
    rank: Option<(usize, String)>,
    query: Option<Value>,
}

/// Explains why a skill is listed, hidden or omitted from the prompt.
pub fn why(question: &WhyQuestion<'_>) -> SkillExplanation {
    SkillExplanation::new(question)
}

impl SkillExplanation {
    fn new(question: &WhyQuestion<'_>) -> Self {
        let WhyQuestion {
            catalog,
            policy,
            entry,
            ..
        } = *question;
        let show = |location: &Location| (question.show)(&location.path());
        let model = CatalogView::new(catalog, policy, Audience::Model).visibility(entry);
        let person = CatalogView::new(catalog, policy, Audience::Person).visibility(entry);
        let mut answers = Vec::new();
        let mut say = |about, text: String| answers.push(WhyAnswer { about, text });
        say(
            "place",
            format!("{} ({})", show(&entry.skill.location), origin_text(entry)),
        );
        if let Some(winner) = catalog.winner_over(entry) {
            say(
                "shadowed",
                format!(
                    "by {}; use `{}` for this one",
                    show(&winner.skill.location),
                    catalog.qualified_name(entry)
                ),
            );
        }
        let others: Vec<String> = catalog
            .group(entry.name())
            .iter()
            .filter(|other| other.is_shadowed() && !entry.is_shadowed())
            .map(|other| {
                format!(
                    "{} (`{}`)",
                    show(&other.skill.location),
                    catalog.qualified_name(other)
                )
            })
            .collect();
        if !others.is_empty() {
            say("shadows", wording::all(others));
        }
        if let Some(alias) = &entry.skill.alias {
            say("also called", wording::tick(alias));
        }
        say(
            "people",
            match person {
                SkillVisibility::Hidden(why) => format!("cannot invoke it: {}", why.reason()),
                _ => format!("can invoke it as `/{}`", entry.name()),
            },
        );
        say(
            "models",
            match model {
                SkillVisibility::Full => "may see name and description".to_owned(),
                SkillVisibility::NameOnly => "may see only the name, as configured".to_owned(),
                SkillVisibility::Hidden(HiddenReason::Waiting) => waiting(entry),
                SkillVisibility::Hidden(why) => {
                    format!("do not see it: {}{}", why.reason(), remedy(why, entry))
                }
            },
        );
        if !entry.skill.paths.is_empty() {
            let paths = entry.skill.paths.iter().map(wording::tick);
            say("condition", format!("applies to {}", wording::all(paths)));
        }
        if !entry.skill.described {
            say(
                "description",
                "taken from the body: the frontmatter has none".to_owned(),
            );
        }
        let (mut fate, mut outcome) = (None, None);
        let mut rank = None;
        let view = CatalogView::new(catalog, policy, Audience::Model);
        let is_hidden = matches!(model, SkillVisibility::Hidden(_));
        if !is_hidden && !view.has_skills() {
            let text = "not shown: no other skill is visible, so models get no skill tools";
            fate = Some(text.to_owned());
            say("prompt", text.to_owned());
        } else if !is_hidden {
            let ranked = (question.ranked)();
            let made = (question.index)();
            outcome = outcome_of(&made, view.name(entry));
            fate = outcome.map(EntryOutcome::explain);
            // Without `load_skill`, there is no index.
            let text = fate
                .clone()
                .unwrap_or_else(|| "not shown: models cannot load skills".to_owned());
            let remedy = match outcome {
                Some(
                    EntryOutcome::Cut(OmissionReason::NoRoom)
                    | EntryOutcome::NameOnly(NameOnlyReason::NoRoom),
                ) => "; increase `prompt.budget` in the configuration",
                _ => "",
            };
            say("prompt", format!("{text}{remedy}"));
            let place = ranked
                .iter()
                .position(|ranked| ranked.skill.id == entry.skill.id);
            rank = place.map(|place| (place + 1, ranked_reason(&ranked[place])));
            let text = match &rank {
                Some((place, why)) => {
                    format!("{why}; rank {place} if not all skills fit the prompt")
                }
                None if entry.skill.pinned => "pinned by its author".to_owned(),
                None => "not used recently".to_owned(),
            };
            say("use", text);
        }
        let query = question.query.map(|(words, hits)| {
            let place = hits.iter().position(|hit| hit.skill.id == entry.skill.id);
            say(
                "query",
                match place {
                    Some(place) => format!(
                        "number {} of {} for `{words}`: {}",
                        place + 1,
                        wording::thousands(hits.len()),
                        reasons(&hits[place])
                    ),
                    None => format!("no match for `{words}`"),
                },
            );
            json!({
                "words": words,
                "place": place.map(|place| place + 1),
                "of": hits.len(),
                "score": place.map(|place| hits[place].score),
            })
        });
        if entry.skill.problems > 0 {
            let file = entry.skill.location.path();
            let folder = (question.show)(file.parent().unwrap_or(Path::new(".")));
            say(
                "problems",
                format!(
                    "{} in its frontmatter; see `prowess validate {}`",
                    entry.skill.problems,
                    wording::shell_word(&folder)
                ),
            );
        }
        Self {
            lines: answers,
            model,
            person,
            fate,
            outcome,
            rank,
            query,
        }
    }

    /// Returns `true` if models see at least the name of the skill, or will see it as soon as they
    /// use a file that it is for.
    pub fn is_seen(&self) -> bool {
        match self.model {
            SkillVisibility::Hidden(why) => why == HiddenReason::Waiting,
            SkillVisibility::Full | SkillVisibility::NameOnly => {
                self.outcome.is_some_and(EntryOutcome::is_shown)
            }
        }
    }

    /// Returns it as a document.
    pub fn document(&self, catalog: &Catalog, entry: &CatalogEntry) -> Value {
        let mut value = skill(catalog, entry);
        let shadows: Vec<_> = catalog
            .group(entry.name())
            .iter()
            .filter(|other| other.is_shadowed() && !entry.is_shadowed())
            .map(|other| other.skill.location.text())
            .collect();
        value["shadows"] = json!(shadows);
        value["model"] = json!(visibility_word(self.model));
        value["people"] = json!(visibility_word(self.person));
        value["prompt"] = json!(self.fate);
        value["index"] = json!(self.outcome.map(outcome_word));
        value["rank"] = json!(
            self.rank
                .as_ref()
                .map(|(place, why)| json!({ "place": place, "why": why }))
        );
        value["query"] = json!(self.query);
        let mut document = json!({ "schema": "prowess.why/1" });
        if let (Some(document), Some(value)) = (document.as_object_mut(), value.as_object()) {
            document.extend(value.clone());
        }
        document
    }
}

/// Explains what a skill waits for: a file that matches its `paths`, or one in its nested folder.
fn waiting(entry: &CatalogEntry) -> String {
    let nested = &entry.skill.id.origin.nested;
    let what = match (nested.is_empty(), entry.skill.paths.is_empty()) {
        (false, true) => format!("in {}", wording::tick(nested)),
        (false, false) => format!("in {} that matches its `paths`", wording::tick(nested)),
        (true, _) => "that matches its `paths`".to_owned(),
    };
    format!("waiting: they see it after a file {what} is used, and can load it by name")
}

/// Returns a hint how to make a hidden skill visible.
fn remedy(why: HiddenReason, entry: &CatalogEntry) -> String {
    match why {
        HiddenReason::SwitchedOff | HiddenReason::LeftToPeople => {
            format!("; change `skills.visibility.{}`", entry.name())
        }
        HiddenReason::NotGranted => "; add it to the agent's `skills`".to_owned(),
        HiddenReason::NotListed => "; add it to `skills.only`".to_owned(),
        HiddenReason::NotLocked => {
            "; add it with `prowess add`, or remove `only-locked`".to_owned()
        }
        HiddenReason::Denied => "; see `prowess policy show`".to_owned(),
        HiddenReason::Shadowed
        | HiddenReason::NotForModels
        | HiddenReason::NotForPeople
        | HiddenReason::Waiting => String::new(),
    }
}

fn ranked_reason(ranked: &RankedSkill) -> String {
    match ranked.reason {
        RankReason::Used { count, .. } => {
            format!(
                "used {}",
                wording::count(usize::try_from(count).unwrap_or(usize::MAX), "time")
            )
        }
        RankReason::Recent { .. } => "never used, but changed recently".to_owned(),
        RankReason::Explored { .. } => "never used; shown in rotation".to_owned(),
        _ => "ranked".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use prowess_catalog::{VisibilityOverride, index};
    use prowess_registry::{NewSkill, Registry};

    use super::*;

    /// Explains one skill under a setting.
    fn answers(setting: Option<VisibilityOverride>) -> SkillExplanation {
        let registry = Registry::default();
        let skill = NewSkill::builder("greet", "Greets people. Use when a guest arrives.");
        registry
            .register(skill.instructions("Say hello.").build().unwrap())
            .unwrap();
        let catalog = registry.snapshot();
        let overrides: BTreeMap<String, VisibilityOverride> = setting
            .map(|setting| ("greet".to_owned(), setting))
            .into_iter()
            .collect();
        let policy = Visibility {
            overrides,
            ..Visibility::default()
        };
        let entry = catalog.resolve("greet").unwrap();
        let made = why(&WhyQuestion {
            catalog: &catalog,
            policy: &policy,
            entry,
            index: &|| {
                let view = CatalogView::new(&catalog, &policy, Audience::Model);
                index::index(&index::entries(&view, &[]), &index::IndexOptions::default())
            },
            ranked: &|| {
                let reason = RankReason::Used {
                    count: 3,
                    last_used: 0,
                };
                vec![RankedSkill {
                    skill: Arc::clone(&entry.skill),
                    reason,
                    score: 1.0,
                }]
            },
            query: Some(("zebra", &[])),
            show: &|path| path.display().to_string(),
        });
        let document = made.document(&catalog, entry);
        assert_eq!(document["schema"], "prowess.why/1");
        assert_eq!(document["name"], "greet");
        assert_eq!(document["model"], visibility_word(made.model));
        made
    }

    fn says(why: &SkillExplanation, about: &str) -> Option<String> {
        why.lines
            .iter()
            .find(|line| line.about == about)
            .map(|line| line.text.clone())
    }

    #[test]
    fn listed_skill_is_explained() {
        let why = answers(None);
        assert_eq!(
            says(&why, "models").as_deref(),
            Some("may see name and description")
        );
        assert_eq!(says(&why, "prompt").as_deref(), Some("shown"));
        assert_eq!(
            says(&why, "use").as_deref(),
            Some("used 3 times; rank 1 if not all skills fit the prompt")
        );
        assert_eq!(says(&why, "query").as_deref(), Some("no match for `zebra`"));
    }

    #[test]
    fn disabled_skill_names_the_setting() {
        let why = answers(Some(VisibilityOverride::Off));
        let models = says(&why, "models").unwrap();
        assert!(
            models.ends_with("; change `skills.visibility.greet`"),
            "{models}"
        );
        assert_eq!(says(&why, "prompt"), None);
    }
}
