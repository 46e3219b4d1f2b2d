//! Loads all skills below some folders one by one, and compares them with what a registry finds.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// Runs the test that makes the comparison with these folders. A dependency on the library would
/// make every other task slower to build.
pub(crate) fn run(root: &Path, folders: &[&str]) -> Result<()> {
    let absolute = |folder: &&str| std::path::absolute(folder).context("current folder");
    let folders = (folders.iter().map(absolute)).collect::<Result<Vec<_>>>()?;
    let status = Command::new(env!("CARGO"))
        .args(["test", "--workspace", "--quiet", "--test", "load_skill"])
        .args([
            "folders_are_loaded_as_a_registry_loads_them",
            "--",
            "--nocapture",
        ])
        .env("PROWESS_TEST_FOLDERS", std::env::join_paths(folders)?)
        .current_dir(root)
        .status()
        .context("cargo test")?;
    ensure!(status.success(), "some skills are loaded differently");
    Ok(())
}
