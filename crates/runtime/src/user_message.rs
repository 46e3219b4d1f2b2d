//! User messages: text, and skills invoked by name.

use std::sync::Arc;

use prowess_agent::{
    ActiveSkill, Ending, Event, MessagePart, ParentSession, SkillHint, TokenUsage,
};
use prowess_catalog::Audience;
use prowess_render::Arguments;
use prowess_tools::{
    Activation, ActivationRequest, HookEvent, HookOutcome, InvokedSkill, SkillHandle,
    SkillSnapshot, Typed, Unattended, activate, read, typed,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::decision_log::Work;
use crate::error::RuntimeError;
use crate::journal::blocking;
use crate::session::Session;
use crate::subrun::{self, SubRun};

/// The effects of a user message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserMessageEffects {
    /// Skills that the message loaded.
    pub loaded: Vec<Box<str>>,
    /// Skills that ran in a sub-run.
    pub ran: Vec<Box<str>>,
}

impl Session {
    /// Adds a user message. `/name text` loads a skill, or runs it if it is forked; `$name` anywhere
    /// in the text loads the skill that it mentions. Tool calls that are still open are abandoned.
    /// Cancelling stops the commands of the skills; the session then ends without the message.
    pub async fn say(
        &mut self,
        text: &str,
        cancel: &CancellationToken,
    ) -> Result<UserMessageEffects, RuntimeError> {
        let before = self.loaded.clone();
        let spoken = self.say_typed(text, cancel).await;
        if let Err(error) = &spoken {
            // The message was not recorded, so its skills are not loaded.
            self.loaded = before;
            self.journal.catch_up()?;
            if matches!(error, RuntimeError::Cancelled { .. }) {
                self.end(Ending::Cancelled).await?;
            }
        }
        spoken
    }

    async fn say_typed(
        &mut self,
        text: &str,
        cancel: &CancellationToken,
    ) -> Result<UserMessageEffects, RuntimeError> {
        self.refresh().await?;
        let (context, message) = (Arc::clone(&self.context), text.to_owned());
        let what = blocking(move || typed(&context, &message)).await?;
        let prompt = text.to_owned();
        let hooked = self
            .run_hooks(move |run| run(&HookEvent::UserPromptSubmit { prompt: &prompt }))
            .await?;
        if let Some(outcome) = hooked.as_ref().filter(|outcome| outcome.is_blocked()) {
            return Err(RuntimeError::Refused {
                reason: outcome.reason(),
            });
        }
        let mut said = PendingMessage::default();
        let is_text = !matches!(what, Typed::Skills(_));
        let called = match what {
            Typed::Text => Vec::new(),
            Typed::Skills(called) | Typed::Mentions(called) => called,
            Typed::Unknown { name, near } => return Err(RuntimeError::NoCommand { name, near }),
            Typed::Refused(refusal) => return Err(RuntimeError::NoSkill(refusal)),
        };
        if is_text {
            said.parts.push(MessagePart::text(text));
        }
        for one in called {
            if one.forked {
                self.fork_typed(&one, &mut said, cancel).await?;
            } else {
                self.load_typed(&one, &mut said, cancel).await?;
            }
        }
        said.add_hook_context(hooked.as_ref());
        // A message that invokes a skill has its skill.
        if is_text {
            said.hint = self.hint(text).await;
        }
        self.write_said(said, (!is_text).then(|| text.to_owned()))
            .await
    }

    /// Adds a user message verbatim, without interpreting `/name` or `$name`.
    pub async fn say_plainly(&mut self, text: &str) -> Result<UserMessageEffects, RuntimeError> {
        let said = PendingMessage {
            parts: vec![MessagePart::text(text)],
            hint: self.hint(text).await,
            ..PendingMessage::default()
        };
        self.write_said(said, None).await
    }

    pub(crate) async fn write_said(
        &mut self,
        said: PendingMessage,
        typed: Option<String>,
    ) -> Result<UserMessageEffects, RuntimeError> {
        self.close_calls("The user asked for something else.")
            .await?;
        let mut parts = self.pending.clone();
        parts.extend(said.parts);
        let mut loaded = self.pending_skills.clone();
        loaded.extend(said.loaded);
        let names = loaded.iter().map(|skill| skill.name.clone()).collect();
        let changed = !loaded.is_empty();
        let mut events: Vec<Event> = self.pending_activation.take().into_iter().collect();
        if !self.pending_gone.is_empty() {
            events.push(Event::Resumed {
                budget: None,
                unloaded: self.pending_gone.clone(),
            });
        }
        events.push(Event::Said {
            parts,
            typed,
            loaded,
            usage: said.usage,
        });
        events.extend(said.hint.map(Event::Hinted));
        self.journal.write_all(events).await?;
        self.pending.clear();
        self.pending_skills.clear();
        self.pending_gone.clear();
        if changed {
            self.follow_skills();
        }
        Ok(UserMessageEffects {
            loaded: names,
            ran: said.ran,
        })
    }

    async fn load_typed(
        &mut self,
        one: &InvokedSkill,
        said: &mut PendingMessage,
        cancel: &CancellationToken,
    ) -> Result<(), RuntimeError> {
        subrun::permit_user(&self.context, &one.skill, false, &one.arguments)?;
        let activation = self.load(&one.skill, &one.arguments, cancel).await?;
        self.add_activation(&activation, said);
        Ok(())
    }

