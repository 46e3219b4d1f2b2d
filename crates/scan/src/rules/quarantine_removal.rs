//! Protection of the operating system that is switched off.

use super::{FindingSink, Passage};
use crate::matching::matcher;

rule!(
    "quarantine-removal",
    Warning,
    lowers: true,
    "the protection of the operating system against unknown programs is switched off",
    "install a signed program instead; the system warns about unknown ones for a reason",
    triggers: [
        "xattr", "com.apple.quarantine", "spctl", "unblock-file", "mppreference", "csrutil", "setenforce 0", "executionpolicy bypass", "ep bypass", "disablerealtime"
    ]
);

matcher!(
    COMMANDS,
    r"(?: \bxattr \s+ (?:-\w+\s+)*-\w*[cd]\w* \b [^|;\n]* (?:com\.apple\.quarantine)? ) | (?: \bspctl \s+ --(?:master|global)-disable ) | (?: \bUnblock-File\b )
      | (?: \bSet-MpPreference \b [^|;\n]* -Disable\w+ ) | (?: \bAdd-MpPreference \b [^|;\n]* -Exclusion\w+ ) | (?: \bcsrutil \s+ disable ) | (?: \bsetenforce \s+ 0\b )"
);
matcher!(
    OTHER,
    r"\bxattr\s+-\w*[dw]\w*\s+(?:com\.apple\.(?:FinderInfo|metadata|ResourceFork|lastuseddate)|user\.)"
);

fn check(passage: &Passage<'_, '_>, out: &mut FindingSink) {
    let text = &passage.plain().text;
    if let Some(range) = COMMANDS
        .find(text)
        .filter(|_| !OTHER.is_match(text) && !text.contains("$false"))
    {
        out.plain(
            passage,
            range,
            "switches off the protection of the system against unknown programs",
        );
    }
}
