//! The examples of the pages. The text after `text bad` or `text good` has settings: `file=PATH` (default:
//! `SKILL.md`), `link=TARGET` for a link out of the skill, `hex=BYTES` for a file that is not text, and
//! `escapes` if `\u{…}` stands for a character.

use prowess_scan::{RULES, ScanContent, ScanFile, ScanRule, SkillScanner};

struct Example {
    kind: String,
    settings: Vec<(String, String)>,
    text: String,
}

impl Example {
    fn get(&self, key: &str) -> Option<&str> {
        let setting = self.settings.iter().find(|(name, _)| name == key);
        setting.map(|(_, value)| value.as_str())
    }

    fn findings(&self) -> Vec<&'static str> {
        let text = if self.get("escapes").is_some() {
            unescape(&self.text)
        } else {
            self.text.clone()
        };
        let path = self.get("file").unwrap_or("SKILL.md");
        let hex = self.get("hex").map(|hex| {
            let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
            (0..hex.len()).step_by(2).map(byte).collect::<Vec<u8>>()
        });
        let content = match (self.get("link"), &hex) {
            (Some(target), _) => ScanContent::LinkOut { target },
            (None, Some(head)) => ScanContent::Binary { head },
            (None, None) => ScanContent::Text(&text),
        };
        let file = ScanFile {
            path,
            content,
            executable: false,
            is_main: path == "SKILL.md",
        };
        let found = SkillScanner::new(None).file(&file).findings;
        found.iter().map(|found| found.diagnostic.rule).collect()
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
        let Some(info) = line[marks..].strip_prefix("text ").filter(|_| marks >= 3) else {
            continue;
        };
        let mut words = info.split(' ');
        let kind = words.next().unwrap().to_owned();
        let setting = |word: &str| {
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            (key.to_owned(), value.to_owned())
        };
        let settings = words.map(setting).collect();
        let close = "`".repeat(marks);
        let text = lines
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

/// Runs a check for every rule and reports all failures, not only the first.
fn each_rule(check: impl Fn(&ScanRule, &[Example]) -> Result<(), String>) {
    let failures: Vec<String> = RULES
        .iter()
        .filter_map(|rule| {
            let failed = check(rule, &examples(rule.page)).err()?;
            Some(format!("{}: {failed}", rule.id))
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
                "bad example {} has findings {:?}",
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
fn pages_have_the_same_headings() {
    each_rule(|rule, _| {
        let title = rule.page.lines().next().unwrap_or_default();
        let headings: Vec<&str> = rule
            .page
            .lines()
            .filter(|line| line.starts_with("## "))
            .collect();
        if title == format!("# {}", rule.id)
            && headings == ["## Why", "## Bad", "## Good", "## What to do"]
        {
            Ok(())
        } else {
            Err(format!("{title}, {headings:?}"))
        }
    });
}

/// `prowess explain` does not wrap examples.
#[test]
fn examples_fit_a_terminal() {
    each_rule(|_, examples| {
        let mut lines = examples.iter().flat_map(|example| example.text.lines());
        match lines.find(|line| line.chars().count() > 78) {
            Some(line) => Err(format!("too wide: {line}")),
            None => Ok(()),
        }
    });
}
