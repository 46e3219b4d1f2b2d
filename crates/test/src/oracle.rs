//! Invariants that hold for every input. Each function panics if its invariant is violated.
//!
//! Property tests call them with generated text in every `cargo test`; the fuzz targets in `fuzz/`
//! call the same functions with inputs of the fuzzer.

#![expect(
    clippy::panic,
    clippy::expect_used,
    reason = "an oracle fails by panicking"
)]

use prowess_diag::{Applicability, Diagnostic, Severity};
use prowess_lint::{LintProfile, LintRuleSet, LintSubject, check, fix};
use prowess_spec::tool_pattern::{ToolPattern, parse_list};
use prowess_spec::yaml::{YamlNode, YamlValue, full, plain, write};
use prowess_spec::{PackageListing, ResourcePath, identify, parse};

/// If the fast YAML reader succeeds, the full one returns the same tree with the same spans.
pub fn readers_agree(text: &str) {
    let Some(fast) = plain::read(text, 3) else {
        return;
    };
    let full = full::read(text, 3)
        .unwrap_or_else(|error| panic!("fast reads {text:?}, full says {error:?}"));
    assert!(
        full.duplicates.is_empty(),
        "fast reads duplicates in {text:?}"
    );
    assert_eq!(fast, full.root, "{text:?}");
}

/// Parsing and checking succeed, every span is within the text on character boundaries, and findings
/// are in order.
pub fn parse_holds(bytes: &[u8]) {
    let parsed = parse(bytes);
    let fits = |span: prowess_diag::Span| parsed.text.get(span.range()).is_some();
    assert!(fits(parsed.body), "body of {bytes:?}");
    for entry in &parsed.manifest.entries {
        assert!(fits(entry.key_span), "key {} of {bytes:?}", entry.key);
        entry
            .value
            .walk(&mut |node| assert!(fits(node.span), "value of {} in {bytes:?}", entry.key));
    }
    let package = PackageListing::named("folder");
    let subject = LintSubject::new(&parsed, &package);
    for item in subject.items() {
        assert!(fits(item.span), "{item:?} of {bytes:?}");
    }
    for profile in LintProfile::ALL {
        let findings = check(&subject, &LintRuleSet::new(profile, None));
        assert!(
            findings.is_sorted_by_key(|finding| finding.span),
            "order of {bytes:?}"
        );
        for finding in &findings {
            assert!(
                finding
                    .span
                    .is_none_or(|span| fits(span) || bytes.len() > parsed.text.len()),
                "{finding:?} of {bytes:?}"
            );
            for edit in finding.fix.iter().flat_map(|fix| &fix.edits) {
                assert!(fits(edit.span), "{finding:?} of {bytes:?}");
            }
        }
    }
    let identity = identify(&parsed.manifest, Some("folder"), parsed.body_text());
    assert!(!identity.name.is_empty(), "the folder provides a name");
}

/// Fixing terminates, leaves no safe fix, and is idempotent. Suggestions introduce no new errors.
pub fn fixes_hold(bytes: &[u8]) {
    let package = PackageListing::named("folder");
    let safely = LintProfile::ALL.map(|profile| (profile, Applicability::Safe));
    for (profile, least) in safely
        .into_iter()
        .chain([(LintProfile::ClaudeCode, Applicability::Suggested)])
    {
        let rules = LintRuleSet::new(profile, None);
        let Some(fixed) = fix::fix_all(bytes, &package, None, &rules, least) else {
            continue;
        };
        let left: Vec<_> = fixed
            .remaining
            .iter()
            .filter(|finding| finding.fix.as_ref().is_some_and(prowess_diag::Fix::is_safe))
            .collect();
        assert!(
            left.is_empty(),
            "{:?} of {:?} is left in {:?}",
            left,
            String::from_utf8_lossy(bytes),
            fixed.text
        );
        // A suggestion can uncover another one, so this takes a few rounds.
        let rounds = if least == Applicability::Safe { 1 } else { 8 };
        let again = |text: String| {
            fix::fix_all(text.as_bytes(), &package, None, &rules, least)
                .expect("fixed text is UTF-8")
                .text
        };
        let texts: Vec<String> =
            std::iter::successors(Some(fixed.text.clone()), |text| Some(again(text.clone())))
                .take(rounds + 1)
                .collect();
        assert_eq!(
            texts[rounds - 1],
            texts[rounds],
            "fixing does not terminate"
        );
        if least == Applicability::Suggested {
            let safe = fix::fix_all(bytes, &package, None, &rules, Applicability::Safe)
                .expect("fixed text is UTF-8");
            for finding in errors(&fixed.remaining) {
                assert!(
                    errors(&safe.remaining).any(|other| other.rule == finding.rule),
                    "{finding:?} is new: {:?} became {:?}",
                    String::from_utf8_lossy(bytes),
                    fixed.text
                );
            }
        }
    }
}

