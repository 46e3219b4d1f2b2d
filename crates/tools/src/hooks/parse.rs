//! Parses the hooks of a skill from its frontmatter.

use std::time::Duration;

use prowess_diag::{Diagnostic, Severity, Span, suggest, wording};
use prowess_policy::{Effect, PermissionRule};
use prowess_spec::Manifest;
use prowess_spec::manifest::parse_flag;
use prowess_spec::vocabulary::HOOK_EVENTS;
use prowess_spec::yaml::{YamlEntry, YamlNode};

use super::event::EventName;
use super::matcher::Matcher;

/// Maximum number of hooks of a skill.
pub const MAX_HANDLERS: usize = 64;
/// Maximum number of diagnostics about the hooks of a skill.
const MAX_NOTES: usize = 64;
/// Maximum length of a command with its arguments, in bytes; the limit of the gate.
const MAX_COMMAND: usize = 8 * 1024;
/// Maximum number of arguments of a command that is started without a shell.
const MAX_ARGUMENTS: usize = 256;
/// Default timeout of a hook, in milliseconds.
const DEFAULT_TIMEOUT_MS: u64 = 60_000;
/// Maximum timeout of a hook, in milliseconds.
const MAX_TIMEOUT_MS: u64 = 600_000;

const SHAPE: &str = "write `PreToolUse:` with a list of `matcher` and `hooks`, each hook with `type: command` and a `command`";

/// The hooks of one skill, in the order of the file.
#[derive(Clone, Debug, Default)]
pub struct HookSet {
    /// The hooks, at most [`MAX_HANDLERS`].
    pub handlers: Vec<Handler>,
}

/// One hook.
#[derive(Clone, Debug)]
pub struct Handler {
    /// The event that triggers the hook.
    pub event: EventName,
    /// Selects tools, or sources of a session start.
    pub matcher: Matcher,
    /// A shell command line, or only the program if there are `arguments`.
    pub command: Box<str>,
    /// Arguments of a program that is started without a shell; `None` for a shell command line.
    pub arguments: Option<Box<[Box<str>]>>,
    /// A rule that the tool call must match: `Bash(git push *)`.
    pub condition: Option<PermissionRule>,
    /// Timeout in milliseconds.
    pub timeout_ms: u64,
    /// If `true`, the hook runs only once per session.
    pub once: bool,
    /// Message to show while the hook runs.
    pub status: Option<Box<str>>,
    /// Position in the file.
    pub span: Span,
}

impl HookSet {
    /// Parses the hooks of a skill. The diagnostics report hooks that will never run. Nothing here
    /// is fatal: a skill with invalid hooks is loaded without them.
    pub fn read(manifest: &Manifest) -> (Self, Vec<Diagnostic>) {
        let mut reader = Reader::default();
        if let Some(entry) = manifest.entry("hooks") {
            reader.events(&entry.value);
        }
        if reader.left_out > 0 {
            let text = format!(
                "a skill can have at most {MAX_HANDLERS} hooks; {} are ignored",
                reader.left_out
            );
            reader.say("invalid-hooks", Severity::Warning, None, text, None);
        }
        (reader.set, reader.notes)
    }

    /// Returns `true` if there are no hooks.
    pub fn is_empty(&self) -> bool {
        self.handlers.is_empty()
    }
}

#[derive(Default)]
struct Reader {
    set: HookSet,
    notes: Vec<Diagnostic>,
    left_out: usize,
}

impl Reader {
    fn say(
        &mut self,
        rule: &'static str,
        severity: Severity,
        span: Option<Span>,
        message: String,
        help: Option<String>,
    ) {
        if self.notes.len() < MAX_NOTES {
            let (message, help) = (message.into(), help.map(Into::into));
            self.notes.push(Diagnostic {
                rule,
                severity,
                message,
                span,
                label: None,
                help,
                fix: None,
            });
        }
    }

    /// Reports a value of the wrong shape.
    fn misshapen(&mut self, span: Span, message: impl Into<String>) {
        let help = Some(SHAPE.to_owned());
        self.say(
            "invalid-hooks",
            Severity::Warning,
            Some(span),
            message.into(),
            help,
        );
    }

