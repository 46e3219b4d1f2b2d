//! The rule pages are tests: every `bad` example must be found, no `good` one may be, and `fixed`
//! must equal the first `bad` one after its safe fixes.
//!
//! An example is a fenced block whose info string is `markdown bad`, `markdown good` or `markdown
//! fixed`, followed by settings:
//!
//! | setting | meaning |
//! |---|---|
//! | `folder=NAME` | the skill's folder (default `pdf-tools`) |
//! | `file=NAME` | the file's name (default `SKILL.md`) |
//! | `files=A,B` | other files of the folder; a trailing `!` makes one executable |
//! | `profile=P` | profile (default `claude-code`) |
//! | `target=claude-ai` | target |
//! | `fault=F` | the file cannot be read: `missing`, `folder`, `denied`, `large` |
//! | `escapes` | `\u{…}` in the example is an escaped character |
//! | `bytes=FF` | these bytes are appended to the text |
//! | `breaks=cr` | lines end with a carriage return |
//! | `sidecar=TEXT` | the contents of `agents/openai.yaml`; `~` is a blank, `;` a line break |
//! | `repeat=N` | the last line of the example is repeated N times |

use prowess_lint::rules::{FixKind, RULES};
use prowess_lint::{LintProfile, LintRuleSet, LintSubject, LintTarget};
use prowess_spec::{FileKind, PackageFile, PackageListing, ReadFault};

struct Example {
    kind: String,
    settings: Vec<(String, String)>,
    text: String,
}

impl Example {
    fn get(&self, key: &str) -> Option<&str> {
        self.settings
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value.as_str())
    }

    fn bytes(&self) -> Vec<u8> {
        let mut text = self.text.clone();
        if let Some(count) = self.get("repeat") {
            let last = format!("{}\n", text.lines().last().unwrap());
            text.push_str(&last.repeat(count.parse::<usize>().unwrap() - 1));
        }
        if self.get("escapes").is_some() {
            text = unescape(&text);
        }
        if self.get("breaks") == Some("cr") {
            text = text.replace('\n', "\r");
        }
        let mut bytes = text.into_bytes();
        let extra = self.get("bytes").unwrap_or_default();
        bytes.extend(
            (0..extra.len() / 2).map(|i| u8::from_str_radix(&extra[2 * i..2 * i + 2], 16).unwrap()),
        );
        bytes
    }

    fn package(&self) -> PackageListing {
        let entry = |path: &str| PackageFile {
            path: path.trim_end_matches('!').into(),
            kind: FileKind::File,
            executable: Some(path.ends_with('!')),
        };
        let mut files: Vec<PackageFile> = self
            .get("files")
            .unwrap_or_default()
            .split(',')
            .filter(|path| !path.is_empty())
            .map(entry)
            .collect();
        files.sort_by(|a, b| a.path.cmp(&b.path));
        PackageListing {
            folder: Some(self.get("folder").unwrap_or("pdf-tools").to_owned()),
            file_name: Some(self.get("file").unwrap_or("SKILL.md").to_owned()),
            files: Some(files),
            truncated: false,
            sidecar: self
                .get("sidecar")
                .map(|text| text.replace('~', " ").replace(';', "\n")),
        }
    }

    fn rules(&self) -> LintRuleSet {
        let profile = self.get("profile").map_or(LintProfile::default(), |name| {
            LintProfile::parse(name).unwrap()
        });
        LintRuleSet::new(profile, self.get("target").map(|_| LintTarget::ClaudeAi))
    }

    fn fault(&self) -> Option<ReadFault> {
        Some(match self.get("fault")? {
            "missing" => ReadFault::Missing,
            "folder" => ReadFault::NotAFile("a folder"),
            "denied" => ReadFault::Unreadable("permission denied".into()),
            "large" => ReadFault::TooLarge { bytes: 5_000_000 },
            other => panic!("unknown fault {other}"),
        })
    }

    fn diagnostics(&self) -> Vec<prowess_diag::Diagnostic> {
        let (bytes, package, rules) = (self.bytes(), self.package(), self.rules());
        match self.fault() {
            Some(fault) => prowess_lint::check(&LintSubject::unread(&package, &fault), &rules),
            None => prowess_lint::check(
                &LintSubject::new(&prowess_spec::parse(&bytes), &package),
                &rules,
            ),
        }
    }

    /// Returns the ids of the rules with findings.
    fn findings(&self) -> Vec<&'static str> {
        self.diagnostics()
            .into_iter()
            .map(|finding| finding.rule)
            .collect()
    }
}

fn unescape(text: &str) -> String {
    let mut result = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\\u{") {
        let (code, tail) = after.split_once('}').unwrap();
        result.push_str(before);
        result.push(char::from_u32(u32::from_str_radix(code, 16).unwrap()).unwrap());
        rest = tail;
    }
    result + rest
}

fn examples(page: &str) -> Vec<Example> {
    let mut examples = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let marks = line.len() - line.trim_start_matches('`').len();
        let info = &line[marks..];
        let languages = ["markdown ", "json ", "yaml ", "hcl "];
        if marks < 3 || !languages.iter().any(|language| info.starts_with(language)) {
            continue;
        }
        let mut words = info.split(' ').skip(1);
        let kind = words.next().unwrap().to_owned();
        let settings = words
            .map(|word| {
                word.split_once('=')
                    .map_or((word.to_owned(), String::new()), |(k, v)| {
                        (k.to_owned(), v.to_owned())
                    })
            })
            .collect();
        let close = "`".repeat(marks);
        let text: String = lines
            .by_ref()
            .take_while(|line| *line != close)
            .map(|line| format!("{line}\n"))
            .collect();
        examples.push(Example {
            kind,
            settings,
            text,
        });
    }
    examples
}

