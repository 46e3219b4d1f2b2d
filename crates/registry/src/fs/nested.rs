//! Finds nested skill folders in the project: `apps/web/.agents/skills`.

use std::path::{Path, PathBuf};

use prowess_catalog::Scope;

use super::skill_folders::{self, Place, RootContents, SKILL_FOLDERS, SkillRoot};
use super::walk::{SKIPPED, ScanNotice};

/// Maximum depth below the current folder.
const MAX_DEPTH: usize = 6;
/// Maximum number of files and folders visited. Larger projects must configure their folders.
const MAX_ENTRIES: usize = 200_000;

/// Returns the roots below the current folder, sorted by path. Searches only inside a repository:
/// elsewhere the current folder could be a home folder or the whole disk. Ignored folders are not
/// entered.
pub fn nested_roots(place: &Place) -> (Vec<SkillRoot>, Vec<ScanNotice>) {
    let mut roots = Vec::new();
    let current = &place.current;
    if skill_folders::repository(current).is_none()
        || Some(current.as_path()) == place.home.as_deref()
    {
        return (roots, Vec::new());
    }
    let vendors: Vec<&str> = SKILL_FOLDERS
        .iter()
        .filter_map(|folder| folder.split('/').next())
        .collect();
    let is_vendor = {
        let vendors = vendors.clone();
        move |name: &str| vendors.contains(&name)
    };
    let walk = ignore::WalkBuilder::new(current)
        .max_depth(Some(MAX_DEPTH))
        .hidden(false)
        .follow_links(false)
        .git_global(false)
        .sort_by_file_name(Ord::cmp)
        .filter_entry(move |entry| {
            let name = entry.file_name().to_str().unwrap_or_default();
            let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
            // Hidden folders contain settings and caches; only enter those that agents use.
            let hidden = name.starts_with('.') && !is_vendor(name);
            is_folder && (entry.depth() == 0 || !(hidden || SKIPPED.contains(&name)))
        })
        .build();
    let mut notices = Vec::new();
    for (count, entry) in walk.enumerate() {
        if count >= MAX_ENTRIES {
            notices.push(ScanNotice::TooManyEntries {
                root: current.clone(),
                limit: MAX_ENTRIES,
            });
            break;
        }
        let Ok(entry) = entry else { continue };
        let Some(name) = entry
            .file_name()
            .to_str()
            .filter(|name| vendors.contains(name))
        else {
            continue;
        };
        let Some(parent) = entry.path().parent().filter(|parent| *parent != current) else {
            continue;
        };
        roots.extend(root_in(parent, name, current));
    }
    (roots, notices)
}

fn root_in(parent: &Path, vendor: &str, current: &Path) -> Option<SkillRoot> {
    let folder = SKILL_FOLDERS
        .iter()
        .find(|folder| folder.split('/').next() == Some(vendor))?;
    let path: PathBuf = parent.join(folder);
    let nested = super::location::escape(parent.strip_prefix(current).ok()?).into_string();
    // A vendor folder inside another one belongs to that agent.
    let inside_vendor = nested.split('/').any(|part| part.starts_with('.'));
    (path.is_dir() && !inside_vendor).then(|| SkillRoot {
        scope: Scope::Project,
        path,
        vendor: vendor.trim_start_matches('.').to_owned(),
        nested,
        holds: RootContents::Skills,
    })
}
