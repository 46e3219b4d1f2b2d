//! Images that are sent to a model.

use prowess_agent::Image;

/// Maximum size of an image sent to a model, in bytes.
pub(crate) const MAX_PICTURE: usize = 5 * 1000 * 1000;
/// Media types that models accept.
const KINDS: &[&str] = &["image/png", "image/jpeg", "image/gif", "image/webp"];

/// Returns `true` if models accept this media type as an image.
pub(crate) fn is_picture(kind: &str) -> bool {
    KINDS.contains(&kind)
}

/// Converts an image to the form that models accept.
pub(crate) fn picture(kind: &str, bytes: &[u8]) -> Image {
    Image {
        media_type: kind.into(),
        data: base64(bytes).into(),
    }
}

/// Encodes bytes as Base64 with padding.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for part in bytes.chunks(3) {
        let byte = |at: usize| u32::from(part.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4_usize {
            let letter = LETTERS[(bits >> (18 - 6 * at) & 63) as usize];
            text.push(if at <= part.len() {
                char::from(letter)
            } else {
                '='
            });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_matches_rfc_4648_vectors() {
        let cases = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
        ];
        for (bytes, text) in cases {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
        assert_eq!(base64(&[0xff, 0xfe, 0xfd]), "//79");
    }
}
