//! A program whose name looks like a document.

use super::{FindingPlace, FindingSink, ScanContent, ScanFile};

rule!(
    "disguised-executable",
    Error,
    lowers: false,
    "a program has the name of a document or a picture",
    "find out what the program does, and remove it or give it its real name",
    file: check
);

/// Endings of files that are looked at, not run.
const DOCUMENTS: &[&str] = &[
    "png", "jpg", "jpeg", "gif", "webp", "svg", "ico", "bmp", "pdf", "doc", "docx", "xls", "xlsx",
    "ppt", "pptx", "odt", "txt", "md", "csv", "tsv", "json", "yaml", "yml", "toml", "xml", "html",
    "htm", "css", "rtf", "log", "mp3", "mp4", "wav", "mov", "ttf", "otf", "woff", "woff2", "ini",
    "epub", "eml",
];
/// Endings of programs of any system.
const PROGRAMS: &[&str] = &[
    "exe", "scr", "com", "bat", "cmd", "ps1", "vbs", "js", "jse", "wsf", "hta", "msi", "sh",
    "command", "app", "pif", "lnk", "jar", "py", "rb", "pl",
];

fn check(file: &ScanFile<'_>, out: &mut FindingSink) {
    let name = file.path.rsplit('/').next().unwrap_or(file.path);
    let ending = file.ending().to_ascii_lowercase();
    let mut report = |message: String| out.report(None, FindingPlace::Script, message.into());
    let is_document = DOCUMENTS.contains(&ending.as_str());
    let kind = match file.content {
        ScanContent::Binary { head } => match head {
            [0x7f, b'E', b'L', b'F', ..] => Some("a Linux program"),
            [b'M', b'Z', ..] if head.len() > 2 => Some("a Windows program"),
            [0xfe, 0xed, 0xfa, 0xce | 0xcf, ..]
            | [0xce | 0xcf, 0xfa, 0xed, 0xfe, ..]
            | [0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 1..=8, ..] => Some("a macOS program"),
            [0, b'a', b's', b'm', ..] => Some("a WebAssembly program"),
            _ => None,
        },
        // A document that shows a script may begin like one; it is not executable.
        ScanContent::Text(text) if text.starts_with("#!/") || text.starts_with("#! /") => {
            let is_picture = !matches!(
                ending.as_str(),
                "txt" | "md" | "html" | "log" | "htm" | "ini" | "toml"
            );
            (is_picture || file.executable).then_some("a script")
        }
        ScanContent::Text(_) | ScanContent::LinkOut { .. } => None,
    };
    if let Some(kind) = kind.filter(|_| is_document) {
        return report(format!("`{name}` is {kind} with the ending of a document"));
    }
    let mut parts = name.rsplit('.');
    let (last, before) = (
        parts.next().unwrap_or_default(),
        parts.next().unwrap_or_default(),
    );
    let is_before = |ending: &str| {
        // `README.md.py` and `data.json.js` are made by programs.
        let pictures = [
            "png", "jpg", "jpeg", "gif", "pdf", "doc", "docx", "xls", "xlsx", "mp4", "mp3", "txt",
        ];
        pictures.contains(&ending)
    };
    let last = last.trim().to_ascii_lowercase();
    if parts.next().is_some()
        && PROGRAMS.contains(&last.as_str())
        && is_before(&before.trim().to_ascii_lowercase())
    {
        return report(format!(
            "`{name}` is a program whose name looks like a `.{before}` file"
        ));
    }
    if name.contains(['\u{202e}', '\u{202d}', '\u{2066}', '\u{2067}']) {
        report("the file's name contains characters that reverse it".to_owned());
    }
}
