//! `prowess policy`

use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::sync::Arc;

use anstyle::{AnsiColor, Style};
use prowess_diag::{sanitize, wording};
use prowess_policy::command::{Script, Simple, lex};
use prowess_policy::{Action, Actor, Decision, Effect, Gate, Places, Source, Verdict};
use prowess_terminal::{Cell, Printer, Table, bold, wrap};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::args::{CheckArgs, GlobalArgs, PolicyArgs, PolicyCommand, PolicyShowArgs};
use crate::env::Environment;
use crate::error::CliError;
use crate::exit::Exit;
use crate::library::{self, Library};
use crate::permissions;

/// Longest line of `--jsonl`, in bytes.
const MAX_LINE: usize = 4 * 1024 * 1024;
/// Most sets of rules of `--jsonl` that are kept parsed.
const MAX_SETS: usize = 4096;
/// Where the answers begin, behind their titles.
const COLUMN: usize = 7;

pub(crate) fn run(
    args: &PolicyArgs,
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, CliError> {
    match &args.command {
        PolicyCommand::Check(args) if args.jsonl => check_lines(),
        PolicyCommand::Check(args) => check(args, global, environment, printer),
        PolicyCommand::Show(args) => show(args, environment, printer),
    }
}

fn check(
    args: &CheckArgs,
    global: &GlobalArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, CliError> {
    let (config, warnings) = library::settings(environment)?;
    for report in warnings.iter().filter(|_| !printer.is_quiet()) {
        printer.findings(report);
    }
    let mut gate = permissions::gate(&config, environment);
    for (effect, rules) in
        [(Effect::Allow, &args.allow), (Effect::Ask, &args.ask), (Effect::Deny, &args.deny)]
    {
        permissions::add(&mut gate, effect, rules)?;
    }
    let standing = match &args.skill {
        None => None,
        Some(name) => {
            let library = Library::with(config, global, environment)?;
            let catalog = library.catalog();
            let entry = catalog.resolve(name).map_err(|fault| library::not_found(&fault))?;
            Some(permissions::standing(&entry.skill, &library, environment)?)
        }
    };
    let actor = standing.as_ref().map_or_else(Actor::default, |standing| standing.actor(false));
    let line = permissions::line(&args.line);
    let decision = gate.decide(&Action::Command { text: &line }, &actor);
    let words = lex(&line).ok().map(|script| words(&script));
    if args.json {
        let mut document = answer(&decision, words.as_deref());
        document["schema"] = "prowess.policy.check/1".into();
        document["command"] = line.into();
        printer.json(&document)?;
    } else {
        printer.answer(&text(&line, &decision, words.as_deref(), printer.list_width()))?;
    }
    Ok(if decision.verdict == Verdict::Allow { Exit::Done } else { Exit::No })
}

fn words(script: &Script) -> Vec<Vec<String>> {
    let of = |command: &Simple| command.words.iter().map(|word| word.text.to_string()).collect();
    script.commands.iter().map(of).collect()
}

fn answer(decision: &Decision, words: Option<&[Vec<String>]>) -> Value {
    json!({
        "verdict": decision.verdict.as_str(),
        "reason": decision.reason,
        "rule": decision.rule.as_ref().map(|rule| &rule.text),
        "source": decision.rule.as_ref().map(|rule| &rule.source),
        "remedy": decision.remedy,
        "words": words,
    })
}

fn text(line: &str, decision: &Decision, words: Option<&[Vec<String>]>, width: usize) -> String {
    let color = match decision.verdict {
        Verdict::Allow => AnsiColor::Green,
        Verdict::Ask => AnsiColor::Yellow,
        Verdict::Deny => AnsiColor::Red,
    };
    let (verdict, dim) = (bold(color), Style::new().dimmed());
    let mut text = String::new();
    let mut row = |title: &str, style: Style, value: &str| {
        let indent = format!("\n{:COLUMN$}", "");
        let value =
            wrap(&sanitize::line(value), width.saturating_sub(COLUMN).max(20)).join(&indent);
        let gap = " ".repeat(COLUMN.saturating_sub(title.len()));
        text.push_str(&format!("{style}{title}{style:#}{gap}{value}\n"));
    };
    row(decision.verdict.as_str(), verdict, line);
    row("why", dim, &decision.reason);
    if let Some(rule) = &decision.rule {
        row("rule", dim, &format!("{} {} ({})", rule.effect.as_str(), rule.text, rule.source));
    }
    for command in words.into_iter().flatten() {
        let quoted: Vec<String> = command.iter().map(|word| wording::shell_word(word)).collect();
        row("words", dim, &quoted.join(" · "));
    }
    if let Some(remedy) = &decision.remedy {
        row("help", dim, remedy);
    }
    text
}

/// One line of `--jsonl`.
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

/// Answers a line for each line. A line that means nothing gets an answer too: nothing is lost.
fn check_lines() -> Result<Exit, CliError> {
    let mut input = std::io::stdin().lock();
    let mut output = std::io::BufWriter::with_capacity(1 << 16, std::io::stdout().lock());
    let mut gates: HashMap<String, Arc<Gate>> = HashMap::new();
    let mut line = Vec::new();
    let failed = |error: std::io::Error| CliError::new("cannot read standard input").cause(error);
    loop {
        line.clear();
        let mut limited = std::io::Read::take(&mut input, MAX_LINE as u64 + 1);
        if limited.read_until(b'\n', &mut line).map_err(failed)? == 0 {
            break;
        }
        if line.len() > MAX_LINE && !line.ends_with(b"\n") {
            input.skip_until(b'\n').map_err(failed)?;
            line.clear();
            line.extend(b"\"too long\"");
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let document = answer_line(&line, &mut gates);
        let written = serde_json::to_writer(&mut output, &document)
            .map_err(std::io::Error::from)
            .and_then(|()| output.write_all(b"\n"));
        match written {
            Ok(()) => {}
            // The reader had enough.
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => return Ok(Exit::Done),
            Err(error) => return Err(CliError::new("cannot write the answers").cause(error)),
        }
    }
    output.flush().map_err(|error| CliError::new("cannot write the answers").cause(error))?;
    Ok(Exit::Done)
}

/// One answer of `--jsonl`.
#[derive(Serialize)]
struct Answer {
    id: Value,
    verdict: &'static str,
    reason: Box<str>,
    rule: Option<Box<str>>,
    words: Option<Vec<Vec<Box<str>>>>,
}

fn answer_line(line: &[u8], gates: &mut HashMap<String, Arc<Gate>>) -> Answer {
    let refused = |id: Value, why: String| Answer {
        id,
        verdict: Verdict::Deny.as_str(),
        reason: why.into(),
        rule: None,
        words: None,
    };
    let case: Case<'_> = match serde_json::from_slice(line) {
        Ok(case) => case,
        Err(error) => {
            let id = serde_json::from_slice::<Value>(line).ok().map(|value| value["id"].clone());
            return refused(id.unwrap_or_default(), format!("the line cannot be read: {error}"));
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
            Err(error) => return refused(case.id, format!("the rules cannot be read: {error}")),
        },
    };
    let (decision, script) = gate.examine(&case.cmd, &Actor::default());
    let words = |script: Script| {
        let of = |command: Simple| command.words.into_iter().map(|word| word.text).collect();
        script.commands.into_iter().map(of).collect()
    };
    Answer {
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
        gate.places = Places { root: cwd.as_str().into(), ..gate.places };
    }
    for (effect, list) in
        [(Effect::Allow, rules.allow), (Effect::Ask, rules.ask), (Effect::Deny, rules.deny)]
    {
        for rule in list {
            gate.rules.add(effect, &rule, Source::Flag);
        }
    }
    Ok(gate)
}

fn show(
    args: &PolicyShowArgs,
    environment: &Environment,
    printer: &Printer,
) -> Result<Exit, CliError> {
    let (config, _) = library::settings(environment)?;
    let mode = config.mode.unwrap_or_default();
    let strength = config.sandbox.unwrap_or_default();
    let rules = &config.permissions;
    if args.json {
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
        printer.json(&json!({
            "schema": "prowess.policy/1",
            "mode": mode.as_str(),
            "sandbox": strength.as_str(),
            "rules": listed,
            "unread": unread,
        }))?;
        return Ok(Exit::Done);
    }
    let mut table = Table::new(&["EFFECT", "RULE", "FROM"]).wrapping();
    for effect in [Effect::Deny, Effect::Ask, Effect::Allow] {
        let color = match effect {
            Effect::Deny => AnsiColor::Red,
            Effect::Ask => AnsiColor::Yellow,
            Effect::Allow => AnsiColor::Green,
        };
        for placed in rules.of(effect) {
            let anything = effect == Effect::Allow && placed.rule.is_unrestricted();
            let note = if anything { " (allows anything)" } else { "" };
            table.row(vec![
                Cell::styled(effect.as_str(), bold(color)),
                Cell::new(&format!("{}{note}", placed.rule.text)),
                Cell::styled(&placed.source.to_string(), Style::new().dimmed()),
            ]);
        }
    }
    let count = rules.all().len();
    if count > 0 {
        printer.answer(&table.render(printer.width()))?;
    }
    for unread in rules.unread() {
        printer.warn(&format!(
            "the {} rule `{}` of {} means nothing: {}",
            unread.effect.as_str(),
            unread.fault.text,
            unread.source,
            unread.fault.why
        ));
    }
    let rest = match mode.as_str() {
        "ask" => "what no rule allows is asked about",
        "allow" => "what no rule allows is refused",
        "plan" => "nothing runs or is changed",
        "accept-edits" => "files of the project may be written; the rest is asked about",
        _ => "what no rule forbids is allowed",
    };
    printer.status(&format!(
        "{}; mode `{}`: {rest}; sandbox `{}`",
        if count == 0 { "No rules".to_owned() } else { wording::count(count, "rule") },
        mode.as_str(),
        strength.as_str()
    ));
    Ok(Exit::Done)
}
