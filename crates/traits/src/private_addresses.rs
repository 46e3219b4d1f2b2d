//! Classification of IP addresses.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The class of an IP address, from the least to the most restricted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AddressClass {
    /// A public host.
    Public,
    /// This machine, a private network, or a range reserved for special use. Contacted only with
    /// explicit permission.
    Private,
    /// Never contacted: link-local addresses and the metadata services of clouds, which hand out
    /// credentials; and multicast, broadcast and reserved addresses, which are not hosts.
    Forbidden,
}

/// Classifies an address. An IPv6 address that embeds an IPv4 address is at least as restricted as
/// that address.
pub fn classify_address(address: IpAddr) -> AddressClass {
    match address {
        IpAddr::V4(address) => classify_v4(address),
        IpAddr::V6(address) => classify_v6(address),
    }
}

fn classify_v4(address: Ipv4Addr) -> AddressClass {
    match address.octets() {
        // Link-local, including the metadata services of most clouds.
        [169, 254, ..]
        // Metadata services outside of the link-local range: Alibaba, Oracle, Azure.
        | [100, 100, 100, 200] | [192, 0, 0, 192] | [168, 63, 129, 16]
        // Multicast, reserved, broadcast.
        | [224..=255, ..] => AddressClass::Forbidden,
        // This host, private networks, loopback.
        [0 | 10 | 127, ..] | [172, 16..=31, ..] | [192, 168, ..]
        // Shared between providers and their customers.
        | [100, 64..=127, ..]
        // Protocol assignments, the former 6to4 relays, benchmarks, documentation.
        | [192, 0, 0 | 2, _] | [192, 88, 99, _] | [198, 18 | 19, ..]
        | [198, 51, 100, _] | [203, 0, 113, _] => AddressClass::Private,
        _ => AddressClass::Public,
    }
}

