//! A link whose target is outside the skill's folder.

use super::{FindingPlace, FindingSink, ScanContent, ScanFile};

rule!(
    "link-out",
    Error,
    lowers: false,
    "a link leads to a file outside the skill's folder",
    "replace the link with a copy of the file",
    file: check
);

fn check(file: &ScanFile<'_>, out: &mut FindingSink) {
    if let ScanContent::LinkOut { target } = file.content {
        let message = format!("the link leads to `{target}`, outside the skill's folder");
        out.report(None, FindingPlace::Reference, message.into());
    }
}
