//! Measures opening, searching and listing a library, and following changes on disk.
//!
//! Like `bench`: each way of opening runs in its own process, they alternate, and ratios are
//! computed within a round.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use prowess_catalog::index::{self, IndexOptions};
use prowess_catalog::{Audience, CatalogView, Precedence, Visibility};
use prowess_registry::{
    FileOptions, FileSource, Place, Registry, WalkOptions, WatchMode, WatchOptions,
};
use prowess_search::SearchQuery;

use crate::bench::{
    copy_tree, known_files, median, millis, peak_memory, read_known, resident, run_job,
    skill_folders,
};

const ROUNDS: usize = 7;
const THREADS: usize = 2;
const EDITS: usize = 50;

/// Ways of opening, each after its baseline.
const JOBS: [(&str, &str); 4] = [
    ("read", "(a) read every SKILL.md, paths known, nothing else"),
    ("open", "(b) find, read, parse, build the catalog"),
    ("stat", "(c) stat every SKILL.md, paths known, nothing else"),
    (
        "reopen",
        "(d) the same as (b) with the cache of the previous start",
    ),
];

/// Measures a library built from a corpus, then one ten times as large.
pub(crate) fn run(corpus: &Path, queries: &Path, skills: usize) -> Result<()> {
    for (size, rounds) in [(skills, ROUNDS), (skills * 10, 3)] {
        let world = tempfile::tempdir()?;
        let (library, cache) = (world.path().join("skills"), world.path().join("cache"));
        let bytes = make(corpus, &library, size)?;
        // The cache does not trust files that changed a moment ago, so make them older.
        std::thread::sleep(Duration::from_secs(3));
        println!(
            "{size} skills, {:.1} MB of SKILL.md, {THREADS} threads\n",
            bytes as f64 / 1e6
        );
        opening(&library, &cache, rounds)?;
        let output = Command::new(std::env::current_exe()?)
            .arg("bench-library-job")
            .args([
                "live".as_ref(),
                library.as_os_str(),
                cache.as_os_str(),
                queries.as_os_str(),
            ])
            .output()?;
        ensure!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        println!("{}", String::from_utf8(output.stdout)?);
    }
    Ok(())
}

fn opening(library: &Path, cache: &Path, rounds: usize) -> Result<()> {
    let mut times = vec![Vec::new(); JOBS.len()];
    let mut ratios = vec![Vec::new(); JOBS.len()];
    let mut memory = vec![0; JOBS.len()];
    for round in 0..=rounds {
        let mut limit = 1.0;
        for (number, (job, _)) in JOBS.iter().enumerate() {
            let (time, peak) = run_job(&[
                "bench-library-job".as_ref(),
                job.as_ref(),
                library.as_os_str(),
                cache.as_os_str(),
            ])?;
            // (b) is compared with (a), (d) with (c).
            if number % 2 == 0 {
                limit = time.as_secs_f64();
            }
            // The first round warms the caches.
            if round > 0 {
                times[number].push(time.as_secs_f64());
                ratios[number].push(time.as_secs_f64() / limit);
                memory[number] = peak.max(memory[number]);
            }
        }
    }
    println!("{:<56} {:>9} {:>7} {:>9}", "job", "time", "ratio", "memory");
    for (number, (_, title)) in JOBS.iter().enumerate() {
        println!(
            "{title:<56} {:>7.1}ms {:>6.2}x {:>6.1}MB",
            median(times[number].clone()) * 1e3,
            median(ratios[number].clone()),
            memory[number] as f64 / 1024.0
        );
    }
    println!();
    Ok(())
}

/// Runs a job in the child process, and prints nanoseconds and peak KiB.
pub(crate) fn job(job: &str, library: &Path, cache: &Path, queries: Option<&Path>) -> Result<()> {
    let count = AtomicUsize::new(0);
    let elapsed = match job {
        "read" => read_known(library, &count)?,
        "stat" => stat_known(library, &count)?,
        "open" | "reopen" => {
            let start = Instant::now();
            let cache = (job == "reopen").then(|| cache.to_owned());
            let registry = open(library, cache);
            let elapsed = start.elapsed();
            ensure!(!registry.snapshot().entries().is_empty(), "no skills found");
            // The exit is not part of the measurement.
            std::mem::forget(registry);
            elapsed
        }
        "live" => return live(library, cache, queries.context("queries are missing")?),
        other => bail!("unknown job {other}"),
    };
    println!("{} {}", elapsed.as_nanos(), peak_memory());
    Ok(())
}

fn open(library: &Path, cache: Option<PathBuf>) -> Registry {
    let registry = Registry::new(Precedence::default());
    let place = Place {
        only: Some(library.to_owned()),
        ..Place::default()
    };
    let walk = WalkOptions {
        threads: THREADS,
        max_folders: usize::MAX,
        ..WalkOptions::default()
    };
    let options = FileOptions {
        walk,
        cache,
        ..FileOptions::default()
    };
    registry.add_files(FileSource::new(place, options));
    registry.refresh();
    registry
}

/// Stats all files with known paths, with two threads.
fn stat_known(library: &Path, count: &AtomicUsize) -> Result<Duration> {
    let paths = known_files(library)?;
    let start = Instant::now();
    std::thread::scope(|scope| {
        for chunk in paths.chunks(paths.len().div_ceil(THREADS).max(1)) {
            scope.spawn(|| {
                let found = chunk
                    .iter()
                    .filter(|path| std::fs::metadata(path).is_ok())
                    .count();
                count.fetch_add(found, Ordering::Relaxed);
            });
        }
    });
    Ok(start.elapsed())
}

