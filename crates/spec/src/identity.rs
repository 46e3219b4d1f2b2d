//! What a skill is called and what it says of itself, whatever its author left out.

use std::borrow::Cow;

use prowess_diag::wording;

use crate::manifest::Manifest;
use crate::name;

/// Longest description taken from a body.
const DERIVED_DESCRIPTION: usize = 1024;

/// Name and description as the loader uses them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The name, and where it comes from.
    pub name: String,
    /// Where the name comes from.
    pub name_source: Source,
    /// The other name, if folder and frontmatter differ.
    pub alias: Option<String>,
    /// The description.
    pub description: String,
    /// Where the description comes from.
    pub description_source: Source,
}

/// Where a part of an identity comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The frontmatter.
    Frontmatter,
    /// The name of the folder; a description made from the name.
    Folder,
    /// The first line of the body.
    Body,
    /// Nowhere: there was nothing to take it from.
    Nothing,
}

impl Source {
    /// Returns the word used in output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Frontmatter => "frontmatter",
            Self::Folder => "folder",
            Self::Body => "body",
            Self::Nothing => "nothing",
        }
    }
}

/// Works out what a skill is called: the frontmatter's name if it is valid, else the folder's,
/// else the frontmatter's as it stands.
pub fn identify(manifest: &Manifest<'_>, folder: Option<&str>, body: &str) -> Identity {
    let written = manifest.name.as_ref().filter(|text| !text.is_blank());
    let written = written.map(|text| name::normalise(&text.value));
    let valid = written
        .as_ref()
        .filter(|name| name::faults(name).is_empty());
    let folder = folder
        .map(name::normalise)
        .filter(|folder| !folder.is_empty());
    let (name, name_source) = match (valid, &folder, &written) {
        (Some(name), ..) => (&**name, Source::Frontmatter),
        (None, Some(folder), _) => (&**folder, Source::Folder),
        (None, None, Some(written)) => (&**written, Source::Frontmatter),
        (None, None, None) => ("", Source::Nothing),
    };
    let mut others = [&written, &folder].into_iter().flatten();
    let alias = others
        .find(|other| ***other != *name)
        .map(ToString::to_string);
    let name = name.to_owned();
    let described = manifest
        .description
        .as_ref()
        .filter(|text| !text.is_blank());
    let (description, description_source) = match described {
        Some(text) => (text.value.trim().to_owned(), Source::Frontmatter),
        None => match first_line(body) {
            Some(line) => (wording::shorten(&line, DERIVED_DESCRIPTION), Source::Body),
            // Nothing to go by but the name.
            None if !name.is_empty() => (format!("Skill: {name}"), Source::Folder),
            None => (String::new(), Source::Nothing),
        },
    };
    Identity {
        name,
        name_source,
        alias,
        description,
        description_source,
    }
}

/// Returns the first line of a body that says something, without its Markdown marks.
pub fn first_line(body: &str) -> Option<Cow<'_, str>> {
    let mut in_comment = false;
    for line in body.lines() {
        let line = line.trim();
        if in_comment || line.starts_with("<!--") {
            in_comment = !line.contains("-->");
            continue;
        }
        if line.starts_with("---")
            || line.starts_with("```")
            || line.starts_with("~~~")
            || line.starts_with("===")
        {
            continue;
        }
        let line = line
            .trim_start_matches(['#', '>', '*', '-', '+', ' '])
            .trim_end_matches(['#', '*', ' ']);
        if line.chars().any(char::is_alphanumeric) {
            return Some(Cow::Borrowed(line));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parse;

    fn check(text: &str, folder: Option<&str>, expected: &str) {
        let parsed = parse(text.as_bytes());
        let found = identify(&parsed.manifest, folder, parsed.body_text());
        let line = format!(
            "{}|{}|{}",
            found.name,
            found.alias.unwrap_or_default(),
            found.description
        );
        assert_eq!(line, expected, "{text}");
    }

    #[test]
    fn the_frontmatter_counts_when_it_is_valid() {
        check("---\nname: a\ndescription: d\n---\n", Some("a"), "a||d");
        check("---\nname: a\ndescription: d\n---\n", Some("b"), "a|b|d");
        check(
            "---\nname: My Skill\ndescription: d\n---\n",
            Some("my-skill"),
            "my-skill|My Skill|d",
        );
        check(
            "---\nname: My Skill\ndescription: d\n---\n",
            None,
            "My Skill||d",
        );
    }

    #[test]
    fn folder_and_body_stand_in() {
        check(
            "# Deploy *now*\n\ntext",
            Some("deploy"),
            "deploy||Deploy *now",
        );
        check(
            "---\nname:\n---\n<!-- note\nmore -->\n> Quote\n",
            Some("x"),
            "x||Quote",
        );
        check("", Some("x"), "x||Skill: x");
        check("", None, "||");
    }
}
