//! The summary of a session, as lists show it.

use prowess_agent::{EndingKind, Event, StampedEvent};
use prowess_traits::SessionSummary;

/// The maximum number of characters of a title in a list.
const MAX_TITLE: usize = 200;

/// Returns the summary of a new session.
pub(crate) fn summarize(id: Box<str>, first: &StampedEvent) -> SessionSummary {
    let started = if let Event::Started(started) = &first.event {
        Some(&**started)
    } else {
        None
    };
    let title = started.map_or("", |started| &started.title);
    let mut ending = None;
    follow(&mut ending, &first.event);
    SessionSummary {
        id,
        title: title.chars().take(MAX_TITLE).collect::<String>().into(),
        project: started
            .map(|started| started.project.clone())
            .unwrap_or_default(),
        model: started
            .map(|started| started.model.clone())
            .unwrap_or_default(),
        parent: started.and_then(|started| Some(started.parent.as_ref()?.session.clone())),
        started: first.at,
        updated: first.at,
        events: 1,
        ending,
        live: false,
    }
}

/// Updates the ending of a session. Any event after an ending reopens the session, except those
/// that have no effect.
pub(crate) fn follow(ending: &mut Option<EndingKind>, event: &Event) {
    match event {
        Event::Ended { ending: how } => *ending = Some(how.kind()),
        Event::Decided(_) | Event::HookFired { .. } | Event::Listed(_) => {}
        Event::Started(_)
        | Event::ActivationStarted { .. }
        | Event::Said { .. }
        | Event::Hinted(_)
        | Event::Noted { .. }
        | Event::Asked { .. }
        | Event::Replied { .. }
        | Event::CallStarted { .. }
        | Event::Questioned(_)
        | Event::Answered { .. }
        | Event::CallEnded { .. }
        | Event::Pruned { .. }
        | Event::Compacted { .. }
        | Event::Mission { .. }
        | Event::Resumed { .. } => *ending = None,
    }
}
