//! Compares what two versions of a package may do.
//!
//! The analysis is the trust summary. More power means that a set grew or a switch opened. Words alone
//! can be an attack as well, so the number of changed lines is always counted.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use prowess_diag::line_changes::{USUAL_WORK, line_changes};
use prowess_trust::{HookLine, TrustSummary};
use similar::DiffOp;

/// Tools that run no program. A grant of any other one may run a script.
const QUIET_TOOLS: [&str; 12] = [
    "AskUserQuestion",
    "Edit",
    "Glob",
    "Grep",
    "LS",
    "MultiEdit",
    "NotebookEdit",
    "Read",
    "TodoWrite",
    "WebFetch",
    "WebSearch",
    "Write",
];

/// A kind of power.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PowerKind {
    /// May do anything without approval.
    UnrestrictedGrant,
    /// Runs a command when it is loaded.
    Command,
    /// Runs a command on an event.
    Hook,
    /// Contains a script or program with other bytes than before, which may run without approval.
    ChangedScript,
    /// Contains a script or program.
    Script,
    /// May use a tool without approval.
    Grant,
    /// Names a host.
    Host,
    /// Names a program that uses the network.
    NetworkProgram,
    /// Contains text that a reader does not see.
    HiddenText,
    /// Links to a file outside its folder.
    OutsideLink,
    /// Sends the conversation to another model.
    Model,
    /// Asks for more effort.
    Effort,
    /// Runs in a conversation of its own.
    Fork,
    /// Is run by an agent.
    Agent,
    /// May be invoked by the model.
    ModelInvocation,
    /// Is part of every conversation.
    AlwaysPresent,
    /// Needs a server, a tool or a program.
    Requirement,
}

impl PowerKind {
    /// All kinds, the most severe first.
    pub const ALL: [Self; 17] = [
        Self::UnrestrictedGrant,
        Self::Command,
        Self::Hook,
        Self::ChangedScript,
        Self::Script,
        Self::Grant,
        Self::Host,
        Self::NetworkProgram,
        Self::HiddenText,
        Self::OutsideLink,
        Self::Model,
        Self::Effort,
        Self::Fork,
        Self::Agent,
        Self::ModelInvocation,
        Self::AlwaysPresent,
        Self::Requirement,
    ];

    /// Returns the word in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::UnrestrictedGrant => "unrestricted-grant",
            Self::Grant => "grant",
            Self::Command => "command",
            Self::Hook => "hook",
            Self::ChangedScript => "changed-script",
            Self::Script => "script",
            Self::Host => "host",
            Self::NetworkProgram => "network-program",
            Self::HiddenText => "hidden-text",
            Self::OutsideLink => "outside-link",
            Self::Model => "model",
            Self::Effort => "effort",
            Self::Fork => "fork",
            Self::Agent => "agent",
            Self::ModelInvocation => "model-invocation",
            Self::AlwaysPresent => "always-present",
            Self::Requirement => "requirement",
        }
    }

    /// Returns the word for several of the kind, for a person.
    pub fn plural(self) -> &'static str {
        match self {
            Self::UnrestrictedGrant => "grants of everything",
            Self::Command => "commands that run when it is loaded",
            Self::Hook => "hooks",
            Self::ChangedScript => "changed scripts and programs",
            Self::Script => "scripts and programs",
            Self::Grant => "grants",
            Self::Host => "hosts",
            Self::NetworkProgram => "network programs",
            Self::HiddenText => "places with hidden text",
            Self::OutsideLink => "links out",
            Self::Model => "models",
            Self::Effort => "efforts",
            Self::Fork | Self::Agent => "agents",
            Self::ModelInvocation | Self::AlwaysPresent => "switches",
            Self::Requirement => "requirements",
        }
    }

    /// Returns the text before the value in a line for a person.
    fn label(self) -> &'static str {
        match self {
            Self::UnrestrictedGrant => "anything without approval: ",
            Self::Grant | Self::Script => "",
            Self::Command => "runs when loaded: ",
            Self::Hook => "runs on ",
            Self::ChangedScript => "other bytes in ",
            Self::Host => "host ",
            Self::NetworkProgram => "network program ",
            Self::HiddenText => "hidden text: ",
            Self::OutsideLink => "link out: ",
            Self::Model => "model ",
            Self::Effort => "effort ",
            Self::Fork => "runs in a conversation of its own",
            Self::Agent => "agent ",
            Self::ModelInvocation => "the model may invoke it",
            Self::AlwaysPresent => "part of every conversation",
            Self::Requirement => "needs ",
        }
    }
}

