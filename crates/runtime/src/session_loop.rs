//! The main loop of a session: requests to the model, tool calls and compaction.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use prowess_agent::{
    CompactPlan, Delta, Ending, Event, Reply, Request, RequestOptions, RunLimit, RunStep,
    StopReason, ToolChoice,
};
use prowess_catalog::index::{self, NoteOptions, ShownSkills};
use prowess_catalog::{Audience, CatalogView};
use prowess_tools::names::LOAD_SKILL;
use prowess_tools::{HookEvent, HookOutcome, HookState, run_hooks};
use prowess_traits::{ModelError, ModelErrorKind, Price, Update};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::error::RuntimeError;
use crate::journal::blocking;
use crate::outcome::Pause;
use crate::session::Session;
use crate::trace;
use crate::user_message::PendingMessage;

/// The outcome of a model request.
enum Asked {
    Answer(Reply, u64),
    Failed(ModelError),
    Cancelled,
    OutOfTime,
}

/// The audience of a streamed reply. The text of a summary is not part of the conversation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DeltaAudience {
    Watchers,
    /// The text is not shown.
    Hidden,
}

impl Session {
    /// Runs until the model has answered or the session has ended. Cancelling stops the current
    /// operation; the session can be resumed later.
    pub async fn proceed(&mut self, cancel: &CancellationToken) -> Result<Pause, RuntimeError> {
        let span = trace::agent(self);
        let pause = self.run_until_pause(cancel).instrument(span.clone()).await;
        trace::paused(&span, &pause);
        pause
    }

    async fn run_until_pause(&mut self, cancel: &CancellationToken) -> Result<Pause, RuntimeError> {
        loop {
            let step = self.journal.run.next();
            if cancel.is_cancelled()
                && !matches!(step, RunStep::Done(_) | RunStep::Wait | RunStep::End(_))
            {
                return self.end(Ending::Cancelled).await;
            }
            let asks_soon = matches!(
                step,
                RunStep::AskModel | RunStep::Prune { .. } | RunStep::Compact { .. }
            );
            if asks_soon && !self.pending.is_empty() {
                self.write_said(PendingMessage::default(), None).await?;
                continue;
            }
            match step {
                RunStep::AskModel => {
                    if let Some(pause) = self.ask(cancel).await? {
                        return Ok(pause);
                    }
                }
                RunStep::CallTools(calls) if self.count_together(&calls) > 0 => {
                    let count = self.count_together(&calls);
                    let together = calls.into_iter().take(count).collect();
                    self.call_together(together, cancel).await?;
                    if !self.waiting.is_empty() {
                        return self.wait_for_answers().await;
                    }
                }
                RunStep::CallTools(calls) => {
                    for open in calls {
                        if cancel.is_cancelled() {
                            return self.end(Ending::Cancelled).await;
                        }
                        self.call(open, cancel).await?;
                        if !self.waiting.is_empty() {
                            return self.wait_for_answers().await;
                        }
                        if self.journal.run.ending().is_some() {
                            break;
                        }
                    }
                }
                RunStep::Activate => {
                    if let Some(pause) = Box::pin(self.activate_again(cancel)).await? {
                        return Ok(pause);
                    }
                }
                RunStep::Remind(text) => {
                    self.journal.write(Event::note(text)).await?;
                }
                RunStep::Prune { before } => self.journal.write(Event::Pruned { before }).await?,
                RunStep::Compact(plan) => {
                    if let Some(ending) = self.compact(&plan, cancel).await? {
                        return self.end(ending).await;
                    }
                }
                RunStep::Wait => {
                    if let Some(reason) = self.stop_hooks().await? {
                        self.journal.write(Event::note(reason)).await?;
                        continue;
                    }
                    return Ok(Pause::Answered(self.journal.run.answer()));
                }
                RunStep::End(ending) => return self.end(ending).await,
                RunStep::Done(ending) => return Ok(Pause::Ended(ending)),
            }
        }
    }

