//! Edits the packages of a manifest. Every byte outside of the edited entry stays as it is.

use std::ops::Range;

use toml::Table;
use toml_edit::{Document, Item};

use crate::manifest::MAX_MANIFEST_TOKENS;

use crate::lock;
use crate::source::{ArchiveLocation, GitSource, PackageSource, SourceOrigin, WantedRef};

/// The reason why a manifest cannot be edited. The file stays as it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ManifestEditError {
    /// The text is not TOML.
    #[error("the manifest is not valid TOML: {reason}")]
    Syntax {
        /// The first fault.
        reason: String,
        /// Its line, from 1.
        line: usize,
    },
    /// `packages` is not a table.
    #[error("`packages` is not a table")]
    NotATable,
    /// No entry has this name.
    #[error("the manifest has no package `{name}`")]
    NotFound {
        /// The name.
        name: String,
    },
    /// The layout of the file prevents the edit.
    #[error("the layout of the manifest prevents the edit")]
    Layout {
        /// The line to add or remove by hand.
        line: String,
    },
}

impl ManifestEditError {
    /// Returns the next command to type, or another way out.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Syntax { line, .. } => Some(format!("see line {line}")),
            Self::NotATable => None,
            Self::NotFound { .. } => Some("list the packages with `prowess list`".to_owned()),
            Self::Layout { line } => Some(format!("edit `[packages]` yourself: {line}")),
        }
    }
}

/// Returns the text with a package added or replaced. `value` is TOML, as of [`entry_value`].
pub fn set_package(text: &str, name: &str, value: &str) -> Result<String, ManifestEditError> {
    let document = parse(text)?;
    let key = toml_key(name);
    let line = format!("{key} = {value}");
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let layout = || ManifestEditError::Layout { line: line.clone() };
    let new_section = || {
        let mut new = text.to_owned();
        if !new.is_empty() && !new.ends_with('\n') {
            new.push_str(end);
        }
        if !new.trim().is_empty() {
            new.push_str(end);
        }
        new.push_str(&format!("[packages]{end}{line}{end}"));
        new
    };
    let new = match document.get("packages") {
        None => new_section(),
        Some(Item::Table(table)) => {
            if let Some((old_key, old)) = table.get_key_value(name) {
                match old {
                    Item::Value(old) => {
                        let span = old.span().ok_or_else(layout)?;
                        replaced(text, span, value)
                    }
                    // `[packages.NAME]`, or a key with dots.
                    Item::Table(_) | Item::ArrayOfTables(_) | Item::None => {
                        let spans = removed_lines(text, old_key.span(), old).ok_or_else(layout)?;
                        let without = without(text, &spans);
                        return set_package(&without, name, value)
                            .and_then(|new| checked(text, new, name, Some(value), &line));
                    }
                }
            } else if table.is_dotted() {
                let at = last_end(table).ok_or_else(layout)?;
                inserted(text, line_end(text, at), &format!("packages.{line}"), end)
            } else if let Some(at) = last_end(table) {
                inserted(text, line_end(text, at), &line, end)
            } else if table.is_implicit() {
                new_section()
            } else {
                let header = table.span().ok_or_else(layout)?;
                inserted(text, line_end(text, header.end), &line, end)
            }
        }
        Some(Item::Value(toml_edit::Value::InlineTable(table))) => {
            if let Some(old) = table.get(name) {
                let span = old.span().ok_or_else(layout)?;
                replaced(text, span, value)
            } else {
                let span = table.span().ok_or_else(layout)?;
                let inner = text.get(span.start + 1..span.end - 1).ok_or_else(layout)?;
                let separator = match inner.trim_end() {
                    "" => " ",
                    inner if inner.ends_with(',') => " ",
                    _ => ", ",
                };
                let new = format!("{{{}{separator}{line} }}", inner.trim_end());
                replaced(text, span, &new)
            }
        }
        Some(_) => return Err(ManifestEditError::NotATable),
    };
    checked(text, new, name, Some(value), &line)
}

