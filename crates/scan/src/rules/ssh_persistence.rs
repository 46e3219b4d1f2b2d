//! A key that is added to those that may log in.

use super::{FindingSink, Passage};
use crate::matching::matcher;

rule!(
    "ssh-persistence",
    Error,
    lowers: true,
    "a key is added to those that may log in to this machine",
    "find out whose key it is; the owner of the machine adds it with `ssh-copy-id`",
    triggers: ["authorized_keys", "authorized_key'", "authorized_k"]
);

matcher!(
    WRITES,
    r"(?: >{1,2} \s* [\x22']?[^\s|;&]* authorized_keys ) | (?: \btee \b [^|;\n]* authorized_keys ) | (?: \b(?:cp|mv|install|curl|wget|dd) \b [^|;\n]* authorized_keys \b )
      | (?: \bsed \s+ (?:-\w+\s+)*-\w*i [^\n]* authorized_keys )
      | (?: \b(?:(?:open|appendFile\w*|writeFile\w*)\s*\(|Add-Content\b|Set-Content\b|Out-File\b) [^\n]* authorized_keys [^\n]* )"
);
matcher!(
    READS,
    r"(?: ,\s*['\x22]r[bt]?['\x22] | \bcp \b [^|;\n]* authorized_keys \s+ \S | \bopen\s*\([^,)\n]*authorized_keys['\x22]\s*\) )"
);

// Keys that stand for another, keys that are removed, and keys for another machine.
matcher!(
    OTHERS,
    r"(?: ssh-\w+\s+AAAA\w{0,8}(?:\.\.\.|…) | \bYOUR_ | \byour[_-] | <[\w\ -]+> | /d['\x22] | \bssh\s+(?:-\S+\s+(?:\S+\s+)?)*[\w.$<>{}-]+@ )"
);

fn check(passage: &Passage<'_, '_>, out: &mut FindingSink) {
    let text = &passage.plain().text;
    if let Some(range) = WRITES
        .find(text)
        .filter(|_| !READS.is_match(text) && !OTHERS.is_match(text))
    {
        out.plain(passage, range, "adds a key to `authorized_keys`");
    }
}
