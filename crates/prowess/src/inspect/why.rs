//! Why a skill is listed, hidden or cut.

use std::path::Path;

use prowess_catalog::index::{self, Budget, Cut, Fate, IndexOptions};
use prowess_catalog::rank::{Ranked, Reason};
use prowess_catalog::{Catalog, Entry, Hidden, Sight, View, Visibility, Who};
use prowess_diag::wording;
use prowess_search::Hit;
use serde_json::{Value, json};

use crate::inspect::find::reasons;
use crate::inspect::skill::{from, sight, skill};

/// What is asked.
#[allow(missing_debug_implementations, reason = "it holds functions")]
#[derive(Clone, Copy)]
pub struct Question<'a> {
    /// The skills there are.
    pub catalog: &'a Catalog,
    /// Who may see what.
    pub policy: &'a Visibility,
    /// The skill it is about.
    pub entry: &'a Entry,
    /// How long the listing in a prompt may be.
    pub budget: Budget,
    /// Returns the skills in the order of their use; asked only where it matters.
    pub ranked: &'a dyn Fn() -> Vec<Ranked>,
    /// Words, and everything that a search for them finds.
    pub query: Option<(&'a str, &'a [Hit])>,
    /// A path as people read it.
    pub show: &'a dyn Fn(&Path) -> String,
}

/// One thing about a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// What it is about, in a word or two.
    pub about: &'static str,
    /// The answer.
    pub text: String,
}

/// Why a skill is listed, hidden or cut.
#[derive(Debug)]
pub struct Why {
    /// For people, one line for each thing.
    pub lines: Vec<Answer>,
    /// What a model sees of it.
    pub model: Sight,
    person: Sight,
    fate: Option<String>,
    rank: Option<(usize, String)>,
    query: Option<Value>,
}

/// Says why a skill is listed, hidden or cut.
pub fn why(question: &Question<'_>) -> Why {
    Why::new(question)
}

