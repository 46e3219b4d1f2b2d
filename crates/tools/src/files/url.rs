//! Strict parsing of URLs: a URL that two parsers could read differently is refused.
//!
//! Public hosts are contacted over TLS only: `http://` becomes `https://`, except for private hosts.

use std::net::{IpAddr, Ipv6Addr};

use prowess_traits::{AddressClass, classify_address};

/// The maximum length of a URL in bytes.
pub(crate) const MAX_URL: usize = 2_000;

/// A parsed URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Url {
    /// The normalized URL, without the fragment.
    pub(crate) text: String,
    /// The host as rules name it: lower case, without port and brackets.
    pub(crate) host: String,
    /// The class of the host, judging by its name. Resolved addresses are checked again when
    /// the connection is made.
    pub(crate) class: AddressClass,
}

/// Parses a URL, or returns the reason why it is refused.
pub(crate) fn parse(raw: &str) -> Result<Url, &'static str> {
    if raw.len() > MAX_URL {
        return Err("it is longer than 2,000 bytes");
    }
    if raw
        .chars()
        .any(|c| c.is_control() || c.is_whitespace() || c == '\\')
    {
        return Err("it contains whitespace, backslashes or control characters");
    }
    let (scheme, rest) = raw
        .split_once("://")
        .ok_or("it does not start with `https://`")?;
    if !["https", "http"]
        .iter()
        .any(|known| scheme.eq_ignore_ascii_case(known))
    {
        return Err("only `https://` and `http://` are supported");
    }
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let authority = &rest[..end];
    if authority.contains('@') {
        return Err("it contains a user name or password");
    }
    let (host, port) = split(authority)?;
    let class = classify_host(&host)?;
    let mut url = url::Url::parse(raw).map_err(|_| "it is not a valid URL")?;
    check_same(&url, &host, port)?;
    url.set_fragment(None);
    // Drops the dot at the end of a name.
    url.set_host(Some(&spelled(&host)))
        .map_err(|_| "its host is invalid")?;
    if class == AddressClass::Public && url.scheme() == "http" {
        if url.port().is_some() {
            return Err("it does not use `https://`");
        }
        url.set_scheme("https")
            .map_err(|()| "it does not use `https://`")?;
    }
    Ok(Url {
        text: url.into(),
        host,
        class,
    })
}

/// Splits an authority into the normalized host and the port.
fn split(authority: &str) -> Result<(String, Option<u16>), &'static str> {
    let (host, port) = if let Some(rest) = authority.strip_prefix('[') {
        let (host, port) = rest
            .split_once(']')
            .ok_or("its host has no closing bracket")?;
        let address: Ipv6Addr = host
            .parse()
            .map_err(|_| "its host is not an IPv6 address")?;
        (address.to_string(), port)
    } else {
        let at = authority.find(':').unwrap_or(authority.len());
        let (host, port) = authority.split_at(at);
        (host.trim_end_matches('.').to_ascii_lowercase(), port)
    };
    let port = match port.strip_prefix(':') {
        None if port.is_empty() => None,
        Some(number) if !number.starts_with(['0', '+']) => {
            Some(number.parse().map_err(|_| "its port is invalid")?)
        }
        _ => return Err("its port is invalid"),
    };
    Ok((host, port))
}

/// Checks that the URL parser, which follows browsers, found the same host and port: it also
/// accepts escaped hosts, addresses such as `127.1`, and missing or superfluous slashes.
fn check_same(url: &url::Url, host: &str, port: Option<u16>) -> Result<(), &'static str> {
    let default = if url.scheme() == "https" { 443 } else { 80 };
    let parsed = url.host_str().unwrap_or_default();
    if parsed.trim_end_matches('.') != spelled(host) {
        return Err("its host is ambiguous");
    }
    if url.port().unwrap_or(default) != port.unwrap_or(default) {
        return Err("its port is ambiguous");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("it contains a user name or password");
    }
    Ok(())
}

/// Returns the host as it is written in a URL.
fn spelled(host: &str) -> String {
    match host.parse::<Ipv6Addr>() {
        // The URL standard never writes the end of an address in dotted form.
        Ok(address) => url::Host::<&str>::Ipv6(address).to_string(),
        Err(_) => host.to_owned(),
    }
}

