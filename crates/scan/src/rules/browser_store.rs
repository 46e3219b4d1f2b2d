//! Passwords and cookies of a browser that are read.

use super::{FindingSink, Passage};
use crate::matching::matcher;
use crate::private_files::{self, PrivateFiles};

rule!(
    "browser-store",
    Error,
    lowers: true,
    "the passwords, cookies or wallets of a browser are read",
    "a skill that needs a web page can ask the user to log in",
    triggers: [
        "Login Data", "Cookies", "key4.db", "logins.json", "cookies.sqlite", "Safe Storage", "Local Extension Settings", "dump-keychain", "find-generic-password", "find-internet-password", "login.keychain", "Web Data", "cookies.binarycookies"
    ]
);

matcher!(
    FILES,
    r"(?: (?:Chrome|Chromium|Brave[\w-]*|Edge|Opera\w*|Vivaldi|Arc|Default|Profile\ \d|User\ Data) [/\\'\x22,\s]{1,6} (?:Default[/\\'\x22,\s]{1,6} | Network[/\\'\x22,\s]{1,6} | Profile\ \d[/\\'\x22,\s]{1,6})* (?:Login\ Data|Cookies|Web\ Data|Local\ Extension\ Settings)
      | Firefox [/\\'\x22,\s] [^\n]* (?:key4\.db|logins\.json|cookies\.sqlite) | \.mozilla/firefox/[^\s]* (?:key4\.db|logins\.json|cookies\.sqlite)
      | \bLogin\ Data\b | \bkey4\.db\b | \blogins\.json\b | \bcookies\.sqlite\b | cookies\.binarycookies )"
);
matcher!(
    KEYCHAIN,
    r"\bsecurity\s+(?: dump-keychain | find-(?:generic|internet)-password\s+[^\n]*(?:Chrome|Brave|Edge|Safe\ Storage) )"
);

fn check(passage: &Passage<'_, '_>, out: &mut FindingSink) {
    const MESSAGE: &str = "reads the passwords or cookies of a browser";
    if let Some(range) = KEYCHAIN.find(passage.text) {
        return out.passage(passage, range, MESSAGE);
    }
    let files = PrivateFiles {
        files: &FILES,
        is_public: |_| false,
    };
    if let Some(range) = private_files::read(passage, &files) {
        out.plain(passage, range, MESSAGE);
    }
}
