//! The chat in plain lines, for pipes and scripts.

use std::io::{BufRead, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::ChatError;
use prowess::agent::Delta;
use prowess::policy::{ApprovalAnswer, Unattended};
use prowess::traits::{ApprovalRequest, Approver, TextReply, TextRequest};
use prowess::{CancellationToken, Ending, Pause, Update, Watcher};
use prowess_diag::wording::shorten;
use prowess_diag::{review, sanitize};

use super::command::{Input, help, misused, read};
use super::display::{DisplayEvent, display_event};
use super::item::View;
use super::lines::{plain, took, view};
use super::runtime_link::{asked, too_long};
use super::session_task::{OrderResult, Work, code};
use super::{ChatEnd, ChatStart};

/// The maximum size of a message in bytes.
const MAX_MESSAGE: u64 = 1024 * 1024;
/// Maximum length of the reason in a question, in characters: the action is shown in full.
const MAX_REASON: usize = 300;
/// The width of laid-out text.
const WIDTH: usize = 100;
/// The maximum size of the lines that wait while a question is shown, in bytes.
const MAX_HELD: usize = 64 * 1024;

/// The streams of a plain chat.
pub struct ChatStreams {
    /// Messages of the user.
    pub input: Box<dyn BufRead + Send>,
    /// Replies.
    pub output: Box<dyn Write + Send>,
    /// Everything else.
    pub errors: Box<dyn Write + Send>,
    /// `true` if a user can be asked: input and errors are a terminal.
    pub person: bool,
    /// `true` if replies go to a terminal.
    pub terminal: bool,
}

impl std::fmt::Debug for ChatStreams {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Streams")
            .field("person", &self.person)
            .finish_non_exhaustive()
    }
}

struct InputStream(Box<dyn BufRead + Send>);

impl std::fmt::Debug for InputStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("InputStream")
    }
}

/// The runtime's end: prints lines and asks the user.
#[derive(Debug)]
pub(crate) struct Plain {
    /// Separate from the other streams, so that lines can be printed while the user types.
    input: Mutex<InputStream>,
    streams: Mutex<ChatStreams>,
    person: bool,
    /// `true` if the session waits for an answer that cannot be given here.
    waits: AtomicBool,
    /// The number of questions that could not be asked.
    unanswered: AtomicUsize,
    calls: Mutex<Vec<(Box<str>, String)>>,
    /// The lines that wait while a question is shown.
    held: Mutex<Option<String>>,
}

impl Plain {
    pub(crate) fn new(streams: ChatStreams) -> Arc<Self> {
        let mut streams = streams;
        let input = std::mem::replace(&mut streams.input, Box::new(std::io::empty()));
        Arc::new(Self {
            input: Mutex::new(InputStream(input)),
            person: streams.person,
            waits: AtomicBool::new(false),
            unanswered: AtomicUsize::new(0),
            streams: Mutex::new(streams),
            calls: Mutex::new(Vec::new()),
            held: Mutex::new(None),
        })
    }