fn errors(findings: &[Diagnostic]) -> impl Iterator<Item = &Diagnostic> {
    findings
        .iter()
        .filter(|finding| finding.severity == Severity::Error)
}

/// Valid YAML frontmatter is not repaired. Repaired frontmatter parses to the same values.
pub fn repair_holds(text: &str) {
    use prowess_spec::problem::ProblemKind;
    let file = format!("---\n{text}\n---\n");
    let parsed = parse(file.as_bytes());
    let repairs: Vec<_> = parsed
        .problems
        .iter()
        .filter(|problem| matches!(problem.kind, ProblemKind::YamlRepaired { .. }))
        .collect();
    let Some(yaml) = parsed.yaml else { return };
    if full::read(yaml.of(&file), 0).is_ok() {
        assert!(repairs.is_empty(), "mends what parses: {text:?}");
        return;
    }
    let only_repairs = repairs.len()
        == parsed
            .problems
            .iter()
            .filter(|problem| problem.span.start >= yaml.start)
            .count();
    if repairs.is_empty() || !only_repairs {
        return;
    }
    let fixes: Vec<prowess_diag::Fix> = repairs
        .iter()
        .filter_map(|problem| {
            if let ProblemKind::YamlRepaired { edits, .. } = &problem.kind {
                Some(prowess_diag::Fix::safe("", edits.clone()))
            } else {
                None
            }
        })
        .collect();
    // Edits are offered together or not at all.
    if fixes.iter().all(|fix| fix.edits.is_empty()) {
        return;
    }
    let (mended, applied) = prowess_diag::fix::apply(&file, &fixes);
    assert_eq!(applied, fixes.len(), "repairs overlap in {text:?}");
    let again = parse(mended.as_bytes());
    assert_eq!(
        values(&parsed.manifest.entries),
        values(&again.manifest.entries),
        "{text:?} became {mended:?}"
    );
}

fn values(entries: &[prowess_spec::yaml::YamlEntry]) -> Vec<(String, String)> {
    entries
        .iter()
        .map(|entry| (entry.key.to_string(), flat(&entry.value)))
        .collect()
}

fn flat(node: &YamlNode) -> String {
    match &node.value {
        YamlValue::Scalar(text, _) => format!("{text:?}"),
        YamlValue::Sequence(items, _) => {
            format!("[{}]", items.iter().map(flat).collect::<Vec<_>>().join(","))
        }
        YamlValue::Mapping(entries, _) => format!(
            "{{{}}}",
            entries
                .iter()
                .map(|entry| format!("{:?}:{}", entry.key, flat(&entry.value)))
                .collect::<Vec<_>>()
                .join(",")
        ),
    }
}

/// A text written as a scalar is read back unchanged.
pub fn scalar_round_trips(text: &str) {
    for written in [write::scalar(text), write::quoted(text)] {
        let source = format!("k: {written}\n");
        let document =
            full::read(&source, 0).unwrap_or_else(|error| panic!("{source:?} gives {error:?}"));
        let value = document.root.as_ref().and_then(|root| root.get("k"));
        let found = value.and_then(|node| {
            if let YamlValue::Scalar(text, _) = &node.value {
                Some(&**text)
            } else {
                None
            }
        });
        assert_eq!(found, Some(text), "{source:?}");
    }
}

/// A resource path, joined to a folder, stays in the folder.
pub fn path_stays_inside(raw: &str) {
    if let Ok(path) = ResourcePath::new(raw) {
        let clean = path.as_str();
        assert!(
            !clean.is_empty() && !clean.starts_with('/') && !clean.contains(['\\', '\0']),
            "{raw:?} gives {clean:?}"
        );
        assert!(
            clean
                .split('/')
                .all(|part| !part.is_empty() && part != "." && part != ".."),
            "{raw:?} gives {clean:?}"
        );
    }
}

/// The tokens of a tool list are in order and do not overlap, and no token with a parenthesis is a
/// bare name.
pub fn tool_tokens_hold(text: &str) {
    let tokens = parse_list(text);
    assert!(
        tokens
            .windows(2)
            .all(|pair| pair[0].range.end <= pair[1].range.start),
        "{text:?}"
    );
    for token in &tokens {
        let word = text
            .get(token.range.clone())
            .expect("a token is within the text");
        if let Ok(ToolPattern::Bare(name)) = &token.pattern {
            assert!(
                !word.contains(['(', ')']) && &**name == word,
                "{text:?}: {word:?} became {name}"
            );
            let follows = text[token.range.end..].trim_start();
            assert!(
                !follows.starts_with('('),
                "{text:?}: {word:?} is bare although a parenthesis follows"
            );
        }
    }
}

