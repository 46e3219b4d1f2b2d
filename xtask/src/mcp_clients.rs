//! Tests the MCP server with the official SDKs for Python and TypeScript, which are installed into
//! `target/mcp-clients`.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// The Python SDK. The scripts require these versions.
const PYTHON: &str = "mcp==2.3.0";
/// The TypeScript SDK.
const TYPESCRIPT: &str = "@modelcontextprotocol/sdk@1.32.2";

pub(crate) fn run(root: &Path) -> Result<()> {
    let target = target(root);
    let home = target.join("mcp-clients");
    std::fs::create_dir_all(&home)?;
    let server = server(root, &target, false)?;
    let scripts = root.join("crates/mcp/tests/clients");

    let python = python(&home, "python", PYTHON)?;
    let world = tempfile::tempdir()?;
    let mut command = Command::new(python);
    command
        .arg(scripts.join("python_client.py"))
        .arg(&server)
        .arg(world.path());
    status(&mut command)?;

    let node = home.join("node");
    std::fs::create_dir_all(&node)?;
    if !node
        .join("node_modules/@modelcontextprotocol/sdk/package.json")
        .is_file()
    {
        std::fs::write(node.join("package.json"), "{\"private\": true}\n")?;
        let mut install = Command::new("npm");
        install.args(["install", "--silent", "--no-audit", "--no-fund", TYPESCRIPT]);
        status(install.current_dir(&node))?;
    }
    let world = tempfile::tempdir()?;
    let mut command = Command::new("node");
    command
        .arg(scripts.join("typescript_client.mjs"))
        .arg(&server)
        .arg(world.path());
    status(command.current_dir(&node))
}

/// Returns the target folder of cargo.
pub(crate) fn target(root: &Path) -> PathBuf {
    // This program is in it.
    let own = std::env::current_exe().ok();
    let found = own
        .as_deref()
        .and_then(Path::parent)
        .and_then(Path::parent)
        .map(Path::to_owned);
    found.unwrap_or_else(|| root.join("target"))
}

/// Returns the command `prowess` that was built with this program.
pub(crate) fn prowess() -> Result<PathBuf> {
    let prowess = std::env::current_exe()?.with_file_name("prowess");
    if !prowess.is_file() {
        bail!("run `cargo build --profile dist -p prowess-cli -p xtask`, then `target/dist/xtask`");
    }
    Ok(prowess)
}

/// Builds the example server, with the profile `dist` if it is to be measured.
pub(crate) fn server(root: &Path, target: &Path, measured: bool) -> Result<PathBuf> {
    let mut build = Command::new(env!("CARGO"));
    build.args([
        "build",
        "--quiet",
        "--package",
        "prowess-mcp",
        "--example",
        "serve",
    ]);
    build.arg("--target-dir").arg(target);
    if measured {
        build.args(["--profile", "dist"]);
    }
    status(build.current_dir(root))?;
    Ok(target
        .join(if measured { "dist" } else { "debug" })
        .join("examples/serve"))
}

/// Returns a Python environment with a package installed.
pub(crate) fn python(home: &Path, name: &str, package: &str) -> Result<PathBuf> {
    let environment = home.join(name);
    let python = environment.join("bin/python");
    let mark = environment.join(format!("has-{package}"));
    if !mark.is_file() {
        status(
            Command::new("python3")
                .args(["-m", "venv"])
                .arg(&environment),
        )?;
        let mut install = Command::new(&python);
        install.args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            package,
        ]);
        status(&mut install)?;
        std::fs::write(mark, "")?;
    }
    Ok(python)
}

fn status(command: &mut Command) -> Result<()> {
    let status = command
        .status()
        .with_context(|| format!("cannot start {command:?}"))?;
    if !status.success() {
        bail!("{command:?} failed");
    }
    Ok(())
}
