//! Settings of git whose values are commands.

/// The settings that [`PARTS`] do not find, without subsections: `submodule.NAME.update` is
/// `submodule.update`.
const NAMES: &[&str] = &[
    "imap.tunnel",
    "instaweb.httpd",
    "lfs.path",
    "remote.vcs",
    "sendemail.smtpserver",
    "submodule.update",
];

/// Parts of names. A setting that a newer git, or another program that is configured like git, adds
/// is found by them.
const PARTS: &[&str] = &[
    "alias",
    "pager",
    "editor",
    "command",
    "exec",
    "cmd",
    "driver",
    "clean",
    "smudge",
    "process",
    "askpass",
    "helper",
    "prog",
    "textconv",
    "fsmonitor",
    "proxy",
    "external",
    "pack",
    "filter",
    "tool",
    "browser",
    "man.",
    "hook",
];

/// Returns `true` if the value of a setting is a command, or may be one. The key is written with or
/// without its subsection, in any case.
pub fn git_setting_runs(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    let is_named = || {
        let (section, rest) = key.split_once('.')?;
        let name = rest.rsplit('.').next()?;
        let is_same = |known: &&str| known.split_once('.') == Some((section, name));
        NAMES.iter().find(|known| is_same(known))
    };
    PARTS.iter().any(|part| key.contains(part)) || is_named().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_with_commands_are_found() {
        for key in [
            "core.fsmonitor",
            "core.sshCommand",
            "core.editor",
            "core.pager",
            "core.askpass",
            "core.gitProxy",
            "core.alternateRefsCommand",
            "sequence.editor",
            "diff.external",
            "diff.command",
            "diff.x.textconv",
            "difftool.x.cmd",
            "difftool.x.path",
            "mergetool.x.cmd",
            "mergetool.x.path",
            "merge.x.driver",
            "filter.x.clean",
            "filter.x.smudge",
            "filter.x.process",
            "credential.helper",
            "gpg.program",
            "svn.authorsProg",
            "gpg.ssh.defaultKeyCommand",
            "interactive.diffFilter",
            "trailer.x.command",
            "trailer.x.cmd",
            "uploadpack.packObjectsHook",
            "remote.x.uploadpack",
            "remote.x.receivepack",
            "sendemail.sendmailCmd",
            "web.browser",
            "browser.x.cmd",
            "browser.x.path",
            "man.x.cmd",
            "man.x.path",
            "hook.x.command",
            "submodule.x.update",
            "submodule.update",
            "guitool.x.cmd",
            "imap.tunnel",
            "instaweb.httpd",
            "instaweb.browser",
            "remote.x.vcs",
            "sendemail.toCmd",
            "sendemail.ccCmd",
            "sendemail.headerCmd",
            "sendemail.smtpServer",
            "sendemail.x.smtpServer",
            "alias.x",
            "pager.log",
            "tar.x.command",
            "gc.recentObjectsHook",
        ] {
            assert!(git_setting_runs(key), "{key}");
        }
        for key in [
            "user.name",
            "remote.origin.url",
            "core.bare",
            "branch.main.merge",
            "x",
        ] {
            assert!(!git_setting_runs(key), "{key}");
        }
    }
}
