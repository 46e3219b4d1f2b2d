//! Documents about permissions: rules, trust, what ran, what a model receives.

use std::path::Path;

use prowess_diag::{LineIndex, wording};
use prowess_exec::{Captured, End, Outcome, State as Layer, Stopped};
use prowess_policy::{Decision, RuleSet};
use prowess_render::Became;
use prowess_spec::tokens;
use prowess_tools::Activation;
use prowess_trust::{Change, Entry, State, Summary};
use serde_json::{Value, json};

/// A decision of the gate, and how the command was understood.
pub fn decision(decision: &Decision, words: Option<&[Vec<String>]>) -> Value {
    json!({
        "verdict": decision.verdict.as_str(),
        "reason": decision.reason,
        "rule": decision.rule.as_ref().map(|rule| &rule.text),
        "source": decision.rule.as_ref().map(|rule| &rule.source),
        "remedy": decision.remedy,
        "words": words,
    })
}

/// The rules that count, and those that could not be read.
pub fn rules(rules: &RuleSet, mode: &str, sandbox: &str) -> Value {
    let listed: Vec<Value> = rules
        .all()
        .iter()
        .map(|placed| {
            json!({
                "effect": placed.effect.as_str(),
                "rule": placed.rule.text,
                "source": placed.source.to_string(),
                "unrestricted": placed.rule.is_unrestricted(),
            })
        })
        .collect();
    let unread: Vec<Value> = rules
        .unread()
        .iter()
        .map(|unread| {
            json!({
                "effect": unread.effect.as_str(),
                "rule": unread.fault.text,
                "source": unread.source.to_string(),
                "why": unread.fault.why,
            })
        })
        .collect();
    json!({ "schema": "prowess.policy/1", "mode": mode, "sandbox": sandbox, "rules": listed, "unread": unread })
}

/// Whether a skill is trusted, in a word or two.
pub fn trust_word(state: &State) -> &'static str {
    match state {
        State::Never => "not trusted",
        State::Trusted(_) => "trusted",
        State::Lapsed { .. } => "changed since",
        State::Damaged { .. } => "record damaged",
    }
}

/// What changed since a skill was trusted, a line a file.
pub fn trust_changes(state: &State) -> Vec<String> {
    let State::Lapsed { changes, .. } = state else { return Vec::new() };
    let line = |change: &Change| match change {
        Change::Added(file) => format!("new {file}"),
        Change::Removed(file) => format!("removed {file}"),
        Change::Edited(file) => format!("edited {file}"),
        Change::Mode(file) => format!("mode {file}"),
    };
    changes.iter().map(line).collect()
}

/// What trusting a skill would allow.
pub fn trust(path: &Path, state: &State, summary: &Summary) -> Value {
    json!({
        "path": path,
        "state": trust_word(state),
        "digest": summary.digest,
        "files": summary.files,
        "bytes": summary.bytes,
        "changes": trust_changes(state),
        "grants": summary.grants.iter().map(|grant| json!({
            "rule": grant.text,
            "unrestricted": grant.unrestricted,
            "fault": grant.fault,
        })).collect::<Vec<_>>(),
        "commands": summary.commands,
        "scripts": summary.scripts,
        "hooks": summary.hooks,
        "network": summary.network,
        "hidden": summary.hidden.iter().map(|hidden| json!({
            "file": hidden.file, "line": hidden.line, "what": hidden.what,
        })).collect::<Vec<_>>(),
        "links": summary.links.iter().map(|(from, to)| json!({ "from": from, "to": to })).collect::<Vec<_>>(),
    })
}

/// Everything that is trusted.
pub fn trusted(entries: &[Entry]) -> Value {
    let all: Vec<Value> = entries
        .iter()
        .map(|entry| match entry {
            Entry::Record(record) => {
                json!({ "path": record.path, "digest": record.digest, "since": record.since })
            }
            Entry::Damaged { path, why } => json!({ "record": path, "damaged": why }),
        })
        .collect();
    json!({ "schema": "prowess.trust/1", "trusted": all })
}

