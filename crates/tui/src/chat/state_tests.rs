//! The state machine of the chat: keys and events in, effects out.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use prowess::agent::{TextQuestion, TokenUsage};
use prowess::policy::ApprovalAnswer;
use prowess::traits::TextReply;

use super::command::Order;
use super::complete::Name;
use super::display::{DisplayEvent, Tone};
use super::history::History;
use super::item::{CallState, Kind};
use super::state::{ARMED, ChatState, Effect, Message, PendingQuestion, PendingText, Report};

pub(super) fn ready() -> ChatState {
    let mut state = ChatState::new(History::new(["earlier".to_owned()]));
    state.update(Message::Report(Report::Ready {
        session: "7f3a".into(),
        past: Vec::new(),
    }));
    let name = |name: &str, about: &str| Name {
        name: name.into(),
        about: about.into(),
    };
    let names = vec![
        name("pdf-forms", "Fills in PDF forms."),
        name("notes", "Writes notes."),
    ];
    state.update(Message::Report(Report::Names(names)));
    state.update(Message::Report(Report::Done));
    state
}

pub(super) fn press(state: &mut ChatState, code: KeyCode, modifiers: KeyModifiers) -> Vec<Effect> {
    state.update(Message::Key(KeyEvent::new(code, modifiers)))
}

fn control(state: &mut ChatState, key: char) -> Vec<Effect> {
    press(state, KeyCode::Char(key), KeyModifiers::CONTROL)
}

pub(super) fn plain(state: &mut ChatState, code: KeyCode) -> Vec<Effect> {
    press(state, code, KeyModifiers::NONE)
}

pub(super) fn type_in(state: &mut ChatState, text: &str) {
    for c in text.chars() {
        plain(state, KeyCode::Char(c));
    }
}

pub(super) fn send(state: &mut ChatState, text: &str) -> Vec<Effect> {
    type_in(state, text);
    plain(state, KeyCode::Enter)
}

pub(super) fn event(state: &mut ChatState, depth: u8, event: DisplayEvent) {
    state.update(Message::Event {
        session: "7f3a".into(),
        depth,
        event,
    });
}

fn at(state: &mut ChatState, milliseconds: u64) {
    state.update(Message::Time(Duration::from_millis(milliseconds)));
}

pub(super) fn question(id: u64) -> PendingQuestion {
    PendingQuestion {
        id,
        what: "kubectl apply -f app.yaml".into(),
        why: "a rule says ask (rule `Bash(kubectl:*)`, .agents/prowess.toml:14)".into(),
        remedy: Some("`--approve \"Bash(kubectl apply:*)\"` allows it for a run".into()),
        skill: Some("deploy".into()),
        text: None,
    }
}

pub(super) fn text_question(id: u64, choices: &[&str]) -> PendingQuestion {
    let details = TextQuestion {
        choices: choices.iter().map(ToString::to_string).collect(),
        ..TextQuestion::default()
    };
    PendingQuestion {
        id,
        what: "Which colour?".into(),
        why: "It is for the page.".into(),
        remedy: None,
        skill: None,
        text: Some(PendingText {
            asker: "Agent `asker`".into(),
            choices: crate::text_prompt::choices(&details),
            details,
        }),
    }
}

#[test]
fn text_is_answered_in_place() {
    let mut state = ready();
    send(&mut state, "go");
    at(&mut state, 10_000);
    type_in(&mut state, "my next mess");
    state.update(Message::Ask(text_question(1, &["red", "blue"])));
    type_in(&mut state, "age");
    assert!(state.answer.is_empty(), "typed for the message");
    assert_eq!(plain(&mut state, KeyCode::Enter), []);
    at(&mut state, 11_000);
    type_in(&mut state, "green");
    assert_eq!(plain(&mut state, KeyCode::Enter), []);
    let hint = state.hint().map(str::to_owned).unwrap_or_default();
    assert!(hint.contains("`green` is not one of"), "{hint}");
    for _ in 0..5 {
        plain(&mut state, KeyCode::Backspace);
    }
    state.update(Message::Paste("2".into()));
    let given = TextReply::Given(vec!["blue".into()]);
    assert_eq!(
        plain(&mut state, KeyCode::Enter),
        [Effect::AnswerText(1, given)]
    );
    assert_eq!(state.editor.text(), "my next mess");
    assert!(state.answer.is_empty() && state.questions.is_empty());
}

#[test]
fn text_question_is_refused_or_withdrawn() {
    let mut state = ready();
    for id in 1..=4 {
        state.update(Message::Ask(text_question(id, &[])));
    }
    at(&mut state, 5_000);
    type_in(&mut state, "half");
    let refused = |id| Effect::AnswerText(id, TextReply::Refused { because: None });
    assert_eq!(plain(&mut state, KeyCode::Esc), [refused(1)]);
    assert!(state.answer.is_empty());
    assert_eq!(state.update(Message::Withdraw(3)), []);
    assert_eq!(state.update(Message::Withdraw(2)), []);
    assert_eq!(state.questions.len(), 1);
    assert_eq!(control(&mut state, 'c'), [refused(4)]);
}

