//! Parses the answer of a hook: its exit code and its JSON output.

use prowess_policy::Verdict;
use prowess_traits::CommandResult;
use serde_json::{Map, Value};

use super::event::EventName;

/// Maximum number of characters of one text in an answer.
pub(super) const MAX_CHARACTERS: usize = 10_000;
/// Exit code that blocks.
const BLOCKS: i32 = 2;

/// The answer of one hook.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Answer {
    /// Decision about the event. `Allow` is advisory only.
    pub(super) verdict: Option<Verdict>,
    /// Reason for the decision.
    pub(super) reason: Option<String>,
    /// Reason to stop the whole session, if the hook asks for that.
    pub(super) stop: Option<String>,
    /// Message for the user.
    pub(super) message: Option<String>,
    /// Context for the model.
    pub(super) context: Vec<String>,
    /// Replacement for the tool's input.
    pub(super) input: Option<Value>,
    /// Parts of the answer that are invalid.
    pub(super) faults: Vec<String>,
}

impl Answer {
    /// Returns the answer in place of a hook that could not run.
    pub(super) fn instead(verdict: Verdict, reason: String) -> Self {
        Self {
            verdict: Some(verdict),
            reason: Some(reason),
            ..Self::default()
        }
    }

    /// Parses the answer of a hook that ran to completion.
    pub(super) fn of(event: EventName, ran: &CommandResult) -> Self {
        let mut answer = Self::default();
        match ran.code {
            _ if ran.stopped.is_some() => {}
            Some(0) => answer.read(event, ran),
            Some(BLOCKS) => {
                let said = ran.stderr.text.trim();
                let said = if said.is_empty() {
                    "the hook gave no reason"
                } else {
                    said
                };
                answer.refuse(event, shortened(said));
            }
            _ => {}
        }
        answer
    }

    fn read(&mut self, event: EventName, ran: &CommandResult) {
        let text = ran.stdout.text.trim();
        if !text.starts_with('{') {
            // At these events, plain output is context for the model.
            let speaks = matches!(event, EventName::SessionStart | EventName::UserPromptSubmit);
            if speaks && !text.is_empty() {
                self.context.push(shortened(text));
            }
            return;
        }
        if ran.stdout.omitted > 0 {
            return self.faults.push(format!(
                "its output is too long: {} bytes",
                ran.stdout.bytes
            ));
        }
        match serde_json::from_str::<Map<String, Value>>(text) {
            Ok(map) => self.take(event, &map),
            Err(error) => self
                .faults
                .push(format!("its output is not valid JSON: {error}")),
        }
    }

    fn take(&mut self, event: EventName, map: &Map<String, Value>) {
        let reason = self.text(map, "reason");
        self.message = self.text(map, "systemMessage");
        match self.text(map, "decision").as_deref() {
            Some("block") => {
                let reason = reason.unwrap_or_else(|| "the hook gave no reason".to_owned());
                self.refuse(event, reason);
            }
            Some("approve" | "allow") if event == EventName::PreToolUse => {
                (self.verdict, self.reason) = (Some(Verdict::Allow), reason);
            }
            None | Some("approve" | "allow") => {}
            Some(other) => self.faults.push(unknown("decision", other)),
        }
        match map.get("hookSpecificOutput") {
            None | Some(Value::Null) => {}
            Some(Value::Object(specific)) => self.specific(event, specific),
            Some(_) => self
                .faults
                .push("`hookSpecificOutput` is not an object".to_owned()),
        }
        match map.get("continue") {
            None | Some(Value::Null | Value::Bool(true)) => {}
            Some(Value::Bool(false)) => {
                let why = self.text(map, "stopReason");
                let why = why.unwrap_or_else(|| "the hook gave no reason".to_owned());
                match event {
                    // `continue: false` overrides a request not to stop.
                    EventName::Stop => (self.verdict, self.reason) = (None, None),
                    _ => self.refuse(event, why.clone()),
                }
                self.stop = Some(why);
            }
            Some(_) => self
                .faults
                .push("`continue` is not `true` or `false`".to_owned()),
        }
    }

