//! A session as text: messages, actions and reasons.

use prowess::agent::{
    DecidedBy, DecisionRecord, Ending, Event, Message, MessagePart, MessageRole, Question,
    QuestionKind, RecordedAnswer, RecordedVerdict, SkillHint, SkillListing, StampedEvent,
    TokenUsage,
};
use prowess_diag::wording::{all, count, shorten, thousands, tick};
use prowess_diag::{review, sanitize};
use prowess_flow::mission::MissionEvent;

use crate::chat::{answered, money, took};
use crate::hints;
use crate::run_output::summary;

/// The number of lines shown of a tool result, unless all are requested.
const SHORT_LINES: usize = 8;
/// The number of characters shown of such a line.
const SHORT_LINE: usize = 200;
/// The maximum number of names in a line.
const MAX_NAMES: usize = 40;

/// Options of a transcript.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TranscriptOptions {
    /// `true` to show complete tool results.
    pub whole: bool,
    /// `true` to show the model's reasoning.
    pub reasoning: bool,
}

/// Formats a session. Untrusted text is made safe for a terminal.
pub fn transcript(events: &[StampedEvent], options: TranscriptOptions) -> String {
    let mut page = Page {
        text: String::new(),
        options,
        began: events.first().map_or(0, |e| e.at),
    };
    for stamped in events {
        page.event(stamped);
    }
    page.text
}

/// Returns the number of turns: requests to the model.
pub fn turns(events: &[StampedEvent]) -> u32 {
    let asked = events.iter().filter_map(|stamped| match stamped.event {
        Event::Asked { turn, .. } => Some(turn),
        _ => None,
    });
    asked.max().unwrap_or(0)
}

/// Explains a turn: the message, the declared tools, the listed, hidden and loaded skills, the
/// decisions with their rules, and the cost. Turns start at 1.
pub fn why_turn(events: &[StampedEvent], turn: u32) -> String {
    let lines = why_lines(events, turn);
    lines
        .iter()
        .map(|(about, what)| format!("{about:<10}{what}\n"))
        .collect()
}

