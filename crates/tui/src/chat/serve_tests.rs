//! The session's side of the chat, with a channel instead of a screen.

use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use prowess::agent::{Delta, Ending, Event, MessagePart, Reply, Request, StopReason, ToolCall};
use prowess::models::{EchoModel, ScriptedModel};
use prowess::policy::ApprovalAnswer;
use prowess::traits::{BoxFuture, Model, ModelError, ModelInfo, OnDelta};
use prowess::{CancellationToken, Runtime, Settings};

use super::command::Order;
use super::display::DisplayEvent;
use super::runtime_link::{Bridge, Inbox, Incoming};
use super::session_task::Work;
use super::state::{Message, Report};
use super::{ChatStart, serve};

/// Longer than any step takes.
const PATIENCE: Duration = Duration::from_mins(1);

/// Begins a reply with three pieces, and never finishes it.
#[derive(Debug, Default)]
struct Endless(EchoModel);

impl Model for Endless {
    fn about(&self) -> &ModelInfo {
        self.0.about()
    }

    fn ask<'a>(
        &'a self,
        _request: &'a Request,
        deltas: OnDelta<'a>,
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            for _ in 0..3 {
                deltas(Delta::Text("on and ".to_owned()));
            }
            std::future::pending().await
        })
    }
}

fn runtime(link: &Arc<Bridge>, folder: &std::path::Path, model: Arc<dyn Model>) -> Runtime {
    Runtime::builder()
        .project(folder)
        .model(model)
        .tools(prowess::tools::files::file_tools(None))
        .watcher(Arc::clone(link) as _)
        .approver(Arc::clone(link) as _)
        .settings(Settings {
            background: true,
            ..Settings::default()
        })
        .build()
        .unwrap()
}

/// Reads on a separate thread, as the screen does, until `until` returns `true`.
fn read(
    receiver: Receiver<Incoming>,
    mut until: impl FnMut(&Incoming) -> bool + Send + 'static,
) -> std::thread::JoinHandle<(Receiver<Incoming>, Vec<Incoming>)> {
    std::thread::spawn(move || {
        let mut all = Vec::new();
        while let Ok(incoming) = receiver.recv_timeout(PATIENCE) {
            let over = until(&incoming);
            all.push(incoming);
            if over {
                break;
            }
        }
        (receiver, all)
    })
}

/// Awaits a step, which must not take longer than [`PATIENCE`].
async fn within<T>(step: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, step).await.unwrap()
}

fn done(times: usize) -> impl FnMut(&Incoming) -> bool {
    let mut seen = 0;
    move |incoming| {
        let is_done = matches!(incoming, Incoming::Message(Message::Report(Report::Done)));
        seen += usize::from(is_done);
        seen == times
    }
}

#[tokio::test]
async fn orders_are_executed_and_a_new_session_starts() {
    let folder = tempfile::tempdir().unwrap();
    let (link, inbox) = Bridge::new();
    link.set_live(true);
    let runtime = runtime(&link, folder.path(), Arc::new(EchoModel::default()));
    let runtime_again = runtime.clone();
    let work = Work::begin(runtime, ChatStart::New { title: "t".into() })
        .await
        .unwrap();
    let first: Box<str> = work.id().into();
    let (orders, wanted) = tokio::sync::mpsc::channel(8);
    for order in [
        Order::Say("hello".into()),
        Order::Cost,
        Order::Compact,
        Order::Clear,
    ] {
        orders
            .send((order, CancellationToken::new()))
            .await
            .unwrap();
    }
    drop(orders);
    let reader = read(inbox.take().unwrap(), done(5));
    let (current, left) = (
        Mutex::new(CancellationToken::new()),
        CancellationToken::new(),
    );
    let end = Box::pin(within(serve(link.sender(), wanted, work, &current, &left))).await;
    assert_ne!(end.session, first);
    let (receiver, all) = reader.join().unwrap();
    drop(receiver);
    let views = all.iter().filter(|incoming| {
        matches!(
            incoming,
            Incoming::Message(Message::Report(Report::View(_)))
        )
    });
    assert_eq!(views.count(), 2);
    let sessions = all.iter().filter_map(|incoming| match incoming {
        Incoming::Message(Message::Report(Report::Ready { session, .. })) => Some(session),
        _ => None,
    });
    assert_eq!(sessions.collect::<Vec<_>>(), [&first, &end.session]);
    // The first session was released, and its past can be shown.
    let engine = runtime_again.engine();
    assert!(engine.sessions().events(&first).unwrap().len() > 3);
    let again = ChatStart::Resume {
        id: first.to_string(),
    };
    let past = Work::begin(runtime_again.clone(), again)
        .await
        .unwrap()
        .past()
        .await;
    assert_eq!(past[0], DisplayEvent::Said("hello".into()));
    assert!(
        past.iter()
            .any(|event| matches!(event, DisplayEvent::Replied { text, .. } if text == "hello"))
    );
}