/// One thing that a version may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PowerLine {
    /// The kind.
    pub kind: PowerKind,
    /// The value: a rule, a command, a host. Empty for a switch. May come from the package: escape it
    /// before a terminal shows it.
    pub value: String,
    /// The file and line, if known.
    pub place: Option<String>,
}

impl std::fmt::Display for PowerLine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", self.kind.label(), self.value)
    }
}

/// The difference in power between two versions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PowerDifference {
    /// New powers, the most severe kinds first.
    pub gained: Vec<PowerLine>,
    /// Powers that are gone.
    pub lost: Vec<PowerLine>,
    /// Scripts and programs with other bytes than before that nothing runs without approval.
    pub changed: Vec<String>,
    /// Tokens of the entry in a listing, before and after.
    pub listing_tokens: (usize, usize),
    /// `true` if the description that models read changed.
    pub description_changed: bool,
}

impl PowerDifference {
    /// Returns `true` if the new version may do more.
    pub fn is_more(&self) -> bool {
        !self.gained.is_empty()
    }
}

/// Compares two versions. Compare with the default summary for all powers of a new package.
pub fn compare(old: &TrustSummary, new: &TrustSummary) -> PowerDifference {
    let (before, after) = (powers(old), powers(new));
    let missing_in = |all: &BTreeMap<(PowerKind, String), Option<String>>,
                      other: &BTreeMap<(PowerKind, String), Option<String>>| {
        let lines = all.iter().filter(|(key, _)| !other.contains_key(*key));
        lines
            .map(|((kind, value), place)| PowerLine {
                kind: *kind,
                value: value.clone(),
                place: place.clone(),
            })
            .collect::<Vec<_>>()
    };
    let mut gained = missing_in(&after, &before);
    let mut lost = missing_in(&before, &after);
    // A hook on fewer events than before is not more power.
    let is_narrowed = |new: &HookLine| {
        let same = old.hook_commands.iter();
        let mut same = same.filter(|hook| hook.event == new.event && hook.command == new.command);
        same.any(|hook| hook.matcher.is_none())
    };
    let narrowed: Vec<String> = new
        .hook_commands
        .iter()
        .filter(|hook| is_narrowed(hook))
        .map(hook_value)
        .collect();
    gained.retain(|line| line.kind != PowerKind::Hook || !narrowed.contains(&line.value));
    let mut changed = changed_scripts(old, new);
    if may_run_scripts(old) || may_run_scripts(new) {
        let lines = changed.drain(..).map(|value| PowerLine {
            kind: PowerKind::ChangedScript,
            value,
            place: None,
        });
        gained.extend(lines);
        gained.sort_by_key(|line| line.kind);
    }
    // Less effort than before is not more power.
    let effort = |summary: &TrustSummary| summary.effort.as_deref().map(effort_rank);
    if effort(new) < effort(old) {
        let lines = gained.extract_if(.., |line| line.kind == PowerKind::Effort);
        lost.extend(lines);
        lost.dedup();
    }
    PowerDifference {
        gained,
        lost,
        changed,
        listing_tokens: (old.listing_tokens, new.listing_tokens),
        description_changed: old.description != new.description,
    }
}

fn hook_value(hook: &HookLine) -> String {
    format!("{}: {}", hook.when(), hook.command)
}

/// Returns the scripts and programs that both versions have, with other bytes.
fn changed_scripts(old: &TrustSummary, new: &TrustSummary) -> Vec<String> {
    let digests = |summary: &'_ TrustSummary| -> BTreeMap<PathBuf, String> {
        let scripts = summary.scripts.iter().cloned();
        scripts
            .zip(summary.script_digests.iter().cloned())
            .collect()
    };
    let (before, after) = (digests(old), digests(new));
    let changed = after.iter().filter(|(path, digest)| {
        let old = before.get(*path);
        old.is_some_and(|old| old != *digest)
    });
    changed
        .map(|(path, _)| path.display().to_string())
        .collect()
}

