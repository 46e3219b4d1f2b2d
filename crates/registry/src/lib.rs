//! Reads skill packages from disk.
//!
//! The only crate that walks folders and opens skill files. It passes bytes and file metadata to
//! `prowess-spec`, which parses them. It never writes inside a skill folder.

mod agent_files;
pub mod bundled;
mod cache;
mod contents;
mod conversion_files;
#[cfg(feature = "counters")]
#[doc(hidden)]
pub mod counters;
pub mod digest;
pub mod fs;
mod head_format;
mod link_route;
pub mod media_type;
pub mod memory;
mod mission_files;
pub mod nofollow;
pub mod registry;
pub mod replace;
pub mod resource;
mod search_index;
mod skill_scan;
pub mod source;
mod stamp;
pub mod subscribe;

pub use agent_files::{
    AgentPath, FoundAgentFile, OpenProject, agent_files, agent_paths_below, agent_place,
    agent_places, read_agent_file, read_agent_source, read_agent_text,
};
pub use contents::{
    ContentsError, SkillContents, digest_of, files_of, skill_path, text_and_digest,
};
pub use conversion_files::{ConversionFiles, ConversionProjects};
pub use fs::package::PackageOnDisk;
pub use fs::read::{FoundSkill, read_folder, read_path};
pub use fs::skill_folders::{
    LinkBounds, PackageFolders, Place, RootContents, SkillRoot, repository,
};
pub use fs::source::{FileOptions, FileSource};
pub use fs::walk::{ScanNotice, Visit, WalkOptions, WalkSummary, visit_all, walk};
pub use fs::watch::{WatchHandle, WatchMode, WatchOptions};
pub use link_route::{OutsideRoute, outside_route};
pub use memory::{InvalidSkill, MemorySource, NewSkill, SkillBuilder};
pub use mission_files::{MissionFiles, mission_file_stamps, mission_folder};
pub use registry::{LoadError, LoadReport, ReadError, RegisterError, Registry, Report};
pub use skill_scan::{ScannedFile, SkillScan, scan_skill};
pub use source::{Known, Scan, SearchedFolder, SkillSource, SourceFault, SourceFaultKind};
pub use stamp::{file_stamp, is_at_rest};
pub use subscribe::{ChangeSet, Subscription};
