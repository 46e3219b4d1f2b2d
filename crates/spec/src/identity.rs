//! The name and description of a skill, with defaults for missing ones.

use std::borrow::Cow;

use prowess_diag::wording;

use crate::manifest::Manifest;
use crate::name;

/// Maximum length of a description taken from a body.
const DERIVED_DESCRIPTION: usize = 1024;

/// The effective name and description of a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The name.
    pub name: String,
    /// The origin of the name.
    pub name_source: IdentitySource,
    /// The other name, if folder and frontmatter differ.
    pub alias: Option<String>,
    /// The description.
    pub description: String,
    /// The origin of the description.
    pub description_source: IdentitySource,
}

/// The origin of a name or description.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdentitySource {
    /// The frontmatter.
    Frontmatter,
    /// The name of the folder, or for a description, the name of the skill.
    Folder,
    /// The first line of the body.
    Body,
    /// None of them: no value was available.
    Nothing,
}

impl IdentitySource {
    /// Returns the name used in output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Frontmatter => "frontmatter",
            Self::Folder => "folder",
            Self::Body => "body",
            Self::Nothing => "nothing",
        }
    }
}

/// Determines the name of a skill: the frontmatter's if it is valid, else the folder's, else the
/// frontmatter's unchanged. The description defaults to the first line of the body.
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
        (Some(name), ..) => (&**name, IdentitySource::Frontmatter),
        (None, Some(folder), _) => (&**folder, IdentitySource::Folder),
        (None, None, Some(written)) => (&**written, IdentitySource::Frontmatter),
        (None, None, None) => ("", IdentitySource::Nothing),
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
        Some(text) => (text.value.trim().to_owned(), IdentitySource::Frontmatter),
        None => match first_line(body) {
            Some(line) => (
                wording::shorten(&line, DERIVED_DESCRIPTION),
                IdentitySource::Body,
            ),
            // Only the name is left.
            None if !name.is_empty() => (format!("Skill: {name}"), IdentitySource::Folder),
            None => (String::new(), IdentitySource::Nothing),
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

/// Returns the first line of a body with text in it, without Markdown markers.
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
    fn valid_frontmatter_wins() {
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
    fn folder_and_body_are_the_fallbacks() {
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
