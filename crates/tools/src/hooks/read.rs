//! From the frontmatter to the hooks of a skill.

use std::time::Duration;

use prowess_diag::{Diagnostic, Severity, Span, suggest, wording};
use prowess_policy::{Effect, PermissionRule};
use prowess_spec::Manifest;
use prowess_spec::manifest::parse_flag;
use prowess_spec::vocabulary::HOOK_EVENTS;
use prowess_spec::yaml::{Entry, Node};

use super::event::EventName;
use super::matcher::Matcher;

/// Most hooks of a skill.
pub const MAX_HANDLERS: usize = 64;
/// Most things that are said about the hooks of a skill.
const MAX_NOTES: usize = 64;
/// Longest command with its arguments, in bytes: as much as the gate reads.
const MAX_COMMAND: usize = 8 * 1024;
/// Most words of a command that is started without a shell.
const MAX_ARGUMENTS: usize = 256;
/// Milliseconds until a hook is stopped that says nothing about it.
const DEFAULT_TIMEOUT_MS: u64 = 60_000;
/// Most milliseconds until a hook is stopped.
const MAX_TIMEOUT_MS: u64 = 600_000;

const SHAPE: &str = "write `PreToolUse:` with a list of `matcher` and `hooks`, each hook with `type: command` and a `command`";

/// The hooks of one skill, in the order of the file.
#[derive(Clone, Debug, Default)]
pub struct HookSet {
    /// At most [`MAX_HANDLERS`].
    pub handlers: Vec<Handler>,
}

/// One hook.
#[derive(Clone, Debug)]
pub struct Handler {
    /// The event it is for.
    pub event: EventName,
    /// Which tools, or which beginnings of a session.
    pub matcher: Matcher,
    /// A line for the shell; the program alone where there are `arguments`.
    pub command: Box<str>,
    /// What the program receives, started without a shell; nothing for a line for the shell.
    pub arguments: Option<Box<[Box<str>]>>,
    /// A rule that the use of the tool must fit: `Bash(git push *)`.
    pub condition: Option<PermissionRule>,
    /// Milliseconds until it is stopped.
    pub timeout_ms: u64,
    /// Whether it runs only once in a session.
    pub once: bool,
    /// What to show while it runs.
    pub status: Option<Box<str>>,
    /// Where it stands.
    pub span: Span,
}

impl HookSet {
    /// Reads the hooks of a skill, and says what of them never runs. Nothing is an error: a skill with
    /// hooks that nobody understands is a skill without those hooks.
    pub fn read(manifest: &Manifest) -> (Self, Vec<Diagnostic>) {
        let mut reader = Reader::default();
        if let Some(entry) = manifest.entry("hooks") {
            reader.events(&entry.value);
        }
        if reader.left_out > 0 {
            let text = format!(
                "a skill has at most {MAX_HANDLERS} hooks, and {} more never run",
                reader.left_out
            );
            reader.say("invalid-hooks", Severity::Warning, None, text, None);
        }
        (reader.set, reader.notes)
    }

    /// Tells whether there are none.
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

    /// Something of the wrong shape.
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

    /// Something that is wrong.
    fn wrong(&mut self, span: Span, message: impl Into<String>) {
        self.say(
            "invalid-hooks",
            Severity::Warning,
            Some(span),
            message.into(),
            None,
        );
    }

    /// Something that is fine elsewhere.
    fn unsupported(&mut self, span: Span, message: impl Into<String>, help: Option<String>) {
        self.say(
            "unsupported-hook",
            Severity::Note,
            Some(span),
            message.into(),
            help,
        );
    }

    fn events(&mut self, node: &Node) {
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

    fn unknown(&mut self, entry: &Entry) {
        let name = wording::tick(wording::shorten(&entry.key, 60));
        let known = HOOK_EVENTS.contains(&&*entry.key);
        let near = suggest::nearest(&entry.key, EventName::ALL.map(EventName::as_str));
        let help = match near.filter(|_| !known) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("supported are {}", wording::all(EventName::ALL)),
        };
        self.unsupported(
            entry.key_span,
            format!("hooks for {name} are not supported here"),
            Some(help),
        );
    }

    fn entries(&mut self, event: EventName, node: &Node) {
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

    /// One matcher with its hooks.
    fn entry(&mut self, event: EventName, node: &Node) {
        if node.entries().is_none() {
            let message = format!("an entry for `{event}` is {}, not a map", node.kind());
            return self.misshapen(node.span, message);
        }
        let Some(matcher) = self.matcher(event, node.get("matcher")) else {
            return;
        };
        let hooks = node.get("hooks");
        let Some(hooks) = hooks.and_then(Node::items) else {
            let kind = hooks.map_or("nothing", Node::kind);
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

    fn matcher(&mut self, event: EventName, node: Option<&Node>) -> Option<Matcher> {
        let Some(node) = node.filter(|node| !node.is_null()) else {
            return Some(Matcher::All);
        };
        let Some(text) = node.text() else {
            self.wrong(node.span, format!("a matcher is {}, not text", node.kind()));
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
                self.wrong(
                    node.span,
                    format!("the matcher {text} matches nothing: {why}"),
                );
                None
            }
        }
    }

    fn handler(&mut self, event: EventName, matcher: &Matcher, node: &Node) -> Option<Handler> {
        if node.entries().is_none() {
            self.misshapen(
                node.span,
                format!("a hook for `{event}` is {}, not a map", node.kind()),
            );
            return None;
        }
        match node.get("type").and_then(Node::text) {
            Some("command") => {}
            Some(kind) => {
                let kind = wording::tick(wording::shorten(kind, 60));
                let help = "only `type: command` runs".to_owned();
                let message = format!("hooks of the type {kind} are not supported here");
                self.unsupported(node.span, message, Some(help));
                return None;
            }
            None => {
                self.misshapen(node.span, format!("a hook for `{event}` has no `type`"));
                return None;
            }
        }
        let command = node.get("command").and_then(Node::text).map(str::trim);
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
                "the command of a hook is too long, or has a NUL in it",
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
                .and_then(Node::text)
                .map(Into::into),
            span: node.span,
        })
    }

