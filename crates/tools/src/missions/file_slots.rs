//! The file slots of a mission: memories and the scratchpad, which agents read and write, and packets,
//! which they read.
//!
//! Memories and scratchpads are folders of ours outside of any project; no link below them is
//! followed. Packets are folders of the project. Their path is resolved at each call, because the
//! folder can be replaced after the files were trusted, and a packet that leads out of the project is
//! refused. Trust in the mission files is the permission for slots: without a rule nothing is asked,
//! but rules about files, mode `plan` and the list of paths that are never read apply.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use prowess_diag::wording;
use prowess_flow::mission::{Mission, MissionProject, MissionTask};
use prowess_registry::nofollow;
use prowess_registry::resource::{MAX_RESOURCE, Resource, read_part};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;
use serde_json::{Value, json};
use sha2::Digest;

use crate::files::open_file::{self, Expected, Fault, Opened};
use crate::files::path_guard::{FileAction, PathGuard, ResolvedPath, settled};
use crate::input::object;
use crate::{Loaded, Tool, ToolAnswer, ToolContext, ToolError, ToolErrorKind};

const FILE_LIST: &str = "file_list";
const FILE_READ: &str = "file_read";
const FILE_WRITE: &str = "file_write";
const FILE_DELETE: &str = "file_delete";

/// The name of the slot for files of one run.
const SCRATCHPAD: &str = "scratchpad";
/// The name of the slot for the memory of the mission itself.
const MEMORY: &str = "memory";
/// Maximum size of a file that an agent writes, in bytes.
const MAX_FILE: usize = 1024 * 1024;
/// Maximum number of bytes in one answer.
const MAX_ANSWER: usize = 40_000;
/// Maximum number of files in a slot.
const MAX_FILES: usize = 1_000;
/// Maximum number of entries that a listing visits.
const MAX_VISITED: usize = 20_000;
/// Maximum depth of folders in a slot.
const MAX_DEPTH: usize = 4;
/// Maximum length of a path in a slot, in bytes.
const MAX_PATH: usize = 200;

const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// A place for files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSlot {
    name: Box<str>,
    about: String,
    /// The folder that the slot must not leave: that of the project, or ours.
    base: PathBuf,
    /// The folder of the slot, below the base.
    inner: PathBuf,
    is_packet: bool,
}

impl FileSlot {
    /// Returns the slots of a task. `folder` is that of the project, `storage` the one for memories
    /// and scratchpads of all projects.
    pub fn of_task(
        plan: &MissionProject,
        mission: &Mission,
        task: &MissionTask,
        folder: &str,
        storage: Option<&Path>,
        run: &str,
    ) -> Vec<Self> {
        let text =
            |value: &prowess_flow::mission::Value| value.as_text().unwrap_or_default().to_owned();
        let mut slots = Vec::new();
        let mut add = |name: &str, about: String, base: &Path, place: [&str; 2]| {
            let inner = [
                folder_name(folder),
                place[0].to_owned(),
                folder_name(place[1]),
            ];
            slots.push(Self {
                name: name.into(),
                about,
                base: base.to_owned(),
                inner: inner.iter().collect(),
                is_packet: false,
            });
        };
        if let Some(storage) = storage {
            for memory in plan
                .memories
                .iter()
                .filter(|it| mission.memories.contains(&it.name))
            {
                let place = ["memories", &*memory.name];
                add(&memory.name, text(&memory.description), storage, place);
            }
            if let Some(about) = &mission.memory {
                add(MEMORY, text(about), storage, ["missions", &*mission.name]);
            }
            if mission.has_scratchpad {
                let about = "Files of this run.".to_owned();
                add(SCRATCHPAD, about, storage, ["runs", run]);
            }
        }
        let wanted = |name: &str| {
            let mut names = mission.packets.iter().chain(&task.packets);
            names.any(|known| **known == *name)
        };
        for packet in plan.packets.iter().filter(|packet| wanted(&packet.name)) {
            slots.push(Self {
                name: packet.name.clone(),
                about: packet.description.as_ref().map(text).unwrap_or_default(),
                base: folder.into(),
                inner: PathBuf::from(&*packet.path),
                is_packet: true,
            });
        }
        slots
    }

