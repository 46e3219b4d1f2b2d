//! A short address that hides where it leads.

use super::{FindingSink, Passage};
use crate::address::addresses;

rule!(
    "link-shortener",
    Note,
    lowers: true,
    "a short address hides where it leads, and can lead elsewhere tomorrow",
    "write the address that it leads to",
    triggers: ["bit.ly/", "tinyurl.com/", "goo.gl/", "is.gd/", "cutt.ly/", "rebrand.ly/", "ow.ly/", "shorturl.at/", "rb.gy/", "t.ly/", "t.co/", "s.id/", "tiny.cc/", "v.gd/", "soo.gd/"]
);

const HOSTS: &[&str] = &[
    "bit.ly",
    "tinyurl.com",
    "goo.gl",
    "is.gd",
    "cutt.ly",
    "rebrand.ly",
    "ow.ly",
    "shorturl.at",
    "rb.gy",
    "t.ly",
    "t.co",
    "s.id",
    "tiny.cc",
    "v.gd",
    "soo.gd",
];

fn check(passage: &Passage<'_, '_>, out: &mut FindingSink) {
    for address in addresses(passage.text) {
        let host = address.host.to_ascii_lowercase();
        let path = address.path.trim_matches('/');
        let is_short = HOSTS.contains(&host.as_str()) && path.len() >= 3 && !path.contains('/');
        if is_short && !crate::address::is_placeholder_word(path) {
            out.passage(
                passage,
                address.range,
                format!("the short address at `{host}` hides where it leads"),
            );
            return;
        }
    }
}
