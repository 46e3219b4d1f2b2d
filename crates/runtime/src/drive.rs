//! Going on until it is somebody else's turn.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use prowess_agent::{
    CompactPlan, Delta, Ending, Event, Limit, Options, Reply, Request, Step, Stop, ToolChoice,
};
use prowess_catalog::index::{self, NoteOptions, Shown};
use prowess_catalog::{View, Who};
use prowess_tools::names::LOAD_SKILL;
use prowess_tools::{HookEvent, HookOutcome, HookState, run_hooks};
use prowess_traits::{ModelError, ModelErrorKind, Price, Update};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::error::RuntimeError;
use crate::journal::blocking;
use crate::outcome::Pause;
use crate::say::PendingMessage;
use crate::session::Session;
use crate::trace;

/// How a question to a model ended.
enum Asked {
    Answer(Reply, u64),
    Failed(ModelError),
    Cancelled,
    OutOfTime,
}

/// Who sees the pieces of an answer. Those of a summary are no part of the conversation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DeltaAudience {
    ByAll,
    ByNobody,
}

impl Session {
    /// Goes on until the model answered, or the session ended. Cancelling ends what is under way,
    /// and leaves a session that can be taken up again.
    pub async fn proceed(&mut self, cancel: &CancellationToken) -> Result<Pause, RuntimeError> {
        let span = trace::agent(self);
        let pause = self.go_on(cancel).instrument(span.clone()).await;
        trace::paused(&span, &pause);
        pause
    }

    async fn go_on(&mut self, cancel: &CancellationToken) -> Result<Pause, RuntimeError> {
        loop {
            let step = self.journal.run.next();
            if cancel.is_cancelled() && !matches!(step, Step::Done(_) | Step::Wait | Step::End(_)) {
                return self.end(Ending::Cancelled).await;
            }
            let asks_soon = matches!(
                step,
                Step::AskModel | Step::Prune { .. } | Step::Compact { .. }
            );
            if asks_soon && !self.pending.is_empty() {
                self.write_said(PendingMessage::default(), None).await?;
                continue;
            }
            match step {
                Step::AskModel => {
                    if let Some(pause) = self.ask(cancel).await? {
                        return Ok(pause);
                    }
                }
                Step::CallTools(calls) => {
                    for open in calls {
                        if cancel.is_cancelled() {
                            return self.end(Ending::Cancelled).await;
                        }
                        self.call(open, cancel).await?;
                        if self.journal.run.ending().is_some() {
                            break;
                        }
                    }
                }
                Step::Remind(text) => {
                    self.journal.write(Event::note(text)).await?;
                }
                Step::Prune { before } => self.journal.write(Event::Pruned { before }).await?,
                Step::Compact(plan) => self.compact(&plan, cancel).await?,
                Step::Wait => {
                    if let Some(reason) = self.stop_hooks().await? {
                        self.journal.write(Event::note(reason)).await?;
                        continue;
                    }
                    return Ok(Pause::Answered(self.journal.run.answer()));
                }
                Step::End(ending) => return self.end(ending).await,
                Step::Done(ending) => return Ok(Pause::Ended(ending)),
            }
        }
    }

    /// Writes down how it ended.
    pub(crate) async fn end(&mut self, ending: Ending) -> Result<Pause, RuntimeError> {
        self.journal
            .write(Event::Ended {
                ending: ending.clone(),
            })
            .await?;
        Ok(Pause::Ended(ending))
    }

