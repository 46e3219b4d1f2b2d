//! A host at which anyone can receive data or leave files without a name.

use super::{FindingSink, Passage};
use crate::address::{addresses, is_placeholder_word};

rule!(
    "drop-host",
    Warning,
    lowers: true,
    "an address belongs to a service for anonymous uploads, tunnels or captured requests",
    "find out who is behind the address; a service with a name of its own is safer",
    triggers: [
        "webhook.site", "pastebin.com", "requestbin", "pipedream.net", "ngrok", "trycloudflare.com", "transfer.sh", "file.io", "0x0.st", "paste.rs", "ix.io", "hastebin", "oast.", "interact.sh", "burpcollaborator",
        "requestcatcher.com", "serveo.net", "localhost.run", "loca.lt", "beeceptor.com", "gofile.io", "anonfiles", "discord.com/api/webhooks", "discordapp.com/api/webhooks", "glot.io", "termbin.com", "rentry.co", "catbox.moe", "temp.sh", "bashupload", "oshi.at", "dpaste"
    ]
);

/// Services whose addresses have a part of their own: a subdomain or a path.
const TUNNELS: &[&str] = &[
    "ngrok.io",
    "ngrok.app",
    "ngrok-free.app",
    "ngrok-free.dev",
    "ngrok.dev",
    "trycloudflare.com",
    "loca.lt",
    "serveo.net",
    "localhost.run",
    "lhr.life",
    "pipedream.net",
    "requestcatcher.com",
    "beeceptor.com",
    "oast.fun",
    "oast.me",
    "oast.site",
    "oast.pro",
    "oast.live",
    "oast.online",
    "interact.sh",
    "burpcollaborator.net",
    "requestbin.net",
];
const PASTES: &[&str] = &[
    "webhook.site",
    "pastebin.com",
    "file.io",
    "0x0.st",
    "paste.rs",
    "ix.io",
    "hastebin.com",
    "gofile.io",
    "anonfiles.com",
    "glot.io",
    "rentry.co",
    "files.catbox.moe",
    "litter.catbox.moe",
    "temp.sh",
    "oshi.at",
    "dpaste.com",
    "dpaste.org",
];
/// Services that take uploads at their root.
const UPLOADS: &[&str] = &[
    "transfer.sh",
    "file.io",
    "0x0.st",
    "paste.rs",
    "ix.io",
    "termbin.com",
    "bashupload.com",
    "temp.sh",
    "oshi.at",
];

fn check(passage: &Passage<'_, '_>, out: &mut FindingSink) {
    let text = passage.text;
    for address in addresses(text) {
        let host = address.host.to_ascii_lowercase();
        let host = host.trim_start_matches("www.");
        let path = address.path.trim_matches(['/', '>', ']', '*']);
        let subdomain = TUNNELS
            .iter()
            .find_map(|tunnel| host.strip_suffix(tunnel)?.strip_suffix('.'));
        let is_specific = |part: &str| {
            part.len() >= 6
                && !is_placeholder_word(part)
                && part.bytes().any(|byte| byte.is_ascii_digit())
                && part.bytes().any(|byte| byte.is_ascii_alphabetic())
        };
        let is_tunnel = subdomain.is_some_and(|part| {
            let words = part.split('-').filter(|word| word.len() > 2).count();
            !is_placeholder_word(part)
                && (is_specific(part) || host.ends_with("trycloudflare.com") && words >= 3)
        });
        let last = path
            .split(['?', '#'])
            .next()
            .unwrap_or_default()
            .rsplit('/')
            .next()
            .unwrap_or_default();
        let is_picture = [".png", ".jpg", ".jpeg", ".gif", ".webp", ".svg", ".mp4"]
            .iter()
            .any(|end| last.ends_with(end));
        let is_paste = !is_picture
            && PASTES.contains(&host)
            && !is_placeholder_word(path)
            && (is_specific(last)
                || last.len() == 8
                    && host == "pastebin.com"
                    && last.chars().all(char::is_alphanumeric));
        let sends = [
            "-F",
            "-T",
            "--upload-file",
            "-d ",
            "--data",
            "| nc",
            "-X POST",
            "requests.post",
        ]
        .iter()
        .any(|mark| text.contains(mark));
        let is_upload = UPLOADS.contains(&host) && sends;
        let is_webhook = matches!(host, "discord.com" | "discordapp.com")
            && path.starts_with("api/webhooks/")
            && {
                let mut parts = path.split('/').skip(2);
                let id = parts.next().unwrap_or_default();
                id.len() >= 16
                    && id.bytes().all(|byte| byte.is_ascii_digit())
                    && id != "1234567890123456789"
                    && parts.next().is_some_and(crate::address::is_lively)
            };
        if is_tunnel || is_paste || is_upload || is_webhook {
            let message = format!(
                "names an address of `{host}`, where anyone can receive data without a name"
            );
            out.passage(passage, address.range, message);
            return;
        }
    }
    if let Some(at) = text.find("termbin.com").filter(|_| text.contains("nc ")) {
        out.passage(
            passage,
            at..at + 11,
            "sends data to `termbin.com`, where anyone can read it",
        );
    }
}
