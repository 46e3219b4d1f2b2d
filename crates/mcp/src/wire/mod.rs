//! How skills look over MCP, by the extension `io.modelcontextprotocol/skills` (SEP-2640).
//!
//! [`uri`] has the addresses of skills and their files, [`frontmatter`] the head of a skill as JSON.
//! [`Manifest`] is what a server lists of a skill, and decides whether what is read later is that.

pub(crate) mod frontmatter;
mod manifest;
pub(crate) mod uri;

pub(crate) use manifest::{MAIN, MAX_BYTES, Manifest, ManifestError};

/// The name of the extension.
pub(crate) const EXTENSION: &str = "io.modelcontextprotocol/skills";

/// `sha256:` and 64 lower-case hexadecimal digits.
pub(crate) fn digest_text(digest: &[u8; 32]) -> String {
    let mut text = String::from("sha256:");
    for byte in digest {
        text.push_str(&format!("{byte:02x}"));
    }
    text
}
