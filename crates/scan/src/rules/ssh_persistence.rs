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
    r"(?: >{1,2} \s* [\x22']?[^\s|;&]{0,80} authorized_keys ) | (?: \btee \b [^|;\n]{0,100} authorized_keys ) | (?: \b(?:cp|mv|install|curl|wget|dd) \b [^|;\n]{0,200} authorized_keys \b )
      | (?: \bsed \s+ (?:-\w+\s+)*-\w*i [^\n]{0,160} authorized_keys )
      | (?: \b(?:open|appendFile\w*|writeFile\w*|write_text|Add-Content|Set-Content|Out-File) \b [^\n]{0,120} authorized_keys [^\n]{0,40} )"
);
matcher!(
    READS,
    r"(?: ,\s*['\x22]r[bt]?['\x22] | \bcp \b [^|;\n]{0,100} authorized_keys \s+ \S | \bopen\s*\([^,)\n]{0,160}authorized_keys['\x22]\s*\) )"
);

fn check(passage: &Passage<'_, '_>, out: &mut FindingSink) {
    let text = &passage.plain().text;
    if let Some(range) = WRITES.find(text).filter(|_| !READS.is_match(text)) {
        out.plain(passage, range, "adds a key to `authorized_keys`");
    }
}
