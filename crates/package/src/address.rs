//! Addresses of repositories, archives and sites: parsed strictly, normalised, without credentials.

use prowess_diag::sanitize;

use crate::source::SourceError;

/// Maximum length of an address or a typed source, in bytes.
pub const MAX_ADDRESS: usize = 4096;

/// A normalised address: lower-case scheme and host, no default port, no empty or `.` segments, no
/// query, no fragment, no password. A user name exists with `ssh` only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// The transport.
    pub scheme: AddressScheme,
    /// The user name of an `ssh` address.
    pub user: Option<String>,
    /// The host; empty for `file`.
    pub host: String,
    /// The port, if it is not the usual one.
    pub port: Option<u16>,
    /// The path with a leading slash and no trailing one; empty for the root.
    pub path: String,
}

/// The transport of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressScheme {
    /// `https`.
    Https,
    /// `http`, for loopback hosts only.
    LoopbackHttp,
    /// `ssh`.
    Ssh,
    /// `file`.
    File,
}

impl AddressScheme {
    fn as_str(self) -> &'static str {
        match self {
            Self::Https => "https",
            Self::LoopbackHttp => "http",
            Self::Ssh => "ssh",
            Self::File => "file",
        }
    }

    fn usual_port(self) -> Option<u16> {
        match self {
            Self::Https => Some(443),
            Self::LoopbackHttp => Some(80),
            Self::Ssh => Some(22),
            Self::File => None,
        }
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}://", self.scheme.as_str())?;
        if let Some(user) = &self.user {
            write!(f, "{user}@")?;
        }
        f.write_str(&self.host)?;
        if let Some(port) = self.port {
            write!(f, ":{port}")?;
        }
        f.write_str(&self.path)
    }
}

impl Address {
    /// Parses an address with a scheme. `file` is accepted only if `allow_file` is set.
    pub fn parse(text: &str, allow_file: bool) -> Result<Self, SourceError> {
        check_text(text)?;
        let shown = shown(text);
        let Some((scheme, rest)) = text.split_once("://") else {
            return Err(SourceError::NotASource { text: shown });
        };
        let scheme = match scheme.to_ascii_lowercase().as_str() {
            "https" => AddressScheme::Https,
            "http" => AddressScheme::LoopbackHttp,
            "ssh" => AddressScheme::Ssh,
            "file" if allow_file => AddressScheme::File,
            "file" => return Err(SourceError::BareFile { text: shown }),
            other => {
                let scheme = sanitize::line(other).into_owned();
                return Err(SourceError::Scheme { scheme });
            }
        };
        let (authority, path) = match rest.find('/') {
            Some(at) => rest.split_at(at),
            None => (rest, ""),
        };
        Self::from_parts(scheme, authority, path, &shown)
    }

    /// Parses the form `user@host:path`.
    pub(crate) fn parse_scp(text: &str) -> Result<Self, SourceError> {
        check_text(text)?;
        let shown = shown(text);
        let Some((authority, path)) = text.split_once(':') else {
            return Err(SourceError::NotASource { text: shown });
        };
        // `git@host:22/x` would be a folder `22` for git; most people mean a port.
        if path.starts_with('-') {
            return Err(SourceError::OptionLike { text: shown });
        }
        let path = format!("/{}", path.trim_start_matches('/'));
        Self::from_parts(AddressScheme::Ssh, authority, &path, &shown)
    }

