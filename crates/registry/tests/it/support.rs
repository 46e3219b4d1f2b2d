//! A world with sources of skills.

use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

use prowess_catalog::{Catalog, Precedence, Skill};
use prowess_registry::{FileOptions, FileSource, Known, Place, Registry, Scan, SkillSource};

/// A project that is a repository, and a home.
pub(crate) struct World(prowess_test::World);

impl Deref for World {
    type Target = prowess_test::World;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl World {
    pub(crate) fn new() -> Self {
        Self(prowess_test::World::new())
    }

    /// Writes a skill in the folder `path`, named like the folder.
    pub(crate) fn skill(&self, path: &str) {
        self.described(path, "what it does");
    }

    pub(crate) fn described(&self, path: &str, description: &str) {
        let name = path.rsplit('/').next().unwrap();
        self.file(format!("{path}/SKILL.md"), text(name, description));
    }

    /// Returns a place with this current folder and the home of the world.
    pub(crate) fn standing_in(&self, current: &str) -> Place {
        Place {
            current: self.path(current),
            home: Some(self.path("~")),
            ..Place::default()
        }
    }

    pub(crate) fn source(&self) -> FileSource {
        FileSource::new(self.standing_in(""), FileOptions::default())
    }

    /// Scans everything visible from the repository.
    pub(crate) fn scan(&self) -> Scan {
        self.source().scan(Known::default())
    }

    /// Scans a single folder.
    pub(crate) fn scan_only(&self, path: &str) -> Scan {
        only(&self.path(path)).scan(Known::default())
    }

    /// Returns the locations of the skills of a scan, sorted.
    pub(crate) fn locations(&self, scan: &Scan) -> Vec<String> {
        let mut found: Vec<String> = scan
            .skills
            .iter()
            .map(|skill| self.relative(skill.location.text()))
            .collect();
        found.sort();
        found
    }

    /// Returns the faults of a scan: location and reason.
    pub(crate) fn faults(&self, scan: &Scan) -> Vec<(String, String)> {
        let told = |fault: &prowess_registry::SourceFault| {
            (self.relative(fault.location.text()), fault.why.to_string())
        };
        scan.faults.iter().map(told).collect()
    }

    /// Returns the notices of a scan, with relative paths.
    pub(crate) fn notices(&self, scan: &Scan) -> Vec<String> {
        let bases = [("", ""), ("~", "~/"), ("..", "../")];
        let shorten = |notice: &prowess_registry::ScanNotice| {
            bases
                .iter()
                .fold(format!("{notice:?}"), |text, (base, short)| {
                    text.replace(&format!("{}/", self.text(base)), short)
                })
        };
        scan.notices.iter().map(shorten).collect()
    }
}

pub(crate) fn text(name: &str, description: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\n---\n\nDo it.\n")
}

pub(crate) fn only(folder: &Path) -> FileSource {
    FileSource::of_folder(folder.to_owned(), FileOptions::default())
}

/// Creates a registry of these sources and scans them.
pub(crate) fn registry(sources: Vec<FileSource>) -> Registry {
    let registry = Registry::new(Precedence::default());
    for source in sources {
        registry.add_files(source);
    }
    registry.refresh();
    registry
}

pub(crate) fn catalog(scan: &Scan) -> Catalog {
    Catalog::new(scan.skills.clone(), Precedence::default(), 1)
}

/// Returns the listed names.
pub(crate) fn names(catalog: &Catalog) -> Vec<String> {
    catalog
        .listed()
        .map(|entry| entry.name().to_owned())
        .collect()
}

/// Returns the heads of a scan in a fixed order, for comparison.
pub(crate) fn heads(scan: &Scan) -> Vec<Arc<Skill>> {
    let mut heads = scan.skills.clone();
    heads.sort_by(|a, b| a.id.cmp(&b.id));
    heads
}

/// Creates a FIFO, which would block a normal open forever.
pub(crate) fn fifo(path: &Path) {
    use rustix::fs::{CWD, FileType, Mode};
    rustix::fs::mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
}

/// A small deterministic random number generator.
pub(crate) struct Rng(pub(crate) u64);

impl Rng {
    pub(crate) fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}