    /// Reports an invalid value.
    fn wrong(&mut self, span: Span, message: impl Into<String>) {
        self.say(
            "invalid-hooks",
            Severity::Warning,
            Some(span),
            message.into(),
            None,
        );
    }

    /// Reports something that is valid elsewhere but not supported here.
    fn unsupported(&mut self, span: Span, message: impl Into<String>, help: Option<String>) {
        self.say(
            "unsupported-hook",
            Severity::Note,
            Some(span),
            message.into(),
            help,
        );
    }

    fn events(&mut self, node: &YamlNode) {
        if node.is_null() {
            return;
        }
        let Some(events) = node.entries() else {
            return self.misshapen(node.span, format!("`hooks` is {}, not a map", node.kind()));
        };
        for entry in events {
            match EventName::parse(&entry.key) {
                Some(event) => self.entries(event, &entry.value),
                None => self.unknown(entry),
            }
        }
    }

    fn unknown(&mut self, entry: &YamlEntry) {
        let name = wording::tick(wording::shorten(&entry.key, 60));
        let known = HOOK_EVENTS.contains(&&*entry.key);
        let near = suggest::nearest(&entry.key, EventName::ALL.map(EventName::as_str));
        let help = match near.filter(|_| !known) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("supported events: {}", wording::all(EventName::ALL)),
        };
        self.unsupported(
            entry.key_span,
            format!("hooks for {name} are not supported"),
            Some(help),
        );
    }

    fn entries(&mut self, event: EventName, node: &YamlNode) {
        if node.is_null() {
            return;
        }
        let Some(entries) = node.items() else {
            return self.misshapen(
                node.span,
                format!("hooks for `{event}` are {}, not a list", node.kind()),
            );
        };
        for entry in entries {
            self.entry(event, entry);
        }
    }

    /// Parses one entry: a matcher with its hooks.
    fn entry(&mut self, event: EventName, node: &YamlNode) {
        if node.entries().is_none() {
            let message = format!("an entry for `{event}` is {}, not a map", node.kind());
            return self.misshapen(node.span, message);
        }
        let Some(matcher) = self.matcher(event, node.get("matcher")) else {
            return;
        };
        let hooks = node.get("hooks");
        let Some(hooks) = hooks.and_then(YamlNode::items) else {
            let kind = hooks.map_or("nothing", YamlNode::kind);
            let message = format!("`hooks` of an entry for `{event}` is {kind}, not a list");
            return self.misshapen(hooks.map_or(node.span, |hooks| hooks.span), message);
        };
        for hook in hooks {
            let Some(handler) = self.handler(event, &matcher, hook) else {
                continue;
            };
            if self.set.handlers.len() < MAX_HANDLERS {
                self.set.handlers.push(handler);
            } else {
                self.left_out += 1;
            }
        }
    }

    fn matcher(&mut self, event: EventName, node: Option<&YamlNode>) -> Option<Matcher> {
        let Some(node) = node.filter(|node| !node.is_null()) else {
            return Some(Matcher::All);
        };
        let Some(text) = node.text() else {
            self.wrong(node.span, format!("`matcher` is {}, not text", node.kind()));
            return None;
        };
        if !event.has_matcher() {
            if !matches!(text.trim(), "" | "*") {
                let message = format!("a matcher has no effect on `{event}`");
                self.unsupported(node.span, message, None);
            }
            return Some(Matcher::All);
        }
        match Matcher::parse(text) {
            Ok(matcher) => Some(matcher),
            Err(why) => {
                let text = wording::tick(wording::shorten(text, 60));
                self.wrong(node.span, format!("invalid matcher {text}: {why}"));
                None
            }
        }
    }

    fn handler(&mut self, event: EventName, matcher: &Matcher, node: &YamlNode) -> Option<Handler> {
        if node.entries().is_none() {
            self.misshapen(
                node.span,
                format!("a hook for `{event}` is {}, not a map", node.kind()),
            );
            return None;
        }
        match node.get("type").and_then(YamlNode::text) {
            Some("command") => {}
            Some(kind) => {
                let kind = wording::tick(wording::shorten(kind, 60));
                let help = "only `type: command` is supported".to_owned();
                let message = format!("hooks of type {kind} are not supported");
                self.unsupported(node.span, message, Some(help));
                return None;
            }
            None => {
                self.misshapen(node.span, format!("a hook for `{event}` has no `type`"));
                return None;
            }
        }
        let command = node.get("command").and_then(YamlNode::text).map(str::trim);
        let Some(command) = command.filter(|command| !command.is_empty()) else {
            self.misshapen(node.span, format!("a hook for `{event}` has no `command`"));
            return None;
        };
        let arguments = self.arguments(node.get("args"))?;
        let words: Vec<&str> = arguments
            .iter()
            .flatten()
            .map(|word| &**word)
            .chain([command])
            .collect();
        if words.len() > MAX_ARGUMENTS
            || words.iter().map(|word| word.len()).sum::<usize>() > MAX_COMMAND
            || words.iter().any(|word| word.contains('\0'))
        {
            self.wrong(
                node.span,
                "the command of a hook is too long or contains a NUL character",
            );
            return None;
        }
        let condition = self.condition(event, node.get("if"))?;
        self.options(node)?;
        Some(Handler {
            event,
            matcher: matcher.clone(),
            command: command.into(),
            arguments,
            condition,
            timeout_ms: self.timeout(node.get("timeout")),
            once: self.flag(node, "once"),
            status: node
                .get("statusMessage")
                .and_then(YamlNode::text)
                .map(Into::into),
            span: node.span,
        })
    }

    /// Parses the arguments. The outer `None` means that they are invalid.
    #[expect(
        clippy::option_option,
        reason = "missing arguments are different from invalid ones"
    )]
    fn arguments(&mut self, node: Option<&YamlNode>) -> Option<Option<Box<[Box<str>]>>> {
        let Some(node) = node.filter(|node| !node.is_null()) else {
            return Some(None);
        };
        let texts = |items: &[YamlNode]| -> Option<Box<[Box<str>]>> {
            items
                .iter()
                .map(|item| item.text().map(Into::into))
                .collect()
        };
        if let Some(texts) = node.items().and_then(texts) {
            return Some(Some(texts));
        }
        self.wrong(node.span, "`args` of a hook is not a list of strings");
        None
    }

    /// Parses the rule in `if`. The outer `None` means that it can never match.
    #[expect(
        clippy::option_option,
        reason = "a missing condition is different from one that never matches"
    )]
    fn condition(
        &mut self,
        event: EventName,
        node: Option<&YamlNode>,
    ) -> Option<Option<PermissionRule>> {
        let Some(node) = node.filter(|node| !node.is_null()) else {
            return Some(None);
        };
        if !event.is_about_tools() {
            self.wrong(
                node.span,
                format!("`if` applies to tool events only and never matches `{event}`"),
            );
            return None;
        }
        match node
            .text()
            .map(|text| PermissionRule::parse(text, Effect::Deny))
        {
            Some(Ok(rule)) => Some(Some(rule)),
            Some(Err(fault)) => {
                let text = wording::tick(wording::shorten(&fault.text, 60));
                self.wrong(
                    node.span,
                    format!("invalid rule {text} in `if`: {}", fault.why),
                );
                None
            }
            None => {
                self.wrong(node.span, format!("`if` is {}, not a rule", node.kind()));
                None
            }
        }
    }

    /// Checks options of other agents. Returns `None` if the hook cannot run without one of them.
    fn options(&mut self, node: &YamlNode) -> Option<()> {
        if let Some(shell) = node.get("shell").filter(|node| !node.is_null())
            && shell.text() != Some("bash")
        {
            self.unsupported(shell.span, "hooks can only use `shell: bash`", None);
            return None;
        }
        for key in ["async", "asyncRewake"] {
            if self.flag(node, key) {
                let message = format!("`{key}` is not supported: hooks run synchronously");
                self.unsupported(node.span, message, None);
            }
        }
        Some(())
    }

    fn flag(&mut self, node: &YamlNode, key: &str) -> bool {
        let Some(node) = node.get(key).filter(|node| !node.is_null()) else {
            return false;
        };
        let value = node.text().and_then(parse_flag);
        if value.is_none() {
            self.wrong(
                node.span,
                format!("`{key}` of a hook is not `true` or `false`"),
            );
        }
        value.unwrap_or(false)
    }

    fn timeout(&mut self, node: Option<&YamlNode>) -> u64 {
        let Some(node) = node.filter(|node| !node.is_null()) else {
            return DEFAULT_TIMEOUT_MS;
        };
        let seconds = node.text().and_then(|text| text.trim().parse::<f64>().ok());
        let Some(seconds) = seconds.filter(|seconds| seconds.is_finite() && *seconds > 0.0) else {
            self.wrong(
                node.span,
                "`timeout` of a hook is not a positive number of seconds",
            );
            return DEFAULT_TIMEOUT_MS;
        };
        let time = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        let milliseconds = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        if milliseconds > MAX_TIMEOUT_MS {
            let message = "`timeout` of a hook is limited to 600 seconds";
            self.unsupported(node.span, message, None);
        }
        milliseconds.clamp(1, MAX_TIMEOUT_MS)
    }
}

