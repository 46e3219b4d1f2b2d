//! Measures permission decisions: one decision, and lines of JSON through the command.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use prowess_policy::{Actor, Effect, Gate, GateAction, RuleSource};

const COMMANDS: &[&str] = &[
    "git status",
    "git commit -m \"a; b && c\"",
    "git log --oneline -20 2>&1",
    "cargo test --workspace",
    "npm run build",
    "ls -la src",
    "git add src/*.rs",
    "cat README.md | head -20",
    "rg -n 'fn main' crates",
    "python3 scripts/fill.py --output-name x form.pdf",
];

const ALLOW: &[&str] = &[
    "Bash(git:*)",
    "Bash(cargo:*)",
    "Bash(npm run:*)",
    "Bash(ls:*)",
    "Bash(cat:*)",
    "Bash(head:*)",
    "Bash(rg:*)",
    "Bash(python3:*)",
    "Read",
    "Edit(src/**)",
];

const DENY: &[&str] = &[
    "Bash(rm:*)",
    "Bash(sudo:*)",
    "Bash(git push --force:*)",
    "Read(.env)",
    "Read(~/.ssh/**)",
    "Edit(.git/**)",
];

fn gate(deny: &[&str]) -> Gate {
    let mut gate = Gate::default();
    for (effect, list) in [(Effect::Allow, ALLOW), (Effect::Deny, deny)] {
        for rule in list {
            gate.rules.add(effect, rule, RuleSource::Flag);
        }
    }
    gate
}

/// Returns the time for one decision, the best of several rounds.
fn decision(gate: &Gate) -> Duration {
    const ROUNDS: u32 = 2_000;
    let round = || {
        let start = Instant::now();
        for _ in 0..ROUNDS {
            for text in COMMANDS {
                std::hint::black_box(gate.decide(&GateAction::Command { text }, &Actor::default()));
            }
        }
        start.elapsed() / (ROUNDS * u32::try_from(COMMANDS.len()).unwrap_or(1))
    };
    (0..7).map(|_| round()).min().unwrap_or_default()
}

/// Returns the lines per second through `prowess policy check --jsonl`, the best of several rounds.
fn lines(binary: &Path) -> Result<f64> {
    const LINES: usize = 200_000;
    let rules = serde_json::json!({ "allow": ALLOW, "ask": ["Bash(git push:*)"], "deny": DENY });
    let input: String = (0..LINES)
        .map(|id| format!("{}\n", serde_json::json!({ "id": id, "rules": rules, "cmd": COMMANDS[id % COMMANDS.len()] })))
        .collect();
    let mut best: f64 = 0.0;
    for _ in 0..3 {
        let start = Instant::now();
        let mut child = Command::new(binary)
            .args(["policy", "check", "--jsonl"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", binary.display()))?;
        let mut stdin = child.stdin.take().context("it has an input")?;
        let answered = std::thread::scope(|scope| {
            let input = input.as_bytes();
            scope.spawn(move || stdin.write_all(input));
            child.wait_with_output()
        })?;
        let count = answered.stdout.split(|byte| *byte == b'\n').count() - 1;
        ensure!(count == LINES, "{count} answers for {LINES} lines");
        best = best.max(LINES as f64 / start.elapsed().as_secs_f64());
    }
    Ok(best)
}

pub(crate) fn run() -> Result<()> {
    println!("| what | figure | goal |");
    println!("|---|---|---|");
    let micros = |time: Duration| time.as_secs_f64() * 1e6;
    println!(
        "| one decision, allow rules only | {:.1} µs | 20 µs |",
        micros(decision(&gate(&[])))
    );
    println!(
        "| one decision, with six deny rules | {:.1} µs | 20 µs |",
        micros(decision(&gate(DENY)))
    );
    let rate = lines(&crate::mcp_clients::prowess()?)?;
    println!("| `policy check --jsonl`, lines per second | {rate:.0} | 50000 |");
    Ok(())
}
