//! The file slots of a mission: memories and the scratchpad, which agents read and write, and packets,
//! which they read.
//!
//! Memories and scratchpads are folders of ours outside of any project. Packets are folders of the
//! project; links that leave them are not followed.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use prowess_diag::wording;
use prowess_flow::mission::{Mission, MissionProject, MissionTask};
use prowess_registry::resource::{Resource, SkillFolder};
use prowess_tools::input::object;
use prowess_tools::{Loaded, Tool, ToolAnswer, ToolContext, ToolError, ToolErrorKind};
use serde_json::{Value, json};
use sha2::Digest;

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
/// Maximum depth of folders in a slot.
const MAX_DEPTH: usize = 4;
/// Maximum length of a path in a slot, in bytes.
const MAX_PATH: usize = 200;

/// A place for files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileSlot {
    name: Box<str>,
    about: String,
    folder: PathBuf,
    is_writable: bool,
}

/// Returns the slots of a task. `storage` is the folder for memories and scratchpads of the project.
pub(crate) fn slots(
    plan: &MissionProject,
    mission: &Mission,
    task: &MissionTask,
    folder: &Path,
    storage: Option<&Path>,
    run: &str,
) -> Vec<FileSlot> {
    let text =
        |value: &prowess_flow::mission::Value| value.as_text().unwrap_or_default().to_owned();
    let mut slots = Vec::new();
    let mut add = |name: &str, about: String, folder: PathBuf| {
        slots.push(FileSlot {
            name: name.into(),
            about,
            folder,
            is_writable: true,
        });
    };
    if let Some(storage) = storage {
        for memory in plan
            .memories
            .iter()
            .filter(|it| mission.memories.contains(&it.name))
        {
            let place = storage.join("memories").join(folder_name(&memory.name));
            add(&memory.name, text(&memory.description), place);
        }
        if let Some(about) = &mission.memory {
            let place = storage.join("missions").join(folder_name(&mission.name));
            add(MEMORY, text(about), place);
        }
        if mission.has_scratchpad {
            let place = storage.join("runs").join(folder_name(run));
            add(SCRATCHPAD, "Files of this run.".to_owned(), place);
        }
    }
    let wanted = |name: &str| {
        let mut names = mission.packets.iter().chain(&task.packets);
        names.any(|known| **known == *name)
    };
    for packet in plan.packets.iter().filter(|packet| wanted(&packet.name)) {
        slots.push(FileSlot {
            name: packet.name.clone(),
            about: packet.description.as_ref().map(text).unwrap_or_default(),
            folder: folder.join(&*packet.path),
            is_writable: false,
        });
    }
    slots
}