    /// Returns the tools for slots: those for writing only if a slot can be written.
    pub fn tools(slots: Vec<Self>) -> Vec<Arc<dyn Tool>> {
        if slots.is_empty() {
            return Vec::new();
        }
        let can_write = slots.iter().any(|slot| !slot.is_packet);
        let slots: Arc<[Self]> = slots.into();
        let mut names = vec![FILE_LIST, FILE_READ];
        if can_write {
            names.extend([FILE_WRITE, FILE_DELETE]);
        }
        let tool = |name| {
            let slots = Arc::clone(&slots);
            Arc::new(FileTool { name, slots }) as Arc<dyn Tool>
        };
        names.into_iter().map(tool).collect()
    }

    /// Resolves the folder of the slot as it is now. Refuses a link that leads out of the base, and
    /// any link in folders of ours.
    fn folder(&self, guard: &PathGuard<'_>) -> Result<ResolvedPath, ToolError> {
        let name = wording::tick(&self.name);
        let denied = |text: String| ToolError::new(ToolErrorKind::Denied, text);
        let base = settled(&self.base);
        let moved = || {
            denied(format!(
                "{name} is refused: its folder leads out of the project."
            ))
        };
        // The folder of a project is stored without links.
        if self.is_packet && base != self.base {
            return Err(moved());
        }
        let path = base.join(&self.inner);
        let Some(text) = path.to_str() else {
            return Err(failed(format!("The folder of {name} is not UTF-8.")));
        };
        let mut resolved = guard.resolve(text)?;
        resolved.name = self.name.to_string();
        if self.is_packet {
            if !resolved.real.starts_with(&base) {
                return Err(moved());
            }
            guard.bar(FileAction::Read, &resolved)?;
        } else if resolved.real != path {
            return Err(denied(format!("{name} is refused: its folder is a link.")));
        }
        Ok(resolved)
    }

    /// Resolves a file of the slot. Links stay inside of a packet, and there is none in folders of
    /// ours.
    fn file(&self, guard: &PathGuard<'_>, path: &str) -> Result<ResolvedPath, ToolError> {
        let folder = self.folder(guard)?;
        // Rules may be about the path as the files write it.
        let mut resolved = guard.resolve(folder.below(path).written())?;
        let stays = if self.is_packet {
            resolved.real.starts_with(&folder.real)
        } else {
            resolved.real == folder.real.join(path)
        };
        let name = format!("{}/{path}", self.name);
        if !stays {
            let text = format!(
                "{} is refused: it leads out of the slot.",
                wording::tick(name)
            );
            return Err(ToolError::new(ToolErrorKind::Denied, text));
        }
        if self.is_packet {
            guard.bar(FileAction::Read, &resolved)?;
        } else {
            resolved.name = name;
        }
        Ok(resolved)
    }
}

/// Returns the name of a folder for a label: readable, and different for different labels.
fn folder_name(label: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let readable: String = label.chars().map(plain).take(40).collect();
    if readable == label {
        return readable;
    }
    let digest = sha2::Sha256::digest(label.as_bytes());
    let digest: String = digest
        .iter()
        .take(6)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("{readable}-{digest}")
}

#[derive(Debug)]
struct FileTool {
    name: &'static str,
    slots: Arc<[FileSlot]>,
}

fn failed(text: impl Into<String>) -> ToolError {
    ToolError::new(ToolErrorKind::Failed, text)
}