#[tokio::test]
async fn quitting_stops_the_turn() {
    let folder = tempfile::tempdir().unwrap();
    let (link, inbox) = Bridge::new();
    link.set_live(true);
    let runtime = runtime(&link, folder.path(), Arc::new(Endless::default()));
    let store = Arc::clone(runtime.engine().sessions());
    let work = Work::begin(runtime, ChatStart::New { title: "t".into() })
        .await
        .unwrap();
    let (orders, wanted) = tokio::sync::mpsc::channel(8);
    let say = Order::Say("go".into());
    orders.send((say, CancellationToken::new())).await.unwrap();
    let (current, left) = (
        Mutex::new(CancellationToken::new()),
        CancellationToken::new(),
    );
    let leave = left.clone();
    let mut pieces = 0;
    let reader = read(inbox.take().unwrap(), move |incoming| {
        let text = matches!(
            incoming,
            Incoming::Message(Message::Event {
                event: DisplayEvent::Text(_),
                ..
            })
        );
        pieces += usize::from(text);
        if pieces == 3 {
            leave.cancel();
        }
        pieces == 3
    });
    let end = Box::pin(within(serve(link.sender(), wanted, work, &current, &left))).await;
    drop(reader.join().unwrap());
    let events = store.events(&end.session).unwrap();
    let last = &events.last().unwrap().event;
    assert!(
        matches!(
            last,
            Event::Ended {
                ending: Ending::Cancelled
            }
        ),
        "{last:?}"
    );
}

#[tokio::test]
async fn question_is_answered_or_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let (link, inbox) = Bridge::new();
    link.set_live(true);
    let script = r#"
        {"calls": [{"name": "write", "input": {"path": "a.txt", "content": "x"}}]}
        {"calls": [{"name": "write", "input": {"path": "b.txt", "content": "x"}}]}
        {"text": "end"}
    "#;
    let model = ScriptedModel::parse("t", script).unwrap();
    let runtime = runtime(&link, folder.path(), Arc::new(model));
    let work = Work::begin(runtime, ChatStart::New { title: "t".into() })
        .await
        .unwrap();
    let (orders, wanted) = tokio::sync::mpsc::channel(8);
    orders
        .send((Order::Say("go".into()), CancellationToken::new()))
        .await
        .unwrap();
    drop(orders);
    let receiver = inbox.take().unwrap();
    let reader = std::thread::spawn(move || {
        let mut asked = Vec::new();
        let mut over = done(2);
        while let Ok(incoming) = receiver.recv_timeout(PATIENCE) {
            if over(&incoming) {
                break;
            }
            if let Incoming::Ask(question, answer) = incoming {
                // The second one is dropped without an answer.
                if asked.is_empty() {
                    answer.send(ApprovalAnswer::Once).unwrap();
                }
                asked.push(question.what);
            }
        }
        asked
    });
    let (current, left) = (
        Mutex::new(CancellationToken::new()),
        CancellationToken::new(),
    );
    Box::pin(within(serve(link.sender(), wanted, work, &current, &left))).await;
    assert_eq!(reader.join().unwrap().len(), 2);
    assert!(folder.path().join("a.txt").exists() && !folder.path().join("b.txt").exists());
}

/// Starts a background skill, replies, and replies again when it finishes. The skill finishes when
/// the token is cancelled.
#[derive(Debug)]
struct Patient(EchoModel, CancellationToken);

impl Model for Patient {
    fn about(&self) -> &ModelInfo {
        self.0.about()
    }

    fn ask<'a>(
        &'a self,
        request: &'a Request,
        _deltas: OnDelta<'a>,
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            let said = format!("{:?}", request.messages);
            if said.contains("DIG DEEP") && !said.contains("go on") {
                self.1.cancelled().await;
                return Ok(Reply::text("gold"));
            }
            if said.contains("gold") {
                return Ok(Reply::text("heard of it"));
            }
            if said.contains("is running in the background") {
                return Ok(Reply::text("begun"));
            }
            let call = ToolCall::new("1", "load_skill", serde_json::json!({ "name": "dig" }));
            Ok(Reply {
                parts: vec![MessagePart::Call(call)],
                stop: StopReason::ToolUse,
                ..Reply::default()
            })
        })
    }
}

/// A session with `dig`, a skill that runs in the background.
struct Digging {
    folder: tempfile::TempDir,
    link: Arc<Bridge>,
    inbox: Inbox,
    work: Work,
}

impl Digging {
    async fn begin(model: Arc<dyn Model>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let skill = folder.path().join(".agents/skills/dig");
        std::fs::create_dir_all(&skill).unwrap();
        let head = "name: dig\ndescription: Digs.\ncontext: fork\nbackground: true";
        let text = format!("---\n{head}\n---\nDIG DEEP\n");
        std::fs::write(skill.join("SKILL.md"), text).unwrap();
        let (link, inbox) = Bridge::new();
        link.set_live(true);
        let runtime = runtime(&link, folder.path(), model);
        let work = Work::begin(runtime, ChatStart::New { title: "t".into() })
            .await
            .unwrap();
        Self {
            folder,
            link,
            inbox,
            work,
        }
    }
}