#[test]
fn message_is_sent_and_added_to_the_history() {
    let mut state = ready();
    let effects = send(&mut state, "hello");
    assert_eq!(
        effects,
        [
            Effect::Remember("hello".into()),
            Effect::Order(Order::Say("hello".into()))
        ]
    );
    assert!(state.running.is_some() && state.editor.is_empty());
    assert_eq!(send(&mut state, "   "), []);
}

#[test]
fn line_breaks_and_pastes_stay_in_one_message() {
    let mut state = ready();
    type_in(&mut state, "a");
    press(&mut state, KeyCode::Enter, KeyModifiers::ALT);
    type_in(&mut state, "b");
    control(&mut state, 'j');
    state.update(Message::Paste("c\r\nd\x1b[2J".into()));
    assert_eq!(state.editor.text(), "a\nb\nc\nd[2J");
    assert!(
        state
            .hint()
            .is_some_and(|hint| hint.contains("1 character"))
    );
    assert!(
        plain(&mut state, KeyCode::Enter)
            .contains(&Effect::Order(Order::Say("a\nb\nc\nd[2J".into())))
    );
}

#[test]
fn messages_wait_for_the_end_of_the_turn() {
    let mut state = ready();
    send(&mut state, "one");
    assert_eq!(send(&mut state, "two"), [Effect::Remember("two".into())]);
    assert_eq!(state.queue.len(), 1);
    let effects = state.update(Message::Report(Report::Done));
    assert_eq!(effects, [Effect::Order(Order::Say("two".into()))]);
    // Stopping returns queued messages to the input.
    send(&mut state, "three");
    assert_eq!(control(&mut state, 'c'), [Effect::Cancel]);
    assert_eq!((state.editor.text(), state.queue.len()), ("three", 0));
}

#[test]
fn control_c_stops_a_turn_and_quits_when_idle() {
    let mut state = ready();
    send(&mut state, "x");
    assert_eq!(control(&mut state, 'c'), [Effect::Cancel]);
    state.update(Message::Report(Report::Done));
    type_in(&mut state, "half");
    at(&mut state, 1_000);
    assert_eq!(control(&mut state, 'c'), []);
    assert!(state.editor.is_empty());
    at(&mut state, 4_000);
    assert_eq!(
        control(&mut state, 'c'),
        [],
        "too late: that was another first time"
    );
    at(&mut state, 4_500);
    assert_eq!(control(&mut state, 'c'), [Effect::Leave]);
    let mut state = ready();
    control(&mut state, 'c');
    type_in(&mut state, "x");
    assert_eq!(
        control(&mut state, 'c'),
        [],
        "a key in between forgets the first time"
    );
}

#[test]
fn chat_can_be_quit_during_a_stuck_turn() {
    let mut state = ready();
    send(&mut state, "x");
    control(&mut state, 'c');
    assert_eq!(control(&mut state, 'c'), []);
    assert_eq!(control(&mut state, 'c'), [Effect::Leave]);
}

#[test]
fn control_d_quits_on_an_empty_line_only() {
    let mut state = ready();
    type_in(&mut state, "ab");
    control(&mut state, 'a');
    assert_eq!(control(&mut state, 'd'), []);
    assert_eq!(state.editor.text(), "b");
    control(&mut state, 'd');
    assert_eq!(control(&mut state, 'd'), [Effect::Leave]);
}

#[test]
fn key_typed_for_something_else_does_not_answer() {
    let mut state = ready();
    send(&mut state, "deploy");
    at(&mut state, 10_000);
    type_in(&mut state, "wait, wh");
    state.update(Message::Ask(question(7)));
    assert_eq!(
        plain(&mut state, KeyCode::Char('y')),
        [],
        "it came up just now"
    );
    at(&mut state, 10_300);
    assert_eq!(plain(&mut state, KeyCode::Char('y')), []);
    at(
        &mut state,
        10_300 + u64::try_from(ARMED.as_millis()).unwrap(),
    );
    assert_eq!(plain(&mut state, KeyCode::Char('x')), [], "no answer");
    assert_eq!(plain(&mut state, KeyCode::Enter), [], "Enter is no answer");
    assert_eq!(
        plain(&mut state, KeyCode::Char('y')),
        [Effect::Answer(7, ApprovalAnswer::Once)]
    );
    assert_eq!(state.editor.text(), "wait, wh");
}

#[test]
fn questions_are_answered_one_by_one() {
    let mut state = ready();
    for id in 1..=3 {
        state.update(Message::Ask(question(id)));
    }
    at(&mut state, 5_000);
    assert_eq!(
        plain(&mut state, KeyCode::Char('s')),
        [Effect::Answer(1, ApprovalAnswer::Session)]
    );
    assert_eq!(
        plain(&mut state, KeyCode::Char('s')),
        [],
        "the next one must be read first"
    );
    at(&mut state, 10_000);
    assert_eq!(
        plain(&mut state, KeyCode::Esc),
        [Effect::Answer(2, ApprovalAnswer::No)]
    );
    assert_eq!(
        control(&mut state, 'c'),
        [Effect::Answer(3, ApprovalAnswer::No)]
    );
}

