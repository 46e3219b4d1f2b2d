//! A package that is installed without a version.

use super::{FindingSink, Passage};
use crate::matching::matcher;

rule!(
    "unpinned-installer",
    Note,
    lowers: true,
    "a package is downloaded and run without a version",
    "name the version, so that what was checked is what runs: `npx -y NAME@1.2.3`",
    triggers: ["npx -y", "npx --yes", "pnpm dlx", "bunx ", "git+https", "git+ssh", "pip install http", "pip3 install http", "uv pip install http", "npm install http", "npm i http", "npm install -g http", "yarn dlx", "npx"]
);

matcher!(
    NODE,
    r"\b(?: npx\s+(?:-y|--yes) | pnpm\s+dlx | yarn\s+dlx | bunx(?:\s+-y)? )\s+ (?:--\S+\s+)* (?:-p\s+\S+\s+)? ([@\w][\w./@-]+)"
);
matcher!(
    PYTHON,
    r"\b(?: pip[\d.]* | uv\s+pip | pipx | uv\s+tool | uvx\s+--from )\s* (?:install)?\s+ (?:-\S+\s+)* [\x22']? ((?:[\w.-]+\s*@\s*)?(?:git\+)?(?:https?|ssh)://[^\s'\x22\x60]+)"
);
matcher!(
    PINNED,
    r"@(?:v?\d|[0-9a-f]{7,40}) | \#(?:sha256=|v?\d) | \.whl\b | /v?\d+\.\d+"
);

fn check(passage: &Passage<'_, '_>, out: &mut FindingSink) {
    let text = &passage.plain().text;
    if let Some(groups) = NODE.groups(text)
        && let Some(name) = groups.text(text, 1)
    {
        let version = name
            .trim_start_matches('@')
            .split_once('@')
            .map_or("", |(_, version)| version);
        let is_pinned = version.starts_with(|c: char| c.is_ascii_digit() || c == 'v');
        let is_local = name.starts_with('.') || crate::address::is_placeholder_word(name);
        if !is_pinned && !is_local {
            let name = name.trim_end_matches(['.', ',']);
            return out.plain(
                passage,
                groups.range(),
                format!("downloads and runs any version of `{name}`"),
            );
        }
    }
    if let Some(groups) = PYTHON.groups(text)
        && let Some(address) = groups.text(text, 1)
        && !PINNED.is_match(address)
        && !crate::address::addresses(address).all(|address| address.is_placeholder())
    {
        out.plain(
            passage,
            groups.range(),
            "installs a package from an address without a version",
        );
    }
}
