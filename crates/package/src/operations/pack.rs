//! Packs a skill into an archive: equal files give equal bytes.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use flate2::{Compression, GzBuilder};
use serde_json::json;
use tar::{EntryType, Header};

use crate::archive::ZipWriter;
use crate::error::PackageError;
use crate::lock::{LockedFile, LockedKind};
use crate::tree::{digest_of_bytes, locked_files};

use super::OperationError;

/// The format of an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PackFormat {
    /// A tar with gzip. The files are at the root.
    TarGz,
    /// A zip with the ending `.skill`. The files are in a folder with the name of the skill.
    Skill,
}

/// Maximum size of the files of a skill that is packed, in bytes.
const MAX_BYTES: u64 = 64 * 1024 * 1024;
/// The level of compression.
const LEVEL: u32 = 6;
/// The operating system in the header of gzip: unknown.
const UNKNOWN_SYSTEM: u8 = 255;
/// The schema of an index of version 0.2.0.
const SCHEMA: &str = "https://schemas.agentskills.io/discovery/0.2.0/schema.json";

/// A site that was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PackedSite {
    /// The files, relative to the folder of the site, sorted.
    pub files: Vec<PathBuf>,
    /// Skills that the index of version 0.1.0 lacks, because links cannot be served as files.
    pub with_links: Vec<String>,
}

/// Packs the skill in a folder. Links must stay in the folder.
pub fn pack(folder: &Path, format: PackFormat) -> Result<Vec<u8>, PackageError> {
    let files = files_of(folder)?;
    let failed = |source| PackageError::File {
        verb: "pack",
        path: folder.to_owned(),
        source,
    };
    match format {
        PackFormat::TarGz => tar_gz(folder, &files).map_err(failed),
        PackFormat::Skill => zip(folder, &files).map_err(failed),
    }
}

fn files_of(folder: &Path) -> Result<Vec<LockedFile>, PackageError> {
    let files = locked_files(folder)?;
    let is_text = |file: &LockedFile| file.path.eq_ignore_ascii_case("SKILL.md");
    if !files.iter().any(is_text) {
        return Err(OperationError::NotASkill {
            path: folder.to_owned(),
        }
        .into());
    }
    let total = files
        .iter()
        .map(|file| file.size)
        .fold(0, u64::saturating_add);
    if total > MAX_BYTES {
        return Err(crate::tree::TreeError::TooLarge { limit: MAX_BYTES }.into());
    }
    let real = fs::canonicalize(folder).map_err(|source| PackageError::File {
        verb: "read",
        path: folder.to_owned(),
        source,
    })?;
    for file in files.iter().filter(|file| file.kind == LockedKind::Link) {
        if prowess_registry::outside_route(&real, Path::new(&file.path)).is_some() {
            let target = fs::read_link(real.join(&file.path)).unwrap_or_default();
            return Err(crate::tree::TreeError::Link {
                path: file.path.clone(),
                target: target.display().to_string(),
            }
            .into());
        }
    }
    Ok(files)
}

/// Returns the content of a file as it was listed, or the target of a link.
fn content(folder: &Path, file: &LockedFile) -> io::Result<Vec<u8>> {
    let path = folder.join(&file.path);
    if file.kind == LockedKind::Link {
        return Ok(fs::read_link(path)?.into_os_string().into_encoded_bytes());
    }
    let mut bytes = Vec::new();
    fs::File::open(path)?
        .take(file.size + 1)
        .read_to_end(&mut bytes)?;
    if digest_of_bytes(&bytes) != file.digest {
        return Err(io::Error::other("the file changed while it was being read"));
    }
    Ok(bytes)
}

fn tar_gz(folder: &Path, files: &[LockedFile]) -> io::Result<Vec<u8>> {
    let encoder = GzBuilder::new()
        .mtime(0)
        .operating_system(UNKNOWN_SYSTEM)
        .write(Vec::new(), Compression::new(LEVEL));
    let mut builder = tar::Builder::new(encoder);
    for file in files {
        let content = content(folder, file)?;
        let mut header = Header::new_gnu();
        header.set_mtime(0);
        header.set_uid(0);
        header.set_gid(0);
        if file.kind == LockedKind::Link {
            header.set_entry_type(EntryType::Symlink);
            header.set_mode(0o777);
            header.set_size(0);
            let target = String::from_utf8(content).map_err(io::Error::other)?;
            builder.append_link(&mut header, &file.path, target)?;
            continue;
        }
        header.set_entry_type(EntryType::Regular);
        header.set_mode(mode(file.kind));
        header.set_size(content.len() as u64);
        builder.append_data(&mut header, &file.path, &*content)?;
    }
    builder.into_inner()?.finish()
}

