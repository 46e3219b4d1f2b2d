//! Measures reading, parsing and checking, compared with reading the same files only.
//!
//! Each job runs in its own process, so that its peak memory can be measured. Jobs alternate in
//! rounds, and ratios are computed within a round.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use prowess_lint::{LintProfile, LintRuleSet, LintSubject, check};
use prowess_registry::fs::walk::{WalkOptions, walk};
use prowess_registry::resource::SkillFolder;
use prowess_registry::scan_skill;
use prowess_spec::parse;

const ROUNDS: usize = 7;
const THREADS: usize = 2;

/// The jobs, the baseline first.
const JOBS: [(&str, &str); 7] = [
    ("read", "(a) read every SKILL.md, paths known, nothing else"),
    ("walk-read", "    find the skills, read them, nothing else"),
    ("parse", "(b) find, read, parse"),
    ("check", "(c) find, read, parse, all rules"),
    ("check-spec", "    the same, profile spec"),
    (
        "read-all",
        "(d) find, list and read all files, nothing else",
    ),
    ("scan", "(e) the same, and scan them"),
];

/// Measures with the repeated skills of a corpus, then with larger sizes.
pub(crate) fn run(corpus: &Path, skills: usize) -> Result<()> {
    let sizes = [skills / 10, skills, skills * 10];
    println!(
        "{skills} skills from {}, {THREADS} threads, warm cache, {ROUNDS} rounds; medians\n",
        corpus.display()
    );
    let mut grown: Vec<(usize, Vec<Sample>)> = Vec::new();
    for size in sizes {
        let world = tempfile::tempdir()?;
        let bytes = repeat(corpus, world.path(), size)?;
        let samples = measure(world.path(), if size > skills { 3 } else { ROUNDS })?;
        if size == skills {
            println!("{:.1} MB of SKILL.md\n", bytes as f64 / 1e6);
            println!(
                "{:<52} {:>9} {:>9} {:>7} {:>9}",
                "job", "time", "per skill", "ratio", "memory"
            );
            for ((_, title), sample) in JOBS.iter().zip(&samples) {
                let each = sample.time.as_secs_f64() * 1e6 / size as f64;
                println!(
                    "{title:<52} {:>7.1}ms {each:>7.2}µs {:>6.2}x {:>6.1}MB",
                    millis(sample.time),
                    sample.ratio,
                    sample.memory as f64 / 1024.0
                );
            }
        }
        grown.push((size, samples));
    }
    if let Some((_, samples)) = grown.iter().find(|(size, _)| *size == skills) {
        let (read, scanned) = (&samples[JOBS.len() - 2], &samples[JOBS.len() - 1]);
        println!("\n(e)/(d): {:.2}", scanned.ratio / read.ratio);
    }
    println!("\ngrowth: time of (c) and of (a), and peak memory of (c)\n");
    println!(
        "{:>8} {:>10} {:>10} {:>9} {:>9}",
        "skills", "(a)", "(c)", "(c)/(a)", "memory"
    );
    for (size, samples) in &grown {
        let (read, checked) = (&samples[0], &samples[3]);
        println!(
            "{size:>8} {:>8.1}ms {:>8.1}ms {:>8.2}x {:>7.1}MB",
            millis(read.time),
            millis(checked.time),
            checked.ratio,
            checked.memory as f64 / 1024.0
        );
    }
    Ok(())
}

pub(crate) fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

struct Sample {
    time: Duration,
    ratio: f64,
    memory: u64,
}

fn measure(folder: &Path, rounds: usize) -> Result<Vec<Sample>> {
    let mut times = vec![Vec::new(); JOBS.len()];
    let mut ratios = vec![Vec::new(); JOBS.len()];
    let mut memory = vec![0; JOBS.len()];
    for round in 0..=rounds {
        let mut limit = None;
        for (index, (job, _)) in JOBS.iter().enumerate() {
            let (time, peak) = run_job(&["bench-job".as_ref(), job.as_ref(), folder.as_os_str()])?;
            let limit = *limit.get_or_insert(time);
            // The first round only warms the cache.
            if round > 0 {
                times[index].push(time);
                ratios[index].push(time.as_secs_f64() / limit.as_secs_f64());
                memory[index] = peak.max(memory[index]);
            }
        }
    }
    Ok((0..JOBS.len())
        .map(|index| Sample {
            time: Duration::from_secs_f64(median(
                times[index].iter().map(Duration::as_secs_f64).collect(),
            )),
            ratio: median(ratios[index].clone()),
            memory: memory[index],
        })
        .collect())
}

