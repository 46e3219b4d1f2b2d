//! Plans all mission files of a collection, and the cases of Squadron's own tests.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use prowess_diag::{FileReport, LineIndex, Severity};
use prowess_flow::ProjectFiles;
use prowess_flow::mission::{MissionProject, MissionSettings, MissionText};
use prowess_registry::MissionFiles;
use prowess_spec::ReadFault;

/// Maximum time for one project.
const MAX_TIME: Duration = Duration::from_secs(1);

/// What a test of Squadron does in addition to the files of its case: it creates files, which the
/// case does not list, or it changes the configuration after reading it.
struct Amendment {
    case: &'static str,
    /// Files and folders that the test creates. A folder ends with `/`.
    creates: &'static [(&'static str, &'static str)],
    /// A text of the files, and what the test makes of it.
    replaces: Option<(&'static str, &'static str)>,
}

const fn creates(
    case: &'static str,
    creates: &'static [(&'static str, &'static str)],
) -> Amendment {
    Amendment {
        case,
        creates,
        replaces: None,
    }
}

const AMENDMENTS: [Amendment; 9] = [
    creates("SQ-009", &[("kb/", "")]),
    creates("SQ-015", &[("skill.md", "Instructions.")]),
    creates("SQ-023", &[("secret.txt", "s3cret")]),
    Amendment {
        case: "SQ-045",
        creates: &[],
        replaces: Some((
            "agents    = [agents.test_agent]",
            "agents = [agents.ghost_agent]",
        )),
    },
    creates("SQ-073", &[("kb/", "")]),
    creates("SQ-074", &[("kb/", "")]),
    creates("SQ-076", &[("data/kb/", "")]),
    creates(
        "SQ-121",
        &[(
            "agents.hcl",
            "variable \"key\" { default = \"k\" }\n\
             model \"anthropic\" {\n  provider = \"anthropic\"\n  api_key = vars.key\n}\n\
             agent \"test_agent\" {\n  model = models.anthropic.claude_sonnet_4\n  personality = \"Helpful\"\n}\n",
        )],
    ),
    Amendment {
        case: "SQ-124",
        creates: &[],
        replaces: Some((
            "tools       = [builtins.http.get]",
            "tools = [plugins.nonexistent.tool]",
        )),
    },
];

/// The files of a case.
struct CaseFiles<'c>(&'c BTreeMap<String, Vec<u8>>);

impl ProjectFiles for CaseFiles<'_> {
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadFault> {
        if let Some(bytes) = self.0.get(path) {
            return Ok(bytes.clone());
        }
        let folder = format!("{path}/");
        if self.0.keys().any(|known| known.starts_with(&folder)) {
            return Err(ReadFault::NotAFile("a folder"));
        }
        Err(ReadFault::Missing)
    }
}

fn settings() -> MissionSettings<'static> {
    MissionSettings::default()
}

/// Plans the files and the cases below a folder.
pub(crate) fn run(folder: &Path) -> Result<()> {
    let mut rules: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut slowest = (Duration::ZERO, String::new());
    let (mut files, mut clean, mut missions, mut agents, mut skills) = (0, 0, 0, 0, 0);
    let mut paths = Vec::new();
    collect(folder, &mut paths)?;
    paths.sort();
    for path in &paths {
        let shown = path.strip_prefix(folder)?.display().to_string();
        let start = Instant::now();
        let read = MissionFiles::read(path)
            .ok()
            .and_then(|files| files.project(&settings()).ok());
        let (project, reports) = read.with_context(|| format!("no answer for {shown}"))?;
        let took = start.elapsed();
        ensure!(took < MAX_TIME, "{shown} took {took:?}");
        if took > slowest.0 {
            slowest = (took, shown.clone());
        }
        files += 1;
        clean += usize::from(errors(&reports) == 0);
        missions += project.missions.len();
        agents += project.agents.len();
        skills += project.skills.len();
        for report in &reports {
            print_report(&shown, report, &mut rules);
        }
    }
    println!(
        "\n{files} files answered, {clean} without errors: {missions} missions, {agents} agents, {skills} skills"
    );
    println!("slowest: {} in {:?}", slowest.1, slowest.0);
    for ((rule, severity), count) in rules {
        println!("{count:>6} {severity:<8} {rule}");
    }
    let cases = folder.join("cases.jsonl");
    if cases.is_file() {
        run_cases(&cases)?;
    }
    Ok(())
}

