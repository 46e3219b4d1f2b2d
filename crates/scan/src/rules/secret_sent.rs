//! A file of secrets, or a secret of one service, sent to another machine.

use prowess_shell::pipeline;

use super::env_dump_sent::sends;
use super::{FindingSink, Passage};
use crate::address::addresses;
use crate::matching::matcher;

rule!(
    "secret-sent",
    Error,
    lowers: true,
    "a secret is sent to another machine",
    "do not run it, and replace the secret if it was run",
    triggers: [
        ".ssh", ".aws", ".netrc", "id_rsa", "id_ed25519", "/etc/shadow", "/etc/passwd", ".kube/config", ".npmrc", ".pypirc", ".git-credentials", ".env", ".docker/config",
        "_API_KEY", "_TOKEN", "_SECRET", "_ACCESS_KEY", ".gnupg", ".config/gcloud", "openclaw.json", ".claude.json", "auth.json", "credentials.json", ".bash_history", ".zsh_history"
    ]
);

matcher!(
    FILES,
    r"(?: [~/]\.ssh/(?:id_\w+|identity|config)? | \bid_(?:rsa|ed25519|ecdsa|dsa)\b | \.aws/credentials | (?:^|[~/@\s'\x22=])\.netrc\b | /etc/shadow\b | /etc/passwd\b
      | \.kube/config\b | [~/]\.npmrc\b | [~/]\.pypirc\b | \.git-credentials\b | (?:^|[@/\s'\x22=<])\.env(?:\.\w+)?(?:['\x22\s;)]|$) | \.docker/config\.json
      | \.gnupg/ | \.config/gcloud/ | \.openclaw/openclaw\.json | [~/]\.claude\.json | \.codex/auth\.json | \.(?:bash|zsh)_history\b | [~/]\.config/gh/hosts )"
);
matcher!(
    UPLOADS,
    r"(?: \b(?:curl|xh|https?) \b .* (?: (?:-d|--data|--data-binary|--data-raw|--data-urlencode|-F|--form|-T|--upload-file|--json)(?:\s|=|@) ) )
      | (?: \bwget \b .* --(?:post-data|post-file|body-data|body-file) )
      | (?: \b(?:nc|ncat|netcat) \b .* < )
      | (?: \b(?:requests|httpx|session)\.(?:post|put)\s*\( ) | (?: \burlopen\s*\( .* data\s*= ) | (?: \b(?:fetch|axios\.post|axios\.put|got\.post)\s*\( )
      | (?: \b(?:irm|iwr|invoke-restmethod|invoke-webrequest) \b .* -(?:body|infile|form)\b )"
);
matcher!(
    NAMED,
    r"[\$\{(\x22'] (?: env: | ENV\[.? | process\.env\. | os\.environ\[.? )? (ANTHROPIC|CLAUDE|OPENAI|AWS|GITHUB|GH|GITLAB|GOOGLE|GEMINI|SLACK|STRIPE|HF|HUGGINGFACE|NPM|CLOUDFLARE|AZURE|DISCORD|TELEGRAM|OPENROUTER|SSH|VERCEL|SUPABASE|DATABASE)
      _(?:\w{0,24}_)? (?:API_KEY|TOKEN|SECRET|SECRET_KEY|ACCESS_KEY|SECRET_ACCESS_KEY|KEY|PASSWORD|URL) \b"
);
matcher!(IN_ADDRESS, r"://[^\s'\x22]+[?&/=:](?:\$|\x60)");
matcher!(
    HEADER,
    r"(?: (?:^|\s)(?:-H|-u)\b | --header | --user | headers | Authorization | Bearer | x-api-key | auth= )"
);

fn check(passage: &Passage<'_, '_>, out: &mut FindingSink) {
    let text = &passage.plain().text;
    if let Some(range) = FILES.find(text) {
        let stages = passage.stages();
        let reader = stages
            .iter()
            .enumerate()
            .find(|(_, stage)| stage.range.contains(&range.start));
        let is_piped = reader.is_some_and(|(at, _)| {
            pipeline::consumer(&stages, at, &|stage| sends(stage)).is_some()
                || pipeline::surroundings(&stages, at).any(sends)
        });
        let is_program = passage.is_code && IN_PROGRAM.is_match(text);
        let upload = UPLOADS
            .find(text)
            .filter(|_| is_body(text, range.start) || is_program);
        if (is_piped || upload.is_some()) && !names_only_placeholders(text) {
            return out.plain(passage, range, "sends a file of secrets to another machine");
        }
    }
    let Some(groups) = NAMED.groups(text) else {
        return;
    };
    let vendor = groups
        .text(text, 1)
        .unwrap_or_default()
        .to_ascii_lowercase();
    let range = groups.range();
    let before = &text[..range.start];
    // A key in the header of a request to its own service is its purpose.
    let line = before.rsplit(['\n', ';', '|']).next().unwrap_or_default();
    let is_body = UPLOADS.is_match(text) || IN_ADDRESS.is_match(text);
    let last = line
        .rsplit([' ', '(', ','])
        .find(|word| !word.trim_matches(['"', '\'', '$', '{']).is_empty());
    let is_header = HEADER.find_all(line).last().is_some_and(|header| {
        let since = &line[header.end..];
        ![
            "-d", "--data", "-F", "http://", "https://", "body", "data=", "json=",
        ]
        .iter()
        .any(|mark| since.contains(mark))
    });
    let mut known = addresses(text)
        .filter(|address| !address.is_placeholder())
        .peekable();
    if !is_body || is_header || known.peek().is_none() || last.is_none() {
        return;
    }
    let words: &[&str] = match vendor.as_str() {
        "claude" | "anthropic" => &["anthropic", "claude"],
        "gh" | "github" => &["github"],
        "google" | "gemini" => &["google", "gemini"],
        "hf" | "huggingface" => &["huggingface", "hf."],
        "aws" => &["amazon", "aws"],
        "azure" => &["azure", "microsoft", "windows.net"],
        "database" | "ssh" => &["\0"],
        _ => &[],
    };
    let is_own = |host: &str| {
        let host = host.to_ascii_lowercase();
        host.contains(&vendor) || words.iter().any(|word| host.contains(word))
    };
    if known.all(|address| !is_own(address.host)) {
        let name = &text[range.clone()];
        let name = name.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        out.plain(
            passage,
            range.clone(),
            format!("sends `{name}` to a host of another service"),
        );
    }
}

matcher!(
    IN_PROGRAM,
    r"(?: open\s*\( | readFile\w*\s*\( | read_text | read_bytes | readlines | Get-Content )"
);

/// Returns `true` if the file at an offset is the body of a request: `-d @FILE`, `-T FILE`, `< FILE`. In
/// other texts it is only named.
fn is_body(text: &str, at: usize) -> bool {
    let before = &text[..at];
    let word = before
        .rfind(char::is_whitespace)
        .map_or(before, |start| &before[start..]);
    let option = before[..before.len() - word.len()].trim_end();
    word.contains('@')
        || word.contains("--post-file=")
        || word.contains("--upload-file=")
        || before
            .trim_end_matches(['~', '/', '"', '\'', '$', '{', '}'])
            .trim_end()
            .ends_with('<')
        || [" -T", "--upload-file", "-InFile", "--post-file"]
            .iter()
            .any(|name| option.ends_with(name))
}

/// Returns `true` if all addresses are examples, of which there is at least one.
fn names_only_placeholders(text: &str) -> bool {
    let mut known = addresses(text).peekable();
    known.peek().is_some() && known.all(|address| address.is_placeholder())
}
