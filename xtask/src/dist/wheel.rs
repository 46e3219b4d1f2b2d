//! A Python wheel that carries the program, for `pip`, `pipx` and `uvx`.

use std::path::PathBuf;

use anyhow::Result;
use prowess_package::archive::ZipWriter;
use sha2::{Digest, Sha256};

use super::{Entry, LICENSES, Release, SUMMARY, VERSION};

pub(super) fn write(release: &Release) -> Result<PathBuf> {
    let tag = format!("py3-none-{}", release.platform.wheel_tag());
    let info = format!("prowess-{VERSION}.dist-info");
    let mut entries = vec![
        Entry::program(
            format!("prowess-{VERSION}.data/scripts/prowess"),
            &release.program,
        ),
        Entry::text(format!("{info}/METADATA"), metadata(release)?),
        Entry::text(
            format!("{info}/WHEEL"),
            format!(
                "Wheel-Version: 1.0\nGenerator: prowess-xtask ({VERSION})\nRoot-Is-Purelib: false\nTag: {tag}\n"
            ),
        ),
    ];
    for license in LICENSES {
        let text = std::fs::read(release.root.join(license))?;
        entries.push(Entry::text(format!("{info}/licenses/{license}"), text));
    }
    entries.push(record(&entries, &info));
    let mut zip = ZipWriter::new(release.level.level());
    for entry in &entries {
        // A regular file, as `zipfile` and installers expect.
        zip.add(&entry.path, 0o100_000 | entry.mode, &entry.content)?;
    }
    let path = release.out.join(format!("prowess-{VERSION}-{tag}.whl"));
    std::fs::write(&path, zip.finish()?)?;
    Ok(path)
}

fn metadata(release: &Release) -> Result<String> {
    let readme = std::fs::read_to_string(release.root.join("README.md"))?;
    let licenses: String = LICENSES
        .iter()
        .map(|file| format!("License-File: {file}\n"))
        .collect();
    Ok(format!(
        "Metadata-Version: 2.4\nName: prowess\nVersion: {VERSION}\nSummary: {SUMMARY}\n\
         License-Expression: Apache-2.0 OR MIT\n{licenses}Requires-Python: >=3.8\n\
         Description-Content-Type: text/markdown\n\n{readme}"
    ))
}

/// Lists every file with its digest; the list itself has none.
fn record(entries: &[Entry], info: &str) -> Entry {
    let mut lines = String::new();
    for entry in entries {
        let digest = base64(&Sha256::digest(&entry.content));
        lines.push_str(&format!(
            "{},sha256={digest},{}\n",
            entry.path,
            entry.content.len()
        ));
    }
    lines.push_str(&format!("{info}/RECORD,,\n"));
    Entry::text(format!("{info}/RECORD"), lines)
}

/// URL-safe Base64 without padding.
fn base64(bytes: &[u8]) -> String {
    use base64::Engine;
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes)
}
