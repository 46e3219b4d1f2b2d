//! Which addresses belong to this machine or to a private network.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether an address is not for everybody: this machine, private networks, the local link, the
/// metadata of a cloud, and what is reserved.
pub fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(four) => four_is_private(four),
        IpAddr::V6(six) => six_is_private(six),
    }
}

/// Whether an address is where clouds keep their keys, however it is spelt: the local link, and the
/// addresses that some clouds use beside it. Nobody goes there, whatever was agreed to.
pub(crate) fn is_never(address: IpAddr) -> bool {
    let four = |four: Ipv4Addr| {
        four.is_link_local() || matches!(four.octets(), [100, 100, 100, 200] | [192, 0, 0, 192])
    };
    match address {
        IpAddr::V4(address) => four(address),
        IpAddr::V6(six) => {
            let parts = six.segments();
            let inner = |high: u16, low: u16| {
                let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
                four(Ipv4Addr::new(a, b, c, d))
            };
            match parts {
                [0, 0, 0, 0, 0, 0xffff | 0, high, low]
                | [0, 0, 0, 0, 0xffff, 0, high, low]
                | [0x64, 0xff9b, .., high, low]
                | [0x2002, high, low, ..] => inner(high, low),
                [0xfd00, 0x0ec2, ..] => true,
                [first, ..] => first & 0xffc0 == 0xfe80,
            }
        }
    }
}

fn four_is_private(four: Ipv4Addr) -> bool {
    let [a, b, c, _] = four.octets();
    match a {
        0 | 10 | 127 => true,
        100 => (64..128).contains(&b),
        169 => b == 254,
        172 => (16..32).contains(&b),
        192 => b == 168 || (b == 0 && matches!(c, 0 | 2)) || (b == 88 && c == 99),
        198 => matches!(b, 18 | 19) || (b == 51 && c == 100),
        203 => b == 0 && c == 113,
        _ => a >= 224,
    }
}

fn six_is_private(six: Ipv6Addr) -> bool {
    let parts = six.segments();
    let four = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        four_is_private(Ipv4Addr::new(a, b, c, d))
    };
    match parts {
        // Addresses that carry one of the old kind: mapped, compatible, translated, 6to4.
        [0, 0, 0, 0, 0, 0xffff | 0, high, low] => high == 0 || four(high, low),
        [0, 0, 0, 0, 0xffff, 0, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            four(high, low)
        }
        [0x2002, high, low, ..] => four(high, low),
        // Local translation, Teredo, documentation, benchmarks, discard.
        [0x64, 0xff9b, ..] | [0x2001, 0 | 2 | 0xdb8, ..] | [0x3fff, ..] | [0x100, 0, 0, 0, ..] => {
            true
        }
        // Everything outside of the global range: unique local, link-local, site-local, multicast.
        [first, ..] => first & 0xe000 != 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_keys_are_nobody_goes() {
        for text in [
            "169.254.169.254",
            "169.254.170.2",
            "100.100.100.200",
            "192.0.0.192",
            "fd00:ec2::254",
            "fe80::a9fe:a9fe",
            "::ffff:169.254.169.254",
            "64:ff9b::a9fe:a9fe",
            "2002:a9fe:a9fe::",
        ] {
            assert!(is_never(text.parse().unwrap()), "{text}");
        }
        for text in [
            "127.0.0.1",
            "10.0.0.1",
            "192.168.1.1",
            "::1",
            "fd12::1",
            "8.8.8.8",
        ] {
            assert!(!is_never(text.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn what_is_for_everybody_and_what_is_not() {
        for text in [
            "127.0.0.1",
            "127.9.9.9",
            "0.0.0.0",
            "10.0.0.1",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "100.100.100.200",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "240.0.0.1",
            "192.0.0.192",
            "::1",
            "::",
            "fe80::1",
            "fc00::1",
            "fd00:ec2::254",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::127.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "2001:db8::1",
            "2001::1",
            "fec0::1",
        ] {
            assert!(is_private(text.parse().unwrap()), "{text}");
        }
        for text in [
            "1.1.1.1",
            "8.8.8.8",
            "172.15.0.1",
            "172.32.0.1",
            "100.63.0.1",
            "100.128.0.1",
            "192.0.1.1",
            "2606:4700:4700::1111",
            "2a00:1450::1",
            "::ffff:8.8.8.8",
            "64:ff9b::808:808",
            "2002:808:808::",
        ] {
            assert!(!is_private(text.parse().unwrap()), "{text}");
        }
    }
}
