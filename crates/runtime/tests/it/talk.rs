//! Short conversations, and how they began.

use std::sync::Arc;

use prowess_agent::{Event, Started};
use prowess_policy::Answer;
use prowess_runtime::{Engine, Pause, Session};
use prowess_tools::ToolContext;

use crate::script::Script;
use crate::world::{Person, World, events, never, wait};

/// Begins a session, says one thing, and goes on until it is the person's turn. Returns the id.
pub(crate) fn talk(engine: &Engine, message: &str) -> String {
    talk_until(engine, message).0
}

/// The same, and why it paused.
pub(crate) fn talk_until(engine: &Engine, message: &str) -> (String, Pause) {
    wait(async {
        let mut session = Session::start(engine, "t").await.unwrap();
        session.say(message, &never()).await.unwrap();
        let pause = session.proceed(&never()).await.unwrap();
        (session.id().to_owned(), pause)
    })
}

/// Takes a session up again, says one more thing, and goes on.
pub(crate) fn go_on(engine: &Engine, id: &str) {
    wait(async {
        let mut session = Session::resume(engine, id, None).await.unwrap();
        session.say("more", &never()).await.unwrap();
        session.proceed(&never()).await.unwrap();
    });
}

/// How a session began.
pub(crate) fn started(engine: &Engine, id: &str) -> Started {
    match events(engine, id).remove(0).event {
        Event::Started(started) => *started,
        other => panic!("{other:?}"),
    }
}

/// What an engine is made of, with a person who always gives the same answer.
pub(crate) fn asking(
    world: &World,
    model: Arc<Script>,
    answer: Answer,
) -> (ToolContext, Arc<Person>) {
    let person = Person::says(answer);
    let mut parts = world.parts(model);
    parts.services.approver = Arc::clone(&person) as Arc<dyn prowess_traits::Approver>;
    (parts, person)
}