#[test]
fn stopping_a_turn_denies_its_questions() {
    let mut state = ready();
    send(&mut state, "x");
    state.update(Message::Ask(question(1)));
    state.update(Message::Ask(question(2)));
    assert_eq!(
        control(&mut state, 'c'),
        [
            Effect::Answer(1, ApprovalAnswer::No),
            Effect::Answer(2, ApprovalAnswer::No),
            Effect::Cancel
        ]
    );
}

#[test]
fn names_are_completed() {
    let mut state = ready();
    type_in(&mut state, "/pd");
    assert!(state.popup.is_some());
    plain(&mut state, KeyCode::Tab);
    assert_eq!(state.editor.text(), "/pdf-forms ");
    assert!(state.popup.is_none());
    state.editor.set("");
    type_in(&mut state, "/");
    plain(&mut state, KeyCode::Down);
    assert_eq!(
        plain(&mut state, KeyCode::Enter),
        [],
        "what was chosen is taken, not sent"
    );
    assert_eq!(state.editor.text(), "/skills ");
    assert_eq!(
        plain(&mut state, KeyCode::Enter).last(),
        Some(&Effect::Order(Order::Skills))
    );
}

#[test]
fn arrows_browse_history_and_move_within_lines() {
    let mut state = ready();
    type_in(&mut state, "dra");
    plain(&mut state, KeyCode::Up);
    assert_eq!(state.editor.text(), "earlier");
    plain(&mut state, KeyCode::Down);
    assert_eq!(state.editor.text(), "dra");
    control(&mut state, 'j');
    plain(&mut state, KeyCode::Up);
    assert_eq!((state.editor.text(), state.editor.cursor()), ("dra\n", 0));
}

#[test]
fn turn_is_shown_while_it_runs() {
    let mut state = ready();
    send(&mut state, "go");
    for one in [
        DisplayEvent::Asked,
        DisplayEvent::Text("I lo".into()),
        DisplayEvent::Restart,
        DisplayEvent::Text("I look.".into()),
        DisplayEvent::Replied {
            text: "I look.".into(),
            calls: vec![
                ("1".into(), "read CHANGES".into()),
                ("2".into(), "bash ls".into()),
            ],
            usage: TokenUsage {
                input: 10,
                output: 2,
                ..TokenUsage::default()
            },
        },
        DisplayEvent::CallStarted { call: "1".into() },
    ] {
        event(&mut state, 0, one);
    }
    let calls = |state: &ChatState| -> Vec<CallState> {
        let states = state.items.iter().filter_map(|item| match &item.kind {
            Kind::Call { state, .. } => Some(state.clone()),
            _ => None,
        });
        states.collect()
    };
    assert_eq!(
        calls(&state),
        [
            CallState::Running {
                since: Duration::ZERO
            },
            CallState::Waiting
        ]
    );
    let ended = |call: &str, fault: Option<&str>| DisplayEvent::CallEnded {
        call: call.into(),
        fault: fault.map(Into::into),
        milliseconds: 12,
        usage: None,
    };
    event(&mut state, 0, ended("1", None));
    event(&mut state, 0, ended("2", Some("no")));
    assert_eq!(
        calls(&state),
        [
            CallState::Done { milliseconds: 12 },
            CallState::Refused { why: "no".into() }
        ]
    );
    assert_eq!((state.facts.turns, state.facts.usage.tokens()), (1, 12));
    let texts = state
        .items
        .iter()
        .filter(|item| matches!(item.kind, Kind::Model { .. }))
        .count();
    assert_eq!(
        texts, 1,
        "what was begun before the connection broke is gone"
    );
}

#[test]
fn new_session_clears_the_screen() {
    let mut state = ready();
    send(&mut state, "/clear");
    let past = vec![DisplayEvent::Line {
        tone: Tone::Good,
        what: "loaded",
        text: "x".into(),
    }];
    state.update(Message::Report(Report::Ready {
        session: "8".into(),
        past,
    }));
    state.update(Message::Report(Report::Done));
    assert_eq!(state.items.iter().count(), 1);
    assert_eq!(&*state.session, "8");
}

#[test]
fn scroll_position_is_kept_while_lines_arrive() {
    let mut state = ready();
    state.update(Message::Drawn {
        total: 100,
        height: 20,
        top: 80,
    });
    plain(&mut state, KeyCode::PageUp);
    assert_eq!(state.top, Some(62));
    state.update(Message::Drawn {
        total: 120,
        height: 20,
        top: 62,
    });
    assert_eq!(state.top, Some(62));
    for _ in 0..10 {
        state.update(Message::Scroll(-10));
        let top = state.top.unwrap();
        state.update(Message::Drawn {
            total: 120,
            height: 20,
            top,
        });
    }
    assert_eq!(state.top, Some(0));
    press(&mut state, KeyCode::End, KeyModifiers::CONTROL);
    assert_eq!(state.top, None);
    plain(&mut state, KeyCode::PageDown);
    assert_eq!(state.top, None);
}
