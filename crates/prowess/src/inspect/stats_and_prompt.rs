//! Documents about the use of skills and the index in a prompt.

use prowess_catalog::index::{EntryOutcome, IndexLimit, IndexText};
use prowess_diag::wording;
use prowess_traits::UsageSummary;
use serde_json::{Value, json};

/// Returns the use of skills as a document: counts, times and outcomes.
pub fn usage(summary: &UsageSummary) -> Value {
    let skills: Vec<Value> = summary
        .skills
        .iter()
        .map(|skill| {
            let agents: Vec<Value> = skill
                .agents
                .iter()
                .map(|(team, agent, uses)| json!({ "team": team, "agent": agent, "uses": uses }))
                .collect();
            json!({
                "name": skill.skill,
                "uses": skill.uses,
                "last_used_ns": skill.last_used,
                "outcomes": {
                    "done": skill.outcomes.done,
                    "failed": skill.outcomes.failed,
                    "refused": skill.outcomes.refused,
                },
                "agents": agents,
            })
        })
        .collect();
    json!({ "schema": "prowess.stats/1", "total": summary.total, "skills": skills })
}

/// Returns one line about what a model reads of its skills.
pub fn index_summary(made: &IndexText) -> String {
    let rows = &made.report.rows;
    let number = wording::thousands;
    let described = made.report.shown().count();
    let names = made.report.name_only().count();
    let left_out = made.report.cut().count();
    let descriptions = wording::count(described, "description");
    if rows.is_empty() {
        return "the model reads no skills".to_owned();
    }
    if names == 0 && left_out == 0 {
        let tokens = wording::count(made.tokens, "token");
        return match made.report.shortened().count() {
            0 => format!("the model reads {descriptions} in {tokens}"),
            shortened => {
                let shortened = number(shortened);
                format!("the model reads {descriptions}, {shortened} shortened, in {tokens}")
            }
        };
    }
    let named = wording::count(names, "name");
    let read = match (described, names) {
        (0, 0) => "no skills".to_owned(),
        (0, _) => format!("{named} without descriptions"),
        (_, 0) => descriptions,
        _ => format!("{descriptions} and {named}"),
    };
    if left_out == 0 {
        return format!("the model reads {read}");
    }
    let left_out = wording::count(left_out, "skill");
    format!("the model reads {read}; {left_out} left out")
}

/// Returns the index that a model sees as a document, with the outcome for each skill.
pub fn index(made: &IndexText) -> Value {
    let rows: Vec<Value> = made
        .report
        .rows
        .iter()
        .map(|row| {
            let fate = match row.fate {
                EntryOutcome::Whole => "whole",
                EntryOutcome::Shortened { .. } => "shortened",
                EntryOutcome::NameOnly(_) => "name-only",
                EntryOutcome::Cut(_) => "cut",
            };
            json!({ "name": row.name, "fate": fate, "why": row.fate.explain() })
        })
        .collect();
    json!({
        "schema": "prowess.index/1",
        "generation": made.generation,
        "text": made.text,
        "tokens": made.tokens,
        "budget": match made.report.limit { IndexLimit::Tokens(tokens) => json!(tokens), _ => Value::Null },
        "skills": rows,
    })
}
