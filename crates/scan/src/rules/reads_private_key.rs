//! A private key that is read.

use super::{FindingSink, Passage};
use crate::matching::matcher;
use crate::private_files::{self, PrivateFiles};

rule!(
    "reads-private-key",
    Error,
    lowers: true,
    "a private key is read",
    "a skill needs no private key: programs such as `ssh` and `git` use it themselves",
    triggers: [
        ".ssh", "id_rsa", "id_ed25519", "id_ecdsa", "private-keys-v1", "secring", "wallet.dat", "solana/id.json", "ethereum/keystore", "keystore/UTC"
    ]
);

matcher!(
    FILES,
    r"(?: [~/\\]\.ssh[/\\](?:id_\w+|identity|\*|google_compute_engine) | [/\s'\x22]id_(?:rsa|ed25519|ecdsa|dsa)\b | \.gnupg/(?:private-keys|secring) | \bwallet\.dat\b
      | solana/id\.json | ethereum/keystore | keystore/UTC | [~/]\.ssh/?(?:['\x22\s)|;]|$) | \.ssh['\x22]\s*[,/]\s*['\x22]id_\w+ )"
);

fn check(passage: &Passage<'_, '_>, out: &mut FindingSink) {
    let files = PrivateFiles {
        files: &FILES,
        is_public: |rest| rest.starts_with(".pub") || rest.contains(".pub") && rest.len() < 8,
    };
    if let Some(range) = private_files::read(passage, &files) {
        out.plain(passage, range, "reads a private key");
    }
}