    /// Ends as waiting for the answers that the current call or activation needs.
    pub(crate) async fn wait_for_answers(&mut self) -> Result<Pause, RuntimeError> {
        let questions = std::mem::take(&mut self.waiting);
        // Questions of a sub-run were told there.
        let asked = self.journal.run.questions().iter();
        let own = asked.filter(|asked| questions.contains(&asked.question.id));
        for asked in own {
            let update = Update::Waiting(&asked.question);
            let (id, depth) = (&self.journal.id, self.journal.depth);
            self.engine.tell(id, depth, update);
        }
        self.end(Ending::Waiting { questions }).await
    }

    /// Records that the task of the session has its answer. The session can still be resumed.
    pub async fn close(&mut self) -> Result<(), RuntimeError> {
        self.end(Ending::Answered).await.map(|_| ())
    }

    /// Records the ending.
    pub(crate) async fn end(&mut self, ending: Ending) -> Result<Pause, RuntimeError> {
        self.journal
            .write(Event::Ended {
                ending: ending.clone(),
            })
            .await?;
        Ok(Pause::Ended(ending))
    }

    async fn ask(&mut self, cancel: &CancellationToken) -> Result<Option<Pause>, RuntimeError> {
        if let Some(limit) = self.engine.reached_limit() {
            return Ok(Some(self.end(Ending::Exhausted { limit }).await?));
        }
        self.note_background().await?;
        self.refresh().await?;
        self.note_changes().await?;
        let declarations = self.declared();
        let tools: Vec<Box<str>> = declarations.iter().map(|tool| tool.name.clone()).collect();
        let settings = self.engine.settings();
        let options = RequestOptions {
            max_tokens: settings.max_tokens,
            effort: self.effort,
            choice: ToolChoice::Auto,
            cache: settings.cache,
        };
        let request = self.journal.run.request(declarations, options);
        let turn = self.journal.run.spent().turns + 1;
        let model = self.model.about().name.clone();
        self.journal
            .write(Event::Asked { turn, model, tools })
            .await?;
        let asked = self
            .question(&request, cancel, DeltaAudience::Watchers)
            .await;
        // The request shares the messages; drop it so that adding the reply does not copy them.
        drop(request);
        match asked {
            Asked::Answer(reply, milliseconds) => {
                self.too_long = 0;
                let reply = self.journal.run.admit(reply);
                self.journal
                    .write(Event::Replied {
                        reply,
                        milliseconds,
                    })
                    .await?;
                Ok(None)
            }
            Asked::Cancelled => Ok(Some(self.end(Ending::Cancelled).await?)),
            Asked::OutOfTime => Ok(Some(
                self.end(Ending::Exhausted {
                    limit: RunLimit::Time,
                })
                .await?,
            )),
            Asked::Failed(error) => {
                // The provider counts tokens differently. Compact and retry, at most twice.
                let plan = (error.kind == ModelErrorKind::ContextTooLong && self.too_long < 2)
                    .then(|| self.journal.run.compaction())
                    .flatten();
                if let Some(plan) = plan {
                    self.too_long += 1;
                    return match self.compact(&plan, cancel).await? {
                        Some(ending) => Ok(Some(self.end(ending).await?)),
                        None => Ok(None),
                    };
                }
                let ending = Ending::Failed {
                    kind: error.kind.failure(),
                    message: error.to_string(),
                };
                Ok(Some(self.end(ending).await?))
            }
        }
    }