/// Returns the text without a package.
pub fn remove_package(text: &str, name: &str) -> Result<String, ManifestEditError> {
    let document = parse(text)?;
    let line = format!("remove `{name}`");
    let layout = || ManifestEditError::Layout { line: line.clone() };
    let not_found = || ManifestEditError::NotFound {
        name: name.to_owned(),
    };
    let new = match document.get("packages") {
        None => return Err(not_found()),
        Some(Item::Table(table)) => {
            let (key, item) = table.get_key_value(name).ok_or_else(not_found)?;
            let spans = removed_lines(text, key.span(), item).ok_or_else(layout)?;
            without(text, &spans)
        }
        Some(Item::Value(toml_edit::Value::InlineTable(table))) => {
            let (key, item) = table.get_key_value(name).ok_or_else(not_found)?;
            let (key, value) = key.span().zip(item.span()).ok_or_else(layout)?;
            let after = text.get(value.end..).unwrap_or_default();
            let before = text.get(..key.start).unwrap_or_default();
            // One comma goes with the entry.
            let rest = after.trim_start();
            let span = if let Some(next) = rest.strip_prefix(',') {
                key.start..text.len() - next.trim_start().len()
            } else if let Some(comma) = before.trim_end().strip_suffix(',') {
                comma.len()..value.end
            } else {
                key.start..value.end
            };
            without(text, &[span])
        }
        Some(_) => return Err(ManifestEditError::NotATable),
    };
    checked(text, new, name, None, &line)
}

/// Returns the value of an entry as TOML: the short form if it means the same, else a table.
///
/// `shorthand` is the address before `owner/repo` in the file.
pub fn entry_value(source: &PackageSource, skill: Option<&str>, shorthand: &str) -> String {
    if skill.is_none()
        && let Some(text) = short(source, shorthand)
        && PackageSource::parse(&text, shorthand, SourceOrigin::Typed).as_ref() == Ok(source)
    {
        return toml_text(&text);
    }
    let mut keys: Vec<(&str, String)> = Vec::new();
    match source {
        PackageSource::Git(git) => long_git(git, &mut keys),
        PackageSource::Path { path } => keys.push(("path", path.clone())),
        PackageSource::Archive { location, digest } => {
            keys.push(match location {
                ArchiveLocation::Url(url) => ("archive", url.clone()),
                ArchiveLocation::File(path) => ("archive", path.clone()),
            });
            keys.extend(digest.iter().map(|digest| ("digest", digest.clone())));
        }
        // A site is a repository or an index once it was asked.
        PackageSource::Site { url, .. } => keys.push(("index", url.clone())),
        PackageSource::Index { url, name } => {
            keys.push(("index", url.clone()));
            keys.extend(name.iter().map(|name| ("name", name.clone())));
        }
        PackageSource::Mcp { server, uri } => {
            keys.push(("mcp", server.clone()));
            if !uri.is_empty() {
                keys.push(("uri", uri.clone()));
            }
        }
        PackageSource::Registry {
            registry,
            name,
            wanted,
        } => {
            keys.push(("registry", registry.clone()));
            keys.push(("name", name.clone()));
            keys.extend(wanted.lock_text().map(|range| ("version", range)));
        }
    }
    keys.extend(skill.map(|skill| ("skill", skill.to_owned())));
    let keys: Vec<String> = keys
        .into_iter()
        .map(|(key, value)| format!("{key} = {}", toml_text(&value)))
        .collect();
    format!("{{ {} }}", keys.join(", "))
}

fn long_git(git: &GitSource, keys: &mut Vec<(&str, String)>) {
    let url = if git.url.starts_with("file:") {
        format!("git+{}", git.url)
    } else {
        git.url.clone()
    };
    keys.push(("git", url));
    keys.extend(git.path.iter().map(|path| ("path", path.clone())));
    match &git.wanted {
        WantedRef::Default => {}
        WantedRef::Version(range) => keys.push(("version", range.to_string())),
        WantedRef::Tag(name) => keys.push(("tag", name.clone())),
        WantedRef::Branch(name) => keys.push(("branch", name.clone())),
        WantedRef::Commit(id) => keys.push(("rev", id.clone())),
        // Resolved to a tag or a branch before it is written; kept as typed otherwise.
        WantedRef::Any(name) | WantedRef::RefAndPath(name) => {
            if let Some((_, url)) = keys.first_mut() {
                *url = format!("{url}@{name}");
            }
        }
    }
    keys.extend(
        git.tag_prefix
            .iter()
            .map(|prefix| ("tag-prefix", prefix.clone())),
    );
}

