//! A command that deletes far more than a skill owns.

use super::{FindingSink, Passage};
use crate::matching::matcher;

rule!(
    "broad-delete",
    Note,
    lowers: true,
    "a command deletes the home folder, the root folder or a disk",
    "name the exact folder to delete",
    triggers: ["rm -", "rm${IFS}", "remove-item", "rmtree", "mkfs", "of=/dev/", "rd /s", "del /", "-delete", "rimraf", "r'm", "format c:"]
);

matcher!(
    COMMANDS,
    r"(?: \brm \s+ (?:-\S+\s+)* -[a-z]*r[a-z]* \s+ (?:-\S+\s+)* [\x22']? (?: / | /\* | ~/? | ~/\* | \$HOME/? | \$\{HOME\}/? | \$HOME/\* | /(?:home|usr|etc|var|Users|opt|bin|lib)/? ) [\x22']? (?: \s | $ | [;&|`)] ) )
      | (?: \bRemove-Item \b [^|;\n]* (?: C:\\(?:\s|$|\*) | \$HOME\b\s | ~\s | \$env:USERPROFILE\s ) )
      | (?: \brmtree\s*\(\s* (?: [\x22'](?:/|~|/home)[\x22'] | (?:os\.path\.)?expanduser\([\x22']~[\x22']\) | Path\.home\(\) ) \s* [,)] )
      | (?: \bmkfs(?:\.\w+)? \s+ (?:-\S+\s+)*/dev/ ) | (?: \bdd \b [^|;\n]* \bof=/dev/(?:sd|nvme|disk|hd)\w* ) | (?: \bfind \s+ (?:/|~|\$HOME) \s [^|;\n]* -delete ) | (?: \b(?:rd|del) \s+ (?:/[sqf]\s+)+ [\x22']?C:\\[\x22'\s*] )"
);

fn check(passage: &Passage<'_, '_>, out: &mut FindingSink) {
    if let Some(range) = COMMANDS.find(&passage.plain().text) {
        out.plain(
            passage,
            range,
            "deletes the home folder, a system folder or a disk",
        );
    }
}