/// Returns `true` if something of a package may run without approval: a hook, a command when it is
/// loaded, or a grant of a tool that is not known to run nothing. A changed script can then do anything.
fn may_run_scripts(summary: &TrustSummary) -> bool {
    let mut grants = summary.grants.iter().filter(|grant| grant.fault.is_none());
    summary.hooks
        || !summary.commands.is_empty()
        || grants.any(|grant| {
            let tool = grant.text.split('(').next().unwrap_or_default().trim();
            grant.unrestricted
                || !QUIET_TOOLS
                    .iter()
                    .any(|quiet| tool.eq_ignore_ascii_case(quiet))
        })
}

fn effort_rank(effort: &str) -> usize {
    const EFFORTS: [&str; 5] = ["low", "medium", "high", "xhigh", "max"];
    EFFORTS
        .iter()
        .position(|known| known.eq_ignore_ascii_case(effort))
        .unwrap_or(EFFORTS.len())
}

/// Returns everything that a version may do, with its place.
fn powers(summary: &TrustSummary) -> BTreeMap<(PowerKind, String), Option<String>> {
    let mut all = BTreeMap::new();
    let mut add = |kind: PowerKind, value: String, place: Option<String>| {
        all.entry((kind, value)).or_insert(place);
    };
    let line = |line: usize| Some(format!("SKILL.md:{line}"));
    for grant in &summary.grants {
        let kind = if grant.unrestricted {
            PowerKind::UnrestrictedGrant
        } else {
            PowerKind::Grant
        };
        // An invalid entry allows nothing.
        if grant.fault.is_none() {
            add(kind, grant.text.clone(), line(grant.line));
        }
    }
    let mut lines = summary.command_lines.iter();
    for command in &summary.commands {
        let place = lines.next().and_then(|at| line(*at));
        add(PowerKind::Command, command.clone(), place);
    }
    for hook in &summary.hook_commands {
        add(PowerKind::Hook, hook_value(hook), None);
    }
    if summary.hooks && summary.hook_commands.is_empty() {
        add(PowerKind::Hook, "certain events".to_owned(), None);
    }
    for script in &summary.scripts {
        add(PowerKind::Script, script.display().to_string(), None);
    }
    for name in &summary.network {
        // A host has a dot, and the name of a program has none.
        let kind = if name.contains('.') {
            PowerKind::Host
        } else {
            PowerKind::NetworkProgram
        };
        add(kind, name.clone(), None);
    }
    for hidden in &summary.hidden {
        let file = hidden.file.display();
        let place = Some(format!("{file}:{}", hidden.line));
        add(
            PowerKind::HiddenText,
            format!("{} in {file}", hidden.what),
            place,
        );
    }
    for (kind, count) in [
        (PowerKind::Host, summary.network_left_out),
        (PowerKind::HiddenText, summary.hidden_left_out),
    ] {
        if count > 0 {
            add(kind, format!("({count} more, not listed)"), None);
        }
    }
    for link in &summary.links {
        let mut value = format!("{} -> {}", link.from.display(), link.to.display());
        for through in &link.through {
            value.push_str(&format!(", through {}", through.display()));
        }
        if link.is_folder {
            value.push_str(", a folder");
        }
        add(PowerKind::OutsideLink, value, None);
    }
    for (kind, value) in [
        (PowerKind::Model, &summary.model),
        (PowerKind::Effort, &summary.effort),
        (PowerKind::Agent, &summary.agent),
    ] {
        if let Some(value) = value {
            add(kind, value.clone(), None);
        }
    }
    for (kind, is_open) in [
        (PowerKind::Fork, summary.forked),
        (
            PowerKind::ModelInvocation,
            // The default summary stands for no package.
            !summary.model_invocation_disabled && !summary.digest.is_empty(),
        ),
        (PowerKind::AlwaysPresent, summary.always_present),
    ] {
        if is_open {
            add(kind, String::new(), None);
        }
    }
    for requirement in &summary.requirements {
        add(PowerKind::Requirement, requirement.clone(), None);
    }
    all
}

/// The number of lines and files that differ between two versions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChangedWords {
    /// Lines that were added or removed.
    pub lines: usize,
    /// Files that were added, removed or changed.
    pub files: usize,
    /// Files among them that are not text.
    pub binary: usize,
}