    fn input(&self) -> MutexGuard<'_, InputStream> {
        self.input.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(&self, act: impl FnOnce(&mut ChatStreams) -> T) -> T {
        act(&mut self.streams.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn line(&self, depth: u8, text: &str) {
        let indent = "  ".repeat(usize::from(depth) + 1);
        self.aside(&format!("{indent}{text}\n"));
    }

    /// Prints a text, or holds it back while a question is shown.
    fn aside(&self, text: &str) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *held {
            Some(held) if held.len() + text.len() <= MAX_HELD => held.push_str(text),
            Some(_) => {}
            None => self.put(text),
        }
    }

    /// Asks while all other lines are held back, so that the question is the last text.
    fn during_question<T>(&self, ask: impl FnOnce() -> T) -> T {
        let held = || self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held().get_or_insert_default();
        let answer = ask();
        let mut held = held();
        if let Some(text) = held.take() {
            self.put(&text);
        }
        answer
    }

    fn put(&self, text: &str) {
        // There is no other stream to report a failure to.
        self.with(|streams| {
            let _ = streams.errors.write_all(text.as_bytes());
            let _ = streams.errors.flush();
        });
    }

    fn answer(&self, text: &str) -> std::io::Result<()> {
        self.with(|streams| {
            let text = text.trim_end();
            let text = if streams.terminal {
                sanitize::block(text)
            } else {
                text.into()
            };
            writeln!(streams.output, "{text}")?;
            streams.output.flush()
        })
    }

    /// Reads a message: a line, continued while it ends with `\`. Returns `None` at the end.
    fn message(&self) -> std::io::Result<Option<String>> {
        let mut input = self.input();
        let mut whole: Vec<u8> = Vec::new();
        loop {
            if self.person {
                self.aside(if whole.is_empty() { "> " } else { ". " });
            }
            let room = MAX_MESSAGE.saturating_sub(whole.len() as u64);
            let mut line = Vec::new();
            let count = std::io::Read::take(&mut input.0, room).read_until(b'\n', &mut line)?;
            let ended = line.pop_if(|last| *last == b'\n').is_some();
            if !ended && count as u64 == room {
                let message = format!("a message is larger than {MAX_MESSAGE} bytes");
                return Err(std::io::Error::other(message));
            }
            if count == 0 && whole.is_empty() {
                return Ok(None);
            }
            let _ = line.pop_if(|last| *last == b'\r');
            let more = ended && line.pop_if(|last| *last == b'\\').is_some();
            whole.extend_from_slice(&line);
            if !more {
                return Ok(Some(String::from_utf8_lossy(&whole).into_owned()));
            }
            whole.push(b'\n');
        }
    }
}

impl Watcher for Plain {
    fn update(&self, _session: &str, depth: u8, update: Update<'_>) {
        if matches!(update, Update::Delta(delta) if *delta != Delta::Restart) {
            return;
        }
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        match display_event(update) {
            Some(DisplayEvent::Replied {
                text, calls: new, ..
            }) => {
                // The last text is the reply; earlier ones are about the work.
                if !new.is_empty() && depth == 0 && !text.trim().is_empty() {
                    for line in text.lines() {
                        self.line(depth, line);
                    }
                }
                calls.extend(new);
                let many = calls.len().saturating_sub(1_000);
                calls.drain(..many);
            }
            Some(DisplayEvent::CallEnded {
                call,
                fault,
                milliseconds,
                ..
            }) => {
                let at = calls.iter().rposition(|(id, _)| *id == call);
                let line = at.map(|at| calls.remove(at).1).unwrap_or_default();
                match fault {
                    Some(why) => self.line(depth, &format!("failed: {line}: {why}")),
                    None => self.line(depth, &format!("done: {line}, {}", took(milliseconds))),
                }
            }
            Some(DisplayEvent::Restart) if depth == 0 => {
                self.line(depth, "retry: the connection was lost");
            }
            Some(DisplayEvent::Line { what, text, .. }) => {
                self.line(depth, &format!("{what}: {text}"));
            }
            _ => {}
        }
    }
}

impl Approver for Plain {
    fn name(&self) -> &'static str {
        "terminal"
    }

    fn ask(&self, question: &ApprovalRequest<'_>) -> ApprovalAnswer {
        let asked = asked(0, question);
        if !self.person && self.waits.load(Ordering::SeqCst) && !question.is_too_long() {
            return ApprovalAnswer::Unavailable;
        }
        if !self.person {
            self.unanswered.fetch_add(1, Ordering::SeqCst);
            let what = asked.what.replace('\n', " ");
            let why = asked.why;
            self.aside(&format!(
                "  denied: {what}: {why}; approval requires a terminal\n"
            ));
            return ApprovalAnswer::Unavailable;
        }
        if question.is_too_long() {
            self.line(0, &format!("denied: {}", too_long(question)));
            return ApprovalAnswer::Unavailable;
        }
        // Waits while the user types a message.
        let mut input = self.input();
        // Input typed before the question is not an answer.
        crate::discard_input();
        let who = asked
            .skill
            .map_or("the model".to_owned(), |skill| format!("skill {skill}"));
        let what = review::action(question.what, crate::screen_size());
        let why = shorten(&asked.why, MAX_REASON);
        let text =
            format!("Allow {who} to do this?\n{what}{why}. [y = once, s = this session, N] ");
        let mut line = String::new();
        let read = self.during_question(|| {
            self.put(&text);
            std::io::Read::take(&mut input.0, 1_000).read_line(&mut line)
        });
        match (read, line.trim().to_lowercase().as_str()) {
            (Ok(_), "y" | "yes") => ApprovalAnswer::Once,
            (Ok(_), "s") => ApprovalAnswer::Session,
            // The input has ended.
            (Ok(0) | Err(_), _) => ApprovalAnswer::Unavailable,
            (Ok(_), _) => ApprovalAnswer::No,
        }
    }

