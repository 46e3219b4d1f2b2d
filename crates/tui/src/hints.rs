//! Hints of a session as text: which skills were suggested for a message, and why others were not.

use prowess::agent::{Event, HintResult, HintedSkill, SkillHint, StampedEvent};
use prowess_diag::sanitize;
use prowess_diag::wording::tick;
use serde_json::{Value, json};

/// The hints of a session about one skill.
#[derive(Clone, Debug, PartialEq)]
pub struct SkillHints {
    /// The index, the hint for each message, and the turns in which it was loaded, as labels and
    /// texts.
    pub lines: Vec<(&'static str, String)>,
    /// The same as JSON.
    pub document: Value,
    /// `true` if the model could see the skill: in the index, in a hint, or loaded.
    pub is_seen: bool,
    /// `true` if the session mentions the skill at all.
    pub is_known: bool,
}

/// Formats the skills of a hint in one line.
pub(crate) fn summary(hint: &SkillHint) -> String {
    let shown: Vec<String> = hint
        .skills
        .iter()
        .filter(|skill| skill.outcome.is_shown())
        .map(|skill| {
            let name_only = match skill.outcome {
                HintResult::Named => ", name only",
                _ => "",
            };
            format!("{} (fit {:.2}{name_only})", clean(&skill.name), skill.fit)
        })
        .collect();
    match (shown.is_empty(), hint.skills.first()) {
        (false, _) => shown.join(", "),
        (true, Some(best)) => format!(
            "no skill; the best match is {}: {}",
            clean(&best.name),
            reason(best, hint)
        ),
        (true, None) => "no skill".to_owned(),
    }
}

/// Explains, message by message, whether a skill was in the hint of a session. With a turn, only the
/// message before that turn counts.
pub fn why_hints(events: &[StampedEvent], name: &str, turn: Option<u32>) -> SkillHints {
    let mut lines: Vec<(&'static str, String)> = Vec::new();
    let mut messages: Vec<Value> = Vec::new();
    let (mut is_seen, mut is_known) = (false, false);
    let mut is_listed = None;
    let mut loads: Vec<u32> = Vec::new();
    let mut at = 0;
    for (number, stamped) in events.iter().enumerate() {
        match &stamped.event {
            Event::Asked { turn, .. } => at = *turn,
            Event::Listed(listed) => {
                let hidden = listed.hidden.iter().find(|(hidden, _)| **hidden == *name);
                let shown = listed.shown.iter().any(|shown| **shown == *name);
                is_seen |= shown;
                is_known |= shown || hidden.is_some();
                is_listed = Some(shown);
                let text = match hidden {
                    _ if shown => "listed".to_owned(),
                    Some((_, why)) => format!("hidden: {}", clean(why)),
                    None => "not listed".to_owned(),
                };
                lines.push(("index", text));
            }
            Event::Said { loaded, .. } => {
                if loaded.iter().any(|skill| *skill.name == *name) {
                    loads.push(at + 1);
                }
                let next = next_turn(&events[number..], at);
                if turn.is_some_and(|turn| turn != next) {
                    continue;
                }
                let Some(hint) = hint_after(&events[number + 1..]) else {
                    let text = "no skill was considered: hints are disabled, the message invoked a skill, or nothing matched";
                    lines.push(("hint", format!("turn {next}: {text}")));
                    messages.push(json!({ "turn": next, "hinted": false, "outcome": null }));
                    continue;
                };
                let place = hint.skills.iter().position(|skill| *skill.name == *name);
                let row = place.and_then(|place| hint.skills.get(place));
                let hinted = row.is_some_and(|row| row.outcome.is_shown());
                is_seen |= hinted;
                is_known |= row.is_some();
                let text = match (row, place) {
                    (Some(row), Some(place)) => {
                        format!("{}; match {}", reason(row, hint), place + 1)
                    }
                    _ => "not in the hint: not among the best matches".to_owned(),
                };
                lines.push(("hint", format!("turn {next}: {text}")));
                messages.push(json!({
                    "turn": next,
                    "hinted": hinted,
                    "outcome": row.map(|row| row.outcome),
                    "hidden": row.and_then(|row| row.hidden.as_deref()),
                    "rank": place.map(|place| place + 1),
                    "of": hint.skills.len(),
                    "fit": row.map(|row| two_digits(row.fit)),
                    "least_fit": two_digits(hint.least_fit),
                    "by_path": row.map(|row| row.by_path),
                    "truncated": hint.cut,
                }));
            }
            Event::CallEnded { loaded, .. } if loaded.iter().any(|one| *one.name == *name) => {
                loads.push(at);
            }
            _ => {}
        }
    }
    is_seen |= !loads.is_empty();
    is_known |= !loads.is_empty();
    lines.push((
        "loaded",
        match loads.as_slice() {
            [] => "never".to_owned(),
            turns => {
                let turns: Vec<String> = turns.iter().map(ToString::to_string).collect();
                format!("in turn {}", turns.join(", "))
            }
        },
    ));
    SkillHints {
        lines,
        document: json!({
            "schema": "prowess.why-session/1",
            "name": name,
            "listed": is_listed,
            "messages": messages,
            "loaded": loads,
        }),
        is_seen,
        is_known,
    }
}

/// Returns the turn that answers the next message.
fn next_turn(events: &[StampedEvent], at: u32) -> u32 {
    let asked = events.iter().find_map(|stamped| match stamped.event {
        Event::Asked { turn, .. } => Some(turn),
        _ => None,
    });
    asked.unwrap_or(at + 1)
}

/// Returns the hint that directly follows a message.
fn hint_after(events: &[StampedEvent]) -> Option<&SkillHint> {
    match &events.first()?.event {
        Event::Hinted(hint) => Some(hint),
        _ => None,
    }
}

/// Explains the outcome for a skill.
fn reason(skill: &HintedSkill, hint: &SkillHint) -> String {
    let fit = skill.fit;
    let by = if skill.by_path {
        "; its `paths` match a file in the message"
    } else {
        ""
    };
    match skill.outcome {
        HintResult::Described => format!("in the hint with its description, fit {fit:.2}{by}"),
        HintResult::Named => format!("in the hint by name only, fit {fit:.2}{by}"),
        HintResult::Weak if skill.by_path || fit >= hint.least_fit => {
            "not in the hint: its name is empty or too long".to_owned()
        }
        HintResult::Weak => format!(
            "not in the hint: its fit of {fit:.2} is below {:.2}",
            hint.least_fit
        ),
        HintResult::Loaded => "not in the hint: it was loaded already".to_owned(),
        HintResult::Repeated => "not in the hint: an earlier hint describes it".to_owned(),
        HintResult::Hidden => {
            let why = skill.hidden.as_deref().unwrap_or("hidden");
            format!("not in the hint: models may not see it ({})", clean(why))
        }
        HintResult::Surplus => format!("not in the hint: others fit better, fit {fit:.2}"),
        HintResult::NoRoom => {
            format!(
                "not in the hint: {} is too small, fit {fit:.2}",
                tick("prompt.hint-tokens")
            )
        }
    }
}

fn clean(text: &str) -> String {
    sanitize::line(text).into_owned()
}

/// Returns a fit without the digits that a conversion to another type adds.
fn two_digits(fit: f32) -> f64 {
    (f64::from(fit) * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_hold_for_every_way_to_an_outcome() {
        let hint = SkillHint {
            text: String::new(),
            skills: Vec::new(),
            least_fit: 0.5,
            cut: false,
        };
        let reason = |outcome: HintResult, fit: f32, by_path: bool| {
            let skill = HintedSkill {
                name: "pdf".into(),
                fit,
                by_path,
                outcome,
                hidden: None,
            };
            reason(&skill, &hint)
        };
        for (outcome, fit, by_path, expected) in [
            (
                HintResult::Named,
                0.83,
                false,
                "in the hint by name only, fit 0.83",
            ),
            (
                HintResult::Weak,
                0.41,
                false,
                "not in the hint: its fit of 0.41 is below 0.50",
            ),
            (
                HintResult::Weak,
                0.83,
                false,
                "not in the hint: its name is empty or too long",
            ),
            (
                HintResult::Weak,
                0.0,
                true,
                "not in the hint: its name is empty or too long",
            ),
            (
                HintResult::NoRoom,
                0.83,
                false,
                "not in the hint: `prompt.hint-tokens` is too small, fit 0.83",
            ),
        ] {
            assert_eq!(reason(outcome, fit, by_path), expected);
        }
    }
}
