//! Documents and reports about permissions: rules, trust, commands and activations.

use std::path::Path;

use prowess_diag::{LineIndex, wording};
use prowess_policy::{Decision, PermissionRules};
use prowess_render::Replacement;
use prowess_sandbox::{Captured, CommandOutcome, End, LayerStatus, Stopped};
use prowess_spec::tokens;
use prowess_tools::{Activation, ToolSpec};
use prowess_trust::{FileChange, TrustEntry, TrustFinding, TrustKind, TrustState, TrustSummary};
use serde_json::{Value, json};

/// Returns a decision of the gate as a document, with the words of the parsed command.
pub fn decision(decision: &Decision, words: Option<&[Vec<String>]>) -> Value {
    json!({
        "verdict": decision.verdict.as_str(),
        "reason": decision.reason,
        "rule": decision.rule.as_ref().map(|rule| &rule.text),
        "source": decision.rule.as_ref().map(|rule| rule.source.to_string()),
        "remedy": decision.remedy.as_ref().map(ToString::to_string),
        "words": words,
    })
}

/// Returns the rules as a document: those in effect, and those that are invalid.
pub fn rules(rules: &PermissionRules, mode: &str, sandbox: &str) -> Value {
    let listed: Vec<Value> = rules
        .written()
        .into_iter()
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

/// Describes a trust state in one or two words.
pub fn trust_word(state: &TrustState) -> &'static str {
    match state {
        TrustState::Never => "not trusted",
        TrustState::Trusted(_) => "trusted",
        TrustState::Lapsed(_) => "changed since",
        TrustState::Damaged { .. } => "record damaged",
    }
}

/// Describes the files that changed since a skill was trusted, one line each.
pub fn trust_changes(changes: &[FileChange]) -> Vec<String> {
    let line = |change: &FileChange| match change {
        FileChange::Added(file) => format!("new {file}"),
        FileChange::Removed(file) => format!("removed {file}"),
        FileChange::Edited(file) => format!("edited {file}"),
        FileChange::Mode(file) => format!("mode {file}"),
    };
    changes.iter().map(line).collect()
}

/// Returns what trusting a skill would allow as a document.
pub fn trust(
    path: &Path,
    state: &TrustState,
    changes: &[FileChange],
    summary: &TrustSummary,
) -> Value {
    json!({
        "path": path.to_string_lossy(),
        "state": trust_word(state),
        "digest": summary.digest,
        "files": summary.files,
        "bytes": summary.bytes,
        "changes": trust_changes(changes),
        "grants": summary.grants.iter().map(|grant| json!({
            "rule": grant.text,
            "unrestricted": grant.unrestricted,
            "fault": grant.fault,
        })).collect::<Vec<_>>(),
        "model": summary.model,
        "commands": summary.commands,
        "scripts": summary.scripts,
        "hooks": summary.hooks,
        "hook_commands": summary.hook_commands.iter().map(|hook| json!({
            "event": hook.event, "matcher": hook.matcher, "command": hook.command,
            "network": hook.network,
        })).collect::<Vec<_>>(),
        "network": summary.network,
        "network_left_out": summary.network_left_out,
        "hidden": summary.hidden.iter().map(|hidden| json!({
            "file": hidden.file, "line": hidden.line, "what": hidden.what,
        })).collect::<Vec<_>>(),
        "hidden_left_out": summary.hidden_left_out,
        "links": summary.links.iter().map(|link| json!({
            "from": link.from, "to": link.to, "through": link.through,
        })).collect::<Vec<_>>(),
        "findings": summary.findings.iter().map(|finding| json!({
            "file": finding.file, "line": finding.line, "rule": finding.rule,
            "severity": finding.severity.as_str(), "message": finding.message,
        })).collect::<Vec<_>>(),
    })
}

/// A section of the summary of what trusting a skill would allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustSection {
    /// The title.
    pub title: &'static str,
    /// The lines; never empty.
    pub lines: Vec<String>,
    /// `true` if the section should be highlighted.
    pub alarming: bool,
}

