//! Helpers for short conversations.

use std::sync::Arc;

use prowess_agent::{Event, Started};
use prowess_policy::ApprovalAnswer;
use prowess_runtime::{Engine, Pause, Session};
use prowess_tools::ToolContext;

use crate::script::Script;
use crate::world::{Person, World, events, never, wait};

/// Starts a session, sends one message and proceeds. Returns the id.
pub(crate) fn talk(engine: &Engine, message: &str) -> String {
    talk_until(engine, message).0
}

/// Like [`talk`], and also returns the pause.
pub(crate) fn talk_until(engine: &Engine, message: &str) -> (String, Pause) {
    wait(async {
        let mut session = Session::start(engine, "t").await.unwrap();
        session.say(message, &never()).await.unwrap();
        let pause = session.proceed(&never()).await.unwrap();
        (session.id().to_owned(), pause)
    })
}

/// Resumes a session, sends one message and proceeds.
pub(crate) fn go_on(engine: &Engine, id: &str) {
    wait(async {
        let mut session = Session::resume(engine, id, None).await.unwrap();
        session.say("more", &never()).await.unwrap();
        session.proceed(&never()).await.unwrap();
    });
}

/// Returns the first event of a session.
pub(crate) fn started(engine: &Engine, id: &str) -> Started {
    match events(engine, id).remove(0).event {
        Event::Started(started) => *started,
        other => panic!("{other:?}"),
    }
}

/// Returns a context for an engine, with an approver that always gives the same answer.
pub(crate) fn asking(
    world: &World,
    model: Arc<Script>,
    answer: ApprovalAnswer,
) -> (ToolContext, Arc<Person>) {
    let person = Person::says(answer);
    let mut parts = world.parts(model);
    parts.services.approver = Arc::clone(&person) as Arc<dyn prowess_traits::Approver>;
    (parts, person)
}