/// Returns a path in a slot as its parts. No part is hidden, empty or leads upwards.
fn parts(path: &str) -> Result<Vec<&str>, ToolError> {
    let parts: Vec<&str> = path.split('/').collect();
    let is_plain = |part: &&str| {
        !part.is_empty()
            && !part.starts_with('.')
            && !part.chars().any(|c| c.is_control() || c == '\\')
    };
    if path.len() > MAX_PATH || parts.len() > MAX_DEPTH || !parts.iter().all(is_plain) {
        let path = wording::tick(wording::shorten(path, MAX_PATH));
        return Err(failed(format!(
            "Invalid path {path}: use a relative path such as `notes/plan.md`, at most {MAX_DEPTH} \
             levels deep, without parts that start with a dot."
        )));
    }
    Ok(parts)
}

impl FileTool {
    fn slot(&self, input: &Value, writes: bool) -> Result<&FileSlot, ToolError> {
        let name = text(input, "slot");
        let slot = self.slots.iter().find(|slot| *slot.name == *name);
        let slot = slot.ok_or_else(|| failed(format!("No slot {}.", wording::tick(name))))?;
        if writes && slot.is_packet {
            let name = wording::tick(name);
            return Err(failed(format!(
                "{name} is a packet, which can only be read."
            )));
        }
        Ok(slot)
    }

    fn list(&self, guard: &PathGuard<'_>, input: &Value) -> Result<ToolAnswer, ToolError> {
        let slot = self.slot(input, false)?;
        let folder = slot.folder(guard)?;
        let mut listing = SlotListing::of(&folder);
        listing.files.sort();
        let count = listing.files.len();
        listing.files.retain(|inner| {
            let file = folder.below(inner);
            let is_barred = slot.is_packet && guard.bar(FileAction::Read, &file).is_err();
            !is_barred && guard.is_given(FileAction::Read, &file)
        });
        let mut files = listing.files;
        let left_out = count - files.len();
        let is_cut = listing.is_cut || files.len() > MAX_FILES;
        files.truncate(MAX_FILES);
        let mut lines = files.clone();
        if files.is_empty() {
            lines.push("No files.".to_owned());
        }
        if is_cut {
            lines.push(format!("(only the first {})", files.len()));
        }
        if left_out > 0 {
            lines.push(format!("(rules hide {})", wording::count(left_out, "file")));
        }
        Ok(ToolAnswer::new(lines.join("\n"), json!({ "files": files })))
    }

    fn read(&self, guard: &PathGuard<'_>, input: &Value) -> Result<ToolAnswer, ToolError> {
        let slot = self.slot(input, false)?;
        let path = text(input, "path");
        parts(path)?;
        let offset = input.get("offset").and_then(Value::as_u64).unwrap_or(0);
        let file = slot.file(guard, path)?;
        guard.permit_given(FileAction::Read, &file, "Reading")?;
        let missing = || {
            failed(format!(
                "No file {} in {}.",
                wording::tick(path),
                wording::tick(&slot.name)
            ))
        };
        let told = |fault: Fault| match fault {
            Fault::Missing => missing(),
            fault => fault.told(guard, &file, "read"),
        };
        if file.missing > 0 {
            return Err(missing());
        }
        let opened = open_file::open(&file.real).map_err(told)?;
        if opened.is_folder {
            return Err(failed(format!("{} is a folder.", wording::tick(path))));
        }
        if opened.size() > MAX_RESOURCE {
            let most = wording::size(MAX_RESOURCE);
            let path = wording::tick(path);
            return Err(failed(format!("{path} is too large: at most {most}.")));
        }
        let part = read_part(&opened.handle, opened.size(), offset, MAX_ANSWER);
        match part.map_err(|error| told(Fault::of(error)))? {
            Resource::Text { text, .. } => {
                let value = json!({ "text": text });
                Ok(ToolAnswer::new(text.clone(), value))
            }
            Resource::Binary { .. } => Err(failed(format!("{} is not text.", wording::tick(path)))),
        }
    }

