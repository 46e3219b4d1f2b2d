//! Wire format of skills in MCP, by the extension `io.modelcontextprotocol/skills` (SEP-2640).
//!
//! [`uri`] builds the URIs of skills and their files, [`frontmatter`] converts frontmatter to JSON.
//! [`Manifest`] is a skill as listed by a server; it verifies the content that is read later.

pub(crate) mod frontmatter;
mod manifest;
pub(crate) mod uri;

pub(crate) use manifest::{MAIN, MAX_BYTES, Manifest, ManifestError};

/// Name of the extension.
pub(crate) const EXTENSION: &str = "io.modelcontextprotocol/skills";

/// Formats a digest: `sha256:` and 64 lowercase hexadecimal digits.
pub(crate) fn digest_text(digest: &[u8; 32]) -> String {
    format!("sha256:{}", prowess_diag::hex(digest))
}
