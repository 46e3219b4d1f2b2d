//! Installs what was made into fresh environments, and runs it there as a new user would.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};

use super::{Release, VERSION};

pub(super) fn run(release: &Release) -> Result<()> {
    let world = tempfile::tempdir()?;
    let folder = |name: &str| -> Result<PathBuf> {
        let path = world.path().join(name);
        std::fs::create_dir_all(&path)?;
        Ok(path)
    };
    let sums = Command::new("sha256sum")
        .args(["--check", "--strict", "--quiet", "SHA256SUMS"])
        .current_dir(&release.out)
        .output()?;
    ensure!(
        sums.status.success(),
        "the checksums differ: {}",
        text(&sums)
    );

    let unpacked = folder("archive")?;
    let started = Instant::now();
    let name = format!("prowess-{VERSION}-{}", release.platform.triple());
    succeed(
        Command::new("tar")
            .args(["-xzf"])
            .arg(release.out.join(format!("{name}.tar.gz")))
            .arg("-C")
            .arg(&unpacked),
    )?;
    let home = folder("home-archive")?;
    demo(&[unpacked.join(&name).join("prowess")], &home, &home)?;
    println!(
        "archive: unpacked, demo ran, {:.1} s",
        started.elapsed().as_secs_f64()
    );

    python(release, &folder("python")?, &folder("home-python")?)?;
    node(release, &folder("node")?, &folder("home-node")?)
}

/// Installs the wheel, and checks that installers refuse it for another C library.
fn python(release: &Release, folder: &Path, home: &Path) -> Result<()> {
    let environment = folder.join("environment");
    succeed(
        Command::new("python3")
            .args(["-m", "venv"])
            .arg(&environment),
    )?;
    let tag = release.platform.wheel_tag();
    let wheel = format!("prowess-{VERSION}-py3-none-{tag}.whl");
    let started = Instant::now();
    succeed(&mut pip(&environment, &release.out.join(&wheel)))?;
    demo(&[environment.join("bin/prowess")], home, home)?;
    println!(
        "wheel: installed, demo ran, {:.1} s",
        started.elapsed().as_secs_f64()
    );

    let other = folder.join(wheel.replace("manylinux_2_", "musllinux_9_"));
    if other.file_name() != Some(wheel.as_ref()) {
        std::fs::copy(release.out.join(&wheel), &other)?;
        let refused = pip(&environment, &other).output()?;
        ensure!(
            !refused.status.success() && text(&refused).contains("not a supported wheel"),
            "a wheel for another C library was not refused: {}",
            text(&refused)
        );
    }
    Ok(())
}

fn pip(environment: &Path, wheel: &Path) -> Command {
    let mut pip = Command::new(environment.join("bin/python"));
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-index",
        "--disable-pip-version-check",
    ]);
    pip.arg(wheel);
    pip
}

/// Installs the npm packages; without the one for the platform, the command says what is missing.
fn node(release: &Release, folder: &Path, home: &Path) -> Result<()> {
    let cpu = if release.platform.machine() == "x86_64" {
        "x64"
    } else {
        "arm64"
    };
    let main = release.out.join(format!("prowess-{VERSION}.tgz"));
    let platform = release
        .out
        .join(format!("prowess-linux-{cpu}-{VERSION}.tgz"));
    let install = |folder: &Path, packages: &[&Path]| -> Result<()> {
        std::fs::create_dir_all(folder)?;
        std::fs::write(folder.join("package.json"), "{\"private\": true}\n")?;
        let mut npm = Command::new("npm");
        npm.args([
            "install",
            "--silent",
            "--no-audit",
            "--no-fund",
            "--offline",
        ]);
        if packages.len() == 1 {
            npm.arg("--omit=optional");
        }
        succeed(npm.args(packages).current_dir(folder))
    };
    let started = Instant::now();
    let whole = folder.join("whole");
    install(&whole, &[&platform, &main])?;
    // `npx` takes the package that the current folder has.
    demo(
        &["npx".into(), "--offline".into(), "prowess".into()],
        &whole,
        home,
    )?;
    println!(
        "npm: installed, demo ran, {:.1} s",
        started.elapsed().as_secs_f64()
    );

    let code = Command::new(whole.join("node_modules/.bin/prowess"))
        .arg("no-such-command")
        .env("PROWESS_HOME", home)
        .output()?;
    ensure!(
        code.status.code() == Some(2),
        "the exit code is not passed on: {code:?}"
    );

    let alone = folder.join("alone");
    install(&alone, &[&main])?;
    let missing = Command::new(alone.join("node_modules/.bin/prowess")).output()?;
    ensure!(
        missing.status.code() == Some(2) && text(&missing).contains("no build of prowess"),
        "a missing platform is not reported: {}",
        text(&missing)
    );
    Ok(())
}

/// Runs the demo of an installed command in a folder, with an empty home.
fn demo(command: &[PathBuf], folder: &Path, home: &Path) -> Result<()> {
    let (program, arguments) = command.split_first().context("no command")?;
    for words in [&["--version"][..], &["demo"]] {
        let output = Command::new(program)
            .args(arguments)
            .args(words)
            .current_dir(folder)
            .env("HOME", home)
            .env("PROWESS_HOME", home.join("prowess"))
            .output()
            .with_context(|| format!("cannot start {}", program.display()))?;
        ensure!(
            output.status.success(),
            "{words:?} failed: {}",
            text(&output)
        );
        let expected = if words == ["demo"] {
            "session"
        } else {
            VERSION
        };
        ensure!(
            text(&output).contains(expected),
            "{words:?} printed: {}",
            text(&output)
        );
    }
    Ok(())
}

fn succeed(command: &mut Command) -> Result<()> {
    let output = command
        .output()
        .with_context(|| format!("cannot start {command:?}"))?;
    if !output.status.success() {
        bail!("{command:?} failed: {}", text(&output));
    }
    Ok(())
}

fn text(output: &Output) -> String {
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stderr));
    text
}
