//! A file above the size limit.

use prowess_diag::wording;

use super::{FindingSink, LintFinding, LintSubject, RuleLevels};
use prowess_spec::ReadFault;
use prowess_spec::parse::MAX_FILE;

rule!("file-too-large", RuleLevels::of("EEE"), None, "the file is larger than 1 MiB", on_unread: true);

fn check(skill: &LintSubject<'_>, out: &mut FindingSink<'_>) {
    if let Some(ReadFault::TooLarge { bytes }) = skill.fault {
        let message = format!(
            "the file has {} bytes, above the limit of {}",
            wording::thousands(usize::try_from(*bytes).unwrap_or(usize::MAX)),
            wording::thousands(MAX_FILE)
        );
        out.report(
            LintFinding::file(message)
                .help("move details to files in `references/` and link to them"),
        );
    }
}
