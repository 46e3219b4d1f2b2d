//! The tools that the agents of a mission use.
//!
//! [`MissionTools`] turns each [`ToolRef`](prowess_flow::mission::ToolRef) of a project into a
//! [`Tool`](crate::Tool), or says why it is missing:
//!
//! 1. [`VariableValues`] has what `prowess mission set` stored and what the environment sets.
//! 2. `prowess::mission_servers` returns the settings of the MCP servers that a mission uses. The
//!    caller starts them and passes their tools in [`MissionToolServices`].
//! 3. [`MissionTools::new`] collects the secrets (secret variables and protected inputs), names the
//!    bound tools, and builds all tools of the mission.
//! 4. [`MissionTools::find`] returns the tools of a list: that of an agent, or that of a skill when it
//!    is loaded, and what is missing with the reason.
//!
//! Every tool asks the gate itself, so a mission needs no gate of its own. An agent gets exactly the
//! tools of its list: the caller adds them to the [`Toolset`](crate::Toolset) of its session. Secrets
//! are markers until a tool acts ([`SecretValues`](crate::SecretValues)).

mod bound;
mod file_slots;
mod time;
mod toolbox;
mod variables;

pub use file_slots::FileSlot;
pub use time::{CurrentTime, MAX_SLEEP, Sleep};
pub use toolbox::{FoundTools, MissingTool, MissionToolServices, MissionTools};
pub use variables::{MissionVariableLookup, VariableOrigin, VariableValues};