    fn specific(&mut self, event: EventName, map: &Map<String, Value>) {
        if let Some(name) = self
            .text(map, "hookEventName")
            .filter(|name| name != event.as_str())
        {
            return self.faults.push(format!(
                "{}, expected `{event}`",
                unknown("hookEventName", &name)
            ));
        }
        let context = self.text(map, "additionalContext");
        self.context.extend(context);
        if event != EventName::PreToolUse {
            return;
        }
        let reason = self.text(map, "permissionDecisionReason");
        let verdict = match self.text(map, "permissionDecision").as_deref() {
            None => None,
            Some("allow") => Some(Verdict::Allow),
            // There is no later point at which `defer` could be decided, so prompt now.
            Some("ask" | "defer") => Some(Verdict::Ask),
            Some("deny") => Some(Verdict::Deny),
            Some(other) => {
                self.faults.push(unknown("permissionDecision", other));
                None
            }
        };
        if verdict.is_some() && verdict >= self.verdict {
            (self.verdict, self.reason) = (verdict, reason);
        }
        match map.get("updatedInput") {
            None | Some(Value::Null) => {}
            Some(input @ Value::Object(_)) => self.input = Some(input.clone()),
            Some(_) => self
                .faults
                .push("`updatedInput` is not an object".to_owned()),
        }
    }

    /// Handles a refusal: blocks the event if it can be blocked, otherwise reports the reason to
    /// the model or the user.
    fn refuse(&mut self, event: EventName, reason: String) {
        match event {
            _ if event.can_block() => {
                (self.verdict, self.reason) = (Some(Verdict::Deny), Some(reason));
            }
            EventName::PostToolUse => self.context.push(reason),
            _ => self.message = Some(reason),
        }
    }

    fn text(&mut self, map: &Map<String, Value>, key: &str) -> Option<String> {
        match map.get(key)? {
            Value::String(text) => Some(shortened(text)),
            Value::Null => None,
            _ => {
                self.faults.push(format!("`{key}` is not a string"));
                None
            }
        }
    }
}

fn unknown(key: &str, value: &str) -> String {
    format!(
        "invalid value {} for `{key}`",
        prowess_diag::wording::tick(prowess_diag::wording::shorten(value, 60))
    )
}

/// Truncates a text to 10,000 characters; if it was truncated, the last line says so.
pub(super) fn shortened(text: &str) -> String {
    if text.len() <= MAX_CHARACTERS {
        return text.to_owned();
    }
    let count = text.chars().count();
    if count <= MAX_CHARACTERS {
        return text.to_owned();
    }
    let kept = MAX_CHARACTERS - 60;
    let head: String = text.chars().take(kept).collect();
    format!("{head}\n[{} characters omitted]", count - kept)
}

#[cfg(test)]
mod tests {
    use prowess_traits::CommandOutput;
    use serde_json::json;

    use super::*;

    fn answer(event: EventName, code: i32, stdout: &str, stderr: &str) -> Answer {
        let output = |text: &str| CommandOutput {
            text: text.into(),
            bytes: text.len() as u64,
            omitted: 0,
        };
        let (stdout, stderr) = (output(stdout), output(stderr));
        Answer::of(
            event,
            &CommandResult {
                code: Some(code),
                stdout,
                stderr,
                ..CommandResult::default()
            },
        )
    }