    fn ask_text(&self, question: &TextRequest<'_>) -> TextReply {
        if !self.person {
            return TextReply::Unavailable;
        }
        // Waits while the user types a message.
        let mut input = self.input();
        let mut put = |text: &str| self.put(text);
        self.during_question(|| {
            crate::text_prompt::ask_text(question, &mut input.0, &mut put, &|| false)
        })
    }
}

/// Runs the chat in plain lines until the input ends.
pub(crate) async fn talk(
    face: Arc<Plain>,
    runtime: prowess::Runtime,
    begin: ChatStart,
) -> Result<ChatEnd, ChatError> {
    let waits = runtime.engine().settings().unattended == Unattended::Wait;
    face.waits.store(waits, Ordering::SeqCst);
    let mut work = Work::begin(runtime, begin).await?;
    let mut end = 0;
    let mut is_over = false;
    if work.take_was_waiting() {
        let became = work
            .proceed_after_background(&CancellationToken::new())
            .await;
        end = code(&became);
        is_over = waits_for_an_answer(&became);
        is_over |= !tell(&face, became);
    }
    while !is_over {
        let reader = Arc::clone(&face);
        let read_line = tokio::task::spawn_blocking(move || reader.message());
        let text = read_line
            .await
            .map_err(|error| ChatError::Input(std::io::Error::other(error)))?;
        let Some(text) = text.map_err(ChatError::Input)? else {
            break;
        };
        if text.trim().is_empty() {
            continue;
        }
        let order = match read(&text) {
            Input::Quit => break,
            Input::Help => {
                face.aside(&lines(&help()));
                continue;
            }
            Input::Misused(name) => {
                face.aside(&format!("error: {}\n", misused(name)));
                end = worse(end, 2);
                continue;
            }
            Input::Order(order) => order,
        };
        let became = work.execute(order, &CancellationToken::new()).await;
        end = worse(end, code(&became));
        // Another message would withdraw the question.
        is_over = waits_for_an_answer(&became);
        if !tell(&face, became) {
            break;
        }
    }
    // Wait for background skills; otherwise their results would be lost.
    while work.background() > 0 && work.background_ended().await {
        let became = work
            .proceed_after_background(&CancellationToken::new())
            .await;
        let has_failed = matches!(became, OrderResult::Problem(_));
        end = worse(end, code(&became));
        if !tell(&face, became) || has_failed {
            break;
        }
    }
    let unanswered = face.unanswered.load(Ordering::SeqCst);
    Ok(ChatEnd {
        session: work.id().into(),
        spent: work.spent(),
        code: end,
        unanswered,
    })
}

fn waits_for_an_answer(became: &OrderResult) -> bool {
    matches!(
        became,
        OrderResult::Paused(Pause::Ended(Ending::Waiting { .. }))
    )
}

/// Returns the exit code of the first failure.
fn worse(before: u8, now: u8) -> u8 {
    if before == 0 { now } else { before }
}

/// Prints the result. Returns `false` if the output is closed.
fn tell(face: &Plain, became: OrderResult) -> bool {
    match became {
        OrderResult::Paused(Pause::Answered(text)) => return face.answer(&text).is_ok(),
        // The watcher has already printed it.
        OrderResult::Paused(Pause::Ended(_)) => {}
        OrderResult::View(view) => return face.answer(&lines(&view)).is_ok(),
        OrderResult::Cleared => face.aside("new session\n"),
        OrderResult::Problem(problem) => {
            face.aside(&format!("error: {}\n", problem.message));
            for hint in problem.hints {
                face.aside(&format!("hint: {hint}\n"));
            }
        }
    }
    true
}

fn lines(shown: &View) -> String {
    plain(&view(shown, WIDTH))
}