#[cfg(test)]
mod tests {
    use prowess_spec::parse;

    use super::*;

    fn read(hooks: &str) -> (HookSet, Vec<Diagnostic>) {
        let text = format!("---\nname: x\ndescription: x\nhooks:{hooks}\n---\nbody\n");
        HookSet::read(&parse(text.as_bytes()).manifest)
    }

    #[test]
    fn all_hook_fields_are_parsed() {
        let (set, notes) = read(
            r#"
  PreToolUse:
    - matcher: "Edit|Write"
      hooks:
        - type: command
          command: ./check.sh
          args: [--fast, "a b"]
          if: "Edit(*.ts)"
          timeout: 1.5
          once: true
          statusMessage: Checking
        - {type: command, command: "echo $X"}
  Stop:
    - hooks:
        - {type: command, command: done}"#,
        );
        assert_eq!(notes, []);
        let [first, second, third] = &*set.handlers else {
            panic!("{set:?}")
        };
        assert_eq!(first.event, EventName::PreToolUse);
        assert!(first.matcher.matches("Write") && !first.matcher.matches("Bash"));
        assert_eq!(
            first.arguments.as_deref(),
            Some(&["--fast".into(), "a b".into()][..])
        );
        assert_eq!(
            first.condition.as_ref().map(|rule| &*rule.text),
            Some("Edit(*.ts)")
        );
        assert_eq!((first.timeout_ms, first.once), (1_500, true));
        assert_eq!(first.status.as_deref(), Some("Checking"));
        assert_eq!(
            (second.timeout_ms, second.once, &*second.command),
            (60_000, false, "echo $X")
        );
        assert!(second.arguments.is_none() && second.matcher.matches("Edit"));
        assert_eq!((third.event, &*third.command), (EventName::Stop, "done"));
    }