/// Returns the name of a folder for a label: readable, and different for different labels.
pub(crate) fn folder_name(label: &str) -> String {
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

/// Returns the tools for slots: those for writing only if a slot can be written.
pub(crate) fn tools(slots: Vec<FileSlot>) -> Vec<Arc<dyn Tool>> {
    if slots.is_empty() {
        return Vec::new();
    }
    let can_write = slots.iter().any(|slot| slot.is_writable);
    let slots: Arc<[FileSlot]> = slots.into();
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
        let name = input
            .get("slot")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let slot = self.slots.iter().find(|slot| *slot.name == *name);
        let slot = slot.ok_or_else(|| failed(format!("No slot {}.", wording::tick(name))))?;
        if writes && !slot.is_writable {
            let name = wording::tick(name);
            return Err(failed(format!(
                "{name} is a packet, which can only be read."
            )));
        }
        Ok(slot)
    }

    fn list(&self, input: &Value) -> Result<ToolAnswer, ToolError> {
        let slot = self.slot(input, false)?;
        let mut files = Vec::new();
        collect(&slot.folder, "", 0, &mut files);
        files.sort();
        let is_cut = files.len() > MAX_FILES;
        files.truncate(MAX_FILES);
        let mut text = files.join("\n");
        if files.is_empty() {
            text.push_str("No files.");
        } else if is_cut {
            text.push_str(&format!("\n(only the first {MAX_FILES})"));
        }
        Ok(ToolAnswer::new(text, json!({ "files": files })))
    }

    fn read(&self, input: &Value) -> Result<ToolAnswer, ToolError> {
        let slot = self.slot(input, false)?;
        let path = input
            .get("path")
            .and_then(Value::as_str)
            .unwrap_or_default();
        parts(path)?;
        let offset = input.get("offset").and_then(Value::as_u64).unwrap_or(0);
        let missing = || {
            failed(format!(
                "No file {} in {}.",
                wording::tick(path),
                wording::tick(&slot.name)
            ))
        };
        let folder = SkillFolder::open(&slot.folder).map_err(|_| missing())?;
        match folder.read(path, offset, MAX_ANSWER) {
            Ok(Resource::Text { text, .. }) => {
                let value = json!({ "text": text });
                Ok(ToolAnswer::new(text.clone(), value))
            }
            Ok(Resource::Binary { .. }) => {
                Err(failed(format!("{} is not text.", wording::tick(path))))
            }
            Err(error) => Err(failed(format!(
                "Cannot read {}: {error}",
                wording::tick(path)
            ))),
        }
    }

    fn write(&self, input: &Value) -> Result<ToolAnswer, ToolError> {
        let slot = self.slot(input, true)?;
        let text = |key: &str| input.get(key).and_then(Value::as_str).unwrap_or_default();
        let (path, content) = (text("path"), text("content"));
        let parts = parts(path)?;
        if content.len() > MAX_FILE {
            return Err(failed(format!(
                "The content is too long: at most {MAX_FILE} bytes."
            )));
        }
        let mut known = Vec::new();
        collect(&slot.folder, "", 0, &mut known);
        if known.len() >= MAX_FILES && !known.iter().any(|known| known == path) {
            return Err(failed(format!("The slot has {MAX_FILES} files already.")));
        }
        let cannot = |error: std::io::Error| {
            let why = prowess_diag::io_reason(error);
            failed(format!("Cannot write {}: {why}", wording::tick(path)))
        };
        let mut folder = slot.folder.clone();
        create_folder(&folder).map_err(cannot)?;
        for part in &parts[..parts.len() - 1] {
            folder.push(part);
            create_folder(&folder).map_err(cannot)?;
        }
        let target = slot.folder.join(path);
        // Written beside it and renamed: a reader sees the old text or the new one.
        let temporary = folder.join(format!(".{}.new", std::process::id()));
        let written = std::fs::File::create(&temporary)
            .and_then(|mut file| {
                file.write_all(content.as_bytes())
                    .and_then(|()| file.sync_all())
            })
            .and_then(|()| std::fs::rename(&temporary, &target));
        if written.is_err() {
            let _ = std::fs::remove_file(&temporary);
        }
        written.map_err(cannot)?;
        let text = format!("Wrote {} bytes to {}.", content.len(), wording::tick(path));
        Ok(ToolAnswer::new(text, json!({ "bytes": content.len() })))
    }

    fn delete(&self, input: &Value) -> Result<ToolAnswer, ToolError> {
        let slot = self.slot(input, true)?;
        let path = input
            .get("path")
            .and_then(Value::as_str)
            .unwrap_or_default();
        parts(path)?;
        std::fs::remove_file(slot.folder.join(path)).map_err(|error| {
            let why = prowess_diag::io_reason(error);
            failed(format!("Cannot delete {}: {why}", wording::tick(path)))
        })?;
        let text = format!("Deleted {}.", wording::tick(path));
        Ok(ToolAnswer::new(text, json!({ "deleted": path })))
    }
}

/// Creates a folder that only the user can read, unless it exists.
fn create_folder(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true).mode(0o700).create(folder)
}

/// Collects the paths of the files below a folder. Links and hidden files are left out.
fn collect(root: &Path, path: &str, depth: usize, files: &mut Vec<String>) {
    if depth >= MAX_DEPTH || files.len() > MAX_FILES {
        return;
    }
    let Ok(listing) = std::fs::read_dir(root.join(path)) else {
        return;
    };
    for entry in listing.flatten().take(MAX_FILES + 1) {
        let name = entry.file_name();
        let (Some(name), Ok(kind)) = (name.to_str(), entry.file_type()) else {
            continue;
        };
        if name.starts_with('.') {
            continue;
        }
        let inner = if path.is_empty() {
            name.to_owned()
        } else {
            format!("{path}/{name}")
        };
        if kind.is_dir() {
            collect(root, &inner, depth + 1, files);
        } else if kind.is_file() {
            files.push(inner);
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
                let access = if slot.is_writable { "" } else { ", read-only" };
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

    fn answer(
        &self,
        _: &ToolContext,
        _: &mut Loaded,
        input: &Value,
    ) -> Result<ToolAnswer, ToolError> {
        match self.name {
            FILE_LIST => self.list(input),
            FILE_READ => self.read(input),
            FILE_WRITE => self.write(input),
            _ => self.delete(input),
        }
    }
}
