//! URIs of skills and their files: `skill://pdf-forms/references/fields.md`.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// URI scheme.
pub(crate) const SCHEME: &str = "skill://";

/// Characters that need no encoding.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Maximum length of a URI that is parsed.
const MAX_URI: usize = 8 * 1024;

/// Returns the URI of a skill's folder, from the segments of its path.
pub(crate) fn root<'p>(parts: impl IntoIterator<Item = &'p str>) -> String {
    let parts: Vec<String> = parts.into_iter().map(encode).collect();
    format!("{SCHEME}{}", parts.join("/"))
}

/// Returns the URI of a file in a skill's folder.
pub(crate) fn join(root: &str, path: &str) -> String {
    let parts: Vec<String> = path.split('/').map(encode).collect();
    format!("{root}/{}", parts.join("/"))
}

/// Returns the decoded segments of a URI, or `None` if it is not a skill URI.
pub(crate) fn parts(uri: &str) -> Option<Vec<String>> {
    let rest = uri.strip_prefix(SCHEME).filter(|_| uri.len() <= MAX_URI)?;
    rest.split('/').map(decode).collect()
}

fn encode(part: &str) -> String {
    utf8_percent_encode(part, PLAIN).to_string()
}

/// Decodes one segment of a URI. Returns `None` if it could escape its folder.
pub(crate) fn decode(part: &str) -> Option<String> {
    let part = percent_decode_str(part).decode_utf8().ok()?;
    let is_name = !part.is_empty() && part != "." && part != "..";
    let is_sound = !part.contains(['/', '\\', '\0']);
    (is_name && is_sound).then(|| part.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uri_round_trips() {
        let root = root(["apps", "web", "größe"]);
        assert_eq!(root, "skill://apps/web/gr%C3%B6%C3%9Fe");
        let file = join(&root, "references/a b#c.md");
        assert_eq!(
            parts(&file).unwrap(),
            ["apps", "web", "größe", "references", "a b#c.md"].map(str::to_owned)
        );
    }

    #[test]
    fn escaping_uris_are_rejected() {
        for uri in [
            "",
            "skill://",
            "skill:///x",
            "skill://a//b",
            "skill://a/",
            "skill://a/../b",
            "skill://a/%2e%2e/b",
            "skill://a/b%2Fc",
            "skill://a/%00",
            "skill://a/%ff",
            "file:///etc/passwd",
            "SKILL://a",
        ] {
            assert_eq!(parts(uri), None, "{uri}");
        }
    }
}
