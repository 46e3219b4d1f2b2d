//! Micro-benchmarks of the hot paths: `cargo bench -p prowess-lint`. `cargo xtask bench` measures
//! the whole check, compared with only reading the files.

use divan::Bencher;
use prowess_lint::{LintProfile, LintRuleSet, LintSubject, check, fix};
use prowess_spec::body::{self, ScanDetail};
use prowess_spec::{PackageListing, parse, yaml};

fn main() {
    divan::main();
}

const PLAIN: &str = "name: pdf-tools\ndescription: Fills PDF forms and reads their fields. Use when a PDF has form fields, or when the user asks to fill one in.\nlicense: Apache-2.0\nmetadata:\n  author: someone\n  version: \"1.0\"\nallowed-tools: Read Bash(pdftk:*)\n";

/// Returns a skill of the usual size.
fn skill() -> String {
    let section = "## Step\n\nRead the [form](references/form.md) with `pdftk` and write `out.pdf`.\n\n```bash\npdftk \"$1\" dump_data_fields | awk '{print $2}'\n```\n\n- one thing\n- another — with a dash\n\n";
    format!("---\n{PLAIN}---\n\n# PDF tools\n\n{}", section.repeat(30))
}

#[divan::bench]
fn yaml_fast(bencher: Bencher<'_, '_>) {
    bencher.bench(|| yaml::plain::read(divan::black_box(PLAIN), 0));
}

#[divan::bench]
fn yaml_full(bencher: Bencher<'_, '_>) {
    bencher.bench(|| yaml::full::read(divan::black_box(PLAIN), 0));
}

#[divan::bench]
fn parse_skill(bencher: Bencher<'_, '_>) {
    let text = skill();
    bencher.bench(|| {
        parse(divan::black_box(text.as_bytes()))
            .manifest
            .entries
            .len()
    });
}

#[divan::bench]
fn analyse_body(bencher: Bencher<'_, '_>) {
    let text = skill();
    let parsed = parse(text.as_bytes());
    bencher.bench(|| {
        body::analyse(
            divan::black_box(parsed.text),
            parsed.body,
            &[],
            ScanDetail::Marked,
        )
    });
}

#[divan::bench]
fn check_skill(bencher: Bencher<'_, '_>) {
    let text = skill();
    let (package, rules) = (
        PackageListing::named("pdf-tools"),
        LintRuleSet::new(LintProfile::ClaudeCode, None),
    );
    bencher.bench(|| {
        let parsed = parse(divan::black_box(text.as_bytes()));
        check(&LintSubject::new(&parsed, &package), &rules).len()
    });
}

#[divan::bench]
fn repair_and_fix(bencher: Bencher<'_, '_>) {
    let text = skill().replace("description: ", "description: Note: ");
    let (package, rules) = (
        PackageListing::named("pdf-tools"),
        LintRuleSet::new(LintProfile::ClaudeCode, None),
    );
    bencher.bench(|| {
        fix::fix_all(
            divan::black_box(text.as_bytes()),
            &package,
            None,
            &rules,
            prowess_diag::Applicability::Safe,
        )
    });
}
