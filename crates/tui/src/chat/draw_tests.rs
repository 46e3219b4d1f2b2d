//! Snapshots of the chat at three widths.

use std::time::Duration;

use crossterm::event::KeyCode;
use prowess::agent::TokenUsage;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Color;
use unicode_width::UnicodeWidthStr;

use super::command::help;
use super::display::{DisplayEvent, Tone};
use super::draw::{Cache, Drawn, draw};
use super::item::{Body, View};
use super::state::{ChatState, Facts, Message, Report};
use super::state_tests::{event, plain, question, ready, send, text_question, type_in};

fn picture(state: &ChatState, width: u16, height: u16) -> (String, Drawn) {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    let mut cache = Cache::default();
    let mut drawn = None;
    terminal
        .draw(|frame| {
            let area = frame.area();
            drawn = Some(draw(state, &mut cache, true, area, frame.buffer_mut()));
        })
        .unwrap();
    let mut text = String::new();
    for row in terminal
        .backend()
        .buffer()
        .content
        .chunks(usize::from(width))
    {
        let mut line = String::new();
        let mut covered = 0;
        for cell in row {
            // The cell after a wide character is empty.
            if covered == 0 {
                line.push_str(cell.symbol());
                covered = cell.symbol().width();
            }
            covered = covered.saturating_sub(1);
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    (text, drawn.unwrap())
}

fn pictures(state: &ChatState) -> String {
    let at = |(width, height)| format!("{width} columns\n{}", picture(state, width, height).0);
    [(40, 24), (80, 20), (140, 18)].map(at).join("\n")
}

fn talk() -> ChatState {
    let mut state = ready();
    state.update(Message::Report(Report::Facts(Facts {
        model: "scripted/demo".into(),
        about: vec!["scripted/demo: the replies come from a script".into()],
        turns: 2,
        usage: TokenUsage {
            input: 12_000,
            output: 345,
            micros: Some(41_200),
            ..TokenUsage::default()
        },
        skills: vec!["release-notes".into(), "pdf-forms".into()],
        background: 1,
    })));
    send(
        &mut state,
        "Write the notes for 1.4, please, and say what is new for people who use it",
    );
    let calls = vec![
        ("1".into(), "read CHANGES".to_owned()),
        (
            "2".into(),
            "bash curl -s https://example.com/a/rather/long/address/versions.txt".to_owned(),
        ),
        ("3".into(), "glob **/*.md".to_owned()),
    ];
    let usage = TokenUsage {
        input: 100,
        output: 7,
        ..TokenUsage::default()
    };
    event(
        &mut state,
        0,
        DisplayEvent::Replied {
            text: "I look.".into(),
            calls,
            usage,
        },
    );
    let ended = |call: &str, fault: Option<&str>, milliseconds| DisplayEvent::CallEnded {
        call: call.into(),
        fault: fault.map(Into::into),
        milliseconds,
        usage: None,
    };
    event(&mut state, 0, ended("1", None, 3));
    let why = "the command may reach the network, and no rule allows it";
    event(&mut state, 0, ended("2", Some(why), 1));
    event(
        &mut state,
        0,
        DisplayEvent::CallStarted { call: "3".into() },
    );
    let text = "## New in 1.4\n- **search** by what a skill *does*, with `prowess find`\n- 日本語の文章は幅で折り返されます、とても長い行でも大丈夫\n";
    event(&mut state, 0, DisplayEvent::Text(text.into()));
    state
}

#[test]
fn running_turn() {
    let mut state = talk();
    state.update(Message::Time(Duration::from_millis(2_300)));
    insta::assert_snapshot!(pictures(&state));
}

#[test]
fn open_question() {
    let mut state = talk();
    state.update(Message::Ask(question(1)));
    state.update(Message::Ask(question(2)));
    state.update(Message::Time(Duration::from_secs(2)));
    insta::assert_snapshot!(pictures(&state));
}

#[test]
fn open_text_question() {
    let mut state = talk();
    state.update(Message::Ask(text_question(1, &["red", "deep blue"])));
    state.update(Message::Time(Duration::from_secs(2)));
    type_in(&mut state, "2");
    insta::assert_snapshot!(pictures(&state));
}

#[test]
fn long_question_is_shown_from_its_start() {
    let mut state = talk();
    let what = (0..30).map(|number| format!("step {number}\n")).collect();
    state.update(Message::Ask(super::state::PendingQuestion {
        what,
        ..question(1)
    }));
    let (text, drawn) = picture(&state, 60, 14);
    assert!(
        text.contains("Allow skill deploy to do this?") && text.contains("lines below"),
        "{text}"
    );
    let Drawn {
        total, height, top, ..
    } = drawn;
    state.update(Message::Drawn { total, height, top });
    for _ in 0..9 {
        plain(&mut state, KeyCode::PageDown);
        let Drawn {
            total, height, top, ..
        } = picture(&state, 60, 14).1;
        state.update(Message::Drawn { total, height, top });
    }
    let (text, _) = picture(&state, 60, 14);
    assert!(text.contains("why: ") && text.contains("step 29"), "{text}");
}

#[test]
fn start_with_completions() {
    let mut state = ready();
    type_in(&mut state, "/");
    plain(&mut state, KeyCode::Down);
    insta::assert_snapshot!(pictures(&state));
}

#[test]
fn help_view() {
    let mut state = ready();
    state.update(Message::Report(Report::View(help())));
    let (narrow, wide) = (picture(&state, 40, 60).0, picture(&state, 80, 30).0);
    insta::assert_snapshot!(format!("{narrow}\n{wide}"));
}

#[test]
fn tables_become_lists_if_too_wide() {
    let mut state = ready();
    let row = |cells: [&str; 4]| cells.map(str::to_owned).to_vec();
    let body = Body::Table {
        head: vec!["NAME", "ORIGIN", "STATE", "LOADED"],
        rows: vec![
            row([
                "release-notes",
                "project/agents",
                "listed, untrusted",
                "120 tokens",
            ]),
            row(["x", "user", "hidden: switched off", ""]),
        ],
    };
    state.update(Message::Report(Report::View(View {
        title: "2 skills".into(),
        body,
    })));
    insta::assert_snapshot!(pictures(&state));
}

#[test]
fn long_view_is_shown_from_its_start() {
    let mut state = ready();
    state.update(Message::Report(Report::View(help())));
    let (text, drawn) = picture(&state, 80, 14);
    assert!(
        text.contains("Help\n") && text.contains("lines below · Ctrl+End"),
        "{text}"
    );
    let Drawn {
        total, height, top, ..
    } = drawn;
    state.update(Message::Drawn { total, height, top });
    plain(&mut state, KeyCode::PageDown);
    assert_eq!(state.top, Some(top + height - 2));
    send(&mut state, "x");
    assert!(picture(&state, 80, 14).0.contains("› x\n"));
}

#[test]
fn input_grows_with_the_cursor() {
    let mut state = ready();
    state.update(Message::Paste(
        "one\ntwo 技能 words that go on and on behind the edge\nthree".into(),
    ));
    let (text, drawn) = picture(&state, 30, 12);
    insta::assert_snapshot!(text);
    let cursor = drawn.cursor.unwrap();
    assert_eq!((cursor.x, cursor.y), (7, 10));
    for _ in 0..40 {
        state.update(Message::Paste("line\n".into()));
    }
    let (_, drawn) = picture(&state, 30, 12);
    assert_eq!(
        drawn.cursor.unwrap().y,
        10,
        "the end of a long text is what is seen"
    );
}

#[test]
fn any_size_can_be_drawn() {
    let mut states = [talk(), ready(), talk()];
    states[2].update(Message::Ask(question(1)));
    type_in(&mut states[1], "/");
    for state in &states {
        for width in 1..60 {
            for height in 1..12 {
                picture(state, width, height);
            }
        }
    }
}

#[test]
fn colors_can_be_disabled() {
    let state = talk();
    let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
    terminal
        .draw(|frame| {
            let area = frame.area();
            draw(
                &state,
                &mut Cache::default(),
                false,
                area,
                frame.buffer_mut(),
            );
        })
        .unwrap();
    let cells = &terminal.backend().buffer().content;
    assert!(
        cells
            .iter()
            .all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset)
    );
}

#[test]
fn dropped_items_are_counted() {
    let mut state = ready();
    for number in 0..2_100 {
        let text = number.to_string();
        event(
            &mut state,
            0,
            DisplayEvent::Line {
                tone: Tone::Plain,
                what: "note",
                text,
            },
        );
    }
    state.update(Message::Drawn {
        total: 3_000,
        height: 10,
        top: 2_990,
    });
    for _ in 0..400 {
        plain(&mut state, KeyCode::PageUp);
    }
    let (text, _) = picture(&state, 80, 10);
    assert!(text.starts_with("… 100 earlier parts not shown; see `prowess session show 7f3a`"));
}