    fn from_parts(
        scheme: AddressScheme,
        authority: &str,
        path: &str,
        shown: &str,
    ) -> Result<Self, SourceError> {
        let fault = |why: &'static str| SourceError::Address {
            text: shown.to_owned(),
            why,
        };
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        let user = match user {
            None => None,
            Some(user) if scheme == AddressScheme::Ssh && is_user(user) => Some(user.to_owned()),
            Some(user) if user.starts_with('-') => {
                return Err(SourceError::OptionLike {
                    text: shown.to_owned(),
                });
            }
            Some(_) => {
                return Err(SourceError::UserInfo {
                    text: shown.to_owned(),
                });
            }
        };
        if scheme == AddressScheme::File {
            if !host.is_empty() {
                return Err(fault("a file address has no host: `git+file:///folder`"));
            }
            let path = clean_path(path).map_err(|why| path_error(why, shown))?;
            if path.is_empty() {
                return Err(fault("it has no path"));
            }
            let host = String::new();
            return Ok(Self {
                scheme,
                user,
                host,
                port: None,
                path,
            });
        }
        if host.starts_with('-') {
            return Err(SourceError::OptionLike {
                text: shown.to_owned(),
            });
        }
        let (host, port) = split_port(host).ok_or_else(|| fault("the port is invalid"))?;
        let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
        if !is_host(&host) {
            return Err(fault("the host is invalid"));
        }
        if scheme == AddressScheme::LoopbackHttp && !is_loopback(&host) {
            return Err(SourceError::PlainHttp {
                text: shown.to_owned(),
            });
        }
        let path = clean_path(path).map_err(|why| path_error(why, shown))?;
        if scheme == AddressScheme::Ssh && path.is_empty() {
            return Err(fault("it has no path"));
        }
        Ok(Self {
            scheme,
            user,
            host,
            port: port.filter(|port| Some(*port) != scheme.usual_port()),
            path,
        })
    }

    /// Returns the segments of the path.
    pub fn segments(&self) -> impl Iterator<Item = &str> {
        self.path.split('/').skip(1)
    }

    /// Returns the address of the host alone: scheme, host and port.
    pub fn origin(&self) -> String {
        let bare = Self {
            path: String::new(),
            ..self.clone()
        };
        bare.to_string()
    }

    /// Returns the same address with another path.
    #[must_use]
    pub(crate) fn with_segments<'a>(&self, segments: impl IntoIterator<Item = &'a str>) -> Self {
        let mut path = String::new();
        for segment in segments {
            path.push('/');
            path.push_str(segment);
        }
        Self {
            path,
            ..self.clone()
        }
    }
}

/// The reason why a path is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AddressPathFault {
    /// It has a `..` segment.
    Parent,
    /// Another reason.
    Other(&'static str),
}

fn path_error(fault: AddressPathFault, shown: &str) -> SourceError {
    let text = shown.to_owned();
    match fault {
        AddressPathFault::Parent => SourceError::ParentPath { text },
        AddressPathFault::Other(why) => SourceError::Address { text, why },
    }
}

/// Normalises the path of an address: a leading slash, no empty or `.` segments.
fn clean_path(path: &str) -> Result<String, AddressPathFault> {
    if path.contains(['?', '#']) {
        return Err(AddressPathFault::Other(
            "an address with a query or a fragment cannot be locked",
        ));
    }
    let mut clean = String::with_capacity(path.len());
    for segment in path.split('/').filter(|part| !matches!(*part, "" | ".")) {
        check_segment(segment)?;
        // A server may read `%2e%2e` as `..`.
        let decoded = percent_decoded(segment).ok_or(AddressPathFault::Other(
            "a percent sign must be followed by two hexadecimal digits of UTF-8",
        ))?;
        if decoded != segment {
            if decoded.contains('/') {
                return Err(AddressPathFault::Other("it has an escaped slash"));
            }
            check_segment(&decoded)?;
        }
        clean.push('/');
        clean.push_str(segment);
    }
    Ok(clean)
}

fn check_segment(segment: &str) -> Result<(), AddressPathFault> {
    match segment {
        ".." => Err(AddressPathFault::Parent),
        _ if segment.contains('\\') => Err(AddressPathFault::Other("it has a backslash")),
        _ if segment.chars().any(char::is_control) => {
            Err(AddressPathFault::Other("it has a control character"))
        }
        _ => Ok(()),
    }
}

