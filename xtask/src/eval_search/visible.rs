//! Measures what a model reads on a turn: the share of prompts for which the description of the
//! right skill is in the index or in the hint.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use prowess_catalog::index::{self, HintOptions, IndexBudget, IndexOptions};
use prowess_catalog::{Audience, Catalog, CatalogView, Precedence, Skill, Visibility};
use prowess_search::hint::{HintQuery, HintRequest, hint};
use prowess_search::{GOOD_FIT, SearchIndex};
use prowess_spec::tokens;
use serde_json::json;

use super::{Entry, Prompt, hash, interval, no_skill, share, timed};

/// A description is visible if its first characters are: this many, or all of them.
const FIRST: usize = 100;
/// Sizes of the libraries.
const SIZES: [usize; 4] = [30, 300, 3_000, usize::MAX];
/// Number of libraries of each size that are searched with messages that no skill fits.
const LIBRARIES: usize = 20;
/// The context window for which listings are compared, in tokens.
const WINDOW: usize = 200_000;

/// The parts of a skill that a model reads on one turn.
#[derive(Clone, Copy, Default)]
struct Turn {
    /// The description is visible in our index.
    index: bool,
    /// The description is visible in the hint, or in the index while the hint has the name.
    hint: bool,
    /// The simulated listings show it.
    codex: bool,
    claude: bool,
    /// Number of skills in the hint, and whether the right one is among them, and first.
    hinted: usize,
    has_right: bool,
    is_first: bool,
    tokens: usize,
    /// The time to make the hint, without the search index.
    time: Duration,
}

/// Prints the table. Options: `K TOKENS FIT` to try other limits of the hint.
pub(super) fn run(entries: &[Entry], prompts: &[Prompt], options: &[&str]) -> Result<()> {
    let (limits, least) = match options {
        [] => (HintOptions::default(), GOOD_FIT),
        [skills, tokens, fit] => (
            HintOptions {
                skills: skills.parse().context("a number of skills")?,
                tokens: tokens.parse().context("a number of tokens")?,
            },
            fit.parse().context("a fit")?,
        ),
        _ => bail!("expected: SKILLS TOKENS FIT"),
    };
    let mut targets: BTreeMap<usize, Vec<&Prompt>> = BTreeMap::new();
    for prompt in prompts {
        targets.entry(prompt.right).or_default().push(prompt);
    }
    let silent: Vec<&str> = no_skill().collect();
    println!(
        "{} skills, {} prompts for {} skills, {} messages that no skill fits; hint: at most {} skills and {} tokens, fit at least {least}\n",
        entries.len(),
        prompts.len(),
        targets.len(),
        silent.len(),
        limits.skills,
        limits.tokens
    );
    println!(
        "| skills | Claude Code's listing | Codex's listing | our index | index and hint | 95 % | hint: prompts with one | right among them | right of all hinted | right one first | tokens, mean / 95 % | silent on other messages | time, median / 99 % |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|---|");
    for size in SIZES {
        let mut turns: Vec<(usize, Turn)> = Vec::new();
        let mut quiet: Vec<bool> = Vec::new();
        let mut whole = None;
        for (number, (&right, prompts)) in targets.iter().enumerate() {
            let made;
            let library = if size < entries.len() {
                made = Library::new(&sample(entries, right, size));
                &made
            } else {
                whole.get_or_insert_with(|| Library::new(&entries.iter().collect::<Vec<_>>()))
            };
            let skill = &entries[right].skill;
            for prompt in prompts {
                turns.push((right, library.turn(skill, &prompt.text, limits, least)));
            }
            if number < LIBRARIES && (size < entries.len() || number == 0) {
                let is_quiet = |message: &&str| library.hint(message, limits, least).0.is_empty();
                quiet.extend(silent.iter().map(is_quiet));
            }
        }
        print_row(size.min(entries.len()), &turns, &quiet);
    }
    Ok(())
}

fn print_row(size: usize, turns: &[(usize, Turn)], quiet: &[bool]) {
    let part_of = |of: &dyn Fn(&Turn) -> bool| share(turns.iter().map(|(_, turn)| of(turn)));
    // Prompts for one skill resemble each other, so that skills are resampled.
    let mut skills: BTreeMap<usize, Vec<bool>> = BTreeMap::new();
    for (right, turn) in turns {
        let skill = skills.entry(*right).or_default();
        skill.push(turn.index || turn.hint);
    }
    let skills: Vec<Vec<bool>> = skills.into_values().collect();
    let (low, high) = interval(&skills, |visible| f64::from(u8::from(*visible)));
    let hinted: usize = turns.iter().map(|(_, turn)| turn.hinted).sum();
    let right = turns.iter().filter(|(_, turn)| turn.has_right).count();
    let with = turns.iter().filter(|(_, turn)| turn.hinted > 0).count();
    let first = turns.iter().filter(|(_, turn)| turn.is_first).count();
    let mut spent: Vec<usize> = turns.iter().map(|(_, turn)| turn.tokens).collect();
    spent.sort_unstable();
    let mut times: Vec<Duration> = turns.iter().map(|(_, turn)| turn.time).collect();
    times.sort_unstable();
    let time = |per_cent: usize| {
        let time = times.get(times.len() * per_cent / 100);
        time.map_or(0.0, |time| time.as_secs_f64() * 1e3)
    };
    let part = |one: usize, all: usize| one as f64 / all.max(1) as f64;
    println!(
        "| {size} | {:.3} | {:.3} | {:.3} | {:.3} | {low:.3} to {high:.3} | {:.3} | {:.3} | {:.3} | {:.3} | {:.0} / {} | {:.3} | {:.2} / {:.2} ms |",
        part_of(&|turn| turn.claude),
        part_of(&|turn| turn.codex),
        part_of(&|turn| turn.index),
        part_of(&|turn| turn.index || turn.hint),
        part(with, turns.len()),
        part(right, with),
        part(right, hinted),
        part(first, with),
        part(spent.iter().sum(), spent.len()),
        spent.get(spent.len() * 95 / 100).copied().unwrap_or(0),
        share(quiet.iter().copied()),
        time(50),
        time(99),
    );
}