/// Runs a check for every rule about skills and reports all failures, not only the first. The examples
/// of rules about agents and missions are tested where their files are read, in `prowess-flow`.
fn each_rule(check: impl Fn(&'static prowess_lint::LintRule, &[Example]) -> Result<(), String>) {
    each_rule_of(&|rule| !rule.on_agents, check);
}

fn each_rule_of(
    is_meant: &dyn Fn(&prowess_lint::LintRule) -> bool,
    check: impl Fn(&'static prowess_lint::LintRule, &[Example]) -> Result<(), String>,
) {
    let failures: Vec<String> = RULES
        .iter()
        .filter(|rule| is_meant(rule))
        .filter_map(|rule| {
            check(rule, &examples(rule.page))
                .err()
                .map(|error| format!("{}: {error}", rule.id))
        })
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn bad_examples_have_findings() {
    each_rule(|rule, examples| {
        let bad: Vec<&Example> = examples
            .iter()
            .filter(|example| example.kind == "bad")
            .collect();
        if bad.is_empty() {
            return Err("the page has no bad example".into());
        }
        let missed = bad
            .iter()
            .position(|example| !example.findings().contains(&rule.id));
        missed.map_or(Ok(()), |index| {
            Err(format!(
                "bad example {} is not found; found {:?}",
                index + 1,
                bad[index].findings()
            ))
        })
    });
}

#[test]
fn good_examples_have_no_findings() {
    each_rule(|_, examples| {
        let good: Vec<&Example> = examples
            .iter()
            .filter(|example| example.kind == "good")
            .collect();
        if good.is_empty() {
            return Err("the page has no good example".into());
        }
        let dirty = good
            .iter()
            .position(|example| !example.findings().is_empty());
        dirty.map_or(Ok(()), |index| {
            Err(format!(
                "good example {} has findings {:?}",
                index + 1,
                good[index].findings()
            ))
        })
    });
}

#[test]
fn safe_fixes_produce_the_fixed_example() {
    each_rule(|rule, examples| {
        let fixed = examples.iter().find(|example| example.kind == "fixed");
        match (rule.fix, fixed) {
            (FixKind::Safe | FixKind::AllSafe, None) => {
                Err("the rule has a safe fix and the page has no fixed example".into())
            }
            (FixKind::None | FixKind::Suggested | FixKind::AllSuggested, Some(_)) => {
                Err("the page has a fixed example and the rule no safe fix".into())
            }
            (FixKind::None | FixKind::Suggested | FixKind::AllSuggested, None) => Ok(()),
            (FixKind::Safe | FixKind::AllSafe, Some(fixed)) => {
                let bad = examples
                    .iter()
                    .find(|example| example.kind == "bad")
                    .unwrap();
                let result = prowess_lint::fix::fix_all(
                    &bad.bytes(),
                    &bad.package(),
                    None,
                    &bad.rules(),
                    prowess_diag::Applicability::Safe,
                )
                .unwrap();
                let wanted = String::from_utf8(fixed.bytes()).unwrap();
                if result
                    .remaining
                    .iter()
                    .any(|finding| finding.rule == rule.id)
                {
                    Err(format!("the finding is still there: {:?}", result.text))
                } else if result.text == wanted {
                    Ok(())
                } else {
                    Err(format!("fixing gives\n{:?}\nnot\n{wanted:?}", result.text))
                }
            }
        }
    });
}

/// The documented kind of fix (all findings or none) must hold for every finding.
#[test]
fn documented_fix_kind_holds_for_every_finding() {
    use prowess_diag::Applicability::{Safe, Suggested};

    each_rule(|_, examples| {
        for finding in examples.iter().flat_map(Example::diagnostics) {
            let rule = RULES.iter().find(|rule| rule.id == finding.rule).unwrap();
            let fix = finding.fix.as_ref().map(|fix| fix.applicability);
            let holds = match rule.fix {
                FixKind::None => fix.is_none(),
                FixKind::AllSuggested => fix == Some(Suggested),
                FixKind::AllSafe => fix == Some(Safe),
                FixKind::Suggested => fix != Some(Safe),
                FixKind::Safe => true,
            };
            if !holds {
                return Err(format!("{} has {fix:?}: {}", rule.id, finding.message));
            }
        }
        Ok(())
    });
}

#[test]
fn pages_have_the_same_headings() {
    each_rule_of(&|_| true, |rule, _| {
        let headings: Vec<&str> = rule
            .page
            .lines()
            .filter(|line| line.starts_with("## "))
            .collect();
        if headings == ["## Why", "## Bad", "## Good", "## How to fix"] {
            Ok(())
        } else {
            Err(format!("headings are {headings:?}"))
        }
    });
}

/// `prowess explain` wraps text but not examples and tables; those must fit a terminal.
#[test]
fn unwrapped_lines_fit_a_terminal() {
    const COLUMNS: usize = 78;
    each_rule_of(&|_| true, |rule, examples| {
        let tables = rule.page.lines().filter(|line| line.starts_with('|'));
        let mut fixed = examples
            .iter()
            .flat_map(|example| example.text.lines())
            .chain(tables);
        match fixed.find(|line| line.chars().count() > COLUMNS) {
            Some(line) => Err(format!("wider than {COLUMNS} columns: {line}")),
            None => Ok(()),
        }
    });
}
