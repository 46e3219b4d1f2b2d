//! Hooks in the frontmatter of skills: commands that run at events of a conversation.
//!
//! [`HookSet::read`] parses them from the frontmatter, [`run_hooks`] runs the hooks of an event.
//! The format, the exit codes and the answers are Claude Code's, with these differences:
//!
//! - A hook runs only while its skill is active, not for the rest of the session. The session
//!   passes the skills that are active at the time of the event.
//! - Only hooks of trusted skills run. The gate checks each one as an action of its skill, and it
//!   runs in the sandbox. The skill is hashed again first: after any change, its hooks do not run.
//! - **A hook can tighten permissions, never widen them.** `deny` and `ask` count; `allow` is
//!   advisory, so a hook never overrides a decision of the gate. Input rewritten by a hook is
//!   checked by the gate like any other.
//! - Hooks run one after another: skills in the order given, hooks in the order of the file. Each
//!   hook receives the input as changed by the previous ones.
//! - A hook starts in the project, and the gate resolves its paths from there. A program that is a
//!   file of the skill (`./scripts/check.sh`) is run from the skill's folder, so that a project
//!   cannot replace a trusted file with its own.
//! - The supported events are [`EventName::ALL`], and the only handlers are commands. Others are
//!   reported and ignored.
//! - The default timeout is 60 seconds, the maximum 600.
//! - If a rule, a setting or a restriction of another skill prevents a hook of `PreToolUse`, the call
//!   that it checks is refused; if the hook needs approval and does not get it, the call needs
//!   approval. If the user denies a hook, there is no second prompt for it in the same session.

mod answer;
mod event;
mod matcher;
mod parse;
mod run;

pub use event::{EventName, HookEvent, HookToolCall};
pub use matcher::Matcher;
pub use parse::{Handler, HookSet, MAX_HANDLERS};
pub use run::{HookEnd, HookOutcome, HookRun, HookState, Said, hook_obstacle, run_hooks};
