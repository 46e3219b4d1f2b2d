//! Details of one package.

use std::path::PathBuf;

use prowess_registry::digest::{FactKind, FileFacts};
use prowess_spec::identity::Identity;
use prowess_spec::json::{ScalarTypes, object};
use prowess_spec::{ParsedSkill, tokens};
use serde_json::{Value, json};

/// A heading: its level and its text.
pub type Heading = (usize, String);

/// Details of one package.
#[derive(Debug)]
pub struct Package<'a> {
    /// Its name and description, with their sources.
    pub identity: Identity,
    /// Its file, in display form.
    pub file: String,
    /// Its headings.
    pub outline: Vec<Heading>,
    /// The number of errors.
    pub errors: usize,
    /// The number of warnings.
    pub warnings: usize,
    /// Its parsed text.
    pub parsed: &'a ParsedSkill<'a>,
    /// Its files. Empty if the skill is a single file.
    pub files: Vec<FileFacts>,
    /// Its digest, or `None` if the skill is a single file.
    pub digest: Option<String>,
    /// Its folder.
    pub folder: Option<PathBuf>,
}

impl Package<'_> {
    /// Returns it as a document.
    pub fn document(&self) -> Value {
        let manifest = &self.parsed.manifest;
        let body = self.parsed.body_text();
        let files: Vec<Value> = self
            .files
            .iter()
            .map(|file| json!({ "path": file.path.to_string_lossy(), "size": file.size, "kind": kind(file.kind) }))
            .collect();
        let tools = |list: &Option<prowess_spec::manifest::ToolList>| {
            list.as_ref().map(|list| {
                list.tokens()
                    .iter()
                    .filter(|token| token.pattern.is_ok())
                    .map(|token| token.text.to_string())
                    .collect::<Vec<_>>()
            })
        };
        json!({
            "schema": "prowess.show/1",
            "name": self.identity.name,
            "name_source": self.identity.name_source.as_str(),
            "alias": self.identity.alias,
            "description": self.identity.description,
            "description_source": self.identity.description_source.as_str(),
            "file": self.file,
            "version": manifest.version.as_ref().map(|text| &*text.value),
            "digest": self.digest,
            "frontmatter": Value::Object(object(&manifest.entries, ScalarTypes::Strings)),
            "allowed_tools": tools(&manifest.allowed_tools),
            "disallowed_tools": tools(&manifest.disallowed_tools),
            "model_invocable": !manifest.model_invocation_disabled(),
            "user_invocable": manifest.is_user_invocable(),
            "outline": self.outline.iter().map(|(level, text)| json!({ "level": level, "text": text })).collect::<Vec<_>>(),
            "size": {
                "bytes": self.parsed.text.len(),
                "body_lines": body.lines().count(),
                "body_tokens": tokens::estimate(body),
                "listing_tokens": tokens::estimate(&self.identity.name) + tokens::estimate(&self.identity.description),
            },
            "files": files,
            "findings": { "errors": self.errors, "warnings": self.warnings },
        })
    }
}

fn kind(kind: FactKind) -> &'static str {
    match kind {
        FactKind::File => "file",
        FactKind::Executable => "executable",
        FactKind::Link => "link",
    }
}
