//! A program from an address without a name that is run.

use super::fetch_and_run::remote_runs;
use super::{FindingSink, Passage};
use crate::address::{AddressHost, addresses};

rule!(
    "raw-address-run",
    Error,
    lowers: true,
    "a program is downloaded from a bare network address and run",
    "do not run it: honest projects have a host name, and malware often has none",
    triggers: [
        "http://0", "http://1", "http://2", "http://3", "http://4", "http://5", "http://6", "http://7", "http://8", "http://9", "http://[", "https://0", "https://1", "https://2", "https://3", "https://4", "https://5", "https://6", "https://7", "https://8", "https://9", "https://["
    ]
);

fn check(passage: &Passage<'_, '_>, out: &mut FindingSink) {
    let is_bare = |address: AddressHost<'_>| address.is_bare();
    if !addresses(&passage.plain().text).any(is_bare) {
        return;
    }
    for run in remote_runs(passage) {
        let Some(address) = run.address.as_ref().filter(|address| address.is_bare()) else {
            continue;
        };
        let message = format!("runs what the bare address `{}` serves", address.host);
        out.plain(passage, run.range, message);
    }
}
