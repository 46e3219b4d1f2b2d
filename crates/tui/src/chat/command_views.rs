//! Output of the chat commands about a session.

use std::collections::BTreeMap;

use prowess::agent::{Spent, StampedEvent};
use prowess::inspect::{self, origin_text};
use prowess::traits::ModelInfo;
use prowess::{
    Audience, CatalogEntry, CatalogView as Look, HiddenReason, SkillVisibility, ToolContext, index,
};
use prowess_diag::sanitize;
use prowess_diag::wording::{ago, count, shorten, thousands};

use super::complete::Name;
use super::item::{Body, View};
use super::lines::{money, took};
use crate::transcript;

/// The maximum number of decisions of earlier turns.
const MAX_DECISIONS: usize = 20;
/// The maximum number of skills.
const MAX_SKILLS: usize = 500;

/// Returns the names that can be completed.
pub(crate) fn names(context: &ToolContext) -> Vec<Name> {
    let catalog = context.services.registry.snapshot();
    let look = Look::new(&catalog, &context.settings.visibility, Audience::Person);
    let name = |entry: &CatalogEntry| Name {
        name: clean(look.name(entry)),
        about: shorten(&clean(&entry.skill.description), 200),
    };
    look.visible()
        .take(MAX_SKILLS)
        .map(|(entry, _)| name(entry))
        .collect()
}

/// Returns all skills with their origin, visibility, loaded tokens and last use. `active` are the
/// loaded ones with their tokens.
pub(crate) fn skills(context: &ToolContext, active: &[(Box<str>, u64)]) -> View {
    let catalog = context.services.registry.snapshot();
    let look = Look::new(&catalog, &context.settings.visibility, Audience::Model);
    let people = Look::new(&catalog, &context.settings.visibility, Audience::Person);
    let used = last_used(context);
    let now = context.services.clock.now();
    let mut rows = Vec::new();
    for entry in catalog.entries().iter().take(MAX_SKILLS) {
        let name = if entry.is_shadowed() {
            catalog.qualified_name(entry)
        } else {
            look.name(entry).to_owned()
        };
        let loaded = active.iter().find(|(active, _)| **active == *name);
        let mut sight = match look.visibility(entry) {
            SkillVisibility::Full => "listed".to_owned(),
            SkillVisibility::NameOnly => "name only".to_owned(),
            SkillVisibility::Hidden(why) => format!("hidden: {}", word(why)),
        };
        let for_people = people.visibility(entry);
        if for_people == SkillVisibility::Hidden(HiddenReason::NotForPeople) {
            sight.push_str(&format!(", {}", word(HiddenReason::NotForPeople)));
        }
        let state = if is_untrusted(context, entry) {
            format!("{sight}, untrusted")
        } else {
            sight
        };
        rows.push(vec![
            clean(&name),
            clean(&origin_text(entry)),
            state,
            loaded.map_or(String::new(), |(_, tokens)| {
                format!(
                    "{} tokens",
                    thousands(usize::try_from(*tokens).unwrap_or(usize::MAX))
                )
            }),
            used.get(&*entry.skill.name)
                .map_or(String::new(), |at| ago(now, *at)),
        ]);
    }
    let all = catalog.entries().len();
    let mut title = count(all, "skill");
    if all > rows.len() {
        title.push_str(&format!(", the first {}", rows.len()));
    }
    if rows.is_empty() {
        let text = "No skills found. Create one with `prowess new NAME`.".to_owned();
        return View {
            title,
            body: Body::Text(text),
        };
    }
    let head = vec!["NAME", "ORIGIN", "STATE", "LOADED", "LAST USED"];
    View {
        title,
        body: Body::Table { head, rows },
    }
}

fn is_untrusted(context: &ToolContext, entry: &CatalogEntry) -> bool {
    context
        .read(&entry.skill)
        .is_ok_and(|skill| !skill.is_trusted())
}

fn word(why: HiddenReason) -> &'static str {
    match why {
        HiddenReason::Shadowed => "shadowed",
        HiddenReason::NotGranted => "not granted to the agent",
        HiddenReason::SwitchedOff => "disabled",
        HiddenReason::NotListed => "not in `skills.only`",
        HiddenReason::NotLocked => "in no lockfile",
        HiddenReason::Denied => "denied by a rule",
        HiddenReason::LeftToPeople | HiddenReason::NotForModels => "for users only",
        HiddenReason::NotForPeople => "for models only",
        HiddenReason::Waiting => "waiting for its files",
    }
}

fn last_used(context: &ToolContext) -> BTreeMap<Box<str>, i64> {
    let mut last = BTreeMap::new();
    for row in context.project_usage() {
        let at = last
            .entry(row.usage.skill.clone())
            .or_insert(row.usage.last_used);
        *at = row.usage.last_used.max(*at);
    }
    last
}

