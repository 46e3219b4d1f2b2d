//! A chat with a scripted model, two skills and a runner that only pretends, in a folder of its own.
//!
//! ```sh
//! cargo run -p prowess-tui --example chat
//! printf 'hello\n/cost\n' | cargo run -p prowess-tui --example chat
//! ```

#![expect(clippy::print_stderr, reason = "an example says how it ended")]

use std::sync::Arc;
use std::time::Duration;

use prowess::agent::{Delta, Reply, Request};
use prowess::models::{EchoModel, ScriptedModel};
use prowess::policy::{Approved, Command, Profile};
use prowess::traits::{
    BoxFuture, CommandRunner, Model, ModelError, ModelInfo, OnDelta, Output, Price, Ran, RunError,
};
use prowess::{Runtime, Settings};
use prowess_tui::chat::{Begin, ChatLink, ChatOptions, Face};

const SCRIPT: &str = r##"
{"reasoning": "SkillRef skill fits?", "text": "I use the skill for release notes.", "calls": [{"name": "load_skill", "input": {"name": "release-notes"}}], "usage": {"input": 1204, "output": 31}}
{"calls": [{"name": "read", "input": {"path": "CHANGES"}}, {"name": "bash", "input": {"command": "curl -s https://example.com/versions.txt"}}], "usage": {"input": 1490, "output": 48}}
{"text": "# Release 1.4\n\nThree things are **new**, and one is *gone*:\n\n- `--json` on every command that reports, with a schema that only ever grows\n- Skills can be searched by what they do\n- 日本語 is wrapped by its width\n\n```sh\nprowess find \"fill in a form\"\n```\n\n> Nothing breaks.", "usage": {"input": 1702, "output": 160}}
"##;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    for (name, about, body) in [
        (
            "release-notes",
            "Writes release notes. Use when a version is cut.",
            "Read the file CHANGES.",
        ),
        (
            "commit-words",
            "Writes the words of a commit.",
            "Say what changed: $ARGUMENTS",
        ),
    ] {
        let place = folder.path().join(".agents/skills").join(name);
        std::fs::create_dir_all(&place)?;
        let text = format!("---\nname: {name}\ndescription: {about}\n---\n{body}\n");
        std::fs::write(place.join("SKILL.md"), text)?;
    }
    std::fs::write(folder.path().join("CHANGES"), "1.4\n- json\n- search\n")?;

    let plain = std::env::args().any(|word| word == "--plain");
    let link = ChatLink::new(Face::choose(plain));
    let model = Slowly {
        script: ScriptedModel::parse("demo", SCRIPT)?,
        about: about(),
    };
    let runtime = Runtime::builder()
        .project(folder.path())
        .model(Arc::new(model))
        .tools(prowess::tools::files::file_tools(None))
        .runner(Arc::new(Pretend))
        .watcher(link.watcher)
        .approver(link.approver)
        .settings(Settings {
            background: true,
            ..Settings::default()
        })
        .build()?;
    let options = ChatOptions {
        history: Some(folder.path().join("history")),
        ..ChatOptions::default()
    };
    let begin = Begin::New {
        title: "chat".to_owned(),
    };
    match link.ui.run(runtime, begin, options).await {
        Ok(end) => eprintln!("{}", end.line()),
        Err(failure) => eprintln!("error: {failure}"),
    }
    Ok(())
}

fn about() -> ModelInfo {
    let price = Price {
        input: 3.0,
        output: 15.0,
        cache_read: 0.3,
        cache_write: 3.75,
    };
    ModelInfo {
        name: "scripted/demo".into(),
        window: 128_000,
        price: Some(price),
        note: Some("the replies come from a script; no model is asked".into()),
    }
}

/// Says what a script says, word by word; then what it is told.
#[derive(Debug)]
struct Slowly {
    script: ScriptedModel,
    about: ModelInfo,
}

impl Model for Slowly {
    fn about(&self) -> &ModelInfo {
        &self.about
    }

    fn ask<'a>(
        &'a self,
        request: &'a Request,
        deltas: OnDelta<'a>,
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            let mut pieces = Vec::new();
            let reply = if self.script.left() > 0 {
                self.script
                    .ask(request, &mut |delta| pieces.push(delta))
                    .await?
            } else {
                EchoModel::default()
                    .ask(request, &mut |delta| pieces.push(delta))
                    .await?
            };
            for piece in pieces {
                tokio::time::sleep(Duration::from_millis(300)).await;
                let Delta::Text(text) = piece else {
                    deltas(piece);
                    continue;
                };
                for word in text.split_inclusive(' ') {
                    deltas(Delta::Text(word.to_owned()));
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            }
            Ok(reply)
        })
    }
}

/// Runs nothing, and says so after a while.
#[derive(Debug)]
struct Pretend;

impl CommandRunner for Pretend {
    fn run(
        &self,
        _command: &Approved<Command>,
        _profile: &Profile,
        _input: Option<&[u8]>,
    ) -> Result<Ran, RunError> {
        std::thread::sleep(Duration::from_millis(800));
        let text = "1.3\n1.4\n".to_owned();
        let stdout = Output {
            bytes: text.len() as u64,
            text,
            omitted: 0,
        };
        Ok(Ran {
            code: Some(0),
            stdout,
            milliseconds: 800,
            ..Ran::default()
        })
    }
}