    /// Adds an activated skill to a message.
    pub(crate) fn add_activation(&mut self, activation: &Activation, said: &mut PendingMessage) {
        let name = activation.name();
        if self.loaded.has(activation) {
            said.parts.push(MessagePart::text(format!(
                "Skill `{name}` is already loaded; use it."
            )));
            return;
        }
        let text = format!("The user invoked skill `{name}`.\n\n{}", activation.text());
        said.parts.push(MessagePart::Text {
            text,
            keep: Some(name.into()),
        });
        self.tell_missing_tools(&activation.snapshot);
        said.loaded.push(self.loaded.insert_by_user(activation));
    }

    /// Reads and activates a skill for a user.
    pub(crate) async fn load(
        &mut self,
        skill: &SkillHandle,
        arguments: &str,
        cancel: &CancellationToken,
    ) -> Result<Activation, RuntimeError> {
        let (context, skill) = (Arc::clone(&self.context), skill.clone());
        let snapshot = blocking(move || read(&context, &skill)).await??;
        let arguments = match arguments {
            "" => Arguments::none(),
            text => Arguments::from_text(text),
        };
        self.activate(&snapshot, arguments, Prompts::Now, cancel)
            .await
    }

    /// Renders a skill, which runs its commands, after recording that it will. Cancelling stops the
    /// commands. If a prompt waits for an answer, returns an error and sets [`Session::waiting`].
    pub(crate) async fn activate(
        &mut self,
        snapshot: &Arc<SkillSnapshot>,
        arguments: Arguments,
        prompts: Prompts,
        cancel: &CancellationToken,
    ) -> Result<Activation, RuntimeError> {
        let cancelled = || RuntimeError::Cancelled {
            skill: snapshot.name.clone(),
        };
        if cancel.is_cancelled() {
            return Err(cancelled());
        }
        let started = Event::ActivationStarted {
            skill: snapshot.name.clone(),
            digest: snapshot.digest().into(),
            arguments: arguments.raw().map(Into::into),
        };
        let decisions = Arc::clone(&self.journal.decisions);
        match prompts {
            Prompts::Now => self.journal.write(started).await?,
            Prompts::CanWait => {
                let input = json!([&*snapshot.name, snapshot.digest(), arguments.raw()]);
                decisions.begin(Work::new(&self.journal.run, None, "", input));
                decisions.announce(started);
            }
        }
        let (context, skill) = (Arc::clone(&self.context), Arc::clone(snapshot));
        let request = ActivationRequest::new(arguments);
        let loaded = self.loaded.clone();
        let work = move || activate(&context, &loaded, &skill, &request);
        let activation = self.run_stoppable(work, cancel).await;
        self.pending_activation = decisions.unwritten_start();
        self.waiting = decisions.end();
        let activation = activation?;
        self.journal.catch_up()?;
        match activation {
            Some(Ok(activation)) => Ok(activation),
            Some(Err(error)) if !cancel.is_cancelled() => Err(error.into()),
            Some(Err(_)) | None => Err(cancelled()),
        }
    }

    async fn fork_typed(
        &mut self,
        one: &InvokedSkill,
        said: &mut PendingMessage,
        cancel: &CancellationToken,
    ) -> Result<(), RuntimeError> {
        let arguments = match &*one.arguments {
            "" => Arguments::none(),
            text => Arguments::from_text(text),
        };
        let sub = SubRun {
            arguments,
            parent: Some(ParentSession {
                session: self.journal.id.clone(),
                call: None,
                depth: self.journal.depth + 1,
            }),
            who: Audience::Person,
            ..self.child_run(one.skill.clone())
        };
        // The message is not recorded yet, so there is nothing that could continue later.
        let mut context = self.confined();
        context.settings.unattended = Unattended::Deny;
        let finished = Box::pin(subrun::run_in(&self.engine, &context, sub, cancel)).await?;
        let (text, _) = subrun::report(&one.name, &finished);
        said.parts.push(MessagePart::text(format!(
            "The user invoked skill `{}`.\n\n{text}",
            one.name
        )));
        said.ran.push(one.name.clone());
        let mut usage = said.usage.unwrap_or_default();
        usage += finished.spent.usage;
        said.usage = Some(usage);
        Ok(())
    }
}

/// The prompts about the commands of a skill that is being activated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prompts {
    /// The answer is needed now.
    Now,
    /// The activation can be repeated after the answer.
    CanWait,
}

/// A user message that is not recorded yet.
#[derive(Debug, Default)]
pub(crate) struct PendingMessage {
    pub(crate) parts: Vec<MessagePart>,
    pub(crate) loaded: Vec<ActiveSkill>,
    pub(crate) ran: Vec<Box<str>>,
    pub(crate) usage: Option<TokenUsage>,
    pub(crate) hint: Option<SkillHint>,
}

impl PendingMessage {
    /// Adds the context that hooks returned for the model.
    fn add_hook_context(&mut self, outcome: Option<&HookOutcome>) {
        for said in outcome.into_iter().flat_map(|outcome| &outcome.context) {
            self.parts.push(MessagePart::text(format!(
                "[hook of skill `{}`: {}]",
                said.skill, said.text
            )));
        }
    }
}
