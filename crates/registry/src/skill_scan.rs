//! Reads the files of a skill and searches them for text that a person should read first.

use std::path::Path;
use std::sync::Arc;

use prowess_scan::{MAX_BYTES, ScanContent, ScanFile, ScanFinding, SkillScanner};
use prowess_spec::parse;

use crate::contents::{ContentsError, files_of};
use crate::digest::FactKind;
use crate::fs::read::SKILL_FILES;
use crate::link_route::outside_route;
use crate::registry::ReadError;
use crate::resource::SkillFolder;

/// Most bytes of one skill that are searched. Further files are counted.
const MAX_SKILL: u64 = 64 * 1024 * 1024;

/// The findings in the files of a skill.
#[derive(Clone, Debug, Default)]
pub struct SkillScan {
    /// Files with findings, the text of the skill first, then by path.
    pub files: Vec<ScannedFile>,
    /// Number of files that were searched.
    pub searched: usize,
    /// Number of bytes that were searched.
    pub bytes: u64,
    /// Files that were not searched, or not to their end.
    pub incomplete: Vec<String>,
}

/// A file with findings.
#[derive(Clone, Debug)]
pub struct ScannedFile {
    /// Path relative to the skill's folder.
    pub path: String,
    /// The text that the spans refer to; `None` if it is not a text.
    pub text: Option<Arc<str>>,
    /// The findings, in order of position.
    pub findings: Vec<ScanFinding>,
}

/// Searches all files of a skill: a folder, or a single file.
pub fn scan_skill(path: &Path) -> Result<SkillScan, ContentsError> {
    let (folder, mut files) = files_of(path)?;
    let is_folder = path.is_dir();
    let is_main =
        |file: &Path| !is_folder || SKILL_FILES.iter().any(|name| file == Path::new(name));
    // What the skill is about decides how its other files are read.
    files.sort_by_cached_key(|file| (!is_main(&file.path), file.path.clone()));
    let open = SkillFolder::open(&folder).map_err(ReadError::from)?;
    let mut scan = SkillScan::default();
    let mut scanner = SkillScanner::new(None);
    for file in files {
        let name = file.path.to_string_lossy().into_owned();
        let is_main = is_main(&file.path);
        let mut target = None;
        let leaves = || {
            let real = std::fs::canonicalize(&folder).unwrap_or_else(|_| folder.clone());
            outside_route(&real, &file.path).is_some()
        };
        if file.kind == FactKind::Link && leaves() {
            let link = std::fs::read_link(folder.join(&file.path)).unwrap_or_default();
            target = Some(link.to_string_lossy().into_owned());
        } else if file.kind == FactKind::Link && !is_main {
            // The file that it leads to is searched as itself.
            continue;
        }
        let bytes = if target.is_some() && !is_main || scan.bytes >= MAX_SKILL {
            if target.is_none() {
                scan.incomplete.push(name);
                continue;
            }
            Vec::new()
        } else {
            // One byte more shows that there is more.
            let Ok(bytes) = open.beginning(&name, MAX_BYTES + 1) else {
                scan.incomplete.push(name);
                continue;
            };
            bytes
        };
        if is_main {
            scanner = SkillScanner::new(Some(&parse(&bytes)));
        }
        scan.searched += 1;
        scan.bytes += bytes.len() as u64;
        let link = target
            .as_deref()
            .map(|target| ScanContent::LinkOut { target });
        let mut findings = Vec::new();
        let mut text = None;
        let contents = link
            .into_iter()
            .chain((target.is_none() || is_main).then(|| ScanContent::of(&bytes)));
        for content in contents {
            let found = scanner.file(&ScanFile {
                path: &name,
                content,
                executable: file.kind == FactKind::Executable,
                is_main,
            });
            if found.truncated {
                scan.incomplete.push(name.clone());
            }
            if let ScanContent::Text(whole) = content
                && !found.findings.is_empty()
            {
                text = Some(Arc::from(whole));
            }
            findings.extend(found.findings);
        }
        if !findings.is_empty() {
            scan.files.push(ScannedFile {
                path: name,
                text,
                findings,
            });
        }
    }
    Ok(scan)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn every_file_of_a_skill_is_searched_once() {
        let world = tempfile::tempdir().unwrap();
        let skill = world.path().join("x");
        fs::create_dir_all(skill.join("scripts")).unwrap();
        fs::write(
            skill.join("SKILL.md"),
            "---\nname: x\ndescription: d\n---\nRun `scripts/a.sh`.\n",
        )
        .unwrap();
        fs::write(skill.join("scripts/a.sh"), "echo aGk= | base64 -d | sh\n").unwrap();
        fs::write(skill.join("logo.png"), b"\x7fELF\x02\x01\x01\0\0\0").unwrap();
        symlink("/etc/hostname", skill.join("host")).unwrap();
        symlink("scripts/a.sh", skill.join("again")).unwrap();
        let scan = scan_skill(&skill).unwrap();
        let found: Vec<(&str, &str)> = scan
            .files
            .iter()
            .flat_map(|file| {
                file.findings
                    .iter()
                    .map(|found| (&*file.path, found.diagnostic.rule))
            })
            .collect();
        assert_eq!(
            found,
            [
                ("host", "link-out"),
                ("logo.png", "disguised-executable"),
                ("scripts/a.sh", "decode-and-run")
            ]
        );
        assert_eq!(scan.searched, 4);
        // A file of its own is a skill, too.
        let scan = scan_skill(&skill.join("scripts/a.sh")).unwrap();
        assert_eq!(scan.files.len(), 1);
    }
}