fn short(source: &PackageSource, shorthand: &str) -> Option<String> {
    match source {
        PackageSource::Git(git) => {
            let name = git.url.strip_prefix(shorthand.trim_end_matches('/'))?;
            let name = name.strip_prefix('/')?;
            let path = git.path.as_ref().map(|path| format!("/{path}"));
            let wanted = match &git.wanted {
                WantedRef::Default => String::new(),
                WantedRef::Version(_) | WantedRef::Commit(_) | WantedRef::Any(_) => {
                    format!("@{}", git.wanted.lock_text().unwrap_or_default())
                }
                WantedRef::Tag(_) | WantedRef::Branch(_) | WantedRef::RefAndPath(_) => return None,
            };
            Some(format!("{name}{}{wanted}", path.unwrap_or_default()))
        }
        PackageSource::Site { url, wanted } => {
            let wanted = wanted.lock_text().map(|wanted| format!("@{wanted}"));
            Some(format!("{url}{}", wanted.unwrap_or_default()))
        }
        _ => None,
    }
}

fn parse(text: &str) -> Result<Document<&str>, ManifestEditError> {
    if prowess_diag::toml_size::has_more_tokens(text, MAX_MANIFEST_TOKENS) {
        return Err(ManifestEditError::Syntax {
            reason: "it has too many values".to_owned(),
            line: 1,
        });
    }
    Document::parse(text).map_err(|error| {
        let before = error.span().and_then(|span| text.get(..span.start));
        ManifestEditError::Syntax {
            reason: prowess_diag::sanitize::line(error.message()).into_owned(),
            line: before.unwrap_or_default().matches('\n').count() + 1,
        }
    })
}

/// Returns the new text if it says what was intended and nothing else changed.
fn checked(
    old: &str,
    new: String,
    name: &str,
    value: Option<&str>,
    line: &str,
) -> Result<String, ManifestEditError> {
    let layout = || ManifestEditError::Layout {
        line: line.to_owned(),
    };
    let read = |text: &str| text.parse::<Table>().map_err(|_| layout());
    let (mut before, mut after) = (read(old)?, read(&new)?);
    let entry = value
        .map(|value| read(&format!("value = {value}")))
        .transpose()?;
    let entry = entry.and_then(|mut entry| entry.remove("value"));
    let take = |table: &mut Table| {
        let packages = table
            .get_mut("packages")
            .and_then(toml::Value::as_table_mut);
        let taken = packages.and_then(|packages| packages.remove(name));
        // The section may come and go with its only entry.
        if table
            .get("packages")
            .is_some_and(|packages| packages.as_table().is_some_and(Table::is_empty))
        {
            table.remove("packages");
        }
        taken
    };
    take(&mut before);
    if take(&mut after) == entry && before == after {
        Ok(new)
    } else {
        Err(layout())
    }
}

/// Returns the end of the last value of a table, without tables of their own header.
fn last_end(table: &toml_edit::Table) -> Option<usize> {
    let ends = table.iter().filter_map(|(_, item)| match item {
        Item::Value(value) => value.span().map(|span| span.end),
        Item::Table(table) if table.is_dotted() => last_end(table),
        _ => None,
    });
    ends.max()
}

/// Returns the lines of an entry: one, or those of a table with its own header.
fn removed_lines(text: &str, key: Option<Range<usize>>, item: &Item) -> Option<Vec<Range<usize>>> {
    match item {
        Item::Value(value) => {
            let start = line_start(text, key?.start);
            let line = start..line_end(text, value.span()?.end);
            Some(Vec::from([line]))
        }
        // `packages.NAME.git = …`: each key has its line.
        Item::Table(table) if table.is_dotted() => {
            let mut spans = Vec::new();
            for (key, item) in value_places(table) {
                spans.push(line_start(text, key)..line_end(text, item));
            }
            Some(spans)
        }
        Item::Table(table) if !table.is_implicit() => {
            let header = table.span()?;
            let end = last_end(table).unwrap_or(header.end).max(header.end);
            let lines = line_start(text, header.start)..line_end(text, end);
            Some(Vec::from([lines]))
        }
        _ => None,
    }
}

