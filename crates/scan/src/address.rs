//! Hosts in addresses: bare numbers, placeholders, private networks.

use core::net::{IpAddr, Ipv4Addr};
use std::ops::Range;

/// The host of an address in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AddressHost<'t> {
    /// The host as it is written, without the port and the user.
    pub(crate) host: &'t str,
    /// The text after the host and the port, up to the end of the address.
    pub(crate) path: &'t str,
    /// Range of the address.
    pub(crate) range: Range<usize>,
}

/// Finds the addresses with a scheme in a text.
pub(crate) fn addresses(text: &str) -> impl Iterator<Item = AddressHost<'_>> {
    text.match_indices("://").filter_map(|(at, _)| {
        let scheme = text[..at]
            .rfind(|c: char| !c.is_ascii_alphanumeric() && c != '+')
            .map_or(0, |before| {
                before + text[before..].chars().next().map_or(1, char::len_utf8)
            });
        let rest = &text[at + 3..];
        let is_end = |c: char| {
            c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '|' | ')' | ',' | ';' | '\\')
        };
        let end = rest.find(is_end).unwrap_or(rest.len());
        let address = &rest[..end];
        let host_end = address.find(['/', '?', '#']).unwrap_or(address.len());
        let authority = &address[..host_end];
        let authority = authority.rsplit('@').next().unwrap_or(authority);
        let host = if authority.starts_with('[') {
            authority
                .split(']')
                .next()
                .unwrap_or(authority)
                .trim_start_matches('[')
        } else {
            authority.split(':').next().unwrap_or(authority)
        };
        (!host.is_empty()).then_some(AddressHost {
            host,
            path: &address[host_end..],
            range: scheme..at + 3 + end,
        })
    })
}

/// Returns the number that a host is, in any notation: `10.0.0.1`, `167772161`, `0xA000001`.
fn number(host: &str) -> Option<IpAddr> {
    if let Ok(address) = host.parse() {
        return Some(address);
    }
    let part = |text: &str| -> Option<u64> {
        if let Some(hex) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
            u64::from_str_radix(hex, 16).ok()
        } else if text.len() > 1 && text.starts_with('0') {
            u64::from_str_radix(text, 8).ok()
        } else {
            text.parse().ok()
        }
    };
    let parts: Option<Vec<u64>> = host.split('.').map(part).collect();
    let parts = parts.filter(|parts| parts.len() <= 4)?;
    // A bare small number is a count or a port.
    if parts.len() == 1 && parts[0] < 0x0100_0000 {
        return None;
    }
    let (last, firsts) = parts.split_last()?;
    let mut value = *last;
    for (index, first) in firsts.iter().enumerate() {
        if *first > 255 {
            return None;
        }
        value += first << (8 * (3 - index));
    }
    u32::try_from(value)
        .ok()
        .map(|value| IpAddr::V4(Ipv4Addr::from(value)))
}

impl AddressHost<'_> {
    /// Returns `true` if the host is a number on the public network.
    pub(crate) fn is_bare(&self) -> bool {
        match number(self.host) {
            Some(IpAddr::V4(address)) => {
                let is_documentation = matches!(
                    address.octets(),
                    [192, 0, 2, _]
                        | [198, 51, 100, _]
                        | [203, 0, 113, _]
                        | [1, 2, 3, 4]
                        | [169, 254, _, _]
                );
                !(address.is_private()
                    || address.is_loopback()
                    || address.is_unspecified()
                    || is_documentation)
            }
            Some(IpAddr::V6(address)) => {
                let first = address.segments()[0];
                !(address.is_loopback()
                    || address.is_unspecified()
                    || first & 0xfe00 == 0xfc00
                    || first == 0xfe80
                    || first == 0x2001 && address.segments()[1] == 0xdb8)
            }
            None => false,
        }
    }

    /// Returns `true` if the host is this machine, a private network, or a name that stands for another.
    pub(crate) fn is_placeholder(&self) -> bool {
        is_placeholder_host(self.host)
    }
}