#[tokio::test]
async fn background_skill_continues_the_turn() {
    let finish = CancellationToken::new();
    let model = Patient(EchoModel::default(), finish.clone());
    let Digging {
        folder: _folder,
        link,
        inbox,
        work,
    } = Digging::begin(Arc::new(model)).await;
    let (orders, wanted) = tokio::sync::mpsc::channel(8);
    orders
        .send((Order::Say("go on".into()), CancellationToken::new()))
        .await
        .unwrap();
    let (current, left) = (
        Mutex::new(CancellationToken::new()),
        CancellationToken::new(),
    );
    let leave = left.clone();
    let mut over = done(3);
    let reader = read(inbox.take().unwrap(), move |incoming| {
        if let Incoming::Message(Message::Report(Report::Facts(facts))) = incoming
            && facts.background == 1
        {
            finish.cancel();
        }
        let is_over = over(incoming);
        if is_over {
            leave.cancel();
        }
        is_over
    });
    Box::pin(within(serve(link.sender(), wanted, work, &current, &left))).await;
    let (_, all) = reader.join().unwrap();
    let mut seen = Vec::new();
    for incoming in &all {
        match incoming {
            Incoming::Message(Message::Report(Report::Busy)) => seen.push("busy".to_owned()),
            Incoming::Message(Message::Report(Report::Facts(facts))) => {
                seen.push(format!("{} in background", facts.background));
            }
            Incoming::Message(Message::Event {
                depth: 0,
                event: DisplayEvent::Replied { text, .. },
                ..
            }) if !text.is_empty() => {
                seen.push(text.clone());
            }
            _ => {}
        }
    }
    assert_eq!(
        seen,
        [
            "0 in background",
            "begun",
            "1 in background",
            "busy",
            "heard of it",
            "0 in background"
        ]
    );
    drop(orders);
}

/// Starts a background skill that never ends. Asked again, cancels the turn and calls a tool.
#[derive(Debug)]
struct Interrupted(EchoModel, CancellationToken);

impl Model for Interrupted {
    fn about(&self) -> &ModelInfo {
        self.0.about()
    }

    fn ask<'a>(
        &'a self,
        request: &'a Request,
        _deltas: OnDelta<'a>,
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            let said = format!("{:?}", request.messages);
            let call = |name: &str, input| Reply {
                parts: vec![MessagePart::Call(ToolCall::new(name, name, input))],
                stop: StopReason::ToolUse,
                ..Reply::default()
            };
            if said.contains("DIG DEEP") && !said.contains("first") {
                return std::future::pending().await;
            }
            if said.contains("third") {
                return Ok(Reply::text("at your service"));
            }
            if said.contains("second") {
                self.1.cancel();
                return Ok(call("list_skills", serde_json::json!({})));
            }
            if said.contains("is running in the background") {
                return Ok(Reply::text("begun"));
            }
            Ok(call("load_skill", serde_json::json!({ "name": "dig" })))
        })
    }
}

#[tokio::test]
async fn cancelled_turn_with_open_calls_waits_for_the_next_message() {
    let interrupt = CancellationToken::new();
    let model = Interrupted(EchoModel::default(), interrupt.clone());
    let Digging {
        folder: _folder,
        link,
        inbox,
        work,
    } = Digging::begin(Arc::new(model)).await;
    let (orders, wanted) = tokio::sync::mpsc::channel(8);
    for (text, token) in [("first", CancellationToken::new()), ("second", interrupt)] {
        orders.try_send((Order::Say(text.into()), token)).unwrap();
    }
    let (current, left) = (
        Mutex::new(CancellationToken::new()),
        CancellationToken::new(),
    );
    let leave = left.clone();
    let mut seen = 0;
    let reader = read(inbox.take().unwrap(), move |incoming| {
        if matches!(incoming, Incoming::Message(Message::Report(Report::Done))) {
            seen += 1;
        }
        // One at the start, one for each message.
        match seen {
            3 => {
                let third = (Order::Say("third".into()), CancellationToken::new());
                let _ = orders.try_send(third);
                seen += 1;
            }
            5 => leave.cancel(),
            _ => {}
        }
        seen == 5
    });
    Box::pin(within(serve(link.sender(), wanted, work, &current, &left))).await;
    let (_, all) = reader.join().unwrap();
    let is_busy =
        |incoming: &&Incoming| matches!(incoming, Incoming::Message(Message::Report(Report::Busy)));
    assert_eq!(all.iter().filter(is_busy).count(), 0);
    let has_answer = all.iter().any(|incoming| {
        matches!(incoming, Incoming::Message(Message::Event {
            depth: 0,
            event: DisplayEvent::Replied { text, .. },
            ..
        }) if text == "at your service")
    });
    assert!(has_answer);
}
