//! What a commander does besides its own tools: several agents at a time, and questions about their
//! work.

use std::sync::Arc;
use std::time::Instant;

use prowess_agent::{
    CallState, Ending, Event, Message, MessagePart, OpenCall, Request, RequestOptions, Run,
    TokenUsage, ToolCall, ToolChoice, ToolResult,
};
use prowess_tools::answer;
use prowess_traits::BoxFuture;
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::agent_run;
use crate::child::AgentChild;
use crate::decision_log::Work;
use crate::error::RuntimeError;
use crate::journal::blocking;
use crate::mission::desk::{ASK_AGENT, ASK_COMMANDER};
use crate::session::Session;
use crate::session_loop::milliseconds_since;
use crate::team_tools::CALL_AGENT;
use crate::trace;

impl Session {
    /// Returns `true` if the session is that of a commander.
    pub(crate) fn is_commander(&self) -> bool {
        self.profile().is_some_and(|profile| profile.is_commander)
    }

    /// Returns the number of calls at the beginning of a list that start agents side by side; 0 if
    /// they are made one after another.
    pub(crate) fn count_together(&self, calls: &[OpenCall]) -> usize {
        if !self.is_commander() {
            return 0;
        }
        let is_new = |open: &&OpenCall| {
            open.state == CallState::New
                && &*open.call.name == CALL_AGENT
                && open.call.fault.is_none()
        };
        let count = calls.iter().take_while(is_new).count();
        if count > 1 { count } else { 0 }
    }

