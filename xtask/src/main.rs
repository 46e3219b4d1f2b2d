//! Development tasks. `cargo xtask` lists them.

#![expect(
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a development tool that prints rounded figures"
)]

mod agents;
mod bench;
mod bench_gate;
mod bench_library;
mod bench_mcp;
mod bench_packages;
mod compat;
mod convert;
mod corpus;
mod count;
mod dist;
mod eval_search;
mod generate;
mod lint_sample;
mod load;
mod mcp_clients;
mod missions;
mod packages;
mod pictures;
mod render;
mod scan;
mod tidy;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

const USAGE: &str = "\
Usage: cargo xtask COMMAND

  tidy                       check purity, dependencies, rules and stray files; report sizes
  generate [--check]         write the generated documentation and schemas, or check them
  pictures [--check]         render terminal output as SVG into docs/pictures, or check it
  bench CORPUS [SKILLS]      measure reading, parsing and checking (default: 10000 skills)
  bench-library CORPUS QUERIES [SKILLS]
                             measure opening, searching, listing, watching (default: 10000)
  count CORPUS QUERIES SKILLS BINARY...
                             count the instructions of commands with valgrind, for each binary
  bench-packages CORPUS [SKILLS]
                             measure installing, checking and packing, with their baselines (default: 1000)
  bench-gate                 measure permission decisions
  bench-start                measure the start-up time, compared with `true`
  bench-mcp [SKILLS]         measure the MCP server, compared with FastMCP (default: 1000 skills)
  corpus FOLDER...           read all skills below the folders, count findings, try all fixes
  agents DIALECT|auto FOLDER read all agent files below the folder, count findings
  convert FOLDER             convert all projects and agent files below the folder, and compare
  missions FOLDER            plan all mission files below the folder, and its cases.jsonl
  packages LAYOUTS           build repositories out of file lists, find and install their skills, and
                             compare counts and digests
  load FOLDER...             load all skills below the folders one by one, compare with a registry
  lint-sample FOLDER... [--seed N] [--count N]
                             draw findings at random, with the lines around them (default: 200)
  render FOLDER...           render all skills below the folders, without running commands
  scan FOLDER... [--gate | --sample RULE [--count N]]
                             scan all skills below the folders: how many each rule finds, compared with
                             docs/dev/scan.md, or findings of a rule at random
  compat PYTHON FOLDER...    compare verdicts with the reference tool, run by this Python
  dist [--debug] [--try]     make the archive, the wheel and the npm packages in target/packages; install
                             each into a fresh environment
  mcp-clients                test the MCP server with the SDKs for Python and TypeScript
  eval-search LIBRARY QUERIES [--gate | --visible | --journey BINARY | --skills N | --tune ROUNDS | --misses |
                               --steps | --fit | --stuffed | --report [--save FILE] [--against FILE]]
                             measure the quality and speed of search
";

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["tidy"] => tidy::run(&root()?),
        ["generate"] => generate::run(&root()?, false),
        ["generate", "--check"] => generate::run(&root()?, true),
        ["bench", corpus] => bench::run(Path::new(corpus), 10_000),
        ["bench", corpus, skills] => bench::run(
            Path::new(corpus),
            skills.parse().context("SKILLS must be a number")?,
        ),
        ["bench-job", job, folder] => bench::job(job, Path::new(folder)),
        ["bench-library", corpus, queries] => {
            bench_library::run(Path::new(corpus), Path::new(queries), 10_000)
        }
        ["bench-library", corpus, queries, skills] => {
            let skills = skills.parse().context("SKILLS must be a number")?;
            bench_library::run(Path::new(corpus), Path::new(queries), skills)
        }
        ["bench-library-job", job, library, cache, queries @ ..] => {
            let queries = queries.first().map(Path::new);
            bench_library::job(job, Path::new(library), Path::new(cache), queries)
        }
        ["count", corpus, queries, skills, binaries @ ..] if !binaries.is_empty() => {
            let skills = skills.parse().context("SKILLS must be a number")?;
            let binaries: Vec<PathBuf> = binaries.iter().map(PathBuf::from).collect();
            count::run(Path::new(corpus), Path::new(queries), skills, &binaries)
        }
        ["bench-packages", corpus] => bench_packages::run(Path::new(corpus), 1_000),
        ["bench-packages", corpus, skills] => bench_packages::run(
            Path::new(corpus),
            skills.parse().context("SKILLS must be a number")?,
        ),
        ["bench-packages-job", job, world] => bench_packages::job(job, Path::new(world)),
        ["bench-gate"] => bench_gate::run(),
        ["bench-start"] => bench::start(&root()?),
        ["bench-mcp"] => bench_mcp::run(&root()?, 1_000, true),
        ["bench-mcp", "--debug"] => bench_mcp::run(&root()?, 1_000, false),
        ["bench-mcp", skills] => bench_mcp::run(
            &root()?,
            skills.parse().context("SKILLS must be a number")?,
            true,
        ),
        ["agents", dialect, folder] => agents::run(dialect, Path::new(folder)),
        ["convert", folder] => convert::run(Path::new(folder)),
        ["packages", layouts] => packages::run(Path::new(layouts)),
        ["missions", folder] => missions::run(Path::new(folder)),
        ["corpus", folders @ ..] if !folders.is_empty() => corpus::run(folders),
        ["load", folders @ ..] if !folders.is_empty() => load::run(&root()?, folders),
        ["lint-sample", arguments @ ..] => lint_sample::run(arguments),
        ["render", folders @ ..] if !folders.is_empty() => render::run(folders),
        ["scan", arguments @ ..] if !arguments.is_empty() => scan::run(&root()?, arguments),
        ["compat", python, folders @ ..] if !folders.is_empty() => {
            compat::run(&root()?, python, folders)
        }
        ["dist", options @ ..] => dist::run(&root()?, options),
        ["mcp-clients"] => mcp_clients::run(&root()?),
        ["pictures"] => pictures::run(&root()?, false),
        ["pictures", "--check"] => pictures::run(&root()?, true),
        ["eval-search", library, queries, options @ ..] => {
            eval_search::run(Path::new(library), Path::new(queries), options)
        }
        _ => {
            print!("{USAGE}");
            bail!("unknown command: {}", arguments.join(" "))
        }
    }
}

/// Returns the root of the project.
fn root() -> Result<PathBuf> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    Ok(manifest
        .parent()
        .context("xtask is in the project")?
        .to_owned())
}