/// Returns the median.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Runs a job in its own process. Returns the time inside it and its peak memory in KiB.
pub(crate) fn run_job(arguments: &[&OsStr]) -> Result<(Duration, u64)> {
    let output = Command::new(std::env::current_exe()?)
        .args(arguments)
        .output()?;
    if !output.status.success() {
        bail!("{}", String::from_utf8_lossy(&output.stderr));
    }
    let text = String::from_utf8(output.stdout)?;
    let mut words = text.split_whitespace();
    let mut number = || {
        words
            .next()
            .and_then(|word| word.parse::<u64>().ok())
            .context("the job printed no numbers")
    };
    Ok((Duration::from_nanos(number()?), number()?))
}

/// Runs a job in the child process, and prints nanoseconds, peak KiB and a count.
pub(crate) fn job(job: &str, folder: &Path) -> Result<()> {
    let count = AtomicUsize::new(0);
    let options = WalkOptions {
        threads: THREADS,
        max_folders: usize::MAX,
        ..WalkOptions::default()
    };
    let roots = [folder.to_owned()];
    let checked = |profile| {
        let rules = LintRuleSet::new(profile, None);
        let start = Instant::now();
        walk(&roots, options, &|found| {
            if let Ok(bytes) = found.bytes {
                let parsed = parse(bytes);
                count.fetch_add(
                    check(&LintSubject::new(&parsed, found.package), &rules).len(),
                    Ordering::Relaxed,
                );
            }
        });
        start.elapsed()
    };
    let elapsed = match job {
        "read" => read_known(folder, &count)?,
        "walk-read" => {
            let start = Instant::now();
            walk(&roots, options, &|found| {
                count.fetch_add(found.bytes.map_or(0, <[u8]>::len), Ordering::Relaxed);
            });
            start.elapsed()
        }
        "parse" => {
            let start = Instant::now();
            walk(&roots, options, &|found| {
                if let Ok(bytes) = found.bytes {
                    count.fetch_add(parse(bytes).manifest.entries.len(), Ordering::Relaxed);
                }
            });
            start.elapsed()
        }
        "check" => checked(LintProfile::ClaudeCode),
        "check-spec" => checked(LintProfile::Spec),
        "read-all" => {
            let start = Instant::now();
            walk(&roots, options, &|found| {
                let folder = found.path.parent().unwrap_or(found.path);
                let Ok(open) = SkillFolder::open(folder) else {
                    return;
                };
                for file in open.files().unwrap_or_default() {
                    let path = file.path.to_string_lossy();
                    let bytes = open.bytes(&path, prowess_scan::MAX_BYTES as u64);
                    count.fetch_add(bytes.map_or(0, |bytes| bytes.len()), Ordering::Relaxed);
                }
            });
            start.elapsed()
        }
        "scan" => {
            let start = Instant::now();
            walk(&roots, options, &|found| {
                let folder = found.path.parent().unwrap_or(found.path);
                let findings = scan_skill(folder).map_or(0, |scan| scan.files.len());
                count.fetch_add(findings, Ordering::Relaxed);
            });
            start.elapsed()
        }
        other => bail!("unknown job {other}"),
    };
    println!(
        "{} {} {}",
        elapsed.as_nanos(),
        peak_memory(),
        count.into_inner()
    );
    Ok(())
}

/// Reads all files with known paths, with two threads and one buffer each.
pub(crate) fn read_known(folder: &Path, count: &AtomicUsize) -> Result<Duration> {
    let paths = known_files(folder)?;
    let next = AtomicUsize::new(0);
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let mut buffer = vec![0; 1 << 20];
                loop {
                    let from = next.fetch_add(64, Ordering::Relaxed);
                    let Some(chunk) = paths
                        .get(from..paths.len().min(from + 64))
                        .filter(|chunk| !chunk.is_empty())
                    else {
                        break;
                    };
                    for path in chunk {
                        let Ok(mut file) = File::open(path) else {
                            continue;
                        };
                        while let Ok(read @ 1..) = file.read(&mut buffer) {
                            count.fetch_add(read, Ordering::Relaxed);
                        }
                    }
                }
            });
        }
    });
    Ok(start.elapsed())
}

