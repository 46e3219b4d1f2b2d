//! Makes what people install: an archive with checksums, a Python wheel and npm packages, all around
//! one binary. `--try` installs each into a fresh environment and runs it.

mod binary;
mod npm;
mod trial;
mod wheel;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use flate2::{Compression, GzBuilder};
use sha2::{Digest, Sha256};

use binary::Platform;

pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");
const SUMMARY: &str = "Find, check and run Agent Skills, safely, from any agent";
const LICENSES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];
const SHELLS: [(&str, &str); 3] = [
    ("bash", "prowess.bash"),
    ("zsh", "_prowess"),
    ("fish", "prowess.fish"),
];

/// What is packed, and how small.
struct Release {
    root: PathBuf,
    out: PathBuf,
    /// The bytes of the binary.
    program: Vec<u8>,
    /// Its path.
    path: PathBuf,
    platform: Platform,
    level: Compression,
}

/// A file of an archive.
struct Entry {
    path: String,
    mode: u32,
    content: Vec<u8>,
}

impl Entry {
    fn text(path: impl Into<String>, content: impl Into<Vec<u8>>) -> Self {
        Self {
            path: path.into(),
            mode: 0o644,
            content: content.into(),
        }
    }

    fn program(path: impl Into<String>, content: &[u8]) -> Self {
        Self {
            path: path.into(),
            mode: 0o755,
            content: content.to_owned(),
        }
    }
}

pub(crate) fn run(root: &Path, options: &[&str]) -> Result<()> {
    let (mut debug, mut attempt) = (false, false);
    for option in options {
        match *option {
            "--debug" => debug = true,
            "--try" => attempt = true,
            other => bail!("unknown option `{other}`; `dist` takes `--debug` and `--try`"),
        }
    }
    let target = super::mcp_clients::target(root);
    let path = build(root, &target, debug)?;
    let program =
        std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let out = target.join("packages");
    if out.is_dir() {
        std::fs::remove_dir_all(&out)?;
    }
    std::fs::create_dir_all(&out)?;
    let release = Release {
        root: root.to_owned(),
        platform: Platform::of(&program)?,
        // Debug builds are packed only to be installed once.
        level: if debug {
            Compression::none()
        } else {
            Compression::best()
        },
        out,
        program,
        path,
    };
    let mut files = vec![archive(&release)?, wheel::write(&release)?];
    files.extend(npm::write(&release)?);
    checksums(&release.out, &files)?;
    for file in &files {
        let size = std::fs::metadata(file)?.len();
        println!("{} ({:.1} MB)", file.display(), size as f64 / 1e6);
    }
    if attempt {
        trial::run(&release)?;
    }
    Ok(())
}

/// Builds the command and returns its path.
fn build(root: &Path, target: &Path, debug: bool) -> Result<PathBuf> {
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "--quiet", "--locked", "--package", "prowess-cli"]);
    build.arg("--target-dir").arg(target);
    if !debug {
        build.args(["--profile", "dist"]);
    }
    if !build.current_dir(root).status()?.success() {
        bail!("cannot build prowess");
    }
    Ok(target
        .join(if debug { "debug" } else { "dist" })
        .join("prowess"))
}

/// Writes the archive: the program, completions, manual pages, licences.
fn archive(release: &Release) -> Result<PathBuf> {
    let name = format!("prowess-{VERSION}-{}", release.platform.triple());
    let mut entries = vec![Entry::program(format!("{name}/prowess"), &release.program)];
    for file in LICENSES.iter().chain(&["README.md", "CHANGELOG.md"]) {
        entries.push(Entry::text(
            format!("{name}/{file}"),
            std::fs::read(release.root.join(file))?,
        ));
    }
    for (shell, file) in SHELLS {
        let script = output(release, &["completions", shell])?;
        entries.push(Entry::text(format!("{name}/completions/{file}"), script));
    }
    let page = output(release, &["help", "--man"])?;
    entries.push(Entry::text(format!("{name}/man/prowess.1"), page));
    let path = release.out.join(format!("{name}.tar.gz"));
    tar_gz(&path, &entries, release.level)?;
    Ok(path)
}

/// Returns what the program prints.
fn output(release: &Release, arguments: &[&str]) -> Result<Vec<u8>> {
    let home = tempfile::tempdir()?;
    let output = Command::new(&release.path)
        .args(arguments)
        .env("PROWESS_HOME", home.path())
        .output()?;
    if !output.status.success() || output.stdout.is_empty() {
        bail!("`prowess {}` failed", arguments.join(" "));
    }
    Ok(output.stdout)
}

/// Writes a compressed archive without times and owners: equal files are equal bytes.
fn tar_gz(path: &Path, entries: &[Entry], level: Compression) -> Result<()> {
    let gzip = GzBuilder::new().mtime(0).write(Vec::new(), level);
    let mut archive = tar::Builder::new(gzip);
    for entry in entries {
        let mut header = tar::Header::new_ustar();
        header.set_size(entry.content.len() as u64);
        header.set_mode(entry.mode);
        header.set_cksum();
        archive.append_data(&mut header, &entry.path, entry.content.as_slice())?;
    }
    std::fs::write(path, archive.into_inner()?.finish()?)?;
    Ok(())
}

/// Writes `SHA256SUMS`, in the form that `sha256sum --check` reads.
fn checksums(out: &Path, files: &[PathBuf]) -> Result<()> {
    let mut sums = std::fs::File::create(out.join("SHA256SUMS"))?;
    for file in files {
        let name = file.file_name().context("no file name")?.to_string_lossy();
        let digest = Sha256::digest(std::fs::read(file)?);
        for byte in digest {
            write!(sums, "{byte:02x}")?;
        }
        writeln!(sums, "  {name}")?;
    }
    Ok(())
}