    #[test]
    fn invalid_and_unknown_hooks_are_reported_and_dropped() {
        for (hooks, rule, words) in [
            (" [a]", "invalid-hooks", "`hooks` is a list, not a map"),
            (
                "\n  pre: echo",
                "unsupported-hook",
                "hooks for `pre` are not supported",
            ),
            ("\n  SessionEnd: []", "unsupported-hook", "`SessionEnd`"),
            (
                "\n  Stop: echo",
                "invalid-hooks",
                "hooks for `Stop` are text, not a list",
            ),
            (
                "\n  Stop: [echo]",
                "invalid-hooks",
                "an entry for `Stop` is text, not a map",
            ),
            (
                "\n  Stop: [{matcher: ~}]",
                "invalid-hooks",
                "is nothing, not a list",
            ),
            (
                "\n  PreToolUse: [{matcher: [a], hooks: []}]",
                "invalid-hooks",
                "`matcher` is a list",
            ),
            (
                "\n  PreToolUse: [{matcher: '(', hooks: []}]",
                "invalid-hooks",
                "invalid matcher",
            ),
            (
                "\n  Stop: [{hooks: [x]}]",
                "invalid-hooks",
                "a hook for `Stop` is text",
            ),
            (
                "\n  Stop: [{hooks: [{command: x}]}]",
                "invalid-hooks",
                "has no `type`",
            ),
            (
                "\n  Stop: [{hooks: [{type: command}]}]",
                "invalid-hooks",
                "has no `command`",
            ),
            (
                "\n  Stop: [{hooks: [{type: http, url: x}]}]",
                "unsupported-hook",
                "type `http`",
            ),
            (
                "\n  Stop: [{hooks: [{type: command, command: x, args: a}]}]",
                "invalid-hooks",
                "`args`",
            ),
            (
                "\n  Stop: [{hooks: [{type: command, command: x, if: Bash}]}]",
                "invalid-hooks",
                "never matches `Stop`",
            ),
            (
                "\n  PreToolUse: [{hooks: [{type: command, command: x, if: 'Bash('}]}]",
                "invalid-hooks",
                "invalid rule",
            ),
            (
                "\n  Stop: [{hooks: [{type: command, command: x, shell: powershell}]}]",
                "unsupported-hook",
                "`shell: bash`",
            ),
            (
                "\n  Stop: [{hooks: [{type: command, command: \"x\\0y\"}]}]",
                "invalid-hooks",
                "contains a NUL",
            ),
        ] {
            let (set, notes) = read(hooks);
            assert!(set.is_empty(), "{hooks}: {set:?}");
            let [note] = &*notes else {
                panic!("{hooks}: {notes:?}")
            };
            assert_eq!(note.rule, rule, "{hooks}");
            assert!(note.message.contains(words), "{hooks}: {}", note.message);
            assert!(note.span.is_some(), "{hooks}");
        }
        let (set, notes) = read("\n  pretooluse: []");
        assert!(set.is_empty());
        assert_eq!(notes[0].help.as_deref(), Some("did you mean `PreToolUse`?"));
        assert!(read("").0.is_empty() && read(" ~").1.is_empty());
    }