/// Returns a library of `size` skills with the right one. For one skill, smaller libraries are
/// subsets of larger ones.
fn sample(entries: &[Entry], right: usize, size: usize) -> Vec<&Entry> {
    let seed = &entries[right].skill.id.path;
    let mut order: Vec<(u64, usize)> = (0..entries.len())
        .filter(|&at| at != right)
        .map(|at| (hash(&format!("{seed}\0{}", entries[at].skill.id.path)), at))
        .collect();
    order.sort_unstable();
    let others = order.iter().take(size.saturating_sub(1));
    let mut some: Vec<usize> = others.map(|(_, at)| *at).chain([right]).collect();
    some.sort_unstable();
    some.into_iter().map(|at| &entries[at]).collect()
}

/// A set of skills with its listings.
struct Library {
    catalog: Catalog,
    search: SearchIndex,
    index: String,
    codex: BTreeMap<Box<str>, bool>,
    claude: BTreeMap<Box<str>, bool>,
}

impl Library {
    fn new(entries: &[&Entry]) -> Self {
        let skills: Vec<_> = entries.iter().map(|entry| entry.skill.clone()).collect();
        let catalog = Catalog::new(skills, Precedence::default(), 0);
        let search = SearchIndex::build(entries.iter().map(|entry| entry.document()));
        let policy = Visibility::default();
        let view = CatalogView::new(&catalog, &policy, Audience::Model);
        let options = IndexOptions {
            budget: IndexBudget::of_window(WINDOW, index::DEFAULT_FRACTION),
            ..IndexOptions::default()
        };
        let listing = index::index(&index::entries(&view, &[]), &options).text;
        let listed: Vec<&Skill> = catalog.listed().map(|entry| &*entry.skill).collect();
        let (codex, claude) = (codex(&listed), claude_code(&listed));
        drop(view);
        Self {
            index: listing,
            codex,
            claude,
            search,
            catalog,
        }
    }

    /// Returns the hint for a message: its text, and the names in it.
    fn hint(&self, message: &str, options: HintOptions, least: f32) -> (String, Vec<Box<str>>) {
        let policy = Visibility::default();
        let view = CatalogView::new(&self.catalog, &policy, Audience::Model);
        let query = HintQuery::new(message, Path::new("/project"), &[]);
        let made = hint(&HintRequest {
            query: &query,
            catalog: &self.catalog,
            view: &view,
            index: &self.search,
            listing: &self.index,
            is_loaded: &|_| false,
            is_described: &|_| false,
            is_untrusted: &|_| false,
            load_tool: "load_skill",
            options,
            least_fit: least,
        });
        let Some(made) = made else {
            return (String::new(), Vec::new());
        };
        let names = made.rows.iter().filter(|row| row.outcome.is_shown());
        let names = names.map(|row| row.name.clone()).collect();
        (made.text, names)
    }

    fn turn(&self, skill: &Skill, message: &str, options: HintOptions, least: f32) -> Turn {
        let ((text, names), time) = timed(|| self.hint(message, options, least));
        let shows = |listing: &BTreeMap<Box<str>, bool>| {
            listing.get(&skill.name).copied().unwrap_or(false) && self.is_listed(skill)
        };
        let place = names.iter().position(|name| **name == *skill.name);
        let place = place.filter(|_| self.is_listed(skill));
        Turn {
            index: self.is_listed(skill) && is_visible(&self.index, skill),
            hint: place.is_some() && is_visible(&text, skill),
            codex: shows(&self.codex),
            claude: shows(&self.claude),
            hinted: names.len(),
            has_right: place.is_some(),
            is_first: place == Some(0),
            tokens: tokens::estimate(&text),
            time,
        }
    }

    /// Returns `true` if no other skill has the name of this one and takes precedence.
    fn is_listed(&self, skill: &Skill) -> bool {
        let entry = self.catalog.entry_of(skill);
        entry.is_some_and(|entry| !entry.is_shadowed())
    }
}