/// What ran, and what the sandbox did.
pub fn ran(line: &str, outcome: &Outcome) -> Value {
    let (code, signal) = match outcome.end {
        End::Code(code) => (Some(code), None),
        End::Signal(signal) => (None, Some(signal)),
    };
    let stream = |captured: &Captured| json!({ "text": captured.text(), "bytes": captured.total, "omitted": captured.omitted() });
    json!({
        "schema": "prowess.exec/1",
        "verdict": "allow",
        "command": line,
        "approved_by": outcome.approved_by,
        "words": outcome.words,
        "code": code,
        "signal": signal,
        "stopped": outcome.stopped.map(|stopped| match stopped {
            Stopped::Deadline => "deadline",
            Stopped::Cancelled => "cancelled",
        }),
        "milliseconds": u64::try_from(outcome.duration.as_millis()).unwrap_or(u64::MAX),
        "stdout": stream(&outcome.stdout),
        "stderr": stream(&outcome.stderr),
        "layers": outcome.layers.iter().map(|layer| json!({
            "layer": layer.layer.name(),
            "state": match &layer.state {
                Layer::On => "on".to_owned(),
                Layer::Missing(why) => format!("missing: {why}"),
                Layer::Off(why) => format!("off: {why}"),
            },
        })).collect::<Vec<_>>(),
        "notes": outcome.notes.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

/// What became of a placeholder, in words.
pub fn became(became: Became) -> String {
    match became {
        Became::Value(bytes) => format!("a value of {bytes} bytes"),
        Became::Empty => "empty, no value".to_owned(),
        Became::Missing => "left as it is, no such argument".to_owned(),
        Became::Unknown => "left as it is, no such variable".to_owned(),
        Became::Code => "left as it is, it stands in code".to_owned(),
        Became::Escaped => "itself, without the backslash".to_owned(),
        Became::Bound(bytes) => format!("a variable of the command, {bytes} bytes"),
        Became::Unset => "a variable of the command, without a value".to_owned(),
        _ => "something else".to_owned(),
    }
}

/// What a model receives of a skill, and how it came to be. `source` is the text of the file.
pub fn activation(activation: &Activation, source: &str) -> Value {
    json!({
        "schema": "prowess.activation/1",
        "name": activation.name,
        "folder": activation.folder,
        "digest": activation.digest,
        "trusted": activation.trusted,
        "text": activation.text,
        "body": activation.body,
        "tokens": tokens::estimate(&activation.text),
        "files": activation.files.iter().map(|(path, size)| json!({ "path": path, "size": size })).collect::<Vec<_>>(),
        "file_count": activation.file_count,
        "arguments_appended": activation.report.appended,
        "substitutions": activation.report.filled.iter().map(|filled| json!({
            "placeholder": filled.span.of(source),
            "offset": filled.span.start,
            "became": became(filled.became),
        })).collect::<Vec<_>>(),
        "commands": activation.runs.iter().map(|run| json!({
            "command": run.command,
            "decision": run.decision,
            "code": run.code,
            "milliseconds": run.milliseconds,
            "bytes": run.bytes,
            "file": run.file,
        })).collect::<Vec<_>>(),
        "notes": activation.notes.iter().map(|note| &*note.message).collect::<Vec<_>>(),
    })
}

/// How many placeholders and commands a report names.
const MOST: usize = 20;

/// How what a model receives came to be, a line for each thing.
pub fn activation_report(activation: &Activation, source: &str) -> Vec<String> {
    let index = LineIndex::new(source);
    let trust = if activation.trusted { "" } else { "; not trusted: its commands did not run" };
    let tokens = wording::thousands(tokens::estimate(&activation.text));
    let mut lines = vec![format!("{}: about {tokens} tokens{trust}", activation.name)];
    let more = |lines: &mut Vec<String>, count: usize, noun: &str| {
        if let Some(more) = count.checked_sub(MOST).filter(|more| *more > 0) {
            lines.push(format!("  and {} more", wording::count(more, noun)));
        }
    };
    for filled in activation.report.filled.iter().take(MOST) {
        let line = index.position(source, filled.span.start as usize).line;
        lines.push(format!(
            "  line {line}: `{}`: {}",
            filled.span.of(source),
            became(filled.became)
        ));
    }
    more(&mut lines, activation.report.filled.len(), "placeholder");
    if activation.report.appended {
        lines.push("  no placeholder took the arguments: they were added at the end".to_owned());
    }
    for run in activation.runs.iter().take(MOST) {
        let how = match run.code {
            Some(code) => format!(
                "ended with {code} after {} ms, {} bytes (allowed by {})",
                run.milliseconds,
                wording::thousands(usize::try_from(run.bytes).unwrap_or(usize::MAX)),
                run.decision
            ),
            None => run.decision.to_string(),
        };
        lines.push(format!("  `{}`: {how}", run.command));
    }
    more(&mut lines, activation.runs.len(), "command");
    lines.extend(activation.notes.iter().map(|note| format!("  note: {}", note.message)));
    lines
}