/// Returns `true` if a host is this machine, on a private network, or stands for another.
pub(crate) fn is_placeholder_host(host: &str) -> bool {
    if let Some(address) = number(host) {
        return match address {
            IpAddr::V4(address) => {
                let host = AddressHost {
                    host: "",
                    path: "",
                    range: 0..0,
                };
                let text = address.to_string();
                !AddressHost {
                    host: &text,
                    ..host
                }
                .is_bare()
            }
            IpAddr::V6(address) => address.is_loopback() || address.is_unspecified(),
        };
    }
    let host = host.to_ascii_lowercase();
    let is_pattern = host.contains(['<', '>', '{', '}', '$', '*', '%', '…', '(', '[', '_'])
        || host.contains("...");
    let reserved = [
        "example.com",
        "example.org",
        "example.net",
        "example.io",
        "example.dev",
    ];
    let is_reserved = reserved
        .iter()
        .any(|name| host == *name || host.ends_with(&format!(".{name}")))
        || [
            ".example",
            ".test",
            ".invalid",
            ".local",
            ".localhost",
            ".internal",
        ]
        .iter()
        .any(|end| host.ends_with(end))
        || matches!(
            host.as_str(),
            "localhost" | "host" | "hostname" | "domain.com" | "site.com" | "server" | "url"
        );
    let label = host.split('.').next().unwrap_or_default();
    is_pattern
        || is_reserved
        || !host.contains('.')
        || is_placeholder_word(label) && !host.starts_with("get.")
}

/// Returns `true` if a word stands for another: `your-host`, `xxxx`, `abc123`.
pub(crate) fn is_placeholder_word(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    let standing = [
        "your",
        "example",
        "xxx",
        "abc123",
        "abcd",
        "abc-",
        "placeholder",
        "changeme",
        "dummy",
        "sample",
        "yyy",
        "zzz",
        "redacted",
        "insert",
        "replace",
        "my-",
        "foo",
        "random",
        "attacker",
        "evil",
        "malicious",
        "subdomain",
        "test",
        "fake",
        "1234",
        "id-here",
        "some-",
        "hostname",
        "domain",
        "unique",
        "secret",
    ];
    word.is_empty()
        || standing.iter().any(|part| word.contains(part))
        || word.contains(['<', '>', '{', '}', '$', '*', '…', '[', ']', '%', '('])
        || word.contains("...")
        || word == "abc"
}

/// Returns `true` if a secret could be real: enough different characters, and none of the words and runs
/// that stand for one.
pub(crate) fn is_lively(token: &str) -> bool {
    let mut seen = [false; 128];
    for byte in token.bytes().filter(u8::is_ascii) {
        seen[usize::from(byte)] = true;
    }
    let distinct = seen.iter().filter(|seen| **seen).count();
    let lower = token.to_ascii_lowercase();
    let standing = [
        "xxxx",
        "example",
        "your",
        "abcdef",
        "123456",
        "placeholder",
        "redacted",
        "fake",
        "dummy",
        "sample",
        "test",
        "aaaa",
        "0000",
        "1111",
        "changeme",
        "...",
        "qwerty",
        "xyz",
        "****",
        "secret",
        "insert",
        "lorem",
        "deadbeef",
        "abc123",
        "notreal",
        "987654",
        "fedcba",
    ];
    let repeats = token
        .as_bytes()
        .windows(4)
        .any(|run| run.iter().all(|byte| *byte == run[0]));
    // Neighbours in the alphabet follow each other by chance only now and then.
    let steps = lower
        .as_bytes()
        .windows(2)
        .filter(|pair| pair[1] == pair[0].wrapping_add(1))
        .count();
    distinct >= (token.len() / 4).clamp(8, 14)
        && !standing.iter().any(|part| lower.contains(part))
        && !repeats
        && steps * 5 < token.len()
        && token.bytes().any(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bare_addresses_are_public_numbers() {
        for (text, bare) in [
            ("http://91.92.242.30/x", true),
            ("http://91.92.242.30:8080/x", true),
            ("http://user@91.92.242.30/x", true),
            ("http://1532818974/x", true),
            ("http://0x5b5cf21e/x", true),
            ("http://[2a01:4f8::1]/x", true),
            ("http://127.0.0.1/x", false),
            ("http://192.168.1.4/x", false),
            ("http://203.0.113.9/x", false),
            ("http://[::1]/x", false),
            ("https://sh.rustup.rs", false),
        ] {
            let found: Vec<_> = addresses(text).collect();
            assert_eq!(found.len(), 1, "{text}");
            assert_eq!(found[0].is_bare(), bare, "{text}");
        }
    }

    #[test]
    fn placeholders_are_known() {
        for host in [
            "example.com",
            "abc123.ngrok.io",
            "<address>",
            "your-host.com",
            "localhost",
            "$HOST",
            "xxxx.trycloudflare.com",
        ] {
            assert!(is_placeholder_host(host), "{host}");
        }
        for host in [
            "sh.rustup.rs",
            "get.docker.com",
            "91.92.242.30",
            "raw.githubusercontent.com",
        ] {
            assert!(!is_placeholder_host(host), "{host}");
        }
        assert!(is_lively("ghp_9aK2mQ7xZr4LtV8cB1nW5yD3eF6hJ0pS2uGk"));
        assert!(!is_lively("ghp_XXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX"));
        assert!(!is_lively("ghp_abcdefghijklmnopqrstuvwxyz0123456789"));
    }
}