/// Returns `true` if a text of ours has a line with enough of the description of a skill.
fn is_visible(text: &str, skill: &Skill) -> bool {
    let start = format!("- **{}** — ", skill.name);
    let shown = text.lines().find_map(|line| line.strip_prefix(&*start));
    shown.is_some_and(|shown| match shown.strip_suffix('…') {
        Some(cut) => cut.chars().count() >= FIRST,
        None => true,
    })
}

/// Simulates the listing of Codex: 2 % of the window, `- name: description (file: path)`, at most
/// 1,024 characters of each description. If it does not fit, descriptions get the same number of
/// characters; if not even the names fit, the rest is omitted.
fn codex(skills: &[&Skill]) -> BTreeMap<Box<str>, bool> {
    let room = WINDOW * 2 / 100 * 4;
    let frame = |skill: &Skill| "- : (file: r0//SKILL.md)\n".len() + 2 * skill.name.chars().count();
    let wants: Vec<usize> = skills
        .iter()
        .map(|skill| skill.description.chars().count().min(1_024))
        .collect();
    let frames: usize = skills.iter().map(|skill| frame(skill)).sum();
    let Some(mut left) = room.checked_sub(frames) else {
        return BTreeMap::new();
    };
    // Each description grows by one character in turn.
    let (mut level, mut open) = (0, wants.len());
    while open > 0 && left >= open {
        level += 1;
        left -= open;
        open = wants.iter().filter(|want| **want > level).count();
    }
    let shows = |want: usize| want <= level || level >= FIRST;
    let rows = skills.iter().zip(&wants);
    rows.map(|(skill, want)| (skill.name.clone(), shows(*want)))
        .collect()
}

/// Simulates the listing of Claude Code: 1 % of the window, at most 1,536 characters of each
/// description. If it does not fit, all names stay, and descriptions of the least used skills are
/// dropped; without any use, which ones is a matter of chance.
fn claude_code(skills: &[&Skill]) -> BTreeMap<Box<str>, bool> {
    let room = WINDOW / 100 * 4;
    let frame = |skill: &Skill| "- \n".len() + skill.name.chars().count();
    let frames: usize = skills.iter().map(|skill| frame(skill)).sum();
    let mut left = room.saturating_sub(frames);
    let mut order: Vec<&&Skill> = skills.iter().collect();
    order.sort_by_key(|skill| hash(&format!("use {}", skill.id.path)));
    let mut shown = BTreeMap::new();
    for skill in order {
        let text = skill.listing_text().chars().count().min(1_536) + ": ".len();
        let fits = text <= left;
        left -= if fits { text } else { 0 };
        shown.insert(skill.name.clone(), fits);
    }
    shown
}

/// Runs the binary with a home of 300 real skills and ten prompts: the request that reaches the
/// scripted model must contain the beginning of the right description.
pub(super) fn journey(entries: &[Entry], prompts: &[Prompt], binary: &Path) -> Result<()> {
    let mut chosen: Vec<&Prompt> = Vec::new();
    let mut order: Vec<&Prompt> = prompts.iter().collect();
    order.sort_by_key(|prompt| hash(&prompt.text));
    for prompt in order {
        if chosen.len() < 10 && chosen.iter().all(|known| known.right != prompt.right) {
            chosen.push(prompt);
        }
    }
    let home = tempfile::tempdir()?;
    let project = home.path().join("project");
    std::fs::create_dir_all(&project)?;
    let mut library = sample(entries, chosen[0].right, 300 - (chosen.len() - 1));
    for prompt in &chosen[1..] {
        if !library
            .iter()
            .any(|one| one.skill.id == entries[prompt.right].skill.id)
        {
            library.push(&entries[prompt.right]);
        }
    }
    for entry in &library {
        let file = entry.skill.location.path();
        let folder = file.parent().and_then(Path::file_name).unwrap_or_default();
        let folder = home.path().join(".claude/skills").join(folder);
        std::fs::create_dir_all(&folder)?;
        std::fs::copy(&file, folder.join("SKILL.md"))?;
    }
    let mut seen = 0;
    for prompt in &chosen {
        let skill = &entries[prompt.right].skill;
        let description = skill.listing_text();
        let words = description.split_whitespace().collect::<Vec<_>>().join(" ");
        let beginning: String = words.chars().take(60).collect();
        let script = home.path().join("script.jsonl");
        let line = json!({ "text": "Done.", "expect": [beginning] });
        std::fs::write(&script, format!("{line}\n"))?;
        let output = Command::new(std::fs::canonicalize(binary)?)
            .args(["run", "--task", &prompt.text, "--model"])
            .arg(format!("scripted:{}", script.display()))
            .env_clear()
            .env("HOME", home.path())
            .env("PROWESS_HOME", home.path().join("prowess"))
            .current_dir(&project)
            .output()?;
        seen += usize::from(output.status.success());
        let how = if output.status.success() { "yes" } else { "no" };
        println!("{how:<4}{}: {}", skill.name, prompt.text.replace('\n', " "));
    }
    println!("{seen} of {} with {} skills", chosen.len(), library.len());
    ensure!(
        seen * 10 >= chosen.len() * 9,
        "too few descriptions reach the model"
    );
    Ok(())
}
