//! Packages for npm: one that people name, and one with the program for each platform.

use std::path::PathBuf;

use anyhow::Result;
use serde_json::{Map, Value, json};

use super::binary::{Arch, Libc};
use super::{Entry, LICENSES, Release, SUMMARY, VERSION, tar_gz};

pub(super) fn write(release: &Release) -> Result<Vec<PathBuf>> {
    let cpu = match release.platform.arch {
        Arch::X86_64 => "x64",
        Arch::Aarch64 => "arm64",
    };
    let platform = format!("@prowess/linux-{cpu}");
    let mut manifest = json!({
        "name": platform,
        "description": format!("{SUMMARY} (program for linux-{cpu})"),
        "os": ["linux"],
        "cpu": [cpu],
        "preferUnplugged": true,
    });
    // A program without a C library runs with every one.
    if let (Libc::Gnu(_), Some(fields)) = (release.platform.libc, manifest.as_object_mut()) {
        fields.insert("libc".to_owned(), json!(["glibc"]));
    }
    let program = package(
        release,
        &format!("prowess-linux-{cpu}"),
        manifest,
        vec![Entry::program("package/bin/prowess", &release.program)],
    )?;

    let mut platforms = Map::new();
    platforms.insert(platform, json!(VERSION));
    let manifest = json!({
        "name": "prowess",
        "description": SUMMARY,
        "bin": { "prowess": "bin/prowess.js" },
        "engines": { "node": ">=18" },
        "optionalDependencies": platforms,
    });
    let entries = vec![
        Entry::program("package/bin/prowess.js", include_bytes!("prowess.js")),
        Entry::text(
            "package/README.md",
            std::fs::read(release.root.join("README.md"))?,
        ),
    ];
    let main = package(release, "prowess", manifest, entries)?;
    Ok(vec![main, program])
}

fn package(
    release: &Release,
    name: &str,
    mut manifest: Value,
    mut entries: Vec<Entry>,
) -> Result<PathBuf> {
    manifest["version"] = json!(VERSION);
    manifest["license"] = json!("Apache-2.0 OR MIT");
    let text = serde_json::to_string_pretty(&manifest)? + "\n";
    entries.push(Entry::text("package/package.json", text));
    for license in LICENSES {
        let content = std::fs::read(release.root.join(license))?;
        entries.push(Entry::text(format!("package/{license}"), content));
    }
    let path = release.out.join(format!("{name}-{VERSION}.tgz"));
    tar_gz(&path, &entries, release.level)?;
    Ok(path)
}