/// Every dialect reads any bytes as agents: names are valid, every span is within the text that its
/// report shows, and no path outside the project is requested.
pub fn agents_hold(bytes: &[u8]) {
    struct Requests(std::cell::RefCell<Vec<String>>);
    impl prowess_flow::ProjectFiles for Requests {
        fn read(&self, path: &str) -> Result<Vec<u8>, prowess_spec::ReadFault> {
            self.0.borrow_mut().push(path.to_owned());
            Ok(b"---\nname: x\n---\n@include other.md\n".to_vec())
        }
    }
    for dialect in prowess_flow::Dialect::ALL {
        let files = Requests(std::cell::RefCell::default());
        let file = prowess_flow::read(dialect, "folder/file", bytes, &files);
        for agent in &file.agents {
            let name = agent.name.as_str();
            assert!(
                prowess_flow::AgentName::new(name).is_ok(),
                "{name:?} of {bytes:?}"
            );
        }
        for report in &file.reports {
            for one in &report.diagnostics {
                let span = one.span.unwrap_or_default();
                let found = report.text().get(span.range());
                assert!(
                    found.is_some() || report.text.is_none(),
                    "{one:?} of {bytes:?}"
                );
            }
        }
        for path in files.0.into_inner() {
            let is_inside = !path.starts_with('/') && path.split('/').all(|part| part != "..");
            assert!(is_inside, "{path:?} of {bytes:?}");
        }
    }
}

/// Any bytes are read as missions: every span is within the text that its report shows, no path outside
/// the project is requested, and the order of files does not matter.
pub fn missions_hold(bytes: &[u8]) {
    use prowess_flow::mission::{GraphFormat, MissionProject, MissionSettings, MissionText};
    struct Requests(std::cell::RefCell<Vec<String>>);
    impl prowess_flow::ProjectFiles for Requests {
        fn read(&self, path: &str) -> Result<Vec<u8>, prowess_spec::ReadFault> {
            self.0.borrow_mut().push(path.to_owned());
            Ok(b"loaded ${vars.x} %{ if }".to_vec())
        }
    }
    let settings = MissionSettings {
        variable: &|_| Some("${vars.x}".to_owned()),
        ..MissionSettings::default()
    };
    let text = |path: &str, bytes: &[u8]| MissionText {
        path: path.to_owned(),
        bytes: Ok(bytes.to_vec()),
    };
    let middle = bytes.len() / 2;
    let files = [
        text("a.hcl", bytes),
        text("b/c.hcl", &bytes[..middle]),
        text("b/d.hcl", &bytes[middle..]),
    ];
    let requests = Requests(std::cell::RefCell::default());
    let (project, reports) = MissionProject::read(&files, &requests, &settings);
    for report in &reports {
        for one in &report.diagnostics {
            let span = one.span.unwrap_or_default();
            let found = report.text().get(span.range());
            assert!(
                found.is_some() || report.text.is_none(),
                "{one:?} of {bytes:?}"
            );
        }
    }
    for path in requests.0.into_inner() {
        let is_inside = !path.starts_with('/') && path.split('/').all(|part| part != "..");
        assert!(is_inside, "{path:?} of {bytes:?}");
    }
    for mission in &project.missions {
        for format in [GraphFormat::Text, GraphFormat::Mermaid, GraphFormat::Dot] {
            let graph = mission.graph(format);
            assert!(!graph.contains('\u{1b}'), "{graph:?} of {bytes:?}");
        }
        let inputs = mission.input_values(&[]);
        for task in &mission.tasks {
            // A fault of an objective is allowed, a panic is not.
            let _ = task.objective_with(Some(&inputs), None);
            let _ = task.objectives(mission, Some(&inputs), &std::cell::Cell::new(1 << 20));
        }
    }
    let mut turned = files;
    turned.reverse();
    let requests = Requests(std::cell::RefCell::default());
    let (again, second) = MissionProject::read(&turned, &requests, &settings);
    assert_eq!(project, again, "{bytes:?}");
    assert_eq!(reports.len(), second.len(), "{bytes:?}");
    for (first, second) in reports.iter().zip(&second) {
        assert_eq!(first.diagnostics, second.diagnostics, "{bytes:?}");
    }
}