/// Returns the same as pairs of a label and a text.
pub(crate) fn why_lines(events: &[StampedEvent], turn: u32) -> Vec<(&'static str, String)> {
    let is_turn = |stamped: &StampedEvent| matches!(stamped.event, Event::Asked { turn: at, .. } if at == turn);
    let Some(begin) = events.iter().position(is_turn) else {
        let text = match turns(events) {
            0 => "no turns yet".to_owned(),
            last => format!("turn {turn} does not exist; the last is {last}"),
        };
        return vec![("turn", text)];
    };
    // A retried turn keeps its number.
    let behind = |stamped: &StampedEvent| matches!(stamped.event, Event::Asked { turn: at, .. } if at != turn);
    let end = events[begin..]
        .iter()
        .position(behind)
        .map_or(events.len(), |at| begin + at);
    let (before, of_turn) = (&events[..begin], &events[begin..end]);
    let mut lines = Vec::new();
    let mut say = |about: &'static str, what: String| lines.push((about, what));
    if let Event::Asked { model, tools, .. } = &events[begin].event {
        say("turn", format!("{turn}, {}", clean(model)));
        if let Some(words) = last_said(before) {
            say("said", shorten(&words.replace('\n', " "), SHORT_LINE));
        }
        if let Some(hint) = last_hint(before) {
            say("hinted", hints::summary(hint));
        }
        say("tools", names(tools.iter().map(|tool| &**tool)));
    }
    let listed = before
        .iter()
        .rev()
        .find_map(|stamped| match &stamped.event {
            Event::Listed(listed) => Some(listed),
            _ => None,
        });
    if let Some(listed) = listed {
        for (about, what) in listing(listed) {
            say(about, what);
        }
    }
    let active = active(before);
    say(
        "loaded",
        if active.is_empty() {
            "no skills".to_owned()
        } else {
            names(active.iter().map(String::as_str))
        },
    );
    let told = before
        .iter()
        .rev()
        .take_while(|stamped| !matches!(stamped.event, Event::Replied { .. }));
    let told: Vec<&str> = told
        .filter_map(|stamped| match &stamped.event {
            Event::Noted { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    for note in told.iter().rev() {
        say("note", shorten(&clean(note), SHORT_LINE * 2));
    }
    for stamped in of_turn {
        match &stamped.event {
            Event::Replied {
                reply,
                milliseconds,
            } => {
                say(
                    "reply",
                    format!("{}, {}", usage(&reply.usage), took(*milliseconds)),
                );
                for call in reply.calls() {
                    say("called", clean(&summary(call)));
                }
            }
            Event::Decided(decided) => say("decided", decision(decided)),
            Event::Questioned(question) => say("question", asked(question)),
            Event::Answered {
                question,
                answer,
                because,
                who,
            } => say(
                "answer",
                answer_line(question, answer, because.as_deref(), who),
            ),
            Event::CallEnded {
                result,
                loaded,
                unloaded,
                milliseconds,
                ..
            } => {
                let how = match &result.command_failure {
                    _ if result.is_error => "failed",
                    Some(how) => how,
                    None => "done",
                };
                say(
                    "tool",
                    format!("{} {how}, {}", clean(&result.name), took(*milliseconds)),
                );
                if !loaded.is_empty() {
                    say("loads", names(loaded.iter().map(|skill| &*skill.name)));
                }
                if !unloaded.is_empty() {
                    say("unloads", names(unloaded.iter().map(|name| &**name)));
                }
            }
            Event::Ended { ending } => say("ended", how(ending)),
            _ => {}
        }
    }
    lines
}

/// Returns the decisions before a turn, latest last, at most `most`.
pub(crate) fn decisions_before(events: &[StampedEvent], turn: u32, most: usize) -> Vec<String> {
    let mut at = 0;
    let mut found = Vec::new();
    for stamped in events {
        match &stamped.event {
            Event::Asked { turn, .. } => at = *turn,
            Event::Decided(decided) if at < turn => {
                let when = if at == 0 {
                    "before".to_owned()
                } else {
                    format!("turn {at}")
                };
                found.push(format!("{when}: {}", decision(decided)));
            }
            _ => {}
        }
    }
    found.split_off(found.len().saturating_sub(most))
}

struct Page {
    text: String,
    options: TranscriptOptions,
    began: i64,
}

impl Page {
    fn event(&mut self, stamped: &StampedEvent) {
        match &stamped.event {
            Event::Started(started) => {
                self.line(
                    0,
                    &format!("{} — {}", clean(&started.title), clean(&started.model)),
                );
                self.line(0, &format!("in {}", clean(&started.project)));
                if let Some(skill) = &started.skill {
                    self.line(0, &format!("runs skill {}", tick(clean(skill))));
                }
                if let Some(parent) = &started.parent {
                    self.line(0, &format!("sub-run of session {}", clean(&parent.session)));
                }
            }
            Event::Listed(listed) => {
                let shown = count(listed.shown.len(), "skill");
                self.line(
                    0,
                    &format!(
                        "{shown} listed, {} omitted, {} hidden",
                        listed.omitted,
                        listed.hidden.len()
                    ),
                );
            }
            Event::Said {
                parts,
                typed,
                loaded,
                ..
            } => {
                self.head(stamped.at, "user");
                self.said(parts, typed.as_deref());
                for skill in loaded {
                    self.line(2, &format!("loaded: {}", clean(&skill.name)));
                }
            }
            Event::Hinted(hint) => {
                if !hint.text.is_empty() {
                    self.head(stamped.at, "hint to the model");
                    self.block(2, &hint.text, true);
                }
            }
            Event::ActivationStarted {
                skill, arguments, ..
            } => {
                let mut text = format!("loading skill {}", tick(clean(skill)));
                if let Some(arguments) = arguments {
                    text.push_str(&format!(": {}", shorten(&clean(arguments), SHORT_LINE)));
                }
                self.head(stamped.at, &text);
            }
            Event::Noted { text, .. } => {
                self.head(stamped.at, "note to the model");
                self.block(2, text, true);
            }
            Event::Replied {
                reply,
                milliseconds,
            } => {
                self.head(stamped.at, "model");
                self.reply(&reply.parts);
                self.line(
                    2,
                    &format!("({}, {})", usage(&reply.usage), took(*milliseconds)),
                );
            }
            Event::CallStarted {
                child: Some(child), ..
            } => {
                self.line(2, &format!("in session {}", clean(child)));
            }
            Event::Asked { .. } | Event::CallStarted { .. } => {}
            Event::CallEnded {
                result,
                loaded,
                unloaded,
                milliseconds,
                ..
            } => {
                let how = if result.is_error {
                    "failed after"
                } else {
                    "finished in"
                };
                let exit = result.command_failure.as_deref();
                let exit = exit.map(|exit| format!(", {exit}")).unwrap_or_default();
                let (name, time) = (clean(&result.name), took(*milliseconds));
                self.line(2, &format!("{name} {how} {time}{exit}"));
                self.block(4, &result.text, self.options.whole);
                if !result.images.is_empty() {
                    self.line(4, &format!("({})", count(result.images.len(), "image")));
                }
                for skill in loaded {
                    self.line(2, &format!("loaded: {}", clean(&skill.name)));
                }
                for name in unloaded {
                    self.line(2, &format!("unloaded: {}", clean(name)));
                }
            }
            Event::Decided(decided) => self.line(2, &decision(decided)),
            Event::Questioned(question) => {
                let reason = shorten(&clean(&question.reason), SHORT_LINE);
                self.line(2, &format!("question {}: {reason}", clean(&question.id)));
                self.block(4, &review::text(&question.what), false);
            }
            Event::Answered {
                question,
                answer,
                because,
                who,
            } => self.line(2, &answer_line(question, answer, because.as_deref(), who)),
            Event::HookFired { skill, .. } => {
                self.line(2, &format!("a one-time hook of {} ran", clean(skill)));
            }
            Event::Mission { fact } => {
                if let Ok(event) = serde_json::from_value::<MissionEvent>(fact.clone()) {
                    self.line(2, &clean(&event.to_string()));
                }
            }
            Event::Pruned { .. } => self.line(2, "long tool results were removed"),
            Event::Compacted { summary, .. } => {
                self.head(stamped.at, "the start of the conversation was summarized");
                self.block(2, &summary.text(), self.options.whole);
            }
            Event::Resumed { unloaded, .. } => {
                self.head(stamped.at, "resumed");
                for name in unloaded {
                    self.line(2, &format!("unloaded: {}", clean(name)));
                }
            }
            Event::Ended { ending } => {
                self.head(stamped.at, &how(ending));
                if let Ending::Submitted { value } = ending {
                    let value = serde_json::to_string_pretty(value).unwrap_or_default();
                    self.block(2, &value, true);
                }
            }
        }
    }

    fn said(&mut self, parts: &[MessagePart], typed: Option<&str>) {
        if let Some(typed) = typed {
            self.block(2, typed, true);
        }
        for part in parts {
            match part {
                MessagePart::Text {
                    text,
                    keep: Some(skill),
                } => {
                    let size = thousands(text.chars().count());
                    self.line(2, &format!("[skill {}: {size} characters]", clean(skill)));
                    if self.options.whole {
                        self.block(4, text, true);
                    }
                }
                MessagePart::Text { text, keep: None } => self.block(2, text, true),
                MessagePart::Image(image) => {
                    self.line(2, &format!("[{}]", clean(&image.media_type)));
                }
                MessagePart::Hint { .. }
                | MessagePart::Reasoning { .. }
                | MessagePart::Call(_)
                | MessagePart::Result(_) => {}
            }
        }
    }

    fn reply(&mut self, parts: &[MessagePart]) {
        for part in parts {
            match part {
                MessagePart::Text { text, .. } => self.block(2, text, true),
                MessagePart::Reasoning { text, .. }
                    if self.options.reasoning && !text.is_empty() =>
                {
                    self.line(2, "(reasoning)");
                    self.block(4, text, true);
                }
                MessagePart::Call(call) if self.options.whole => {
                    self.line(2, &format!("calls {}", clean(&call.name)));
                    let input = serde_json::to_string_pretty(&call.input).unwrap_or_default();
                    self.block(4, &input, true);
                }
                MessagePart::Call(call) => {
                    self.line(2, &format!("calls {}", clean(&summary(call))));
                }
                MessagePart::Hint { .. }
                | MessagePart::Reasoning { .. }
                | MessagePart::Image(_)
                | MessagePart::Result(_) => {}
            }
        }
    }

    fn head(&mut self, at: i64, who: &str) {
        let tenths = at.saturating_sub(self.began).max(0) / 100_000_000;
        self.text
            .push_str(&format!("\n{who} (+{}.{} s)\n", tenths / 10, tenths % 10));
    }

    fn line(&mut self, indent: usize, text: &str) {
        self.text
            .push_str(&format!("{}{text}\n", " ".repeat(indent)));
    }

    /// Adds text of the user, the model or a tool. Each line begins with a bar, so that the text
    /// cannot imitate the lines of the record.
    fn block(&mut self, indent: usize, text: &str, whole: bool) {
        let clean = sanitize::block(text.trim_end());
        let all = clean.lines().count();
        for line in clean.lines().take(if whole { all } else { SHORT_LINES }) {
            let line = if whole {
                line.to_owned()
            } else {
                shorten(line, SHORT_LINE)
            };
            self.line(indent, format!("│ {line}").trim_end());
        }
        if !whole && all > SHORT_LINES {
            self.line(
                indent,
                &format!("… {}", count(all - SHORT_LINES, "more line")),
            );
        }
    }
}

fn clean(text: &str) -> String {
    sanitize::line(text).into_owned()
}

fn names<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let known: Vec<String> = names.map(clean).collect();
    match known.len() {
        0 => "none".to_owned(),
        many if many > MAX_NAMES => {
            format!(
                "{} and {} more",
                known[..MAX_NAMES].join(", "),
                many - MAX_NAMES
            )
        }
        _ => all(known),
    }
}

/// Returns the listed skills, and the reasons why others are not.
fn listing(listed: &SkillListing) -> Vec<(&'static str, String)> {
    let number = |number: u64| thousands(usize::try_from(number).unwrap_or(usize::MAX));
    let budget = match listed.budget {
        0 => String::new(),
        budget => format!(" of {}", number(budget)),
    };
    let mut lines = vec![("listed", names(listed.shown.iter().map(|name| &**name)))];
    lines.push(("index", format!("{}{budget} tokens", number(listed.tokens))));
    if listed.omitted > 0 {
        let what = count(listed.omitted, "skill");
        lines.push((
            "omitted",
            format!("{what}: over the budget or not used recently"),
        ));
    }
    for (name, why) in listed.hidden.iter().take(MAX_NAMES) {
        lines.push(("hidden", format!("{}: {}", clean(name), clean(why))));
    }
    if listed.hidden.len() > MAX_NAMES {
        lines.push((
            "hidden",
            format!("and {} more", listed.hidden.len() - MAX_NAMES),
        ));
    }
    lines
}

/// Returns the loaded skills after some events.
fn active(events: &[StampedEvent]) -> Vec<String> {
    let mut active: Vec<String> = Vec::new();
    for stamped in events {
        let (loaded, unloaded) = match &stamped.event {
            Event::Said { loaded, .. } => (&loaded[..], &[][..]),
            Event::CallEnded {
                loaded, unloaded, ..
            } => (&loaded[..], &unloaded[..]),
            Event::Compacted { unloaded, .. } | Event::Resumed { unloaded, .. } => {
                (&[][..], &unloaded[..])
            }
            _ => continue,
        };
        active.retain(|name| unloaded.iter().all(|gone| **gone != **name));
        for skill in loaded {
            if active.iter().all(|name| **name != *skill.name) {
                active.push(skill.name.to_string());
            }
        }
    }
    active
}

fn last_said(events: &[StampedEvent]) -> Option<String> {
    events
        .iter()
        .rev()
        .find_map(|stamped| match &stamped.event {
            Event::Said { parts, typed, .. } => {
                let message = || {
                    Message {
                        role: MessageRole::User,
                        parts: parts.clone(),
                    }
                    .text()
                };
                Some(sanitize::block(&typed.clone().unwrap_or_else(message)).into_owned())
            }
            _ => None,
        })
}

/// Returns the hint for the last user message.
fn last_hint(events: &[StampedEvent]) -> Option<&SkillHint> {
    let mut recent = events.iter().rev();
    recent.find_map(|stamped| match &stamped.event {
        Event::Hinted(hint) => Some(Some(hint)),
        Event::Said { .. } => Some(None),
        _ => None,
    })?
}

fn decision(decided: &DecisionRecord) -> String {
    let what = tick(shorten(&clean(&decided.what), SHORT_LINE));
    match (decided.by, &decided.rule) {
        (Some(DecidedBy::Flag), Some(rule)) => {
            return format!("allowed {what} by {}", tick(clean(rule)));
        }
        (Some(DecidedBy::Unattended), _) => {
            let reason = clean(&decided.reason);
            return format!("denied {what}: {reason}; no user was available to approve it");
        }
        _ => {}
    }
    let mut text = format!(
        "{} {}: {}",
        match decided.verdict {
            RecordedVerdict::Allow => "allowed",
            RecordedVerdict::Deny => "denied",
            RecordedVerdict::Ask => "asked about",
        },
        what,
        clean(&decided.reason)
    );
    if let Some(rule) = &decided.rule {
        text.push_str(&format!(" (rule {})", tick(clean(rule))));
    }
    if let Some(answer) = &decided.answer {
        let said = match answer {
            RecordedAnswer::No | RecordedAnswer::Unavailable => "denied it".to_owned(),
            other => format!("allowed it {}", answered(other)),
        };
        let who = decided.who.as_deref().filter(|who| *who != "terminal");
        let who = who.map_or("the user".into(), clean);
        text.push_str(&format!("; {who} {said}"));
    }
    text
}

/// Returns a question in one line.
fn asked(question: &Question) -> String {
    let what = tick(shorten(&clean(&question.what), SHORT_LINE));
    let reason = shorten(&clean(&question.reason), SHORT_LINE);
    let mut text = format!("question {}: {what}: {reason}", clean(&question.id));
    if let QuestionKind::Text(details) = &question.kind {
        if !details.choices.is_empty() {
            let choices = details.choices.iter().map(|choice| tick(clean(choice)));
            let choices = choices.collect::<Vec<_>>().join(", ");
            let which = if details.several { "some" } else { "one" };
            let choices = shorten(&choices, SHORT_LINE);
            text.push_str(&format!("; {which} of {choices}"));
        }
        if let Some(seconds) = details.deadline_seconds {
            text.push_str(&format!("; within {seconds} s"));
        }
    }
    text
}

/// Returns the answer to a question in one line.
fn answer_line(id: &str, answer: &RecordedAnswer, because: Option<&str>, who: &str) -> String {
    let said = match answer {
        RecordedAnswer::Unavailable => {
            return format!("question {} was not answered in time", clean(id));
        }
        RecordedAnswer::Text(texts) => {
            let texts = texts.iter().map(|text| clean(text));
            shorten(&texts.collect::<Vec<_>>().join(", "), SHORT_LINE)
        }
        answer if answer.allows() => "yes".to_owned(),
        _ => "no".to_owned(),
    };
    let mut text = format!("{} answered question {}: {said}", clean(who), clean(id));
    if let Some(because) = because {
        text.push_str(&format!(
            ", because {}",
            shorten(&clean(because), SHORT_LINE)
        ));
    }
    text
}

fn how(ending: &Ending) -> String {
    match ending {
        Ending::Answered => "answered".to_owned(),
        Ending::Submitted { .. } => "submitted a result".to_owned(),
        Ending::Declined { why } => format!("declined: {}", shorten(&clean(why), SHORT_LINE)),
        Ending::Exhausted { limit } => format!("stopped: {limit}"),
        Ending::Cancelled => "cancelled".to_owned(),
        Ending::Waiting { questions } => {
            format!("waiting for an answer to {}", clean(&questions.join(", ")))
        }
        Ending::Failed { kind, message } => {
            format!(
                "failed ({}): {}",
                kind.as_str(),
                shorten(&clean(message), SHORT_LINE)
            )
        }
    }
}

fn usage(usage: &TokenUsage) -> String {
    let number = |number: u64| thousands(usize::try_from(number).unwrap_or(usize::MAX));
    let cache = match usage.cache_read {
        0 => String::new(),
        tokens => format!(" ({} cached)", number(tokens)),
    };
    let (read, written) = (number(usage.prompt()), number(usage.output));
    let mut text = format!("{read} input tokens{cache}, {written} output tokens");
    if let Some(micros) = usage.micros {
        text.push_str(&format!(", {}", money(micros)));
    }
    text
}

#[cfg(test)]
mod tests {
    use prowess::agent::{ActiveSkill, Reply, RunLimits, Started, ToolCall, ToolResult};
    use serde_json::json;

    use super::*;

    fn events() -> Vec<StampedEvent> {
        let call = ToolCall::new(
            "1",
            "bash",
            json!({ "command": "git log \u{202e}--oneline" }),
        );
        let skill = ActiveSkill {
            name: "release-notes".into(),
            version: None,
            digest: "d".into(),
            rendering: "r".into(),
            by_user: false,
        };
        let long: String = (0..20)
            .map(|number| format!("line {number} \x1b[31m\n"))
            .collect();
        let usage = TokenUsage {
            input: 1_000,
            output: 20,
            cache_read: 204,
            micros: Some(4_100),
            ..TokenUsage::default()
        };
        let asked = |turn| Event::Asked {
            turn,
            model: "scripted/demo".into(),
            tools: vec!["load_skill".into(), "bash".into()],
        };
        let all = [
            Event::Started(Box::new(Started {
                version: 1,
                title: "Notes".into(),
                project: "/work".into(),
                model: "scripted/demo".into(),
                system: Vec::new(),
                limits: RunLimits::default(),
                effort: None,
                parent: None,
                skill: None,
                arguments: None,
                result: None,
                tools: None,
                agents: Vec::new(),
                agent: None,
                mission: None,
            })),
            Event::Listed(SkillListing {
                tokens: 120,
                budget: 2_000,
                shown: vec!["release-notes".into(), "pdf".into()],
                omitted: 3,
                hidden: vec![("old".into(), "switched-off".into())],
                known: Vec::new(),
            }),
            Event::Said {
                parts: vec![MessagePart::Text {
                    text: "Read it.".into(),
                    keep: Some("release-notes".into()),
                }],
                typed: Some("/release-notes for 1.4".into()),
                loaded: vec![skill],
                usage: None,
            },
            asked(1),
            Event::Replied {
                reply: Reply {
                    parts: vec![
                        MessagePart::text("I look.\x07"),
                        MessagePart::Call(call.clone()),
                    ],
                    usage,
                    ..Reply::default()
                },
                milliseconds: 812,
            },
            Event::Decided(DecisionRecord {
                call: Some("1".into()),
                what: "git log".into(),
                verdict: RecordedVerdict::Ask,
                reason: "no rule allows it".into(),
                rule: Some("ask Bash(git:*) (a flag)".into()),
                answer: Some(RecordedAnswer::Once),
                by: None,
                who: None,
            }),
            Event::CallStarted {
                call: "1".into(),
                read_only: false,
                child: None,
            },
            Event::CallEnded {
                result: ToolResult::of(&call, long),
                loaded: Vec::new(),
                unloaded: vec!["release-notes".into()],
                submitted: None,
                usage: None,
                milliseconds: 12,
            },
            asked(2),
            Event::Replied {
                reply: Reply::text("# Done"),
                milliseconds: 5,
            },
            Event::Ended {
                ending: Ending::Cancelled,
            },
        ];
        let stamped = |(number, event): (i64, Event)| StampedEvent {
            at: number * 250_000_000,
            event,
        };
        (0..).zip(all).map(stamped).collect()
    }

    #[test]
    fn session_is_formatted() {
        insta::assert_snapshot!(transcript(&events(), TranscriptOptions::default()));
    }

    #[test]
    fn complete_results_can_be_shown() {
        let text = transcript(
            &events(),
            TranscriptOptions {
                whole: true,
                reasoning: true,
            },
        );
        assert!(text.contains("line 19") && text.contains("\"command\": \"git log"));
        assert_eq!(sanitize::block(&text), text);
    }

    #[test]
    fn turn_is_explained() {
        let events = events();
        let texts: Vec<String> = (0..4).map(|turn| why_turn(&events, turn)).collect();
        insta::assert_snapshot!(texts.join("\n"));
        let before = decisions_before(&events, 2, 20);
        assert!(before[0].starts_with("turn 1: asked about `git log`") && before.len() == 1);
        assert!(decisions_before(&events, 2, 0).is_empty());
        assert_eq!(why_turn(&[], 1), "turn      no turns yet\n");
    }
}
