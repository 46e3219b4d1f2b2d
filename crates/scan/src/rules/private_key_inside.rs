//! A private key in a file.

use super::{FindingSink, Passage};
use crate::address::is_lively;

rule!(
    "private-key-inside",
    Error,
    lowers: false,
    "a file contains a private key",
    "remove the key and revoke it: everyone who has the skill has the key",
    triggers: ["PRIVATE KEY-----", "PRIVATE KEY BLOCK-----"]
);

/// Shortest key, in characters of Base64.
const SHORTEST: usize = 100;

fn check(passage: &Passage<'_, '_>, out: &mut FindingSink) {
    let text = passage.around();
    let Some(begin) = text.find("-----BEGIN ") else {
        return;
    };
    let Some(end) = text[begin..]
        .find("KEY-----")
        .or_else(|| text[begin..].find("KEY BLOCK-----"))
    else {
        return;
    };
    let header = &text[begin..begin + end];
    let Some((_, body)) = text[begin + end..].split_once("-----") else {
        return;
    };
    if header.contains("PUBLIC") || !header.contains("PRIVATE") {
        return;
    }
    // In a string of a program, `\n` is written out.
    let body = body
        .split("-----")
        .next()
        .unwrap_or_default()
        .replace("\\n", "\n");
    let lines = body
        .lines()
        .map(str::trim)
        .filter(|line| !line.contains(':'));
    let key: String = lines.collect();
    let key = key.trim_matches(['"', '\'', ' ', '\\']);
    let is_base64 = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=');
    let Some(at) = passage
        .text
        .find("-----BEGIN ")
        .filter(|_| key.len() >= SHORTEST)
    else {
        return;
    };
    if key.chars().all(is_base64) && is_lively(&key[..64]) {
        let length = passage.text[at + 5..]
            .find("-----")
            .map_or(10, |end| end + 10);
        out.passage(passage, at..at + length, "the file contains a private key");
    }
}
