//! A start-up file of a shell that is changed.

use super::{FindingSink, Passage};
use crate::matching::matcher;

rule!(
    "shell-rc-persistence",
    Note,
    lowers: true,
    "a start-up file of a shell is changed, which runs in every new terminal",
    "let the user add the line",
    triggers: [".bashrc", ".zshrc", ".profile", ".bash_profile", ".zprofile", "$PROFILE", "config.fish", ".zshenv", "/etc/profile"]
);

matcher!(
    WRITES,
    r"(?: >{1,2} \s* [\x22']?[^\s|;&<]* (?: \.bashrc | \.zshrc | \.profile | \.bash_profile | \.zprofile | \.zshenv | config\.fish | /etc/profile\S* | \$PROFILE ) )
      | (?: \btee \s+ -a \s+ [\x22']?[^\s|;]* (?: \.bashrc | \.zshrc | \.profile | \.bash_profile | \.zprofile | \.zshenv | config\.fish | /etc/profile\S* ) )
      | (?: \bAdd-Content \b [^|;\n]* \$PROFILE )"
);

fn check(passage: &Passage<'_, '_>, out: &mut FindingSink) {
    if let Some(range) = WRITES.find(passage.text) {
        out.passage(passage, range, "changes a start-up file of a shell");
    }
}