fn classify_host(host: &str) -> Result<AddressClass, &'static str> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(classify_address(address));
    }
    let known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    if host.is_empty() || host.len() > 253 || !host.chars().all(known) {
        return Err("its host is not a name in ASCII letters");
    }
    if host
        .split('.')
        .any(|label| label.is_empty() || label.len() > 63)
    {
        return Err("its host is not a valid name");
    }
    // `127.1`, `0x7f000001`, `2130706433`: programs disagree about what they are.
    let last = host.rsplit('.').next().unwrap_or_default();
    if last.starts_with("0x") || last.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err("its host is a number, but not a plain IP address");
    }
    if host == "metadata.google.internal" {
        return Ok(AddressClass::Forbidden);
    }
    let private = !host.contains('.')
        || [".localhost", ".local", ".internal", ".lan", ".home.arpa"]
            .iter()
            .any(|end| host.ends_with(end));
    Ok(if private {
        AddressClass::Private
    } else {
        AddressClass::Public
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_parsed_strictly() {
        let cases = [
            ("https://Example.COM", "https://example.com/", "example.com"),
            (
                "https://example.com.:8443/a?b#c",
                "https://example.com:8443/a?b",
                "example.com",
            ),
            (
                "HTTP://example.com:80?x",
                "https://example.com/?x",
                "example.com",
            ),
            (
                "http://localhost:3000",
                "http://localhost:3000/",
                "localhost",
            ),
            (
                "https://example.com/ä",
                "https://example.com/%C3%A4",
                "example.com",
            ),
            ("https://[::1]:80/", "https://[::1]:80/", "::1"),
            ("https://[0:0::0:1]/", "https://[::1]/", "::1"),
            (
                "https://[::FFFF:8.8.8.8]/",
                "https://[::ffff:808:808]/",
                "::ffff:8.8.8.8",
            ),
            (
                "https://example.com:443/a/../b",
                "https://example.com/b",
                "example.com",
            ),
        ];
        for (raw, text, host) in cases {
            let url = parse(raw).unwrap();
            assert_eq!((&*url.text, &*url.host), (text, host), "{raw}");
        }
        for raw in [
            "",
            "example.com",
            "ftp://example.com",
            "file:///etc/passwd",
            "https://",
            "https://user@example.com",
            "https://example.com:x",
            "https://example.com:0",
            "https://exa mple.com",
            "https://example.com\\@evil.org",
            "https://example.com\0.evil",
            "https://127.1/",
            "https://2130706433/",
            "https://0x7f000001/",
            "https://a..b/",
            "https://exämple.com/",
            "https://[::1",
            "https://example.com:80:80/",
            "https://017.0.0.1/",
            "https://%31.example/",
            "http://example.com:8080/",
            "https:example.com",
            "https:///example.com",
            "https:/example.com",
            "https://example.com:",
            "https://example.com:+80/",
            "https://example.com:080/",
            "https://example.com:65536/",
            "https://127.0.0.1.1/",
            "https://127.0.0.0x1/",
            "https://%65xample.com/",
            "https://ex\u{ad}ample.com/",
            "https://example。com/",
            "https://[::1]x/",
            "https://[::1%25eth0]/",
            "https://[v1.x]/",
            "https://@example.com/",
            "https://example.com:80@evil.org/",
            "https://example.com|evil.org/",
            "http://@127.0.0.1/",
        ] {
            assert!(parse(raw).is_err(), "{raw:?}");
        }
    }

    #[test]
    fn hosts_are_classified() {
        let cases = [
            ("example.com", AddressClass::Public),
            ("8.8.8.8", AddressClass::Public),
            ("localhost", AddressClass::Private),
            ("printer", AddressClass::Private),
            ("x.localhost", AddressClass::Private),
            ("127.0.0.1", AddressClass::Private),
            ("0.0.0.0", AddressClass::Private),
            ("10.1.2.3", AddressClass::Private),
            ("192.168.1.1", AddressClass::Private),
            ("100.64.0.1", AddressClass::Private),
            ("169.254.169.254", AddressClass::Forbidden),
            ("metadata.google.internal", AddressClass::Forbidden),
            ("[::]", AddressClass::Private),
            ("[::1]", AddressClass::Private),
            ("[::ffff:127.0.0.1]", AddressClass::Private),
            ("[::ffff:169.254.169.254]", AddressClass::Forbidden),
            ("[64:ff9b::a9fe:a9fe]", AddressClass::Forbidden),
            ("[2002:7f00:1::]", AddressClass::Private),
            ("[fe80::1]", AddressClass::Forbidden),
            ("[fd00:ec2::254]", AddressClass::Forbidden),
            ("[fd12::1]", AddressClass::Private),
            ("[2606:4700::1]", AddressClass::Public),
            ("192.0.0.192", AddressClass::Forbidden),
            ("100.100.100.200", AddressClass::Forbidden),
            ("224.0.0.1", AddressClass::Forbidden),
            (
                "[2001:0:4136:e378:8000:63bf:3fff:fdd2]",
                AddressClass::Private,
            ),
            ("[::ffff:0:169.254.169.254]", AddressClass::Forbidden),
            ("[64:ff9b:1::10.0.0.1]", AddressClass::Private),
        ];
        for (host, class) in cases {
            assert_eq!(
                parse(&format!("https://{host}/")).unwrap().class,
                class,
                "{host}"
            );
        }
    }
}