    fn write(
        &self,
        context: &ToolContext,
        guard: &PathGuard<'_>,
        input: &Value,
    ) -> Result<ToolAnswer, ToolError> {
        let slot = self.slot(input, true)?;
        let (path, content) = (text(input, "path"), text(input, "content"));
        parts(path)?;
        if content.len() > MAX_FILE {
            return Err(failed(format!(
                "The content is too long: at most {MAX_FILE} bytes."
            )));
        }
        let folder = slot.folder(guard)?;
        let known = SlotListing::of(&folder);
        if known.files.len() >= MAX_FILES && !known.files.iter().any(|known| known == path) {
            return Err(failed(format!("The slot has {MAX_FILES} files already.")));
        }
        let file = slot.file(guard, path)?;
        guard.permit_given(FileAction::Write, &file, "Writing")?;
        let starting = context.starting();
        starting.map_err(|decision| ToolError::denied("Writing the file", &decision))?;
        create_folder(&folder.real).map_err(|error| {
            let why = prowess_diag::io_reason(error);
            failed(format!("Cannot write {}: {why}", wording::tick(path)))
        })?;
        // The folder exists now, so fewer parts are missing.
        let file = slot.file(guard, path)?;
        let told = |fault: Fault| fault.told(guard, &file, "write");
        let before = match open_file::open(&file.real) {
            Ok(opened) if opened.is_folder => Err(Fault::NotAFile("a folder")),
            Ok(opened) => Ok(Some(opened)),
            Err(Fault::Missing) => Ok(None),
            Err(fault) => Err(fault),
        };
        let before: Option<Opened> = before.map_err(told)?;
        let expected = before
            .as_ref()
            .map_or(Expected::Absent, |old| Expected::Same(&old.stat));
        open_file::put(&file, expected, content.as_bytes()).map_err(told)?;
        let text = format!("Wrote {} bytes to {}.", content.len(), wording::tick(path));
        Ok(ToolAnswer::new(text, json!({ "bytes": content.len() })))
    }

    fn delete(
        &self,
        context: &ToolContext,
        guard: &PathGuard<'_>,
        input: &Value,
    ) -> Result<ToolAnswer, ToolError> {
        let slot = self.slot(input, true)?;
        let path = text(input, "path");
        parts(path)?;
        let file = slot.file(guard, path)?;
        guard.permit_given(FileAction::Write, &file, "Deleting")?;
        let starting = context.starting();
        starting.map_err(|decision| ToolError::denied("Deleting the file", &decision))?;
        remove(&file).map_err(|error| {
            let why = prowess_diag::io_reason(std::io::Error::from(error));
            failed(format!("Cannot delete {}: {why}", wording::tick(path)))
        })?;
        let text = format!("Deleted {}.", wording::tick(path));
        Ok(ToolAnswer::new(text, json!({ "deleted": path })))
    }
}

fn text<'i>(input: &'i Value, key: &str) -> &'i str {
    input.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Removes a file. No part of its path may be a link.
fn remove(file: &ResolvedPath) -> Result<(), Errno> {
    let parent = file.real.parent().unwrap_or(Path::new("/"));
    let folder = nofollow::open(parent, FOLDER, Mode::empty())?;
    rustix::fs::unlinkat(&folder, file.last(), AtFlags::empty())
}

/// Creates a folder that only the user can read, unless it exists.
fn create_folder(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true).mode(0o700).create(folder)
}

/// The paths of the files below a folder. Links and hidden files are left out.
#[derive(Default)]
struct SlotListing {
    files: Vec<String>,
    visited: usize,
    is_cut: bool,
}

impl SlotListing {
    /// Lists a folder. One that does not exist has no files.
    fn of(folder: &ResolvedPath) -> Self {
        let mut listing = Self::default();
        if let Ok(handle) = nofollow::open(&folder.real, FOLDER, Mode::empty()) {
            listing.collect(&handle, "", 0);
        }
        listing
    }