fn print_report(
    shown: &str,
    report: &FileReport,
    rules: &mut BTreeMap<(&'static str, &'static str), usize>,
) {
    let lines = LineIndex::new(report.text());
    for finding in &report.diagnostics {
        let severity = finding.severity.as_str();
        *rules.entry((finding.rule, severity)).or_default() += 1;
        let start = finding.span.map_or(0, |span| span.start as usize);
        let line = lines.position(report.text(), start).line;
        let (rule, message) = (finding.rule, &finding.message);
        println!("{shown}:{line}: {severity}[{rule}] {message}");
    }
}

fn errors(reports: &[FileReport]) -> usize {
    let findings = reports.iter().flat_map(|report| &report.diagnostics);
    findings
        .filter(|finding| finding.severity == Severity::Error)
        .count()
}

fn collect(folder: &Path, paths: &mut Vec<PathBuf>) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, paths)?;
        } else if path.extension().is_some_and(|ending| ending == "hcl") {
            paths.push(path);
        }
    }
    Ok(())
}

/// Plans each case and compares the answer.
fn run_cases(path: &Path) -> Result<()> {
    let text = std::fs::read_to_string(path)?;
    let (mut right, mut total, mut amended) = (0, 0, 0);
    for line in text.lines() {
        let case: serde_json::Value = serde_json::from_str(line)?;
        let id = case["id"].as_str().unwrap_or_default();
        let wanted = case["ours"].as_str().or(case["squadron"].as_str());
        let wanted = wanted.with_context(|| format!("{id} expects nothing"))?;
        let amendment = AMENDMENTS.iter().find(|one| one.case == id);
        amended += usize::from(amendment.is_some());
        let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        for (name, text) in case["files"].as_object().into_iter().flatten() {
            let mut text = text.as_str().unwrap_or_default().to_owned();
            if let Some((from, to)) = amendment.and_then(|one| one.replaces) {
                ensure!(text.contains(from), "{id} has no `{from}`");
                text = text.replace(from, to);
            }
            files.insert(name.clone(), text.into_bytes());
        }
        for (name, text) in amendment.map_or(&[][..], |one| one.creates) {
            let name = if name.ends_with('/') {
                format!("{name}a.txt")
            } else {
                (*name).to_owned()
            };
            files.insert(name, text.as_bytes().to_vec());
        }
        // `config.hcl`, `config2.hcl` and so on are alternatives: a test writes one after the other.
        let alternatives: Vec<&String> = files
            .keys()
            .filter(|name| name.starts_with("config") && is_hcl(name))
            .collect();
        let projects: Vec<Vec<&String>> = if alternatives.len() > 1 {
            alternatives.into_iter().map(|name| vec![name]).collect()
        } else {
            let hcl = files.keys().filter(|name| is_hcl(name));
            vec![hcl.collect()]
        };
        let mut found = Vec::new();
        for names in projects {
            let texts: Vec<MissionText> = names
                .into_iter()
                .map(|name| MissionText {
                    path: name.clone(),
                    bytes: Ok(files[name].clone()),
                })
                .collect();
            let (_, reports) = MissionProject::read(&texts, &CaseFiles(&files), &settings());
            found.extend(reports);
        }
        let answer = if errors(&found) == 0 { "ok" } else { "error" };
        total += 1;
        if answer == wanted {
            right += 1;
            continue;
        }
        println!(
            "{id}: expected {wanted}, answered {answer}: {}",
            case["title"]
        );
        for report in &found {
            print_report(id, report, &mut BTreeMap::new());
        }
    }
    println!("\n{right}/{total} cases answer as expected ({amended} with what their tests add)");
    ensure!(right == total, "{} cases differ", total - right);
    Ok(())
}

fn is_hcl(name: &str) -> bool {
    Path::new(name)
        .extension()
        .is_some_and(|ending| ending == "hcl")
}