/// Explains why a skill is listed, hidden or truncated. Returns similar names if it does not exist.
pub(crate) fn why_skill(context: &ToolContext, name: &str) -> Result<View, Vec<Box<str>>> {
    let catalog = context.services.registry.snapshot();
    let entry = catalog.resolve(name).map_err(|fault| fault.near)?;
    let ranked = || {
        let look = Look::new(&catalog, &context.settings.visibility, Audience::Model);
        prowess::ranked_skills(context, &look)
    };
    let workspace = &context.settings.paths.workspace;
    let home =
        Some(context.settings.paths.home.as_path()).filter(|home| !home.as_os_str().is_empty());
    let why = inspect::why(&inspect::WhyQuestion {
        catalog: &catalog,
        policy: &context.settings.visibility,
        entry,
        index: &|| prowess::starting_index(context, index::IndexFormat::default()),
        ranked: &ranked,
        query: None,
        show: &|path| prowess_diag::path::display_path(path, workspace, home),
    });
    let pairs = why
        .lines
        .iter()
        .map(|line| (line.about.to_owned(), clean(&line.text)));
    let mut pairs: Vec<_> = pairs.collect();
    if is_untrusted(context, entry) {
        let text = "untrusted: its commands need your approval; see `prowess trust`";
        pairs.push(("trust".to_owned(), text.to_owned()));
    }
    Ok(View {
        title: format!("Why {}", clean(entry.name())),
        body: Body::Pairs(pairs),
    })
}

/// Explains the last turn, with the decisions before it.
pub(crate) fn why_last(events: &[StampedEvent]) -> View {
    let turn = transcript::turns(events);
    let lines = transcript::why_lines(events, turn);
    let before = transcript::decisions_before(events, turn, MAX_DECISIONS);
    let before = before.into_iter().map(|what| ("decided", what));
    let pairs = lines
        .into_iter()
        .chain(before)
        .map(|(about, what)| (about.to_owned(), what));
    View {
        title: "The last turn".to_owned(),
        body: Body::Pairs(pairs.collect()),
    }
}

/// Returns notes about a model for the start of a chat: its price and its note.
pub(crate) fn about(about: &ModelInfo) -> Vec<String> {
    let mut name = clean(&about.name);
    if let Some(price) = &about.price {
        name.push_str(&format!(
            ": ${} input, ${} output per million tokens",
            price.input, price.output
        ));
    }
    std::iter::once(name)
        .chain(about.note.as_deref().map(clean))
        .collect()
}

/// Returns facts about the model.
pub(crate) fn model(about: &ModelInfo) -> View {
    let number = |number: u64| thousands(usize::try_from(number).unwrap_or(usize::MAX));
    let mut pairs = vec![
        ("name".to_owned(), clean(&about.name)),
        (
            "window".to_owned(),
            format!("{} tokens", number(about.window)),
        ),
    ];
    if let Some(price) = &about.price {
        let text = format!(
            "${} input, ${} output per million tokens",
            price.input, price.output
        );
        pairs.push(("price".to_owned(), text));
    }
    if let Some(note) = &about.note {
        pairs.push(("note".to_owned(), clean(note)));
    }
    let text = "start a session with `prowess chat --model NAME`".to_owned();
    pairs.push(("change".to_owned(), text));
    View {
        title: "Model".to_owned(),
        body: Body::Pairs(pairs),
    }
}

/// Returns the usage of the session.
pub(crate) fn cost(spent: &Spent) -> View {
    let number = |number: u64| thousands(usize::try_from(number).unwrap_or(usize::MAX));
    let usage = &spent.usage;
    let mut pairs = vec![
        ("turns".to_owned(), number(u64::from(spent.turns))),
        (
            "input".to_owned(),
            format!("{} tokens", number(usage.input)),
        ),
        (
            "output".to_owned(),
            format!("{} tokens", number(usage.output)),
        ),
    ];
    if usage.cache_read > 0 || usage.cache_write > 0 {
        pairs.push((
            "cache read".to_owned(),
            format!("{} tokens", number(usage.cache_read)),
        ));
        pairs.push((
            "cache write".to_owned(),
            format!("{} tokens", number(usage.cache_write)),
        ));
    }
    let cost = usage
        .micros
        .map_or("unknown: no price for this model".to_owned(), money);
    pairs.push(("cost".to_owned(), cost));
    pairs.push(("time".to_owned(), took(spent.milliseconds)));
    View {
        title: "Cost of this session".to_owned(),
        body: Body::Pairs(pairs),
    }
}

fn clean(text: &str) -> String {
    sanitize::line(text).into_owned()
}