    fn collect(&mut self, folder: &OwnedFd, path: &str, depth: usize) {
        let Ok(entries) = Dir::read_from(folder) else {
            return;
        };
        for entry in entries.flatten() {
            self.visited += 1;
            if self.visited > MAX_VISITED || self.files.len() > MAX_FILES {
                self.is_cut = true;
                return;
            }
            let Ok(name) = entry.file_name().to_str() else {
                continue;
            };
            if name.starts_with('.') {
                continue;
            }
            let kind = match entry.file_type() {
                FileType::Unknown => {
                    let flags = AtFlags::SYMLINK_NOFOLLOW;
                    let stat = rustix::fs::statat(folder.as_fd(), name, flags);
                    stat.map_or(FileType::Unknown, |stat| {
                        FileType::from_raw_mode(stat.st_mode)
                    })
                }
                kind => kind,
            };
            let inner = if path.is_empty() {
                name.to_owned()
            } else {
                format!("{path}/{name}")
            };
            if kind == FileType::Directory && depth + 1 < MAX_DEPTH {
                if let Ok(below) = rustix::fs::openat(folder, name, FOLDER, Mode::empty()) {
                    self.collect(&below, &inner, depth + 1);
                }
            } else if kind == FileType::RegularFile {
                self.files.push(inner);
            }
        }
    }
}

impl Tool for FileTool {
    fn name(&self) -> &str {
        self.name
    }

    fn description(&self, _: &ToolContext) -> String {
        let slots: Vec<String> = self
            .slots
            .iter()
            .map(|slot| {
                let access = if slot.is_packet { ", read-only" } else { "" };
                let about = prowess_catalog::skill::one_line(&slot.about);
                format!(
                    "\n- {}{access}: {}",
                    slot.name,
                    wording::shorten(&about, 200)
                )
            })
            .collect();
        let what = match self.name {
            FILE_LIST => "Lists the files of a slot.",
            FILE_READ => "Reads a text file of a slot.",
            FILE_WRITE => {
                "Writes a text file to a slot. It stays there for later tasks; files of a memory stay for later runs."
            }
            _ => "Deletes a file of a slot.",
        };
        format!("{what} Slots:{}", slots.concat())
    }

    fn input_schema(&self) -> Value {
        let names: Vec<&str> = self.slots.iter().map(|slot| &*slot.name).collect();
        let slot = json!({ "type": "string", "enum": names });
        let path =
            json!({ "type": "string", "description": "A relative path, such as `notes/plan.md`." });
        match self.name {
            FILE_LIST => object(&[("slot", slot)], &["slot"]),
            FILE_READ => {
                let offset =
                    json!({ "type": "integer", "minimum": 0, "description": "The first byte." });
                object(
                    &[("slot", slot), ("path", path), ("offset", offset)],
                    &["slot", "path"],
                )
            }
            FILE_WRITE => {
                let content = json!({ "type": "string" });
                object(
                    &[("slot", slot), ("path", path), ("content", content)],
                    &["slot", "path", "content"],
                )
            }
            _ => object(&[("slot", slot), ("path", path)], &["slot", "path"]),
        }
    }

    fn output_schema(&self) -> Value {
        json!({})
    }

    fn is_read_only(&self, _: &ToolContext) -> bool {
        matches!(self.name, FILE_LIST | FILE_READ)
    }

    fn is_destructive(&self, _: &ToolContext) -> bool {
        self.name == FILE_DELETE
    }

    fn asks_first(&self) -> bool {
        true
    }

    fn answer(
        &self,
        context: &ToolContext,
        loaded: &mut Loaded,
        input: &Value,
    ) -> Result<ToolAnswer, ToolError> {
        let guard = PathGuard::new(context, loaded);
        match self.name {
            FILE_LIST => self.list(&guard, input),
            FILE_READ => self.read(&guard, input),
            FILE_WRITE => self.write(context, &guard, input),
            _ => self.delete(context, &guard, input),
        }
    }
}