    #[test]
    fn exit_codes() {
        for event in EventName::ALL {
            for code in [1, 3, 127, -1] {
                assert_eq!(
                    answer(event, code, "{}", "x"),
                    Answer::default(),
                    "{event} {code}"
                );
            }
            let two = answer(event, 2, r#"{"decision":"approve"}"#, "because\n");
            assert_eq!(
                two.verdict,
                event.can_block().then_some(Verdict::Deny),
                "{event}"
            );
            assert_eq!(
                two.reason.as_deref(),
                event.can_block().then_some("because"),
                "{event}"
            );
        }
        assert_eq!(answer(EventName::PostToolUse, 2, "", "x").context, ["x"]);
        assert_eq!(
            answer(EventName::SessionStart, 2, "", "x")
                .message
                .as_deref(),
            Some("x")
        );
        assert!(answer(EventName::Stop, 2, "", "").reason.is_some());
        let late = CommandResult {
            code: Some(2),
            stopped: Some("deadline"),
            ..CommandResult::default()
        };
        assert_eq!(Answer::of(EventName::PreToolUse, &late), Answer::default());
        let shot = CommandResult {
            code: None,
            signal: Some(9),
            ..CommandResult::default()
        };
        assert_eq!(Answer::of(EventName::PreToolUse, &shot), Answer::default());
    }

    #[test]
    fn json_answers() {
        let says = |event, value: Value| answer(event, 0, &value.to_string(), "");
        let pre = |value: Value| {
            says(
                EventName::PreToolUse,
                json!({ "hookSpecificOutput": value }),
            )
        };
        for (word, verdict) in [
            ("allow", Verdict::Allow),
            ("ask", Verdict::Ask),
            ("defer", Verdict::Ask),
            ("deny", Verdict::Deny),
        ] {
            let said = pre(json!({"permissionDecision": word, "permissionDecisionReason": "r"}));
            assert_eq!(
                (said.verdict, said.reason.as_deref()),
                (Some(verdict), Some("r"))
            );
        }
        let said = pre(json!({"updatedInput": {"a": 1}, "additionalContext": "c"}));
        assert_eq!(
            (said.input, &*said.context),
            (Some(json!({"a": 1})), &["c".to_owned()][..])
        );
        let said = pre(json!({"hookEventName": "Stop", "permissionDecision": "deny"}));
        assert_eq!((said.verdict, said.faults.len()), (None, 1));
        // If an answer contains both, the stricter decision applies.
        let both = json!({
            "decision": "block", "reason": "r", "hookSpecificOutput": {"permissionDecision": "allow"}
        });
        let said = says(EventName::PreToolUse, both);
        assert_eq!(
            (said.verdict, said.reason.as_deref()),
            (Some(Verdict::Deny), Some("r"))
        );
        let ends =
            json!({"continue": false, "stopReason": "s", "decision": "block", "reason": "r"});
        let said = says(EventName::Stop, ends.clone());
        assert_eq!((said.verdict, said.stop.as_deref()), (None, Some("s")));
        let said = says(EventName::PreToolUse, ends);
        assert_eq!(
            (said.verdict, said.stop.as_deref()),
            (Some(Verdict::Deny), Some("s"))
        );
        // A permission decision only counts before the tool is used.
        let late =
            json!({"hookSpecificOutput": {"permissionDecision": "deny", "updatedInput": {}}});
        assert_eq!(says(EventName::PostToolUse, late), Answer::default());
    }

    #[test]
    fn invalid_answers_are_reported_and_have_no_effect() {
        for text in [
            "{",
            "{}x",
            r#"{"continue": "no"}"#,
            r#"{"decision": 1}"#,
            r#"{"decision": "perhaps"}"#,
            r#"{"hookSpecificOutput": []}"#,
            r#"{"hookSpecificOutput": {"updatedInput": 1}}"#,
            r#"{"hookSpecificOutput": {"permissionDecision": "perhaps"}}"#,
            &("{\"a\":".repeat(10_000) + "1"),
        ] {
            let said = answer(EventName::PreToolUse, 0, text, "");
            assert_eq!(said.faults.len(), 1, "{text:.80}");
            assert_eq!(
                Answer {
                    faults: Vec::new(),
                    ..said
                },
                Answer::default(),
                "{text:.80}"
            );
        }
    }

    #[test]
    fn plain_output_is_context_at_some_events_only() {
        for event in EventName::ALL {
            let said = answer(event, 0, " hello\n", "");
            let speaks = [EventName::SessionStart, EventName::UserPromptSubmit].contains(&event);
            assert_eq!(said.context.len(), usize::from(speaks), "{event}");
        }
    }

    #[test]
    fn long_texts_are_truncated() {
        let short = "ä".repeat(MAX_CHARACTERS);
        assert_eq!(shortened(&short), short);
        let cut = shortened(&"ä".repeat(1_000_000));
        assert!(cut.chars().count() <= MAX_CHARACTERS);
        assert!(
            cut.ends_with("\n[990060 characters omitted]"),
            "{}",
            &cut[cut.len() - 40..]
        );
    }
}
