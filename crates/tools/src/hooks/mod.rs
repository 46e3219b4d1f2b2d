//! Hooks in the frontmatter of skills: commands that run when something happens in a conversation.
//!
//! [`HookSet::read`] takes them from the frontmatter, [`run_hooks`] runs those that an event is for.
//! The shape, the exit codes and the answers are Claude Code's, with these differences:
//!
//! - A hook lives while its skill is active, not for the rest of the session. Whoever keeps the
//!   conversation passes the skills that are active now.
//! - Only the hooks of trusted skills run, each through the gate as that skill, and in the sandbox.
//!   A skill is looked at again before its hooks run: one changed byte, and they do not.
//! - **A hook can tighten and never widen.** `deny` and `ask` count; `allow` is advice that changes
//!   nothing, so a hook never overrides what the gate denies or asks. Input that a hook rewrote must
//!   pass the gate like any other.
//! - Hooks run one after the other, skills in the order given, hooks in the order of the file. Each
//!   sees the input as the ones before it left it.
//! - A hook starts in the project, from where the gate judges its paths. A program that is a file of
//!   the skill (`./scripts/check.sh`) is taken from there: it is the file that a person trusted, and
//!   not one that a project put in its way.
//! - The events are [`EventName::ALL`], and the only handlers are commands. Others are reported and
//!   kept out.
//! - The time limit is 60 seconds unless the hook says otherwise, and never more than 600.
//! - A hook that the gate does not let run is no block. A person who said no to it is not asked again
//!   in the same session.

mod answer;
mod event;
mod matcher;
mod read;
mod run;

pub use event::{EventName, HookEvent, ToolCall};
pub use matcher::Matcher;
pub use read::{Handler, HookSet, MAX_HANDLERS};
pub use run::{HookEnd, HookOutcome, HookRun, HookState, Said, run_hooks};
