//! Detects the type of a file by its first bytes.

/// Number of bytes inspected to decide whether a file is text.
pub const SAMPLE: usize = 8 * 1024;

/// Returns the media type of a file, or `None` if its first bytes are text.
pub fn binary_kind(sample: &[u8]) -> Option<&'static str> {
    const KINDS: &[(&[u8], &str)] = &[
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"\xff\xd8\xff", "image/jpeg"),
        (b"GIF8", "image/gif"),
        (b"%PDF-", "application/pdf"),
        (b"PK\x03\x04", "application/zip"),
        (b"\x1f\x8b", "application/gzip"),
        (b"\x7fELF", "application/x-executable"),
        (b"\0asm", "application/wasm"),
        (b"OTTO", "font/otf"),
        (b"wOF2", "font/woff2"),
        (b"SQLite format 3\0", "application/vnd.sqlite3"),
    ];
    if let Some((_, kind)) = KINDS.iter().find(|(start, _)| sample.starts_with(start)) {
        return Some(kind);
    }
    if sample.starts_with(b"RIFF") && sample.get(8..12) == Some(b"WEBP") {
        return Some("image/webp");
    }
    let is_text = match std::str::from_utf8(sample) {
        Ok(text) => !text.contains('\0'),
        // The sample may end inside a character.
        Err(error) => error.error_len().is_none() && !sample.contains(&0),
    };
    (!is_text).then_some("application/octet-stream")
}
