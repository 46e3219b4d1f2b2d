//! How long filling a body takes: `cargo bench -p prowess-render`.

use divan::Bencher;
use prowess_diag::Span;
use prowess_render::{Arguments, PrepareOptions, SkillVariables, Template, prepare};

fn main() {
    divan::main();
}

/// Returns a body of about `bytes` bytes: text, code, links, and a placeholder or command here and there.
fn body(bytes: usize) -> String {
    let part = "## Step\n\nRead the notes about $ARGUMENTS in [the guide](references/guide.md), then \
                compare $0 with `$1` and write down what differs.\n\n```bash\nawk '{print $1}' \
                notes.txt | sort | uniq -c\n```\n\nThe scripts are in ${CLAUDE_SKILL_DIR}/scripts. \
                Prices such as \\$1.00 stay as they are. State: !`git log -- \"$0\"`\n\n\
                Plain text follows, because most of a skill is plain text that says what to do and \
                why it matters, line after line, without any placeholder at all.\n\n";
    part.repeat(bytes.div_ceil(part.len()))
}

fn template(text: &str) -> Option<Template> {
    prepare(text, Span::new(0, text.len()), &PrepareOptions::default()).ok()
}

fn variables() -> SkillVariables {
    SkillVariables {
        skill_dir: Some("/skills/x".into()),
        ..SkillVariables::default()
    }
}

#[divan::bench(args = [1_000, 10_000, 100_000, 1_000_000])]
fn fill(bencher: Bencher<'_, '_>, bytes: usize) {
    let text = body(bytes);
    let template = template(&text);
    let (arguments, variables) = (
        Arguments::from_text("first 'second one' third"),
        variables(),
    );
    bencher.bench_local(|| {
        template
            .as_ref()
            .map(|template| template.fill(&arguments, &variables).map(|_| ()))
    });
}

#[divan::bench(args = [1_000, 10_000, 100_000, 1_000_000])]
fn prepare_and_fill(bencher: Bencher<'_, '_>, bytes: usize) {
    let text = body(bytes);
    let (arguments, variables) = (
        Arguments::from_text("first 'second one' third"),
        variables(),
    );
    bencher.bench_local(|| {
        template(&text).map(|template| template.fill(&arguments, &variables).map(|_| ()))
    });
}

#[divan::bench(args = [1_000, 10_000, 100_000])]
fn prepare_placeholders(bencher: Bencher<'_, '_>, count: usize) {
    let text = "$0 ".repeat(count);
    bencher.bench_local(|| template(&text).is_some());
}

/// What a skill usually is: a few placeholders and one command in much text.
#[divan::bench]
fn prepare_and_fill_usual_10_kb(bencher: Bencher<'_, '_>) {
    let plain = "Plain text that says what to do and why it matters, line after line.\n".repeat(36);
    let text =
        format!("Fix $ARGUMENTS.\n\n{plain}`$1`\n{plain}!`git log -- \"$0\"`\n{plain}$0\n{plain}");
    let (arguments, variables) = (Arguments::from_text("first second"), variables());
    bencher.bench_local(|| {
        template(&text).map(|template| template.fill(&arguments, &variables).map(|_| ()))
    });
}

#[divan::bench]
fn fill_plain_10_kb(bencher: Bencher<'_, '_>) {
    let text = "Plain text without any placeholder at all, line after line.\n".repeat(170);
    let template = template(&text);
    let variables = variables();
    bencher.bench_local(|| {
        template
            .as_ref()
            .map(|template| template.fill(&Arguments::none(), &variables).map(|_| ()))
    });
}

#[divan::bench]
fn fill_a_megabyte_of_arguments(bencher: Bencher<'_, '_>) {
    let template = template("Do $0 and $ARGUMENTS");
    let (arguments, variables) = (Arguments::from_text("word ".repeat(200_000)), variables());
    bencher.bench_local(|| {
        template
            .as_ref()
            .map(|template| template.fill(&arguments, &variables).map(|_| ()))
    });
}
