//! A tab between a key and its value.

use prowess_diag::{Edit, Fix, Span};

use super::{Finding, Levels, Sink, Subject};

rule!("tab-separator", Levels::of("EWN"), Safe, "a tab stands between a key and its value");

fn check(skill: &Subject<'_>, out: &mut Sink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    // Mended frontmatter is not there yet; its values are spaced when it is.
    let Some(yaml) = parsed.yaml.filter(|yaml| yaml.of(parsed.text).contains('\t')) else { return };
    for entry in &parsed.manifest.entries {
        entry.value.walk(&mut |node| {
            let before = parsed.text.get(yaml.start as usize..node.span.start as usize).unwrap_or_default();
            let blanks = before.len() - before.trim_end_matches([' ', '\t']).len();
            let gap = &before[before.len() - blanks..];
            if gap.contains('\t') && before.trim_end_matches([' ', '\t']).ends_with([':', '-', ',', '[', '{']) {
                let span = Span::new(node.span.start as usize - blanks, node.span.start as usize);
                let fix = Fix::safe("use a blank", vec![Edit::replace(span, " ")]);
                out.report(
                    Finding::at(span, "invalid YAML for many readers: a tab stands before a value")
                        .label("readers in Python refuse the whole file")
                        .fix(fix),
                );
            }
        });
    }
}