fn classify_v6(address: Ipv6Addr) -> AddressClass {
    let embedded = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        classify_v4(Ipv4Addr::new(a, b, c, d))
    };
    match address.segments() {
        // Loopback and unspecified.
        [0, 0, 0, 0, 0, 0, 0, _] => AddressClass::Private,
        // IPv4-mapped, IPv4-compatible, IPv4-translated, NAT64, 6to4.
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, ..] => embedded(high, low),
        // NAT64 of a local network, in each of the layouts of RFC 6052.
        [0x64, 0xff9b, ..] => {
            let bytes = address.octets();
            [[6, 7, 9, 10], [7, 9, 10, 11], [9, 10, 11, 12], [12, 13, 14, 15]]
                .map(|[a, b, c, d]| {
                    classify_v4(Ipv4Addr::new(bytes[a], bytes[b], bytes[c], bytes[d]))
                })
                .into_iter()
                .fold(AddressClass::Private, Ord::max)
        }
        // Teredo: the server's address, and the inverted address of the client.
        [0x2001, 0, high, low, _, _, client_high, client_low] => AddressClass::Private
            .max(embedded(high, low))
            .max(embedded(!client_high, !client_low)),
        // Metadata services: AWS, Google Cloud.
        [0xfd00, 0x0ec2, ..] | [0xfd20, 0x00ce, ..]
        // Link-local, multicast.
        | [0xfe80..=0xfebf | 0xff00..=0xffff, ..] => AddressClass::Forbidden,
        // Protocol assignments, documentation.
        [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x3fff, ..] => AddressClass::Private,
        // Global unicast.
        [0x2000..=0x3fff, ..] => AddressClass::Public,
        // Unique local, site-local, discard-only and everything unassigned.
        _ => AddressClass::Private,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first and last address of each special range, and its neighbours.
    const TABLE: &[(AddressClass, &str)] = &[
        (
            AddressClass::Forbidden,
            "169.254.0.0 169.254.169.254 169.254.170.2 169.254.255.255 \
             100.100.100.200 192.0.0.192 168.63.129.16 \
             224.0.0.0 224.0.0.1 239.255.255.255 240.0.0.0 240.0.0.1 255.255.255.254 \
             255.255.255.255 \
             fe80:: fe80::1 fe80::a9fe:a9fe febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff \
             ff00:: ff02::1 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff \
             fd00:ec2::254 fd00:ec2:: fd20:ce::254 \
             ::ffff:169.254.169.254 ::ffff:255.255.255.255 ::ffff:100.100.100.200 \
             ::169.254.169.254 ::ffff:0:169.254.169.254 \
             64:ff9b::169.254.169.254 64:ff9b::192.0.0.192 64:ff9b:1::169.254.169.254 \
             64:ff9b:1:a9fe:a9:fe00:: 64:ff9b:1:a9:fe:a9fe:: 64:ff9b:1:0:a9:fea9:fe00:0 \
             2002:a9fe:a9fe:: 2002:c000:c0:: 2002:6464:64c8::1 \
             2001:: 2001::1 2001:0:a9fe:a9fe:: 2001:0:4136:e378:8000:63bf:5601:5601",
        ),
        (
            AddressClass::Private,
            "0.0.0.0 0.255.255.255 10.0.0.0 10.0.0.1 10.255.255.255 100.64.0.0 100.64.0.1 \
             100.100.100.199 100.127.255.255 127.0.0.0 127.0.0.1 127.9.9.9 127.255.255.255 \
             172.16.0.0 172.16.0.1 172.31.255.255 192.0.0.0 192.0.0.191 192.0.0.255 192.0.2.0 \
             192.0.2.255 192.88.99.0 192.88.99.255 192.168.0.0 192.168.1.1 192.168.255.255 \
             198.18.0.0 198.18.0.1 198.19.255.255 198.51.100.0 198.51.100.255 203.0.113.0 \
             203.0.113.255 \
             :: ::1 ::ffff ::ffff:0.0.0.0 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::127.0.0.1 \
             ::ffff:0:10.0.0.1 64:ff9b::127.0.0.1 64:ff9b::10.1.2.3 64:ff9b:1::8.8.8.8 \
             64:ff9b:1:: 2002:7f00:1:: 2002:a00:1:: 2002:c0a8:101:: \
             2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:2::1 2001:10::1 2001:20::1 \
             2001:1ff:ffff:: 2001:db8:: 2001:db8::1 3fff:: 3fff:fff:: 100:: 100::1 5f00::1 \
             4000:: 1fff:: 8000::1 fc00:: fc00::1 fd12::1 fdff:ffff:: fec0:: fec0::1 feff:: \
             200::1 64:ff9a::1",
        ),
        (
            AddressClass::Public,
            "1.0.0.0 1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 93.184.216.34 100.63.0.1 \
             100.63.255.255 100.128.0.0 100.128.0.1 126.255.255.255 128.0.0.0 168.63.129.15 \
             168.63.129.17 169.253.255.255 169.255.0.0 172.15.0.1 172.15.255.255 172.32.0.0 \
             172.32.0.1 191.255.255.255 192.0.1.0 192.0.1.1 192.0.3.0 192.88.98.255 192.88.100.0 \
             192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 198.51.99.255 198.51.101.0 \
             203.0.112.255 203.0.114.0 223.255.255.255 \
             2000:: 2001:200:: 2001:4860:4860::8888 2001:db7:: 2001:db9:: 2003:: 2606:4700::1 \
             2606:4700:4700::1111 2a00:1450::1 3ffe:: ::ffff:8.8.8.8 ::8.8.8.8 ::ffff:0:8.8.8.8 \
             64:ff9b::8.8.8.8 64:ff9b::808:808 2002:808:808:: 2002:808:808::1",
        ),
    ];

    #[test]
    fn special_ranges_are_classified() {
        for (class, addresses) in TABLE {
            for text in addresses.split_ascii_whitespace() {
                let address: IpAddr = text.parse().unwrap();
                assert_eq!(classify_address(address), *class, "{text}");
            }
        }
    }

    #[test]
    fn embedded_address_is_at_least_as_restricted() {
        for address in TABLE
            .iter()
            .flat_map(|(_, addresses)| addresses.split_ascii_whitespace())
            .filter_map(|text| text.parse::<Ipv4Addr>().ok())
        {
            let class = classify_v4(address);
            let [a, b, c, d] = address.octets();
            let (high, low) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
            for segments in [
                [0, 0, 0, 0, 0, 0xffff, high, low],
                [0, 0, 0, 0, 0, 0, high, low],
                [0, 0, 0, 0, 0xffff, 0, high, low],
                [0x64, 0xff9b, 0, 0, 0, 0, high, low],
                [0x64, 0xff9b, 1, 0, 0, 0, high, low],
                [0x2002, high, low, 0, 0, 0, 0, 0],
                [0x2001, 0, high, low, 0, 0, 0xf7f7, 0xf7f7],
                [0x2001, 0, 0x808, 0x808, 0, 0, !high, !low],
            ] {
                let six = Ipv6Addr::from(segments);
                assert!(classify_v6(six) >= class, "{six} embeds {address}");
            }
        }
    }
}
