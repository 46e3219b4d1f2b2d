//! A script that the body names and the folder lacks.

use std::collections::BTreeSet;

use prowess_diag::{suggest, wording};

use super::{Finding, Levels, Sink, Subject};
use prowess_spec::body::ItemKind;
use prowess_spec::package::Look;
use prowess_spec::resource_path::ResourcePath;

rule!("missing-script", Levels::of("WWN"), None, "the body names a script that does not exist");

fn check(skill: &Subject<'_>, out: &mut Sink<'_>) {
    let Some(parsed) = skill.parsed else { return };
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for script in skill.scripts() {
        let path = script.span.of(parsed.text);
        let clean = ResourcePath::new(path);
        let missing = clean.is_ok_and(|clean| skill.package.look(clean.as_str()) == Look::Missing);
        // A link to it has a rule of its own.
        let linked = skill.body().items.iter().any(|item| {
            item.span.contains(script.span) && matches!(item.kind, ItemKind::Link { .. })
        });
        if seen.contains(path) || !missing || linked {
            continue;
        }
        seen.insert(path);
        let finding =
            Finding::at(script.span, format!("the script {} does not exist", wording::tick(path)));
        out.report(match suggest::nearest(path, skill.package.paths()) {
            Some(near) => finding.label(format!("did you mean `{near}`?")),
            None => finding
                .label("no such file in the skill's folder")
                .help("add the script, or name the folder it is in if it is not part of the skill"),
        });
    }
}
