//! Decisions about commands in JSON lines: one object per line in, one object per line out.

use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::sync::Arc;

use prowess_policy::{Actor, Effect, Gate, RuleSource, Verdict, WorkspacePaths};
use prowess_shell::{ShellLine, SimpleCommand};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// Maximum length of a line in bytes.
const MAX_LINE: usize = 4 * 1024 * 1024;
/// Maximum number of parsed rule sets to cache.
const MAX_SETS: usize = 4096;

/// One input line.
#[derive(Deserialize)]
struct Case<'a> {
    #[serde(default)]
    id: Value,
    #[serde(borrow)]
    rules: Option<&'a RawValue>,
    cmd: String,
    #[serde(default)]
    cwd: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Rules {
    allow: Vec<String>,
    ask: Vec<String>,
    deny: Vec<String>,
}

/// Writes one answer for each input line. An invalid line is answered with `deny`.
pub fn decide_jsonl(mut input: impl BufRead, mut output: impl Write) -> std::io::Result<()> {
    let mut gates: HashMap<String, Arc<Gate>> = HashMap::new();
    let mut line = Vec::new();
    loop {
        line.clear();
        let mut limited = std::io::Read::take(&mut input, MAX_LINE as u64 + 1);
        if limited.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        if line.len() > MAX_LINE && !line.ends_with(b"\n") {
            input.skip_until(b'\n')?;
            line.clear();
            line.extend(b"\"too long\"");
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        serde_json::to_writer(&mut output, &answer_line(&line, &mut gates))?;
        output.write_all(b"\n")?;
    }
    output.flush()
}

/// One output line.
#[derive(Serialize)]
struct WhyAnswer {
    id: Value,
    verdict: &'static str,
    reason: Box<str>,
    rule: Option<Box<str>>,
    words: Option<Vec<Vec<Box<str>>>>,
}

fn answer_line(line: &[u8], gates: &mut HashMap<String, Arc<Gate>>) -> WhyAnswer {
    let refused = |id: Value, why: String| WhyAnswer {
        id,
        verdict: Verdict::Deny.as_str(),
        reason: why.into(),
        rule: None,
        words: None,
    };
    let case: Case<'_> = match serde_json::from_slice(line) {
        Ok(case) => case,
        Err(error) => {
            let id = serde_json::from_slice::<Value>(line)
                .ok()
                .map(|value| value["id"].clone());
            return refused(id.unwrap_or_default(), format!("invalid line: {error}"));
        }
    };
    let rules = case.rules.map_or("", RawValue::get);
    let cwd = case.cwd.as_deref().unwrap_or_default();
    let named = (!cwd.is_empty()).then(|| format!("{cwd}\n{rules}"));
    let key = named.as_deref().unwrap_or(rules);
    let gate = match gates.get(key) {
        Some(gate) => Arc::clone(gate),
        None => match gate_of(&case) {
            Ok(gate) => {
                if gates.len() >= MAX_SETS {
                    gates.clear();
                }
                let gate = Arc::new(gate);
                gates.insert(key.to_owned(), Arc::clone(&gate));
                gate
            }
            Err(error) => return refused(case.id, format!("invalid rules: {error}")),
        },
    };
    let (decision, script) = gate.examine(&case.cmd, &Actor::default());
    let words = |script: ShellLine| {
        let of = |command: SimpleCommand| command.words.into_iter().map(|word| word.text).collect();
        script.commands.into_iter().map(of).collect()
    };
    WhyAnswer {
        id: case.id,
        verdict: decision.verdict.as_str(),
        reason: decision.reason,
        rule: decision.rule.map(|rule| rule.text),
        words: script.ok().map(words),
    }
}

fn gate_of(case: &Case<'_>) -> Result<Gate, serde_json::Error> {
    let rules: Rules = match case.rules {
        Some(rules) => serde_json::from_str(rules.get())?,
        None => Rules::default(),
    };
    let mut gate = Gate::default();
    if let Some(cwd) = &case.cwd {
        gate.places = WorkspacePaths {
            root: cwd.as_str().into(),
            ..gate.places
        };
    }
    for (effect, list) in [
        (Effect::Allow, rules.allow),
        (Effect::Ask, rules.ask),
        (Effect::Deny, rules.deny),
    ] {
        for rule in list {
            gate.rules.add(effect, &rule, RuleSource::Flag);
        }
    }
    Ok(gate)
}
