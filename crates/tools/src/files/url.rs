//! Addresses of the web, read strictly: what two readers could understand differently is refused.
//!
//! The world is talked to over TLS: `http://` becomes `https://`, except in private networks.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Longest address, in bytes.
pub(crate) const MAX_URL: usize = 2_000;

/// An address that was understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Url {
    /// The whole address, without fragment, with a small host.
    pub(crate) text: String,
    /// The host as rules name it: small letters, no port, no brackets.
    pub(crate) host: String,
    /// Where it leads.
    pub(crate) reach: Reach,
}

/// How far away a host is, as far as its name tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Somewhere in the world.
    Public,
    /// This machine or the network around it.
    Private,
    /// Where clouds keep keys, and what is no address of a host.
    Never,
}

/// Reads an address; otherwise says what is wrong with it.
pub(crate) fn parse(raw: &str) -> Result<Url, &'static str> {
    if raw.len() > MAX_URL {
        return Err("it is too long");
    }
    if raw
        .chars()
        .any(|c| c.is_control() || c.is_whitespace() || c == '\\')
    {
        return Err("it has spaces, backslashes or control characters in it");
    }
    let (scheme, rest) = raw
        .split_once("://")
        .ok_or("it does not begin with https://")?;
    let secure = match scheme.to_ascii_lowercase().as_str() {
        "https" => true,
        "http" => false,
        _ => return Err("only https:// and http:// are fetched"),
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    if authority.contains('@') {
        return Err("it has a name or password in it");
    }
    let (host, port) = if let Some(rest) = authority.strip_prefix('[') {
        let (host, port) = rest
            .split_once(']')
            .ok_or("its host is not closed with a bracket")?;
        let address: Ipv6Addr = host.parse().map_err(|_| "its host is no address")?;
        (address.to_string(), port)
    } else {
        let (host, port) = match authority.find(':') {
            Some(at) => authority.split_at(at),
            None => (authority, ""),
        };
        (host.trim_end_matches('.').to_ascii_lowercase(), port)
    };
    let port = match port.strip_prefix(':') {
        None if port.is_empty() => String::new(),
        Some(number) if number.parse::<u16>().is_ok_and(|number| number > 0) => {
            format!(":{}", number.trim_start_matches('0'))
        }
        _ => return Err("its port is none"),
    };
    let reach = reach(&host)?;
    let (secure, port) = match reach {
        Reach::Public if !secure && matches!(&*port, "" | ":80") => (true, String::new()),
        Reach::Public if !secure => return Err("it is not https://"),
        _ => (secure, port),
    };
    let spelled = if host.contains(':') {
        format!("[{host}]")
    } else {
        host.clone()
    };
    let path = path.split('#').next().unwrap_or_default();
    let slash = if path.starts_with('/') { "" } else { "/" };
    let mut text = format!(
        "{}://{spelled}{port}{slash}",
        if secure { "https" } else { "http" }
    );
    for byte in path.bytes() {
        if byte.is_ascii() {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    Ok(Url { text, host, reach })
}

/// Whether a host is this machine, in a private network or nowhere, as far as its name tells.
pub fn is_private_host(host: &str) -> bool {
    reach(host) != Ok(Reach::Public)
}

fn reach(host: &str) -> Result<Reach, &'static str> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(match address {
            IpAddr::V4(address) => reach_v4(address),
            IpAddr::V6(address) => reach_v6(address),
        });
    }
    let known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    if host.is_empty() || host.len() > 253 || !host.chars().all(known) {
        return Err("its host is no name; write it in ASCII letters");
    }
    if host
        .split('.')
        .any(|label| label.is_empty() || label.len() > 63)
    {
        return Err("its host is no name");
    }
    // `127.1`, `0x7f000001`, `2130706433`: programs disagree about what they are.
    let last = host.rsplit('.').next().unwrap_or_default();
    if last.starts_with("0x") || last.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err("its host is a number that is no plain address");
    }
    let private = !host.contains('.')
        || [".localhost", ".local", ".internal", ".lan", ".home.arpa"]
            .iter()
            .any(|end| host.ends_with(end));
    if host == "metadata.google.internal" {
        return Ok(Reach::Never);
    }
    Ok(if private {
        Reach::Private
    } else {
        Reach::Public
    })
}

fn reach_v4(address: Ipv4Addr) -> Reach {
    let [a, b, ..] = address.octets();
    if address.is_link_local() || address.is_multicast() || address.is_broadcast() || a >= 240 {
        return Reach::Never;
    }
    // 100.64/10 is between providers and their customers; 0/8 is this machine.
    let shared = a == 100 && (64..128).contains(&b);
    if a == 0 || address.is_loopback() || address.is_private() || shared {
        return Reach::Private;
    }
    Reach::Public
}

fn reach_v6(address: Ipv6Addr) -> Reach {
    let parts = address.segments();
    if let Some(v4) = address.to_ipv4_mapped() {
        return reach_v4(v4);
    }
    // Addresses of IPv4 inside others: 6to4, NAT64, and the old compatible ones.
    let inner = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        reach_v4(Ipv4Addr::new(a, b, c, d))
    };
    let link_local = parts[0] & 0xffc0 == 0xfe80;
    let metadata = parts[..2] == [0xfd00, 0x0ec2];
    if link_local || metadata || address.is_multicast() {
        return Reach::Never;
    }
    match parts {
        [0, 0, 0, 0, 0, 0, 0, _] => Reach::Private,
        [0, 0, 0, 0, 0, 0, high, low] | [0x64, 0xff9b, .., high, low] | [0x2002, high, low, ..] => {
            inner(high, low)
        }
        [first, ..] if first & 0xfe00 == 0xfc00 => Reach::Private,
        _ => Reach::Public,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_one_way() {
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
        ] {
            assert!(parse(raw).is_err(), "{raw:?}");
        }
    }

    #[test]
    fn near_and_far() {
        let cases = [
            ("example.com", Reach::Public),
            ("8.8.8.8", Reach::Public),
            ("localhost", Reach::Private),
            ("printer", Reach::Private),
            ("x.localhost", Reach::Private),
            ("127.0.0.1", Reach::Private),
            ("0.0.0.0", Reach::Private),
            ("10.1.2.3", Reach::Private),
            ("192.168.1.1", Reach::Private),
            ("100.64.0.1", Reach::Private),
            ("169.254.169.254", Reach::Never),
            ("metadata.google.internal", Reach::Never),
            ("[::]", Reach::Private),
            ("[::1]", Reach::Private),
            ("[::ffff:127.0.0.1]", Reach::Private),
            ("[::ffff:169.254.169.254]", Reach::Never),
            ("[64:ff9b::a9fe:a9fe]", Reach::Never),
            ("[2002:7f00:1::]", Reach::Private),
            ("[fe80::1]", Reach::Never),
            ("[fd00:ec2::254]", Reach::Never),
            ("[fd12::1]", Reach::Private),
            ("[2606:4700::1]", Reach::Public),
        ];
        for (host, reach) in cases {
            assert_eq!(
                parse(&format!("https://{host}/")).unwrap().reach,
                reach,
                "{host}"
            );
        }
    }
}