fn zip(folder: &Path, files: &[LockedFile]) -> io::Result<Vec<u8>> {
    const FILE: u32 = 0o100_000;
    const LINK: u32 = 0o120_777;
    let real = fs::canonicalize(folder)?;
    let top = real
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    let top = top.unwrap_or_else(|| "skill".to_owned());
    let mut writer = ZipWriter::new(6);
    for file in files {
        let content = content(folder, file)?;
        let mode = match file.kind {
            LockedKind::Link => LINK,
            kind => FILE | mode(kind),
        };
        writer.add(&format!("{top}/{}", file.path), mode, &content)?;
    }
    writer.finish()
}

fn mode(kind: LockedKind) -> u32 {
    if kind == LockedKind::Executable {
        0o755
    } else {
        0o644
    }
}

/// Writes a site with the indexes 0.2.0 and 0.1.0. The folder of 0.1.0 is also what
/// `OpenCode` reads.
/// `skills` are names with folders. `sequence` is a number that rises with each version of the site.
pub fn pack_site(
    skills: &[(String, PathBuf)],
    into: &Path,
    sequence: Option<u64>,
) -> Result<PackedSite, PackageError> {
    let mut site = PackedSite::default();
    if into.is_symlink() {
        let source = io::Error::other("it is a link; name the folder that it leads to");
        return Err(PackageError::File {
            verb: "write",
            path: into.to_owned(),
            source,
        });
    }
    let (mut artifacts, mut listed) = (Vec::new(), Vec::new());
    let mut skills = skills.to_vec();
    skills.sort();
    for (name, folder) in &skills {
        let files = files_of(folder)?;
        let description = description(folder, &files);
        let archive = pack(folder, PackFormat::TarGz)?;
        let place = format!(".well-known/agent-skills/{name}.tar.gz");
        artifacts.push(json!({
            "name": name,
            "type": "archive",
            "description": description,
            "url": format!("{name}.tar.gz"),
            "digest": digest_of_bytes(&archive),
        }));
        write(into, &place, &archive, &mut site)?;
        if files.iter().any(|file| file.kind == LockedKind::Link) {
            site.with_links.push(name.clone());
            continue;
        }
        let paths: Vec<&str> = files.iter().map(|file| &*file.path).collect();
        listed.push(json!({ "name": name, "description": description, "files": paths }));
        for file in &files {
            let bytes = content(folder, file).map_err(|source| PackageError::File {
                verb: "read",
                path: folder.join(&file.path),
                source,
            })?;
            let place = format!(".well-known/skills/{name}/{}", file.path);
            write(into, &place, &bytes, &mut site)?;
        }
    }
    let mut new = json!({ "$schema": SCHEMA, "skills": artifacts });
    let mut old = json!({ "skills": listed });
    if let Some(sequence) = sequence {
        new["sequence"] = sequence.into();
        old["sequence"] = sequence.into();
    }
    for (place, index) in [
        (".well-known/agent-skills/index.json", new),
        (".well-known/skills/index.json", old),
    ] {
        let text = format!("{index:#}\n");
        write(into, place, text.as_bytes(), &mut site)?;
    }
    site.files.sort();
    Ok(site)
}

fn description(folder: &Path, files: &[LockedFile]) -> String {
    let main = files
        .iter()
        .find(|file| file.path.eq_ignore_ascii_case("SKILL.md"));
    let bytes = main
        .and_then(|file| content(folder, file).ok())
        .unwrap_or_default();
    let parsed = prowess_spec::parse(&bytes);
    let text = parsed.manifest.description.as_ref();
    text.map(|text| text.value.trim().to_owned())
        .unwrap_or_default()
}

fn write(
    into: &Path,
    place: &str,
    bytes: &[u8],
    site: &mut PackedSite,
) -> Result<(), PackageError> {
    let path = into.join(place);
    let failed = |source| PackageError::File {
        verb: "write",
        path: path.clone(),
        source,
    };
    // A link may have been placed where the folders of the site are expected.
    let mut folder = into.to_owned();
    for part in Path::new(place).parent().into_iter().flatten() {
        folder.push(part);
        if folder.is_symlink() {
            return Err(failed(io::ErrorKind::NotADirectory.into()));
        }
    }
    fs::create_dir_all(&folder).map_err(failed)?;
    write_whole(&path, bytes).map_err(failed)?;
    site.files.push(place.into());
    Ok(())
}

/// Writes a file in one step. A link in its place is replaced.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let parent = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(parent)
        // Without the name of the temporary file.
        .map_err(|error| io::Error::from(error.kind()))?;
    file.write_all(bytes)?;
    let readable = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    file.as_file().set_permissions(readable)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}
