//! The chat in plain lines, end to end.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::io::{BufReader, Cursor, Write};
use std::sync::{Arc, Mutex};

use prowess::Runtime;
use prowess::models::ScriptedModel;
use prowess::policy::{Approved, Command, Profile};
use prowess::traits::{CommandError, CommandOutput, CommandResult, CommandRunner};
use prowess_tui::chat::{ChatEnd, ChatLink, ChatMode, ChatOptions, ChatStart, ChatStreams};

#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Shared {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[derive(Debug)]
struct Pretend;

impl CommandRunner for Pretend {
    fn run(
        &self,
        _: &Approved<Command>,
        _: &Profile,
        _: Option<&[u8]>,
    ) -> Result<CommandResult, CommandError> {
        let stdout = CommandOutput {
            text: "out\n".into(),
            bytes: 4,
            omitted: 0,
        };
        Ok(CommandResult {
            code: Some(0),
            stdout,
            ..CommandResult::default()
        })
    }
}

struct Talk {
    output: String,
    errors: String,
    end: ChatEnd,
}

async fn talk(script: &str, input: &str, person: bool, terminal: bool) -> Talk {
    let folder = tempfile::tempdir().unwrap();
    let skill = folder.path().join(".agents/skills/notes");
    std::fs::create_dir_all(&skill).unwrap();
    let text = "---\nname: notes\ndescription: Writes notes.\n---\nWrite notes on $ARGUMENTS.\n";
    std::fs::write(skill.join("SKILL.md"), text).unwrap();
    let (output, errors) = (Shared::default(), Shared::default());
    let link = ChatLink::new(ChatMode::Plain(ChatStreams {
        input: Box::new(BufReader::new(Cursor::new(input.to_owned()))),
        output: Box::new(output.clone()),
        errors: Box::new(errors.clone()),
        person,
        terminal,
    }));
    let runtime = Runtime::builder()
        .project(folder.path())
        .model(Arc::new(ScriptedModel::parse("test", script).unwrap()))
        .tools(prowess::tools::files::file_tools(None))
        .runner(Arc::new(Pretend))
        .watcher(link.watcher)
        .approver(link.approver)
        .build()
        .unwrap();
    let begin = ChatStart::New {
        title: "test".into(),
    };
    let end = link
        .ui
        .run(runtime, begin, ChatOptions::default())
        .await
        .unwrap();
    Talk {
        output: output.text(),
        errors: errors.text(),
        end,
    }
}

#[tokio::test]
async fn replies_and_progress_go_to_different_streams() {
    let script = r#"
        {"text": "I look.", "calls": [{"name": "bash", "input": {"command": "curl x"}}], "expect": "one\ntwo"}
        {"text": "Done: **42**"}
    "#;
    let talk = talk(script, "one\\\ntwo\n", false, false).await;
    assert_eq!(talk.output, "Done: **42**\n");
    assert!(talk.errors.contains("  I look.\n"), "{}", talk.errors);
    assert!(
        talk.errors.contains("approval requires a terminal"),
        "{}",
        talk.errors
    );
    assert!(
        talk.errors.contains("  failed: bash curl x: "),
        "{}",
        talk.errors
    );
    assert!(!talk.errors.contains('\x1b'));
    assert_eq!(
        (talk.end.code, talk.end.unanswered, talk.end.spent.turns),
        (0, 1, 2)
    );
    assert!(talk.end.line().contains("2 turns"));
}

#[tokio::test]
async fn user_is_asked_and_the_answer_is_not_a_message() {
    let script = r#"
        {"calls": [{"name": "bash", "input": {"command": "curl x"}}]}
        {"text": "first"}
        {"text": "second", "expect": "bye"}
    "#;
    let talk = talk(script, "hi\ny\nbye\n", true, true).await;
    assert_eq!(talk.output, "first\nsecond\n");
    assert!(
        talk.errors
            .contains("Allow the model to do this?\n  │ curl x\n"),
        "{}",
        talk.errors
    );
    assert!(talk.errors.contains("done: bash curl x"), "{}", talk.errors);
    assert_eq!(talk.end.code, 0);
}

