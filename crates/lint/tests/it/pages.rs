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

use std::ops::Deref;

use prowess_lint::rules::{FixKind, RULES};
use prowess_lint::{LintProfile, LintRuleSet, LintSubject, LintTarget};
use prowess_spec::{FileKind, PackageFile, PackageListing, ReadFault};
use prowess_test::pages::{self, PageExample};

/// An example of a page, as a skill.
struct Example(PageExample);

impl Deref for Example {
    type Target = PageExample;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl Example {
    fn bytes(&self) -> Vec<u8> {
        let mut example = self.0.clone();
        if let Some(count) = self.get("repeat") {
            let last = format!("{}\n", example.text.lines().last().unwrap());
            let more = count.parse::<usize>().unwrap() - 1;
            example.text.push_str(&last.repeat(more));
        }
        let mut text = example.unescaped();
        if self.get("breaks") == Some("cr") {
            text = text.replace('\n', "\r");
        }
        let mut bytes = text.into_bytes();
        bytes.extend(pages::bytes_of_hex(self.get("bytes").unwrap_or_default()));
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

fn examples(page: &str) -> Vec<Example> {
    let languages = ["markdown", "json", "yaml", "hcl"];
    let examples = pages::examples(page, &languages).into_iter();
    examples.map(Example).collect()
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
    pages::check_each(
        RULES.iter().filter(|rule| is_meant(rule)),
        |rule| rule.id,
        |rule| check(rule, &examples(rule.page)),
    );
}

/// Checks all examples of a kind.
fn all_hold(
    examples: &[Example],
    kind: &str,
    holds: impl Fn(&[&'static str]) -> bool,
) -> Result<(), String> {
    let findings = |example: &PageExample| Example(example.clone()).findings();
    let plain: Vec<PageExample> = examples.iter().map(|example| example.0.clone()).collect();
    pages::all_hold(
        &plain,
        kind,
        |example| holds(&findings(example)),
        |example| format!("findings {:?}", findings(example)),
    )
}

#[test]
fn bad_examples_have_findings() {
    each_rule(|rule, examples| all_hold(examples, "bad", |found| found.contains(&rule.id)));
}

#[test]
fn good_examples_have_no_findings() {
    each_rule(|_, examples| all_hold(examples, "good", <[_]>::is_empty));
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
    each_rule_of(&|_| true, |rule, examples| {
        let tables = rule.page.lines().filter(|line| line.starts_with('|'));
        let texts = examples.iter().flat_map(|example| example.text.lines());
        pages::fit_a_terminal(texts.chain(tables))
    });
}