    /// The arguments; nothing at all where they cannot be read.
    #[expect(
        clippy::option_option,
        reason = "no arguments are not the same as none that are right"
    )]
    fn arguments(&mut self, node: Option<&Node>) -> Option<Option<Box<[Box<str>]>>> {
        let Some(node) = node.filter(|node| !node.is_null()) else {
            return Some(None);
        };
        let texts = |items: &[Node]| -> Option<Box<[Box<str>]>> {
            items
                .iter()
                .map(|item| item.text().map(Into::into))
                .collect()
        };
        if let Some(texts) = node.items().and_then(texts) {
            return Some(Some(texts));
        }
        self.wrong(node.span, "`args` of a hook is not a list of texts");
        None
    }

    /// The rule of `if`; nothing at all where it cannot hold.
    #[expect(
        clippy::option_option,
        reason = "no condition is not the same as one that cannot hold"
    )]
    fn condition(
        &mut self,
        event: EventName,
        node: Option<&Node>,
    ) -> Option<Option<PermissionRule>> {
        let Some(node) = node.filter(|node| !node.is_null()) else {
            return Some(None);
        };
        if !event.is_about_tools() {
            self.wrong(
                node.span,
                format!("`if` is about tools, so it never holds for `{event}`"),
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
                    format!("the rule {text} never holds: {}", fault.why),
                );
                None
            }
            None => {
                self.wrong(node.span, format!("`if` is {}, not a rule", node.kind()));
                None
            }
        }
    }

    /// What other programs know; nothing where the hook cannot run without it.
    fn options(&mut self, node: &Node) -> Option<()> {
        if let Some(shell) = node.get("shell").filter(|node| !node.is_null())
            && shell.text() != Some("bash")
        {
            self.unsupported(shell.span, "a hook wants another shell than bash", None);
            return None;
        }
        for key in ["async", "asyncRewake"] {
            if self.flag(node, key) {
                let message = format!("`{key}` is not supported here: the hook is waited for");
                self.unsupported(node.span, message, None);
            }
        }
        Some(())
    }

    fn flag(&mut self, node: &Node, key: &str) -> bool {
        let Some(node) = node.get(key).filter(|node| !node.is_null()) else {
            return false;
        };
        let value = node.text().and_then(parse_flag);
        if value.is_none() {
            self.wrong(
                node.span,
                format!("`{key}` of a hook is neither true nor false"),
            );
        }
        value.unwrap_or(false)
    }

    fn timeout(&mut self, node: Option<&Node>) -> u64 {
        let Some(node) = node.filter(|node| !node.is_null()) else {
            return DEFAULT_TIMEOUT_MS;
        };
        let seconds = node.text().and_then(|text| text.trim().parse::<f64>().ok());
        let Some(seconds) = seconds.filter(|seconds| seconds.is_finite() && *seconds > 0.0) else {
            self.wrong(node.span, "`timeout` of a hook is not a number of seconds");
            return DEFAULT_TIMEOUT_MS;
        };
        let time = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        let milliseconds = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        if milliseconds > MAX_TIMEOUT_MS {
            let message = "`timeout` of a hook is more than 600 seconds, and becomes that";
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
    fn a_hook_with_everything_is_read() {
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
    fn what_is_wrong_or_unknown_is_said_and_never_runs() {
        for (hooks, rule, words) in [
            (" [a]", "invalid-hooks", "`hooks` is a list, not a map"),
            (
                "\n  pre: echo",
                "unsupported-hook",
                "hooks for `pre` are not supported here",
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
                "a matcher is a list",
            ),
            (
                "\n  PreToolUse: [{matcher: '(', hooks: []}]",
                "invalid-hooks",
                "matches nothing",
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
                "never holds for `Stop`",
            ),
            (
                "\n  PreToolUse: [{hooks: [{type: command, command: x, if: 'Bash('}]}]",
                "invalid-hooks",
                "never holds",
            ),
            (
                "\n  Stop: [{hooks: [{type: command, command: x, shell: powershell}]}]",
                "unsupported-hook",
                "another shell",
            ),
            (
                "\n  Stop: [{hooks: [{type: command, command: \"x\\0y\"}]}]",
                "invalid-hooks",
                "has a NUL",
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
    fn what_is_only_odd_is_said_and_runs() {
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
    fn broken_texts_are_read_without_harm() {
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
    fn two_hundred_hooks_are_cut_and_so_is_what_is_said() {
        let one = "        - {type: command, command: x}\n".repeat(200);
        let (set, notes) = read(&format!("\n  Stop:\n    - hooks:\n{one}"));
        assert_eq!(set.handlers.len(), MAX_HANDLERS);
        assert_eq!(
            notes[0].message,
            "a skill has at most 64 hooks, and 136 more never run"
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