/// Measures a long-running program: search, list, follow edits.
fn live(library: &Path, cache: &Path, queries: &Path) -> Result<()> {
    let registry = open(library, Some(cache.to_owned()));
    let heads = resident();
    let start = Instant::now();
    let searched = registry.search_index();
    let built = start.elapsed();
    println!(
        "{:<56} {:>7.1}ms",
        "first search: read bodies, build the index",
        millis(built)
    );
    println!(
        "{:<56} {:>7.1}MB",
        "resident with the catalog",
        heads as f64 / 1024.0
    );
    println!(
        "{:<56} {:>7.1}MB",
        "resident with catalog and search index",
        resident() as f64 / 1024.0
    );
    let words = std::fs::read_to_string(queries)?;
    let mut prompts: Vec<String> = Vec::new();
    for line in words.lines().filter(|line| !line.trim().is_empty()) {
        let value: serde_json::Value = serde_json::from_str(line)?;
        prompts.push(
            value["query"]
                .as_str()
                .context("a query is not a string")?
                .to_owned(),
        );
    }
    let timed = |text: &str| {
        let query = SearchQuery {
            explain: false,
            ..SearchQuery::new(text)
        };
        let start = Instant::now();
        let hits = searched.search(&query);
        (start.elapsed(), hits.len())
    };
    let times = (0..5).flat_map(|_| prompts.iter().map(|prompt| timed(prompt).0.as_secs_f64()));
    percentiles("find, whole prompts", times.collect());
    let short = prompts
        .iter()
        .map(|prompt| prompt.split_whitespace().take(3).collect::<Vec<_>>());
    let short: Vec<String> = short.map(|words| words.join(" ")).collect();
    let times = (0..5).flat_map(|_| short.iter().map(|words| timed(words).0.as_secs_f64()));
    percentiles("find, three words", times.collect());
    let catalog = registry.snapshot();
    let (mut collecting, mut writing) = (Vec::new(), Vec::new());
    for _ in 0..50 {
        let start = Instant::now();
        let policy = Visibility::default();
        let view = CatalogView::new(&catalog, &policy, Audience::Model);
        let entries = index::entries(&view, &[]);
        collecting.push(start.elapsed().as_secs_f64());
        let start = Instant::now();
        let made = index::index(&entries, &IndexOptions::default());
        assert!(!made.text.is_empty(), "an index of many skills has a text");
        writing.push(start.elapsed().as_secs_f64());
    }
    percentiles("collect the visible skills", collecting);
    percentiles("prompt index, default budget", writing);
    edits(&registry, library)
}

/// Measures from one edit to the snapshot that contains it, without debouncing.
fn edits(registry: &Registry, library: &Path) -> Result<()> {
    let quiet = Duration::ZERO;
    let options = WatchOptions {
        quiet,
        longest: quiet,
        ..WatchOptions::default()
    };
    let changes = registry.subscribe();
    let watching = registry.watch(options);
    if let WatchMode::Polling { reason } = watching.mode() {
        println!("the system cannot watch this many folders ({reason}); polling every 2 s");
    }
    // The initial scan is over when a first edit has arrived.
    let set = library.join("set-0000");
    let mut skills: Vec<PathBuf> = Vec::new();
    for skill in std::fs::read_dir(&set)? {
        skills.push(skill?.path().join("SKILL.md"));
    }
    skills.sort();
    let mut times = Vec::new();
    for (number, file) in skills.iter().cycle().take(EDITS + 1).enumerate() {
        let text = std::fs::read(file)?;
        let mut edited = text.clone();
        edited.extend_from_slice(format!("\nedit {number}\n").as_bytes());
        let start = Instant::now();
        std::fs::write(file, &edited)?;
        let set = changes
            .next_within(Duration::from_secs(30))
            .context("an edit was missed")?;
        let elapsed = start.elapsed();
        ensure!(set.changes.len() == 1, "one edit, one change");
        if number > 0 {
            times.push(elapsed.as_secs_f64());
        }
    }
    drop(watching);
    percentiles("one edit to the new snapshot, no debouncing", times);
    let start = Instant::now();
    drop(registry.search_index());
    println!(
        "{:<56} {:>7.1}ms",
        "search index after these edits",
        millis(start.elapsed())
    );
    Ok(())
}

fn percentiles(title: &str, mut times: Vec<f64>) {
    times.sort_by(f64::total_cmp);
    let at = |share: usize| times[(times.len() * share / 100).min(times.len() - 1)] * 1e3;
    println!("{title:<56} p50 {:>7.3}ms  p99 {:>7.3}ms", at(50), at(99));
}

/// Copies a corpus until there are enough skills, each with a unique name.
fn make(corpus: &Path, target: &Path, skills: usize) -> Result<u64> {
    let folders = skill_folders(corpus)?;
    let mut bytes = 0;
    for number in 0..skills {
        let source = &folders[number % folders.len()];
        let set = number / folders.len();
        let name = source.file_name().unwrap_or_default().to_string_lossy();
        let folder = target
            .join(format!("set-{set:04}"))
            .join(format!("{name}-{set}"));
        copy_tree(source, &folder)?;
        let file = folder.join("SKILL.md");
        let text = String::from_utf8_lossy(&std::fs::read(&file)?).into_owned();
        let mut named = false;
        let lines = text.split_inclusive('\n').map(|line| {
            if named || !line.starts_with("name:") {
                return line.to_owned();
            }
            named = true;
            format!("name: {name}-{set}\n")
        });
        let text: String = lines.collect();
        bytes += text.len() as u64;
        std::fs::write(&file, text)?;
    }
    Ok(bytes)
}
