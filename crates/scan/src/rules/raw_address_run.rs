//! A program from an address without a name that is run.

use super::fetch_and_run::remote_runs;
use super::{FindingSink, Passage};

rule!(
    "raw-address-run",
    Error,
    lowers: true,
    "a program is downloaded from a bare network address and run",
    "do not run it: honest projects have a host name, and malware often has none",
    triggers: [
        "http://", "https://", "$IFS", "${IFS", "/dev/tcp", "ftp://", "tftp"
    ]
);

fn check(passage: &Passage<'_, '_>, out: &mut FindingSink) {
    for run in remote_runs(passage) {
        let Some(address) = run.address.as_ref().filter(|address| address.is_bare()) else {
            continue;
        };
        let message = format!("runs what the bare address `{}` serves", address.host);
        out.plain(passage, run.range, message);
    }
}