/// Returns the start of the key and the end of the value of each entry of a table.
fn value_places(table: &toml_edit::Table) -> Vec<(usize, usize)> {
    let mut places = Vec::new();
    for (name, _) in table {
        let Some((key, item)) = table.get_key_value(name) else {
            continue;
        };
        match item {
            Item::Value(value) => {
                let place = key.span().zip(value.span());
                places.extend(place.map(|(key, value)| (key.start, value.end)));
            }
            // The depth is bounded by the parser.
            Item::Table(table) => places.extend(value_places(table)),
            _ => {}
        }
    }
    places
}

fn line_start(text: &str, at: usize) -> usize {
    text.get(..at)
        .and_then(|before| before.rfind('\n'))
        .map_or(0, |newline| newline + 1)
}

/// Returns the offset after the line break, or the end of the text.
fn line_end(text: &str, at: usize) -> usize {
    text.get(at..)
        .and_then(|after| after.find('\n'))
        .map_or(text.len(), |newline| at + newline + 1)
}

fn inserted(text: &str, at: usize, line: &str, end: &str) -> String {
    let (before, after) = text.split_at(at);
    let is_new_line = before.is_empty() || before.ends_with('\n');
    let missing = if is_new_line { "" } else { end };
    format!("{before}{missing}{line}{end}{after}")
}

fn replaced(text: &str, span: Range<usize>, new: &str) -> String {
    let mut text = text.to_owned();
    text.replace_range(span, new);
    text
}

fn without(text: &str, spans: &[Range<usize>]) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut sorted = spans.to_vec();
    sorted.sort_by_key(|span| span.start);
    let mut at = 0;
    for span in sorted {
        kept.push_str(text.get(at..span.start.max(at)).unwrap_or_default());
        at = at.max(span.end);
    }
    kept.push_str(text.get(at..).unwrap_or_default());
    kept
}

fn toml_key(name: &str) -> String {
    let mut key = String::new();
    lock::write_key(&mut key, name);
    key
}