    async fn ask(&mut self, cancel: &CancellationToken) -> Result<Option<Pause>, RuntimeError> {
        self.note_background().await?;
        self.note_changes().await?;
        let declarations = self.declared();
        let tools: Vec<Box<str>> = declarations.iter().map(|tool| tool.name.clone()).collect();
        let settings = self.engine.settings();
        let options = Options {
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
        let asked = self.question(&request, cancel, DeltaAudience::ByAll).await;
        // What nobody else has need not be copied to take the answer in.
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
                self.end(Ending::Exhausted { limit: Limit::Time }).await?,
            )),
            Asked::Failed(error) => {
                // A provider that counts otherwise than we do: shorten, and ask again, twice at most.
                let plan = (error.kind == ModelErrorKind::ContextTooLong && self.too_long < 2)
                    .then(|| self.journal.run.compaction())
                    .flatten();
                if let Some(plan) = plan {
                    self.too_long += 1;
                    self.compact(&plan, cancel).await?;
                    return Ok(None);
                }
                let ending = Ending::Failed {
                    kind: error.kind.failure(),
                    message: error.to_string(),
                };
                Ok(Some(self.end(ending).await?))
            }
        }
    }

    /// Asks the model, within the time that is left.
    async fn question(
        &self,
        request: &Request,
        cancel: &CancellationToken,
        heard: DeltaAudience,
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
            if heard == DeltaAudience::ByAll {
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

    /// Tells the model what changed among its skills. The index itself is never rewritten, so that
    /// the provider's cache stays warm.
    async fn note_changes(&mut self) -> Result<(), RuntimeError> {
        let catalog = self.context.services.registry.snapshot();
        if catalog.generation() == self.generation && !self.touched {
            return Ok(());
        }
        (self.generation, self.touched) = (catalog.generation(), false);
        let (note, now) = {
            let view = View::new(&catalog, &self.context.settings.visibility, Who::Model);
            let entries = index::entries(&view, &[]);
            (
                index::note(&self.known, &entries, &NoteOptions::default()),
                Shown::of(&entries),
            )
        };
        let can_load = self
            .tools
            .tools(&self.context)
            .any(|tool| tool.name() == LOAD_SKILL);
        if let Some(note) = note.filter(|_| can_load || !self.known.skills.is_empty()) {
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

    /// Sums up the beginning of the conversation now, where there is enough of it. Tells whether
    /// there was.
    pub async fn shorten(&mut self, cancel: &CancellationToken) -> Result<bool, RuntimeError> {
        self.close_calls("The person wants something else now.")
            .await?;
        let Some(plan) = self.journal.run.compaction() else {
            return Ok(false);
        };
        self.compact(&plan, cancel).await?;
        Ok(true)
    }

    async fn compact(
        &mut self,
        plan: &CompactPlan,
        cancel: &CancellationToken,
    ) -> Result<(), RuntimeError> {
        self.tell("The conversation is long: its beginning is summed up");
        let request = Request {
            system: vec!["You sum up conversations so that the work can go on.".to_owned()],
            messages: vec![prowess_agent::Message::user(plan.question())].into(),
            options: Options {
                choice: ToolChoice::None,
                ..Options::default()
            },
            tools: Vec::new(),
        };
        let answer = match self
            .question(&request, cancel, DeltaAudience::ByNobody)
            .await
        {
            Asked::Answer(reply, _) => Some(reply),
            Asked::Failed(_) | Asked::Cancelled | Asked::OutOfTime => None,
        };
        // It is paid for, whatever it is worth.
        let usage = answer.as_ref().map(|reply| reply.usage).unwrap_or_default();
        let whole =
            answer.filter(|reply| reply.stop != Stop::Refused && reply.calls().next().is_none());
        let text = whole.map(|reply| {
            prowess_agent::Message {
                role: prowess_agent::Role::Assistant,
                parts: reply.parts,
            }
            .text()
        });
        self.journal
            .write(plan.event(text.as_deref(), usage))
            .await?;
        for name in &plan.unloaded {
            self.loaded.remove(name);
        }
        let active = self.journal.run.active();
        for skill in active.iter().filter(|skill| plan.cut.contains(&skill.name)) {
            self.loaded.restore(skill.clone(), None);
        }
        if !plan.unloaded.is_empty() {
            self.tell(&format!(
                "There was no room for these skills: {}",
                plan.unloaded.join(", ")
            ));
        }
        if !plan.cut.is_empty() {
            self.tell(&format!(
                "Of these skills only the beginning stays: {}",
                plan.cut.join(", ")
            ));
        }
        Ok(())
    }

    /// Asks the hooks of loaded skills whether the agent may stop; says why not.
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

    /// Runs the hooks of loaded skills for an event; nothing where no skill has any.
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
        let mut happened = self.notes.take(None);
        happened.extend(self.take_hooks(state));
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
    /// Takes over what is remembered about hooks, and says which of those ran that run only once.
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

/// What an answer costs, in millionths of a dollar.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an estimate of money; numbers beyond the range become its end"
)]
fn cost(price: &Price, reply: &Reply) -> u64 {
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
