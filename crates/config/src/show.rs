//! Which setting of which file counts, and why others do not.

use std::io;
use std::path::{Path, PathBuf};

use prowess_diag::{LineIndex, Severity};
use toml_edit::{DocumentMut, Item, TableLike};

use crate::{Config, ConfigError, ConfigPaths, LoadedConfig, load_from};

/// Most settings that are examined.
const MAX_SETTINGS: usize = 2_000;
/// Depth below which a table is a value.
const MAX_DEPTH: usize = 8;
/// Tables whose values may be secrets.
const SECRET_TABLES: &[&str] = &["env", "headers", "keys"];
/// Tables that other parts of the program read.
const OTHER_READERS: &[&str] = &["packages", "install", "registries", "signers"];

/// A setting of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownSetting {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// The key, with dots between its parts.
    pub key: String,
    /// The value as it is written, or `…` if it may be a secret.
    pub value: String,
    /// Its effect.
    pub effect: SettingEffect,
}

/// The effect of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingEffect {
    /// It counts.
    Counts,
    /// The same key of another file counts instead.
    Overridden {
        /// The other file.
        by: PathBuf,
    },
    /// It is invalid, or not allowed in this file.
    Rejected {
        /// The reason.
        reason: String,
    },
    /// Without it, everything would be the same.
    None,
}

/// Lists the settings of all configuration files, lowest precedence first, in the order of each file.
/// A setting counts if the configuration would be another one without it.
pub fn show_settings(sources: &ConfigPaths) -> Vec<ShownSetting> {
    let read = crate::read_text;
    let shown = |path: &Path| path.to_string_lossy().into_owned();
    let all = load_from(sources, &shown, &read);
    let mut files: Vec<(PathBuf, DocumentMut, String)> = Vec::new();
    for path in crate::config_files(sources) {
        let text = read(&path).unwrap_or_default();
        if let Ok(document) = text.parse() {
            files.push((path, document, text));
        }
    }
    let mut settings = Vec::new();
    for (path, document, text) in &files {
        let mut keys = Vec::new();
        leaves(document.as_table(), &mut Vec::new(), &mut keys);
        // Spans are of the parsed text, not of the editable document.
        let spans = toml_edit::Document::parse(text.as_str()).ok();
        for key in keys {
            if settings.len() == MAX_SETTINGS {
                return settings;
            }
            let span = spans
                .as_ref()
                .and_then(|document| item(document.as_table(), &key)?.span());
            let start = span.as_ref().map_or(0, |span| span.start);
            let line = line_at(text, start);
            let is_secret = |part: &String| SECRET_TABLES.contains(&part.as_str());
            let value = if key.iter().rev().skip(1).any(is_secret) {
                "…".to_owned()
            } else {
                span.and_then(|span| text.get(span))
                    .unwrap_or_default()
                    .to_owned()
            };
            settings.push(ShownSetting {
                file: path.clone(),
                line,
                value,
                effect: effect(sources, &all, &files, path, &key, line),
                key: dotted(&key),
            });
        }
    }
    settings
}

/// Determines the effect of a setting.
fn effect(
    sources: &ConfigPaths,
    all: &LoadedConfig,
    files: &[(PathBuf, DocumentMut, String)],
    path: &Path,
    key: &[String],
    line: usize,
) -> SettingEffect {
    if let Some(reason) = rejection(all, path, line) {
        return SettingEffect::Rejected { reason };
    }
    if key
        .first()
        .is_some_and(|table| OTHER_READERS.contains(&table.as_str()))
    {
        return SettingEffect::Counts;
    }
    if without(sources, files, path, key) != all.config {
        return SettingEffect::Counts;
    }
    let has = |(other, document, _): &&(PathBuf, DocumentMut, String)| {
        other != path && item(document.as_table(), key).is_some()
    };
    match files.iter().rev().find(has) {
        Some((other, ..)) => SettingEffect::Overridden { by: other.clone() },
        None => SettingEffect::None,
    }
}

/// Returns the configuration without a setting.
fn without(
    sources: &ConfigPaths,
    files: &[(PathBuf, DocumentMut, String)],
    path: &Path,
    key: &[String],
) -> Config {
    let mut changed = None;
    if let Some((_, document, _)) = files.iter().find(|(file, ..)| file == path) {
        let mut document = document.clone();
        remove(document.as_table_mut(), key);
        changed = Some(document.to_string());
    }
    let read = |file: &Path| match (&changed, file == path) {
        (Some(text), true) => Ok(text.clone()),
        _ => crate::read_text(file),
    };
    let shown = |path: &Path| path.to_string_lossy().into_owned();
    load_from(sources, &shown, &read).config
}

/// Returns the first problem that was found at a line of a file.
fn rejection(all: &LoadedConfig, path: &Path, line: usize) -> Option<String> {
    let name = path.to_string_lossy();
    let faulty = all.faults.iter().filter_map(|fault| match fault {
        ConfigError::Wrong { report } => Some(&**report),
        ConfigError::Unreadable { .. } => None,
    });
    let reports = all.warnings.iter().chain(faulty.clone());
    for report in reports.filter(|report| report.path == name) {
        let text = report.text.as_deref().unwrap_or_default();
        for found in &report.diagnostics {
            let start = found.span.map_or(0, |span| span.start as usize);
            if line_at(text, start) == line {
                return Some(found.message.to_string());
            }
        }
    }
    // A file with an error does not count at all.
    let has_error = faulty.into_iter().any(|report| {
        let mut all = report.diagnostics.iter();
        report.path == name && all.any(|found| found.severity == Severity::Error)
    });
    has_error.then(|| "the file has an error, so that none of it counts".to_owned())
}

/// Returns the line of a place in a text, from 1.
fn line_at(text: &str, start: usize) -> usize {
    LineIndex::new(text).position(text, start).line
}

/// Collects the keys of all values below a table. A table inside of an array is part of its value.
fn leaves(table: &dyn TableLike, path: &mut Vec<String>, keys: &mut Vec<Vec<String>>) {
    for (name, item) in table.iter() {
        path.push(name.to_owned());
        match item.as_table_like() {
            Some(inner) if path.len() < MAX_DEPTH => leaves(inner, path, keys),
            _ => keys.push(path.clone()),
        }
        path.pop();
    }
}

fn item<'t>(table: &'t dyn TableLike, key: &[String]) -> Option<&'t Item> {
    let (last, above) = key.split_last()?;
    let mut table = table;
    for name in above {
        table = table.get(name)?.as_table_like()?;
    }
    table.get(last)
}

fn remove(table: &mut dyn TableLike, key: &[String]) {
    match key {
        [] => {}
        [last] => {
            table.remove(last);
        }
        [first, rest @ ..] => {
            if let Some(inner) = table.get_mut(first).and_then(Item::as_table_like_mut) {
                remove(inner, rest);
            }
        }
    }
}

/// Joins the parts of a key, quoted where TOML needs it.
fn dotted(key: &[String]) -> String {
    let is_bare = |part: &str| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        !part.is_empty() && part.bytes().all(is_plain)
    };
    let part = |part: &String| {
        if is_bare(part) {
            part.clone()
        } else {
            format!("{part:?}")
        }
    };
    key.iter().map(part).collect::<Vec<_>>().join(".")
}

/// Reads a file; the parameter of [`load_from`].
pub(crate) type ReadText<'a> = &'a dyn Fn(&Path) -> io::Result<String>;