/// Summarises what trusting a skill would allow. Empty sections are left out.
pub fn trust_sections(changes: &[FileChange], summary: &TrustSummary) -> Vec<TrustSection> {
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
    let hooks = summary.hook_commands.iter();
    let mut hooks: Vec<String> = hooks
        .map(|hook| format!("{}: {}", hook.when(), hook.command))
        .collect();
    if summary.hooks && hooks.is_empty() {
        hooks.push("hooks: commands that run on certain events".to_owned());
    }
    let hidden = summary.hidden.iter();
    let hidden =
        hidden.map(|found| format!("{}:{} {}", found.file.display(), found.line, found.what));
    let left_out = (summary.hidden_left_out > 0).then(|| {
        let more = wording::thousands(summary.hidden_left_out);
        format!("{more} more places, not listed")
    });
    let hidden = hidden.chain(left_out);
    let links = summary.links.iter();
    let links = links.map(|link| {
        let through = link.through.iter().map(|path| path.display().to_string());
        let through: Vec<String> = through.collect();
        let mut line = format!("{} -> {}", link.from.display(), link.to.display());
        if !through.is_empty() {
            line.push_str(&format!(", through {}", through.join(" and ")));
        }
        if link.is_folder {
            line.push_str(" (a folder: its files can change without another question)");
        }
        line
    });
    let mut network = summary.network.clone();
    if summary.network_left_out > 0 {
        let more = wording::thousands(summary.network_left_out);
        network.push(format!("{more} more mentions, not listed"));
    }
    let scripts = summary
        .scripts
        .iter()
        .map(|path| path.display().to_string());
    let model: Vec<String> = summary.model.iter().cloned().collect();
    let findings = summary.findings.iter().map(|finding| {
        let TrustFinding {
            file,
            line,
            rule,
            severity,
            message,
        } = finding;
        let place = if *line == 0 {
            file.clone()
        } else {
            format!("{file}:{line}")
        };
        format!("{place} {}[{rule}] {message}", severity.as_str())
    });
    let all: [(&'static str, Vec<String>, bool); 12] = [
        ("Changed since it was trusted", trust_changes(changes), true),
        ("May do anything without approval", grants(true), true),
        ("May use without approval", grants(false), false),
        ("Invalid entries, ignored", faulty.collect(), false),
        ("Sends the conversation to another model", model, false),
        ("Runs when it is loaded", summary.commands.clone(), true),
        ("Runs later", hooks, true),
        ("Contains scripts and programs", scripts.collect(), false),
        ("Mentions hosts and network programs", network, false),
        ("Contains hidden text", hidden.collect(), true),
        ("Links to files outside its folder", links.collect(), true),
        ("Read these places first", findings.collect(), true),
    ];
    let filled = all.into_iter().filter(|(_, lines, _)| !lines.is_empty());
    filled
        .map(|(title, lines, alarming)| TrustSection {
            title,
            lines,
            alarming,
        })
        .collect()
}

/// Returns the trusted skills as a document.
pub fn trusted_skills(entries: &[TrustEntry]) -> Value {
    let all: Vec<Value> = entries
        .iter()
        .map(|entry| match entry {
            TrustEntry::Record(record) => {
                json!({
                    "path": record.path, "kind": record.kind.map(TrustKind::name),
                    "digest": record.digest, "since": record.since,
                })
            }
            TrustEntry::Damaged { path, why } => {
                json!({ "record": path, "damaged": why.to_string() })
            }
        })
        .collect();
    json!({ "schema": "prowess.trust/1", "trusted": all })
}

/// Returns the outcome of a command as a document, with the state of the sandbox.
pub fn command_run(line: &str, outcome: &CommandOutcome) -> Value {
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
                LayerStatus::On => "on".to_owned(),
                LayerStatus::Missing(why) => format!("missing: {why}"),
                LayerStatus::Off(why) => format!("off: {why}"),
            },
        })).collect::<Vec<_>>(),
        "notes": outcome.notes.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