    /// Starts several agents and waits for all of them, some at a time. Each call is judged and
    /// recorded before its agent starts.
    pub(crate) fn call_together<'s>(
        &'s mut self,
        calls: Vec<OpenCall>,
        cancel: &'s CancellationToken,
    ) -> BoxFuture<'s, Result<(), RuntimeError>> {
        Box::pin(self.start_together(calls, cancel))
    }

    async fn start_together(
        &mut self,
        calls: Vec<OpenCall>,
        cancel: &CancellationToken,
    ) -> Result<(), RuntimeError> {
        let limit = self
            .engine
            .mission()
            .map_or(1, |parts| parts.parallel.max(1));
        let places = Arc::new(Semaphore::new(limit));
        let mut running = JoinSet::new();
        let mut waiting = Vec::new();
        let mut stopped = None;
        for OpenCall { call, .. } in calls {
            let run = &self.journal.run;
            let work = Work::new(run, Some(&call.id), &call.name, call.input.clone());
            self.journal.decisions.begin(work);
            let admitted = self.admit_agent(&call).await;
            let started = match admitted? {
                Ok(child) => {
                    self.start_call(&call).await?;
                    self.journal.decisions.commit();
                    Some(child)
                }
                Err(why) => {
                    self.answered(ToolResult::error(&call, why)).await?;
                    None
                }
            };
            waiting.extend(self.journal.decisions.end());
            self.journal.catch_up()?;
            let Some(child) = started else {
                continue;
            };
            let mut context = self.confined();
            if let Some(outside) = &self.outside {
                outside.restore(&mut context);
            }
            let (engine, cancel) = (self.engine.clone(), cancel.clone());
            let places = Arc::clone(&places);
            running.spawn(async move {
                let AgentChild { name, start, task } = child;
                let _place = places.acquire_owned().await;
                let began = Instant::now();
                let run = agent_run::run_in(&engine, context, start, &task, &cancel);
                let finished = Box::pin(run).await;
                (call, name, finished, began)
            });
        }
        while let Some(ended) = running.join_next().await {
            let (call, name, finished, began) =
                ended.map_err(|error| RuntimeError::Task(error.to_string()))?;
            if let Ok(finished) = &finished
                && let Ending::Waiting { questions } = &finished.ending
            {
                waiting.extend(questions.iter().cloned());
                continue;
            }
            if let Some(ending) = self.stopped_with(&finished) {
                stopped = Some(ending);
                continue;
            }
            let Some((result, usage)) = self.child_result(&call, &name, finished)? else {
                continue;
            };
            let span = trace::tool(self, &call);
            self.forked(&call, result, usage, began, &span).await?;
        }
        if let Some(ending) = stopped {
            self.end(ending).await?;
            return Ok(());
        }
        self.waiting = waiting;
        Ok(())
    }

    /// Returns `true` if a call asks another conversation of the mission.
    pub(crate) fn asks_conversation(&self, call: &ToolCall) -> bool {
        self.is_commander() && matches!(&*call.name, ASK_AGENT | ASK_COMMANDER)
    }

    /// Asks the model of another conversation a question about it, without tools. The other
    /// conversation is only read: the question and the answer are recorded here. Rules about the tool
    /// and the budgets of the mission apply, as to any request.
    pub(crate) async fn ask_conversation(
        &mut self,
        call: &ToolCall,
        cancel: &CancellationToken,
    ) -> Result<(), RuntimeError> {
        let (tools, context) = (Arc::clone(&self.tools), Arc::clone(&self.context));
        let (loaded, asked) = (self.loaded.clone(), call.clone());
        let admitted =
            blocking(move || tools.admit_call(&context, &loaded, &asked.name, &asked.input));
        if let Err(error) = admitted.await? {
            let refused = ToolResult::error(call, error.to_string());
            return self.answered(refused).await;
        }
        if self.engine.reached_limit().is_some() {
            let text = "The budget is used up, so the question was not sent.";
            return self.answered(ToolResult::error(call, text)).await;
        }
        self.journal.catch_up()?;
        let began = Instant::now();
        let started = Event::CallStarted {
            call: call.id.clone(),
            read_only: true,
            child: None,
        };
        self.journal.write(started).await?;
        let (result, usage) = match self.other_answer(call, cancel).await? {
            Ok((text, usage)) => (ToolResult::of(call, text), Some(usage)),
            Err(why) => (ToolResult::error(call, why), None),
        };
        let ended = Event::CallEnded {
            result,
            loaded: Vec::new(),
            unloaded: Vec::new(),
            submitted: None,
            usage,
            milliseconds: milliseconds_since(began),
        };
        self.journal.write(ended).await
    }

    async fn other_answer(
        &mut self,
        call: &ToolCall,
        cancel: &CancellationToken,
    ) -> Result<Result<(String, TokenUsage), String>, RuntimeError> {
        let text = |key: &str| {
            call.input
                .get(key)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let question = text("question").trim();
        if question.is_empty() {
            return Ok(Err("The question is empty.".to_owned()));
        }
        let asked: Box<str> = if &*call.name == ASK_AGENT {
            text("id").trim().into()
        } else {
            let task = text("task").trim();
            let desk = self.desk.as_ref();
            if let Some(session) = desk.and_then(|desk| desk.commander(task)) {
                session.into()
            } else {
                let task = answer::shown(task);
                return Ok(Err(format!("No earlier task is named {task}.")));
            }
        };
        let (store, id) = (Arc::clone(self.engine.sessions()), asked.clone());
        let Ok(events) = blocking(move || store.events(&id)).await? else {
            let id = answer::shown(&asked);
            return Ok(Err(format!(
                "No session {id}. Use an id from the answers of `call_agent`."
            )));
        };
        let Ok(run) = Run::replay(&events) else {
            return Ok(Err("The conversation cannot be read.".to_owned()));
        };
        let about = run.started().cloned().unwrap_or_default();
        let is_own = about
            .parent
            .as_ref()
            .is_some_and(|parent| parent.session == self.journal.id);
        if &*call.name == ASK_AGENT && !is_own {
            let id = answer::shown(&asked);
            return Ok(Err(format!("Session {id} is not one of your agents.")));
        }
        let model = self.engine.find_model(&about.model);
        let model = model.unwrap_or_else(|_| Arc::clone(&self.model));
        let mut messages: Vec<Message> = run.messages().to_vec();
        // Earlier questions to the same conversation belong to it.
        let mut said = self.earlier_questions(call, &asked);
        said.push(Message::user(format!(
            "Question about your work from the commander of the task. Answer it in text; you cannot \
             use tools now.\n\n{question}"
        )));
        messages.extend(said);
        let request = Request {
            system: about.system.clone(),
            messages: closed(messages).into(),
            options: RequestOptions {
                choice: ToolChoice::None,
                ..RequestOptions::default()
            },
            tools: Vec::new(),
        };
        let mut ignored = |_| {};
        let answer = tokio::select! {
            biased;
            () = cancel.cancelled() => return Ok(Err("It was cancelled.".to_owned())),
            answer = model.ask(&request, &mut ignored) => answer,
        };
        Ok(match answer {
            Ok(mut reply) => {
                if reply.usage.micros.is_none() {
                    let price = model.about().price;
                    reply.usage.micros =
                        price.map(|price| crate::session_loop::cost(&price, &reply));
                }
                self.engine.spend(&reply.usage);
                let usage = reply.usage;
                let text = Message {
                    role: prowess_agent::MessageRole::Assistant,
                    parts: reply.parts,
                }
                .text();
                Ok((text, usage))
            }
            Err(error) => Err(error.to_string()),
        })
    }

    /// Returns the earlier questions of this session to a conversation, with their answers.
    fn earlier_questions(&self, call: &ToolCall, asked: &str) -> Vec<Message> {
        let field = if &*call.name == ASK_AGENT {
            "id"
        } else {
            "task"
        };
        let target = call.input.get(field);
        let parts = || {
            let messages = self.journal.run.messages().iter();
            messages.flat_map(|message| &message.parts)
        };
        let mut found = Vec::new();
        for part in parts() {
            let MessagePart::Call(earlier) = part else {
                continue;
            };
            let is_same = earlier.name == call.name
                && earlier.id != call.id
                && earlier.input.get(field) == target
                && !asked.is_empty();
            let result = parts().find_map(|part| match part {
                MessagePart::Result(result) if result.call == earlier.id => Some(result),
                _ => None,
            });
            let question = earlier.input.get("question").and_then(Value::as_str);
            if let (true, Some(result), Some(question)) = (is_same, result, question) {
                found.push(Message::user(question.to_owned()));
                found.push(Message {
                    role: prowess_agent::MessageRole::Assistant,
                    parts: vec![MessagePart::text(result.text.clone())],
                });
            }
        }
        found
    }
}

/// Drops calls without a result, and joins messages of the same role, so that any provider accepts
/// the conversation.
fn closed(messages: Vec<Message>) -> Vec<Message> {
    let results: Vec<Box<str>> = messages
        .iter()
        .flat_map(|message| &message.parts)
        .filter_map(|part| match part {
            MessagePart::Result(result) => Some(result.call.clone()),
            _ => None,
        })
        .collect();
    let mut joined: Vec<Message> = Vec::new();
    for mut message in messages {
        message.parts.retain(|part| match part {
            MessagePart::Call(call) => results.contains(&call.id),
            _ => true,
        });
        match joined.last_mut() {
            _ if message.parts.is_empty() => {}
            Some(last) if last.role == message.role => last.parts.extend(message.parts),
            _ => joined.push(message),
        }
    }
    joined
}