    #[test]
    fn odd_options_are_reported_and_the_hook_runs() {
        for (rest, milliseconds) in [
            ("timeout: 1e9", 600_000),
            ("timeout: 1e300", 600_000),
            ("timeout: -1", 60_000),
            ("timeout: NaN", 60_000),
            ("timeout: soon", 60_000),
            ("once: perhaps", 60_000),
            ("async: true", 60_000),
        ] {
            let (set, notes) = read(&format!(
                "\n  Stop: [{{hooks: [{{type: command, command: x, {rest}}}]}}]"
            ));
            assert_eq!(notes.len(), 1, "{rest}");
            assert_eq!(set.handlers.len(), 1, "{rest}");
            assert_eq!(set.handlers[0].timeout_ms, milliseconds, "{rest}");
            assert!(!set.handlers[0].once);
        }
        let (set, notes) = read("\n  Stop: [{matcher: x, hooks: [{type: command, command: x}]}]");
        assert_eq!((set.handlers.len(), notes.len()), (1, 1));
    }

    #[test]
    fn truncated_frontmatter_does_not_panic() {
        let text = "\n  PreToolUse:\n    - matcher: \"a.*|\"\n      hooks:\n        - {type: command, command: \"x\", args: [a], if: \"Bash(x)\", timeout: 1, once: yes}\n  Stop: [{hooks: [{type: http}]}]";
        for at in 0..text.len() {
            read(&text[..at]);
            for other in [
                "", "\"", "[", "{", ":", "\n", "\t", "&a ", "*a", "\0", "\u{202e}",
            ] {
                read(&format!("{}{other}{}", &text[..at], &text[at + 1..]));
            }
        }
    }

    #[test]
    fn hooks_and_diagnostics_are_limited() {
        let one = "        - {type: command, command: x}\n".repeat(200);
        let (set, notes) = read(&format!("\n  Stop:\n    - hooks:\n{one}"));
        assert_eq!(set.handlers.len(), MAX_HANDLERS);
        assert_eq!(
            notes[0].message,
            "a skill can have at most 64 hooks; 136 are ignored"
        );
        let one = "        - {type: http}\n".repeat(200);
        assert_eq!(
            read(&format!("\n  Stop:\n    - hooks:\n{one}")).1.len(),
            MAX_NOTES
        );
        let long = "x".repeat(MAX_COMMAND + 1);
        let (set, notes) = read(&format!(
            "\n  Stop: [{{hooks: [{{type: command, command: {long}}}]}}]"
        ));
        assert!(set.is_empty() && notes.len() == 1);
    }
}