fn toml_text(text: &str) -> String {
    let mut value = String::new();
    lock::write_text(&mut value, text);
    value
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::manifest;
    use crate::source::DEFAULT_SHORTHAND;

    const SOURCE: &str = "\"o/r@^1\"";

    #[test]
    fn entry_is_added_in_every_layout() {
        for (before, after) in [
            ("", "[packages]\nx = \"o/r@^1\"\n"),
            ("# note", "# note\n\n[packages]\nx = \"o/r@^1\"\n"),
            (
                "[skills]\nonly = []  # why\n",
                "[skills]\nonly = []  # why\n\n[packages]\nx = \"o/r@^1\"\n",
            ),
            ("[packages]", "[packages]\nx = \"o/r@^1\"\n"),
            (
                "[packages]  # ours\n# more\n\n[skills]\n",
                "[packages]  # ours\nx = \"o/r@^1\"\n# more\n\n[skills]\n",
            ),
            (
                "[packages]\nb   =   'a/b' # keep\n# end\n\n[skills]\nonly = []\n",
                "[packages]\nb   =   'a/b' # keep\nx = \"o/r@^1\"\n# end\n\n[skills]\nonly = []\n",
            ),
            (
                "[packages]\nb = { git = 'a/b',\n  tag = 'v1' }",
                "[packages]\nb = { git = 'a/b',\n  tag = 'v1' }\nx = \"o/r@^1\"\n",
            ),
            (
                "[packages.b]\ngit = 'a/b'\n",
                "[packages.b]\ngit = 'a/b'\n\n[packages]\nx = \"o/r@^1\"\n",
            ),
            (
                "[packages]\na = 'a/b'\n[packages.b]\ngit = 'a/b'\n",
                "[packages]\na = 'a/b'\nx = \"o/r@^1\"\n[packages.b]\ngit = 'a/b'\n",
            ),
            (
                "packages.b = 'a/b' # c\n[skills]\n",
                "packages.b = 'a/b' # c\npackages.x = \"o/r@^1\"\n[skills]\n",
            ),
            ("packages = {}\n", "packages = { x = \"o/r@^1\" }\n"),
            (
                "packages = { b = 'a/b' }\n",
                "packages = { b = 'a/b', x = \"o/r@^1\" }\n",
            ),
            (
                "[packages]\r\nb = 'a/b'\r\n",
                "[packages]\r\nb = 'a/b'\r\nx = \"o/r@^1\"\r\n",
            ),
            // Replaced.
            (
                "[packages]\nx   = 'old' # why\ny = 'a/b'\n",
                "[packages]\nx   = \"o/r@^1\" # why\ny = 'a/b'\n",
            ),
            (
                "packages = { x = 'old', y = 'a/b' }\n",
                "packages = { x = \"o/r@^1\", y = 'a/b' }\n",
            ),
            (
                "[packages]\ny = 'a/b'\n\n[packages.x]\ngit = 'a/b' # c\ntag = 'v1'\n\n# next\n[skills]\n",
                "[packages]\ny = 'a/b'\nx = \"o/r@^1\"\n\n\n# next\n[skills]\n",
            ),
        ] {
            assert_eq!(
                set_package(before, "x", SOURCE).as_deref(),
                Ok(after),
                "{before}"
            );
        }
        assert_eq!(
            set_package("", "a b\"c", SOURCE).as_deref(),
            Ok("[packages]\n\"a b\\\"c\" = \"o/r@^1\"\n")
        );
    }

    #[test]
    fn entry_is_removed_in_every_layout() {
        for (before, after) in [
            ("[packages]\nx = 'o/r'\n", "[packages]\n"),
            (
                "# a\n[packages] # b\n# c\nx = 'o/r' # d\ny   = 'a/b' # e\n",
                "# a\n[packages] # b\n# c\ny   = 'a/b' # e\n",
            ),
            (
                "[packages]\ny = 'a/b'\nx = 'o/r'",
                "[packages]\ny = 'a/b'\n",
            ),
            (
                "[packages]\nx = { git = 'a/b',\n  tag = 'v1' } # c\ny = 'a/b'\n",
                "[packages]\ny = 'a/b'\n",
            ),
            (
                "[packages.x]\ngit = 'a/b'\ntag = 'v1' # c\n\n[packages.y]\ngit = 'a/b'\n",
                "\n[packages.y]\ngit = 'a/b'\n",
            ),
            (
                "packages.x.git = 'a/b'\npackages.x.tag = 'v1'\npackages.y = 'a/b'\n",
                "packages.y = 'a/b'\n",
            ),
            ("packages.x = 'a/b'\r\n[skills]\r\n", "[skills]\r\n"),
            (
                "packages = { x = 'a/b', y = 'a/b' }\n",
                "packages = { y = 'a/b' }\n",
            ),
            (
                "packages = { y = 'a/b', x = 'a/b' }\n",
                "packages = { y = 'a/b' }\n",
            ),
            ("packages = { x = 'a/b' }\n", "packages = {  }\n"),
        ] {
            assert_eq!(
                remove_package(before, "x").as_deref(),
                Ok(after),
                "{before}"
            );
        }
        for text in ["", "[packages]\n", "packages = {}\n"] {
            let error = remove_package(text, "x").unwrap_err();
            assert!(
                matches!(error, ManifestEditError::NotFound { .. }),
                "{error:?}"
            );
        }
    }

    #[test]
    fn file_that_cannot_be_edited_is_an_error() {
        let error = set_package("[packages]\nx = \n", "x", SOURCE).unwrap_err();
        assert!(
            matches!(error, ManifestEditError::Syntax { line: 2, .. }),
            "{error:?}"
        );
        for text in ["packages = 3\n", "[[packages]]\n"] {
            assert_eq!(
                set_package(text, "x", SOURCE),
                Err(ManifestEditError::NotATable)
            );
            assert_eq!(remove_package(text, "x"), Err(ManifestEditError::NotATable));
        }
    }

    #[test]
    fn entry_has_its_shortest_form() {
        let typed = |text: &str| {
            PackageSource::parse(text, DEFAULT_SHORTHAND, SourceOrigin::Typed).unwrap()
        };
        let with = |text: &str, wanted| typed(text).with_wanted(wanted).unwrap();
        let value = |source: &PackageSource| entry_value(source, None, DEFAULT_SHORTHAND);
        for (source, expected) in [
            (typed("acme/skills@^1.4"), "\"acme/skills@^1.4\""),
            (typed("acme/skills/a/b@1.4.2"), "\"acme/skills/a/b@=1.4.2\""),
            (
                typed("https://github.com/acme/skills.git"),
                "\"acme/skills\"",
            ),
            (
                with("acme/skills", WantedRef::Tag("v1".to_owned())),
                "{ git = \"https://github.com/acme/skills\", tag = \"v1\" }",
            ),
            (
                with(
                    "git@h.example:a/b.git",
                    WantedRef::Branch("main".to_owned()),
                ),
                "{ git = \"ssh://git@h.example/a/b.git\", branch = \"main\" }",
            ),
            (
                typed("git+file:///srv/x"),
                "{ git = \"git+file:///srv/x\" }",
            ),
            (typed("../x"), "{ path = \"../x\" }"),
            (
                typed("mcp:s/skill://a/b"),
                "{ mcp = \"s\", uri = \"skill://a/b\" }",
            ),
            (
                typed("corp:a/b@~3.1"),
                "{ registry = \"corp\", name = \"a/b\", version = \"~3.1\" }",
            ),
            (
                typed("https://h.example/x.zip"),
                "{ archive = \"https://h.example/x.zip\" }",
            ),
        ] {
            assert_eq!(value(&source), expected);
        }
        let skill = entry_value(&typed("acme/skills"), Some("pdf"), DEFAULT_SHORTHAND);
        assert_eq!(
            skill,
            "{ git = \"https://github.com/acme/skills\", skill = \"pdf\" }"
        );
        // Another shorthand in the file: the address is complete.
        let other = entry_value(&typed("acme/skills"), None, "https://git.example.com/");
        assert_eq!(other, "{ git = \"https://github.com/acme/skills\" }");
    }

    fn any_source() -> impl Strategy<Value = PackageSource> {
        prop_oneof![
            "[a-z]{1,5}/[a-z]{1,5}(/[a-z@ '\"]{1,5}){0,2}(@(\\^1\\.[0-9]|v[0-9]|main|[0-9]\\.[0-9]\\.[0-9]))?",
            "(git\\+)?https://[a-z]{1,5}\\.example/[a-z]{1,5}(\\.git)?(/[a-z]{1,3})?(@main)?",
            "git@[a-z]{1,5}\\.example:[a-z]{1,5}/[a-z]{1,5}(@v1\\.0\\.0)?",
            "git\\+file:///[a-z]{1,5}/[a-z]{1,5}",
            "[.~]{1,2}/[a-zé \"'\\\\]{1,9}(\\.zip)?",
            "mcp:[a-z]{1,5}/skill://[a-z]{1,5}",
            "[a-z]{2,5}:[a-z]{1,5}/[a-z]{1,5}(@~3\\.1)?",
        ]
        .prop_filter_map("not a source", |text| {
            PackageSource::parse(&text, DEFAULT_SHORTHAND, SourceOrigin::Typed).ok()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]
        #[test]
        fn written_entry_reads_back_equal(source in any_source(), name in "[a-zé][a-z0-9é\"' .-]{0,8}[a-z]") {
            let value = entry_value(&source, None, DEFAULT_SHORTHAND);
            let text = set_package("", &name, &value).unwrap();
            let (manifest, report) = manifest::read("x", &text, SourceOrigin::Person);
            prop_assert!(report.diagnostics.is_empty(), "{}: {:?}", text, report.diagnostics);
            prop_assert_eq!(&manifest.packages[0].source, &source, "{}", text);
        }

        /// Adding and removing leaves every other byte, comments and blank lines included.
        #[test]
        fn edits_keep_every_other_line(lines in proptest::collection::vec("(# [a-z]{0,5}|| {1,3}|[a-c] ?= ?'o/r' ?(# [a-z])?|[a-c] = \\{ git = 'o/r' \\})", 0..8), head in "(# top\n|x = 1 # y\n|\n)?", tail in "(\n\\[skills\\]\nonly = \\[\\] # z\n)?") {
            let text = format!("{head}[packages] # p\n{}\n{tail}", lines.join("\n"));
            prop_assume!(text.parse::<Table>().is_ok());
            let added = set_package(&text, "new", SOURCE).unwrap();
            let line = "new = \"o/r@^1\"\n";
            prop_assert_eq!(added.matches(line).count(), 1);
            prop_assert_eq!(added.replacen(line, "", 1), text.as_str());
            prop_assert_eq!(remove_package(&added, "new").unwrap(), text);
        }
    }
}