/// Describes the replacement of a placeholder.
pub fn describe_replacement(became: Replacement) -> String {
    match became {
        Replacement::Value(bytes) => format!("a value of {bytes} bytes"),
        Replacement::Empty => "empty, no value".to_owned(),
        Replacement::Missing => "unchanged, no such argument".to_owned(),
        Replacement::Unknown => "unchanged, no such variable".to_owned(),
        Replacement::Code => "unchanged, it is in code".to_owned(),
        Replacement::Escaped => "literal text, without the backslash".to_owned(),
        Replacement::Bound(bytes) => format!("a variable of the command, {bytes} bytes"),
        Replacement::Unset => "a variable of the command, without a value".to_owned(),
        _ => "something else".to_owned(),
    }
}

/// Returns an activation as a document: the text for the model, and how it was rendered.
pub fn activation(activation: &Activation) -> Value {
    let (text, source) = (activation.text(), &activation.snapshot.document.text);
    json!({
        "schema": "prowess.activation/1",
        "name": activation.name(),
        "folder": activation.folder,
        "digest": activation.digest(),
        "trusted": activation.is_trusted(),
        "text": text,
        "body": activation.body,
        "tokens": tokens::estimate(&text),
        "files": activation.files.iter().map(|(path, size)| json!({ "path": path, "size": size })).collect::<Vec<_>>(),
        "file_count": activation.file_count,
        "arguments_appended": activation.report.appended,
        "substitutions": activation.report.filled.iter().map(|filled| json!({
            "placeholder": filled.span.of(source),
            "offset": filled.span.start,
            "became": describe_replacement(filled.became),
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

/// Maximum number of placeholders and commands in a report.
const MOST: usize = 20;

/// Describes how an activation was rendered, one line for each step.
pub fn activation_report(activation: &Activation) -> Vec<String> {
    let source = &activation.snapshot.document.text;
    let index = LineIndex::new(source);
    let trust = if activation.is_trusted() {
        ""
    } else {
        "; not trusted: its commands did not run"
    };
    let tokens = wording::thousands(tokens::estimate(&activation.text()));
    let mut lines = vec![format!(
        "{}: about {tokens} tokens{trust}",
        activation.name()
    )];
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
            describe_replacement(filled.became)
        ));
    }
    more(&mut lines, activation.report.filled.len(), "placeholder");
    if activation.report.appended {
        lines.push(
            "  arguments appended at the end: the skill has no placeholder for some of them"
                .to_owned(),
        );
    }
    for run in activation.runs.iter().take(MOST) {
        let how = match run.code {
            Some(code) => format!(
                "exit code {code} after {} ms, {} bytes (allowed by {})",
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

/// Describes the outcome of a command. The first line says how it ended; the others describe the
/// sandbox and the output.
pub fn command_run_report(outcome: &CommandOutcome) -> Vec<String> {
    let end = match (outcome.stopped, outcome.end) {
        (Some(Stopped::Deadline), _) => "timed out".to_owned(),
        (Some(Stopped::Cancelled), _) => "cancelled".to_owned(),
        (None, End::Code(code)) => format!("exit code {code}"),
        (None, End::Signal(signal)) => format!("killed by signal {signal}"),
    };
    let time = match outcome.duration.as_millis() {
        below @ 0..1000 => format!("{below} ms"),
        _ => format!("{:.1} s", outcome.duration.as_secs_f64()),
    };
    let on = outcome
        .layers
        .iter()
        .filter(|layer| layer.state == LayerStatus::On);
    let on: Vec<&str> = on.map(|layer| layer.layer.name()).collect();
    let on = if on.is_empty() {
        "none".to_owned()
    } else {
        on.join(", ")
    };
    let mut lines = vec![format!("{end} after {time}; sandbox: {on}")];
    for layer in &outcome.layers {
        if let LayerStatus::Missing(why) = &layer.state {
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
                "{name}: {} bytes in total",
                wording::thousands(total)
            ));
        }
    }
    lines.extend(outcome.notes.iter().map(|note| format!("note: {note}")));
    lines
}

/// Returns the tools of a model as a document.
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
