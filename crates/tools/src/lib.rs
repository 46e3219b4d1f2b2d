//! Skills as tools of an agent.
//!
//! [`Workshop`] is everything that the tools need; [`activate()`] turns a skill and its arguments into
//! exactly the text that a model receives. The same code stands behind sessions, MCP, the command and
//! the library.

mod activate;
mod expand;
mod hooks;
mod loaded;
mod workshop;

pub use activate::{Activation, ActivationError, Given, activate};
pub use expand::{CommandRun, Execution, ExpandError};
pub use hooks::{
    EventName, Handler, HookEnd, HookEvent, HookOutcome, HookRun, HookSet, HookState, MAX_HANDLERS,
    Matcher, Said, ToolCall, run_hooks,
};
pub use loaded::{Loaded, LoadedSkill};
pub use workshop::{CLOSING, Places, Settings, Workshop};