/// Counts what differs between the files of two versions.
pub fn changed_words<'f>(
    old: &BTreeMap<&'f str, &'f [u8]>,
    new: &BTreeMap<&'f str, &'f [u8]>,
) -> ChangedWords {
    let mut changed = ChangedWords::default();
    let mut work = USUAL_WORK;
    let paths: BTreeSet<&&str> = old.keys().chain(new.keys()).collect();
    for path in paths {
        let (before, after) = (old.get(*path), new.get(*path));
        if before == after {
            continue;
        }
        changed.files += 1;
        let text = |bytes: Option<&&'f [u8]>| match bytes {
            None => Some(""),
            Some(bytes) if bytes.contains(&0) => None,
            Some(bytes) => std::str::from_utf8(bytes).ok(),
        };
        match (text(before), text(after)) {
            (Some(before), Some(after)) => {
                changed.lines += changed_lines(before, after, &mut work);
            }
            _ => changed.binary += 1,
        }
    }
    changed
}

/// Counts the lines that were added or removed, the larger of both for lines that were replaced. With
/// too little work left, all lines between the first and the last difference count.
pub fn changed_lines(old: &str, new: &str, work: &mut u64) -> usize {
    let (old, new): (Vec<&str>, Vec<&str>) = (
        old.split_inclusive('\n').collect(),
        new.split_inclusive('\n').collect(),
    );
    let changes = line_changes(&old, &new, work);
    let changes = changes.into_iter().map(|change| match change {
        DiffOp::Equal { .. } => 0,
        DiffOp::Delete { old_len, .. } => old_len,
        DiffOp::Insert { new_len, .. } => new_len,
        DiffOp::Replace {
            old_len, new_len, ..
        } => old_len.max(new_len),
    });
    changes.sum()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::Path;

    use prowess_trust::summarise;

    use super::*;

    const PLAIN: &str = "---\nname: x\ndescription: Does a thing\n---\nDo the thing.\n";

    /// Summarises a skill with this text and these files, as a real folder.
    fn summary(text: &str, files: &[(&str, &str)]) -> TrustSummary {
        let world = tempfile::tempdir().unwrap();
        let skill = world.path().join("x");
        fs::create_dir(&skill).unwrap();
        fs::write(skill.join("SKILL.md"), text).unwrap();
        for (path, content) in files {
            let file = skill.join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            match content.strip_prefix("-> ") {
                Some(target) => symlink(Path::new(target), &file).unwrap(),
                None => fs::write(&file, content).unwrap(),
            }
            if path.starts_with("bin/") {
                fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).unwrap();
            }
        }
        summarise(&skill).unwrap()
    }

    fn with(keys: &str, body: &str) -> String {
        format!("---\nname: x\ndescription: Does a thing\n{keys}---\nDo the thing.\n{body}")
    }

    /// The kind, the text, the files and the line.
    type PowerRow<'r> = (PowerKind, String, &'r [(&'r str, &'r str)], &'r str);

    #[test]
    fn each_kind_of_power_is_shown_when_it_grows() {
        let old = summary(PLAIN, &[("notes.md", "a\n")]);
        let table: &[PowerRow<'_>] = &[
            (
                PowerKind::Grant,
                with("allowed-tools: Bash(curl:*)\n", ""),
                &[],
                "Bash(curl:*)",
            ),
            (
                PowerKind::UnrestrictedGrant,
                with("allowed-tools: Bash\n", ""),
                &[],
                "anything without approval: Bash",
            ),
            (
                PowerKind::Command,
                with("", "!`date`\n"),
                &[],
                "runs when loaded: date",
            ),
            (
                PowerKind::Hook,
                with(
                    "hooks:\n  PreToolUse:\n    - hooks:\n        - type: command\n          command: ./x.sh\n",
                    "",
                ),
                &[],
                "runs on PreToolUse: ./x.sh",
            ),
            (
                PowerKind::Script,
                PLAIN.to_owned(),
                &[("scripts/a.py", "print(1)\n")],
                "scripts/a.py",
            ),
            (
                PowerKind::Script,
                PLAIN.to_owned(),
                &[("bin/tool", "x\n")],
                "bin/tool",
            ),
            (
                PowerKind::Host,
                PLAIN.to_owned(),
                &[("a.sh", "open https://api.example.net/v\n")],
                "host api.example.net",
            ),
            (
                PowerKind::NetworkProgram,
                PLAIN.to_owned(),
                &[("a.sh", "curl x\n")],
                "network program curl",
            ),
            (
                PowerKind::HiddenText,
                with("", "z\u{200b}ero\n"),
                &[],
                "hidden text: invisible characters in SKILL.md",
            ),
            (
                PowerKind::OutsideLink,
                PLAIN.to_owned(),
                &[("l", "-> /etc/passwd")],
                "link out: l -> /etc/passwd",
            ),
            (
                PowerKind::Model,
                with("model: other/big\n", ""),
                &[],
                "model other/big",
            ),
            (
                PowerKind::Effort,
                with("effort: high\n", ""),
                &[],
                "effort high",
            ),
            (
                PowerKind::Fork,
                with("context: fork\n", ""),
                &[],
                "runs in a conversation of its own",
            ),
            (
                PowerKind::Agent,
                with("agent: Explore\n", ""),
                &[],
                "agent Explore",
            ),
            (
                PowerKind::AlwaysPresent,
                with("always_present: true\n", ""),
                &[],
                "part of every conversation",
            ),
            (
                PowerKind::Requirement,
                with("mcp-servers: [github]\n", ""),
                &[],
                "needs mcp-servers github",
            ),
            (
                PowerKind::Requirement,
                PLAIN.to_owned(),
                &[(
                    "agents/openai.yaml",
                    "dependencies:\n  tools:\n    - value: jira\n",
                )],
                "needs tool jira",
            ),
        ];
        let mut seen: BTreeSet<PowerKind> = BTreeSet::new();
        for (kind, text, files, expected) in table {
            let new = summary(text, files);
            let found = compare(&old, &new);
            let line = found.gained.iter().find(|line| line.kind == *kind);
            let line = line.unwrap_or_else(|| panic!("{kind:?}: {found:?}"));
            assert_eq!(line.to_string(), *expected);
            assert!(found.is_more() && found.lost.is_empty(), "{found:?}");
            // The other way it is less.
            let back = compare(&new, &old);
            assert!(!back.is_more(), "{back:?}");
            assert!(back.lost.iter().any(|line| line.kind == *kind), "{back:?}");
            seen.insert(*kind);
        }
        // A switch that closes a power opens it by going away.
        let closed = summary(&with("disable-model-invocation: true\n", ""), &[]);
        let found = compare(&closed, &old);
        assert_eq!(found.gained[0].kind, PowerKind::ModelInvocation);
        assert!(!compare(&old, &closed).is_more());
        seen.insert(PowerKind::ModelInvocation);
        // A script that may run without approval, with other bytes.
        let keys = with("allowed-tools: Bash(./bin/run:*)\n", "");
        let [old, new] = ["a\n", "b\n"].map(|text| summary(&keys, &[("bin/run", text)]));
        let found = compare(&old, &new);
        assert_eq!(found.gained[0].to_string(), "other bytes in bin/run");
        seen.insert(found.gained[0].kind);
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), PowerKind::ALL);
    }

    #[test]
    fn words_alone_are_not_more_power() {
        let keys = "allowed-tools: Read Bash(git:*)\nmodel: a/b\neffort: high\ncontext: fork\nagent: Explore\n";
        let body = "State: !`git status`\n<!-- note -->\n";
        let files = [
            ("scripts/a.sh", "curl https://h.example/x\n"),
            ("notes.md", "a\n"),
        ];
        let old = summary(&with(keys, body), &files);
        let moved = format!("More words first.\n\n{body}And after.\n");
        let other_files = [
            ("scripts/a.sh", "curl https://h.example/x\n"),
            ("notes.md", "b\n"),
            ("more.md", "c\n"),
        ];
        let new = summary(&with(keys, &moved), &other_files);
        let found = compare(&old, &new);
        assert_eq!((found.gained, found.lost), (vec![], vec![]));
        assert!(!found.description_changed);
    }

    #[test]
    fn changed_scripts_that_run_only_with_approval_are_shown() {
        let keys = with("allowed-tools: Read Write\n", "");
        let [old, new] = ["a\n", "b\n"].map(|text| summary(&keys, &[("bin/run", text)]));
        let found = compare(&old, &new);
        assert!(!found.is_more(), "{found:?}");
        assert_eq!(found.changed, ["bin/run"]);
        assert_eq!(compare(&old, &old).changed, [""; 0]);
    }

    #[test]
    fn hooks_on_more_events_are_more() {
        let of = |limits: &str| {
            let keys = format!(
                "hooks:\n  PreToolUse:\n    - hooks:\n        - type: command\n          command: ./x.sh\n{limits}"
            );
            summary(&with(&keys, ""), &[])
        };
        let all = of("");
        let some = of("      matcher: Read\n");
        let star = of("      matcher: '*'\n");
        let conditional = of("          if: Bash(git:*)\n");
        for (old, new, is_more) in [
            (&some, &all, true),
            (&some, &star, true),
            (&conditional, &all, true),
            (&some, &conditional, true),
            (&all, &star, false),
            (&all, &some, false),
            (&star, &conditional, false),
        ] {
            let found = compare(old, new);
            assert_eq!(found.is_more(), is_more, "{found:?}");
        }
        let shown = compare(&all, &some).lost[0].to_string();
        assert_eq!(shown, "runs on PreToolUse: ./x.sh");
    }

    #[test]
    fn listing_and_description_are_compared() {
        let old = summary(PLAIN, &[]);
        let new = summary(
            "---\nname: x\ndescription: Does a thing, and much more than before\n---\nx\n",
            &[],
        );
        let found = compare(&old, &new);
        assert!(found.description_changed && !found.is_more());
        assert!(found.listing_tokens.1 > found.listing_tokens.0);
    }

    #[test]
    fn lower_effort_is_less_and_another_model_is_more() {
        let of = |keys: &str| summary(&with(keys, ""), &[]);
        assert!(!compare(&of("effort: max\n"), &of("effort: low\n")).is_more());
        assert!(compare(&of("effort: low\n"), &of("effort: max\n")).is_more());
        assert!(compare(&of("model: a/b\n"), &of("model: c/d\n")).is_more());
        assert!(compare(&of("agent: A\n"), &of("agent: B\n")).is_more());
    }

    #[test]
    fn places_of_new_powers_are_named() {
        let old = summary(PLAIN, &[]);
        let new = summary(&with("allowed-tools: Bash(curl:*)\n", "!`date`\n"), &[]);
        let places: Vec<_> = compare(&old, &new)
            .gained
            .into_iter()
            .map(|line| line.place)
            .collect();
        assert_eq!(
            places,
            [Some("SKILL.md:7".to_owned()), Some("SKILL.md:4".to_owned())]
        );
    }

    #[test]
    fn new_package_has_all_its_powers() {
        let new = summary(&with("allowed-tools: Read\n", ""), &[]);
        let kinds: Vec<_> = compare(&TrustSummary::default(), &new)
            .gained
            .iter()
            .map(|line| line.kind)
            .collect();
        assert_eq!(kinds, [PowerKind::Grant, PowerKind::ModelInvocation]);
    }

    #[test]
    fn changed_lines_are_counted() {
        for (old, new, lines) in [
            ("", "", 0),
            ("a\nb\n", "a\nb\n", 0),
            ("a\nb\n", "a\nc\n", 1),
            ("a\n", "a\nb\nc\n", 2),
            ("a\nb\nc\n", "a\n", 2),
            ("a", "a\n", 1),
        ] {
            assert_eq!(
                changed_lines(old, new, &mut { USUAL_WORK }),
                lines,
                "{old:?} {new:?}"
            );
        }
        let old = BTreeMap::from([("a", &b"x\n"[..]), ("b", b"y\n"), ("i", b"\0a")]);
        let new = BTreeMap::from([("a", &b"x\nz\n"[..]), ("c", b"y\n"), ("i", b"\0b")]);
        let changed = changed_words(&old, &new);
        assert_eq!(
            changed,
            ChangedWords {
                lines: 3,
                files: 4,
                binary: 1
            }
        );
        // Without work, everything between the first and the last difference counts.
        assert_eq!(changed_lines("a\nb\nc\nd\n", "a\nx\nc\ny\nd\n", &mut 0), 3);
    }
}
