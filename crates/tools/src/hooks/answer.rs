//! What a hook says: by its exit code, and in JSON.

use prowess_policy::Verdict;
use prowess_traits::Ran;
use serde_json::{Map, Value};

use super::event::EventName;

/// Most characters of one thing that a hook says.
pub(super) const MAX_CHARACTERS: usize = 10_000;
/// The exit code that blocks.
const BLOCKS: i32 = 2;

/// What one hook says.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Answer {
    /// May it happen? `Allow` is only advice.
    pub(super) verdict: Option<Verdict>,
    /// Why.
    pub(super) reason: Option<String>,
    /// The whole work is to stop, and why.
    pub(super) stop: Option<String>,
    /// For the person.
    pub(super) message: Option<String>,
    /// For the model.
    pub(super) context: Vec<String>,
    /// The input that the tool is to get instead.
    pub(super) input: Option<Value>,
    /// What of it was not understood.
    pub(super) faults: Vec<String>,
}

impl Answer {
    /// Reads what a hook says that ran to its end.
    pub(super) fn of(event: EventName, ran: &Ran) -> Self {
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

    fn read(&mut self, event: EventName, ran: &Ran) {
        let text = ran.stdout.text.trim();
        if !text.starts_with('{') {
            // What is written at these events is meant for the model.
            let speaks = matches!(event, EventName::SessionStart | EventName::UserPromptSubmit);
            if speaks && !text.is_empty() {
                self.context.push(shortened(text));
            }
            return;
        }
        if ran.stdout.omitted > 0 {
            return self.faults.push(format!(
                "its answer is too long: {} bytes",
                ran.stdout.bytes
            ));
        }
        match serde_json::from_str::<Map<String, Value>>(text) {
            Ok(map) => self.take(event, &map),
            Err(error) => self.faults.push(format!("its answer is no JSON: {error}")),
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
                    // Whoever ends the work does not want it to go on.
                    EventName::Stop => (self.verdict, self.reason) = (None, None),
                    _ => self.refuse(event, why.clone()),
                }
                self.stop = Some(why);
            }
            Some(_) => self
                .faults
                .push("`continue` is neither true nor false".to_owned()),
        }
    }

    fn specific(&mut self, event: EventName, map: &Map<String, Value>) {
        if let Some(name) = self
            .text(map, "hookEventName")
            .filter(|name| name != event.as_str())
        {
            return self.faults.push(format!(
                "{}, and this is `{event}`",
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
            // Nobody can take the decision over later, so it is made now, by a person.
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

    /// A no: it blocks what can be blocked, and is told to the model or the person elsewhere.
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
                self.faults.push(format!("`{key}` is not text"));
                None
            }
        }
    }
}

fn unknown(key: &str, value: &str) -> String {
    format!(
        "`{key}` is {}",
        prowess_diag::wording::tick(prowess_diag::wording::shorten(value, 60))
    )
}

/// A text of at most 10,000 characters; where it was cut, its last line says so.
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
    format!("{head}\n[{} characters left out]", count - kept)
}

#[cfg(test)]
mod tests {
    use prowess_traits::Output;
    use serde_json::json;

    use super::*;

    fn answer(event: EventName, code: i32, stdout: &str, stderr: &str) -> Answer {
        let output = |text: &str| Output {
            text: text.into(),
            bytes: text.len() as u64,
            omitted: 0,
        };
        let (stdout, stderr) = (output(stdout), output(stderr));
        Answer::of(
            event,
            &Ran {
                code: Some(code),
                stdout,
                stderr,
                ..Ran::default()
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
        let late = Ran {
            code: Some(2),
            stopped: Some("deadline"),
            ..Ran::default()
        };
        assert_eq!(Answer::of(EventName::PreToolUse, &late), Answer::default());
        let shot = Ran {
            code: None,
            signal: Some(9),
            ..Ran::default()
        };
        assert_eq!(Answer::of(EventName::PreToolUse, &shot), Answer::default());
    }

    #[test]
    fn answers_in_json() {
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
        // One answer that says both: the stricter counts.
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
        // Only before a tool is used can its use be decided.
        let late =
            json!({"hookSpecificOutput": {"permissionDecision": "deny", "updatedInput": {}}});
        assert_eq!(says(EventName::PostToolUse, late), Answer::default());
    }

    #[test]
    fn nonsense_has_no_effect_and_is_said() {
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
    fn text_is_for_the_model_at_some_events_only() {
        for event in EventName::ALL {
            let said = answer(event, 0, " hello\n", "");
            let speaks = [EventName::SessionStart, EventName::UserPromptSubmit].contains(&event);
            assert_eq!(said.context.len(), usize::from(speaks), "{event}");
        }
    }

    #[test]
    fn long_texts_are_cut() {
        let short = "ä".repeat(MAX_CHARACTERS);
        assert_eq!(shortened(&short), short);
        let cut = shortened(&"ä".repeat(1_000_000));
        assert!(cut.chars().count() <= MAX_CHARACTERS);
        assert!(
            cut.ends_with("\n[990060 characters left out]"),
            "{}",
            &cut[cut.len() - 40..]
        );
    }
}