#[tokio::test]
async fn commands_skills_and_mistakes() {
    let script = r#"{"text": "noted", "expect": "Write notes on rain."}"#;
    let input = "/skills\n/cost me\n/nots rain\n/hlep\n/notes rain\n/cost\n/why\n/why nots\n\n/quit\nnever\n";
    let talk = talk(script, input, false, false).await;
    for wanted in [
        "notes",
        "listed, untrusted",
        "noted\n",
        "turns",
        "unknown: no price",
        "loaded  notes",
    ] {
        assert!(talk.output.contains(wanted), "{wanted} in {}", talk.output);
    }
    for wanted in [
        "did you mean `/notes`?",
        "did you mean `/help`?",
        "no skill named `nots`",
        "`/cost` takes no argument",
    ] {
        assert!(talk.errors.contains(wanted), "{wanted} in {}", talk.errors);
    }
    assert_eq!(talk.end.code, 2, "the first failure counts");
}

#[tokio::test]
async fn terminal_output_is_sanitized_and_pipe_output_is_not() {
    let script = r#"{"text": "a\u001b[2Jb\u202ec"}"#;
    let shown = talk(script, "x\n", false, true).await;
    assert_eq!(shown.output, "a\\u{1b}[2Jb\\u{202e}c\n");
    let piped = talk(script, "x\n", false, false).await;
    assert_eq!(piped.output, "a\x1b[2Jb\u{202e}c\n");
}

#[tokio::test]
async fn exit_codes_follow_the_result() {
    let auth = r#"{"error": {"kind": "auth", "message": "no key"}}"#;
    let talk_auth = talk(auth, "x\n", false, false).await;
    assert_eq!(talk_auth.end.code, 4);
    assert!(talk_auth.errors.contains("failed: ") && talk_auth.output.is_empty());
    let other = r#"{"error": {"kind": "bad-request", "message": "no"}}"#;
    assert_eq!(talk(other, "x\n", false, false).await.end.code, 2);
    assert_eq!(talk(other, "", false, false).await.end.code, 0);
}

#[tokio::test]
async fn endless_message_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let link = ChatLink::new(ChatMode::Plain(ChatStreams {
        input: Box::new(BufReader::new(std::io::repeat(b'x'))),
        output: Box::new(std::io::sink()),
        errors: Box::new(std::io::sink()),
        person: false,
        terminal: false,
    }));
    let runtime = Runtime::builder()
        .project(folder.path())
        .model(Arc::new(prowess::models::EchoModel::default()))
        .build()
        .unwrap();
    let begin = ChatStart::New {
        title: "test".into(),
    };
    let failure = link
        .ui
        .run(runtime, begin, ChatOptions::default())
        .await
        .unwrap_err();
    let cause = std::error::Error::source(&failure).unwrap().to_string();
    assert!(cause.contains("larger than 1048576 bytes"), "{cause}");
}

#[tokio::test]
async fn session_is_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(prowess::store::MemorySessions::new());
    let mut begin = ChatStart::New {
        title: "test".into(),
    };
    let mut output = Shared::default();
    for (script, input) in [
        (r#"{"text": "one"}"#, "first words\n"),
        (
            r#"{"text": "two", "expect": ["first words", "more"]}"#,
            "more\n",
        ),
    ] {
        output = Shared::default();
        let link = ChatLink::new(ChatMode::Plain(ChatStreams {
            input: Box::new(Cursor::new(input)),
            output: Box::new(output.clone()),
            errors: Box::new(std::io::sink()),
            person: false,
            terminal: false,
        }));
        let runtime = Runtime::builder()
            .project(folder.path())
            .sessions(Arc::clone(&store) as _)
            .model(Arc::new(ScriptedModel::parse("test", script).unwrap()))
            .watcher(link.watcher)
            .approver(link.approver)
            .build()
            .unwrap();
        let end = link
            .ui
            .run(runtime, begin, ChatOptions::default())
            .await
            .unwrap();
        assert_eq!(end.code, 0);
        begin = ChatStart::Resume {
            id: end.session[..5].to_owned(),
        };
    }
    assert_eq!(output.text(), "two\n");
}