/// Normalises the path of a skill in a source: forward slashes, relative, no `..`, no control
/// characters. Returns an empty string for the root.
pub fn skill_path(text: &str) -> Result<String, SourceError> {
    let shown = shown(text);
    check_text_lenient(text)?;
    let fault = |why| SourceError::Address {
        text: shown.clone(),
        why,
    };
    if text.starts_with('/') {
        return Err(fault("a path in a source is relative"));
    }
    let mut parts = Vec::new();
    for part in text.split('/').filter(|part| !matches!(*part, "" | ".")) {
        check_segment(part).map_err(|why| path_error(why, &shown))?;
        if is_repository_folder(part) {
            return Err(fault("a path into a repository's own folder"));
        }
        parts.push(part);
    }
    Ok(parts.join("/"))
}

/// Returns `true` for folders of version control, which never become files of a skill.
pub fn is_repository_folder(name: &str) -> bool {
    [".git", ".hg", ".jj", ".svn"]
        .iter()
        .any(|known| name.eq_ignore_ascii_case(known))
}

/// Decodes `%XX`. Returns `None` if a sequence is invalid or the result is not UTF-8.
pub(crate) fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let mut digit = || char::from(rest.next()?).to_digit(16);
            let value = digit()? * 16 + digit()?;
            bytes.push(u8::try_from(value).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

/// Refuses what no source may contain, whatever its form.
pub(crate) fn check_text(text: &str) -> Result<(), SourceError> {
    check_text_lenient(text)?;
    if text.contains(char::is_whitespace) {
        return Err(SourceError::Address {
            text: shown(text),
            why: "it has a blank",
        });
    }
    Ok(())
}

/// Like [`check_text`], but allows blanks, which paths of files may have.
pub(crate) fn check_text_lenient(text: &str) -> Result<(), SourceError> {
    if text.is_empty() {
        return Err(SourceError::Empty);
    }
    if text.len() > MAX_ADDRESS {
        return Err(SourceError::TooLong);
    }
    if text.starts_with('-') {
        return Err(SourceError::OptionLike { text: shown(text) });
    }
    if text
        .chars()
        .any(|c| c.is_control() || sanitize::is_deceptive(c))
    {
        return Err(SourceError::ControlCharacter { text: shown(text) });
    }
    Ok(())
}

/// Returns a text for messages: without user info, without control characters, shortened.
pub fn shown(text: &str) -> String {
    let text = match text.split_once("://") {
        Some((scheme, rest)) => {
            let authority = rest.split('/').next().unwrap_or_default();
            // A password may contain a slash that was not escaped.
            match (authority.rsplit_once('@'), rest.rsplit_once('@')) {
                (Some((user, _)), _) if is_user(user) && scheme.ends_with("ssh") => text.to_owned(),
                (Some(_) | None, Some((_, after))) if authority.contains(['@', ':']) => {
                    format!("{scheme}://…@{after}")
                }
                _ => text.to_owned(),
            }
        }
        None => match text.split_once('@') {
            // `user:password@host:path`
            Some((user, after)) if user.contains(':') => format!("…@{after}"),
            _ => text.to_owned(),
        },
    };
    // The query of an address may be a token.
    let text = match text.split_once('?') {
        Some((before, _)) if text.contains("://") => format!("{before}?…"),
        _ => text,
    };
    sanitize::line(&prowess_diag::wording::shorten(&text, 200)).into_owned()
}

fn is_user(user: &str) -> bool {
    !user.is_empty()
        && !user.starts_with('-')
        && user
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
}

/// Splits a port from a host. Returns `None` if the port is invalid.
fn split_port(text: &str) -> Option<(&str, Option<u16>)> {
    let at = match text.rfind(']') {
        Some(end) => text[end..].find(':').map(|at| end + at),
        None => text.find(':'),
    };
    let Some(at) = at else {
        return Some((text, None));
    };
    let port = &text[at + 1..];
    if port.is_empty() {
        return Some((&text[..at], None));
    }
    let is_number = port.bytes().all(|byte| byte.is_ascii_digit());
    let port = port
        .parse()
        .ok()
        .filter(|port: &u16| is_number && *port > 0)?;
    Some((&text[..at], Some(port)))
}

fn is_host(host: &str) -> bool {
    if let Some(inner) = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
    {
        return inner.parse::<core::net::Ipv6Addr>().is_ok();
    }
    // Other scripts must be typed in their ASCII form, so that no host looks like another one.
    host.len() <= 253
        && host.split('.').all(|label| {
            !label.is_empty()
                && !label.starts_with('-')
                && !label.ends_with('-')
                && label
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
        })
}

fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || bare
            .parse::<core::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn equal_addresses_have_one_form() {
        for (text, normal) in [
            ("https://Git.Example.com/a/b", "https://git.example.com/a/b"),
            (
                "HTTPS://git.example.com:443//a/./b/",
                "https://git.example.com/a/b",
            ),
            ("https://git.example.com./a", "https://git.example.com/a"),
            (
                "https://git.example.com:8443/A",
                "https://git.example.com:8443/A",
            ),
            ("https://git.example.com", "https://git.example.com"),
            ("ssh://git@Host.example:22/a", "ssh://git@host.example/a"),
            ("ssh://host.example/~me/a", "ssh://host.example/~me/a"),
            ("http://127.0.0.1:80/a", "http://127.0.0.1/a"),
            ("http://localhost:8080/a", "http://localhost:8080/a"),
            ("http://[::1]:9/a", "http://[::1]:9/a"),
            ("file:///srv//git/a/", "file:///srv/git/a"),
        ] {
            let address = Address::parse(text, true).unwrap();
            assert_eq!(address.to_string(), normal, "{text}");
        }
        let scp = Address::parse_scp("git@Host.example:acme/ops.git").unwrap();
        assert_eq!(scp.to_string(), "ssh://git@host.example/acme/ops.git");
    }

    #[test]
    fn messages_have_no_credentials() {
        for (text, form) in [
            ("https://me:secret@h.example/a", "https://…@h.example/a"),
            ("https://token@h.example/a", "https://…@h.example/a"),
            ("https://me:se/cret@h.example/a", "https://…@h.example/a"),
            ("ssh://me:secret@h.example/a", "ssh://…@h.example/a"),
            ("ssh://git@h.example/a", "ssh://git@h.example/a"),
            ("https://h.example/a?token=secret", "https://h.example/a?…"),
            ("me:secret@h.example:a", "…@h.example:a"),
            ("https://h.example/a@v1", "https://h.example/a@v1"),
        ] {
            assert_eq!(shown(text), form, "{text}");
            if text.contains("secret") {
                let error = Address::parse(text, false).unwrap_err().to_string();
                assert!(!error.contains("secret"), "{error}");
            }
        }
    }

    #[test]
    fn paths_of_skills_stay_inside() {
        assert_eq!(skill_path("./skills//pdf/").unwrap(), "skills/pdf");
        assert_eq!(skill_path("my skills/pdf").unwrap(), "my skills/pdf");
        for text in [
            "../x", "a/../b", "/etc", "a\\b", "-x", "a/.GIT/b", "a\u{7}", "",
        ] {
            assert!(skill_path(text).is_err(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn a_normalised_address_is_its_own_form(text in "(https|ssh|http|file)://[ -~]{0,40}") {
            if let Ok(address) = Address::parse(&text, true) {
                let normal = address.to_string();
                prop_assert_eq!(Address::parse(&normal, true).unwrap(), address);
            }
        }

        #[test]
        fn no_text_causes_a_panic(text in "\\PC{0,60}") {
            let _ = Address::parse(&text, true);
            let _ = shown(&text);
            let _ = skill_path(&text);
        }
    }
}