    /// Sends a request to the model, within the time left in the budget.
    async fn question(
        &self,
        request: &Request,
        cancel: &CancellationToken,
        audience: DeltaAudience,
    ) -> Asked {
        let run = &self.journal.run;
        let budget = run
            .started()
            .and_then(|started| started.limits.budget.milliseconds);
        let left = budget.map(|budget| budget.saturating_sub(run.spent().milliseconds));
        let model = Arc::clone(&self.model);
        let span = trace::chat(self);
        let (engine, id, depth) = (&self.engine, &self.journal.id, self.journal.depth);
        let mut deltas = |delta: Delta| {
            if audience == DeltaAudience::Watchers {
                engine.tell(id, depth, Update::Delta(&delta));
            }
        };
        let began = Instant::now();
        let answer = model.ask(request, &mut deltas).instrument(span.clone());
        let time = async {
            match left {
                Some(left) => tokio::time::sleep(Duration::from_millis(left)).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = cancel.cancelled() => {
                trace::failed(&span, trace::CANCELLED);
                Asked::Cancelled
            }
            answer = answer => match answer {
                Ok(mut reply) => {
                    if reply.usage.micros.is_none() {
                        reply.usage.micros = model.about().price.map(|price| cost(&price, &reply));
                    }
                    self.engine.spend(&reply.usage);
                    trace::replied(&span, &reply);
                    Asked::Answer(reply, milliseconds_since(began))
                }
                Err(error) => {
                    trace::failed(&span, error.kind.as_str());
                    Asked::Failed(error)
                }
            },
            () = time => {
                trace::failed(&span, ModelErrorKind::Timeout.as_str());
                Asked::OutOfTime
            }
        }
    }

    /// Tells the model which skills have changed. The index itself is never rewritten, so that the
    /// provider's prompt cache stays valid.
    async fn note_changes(&mut self) -> Result<(), RuntimeError> {
        let catalog = self.context.services.registry.snapshot();
        if catalog.generation() == self.generation && !self.touched {
            return Ok(());
        }
        (self.generation, self.touched) = (catalog.generation(), false);
        let can_load = self
            .tools
            .tools(&self.context)
            .any(|tool| tool.name() == LOAD_SKILL);
        let (note, now) = {
            let view =
                CatalogView::new(&catalog, &self.context.settings.visibility, Audience::Model);
            let entries = if can_load {
                index::entries(&view, &[])
            } else {
                Vec::new()
            };
            (
                index::note(&self.known, &entries, &NoteOptions::default()),
                ShownSkills::of(&entries),
            )
        };
        if let Some(note) = note {
            let text = format!("[{}]", note.text.trim_end());
            self.journal
                .write(Event::Noted {
                    text,
                    known: now.skills.clone(),
                    usage: None,
                })
                .await?;
        }
        self.known = now;
        Ok(())
    }

    /// Summarizes the beginning of the conversation now. Returns `false` if the conversation is too
    /// short for that, or if the summary was cancelled.
    pub async fn shorten(&mut self, cancel: &CancellationToken) -> Result<bool, RuntimeError> {
        self.close_calls("The user asked for something else.")
            .await?;
        let Some(plan) = self.journal.run.compaction() else {
            return Ok(false);
        };
        let stopped = self.compact(&plan, cancel).await?;
        Ok(stopped.is_none())
    }

    /// Replaces the beginning of the conversation with a summary. If that is cancelled or takes too
    /// long, returns the ending and leaves the conversation unchanged.
    async fn compact(
        &mut self,
        plan: &CompactPlan,
        cancel: &CancellationToken,
    ) -> Result<Option<Ending>, RuntimeError> {
        // A summary is a request like any other.
        if let Some(limit) = self.engine.reached_limit() {
            return Ok(Some(Ending::Exhausted { limit }));
        }
        self.tell("The conversation is long; summarizing its beginning");
        let request = Request {
            system: vec!["You summarize conversations so that the work can continue.".to_owned()],
            messages: vec![prowess_agent::Message::user(plan.question())].into(),
            options: RequestOptions {
                choice: ToolChoice::None,
                ..RequestOptions::default()
            },
            tools: Vec::new(),
        };
        let answer = match self.question(&request, cancel, DeltaAudience::Hidden).await {
            Asked::Answer(reply, _) => Some(reply),
            Asked::Failed(_) => None,
            Asked::Cancelled => return Ok(Some(Ending::Cancelled)),
            Asked::OutOfTime => {
                return Ok(Some(Ending::Exhausted {
                    limit: RunLimit::Time,
                }));
            }
        };
        // Count the cost even if the summary cannot be used.
        let usage = answer.as_ref().map(|reply| reply.usage).unwrap_or_default();
        let usable = answer
            .filter(|reply| reply.stop != StopReason::Refused && reply.calls().next().is_none());
        let text = usable.map(|reply| {
            prowess_agent::Message {
                role: prowess_agent::MessageRole::Assistant,
                parts: reply.parts,
            }
            .text()
        });
        self.journal
            .write(plan.event(text.as_deref(), usage))
            .await?;
        for name in &plan.unloaded {
            self.loaded.drop_text(name);
        }
        let active = self.journal.run.active();
        for skill in active.iter().filter(|skill| plan.cut.contains(&skill.name)) {
            self.loaded.restore(skill.clone(), None);
        }
        if !plan.unloaded.is_empty() {
            self.tell(&format!(
                "Unloaded skills that no longer fit: {}",
                plan.unloaded.join(", ")
            ));
        }
        if !plan.cut.is_empty() {
            self.tell(&format!(
                "Shortened skills to make room: {}",
                plan.cut.join(", ")
            ));
        }
        Ok(None)
    }

    /// Runs the `Stop` hooks of loaded skills. Returns a reason if one of them blocks the stop.
    async fn stop_hooks(&mut self) -> Result<Option<String>, RuntimeError> {
        let answer = self.journal.run.answer();
        let outcome = self
            .run_hooks(move |run| {
                run(&HookEvent::Stop {
                    message: Some(&answer),
                });
            })
            .await?;
        Ok(outcome
            .filter(HookOutcome::is_blocked)
            .map(|outcome| outcome.reason()))
    }

    /// Runs the hooks of loaded skills for an event. Returns `None` if no loaded skill has hooks.
    pub(crate) async fn run_hooks(
        &mut self,
        with: impl FnOnce(&mut dyn FnMut(&HookEvent<'_>)) + Send + 'static,
    ) -> Result<Option<HookOutcome>, RuntimeError> {
        if !self.has_hooks() {
            return Ok(None);
        }
        let context = Arc::clone(&self.context);
        let skills: Vec<_> = self.active_skills().map(Arc::clone).collect();
        let mut state = self.hooks.clone();
        let (outcome, state) = blocking(move || {
            let active: Vec<_> = skills
                .iter()
                .map(|skill| (&skill.effects.hooks, &skill.trust))
                .collect();
            let mut outcome = HookOutcome::default();
            with(&mut |event| outcome = run_hooks(&context, &active, event, &mut state));
            (outcome, state)
        })
        .await?;
        self.journal.catch_up()?;
        let happened = self.take_hooks(state);
        if !happened.is_empty() {
            self.journal.write_all(happened).await?;
        }
        for said in &outcome.messages {
            self.tell(&format!("{}: {}", said.skill, said.text));
        }
        Ok(Some(outcome))
    }
}

impl Session {
    /// Stores the new state of the hooks. Returns an event for each run-once hook that has run.
    pub(crate) fn take_hooks(&mut self, state: HookState) -> Vec<Event> {
        let known: BTreeSet<_> = self.hooks.fired().collect();
        let new = state.fired().filter(|hook| !known.contains(hook));
        let events = new.map(|(skill, digest, hook)| Event::HookFired {
            skill: skill.into(),
            digest: digest.into(),
            hook,
        });
        let events = events.collect();
        self.hooks = state;
        events
    }
}

/// Returns the cost of a reply, in millionths of a dollar.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an estimate; values out of range saturate"
)]
pub(crate) fn cost(price: &Price, reply: &Reply) -> u64 {
    let usage = &reply.usage;
    let parts = [
        (usage.input, price.input),
        (usage.output, price.output),
        (usage.cache_read, price.cache_read),
        (usage.cache_write, price.cache_write),
    ];
    parts
        .iter()
        .map(|(tokens, price)| *tokens as f64 * price)
        .sum::<f64>()
        .round() as u64
}

pub(crate) fn milliseconds_since(began: Instant) -> u64 {
    u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX)
}