/// Returns the peak resident memory of this process in KiB; 0 if unknown.
pub(crate) fn peak_memory() -> u64 {
    memory("VmHWM:")
}

/// Returns the resident memory of this process in KiB; 0 if unknown.
pub(crate) fn resident() -> u64 {
    memory("VmRSS:")
}

fn memory(key: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(key));
    line.and_then(|line| line.split_whitespace().next())
        .and_then(|number| number.parse().ok())
        .unwrap_or(0)
}

/// Returns the skills of a corpus, sorted.
pub(crate) fn skill_folders(corpus: &Path) -> Result<Vec<PathBuf>> {
    let mut folders: Vec<PathBuf> = std::fs::read_dir(corpus)
        .with_context(|| format!("cannot read {}", corpus.display()))?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.join("SKILL.md").is_file())
        .collect();
    folders.sort();
    if folders.is_empty() {
        bail!("no skills found in {}", corpus.display());
    }
    Ok(folders)
}

/// Returns every SKILL.md of a repeated corpus.
pub(crate) fn known_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut paths: Vec<PathBuf> = Vec::new();
    for set in std::fs::read_dir(folder)? {
        for skill in std::fs::read_dir(set?.path())? {
            paths.push(skill?.path().join("SKILL.md"));
        }
    }
    Ok(paths)
}

/// Copies the skills of a corpus until there are enough. Returns the total size of all SKILL.md.
pub(crate) fn repeat(corpus: &Path, target: &Path, skills: usize) -> Result<u64> {
    let folders = skill_folders(corpus)?;
    let mut bytes = 0;
    for index in 0..skills {
        let source = &folders[index % folders.len()];
        let name = source.file_name().unwrap_or_default().to_string_lossy();
        // The folder keeps its name, which rules compare with the name of the skill.
        let copy = target
            .join(format!("set-{:04}", index / folders.len()))
            .join(&*name);
        bytes += copy_tree(source, &copy)?;
    }
    Ok(bytes)
}

pub(crate) fn copy_tree(source: &Path, target: &Path) -> Result<u64> {
    std::fs::create_dir_all(target)?;
    let mut bytes = 0;
    for entry in std::fs::read_dir(source)? {
        let entry = entry?;
        let copy = target.join(entry.file_name());
        let kind = entry.file_type()?;
        if kind.is_dir() {
            bytes += copy_tree(&entry.path(), &copy)?;
        } else if kind.is_file() {
            let size = std::fs::copy(entry.path(), &copy)?;
            bytes += if entry.file_name() == "SKILL.md" {
                size
            } else {
                0
            };
        }
    }
    Ok(bytes)
}

/// Measures the whole command on one skill, compared with a program that does nothing.
pub(crate) fn start(root: &Path) -> Result<()> {
    let prowess = crate::mcp_clients::prowess()?;
    let skill = root.join("examples/skills/release-notes");
    let time = |program: &Path, arguments: &[&OsStr]| -> Result<Duration> {
        let mut times = Vec::new();
        for _ in 0..101 {
            let start = Instant::now();
            let status = Command::new(program)
                .args(arguments)
                .stdout(std::process::Stdio::null())
                .stderr(std::process::Stdio::null())
                .status()?;
            times.push(start.elapsed());
            if !status.success() {
                bail!("{} failed", program.display());
            }
        }
        times.sort();
        Ok(times[times.len() / 2])
    };
    let nothing = time(Path::new("/bin/true"), &[])?;
    let one = time(&prowess, &["validate".as_ref(), skill.as_os_str()])?;
    println!("true                      {:>6.2} ms", millis(nothing));
    println!(
        "prowess validate SKILL    {:>6.2} ms   {:.1}x",
        millis(one),
        one.as_secs_f64() / nothing.as_secs_f64()
    );
    Ok(())
}