impl Why {
    fn new(question: &Question<'_>) -> Self {
        let Question {
            catalog,
            policy,
            entry,
            ..
        } = *question;
        let show = |path: &str| (question.show)(Path::new(path));
        let model = View::new(catalog, policy, Who::Model).sight(entry);
        let person = View::new(catalog, policy, Who::Person).sight(entry);
        let mut answers = Vec::new();
        let mut say = |about, text: String| answers.push(Answer { about, text });
        say(
            "place",
            format!("{} ({})", show(&entry.skill.location), from(entry)),
        );
        if let Some(winner) = catalog.winner_over(entry) {
            say(
                "shadowed",
                format!(
                    "by {}; `{}` means this one",
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
                Sight::Hidden(why) => format!("cannot invoke it: {}", why.reason()),
                _ => format!("can invoke it as `/{}`", entry.name()),
            },
        );
        say(
            "models",
            match model {
                Sight::Full => "may see name and description".to_owned(),
                Sight::NameOnly => "may see the name alone, as configured".to_owned(),
                Sight::Hidden(why) => {
                    format!("do not see it: {}{}", why.reason(), remedy(why, entry))
                }
            },
        );
        if !entry.skill.paths.is_empty() {
            let paths = entry.skill.paths.iter().map(wording::tick);
            say("condition", format!("meant for {}", wording::all(paths)));
        }
        if !entry.skill.described {
            say(
                "description",
                "taken from the body: the frontmatter has none".to_owned(),
            );
        }
        let mut fate = None;
        let mut rank = None;
        if !matches!(model, Sight::Hidden(_)) {
            let ranked = (question.ranked)();
            let options = IndexOptions {
                budget: question.budget,
                generation: catalog.generation(),
                ..IndexOptions::default()
            };
            let view = View::new(catalog, policy, Who::Model);
            let made = index::index(&index::entries(&view, &ranked), &options);
            let row = made
                .report
                .rows
                .iter()
                .find(|row| *row.name == *entry.name());
            fate = row.map(|row| row.fate.explain());
            let text = fate.clone().unwrap_or_else(|| "not shown".to_owned());
            let remedy = match row {
                Some(row) if row.fate == Fate::Cut(Cut::NoRoom) => {
                    "; `prompt.budget` in the configuration gives more"
                }
                _ => "",
            };
            say("prompt", format!("{text}{remedy}"));
            let place = ranked
                .iter()
                .position(|ranked| ranked.skill.id == entry.skill.id);
            rank = place.map(|place| (place + 1, ranked_reason(&ranked[place])));
            let text = match &rank {
                Some((place, why)) => {
                    format!("{why}; number {place} to be kept if not all skills fit the prompt")
                }
                None if entry.skill.pinned => "pinned by its author".to_owned(),
                None => "not used lately".to_owned(),
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
                    None => format!("nothing in it matches `{words}`"),
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
            let folder = Path::new(&*entry.skill.location)
                .parent()
                .unwrap_or(Path::new("."));
            let folder = (question.show)(folder);
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
            rank,
            query,
        }
    }

    /// Returns it as a document.
    pub fn document(&self, catalog: &Catalog, entry: &Entry) -> Value {
        let mut value = skill(catalog, entry);
        let shadows: Vec<_> = catalog
            .group(entry.name())
            .iter()
            .filter(|other| other.is_shadowed() && !entry.is_shadowed())
            .map(|other| &other.skill.location)
            .collect();
        value["shadows"] = json!(shadows);
        value["model"] = json!(sight(self.model));
        value["people"] = json!(sight(self.person));
        value["prompt"] = json!(self.fate);
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

/// What to do about a skill that is hidden.
fn remedy(why: Hidden, entry: &Entry) -> String {
    match why {
        Hidden::SwitchedOff | Hidden::LeftToPeople => {
            format!("; change `skills.visibility.{}`", entry.name())
        }
        Hidden::NotGranted => "; add it to the agent's `skills`".to_owned(),
        Hidden::Shadowed | Hidden::NotForModels | Hidden::NotForPeople | Hidden::Waiting => {
            String::new()
        }
    }
}

fn ranked_reason(ranked: &Ranked) -> String {
    match ranked.reason {
        Reason::Used { count, .. } => {
            format!(
                "used {}",
                wording::count(usize::try_from(count).unwrap_or(usize::MAX), "time")
            )
        }
        Reason::Recent { .. } => "never used, but it changed lately".to_owned(),
        Reason::Explored { .. } => "never used, and it is its turn to be shown".to_owned(),
        _ => "ranked".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use prowess_catalog::Override;
    use prowess_registry::{NewSkill, Registry};

    use super::*;

    /// The answers about one skill, under this setting.
    fn answers(setting: Option<Override>) -> Why {
        let registry = Registry::default();
        let skill = NewSkill::builder("greet", "Greets people. Use when somebody arrives.");
        registry
            .register(skill.instructions("Say hello.").build().unwrap())
            .unwrap();
        let catalog = registry.snapshot();
        let overrides: BTreeMap<String, Override> = setting
            .map(|setting| ("greet".to_owned(), setting))
            .into_iter()
            .collect();
        let policy = Visibility {
            overrides,
            ..Visibility::default()
        };
        let entry = catalog.resolve("greet").unwrap();
        let made = why(&Question {
            catalog: &catalog,
            policy: &policy,
            entry,
            budget: Budget::of_window(index::DEFAULT_WINDOW, index::DEFAULT_FRACTION),
            ranked: &|| {
                let reason = Reason::Used {
                    count: 3,
                    last_used: 0,
                };
                vec![Ranked {
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
        assert_eq!(document["model"], sight(made.model));
        made
    }

    fn says(why: &Why, about: &str) -> Option<String> {
        why.lines
            .iter()
            .find(|line| line.about == about)
            .map(|line| line.text.clone())
    }

    #[test]
    fn a_skill_that_is_listed_says_so() {
        let why = answers(None);
        assert_eq!(
            says(&why, "models").as_deref(),
            Some("may see name and description")
        );
        assert_eq!(says(&why, "prompt").as_deref(), Some("shown"));
        assert_eq!(
            says(&why, "use").as_deref(),
            Some("used 3 times; number 1 to be kept if not all skills fit the prompt")
        );
        assert_eq!(
            says(&why, "query").as_deref(),
            Some("nothing in it matches `zebra`")
        );
    }

    #[test]
    fn a_skill_that_is_switched_off_says_what_to_change() {
        let why = answers(Some(Override::Off));
        let models = says(&why, "models").unwrap();
        assert!(
            models.ends_with("; change `skills.visibility.greet`"),
            "{models}"
        );
        assert_eq!(says(&why, "prompt"), None);
    }
}
