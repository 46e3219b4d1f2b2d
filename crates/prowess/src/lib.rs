//! The runtime for Agent Skills, as a library.
//!
//! A *skill* is a folder with a `SKILL.md`. A [`Registry`] holds all skills of a program: those in
//! folders, those built in code, and those that are shipped with it. Readers use an immutable
//! [`Catalog`] and never wait for a writer.
//!
//! # Skills in folders
//!
//! ```
//! use prowess::{FileOptions, Place, Precedence, Registry};
//!
//! # let project = tempfile::tempdir()?;
//! # let folder = project.path().join(".agents/skills/release-notes");
//! # std::fs::create_dir_all(&folder)?;
//! # std::fs::write(
//! #     folder.join("SKILL.md"),
//! #     "---\nname: release-notes\ndescription: Writes release notes. Use when a version is cut.\n---\nRead the log.\n",
//! # )?;
//! let place = Place { current: project.path().to_owned(), ..Place::default() };
//! let registry = Registry::open(place, FileOptions::default(), Precedence::default());
//!
//! let skill = registry.get("release-notes")?;
//! assert_eq!(&*skill.description, "Writes release notes. Use when a version is cut.");
//!
//! // The error for an unknown name lists similar names.
//! let fault = registry.get("release-note").unwrap_err();
//! assert_eq!(&*fault.near[0], "release-notes");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Skills built in code
//!
//! The same rules apply as for files.
//!
//! ```
//! use prowess::{NewSkill, Registry};
//!
//! let registry = Registry::default();
//! let skill = NewSkill::builder("greet", "Greets people. Use when a guest arrives.")
//!     .instructions("Say hello to $ARGUMENTS.")
//!     .metadata("team", "front-desk")
//!     .build()?;
//! registry.register(skill)?;
//! assert_eq!(registry.list().len(), 1);
//!
//! assert!(NewSkill::builder("Not A Name", "x").instructions("y").build().is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Changes
//!
//! ```
//! use prowess::{ChangeKind, NewSkill, Registry};
//!
//! let registry = Registry::default();
//! let changes = registry.subscribe();
//! let skill = NewSkill::builder("greet", "Greets people.").instructions("Say hello.").build()?;
//! registry.replace(skill);
//! let set = changes.try_next().expect("a change");
//! assert_eq!(set.changes[0].kind, ChangeKind::Added);
//! // `registry.watch(WatchOptions::default())` reports changes on disk too.
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What a model sees
//!
//! ```
//! use prowess::index::{self, IndexOptions};
//! use prowess::search::SearchQuery;
//! use prowess::{Audience, CatalogView, NewSkill, Registry, Visibility};
//!
//! let registry = Registry::default();
//! for (name, what) in [("pdf-forms", "Fills in PDF forms."), ("csv-report", "Sums up a CSV file.")] {
//!     registry.replace(NewSkill::builder(name, what).instructions("Do it.").build()?);
//! }
//!
//! let catalog = registry.snapshot();
//! let visibility = Visibility::default();
//! let view = CatalogView::new(&catalog, &visibility, Audience::Model);
//! let listing = index::index(&index::entries(&view, &[]), &IndexOptions::default());
//! assert!(listing.text.contains("- **pdf-forms** — Fills in PDF forms."));
//!
//! let hits = registry.search(&SearchQuery::new("fill in a form"));
//! assert_eq!(&*hits[0].skill.name, "pdf-forms");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Missions
//!
//! Reading and checking a mission runs nothing. `Engine::run_mission` runs it; the example `mission`
//! has the rest.
//!
//! ```
//! use prowess::flow::NoFiles;
//! use prowess::flow::mission::{GraphFormat, MissionProject, MissionSettings, MissionText};
//!
//! let text = r#"
//! mission "tidy" {
//!   task "sweep" { objective = "Sweep." }
//! }
//! "#;
//! let files = [MissionText {
//!     path: "mission.hcl".to_owned(),
//!     bytes: Ok(text.into()),
//! }];
//! let (plan, reports) = MissionProject::read(&files, &NoFiles, &MissionSettings::default());
//! let mission = plan.mission("tidy").unwrap();
//! assert!(mission.graph(GraphFormat::Text).contains("sweep"));
//! // It has no commander and no agents: findings with their lines.
//! assert!(!reports[0].diagnostics.is_empty());
//! ```

mod agent_trust;
mod host_paths;
pub mod inspect;
mod mission_costs;
#[cfg(feature = "providers")]
mod mission_models;
mod mission_servers;
mod runtime;
mod skills;
pub mod validate;

pub use agent_trust::RecordedAgentTrust;
pub use host_paths::HostPaths;
#[cfg(feature = "providers")]
pub use mission_models::{MissionModelError, MissionModels};
pub use mission_servers::{MissionServers, mission_servers, stand_in_servers};
pub use prowess_agent as agent;
pub use prowess_catalog::{
    Audience, Catalog, CatalogChange, CatalogEntry, CatalogView, ChangeKind, FileStamp,
    HiddenReason, LookupRefusal, Precedence, Scope, Skill, SkillForm, SkillGrant, SkillId,
    SkillNotFound, SkillOrigin, SkillVisibility, Visibility, VisibilityOverride, index, rank,
};
pub use prowess_config as config;
pub use prowess_diag as diag;
pub use prowess_flow as flow;
#[cfg(feature = "providers")]
pub use prowess_http as http;
pub use prowess_lint as lint;
#[cfg(feature = "providers")]
pub use prowess_models as models;
pub use prowess_policy as policy;
pub use prowess_registry::{
    ChangeSet, FileOptions, FileSource, InvalidSkill, Known, LoadError, LoadReport, MemorySource,
    NewSkill, Place, ReadError, RegisterError, Registry, Report, Scan, ScanNotice, SkillBuilder,
    SkillSource, SourceFault, SourceFaultKind, Subscription, WalkOptions, WatchHandle, WatchMode,
    WatchOptions, resource,
};
pub use prowess_render as render;
pub use prowess_runtime::{
    AgentRun, BUILT_IN_AGENTS, CancellationToken, Ending, EndingKind, Engine, FailureKind,
    FinishedRun, Models, Pause, RuntimeError, Services, Session, Settings, SkillRef, Update,
    Watcher, ranked_skills, skill_index, starting_index,
};
/// Runs of missions.
pub mod mission {
    pub use crate::mission_costs::{MissionCosts, mission_costs};
    pub use prowess_registry::{MissionFiles, mission_folder};
    pub use prowess_runtime::{
        FinishedMission, MissionCancel, MissionRequest, MissionResume, MissionServices,
        cancel_mission, checked_inputs, mission_events, mission_outputs, mission_run_above,
        mission_state,
    };
}
pub use prowess_sandbox as sandbox;
pub use prowess_search as search;
pub use prowess_spec as spec;
pub use prowess_store as store;
pub use prowess_tools::{
    self as tools, Activation, ActivationRequest, SkillSnapshot, ToolContext, activate, open,
};
pub use prowess_traits as traits;
pub use prowess_trust as trust;
pub use runtime::{AgentTask, BuildError, RunError, Runtime, RuntimeBuilder, SkillRun, TaskRun};
pub use skills::{
    LoadSkillError, RenderError, TypedSkill, define_skill, load_skill, load_typed_skill,
    parse_skill, parse_skill_named, render_skill,
};
