//! Documents about permissions: rules, trust, what ran, what a model receives.

use std::path::Path;

use prowess_diag::{LineIndex, wording};
use prowess_policy::{Decision, PermissionRules};
use prowess_render::Replacement;
use prowess_sandbox::{Captured, End, Outcome, State as Layer, Stopped};
use prowess_spec::tokens;
use prowess_tools::{Activation, ToolSpec};
use prowess_trust::{Change, Entry, State, TrustSummary};
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
pub fn rules(rules: &PermissionRules, mode: &str, sandbox: &str) -> Value {
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
    let State::Lapsed { changes, .. } = state else {
        return Vec::new();
    };
    let line = |change: &Change| match change {
        Change::Added(file) => format!("new {file}"),
        Change::Removed(file) => format!("removed {file}"),
        Change::Edited(file) => format!("edited {file}"),
        Change::Mode(file) => format!("mode {file}"),
    };
    changes.iter().map(line).collect()
}

/// What trusting a skill would allow.
pub fn trust(path: &Path, state: &State, summary: &TrustSummary) -> Value {
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

/// A part of what trusting a skill would allow, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// What it is about.
    pub title: &'static str,
    /// A line for each thing; never empty.
    pub lines: Vec<String>,
    /// Whether a person should look twice.
    pub alarming: bool,
}

/// What trusting a skill would allow, in parts, without the empty ones.
pub fn trust_sections(state: &State, summary: &TrustSummary) -> Vec<Section> {
    let grants = |unrestricted: bool| {
        let sound = summary.grants.iter().filter(|grant| grant.fault.is_none());
        let these = sound.filter(move |grant| grant.unrestricted == unrestricted);
        these.map(|grant| grant.text.clone()).collect()
    };
    let faulty = summary.grants.iter().filter_map(|grant| {
        grant
            .fault
            .as_ref()
            .map(|why| format!("{} ({why})", grant.text))
    });
    let hooks = summary
        .hooks
        .then(|| "hooks: commands that run at certain events".to_owned());
    let hidden = summary.hidden.iter();
    let hidden =
        hidden.map(|found| format!("{}:{} {}", found.file.display(), found.line, found.what));
    let links = summary.links.iter();
    let links = links.map(|(from, to)| format!("{} -> {}", from.display(), to.display()));
    let scripts = summary
        .scripts
        .iter()
        .map(|path| path.display().to_string());
    let all: [(&'static str, Vec<String>, bool); 10] = [
        ("Changed since it was trusted", trust_changes(state), true),
        ("May do anything, unasked", grants(true), true),
        ("May use unasked", grants(false), false),
        (
            "Asks for, but in a way that means nothing",
            faulty.collect(),
            false,
        ),
        ("Runs whenever it is loaded", summary.commands.clone(), true),
        ("Runs later", hooks.into_iter().collect(), true),
        ("Brings scripts and programs", scripts.collect(), false),
        (
            "Names hosts and programs of the network",
            summary.network.iter().cloned().collect(),
            false,
        ),
        ("Has text that you would not see", hidden.collect(), true),
        (
            "Links to files outside of its folder",
            links.collect(),
            true,
        ),
    ];
    let filled = all.into_iter().filter(|(_, lines, _)| !lines.is_empty());
    filled
        .map(|(title, lines, alarming)| Section {
            title,
            lines,
            alarming,
        })
        .collect()
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
pub fn became(became: Replacement) -> String {
    match became {
        Replacement::Value(bytes) => format!("a value of {bytes} bytes"),
        Replacement::Empty => "empty, no value".to_owned(),
        Replacement::Missing => "left as it is, no such argument".to_owned(),
        Replacement::Unknown => "left as it is, no such variable".to_owned(),
        Replacement::Code => "left as it is, it stands in code".to_owned(),
        Replacement::Escaped => "itself, without the backslash".to_owned(),
        Replacement::Bound(bytes) => format!("a variable of the command, {bytes} bytes"),
        Replacement::Unset => "a variable of the command, without a value".to_owned(),
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
    let trust = if activation.trusted {
        ""
    } else {
        "; not trusted: its commands did not run"
    };
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
    lines.extend(
        activation
            .notes
            .iter()
            .map(|note| format!("  note: {}", note.message)),
    );
    lines
}

/// What the sandbox did, a line for each thing; the first says how the command ended.
pub fn ran_report(outcome: &Outcome) -> Vec<String> {
    let end = match (outcome.stopped, outcome.end) {
        (Some(Stopped::Deadline), _) => "stopped: its time was over".to_owned(),
        (Some(Stopped::Cancelled), _) => "stopped".to_owned(),
        (None, End::Code(code)) => format!("ended with {code}"),
        (None, End::Signal(signal)) => format!("ended by signal {signal}"),
    };
    let time = match outcome.duration.as_millis() {
        below @ 0..1000 => format!("{below} ms"),
        _ => format!("{:.1} s", outcome.duration.as_secs_f64()),
    };
    let on = outcome
        .layers
        .iter()
        .filter(|layer| layer.state == Layer::On);
    let on: Vec<&str> = on.map(|layer| layer.layer.name()).collect();
    let on = if on.is_empty() {
        "none".to_owned()
    } else {
        on.join(", ")
    };
    let mut lines = vec![format!("{end} after {time}; sandbox: {on}")];
    for layer in &outcome.layers {
        if let Layer::Missing(why) = &layer.state {
            lines.push(format!(
                "the sandbox layer {} is missing: {why}",
                layer.layer.name()
            ));
        }
    }
    for (name, stream) in [
        ("output", &outcome.stdout),
        ("error output", &outcome.stderr),
    ] {
        if stream.omitted() > 0 {
            let total = usize::try_from(stream.total).unwrap_or(usize::MAX);
            lines.push(format!(
                "{name}: {} bytes in all",
                wording::thousands(total)
            ));
        }
    }
    lines.extend(outcome.notes.iter().map(|note| format!("note: {note}")));
    lines
}

/// The tools that a model gets.
pub fn tools(specs: &[ToolSpec]) -> Value {
    let one = |spec: &ToolSpec| {
        json!({
            "name": spec.name,
            "description": spec.description,
            "input_schema": spec.input_schema,
            "output_schema": spec.output_schema,
            "read_only": spec.read_only,
            "destructive": spec.destructive,
        })
    };
    json!({ "schema": "prowess.tools/1", "tools": specs.iter().map(one).collect::<Vec<_>>() })
}
